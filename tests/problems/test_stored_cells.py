"""Sums over stored cells against the same sums of dense rows."""

import numpy as np
import pytest
from scipy import sparse

from separatrix.core.losses import Logistic
from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.objective import Memo, Objective
from separatrix.problems.stored_cells import (
    add_back,
    longest,
    pairs_cost,
    pairs_hessian,
    pairs_pay,
    stored_scores,
)

RNG = np.random.default_rng(0)
X = sparse.random(400, 40, 0.06, "csr", random_state=0)
DENSE = X.toarray()
WEIGHT = RNG.integers(0, 3, 400).astype(float)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("one", [False, True])
def test_the_hessian_of_pairs_is_the_product(dtype, one):
    cells = X.astype(dtype)
    rows = cells.toarray().astype(float)
    rows = np.column_stack([rows, np.ones(400)]) if one else rows
    found = pairs_hessian(cells, WEIGHT, one)
    np.testing.assert_allclose(found, (rows.T * WEIGHT) @ rows, atol=1e-12)
    assert np.array_equal(found, found.T)


def test_scores_slopes_and_the_longest_row():
    u, slope, out = RNG.normal(size=(40, 2)), RNG.normal(size=(400, 2)), np.ones((40, 2))
    np.testing.assert_allclose(stored_scores(X, u, np.array([1.0, 2.0])), DENSE @ u + [1.0, 2.0], atol=1e-13)
    add_back(X, slope, out)
    np.testing.assert_allclose(out, 1.0 + DENSE.T @ slope, atol=1e-12)
    centre, scale = DENSE.mean(axis=0), 1.0 + RNG.random(40)
    squares = np.sum(((DENSE - centre) * scale) ** 2, axis=1)
    assert longest(X, None, centre, scale) == pytest.approx(squares.max(), rel=1e-13)
    assert longest(X, WEIGHT, centre, scale) == pytest.approx(squares[WEIGHT > 0].max(), rel=1e-13)


def test_pairs_pay_where_a_row_stores_few_cells():
    assert pairs_pay(X, 41) and not pairs_pay(sparse.csr_matrix(np.ones((50, 41))), 41)


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("grid", [1, 3])
def test_a_sweep_of_second_order_is_that_of_dense_rows(weight, intercept, grid):
    y = np.where(RNG.random(400) < 0.3, 1.0, -1.0)
    theta = RNG.normal(size=40 + intercept)
    with engine(blocks=grid):
        moments = Rows.of(X, y, weight).moments()
        sides = []
        for source in (X, DENSE):
            c = Coordinates.standard(moments, intercept)
            objective = Objective(Rows.of(source, y, weight), Logistic(), 0.1, intercept, c)
            sides.append(objective.evaluate(theta, 2, memo=Memo()))
    a, b = sides
    assert a.value == pytest.approx(b.value, rel=1e-13)
    assert a.radius == pytest.approx(b.radius, rel=1e-12)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-13)
    np.testing.assert_allclose(a.hessian, b.hessian, atol=1e-12)


@pytest.mark.parametrize("density", [0.0, 0.01, 0.05, 0.2, 0.6, 1.0])
@pytest.mark.parametrize("p", [3, 20, 80])
def test_pairs_pay_by_their_price_however_it_is_bounded(density, p):
    rng = np.random.default_rng(p)
    for n in (1, 50):
        cells = rng.random((n, p)) < density * rng.random((n, 1)) * 2  # rows of many lengths
        X = sparse.csr_matrix(cells.astype(float))
        for q in (1, p, p + 1, 5 * p):
            assert pairs_pay(X, q) == (pairs_cost(X) < n * q * q)
