"""Rows of a kernel matrix: the cache is bounded and forgets nothing it should keep."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.problems.gram import KernelRows
from separatrix.problems.kernels import Kernel


def test_cache_is_bounded():
    X = np.random.default_rng(0).normal(size=(500, 3))
    rows = KernelRows(Kernel("rbf", 0.5), Kernel("rbf", 0.5).points(X), 0.2, False)
    assert rows.flat.nbytes <= 0.2e6
    for start in range(0, 500, 40):
        index = np.arange(start, min(start + 40, 500))
        slots = rows.fetch(index)
        np.testing.assert_allclose(rows.cache[slots], rbf_kernel(X[index], X, gamma=0.5), atol=1e-12)
    rows.narrow(np.arange(0, 500, 7))
    again = np.arange(470, 500)
    np.testing.assert_allclose(
        rows.cache[rows.fetch(again)], rbf_kernel(X[again], X[::7], gamma=0.5), atol=1e-12
    )


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_rows_between_positions_and_sums_of_rows_are_those_of_the_matrix(single, store):
    X = np.random.default_rng(1).normal(size=(90, 4))
    kernel = Kernel("rbf", 0.3)
    points = kernel.points(store(X), single=single)
    rows, K = KernelRows(kernel, points, 1.0, single), rbf_kernel(X, gamma=0.3)
    index, at, atol = np.array([3, 70, 11]), np.array([0, 88, 3]), 1e-5 if single else 1e-12
    slots = rows.fetch(index)
    np.testing.assert_allclose(rows.between(slots, at), K[np.ix_(index, at)], atol=atol)
    score, coef = np.zeros(90), np.array([1.0, -2.0, 0.5])
    rows.add(slots, coef, score)
    np.testing.assert_allclose(score, coef @ K[index], atol=5 * atol)
    computed = rows.computed
    rows.fetch(index[::-1].copy())
    assert rows.computed == computed == 3 * 90


def test_spared_rows_leave_the_cache_first():
    X = np.random.default_rng(2).normal(size=(50, 2))
    kernel = Kernel("linear")
    rows = KernelRows(kernel, kernel.points(X), 10 * 50 * 8 / 1e6, False)
    assert rows.capacity == 10
    first = rows.fetch(np.arange(5))
    rows.fetch(np.arange(5, 10))
    rows.spare(first[3:])
    rows.fetch(np.array([20, 21]))
    assert (rows.slot[[3, 4]] < 0).all() and (rows.slot[[0, 1, 2]] >= 0).all()
    rows.reset(np.arange(0, 50, 2))
    assert rows.used == 0 and rows.cache.shape[1] == 25
    np.testing.assert_allclose(rows.cache[rows.fetch(np.array([7]))], X[[7]] @ X[::2].T, atol=1e-13)
