"""The conformance suite every exponential family must pass ([6867] 3.1.3), then what each promises at its limits."""

import pickle
import warnings
from dataclasses import FrozenInstanceError, dataclass
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, special, stats

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

quick = settings(max_examples=15, deadline=None, derandomize=True)
COVARIANCE = np.array([[2.0, 0.6], [0.6, 0.5]])


@pytest.fixture(autouse=True)
def _silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@dataclass
class Case:
    """A family at one parameter, with an independent density, a quadrature, a prior and a chart of its parameters."""

    family: Family
    parameters: dict
    reference: object  # (x, parameters) -> log density, by scipy
    nodes: object  # parameters -> (x, volume): Σ volume · p(x) · f(x) = E[f]
    prior: dict
    log_prior: (
        object  # (parameters, prior, family) -> log prior density, in the parameters whose mode is taken
    )
    chart: object  # vector -> parameters, onto
    point: object  # parameters -> vector


def line(step=0.01, reach=40.0):
    return np.arange(-reach, reach, step), step


def on_real_line(parameters):
    t, h = line(reach=12.0)
    scale = np.sqrt(parameters["variance"])
    return parameters["mean"] + scale * t, h * scale


def on_half_line(parameters):
    t, h = line(reach=60.0)
    return np.exp(t), h * np.exp(t)


def on_interval(parameters):
    t, h = line(reach=60.0)
    return special.expit(t), h * special.expit(t) * special.expit(-t)


def on_plane(parameters):
    t, h = line(0.1, 9.0)
    z = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    L = np.linalg.cholesky(parameters["covariance"])
    return parameters["mean"] + z @ L.T, h * h * np.linalg.det(L)


def on_triangle(parameters):
    t, h = line(0.2, 30.0)
    a, b = (v.ravel() for v in np.meshgrid(t, t))
    s, s_, u, u_ = special.expit(a), special.expit(-a), special.expit(b), special.expit(-b)
    x = np.stack([s, s_ * u, s_ * u_], axis=-1)
    return x, h * h * s * s_ * s_ * u * u_


def on_counts(parameters):
    return np.arange(300.0), 1.0


def conjugate(parameters, prior, fam):
    """w₀ (η·m₀ − A(η)): the generic conjugate prior, as a density of η."""
    eta = fam.natural(parameters)
    fit = sum(np.sum(e * m) for e, m in zip(eta, prior["means"]))
    return prior["weight"] * (fit - fam.log_partition(eta))


def normal_prior(parameters, prior, fam):
    v = parameters["variance"]
    value = stats.norm.logpdf(parameters["mean"], prior["mean"], np.sqrt(v / prior["weight"]))
    if fam.variance is None:
        value = value + stats.invgamma.logpdf(v, prior["shape"], scale=prior["scale"])
    return value


def wishart_prior(parameters, prior, fam):
    S = parameters["covariance"]
    value = stats.multivariate_normal.logpdf(parameters["mean"], prior["mean"], S / prior["weight"])
    return value + stats.invwishart.logpdf(S, prior["shape"], prior["scale"])


def cholesky_chart(v):
    L = np.array([[np.exp(v[2]), 0.0], [v[3], np.exp(v[4])]])
    return {"mean": v[:2], "covariance": L @ L.T}


def cholesky_point(p):
    L = np.linalg.cholesky(p["covariance"])
    return np.array([*p["mean"], np.log(L[0, 0]), L[1, 0], np.log(L[1, 1])])


def simplex_chart(v):
    return {"probabilities": special.softmax(np.append(v, 0.0))}


def simplex_point(p):
    return np.log(p["probabilities"][:-1] / p["probabilities"][-1])


def positive(*names):
    chart = lambda v: dict(zip(names, np.exp(v)))  # noqa: E731
    return chart, lambda p: np.log([float(p[name]) for name in names])


def dirichlet_reference(x, p):
    x = x / x.sum(axis=-1, keepdims=True)
    return stats.dirichlet.logpdf(x.T, p["concentration"])


def gamma_prior(parameters, prior, fam):
    return stats.gamma.logpdf(parameters["rate"], prior["shape"], scale=1 / prior["rate"])


