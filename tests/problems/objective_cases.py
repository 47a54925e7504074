"""Objectives over drawn rows, each beside the same formula in extended precision."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import sparse

from separatrix.core.losses import Hinge, Logistic, Multinomial, Squared, SquaredHinge
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import (
    Coordinates,
    diagonal_coordinates,
    gram_coordinates,
    singular_coordinates,
)
from separatrix.problems.objective import Objective
from tests.data.naive import Naive
from tests.draws import examples
from tests.losses import Exponential

quick = examples(12)


seeds = st.integers(0, 10**6)


LOSSES = {
    "logistic": (Logistic(), None),
    "multinomial": (Multinomial(), 3),
    "multinomial of two": (Multinomial(), 2),
    "squared": (Squared(), None),
    "squared hinge": (SquaredHinge(), None),
    "exponential": (Exponential(), None),
    "hinge": (Hinge(), None),
}


SMOOTH = ["logistic", "multinomial", "multinomial of two", "squared", "exponential"]


STORAGE = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_matrix,
    "csr array float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


KINDS = ["standard", "identity", "diagonal", "gram", "singular"]


def draw_cells(rng, n=40, p=3):
    """Half of the cells zero; values a float32 can hold, units apart, columns correlated."""
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)))
    X *= rng.random((n, p)) < 0.6
    X *= np.array([1.0, 64.0, 0.125])[:p]
    return X.astype(np.float32).astype(np.float64)


def target(rng, loss, classes, n):
    if loss.target == "class":
        return rng.integers(0, classes, n)
    return rng.choice([-1.0, 1.0], n) if loss.target == "sign" else rng.normal(size=n)


def coordinates_of(kind, rows, fit_intercept, ridge):
    moments = rows.moments()
    match kind:
        case "standard":
            return Coordinates.standard(moments, fit_intercept)
        case "identity":
            return Coordinates.identity(rows.p)
        case "diagonal":
            return diagonal_coordinates(moments, fit_intercept, ridge, 0.25)
        case "gram":
            return gram_coordinates(rows, moments, fit_intercept, ridge, 0.25)
    return singular_coordinates(rows, moments, fit_intercept, ridge, 0.25)[0]


def problem(
    seed, name, *, store=np.asarray, kind="standard", weighted=True, fit_intercept=True, ridge=0.1, X=None
):
    """An objective, the same in extended precision, and a point at which to look."""
    rng = np.random.default_rng(seed)
    loss, classes = LOSSES[name]
    X = draw_cells(rng) if X is None else X
    weight = rng.integers(0, 4, len(X)) + rng.random(len(X)) if weighted else None
    rows = Rows.of(store(X), target(rng, loss, classes, len(X)), weight)
    objective = Objective(
        rows, loss, ridge, fit_intercept, coordinates_of(kind, rows, fit_intercept, ridge), classes
    )
    theta = rng.normal(size=objective.shape)
    return objective, Naive.of(objective), theta


def agree(at, naive, theta, rtol=1e-12):
    """Each part to a few rounding errors of the sums it is made of."""
    value, gradient, hessian = (np.asarray(part, dtype=np.float64) for part in naive.parts(theta))
    assert at.value == pytest.approx(float(value), rel=rtol)
    np.testing.assert_allclose(at.gradient, gradient, rtol=rtol, atol=rtol * (1 + np.abs(gradient).max()))
    if at.hessian is not None:
        scale = np.sqrt(np.diag(hessian))
        np.testing.assert_allclose(
            at.hessian, hessian, rtol=rtol, atol=rtol * (1e-3 + np.outer(scale, scale).max())
        )
        radius = float(np.sqrt((naive.z**2).sum(axis=1).max()))
        assert radius * (1 - 1e-12) <= at.radius <= radius * (1 + 1e-6)
