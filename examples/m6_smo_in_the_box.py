"""M6. Sequential minimal optimisation: two multipliers at a time, on a line, inside a box.

    max Σ α_i − ½ Σ_ij y_i y_j α_i α_j x_i·x_j,   0 ≤ α_i ≤ C,   Σ α_i y_i = 0               [6321] "SMO", [6867] 5.3

One multiplier alone cannot move: the sum fixes it. Two can, along y₁α₁ + y₂α₂ = ξ, a diagonal whose slope is +1 where
the labels differ and −1 where they agree. On it the objective is a parabola: its top is taken where the box holds it,
"if not, we pick the closest intersection point of the line and the rectangle".
Every step here is one turn of the library's own loop, ``smo_loops.pairs``, stopped after each pair.
"""

import numpy as np
from _plot import BLACK, BLUE, GREEN, GREY, ORANGE_INK, RED, SKY, figure, save, say

from separatrix import SVC
from separatrix.loops import smo as smo_loops
from separatrix.problems.dual import Dual

C = 1.0


class Problem:
    """The dual of a linear machine in β = yα, v = −∂/∂β of what is minimised; :meth:`step` moves one pair."""

    def __init__(self, X, y, alpha):
        self.X, self.y = X, y.astype(float)
        self.K = X @ X.T
        self.dual = Dual.classifier(self.y, np.full(len(y), C), self.y * alpha)
        self.beta = self.dual.start.copy()

    @property
    def alpha(self):
        return self.y * self.beta + 0.0

    @property
    def v(self):
        return self.y - self.K @ self.beta

    def step(self, free=None):
        """The best pair among ``free``, moved as far as the box lets it; False where none would gain."""
        free = np.arange(len(self.y)) if free is None else np.asarray(free)
        beta = self.beta[free]
        done, _, _ = smo_loops.pairs(
            self.K[np.ix_(free, free)], np.arange(len(free)), self.v[free], beta,
            self.dual.low[free], self.dual.high[free], 1e-12, 0.0, 1, -np.inf,
        )  # fmt: skip
        self.beta[free] = beta
        return bool(done)

    def objective(self, alpha):
        """Σα − ½ (yα)ᵀK(yα) for each row of ``alpha`` (…, n)."""
        beta = alpha * self.y
        return alpha.sum(axis=-1) - 0.5 * np.einsum("...i,ij,...j", beta, self.K, beta)

    def violation(self):
        """(violation, b): largest v that may rise less the smallest that may fall, and the middle of the two."""
        v = np.empty(len(self.y))
        score = self.K @ self.beta
        up, _, lo, _ = smo_loops.slopes(
            score, np.arange(len(v)), self.dual.linear, self.beta, self.dual.low, self.dual.high, v
        )
        return max(up - lo, 0.0), 0.5 * (up + lo)

    def primal(self):
        b = self.violation()[1]
        slack = np.maximum(1 - self.y * (self.K @ self.beta + b), 0.0)
        return 0.5 * self.beta @ self.K @ self.beta + C * slack.sum()


fig, axes = figure(
    2, 3, "SMO moves two multipliers along a diagonal and stops at the wall of the box",
    "Top: α₁ and α₂ are free, two others are fixed; contours of the dual objective. Bottom: eight examples, one pair "
    "after the other, until next to nothing is violated.",
    width=13.0, height=8.4,
)  # fmt: skip

