"""The loss of every response under every link it takes: derivatives, domains, tails, range factors."""

import warnings
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from separatrix.core.links import link
from separatrix.core.losses import Logistic, Squared
from separatrix.core.responses import (
    Binomial,
    Gamma,
    Gaussian,
    GlmLoss,
    InverseGaussian,
    NegativeBinomial,
    Poisson,
)
from tests.core.response_cases import CASES, MEANS, exact, grid, mp, pairs


@pytest.fixture(autouse=True)
def _silence():
    with warnings.catch_warnings(), mpmath.workdps(60):
        warnings.simplefilter("error")
        yield


# --- the loss of each pair ------------------------------------------------------------------------------------


@pairs
def test_derivatives_of_every_pair(case, name):
    e, y = grid(case, name, case.means)
    want = np.array([[float(v) for v in exact(case, name, a, b)] for a, b in zip(e, y)]).T
    loss = GlmLoss(case.response, link(name))
    value, slope, fisher = loss.derivatives(e, y)
    observed = replace(loss, observed=True).curvature(e, y)
    np.testing.assert_allclose(value, want[0], rtol=2e-11, atol=1e-27)  # y = μ to the last bit
    np.testing.assert_allclose(fisher, want[3], rtol=1e-12)
    # A difference of two parts of this size may be rounded as they are.
    np.testing.assert_allclose(slope, want[1], rtol=1e-12, atol=1e-13 * np.abs(want[1]).max())
    np.testing.assert_allclose(observed, want[2], rtol=1e-11, atol=1e-13 * np.abs(want[2]).max())


@pairs
def test_the_fast_path_and_the_parts_are_the_same(case, name):
    e, y = grid(case, name, case.means)
    loss = GlmLoss(case.response, link(name))
    value, slope, curvature = loss.derivatives(e, y)
    for got, want in zip(loss.value_slope(e, y), (value, slope)):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(loss.value(e, y), value)
    np.testing.assert_array_equal(loss.slope(e, y), slope)
    np.testing.assert_array_equal(loss.curvature(e, y), curvature)
    parts = (value, slope, curvature, e, y)  # a sweep scales each in place: none may be another
    assert not any(np.shares_memory(a, b) for i, a in enumerate(parts) for b in parts[:i])


@pairs
def test_the_expected_curvature_is_the_mean_of_the_observed(case, name):
    """ℓ'' is affine in y, so its expectation is its value at y = μ."""
    e = np.array([float(link(name).eta(m)) for m in case.means])
    mu = link(name).inverse(e)
    loss = GlmLoss(case.response, link(name))
    np.testing.assert_allclose(
        replace(loss, observed=True).curvature(e, mu), loss.curvature(e, mu), rtol=1e-9
    )


@pairs
def test_offset_is_a_shift_of_the_score(case, name):
    e, y = grid(case, name, case.means)
    loss = GlmLoss(case.response, link(name))
    offset = 0.25 * e  # exactly
    for got, want in zip(loss.derivatives(e - offset, np.column_stack([y, offset])), loss.derivatives(e, y)):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13 * np.abs(want).max())


@pairs
def test_canonical_means_that_the_curvature_does_not_depend_on_the_response(case, name):
    loss = GlmLoss(case.response, link(name), observed=True)
    e, y = grid(case, name, case.means)
    seen = loss.curvature(e, y).reshape(len(case.y), -1)
    assert loss.canonical == bool(np.allclose(seen, seen[0], rtol=1e-10))


@pairs
def test_outside_the_domain(case, name):
    loss = GlmLoss(case.response, link(name))
    e = np.array([-2.0, -0.5, 0.5, 2.0, np.nan])
    inside = loss.domain(e)
    low, high = loss.interval
    np.testing.assert_array_equal(inside, (e > low) & (e < high))
    value, slope, curvature = loss.derivatives(e, np.full(5, case.y[-1]))
    assert np.isfinite(value[inside]).all() and np.isfinite(curvature[inside]).all()
    bad = ~inside & ~np.isnan(e)
    assert (value[bad] == np.inf).all() and np.isnan(slope[bad]).all() and np.isnan(curvature[bad]).all()
    assert np.isnan(value[-1]) and np.isnan(slope[-1])


def test_which_domains():
    assert GlmLoss.of("binomial", "identity").interval == (0.0, 1.0)
    assert GlmLoss.of("binomial", "log").interval == (-np.inf, 0.0)
    assert GlmLoss.of("poisson", "identity").interval == (0.0, np.inf)
    assert GlmLoss.of("gaussian", "log").interval == (-np.inf, np.inf)
    assert GlmLoss.of("gamma").interval == (0.0, np.inf)


# --- the tails ------------------------------------------------------------------------------------------------


TAILS = [
    (c, name)
    for c in CASES
    for name in c.response.links
    if (isinstance(c.response, Binomial) and name in ("logit", "probit", "cloglog"))
    or (name == "log" and not isinstance(c.response, (Binomial, Gaussian)))
]


