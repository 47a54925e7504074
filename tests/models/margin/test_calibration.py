"""Scores to probabilities, against scikit-learn's and by the conditions that define them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

from separatrix.core.numerics import expit
from separatrix.models.margin.calibration import Isotonic, Sigmoid, calibrate, couple


def drawn(seed: int, n: int = 300):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n) * 3
    return score, rng.random(n) < expit(1.5 * score - 0.4), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_sigmoid_is_scikit_learns(seed):
    score, positive, _ = drawn(seed)
    theirs = _SigmoidCalibration().fit(score, positive.astype(int))
    ours = calibrate("sigmoid", score, positive)
    assert isinstance(ours, Sigmoid)
    np.testing.assert_allclose([ours.slope, ours.offset], [-theirs.a_, -theirs.b_], rtol=1e-4)


def test_sigmoid_maximises_the_likelihood_of_platts_targets():
    score, positive, weight = drawn(9)
    above, below = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (above + 1) / (above + 2), 1 / (below + 2))

    def nll(t):
        eta = t[0] * score + t[1]
        return float(weight @ (np.logaddexp(0, eta) - target * eta))

    best = optimize.minimize(nll, [1.0, 0.0], tol=1e-12).x
    ours = calibrate("sigmoid", score, positive, weight)
    np.testing.assert_allclose([ours.slope, ours.offset], best, atol=1e-5)


def test_separated_scores_have_a_finite_sigmoid():
    score = np.array([-2.0, -1.0, 1.0, 2.0])
    ours = calibrate("sigmoid", score, score > 0)
    assert 0 < ours.slope < 10 and np.all(np.abs(ours.probability(score) - (score > 0)) < 0.5)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("noise", [0.0, 1e-15])
def test_scores_that_differ_by_rounding_are_one_score(method, noise):
    """A machine with w = 0: no slope may be read into the last bits."""
    rng = np.random.default_rng(0)
    positive = np.arange(40) < 10
    score = -1.0 + noise * (positive + rng.random(40))
    ours = calibrate(method, score, positive)
    want = (10 * 11 / 12 + 30 / 32) / 40 if method == "sigmoid" else 0.25
    np.testing.assert_allclose(ours.probability(np.array([-1.0, -1.0 + 4e-16, 3.0])), want, rtol=1e-12)


def test_isotonic_is_scikit_learns():
    score, positive, weight = drawn(3)
    ours = calibrate("isotonic", score, positive, weight)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(score, positive, weight)
    assert isinstance(ours, Isotonic)
    grid = np.linspace(-12, 12, 400)
    np.testing.assert_allclose(ours.probability(grid), theirs.predict(grid), atol=1e-12)
    assert (np.diff(ours.probability(grid)) >= 0).all()


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_weight_repeats_a_row(method):
    score, positive, weight = drawn(4, 60)
    times = weight.astype(int)
    a = calibrate(method, score, positive, weight)
    b = calibrate(method, np.repeat(score, times), np.repeat(positive, times))
    np.testing.assert_allclose(a.probability(score), b.probability(score), atol=1e-9)


@given(st.integers(2, 6), st.integers(0, 10_000))
def test_coupling_returns_what_pairs_came_from(k, seed):
    p = np.random.default_rng(seed).dirichlet(np.ones(k), size=5) * 0.98 + 0.02 / k
    pairs = p[:, :, None] / (p[:, :, None] + p[:, None, :])
    np.testing.assert_allclose(couple(pairs), p, rtol=1e-7)


def test_refusals():
    with pytest.raises(ValueError, match="unknown"):
        calibrate("platt", np.zeros(2), np.array([True, False]))
    with pytest.raises(ValueError, match="both classes"):
        calibrate("sigmoid", np.zeros(2), np.array([True, True]))
