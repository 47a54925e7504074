"""G7. Gaussian naive Bayes and its four variance ties.

    p(x | k) = Π_i N(x_i; μ_ik, σ²)            [726] "Gaussian Naïve Bayes":
    tie="none"     σ_ik, one for each column and class         curved
    tie="class"    σ_i, "independent of Y"                     straight: w_i = (μ_i1 − μ_i0)/σ_i²
    tie="feature"  σ_k, "independent of X_i"                   circles
    tie="both"     one σ                                       straight, at right angles to μ₁ − μ₀

Only where σ does not depend on the class do the squares cancel, and P(Y | X) is the sigmoid of a line: the case of
the notes' "Gaussian Naïve Bayes v. Logistic Regression". The ellipses are the fitted classes; their axes lie along
the columns, because within a class columns are taken as independent.
"""

import numpy as np
from _plot import CLASS_INKS, boundary, ellipse, figure, points, region, save, say

from separatrix import GaussianNB

rng = np.random.default_rng(7)
y = np.repeat(["no", "yes"], (160, 120))
no, yes = rng.normal([-1.3, -0.4], [1.5, 0.7], (160, 2)), rng.normal([1.6, 0.9], [0.6, 1.1], (120, 2))
X = np.vstack([no, yes])
names = {"none": r"$\sigma_{ik}$ of each column and class", "class": r"$\sigma_i$ shared by the classes",
         "feature": r"$\sigma_k$ shared by the columns", "both": r"$\sigma$ shared by all"}  # fmt: skip
models = {tie: GaussianNB(tie=tie).fit(X, y) for tie in names}
print(f"{models['none'].verdict_}\n")
print(f"{'tie':10s}{'σ of class no':22s}{'σ of class yes':22s}right   mean log p(x)   linear form")
for tie, model in models.items():
    sigma = np.sqrt(model.var_)
    line = "none: squares stay"
    if hasattr(model, "coef_"):
        line = f"{model.coef_[0].round(3)} {model.intercept_[0]:+.3f}"
    print(f"{tie:10s}{sigma[0].round(3)!s:22s}{sigma[1].round(3)!s:22s}", end="")
    print(f"{model.score(X, y):.3f}   {model.score_samples(X).mean():8.4f}        {line}")
shared = models["class"]
w = (shared.theta_[1] - shared.theta_[0]) / shared.var_[0]
print(f"\ntie='class': (μ₁ − μ₀)/σ² = {w.round(6)}, coef_ = {shared.coef_[0].round(6)}")
sigmoid = 1 / (1 + np.exp(-(X @ shared.coef_[0] + shared.intercept_[0])))
print(f"P(yes | x) = sigmoid(w·x + w₀) to {abs(sigmoid - shared.predict_proba(X)[:, 1]).max():.0e}")
both = models["both"]
across = np.array([-both.coef_[0, 1], both.coef_[0, 0]])
product = across @ (both.theta_[1] - both.theta_[0])
print(f"tie='both': the boundary is at right angles to μ₁ − μ₀: their product is {product:.0e}")
far = GaussianNB(tie="class", var_smoothing_per_column=True).fit(X * [1, 1e6] + [1e8, 0], y)
moved = abs(far.predict_proba(X * [1, 1e6] + [1e8, 0]) - shared.predict_proba(X)).max()
print(f"another unit and origin, 1e8 ± 1 and × 1e6: the probabilities move by {moved:.0e}, x rounded")

fig, axes = figure(
    2, 2, "Four ties of the variance: straight boundaries where the classes share it",
    "Colour: P(class | x), white at ½. Ellipses: the fitted classes at one and two standard deviations.",
    height=8.4, sharex=True, sharey=True,
)  # fmt: skip
box = (-6.0, 5.2, -4.2, 5.0)
for ax, (tie, model) in zip(axes.ravel(), models.items()):
    region(ax, model, box, strength=0.55)
    boundary(ax, model, box, color="#222222", linewidths=2.0)
    points(ax, X, y, size=15)
    for k in range(2):
        ellipse(ax, model.theta_[k], np.diag(model.var_[k]), color=CLASS_INKS[k], linewidth=1.5)
    straight = hasattr(model, "coef_")
    ax.set(title=f"{names[tie]}: {'straight' if straight else 'curved'}")
    say(ax, -5.7, -3.85, f'tie="{tie}", {model.score(X, y):.1%} right', fontsize=9.5)
    say(ax, -5.7, -2.6, "no", CLASS_INKS[0], fontsize=12, fontweight="bold")
    say(ax, 3.6, 3.9, "yes", CLASS_INKS[1], fontsize=12, fontweight="bold")
for ax in axes[1]:
    ax.set_xlabel("$x_1$")
for ax in axes[:, 0]:
    ax.set_ylabel("$x_2$")
save(fig, __file__)
