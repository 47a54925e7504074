"""What is asked of rows beside value and gradient where columns are many: thresholds for given weights, dual sums.

    thresholds alone     Newton on τ, the scores x·w kept by each block between sweeps: O(n) a step
    sums of the dual     with α_i = σ(−b_i) of rows below a threshold and α'_i = σ(a_i) of rows above one (the logit),
                         Σ s h(α),  Σ s h(α'),  A_k = Σ_{y=k} s α,  B_k = Σ_{y=k} s α',  Σ s α z,  Σ s α' z

h(α) = α log α + (1 − α) log(1 − α). verdict/ordinal.py makes a bound of the second. Cost O(np) or O(nnz).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray, expit, log1pexp
from separatrix.core.statistic import Statistic
from separatrix.data.engine import sweep
from separatrix.data.rows import Block
from separatrix.problems.ordinal import OrdinalObjective, OrdinalTask, by_threshold, times
from separatrix.problems.stored_cells import add_back, stored_scores

STEPS = 20  # of Newton on thresholds, at most
TOWARDS = 0.9  # of the way to where two of them would meet


@dataclass(frozen=True, eq=False)
class DualSums(Statistic):
    """Sums of the two sides: ``below`` and ``above`` are A and B (K,), the last two are in inner coordinates."""

    value: float
    entropy_below: float
    entropy_above: float
    below: FloatArray
    above: FloatArray
    pull_below: FloatArray
    pull_above: FloatArray


def dual_sums(objective: OrdinalObjective, point: FloatArray) -> DualSums:
    """The sums at a point, by one sweep."""
    t, tau = objective.split(point)
    task = OrdinalTask(objective.link, t, tau, objective.coordinates, 1)
    total: DualSums = sweep(_dual_block, objective.rows, task)[0]
    return total


@np.errstate(over="ignore", invalid="ignore")
def _dual_block(block: Block, task: OrdinalTask, _memo: Any) -> tuple[DualSums, None]:
    k, eta = len(task.thresholds), _scores(block, task)
    codes, s = np.maximum(block.y, 0), block.weight
    ends = np.concatenate([[-np.inf], task.thresholds, [np.inf]])
    sides = []
    for margin in (ends[codes + 1] - eta, eta - ends[codes]):  # b of rows below a threshold, −a of rows above
        alpha = expit(-margin)
        entropy = -(np.where(alpha > 0, alpha * margin, 0.0) + log1pexp(-margin))
        weighted = times(alpha, s)
        sums = np.bincount(codes, weighted, minlength=k + 1).astype(float)
        sides.append((float(times(entropy, s).sum()), sums, _pull(block, task, weighted)))
    value = float(times(task.link.pieces(eta, codes, task.thresholds).value, s).sum())
    (h, A, pull), (h_above, B, pull_above) = sides
    return DualSums(value, h, h_above, A, B, pull, pull_above), None


def _stored(block: Block, task: OrdinalTask) -> bool:
    return block.sparse and task.coordinates.basis is None


def _scores(block: Block, task: OrdinalTask) -> FloatArray:
    """x·w of centred rows."""
    c = task.coordinates
    if _stored(block, task):
        u = np.ascontiguousarray(c.weights(task.t))
        return stored_scores(block.X, u, -float(c.centre @ u))
    eta = np.empty(block.n)
    for part in block.tiles(block.X.shape[1]):
        eta[part] = _inner(block, part, task) @ task.t
    return eta


def _pull(block: Block, task: OrdinalTask, weighted: FloatArray) -> FloatArray:
    """Σ weighted z."""
    c = task.coordinates
    if _stored(block, task):
        raw = np.zeros(block.X.shape[1])
        add_back(block.X, weighted, raw)
        return c.pull(raw - c.centre * weighted.sum())
    total = np.zeros(c.size)
    for part in block.tiles(block.X.shape[1]):
        total += _inner(block, part, task).T @ weighted[part]
    return total


def _inner(block: Block, part: slice, task: OrdinalTask) -> FloatArray:
    raw = block.dense(part)
    z = np.empty((len(raw), task.coordinates.size))
    task.coordinates.tile(raw, out=z)
    return z


# ---- thresholds alone ----


@dataclass(frozen=True, eq=False)
class EndSums(Statistic):
    """Σ −log P, its gradient in τ and the Hessian's diagonal and neighbours."""

    value: float
    slope: FloatArray
    diagonal: FloatArray
    beside: FloatArray


def settled_thresholds(objective: OrdinalObjective, point: FloatArray) -> FloatArray:
    """The point with its thresholds at their optimum for the given weights."""
    from scipy.linalg import solveh_banded

    t, tau = objective.split(point)
    memo = None
    for _ in range(STEPS):
        task = OrdinalTask(objective.link, t, tau, objective.coordinates, 1)
        total, memo = sweep(_end_block, objective.rows, task, memo)
        bands = np.zeros((2, len(tau)))
        bands[0, 1:], bands[1] = total.beside, total.diagonal
        step = -solveh_banded(bands if len(tau) > 1 else bands[1:], total.slope)
        apart, change = np.diff(tau), np.diff(step)
        closing = change < 0
        scale = min(1.0, TOWARDS * float(np.min(apart[closing] / -change[closing], initial=np.inf)))
        tau = tau + scale * step
        if np.max(np.abs(step)) < 1e-13 * (1.0 + np.max(np.abs(tau))):
            break
    return np.concatenate([t, tau])


@np.errstate(over="ignore", invalid="ignore")
def _end_block(block: Block, task: OrdinalTask, memo: FloatArray | None) -> tuple[EndSums, FloatArray]:
    k = len(task.thresholds)
    eta = _scores(block, task) if memo is None else memo
    codes, s = np.maximum(block.y, 0), block.weight
    found = task.link.pieces(eta, codes, task.thresholds)
    lower, upper, between = (times(v, s) for v in (found.lower, found.upper, found.between))
    slope = by_threshold(times(found.at_lower, s), times(found.at_upper, s), codes, k)
    beside = -np.bincount(codes, between, minlength=k + 1)[1:k].astype(float)
    diagonal = by_threshold(lower + between, upper + between, codes, k)
    return EndSums(float(times(found.value, s).sum()), slope, diagonal, beside), eta
