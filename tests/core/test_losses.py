"""Laws every loss must pass, whatever its formula; then each formula in 50-digit arithmetic."""

import warnings
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from separatrix.core.losses import (
    Hinge,
    Logistic,
    Loss,
    Multinomial,
    Perceptron,
    Squared,
    SquaredHinge,
)
from tests.draws import examples
from tests.losses import EpsilonInsensitive, Exponential

mp = mpmath.mpf


@pytest.fixture(autouse=True)
def _silence():
    with warnings.catch_warnings(), mpmath.workdps(50):
        warnings.simplefilter("error")
        yield


@dataclass(frozen=True)
class Case:
    """A loss of one score, its formula in mpmath, and its corners."""

    loss: Loss
    formula: Any
    corners: Any = lambda y: ()


CASES = {
    "logistic": Case(Logistic(), lambda e, y: mpmath.log1p(mpmath.exp(-y * e))),
    "squared": Case(Squared(), lambda e, y: (e - y) ** 2 / 2),
    "hinge": Case(Hinge(), lambda e, y: max(mp(0), 1 - y * e), lambda y: (y,)),
    "perceptron": Case(Perceptron(), lambda e, y: max(mp(0), -y * e), lambda y: (0.0,)),
    "squared hinge": Case(
        SquaredHinge(),
        lambda e, y: max(mp(0), 1 - y * e) ** 2,
        lambda y: (y,),
    ),
    "exponential": Case(
        Exponential(),
        lambda e, y: mpmath.exp(-y * e),
    ),
    "epsilon insensitive": Case(
        EpsilonInsensitive(0.25),
        lambda e, y: max(mp(0), abs(e - y) - mp(0.25)),
        lambda y: (y - 0.25, y + 0.25),
    ),
}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
signs = pytest.mark.parametrize(
    "case",
    [c for c in CASES.values() if c.loss.target == "sign"],
    ids=[n for n, c in CASES.items() if c.loss.target == "sign"],
)
quick = examples(40)
scores = st.floats(-30, 30, allow_nan=False).map(lambda v: round(v, 6))
targets = st.sampled_from([-1.0, 1.0])
real_targets = st.floats(-5, 5, allow_nan=False).map(lambda v: round(v, 6))


def draw_target(data, loss):
    return data.draw(targets if loss.target == "sign" else real_targets)


def one(function, eta, y):
    """A loss's answer for one row as a number."""
    return float(function(np.array([eta]), np.array([y]))[0])


def differences(case, eta, y):
    """First and second central differences of the formula; exact to far below a float's rounding."""
    e, y, h = mp(float(eta)), mp(float(y)), mp("1e-15")
    low, mid, high = (case.formula(v, y) for v in (e - h, e, e + h))
    return float((high - low) / (2 * h)), float((high - 2 * mid + low) / h**2)


def away_from_corners(case, eta, y):
    return all(abs(eta - c) > 1e-9 for c in case.corners(y))


# ---- every loss: derivatives ----


@every
@quick
@given(data=st.data(), eta=scores)
def test_value_is_the_formula(case, data, eta):
    y = draw_target(data, case.loss)
    assert one(case.loss.value, eta, y) == pytest.approx(
        float(case.formula(mp(eta), mp(y))), rel=1e-14, abs=1e-300
    )


@every
@quick
@given(data=st.data(), eta=scores)
def test_slope_and_curvature_are_the_differences_of_the_formula(case, data, eta):
    y = draw_target(data, case.loss)
    assume(away_from_corners(case, eta, y))
    slope, curvature = differences(case, eta, y)
    assert one(case.loss.slope, eta, y) == pytest.approx(slope, rel=1e-12, abs=1e-14)
    assert one(case.loss.curvature, eta, y) == pytest.approx(curvature, rel=1e-12, abs=1e-14)


