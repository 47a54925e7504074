"""G1, G2. Gaussian classes: one covariance makes straight boundaries, one a class makes curved ones.

    P(k | x) = exp(β_k·x + γ_k) / Σ_j exp(β_j·x + γ_j),   β_k = Σ⁻¹μ_k,   γ_k = −½ μ_kᵀΣ⁻¹μ_k + log π_k
                                                         Σ shared, G1: [6867] 3.1.1, [PC] "The Soft-Max", [726]
    log p(x, k) = −½ (x − μ_k)ᵀΣ_k⁻¹(x − μ_k) − ½ log|2πΣ_k| + log π_k       Σ_k a class, G2: [6867] 3.1.1, [PC]
    two classes: P(1 | x) = sigmoid(w·x + w₀),   w = Σ⁻¹(μ₁ − μ₀)

All estimates are closed forms, π_k = n_k/n, μ_k the class mean, Σ the mean squared spread (1/n). The picture is the
notes': colour mixes the three posteriors, the boundaries of fewest errors are white. The wines are those of d5,
which fits the same straight-line model from the other side, without saying how x is distributed.
"""

import numpy as np
from _plot import CLASS_INKS, boundary, box_of, ellipse, figure, points, region, save, say
from sklearn.datasets import load_wine

from separatrix import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

data = load_wine()
columns = ["flavanoids", "color_intensity"]
X = data.data[:, [data.feature_names.index(c) for c in columns]]
y = np.array(["Barolo", "Grignolino", "Barbera"])[data.target]
lda = LinearDiscriminantAnalysis().fit(X, y)
qda = QuadraticDiscriminantAnalysis().fit(X, y)
for model in (lda, qda):
    print(f"{model.verdict_}\nshare of rows right: {model.score(X, y):.3f}\n")

print("LDA in the notes' letters")
for k, (label, beta, gamma) in enumerate(zip(lda.classes_, lda.coef_, lda.intercept_)):
    mu, prior = lda.means_[k], lda.priors_[k]
    print(f"  {label:11s} π = {prior:.3f}   μ = ({mu[0]:.3f}, {mu[1]:.3f})", end="")
    print(f"   β = ({beta[0]:7.4f}, {beta[1]:7.4f})   γ = {gamma:9.4f}")
scores = X @ lda.coef_.T + lda.intercept_
softmax = np.exp(scores - scores.max(axis=1, keepdims=True))
softmax /= softmax.sum(axis=1, keepdims=True)
print(f"  softmax(β·x + γ) is predict_proba to {abs(softmax - lda.predict_proba(X)).max():.0e}")

pair = y != "Barbera"
two = LinearDiscriminantAnalysis().fit(X[pair], y[pair])
w = np.linalg.solve(two.covariance_, two.means_[1] - two.means_[0])
print(f"two classes: w = Σ⁻¹(μ₁ − μ₀) = {w.round(4)}, coef_ = {two.coef_[0].round(4)}")

print("QDA: log|Σ_k| = ", end="")
print(", ".join(f"{c} {np.linalg.slogdet(s)[1]:.2f}" for c, s in zip(qda.classes_, qda.covariance_)))

Z = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
wrong = {}
for model in (LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()):
    left_out = [np.arange(len(y)) != i for i in range(len(y))]
    wrong[type(model).__name__] = sum(model.fit(Z[m], y[m]).predict(Z[~m])[0] != y[~m][0] for m in left_out)
print(f"all 13 columns, each wine left out once: errors {wrong}")

fig, axes = figure(
    1, 2, "One covariance for all classes: straight boundaries. One for each: curves",
    "Italian wines. Colour mixes P(class | x), boundaries white; ellipses at one and two standard deviations.",
    height=5.3, sharey=True,
)  # fmt: skip
box = box_of(X, 0.1)
titles = ("Linear discriminant: one Σ", "Quadratic discriminant: Σ a class")
for ax, model, title in zip(axes, (lda, qda), titles):
    region(ax, model, box, strength=0.5)
    boundary(ax, model, box, linewidths=2.6)
    points(ax, X, y, classes=model.classes_, size=20)
    for k, ink in enumerate(CLASS_INKS):
        sigma = model.covariance_ if model is lda else model.covariance_[k]
        ellipse(ax, model.means_[k], sigma, color=ink, linewidth=1.2)
    ax.set(title=f"{title}  ({model.score(X, y):.0%} right)", xlabel="flavanoids")
    low = (2.3, 0.4) if model is lda else (3.3, 1.0)
    for label, ink, spot in zip(model.classes_, CLASS_INKS, ((0.0, 13.2), (4.1, 8.2), low)):
        say(ax, *spot, label, ink, fontweight="bold", fontsize=11)
axes[0].set_ylabel("colour intensity")
save(fig, __file__)
