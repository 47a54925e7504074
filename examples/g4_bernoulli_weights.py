"""G4. Bernoulli naive Bayes is a linear separator, and its weights can be read.

    p(x | c) = Π_j θ_cj^{x_j} (1 − θ_cj)^{1−x_j}                                                       [6867] 3.1.2
    W_j = log θ₁j/(1−θ₁j) − log θ₀j/(1−θ₀j),     W₀ = log π₁/π₀ + Σ_j log (1−θ₁j)/(1−θ₀j)
    θ_cj = n_cj/n_c   ML          (n_cj + 1)/(n_c + 2)   Laplace                                [6867] 3.1.2, [726]
         = (n_cj + a − 1)/(n_c + a + b − 2)   MAP, Beta(a, b)       (n_cj + m Q_j)/(n_c + m)   m rows from Q   [726]

The notes print the sum in W₀ with a quotient of logarithms; it is the logarithm of the quotient. The rows are the
435 members of the U.S. House of Representatives of 1984 and their votes on 16 questions, yes = 1, no = 0. A vote
not cast is a missing cell: it is left out, of the counts and of the product. Where ../shared/data is absent, rows
are made up and the script says so.
"""

import sys
import warnings

import numpy as np
from _plot import BLUE, CLASS_COLOURS, GREY, ORANGE, ORANGE_INK, ROOT, figure, save, say

from separatrix import BernoulliNB, ImpossibleRowsWarning

sys.path.insert(0, str(ROOT))


def votes():
    """(0/1 cells with NaN for no vote, party, questions, what they are)."""
    try:
        from benchmarks import shared

        table = shared.table("voting")
        party = table.pop("Class").to_numpy(dtype=str)
        cells = table.replace({"y": 1.0, "n": 0.0}).to_numpy(dtype=float)
        return cells, party, [c.replace("-", " ") for c in table.columns], "U.S. House votes of 1984"
    except (ImportError, FileNotFoundError) as why:
        print(f"(the house votes are not here, so made-up votes are shown: {why})\n")
        rng = np.random.default_rng(0)
        share = rng.random((2, 16))
        codes = (np.arange(435) >= 267).astype(int)
        cells = (rng.random((435, 16)) < share[codes]).astype(float)
        cells[rng.random(cells.shape) < 0.05] = np.nan
        party = np.array(["democrat", "republican"])[codes]
        return cells, party, [f"question {j}" for j in range(16)], "Made-up votes"


X, y, questions, title = votes()
model = BernoulliNB(binarize=None).fit(X, y)
print(model.verdict_)
print(f"classes {model.classes_.tolist()}: a positive weight speaks for {model.classes_[1]}")
print(f"{model.score(X, y):.3f} of the rows right; {np.isnan(X).mean():.1%} of the votes were not cast\n")

# The separator in the notes' letters, from the counts alone.
theta = np.exp(model.feature_log_prob_)
W = np.log(theta[1] / (1 - theta[1])) - np.log(theta[0] / (1 - theta[0]))
W0 = np.log(model.class_prior_[1] / model.class_prior_[0]) + np.log((1 - theta[1]) / (1 - theta[0])).sum()
complete = ~np.isnan(X).any(axis=1)
odds = X[complete] @ W + W0
proba = model.predict_proba(X[complete])[:, 1]
apart = abs(W - model.coef_[0]).max()
print(f"W₀ = {W0:.4f}, intercept_ = {model.intercept_[0]:.4f}; W is coef_ to {apart:.0e}")
apart = abs(1 / (1 + np.exp(-odds)) - proba).max()
print(f"P(1 | x) = sigmoid(W·x + W₀) in the {complete.sum()} complete rows to {apart:.0e}")

print("\nsmoothing, fitted to every 40th row to make it matter, scored on the rest")
few = np.arange(len(y)) % 40 == 0
ways = {
    "ML, θ = n/N": {"alpha": 0.0},
    "Laplace": {"alpha": 1.0},
    "Beta(2, 2) MAP": {"smoothing": ("beta", 2, 2)},
    "m = 4 rows of ½": {"smoothing": ("m", 4, "uniform")},
    "m = 4, Q of all rows": {"smoothing": ("m", 4, "marginal")},
}
print(f"  {'':22s}right   certainties   rows no class can have   P(yes | class) of the first question")
for name, options in ways.items():
    one = BernoulliNB(binarize=None, **options).fit(X[few], y[few])
    first = np.exp(one.feature_log_prob_[:, 0])
    certain = np.isin(np.exp(one.feature_log_prob_), (0.0, 1.0)).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleRowsWarning)  # which says what the column here says
        right = one.score(X[~few], y[~few])
    none = np.isneginf(one.score_samples(X[~few])).sum()
    counts = f"{certain:5d} of {theta.size}   {none:9d} of {(~few).sum()}"
    print(f"  {name:22s}{right:.3f}   {counts}            {first.round(3)}")
print(f"  fitted to {few.sum()} rows; Beta(2, 2) and Laplace are the same estimate, as the formulas say.")
print(f"  Q from all classes keeps a certainty where all {few.sum()} voted alike: nobody was seen to differ.")
print("  A row that every class calls impossible is answered by the prior, and counted by a warning.")

fig, (left, right) = figure(
    1, 2, "Bernoulli naive Bayes: one weight a question, read from the counts",
    f"{title}. A yes adds its weight W to the log odds; the sign of W·x + W₀ is the prediction.",
    width=12, height=5.8, gridspec_kw={"width_ratios": [1.15, 1]},
)  # fmt: skip
order = np.argsort(W)
left.barh(range(len(W)), W[order], color=np.where(W[order] > 0, ORANGE, BLUE), height=0.72)
left.set_yticks(range(len(W)), [questions[j] for j in order], fontsize=8.5)
left.axvline(0, color="#333333", linewidth=0.9)
left.set(title="Weights W, sorted", xlabel="W, log odds a yes vote adds")
ticks = int((W < 0).sum())  # rows below speak for the first class, rows above for the second
bold = {"va": "center", "fontweight": "bold"}
say(left, 0.15, ticks / 2 - 0.5, "a yes speaks for\ndemocrat", BLUE, **bold)
say(left, -0.15, (ticks + len(W)) / 2, "a yes speaks for\nrepublican", ORANGE_INK, ha="right", **bold)
for k, label in enumerate(model.classes_):
    rows = y[complete] == label
    right.hist(odds[rows], bins=np.linspace(-32, 32, 41), color=CLASS_COLOURS[k], alpha=0.75)
right.axvline(0, color="#333333", linewidth=1.2, linestyle="--")
top = 1.12 * right.get_ylim()[1]
right.set_ylim(0, top)
say(right, -26, 0.93 * top, "democrat", BLUE, fontweight="bold")
say(right, 26, 0.93 * top, "republican", ORANGE_INK, fontweight="bold", ha="right")
say(right, -0.7, 0.7 * top, "W·x + W₀ = 0", GREY, ha="right")
right.set(title=f"Log odds of the {complete.sum()} members who voted on all", xlabel="W·x + W₀")
right.set_ylabel("members")
save(fig, __file__)
