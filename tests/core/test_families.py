"""The conformance suite every exponential family must pass ([6867] 3.1.3), then what each promises at its limits."""

import pickle
from dataclasses import FrozenInstanceError

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import expit

from separatrix.core.families import (
    FAMILIES,
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Exponential,
    Family,
    Gamma,
    Multinomial,
    MultivariateNormal,
    Normal,
    Poisson,
    family,
)
from tests.core.family_cases import draw, every, flat, merged, unflat

pytestmark = pytest.mark.filterwarnings("error")


# ---- p = h exp(η·T − A) is a density, and A knows its moments ----


@every
def test_the_density_adds_up_to_one(case):
    x, volume = case.nodes(case.parameters)
    p = np.exp(case.family.log_density(x, case.parameters))
    assert np.sum(p * volume) == pytest.approx(1.0, abs=1e-9)


@every
def test_the_gradient_of_A_is_the_mean_of_T_and_the_hessian_its_covariance(case):
    x, volume = case.nodes(case.parameters)
    eta = case.family.natural(case.parameters)
    p = np.exp(case.family.log_density(x, case.parameters)) * volume
    T = np.concatenate([t.reshape(len(x), -1) for t in case.family.statistics(x)], axis=-1)
    keep = p > 0  # log 0 · 0
    mean = p[keep] @ T[keep]
    centred = T[keep] - mean
    assert_allclose(flat(case.family.mean(eta)), mean, rtol=1e-8, atol=1e-9)
    covariance = case.family.covariance(eta)
    assert_allclose(covariance, (centred * p[keep, None]).T @ centred, rtol=1e-7, atol=1e-8)


@every
def test_the_derivatives_of_A_agree_with_finite_differences(case):
    fam = case.family
    eta = fam.natural(case.parameters)
    at = flat(eta)
    gradient, hessian = np.empty(len(at)), np.empty((len(at), len(at)))
    for j in range(len(at)):
        step = np.zeros(len(at))
        step[j] = 1e-5 * max(1.0, abs(at[j]))
        up, down = unflat(at + step, eta), unflat(at - step, eta)
        gradient[j] = (fam.log_partition(up) - fam.log_partition(down)) / (2 * step[j])
        hessian[j] = (flat(fam.mean(up)) - flat(fam.mean(down))) / (2 * step[j])
    assert_allclose(flat(fam.mean(eta)), gradient, rtol=1e-7, atol=1e-8)
    assert_allclose(fam.covariance(eta), hessian, rtol=1e-6, atol=1e-7)
    assert np.linalg.eigvalsh(fam.covariance(eta)).min() > -1e-12


@every
def test_the_log_density_is_log_h_plus_eta_T_minus_A(case):
    fam, x = case.family, draw(case, 50)
    eta = fam.natural(case.parameters)
    inner = sum(
        (e * t).reshape(len(x), -1).sum(axis=-1) if np.ndim(e) else e * t
        for e, t in zip(eta, fam.statistics(x))
    )
    assert_allclose(
        fam.log_base(x) + inner - fam.log_partition(eta), fam.log_density(x, case.parameters), rtol=1e-11
    )


@every
def test_log_densities_agree_with_scipy(case):
    x = draw(case, 200)
    assert_allclose(
        case.family.log_density(x, case.parameters), case.reference(x, case.parameters), rtol=1e-10
    )


@every
def test_leading_axes_are_a_loop(case):
    fam, x = case.family, draw(case, 5)
    other = fam.estimate(*merged(fam, draw(case, 40, seed=3)))
    both = {key: np.stack([np.asarray(case.parameters[key], dtype=float), other[key]]) for key in other}
    value = fam.log_density(x[:, None], both)
    assert value.shape == (5, 2)
    eta, base = fam.natural(both), fam.log_base(x)
    assert base.shape == (5,) and fam.log_partition(eta).shape == (2,) and fam.covariance(eta).shape[0] == 2
    for k, alone in enumerate([case.parameters, other]):
        assert_allclose(value[:, k], fam.log_density(x, alone), rtol=1e-13)
        assert_allclose(fam.log_partition(eta)[k], fam.log_partition(fam.natural(alone)), rtol=1e-13)
        assert_allclose(fam.covariance(eta)[k], fam.covariance(fam.natural(alone)), rtol=1e-12, atol=1e-14)
        assert_allclose(flat(m[k] for m in fam.mean(eta)), flat(fam.mean(fam.natural(alone))), rtol=1e-13)


