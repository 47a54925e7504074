"""Solvers of margin machines: the same optimum from four methods, and bounds that are bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.problems.margin import MarginMachine
from separatrix.solve.ascent import coordinate_ascent
from separatrix.solve.finite_newton import finite_newton
from separatrix.solve.interior import interior
from separatrix.solve.programme import quadratic_programme
from tests.solve.machines import centre, few, machine_of, seeds, table


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
