"""Columns of two values: what the lists say, and that counting grows the trees that reading the cells grows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from separatrix.growth.forest import grow_forest
from separatrix.growth.growers import Columns, Options
from separatrix.growth.pairs import Pairs


def table(n=700, seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 9)) < [0.02, 0.1, 0.5, 0.7, 0.99, 0.3, 0.3, 0.3, 0.3], 2.5, -1.0)
    X[:, 6], X[:, 7], X[0, 8] = rng.normal(size=n), 4.0, np.nan
    return X


def test_lists_hold_the_rarer_cells():
    columns = Columns.of(table())
    pairs = columns.pairs
    assert pairs.slot.tolist() == [0, 1, 2, 3, 4, 5, -1, -1, -1] and pairs.count == 6
    dense = np.zeros((6, 700), bool)
    for i in range(700):
        dense[pairs.columns[pairs.begins[i] : pairs.begins[i + 1]], i] = True
    values = np.where(dense, pairs.rarer[:6, None], pairs.base[:6, None])
    np.testing.assert_array_equal(values, columns.cells[:6])
    assert (dense.mean(axis=1) <= 0.5).all()


def test_lists_are_worth_it_only_while_they_are_short():
    pairs = Columns.of(table()).pairs
    assert pairs.worth(2, 3) and not pairs.worth(1000, 3)
    wide = Pairs.of(np.tile(np.float32([[0], [1]]), (40, 50)).reshape(80, 50), np.zeros(80, bool))
    assert wide.count == 0  # a constant has one value
    half = Pairs.of(np.tile(np.float32([0, 1]), (80, 25)), np.zeros(80, bool))
    assert half.count == 80 and not half.worth(2, 9)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "normalized_gain"])
@pytest.mark.parametrize("classes", [2, 3, 8, 12])
@pytest.mark.parametrize("limits", [{}, {"min_leaf": 4}, {"max_depth": 5, "min_decrease": 0.002}])
def test_counted_columns_grow_the_tree_that_their_cells_do(criterion, classes, limits):
    X = table()
    y = np.random.default_rng(1).integers(0, classes, len(X))
    options = Options(criterion, 3, **limits)
    counting = Columns.of(X)
    reading = replace(counting, pairs=Pairs.none(9, len(X)))
    for weights in (None, np.arange(len(X)) % 3.0):
        a, b = (grow_forest(c, y, classes, options, 5, 3, weights) for c in (counting, reading))
        for s, t in zip(a.trees, b.trees, strict=True):
            np.testing.assert_array_equal(s.nodes, t.nodes)
            np.testing.assert_array_equal(s.leaf_value, t.leaf_value)
            np.testing.assert_array_equal(s.gains, t.gains)
