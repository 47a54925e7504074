"""Shares of a whole: one between 0 and 1, or several that add up to 1 ([6867] 3.1.3).

    family      parameters        T(x)               η      A(η)
    Beta        a, b              log x, log(1 − x)  a, b   log B(a, b)
    Dirichlet   concentration α   log x              α      Σ log Γ(α) − log Γ(Σα)

1/x stands in h, so that η is the parameter itself and going there and back costs no digit. Cost O(cells).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from separatrix.core import special
from separatrix.core.families import base
from separatrix.core.families.cells import pair, real
from separatrix.core.numerics import EPS, TINY, FloatArray, softmax


@dataclass(frozen=True)
class Beta(base.Family):
    """xᵃ⁻¹ (1 − x)ᵇ⁻¹ / B(a, b), 0 < x < 1: the Dirichlet of (x, 1 − x). Notes [6867] 3.1.3.

    Parameters a and b (…), solving ψ(a) − ψ(a + b) = mean log x and ψ(b) − ψ(a + b) = mean log(1 − x); a + b is at
    most 1e9, which a constant column gets. Prior {"weight", "means"} as for Gamma. Cost O(cells).

    >>> fitted = Beta().estimate(10.0, (-1.0, -1.0))  # E[log x] = E[log(1 − x)] = −1 of a uniform x
    >>> print(fitted["a"].round(12), fitted["b"].round(12))
    1.0 1.0
    """

    name, support = "beta", "a number between 0 and 1, neither included"
    _range, _open = (0.0, 1.0), True
    _logs = 2
    _signs = {"a": 1, "b": 1}

    def _statistics(self, x: FloatArray) -> base.Arrays:
        return np.log(x), np.log1p(-x)

    def _log_density(self, x: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        return special.log_dirichlet(pair(a, b), pair(x, 1 - x), pair(np.log(x), np.log1p(-x)))

    def _derivatives(self, a: FloatArray, b: FloatArray) -> base.Derivatives:
        value, mean, curvature = special.dirichlet_derivatives(pair(a, b))
        return value, (mean[..., 0], mean[..., 1]), curvature

    def _estimate(self, w: FloatArray, means: base.Arrays, second: Any, prior: base.Prior) -> base.Parameters:
        alpha = special.dirichlet_concentration(pair(*self._with_virtual_rows(w, means, prior)))
        return {"a": alpha[..., 0], "b": alpha[..., 1]}

    def _sample(self, rng: Generator, size: base.Size, a: FloatArray, b: FloatArray) -> base.Drawn:
        return np.clip(rng.beta(a, b, size), TINY, 1 - EPS / 2)


@dataclass(frozen=True)
class Dirichlet(base.Family):
    """Γ(Σα) Π x_k^{α_k − 1} / Γ(α_k), x_k > 0, Σx = 1 to 1e-6. Notes [6867] 3.1.3.

    Parameter concentration α (…, k), solving ψ(α_k) − ψ(Σα) = mean log x_k; Σα is at most 1e9, which constant rows
    get. Prior {"weight", "means"} as for Gamma. Cost O(cells).

    >>> fitted = Dirichlet().estimate(10.0, ([-1.5, -1.5, -1.5],))  # E[log x] of three uniform shares
    >>> fitted["concentration"].round(12)
    array([1., 1., 1.])
    """

    name, support = "dirichlet", "numbers above 0 that add up to 1"
    multivariate = True
    _range, _open = (0.0, np.inf), True
    _logs = 1
    _signs = {"concentration": 1}

    @base.quiet
    def outside(self, x: ArrayLike) -> NDArray[np.bool_]:
        return super().outside(x) | (np.abs(real(x).sum(axis=-1) - 1) > 1e-6)

    def _statistics(self, x: FloatArray) -> base.Arrays:
        return (np.log(x),)

    def _log_density(self, x: FloatArray, concentration: FloatArray) -> FloatArray:
        return special.log_dirichlet(concentration, x, np.log(x))

    def _derivatives(self, alpha: FloatArray) -> base.Derivatives:
        value, mean, curvature = special.dirichlet_derivatives(alpha)
        return value, (mean,), curvature

    def _estimate(self, w: FloatArray, means: base.Arrays, second: Any, prior: base.Prior) -> base.Parameters:
        return {"concentration": special.dirichlet_concentration(*self._with_virtual_rows(w, means, prior))}

    def _sample(self, rng: Generator, size: base.Size, concentration: FloatArray) -> base.Drawn:
        # In logarithms, by Gamma(α) = Gamma(α + 1) U^{1/α}: a small α would underflow in every part of a row.
        logs = np.log(rng.standard_gamma(concentration + 1, size))
        return np.maximum(softmax(logs - rng.standard_exponential(size) / concentration), TINY)
