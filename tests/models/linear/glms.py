"""Generalised linear models of every kind: families with their links, rows drawn from them, and what a fit says."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import strategies as st

from separatrix import GeneralizedLinearModel, anova
from separatrix.core.links import link as link_of
from separatrix.core.responses import GlmLoss
from tests.draws import examples

few = examples(5)
seeds = st.integers(0, 10_000)
# name → (family, link, parameters)
KINDS = {
    "gaussian": ("gaussian", "identity", {}),
    "gaussian log": ("gaussian", "log", {}),
    "binomial": ("binomial", "logit", {}),
    "probit": ("binomial", "probit", {}),
    "cloglog": ("binomial", "cloglog", {}),
    "poisson": ("poisson", "log", {}),
    "poisson sqrt": ("poisson", "sqrt", {}),
    "gamma": ("gamma", "inverse", {}),
    "gamma log": ("gamma", "log", {}),
    "inverse gaussian": ("inverse_gaussian", "inverse_squared", {}),
    "negative binomial": ("negative_binomial", "log", {"size": 2.0}),
    "tweedie": ("tweedie", "log", {"power": 1.5}),
}
PROVEN = ("gaussian", "binomial", "poisson", "gamma log", "negative binomial", "tweedie")
FREE = ("gaussian", "gaussian log", "gamma", "gamma log", "inverse gaussian", "tweedie")  # φ is estimated
kinds = pytest.mark.parametrize("kind", KINDS)


def glm(kind, **parameters):
    family, link, own = KINDS[kind]
    return GeneralizedLinearModel(family, link, **own, **parameters)


def draw(kind, seed=0, n=80, p=3):
    """Rows in [−1, 1]^p whose scores lie inside the range of every link, and responses of the law."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    eta = 1.0 + 0.25 * X @ np.array([1.0, -1.0, 0.5, 0.7][:p])
    family, name, _ = KINDS[kind]
    mu = link_of(name).inverse(eta)
    match family:
        case "gaussian":
            y = mu + 0.2 * rng.standard_normal(n)
        case "binomial":
            y = (rng.random(n) < mu).astype(float)
            y[:2] = 0, 1
        case "poisson":
            y = rng.poisson(mu).astype(float)
        case "negative_binomial":
            y = rng.poisson(mu * rng.gamma(2.0, 0.5, n)).astype(float)
        case "tweedie":
            y = np.array([rng.gamma(2.0, 0.5, k).sum() for k in rng.poisson(mu)])
        case "inverse_gaussian":
            y = rng.wald(mu, 8.0)
        case _:
            y = rng.gamma(4.0, mu / 4.0)
    return X, y


def parameters_of(model):
    coef = np.ravel(model.coef_)
    return np.append(model.intercept_, coef) if model.fit_intercept else coef


def numbers(model):
    """Everything a fit says besides its parameters and their errors."""
    names = ("deviance_", "null_deviance_", "aic_", "bic_", "df_residual_", "df_null_", "dispersion_")
    return np.array([getattr(model, name) for name in names])


def assert_same_fit(a, b, tol=1e-6, *, scale=1.0, numbers_too=True):
    """Parameters within tol standard errors, errors and figures relatively; ``scale`` takes b's units to a's."""
    error = a.standard_errors()
    here, there = parameters_of(a), parameters_of(b) * scale
    np.testing.assert_array_equal(np.isnan(here), np.isnan(there))
    with np.errstate(invalid="ignore"):
        assert np.nanmax(np.abs(here - there) / error, initial=0.0) < tol
    np.testing.assert_allclose(b.standard_errors() * scale, error, rtol=tol)
    if numbers_too:
        np.testing.assert_allclose(numbers(b), numbers(a), rtol=1e-7, atol=1e-9)
    assert (a.verdict_.status, a.verdict_.unique) == (b.verdict_.status, b.verdict_.unique)


def minimum(kind, X, y, alpha=0.0, weight=None):
    """min (1/W) Σ s ½d + ½α‖w‖² to high accuracy, by SciPy on the definition."""
    family, name, own = KINDS[kind]
    loss = GlmLoss.of(family, name, **own)
    s = np.ones(len(y)) if weight is None else weight
    A = np.column_stack([np.ones(len(y)), X])

    def value(b):
        v = loss.value(A @ b, y)
        return float(s @ v / s.sum() + 0.5 * alpha * b[1:] @ b[1:])

    def slope(b):
        return A.T @ (s * loss.slope(A @ b, y)) / s.sum() + alpha * np.append(0.0, b[1:])

    start = glm(kind, alpha=alpha).fit(X, y, sample_weight=weight)
    b = parameters_of(start)
    for _ in range(3):  # polish by Newton with a numerical derivative of the exact gradient
        H = np.array([(slope(b + h) - slope(b - h)) / 2e-6 for h in 1e-6 * np.eye(len(b))])
        b = b - np.linalg.solve(H, slope(b))
    return value, value(b), b


def no_counts_in_one_level(seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 1, 60), np.arange(60) < 15])
    y = rng.poisson(2 * np.exp(0.5 * X[:, 0])).astype(float)
    y[X[:, 1] == 1] = 0.0
    y[20] = 0.0
    return X, y


def assert_no_inference(model, X):
    """Nothing finite is said about an estimate that does not exist."""
    k = len(model.summary().index)
    assert np.isnan(model.covariance_).all() and model.covariance_.shape == (k, k)
    for options in ({}, {"covariance": "HC0"}, {"covariance": "HC1"}, {"covariance": "HC3"}):
        table = model.summary(**options).to_frame()
        assert np.isnan(table["se"]).all(), options
        assert np.isnan(table[["p", "low", "high"]].to_numpy()).all(), options
    groups = np.arange(len(X)) % 10
    assert np.isnan(model.standard_errors("cluster", groups)).all()
    for method in ("wald", "profile"):
        assert np.isnan(model.confidence_intervals(method=method)).all()
    for method in ("wald", "lr", "score"):
        with pytest.raises(ValueError, match="there is no estimate to test"):
            model.test(0, method)
    with pytest.raises(ValueError, match="without an estimate"):
        anova(model)
    text = str(model.summary())
    assert "no optimum exists" in text and "no standard errors" in text
    copied = pickle.loads(pickle.dumps(model))
    assert str(copied.summary()) == text and np.isnan(copied.covariance_).all()


def assert_close_parameters(a, b, tol=1e-6):
    np.testing.assert_allclose(
        parameters_of(a), parameters_of(b), rtol=0, atol=tol * b.standard_errors().min()
    )
