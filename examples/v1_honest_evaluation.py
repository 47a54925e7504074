"""V1. Which model, how sure, and would more rows help: hold-out and cross-validated evaluation on one table.

    mean over folds ± t_{J−1} √((1/J + n_test/n_train) s²)       folds share rows: the second term is for that   [726]

Settings are chosen inside each fold's training rows, all models meet the same folds, a part of the rows is kept apart
to the end. On the left the ranking; then whether the winner's probabilities mean what they say, each row judged by a
fit that has not seen it; then error against training size: what more rows would bring.
"""

import numpy as np
from _plot import BLACK, BLUE, GREY, RED, figure, save, say
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import GaussianNB, LogisticRegression, compare, learning_curve

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.where(y == 1, "benign", "malignant")
X, X_kept, y, y_kept = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)

found = compare(X, y, test=(X_kept, y_kept), budget=30, random_state=0)
print(found)
winner = found.titles[found.best]
print(
    f"\nWhat the winner answered, by true class, each row by a fit that has not seen it:\n{found.confusion()}"
)

fig, (left, middle, right) = figure(
    1, 3, "The best of these models can hardly be told apart, and the intervals say so",
    f"Breast cancer, {len(y)} patients, {X.shape[1]} columns; {len(found.used)} folds, and {len(y_kept)} patients "
    f"kept apart, of whom {winner} get {found.tested[found.best]['accuracy'].mean:.1%} right.",
    width=15.0, height=5.0, gridspec_kw={"width_ratios": [1.25, 1, 1]},
)  # fmt: skip

found.plot(left)
left.set(title="Log loss of each model", xlim=(0, None))
left.set_xlabel("log loss (less is better); hollow: cannot be told from the best")

rows, P = found.out_of_fold()
malignant = P[:, found.classes.tolist().index("malignant")]
truth = (y == "malignant")[rows]
bins = np.minimum((5 * malignant).astype(int), 4)
middle.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
for b in np.unique(bins):
    own = bins == b
    said, share, count = malignant[own].mean(), truth[own].mean(), own.sum()
    centre = (share * count + 2) / (count + 4)
    wide = 1.96 * np.sqrt(share * (1 - share) * count + 1) / (count + 4)
    middle.plot([said] * 2, [max(centre - wide, 0), min(centre + wide, 1)], color=BLUE, linewidth=1.6)
    middle.plot(said, share, "o", color=BLUE, markersize=7)
    side = {"ha": "left", "xytext": (9, 0)} if said < 0.7 else {"ha": "right", "xytext": (-9, 0)}
    middle.annotate(
        f"{count} rows", (said, share), textcoords="offset points", va="center", fontsize=9, **side
    )
middle.set(title="Do its probabilities mean what they say?", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
middle.set(xlabel=f"P(malignant) of {winner}, unseen rows", ylabel="share that was malignant")
error = found.scores[found.best]["calibration_error"].mean
say(middle, 0.98, 0.05, f"calibration error {error:.3f}", BLACK, ha="right")

pair = {
    "naive Bayes": GaussianNB(tie="class"),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
}
curve = learning_curve(pair, X, y, n_repeats=20, random_state=0)
print(f"\n{curve}")
curve.plot(right, legend=False)
right.set(title="Would more rows help?", ylim=(0, None))
for name, ink in zip(pair, (BLUE, RED)):
    up = 0.006 if name == "naive Bayes" else -0.013
    say(
        right,
        curve.sizes[-1],
        curve.curve(name)[-1, 0] + up,
        name,
        ink,
        ha="right",
        va="bottom",
        fontweight="bold",
    )
save(fig, __file__)
