"""Every solver on small problems whose minimum is known to 1e-17: the same F, honest gaps, the same bits."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from separatrix.data.engine import engine
from separatrix.problems.coordinates import Coordinates, gram_coordinates
from separatrix.problems.objective import Objective
from separatrix.solve.lbfgs import lbfgs
from separatrix.solve.newton import newton
from separatrix.solve.outcome import Account
from separatrix.solve.registry import SOLVERS
from separatrix.verdict.gaps import ROUNDING, FenchelBound, certify
from tests.data.naive import Naive
from tests.solve.cases import draw, every_solver, exact_solvers, least, quick, run, seeds, value_of

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
        assert fit.objective.coordinates.size <= 12
        assert value_of(problem, fit) - least(problem) <= fit.outcome.gap + 1e-14


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
