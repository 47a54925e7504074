"""The predictive distribution of a row whose scores are Gaussian: a ~ N(m, M)  ([6867] 4, row B2).

    two classes   ∫ σ(a) N(a | m, s²) da  ≈  σ(κ m),   κ = 1/√(1 + πs²/8)                 (MacKay 1992)
    K classes     ∫ softmax_k(a) N(a | m, M) da  ≈  P_k ∝ 1 / Σ_j exp(−κ_kj (m_k − m_j)),   κ_kj from Var(a_k − a_j)

the second of which is the first for K = 2. By Monte Carlo the scores of a row are drawn, not the weights: K−1 numbers
whatever the number of columns, in antithetic pairs over a Latin hypercube. Shapes: two classes m (n,), M (n,); K
classes m (n, K), M (n, K, K). All return log P (n, K). Cost O(n) or O(nK²); S draws O(nSK²).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.linear import LinearRule
from separatrix.core.numerics import FloatArray, expit, log1pexp, logsumexp, softmax
from separatrix.data.checks import is_positive
from separatrix.models.bayes.laplace import Posterior

AT_ONCE = 1 << 18  # numbers held at a time: in cache


@dataclass(frozen=True)
class Predictive:
    """P(class | x, D) of tiles of rows: scores from the rule, their covariance from the posterior.

    ``normals`` (S, K−1) are the draws of "monte_carlo" and of the intervals of K classes.
    """

    rule: LinearRule
    posterior: Posterior
    normals: FloatArray

    def scores(self, cells: Any) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of each row's scores: (n,) and (n,), or (n, K) and (n, K, K)."""
        m = np.asarray(self.rule.score(cells), dtype=np.float64)
        M, basis = self.posterior.score_covariance(cells), self.posterior.basis
        return m, M if basis is None else basis @ M @ basis.T

    def log_probability(self, cells: Any, method: str) -> FloatArray:
        """log P (n, K)."""
        if method == "plugin":
            return _as_read(plugin(np.asarray(self.rule.score(cells), dtype=np.float64)), cells)
        if method == "probit":
            return self._by_parts(cells, probit)
        return self._by_parts(cells, lambda m, M: monte_carlo(m, M, self.normals))

    def interval(self, cells: Any, tail: float) -> FloatArray:
        """Quantiles of each probability: (n, 2), or (n, 2K) class by class."""
        from scipy.special import ndtri

        z = np.array([ndtri(tail), -ndtri(tail)])
        if self.posterior.basis is None:
            return self._by_parts(cells, lambda m, M: expit(m[:, None] + z * np.sqrt(M)[:, None]))
        return self._by_parts(cells, lambda m, M: intervals(m, M, self.normals, tail).reshape(len(m), -1))

    def _by_parts(self, cells: Any, function: Callable[[FloatArray, FloatArray], FloatArray]) -> FloatArray:
        """function(m, M) by slices whose dense cells stay in cache."""
        parts = _parts(cells.shape[0], cells.shape[1], least=64)
        out = [function(*self.scores(cells[part])) for part in parts]
        return _as_read(out[0] if len(out) == 1 else np.concatenate(out), cells)


def plugin(m: FloatArray) -> FloatArray:
    """log P with the scores taken as certain."""
    if m.ndim == 1:
        return -log1pexp(np.column_stack([m, -m]))
    return m - logsumexp(m)[:, None]


def probit(m: FloatArray, M: FloatArray) -> FloatArray:
    """log P by the probit approximation.

    >>> np.exp(probit(np.array([2.0]), np.array([4.0]))).round(4)
    array([[0.2232, 0.7768]])
    >>> pair = probit(np.array([[0.0, 2.0]]), np.array([[[0.0, 0.0], [0.0, 4.0]]]))
    >>> np.exp(pair).round(4)
    array([[0.2232, 0.7768]])
    """
    if m.ndim == 1:
        return plugin(m / np.sqrt(1 + np.pi / 8 * M))
    own = np.diagonal(M, axis1=1, axis2=2)
    apart = np.maximum(own[:, :, None] + own[:, None, :] - 2 * M, 0.0)
    terms = (m[:, None, :] - m[:, :, None]) / np.sqrt(1 + np.pi / 8 * apart)
    return plugin(-logsumexp(terms))


