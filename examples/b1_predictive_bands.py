"""B1, B2. A distribution over weights: predictions that are less sure where there were no data.

    W | D ≈ N(m_n, S_n),  m_n = W_MAP,  S_n⁻¹ = S₀⁻¹ + Σ o(1−o) x xᵀ
    P(y = 1 | x, D) = ∫ σ(W·x) N(W | m_n, S_n) dW ≈ σ(m / √(1 + πs²/8)),   s² = xᵀS_n x                  [6867] 4

Left: the share of pumps that fail under load, tested at low and middling loads only. The plug-in sigmoid of W_MAP is
certain of what happens at loads never tried; the predictive probability is not, and its band widens. Right: two
clouds that a line separates, so that maximum likelihood has no answer: the prior gives one (row D7), the colour is
the predictive probability, and its contours fan out away from the data where those of the plug-in stay parallel.
"""

import warnings

import numpy as np
from _plot import BLACK, BLUE, GREY, ORANGE_INK, RED, figure, grid, points, region, save, say

from separatrix import BayesianLogisticRegression, LogisticRegression, SeparationWarning

rng = np.random.default_rng(8)
load = np.sort(rng.uniform(0.0, 4.0, 16))
fails = (rng.random(16) < 1 / (1 + np.exp(-1.6 * (load - 2.6)))).astype(int)
model = BayesianLogisticRegression(prior_precision=0.25).fit(load[:, None], fails)
print(model.verdict_)
print(model.summary(), "\n")
far = np.linspace(-1.0, 12.0, 300)[:, None]
plain = model.predict_proba(far, method="plugin")[:, 1]
probit = model.predict_proba(far)[:, 1]
drawn = model.predict_proba(far, method="monte_carlo")[:, 1]
low, high = model.predict_interval(far).T
print(f"at load 10: plug-in {np.interp(10, far[:, 0], plain):.4f}, ", end="")
print(f"predictive {np.interp(10, far[:, 0], probit):.4f} by probit, ", end="")
print(
    f"{np.interp(10, far[:, 0], drawn):.4f} by Monte Carlo; the two differ by at most {abs(probit - drawn).max():.3f}"
)

across = np.array([1.0, -1.0]) / np.sqrt(2)
label = np.repeat(["left", "right"], 30)
X = rng.normal(size=(60, 2)) * 0.55 + np.where(label == "right", 1.4, -1.4)[:, None] * across
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SeparationWarning)
    print(f"\nmaximum likelihood: {LogisticRegression(C=np.inf).fit(X, label).verdict_.headline()}")
apart = BayesianLogisticRegression(prior_precision=0.5).fit(X, label)
print(apart.verdict_)
corner = [[4.0, 4.0]]
print(
    f"at {corner[0]}, far along the boundary: plug-in {apart.predict_proba(corner, method='plugin')[0, 1]:.3f}, ",
    end="",
)
print(
    f"predictive {apart.predict_proba(corner)[0, 1]:.3f}, interval {apart.predict_interval(corner)[0].round(3)}"
)

fig, (ax, plane) = figure(
    1, 2, "Where there were no data, the weights' uncertainty shows",
    "Left: 95 % band of the probability against the plug-in sigmoid. Right: separated classes; predictive contours "
    "(black) fan out, plug-in ones (red) do not.", width=12.0, height=4.9,
)  # fmt: skip
ax.axvspan(load.min(), load.max(), color="#f2f2f2", zorder=0, linewidth=0)
ax.fill_between(far[:, 0], low, high, color=BLUE, alpha=0.16, linewidth=0, zorder=1)
draws, offsets = model.sample_posterior(12, random_state=4)
for w, b in zip(draws[:, 0], offsets):
    ax.plot(far, 1 / (1 + np.exp(-(w * far + b))), color=BLUE, linewidth=0.6, alpha=0.45, zorder=2)
ax.plot(far, plain, color=RED, linestyle="--", zorder=4)
ax.plot(far, probit, color=BLUE, linewidth=2.6, zorder=5)
ax.plot(load, fails, "|", color=BLACK, markersize=9, markeredgewidth=1.3, zorder=6)
say(ax, 8.2, 0.935, "predictive", BLUE, fontweight="bold", va="top")
say(ax, 4.3, 1.035, "plug-in, weights taken as certain", RED, va="bottom")
say(ax, 5.6, 0.55, "95 % of the posterior,\nand 12 draws from it", BLUE)
say(ax, 0.5 * (load.min() + load.max()), -0.085, "loads that were tested", GREY, ha="center", va="top")
ax.set(
    xlim=(-1, 12), ylim=(-0.17, 1.12), xlabel="load", ylabel="P(fails)", title="One column: the band opens",
    yticks=np.linspace(0, 1, 6),
)  # fmt: skip

box = (-5.0, 5.0, -4.2, 4.2)
region(plane, apart, box)
xx, yy, rows = grid(box, 300)
levels = [0.1, 0.25, 0.5, 0.75, 0.9]
for method, colour, style, width in (("plugin", RED, "dashed", 1.0), (None, BLACK, "solid", 1.5)):
    p = apart.predict_proba(rows, method=method)[:, 1].reshape(xx.shape)
    plane.contour(xx, yy, p, levels=levels, colors=[colour], linestyles=style, linewidths=width, zorder=2)
p = apart.predict_proba(np.column_stack([xx[-14], yy[-14]]))[:, 1]
for level in levels:  # a label where a contour passes below the upper edge
    at = np.abs(p - level).argmin()
    if abs(p[at] - level) < 0.02:
        say(plane, xx[-14, at], yy[-14, at], f"{level:g}", fontsize=9, ha="center", va="center")
points(plane, X, label)
say(plane, -2.2, 2.6, "left", BLUE, fontweight="bold", ha="center")
say(plane, 2.3, -2.9, "right", ORANGE_INK, fontweight="bold", ha="center")
plane.set(title="Separated classes: a prior gives an answer", xlabel="$x_1$", ylabel="$x_2$")
save(fig, __file__)
