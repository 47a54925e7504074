"""Every solver on small problems whose minimum is known to 1e-17: the same F, honest gaps, the same bits."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from separatrix import LogisticRegression
from separatrix.core.losses import Exponential, Hinge, Logistic, Multinomial, Squared, SquaredHinge
from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates, gram_coordinates
from separatrix.problems.objective import Objective
from separatrix.solve.gradient import curvature_bound, gradient_ascent, loss_curvature
from separatrix.solve.lbfgs import lbfgs
from separatrix.solve.linear import Problem, minimise
from separatrix.solve.newton import newton
from separatrix.solve.outcome import Account
from separatrix.solve.registry import SOLVERS
from separatrix.solve.sequential import keyed_generator, stochastic_gradient
from separatrix.verdict.gaps import ROUNDING, FenchelBound, certify
from tests.data.naive import Naive

STEPS = {"newton": 50, "lbfgs": 300, "gradient": 4000, "sgd": 60}
every_solver = pytest.mark.parametrize("name", SOLVERS)
exact_solvers = pytest.mark.parametrize("name", ["newton", "lbfgs", "gradient"])
quick = settings(max_examples=15, deadline=None)
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


# ---- the same minimum ----


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.05, 2.0])
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_every_solver_finds_the_same_minimum(k, ridge, fit_intercept, store):
    problem = draw(1, k, ridge=ridge, fit_intercept=fit_intercept, store=store)
    best = least(problem)
    for name in SOLVERS:
        fit = run(problem, name)
        excess = value_of(problem, fit) - best
        assert excess >= -1e-14, name
        assert excess <= {"newton": 2e-14, "lbfgs": 2e-6, "gradient": 2e-6, "sgd": 5e-2}[name], name
        assert fit.outcome.value == pytest.approx(value_of(problem, fit), rel=1e-12, abs=1e-15), name
        assert fit.solver == name


@every_solver
@quick
@given(seed=seeds, k=st.sampled_from([2, 3]), ridge=st.sampled_from([1e-3, 0.1, 5.0]))
def test_the_gap_is_a_true_bound(name, seed, k, ridge):
    """Also, and above all, after too few steps."""
    problem = draw(seed, k, ridge=ridge)
    best = least(problem)
    for steps in (1, 2, 5):
        fit = run(problem, name, max_iter=steps)
        assert value_of(problem, fit) - best <= fit.outcome.gap * (1 + 1e-9) + 1e-15, (steps, fit.outcome)


@quick
@given(seed=seeds, k=st.sampled_from([2, 3]), ridge=st.sampled_from([1e-3, 0.1, 5.0]), reach=st.floats(0, 3))
def test_bounds_hold_at_any_point_whatever_brought_one_there(seed, k, ridge, reach):
    problem = draw(seed, k, ridge=ridge)
    best = least(problem)
    rng = np.random.default_rng(seed)
    for objective in (
        problem.objective(),
        problem.objective(gram_coordinates(problem.rows, problem.moments, True, ridge, 0.25)),
    ):
        theta = reach * rng.normal(size=objective.shape)
        at = objective.evaluate(theta)
        gap, _ = FenchelBound(objective, objective.evaluate(objective.zero())).gap(theta, at)
        assert at.value - best <= gap * (1 + 1e-9) + 1e-14
        certificate = certify(objective, theta)
        assert at.value - best <= certificate.gap * (1 + 1e-9) + 1e-14
        assert certificate.gap <= gap * (1 + 1e-9) + 1e-14


@quick
@given(seed=seeds, k=st.sampled_from([2, 3]), reach=st.floats(0, 1))
def test_without_a_penalty_a_finite_bound_is_true_and_proves_a_minimum(seed, k, reach):
    problem = draw(seed, k, ridge=0.0)
    objective = problem.objective()
    optimum, best = Naive.of(objective).minimum(objective.zero())
    theta = np.asarray(optimum, float) + reach * 1e-2 * np.random.default_rng(seed).normal(
        size=objective.shape
    )
    certificate = certify(objective, theta)
    if np.isfinite(certificate.gap):
        assert objective.evaluate(theta).value - float(best) <= certificate.gap * (1 + 1e-9) + 1e-14
        assert certificate.exists and certificate.unique


@exact_solvers
def test_a_met_tolerance_means_a_met_gap(name):
    for tol in (1e-2, 1e-4):
        problem = draw(2)
        fit = run(problem, name, tol=tol)
        assert fit.outcome.stopped_by == "gap ≤ tol"
        goal = SOLVERS[name].goal(tol)
        assert fit.outcome.gap <= max(goal, ROUNDING) * abs(fit.outcome.value) * (1 + 1e-9)
        assert value_of(problem, fit) - least(problem) <= fit.outcome.gap


@every_solver
@pytest.mark.parametrize("k", [2, 3])
def test_a_column_of_another_unit_makes_no_solver_worse(name, k):
    """Without a penalty the fit in other units is the same fit."""
    unit = np.array([1e-8, 1.0, 1e8])
    here, there = draw(3, k, ridge=0.0), draw(3, k, ridge=0.0, unit=unit)
    a, b = run(here, name), run(there, name)
    assert b.outcome.value == pytest.approx(a.outcome.value, rel=1e-9)
    np.testing.assert_allclose(b.coef * unit, a.coef, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["newton", "lbfgs"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_penalty_on_columns_of_very_different_units(name, k):
    problem = draw(4, k, unit=np.array([1e-8, 1.0, 1e8]))
    fit = run(problem, name)
    assert fit.outcome.stopped_by == "gap ≤ tol"
    assert value_of(problem, fit) - least(problem) <= fit.outcome.gap


@pytest.mark.parametrize("name", ["gradient", "sgd"])
def test_a_penalty_on_a_column_of_a_small_unit_does_not_stall(name):
    problem = draw(4, unit=np.array([1e-2, 1.0, 1.0]))
    fit = run(problem, name, max_iter={"gradient": 1000, "sgd": 60}[name])
    assert "diverged" not in fit.outcome.stopped_by
    assert value_of(problem, fit) - least(problem) <= 1e-3


@pytest.mark.parametrize("name", ["newton", "lbfgs"])
def test_wide_data_go_through_the_span_of_the_rows(name):
    for k in (2, 3):
        problem = draw(5, k, n=12, p=20, ridge=0.1)
        fit = run(problem, name)
        assert fit.objective.coordinates.size == 12
        assert value_of(problem, fit) - least(problem) <= fit.outcome.gap + 1e-14


# ---- paths and accounts ----


@every_solver
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_solver_records_its_path(name, k, fit_intercept):
    problem = draw(6, k, fit_intercept=fit_intercept)
    fit = run(problem, name, record=True, max_iter=30)
    path = fit.path
    assert path.coef.shape == (len(path), 3) if k == 2 else (len(path), k, 3)
    assert path.intercept.shape == ((len(path),) if k == 2 else (len(path), k))
    assert path.objective.shape == path.gradient_norm.shape == (len(path),)
    assert not path.coef[0].any()  # from zero
    objective = problem.objective()
    naive = Naive.of(objective)
    for i in range(len(path)):
        theta = objective.from_user(path.coef[i], path.intercept[i])
        assert path.objective[i] == pytest.approx(float(naive.value(theta)), rel=1e-10)
    if name != "sgd":  # which records every step and answers with the best epoch
        assert path.objective.min() >= fit.outcome.value * (1 - 1e-12)


@pytest.mark.parametrize(
    "name, steps",
    [
        ("newton", 3),
        ("newton", 50),
        ("lbfgs", 3),
        ("lbfgs", 300),
        ("gradient", 3),
        ("gradient", 4000),
    ],
)
def test_the_path_ends_at_the_answer(name, steps):
    fit = run(draw(6), name, record=True, max_iter=steps)
    np.testing.assert_allclose(fit.path.coef[-1], fit.coef, rtol=1e-6)
    np.testing.assert_allclose(fit.path.intercept[-1], fit.intercept, rtol=1e-6)


@pytest.mark.parametrize("average", [True, False])
def test_sgds_path_goes_through_the_answer(average):
    fit = run(draw(6), "sgd", record=True, max_iter=3, options={"average": average})
    assert any(np.array_equal(coef, fit.coef) for coef in fit.path.coef)
    assert len(fit.path) >= 4


@every_solver
def test_recording_the_path_does_not_change_the_answer(name):
    problem = draw(6, 3)
    plain, recorded = run(problem, name), run(problem, name, record=True)
    assert recorded.outcome.value == pytest.approx(plain.outcome.value, rel=1e-12)
    np.testing.assert_allclose(recorded.coef, plain.coef, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["newton", "lbfgs"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_path_in_the_span_of_the_rows_is_in_the_users_columns(name, k):
    problem = draw(5, k, n=12, p=20, ridge=0.1)
    path = run(problem, name, record=True).path
    objective = problem.objective()
    for i in range(len(path)):
        theta = objective.from_user(path.coef[i], path.intercept[i])
        assert path.objective[i] == pytest.approx(objective.evaluate(theta).value, rel=1e-10)


@every_solver
def test_no_path_unless_asked(name):
    assert run(draw(6), name, max_iter=5).path is None


@exact_solvers
def test_the_objective_never_rises_along_the_path(name):
    for seed in range(5):
        path = run(draw(seed, 3, ridge=0.01), name, record=True, max_iter=40).path
        assert (np.diff(path.objective) <= 1e-14).all()


@pytest.mark.parametrize("name", ["newton", "lbfgs", "gradient", "sgd"])
def test_an_account_counts_every_sweep(name):
    problem = draw(7)
    objective = problem.objective()
    account = Account(objective)
    calls = [0.0]
    real = Account.evaluate

    def counted(self, theta, order=1, stride=1, **measure):
        calls[0] += 1.0 / stride
        return real(self, theta, order, stride, **measure)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Account, "evaluate", counted)
        SOLVERS[name].run(account, objective.zero(), 1e-8, 6)
    extra = 6 if name == "sgd" else 0  # an epoch reads the rows once
    assert account.sweeps == calls[0] + extra


def test_a_strided_sweep_counts_its_share():
    account = Account(draw(7).objective())
    account.evaluate(account.objective.zero(), order=2, stride=4)
    assert account.sweeps == 0.25


def test_verbose_prints_a_line_a_step_to_standard_error(capsys):
    fit = run(draw(7), "newton", verbose=1, record=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == len(fit.path) and all("objective" in line and "gap" in line for line in lines)


# ---- Newton ----


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@quick
@given(seed=seeds)
def test_newton_solves_least_squares_in_one_step(fit_intercept, ridge, seed):
    problem = draw(seed, loss=Squared(), ridge=ridge, fit_intercept=fit_intercept)
    fit = run(problem, "newton", record=True)
    assert fit.outcome.iterations == 1 and len(fit.path) == 2
    assert fit.outcome.unique and fit.outcome.gap <= 1e-12
    X, w = problem.rows.source, problem.rows.weight / problem.rows.weight.sum()
    A = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    penalty = ridge * np.diag([1.0] * 3 + [0.0] * int(fit_intercept))
    wanted = np.linalg.solve((A.T * w) @ A + penalty, (A.T * w) @ problem.rows.y)
    got = np.append(fit.coef, fit.intercept) if fit_intercept else fit.coef
    np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-10)


def test_newton_solves_least_squares_in_one_step_with_an_exact_fit():
    """When the residual vanishes, so must the objective: never below zero, never above rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    rows = Rows.of(X, X @ [1.0, -2.0, 3.0] + 5)
    fit = run(Problem(rows, rows.moments(), Squared(), 0.0, True), "newton")
    assert fit.outcome.iterations == 1
    np.testing.assert_allclose(fit.coef, [1, -2, 3], atol=1e-12)
    assert float(fit.intercept) == pytest.approx(5)
    assert abs(fit.outcome.value) <= 1e-13


