"""M9. More than two classes: one against one, one against the rest, or all at once.

    one-vs-one      K(K−1)/2 machines, each on two classes; most votes win
    one-vs-rest     K machines, each on all rows; the largest score wins
    Crammer–Singer  min ½Σ_k‖w_k‖² + C Σ_i max_k (1[k ≠ y_i] + η_ik − η_iy_i): one problem for K scores   [6321]

Three classes in a row: a line parts either outer class from the rest, none parts the middle one. One-vs-rest asks for
that line and is left with a wedge; pairs, and all classes at once, do not ask for it. A kernel that bends has it too.
"""

import numpy as np
from _plot import BLACK, GREY, box_of, figure, frame, grid, points, region, save

from separatrix import SVC, LinearSVC

rng = np.random.default_rng(4)
centres = np.array([[-1.2, -0.3], [0.0, 0.3], [1.2, -0.3]])
y = np.repeat([0, 1, 2], 50)
X = centres[y] + rng.normal(0, [0.45, 1.0], (150, 2))

machines = {
    "one-vs-one": SVC(kernel="linear"),
    "one-vs-rest": SVC(kernel="linear", multi_class="ovr"),
    "Crammer–Singer": LinearSVC(multi_class="crammer_singer"),
    "one-vs-rest, RBF kernel": SVC(multi_class="ovr"),
}
fig, axes = figure(
    1, 4, "Three classes in a row: the middle one has no line against the rest",
    "Colour: the class predicted. Lines: where each machine's score is zero (one-vs-one, one-vs-rest), or two "
    "classes' scores are equal (Crammer–Singer).",
    width=13.5, height=4.4,
)  # fmt: skip
box = box_of(X, 0.12)
xx, yy, rows = grid(box, 300)
for ax, (name, model) in zip(axes, machines.items()):
    model.fit(X, y)
    right = model.score(X, y)
    print(f"{name}: {100 * right:.0f} % right\n{model.verdict_}\n")
    region(ax, model, box, hard=True, strength=0.35)
    if name == "one-vs-one":
        scores = model.set_params(decision_function_shape="ovo").decision_function(rows)
    else:
        scores = model.decision_function(rows)
    if name == "Crammer–Singer":
        scores = scores - np.sort(scores, axis=1)[:, [-2]]
    styles = ("-", "-", "-") if name == "Crammer–Singer" else ("-", "--", ":")
    for score, style in zip(scores.T, styles):
        ax.contour(xx, yy, score.reshape(xx.shape), levels=[0.0], colors=[BLACK], linestyles=[style],
                           linewidths=1.6, zorder=2)  # fmt: skip
    points(ax, X, y, size=18)
    frame(ax, box)
    ax.set(title=f"{name}: {100 * right:.0f} % right", xticks=[], yticks=[])
    ax.set_xlabel(
        f"{getattr(model, 'support_', np.flatnonzero(model.reports_[0].alpha > 1e-9)).size} support vectors",
        color=GREY,
    )
save(fig, __file__)
