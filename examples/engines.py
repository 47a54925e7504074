"""Engines: serial, threads and Dask give the same bits on one grid.

    total = Σ_b local(block_b, w)   added up a tree that depends on the number of blocks alone

The grid of blocks belongs to the data's shape and never to the number of workers, so who computes a block cannot
change the sum. Look at the table: one colour and one fingerprint (SHA-256 of the weights' bytes) a column, whatever
the engine. Between columns, that is between grids, additions are in another order and the fit stops elsewhere inside
its tolerance; the right panel says how far. Dask is skipped, and said to be, where it is not installed.
"""

import hashlib

import numpy as np
from _plot import BLUE, GREEN, ORANGE, ORANGE_INK, PURPLE, RED, SKY, figure, save
from matplotlib.patches import Rectangle

from separatrix import LogisticRegression, engine

rng = np.random.default_rng(0)
n, p = 20_000, 12
X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)))
y = rng.random(n) < 1 / (1 + np.exp(-X @ rng.normal(0, 0.5, p)))

engines = {
    "serial": {"kind": "serial"},
    "threads, 2": {"kind": "threads", "workers": 2},
    "threads, 5": {"kind": "threads", "workers": 5},
    "dask": {"kind": "dask"},
}
try:
    import dask  # noqa: F401
except ImportError:
    del engines["dask"]
    print("dask is absent: its row is skipped (pip install 'separatrix[dask]')")
grids = (1, 7, 97)

weights, values, prints = {}, {}, {}
print(f"{n:,} rows × {p} columns; SHA-256 of coef_ and intercept_, first eight digits")
print(f"{'blocks':12s}" + "".join(f"{blocks:>12d}" for blocks in grids))
for name, how in engines.items():
    line = f"{name:12s}"
    for blocks in grids:
        with engine(**how, blocks=blocks):
            model = LogisticRegression().fit(X, y)
        weights[name, blocks] = np.append(model.coef_[0], model.intercept_)
        values[name, blocks] = model.verdict_.objective
        prints[name, blocks] = hashlib.sha256(weights[name, blocks].tobytes()).hexdigest()[:8]
        line += f"{prints[name, blocks]:>12s}"
    print(line)
same = all((weights[name, b] == weights["serial", b]).all() for name in engines for b in grids)
print(f"the same bits in every column: {same}; between grids:")
apart = {}
for a, b in ((1, 7), (1, 97), (7, 97)):
    apart[a, b] = (
        abs(values["serial", a] - values["serial", b]), np.abs(weights["serial", a] - weights["serial", b]).max()
    )  # fmt: skip
    print(f"  {a:2d} against {b:2d} blocks: objective {apart[a, b][0]:.0e}, weights {apart[a, b][1]:.0e}")
print(model.verdict_)

fig, (table, ax) = figure(
    1, 2, "Serial, threads and Dask: the same bits on one grid",
    f"Logistic regression, {n:,} × {p}. Left: fingerprints of the weights. Right: what another grid changes.",
    height=4.4, gridspec_kw={"width_ratios": [1.25, 1]},
)  # fmt: skip
palette = {}
for row, name in enumerate(engines):
    for column, blocks in enumerate(grids):
        mark = prints[name, blocks]
        colour = palette.setdefault(mark, (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)[len(palette) % 6])
        table.add_patch(
            Rectangle((column + 0.03, row + 0.06), 0.94, 0.88, color=colour, alpha=0.28, linewidth=0)
        )
        table.text(
            column + 0.5, row + 0.5, mark, ha="center", va="center", family="DejaVu Sans Mono", fontsize=12
        )
table.set(
    xlim=(0, len(grids)), ylim=(len(engines), 0), xlabel="blocks in the grid",
    title="SHA-256 of the weights (first 8 digits)",
)  # fmt: skip
table.set_xticks(np.arange(len(grids)) + 0.5, [str(b) for b in grids])
table.set_yticks(np.arange(len(engines)) + 0.5, list(engines))
table.tick_params(length=0)
table.spines[:].set_visible(False)

for row, (pair, (objective, weight)) in enumerate(apart.items()):
    for value, colour, ink, marker, what in (
        (objective, BLUE, BLUE, "o", "objective"), (weight, ORANGE, ORANGE_INK, "s", "any weight")
    ):  # fmt: skip
        at, note = (max(value, 1e-17), row), {"textcoords": "offset points", "color": ink, "ha": "center"}
        ax.scatter(*at, color=colour, marker=marker, s=60, zorder=3)
        ax.annotate(f"{value:.0e}" if value else "0", at, (0, 9), **note)
        if row == 0:
            ax.annotate(what, at, (0, -18), **note)
ax.grid(axis="y", color="#e8e8e8")
ax.set_yticks(range(len(apart)), [f"{a} against {b} blocks" for a, b in apart])
ax.set(
    xscale="log", xlim=(3e-19, 1e-5), ylim=(len(apart) - 0.4, -0.6), title="Another grid changes little",
    xlabel="largest difference", xticks=[1e-17, 1e-14, 1e-11, 1e-8, 1e-5],
    xticklabels=["0", "$10^{-14}$", "$10^{-11}$", "$10^{-8}$", "$10^{-5}$"],
)  # fmt: skip
ax.minorticks_off()
save(fig, __file__)
