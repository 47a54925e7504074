"""What loops of trees return, and the walk, against plain Python; the laws of growth are in ``tests/growth``."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.growth.forest import tree_key
from separatrix.growth.growers import Binned, Columns, Options
from separatrix.growth.trees import Tree
from separatrix.loops.trees.walk import add_leaves


def grown(kind, criterion="squared_error") -> tuple[Tree, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (120, 3)).astype(float), rng.normal(size=120)
    X[::9, 1] = np.nan
    columns, rows = kind.of(X), np.arange(120, dtype=np.int32)
    key = np.uint64(tree_key(0, 0, 0))
    tree = columns.grow(rows, y.copy(), np.ones(120), True, 0, Options(criterion, 3, min_leaf=4), key, 0.0)
    return tree, X.astype(columns.dtype), y


def leaf_of(tree, x):
    here = 0
    while tree.feature[here] >= 0:
        cell = x[tree.feature[here]]
        left = bool(tree.extra[here] & 1) if np.isnan(cell) else cell <= tree.threshold[here]
        here = tree.child[here] + (0 if left else 1)
    return here


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("kind", [Binned, Columns])
def test_the_walk_ends_where_the_rows_were_sent(kind, criterion):
    tree, X, y = grown(kind, criterion)
    ends = tree.ends(X, np.zeros(3, bool))
    np.testing.assert_array_equal(ends, [leaf_of(tree, x) for x in X])
    middle = np.mean if criterion == "squared_error" else np.median
    assert tree.n_leaves > 5 and tree.count[tree.feature < 0].min() >= 4
    for here in np.unique(ends):
        assert tree.count[here] == (ends == here).sum()
        assert tree.leaf_value[tree.extra[here], 0] == pytest.approx(middle(y[ends == here]), abs=1e-12)


def test_leaves_are_added_to_the_rows_named():
    tree, X, _ = grown(Binned)
    ends, rows, out = tree.ends(X[:4], np.zeros(3, bool)), np.array([5, 0, 2, 3]), np.ones((6, 1))
    add_leaves(ends, tree.nodes, tree.leaf_value.ravel(), 1, rows, out)
    np.testing.assert_allclose(out[rows, 0], 1 + tree.leaf_value[tree.extra[ends], 0])
    assert out[1, 0] == out[4, 0] == 1


@pytest.mark.parametrize("spread", [0.0, 1.0, 12.0])
def test_the_first_cut_is_ginis_best_of_many_classes(spread):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 40, (300, 4)).astype(float), rng.integers(0, 5, 300)
    weight = 10.0 ** (-spread * rng.random(300))
    given = np.arange(300, dtype=np.int32), y.astype(np.uint8), weight.copy(), spread == 0.0
    tree = Binned.of(X).grow(*given, 5, Options("gini", 4, max_depth=1), np.uint64(7), 0.0)

    def left_in(rows):
        shares = np.bincount(y[rows], weight[rows], 5)
        return (shares @ shares) / shares.sum()

    cuts = [
        (left_in(X[:, j] <= t) + left_in(X[:, j] > t), j, t) for j in range(4) for t in np.arange(39) + 0.5
    ]
    best = max(cuts)
    j, t = tree.feature[0], tree.threshold[0]
    assert left_in(X[:, j] <= t) + left_in(X[:, j] > t) == pytest.approx(best[0], rel=1e-10)