def test_columns_and_classes_broadcast():
    x = np.arange(1.0, 13).reshape(4, 1, 3) / 13  # n = 4 rows, p = 3 columns
    rates = {"rate": np.arange(1.0, 7).reshape(2, 3)}
    assert Exponential().log_density(x, rates).shape == (4, 2, 3)
    assert Gamma().log_density(x, {"shape": np.ones((2, 1)), **rates}).shape == (4, 2, 3)
    assert Beta().log_density(x, {"a": np.ones((2, 1)), "b": np.ones(3)}).shape == (4, 2, 3)
    table = {"probabilities": np.full((2, 3, 5), 0.2)}
    assert_allclose(Categorical(5).log_density(np.zeros((4, 1, 3)), table), np.full((4, 2, 3), np.log(0.2)))
    assert Categorical(5).statistics(np.zeros((4, 3)))[0].shape == (4, 3, 5)
    assert Categorical(5).sample(table, (7,), np.random.default_rng(0)).shape == (7, 2, 3)


# ---- limits ----


@every
def test_missing_is_missing_and_outside_is_outside(case):
    fam, x = case.family, np.asarray(draw(case, 6), dtype=float)
    x[0 if not fam.multivariate else (0, 1)] = np.nan
    x[1 if not fam.multivariate else (1, 0)] = np.inf
    x[2 if not fam.multivariate else (2, 0)] = -np.inf
    value = fam.log_density(x, case.parameters)
    assert np.isnan(value[0]) and value[1] == value[2] == -np.inf and np.isfinite(value[3:]).all()
    assert fam.outside(x).tolist() == [False, True, True, False, False, False]
    for part in (*fam.facts(x), *fam.statistics(x)):
        assert np.isnan(part[0]).any() and np.isfinite(part[3:]).all()
    assert isinstance(fam.support, str) and fam.name in FAMILIES


def test_the_support_of_each_family():
    x = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, np.nan])
    inside = {
        Normal(): [1, 1, 1, 1, 1, 1, 1],
        Bernoulli(): [0, 1, 0, 1, 0, 0, 1],
        Categorical(levels=2): [0, 1, 0, 1, 0, 0, 1],
        Categorical(): [0, 1, 0, 1, 0, 1, 1],
        Poisson(): [0, 1, 0, 1, 0, 1, 1],
        Exponential(): [0, 1, 1, 1, 1, 1, 1],
        Gamma(): [0, 0, 1, 1, 1, 1, 1],
        Beta(): [0, 0, 1, 0, 0, 0, 1],
    }
    for fam, expected in inside.items():
        assert_array_equal(~fam.outside(x), np.array(expected, dtype=bool), err_msg=fam.name)
    shares = [
        [0.5, 0.5],
        [0.0, 1.0],
        [0.5, 0.6],
        [-0.5, 1.5],
        [np.nan, 0.5],
        [np.nan, -0.5],
        [np.inf, -np.inf],
    ]
    assert Dirichlet().outside(shares).tolist() == [False, True, True, True, False, True, True]
    assert Multinomial().outside([[1, 2], [0.5, 1], [-1, 2], [0, 0]]).tolist() == [False, True, True, False]


def test_the_normal_does_not_see_where_zero_is():
    normal, near = Normal(), np.array([-1.0, 1.0, 0.5, 0.0])
    for shift in (0.0, 1e8, -1e8):
        fitted = normal.estimate(*merged(normal, near + shift))
        assert_allclose(fitted["variance"], np.var(near), rtol=1e-15)
        expected = stats.norm.logpdf(near, near.mean(), near.std())
        assert_allclose(normal.log_density(near + shift, fitted), expected, rtol=1e-8)
    two = MultivariateNormal()
    x = near[:, None] * [1.0, 2.0] + np.array([[0.0, 0.3], [0.1, 0.0], [0.2, 0.1], [0.0, 0.0]])
    expected = two.log_density(x, two.estimate(*merged(two, x)))
    assert_allclose(two.log_density(x + 1e8, two.estimate(*merged(two, x + 1e8))), expected, rtol=1e-5)
    prior = {"mean": 1e8, "weight": 1.0, "shape": 1.0, "scale": 1.0}
    here = normal.estimate(*merged(normal, near), {**prior, "mean": 0.0})
    there = normal.estimate(*merged(normal, near + 1e8), prior)
    assert_allclose(there["mean"] - 1e8, here["mean"], atol=1e-7)
    assert_allclose(there["variance"], here["variance"], rtol=1e-8)


