"""Exponential families: p(x | η) = h(x) exp(η·T(x) − A(η)), ∇A(η) = E[T], ∇²A(η) = Cov[T].

    family               parameters         T(x)              η               A(η)
    Normal               mean μ, variance v x, x²             μ/v, −1/2v      μ²/2v + ½ log v
    Normal(variance=v)   mean μ             x                 μ/v             v η²/2
    MultivariateNormal   mean μ, covariance x, xxᵀ            Σ⁻¹μ, −½Σ⁻¹     ½ μᵀΣ⁻¹μ + ½ log|Σ|
    Bernoulli            probability p      x                 logit p         log(1 + e^η)
    Categorical          probabilities p    one-hot x         log p           log Σ e^η
    Multinomial          probabilities p    x                 log p           n log Σ e^η
    Poisson              rate r             x                 log r           e^η
    Exponential          rate r             x                 −r              −log(−η)
    Gamma                shape a, rate b    log x, x          a, −b           log Γ(a) − a log b
    Beta                 a, b               log x, log(1 − x) a, b            log B(a, b)
    Dirichlet            concentration α    log x             α               Σ log Γ(α) − log Γ(Σα)

Notes [6867] 3.1.3, whose u(x) is T(x) and whose g(η) is e^{−A(η)}. Gamma, Beta and Dirichlet put 1/x into h, so
that η is the parameter itself and going there and back costs no digit. To fit is to solve ∇A(η) = mean of T, which
merged statistics suffice for. Everything is elementwise over leading axes; cost is the number of cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy  # its submodules load on first use
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from separatrix.core.numerics import EPS, FloatArray, expit, log1pexp, logit, logsumexp, softmax
from separatrix.core.special import (
    dirichlet_concentration,
    dirichlet_derivatives,
    gamma_shape,
    log_dirichlet,
    log_multinomial,
    log_poisson,
    trigamma,
)

Parameters = dict[str, FloatArray]
Arrays = tuple[FloatArray, ...]
Values = Iterable[ArrayLike]
Named = Mapping[str, ArrayLike]
Derivatives = tuple[FloatArray, Arrays, Callable[[], FloatArray]]  # A, ∇A, and ∇²A when asked for

LARGEST_RATE = 1e300  # of an Exponential: what a column of zeros gets
TINY = float(np.finfo(np.float64).tiny)
quiet = np.errstate(all="ignore")


@dataclass(frozen=True)
class Family(ABC):
    """p(x | η) = h(x) exp(η·T(x) − A(η)); see the module's table. Notes [6867] 3.1.3.

    A parameter value is a dict of arrays whose leading shapes broadcast. A univariate family works cell by cell:
    x (n, 1, p) against parameters (K, p) gives (n, K, p); a multivariate one row by row: x (n, 1, d) against
    means (K, d) gives (n, K). NaN is a missing value: NaN in, NaN out, no warning. Cost O(cells).

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
    _sample: ClassVar[Callable[..., NDArray[Any]]]  # rng, size, θ by name → x

    @abstractmethod
    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Any) -> Parameters: ...

    def _natural(self, *args: Any, **parameters: Any) -> Arrays:
        return tuple(sign * parameters[key] for key, sign in self._signs.items())

    def _from_natural(self, *eta: Any, **_: Any) -> Parameters:
        return {key: sign * value for (key, sign), value in zip(self._signs.items(), eta)}

    def _statistics(self, x: FloatArray) -> Arrays:
        return (x,)

    def _log_base(self, x: FloatArray) -> FloatArray:
        value = -sum(self._statistics(x)[: self._logs], np.zeros(x.shape))
        return value.sum(axis=-1) if self.multivariate else value

    def _with_virtual_rows(self, w: FloatArray, means: Arrays, prior: Any) -> Arrays:
        """The means of T with those of the virtual rows of a conjugate prior {"weight", "means"} mixed in."""
        if prior is None:
            return means
        w0 = _real(prior["weight"])[..., None] if self.multivariate else _real(prior["weight"])
        return tuple(_blend(w, m, w0, _real(m0)) for m, m0 in zip(means, prior["means"]))

    def _centred(self) -> str:
        """The parameter found from the centred second moment, if there is one."""
        return ""

    @quiet
    def statistics(self, x: ArrayLike) -> Arrays:
        """T(x), each part shaped like x; Categorical adds an axis of levels, xxᵀ one of d."""
        return self._statistics(_real(x))

    def facts(self, x: ArrayLike) -> Arrays:
        """The parts of T(x) whose weighted means `estimate` reads: all, or x alone beside a centred `second`."""
        return (_real(x),) if self._centred() else self.statistics(x)

    @quiet
    def outside(self, x: ArrayLike) -> NDArray[np.bool_]:
        """x ∉ support, per cell, or per row if multivariate; ±inf is outside, NaN is missing and is not."""
        x = _real(x)
        low, high = self._range
        bad = np.isinf(x) | ((x <= low) | (x >= high) if self._open else (x < low) | (x > high))
        if self.discrete:
            bad |= (np.floor(x) != x) & ~np.isnan(x)
        return np.asarray(bad.any(axis=-1) if self.multivariate else bad)

    @quiet
    def estimate(self, weight: ArrayLike, means: Values, second: Any = None, prior: Any = None) -> Parameters:
        """argmax_θ Σ w log p(x | θ) (+ log prior(θ)) from W = Σw, the means of `facts` and Σ w (x − m)².

        The axes of weight are the leading axes of the means. `prior` is the conjugate one, a dict with the names
        in each family's docstring. Weight 0 gives NaN, or with a prior its mode. Cost O(cells), solves included.
        """
        absent = np.nan if prior is None else 0.0
        values = tuple(np.where(_leading(weight, np.ndim(m)) > 0, m, absent) for m in means)
        if second is not None:
            second = np.where(_leading(weight, np.ndim(second)) > 0, second, 0.0)
        return self._estimate(_leading(weight, values[0].ndim), values, second, prior)

    @quiet
    def estimate_shared(self, weight: ArrayLike, means: Values, second: Any = None) -> Parameters:
        """ML with one scale for all classes (axis 0), which makes the separator linear ([6867] 3.1.3.3).

        Shared are Normal's variance, MultivariateNormal's covariance and Gamma's shape; the rest have no scale.
        """
        fitted = self.estimate(weight, means, second)
        if scale := self._centred():
            fitted[scale] = _pooled(weight, fitted[scale])
        return fitted

    @quiet
    def natural(self, parameters: Named) -> Arrays:
        """η(θ), in the order of `statistics`."""
        return self._natural(**_named(parameters))

    @quiet
    def from_natural(self, eta: Values) -> Parameters:
        """θ(η), the inverse of `natural`."""
        return self._from_natural(*map(_real, eta))

    @quiet
    def log_partition(self, eta: Values) -> FloatArray:
        """A(η) = log ∫ h(x) exp(η·T(x)) dx."""
        return self._derivatives(*map(_real, eta))[0]

    @quiet
    def mean(self, eta: Values) -> Arrays:
        """∇A(η) = E[T(x)], in the shapes of η."""
        return self._derivatives(*map(_real, eta))[1]

    @quiet
    def covariance(self, eta: Values) -> FloatArray:
        """∇²A(η) = Cov[T(x)], (…, d, d) over all d natural parameters laid out in a row."""
        return self._derivatives(*map(_real, eta))[2]()

    @quiet
    def log_base(self, x: ArrayLike) -> FloatArray:
        """log h(x), −inf outside the support."""
        x = _real(x)
        return np.where(self.outside(x), -np.inf, self._log_base(x))

    @quiet
    def log_density(self, x: ArrayLike, parameters: Named) -> FloatArray:
        """log p(x | θ), −inf outside the support; not by η·T − A, whose terms cancel when θ is large."""
        x = _real(x)
        missing = np.isnan(x).any(axis=-1) if self.multivariate else np.isnan(x)
        value = np.where(missing, np.nan, self._log_density(x, **_named(parameters)))
        return np.where(self.outside(x), -np.inf, value)

    @quiet
    def sample(self, parameters: Named, size: int | tuple[int, ...], rng: Generator) -> NDArray[Any]:
        """x ~ p(· | θ): size first, then the leading shape of the parameters, then the d of a row."""
        named = _named(parameters)
        shapes = [v.shape[:-1] if key == "covariance" else v.shape for key, v in named.items()]
        first = tuple(np.atleast_1d(size).tolist())
        return self._sample(rng, first + np.broadcast_shapes(*shapes), **named)

    @quiet
    def moment_residual(
        self, parameters: Named, means: Values, second: Any = None, weight: Any = 1.0
    ) -> float:
        """max |E_θ[T] − T̄| / |T̄|, which is 0 at the maximum of the likelihood; a logarithm's error is absolute.

        Second moments are compared centred. Cells of weight 0 are left out; a NaN elsewhere gives inf.
        """
        worst, values = 0.0, tuple(map(_real, means))
        for expected, observed, unit in self._moments(_named(parameters), values, second, weight):
            gap = np.abs(expected - observed) / np.maximum(np.abs(observed), unit)
            gap = np.where((expected == observed) | (_leading(weight, np.ndim(gap)) == 0), 0.0, gap)
            worst = max(worst, float(np.max(np.where(np.isnan(gap), np.inf, gap), initial=0.0)))
        return worst

    def _moments(self, parameters: Parameters, means: Arrays, second: Any, weight: Any) -> Iterable[Any]:
        """(expected, observed, unit) of each moment to compare."""
        if second is not None and (scale := self._centred()):
            spread = second / _leading(weight, np.ndim(second))
            unit = np.sqrt(_outer(np.diagonal(spread, axis1=-2, axis2=-1))) if self.multivariate else 0.0
            return [(parameters["mean"], means[0], 0.0), (parameters[scale], spread, unit)]
        expected = self._derivatives(*self._natural(**parameters))[1]
        return [(e, m, float(i < self._logs)) for i, (e, m) in enumerate(zip(expected, means))]


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
        v = _real(variance if self.variance is None else self.variance)
        # At v = 0 a point mass, of which the formula would make 0/0 at the mean and ∞ − ∞ off it.
        z = np.where((v == 0) & (x == mean), 0.0, (x - mean) / np.sqrt(v))
        return np.where(np.isinf(z), -np.inf, -0.5 * (z * z + np.log(2 * np.pi) + np.log(v)))

    def _natural(self, mean: FloatArray, variance: Any = None) -> Arrays:
        return (mean / variance, -0.5 / variance) if self.variance is None else (mean / self.variance,)

    def _from_natural(self, first: FloatArray, second: Any = None) -> Parameters:
        v = -0.5 / second if self.variance is None else np.full(first.shape, self.variance)
        return {"mean": first * v, "variance": v}

    def _derivatives(self, first: FloatArray, second: Any = None) -> Derivatives:
        m, v = self._from_natural(first, second).values()
        if self.variance is not None:
            return 0.5 * m * first, (m,), lambda: _matrix((v,))
        curvature = ((v, 2 * m * v), (2 * m * v, 4 * m * m * v + 2 * v * v))
        return 0.5 * (m * first + np.log(v)), (m, m * m + v), lambda: _matrix(*curvature)

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Any) -> Parameters:
        (m,) = means
        if prior is not None:
            m0, w0 = _real(prior["mean"]), _real(prior["weight"])
            moved, share = _blend(w, m, w0, m0), w0 * (w / (w + w0))
            if self.variance is None:
                second = second + share * (m - m0) ** 2 + 2 * _real(prior["scale"])
                w = w + 2 * _real(prior["shape"]) + 3
            m = moved
        v = second / w if self.variance is None else np.full(np.shape(m), self.variance)
        return {"mean": m, "variance": v}

    def _sample(self, rng: Any, size: Any, mean: FloatArray, variance: Any = None) -> NDArray[Any]:
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
        return x, _outer(x)

    def _log_base(self, x: FloatArray) -> FloatArray:
        return np.full(x.shape[:-1], -0.5 * x.shape[-1] * np.log(2 * np.pi))

    def _log_density(self, x: FloatArray, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        R, _, log_volume = _whitener(covariance)
        z = _times(R, x - mean)
        return -log_volume - 0.5 * ((z * z).sum(axis=-1) + x.shape[-1] * np.log(2 * np.pi))

    def _natural(self, mean: FloatArray, covariance: FloatArray) -> Arrays:
        _, precision, _ = _whitener(covariance)
        return _times(precision, mean), -0.5 * precision

    def _from_natural(self, first: FloatArray, second: FloatArray) -> Parameters:
        _, covariance, _ = _whitener(-second - second.swapaxes(-1, -2))
        return {"mean": _times(covariance, first), "covariance": covariance}

    def _derivatives(self, first: FloatArray, second: FloatArray) -> Derivatives:
        _, S, log_volume = _whitener(-second - second.swapaxes(-1, -2))
        m = _times(S, first)
        M, d = S + _outer(m), m.shape[-1]

        def curvature() -> FloatArray:
            cross = np.einsum("...j,...ik->...ijk", m, S)
            cross = (cross + cross.swapaxes(-1, -2)).reshape(*m.shape, d * d)
            four = np.einsum("...ik,...jl->...ijkl", M, M) + np.einsum("...il,...jk->...ijkl", M, M)
            four -= 2 * np.einsum("...i,...j,...k,...l->...ijkl", m, m, m, m)
            low = np.concatenate([cross.swapaxes(-1, -2), four.reshape(*m.shape[:-1], d * d, d * d)], axis=-1)
            return np.concatenate([np.concatenate([S, cross], axis=-1), low], axis=-2)

        return 0.5 * (m * first).sum(axis=-1) - log_volume, (m, M), curvature

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Any) -> Parameters:
        (m,) = means
        if prior is not None:
            m0, w0 = _real(prior["mean"]), _real(prior["weight"])[..., None]
            second = second + (w0 * (w / (w + w0)))[..., None] * _outer(m - m0) + prior["scale"]
            m, w = _blend(w, m, w0, m0), w + _real(prior["shape"])[..., None] + m.shape[-1] + 2
        return {"mean": m, "covariance": second / w[..., None]}

    def _sample(self, rng: Any, size: Any, mean: FloatArray, covariance: FloatArray) -> NDArray[Any]:
        return mean + _times(np.linalg.cholesky(covariance), rng.standard_normal(size))


