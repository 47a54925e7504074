"""E1. A decision stump: one column, one threshold, two sides; the weights decide where it cuts.

    h(x) = a if x_j ≤ t else b,     (j, t) = argmin Σ_i w_i 1[h(x_i) ≠ y_i] / Σ_i w_i                  [6321]

Left: the weighted error of every threshold of one column, worked out here one by one, with all rows alike and with a
malignant row weighing five times a benign one; dots are what DecisionStump found. Right: the least error of each
column: the stump takes the lowest. The rule in words, a missing cell and a column of words are printed.
"""

import numpy as np
from _plot import BLACK, BLUE, GREY, ORANGE_INK, RED, figure, save, say
from sklearn.datasets import load_breast_cancer

from separatrix import DecisionStump

data = load_breast_cancer()
X, y, names = data.data, data.target_names[data.target], data.feature_names
heavy = np.where(y == "malignant", 5.0, 1.0)
stumps = {}
for title, w in (("all rows alike", np.ones(len(y))), ("malignant counts 5", heavy)):
    stumps[title] = (w, DecisionStump().fit(X, y, w))
    print(f"{title:20s} {names[stumps[title][1].feature_]}: {stumps[title][1]}")
print(stumps["all rows alike"][1].verdict_)

holes = X.copy()
holes[::4, 20] = np.nan
gone = DecisionStump().fit(holes, y)
print(
    f"\nevery fourth cell of column 20 missing: {gone}; missing goes {gone.missing_goes_}, error {gone.error_:.3f}"
)
sky = [["sunny", 21], ["rainy", 15], ["sunny", 18], ["foggy", 12], ["rainy", 22]]
word = DecisionStump(categorical_features="from_dtype").fit(sky, ["yes", "no", "yes", "no", "no"])
print(f"a column of words: {word}")

column = stumps["all rows alike"][1].feature_
values = np.unique(X[:, column])
cuts = (values[:-1] + values[1:]) / 2


def error_at(t, w):
    """What a stump at t puts wrong, each side saying its majority."""
    right = 0.0
    for side in (X[:, column] <= t, X[:, column] > t):
        right += max(w[side & (y == label)].sum() for label in data.target_names)
    return 1 - right / w.sum()


fig, (left, right) = figure(
    1, 2, "A stump cuts one column where the weighted error is least",
    "Breast cancer, 569 rows. If a malignant row weighs five times a benign one, the threshold moves.",
    width=12, height=4.8, width_ratios=[1.35, 1],
)  # fmt: skip
for (title, (w, _)), ink, side in zip(stumps.items(), (BLUE, RED), ("left", "right")):
    errors = [error_at(t, w) for t in cuts]
    left.plot(cuts, errors, color=ink)
    own = DecisionStump().fit(X[:, [column]], y, w)
    assert abs(own.error_ - min(errors)) < 1e-12
    left.plot(own.threshold_, own.error_, "o", color=ink, markersize=9, markeredgecolor="white", zorder=5)
    away = 0.5 if side == "left" else -0.5
    say(left, own.threshold_ + away, own.error_ - 0.01, f"t = {own.threshold_:.1f}, error {own.error_:.3f}", ink,
        ha=side, va="top")  # fmt: skip
say(
    left,
    cuts[-1],
    error_at(cuts[-1], np.ones(len(y))) + 0.008,
    "all rows alike",
    BLUE,
    ha="right",
    va="bottom",
)
say(
    left,
    cuts[-1],
    error_at(cuts[-1], heavy) - 0.008,
    "a malignant row counts five times",
    RED,
    ha="right",
    va="top",
)
left.set(xlabel=f"threshold on {names[column]}", ylabel="weighted error of the stump", ylim=(0, 0.42))
left.set_title("Every threshold of one column")

best = np.array([DecisionStump().fit(X[:, [j]], y).error_ for j in range(X.shape[1])])
order = np.argsort(best)[:14]
right.barh(
    range(len(order)), best[order], color=[BLUE if j == column else "#BBBBBB" for j in order], height=0.7
)
right.set_yticks(range(len(order)), names[order])
for at, j in enumerate(order):
    right.text(
        best[j] + 0.002, at, f"{best[j]:.3f}", va="center", fontsize=8.5, color=BLACK if j == column else GREY
    )
right.invert_yaxis()
right.set(xlabel="least error of a stump on this column", xlim=(0, best[order].max() * 1.15))
right.set_title("The 14 best columns")
say(right, best[order[0]] + 0.028, 0, "the stump", ORANGE_INK, va="center", fontweight="bold")
save(fig, __file__)
