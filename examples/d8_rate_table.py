"""D8. Counts against what was exposed to them: a Poisson model with an offset is a model of rates.

    E[deaths] = years · exp(w·x + b)   ⇔   log E[deaths] = log years + w·x + b                   [6867] 3.2.3, [PC]

The offset log years has no coefficient: twice the years, twice the deaths. What is left, exp(w·x + b), is a rate, and
exp(w_j) a ratio of rates: how many times as often, all else equal. The table is that of the British doctors (Doll
and Hill; Breslow and Day 1987): deaths from coronary heart disease among smokers and others, by age.
Left: on a logarithmic scale a model without an interaction is two parallel curves, a ratio apart. Right: the ratio
as four models give it: counts taken without their years also count how many smokers there are.
"""

import sys

import numpy as np
from _plot import BLACK, BLUE, GREY, ORANGE, ORANGE_INK, RED, figure, save, say
from scipy.special import gammaincinv

from separatrix import GeneralizedLinearModel, anova

try:
    import formulaic  # noqa: F401
    import pandas as pd
except ImportError:
    sys.exit("this example writes its models as formulas:  pip install 'separatrix[formula]'")

ages = ["35–44", "45–54", "55–64", "65–74", "75–84"]
table = pd.DataFrame({
    "age": ages * 2,
    "smoker": ["no"] * 5 + ["yes"] * 5,
    "years": [18790, 10673, 5710, 2585, 1462, 52407, 43248, 28612, 12663, 5317],
    "deaths": [2, 12, 28, 28, 31, 32, 104, 206, 186, 102],
})  # fmt: skip
table["rate"] = 1000 * table["deaths"] / table["years"]
print("Deaths per 1,000 person-years")
print(table.pivot(index="age", columns="smoker", values="rate").round(2).to_string(), "\n")


def fit(formula, **kwargs):
    return GeneralizedLinearModel.from_formula(formula, table, "poisson", **kwargs)


model = fit("deaths ~ age + smoker", exposure="years")
print(model.summary(), "\n")

ends = {method: np.exp(model.confidence_intervals(method=method)) for method in ("wald", "profile")}
print("exp(coef): the first is a rate a year (age 35–44, no smoker), the others are ratios of rates")
print(f"{'':16s}{'':9s}      95 % Wald        95 % profile")
for j, name in enumerate(model.summary().index):
    estimate = np.exp(model.intercept_ if j == 0 else model.coef_[j - 1])
    print(f"  {name:14s}{estimate:9.4g}", end="")
    print("".join(f"   {ends[m][j, 0]:8.4g} {ends[m][j, 1]:8.4g}" for m in ends))
ratio = np.exp(model.coef_[-1])
print(f"At every age smokers die {ratio:.2f} times as often as others, says this model.\n")

print(anova(model), "\n")
print(f"{model.test('smoker', 'wald')}\n{model.test('smoker', 'lr')}\n{model.test('smoker', 'score')}\n")

saturated = fit("deaths ~ age + age:smoker", exposure="years")
print("Is one ratio enough? Against a ratio for each age:")
print(anova(model, saturated))
print("Not quite: among the young the ratio is larger. It rests on two deaths, where Wald and profile part:")
by_age = np.exp(saturated.coef_[-5:])
age_ends = {m: np.exp(saturated.confidence_intervals(method=m)[-5:]) for m in ("wald", "profile")}
for j, age in enumerate(ages):
    print(f"  {age}   {by_age[j]:6.2f}   Wald {age_ends['wald'][j].round(2)}", end="")
    print(f"   profile {age_ends['profile'][j].round(2)}")

counts = fit("deaths ~ age + smoker")
crude = fit("deaths ~ smoker", exposure="years")
held = table.groupby("smoker")["years"].sum()
share, pooled = held["yes"] / held["no"], np.exp(crude.coef_[0])
print(f"\nYears but no age:   ratio  {pooled:.2f}, a mixture over ages, of which smokers had other shares.")
print(f"Without the years: 'ratio' {np.exp(counts.coef_[-1]):.2f}. Smokers lived {share:.2f} times ", end="")
print(f"the others' years: {share:.2f} × {pooled:.2f} = {share * pooled:.2f}.")
print(
    f"No test would tell: its deviance, {counts.deviance_:.1f}, is hardly above {model.deviance_:.1f}.",
    end="",
)
print(" It says who dies more, not who dies more often.")
more = fit("deaths ~ age + smoker + np.log(years)")
test = more.test("np.log(years)", "wald", value=1.0)
print(f"Log years as a column: its coefficient is {more.coef_[-1]:.2f}; ", end="")
print(f"that it is 1, as an offset says, p = {test.p_value:.2f}.")

