"""Trees as arrays, and many of them grown at once:  f(x) = value of the leaf x falls into; a forest is their mean.

    columns = Binned.of(X, weight, nominal)         best splits: codes of at most 255 bins a column, made once
    columns = Columns.of(X, nominal)                extra-trees: a float32 copy by columns
    forest  = grow_forest(columns, y, classes, options, seed, count, weights)

A column of at most 255 distinct values has a bin for each, and every split of it is looked at; one with more is cut
at quantiles of its weight into at most 255 bins, and splits are looked for between bins. ``weights(tree)`` gives the
rows' weights in a tree (a bag's counts, say) and rows of weight zero are absent from it. A tree depends on (seed, its
number) and the rows alone, whatever the threads. Notes [6321] "Bagging", "Extremely randomized trees"; rows E3, E4.

Cost: O(n p) a level for best splits and O(n K) for extra-trees, some log₂ n levels and more; memory: one byte a cell
(extra-trees: eight), 40 bytes a row and thread, and some 30 + 4·classes bytes a node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import each_in_threads
from separatrix.data.interrupts import until_interrupted
from separatrix.growth.order import best_first
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
    MIDDLE,
    MISSING,
    THRESHOLD,
    VARIANCE,
    tree_key,
)
from separatrix.loops.trees.random import grow_random
from separatrix.loops.trees.walk import add_leaves, walk

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
RUN = 8  # trees whose out-of-bag values are added together
BLOCK = 16384  # rows a tree is asked about at once, while it is in the cache


@dataclass(frozen=True, eq=False)
class Tree:
    """A grown tree; children of a node stand beside each other, after it.

    nodes: records of feature (−1 in a leaf), threshold (left where x ≤ it; NaN where the column is nominal), child
    (the left one, the right one is next; a leaf's is itself) and extra (a leaf's number, else 2·(number of its set of
    levels), and 1 more where a missing cell goes left); impurity, count (nodes,): of the training rows; leaf_value
    (leaves, V): shares of the classes, the mean or the median; leaf_weight (leaves,); sets: the levels, as bits, that
    go left; gains (p,): what each column's splits took from W·impurity; middle (nodes,): medians, of absolute errors.

    ``threshold`` and ``leaf_value`` are what predictions read, and may be edited in place; what is worked out from
    them, and what holds the tree together, is read-only.
    """

    nodes: np.ndarray
    impurity: np.ndarray
    count: np.ndarray
    leaf_value: FloatArray
    leaf_weight: FloatArray
    sets: np.ndarray
    gains: FloatArray
    depth: int
    middle: FloatArray | None = None

    @property
    def feature(self) -> np.ndarray:
        """The column each node looks at, −1 for a leaf."""
        return sealed(self.nodes["feature"])

    @property
    def threshold(self) -> np.ndarray:
        """x ≤ it goes left; a view: an edit is what predictions read."""
        return self.nodes["threshold"]

    @property
    def child(self) -> np.ndarray:
        return sealed(self.nodes["child"])

    @property
    def extra(self) -> np.ndarray:
        return sealed(self.nodes["extra"])

    @property
    def node_count(self) -> int:
        return len(self.nodes)

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_weight)

    @property
    def max_depth(self) -> int:
        return self.depth

    @property
    def n_node_samples(self) -> np.ndarray:
        """Training rows of each node (of weight above zero, each counted once)."""
        return self.count

    @property
    def splits(self) -> np.ndarray:
        """Which nodes are not leaves."""
        return self.feature >= 0

    @property
    def children_left(self) -> np.ndarray:
        """The left child of each node, −1 for a leaf."""
        return sealed(np.where(self.splits, self.child, -1))

    @property
    def children_right(self) -> np.ndarray:
        return sealed(np.where(self.splits, self.child + 1, -1))

    @property
    def missing_go_to_left(self) -> np.ndarray:
        return sealed(self.splits & (self.extra & 1).astype(bool))

    @property
    def weighted_n_node_samples(self) -> FloatArray:
        """Training weight of each node."""
        return sealed(self.gathered()[0])

    @property
    def value(self) -> FloatArray:
        """Shares of the classes, the mean or the median in each node (nodes, V); to change one, edit leaf_value."""
        weight, total = self.gathered()
        found = total / weight[:, None]
        if self.middle is not None:
            found[self.splits, 0] = self.middle[self.splits]
        return sealed(found)

    def levels(self) -> list[np.ndarray]:
        """The nodes of each depth, the root's first."""
        found = [np.zeros(1, dtype=np.intp)]
        while True:
            inner = found[-1][self.feature[found[-1]] >= 0]
            if not len(inner):
                return found
            found.append((self.child[inner][:, None] + np.arange(2)).ravel())

    def gathered(self) -> tuple[FloatArray, FloatArray]:
        """Weights (nodes,) and weighted values (nodes, V) summed from the leaves up."""
        weight = np.zeros(self.node_count)
        total = np.zeros((self.node_count, self.leaf_value.shape[1]))
        leaf = np.flatnonzero(~self.splits)
        weight[leaf] = self.leaf_weight[self.extra[leaf]]
        total[leaf] = weight[leaf, None] * self.leaf_value[self.extra[leaf]]
        for nodes in self.levels()[::-1]:
            inner = nodes[self.feature[nodes] >= 0]
            c = self.child[inner]
            weight[inner] = weight[c] + weight[c + 1]
            total[inner] = total[c] + total[c + 1]
        return weight, total

    def ends(self, X: np.ndarray, nominal: np.ndarray) -> np.ndarray:
        """The node each row of X (n, p) falls into."""
        out = np.empty(len(X), np.int32)
        walk(X, self.nodes, self.sets, nominal, len(self.sets) > 0, out)
        return out


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


