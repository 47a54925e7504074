"""What a fit leaves behind when it stops: the path, a true gap, the best so far; and where the next one starts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from separatrix import (
    ConvergenceWarning,
    LeastSquaresClassifier,
    LogisticRegression,
    engine,
    keep_going,
    verify,
)
from separatrix.problems.objective import Objective
from tests.models.reference import long_newton, objective_of, overlapping, quiet

SOLVERS = ["newton", "lbfgs", "gradient", "sgd"]


# ---- paths ----


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_path_is_in_the_users_units(solver, K):
    X, y = overlapping(100, 2, K, seed=0)
    X = (X + 5) * [10.0, 0.1]
    with quiet(ConvergenceWarning):
        model = LogisticRegression(solver=solver, record_path=True, max_iter=25).fit(X, y)
    path = model.path_
    T = len(path)
    assert T >= 2 and (solver == "sgd" or T <= 27)
    assert path.coef.shape == ((T, 2) if K == 2 else (T, K, 2))
    assert path.intercept.shape == ((T,) if K == 2 else (T, K))
    assert path.objective.shape == path.gradient_norm.shape == (T,)
    # every objective on the path is F of the weights beside it
    for t in range(T):
        F = objective_of(X, y, path.coef[t], path.intercept[t])
        assert path.objective[t] == pytest.approx(F, rel=1e-8)
    np.testing.assert_allclose(path.coef[0], 0.0)
    if solver != "sgd":
        assert (np.diff(path.objective) <= 1e-13).all()
        np.testing.assert_allclose(path.coef[-1], np.squeeze(model.coef_), rtol=1e-5, atol=1e-8)


def test_no_path_unless_asked_for():
    X, y = overlapping(50, 2)
    assert not hasattr(LogisticRegression().fit(X, y), "path_")
    # and none left over from an earlier fit
    model = LogisticRegression(record_path=True).fit(X, y)
    assert hasattr(model, "path_")
    assert not hasattr(model.set_params(record_path=False).fit(X, y), "path_")


def test_the_path_of_wide_data_is_in_their_columns():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 50)), np.arange(20) % 2
    model = LogisticRegression(record_path=True).fit(X, y)
    assert model.path_.coef.shape[1] == 50
    last = objective_of(X, y, model.path_.coef[-1], model.path_.intercept[-1])
    assert model.path_.objective[-1] == pytest.approx(last, rel=1e-9)


def test_gradient_ascent_is_the_notes_algorithm():
    """θ ← θ − η∇F in standardised columns, by hand, three steps ([726])."""
    X, y = overlapping(80, 2, seed=1)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    w, b, eta, steps = np.zeros(2), 0.0, 0.3, [np.zeros(2)]
    for _ in range(3):
        residual = 1 / (1 + np.exp(-(Z @ w + b))) - y
        w, b = w - eta * Z.T @ residual / 80, b - eta * residual.mean()
        steps.append(w)
    with quiet(ConvergenceWarning):
        model = LogisticRegression(
            C=np.inf, solver="gradient", solver_options={"eta": eta}, max_iter=3, record_path=True
        ).fit(X, y)
    np.testing.assert_allclose(model.path_.coef * X.std(axis=0), steps, atol=1e-12)


def test_newton_is_the_notes_algorithm():
    """θ ← θ − H⁻¹∇F, by hand: the same first steps, in any coordinates ([PC])."""
    X, y = overlapping(80, 2, seed=2)
    A, theta, steps = np.column_stack([X, np.ones(80)]), np.zeros(3), [np.zeros(3)]
    for _ in range(2):
        p = 1 / (1 + np.exp(-A @ theta))
        theta = theta - np.linalg.solve(A.T @ (A * (p * (1 - p))[:, None]), A.T @ (p - y))
        steps.append(theta)
    model = LogisticRegression(C=np.inf, solver="newton", record_path=True).fit(X, y)
    first = np.column_stack([model.path_.coef, model.path_.intercept])[:2]
    np.testing.assert_allclose(first, steps[:2], atol=1e-10)


# ---- stopping rules ----


def test_the_gradient_norm_threshold():
    X, y = overlapping(100, 3, seed=3)
    with quiet(ConvergenceWarning):
        model = LogisticRegression(
            solver="gradient", solver_options={"threshold": 1e-3}, max_iter=5000, record_path=True
        ).fit(X, y)
    assert model.path_.gradient_norm[-1] < 1e-3 <= model.path_.gradient_norm[-2]
    assert model.verdict_.stopped_by == "‖∇F‖ < threshold"


def test_newtons_step_threshold():
    X, y = overlapping(100, 3, seed=4)
    with quiet(ConvergenceWarning):
        loose = LogisticRegression(solver="newton", solver_options={"theta": 0.5}).fit(X, y)
        tight = LogisticRegression(solver="newton", solver_options={"theta": 1e-9}).fit(X, y)
    assert loose.verdict_.stopped_by == tight.verdict_.stopped_by == "‖Δw‖ < θ"
    assert loose.n_iter_[0] < tight.n_iter_[0]
    answer = long_newton(X, y)
    np.testing.assert_allclose(tight.coef_[0], np.asarray(answer.coef, float), atol=1e-8)


def test_too_large_a_step_says_so():
    X, y = overlapping(100, 3, seed=5)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        model = LogisticRegression(solver="gradient", solver_options={"eta": 1e4}).fit(X, y)
    assert model.verdict_.status == "not converged"


def test_too_large_a_step_has_a_true_gap():
    """F may rise from step to step; the gap is still that of the weights that are returned."""
    X, y = overlapping(60, 2, seed=0)
    minimum = long_newton(X, y, C=0.1).objective
    for max_iter in (1, 2, 3):
        with quiet(ConvergenceWarning):
            model = LogisticRegression(
                C=0.1, solver="gradient", solver_options={"eta": 8.0}, max_iter=max_iter
            ).fit(X, y)
        F = objective_of(X, y, model.coef_, model.intercept_, C=0.1)
        assert F - minimum <= model.verdict_.gap


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("K", [2, 3])
def test_too_few_iterations_give_a_finite_true_gap(solver, K):
    X, y = overlapping(120, 4, K, seed=6)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model = LogisticRegression(solver=solver, max_iter=1).fit(X, y)
    verdict = model.verdict_
    assert verdict.status == "not converged" and not verdict.settled
    assert verdict.stopped_by == "max_iter reached"
    minimum = long_newton(X, y).objective
    assert np.isfinite(verdict.gap)
    F = objective_of(X, y, model.coef_, model.intercept_)
    assert verdict.objective == pytest.approx(F, rel=1e-10)
    assert 0 < F - minimum <= verdict.gap
    assert verdict.bound <= minimum


def test_the_warning_class_is_ours_and_scikit_learns():
    from sklearn.exceptions import ConvergenceWarning as Theirs

    assert issubclass(ConvergenceWarning, Theirs)
    X, y = overlapping(60, 2)
    with pytest.warns(Theirs):
        LogisticRegression(max_iter=1).fit(X, y)


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "gradient"])
def test_a_tighter_tolerance_is_a_smaller_gap(solver):
    X, y = load_breast_cancer(return_X_y=True)
    gaps = []
    for tol in (1e-1, 1e-4, 1e-8):
        with quiet(ConvergenceWarning):
            gaps.append(LogisticRegression(solver=solver, tol=tol, max_iter=300).fit(X, y).verdict_.gap)
    assert gaps[0] * (1 + 1e-9) >= gaps[1] and gaps[1] * (1 + 1e-9) >= gaps[2]


def test_verbose_prints_a_line_a_step_to_standard_error(capfd):
    X, y = overlapping(60, 2)
    LogisticRegression(verbose=1).fit(X, y)
    out, err = capfd.readouterr()
    assert out == "" and err.count("objective") >= 3
    LogisticRegression().fit(X, y)
    assert capfd.readouterr() == ("", "")


# ---- interruption ----


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gradient"])
def test_an_interrupt_keeps_the_best_so_far(monkeypatch, solver, K, C):
    """Ctrl-C in the fourth evaluation: the last point that was evaluated, its true gap."""
    X, y = overlapping(120, 4, K, seed=7)
    evaluate, calls = Objective.evaluate, []

    def interrupted(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return evaluate(self, *args, **kwargs)

    monkeypatch.setattr(Objective, "evaluate", interrupted)
    with quiet(ConvergenceWarning), keep_going():
        model = LogisticRegression(C=C, solver=solver, max_iter=1000).fit(X, y)
    monkeypatch.undo()
    verdict = model.verdict_
    assert verdict.status == "interrupted" and verdict.stopped_by == "interrupted"
    assert not verdict.settled and "interrupted" in str(verdict)
    F = objective_of(X, y, model.coef_, model.intercept_, C=C)
    assert verdict.objective == pytest.approx(F, rel=1e-10)
    assert np.log(K) - F > 0  # better than where it started
    assert F - long_newton(X, y, C=C).objective <= verdict.gap
    model.predict_proba(X)
    # and the next fit goes on from there
    again = model.set_params(warm_start=True).fit(X, y)
    assert again.verdict_.status in ("optimal", "not converged")


def test_an_interrupt_before_the_first_answer_is_an_interrupt(monkeypatch):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Objective, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        LogisticRegression().fit(*overlapping(60, 2))


# ---- warm start ----


@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "gradient"])
def test_warm_start_continues(solver, K, C):
    X, y = overlapping(150, 3, K, seed=8)
    settings_ = dict(C=C, solver=solver, warm_start=True, max_iter=300)
    with quiet(ConvergenceWarning):
        model = LogisticRegression(**settings_).fit(X, y)
        first, iterations = model.verdict_.objective, model.n_iter_[0]
        model.fit(X, y)
    assert model.verdict_.objective <= first * (1 + 1e-12)
    assert model.n_iter_[0] <= max(2, iterations)
    # a new C starts there too, and ends where a cold fit ends
    with quiet(ConvergenceWarning):
        warm = model.set_params(C=0.3, tol=1e-12, max_iter=3000).fit(X, y)
        cold = LogisticRegression(C=0.3, solver=solver, tol=1e-12, max_iter=3000).fit(X, y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-5)


def test_warm_start_starts_at_the_last_weights():
    X, y = overlapping(150, 3, seed=9)
    model = LogisticRegression(solver="gradient", warm_start=True, record_path=True, max_iter=5)
    with quiet(ConvergenceWarning):
        last = model.fit(X, y).coef_.copy()
        model.fit(X, y)
    np.testing.assert_allclose(model.path_.coef[0], last[0], atol=1e-12)


def test_warm_start_on_other_columns_or_classes_starts_cold():
    X, y = overlapping(150, 3, seed=10)
    model = LogisticRegression(warm_start=True).fit(X, y)
    model.fit(X[:, :2], y)
    assert model.coef_.shape == (1, 2)
    model.fit(X, overlapping(150, 3, 3, seed=10)[1])
    assert model.coef_.shape == (3, 3)
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, LogisticRegression().fit(X, y).coef_, atol=1e-7)


def test_warm_start_after_separation_starts_cold():
    X, y = overlapping(80, 2, seed=11)
    with quiet():
        model = LogisticRegression(C=np.inf, warm_start=True).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert not np.isfinite(model.coef_).all()
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, LogisticRegression(C=np.inf).fit(X, y).coef_, atol=1e-7)


def test_warm_start_when_the_classes_were_renamed_or_reordered():
    """Weights of old classes are no start for new ones, but the answer does not depend on the start."""
    X, y = overlapping(150, 3, 3, seed=12)
    model = LogisticRegression(warm_start=True).fit(X, y)
    model.fit(X, (y + 1) % 3)
    np.testing.assert_allclose(model.coef_, LogisticRegression().fit(X, (y + 1) % 3).coef_, atol=1e-7)


# ---- the same bits ----


@pytest.mark.parametrize("K", [2, 3])
def test_n_jobs_and_engines_give_the_same_bits(K):
    X, y = overlapping(3000, 5, K, seed=13)
    with engine(blocks=7):
        plain = LogisticRegression().fit(X, y)
        for n_jobs in (1, 2, -1):
            other = LogisticRegression(n_jobs=n_jobs).fit(X, y)
            np.testing.assert_array_equal(other.coef_, plain.coef_)
            np.testing.assert_array_equal(other.intercept_, plain.intercept_)
            assert other.verdict_.gap == plain.verdict_.gap
    default = LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(LogisticRegression(n_jobs=1).fit(X, y).coef_, default.coef_)
    np.testing.assert_allclose(default.coef_, plain.coef_, atol=1e-8)


def test_the_stochastic_solver_depends_on_its_seed_alone():
    X, y = overlapping(300, 3, seed=14)

    def weights(seed):
        with quiet(ConvergenceWarning):
            return LogisticRegression(solver="sgd", max_iter=5, random_state=seed).fit(X, y).coef_

    np.testing.assert_array_equal(weights(0), weights(0))
    np.testing.assert_array_equal(weights(None), weights(None))
    assert not np.array_equal(weights(0), weights(1))
    np.testing.assert_array_equal(weights(np.random.RandomState(3)), weights(np.random.RandomState(3)))


def test_the_stochastic_solver_comes_near():
    X, y = overlapping(2000, 5, 3, seed=15)
    with quiet(ConvergenceWarning):
        model = LogisticRegression(solver="sgd", max_iter=10, random_state=0).fit(X, y)
    tight = LogisticRegression().fit(X, y)
    assert tight.verdict_.objective <= model.verdict_.objective <= 1.01 * tight.verdict_.objective
    assert abs(model.score(X, y) - tight.score(X, y)) < 0.02


# ---- the verdict of an ordinary fit ----


def test_the_verdict_of_an_ordinary_fit():
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    verdict = model.verdict_
    assert (verdict.model, verdict.status, verdict.unique, verdict.settled) == (
        "LogisticRegression", "optimal", True, True,
    )  # fmt: skip
    assert 0 < verdict.gap <= verdict.tol and verdict.bound < verdict.objective
    assert verdict.sweeps >= 2 and verdict.seconds > 0 and verdict.stopped_by
    assert isinstance(verdict.findings, tuple) and verdict.columns == () and verdict.direction is None
    assert verify(model, X, y).objective == pytest.approx(verdict.objective, rel=1e-12)
    assert model.n_iter_.dtype == np.int32 and model.n_iter_.shape == (1,)
    assert model.solver_ in SOLVERS
    with pytest.raises(AttributeError):
        verdict.gap = 0.0
    assert LeastSquaresClassifier().fit(X, y).verdict_.status == "closed form"
