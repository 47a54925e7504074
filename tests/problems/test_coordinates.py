"""Inner coordinates: there and back, blind to a column's unit and origin, and honest about what the data span."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from separatrix.core.losses import Logistic, Multinomial
from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import (
    Coordinates,
    diagonal_coordinates,
    gram_coordinates,
    row_span,
    singular_coordinates,
)
from separatrix.problems.objective import Objective
from tests.draws import examples

quick = examples(25)
N, P = 60, 4
seeds = st.integers(0, 10**6)


def table(seed=0, n=N, p=P):
    """Columns of units 1e-8 … 1e8, origins up to 1e6 units away, correlated."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p)) @ (np.eye(p) + 0.5 * rng.normal(size=(p, p)))
    unit = 10.0 ** rng.integers(-8, 9, p)
    return (Z + rng.choice([0.0, 1.0, 1e3, 1e6], p)) * unit, rng.integers(0, 4, n) + rng.random(n)


def inner(coordinates, X):
    """z of all rows, through the library's own tile."""
    out = np.empty((X.shape[0], coordinates.size))
    coordinates.tile(X if isinstance(X, np.ndarray) else X.toarray(), out=out)
    return out


def kinds(X, weight, fit_intercept, ridge=0.01, curvature=0.25):
    """Every way of choosing coordinates, on the same rows."""
    rows = Rows.of(X, None, weight)
    moments = rows.moments()
    found = {
        "standard": Coordinates.standard(moments, fit_intercept),
        "diagonal": diagonal_coordinates(moments, fit_intercept, ridge, curvature),
        "gram": gram_coordinates(rows, moments, fit_intercept, ridge, curvature),
        "singular": singular_coordinates(rows, moments, fit_intercept, ridge, curvature)[0],
        "singular, no ridge": singular_coordinates(rows, moments, fit_intercept)[0],
    }
    return rows, moments, found


every_kind = pytest.mark.parametrize(
    "kind", ["standard", "diagonal", "gram", "singular", "singular, no ridge"]
)
with_and_without = pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])


def objective_of(rows, coordinates, fit_intercept, classes=None):
    loss = Logistic() if classes is None else Multinomial()
    y = np.ones(rows.n) if classes is None else np.zeros(rows.n, dtype=int)
    return Objective(rows.with_targets(y, rows.weight), loss, 0.1, fit_intercept, coordinates, classes)


# ---- there and back ----


@every_kind
@with_and_without
@pytest.mark.parametrize("classes", [None, 3])
@quick
@given(seed=seeds)
def test_parameters_survive_the_way_to_the_users_units_and_back(kind, fit_intercept, classes, seed):
    X, weight = table(seed)
    rows, _, found = kinds(X, weight, fit_intercept)
    objective = objective_of(rows, found[kind], fit_intercept, classes)
    theta = np.random.default_rng(seed).normal(size=objective.shape)
    coef, intercept = objective.to_user(theta)
    assert coef.shape == ((P,) if classes is None else (classes, P))
    assert np.shape(intercept) == (() if classes is None else (classes,))
    back = objective.from_user(coef, intercept)
    assert back.shape == theta.shape
    # an intercept far from the origin is a difference of large numbers: it keeps EPS of their size
    reach = 1 + np.abs(np.atleast_2d(coef) * found[kind].centre).sum(axis=1).max()
    size = np.linalg.norm(theta) * (1 if found[kind].basis is None else np.linalg.cond(found[kind].basis))
    np.testing.assert_allclose(back[: found[kind].size], theta[: found[kind].size], atol=1e-13 * size)
    np.testing.assert_allclose(back, theta, atol=1e-14 * reach + 1e-13 * size)


@every_kind
@with_and_without
@quick
@given(seed=seeds)
def test_scores_are_the_same_in_either_units(kind, fit_intercept, seed):
    X, weight = table(seed)
    rows, _, found = kinds(X, weight, fit_intercept)
    objective = objective_of(rows, found[kind], fit_intercept)
    theta = np.random.default_rng(seed + 1).normal(size=objective.shape)
    t, b = objective.split(theta)
    ours = inner(found[kind], X) @ t + b
    coef, intercept = objective.to_user(theta)
    theirs = X.astype(np.longdouble) @ coef + intercept
    size = np.abs(X * coef).sum(axis=1) + np.abs(intercept) + np.abs(ours)
    np.testing.assert_allclose(ours, theirs.astype(float), rtol=0, atol=1e-14 * size.max())


