"""Logarithms of shares of counts against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.loops.shares import log_shares


@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
def test_shares_are_those_of_numpy(others, alpha):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.4, (5, 90)).astype(float)
    counts[:, 7] = 0.0
    counts[1:, 8] = 0.0  # one class alone: of all others there is none
    add, log_total = alpha * rng.random(90), rng.normal(size=5)
    whole = counts.sum(axis=0) if others else np.empty(0)
    N = whole - counts if others else counts
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.log(N + add) - log_total[:, None]
        losses = -np.where(N > 0, N * wanted, 0.0)[:, 10:80].sum(axis=1)
    weights, found = np.full((90, 5), 3.0), np.zeros(5)
    zeros = log_shares(counts, whole, add, log_total, 10, 80, weights, found)
    zeros += log_shares(counts, whole, add, log_total, 0, 10, weights, np.zeros(5))
    assert zeros == np.count_nonzero(N[:, :80] == 0)
    np.testing.assert_allclose(weights[:80].T, wanted[:, :80], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found, losses, rtol=1e-12)
    assert (weights[80:] == 3.0).all()
