"""Events at a rate: how many there are, how long the wait for one is, and for several ([6867] 3.1.3).

    family        parameters         T(x)      η       A(η)
    Poisson       rate r             x         log r   e^η
    Exponential   rate r             x         −r      −log(−η)
    Gamma         shape a, rate b    log x, x  a, −b   log Γ(a) − a log b

The Gamma puts 1/x into h, so that η is the parameter itself and going there and back costs no digit. Cost O(cells).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load on first use
from numpy.random import Generator
from numpy.typing import ArrayLike

from separatrix.core.families import base
from separatrix.core.families.cells import leading, matrix, pooled, real
from separatrix.core.numerics import TINY, FloatArray
from separatrix.core.special import (
    gamma_shape,
    log_poisson,
    trigamma,
)

FEW = 1 << 10  # counts whose factorials are worth a table
LARGEST_RATE = 1e300  # of an Exponential: what a column of zeros gets


@dataclass(frozen=True)
class Poisson(base.Family):
    """rˣ e⁻ʳ / x!, x = 0, 1, 2, …  Notes [6867] 3.1.3.

    Parameter rate (…). Prior Gamma, by its mode (Σx + shape − 1)/(n + rate). Cost O(cells).

    >>> Poisson().estimate(4.0, ([2.5, 1.0],), prior={"shape": 3.0, "rate": 2.0})["rate"]
    array([2., 1.])
    """

    name, support = "poisson", "a whole number, 0 or more"
    discrete = True
    _range = (0.0, np.inf)

    def _log_base(self, x: FloatArray) -> FloatArray:
        if x.size > FEW and x.min() >= 0 and x.max() < FEW:  # a table of them where counts are small
            whole = x.astype(np.intp)
            if (whole == x).all():
                return np.take(-scipy.special.gammaln(np.arange(1.0, FEW + 1)), whole)
        return -scipy.special.gammaln(x + 1)

    def _log_density(self, x: FloatArray, rate: FloatArray) -> FloatArray:
        return log_poisson(x, rate, np.log(rate))

    def _natural(self, rate: FloatArray) -> base.Arrays:
        return (np.log(rate),)

    def _derivatives(self, eta: FloatArray) -> base.Derivatives:
        rate = np.exp(eta)
        return rate, (rate,), lambda: matrix((rate,))

    def _estimate(self, w: FloatArray, means: base.Arrays, second: Any, prior: base.Prior) -> base.Parameters:
        (m,) = means
        if prior is not None:
            m = np.maximum(w * m + real(prior["shape"]) - 1, 0.0) / (w + real(prior["rate"]))
        return {"rate": m}

    def _sample(self, rng: Generator, size: base.Size, rate: FloatArray) -> base.Drawn:
        return rng.poisson(rate, size)


@dataclass(frozen=True)
class Exponential(base.Family):
    """r e^{−rx}, x ≥ 0. Notes [6867] 3.1.3.

    Parameter rate (…), at most 1e300, which a column of zeros gets. Prior Gamma, by its mode
    (n + shape − 1)/(Σx + rate). Cost O(cells).

    >>> Exponential().estimate(4.0, ([0.5, 4.0],))["rate"]
    array([2.  , 0.25])
    """

    name, support = "exponential", "a number, 0 or more"
    _range = (0.0, np.inf)
    _signs = {"rate": -1}

    def _log_density(self, x: FloatArray, rate: FloatArray) -> FloatArray:
        return np.log(rate) - rate * x

    def _derivatives(self, eta: FloatArray) -> base.Derivatives:
        return -np.log(-eta), (-1 / eta,), lambda: matrix((1 / eta**2,))

    def _estimate(self, w: FloatArray, means: base.Arrays, second: Any, prior: base.Prior) -> base.Parameters:
        rate = 1 / means[0]
        if prior is not None:
            rate = np.maximum(w + real(prior["shape"]) - 1, 0.0) / (w * means[0] + real(prior["rate"]))
        return {"rate": np.minimum(rate, LARGEST_RATE)}

    def _sample(self, rng: Generator, size: base.Size, rate: FloatArray) -> base.Drawn:
        return rng.exponential(1 / rate, size)


@dataclass(frozen=True)
class Gamma(base.Family):
    """bᵃ xᵃ⁻¹ e^{−bx} / Γ(a), x > 0. Notes [6867] 3.1.3; one shape for all classes makes a linear rule, 3.1.3.3.

    Parameters shape a and rate b (…): log a − ψ(a) = log x̄ − mean log x and b = a/x̄; a is at most 1e9, which a
    constant column gets. Prior {"weight", "means"}: so many virtual rows with those means of T. Cost O(cells).

    >>> fitted = Gamma().estimate(10.0, (-np.euler_gamma, 1.0))  # E[log x] and E[x] of a standard exponential
    >>> print(fitted["shape"].round(12), fitted["rate"].round(12))
    1.0 1.0
    """

    name, support = "gamma", "a number above 0"
    _range, _open = (0.0, np.inf), True
    _logs = 1
    _signs = {"shape": 1, "rate": -1}

    def _statistics(self, x: FloatArray) -> base.Arrays:
        return np.log(x), x

    def _log_density(self, x: FloatArray, shape: FloatArray, rate: FloatArray) -> FloatArray:
        log_x = np.log(x)
        return log_poisson(shape, rate * x, np.log(rate) + log_x) + np.log(shape) - log_x

    def _derivatives(self, a: FloatArray, minus_b: FloatArray) -> base.Derivatives:
        b, log_b = -minus_b, np.log(-minus_b)
        value = scipy.special.gammaln(a) - a * log_b
        return (
            value,
            (scipy.special.psi(a) - log_b, a / b),
            lambda: matrix((trigamma(a), 1 / b), (1 / b, a / b**2)),
        )

    def _estimate(self, w: FloatArray, means: base.Arrays, second: Any, prior: base.Prior) -> base.Parameters:
        logs, m = self._with_virtual_rows(w, means, prior)
        return self._scaled(np.log(m) - logs, m)

    @base.quiet
    def estimate_shared(self, weight: ArrayLike, means: base.Values, second: Any = None) -> base.Parameters:
        logs, m = (np.where(leading(weight, np.ndim(v)) > 0, v, np.nan) for v in means)
        return self._scaled(pooled(weight, np.log(m) - logs), m)

    def _scaled(self, excess: FloatArray, m: FloatArray) -> base.Parameters:
        a = np.fmin(gamma_shape(excess), 1e308 * m)  # so that the rate is finite
        return {"shape": a, "rate": a / m}

    def _sample(self, rng: Generator, size: base.Size, shape: FloatArray, rate: FloatArray) -> base.Drawn:
        return np.maximum(rng.gamma(shape, 1 / rate, size), TINY)