@pytest.mark.parametrize("case, name", TAILS, ids=lambda v: str(v))
def test_extreme_scores(case, name):
    """Right as far as the answer is a number; inf beyond; NaN never, not even at ±inf."""
    e = np.array([-1e3, -745.5, -700.0, -300.0, -38.0, -31.0, 6.4, 31.0, 300.0, 700.0, 745.5, 1e3])
    e, y = (a.ravel() for a in np.meshgrid(e, case.y))
    loss = GlmLoss(case.response, link(name))
    value, slope, fisher = loss.derivatives(e, y)
    observed = replace(loss, observed=True).curvature(e, y)
    for a, b, got in zip(e, y, zip(value, slope, observed, fisher)):
        with mpmath.workdps(500):  # e^{−1000} beside 1
            want = tails(case, name, a, b)
        for part, target in zip(got, want):
            if abs(target) > 1e308:
                assert part == np.inf * int(mpmath.sign(target)), (a, b)
            elif abs(target) < 1e-290:
                assert abs(part) < 1e-289, (a, b)
            else:
                assert part == pytest.approx(float(target), rel=2e-12, abs=0), (a, b)
    ends = np.array([-np.inf, np.inf])
    for b in case.y:
        parts = loss.derivatives(ends, np.full(2, b))
        assert not np.isnan(parts).any()
        assert not np.isnan(replace(loss, observed=True).curvature(ends, np.full(2, b))).any()


def tails(case, name, eta, y):
    """exact() by the chain rule, for no step is right for a numerical derivative there."""
    e, y = mp(eta), mp(y)
    mu, rest = MEANS[name](e)
    x = mpmath.exp(e) if name != "probit" else mp(0)
    first, second = {
        "log": lambda: (mu, mu),
        "logit": lambda: (mu * rest, mu * rest * (rest - mu)),
        "probit": lambda: (mpmath.npdf(e), -e * mpmath.npdf(e)),
        "cloglog": lambda: (x * rest, x * rest * (1 - x)),
    }[name]()
    v = mu * rest if name != "log" else case.variance(mu)
    if name != "log":
        dv = rest - mu
    elif isinstance(case.response, NegativeBinomial):
        dv = 1 + 2 * mu / mp(case.response.size)
    else:
        power = {Poisson: 1, Gamma: 2, InverseGaussian: 3}.get(type(case.response)) or mp(case.response.power)
        dv = power * v / mu
    r = rest - (1 - y) if name != "log" else y - mu
    fisher = first**2 / v
    observed = fisher - r * (second / v - first**2 * dv / v**2)
    return case.half(y, mu, rest), -r * first / v, observed, fisher


def test_a_saturated_logit_keeps_its_digits():
    loss = GlmLoss.of("binomial")
    value, slope, curvature = loss.derivatives(np.array([700.0, 700.0, -700.0]), np.array([1.0, 0.0, 0.5]))
    tiny = np.exp(-700.0)
    np.testing.assert_allclose(value, [tiny, 700.0, 350 - np.log(2)], rtol=1e-14)
    np.testing.assert_allclose(slope, [-tiny, 1.0, -0.5], rtol=1e-14)
    np.testing.assert_allclose(curvature, [tiny, tiny, tiny], rtol=1e-14)


def test_zero_one_and_proportions_agree():
    """The path for 0/1 responses is another one than that for proportions."""
    e = np.array([-700.0, -30.0, -2.0, 0.0, 0.3, 5.0, 6.4])
    for name in ("logit", "probit", "cloglog"):
        for observed in (False, True):
            loss = GlmLoss.of("binomial", name, observed)
            for y in (0.0, 1.0):
                binary = loss.derivatives(e, np.full(len(e), y))
                mixed = loss.derivatives(np.append(e, 0.0), np.append(np.full(len(e), y), 0.5))
                for a, b in zip(binary, mixed):
                    np.testing.assert_allclose(a, b[:-1], rtol=1e-12)


def test_the_losses_already_here():
    rng = np.random.default_rng(0)
    e, y = rng.normal(size=50) * 3, (rng.random(50) < 0.5).astype(float)
    for got, want in zip(GlmLoss.of("bernoulli").derivatives(e, y), Logistic().derivatives(e, 2 * y - 1)):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(GlmLoss.of("normal").derivatives(e, y), Squared().derivatives(e, y)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["binomial", "poisson"])
def test_the_canonical_loss_is_the_log_partition_less_its_natural_term(name):
    """ℓ(η, y) = A(η) − yη + (what does not depend on η), with the Family of the same law."""
    loss, e = GlmLoss.of(name), np.linspace(-4, 4, 9)
    for y in (0.0, 1.0, 0.4):
        plain = loss.response.family.log_partition((e,)) - y * e
        value = loss.value(e, np.full(9, y))
        np.testing.assert_allclose(value - value[4], plain - plain[4], atol=1e-13)


# --- range factor ---------------------------------------------------------------------------------------------


@pairs
def test_range_factor_bounds_the_third_derivative(case, name):
    loss = GlmLoss(case.response, link(name), observed=True)
    c = loss.range_factor
    if np.isnan(c):
        return
    e, y = grid(case, name, case.means)
    for a, b in zip(e, y):
        half = lambda s: case.half(mp(b), *MEANS[name](s))  # noqa: B023, E731
        second, third = (mpmath.diff(half, mp(a), k) for k in (2, 3))
        assert abs(third) <= c * second + mp(1e-30)


@pytest.mark.parametrize(
    "loss, c",
    [
        (GlmLoss.of("gaussian"), 0.0),
        (GlmLoss.of("binomial"), 1.0),
        (GlmLoss.of("poisson"), 1.0),
        (GlmLoss.of("gamma", "log"), 1.0),
        (GlmLoss.of("negative_binomial", size=2.0), 1.0),
        (GlmLoss.of("tweedie", power=1.2), 0.8),
        (GlmLoss.of("tweedie", power=2.2), np.nan),
        (GlmLoss.of("binomial", "probit"), np.nan),
        (GlmLoss.of("gamma"), np.nan),
        (GlmLoss.of("gaussian", "log"), np.nan),
        (GlmLoss.of("inverse_gaussian", "log"), np.nan),
    ],
)
def test_range_factors(loss, c):
    np.testing.assert_equal(loss.range_factor, c)