@dataclass(frozen=True)
class Bernoulli(Family):
    """pˣ (1 − p)^{1−x}, x = 0 or 1. Notes [6867] 3.1.3.1.

    Parameter probability (…). Prior Beta, by its mode (n₁ + a − 1)/(n + a + b − 2): a = b = 2 is Laplace's
    correction. Cost O(cells).

    >>> Bernoulli().estimate(8.0, ([0.0, 0.5],), prior={"a": 2, "b": 2})["probability"]
    array([0.1, 0.5])
    """

    name, support = "bernoulli", "0 or 1"
    discrete = True
    _range = (0.0, 1.0)

    def _log_density(self, x: FloatArray, probability: FloatArray) -> FloatArray:
        return scipy.special.xlogy(x, probability) + scipy.special.xlog1py(1 - x, -probability)

    def _natural(self, probability: FloatArray) -> Arrays:
        return (logit(probability),)

    def _from_natural(self, eta: FloatArray) -> Parameters:
        return {"probability": expit(eta)}

    def _derivatives(self, eta: FloatArray) -> Derivatives:
        return log1pexp(eta), (expit(eta),), lambda: _matrix((expit(eta) * expit(-eta),))

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Any) -> Parameters:
        (m,) = means
        if prior is not None:
            a, b = _real(prior["a"]), _real(prior["b"])
            m = (w * m + a - 1) / (w + a + b - 2)
        return {"probability": np.clip(m, 0.0, 1.0)}

    def _sample(self, rng: Any, size: Any, probability: FloatArray) -> NDArray[Any]:
        return (rng.random(size) < probability).astype(np.int64)


