"""Scores to probabilities:  P(y = 1 | f) = σ(a f + b), or a rising step function; and pairs of classes to K of them.

    sigmoid    a, b by maximum likelihood on Platt's targets (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2), which are never 0 or 1
    isotonic   the rising function nearest to the labels (pool adjacent violators), linear in between
    coupling   min Σ_{i<j} (r_ji p_i − r_ij p_j)²  subject to Σ p = 1,   r_ij ≈ P(i | i or j)

Platt (2000) with the numerics of Lin, Lin and Weng (2007); Zadrozny and Elkan (2002); Wu, Lin and Weng (2004). The
scores must come from rows the machine was not fitted to, or the probabilities are too sure of themselves. Rows M8,
M12. Cost: O(n log n) at most, O(nK³) for the coupling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from separatrix.core.links import Logit
from separatrix.core.numerics import FloatArray, expit
from separatrix.core.responses import Binomial, GlmLoss
from separatrix.data.rows import Rows
from separatrix.solve.linear import Problem, minimise
from separatrix.solve.registry import NEWTON

METHODS = ("sigmoid", "isotonic")
BLOCK = 4096
ROUNDING = 1e-9  # scores that differ by less, relative to their size, are one score


class Calibration(Protocol):
    """A map from scores (n,) to probabilities of the second class (n,)."""

    def probability(self, score: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class Sigmoid:
    """σ(a f + b).

    >>> Sigmoid(1.0, 0.0).probability(np.array([-1.0, 0.0, 1.0])).round(4)
    array([0.2689, 0.5   , 0.7311])
    """

    slope: float
    offset: float

    def probability(self, score: FloatArray) -> FloatArray:
        return expit(self.slope * np.asarray(score, dtype=float) + self.offset)


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A rising function through (threshold, value), constant beyond its ends.

    >>> Isotonic(np.array([0.0, 1.0]), np.array([0.2, 0.8])).probability(np.array([-3.0, 0.5, 9.0]))
    array([0.2, 0.5, 0.8])
    """

    thresholds: FloatArray
    values: FloatArray

    def probability(self, score: FloatArray) -> FloatArray:
        return np.interp(np.asarray(score, dtype=float), self.thresholds, self.values)


def calibrate(
    method: str, score: FloatArray, positive: np.ndarray, weight: FloatArray | None = None
) -> Calibration:
    """The map of the given kind from scores (n,) of rows not used in the fit and their classes (n,), True or False.

    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=4000)
    >>> found = calibrate("sigmoid", score, rng.random(4000) < expit(2 * score - 1))
    >>> round(found.slope, 1), round(found.offset, 1)
    (2.0, -1.0)
    """
    if method not in METHODS:
        raise ValueError(f'calibrate {method!r} is unknown: use "sigmoid", "isotonic" or None')
    score, positive = np.asarray(score, dtype=float), np.asarray(positive, dtype=bool)
    w = np.ones(len(score)) if weight is None else np.asarray(weight, dtype=float)
    if not (w[positive].any() and w[~positive].any()):
        raise ValueError(
            "probabilities need rows of both classes in every fold: give more rows, or calibrate=None"
        )
    live = score[w > 0]
    if np.ptp(live) <= ROUNDING * np.abs(live).max():  # w = 0: the scores differ by rounding alone
        score = np.full(len(score), live.mean())
    return _sigmoid(score, positive, w) if method == "sigmoid" else _isotonic(score, positive, w)


def _sigmoid(score: FloatArray, positive: np.ndarray, weight: FloatArray) -> Sigmoid:
    above, below = float(weight[positive].sum()), float(weight[~positive].sum())
    target = np.where(positive, (above + 1.0) / (above + 2.0), 1.0 / (below + 2.0))
    if not np.ptp(score[weight > 0]):
        mean = float(weight @ target) / (above + below)
        return Sigmoid(0.0, float(np.log(mean) - np.log1p(-mean)))
    rows = Rows.of(np.ascontiguousarray(score[:, None]), target, weight)
    problem = Problem(rows, rows.moments(), GlmLoss(Binomial(), Logit()), 0.0, True)
    fit = minimise(problem, NEWTON, tol=1e-4, max_iter=100, exists=True)
    return Sigmoid(float(fit.coef[0]), float(fit.intercept))


def _isotonic(score: FloatArray, positive: np.ndarray, weight: FloatArray) -> Isotonic:
    from sklearn.isotonic import IsotonicRegression

    found = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    found.fit(score, positive.astype(float), sample_weight=weight)
    return Isotonic(np.asarray(found.X_thresholds_), np.asarray(found.y_thresholds_))


def couple(pairs: FloatArray) -> FloatArray:
    """Probabilities of K classes (n, K) from those of pairs: r (n, K, K), r_ij + r_ji = 1, the diagonal not read.

    >>> r = np.array([[[0.0, 0.8, 0.8], [0.2, 0.0, 0.5], [0.2, 0.5, 0.0]]])
    >>> couple(r).round(4)
    array([[0.6667, 0.1667, 0.1667]])
    """
    n, k = pairs.shape[:2]
    if n > BLOCK:  # systems of K + 1 unknowns for so many rows at a time
        return np.concatenate([couple(pairs[a : a + BLOCK]) for a in range(0, n, BLOCK)])
    off = ~np.eye(k, dtype=bool)
    q = np.where(off, -np.swapaxes(pairs, 1, 2) * pairs, 0.0)
    q[:, np.arange(k), np.arange(k)] = np.sum(np.where(off, np.swapaxes(pairs, 1, 2) ** 2, 0.0), axis=2)
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = q
    system[:, :k, k] = system[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)