@pytest.mark.parametrize(
    "k, far",
    [
        (2, 10.0),
        (3, 10.0),
        (2, 100.0),
        (3, 100.0),
        (2, 1e3),
        (3, 1e3),
    ],
)
def test_newton_from_far_away_is_damped_and_never_rises(k, far):
    """Full steps from there jump away: plain Newton diverges."""
    problem = draw(8, k, ridge=1e-4)
    objective = problem.objective()
    rng = np.random.default_rng(8)
    start = objective.to_user(far * rng.normal(size=objective.shape))
    fit = run(problem, "newton", start=start, record=True, max_iter=200)
    assert fit.outcome.stopped_by == "gap ≤ tol"
    assert (np.diff(fit.path.objective) <= 1e-12 * np.abs(fit.path.objective[:-1])).all()
    assert fit.outcome.value == pytest.approx(least(problem), rel=1e-12)


@pytest.mark.parametrize("k, far", [(2, 30.0), (3, 30.0), (2, 1e3)])
def test_newton_from_far_away_does_not_take_overlap_for_separation(k, far):
    problem = draw(8, k, ridge=0.0)
    objective = problem.objective()
    start = objective.to_user(far * np.random.default_rng(8).normal(size=objective.shape))
    fit = run(problem, "newton", start=start, max_iter=200)
    assert not fit.outcome.runaway
    assert fit.outcome.value == pytest.approx(least(problem), rel=1e-12)


