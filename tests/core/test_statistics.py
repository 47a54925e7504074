"""Laws of the mergeable statistics, then independent references in extended or exact arithmetic."""

import pickle
import warnings
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from separatrix.core.statistics import (
    Counts,
    Extrema,
    Gram,
    Histogram,
    Moments,
    QRFactor,
    Sum,
    trustworthy,
)

P = 3
EDGES = [[-1.0, 0.0, 1.0], [0.0], [1e8 - 1, 1e8, 1e8 + 1]]

quick = settings(max_examples=15, deadline=None)

MAKERS = {
    "Sum": lambda X, y, w: Sum.of(X, w),
    "Moments": lambda X, y, w: Moments.of(X, w),
    "Gram": lambda X, y, w: Gram.of(X, weight=w),
    "Gram with targets": lambda X, y, w: Gram.of(X, y, w),
    "QRFactor": lambda X, y, w: QRFactor.of(X, y, w),
    "Histogram": lambda X, y, w: Histogram.of(X, EDGES, w, label=(y > 0).astype(int), labels=2),
    "Extrema": lambda X, y, w: Extrema.of(X, w),
    "Counts": lambda X, y, w: Counts.of(np.round(y), w),
}
ZEROS = {
    "Sum": Sum.zero(P),
    "Moments": Moments.zero(P),
    "Gram": Gram.zero(P),
    "Gram with targets": Gram.zero(P, 1),
    "QRFactor": QRFactor.zero(P, 1),
    "Histogram": Histogram.zero(EDGES, 2),
    "Extrema": Extrema.zero(P),
    "Counts": Counts.zero(),
}
every = pytest.mark.parametrize("name", MAKERS)
removable = pytest.mark.parametrize("name", [n for n in MAKERS if n not in ("QRFactor", "Extrema")])


@st.composite
def tables(draw, min_rows=0, max_rows=12, weights=(0.0, 0.5, 1.0, 2.0, 3.0)):
    """Rows on three columns of very different unit and origin, one of them at 1e8 ± 3, targets, weights."""
    n = draw(st.integers(min_rows, max_rows))
    cell = st.floats(-3, 3, allow_nan=False, width=32)
    Z = draw(hnp.arrays(np.float64, (n, P), elements=cell))
    y = draw(hnp.arrays(np.float64, n, elements=cell))
    w = draw(hnp.arrays(np.float64, n, elements=st.sampled_from(weights)))
    unit = 10.0 ** draw(hnp.arrays(np.int64, P, elements=st.integers(-8, 8)))
    unit[2] = 1.0
    return Z * unit + np.array([0.0, 0.0, 1e8]), y, w


def parts(s):
    """The facts a statistic stands for, each with the size against which an error of it is judged."""
    if isinstance(s, Gram | QRFactor):
        S = s.joint_scatter()
        length = np.sqrt(np.maximum(np.diag(S), 0))
        # The square root spreads an entry's rounding over the rest of its column.
        return [(s.weight, 1.0), (s.joint_mean, 1 + np.abs(s.joint_mean)), (S, np.outer(length, length))]
    if isinstance(s, Moments):
        return [(s.weight, 1.0), (s.mean, 1 + np.abs(s.mean)), (s.second, s.second)]
    if isinstance(s, Counts):
        return [(np.array(s.values()), 1.0)]
    values = [getattr(s, f.name) for f in fields(s) if f.name != "edges"]
    return [(v, np.abs(v)) for v in values]


