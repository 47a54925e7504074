"""How far from the minimum at most: bounds that need the data and the parameters, never the solver's word.

**Curvature bound.** For the logistic and multinomial losses the third derivative along a direction d is
at most max_i range(z_i·d) times the second (a bounded variable's third cumulant is at most its range
times its variance). Hence H(θ + d) ⪰ e^{−m(d)} H(θ) with m(d) = max_i range(z_i·d) ≤ r ‖d‖_H, and with
Newton's decrement ν² = gᵀH⁻¹g, if x = r ν < 1:

    a minimum exists, it is unique, and     F(θ) − min F ≤ ν² (x + (1−x) log(1−x)) / x²   →  ½ν²

    r = c · max_i ‖z_i‖ / √λ_min(H),   c = 1 (two classes), √2 (K classes), 0 (squared loss: exact)

That a minimum exists is a conclusion, not an assumption: on unpenalised data it proves overlap.

**Fenchel bound.** With a ridge, dual weights P' = (1−ε)P + εq, feasible for the intercept (q chosen so that
P' has the class shares of the data), give min F ≥ D, and F − D in closed form from the gradient g alone:

    ½ ‖g_t + ε(∇L₀ − ∇L)‖²_{M⁻¹} + ε(L − H(q) − ∇L₀·t) + (1−ε) g_b·b,      M = the penalty's matrix

where L is the mean loss at θ, ∇L₀ its gradient at zero, H(q) the entropy of q. Cost O(pK).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, expm1, log1p

import numpy as np

from separatrix.core.losses import Logistic, Multinomial
from separatrix.core.numerics import EPS, FloatArray, xlogx
from separatrix.problems.objective import Evaluation, Objective

FAR = 300.0  # a change of score beyond which nothing is proven anyway; keeps the exponentials finite
ROUNDED_UP = 1.001  # solutions in a factor are rounded, by no more than this where it is not singular
ROUNDING = 64 * EPS  # no bound is claimed below this share of the objective: sums are rounded


@dataclass(frozen=True)
class Factor:
    """H = LLᵀ (or its eigenvectors when H is singular to rounding), ready to solve."""

    solve: Callable[[FloatArray], FloatArray]
    inverse_trace: float  # ≥ 1 / λ_min
    singular: bool
    reciprocal_condition: float


def factorise(hessian: FloatArray) -> Factor:
    """Cholesky where it holds, else the eigenvalues above rounding (the least step of all that solve)."""
    from scipy.linalg import lapack

    chol, info = lapack.dpotrf(hessian, lower=1, clean=1)
    if info == 0:
        inverse, info = lapack.dpotri(chol, lower=1)
        trace = float(np.trace(inverse))
        reciprocal = 1.0 / (trace * float(np.trace(hessian)))
        if info == 0 and np.isfinite(trace) and reciprocal > 4 * EPS / len(hessian):
            return Factor(lambda g: lapack.dpotrs(chol, g, lower=1)[0], trace, False, reciprocal)
    values, vectors = np.linalg.eigh(hessian)
    top = float(values[-1])
    keep = values > len(values) * EPS * top
    vectors, kept = vectors[:, keep], values[keep]

    def solve(g: FloatArray) -> FloatArray:
        return vectors @ ((vectors.T @ g) / kept)

    least = float(values[0])
    trace = float(np.sum(1.0 / values)) if least > 0 else np.inf
    return Factor(solve, trace, not keep.all(), max(least, 0.0) / top if top > 0 else 0.0)


def range_factor(objective: Objective) -> float:
    """c of the curvature bound; NaN for an objective it does not cover."""
    return objective.loss.bend if objective.proven else np.nan


def curvature_gap(decrement: float, range_: float) -> float:
    """ν² (x + (1−x) log(1−x)) / x² with x = r ν; inf when x ≥ 1 (or unknown): nothing is proven.

    >>> curvature_gap(1e-3, 0.0)
    5e-07
    >>> curvature_gap(1.0, 2.0)
    inf
    """
    x = decrement * range_
    if not x < 1.0:
        return np.inf
    if x < 1e-4:  # the series, where the closed form cancels
        return decrement**2 * (0.5 + x / 6.0 + x * x / 12.0)
    return float(decrement**2 * (x + (1.0 - x) * log1p(-x)) / x**2)


def stale_curvature_gap(decrement: float, range_: float, drift: float) -> float:
    """The bound at θ when H was taken ``drift`` = max score change away: H(θ) ⪰ e^{−drift} H."""
    inflate = exp(0.5 * min(drift, FAR))
    return curvature_gap(decrement * inflate, range_ * inflate)


def decrement_after_step(decrement: float, drift: float, reach: float) -> float:
    """Bound on ν (in the norm of the stale H) after a full step whose scores move by ``reach`` at most.

    The residual of the step is (H(θ) − H)d plus the integral of the change of H along d.
    """
    reach, drift = min(reach, FAR), min(drift, FAR)
    bend = reach / 2 * (1 + reach) if reach < 1e-3 else (expm1(reach) - reach) / reach
    return decrement * (expm1(drift) + exp(drift) * bend)


class FenchelBound:
    """The Fenchel bound of one objective at any θ (see the module); inf without a ridge or for another loss.

    Only norms of long vectors are taken: with ε small, its terms are bounded by Cauchy–Schwarz.
    """

    def __init__(self, objective: Objective, at_zero: Evaluation):
        self.objective = objective
        self.covers = objective.ridge > 0 and isinstance(objective.loss, (Logistic, Multinomial))
        self.start = self._size(at_zero) if self.covers else np.inf
        self.shares = class_shares(objective) if self.covers else np.empty(0)

    def gap(self, theta: FloatArray, at: Evaluation) -> tuple[float, float]:
        """(the bound, what it would be were the intercept's slope zero: ½‖∇_w F‖²/λ)."""
        if not self.covers:
            return np.inf, np.inf
        size = self._size(at)
        weights_only = 0.5 * size**2
        if not self.objective.fit_intercept:
            return weights_only, weights_only
        b = self.objective.split(theta)[1]
        g_b = at.gradient[-1] / self.objective.coordinates.lift
        epsilon, entropy = _feasible_mixture(self.objective, self.shares, g_b)
        if not epsilon < 1:
            return np.inf, weights_only
        reach = float(np.sqrt(2 * at.penalty))  # ‖t‖ in the penalty's norm
        gap = 0.5 * (size + epsilon * (self.start + size + reach)) ** 2
        gap += epsilon * max(at.value - at.penalty - entropy + self.start * reach, 0.0)
        gap += (1 - epsilon) * float(np.sum(g_b * b))
        return max(float(gap), 0.0), weights_only

    def _size(self, at: Evaluation) -> float:
        """‖∇_w F‖/√λ in the user's units."""
        g = self.objective.split(at.gradient)[0]
        return float(np.sqrt(self.objective.coordinates.penalty_dual(g) / self.objective.ridge))


def class_shares(objective: Objective) -> FloatArray:
    """The weighted share of each class: (K,)."""
    rows = objective.rows
    codes = (rows.y > 0).astype(np.intp) if objective.n_classes is None else rows.y
    totals = np.bincount(codes, rows.weight, minlength=objective.n_classes or 2)
    return totals / totals.sum()


def _feasible_mixture(objective: Objective, shares: FloatArray, g_b: FloatArray) -> tuple[float, float]:
    """Least ε for which q = p̄ + (ȳ − p̄)/ε is a distribution, and the entropy of that q."""
    excess = np.array([-g_b, g_b]) if objective.class_basis is None else objective.class_basis @ g_b
    mean = shares + excess  # p̄: the mean predicted probability of each class
    if not np.all(mean > 0):
        return 1.0, 0.0
    epsilon = float(np.max(excess / mean, initial=0.0))
    if epsilon <= 0:
        return 0.0, 0.0
    q = np.maximum(mean - excess / epsilon, 0.0)
    return epsilon, -float(xlogx(q / q.sum()).sum())


@dataclass(frozen=True)
class Certificate:
    """What the data prove of θ: F, a bound on its distance from min F, existence and uniqueness."""

    objective: float
    gap: float
    exists: bool | None
    unique: bool | None
    gradient_norm: float
    sweeps: int
    left: float = np.inf  # ½ν², what a parabola through θ says of the distance; proves nothing


def certify(objective: Objective, theta: FloatArray, *, hessian_limit: int = 3000) -> Certificate:
    """The best bound at θ from scratch: two or three sweeps, nothing taken on trust."""
    q = int(np.prod(objective.shape))
    if q <= hessian_limit and (not objective.rows.sparse or q <= 1000):
        at = objective.evaluate(theta, order=2)
        assert at.hessian is not None
        g = at.gradient.T.ravel()
        factor = factorise(at.hessian)
        c = range_factor(objective)
        decrement = float(np.sqrt(max(float(g @ factor.solve(g)), 0.0)))
        curvature = np.inf
        if not factor.singular:
            curvature = curvature_gap(decrement, c * at.radius * float(np.sqrt(factor.inverse_trace)))
            if (
                not curvature <= decrement**2
            ):  # not yet what it is where scores move little: measure how far they do
                inverse = factor.solve(np.eye(q))
                leverage = ROUNDED_UP * objective.leverage(inverse)
                curvature = min(curvature, curvature_gap(decrement, c * leverage))
        left = np.inf if factor.singular else 0.5 * decrement**2
    else:
        at, curvature, left = objective.evaluate(theta), np.inf, np.inf
    fenchel = np.inf
    if objective.ridge:
        fenchel, _ = FenchelBound(objective, objective.evaluate(objective.zero())).gap(theta, at)
    gap = min(curvature, fenchel)
    proven = np.isfinite(gap)
    exists = True if proven or objective.ridge > 0 else None
    return Certificate(
        at.value, max(gap, ROUNDING * abs(at.value)), exists,
        True if np.isfinite(curvature) or objective.ridge > 0 else None, float(np.linalg.norm(at.gradient)),
        2 if objective.ridge else 1, left,
    )  # fmt: skip
