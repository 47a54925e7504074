"""Four ways to one linear machine, and the tube against LIBSVM, on real tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import (
    load_diabetes,
    make_friedman1,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR as LibSVR
from sklearn.svm import LinearSVC as Liblinear

from separatrix import SVC, SVR, LinearSVC, LinearSVR
from separatrix.data.rows import Rows
from separatrix.problems.margin import MarginMachine as Tube
from separatrix.solve.ascent import coordinate_ascent
from tests.models.margin.references import STEPS, TIGHT, Case, absent, cases, kernel, load, rounding, table

LINEAR = (
    Case("bundled cancer", given={"C": 1.0}),
    Case("bundled wine", given={"C": 0.1}),
    Case("bundled iris", scaled=False, given={"C": 10.0}),
    Case("heart_statlog", given={"C": 1.0}),
    Case("sonar", given={"C": 0.05}),
    Case("pima", rows=400, given={"C": 2.0}),
    Case("liver_disorders", given={"C": 1.0}),
)

AGREE = 1e-6


def two_classes(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """The last class against the rest."""
    X, y = table(case)
    return X, (y == y.max()).astype(int)


def linear_primal(w: np.ndarray, b: float, X: np.ndarray, y: np.ndarray, C: float, power: int = 1) -> float:
    slack = np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * (X @ w + b))
    return float(0.5 * w @ w + C * (slack**power).sum())


def assert_one_machine(models: list[Any], X: np.ndarray, y: np.ndarray, C: float, power: int) -> None:
    first, *others = models
    assert first.verdict_.status == "optimal"
    least = linear_primal(first.coef_[0], first.intercept_[0], X, y, C, power)
    for model in others:
        assert model.verdict_.status == "optimal"
        value = linear_primal(model.coef_[0], model.intercept_[0], X, y, C, power)
        assert value == pytest.approx(least, rel=1e-10)
        np.testing.assert_allclose(model.coef_, first.coef_, rtol=0, atol=AGREE * np.abs(first.coef_).max())
        np.testing.assert_allclose(
            model.decision_function(X), first.decision_function(X), rtol=AGREE, atol=AGREE
        )


@cases(*LINEAR)
def test_four_solvers_find_one_hinge_machine(case):
    """The intercept is free of the penalty in SVC and in LinearSVC: with loss="hinge" they are one problem."""
    X, y = two_classes(case)
    C = case.given["C"]
    models: list[Any] = [SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)]
    for solver in ("interior", "qp", "coordinate"):
        models.append(LinearSVC(loss="hinge", solver=solver, C=C, tol=1e-9, max_iter=200_000).fit(X, y))
        assert models[-1].solver_ == solver
    assert_one_machine(models, X, y, C, 1)


@cases(*LINEAR)
def test_three_solvers_find_one_squared_hinge_machine(case):
    X, y = two_classes(case)
    C = case.given["C"]
    models = [
        LinearSVC(solver=solver, C=C, tol=1e-11, max_iter=200_000).fit(X, y)
        for solver in ("newton", "qp", "coordinate")
    ]
    assert_one_machine(models, X, y, C, 2)


def test_a_solver_that_runs_out_of_passes_says_how_far_it_is():
    """Coordinate ascent slows down as C grows; its bound must then cover what the interior point shows, which
    finishes it in the model."""
    X, y = two_classes(Case("bundled cancer"))
    best = LinearSVC(loss="hinge", solver="interior", C=1e3, tol=1e-7).fit(X, y)
    signs = np.where(y == best.classes_[1], 1.0, -1.0)
    short = coordinate_ascent(Tube.hinge(Rows.of(X), signs, np.full(len(X), 1e3)), 1e-11, 500)
    value = linear_primal(short.coef, short.intercept, X, y, 1e3)
    assert short.stopped_by == "max_iter reached"
    assert 0 < value - best.verdict_.objective <= short.proof.gap * (1 + 1e-9)
    assert short.proof.dual <= best.verdict_.objective * (1 + 1e-9)
    whole = LinearSVC(loss="hinge", solver="coordinate", C=1e3, tol=1e-7, max_iter=500).fit(X, y)
    assert whole.verdict_.status == "optimal" and "500 passes, an interior point" in str(whole.verdict_)
    np.testing.assert_allclose(whole.verdict_.objective, best.verdict_.objective, rtol=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@cases(*LINEAR)
def test_liblinears_own_problem_is_a_column_of_ones(case, loss):
    """liblinear penalises the intercept, as the weight of a column of ones: posed so, the answers are one."""
    X, y = two_classes(case)
    C, power = min(case.given["C"], 1.0), 1 + (loss == "squared_hinge")
    X = StandardScaler().fit_transform(X)
    ones = np.column_stack([X, np.ones(len(X))])
    mine = LinearSVC(loss=loss, C=C, tol=1e-9, fit_intercept=False).fit(ones, y)
    peer = Liblinear(loss=loss, C=C, tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)
    w = np.append(peer.coef_[0], peer.intercept_)
    theirs = linear_primal(w, 0.0, ones, y, C, power)
    assert linear_primal(mine.coef_[0], 0.0, ones, y, C, power) <= theirs * (1 + 1e-12)
    np.testing.assert_allclose(mine.coef_[0], w, rtol=0, atol=AGREE)


TUBES = (
    {},
    {"C": 20.0, "epsilon": 0.5},
    {"kernel": "linear", "C": 0.5},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "epsilon": 1.0},
)

REGRESSION: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "bundled diabetes": lambda: load_diabetes(return_X_y=True),
    "bundled friedman": lambda: make_friedman1(300, 8, noise=1.0, random_state=1),
    "boston_housing": lambda: load("boston_housing"),
    "bodyfat": lambda: load("bodyfat"),
    "auto_mpg": lambda: load("auto_mpg"),
    "abalone": lambda: tuple(part[::9] for part in load("abalone")),
}
regressions = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n.startswith("bundled") else absent) for n in REGRESSION]
)


def regression(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, z = REGRESSION[name]()
    return StandardScaler().fit_transform(X), np.asarray(z, dtype=float)


def tube_primal(norm2: float, residual: np.ndarray, C: float, epsilon: float) -> float:
    return float(0.5 * norm2 + C * np.maximum(0.0, np.abs(residual) - epsilon).sum())


@regressions
@pytest.mark.parametrize("given", TUBES, ids=str)
def test_the_tube_is_never_worse_than_libsvms(name, given):
    X, z = regression(name)
    C, epsilon = given.get("C", 1.0), given.get("epsilon", 0.1)
    mine, peer = SVR(tol=TIGHT, **given).fit(X, z), LibSVR(tol=TIGHT, max_iter=STEPS, **given).fit(X, z)
    K, betas, duals, scores = kernel(X, X, given, X), [], [], []
    for model in (mine, peer):
        beta = np.zeros(len(z))
        beta[model.support_] = model.dual_coef_[0]
        betas.append(beta)
        duals.append(z @ beta - epsilon * np.abs(beta).sum() - 0.5 * beta @ K @ beta)
        scores.append(K @ beta + model.intercept_)
    ours = betas[0]
    assert (np.abs(ours) <= C).all() and abs(ours.sum()) <= 1e-9 * C
    assert duals[0] >= duals[1] - 1e-13 * abs(duals[1])
    primal = tube_primal(ours @ K @ ours, z - scores[0], C, epsilon)
    assert primal - duals[0] <= TIGHT * primal
    np.testing.assert_allclose(mine.verdict_.objective, primal, rtol=1e-9)
    near = rounding(ours, K)
    np.testing.assert_allclose(scores[0], scores[1], rtol=0, atol=near)
    np.testing.assert_allclose(mine.predict(X), scores[0], rtol=1e-9)
    one_has_it = (ours != 0) != (betas[1] != 0)
    assert (np.abs(np.abs(z - scores[0]) - epsilon)[one_has_it] <= near).all()


@regressions
def test_four_solvers_find_one_linear_tube(name):
    X, z = regression(name)
    smo = SVR(kernel="linear", C=0.5, tol=1e-10).fit(X, z)
    want = smo.predict(X)
    least = tube_primal(float((smo.coef_**2).sum()), z - want, 0.5, 0.1)
    solvers = ["interior", "qp", "coordinate"]
    if name == "bodyfat":  # nearly collinear columns: coordinate ascent would need millions of passes
        solvers.pop()
    for solver in solvers:
        model = LinearSVR(epsilon=0.1, C=0.5, solver=solver, tol=1e-9, max_iter=200_000).fit(X, z)
        assert model.verdict_.status == "optimal"
        score = model.predict(X)
        value = tube_primal(float((model.coef_**2).sum()), z - score, 0.5, 0.1)
        assert value == pytest.approx(least, rel=1e-10)
        np.testing.assert_allclose(np.ravel(model.coef_), smo.coef_[0], rtol=0, atol=AGREE)
        np.testing.assert_allclose(score, want, rtol=AGREE, atol=AGREE)
