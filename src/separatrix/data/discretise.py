"""Discretisation of numbers into ordered bins ([726] discretisation; row G8).

    code(x) = #{i : cut_i < x},      bin i = (cut_{i−1}, cut_i],   cut_{−1} = −∞,  cut_last = +∞

Four ways to place the cuts of a column with values between a and b and total weight N:

    width        cut_i = a + i (b − a)/bins
    frequency    |F(cut_i) − i/bins| least, F the weighted distribution function
    mdl          argmin_T E(T; S) = (N₁/N) Ent(S₁) + (N₂/N) Ent(S₂), then again in S₁ and S₂, while
                 Ent(S) − E(T; S) > [log₂(N − 1) + log₂(3^k − 2) − k Ent(S) + k₁ Ent(S₁) + k₂ Ent(S₂)] / N
    given        the cuts you say

S₁ and S₂ are the rows left and right of T, k, k₁, k₂ how many classes each set has (Fayyad & Irani 1993: a cut
stays if it shortens the description of the labels). The cuts of "frequency" and "mdl" lie halfway between
neighbouring values, so equal values never part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_count, check_known, is_count
from separatrix.data.door import column_name, is_dask, read_labels, read_table, read_weights
from separatrix.data.engine import each_in_threads
from separatrix.data.estimator import Estimator
from separatrix.data.sources import NAMED, TableLike

BLOCK = 8192  # rows coded at a time: a block of the table and its codes stay in cache
QUANTILE_SLACK = 1e-12  # share of the weight that rounding in a running sum may move
HUGE = 1e270  # beyond this, a width times the number of bins might overflow


class Discretizer(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """code(x) = number of cuts below x: every column becomes ordered bins 0, 1, … ([726] discretisation).

    Bin i is (cut_{i−1}, cut_i]: a value equal to a cut belongs to the bin below it. Values beyond those seen in
    training fall in the end bins. A missing cell (NaN) plays no part in ``fit`` and stays NaN in ``transform``.

    Parameters
    ----------
    method : "mdl" (cuts that shorten the description of the labels, after Fayyad and Irani; needs y), "width"
        (bins of equal width) or "frequency" (bins of equal weight, as far as equal values allow)
    bins : how many bins "width" and "frequency" aim at; "mdl" finds the number itself
    cuts : given cut points, increasing: a list with one entry a column, or a dict by column name or index. An
        empty entry makes one bin; columns with no entry, or None, use ``method``

    Attributes
    ----------
    cuts_ : one float64 array a column, (bins of that column − 1,)
    n_bins_ : (p,) bins of each column; 1 where it is constant, wholly missing, or "mdl" found nothing worth a cut
    n_features_in_, feature_names_in_ : the columns seen in ``fit``

    Notes
    -----
    Cost O(n p log n) to sort, then for "mdl" O(n) a scan and two scans an accepted cut; O(n p log bins) to
    transform. Memory O(n) a thread; columns run side by side. A weight is a number of rows: "mdl" compares N with
    the cost of a cut in bits, so weights that sum to one describe a single row and earn no cut. Of cuts equally
    good, "mdl" and "frequency" take the lower. Output (n, p), int64, or float64 if some cell is missing.

    Examples
    --------
    >>> from separatrix.data.discretise import Discretizer
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [7.0, 2.0], [8.0, 6.0], [9.0, 3.0]]
    >>> y = ["low", "low", "low", "high", "high", "high"]
    >>> model = Discretizer().fit(X, y)
    >>> model.describe()
    {'x0': ['(-inf, 5]', '(5, inf)'], 'x1': ['(-inf, inf)']}
    >>> model.transform([[5.0, 0.0], [5.1, 0.0], [float("nan"), 0.0]])
    array([[ 0.,  0.],
           [ 1.,  0.],
           [nan,  0.]])

    Three bins of equal weight, and one column cut by hand:

    >>> Discretizer("frequency", bins=3, cuts={1: [2.5]}).fit_transform(X).tolist()
    [[0, 1], [0, 0], [1, 1], [1, 0], [2, 1], [2, 1]]
    """

    def __init__(self, method: str = "mdl", bins: int = 10, cuts: Any = None):
        self.method = method
        self.bins = bins
        self.cuts = cuts

    def fit(self, X: TableLike, y: Any = None, sample_weight: Any = None) -> Discretizer:
        """Place the cuts. X is (n, p) with NaN for a missing cell; y is read by "mdl" alone."""
        given = self._check_parameters(y)
        X = self._read(X, reset=True)
        by_column = self._by_column(given)
        weight = read_weights(sample_weight, len(X))
        codes, n_classes = None, 0
        if self.method == "mdl" and len(by_column) < X.shape[1]:
            _refuse_no_labels(y)
            classes, codes = read_labels(y, len(X))
            n_classes = len(classes)
        present = None if weight is None or weight.all() else weight > 0
        self.cuts_ = [by_column.get(j, np.empty(0)) for j in range(X.shape[1])]

        def place(j: int) -> None:
            x, w, k = X[:, j].astype(np.float64), weight, codes
            keep = present
            if np.isnan(x).any():
                keep = ~np.isnan(x) if present is None else present & ~np.isnan(x)
            if keep is not None:
                x, w, k = x[keep], None if w is None else w[keep], None if k is None else k[keep]
            if len(x) == 0:
                return
            if self.method == "width":
                self.cuts_[j] = _width_cuts(x, int(self.bins))
            elif self.method == "frequency":
                self.cuts_[j] = _frequency_cuts(x, w, int(self.bins))
            else:
                self.cuts_[j] = _mdl_cuts(x, k, w, n_classes)

        each_in_threads(place, [j for j in range(X.shape[1]) if j not in by_column])
        self.n_bins_ = np.array([len(c) + 1 for c in self.cuts_], dtype=np.int64)
        return self

    def transform(self, X: TableLike) -> np.ndarray:
        """The bin of every cell, (n, p): int64, or float64 with NaN where a cell is missing."""
        check_is_fitted(self)
        X = self._read(X, reset=False)
        missing = np.isnan(X)
        out = np.empty(X.shape, dtype=np.float64 if missing.any() else np.int64)

        def code(start: int) -> None:
            rows = slice(start, start + BLOCK)
            for j, cuts in enumerate(self.cuts_):
                out[rows, j] = np.searchsorted(cuts, X[rows, j].astype(np.float64), side="left")

        each_in_threads(code, range(0, len(X), BLOCK))
        if out.dtype == np.float64:
            out[missing] = np.nan
        return out

    def describe(self) -> dict[str, list[str]]:
        """By column, the interval of each code as text: ``describe()[column][code]``."""
        check_is_fitted(self)
        names = self.get_feature_names_out()
        return {str(name): _intervals(cuts) for name, cuts in zip(names, self.cuts_)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self.method == "mdl"
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _check_parameters(self, y: Any) -> dict[int | str, FloatArray | None]:
        """The given cuts by column, once every parameter has been found to mean something."""
        check_known("method", self.method, "mdl", "width", "frequency")
        check_count("bins", self.bins, 2)
        given = _read_cuts(self.cuts)
        listed = not isinstance(self.cuts, Mapping)  # a dict may yet turn out to name every column
        if self.method == "mdl" and (not given or (listed and any(c is None for c in given.values()))):
            _refuse_no_labels(y)
        return given

    def _read(self, X: TableLike, *, reset: bool) -> np.ndarray:
        """The table as an ndarray, NaN where a cell is missing; infinity is refused by column and row."""
        if is_dask(X):
            raise TypeError(
                "Discretizer sorts columns in memory and does not read Dask collections: fit on X.compute() or "
                "on a sample of the rows, then X.map_blocks (arrays) or X.map_partitions (frames) its transform"
            )
        cells = read_table(self, X, reset=reset, missing=True)
        if not isinstance(cells, np.ndarray):
            raise TypeError(
                "Discretizer does not read sparse matrices, whose zeros are values to be coded like any other: "
                "use X.toarray()"
            )
        if cells.dtype.kind == "f" and np.isinf(cells).any():
            i, j = (int(v) for v in np.argwhere(np.isinf(cells))[0])
            raise ValueError(
                f"Input X contains infinity: column {column_name(self, j)}, row {i} is {cells[i, j]}. "
                "Give NaN if the value is missing, or a large number if it is only large"
            )
        return cells

    def _by_column(self, given: dict[int | str, FloatArray | None]) -> dict[int, FloatArray]:
        """Given cuts by column number, every name or number found in the table."""
        p, names = self.n_features_in_, [str(v) for v in getattr(self, "feature_names_in_", [])]
        if self.cuts is not None and not isinstance(self.cuts, Mapping) and len(given) != p:
            raise ValueError(
                f"cuts has {len(given)} entries and X has {p} columns: give one entry a column, None where "
                "the method should choose, or a dict by column"
            )
        found: dict[int, FloatArray] = {}
        for key, cuts in given.items():
            if isinstance(key, str) and not names:
                raise ValueError(f"cuts names column {key!r}, but X has no column names: use 0 to {p - 1}")
            if isinstance(key, str) and key not in names:
                some = ", ".join(map(repr, names[:NAMED])) + (", …" if p > NAMED else "")
                raise ValueError(f"cuts names column {key!r}, which X does not have: its columns are {some}")
            j = names.index(key) if isinstance(key, str) else key
            if not 0 <= j < p:
                raise ValueError(f"cuts names column {key}, but X has {p} columns: use 0 to {p - 1}")
            if j in found:
                raise ValueError(f"cuts names column {column_name(self, j)} twice: by name and as {j}")
            if cuts is not None:
                found[j] = cuts
        return found


# ---- where the cuts lie ----


def _width_cuts(x: FloatArray, bins: int) -> FloatArray:
    low, high = float(x.min()), float(x.max())
    scale = 2.0**-100 if max(-low, high) > HUGE else 1.0
    step = high * scale - low * scale
    cuts = np.unique((low * scale + step * np.arange(1, bins) / bins) / scale)
    return cuts[(cuts >= low) & (cuts < high)]


def _frequency_cuts(x: FloatArray, weight: FloatArray | None, bins: int) -> FloatArray:
    if weight is None:
        x.sort()
        below = np.arange(1.0, len(x) + 1)
    else:
        order = np.argsort(x)
        x, below = x[order], np.cumsum(weight[order])
    ends = np.flatnonzero(x[1:] > x[:-1])
    if len(ends) == 0:
        return np.empty(0)
    have, want = below[ends] * bins, np.arange(1, bins) * below[-1]
    upper = np.minimum(np.searchsorted(have, want), len(ends) - 1)
    lower = np.maximum(upper - 1, 0)
    nearer = have[upper] - want < want - have[lower] - QUANTILE_SLACK * have[-1]
    chosen = ends[np.unique(np.where(nearer, upper, lower))]
    return _midway(x[chosen], x[chosen + 1])


def _mdl_cuts(x: FloatArray, codes: Any, weight: FloatArray | None, n_classes: int) -> FloatArray:
    from separatrix.loops.discretise import accepted_cuts, blocks_of

    order = np.argsort(x)
    w = np.empty(0) if weight is None else weight[order]
    entry_class, entry_weight, start, low, high = blocks_of(
        x[order], codes[order].astype(np.int64, copy=False), w, n_classes
    )
    after = np.flatnonzero(accepted_cuts(entry_class, entry_weight, start, n_classes))
    return _midway(high[after], low[after + 1])


def _midway(a: FloatArray, b: FloatArray) -> FloatArray:
    """Halfway from a to b > a, halves first so that nothing overflows; a itself where rounding reaches b."""
    middle = a / 2 + b / 2
    return np.where((a <= middle) & (middle < b), middle, a)


def _intervals(cuts: FloatArray) -> list[str]:
    """Six digits, or as many as tell neighbouring cuts apart."""
    for digits in range(6, 18):
        texts = [f"{c:.{digits}g}" for c in cuts]
        if len(set(texts)) == len(texts):
            break
    edges = ["-inf", *texts]
    return [f"({a}, {b}]" for a, b in zip(edges, texts)] + [f"({edges[-1]}, inf)"]


# ---- what comes in ----


def _read_cuts(cuts: Any) -> dict[int | str, FloatArray | None]:
    if cuts is None:
        return {}
    if isinstance(cuts, Mapping):
        items: list[tuple[Any, Any]] = list(cuts.items())
    elif isinstance(cuts, (list, tuple)) or (isinstance(cuts, np.ndarray) and cuts.ndim > 0):
        items = list(enumerate(cuts))
    else:
        raise ValueError(f"cuts must be a list with one entry a column, or a dict by column, got {cuts!r}")
    for key, _ in items:
        if not (isinstance(key, str) or is_count(key)):
            raise ValueError(f"cuts must name columns by name or number, got {key!r}")
    return {key if isinstance(key, str) else int(key): _increasing(key, entry) for key, entry in items}


def _increasing(column: Any, entry: Any) -> FloatArray | None:
    """One column's cuts as a new array, or a sentence that says which of them cannot be meant."""
    if entry is None:
        return None
    try:
        cuts = np.array(entry, dtype=np.float64)
    except (TypeError, ValueError):
        cuts = np.empty((0, 0))
    if cuts.ndim != 1:
        raise ValueError(f"cuts of column {column!r} must be a list of numbers, got {entry!r}")
    bad = np.flatnonzero(~np.isfinite(cuts))
    if len(bad):
        raise ValueError(f"cuts of column {column!r} must be finite: number {bad[0]} is {cuts[bad[0]]}")
    falls = np.flatnonzero(cuts[1:] <= cuts[:-1])
    if len(falls):
        a, b = cuts[falls[0] : falls[0] + 2]
        raise ValueError(f"cuts of column {column!r} must increase: {b} follows {a}")
    return cuts


def _refuse_no_labels(y: Any) -> None:
    if y is None:
        raise ValueError(
            'method "mdl" requires y to be passed, but the target y is None: give one label a row, or use '
            'method "width" or "frequency"'
        )