cases = (  # the label of the second, the two examples that move, all four multipliers at the start
    ("Labels differ: α₁ − α₂ stays", -1, [[1.0, 0.4], [-0.1, 0.2]], [0.6, 0.2, 0.2, 0.2], GREEN),
    ("Labels agree: α₁ + α₂ stays", +1, [[0.2, 0.6], [0.8, -0.2]], [0.45, 0.75, 0.6, 0.6], RED),
)
fixed = np.array([[-0.9, 0.3], [-0.7, -0.5]])
side = np.linspace(-0.45, 1.65, 300)
profile = axes[0, 2]
for ax, (title, second, moving, start, colour) in zip(axes[0], cases):
    y, start = np.array([1, second, -1, -1]), np.array(start)
    problem = Problem(np.vstack([moving, fixed]), y, start)
    top = Problem(np.vstack([moving, fixed]), y, start)
    top.dual.low[:2], top.dual.high[:2] = -1e6, 1e6  # the same step with the walls far away
    for p in (problem, top):
        p.step(free=[0, 1])
    print(title)
    for name, alpha in (
        ("start", start),
        ("top of the parabola", top.alpha),
        ("cut at the box", problem.alpha),
    ):
        print(
            f"  {name:20s} α₁ = {alpha[0]:+.3f}  α₂ = {alpha[1]:+.3f}   y₁α₁ + y₂α₂ = {alpha[:2] @ y[:2]:+.3f}"
            f"   objective {problem.objective(alpha):.4f}"
        )

    one, two = np.meshgrid(side, side)
    alpha = np.stack([one, two, np.full_like(one, start[2]), np.full_like(one, start[3])], axis=-1)
    W = problem.objective(alpha)
    ax.contour(side, side, W, levels=14, colors=["#c9c9c9"], linewidths=0.8, linestyles="solid", zorder=0)
    ax.fill([0, C, C, 0], [0, 0, C, C], color=SKY, alpha=0.18, zorder=0)
    ax.plot([0, C, C, 0, 0], [0, 0, C, C, 0], color=BLACK, linewidth=1.4, zorder=2)
    along = start[1] - second * (side - start[0])  # y₁α₁ + y₂α₂ as at the start
    inside = (side >= 0) & (side <= C) & (along >= 0) & (along <= C)
    ax.plot(side, along, color=colour, linewidth=1.2, linestyle=":", zorder=3)
    ax.plot(side[inside], along[inside], color=colour, linewidth=2.6, zorder=3)
    ax.plot(*start[:2], "o", color=BLACK, markersize=7, zorder=5)
    ax.plot(
        *top.alpha[:2],
        "o",
        color=colour,
        markerfacecolor="white",
        markersize=9,
        markeredgewidth=1.8,
        zorder=5,
    )
    ax.plot(*problem.alpha[:2], "o", color=colour, markersize=9, zorder=5)
    ax.set(title=title, xlabel="α₁", ylabel="α₂", xlim=side[[0, -1]], ylim=side[[0, -1]], aspect="equal",
           xticks=[0, C], xticklabels=["0", "C"], yticks=[0, C], yticklabels=["0", "C"])  # fmt: skip
    say(ax, start[0] + 0.07, start[1] - 0.02, "start", BLACK, va="top")
    say(
        ax,
        problem.alpha[0] - 0.08,
        problem.alpha[1] - 0.02,
        "cut at\nthe wall",
        colour,
        ha="right",
        va="center",
    )
    say(ax, top.alpha[0] + 0.07, top.alpha[1], "top", colour, va="bottom" if second > 0 else "top")

    line = np.stack([side, along, np.full_like(side, start[2]), np.full_like(side, start[3])], axis=-1)
    W = problem.objective(line) - problem.objective(start)
    profile.plot(side, W, color=colour, linewidth=1.2, linestyle=":")
    profile.plot(side[inside], W[inside], color=colour, linewidth=2.6)
    hollow = {"color": colour, "markerfacecolor": "white", "markersize": 9, "markeredgewidth": 1.8}
    full = {"color": colour, "markersize": 9}
    for at, style in ((start, {"color": BLACK, "markersize": 7}), (top.alpha, hollow), (problem.alpha, full)):
        profile.plot(at[0], problem.objective(at) - problem.objective(start), "o", zorder=5, **style)
for wall in (0.0, C):
    profile.axvline(wall, color=BLACK, linewidth=1.0, zorder=0)
