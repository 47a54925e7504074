"""Fit a linear model: choose coordinates and a solver, run it, and come back to the user's units.

    tall, few columns     Newton in standardised columns
    ill-conditioned       Newton in the singular directions of a QR factor (Gram would square the trouble)
    wide and small        Newton in the span of the rows: w = Xᵀa has no more freedom than n; without a penalty in
                          its singular directions, as scores say nothing of the others. With one, where a Hessian of
                          n (K − 1) numbers is dear, L-BFGS in the same span, and Newton only where it crawls
    many columns          L-BFGS in coordinates that carry the Gram factor, or its diagonal; of several classes with a
                          factor for each (problems/class_factors.py)

Rank-deficient unpenalised data: the directions the data say nothing about are left out, the answer is the
one of least ‖w‖ in the user's units, and the columns involved are reported.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.core.losses import Logistic, Loss, Multinomial
from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.engine import one_blas_thread
from separatrix.data.rows import Rows
from separatrix.problems.class_factors import ClassFactors
from separatrix.problems.coordinates import (
    BlindOutside,
    Coordinates,
    diagonal_coordinates,
    fewer_columns,
    gram_coordinates,
    penalised_coordinates,
    row_span,
    singular_coordinates,
    standard_span,
)
from separatrix.problems.gram_span import RowBasis, gram_span, steepness
from separatrix.problems.objective import Objective
from separatrix.problems.stored_cells import pairs_cost
from separatrix.solve.gradient import loss_curvature
from separatrix.solve.outcome import Account, Outcome, Path
from separatrix.solve.registry import LBFGS, NEWTON, Solver, refuse_lazy
from separatrix.verdict.gaps import ROUNDING

FLOPS = 4e10  # of one machine, to the order of magnitude: only ratios of costs are compared
FIRST_ORDER_SWEEPS = 60  # a typical L-BFGS fit of two classes
FIRST_ORDER_CLASSES = 120  # and of more
NEWTON_SWEEPS = 6  # with the Hessian, where it costs little more than one without
DEAR_NEWTON = 4, 40  # with it and without, where it costs much more
QR_IS_CHEAP = 3e7  # products of a QR factor below which it is the way to find columns that repeat each other
FEW = 1 << 18  # scores and cells of a sweep that takes no time
FIRST_STEPS = 5  # of L-BFGS, after which it is known which rows are sure of their class
MORE_STEPS = 25  # until that is asked again
CLASS_CELLS = 1 << 25  # numbers in the factors of all classes
CLASS_COLUMNS = 100  # from which a Hessian of each class is worth its cost
GRAM_LIMIT = 3000  # columns up to which a factor is worth forming
SPAN_FACTOR = (
    180  # parameters in the span of wide rows from where a step of L-BFGS costs far less than a Hessian
)
SPAN_STEPS, SPAN_MEMORY = 80, 20  # such steps before Newton takes over, and the pairs kept of them
WIDE_ROWS = 1500  # rows up to which wide data go through the span of their rows


@dataclass(frozen=True)
class Problem:
    """What is to be minimised, before any coordinates are chosen."""

    rows: Rows
    moments: Moments
    loss: Loss
    ridge: float
    fit_intercept: bool
    n_classes: int | None = None
    kind: type[Objective] = Objective  # F itself, or a penalised one of its own making

    def objective(self, coordinates: Coordinates | None = None) -> Objective:
        if coordinates is None:
            coordinates = Coordinates.standard(self.moments, self.fit_intercept)
        return self.kind(self.rows, self.loss, self.ridge, self.fit_intercept, coordinates, self.n_classes)

    @property
    def outputs(self) -> int:
        return 1 if self.n_classes is None else self.n_classes - 1


@dataclass(frozen=True)
class LinearFit:
    """The answer in the user's units and all a verdict needs to know of how it was found."""

    coef: FloatArray
    intercept: FloatArray
    outcome: Outcome
    objective: Objective
    solver: str
    sweeps: float
    seconds: float
    path: Path | None
    aliased: np.ndarray  # columns that lie in a combination that vanishes on the data


