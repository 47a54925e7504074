"""Labels, and counts of them: how often each of some levels came ([6867] 3.1.3.1, 3.1.3).

    family        parameters       T(x)        η         A(η)
    Bernoulli     probability p    x           logit p   log(1 + e^η)
    Categorical   probabilities p  one-hot x   log p     log Σ e^η
    Multinomial   probabilities p  x           log p     n log Σ e^η

Cost O(cells), times the levels for the one-hot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load on first use
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from separatrix.core.families.base import Arrays, Derivatives, Drawn, Family, Moment, Parameters, Prior, Size
from separatrix.core.families.cells import matrix, outer, real
from separatrix.core.numerics import FloatArray, expit, log1pexp, logit, logsumexp, softmax
from separatrix.core.special import (
    log_multinomial,
)


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

    def _derivatives(self, eta: FloatArray) -> Derivatives:
        return log1pexp(eta), (expit(eta),), lambda: matrix((expit(eta) * expit(-eta),))

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Prior) -> Parameters:
        (m,) = means
        if prior is not None:
            a, b = real(prior["a"]), real(prior["b"])
            m = (w * m + a - 1) / (w + a + b - 2)
        return {"probability": np.clip(m, 0.0, 1.0)}

    def _sample(self, rng: Generator, size: Size, probability: FloatArray) -> Drawn:
        return (rng.random(size) < probability).astype(np.int64)


class _Proportions(Family):
    """What Categorical and Multinomial share: η = log p, A = n log Σ e^η, p = counts / Σ counts."""

    discrete = True
    _range = (0.0, np.inf)

    def _natural(self, probabilities: FloatArray) -> Arrays:
        return (np.log(probabilities),)

    def _derivatives(self, eta: FloatArray) -> Derivatives:
        n, p = getattr(self, "trials", 1), softmax(eta)
        return n * logsumexp(eta), (n * p,), lambda: n * (p[..., None] * np.eye(p.shape[-1]) - outer(p))

    def _estimate(self, w: FloatArray, means: Arrays, second: Any, prior: Prior) -> Parameters:
        (counts,) = means
        if prior is not None:
            counts = np.maximum(w * counts + real(prior["alpha"]) - 1, 0.0)
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
        return super().outside(x) | (real(x) >= (np.inf if self.levels is None else self.levels))

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

    def _sample(self, rng: Generator, size: Size, probabilities: FloatArray) -> Drawn:
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

    def _sample(self, rng: Generator, size: Size, probabilities: FloatArray) -> Drawn:
        return rng.multinomial(self.trials, np.broadcast_to(probabilities, size))

    def _moments(
        self, parameters: Parameters, means: Arrays, second: Any, weight: ArrayLike
    ) -> Iterable[Moment]:
        (m,) = means
        return super()._moments(
            parameters, (m * (self.trials / m.sum(axis=-1, keepdims=True)),), second, weight
        )
