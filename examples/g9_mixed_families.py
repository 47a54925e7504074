"""G9. Any exponential family for a column: counts, amounts, shares, words and readings in one table.

    p(x | η) = h(x) exp(η·T(x) − A(η)),   fitted by ∇A(η) = mean of T(x)                             [6867] 3.1.3
    log p(x, k) = log π_k + Σ_j log p_j(x_j | θ_kj),   p_j the family of column j
    shared scale: a(x) = (λ₁ − λ₀)·x/s + log g(λ₁) − log g(λ₀) + log π₁/π₀,   linear in x     [6867] 3.1.3.3

A frame of patients, made up from families we know, so that the estimates can be held against the truth. The families
are chosen from the columns' types and values; the picture draws what was fitted over what was seen. Last panel: two
columns of waiting times, Gamma with one shape for both classes. T(x) = (log x, x), and log x has the shape for its
weight: shared, it cancels, and the separator is the straight line of the notes' theorem.
"""

import sys
import warnings

import numpy as np
from _plot import BLACK, BLUE, CLASS_INKS, ORANGE, ORANGE_INK, boundary, figure, points, region, save, say
from scipy import stats

from separatrix import GenerativeClassifier, NaiveBayes

try:
    import pandas as pd
except ImportError:
    sys.exit("this example reads a pandas frame:  pip install 'separatrix[frames]'")

rng = np.random.default_rng(9)
n = 1500
y = np.where(rng.random(n) < 0.4, "ill", "well")
ill = y == "ill"
truth = {
    "visits": ("poisson", {"rate": (4.2, 1.6)}),
    "bill": ("gamma", {"shape": (3.0, 1.7), "rate": (0.008, 0.012)}),
    "share paid": ("beta", {"a": (2.0, 5.0), "b": (4.0, 2.0)}),
    "change": ("normal", {"mean": (0.6, -0.2), "variance": (0.5, 0.3)}),
}
frame = pd.DataFrame({
    "visits": rng.poisson(np.where(ill, 4.2, 1.6)),
    "bill": rng.gamma(np.where(ill, 3.0, 1.7), 1 / np.where(ill, 0.008, 0.012)),
    "share paid": rng.beta(np.where(ill, 2.0, 5.0), np.where(ill, 4.0, 2.0)),
    "change": rng.normal(np.where(ill, 0.6, -0.2), np.sqrt(np.where(ill, 0.5, 0.3))),
    "region": np.where(ill, rng.choice(["north", "south", "coast"], n, p=[0.5, 0.3, 0.2]),
                       rng.choice(["north", "south", "coast"], n, p=[0.2, 0.35, 0.45])),
    "insured": rng.random(n) < np.where(ill, 0.75, 0.6),
})  # fmt: skip
frame.loc[rng.random(n) < 0.1, "bill"] = np.nan  # a missing cell is left out of its column
print(frame.head(4).to_string(), "\n")
model = NaiveBayes().fit(frame, y)
print(model.verdict_)
print(f"{'column':12s}{'family':13s}{'parameter':12s}{'ill: fitted (true)':>34s}{'well: fitted (true)':>34s}")
for j, name in enumerate(frame):
    for parameter, values in model.parameters_[j].items():
        if parameter == "probabilities":
            text = [" ".join(f"{level} {p:.2f}" for level, p in zip(model.levels_[j], row)) for row in values]
        else:
            true = truth[name][1][parameter] if name in truth else (0.75, 0.6)
            text = [f"{v:.4f} ({t:g})" for v, t in zip(values, true)]
        print(f"{name:12s}{model.families_[j]:13s}{parameter:12s}{text[0]:>34s}{text[1]:>34s}")
print(f"\n{model.score(frame, y):.3f} of the rows right")
strange = frame.iloc[:2].assign(region=["mountain", None])
print(f"a region never seen, and none given: P(ill) = {model.predict_proba(strange)[:, 0].round(3)}")
wrong = frame.iloc[:3].assign(**{"share paid": [0.5, 1.2, 0.1]})
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    model.predict(wrong)
print(f"a share of 1.2, family chosen by the data: {heard[0].message}")
try:
    NaiveBayes({"share paid": "beta"}).fit(frame, y).predict(wrong)
except ValueError as why:
    print(f"a share of 1.2, family given by us: {why}")

