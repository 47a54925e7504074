"""What a link η = g(μ) offers: μ(η), its derivatives, and the logarithms and ratios that its tails need.

A response with variance V(μ) needs μ'/μ and μ'/(1 − μ), ratios of numbers that both underflow: ``growth`` and
``fall`` give them, and ``log_mean`` and ``log_complement`` the logarithms, from η itself. Row D8. O(size).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core.numerics import FloatArray, real

Pieces = tuple[FloatArray, FloatArray | None, FloatArray]
Rate = tuple[FloatArray, FloatArray]  # a logarithmic derivative, and its own derivative

quiet = np.errstate(all="ignore")


@dataclass(frozen=True)
class Link(ABC):
    """η = g(μ), monotone; see the table of its module. Notes [6867] 3.1.3; row D8.

    A new link defines ``_eta``, ``_mean``, ``_first`` and ``_second``; the rest follows, and is overridden only where
    it would cancel or underflow. Arrays of any shape in and out, floats kept; cost O(size).

    >>> from separatrix.core.links import link
    >>> cloglog = link("cloglog")
    >>> mu, complement, slope = cloglog.pieces([-40.0, 5.0])
    >>> print(mu, complement)
    [4.24835426e-18 1.00000000e+00] [1.0000000e+00 3.5073892e-65]
    """

    name: ClassVar[str]
    image: ClassVar[tuple[float, float]] = (0.0, np.inf)  # the means it reaches, ends left out
    symmetric: ClassVar[bool] = False  # 1 − μ(η) = μ(−η)

    # What a link defines, called with floating-point arrays and with warnings off.
    @abstractmethod
    def _eta(self, mu: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _mean(self, eta: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _first(self, eta: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _second(self, eta: FloatArray) -> FloatArray: ...

    @quiet
    def eta(self, mu: ArrayLike) -> FloatArray:
        """g(μ)."""
        return self._eta(real(mu))

    @quiet
    def inverse(self, eta: ArrayLike) -> FloatArray:
        """μ(η), a new array."""
        return self._mean(real(eta))

    @quiet
    def first(self, eta: ArrayLike) -> FloatArray:
        """dμ/dη."""
        return self._first(real(eta))

    @quiet
    def second(self, eta: ArrayLike) -> FloatArray:
        """d²μ/dη²."""
        return self._second(real(eta))

    @quiet
    def pieces(self, eta: ArrayLike) -> Pieces:
        """(μ, 1 − μ, dμ/dη) from shared exponentials; 1 − μ is None where means are not confined to (0, 1)."""
        eta = real(eta)
        return self._mean(eta), None, self._first(eta)

    @quiet
    def complement(self, eta: ArrayLike) -> FloatArray:
        """1 − μ(η)."""
        return 1.0 - self._mean(real(eta))

    @quiet
    def log_mean(self, eta: ArrayLike) -> FloatArray:
        """log μ(η), also where μ underflows."""
        return np.log(self._mean(real(eta)))

    @quiet
    def log_complement(self, eta: ArrayLike) -> FloatArray:
        """log(1 − μ(η)), also where 1 − μ underflows."""
        return np.log1p(-self._mean(real(eta)))

    @quiet
    def growth(self, eta: ArrayLike) -> Rate:
        """u = d log μ/dη = μ'/μ, and du/dη."""
        eta = real(eta)
        mu = self._mean(eta)
        u = self._first(eta) / mu
        return u, self._second(eta) / mu - u * u

    @quiet
    def fall(self, eta: ArrayLike) -> Rate:
        """r = −d log(1 − μ)/dη = μ'/(1 − μ), and dr/dη."""
        eta = real(eta)
        rest = self.complement(eta)
        r = self._first(eta) / rest
        return r, self._second(eta) / rest + r * r

    @quiet
    def interval(self, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
        """The η whose means lie between low and high, as the ends of an open interval.

        >>> from separatrix.core.links import link
        >>> link("log").interval(high=1.0)
        (-inf, 0.0)
        """
        means = np.array([max(low, self.image[0]), min(high, self.image[1])])
        ends = np.sort(self._eta(means))
        return float(ends[0]), float(ends[1])

    def domain(self, eta: ArrayLike, low: float = -np.inf, high: float = np.inf) -> NDArray[np.bool_]:
        """Where η has a mean between low and high; ±inf is inside where the interval is unbounded, NaN never.

        >>> from separatrix.core.links import link
        >>> link("inverse").domain([-1.0, 0.0, 2.0, np.nan])
        array([False, False,  True, False])
        """
        eta = real(eta)
        least, most = self.interval(low, high)
        inside = ~np.isnan(eta)
        if least > -np.inf:
            inside &= eta > least
        if most < np.inf:
            inside &= eta < most
        return np.asarray(inside)
