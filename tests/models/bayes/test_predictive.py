"""The predictive distribution against brute-force integration over the weights, for K classes all K vectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy.special import expit, softmax
from sklearn.base import clone

from separatrix import BayesianLogisticRegression
from separatrix.models.bayes.predictive import monte_carlo, normal_draws, probit
from tests.models.bayes.beliefs import classes
from tests.models.reference import overlapping


@pytest.mark.parametrize("s2", [0.0, 0.5, 4.0, 40.0])
def test_two_class_predictives_against_the_integral(s2):
    m = np.linspace(-6, 6, 13)
    exact = [
        integrate.quad(
            lambda z, a=a: expit(a + np.sqrt(s2) * z) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), -12, 12
        )[0]
        for a in m
    ]
    S = np.full(len(m), s2)
    np.testing.assert_allclose(np.exp(probit(m, S))[:, 1], exact, atol=0.02)  # MacKay's, at its worst 0.018
    drawn = np.exp(monte_carlo(m, S, normal_draws(1000, 1, np.random.default_rng(0))))
    np.testing.assert_allclose(drawn[:, 1], exact, atol=1e-3)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)


def test_class_predictives_against_brute_force():
    X, y = overlapping(60, 3, 4, seed=1)
    model = BayesianLogisticRegression(0.2).fit(X, y)
    far = np.random.default_rng(0).normal(size=(30, 3)) * 4
    coef, intercept = model.sample_posterior(40_000, random_state=1)
    brute = np.mean([softmax(far @ w.T + b, axis=1) for w, b in zip(coef, intercept)], axis=0)
    error = 0.5 / np.sqrt(40_000)
    drawn = model.predict_proba(far, method="monte_carlo")
    np.testing.assert_allclose(drawn, brute, atol=4 * (error + 0.5 / np.sqrt(1000)))
    assert np.sqrt(np.mean((drawn - brute) ** 2)) < 0.5 / np.sqrt(1000)
    many = clone(model).set_params(n_samples=20_000, random_state=3).fit(X, y)
    np.testing.assert_allclose(many.predict_proba(far, method="monte_carlo"), brute, atol=6 * error)
    # the probit formula for K classes is cruder than for two: a few hundredths
    np.testing.assert_allclose(model.predict_proba(far), brute, atol=0.08)
    assert np.abs(model.predict_proba(far) - brute).mean() < 0.02
    plain = model.predict_proba(far, method="plugin")
    np.testing.assert_allclose(plain, softmax(model.decision_function(far), axis=1), rtol=1e-12)
    assert np.abs(plain - brute).mean() > 2 * np.abs(model.predict_proba(far) - brute).mean()


def test_two_classes_as_two_of_K():
    m, S = np.array([1.7, -0.4]), np.array([2.0, 9.0])
    half = np.array([[-0.5], [0.5]]) @ np.array([[-0.5, 0.5]])
    pair = probit(np.column_stack([-m / 2, m / 2]), S[:, None, None] * half)
    np.testing.assert_allclose(pair, probit(m, S), rtol=1e-12)


def test_small_probabilities_keep_their_digits():
    m, S = np.array([-2000.0, 3000.0]), np.array([1.0, 1.0])
    for log_p in (probit(m, S), monte_carlo(m, S, normal_draws(200, 1, np.random.default_rng(0)))):
        assert np.isfinite(log_p).all() and log_p[0, 1] < -500 and log_p[1, 0] < -500


@classes
def test_uncertainty_grows_away_from_the_data(K):
    X, y = overlapping(60, 2, K, seed=0)
    model = BayesianLogisticRegression().fit(X, y)
    ray = np.outer([1.0, 10.0, 1000.0], X[0])
    sure = model.predict_proba(ray, method="plugin").max(axis=1)
    moderated = model.predict_proba(ray).max(axis=1)
    assert (moderated < sure).all() and sure[-1] > 0.999 and moderated[-1] < 0.999
    if K == 2:
        low, high = model.predict_interval(ray).T
        assert (high - low)[1] > (high - low)[0] > 0
        near = model.predict_proba(ray)[:2, 1]
        assert ((low[:2] <= near) & (near <= high[:2])).all()


def test_intervals_hold_their_share_of_draws():
    for K in (2, 3):
        X, y = overlapping(80, 2, K, seed=3)
        model = BayesianLogisticRegression(n_samples=4000).fit(X, y)
        coef, intercept = model.sample_posterior(20_000, random_state=0)
        bounds = model.credible_intervals(0.8)
        draws = np.concatenate([intercept[..., None], coef], axis=-1)
        inside = ((draws >= bounds[..., 0]) & (draws <= bounds[..., 1])).mean(axis=0)
        np.testing.assert_allclose(inside, 0.8, atol=0.015)
        np.testing.assert_allclose(np.cov(draws.reshape(len(draws), -1).T), model.covariance_, atol=0.03)
        rows = X[:5] * 2
        p = model.predict_interval(rows, 0.8)
        if K == 2:
            drawn = expit(coef @ rows.T + intercept[:, None])
            share = ((drawn >= p[:, 0]) & (drawn <= p[:, 1])).mean(axis=0)
        else:
            assert p.shape == (5, 3, 2)
            drawn = softmax(np.einsum("dkp,np->dnk", coef, rows) + intercept[:, None, :], axis=2)
            share = ((drawn >= p[..., 0]) & (drawn <= p[..., 1])).mean(axis=0)
        np.testing.assert_allclose(share, 0.8, atol=0.02)
