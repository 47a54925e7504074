"""Normal laws, of a number and of a row ([6867] 3.1.3.2).

    family               parameters         T(x)     η            A(η)
    Normal               mean μ, variance v x, x²    μ/v, −1/2v   μ²/2v + ½ log v
    Normal(variance=v)   mean μ             x        μ/v          v η²/2
    MultivariateNormal   mean μ, covariance x, xxᵀ   Σ⁻¹μ, −½Σ⁻¹  ½ μᵀΣ⁻¹μ + ½ log|Σ|

Estimates read the centred second moment, so that 1e8 ± 1 keeps its digits. Cost O(cells), d³ a covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from separatrix.core.families.base import Arrays, Derivatives, Drawn, Family, Parameters, Prior, Size
from separatrix.core.families.cells import blend, matrix, outer, real, times
from separatrix.core.numerics import FloatArray


@dataclass(frozen=True)
class Normal(Family):
    """exp(−(x − μ)²/2v) / √(2πv); with `Normal(variance=v)` v is known. Notes [6867] 3.1.3.2.

    Parameters mean, variance (…). Reads second = Σ w (x − m)², so that 1e8 ± 1 keeps its digits; a constant column
    gets variance 0, a point mass. Prior, normal-inverse-gamma, by its joint mode: mean m₀ and weight κ (μ is
    N(m₀, v/κ)), shape and scale (v is inverse gamma); with v known, mean and weight only. Cost O(cells).

    >>> fitted = Normal().estimate(2.0, (1e8,), second=2.0)
    >>> print(fitted["variance"], Normal().log_density(1e8 + 1, fitted).round(4))
    1.0 -1.4189
    """

    variance: float | None = None

    name, support = "gaussian", "a finite number"

    def __post_init__(self) -> None:
        if self.variance is not None and not 0 < self.variance < np.inf:
            raise ValueError(f"the known variance must be a positive number, not {self.variance}")

    def _centred(self) -> str:
        return "variance" if self.variance is None else ""

    def _statistics(self, x: FloatArray) -> Arrays:
        return (x, x * x) if self.variance is None else (x,)

    def _log_base(self, x: FloatArray) -> FloatArray:
        v = self.variance
        return -0.5 * np.log(2 * np.pi) + (0 * x if v is None else -x * x / (2 * v) - 0.5 * np.log(v))

    def _log_density(self, x: FloatArray, mean: FloatArray, variance: Any = None) -> FloatArray:
        v = real(variance if self.variance is None else self.variance)
        # At v = 0 a point mass, of which the formula would make 0/0 at the mean and ∞ − ∞ off it.
        z = np.where((v == 0) & (x == mean), 0.0, (x - mean) / np.sqrt(v))
        return np.where(np.isinf(z), -np.inf, -0.5 * (z * z + np.log(2 * np.pi) + np.log(v)))

    def _natural(self, mean: FloatArray, variance: Any = None) -> Arrays:
        return (mean / variance, -0.5 / variance) if self.variance is None else (mean / self.variance,)

    def _derivatives(self, first: FloatArray, second: Any = None) -> Derivatives:
        v = -0.5 / second if self.variance is None else np.full(first.shape, self.variance)
        m = first * v
        if self.variance is not None:
            return 0.5 * m * first, (m,), lambda: matrix((v,))
        curvature = ((v, 2 * m * v), (2 * m * v, 4 * m * m * v + 2 * v * v))
        return 0.5 * (m * first + np.log(v)), (m, m * m + v), lambda: matrix(*curvature)

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Prior) -> Parameters:
        (m,) = means
        if prior is not None:
            m0, w0 = real(prior["mean"]), real(prior["weight"])
            moved, share = blend(w, m, w0, m0), w0 * (w / (w + w0))
            if self.variance is None:
                second = second + share * (m - m0) ** 2 + 2 * real(prior["scale"])
                w = w + 2 * real(prior["shape"]) + 3
            m = moved
        v = second / w if self.variance is None else np.full(np.shape(m), self.variance)
        return {"mean": m, "variance": v}

    def _sample(self, rng: Generator, size: Size, mean: FloatArray, variance: Any = None) -> Drawn:
        return rng.normal(mean, np.sqrt(variance if self.variance is None else self.variance), size)


@dataclass(frozen=True)
class MultivariateNormal(Family):
    """exp(−½ (x − μ)ᵀΣ⁻¹(x − μ)) / √|2πΣ|. Notes [6867] 3.1.3.2.

    Parameters mean (…, d), covariance (…, d, d). Reads second = Σ w (x − m)(x − m)ᵀ. Prior, normal-inverse-Wishart,
    by its joint mode: mean, weight, shape ν, scale Ψ (d, d). Cost d³ a class, d² a row and class.

    >>> fitted = MultivariateNormal().estimate(2.0, ([0.0, 0.0],), second=2 * np.eye(2))
    >>> MultivariateNormal().log_density([[0.0, 0.0], [3.0, 4.0]], fitted).round(4)
    array([ -1.8379, -14.3379])
    """

    name, support = "multivariate_gaussian", "finite numbers"
    multivariate = True

    def _centred(self) -> str:
        return "covariance"

    def _statistics(self, x: FloatArray) -> Arrays:
        return x, outer(x)

    def _log_base(self, x: FloatArray) -> FloatArray:
        return np.full(x.shape[:-1], -0.5 * x.shape[-1] * np.log(2 * np.pi))

    def _log_density(self, x: FloatArray, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        R, _, log_volume = _whitener(covariance)
        z = times(R, x - mean)
        return -log_volume - 0.5 * ((z * z).sum(axis=-1) + x.shape[-1] * np.log(2 * np.pi))

    def _natural(self, mean: FloatArray, covariance: FloatArray) -> Arrays:
        _, precision, _ = _whitener(covariance)
        return times(precision, mean), -0.5 * precision

    def _derivatives(self, first: FloatArray, second: FloatArray) -> Derivatives:
        _, S, log_volume = _whitener(-second - second.swapaxes(-1, -2))
        m = times(S, first)
        M, d = S + outer(m), m.shape[-1]

        def curvature() -> FloatArray:
            cross = np.einsum("...j,...ik->...ijk", m, S)
            cross = (cross + cross.swapaxes(-1, -2)).reshape(*m.shape, d * d)
            four = np.einsum("...ik,...jl->...ijkl", M, M) + np.einsum("...il,...jk->...ijkl", M, M)
            four -= 2 * np.einsum("...i,...j,...k,...l->...ijkl", m, m, m, m)
            low = np.concatenate([cross.swapaxes(-1, -2), four.reshape(*m.shape[:-1], d * d, d * d)], axis=-1)
            return np.concatenate([np.concatenate([S, cross], axis=-1), low], axis=-2)

        return 0.5 * (m * first).sum(axis=-1) - log_volume, (m, M), curvature

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Prior) -> Parameters:
        (m,) = means
        if prior is not None:
            m0, w0 = real(prior["mean"]), real(prior["weight"])[..., None]
            second = second + (w0 * (w / (w + w0)))[..., None] * outer(m - m0) + prior["scale"]
            m, w = blend(w, m, w0, m0), w + real(prior["shape"])[..., None] + m.shape[-1] + 2
        return {"mean": m, "covariance": second / w[..., None]}

    def _sample(self, rng: Generator, size: Size, mean: FloatArray, covariance: FloatArray) -> Drawn:
        return mean + times(np.linalg.cholesky(covariance), rng.standard_normal(size))


def _whitener(C: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(L⁻¹, C⁻¹, log √|C|) for C = LLᵀ (…, d, d); NaN for NaN."""
    absent = np.isnan(C).any(axis=(-2, -1), keepdims=True)
    try:
        L = np.linalg.cholesky(np.where(absent, np.eye(C.shape[-1]), C))
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            "a covariance is not positive definite (a constant or dependent column, or too few rows): give a prior"
        ) from None
    R = np.where(absent, np.nan, np.tril(np.linalg.inv(L)))
    return R, R.swapaxes(-1, -2) @ R, -np.log(np.diagonal(R, axis1=-2, axis2=-1)).sum(axis=-1)
