"""Orders and scores of the perceptron's loops."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.loops.perceptron import dealt, dense_scores, next_mistake, shuffled


@pytest.mark.parametrize("seed", [0, 1])
def test_orders_hold_every_row_once(seed):
    rows = np.arange(100)
    order, as_dealt = dealt(rows, seed, 8, 32)
    for found in (shuffled(rows, seed), order, as_dealt):
        np.testing.assert_array_equal(np.sort(found), rows)
    np.testing.assert_array_equal(np.sort(order[:32]), np.sort(as_dealt[:32]))
    assert (shuffled(rows, seed) != shuffled(rows, seed + 1)).any()


def test_the_next_mistake_is_where_the_margin_is_not_above_zero():
    X, w = np.array([[1.0, 2.0], [0.0, 1.0], [2.0, 0.0]]), np.array([1.0, -1.0, 0.5])
    scores = dense_scores(X, w)
    np.testing.assert_allclose(scores, X @ w[:2] + w[2])
    assert next_mistake(scores, np.sign(scores).astype(np.int8), np.arange(3), 0) == 3
    assert next_mistake(scores, np.ones(3, np.int8), np.array([2, 1, 0]), 0) == 1
