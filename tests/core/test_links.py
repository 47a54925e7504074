"""Each link against its formula in 60 digits, in the tails too; laws of inverse functions; statsmodels."""

import warnings
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.core.links import LINKS, Identity, Link, Log, link
from tests.draws import examples

mp = mpmath.mpf
EPS = np.finfo(float).eps


@dataclass(frozen=True)
class Case:
    """A link by name, its mean and 1 − mean in mpmath, and the η at which it is tried."""

    name: str
    mean: Any
    rest: Any
    points: tuple[float, ...]

    @property
    def link(self) -> Link:
        return link(self.name)


POSITIVE = (1e-8, 0.3, 1.0, 2.5, 40.0, 1e6)
UNIT = (-1e3, -700.0, -45.0, -30.5, -29.5, -8.0, -1.0, -1e-3, 0.0, 0.4, 2.0, 5.5)
CASES = [
    Case("identity", lambda e: e, lambda e: 1 - e, (-1e3, -2.0, 0.25, 3.0, 1e3)),
    Case("log", mpmath.exp, lambda e: -mpmath.expm1(e), (-700.0, -3.0, -1e-9, 0.7, 300.0)),
    Case(
        "logit",
        lambda e: 1 / (1 + mpmath.exp(-e)),
        lambda e: 1 / (1 + mpmath.exp(e)),
        (*UNIT, 8.0, 45.0, 700.0),
    ),
    Case("probit", lambda e: mpmath.ncdf(e), lambda e: mpmath.ncdf(-e), (*UNIT, 8.0, 29.5, 30.5, 37.0, 1e3)),
    Case(
        "cloglog",
        lambda e: -mpmath.expm1(-mpmath.exp(e)),
        lambda e: mpmath.exp(-mpmath.exp(e)),
        (*UNIT, 6.4),
    ),
    Case("inverse", lambda e: 1 / e, lambda e: 1 - 1 / e, POSITIVE),
    Case("sqrt", lambda e: e * e, lambda e: 1 - e * e, POSITIVE),
    Case("inverse_squared", lambda e: 1 / mpmath.sqrt(e), lambda e: 1 - 1 / mpmath.sqrt(e), POSITIVE),
]
every = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
unit = pytest.mark.parametrize("name", ["logit", "probit", "cloglog"])
quick = examples(60)


@pytest.fixture(autouse=True)
def _silence():
    with warnings.catch_warnings(), mpmath.workdps(60):
        warnings.simplefilter("error")
        yield


def close(got, want, case, rtol=4e-13):
    want = np.array([float(v) for v in want])
    want[(got == 0) & (np.abs(want) < 1e-65)] = 0  # rounding of the numerical derivative
    normal = np.abs(want) > 1e-300  # below, digits go one by one
    np.testing.assert_allclose(got[normal], want[normal], rtol=rtol, err_msg=case.name)
    np.testing.assert_allclose(got[~normal], want[~normal], rtol=0, atol=1e-300, err_msg=case.name)


def log_of(part, other):
    """log of a part near 1 through the other part."""
    return lambda e: mpmath.log1p(-other(e)) if abs(other(e)) < 0.5 else mpmath.log(part(e))


def test_the_table_is_whole():
    assert [c.name for c in CASES] == list(LINKS)
    assert all(LINKS[name].name == name for name in LINKS)


@every
def test_mean_and_its_derivatives_in_sixty_digits(case):
    eta = np.array(case.points)
    close(case.link.inverse(eta), [case.mean(mp(e)) for e in eta], case)
    for order, got in [(1, case.link.first(eta)), (2, case.link.second(eta))]:
        # Of the part that is small, for the digits of a derivative are those of the function.
        up = case.link.image == (0.0, 1.0)
        want = [
            -mpmath.diff(case.rest, mp(e), order) if up and e > 0 else mpmath.diff(case.mean, mp(e), order)
            for e in eta
        ]
        close(got, want, case)


@every
def test_pieces_are_the_parts(case):
    eta = np.array(case.points)
    mu, rest, slope = case.link.pieces(eta)
    np.testing.assert_allclose(mu, case.link.inverse(eta), rtol=1e-15)
    np.testing.assert_allclose(slope, case.link.first(eta), rtol=1e-15)
    assert not np.shares_memory(mu, eta) and not np.shares_memory(mu, slope)
    if case.link.image == (0.0, 1.0):
        close(rest, [case.rest(mp(e)) for e in eta], case)
        np.testing.assert_allclose(rest, case.link.complement(eta), rtol=1e-15)
    else:
        assert rest is None


