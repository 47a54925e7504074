"""Newton's steps: one for a parabola, damped from far away, safe where H is singular, honest about separation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from separatrix import LogisticRegression
from separatrix.core.losses import Logistic, Multinomial, Squared, SquaredHinge
from separatrix.data.rows import Rows
from separatrix.solve.linear import Problem
from separatrix.solve.outcome import Account
from separatrix.solve.registry import SOLVERS
from tests.losses import Exponential
from tests.solve.cases import draw, least, quick, run, seeds, value_of


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


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_of_a_measured_drift_is_one(k, seed):
    """Rare levels make the crude bound on scores useless: how far they moved is measured instead."""
    rng = np.random.default_rng(seed)
    n, p = 9000, 40
    X = (rng.random((n, p)) < rng.uniform(0.001, 0.5, p)).astype(float)
    scores = X @ (2.0 * rng.normal(size=(p, k)))
    y = (scores + rng.gumbel(size=(n, k))).argmax(axis=1)
    loss, target, classes = (Logistic(), 2.0 * y - 1.0, None) if k == 2 else (Multinomial(), y, k)
    rows = Rows.of(X, target).of_classes(k)
    problem = Problem(rows, rows.moments(), loss, 1.0 / n, True, classes)
    quickly, exactly = run(problem, "newton", tol=1e-4), run(problem, "newton", tol=1e-7)
    assert quickly.outcome.stopped_by == "gap ≤ tol" and quickly.outcome.gap <= 1e-8 * quickly.outcome.value
    rounding = 1e-13 * exactly.outcome.value
    assert quickly.outcome.value - exactly.outcome.value <= quickly.outcome.gap + rounding