class _Proportions(Family):
    """What Categorical and Multinomial share: η = log p, A = n log Σ e^η, p = counts / Σ counts."""

    discrete = True
    _range = (0.0, np.inf)

    def _natural(self, probabilities: FloatArray) -> Arrays:
        return (np.log(probabilities),)

    def _from_natural(self, eta: FloatArray) -> Parameters:
        return {"probabilities": softmax(eta)}

    def _derivatives(self, eta: FloatArray) -> Derivatives:
        n, p = getattr(self, "trials", 1), softmax(eta)
        return n * logsumexp(eta), (n * p,), lambda: n * (p[..., None] * np.eye(p.shape[-1]) - _outer(p))

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Any) -> Parameters:
        (counts,) = means
        if prior is not None:
            counts = np.maximum(w * counts + _real(prior["alpha"]) - 1, 0.0)
        return {"probabilities": counts / counts.sum(axis=-1, keepdims=True)}


@dataclass(frozen=True)
class Categorical(_Proportions):
    """p_x for a level code x = 0 … k − 1. Notes [6867] 3.1.3.

    Parameter probabilities (…, k); T(x) is one-hot (…, k) and needs `levels`. Prior Dirichlet, by its mode
    (n_x + alpha − 1) / Σ: alpha = 2 adds one to every count. Cost O(cells · k) for T, O(cells) for the density.

    >>> Categorical(levels=3).estimate(4.0, ([0.75, 0.25, 0.0],), prior={"alpha": 2})["probabilities"]
    array([0.57142857, 0.28571429, 0.14285714])
    """

    levels: int | None = None

    name, support = "categorical", "a level code: 0, 1, 2, …"

    def outside(self, x: ArrayLike) -> NDArray[np.bool_]:
        return super().outside(x) | (_real(x) >= (np.inf if self.levels is None else self.levels))

    def _statistics(self, x: FloatArray) -> Arrays:
        if self.levels is None:
            raise ValueError(
                "Categorical must know its number of levels to count them: Categorical(levels=3)"
            )
        hot = x[..., None] == np.arange(self.levels)
        return (np.where(np.isnan(x)[..., None], np.nan, hot),)

    def _log_density(self, x: FloatArray, probabilities: FloatArray) -> FloatArray:
        *lead, k = probabilities.shape
        shape = np.broadcast_shapes(x.shape, tuple(lead))
        code = np.broadcast_to(np.where(x < k, x, 0).astype(np.intp), shape)
        table = np.broadcast_to(np.log(probabilities), (*shape, k))
        value = np.take_along_axis(table, np.maximum(code, 0)[..., None], axis=-1)[..., 0]
        return np.where(x < k, value, -np.inf)

    def _sample(self, rng: Any, size: Any, probabilities: FloatArray) -> NDArray[Any]:
        steps = probabilities.cumsum(axis=-1)
        return (rng.random(size[:-1])[..., None] * steps[..., -1:] >= steps).sum(axis=-1)


