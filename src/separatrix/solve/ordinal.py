"""Newton's method for ordered classes: (t, τ) ← (t, τ) − α H⁻¹∇F, stopped by a proven gap (verdict/ordinal.py).

F is convex and +∞ where two thresholds meet, so a step goes at most nine tenths of the way to where they would, and
is halved while F does not fall. H is taken at every step: thresholds and weights are few, and six steps do.
Cost: O(np² + npK) a step, O((p + K)³) a factor. Where columns are too many for that, L-BFGS, stopped by the dual
bound: O(np) or O(nnz) a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from separatrix.core.cumulative import CumulativeLink
from separatrix.core.numerics import EPS, FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.interrupts import until_interrupted
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import (
    BlindOutside,
    Coordinates,
    diagonal_coordinates,
    row_span,
    singular_coordinates,
    standard_span,
)
from separatrix.problems.objective import Evaluation
from separatrix.problems.ordinal import OrdinalObjective
from separatrix.solve.lbfgs import lbfgs
from separatrix.solve.linear import FEW, WIDE_ROWS
from separatrix.solve.newton import FLAT, ILL_CONDITIONED, RUNAWAY, RUNAWAY_AFTER, SLOW, STUCK
from separatrix.solve.outcome import Account, Outcome
from separatrix.solve.registry import LBFGS, NEWTON
from separatrix.verdict.gaps import ROUNDING, Factor, factorise
from separatrix.verdict.ordinal import HESSIAN_LIMIT, OrdinalDual, ordinal_gap

TOWARDS = 0.9  # of the way to where two thresholds would meet
HALVED = 40  # times at most
SPARSE_LIMIT = 1000  # columns of sparse rows up to which tiles are made dense for a Hessian
MEAN_CURVATURE = 0.25  # of −log P in the score, to the order of magnitude
CERTAIN = 1e-7  # of F, below which all rows are as sure as makes no difference


def ordinal_newton(
    account: Account, start: FloatArray, tol: float, max_iter: int, *, exists: bool = False
) -> Outcome:
    """Minimise the account's objective from ``start``, where thresholds are in order; ``tol`` is the gap asked for,
    relative to F. ``exists``: a minimum is known to, so slow progress is no sign of separated classes."""
    objective: OrdinalObjective = account.objective  # type: ignore[assignment]
    exists = exists or objective.ridge > 0
    point, at = start.copy(), account.evaluate(start, 2)
    stopped, previous, slow, gap, iterations = "max_iter reached", np.inf, 0, np.inf, 0
    factor: Factor | None = None
    with until_interrupted() as watch:
        for iterations in range(1, max_iter + 1):
            assert at.hessian is not None
            factor = factorise(at.hessian)
            badly = factor.reciprocal_condition < ILL_CONDITIONED and objective.coordinates.basis is None
            if iterations == 1 and badly:
                return Outcome(
                    point, at.value, np.inf, None, 0, "ill-conditioned", np.inf, ill_conditioned=True
                )
            step = -factor.solve(at.gradient)
            decrement = sqrt(max(-float(at.gradient @ step), 0.0))
            gap = ordinal_gap(objective, point, at, factor, decrement)
            account.visit(point, at, f"gap {gap:.1e}")
            contraction, previous = decrement / previous, max(decrement, 1e-300)
            slow = slow + 1 if contraction > SLOW else 0
            stopped = _reason_to_stop(objective, at, factor, decrement, gap, contraction, slow, tol, exists)
            if stopped:
                break
            found = _descend(account, point, at, step)
            if found is None:
                stopped = STUCK
                break
            point, at = found
        else:
            stopped = "max_iter reached"
            assert at.hessian is not None
            factor = factorise(at.hessian)
            decrement = sqrt(max(float(at.gradient @ factor.solve(at.gradient)), 0.0))
            gap = ordinal_gap(objective, point, at, factor, decrement)
    if watch.interrupted:
        stopped = "interrupted"
    sure = factor is not None and not factor.singular and (np.isfinite(gap) or stopped == FLAT)
    return Outcome(
        point, at.value, max(gap, ROUNDING * abs(at.value)), True if sure else None, iterations, stopped,
        float(np.linalg.norm(at.gradient)), runaway=stopped == RUNAWAY, last=at,
    )  # fmt: skip


def _reason_to_stop(
    objective: OrdinalObjective,
    at: Evaluation,
    factor: Factor,
    decrement: float,
    gap: float,
    contraction: float,
    slow: int,
    tol: float,
    exists: bool,
) -> str:
    """Why to stop before the step; empty where there is no reason. A gap at rounding level is not yet weights at
    rounding level: steps go on while they shrink."""
    size = abs(at.value)
    left = gap if objective.proven else 0.5 * decrement**2
    small = left <= tol * size or contraction > 0.5 or decrement < 1e-12
    if left <= max(tol, ROUNDING) * size and small:
        return "gap ≤ tol" if objective.proven else FLAT
    if not exists and (slow >= RUNAWAY_AFTER or at.value < CERTAIN or factor.singular):
        return RUNAWAY
    if slow >= 3 and decrement**2 <= 1e-4 * EPS * size:
        return "rounding: no further decrease"
    return ""


def _descend(
    account: Account, point: FloatArray, at: Evaluation, step: FloatArray
) -> tuple[FloatArray, Evaluation] | None:
    """A point where F is lower, to the noise of its sum, thresholds in order; None where there is none."""
    objective: OrdinalObjective = account.objective  # type: ignore[assignment]
    size = objective.coordinates.size
    apart, change = np.diff(point[size:]), np.diff(step[size:])
    closing = change < 0
    scale = min(1.0, TOWARDS * float(np.min(apart[closing] / -change[closing], initial=np.inf)))
    slope, slack = float(at.gradient @ step), 4.0 * EPS * abs(at.value)
    for _ in range(HALVED):
        trial = point + scale * step
        new = account.evaluate(trial, 2)
        if new.value <= at.value + 1e-4 * scale * slope + slack:
            return trial, new
        scale *= 0.5
    return None


# ---- the problem as a model states it ----


@dataclass(frozen=True)
class OrdinalProblem:
    """What is to be minimised, before any coordinates are chosen."""

    rows: Rows
    moments: Moments
    link: CumulativeLink
    ridge: float
    n_classes: int

    def objective(self, coordinates: Coordinates | None = None) -> OrdinalObjective:
        if coordinates is None:
            coordinates = Coordinates.standard(self.moments, True)
        return OrdinalObjective(self.rows, self.link, self.ridge, coordinates, self.n_classes)

    @property
    def spans(self) -> bool:
        """Whether the span of the rows is a smaller problem: fewer rows than columns, in memory, and not many."""
        return not self.rows.lazy and self.rows.n < self.rows.p and self.rows.n <= WIDE_ROWS


@dataclass(frozen=True)
class OrdinalFit:
    """The answer in the user's units and all a verdict needs to know of how it was found."""

    coef: FloatArray
    thresholds: FloatArray
    outcome: Outcome
    objective: OrdinalObjective  # whose point is the outcome's
    sweeps: float
    aliased: np.ndarray  # columns that lie in a combination that vanishes on the data
    method: str = "newton"


