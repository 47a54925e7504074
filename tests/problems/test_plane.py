"""The least of F on a plane through θ: found where it is, on every storage; a step that it does not serve is kept."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from separatrix.core.losses import Squared
from separatrix.data.engine import engine
from separatrix.problems.objective import Memo
from separatrix.problems.plane import best_step, knows_planes
from tests.solve.cases import draw

STORES = {"C": np.asarray, "F": np.asfortranarray, "csr": sparse.csr_matrix}


def plane(seed, store=np.asarray, weighted=True, fit_intercept=True):
    """A problem, a point, and two ways that lower F from there."""
    problem = draw(seed, n=400, p=5, ridge=0.01, weighted=weighted, store=store, fit_intercept=fit_intercept)
    objective = problem.objective()
    rng = np.random.default_rng(seed)
    theta = 0.1 * rng.normal(size=objective.shape)
    downhill = -objective.evaluate(theta).gradient
    return objective, theta, downhill, downhill + 0.3 * rng.normal(size=objective.shape)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
def test_the_step_lowers_F_as_far_as_its_plane_does(store, weighted, fit_intercept):
    objective, theta, step, before = plane(3, store, weighted, fit_intercept)

    def value(u):
        return objective.evaluate(theta + u[0] * step + u[1] * before).value

    best = minimize(value, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-12})
    found = objective.evaluate(theta + best_step(objective, theta, step, before, 1, Memo())).value
    at_first = objective.evaluate(theta).value
    # the last step is worth no more than ENOUGH of what the first lowers F by
    assert at_first - found >= 0.95 * (at_first - best.fun) > 0


def test_without_a_step_before_it_is_a_line():
    objective, theta, step, _ = plane(5)
    longer = best_step(objective, theta, step, None, 1, Memo())
    share = longer / step
    np.testing.assert_allclose(share, share[0], rtol=1e-12)
    assert share[0] > 1.5  # downhill in standardised columns is far too short for a logistic loss


def test_a_step_that_is_too_long_by_far_is_left_to_damping():
    objective, theta, step, _ = plane(5)
    far = 50.0 * step
    assert best_step(objective, theta, far, None, 1, Memo()) is far


def test_a_sample_and_many_blocks_give_nearly_the_same():
    objective, theta, step, before = plane(7)
    whole = best_step(objective, theta, step, before, 1, Memo())
    with engine(blocks=4):
        rows = replace(objective.rows, edges=(0, 90, 200, 310, 400))
        split = best_step(replace(objective, rows=rows), theta, step, before, 1, Memo())
    np.testing.assert_allclose(split, whole, rtol=1e-3, atol=1e-4)
    sampled = best_step(objective, theta, step, before, 4, Memo())
    value = objective.evaluate(theta).value
    gained = value - objective.evaluate(theta + whole).value
    assert value - objective.evaluate(theta + sampled).value >= 0.5 * gained


def test_only_a_logistic_loss_with_a_penalty_has_planes():
    assert knows_planes(draw(1).objective())
    assert not knows_planes(draw(1, ridge=0.0).objective())
    assert not knows_planes(draw(1, 3).objective())
    assert not knows_planes(draw(1, loss=Squared()).objective())
