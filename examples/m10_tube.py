"""M10. Support vector regression: errors inside a tube of half-width ε cost nothing.

    min ½‖w‖² + C Σ_i (ξ_i + ξ̂_i),   −ε − ξ̂_i ≤ y_i − f(x_i) ≤ ε + ξ_i                                    [6321]

Each example has two dual variables, a_i for lying above the tube and â_i for lying below it; at most one of them is
not zero, both are zero inside the tube, and f(x) = Σ_i (a_i − â_i) k(x_i, x) + b rests on the others alone. A wider
tube needs fewer of them and follows the data less.
"""

import numpy as np
from _plot import BLACK, BLUE, GREEN, GREY, RED, figure, save, say

from separatrix import SVR

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(0, 6, 60))
y = np.sin(1.6 * x) * np.exp(-0.15 * x) + rng.normal(0, 0.16, 60)
fine = np.linspace(-0.2, 6.2, 400)

fig, axes = figure(
    1, 3, "Inside the tube an error costs nothing, and the example is not needed",
    "RBF support vector regression at three tube widths. "
    "△ above the tube or on its edge, a > 0; ▽ below, â > 0; without a mark: inside.",
    width=12.5, height=4.4, sharey=True,
)  # fmt: skip
for ax, epsilon in zip(axes, (0.05, 0.2, 0.5)):
    model = SVR(C=10.0, gamma=1.5, epsilon=epsilon).fit(x[:, None], y)
    f = model.predict(fine[:, None])
    above, below = int(np.count_nonzero(model.alpha_)), int(np.count_nonzero(model.alpha_hat_))
    print(
        f"ε = {epsilon}: {len(model.support_)} of 60 carry the curve, {above} from above and {below} from below"
    )
    print(f"{model.verdict_}\n")
    ax.fill_between(fine, f - epsilon, f + epsilon, color=BLUE, alpha=0.13, linewidth=0)
    ax.plot(fine, f, color=BLUE)
    ax.plot(x, y, "o", color=BLACK, markersize=3.6, zorder=3)
    held = model.support_
    for dual, colour, shape in ((model.alpha_, RED, "^"), (model.alpha_hat_, GREEN, "v")):
        rows = np.flatnonzero(dual)
        style = {"facecolors": "none", "edgecolors": colour, "linewidths": 1.2, "zorder": 4}
        ax.scatter(x[rows], y[rows], s=80, marker=shape, **style)
    ax.set(title=f"ε = {epsilon}: {len(held)} support vectors", xlabel="x", xlim=(-0.2, 6.2))
axes[0].set_ylabel("y")
say(axes[1], 4.0, 1.0, "tube: f(x) ± ε", BLUE, ha="left")
axes[0].set_ylim(-1.15, 1.2)
say(axes[2], 3.0, -1.05, "inside the tube: a = â = 0", GREY, ha="center")
save(fig, __file__)
