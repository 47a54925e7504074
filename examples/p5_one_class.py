"""P5. Where most rows are: OneClassSVM draws a region that leaves at most a share ν of the rows outside.

    min ½‖w‖² + Σ max(0, ρ − w·φ(x_i)) − νρ n        inside where w·φ(x) ≥ ρ                                 [6321]

No labels: the region is learnt from ordinary rows, and what lies outside is unusual. γ says how closely it follows
them. The right panel does the same with words and a kernel that is a function: the share of common pairs of letters.
"""

import numpy as np
from _plot import BLACK, BLUE, GREY, ORANGE, ORANGE_INK, figure, save

from separatrix import OneClassSVM

rng = np.random.default_rng(0)
angle = rng.uniform(0, np.pi, 150)
moon = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.12, (150, 2))
X = np.vstack([moon, rng.normal([0.0, -0.9], 0.15, (100, 2)), rng.uniform(-1.7, 1.7, (8, 2))])

fig, panels = figure(
    1, 3, "A region for all but a share ν of the rows",
    "258 rows, eight of them scattered; black rows are outside. Right: words scored by their pairs of letters.",
    width=13.2, height=4.7,
)  # fmt: skip
grid = np.linspace(-1.9, 1.9, 160)
cells = np.array([[a, b] for b in grid for a in grid])
print("   ν      γ   outside   support vectors   verdict")
for ax, (nu, gamma) in zip(panels, ((0.05, 2.0), (0.3, 8.0))):
    model = OneClassSVM(nu=nu, gamma=gamma, tol=1e-6).fit(X)
    score = model.decision_function(cells).reshape(len(grid), len(grid))
    inside = model.decision_function(X) > -1e-4  # support vectors lie on the edge, to the tolerance
    ax.contourf(grid, grid, score, [0, np.inf], colors=[BLUE], alpha=0.15)
    ax.contour(grid, grid, score, [0.0], colors=[BLUE], linewidths=1.2)
    ax.plot(*X[inside].T, ".", color=BLUE, markersize=4)
    ax.plot(*X[~inside].T, "x", color=BLACK, markersize=5)
    share = np.mean(~inside)
    ax.set(title=f"ν = {nu:g}, γ = {gamma:g}: {share:.1%} outside", aspect="equal", xticks=[], yticks=[])
    print(
        f"{nu:.2f}   {gamma:4.1f}   {share:7.3f}   {len(model.support_) / len(X):15.3f}   {model.verdict_.status}"
    )

english = """other house water after never being great under while again place right three small every found still
between should home work part number there write people first sound their which many these would thing look more
about could little world year live where before line mean same tell follow came want show also around form"""
words = english.split()


def letter_pairs(a, b):
    """Common pairs of letters, ends counted, over the root of both numbers: the cosine of two sets."""
    sets = [[{f" {w} "[i : i + 2] for i in range(len(w) + 1)} for w in side] for side in (a, b)]
    return np.array([[len(s & t) / np.sqrt(len(s) * len(t)) for t in sets[1]] for s in sets[0]])


model = OneClassSVM(kernel=letter_pairs, nu=0.03).fit(words)
asked = ["others", "thereof", "founder", "mother", "wort", "czarny", "blvd", "xqzpk", "rhythm", "Fjord"]
values = model.decision_function(asked)
order = np.argsort(values)
ax = panels[2]
for row, i in enumerate(order):
    color = BLUE if values[i] >= 0 else ORANGE
    ax.barh(row, values[i], color=color, height=0.6)
    ink = BLUE if values[i] >= 0 else ORANGE_INK
    side = "left" if values[i] < 0 else "right"
    ax.text(0.002 if values[i] < 0 else -0.002, row, asked[i], ha=side, va="center", color=ink)
ax.axvline(0, color=GREY, linewidth=0.8)
ax.set(yticks=[], xlabel="score, positive inside", title="Is it like the words of the fit?")
print("\n" + "   ".join(f"{asked[i]} {values[i]:+.2f}" for i in order))
save(fig, __file__)
