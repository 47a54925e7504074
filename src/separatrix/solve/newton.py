"""Newton–Raphson / IRLS:  θ ← θ − α H⁻¹∇F, stopped by a proven gap ([PC] "Newton-Raphson", [6867] 3.2).

    H = (1/W) Σ_i s_i ℓ''(η_i) z_i z_iᵀ + λ…,     ν² = ∇Fᵀ H⁻¹ ∇F,     F − min F ≤ φ(ν)   (verdict/gaps.py)

Six things make it quick and safe:
- the first steps use a thin sample of tiles: far from the optimum an exact Hessian is wasted work;
- a factor is kept while it still contracts the decrement, even a sample's: a sweep without the Hessian costs a
  fraction, and what the sample leaves out only adds curvature, H ⪰ share · H_sample, so bounds stay proven;
- where a Hessian costs many sweeps (several classes), a trial takes none, and as many steps go by the kept factor,
  corrected by the gradients since (BFGS) and shortened where F rises, as another Hessian costs;
- far from the minimum a step is as long as lowers F most, along it and the one before (problems/plane.py);
- the last step is free: the bound after a full step follows from the bound before it, without a sweep;
- a step that does not lower F is halved; a singular H gives the least step (eigenvalues above rounding).

Cost: O(nq²) a sweep with the Hessian, O(nq) without, O(q³) a factor; q parameters. Usually 3–8 sweeps.
"""

from __future__ import annotations

from dataclasses import replace
from math import expm1, sqrt
from typing import Any

import numpy as np

from separatrix.core.losses import Logistic, Multinomial
from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.interrupts import until_interrupted
from separatrix.problems.bends import products
from separatrix.problems.objective import Evaluation, Objective
from separatrix.problems.plane import knows_planes
from separatrix.problems.stored_cells import pairs_pay, pairs_price, tiles_price
from separatrix.solve.anchor import Anchor, damped_step
from separatrix.solve.outcome import Account, Outcome
from separatrix.verdict.gaps import ROUNDING, decrement_after_step, factorise, range_factor

SAMPLE_ROWS = 40  # sampled rows a parameter: enough that a sampled step is better than none
FEW_SAMPLE_ROWS = 10  # enough for the first steps
LEAST_SAMPLE = 4096  # sampled rows
SMALL_SAMPLE = 20, 2000  # a parameter, and at least, of which a fit with a penalty takes a fourth of its rows
SAMPLE_NOISE = 1.3  # the decrement that a sample's minimum leaves, over the root of parameters a sampled row
ILL_CONDITIONED = 1e-11  # reciprocal condition of H below which the caller should change coordinates
PARABOLA_CONDITIONED = 1e-7  # and where one step has to be exact
DEAR = 5.0  # sweeps without a Hessian that one with it costs, from where they may be slower
CRAWLING = 0.6  # what a step may leave of the decrement then
BACK = 4  # times that a step with a kept factor is shortened before the Hessian is looked at
MOST_KEPT = 30  # steps with one factor, however dear another is
LEAST_DAMPING = 1e-3  # the first to be tried where a step is too long, of the Hessian's mean diagonal
FAR = 0.02  # a decrement from where a step is made as long as the plane of it and the one before says
SPARING = 1.5  # sweeps without a Hessian that one with it costs, from where that pays
SLOW = 0.3  # a step that leaves more than this of the decrement does not converge quadratically
RUNAWAY_AFTER = 6  # such steps before separation is suspected
RUNAWAY = "the weights run away"
FLAT = "the score is zero to rounding"
STUCK = "no step lowers the objective"


