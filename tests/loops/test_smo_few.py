"""Few variables in one call: what is free settles at once, and steps are as pairs alone would have taken them."""

import numpy as np
import pytest

from separatrix.loops.smo import pairs
from separatrix.loops.smo_few import few_pairs


def machine(seed, n=40, C=1.0):
    """(K, v, β, low, high) of a radial machine at zero."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 3)), np.where(rng.random(n) < 0.4, 1.0, -1.0)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    return K, y.copy(), np.zeros(n), np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_pairs_alone_come_to_in_fewer_steps(seed):
    K, v, beta, low, high = machine(seed)
    row, labels = np.arange(len(v)), v.copy()
    steps, indefinite = few_pairs(K, row, v, beta, low, high, 1e-4, 1e-13, 100_000, -np.inf)
    alone, slope = np.zeros(len(v)), labels.copy()
    more, _, _ = pairs(K, row, slope, alone, low, high, 1e-13, 0.0, 100_000, -np.inf)
    assert not indefinite and 0 < steps < more
    np.testing.assert_allclose(beta, alone, atol=1e-10)
    np.testing.assert_allclose(v, labels - K @ beta, atol=1e-12)
    assert abs(beta.sum()) < 1e-12 and (beta >= low).all() and (beta <= high).all()


def test_free_variables_settle_at_once_where_the_box_allows():
    K, v, beta, low, high = machine(1)
    row, labels = np.arange(len(v)), v.copy()
    few_pairs(K, row, v, beta, low, high, 1e-4, 1e-13, 100_000, -np.inf)
    free = np.flatnonzero((beta > low) & (beta < high))
    near = beta.copy()
    near[free[:2]] += np.array([1e-3, -1e-3]) * (high - low)[free[:2]].min() * 0.1
    slope = labels - K @ near
    few_pairs(K, row, slope, near, low, high, 1e-4, 1e-13, 0, -np.inf)  # no step of a pair
    np.testing.assert_allclose(near, beta, atol=1e-10)
    np.testing.assert_allclose(slope, labels - K @ near, atol=1e-12)


def test_nothing_settles_in_the_way_of_the_box_or_without_a_factor():
    K, v, beta, low, high = machine(2, C=1e-3)
    beta[:] = 0.5 * (low + high)
    beta -= beta.mean()
    beta = np.clip(beta, 0.9 * low, 0.9 * high)
    before, slope = beta.copy(), v - K @ beta
    few_pairs(K, np.arange(len(v)), slope, beta, low, high, 1e-4, 1e-13, 0, -np.inf)
    np.testing.assert_array_equal(beta, before)  # all would leave the box
    flat = np.zeros_like(K)
    few_pairs(flat, np.arange(len(v)), v, beta, low, high, 1e-4, 1e-13, 0, -np.inf)
    np.testing.assert_array_equal(beta, before)


def test_steps_are_limited_and_a_negative_curvature_is_told():
    K, v, beta, low, high = machine(3)
    steps, _ = few_pairs(K, np.arange(len(v)), v, beta, low, high, 1e-4, 1e-13, 7, -np.inf)
    assert steps <= 7
    K, v, beta, low, high = machine(3)
    found = few_pairs(-K, np.arange(len(v)), v, beta, low, high, 1e-4, 1e-13, 100, -1e-10)
    assert found[1]
