"""The size k of a negative binomial by maximum likelihood, its means being known:  Var y = μ + μ²/k  ([6867] 3.1.3).

    score        ∂ℓ/∂k  = Σ_i s_i [ψ(k + y) − ψ(k) − log(1 + μ/k) + (μ − y)/(μ + k)]
    information −∂²ℓ/∂k² = Σ_i s_i [ψ'(k) − ψ'(k + y) − μ/(k(k + μ)) + (μ − y)/(μ + k)²]
    towards k = ∞       2k² ∂ℓ/∂k → −Σ_i s_i [(y − μ)² − y]

The last sum says which way the likelihood leaves the Poisson; for equal means there is a finite best k just where it
is positive (Levin and Reeds 1977), for others there may be one all the same. k is MASS's theta. As they stand the
terms cancel for large k; from k = 30 on the series of log Γ and ψ are subtracted term by term, and what is left has
one order, 1/k². Row D8. Shapes: y, μ, s (n,). Cost O(n) a call.
"""

from __future__ import annotations

import numpy as np
import scipy.optimize
import scipy.special

from separatrix.core.numerics import FloatArray

LARGE = 1e7  # a size beyond which a negative binomial cannot be told from a Poisson
SMALL = 1e-8
SERIES = 30.0  # from here on the series are good to the last digit
LOG_GAMMA = ((1, 1 / 12), (3, -1 / 360), (5, 1 / 1260), (7, -1 / 1680))
DIGAMMA = ((2, 1 / 12), (4, -1 / 120), (6, 1 / 252), (8, -1 / 240), (10, 5 / 660))
TRIGAMMA = ((3, 1 / 6), (5, -1 / 30), (7, 1 / 42), (9, -1 / 30), (11, 5 / 66))


def excess(y: FloatArray, mu: FloatArray, weight: FloatArray) -> float:
    """Σ s [(y − μ)² − y]: above zero where counts are more spread out than a Poisson's.

    >>> y = np.array([0.0, 6.0])
    >>> excess(y, np.full(2, 3.0), np.ones(2)), excess(y / 2, np.full(2, 1.5), np.ones(2))
    (12.0, 1.5)
    """
    return float(weight @ ((y - mu) ** 2 - y))


def size_score(k: float, y: FloatArray, mu: FloatArray, weight: FloatArray) -> float:
    """∂ℓ/∂k at given means."""
    if k < SERIES:
        rise = scipy.special.digamma(k + y) - scipy.special.digamma(k)
        return float(weight @ (rise - np.log1p(mu / k) + (mu - y) / (mu + k)))
    v = (y - mu) / (mu + k)
    return float(weight @ (np.log1p(v) - v + 0.5 * y / (k * (k + y)) + _tail(DIGAMMA, k, y)))


def size_information(k: float, y: FloatArray, mu: FloatArray, weight: FloatArray) -> float:
    """−∂²ℓ/∂k² at given means, the observed information MASS takes its standard error from."""
    if k < SERIES:
        fall = scipy.special.polygamma(1, k) - scipy.special.polygamma(1, k + y)
        return float(weight @ (fall - mu / (k * (k + mu)) + (mu - y) / (mu + k) ** 2))
    bend = 0.5 * y * (2.0 * k + y) / (k * (k + y)) ** 2 - ((y - mu) / (mu + k)) ** 2 / (k + y)
    return float(weight @ (bend + _tail(TRIGAMMA, k, y)))


def size_log_likelihood(k: float, y: FloatArray, mu: FloatArray, weight: FloatArray) -> float:
    """Σ s log p(y | μ, k), the terms of y alone left out; k = ∞ is the Poisson.

    >>> y, mu = np.array([0.0, 3.0]), np.array([1.0, 2.0])
    >>> gap = size_log_likelihood(1e9, y, mu, np.ones(2)) - size_log_likelihood(np.inf, y, mu, np.ones(2))
    >>> bool(abs(gap) < 1e-6)
    True
    """
    if k == np.inf:
        return float(weight @ (scipy.special.xlogy(y, mu) - mu))
    if k < SERIES:
        rise = scipy.special.gammaln(k + y) - scipy.special.gammaln(k) - y * np.log(k)
        return float(weight @ (rise + scipy.special.xlogy(y, mu) - (k + y) * np.log1p(mu / k)))
    v = (y - mu) / (mu + k)
    bend = (mu + k) * ((1.0 + v) * np.log1p(v) - v) - 0.5 * np.log1p(y / k) - _tail(LOG_GAMMA, k, y)
    return float(weight @ (scipy.special.xlogy(y, mu) - mu + bend))


def best_size(y: FloatArray, mu: FloatArray, weight: FloatArray, start: float) -> float:
    """The k at which the likelihood has its maximum nearest to ``start``, the means held; infinity, or 0, where it
    rises all the way.

    >>> y = np.array([0.0, 0, 1, 2, 3, 12])
    >>> round(best_size(y, np.full(6, 3.0), np.ones(6), 1.0), 6)
    0.582541
    >>> best_size(y[:4], np.full(4, 0.75), np.ones(4), 1.0)
    inf
    """

    def slope(t: float) -> float:
        k = float(np.exp(t))
        return k * size_score(k, y, mu, weight)

    low = high = float(np.log(np.clip(start, 10 * SMALL, 0.1 * LARGE)))
    while slope(low) < 0:
        high, low = low, low - 1.0
        if low <= np.log(SMALL):
            return 0.0
    while slope(high) > 0:
        low, high = high, high + 1.0
        if high >= np.log(LARGE):
            return np.inf
    return (
        float(np.exp(scipy.optimize.brentq(slope, low, high, xtol=1e-13, rtol=1e-13)))
        if low < high
        else start
    )


def first_size(y: FloatArray, mu: FloatArray, weight: FloatArray) -> float:
    """Where to begin: the best of the moments' Σ μ² / Σ [(y − μ)² − y] and a size for each order of magnitude.

    The likelihood may have several maxima: counts of small mean can be spread out while those of large mean are not.
    """
    spread = excess(y, mu, weight)
    tried = [10.0**e for e in range(-3, 6)]
    if spread > 0:
        tried.append(float(np.clip(float(weight @ (mu * mu)) / spread, 1e-3, 1e5)))
    return max(tried, key=lambda k: size_log_likelihood(k, y, mu, weight))


def _tail(series: tuple[tuple[int, float], ...], k: float, y: FloatArray) -> FloatArray:
    """Σ_j c_j (k⁻ʲ − (k + y)⁻ʲ), each difference by expm1."""
    shrink = -np.log1p(y / k)
    return np.asarray(sum(-c * k**-j * np.expm1(j * shrink) for j, c in series))
