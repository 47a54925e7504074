"""D4. The larger the weights, the steeper the sigmoid; the prior keeps them finite.

    σ(k x) = 1/(1 + e^{−k x}),   slope k/4 at the boundary                                   [6867] 3.1.1 and 3.2.2

"If the data is linearly separable, the optimization will want to make the weights as large as possible (to make the
sigmoid as steep as possible)." Left: the function. Right: eight separable rows fitted with a prior of growing
variance C; every C has one finite optimum, C = ∞ has none, and the verdict of that fit says so.
"""

import warnings

import numpy as np
from _plot import BLACK, BLUE, CLASS_COLOURS, CLASS_MARKERS, GREEN, ORANGE_INK, PURPLE, RED, figure, save, say

from separatrix import LogisticRegression, SeparationWarning

X = np.array([-3.4, -2.6, -1.5, -0.7, 0.9, 1.6, 2.2, 3.5])[:, None]
y = np.repeat(["no", "yes"], 4)

fits = {}
for C in (0.1, 1.0, 10.0, 1000.0, 1e6):
    fits[C] = model = LogisticRegression(C=C).fit(X, y)
    k = model.coef_[0, 0]
    print(f"C = {C:<9g} w = {k:7.3f}, slope at the boundary {k / 4:6.3f}, {model.verdict_.headline()}")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SeparationWarning)
    none = LogisticRegression(C=np.inf).fit(X, y)
print(f"C = inf       w = {none.coef_[0, 0]}\n{none.verdict_}")

fig, (left, right) = figure(
    1, 2, "Larger weights make a steeper sigmoid; a finite C stops the climb",
    "Separable rows push the weight to infinity (right, dashed step). A Gaussian prior of variance C holds it back.",
)  # fmt: skip
a = np.linspace(-4.2, 4.2, 600)
inks = (PURPLE, BLUE, GREEN, ORANGE_INK, RED)
for row, (k, ink) in enumerate(zip((0.5, 1, 2, 4, 16), inks)):
    left.plot(a, 1 / (1 + np.exp(-k * a)), color=ink)
    say(left, -4.0, 0.66 + 0.07 * row, f"k = {k:g}", ink)
left.set(title="The sigmoid σ(kx)", xlabel="x", ylabel="σ(kx)", yticks=[0, 0.5, 1], xlim=(-4.2, 4.2))
for row, ((C, model), ink) in enumerate(zip(fits.items(), inks)):
    right.plot(a, model.predict_proba(a[:, None])[:, 1], color=ink)
    say(right, -4.0, 0.60 + 0.07 * row, f"C = {int(C):,}" if C >= 1 else f"C = {C}", ink)
    say(right, -2.1, 0.60 + 0.07 * row, f"w = {model.coef_[0, 0]:.2f}", ink)
right.plot([-4.2, 0.1, 0.1, 4.2], [0, 0, 1, 1], color=BLACK, linestyle="--", linewidth=1.2)
say(right, -4.0, 0.95, "C = ∞")
say(right, -2.1, 0.95, "w → ∞")
for k, label in enumerate(none.classes_):
    right.scatter(
        X[y == label], [1.06 if k else -0.06] * 4, s=34, color=CLASS_COLOURS[k], marker=CLASS_MARKERS[k]
    )
right.set(
    title="Fits to eight separable rows",
    xlabel="x",
    ylabel="P(yes | x)",
    yticks=[0, 0.5, 1],
    xlim=(-4.2, 4.2),
)
save(fig, __file__)
