"""How far a proportional-odds fit is from its minimum at most: the curvature bound of ordered classes.

**Claim.** With H the Hessian of F at (t, τ), δ_k = τ_k − τ_{k−1} and

    r = max( max_i √((e_k − z_i)ᵀ H⁻¹ (e_k − z_i)),   max_k coth(δ_k/2) √(u_kᵀ H⁻¹ u_k) ),     u_k = e_k − e_{k−1},

i over the rows and k over the thresholds beside their class, let ν² = ∇Fᵀ H⁻¹ ∇F and x = r ν. If x < 1, F has one
minimum, and   F − min F ≤ ν² (x + (1 − x) log(1 − x)) / x².

**Proof.** −log P of a row of class k is φ(b) + φ(−a) + g(δ_k), with φ(s) = log(1 + e⁻ˢ) and g(δ) = −log(1 − e^{−δ})
(core/cumulative.py), so H is a sum of terms f''(c·v) c cᵀ, f ∈ {φ, g}, and the parabola of the penalty. Now

    φ''(s + h) ≥ e^{−|h|} φ''(s),              for φ'' = σ(s) σ(−s) has |(log φ'')'| ≤ 1;
    g''(δ + h) ≥ e^{−coth(δ/2) max(h, 0)} g''(δ),   for g'' = 1/(4 sinh²(δ/2)) falls, with (log g'')' = −coth(δ/2),
                                               which rises with δ;

and a parabola keeps its curvature. A step d changes the argument c·v by c·d, and |c·d| ≤ √(cᵀH⁻¹c) ‖d‖_H. So every
term, and H with them, keeps the share e^{−r‖d‖_H} of its curvature, as far as thresholds keep their order; where they
do not, F = +∞. Along any d, then, with y = ‖d‖_H,  F(v + d) ≥ F(v) − ν y + (e^{−ry} + ry − 1)/r². This grows without
bound in y if rν < 1, so a minimum exists, H is positive there, and the least of the right-hand side is the claim. ∎

**With a penalty**, and columns too many for H, the dual serves. φ(s) = max_α −αs − h(α) over 0 ≤ α ≤ 1, and
g(δ) = max_u −uδ − g°(u) over u ≥ 0, with h(α) = α log α + (1−α) log(1−α) and g°(u) = u log u − (1+u) log(1+u). So for
any α_i (rows below a threshold), α'_i (above one) and u_k that leave no slope in τ, that is with U_k = W_k u_k,
A_k = Σ_{y=k} s α and B_k = Σ_{y=k} s α':    U_{k+1} = U_k + A_k − B_{k+1} ≥ 0 from U_1 = 0 on to U_K = 0,

    min F ≥ −(1/W) [Σ s h(α) + Σ s h(α') + Σ_k W_k g°(u_k)] − ‖q‖²/(2λ),      q = (1/W) Σ s (α − α') x

The slopes of a point are such α and α' but for their sums: the larger of ΣA and ΣB is brought down to the other by a
factor ρ ≤ 1, and h(ρα) ≤ ρ h(α) for h is convex with h(0) = 0. U follows from A and B.

Other links have no such bounds here: what they claim is that the score vanishes.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.numerics import FloatArray, xlogx
from separatrix.problems.objective import Evaluation
from separatrix.problems.ordinal import OrdinalObjective
from separatrix.problems.ordinal_sides import dual_sums
from separatrix.verdict.gaps import ROUNDED_UP, ROUNDING, Certificate, Factor, curvature_gap, factorise

FEW_THRESHOLDS = 200  # up to which each is solved for
HESSIAN_LIMIT = 3000  # parameters up to which a Hessian is formed
HOPELESS = 1e-2  # of F, that the weights alone leave: no sweep is spent on the dual
SETTLED = 1e-6  # of F, up to which the slopes of thresholds are near enough to nothing


def ordinal_gap(
    objective: OrdinalObjective, point: FloatArray, at: Evaluation, factor: Factor, decrement: float
) -> float:
    """The bound at a point whose Hessian has this factor; inf where nothing is proven."""
    if not objective.proven or factor.singular:
        return np.inf
    trace = ROUNDED_UP * factor.inverse_trace
    rows = np.sqrt((1.0 + at.radius**2) * trace)
    return curvature_gap(decrement, max(float(rows), _between_thresholds(objective, point, factor, trace)))


def _between_thresholds(
    objective: OrdinalObjective, point: FloatArray, factor: Factor, trace: float
) -> float:
    """max_k coth(δ_k/2) √(u_kᵀ H⁻¹ u_k); by the trace where thresholds are many."""
    size = objective.coordinates.size
    apart = np.diff(point[size:])
    if not len(apart):
        return 0.0
    steep = 1.0 / np.tanh(0.5 * apart)
    if len(apart) > FEW_THRESHOLDS:
        return float(steep.max() * np.sqrt(2.0 * trace))
    places = size + np.arange(len(apart))
    u = np.zeros((len(point), len(apart)))
    u[places, np.arange(len(apart))], u[places + 1, np.arange(len(apart))] = -1.0, 1.0
    solved = np.column_stack([factor.solve(np.ascontiguousarray(column)) for column in u.T])
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", u, solved), 0.0))
    return ROUNDED_UP * float(np.max(steep * lengths))


class OrdinalDual:
    """The dual bound of one objective; inf without a ridge, for another link, and far from the minimum."""

    def __init__(self, objective: OrdinalObjective):
        self.objective = objective
        self.covers = objective.ridge > 0 and objective.proven

    def gap(self, theta: FloatArray, at: Evaluation) -> tuple[float, float]:
        """(the bound, what it would be were thresholds at their optimum: ½‖∇_w F‖²/λ)."""
        if not self.objective.ridge > 0:
            return np.inf, np.inf
        size, (slope, ends) = abs(at.value), self.objective.split(at.gradient)
        weights_only = 0.5 * self.objective.coordinates.penalty_dual(slope) / self.objective.ridge
        if not self.covers or weights_only > HOPELESS * size or np.abs(ends).sum() > SETTLED * size:
            return np.inf, weights_only
        return max(self._bound(theta, at), 0.0), weights_only

    def _bound(self, theta: FloatArray, at: Evaluation) -> float:
        objective = self.objective
        sums, W = dual_sums(objective, theta), objective.total_weight
        A, B = sums.below, sums.above
        common = min(A.sum(), B.sum())
        if not common > 0:
            return np.inf
        fewer_below, fewer_above = common / A.sum(), common / B.sum()
        U = np.cumsum(fewer_below * A[:-1] - fewer_above * B[1:])[:-1]
        if (U < 0).any():
            return np.inf
        inside = objective.class_weights[1:-1]
        u = U / inside
        held = float(inside @ (xlogx(u) - xlogx(1.0 + u)))
        q = (fewer_below * sums.pull_below - fewer_above * sums.pull_above) / W
        dual = -(fewer_below * sums.entropy_below + fewer_above * sums.entropy_above + held) / W
        dual -= 0.5 * objective.coordinates.penalty_dual(q) / objective.ridge
        return sums.value / W + at.penalty - dual


def certify_ordinal(objective: OrdinalObjective, point: FloatArray) -> Certificate:
    """What the data prove of a point, from scratch: one sweep, or two where columns are many."""
    if objective.ridge > 0 and objective.shape[0] > HESSIAN_LIMIT:
        at = objective.evaluate(point)
        gap = max(OrdinalDual(objective).gap(point, at)[0], ROUNDING * abs(at.value))
        return Certificate(at.value, gap, True, True, float(np.linalg.norm(at.gradient)), 2)
    at = objective.evaluate(point, order=2)
    if not np.isfinite(at.value):
        return Certificate(np.inf, np.inf, None, None, np.inf, 1)
    assert at.hessian is not None
    factor = factorise(at.hessian)
    decrement = float(np.sqrt(max(float(at.gradient @ factor.solve(at.gradient)), 0.0)))
    gap = ordinal_gap(objective, point, at, factor, decrement)
    left = np.inf if factor.singular else 0.5 * decrement**2
    sweeps = 1
    if objective.ridge > 0 and not gap <= ROUNDING * abs(
        at.value
    ):  # H is flat, or columns differ much in size
        dual, weights_only = OrdinalDual(objective).gap(point, at)
        gap, sweeps = min(gap, dual), 2
        if np.abs(objective.split(at.gradient)[1]).sum() <= SETTLED**2 * abs(at.value):
            left = min(left, weights_only)
    positive = (objective.ridge > 0 or not factor.singular) and left <= 1e-9 * abs(at.value)
    unique = True if np.isfinite(gap) or (positive and not objective.proven) else None
    exists = True if np.isfinite(gap) or objective.ridge > 0 else None
    return Certificate(
        at.value,
        max(gap, ROUNDING * abs(at.value)),
        exists,
        unique,
        float(np.linalg.norm(at.gradient)),
        sweeps,
        left,
    )
