"""A posterior computed apart: its log density, curvature by differences, mode by scipy.optimize; priors for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit, log_expit, logsumexp

from separatrix import BayesianLogisticRegression
from tests.draws import examples
from tests.models.reference import overlapping

few = examples(10)
seeds = st.integers(0, 10_000)
classes = pytest.mark.parametrize("K", [2, 3])


def log_joint(W, X, codes, K, mean, S, weight=None):
    """log Pr(D | W) + log N(W; mean, S) of W = (b, w) (two classes) or the K vectors (b_k, w_k) one after another.

    X has the column of ones first; S is one class's covariance. Plain sums, in the user's units.
    """
    s = np.ones(len(X)) if weight is None else weight
    P, d = np.linalg.inv(S), X.shape[1]
    logdet = np.linalg.slogdet(2 * np.pi * S)[1]
    if K == 2:
        likelihood = s @ log_expit(np.where(codes == 1, 1, -1) * (X @ W))
        return likelihood - 0.5 * (W - mean) @ P @ (W - mean) - 0.5 * logdet
    V = W.reshape(K, d)
    eta = X @ V.T
    likelihood = s @ (eta[np.arange(len(X)), codes] - logsumexp(eta, axis=1))
    away = V - mean
    return likelihood - 0.5 * np.sum(away * (away @ P)) - 0.5 * K * logdet


def hessian_of(function, x, step=1e-4):
    """Second differences."""
    d = len(x)
    H = np.empty((d, d))
    E = np.eye(d) * step
    for i in range(d):
        for j in range(i + 1):
            H[i, j] = H[j, i] = (
                function(x + E[i] + E[j]) - function(x + E[i] - E[j])
                - function(x - E[i] + E[j]) + function(x - E[i] - E[j])
            ) / (4 * step**2)  # fmt: skip
    return H


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


def reference(X, codes, K, mean, S, weight=None):
    """(mode, covariance, log evidence) of all K (p+1) weights, by BFGS and second differences."""
    A = with_ones(X)

    def minus(W):
        return -log_joint(W, A, codes, K, mean, S, weight)

    start = np.zeros(A.shape[1] * (1 if K == 2 else K))
    found = optimize.minimize(minus, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    H = hessian_of(minus, found.x, 3e-4)
    evidence = -found.fun + 0.5 * len(found.x) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(H)[1]
    return found.x, np.linalg.inv(H), evidence


def some_covariance(d, seed):
    A = np.random.default_rng(seed).normal(size=(d, d + 2))
    return A @ A.T / d + 0.2 * np.eye(d)


def one_weight(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x[:, None], (rng.random(n) < expit(1.2 * x)).astype(int)


def assert_same_belief(a, b, tol=1e-6, covariance=None):
    covariance = b.covariance_ if covariance is None else covariance
    size = max(1.0, np.abs(a.coef_).max(), np.abs(a.intercept_).max())
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=0, atol=tol * size)
    np.testing.assert_allclose(b.intercept_, a.intercept_, rtol=0, atol=tol * size)
    np.testing.assert_allclose(covariance, a.covariance_, rtol=tol, atol=tol * np.abs(a.covariance_).max())
    assert b.log_evidence_ == pytest.approx(a.log_evidence_, rel=1e-9, abs=1e-7)
    assert b.n_effective_ == pytest.approx(a.n_effective_, rel=1e-6)


PRIORS = {
    "number": lambda: BayesianLogisticRegression(0.5),
    "per column": lambda: BayesianLogisticRegression([0.5, 2.0, 0.1], intercept_precision=1.0),
    "no intercept": lambda: BayesianLogisticRegression(fit_intercept=False),
    "evidence": lambda: BayesianLogisticRegression("evidence"),
}
priors = pytest.mark.parametrize("make", PRIORS.values(), ids=PRIORS.keys())
X0, Y0 = overlapping(30, 3, 2, seed=0)
X3, Y3 = overlapping(30, 3, 3, seed=0)