@every_kind
@quick
@given(seed=seeds)
def test_pull_is_the_transpose_of_weights(kind, seed):
    X, weight = table(seed)
    coordinates = kinds(X, weight, True)[2][kind]
    rng = np.random.default_rng(seed)
    for shape in ((), (2,)):
        t, g = rng.normal(size=(coordinates.size, *shape)), rng.normal(size=(P, *shape))
        left, right = np.sum(coordinates.weights(t) * g), np.sum(t * coordinates.pull(g))
        assert left == pytest.approx(right, rel=1e-10, abs=1e-12 * np.abs(coordinates.weights(t) * g).sum())


@every_kind
@quick
@given(seed=seeds, lam=st.sampled_from([0.0, 1e-3, 2.0]))
def test_the_ridge_is_lambda_times_the_squared_length_in_the_users_units(kind, seed, lam):
    X, weight = table(seed)
    coordinates = kinds(X, weight, True)[2][kind]
    t = np.random.default_rng(seed).normal(size=coordinates.size)
    matrix = coordinates.ridge(lam)
    quadratic = t @ (matrix * t if matrix.ndim == 1 else matrix @ t)
    assert quadratic == pytest.approx(lam * np.sum(coordinates.weights(t) ** 2), rel=1e-9)


def test_identity_changes_nothing():
    coordinates = Coordinates.identity(3)
    X = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(inner(coordinates, X), X)
    assert np.array_equal(coordinates.weights(X[0]), X[0])
    assert coordinates.size == 3 and not coordinates.far


# ---- standard ----


@quick
@given(seed=seeds)
def test_standard_columns_have_mean_zero_and_spread_one(seed):
    X, weight = table(seed)
    z = inner(kinds(X, weight, True)[2]["standard"], X)
    share = weight / weight.sum()
    np.testing.assert_allclose(share @ z, 0, atol=1e-9)
    np.testing.assert_allclose(share @ z**2, 1, rtol=1e-9)


@quick
@given(seed=seeds)
def test_without_an_intercept_the_origin_stays_and_the_root_mean_square_is_one(seed):
    X, weight = table(seed)
    coordinates = kinds(X, weight, False)[2]["standard"]
    z = inner(coordinates, X)
    assert not coordinates.centre.any()
    np.testing.assert_allclose(weight @ z**2 / weight.sum(), 1, rtol=1e-12)


@with_and_without
@quick
@given(seed=seeds, unit=st.lists(st.integers(-20, 20), min_size=P, max_size=P))
def test_a_power_of_two_as_unit_changes_not_a_bit(fit_intercept, seed, unit):
    X, weight = table(seed)
    unit = 2.0 ** np.array(unit)
    here = inner(kinds(X, weight, fit_intercept)[2]["standard"], X)
    there = inner(kinds(X * unit, weight, fit_intercept)[2]["standard"], X * unit)
    assert np.array_equal(here, there)


@quick
@given(seed=seeds)
def test_units_and_origins_change_nothing_and_a_negative_unit_only_the_sign(seed):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(N, P)), rng.random(N)
    unit, origin = rng.choice([-1, 1], P) * 10.0 ** rng.integers(-8, 9, P), rng.normal(size=P) * 100
    here = inner(kinds(X, weight, True)[2]["standard"], X)
    there = inner(kinds((X + origin) * unit, weight, True)[2]["standard"], (X + origin) * unit)
    np.testing.assert_allclose(there * np.sign(unit), here, atol=1e-11)


def test_a_constant_column_gets_scale_zero_and_weight_zero():
    X = np.column_stack([np.arange(5.0), np.full(5, 1e8), np.zeros(5)])
    rows = Rows.of(X)
    coordinates = Coordinates.standard(rows.moments(), True)
    assert (coordinates.scale > 0).tolist() == [True, False, False]
    assert inner(coordinates, X)[:, 1:].any() == False  # noqa: E712
    assert coordinates.weights(np.ones(3))[1:].tolist() == [0, 0]
    assert coordinates.inner(np.array([1.0, 2.0, 3.0]))[1:].tolist() == [0, 0]
    kept = Coordinates.standard(rows.moments(), False)
    assert (kept.scale > 0).tolist() == [True, True, False]


def test_far_means_far_in_units_of_the_spread():
    def far(X):
        return Coordinates.standard(Rows.of(X).moments(), True).far

    u = np.linspace(-1, 1, 11)[:, None]
    assert not far(u) and not far(1e8 * u) and not far(u + 10)
    assert far(u + 1e8) and far(np.hstack([u, 1e-6 * u + 1]))
    assert not far(np.full((5, 1), 1e8))  # constant: nothing to cancel
    assert not Coordinates.standard(Rows.of(u + 1e8).moments(), False).far


# ---- preconditioners ----


