"""What a response offers: its variance, unit deviance, likelihood, and the terms of its loss.

    y ~ a law of mean μ and variance φ V(μ)/w,    ½ unit deviance = ∫_μ^y (y − s)/V(s) ds

Notes [6867] 3.1.3, 3.2.3; row D8. Everything is elementwise; cost O(size). NaN in y gives NaN.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core.families import Family
from separatrix.core.links import Link
from separatrix.core.numerics import FloatArray, real

Curvature = Literal["none", "expected", "observed"]
Terms = tuple[FloatArray, FloatArray, FloatArray | None]  # value, slope, and the curvature asked for

quiet = np.errstate(all="ignore")
POSITIVE_LINKS = ("log", "identity", "inverse", "sqrt", "inverse_squared")


@dataclass(frozen=True)
class Response(ABC):
    """A law of mean μ, variance φ V(μ)/w; see the table of its package. Notes [6867] 3.1.3, 3.2.3; row D8.

    ``family`` is the `Family` of the same law, where core.families has it; ``links`` are those it takes;
    ``mean_range`` are its means, ends left out. Arrays broadcast; cost O(size).

    >>> from separatrix.core.responses import response
    >>> poisson = response("poisson")
    >>> poisson.unit_deviance([0.0, 3.0, 4.0], 3.0).round(4)
    array([6.    , 0.    , 0.3015])
    """

    name: ClassVar[str]
    support: ClassVar[str]
    family: ClassVar[Family | None] = None
    canonical: ClassVar[str | None] = None
    default_link: ClassVar[str]
    links: ClassVar[tuple[str, ...]] = POSITIVE_LINKS
    known_dispersion: ClassVar[bool] = False
    mean_range: ClassVar[tuple[float, float]] = (0.0, np.inf)

    # What a response defines, called with floating-point arrays and with warnings off.
    @abstractmethod
    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray: ...

    @abstractmethod
    def _half_deviance(self, y: FloatArray, mu: FloatArray, complement: FloatArray | None) -> FloatArray: ...

    @abstractmethod
    def _outside(self, y: FloatArray) -> NDArray[np.bool_]: ...

    @abstractmethod
    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _terms(self, link: Link, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms: ...

    @quiet
    def variance(self, mu: ArrayLike, complement: ArrayLike | None = None) -> FloatArray:
        """V(μ); 1 − μ may be given apart, as `Link.pieces` has it."""
        return self._variance(real(mu), None if complement is None else real(complement))

    @quiet
    def unit_deviance(self, y: ArrayLike, mu: ArrayLike, complement: ArrayLike | None = None) -> FloatArray:
        """2 ∫_μ^y (y − s)/V(s) ds ≥ 0, twice what the log-likelihood lacks at φ = 1, w = 1; 0 only at μ = y.

        Relative precision holds near y = μ, and the limits y = 0 and y = 1 are exact.
        """
        rest = None if complement is None else real(complement)
        return 2.0 * self._half_deviance(real(y), real(mu), rest)

    @quiet
    def outside(self, y: ArrayLike) -> NDArray[np.bool_]:
        """y ∉ support, per cell; ±inf is outside, NaN is missing and is not."""
        y = real(y)
        return np.asarray(self._outside(y) | np.isinf(y))

    @quiet
    def log_likelihood(
        self,
        y: ArrayLike,
        mu: ArrayLike,
        weight: ArrayLike = 1.0,
        dispersion: ArrayLike = 1.0,
        complement: ArrayLike | None = None,
    ) -> FloatArray:
        """The terms R sums for AIC: log p(y | μ, φ) with w as trials (binomial), as precision (Gaussian: φ/w) or
        as a count of equal rows (the rest). Weight 0 is absence, 0; outside the support −inf.

        A known dispersion is 1, whatever is given. R rounds wy and w of a binomial to whole numbers; here the
        binomial coefficient is continued, so that weights may be fractions.
        """
        y, mu, w = real(y), real(mu), real(weight)
        phi = real(1.0 if self.known_dispersion else dispersion)
        rest = None if complement is None else real(complement)
        value = self._saturated(y, w, phi) - w * self._half_deviance(y, mu, rest) / phi
        return np.where(w == 0, 0.0, np.where(self.outside(y), -np.inf, value))

    @quiet
    def saturated(self, y: ArrayLike, weight: ArrayLike, dispersion: ArrayLike) -> FloatArray:
        """log p(y | μ = y, φ), what a mean for each row would reach; weights as in :meth:`log_likelihood`."""
        return self._saturated(real(y), real(weight), real(dispersion))

    def likelihood_dispersion(self, deviance: float, weight: ArrayLike) -> float:
        """The φ at which R evaluates the log-likelihood: deviance/Σw, the Gaussian's by rows; 1 where known.

        It is not the Pearson estimate of φ that standard errors take. For the Gaussian and the inverse Gaussian it
        maximises the likelihood. ``weight`` (n,).
        """
        return 1.0 if self.known_dispersion else float(deviance) / float(np.sum(weight))

    def start(self, y: ArrayLike, weight: ArrayLike = 1.0) -> FloatArray:
        """μ to start from, R's mustart: y, moved off the ends of the support."""
        return real(y) + 0.0 * real(weight)
