"""The working-set solver against exact tiny cases, a generic solver, and the laws of its problem."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, minimize
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Kernel
from separatrix.solve import smo, smo_rows
from separatrix.solve.smo import certify, minimise
from tests.draws import examples


def blobs(n=60, p=3, seed=0, gap=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, p)) + 0.5 * gap * y[:, None], y


def test_two_points_by_hand():
    """Two points at distance D: w = 2/D along the line, α = 2/D², as long as that is below C."""
    X, y = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([-1.0, 1.0])
    fit = minimise(Kernel("linear"), X, Dual.classifier(y, np.full(2, 10.0)), tol=1e-10)
    np.testing.assert_allclose(fit.beta, [-0.08, 0.08], rtol=1e-12)
    np.testing.assert_allclose(fit.intercept, -1.0, rtol=1e-12)
    np.testing.assert_allclose([fit.primal, fit.dual], 0.08, rtol=1e-12)
    cut = minimise(Kernel("linear"), X, Dual.classifier(y, np.full(2, 0.01)), tol=1e-10)
    np.testing.assert_allclose(cut.beta, [-0.01, 0.01], rtol=1e-12)


def test_three_points_of_regression_by_hand():
    """z = 0, 1, 2 on a line and a tube of ½: the flattest line within it has slope ½ (from (0, ½) to (2, 1½))."""
    X, z = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    fit = minimise(Kernel("linear"), X, Dual.regression(z, np.full(3, 100.0), 0.5), tol=1e-10)
    beta = fit.beta[:3] + fit.beta[3:]
    np.testing.assert_allclose(beta @ X, [0.5], atol=1e-9)
    np.testing.assert_allclose(fit.intercept, 0.5, atol=1e-9)
    np.testing.assert_allclose([fit.primal, fit.dual], 0.125, atol=1e-9)


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_generic_quadratic_programme(C):
    X, y = blobs(24)
    K = rbf_kernel(X, gamma=0.5)
    fit = minimise(Kernel("rbf", 0.5), X, Dual.classifier(y, np.full(24, C)), tol=1e-9)
    dual = Dual.classifier(y, np.full(24, C))
    found = minimize(
        lambda b: 0.5 * b @ K @ b - y @ b, np.zeros(24), jac=lambda b: K @ b - y,
        method="SLSQP", bounds=Bounds(dual.low, dual.high),
        constraints=LinearConstraint(np.ones((1, 24)), 0, 0), options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert fit.dual >= -found.fun - 1e-9
    np.testing.assert_allclose(fit.dual, -found.fun, rtol=1e-5)


@examples(25)
@given(
    st.integers(4, 80),
    st.integers(0, 10_000),
    st.sampled_from([0.05, 1.0, 30.0]),
    st.sampled_from(["rbf", "linear"]),
)
def test_optimality_conditions(n, seed, C, kind):
    """β in its box, Σβ = 0, and free variables have r = 0, others the right sign."""
    X, y = blobs(n, seed=seed)
    box = C * np.random.default_rng(seed).uniform(0.5, 2.0, n)
    kernel = Kernel(kind, 0.4)
    fit = minimise(kernel, X, Dual.classifier(y, box), tol=1e-6)
    alpha, margin = y * fit.beta, y * (kernel(X, X) @ fit.beta + fit.intercept)
    assert (alpha >= 0).all() and (alpha <= box).all()
    assert abs(fit.beta.sum()) <= 1e-9 * max(1.0, alpha.sum())
    assert (margin[alpha == 0] >= 1 - 1e-5).all()
    assert (margin[alpha == box] <= 1 + 1e-5).all()
    free = (alpha > 0) & (alpha < box)
    np.testing.assert_allclose(margin[free], 1.0, atol=1e-5)
    assert 0 <= fit.gap <= 1e-6 * fit.primal + 1e-12


@pytest.mark.parametrize("megabytes", [0.05, 1.0, 200.0])
@pytest.mark.parametrize("shrinking", [True, False])
def test_cache_and_shrinking_do_not_change_the_answer(megabytes, shrinking):
    X, y = make_classification(900, 8, random_state=1, flip_y=0.1)
    y = 2.0 * y - 1.0
    args = Kernel("rbf", 0.2), X, Dual.classifier(y, np.full(900, 3.0))
    want = minimise(*args, tol=1e-9, shrinking=False)
    got = minimise(*args, tol=1e-9, megabytes=megabytes, shrinking=shrinking)
    np.testing.assert_allclose(got.dual, want.dual, rtol=1e-9)
    np.testing.assert_allclose(got.score + got.intercept, want.score + want.intercept, atol=1e-6)


@pytest.mark.parametrize("single", [True, False])
def test_single_precision_ends_at_the_same_place(single):
    X, y = make_classification(1500, 10, random_state=0, flip_y=0.05)
    y = 2.0 * y - 1.0
    args = Kernel("rbf", 0.1), X * 30 + 1000, Dual.classifier(y, np.full(1500, 5.0))
    want = minimise(*args, tol=1e-7, single=False)
    got = minimise(*args, tol=1e-7, single=single)
    np.testing.assert_allclose(got.dual, want.dual, rtol=1e-8)


def test_single_precision_proves_its_gap_in_double():
    X, y = make_classification(3000, 10, random_state=0, flip_y=0.05)
    y = 2.0 * y - 1.0
    dual = Dual.classifier(y, np.full(3000, 1.0))
    fit = minimise(Kernel("rbf", 0.1), X, dual, tol=1e-3)
    assert fit.single
    again = certify(
        Kernel("rbf", 0.1), X, Dual.classifier(y, np.full(3000, 1.0), fit.beta), fit.intercept, 1e-3
    )
    np.testing.assert_allclose([fit.primal, fit.dual], [again.primal, again.dual], rtol=1e-10)
    np.testing.assert_allclose(fit.violation, again.violation, atol=1e-5)


def test_warm_start_takes_fewer_steps():
    X, y = blobs(300)
    cold = minimise(Kernel("rbf", 0.5), X, Dual.classifier(y, np.full(300, 2.0)), tol=1e-6)
    warm = minimise(Kernel("rbf", 0.5), X, Dual.classifier(y, np.full(300, 2.2), cold.beta), tol=1e-6)
    fresh = minimise(Kernel("rbf", 0.5), X, Dual.classifier(y, np.full(300, 2.2)), tol=1e-6)
    np.testing.assert_allclose(warm.dual, fresh.dual, rtol=1e-6)
    assert warm.steps < fresh.steps


def test_steps_are_limited_and_the_gap_is_honest():
    X, y = blobs(400)
    box = np.full(400, 10.0)
    fit = minimise(Kernel("rbf", 0.5), X, Dual.classifier(y, box), max_steps=7)
    best = minimise(Kernel("rbf", 0.5), X, Dual.classifier(y, box), tol=1e-9)
    assert fit.steps == 7 and fit.stopped_by == "max_iter"
    assert fit.dual <= best.dual + 1e-9 and best.primal <= fit.primal + 1e-9
    assert fit.gap >= best.dual - fit.dual - 1e-9


@pytest.mark.parametrize("way", ["rows asked", "working sets"])
def test_interruption_keeps_the_best_so_far(monkeypatch, way):
    X, y = blobs(800)
    calls = []
    loops, name = (smo_rows.loops, "pairs_asked") if way == "rows asked" else (smo.smo_loops, "pairs")
    if way == "working sets":
        monkeypatch.setattr(smo, "fits", lambda *_: False)
    monkeypatch.setattr(smo_rows, "AT_ONCE", 800.0)
    real = getattr(loops, name)

    def stop_at_third(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(loops, name, stop_at_third)
    fit = minimise(Kernel("rbf", 0.5), X, Dual.classifier(y, np.full(800, 50.0)), tol=1e-8)
    assert fit.stopped_by == "interrupted" and np.count_nonzero(fit.beta) > 0
    again = certify(
        Kernel("rbf", 0.5), X, Dual.classifier(y, np.full(800, 50.0), fit.beta), fit.intercept, 1e-3
    )
    np.testing.assert_allclose([fit.primal, fit.dual], [again.primal, again.dual], rtol=1e-12)
