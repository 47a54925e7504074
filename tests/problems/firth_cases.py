"""Problems under Jeffreys' prior, their value by its definition, and their minima by Newton."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import stats

from benchmarks import shared
from separatrix.core.losses import Logistic, Multinomial
from separatrix.core.responses import GlmLoss
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates, gram_coordinates, singular_coordinates
from separatrix.problems.firth import FirthObjective
from tests.draws import examples

quick = examples(8)


seeds = st.integers(0, 10**6)


LOSSES = {
    "logistic": (Logistic(), None),
    "logit": (GlmLoss.of("binomial", "logit"), None),
    "probit": (GlmLoss.of("binomial", "probit"), None),
    "cloglog": (GlmLoss.of("binomial", "cloglog"), None),
    "poisson": (GlmLoss.of("poisson", "log"), None),
    "multinomial": (Multinomial(), 3),
    "multinomial of two": (Multinomial(), 2),
    "multinomial of four": (Multinomial(), 4),
}


KINDS = ["identity", "standard", "gram", "singular", "random"]


needs_shared = pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")


def target(rng, name, n, *, proportions=False):
    classes = LOSSES[name][1]
    if classes:
        return rng.integers(0, classes, n)
    if name == "logistic":
        return rng.choice([-1.0, 1.0], n)
    if name == "poisson":
        return rng.poisson(2.0, n).astype(float)
    return rng.random(n) if proportions else rng.integers(0, 2, n).astype(float)


def coordinates_of(kind, rows, fit_intercept, rng):
    moments = rows.moments()
    match kind:
        case "identity":
            return Coordinates.identity(rows.p)
        case "standard":
            return Coordinates.standard(moments, fit_intercept)
        case "gram":
            return gram_coordinates(rows, moments, fit_intercept, 0.0, 0.25)
        case "singular":
            return singular_coordinates(rows, moments, fit_intercept)[0]
    standard = Coordinates.standard(moments, fit_intercept)
    return Coordinates(
        standard.centre + 0.3 * rng.normal(size=rows.p) / standard.scale * fit_intercept,
        standard.scale * np.exp(0.5 * rng.normal(size=rows.p)),
        np.eye(rows.p) + 0.3 * rng.normal(size=(rows.p, rows.p)),
        lift=float(np.exp(rng.normal())),
    )


def problem(seed, name, *, kind="standard", store=np.asarray, weighted=True, fit_intercept=True, n=40, **how):
    """A penalised objective, and a point whose scores are moderate whatever the coordinates."""
    rng = np.random.default_rng(seed)
    loss, classes = LOSSES[name]
    X = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.8) * [1.0, 50.0, 0.1] + [0.5, 0.0, 0.1]
    weight = rng.integers(1, 4, n) + rng.random(n) if weighted else None
    rows = Rows.of(store(X), target(rng, name, n, **how), weight)
    F = FirthObjective(
        rows, loss, 0.0, fit_intercept, coordinates_of(kind, rows, fit_intercept, rng), classes
    )
    unit = np.array([1.0, 0.02, 10.0])
    shape = (3,) if classes is None else (classes, 3)
    coef = 0.5 * rng.normal(size=shape) * unit
    intercept = 0.5 * rng.normal(size=shape[:-1]) * fit_intercept
    return F, F.from_user(coef, intercept)


def expected_curvature(loss, eta):
    """w by its definition; (n, K, K) for classes."""
    if isinstance(loss, Multinomial):
        p = np.exp(eta - eta.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :]
    match "logit" if isinstance(loss, Logistic) else loss.link.name:
        case "logit":
            return 1 / (1 + np.exp(eta)) / (1 + np.exp(-eta))
        case "probit":
            return stats.norm.pdf(eta) ** 2 / (stats.norm.cdf(eta) * stats.norm.sf(eta))
        case "cloglog":
            return np.exp(2 * eta - np.exp(eta)) / -np.expm1(-np.exp(eta))
    return np.exp(eta)


def by_definition(F, coef, intercept):
    """(1/W) [Σ s ℓ − ½ log|I|] from the user's weights and cells; classes in F's orthonormal contrasts."""
    rows, loss = F.rows, F.loss
    X = rows.source if isinstance(rows.source, np.ndarray) else rows.source.toarray()
    s = np.ones(len(X)) if rows.weight is None else rows.weight
    design = np.column_stack([X, np.ones(len(X))]) if F.fit_intercept else X
    eta = X @ coef.T + intercept
    losses = loss.value(eta, rows.y)
    w = expected_curvature(loss, eta)
    if F.class_basis is None:
        information = (design.T * (s * w)) @ design
    else:
        Q = F.class_basis
        inner = np.einsum("ka,nkl,lb->nab", Q, w, Q)
        information = sum(
            s[i] * np.kron(inner[i], np.outer(design[i], design[i])) for i in range(len(design))
        )
    sign, log_det = np.linalg.slogdet(information)
    assert sign == 1
    return (np.sum(s * losses) - 0.5 * log_det) / s.sum()


def flat(theta):
    return theta.T.ravel()


def steps_of(theta, h):
    """Steps of length h along each parameter, in the order of a Hessian's rows."""
    for i in range(theta.size):
        step = np.zeros(theta.size)
        step[i] = h
        yield step.reshape(theta.shape[::-1]).T


def minimum(F, theta=None, steps=60):
    """θ at the minimum of F by Newton with backtracking."""
    theta = F.zero() if theta is None else theta
    at = F.evaluate(theta, order=2)
    for _ in range(steps):
        d = -np.linalg.solve(at.hessian, flat(at.gradient)).reshape(theta.shape[::-1]).T
        slope, length = float(np.sum(at.gradient * d)), 1.0
        if -slope < 1e-24:
            break
        new = F.evaluate(theta + d, order=2)
        while not new.value <= at.value + 1e-4 * length * slope + 1e-14 * abs(at.value):
            length /= 2
            assert length > 1e-9
            new = F.evaluate(theta + length * d, order=2)
        theta, at = theta + length * d, new
    assert np.abs(at.gradient).max() < 1e-10
    return theta


def estimate(X, y, loss, *, weight=None, classes=None, fit_intercept=True, kind="standard"):
    rows = Rows.of(np.asarray(X, dtype=float), y, weight)
    c = coordinates_of(kind, rows, fit_intercept, np.random.default_rng(0))
    F = FirthObjective(rows, loss, 0.0, fit_intercept, c, classes)
    return F.to_user(minimum(F))
