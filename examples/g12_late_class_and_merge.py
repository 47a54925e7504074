"""G12. A class that comes later is added, and two fits are merged, without a second look at the old rows.

    parameters = function(facts),   facts of rows A and B together = facts of A + facts of B
    so  partial_fit(A), partial_fit(B)  =  fit(A ∪ B)  =  merge(fit(A), fit(B)),  and a class is a row of facts more

"Generative classifiers … generalize more easily to adding a new class (since the per-class models are independent)"
[6867] 3.3. Left: two flowers known. Middle: the third is met in a later `partial_fit`; nothing was said about it
before, and what is known of the first two does not move. Right: all models, fitted in one go, in chunks and merged
from two halves: the largest relative difference of any parameter, to be held against 1e-12.
"""

import numpy as np
from _plot import (
    BLACK,
    BLUE,
    CLASS_INKS,
    GREY,
    ORANGE_INK,
    boundary,
    box_of,
    figure,
    points,
    region,
    save,
    say,
)
from sklearn.base import clone
from sklearn.datasets import load_iris

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)

data = load_iris()
X, y = data.data, data.target_names[data.target]
lengths = X[:, [0, 2]]
early = y != "virginica"
two = QuadraticDiscriminantAnalysis().fit(lengths[early], y[early])
later = QuadraticDiscriminantAnalysis().partial_fit(lengths[early], y[early])
print(f"after the first rows: classes {later.classes_.tolist()}")
later.partial_fit(lengths[~early], y[~early])
print(f"after the next:       classes {later.classes_.tolist()}, shares {later.priors_.round(3)}")
kept = [later.classes_.tolist().index(c) for c in two.classes_]
moved = [abs(later.means_[kept] - two.means_).max()]
moved += [abs(later.covariance_[k] - sigma).max() for k, sigma in zip(kept, two.covariance_)]
print(f"the first two classes' means and covariances moved by {max(moved):.0e}")
whole = QuadraticDiscriminantAnalysis().fit(lengths, y)
apart = abs(later.predict_proba(lengths) - whole.predict_proba(lengths)).max()
print(f"posteriors against one fit to all rows: {apart:.0e}\n")


def parameters(model):
    """All learnt numbers of a model, in one row."""
    names = "class_prior_ means_ covariance_ theta_ var_ feature_log_prob_ coef_ intercept_"
    found = [getattr(model, name) for name in names.split() if hasattr(model, name)]
    found += [v for column in np.atleast_1d(getattr(model, "parameters_", [])) for v in column.values()]
    found = [v for part in found for v in (part if isinstance(part, list) else [part])]
    return np.concatenate([np.ravel(v) for v in found])


rng = np.random.default_rng(12)
words = np.where(X[:, 1:3] > 3, "more", "less").astype(object)
tables = {
    "LinearDiscriminantAnalysis": (LinearDiscriminantAnalysis(), X),
    "QuadraticDiscriminantAnalysis": (QuadraticDiscriminantAnalysis(), X),
    "GaussianDiscriminant, spherical": (GaussianDiscriminant("spherical"), X),
    "GaussianNB": (GaussianNB(), X),
    "BernoulliNB": (BernoulliNB(), X.mean(axis=0) < X),
    "MultinomialNB": (MultinomialNB(), np.round(10 * X)),
    "CategoricalNB": (CategoricalNB(), np.floor(X)),
    "NaiveBayes, words and numbers": (NaiveBayes(), np.column_stack([words, X.astype(object)])),
    "GenerativeClassifier, gamma": (GenerativeClassifier("gamma"), X),
}
order = rng.permutation(len(y))
chunks = np.array_split(order, 7)
halves = np.array_split(order, 2)
worst = {}
print(f"{'largest relative difference from one fit':42s}7 chunks     2 halves merged")
for name, (model, table) in tables.items():
    once = parameters(clone(model).fit(table, y))
    piecewise = clone(model)
    for part in chunks:
        piecewise.partial_fit(table[part], y[part])
    one, other = (clone(model).fit(table[half], y[half]) for half in halves)
    merged = one.merge(other)
    scale = np.maximum(abs(once), 1e-3 * abs(once).max())
    worst[name] = [np.max(abs(parameters(m) - once) / scale) for m in (piecewise, merged)]
    print(f"  {name:38s}{worst[name][0]:8.1e}      {worst[name][1]:8.1e}")
below = max(v for pair in worst.values() for v in pair)
print(f"all below 1e-12: {below < 1e-12} (largest {below:.1e})")

fig, axes = figure(
    1, 3, "A class that comes later is simply added; halves merge to the whole",
    "Irises. Left and middle: quadratic discriminant; the dashed line is the boundary of the left panel.",
    width=14, height=5.0, gridspec_kw={"width_ratios": [1, 1, 0.9]},
)  # fmt: skip
box = box_of(lengths, 0.12)
titles = ("Two flowers known", "The third comes in a later partial_fit")
for ax, model, title in zip(axes, (two, later), titles):
    known = np.isin(y, model.classes_)
    region(ax, model, box, strength=0.5)
    boundary(ax, model, box, linewidths=2.6)
    points(ax, lengths[known], y[known], classes=model.classes_, size=22)
    ax.set(title=title, xlabel="sepal length, cm")
    for label, ink, spot in zip(model.classes_, CLASS_INKS, ((6.3, 1.5), (6.6, 3.3), (5.0, 6.6))):
        say(ax, *spot, label, ink, fontweight="bold", fontsize=11)
boundary(axes[1], two, box, color=BLACK, linewidths=1.2, linestyles="dashed", zorder=3)
axes[0].set_ylabel("petal length, cm")
ax = axes[2]
floor = 1e-17
for row, (name, pair) in enumerate(list(worst.items())[::-1]):
    for value, ink, marker, lift in zip(pair, (BLUE, ORANGE_INK), "os", (0.12, -0.12)):
        ax.scatter(max(value, floor), row + lift, color=ink, marker=marker, s=40, zorder=3)
ax.set_yticks(range(len(worst)), [name.replace(", ", ",\n") for name in list(worst)[::-1]], fontsize=8.5)
ax.axvline(1e-12, color=GREY, linestyle="--", linewidth=1.2)
ax.grid(axis="y", color="#eeeeee")
ax.set(xscale="log", xlim=(floor / 2, 1e-10), ylim=(-0.6, len(worst) + 0.7))
ax.set_xlabel("largest relative difference")
ax.set_xticks([1e-17, 1e-15, 1e-13, 1e-11], ["none", "$10^{-15}$", "$10^{-13}$", "$10^{-11}$"])
ax.minorticks_off()
say(ax, 1.4e-12, len(worst) + 0.1, "$10^{-12}$", GREY)
say(ax, 1e-17, len(worst) + 0.1, "● in 7 chunks", BLUE, fontweight="bold")
say(ax, 1e-17, len(worst) - 0.5, "■ 2 halves merged", ORANGE_INK, fontweight="bold")
ax.set_title("Parameters against one fit")
save(fig, __file__)
