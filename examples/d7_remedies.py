"""D7. Separated classes: two remedies, Firth's penalty and a prior, beside maximum likelihood, which has no answer.

    ℓ(w) = Σ_i log σ(y_i (w·x_i + b))    rises for ever where the classes are separated             [6867] 3.2.2
    Firth   ℓ(w) + ½ log|I(w)|           I = Σ o(1−o) x xᵀ falls to 0 as w grows: Jeffreys' prior, no scale to choose
    Bayes   ℓ(w) − ½ (w − m₀)ᵀS₀⁻¹(w − m₀)    a prior with a scale; predictions average over the posterior   [6867] 4

"This can be addressed by adding a regularization penalty or using a prior." Left: what each predicts. Middle: what
each maximises; the likelihood has no peak, and a 95 % interval (all w within 1.92 of the best) has no right end.
Right, and where ../shared/data is there: the endometrial table of Heinze and Schemper (2002), whose column NV
separates some rows: maximum likelihood says +∞, the others give estimates and intervals.
"""

import sys
import warnings

import numpy as np
from _plot import BLACK, BLUE, GREEN, GREY, RED, ROOT, figure, save, say

from separatrix import BayesianLogisticRegression, LogisticRegression, SeparationWarning

sys.path.insert(0, str(ROOT))
warnings.simplefilter("ignore", SeparationWarning)  # the verdicts below say the same at more length


def endometrial():
    """The real table as a frame, or None where it is absent."""
    try:
        from benchmarks import shared

        return shared.table("separation/endometrial")
    except (ImportError, FileNotFoundError):
        return None


# Symmetric about 0, so that the best intercept is 0 whatever the weight, and each objective is a curve over w alone.
half = np.array([0.3, 0.8, 1.3, 2.0, 2.7])
x = np.concatenate([-half[::-1], half])
y = (x > 0).astype(int)
X = x[:, None]

likelihood = LogisticRegression(C=np.inf).fit(X, y)
firth = LogisticRegression(penalty="firth").fit(X, y)
bayes = BayesianLogisticRegression(prior_precision=1.0).fit(X, y)
print(f"Ten rows, separated at 0. Maximum likelihood:\n{likelihood.verdict_}\n")


def log_likelihood(w):
    return -np.logaddexp(0, -np.outer(w, np.abs(x))).sum(axis=1)


def log_information(w):
    """½ log|I(w)|; by symmetry I is diagonal: Σ o(1−o) and Σ o(1−o) x²."""
    a = np.outer(w, x)
    spread = np.exp(-np.logaddexp(0, a) - np.logaddexp(0, -a))
    return 0.5 * np.log(spread.sum(axis=1) * (spread @ x**2))


objectives = {
    "likelihood": log_likelihood,
    "Firth": lambda w: log_likelihood(w) + log_information(w),
    "Bayes": lambda w: log_likelihood(w) - 0.5 * w**2,
}
steps = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
print("what each maximises, by hand    " + "".join(f"  w = {w:<5g}" for w in steps))
for name, value in objectives.items():
    print(f"  {name:30s}" + "".join(f"{v:11.5f}" for v in value(steps)))
print("only the first row never turns: its supremum, 0, lies at w = ∞\n")

grid = np.linspace(0.02, 40, 400_000)
peak = {name: grid[np.argmax(value(grid))] for name, value in objectives.items() if name != "likelihood"}
print(f"Firth  w = {firth.coef_[0, 0]:.4f}, by hand {peak['Firth']:.4f}")
print(f"Bayes  w = {bayes.coef_[0, 0]:.4f}, by hand {peak['Bayes']:.4f}")
drop = [firth.test(0, "lr", value=w).statistic / 2 for w in steps]
by_hand = objectives["Firth"](peak["Firth"])[0] - objectives["Firth"](steps)
print(
    f"Firth's likelihood ratio test at those w is twice the fall of its curve: {np.allclose(drop, by_hand)}\n"
)
print(firth.summary(intervals="profile"), "\n")
print(bayes.summary(), "\n")


def exact_interval(alpha, level=0.95):
    """The same credible interval from the posterior itself, by sums over a grid of w and b."""
    w, b = np.linspace(-4, 45, 1500), np.linspace(-60, 60, 1201)
    sign = 2 * y - 1
    log_post = -0.5 * alpha * w[:, None] ** 2 - 0.5 * 0.01 * b**2  # 0.01 is intercept_precision's default
    for s, x_i in zip(sign, x):
        log_post -= np.logaddexp(0, -s * (w[:, None] * x_i + b))
    share = np.cumsum(np.exp(log_post - log_post.max()).sum(axis=1))
    return np.interp([(1 - level) / 2, (1 + level) / 2], share / share[-1], w)


print("Firth has no scale to choose. A prior has one, and on separated data the answer follows it; the wider")
print("the prior, the more skewed the posterior, and the less the Gaussian at its mode stands for it:")
for alpha in (4.0, 1.0, 0.25, 0.01):
    m = BayesianLogisticRegression(alpha).fit(X, y)
    low, high = m.credible_intervals()[1]
    prior = f"w ~ N(0, {alpha**-0.5:g}²)"
    print(f"  {prior:14s} w = {m.coef_[0, 0]:5.2f}   95 % [{low:5.2f}, {high:5.2f}]", end="")
    print("   by quadrature [{:.2f}, {:.2f}]".format(*exact_interval(alpha)))

table = endometrial()
methods = ("maximum likelihood", "Firth", "Bayes")
inks = dict(zip(methods, (RED, BLUE, GREEN)))
if table is None:
    print("\n../shared/data is absent: the endometrial table is left out")
