"""Maxima under constraints:  min F(θ) subject to Aθ = r, and the ends of a likelihood interval.

    step under constraints    d = −p + Q (A Q)⁻¹ A p,      p = H⁻¹g,  Q = H⁻¹Aᵀ
    end of an interval        a·θ → max subject to F(θ) = F̂ + Δ;   d = −p + λq,  λ² = 2(F̂ + Δ − F + ½ g·p)/(a·q)

The second is Venzon and Moolgavkar's (1988): one Newton sequence an end, instead of a search over refitted models.
Both stop where they should whatever positive definite H is used, so Fisher's expected information and Firth's
objective serve too. Notes [6867] 3.2.3; row D8. Cost: 3–8 sweeps with the Hessian, O(nq²) each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.problems.objective import Evaluation, Memo, Objective
from separatrix.verdict.gaps import factorise

STEPS = 200
QUICK = 25  # steps after which the direct way to an interval's end is given up for a search
STILL = 1e-20  # ½ν² under the constraint, relative to the scale of F, at which it is met


@dataclass(frozen=True)
class Constrained:
    """The minimum under Aθ = r: θ, F and its derivatives there, and whether it was reached."""

    theta: FloatArray
    at: Evaluation
    reached: bool


def constrained_minimum(
    objective: Objective, theta: FloatArray, at: Evaluation, a: FloatArray, r: FloatArray
) -> Constrained:
    """min F subject to Aθ = r, from the unconstrained minimum θ; A (c, k) meets θ.T.ravel()."""
    point, now, memo = theta, at, Memo()
    first, last = True, np.inf
    for _ in range(STEPS):
        assert now.hessian is not None
        if not np.isfinite(now.hessian).all():
            return Constrained(point, now, False)
        solve = factorise(now.hessian).solve
        g = now.gradient.T.ravel()
        q = np.column_stack([solve(row) for row in a])
        p = solve(g)
        miss = a @ point.T.ravel() - r
        try:
            bars = np.linalg.solve(a @ q, np.column_stack([a @ p, miss]))
        except np.linalg.LinAlgError:  # no curvature left along the constraint
            return Constrained(point, now, False)
        d = -p + q @ bars[:, 0]
        left, scale = max(-float(d @ g), 0.0), abs(now.value)
        settled = left <= STILL * scale or (
            left <= 1e-12 * scale and left >= 0.5 * last
        )  # the rest is rounding
        if not first and settled:
            return Constrained(point, now, True)
        last = np.inf if first else left
        if first:  # onto the constraint, where a parabola would have its minimum
            d = d - q @ bars[:, 1]
        step = d.reshape(point.shape[::-1]).T
        found = _lower(objective, memo, point, now, step, left, anywhere=first)
        if found is None:
            return Constrained(point, now, not first and left <= 1e-12 * scale)
        point, now = found
        first = False
    return Constrained(point, now, False)


def _lower(
    objective: Objective,
    memo: Memo,
    point: FloatArray,
    now: Evaluation,
    step: FloatArray,
    left: float,
    *,
    anywhere: bool,
) -> tuple[FloatArray, Evaluation] | None:
    """A point along the step with a lower F (the first step only has to end where F is finite)."""
    size = 1.0
    slack = 4e-16 * abs(now.value)
    for _ in range(40):
        trial = point + size * step
        new = objective.evaluate(trial, order=2, memo=memo)
        if np.isfinite(new.value) and (anywhere or new.value <= now.value - 1e-4 * size * left + slack):
            return trial, new
        if anywhere:
            return None  # half a step is not on the constraint
        size *= 0.5
    return None


def interval_end(
    objective: Objective, theta: FloatArray, at: Evaluation, a: FloatArray, rise: float, sign: int
) -> float:
    """The largest (sign +1) or least (−1) a·θ with F(θ) ≤ F̂ + rise; ±inf where F never rises that far.

    ``a`` meets θ.T.ravel(). NaN where neither way settles, which rounding can do.
    """
    found = np.nan
    if objective.proven:  # else the profile may have several valleys, and the direct way sees one
        found = _by_newton(objective, theta, at, a, rise, sign)
    return _by_search(objective, theta, at, a, rise, sign) if np.isnan(found) else found


def _by_newton(
    objective: Objective, theta: FloatArray, at: Evaluation, a: FloatArray, rise: float, sign: int
) -> float:
    """Venzon and Moolgavkar's sequence; NaN where it does not settle within a few steps."""
    level = at.value + rise
    point, now, memo = theta, at, Memo()
    for count in range(QUICK):
        assert now.hessian is not None
        solve = factorise(now.hessian).solve
        g = now.gradient.T.ravel()
        p, q = solve(g), solve(a)
        along = float(a @ q)
        room = level - now.value + 0.5 * float(g @ p)
        if not along > 0:
            return np.nan
        tangent = g - a * (float(a @ p) / along)
        off = 0.5 * float(tangent @ solve(tangent))
        if count and abs(now.value - level) <= _near(at, now, rise) and off <= _near(at, now, rise):
            return float(a @ point.T.ravel())
        # where even the lowest point in reach lies above the level: back onto the ridge of the profile first
        bar = sign * np.sqrt(2.0 * room / along) if room > 0 else float(a @ p) / along
        point = point + (bar * q - p).reshape(point.shape[::-1]).T
        now = objective.evaluate(point, order=2, memo=memo)
        if not (np.isfinite(now.value) and now.value <= level + 10.0 * rise):
            return np.nan
    return np.nan