profile.set(title="Along the line: a parabola", xlabel="α₁", ylabel="gain in the dual objective", ylim=(-0.75, 0.5),
            xlim=(-0.1, side[-1]), xticks=[0, C], xticklabels=["0", "C"])  # fmt: skip
for height, (title, *_, colour) in zip((0.16, 0.09), cases):
    say(profile, 0.60, height, title.split(":")[0].lower(), colour, transform=profile.transAxes, ha="right")

rng = np.random.default_rng(25)
y = np.repeat([1, -1], 4)
X = rng.normal(0, 0.75, (8, 2)) + 0.8 * y[:, None] * np.array([1.0, 0.4])
problem = Problem(X, y, np.zeros(8))
history, pairs = [problem.alpha], []
duals, primals, violations = [0.0], [problem.primal()], [problem.violation()[0]]
while problem.violation()[0] > 1e-7 and len(pairs) < 200 and problem.step():
    change = problem.alpha - history[-1]
    pairs.append(np.flatnonzero(change))
    history.append(problem.alpha)
    duals.append(problem.objective(problem.alpha))
    primals.append(problem.primal())
    violations.append(problem.violation()[0])
history = np.array(history)
model = SVC(kernel="linear", C=C).fit(X, y)
print(f"\neight examples: {len(pairs)} pairs; the least that one gained is {np.diff(duals).min():.0e}")
print("pairs:", " ".join(f"({i + 1},{j + 1})" for i, j in pairs))
print(f"{'example':>8s} {'label':>6s} {'α step by step':>16s} {'α of SVC':>12s}")
for i in range(8):
    print(f"{i + 1:8d} {y[i]:+6d} {history[-1, i]:16.9f} {model.reports_[0].alpha[i]:12.9f}")
print(f"largest difference {np.abs(history[-1] - model.reports_[0].alpha).max():.0e}")
print(model.verdict_)

rise, spread, table = axes[1]
ticks = range(0, len(pairs) + 1, 5)
turn = np.arange(len(duals))
rise.fill_between(turn, duals, primals, color=GREY, alpha=0.12, linewidth=0)
rise.plot(turn, primals, "o-", color=ORANGE_INK, markersize=3.5)
rise.plot(turn, duals, "o-", color=BLUE, markersize=3.5)
rise.axhline(model.verdict_.objective, color=GREY, linewidth=0.9, linestyle=":")
rise.set(
    title="The dual rises, and bounds the primal", xlabel="pairs moved", ylabel="objective", xticks=ticks
)
say(rise, 0.60, 0.62, "primal at the same α", ORANGE_INK, transform=rise.transAxes, ha="center")
say(rise, 0.60, 0.16, "dual: never falls", BLUE, transform=rise.transAxes, ha="center")

spread.semilogy(turn, np.maximum(violations, 1e-16), "o-", color=RED, markersize=3.5)
spread.set(title="What is still violated", xlabel="pairs moved", ylabel="violation", xticks=ticks)

table.imshow(
    history.T / C, aspect="auto", cmap="Blues", vmin=0, vmax=1.15, extent=(-0.5, len(pairs) + 0.5, 8.5, 0.5)
)
edge = {"color": RED, "markeredgecolor": "white", "markersize": 6.5, "markeredgewidth": 0.7}
for k, moved in enumerate(pairs, 1):
    for i in moved:
        table.plot(k, i + 1, "^" if history[k, i] > history[k - 1, i] else "v", **edge)
table.axhline(4.5, color="white", linewidth=2.5)
labels = [f"{i + 1}  {'+' if s > 0 else '−'}" for i, s in enumerate(y)]
table.set(title="Which pair moved: ▲ up, ▼ down", ylabel="example and its label", xticks=ticks,
          xlabel="pairs moved   (white: α = 0, darkest: α = C)", yticks=range(1, 9), yticklabels=labels)  # fmt: skip
save(fig, __file__)