def second_order(coordinates, X, weight, fit_intercept, ridge, curvature):
    """κ ZᵀSZ/W + penalty in the inner coordinates: what a preconditioner wants to be the identity."""
    z = inner(coordinates, X)
    share = weight / weight.sum()
    gram = curvature * (z.T * share) @ z
    matrix = coordinates.ridge(ridge)
    return gram + (np.diag(matrix) if matrix.ndim == 1 else matrix)


@with_and_without
@quick
@given(seed=seeds, ridge=st.sampled_from([0.0, 1e-2, 10.0]))
def test_gram_coordinates_make_the_bound_on_the_hessian_the_identity(fit_intercept, seed, ridge):
    rng = np.random.default_rng(seed)
    mixed = np.eye(P) + 0.5 * rng.normal(size=(P, P))
    X = rng.normal(size=(N, P)) @ mixed * [1e-2, 1.0, 1e4, 1.0] + rng.normal(size=P)
    weight = rng.random(N) + 0.1
    rows = Rows.of(X, None, weight)
    coordinates = gram_coordinates(rows, rows.moments(), fit_intercept, ridge, 0.25)
    H = second_order(coordinates, X, weight, fit_intercept, ridge, 0.25)
    np.testing.assert_allclose(H, np.eye(P), atol=1e-7)


@quick
@given(seed=seeds, ridge=st.sampled_from([0.0, 1e-2, 10.0]))
def test_diagonal_coordinates_make_its_diagonal_one(seed, ridge):
    X, weight = table(seed)
    coordinates = diagonal_coordinates(Rows.of(X, None, weight).moments(), True, ridge, 0.25)
    H = second_order(coordinates, X, weight, True, ridge, 0.25)
    np.testing.assert_allclose(np.diag(H), 1, rtol=1e-8)


def test_preconditioners_leave_a_constant_column_alone():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=N), np.full(N, 3.0)])
    rows = Rows.of(X)
    for coordinates in (
        gram_coordinates(rows, rows.moments(), True, 0.1, 0.25),
        diagonal_coordinates(rows.moments(), True, 0.1, 0.25),
    ):
        for t in np.eye(2):
            w = coordinates.weights(t)
            assert np.isfinite(w).all() and w[1] == 0


