"""Growth best node first:  of the leaves that could be split, the one whose split takes most from W·impurity.

    a tree of at most L leaves = the L − 1 first splits in that order

What a node's split is does not depend on when its turn comes: the tree is grown in full (to depth L − 1, deeper it
cannot be) and the splits that come too late are taken back. Where all columns are looked at, the tree of L + 1 leaves
is the tree of L with one leaf split. Rows E3, E4. Cost: O(nodes) beside the growth.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from separatrix.core.numerics import FloatArray

if TYPE_CHECKING:
    from separatrix.growth.trees import Tree


def best_first(tree: Tree, leaves: int, criterion: str) -> Tree:
    """The tree with its best ``leaves`` − 1 splits."""
    if tree.n_leaves <= leaves:
        return tree
    weight, total = tree.gathered()
    gain = split_gains(tree, weight, total, criterion)
    kept = _first(tree, gain, leaves)
    stays = kept.copy()
    stays[0] = True
    stays[tree.child[kept]] = stays[tree.child[kept] + 1] = True
    at = np.flatnonzero(stays)
    place = np.cumsum(stays) - 1
    nodes = tree.nodes[at].copy()
    inner = kept[at]
    ends = np.flatnonzero(~inner)
    nodes["child"][inner] = place[tree.child[at[inner]]]
    nodes["feature"][ends], nodes["threshold"][ends] = -1, np.inf
    nodes["child"][ends], nodes["extra"][ends] = ends, np.arange(len(ends))
    old = at[ends]
    value = total[old] / weight[old, None] if tree.middle is None else tree.middle[old, None].copy()
    gains = np.zeros(len(tree.gains))
    np.add.at(gains, tree.feature[kept], gain[kept])
    middle = None if tree.middle is None else tree.middle[at]
    return replace(
        tree, nodes=nodes, impurity=tree.impurity[at], count=tree.count[at], leaf_value=value,
        leaf_weight=weight[old], gains=gains, depth=_depth(tree, stays), middle=middle,
    )  # fmt: skip


def split_gains(tree: Tree, weight: FloatArray, total: FloatArray, criterion: str) -> FloatArray:
    """What each node's split takes from W·impurity, 0 for leaves (nodes,); entropy in bits."""
    out = np.zeros(len(weight))
    i = np.flatnonzero(tree.splits)
    a = tree.child[i]
    b = a + 1
    if criterion in ("gini", "squared_error"):
        apart = total[a] / weight[a, None] - total[b] / weight[b, None]
        out[i] = weight[a] * weight[b] / weight[i] * (apart**2).sum(axis=1)
    elif criterion == "absolute_error":
        loss = weight * tree.impurity
        out[i] = loss[i] - loss[a] - loss[b]
    else:
        purity = _xlogx(total).sum(axis=1) - _xlogx(weight)
        out[i] = (purity[a] + purity[b] - purity[i]) / np.log(2.0)
    return np.maximum(out, 0.0)


def _first(tree: Tree, gain: FloatArray, leaves: int) -> np.ndarray:
    """Which nodes are split by the first ``leaves`` − 1 splits; of equal gains (to nine digits) the first node's."""
    feature, child = tree.feature, tree.child
    kept = np.zeros(len(feature), dtype=bool)
    waiting = [(-float(f"{gain[0]:.8e}"), 0)]
    for _ in range(leaves - 1):
        if not waiting:
            break
        _, i = heappop(waiting)
        kept[i] = True
        for c in (int(child[i]), int(child[i]) + 1):
            if feature[c] >= 0:
                heappush(waiting, (-float(f"{gain[c]:.8e}"), c))
    return kept


def _depth(tree: Tree, stays: np.ndarray) -> int:
    return max(d for d, nodes in enumerate(tree.levels()) if stays[nodes].any())


def _xlogx(x: FloatArray) -> FloatArray:
    return np.where(x > 0, x, 0.0) * np.log(np.where(x > 0, x, 1.0))