@dataclass(frozen=True)
class Multinomial(_Proportions):
    """n! Π p_kˣᵏ / x_k!, counts x (…, k) with n = Σx. Notes [6867] 3.1.3.

    Parameter probabilities (…, k). `log_density` and `estimate` take rows of any n, as documents come; `trials` is
    the n of A, its derivatives and `sample`. Prior Dirichlet, by its mode: (count + alpha − 1) / Σ. Cost O(cells).

    >>> Multinomial().estimate(2.0, ([1.0, 3.0],))["probabilities"]
    array([0.25, 0.75])
    """

    trials: int = 1

    name, support = "multinomial", "whole numbers, 0 or more"
    multivariate = True

    def _log_base(self, x: FloatArray) -> FloatArray:
        gammaln = scipy.special.gammaln
        return gammaln(x.sum(axis=-1) + 1) - gammaln(x + 1).sum(axis=-1)

    def _log_density(self, x: FloatArray, probabilities: FloatArray) -> FloatArray:
        return log_multinomial(x, probabilities, np.log(probabilities))

    def _sample(self, rng: Any, size: Any, probabilities: FloatArray) -> NDArray[Any]:
        return rng.multinomial(self.trials, np.broadcast_to(probabilities, size))

    def _moments(self, parameters: Parameters, means: Arrays, second: Any, weight: Any) -> Iterable[Any]:
        (m,) = means
        return super()._moments(
            parameters, (m * (self.trials / m.sum(axis=-1, keepdims=True)),), second, weight
        )


