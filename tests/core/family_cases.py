"""A case of every family: a parameter, an independent density, a quadrature, a prior and a chart."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from separatrix.core.families import (
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
)
from tests.draws import examples

quick = examples(15)
COVARIANCE = np.array([[2.0, 0.6], [0.6, 0.5]])


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
