"""M6. One optimum, several roads to it, each with its own proof.

    min ½‖w‖² + C Σ_i ξ_i    or    min ½‖w‖² + C Σ_i ξ_i²                                  [6867] 5.2, 5.3; [6321]

    SMO                 pairs of multipliers                                       SVC(kernel="linear"), hinge
    interior point      the primal and dual together, O(np²) a step                LinearSVC(solver="interior"), hinge
    coordinate ascent   one multiplier at a time, the intercept by the sum         LinearSVC(solver="coordinate")
    quadratic programme the dual as it stands, knowing nothing of margins, O(n³)   LinearSVC(solver="qp")
    Newton              the second derivative where there is one, O(np²) a step    LinearSVC(solver="newton"), squared

Every fit carries a primal and a dual value, and so the distance to the optimum at most. The picture runs each solver
anew with a limit of 1, 2, 3, … of its own steps and draws the gap it proves there.
"""

import time
import warnings

import numpy as np
from _plot import BLUE, GREEN, GREY, ORANGE_INK, RED, figure, save, say
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from separatrix import SVC, LinearSVC

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
TIGHT, MOST = 1e-8, 100_000


def machine(solver, loss):
    """A function of the limit: the machine not yet fitted."""
    if solver == "smo":
        return lambda most: SVC(kernel="linear", tol=TIGHT / 100, max_iter=most)
    return lambda most: LinearSVC(loss=loss, solver=solver, tol=TIGHT, max_iter=most)


roads = {  # solver: (its name, what it counts, colour, line, the side its label stands on)
    "smo": ("SMO", "pairs", BLUE, "-", "right"),
    "interior": ("interior point", "steps", RED, "-", "right"),
    "newton": ("Newton", "steps", RED, "-", "right"),
    "coordinate": ("coordinate ascent", "passes", GREEN, "-", "left"),
    "qp": ("quadratic programme", "steps", ORANGE_INK, "--", "left"),
}
problems = {
    "hinge": ("smo", "interior", "coordinate", "qp"),
    "squared_hinge": ("newton", "coordinate", "qp"),
}

fig, axes = figure(
    1, 2, "Different roads, one optimum, and each road proves that it arrived",
    f"Wisconsin breast cancer, {X.shape[0]} × {X.shape[1]}, C = 1. The gap between primal and dual after so many of "
    "a solver's own steps, which cost very differently.",
    width=12.5, height=5.2, sharey=True,
)  # fmt: skip
for ax, (loss, solvers) in zip(axes, problems.items()):
    print(
        f"{loss}\n  {'solver':20s} {'objective':>16s} {'proven gap':>11s} {'steps':>12s} {'sweeps':>8s} {'ms':>7s}"
    )
    weights = []
    for solver in solvers:
        name, unit, colour, line, stands = roads[solver]
        make = machine(solver, loss)
        make(MOST).fit(X, y)  # compiled loops are loaded here, outside the clock
        took = []
        for _ in range(3):
            began = time.perf_counter()
            model = make(MOST).fit(X, y)
            took.append(time.perf_counter() - began)
        verdict, steps = model.verdict_, int(np.max(model.n_iter_))
        ms = 1e3 * min(took)
        weights.append(np.append(model.coef_[0], model.intercept_))
        print(f"  {name:20s} {verdict.objective:16.10f} {verdict.gap:11.1e} {steps:5d} {unit:6s} "
              f"{verdict.sweeps:8.1f} {ms:7.1f}")  # fmt: skip

        limits = np.unique(np.geomspace(1, steps, 28).round().astype(int))
        gaps = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # stopped early on purpose
            for most in limits:
                short = make(int(most)).fit(X, y).verdict_
                gaps.append(short.gap / short.objective)
        gaps[-1] = verdict.gap / verdict.objective
        ax.loglog(limits, np.maximum(gaps, 1e-16), line, color=colour)
        ax.plot(steps, max(gaps[-1], 1e-16), "o", color=colour, markersize=6)
        away = 1.2 if stands == "left" else 1 / 1.2
        words = f"{name}\n{steps} {unit}, {ms:.0f} ms"
        level = "top" if gaps[-1] > 1e-13 else "center"
        say(ax, steps * away, max(gaps[-1], 1e-16), words, colour, va=level, ha=stands)
    apart = max(np.abs(w - weights[0]).max() for w in weights)
    print(f"  weights differ by at most {apart:.0e}\n")
    ax.axhline(TIGHT / 100, color=GREY, linewidth=0.9, linestyle=":")
    asked = {"transform": ax.get_yaxis_transform(), "ha": "center", "fontsize": 8.5}
    say(ax, 0.38, TIGHT / 100 * 1.5, "gap asked for", GREY, **asked)
    ax.set(xlim=(0.5, 4e5), ylim=(1e-15, 3e3), xlabel="the solver's own steps")
    ax.set_title(f"{loss.replace('_', ' ')}: one minimum, {verdict.objective:.8f}")
print("sweeps are passes over the rows; of SMO, over the matrix of all inner products")
axes[0].set_ylabel("proven gap / objective")
save(fig, __file__)