@dataclass(frozen=True)
class Poisson(Family):
    """rˣ e⁻ʳ / x!, x = 0, 1, 2, …  Notes [6867] 3.1.3.

    Parameter rate (…). Prior Gamma, by its mode (Σx + shape − 1)/(n + rate). Cost O(cells).

    >>> Poisson().estimate(4.0, ([2.5, 1.0],), prior={"shape": 3.0, "rate": 2.0})["rate"]
    array([2., 1.])
    """

    name, support = "poisson", "a whole number, 0 or more"
    discrete = True
    _range = (0.0, np.inf)

    def _log_base(self, x: FloatArray) -> FloatArray:
        return -scipy.special.gammaln(x + 1)

    def _log_density(self, x: FloatArray, rate: FloatArray) -> FloatArray:
        return log_poisson(x, rate, np.log(rate))

    def _natural(self, rate: FloatArray) -> Arrays:
        return (np.log(rate),)

    def _from_natural(self, eta: FloatArray) -> Parameters:
        return {"rate": np.exp(eta)}

    def _derivatives(self, eta: FloatArray) -> Derivatives:
        rate = np.exp(eta)
        return rate, (rate,), lambda: _matrix((rate,))

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Any) -> Parameters:
        (m,) = means
        if prior is not None:
            m = np.maximum(w * m + _real(prior["shape"]) - 1, 0.0) / (w + _real(prior["rate"]))
        return {"rate": m}

    def _sample(self, rng: Any, size: Any, rate: FloatArray) -> NDArray[Any]:
        return rng.poisson(rate, size)


