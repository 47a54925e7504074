"""D9. Newton reaches the least-squares optimum in exactly one step, from anywhere.

    E(w) = ½‖t − Φw‖²,  ∇E = ΦᵀΦw − Φᵀt,  H = ΦᵀΦ                      [PC] "Linear Regression with Newton-Raphson"
    w_new = w_old − H⁻¹∇E = (ΦᵀΦ)⁻¹Φᵀt,   whatever w_old is

A parabola is its own second-order expansion. The logistic likelihood is not: H = ΦᵀRΦ changes with w, so R is
computed anew and several steps are needed (iteratively reweighted least squares). Left: the library's one step
from zero in black, and three more starts by the formula above. Right: the same rows and classes, logistic loss.
"""

from itertools import pairwise

import numpy as np
from _plot import BLACK, BLUE, GREEN, figure, frame, grid, save, say

from separatrix import LeastSquaresClassifier, LogisticRegression

ARROW = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}

rng = np.random.default_rng(9)
X = rng.normal(size=(60, 2)) @ np.array([[1.0, 0.85], [0.0, 0.42]])
y = rng.random(60) < 1 / (1 + np.exp(-X @ [2.2, -1.2]))
t = np.where(y, 1.0, -1.0)

linear = LeastSquaresClassifier(solver="newton", fit_intercept=False, record_path=True).fit(X, y)
direct = LeastSquaresClassifier(fit_intercept=False).fit(X, y)
logistic = LogisticRegression(
    C=np.inf, solver="newton", fit_intercept=False, record_path=True, solver_options={"theta": 1e-10}
).fit(X, y)
print(linear.verdict_)
print(f"\nleast squares: {len(linear.path_) - 1} step, w = {linear.coef_[0]}")
print(f"  normal equations          w = {direct.coef_[0]}")
print(f"  ‖∇F‖ before and after     {linear.path_.gradient_norm[0]:.3f}, {linear.path_.gradient_norm[1]:.1e}")
starts = np.array([[1.6, -1.5], [-0.9, 0.9], [1.6, 0.8]])
H = X.T @ X
for start in starts:
    arrived = start - np.linalg.solve(H, H @ start - X.T @ t)
    print(f"  from {start}: w = {arrived}")
print(f"\n{logistic.verdict_}\nlogistic: {len(logistic.path_) - 1} steps, F − min F after each:")
print(
    "  "
    + "  ".join(f"{v:.0e}" for v in np.maximum(logistic.path_.objective - logistic.verdict_.objective, 0))
)


def squared(W):
    return 0.5 * ((X @ W.T - t[:, None]) ** 2).mean(axis=0)


def cross_entropy(W):
    return np.logaddexp(0, -t[:, None] * (X @ W.T)).mean(axis=0)


fig, axes = figure(
    1, 2, "Newton solves least squares in one step; logistic regression takes a few",
    "Contours of the mean loss. A parabola is its own second-order expansion; the likelihood is not.",
    height=5.3,
)  # fmt: skip
for ax, loss, model, box, title in (
    (axes[0], squared, linear, (-1.35, 2.55, -1.95, 1.35), "Least squares: one step, from anywhere"),
    (
        axes[1],
        cross_entropy,
        logistic,
        (-0.7, 3.5, -2.45, 1.1),
        "Logistic regression: the curvature changes with w",
    ),
):
    xx, yy, rows = grid(box, 200)
    best = loss(model.coef_)[0]
    levels = best + np.geomspace(0.004, 1.6, 11)
    ax.contour(
        xx, yy, loss(rows).reshape(xx.shape), levels=levels, colors=["#cccccc"], linewidths=0.9, zorder=1
    )
    w = model.path_.coef
    for a, b in pairwise(w):
        ax.annotate("", b, a, arrowprops=ARROW | {"color": BLACK, "linewidth": 1.8})
    ax.plot(*w.T, "o", color=BLACK, markersize=4.5, zorder=5)
    ax.plot(*model.coef_[0], "*", color=GREEN, markersize=16, markeredgecolor="white", zorder=6)
    say(ax, -0.08, -0.04, "w = 0", ha="right", va="top")
    frame(ax, box)
    ax.set_aspect("equal")
    ax.set(title=title, xlabel="$w_1$", ylabel="$w_2$")
for start in starts:
    axes[0].annotate(
        "", linear.coef_[0], start,
        arrowprops=ARROW | {"color": BLUE, "linewidth": 1.2, "shrinkB": 4},
    )  # fmt: skip
    axes[0].plot(*start, "o", color=BLUE, markersize=4.5)
say(axes[0], 1.68, 0.8, "other starts,\nby the formula", BLUE, va="center")
for number, spot in enumerate(logistic.path_.coef[1:3], 1):
    say(axes[1], spot[0] - 0.06, spot[1] - 0.08, f"step {number}", ha="right", va="top")
say(axes[0], *(linear.coef_[0] - [0.1, 0.12]), "step 1: done", ha="right", va="top")
save(fig, __file__)
