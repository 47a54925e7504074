"""The mode, its curvature and the evidence: by scipy.optimize and finite differences, and by quadrature, with the
error Laplace's approximation has, O(1/n), seen to shrink.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate
from scipy.special import expit, log_expit, logsumexp

from separatrix import BayesianLogisticRegression
from tests.models.bayes.beliefs import classes, one_weight, reference, some_covariance, with_ones
from tests.models.reference import overlapping

# ---- an independent posterior ----


@classes
@pytest.mark.parametrize("kind", ["number", "per column", "covariance", "whole covariance", "mean"])
def test_mode_covariance_and_evidence_against_an_independent_optimiser(K, kind):
    X, y = overlapping(60, 2, K, seed=4)
    X = X * [1.0, 2.0] + [0.3, -1.0]
    weight = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    given_: dict = {
        "number": dict(prior_precision=0.7),
        "per column": dict(prior_precision=[0.5, 3.0], intercept_precision=0.2),
        "covariance": dict(prior_covariance=some_covariance(2, 0)),
        "whole covariance": dict(prior_covariance=some_covariance(3, 1)),
        "mean": dict(
            prior_covariance=some_covariance(3, 1),
            prior_mean=[0.5, -1.0, 0.3] if K == 2 else np.random.default_rng(5).normal(size=(3, 3)),
        ),
    }[kind]
    model = BayesianLogisticRegression(**given_).fit(X, y, sample_weight=weight)
    S = model.prior_covariance_
    if "whole" in kind or kind == "mean":
        np.testing.assert_allclose(S, given_["prior_covariance"], rtol=1e-10)
    mean = np.asarray(given_.get("prior_mean", np.zeros(3)))
    mode, covariance, evidence = reference(X, y, K, mean, S, weight)
    ours = np.column_stack([model.intercept_, model.coef_])
    if K == 2:
        np.testing.assert_allclose(ours[0], mode, atol=2e-6)
        np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-4, atol=1e-5)
    else:
        # the mode's common part is the prior's; the posterior in contrasts is what the library reports
        V = mode.reshape(K, 3)
        np.testing.assert_allclose(ours, V - V.mean(axis=0), atol=5e-6)
        centre = np.kron(np.eye(K) - 1 / K, np.eye(3))
        np.testing.assert_allclose(model.covariance_, centre @ covariance @ centre, rtol=1e-4, atol=1e-5)
    # K classes: the common part has as much evidence after the data as before, so the two are one number
    assert model.log_evidence_ == pytest.approx(evidence, abs=2e-4)
    assert model.log_evidence_ == pytest.approx(model.log_likelihood_ + model.log_occam_factor_, abs=1e-9)
    assert model.log_occam_factor_ == pytest.approx(model.log_prior_ + model.log_volume_, abs=1e-9)


def test_the_notes_formula_for_the_covariance():
    """S_n⁻¹ = S₀⁻¹ + Σ o(1−o) x xᵀ."""
    X, y = overlapping(80, 3, 2, seed=2)
    model = BayesianLogisticRegression(2.0).fit(X, y)
    o = model.predict_proba(X, method="plugin")[:, 1]
    A = with_ones(X)
    H = np.linalg.inv(model.prior_covariance_) + (A.T * (o * (1 - o))) @ A
    np.testing.assert_allclose(np.linalg.inv(model.covariance_), H, rtol=1e-7)
    np.testing.assert_allclose(model.coef_sd_[0], np.sqrt(np.diag(model.covariance_))[1:], rtol=1e-12)
    gamma = 4 - np.trace(model.covariance_ @ np.linalg.inv(model.prior_covariance_))
    assert model.n_effective_ == pytest.approx(gamma, rel=1e-9)
    likelihood = np.sum(np.log(np.where(y == 1, o, 1 - o)))
    assert model.log_likelihood_ == pytest.approx(likelihood, rel=1e-12)
    assert model.bic_ == pytest.approx(-2 * likelihood + 4 * np.log(80), rel=1e-12)


# ---- integrals ----


def test_one_weight_against_quadrature_and_the_error_shrinks_as_one_over_n():
    errors = []
    for n in (25, 100, 400):
        differences = []
        for seed in range(12):
            X, y = one_weight(n, seed)
            model = BayesianLogisticRegression(0.5, fit_intercept=False).fit(X, y)
            m, sd = model.coef_[0, 0], model.coef_sd_[0, 0]
            sign = 2 * y - 1

            def log_density(w, X=X, sign=sign):
                return np.sum(log_expit(sign * X[:, 0] * w)) - 0.25 * w**2 + 0.5 * np.log(0.5 / (2 * np.pi))

            top = log_density(m)
            limits = (m - 12 * sd, m + 12 * sd)
            Z = integrate.quad(lambda w, f=log_density, t=top: np.exp(f(w) - t), *limits, epsrel=1e-10)[0]
            differences.append(model.log_evidence_ - (np.log(Z) + top))
            second = (log_density(m + 1e-4) - 2 * top + log_density(m - 1e-4)) / 1e-8
            assert sd == pytest.approx((-second) ** -0.5, rel=1e-4)
        errors.append(np.mean(np.abs(differences)))
    assert errors[0] < 0.05
    assert errors[1] < errors[0] / 2 and errors[2] < errors[0] / 8  # 1/4 and 1/16, and some noise


def test_two_weights_against_quadrature():
    X, y = one_weight(60, 3)
    model = BayesianLogisticRegression(0.5, intercept_precision=0.3).fit(X, y)
    A, S = with_ones(X), model.prior_covariance_
    m, sd = np.array([model.intercept_[0], model.coef_[0, 0]]), np.sqrt(np.diag(model.covariance_))
    grid = np.linspace(-9, 9, 301)
    b, w = np.meshgrid(m[0] + grid * sd[0], m[1] + grid * sd[1], indexing="ij")
    eta = A @ np.vstack([b.ravel(), w.ravel()])
    points = np.column_stack([b.ravel(), w.ravel()])
    density = log_expit((2 * y - 1)[:, None] * eta).sum(axis=0)
    density = density - 0.5 * np.einsum("ij,jk,ik->i", points, np.linalg.inv(S), points)
    density -= 0.5 * np.linalg.slogdet(2 * np.pi * S)[1]
    cell = np.prod(sd) * (grid[1] - grid[0]) ** 2
    truth = logsumexp(density) + np.log(cell)
    assert model.log_evidence_ == pytest.approx(truth, abs=0.05)
    p = np.exp(density - logsumexp(density))
    mean = p @ points
    spread = (points - mean).T @ ((points - mean) * p[:, None])
    np.testing.assert_allclose(mean, m, atol=0.3 * sd.max())  # a mode is not a mean: off by O(1/√n) of an sd
    np.testing.assert_allclose(spread, model.covariance_, rtol=0.3, atol=0.02)
    # the predictive of the exact posterior, at rows in and out of the data
    rows = np.array([[0.0], [1.5], [4.0]])
    exact = p @ expit(points @ with_ones(rows).T)
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], exact, atol=0.03)
