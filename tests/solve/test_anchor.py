"""What Newton's method knows of scores near a point: the leverage bounds every move, and is carried honestly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix import LogisticRegression
from separatrix.data.engine import engine
from separatrix.solve.anchor import Anchor, damped_step
from separatrix.solve.outcome import Account
from separatrix.verdict.gaps import range_factor
from tests.draws import examples
from tests.problems.objective_cases import draw_cells, problem


def scores(objective, theta):
    coef, intercept = objective.to_user(theta)
    X = objective.rows.source
    return X @ coef.T + intercept if coef.ndim == 2 else X @ coef + intercept


def range_of(change):
    return np.abs(change).max() if change.ndim == 1 else np.ptp(change, axis=1).max()


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
@pytest.mark.parametrize("blocks", [1, 5])
@examples(15)
@given(seed=st.integers(0, 10_000))
def test_no_score_moves_farther_than_the_leverage_allows(name, blocks, seed):
    rng = np.random.default_rng(seed)
    with engine("serial", blocks=blocks):
        objective, _, theta = problem(seed, name, X=draw_cells(rng), weighted=False)
        at = objective.evaluate(theta, order=2)
        anchor = Anchor(theta, at, range_factor(objective))
        crude = anchor.bend(at)
        anchor.sharpen(Account(objective))
        assert anchor.bend(at) <= 1.002 * crude
        for _ in range(5):
            step = rng.normal(size=theta.shape)
            flat = step.T.ravel()
            length = np.sqrt(flat @ at.hessian @ flat)
            moved = range_of(scores(objective, theta + step) - scores(objective, theta))
            assert moved <= anchor.bend(at) * length * (1 + 1e-9)
            assert moved <= anchor.reach(step, at) * (1 + 1e-9)


def test_the_leverage_is_carried_to_a_point_nearby_as_a_bound():
    objective, _, theta = problem(3, "logistic", X=draw_cells(np.random.default_rng(3)), weighted=False)
    anchor = Anchor(theta, objective.evaluate(theta, order=2), 1.0)
    anchor.sharpen(Account(objective))
    near = theta + 0.01
    at = objective.evaluate(near, order=2)
    there = Anchor(near, at, 1.0)
    there.sharpen(Account(objective))
    assert there.leverage <= anchor.leverage_near(near, at) * (1 + 1e-9)
    assert anchor.leverage_near(theta + 1e6, at) == np.inf  # too far for anything to be known


def test_a_damped_step_goes_downhill_and_is_shorter():
    objective, _, theta = problem(4, "logistic", X=draw_cells(np.random.default_rng(4)))
    at = objective.evaluate(theta, order=2)
    whole = damped_step(at.hessian, at.gradient, 0.0)
    for damping in (1e-3, 1.0, 1e3):
        step = damped_step(at.hessian, at.gradient, damping)
        assert at.gradient @ step < 0 and np.linalg.norm(step) < np.linalg.norm(whole)


def rare_levels(n=60_000, seed=0):
    """A factor of forty levels, some of a few rows, as columns that sum to one; sorted by the target."""
    rng = np.random.default_rng(seed)
    share = 0.7 ** np.arange(40)
    level = rng.choice(40, n, p=share / share.sum())
    X = np.column_stack([np.eye(40)[level], rng.normal(size=(n, 4))])
    eta = rng.normal(size=40)[level] * 2 + X[:, 40:] @ rng.normal(size=4)
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    order = np.argsort(y, kind="stable")
    spread = X.std(axis=0)
    return (X / np.where(spread > 0, spread, 1.0))[order], y[order]


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray], ids="CF")
def test_sorted_rows_rare_levels_and_columns_that_sum_to_one_take_few_sweeps(form):
    X, y = rare_levels()
    model = LogisticRegression().fit(form(X), y)
    assert model.verdict_.status == "optimal" and model.verdict_.gap <= 1e-8 * model.verdict_.objective
    assert model.verdict_.sweeps < 25  # with steps that are halved it was twice as many
    exact = LogisticRegression(tol=1e-7).fit(X, y)
    assert exact.verdict_.gap <= 1e-13
    assert 0 <= model.verdict_.objective - exact.verdict_.objective <= model.verdict_.gap + 1e-14


def test_many_rows_stop_where_asked_and_few_go_on_to_rounding():
    X, y = rare_levels()
    X = X[:, 40:] + 0.1 * X[:, :4]  # no level is rare
    loose, tight = LogisticRegression(tol=1e-2).fit(X, y), LogisticRegression(tol=1e-6).fit(X, y)
    assert loose.verdict_.sweeps < tight.verdict_.sweeps
    assert tight.verdict_.gap <= 1e-12 * tight.verdict_.objective
    few = LogisticRegression().fit(X[::60], y[::60])
    assert few.verdict_.gap <= 1e-13 * few.verdict_.objective