@every
def test_slope_at_a_corner_is_a_subgradient(case):
    for y in (-1.0, 1.0):
        for corner in case.corners(y):
            left, _ = differences(case, corner - 1e-6, y)
            right, _ = differences(case, corner + 1e-6, y)
            assert min(left, right) <= one(case.loss.slope, corner, y) <= max(left, right)


@every
@quick
@given(data=st.data(), a=scores, b=scores)
def test_convex_and_above_every_tangent(case, data, a, b):
    y = draw_target(data, case.loss)
    va, sa, vb = one(case.loss.value, a, y), one(case.loss.slope, a, y), one(case.loss.value, b, y)
    size = abs(va) + abs(sa * (b - a)) + abs(vb)
    assert vb >= va + sa * (b - a) - 1e-13 * size
    for t in (0.25, 0.5):
        assert one(case.loss.value, t * a + (1 - t) * b, y) <= t * va + (1 - t) * vb + 1e-13 * size


@every
@quick
@given(data=st.data(), a=scores, b=scores)
def test_slope_increases_and_curvature_is_not_negative(case, data, a, b):
    y = draw_target(data, case.loss)
    low, high = sorted((a, b))
    assert one(case.loss.slope, low, y) <= one(case.loss.slope, high, y)
    assert one(case.loss.curvature, a, y) >= 0
    assert one(case.loss.value, a, y) >= 0


# ---- every loss: extremes, symmetry, types ----


@every
@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("size", [1e3, 1e4])
def test_far_scores_are_finite_in_silence_and_right(case, y, size):
    for eta in (-size, size):
        answers = [float(v[0]) for v in case.loss.derivatives(np.array([eta]), np.array([y]))]
        if case.loss.name == "exponential" and y * eta < 0:
            assert answers == [np.inf, -y * np.inf, np.inf]  # e^{1e3} is no float; said without a warning
            continue
        assert np.isfinite(answers).all()
        slope, curvature = differences(case, eta, y)
        value = float(case.formula(mp(eta), mp(y)))
        assert answers == pytest.approx([value, slope, curvature], rel=1e-13, abs=1e-300)


@signs
@quick
@given(data=st.data(), eta=scores)
def test_a_sign_loss_depends_on_the_margin_alone(case, data, eta):
    y = data.draw(targets)
    value, slope, curvature = (
        one(f, eta, y) for f in (case.loss.value, case.loss.slope, case.loss.curvature)
    )
    assert one(case.loss.value, -eta, -y) == value
    assert one(case.loss.slope, -eta, -y) == -slope
    assert one(case.loss.curvature, -eta, -y) == curvature


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(0.5)], ids=lambda v: v.name)
@quick
@given(eta=st.integers(-20, 20), y=st.integers(-5, 5), shift=st.integers(-20, 20))
def test_a_real_loss_depends_on_the_residual_alone(loss, eta, y, shift):
    eta, y, shift = float(eta), float(y), float(shift)
    here = [one(f, eta, y) for f in (loss.value, loss.slope, loss.curvature)]
    assert [one(f, eta + shift, y + shift) for f in (loss.value, loss.slope, loss.curvature)] == here


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_call_gives_what_the_parts_give_and_writes_to_nothing(case, dtype):
    eta = np.linspace(-4, 4, 33).astype(dtype)
    y = np.where(np.arange(33) % 2, 1.0, -1.0).astype(dtype)
    before = eta.copy(), y.copy()
    value, slope, curvature = case.loss.derivatives(eta, y)
    pair = case.loss.value_slope(eta, y)
    assert np.array_equal(pair[0], value) and np.array_equal(pair[1], slope)
    assert np.array_equal(case.loss.value(eta, y), value)
    assert np.array_equal(case.loss.slope(eta, y), slope)
    assert np.array_equal(case.loss.curvature(eta, y), curvature)
    assert value.dtype == slope.dtype == curvature.dtype == dtype
    assert value.shape == slope.shape == curvature.shape == (33,)
    assert np.array_equal(eta, before[0]) and np.array_equal(y, before[1])


