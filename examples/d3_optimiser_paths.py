"""D3. Four ways up the likelihood, step by step.

    gradient    w ← w − η ∇F(w), stop when ‖∇F‖ < threshold           [PC] "Gradient Ascent Methods", [726]
    stochastic  the same with the gradient of one row at a time       [6867] 3.2.2
    Newton      w ← w − H⁻¹∇F(w), stop when ‖Δw‖ < θ                  [PC] "Newton-Raphson Method", IRLS

F is the mean negative log likelihood. Look at the two gradient paths: a small step creeps along the valley, a
large one zig-zags across it; both need dozens of steps because the columns are correlated. Newton's steps
take the valley's shape into account. Every path comes from ``record_path=True``; the solvers work in columns
scaled to unit root mean square, and these columns are so already, so η means here what the formula says.
"""

import warnings

import numpy as np
from _plot import BLACK, BLUE, GREEN, ORANGE, ORANGE_INK, RED, figure, frame, grid, save, say

from separatrix import ConvergenceWarning, LogisticRegression

rng = np.random.default_rng(9)
X = rng.normal(size=(60, 2)) @ np.array([[1.0, 0.85], [0.0, 0.42]])
X /= np.sqrt((X**2).mean(axis=0))
y = rng.random(60) < 1 / (1 + np.exp(-X @ [2.2, -1.2]))

RUNS = {  # name: solver, its options, steps, colour, ink
    "gradient, η = 1": ("gradient", {"eta": 1.0, "threshold": 1e-6}, 60, BLUE, BLUE),
    "gradient, η = 6": ("gradient", {"eta": 6.0, "threshold": 1e-6}, 60, RED, RED),
    "stochastic, one row a step": ("sgd", {"eta": 0.5, "batch": 1, "average": False}, 60, ORANGE, ORANGE_INK),
    "Newton": ("newton", {"theta": 1e-9}, 60, BLACK, BLACK),
}
best = LogisticRegression(C=np.inf, fit_intercept=False).fit(X, y)
print(f"{best.verdict_}\nw = {best.coef_[0]}\n")
paths = {}
for name, (solver, options, steps, *_) in RUNS.items():
    model = LogisticRegression(
        C=np.inf, fit_intercept=False, solver=solver, solver_options=options, max_iter=steps, record_path=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some are meant to be slow: the table says so
        model.fit(X, y)
    path, verdict = model.path_, model.verdict_
    paths[name] = path.coef, path.objective - best.verdict_.objective
    above = verdict.objective - best.verdict_.objective
    print(f"{name:27s} {len(path) - 1:3d} steps, F − min F = {above:8.1e}   ", end="")
    print(f"{verdict.status}, stopped: {verdict.stopped_by}")


def likelihood(W):
    """F at each row of W (m, 2)."""
    return np.logaddexp(0, -np.where(y, 1, -1)[:, None] * (X @ W.T)).mean(axis=0)


fig, (ax, fall) = figure(
    1, 2, "Newton strides where the gradient creeps or zig-zags",
    "Left: paths over contours of the likelihood, all from w = 0. Right: how far above the minimum after each step.",
    height=5.2, gridspec_kw={"width_ratios": [1.15, 1]},
)  # fmt: skip
box = (-0.6, 3.75, -2.5, 1.0)
xx, yy, rows = grid(box, 200)
levels = best.verdict_.objective + np.geomspace(0.0015, 1.2, 16)
ax.contour(
    xx, yy, likelihood(rows).reshape(xx.shape), levels=levels, colors="#cfcfcf", linewidths=0.9, zorder=1
)
for name, (*_, colour, ink) in RUNS.items():
    w, gap = paths[name]
    if name.startswith(
        "stochastic"
    ):  # thousands of steps: a thin line, its first two passes, and one point a pass
        ax.plot(*w[: 2 * len(X)].T, color=colour, linewidth=0.7, zorder=2)
        gap = gap[:: len(X)]
    else:
        ax.plot(*w.T, "-o", color=colour, markersize=3.2, linewidth=1.2, zorder=3 + (name == "Newton"))
    fall.semilogy(np.maximum(gap, 1e-16), "-o", color=colour, markersize=3, linewidth=1.4)
ax.plot(*best.coef_[0], "*", color=GREEN, markersize=15, markeredgecolor="white", zorder=7)
frame(ax, box)
ax.set_aspect("equal")
ax.set(xlabel="$w_1$", ylabel="$w_2$", title="Contours of F and the paths (a dot, or a corner, is a step)")
say(ax, 2.64, -1.43, "minimum", GREEN, fontweight="bold")
ax.annotate(
    "gradient, η = 1", paths["gradient, η = 1"][0][2], (0.05, 0.62), color=BLUE, fontsize=9.5,
    arrowprops={"arrowstyle": "-", "color": BLUE, "linewidth": 0.7},
)  # fmt: skip
say(ax, 1.36, 0.36, "gradient, η = 6", RED)
say(ax, 0.72, -0.66, "Newton", BLACK, ha="right")
say(ax, 1.2, -2.12, "stochastic: a row a step,\ntwo passes shown", ORANGE_INK, ha="center", va="center")
fall.set(
    title="Distance from the minimum", xlabel="step (stochastic: pass over the rows)", ylabel="F(w) − min F",
    ylim=(3e-17, 1), xlim=(-1, 62),
)  # fmt: skip
fall.grid(axis="y", color="#ececec")
say(fall, 45, 1.4e-2, "gradient, η = 1", BLUE)
say(fall, 45, 5.5e-8, "gradient, η = 6", RED, ha="right", va="top")
say(fall, 61, 4e-6, "stochastic wanders", ORANGE_INK, ha="right", va="top")
say(fall, 9, 1e-13, "Newton:\nrounding reached\nin a few steps", BLACK)
save(fig, __file__)