def test_extreme_values_stay_finite():
    poisson = Poisson()
    rates = np.array([0.0, 1e-300, 1e-5, 1.0, 1e5, 1e300])
    assert_allclose(poisson.log_density(0, {"rate": rates}), -rates)
    assert poisson.log_density(1, {"rate": 0.0}) == -np.inf
    assert_allclose(poisson.log_density(3, {"rate": 1e-300}), 3 * np.log(1e-300) - np.log(6))
    assert_allclose(
        poisson.log_density(1e300, {"rate": 1e300}), -0.5 * np.log(2 * np.pi) - 0.5 * np.log(1e300)
    )
    assert_allclose(np.exp(poisson.natural({"rate": rates})[0]), rates, rtol=1e-12)
    assert poisson.moment_residual({"rate": rates}, (rates,)) < 1e-12

    coin = {"probability": np.array([0.0, 1.0, 1e-300, 0.5])}
    assert_allclose(Bernoulli().log_density(0, coin), [0, -np.inf, -1e-300, np.log(0.5)])
    assert_allclose(Bernoulli().log_density(1, coin), [-np.inf, 0, np.log(1e-300), np.log(0.5)])
    assert_allclose(expit(Bernoulli().natural(coin)[0]), coin["probability"], rtol=1e-12)

    never = {"probabilities": [0.0, 0.25, 0.75]}
    assert_allclose(Categorical(3).log_density([0, 1, 2], never), [-np.inf, np.log(0.25), np.log(0.75)])
    assert Categorical().log_density(3, never) == -np.inf
    assert_allclose(
        Multinomial().log_density([[0, 1, 0], [1, 0, 0], [0, 0, 0]], never), [np.log(0.25), -np.inf, 0]
    )
    assert_allclose(np.exp(Categorical(3).natural(never)[0]), [0, 0.25, 0.75])

    x = np.array([1e-300, 1e-5, 1.0, 1e5, 1e300])
    for shape, rate in [(1e-3, 1e-300), (0.5, 1e-300), (2.0, 1e-300), (1e3, 1e-300)]:
        value = Gamma().log_density(x, {"shape": shape, "rate": rate})
        with mpmath.workdps(30):
            a, b = mpmath.mpf(shape), mpmath.mpf(rate)
            expected = [
                float(a * mpmath.log(b) + (a - 1) * mpmath.log(v) - b * v - mpmath.loggamma(a)) for v in x
            ]
        assert_allclose(value, expected, rtol=1e-12)
    spread = Gamma().estimate(5.0, tuple(f.mean() for f in Gamma().facts(x)))
    assert all(np.isfinite(v) for v in spread.values()) and np.isfinite(Gamma().log_density(x, spread)).all()

    x = np.array([1e-300, 1e-5, 0.5, 1 - 1e-16])
    value = Beta().log_density(x, {"a": 0.3, "b": 4.0})
    assert_allclose(value, stats.beta.logpdf(x, 0.3, 4.0), rtol=1e-12)
    spread = Beta().estimate(4.0, tuple(f.mean() for f in Beta().facts(x)))
    assert np.isfinite(Beta().log_density(x, spread)).all()
    assert Beta().moment_residual(spread, tuple(f.mean() for f in Beta().facts(x))) < 1e-13

    zeros = Exponential().estimate(3.0, (0.0,))
    assert zeros["rate"] == 1e300 and np.isfinite(Exponential().log_density([0.0, 1.0], zeros)).all()
    constant = Normal().estimate(3.0, (2.0,), second=0.0)
    assert_array_equal(Normal().log_density([2.0, 2.1, np.nan], constant), [np.inf, -np.inf, np.nan])


