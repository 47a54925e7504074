"""P4. Ordered classes: one line for all of them, cut in places.

    P(Y ≤ k | x) = σ(θ_k − x·β),   θ_1 < … < θ_{K−1}           proportional odds (McCullagh 1980), R's polr

Judges gave red wines marks from 3 to 8. Softmax has a line for each mark and knows of no order; proportional odds has
one line, the score x·β, and five places where it is cut. Look at the picture from the top: each curve is the
probability of at most that mark, all of one shape, moved along the score; below, the difference of neighbours is the
probability of a mark, and the bands are the most probable one. A mark that is nowhere the most probable has no band.

The wines are those of ../shared/data; without it, the satisfaction of Copenhagen's householders (MASS, typed in the
script) is drawn in their place: the numbers of R's polr are printed in either case.
"""

import sys

import numpy as np
from _plot import BLACK, GREY, ROOT, figure, save, say
from matplotlib import colormaps
from sklearn.model_selection import StratifiedKFold

from separatrix import LogisticRegression, OrdinalRegression

sys.path.insert(0, str(ROOT))
from benchmarks import shared

FREQUENCY = """
21 21 28 34 22 36 10 11 36 61 23 17 43 35 40 26 18 54 13 9 10 8 8 12 6 7 9 18 6 7 15 13 13 7 5 11
14 19 37 17 23 40 3 5 23 78 46 43 48 45 86 15 25 62 20 23 20 10 22 24 7 10 21 57 23 13 31 21 13 5 6 13
"""


def housing():
    """1,681 householders: columns against low influence, towers and low contact; satisfaction; how many of each."""
    influence, kind = np.tile(np.repeat([0, 1, 2], 3), 8), np.tile(np.repeat([0, 1, 2, 3], 9), 2)
    columns = [influence == 1, influence == 2, kind == 1, kind == 2, kind == 3, np.repeat([0, 1], 36) == 1]
    satisfied = np.tile(["low", "medium", "high"], 24)
    return np.column_stack(columns).astype(float), satisfied, np.array(FREQUENCY.split(), dtype=int)


def wines():
    """Red wines and their marks; columns from their means, so that a mean wine has the score 0."""
    table = shared.table("wine_quality/winequality-red")
    X = table.drop(columns="quality")
    return X - X.mean(), table["quality"].to_numpy()


def log_loss(model, X, y, folds=5):
    """Out of fold, the mean of −log P."""
    X, total = np.asarray(X, dtype=float), 0.0
    for train, later in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
        mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
        model.fit((X[train] - mean) / spread, y[train])
        P = model.predict_log_proba((X[later] - mean) / spread)
        total -= P[np.arange(len(later)), np.searchsorted(model.classes_, y[later])].sum()
    return total / len(y)


X, satisfied, often = housing()
levels = ["low", "medium", "high"]
polr = OrdinalRegression(C=np.inf, categories=levels).fit(X, satisfied, often)
print("Copenhagen's householders, as polr(Sat ~ Infl + Type + Cont, weights = Freq) of R:\n")
print(polr.summary())
print(polr.proportional_odds_test(), "\n")

if shared.available():
    X, y = wines()
    model = OrdinalRegression(C=np.inf).fit(X, y)
    print(model.summary())
    print(model.proportional_odds_test())
    both = log_loss(OrdinalRegression(), X, y), log_loss(LogisticRegression(), X, y)
    print(f"\nlog loss out of fold: {both[0]:.4f} with 11 weights, softmax {both[1]:.4f} with 66")
    cost = np.abs(np.subtract.outer(model.classes_, model.classes_))
    for name, said in (("most probable", model.predict(X)), ("median", model.predict(X, cost=cost))):
        print(f"  {name:14s} marks are off by {np.abs(said - y).mean():.4f} on average")
    title = f"Marks of {len(y):,} red wines: one score, cut in {len(model.thresholds_)} places"
    subtitle = (
        f"Log loss out of fold: {both[0]:.3f} with one line for all, {both[1]:.3f} with softmax's for each."
    )
    what = "mark"
else:
    print("../shared/data is absent: the householders are drawn in place of the wines")
    rows = np.repeat(np.arange(len(X)), often)
    X, y, model = X[rows], satisfied[rows], polr
    title = f"Satisfaction of {len(y):,} householders: one score, cut in two places"
    subtitle = "Deviance, weights, thresholds and errors are those of R's polr."
    what = "satisfaction"

fig, (top, middle, low) = figure(
    3, 1, title, subtitle, height=7.6, width=9.5, sharex=True, gridspec_kw={"height_ratios": [1, 1.15, 0.75]},
)  # fmt: skip
scores = model.latent(X)
ends = np.quantile(scores, [0.001, 0.999])
reach = min(ends[0], model.thresholds_[0]) - 1.0, max(ends[1], model.thresholds_[-1]) + 1.0
along = np.linspace(*reach, 600)
# the probabilities of a score: those of a row that has it, moved along the weights
direction = model.coef_ / np.sum(model.coef_**2)
rows = along[:, None] * direction
P = model.predict_proba(rows if not hasattr(X, "columns") else type(X)(rows, columns=X.columns))
K = len(model.classes_)
inks = colormaps["viridis"](np.linspace(0.0, 0.78, K))
below = np.cumsum(P, axis=1)

for k, threshold in enumerate(model.thresholds_):
    top.plot(along, below[:, k], color=inks[k])
    top.plot([threshold] * 2, [0, 0.5], color=inks[k], linewidth=0.8, linestyle=":")
    say(top, threshold + 0.08, 0.52, f"≤ {model.classes_[k]}", inks[k], fontweight="bold")
top.axhline(0.5, color=GREY, linewidth=0.6)
top.set(title=f"Probability of at most that {what}: one shape, moved", ylabel="P(Y ≤ k)", ylim=(0, 1.02))

winner = P.argmax(axis=1)
for k in range(K):
    won = np.flatnonzero(winner == k)
    if len(won):
        middle.axvspan(along[won[0]], along[won[-1]], color=inks[k], alpha=0.13, linewidth=0)
    middle.plot(along, P[:, k], color=inks[k])
    peak = int(P[:, k].argmax())
    at = float(np.clip(along[peak], reach[0] + 0.3, reach[1] - 0.3))
    over = 0.03 if len(won) else -0.09  # under the curves of those that win
    say(middle, at, P[peak, k] + over, str(model.classes_[k]), inks[k], ha="center", fontweight="bold")
middle.set(
    title="Probability of each; the band is the most probable", ylabel="P(Y = k)", ylim=(0, P.max() + 0.15)
)

rng = np.random.default_rng(0)
for k, label in enumerate(model.classes_):
    own = scores[y == label]
    low.scatter(own, k + 0.6 * (rng.random(len(own)) - 0.5), s=5, color=inks[k], alpha=0.45, linewidth=0)
    low.plot([np.median(own)] * 2, [k - 0.38, k + 0.38], color=BLACK, linewidth=2)
low.set(
    title="Where the rows stand; black: their median", xlabel="score x·β", ylabel=what, xlim=reach,
    yticks=range(K), yticklabels=model.classes_,
)  # fmt: skip
save(fig, __file__)
