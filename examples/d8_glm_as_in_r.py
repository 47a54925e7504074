"""D8. Generalised linear models written as in R: k/N, cbind(k, N − k), offset(log(t)), weights=, glm.nb.

    k/N ~ x               k successes in N trials, binomial: Var k/N = μ(1 − μ)/N              [6867] 3.2.2, 3.2.3
    y ~ x + offset(log t) E y = t · exp(w·x + b), t read again from the frame of a prediction
    size=None             Var y = μ + μ²/θ, θ estimated with the weights, as MASS's glm.nb

The first table is the tobacco budworm's of Collett (1991) and Venables & Ripley (7.2): moths killed out of 20 at six
doses, by sex; R prints slope 1.0642 and deviance 6.757 on 9 df. Left: both sexes on one slope, a bar for each share's
own error √(p(1 − p)/20). The second is drawn: claims of 400 policies over different years, more spread out than a
Poisson's because policies differ. Right: the variance of claims against their mean, in eight groups of policies.
"""

import sys

import numpy as np
from _plot import BLACK, BLUE, GREY, ORANGE, ORANGE_INK, figure, save, say

from separatrix import GeneralizedLinearModel, anova

try:
    import formulaic  # noqa: F401
    import pandas as pd
except ImportError:
    sys.exit("this example writes its models as formulas:  pip install 'separatrix[formula]'")

fit = GeneralizedLinearModel.from_formula

moths = pd.DataFrame({
    "sex": ["male"] * 6 + ["female"] * 6,
    "ldose": list(range(6)) * 2,  # log2 of the dose in µg
    "dead": [1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16],
    "N": 20,
})  # fmt: skip
model = fit("dead/N ~ sex + ldose", moths, "binomial")
print(model.summary(), "\n")
print("The same model, written four ways:")
for formula, weights in (
    ("dead/N ~ sex + ldose", None),
    ("dead/N ~ sex + ldose", "N"),
    ("cbind(dead, N - dead) ~ sex + ldose", None),
    ("I(dead/N) ~ sex + ldose", "N"),
):
    same = fit(formula, moths, "binomial", weights=weights)
    given = f", weights={weights!r}" if weights else ""
    print(f"  {formula + given:48s} slope {same.coef_[-1]:.4f}   deviance {same.deviance_:.3f}", end="")
    print(f" on {same.df_residual_:g} df")
print("\nDo males and females need slopes of their own?")
print(anova(model, fit("dead/N ~ sex * ldose", moths, "binomial")), "\n")

print("What is refused, and what one reads:")
for formula, frame, family in (
    ("dead/N ~ sex + ldose", moths.assign(dead=moths["dead"] + 5), "binomial"),
    ("dead/N ~ sex + ldose", moths, "poisson"),
    ("cbind(dead, dead / 3) ~ ldose", moths, "binomial"),
):
    try:
        fit(formula, frame, family)
    except ValueError as refusal:
        print(f"  {formula}, {family}:\n    {refusal}")
new = pd.DataFrame({"sex": ["male", None, "female"], "ldose": [2.5, 2.0, np.nan]})
print(f"  predict with empty cells: {model.predict(new).round(3)}")
try:
    model.predict(new.assign(sex=["male", "larva", "female"]))
except ValueError as refusal:
    print(f"    {refusal}\n")

rng = np.random.default_rng(14)
n = 400
policies = pd.DataFrame(
    {"age": rng.integers(18, 80, n), "town": rng.random(n) < 0.4, "years": rng.uniform(0.3, 4.0, n).round(2)}
)
rate = np.exp(0.9 - 0.02 * (policies["age"] - 45) + 0.6 * policies["town"])
policies["claims"] = rng.poisson(policies["years"] * rate * rng.gamma(1.6, 1 / 1.6, n))

right = "I(age - 45) + town + offset(log(years))"
counts = fit(f"claims ~ {right}", policies, "poisson")
spread = fit(f"claims ~ {right}", policies, "negative_binomial")
print(spread.summary(), "\n")
print(f"{'':24s}{'Poisson':>20s}{'negative binomial':>22s}")
for name, a, s, b, t in zip(
    counts.summary().index[1:], counts.coef_, counts.standard_errors()[1:], spread.coef_,
    spread.standard_errors()[1:],
):  # fmt: skip
    print(f"  {name:22s}{a:12.4f} ± {s:.4f}{b:13.4f} ± {t:.4f}")
