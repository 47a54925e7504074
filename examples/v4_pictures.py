"""V4. Eight pictures, each one call: ``separatrix.show``, in the manner of scikit-learn's displays.

    Display.from_estimator(model, X, y, ax=…)        [6321], [6867] 3 and 5

Look at the support vectors on and inside the margins; at thirteen columns of wine seen along two discriminant
directions; at the nomogram, whose points add up to the model's own probability (checked below); at naive Bayes, which
is too sure, and what a threshold costs. Every display has ``alt_text``, printed here: the picture in words.
"""

import numpy as np
from _plot import figure, save
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import SVC, AdaBoostClassifier, GaussianNB, LogisticRegression, show

iris, wine, cancer = load_iris(), load_wine(), load_breast_cancer()
fig, axes = figure(
    2, 4, "Eight pictures, a call each",
    "Colours are safe for colour-blind readers; markers, hatching and line styles tell the same apart in grey.",
    width=22, height=11.4,
)  # fmt: skip
drawn = []

two = iris.target > 0
X, y = iris.data[two, 2:], iris.target_names[iris.target[two]]
drawn.append(
    show.DecisionRegionsDisplay.from_estimator(
        SVC(kernel="linear").fit(X, y), X, y, names=iris.feature_names[2:], ax=axes[0, 0]
    )
)

kinds = np.array(["barolo", "grignolino", "barbera"])[wine.target]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(wine.data, kinds)
drawn.append(
    show.DecisionRegionsDisplay.from_estimator(
        model,
        wine.data,
        kinds,
        names=wine.feature_names,
        columns="lda",
        ax=axes[0, 1],
        title="Thirteen columns of wine, along what parts its three kinds",
    )
)

some = [0, 1, 4, 5, 24, 26]
names = [str(cancer.feature_names[j]) for j in some]
cells = cancer.data[:, some] / cancer.data[:, some].std(axis=0)
sick = np.where(cancer.target == 0, "malignant", "benign")
plain = LogisticRegression(C=np.inf).fit(cells, sick)
drawn.append(show.CoefficientsDisplay.from_estimator(plain, names=names, ax=axes[0, 2]))

ruler = LogisticRegression(C=np.inf).fit(cancer.data[:, some[:4]], sick)
nomogram = show.NomogramDisplay.from_estimator(
    ruler, cancer.data[:, some[:4]], names=names[:4], ax=axes[0, 3]
)
drawn.append(nomogram)
read = nomogram.probability(nomogram.points(cancer.data[:, some[:4]]).sum(axis=1))
miss = np.abs(read - ruler.predict_proba(cancer.data[:, some[:4]])[:, 1]).max()
print(f"nomogram against predict_proba: largest difference {miss:.1e}\n")
assert miss < 1e-12

bayes = cross_val_predict(GaussianNB(), cancer.data[:, some], sick, cv=10, method="predict_proba")[:, 1]
drawn.append(
    show.CalibrationDisplay.from_predictions(
        sick, bayes, label="malignant", bins=8, ax=axes[1, 0], title="Naive Bayes is too sure of itself"
    )
)

calm = cross_val_predict(
    LogisticRegression(C=np.inf), cancer.data[:, some], sick, cv=10, method="predict_proba"
)[:, 1]
drawn.append(
    show.CostDisplay.from_predictions(
        sick,
        calm,
        label="malignant",
        miss=10.0,
        alarm=1.0,
        ax=axes[1, 1],
        title="A miss that costs ten alarms moves the threshold",
    )
)

X, X_test, y, y_test = train_test_split(cancer.data, sick, test_size=0.4, random_state=0)
boosted = AdaBoostClassifier(n_estimators=300).fit(X, y)
drawn.append(show.BoostingDisplay.from_estimator(boosted, X_test=X_test, y_test=y_test, ax=axes[1, 2]))

X = (iris.data[:, 2:] - iris.data[:, 2:].mean(axis=0)) / iris.data[:, 2:].std(axis=0)
y, setting = iris.target == 2, {"fit_intercept": False, "record_path": True, "max_iter": 4000}
ways = {
    "Newton": LogisticRegression(solver="newton", **setting).fit(X, y),
    "gradient": LogisticRegression(solver="gradient", solver_options={"eta": 2.0}, **setting).fit(X, y),
}
drawn.append(
    show.OptimiserPathDisplay.from_estimator(ways, X, y, names=["petal length", "petal width"], ax=axes[1, 3])
)

for display in drawn:
    print(f"{type(display).__name__}\n  {display.alt_text}")
save(fig, __file__)
