"""What a solver tells of its way: paths and accounts of sweeps."""

import numpy as np
import pytest

from separatrix.solve.outcome import Account
from separatrix.solve.registry import SOLVERS
from tests.data.naive import Naive
from tests.solve.cases import draw, every_solver, exact_solvers, run


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