# The notes' theorem: a shared scale makes a(x) linear in x.
shape, rates = np.array([2.5, 4.0]), np.array([[1.0, 1.3], [0.45, 0.8]])
late = np.repeat([0, 1], (250, 150))
waits = rng.gamma(shape, 1 / rates[late])
kind = np.array(["quick", "slow"])[late]
gamma = GenerativeClassifier("gamma", shared_scale=True).fit(waits, kind)
print(f"\n{gamma.verdict_}")
a, b = gamma.parameters_["shape"], gamma.parameters_["rate"]
w = b[0] - b[1]  # λ₁ − λ₀, since η of x is −rate
w0 = (a[0] * (np.log(b[1]) - np.log(b[0]))).sum() + np.log(gamma.class_prior_[1] / gamma.class_prior_[0])
print(f"shape {a[0].round(3)} in both classes (true {shape})")
print(f"rates {b.round(3).tolist()} (true {rates.tolist()})")
print(f"a(x) = {gamma.coef_[0, 0]:.4f}·x₁ + {gamma.coef_[0, 1]:.4f}·x₂ {gamma.intercept_[0]:+.4f}")
print(
    f"by the formula {w[0]:.4f}, {w[1]:.4f}, {w0:+.4f}; from log p(x,1)/p(x,0) it differs by at most ", end=""
)
print(f"{abs(waits @ w + w0 - gamma.decision_function(waits)).max():.0e}")
own = GenerativeClassifier("gamma").fit(waits, kind)
print(
    f"a shape for each class: a(x) is linear in log x and x, {own.features(waits).shape[1]} features, ",
    end="",
)
print(f"coef_ = {own.coef_[0].round(3)}")

fig, axes = figure(
    2, 3, "Six columns, six families, one naive Bayes; and a Gamma model with a straight separator",
    "Bars: what was seen, by class. Lines and marks: the fitted family. Last panel: one shape for both classes.",
    width=13, height=7.4,
)  # fmt: skip
inks, fills, faces = (BLUE, ORANGE_INK), (BLUE, ORANGE), dict(zip(frame, axes.ravel()))
densities = {
    "visits": lambda p, k: stats.poisson(p["rate"][k]).pmf,
    "bill": lambda p, k: stats.gamma(p["shape"][k], scale=1 / p["rate"][k]).pdf,
    "share paid": lambda p, k: stats.beta(p["a"][k], p["b"][k]).pdf,
    "change": lambda p, k: stats.norm(p["mean"][k], np.sqrt(p["variance"][k])).pdf,
}
spans = {"visits": (-0.5, 12.5), "bill": (0, 1100), "share paid": (0, 1), "change": (-2.4, 3.0)}
spots = {"visits": ((5.6, 0.17), (2.0, 0.30)), "bill": ((430, 0.0021), (130, 0.0047)),
         "share paid": ((0.16, 2.15), (0.78, 2.5)), "change": ((1.2, 0.52), (-1.5, 0.6))}  # fmt: skip
for j, name in enumerate(densities):
    ax, span = faces[name], spans[name]
    whole = name == "visits"
    edges = np.arange(-0.5, 13.5) if whole else np.linspace(*span, 36)
    x = np.arange(13) if whole else np.linspace(*span, 400)[1:-1]
    for k, label in enumerate(model.classes_):
        ax.hist(frame.loc[y == label, name].dropna(), bins=edges, density=True, color=fills[k], alpha=0.45)
        style = {"marker": "os"[k], "markersize": 5, "linewidth": 1.2} if whole else {"linewidth": 2.2}
        ax.plot(x, densities[name](model.parameters_[j], k)(x), color=inks[k], **style)
        say(ax, *spots[name][k], label, inks[k], fontweight="bold", fontsize=11)
    ax.set(title=f"{name}: {model.families_[j].capitalize()}", xlim=span, yticks=[], ylabel="density")
ax = faces["region"]
j = list(frame).index("region")
for k, label in enumerate(model.classes_):
    place = np.arange(3) + 0.2 * (2 * k - 1)
    seen = [np.mean(frame.loc[y == label, "region"] == level) for level in model.levels_[j]]
    ax.bar(place, seen, width=0.38, color=fills[k], alpha=0.5)
    ax.scatter(place, model.parameters_[j]["probabilities"][k], color=inks[k], marker="os"[k], s=36, zorder=3)
    say(ax, (0.8, 0.2)[k], (0.49, 0.45)[k], label, inks[k], fontweight="bold", fontsize=11, ha="center")
ax.set_xticks(range(3), model.levels_[j])
ax.set(title="region: Categorical (insured: Bernoulli)", ylabel="share", ylim=(0, 0.56))

ax = axes[1, 2]
box = (0.01, 16, 0.01, 13)  # a Gamma begins above 0
region(ax, gamma, box, strength=0.55)
boundary(ax, gamma, box, color=BLACK)
points(ax, waits, kind, size=16)
say(ax, 3.1, 0.15, "quick", CLASS_INKS[0], fontweight="bold", fontsize=11)
say(ax, 12.6, 11.0, "slow", CLASS_INKS[1], fontweight="bold", fontsize=11)
ax.set(title="Gamma, one shape: linear in x", xlabel="$x_1$, first wait", ylabel="$x_2$, second wait")
save(fig, __file__)
