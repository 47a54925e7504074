"""Newton's method for squared hinges and tubes in one call, against SciPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from separatrix.loops.squares import LIMIT, MET, SINGULAR, shortfalls, squared_newton, step_length


def machine(kind, n=40, p=3, seed=0):
    """(z, target, up, down, ε) of a hinge or a tube, some rows weighing nothing."""
    rng = np.random.default_rng(seed)
    z = np.column_stack([rng.normal(size=(n, p)), np.ones(n)])
    score, cost = z @ rng.normal(size=p + 1) + rng.normal(size=n), rng.integers(0, 3, n).astype(float)
    if kind == "tube":
        return z, score, cost, cost, 0.3
    sign = np.where(score > 0, 1.0, -1.0)
    return z, sign, np.where(sign > 0, cost, 0.0), np.where(sign < 0, cost, 0.0), 0.0


def objective(w, z, target, up, down, epsilon):
    eta = z @ w
    low, high = np.maximum(target - epsilon - eta, 0), np.maximum(eta - target - epsilon, 0)
    value = 0.5 * w[:-1] @ w[:-1] + up @ low**2 + down @ high**2
    return value, np.append(w[:-1], 0.0) - 2 * z.T @ (up * low - down * high)


def solved(z, target, up, down, epsilon, tol=1e-12, max_iter=50):
    w, eta = np.zeros(z.shape[1]), np.zeros(len(z))
    steps, ended = squared_newton(
        z, z.shape[1] - 1, target, up, down, epsilon, tol, max_iter, w, eta, np.empty(len(z))
    )
    return w, eta, steps, ended


@pytest.mark.parametrize("kind", ["hinge", "tube"])
@pytest.mark.parametrize("seed", range(5))
def test_the_minimum_is_scipys(kind, seed):
    given = machine(kind, seed=seed)
    w, eta, steps, ended = solved(*given)
    assert ended == MET and 0 < steps < 20
    np.testing.assert_allclose(eta, given[0] @ w, atol=1e-12)
    value, gradient = objective(w, *given)
    assert np.abs(gradient).max() < 1e-9 * max(value, 1.0)
    other = minimize(objective, np.zeros(4), given, jac=True, tol=1e-12)
    assert value <= other.fun * (1 + 1e-10)


def test_it_says_when_steps_ran_out_and_when_there_is_no_factor():
    given = machine("hinge")
    w, eta, steps, ended = solved(*given, max_iter=1)
    assert (steps, ended) == (1, LIMIT)
    np.testing.assert_allclose(eta, given[0] @ w, atol=1e-12)
    z, *rest = given
    twice = np.column_stack(
        [z[:, -1], z[:, -1]]
    )  # a free intercept that stands there twice: nothing bounds their difference
    w, eta = np.zeros(2), np.zeros(len(z))
    assert squared_newton(twice, 0, *rest, 1e-12, 50, w, eta, np.empty(len(z)))[1] in (SINGULAR, MET)
    assert np.isfinite(w).all()


def test_rows_of_no_cost_are_absent():
    z, target, up, down, epsilon = machine("hinge")
    live = (up > 0) | (down > 0)
    assert 0 < live.sum() < len(z)
    whole, few = (
        solved(z, target, up, down, epsilon),
        solved(z[live], target[live], up[live], down[live], epsilon),
    )
    np.testing.assert_allclose(whole[0], few[0], rtol=1e-12)


@pytest.mark.parametrize("kind", ["hinge", "tube"])
def test_the_sums_of_short_rows_are_those_of_numpy(kind):
    z, target, up, down, epsilon = machine(kind)
    eta = z @ np.linspace(-1, 1, 4)
    low, high = np.maximum(target - epsilon - eta, 0), np.maximum(eta - target - epsilon, 0)
    bend = 2 * (up * (low > 0) + down * (high > 0))
    before = np.where(np.arange(40) % 3, bend, 1.0)
    curve, change, beta = before.copy(), np.empty(40), np.empty(40)
    loss, short, changed = shortfalls(target, up, down, epsilon, eta, curve, change, beta)
    np.testing.assert_allclose(
        [loss, short], [up @ low**2 + down @ high**2, np.count_nonzero(bend)], rtol=1e-14
    )
    assert changed == np.count_nonzero(bend != before)
    np.testing.assert_array_equal(curve, bend)
    np.testing.assert_array_equal(change, bend - before)
    np.testing.assert_allclose(beta, 2 * (up * low - down * high), rtol=1e-15)


@pytest.mark.parametrize("kind", ["hinge", "tube"])
def test_a_step_is_as_long_as_the_line_asks(kind):
    _, *sides = machine(kind)
    rng = np.random.default_rng(1)
    eta, move = 0.1 * rng.normal(size=40), -rng.normal(size=40)

    def along(t):
        target, up, down, epsilon = sides
        at = eta + t * move
        low, high = np.maximum(target - epsilon - at, 0), np.maximum(at - target - epsilon, 0)
        return 0.3 * t + 0.5 * t * t + up @ low**2 + down @ high**2

    for way in (move, -move):
        move = way
        t = step_length(0.3, 1.0, *sides, eta, way)
        assert along(t) <= min(along(s) for s in np.linspace(0, 2 * t + 1, 1001)) * (1 + 1e-12)
