"""The stable primitives against 60-digit arithmetic, at ±1e3, ±1e4, ±inf, zero and the subnormals, in silence."""

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from separatrix.core.numerics import EPS, expit, log1pexp, logit, logsumexp, softmax, xlogx
from tests.draws import examples

SUBNORMAL = 5e-324
SMALL = [0.0, SUBNORMAL, 1e-310, 2.3e-308, 1e-200, 1e-20, 1e-9, 1e-3, 0.1, 0.5]
LARGE = [1.0, 2.0, 10.0, 36.7, 37.5, 100.0, 700.0, 709.7, 709.8, 745.0, 746.0, 1e3, 1e4, 1e100, 1e308]
POINTS = np.array([sign * size for sign in (-1.0, 1.0) for size in (*SMALL, *LARGE)])
TINY = 1e-320  # a result in the subnormal range has no relative precision
reals = st.floats(-1e4, 1e4, allow_nan=False)
quick = examples(60)


@pytest.fixture(autouse=True)
def _silence():
    """No warning is allowed from any primitive, whatever it is given."""
    with warnings.catch_warnings(), mpmath.workdps(60):
        warnings.simplefilter("error")
        yield


def exactly(x):
    return mpmath.mpf(float(x))


def reference(function, x):
    """``function`` of each float in 60 digits, rounded once."""
    return np.array([float(function(exactly(v))) for v in np.ravel(x)]).reshape(np.shape(x))


def mp_log1pexp(x):
    return x if x > 1e5 else mpmath.mpf(0) if x < -1e5 else mpmath.log1p(mpmath.exp(x))


def mp_expit(x):
    return mpmath.mpf(1) if x > 1e5 else mpmath.mpf(0) if x < -1e5 else 1 / (1 + mpmath.exp(-x))


def close(got, wanted, ulps=4):
    """Within a few rounding errors, relative to the value itself even in the tails."""
    np.testing.assert_allclose(got, wanted, rtol=ulps * EPS, atol=TINY)


# ---- log(1 + eˣ) ----


def test_log1pexp_against_mpmath_at_every_scale():
    close(log1pexp(POINTS), reference(mp_log1pexp, POINTS))


def test_log1pexp_at_infinity():
    assert log1pexp([-np.inf, np.inf]).tolist() == [0.0, np.inf]
    assert np.isnan(log1pexp(np.nan))


@quick
@given(reals)
def test_log1pexp_of_minus_x_differs_by_x(x):
    """log(1 + eˣ) − log(1 + e⁻ˣ) = x."""
    assert log1pexp(x) - log1pexp(-x) == pytest.approx(x, rel=4 * EPS, abs=4 * EPS)


@quick
@given(reals, reals)
def test_log1pexp_is_increasing_and_above_both_of_its_asymptotes(x, z):
    assert log1pexp(x) >= max(x, 0.0)
    if x < z:
        assert log1pexp(x) <= log1pexp(z)


# ---- sigmoid and logit ----


def test_expit_against_mpmath_at_every_scale():
    close(expit(POINTS), reference(mp_expit, POINTS))


def test_expit_at_infinity():
    assert expit([-np.inf, 0.0, np.inf]).tolist() == [0.0, 0.5, 1.0]
    assert np.isnan(expit(np.nan))


@quick
@given(reals)
def test_expit_of_minus_x_is_the_other_probability(x):
    assert expit(x) + expit(-x) == pytest.approx(1.0, abs=2 * EPS)
    assert 0.0 <= expit(x) <= 1.0


@quick
@given(st.floats(-30, 30, allow_nan=False), st.sampled_from([1e-6, 1e-4]))
def test_expit_is_the_slope_of_log1pexp(x, h):
    difference = (log1pexp(np.longdouble(x) + h) - log1pexp(np.longdouble(x) - h)) / (2 * np.longdouble(h))
    assert float(difference) == pytest.approx(float(expit(x)), rel=1e-7, abs=1e-12)


def test_logit_against_mpmath_down_to_the_subnormals_and_next_to_one_half():
    tails = [SUBNORMAL, 1e-310, 1e-200, 1e-17, 1e-9, 0.1, 0.9, 1 - 1e-9, 1 - 2**-53]
    seams = [0.2499, 0.25, 0.26, 0.74, 0.75, 0.7501]
    middle = [0.5 - 1e-10, 0.5 - 2**-54, 0.5, 0.5 + 2**-53, 0.5 + 1e-10]
    p = np.array([*tails, *seams, *middle])
    close(logit(p), reference(lambda v: mpmath.log(v / (1 - v)), p))


def test_logit_at_the_ends_and_outside():
    assert logit([0.0, 0.5, 1.0]).tolist() == [-np.inf, 0.0, np.inf]
    assert np.isnan(logit([-0.1, 1.1, np.nan])).all()


@quick
@given(st.floats(-700, 30, allow_nan=False))
def test_logit_undoes_expit(x):
    # near one a probability is stored to EPS, so its score to EPS·e^x
    assert logit(expit(x)) == pytest.approx(x, rel=4 * EPS, abs=4 * EPS * max(1.0, np.exp(x)))


# ---- log Σ exp and softmax ----

rows_of_scores = hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=reals)