def assert_close(a, b, rtol=1e-12, size=None):
    """a and b agree to rtol of their own size, or of that of a third statistic they were computed from."""
    assert type(a) is type(b)
    if isinstance(a, Counts):
        assert a.keys() == b.keys()
    for (x, _), (y, here), (_, there) in zip(parts(a), parts(b), parts(size or b), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape
        finite = np.isfinite(y)
        assert np.array_equal(x[~finite], y[~finite], equal_nan=True)
        bound = rtol * np.broadcast_to(np.maximum(here, there), y.shape) + 1e-300
        assert np.all(np.abs(x[finite] - y[finite]) <= bound[finite]), (x, y)


# ── laws ───────────────────────────────────────────────────────────────────────────────────────────


@every
@quick
@given(table=tables())
def test_zero_is_the_identity_and_the_statistic_of_no_rows(name, table):
    a, zero = MAKERS[name](*table), ZEROS[name]
    X, y, w = table
    assert MAKERS[name](X[:0], y[:0], w[:0]) == zero
    assert zero + zero == zero
    assert_close(a + zero, a, rtol=1e-15)
    assert_close(zero + a, a, rtol=1e-15)


@every
@quick
@given(left=tables(), right=tables())
def test_merge_commutes(name, left, right):
    a, b = MAKERS[name](*left), MAKERS[name](*right)
    assert_close(a + b, b + a)


@every
@quick
@given(tables(), tables(), tables())
def test_merge_associates(name, one, two, three):
    a, b, c = (MAKERS[name](*t) for t in (one, two, three))
    # Sums of opposite sign cancel, so the error of a Sum is judged against what went in.
    size = reduce(add, (MAKERS[name](np.abs(X), np.abs(y), w) for X, y, w in (one, two, three)))
    assert_close((a + b) + c, a + (b + c), size=size if name == "Sum" else None)


@every
@quick
@given(table=tables(max_rows=20), blocks=st.integers(1, 7), data=st.data())
def test_any_partition_in_any_order_gives_the_same_answer(name, table, blocks, data):
    X, y, w = table
    owner = data.draw(hnp.arrays(np.int64, len(y), elements=st.integers(0, blocks - 1)))
    pieces = [MAKERS[name](X[owner == b], y[owner == b], w[owner == b]) for b in range(blocks)]
    size = MAKERS[name](np.abs(X), np.abs(y), w) if name == "Sum" else None
    assert_close(reduce(add, pieces), MAKERS[name](X, y, w), size=size)


@every
@quick
@given(table=tables(weights=(1.0, 2.0, 3.0)))
def test_a_weight_is_that_many_copies(name, table):
    X, y, w = table
    times = w.astype(int)
    copies = MAKERS[name](np.repeat(X, times, axis=0), np.repeat(y, times), None)
    size = MAKERS[name](np.abs(X), np.abs(y), w) if name == "Sum" else None
    assert_close(MAKERS[name](X, y, w), copies, size=size)


@every
@quick
@given(table=tables(min_rows=1), huge=st.sampled_from([0.0, 1.0, 1e16, -1e30]))
def test_a_weight_of_zero_is_absence(name, table, huge):
    X, y, w = table
    X = np.where((w == 0)[:, None], huge, X)
    there = w > 0
    assert_close(MAKERS[name](X, y, w), MAKERS[name](X[there], y[there], w[there]))


@removable
@quick
@given(left=tables(), right=tables())
def test_what_was_added_can_be_taken_out(name, left, right):
    a, b = MAKERS[name](*left), MAKERS[name](*right)
    both = a + b
    rest = both - b
    if isinstance(a, Gram):
        # A column lost to rounding is zero as a whole, its products too, or the scatter would not be one.
        lost = np.diag(rest.joint) == 0
        assert np.all(np.diag(a.joint)[lost] <= 1e-14 * np.diag(both.joint)[lost])
        a = replace(a, joint=np.where(lost | lost[:, None], 0.0, a.joint))
    assert_close(rest, a, size=both)
    assert both - both == ZEROS[name]


@pytest.mark.parametrize("name", ["Sum", "Moments", "Gram", "Histogram", "Counts"])
def test_taking_out_more_than_is_there_is_refused(name):
    X, y = np.zeros((2, P)), np.zeros(2)
    few, many = (MAKERS[name](X, y, np.full(2, w)) for w in (1.0, 2.0))
    with pytest.raises(ValueError, match="not there"):
        few - many


@pytest.mark.parametrize("name", ["QRFactor", "Extrema"])
def test_no_minus_where_it_would_not_be_true(name):
    with pytest.raises(TypeError):
        ZEROS[name] - ZEROS[name]


@every
def test_a_statistic_is_a_frozen_value(name):
    X = np.arange(12.0).reshape(4, P)
    a = MAKERS[name](X, X[:, 0], np.ones(4))
    before = pickle.dumps(a)
    for field in fields(a):
        with pytest.raises(FrozenInstanceError):
            setattr(a, field.name, None)
        value = getattr(a, field.name)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 0
    X[:] = -1
    copy = pickle.loads(before)
    assert copy == a
    assert all(not v.flags.writeable for f in fields(a) if isinstance(v := getattr(copy, f.name), np.ndarray))
    assert copy + copy == a + a
    assert a != ZEROS[name]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Sum.zero(2), Sum.zero(3)),
        (Moments.zero(2), Moments.zero(3)),
        (Gram.zero(2), Gram.zero(3)),
        (Gram.zero(2, 1), Gram.zero(1, 2)),
        (Gram.zero(2), QRFactor.zero(2)),
        (QRFactor.zero(2, 1), QRFactor.zero(2, 2)),
        (Histogram.zero([[0.0]]), Histogram.zero([[1.0]])),
        (Histogram.zero([[0.0]]), Histogram.zero([[0.0]], labels=2)),
        (Extrema.zero(2), Extrema.zero(3)),
        (Counts.zero(), Sum.zero()),
    ],
)
def test_merging_what_does_not_fit_is_refused(a, b):
    with pytest.raises(ValueError, match="cannot merge"):
        a + b


