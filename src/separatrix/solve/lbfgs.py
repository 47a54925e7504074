"""L-BFGS in preconditioned coordinates, stopped by a proven gap.

    d = −H̃∇F  with H̃ from the last m pairs (s, y) by the two-loop recursion,   θ ← θ + αd (weak Wolfe)

The preconditioner is the choice of coordinates: with LLᵀ = κ·XᵀSX/W + λ (κ bounds the loss's curvature)
and B = L⁻ᵀ the problem is nearly round, so 20–60 evaluations do what takes hundreds in raw columns.
Where p is too large for a factor the coordinates carry its diagonal.

Cost: O(npK) a sweep, O(mpK) more a step; memory O(mpK).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.interrupts import until_interrupted
from separatrix.problems.objective import Evaluation, add_multiple
from separatrix.solve.outcome import Account, Outcome
from separatrix.verdict.gaps import ROUNDING, FenchelBound

Solve = Callable[[FloatArray], FloatArray]


class Bound(Protocol):
    """How far F is from its minimum at most, and what that would be were the intercept's slope zero."""

    def gap(self, theta: FloatArray, at: Evaluation) -> tuple[float, float]: ...


LONG = 1 << 16  # parameters beyond which pairs are kept in single precision


def lbfgs(
    account: Account,
    start: FloatArray,
    tol: float,
    max_iter: int,
    *,
    memory: int = 10,
    warm: bool = False,
    exists: bool = False,
    first: Solve | None = None,
    bound: Bound | None = None,
) -> Outcome:
    """Minimise the account's objective from ``start``; ``memory`` pairs are kept, and correct ``first``, g ↦ H̃⁻¹g.

    ``bound`` says how far a point is from the minimum; the Fenchel bound of a linear score where none is given.
    """
    objective = account.objective
    theta = start.copy()
    at = account.evaluate(theta)
    if bound is None:
        bound = FenchelBound(objective, account.evaluate(objective.zero()) if warm else at)
    pairs: deque[Pair] = deque(maxlen=memory)
    stopped, gap, iterations, runaway = "max_iter reached", np.inf, 0, False
    with until_interrupted() as watch:
        for iterations in range(1, max_iter + 1):
            gap, weights_only = bound.gap(theta, at)
            account.visit(theta, at, f"gap {gap:.1e}")
            target = max(tol, ROUNDING) * abs(at.value)
            if gap > target >= 1.1 * weights_only:
                # only the intercept is in the way: the bound is linear in its slope, so put that to zero
                theta = objective.settle_intercept(theta)
                at = account.evaluate(theta)
                gap, _ = bound.gap(theta, at)
                account.visit(theta, at, f"gap {gap:.1e}")
            if gap <= target:
                stopped = "gap ≤ tol"
                break
            if objective.ridge == 0 and at.value < 1e-7 and not exists:
                stopped, runaway = "the weights run away", True
                break
            if float(np.linalg.norm(at.gradient)) <= max(1e-3 * tol, 1e-14) * abs(at.value) and gap == np.inf:
                stopped = "‖∇F‖ ≤ tol"  # no ridge, no Fenchel bound: the caller certifies by curvature
                break
            step = two_loop(pairs, at.gradient, first and _scaled(first, pairs))
            found = _line_search(account, theta, at, step, first=not (pairs or first))
            if found is None:
                if not pairs:
                    stopped = "rounding: no further decrease"
                    break
                pairs.clear()  # a stale model of the curvature: start again from the gradient
                continue
            pair = Pair.of(found[0] - theta, found[1].gradient - at.gradient)
            if pair.curvature > EPS * pair.change_squared:
                pairs.append(pair)
            theta, at = found
        else:
            account.visit(theta, at)
            gap, _ = bound.gap(theta, at)
    if watch.interrupted:
        stopped = "interrupted"
    gap = max(gap, ROUNDING * abs(at.value))
    unique = True if objective.ridge > 0 else None
    norm = float(np.linalg.norm(at.gradient))
    return Outcome(theta, at.value, gap, unique, iterations, stopped, norm, runaway=runaway)


@dataclass(frozen=True)
class Pair:
    """A step s, the change y of the gradient along it, s·y and y·y; flat vectors, so that products are BLAS's."""

    step: FloatArray
    change: FloatArray
    curvature: float
    change_squared: float

    @classmethod
    def of(cls, step: FloatArray, change: FloatArray) -> Pair:
        s, y = step.ravel(), change.ravel()
        curvature, squared = float(np.dot(s, y)), float(np.dot(y, y))
        if s.size > LONG:  # a direction needs few digits, and these vectors are read twenty times a step
            s, y = s.astype(np.float32), y.astype(np.float32)
        return cls(s, y, curvature, squared)


def two_loop(
    pairs: Sequence[Pair], gradient: FloatArray, first: Callable[[FloatArray], FloatArray] | None = None
) -> FloatArray:
    """−H̃∇F; H̃ starts from ``first``, or from the identity scaled by the newest pair."""
    q: FloatArray = gradient.ravel().astype(np.float32 if gradient.size > LONG else np.float64)
    alphas = []
    for pair in reversed(pairs):
        alpha = float(np.dot(pair.step, q)) / pair.curvature
        alphas.append(alpha)
        add_multiple(q, -alpha, pair.change)
    if first is not None:
        q = np.ascontiguousarray(first(q.reshape(gradient.shape))).ravel()
    elif pairs:
        q *= pairs[-1].curvature / pairs[-1].change_squared
    for pair, alpha in zip(pairs, reversed(alphas), strict=True):
        add_multiple(q, alpha - float(np.dot(pair.change, q)) / pair.curvature, pair.step)
    np.negative(q, out=q)
    return q.reshape(gradient.shape)


def _scaled(first: Solve, pairs: Sequence[Pair]) -> Solve:
    """``first`` as long as the newest pair says: far from where it was taken, curvature is another."""
    if not pairs:
        return first
    change = pairs[-1].change
    share = pairs[-1].curvature / float(np.dot(change, first(change)))
    return lambda g: share * first(g)


def _line_search(
    account: Account, theta: FloatArray, at: Evaluation, direction: FloatArray, *, first: bool
) -> tuple[FloatArray, Evaluation] | None:
    """A point that meets the weak Wolfe conditions, by bisection and doubling; None when F will not fall."""
    slope = float(np.vdot(at.gradient, direction))
    if slope >= 0:
        return None
    low, high = 0.0, np.inf
    alpha = min(1.0, 1.0 / float(np.linalg.norm(at.gradient))) if first else 1.0
    slack = 2 * EPS * abs(at.value)
    for _ in range(30):
        trial = theta + alpha * direction
        new = account.evaluate(trial)
        if not new.value <= at.value + 1e-4 * alpha * slope + slack:
            high = alpha
        elif (slope_there := float(np.vdot(new.gradient, direction))) < 0.9 * slope:
            low = alpha
        else:
            return trial, new
        if high < np.inf:
            alpha = 0.5 * (low + high)
        else:  # where the slope would vanish were it a straight line
            alpha *= min(max(slope / (slope - slope_there), 2.0), 10.0) if slope_there > slope else 10.0
    return None