@every
def test_answers_may_be_overwritten_by_the_caller(case):
    """A sweep scales value, slope and curvature in place: they must not share memory."""
    eta, y = np.linspace(-2, 2, 9), np.ones(9)
    parts = case.loss.derivatives(eta, y)
    for i, part in enumerate(parts):
        others = [p.copy() for p in parts[i + 1 :]]
        part *= 3.0
        assert all(np.array_equal(a, b) for a, b in zip(parts[i + 1 :], others))


@every
def test_no_rows_are_no_trouble(case):
    empty = np.empty(0)
    assert [v.shape for v in case.loss.derivatives(empty, empty)] == [(0,)] * 3


# ---- what a loss declares ----


@every
def test_curved_means_a_curvature_somewhere(case):
    eta = np.linspace(-3, 3, 61)
    curvature = case.loss.curvature(eta, np.ones_like(eta))
    assert bool((curvature > 0).any()) == case.loss.curved


LIPSCHITZ = {"logistic": 0.25, "squared": 1.0, "squared_hinge": 2.0}


@every
@quick
@given(data=st.data(), a=scores, b=scores)
def test_smooth_means_a_lipschitz_slope(case, data, a, b):
    if not case.loss.smooth:
        assert case.loss.name not in LIPSCHITZ
        return
    y = draw_target(data, case.loss)
    bound = LIPSCHITZ[case.loss.name]
    assert abs(one(case.loss.slope, a, y) - one(case.loss.slope, b, y)) <= bound * abs(a - b) + 1e-13
    assert one(case.loss.curvature, a, y) <= bound


@every
def test_not_smooth_means_no_lipschitz_constant(case):
    if case.loss.smooth:
        return
    if case.corners(1.0):
        a, b = case.corners(1.0)[-1] - 1e-9, case.corners(1.0)[-1] + 1e-9
    else:
        a, b = -40.0, -39.0  # the exponential's slope grows without bound
    steepness = (one(case.loss.slope, b, 1.0) - one(case.loss.slope, a, 1.0)) / (b - a)
    assert steepness > 1e6


def test_names_targets_and_frozenness():
    names = [c.loss.name for c in CASES.values()] + [Multinomial().name]
    assert len(set(names)) == len(names)
    assert {c.loss.target for c in CASES.values()} == {"sign", "real"}
    assert Multinomial().target == "class"
    with pytest.raises(FrozenInstanceError):
        EpsilonInsensitive(0.5).epsilon = 1.0
    assert EpsilonInsensitive(0.5) == EpsilonInsensitive(0.5) != EpsilonInsensitive(0.1)


def test_an_unfinished_loss_says_what_it_lacks():
    class Bare(Loss):
        name, target = "bare", "sign"

    with pytest.raises(NotImplementedError, match="Bare must define derivatives"):
        Bare().value(np.zeros(1), np.ones(1))


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("scale", [0.1, 3.0, 60.0])
def test_class_derivatives_say_the_same_in_less(k, scale):
    rng = np.random.default_rng(k)
    eta, y = scale * rng.normal(size=(50, k)), rng.integers(0, k, 50)
    loss = Multinomial()
    value, slope, curvature = loss.derivatives(eta, y)
    v, s, p = loss.class_derivatives(eta, y)
    np.testing.assert_array_equal(v, value)
    np.testing.assert_array_equal(s, slope)
    whole = p if p.ndim == 3 else np.einsum("ik,kl->ikl", p, np.eye(k)) - p[:, :, None] * p[:, None, :]
    np.testing.assert_allclose(whole, curvature, atol=1e-15)


def test_rows_that_are_sure_keep_the_digits_of_their_curvature():
    eta = np.array([[40.0, 0.0, 0.0], [35.0, 1.0, 0.0]])
    curvature = Multinomial().class_derivatives(eta, np.array([0, 0]))[2]
    assert curvature.shape == (2, 3, 3) and (curvature[:, 0, 0] > 0).all()