@every
def test_logarithms_and_their_derivatives_in_the_tails(case):
    eta = np.array([e for e in case.points if case.mean(mp(e)) > 0])
    log_mean = log_of(case.mean, case.rest)
    u, du = case.link.growth(eta)
    close(case.link.log_mean(eta), [log_mean(mp(e)) for e in eta], case)
    close(u, [mpmath.diff(log_mean, mp(e)) for e in eta], case)
    close(du, [mpmath.diff(log_mean, mp(e), 2) for e in eta], case)
    below = eta[np.array([case.rest(mp(e)) > 0 for e in eta])]
    log_rest = log_of(case.rest, case.mean)
    r, dr = case.link.fall(below)
    # The power links' default complement 1 − μ is as good as its subtraction.
    rtol = 4e-13 if case.name in ("log", "logit", "probit", "cloglog") else 1e-8
    close(case.link.complement(below), [case.rest(mp(e)) for e in below], case, rtol)
    close(case.link.log_complement(below), [log_rest(mp(e)) for e in below], case, rtol)
    close(r, [-mpmath.diff(log_rest, mp(e)) for e in below], case, rtol)
    close(dr, [-mpmath.diff(log_rest, mp(e), 2) for e in below], case, rtol)


@unit
@pytest.mark.parametrize("far", [1e3, 1e8, np.inf])
def test_both_ends(name, far):
    g, eta = link(name), np.array([-far, far])
    np.testing.assert_array_equal(g.inverse(eta), [0, 1])
    np.testing.assert_array_equal(g.complement(eta), [1, 0])
    np.testing.assert_array_equal(g.first(eta), [0, 0])
    np.testing.assert_array_equal(g.second(eta), [0, 0])
    for rate in (*g.growth(eta), *g.fall(eta), g.log_mean(eta), g.log_complement(eta)):
        assert not np.isnan(rate).any()
    assert g.growth(eta)[0][1] == 0 and g.fall(eta)[0][0] == 0
    assert g.log_mean(eta)[1] == 0 and g.log_complement(eta)[0] == 0
    assert g.log_mean(eta)[0] <= -far
    assert g.log_complement(eta)[1] <= -far


def test_limits_of_the_hazard_of_the_normal():
    hazard, slope = link("probit").fall(np.array([1e3, 1e8, 1e200, np.inf]))
    np.testing.assert_allclose(hazard, [1000.000999998, 1e8, 1e200, np.inf], rtol=1e-14)
    np.testing.assert_allclose(slope, [1 - 1e-6, 1, 1, 1], rtol=1e-10)


@pytest.mark.parametrize(
    "name, mu, eta",
    [
        ("log", [0.0, np.inf], [-np.inf, np.inf]),
        ("logit", [0.0, 0.5, 1.0], [-np.inf, 0.0, np.inf]),
        ("probit", [0.0, 0.5, 1.0], [-np.inf, 0.0, np.inf]),
        ("cloglog", [0.0, 1.0], [-np.inf, np.inf]),
        ("inverse", [np.inf, 4.0], [0.0, 0.25]),
        ("sqrt", [0.0, 9.0, np.inf], [0.0, 3.0, np.inf]),
        ("inverse_squared", [np.inf, 0.5], [0.0, 4.0]),
        ("identity", [-np.inf, np.inf], [-np.inf, np.inf]),
    ],
)
def test_ends_go_there_and_back(name, mu, eta):
    np.testing.assert_array_equal(link(name).eta(mu), eta)
    np.testing.assert_array_equal(link(name).inverse(eta), mu)


@every
@quick
@given(data=st.data())
def test_round_trip_from_the_score(case, data):
    low, high = case.link.interval()
    eta = data.draw(
        st.floats(max(low, -25.0), min(high, 25.0), exclude_min=low == 0).filter(lambda e: abs(e) > 1e-6)
    )
    mu, _, slope = case.link.pieces(eta)
    if mu < 1 or case.link.image[1] > 1:  # 1 − 2⁻⁵³ is the last mean below 1
        room = EPS * (abs(eta) + (1 + abs(eta)) * abs(mu / slope))  # what rounding η and μ once each may do
        assert abs(case.link.eta(mu) - eta) <= 8 * room


@every
@quick
@given(data=st.data())
def test_round_trip_from_the_mean(case, data):
    low, high = case.link.image
    mu = data.draw(st.floats(max(low, -1e6), min(high, 1e6), exclude_min=low == 0, exclude_max=high == 1))
    mu = np.float64(mu if abs(mu) > 1e-100 else 0.25)
    eta = case.link.eta(mu)
    assert case.link.domain(eta)
    back, _, slope = case.link.pieces(eta)
    assert abs(back - mu) <= 16 * EPS * (abs(mu) + abs(slope * eta))


@every
@quick
@given(data=st.data())
def test_links_are_monotone_with_the_sign_of_their_slope(case, data):
    low, _ = case.link.interval()
    ends = st.floats(max(low + 1e-3, -30.0), 30.0)
    a, b = sorted([data.draw(ends), data.draw(ends)])
    slope = case.link.first(a)
    gain = case.link.inverse(b) - case.link.inverse(a)
    assert gain * np.sign(slope) >= 0


@quick
@given(eta=st.floats(-800, 800))
def test_symmetric_links_swap_their_tails(eta):
    for name in ("logit", "probit"):
        g = link(name)
        assert g.inverse(-eta) == g.complement(eta)
        assert g.log_mean(-eta) == g.log_complement(eta)
        assert g.growth(-eta)[0] == g.fall(eta)[0] and g.growth(-eta)[1] == -g.fall(eta)[1]


