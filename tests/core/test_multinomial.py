"""The multinomial loss: against differences, its gauge, permutations, far out."""

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from separatrix.core.losses import (
    Logistic,
    Multinomial,
)
from tests.draws import examples

mp = mpmath.mpf
quick = examples(40)


@pytest.fixture(autouse=True)
def _silence():
    with warnings.catch_warnings(), mpmath.workdps(50):
        warnings.simplefilter("error")
        yield


MULTI = Multinomial()


@st.composite
def softmax_rows(draw, bound=30.0):
    n, k = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    eta = draw(hnp.arrays(np.float64, (n, k), elements=st.floats(-bound, bound, allow_nan=False)))
    return eta, draw(hnp.arrays(np.int64, n, elements=st.integers(0, k - 1)))


def mp_multinomial(eta, y):
    top = max(eta)
    return top + mpmath.log(sum(mpmath.exp(v - top) for v in eta)) - eta[y]


@quick
@given(softmax_rows())
def test_multinomial_value_slope_and_curvature_against_differences(drawn):
    eta, y = drawn
    value, slope, curvature = MULTI.derivatives(eta, y)
    k, h = eta.shape[1], mp("1e-12")
    for i in range(len(eta)):
        row = [mp(float(v)) for v in eta[i]]

        def f(d, row=row, own=y[i]):
            return mp_multinomial([r + dv for r, dv in zip(row, d)], own)

        unit = [[h if a == b else mp(0) for b in range(k)] for a in range(k)]
        minus = [[-v for v in u] for u in unit]
        assert value[i] == pytest.approx(float(f([mp(0)] * k)), rel=1e-13, abs=1e-300)
        for a in range(k):
            wanted = float((f(unit[a]) - f(minus[a])) / (2 * h))
            assert slope[i, a] == pytest.approx(wanted, rel=1e-11, abs=1e-16)
            for b in range(a + 1):
                both = [p + q for p, q in zip(unit[a], unit[b])]
                mixed = f(both) - f(unit[a]) - f(unit[b]) + f([mp(0)] * k)
                assert curvature[i, a, b] == pytest.approx(float(mixed / h**2), rel=1e-8, abs=1e-10)


@quick
@given(softmax_rows(), st.floats(-100, 100))
def test_multinomial_gauge_and_geometry(drawn, shift):
    """Slopes sum to zero, curvatures annihilate the vector of ones and are positive semi-definite."""
    eta, y = drawn
    value, slope, curvature = MULTI.derivatives(eta, y)
    np.testing.assert_allclose(slope.sum(axis=1), 0, atol=1e-15)
    np.testing.assert_allclose(curvature.sum(axis=2), 0, atol=1e-15)
    assert np.array_equal(curvature, curvature.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(curvature).min() >= -1e-15
    assert np.linalg.eigvalsh(curvature).max() <= 0.5 + 1e-15
    np.testing.assert_allclose(MULTI.value(eta + shift, y), value, rtol=1e-11, atol=1e-12)
    assert (value >= 0).all()


@quick
@given(softmax_rows(), st.randoms(use_true_random=False))
def test_multinomial_follows_a_permutation_of_the_classes(drawn, random):
    eta, y = drawn
    order = list(range(eta.shape[1]))
    random.shuffle(order)
    renamed = np.argsort(order)[y]
    value, slope = MULTI.value_slope(eta, y)
    moved_value, moved_slope = MULTI.value_slope(eta[:, order], renamed)
    np.testing.assert_allclose(moved_value, value, rtol=1e-14)
    np.testing.assert_allclose(moved_slope, slope[:, order], rtol=1e-14, atol=1e-300)


@quick
@given(hnp.arrays(np.float64, (5, 2), elements=st.floats(-300, 300, allow_nan=False)))
def test_two_classes_of_the_multinomial_are_the_logistic_of_the_difference(eta):
    """Digit for digit in both tails: a probability of 1 − 1e-100 keeps its 1e-100."""
    difference = eta[:, 1] - eta[:, 0]
    for y in (0, 1):
        sign = np.full(5, 2.0 * y - 1)
        value, slope, curvature = MULTI.derivatives(eta, np.full(5, y))
        v, s, c = Logistic().derivatives(difference, sign)
        np.testing.assert_allclose(value, v, rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(slope[:, 1], s, rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(slope[:, 0], -s, rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(curvature[:, 0, 0], c, rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(curvature[:, 0, 1], -c, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("size", [1e3, 1e4])
def test_multinomial_is_finite_in_silence_far_out(size):
    eta = size * np.array([[1.0, 0.0, -1.0], [-1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [-1.0, -1.0, -1.0]])
    for y in range(3):
        value, slope, curvature = MULTI.derivatives(eta, np.full(4, y))
        assert np.isfinite(value).all() and np.isfinite(slope).all() and np.isfinite(curvature).all()
        wanted = [float(mp_multinomial([mp(v) for v in row], y)) for row in eta]
        np.testing.assert_allclose(value, wanted, rtol=1e-14, atol=1e-300)


def test_multinomial_call_forms_and_types():
    eta = np.linspace(-2, 2, 12).reshape(4, 3)
    y = np.array([0, 1, 2, 1])
    before = eta.copy()
    value, slope, curvature = MULTI.derivatives(eta, y)
    pair = MULTI.value_slope(eta, y)
    assert np.array_equal(pair[0], value) and np.array_equal(pair[1], slope)
    assert np.array_equal(MULTI.value(eta, y), value) and np.array_equal(MULTI.slope(eta, y), slope)
    assert np.array_equal(MULTI.curvature(eta, y), curvature)
    assert np.array_equal(eta, before)
    single = MULTI.derivatives(eta.astype(np.float32), y)
    assert all(part.dtype == np.float32 for part in single)
    assert MULTI.smooth and MULTI.curved
