"""Responses of generalised linear models: y ~ a law of mean μ and variance φ V(μ)/w, with η = g(μ).

    response           V(μ)          ½ unit deviance, ∫_μ^y (y − s)/V(s) ds            canonical link   φ
    Gaussian           1             ½ (y − μ)²                                        identity         free
    Binomial           μ(1 − μ)      y log y/μ + (1 − y) log (1 − y)/(1 − μ)           logit            1
    Poisson            μ             y log y/μ − y + μ                                 log              1
    Gamma              μ²            y/μ − 1 − log y/μ                                 inverse          free
    InverseGaussian    μ³            (y − μ)²/2yμ²                                     inverse_squared  free
    NegativeBinomial   μ + μ²/k      y log y/μ − (y + k) log (y + k)/(μ + k)           none here        1
    Tweedie            μᵖ            y²⁻ᵖ/(1−p)(2−p) − yμ¹⁻ᵖ/(1−p) + μ²⁻ᵖ/(2−p)        none here        free

    ℓ(η, y) = ½ unit deviance at μ(η),  ℓ' = −(y − μ) μ'/V,  E ℓ'' = μ'²/V            (``GlmLoss``)

Notes [6867] 3.1.3 (exponential families), 3.2.3 (generalised linear models), [PC]; row D8. As printed the
deviances cancel near y = μ and the derivatives are 0/0 in the tails; here every one is a sum of terms of one sign,
of logarithms that come from η. Everything is elementwise; cost O(size). NaN in y gives NaN.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core import families, links
from separatrix.core.families import Family
from separatrix.core.links import LINKS, Identity, Link, Log, Logit, horner
from separatrix.core.losses import Logistic, Loss, Squared
from separatrix.core.numerics import FloatArray
from separatrix.core.special import ATANH, log_multinomial, log_poisson

Curvature = Literal["none", "expected", "observed"]
Terms = tuple[FloatArray, FloatArray, FloatArray | None]  # value, slope, and the curvature asked for
Pair = tuple[FloatArray, FloatArray]  # a number and its logarithm

quiet = np.errstate(all="ignore")
SMALL = 64  # counts whose y log y − y is kept in a table
SATURATED = np.array([0.0, *(k * math.log(k) - k for k in range(1, SMALL))])
POSITIVE_LINKS = ("log", "identity", "inverse", "sqrt", "inverse_squared")


@dataclass(frozen=True)
class Response(ABC):
    """A law of mean μ, variance φ V(μ)/w; see the module's table. Notes [6867] 3.1.3, 3.2.3; row D8.

    ``family`` is the `Family` of the same law, where core.families has it; ``links`` are those it takes;
    ``mean_range`` are its means, ends left out. Arrays broadcast; cost O(size).

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
        return self._variance(_real(mu), None if complement is None else _real(complement))

    @quiet
    def unit_deviance(self, y: ArrayLike, mu: ArrayLike, complement: ArrayLike | None = None) -> FloatArray:
        """2 ∫_μ^y (y − s)/V(s) ds ≥ 0, twice what the log-likelihood lacks at φ = 1, w = 1; 0 only at μ = y.

        Relative precision holds near y = μ, and the limits y = 0 and y = 1 are exact.
        """
        rest = None if complement is None else _real(complement)
        return 2.0 * self._half_deviance(_real(y), _real(mu), rest)

    @quiet
    def outside(self, y: ArrayLike) -> NDArray[np.bool_]:
        """y ∉ support, per cell; ±inf is outside, NaN is missing and is not."""
        y = _real(y)
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
        y, mu, w = _real(y), _real(mu), _real(weight)
        phi = _real(1.0 if self.known_dispersion else dispersion)
        rest = None if complement is None else _real(complement)
        value = self._saturated(y, w, phi) - w * self._half_deviance(y, mu, rest) / phi
        return np.where(w == 0, 0.0, np.where(self.outside(y), -np.inf, value))

    @quiet
    def saturated(self, y: ArrayLike, weight: ArrayLike, dispersion: ArrayLike) -> FloatArray:
        """log p(y | μ = y, φ), what a mean for each row would reach; weights as in :meth:`log_likelihood`."""
        return self._saturated(_real(y), _real(weight), _real(dispersion))

    def likelihood_dispersion(self, deviance: float, weight: ArrayLike) -> float:
        """The φ at which R evaluates the log-likelihood: deviance/Σw, the Gaussian's by rows; 1 where known.

        It is not the Pearson estimate of φ that standard errors take. For the Gaussian and the inverse Gaussian it
        maximises the likelihood. ``weight`` (n,).
        """
        return 1.0 if self.known_dispersion else float(deviance) / float(np.sum(weight))

    def start(self, y: ArrayLike, weight: ArrayLike = 1.0) -> FloatArray:
        """μ to start from, R's mustart: y, moved off the ends of the support."""
        return _real(y) + 0.0 * _real(weight)