def newton(
    account: Account,
    start: FloatArray,
    tol: float,
    max_iter: int,
    *,
    theta: float | None = None,
    warm: bool = False,
    exists: bool = False,
    errors: bool = False,
    doubt: bool = True,
) -> Outcome:
    """Minimise the account's objective from ``start``; ``exists``: a minimum is known to, however slow the way.

    With ``errors`` the outcome brings the evaluation with the Hessian it ended by, for standard errors: the sweep
    that is likely to be the last then takes it along. ``doubt``: a first sample whose columns repeat each other
    ends the attempt, for the caller to look into it.

    ``tol`` is the gap asked for, relative to F; ``theta`` the notes' own rule instead: stop when ‖Δw‖ < θ. With
    ``theta``, or when the path is recorded, every step is the notes' own too: no sampled start, no kept factor.
    Where no bound is known (``range_factor`` is NaN) the estimate ½ν² takes its place, and nothing is proven.
    """
    bend = range_factor(account.objective)
    proven = not np.isnan(bend)
    plain = theta is not None or account.record
    begun = _begin(account, start, bend, warm=warm, plain=plain, doubt=doubt)
    if isinstance(begun, Outcome):
        return begun
    point, at, anchor = begun
    plain = plain or not proven
    always = plain or account.objective.cheap_hessian
    price, measuring = hessian_price(account.objective), leverage_price(account.objective)
    patience = SLOW if price < DEAR else CRAWLING
    first_value = abs(at.value)
    stretches = not plain and _stretches(account.objective)
    moved: FloatArray | None = None
    slow, previous, damping, kept = 0, np.inf, 0.0, 0
    stopped, gap, iterations = "max_iter reached", np.inf, 0
    with until_interrupted() as watch:
        for iterations in range(1, max_iter + 1):
            decrement = anchor.decrement(at.gradient)
            step = anchor.damped_step(at.gradient, damping) if damping else anchor.step(at.gradient)
            gap = anchor.gap(decrement, point, at)
            contraction, previous = decrement / previous if previous > 0 else 0.0, decrement
            near = not plain and gap > tol * abs(at.value) >= anchor.promised(decrement)
            if near and anchor.pays(decrement, contraction, at, price, measuring):
                anchor.sharpen(account)
                gap = anchor.gap(decrement, point, at)
            account.visit(point, at, f"gap {gap:.1e}")
            if kept <= 1:  # the step before was Newton's own: those of a kept factor say nothing of a runaway
                slow = slow + 1 if contraction > patience else 0 if contraction < 0.1 else slow
            stopped = _reason_to_stop(account, anchor, point, at, step, theta, slow, exists)
            if stopped:
                break
            goal = max(tol * abs(at.value), EPS**2 * first_value, anchor.floor(point))
            target = max(goal, ROUNDING * abs(at.value))
            if theta is None:
                free = _free_step(anchor, point, at, decrement, goal)
                if free is not None:
                    (point, at, gap), stopped = free, "gap ≤ tol"
                    account.visit(point, at, f"gap {gap:.1e}")
                    break
                # a gap at rounding level is not yet weights at rounding level: go on while steps still shrink
                left = gap if proven else 0.5 * decrement**2
                met = left <= target and (left <= goal or contraction > 0.5 or decrement < 1e-12)
                if met and not anchor.one_more(left, contraction, target):
                    stopped = "gap ≤ tol" if proven else FLAT
                    break
            order = 2
            if not always:
                ahead = anchor.gap_at(decrement * min(contraction, 1.0), anchor.drift(point, at), at)
                order = _next_order(decrement, contraction, gap, ahead, target, anchor, point, price, kept)
            before, then = point, at
            measure: dict[str, Any] = {}
            if order == 1 and anchor.may_be_last(decrement, contraction, goal):
                if errors:
                    order = 2
                else:
                    measure = anchor.worth_measuring(decrement, contraction, at, point + step)
            stretches = stretches and not damping
            if stretches and decrement > FAR and anchor.fresh(point):
                step = account.best_step(point, step, moved)
            # where F is zero but for rounding, it is rounded as what it is the difference of: as it was to begin with
            noise = anchor.noise(at) + (EPS * first_value if abs(at.value) < 64 * EPS * first_value else 0.0)
            point, at, damping = _descend(
                account, anchor, point, at, step, order, measure, damping, price, plain, noise
            )
            moved = None if point is before else point - before
            if point is before and anchor.fresh(point):
                stopped = STUCK
                break
            if at.hessian is not None:
                anchor, kept = Anchor(point, at, bend, anchor.leverage_near(point, at), anchor.seen), 0
            else:
                kept += 1
                anchor.learn(before, then, point, at)
        else:
            stopped = "max_iter reached"
            account.visit(point, at)
            gap = anchor.gap(anchor.decrement(at.gradient), point, at)
    if watch.interrupted:
        stopped = "interrupted"
    unique = None if anchor.factor.singular or not np.isfinite(gap) else True
    gap = max(gap, ROUNDING * abs(at.value))
    runaway = stopped == RUNAWAY
    floor = anchor.floor(point)
    outcome = Outcome(
        point, at.value, gap, unique, iterations, stopped, _norm(at), runaway=runaway, floor=floor
    )
    return replace(outcome, last=anchor.ended(point, at)) if errors else outcome