def minimise_ordinal(
    problem: OrdinalProblem,
    tol: float,
    max_iter: int,
    *,
    start: tuple[FloatArray, FloatArray] | None = None,
    verbose: int = 0,
    exists: bool = False,
) -> OrdinalFit:
    """Minimise the problem from ``start``, a (coef, thresholds), or from the classes' shares."""
    if not problem.spans and problem.rows.p > (SPARSE_LIMIT if problem.rows.sparse else HESSIAN_LIMIT):
        return _many_columns(problem, tol, max_iter, start, verbose)
    outer, inner = _coordinates(problem)
    exact = problem.ridge == 0 or problem.rows.n * inner.shape[0] <= FEW
    goal = NEWTON.goal(tol, exact=exact) ** (1.5 if exact else 1.0)  # where a last step is free, it is taken
    account = Account(inner, verbose=verbose)  # type: ignore[arg-type]
    outcome = ordinal_newton(account, _start(outer, inner, start), goal, max_iter, exists=exists)
    aliased = np.empty(0, dtype=np.intp)
    blind = outer.coordinates.blind
    if isinstance(blind, BlindOutside):
        aliased = blind.columns
    if outcome.ill_conditioned:
        coordinates, aliased = singular_coordinates(problem.rows, problem.moments, True, problem.ridge)
        outer = problem.objective(coordinates)
        account = Account(outer, verbose=verbose, sweeps=account.sweeps + 1)  # type: ignore[arg-type]
        outcome = ordinal_newton(account, _start(outer, outer, start), goal, max_iter, exists=exists)
        blind = coordinates.blind
    coef, thresholds = outer.to_user(outcome.theta)
    if len(aliased) and blind is not None:  # of all weights with the same scores, the shortest
        shorter = blind.shortest(coef[:, None])[:, 0]
        thresholds = thresholds + outer.coordinates.centre @ (shorter - coef)
        coef, outcome = shorter, replace(outcome, unique=False)
    return OrdinalFit(coef, thresholds, outcome, outer, account.sweeps, aliased)


def _many_columns(
    problem: OrdinalProblem,
    tol: float,
    max_iter: int,
    start: tuple[FloatArray, FloatArray] | None,
    verbose: int,
) -> OrdinalFit:
    """By L-BFGS in columns scaled to be nearly round, stopped by the dual bound."""
    chosen = diagonal_coordinates(problem.moments, True, problem.ridge, MEAN_CURVATURE)
    objective = problem.objective(chosen)
    account = Account(objective, verbose=verbose)  # type: ignore[arg-type]
    begin = objective.settle_intercept(_start(objective, objective, start))
    outcome = lbfgs(account, begin, LBFGS.goal(tol), max_iter, bound=OrdinalDual(objective))
    coef, thresholds = objective.to_user(outcome.theta)
    none = np.empty(0, dtype=np.intp)
    return OrdinalFit(coef, thresholds, outcome, objective, account.sweeps, none, "lbfgs")


def _coordinates(problem: OrdinalProblem) -> tuple[OrdinalObjective, OrdinalObjective]:
    """(objective in the user's rows, objective the solver sees); they share their points."""
    if problem.spans:
        if problem.ridge > 0:
            coordinates, span = row_span(problem.rows, problem.moments.mean)
        else:
            coordinates, span = standard_span(problem.rows, problem.moments, True)
        if coordinates.size:  # else no row differs from another
            outer = problem.objective(coordinates)
            return outer, replace(outer, rows=span, coordinates=Coordinates.identity(coordinates.size))
    objective = problem.objective()
    return objective, objective


def _start(
    outer: OrdinalObjective, inner: OrdinalObjective, start: tuple[FloatArray, FloatArray] | None
) -> FloatArray:
    if start is None:
        return inner.start()
    point = outer.from_user(*start)
    return point if (np.diff(point[outer.coordinates.size :]) > 0).all() else inner.start()
