"""M1. The geometry of a linear rule: Figure 1 of the notes, with numbers.

    surface               w·x + w₀ = 0, orthogonal to w                                               [6867] 5.1
    from the origin       −w₀/‖w‖
    signed distance       r = (w·x + w₀)/‖w‖,   x = x⊥ + r·w/‖w‖
    functional margin     γ̂_i = y_i (w·x_i + w₀),   y = ±1
    geometric margin      γ_i = γ̂_i/‖w‖,   negative for a row on the wrong side

Left: any LinearRule. Right: every fitted linear model has the same methods; the geometric margin of each row is its
distance from the surface, and scaling w changes the functional margin only.
"""

import numpy as np
from _plot import BLUE, GREEN, GREY, ORANGE_INK, RED, figure, points, save, say, surface
from sklearn.datasets import make_blobs

from separatrix import LinearRule, LogisticRegression

rule = LinearRule(np.array([1.2, 1.6]), -4.0)
x = np.array([3.1, 2.3])
w, size = rule.coef, rule.norm()
distance = rule.signed_distance(x[None])[0]
foot = x - distance * w / size
print(f"w = {w}, w₀ = {rule.intercept}, ‖w‖ = {size}")
print(f"surface from the origin  −w₀/‖w‖ = {rule.distance_from_origin()}")
print(f"signed distance of {x}: {distance:.4f}; its foot {foot} has score {rule.score(foot[None])[0]:.1e}")

X, y = make_blobs([18, 18], centers=[[0.6, 2.6], [2.6, 0.9]], cluster_std=0.62, random_state=8)
y = np.where(y == 1, "east", "west")
model = LogisticRegression().fit(X, y)
functional, geometric = model.functional_margin(X, y), model.geometric_margin(X, y)
print(f"\nfitted: w = {model.coef_[0]}, w₀ = {model.intercept_[0]:.4f}, classes {model.classes_.tolist()}")
print("signed distance × ±1 is the geometric margin: ", end="")
print(np.allclose(geometric, model.signed_distance(X) * np.where(y == "west", 1, -1)))
nearest = np.abs(geometric).argmin()
for label, row in (("safest", geometric.argmax()), ("nearest", nearest), ("worst", geometric.argmin())):
    print(
        f"  {label:8s} row {row:2d} {y[row]}: functional {functional[row]:+.4f}, geometric {geometric[row]:+.4f}"
    )
signs = np.where(y == "west", 1, -1)
double = LinearRule(2 * model.rule_.coef, 2 * model.rule_.intercept)
print(
    f"margin of the set {model.rule_.margin(X, signs):+.4f}; with w doubled {double.margin(X, signs):+.4f}, and"
)
print(f"functional {functional.min():+.4f} → {double.functional_margin(X, signs).min():+.4f}")

fig, (ax, fit) = figure(
    1, 2, "w is orthogonal to the surface; the score over ‖w‖ is a distance",
    "Left: Figure 1 of the notes for w = (1.2, 1.6), w₀ = −4. Right: one bar from each row to the surface.",
    height=5.4,
)  # fmt: skip
box = (-1.0, 4.9, -1.1, 3.86)
ax.axhline(0, color="#cccccc", linewidth=0.9, zorder=0)
ax.axvline(0, color="#cccccc", linewidth=0.9, zorder=0)
surface(ax, w, rule.intercept, box, linewidths=2.4)
unit = w / size
along = np.array([unit[1], -unit[0]])  # a direction inside the surface
near = rule.distance_from_origin() * unit
arrow = {"arrowstyle": "-|>", "linewidth": 2.0, "shrinkA": 0, "shrinkB": 0, "color": RED}
tail = near + 2.55 * along
ax.annotate("", tail + w, tail, arrowprops=arrow)
say(ax, *(tail + w + np.array([0.05, 0.05])), "$w$", RED, fontsize=13)
ax.plot(*np.array([[0, 0], near]).T, color=BLUE, linewidth=2.0)
ax.plot(0, 0, "o", color=BLUE, markersize=5)
say(ax, -0.08, -0.08, "origin", BLUE, ha="right", va="top")
say(ax, 0.36, 0.62, "$-w_0 / \\|w\\| = 2$", BLUE, ha="right")
ax.plot(*np.array([foot, x]).T, color=GREEN, linewidth=2.0)
ax.plot(*x, "o", color=GREEN, markersize=7)
ax.plot(*foot, "o", color=GREEN, markersize=6, markerfacecolor="white", zorder=5)
say(
    ax,
    *(x + np.array([-0.2, 0.12])),
    f"$r = (w \\cdot x + w_0) / \\|w\\| = {distance:.1f}$",
    GREEN,
    ha="right",
)
say(ax, *(x + np.array([0.1, 0.06])), "$x$", GREEN, fontsize=13)
say(ax, *(foot + np.array([-0.1, -0.06])), "$x_\\perp$", GREEN, fontsize=13, ha="right", va="top")
for at, inward in ((near, -unit), (foot, unit), (tail, unit)):  # right angles
    corner = np.array([at + 0.16 * along, at + 0.16 * (along + inward), at + 0.16 * inward])
    ax.plot(*corner.T, color=GREY, linewidth=1.0)
say(ax, -0.85, 3.3, "$w \\cdot x + w_0 > 0$", GREY)
say(ax, -0.85, 1.55, "$w \\cdot x + w_0 < 0$", GREY)
say(ax, -0.85, 2.62, "$w \\cdot x + w_0 = 0$", rotation=-36.87, rotation_mode="anchor", va="top", ha="left")
ax.set_aspect("equal")
ax.set(xlabel="$x_1$", ylabel="$x_2$", title="Distances in the plane")

box = (-1.5, 5.1, -0.95, 4.6)
surface(fit, model.coef_, model.intercept_[0], box)
normal = model.coef_[0] / model.rule_.norm()
feet = X - model.signed_distance(X)[:, None] * normal
for row, at, margin in zip(X, feet, geometric):
    style = {"color": RED, "linewidth": 1.8} if margin < 0 else {"color": "#bbbbbb", "linewidth": 0.9}
    fit.plot(*np.array([row, at]).T, zorder=1, **style)
points(fit, X, y, size=34)
worst, safest = geometric.argmin(), geometric.argmax()
for row, shift, ink in ((worst, (-1.95, -0.42), RED), (safest, (0.15, 0.12), ORANGE_INK)):
    text = f"$\\gamma = {geometric[row]:+.2f}$,  $\\hat\\gamma = {functional[row]:+.2f}$"
    say(fit, *(X[row] + shift), text, ink)
say(fit, -1.35, 3.1, "west: $y = +1$", ORANGE_INK, fontweight="bold")
say(fit, 3.2, 0.0, "east: $y = -1$", BLUE, fontweight="bold")
fit.set_aspect("equal")
fit.set(xlabel="$x_1$", ylabel="$x_2$", title="Margins of a fitted model: the wrong side is negative")
save(fig, __file__)