def _begin(
    account: Account, start: FloatArray, bend: float, *, warm: bool, plain: bool, doubt: bool
) -> tuple[FloatArray, Evaluation, Anchor] | Outcome:
    """The first point with its evaluation and its Hessian's factor; the end where columns repeat each other."""
    objective, point = account.objective, start.copy()
    anchor: Anchor | None = None
    if not (warm or plain or bend == 0) and objective.proven:
        sampled = _sampled_start(account, point, bend, doubt)
        if sampled is None:
            return Outcome(point, np.inf, np.inf, None, 0, "ill-conditioned", np.inf, ill_conditioned=True)
        point, anchor = sampled
    if anchor is None or np.isnan(bend):
        at = account.evaluate(point, order=2)
        anchor = Anchor(point, at, bend)
    else:
        at = account.evaluate(point)
    logistic = isinstance(objective.loss, (Logistic, Multinomial)) and objective.proven
    if logistic and at.value > (1 + 1e-9) * np.log(objective.n_classes or 2):
        # worse than no weights at all, where the curvature may have vanished: start from the origin instead
        point = objective.zero()
        at = account.evaluate(point, order=2)
        anchor = Anchor(point, at, bend)
    badly = PARABOLA_CONDITIONED if bend == 0 else ILL_CONDITIONED
    if anchor.factor.reciprocal_condition < badly and objective.coordinates.basis is None:
        return Outcome(point, at.value, np.inf, None, 0, "ill-conditioned", _norm(at), ill_conditioned=True)
    return point, at, anchor


