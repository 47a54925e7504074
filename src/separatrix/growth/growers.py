"""A table in the form that a way of growing reads it, and how one tree is grown from it.

    columns = Binned.of(X, weight, nominal)         best splits: codes of at most 255 bins a column, made once
    columns = Columns.of(X, nominal)                extra-trees: a float32 copy by columns

A column of at most 255 distinct values has a bin for each, and every split of it is looked at; one with more is cut
at quantiles of its weight into at most 255 bins, and splits are looked for between bins. Notes [6321] "Bagging",
"Extremely randomized trees"; rows E3, E4. Cost: O(n p) a level for best splits and O(n K) for extra-trees, some
log₂ n levels and more; memory: one byte a cell (extra-trees: four).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import each_in_threads
from separatrix.growth.making import Grown, make
from separatrix.growth.order import best_first
from separatrix.growth.pairs import Pairs
from separatrix.growth.trees import Tree, records
from separatrix.loops.trees.best import grow_best
from separatrix.loops.trees.medians import grow_absolute
from separatrix.loops.trees.node import (
    CHILD,
    COUNT,
    ENTROPY,
    EXTRA,
    FEATURE,
    GAIN,
    GINI,
    IMPURITY,
    LOCAL,
    MIDDLE,
    MISSING,
    THRESHOLD,
    VARIANCE,
)
from separatrix.loops.trees.random import grow_random

LEVELS = 64  # levels of a nominal column: a split is a set of them in one word
BINS = 255
CRITERIA = {
    "gini": GINI,
    "entropy": ENTROPY,
    "log_loss": ENTROPY,
    "normalized_gain": GAIN,
    "squared_error": VARIANCE,
}
TILE = 1 << 18  # cells turned at once


@dataclass(frozen=True)
class Options:
    """How a tree is grown: the criterion's name, K columns a node, and the limits (see the models)."""

    criterion: str
    tests: int
    max_depth: int = 1 << 30
    min_split: int = 2
    min_leaf: int = 1
    min_weight_fraction: float = 0.0
    min_decrease: float = 0.0
    max_leaves: int | None = None


_Way = tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]
_Counts = tuple[int, ...]  # how many counts a loop keeps for a node that waits, if it keeps any


