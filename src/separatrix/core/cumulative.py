"""Cumulative links of ordered classes:  P(Y ≤ k | η) = F(θ_k − η),  so that P(Y = k | η) = F(b) − F(a).

    a = θ_{k−1} − η,   b = θ_k − η,   δ = b − a > 0;    the first class has a = −∞, the last b = +∞

    logit    F(s) = 1/(1 + e⁻ˢ)     −log P = log(1 + e⁻ᵇ) + log(1 + eᵃ) − log(1 − e^{−δ})
    probit   F(s) = Φ(s)            log P = log Φ(b) + log(1 − Φ(a)/Φ(b)), turned to the tail where both are small
    cloglog  F(s) = 1 − exp(−eˢ)    log P = −eᵃ + log(1 − exp(−(eᵇ − eᵃ)))

−log P is jointly convex in (a, b) where the density of F is log-concave (Pratt 1981), as these three are. No two
numbers near one are subtracted, so that probabilities keep their digits in both tails and between close thresholds.
The logit's is a sum of logistic losses and of a term in δ alone: what verdict/ordinal.py proves rests on that.

The quadratic form of the second derivatives is ``lower`` a² + ``upper`` b² + ``between`` (b − a)². Cost O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from separatrix.core.numerics import LOG_2PI, FloatArray, expit, log1mexp, log1pexp

LARGEST = 700.0  # of a score whose exponential is taken: eˢ stays finite


@dataclass(frozen=True)
class Pieces:
    """−log P of each row's own class and its derivatives, from shared terms; each is (n,).

    ``slope`` is ∂/∂η, ``at_lower`` ∂/∂a and ``at_upper`` ∂/∂b (their sum is −slope); see the module for the others.
    """

    value: FloatArray
    slope: FloatArray
    at_lower: FloatArray
    at_upper: FloatArray
    lower: FloatArray
    upper: FloatArray
    between: FloatArray


@dataclass(frozen=True)
class CumulativeLink:
    """What every cumulative link offers; ``proven`` says that the bound of verdict/ordinal.py holds for it."""

    name: ClassVar[str]
    proven: ClassVar[bool] = False

    def pieces(self, eta: FloatArray, codes: np.ndarray, thresholds: FloatArray) -> Pieces:
        """−log P of the classes ``codes`` (n,) at scores ``eta`` (n,), with its derivatives."""
        a, b = _ends(eta, codes, thresholds)
        with np.errstate(all="ignore"):
            log_p = self._log_between(a, b, np.append(np.diff(_all_ends(thresholds)), np.inf)[codes])
            low, high = np.exp(self._log_density(a) - log_p), np.exp(self._log_density(b) - log_p)
            low, high = np.where(np.isfinite(a), low, 0.0), np.where(np.isfinite(b), high, 0.0)
            lower = np.where(low > 0, low * (self._bend(a) + low - high), 0.0)
            upper = np.where(high > 0, high * (high - low - self._bend(b)), 0.0)
        return Pieces(-log_p, high - low, low, -high, lower, upper, low * high)

    def log_probabilities(self, eta: FloatArray, thresholds: FloatArray) -> FloatArray:
        """log P of every class: (n, K)."""
        ends = _all_ends(thresholds)
        a, b = ends[:-1] - eta[:, None], ends[1:] - eta[:, None]
        with np.errstate(all="ignore"):
            return self._log_between(a, b, np.broadcast_to(np.diff(ends), a.shape))

    def scores_of(self, below: FloatArray, above: FloatArray) -> FloatArray:
        """F⁻¹ of the shares ``below``, whose complements are ``above``: thresholds of no columns."""
        raise NotImplementedError

    def below(self, scores: FloatArray) -> FloatArray:
        """F of scores of any shape."""
        raise NotImplementedError

    def density(self, scores: FloatArray) -> FloatArray:
        """F' of scores of any shape, 0 at ±∞."""
        with np.errstate(all="ignore"):
            return np.where(np.isfinite(scores), np.exp(self._log_density(scores)), 0.0)

    def _log_between(self, a: FloatArray, b: FloatArray, delta: FloatArray) -> FloatArray:
        """log (F(b) − F(a))."""
        raise NotImplementedError

    def _log_density(self, s: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _bend(self, s: FloatArray) -> FloatArray:
        """f'/f."""
        raise NotImplementedError


@dataclass(frozen=True)
class CumulativeLogit(CumulativeLink):
    """F(s) = 1/(1 + e⁻ˢ): proportional odds.

    >>> CumulativeLogit().log_probabilities(np.array([0.0, 800.0]), np.array([-1.0, 1.0])).round(3)[
    ...     :, :2
    ... ].tolist()
    [[-1.313, -0.772], [-801.0, -799.145]]
    """

    name = "logit"
    proven = True

    def pieces(self, eta: FloatArray, codes: np.ndarray, thresholds: FloatArray) -> Pieces:
        a, b = _ends(eta, codes, thresholds)
        with np.errstate(over="ignore"):
            delta = np.diff(_all_ends(thresholds))
            apart, odds = -log1mexp(-delta), 1.0 / np.expm1(delta)
            bend = 0.25 / np.sinh(0.5 * delta) ** 2
        above, below = expit(-b), expit(a)  # σ(−b) and σ(a): how far η is past either end
        own = odds[codes]
        value = log1pexp(-b) + log1pexp(a) + apart[codes]
        return Pieces(
            value, above - below, below + own, -above - own, below * expit(-a), above * expit(b), bend[codes]
        )

    def scores_of(self, below: FloatArray, above: FloatArray) -> FloatArray:
        return np.log(below) - np.log(above)

    def below(self, scores: FloatArray) -> FloatArray:
        return expit(scores)

    def _log_between(self, a: FloatArray, b: FloatArray, delta: FloatArray) -> FloatArray:
        return -log1pexp(-b) - log1pexp(a) + log1mexp(-delta)

    def _log_density(self, s: FloatArray) -> FloatArray:
        return -log1pexp(-s) - log1pexp(s)

    def _bend(self, s: FloatArray) -> FloatArray:
        return 1.0 - 2.0 * expit(s)


@dataclass(frozen=True)
class CumulativeProbit(CumulativeLink):
    """F(s) = Φ(s): a normal variable behind the classes, seen through its thresholds.

    >>> CumulativeProbit().log_probabilities(np.array([0.0, 40.0]), np.array([-1.0, 1.0])).round(3)[
    ...     :, :2
    ... ].tolist()
    [[-1.841, -0.382], [-845.133, -765.083]]
    """

    name = "probit"

    def scores_of(self, below: FloatArray, above: FloatArray) -> FloatArray:
        from scipy.special import ndtri

        return np.where(below < 0.5, ndtri(below), -ndtri(above))

    def below(self, scores: FloatArray) -> FloatArray:
        from scipy.special import ndtr

        return np.asarray(ndtr(scores))

    def _log_between(self, a: FloatArray, b: FloatArray, delta: FloatArray) -> FloatArray:
        from scipy.special import log_ndtr

        turned = a + b > 0  # both ends to the lower tail, where log Φ keeps its digits
        low, high = np.where(turned, -b, a), np.where(turned, -a, b)
        top = log_ndtr(high)
        return np.asarray(top + log1mexp(np.minimum(log_ndtr(low) - top, 0.0)))

    def _log_density(self, s: FloatArray) -> FloatArray:
        return -0.5 * s * s - 0.5 * LOG_2PI

    def _bend(self, s: FloatArray) -> FloatArray:
        return -s


@dataclass(frozen=True)
class CumulativeCLogLog(CumulativeLink):
    """F(s) = 1 − exp(−eˢ): proportional hazards of grouped times.

    >>> link = CumulativeCLogLog()
    >>> link.log_probabilities(np.array([0.0, 40.0]), np.array([-1.0, 1.0])).round(3)[:, :2].tolist()
    [[-1.178, -0.468], [-41.0, -39.145]]
    """

    name = "cloglog"

    def scores_of(self, below: FloatArray, above: FloatArray) -> FloatArray:
        return np.log(-np.log(above))

    def below(self, scores: FloatArray) -> FloatArray:
        return -np.expm1(-np.exp(np.minimum(scores, LARGEST)))

    def _log_between(self, a: FloatArray, b: FloatArray, delta: FloatArray) -> FloatArray:
        a, b = np.minimum(a, LARGEST), np.where(b > LARGEST, np.inf, b)
        log_u = np.where(np.isinf(b), np.inf, b + log1mexp(-delta))  # u = eᵇ − eᵃ
        u = np.exp(np.minimum(log_u, LARGEST))
        return np.where(u < 1e-8, log_u - 0.5 * u, log1mexp(-u)) - np.exp(a)

    def _log_density(self, s: FloatArray) -> FloatArray:
        return s - np.exp(np.minimum(s, LARGEST))

    def _bend(self, s: FloatArray) -> FloatArray:
        return -np.expm1(np.minimum(s, LARGEST)) + 0.0


LINKS: dict[str, CumulativeLink] = {
    link.name: link for link in (CumulativeLogit(), CumulativeProbit(), CumulativeCLogLog())
}


def _all_ends(thresholds: FloatArray) -> FloatArray:
    """−∞, θ_1 … θ_{K−1}, +∞."""
    return np.concatenate([[-np.inf], thresholds, [np.inf]])


def _ends(eta: FloatArray, codes: np.ndarray, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(a, b) of each row's own class."""
    ends = _all_ends(thresholds)
    return ends[codes] - eta, ends[codes + 1] - eta
