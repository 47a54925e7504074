"""The frozen problem of ordered classes and its sweep: value, gradient, Hessian.

    F(θ, w) = (1/W) Σ_i s_i −log [F(θ_{y_i} − x_i·w) − F(θ_{y_i − 1} − x_i·w)] + ½ λ ‖w‖²

with thresholds θ_1 < … < θ_{K−1}, unpenalised, and θ_0 = −∞, θ_K = +∞. A solver sees (t, τ): t the weights of inner
coordinates z = ((x − centre) · scale) B as in problems/objective.py, τ the thresholds of centred rows,

    w = scale · (B t),      θ = τ + w·centre

so that a column's unit or origin changes nothing a solver does. F is convex (core/cumulative.py), and +∞ where two
thresholds meet. Cost of a sweep: O(np), with the Hessian O(np² + npK); memory O((p + K)²) and a tile a thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.cumulative import CumulativeLink, Pieces
from separatrix.core.numerics import FloatArray
from separatrix.core.statistic import Statistic
from separatrix.data.engine import sweep
from separatrix.data.rows import Block, Rows
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.objective import Evaluation, Memo
from separatrix.problems.stored_cells import add_back, stored_scores


@dataclass(frozen=True, eq=False)
class OrdinalSums(Statistic):
    """Sums over some rows: −log P, its gradient in (t, τ), its Hessian (or none of it), and max ‖z‖."""

    weight: float
    value: float
    gradient: FloatArray
    hessian: FloatArray
    radius: float

    def __add__(self, other: OrdinalSums) -> OrdinalSums:
        return OrdinalSums(
            self.weight + other.weight, self.value + other.value, self.gradient + other.gradient,
            self.hessian + other.hessian, max(self.radius, other.radius),
        )  # fmt: skip


@dataclass(frozen=True)
class OrdinalTask:
    """What a block needs to know of a point."""

    link: CumulativeLink
    t: FloatArray
    thresholds: FloatArray  # τ
    coordinates: Coordinates
    order: int


@dataclass(frozen=True)
class OrdinalObjective:
    """F over given rows, in given coordinates; the rows' targets are the places of their classes, 0 … K−1."""

    rows: Rows
    link: CumulativeLink
    ridge: float
    coordinates: Coordinates
    n_classes: int

    @property
    def proven(self) -> bool:
        """Whether verdict/ordinal.py bounds F."""
        return self.link.proven

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.coordinates.size + self.n_classes - 1,)

    @cached_property
    def total_weight(self) -> float:
        return self.rows.total_weight

    def in_coordinates(self, coordinates: Coordinates) -> OrdinalObjective:
        return replace(self, coordinates=coordinates)

    def split(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(t, τ) of a point."""
        return point[: self.coordinates.size], point[self.coordinates.size :]

    def to_user(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(coef, thresholds) in the user's units: (p,) and (K−1,)."""
        t, tau = self.split(point)
        w = self.coordinates.weights(t)
        return w, tau + self.coordinates.centre @ w

    def from_user(self, coef: FloatArray, thresholds: FloatArray) -> FloatArray:
        """The point of (coef, thresholds)."""
        return np.concatenate([self.coordinates.inner(coef), thresholds - self.coordinates.centre @ coef])

    def chart(self) -> FloatArray:
        """J (p + K−1, parameters): coef, then thresholds, as they follow from (t, τ)."""
        c, k = self.coordinates, self.n_classes - 1
        w = np.diag(c.scale) if c.basis is None else c.scale[:, None] * np.asarray(c.basis)
        J = np.zeros((len(w) + k, w.shape[1] + k))
        J[: len(w), : w.shape[1]] = w
        J[len(w) :, : w.shape[1]] = c.centre @ w
        J[len(w) :, w.shape[1] :] = np.eye(k)
        return J

    @cached_property
    def class_weights(self) -> FloatArray:
        """The weight of each class: (K,)."""
        codes = np.maximum(self.rows.y, 0)
        return np.bincount(codes, self.rows.weight, minlength=self.n_classes).astype(float)

    def start(self) -> FloatArray:
        """No weights, and the thresholds that are best then: those of the classes' shares."""
        totals = self.class_weights
        below, above = np.cumsum(totals)[:-1], np.cumsum(totals[::-1])[::-1][1:]
        tau = self.link.scores_of(below / totals.sum(), above / totals.sum())
        spaced = (
            np.arange(len(tau)) * 1e-9 * (1.0 + np.abs(tau).max(initial=0.0))
        )  # never on top of each other
        return np.concatenate([np.zeros(self.coordinates.size), np.maximum.accumulate(tau - spaced) + spaced])

    def settle_intercept(self, point: FloatArray) -> FloatArray:
        """The point with its thresholds, which stand where others have an intercept, at their optimum."""
        from separatrix.problems.ordinal_sides import settled_thresholds

        return settled_thresholds(self, point)

    def zero(self) -> FloatArray:
        return self.start()

    def evaluate(
        self, point: FloatArray, order: int = 1, stride: int = 1, memo: Memo | None = None
    ) -> Evaluation:
        """F and its derivatives up to ``order`` by one sweep; +∞ where thresholds are out of order."""
        t, tau = self.split(point)
        if not (np.isfinite(point).all() and (np.diff(tau) > 0).all()):
            return Evaluation(np.inf, np.full_like(point, np.nan))
        task = OrdinalTask(self.link, t, tau, self.coordinates, order)
        total: OrdinalSums = sweep(ordinal_block, self.rows, task)[0]
        gradient, penalty = total.gradient / total.weight, 0.0
        size = self.coordinates.size
        if self.ridge > 0:
            matrix = self.coordinates.ridge(self.ridge)
            pull = matrix * t if matrix.ndim == 1 else matrix @ t
            penalty = 0.5 * float(t @ pull)
            gradient[:size] += pull
        hessian = None
        if order == 2:
            hessian = total.hessian / total.weight
            if self.ridge > 0:
                hessian[:size, :size] += np.diag(matrix) if matrix.ndim == 1 else matrix
            if self.coordinates.basis is None:  # a column that says nothing stays where it is
                silent = np.flatnonzero(self.coordinates.scale == 0)
                hessian[silent, silent] += 1.0
        radius = total.radius if order == 2 else np.inf
        return Evaluation(total.value / total.weight + penalty, gradient, hessian, radius, penalty)


@np.errstate(over="ignore", invalid="ignore")
def ordinal_block(block: Block, task: OrdinalTask, _memo: Any) -> tuple[OrdinalSums, None]:
    """The sums of one block, tile by tile; sparse rows without a Hessian by their stored cells alone."""
    size, k = len(task.t), len(task.thresholds)
    if task.order < 2 and block.sparse and task.coordinates.basis is None:
        return _stored_first_order(block, task), None
    weight = value = radius = 0.0
    gradient = np.zeros(size + k)
    hessian = np.zeros((size + k, size + k) if task.order == 2 else (0, 0))
    for part in block.tiles(max(task.coordinates.size, block.X.shape[1])):
        raw = block.dense(part)
        z = np.empty((len(raw), size))
        task.coordinates.tile(raw, out=z)
        codes = np.maximum(block.y[part], 0)  # a row of a class that weighs nothing
        s = None if block.weight is None else block.weight[part]
        found = task.link.pieces(z @ task.t, codes, task.thresholds)
        value += _summed(found.value, s)
        weight += float(len(codes)) if s is None else float(s.sum())
        gradient[:size] += z.T @ times(found.slope, s)
        gradient[size:] += by_threshold(times(found.at_lower, s), times(found.at_upper, s), codes, k)
        if task.order == 2:
            _add_second_order(hessian, z, found, codes, s, k)
            squares = np.einsum("ij,ij->i", z, z)
            radius = max(radius, float((squares if s is None else squares[s > 0]).max(initial=0.0)))
    return OrdinalSums(weight, value, gradient, hessian, float(np.sqrt(radius))), None


def _stored_first_order(block: Block, task: OrdinalTask) -> OrdinalSums:
    """Value and gradient by the stored cells: the centre enters through sums."""
    c, k = task.coordinates, len(task.thresholds)
    u = np.ascontiguousarray(c.weights(task.t))
    codes, s = np.maximum(block.y, 0), block.weight
    found = task.link.pieces(stored_scores(block.X, u, -float(c.centre @ u)), codes, task.thresholds)
    slope, raw = times(found.slope, s), np.zeros_like(u)
    add_back(block.X, slope, raw)
    inner = c.pull(raw - c.centre * slope.sum())
    ends = by_threshold(times(found.at_lower, s), times(found.at_upper, s), codes, k)
    weight = float(block.n) if s is None else float(s.sum())
    return OrdinalSums(weight, _summed(found.value, s), np.append(inner, ends), np.zeros((0, 0)), 0.0)


def _add_second_order(
    hessian: FloatArray, z: FloatArray, found: Pieces, codes: np.ndarray, s: FloatArray | None, k: int
) -> None:
    """zzᵀ, zτᵀ and ττᵀ of a tile: each row touches the two thresholds beside its class."""
    size = z.shape[1]
    lower, upper, between = (times(v, s) for v in (found.lower, found.upper, found.between))
    root = z * np.sqrt(np.maximum(lower + upper, 0.0))[:, None]
    hessian[:size, :size] += root.T @ root
    beside = np.zeros((len(z), k + 2))  # thresholds 1 … K−1, and the infinite ones before and after
    at = np.arange(len(z))
    beside[at, codes], beside[at, codes + 1] = lower, upper
    across = z.T @ beside[:, 1:-1]
    hessian[:size, size:] -= across
    hessian[size:, :size] -= across.T
    diagonal = by_threshold(lower + between, upper + between, codes, k)
    place = size + np.arange(k)
    hessian[place, place] += diagonal
    pairs = np.bincount(codes, between, minlength=k + 1)[1:k]
    hessian[place[1:], place[:-1]] -= pairs
    hessian[place[:-1], place[1:]] -= pairs


def by_threshold(lower: FloatArray, upper: FloatArray, codes: np.ndarray, k: int) -> FloatArray:
    """Sums over the rows above a threshold of ``lower`` and below it of ``upper``: (K−1,)."""
    above, below = (np.bincount(codes, v, minlength=k + 1).astype(float) for v in (lower, upper))
    return np.asarray(above[1:] + below[:-1])


def times(values: FloatArray, s: FloatArray | None) -> FloatArray:
    return values if s is None else np.where(s > 0, values * s, 0.0)


def _summed(values: FloatArray, s: FloatArray | None) -> float:
    return float(times(values, s).sum())
