"""E2. AdaBoost on the ten points of the notes: three rounds by hand, and the rule they add up to.

    ε_t = Σ D_t(i) 1[h_t(x_i) ≠ y_i],   α_t = ½ log((1 − ε_t)/ε_t),   D_{t+1}(i) = D_t(i) e^{∓α_t} / Z_t       [6321]

The notes print ε = 0.30, 0.21, 0.14 and α = 0.42, 0.65, 0.92. The size of a point is its weight D_t; a ring marks
what the round's stump puts wrong. No stump puts more than seven points right; the weighted vote of three, all ten.
"""

import numpy as np
from _plot import (
    BLACK,
    BLUE,
    CLASS_COLOURS,
    CLASS_MARKERS,
    ORANGE_INK,
    RED,
    figure,
    frame,
    grid,
    region,
    save,
    say,
)

from separatrix import AdaBoostClassifier

X = np.array([[1, 3], [1.5, 7], [4, 8], [5.5, 9], [7, 7.5], [3, 2], [5, 4], [6.5, 1.5], [9, 8.5], [9.5, 7.2]])
y = np.repeat(["+", "−"], 5)

model = AdaBoostClassifier(n_estimators=3, keep_weights=True).fit(X, y)
print(model.verdict_)
print("\nround   ε_t     α_t     Z_t    stump")
for t in range(3):
    row = model.estimator_errors_[t], model.alphas_[t], model.normalizers_[t]
    print(f"{t + 1:5d}  {row[0]:.3f}   {row[1]:.3f}   {row[2]:.3f}   {model.estimators_[t]}")
print("\nD_t, rounded as in the notes")
for t, D in enumerate(model.weights_):
    print(f"  {t + 1}:", " ".join(f"{d:.3f}" for d in D))
f = sum(a * np.where(h.predict(X) == "+", 1, -1) for a, h in zip(model.alphas_, model.estimators_))
print("\nΣ α_t h_t(x_i):", " ".join(f"{v:+.2f}" for v in f))

box = (0.0, 10.5, 0.0, 10.5)
fig, axes = figure(
    1, 4, "Ten points, three rules of thumb, one rule",
    "A point's size is its weight; rings are the round's mistakes, which weigh more in the next. Last: the weighted "
    "vote, and each point's margin.",
    width=14, height=4.3,
)  # fmt: skip


def draw(ax, size, ringed):
    for k, label in enumerate(("+", "−")):
        rows = np.flatnonzero(y == label)
        ax.scatter(*X[rows].T, s=size[rows], c=CLASS_COLOURS[k], marker=CLASS_MARKERS[k], edgecolors="white",
                   linewidths=0.8, zorder=4)  # fmt: skip
    ax.scatter(
        *X[ringed].T, s=size[ringed] + 260, facecolors="none", edgecolors=RED, linewidths=1.8, zorder=5
    )
    ax.set(xticks=[], yticks=[], aspect="equal")
    frame(ax, box)


for t, (ax, h, D) in enumerate(zip(axes, model.estimators_, model.weights_)):
    region(ax, h, box, strength=0.22, hard=True)
    line = ax.axvline if h.feature_ == 0 else ax.axhline
    line(h.threshold_, color=BLACK, linewidth=2)
    draw(ax, 1300 * D, h.predict(X) != y)
    ax.set_title(f"round {t + 1}:  ε = {model.estimator_errors_[t]:.2f},  α = {model.alphas_[t]:.2f}")

last = axes[3]
region(last, model, box, strength=0.35, hard=True)
for h in model.estimators_:
    (last.axvline if h.feature_ == 0 else last.axhline)(h.threshold_, color="white", linewidth=1.2)
xx, yy, rows = grid(box, 400)
last.contour(
    xx, yy, model.decision_function(rows).reshape(xx.shape), levels=[0.0], colors=[BLACK], linewidths=2
)
draw(last, np.full(10, 130.0), np.zeros(10, dtype=bool))
margins = model.margins(X, y)
for point, margin, label in zip(X, margins, y):
    side = -1 if point[0] > 8.8 else 1
    say(last, point[0] + 0.35 * side, point[1] + 0.35, f"{margin:.2f}", BLUE if label == "+" else ORANGE_INK,
        fontsize=8, ha="left" if side > 0 else "right")  # fmt: skip
last.set_title("sign(0.42 h₁ + 0.65 h₂ + 0.92 h₃)")
save(fig, __file__)
