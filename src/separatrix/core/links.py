"""Links η = g(μ) between a mean μ and a linear score η, each with μ(η), μ'(η), μ''(η) and exact tails.

    name             η = g(μ)             μ(η)                μ'(η)             1 − μ
    identity         μ                    η                   1
    log              log μ                e^η                 e^η
    logit            log μ/(1 − μ)        1/(1 + e^{−η})      μ(1 − μ)          1/(1 + e^η)
    probit           Φ⁻¹(μ)               Φ(η)                φ(η)              Φ(−η)
    cloglog          log(−log(1 − μ))     1 − exp(−e^η)       e^η exp(−e^η)     exp(−e^η)
    inverse          1/μ                  1/η                 −1/η²
    sqrt             √μ                   η²                  2η
    inverse_squared  1/μ²                 η^{−1/2}            −½ η^{−3/2}

Notes [6867] 3.1.3 (the natural parameter as a function of the mean), 3.2.3; row D8. A response with variance V(μ)
needs μ'/μ and μ'/(1 − μ), ratios of numbers that both underflow: ``growth`` and ``fall`` give them, and
``log_mean`` and ``log_complement`` the logarithms, from η itself. Everything is elementwise, O(size), and right at
±1e3 and ±inf. Nothing checks η: ``domain`` is the mask of those that have a mean.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy  # its submodules load on first use
from numpy.typing import ArrayLike, NDArray

from separatrix.core import numerics
from separatrix.core.numerics import FloatArray, expit, log1pexp

Pieces = tuple[FloatArray, FloatArray | None, FloatArray]
Rate = tuple[FloatArray, FloatArray]  # a logarithmic derivative, and its own derivative

quiet = np.errstate(all="ignore")

# Series: Mills' ratio, φ(x)/Φ(−x) − x = Σ c x^{−2j−1}; 1 − x/(eˣ − 1) = x/2 + x² Σ c x²ʲ.
MILLS = [1.0, -2.0, 10.0, -74.0, 706.0, -8162.0, 110410.0]
BERNOULLI = [-1 / 12, 1 / 720, -1 / 30240, 1 / 1209600]


@dataclass(frozen=True)
class Link(ABC):
    """η = g(μ), monotone; see the module's table. Notes [6867] 3.1.3; row D8.

    A new link defines ``_eta``, ``_mean``, ``_first`` and ``_second``; the rest follows, and is overridden only where
    it would cancel or underflow. Arrays of any shape in and out, floats kept; cost O(size).

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
        return self._eta(_real(mu))

    @quiet
    def inverse(self, eta: ArrayLike) -> FloatArray:
        """μ(η), a new array."""
        return self._mean(_real(eta))

    @quiet
    def first(self, eta: ArrayLike) -> FloatArray:
        """dμ/dη."""
        return self._first(_real(eta))

    @quiet
    def second(self, eta: ArrayLike) -> FloatArray:
        """d²μ/dη²."""
        return self._second(_real(eta))

    @quiet
    def pieces(self, eta: ArrayLike) -> Pieces:
        """(μ, 1 − μ, dμ/dη) from shared exponentials; 1 − μ is None where means are not confined to (0, 1)."""
        eta = _real(eta)
        return self._mean(eta), None, self._first(eta)

    @quiet
    def complement(self, eta: ArrayLike) -> FloatArray:
        """1 − μ(η)."""
        return 1.0 - self._mean(_real(eta))

    @quiet
    def log_mean(self, eta: ArrayLike) -> FloatArray:
        """log μ(η), also where μ underflows."""
        return np.log(self._mean(_real(eta)))

    @quiet
    def log_complement(self, eta: ArrayLike) -> FloatArray:
        """log(1 − μ(η)), also where 1 − μ underflows."""
        return np.log1p(-self._mean(_real(eta)))

    @quiet
    def growth(self, eta: ArrayLike) -> Rate:
        """u = d log μ/dη = μ'/μ, and du/dη."""
        eta = _real(eta)
        mu = self._mean(eta)
        u = self._first(eta) / mu
        return u, self._second(eta) / mu - u * u

    @quiet
    def fall(self, eta: ArrayLike) -> Rate:
        """r = −d log(1 − μ)/dη = μ'/(1 − μ), and dr/dη."""
        eta = _real(eta)
        rest = self.complement(eta)
        r = self._first(eta) / rest
        return r, self._second(eta) / rest + r * r

    @quiet
    def interval(self, low: float = -np.inf, high: float = np.inf) -> tuple[float, float]:
        """The η whose means lie between low and high, as the ends of an open interval.

        >>> link("log").interval(high=1.0)
        (-inf, 0.0)
        """
        means = np.array([max(low, self.image[0]), min(high, self.image[1])])
        ends = np.sort(self._eta(means))
        return float(ends[0]), float(ends[1])

    def domain(self, eta: ArrayLike, low: float = -np.inf, high: float = np.inf) -> NDArray[np.bool_]:
        """Where η has a mean between low and high; ±inf is inside where the interval is unbounded, NaN never.

        >>> link("inverse").domain([-1.0, 0.0, 2.0, np.nan])
        array([False, False,  True, False])
        """
        eta = _real(eta)
        least, most = self.interval(low, high)
        inside = ~np.isnan(eta)
        if least > -np.inf:
            inside &= eta > least
        if most < np.inf:
            inside &= eta < most
        return np.asarray(inside)


