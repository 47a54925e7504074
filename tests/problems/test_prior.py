"""Gaussian priors over weights: forms in any coordinates, the penalty by its definition, its tilt by differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.objective import helmert
from separatrix.problems.prior import Prior, PriorObjective, chart, contrasts, curvature, loss_of
from tests.draws import examples

pytestmark = pytest.mark.usefixtures("way")

quick = examples(10)
seeds = st.integers(0, 10_000)
classes = pytest.mark.parametrize("k", [None, 3])


def drawn(seed, k, *, fit_intercept=True, n=40, p=3, rotated=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * np.array([1.0, 5.0, 0.2])
    y = rng.choice([-1.0, 1.0], n) if k is None else rng.integers(0, k, n)
    q = p + int(fit_intercept)
    A = rng.normal(size=(q, q))
    P = A @ A.T + np.eye(q)
    heads = 1 if k is None else k - 1
    m = rng.normal(size=q if k is None else (q, heads))
    log_det = heads * float(np.linalg.slogdet(P)[1])
    prior = Prior(m, P, log_det, X.mean(axis=0), np.ones(p, dtype=bool))
    rows = Rows.of(X, y, rng.random(n) + 0.5)
    F = PriorObjective.of(rows, rows.moments(), loss_of(k), k, prior, rotated=rotated)
    return F, prior, rng


def by_definition(F, prior, theta):
    """½ (φ − m)ᵀP(φ − m) / W over the contrasts, φ = (w, w·a + b) in the user's units."""
    coef, b = F.to_user(theta)
    basis = contrasts(F.n_classes)
    w, b = (coef[:, None], np.atleast_1d(b)) if basis is None else (coef.T @ basis, b @ basis)
    phi = np.vstack([w, prior.anchor @ w + b]) if prior.fit_intercept else w
    away = phi - prior.mean.reshape(phi.shape)
    return 0.5 * float(np.sum(away * (prior.precision @ away))) / F.total_weight


@classes
@pytest.mark.parametrize("rotated", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@quick
@given(seed=seeds)
def test_the_penalty_is_the_definition_in_the_users_units(k, rotated, fit_intercept, seed):
    F, prior, rng = drawn(seed, k, fit_intercept=fit_intercept, rotated=rotated)
    theta = rng.normal(size=F.shape)
    at = F.evaluate(theta, order=2)
    assert at.penalty == pytest.approx(by_definition(F, prior, theta), rel=1e-8)
    value, gradient = F.penalty(theta)
    assert value == at.penalty
    for step in np.eye(theta.size)[:3]:
        h = 1e-6 * step.reshape(theta.shape)
        slope = (F.penalty(theta + h)[0] - F.penalty(theta - h)[0]) / 2e-6
        assert float(np.sum(gradient * h)) / 1e-6 == pytest.approx(slope, rel=1e-5, abs=1e-7)


@classes
@quick
@given(seed=seeds)
def test_coordinates_change_the_form_and_not_the_prior(k, seed):
    """TᵀPT has log|P| + 2 log|T|, and T takes θ to φ."""
    F, prior, _ = drawn(seed, k)
    c = F.coordinates
    T, heads = chart(c, prior.anchor, True), prior.heads
    M = prior.matrix_in(c)
    np.testing.assert_allclose(M[: len(T), : len(T)], T.T @ prior.precision @ T, rtol=1e-10)
    assert np.linalg.slogdet(M)[1] == pytest.approx(prior.log_det_in(c), rel=1e-9)
    np.testing.assert_allclose(T @ prior.mean_in(c), prior.mean, atol=1e-9)
    assert prior.size == heads * 4


@classes
@quick
@given(seed=seeds)
def test_the_tilt_is_the_slope_of_the_log_determinant(k, seed):
    F, _, rng = drawn(seed, k)
    theta = 0.5 * rng.normal(size=F.shape)

    def log_det(at):
        return float(np.linalg.slogdet(F.evaluate(at, order=2).hessian * F.total_weight)[1])

    H = F.evaluate(theta, order=2).hessian
    root = np.linalg.inv(np.linalg.cholesky(H)).T
    tilt = F.tilt(theta, root)
    for j in range(min(theta.size, 4)):
        h = np.zeros(theta.size)
        h[j] = 1e-5
        h = h.reshape(theta.shape[::-1]).T if theta.ndim > 1 else h
        slope = (log_det(theta + h) - log_det(theta - h)) / 2e-5
        assert float(np.sum(tilt * h)) / 1e-5 == pytest.approx(slope, rel=1e-4, abs=1e-5)


def test_covariance_is_the_inverse_seen_from_the_origin():
    prior = Prior(np.array([1.0, 2.0]), np.array([4.0, 1.0]), np.log(4.0), np.array([3.0]), np.ones(1, bool))
    # c = 3w + b: b = c − 3w has mean 2 − 3 and variance 1 + 9/4
    np.testing.assert_allclose(prior.covariance(), [[3.25, -0.75], [-0.75, 0.25]])
    np.testing.assert_allclose(prior.mean_first(), [-1.0, 1.0])
    assert Coordinates.identity(1).size == 1


@pytest.mark.parametrize("k", [None, 2, 5])
def test_the_curvature_at_equal_probabilities(k):
    size = k or 2
    P = np.full(size, 1 / size)
    V = np.diag(P) - np.outer(P, P)
    Q = helmert(size)
    assert curvature(k) == pytest.approx((Q.T @ V @ Q)[0, 0] * (1 / 2 if k is None else 1 - 1 / size))
