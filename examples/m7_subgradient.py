"""M7. Sub-gradient descent on the notes' own objective: it comes near, and the exact solver says how near.

    F(w, b) = (1/c)‖w‖² + Σ_i max(0, 1 − y_i (w·x_i + b))                         [446] "Sub-gradient descent for SVM"
    w ← w − η_t ( Σ_i 1[y_i(w·x_i + b) ≤ 1] (−y_i x_i) + (2/c) w ),     b ← b − η_t Σ_i 1[…] (−y_i)

F is 2/c times ½‖w‖² + C Σ ξ_i at C = c/2, so that LinearSVC(loss="hinge", C=c/2) has its minimum F*. A sub-gradient
does not shrink near a corner: with the notes' constant η the points jump about the minimum for ever, at a distance
that η sets; with η/√t or η/t they close in, still jumping. The mean of the later points jumps no more.
"""

import numpy as np
from _plot import BLACK, BLUE, GREEN, ORANGE_INK, RED, box_of, figure, points, save, say, surface

from separatrix import LinearSVC, SubgradientSVC

c, T = 2.0, 3000
rng = np.random.default_rng(12)
y = np.repeat([0, 1], 60)
X = rng.multivariate_normal([0, 0], [[1.3, 1.0], [1.0, 1.2]], 120) + np.array([[-1.0, -0.1], [1.0, 0.1]])[y]
sign = 2 * y - 1


def F(w, b):
    return w @ w / c + np.maximum(0, 1 - sign * (X @ w + b)).sum()


exact = LinearSVC(loss="hinge", C=c / 2, tol=1e-10).fit(X, y)
best = exact.verdict_.objective * 2 / c
print(f"{exact.verdict_}\nF* = 2/c · {exact.verdict_.objective:.9f} = {best:.9f}; ", end="")
print(f"F at its weights = {F(exact.coef_[0], exact.intercept_[0]):.9f}\n")

first = 0.03
schedules = {  # name: (η_1, in words, colour)
    "constant": (first, f"constant η = {first:g}", ORANGE_INK),
    "sqrt": (first, f"η = {first:g}/√t", BLUE),
    "inverse": (None, "η = (c/2)/t", GREEN),
}
fits = {
    name: SubgradientSVC(c=c, schedule=name, eta=eta, max_iter=T, tol=1e-9, record_path=True).fit(X, y)
    for name, (eta, _, _) in schedules.items()
}
later = {}  # F of the mean of the points from t/2 to t
t = np.arange(1, T + 1)
for name, model in fits.items():
    along = np.column_stack([model.path_.coef, model.path_.intercept])
    sums = np.vstack([np.zeros(3), along.cumsum(axis=0)])
    half = t // 2
    mean = (sums[t] - sums[half]) / (t - half)[:, None]
    later[name] = np.array([F(m[:2], m[2]) for m in mean])
print(f"F − F* after {T} steps")
print(f"{'step size':18s} {'last':>9s} {'best seen':>10s} {'later mean':>11s} {'kept':>9s} {'proven':>9s}")
for name, model in fits.items():
    path, verdict = model.objective_path_, model.verdict_
    print(f"{schedules[name][1]:18s} {path[-1] - best:9.1e} {path.min() - best:10.1e} {later[name][-1] - best:11.1e} "
          f"{verdict.objective - best:9.1e} {verdict.gap:9.1e}")  # fmt: skip
print(f"\n{fits['sqrt'].verdict_}")

fig, (left, middle, right) = figure(
    1, 3, "A sub-gradient step need not go down; steps that shrink, or a mean of points, come near the optimum",
    "F = (1/c)‖w‖² + Σ hinge on 120 examples, c = 2; F* is its minimum, from LinearSVC at C = c/2. Middle and right: "
    "the notes' constant step.",
    width=13.5, height=5.0,
)  # fmt: skip
for name, (_, words, colour) in schedules.items():
    left.loglog(t, fits[name].objective_path_ - best, color=colour, linewidth=0.8, alpha=0.9)
for height, (_, words, colour) in zip((0.93, 0.87, 0.81), schedules.values()):
    say(left, 0.97, height, words, colour, transform=left.transAxes, ha="right")
left.set(title="Three step sizes", xlabel="step t", ylabel="F − F*")

path = fits["constant"].objective_path_
middle.loglog(t, path - best, color=ORANGE_INK, linewidth=0.8, alpha=0.55)
middle.loglog(t, np.minimum.accumulate(path) - best, color=BLACK, linewidth=1.6, linestyle="--")
middle.loglog(t, later["constant"] - best, color=RED, linewidth=2.2)
lines = (("the point at t", ORANGE_INK), ("mean of the points t/2 to t", RED), ("- -  best so far", BLACK))
for height, (words, colour) in zip((0.93, 0.87, 0.81), lines):
    say(middle, 0.97, height, words, colour, transform=middle.transAxes, ha="right")
middle.set(title="The point jumps, the mean does not", xlabel="step t", ylim=left.get_ylim())

box = box_of(X, 0.1)
points(right, X, y, alpha=0.4)
walk = fits["constant"].path_
marks = [1, 2, 4, 8, 16, 32]
for k, shade in zip(marks, np.linspace(0.8, 0.2, len(marks))):
    surface(right, walk.coef[k], walk.intercept[k], box, colors=[str(shade)], linewidths=1.4)
surface(right, exact.coef_, exact.intercept_[0], box, colors=[RED], linewidths=2.4)
right.set(title="The boundary after 1, 2, 4, … 32 steps", xlabel="x₁", ylabel="x₂")
say(right, 0.03, 0.95, "pale first, dark last", "#555555", transform=right.transAxes)
say(right, 0.03, 0.89, "the optimum", RED, transform=right.transAxes)
save(fig, __file__)