@every
def test_agrees_with_statsmodels(case):
    sm = pytest.importorskip("statsmodels.genmod.families.links")
    names = {"cloglog": "CLogLog", "inverse": "InversePower", "inverse_squared": "InverseSquared"}
    with np.errstate(all="ignore"):
        other = getattr(sm, names.get(case.name, case.name.title()))()
        mu = np.linspace(0.02, 0.98, 25)
        eta = case.link.eta(mu)
        np.testing.assert_allclose(eta, other(mu), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(case.link.inverse(eta), other.inverse(eta), rtol=1e-12)
        np.testing.assert_allclose(case.link.first(eta), other.inverse_deriv(eta), rtol=1e-12)
        np.testing.assert_allclose(1 / case.link.first(eta), other.deriv(mu), rtol=1e-12)
        if case.name == "cloglog":  # statsmodels differentiates this one numerically
            return
        np.testing.assert_allclose(case.link.second(eta), other.inverse_deriv2(eta), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["inverse", "sqrt", "inverse_squared"])
def test_domain_of_the_power_links(name):
    eta = [-np.inf, -1.0, -0.0, 0.0, 1e-300, 1.0, np.inf, np.nan]
    np.testing.assert_array_equal(link(name).domain(eta), [0, 0, 0, 0, 1, 1, 1, 0])


@pytest.mark.parametrize("name", ["identity", "log", "logit", "probit", "cloglog"])
def test_domain_of_the_others_is_the_line(name):
    np.testing.assert_array_equal(link(name).domain([-np.inf, -1e3, 0.0, np.inf, np.nan]), [1, 1, 1, 1, 0])
    assert link(name).interval() == (-np.inf, np.inf)


@pytest.mark.parametrize(
    "name, low, high, interval",
    [
        ("identity", 0.0, 1.0, (0.0, 1.0)),
        ("identity", 0.0, np.inf, (0.0, np.inf)),
        ("log", 0.0, 1.0, (-np.inf, 0.0)),
        ("logit", 0.0, 1.0, (-np.inf, np.inf)),
        ("inverse", 0.0, 1.0, (1.0, np.inf)),
        ("sqrt", 0.0, 1.0, (0.0, 1.0)),
        ("inverse_squared", 0.0, 0.5, (4.0, np.inf)),
    ],
)
def test_interval_of_means(name, low, high, interval):
    assert link(name).interval(low, high) == interval
    inside = np.mean(np.clip(interval, -9, 9))
    assert link(name).domain(inside, low, high)


@every
def test_shapes_types_and_missing_values(case):
    for shape in [(), (0,), (3,), (2, 3)]:
        eta = np.full(shape, 0.5)
        for part in (case.link.inverse, case.link.first, case.link.second, case.link.log_mean):
            assert part(eta).shape == shape
        assert case.link.growth(eta)[1].shape == case.link.domain(eta).shape == shape
    single = np.array([0.5, 0.7], dtype=np.float32)
    results = [case.link.inverse(single), case.link.second(single), case.link.eta(single)]
    results += [*case.link.growth(single), *case.link.fall(single), case.link.log_complement(single)]
    assert {r.dtype for r in results} == {np.dtype(np.float32)}
    assert case.link.inverse([1, 2]).dtype == np.float64
    assert np.isnan(case.link.inverse(np.nan)) and np.isnan(case.link.growth(np.nan)[0]) != (
        case.name == "log"
    )


def test_defaults_serve_a_link_of_ones_own():
    @dataclass(frozen=True)
    class Cauchit(Link):
        name = "cauchit"
        image = (0.0, 1.0)

        def _eta(self, mu):
            return np.tan(np.pi * (mu - 0.5))

        def _mean(self, eta):
            return 0.5 + np.arctan(eta) / np.pi

        def _first(self, eta):
            return 1 / (np.pi * (1 + eta * eta))

        def _second(self, eta):
            return -2 * eta / (np.pi * (1 + eta * eta) ** 2)

    eta, h = np.array([-1.5, 0.2, 2.0]), 1e-5
    g = link(Cauchit())
    for log_part, (rate, bend), sign in [(g.log_mean, g.growth(eta), 1), (g.log_complement, g.fall(eta), -1)]:
        slope = sign * (log_part(eta + h) - log_part(eta - h)) / (2 * h)
        np.testing.assert_allclose(rate, slope, rtol=1e-8)
    np.testing.assert_allclose(bend, (g.fall(eta + h)[0] - g.fall(eta - h)[0]) / (2 * h), rtol=1e-8)


def test_resolver():
    assert link("LOG") is link(" log ") is LINKS["log"]
    assert link(Identity()) == LINKS["identity"]
    assert link("1/mu^2").name == "inverse_squared" and link("inverse-power").name == "inverse"
    with pytest.raises(
        ValueError, match="unknown link 'cauchy': give one of identity, log, logit, probit, cloglog"
    ):
        link("cauchy")


def test_links_are_values():
    assert Log() == Log() and hash(Log()) == hash(Log()) and Log() != Identity()
    with pytest.raises(FrozenInstanceError):
        Log().anything = 1
