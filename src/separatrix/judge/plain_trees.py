"""Trees and forests as plain arrays, and which side of each node a row is on.

    f(x) = (1/M) Σ_m value of the leaf of tree m that x falls into,    left ⇔ x_j ≤ threshold (or its level is listed)

Read from this library's trees, forests and bags of trees, and from scikit-learn's trees and forests; None of anything
else. A missing cell goes where the node sends it. Row V4. Shapes: cells (n, q) as the trees read them. Cost:
O(nodes).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import BaseDecisionTree

from separatrix.core.numerics import FloatArray
from separatrix.growth.trees import Tree
from separatrix.models.ensemble.bagging import BaggingClassifier
from separatrix.models.ensemble.tree_base import TreeClassifier


@dataclass(frozen=True, eq=False)
class PlainTree:
    """A tree: feature (nodes,), −1 in a leaf; left and right children; value (nodes, K), of which leaves' are read.

    ``threshold`` (nodes,): left where x ≤ it; ``gap_left`` (nodes,): where a missing cell goes; ``levels`` (nodes,):
    bits of the levels that go left, where ``named`` says that the column holds levels.
    """

    feature: np.ndarray
    threshold: FloatArray
    left: np.ndarray
    right: np.ndarray
    gap_left: np.ndarray
    value: FloatArray
    levels: np.ndarray
    named: np.ndarray

    def goes_left(self, cells: FloatArray) -> np.ndarray:
        """Whether each row (n, q) would go left at each node: (nodes, n); of leaves it means nothing."""
        at = np.maximum(self.feature, 0)
        x = np.asarray(cells)[:, at].T
        gone = np.isnan(x)
        out: np.ndarray = np.where(gone, self.gap_left[:, None], x <= self.threshold[:, None])
        if self.named.any():
            own = self.named
            place = np.where(gone[own], 0, x[own]).astype(np.int64)
            known = (place >= 0) & (place < 64)
            bit = (self.levels[own][:, None] >> np.clip(place, 0, 63).astype(np.uint64)) & np.uint64(1)
            said = known & bit.astype(bool)
            # a level never met in training goes where a missing cell does
            out[own] = np.where(gone[own] | ~known, self.gap_left[own][:, None], said)
        return out


@dataclass(frozen=True, eq=False)
class PlainForest:
    """The trees, and what reads a table into the cells that they see (n, q), NaN where one is missing."""

    trees: list[PlainTree]
    read: Callable[[Any], FloatArray]
    single: bool  # whether cells and thresholds are float32

    @property
    def nodes(self) -> int:
        return sum(len(tree.feature) for tree in self.trees)

    def cast(self, cells: FloatArray) -> FloatArray:
        """Cells as they are compared with thresholds."""
        with np.errstate(over="ignore"):
            return np.asarray(cells, dtype=np.float32 if self.single else np.float64)

    def mean(self, cells: FloatArray) -> FloatArray:
        """The trees' mean value of each row (n, K)."""
        cells = self.cast(cells)
        total: Any = 0.0
        for tree in self.trees:
            left = tree.goes_left(cells)
            at = np.zeros(len(cells), dtype=np.intp)
            rows = np.arange(len(cells))
            while (inner := tree.feature[at] >= 0).any():
                step = np.where(left[at, rows], tree.left[at], tree.right[at])
                at = np.where(inner, step, at)
            total = total + tree.value[at]
        return np.asarray(total / len(self.trees))


def plain_forest(model: BaseEstimator) -> PlainForest | None:
    """The trees of a fitted classifier whose probabilities are the mean of leaves' shares; None of another."""
    if isinstance(model, TreeClassifier):
        return _ours(model._forest, model._read_for_prediction)
    if isinstance(model, BaggingClassifier):
        forest = model._forest if model.voting == "soft" else None
        if forest is None:
            return None
        first: Any = model.estimators_[0]
        return _ours(forest, lambda X: first._read_for_prediction(X))
    if isinstance(model, (RandomForestClassifier, ExtraTreesClassifier)):
        return _theirs([m.tree_ for m in model.estimators_])
    if isinstance(model, BaseDecisionTree) and hasattr(model, "classes_"):
        return _theirs([model.tree_])
    return None


def _ours(forest: Any, read: Callable[[Any], Any]) -> PlainForest:
    trees = [_our_tree(tree, np.asarray(forest.nominal)) for tree in forest.trees]
    single = np.dtype(forest.dtype) == np.float32
    return PlainForest(trees, lambda X: np.asarray(read(X), dtype=np.float64), single)


def _our_tree(tree: Tree, nominal: np.ndarray) -> PlainTree:
    feature, extra, inner = np.array(tree.feature), np.array(tree.extra), np.array(tree.splits)
    named = inner & nominal[np.maximum(feature, 0)]
    levels = np.zeros(len(feature), dtype=np.uint64)
    if named.any():
        levels[named] = np.asarray(tree.sets)[extra[named] >> 1]
    value = np.zeros((len(feature), tree.leaf_value.shape[1]))
    value[~inner] = tree.leaf_value[extra[~inner]]
    return PlainTree(
        feature, np.asarray(tree.threshold, dtype=float), np.array(tree.child), np.array(tree.child) + 1,
        np.array(tree.missing_go_to_left), value, levels, named,
    )  # fmt: skip


def _theirs(trees: list[Any]) -> PlainForest | None:
    found = []
    for t in trees:
        if t.n_outputs != 1:
            return None
        value = np.asarray(t.value)[:, 0, :]
        feature = np.where(t.children_left >= 0, t.feature, -1)
        found.append(PlainTree(
            feature, np.asarray(t.threshold), t.children_left, t.children_right,
            np.asarray(t.missing_go_to_left, dtype=bool), value / value.sum(axis=1, keepdims=True),
            np.zeros(len(feature), dtype=np.uint64), np.zeros(len(feature), dtype=bool),
        ))  # fmt: skip
    return PlainForest(found, lambda X: np.asarray(X, dtype=np.float64), True)
