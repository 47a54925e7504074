"""M4, M5. The maximum margin, and what C buys: hard and soft margins, slacks, and the state of every example.

    min ½‖w‖² + C Σ_i ξ_i   subject to   y_i (w·x_i + w₀) ≥ 1 − ξ_i,  ξ_i ≥ 0             [6867] 5.2, 5.3; [6321]

The two margin lines are w·x + w₀ = ±1, 2/‖w‖ apart; support vectors (ringed) are the examples that hold them up.
Top: one example lies close to the other class. With C = ∞ it alone decides the line and the margin is thin; as C
falls, the machine rather pays for that example's slack and keeps a wide margin. Bottom: one example is pushed from
its own side across both margin lines. Its slack ξ = max(0, 1 − y f) is what the primal pays for it, and its dual
variable α rises from 0 to C and stays there.
"""

import numpy as np
from _plot import BLACK, BLUE, GREY, ORANGE_INK, RED, box_of, figure, frame, grid, points, save, say

from separatrix import SVC

rng = np.random.default_rng(4)
left = rng.normal([-1.9, 0.6], 0.55, (18, 2))
right = rng.normal([1.6, -0.4], 0.55, (18, 2))
X = np.vstack([left, right, [[-0.15, 0.05]]])  # the last one belongs to the right, and stands far to the left
y = np.array([0] * 18 + [1] * 19)


def draw(ax, model, X, box):
    """The line, its margins, the support vectors ringed."""
    xx, yy, rows = grid(box, 200)
    f = model.decision_function(rows).reshape(xx.shape)
    ax.contourf(xx, yy, f, levels=[-1, 1], colors=["#f0f0f0"], zorder=0)
    ax.contour(xx, yy, f, levels=[-1, 0, 1], colors=[GREY, BLACK, GREY], linestyles=["--", "-", "--"],
               linewidths=[1.2, 2.0, 1.2], zorder=2)  # fmt: skip
    held = X[model.support_]
    ax.scatter(held[:, 0], held[:, 1], s=110, facecolors="none", edgecolors=BLACK, linewidths=1.3, zorder=5)
    frame(ax, box)


fig, axes = figure(
    2, 3, "A soft margin trades width against slack; C is the price of a unit of slack",
    "Top: the same examples at three prices; support vectors ringed. Bottom: one example pushed across the margin.",
    width=12, height=7.4,
)  # fmt: skip
box = box_of(X, 0.12)
print("the same 37 examples at three prices of slack")
for ax, C in zip(axes[0], (np.inf, 1.0, 0.05)):
    model = SVC(kernel="linear", C=C).fit(X, y)
    report = model.reports_[0]
    counts = {k: v for k, v in report.counts.items() if v}
    print(f"  C = {C:<5g} margin width {report.width:.3f}   Σ slack {report.slack.sum():.3f}   {counts}")
    draw(ax, model, X, box)
    points(ax, X, y)
    name = "∞, a hard margin" if np.isinf(C) else f"{C:g}"
    ax.set(title=f"C = {name}: width {report.width:.2f}", xticks=[], yticks=[])
    say(ax, X[-1, 0], X[-1, 1] - 0.28, f"ξ = {report.slack[-1]:.2f}", RED, ha="center", va="top")
print(model.verdict_)

C = 1.0
path = np.linspace(2.2, -2.4, 47)
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
    print(f"  x₁ from {path[k]:.1f} to {path[k + 1]:.1f}: {change}, ξ = {slack[k + 1]:.2f}")

for ax, at in zip(axes[1][:2], (0.45, -1.2)):
    moved = np.vstack([X[:-1], [[at, 0.0]]])
    model = SVC(kernel="linear", C=C).fit(moved, y)
    draw(ax, model, moved, box)
    points(ax, moved, y)
    ax.scatter(*moved[-1], marker="s", s=60, c=RED, edgecolors="white", zorder=6)
    report = model.reports_[0]
    say(ax, at - 0.12, 0.15, f"ξ = {report.slack[-1]:.2f}", RED, ha="right", va="bottom")
    ax.set(title=f"Pushed to {at:g}: {names[int(report.states[-1])]}", xticks=[], yticks=[])

ax = axes[1][2]
ax.plot(path, slack, color=RED)
ax.plot(path, alpha, color=BLUE)
ax.axhline(1.0, color=GREY, linewidth=0.9, linestyle=":")
say(ax, -0.5, 1.75, "slack ξ", RED, ha="right")
say(ax, 2.1, 1.1, "dual variable α, at most C", BLUE, ha="left")
for k in np.flatnonzero(np.diff(state)):
    ax.axvline(0.5 * (path[k] + path[k + 1]), color="#cccccc", linewidth=0.8)
for k in np.unique(state):
    inside = path[state == k]
    if len(inside) > 8:
        say(ax, inside.mean(), -0.22, names[k], ORANGE_INK, ha="center", va="center", fontsize=8.5)
ax.set(xlim=(path[0], path[-1]), ylim=(-0.4, slack.max() + 0.2), xlabel="$x_1$ of the example (its side: right)",
       title="What it costs, and its multiplier")  # fmt: skip
save(fig, __file__)
