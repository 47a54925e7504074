"""M4, M5. The maximum margin, and what C buys: hard and soft margins, slacks, and the state of every example.

    min ½‖w‖² + C Σ_i ξ_i   subject to   y_i (w·x_i + w₀) ≥ 1 − ξ_i,  ξ_i ≥ 0             [6867] 5.2, 5.3; [6321]

The two margin lines are w·x + w₀ = ±1, 2/‖w‖ apart; support vectors (ringed) are the examples that hold them up.
First two rows: a separable set in which one example lies close to the other class. With C = ∞ that example decides
the line and the margin is thin; as C falls, the machine rather pays for its slack and keeps a wide margin. A C above
the largest multiplier of the hard margin changes nothing: C = 100 is C = ∞. Last row: one example is pushed from its
own side across both margin lines. Its slack ξ = max(0, 1 − y f) is what the primal pays for it, and its dual variable
α rises from 0 to C and stays there.
"""

from itertools import pairwise

import numpy as np
from _plot import BLACK, BLUE, GREY, RED, figure, frame, grid, points, save, say

from separatrix import SVC

rng = np.random.default_rng(4)
left = rng.normal([-1.9, 0.6], 0.55, (18, 2))
right = rng.normal([1.6, -0.4], 0.55, (18, 2))
X = np.vstack([left, right, [[-0.8, 0.0]]])  # the last one belongs to the right, and stands far to the left
y = np.array([0] * 18 + [1] * 19)
box = (-3.9, 3.9, -1.75, 2.35)


def draw(ax, model, X, last):
    """The line, its margins, the support vectors ringed, the last example in red."""
    xx, yy, rows = grid(box, 300)
    f = model.decision_function(rows).reshape(xx.shape)
    ax.contourf(xx, yy, f, levels=[-1, 1], colors=["#efefef"], zorder=0)
    ax.contour(xx, yy, f, levels=[-1, 0, 1], colors=[GREY, BLACK, GREY], linestyles=["--", "-", "--"],
               linewidths=[1.2, 2.0, 1.2], zorder=2)  # fmt: skip
    points(ax, X[:-1], y[:-1])
    ax.scatter(*X[-1], marker="s", s=44, c=RED, edgecolors="white", linewidths=0.6, zorder=4)
    held = X[model.support_]
    ax.scatter(held[:, 0], held[:, 1], s=90, facecolors="none", edgecolors=BLACK, linewidths=1.1, zorder=5)
    say(ax, 0.98, 0.03, last, RED, transform=ax.transAxes, ha="right", va="bottom")
    frame(ax, box)
    ax.set(xticks=[], yticks=[], aspect="equal")


fig, axes = figure(
    3, 3, "A soft margin trades width against slack; C is the price of a unit of slack",
    "First two rows: one separable set, C from 0.01 to ∞; solid: the line, dashed: its margins, ringed: support "
    "vectors, red: an example far from its own.\nLast row: the red example pushed across the margin.",
    width=12.5, height=9.6,
)  # fmt: skip
print("the same 37 examples at six prices of slack")
for ax, C in zip(axes[:2].ravel(), (0.01, 0.1, 1.0, 10.0, 100.0, np.inf)):
    model = SVC(kernel="linear", C=C).fit(X, y)
    report = model.reports_[0]
    counts = {k: v for k, v in report.counts.items() if v}
    print(f"  C = {C:<5g} margin width {report.width:.3f}   Σ slack {report.slack.sum():6.3f}   {counts}")
    draw(ax, model, X, f"its ξ = {report.slack[-1]:.2f}")
    name = "∞, a hard margin" if np.isinf(C) else f"{C:g}"
    ax.set_title(f"C = {name}: width {report.width:.2f}")
print(model.verdict_)
print(
    f"largest multiplier of the hard margin: {report.alpha.max():.2f}; any C above it gives the same machine"
)

C = 1.0
path = np.linspace(2.2, -1.8, 81)
slack, alpha, state = [], [], []
for x in path:
    moved = np.vstack([X[:-1], [[x, 0.0]]])
    report = SVC(kernel="linear", C=C, tol=1e-8).fit(moved, y).reports_[0]
    slack.append(report.slack[-1])
    alpha.append(report.alpha[-1])
    state.append(int(report.states[-1]))
slack, alpha, state = np.array(slack), np.array(alpha), np.array(state)
print("\none example pushed to the left (C = 1): where it changes its state")
names = ("outside", "on the margin", "inside", "misclassified")
for k in np.flatnonzero(np.diff(state)):
    change = f"{names[state[k]]} → {names[state[k + 1]]}"
    print(f"  x₁ from {path[k]:.2f} to {path[k + 1]:.2f}: {change}, ξ = {slack[k + 1]:.2f}")

for ax, at in zip(axes[2][:2], (0.1, -1.2)):
    moved = np.vstack([X[:-1], [[at, 0.0]]])
    model = SVC(kernel="linear", C=C).fit(moved, y)
    report = model.reports_[0]
    draw(ax, model, moved, f"ξ = {report.slack[-1]:.2f}, α = {report.alpha[-1]:g}")
    ax.set_title(f"C = 1, pushed to $x_1$ = {at:g}: {names[int(report.states[-1])]}".replace("-", "−"))

ax = axes[2][2]
ax.plot(path, slack, color=RED)
ax.plot(path, alpha, color=BLUE)
say(ax, -0.75, 1.95, "slack ξ", RED, ha="right")
say(ax, -0.98, 0.78, "dual variable α ≤ C", BLUE, ha="center")
edges = [0, *(np.flatnonzero(np.diff(state)) + 1), len(path)]
for start, end in pairwise(edges):
    if start:
        ax.axvline(0.5 * (path[start - 1] + path[start]), color="#cccccc", linewidth=0.9)
    say(
        ax,
        path[start:end].mean(),
        3.68,
        names[state[start]],
        GREY,
        rotation=90,
        ha="center",
        va="top",
        fontsize=9,
    )
ax.set(xlim=(path[0], path[-1]), ylim=(-0.1, 3.75), xlabel="$x_1$ of the pushed example",
       title="What it costs, and its multiplier")  # fmt: skip
save(fig, __file__)
