"""Responses with means above 0, given log μ beside μ (notes [6867] 3.1.3; row D8).

    response          V(μ)       ½ unit deviance
    Poisson           μ          y log y/μ − y + μ
    Gamma             μ²         y/μ − 1 − log y/μ
    InverseGaussian   μ³         (y − μ)²/2yμ²
    NegativeBinomial  μ + μ²/k   y log y/μ − (y + k) log (y + k)/(μ + k)

O(size), two to four transcendentals a row.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core import families
from separatrix.core.links import Link, Log
from separatrix.core.numerics import FloatArray, real
from separatrix.core.responses.base import Curvature, Response, Terms
from separatrix.core.responses.deviance import divergence, short
from separatrix.core.special import log_multinomial, log_poisson

SMALL = 64  # counts whose y log y − y is kept in a table
SATURATED = np.array([0.0, *(k * math.log(k) - k for k in range(1, SMALL))])


@dataclass(frozen=True)
class Positive(Response):
    """Means above 0, with u = d log μ/dη, which no link loses in its tails:

        ℓ' = u s,  E ℓ'' = u² e,  ℓ'' = u² o + u' s,     s = (μ − y)μ/V,  e = μ²/V,  o = e + s (1 − μV'/V)

    Each is given log μ beside μ, for μ may be 0 or infinite where its logarithm is not.
    """

    @abstractmethod
    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray: ...  # s

    @abstractmethod
    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray: ...  # e

    @abstractmethod
    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray: ...  # o

    def _half_deviance(self, y: FloatArray, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return self._half(y, mu, np.log(mu))

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return y <= 0

    def _terms(self, link: Link, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms:
        mu, log_mu = link.inverse(eta), link.log_mean(eta)
        value, pull = self._half(y, mu, log_mu), self._pull(y, mu, log_mu)
        bent = None
        if curvature == "expected":
            bent = self._expected(mu, log_mu)
        elif curvature == "observed":
            bent = self._observed(y, mu, log_mu)
        if isinstance(link, Log):  # u = 1
            return value, pull, bent
        u, du = link.growth(eta)
        if bent is not None:
            bent = u * u * bent
            if curvature == "observed":
                bent += du * pull
        return value, u * pull, bent


@dataclass(frozen=True)
class Poisson(Positive):
    """V = μ, ½ deviance y log y/μ − y + μ; a rate y ≥ 0 need not be whole. Notes [6867] 3.1.3; row D8.

    >>> print(Poisson().log_likelihood(3, 2.0).round(4))
    -1.7123
    """

    name, support = "poisson", "a number of 0 or more"
    family = families.Poisson()
    canonical = default_link = "log"
    known_dispersion = True

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu.copy()

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return y < 0

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        return w * log_poisson(y, y, np.log(y))

    def start(self, y: ArrayLike, weight: ArrayLike = 1.0) -> FloatArray:
        return real(y) + 0.1

    def _terms(self, link: Link, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms:
        counts = _small_counts(y) if isinstance(link, Log) else None
        if counts is None or not math.isfinite(eta.sum()):
            return super()._terms(link, eta, y, curvature)
        mu = np.exp(eta)
        value = mu - y * eta
        value += SATURATED[counts]  # what cancels here is below SMALL · EPS
        return value, mu - y, None if curvature == "none" else mu

    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return divergence(y, mu, y - mu, log_mu)

    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return mu - y

    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return mu

    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return mu


@dataclass(frozen=True)
class Gamma(Positive):
    """V = μ², ½ deviance y/μ − 1 − log y/μ; the shape is 1/φ. Notes [6867] 3.1.3; row D8.

    >>> print(Gamma().log_likelihood(1.0, 2.0).round(4))  # an exponential of mean 2
    -1.1931
    """

    name, support = "gamma", "a number above 0"
    family = families.Gamma()
    canonical = default_link = "inverse"

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu * mu

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        shape = 1.0 / phi
        return w * (log_poisson(shape, shape, np.log(shape)) + np.log(shape) - np.log(y))

    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return divergence(np.ones_like(y), y / mu, short(y, mu), np.log(y) - log_mu)

    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return short(y, mu)

    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return np.ones_like(mu)

    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return y / mu


@dataclass(frozen=True)
class InverseGaussian(Positive):
    """V = μ³, deviance (y − μ)²/yμ²; row D8. Notes [6867] 3.1.3.

    >>> print(InverseGaussian().log_likelihood(1.0, 1.0).round(4))
    -0.9189
    """

    name, support = "inverse_gaussian", "a number above 0"
    canonical = default_link = "inverse_squared"

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu * mu * mu

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        return -0.5 * w * (np.log(2 * math.pi * phi) + 3 * np.log(y))

    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return 0.5 * short(y, mu) ** 2 / y

    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return short(y, mu) / mu

    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return 1.0 / mu

    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return (2.0 * y / mu - 1.0) / mu


@dataclass(frozen=True)
class NegativeBinomial(Positive):
    """V = μ + μ²/k with the size k known (MASS's theta, 1/alpha of statsmodels). Notes [6867] 3.1.3; row D8.

    ½ deviance = y log y/m + k log k/n with m = μ(y + k)/(μ + k), n = k(y + k)/(μ + k) and y + k = m + n: the two
    terms of a binomial, of one sign once y − m = k − n is moved between them.

    >>> NegativeBinomial(2.0).variance([0.0, 2.0, 4.0])
    array([ 0.,  4., 12.])
    """

    size: float

    name, support = "negative_binomial", "a number of 0 or more"
    default_link = "log"
    known_dispersion = True

    def __post_init__(self) -> None:
        if not 0 < self.size < np.inf:
            raise ValueError(f"the size of a negative binomial must be a positive number, not {self.size}")

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu + mu * (mu / self.size)

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return y < 0

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        parts = np.stack([y, np.full_like(y, self.size)], axis=-1)
        p = parts / (y + self.size)[..., None]
        return w * (log_multinomial(parts, p, np.log(p)) + np.log(p[..., 1]))

    def start(self, y: ArrayLike, weight: ArrayLike = 1.0) -> FloatArray:
        y = real(y)
        return y + (y == 0) / 6.0

    def _share(self, mu: FloatArray) -> FloatArray:
        """μ/(μ + k)."""
        return 1.0 / (1.0 + self.size / mu)

    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        k, total = self.size, y + self.size
        log_total = np.log(total)
        odds = log_total - np.where(np.isinf(mu), log_mu, np.log(mu + k))  # log (y + k)/(μ + k)
        log_part = np.where(log_mu == np.inf, log_total, log_mu + odds)
        d = -self._pull(y, mu, log_mu)
        size = np.full_like(d, k)
        first = divergence(y, total * self._share(mu), d, log_part)
        return first + divergence(size, k * total / (mu + k), -d, math.log(k) + odds)

    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        k = self.size
        return np.where(np.isinf(mu), k, (mu - y) / (1.0 + mu / k))

    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return self.size * self._share(mu)

    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return (y + self.size) * self._share(mu) / (1.0 + mu / self.size)


def _small_counts(y: FloatArray) -> NDArray[np.intp] | None:
    """y as indices where all of it is whole and small, else None."""
    if y.dtype != np.float64 or y.ndim != 1 or len(y) == 0 or not (y.min() >= 0 and y.max() < SMALL):
        return None
    counts = y.astype(np.intp)
    return counts if bool(np.all(counts == y)) else None
