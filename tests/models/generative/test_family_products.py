"""Sums of log densities as products of matrices against the densities cell by cell, and rows where they are none."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.core.families import family
from separatrix.models.generative.parts.measured import _as_product, summed_density

DRAWN = {
    "gaussian": lambda rng, n: rng.normal(3.0, 2.0, n),
    "poisson": lambda rng, n: rng.poisson(4.0, n).astype(float),
    "exponential": lambda rng, n: rng.exponential(2.0, n),
    "gamma": lambda rng, n: rng.gamma(3.0, 2.0, n),
    "beta": lambda rng, n: rng.beta(2.0, 3.0, n),
    "bernoulli": lambda rng, n: (rng.random(n) < 0.3).astype(float),
}
N, P, K = 400, 4, 3


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("missing", [False, True])
def test_products_are_sums_of_densities(name, missing):
    f, rng = family(name), np.random.default_rng(0)
    X = DRAWN[name](rng, (N, P))
    facts = f.facts(X)
    groups = np.arange(N) % K
    means = tuple(np.array([t[groups == k].mean(axis=0) for k in range(K)]) for t in facts)
    second = np.array([((X[groups == k] - X[groups == k].mean(axis=0)) ** 2).sum(axis=0) for k in range(K)])
    parameters = f.estimate(np.full((K, P), N / K), means, second)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    X[3, 1], X[4, 2] = -7.5, 1e9  # outside the support of most, far out in the others
    X[5, 0] = np.inf
    density = f.log_density(X[:, None, :], parameters)
    wanted = np.where(np.isnan(X)[:, None, :], 0.0, density).sum(axis=2)
    np.testing.assert_allclose(summed_density(f, X, parameters), wanted, rtol=1e-10, atol=1e-8)
    loose = _as_product(f, X, parameters)[1]
    assert loose[5] and loose.sum() <= 3
    together = _as_product(f, np.delete(X, [3, 4, 5], axis=0), parameters)[1]
    assert not together.any()


def test_large_parameters_are_not_a_product():
    gamma = family("gamma")
    parameters = {"shape": np.full((2, 1), 1e8), "rate": np.array([[1e8], [1.0001e8]])}
    X = np.full((5, 1), 1.0)
    assert _as_product(gamma, X, parameters)[1].all()
    np.testing.assert_array_equal(
        summed_density(gamma, X, parameters), gamma.log_density(X[:, None, :], parameters).sum(axis=2)
    )