@pytest.mark.parametrize("of", [Moments.of, Gram.of, QRFactor.of, Extrema.of])
def test_blocks_that_do_not_fit_are_refused(of):
    with pytest.raises(ValueError, match="2 dimensions"):
        of(np.zeros(3))
    with pytest.raises(ValueError, match="one weight per row"):
        of(np.zeros((3, 2)), weight=np.ones(2))


# ── Moments ────────────────────────────────────────────────────────────────────────────────────────


def exact_moments(X, w):
    """Mean and centred second moment of each column in rational arithmetic, rounded once at the end."""
    means, seconds = [], []
    for column in X.T:
        x, v = [Fraction(float(c)) for c in column], [Fraction(float(c)) for c in w]
        mean = sum(a * b for a, b in zip(v, x, strict=True)) / sum(v)
        means.append(float(mean))
        seconds.append(float(sum(a * (b - mean) ** 2 for a, b in zip(v, x, strict=True))))
    return np.array(means), np.array(seconds)


@quick
@given(table=tables(min_rows=1, weights=(0.5, 1.0, 3.0)), cut=st.integers(0, 12))
def test_moments_agree_with_rational_arithmetic_also_when_merged(table, cut):
    X, _, w = table
    mean, second = exact_moments(X, w)
    for m in (Moments.of(X, w), Moments.of(X[:cut], w[:cut]) + Moments.of(X[cut:], w[cut:])):
        np.testing.assert_allclose(m.mean, mean, rtol=1e-15, atol=4e-16 * np.abs(X).max())
        np.testing.assert_allclose(m.second, second, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_agree_with_long_double_over_many_tiles(order, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 5)) * [1e-8, 1.0, 1e8, 1.0, 0.0] + [0, 1e8, 1e8, 3, 0.1]
    X = np.asarray(X, order=order)
    w = rng.random(len(X)) if weighted else None
    v = np.ones(len(X), dtype=np.longdouble) if w is None else w.astype(np.longdouble)
    mean = v @ X.astype(np.longdouble) / v.sum()
    variance = v @ (X - mean) ** 2 / v.sum()
    whole = Moments.of(X, w)
    blocks = [
        Moments.of(X[i : i + 777], None if w is None else w[i : i + 777]) for i in range(0, len(X), 777)
    ]
    for m in (whole, reduce(add, blocks)):
        np.testing.assert_allclose(m.mean, mean.astype(float), rtol=1e-14, atol=1e-22)
        np.testing.assert_allclose(m.variance[:4], variance.astype(float)[:4], rtol=1e-13)
        assert m.second[4] == 0
        assert m.constant.tolist() == [False] * 4 + [True]
        assert m.scale[4] == 1


def test_a_column_that_varies_by_rounding_alone_is_constant():
    x = np.array([[0.3], [0.1 + 0.2]])
    assert Moments.of(x).constant.all()
    assert Moments.of(x).scale == 1
    assert not Moments.of([[1e8 - 1], [1e8 + 1]]).constant.any()
    assert np.isnan(Moments.zero(1).variance).all()
    assert Moments.zero(1).scale == 1


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.uint8, np.bool_])
def test_moments_of_other_dtypes_are_those_of_their_float64_values(dtype):
    X = np.random.default_rng(1).integers(0, 100, (5000, 3)).astype(dtype)
    assert Moments.of(X) == Moments.of(X.astype(np.float64))
    assert Gram.of(X) == Gram.of(X.astype(np.float64))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 10, 4999])
@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("of", [Moments.of, Gram.of, QRFactor.of])
def test_a_value_that_is_not_finite_shows_in_the_mean_and_warns_nobody(of, bad, row, weight):
    X, w = np.ones((5000, 3)), np.ones(5000)
    X[row, 1], w[row] = bad, weight
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for s in (of(X, weight=w), of(X[:20], weight=w[:20]) + of(X[20:], weight=w[20:])):
            assert np.isfinite(s.mean).tolist() == [True, False, True]
        lone = of(X[row : row + 1], weight=w[row : row + 1]) + of(np.ones((5, 3)))
        assert not np.isfinite(lone.mean[1])


# ── Gram and QRFactor ──────────────────────────────────────────────────────────────────────────────

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
        np.testing.assert_array_equal(s.target_scatter(), s.joint_scatter()[P:, P:])


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


# ── Histogram, Extrema, Counts, Sum ────────────────────────────────────────────────────────────────


