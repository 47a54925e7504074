"""Sums of curvature: every way of adding them gives Σ_i s_i ℓ''(η_i) ⊗ z_i z_iᵀ, however the rows lie in memory."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.core.losses import Logistic, Multinomial
from separatrix.problems import bends
from separatrix.problems.bends import (
    FORMED,
    OfClasses,
    OfPairs,
    OfScores,
    add_narrow,
    bends_of,
    products,
)
from separatrix.problems.objective import helmert


def rows(n, p, order="C", seed=0):
    rng = np.random.default_rng(seed)
    return np.array(rng.normal(size=(3 * n, p)), order=order)[n : 2 * n], rng


def straight(z, curvature, weight, basis):
    """The sum as it is written."""
    turned = np.einsum("ka,ikl,lb->iab", basis, curvature, basis) * weight[:, None, None]
    k, q = basis.shape[1], z.shape[1]
    return np.einsum("iab,ij,il->ajbl", turned, z, z).reshape(k * q, k * q)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("one", [True, False])
@pytest.mark.parametrize("p", [1, 2, 9, 10, 17])
def test_one_score_a_row(order, one, p):
    x, rng = rows(600, p, order)
    y, eta, weight = rng.choice([-1.0, 1.0], 600), rng.normal(size=600), rng.integers(0, 3, 600).astype(float)
    way = bends_of(p, one, None)
    for part in (slice(0, 400), slice(400, 600)):
        bend = way.derivatives(Logistic(), lambda part=part: eta[part], y[part])[2]
        way.add(x[part], bend, weight[part])
    z = np.column_stack([x, np.ones(600)]) if one else x
    curvature = Logistic().derivatives(eta, y)[2] * weight
    np.testing.assert_allclose(way.total(), z.T @ (curvature[:, None] * z), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("way", [OfPairs, OfClasses])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("sure", [1.0, 30.0])
@pytest.mark.parametrize("k", [3, 5])
def test_classes_by_pairs_and_one_by_one(way, order, sure, k):
    x, rng = rows(300, 4, order)
    y, basis = rng.integers(0, k, 300), helmert(k)
    eta, weight = sure * rng.normal(size=(300, k)), rng.integers(0, 3, 300).astype(float)
    if sure > 1:
        eta[np.arange(300), y] += 10 * sure
    sums = way(4, True, basis)
    for part in (slice(0, 200), slice(200, 300)):
        bend = sums.derivatives(Multinomial(), lambda part=part: eta[part].copy(), y[part])[2]
        sums.add(x[part], bend, weight[part])
    z = np.column_stack([x, np.ones(300)])
    exact = straight(z, Multinomial().derivatives(eta, y)[2], weight, basis)
    np.testing.assert_allclose(sums.total(), exact, rtol=1e-9, atol=1e-11 * np.abs(exact).max())


def test_the_way_goes_by_classes_and_width_and_its_price_too():
    chosen = [type(bends_of(p, True, helmert(k))) for p, k in ((4, 3), (4, 6), (4, 7), (40, 7), (40, 11))]
    assert chosen == [OfPairs, OfPairs, OfClasses, OfPairs, OfClasses]
    pairs, classes = FORMED
    assert (products(5, None), products(5, 3)) == (25, 75 + 15 * pairs)
    assert products(5, 7) == 43 * 25 + 13 * 5 * classes


def test_cells_with_gaps_are_left_to_blas():
    x, _ = rows(100, 8)
    total = np.zeros((5, 5))
    assert not add_narrow(total, x[:, ::2], np.ones(100)) and not total.any()
    way = OfScores(4, True)
    way.add(x[:, ::2], np.ones(100), None)
    z = np.column_stack([x[:, ::2], np.ones(100)])
    np.testing.assert_allclose(way.total(), z.T @ z, rtol=1e-12, atol=1e-12)
    locked = np.array(x[:, :4])
    locked.flags.writeable = False
    assert bends.NARROW >= 5 and add_narrow(total, locked, np.ones(100))
