"""E5. Bias and variance on the left-out points, and the parts add up.

    mean of (y − h_b)² over the bootstraps b that left the row out  =  bias² + variance + noise                 [6321]
    0–1 loss:  error = noise + bias + variance where the vote is right − variance where it is wrong       (Domingos)

Left: a fit to each bootstrap (faint), their mean (bold), the truth (dashed). Middle: what the left-out answers say at
each place. Right: the same over all rows, for several models. Rows of equal x tell how much of the error is noise.
"""

import numpy as np
from _plot import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY, figure, save, say

from separatrix import SVR, DecisionTreeClassifier, bias_variance
from separatrix.models.ensemble.bags.draws import Draws

rng = np.random.default_rng(4)
places, copies, sigma = np.linspace(-1, 1, 20), 3, 0.4
x = np.repeat(places, copies)


def truth(x):
    return np.sin(4.2 * x) + 0.5 * x


y = truth(x) + rng.normal(0, sigma, len(x))


def machine(gamma):
    """Support vector regression; a wide kernel (small gamma) is stiff, a narrow one bends at every row."""
    return SVR(C=3.0, gamma=gamma, epsilon=0.1)


gammas = np.array([0.03, 0.1, 0.3, 1, 3, 10, 30, 100])
results = {g: bias_variance(machine(g), x[:, None], y, n_bootstraps=100, random_state=0) for g in gammas}
stiff, loose = 0.1, 100
for g in (stiff, loose):
    r = results[g]
    print(f"gamma {g}\n{r}")
    print(
        f"{r.bias:.6f} + {r.variance:.6f} + {r.noise:.6f} = {r.bias + r.variance + r.noise:.6f}; error {r.total:.6f}"
    )
    print(f"noise {r.noise:.3f}, in truth {sigma**2:.3f}\n")

fig, axes = figure(
    2, 3, "A stiff model errs the same way every time, a loose one another way each time: error is the sum of both",
    "60 rows at 20 places, noise of variance 0.16. Every row is judged by those of 100 bootstraps that left it out.",
    width=14.0, height=8.0,
)  # fmt: skip
line = np.linspace(-1, 1, 200)
for row, g in zip(axes, (stiff, loose), strict=True):
    ax = row[0]
    draws = Draws(n=len(x), p=1, m=len(x), width=1, seed=0)
    curves = []
    for b in range(60):
        bag = draws.rows(b)
        curves.append(machine(g).fit(x[bag, None], y[bag]).predict(line[:, None]))
        ax.plot(line, curves[-1], color=SKY, linewidth=0.7, alpha=0.45, zorder=1)
    ax.scatter(x, y, s=9, color=GREY, alpha=0.7, linewidths=0, zorder=2)
    ax.plot(line, truth(line), color=BLACK, linestyle="--", linewidth=1.6, zorder=4)
    ax.plot(line, np.mean(curves, axis=0), color=BLUE, linewidth=2.8, zorder=3)
    ax.set(ylim=(-2.3, 2.3), xlabel="x", title=f"γ = {g}: 60 fits, their mean, the truth")

    ax = row[1]
    r = results[g]
    here = x[:, None] == places
    bias, variance = (
        (here * part[:, None]).sum(axis=0) / copies for part in (r.points.bias, r.points.variance)
    )
    mean = (here * r.points.prediction[:, None]).sum(axis=0) / copies
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.plot(places, (truth(places) - mean) ** 2, color=BLUE, linestyle="--", linewidth=1.6)
    ax.plot(places, bias, color=BLUE, marker="o", markersize=4.5, linewidth=0, alpha=0.75)
    ax.plot(places, variance, color=RED, marker="s", markersize=4.5, linewidth=1.6)
    ax.set(xlabel="x", ylim=(-0.25, 1.6), title=f"γ = {g}: parts at each place")

