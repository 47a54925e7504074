"""V4. What any model goes by: columns shuffled out of fold, answers that move with a column, parts of one answer.

    drop_j = log loss(column j shuffled) − log loss,    mean_i P(k | x_i with x_ij = v),    P = mean P + Σ_j φ_j

Look at the importances with their intervals, hollow where they hold zero; at the lines of single rows of a forest,
which part where columns work together; at a bill of a long tail, whose axis is logarithmic and says so; at 26
classes whose mistakes stand beside the diagonal. Below, the parts of one answer of a forest and of a kernel machine
add up to their probabilities.
"""

import numpy as np
import pandas as pd
from _plot import figure, save
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import SVC, LinearDiscriminantAnalysis, RandomForestClassifier, show
from separatrix.judge.shapley import contributions
from separatrix.tables.encode import TableEncoder

rng = np.random.default_rng(0)
fig, axes = figure(
    2, 2, "What any model goes by",
    "Importance by shuffling, out of fold; how the answer moves with a number, and with one of a long tail; 26 "
    "classes at a "
    "glance.",
    width=15, height=13,
)  # fmt: skip

cancer = load_breast_cancer(as_frame=True)
X, y = cancer.data, np.where(cancer.target == 0, "malignant", "benign")
forest = RandomForestClassifier(100, random_state=0).fit(X, y)
worth = show.ImportanceDisplay.from_estimator(forest, X, y, ax=axes[0, 0])
foremost = worth.found.names[0]
numbers = show.DependenceDisplay.from_estimator(forest, X, foremost, ax=axes[0, 1])

shop = pd.DataFrame(
    {
        "bill": np.round(rng.lognormal(3.5, 1.4, 800), 2),
        "paid by": rng.choice(["card", "cash", "transfer"], 800),
    }
)
late = np.where(
    rng.logistic(size=800) < 0.6 * np.log(shop["bill"]) - 3 + 1.5 * (shop["paid by"] == "transfer"),
    "late",
    "in time",
)
payer = make_pipeline(TableEncoder(), SVC(calibrate="sigmoid")).fit(shop, late)
bills = show.DependenceDisplay.from_estimator(payer, shop, "bill", ax=axes[1, 0])

middles = 1.35 * rng.normal(size=(26, 8))
letters = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
codes = rng.integers(0, 26, 5_000)
cells = middles[codes] + rng.normal(size=(5_000, 8))
told = LinearDiscriminantAnalysis().fit(cells[:2_500], letters[codes[:2_500]])
matrix = show.ConfusionDisplay.from_estimator(
    told, cells[2_500:], letters[codes[2_500:]], order="likeness", ax=axes[1, 1]
)
save(fig, __file__)

for display in (worth, numbers, bills, matrix):
    print(display.alt_text)
scaled = make_pipeline(StandardScaler(), SVC(calibrate="sigmoid")).fit(X, y)
for name, model in (("forest", forest), ("kernel machine", scaled)):
    found = contributions(model, X.iloc[20:21], X.iloc[100:160])
    total = found.base[1] + found.adds[0, :, 1].sum()
    assert np.isclose(total, model.predict_proba(X.iloc[20:21])[0, 1], atol=1e-9)
    order = np.argsort(-np.abs(found.adds[0, :, 1]))[:3]
    parts = ", ".join(f"{found.names[j]} {found.adds[0, j, 1]:+.3f}" for j in order)
    print(f"{name}: P(malignant) = {total:.3f} = {found.base[1]:.3f} {parts}, … ({found.how})")
