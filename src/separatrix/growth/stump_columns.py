"""How columns are searched for a stump's test: numbers in bins, numbers sorted, levels, words (``growth.stumps``).

Each part is made from a :class:`~separatrix.growth.stumps.StumpTable` and some of its columns. It says what its best
test is worth (``most``), which test is the first worth as much as a goal (``first``), the rows that one sends left,
and its threshold. Rows lie sorted by class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import available_cores, current_engine, each_in_threads
from separatrix.loops.stumps import (
    BINS,
    MISSING,
    encode,
    group,
    histogram,
    left_rows,
    look,
    scan,
    search,
    words,
)

if TYPE_CHECKING:
    from separatrix.growth.stumps import StumpTable

CRITERIA = {"error": 0, "gini": 1, "entropy": 2}
SAMPLE = 4096  # rows whose values place the bins' edges
TOGETHER = 8  # columns read at once: a row's share is a line of cache
Worth = int | float  # of a test: weight put right (a whole number), or −impurity
ROUNDING_BITS = 40  # tests within 2⁻⁴⁰ of the whole weight of each other are equally good
LIGHT = 1 << 16  # cells up to which one thread is soonest


@dataclass(frozen=True)
class PlacedTest:
    """A test by where it lies in the layout."""

    column: int
    kind: str
    cut: int = -1
    inner: int = -1
    missing_left: bool | None = None  # None: no cell was missing
    levels: np.ndarray | None = None


class Bins:
    """Columns of numbers by least error: bins, their histograms, and rows sorted inside the bins looked into."""

    def __init__(self, table: StumpTable, columns: np.ndarray):
        X, rows = table.X, table.rows
        n, p, k = len(rows), len(columns), len(table.bounds) - 1
        self.table, self.columns = table, columns
        chosen = X if p == X.shape[1] else X[:, columns]
        kind = np.float32 if X.dtype == np.float32 else np.float64
        self.cells = np.ascontiguousarray(np.asarray(chosen), dtype=kind)
        self.codes = np.empty((p, n), dtype=np.uint8)
        self.order = np.empty((p, n), dtype=np.int32)
        self.ends = np.empty((p, n), dtype=bool)
        self.starts = np.empty((p, 257), dtype=np.int64)
        self.low, self.high = np.full((p, 256), np.inf), np.full((p, 256), -np.inf)
        self.n_bins = np.empty(p, dtype=np.int64)
        edges = np.full((p, BINS), np.inf)
        sample = self.cells[rows[:: max(1, n // SAMPLE)]]

        def lay(first: int) -> None:
            last = min(first + TOGETHER, p)
            for j in range(first, last):
                cut = _edges(np.asarray(sample[:, j], dtype=np.float64))
                edges[j, : len(cut)] = cut
                self.n_bins[j] = len(cut) + 1
            encode(self.cells, rows, first, last, edges, self.codes, self.low, self.high)
            for j in range(first, last):
                group(self.codes[j], self.order[j], self.starts[j])

        each_in_threads(lay, range(0, p, TOGETHER))
        self.some = self.starts[:, MISSING] < n
        self.n_bins[self.starts[:, MISSING] == 0] = 0
        self.wide = self.high > self.low
        self.tidy = np.zeros((p, 256), dtype=bool)
        self.hist = np.empty((p, k, 256), dtype=np.int64)
        self.surveys = np.empty((p, 2), dtype=np.int64)

    def most(self, w: np.ndarray, total: np.ndarray) -> int:
        def work(run: tuple[int, int]) -> None:
            look(
                self.codes, w, self.table.bounds, self.hist, self.n_bins, self.wide, self.some, total, *run,
                self.surveys,
            )  # fmt: skip

        each_in_threads(work, _runs(np.arange(len(self.columns) + 1) * len(w)))
        return int(self._search(w, total, int(self.surveys[:, 0].max()), False, 0)[0])

    def first(self, goal: Worth, w: np.ndarray, total: np.ndarray, slack: Worth) -> PlacedTest:
        _, j, cut, inner, goes = self._search(w, total, goal, True, slack)
        goes = bool(goes) if self.some[j] else None
        return PlacedTest(int(self.columns[j]), "number", int(cut), int(inner), goes)

    def _search(self, w: np.ndarray, total: np.ndarray, floor: Worth, first: bool, slack: Worth) -> Any:
        return search(
            self.cells, self.table.rows, self.order, self.ends, self.starts, self.tidy, self.wide, self.n_bins,
            self.some, self.hist, self.surveys, self.table.cls, w, total, floor, first, slack,
        )  # fmt: skip

    def left(self, found: PlacedTest, out: np.ndarray) -> None:
        j = int(np.searchsorted(self.columns, found.column))
        part = self.order[j, self.starts[j, found.cut] : self.starts[j, found.cut + 1]]
        left_rows(self.codes[j], part, found.cut, found.inner, bool(found.missing_left), out)

    def threshold(self, found: PlacedTest) -> float:
        j = int(np.searchsorted(self.columns, found.column))
        if found.inner < 0:
            last = found.cut == self.n_bins[j] - 1
            return np.inf if last else _between(self.high[j, found.cut], self.low[j, found.cut + 1])
        at = self.starts[j, found.cut] + found.inner
        below, above = (self.cells[self.table.rows[i], j] for i in self.order[j, at : at + 2])
        return _between(below, above)


class Sorted:
    """Columns of numbers by Gini or entropy: every threshold in sorted order."""

    def __init__(self, table: StumpTable, columns: np.ndarray):
        self.table, self.columns = table, columns
        n, p = len(table.rows), len(columns)
        self.values = np.empty((p, n))
        self.order = np.empty((p, n), dtype=np.int32)
        self.known = np.empty(p, dtype=np.int64)

        def lay(j: int) -> None:
            self.values[j] = table.X[table.rows, columns[j]]
            self.order[j] = np.argsort(self.values[j], kind="stable")
            self.known[j] = n - np.isnan(self.values[j]).sum()

        each_in_threads(lay, range(p))

    def most(self, w: np.ndarray, total: np.ndarray) -> float:
        self.tops = np.full(len(self.columns), -np.inf)

        def work(j: int) -> None:
            self.tops[j] = self._scan(j, w, total, -np.inf, False)[0]

        each_in_threads(work, range(len(self.columns)))
        return float(self.tops.max())

    def first(self, goal: Worth, w: np.ndarray, total: np.ndarray, slack: Worth) -> PlacedTest:
        j = int(np.flatnonzero(self.tops >= goal)[0])
        _, cut, goes = self._scan(j, w, total, np.nextafter(goal, -np.inf), True)
        some = self.known[j] < len(w)
        return PlacedTest(int(self.columns[j]), "number", int(cut), -1, bool(goes) if some else None)

    def _scan(self, j: int, w: np.ndarray, total: np.ndarray, floor: float, first: bool) -> Any:
        order, known = self.order[j], self.known[j]
        missing = np.zeros(len(total), dtype=np.int64)
        np.add.at(missing, self.table.cls[order[known:]], w[order[known:]])
        return scan(
            self.values[j], order, known, self.table.cls, w, total.astype(np.float64), missing.astype(np.float64),
            CRITERIA[self.table.criterion], floor, first,
        )  # fmt: skip

    def left(self, found: PlacedTest, out: np.ndarray) -> None:
        j = int(np.searchsorted(self.columns, found.column))
        out[self.order[j, found.cut :]] = False
        out[self.order[j, self.known[j] :]] = bool(found.missing_left)

    def threshold(self, found: PlacedTest) -> float:
        j = int(np.searchsorted(self.columns, found.column))
        if found.cut == self.known[j]:
            return np.inf
        below, above = self.values[j][self.order[j, found.cut - 1 : found.cut + 1]]
        return _between(below, above)


class Levels:
    """Columns of levels 0, 1, …: of two classes the best subset of levels goes left, of more one level.

    For two classes the best subset is known at once: by error, each level goes with its majority; by Gini or
    entropy, it is an initial part of the levels ordered by the first class's share (Breiman). A missing cell is one
    more level.
    """

    def __init__(self, table: StumpTable, columns: np.ndarray):
        self.table, self.columns = table, columns
        cells = table.X[:, columns][table.rows]
        lost = np.isnan(cells)
        self.n_levels = [int(np.nanmax(c, initial=-1)) + 1 for c in np.where(lost, -1, cells).T]
        self.some = lost.any(axis=0)
        codes = np.where(lost, np.array(self.n_levels), cells)  # the last place is that of missing cells
        self.codes = np.ascontiguousarray(codes.T.astype(np.int64))

    def most(self, w: np.ndarray, total: np.ndarray) -> Worth:
        self.found: list[tuple[Worth, PlacedTest]] = []
        for j, column in enumerate(self.columns):
            hist = np.empty((len(total), self.n_levels[j] + 1), dtype=np.int64)
            histogram(self.codes[j], w, self.table.bounds, hist)
            for value, left in self._splits(hist, total):
                goes = bool(left[-1]) if self.some[j] else None
                self.found.append((value, PlacedTest(int(column), "levels", j, -1, goes, left[:-1])))
        return max((value for value, _ in self.found), default=-np.inf)

    def first(self, goal: Worth, w: np.ndarray, total: np.ndarray, slack: Worth) -> PlacedTest:
        return next(choice for value, choice in self.found if value >= goal)

    def _splits(self, hist: np.ndarray, total: np.ndarray) -> Iterator[tuple[Worth, np.ndarray]]:
        """(value, which levels go left) of the candidates of one column."""
        seen = hist.any(axis=0)
        levels = np.flatnonzero(seen)
        if len(levels) < 2:
            return
        for left in self._subsets(hist, levels) if len(total) == 2 else _singles(hist, levels):
            here, there = hist[:, left & seen].sum(axis=1), hist[:, ~left & seen].sum(axis=1)
            if not (here.any() and there.any()):
                continue
            left = np.where(seen, left, here.sum() >= there.sum())
            yield self._value(here, there), left

    def _subsets(self, hist: np.ndarray, levels: np.ndarray) -> Iterator[np.ndarray]:
        if self.table.criterion == "error":
            yield hist[0] >= hist[1] - (int(hist.sum()) >> ROUNDING_BITS)
            return
        order = levels[np.argsort(-hist[0, levels] / hist[:, levels].sum(axis=0), kind="stable")]
        for size in range(1, len(order)):
            yield np.isin(np.arange(hist.shape[1]), order[:size])

    def _value(self, here: np.ndarray, there: np.ndarray) -> Worth:
        if self.table.criterion == "error":
            return int(here.max()) + int(there.max())
        worth, whole = 0.0, float(here.sum()) + float(there.sum())
        for side in (here.astype(float), there.astype(float)):
            share = side[side > 0] / side.sum()
            worth += float(side[side > 0] @ (share if self.table.criterion == "gini" else np.log(share)))
        return worth / whole

    def left(self, found: PlacedTest, out: np.ndarray) -> None:
        assert found.levels is not None
        out[:] = np.append(found.levels, bool(found.missing_left))[self.codes[found.cut]]

    def threshold(self, found: PlacedTest) -> float:
        return np.nan


def _singles(hist: np.ndarray, levels: np.ndarray) -> Iterator[np.ndarray]:
    """One level against the rest, the missing cells on either side."""
    lost = hist.shape[1] - 1
    for level in levels:
        left = np.zeros(hist.shape[1], dtype=bool)
        left[level] = True
        yield left
        if level != lost and lost in levels and len(levels) > 2:
            with_missing = left.copy()
            with_missing[lost] = True
            yield with_missing


class Words:
    """A sparse table: whether a word is there; O(stored cells) a search."""

    def __init__(self, table: StumpTable):
        X = table.X[table.rows].tocsc()
        X.eliminate_zeros()
        self.indptr, self.indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
        self.table = table

    def most(self, w: np.ndarray, total: np.ndarray) -> Worth:
        criterion = CRITERIA[self.table.criterion]
        whole, share = np.empty(len(self.indptr) - 1, dtype=np.int64), np.empty(len(self.indptr) - 1)

        def work(run: tuple[int, int]) -> None:
            words(self.indptr, self.indices, self.table.cls, w, total, *run, criterion, whole, share)

        each_in_threads(work, _runs(self.indptr))
        self.values = whole if criterion == 0 else share
        top = self.values.max()
        return int(top) if criterion == 0 else float(top)

    def first(self, goal: Worth, w: np.ndarray, total: np.ndarray, slack: Worth) -> PlacedTest:
        return PlacedTest(int(np.flatnonzero(self.values >= goal)[0]), "word")

    def left(self, found: PlacedTest, out: np.ndarray) -> None:
        out[self.indices[self.indptr[found.column] : self.indptr[found.column + 1]]] = False

    def threshold(self, found: PlacedTest) -> float:
        return 0.0


def _edges(values: FloatArray) -> FloatArray:
    """At most 254 values that part a column into bins of about as many sampled rows each."""
    values = np.unique(values[~np.isnan(values)])
    if len(values) <= BINS:
        return values[:-1]
    return values[(np.arange(1, BINS) * len(values)) // BINS - 1]


def _between(below: float, above: float) -> float:
    """The middle, or the lower value where no number lies between."""
    below, above = float(below), float(above)
    middle = below / 2 + above / 2
    return middle if below <= middle < above else below


def _runs(work: np.ndarray) -> list[tuple[int, int]]:
    """Runs of columns of about equal work, two a thread; ``work`` (p + 1,) adds up what columns cost."""
    chosen = current_engine()
    count = 2 * (chosen.workers or available_cores())
    if chosen.kind == "serial" or work[-1] < LIGHT:
        count = 1
    inner = np.searchsorted(work, work[-1] * np.arange(1, count) / count)
    edges = sorted({0, *(int(e) for e in inner), len(work) - 1})
    return list(pairwise(edges))
