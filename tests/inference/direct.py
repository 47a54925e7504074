"""A fit by its definition, and rows to try it on: matrices in NumPy, constrained fits by Fisher scoring."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import optimize

from separatrix import GeneralizedLinearModel
from separatrix.core.links import link as link_of
from separatrix.core.responses import GlmLoss
from tests.draws import examples

few = examples(4)
seeds = st.integers(0, 10_000)
KINDS = {
    "gaussian": ("gaussian", "identity", {}),
    "gaussian log": ("gaussian", "log", {}),
    "logit": ("binomial", "logit", {}),
    "probit": ("binomial", "probit", {}),
    "cloglog": ("binomial", "cloglog", {}),
    "poisson": ("poisson", "log", {}),
    "gamma": ("gamma", "inverse", {}),
    "gamma log": ("gamma", "log", {}),
    "inverse gaussian": ("inverse_gaussian", "inverse_squared", {}),
    "negative binomial": ("negative_binomial", "log", {"size": 2.0}),
    "tweedie": ("tweedie", "log", {"power": 1.5}),
}
CANONICAL = ("gaussian", "logit", "poisson", "gamma", "inverse gaussian")
FREE = ("gaussian", "gaussian log", "gamma", "gamma log", "inverse gaussian", "tweedie")
kinds = pytest.mark.parametrize("kind", KINDS)


def glm(kind, **parameters):
    family, link, own = KINDS[kind]
    return GeneralizedLinearModel(family, link, **own, **parameters)


def draw(kind, seed=0, n=70, p=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    eta = 1.0 + 0.3 * X @ np.array([1.0, -1.0, 0.5][:p])
    family, name, _ = KINDS[kind]
    mu = link_of(name).inverse(eta - (family == "binomial"))
    match family:
        case "gaussian":
            y = mu + 0.3 * rng.standard_normal(n)
        case "binomial":
            y = (rng.random(n) < mu).astype(float)
        case "poisson" | "negative_binomial":
            y = rng.poisson(mu).astype(float)
        case "tweedie":
            y = np.array([rng.gamma(2.0, 0.5, k).sum() for k in rng.poisson(mu)])
        case "inverse_gaussian":
            y = rng.wald(mu, 8.0)
        case _:
            y = rng.gamma(4.0, mu / 4.0)
    return X, y


class Direct:
    """A fit by its definition: A = [1 X], Σ s ½d, expected information, all in plain NumPy."""

    def __init__(self, kind, X, y, model, frequency=None, precision=None, offset=0.0):
        family, name, own = KINDS[kind]
        self.loss = GlmLoss.of(family, name, **own)
        self.A, self.y, self.offset = np.column_stack([np.ones(len(y)), X]), y, offset
        self.f = np.ones(len(y)) if frequency is None else frequency
        self.v = np.ones(len(y)) if precision is None else precision
        self.s = self.f * self.v
        self.beta = np.append(model.intercept_, model.coef_)
        self.free = kind in FREE
        self.k = self.A.shape[1]
        self.df = self.f.sum() - self.k
        self.mu = self.loss.link.inverse(self.eta(self.beta))
        V = self.loss.response.variance(self.mu)
        self.phi = float(self.s @ ((y - self.mu) ** 2 / V)) / self.df if self.free else 1.0
        self.w = self.loss.link.first(self.eta(self.beta)) ** 2 / V
        self.bread = np.linalg.inv((self.A * (self.s * self.w)[:, None]).T @ self.A)
        self.u = -(y - self.mu) * self.loss.link.first(self.eta(self.beta)) / V * self.v
        self.h = self.w * self.v * np.einsum("ij,jk,ik->i", self.A, self.bread, self.A)

    def eta(self, b):
        return self.A @ b + self.offset

    def value(self, b):
        v = self.loss.value(self.eta(b), self.y)
        return float(self.s @ v) if np.isfinite(v).all() else 1e300

    def slope(self, b):
        return self.A.T @ (self.s * self.loss.slope(self.eta(b), self.y))

    def expected(self, b):
        w = self.loss.derivatives(self.eta(b), self.y)[2]
        return (self.A * (self.s * w)[:, None]).T @ self.A

    def constrained(self, fixed):
        """min Σ s ½d with some coordinates fixed: Fisher scoring on the rest."""
        free = [j for j in range(self.k) if j not in fixed]
        b = self.beta.copy()
        for j, v in fixed.items():
            b[j] = v
        found = optimize.minimize(
            lambda z: self.value(self._put(b, free, z)),
            b[free],
            jac=lambda z: self.slope(self._put(b, free, z))[free],
            method="BFGS",
            options={"gtol": 1e-9},
        )
        b = self._put(b, free, found.x)
        for _ in range(30):
            step = np.linalg.solve(self.expected(b)[np.ix_(free, free)], self.slope(b)[free])
            new = b.copy()
            new[free] -= step
            if not self.value(new) <= self.value(b) + 1e-12 * abs(self.value(b)):
                break
            b = new
        return b

    def _put(self, b, free, z):
        b = b.copy()
        b[free] = z
        return b


def both(kind, seed=0, n=70, **extra):
    X, y = draw(kind, seed, n)
    rng = np.random.default_rng(seed + 1)
    given = {}
    if extra.get("frequency"):
        given["frequency"] = rng.integers(1, 4, n).astype(float)
    if extra.get("precision"):
        given["precision"] = rng.uniform(0.5, 2.0, n)
    if extra.get("offset"):
        given["offset"] = rng.uniform(-0.1, 0.1, n)
    model = glm(kind).fit(X, y, given.get("frequency"), given.get("offset"), precision=given.get("precision"))
    return model, Direct(kind, X, y, model, **given)


def firth_objective(link, A, y):
    loss = GlmLoss.of("binomial", link)

    def value(b):
        eta = A @ b
        w = loss.derivatives(eta, y)[2]
        sign, log_det = np.linalg.slogdet((A * w[:, None]).T @ A)
        return float(loss.value(eta, y).sum()) - 0.5 * log_det if sign > 0 else np.inf

    return value
