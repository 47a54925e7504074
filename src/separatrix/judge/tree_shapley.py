"""Shapley values of trees, exact:  of leaf values reached by a row x mixed with a background row b.

    φ_j = Σ_leaves value · { (u−1)! v!/(u+v)!  of j ∈ U,   −u! (v−1)!/(u+v)!  of j ∈ V },   u = |U|, v = |V|

For a leaf and b, U are the columns on its path whose conditions x meets and b does not, V those that b meets and x
does not; a path with a column whose conditions neither meets adds nothing. The leaf is reached by the columns S
from x exactly where U ⊆ S and V ∩ S = ∅. Lundberg et al. (2020), the interventional case. Conditions are gathered
by the table's column, so that a word of many 0-1 columns is one. Row V4. Shapes: x (q,), background (B, q).
Cost: O(B · conditions) for the background, and O(B · open leaves · depth) a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from separatrix.core.numerics import FloatArray
from separatrix.judge.plain_trees import PlainForest, PlainTree


@dataclass(frozen=True, eq=False)
class Paths:
    """The conditions on the ways to the leaves: ``node`` and ``left`` (c,), grouped by (leaf, column).

    ``begins`` (g,) where a group begins, ``column`` (g,) of it; ``first`` (leaves,) the first group of a leaf;
    ``value``
    (leaves, K).
    """

    node: np.ndarray
    left: np.ndarray
    begins: np.ndarray
    column: np.ndarray
    first: np.ndarray
    value: FloatArray

    @classmethod
    def of(cls, tree: PlainTree, source: np.ndarray) -> Paths | None:
        """The paths of a tree; ``source`` (q,) is the table's column of each feature. None of a lone leaf."""
        parent = np.full(len(tree.feature), -1)
        inner = np.flatnonzero(tree.feature >= 0)
        parent[tree.left[inner]] = parent[tree.right[inner]] = inner
        first_side = np.zeros(len(tree.feature), dtype=bool)
        first_side[tree.left[inner]] = True
        ends = np.flatnonzero(tree.feature < 0)
        if len(ends) == 1:
            return None
        leaf_of, node_of, side_of = [], [], []
        here, number = ends, np.arange(len(ends))
        while len(here):  # all leaves climb one step
            up = parent[here]
            here, number, up = here[up >= 0], number[up >= 0], up[up >= 0]
            leaf_of.append(number)
            node_of.append(up)
            side_of.append(first_side[here])
            here = up
        leaf, node, left = (np.concatenate(parts) for parts in (leaf_of, node_of, side_of))
        column = source[tree.feature[node]]
        order = np.lexsort((column, leaf))
        leaf, node, left, column = leaf[order], node[order], left[order], column[order]
        new = np.r_[True, (leaf[1:] != leaf[:-1]) | (column[1:] != column[:-1])]
        begins = np.flatnonzero(new)
        first = np.searchsorted(leaf[begins], np.arange(len(ends)))
        return cls(node, left, begins, column[begins], first, tree.value[ends])


def tree_shapley(
    forest: PlainForest, source: np.ndarray, columns: int, rows: FloatArray, background: FloatArray
) -> FloatArray:
    """φ (n, columns, K) of the mean over trees for rows (n, q), against the mean over background rows (B, q).

    ``source`` (q,) is the number of the table's column behind each feature. φ sums to f(x) − mean f(b).
    """
    width = forest.trees[0].value.shape[1]
    phi = np.zeros((len(rows), columns, width))
    rows, background = forest.cast(rows), forest.cast(background)
    for tree in forest.trees:
        paths = Paths.of(tree, source)
        if paths is None:
            continue
        words = _met(tree, paths, background)
        meets = np.unpackbits(words, axis=1, count=len(background)).astype(bool)
        own = np.unpackbits(_met(tree, paths, rows), axis=1, count=len(rows)).astype(bool)
        for i in range(len(rows)):
            _add(phi[i], paths, own[:, i], meets, words)
    return phi / len(forest.trees)


def _met(tree: PlainTree, paths: Paths, cells: FloatArray) -> np.ndarray:
    """Whether each row meets all conditions of a group: bits (g, ⌈n/8⌉)."""
    left = np.packbits(tree.goes_left(cells), axis=1)[paths.node]
    side = np.where(paths.left[:, None], left, ~left)
    return np.asarray(np.bitwise_and.reduceat(side, paths.begins, axis=0))


def _add(phi: FloatArray, paths: Paths, own: np.ndarray, other: np.ndarray, words: np.ndarray) -> None:
    """Add the tree's values for a row that meets ``own`` (g,), against background rows that meet ``other`` (g, B)."""
    # a leaf is open for b where b meets every group that x fails: as bits, of all background rows at once
    shut = np.bitwise_or.reduceat(np.where(own[:, None], 0, ~words).astype(np.uint8), paths.first, axis=0)
    opened = np.unpackbits(~shut, axis=1, count=other.shape[1]).astype(bool)
    leaf, b = np.nonzero(opened)
    sizes = np.diff(np.r_[paths.first, len(own)])[leaf]
    starts = np.r_[0, np.cumsum(sizes)[:-1]]
    pair = np.repeat(np.arange(len(leaf)), sizes)
    group = np.arange(len(pair)) + np.repeat(paths.first[leaf] - starts, sizes)
    theirs = ~own[group]
    ours = ~theirs & ~other[group, b[pair]]
    u, v = (np.add.reduceat(part.astype(np.intp), starts) for part in (ours, theirs))
    gain, loss = _weights(int(sizes.max()) + 1)
    share = np.where(ours, gain[u, v][pair], 0.0) - np.where(theirs, loss[u, v][pair], 0.0)
    width = len(paths.value)
    sums = np.bincount(paths.column[group] * width + leaf[pair], share, len(phi) * width)
    phi += sums.reshape(len(phi), width) @ paths.value / other.shape[1]


def _weights(most: int) -> tuple[FloatArray, FloatArray]:
    """(u−1)! v!/(u+v)! and u! (v−1)!/(u+v)! by (u, v), each below ``most``; 0 where u, or v, is 0."""
    u, v = np.meshgrid(np.arange(most), np.arange(most), indexing="ij")
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = np.where(u > 0, np.exp(gammaln(u) + gammaln(v + 1) - gammaln(u + v + 1)), 0.0)
        loss = np.where(v > 0, np.exp(gammaln(u + 1) + gammaln(v) - gammaln(u + v + 1)), 0.0)
    return gain, loss