def _near(at: Evaluation, now: Evaluation, rise: float) -> float:
    """How near F + rise is near enough: far below the rise, and not below what rounding lets be seen."""
    assert now.hessian is not None
    noise = EPS * (at.value + float(np.sqrt(2.0 * abs(at.value) * np.max(np.diag(now.hessian)))))
    return max(1e-11 * rise, min(16.0 * noise, 1e-3 * rise))


def _by_search(
    objective: Objective, theta: FloatArray, at: Evaluation, a: FloatArray, rise: float, sign: int
) -> float:
    """The same by refitting with a·θ held at trial values: bracketed, then by the secant of the signed root."""
    assert at.hessian is not None
    centre = float(a @ theta.T.ravel())
    width = float(np.sqrt(2.0 * rise * float(a @ factorise(at.hessian).solve(a))))
    point, now = theta, at  # inside the interval: a fit held further out starts from here

    def excess(held: Constrained) -> float:
        """√(profile rise / rise) − 1, nearly linear in the distance."""
        return float(np.sqrt(max(held.at.value - at.value, 0.0) / rise)) - 1.0

    low, high, stride = 0.0, np.inf, 0.5 * width
    f_low, f_high = -1.0, np.nan
    for _ in range(120):
        if high < np.inf:
            middle = low - f_low * (high - low) / (f_high - f_low)
            inside = low + 0.02 * (high - low) < middle < high - 0.02 * (high - low)
            distance = min(middle if inside else 0.5 * (low + high), low + stride)
        else:
            distance = low + stride
        value = np.array([centre + sign * distance])
        held = constrained_minimum(objective, point, now, a[None, :], value)
        if not objective.proven:
            other = constrained_minimum(objective, theta, at, a[None, :], value)
            held = min((h for h in (held, other) if h.reached), key=lambda h: h.at.value, default=held)
        if not held.reached:  # too long a stride
            stride *= 0.25
            if stride <= 1e-10 * (low + width):
                return np.nan
            continue
        f = excess(held)
        if abs(f) <= max(1e-10, 0.5 * _near(at, held.at, rise) / rise) or 0 < high - low <= 1e-13 * low:
            return centre + sign * distance
        if f < 0:
            low, f_low, stride = distance, f, 2.0 * stride
            point, now = held.theta, held.at
        else:
            high, f_high = distance, f
        if low > 1e8 * width:
            return sign * np.inf
    return np.nan
