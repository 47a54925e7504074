"""Loops over sparse rows against the same products of dense arrays."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from separatrix.loops.sparse import (
    add_pairs,
    add_rows,
    back_1,
    back_k,
    column_sums,
    largest_square,
    scores_1,
    scores_k,
)

RNG = np.random.default_rng(0)
X = sp.random(23, 7, 0.4, format="csr", random_state=0)
PARTS = X.data, X.indices, X.indptr
DENSE = X.toarray()


def test_scores_and_back_are_the_products():
    w, W = RNG.normal(size=7), RNG.normal(size=(7, 3))
    one, some = np.empty(23), np.empty((23, 3))
    scores_1(*PARTS, w, 0.5, one)
    scores_k(*PARTS, W, np.arange(3.0), some)
    np.testing.assert_allclose(one, DENSE @ w + 0.5, atol=1e-14)
    np.testing.assert_allclose(some, DENSE @ W + np.arange(3.0), atol=1e-14)
    out, outs = np.ones(7), np.ones((7, 3))
    back_1(*PARTS, one, out)
    back_k(*PARTS, some, outs)
    np.testing.assert_allclose(out, 1 + DENSE.T @ one, atol=1e-13)
    np.testing.assert_allclose(outs, 1 + DENSE.T @ some, atol=1e-13)


def test_sums_of_rows_and_of_columns():
    rows, weight = np.array([3, 3, 11]), np.array([1.0, 2.0, -1.0])
    out = np.zeros(7)
    add_rows(*PARTS, rows, weight, out)
    np.testing.assert_allclose(out, weight @ DENSE[rows], atol=1e-14)
    w = RNG.random(23)
    sums = np.zeros((7, 2))
    column_sums(X.data, X.indices, np.repeat(w, np.diff(X.indptr)), sums)
    np.testing.assert_allclose(sums, np.column_stack([w @ DENSE, w @ DENSE**2]), atol=1e-13)


def test_pairs_of_cells_in_any_order_and_parts_are_the_weighted_products_of_rows():
    w = RNG.normal(size=23) * (RNG.random(23) < 0.7)
    for parts in (PARTS, (X.data[::-1].copy(), X.indices[::-1].copy(), X.nnz - X.indptr[::-1])):
        rows = sp.csr_matrix(parts, X.shape).toarray()
        half = np.zeros((7, 7))
        add_pairs(*parts, w, half)
        np.testing.assert_allclose(half + half.T, (rows.T * w) @ rows, atol=1e-14)
    half = np.zeros((7, 7))
    twice = np.array([1.0, 2.0, 4.0]), np.array([3, 5, 3], dtype=np.int32), np.array([0, 3], dtype=np.int32)
    add_pairs(*twice, np.ones(1), half)
    row = np.zeros(7)
    row[[3, 5]] = 5.0, 2.0
    np.testing.assert_array_equal(half + half.T, np.outer(row, row))


def test_the_largest_square_is_of_rows_that_weigh_something():
    square, line, weight = RNG.random(7), RNG.normal(size=7), np.ones(23)
    values = 0.5 + DENSE**2 @ square + DENSE @ line
    assert np.isclose(largest_square(*PARTS, np.empty(0), square, line, 0.5), values.max())
    weight[values.argmax()] = 0.0
    assert np.isclose(largest_square(*PARTS, weight, square, line, 0.5), np.sort(values)[-2])