else:
    names = ["NV", "PI", "EH"]
    rows, grade = table[names].astype(float), table["HG"].to_numpy()
    spread = rows.std().to_numpy()
    stretch = np.array([1.0, 2 * spread[1], 2 * spread[2]])  # NV from 0 to 1; two deviations of the others
    fits = {
        "maximum likelihood": LogisticRegression(C=np.inf).fit(rows, grade),
        "Firth": LogisticRegression(penalty="firth").fit(rows, grade),
        # 2.5 in log odds (twelvefold odds) over such a stretch is a large effect, rarely surpassed
        "Bayes": BayesianLogisticRegression(prior_precision=(stretch / 2.5) ** 2).fit(rows, grade),
    }
    print("\nEndometrial cancer, 79 women: NV = 1 never goes with grade 0.\n")
    print(fits["maximum likelihood"].summary(), "\n")
    print(fits["Firth"].summary(intervals="profile"))
    print(f"{fits['Firth'].test('NV')}; by Wald p = {fits['Firth'].test('NV', 'wald').p_value:.4f}\n")
    print(fits["Bayes"].summary())
    ends = {
        "maximum likelihood": np.full((3, 2), np.nan),
        "Firth": fits["Firth"].confidence_intervals(method="profile")[1:],
        "Bayes": fits["Bayes"].credible_intervals()[1:],
    }
    print("\nodds ratio of NV   estimate       95 %")
    for name in methods:
        est, (low, high) = np.exp(fits[name].coef_[0, 0]), np.exp(ends[name][0])
        print(f"  {name:19s}{est:8.1f}   " + (f"{low:.1f} to {high:.0f}" if np.isfinite(low) else "none"))

columns = 2 if table is None else 3
subtitle = (
    "Ten rows, separated at 0. All three see the same likelihood; what is added to it turns the curve over."
)
if table is not None:
    subtitle += " Right: real rows,\nwhere only NV separates, so only NV lacks a likelihood estimate."
fig, ax = figure(
    1, columns, "Where maximum likelihood has no answer, Firth's penalty and a prior each have one", subtitle,
    width=5.2 * columns if columns == 2 else 13.4, height=5.0,
)  # fmt: skip

line = np.linspace(-3.2, 3.2, 801)
cells = line[:, None]
band = bayes.predict_interval(cells)
ax[0].fill_between(line, band[:, 0], band[:, 1], color=GREEN, alpha=0.13, linewidth=0)
ax[0].plot(line, likelihood.predict_proba(cells)[:, 1], color=RED)
ax[0].plot(line, firth.predict_proba(cells)[:, 1], color=BLUE)
ax[0].plot(line, bayes.predict_proba(cells)[:, 1], color=GREEN)
ax[0].plot(x, y, "o", color=BLACK, markersize=6, markeredgecolor="white", zorder=5, clip_on=False)
say(ax[0], -0.1, 0.93, "likelihood: a step", RED, ha="right")
say(ax[0], 0.2, 0.85, "Firth", BLUE)
say(ax[0], 0.95, 0.62, "Bayes, averaged\nover the posterior", GREEN, va="center")
say(ax[0], -3.05, 0.31, "95 % credible", GREEN, fontsize=9)
ax[0].set(xlabel="x", ylabel="P(y = 1 | x)", title="What each predicts", xlim=(-3.2, 3.2), ylim=(-0.03, 1.03))

w = np.linspace(0.05, 12, 600)
for (_, value), ink in zip(objectives.items(), (RED, BLUE, GREEN)):
    ax[1].plot(w, value(w) - (0.0 if ink == RED else value(grid).max()), color=ink)
for name, ink in (("Firth", BLUE), ("Bayes", GREEN)):
    ax[1].plot(peak[name], 0, "o", color=ink, markersize=8, markeredgecolor="white", zorder=5)
ax[1].axhline(-1.92, color=GREY, linestyle=":", linewidth=1.2)
say(ax[1], 6.3, -1.98, "95 %: within 1.92 of the best", GREY, ha="center", va="top", fontsize=9)
say(ax[1], 6.4, 0.13, "likelihood: rises for ever", RED)
say(ax[1], 5.6, -0.80, "Firth", BLUE)
say(ax[1], 3.55, -3.2, "Bayes", GREEN)
ax[1].set(
    xlabel="weight w", ylabel="below its best (logarithm)", title="What each maximises",
    xlim=(0, 12), ylim=(-5, 0.6),
)  # fmt: skip

if table is not None:
    for j, name in enumerate(names):
        for k, method in enumerate(methods):
            height = -j - 0.25 * (k - 1)
            at = fits[method].coef_[0, j] * spread[j]
            low, high = ends[method][j] * spread[j]
            ink = inks[method]
            if np.isfinite(low):
                ax[2].plot([low, high], [height, height], color=ink)
            if np.isfinite(at):
                ax[2].plot(at, height, "o", color=ink, markersize=6.5, markeredgecolor="white", zorder=5)
    arrow = {"arrowstyle": "-|>", "color": RED, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
    ax[2].annotate("", (3.55, 0.25), (2.55, 0.25), arrowprops=arrow)
    say(ax[2], 2.45, 0.25, "likelihood: +∞, no interval", RED, ha="right", va="center")
    say(ax[2], 3.05, 0.0, "Firth", BLUE, va="center")
    say(ax[2], 2.2, -0.25, "Bayes", GREEN, va="center")
    ax[2].axvline(0, color=GREY, linewidth=1.0, linestyle=":")
    ax[2].set(
        yticks=[0, -1, -2], yticklabels=names, xlim=(-3.4, 3.7), ylim=(-2.5, 0.55),
        xlabel="weight × standard deviation", title="Endometrial cancer: 95 % intervals",
    )  # fmt: skip
    ax[2].tick_params(axis="y", length=0, labelsize=10.5)
save(fig, __file__)
