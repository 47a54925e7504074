"""Every response under every link it takes against its formula in 60 digits; then likelihoods, R and statsmodels."""

import copy
import pickle
import warnings
from dataclasses import dataclass, replace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from separatrix.core import families
from separatrix.core.links import LINKS, Link, link
from separatrix.core.responses import (
    RESPONSES,
    Binomial,
    Gamma,
    Gaussian,
    GlmLoss,
    InverseGaussian,
    NegativeBinomial,
    Poisson,
    Tweedie,
    response,
)
from separatrix.core.responses.deviance import divergence
from tests.core.response_cases import every, likely, mp, pairs, quick, xlog


@pytest.fixture(autouse=True)
def _silence():
    with warnings.catch_warnings(), mpmath.workdps(60):
        warnings.simplefilter("error")
        yield


# --- variance and deviance ------------------------------------------------------------------------------------


@every
def test_variance_and_deviance_as_printed(case):
    m, y = (a.ravel() for a in np.meshgrid(case.means, case.y))
    np.testing.assert_allclose(
        case.response.variance(m), [float(case.variance(mp(v))) for v in m], rtol=1e-14
    )
    want = [float(2 * case.half(mp(a), mp(b), 1 - mp(b))) for a, b in zip(y, m)]
    np.testing.assert_allclose(case.response.unit_deviance(y, m), want, rtol=2e-13, atol=1e-50)


@every
@pytest.mark.parametrize("gap", [0.3, 0.11, 0.049, 1e-2, 1e-4, 1e-7, 1e-11, 1e-15])
def test_deviance_keeps_its_digits_near_the_mean(case, gap):
    for y in (v for v in case.y if 0 < abs(v) < 1 or v > 1):
        for sign in (-1, 1):
            mu = np.float64(y * (1 + sign * gap))
            want = float(2 * case.half(mp(y), mp(mu), 1 - mp(mu)))
            assert case.response.unit_deviance(y, mu) == pytest.approx(want, rel=2e-12, abs=0)


@every
def test_deviance_is_zero_at_the_response_and_nowhere_below(case):
    y = np.array([v for v in case.y if v != 0])
    np.testing.assert_array_equal(case.response.unit_deviance(y, y), 0.0)
    near = y * (1 + np.array([-1, 0, 1])[:, None] * 2.0**-52)
    assert (case.response.unit_deviance(y, np.minimum(near, 1.0) if case.means[-1] < 1 else near) >= 0).all()


@every
@quick
@given(data=st.data())
def test_deviance_is_not_negative_and_grows_away_from_the_response(case, data):
    low, high = case.response.mean_range
    means = st.floats(max(low, -1e3), min(high, 1e3), exclude_min=True, exclude_max=True)
    means = means.filter(lambda v: abs(v) > 1e-12)
    y = data.draw(st.sampled_from(case.y))
    near, away = sorted([data.draw(means), data.draw(means)], key=lambda m: abs(m - y))
    if (near - y) * (away - y) > 0 and np.isfinite(case.response.unit_deviance(y, away)):
        d = case.response.unit_deviance(y, np.array([near, away]))
        assert 0 <= d[0] <= d[1] * (1 + 1e-11)


def test_deviance_at_the_ends_of_the_support():
    b = Binomial()
    np.testing.assert_array_equal(b.unit_deviance([0.0, 1.0], [0.0, 1.0]), 0.0)
    np.testing.assert_array_equal(b.unit_deviance([0.0, 1.0, 0.5], [1.0, 0.0, 0.0]), np.inf)
    np.testing.assert_allclose(b.unit_deviance([0.0, 1.0], 0.25), [-2 * np.log(0.75), -2 * np.log(0.25)])
    np.testing.assert_allclose(b.unit_deviance(1.0, 1.0, complement=1e-30), 2e-30)
    np.testing.assert_array_equal(
        Poisson().unit_deviance([0.0, 0.0, 1.0], [0.0, 3.0, 0.0]), [0.0, 6.0, np.inf]
    )
    np.testing.assert_allclose(NegativeBinomial(2.0).unit_deviance(0.0, 3.0), 4 * np.log(2.5))
    np.testing.assert_allclose(Tweedie(1.5).unit_deviance(0.0, 4.0), 8.0)
    assert np.isnan(Poisson().unit_deviance(np.nan, 1.0))


