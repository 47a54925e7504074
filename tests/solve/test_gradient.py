"""Batch gradient ascent: its step, its threshold, and steps that are too long."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.core.losses import Logistic, Squared, SquaredHinge
from separatrix.solve.gradient import curvature_bound, gradient_ascent, loss_curvature
from separatrix.solve.outcome import Account
from tests.solve.cases import STEPS, draw, least, quick, run, seeds, value_of


@pytest.mark.parametrize("threshold", [1e-1, 1e-3, 1e-5])
def test_gradients_threshold_is_on_the_norm_of_the_gradient(threshold):
    fit = run(draw(14), "gradient", options={"threshold": threshold}, record=True)
    assert fit.outcome.stopped_by == "‖∇F‖ < threshold"
    assert fit.outcome.gradient_norm < threshold
    assert (fit.path.gradient_norm[:-1] >= threshold).all()
    assert fit.path.gradient_norm[-1] == pytest.approx(fit.outcome.gradient_norm)


def test_gradients_eta_is_the_length_of_the_step():
    problem = draw(15)
    objective = problem.objective()
    account = Account(objective, record=True)
    gradient_ascent(account, objective.zero(), 1e-12, 3, eta=0.3)
    theta = objective.zero()
    for coef, intercept, value, _ in account.steps:
        at = objective.evaluate(theta)
        np.testing.assert_allclose(objective.to_user(theta)[0], coef, atol=1e-12)
        assert value == pytest.approx(at.value)
        theta = theta - 0.3 * at.gradient


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(
    "loss", [None, Squared(), SquaredHinge()], ids=["likelihood", "squared", "squared hinge"]
)
@quick
@given(seed=seeds, ridge=st.sampled_from([0.0, 0.1, 10.0]))
def test_the_default_step_is_short_enough_everywhere(k, loss, seed, ridge):
    """κ̄ is at least the largest eigenvalue of the Hessian, at any θ."""
    if loss is not None and k == 3:
        return
    problem = draw(seed, k, ridge=ridge, loss=loss)
    objective = problem.objective()
    for theta in (objective.zero(), np.random.default_rng(seed).normal(size=objective.shape)):
        top = np.linalg.eigvalsh(objective.evaluate(theta, 2).hessian)[-1]
        assert top <= curvature_bound(objective) * (1 + 1e-12)


def test_the_losses_curvature_bounds():
    objective = draw(0).objective()
    bounds = {Logistic(): 0.25, Squared(): 1.0, SquaredHinge(): 2.0}
    eta = np.linspace(-5, 5, 201)
    for loss, bound in bounds.items():
        assert loss_curvature(replace(objective, loss=loss)) == bound
        assert loss.curvature(eta, np.ones_like(eta)).max() <= bound


def test_a_step_too_long_is_reported():
    for eta in (50.0, 1e6, 1e12):
        fit = run(draw(16, ridge=1.0), "gradient", options={"eta": eta})
        assert fit.outcome.stopped_by.startswith("diverged: the step size eta = ")
        assert "too large" in fit.outcome.stopped_by
        assert fit.outcome.iterations < STEPS["gradient"]
        assert np.isfinite(fit.coef).all()


@pytest.mark.parametrize("eta", [2.5, 4.0, 6.0])
def test_the_gap_is_a_true_bound_while_the_objective_rises(eta):
    problem = draw(16, ridge=1.0)
    best = least(problem)
    for steps in range(1, 8):
        fit = run(problem, "gradient", options={"eta": eta}, max_iter=steps)
        assert value_of(problem, fit) - best <= fit.outcome.gap * (1 + 1e-9)


@pytest.mark.parametrize("name", ["gradient", "sgd"])
@pytest.mark.parametrize("eta", [0.0, -1.0, np.nan])
def test_a_step_that_is_not_positive_is_refused(name, eta):
    with pytest.raises(ValueError, match=r"solver_options\['eta'\] must be positive"):
        run(draw(16), name, options={"eta": eta})
