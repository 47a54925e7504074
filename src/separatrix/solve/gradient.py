"""Batch gradient ascent on the likelihood:  θ ← θ − η ∇F, until ‖∇F‖ < threshold ([PC], [726] "Batch Ascent").

In standardised columns, shrunk further where the penalty is the stiffer part, so that one η serves every column.
Default η = 1/κ̄ with κ̄ ≥ the largest eigenvalue of the Hessian anywhere: F then falls at every step. A larger η may
diverge, and then the fit stops and says so.

Cost: O(npK) a step; hundreds of steps where columns are correlated. Kept for study and for pictures.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.losses import Logistic, Multinomial, SquaredHinge
from separatrix.core.numerics import FloatArray
from separatrix.data.interrupts import until_interrupted
from separatrix.problems.objective import Objective
from separatrix.solve.outcome import Account, Outcome
from separatrix.verdict.gaps import ROUNDING, FenchelBound


def gradient_ascent(
    account: Account,
    start: FloatArray,
    tol: float,
    max_iter: int,
    *,
    eta: float | None = None,
    threshold: float | None = None,
    warm: bool = False,
    exists: bool = False,
) -> Outcome:
    """Minimise by full gradient steps of size ``eta``; stop by gap, or by ``threshold`` on ‖∇F‖ when given."""
    objective = account.objective
    if eta is not None and not eta > 0:
        raise ValueError(f"solver_options['eta'] must be positive, got {eta}")
    step = 1.0 / curvature_bound(objective) if eta is None else float(eta)
    theta = start.copy()
    at = account.evaluate(theta)
    bound = FenchelBound(objective, account.evaluate(objective.zero()) if warm else at)
    highest = at.value
    stopped, gap, iterations = "max_iter reached", np.inf, 0
    with until_interrupted() as watch:
        for iterations in range(1, max_iter + 1):
            gap, _ = bound.gap(theta, at)
            account.visit(theta, at, f"gap {gap:.1e}")
            norm = float(np.linalg.norm(at.gradient))
            limit = tol if threshold is None and gap == np.inf else threshold
            if limit is not None and norm < limit:
                stopped = "‖∇F‖ < threshold"
                break
            if threshold is None and gap <= max(tol, ROUNDING) * abs(at.value):
                stopped = "gap ≤ tol"
                break
            if not at.value <= 10 * max(highest, 1.0):
                stopped = f"diverged: the step size eta = {step:.3g} is too large"
                break
            moved = theta - step * at.gradient
            theta, at = moved, account.evaluate(moved)
        else:
            account.visit(theta, at)
            gap, _ = bound.gap(theta, at)
    if watch.interrupted:
        stopped = "interrupted"
    norm = float(np.linalg.norm(at.gradient))
    return Outcome(theta, at.value, gap, objective.ridge > 0 or None, iterations, stopped, norm)


def loss_curvature(objective: Objective) -> float:
    """κ with ℓ'' ≤ κ: ¼ logistic, ½ softmax (in the norm), 2 squared hinge, 1 squared."""
    match objective.loss:
        case Logistic():
            return 0.25
        case Multinomial():
            return 0.5
        case SquaredHinge():
            return 2.0
    return 1.0


def curvature_bound(objective: Objective) -> float:
    """At least the largest eigenvalue of the Hessian at any θ: κ tr(ZᵀSZ)/W + the penalty's.

    Every standardised column adds at most κ to the trace: no sweep is needed.
    """
    columns = np.count_nonzero(objective.coordinates.scale) + int(objective.fit_intercept)
    matrix = objective.ridge_matrix
    penalty = float(matrix.max(initial=0.0)) if matrix.ndim == 1 else float(np.trace(matrix))
    return loss_curvature(objective) * float(columns) + penalty