@quick
@given(X=hnp.arrays(np.float64, (9, 2), elements=st.floats(-3, 3) | st.just(np.nan) | st.just(np.inf)))
def test_histogram_agrees_with_a_loop_and_loses_no_row(X):
    edges, label = [[-1.0, 0.0, 1.5], [0.5]], np.arange(9) % 2
    w = np.arange(1.0, 10.0)
    h = Histogram.of(X, edges, w, label, labels=2)
    for j in range(2):
        for c in range(2):
            rows = label == c
            bounds = [-np.inf, *edges[j], np.inf]
            for b, (low, high) in enumerate(pairwise(bounds)):
                x = X[rows, j]
                inside = (x >= low) & ((x < high) | ((high == np.inf) & (x == np.inf)))
                assert h.counts[j, b, c] == w[rows][inside].sum()
            assert h.missing[j, c] == w[rows][np.isnan(X[rows, j])].sum()
            assert h.counts[j, :, c].sum() + h.missing[j, c] == w[rows].sum()


@pytest.mark.parametrize(
    ("edges", "label", "message"),
    [([[0.0, 0.0]], None, "increase"), ([[0.0], [1.0]], None, "2 columns"), ([[0.0]], [0, 2], "0 to 0")],
)
def test_histogram_refuses_what_it_cannot_mean(edges, label, message):
    with pytest.raises(ValueError, match=message):
        Histogram.of(np.zeros((2, 1)), edges, label=label)


@quick
@given(X=hnp.arrays(np.float64, (6, 2), elements=st.floats(-1e300, 1e300) | st.just(np.nan)))
def test_extrema_ignore_nan(X):
    e = Extrema.of(X)
    for j in range(2):
        x = X[~np.isnan(X[:, j]), j]
        assert e.low[j] == min(x, default=np.inf)
        assert e.high[j] == max(x, default=-np.inf)


def test_extrema_of_integers_and_booleans():
    assert Extrema.of(np.array([[3], [-2]], dtype=np.int8)) == Extrema.of([[3.0], [-2.0]])
    assert Extrema.of(np.array([[True], [False]])) == Extrema.of([[1.0], [0.0]])


labels = st.one_of(
    st.integers(-3, 3),
    st.text("ab", max_size=2),
    st.none(),
    st.just(float("nan")),
    st.tuples(st.integers(0, 1), st.text("x", max_size=1)),
    st.frozensets(st.integers(0, 2), max_size=2),
)


@settings(max_examples=50, deadline=None)
@given(keys=st.lists(labels, max_size=8), data=st.data())
def test_counts_take_any_hashable_key_in_an_order_of_their_own(keys, data):
    shuffled = data.draw(st.permutations(keys))
    c = Counts.of(keys)
    assert c == Counts.of(shuffled) == reduce(add, (Counts.of([k]) for k in shuffled), Counts.zero())
    assert c.total == len(keys)
    assert pickle.loads(pickle.dumps(c)) == c
    for key in keys:
        assert key in c
        assert c[key] == sum(k == key or (k != k and key != key) for k in keys)


def test_counts_sort_naturally_where_they_can_and_read_like_a_mapping():
    assert Counts.of([10, 9, 2.5]).keys() == (2.5, 9, 10)
    assert Counts.of(["b", 2, "a", 10, None]).keys() == (None, 2, 10, "a", "b")
    assert Counts.of([float("nan"), 3.0, np.float32(1)]).keys()[:2] == (1.0, 3.0)
    c = Counts.of(np.array(["u", "v", "u"]), weight=[1.0, 0.0, 2.5])
    assert dict(c.items()) == {"u": 3.5}
    assert (list(c), len(c), c.values(), "v" in c, c["v"]) == (["u"], 1, (3.5,), False, 0.0)


@pytest.mark.parametrize(
    "array",
    [
        np.array([3, 1, 3], dtype=np.int8),
        np.array([True, False, True]),
        np.array(["x", "yy", "x"]),
        np.array(["2020-01-02", "2020-01-01", "2020-01-02"], dtype="datetime64[ns]"),
        np.array([1.5, np.nan, np.nan]),
        np.array(["p", 3, None], dtype=object),
    ],
)
def test_counts_of_an_array_are_those_of_its_elements(array):
    assert Counts.of(array) == Counts.of(list(array))
    w = np.array([0.5, 1.0, 2.0])
    assert Counts.of(array, w) == Counts.of(list(array), w)


def test_counts_remove_keys_that_are_used_up():
    c = Counts.of(["a", "b", "b"])
    assert (c - Counts.of(["a"])).keys() == ("b",)
    with pytest.raises(ValueError, match="'z'"):
        c - Counts.of(["z"])


def test_sum_takes_arrays_of_any_rank():
    assert Sum.of([1, 2, 3]).value == 6.0
    assert Sum.of(np.ones((4, 2, 3)), weight=[1, 2, 3, 4]).value.tolist() == [[10.0] * 3] * 2
    assert Sum.of(np.array([True, True])).mean == 1.0
    assert np.isnan(Sum.zero().mean)
    with pytest.raises(ValueError, match="one weight per row"):
        Sum.of([1.0, 2.0], weight=[1.0])