@dataclass(frozen=True)
class Gaussian(Response):
    """V = 1, deviance (y − μ)². Notes [6867] 3.2.1; rows D8, D9. Takes every link.

    >>> print(Gaussian().log_likelihood(1.0, 0.0, weight=4.0, dispersion=4.0).round(4))
    -1.4189
    """

    name, support = "gaussian", "a finite number"
    family = families.Normal()
    canonical = default_link = "identity"
    links = ("identity", "log", "inverse", "sqrt", "inverse_squared", "logit", "probit", "cloglog")
    mean_range = (-np.inf, np.inf)

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return np.ones_like(mu)

    def _half_deviance(self, y: FloatArray, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return 0.5 * (y - mu) ** 2

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return np.isinf(y)

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        return -0.5 * np.log(2 * math.pi * phi / w)

    def likelihood_dispersion(self, deviance: float, weight: ArrayLike) -> float:
        return float(deviance) / np.count_nonzero(weight)

    def _terms(self, link: Link, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms:
        if isinstance(link, Identity):
            return Squared().derivatives(eta, y)
        mu, _, dmu = link.pieces(eta)
        r = mu - y
        bent = None if curvature == "none" else dmu * dmu
        if bent is not None and curvature == "observed":
            bent += r * link.second(eta)
        return 0.5 * r * r, r * dmu, bent


@dataclass(frozen=True)
class Binomial(Response):
    """V = μ(1 − μ) for a proportion y of w trials, or y = 0 or 1. Notes [6867] 3.2.2; row D8.

    ½ deviance = y log y/μ + (1 − y) log (1 − y)/(1 − μ), two terms of one sign once y − μ is moved between them.

    >>> Binomial().unit_deviance([0.0, 1.0, 0.25], [0.5, 1.0, 0.25]).round(4)
    array([1.3863, 0.    , 0.    ])
    >>> print(Binomial().log_likelihood(0.4, 0.5, weight=5).round(4))  # 10 / 32
    -1.1632
    """

    name, support = "binomial", "a number from 0 to 1"
    family = families.Bernoulli()
    canonical = default_link = "logit"
    links = ("logit", "probit", "cloglog", "log", "identity")
    known_dispersion = True
    mean_range = (0.0, 1.0)

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu * (1.0 - mu if complement is None else complement)

    def _half_deviance(self, y: FloatArray, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        rest = 1.0 - mu if complement is None else complement
        log_rest = np.log1p(-mu) if complement is None else np.log(complement)
        d = self._residual(y, mu, rest)
        return self._half(y, d, (mu, np.log(mu)), (rest, log_rest))

    def _half(self, y: FloatArray, d: FloatArray, mean: Pair, rest: Pair) -> FloatArray:
        return divergence(y, mean[0], d, mean[1]) + divergence(1.0 - y, rest[0], -d, rest[1])

    def _residual(self, y: FloatArray, mu: FloatArray, rest: FloatArray) -> FloatArray:
        """y − μ, by complements above ½, where 1 − μ has digits that μ has not."""
        return np.where(mu < 0.5, y - mu, rest - (1.0 - y))

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return (y < 0) | (y > 1)

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        p = np.stack([y, 1.0 - y], axis=-1)
        return log_multinomial(w[..., None] * p, p, np.log(p))

    def start(self, y: ArrayLike, weight: ArrayLike = 1.0) -> FloatArray:
        w = _real(weight)
        return (w * _real(y) + 0.5) / (w + 1.0)

    def _terms(self, link: Link, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms:
        binary = bool(np.all((y == 0) | (y == 1)))
        if binary and isinstance(link, Logit):
            loss, sign = Logistic(), 2.0 * y - 1.0
            if curvature == "none":
                return *loss.value_slope(eta, sign), None
            return loss.derivatives(eta, sign)
        if isinstance(link, Logit):
            return self._logit(eta, y)
        if binary and link.symmetric:
            return self._signed(link, eta, 2.0 * y - 1.0, curvature)
        log_mu, log_rest = link.log_mean(eta), link.log_complement(eta)
        (rise, d_rise), (fall, d_fall) = link.growth(eta), link.fall(eta)
        if binary:
            one = y == 1
            value, slope = -np.where(one, log_mu, log_rest), np.where(one, -rise, fall)
        else:
            mu, rest, _ = link.pieces(eta)
            rest = link.complement(eta) if rest is None else rest
            d = self._residual(y, mu, rest)
            value = self._half(y, d, (mu, log_mu), (rest, log_rest))
            slope = -_product(d, rise + fall)  # μ'/V = μ'/μ + μ'/(1 − μ)
        if curvature == "none":
            return value, slope, None
        if curvature == "expected":
            return value, slope, _product(link.first(eta), rise + fall)
        return value, slope, _product(1.0 - y, d_fall) - _product(y, d_rise)

    def _signed(self, link: Link, eta: FloatArray, sign: FloatArray, curvature: Curvature) -> Terms:
        """ℓ = −log μ(±η) at y = 1 and 0, half the work where 1 − μ(η) = μ(−η)."""
        t = sign * eta
        rise, d_rise = link.growth(t)
        value, slope = -link.log_mean(t), -sign * rise
        if curvature == "none":
            return value, slope, None
        if curvature == "observed":
            return value, slope, -d_rise
        return value, slope, _product(link.first(t), rise + link.fall(t)[0])

    def _logit(self, eta: FloatArray, y: FloatArray) -> Terms:
        """The canonical link at proportions: ℓ' = μ − y, ℓ'' = V."""
        e = np.exp(-np.abs(eta))
        one_more, softplus = 1.0 + e, np.log1p(e)
        up = eta >= 0
        small = e / one_more
        mu, rest = np.where(up, 1.0 / one_more, small), np.where(up, small, 1.0 / one_more)
        d = self._residual(y, mu, rest)
        logs = np.minimum(eta, 0.0) - softplus, -np.maximum(eta, 0.0) - softplus
        return self._half(y, d, (mu, logs[0]), (rest, logs[1])), -d, small / one_more


@dataclass(frozen=True)
class _Positive(Response):
    """Means above 0, with u = d log μ/dη, which no link loses in its tails:

        ℓ' = u s,  E ℓ'' = u² e,  ℓ'' = u² o + u' s,     s = (μ − y)μ/V,  e = μ²/V,  o = e + s (1 − μV'/V)

    Each is given log μ beside μ, for μ may be 0 or infinite where its logarithm is not.
    """

    @abstractmethod
    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray: ...  # s

    @abstractmethod
    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray: ...  # e

    @abstractmethod
    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray: ...  # o

    def _half_deviance(self, y: FloatArray, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return self._half(y, mu, np.log(mu))

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return y <= 0

    def _terms(self, link: Link, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms:
        mu, log_mu = link.inverse(eta), link.log_mean(eta)
        value, pull = self._half(y, mu, log_mu), self._pull(y, mu, log_mu)
        bent = None
        if curvature == "expected":
            bent = self._expected(mu, log_mu)
        elif curvature == "observed":
            bent = self._observed(y, mu, log_mu)
        if isinstance(link, Log):  # u = 1
            return value, pull, bent
        u, du = link.growth(eta)
        if bent is not None:
            bent = u * u * bent
            if curvature == "observed":
                bent += du * pull
        return value, u * pull, bent


@dataclass(frozen=True)
class Poisson(_Positive):
    """V = μ, ½ deviance y log y/μ − y + μ; a rate y ≥ 0 need not be whole. Notes [6867] 3.1.3; row D8.

    >>> print(Poisson().log_likelihood(3, 2.0).round(4))
    -1.7123
    """

    name, support = "poisson", "a number of 0 or more"
    family = families.Poisson()
    canonical = default_link = "log"
    known_dispersion = True

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu.copy()

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return y < 0

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        return w * log_poisson(y, y, np.log(y))

    def start(self, y: ArrayLike, weight: ArrayLike = 1.0) -> FloatArray:
        return _real(y) + 0.1

    def _terms(self, link: Link, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms:
        counts = _small_counts(y) if isinstance(link, Log) else None
        if counts is None or not math.isfinite(eta.sum()):
            return super()._terms(link, eta, y, curvature)
        mu = np.exp(eta)
        value = mu - y * eta
        value += SATURATED[counts]  # what cancels here is below SMALL · EPS
        return value, mu - y, None if curvature == "none" else mu

    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return divergence(y, mu, y - mu, log_mu)

    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return mu - y

    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return mu

    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return mu


@dataclass(frozen=True)
class Gamma(_Positive):
    """V = μ², ½ deviance y/μ − 1 − log y/μ; the shape is 1/φ. Notes [6867] 3.1.3; row D8.

    >>> print(Gamma().log_likelihood(1.0, 2.0).round(4))  # an exponential of mean 2
    -1.1931
    """

    name, support = "gamma", "a number above 0"
    family = families.Gamma()
    canonical = default_link = "inverse"

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu * mu

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        shape = 1.0 / phi
        return w * (log_poisson(shape, shape, np.log(shape)) + np.log(shape) - np.log(y))

    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return divergence(np.ones_like(y), y / mu, _short(y, mu), np.log(y) - log_mu)

    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return _short(y, mu)

    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return np.ones_like(mu)

    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return y / mu


@dataclass(frozen=True)
class InverseGaussian(_Positive):
    """V = μ³, deviance (y − μ)²/yμ²; row D8. Notes [6867] 3.1.3.

    >>> print(InverseGaussian().log_likelihood(1.0, 1.0).round(4))
    -0.9189
    """

    name, support = "inverse_gaussian", "a number above 0"
    canonical = default_link = "inverse_squared"

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu * mu * mu

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        return -0.5 * w * (np.log(2 * math.pi * phi) + 3 * np.log(y))

    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return 0.5 * _short(y, mu) ** 2 / y

    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return _short(y, mu) / mu

    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return 1.0 / mu

    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return (2.0 * y / mu - 1.0) / mu


@dataclass(frozen=True)
class NegativeBinomial(_Positive):
    """V = μ + μ²/k with the size k known (MASS's theta, 1/alpha of statsmodels). Notes [6867] 3.1.3; row D8.

    ½ deviance = y log y/m + k log k/n with m = μ(y + k)/(μ + k), n = k(y + k)/(μ + k) and y + k = m + n: the two
    terms of a binomial, of one sign once y − m = k − n is moved between them.

    >>> NegativeBinomial(2.0).variance([0.0, 2.0, 4.0])
    array([ 0.,  4., 12.])
    """

    size: float

    name, support = "negative_binomial", "a number of 0 or more"
    default_link = "log"
    known_dispersion = True

    def __post_init__(self) -> None:
        if not 0 < self.size < np.inf:
            raise ValueError(f"the size of a negative binomial must be a positive number, not {self.size}")

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu + mu * (mu / self.size)

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return y < 0

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        parts = np.stack([y, np.full_like(y, self.size)], axis=-1)
        p = parts / (y + self.size)[..., None]
        return w * (log_multinomial(parts, p, np.log(p)) + np.log(p[..., 1]))

    def start(self, y: ArrayLike, weight: ArrayLike = 1.0) -> FloatArray:
        y = _real(y)
        return y + (y == 0) / 6.0

    def _share(self, mu: FloatArray) -> FloatArray:
        """μ/(μ + k)."""
        return 1.0 / (1.0 + self.size / mu)

    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        k, total = self.size, y + self.size
        log_total = np.log(total)
        odds = log_total - np.where(np.isinf(mu), log_mu, np.log(mu + k))  # log (y + k)/(μ + k)
        log_part = np.where(log_mu == np.inf, log_total, log_mu + odds)
        d = -self._pull(y, mu, log_mu)
        size = np.full_like(d, k)
        first = divergence(y, total * self._share(mu), d, log_part)
        return first + divergence(size, k * total / (mu + k), -d, math.log(k) + odds)

    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        k = self.size
        return np.where(np.isinf(mu), k, (mu - y) / (1.0 + mu / k))

    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return self.size * self._share(mu)

    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return (y + self.size) * self._share(mu) / (1.0 + mu / self.size)


@dataclass(frozen=True)
class Tweedie(_Positive):
    """V = μᵖ: 1 < p < 2 a Poisson sum of gammas (y ≥ 0, a mass at 0), p > 2 a positive stable law. Row D8.

    p = 0, 1, 2, 3 are the Gaussian, Poisson, Gamma and inverse Gaussian, and those are what one gets. There is no
    law with 0 < p < 1; the density of the others is a series nobody sums in closed form, so no likelihood here.
    Notes [6867] 3.1.3.

    >>> Tweedie(1.5).unit_deviance([0.0, 1.0, 4.0], 1.0), Tweedie(2)
    (array([4., 0., 4.]), Gamma())
    """

    power: float = 1.5

    name = "tweedie"
    default_link = "log"

    def __new__(cls, power: float = 1.5) -> Response:  # type: ignore[misc]
        named: dict[float, type[Response]] = {0: Gaussian, 1: Poisson, 2: Gamma, 3: InverseGaussian}
        return named[power]() if power in named else super().__new__(cls)

    def __post_init__(self) -> None:
        if not 1 < self.power < np.inf:
            raise ValueError(
                f"there is no Tweedie law of power {self.power} here: the power must be 0, or 1 or more"
            )

    @property
    def support(self) -> str:  # type: ignore[override]
        return "a number of 0 or more" if self.power < 2 else "a number above 0"

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu**self.power

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return y < 0 if self.power < 2 else y <= 0

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        raise NotImplementedError(
            f"the likelihood of a Tweedie law of power {self.power} has no closed form, so there is no AIC: compare "
            "deviances"
        )

    def start(self, y: ArrayLike, weight: ArrayLike = 1.0) -> FloatArray:
        y = _real(y)
        return y + 0.1 * (y == 0)

    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        """μ²⁻ᵖ ((1 + t)ᵃ − 1 − at)/ab at t = y/μ − 1, a = 2 − p, b = 1 − p: by its series near t = 0, through
        expm1 around it, term by term far off, where μ may have left the range of numbers."""
        a, b = 2.0 - self.power, 1.0 - self.power
        t, log_ratio = -_short(y, mu), np.log(y) - log_mu
        if self.power < 1.5:  # the form in which nothing is divided by the smaller of a and b
            rise = (y / mu * np.expm1(b * log_ratio) / b - t) / a
        else:
            rise = (np.expm1(a * log_ratio) / a - t) / b
        c = [0.5]
        for j in range(2, 18):
            c.append(c[-1] * (a - j) / (j + 1))
        rise = np.where(np.abs(t) * (1 + abs(a) / 2) < 0.1, t * t * horner(t, c), rise)
        below = np.exp(b * log_mu) * (mu / a - y / b)
        above = np.exp(a * log_mu) * (1.0 / a - (1.0 + t) / b)
        far = np.where(y > mu, below, above) + y**a / (a * b)
        return np.where((np.abs(log_ratio) > 30) | (y == 0), far, np.exp(a * log_mu) * rise)

    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        above = np.exp((2.0 - self.power) * log_mu) * _short(y, mu)
        return np.where(y > mu, np.exp((1.0 - self.power) * log_mu) * (mu - y), above)

    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return np.exp((2.0 - self.power) * log_mu)

    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        a, b = 2.0 - self.power, 1.0 - self.power
        above = np.exp(a * log_mu) * (a - b * (1.0 - _short(y, mu)))
        return np.where(y > mu, np.exp(b * log_mu) * (a * mu - b * y), above)


@dataclass(frozen=True)
class GlmLoss(Loss):
    """ℓ(η, y) = ½ unit deviance at μ(η), ℓ' = −(y − μ) μ'/V, E ℓ'' = μ'²/V. Notes [6867] 3.2.3, [PC]; row D8.

    y is (n,), or (n, 2) whose second column is an offset added to η (n,). The curvature is the expected one,
    Fisher's, never negative; ``observed=True`` gives ℓ'' itself. Under the canonical link the two are one. Where η
    has no mean the response can have, ℓ is +inf and its derivatives NaN. Cost O(n), two to four transcendentals a
    row; 0/1 responses under the logit are `Logistic`, the Gaussian under the identity is `Squared`.

    >>> loss = GlmLoss.of("poisson")
    >>> loss.derivatives(np.array([0.0, -800.0]), np.array([2.0, 1.0]))
    (array([3.86294361e-01, 7.99000000e+02]), array([-1., -1.]), array([1., 0.]))
    >>> loss.value(np.zeros(1), np.array([[2.0, np.log(2.0)]]))  # an exposure of 2
    array([0.])
    """

    response: Response
    link: Link
    observed: bool = False

    name = "glm"
    target = "real"

    def __post_init__(self) -> None:
        if self.link.name in LINKS and self.link.name not in self.response.links:
            raise ValueError(
                f"the {self.response.name} response does not take the {self.link.name} link: "
                f"give one of {', '.join(self.response.links)}"
            )

    @classmethod
    def of(
        cls,
        which: str | Family | Response,
        link: str | Link | None = None,
        observed: bool = False,
        **parameters: float,
    ) -> GlmLoss:
        """From names; the response's default link unless one is given.

        >>> GlmLoss.of("negative_binomial", link="sqrt", size=2.0)
        GlmLoss(response=NegativeBinomial(size=2.0), link=Sqrt(), observed=False)
        """
        chosen = response(which, **parameters)
        return cls(chosen, links.link(chosen.default_link if link is None else link), observed)

    @property
    def canonical(self) -> bool:
        """Whether μ'/V is constant: then ℓ is convex, and its curvature needs no expectation."""
        return self.link.name == self.response.canonical

    @property
    def convex(self) -> bool:
        """Whether ℓ is convex in η: canonical links, 0/1 responses' usual ones, and some more by inspection."""
        if isinstance(self.response, Tweedie):
            return self.link.name == "log" and self.response.power <= 2
        pairs = {
            "binomial": ("probit", "cloglog", "log", "identity"),
            "poisson": ("identity", "sqrt"),
            "gamma": ("log",),
            "negative_binomial": ("log",),
        }
        return self.canonical or self.link.name in pairs.get(self.response.name, ())

    @property
    def range_factor(self) -> float:
        """c with |d³ℓ/dη³| ≤ c d²ℓ/dη² everywhere, the observed curvature; NaN where there is no such c.

        Besides the canonical three, those convex under the log link: the Gamma's y/μ + η, the negative binomial's
        (y + k) log(k + μ) − yη and the Tweedie's for p < 2, whose two powers of μ have rates 2 − p and p − 1.
        """
        match self.response, self.link.name:
            case Gaussian(), "identity":
                return 0.0
            case (Binomial(), "logit") | (Poisson() | Gamma() | NegativeBinomial(), "log"):
                return 1.0
            case Tweedie(power=p), "log" if p < 2:
                return max(2.0 - p, p - 1.0)
        return math.nan

    @property
    def bend(self) -> float:  # type: ignore[override]
        """:attr:`range_factor` where ``derivatives`` gives the curvature it speaks of, else NaN."""
        return self.range_factor if self.observed or self.canonical else math.nan

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The η whose mean is in the response's range, as the ends of an open interval.

        >>> GlmLoss.of("binomial", "log").interval
        (-inf, 0.0)
        """
        return self.link.interval(*self.response.mean_range)

    def domain(self, eta: ArrayLike) -> NDArray[np.bool_]:
        """Where η, offset included, has a mean in the response's range."""
        return self.link.domain(eta, *self.response.mean_range)

    def derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        which: Curvature = "observed" if self.observed and not self.canonical else "expected"
        value, slope, curvature = self._terms(eta, y, which)
        assert curvature is not None
        return value, slope, curvature

    def value_slope(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._terms(eta, y, "none")[:2]

    def value(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        return self._terms(eta, y, "none")[0]

    def slope(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        return self._terms(eta, y, "none")[1]

    @quiet
    def _terms(self, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms:
        eta, y = _real(eta), _real(y)
        if y.ndim == 2:
            eta, y = eta + y[:, 1], y[:, 0]
        value, slope, bent = self.response._terms(self.link, eta, y, curvature)
        if self.interval == (-np.inf, np.inf) or (inside := self.domain(eta)).all():
            return value, slope, bent
        value = np.where(inside, value, np.where(np.isnan(eta), np.nan, np.inf))
        bent = None if bent is None else np.where(inside, bent, np.nan)
        return value, np.where(inside, slope, np.nan), bent


_KINDS = (Gaussian, Binomial, Poisson, Gamma, InverseGaussian, NegativeBinomial, Tweedie)
RESPONSES: dict[str, type[Response]] = {kind.name: kind for kind in _KINDS}
_ALIASES = {
    "normal": "gaussian",
    "bernoulli": "binomial",
    "exponential": "gamma",  # whose dispersion is then known, 1
    "inversegaussian": "inverse_gaussian",
    "negativebinomial": "negative_binomial",
    "nbinom": "negative_binomial",
}


def response(which: str | Family | Response, **parameters: float) -> Response:
    """name or Family ↦ Response; names in any case, "normal" and "bernoulli" too. A Response stays. [6867] 3.1.3.

    A negative binomial needs its size=, a Tweedie takes its power=.

    >>> response("Inverse Gaussian"), response("negative_binomial", size=2.0), response(families.Normal())
    (InverseGaussian(), NegativeBinomial(size=2.0), Gaussian())
    """
    if isinstance(which, Response):
        if parameters:
            raise ValueError(
                f"{which!r} has its parameters: give {', '.join(parameters)} with a name instead"
            )
        return which
    key = response_name(which)
    if key not in RESPONSES:
        raise ValueError(f"unknown response {which!r}: give one of {', '.join(RESPONSES)}, or a Response")
    kind = RESPONSES[key]
    takes = [f.name for f in fields(kind)]
    if strange := [name for name in parameters if name not in takes]:
        words = f"takes {' and '.join(takes)}" if takes else "takes no parameter"
        raise ValueError(f"the {key} response {words}, not {', '.join(strange)}")
    if kind is NegativeBinomial and not parameters:
        raise ValueError(
            "the size of a negative binomial must be known: give size=, or NegativeBinomial(size)"
        )
    return kind(**parameters)


def response_name(which: str | Family) -> str:
    """The name under which a response is known, whatever way it is spelt; one that is not known stays as it is.

    >>> response_name("Negative Binomial"), response_name("nbinom")
    ('negative_binomial', 'negative_binomial')
    """
    if isinstance(which, Family):
        return next((k.name for k in _KINDS if type(k.family) is type(which)), "")
    key = str(which).strip().lower()
    for mark in " -.":
        key = key.replace(mark, "_")
    return _ALIASES.get(key, key)


@quiet
def divergence(x: FloatArray, m: FloatArray, d: FloatArray, log_m: FloatArray) -> FloatArray:
    """x log(x/m) − x + m ≥ 0 from d = x − m and log m, both of which may be better known than m; m where x = 0.

    Near d = 0 by the series of artanh in v = d/(x + m), as Loader (2000) has it; O(size).

    >>> one = np.ones(2)
    >>> divergence(one, one, np.array([1e-9, 0.0]), np.zeros(2))
    array([5.e-19, 0.e+00])
    """
    shape = np.broadcast_shapes(np.shape(x), np.shape(m))
    x, m, d, log_m = (np.atleast_1d(a) for a in np.broadcast_arrays(x, m, d, log_m))
    value: FloatArray = np.log(x)
    value -= log_m
    value *= x
    value -= d
    np.copyto(value, m, where=(x == 0) | (m == np.inf))
    v = d / (x + m)
    near = np.nonzero(np.abs(v) < 0.1)  # a minority, as a rule
    if len(near[0]):
        square = v[near] ** 2
        value[near] = v[near] * (d[near] + 2.0 * x[near] * square * horner(square, ATANH))
    return value.reshape(shape)


def _small_counts(y: FloatArray) -> NDArray[np.intp] | None:
    """y as indices where all of it is whole and small, else None."""
    if y.dtype != np.float64 or y.ndim != 1 or len(y) == 0 or not (y.min() >= 0 and y.max() < SMALL):
        return None
    counts = y.astype(np.intp)
    return counts if bool(np.all(counts == y)) else None


def _short(y: FloatArray, mu: FloatArray) -> FloatArray:
    """1 − y/μ, 1 at y = 0 even if μ has underflowed."""
    return np.where(np.isinf(mu) | (y == 0), 1.0, (mu - y) / mu)


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """a · b, 0 where a is, even if b is infinite."""
    return np.where(a == 0, 0.0, a * b)


def _real(x: ArrayLike) -> FloatArray:
    x = np.asarray(x)
    return x if x.dtype.kind == "f" else x.astype(np.float64)
