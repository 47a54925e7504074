"""M8. Kernels: a hyperplane in another space is a curve in this one.

    linear x·z     polynomial (γ x·z + r)^d     RBF exp(−γ‖x − z‖²)     sigmoid tanh(γ x·z + r)   [6867] 5.2.2, [6321]

A ring around a disc. No line separates them; a polynomial of degree two does, since x₁² + x₂² is among its features;
so does the RBF kernel. The sigmoid is no inner product of anything here (its matrix has negative eigenvalues): the
machine works as LIBSVM's does, and the verdict claims no optimum.
"""

import numpy as np
from _plot import BLACK, GREY, box_of, figure, frame, grid, points, region, save, say

from separatrix import SVC

rng = np.random.default_rng(1)
turn, n = rng.uniform(0, 2 * np.pi, 160), 160
radius = np.where(np.arange(n) < 70, rng.uniform(0, 1.0, n), rng.normal(2.0, 0.28, n))
X = np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])
y = (np.arange(n) >= 70).astype(int)

machines = {
    "linear": SVC(kernel="linear"),
    "polynomial, degree 2": SVC(kernel="poly", degree=2, coef0=1.0),
    "RBF": SVC(kernel="rbf"),
    "sigmoid": SVC(kernel="sigmoid", gamma=1.0, coef0=-1.0),
}
fig, axes = figure(
    1, 4, "A kernel bends the line: what no line separates, a plane in another space does",
    "Ring and disc under four kernels. Solid: f = 0; dashed: the margins f = ±1; ringed: support vectors (not in the "
    "first, where nearly all are).",
    width=13.5, height=4.7,
)  # fmt: skip
box = box_of(X, 0.16)
for ax, (name, model) in zip(axes, machines.items()):
    model.fit(X, y)
    right = model.score(X, y)
    print(f"{name:22s} {right:.3f} right, {len(model.support_)} support vectors\n{model.verdict_}\n")
    region(ax, model, box, hard=True, strength=0.25)
    xx, yy, rows = grid(box, 250)
    f = model.decision_function(rows).reshape(xx.shape)
    if np.ptp(f) > 1e-6:
        ax.contour(xx, yy, f, levels=[-1, 0, 1], colors=[GREY, BLACK, GREY], linestyles=["--", "-", "--"],
                   linewidths=[1.0, 2.0, 1.0], zorder=2)  # fmt: skip
    else:  # no line is better than none: w = 0, and the larger class wins everywhere
        say(ax, 0.5, 0.03, "w = 0: the larger class everywhere", transform=ax.transAxes, ha="center")
    if model.verdict_.status == "no claim":
        say(ax, 0.4, 0.93, "no optimum is claimed", transform=ax.transAxes, ha="center")
    points(ax, X, y, size=18)
    held = X[model.support_]
    if name != "linear":  # there nearly every example is one
        ax.scatter(*held.T, s=60, facecolors="none", edgecolors=BLACK, linewidths=0.9, zorder=5)
    frame(ax, box)
    ax.set(title=f"{name}: {100 * right:.0f} % right", xticks=[], yticks=[], aspect="equal")
save(fig, __file__)