def monte_carlo(m: FloatArray, M: FloatArray, normals: FloatArray) -> FloatArray:
    """log P averaged over draws of the scores, ``normals`` (S, 1) or (S, K−1) standard normal."""
    out = np.empty((len(m), 2 if m.ndim == 1 else m.shape[1]))
    for part in _parts(len(m), len(normals) * out.shape[1]):
        a = _draws(m[part], M[part], normals)
        mean = _mean_of_two(a) if a.ndim == 2 else softmax(a).mean(axis=1)
        lost = (mean < 1e-300).any(axis=1)
        mean[lost] = 1.0
        out[part] = np.log(mean)
        if lost.any():  # too small for a number, not for its logarithm
            scores = _both(a[lost])
            log_p = scores - logsumexp(scores)[..., None]
            out[part][lost] = logsumexp(np.moveaxis(log_p, 1, -1)) - np.log(len(normals))
    return plugin(out) if m.ndim > 1 else out  # K classes: sums to one exactly


def intervals(m: FloatArray, M: FloatArray, normals: FloatArray, tail: float) -> FloatArray:
    """The quantiles ``tail`` and 1 − ``tail`` of each class's probability over the draws: (n, K, 2)."""
    out = np.empty((*m.shape, 2))
    for part in _parts(len(m), len(normals) * m.shape[1]):
        p = softmax(_draws(m[part], M[part], normals))
        out[part] = np.moveaxis(np.quantile(p, [tail, 1 - tail], axis=1), 0, -1)
    return out


def normal_draws(n: int, dimensions: int, rng: np.random.Generator) -> FloatArray:
    """(n, dimensions) standard normals, n made even: a Latin hypercube on one side, and its mirror image.

    >>> z = normal_draws(1000, 2, np.random.default_rng(0))
    >>> z.shape, bool(abs(z.mean(axis=0)).max() < 1e-12), bool(abs(z.std(axis=0) - 1).max() < 1e-2)
    ((1000, 2), True, True)
    """
    from scipy.special import ndtri

    half = (n + 1) // 2
    cells = rng.permuted(np.tile(np.arange(half), (dimensions, 1)), axis=1).T
    u = (cells + rng.random((half, dimensions))) / half
    u[:, 0] /= 2  # one side only: a point and its mirror image share no stratum
    z = ndtri(np.clip(u, 1e-300, 1 - 1e-16))
    return np.concatenate([z, -z])


def _draws(m: FloatArray, M: FloatArray, normals: FloatArray) -> FloatArray:
    """The scores of every row and draw: (n, S) or (n, S, K)."""
    if m.ndim == 1:
        return m[:, None] + np.sqrt(M)[:, None] * normals[:, 0]
    values, vectors = np.linalg.eigh(M)  # singular along the part common to all classes, the least eigenvalue
    root = vectors[:, :, 1:] * np.sqrt(np.maximum(values[:, None, 1:], 0.0))
    return m[:, None, :] + normals @ root.transpose(0, 2, 1)


def _both(a: FloatArray) -> FloatArray:
    """Scores of all classes: one score a row is that of the second class."""
    return np.stack([np.zeros_like(a), a], axis=-1) if a.ndim == 2 else a


def _mean_of_two(a: FloatArray) -> FloatArray:
    """The mean of σ(−a) and of σ(a) over the draws, each from e^{−|a|}: (n, 2)."""
    second = a > 0
    e = np.abs(a)
    np.exp(np.negative(e, out=e), out=e)
    large = 1.0 / (1.0 + e)
    e *= large
    return np.column_stack([np.where(second, e, large).mean(axis=1), np.where(second, large, e).mean(axis=1)])


def _as_read(values: FloatArray, cells: Any) -> FloatArray:
    """float32 rows get a float32 answer."""
    return values.astype(np.float32) if cells.dtype == np.float32 else values


def _parts(n: int, width: int, least: int = 1) -> list[slice]:
    size = max(least, AT_ONCE // max(width, 1))
    return [slice(a, min(a + size, n)) for a in range(0, n, size)]


def tail_of(level: float) -> float:
    """The probability left out at each end of an interval."""
    if not (is_positive(level) and level < 1):
        raise ValueError(f"level must be a number between 0 and 1, such as 0.95; got {level!r}")
    return (1 - float(level)) / 2