class Grows:
    """A table in the form that a way of growing reads it."""

    dtype: Any  # of cells and thresholds at prediction
    nominal: np.ndarray

    def grow(
        self,
        rows: np.ndarray,
        y: FloatArray,
        w: FloatArray,
        unit: bool,
        classes: int,
        options: Options,
        key: Any,
        centre: float,
    ) -> Tree:
        """The tree of some rows, y (n,) less ``centre`` where it is numbers (``classes`` 0), else codes."""
        total = float(w.sum())
        most, deepest = options.max_leaves, options.max_depth
        limits = (
            options.tests, deepest if most is None else min(deepest, most - 1), options.min_split, options.min_leaf,
            options.min_weight_fraction * total, options.min_decrease * total,
        )  # fmt: skip
        medians = options.criterion == "absolute_error"
        p = len(self.nominal)
        if medians:
            order = np.argsort(y, kind="stable")
            stretch = rows[order], y[order], w[order]
            loop, given, room = self._medians(len(rows))
            found = make(loop, (*given, *stretch, *limits), stretch, p, 1, False, key, room)
        else:
            stretch = rows, y, w
            (loop, given, room), beside = self._means(len(rows), classes, options.tests, unit)
            sides = (np.empty(classes), np.empty(classes)) if classes > 2 else (None, None)
            how = unit, classes == 2, CRITERIA[options.criterion]
            given = *given, *stretch, *how, *limits
            found = make(loop, given, stretch, p, max(classes, 1), unit, key, (*sides, *room), beside)
        tree = _tree(found, self.dtype, medians, centre)
        return tree if most is None else best_first(tree, most, options.criterion)

    def _means(self, n: int, classes: int, tests: int, unit: bool) -> tuple[_Way, _Counts]:
        """A loop for a tree of n rows by means or by shares of classes, and what it is given first and last."""
        raise NotImplementedError

    def _medians(self, n: int) -> _Way:
        """The same for a tree of medians."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Binned(Grows):
    """Columns as codes (p, n) uint8 of bins in order, ``MISSING`` for NaN; low, high (p, 256): a bin's range."""

    codes: np.ndarray
    low: FloatArray
    high: FloatArray
    nominal: np.ndarray
    coarse: np.ndarray  # columns of more than 255 distinct values, which were cut at quantiles

    dtype = np.float64

    @classmethod
    def of(cls, X: np.ndarray, weight: FloatArray | None = None, nominal: np.ndarray | None = None) -> Binned:
        """Bins of X (n, p); ``weight`` (n,) is the mass quantiles are of, nominal columns hold levels 0 … 63.

        >>> binned = Binned.of(np.array([[1.0, np.nan], [3.0, 0.0], [1.0, 5.0]]))
        >>> binned.codes.tolist()
        [[0, 1, 0], [255, 0, 1]]
        """
        n, p = X.shape
        codes = np.empty((p, n), np.uint8)
        low, high = np.zeros((p, 256)), np.zeros((p, 256))
        flags = np.zeros(p, bool) if nominal is None else nominal
        coarse = np.zeros(p, bool)

        def work(j: int) -> None:
            column = np.ascontiguousarray(X[:, j], dtype=np.float64)
            if flags[j]:
                first = bounds = np.arange(LEVELS, dtype=np.float64)  # type: FloatArray
            else:
                first, bounds, coarse[j] = _bounds(column, weight)
            low[j, : len(first)], high[j, : len(bounds)] = first, bounds
            found = np.searchsorted(bounds, column).astype(np.uint8)
            found[np.isnan(column)] = MISSING
            codes[j] = found

        each_in_threads(work, range(p))
        return cls(codes, low, high, flags, coarse)

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.shape[1], self.codes.shape[0]

    def constant(self) -> np.ndarray:
        """Columns of one value, or of missing cells only (p,)."""
        return np.asarray((self.codes == self.codes[:, :1]).all(axis=1))

    def _means(self, n: int, classes: int, tests: int, unit: bool) -> tuple[_Way, _Counts]:
        width = max(classes, 2)
        given = self.codes, self.low, self.high, self.nominal
        return (grow_best, given, (
            np.zeros(256 * width), np.zeros(256, np.int64), np.zeros(4, np.uint64), np.empty(256, np.int64),
            np.zeros(3, np.int64), np.empty((len(self.nominal), LOCAL), np.uint8),
        )), ()  # fmt: skip

    def _medians(self, n: int) -> _Way:
        return grow_absolute, (self.codes, self.low, self.high, None, self.nominal), (
            np.empty(n, np.int64), np.zeros(258, np.int64), np.empty(256, np.int64), np.zeros(3, np.int64),
            np.zeros((4, 256)), np.empty((n + 1, 2)), None, None,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Columns(Grows):
    """Columns as float32 (p, n), NaN where a cell is missing. ``odd``: columns with missing cells or levels."""

    cells: np.ndarray
    nominal: np.ndarray
    odd: np.ndarray
    pairs: Pairs

    dtype = np.float32

    @classmethod
    def of(cls, X: np.ndarray, nominal: np.ndarray | None = None) -> Columns:
        """X (n, p) by columns; what differs by less than a float32 can tell is alike.

        >>> Columns.of(np.array([[1.0, np.nan], [3.0, 0.0]])).odd.tolist()
        [False, True]
        """
        n, p = X.shape
        cells = np.empty((p, n), np.float32)
        flags = np.zeros(p, bool) if nominal is None else nominal
        odd = flags.copy()
        step = max(1, TILE // max(p, 1))

        def work(first: int) -> None:
            cells[:, first : first + step] = X[first : first + step].T

        each_in_threads(work, range(0, n, step))
        odd |= np.isnan(cells.sum(axis=1))
        return cls(cells, flags, odd, Pairs.of(cells, odd))

    @property
    def shape(self) -> tuple[int, int]:
        return self.cells.shape[1], self.cells.shape[0]

    def constant(self) -> np.ndarray:
        """Columns of one value, or of missing cells only (p,)."""
        first = self.cells[:, :1]
        same = ~(self.cells != first).any(axis=1)
        for j in np.flatnonzero(self.odd):
            column = self.cells[j]
            gone = np.isnan(column)
            same[j] = gone.all() or (not gone.any() and (column == column[0]).all())
        return np.asarray(same)

    @cached_property
    def _no_pairs(self) -> Pairs:
        return Pairs.none(*self.cells.shape)

    def _means(self, n: int, classes: int, tests: int, unit: bool) -> tuple[_Way, _Counts]:
        p, width = len(self.nominal), max(classes, 2)
        pairs = self.pairs if unit and classes else self._no_pairs
        if not pairs.worth(width, tests):
            pairs = self._no_pairs
        few = min(LOCAL, max(32, 32768 // max(p - pairs.count, 1)))
        best, (v, u) = np.empty(width) if width > 2 else None, np.empty((2, n), np.float32)
        room = best, v, u, np.empty(few * p, np.float32), np.empty(few, np.int32)
        slot = np.where(pairs.slot < 0, -1, pairs.slot * width)
        lists = pairs.begins, pairs.columns * np.int32(width)
        given = self.cells.ravel(), self.nominal, self.odd, slot, pairs.base, pairs.rarer, *lists
        return (grow_random, given, room), ((pairs.count + 1) * width if classes else 0,)

    def _medians(self, n: int) -> _Way:
        v, u = np.empty((2, n), np.float32)
        given = None, None, None, self.cells.ravel(), self.nominal
        return grow_absolute, given, (*[None] * 6, v, u)


def _tree(found: Grown, dtype: Any, medians: bool, centre: float) -> Tree:
    """What has been grown, as it is kept."""
    made, ends = found.made, found.ends
    nodes = records(made[:, FEATURE], made[:, THRESHOLD], made[:, CHILD], made[:, EXTRA], dtype)
    value = np.ascontiguousarray(ends[:, 1:])
    return Tree(
        nodes, made[:, IMPURITY].astype(np.float64 if medians else np.float32), made[:, COUNT].astype(np.int32),
        value + centre if centre else value, ends[:, 0].copy(), found.sets.ravel().view(np.uint64), found.gains,
        found.depth, made[:, MIDDLE] + centre if medians else None,
    )  # fmt: skip


def _bounds(column: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray, bool]:
    """The least and the largest value of each bin, and whether bins hold several values."""
    if weight is None:
        ordered = np.sort(column)  # NaN last
        ordered = ordered[: len(ordered) - int(np.isnan(ordered).sum())]
        mass = None
    else:
        order = np.argsort(column, kind="stable")
        order = order[: len(order) - int(np.isnan(column).sum())]
        ordered, mass = column[order], weight[order]
    if len(ordered) == 0:
        return np.zeros(1), np.zeros(1), False
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    distinct = ordered[ends]
    if len(distinct) <= BINS:
        return distinct, distinct, False
    until: FloatArray = ends + 1.0 if mass is None else np.cumsum(mass)[ends]
    cuts = np.searchsorted(until, until[-1] * np.arange(1, BINS + 1) / BINS * (1 - 1e-12))
    cuts = np.unique(np.minimum(cuts, len(distinct) - 1))
    return distinct[np.append(0, cuts[:-1] + 1)], distinct[cuts], True
