"""Solvers of margin machines: the same optimum from four methods, and bounds that are bounds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.problems.margin import MarginMachine, best_intercept
from separatrix.solve.ascent import coordinate_ascent, joint_ascent
from separatrix.solve.finite_newton import finite_newton
from separatrix.solve.interior import interior
from separatrix.solve.joint import JointMachine, joint_passes, joint_programme
from separatrix.solve.programme import quadratic_programme, solve_programme

few = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 10_000)


def table(seed, n=60, p=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, 0] + 0.8 * rng.standard_normal(n) > 0.2, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    return X, y, rng


def machine_of(kind, seed, *, squared=False, intercept=True, C=1.0, sparse=False):
    X, y, rng = table(seed)
    weight = C * rng.integers(0, 3, len(y)).astype(float)
    weight[:2] = C
    rows = Rows.of(sp.csr_matrix(X) if sparse else X)
    if kind == "hinge":
        return MarginMachine.hinge(rows, y, weight, squared=squared, fit_intercept=intercept)
    target = 3.0 * X[:, 0] + rng.standard_normal(len(y)) + 10.0
    return MarginMachine(rows, target, weight, weight, 0.3, squared, intercept)


def centre(machine):
    return machine.rows.moments().mean


@pytest.mark.parametrize("kind", ["hinge", "tube"])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@few
@given(seed=seeds, C=st.sampled_from([0.01, 1.0, 30.0]))
def test_four_methods_find_one_optimum(kind, squared, intercept, seed, C):
    """Each to what it proves: F is 1-strongly convex in w, so ‖w − w*‖ ≤ √(2 gap); b need not be unique."""
    machine = machine_of(kind, seed, squared=squared, intercept=intercept, C=C)
    smooth = finite_newton if squared else interior
    fits = [smooth(machine, centre(machine), 1e-10, 100), quadratic_programme(machine, 1e-9, 200)]
    assert [f.stopped_by for f in fits] == ["gap ≤ tol"] * 2
    fits.append(coordinate_ascent(machine, 1e-8, 1_000))  # where C is large it is slow, and its gap says so
    large = C > 1.0 if squared else C > 0.01
    assert large or fits[2].stopped_by == "gap ≤ tol"
    X = machine.rows.source
    far = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    scores = [f.proof.eta - f.proof.eta.mean() for f in fits]
    for fit, score in zip(fits[1:], scores[1:]):
        apart = [f.proof.gap + 1e-12 * f.proof.primal for f in (fits[0], fit)]  # and rounding of the values
        assert abs(fit.proof.primal - fits[0].proof.primal) <= max(apart)
        np.testing.assert_allclose(score, scores[0], rtol=0, atol=far * np.sqrt(2 * np.array(apart)).sum())


@pytest.mark.parametrize("kind", ["hinge", "tube"])
@pytest.mark.parametrize("squared", [False, True])
@few
@given(seed=seeds)
def test_the_dual_is_below_every_primal_value(kind, squared, seed):
    """Weak duality, whatever w, b and β: the proof never claims more than is true."""
    machine = machine_of(kind, seed, squared=squared)
    rng = np.random.default_rng(seed)
    best = (finite_newton if squared else interior)(machine, centre(machine), 1e-9, 100).proof.primal
    for _ in range(5):
        beta = rng.standard_normal(machine.rows.n) * rng.choice([0.01, 1.0, 100.0])
        proof = machine.prove(rng.standard_normal(machine.rows.p), float(rng.standard_normal()), beta)
        assert proof.dual <= best * (1 + 1e-9)
        assert proof.primal >= best * (1 - 1e-9)
        assert abs(proof.beta.sum()) <= 1e-10 * (1 + np.abs(proof.beta).sum())
        np.testing.assert_array_equal(machine.clip(proof.beta), proof.beta)


@pytest.mark.parametrize("kind", ["hinge", "tube"])
@pytest.mark.parametrize("squared", [False, True])
@few
@given(seed=seeds)
def test_best_intercept_is_best(kind, squared, seed):
    machine = machine_of(kind, seed, squared=squared)
    w = np.random.default_rng(seed).standard_normal(machine.rows.p)
    eta = machine.rows.source @ w
    b = best_intercept(machine, eta + 5.0, 5.0)
    least = machine.loss(eta + b)
    for other in b + np.append(np.linspace(-2, 2, 41), [1e-6, -1e-6]):
        assert least <= machine.loss(eta + other) * (1 + 1e-12)


def test_interior_point_is_the_same_on_every_engine_and_grid():
    X, y, _ = table(3, n=5000, p=6)
    fits = {}
    for kind in ("serial", "threads"):
        for blocks in (1, 5):
            with engine(kind, blocks=blocks):
                rows = Rows.of(X)
                fits[kind, blocks] = interior(
                    MarginMachine.hinge(rows, y, np.ones(len(y))), rows.moments().mean, 1e-8, 60
                )
    np.testing.assert_array_equal(fits["serial", 5].coef, fits["threads", 5].coef)
    for fit in fits.values():
        np.testing.assert_allclose(fit.coef, fits["serial", 1].coef, rtol=0, atol=1e-6)


def test_a_far_origin_costs_no_digits():
    X, y, _ = table(5, n=300)
    near = MarginMachine.hinge(Rows.of(X), y, np.ones(len(y)))
    far = MarginMachine.hinge(Rows.of(X + 1e6), y, np.ones(len(y)))
    a, b = interior(near, centre(near), 1e-8, 100), interior(far, centre(far), 1e-8, 100)
    assert b.stopped_by == "gap ≤ tol"
    np.testing.assert_allclose(b.coef, a.coef, rtol=0, atol=1e-4)


def test_a_squared_loss_is_not_for_the_interior_point_nor_corners_for_newton():
    machine = machine_of("hinge", 0)
    with pytest.raises(ValueError, match="squared"):
        finite_newton(machine, centre(machine), 1e-6, 10)
    with pytest.raises(ValueError, match="corners"):
        interior(machine_of("hinge", 0, squared=True), centre(machine), 1e-6, 10)


def test_max_iter_ends_with_an_honest_gap():
    machine = machine_of("hinge", 1)
    best = interior(machine, centre(machine), 1e-10, 100).proof.primal
    for steps in (0, 1, 3, 5):
        fit = interior(machine, centre(machine), 1e-10, steps)
        assert fit.stopped_by == "max_iter reached"
        assert fit.proof.dual <= best * (1 + 1e-9) and fit.proof.primal >= best * (1 - 1e-9)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_joint_passes_are_the_machines_apart(squared, intercept):
    X, _, rng = table(7, n=120, p=30)
    X[np.abs(X) < 1.0] = 0.0
    X[5] = 0.0  # an empty row
    codes = rng.integers(0, 4, len(X))
    rows = Rows.of(sp.csr_matrix(X))
    machines = []
    for k in range(4):
        cost = np.where(codes == k, 2.0, 1.0)
        y = np.where(codes == k, 1.0, -1.0)
        machines.append(MarginMachine.hinge(rows, y, cost, squared=squared, fit_intercept=intercept))
    for a, b in ((0, 4), (1, 3)):
        together = joint_ascent(rows.source, codes, machines[a:b], a, 1e-8, 50_000)
        for fit, machine in zip(together, machines[a:b], strict=True):
            apart = coordinate_ascent(machine, 1e-8, 50_000)
            assert fit.stopped_by == apart.stopped_by == "gap ≤ tol"
            assert fit.proof.primal == pytest.approx(apart.proof.primal, rel=1e-7)
            assert machine.prove(fit.coef, fit.intercept, fit.proof.beta).gap <= 2e-8 * fit.proof.primal


@pytest.mark.parametrize("intercept", [False, True])
@settings(max_examples=6)
@given(seed=seeds)
def test_joint_machine_by_passes_and_as_a_programme(intercept, seed):
    X, _, rng = table(seed, n=40, p=3)
    codes = rng.integers(0, 3, len(X))
    codes[:3] = range(3)
    machine = JointMachine(Rows.of(X), codes, rng.integers(0, 3, len(X)) + 0.5, 3, intercept)
    passes, programme = joint_passes(machine, 1e-6, 100_000), joint_programme(machine, 1e-6, 100)
    assert passes.stopped_by == programme.stopped_by == "gap ≤ tol"
    assert passes.primal == pytest.approx(programme.primal, rel=1e-6)  # each is within its gap of the optimum
    best = programme.primal
    for _ in range(5):  # any α proves a bound, and it is one
        fit = machine.prove(
            rng.standard_normal((3, 3)), rng.standard_normal(3), rng.standard_normal((40, 3)) * 3
        )
        assert fit.dual <= best * (1 + 1e-9) and fit.primal >= best * (1 - 1e-9)
        np.testing.assert_allclose(fit.alpha.sum(axis=1), 0.0, atol=1e-12)
        if intercept:
            np.testing.assert_allclose(fit.alpha.sum(axis=0), 0.0, atol=1e-8)


def test_programme_by_hand():
    """min ½(x² + y²) − x − 3y on x + y = 1 in the unit box is at (0, 1)."""
    x, _, _ = solve_programme(np.eye(2), np.array([-1.0, -3.0]), np.ones((1, 2)), np.ones(1), np.ones(2))
    np.testing.assert_allclose(x, [0.0, 1.0], atol=1e-8)


def test_interrupted_passes_keep_the_best_so_far(monkeypatch):
    import separatrix.solve.ascent as module

    machine = machine_of("hinge", 2)
    calls = []

    def once(*args):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return dense_pass(*args)

    dense_pass = module.dense_pass
    monkeypatch.setattr(module, "dense_pass", once)
    fit = coordinate_ascent(machine, 1e-10, 1000)
    assert fit.stopped_by == "interrupted"
    assert fit.proof.dual <= fit.proof.primal < machine.loss(np.zeros(machine.rows.n))


@few
@given(seed=seeds, price=st.sampled_from([(1.0, 1.0), (1e3, 1e-4), (1e6, 1e-6)]))
@pytest.mark.filterwarnings("error")
def test_an_interior_point_stops_where_only_rounding_is_left(seed, price):
    """A gap that can never be met: the products may not fall on until reciprocals of multipliers are infinite."""
    rng = np.random.default_rng(seed)
    X = 20.0 * rng.standard_normal((50, 2))
    y = np.where(rng.random(50) < 0.5, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    machine = MarginMachine.hinge(Rows.of(X), y, np.where(y > 0, *price))
    fit = interior(machine, X.mean(axis=0), 1e-6, 1000, further=1e-300)
    assert fit.iterations < 60
    if price != (1e6, 1e-6):  # there 1e12 of cost cancel in the sums of multipliers
        assert fit.stopped_by == "gap ≤ tol"
        again = interior(machine, X.mean(axis=0), 1e-9, 1000)
        assert fit.proof.primal <= again.proof.primal + again.proof.gap
