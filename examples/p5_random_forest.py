"""P5. Random forests: bagged trees that look at K drawn columns a node, and what K does.

    var f = ρ σ² + (1 − ρ) σ²/M        ρ the trees' correlation, σ² the variance of one of M trees            [6321]

More trees take the second term away and leave the first: what is left to gain is to make the trees less alike. Fewer
columns a node do that, at the price of worse single trees. The right panel grows the same forest on numbers with
gross errors among them: leaves that say means follow the errors, leaves that say medians heed them less.
"""

import numpy as np
from _plot import BLACK, BLUE, GREEN, GREY, ORANGE, ORANGE_INK, figure, save
from _waveform import waveform

from separatrix import RandomForestClassifier, RandomForestRegressor

rng = np.random.default_rng(0)
X, y = waveform(400, rng)
fresh, truth = waveform(3000, rng)

tables = [waveform(400, rng) for _ in range(20)]


def correlation_of_trees(k, trees=20):
    """ρ: the share of a tree's variance that all trees of one table have in common, the mean over places."""
    means, within = [], []
    for table, kinds in tables:
        model = RandomForestClassifier(trees, max_features=k, random_state=0).fit(table, kinds)
        said = np.array([tree.predict_proba(fresh[:300])[:, 0] for tree in model])
        means.append(said.mean(axis=0))
        within.append(said.var(axis=0, ddof=1))
    own = np.mean(within)
    common = np.var(means, axis=0, ddof=1).mean() - own / trees
    return common / (common + own)


columns = [1, 2, 3, 4, 6, 9, 13, 17, 21]
forest_error, tree_error, alike = [], [], []
print(" K   error of the forest   of its trees   correlation of the trees   out-of-bag error")
for k in columns:
    model = RandomForestClassifier(150, max_features=k, oob_score=True, random_state=0).fit(X, y)
    forest_error.append(1 - model.score(fresh, truth))
    tree_error.append(1 - np.mean([tree.score(fresh, truth) for tree in model[:40]]))
    alike.append(correlation_of_trees(k))
    print(
        f"{k:2d}   {forest_error[-1]:19.3f}   {tree_error[-1]:12.3f}   {alike[-1]:24.2f}   "
        f"{1 - model.oob_score_:16.3f}"
    )

fig, (errors, correlation, medians) = figure(
    1, 3, "Trees that see fewer columns are worse alone and better together",
    "Breiman's waves: 21 columns, 400 rows of three kinds, 150 trees; errors on 3,000 fresh rows. "
    "Right: 150 rows, one in eight a gross error.",
    width=13.2, height=4.6,
)  # fmt: skip
errors.plot(columns, tree_error, "s-", color=ORANGE, markersize=4)
errors.plot(columns, forest_error, "o-", color=BLUE, markersize=4)
errors.text(21, tree_error[-1] + 0.012, "a single tree", color=ORANGE_INK, ha="right")
errors.text(21, forest_error[-1] + 0.012, "the forest", color=BLUE, ha="right")
errors.axhline(0.14, color=GREY, linewidth=0.8, linestyle=":")
errors.text(21, 0.136, "the best possible, 14 %", color=GREY, va="top", ha="right", fontsize=9)
root = int(np.sqrt(21))
errors.axvline(root, color=GREY, linewidth=0.8)
errors.text(root + 0.3, 0.105, 'max_features="sqrt"', color=GREY, fontsize=9)
errors.set(xlabel="columns looked at in a node, K", ylabel="error", ylim=(0.1, None), title="Error against K")

correlation.plot(columns, alike, "o-", color=GREEN, markersize=4)
correlation.set(
    xlabel="columns looked at in a node, K", ylabel="correlation ρ of two trees", ylim=(0, None),
    title="The more they see, the more alike they are",
)  # fmt: skip

for ax in (errors, correlation):
    ax.set_xticks([1, 4, 9, 13, 17, 21])

x = np.sort(rng.uniform(0, 10, 150))
wave = np.sin(x) + 0.3 * x
z = wave + rng.normal(0, 0.15, 150)
wrong = rng.random(150) < 1 / 8
z[wrong] += rng.exponential(6.0, wrong.sum())
line = np.linspace(0, 10, 400)[:, None]
true = np.sin(line[:, 0]) + 0.3 * line[:, 0]
medians.plot(x, np.minimum(z, 9.4), ".", color=GREY, markersize=4, zorder=1)
medians.plot(line, true, color=BLACK, linewidth=1, linestyle="--")
for criterion, colour in (("squared_error", ORANGE), ("absolute_error", BLUE)):
    model = RandomForestRegressor(100, criterion=criterion, min_samples_leaf=5, random_state=0).fit(
        x[:, None], z
    )
    off = np.abs(model.predict(line) - true).mean()
    print(f"{criterion}: mean distance from the truth {off:.2f}")
    medians.plot(line, model.predict(line), color=colour, zorder=2 + (colour == BLUE))
    height = 8.6 if colour == ORANGE else 7.9
    ink = ORANGE_INK if colour == ORANGE else BLUE
    medians.text(0.1, height, f"{criterion}: off by {off:.2f}", color=ink)
medians.text(0.1, 7.2, "the truth, dashed", color=BLACK)
medians.text(10, -0.9, "at the upper edge: rows above it", color=GREY, ha="right", va="bottom", fontsize=8.5)
medians.set(xlabel="x", ylabel="y", ylim=(-1, 9.6), title="Medians heed gross errors less")
save(fig, __file__)
