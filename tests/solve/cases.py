"""Small problems whose minimum is known to 1e-17, for every solver of linear models."""

import numpy as np
import pytest
from hypothesis import strategies as st

from separatrix.core.losses import Logistic, Multinomial
from separatrix.data.rows import Rows
from separatrix.solve.linear import Problem, minimise
from separatrix.solve.registry import SOLVERS
from tests.data.naive import Naive
from tests.draws import examples

STEPS = {"newton": 50, "lbfgs": 300, "gradient": 4000, "sgd": 60}


every_solver = pytest.mark.parametrize("name", SOLVERS)


exact_solvers = pytest.mark.parametrize("name", ["newton", "lbfgs", "gradient"])


quick = examples(15)


seeds = st.integers(0, 10**6)


def draw(
    seed=0,
    k=2,
    *,
    ridge=0.05,
    fit_intercept=True,
    n=60,
    p=3,
    weighted=True,
    store=np.asarray,
    unit=1.0,
    loss=None,
):
    """A problem with overlapping classes, correlated columns and weights."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)))
    score = Z @ rng.normal(size=p) + rng.logistic(size=n)
    codes = np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    X = (Z + rng.normal(size=p)) * unit
    weight = rng.random(n) + 0.5 if weighted else None
    rows = Rows.of(store(X), 2.0 * codes - 1 if k == 2 else codes, weight)
    chosen = loss or (Logistic() if k == 2 else Multinomial())
    return Problem(rows, rows.moments(), chosen, ridge, fit_intercept, None if k == 2 else k)


def least(problem):
    """min F to about 1e-17."""
    objective = problem.objective()
    return float(Naive.of(objective).minimum(objective.zero())[1])


def run(problem, name, **options):
    keywords = {"tol": 1e-4, "max_iter": STEPS[name], **options}
    return minimise(problem, SOLVERS[name], **keywords)


def value_of(problem, fit):
    """F of the weights returned, from scratch: the user's units, extended precision."""
    objective = problem.objective()
    return float(Naive.of(objective).value(objective.from_user(fit.coef, fit.intercept)))