def test_a_gram_sample_of_many_rows_is_a_sample():
    """With tens of thousands of rows only some tiles are read: near the identity, not on it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60_000, 3)) @ np.array([[1.0, 0.9, 0], [0, 1, 0.5], [0, 0, 2]])
    with engine("serial"):
        rows = Rows.of(X)
        coordinates = gram_coordinates(rows, rows.moments(), True, 0.0, 1.0)
    H = second_order(coordinates, X, np.ones(len(X)), True, 0.0, 1.0)
    values = np.linalg.eigvalsh(H)
    assert values[0] > 0.7 and values[-1] < 1.4


# ---- singular directions ----


@with_and_without
@quick
@given(seed=seeds, ridge=st.sampled_from([0.0, 0.5]))
def test_singular_coordinates_are_orthonormal_under_the_data(fit_intercept, seed, ridge):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, P)) * 10.0 ** rng.integers(-3, 4, P) + rng.normal(size=P)
    weight = rng.random(N) + 0.1
    rows = Rows.of(X, None, weight)
    coordinates, aliased = singular_coordinates(rows, rows.moments(), fit_intercept, ridge, 0.25)
    assert coordinates.size == P and len(aliased) == 0
    H = second_order(coordinates, X, weight, fit_intercept, ridge, 0.25)
    np.testing.assert_allclose(H, np.eye(P), atol=1e-9)


def aliased_columns(X, fit_intercept=True, ridge=0.0):
    rows = Rows.of(np.asarray(X, dtype=float))
    coordinates, aliased = singular_coordinates(rows, rows.moments(), fit_intercept, ridge)
    return coordinates.size, aliased.tolist()


def columns(seed=0, n=80):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)


def test_a_repeated_column_is_found_and_named():
    a, b, c = columns()
    assert aliased_columns(np.column_stack([a, b, c])) == (3, [])
    assert aliased_columns(np.column_stack([a, b, a])) == (2, [0, 2])
    assert aliased_columns(np.column_stack([a, b, 1e6 * a, c])) == (3, [0, 2])
    assert aliased_columns(np.column_stack([a, b, a + b, c])) == (3, [0, 1, 2])
    assert aliased_columns(np.column_stack([a, a, b, b])) == (2, [0, 1, 2, 3])


def test_a_repeated_column_in_another_unit_and_origin_is_the_same_column():
    a, b, _ = columns()
    fahrenheit = 32 + 1.8 * a
    assert aliased_columns(np.column_stack([a, b, fahrenheit])) == (2, [0, 2])
    assert aliased_columns(np.column_stack([a, b, fahrenheit]), fit_intercept=False) == (3, [])
    assert aliased_columns(np.column_stack([a, b, 2 * a]), fit_intercept=False) == (2, [0, 2])


def test_indicators_of_every_level_repeat_the_intercept():
    level = np.arange(30) % 3
    hot = np.eye(3)[level]
    assert aliased_columns(hot) == (2, [0, 1, 2])
    assert aliased_columns(hot, fit_intercept=False) == (3, [])
    assert aliased_columns(hot[:, :2]) == (2, [])


def test_a_constant_column_is_not_aliased_and_has_no_direction():
    a, b, _ = columns()
    assert aliased_columns(np.column_stack([a, np.ones(80), b])) == (2, [])


def test_with_a_ridge_every_direction_counts_and_none_is_aliased():
    a, b, _ = columns()
    assert aliased_columns(np.column_stack([a, b, a]), ridge=0.1) == (3, [])


@pytest.mark.parametrize("origin", [0.0, 1e4])
@pytest.mark.parametrize("apart", [1e-6, 1e-9])
def test_columns_that_differ_by_little_are_two_columns(apart, origin):
    """Condition 1e9, whose square no Gram matrix holds; where cells are coarser than the gap they are one."""
    a, b, c = columns()
    X = np.column_stack([a, b, a + apart * c]) + origin
    assert aliased_columns(X) == (3, [])


def test_columns_closer_than_the_rounding_of_their_cells_are_one():
    a, b, c = columns()
    X = np.column_stack([a, b, a + 1e-9 * c]) + 1e9
    size, aliased = aliased_columns(X)
    assert (size, aliased) == (2, [0, 2])


def test_more_columns_than_rows_leave_the_rank_of_the_rows():
    rng = np.random.default_rng(0)
    size, aliased = aliased_columns(rng.normal(size=(10, 25)))
    assert size == 9  # ten points span nine directions about their mean
    assert aliased == list(range(25))
    assert aliased_columns(rng.normal(size=(10, 25)), fit_intercept=False)[0] == 10


def test_singular_coordinates_do_not_depend_on_the_grid_beyond_rounding():
    a, b, c = columns()
    X = np.column_stack([a, b, a + 1e-5 * c])
    spans = []
    for blocks in (1, 7, 40):
        with engine(blocks=blocks):
            rows = Rows.of(X)
            coordinates, aliased = singular_coordinates(rows, rows.moments(), True)
        assert coordinates.size == 3 and len(aliased) == 0
        spans.append(np.abs(coordinates.basis))
    np.testing.assert_allclose(spans[1], spans[0], rtol=1e-6)
    np.testing.assert_allclose(spans[2], spans[0], rtol=1e-6)


def test_sparse_rows_have_the_singular_directions_of_dense_ones():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.4)
    X[:, 3] = X[:, 0] - X[:, 1]
    weight = rng.random(50)
    for source in (X, sparse.csr_matrix(X)):
        rows = Rows.of(source, None, weight)
        coordinates, aliased = singular_coordinates(rows, rows.moments(), True)
        assert coordinates.size == 3 and aliased.tolist() == [0, 1, 3]


# ---- the span of the rows ----


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("n, p", [(6, 20), (8, 8)])
def test_row_span_keeps_scores_and_lengths(kind, n, p):
    rng = np.random.default_rng(4)
    X = kind(np.round(rng.normal(size=(n, p)), 2))
    dense = X.astype(np.float64) if isinstance(X, np.ndarray) else X.toarray()
    y, weight = np.arange(n), rng.random(n)
    rows = Rows.of(X, y, weight)
    centre = rows.moments().mean
    coordinates, span = row_span(rows, centre)
    t = rng.normal(size=coordinates.size)
    w = coordinates.weights(t)
    assert coordinates.size == span.p == min(n, p) and span.n == n
    np.testing.assert_allclose(span.source @ t, (dense - centre) @ w, atol=1e-12)
    assert np.linalg.norm(w) == pytest.approx(np.linalg.norm(t))
    np.testing.assert_allclose(coordinates.ridge(0.3), 0.3 * np.eye(coordinates.size), atol=1e-14)
    np.testing.assert_allclose(coordinates.inner(w), t, atol=1e-12)
    assert span.y is rows.y and span.weight is rows.weight


def test_weights_outside_the_span_of_the_rows_lose_only_what_no_row_sees():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5, 12))
    rows = Rows.of(X)
    coordinates, _ = row_span(rows, np.zeros(12))
    w = rng.normal(size=12)
    kept = coordinates.weights(coordinates.inner(w))
    np.testing.assert_allclose(X @ kept, X @ w, atol=1e-12)
    assert np.linalg.norm(kept) <= np.linalg.norm(w)
