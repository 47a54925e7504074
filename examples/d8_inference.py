"""D8. What the tests of a coefficient mean: three measures of one likelihood, and errors that trust no variance.

    Wald    (ŵ/se)²                   how far from 0 the peak is, in errors taken at the peak        [6867] 3.2.3
    LR      2 (ℓ(ŵ) − ℓ(0))           how far the likelihood falls from the peak to 0
    score   U(0)² / I(0)              how steeply it still rises at 0, where no fit with w is needed
    HC3     A⁻¹ (Σ u_i² x_i x_iᵀ / (1 − h_i)²) A⁻¹     errors that hold where the model's variance does not

Were the log-likelihood a parabola the three would be one number. Left: it is none here. Two irises that are nearly
separable by their petals (load_iris): Wald puts a parabola on the peak, is deceived by the flat side, and finds
nothing, while the likelihood falls far. ℓ(w) is the profile: the best the other weights can do with this one held.
Right: chin-ups of twenty men (load_linnerud) as a Poisson model. Their variance is 2.5 times what Poisson says, so
the model's intervals are too short. Robust ones take the variance from the residuals; HC3 also allows for rows that
draw the fit to themselves, and among twenty there is one.
"""

import numpy as np
from _plot import BLACK, BLUE, GREEN, GREY, ORANGE_INK, RED, figure, save, say
from sklearn.datasets import load_iris, load_linnerud

from separatrix import GeneralizedLinearModel, LogisticRegression, anova

iris = load_iris(as_frame=True)
two = iris.target > 0
X = iris.data[two].rename(columns=lambda name: name.removesuffix(" (cm)"))
y = iris.target_names[iris.target[two]]
name = "petal width"

model = LogisticRegression(C=np.inf).fit(X, y)
small = LogisticRegression(C=np.inf).fit(X.drop(columns=name), y)
sepals = LogisticRegression(C=np.inf).fit(X[["sepal length", "sepal width"]], y)
print(f"{model.classes_[1]} against {model.classes_[0]}, 50 flowers each\n{model.summary()}\n")

j = list(X.columns).index(name)
peak, error = model.coef_[0, j], model.standard_errors()[j + 1]
mu = small.predict_proba(X.drop(columns=name))[:, 1]
slope = small.residuals("response") @ X[name]  # U(0) = Σ (y − μ) x, at the fit without the column
root = np.sqrt(mu * (1 - mu))[:, None]
others = root * np.column_stack([np.ones(len(X)), X.drop(columns=name)])
own = root[:, 0] * X[name].to_numpy()
alone = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]
bend = alone @ alone  # I(0): what the other columns explain of this one does not count
by_hand = {
    "wald": (peak / error) ** 2,
    "lr": small.deviance_ - model.deviance_,
    "score": slope**2 / bend,
}
print(f"Is the weight of {name} 0? Three tests of it, and the same by hand:")
tests = {method: model.test(name, method) for method in by_hand}
for method, found in tests.items():
    print(f"  {found}   by hand {by_hand[method]:.4g}")
low, high = model.confidence_intervals(columns=name)[0]
from_, to = model.confidence_intervals(columns=name, method="profile")[0]
print(f"95 % intervals: Wald [{low:.2f}, {high:.2f}], which holds 0; ", end="")
print(f"profile [{from_:.2f}, {to:.2f}], which does not\n")

print("Do petals matter at all, given sepals? Do all four columns?")
print(anova(sepals, model))
print(anova(model), "\n")

men = load_linnerud(as_frame=True)
chins = GeneralizedLinearModel("poisson").fit(men.target, men.data["Chins"])
pearson = np.sum(chins.residuals("pearson") ** 2) / chins.df_residual_
print(
    f"Chin-ups of 20 men. Pearson's χ² a degree of freedom: {pearson:.2f}, and 1 were the variance the mean\n"
)
print(chins.summary(), "\n")
print(chins.summary(covariance="HC3"), "\n")
for kind in ("model", "HC0", "HC3"):
    print(f"  {kind:6s} {chins.test('Waist', 'wald', covariance=kind)}")
pull = chins.leverage()
weight, waist, pulse = men.target.iloc[pull.argmax()]
print(
    f"HC3 differs from HC0 by rows of high leverage: one man ({weight:.0f} pounds, waist {waist:.0f} inches, ",
    end="",
)
print(f"pulse {pulse:.0f}) has {pull.max():.2f}, where {pull.mean():.2f} is the average")