fig, (left, right) = figure(
    1, 2, "An offset turns counts into rates, and a coefficient into the logarithm of a ratio of rates",
    "Deaths of British doctors from heart disease. Bars left: exact 95 % intervals, right: by likelihood.",
    height=5.2, width_ratios=[1.0, 1.05],
)  # fmt: skip
place = np.arange(5)
inks = {"no": (BLUE, BLUE, "o", -0.05), "yes": (ORANGE, ORANGE_INK, "s", 0.05)}
for smoker, (colour, ink, marker, shift) in inks.items():
    rows = table[table["smoker"] == smoker]
    deaths, years = rows["deaths"].to_numpy(), rows["years"].to_numpy() / 1000
    low, high = gammaincinv(deaths, 0.025) / years, gammaincinv(deaths + 1, 0.975) / years
    left.vlines(place + shift, low, high, color=colour, linewidth=1.6)
    left.plot(
        place + shift, deaths / years, marker, color=ink, markersize=7, markeredgecolor="white", zorder=4
    )
    left.plot(place, model.predict(rows, exposure=np.full(5, 1000.0)), color=colour, zorder=2)
top = model.predict(table[table["smoker"] == "yes"], exposure=np.full(5, 1000.0))
arrow = {"arrowstyle": "<->", "color": BLACK, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
between = np.sqrt(top[2] * top[3])
left.annotate("", (2.5, between), (2.5, between / ratio), arrowprops=arrow)
words = f"×{ratio:.2f} everywhere:\nlog {ratio:.2f} = {model.coef_[-1]:.3f},\nthe coefficient"
say(left, 2.62, between / ratio**2.2, words, va="top")
say(left, 0.62, 2.15, "smokers", ORANGE_INK, ha="right", fontweight="bold")
say(left, 1.1, 0.72, "others", BLUE, ha="left", fontweight="bold")
say(left, 0.12, 0.062, "2 deaths", BLUE, fontsize=9)
left.set_yscale("log")
left.set(
    xticks=place, xticklabels=ages, yticks=[0.01, 0.1, 1, 10], yticklabels=["0.01", "0.1", "1", "10"],
    ylim=(0.01, 45), xlabel="age", ylabel="deaths per 1,000 person-years", title="Observed rates and the model's",
)  # fmt: skip

lines = [
    ("deaths, no years", np.exp(counts.coef_[-1]), np.exp(counts.confidence_intervals(method="profile")[-1]), RED),
    ("rates, age left out", np.exp(crude.coef_[0]), np.exp(crude.confidence_intervals(method="profile")[-1]), GREY),
    ("rates, given age", ratio, ends["profile"][-1], BLACK),
]  # fmt: skip
lines += [(age, by_age[j], age_ends["profile"][j], ORANGE_INK) for j, age in enumerate(ages)]
heights = [0, -1, -2, -3.6, -4.6, -5.6, -6.6, -7.6]
right.axvline(1, color=GREY, linestyle=":", linewidth=1.2)
for height, (name, at, (low, high), ink) in zip(heights, lines):
    right.plot([low, high], [height, height], color=ink)
    right.plot(at, height, "o", color=ink, markersize=7.5, markeredgecolor="white", zorder=4)
    say(right, 88, height, f"{at:.2f}", ink, va="center", ha="right")
young = age_ends["wald"][0]
right.plot(young, [-3.87, -3.87], color=ORANGE_INK, linewidth=1.0, linestyle="--")
say(right, young[1] * 1.08, -3.9, "Wald", ORANGE_INK, va="center", fontsize=9)
say(right, 1.1, -2.85, "a ratio for each age", ORANGE_INK, va="center", fontsize=9)
say(right, 8.6, 0, f"smokers have {share:.1f} times\nthe years", RED, va="center", fontsize=9)
right.set_xscale("log")
right.set(
    yticks=heights, yticklabels=[name for name, *_ in lines], xlim=(0.5, 95), ylim=(-8.2, 0.6),
    xticks=[0.5, 1, 2, 5, 10, 20], xticklabels=["0.5", "1", "2", "5", "10", "20"],
    xlabel="smokers' rate ÷ the others'", title="The ratio, as four models give it",
)  # fmt: skip
right.minorticks_off()
right.tick_params(axis="y", length=0)
save(fig, __file__)
