"""What is ordered by nature: stochastic gradient on rows in memory ([6867] 3.2.2; row D3).

    θ ← θ − η_t ( mean over a batch of ∇ℓ_i + ∇penalty ),     η_t = η / √(1 + epoch)

Rows are visited in an order drawn anew each epoch from (seed, "sgd", epoch), never from a stream that
depends on what ran before. The steps of the second half are averaged (Polyak). It approaches the optimum
and does not reach it; the gap in the verdict is measured, not hoped for.

Cost: O(npK) an epoch plus one sweep to look at the gap.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.interrupts import until_interrupted
from separatrix.solve.gradient import loss_curvature
from separatrix.solve.outcome import Account, Outcome
from separatrix.verdict.gaps import ROUNDING, FenchelBound

RECORDED_ROWS = 5000  # up to here a recorded path has every step; beyond, one point an epoch


def keyed_generator(seed: int, purpose: str, index: int) -> np.random.Generator:
    """A generator that depends on (seed, purpose, index) alone.

    >>> a, b = keyed_generator(0, "sgd", 3), keyed_generator(0, "sgd", 3)
    >>> bool(a.random() == b.random())
    True
    """
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), index])


def stochastic_gradient(
    account: Account,
    start: FloatArray,
    tol: float,
    max_iter: int,
    *,
    eta: float | None = None,
    batch: int = 32,
    average: bool = True,
    seed: int = 0,
    warm: bool = False,
    exists: bool = False,
) -> Outcome:
    """At most ``max_iter`` epochs of stochastic steps; each epoch ends with a look at F and its gap."""
    objective = account.objective
    if eta is not None and not eta > 0:
        raise ValueError(f"solver_options['eta'] must be positive, got {eta}")
    if batch < 1:
        raise ValueError(f"solver_options['batch'] must be at least 1, got {batch}")
    first = 0.5 / (loss_curvature(objective) * objective.shape[0] ** 0.5) if eta is None else float(eta)
    theta = start.copy()
    best, best_at = theta, account.evaluate(theta)
    bound = FenchelBound(objective, account.evaluate(objective.zero()) if warm else best_at)
    account.visit(theta, best_at)
    stopped, gap, iterations = "max_iter reached", np.inf, 0
    mean, seen = np.zeros_like(theta), 0
    with until_interrupted() as watch:
        for iterations in range(1, max_iter + 1):
            order = keyed_generator(seed, "sgd", iterations).permutation(objective.rows.n)
            if 2 * iterations <= max_iter:
                mean, seen = np.zeros_like(theta), 0
            step = first / np.sqrt(iterations)
            theta, mean, seen = _epoch(account, theta, order, batch, step, mean, seen)
            account.sweeps += 1
            candidate = mean if average and seen else theta
            with np.errstate(over="ignore", invalid="ignore"):
                at = account.evaluate(candidate)
                if not at.value <= 10 * max(best_at.value, 1.0):
                    stopped = f"diverged: the step size eta = {first:.3g} is too large"
                    break
            account.visit(candidate, at)
            if at.value < best_at.value:
                best, best_at = candidate.copy(), at
            gap, _ = bound.gap(best, best_at)
            if gap <= max(tol, ROUNDING) * abs(best_at.value):
                stopped = "gap ≤ tol"
                break
    if watch.interrupted:
        stopped = "interrupted"
    norm = float(np.linalg.norm(best_at.gradient))
    return Outcome(best, best_at.value, gap, objective.ridge > 0 or None, iterations, stopped, norm)


def _epoch(
    account: Account,
    theta: FloatArray,
    order: np.ndarray,
    batch: int,
    step: float,
    mean: FloatArray,
    seen: int,
) -> tuple[FloatArray, FloatArray, int]:
    """One pass in the given order; also the running mean of the iterates. A recorded path keeps every step."""
    objective = account.objective
    rows, basis = objective.rows, objective.class_basis
    share = rows.n / objective.total_weight
    z = np.ones((batch, theta.shape[0]))
    size = objective.coordinates.size
    with np.errstate(over="ignore", invalid="ignore"):
        for a in range(0, rows.n, batch):
            pick = order[a : a + batch]
            tile = z[: len(pick)]
            objective.coordinates.tile(_cells(rows.source, pick), out=tile[:, :size])
            eta = tile @ theta if basis is None else tile @ theta @ basis.T
            _, slope = objective.loss.value_slope(eta, rows.y[pick])
            if rows.weight is not None:
                slope = (slope.T * (rows.weight[pick] * share)).T
            slope = slope if basis is None else slope @ basis
            theta = theta - step * (tile.T @ slope / len(pick) + objective.penalty(theta)[1])
            seen += 1
            mean = mean + (theta - mean) / seen
            if account.record and rows.n <= RECORDED_ROWS:
                account.visit(theta, objective.evaluate(theta, memo=account.memo))
    return theta, mean, seen


def _cells(source: Any, pick: np.ndarray) -> np.ndarray:
    cells = source[pick]
    return cells if isinstance(cells, np.ndarray) else cells.toarray()