def dirichlet_prior(parameters, prior, fam):
    return np.sum((prior["alpha"] - 1) * np.log(parameters["probabilities"]))


CASES = {
    "normal": Case(
        Normal(),
        {"mean": 1.5, "variance": 0.7},
        lambda x, p: stats.norm.logpdf(x, p["mean"], np.sqrt(p["variance"])),
        on_real_line,
        {"mean": 0.3, "weight": 2.0, "shape": 1.5, "scale": 0.8},
        normal_prior,
        lambda v: {"mean": v[0], "variance": np.exp(v[1])},
        lambda p: np.array([p["mean"], np.log(p["variance"])]),
    ),
    "normal, known variance": Case(
        Normal(variance=2.0),
        {"mean": -0.4, "variance": 2.0},
        lambda x, p: stats.norm.logpdf(x, p["mean"], np.sqrt(2.0)),
        on_real_line,
        {"mean": 0.3, "weight": 2.0},
        normal_prior,
        lambda v: {"mean": v[0], "variance": 2.0},
        lambda p: np.array([p["mean"]]),
    ),
    "multivariate normal": Case(
        MultivariateNormal(),
        {"mean": np.array([0.5, -1.0]), "covariance": COVARIANCE},
        lambda x, p: stats.multivariate_normal.logpdf(x, p["mean"], p["covariance"]),
        on_plane,
        {
            "mean": np.array([0.2, 0.1]),
            "weight": 3.0,
            "shape": 4.0,
            "scale": np.array([[1.0, 0.2], [0.2, 2.0]]),
        },
        wishart_prior,
        cholesky_chart,
        cholesky_point,
    ),
    "bernoulli": Case(
        Bernoulli(),
        {"probability": 0.3},
        lambda x, p: stats.bernoulli.logpmf(x, p["probability"]),
        lambda p: (np.array([0.0, 1.0]), 1.0),
        {"a": 2.5, "b": 1.5},
        lambda p, prior, fam: stats.beta.logpdf(p["probability"], prior["a"], prior["b"]),
        lambda v: {"probability": special.expit(v[0])},
        lambda p: np.array([special.logit(p["probability"])]),
    ),
    "categorical": Case(
        Categorical(levels=3),
        {"probabilities": np.array([0.2, 0.5, 0.3])},
        lambda x, p: np.log(p["probabilities"])[x.astype(int)],
        lambda p: (np.arange(3.0), 1.0),
        {"alpha": np.array([2.0, 1.5, 3.0])},
        dirichlet_prior,
        simplex_chart,
        simplex_point,
    ),
    "multinomial": Case(
        Multinomial(trials=4),
        {"probabilities": np.array([0.2, 0.5, 0.3])},
        lambda x, p: stats.multinomial.logpmf(x, x.sum(axis=-1), p["probabilities"]),
        lambda p: (np.array([c for c in product(range(5), repeat=3) if sum(c) == 4], dtype=float), 1.0),
        {"alpha": 2.0},
        dirichlet_prior,
        simplex_chart,
        simplex_point,
    ),
    "poisson": Case(
        Poisson(),
        {"rate": 3.5},
        lambda x, p: stats.poisson.logpmf(x, p["rate"]),
        on_counts,
        {"shape": 3.0, "rate": 2.0},
        gamma_prior,
        *positive("rate"),
    ),
    "exponential": Case(
        Exponential(),
        {"rate": 1.7},
        lambda x, p: stats.expon.logpdf(x, scale=1 / p["rate"]),
        on_half_line,
        {"shape": 3.0, "rate": 2.0},
        gamma_prior,
        *positive("rate"),
    ),
    "gamma": Case(
        Gamma(),
        {"shape": 2.3, "rate": 0.8},
        lambda x, p: stats.gamma.logpdf(x, p["shape"], scale=1 / p["rate"]),
        on_half_line,
        {"weight": 4.0, "means": (0.4, 2.0)},
        conjugate,
        *positive("shape", "rate"),
    ),
    "beta": Case(
        Beta(),
        {"a": 0.9, "b": 2.6},
        lambda x, p: stats.beta.logpdf(x, p["a"], p["b"]),
        on_interval,
        {"weight": 4.0, "means": (-0.9, -1.1)},
        conjugate,
        *positive("a", "b"),
    ),
    "dirichlet": Case(
        Dirichlet(),
        {"concentration": np.array([1.2, 3.4, 2.1])},
        dirichlet_reference,
        on_triangle,
        {"weight": 4.0, "means": (np.array([-1.5, -1.2, -1.4]),)},
        conjugate,
        lambda v: {"concentration": np.exp(v)},
        lambda p: np.log(p["concentration"]),
    ),
}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def draw(case, n, seed=0):
    return case.family.sample(case.parameters, n, np.random.default_rng(seed))


