"""Softmax's losses and slopes by compiled loops, against SciPy, the loss itself and exact tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from separatrix.core.losses import Multinomial
from separatrix.loops.softmax import less_the_largest, slopes
from separatrix.problems.bends import class_derivatives, value_slope


def answered(scores, y):
    """(losses, P − Y, p_y) of a copy of the scores."""
    e, own, chance = scores.copy(), np.empty(len(scores)), np.empty(len(scores))
    less_the_largest(e, y, own)
    np.exp(e, out=e)
    slopes(e, y, own, chance)
    return own, e, chance


@pytest.mark.parametrize("classes", [2, 3, 8, 17])
@pytest.mark.parametrize("spread", [0.01, 3.0, 200.0])
def test_losses_slopes_and_chances(classes, spread):
    rng = np.random.default_rng(classes)
    scores, y = spread * rng.normal(size=(300, classes)), rng.integers(0, classes, 300)
    losses, slope, chance = answered(scores, y)
    at = np.arange(300)
    wanted = softmax(scores, axis=1)
    np.testing.assert_allclose(losses, -log_softmax(scores, axis=1)[at, y], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(chance, wanted[at, y], rtol=1e-13)
    wanted[at, y] = 0.0
    wanted[at, y] = -wanted.sum(axis=1)  # P_y − 1 would keep no digit of a small error
    np.testing.assert_allclose(slope, wanted, rtol=1e-11, atol=1e-16)


def test_a_sure_row_keeps_the_digits_of_its_error():
    losses, slope, _ = answered(np.array([[0.0, 60.0, -5.0]]), np.array([1]))
    error = np.exp(-60.0) + np.exp(-65.0)
    np.testing.assert_allclose([losses[0], -slope[0, 1]], error, rtol=1e-14)
    assert slope.sum() == pytest.approx(0.0, abs=1e-40)


def test_numbers_that_are_none_are_seen():
    losses, slope, _ = answered(np.array([[0.0, np.nan, 1.0], [0.0, 1.0, 2.0]]), np.array([0, 0]))
    assert np.isnan(losses[0]) and np.isnan(slope[0]).any() and np.isfinite(slope[1]).all()


@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_the_loss_itself_says_the_same(spread):
    """On both sides of the chance of error where the Hessian's form changes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 200)
    scores = rng.normal(size=(200, 4))
    scores[np.arange(200), y] += spread
    loss = Multinomial()
    for mine, its in (
        (value_slope(loss, scores.copy(), y), loss.value_slope(scores.copy(), y)),
        (class_derivatives(loss, scores.copy, y), loss.class_derivatives(scores.copy(), y)),
    ):
        for found, wanted in zip(mine, its, strict=True):
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-16)
