"""Levels counted by class against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.loops.levels import count_levels, largest_levels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_leave_out_missing_cells_and_rows_without_a_class(dtype, weighted):
    rng = np.random.default_rng(0)
    X = rng.integers(0, [2, 5, 3], (400, 3)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    codes, w = rng.integers(-1, 4, 400), rng.random(400) if weighted else np.empty(0)
    largest = np.full(3, -1.0)
    assert largest_levels(X, 100.0, largest)
    assert largest.tolist() == np.nanmax(X, axis=0).tolist()
    sizes = np.array([2, 5, 3])
    first = np.cumsum(sizes) - sizes
    counts = np.zeros(4 * 10)
    count_levels(X, codes, w, 4 * first + np.arange(4)[:, None] * sizes, counts)
    each = w if weighted else np.ones(400)
    for j, size in enumerate(sizes):
        table = counts[4 * first[j] : 4 * first[j] + 4 * size].reshape(4, size)
        wanted = [[each[(codes == k) & (X[:, j] == v)].sum() for v in range(size)] for k in range(4)]
        np.testing.assert_allclose(table, wanted, rtol=1e-12)


@pytest.mark.parametrize("wrong", [-1.0, 0.5, np.inf, -np.inf, 100.0])
def test_what_is_no_level_is_seen(wrong):
    X = np.zeros((5, 3))
    assert largest_levels(X, 100.0, np.full(3, -1.0))
    X[3, 1] = wrong
    assert not largest_levels(X, 100.0, np.full(3, -1.0))