@pytest.mark.parametrize("seed", [10, 50, 122])
def test_nearly_separated_classes_still_reach_their_minimum(seed):
    """Six slow steps raise a suspicion of separation; the classes overlap, and an optimum exists."""
    problem = draw(seed, ridge=0.0)
    rows = problem.rows
    model = LogisticRegression(C=np.inf).fit(rows.source, rows.y, rows.weight)
    assert model.verdict_.status == "optimal"
    assert model.verdict_.objective == pytest.approx(least(problem), rel=1e-10)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_newton_is_safe_when_the_hessian_is_singular(k, ridge):
    """A repeated and a constant column: the answer of least length, the columns named."""
    base = draw(9, k, ridge=ridge)
    X = base.rows.source
    rows = Rows.of(np.column_stack([X, X[:, 0], np.full(len(X), 7.0)]), base.rows.y, base.rows.weight)
    problem = replace(base, rows=rows, moments=rows.moments())
    fit = run(problem, "newton")
    assert np.isfinite(fit.coef).all()
    coef = np.atleast_2d(fit.coef)
    np.testing.assert_allclose(coef[:, 0], coef[:, 3], rtol=1e-8)
    assert not coef[:, 4].any()
    if ridge == 0:
        assert fit.aliased.tolist() == [0, 3] and fit.outcome.unique is False
        single = run(base, "newton")
        np.testing.assert_allclose(2 * coef[:, 0], np.atleast_2d(single.coef)[:, 0], rtol=1e-5)
        assert fit.outcome.value == pytest.approx(single.outcome.value, rel=1e-12)
    else:
        assert len(fit.aliased) == 0 and fit.outcome.unique


