"""D2. Logistic regression for two classes, whatever the labels are called.

    P(y = 1 | x) = σ(w·x + w₀),   σ(a) = 1/(1 + e⁻ᵃ)                     [6867] 3.2.2, [PC] "Logistic Regression"
    E(w) = −Σ_i ( t_i ln p_i + (1 − t_i) ln(1 − p_i) ),   t_i ∈ {0, 1}                       cross-entropy
         =  Σ_i ln(1 + exp(−y_i (w·x_i + w₀))),           y_i ∈ {−1, +1}                     the same number

Look at the colour: it is the posterior itself, white where the classes are equally likely. The contours are
parallel lines, because σ bends the probability and not the surface. The labels are words and stay words.
"""

import numpy as np
from _plot import BLUE, ORANGE_INK, box_of, figure, grid, points, region, save, say
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss

from separatrix import LogisticRegression

iris = load_iris()
keep = iris.target > 0
X, y = iris.data[keep][:, 2:], iris.target_names[iris.target[keep]]
model = LogisticRegression(C=np.inf).fit(X, y)  # plain maximum likelihood
print(model.verdict_)

w, w0 = model.coef_[0], model.intercept_[0]
p = model.predict_proba(X)[:, 1]
t = (y == model.classes_[1]).astype(float)
score = X @ w + w0
print(f"\nclasses {model.classes_.tolist()}, w = {w}, w₀ = {w0:.6f}, accuracy {model.score(X, y):.2f}")
print("negative log likelihood")
print(f"  −Σ t ln p + (1−t) ln(1−p)      {-(t * np.log(p) + (1 - t) * np.log1p(-p)).sum():.12f}")
print(f"   Σ ln(1 + exp(−y·score))       {np.logaddexp(0, -(2 * t - 1) * score).sum():.12f}")
print(f"   rows × verdict_.objective     {len(X) * model.verdict_.objective:.12f}")
print(f"   rows × sklearn's log_loss     {len(X) * log_loss(y, model.predict_proba(X)):.12f}")
print(f"gradient Σ (p − t) x at the optimum: {np.abs((p - t) @ X).max():.0e}")

fig, (ax, line) = figure(
    1, 2, "The posterior is a sigmoid across a straight boundary",
    "Iris versicolor against virginica by their petals, maximum likelihood. Colour: P(class | x).",
    gridspec_kw={"width_ratios": [1.15, 1]},
)  # fmt: skip
box = box_of(X)
region(ax, model, box)
xx, yy, rows = grid(box)
levels = [0.01, 0.1, 0.5, 0.9, 0.99]
drawn = ax.contour(
    xx, yy, model.predict_proba(rows)[:, 1].reshape(xx.shape), levels=levels, colors="#333333",
    linewidths=[0.8, 0.8, 2.2, 0.8, 0.8],
)  # fmt: skip
along = 2.2  # the petal width at which the labels stand, each on its contour
spots = [((np.log(q / (1 - q)) - w0 - w[1] * along) / w[0], along) for q in levels]
ax.clabel(drawn, fmt=lambda q: f"{q:g}", fontsize=9, manual=spots, inline_spacing=3)
jitter = np.random.default_rng(0).uniform(-0.02, 0.02, X.shape)
points(ax, X + jitter, y)
ax.set(
    title="Petals, and contours of P(virginica | x)", xlabel="petal length (cm)", ylabel="petal width (cm)"
)
say(ax, 3.1, 1.62, "versicolor", BLUE, fontweight="bold")
say(ax, 6.45, 1.5, "virginica", ORANGE_INK, fontweight="bold")

a = np.linspace(-20, 20, 400)
line.plot(a, 1 / (1 + np.exp(-a)), color="#333333", zorder=2)
points(line, np.column_stack([score, t + 0.045 * (2 * t - 1)]), y)
line.set(
    title="The same rows by their score: $P = \\sigma(w \\cdot x + w_0)$", xlabel="$w \\cdot x + w_0$",
    ylabel="P(virginica | x)", yticks=[0, 0.1, 0.5, 0.9, 1], xlim=(-20, 20),
)  # fmt: skip
line.grid(axis="y", color="#e5e5e5", linewidth=0.8)
say(line, -19.5, 0.02, "versicolor", BLUE, va="bottom", fontweight="bold")
say(line, 19.5, 0.98, "virginica", ORANGE_INK, va="top", ha="right", fontweight="bold")
save(fig, __file__)
