"""M11. The price of slack, and the kernel's width, by cross-validation along a path.

    score(γ, C) = mean over folds of the score, on the fold, of the machine fitted to the other folds           [6321]

C small: slack is cheap, and the surface hardly follows the rows. C large: every row counts, the noisy ones too. Rows
that were held out say where between them to stop. The machines of one C start from those of the C before, and all
folds read one kernel matrix.
"""

import numpy as np
from _plot import BLACK, BLUE, GREY, RED, box_of, figure, frame, grid, points, region, save, say

from separatrix import SVC, svm_path

rng = np.random.default_rng(3)
n = 320
turn = rng.uniform(0, np.pi, n)
y = np.arange(n) % 2
moons = np.where(
    y[:, None] == 0,
    np.column_stack([np.cos(turn), np.sin(turn)]),
    np.column_stack([1 - np.cos(turn), 0.45 - np.sin(turn)]),
)
X = moons + rng.normal(0, 0.33, (n, 2))

path = svm_path(X, y, Cs=np.logspace(-2, 3, 21), gammas=[3.0], cv=10, random_state=0)
print(path)
plane = svm_path(X, y, Cs=np.logspace(-2, 3, 16), gammas=np.logspace(-2, 2, 13), cv=10, random_state=0)
best = plane.best
print(f"\nboth: {best}\n{plane.estimator.verdict_}")

fig, axes = figure(
    2, 3, "Too cheap a slack bends too little, too dear a slack follows the noise: rows held out say where to stop",
    "Two noisy half moons, 320 rows, RBF kernel. Above: what ten folds say. Below: the machines of three prices.",
    width=13.0, height=8.2,
)  # fmt: skip

# the curve over C
ax = axes[0, 0]
mean, error = path.mean[0], path.standard_error[0]
ax.fill_between(path.Cs, mean - error, mean + error, color=BLUE, alpha=0.15, linewidth=0)
ax.plot(path.Cs, mean, color=BLUE, marker="o", markersize=3.5)
simple = path.one_standard_error
ax.axvline(path.best.C, color=BLACK, linewidth=1.0, zorder=0)
ax.axvline(simple.C, color=GREY, linewidth=1.0, linestyle="--", zorder=0)
low = float((mean - error).min())
words = f"solid: best, C = {path.best.C:.2g}\ndashed: within one s.e.,\nC = {simple.C:.2g}"
say(ax, path.best.C * 1.25, low, words)
ax.set(xscale="log", xlabel="C", ylabel="share right, held out", title="γ = 3: mean ± one standard error")

# the map over C and gamma
ax = axes[0, 1]
drawn = ax.pcolormesh(plane.Cs, plane.gammas, plane.mean, shading="nearest", cmap="cividis", vmin=0.8)
bar = fig.colorbar(drawn, ax=ax, extend="min")
bar.outline.set_visible(False)
ax.plot(
    best.C, best.gamma, "o", markerfacecolor="none", markeredgecolor=BLACK, markeredgewidth=1.8, markersize=12
)
say(ax, best.C * 2.0, best.gamma, f"best: {best.score:.3f}", va="center")
ax.set(xscale="log", yscale="log", xlabel="C", ylabel="γ", title="C and γ: share right, held out")

# the work of each point
ax = axes[0, 2]
steps = path.steps[0].sum(axis=1)
alone = []
for C in path.Cs:
    cold = svm_path(X, y, Cs=[C], gammas=[3.0], cv=10, random_state=0, refit=False)
    alone.append(int(cold.steps.sum()))
print(f"steps along the path {steps.sum():,}, each C on its own {sum(alone):,}")
ax.plot(path.Cs, alone, color=RED, marker="s", markersize=3.5)
ax.plot(path.Cs, steps, color=BLUE, marker="o", markersize=3.5)
say(ax, path.Cs[1], alone[1] * 2.6, "each C from zero", RED)
say(ax, path.Cs[5], steps[5] / 1.9, "from the C before", BLUE, va="top")
ax.set_yscale("symlog", linthresh=100)
ax.set(xscale="log", xlabel="C", title="Steps of the solver, all folds")

# three machines
box = box_of(X, 0.06)
for ax, C, word in zip(
    axes[1], (path.Cs[0], path.best.C, path.Cs[-1]), ("too cheap", "chosen", "too dear"), strict=True
):
    model = path.estimator if path.best.C == C else SVC(C=C, gamma=3.0).fit(X, y)
    right = mean[list(path.Cs).index(C)]
    region(ax, model, box, hard=True, strength=0.25)
    xx, yy, rows = grid(box, 300)
    f = model.decision_function(rows).reshape(xx.shape)
    ax.contour(xx, yy, f, levels=[-1, 0, 1], colors=[GREY, BLACK, GREY], linestyles=["--", "-", "--"],
               linewidths=[0.9, 2.0, 0.9], zorder=2)  # fmt: skip
    points(ax, X, y, size=17)
    frame(ax, box)
    text = f"{100 * model.score(X, y):.0f} % right of its own rows, {100 * right:.0f} % held out"
    say(ax, 0.03, 0.03, text, transform=ax.transAxes, fontsize=10)
    ax.set(title=f"{word}: C = {C:.4g}", xticks=[], yticks=[])
save(fig, __file__)
