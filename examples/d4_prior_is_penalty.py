"""D4. Maximum a posteriori: a Gaussian prior on the weights is an L2 penalty.

    w ~ N(0, C·I)   ⇒   −log P(w | data) = Σ_i ℓ_i(w) + ‖w‖²/(2C) + const                    [6867] 4, [726] "MAP"

so scikit-learn's C is the prior's variance, and λ = 1/C with the convention ½λ‖w‖² (the notes write λwᵀw in one
place and ½ in another; this library keeps the ½). The intercept has a flat prior. Left: each MAP estimate is
where a contour of the likelihood touches a contour of the prior; as C grows it walks from 0 to the
maximum-likelihood estimate. Right: the same walk for ten columns of real data, and what it does to new rows.
"""

import numpy as np
from _plot import BLACK, BLUE, GREEN, GREY, ORANGE_INK, PURPLE, RED, figure, frame, grid, save, say
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from separatrix import LogisticRegression

rng = np.random.default_rng(9)
X2 = rng.normal(size=(60, 2)) @ np.array([[1.0, 0.85], [0.0, 0.42]])
y2 = rng.random(60) < 1 / (1 + np.exp(-X2 @ [2.2, -1.2]))
sign = np.where(y2, 1, -1)


def nll(w):
    return np.logaddexp(0, -sign * (X2 @ w)).sum()


print("posterior mode by hand (scipy) against LogisticRegression(C = prior variance)")
walk = {}
for C in (0.01, 0.1, 0.3, 1, 3, 10, np.inf):
    walk[C] = LogisticRegression(C=C, fit_intercept=False).fit(X2, y2).coef_[0]
    by_hand = minimize(lambda w: nll(w) + w @ w / (2 * C), np.zeros(2), tol=1e-12).x  # noqa: B023
    print(f"  C = {C:<5g} w = {walk[C]}   by hand {by_hand}")

data = load_breast_cancer()
X = StandardScaler().fit_transform(data.data[:, :10])
names = [str(n).removeprefix("mean ") for n in data.feature_names[:10]]
C_grid = np.geomspace(1e-4, 1e4, 33)
weights, surprise = [], []
for C in C_grid:
    model = LogisticRegression(C=C)
    surprise.append(-cross_val_score(model, X, data.target, scoring="neg_log_loss", cv=5).mean())
    weights.append(model.fit(X, data.target).coef_[0])
weights = np.array(weights)
best = int(np.argmin(surprise))
unpenalised = LogisticRegression(C=np.inf).fit(X, data.target)
print(f"\nbreast cancer, 10 columns: cross-validated log loss is least at C = {C_grid[best]:.3g}")
print(unpenalised.verdict_)
for name, at_best, at_infinity in sorted(zip(names, weights[best], unpenalised.coef_[0]), key=lambda t: t[2]):
    print(f"  {name:18s} MAP {at_best:8.3f}   ML {at_infinity:8.3f}")

fig, (ax, path) = figure(
    1, 2, "A Gaussian prior of variance C is an L2 penalty: it pulls the weights to zero",
    "Left: as C grows, MAP walks from the prior's centre to the likelihood's peak. Right: weights of ten columns.",
    height=5.0,
)  # fmt: skip
box = (-1.07, 3.6, -2.55, 1.45)
xx, yy, rows = grid(box, 160)
likelihood = np.array([nll(w) for w in rows]).reshape(xx.shape)
floor = nll(walk[np.inf])
drop = np.array(
    [nll(walk[C]) - floor for C in (10, 1, 0.1)]
)  # the contours drawn in blue; grey ones lie between
levels = floor + np.append(np.sqrt(drop[1:] * drop[:-1]), drop[-1] * np.array([2, 4, 7]))
ax.contour(xx, yy, likelihood, levels=levels, colors=["#d5d5d5"], linewidths=0.9)
for C in (0.1, 1, 10):  # the likelihood's and the prior's contours touch at the MAP estimate
    w = walk[C]
    circle = np.linalg.norm(w) * np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    ax.plot(circle.real, circle.imag, color=GREEN, linewidth=0.9, linestyle="--")
    ax.contour(xx, yy, likelihood, levels=[nll(w)], colors=[BLUE], linewidths=1.1)
fine = [
    LogisticRegression(C=C, fit_intercept=False).fit(X2, y2).coef_[0] for C in np.geomspace(1e-4, 1e3, 60)
]
ax.plot(*np.array(fine).T, "-", color=BLACK, zorder=4)
steps = np.array(list(walk.values()))
ax.plot(*steps[:-1].T, "o", color=BLACK, markersize=5, zorder=5)
ax.plot(*steps[-1], "*", color=RED, markersize=15, markeredgecolor="white", zorder=6)
ax.plot(0, 0, "+", color=GREEN, markersize=11, markeredgewidth=2, zorder=6)
shifts = {0.1: (0.02, 0.12), 0.3: (0.05, 0.08), 1: (0.03, 0.14), 3: (0.08, 0.04), 10: (0.08, 0.03)}
for C, shift in shifts.items():
    say(ax, *(walk[C] + shift), f"C = {C:g}", fontsize=9)
say(ax, 2.5, -1.66, "maximum\nlikelihood, C = ∞", RED, va="top", ha="center")
say(ax, -0.02, -0.14, "prior's centre", GREEN, ha="center", va="top", fontsize=9)
say(ax, 0.15, -1.74, "prior contours", GREEN, fontsize=9, ha="center", va="top")
say(ax, 1.72, 0.58, "likelihood contours", BLUE, fontsize=9, va="bottom")
frame(ax, box)
ax.set_aspect("equal")
ax.set(xlabel="$w_1$", ylabel="$w_2$", title="MAP is where the two contours touch")

inks = {"radius": BLUE, "area": RED, "texture": ORANGE_INK, "concave points": PURPLE, "perimeter": GREEN}
for name, line in zip(names, weights.T):
    path.plot(C_grid, line, color=inks.get(name, "#bdbdbd"), linewidth=1.8 if name in inks else 1.2)
    if name in inks:
        path.text(1.5e4, line[-1], name, color=inks[name], fontsize=9.5, va="center")
path.text(1.5e4, 0.15, "5 others", color=GREY, fontsize=9.5, va="center")
path.axvline(C_grid[best], color=BLACK, linewidth=1, linestyle=":")
say(
    path,
    C_grid[best] / 1.25,
    6.6,
    f"least log loss\non held-out rows: C = {C_grid[best]:.2g}",
    ha="right",
    va="top",
)
path.set(
    xscale="log", xlim=(1e-4, 1e4), xlabel="C, the prior's variance (penalty 1/C)",
    ylabel="weight (standardised columns)", title="Breast cancer: correlated columns part as C grows",
)  # fmt: skip
save(fig, __file__)
