"""The binomial response, V = μ(1 − μ), in both tails (notes [6867] 3.2.2; row D8). O(size)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core import families
from separatrix.core.links import Link, Logit
from separatrix.core.losses import Logistic
from separatrix.core.numerics import FloatArray, product, real
from separatrix.core.responses.base import Curvature, Response, Terms
from separatrix.core.responses.deviance import Pair, divergence
from separatrix.core.special import log_multinomial


@dataclass(frozen=True)
class Binomial(Response):
    """V = μ(1 − μ) for a proportion y of w trials, or y = 0 or 1. Notes [6867] 3.2.2; row D8.

    ½ deviance = y log y/μ + (1 − y) log (1 − y)/(1 − μ), two terms of one sign once y − μ is moved between them.

    >>> Binomial().unit_deviance([0.0, 1.0, 0.25], [0.5, 1.0, 0.25]).round(4)
    array([1.3863, 0.    , 0.    ])
    >>> print(Binomial().log_likelihood(0.4, 0.5, weight=5).round(4))  # 10 / 32
    -1.1632
    """

    name, support = "binomial", "a number from 0 to 1"
    family = families.Bernoulli()
    canonical = default_link = "logit"
    links = ("logit", "probit", "cloglog", "log", "identity")
    known_dispersion = True
    mean_range = (0.0, 1.0)

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu * (1.0 - mu if complement is None else complement)

    def _half_deviance(self, y: FloatArray, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        rest = 1.0 - mu if complement is None else complement
        log_rest = np.log1p(-mu) if complement is None else np.log(complement)
        d = self._residual(y, mu, rest)
        return self._half(y, d, (mu, np.log(mu)), (rest, log_rest))

    def _half(self, y: FloatArray, d: FloatArray, mean: Pair, rest: Pair) -> FloatArray:
        return divergence(y, mean[0], d, mean[1]) + divergence(1.0 - y, rest[0], -d, rest[1])

    def _residual(self, y: FloatArray, mu: FloatArray, rest: FloatArray) -> FloatArray:
        """y − μ, by complements above ½, where 1 − μ has digits that μ has not."""
        return np.where(mu < 0.5, y - mu, rest - (1.0 - y))

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return (y < 0) | (y > 1)

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        p = np.stack([y, 1.0 - y], axis=-1)
        return log_multinomial(w[..., None] * p, p, np.log(p))

    def start(self, y: ArrayLike, weight: ArrayLike = 1.0) -> FloatArray:
        w = real(weight)
        return (w * real(y) + 0.5) / (w + 1.0)

    def _terms(self, link: Link, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms:
        binary = bool(np.all((y == 0) | (y == 1)))
        if binary and isinstance(link, Logit):
            loss, sign = Logistic(), 2.0 * y - 1.0
            if curvature == "none":
                return *loss.value_slope(eta, sign), None
            return loss.derivatives(eta, sign)
        if isinstance(link, Logit):
            return self._logit(eta, y)
        if binary and link.symmetric:
            return self._signed(link, eta, 2.0 * y - 1.0, curvature)
        log_mu, log_rest = link.log_mean(eta), link.log_complement(eta)
        (rise, d_rise), (fall, d_fall) = link.growth(eta), link.fall(eta)
        if binary:
            one = y == 1
            value, slope = -np.where(one, log_mu, log_rest), np.where(one, -rise, fall)
        else:
            mu, rest, _ = link.pieces(eta)
            rest = link.complement(eta) if rest is None else rest
            d = self._residual(y, mu, rest)
            value = self._half(y, d, (mu, log_mu), (rest, log_rest))
            slope = -product(d, rise + fall)  # μ'/V = μ'/μ + μ'/(1 − μ)
        if curvature == "none":
            return value, slope, None
        if curvature == "expected":
            return value, slope, product(link.first(eta), rise + fall)
        return value, slope, product(1.0 - y, d_fall) - product(y, d_rise)

    def _signed(self, link: Link, eta: FloatArray, sign: FloatArray, curvature: Curvature) -> Terms:
        """ℓ = −log μ(±η) at y = 1 and 0, half the work where 1 − μ(η) = μ(−η)."""
        t = sign * eta
        rise, d_rise = link.growth(t)
        value, slope = -link.log_mean(t), -sign * rise
        if curvature == "none":
            return value, slope, None
        if curvature == "observed":
            return value, slope, -d_rise
        return value, slope, product(link.first(t), rise + link.fall(t)[0])

    def _logit(self, eta: FloatArray, y: FloatArray) -> Terms:
        """The canonical link at proportions: ℓ' = μ − y, ℓ'' = V."""
        e = np.exp(-np.abs(eta))
        one_more, softplus = 1.0 + e, np.log1p(e)
        up = eta >= 0
        small = e / one_more
        mu, rest = np.where(up, 1.0 / one_more, small), np.where(up, small, 1.0 / one_more)
        d = self._residual(y, mu, rest)
        logs = np.minimum(eta, 0.0) - softplus, -np.maximum(eta, 0.0) - softplus
        return self._half(y, d, (mu, logs[0]), (rest, logs[1])), -d, small / one_more
