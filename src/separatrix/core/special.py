"""Special functions of the families, free of cancellation: log densities at large parameters, and the solves
of Gamma, Beta and Dirichlet.

    log Poisson(x | m)      by Loader's form: Stirling's remainder and the deviance apart
    log a − ψ(a) = s        the shape of a Gamma by Newton
    ψ(α_k) − ψ(Σα) = l_k    the concentration of a Dirichlet (Minka)

All are elementwise, or along the last axis; cost is the number of cells.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy  # its submodules load on first use
from numpy.polynomial.polynomial import polyval

from separatrix.core.numerics import FloatArray

LARGEST_SHAPE = 1e9  # of a Gamma, and the sum of a Beta's or Dirichlet's: what a constant column gets
# Series: artanh v = v + v³ Σ c v²ʲ; log Γ(a + 1) − log √(2πa) aᵃe⁻ᵃ = Σ c a⁻²ʲ⁻¹; log a − ψ(a) = 1/2a + Σ c a⁻²ʲ⁻².
ATANH = [1 / k for k in range(3, 18, 2)]
STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360]
DIGAMMA = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760]


def log_poisson(x: FloatArray, m: FloatArray, log_m: FloatArray) -> FloatArray:
    """x log m − m − log Γ(x + 1) for real x ≥ 0, whose three terms cancel when x ≈ m is large.

    From 16 on (Loader 2000) −½ log 2πx − δ(x) − D, with δ Stirling's remainder and D = x log(x/m) − x + m ≥ 0,
    near m by its series in v = (x − m)/(x + m). log m comes apart, for m may be below the smallest number.
    """
    small = np.where(x == 0, 0.0, x * log_m) - m - scipy.special.gammaln(x + 1)
    if not np.any(x >= 16):
        return small
    big = np.maximum(x, 16.0)
    v = (big - m) / (big + m)
    near = (big - m) * v + 2 * big * v**3 * polyval(v * v, ATANH)
    D = np.where(np.abs(v) < 0.1, near, big * (np.log(big) - log_m) - big + m)
    delta = polyval(big**-2.0, STIRLING) / big
    return np.where(x < 16, small, -0.5 * np.log(2 * np.pi * big) - delta - D)


def log_multinomial(x: FloatArray, p: FloatArray, log_p: FloatArray) -> FloatArray:
    """log Γ(n + 1) − Σ log Γ(x_k + 1) + Σ x_k log p_k, n = Σx: Poissons, given their sum. Σp need not be 1."""
    n = x.sum(axis=-1, keepdims=True)
    parts = log_poisson(x, n * p, np.log(n) + log_p).sum(axis=-1)
    return parts - log_poisson(n, n, np.log(n))[..., 0] + n[..., 0] * (p.sum(axis=-1) - 1)


def log_dirichlet(alpha: FloatArray, x: FloatArray, log_x: FloatArray) -> FloatArray:
    """(Σα choose α) Π x^α · Πα / (Σα Πx), the multinomial with x and p in each other's place."""
    total = np.log(alpha.sum(axis=-1))
    return log_multinomial(alpha, x, log_x) + (np.log(alpha) - log_x).sum(axis=-1) - total


def log_less_digamma(a: FloatArray) -> FloatArray:
    """log a − ψ(a) > 0, from 16 on by its series."""
    series = (0.5 + polyval(a**-2.0, DIGAMMA) / a) / a
    return np.where(a < 16, np.log(a) - scipy.special.psi(a), series)


def trigamma(a: FloatArray) -> FloatArray:
    return scipy.special.zeta(2.0, a)


def gamma_shape(excess: FloatArray) -> FloatArray:
    """a with log a − ψ(a) = excess, by Newton in 1/a (Minka 2002): four steps from a start good to 2 %."""
    s = np.maximum(excess, 0.5 / LARGEST_SHAPE)
    a = (3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    for _ in range(6):
        a = a / (1 - (log_less_digamma(a) - s) / (a * trigamma(a) - 1))
    return np.minimum(a, LARGEST_SHAPE)


def expected_logs(alpha: FloatArray) -> FloatArray:
    """ψ(α_k) − ψ(Σα), as log(α_k/Σα), exact even where it is nearly 0, and two small corrections."""
    others = alpha @ (1.0 - np.eye(alpha.shape[-1]))
    return log_less_digamma(alpha + others) - log_less_digamma(alpha) - np.log1p(others / alpha)


def dirichlet_derivatives(alpha: FloatArray) -> tuple[FloatArray, FloatArray, Callable[[], FloatArray]]:
    total, gammaln = alpha.sum(axis=-1), scipy.special.gammaln
    identity = np.eye(alpha.shape[-1])
    curvature = lambda: trigamma(alpha)[..., None] * identity - trigamma(total)[..., None, None]  # noqa: E731
    return gammaln(alpha).sum(axis=-1) - gammaln(total), expected_logs(alpha), curvature


def dirichlet_concentration(logs: FloatArray) -> FloatArray:
    """α (…, k) with ψ(α_k) − ψ(Σα) = logs_k: bisection, then Newton.

    Given the sum s, α_k(s) = ψ⁻¹(ψ(s) + logs_k); Σ α_k(s) − s is positive below the one root and negative above.
    16 halvings of log s come within 1e-3 of it; Newton with the inverse of diag + constant (Minka 2000) does the
    rest. A sum of 1e9 is the end: Σα is known to no better than 1e-16 Σα from logs that are rounded.
    """
    low = np.log(0.1 / (1 + np.abs(logs).max(axis=-1, keepdims=True)))
    top = high = np.full_like(low, np.log(LARGEST_SHAPE))

    def parts(log_sum: FloatArray) -> FloatArray:
        return inverse_digamma(scipy.special.psi(np.exp(log_sum)) + logs)

    for _ in range(16):
        middle = (low + high) / 2
        below = parts(middle).sum(axis=-1, keepdims=True) > np.exp(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    alpha = parts(high)
    capped = alpha * (LARGEST_SHAPE / alpha.sum(axis=-1, keepdims=True))
    for _ in range(6):
        q, z = trigamma(alpha), trigamma(alpha.sum(axis=-1, keepdims=True))
        g = logs - expected_logs(alpha)
        moved = (g / q).sum(axis=-1, keepdims=True) / (1 - z * (1 / q).sum(axis=-1, keepdims=True))
        alpha = np.maximum(alpha + (g + z * moved) / q, alpha / 2)
    return np.where(high == top, capped, alpha)


def inverse_digamma(y: FloatArray) -> FloatArray:
    """x > 0 with ψ(x) = y, by Newton from Minka's start."""
    x = np.where(y >= -2.22, np.exp(y) + 0.5, -1 / (y + np.euler_gamma))
    for _ in range(5):
        x = x - (scipy.special.psi(x) - y) / trigamma(x)
    return x
