"""Links of probabilities, exact in both tails (notes [6867] 3.1.1, 3.2.3; row D8).

    name      η = g(μ)           μ(η)              μ'(η)            1 − μ
    logit     log μ/(1 − μ)      1/(1 + e^{−η})    μ(1 − μ)         1/(1 + e^η)
    probit    Φ⁻¹(μ)             Φ(η)              φ(η)             Φ(−η)
    cloglog   log(−log(1 − μ))   1 − exp(−e^η)     e^η exp(−e^η)    exp(−e^η)

O(size).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import ArrayLike

from separatrix.core import numerics
from separatrix.core.links.base import Link, Pieces, Rate, quiet
from separatrix.core.numerics import FloatArray, expit, horner, log1mexp, log1pexp, product, real

# Series: Mills' ratio, φ(x)/Φ(−x) − x = Σ c x^{−2j−1}; 1 − x/(eˣ − 1) = x/2 + x² Σ c x²ʲ.
MILLS = [1.0, -2.0, 10.0, -74.0, 706.0, -8162.0, 110410.0]
BERNOULLI = [-1 / 12, 1 / 720, -1 / 30240, 1 / 1209600]


@dataclass(frozen=True)
class Logit(Link):
    """η = log μ/(1 − μ): canonical for the binomial. Notes [6867] 3.1.1, 3.2.2.

    >>> print(Logit().complement(700.0))
    9.85967654375977e-305
    """

    name = "logit"
    image = (0.0, 1.0)
    symmetric = True

    def _eta(self, mu: FloatArray) -> FloatArray:
        return numerics.logit(mu)

    def _mean(self, eta: FloatArray) -> FloatArray:
        return expit(eta)

    def _first(self, eta: FloatArray) -> FloatArray:
        e = np.exp(-np.abs(eta))
        return e / (1.0 + e) ** 2

    def _second(self, eta: FloatArray) -> FloatArray:
        return -np.tanh(0.5 * eta) * self._first(eta)  # 1 − 2μ = −tanh(η/2)

    @quiet
    def pieces(self, eta: ArrayLike) -> Pieces:
        eta = real(eta)
        e = np.exp(-np.abs(eta))
        large = 1.0 / (1.0 + e)
        small = e * large
        up = eta >= 0
        return np.where(up, large, small), np.where(up, small, large), small * large

    def complement(self, eta: ArrayLike) -> FloatArray:
        return expit(-real(eta))

    def log_mean(self, eta: ArrayLike) -> FloatArray:
        return -log1pexp(-real(eta))

    def log_complement(self, eta: ArrayLike) -> FloatArray:
        return -log1pexp(eta)

    @quiet
    def growth(self, eta: ArrayLike) -> Rate:
        eta = real(eta)
        return expit(-eta), -self._first(eta)

    @quiet
    def fall(self, eta: ArrayLike) -> Rate:
        eta = real(eta)
        return expit(eta), self._first(eta)


@dataclass(frozen=True)
class Probit(Link):
    """η = Φ⁻¹(μ), Φ the standard normal distribution function. Notes [6867] 3.2.3.

    >>> print(Probit().growth(-1e3)[0].round(6), Probit().first(-1e3))  # φ/Φ, both of which underflow
    1000.001 0.0
    """

    name = "probit"
    image = (0.0, 1.0)
    symmetric = True

    def _eta(self, mu: FloatArray) -> FloatArray:
        return scipy.special.ndtri(mu)

    def _mean(self, eta: FloatArray) -> FloatArray:
        return scipy.special.ndtr(eta)

    def _first(self, eta: FloatArray) -> FloatArray:
        return np.exp(-0.5 * eta * eta) / math.sqrt(2.0 * math.pi)

    def _second(self, eta: FloatArray) -> FloatArray:
        return product(self._first(eta), -eta)

    @quiet
    def pieces(self, eta: ArrayLike) -> Pieces:
        eta = real(eta)
        return scipy.special.ndtr(eta), scipy.special.ndtr(-eta), self._first(eta)

    def complement(self, eta: ArrayLike) -> FloatArray:
        return scipy.special.ndtr(-real(eta))

    @quiet
    def log_mean(self, eta: ArrayLike) -> FloatArray:
        return scipy.special.log_ndtr(real(eta))

    @quiet
    def log_complement(self, eta: ArrayLike) -> FloatArray:
        return scipy.special.log_ndtr(-real(eta))

    @quiet
    def growth(self, eta: ArrayLike) -> Rate:
        hazard, slope = _normal_hazard(-real(eta))
        return hazard, -slope

    @quiet
    def fall(self, eta: ArrayLike) -> Rate:
        return _normal_hazard(real(eta))


@dataclass(frozen=True)
class CLogLog(Link):
    """η = log(−log(1 − μ)): a rate e^η seen as "at least one". Notes [6867] 3.2.3.

    >>> print(CLogLog().log_mean(-1e3))  # whose e^η underflows
    -1000.0
    """

    name = "cloglog"
    image = (0.0, 1.0)

    def _eta(self, mu: FloatArray) -> FloatArray:
        return np.log(-np.log1p(-mu))

    def _mean(self, eta: FloatArray) -> FloatArray:
        return -np.expm1(-np.exp(eta))

    def _first(self, eta: FloatArray) -> FloatArray:
        return self._slope(eta, np.exp(eta))

    def _second(self, eta: FloatArray) -> FloatArray:
        x = np.exp(eta)
        return product(self._slope(eta, x), 1.0 - x)

    def _slope(self, eta: FloatArray, x: FloatArray) -> FloatArray:
        return np.exp(np.minimum(eta, 1e3) - x)  # the cap against inf − inf

    @quiet
    def pieces(self, eta: ArrayLike) -> Pieces:
        eta = real(eta)
        x = np.exp(eta)
        return -np.expm1(-x), np.exp(-x), self._slope(eta, x)

    @quiet
    def complement(self, eta: ArrayLike) -> FloatArray:
        return np.exp(-np.exp(real(eta)))

    @quiet
    def log_mean(self, eta: ArrayLike) -> FloatArray:
        eta = real(eta)
        x = np.exp(eta)
        return np.where(eta < -30, eta - 0.5 * x, log1mexp(-x))

    @quiet
    def log_complement(self, eta: ArrayLike) -> FloatArray:
        return -np.exp(real(eta))

    @quiet
    def growth(self, eta: ArrayLike) -> Rate:
        x = np.minimum(np.exp(real(eta)), 1e3)  # eˣ is infinite there already
        u = x / np.expm1(x)
        short = np.where(x < 0.1, 0.5 * x + x * x * horner(x * x, BERNOULLI), 1.0 - u)  # 1 − u
        u = np.where(x < 0.1, 1.0 - short, u)
        return u, u * (short - x)

    @quiet
    def fall(self, eta: ArrayLike) -> Rate:
        x = np.exp(real(eta))
        return x, x.copy()


def _normal_hazard(x: FloatArray) -> Rate:
    """h(x) = φ(x)/Φ(−x), and h' = h (h − x): x + 1/x − … far up, where both parts underflow and h − x cancels."""
    h = math.sqrt(2.0 / math.pi) / scipy.special.erfcx(x * math.sqrt(0.5))
    slope = product(h, h - x)
    if np.any(x > 30):
        far = np.maximum(x, 30.0)
        above = horner((1.0 / far) ** 2, MILLS)  # x (h − x)
        excess = above / far
        h, slope = np.where(x > 30, x + excess, h), np.where(x > 30, above + excess**2, slope)
    return h, slope