@quick
@given(rows_of_scores)
def test_logsumexp_against_mpmath(x):
    def exact(row):
        top = max(row)
        return float(top + mpmath.log(sum(mpmath.exp(exactly(v) - exactly(top)) for v in row)))

    np.testing.assert_allclose(logsumexp(x), [exact(r) for r in x], rtol=4 * EPS, atol=8 * EPS)


@quick
@given(rows_of_scores, reals)
def test_a_common_shift_moves_logsumexp_and_leaves_softmax(x, c):
    scale = 4 * EPS * (np.abs(x).max() + abs(c) + 1)
    np.testing.assert_allclose(logsumexp(x + c), logsumexp(x) + c, rtol=0, atol=4 * scale)
    np.testing.assert_allclose(softmax(x + c), softmax(x), rtol=16 * scale, atol=1e-300)


@quick
@given(rows_of_scores)
def test_softmax_is_a_distribution_whose_logarithm_is_the_score_less_logsumexp(x):
    p = softmax(x)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=-1), 1.0, rtol=4 * EPS)
    np.testing.assert_allclose(p, np.exp(x - logsumexp(x)[:, None]), rtol=1e-11, atol=1e-300)


@quick
@given(hnp.arrays(np.float64, (3,), elements=reals))
def test_two_classes_of_softmax_are_the_sigmoid_of_the_difference(x):
    pair = np.stack([x, np.zeros_like(x)], axis=-1)
    np.testing.assert_allclose(softmax(pair)[:, 0], expit(x), rtol=4 * EPS, atol=TINY)
    np.testing.assert_allclose(logsumexp(pair), log1pexp(x), rtol=4 * EPS, atol=2 * EPS)


def test_logsumexp_at_infinity():
    inf = np.inf
    rows = np.array([[-inf, -inf], [-inf, 3.0], [inf, 1e4], [inf, -inf], [inf, inf], [1e308, -1e308]])
    assert logsumexp(rows).tolist() == [-inf, 3.0, inf, inf, inf, 1e308]
    assert np.isnan(logsumexp(np.array([np.nan, inf])))


def test_softmax_at_infinity():
    inf = np.inf
    rows = np.array([[-inf, 3.0], [inf, 1e4], [inf, -inf], [inf, inf], [-inf, -inf], [1e4, 0.0]])
    wanted = [[0, 1], [1, 0], [1, 0], [0.5, 0.5], [0.5, 0.5], [1, 0]]
    assert softmax(rows).tolist() == wanted
    assert np.isnan(softmax(np.array([np.nan, 1.0]))).all()


def test_a_bad_row_leaves_its_neighbours_alone():
    good = np.array([[0.3, -1.0, 2.0]])
    both = np.vstack([[np.nan, 0.0, np.inf], good[0], [np.inf, np.inf, 0.0]])
    assert np.array_equal(softmax(both)[1], softmax(good)[0])
    assert logsumexp(both)[1] == logsumexp(good)[0]


def test_the_input_is_never_written_to():
    x = np.array([[1.0, np.inf, -3.0], [0.5, 0.25, 1.0]])
    before = x.copy()
    for function in (log1pexp, expit, logit, logsumexp, softmax, xlogx):
        function(x)
        assert np.array_equal(x, before)


# ---- x log x ----


def test_xlogx_against_mpmath():
    positive = POINTS[(POINTS > 0) & (POINTS < 1e300)]
    close(xlogx(positive), reference(lambda v: v * mpmath.log(v), positive))


def test_xlogx_at_the_ends_and_outside():
    assert xlogx([0.0, -0.0, 1.0, np.inf, -SUBNORMAL, -1e4, -np.inf]).tolist() == [
        0.0,
        0.0,
        0.0,
        np.inf,
        np.inf,
        np.inf,
        np.inf,
    ]
    assert np.isnan(xlogx(np.nan))


@quick
@given(st.floats(0, 1e3), st.floats(0, 1e3), st.floats(0, 1))
def test_xlogx_is_convex(a, b, t):
    between = xlogx(t * a + (1 - t) * b)
    assert between <= t * xlogx(a) + (1 - t) * xlogx(b) + 1e-9


# ---- types ----


@pytest.mark.parametrize("function", [log1pexp, expit, logit, xlogx])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_float_type_is_kept(function, dtype):
    x = np.array([0.125, 0.5, 0.75], dtype=dtype)
    assert function(x).dtype == dtype
    np.testing.assert_allclose(function(x), function(x.astype(np.float64)), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("function", [logsumexp, softmax])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_keep_their_float_type_even_with_an_infinity(function, dtype):
    x = np.array([[0.5, -1e4, 1e4], [np.inf, 0.0, 1.0]], dtype=dtype)
    assert function(x).dtype == dtype


@pytest.mark.parametrize("function", [log1pexp, expit])
def test_integers_and_booleans_are_numbers(function):
    for dtype in (np.uint8, np.int8, np.int64, np.bool_):
        x = np.array([0, 1], dtype=dtype)
        assert function(x).tolist() == function(x.astype(float)).tolist()
    assert function(np.array([-128], dtype=np.int8)) == function(-128.0)


@pytest.mark.parametrize("function", [log1pexp, expit, logit, xlogx])
def test_scalars_lists_and_any_shape(function):
    grid = np.array([[0.1, 0.9], [0.4, 0.5]])
    assert function(grid).shape == (2, 2)
    assert np.array_equal(function(grid.tolist()), function(grid))
    assert function(0.4) == function(grid)[1, 0]
    assert function(np.empty((0, 3))).shape == (0, 3)