say(axes[0, 0], 0.05, 1.15, "truth", BLACK, ha="right")
say(axes[0, 0], -0.97, -1.9, "mean of the fits (bold)", BLUE)
for ax in axes[:, 1]:
    say(
        ax,
        0.5,
        0.97,
        "bias² found (dots) and in truth (dashed)",
        BLUE,
        transform=ax.transAxes,
        ha="center",
        va="top",
    )
    say(ax, 0.5, 0.90, "variance", RED, transform=ax.transAxes, ha="center", va="top")

# all rows, squared loss
ax = axes[0, 2]
at = np.arange(len(gammas))
noise, bias, variance = (
    np.array([getattr(r, k) for r in results.values()]) for k in ("noise", "bias", "variance")
)
base = np.zeros(len(gammas))
for part, colour in ((noise, "#BBBBBB"), (np.maximum(bias, 0), BLUE), (variance, RED)):
    ax.bar(at, part, bottom=base, color=colour, width=0.78)
    base = base + part
error = np.array([r.parts["error"][:3] for r in results.values()])
ax.errorbar(
    at, error[:, 0], [error[:, 0] - error[:, 1], error[:, 2] - error[:, 0]], fmt="o", color=BLACK, markersize=4,
    linewidth=1.1, capsize=2,
)  # fmt: skip
for k, (word, colour) in enumerate(
    (("error", BLACK), ("variance", RED), ("bias²", BLUE), ("noise", "#666666"))
):
    say(
        ax,
        0.98,
        0.95 - 0.07 * k,
        word,
        colour,
        transform=ax.transAxes,
        ha="right",
        va="top",
        fontweight="bold",
    )
ax.set(xticks=at, xticklabels=[f"{g:g}" for g in gammas], title="Squared loss, all rows")
ax.set(xlabel="γ: stiff to loose", ylim=(0, 1.35 * float(error[:, 2].max())))

# all rows, 0–1 loss
n = 300
P = rng.uniform(-2, 2, (n, 2))
inside = np.sin(2.2 * P[:, 0]) + 0.4 * rng.normal(size=n) > P[:, 1]
depths = [1, 2, 3, 4, 6, 8, 12]
trees = [bias_variance(DecisionTreeClassifier(max_depth=d), P, inside, n_bootstraps=60) for d in depths]
print("depth of a tree, 0–1 loss: error = bias + harm − good")
for d, r in zip(depths, trees, strict=True):
    harm, good = (r.parts[k].value for k in ("unbiased_variance", "biased_variance"))
    print(f"  {d:2d}   {r.total:.4f} = {r.bias:.4f} + {harm:.4f} − {good:.4f}")
print(f"\n{trees[-1]}")
ax = axes[1, 2]
at = np.arange(len(depths))
bias, harm, good, total = (
    np.array([r.parts[k].value for r in trees])
    for k in ("bias", "unbiased_variance", "biased_variance", "error")
)
ax.bar(at, bias, color=BLUE, width=0.78)
ax.bar(at, harm, bottom=bias, color=ORANGE, width=0.78)
ax.bar(at, -good, color=GREEN, width=0.78)
ax.axhline(0, color=BLACK, linewidth=0.8)
ax.plot(at, total, "o", color=BLACK, markersize=5)
ax.set(
    xticks=at, xticklabels=depths, xlabel="depth of the tree", title="0–1 loss, all rows of a two-class table"
)
words = (("● error = blue + orange − green", BLACK), ("variance where the vote is right", "#9A6700"), ("bias", BLUE),
         ("variance where it is wrong (it helps)", "#00704F"))  # fmt: skip
for k, (word, colour) in enumerate(words):
    say(
        ax,
        0.98,
        0.97 - 0.07 * k,
        word,
        colour,
        transform=ax.transAxes,
        ha="right",
        va="top",
        fontweight="bold",
    )
ax.set_ylim(None, 1.45 * float((bias + harm).max()))
save(fig, __file__)
