"""Laws of the mergeable statistics, then independent references in extended or exact arithmetic."""

import pickle
import warnings
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from separatrix.core.statistics import Gram, Moments, QRFactor
from tests.core.tables import P, assert_close, quick, tables

MAKERS = {
    "Moments": lambda X, y, w: Moments.of(X, w),
    "Gram": lambda X, y, w: Gram.of(X, weight=w),
    "Gram with targets": lambda X, y, w: Gram.of(X, y, w),
    "QRFactor": lambda X, y, w: QRFactor.of(X, y, w),
}
ZEROS = {
    "Moments": Moments.zero(P),
    "Gram": Gram.zero(P),
    "Gram with targets": Gram.zero(P, 1),
    "QRFactor": QRFactor.zero(P, 1),
}
every = pytest.mark.parametrize("name", MAKERS)
removable = pytest.mark.parametrize("name", [n for n in MAKERS if n != "QRFactor"])


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
    assert_close((a + b) + c, a + (b + c))


@every
@quick
@given(table=tables(max_rows=20), blocks=st.integers(1, 7), data=st.data())
def test_any_partition_in_any_order_gives_the_same_answer(name, table, blocks, data):
    X, y, w = table
    owner = data.draw(hnp.arrays(np.int64, len(y), elements=st.integers(0, blocks - 1)))
    pieces = [MAKERS[name](X[owner == b], y[owner == b], w[owner == b]) for b in range(blocks)]
    assert_close(reduce(add, pieces), MAKERS[name](X, y, w))


@every
@quick
@given(table=tables(weights=(1.0, 2.0, 3.0)))
def test_a_weight_is_that_many_copies(name, table):
    X, y, w = table
    times = w.astype(int)
    copies = MAKERS[name](np.repeat(X, times, axis=0), np.repeat(y, times), None)
    assert_close(MAKERS[name](X, y, w), copies)


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


@pytest.mark.parametrize("name", ["Moments", "Gram"])
def test_taking_out_more_than_is_there_is_refused(name):
    X, y = np.zeros((2, P)), np.zeros(2)
    few, many = (MAKERS[name](X, y, np.full(2, w)) for w in (1.0, 2.0))
    with pytest.raises(ValueError, match="not there"):
        few - many


@pytest.mark.parametrize("name", ["QRFactor"])
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
        (Moments.zero(2), Moments.zero(3)),
        (Gram.zero(2), Gram.zero(3)),
        (Gram.zero(2, 1), Gram.zero(1, 2)),
        (Gram.zero(2), QRFactor.zero(2)),
        (Gram.zero(2), Moments.zero(2)),
        (QRFactor.zero(2, 1), QRFactor.zero(2, 2)),
    ],
)
def test_merging_what_does_not_fit_is_refused(a, b):
    with pytest.raises(ValueError, match="cannot merge"):
        a + b


@pytest.mark.parametrize("of", [Moments.of, Gram.of, QRFactor.of])
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