@pytest.mark.parametrize("k", [2, 3])
def test_newton_says_when_the_weights_run_away(k):
    X = np.arange(12.0)[:, None]
    codes = np.arange(12) * k // 12
    rows = Rows.of(X, 2.0 * codes - 1 if k == 2 else codes)
    loss = Logistic() if k == 2 else Multinomial()
    for name in ("newton", "lbfgs"):
        fit = run(Problem(rows, rows.moments(), loss, 0.0, True, None if k == 2 else k), name)
        assert fit.outcome.runaway, name
        assert "run away" in fit.outcome.stopped_by
        assert np.isfinite(fit.coef).all()


def test_newtons_theta_stops_by_the_length_of_the_step():
    problem = draw(10)
    coarse = run(problem, "newton", options={"theta": 0.5}, record=True)
    fine = run(problem, "newton", options={"theta": 1e-8}, record=True)
    for fit in (coarse, fine):
        assert fit.outcome.stopped_by == "‖Δw‖ < θ"
    assert coarse.outcome.iterations < fine.outcome.iterations
    # the step not taken is the last distance to the minimum, up to its square
    best = run(problem, "newton")
    away = np.append(coarse.coef - best.coef, coarse.intercept - best.intercept)
    assert 0 < np.linalg.norm(away) < 0.6
    np.testing.assert_allclose(fine.coef, best.coef, atol=1e-7)