fig, (ax, side) = figure(
    1, 2, "Three tests measure one likelihood, and differ as it differs from a parabola",
    "Left: each statistic is twice a height. Wald's parabola, laid on the peak, hardly falls; the likelihood does.\n"
    "Right: where counts vary more than the model says, its intervals are too short.",
    height=5.6, width_ratios=[1.75, 1.0],
)  # fmt: skip
w = np.concatenate([np.linspace(-1.6, peak, 28), np.linspace(peak, 50, 12)])
profile = np.array([-model.test(name, "lr", value=v).statistic / 2 for v in w])
smooth = np.linspace(-1.6, 50, 200)
fall, rise = tests["lr"].statistic / 2, tests["score"].statistic / 2
near = np.linspace(0, 2 * slope / bend, 60)
ax.plot(w, profile, color=BLACK, linewidth=2.2, zorder=4)
ax.plot(smooth, -0.5 * ((smooth - peak) / error) ** 2, color=BLUE)
ax.plot(near, -fall + slope * near - 0.5 * bend * near**2, color=GREEN, linestyle="--", linewidth=1.5)
reach = np.array([-0.9, 2.2])
ax.plot(reach, -fall + slope * reach, color=GREEN, linewidth=2.4, zorder=5)
ax.axvline(0, color=GREY, linewidth=1.0, linestyle=":")
ax.axhline(0, color=GREY, linewidth=1.0, linestyle=":")
both = {"arrowstyle": "<->", "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}


def height(x, bottom, top, colour):
    ax.annotate("", (x, top), (x, bottom), arrowprops=both | {"color": colour})
    ax.plot([0, x], [bottom, bottom], color=colour, linewidth=0.8, linestyle=":")


half = {method: f"½ · {found.statistic:.1f}" for method, found in tests.items()}
height(0, -0.5 * (peak / error) ** 2, 0, BLUE)
height(-2.6, -fall, 0, RED)
height(slope / bend, -fall, -fall + rise, GREEN)
say(ax, 0.6, -0.27, half["wald"], BLUE, va="center")
words = "a parabola with the\nlikelihood's {} and its bend there"
say(ax, 19, -3.7, f"Wald {half['wald']}: {words.format('peak')}", BLUE, va="top")
say(ax, -3.2, -3.0, f"likelihood ratio {half['lr']}", RED, va="center", ha="right", rotation=90)
say(ax, 8.2, -5.3, half["score"], GREEN, va="center", ha="right")
say(ax, 19, -5.3, f"score {half['score']}: {words.format('slope at 0')}", GREEN, va="top")
ax.plot(peak, 0, "o", color=BLACK, markersize=8, markeredgecolor="white", zorder=6)
ax.annotate("", (0, 0.45), (peak, 0.45), arrowprops=both | {"color": BLUE})
say(ax, peak / 2, 0.55, f"{peak / error:.2f} standard errors", BLUE, ha="center", va="bottom")
say(ax, 49.8, -0.5, "profile log-likelihood ℓ(w)", BLACK, ha="right")
ax.set(
    xlim=(-6, 50), ylim=(-7.6, 1.2), xlabel=f"weight of {name}", ylabel="log-likelihood below its peak",
    title=f"Iris: is the weight of {name} 0?",
)  # fmt: skip

spread = men.target.std().to_numpy()
columns = list(men.target.columns)
for k, (kind, ink) in enumerate((("model", BLUE), ("HC3", ORANGE_INK))):
    ends = chins.confidence_intervals(covariance=kind)[1:] * spread[:, None]
    for i in range(3):
        at = -i - 0.13 + 0.26 * (1 - k)
        side.plot(ends[i], [at, at], color=ink)
        side.plot(chins.coef_[i] * spread[i], at, "o", color=ink, markersize=6.5, markeredgecolor="white")
side.axvline(0, color=GREY, linewidth=1.0, linestyle=":")
say(side, 0.5, 0.13, "model", BLUE, va="center")
say(side, -0.06, -0.25, "robust, HC3", ORANGE_INK, va="center", ha="right")
side.set(
    yticks=[0, -1, -2], yticklabels=columns, ylim=(-2.5, 0.5), xlabel="weight × standard deviation",
    title="Chin-ups: 95 % Wald intervals",
)  # fmt: skip
side.tick_params(axis="y", length=0, labelsize=10.5)
save(fig, __file__)