@every
def test_deviance_in_any_layout(case):
    y = np.array([v for v in case.y if v != 0])[:, None]
    mu = y * (1 + np.array([[-0.5, -1e-6, 0.0, 1e-6, 0.05]]))
    mu = np.minimum(mu, 1.0) if case.response.mean_range[1] == 1 else mu
    cells = [[case.response.unit_deviance(a, b) for b in row] for a, row in zip(y[:, 0], mu)]
    for layout in (mu, np.asfortranarray(mu), mu[::-1][::-1]):
        np.testing.assert_array_equal(case.response.unit_deviance(y, layout), cells)


def test_variance_of_a_complement():
    assert Binomial().variance(1.0, complement=1e-30) == 1e-30
    assert Poisson().variance(2.0, complement=-1.0) == 2.0


@pytest.mark.parametrize("name", ["gaussian", "binomial", "poisson", "gamma"])
def test_variance_is_that_of_the_family(name):
    r, mu = response(name), np.array([0.1, 0.5, 0.9])
    phi, parameters = {
        "gaussian": (2.5, {"mean": mu, "variance": np.full(3, 2.5)}),
        "binomial": (1.0, {"probability": mu}),
        "poisson": (1.0, {"rate": mu}),
        "gamma": (0.25, {"shape": np.full(3, 4.0), "rate": 4.0 / mu}),
    }[name]
    covariance = r.family.covariance(r.family.natural(parameters))
    place = 1 if name == "gamma" else 0  # T = (log x, x)
    np.testing.assert_allclose(phi * r.variance(mu), covariance[:, place, place], rtol=1e-13)
    y = np.array([1.0, 0.0, 1.0]) if name != "gamma" else np.array([0.3, 1.0, 2.0])
    want = r.family.log_density(y, parameters)
    np.testing.assert_allclose(r.log_likelihood(y, mu, dispersion=phi), want, rtol=1e-13)


def test_only_these_have_a_family():
    assert {n for n, kind in RESPONSES.items() if kind.family} == {"gaussian", "binomial", "poisson", "gamma"}


@quick
@given(x=st.floats(0, 1e6), m=st.floats(1e-6, 1e6))
def test_divergence(x, m):
    got = divergence(*(np.array([v]) for v in (x, m, x - m, np.log(m))))[0]
    want = xlog(mp(x), mp(x) / mp(m)) - mp(x) + mp(m)
    assert got >= 0
    assert got == pytest.approx(float(want), rel=1e-12, abs=1e-15 * (x - m) ** 2 / (x + m))


# --- likelihoods ----------------------------------------------------------------------------------------------


@likely
def test_deviance_is_twice_what_the_likelihood_lacks(case):
    m, y = (a.ravel() for a in np.meshgrid(case.means, case.y))
    phi = 1.0 if case.response.known_dispersion else 0.4
    lacks = case.response.log_likelihood(y, y, 3.0, phi) - case.response.log_likelihood(y, m, 3.0, phi)
    np.testing.assert_allclose(2 * phi * lacks / 3, case.response.unit_deviance(y, m), rtol=1e-11, atol=1e-12)


SCIPY = [
    (Gaussian(), lambda y, m, phi: stats.norm.logpdf(y, m, np.sqrt(phi)), [-2.0, 0.0, 3.5]),
    (Binomial(), lambda y, m, _: stats.bernoulli.logpmf(y.astype(int), m), [0.0, 1.0]),
    (Poisson(), lambda y, m, _: stats.poisson.logpmf(y, m), [0.0, 1.0, 4.0, 40.0]),
    (Gamma(), lambda y, m, phi: stats.gamma.logpdf(y, 1 / phi, scale=m * phi), [0.1, 1.0, 8.0]),
    (InverseGaussian(), lambda y, m, phi: stats.invgauss.logpdf(y, m * phi, scale=1 / phi), [0.1, 1.0, 8.0]),
    (
        NegativeBinomial(1.7),
        lambda y, m, _: stats.nbinom.logpmf(y, 1.7, 1.7 / (1.7 + m)),
        [0.0, 1.0, 4.0, 40.0],
    ),
]


@pytest.mark.parametrize("r, reference, ys", SCIPY, ids=lambda v: getattr(v, "name", ""))
@pytest.mark.parametrize("phi", [0.05, 1.0, 3.0])
def test_likelihood_agrees_with_scipy(r, reference, ys, phi):
    m, y = (a.ravel() for a in np.meshgrid([0.02, 0.5, 0.9], ys))
    with np.errstate(all="ignore"):
        want = reference(y, m, phi)
    np.testing.assert_allclose(r.log_likelihood(y, m, dispersion=phi), want, rtol=1e-12, atol=1e-12)


