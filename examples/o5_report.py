"""O5. One HTML file that says what a classifier is worth, with a panel to ask it "what if?".

Breast cancer: four models compared, the report of the best written to out/o5_report.html. The picture: how much each
column can add to the log-odds, and the sum the page computes against predict_proba, over rows mixed cell by cell.

    P(x) = σ(s° + Σ_j f_j(x_j)),   f_j(x_j) = s(usual row with cell j replaced) − s°
"""

import numpy as np
from _plot import BLUE, GREY, OUT, figure, save
from sklearn.datasets import load_breast_cancer

from separatrix.judge.compare import compare
from separatrix.show.report import write_report
from separatrix.show.report_parts.sums import Sum, link_of, values_at

cancer = load_breast_cancer(as_frame=True)
X, y = cancer.data, cancer.target_names[cancer.target]
found = compare(
    X, y, models=["majority", "naive_bayes", "lda", "logistic"], cv=(5, 2), budget=None, random_state=0
)
print(found.table(), "\n")

OUT.mkdir(parents=True, exist_ok=True)
page = OUT / "o5_report.html"
write_report(
    page, found, X=X, y=y, title="Breast cancer: benign or malignant?", source="scikit-learn's breast cancer table",
    command="python examples/o5_report.py",
)  # fmt: skip
print(f"wrote {page} ({page.stat().st_size / 1e6:.1f} MB, nothing from outside)")

model = found.best_model
as_sum = Sum.of(model, X)
rng = np.random.default_rng(0)
rows = X.iloc[[0] * 2000].reset_index(drop=True)
for form in as_sum.forms:
    rows[form.name] = rng.choice(X[form.name].to_numpy(), len(rows))
scores = as_sum.start + sum(values_at(form, rows[form.name].tolist()) for form in as_sum.forms)
shown, asked = link_of(as_sum.mode, scores)[:, 1], model.predict_proba(rows)[:, 1]
miss = np.abs(shown - asked)
print(
    f"{len(rows):,} rows mixed cell by cell: the page's sum differs from predict_proba by at most {miss.max():.1e}"
)

widest = sorted(as_sum.forms, key=lambda form: -form.reach)[:12]
fig, (left, right) = figure(
    1, 2, "The page computes what the model does",
    "what each column can add to the log-odds, and the sum over columns against the model",
)  # fmt: skip
for i, form in enumerate(widest):
    low, high = form.ends[:, 0] - form.ends[:, 0].mean()
    left.plot([low, high], [i, i], color=BLUE, linewidth=6, solid_capstyle="butt")
left.set_yticks(range(len(widest)), [form.name for form in widest])
left.invert_yaxis()
left.set_xlabel("log-odds from one end of the column to the other")
right.plot([0, 1], [0, 1], color=GREY, linewidth=1)
right.plot(asked, shown, "o", color=BLUE, markersize=3, alpha=0.5)
right.set_xlabel("predict_proba")
right.set_ylabel(f"the page (differs by at most {miss.max():.0e})")
save(fig, __file__)