@dataclass(frozen=True)
class _Power(Link):
    """μ = η^k, so that d log μ/dη = k/η."""

    exponent: ClassVar[float]

    @quiet
    def log_mean(self, eta: ArrayLike) -> FloatArray:
        return self.exponent * np.log(_real(eta))

    @quiet
    def growth(self, eta: ArrayLike) -> Rate:
        eta = _real(eta)
        u = self.exponent / eta
        return u, -u / eta


@dataclass(frozen=True)
class Identity(_Power):
    """η = μ: canonical for the Gaussian. Notes [6867] 3.2.1.

    >>> Identity().first([3.0, -2.0])
    array([1., 1.])
    """

    name = "identity"
    image = (-np.inf, np.inf)
    exponent = 1.0

    def _eta(self, mu: FloatArray) -> FloatArray:
        return mu.copy()

    def _mean(self, eta: FloatArray) -> FloatArray:
        return eta.copy()

    def _first(self, eta: FloatArray) -> FloatArray:
        return np.ones_like(eta)

    def _second(self, eta: FloatArray) -> FloatArray:
        return np.zeros_like(eta)


@dataclass(frozen=True)
class Log(Link):
    """η = log μ: canonical for the Poisson. Means of any size above 0; below 1 where η < 0.

    >>> Log().complement([-1e-20])
    array([1.e-20])
    """

    name = "log"

    def _eta(self, mu: FloatArray) -> FloatArray:
        return np.log(mu)

    def _mean(self, eta: FloatArray) -> FloatArray:
        return np.exp(eta)

    def _first(self, eta: FloatArray) -> FloatArray:
        return np.exp(eta)

    def _second(self, eta: FloatArray) -> FloatArray:
        return np.exp(eta)

    @quiet
    def pieces(self, eta: ArrayLike) -> Pieces:
        mu = np.exp(_real(eta))
        return mu, None, mu.copy()

    @quiet
    def complement(self, eta: ArrayLike) -> FloatArray:
        return -np.expm1(_real(eta))

    def log_mean(self, eta: ArrayLike) -> FloatArray:
        return _real(eta).copy()

    @quiet
    def log_complement(self, eta: ArrayLike) -> FloatArray:
        return _log1mexp(_real(eta))

    def growth(self, eta: ArrayLike) -> Rate:
        eta = _real(eta)
        return np.ones_like(eta), np.zeros_like(eta)

    @quiet
    def fall(self, eta: ArrayLike) -> Rate:
        r = 1.0 / np.expm1(-_real(eta))
        return r, r + r * r


@dataclass(frozen=True)
class Logit(Link):
    """η = log μ/(1 − μ): canonical for the binomial. Notes [6867] 3.1.1, 3.2.2.

    >>> print(Logit().complement(700.0))
    9.85967654375977e-305
    """

    name = "logit"
    image = (0.0, 1.0)
    symmetric = True

    def _eta(self, mu: FloatArray) -> FloatArray:
        return numerics.logit(mu)

    def _mean(self, eta: FloatArray) -> FloatArray:
        return expit(eta)

    def _first(self, eta: FloatArray) -> FloatArray:
        e = np.exp(-np.abs(eta))
        return e / (1.0 + e) ** 2

    def _second(self, eta: FloatArray) -> FloatArray:
        return -np.tanh(0.5 * eta) * self._first(eta)  # 1 − 2μ = −tanh(η/2)

    @quiet
    def pieces(self, eta: ArrayLike) -> Pieces:
        eta = _real(eta)
        e = np.exp(-np.abs(eta))
        large = 1.0 / (1.0 + e)
        small = e * large
        up = eta >= 0
        return np.where(up, large, small), np.where(up, small, large), small * large

    def complement(self, eta: ArrayLike) -> FloatArray:
        return expit(-_real(eta))

    def log_mean(self, eta: ArrayLike) -> FloatArray:
        return -log1pexp(-_real(eta))

    def log_complement(self, eta: ArrayLike) -> FloatArray:
        return -log1pexp(eta)

    @quiet
    def growth(self, eta: ArrayLike) -> Rate:
        eta = _real(eta)
        return expit(-eta), -self._first(eta)

    @quiet
    def fall(self, eta: ArrayLike) -> Rate:
        eta = _real(eta)
        return expit(eta), self._first(eta)