@dataclass(frozen=True)
class Exponential(Family):
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

    def _derivatives(self, eta: FloatArray) -> Derivatives:
        return -np.log(-eta), (-1 / eta,), lambda: _matrix((1 / eta**2,))

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Any) -> Parameters:
        rate = 1 / means[0]
        if prior is not None:
            rate = np.maximum(w + _real(prior["shape"]) - 1, 0.0) / (w * means[0] + _real(prior["rate"]))
        return {"rate": np.minimum(rate, LARGEST_RATE)}

    def _sample(self, rng: Any, size: Any, rate: FloatArray) -> NDArray[Any]:
        return rng.exponential(1 / rate, size)


@dataclass(frozen=True)
class Gamma(Family):
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

    def _statistics(self, x: FloatArray) -> Arrays:
        return np.log(x), x

    def _log_density(self, x: FloatArray, shape: FloatArray, rate: FloatArray) -> FloatArray:
        log_x = np.log(x)
        return log_poisson(shape, rate * x, np.log(rate) + log_x) + np.log(shape) - log_x

    def _derivatives(self, a: FloatArray, minus_b: FloatArray) -> Derivatives:
        b, log_b = -minus_b, np.log(-minus_b)
        value = scipy.special.gammaln(a) - a * log_b
        return (
            value,
            (scipy.special.psi(a) - log_b, a / b),
            lambda: _matrix((trigamma(a), 1 / b), (1 / b, a / b**2)),
        )

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Any) -> Parameters:
        logs, m = self._with_virtual_rows(w, means, prior)
        return self._scaled(np.log(m) - logs, m)

    @quiet
    def estimate_shared(self, weight: ArrayLike, means: Values, second: Any = None) -> Parameters:
        logs, m = (np.where(_leading(weight, np.ndim(v)) > 0, v, np.nan) for v in means)
        return self._scaled(_pooled(weight, np.log(m) - logs), m)

    def _scaled(self, excess: FloatArray, m: FloatArray) -> Parameters:
        a = np.fmin(gamma_shape(excess), 1e308 * m)  # so that the rate is finite
        return {"shape": a, "rate": a / m}

    def _sample(self, rng: Any, size: Any, shape: FloatArray, rate: FloatArray) -> NDArray[Any]:
        return np.maximum(rng.gamma(shape, 1 / rate, size), TINY)


@dataclass(frozen=True)
class Beta(Family):
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

    def _statistics(self, x: FloatArray) -> Arrays:
        return np.log(x), np.log1p(-x)

    def _log_density(self, x: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
        return log_dirichlet(_pair(a, b), _pair(x, 1 - x), _pair(np.log(x), np.log1p(-x)))

    def _derivatives(self, a: FloatArray, b: FloatArray) -> Derivatives:
        value, mean, curvature = dirichlet_derivatives(_pair(a, b))
        return value, (mean[..., 0], mean[..., 1]), curvature

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Any) -> Parameters:
        alpha = dirichlet_concentration(_pair(*self._with_virtual_rows(w, means, prior)))
        return {"a": alpha[..., 0], "b": alpha[..., 1]}

    def _sample(self, rng: Any, size: Any, a: FloatArray, b: FloatArray) -> NDArray[Any]:
        return np.clip(rng.beta(a, b, size), TINY, 1 - EPS / 2)


