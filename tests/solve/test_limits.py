"""Where weights go when others run away: the estimate from the rows that are not separated."""

from __future__ import annotations

import numpy as np

from separatrix.core.linear import LinearRule
from separatrix.core.losses import Logistic
from separatrix.data.rows import Rows
from separatrix.solve.limits import centred, limit_of_the_rest
from separatrix.solve.linear import Problem, minimise
from separatrix.solve.registry import NEWTON


def test_what_does_not_run_away_is_the_estimate_from_the_other_rows():
    """A column that is one on rows of one class alone has no finite weight; others are those without these rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = np.where(x + rng.logistic(size=60) > 0, 1.0, -1.0)
    only = np.zeros(60)
    only[:8] = 1.0
    y[:8] = 1.0
    X = np.column_stack([x, only])
    rows, rest = Rows.of(X, y), Rows.of(x[8:, None], y[8:])
    problem = Problem(rows, rows.moments(), Logistic(), 0.0, True)
    found = limit_of_the_rest(problem, LinearRule(np.array([0.0, 40.0]), 0.0))
    alone = minimise(Problem(rest, rest.moments(), Logistic(), 0.0, True), NEWTON, tol=1e-4, max_iter=50)
    np.testing.assert_allclose(found.coef[0], alone.coef[0], rtol=1e-5)
    np.testing.assert_allclose(float(found.intercept), alone.intercept, rtol=1e-5, atol=1e-6)


def test_centred_scores_give_the_same_probabilities():
    rng = np.random.default_rng(1)
    rule = LinearRule(rng.normal(size=(3, 2)), rng.normal(size=3))
    other = centred(rule)
    np.testing.assert_allclose(other.coef.sum(axis=0), 0.0, atol=1e-14)
    difference = rule.coef - other.coef
    np.testing.assert_allclose(difference, np.tile(difference[0], (3, 1)), atol=1e-14)
    two = LinearRule(np.array([1.0, 2.0]), 0.5)
    assert centred(two) is two
