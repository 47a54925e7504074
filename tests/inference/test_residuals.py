"""inference/residuals.py: residuals and leverages by their definitions, Cook's distance by fits without the row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from scipy import stats

from separatrix import GeneralizedLinearModel
from separatrix.inference.residuals import residuals
from tests.inference.direct import FREE, both, draw, few, glm, kinds, seeds


@kinds
@few
@given(seed=seeds)
def test_residuals_by_their_definitions(kind, seed):
    model, d = both(kind, seed, frequency=True, precision=kind in FREE, offset=True)
    V = d.loss.response.variance(d.mu)
    raw = d.y - d.mu
    pearson = raw * np.sqrt(d.v / V)
    np.testing.assert_allclose(model.residuals("response"), raw, atol=1e-8)
    np.testing.assert_allclose(model.residuals("pearson"), pearson, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        model.residuals("working"), raw / d.loss.link.first(d.eta(d.beta)), rtol=1e-6, atol=1e-8
    )
    deviance = model.residuals()
    assert float(d.f @ deviance**2) == pytest.approx(model.deviance_, rel=1e-8)
    np.testing.assert_array_equal(np.sign(deviance), np.sign(model.residuals("response")))
    assert float(d.f @ model.leverage()) == pytest.approx(3.0, rel=1e-7)
    np.testing.assert_allclose(model.leverage(), d.h, rtol=1e-6)
    assert ((model.leverage() > 0) & (model.leverage() < 1)).all()
    scale = np.sqrt(d.phi * (1 - d.h))
    for which in ("pearson", "deviance"):
        np.testing.assert_allclose(
            model.residuals(which, standardised=True), model.residuals(which) / scale, rtol=1e-6
        )
    np.testing.assert_allclose(
        model.cooks_distance(), pearson**2 * d.h / (3 * d.phi * (1 - d.h) ** 2), rtol=1e-5, atol=1e-10
    )


def test_cooks_distance_is_how_far_the_fit_moves():
    """Gaussian: (β̂ − β̂₋ᵢ)ᵀ AᵀA (β̂ − β̂₋ᵢ)/kφ, exactly."""
    X, y = draw("gaussian")
    model = glm("gaussian").fit(X, y)
    A = np.column_stack([np.ones(70), X])
    whole = np.append(model.intercept_, model.coef_)
    found = model.cooks_distance()
    for i in range(0, 70, 9):
        keep = np.arange(70) != i
        left = glm("gaussian").fit(X[keep], y[keep])
        move = whole - np.append(left.intercept_, left.coef_)
        assert found[i] == pytest.approx(move @ A.T @ A @ move / (3 * model.dispersion_), rel=1e-8)
    # standardised residuals: those of a row left out, up to the dispersion
    assert (model.residuals("pearson", standardised=True) ** 2).mean() == pytest.approx(1.0, abs=0.1)


def test_residuals_of_counts_and_proportions():
    rng = np.random.default_rng(0)
    X, trials = rng.uniform(-1, 1, (30, 2)), rng.integers(1, 9, 30)
    wins = rng.binomial(trials, 0.4)
    model = GeneralizedLinearModel("binomial").fit(X, np.column_stack([wins, trials - wins]))
    mu = model.predict(X)
    np.testing.assert_allclose(
        model.residuals("pearson"), (wins - trials * mu) / np.sqrt(trials * mu * (1 - mu)), rtol=1e-8
    )
    part = scipy.special.xlogy(wins, wins / (trials * mu)) + scipy.special.xlogy(
        trials - wins, (trials - wins) / (trials * (1 - mu))
    )
    np.testing.assert_allclose(model.residuals() ** 2, 2 * part, atol=1e-9)
    log_p = stats.binom.logpmf(wins, trials, mu).sum()
    assert model.log_likelihood_ == pytest.approx(log_p, rel=1e-9)


def test_responses_less_their_means_vanish_along_every_column_of_a_canonical_model():
    model, d = both("poisson", frequency=True)
    raw = residuals(model._likelihood_, "response")
    np.testing.assert_allclose(d.A.T @ (d.f * raw), 0.0, atol=1e-8)