def test_proportions_are_trials():
    trials, wins = np.array([1, 5, 40, 1000, 0]), np.array([1, 2, 13, 999, 0])
    y = wins / np.maximum(trials, 1)
    want = stats.binom.logpmf(wins, trials, 0.3)
    np.testing.assert_allclose(Binomial().log_likelihood(y, 0.3, trials), want, rtol=1e-11)
    np.testing.assert_allclose(Binomial().log_likelihood([1.0, 0.0], 0.3, 0.5), 0.5 * np.log([0.3, 0.7]))


@likely
def test_weight_zero_is_absence_and_two_is_twice(case):
    """For the binomial two trials are not two rows, and for the Gaussian a weight is a precision."""
    y = np.array(case.y)
    mu = np.full(len(y), case.means[1])
    np.testing.assert_array_equal(case.response.log_likelihood(y, mu, 0.0), 0.0)
    once, twice = (case.response.log_likelihood(y, mu, w) for w in (1.0, 2.0))
    if isinstance(case.response, Gaussian):
        np.testing.assert_allclose(twice, stats.norm.logpdf(y, mu, np.sqrt(0.5)))
    elif not isinstance(case.response, Binomial):
        np.testing.assert_allclose(twice, 2 * once)


@likely
def test_outside_the_support_nothing_is_likely(case):
    if not isinstance(case.response, Gaussian):
        assert case.response.log_likelihood(-1.0, 0.5) == -np.inf
    assert np.isnan(case.response.log_likelihood(np.nan, 0.5))


def test_tweedie_has_no_likelihood():
    with pytest.raises(NotImplementedError, match=r"power 1\.5 has no closed form, so there is no AIC"):
        Tweedie(1.5).log_likelihood(1.0, 1.0)


R_SCRIPT = """
library(MASS)
y  <- c(0.4, 1.5, 2, 7, 3.25); mu <- c(0.5, 1.25, 2.5, 5, 4); w <- c(1, 2, 0.5, 3, 1.5)
k  <- c(0, 1, 2, 7, 30); m <- c(0.5, 1.25, 2.5, 5, 25)
p  <- c(0, 0.25, 0.5, 1, 0.6); q <- c(0.1, 0.3, 0.5, 0.9, 0.7); n <- c(3, 4, 10, 2, 25)
show <- function(f, y, mu, w) cat(sprintf("%s %.15g %.15g\\n", f$family, sum(f$dev.resids(y, mu, w)),
  (f$family %in% c("gaussian", "Gamma", "inverse.gaussian")) -
    f$aic(y, rep(1, length(y)), mu, w, sum(f$dev.resids(y, mu, w))) / 2))
show(gaussian(), y, mu, w); show(Gamma(), y, mu, w); show(inverse.gaussian(), y, mu, w)
show(poisson(), k, m, w); show(negative.binomial(1.7), k, m, w); show(binomial(), p, q, n)
"""  # R 4, MASS; deviance and logLik
R_SAYS = [
    (Gaussian(), 13.10375, -8.75130530851159),
    (Gamma(), 0.581729101374267, -8.76213540415252),
    (InverseGaussian(), 0.248130723443223, -9.22893287923679),
    (Poisson(), 4.7019127416616, -14.6492260820337),
    (NegativeBinomial(1.7), 1.54422937201469, -18.6048848859942),
    (Binomial(), 2.23204032612993, -5.20647950767564),
]


@pytest.mark.parametrize("r, deviance, likelihood", R_SAYS, ids=lambda v: getattr(v, "name", ""))
def test_agrees_with_R(r, deviance, likelihood):
    w = np.array([1, 2, 0.5, 3, 1.5])
    if isinstance(r, Binomial):
        y, mu, w = [0, 0.25, 0.5, 1, 0.6], [0.1, 0.3, 0.5, 0.9, 0.7], np.array([3, 4, 10, 2, 25])
    elif r.known_dispersion:
        y, mu = [0, 1, 2, 7, 30], [0.5, 1.25, 2.5, 5, 25]
    else:
        y, mu = [0.4, 1.5, 2, 7, 3.25], [0.5, 1.25, 2.5, 5, 4]
    found = float((w * r.unit_deviance(y, mu)).sum())
    assert found == pytest.approx(deviance, rel=1e-13)
    phi = r.likelihood_dispersion(found, w)
    assert r.log_likelihood(y, mu, w, phi).sum() == pytest.approx(likelihood, rel=1e-13)