@dataclass(frozen=True)
class Probit(Link):
    """η = Φ⁻¹(μ), Φ the standard normal distribution function. Notes [6867] 3.2.3.

    >>> print(Probit().growth(-1e3)[0].round(6), Probit().first(-1e3))  # φ/Φ, both of which underflow
    1000.001 0.0
    """

    name = "probit"
    image = (0.0, 1.0)
    symmetric = True

    def _eta(self, mu: FloatArray) -> FloatArray:
        return scipy.special.ndtri(mu)

    def _mean(self, eta: FloatArray) -> FloatArray:
        return scipy.special.ndtr(eta)

    def _first(self, eta: FloatArray) -> FloatArray:
        return np.exp(-0.5 * eta * eta) / math.sqrt(2.0 * math.pi)

    def _second(self, eta: FloatArray) -> FloatArray:
        return _product(self._first(eta), -eta)

    @quiet
    def pieces(self, eta: ArrayLike) -> Pieces:
        eta = _real(eta)
        return scipy.special.ndtr(eta), scipy.special.ndtr(-eta), self._first(eta)

    def complement(self, eta: ArrayLike) -> FloatArray:
        return scipy.special.ndtr(-_real(eta))

    @quiet
    def log_mean(self, eta: ArrayLike) -> FloatArray:
        return scipy.special.log_ndtr(_real(eta))

    @quiet
    def log_complement(self, eta: ArrayLike) -> FloatArray:
        return scipy.special.log_ndtr(-_real(eta))

    @quiet
    def growth(self, eta: ArrayLike) -> Rate:
        hazard, slope = _normal_hazard(-_real(eta))
        return hazard, -slope

    @quiet
    def fall(self, eta: ArrayLike) -> Rate:
        return _normal_hazard(_real(eta))


@dataclass(frozen=True)
class CLogLog(Link):
    """η = log(−log(1 − μ)): a rate e^η seen as "at least one". Notes [6867] 3.2.3.

    >>> print(CLogLog().log_mean(-1e3))  # whose e^η underflows
    -1000.0
    """

    name = "cloglog"
    image = (0.0, 1.0)

    def _eta(self, mu: FloatArray) -> FloatArray:
        return np.log(-np.log1p(-mu))

    def _mean(self, eta: FloatArray) -> FloatArray:
        return -np.expm1(-np.exp(eta))

    def _first(self, eta: FloatArray) -> FloatArray:
        return self._slope(eta, np.exp(eta))

    def _second(self, eta: FloatArray) -> FloatArray:
        x = np.exp(eta)
        return _product(self._slope(eta, x), 1.0 - x)

    def _slope(self, eta: FloatArray, x: FloatArray) -> FloatArray:
        return np.exp(np.minimum(eta, 1e3) - x)  # the cap against inf − inf

    @quiet
    def pieces(self, eta: ArrayLike) -> Pieces:
        eta = _real(eta)
        x = np.exp(eta)
        return -np.expm1(-x), np.exp(-x), self._slope(eta, x)

    @quiet
    def complement(self, eta: ArrayLike) -> FloatArray:
        return np.exp(-np.exp(_real(eta)))

    @quiet
    def log_mean(self, eta: ArrayLike) -> FloatArray:
        eta = _real(eta)
        x = np.exp(eta)
        return np.where(eta < -30, eta - 0.5 * x, _log1mexp(-x))

    @quiet
    def log_complement(self, eta: ArrayLike) -> FloatArray:
        return -np.exp(_real(eta))

    @quiet
    def growth(self, eta: ArrayLike) -> Rate:
        x = np.minimum(np.exp(_real(eta)), 1e3)  # eˣ is infinite there already
        u = x / np.expm1(x)
        short = np.where(x < 0.1, 0.5 * x + x * x * horner(x * x, BERNOULLI), 1.0 - u)  # 1 − u
        u = np.where(x < 0.1, 1.0 - short, u)
        return u, u * (short - x)

    @quiet
    def fall(self, eta: ArrayLike) -> Rate:
        x = np.exp(_real(eta))
        return x, x.copy()