class Grows:
    """A table in the form that a way of growing reads it; ``_grown`` are that way's arrays of nodes."""

    dtype: Any  # of cells and thresholds at prediction

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
            options.min_weight_fraction * total, options.min_decrease * total, key,
        )  # fmt: skip
        medians = options.criterion == "absolute_error"
        if medians:
            order = np.argsort(y, kind="stable")
            found = self._medians(rows[order], y[order], w[order], *limits)
        else:
            found = self._grown(rows, y, w, unit, classes, CRITERIA[options.criterion], *limits)
        tree = _tree(found, self.dtype, medians, centre)
        return tree if most is None else best_first(tree, most, options.criterion)

    def _grown(self, *rest: Any) -> Any:
        raise NotImplementedError

    def _medians(self, *rest: Any) -> Any:
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

    def _grown(self, *rest: Any) -> Any:
        return grow_best(self.codes, self.low, self.high, self.nominal, *rest)

    def _medians(self, *rest: Any) -> Any:
        none = np.empty((0, 0), np.float32)
        return grow_absolute(self.codes, self.low, self.high, none, self.nominal, False, *rest)


@dataclass(frozen=True, eq=False)
class Columns(Grows):
    """Columns as float32 (p, n), NaN where a cell is missing, and the same by rows (n, p): large nodes read the one,
    small ones the other. ``odd``: columns with missing cells or levels."""

    cells: np.ndarray
    table: np.ndarray
    nominal: np.ndarray
    odd: np.ndarray

    dtype = np.float32

    @classmethod
    def of(cls, X: np.ndarray, nominal: np.ndarray | None = None) -> Columns:
        """X (n, p) by columns and by rows; what differs by less than a float32 can tell is alike.

        >>> Columns.of(np.array([[1.0, np.nan], [3.0, 0.0]])).odd.tolist()
        [False, True]
        """
        n, p = X.shape
        table = np.ascontiguousarray(X, dtype=np.float32)
        cells = np.empty((p, n), np.float32)
        flags = np.zeros(p, bool) if nominal is None else nominal
        odd = flags.copy()
        step = max(1, TILE // max(p, 1))

        def work(first: int) -> None:
            cells[:, first : first + step] = table[first : first + step].T

        each_in_threads(work, range(0, n, step))
        odd |= np.isnan(cells.sum(axis=1))
        return cls(cells, table, flags, odd)

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

    def _grown(self, *rest: Any) -> Any:
        return grow_random(self.cells, self.table, self.nominal, self.odd, *rest)

    def _medians(self, *rest: Any) -> Any:
        codes, none = np.empty((0, 0), np.uint8), np.empty((0, 0))
        return grow_absolute(codes, none, none, self.cells, self.nominal, True, *rest)


def sealed(array: np.ndarray) -> np.ndarray:
    """The array, not to be written to."""
    array.flags.writeable = False
    return array


def _nodes(feature: Any, threshold: Any, child: Any, extra: Any, dtype: Any) -> np.ndarray:
    """The records of a tree."""
    fields = [("feature", np.int32), ("threshold", dtype), ("child", np.int32), ("extra", np.int32)]
    nodes = np.empty(len(feature), np.dtype(fields, align=True))
    for (name, _), values in zip(fields, (feature, threshold, child, extra), strict=True):
        nodes[name] = values
    return nodes


def _one_leaf(rows: int, weight: float, columns: int, dtype: Any) -> Tree:
    """The tree of one class: all is said at the root."""
    nodes = _nodes([-1], [np.inf], [0], [0], dtype)
    count = np.array([rows], dtype=np.int32)
    none = np.empty(0, np.uint64)
    return Tree(
        nodes, np.zeros(1, np.float32), count, np.ones((1, 1)), np.array([weight]), none, np.zeros(columns), 0
    )


def _tree(found: Any, dtype: Any, medians: bool, centre: float) -> Tree:
    """What a loop returned (see :mod:`separatrix.loops.trees.node`), as it is kept."""
    made, ends, sets, gains, depth = found
    nodes = _nodes(*made[:, [FEATURE, THRESHOLD, CHILD, EXTRA]].T, dtype)
    value = np.ascontiguousarray(ends[:, 1:])
    return Tree(
        nodes, made[:, IMPURITY].astype(np.float64 if medians else np.float32), made[:, COUNT].astype(np.int32),
        value + centre if centre else value, ends[:, 0].copy(), sets.ravel().view(np.uint64), gains, int(depth),
        made[:, MIDDLE] + centre if medians else None,
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


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees grown on the same columns; ``asked`` of them, fewer where the work was interrupted."""

    trees: tuple[Tree, ...]
    numbers: tuple[int, ...]
    asked: int
    nominal: np.ndarray
    dtype: Any

    def __len__(self) -> int:
        return len(self.trees)

    def cells(self, X: np.ndarray) -> np.ndarray:
        """Rows as the trees read them; a number too large for float32 is larger than every threshold."""
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(X, dtype=self.dtype)

    def mean(self, X: np.ndarray) -> FloatArray:
        """The trees' mean value of each row (n, V)."""
        n = len(X)
        width = self.trees[0].leaf_value.shape[1]
        out = np.zeros((n, width))
        none = np.empty(0, np.intp)
        size = _block(n)

        def work(first: int) -> None:
            last = min(first + size, n)
            cells = self.cells(X[first:last])
            part = out[first:last]
            for tree in self.trees:
                ends = tree.ends(cells, self.nominal)
                add_leaves(ends, tree.nodes, tree.leaf_value.ravel(), width, none, part)
            part /= len(self.trees)

        each_in_threads(work, range(0, n, size))
        return out

    def mean_outside(self, X: np.ndarray, bag: Callable[[int], FloatArray]) -> tuple[FloatArray, np.ndarray]:
        """For each row the sum over the trees whose bag it is not in (n, V), and how many there are (n,).

        ``bag`` gives the counts of the rows by a tree's place. Sums are made by runs of trees and added in their
        order.
        """
        n, width = len(X), self.trees[0].leaf_value.shape[1]
        cells = self.cells(X)
        runs = [range(a, min(a + RUN, len(self.trees))) for a in range(0, len(self.trees), RUN)]
        sums: list[Any] = [None] * len(runs)

        def work(r: int) -> None:
            value, count = np.zeros((n, width)), np.zeros(n, np.intp)
            for t in runs[r]:
                rows = np.flatnonzero(bag(t) == 0)
                if len(rows):
                    ends = self.trees[t].ends(cells[rows], self.nominal)
                    leaves = self.trees[t].leaf_value.ravel()
                    add_leaves(ends, self.trees[t].nodes, leaves, width, rows, value)
                    count[rows] += 1
            sums[r] = value, count

        each_in_threads(work, range(len(runs)))
        return sum(v for v, _ in sums), sum(c for _, c in sums)

    def ends(self, X: np.ndarray) -> np.ndarray:
        """The node each row falls into in each tree (n, trees)."""
        n = len(X)
        out = np.empty((n, len(self.trees)), np.int64)
        size = _block(n)

        def work(first: int) -> None:
            cells = self.cells(X[first : first + size])
            for t, tree in enumerate(self.trees):
                out[first : first + size, t] = tree.ends(cells, self.nominal)

        each_in_threads(work, range(0, n, size))
        return out

    def importances(self) -> FloatArray:
        """The share of each column in what the splits took from the impurity, the mean over trees that split."""
        shares = [t.gains / t.gains.sum() for t in self.trees if t.gains.sum() > 0]
        if not shares:
            return np.zeros(len(self.nominal))
        mean = np.mean(shares, axis=0)
        return np.asarray(mean / mean.sum())


def _block(n: int) -> int:
    """Rows of a block: few enough that threads share them evenly, enough that a tree is read seldom."""
    return max(1024, min(BLOCK, -(-n // 8)))


def tree_seeds(seed: int, count: int) -> list[int]:
    """A seed for each of ``count`` trees, whole numbers below 2³¹ that differ.

    >>> tree_seeds(0, 3) == tree_seeds(0, 5)[:3], len(set(tree_seeds(1, 1000)))
    (True, 1000)
    """
    found: dict[int, None] = {}
    number = 0
    while len(found) < count:
        found[int(tree_key(seed, number, 2)) >> 33] = None
        number += 1
    return list(found)


def grow_forest(
    columns: Any,
    y: FloatArray,
    classes: int,
    options: Options,
    seed: int,
    count: int,
    weights: Callable[[int], FloatArray | None] | FloatArray | None = None,
    *,
    numbers: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
    report: Callable[[int], None] | None = None,
) -> Forest:
    """``count`` trees on the same columns, on the engine's threads.

    Parameters
    ----------
    columns : :class:`Binned` for best splits, :class:`Columns` for extra-trees
    y : (n,) class codes 0 … K − 1, or numbers
    classes : K (of one class the tree is a leaf), or 0 for a regression
    options : :class:`Options`
    seed, count, numbers : a tree draws from (seed, its number); the numbers are 0 … count − 1 or those given
    seeds : a seed for each tree instead, from which alone it is grown as number 0 would be
    weights : tree → (n,) weights or None (all one); or one array for all trees

    Ctrl-C ends the work: trees finished so far are kept, and ``asked`` tells how many there should be.

    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> forest = grow_forest(Binned.of(X), y, 2, Options("gini", 1), 0, 1)
    >>> forest.trees[0].threshold[:1].tolist(), forest.mean(X)[:, 1].tolist()
    ([1.5], [0.0, 0.0, 1.0, 1.0])
    """
    n = columns.shape[0]
    target: Any = np.asarray(y, dtype=np.uint8 if 0 < classes <= 256 else np.float64)
    which = range(count) if numbers is None else list(numbers)
    own = None if seeds is None else dict(zip(which, seeds, strict=True))
    grown: dict[int, Tree] = {}
    stopped = False

    def work(t: int) -> None:
        if stopped:
            return
        w = weights(t) if callable(weights) else weights
        if w is None:
            rows, z, weight = np.arange(n, dtype=np.int32), target.copy(), np.ones(n)
        else:
            rows = np.flatnonzero(w > 0).astype(np.int32)
            z, weight = target[rows], np.asarray(w, dtype=np.float64)[rows]
        centre = 0.0
        if classes == 0:  # sums of squares keep their digits around the mean
            centre = float(weight @ z / weight.sum())
            z = z - centre
        unit = bool((weight == 1.0).all())
        key = np.uint64(tree_key(seed, t, 0) if own is None else tree_key(own[t], 0, 0))
        if classes == 1:
            grown[t] = _one_leaf(len(rows), float(weight.sum()), columns.shape[1], columns.dtype)
        else:
            grown[t] = columns.grow(rows, z, weight, unit, classes, options, key, centre)
        if report is not None:
            report(t)

    with until_interrupted() as watch:
        each_in_threads(work, which)
    if watch.interrupted:
        stopped = True
    kept = sorted(
        list(grown.items()), key=lambda item: item[0]
    )  # a thread may still add its last one to ``grown``
    if not kept:
        raise KeyboardInterrupt("no tree was finished")
    return Forest(
        tuple(tree for _, tree in kept), tuple(t for t, _ in kept), len(which), columns.nominal, columns.dtype
    )
