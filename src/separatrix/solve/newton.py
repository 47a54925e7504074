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
RUNAWAY_AFTER = 8  # full steps without quadratic contraction before separation is suspected


def newton(
    account: Account,
    start: FloatArray,
    tol: float,
    max_iter: int,
    *,
    theta: float | None = None,
    warm: bool = False,
) -> Outcome:
    """Minimise the account's objective from ``start``.

    ``tol`` is the gap asked for, relative to F; ``theta`` the notes' own rule instead: stop when ‖Δw‖ < θ.
    """
    objective = account.objective
    at_theta = start.copy()
    if not warm:
        at_theta = _sampled_start(account, at_theta)
    at = account.evaluate(at_theta, order=2)
    state = _Anchor.at(at_theta, at, range_factor(objective))
    if state.factor.reciprocal_condition < ILL_CONDITIONED and objective.coordinates.basis is None:
        return Outcome(
            at_theta, at.value, np.inf, None, 0, "ill-conditioned", _norm(at), ill_conditioned=True
        )
    slow = 0
    previous = np.inf
    stopped, gap, iterations, runaway = "max_iter reached", np.inf, 0, False
    decrement = np.inf
    try:
        for iterations in range(1, max_iter + 1):
            step = -state.solve(at.gradient)
            decrement = float(np.sqrt(max(-np.sum(at.gradient * step), 0.0)))
            gap = stale_curvature_gap(decrement, state.range, state.drift(at_theta))
            account.visit(at_theta, at, f"gap {gap:.1e}")
            if theta is not None and np.linalg.norm(_user_step(account, at_theta, step)) < theta:
                stopped = "‖Δw‖ < θ"
                break
            contraction = decrement / previous
            slow = slow + 1 if contraction > 0.3 and state.fresh(at_theta) else 0
            previous = decrement
            target = max(tol, ROUNDING) * abs(at.value)
            if theta is None:
                at_theta, at, gap = _free_step(state, at_theta, at, step, decrement, gap, target)
                if gap <= target:
                    stopped = "gap ≤ tol"
                    account.visit(at_theta, at, f"gap {gap:.1e}")
                    break
            if objective.ridge == 0 and (slow >= RUNAWAY_AFTER or at.value < 1e-7 or state.factor.singular):
                stopped, runaway = "the weights run away", True
                break
            if decrement**2 <= EPS * abs(at.value) * 1e-4 and not contraction < 0.5 and state.fresh(at_theta):
                stopped = "rounding: no further decrease"
                break
            order = _next_order(decrement, contraction, tol * abs(at.value), state, at_theta)
            at_theta, at = _descend(account, at_theta, at, step, decrement, order)
            if at.hessian is not None:
                state = _Anchor.at(at_theta, at, range_factor(objective))
    except KeyboardInterrupt:
        stopped = "interrupted"
    unique = None if state.factor.singular or not np.isfinite(gap) else True
    return Outcome(at_theta, at.value, gap, unique, iterations, stopped, _norm(at), runaway=runaway)


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
    """A few damped steps on every 16th tile, then every 4th; the answer only starts the real fit."""
    objective = account.objective
    size = int(np.prod(objective.shape))
    for stride in (16, 4):
        if objective.rows.lazy or objective.rows.n < stride * max(SAMPLE_ROWS * size, 4096):
            continue
        rows = objective.rows.n / stride
        ridge = 1e-6 * np.eye(size)
        at = account.evaluate(theta, order=2, stride=stride)
        for _ in range(6):
            assert at.hessian is not None
            step = -factorise(at.hessian + ridge).solve(at.gradient.T.ravel())
            step = step.reshape(theta.shape[::-1]).T
            decrement = float(np.sqrt(max(-np.sum(at.gradient * step), 0.0)))
            trial, scale = theta + step, 1.0
            if decrement**2 < 0.2 * size / rows:  # below the sample's own noise: this step, then leave
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
    state: _Anchor,
    theta: FloatArray,
    at: Evaluation,
    step: FloatArray,
    decrement: float,
    gap: float,
    target: float,
) -> tuple[FloatArray, Evaluation, float]:
    """Take the step in hand when the bound after it meets the target and F after it is known to rounding."""
    drift = state.drift(theta)
    reach = state.radius * float(np.linalg.norm(step))
    after = decrement_after_step(decrement, drift, reach)
    new_gap = stale_curvature_gap(after, state.range, drift + reach)
    curved = decrement**2 * (np.expm1(min(drift + reach, 700.0)))  # how far F may leave its parabola
    floor = ROUNDING * abs(at.value)
    if not (new_gap <= min(gap, target) and curved <= floor):
        return theta, at, max(gap, floor)
    value = at.value - 0.5 * decrement**2
    return theta + step, Evaluation(value, np.zeros_like(at.gradient), None, at.radius), max(new_gap, floor)


def _next_order(
    decrement: float, contraction: float, target: float, state: _Anchor, theta: FloatArray
) -> int:
    """2 when a new Hessian is the cheaper way to the target, else 1."""
    if decrement > 0.3:
        return 2
    if state.fresh(theta):
        return 1  # try the factor once: its contraction is then known
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
