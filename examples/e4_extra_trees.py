"""E4. Extremely randomised trees: random tests, the best of K installed, and the mean over M trees.

    f(x) = (1/M) Σ_m f_m(x);   a test's score is 2 I/(H_split + H_class), the normalised information gain     [6321]

One tree of best splits cuts the plane into boxes. One random tree is worse; the mean of a hundred is smooth, since
what chance did to one tree is washed out by the others. Rows outside a tree's bag judge the forest as it grows, and
show which columns matter: a column is shuffled among them, and what is lost is its importance.
"""

import numpy as np
from _plot import BLACK, BLUE, GREY, ORANGE, ORANGE_INK, box_of, figure, grid, points, region, save
from _waveform import waveform
from sklearn.datasets import make_moons

from separatrix import DecisionTreeClassifier, ExtraTreesClassifier

X, y = make_moons(260, noise=0.27, random_state=3)
fresh, truth = make_moons(20_000, noise=0.27, random_state=4)
box = box_of(X)
models = {"one tree of best splits": DecisionTreeClassifier()}
for m in (1, 10, 100):
    name = f"{m} random tree{'s' if m > 1 else ''}"
    models[name] = ExtraTreesClassifier(m, criterion="normalized_gain", max_features=1, min_samples_split=5)

fig, axes = figure(
    2, 4, "One random tree is worse than one careful tree; a hundred are better",
    "Above: P(class | x) and where the winner changes; the error is that of 20,000 fresh rows. "
    "Below: waves of three kinds in 21 columns, and 9 columns of noise.",
    width=13.2, height=7.2,
)  # fmt: skip
for ax, (name, model) in zip(axes[0], models.items()):
    model.fit(X, y)
    wrong = 1 - model.score(fresh, truth)
    print(f"{name}: error {wrong:.3f}\n{model.verdict_}\n")
    region(ax, model, box)
    xx, yy, rows = grid(box, 500)
    second = model.predict_proba(rows)[:, 1].reshape(xx.shape)
    ax.contour(xx, yy, second, levels=[0.5], colors=[BLACK], linewidths=1.2, zorder=2)
    points(ax, X, y, size=13)
    ax.set(title=f"{name}\nerror {wrong:.1%}", xticks=[], yticks=[])

# Breiman's waves, and nine columns of noise beside them
rng = np.random.default_rng(0)


def waves(n):
    wave, kind = waveform(n, rng)
    return np.column_stack([wave, rng.normal(size=(n, 9))]), kind


W, kind = waves(600)
later, later_kind = waves(5000)

for row in axes[1]:
    row.remove()
spec = axes[0, 0].get_gridspec()
curve, bars = fig.add_subplot(spec[1, :2]), fig.add_subplot(spec[1, 2:])

sizes = np.array([5, 7, 10, 14, 20, 30, 50, 80, 130, 200, 300])
judged, tested = [], []
forest = ExtraTreesClassifier(1, criterion="normalized_gain", bootstrap=True, warm_start=True, random_state=1)
for m in sizes:
    forest.set_params(n_estimators=int(m), oob_score=True).fit(W, kind)
    judged.append(1 - forest.oob_score_)
    tested.append(1 - forest.score(later, later_kind))
print(forest.verdict_)
curve.plot(sizes, judged, "o-", color=BLUE, markersize=4)
curve.plot(sizes, tested, "s-", color=ORANGE, markersize=4)
curve.text(24, 0.215, "rows outside the bags, each judged\nby a third of the trees", color=BLUE)
curve.text(9.8, 0.18, "5,000 fresh\nrows", color=ORANGE_INK, ha="right", fontsize=9.5)
curve.axhline(0.14, color=GREY, linewidth=0.8, linestyle=":")
curve.text(5, 0.138, "the best possible, 14 %", color=GREY, va="top", fontsize=9)
curve.set(
    xscale="log",
    xlabel="trees M",
    ylabel="error",
    title="Out-of-bag error falls with the trees, and needs no test set",
)
curve.set_xticks([5, 10, 30, 100, 300], ["5", "10", "30", "100", "300"])
curve.minorticks_off()
curve.set_ylim(0.12, None)

lost = forest.permutation_importance(W, kind, out_of_bag=True, n_repeats=1).importances_mean
gain = forest.feature_importances_
place = np.arange(30)
bars.bar(place - 0.2, gain / gain.max(), 0.4, color=BLUE)
bars.bar(place + 0.2, lost / lost.max(), 0.4, color=ORANGE)
bars.axvspan(20.5, 29.6, color="#eeeeee", zorder=0)
bars.text(25, 0.9, "noise", color=GREY, ha="center")
bars.text(-0.4, 0.95, "impurity taken away", color=BLUE)
bars.text(-0.4, 0.91, "accuracy lost when\nshuffled, out of bag", color=ORANGE_INK, va="top")
bars.set(
    xlabel="column",
    ylabel="importance, of the largest",
    title="Shuffling gives noise nothing; impurity gives it something",
)
bars.set_xlim(-0.8, 29.6)
save(fig, __file__)
