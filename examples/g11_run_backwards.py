"""G11. A generative model runs backwards: from a class to what its members look like, and to how usual a row is.

    forwards    P(k | x) ∝ π_k p(x | k)                                                     [6867] 3.3, [726]
    backwards   x ~ p(x | k)                     model.sample(n, y=k)
    density     log p(x) = log Σ_k π_k p(x | k)  model.score_samples(X): low where no class expects the row

Handwritten digits, 8 × 8 grey values. A Gaussian with a covariance for each digit has learnt which pixels go together
and draws strokes; Gaussian naive Bayes knows every pixel on its own, the right ink in the right places, and draws
snow. Both are fitted to half the digits; the other half is ranked by log p(x) under the first model.
"""

import numpy as np
from _plot import BLACK, GREY, RED, figure, save
from sklearn.datasets import load_digits

from separatrix import GaussianDiscriminant, GaussianNB

X, y = load_digits(return_X_y=True)
train = np.arange(len(y)) % 2 == 0
full = GaussianDiscriminant("per-class", shrinkage=0.05).fit(X[train], y[train])
naive = GaussianNB(var_smoothing=1e-3).fit(X[train], y[train])
print(f"{full.verdict_}\n\n{naive.verdict_}\n")
for name, model in (("covariance a digit", full), ("naive Bayes", naive)):
    print(f"{name:20s}{model.score(X[~train], y[~train]):.3f} of the unseen digits right")

each = 4
drawn = {"covariance a digit": [], "naive Bayes": []}
for digit in range(10):
    for name, model in zip(drawn, (full, naive)):
        drawn[name].append(model.sample(each, y=digit, random_state=digit)[0])
agree = np.mean([full.predict(rows) == digit for digit, rows in enumerate(drawn["covariance a digit"])])
print(f"of the digits drawn from the first model, {agree:.0%} are read back as what they were drawn as")
rows, labels = full.sample(2000, random_state=0)
shares = np.bincount(labels, minlength=10) / 2000
apart = abs(shares - full.priors_).max()
print(f"2,000 drawn without naming a digit: shares within {apart:.3f} of the data's")

density = full.score_samples(X[~train])
order = np.argsort(density)
held, said = y[~train], full.predict(X[~train])
print("\noddest of the unseen digits (row of load_digits: label, read as, log p(x))")
for i in order[:8]:
    print(f"  {np.flatnonzero(~train)[i]:5d}: {held[i]}, {said[i]}, {density[i]:8.1f}")
half = len(order) // 2
wrong = said != held
odd, usual = wrong[order[:half]].sum(), wrong[order[half:]].sum()
print(f"errors: {odd} in the odder half, {usual} in the more usual half")


def mosaic(stacks):
    """Images (10 columns, each rows) side by side with a white line between."""
    tiles = np.full((each * 9 - 1, len(stacks) * 9 - 1), np.nan)
    for c, stack in enumerate(stacks):
        for r, image in enumerate(stack):
            tiles[9 * r : 9 * r + 8, 9 * c : 9 * c + 8] = np.clip(image.reshape(8, 8), 0, 16)
    return tiles


fig, axes = figure(
    2, 2, "Run backwards, a model shows what it has learnt: strokes, or only where the ink is",
    "Each column is one class; drawn digits are samples of p(x | class). Last panel, 3→2: a three read as a two.",
    width=12, height=6.6,
)  # fmt: skip
real = [X[train][y[train] == digit][:each] for digit in range(10)]
panels = {"Real digits": real, "Drawn, a covariance for each digit": drawn["covariance a digit"],
          "Drawn, naive Bayes: pixels on their own": drawn["naive Bayes"]}  # fmt: skip
for ax, (title, stacks) in zip((axes[0, 0], axes[0, 1], axes[1, 0]), panels.items()):
    ax.imshow(mosaic(stacks), cmap="Greys", vmin=0, vmax=16)
    ax.set(title=title, yticks=[])
    ax.set_xticks([9 * c + 3.5 for c in range(10)], range(10))
ax = axes[1, 1]
shown = np.concatenate([order[:10], order[::-1][:10]])
tiles = np.full((35, 89), np.nan)
for place, i in enumerate(shown):
    top, left = (0, 18)[place // 10], 9 * (place % 10)
    tiles[top : top + 8, left : left + 8] = X[~train][i].reshape(8, 8)
    ok = said[i] == held[i]
    text, ink = (f"{held[i]}", BLACK) if ok else (f"{held[i]}→{said[i]}", RED)
    middle = {"ha": "center", "va": "top"}
    ax.text(left + 3.5, top + 8.4, f"−{-density[i]:.0f}", fontsize=8, color=GREY, **middle)
    ax.text(left + 3.5, top + 11.2, text, fontsize=9, color=ink, fontweight="bold", **middle)
ax.imshow(tiles, cmap="Greys", vmin=0, vmax=16)
ax.set(title="Unseen digits: ten oddest (top) and ten most usual, with log p(x)", xticks=[], yticks=[])
for ax in axes.ravel():
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
save(fig, __file__)
