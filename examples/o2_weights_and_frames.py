"""O2. A weight is a repetition, and the container does not matter.

    fit(X, y, sample_weight=[2, 1, 3, …])  =  fit(rows repeated 2, 1, 3, … times)        in every model

The same table as NumPy (C and F order), float32, memory map, CSR, CSC, pandas, Polars, Arrow and Dask gives the same
model: look at the right panel, where the largest difference of any weight from the first fit is drawn on a log
scale. Zero to the last bit where memory is laid out alike, rounding where it is not; float32 rows are rounded
to 24 bits before we see them, and their weights agree to that. Packages that are absent are named and skipped.
"""

import tempfile
from pathlib import Path

import numpy as np
from _plot import BLACK, BLUE, GREY, ORANGE_INK, box_of, figure, points, save, say, surface
from scipy import sparse
from sklearn.datasets import load_breast_cancer

from separatrix import LeastSquaresClassifier, LogisticRegression

rng = np.random.default_rng(4)
X2 = rng.normal(size=(40, 2))
y2 = np.where(X2 @ [1.0, 1.4] + rng.normal(0, 1.2, 40) > 0, "yes", "no")
weight = rng.integers(0, 7, 40)
repeated = np.repeat(np.arange(40), weight)
print("weights against repeated rows, largest difference of any coefficient:")
for model in (LogisticRegression(), LogisticRegression(C=np.inf), LeastSquaresClassifier()):
    once = model.fit(X2, y2, sample_weight=weight).coef_.copy()
    many = model.fit(X2[repeated], y2[repeated]).coef_
    print(
        f"  {model!s:32s} {np.abs(once - many).max():.1e}   ({len(repeated)} rows for {(weight > 0).sum()})"
    )
plain = LogisticRegression().fit(X2, y2)
weighted = LogisticRegression().fit(X2, y2, sample_weight=weight)
rows_again = LogisticRegression().fit(X2[repeated], y2[repeated])

data = load_breast_cancer()
X, y, names = data.data, data.target, [str(n) for n in data.feature_names]
scratch = tempfile.TemporaryDirectory()
file = Path(scratch.name) / "rows.npy"
np.save(file, X)
containers = {
    "NumPy, C order": X,
    "NumPy, Fortran order": np.asfortranarray(X),
    "memory map": np.load(file, mmap_mode="r"),
    "SciPy CSR": sparse.csr_array(X),
    "SciPy CSC": sparse.csc_array(X),
    "float32": X.astype(np.float32),
}
skipped = []
try:
    import pandas as pd

    containers["pandas"] = pd.DataFrame(X, columns=names)
except ImportError:
    skipped.append("pandas")
try:
    import polars as pl

    containers["Polars"] = pl.DataFrame(X, schema=names)
except ImportError:
    skipped.append("polars")
try:
    import pyarrow as pa

    containers["Arrow"] = pa.table(dict(zip(names, X.T)))
except ImportError:
    skipped.append("pyarrow")
try:
    import dask.array as da

    containers["Dask, 3 chunks"] = da.from_array(X, chunks=(200, 30))
except ImportError:
    skipped.append("dask")

print(f"\nthe same table in {len(containers)} containers:")
if skipped:
    print(f"  skipped, not installed: {', '.join(skipped)}")
first, difference = None, {}
for name, rows in containers.items():
    model = LogisticRegression().fit(rows, y)
    first = model if first is None else first
    difference[name] = np.abs(model.coef_ - first.coef_).max()
    named = "names kept" if hasattr(model, "feature_names_in_") else ""
    scores = model.decision_function(rows).dtype
    print(f"  {name:21s} {difference[name]:8.1e}   {model.verdict_.status}, scores {scores} {named}")
print(first.verdict_)

fig, (ax, bars) = figure(
    1, 2, "A weight is a repetition, and the container does not matter",
    f"Left: large markers, large weights. Right: breast cancer, 569 × 30, in {len(containers)} containers.",
    height=5.0,
)  # fmt: skip
box = box_of(X2)
surface(ax, plain.coef_, plain.intercept_[0], box, colors=[GREY], linewidths=1.4)
surface(ax, weighted.coef_, weighted.intercept_[0], box, colors=[BLACK], linewidths=4.0)
surface(
    ax, rows_again.coef_, rows_again.intercept_[0], box, colors=["white"], linewidths=1.4, linestyles="dashed"
)
for count in np.unique(weight):
    here = weight == count
    points(ax, X2[here], y2[here], classes=["no", "yes"], size=8 + 26 * count, alpha=0.85 if count else 0.35)
ax.set(title="Weighted fit (black) = repeated rows (white dashes)", xlabel="$x_1$", ylabel="$x_2$")
say(ax, 1.2, -1.42, "without weights", GREY, ha="right", va="top")
say(ax, 1.6, 1.2, "yes", ORANGE_INK, fontweight="bold")
say(ax, -1.7, -1.2, "no", BLUE, fontweight="bold")

floor = 1e-17  # stands for zero, which a log scale has no place for
order = list(difference)[::-1]
values = np.array([difference[name] for name in order])
bars.hlines(range(len(order)), floor, np.maximum(values, floor), color="#dddddd", linewidth=1.4)
inks = np.where(values == 0, BLUE, ORANGE_INK)
bars.scatter(np.maximum(values, floor), range(len(order)), color=inks, s=46, zorder=3)
for row, value in enumerate(values):
    text = "the same bits" if value == 0 else f"{value:.0e}"
    say(bars, max(value, floor) * 2.5, row, text, BLUE if value == 0 else ORANGE_INK, va="center")
single = np.finfo(np.float32).eps
bars.axvline(single, color=GREY, linewidth=1, linestyle=":")
say(bars, single * 0.6, len(order) - 0.55, "float32's rounding", GREY, fontsize=9, ha="right")
bars.set_yticks(range(len(order)), order)
bars.set(
    xscale="log", xlim=(floor / 1.5, 1e-3), ylim=(-0.6, len(order) - 0.1), xlabel="largest difference of any weight",
    title="One table, many containers", xticks=[floor, 1e-14, 1e-11, 1e-8, 1e-5],
    xticklabels=["0", "$10^{-14}$", "$10^{-11}$", "$10^{-8}$", "$10^{-5}$"],
)  # fmt: skip
bars.minorticks_off()
save(fig, __file__)