def merged(fam, x, w=None):
    """(weight, means of facts, centred second moment): what a model keeps of rows x (n, …)."""
    x = np.asarray(x, dtype=float)
    w = np.ones(len(x)) if w is None else np.asarray(w, dtype=float)
    means = tuple(np.tensordot(w, f, axes=1) / w.sum() for f in fam.facts(x))
    centred = x - np.tensordot(w, x, axes=1) / w.sum()
    second = (
        np.einsum("n,ni,nj->ij", w, centred, centred)
        if fam.multivariate
        else np.tensordot(w, centred**2, axes=1)
    )
    return w.sum(), means, second


def flat(eta):
    return np.concatenate([np.ravel(e) for e in eta])


def unflat(vector, like):
    parts = np.split(vector, np.cumsum([np.size(e) for e in like])[:-1])
    return tuple(p.reshape(np.shape(e)) for p, e in zip(parts, like))


def assert_same(a, b, rtol=1e-12, atol=0.0):
    assert a.keys() == b.keys()
    for key in a:
        assert_allclose(a[key], b[key], rtol=rtol, atol=atol, err_msg=key)


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
def test_natural_parameters_go_there_and_back(case):
    fam = case.family
    eta = fam.natural(case.parameters)
    assert_same(fam.from_natural(eta), case.parameters, rtol=1e-14)
    assert_allclose(flat(fam.natural(fam.from_natural(eta))), flat(eta), rtol=1e-13)


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


# ---- fitting ----


@every
def test_a_sample_gives_the_parameter_back(case):
    fam, n = case.family, 20_000
    x = draw(case, n)
    assert len(x) == n and not fam.outside(x).any()
    eta = fam.natural(case.parameters)
    T = np.concatenate([t.reshape(n, -1) for t in fam.statistics(x)], axis=-1)
    spread = np.sqrt(np.diag(fam.covariance(eta)) / n)
    assert np.all(np.abs(T.mean(axis=0) - flat(fam.mean(eta))) <= 5 * spread)
    assert_same(fam.estimate(*merged(fam, x)), case.parameters, rtol=0.1, atol=0.02)


