"""The squared hinge and tube by products of the rows, against the search by columns and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.loops.squares import LIMIT, MET, squared_newton
from separatrix.loops.squares_rows import squared_by_rows
from tests.loops.test_squares import machine


def by_rows(z, target, up, down, epsilon, free, tol=1e-12, max_iter=50):
    cost = np.maximum(up, down)
    live = cost > 0
    gram = (z @ z.T) * np.outer(live, live)
    inverse = np.linalg.inv(gram + np.diag(np.divide(0.5, cost, out=np.ones(len(z)), where=live)))
    a, eta = np.zeros(len(z)), np.zeros(len(z))
    steps, ended, b = squared_by_rows(
        gram, inverse, target, up, down, epsilon, cost, free, tol, max_iter, a, eta, np.empty((9, len(z)))
    )
    return a, b, eta, steps, ended


@pytest.mark.parametrize("kind", ["hinge", "tube"])
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("price", [0.01, 1.0, 1e4])
def test_as_by_the_columns(kind, free, seed, price):
    z, target, up, down, epsilon = machine(kind, n=30, p=40, seed=seed)
    z, up, down = z[:, :-1], price * up, price * down
    a, b, eta, steps, ended = by_rows(z, target, up, down, epsilon, free)
    assert ended == MET and steps < 40
    columns = np.column_stack([z, np.ones(len(z))]) if free else z
    w, other = np.zeros(columns.shape[1]), np.zeros(len(z))
    squared_newton(
        np.ascontiguousarray(columns), 40, target, up, down, epsilon, 1e-12, 100, w, other, np.empty(len(z))
    )
    live = np.maximum(up, down) > 0
    assert not a[~live].any()
    np.testing.assert_allclose(z.T @ a, w[:40], atol=1e-9)
    np.testing.assert_allclose((z @ (z.T @ a) + b)[live], eta[live], atol=1e-9)
    if free:
        assert abs(a.sum()) < 1e-9 * max(np.abs(a).max(), 1.0)
        assert b == pytest.approx(w[-1], abs=1e-8)


def test_it_says_when_steps_ran_out():
    z, *rest = machine("hinge", n=30, p=40)
    *_, steps, ended = by_rows(z[:, :-1], *rest, True, max_iter=1)
    assert (steps, ended) == (1, LIMIT)


def test_no_row_takes_part():
    z, target, up, down, epsilon = machine("hinge", n=5, p=8)
    a, b, _, steps, ended = by_rows(z[:, :-1], target, 0 * up, 0 * down, epsilon, True)
    assert (steps, ended, b) == (0, MET, 0.0) and not a.any()
