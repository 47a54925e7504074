"""D6. Basis functions: a curve in x is a straight line in φ(x).

    P(y = 1 | x) = σ(w·φ(x) + w₀),   φ_j(x) = exp(−γ‖x − c_j‖²)           [PC] "A Discriminative Approach", [6867] 2

The picture of the notes. Left: two classes no line separates, two radial centres (crosses) with their contours, and
the fitted boundary. Middle: the same rows by their two basis values; here a straight line separates them, and
``separability`` proves both statements. Right: any transformer serves; all products up to degree two
(scikit-learn's PolynomialFeatures) make a conic, here for classes in opposite corners.
"""

import numpy as np
from _plot import CLASS_INKS, GREEN, box_of, figure, grid, points, region, save, say, surface
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from separatrix import LogisticRegression, RadialBasis, separability

rng = np.random.default_rng(5)
centres = np.array([[-1.0, -1.0], [1.0, 1.0]])
cloud = rng.uniform(-3, 3, (500, 2))
near = np.exp(-0.5 * ((cloud[:, None] - centres) ** 2).sum(axis=2)).sum(axis=1)
X = np.vstack([cloud[near > 0.72][:60], cloud[near < 0.48][:90]])
y = np.repeat(["inside", "outside"], [60, 90])

model = make_pipeline(RadialBasis(centers=centres, gamma=0.5), LogisticRegression(C=300.0)).fit(X, y)
basis, logistic = model[0], model[1]
phi = basis.transform(X)
print(f"in x = (x1, x2):    {separability(X, y)}")
print(f"in φ = (φ1, φ2):    {separability(phi, y)}")
print(
    f"accuracy: linear in x {LogisticRegression().fit(X, y).score(X, y):.2f}, linear in φ {model.score(X, y):.2f}"
)
print(f"{logistic.verdict_}\nw = {logistic.coef_[0]}, w₀ = {logistic.intercept_[0]:.3f}\n")
chosen = make_pipeline(RadialBasis(centers=6, random_state=0), LogisticRegression(C=100.0)).fit(X, y)
print(f"six centres chosen by k-means: accuracy {chosen.score(X, y):.2f}, γ = {chosen[0].gamma_:.3f}")

corner = rng.normal(size=(160, 2)) * 1.1
label = np.where(
    rng.random(160) < 1 / (1 + np.exp(-3.5 * corner[:, 0] * corner[:, 1])), "same sign", "opposite"
)
conic = make_pipeline(PolynomialFeatures(2, include_bias=False), LogisticRegression(C=np.inf)).fit(
    corner, label
)
print(f"\ncross products: accuracy {conic.score(corner, label):.2f}, and linear in x only ", end="")
print(f"{LogisticRegression().fit(corner, label).score(corner, label):.2f}")
for name, weight in zip(conic[0].get_feature_names_out(["x1", "x2"]), conic[-1].coef_[0]):
    print(f"  {name:6s} {weight:+.3f}")
print(conic[-1].verdict_)

fig, (ax, space, poly) = figure(
    1, 3, "Curved in x, straight in φ(x)",
    "Left: two radial basis functions and the boundary they give. Middle: the same rows by their two basis values.",
    width=13.0, height=4.9,
)  # fmt: skip
for panel, rows, labels, fitted, title in (
    (ax, X, y, model, "Input space: no line separates"),
    (poly, corner, label, conic, "All products to degree 2: a conic"),
):
    box = box_of(rows)
    region(panel, fitted, box)
    xx, yy, dots = grid(box, 300)
    scores = fitted.decision_function(dots).reshape(xx.shape)
    panel.contour(xx, yy, scores, levels=[0.0], colors="#222222", linewidths=2.0)
    points(panel, rows, labels)
    panel.set(title=title, xlabel="$x_1$", ylabel="$x_2$")
box = box_of(X)
xx, yy, dots = grid(box, 200)
for j, centre in enumerate(basis.centers_):
    values = basis.transform(dots)[:, j].reshape(xx.shape)
    ax.contour(xx, yy, values, levels=[0.25, 0.5, 0.75], colors=[GREEN], linewidths=0.9)
    ax.plot(*centre, "+", color=GREEN, markersize=13, markeredgewidth=2.6, zorder=5)
    say(ax, centre[0] + 0.18, centre[1] + 0.08, f"$c_{j + 1}$", GREEN, fontsize=12, fontweight="bold")
box = (-0.05, 1.07, -0.05, 1.07)
region(space, logistic, box)
surface(space, logistic.coef_, logistic.intercept_[0], box, colors=["#222222"])
points(space, phi, y)
say(space, 0.60, 0.55, "inside", CLASS_INKS[0], fontweight="bold")
say(space, 0.19, 0.14, "outside", CLASS_INKS[1], fontweight="bold")
for x, y_ in ((-3.0, 2.7), (1.05, -3.3)):
    say(poly, x, y_, "opposite signs", CLASS_INKS[0], fontweight="bold")
for x, y_ in ((1.5, 2.8), (-2.9, -3.3)):
    say(poly, x, y_, "same sign", CLASS_INKS[1], fontweight="bold")
space.set(title="Basis space: a line does", xlabel="$\\phi_1(x)$", ylabel="$\\phi_2(x)$")
save(fig, __file__)