@every
def test_samples_have_the_size_first_and_are_repeated_by_their_seed(case):
    x = case.family.sample(case.parameters, (3, 2), np.random.default_rng(5))
    assert x.shape == (3, 2) + ((np.size(x) // 6,) if case.family.multivariate else ())
    assert_array_equal(x, case.family.sample(case.parameters, (3, 2), np.random.default_rng(5)))


@every
def test_the_fit_satisfies_the_moment_equation(case):
    weight, means, second = merged(case.family, draw(case, 60))
    fitted = case.family.estimate(weight, means, second)
    assert case.family.moment_residual(fitted, means, second, weight) < 1e-13
    worse = {key: np.asarray(value) * 1.01 for key, value in fitted.items() if key != "probabilities"}
    if worse and case.family != Normal(variance=2.0):
        assert case.family.moment_residual(worse, means, second, weight) > 1e-4


@every
def test_merged_statistics_fit_like_joint_rows(case):
    fam, x = case.family, draw(case, 50)
    a, b = merged(fam, x[:20]), merged(fam, x[20:])
    W = a[0] + b[0]
    means = tuple((a[0] * p + b[0] * q) / W for p, q in zip(a[1], b[1]))
    gap = np.asarray(x[:20], dtype=float).mean(axis=0) - np.asarray(x[20:], dtype=float).mean(axis=0)
    second = a[2] + b[2] + (np.outer(gap, gap) if fam.multivariate else gap**2) * (a[0] * b[0] / W)
    assert_same(fam.estimate(W, means, second), fam.estimate(*merged(fam, x)), rtol=1e-10)
    assert_same(
        fam.estimate(W, means, second, case.prior), fam.estimate(*merged(fam, x), case.prior), rtol=1e-10
    )


@every
def test_weight_is_repetition_and_zero_weight_is_absence(case):
    @quick
    @given(st.lists(st.integers(0, 4), min_size=12, max_size=12).filter(lambda w: sum(v > 0 for v in w) > 5))
    def check(weights):
        fam, x, w = case.family, draw(case, 12), np.array(weights)
        if isinstance(fam, Bernoulli | Categorical | Multinomial):
            x = np.asarray(x, dtype=float)
        expected = fam.estimate(*merged(fam, np.repeat(x, w, axis=0)))
        assert_same(fam.estimate(*merged(fam, x, w)), expected, rtol=1e-9, atol=1e-12)
        assert_same(fam.estimate(*merged(fam, x[w > 0], w[w > 0])), expected, rtol=1e-9, atol=1e-12)

    check()


@every
def test_a_class_without_weight_has_no_parameter_and_harms_no_other(case):
    fam = case.family
    weight, means, second = merged(fam, draw(case, 30))
    stack = lambda a, fill: np.stack([np.asarray(a), np.full(np.shape(a), fill)])  # noqa: E731
    for fill in (0.0, np.nan):
        both = (np.array([weight, 0.0]), tuple(stack(m, fill) for m in means), stack(second, fill))
        fitted = fam.estimate(*both)
        alone = fam.estimate(weight, means, second)
        for key in alone:
            assert_allclose(fitted[key][0], alone[key], rtol=1e-14)
        first = next(iter(fitted))
        assert np.isnan(fitted[first][1]).all()
        value = fam.log_density(draw(case, 3)[:, None], fitted)
        assert np.isfinite(value[:, 0]).all() and np.isnan(value[:, 1]).all()
        assert fam.moment_residual(fitted, both[1], both[2], both[0]) < 1e-13
        shared = fam.estimate_shared(*both)
        for key in alone:
            assert_allclose(shared[key][0], alone[key], rtol=1e-12)
        with_prior = fam.estimate(*both, case.prior)
        assert all(np.isfinite(v).all() for v in with_prior.values())


@every
@pytest.mark.parametrize("with_prior", [False, True], ids=["ML", "MAP"])
def test_the_estimate_is_what_brute_force_finds(case, with_prior):
    fam, x = case.family, draw(case, 30, seed=1)
    prior = case.prior if with_prior else None
    fitted = fam.estimate(*merged(fam, x), prior)

    def loss(vector):
        parameters = case.chart(vector)
        value = fam.log_density(x, parameters).sum()
        return -float(value + (case.log_prior(parameters, prior, fam) if prior else 0.0))

    best = case.point(fitted)
    rng = np.random.default_rng(2)
    found = optimize.minimize(
        loss, best + 0.2 * rng.standard_normal(len(best)), method="BFGS", options={"gtol": 1e-7}
    )
    assert loss(best) <= found.fun + 1e-9
    assert_allclose(best, found.x, rtol=1e-4, atol=1e-5)


def test_maximum_a_posteriori_by_hand():
    assert Bernoulli().estimate(8.0, (0.25,), prior={"a": 2, "b": 3})["probability"] == pytest.approx(3 / 11)
    counts = Categorical(3).estimate(10.0, ([0.5, 0.5, 0.0],), prior={"alpha": 2})["probabilities"]
    assert_allclose(counts, [6 / 13, 6 / 13, 1 / 13])
    flat_prior = Poisson().estimate(3.0, (0.0,), prior={"shape": 0.5, "rate": 1.0})["rate"]
    assert flat_prior == 0.0  # the density of the prior is largest at 0


@pytest.mark.parametrize("name", ["normal", "multivariate normal"])
def test_a_shared_scale_is_the_pooled_one(name):
    case = CASES[name]
    fam, sizes = case.family, (20, 35, 50)
    rows = [draw(case, n, seed=n) + n for n in sizes]
    parts = [merged(fam, x) for x in rows]
    stacked = (
        np.array(sizes, dtype=float),
        (np.stack([p[1][0] for p in parts]),),
        np.stack([p[2] for p in parts]),
    )
    shared, own = fam.estimate_shared(*stacked), fam.estimate(*stacked)
    scale = "covariance" if fam.multivariate else "variance"
    assert_allclose(shared["mean"], own["mean"])
    for k in range(3):
        assert_allclose(shared[scale][k], sum(p[2] for p in parts) / sum(sizes))


def test_gammas_of_one_shape_have_a_linear_separator():
    gamma, rng = Gamma(), np.random.default_rng(0)
    rows = [rng.gamma(2.5, scale, (400, 2)) for scale in (1.0, 3.0, 7.0)]
    parts = [merged(gamma, x[:, j]) for x in rows for j in range(2)]
    weight = np.full((3, 2), 400.0)
    means = tuple(np.array([p[1][i] for p in parts]).reshape(3, 2) for i in range(2))
    fitted = gamma.estimate_shared(weight, means)
    assert np.ptp(fitted["shape"], axis=0).max() == 0 and np.all(np.abs(fitted["shape"] - 2.5) < 0.3)
    x = np.linspace(0.5, 9.5, 10)[:, None]
    score = gamma.log_density(x[:, None], fitted)
    assert np.abs(np.diff(score[:, 1] - score[:, 0], n=2, axis=0)).max() < 1e-12

    def loss(log_shape, j):
        a = np.exp(log_shape)
        return -sum(gamma.log_density(x[:, j], {"shape": a, "rate": a / x[:, j].mean()}).sum() for x in rows)

    for j in range(2):
        best = optimize.minimize_scalar(
            loss, bounds=(-3, 3), args=(j,), method="bounded", options={"xatol": 1e-9}
        )
        assert fitted["shape"][0, j] == pytest.approx(np.exp(best.x), rel=1e-6)


# ---- the solves ----


@pytest.mark.parametrize("shape", [1e-3, 0.1, 1.0, 15.9, 16.1, 1e3, 1e6, 1e8])
def test_the_gamma_shape_is_found_to_thirteen_digits(shape):
    with mpmath.workdps(40):
        excess = float(mpmath.log(shape) - mpmath.digamma(shape))
    fitted = Gamma().estimate(1.0, (-excess, 1.0))  # mean 1, so that the excess is handed over exactly
    assert fitted["shape"] == pytest.approx(shape, rel=1e-13)
    assert fitted["rate"] == fitted["shape"]


@pytest.mark.parametrize(
    "alpha", [(1e-3, 1e-3), (1e-3, 5.0), (0.3, 0.7), (1e-2, 1e4), (20.0, 3.0), (1e6, 2e6), (1e8, 3e7)]
)
def test_the_beta_and_dirichlet_equations_are_solved_to_the_last_digits(alpha):
    for concentration in (alpha, (*alpha, 2.0), (*alpha, *alpha)):
        with mpmath.workdps(40):
            total = mpmath.digamma(mpmath.fsum(concentration))
            logs = np.array([float(mpmath.digamma(a) - total) for a in concentration])
        fitted = Dirichlet().estimate(1.0, (logs,))
        # What rounding the logs does by itself, where the sum is large or one part is nearly all of it.
        rtol = max(1e-13, 1e-15 * sum(concentration), 1e-15 * max(concentration) / min(concentration))
        assert_allclose(fitted["concentration"], concentration, rtol=rtol)
        assert Dirichlet().moment_residual(fitted, (logs,)) < 1e-15
        if len(concentration) == 2:
            assert_allclose(list(Beta().estimate(1.0, tuple(logs)).values()), concentration, rtol=rtol)


@quick
@given(st.lists(st.floats(-3, 8), min_size=2, max_size=5))
def test_any_dirichlet_is_recovered_from_its_expected_logs(logs10):
    alpha = 10.0 ** np.array(logs10)
    fitted = Dirichlet().estimate(1.0, Dirichlet().mean((alpha,)))["concentration"]
    assert_allclose(fitted, alpha, rtol=max(1e-12, 1e-14 * min(alpha.sum(), 1e9)))


def test_constant_columns_get_the_cap():
    for c in (1e-300, 0.3, 1.0, 12345.678, 1e300):
        fitted = Gamma().estimate(9.0, Gamma().facts(c))
        assert fitted["shape"] == pytest.approx(min(1e9, 1e308 * c)) and np.isfinite(fitted["rate"])
        assert np.isfinite(Gamma().log_density([c, 2 * c, 1e-300, 1e300], fitted)[:2]).all()
    for c in (1e-300, 1e-9, 0.3, 0.5, 1 - 1e-12):
        fitted = Beta().estimate(9.0, Beta().facts(c))
        assert fitted["a"] + fitted["b"] == pytest.approx(1e9)
        assert fitted["a"] / 1e9 == pytest.approx(c, rel=1e-6, abs=1e-8)
        assert np.isfinite(Beta().log_density(c, fitted))
    fitted = Dirichlet().estimate(9.0, Dirichlet().facts([0.2, 0.3, 0.5]))["concentration"]
    assert_allclose(fitted, [2e8, 3e8, 5e8], rtol=1e-6)


@quick
@given(st.lists(st.tuples(st.floats(-300, 300), st.integers(1, 9)), min_size=1, max_size=6))
def test_gamma_and_beta_fit_whatever_is_in_their_support(rows):
    x, w = 10.0 ** np.array([r[0] for r in rows]), np.array([r[1] for r in rows], dtype=float)
    for fam, values in ((Gamma(), x), (Beta(), np.minimum(x / (1 + x), 1 - 1e-16))):
        means = tuple(w @ f / w.sum() for f in fam.facts(values))
        fitted = fam.estimate(w.sum(), means)
        assert all(np.isfinite(v) and v > 0 for v in fitted.values())
        assert np.isfinite(fam.log_density(values, fitted)).all()
        if sum(fitted.values()) < 1e8 and (fam.name == "beta" or fitted["shape"] < 1e8):
            assert fam.moment_residual(fitted, means) < 1e-11


def test_priors_and_weights_may_differ_by_class_and_column():
    means, prior = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), {"shape": [2.0, 3.0, 4.0], "rate": 1.0}
    by_class = Poisson().estimate([3.0, 5.0], (means,), prior=prior)["rate"]
    by_cell = Poisson().estimate([[3.0] * 3, [5.0] * 3], (means,), prior=prior)["rate"]
    assert_array_equal(by_class, by_cell)
    for k, j in product(range(2), range(3)):
        alone = Poisson().estimate([3.0, 5.0][k], (means[k, j],), prior={"shape": 2.0 + j, "rate": 1.0})[
            "rate"
        ]
        assert by_cell[k, j] == alone


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
    assert_allclose(poisson.from_natural(poisson.natural({"rate": rates}))["rate"], rates, rtol=1e-12)
    assert poisson.moment_residual({"rate": rates}, (rates,)) < 1e-12

    coin = {"probability": np.array([0.0, 1.0, 1e-300, 0.5])}
    assert_allclose(Bernoulli().log_density(0, coin), [0, -np.inf, -1e-300, np.log(0.5)])
    assert_allclose(Bernoulli().log_density(1, coin), [-np.inf, 0, np.log(1e-300), np.log(0.5)])
    assert_allclose(
        Bernoulli().from_natural(Bernoulli().natural(coin))["probability"], coin["probability"], rtol=1e-12
    )

    never = {"probabilities": [0.0, 0.25, 0.75]}
    assert_allclose(Categorical(3).log_density([0, 1, 2], never), [-np.inf, np.log(0.25), np.log(0.75)])
    assert Categorical().log_density(3, never) == -np.inf
    assert_allclose(
        Multinomial().log_density([[0, 1, 0], [1, 0, 0], [0, 0, 0]], never), [np.log(0.25), -np.inf, 0]
    )
    assert_allclose(
        Categorical(3).from_natural(Categorical(3).natural(never))["probabilities"], [0, 0.25, 0.75]
    )

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
