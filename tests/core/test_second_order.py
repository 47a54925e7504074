"""The scatter of rows, as a matrix and as its root, against long double, NumPy and closed forms."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from separatrix.core.statistics import Gram, QRFactor, trustworthy
from tests.core.tables import P, assert_close, quick, tables

second_order = pytest.mark.parametrize("kind", [Gram, QRFactor])


def designed(condition, n=400, p=6, seed=0):
    """A centred design with singular values from 1 to 1 / condition, and a target with a known answer."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, p))
    U, _ = np.linalg.qr(U - U.mean(axis=0))
    V, _ = np.linalg.qr(rng.standard_normal((p, p)))
    X = U * np.geomspace(1, 1 / condition, p) @ V.T
    coef = rng.standard_normal(p)
    return X, X @ coef, coef


def centred(X, y, w):
    root = np.sqrt(w)[:, None]
    X, Y = X - X[0], y.reshape(len(X), -1)  # even long double needs the shift at 1e8
    return root * (X - w @ X / w.sum()), root * (Y - w @ Y / w.sum())


@second_order
@quick
@given(table=tables(min_rows=1, weights=(0.5, 1.0, 3.0)), cut=st.integers(0, 12))
def test_scatter_agrees_with_long_double_also_when_merged(kind, table, cut):
    X, y, w = table
    A, B = centred(X.astype(np.longdouble), y.astype(np.longdouble), w.astype(np.longdouble))
    Z = np.hstack([A, B])
    S = (Z.T @ Z).astype(float)
    length = np.sqrt(np.diag(S))
    for s in (kind.of(X, y, w), kind.of(X[:cut], y[:cut], w[:cut]) + kind.of(X[cut:], y[cut:], w[cut:])):
        assert np.all(np.abs(s.joint_scatter() - S) <= 1e-13 * np.outer(length, length) + 1e-300)
        np.testing.assert_array_equal(s.scatter(), s.joint_scatter()[:P, :P])
        np.testing.assert_array_equal(s.cross(), s.joint_scatter()[:P, P:])


@quick
@given(table=tables(min_rows=1))
def test_factor_is_triangular_and_squares_to_the_scatter(table):
    X, y, w = table
    for s in (Gram.of(X, y, w), QRFactor.of(X, y, w)):
        R, S = s.factor(), s.scatter()
        length = np.sqrt(np.diag(S))
        assert np.array_equal(R, np.triu(R))
        assert np.all(np.diag(R) >= 0)
        assert np.all(np.abs(R.T @ R - S) <= 1e-13 * np.outer(length, length) + 1e-300)


def test_both_kinds_agree_when_well_conditioned():
    X, y, _ = designed(30.0)
    X = X * [1e-8, 1e-3, 1.0, 1e3, 1e5, 1e8] + [0, 1, 2, 0, 3, 1e8]
    g, f = Gram.of(X, y), QRFactor.of(X, y)
    assert_close(Gram(f.weight, f.joint_mean, f.joint_tail, f.joint_scatter(), 1), g)
    length = np.linalg.norm(f.factor(), axis=0)
    np.testing.assert_allclose(g.factor() / length, f.factor() / length, atol=1e-11)
    np.testing.assert_allclose(g.solve().coef, f.solve().coef, rtol=1e-7)
    assert f.condition() == pytest.approx(g.condition(), rel=1e-6)
    assert trustworthy(g)


@second_order
@pytest.mark.parametrize("condition", [1.0, 10.0, 1e3, 1e5])
def test_condition_is_that_of_the_standardised_design(kind, condition):
    X, _, _ = designed(condition)
    unit = 10.0 ** np.arange(-3, 3)
    s = kind.of(np.hstack([X * unit + 5, np.full((len(X), 1), 0.1)]))
    exact = np.linalg.cond(X / X.std(axis=0))
    assert exact / 6 <= s.condition() <= exact * 6


def test_the_factor_keeps_its_digits_where_the_gram_has_lost_them():
    X, y, coef = designed(1e9)
    g, f = Gram.of(X, y), reduce(add, (QRFactor.of(X[i::4], y[i::4]) for i in range(4)))
    assert not trustworthy(g)
    assert np.abs(g.solve().coef[:, 0] - coef).max() > 0.1
    assert f.solve().rank == 6
    assert np.abs(f.solve().coef[:, 0] - coef).max() < 1e-5
    assert f.condition() == pytest.approx(1e9, rel=5)


@pytest.mark.parametrize(("condition", "safe"), [(1e2, True), (1e4, True), (1e8, False), (1e11, False)])
def test_the_condition_decides_which_statistic_to_trust(condition, safe):
    X, y, coef = designed(condition)
    g = Gram.of(X, y)
    assert trustworthy(g) is safe
    if safe:
        assert np.abs(g.solve().coef[:, 0] - coef).max() < 100 * condition**2 * np.finfo(float).eps


