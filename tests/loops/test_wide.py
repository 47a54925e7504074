"""The cells of a wide table that are not zero, and sums of them, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.loops.wide import cells_not_zero, row_products, stored_moments


def lines(m=9, q=37, share=0.2, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((m, q)) < share, rng.normal(size=(m, q)), 0.0).astype(dtype)


def found(cells, room):
    data, places = np.empty(room), np.empty(room, dtype=np.int32)
    starts = np.empty(len(cells) + 1, dtype=np.int32)
    count = cells_not_zero(cells, data, places, starts)
    return count, data[: max(count, 0)], places[: max(count, 0)], starts


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("q", [3, 8, 37, 64])
@pytest.mark.parametrize("writeable", [True, False])
def test_cells_are_those_of_a_csr_matrix(dtype, q, writeable):
    cells = lines(q=q, dtype=dtype)
    cells[2, 0], cells[3, q - 1], cells[4, 0], cells[5] = np.nan, np.inf, -0.0, 1e-40
    cells.flags.writeable = writeable
    wanted = sp.csr_array(cells)
    count, data, places, starts = found(cells, cells.size + 16)
    assert count == wanted.nnz
    np.testing.assert_array_equal(data, wanted.data)
    np.testing.assert_array_equal(places, wanted.indices)
    np.testing.assert_array_equal(starts, wanted.indptr)


def test_no_room_is_said():
    cells = np.ones((4, 40))
    assert found(cells, 100)[0] == -1
    assert found(cells, 160 + 8)[0] == 160


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_and_products_are_numpys(weighted):
    X = lines(12, 30, 0.3)
    X[:, 4], X[:, 5], X[:, 6] = 0.0, 3.7, np.where(np.arange(12) < 11, 1e8, 0.0)
    weight = np.random.default_rng(1).integers(0, 3, 12).astype(float) if weighted else np.ones(12)
    C = sp.csc_array(X)
    mean, second = np.empty(30), np.empty(30)
    stored_moments(C.data, C.indices, C.indptr, weight, mean, second)
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weight), rtol=1e-13)
    np.testing.assert_allclose(second, weight @ (X - mean) ** 2, rtol=1e-12, atol=1e-25)
    assert second[4] == 0.0 and second[5] < 1e-28
    products = np.zeros((12, 12))
    row_products(C.data, C.indices, C.indptr, products)
    np.testing.assert_allclose(products, np.tril(X @ X.T), rtol=1e-13, atol=1e-15)


def test_a_cell_that_is_no_number_shows():
    X = lines(12, 30, 0.3)
    X[3, 2], X[4, 7] = np.nan, np.inf
    C = sp.csc_array(X)
    mean, second = np.empty(30), np.empty(30)
    stored_moments(C.data, C.indices, C.indptr, np.ones(12), mean, second)
    assert np.flatnonzero(~np.isfinite(mean)).tolist() == [2, 7]
