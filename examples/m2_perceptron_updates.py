"""M2. The perceptron learns from mistakes; the rows it erred on are its weights, and their order matters.

    y_i (w·x_i + b) ≤ 0:    w ← w + η y_i x_i,   b ← b + η y_i                     [6867] 5.4, [6321], [446]
    w = η Σ α_i y_i x_i,    α_i = updates on row i

Left: "Example used (bold) and not used (faint) in updates". Middle: "Comment: solutions are non-unique": eight
orders, eight separators, all right. Right: the same rows one at a time: each mistake turns the line.
"""

import numpy as np
from _plot import (
    BLACK,
    BLUE,
    CLASS_COLOURS,
    CLASS_MARKERS,
    GREY,
    ORANGE_INK,
    RED,
    box_of,
    figure,
    points,
    save,
    say,
    surface,
)  # fmt: skip
from sklearn.datasets import make_blobs

from separatrix import Perceptron

X, y = make_blobs([30, 30], centers=[[-1.6, 0.9], [1.5, -0.7]], cluster_std=0.85, random_state=141)
sign = 2 * y - 1

model = Perceptron(shuffle=False).fit(X, y)
print(model.verdict_)
print(f"\nmistakes of each epoch: {model.mistakes_path_.tolist()}")
used = model.dual_coef_ > 0
print(f"updates on {used.sum()} of {len(X)} rows, at most {model.dual_coef_.max()} on one")
rebuilt = (model.dual_coef_ * sign) @ X
print(f"w = {model.coef_[0]}, Σ α y x = {rebuilt}: equal to {np.abs(rebuilt - model.coef_[0]).max():.0e}")

box = box_of(X, 0.12)
fig, (left, middle, right) = figure(
    1, 3, "A perceptron is made of its mistakes",
    "Bold rows caused updates, the number says how many; faint rows never did. The bound on mistakes does not depend "
    "on the order, the separator does.",
    width=13.5, height=4.9,
)  # fmt: skip

for k in (0, 1):
    faint, bold = (y == k) & ~used, (y == k) & used
    style = {"marker": CLASS_MARKERS[k], "zorder": 3}
    left.scatter(*X[faint].T, s=26, c=CLASS_COLOURS[k], alpha=0.25, linewidths=0, **style)
    left.scatter(*X[bold].T, s=70, c=CLASS_COLOURS[k], edgecolors=BLACK, linewidths=1.6, **style)
for i in np.flatnonzero(used):
    say(
        left,
        *(X[i] + ([-0.2, 0.0] if y[i] == 0 else [0.2, 0.0])),
        str(model.dual_coef_[i]),
        ha="right" if y[i] == 0 else "left",
        va="center",
        fontsize=10,
        fontweight="bold",
    )
surface(left, model.coef_, model.intercept_[0], box)
left.set_title(f"{model.n_mistakes_} updates on {used.sum()} rows, bound {model.mistake_bound_:.0f}")

points(middle, X, y)
print("\norder   mistakes   margin")
margins = []
for seed in range(8):
    other = Perceptron(random_state=seed).fit(X, y)
    margin = other.geometric_margin(X, y).min()
    margins.append(margin)
    print(f"{seed:5d} {other.n_mistakes_:10d}   {margin:.4f}")
    surface(middle, other.coef_, other.intercept_[0], box, colors=[GREY], linewidths=1.2)
middle.set_title(f"Eight orders, margins {min(margins):.2f} to {max(margins):.2f}")

points(right, X, y, alpha=0.35)
step = Perceptron(shuffle=False)
order = np.concatenate([np.arange(len(X))] * model.n_iter_)
steps = []
for i in order:
    before = getattr(step, "n_mistakes_", 0)
    step.partial_fit(X[[i]], y[[i]], classes=[0, 1])
    if step.n_mistakes_ > before:
        steps.append((i, step.coef_[0].copy(), step.intercept_[0]))
print(f"\none row at a time: {len(steps)} updates, the same weights: {np.allclose(step.coef_, model.coef_)}")
shades = np.linspace(0.75, 0.0, len(steps))
for shade, (_, w, b) in zip(shades, steps, strict=True):
    if np.abs(w).sum() > 0:
        surface(right, w, b, box, colors=[str(shade)], linewidths=1.0 + 1.4 * (1 - shade))
for number, (i, _, _) in enumerate(steps, 1):
    right.scatter(*X[i], s=90, facecolors="none", edgecolors=RED, linewidths=1.4, zorder=5)
right.set_title("Each mistake turns the line")
say(right, 0.90, 0.03, "ringed: rows it erred on", RED, ha="right", transform=right.transAxes)
say(right, 0.90, 0.15, "pale line first, black last", BLACK, ha="right", transform=right.transAxes)

for ax, name in ((left, "class 0"), (middle, "class 0")):
    say(ax, 0.03, 0.95, name, BLUE, transform=ax.transAxes)
    say(ax, 0.80, 0.04, "class 1", ORANGE_INK, transform=ax.transAxes)
for ax in (left, middle, right):
    ax.set(xlim=box[:2], ylim=box[2:], xlabel="x₁")
left.set_ylabel("x₂")
save(fig, __file__)
