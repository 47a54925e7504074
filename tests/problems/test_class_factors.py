"""Factors of a softmax Hessian's classes: the blocks of the whole Hessian, in single precision."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import LogisticRegression, engine
from separatrix.core.losses import Multinomial
from separatrix.core.numerics import softmax
from separatrix.data.rows import Rows
from separatrix.problems import class_factors
from separatrix.problems.class_factors import ClassFactors
from separatrix.problems.objective import Objective
from separatrix.solve import linear
from separatrix.solve.linear import Problem


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def _objective(rng: np.random.Generator, ridge: float = 0.01, weighted: bool = True) -> Objective:
    X = rng.normal(size=(400, 6)) * [1, 2, 3, 1, 1, 0.1] + 5.0
    X[:, 4] = 1.0  # constant
    y = rng.integers(0, 3, 400)
    weight = rng.integers(0, 3, 400).astype(float) if weighted else None
    rows = Rows.of(X, y, weight)
    return Problem(rows, rows.moments(), Multinomial(), ridge, True, 3).objective()


def _blocks(objective: Objective, theta: np.ndarray) -> list[np.ndarray]:
    """By the formula, in double precision, of all rows."""
    rows, c = objective.rows, objective.coordinates
    z = np.column_stack([(rows.source - c.centre) * c.scale, np.ones(rows.n)])
    p = softmax(z @ theta @ objective.class_basis.T)
    s = np.ones(rows.n) if rows.weight is None else rows.weight
    penalty = np.diag(np.append(objective.ridge * c.scale**2 + (c.scale == 0), 0.0))
    return [(z.T * (s * p[:, k] * (1 - p[:, k]))) @ z / s.sum() + penalty for k in range(3)]


@pytest.mark.parametrize("weighted", [False, True])
def test_solves_with_the_blocks_of_the_hessian(monkeypatch, rng, weighted):
    monkeypatch.setattr(class_factors, "COUNTS", 0.0)  # all rows
    monkeypatch.setattr(class_factors, "GRAM_SHARE", 0.0)
    objective = _objective(rng, weighted=weighted)
    basis, theta = objective.class_basis, 0.3 * rng.normal(size=objective.shape)
    factors = ClassFactors.of(objective)
    for solve, at in ((factors.at(theta), theta), (factors.at_origin(), objective.zero())):
        g = rng.normal(size=objective.shape)
        turned = g @ basis.T
        expected = np.column_stack(
            [np.linalg.solve(block, turned[:, k]) for k, block in enumerate(_blocks(objective, at))]
        )
        np.testing.assert_allclose(solve(g), expected @ basis, rtol=2e-3, atol=2e-3)


def test_without_a_penalty_sure_rows_leave_a_factor(rng):
    objective = _objective(rng, ridge=0.0, weighted=False)
    theta = 1e4 * rng.normal(size=objective.shape)  # every row is sure of its class
    g = rng.normal(size=objective.shape)
    step = ClassFactors.of(objective).at(theta)(g)
    assert np.isfinite(step).all() and np.vdot(step, g) > 0


def test_a_fit_class_by_class_ends_where_newton_does(monkeypatch, rng):
    X, y = rng.normal(size=(600, 12)), rng.integers(0, 4, 600)
    X[np.arange(600), y] += 1.5
    exact = LogisticRegression(solver="newton").fit(X, y)
    monkeypatch.setattr(linear, "CLASS_COLUMNS", 2)
    calls: list[int] = []
    at = ClassFactors.at
    monkeypatch.setattr(ClassFactors, "at", lambda self, theta: calls.append(1) or at(self, theta))
    found = LogisticRegression(solver="lbfgs", tol=1e-8).fit(X, y)
    assert calls and found.verdict_.status == "optimal"
    np.testing.assert_allclose(found.coef_, exact.coef_, atol=1e-4)
    few = LogisticRegression(solver="lbfgs", max_iter=3)
    with pytest.warns(Warning, match="max_iter"):
        few.fit(X, y)
    assert few.n_iter_ == 3
    bits = []
    for kind in ("serial", "threads"):
        with engine(kind, blocks=7):
            bits.append(LogisticRegression(solver="lbfgs").fit(X, y).coef_)
    assert np.array_equal(*bits)
