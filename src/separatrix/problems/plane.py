"""The least of F on the plane through θ that a step and the one before it span:  min_u F(θ + u₁ d + u₂ e).

    η(u) = η + u₁ Zd + u₂ Ze,      ∂F/∂u_a = (1/W) Σ_i s_i ℓ'_i (Zd_a)_i + λ w_a·w(u)

While rows are wrong by much, Newton's steps are too short: e^{−η} falls by a factor e a step. How long they
should be the scores say, and those are found in one pass for θ, d and e together; F of a plane is then a sum over
rows. A sample of the rows is enough, and single precision, for what comes of it is a step like any other, judged by F
of all rows. Two classes.

Cost O(np) of some `MOST_ROWS` rows, and O(n) for each of a few steps in u. Memory three scores a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.losses import Logistic
from separatrix.core.numerics import FloatArray
from separatrix.data.engine import sweep
from separatrix.data.rows import Block
from separatrix.problems.blocks import SweepTask, block_scores
from separatrix.problems.objective import Memo, Objective

MOST_ROWS = 1 << 13  # rows that are enough to tell how long a step should be
STEPS = 4  # of Newton's method in u
ENOUGH = 0.03  # of what a step lowers F by, that the next in u may still be worth
LEAST = 0.5  # times Newton's step: where less is best, a level has run too far, and damping knows which
SHORT = 1e-5  # of a direction's curvature in the plane that is not its neighbour's

Seen = tuple[FloatArray, Any, FloatArray | None]  # a block's scores, targets and weights


def knows_planes(objective: Objective) -> bool:
    """Whether steps of this objective gain by it, and F on a plane is the loss and the penalty alone."""
    return (
        isinstance(objective.loss, Logistic)
        and objective.proven
        and objective.ridge > 0
        and not objective.rows.lazy
    )


def best_step(
    objective: Objective,
    theta: FloatArray,
    step: FloatArray,
    before: FloatArray | None,
    stride: int,
    memo: Memo,
) -> FloatArray:
    """u₁ ``step`` + u₂ ``before`` of the least F, over one row of every ``stride`` or fewer; else ``step`` itself."""
    directions = [step] if before is None else [step, before]
    with np.errstate(over="ignore", invalid="ignore"):
        eta, y, weight = _scores(objective, [theta, *directions], stride, memo)
        ways = np.array(
            [objective.coordinates.weights(objective.split(each)[0]) for each in [theta, *directions]]
        )
        u = _least(objective, eta, y, weight, objective.ridge * (ways @ ways.T))
    if u is None:
        return step
    return np.asarray(sum(share * direction for share, direction in zip(u, directions, strict=True)))


def _scores(
    objective: Objective, points: list[FloatArray], stride: int, memo: Memo
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Scores (m, n) of m points, with the rows' targets and weights."""
    sample = memo.sample_of(objective.rows, stride) if stride > 1 else None
    rows, thin = (objective.rows, stride) if sample is None else (sample, 1)
    thin *= max(1, rows.n // (thin * MOST_ROWS))
    task = objective.task(*objective.split(np.stack(points, axis=1)), stride=thin)
    parts = sweep(_seen, rows, task, light=thin > 1)[1]
    scores = np.concatenate([part[0] for part in parts], dtype=np.float32)
    y = np.concatenate([part[1] for part in parts], dtype=np.float32)
    weight = None if rows.weight is None else np.concatenate([part[2] for part in parts])
    return np.ascontiguousarray(scores.T), y, weight


def _seen(block: Block, task: SweepTask, _memo: None) -> tuple[int, Seen]:
    """How many rows, and what is to be known of them."""
    block = block.thinned(task.stride)
    return block.n, (block_scores(block, task) + task.b, block.y, block.weight)


def _least(
    objective: Objective, eta: FloatArray, y: FloatArray, weight: FloatArray | None, penalty: FloatArray
) -> FloatArray | None:
    """u of the least F, by Newton's method from (1, 0); None where that is no longer step, or not to be found."""
    ways, total = eta[1:], float(len(y)) if weight is None else float(weight.sum())

    def at(u: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """F and its derivatives in u."""
        scores, both = eta[0] + u.astype(np.float32) @ ways, np.append(1.0, u)
        sums = objective.loss.derivatives(scores, y)
        losses, slope, bend = sums if weight is None else (each * weight for each in sums)
        gradient = ways @ slope / total + penalty[1:] @ both
        hessian = (ways * bend) @ ways.T / total + penalty[1:, 1:]
        return (
            float(losses.sum(dtype=np.float64)) / total + 0.5 * float(both @ penalty @ both),
            gradient,
            hessian,
        )

    u, first = np.zeros(len(ways)), 0.0
    u[0] = 1.0
    value, gradient, hessian = at(u)
    for _ in range(STEPS):
        diagonal = np.diag(hessian)
        if not (np.isfinite(hessian).all() and (diagonal > 0).all()):
            return None
        move = -np.linalg.solve(hessian + SHORT * np.diag(diagonal), gradient)
        promised = -0.5 * float(gradient @ move)
        u, first = u + move, max(first, promised)
        if promised <= ENOUGH * first:
            break
        new = at(u)
        if not new[0] <= value:  # once half as far, then not at all
            u = u - 0.5 * move
            new = at(u)
            if not new[0] <= value:
                return None
        value, gradient, hessian = new
    return u if np.isfinite(u).all() and u[0] >= LEAST else None
