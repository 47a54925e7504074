"""B2, B3. Which degree? Evidence, BIC and cross-validation on the same rows.

    log Pr(D | degree) ≈ log Pr(D | W_MAP) + log Pr(W_MAP) + (D/2) log 2π − ½ log|H|  ≈  −BIC/2           [6867] 4

A wave in one column, polynomials of degree 1 to 9, the strength of each prior chosen by its own evidence. The
training likelihood keeps rising with the degree. Evidence and BIC judge from one fit and no held-out rows; ten-fold
cross-validation needs ten fits and is noisier. The evidence falls less steeply than BIC beyond its choice: it counts
what a weight could have done under the prior and not only that there is one, so a harmless extra power costs little.
"""

import numpy as np
from _plot import BLUE, GREEN, GREY, ORANGE_INK, RED, figure, save, say
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from separatrix import BayesianLogisticRegression, compare_evidence

rng = np.random.default_rng(11)
n, degrees = 250, range(1, 10)
x = rng.uniform(-1, 1, n)


def truth(x):
    return 1 / (1 + np.exp(-3.0 * np.sin(1.3 * np.pi * x) - 0.3))


y = (rng.random(n) < truth(x)).astype(int)
X = x[:, None]


def polynomial(degree):
    return make_pipeline(
        PolynomialFeatures(degree, include_bias=False),
        StandardScaler(),
        BayesianLogisticRegression("evidence"),
    )


found = compare_evidence({f"degree {d}": polynomial(d) for d in degrees}, X, y)
print(found)
print(f"\nby evidence: {found.best}; by BIC: {found.ranked('bic').best}; ", end="")
folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=2, random_state=0)
held_out = np.array([cross_val_score(polynomial(d), X, y, cv=folds, scoring="neg_log_loss") for d in degrees])
mean, error = held_out.mean(axis=1) * n, held_out.std(axis=1) / np.sqrt(10) * n
print(f"by cross-validation: degree {degrees[mean.argmax()]}")
print(found.models[found.best][-1].verdict_)

by_degree = {int(name.split()[1]): i for i, name in enumerate(found.names)}
order = [by_degree[d] for d in degrees]
evidence, bic, fit = found.log_evidence[order], found.bic[order], found.log_likelihood[order]

fig, (ax, curve) = figure(
    1, 2, "One fit each is enough to choose the degree",
    f"Left: four scores of polynomials on the same {n} rows, higher is better. Right: what the chosen one predicts.",
    width=12.0, height=4.9,
)  # fmt: skip
lines = (
    (fit, GREY, "o-", "training likelihood: keeps rising"),
    (evidence, BLUE, "o-", "log evidence"),
    (-bic / 2, RED, "s-", "−BIC / 2"),
    (mean, GREEN, "^-", "10-fold cross-validation (± 1 se)"),
)
ax.fill_between(degrees, mean - error, mean + error, color=GREEN, alpha=0.13, linewidth=0)
for values, colour, style, _ in lines:
    ax.plot(degrees, values, style, color=colour, markersize=5)
    if colour != GREY:
        ax.plot(
            degrees[values.argmax()], values.max(), "o", markersize=13, markerfacecolor="none", color=colour
        )
bottom = min(evidence[2:].min(), (-bic / 2)[2:].min(), mean[2:].min())
room = fit.max() - bottom
ax.set_ylim(bottom - 0.3 * room, fit.max() + 0.2 * room)
say(ax, 9, fit[-1] + 0.05 * room, lines[0][3], GREY, ha="right", va="bottom")
say(ax, 9, evidence[-1] + 0.04 * room, lines[1][3], BLUE, ha="right", va="bottom")
say(ax, 9, -bic[-1] / 2 - 0.03 * room, lines[2][3], RED, ha="right", va="top")
say(ax, 3.25, mean[2] + 0.05 * room, lines[3][3], GREEN, va="bottom")
ax.set(
    xlabel="degree",
    ylabel="log probability of the labels",
    title="Rings mark each score's choice",
    xticks=degrees,
)

best = found.models[found.best]
line = np.linspace(-1.25, 1.25, 300)[:, None]
low, high = best[-1].predict_interval(best[:-1].transform(line)).T
curve.fill_between(line[:, 0], low, high, color=BLUE, alpha=0.16, linewidth=0)
curve.plot(line, truth(line), color=ORANGE_INK, linestyle="--")
curve.plot(line, best.predict_proba(line)[:, 1], color=BLUE)
curve.plot(x, y + rng.uniform(-0.02, 0.02, n), "|", color="#444444", markersize=7)
say(curve, -0.62, 0.38, "the truth", ORANGE_INK, ha="center")
say(curve, 0.35, 0.72, f"{found.best},\n95 % band", BLUE, ha="center", va="top")
curve.set(xlim=(-1.25, 1.25), ylim=(-0.06, 1.06), xlabel="$x$", ylabel="P(y = 1)", title="Chosen by evidence")
save(fig, __file__)