def _reason_to_stop(
    account: Account,
    anchor: Anchor,
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
    away = slow >= RUNAWAY_AFTER or at.value < 1e-7 or anchor.factor.singular
    if account.objective.ridge == 0 and not exists and away:
        return RUNAWAY
    if slow >= 3 and anchor.fresh(point) and -np.sum(at.gradient * step) <= 1e-4 * EPS * abs(at.value):
        return "rounding: no further decrease"
    return ""


def _sampled_start(
    account: Account, start: FloatArray, range_factor: float, doubt: bool
) -> tuple[FloatArray, Anchor | None] | None:
    """A few damped steps on a 64th of the rows, then a 16th, then a 4th; and the 4th's factor where it serves.

    None where the first sample already shows columns that repeat each other: those need other coordinates.

    The point only starts the real fit; the factor may carry it, since the rows left out only add curvature.
    """
    objective, theta, anchor, damping = account.objective, start, None, 0.0
    # of many rows the first samples are so thin that a plane's least lies where rare levels have run too far
    stretches = _stretches(objective)
    size, order = int(np.prod(objective.shape)), 1 if hessian_price(objective) >= DEAR else 2
    for stride in (64, 16, 4):
        # where a Hessian is dear, so are the steps that the larger sample is spared by a smaller one, which a penalty
        # keeps from running away
        spared = stride > 4 and order == 1 and objective.ridge > 0
        enough, least = FEW_SAMPLE_ROWS if spared else SAMPLE_ROWS, LEAST_SAMPLE
        if stride == 4 and order == 2 and objective.ridge > 0:
            enough, least = SMALL_SAMPLE
        if objective.rows.lazy or objective.rows.n < stride * max(enough * size, least):
            continue
        noise = max(0.1, SAMPLE_NOISE * sqrt(size * stride / objective.rows.n) if order == 2 else 0.0)
        longer, moved = stretches and stride == 4 and theta is start, None
        at = account.evaluate(theta, order=2, stride=stride)
        longer = longer and account.memo.sample[1] is not None  # else rows are picked anew each time
        assert at.hessian is not None
        if doubt and theta is start and objective.ridge == 0 and objective.coordinates.basis is None:
            factor = factorise(at.hessian)
            if factor.singular or factor.reciprocal_condition < ILL_CONDITIONED:
                return None
        for _ in range(6):
            assert at.hessian is not None
            step = damped_step(at.hessian, at.gradient, max(damping, 1e-5))
            decrement = sqrt(max(-float(np.vdot(at.gradient, step)), 0.0))
            trial = theta + step
            if decrement < max(
                0.1, noise
            ):  # a step from here is below the sample's own noise: take it and leave
                anchor = Anchor(theta, at, range_factor) if stride == 4 else None
                theta = trial
                break
            if longer and not damping:
                trial = theta + account.best_step(theta, step, moved, stride)
            new = account.evaluate(trial, order, stride=stride)
            while not new.value <= at.value and damping < 1e3:
                damping = max(10 * damping, LEAST_DAMPING)
                trial = theta + damped_step(at.hessian, at.gradient, damping)
                new = account.evaluate(trial, order, stride=stride)
            at = new if order == 2 else account.evaluate(trial, order=2, stride=stride)
            moved, theta, damping = trial - theta, trial, 0.1 * damping
    if not (np.isfinite(theta).all() and np.max(np.abs(theta - start)) < 1e3):
        return start, None
    if anchor is not None and (
        anchor.factor.singular or anchor.factor.reciprocal_condition < ILL_CONDITIONED
    ):
        anchor = None  # the sample may have missed a level, or the columns need other coordinates
    return theta, anchor


def _free_step(
    anchor: Anchor, point: FloatArray, at: Evaluation, decrement: float, target: float
) -> tuple[FloatArray, Evaluation, float] | None:
    """Take the factor's step when the bound after it meets the target and F after it is known to rounding."""
    if anchor.share < 1:
        return None  # what the bound after a step speaks of is the step of the whole Hessian
    step = -anchor.solve(at.gradient)
    drift, reach = anchor.drift(point, at), anchor.reach(step, at)
    if not drift + reach < 1:
        return None  # too far for anything to be proven
    after = decrement_after_step(decrement, drift, reach)
    gap = anchor.gap_at(after, drift + reach, at)
    leaves_parabola = decrement**2 * expm1(drift + reach)
    floor = max(ROUNDING * abs(at.value), 1e-3 * target)
    if not (gap <= target and leaves_parabola <= floor):
        return None
    value = at.value - 0.5 * decrement**2
    return point + step, Evaluation(value, np.zeros_like(at.gradient), None, at.radius), max(gap, floor)


def _next_order(
    decrement: float,
    contraction: float,
    gap: float,
    ahead: float,
    target: float,
    anchor: Anchor,
    point: FloatArray,
    price: float,
    kept: int,
) -> int:
    """2 when a new Hessian is the cheaper way to the target, else 1; a Hessian costs ``price`` sweeps without.

    ``kept`` steps were taken with the factor in hand; ``ahead`` is the gap that one more is likely to leave. Far from
    the target, where nothing is known of what a new one brings, as much is spent on such steps as it costs: at worst
    twice what was needed.
    """
    if decrement > 0.3 or contraction > (SLOW if price < DEAR else CRAWLING):
        return 1 if price >= DEAR and kept < min(price, MOST_KEPT) else 2
    if anchor.fresh(point):
        return 1  # try the factor once: its contraction is then known
    if 2 * decrement**2 <= anchor.share * target < anchor.share * min(gap, ahead):
        return 2  # close enough, but the old Hessian is too far away to prove it
    rate = min(max(contraction, 1e-6), 0.9)
    wanted = np.sqrt(2 * target * anchor.share) / decrement
    steps_with_old = np.log(max(wanted, 1e-16)) / np.log(rate)
    return 1 if steps_with_old <= price + 2 else 2


def _descend(
    account: Account,
    anchor: Anchor,
    theta: FloatArray,
    at: Evaluation,
    step: FloatArray,
    order: int,
    measure: dict[str, Any],
    damping: float,
    price: float,
    plain: bool,
    noise: float,
) -> tuple[FloatArray, Evaluation, float]:
    """(θ + d with F lower than before, to the noise of its sum; F there; the damping to begin the next step with).

    The notes' own way is α = 1, ½, ¼ … of the step. But where one level of a factor has run too far, so does the step
    in its direction, and all others would wait for it: the step is damped instead (Levenberg and Marquardt), and
    those that follow a tenth as much each.
    """
    slack, scale, less, wanted = 4 * noise, 1.0, 0.1 * damping if damping > LEAST_DAMPING else 0.0, order
    dear, stale = price >= DEAR and not plain, not (plain or anchor.fresh(theta))
    # without a penalty a sample knows nothing of the levels that it missed
    trusted = dear and (anchor.share == 1 or account.objective.ridge > 0)
    if dear:
        order = 1  # a trial that fails costs no Hessian
    for tried in range(40):
        trial = theta + scale * step
        new = account.evaluate(trial, order, **measure)
        slope = scale * float(np.vdot(at.gradient, step))
        if new.value <= at.value + 1e-4 * slope + slack:
            return trial, (new if order == wanted else account.evaluate(trial, wanted)), less
        if stale and not (trusted and tried < BACK):
            break  # a Hessian of another place, or of a sample: look at this one's first
        if stale:  # the least of the parabola through both values, within reason
            over = new.value - at.value - slope
            scale *= min(max(-0.5 * slope / over, 0.1), 0.5) if over < np.inf else 0.1
        elif plain:
            scale *= 0.5
        else:  # a trial that may fail again; where it does not, a Hessian that knows the place
            order, wanted = (1 if dear else 2), 2
            damping = max(10 * damping, LEAST_DAMPING)
            step, less = anchor.damped_step(at.gradient, damping), 0.1 * damping
    return theta, account.evaluate(theta, 2), damping


def hessian_price(objective: Objective) -> float:
    """What a sweep with the Hessian costs, in sweeps without: its products of a row more, by BLAS."""
    if _by_pairs(objective):
        return pairs_price(objective.rows.source)
    q, k = objective.shape[0], objective.n_classes or 1
    return 1.0 + products(q, objective.n_classes) / (4.0 * _without(q, k))


def _stretches(objective: Objective) -> bool:
    """Whether steps of the best length on a plane spare Hessians that cost more than to find it."""
    return knows_planes(objective) and not objective.cheap_hessian and hessian_price(objective) >= SPARING


def leverage_price(objective: Objective) -> float:
    """What measuring the leverage costs, in sweeps without a Hessian: one product a row, whatever the classes."""
    q, k = objective.shape[0], objective.n_classes or 1
    if _by_pairs(objective):
        return 1.0 + tiles_price(objective.rows.source, q)
    return 1.0 + 3.0 * q**2 / (4.0 * _without(q, k))


def _by_pairs(objective: Objective) -> bool:
    """Whether the Hessian comes by pairs of stored cells."""
    rows = objective.rows
    return rows.sparse and objective.n_classes is None and pairs_pay(rows.source, objective.shape[0])


def _without(q: int, k: int) -> float:
    return 4.0 * q * k + 40.0 * k + 8.0 * q


def _user_step(account: Account, theta: FloatArray, step: FloatArray) -> FloatArray:
    before, b0 = account.objective.to_user(theta)
    after, b1 = account.objective.to_user(theta + step)
    return np.append((after - before).ravel(), np.ravel(b1 - b0))


def _norm(at: Evaluation) -> float:
    return sqrt(float(np.vdot(at.gradient, at.gradient)))