@pytest.mark.parametrize("loss", [SquaredHinge(), Exponential()], ids=lambda loss: loss.name)
def test_newton_on_other_curved_losses(loss):
    problem = draw(11, loss=loss, ridge=0.1)
    fit = run(problem, "newton")
    assert value_of(problem, fit) - least(problem) <= 1e-9


# ---- L-BFGS ----


@pytest.mark.parametrize("memory", [1, 3, 30])
def test_lbfgs_memory_changes_the_way_and_not_the_end(memory):
    problem = draw(12, 3)
    fit = run(problem, "lbfgs", options={"memory": memory})
    assert fit.outcome.stopped_by == "gap ≤ tol"
    assert value_of(problem, fit) - least(problem) <= fit.outcome.gap


def test_lbfgs_on_another_smooth_loss():
    problem = draw(13, loss=SquaredHinge(), ridge=0.1)
    fit = run(problem, "lbfgs")
    assert value_of(problem, fit) - least(problem) <= 1e-9


# ---- gradient ascent ----


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


# ---- stochastic gradient ----


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


# ---- warm starts, few steps, interruption ----


@every_solver
@pytest.mark.parametrize("k", [2, 3])
def test_a_warm_start_at_the_minimum_ends_there(name, k):
    problem = draw(24, k)
    best = run(problem, "newton")
    fit = run(problem, name, start=(best.coef, best.intercept), max_iter=20)
    assert value_of(problem, fit) - least(problem) <= 1e-13
    if name in ("newton", "lbfgs", "gradient"):
        assert fit.outcome.iterations <= 2
        assert fit.outcome.stopped_by == "gap ≤ tol"
    assert value_of(problem, fit) - least(problem) <= fit.outcome.gap + 1e-15


@pytest.mark.parametrize("name", ["lbfgs", "gradient", "sgd"])
def test_too_few_steps_are_reported_as_such(name):
    fit = run(draw(25, ridge=1e-3), name, max_iter=2)
    assert fit.outcome.stopped_by == "max_iter reached"
    assert fit.outcome.iterations == 2


@pytest.mark.parametrize(
    "name",
    [
        "newton",
        "lbfgs",
        "gradient",
        "sgd",
    ],
)
def test_ctrl_c_keeps_what_was_reached(name):
    problem = draw(26, 3)
    objective = problem.objective()
    account = Account(objective)
    real = Objective.evaluate
    calls = [0]

    def interrupted(self, *arguments, **keywords):
        calls[0] += 1
        if calls[0] == 4:
            raise KeyboardInterrupt
        return real(self, *arguments, **keywords)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Objective, "evaluate", interrupted)
        outcome = SOLVERS[name].run(account, objective.zero(), 1e-12, 50)
    assert outcome.stopped_by == "interrupted"
    assert np.isfinite(outcome.theta).all()
    assert outcome.value == pytest.approx(objective.evaluate(outcome.theta).value, rel=1e-12)
    assert outcome.value < objective.evaluate(objective.zero()).value


# ---- the same bits, and no side effects ----


@every_solver
@pytest.mark.parametrize("k", [2, 3])
def test_a_second_run_gives_the_same_bits(name, k):
    a, b = (run(draw(27, k), name, max_iter=20) for _ in range(2))
    assert np.array_equal(a.coef, b.coef) and np.array_equal(a.intercept, b.intercept)
    assert a.outcome.gap == b.outcome.gap and a.sweeps == b.sweeps


@every_solver
def test_the_start_and_the_rows_are_left_alone(name):
    problem = draw(28)
    objective = problem.objective()
    start = np.full(objective.shape, 0.1)
    cells, target = problem.rows.source.copy(), problem.rows.y.copy()
    SOLVERS[name].run(Account(objective), start, 1e-6, 5)
    assert (start == 0.1).all()
    assert np.array_equal(problem.rows.source, cells) and np.array_equal(problem.rows.y, target)


