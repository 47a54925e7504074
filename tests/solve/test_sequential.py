"""Stochastic gradient: keyed orders, unbiased steps, the best epoch."""

import numpy as np
import pytest
from scipy import sparse

from separatrix.core.losses import Hinge
from separatrix.solve.outcome import Account
from separatrix.solve.sequential import keyed_generator, stochastic_gradient
from tests.solve.cases import draw, least, run, value_of


def test_sgd_depends_on_its_seed_and_on_nothing_else():
    problem = draw(17, 3)
    np.random.seed(1)  # noqa: NPY002  the global stream must not matter, nor be consumed
    a = run(problem, "sgd", max_iter=3, seed=5)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    run(draw(18), "sgd", max_iter=4, seed=5)  # nor what ran before
    b = run(problem, "sgd", max_iter=3, seed=5)
    c = run(problem, "sgd", max_iter=3, seed=6)
    assert np.array_equal(a.coef, b.coef) and np.array_equal(a.intercept, b.intercept)
    assert not np.array_equal(a.coef, c.coef)
    np.random.seed(1)  # noqa: NPY002
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_a_keyed_generator_depends_on_all_of_its_key():
    draws = {
        (seed, purpose, index): keyed_generator(seed, purpose, index).random()
        for seed in (0, 1)
        for purpose in ("sgd", "other")
        for index in (1, 2)
    }
    assert len(set(draws.values())) == 8
    assert keyed_generator(1, "sgd", 2).random() == draws[1, "sgd", 2]


def test_sgd_of_one_batch_is_gradient_descent():
    problem = draw(19, weighted=True)
    objective = problem.objective()
    account = Account(objective)
    outcome = stochastic_gradient(
        account, objective.zero(), 0.0, 1, eta=0.2, batch=problem.rows.n, average=False
    )
    np.testing.assert_allclose(
        outcome.theta, -0.2 * objective.evaluate(objective.zero()).gradient, rtol=1e-10, atol=1e-14
    )


@pytest.mark.parametrize("k", [2, 3])
def test_sgds_steps_are_unbiased(k):
    """Averaged over all batches at one θ, the step is the full gradient: weights count as repetitions."""
    problem = draw(20, k, n=60)
    objective = problem.objective()
    outcomes = []
    for seed in range(40):
        account = Account(objective)
        outcome = stochastic_gradient(
            account, objective.zero(), 0.0, 1, eta=1e-6, batch=6, average=False, seed=seed
        )
        outcomes.append(outcome.theta)
    # ten tiny steps: θ ≈ −10 η ∇F, and rounding of the orders averages out
    wanted = -10e-6 * objective.evaluate(objective.zero()).gradient
    np.testing.assert_allclose(np.mean(outcomes, axis=0), wanted, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("batch", [1, 7, 32, 1000])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_sgd_comes_near_with_any_batch(batch, average, store):
    problem = draw(21, store=store)
    options = {"batch": batch, "average": average, **({"eta": 0.05} if batch == 1 else {})}
    fit = run(problem, "sgd", options=options, max_iter=60)
    start = problem.objective().evaluate(problem.objective().zero()).value
    assert value_of(problem, fit) - least(problem) <= 0.1 * (start - least(problem))


def test_sgd_returns_its_best_epoch():
    fit = run(draw(22, ridge=1.0), "sgd", options={"eta": 100.0}, max_iter=10, record=True)
    assert np.isfinite(fit.coef).all()
    assert fit.outcome.value == np.nanmin(fit.path.objective)


@pytest.mark.parametrize("eta", [1e3, 1e200])
def test_sgd_reports_a_step_too_long(eta):
    fit = run(draw(22, ridge=1.0), "sgd", options={"eta": eta}, max_iter=10)
    assert fit.outcome.stopped_by.startswith("diverged: the step size eta")


def test_sgd_takes_losses_with_corners():
    problem = draw(23, loss=Hinge(), ridge=0.01)
    fit = run(problem, "sgd")
    objective = problem.objective()
    start = objective.evaluate(objective.zero()).value
    assert fit.outcome.value < 0.9 * start
    assert fit.outcome.gap == np.inf  # no bound is known for this loss: none is claimed


@pytest.mark.parametrize("batch", [0, -3])
def test_a_batch_of_no_rows_is_refused(batch):
    with pytest.raises(ValueError, match=r"solver_options\['batch'\] must be at least 1"):
        run(draw(16), "sgd", options={"batch": batch})
