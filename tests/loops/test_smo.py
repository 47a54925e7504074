"""Loops of sequential minimal optimisation: what a pair keeps, what it gains, and where it stops."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.loops.smo import choose, levelled, pairs, pairs_within, settled, slopes


def problem(q=14, seed=0):
    """f(β) = ½βᵀKβ + pᵀβ on a box: (K, p, β, low, high, v = −∂f/∂β)."""
    rng = np.random.default_rng(seed)
    A, p = rng.normal(size=(q, q)), rng.normal(size=q)
    K, beta = A @ A.T / q + 0.1 * np.eye(q), np.zeros(q)
    return K, p, beta, np.where(np.arange(q) % 2, -1.0, 0.0), np.where(np.arange(q) % 2, 0.0, 1.0), -p.copy()


def violation(v, beta, low, high):
    return v[beta < high].max() - v[beta > low].min()


def test_slopes_and_who_may_move():
    rng = np.random.default_rng(0)
    score, linear, position = rng.normal(size=9), rng.normal(size=5), np.array([7, 1, 3, 0, 8])
    beta, low, high, v = np.array([0.0, 1, 0.5, 1, 0]), np.zeros(5), np.ones(5), np.empty(5)
    up, i, lo, j = slopes(score, position, linear, beta, low, high, v)
    np.testing.assert_array_equal(v, -score[position] - linear)
    assert (up, lo) == (v[beta < 1].max(), v[beta > 0].min()) and (v[i], v[j]) == (up, lo)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pairs_keep_the_sum_and_tell_what_they_gained(dtype):
    K, p, beta, low, high, v = problem()
    v = v.astype(dtype)
    tol = 1e-9 if dtype is np.float64 else 1e-4
    steps, gained, indefinite = pairs(
        K.astype(dtype), np.arange(14), v, beta, low, high, tol, 0.0, 10_000, -1e-6
    )
    assert 0 < steps < 10_000 and not indefinite and abs(beta.sum()) < 1e-12
    assert (beta >= low).all() and (beta <= high).all()
    np.testing.assert_allclose(v, -K @ beta - p, atol=10 * tol)
    assert violation(v, beta, low, high) <= 2 * tol
    assert gained == pytest.approx(-(0.5 * beta @ K @ beta + p @ beta), rel=100 * tol)


def test_pairs_within_keep_the_sum_of_each_group():
    K, p, beta, low, high, v = problem(seed=1)
    low, high, group = -np.ones(14), np.ones(14), (np.arange(14) % 3 == 0).astype(np.int64)
    beta[:] = 0.25
    v -= K @ beta
    start, sums = 0.5 * beta @ K @ beta + p @ beta, np.bincount(group, beta)
    _, gained, _ = pairs_within(K, np.arange(14), group, v, beta, low, high, 1e-9, 0.0, 10_000, -1e-6)
    np.testing.assert_allclose(np.bincount(group, beta), sums, atol=1e-12)
    assert max(violation(v[g], beta[g], low[g], high[g]) for g in (group == 0, group == 1)) <= 2e-9
    assert gained == pytest.approx(start - 0.5 * beta @ K @ beta - p @ beta)
    up, i, lo, j = levelled(v, group, beta, low, high, 2)
    assert up - lo <= 2e-9 and group[i] == group[j]


def test_a_working_set_holds_the_worst_pair_and_what_is_kept():
    rng = np.random.default_rng(2)
    v, beta, low, high = rng.normal(size=300), np.full(300, 0.5), np.zeros(300), np.ones(300)
    i, j = int(v.argmax()), int(v.argmin())
    found = choose(v, beta, low, high, v[i], i, v[j], j, np.array([5, 17]), 40)
    assert len(set(found)) == len(found) == 44 and {i, j, 5, 17} <= set(found)
    rest = np.setdiff1d(np.arange(300), found)
    assert np.abs(v[rest]).max() < np.abs(v[found]).max()


def test_what_is_at_a_bound_beyond_doubt_is_not_kept():
    v, beta = np.array([2.0, 2, -2, -2, 0]), np.array([1.0, 0, 1, 0, 0.5])
    keep = np.zeros(9, bool)
    settled(v, beta, np.zeros(5), np.ones(5), 1.0, -1.0, np.array([8, 1, 2, 3, 4]), keep)
    assert np.flatnonzero(keep).tolist() == [1, 2, 4]


def test_the_larger_and_the_smaller_are_so_of_either_precision():
    for dtype in (np.float32, np.float64):
        K = np.eye(5, dtype=dtype)
        v = np.array([0.5, -2.0, 1.5, 0.0, -0.5], dtype)
        beta, low, high = np.zeros(5), np.full(5, -1.0), np.ones(5)
        steps, gained, _ = pairs(K, np.arange(5), v, beta, low, high, 1e-9, 0.0, 1, -np.inf)
        # the largest slope rises, and of its partners the one that gains most falls
        assert steps == 1 and beta.tolist() == [0, -1.0, 1.0, 0, 0] and gained == pytest.approx(3.5 - 1.0)