@every
def test_agrees_with_statsmodels(case):
    sm = pytest.importorskip("statsmodels.genmod.families.family")
    r = case.response
    with np.errstate(all="ignore"):
        if isinstance(r, NegativeBinomial):
            other = sm.NegativeBinomial(alpha=1 / r.size)
        elif isinstance(r, Tweedie):
            other = sm.Tweedie(var_power=r.power)
        else:
            other = getattr(sm, type(r).__name__)()
        m, y = (a.ravel() for a in np.meshgrid(case.means, case.y))
        np.testing.assert_allclose(r.variance(m), other.variance(m), rtol=1e-12)
        theirs = other.resid_dev(y, m) ** 2
        # They subtract the terms, as large as this, of which a small deviance is the difference.
        size = np.maximum(np.maximum(np.abs(y), m), 1.0) * (1 + np.abs(np.log(m)))
        ours = r.unit_deviance(y, m)
        assert (np.abs(ours - theirs) <= 1e-12 * np.abs(theirs) + 1e-13 * size).all()
        if isinstance(r, Tweedie):
            return
        phi = 1.0 if r.known_dispersion else 0.3
        likelihood = other.loglike_obs(y, m, scale=phi)
        np.testing.assert_allclose(r.log_likelihood(y, m, 1.0, phi), likelihood, rtol=1e-12, atol=1e-12)


# --- support, starts, names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "r, mask",
    [  # −∞, −1, 0, ½, 1, 2, ∞, NaN
        (Gaussian(), [1, 0, 0, 0, 0, 0, 1, 0]),
        (Binomial(), [1, 1, 0, 0, 0, 1, 1, 0]),
        (Poisson(), [1, 1, 0, 0, 0, 0, 1, 0]),
        (NegativeBinomial(1.0), [1, 1, 0, 0, 0, 0, 1, 0]),
        (Gamma(), [1, 1, 1, 0, 0, 0, 1, 0]),
        (InverseGaussian(), [1, 1, 1, 0, 0, 0, 1, 0]),
        (Tweedie(1.5), [1, 1, 0, 0, 0, 0, 1, 0]),
        (Tweedie(2.5), [1, 1, 1, 0, 0, 0, 1, 0]),
    ],
    ids=str,
)
def test_support(r, mask):
    y = np.array([-np.inf, -1, 0, 0.5, 1, 2, np.inf, np.nan])
    np.testing.assert_array_equal(r.outside(y), np.array(mask, dtype=bool))
    assert r.support.startswith("a ")
    assert r.outside([1, 1]).shape == (2,)


@every
def test_start_is_a_mean_every_link_takes(case):
    y = np.array(case.y)
    mu = case.response.start(y, np.full(len(y), 2.0))
    assert mu.shape == y.shape
    low, high = case.response.mean_range
    assert ((mu > low) & (mu < high)).all()
    if not isinstance(case.response, Gaussian):
        for name in case.response.links:
            assert np.isfinite(link(name).eta(mu)).all()


def test_starts_of_R():
    np.testing.assert_allclose(Binomial().start([0.0, 1.0, 0.5], [1.0, 1.0, 10.0]), [0.25, 0.75, 0.5])
    np.testing.assert_allclose(Poisson().start([0.0, 3.0]), [0.1, 3.1])
    np.testing.assert_allclose(NegativeBinomial(1.0).start([0.0, 3.0]), [1 / 6, 3.0])
    np.testing.assert_allclose(Gamma().start([0.5, 3.0]), [0.5, 3.0])


@every
def test_what_a_response_declares(case):
    r = case.response
    assert r.name in RESPONSES and r.default_link in r.links and set(r.links) <= set(LINKS)
    assert r.canonical is None or r.canonical in r.links
    known = isinstance(r, (Binomial, Poisson, NegativeBinomial))
    assert r.known_dispersion is known
    assert r.likelihood_dispersion(6.0, np.ones(3)) == (1.0 if known else 2.0)
    assert copy.deepcopy(r) == pickle.loads(pickle.dumps(r)) == r and hash(r) == hash(copy.copy(r))
    for shape in [(), (0,), (2, 3)]:
        y = np.full(shape, 0.5)
        assert r.unit_deviance(y, 0.4).shape == r.variance(y).shape == r.outside(y).shape == shape
        assert r.start(y).shape == shape