def minimise(
    problem: Problem,
    solver: Solver | None,
    *,
    tol: float,
    max_iter: int,
    options: Mapping[str, Any] | None = None,
    start: tuple[FloatArray, FloatArray] | None = None,
    warm: bool = True,
    record: bool = False,
    verbose: int = 0,
    seed: int = 0,
    exists: bool = False,
    errors: bool = False,
) -> LinearFit:
    """Minimise the problem.

    ``tol`` sets the gap asked for (``Solver.goal``), ``start`` is a (coef, intercept) to begin from, ``warm`` whether
    it is thought to be near the answer, and ``exists`` says that a minimum is known to exist, so that slow progress
    is no reason to suspect separation. ``errors``: Newton's outcome is to bring its last Hessian along.
    """
    began = time.perf_counter()
    extra = {**(options or {}), "exists": exists}
    # small factorisations between sweeps lose more to waking BLAS threads than they gain
    with one_blas_thread():
        extra["warm"] = warm and start is not None
        if errors:
            extra["errors"] = True
        return _minimise(problem, solver, tol, max_iter, extra, start, record, verbose, seed, began, errors)


def _minimise(
    problem: Problem,
    solver: Solver | None,
    tol: float,
    max_iter: int,
    extra: dict[str, Any],
    start: tuple[FloatArray, FloatArray] | None,
    record: bool,
    verbose: int,
    seed: int,
    began: float,
    errors: bool,
) -> LinearFit:
    if problem.rows.lazy and solver is not None:
        refuse_lazy(solver)
    chosen = solver or _choose(problem)
    if chosen.draws:
        extra["seed"] = seed
    rows = problem.rows
    outer, inner = _coordinates(problem, chosen)
    objective, spanned, blind = outer, inner is not outer, outer.coordinates.blind
    aliased = blind.columns if isinstance(blind, BlindOutside) else np.empty(0, dtype=np.intp)
    account = Account(inner, record, verbose)
    theta = inner.zero() if start is None else objective.from_user(*start)
    # where the rows are few the last steps are free, and without a penalty standard errors are measured in them
    few = rows.n * int(np.prod(inner.shape)) <= FEW
    quick = solver is None and spanned and not (record or errors) and _gradients_pay(inner)
    goal = chosen.goal(tol, exact=problem.ridge == 0 or errors or (few and not quick))
    if quick:
        chosen, outcome = _span_first(account, chosen, theta, goal, max_iter, extra)
    elif _classes_pay(problem, chosen):
        outcome = _class_by_class(account, chosen, theta, goal, max_iter, extra)
    else:
        outcome = chosen.run(account, theta, goal, max_iter, **extra)
    found: tuple[FloatArray, FloatArray] | None = None
    if isinstance(outer.coordinates.basis, RowBasis):
        found = outer.to_user(outcome.theta)
        outcome, judged = _judged(outer, outcome, found, goal)
        if not judged:  # the Gram matrix of the rows was too coarse
            chosen = solver or _choose(problem)
            outer, inner = _coordinates(problem, chosen, squared=False)
            objective, found, account = outer, None, Account(inner, record, verbose, sweeps=account.sweeps)
            theta = inner.zero() if start is None else objective.from_user(*start)
            outcome = chosen.run(account, theta, goal, max_iter, **extra)
    fewer = None
    if outcome.ill_conditioned and problem.ridge == 0 and not spanned and rows.n * rows.p**2 > QR_IS_CHEAP:
        fewer = fewer_columns(rows, problem.moments, problem.fit_intercept)
        account.sweeps += 1
        if fewer is None and outcome.value == np.inf:  # a sample alone said so, and may have missed a level
            outcome = chosen.run(account, theta, goal, max_iter, doubt=False, **extra)
    if outcome.ill_conditioned:
        if spanned:  # the rows are in as good coordinates as there are: it is the loss that hardly bends
            coordinates, spanned = outer.coordinates, False
        else:
            coordinates, aliased = fewer or singular_coordinates(
                problem.rows, problem.moments, problem.fit_intercept, problem.ridge, loss_curvature(objective)
            )
        objective, found = problem.objective(coordinates), None
        account = Account(objective, record, verbose, sweeps=account.sweeps + (fewer is None))
        theta = objective.zero() if start is None else objective.from_user(*start)
        outcome = chosen.run(account, theta, goal, max_iter, **extra)
    elif problem.ridge == 0 and not chosen.quadratic and rows.p <= GRAM_LIMIT and rows.p < rows.n:
        coordinates, aliased = singular_coordinates(rows, problem.moments, problem.fit_intercept)
        if len(aliased):  # these solvers do not notice; the certificate and the shortest weights need to know
            seen = objective.to_user(outcome.theta)
            objective = problem.objective(coordinates)
            outcome = replace(outcome, theta=objective.from_user(*seen))
    coef, intercept = found or objective.to_user(outcome.theta)
    if len(aliased):
        outcome = replace(outcome, unique=False)
        coef, intercept = _least_norm(problem, coef, intercept, objective)
    return LinearFit(
        coef, intercept, outcome, objective, chosen.name, account.sweeps, time.perf_counter() - began,
        _lift_path(account, outer) if spanned else account.path(), aliased,
    )  # fmt: skip