@dataclass(frozen=True)
class Dirichlet(Family):
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

    @quiet
    def outside(self, x: ArrayLike) -> NDArray[np.bool_]:
        return super().outside(x) | (np.abs(_real(x).sum(axis=-1) - 1) > 1e-6)

    def _statistics(self, x: FloatArray) -> Arrays:
        return (np.log(x),)

    def _log_density(self, x: FloatArray, concentration: FloatArray) -> FloatArray:
        return log_dirichlet(concentration, x, np.log(x))

    def _derivatives(self, alpha: FloatArray) -> Derivatives:
        value, mean, curvature = dirichlet_derivatives(alpha)
        return value, (mean,), curvature

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Any) -> Parameters:
        return {"concentration": dirichlet_concentration(*self._with_virtual_rows(w, means, prior))}

    def _sample(self, rng: Any, size: Any, concentration: FloatArray) -> NDArray[Any]:
        # In logarithms, by Gamma(α) = Gamma(α + 1) U^{1/α}: a small α would underflow in every part of a row.
        logs = np.log(rng.standard_gamma(concentration + 1, size))
        return np.maximum(softmax(logs - rng.standard_exponential(size) / concentration), TINY)


_CONTINUOUS = (Normal, MultivariateNormal, Exponential, Gamma, Beta, Dirichlet)
_DISCRETE = (Bernoulli, Categorical, Multinomial, Poisson)
FAMILIES: dict[str, Family] = {kind.name: kind() for kind in (*_CONTINUOUS, *_DISCRETE)}


def family(which: str | Family) -> Family:
    """name ↦ Family, in any case, spaces or hyphens for underscores, "normal" for "gaussian"; [6867] 3.1.3.

    A Family is returned as it is.

    >>> family("Multivariate Normal")
    MultivariateNormal()
    """
    if isinstance(which, Family):
        return which
    key = str(which).strip().lower().replace(" ", "_").replace("-", "_").replace("normal", "gaussian")
    if key not in FAMILIES:
        raise ValueError(f"unknown family {which!r}: give one of {', '.join(FAMILIES)}, or a Family")
    return FAMILIES[key]


def _real(x: Any) -> FloatArray:
    return np.asarray(
        x, dtype=np.float64
    )  # float32 too: logarithms of nearly equal numbers are subtracted later


def _named(parameters: Named) -> Parameters:
    return {key: _real(value) for key, value in parameters.items()}


def _leading(weight: ArrayLike, ndim: int) -> FloatArray:
    """weight with axes of length 1 behind its own, up to ndim."""
    w = _real(weight)
    return w.reshape(w.shape + (1,) * (ndim - w.ndim))


def _blend(w: FloatArray, m: FloatArray, w0: FloatArray, m0: FloatArray) -> FloatArray:
    """(w m + w₀ m₀)/(w + w₀), from the difference, so that 1e8 ± 1 keeps its digits."""
    return m + (m0 - m) * (w0 / (w + w0))


def _pooled(weight: ArrayLike, value: FloatArray) -> FloatArray:
    """Σ w value / Σ w over axis 0, the same for every entry of that axis; weight 0 is absence."""
    w = np.broadcast_to(_leading(weight, value.ndim), value.shape)
    mean = np.where(w > 0, w * value, 0.0).sum(axis=0, keepdims=True) / w.sum(axis=0, keepdims=True)
    return np.broadcast_to(mean, value.shape).copy()


def _pair(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.stack(np.broadcast_arrays(a, b), axis=-1)


def _matrix(*rows: Arrays) -> FloatArray:
    """Entries (…) given by rows, as (…, d, d)."""
    cells = np.stack(np.broadcast_arrays(*(cell for row in rows for cell in row)), axis=-1)
    return cells.reshape(*cells.shape[:-1], len(rows), len(rows))


def _outer(x: FloatArray) -> FloatArray:
    return x[..., :, None] * x[..., None, :]


def _times(M: FloatArray, x: FloatArray) -> FloatArray:
    return np.einsum("...ij,...j->...i", M, x)


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
