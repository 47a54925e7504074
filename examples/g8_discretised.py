"""G8. Cut a skewed column into bins and count, instead of fitting a bell to it.

    code(x) = #{i : cut_i < x},   then P(code | k) = (n + 1)/(n_k + bins)                     [726] "Dealing with
    cuts by equal width, by equal frequency, as given, or by MDL (Fayyad and Irani):           Continuous Attributes"
    a cut stays if it shortens the description of the labels, so a column that says nothing gets none

"When the continuous-valued attributes are not modeled well by a multivariate normal, discretizing the variables and
using NB can outperform a NB which models them directly." Three made-up columns: incomes (long right tail), a dose
that is wrong on both sides, and noise. Then real columns: scikit-learn's tumours and wines, and the word shares of
spam mail where ../shared/data is there. Every accuracy is on rows the fit has not seen.
"""

import sys
import warnings

import numpy as np
from _plot import BLACK, BLUE, GREY, ORANGE, ORANGE_INK, RED, ROOT, figure, save, say
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from separatrix import CategoricalNB, Discretizer, GaussianNB, NoSpreadWarning

# in some folds a column of the mails is zero in all of a class: a bell of no width, which is this page's point
warnings.filterwarnings("ignore", category=NoSpreadWarning)

sys.path.insert(0, str(ROOT))
rng = np.random.default_rng(8)
n = 3000
y = np.repeat(["no", "yes"], n // 2)
yes = y == "yes"
income = np.exp(rng.normal(np.where(yes, 10.6, 9.9), np.where(yes, 0.75, 0.45)))
dose = np.where(yes, rng.choice([-1, 1], n) * rng.gamma(9, 0.35, n), rng.normal(0, 1.1, n)) + 6
noise = rng.exponential(2.0, n)
X = np.column_stack([income, dose, noise])
columns = ["income", "dose", "noise"]

mdl = Discretizer("mdl").fit(X, y)
for name, cuts in zip(columns, mdl.cuts_):
    print(f"{name:7s} {len(cuts)} cuts by MDL: {np.array2string(cuts, precision=4, max_line_width=110)}")
given = Discretizer(cuts={0: [30e3, 60e3, 100e3, 200e3]}, method="frequency", bins=4).fit(X, y)
print(f"the notes' salary table as given cuts: {given.describe()['x0']}")
codes = mdl.transform(X)
counted = CategoricalNB().fit(codes, y)
print(f"\n{counted.verdict_}\n")

ways = {
    "Gaussian NB": lambda: GaussianNB(),
    "5 bins of equal width": lambda: make_pipeline(Discretizer("width", bins=5), CategoricalNB()),
    "5 bins of equal frequency": lambda: make_pipeline(Discretizer("frequency", bins=5), CategoricalNB()),
    "MDL cuts": lambda: make_pipeline(Discretizer("mdl"), CategoricalNB()),
}
sets = {
    "made up": (X, y),
    "tumours": load_breast_cancer(return_X_y=True),
    "wines": load_wine(return_X_y=True),
}
try:
    from benchmarks import shared

    sets["spam mail"] = shared.numeric("spambase")[:2]
except (ImportError, FileNotFoundError) as why:
    print(f"(no spam mail here: {why})")
folds = StratifiedKFold(5, shuffle=True, random_state=0)
table = {}
print(f"{'right, five folds':28s}" + "".join(f"{name:>12s}" for name in sets))
for way, make in ways.items():
    table[way] = [cross_val_score(make(), *pair, cv=folds).mean() for pair in sets.values()]
    print(f"{way:28s}" + "".join(f"{v:12.3f}" for v in table[way]))

fig, axes = figure(
    2, 2, "Skewed and two-sided columns: cut them where the labels change, then count",
    "Histograms by class with the MDL cuts (vertical lines) and the bells Gaussian naive Bayes would use (dashed).",
    height=7.6,
)  # fmt: skip
bell = GaussianNB().fit(X, y)
spans = [(0, 150e3), (0, 12), (0, 12)]
for j, (ax, name) in enumerate(zip(axes.ravel(), columns)):
    edges = np.linspace(*spans[j], 61)
    grid = np.linspace(*spans[j], 400)
    for k, (label, colour) in enumerate(zip(("no", "yes"), (BLUE, ORANGE))):
        ax.hist(X[y == label, j], bins=edges, density=True, color=colour, alpha=0.55, zorder=2)
        mean, var = bell.theta_[k, j], bell.var_[k, j]
        density = np.exp(-((grid - mean) ** 2) / (2 * var)) / np.sqrt(2 * np.pi * var)
        ax.plot(grid, density, linestyle="--", color=(BLUE, ORANGE_INK)[k], linewidth=1.6, zorder=3)
    for cut in mdl.cuts_[j]:
        ax.axvline(cut, color=BLACK, linewidth=1.3, zorder=4)
    found = len(mdl.cuts_[j])
    title = f"{name}: {found} cuts" if found else f"{name}: no cut, it says nothing"
    ax.set(title=title, xlim=spans[j], yticks=[], ylabel="density")
axes[0, 0].set_xticks([0, 50e3, 100e3, 150e3], ["0", "50,000", "100,000", "150,000"])
for ax, spots in zip(axes.ravel(), (((4e3, 0.7), (66e3, 0.2)), ((4.85, 0.82), (9.7, 0.5)))):
    for (x, y_), label, ink in zip(spots, ("no", "yes"), (BLUE, ORANGE_INK)):
        say(ax, x, y_ * ax.get_ylim()[1], label, ink, fontweight="bold", fontsize=11)
ax = axes[1, 1]
looks = zip(table.items(), (RED, GREY, ORANGE, BLUE), "Xs^o")
for row, ((way, values), colour, marker) in enumerate(looks):
    height = np.arange(len(sets))[::-1] + 0.15 * (1.5 - row)
    ax.scatter(values, height, s=46, color=colour, marker=marker, label=way, zorder=3)
ax.set_yticks(range(len(sets))[::-1], list(sets))
ax.grid(axis="x", color="#eeeeee")
ax.legend(loc="center left", bbox_to_anchor=(0.0, 0.5), fontsize=9, frameon=True, edgecolor="none")
ax.set(title="Share of unseen rows right", xlabel="five-fold accuracy", ylim=(-0.5, len(sets) - 0.5))
save(fig, __file__)
