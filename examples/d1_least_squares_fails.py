"""D1. Least squares as a classifier, kept as the honest bad example it is.

    min Σ_i (w·x_i + w₀ − t_i)²,   t = ±1,   predict the second class where w·x + w₀ > 0        [6867] 3.2.1

Squared error punishes a point for being far on the right side. Look at the top row: eight points that lie deep
in their own territory turn the least-squares line until it cuts through both classes, while logistic regression
hardly moves. Targets ±0.6 ("actually attainable", say the notes) give the same line as ±1.
Bottom row: with three classes in a row and one-hot targets, the middle class is almost never the largest score.
"""

import numpy as np
from _plot import BLACK, BLUE, ORANGE_INK, RED, boundary, box_of, figure, points, region, save, say, surface
from sklearn.datasets import make_blobs

from separatrix import LeastSquaresClassifier, LogisticRegression, separability

rng = np.random.default_rng(1)
along, across = np.array([1, 1]) / np.sqrt(2), np.array([1, -1]) / np.sqrt(2)
y = np.repeat(["minus", "plus"], 40)
X = 1.2 * rng.normal(size=(80, 1)) * along + 0.32 * rng.normal(size=(80, 1)) * across
X += np.where(y == "plus", 0.88, -0.88)[:, None] * across
X_far = np.vstack([X, rng.normal([3, -7], 0.5, (8, 2))])
y_far = np.append(y, np.repeat("plus", 8))

print(f"the classes without the far points: {separability(X, y)}")
print(f"the classes with the far points:    {separability(X_far, y_far)}\n")
fits = {}
for name, rows, labels in (("near points only", X, y), ("with far points", X_far, y_far)):
    squares, logistic = LeastSquaresClassifier().fit(rows, labels), LogisticRegression().fit(rows, labels)
    small = LeastSquaresClassifier(target=0.6).fit(rows, labels)
    fits[name] = rows, labels, squares, small, logistic
    wrong = [int((m.predict(rows) != labels).sum()) for m in (squares, small, logistic)]
    print(f"{name:17s} training rows wrong: least squares {wrong[0]} (±0.6: {wrong[1]}), logistic {wrong[2]}")

print("\nthe surface of targets ±1 and ±0.6, as unit normal and distance from the origin:")
for model in fits["with far points"][2:4]:
    normal = model.coef_[0] / np.linalg.norm(model.coef_)
    far_off = model.rule_.distance_from_origin()
    print(f"  target ±{model.target}: ({normal[0]:+.12f}, {normal[1]:+.12f}), {far_off:+.12f}")
print(f"\n{squares.verdict_}\n")

X3, y3 = make_blobs([60, 60, 60], centers=[[-4, -4], [0, 0], [4, 4]], cluster_std=0.8, random_state=1)
y3 = np.array(["low", "middle", "high"])[y3]
masked, softmax = LeastSquaresClassifier(coding="one-hot").fit(X3, y3), LogisticRegression().fit(X3, y3)
for name, model in (("one-hot least squares", masked), ("softmax", softmax)):
    found = (model.predict(X3)[y3 == "middle"] == "middle").sum()
    print(f"{name:22s} finds {found:2d} of 60 middle rows, accuracy {model.score(X3, y3):.2f}")

fig, ax = figure(
    2, 2, "Least squares fails on separable data; logistic regression does not",
    "Top: eight far, correct points are enough. Bottom: one-hot least squares hardly ever predicts the middle class.",
    height=8.4,
)  # fmt: skip
box = box_of(X_far)
for panel, (name, (rows, labels, squares, small, logistic)) in zip(ax[0], fits.items()):
    points(panel, rows, labels)
    surface(panel, squares.coef_, squares.intercept_[0], box, linewidths=3.6)
    surface(
        panel, small.coef_, small.intercept_[0], box, colors=["white"], linewidths=1.1, linestyles="dotted"
    )
    surface(panel, logistic.coef_, logistic.intercept_[0], box, colors=[RED], linestyles="dashed")
    wrong = rows[squares.predict(rows) != labels]
    panel.scatter(*wrong.T, s=110, facecolors="none", edgecolors=BLACK, linewidths=1.3, zorder=5)
    panel.set(xlabel="$x_1$", ylabel="$x_2$")
ax[0, 0].set_title("Without them both lines separate the classes")
ax[0, 1].set_title(f"With them least squares gets {len(wrong)} wrong (circled)")
say(ax[0, 0], -0.75, 2.2, "class minus", BLUE, ha="right")
say(ax[0, 0], 2.0, 0.1, "class plus", ORANGE_INK, ha="left")
say(ax[0, 1], 2.0, -6.6, "far, and correct", ORANGE_INK, ha="right")
say(ax[0, 1], 2.15, 1.3, "logistic regression", RED, ha="left")
say(ax[0, 1], -1.1, -5.4, "least squares, ±1\n(dotted: ±0.6,\nthe same line)", ha="left")

box = box_of(X3)
for panel, model, title in (
    (ax[1, 0], masked, "One-hot least squares masks the middle class"),
    (ax[1, 1], softmax, "Softmax regression finds it"),
):
    region(panel, model, box, hard=True, strength=0.35)
    boundary(panel, model, box)
    points(panel, X3, y3, classes=model.classes_)
    for label in model.classes_:
        middle = X3[y3 == label].mean(axis=0)
        say(panel, middle[0] - 1.3, middle[1] + 1.9, label, fontweight="bold", ha="right")
    panel.set(title=title, xlabel="$x_1$", ylabel="$x_2$")
save(fig, __file__)
