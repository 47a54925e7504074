"""G10. Rows without a label and cells without a value: left out of the product, not filled in.

    E step   r_ik = P(k | x_i) for a row without a label, 1 or 0 for one that has it                     [6867] 3.3
    M step   π_k, μ_k, Σ_k from the rows weighted by r_ik          the likelihood Σ log p(x_i [, y_i]) never falls
    missing cells   p(x_seen | k) = ∫ p(x | k) dx_missing: a Gaussian's is the Gaussian of the columns that are there

"Generative models can be estimated relatively easily in the presence of missing or unlabeled data." Left and middle:
20 labelled rows alone, then with 2,000 more whose label nobody has read (None in y). Right: irises with cells
knocked out at random, in training and in testing: the model that integrates them out against filling in the
column's mean, the same model otherwise. EM finds a local optimum, and the verdict claims no more.
"""

import numpy as np
from _plot import BLACK, BLUE, CLASS_INKS, GREY, RED, boundary, figure, frame, points, region, save, say
from sklearn.datasets import load_iris

from separatrix import GaussianDiscriminant

shapes = [[[1.6, 0.8], [0.8, 0.9]], [[0.5, -0.35], [-0.35, 0.9]]]
means = [[-0.8, -0.3], [1.6, 0.5]]


def made(rng, n=2020):
    """n rows of two Gaussian classes; the first ten of each are the labelled ones."""
    y = np.array(["no", "yes"])[(rng.random(n) < 0.45).astype(int)]
    drawn = [rng.multivariate_normal(m, s, n) for m, s in zip(means, shapes)]
    X = np.where((y == "yes")[:, None], drawn[1], drawn[0])
    labelled = np.concatenate([np.flatnonzero(y == label)[:10] for label in ("no", "yes")])
    known = np.full(n, None, dtype=object)
    known[labelled] = y[labelled]
    return X, y, known, labelled


X, y, known, few = made(np.random.default_rng(12))
alone = GaussianDiscriminant("per-class").fit(X[few], y[few])
em = GaussianDiscriminant("per-class").fit(X, known)
full = GaussianDiscriminant("per-class").fit(X, y)
print(f"{em.verdict_}\n")
rise = np.diff(em.log_likelihoods_)
print(f"{len(rise) + 1} steps, each raising the mean log likelihood: smallest rise {rise.min():.1e}")
scores = {"20 labelled rows": alone, "and 2,000 without label": em, "all 2,020 labels": full}
for name, model in scores.items():
    print(f"  {name:24s} {model.score(X, y):.3f} of all rows right")
many = []
for seed in range(20):
    A, b, some, first = made(np.random.default_rng(100 + seed))
    pair = (A[first], b[first]), (A, some)
    many.append([GaussianDiscriminant("per-class").fit(*rows).score(A, b) for rows in pair])
many = np.array(many)
print(f"  20 other draws: {many[:, 0].mean():.3f} → {many[:, 1].mean():.3f} on average; ", end="")
print(f"better in {(many[:, 1] > many[:, 0]).sum()} of them")

irises, kind = load_iris(return_X_y=True)
shares = (0.0, 0.15, 0.3, 0.45)
right = np.zeros((2, len(shares), 8))
for s, share in enumerate(shares):
    for r in range(8):
        rng = np.random.default_rng(r)
        train = rng.permutation(150) < 100
        cells = np.where(rng.random(irises.shape) < share, np.nan, irises)
        filled = np.where(np.isnan(cells), np.nanmean(cells[train], axis=0), cells)
        for i, table in enumerate((cells, filled)):
            model = GaussianDiscriminant(em_tol=1e-4).fit(table[train], kind[train])
            right[i, s, r] = model.score(table[~train], kind[~train])
print("\nirises, cells missing at random:  " + "".join(f"{share:>8.0%}" for share in shares))
for name, rows in zip(("integrated out", "filled with the mean"), right.mean(axis=2)):
    print(f"  {name:32s}" + "".join(f"{v:8.3f}" for v in rows))
one = np.array([[np.nan, np.nan, 4.9, np.nan]])
model = GaussianDiscriminant().fit(irises, kind)
print(f"only the petal's length known, 4.9 cm: P = {model.predict_proba(one)[0].round(3)}")
nothing = model.predict_proba(np.full((1, 4), np.nan))[0]
print(f"nothing known: P = {nothing.round(3)}, the shares of the classes")

fig, axes = figure(
    2, 3, "Rows without a label move the boundary to where the data part; missing cells need no filling in",
    "Left and middle: dashed, the boundary of all 2,020 labels. Right, below: mean of 8 draws ± one standard error.",
    width=14, height=5.8, gridspec_kw={"width_ratios": [1, 1, 0.8], "height_ratios": [1, 1.6]},
)  # fmt: skip
for panel in axes[:, :2].ravel():
    panel.remove()
wide = [fig.add_subplot(axes[0, 0].get_gridspec()[:, i]) for i in range(2)]
box = (-5.4, 4.8, -4.2, 4.2)
for ax, model, title in zip(wide, (alone, em), ("20 labelled rows alone", "With 2,000 rows without a label")):
    region(ax, model, box, strength=0.4)
    if model is em:
        rest = np.setdiff1d(np.arange(len(y)), few)
        ax.scatter(*X[rest].T, s=5, color="#555555", alpha=0.5, linewidths=0, zorder=2)
    boundary(ax, model, box, color=BLACK, linewidths=2.4, zorder=3)
    boundary(ax, full, box, color=RED, linewidths=1.8, linestyles="dashed", zorder=4)
    points(ax, X[few], y[few], size=46)
    ax.set(title=f"{title}: {model.score(X, y):.1%} right", xlabel="$x_1$")
    say(ax, -5.1, -3.8, "no", CLASS_INKS[0], fontweight="bold", fontsize=12)
    say(ax, 3.4, -3.8, "yes", CLASS_INKS[1], fontweight="bold", fontsize=12)
    frame(ax, box)
wide[0].set_ylabel("$x_2$")
axes[0, 2].plot(em.log_likelihoods_, "-o", color=BLUE, markersize=3)
axes[0, 2].set(title="Mean log likelihood: every step rises", xlabel="EM step")
axes[0, 2].set_xticks(range(0, len(em.log_likelihoods_), 5))
ax = axes[1, 2]
ways = ("integrated out", "filled with the\ncolumn's mean")
for rows, ink, name, marker in zip(right, (BLUE, GREY), ways, "os"):
    spread = rows.std(axis=1, ddof=1) / np.sqrt(rows.shape[1])
    ax.errorbar(np.array(shares) * 100, rows.mean(axis=1), spread, color=ink, marker=marker, capsize=3)
    dx, dy, side = (2, 0.017, "left") if ink == BLUE else (-2, -0.045, "right")
    say(ax, shares[2] * 100 + dx, rows.mean(axis=1)[2] + dy, name, ink, ha=side)
ax.set(title="Irises with missing cells", xlabel="% of cells missing", ylabel="share of test rows right")
ax.set_xticks([0, 15, 30, 45])
save(fig, __file__)