def _judged(
    outer: Objective, outcome: Outcome, found: tuple[FloatArray, FloatArray], goal: float
) -> tuple[Outcome, bool]:
    """The outcome in rows by a Gram matrix with what the rows themselves say of it, and whether they agree."""
    if outcome.stopped_by == "interrupted":
        return outcome, True
    left, seen = steepness(outer, *found), 0.5 * outcome.gradient_norm**2 / outer.ridge
    if left <= max(goal, ROUNDING) * abs(outcome.value):
        return replace(outcome, gap=max(outcome.gap, left)), True
    return outcome, left <= 4.0 * seen


def _choose(problem: Problem) -> Solver:
    """Newton where its sweeps cost no more than a first-order fit's, else L-BFGS."""
    rows, k = problem.rows, problem.outputs
    if in_span(problem):
        if not _span_pays(problem):
            return LBFGS
        q: int = rows.n
    else:
        q = rows.p + 1
    pairs = k * (k + 1) / 2
    cells = rows.source.nnz if rows.sparse else rows.n * rows.p
    products = rows.n * q * q * pairs
    if rows.sparse and k == 1:
        products = min(products, pairs_cost(rows.source))
    hessian = (products + (q * k) ** 3) / FLOPS
    sweep = 4 * cells * k * 5 / FLOPS
    newton = min(NEWTON_SWEEPS * hessian, DEAR_NEWTON[0] * hessian + DEAR_NEWTON[1] * sweep)
    if rows.sparse and q * k > 1500:
        newton = np.inf
    first = (FIRST_ORDER_SWEEPS if k == 1 else FIRST_ORDER_CLASSES) * sweep
    return NEWTON if newton <= max(first, 0.5) and q * k <= 2 * GRAM_LIMIT else LBFGS


def _classes_pay(problem: Problem, solver: Solver) -> bool:
    """Whether L-BFGS gains by a Hessian of each class: many columns, of rows in memory, and the loss it is of."""
    rows = problem.rows
    dense = not (rows.lazy or rows.sparse) and CLASS_COLUMNS <= rows.p <= min(rows.n, GRAM_LIMIT)
    k = problem.n_classes
    if not (
        solver.preconditioned
        and dense
        and k
        and isinstance(problem.loss, Multinomial)
        and problem.kind.proven
    ):
        return False
    return k * rows.p**2 <= min(CLASS_CELLS, 2 * rows.n * rows.p)


def _gradients_pay(inner: Objective) -> bool:
    """Whether L-BFGS is tried first in the span of wide rows: its proof is at hand, and a Hessian is dear."""
    known = inner.ridge > 0 and inner.proven and isinstance(inner.loss, (Logistic, Multinomial))
    return known and int(np.prod(inner.shape)) >= SPAN_FACTOR


def _span_first(
    account: Account, newton: Solver, theta: FloatArray, goal: float, max_iter: int, extra: dict[str, Any]
) -> tuple[Solver, Outcome]:
    """Steps by gradients alone, to the gap that Newton's would stop at; Newton's from there where they crawl.

    A gradient costs O(n²K) there and a Hessian's factor O(n³K³), while ten or twenty times as many are needed.
    """
    steps = min(SPAN_STEPS, max_iter)
    outcome = LBFGS.run(account, theta, goal, steps, memory=SPAN_MEMORY, **extra)
    if outcome.stopped_by in ("gap ≤ tol", "interrupted") or steps == max_iter:
        return LBFGS, outcome
    done = outcome.iterations
    outcome = newton.run(account, outcome.theta, goal, max_iter, **{**extra, "warm": True})
    return newton, replace(outcome, iterations=done + outcome.iterations)


