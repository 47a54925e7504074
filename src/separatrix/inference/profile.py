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

from separatrix.core.numerics import FloatArray
from separatrix.data.objective import Evaluation, Objective
from separatrix.verdict.gaps import factorise

STEPS = 200
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
    point, now = theta, at
    scale = abs(at.value) + 1.0 / objective.total_weight
    first, last = True, np.inf
    for _ in range(STEPS):
        assert now.hessian is not None
        solve = factorise(now.hessian).solve
        g = now.gradient.T.ravel()
        q = np.column_stack([solve(row) for row in a])
        p = solve(g)
        miss = a @ point.T.ravel() - r
        bars = np.linalg.solve(a @ q, np.column_stack([a @ p, miss]))
        d = -p + q @ bars[:, 0]
        left = float(max(-(d @ g), 0.0))
        settled = left <= STILL * scale or (
            left <= 1e-12 * scale and left >= 0.5 * last
        )  # the rest is rounding
        if not first and settled:
            return Constrained(point, now, True)
        last = np.inf if first else left
        if first:  # onto the constraint, where a parabola would have its minimum
            d = d - q @ bars[:, 1]
        step = d.reshape(point.shape[::-1]).T
        found = _lower(objective, point, now, step, left, anywhere=first)
        if found is None:
            return Constrained(point, now, not first and left <= 1e-12 * scale)
        point, now = found
        first = False
    return Constrained(point, now, False)


def _lower(
    objective: Objective, point: FloatArray, now: Evaluation, step: FloatArray, left: float, *, anywhere: bool
) -> tuple[FloatArray, Evaluation] | None:
    """A point along the step with a lower F (the first step only has to end where F is finite)."""
    size = 1.0
    slack = 4e-16 * abs(now.value)
    for _ in range(40):
        trial = point + size * step
        new = objective.evaluate(trial, order=2)
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

    ``a`` meets θ.T.ravel(). NaN where the search did not settle.
    """
    level = at.value + rise
    point, now = theta, at
    best, stuck = float(a @ theta.T.ravel()), 0
    for count in range(STEPS):
        assert now.hessian is not None
        solve = factorise(now.hessian).solve
        g = now.gradient.T.ravel()
        p, q = solve(g), solve(a)
        along = float(a @ q)
        room = level - now.value + 0.5 * float(g @ p)
        if not along > 0:
            return sign * np.inf
        if room > 0:
            bar = sign * np.sqrt(2.0 * room / along)
            d = -p + bar * q
        else:  # too far out: back towards the profile's ridge first
            d = -p + q * float(a @ p) / along
        tangent = g - a * (float(a @ p) / along)
        off = 0.5 * float(tangent @ solve(tangent))
        here = float(a @ point.T.ravel())
        if count and abs(now.value - level) <= 1e-12 * rise and off <= 1e-12 * rise:
            return here
        stuck = stuck + 1 if abs(here - best) <= 1e-15 * (abs(here) + abs(best)) else 0
        if stuck > 3 and abs(now.value - level) <= 1e-8 * rise:
            return here
        best = here
        step = d.reshape(point.shape[::-1]).T
        size = 1.0
        for _ in range(30):
            trial = point + size * step
            new = objective.evaluate(trial, order=2)
            if np.isfinite(new.value) and new.value <= level + max(3.0 * rise, 2.0 * (now.value - level)):
                break
            size *= 0.5
        else:
            return np.nan
        point, now = trial, new
        if count > 60 and now.value < level and abs(here) > 1e3 * (1.0 + abs(float(a @ theta.T.ravel()))):
            return sign * np.inf
    return np.nan
