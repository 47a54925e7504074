"""What a family offers: facts, estimates, densities, draws, and the way from θ to η and back ([6867] 3.1.3).

    p(x | η) = h(x) exp(η·T(x) − A(η)),    ∇A(η) = E[T],    ∇²A(η) = Cov[T]

A new family defines `_estimate`, `_derivatives`, `_log_density` and `_sample`. Cost is the number of cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from separatrix.core.families.cells import blend, leading, outer, pooled, real
from separatrix.core.numerics import FloatArray

Drawn = NDArray[np.number]
Moment = tuple[FloatArray, FloatArray, FloatArray | float]  # expected, observed, unit
Prior = Mapping[str, Any] | None  # a conjugate one, by the names of a family's docstring
Size = tuple[int, ...]
Parameters = dict[str, FloatArray]
Arrays = tuple[FloatArray, ...]
Values = Iterable[ArrayLike]
Named = Mapping[str, ArrayLike]
Derivatives = tuple[FloatArray, Arrays, Callable[[], FloatArray]]  # A, ∇A, and ∇²A when asked for

quiet = np.errstate(all="ignore")


@dataclass(frozen=True)
class Family(ABC):
    """p(x | η) = h(x) exp(η·T(x) − A(η)); see the table of its module. Notes [6867] 3.1.3.

    A parameter value is a dict of arrays whose leading shapes broadcast. A univariate family works cell by cell:
    x (n, 1, p) against parameters (K, p) gives (n, K, p); a multivariate one row by row: x (n, 1, d) against
    means (K, d) gives (n, K). NaN is a missing value: NaN in, NaN out, no warning. Cost O(cells).

    >>> from separatrix.core.families import family
    >>> poisson = family("poisson")
    >>> fitted = poisson.estimate(weight=4.0, means=(2.5,))
    >>> poisson.log_density([0, 1, -1], fitted).round(4)
    array([-2.5   , -1.5837,    -inf])
    """

    name: ClassVar[str]
    support: ClassVar[str]
    multivariate: ClassVar[bool] = False
    discrete: ClassVar[bool] = False
    _range: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    _open: ClassVar[bool] = False  # whether the ends of the range are left out
    _logs: ClassVar[int] = 0  # how many parts of T are logarithms, log h being minus their sum
    _signs: ClassVar[dict[str, int]] = {}  # where η is the parameters themselves: their signs in η

    # What a family defines, called with arrays and with floating-point warnings off.
    _derivatives: ClassVar[Callable[..., Derivatives]]  # η → A, ∇A, ∇²A
    _log_density: ClassVar[Callable[..., FloatArray]]  # x, θ by name → log p
    _sample: ClassVar[Callable[..., Drawn]]  # rng, size, θ by name → x

    @abstractmethod
    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Prior) -> Parameters: ...

    def _natural(self, *args: Any, **parameters: Any) -> Arrays:
        return tuple(sign * parameters[key] for key, sign in self._signs.items())

    def _statistics(self, x: FloatArray) -> Arrays:
        return (x,)

    def _log_base(self, x: FloatArray) -> FloatArray:
        value = -sum(self._statistics(x)[: self._logs], np.zeros(x.shape))
        return value.sum(axis=-1) if self.multivariate else value

    def _with_virtual_rows(self, w: FloatArray, means: Arrays, prior: Prior) -> Arrays:
        """The means of T with those of the virtual rows of a conjugate prior {"weight", "means"} mixed in."""
        if prior is None:
            return means
        w0 = real(prior["weight"])[..., None] if self.multivariate else real(prior["weight"])
        return tuple(blend(w, m, w0, real(m0)) for m, m0 in zip(means, prior["means"]))

    def _centred(self) -> str:
        """The parameter found from the centred second moment, if there is one."""
        return ""

    @quiet
    def statistics(self, x: ArrayLike) -> Arrays:
        """T(x), each part shaped like x; Categorical adds an axis of levels, xxᵀ one of d."""
        return self._statistics(real(x))

    def facts(self, x: ArrayLike) -> Arrays:
        """The parts of T(x) whose weighted means `estimate` reads: all, or x alone beside a centred `second`."""
        return (real(x),) if self._centred() else self.statistics(x)

    @quiet
    def outside(self, x: ArrayLike) -> NDArray[np.bool_]:
        """x ∉ support, per cell, or per row if multivariate; ±inf is outside, NaN is missing and is not."""
        x, (low, high) = np.asarray(x), self._range
        least, most = (float(x.min()), float(x.max())) if x.size else (np.nan, np.nan)
        inside = low < least and most < high if self._open else low <= least and most <= high
        if inside and not self.multivariate and np.isfinite(most - least):  # as it mostly is
            return np.asarray(np.floor(x) != x) if self.discrete else np.zeros(x.shape, dtype=bool)
        x = real(x)
        bad = np.isinf(x) | ((x <= low) | (x >= high) if self._open else (x < low) | (x > high))
        if self.discrete:
            bad |= (np.floor(x) != x) & ~np.isnan(x)
        return np.asarray(bad.any(axis=-1) if self.multivariate else bad)

    @quiet
    def estimate(
        self, weight: ArrayLike, means: Values, second: Any = None, prior: Prior = None
    ) -> Parameters:
        """argmax_θ Σ w log p(x | θ) (+ log prior(θ)) from W = Σw, the means of `facts` and Σ w (x − m)².

        The axes of weight are the leading axes of the means. `prior` is the conjugate one, a dict with the names
        in each family's docstring. Weight 0 gives NaN, or with a prior its mode. Cost O(cells), solves included.
        """
        absent = np.nan if prior is None else 0.0
        values = tuple(np.where(leading(weight, np.ndim(m)) > 0, m, absent) for m in means)
        if second is not None:
            second = np.where(leading(weight, np.ndim(second)) > 0, second, 0.0)
        return self._estimate(leading(weight, values[0].ndim), values, second, prior)

    @quiet
    def estimate_shared(self, weight: ArrayLike, means: Values, second: Any = None) -> Parameters:
        """ML with one scale for all classes (axis 0), which makes the separator linear ([6867] 3.1.3.3).

        Shared are Normal's variance, MultivariateNormal's covariance and Gamma's shape; the rest have no scale.
        """
        fitted = self.estimate(weight, means, second)
        if scale := self._centred():
            fitted[scale] = pooled(weight, fitted[scale])
        return fitted

    @quiet
    def natural(self, parameters: Named) -> Arrays:
        """η(θ), in the order of `statistics`."""
        return self._natural(**_named(parameters))

    @quiet
    def log_partition(self, eta: Values) -> FloatArray:
        """A(η) = log ∫ h(x) exp(η·T(x)) dx."""
        return self._derivatives(*map(real, eta))[0]

    @quiet
    def mean(self, eta: Values) -> Arrays:
        """∇A(η) = E[T(x)], in the shapes of η."""
        return self._derivatives(*map(real, eta))[1]

    @quiet
    def covariance(self, eta: Values) -> FloatArray:
        """∇²A(η) = Cov[T(x)], (…, d, d) over all d natural parameters laid out in a row."""
        return self._derivatives(*map(real, eta))[2]()

    @quiet
    def log_base(self, x: ArrayLike) -> FloatArray:
        """log h(x), −inf outside the support."""
        x = real(x)
        return np.where(self.outside(x), -np.inf, self._log_base(x))

    @quiet
    def log_density(self, x: ArrayLike, parameters: Named) -> FloatArray:
        """log p(x | θ), −inf outside the support; not by η·T − A, whose terms cancel when θ is large."""
        x = real(x)
        missing = np.isnan(x).any(axis=-1) if self.multivariate else np.isnan(x)
        value = np.where(missing, np.nan, self._log_density(x, **_named(parameters)))
        return np.where(self.outside(x), -np.inf, value)

    @quiet
    def sample(self, parameters: Named, size: int | tuple[int, ...], rng: Generator) -> Drawn:
        """x ~ p(· | θ): size first, then the leading shape of the parameters, then the d of a row."""
        named = _named(parameters)
        shapes = [v.shape[:-1] if key == "covariance" else v.shape for key, v in named.items()]
        first = tuple(np.atleast_1d(size).tolist())
        return self._sample(rng, first + np.broadcast_shapes(*shapes), **named)

    @quiet
    def moment_residual(
        self, parameters: Named, means: Values, second: Any = None, weight: ArrayLike = 1.0
    ) -> float:
        """max |E_θ[T] − T̄| / |T̄|, which is 0 at the maximum of the likelihood; a logarithm's error is absolute.

        Second moments are compared centred. Cells of weight 0 are left out; a NaN elsewhere gives inf.
        """
        worst, values = 0.0, tuple(map(real, means))
        for expected, observed, unit in self._moments(_named(parameters), values, second, weight):
            gap = np.abs(expected - observed) / np.maximum(np.abs(observed), unit)
            gap = np.where((expected == observed) | (leading(weight, np.ndim(gap)) == 0), 0.0, gap)
            worst = max(worst, float(np.max(np.where(np.isnan(gap), np.inf, gap), initial=0.0)))
        return worst

    def _moments(
        self, parameters: Parameters, means: Arrays, second: Any, weight: ArrayLike
    ) -> Iterable[Moment]:
        """(expected, observed, unit) of each moment to compare."""
        if second is not None and (scale := self._centred()):
            spread = second / leading(weight, np.ndim(second))
            unit = np.sqrt(outer(np.diagonal(spread, axis1=-2, axis2=-1))) if self.multivariate else 0.0
            return [(parameters["mean"], means[0], 0.0), (parameters[scale], spread, unit)]
        expected = self._derivatives(*self._natural(**parameters))[1]
        return [(e, m, float(i < self._logs)) for i, (e, m) in enumerate(zip(expected, means))]


def _named(parameters: Named) -> Parameters:
    return {key: real(value) for key, value in parameters.items()}