@second_order
@pytest.mark.parametrize("targets", [1, 3])
def test_solve_agrees_with_lstsq(kind, targets):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 5)) * [1e-8, 1e-2, 1, 1e2, 1e8] + [0, 1, 2, 3, 1e8]
    Y, w = rng.standard_normal((300, targets)), rng.random(300)
    A, B = centred(X, Y, w)
    scale = np.linalg.norm(A, axis=0)
    expected = np.linalg.lstsq(A / scale, B)[0] / scale[:, None]
    solution = kind.of(X, Y, w).solve()
    np.testing.assert_allclose(solution.coef, expected, rtol=1e-10, atol=1e-12 / scale.min())
    np.testing.assert_allclose(solution.coef * scale[:, None], expected * scale[:, None], atol=1e-11)
    assert solution.rank == 5
    assert solution.aliased.size == 0
    assert kind.of(X, Y, w).target_mean == pytest.approx(w @ Y / w.sum())


@second_order
@quick
@given(
    ridge=hnp.arrays(np.float64, 4, elements=st.sampled_from([0.0, 1e-3, 1.0, 100.0])),
    seed=st.integers(0, 99),
)
def test_solve_agrees_with_the_closed_form_of_ridge(kind, ridge, seed):
    rng = np.random.default_rng(seed)
    X, y, w = rng.standard_normal((30, 4)) * [0.01, 1, 10, 100] + 3, rng.standard_normal(30), rng.random(30)
    A, B = centred(X, y, w)
    expected = np.linalg.solve(A.T @ A + np.diag(ridge), A.T @ B)
    np.testing.assert_allclose(kind.of(X, y, w).solve(ridge).coef, expected, rtol=1e-9, atol=1e-12)
    if np.ptp(ridge) == 0:
        np.testing.assert_array_equal(
            kind.of(X, y, w).solve(ridge).coef, kind.of(X, y, w).solve(ridge[0]).coef
        )


@second_order
def test_without_full_rank_the_solution_is_the_shortest_and_later_columns_are_named(kind):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 7)) + 2
    X[:, 3] = 0.1
    X[:, 5] = X[:, 0] - 2 * X[:, 1]
    X[:, 6] = X[:, 2]
    y = rng.standard_normal(200)
    solution = kind.of(X, y).solve()
    expected = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=1e-10)[0]
    np.testing.assert_allclose(solution.coef[:, 0], expected, atol=1e-13)
    assert solution.rank == 4
    assert solution.aliased.tolist() == [3, 5, 6]


@second_order
def test_a_ridge_settles_what_the_rows_leave_open(kind):
    X = np.random.default_rng(5).standard_normal((50, 1)).repeat(2, axis=1)
    solution = kind.of(np.hstack([X, np.ones((50, 1))]), X[:, 0]).solve([1.0, 3.0, 1.0])
    assert solution.rank == 3
    assert solution.aliased.size == 0
    assert solution.coef[0, 0] == pytest.approx(3 * solution.coef[1, 0])
    assert solution.coef[2, 0] == 0


@second_order
def test_twins_in_units_sixteen_orders_apart_share_their_coefficient(kind):
    rng = np.random.default_rng(6)
    Z, y = rng.standard_normal((300, 3)), rng.standard_normal(300)
    X = np.hstack([Z, Z[:, :2]]) * [1e8, 1e-8, 1, 1e8, 1e-8]
    solution = kind.of(X, y).solve()
    alone = np.linalg.lstsq(Z - Z.mean(axis=0), y - y.mean())[0]
    expected = alone[[0, 1, 2, 0, 1]] / [2e8, 2e-8, 1, 2e8, 2e-8]
    np.testing.assert_allclose(solution.coef[:, 0], expected, rtol=1e-9)
    assert solution.aliased.tolist() == [3, 4]


@second_order
@quick
@given(
    power=hnp.arrays(np.int64, 4, elements=st.integers(-8, 8)),
    origin=hnp.arrays(np.float64, 4, elements=st.sampled_from([0.0, 1.0, -1e3, 2.0**20])),
)
def test_a_change_of_unit_or_origin_changes_no_fit(kind, power, origin):
    rng = np.random.default_rng(7)
    Z = np.round(rng.standard_normal((60, 4)) * 64) / 64  # exact under the change of origin
    y, unit = rng.standard_normal(60), 2.0 ** (3 * power)
    plain, moved = kind.of(Z, y).solve(), kind.of((Z + origin) * unit, y).solve()
    np.testing.assert_allclose(moved.coef[:, 0] * unit, plain.coef[:, 0], rtol=1e-9)
    assert moved.rank == plain.rank == 4


@second_order
def test_rank_counts_information_not_the_rounding_of_stored_values(kind):
    rng = np.random.default_rng(8)
    x = rng.standard_normal(300)
    X = np.column_stack([x, 1e8 + x, 1e8 + rng.standard_normal(300)])
    solution = kind.of(X, x).solve()
    assert solution.rank == 2
    assert solution.aliased.tolist() == [1]
    assert X[:, :2] @ solution.coef[:2] - solution.coef[1] * 1e8 == pytest.approx(x[:, None] * 1.0, abs=1e-5)


@second_order
def test_wide_tables_and_empty_ones_are_solved_too(kind):
    rng = np.random.default_rng(9)
    X, y = rng.standard_normal((10, 25)), rng.standard_normal(10)
    solution = kind.of(X, y).solve()
    assert solution.rank == 9
    expected = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=1e-10)[0]
    np.testing.assert_allclose(solution.coef[:, 0], expected, atol=1e-12)
    assert kind.zero(3, 1).solve().rank == 0
    assert kind.zero(3, 1).solve().aliased.tolist() == [0, 1, 2]
    assert kind.zero(3).condition() == 1
