"""D5. More than two classes: softmax, and the same model against a reference class.

    P(k | x) = exp(w_k·x + b_k) / Σ_j exp(w_j·x + b_j)             K weight vectors           [PC] "The Soft-Max"
    log P(k | x)/P(K | x) = v_k·x + c_k,   v_k = w_k − w_K         K−1 of them, class K is the reference     [726]

Adding one vector to every w_k changes no probability; the reference form removes that freedom, the symmetric form
keeps it and lets the penalty choose. Look at the picture as in the notes: colour is the posterior of the three
classes mixed, white lines are where the winning class changes; they are straight and meet in one point.
"""

import numpy as np
from _plot import CLASS_INKS, boundary, box_of, figure, points, region, save, say
from sklearn.datasets import load_wine

from separatrix import LogisticRegression

data = load_wine()
columns = ["flavanoids", "color_intensity"]
X = data.data[:, [data.feature_names.index(c) for c in columns]]
y = np.array(["Barolo", "Grignolino", "Barbera"])[data.target]
model = LogisticRegression(C=np.inf).fit(X, y)
print(model.verdict_)

print("\nsymmetric form (weights sum to zero over the classes)")
for label, w, b in zip(model.classes_, model.coef_, model.intercept_):
    print(f"  {label:11s} w = ({w[0]:+8.4f}, {w[1]:+8.4f})   b = {b:+9.4f}")
print(f"  sum         w = ({model.coef_.sum(0)[0]:+8.0e}, {model.coef_.sum(0)[1]:+8.0e})")
others, v, c = model.reference_form("Barolo")
print("against the reference class Barolo: log P(k|x)/P(Barolo|x)")
for label, w, b in zip(others, v, c):
    print(f"  {label:11s} v = ({w[0]:+8.4f}, {w[1]:+8.4f})   c = {b:+9.4f}")

odds = np.exp(X @ v.T + c)  # (n, K−1), against the reference
reference = np.column_stack([np.ones(len(X)), odds]) / (1 + odds.sum(axis=1, keepdims=True))
order = [list(model.classes_).index(k) for k in ("Barolo", *others)]
difference = np.abs(reference - model.predict_proba(X)[:, order]).max()
print(f"largest difference of the two forms' probabilities: {difference:.1e}")

fig, axes = figure(
    2, 2, "Softmax: three posteriors, straight boundaries, one model in two forms",
    "Italian wines, maximum likelihood. Left: colour mixes P(class | x). Right: along the dashed line.",
    height=5.4, gridspec_kw={"width_ratios": [1.25, 1]},
)  # fmt: skip
(top, low) = axes[:, 1]
for panel in axes[:, 0]:
    panel.remove()
ax = fig.add_subplot(axes[0, 0].get_gridspec()[:, 0])
box = box_of(X)
region(ax, model, box, strength=0.5)
boundary(ax, model, box, linewidths=2.4)
points(ax, X, y, classes=model.classes_)
level = 3.8
ax.axhline(level, color="#333333", linewidth=1.0, linestyle="--", zorder=2)
for label, ink, spot in zip(model.classes_, CLASS_INKS, ((0.1, 12.9), (3.9, 8.6), (2.6, 1.35))):
    say(ax, *spot, label, ink, fontweight="bold", fontsize=11)
ax.set(xlabel="flavanoids", ylabel="colour intensity", title="Posterior as colour, boundaries white")

slice_ = np.column_stack([np.linspace(*box[:2], 300), np.full(300, level)])
for k, (label, ink) in enumerate(zip(model.classes_, CLASS_INKS)):
    top.plot(slice_[:, 0], model.predict_proba(slice_)[:, k], color=ink)
for label, ink, x in zip(model.classes_, CLASS_INKS, (0.55, 4.6, 1.75)):
    k = list(model.classes_).index(label)
    say(top, x, model.predict_proba([[x, level]])[0, k] + 0.04, label, ink, ha="center")
top.set(title="Symmetric form: probabilities sum to one", ylabel="P(class | x)", xlim=box[:2], ylim=(0, 1.15))
for label, w, b in zip(others, v, c):
    ink = CLASS_INKS[list(model.classes_).index(label)]
    low.plot(slice_[:, 0], slice_ @ w + b, color=ink)
    x = 1.9 if label == "Barbera" else 3.6
    say(low, x, x * w[0] + level * w[1] + b + 1.0, label, ink)
low.axhline(0, color=CLASS_INKS[list(model.classes_).index("Barolo")])
say(low, 0.1, -0.9, "Barolo, the reference", CLASS_INKS[1], va="top")
low.set(
    title="Reference form: log odds against Barolo", xlabel="flavanoids", ylabel="log odds",
    xlim=box[:2], ylim=(-12, 12),
)  # fmt: skip
save(fig, __file__)
