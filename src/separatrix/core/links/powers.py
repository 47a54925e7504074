"""Links of means of any size, powers of the score and its exponential (notes [6867] 3.1.3; row D8).

    name             η = g(μ)   μ(η)        μ'(η)
    identity         μ          η           1
    log              log μ      e^η         e^η
    inverse          1/μ        1/η         −1/η²
    sqrt             √μ         η²          2η
    inverse_squared  1/μ²       η^{−1/2}    −½ η^{−3/2}

O(size).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.links.base import Link, Pieces, Rate, quiet
from separatrix.core.numerics import FloatArray, log1mexp, real


@dataclass(frozen=True)
class _Power(Link):
    """μ = η^k, so that d log μ/dη = k/η."""

    exponent: ClassVar[float]

    @quiet
    def log_mean(self, eta: ArrayLike) -> FloatArray:
        return self.exponent * np.log(real(eta))

    @quiet
    def growth(self, eta: ArrayLike) -> Rate:
        eta = real(eta)
        u = self.exponent / eta
        return u, -u / eta


@dataclass(frozen=True)
class Identity(_Power):
    """η = μ: canonical for the Gaussian. Notes [6867] 3.2.1.

    >>> Identity().first([3.0, -2.0])
    array([1., 1.])
    """

    name = "identity"
    image = (-np.inf, np.inf)
    exponent = 1.0

    def _eta(self, mu: FloatArray) -> FloatArray:
        return mu.copy()

    def _mean(self, eta: FloatArray) -> FloatArray:
        return eta.copy()

    def _first(self, eta: FloatArray) -> FloatArray:
        return np.ones_like(eta)

    def _second(self, eta: FloatArray) -> FloatArray:
        return np.zeros_like(eta)


@dataclass(frozen=True)
class Log(Link):
    """η = log μ: canonical for the Poisson. Means of any size above 0; below 1 where η < 0.

    >>> Log().complement([-1e-20])
    array([1.e-20])
    """

    name = "log"

    def _eta(self, mu: FloatArray) -> FloatArray:
        return np.log(mu)

    def _mean(self, eta: FloatArray) -> FloatArray:
        return np.exp(eta)

    def _first(self, eta: FloatArray) -> FloatArray:
        return np.exp(eta)

    def _second(self, eta: FloatArray) -> FloatArray:
        return np.exp(eta)

    @quiet
    def pieces(self, eta: ArrayLike) -> Pieces:
        mu = np.exp(real(eta))
        return mu, None, mu.copy()

    @quiet
    def complement(self, eta: ArrayLike) -> FloatArray:
        return -np.expm1(real(eta))

    def log_mean(self, eta: ArrayLike) -> FloatArray:
        return real(eta).copy()

    @quiet
    def log_complement(self, eta: ArrayLike) -> FloatArray:
        return log1mexp(real(eta))

    def growth(self, eta: ArrayLike) -> Rate:
        eta = real(eta)
        return np.ones_like(eta), np.zeros_like(eta)

    @quiet
    def fall(self, eta: ArrayLike) -> Rate:
        r = 1.0 / np.expm1(-real(eta))
        return r, r + r * r


@dataclass(frozen=True)
class Inverse(_Power):
    """η = 1/μ on η > 0: canonical for the Gamma. Notes [6867] 3.1.3.

    >>> Inverse().inverse([0.5, 4.0])
    array([2.  , 0.25])
    """

    name = "inverse"
    exponent = -1.0

    def _eta(self, mu: FloatArray) -> FloatArray:
        return 1.0 / mu

    def _mean(self, eta: FloatArray) -> FloatArray:
        return 1.0 / eta

    def _first(self, eta: FloatArray) -> FloatArray:
        return -1.0 / (eta * eta)

    def _second(self, eta: FloatArray) -> FloatArray:
        return 2.0 / (eta * eta * eta)


@dataclass(frozen=True)
class Sqrt(_Power):
    """η = √μ on η > 0: the scale on which a Poisson's variance is nearly constant.

    >>> Sqrt().inverse([0.5, 3.0])
    array([0.25, 9.  ])
    """

    name = "sqrt"
    exponent = 2.0

    def _eta(self, mu: FloatArray) -> FloatArray:
        return np.sqrt(mu)

    def _mean(self, eta: FloatArray) -> FloatArray:
        return eta * eta

    def _first(self, eta: FloatArray) -> FloatArray:
        return 2.0 * eta

    def _second(self, eta: FloatArray) -> FloatArray:
        return np.full_like(eta, 2.0)


@dataclass(frozen=True)
class InverseSquared(_Power):
    """η = 1/μ² on η > 0: canonical for the inverse Gaussian. Notes [6867] 3.1.3.

    >>> InverseSquared().inverse([0.25, 4.0])
    array([2. , 0.5])
    """

    name = "inverse_squared"
    exponent = -0.5

    def _eta(self, mu: FloatArray) -> FloatArray:
        return (1.0 / mu) ** 2

    def _mean(self, eta: FloatArray) -> FloatArray:
        return 1.0 / np.sqrt(eta)

    def _first(self, eta: FloatArray) -> FloatArray:
        return -0.5 / (eta * np.sqrt(eta))

    def _second(self, eta: FloatArray) -> FloatArray:
        return 0.75 / (eta * eta * np.sqrt(eta))