@dataclass(frozen=True)
class Inverse(_Power):
    """η = 1/μ on η > 0: canonical for the Gamma. Notes [6867] 3.1.3.

    >>> Inverse().inverse([0.5, 4.0])
    array([2.  , 0.25])
    """

    name = "inverse"
    exponent = -1.0

    def _eta(self, mu: FloatArray) -> FloatArray:
        return 1.0 / mu

    def _mean(self, eta: FloatArray) -> FloatArray:
        return 1.0 / eta

    def _first(self, eta: FloatArray) -> FloatArray:
        return -1.0 / (eta * eta)

    def _second(self, eta: FloatArray) -> FloatArray:
        return 2.0 / (eta * eta * eta)


@dataclass(frozen=True)
class Sqrt(_Power):
    """η = √μ on η > 0: the scale on which a Poisson's variance is nearly constant.

    >>> Sqrt().inverse([0.5, 3.0])
    array([0.25, 9.  ])
    """

    name = "sqrt"
    exponent = 2.0

    def _eta(self, mu: FloatArray) -> FloatArray:
        return np.sqrt(mu)

    def _mean(self, eta: FloatArray) -> FloatArray:
        return eta * eta

    def _first(self, eta: FloatArray) -> FloatArray:
        return 2.0 * eta

    def _second(self, eta: FloatArray) -> FloatArray:
        return np.full_like(eta, 2.0)


@dataclass(frozen=True)
class InverseSquared(_Power):
    """η = 1/μ² on η > 0: canonical for the inverse Gaussian. Notes [6867] 3.1.3.

    >>> InverseSquared().inverse([0.25, 4.0])
    array([2. , 0.5])
    """

    name = "inverse_squared"
    exponent = -0.5

    def _eta(self, mu: FloatArray) -> FloatArray:
        return (1.0 / mu) ** 2

    def _mean(self, eta: FloatArray) -> FloatArray:
        return 1.0 / np.sqrt(eta)

    def _first(self, eta: FloatArray) -> FloatArray:
        return -0.5 / (eta * np.sqrt(eta))

    def _second(self, eta: FloatArray) -> FloatArray:
        return 0.75 / (eta * eta * np.sqrt(eta))


_KINDS = (Identity, Log, Logit, Probit, CLogLog, Inverse, Sqrt, InverseSquared)
LINKS: dict[str, Link] = {kind.name: kind() for kind in _KINDS}
_ALIASES = {
    "1/mu": "inverse",
    "inverse_power": "inverse",
    "reciprocal": "inverse",
    "1/mu^2": "inverse_squared",
}


def link(which: str | Link) -> Link:
    """name ↦ Link, in any case, spaces or hyphens for underscores; a Link is returned as it is. [6867] 3.1.3.

    R's "1/mu^2" is understood.

    >>> link("Inverse Squared") == link("1/mu^2") == InverseSquared()
    True
    """
    if isinstance(which, Link):
        return which
    key = str(which).strip().lower().replace(" ", "_").replace("-", "_")
    key = _ALIASES.get(key, key)
    if key not in LINKS:
        raise ValueError(f"unknown link {which!r}: give one of {', '.join(LINKS)}, or a Link")
    return LINKS[key]


def _real(x: ArrayLike) -> FloatArray:
    x = np.asarray(x)
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def horner(x: FloatArray, coefficients: Sequence[float]) -> FloatArray:
    """Σ_j c_j xʲ in x's own precision (NumPy's polyval would make float32 double)."""
    value = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        value = value * x + c
    return value


def _product(small: FloatArray, large: FloatArray) -> FloatArray:
    """small · large, 0 where small has underflowed even if large is infinite."""
    return np.where(small == 0, 0.0, small * large)


def _log1mexp(a: FloatArray) -> FloatArray:
    """log(1 − eᵃ) for a < 0, whose inner difference cancels at one end and rounds to 1 at the other."""
    return np.where(a > -math.log(2.0), np.log(-np.expm1(a)), np.log1p(-np.exp(a)))


def _normal_hazard(x: FloatArray) -> Rate:
    """h(x) = φ(x)/Φ(−x), and h' = h (h − x): x + 1/x − … far up, where both parts underflow and h − x cancels."""
    h = math.sqrt(2.0 / math.pi) / scipy.special.erfcx(x * math.sqrt(0.5))
    slope = _product(h, h - x)
    if np.any(x > 30):
        far = np.maximum(x, 30.0)
        above = horner((1.0 / far) ** 2, MILLS)  # x (h − x)
        excess = above / far
        h, slope = np.where(x > 30, x + excess, h), np.where(x > 30, above + excess**2, slope)
    return h, slope
