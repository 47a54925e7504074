"""Newton–Raphson / IRLS:  θ ← θ − α H⁻¹∇F, stopped by a proven gap ([PC] "Newton-Raphson", [6867] 3.2).

    H = (1/W) Σ_i s_i ℓ''(η_i) z_i z_iᵀ + λ…,     ν² = ∇Fᵀ H⁻¹ ∇F,     F − min F ≤ φ(ν)   (verdict/gaps.py)

Four things make it quick and safe:
- the first steps use a thin sample of tiles: far from the optimum an exact Hessian is wasted work;
- a factor is kept while it still contracts the decrement: a sweep without the Hessian costs a fraction;
- the last step is free: the bound after a full step follows from the bound before it, without a sweep;
- a step that does not lower F is halved; a singular H gives the least step (eigenvalues above rounding).

Cost: O(nq²) a sweep with the Hessian, O(nq) without, O(q³) a factor; q parameters. Usually 3–8 sweeps.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.objective import Evaluation
from separatrix.solve.outcome import Account, Outcome
from separatrix.verdict.gaps import (
    FAR,
    ROUNDING,
    Factor,
    decrement_after_step,
    factorise,
    range_factor,
    stale_curvature_gap,
)

SAMPLE_ROWS = 40  # sampled rows a parameter: enough that a sampled step is better than none
ILL_CONDITIONED = 1e-11  # reciprocal condition of H below which the caller should change coordinates
NEW_HESSIAN_COST = 4.0  # a new Hessian and the step it saves, in sweeps without one
SLOW = 0.3  # a step that leaves more than this of the decrement does not converge quadratically
RUNAWAY_AFTER = 6  # such steps before separation is suspected
RUNAWAY = "the weights run away"


def newton(
    account: Account,
    start: FloatArray,
    tol: float,
    max_iter: int,
    *,
    theta: float | None = None,
    warm: bool = False,
    exists: bool = False,
) -> Outcome:
    """Minimise the account's objective from ``start``; ``exists``: a minimum is known to, however slow the way.

    ``tol`` is the gap asked for, relative to F; ``theta`` the notes' own rule instead: stop when ‖Δw‖ < θ. With
    ``theta``, or when the path is recorded, every step is the notes' own too: no sampled start, no kept factor.
    """
    objective, bend = account.objective, range_factor(account.objective)
    plain = theta is not None or account.record
    point = start.copy() if warm or plain else _sampled_start(account, start.copy())
    at = account.evaluate(point, order=2)
    anchor = _Anchor.at(point, at, bend)
    if warm and bend > 0 and at.value > np.log(objective.n_classes or 2):
        # worse than no weights at all, where the curvature may have vanished: start from the origin instead
        point = objective.zero()
        at = account.evaluate(point, order=2)
        anchor = _Anchor.at(point, at, bend)
    if anchor.factor.reciprocal_condition < ILL_CONDITIONED and objective.coordinates.basis is None:
        return Outcome(point, at.value, np.inf, None, 0, "ill-conditioned", _norm(at), ill_conditioned=True)
    slow, previous = 0, np.inf
    stopped, gap, iterations = "max_iter reached", np.inf, 0
    try:
        for iterations in range(1, max_iter + 1):
            step = -anchor.solve(at.gradient)
            decrement = float(np.sqrt(max(-np.sum(at.gradient * step), 0.0)))
            gap = stale_curvature_gap(decrement, anchor.range, anchor.drift(point))
            account.visit(point, at, f"gap {gap:.1e}")
            contraction, previous = decrement / previous, decrement
            slow = slow + 1 if contraction > SLOW else 0 if contraction < 0.1 else slow
            stopped = _reason_to_stop(account, anchor, point, at, step, theta, slow, exists)
            if stopped:
                break
            target = max(tol, ROUNDING) * abs(at.value)
            if theta is None:
                free = _free_step(anchor, point, at, step, decrement, target)
                if free is not None:
                    (point, at, gap), stopped = free, "gap ≤ tol"
                    account.visit(point, at, f"gap {gap:.1e}")
                    break
                # a gap at rounding level is not yet weights at rounding level: go on while steps still shrink
                if gap <= target and (tol > ROUNDING or contraction > 0.5 or decrement < 1e-12):
                    stopped = "gap ≤ tol"
                    break
            order = 2 if plain else _next_order(decrement, contraction, gap, target, anchor, point)
            point, at = _descend(account, point, at, step, decrement, order)
            if at.hessian is not None:
                anchor = _Anchor.at(point, at, bend)
        else:
            stopped = "max_iter reached"
            account.visit(point, at)
            decrement = float(np.sqrt(max(np.sum(at.gradient * anchor.solve(at.gradient)), 0.0)))
            gap = stale_curvature_gap(decrement, anchor.range, anchor.drift(point))
    except KeyboardInterrupt:
        stopped = "interrupted"
    unique = None if anchor.factor.singular or not np.isfinite(gap) else True
    gap = max(gap, ROUNDING * abs(at.value))
    runaway = stopped == RUNAWAY
    return Outcome(point, at.value, gap, unique, iterations, stopped, _norm(at), runaway=runaway)


def _reason_to_stop(
    account: Account,
    anchor: _Anchor,
    point: FloatArray,
    at: Evaluation,
    step: FloatArray,
    theta: float | None,
    slow: int,
    exists: bool,
) -> str:
    """Why to stop before taking the step, other than a gap that is met; empty when there is no reason."""
    if theta is not None and np.linalg.norm(_user_step(account, point, step)) < theta:
        return "‖Δw‖ < θ"
    if (
        account.objective.ridge == 0
        and not exists
        and (slow >= RUNAWAY_AFTER or at.value < 1e-7 or anchor.factor.singular)
    ):
        return RUNAWAY
    if slow >= 3 and anchor.fresh(point) and -np.sum(at.gradient * step) <= 1e-4 * EPS * abs(at.value):
        return "rounding: no further decrease"
    return ""


class _Anchor:
    """The point whose Hessian is in use, its factor, and what it says of scores nearby."""

    def __init__(self, theta: FloatArray, factor: Factor, radius: float, shape: tuple[int, ...]):
        self.theta, self.factor, self.radius, self.shape = theta, factor, radius, shape
        self.range = radius * float(np.sqrt(factor.inverse_trace)) if not factor.singular else np.inf

    @classmethod
    def at(cls, theta: FloatArray, at: Evaluation, range_factor: float) -> _Anchor:
        assert at.hessian is not None
        return cls(theta, factorise(at.hessian), range_factor * at.radius, theta.shape)

    def solve(self, gradient: FloatArray) -> FloatArray:
        step = self.factor.solve(gradient.T.ravel())
        return step.reshape(self.shape[::-1]).T

    def drift(self, theta: FloatArray) -> float:
        """At most how far any score has moved since the Hessian was taken."""
        return self.radius * float(np.linalg.norm(theta - self.theta))

    def fresh(self, theta: FloatArray) -> bool:
        return bool(np.array_equal(theta, self.theta))


def _sampled_start(account: Account, theta: FloatArray) -> FloatArray:
    """A few damped steps on a 64th of the rows, then a 16th, then a 4th; the answer only starts the real fit."""
    objective = account.objective
    size = int(np.prod(objective.shape))
    for stride in (64, 16, 4):
        if objective.rows.lazy or objective.rows.n < stride * max(SAMPLE_ROWS * size, 4096):
            continue
        ridge = 1e-6 * np.eye(size)
        at = account.evaluate(theta, order=2, stride=stride)
        for _ in range(6):
            assert at.hessian is not None
            step = -factorise(at.hessian + ridge).solve(at.gradient.T.ravel())
            step = step.reshape(theta.shape[::-1]).T
            decrement = float(np.sqrt(max(-np.sum(at.gradient * step), 0.0)))
            trial, scale = theta + step, 1.0
            if (
                decrement < 0.1
            ):  # one quadratic step from here is below the sample's own noise: take it and leave
                theta = trial
                break
            new = account.evaluate(trial, order=2, stride=stride)
            while not new.value <= at.value and scale > 1e-3:
                scale *= 0.5
                trial = theta + scale * step
                new = account.evaluate(trial, order=2, stride=stride)
            theta, at = trial, new
    return theta if np.isfinite(theta).all() and np.max(np.abs(theta)) < 1e3 else objective.zero()


def _free_step(
    anchor: _Anchor, point: FloatArray, at: Evaluation, step: FloatArray, decrement: float, target: float
) -> tuple[FloatArray, Evaluation, float] | None:
    """Take the step in hand when the bound after it meets the target and F after it is known to rounding."""
    drift = anchor.drift(point)
    reach = anchor.radius * float(np.linalg.norm(step))
    after = decrement_after_step(decrement, drift, reach)
    gap = stale_curvature_gap(after, anchor.range, drift + reach)
    leaves_parabola = decrement**2 * np.expm1(min(drift + reach, FAR))
    floor = ROUNDING * abs(at.value)
    if not (gap <= target and leaves_parabola <= floor):
        return None
    value = at.value - 0.5 * decrement**2
    return point + step, Evaluation(value, np.zeros_like(at.gradient), None, at.radius), max(gap, floor)


def _next_order(
    decrement: float, contraction: float, gap: float, target: float, anchor: _Anchor, point: FloatArray
) -> int:
    """2 when a new Hessian is the cheaper way to the target, else 1."""
    if decrement > 0.3 or contraction > SLOW:
        return 2  # not yet where one Hessian serves many steps
    if anchor.fresh(point):
        return 1  # try the factor once: its contraction is then known
    if decrement**2 <= target and gap > target:
        return 2  # close enough, but the old Hessian is too far away to prove it
    rate = min(max(contraction, 1e-6), 0.9)
    wanted = np.sqrt(2 * target) / decrement
    steps_with_old = np.log(max(wanted, 1e-16)) / np.log(rate)
    return 1 if steps_with_old <= NEW_HESSIAN_COST else 2


def _descend(
    account: Account, theta: FloatArray, at: Evaluation, step: FloatArray, decrement: float, order: int
) -> tuple[FloatArray, Evaluation]:
    """θ + αd with F lower than before (α = 1, ½, ¼ …)."""
    slack = 4 * EPS * max(abs(at.value), 1e-300)
    scale = 1.0
    for _ in range(40):
        trial = theta + scale * step
        new = account.evaluate(trial, order)
        if new.value <= at.value - 1e-4 * scale * decrement**2 + slack:
            return trial, new
        scale *= 0.5
    return theta, account.evaluate(theta, 2)


def _user_step(account: Account, theta: FloatArray, step: FloatArray) -> FloatArray:
    before, b0 = account.objective.to_user(theta)
    after, b1 = account.objective.to_user(theta + step)
    return np.append((after - before).ravel(), np.ravel(b1 - b0))


def _norm(at: Evaluation) -> float:
    return float(np.linalg.norm(at.gradient))
