"""P5. A share instead of a price: NuSVC and NuSVR, and a tube that no row leaves.

    outside the margin or the tube  ≤  ν  ≤  support vectors        as shares of the rows                     [6321]

C says what a slack costs, in units nobody has a feeling for. ν says how many rows may have one. The left panel turns
ν and counts; the middle one lets ν find the width of a tube around a noisy wave. The right one asks for a tube of
half width ε that no row leaves, C = ∞: an RBF kernel has one, a straight line has none, and the refusal proves it.
"""

import numpy as np
from _plot import BLACK, BLUE, GREEN, GREY, ORANGE, ORANGE_INK, figure, save

from separatrix import SVR, NuSVC, NuSVR

rng = np.random.default_rng(0)
y = np.arange(300) % 2
X = rng.standard_normal((300, 2)) + 1.6 * np.column_stack([y, y])

shares = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
inside, support = [], []
print(" ν     inside the margin   support vectors   C of the same surface")
for nu in shares:
    model = NuSVC(nu=nu, gamma=0.3).fit(X, y)
    inside.append(np.mean(model.reports_[0].margin < 1 - 1e-3))
    support.append(len(model.support_) / len(y))
    print(f"{nu:.2f}   {inside[-1]:17.3f}   {support[-1]:15.3f}   {1 / model.rho_[0]:21.3g}")
try:
    NuSVC(nu=0.9).fit(X[:180], np.r_[y[:90], np.zeros(90, int)])
except ValueError as refusal:
    print(f"\n{refusal}")

fig, (left, middle, right) = figure(
    1, 3, "ν says how many rows may be outside; C = ∞ says none",
    "300 rows of two kinds; 120 rows of a noisy wave; 12 of them again without slack.",
    width=13.2, height=4.6,
)  # fmt: skip
left.plot(shares, support, "s-", color=ORANGE, markersize=4)
left.plot(shares, inside, "o-", color=BLUE, markersize=4)
left.plot([0.27, 0.93], [0.27, 0.93], color=GREY, linewidth=0.8)
left.text(0.5, 0.56, "support vectors", color=ORANGE_INK, ha="right")
left.text(0.55, 0.47, "inside the margin", color=BLUE)
left.set(xlabel="ν", ylabel="share of the rows", title="Between the two shares")

x = np.sort(rng.uniform(0, 6, 120))
z = np.sin(x) + rng.uniform(-0.4, 0.4, 120)
line = np.linspace(0, 6, 300)
print("\n ν     half width found   outside")
for nu, color, ink in ((0.05, BLUE, BLUE), (0.5, ORANGE, ORANGE_INK)):
    model = NuSVR(nu=nu, C=50).fit(x[:, None], z)
    f = model.predict(line[:, None])
    middle.fill_between(line, f - model.epsilon_, f + model.epsilon_, color=color, alpha=0.18, linewidth=0)
    middle.plot(line, f, color=color)
    outside = np.mean(np.abs(z - model.predict(x[:, None])) > model.epsilon_ + 1e-3)
    print(f"{nu:.2f}   {model.epsilon_:16.3f}   {outside:7.3f}")
    middle.text(6, 1.25 if nu < 0.1 else 1.0, f"ν = {nu:g}: ±{model.epsilon_:.2f}", color=ink, ha="right")
middle.plot(x, z, ".", color=BLACK, markersize=4)
middle.set(xlabel="x", ylabel="z", title="The tube's width is found")

few = np.linspace(2, 117, 12).astype(int)
tight = SVR(C=np.inf, epsilon=0.1, gamma=2.0).fit(x[few, None], z[few])
f = tight.predict(line[:, None])
right.fill_between(line, f - 0.1, f + 0.1, color=GREEN, alpha=0.25, linewidth=0)
right.plot(line, f, color=GREEN)
right.plot(x[few], z[few], "o", color=BLACK, markersize=5)
print(f"\n{tight.verdict_}")
try:
    SVR(kernel="linear", C=np.inf, epsilon=0.1).fit(x[few, None], z[few])
except ValueError as refusal:
    print(f"\n{refusal}")
    least = float(str(refusal).rsplit("at least ", 1)[1])
wide = SVR(kernel="linear", C=np.inf, epsilon=least * (1 + 1e-6)).fit(x[few, None], z[few])
f = wide.predict(line[:, None])
right.plot(line, f + least, "--", color=GREY, linewidth=1)
right.plot(line, f - least, "--", color=GREY, linewidth=1)
right.text(0.0, -1.42, f"dashed: the narrowest straight one, ±{least:.2f}", color=GREY, fontsize=9)
right.set(xlabel="x", title="No row outside: RBF, ε = 0.1")
save(fig, __file__)