def test_names():
    assert response("Normal") == response("gaussian") == Gaussian()
    assert response("bernoulli") == response(" Binomial ") == Binomial()
    assert response("inverse.gaussian") == response("inverse-gaussian") == InverseGaussian()
    assert response("negative binomial", size=3) == NegativeBinomial(3)
    assert response("tweedie", power=1.7) == Tweedie(1.7)
    assert response(Poisson()) == response(families.Poisson()) == Poisson()
    assert response(families.Gamma()) == Gamma()


@pytest.mark.parametrize(
    "give, match",
    [
        (
            lambda: response("cauchy"),
            "unknown response 'cauchy': give one of gaussian, binomial, poisson, gamma",
        ),
        (lambda: response(families.Beta()), r"unknown response Beta\(\)"),
        (lambda: response("poisson", size=2), "the poisson response takes no parameter, not size"),
        (lambda: response("tweedie", size=2), "the tweedie response takes power, not size"),
        (lambda: response("negative_binomial"), "size of a negative binomial must be known"),
        (lambda: response(Tweedie(1.5), power=1.6), "has its parameters"),
        (lambda: NegativeBinomial(0.0), "must be a positive number, not 0.0"),
        (lambda: NegativeBinomial(np.nan), "must be a positive number"),
        (lambda: Tweedie(0.5), "no Tweedie law of power 0.5"),
        (lambda: Tweedie(-1), "the power must be 0, or 1 or more"),
        (
            lambda: GlmLoss.of("gamma", "logit"),
            "the gamma response does not take the logit link: give one of log",
        ),
        (lambda: GlmLoss.of("binomial", "inverse"), "does not take the inverse link"),
        (lambda: GlmLoss.of("poisson", "loog"), "unknown link 'loog'"),
    ],
)
def test_what_is_refused(give, match):
    with pytest.raises(ValueError, match=match):
        give()


def test_the_named_powers_of_tweedie():
    assert [Tweedie(p) for p in (0, 1, 2, 3)] == [Gaussian(), Poisson(), Gamma(), InverseGaussian()]
    assert response("tweedie", power=2.0) == Gamma()
    for p, named in [(1, Poisson()), (2, Gamma()), (3, InverseGaussian())]:
        y, mu = np.array([0.5, 2.0, 9.0]), np.array([0.4, 2.1, 3.0])
        nearly = Tweedie(p + 1e-9)
        np.testing.assert_allclose(nearly.unit_deviance(y, mu), named.unit_deviance(y, mu), rtol=1e-7)
        np.testing.assert_allclose(nearly.variance(mu), named.variance(mu), rtol=1e-7)


def test_the_loss_is_a_value_and_declares_itself():
    a, b = GlmLoss(Poisson(), link("log")), GlmLoss.of("poisson")
    assert a == b and hash(a) == hash(b) and a != replace(a, observed=True)
    assert a.interval == b.interval and a == b  # what is cached is no part of the value
    assert a.smooth and a.curved and a.target == "real" and a.name == "glm"
    assert pickle.loads(pickle.dumps(a)) == a


@pairs
def test_single_precision_stays_single(case, name):
    e = np.float32([float(link(name).eta(m)) for m in case.means])
    y = np.full(len(e), case.y[-1], dtype=np.float32)
    for observed in (False, True):
        loss = GlmLoss(case.response, link(name), observed)
        parts = loss.derivatives(e, y)
        assert {p.dtype for p in parts} == {np.dtype(np.float32)}
        whole = loss.derivatives(e.astype(float), y.astype(float))
        for single, double in zip(parts, whole):
            np.testing.assert_allclose(single, double, rtol=2e-3, atol=2e-5 * np.abs(double).max())


def test_a_link_of_ones_own():
    @dataclass(frozen=True)
    class Half(Link):
        """μ = e^{η/2}."""

        name = "half"

        def _eta(self, mu):
            return 2 * np.log(mu)

        def _mean(self, eta):
            return np.exp(eta / 2)

        def _first(self, eta):
            return np.exp(eta / 2) / 2

        def _second(self, eta):
            return np.exp(eta / 2) / 4

    e, y = np.linspace(-2, 2, 5), np.array([0.5, 1.0, 2.0, 3.0, 4.0])
    for r in (Gaussian(), Poisson(), Gamma(), Tweedie(1.5)):
        mine, log = GlmLoss(r, Half(), True), GlmLoss(r, link("log"), True)
        for k, (a, b) in enumerate(zip(mine.derivatives(2 * e, y), log.derivatives(e, y))):
            np.testing.assert_allclose(a, b / 2**k, rtol=1e-12)