def exactly(case):
    name, x, parameters = case
    log, lg = mpmath.log, mpmath.loggamma
    if name == "poisson":
        return x * log(parameters["rate"]) - parameters["rate"] - lg(x + 1)
    if name == "gamma":
        a, b = (mpmath.mpf(parameters[key]) for key in ("shape", "rate"))
        return a * log(b) + (a - 1) * log(x) - b * x - lg(a)
    values = [mpmath.mpf(v) for v in x]
    if name == "multinomial":
        p = parameters["probabilities"]
        return lg(mpmath.fsum(values) + 1) + mpmath.fsum(v * log(q) - lg(v + 1) for v, q in zip(values, p))
    alpha = [mpmath.mpf(a) for a in parameters["concentration"]]
    return lg(mpmath.fsum(alpha)) + mpmath.fsum((a - 1) * log(v) - lg(a) for v, a in zip(values, alpha))


LARGE = [
    ("poisson", mpmath.mpf(10**15 + 10**7), {"rate": 1e15}),
    ("poisson", mpmath.mpf(10**15), {"rate": 3e14}),
    ("poisson", mpmath.mpf(16), {"rate": 1e6}),
    ("gamma", mpmath.mpf(1.0001), {"shape": 1e8, "rate": 1e8}),
    ("gamma", mpmath.mpf(3.0), {"shape": 1e8, "rate": 1e8}),
    ("gamma", mpmath.mpf(1e-3), {"shape": 1e-3, "rate": 1e-8}),
    ("multinomial", (2**30, 2**30 + 2**15, 2**31 - 2**15), {"probabilities": (0.25, 0.25, 0.5)}),
    ("multinomial", (3, 2**30, 2**30), {"probabilities": (2.0**-20, 0.5, 0.5 - 2.0**-20)}),
    ("dirichlet", (0.25, 0.25, 0.5), {"concentration": (2.0**26, 2.0**26 + 2.0**12, 2.0**27)}),
    ("dirichlet", (0.25, 0.25, 0.5), {"concentration": (1e-3, 20.0, 1e3)}),
]


@pytest.mark.parametrize("case", LARGE, ids=[f"{name} {i}" for i, (name, *_) in enumerate(LARGE)])
def test_large_parameters_lose_no_digits(case):
    name, x, parameters = case
    with mpmath.workdps(50):
        expected = float(exactly(case))
    x = np.array(x, dtype=float)
    assert family(name).log_density(x, parameters) == pytest.approx(expected, rel=1e-12)
    if name == "dirichlet":
        a, _, c = parameters["concentration"]
        with mpmath.workdps(50):
            expected = float(exactly((name, (0.25, 0.75), {"concentration": (a, c)})))
        assert Beta().log_density(0.25, {"a": a, "b": c}) == pytest.approx(expected, rel=1e-12)


def test_small_concentrations_are_drawn_inside_the_support():
    rng = np.random.default_rng(0)
    x = Dirichlet().sample({"concentration": np.full(3, 1e-4)}, 500, rng)
    assert not Dirichlet().outside(x).any()
    assert not Gamma().outside(Gamma().sample({"shape": 1e-4, "rate": 1.0}, 500, rng)).any()
    assert not Beta().outside(Beta().sample({"a": 1e-3, "b": 1e-3}, 500, rng)).any()


# ---- the door ----


def test_families_are_found_by_name():
    assert len(FAMILIES) == 10 and all(family(name.upper()) is fam for name, fam in FAMILIES.items())
    assert family("Multivariate-Normal") == MultivariateNormal()
    mine = Normal(variance=2.0)
    assert family(mine) is mine
    with pytest.raises(ValueError, match=r"unknown family 'weibull': give one of gaussian, .*poisson"):
        family("weibull")


def test_what_cannot_be_done_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"Categorical\(levels=3\)"):
        Categorical().statistics([0, 1])
    singular = {"mean": [0.0, 0.0], "covariance": [[1.0, 1.0], [1.0, 1.0]]}
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        MultivariateNormal().log_density([0.0, 0.0], singular)
    with pytest.raises(ValueError, match="must be a positive number, not 0"):
        Normal(variance=0.0)
    with pytest.raises(TypeError, match="abstract"):
        Family()


@every
def test_a_family_is_a_value(case):
    fam = case.family
    assert pickle.loads(pickle.dumps(fam)) == fam and hash(fam) == hash(pickle.loads(pickle.dumps(fam)))
    with pytest.raises(FrozenInstanceError):
        fam.variance = 3.0