def _class_by_class(
    account: Account, solver: Solver, theta: FloatArray, goal: float, max_iter: int, extra: dict[str, Any]
) -> Outcome:
    """A few steps with one factor for all classes, and from there with one for each, looked at again now and then."""
    factors = ClassFactors.of(account.objective)
    extra["first"], steps, done = factors.at_origin(), min(FIRST_STEPS, max_iter), 0
    while True:
        outcome = solver.run(account, theta, goal, steps, **extra)
        if outcome.stopped_by != "max_iter reached" or done + steps >= max_iter:
            return replace(outcome, iterations=done + outcome.iterations)
        theta, done = outcome.theta, done + steps
        extra["first"], extra["warm"], steps = factors.at(theta), True, min(MORE_STEPS, max_iter - done)


def in_span(problem: Problem) -> bool:
    """Whether the span of the rows is a smaller problem: fewer rows than columns, in memory, and not many."""
    rows = problem.rows
    return (
        not rows.lazy
        and rows.p > rows.n
        and rows.n <= WIDE_ROWS
        and (problem.ridge > 0 or problem.kind.proven)
    )


def _span_pays(problem: Problem) -> bool:
    """Whether the span of wide rows is found sooner than a first-order fit ends: texts are too sparse for that."""
    rows = problem.rows
    if not rows.sparse:
        return True
    first = FIRST_ORDER_SWEEPS * 4 * rows.source.nnz * problem.outputs * 5
    return bool(2 * rows.p * rows.n**2 <= max(first, 0.02 * FLOPS))


def _coordinates(problem: Problem, solver: Solver, squared: bool = True) -> tuple[Objective, Objective]:
    """(objective in the user's rows, objective the solver sees); they share θ. ``squared``: by a Gram matrix of wide
    rows, where that serves."""
    rows, moments, intercept = problem.rows, problem.moments, problem.fit_intercept
    if solver.spans and in_span(problem) and (solver.quadratic or _span_pays(problem)):
        if problem.ridge > 0:
            centre = moments.mean if intercept else np.zeros(rows.p)
            live, penalty = (
                None if rows.weight is None else rows.weight > 0,
                problem.ridge * rows.total_weight,
            )
            found = gram_span(rows, centre, penalty, live) if squared else None
            coordinates, span = found or row_span(rows, centre)
        else:
            coordinates, span = standard_span(rows, moments, intercept)
        if coordinates.size:  # else no row differs from another
            outer = problem.objective(coordinates)
            return outer, replace(outer, rows=span, coordinates=Coordinates.identity(coordinates.size))
    chosen: Coordinates | None = None
    if _classes_pay(problem, solver):
        chosen = None  # the standard columns: what makes them round is a factor a class
    elif solver.coordinates == "round":
        k = problem.n_classes or 2
        bend = (1 / k) * (1 - 1 / k)
        if rows.p > GRAM_LIMIT or rows.sparse:
            chosen = diagonal_coordinates(moments, intercept, problem.ridge, bend)
        else:
            chosen = gram_coordinates(rows, moments, intercept, problem.ridge, bend)
    elif solver.coordinates == "penalised":
        bend = loss_curvature(problem.objective())
        chosen = penalised_coordinates(moments, intercept, problem.ridge, bend)
    objective = problem.objective(chosen)
    return objective, objective


def _least_norm(
    problem: Problem, coef: FloatArray, intercept: FloatArray, objective: Objective
) -> tuple[FloatArray, FloatArray]:
    """Of all weights with the same scores, the shortest in the user's units.

    The directions that change no score are the coordinates' blind ones.
    """
    c = objective.coordinates
    if c.blind is None:
        return coef, intercept
    w = coef.T
    shorter = c.blind.shortest(w)
    change = shorter - w
    if problem.fit_intercept:
        intercept = intercept - c.centre @ change
    return shorter.T, intercept


def _lift_path(account: Account, outer: Objective) -> Path | None:
    """A path recorded in the span of the rows, back in the user's columns."""
    path = account.path()
    if path is None:
        return None
    basis = outer.coordinates.basis
    assert basis is not None
    coef = path.coef @ basis.T * outer.coordinates.scale
    intercept = path.intercept - coef @ outer.coordinates.centre if outer.fit_intercept else path.intercept
    return Path(coef, intercept, path.objective, path.gradient_norm)