print(f"  {'AIC':22s}{counts.aic_:12.1f}{spread.aic_:22.1f}")
print(f"  drawn with theta 1.6, found {spread.size_:.2f} ± {spread.size_error_:.2f}\n")

year = pd.DataFrame({"age": [30, 30], "town": [True, True], "years": [1.0, 3.0]})
one, three = spread.predict(year)
print(
    f"A policy in town, age 30: {one:.2f} claims expected in a year, {three:.2f} in three; the years are read ",
    end="",
)
print("from the frame:")
try:
    spread.predict(year.drop(columns="years"))
except ValueError as refusal:
    print(f"  {refusal}")

fig, (left, right_side) = figure(
    1, 2, "Written as in R, read as R's users mean it",
    "Left: dead/20 is a share of 20 trials, and its error follows. Right: claims spread beyond a Poisson's; "
    "theta is estimated with the weights.",
)  # fmt: skip
doses = np.linspace(-0.4, 5.4, 200)
for sex, colour, ink, marker, shift in (
    ("male", BLUE, BLUE, "o", -0.05),
    ("female", ORANGE, ORANGE_INK, "s", 0.05),
):
    rows = moths[moths["sex"] == sex]
    share = rows["dead"] / rows["N"]
    left.errorbar(
        rows["ldose"] + shift, share, np.sqrt(share * (1 - share) / rows["N"]), fmt=marker, color=colour, ms=6,
        mec="white", mew=0.6, lw=1.1, capsize=2, zorder=3,
    )  # fmt: skip
    left.plot(doses, model.predict(pd.DataFrame({"sex": sex, "ldose": doses})), color=colour)
    where = {"male": (2.62, 0.70, "right"), "female": (3.3, 0.37, "left")}[sex]
    say(left, where[0], where[1], sex, ink, ha=where[2])
left.set(xlabel="dose (µg), each twice the last", ylabel="share of moths killed", ylim=(-0.03, 1.03))
left.set_xticks(range(6), [str(2**k) for k in range(6)])
left.set_title(f"dead/N ~ sex + ldose: one slope, {model.coef_[-1]:.2f} ± {model.standard_errors()[-1]:.2f}")

mean = spread.predict(policies)
order = np.array_split(np.argsort(mean), 8)
centre = np.array([mean[rows].mean() for rows in order])
around = np.array([((policies["claims"].to_numpy()[rows] - mean[rows]) ** 2).mean() for rows in order])
line = np.geomspace(0.9 * centre.min(), 1.15 * centre.max(), 100)
ends = [spread.size_ + k * 1.96 * spread.size_error_ for k in (-1, 1)]
right_side.fill_between(
    line, line + line**2 / ends[0], line + line**2 / ends[1], color=BLUE, alpha=0.15, lw=0
)
right_side.plot(line, line + line**2 / spread.size_, color=BLUE)
right_side.plot(line, line, color=GREY, ls="--")
right_side.scatter(centre, around, s=42, c=BLACK, edgecolors="white", linewidths=0.6, zorder=3)
right_side.set(xscale="log", yscale="log", xlabel="mean of claims", ylabel="mean square around it")
say(right_side, line[62], 2.1 * (line[62] + line[62] ** 2 / spread.size_), "μ + μ²/θ", BLUE, ha="right")
say(right_side, line[70], 0.62 * line[70], "Poisson: μ", GREY, ha="left")
ticks = [1, 2, 5, 10]
right_side.set_xticks([t for t in ticks if line[0] <= t <= line[-1]])
right_side.xaxis.set_major_formatter(lambda v, _: f"{v:g}")
right_side.xaxis.set_minor_formatter(lambda v, _: "")
right_side.yaxis.set_major_formatter(lambda v, _: f"{v:g}")
right_side.set_title(
    f"θ = {spread.size_:.2f} ± {spread.size_error_:.2f} (drawn with 1.6), band ± 1.96 errors"
)
save(fig, __file__)
