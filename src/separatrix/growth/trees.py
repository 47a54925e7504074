"""Trees as they are kept:  f(x) = value of the leaf x falls into; a forest is their mean.

Grown by :mod:`separatrix.growth.forest`. Notes [6321] "Bagging", "Extremely randomized trees"; rows E3, E4. Cost:
O(depth) a row and tree; memory: some 30 + 4·classes bytes a node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import each_in_threads
from separatrix.loops.trees.walk import add_leaves, walk

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


def sealed(array: np.ndarray) -> np.ndarray:
    """The array, not to be written to."""
    array.flags.writeable = False
    return array


def records(feature: Any, threshold: Any, child: Any, extra: Any, dtype: Any) -> np.ndarray:
    """The records of a tree."""
    fields = [("feature", np.int32), ("threshold", dtype), ("child", np.int32), ("extra", np.int32)]
    nodes = np.empty(len(feature), np.dtype(fields, align=True))
    for (name, _), values in zip(fields, (feature, threshold, child, extra), strict=True):
        nodes[name] = values
    return nodes


def one_leaf(rows: int, weight: float, columns: int, dtype: Any) -> Tree:
    """The tree of one class: all is said at the root."""
    nodes = records([-1], [np.inf], [0], [0], dtype)
    count = np.array([rows], dtype=np.int32)
    none = np.empty(0, np.uint64)
    return Tree(
        nodes, np.zeros(1, np.float32), count, np.ones((1, 1)), np.array([weight]), none, np.zeros(columns), 0
    )
