"""G3. Which classes share a covariance: straight lines between those that do, curves to the others.

    log p(x, k) = −½ (x − μ_k)ᵀΣ_g⁻¹(x − μ_k) − ½ log|2πΣ_g| + log π_k,    g = g(k) the group of class k      [PC]

The three-class figure of [PC] "The Soft-Max": two classes have the same covariance, the third its own. Told so, the
model estimates Σ of the pair from the rows of both, the quadratic terms cancel between them, and only their common
boundary is straight. Below in the same call: the other ties (diagonal, spherical, one Σ, one each) and the log
likelihood each reaches; shrinkage; and a covariance that is singular, where the verdict says which class and columns.
"""

import warnings

import numpy as np
from _plot import BLACK, CLASS_INKS, boundary, ellipse, figure, points, region, save, say, surface

from separatrix import GaussianDiscriminant

rng = np.random.default_rng(3)
wide, narrow = np.array([[1.3, 0.7], [0.7, 1.2]]), np.array([[0.9, -0.45], [-0.45, 0.5]])
truth = {"a": ((-1.7, 1.2), wide), "b": ((1.7, 0.6), wide), "c": ((0.2, -2.2), narrow)}
X = np.vstack([rng.multivariate_normal(mean, sigma, 120) for mean, sigma in truth.values()])
y = np.repeat(list(truth), 120)

told = GaussianDiscriminant(covariance=[["a", "b"], ["c"]]).fit(X, y)
print(told.verdict_)
for k, label in enumerate(told.classes_):
    print(f"  {label}: μ = {told.means_[k].round(2)}, Σ = {told.covariance_[k].round(2).tolist()}")
# Between a and b the quadratic forms cancel: w = Σ⁻¹(μ_b − μ_a), a straight line.
sigma, (ma, mb, _) = told.covariance_[0], told.means_
w = np.linalg.solve(sigma, mb - ma)
w0 = -0.5 * (ma + mb) @ w + np.log(told.priors_[1] / told.priors_[0])
joint = told.predict_joint_log_proba(X)
print(f"  log p(x,b)/p(x,a) = {w[0]:.3f}·x₁ {w[1]:+.3f}·x₂ {w0:+.3f}, in all rows to ", end="")
print(f"{abs(joint[:, 1] - joint[:, 0] - (X @ w + w0)).max():.0e}")

print("\nties, and the mean log density log p(x) of the rows (higher fits better)")
ties = {
    "one Σ (LDA)": "shared",
    "a, b share": [["a", "b"], ["c"]],
    "Σ a class (QDA)": "per-class",
    "diagonal": "diagonal",
    "spherical": "spherical",
}
for name, tie in ties.items():
    model = GaussianDiscriminant(covariance=tie).fit(X, y)
    print(f"  {name:16s} {model.score_samples(X).mean():8.4f}   {model.score(X, y):.3f} of the rows right")
for s in (0.1, 0.5, 1.0):
    model = GaussianDiscriminant(covariance="per-class", shrinkage=s).fit(X, y)
    print(f"  shrinkage {s:<6g} {model.score_samples(X).mean():8.4f}   {model.score(X, y):.3f}")

# A third column that is the sum of the others in class c alone: Σ_c has no inverse, the others have.
sums = X.sum(axis=1) + np.where(y == "c", 0.0, rng.normal(size=len(y)))
with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    singular = GaussianDiscriminant(covariance="per-class").fit(np.column_stack([X, sums]), y)
print(f"\na column that is the sum of the two others in class c:\n{singular.verdict_}")
print(f"said as a {heard[0].category.__name__} too")
print(f"it predicts all the same: {singular.score(np.column_stack([X, sums]), y):.3f} right")
few = GaussianDiscriminant(covariance="per-class", shrinkage=0.3).fit(X[::60], y[::60])
print(f"\ntwo rows a class, with shrinkage:\n{few.verdict_}")

fig, (left, right) = figure(
    1, 2, "Classes a and b share a covariance: straight between them, curved to c",
    "The figure of the notes. Left: contours of the fitted Gaussians. Right: posteriors as colour, boundaries white.",
    height=5.3, sharey=True,
)  # fmt: skip
box = (-5.2, 5.2, -5.2, 4.7)
points(left, X, y, size=14, alpha=0.55)
for k, ink in enumerate(CLASS_INKS):
    ellipse(left, told.means_[k], told.covariance_[k], color=ink, radii=(0.7, 1.4, 2.1), linewidth=1.8)
left.set(title="Contours: a and b have one shape", xlabel="$x_1$", ylabel="$x_2$", xlim=box[:2], ylim=box[2:])
region(right, told, box, strength=0.6)
boundary(right, told, box, linewidths=2.6)
points(right, X, y, size=14)
surface(right, w, w0, box, linewidths=1.0, linestyles="dashed")
say(right, 2.45, 3.7, "$w·x + w_0 = 0$", BLACK, fontsize=10)
right.set(title="Posterior: the line between a and b is straight", xlabel="$x_1$")
for ax in (left, right):
    for label, ink, spot in zip("abc", CLASS_INKS, ((-4.4, 2.6), (4.3, 2.9), (3.0, -3.3))):
        say(ax, *spot, label, ink, fontsize=14, fontweight="bold")
save(fig, __file__)