@pytest.mark.parametrize("solver", [newton, lbfgs], ids=["newton", "lbfgs"])
def test_solvers_work_in_any_coordinates(solver):
    problem = draw(29, 3)
    best = least(problem)
    for coordinates in (
        None,
        Coordinates.identity(3),
        gram_coordinates(problem.rows, problem.moments, True, problem.ridge, 0.25),
    ):
        objective = problem.objective(coordinates)
        outcome = solver(Account(objective), objective.zero(), 1e-10, 300)
        assert outcome.value - best <= outcome.gap + 1e-14
        assert outcome.value - best <= 1e-9


@pytest.mark.parametrize("name", ["newton", "lbfgs", "gradient"])
def test_the_threads_of_a_fit_do_not_change_it(name):
    answers = []
    for kind, workers in (("serial", None), ("threads", 2), ("threads", 3)):
        with engine(kind, workers=workers, blocks=5):
            answers.append(run(draw(30, 3), name, max_iter=30))
    for other in answers[1:]:
        assert np.array_equal(other.coef, answers[0].coef)


def test_nothing_is_printed_unless_asked(capsys):
    run(draw(31), "newton")
    assert capsys.readouterr() == ("", "")
    assert sys.stderr is not None


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sampled_factor_proves_what_the_whole_hessian_proves(weighted):
    """Large data are fitted with a quarter's Hessian: H ⪰ share · H_quarter, and the gap it gives is true."""
    rng = np.random.default_rng(3)
    n = 40_000
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4)) + [5.0, 0.0, -3.0, 0.1]
    y = np.where(X @ rng.normal(size=4) + rng.logistic(size=n) > 0, 1.0, -1.0)
    weight = rng.uniform(0.0, 2.0, n).round(1) if weighted else None
    rows = Rows.of(X, y, weight)
    problem = Problem(rows, rows.moments(), Logistic(), 1e-5, True, None)
    objective = problem.objective()
    theta = rng.normal(scale=0.1, size=5)
    whole = objective.evaluate(theta, order=2)
    part = objective.evaluate(theta, order=2, stride=4)
    assert 0.1 < part.share < 0.5
    least = np.linalg.eigvalsh(whole.hessian - part.share * part.hessian)[0]
    assert least > 0

    account = Account(objective)
    outcome = SOLVERS["newton"].run(account, objective.zero(), 1e-10, 50)
    assert account.sweeps < 7 and outcome.stopped_by == "gap ≤ tol"
    at = objective.evaluate(outcome.theta, order=2)
    nearly = at.value - 0.5 * at.gradient @ np.linalg.solve(at.hessian, at.gradient)
    assert at.value - nearly <= outcome.gap <= 1e-9


@pytest.mark.parametrize("classes", [None, 3])
def test_the_drift_of_scores_is_measured_exactly(classes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(500, 3)) * [1.0, 1e-6, 1e5] + [0.0, 1.0, 1e7]
    y = rng.integers(classes, size=500) if classes else rng.choice([-1.0, 1.0], 500)
    weight = rng.integers(0, 2, 500).astype(float)
    rows = Rows.of(X, y, weight)
    loss = Multinomial() if classes else Logistic()
    objective = Problem(rows, rows.moments(), loss, 1e-3, True, classes).objective()
    a, b = rng.normal(size=objective.shape), rng.normal(size=objective.shape)
    (w1, b1), (w0, b0) = objective.to_user(a), objective.to_user(b)
    change = ((X @ w1.T + b1) - (X @ w0.T + b0))[weight > 0]
    expected = np.abs(change).max() if classes is None else np.ptp(change, axis=1).max()
    at = objective.evaluate(a, since=b, radius=True)
    np.testing.assert_allclose(at.drift, expected, rtol=1e-6)
    np.testing.assert_allclose(at.radius, objective.evaluate(a, order=2).radius, rtol=1e-9)
    fresh = Problem(rows, rows.moments(), loss, 1e-3, True, classes).objective()
    np.testing.assert_allclose(at.radius, fresh.evaluate(a, order=2).radius, rtol=1e-9)
