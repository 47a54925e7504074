"""Whether a linear model has an estimate at all ([6867] 3.2.2; rows D7, D8).

A likelihood that never stops rising in some direction d has no maximum. For responses at the end of their range:

    classes    d separates them, completely or up to ties (verdict/separability.py)
    binomial   d·z ≥ 0 where y = 1,  ≤ 0 where y = 0,  = 0 where 0 < y < 1,  and ≠ 0 for some row
    counts     d·z ≤ 0 where y = 0,                     = 0 where y > 0,      and ≠ 0 for some row     (log link)

The last is separation of a Poisson, negative binomial or Tweedie model: a level without a single count has a
coefficient of −∞. All are the separability of classes when a row in between is counted in both, so one proof serves.
A solver that stopped for fear of separation goes on where the fear was unfounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.links import Logit
from separatrix.core.numerics import FloatArray
from separatrix.core.responses import GlmLoss
from separatrix.core.statistics import Moments
from separatrix.data.rows import Rows
from separatrix.models.linear.glm_problem import GlmProblem
from separatrix.solve.linear import LinearFit, Problem, minimise
from separatrix.solve.outcome import Path
from separatrix.solve.registry import NEWTON, Solver
from separatrix.verdict.facial import Undecided
from separatrix.verdict.separability import Names, Separability, separability_of_rows

ONE_SIDED = ("poisson", "negative_binomial", "tweedie")
BOUNDED = ("logit", "probit", "cloglog")


# ---- of classes ----


def separation(
    problem: Problem, fit: LinearFit, names: Names, classes: tuple[object, ...]
) -> tuple[Separability | None, str]:
    """The exact answer where the fit alone does not prove that an optimum exists; or why there is none."""
    outcome = fit.outcome
    proven = np.isfinite(outcome.gap) and not outcome.runaway
    if problem.ridge > 0 or proven or outcome.stopped_by == "interrupted":
        return None, ""
    codes = (problem.rows.y > 0).astype(np.intp) if problem.n_classes is None else problem.rows.y
    rows = problem.rows.with_targets(codes, problem.rows.weight)
    return _decided(rows, problem.moments, problem.n_classes or 2, problem.fit_intercept, names, classes)


def _decided(
    rows: Rows,
    moments: Moments,
    n_classes: int,
    fit_intercept: bool,
    names: Names,
    classes: tuple[object, ...],
) -> tuple[Separability | None, str]:
    try:
        found = separability_of_rows(
            rows, moments, n_classes, fit_intercept=fit_intercept, names=names, classes=classes
        )
    except Undecided as undecided:
        return None, str(undecided)
    return found, ""


# ---- a fit that goes on ----


def gone_on(
    fit: LinearFit, problem: Problem, solver: Solver | None, max_iter: int, **options: Any
) -> LinearFit:
    """The fit and its continuation from where it stopped for fear of a separation that is none."""
    left = max_iter - fit.outcome.iterations
    if left <= 0:
        return fit
    start = fit.coef, fit.intercept
    return joined(fit, minimise(problem, solver, max_iter=left, start=start, exists=True, **options))


def joined(first: LinearFit, then: LinearFit) -> LinearFit:
    """A fit and its continuation as one."""
    path = then.path
    if first.path is not None and then.path is not None:
        path = Path(*(np.concatenate([vars(first.path)[k], vars(then.path)[k][1:]]) for k in vars(then.path)))
    iterations = first.outcome.iterations + then.outcome.iterations
    outcome = replace(then.outcome, iterations=iterations)
    return replace(
        then,
        outcome=outcome,
        path=path,
        sweeps=first.sweeps + then.sweeps,
        seconds=first.seconds + then.seconds,
    )


# ---- of responses ----


@dataclass
class Existence:
    """What is known of whether an estimate exists; filled in as it is found out."""

    glm: GlmProblem
    proof: Separability | None = None
    undecided: str = ""
    proven: bool = False  # that an estimate exists
    push: FloatArray | None = None  # without an intercept, weights along which they follow
    one_ended: bool = False  # all responses are at one end of their range, and all scores can follow them

    @cached_property
    def in_doubt(self) -> bool:
        """Whether the likelihood could rise for ever: no penalty, and responses at the end of their range."""
        problem, family, link = self.glm.problem, self.glm.family, self.glm.link
        if problem.ridge > 0 or not problem.kind.proven:
            return False
        y = self.glm.seen.y
        if family.name == "binomial":
            return link.name in BOUNDED and bool(np.any((y == 0) | (y == 1)))
        return family.name in ONE_SIDED and link.name == "log" and bool(np.any(y == 0))


def worth_a_proof(fit: LinearFit, existence: Existence) -> bool:
    """Whether the fit itself leaves the question open."""
    if not existence.in_doubt or fit.outcome.stopped_by == "interrupted":
        return False
    existence.proven = bool(np.isfinite(fit.outcome.gap)) and not fit.outcome.runaway
    return not existence.proven


def find_out(existence: Existence, names: Names) -> None:
    """A proof of separation or of an estimate, kept in ``existence``; a sentence where neither was found."""
    glm, problem = existence.glm, existence.glm.problem
    if glm.family.name == "binomial" and glm.link.name != "logit" and _logit_exists(glm):
        existence.proven = True  # the same rows overlap under every link that rises from 0 to 1
        return
    if _one_ended(glm):
        if not problem.fit_intercept:
            existence.push = _push(glm)
        existence.one_ended = problem.fit_intercept or existence.push is not None
        existence.proven = not existence.one_ended
        return
    rows, one = _as_classes(glm), problem.fit_intercept
    existence.proof, existence.undecided = _decided(rows, rows.moments(), 2, one, names, (0, 1))
    existence.proven = existence.proof is not None and existence.proof.kind == "overlap"


def _logit_exists(glm: GlmProblem) -> bool:
    """Whether the logit fit of the same rows proves a maximum."""
    problem, seen = glm.problem, glm.seen
    target = seen.y if seen.offset is None else np.column_stack([seen.y, seen.offset])
    rows = problem.rows.with_targets(target, problem.rows.weight)
    logit = Problem(rows, problem.moments, GlmLoss(glm.family, Logit()), 0.0, problem.fit_intercept)
    fit = minimise(logit, NEWTON, tol=1e-4, max_iter=30)
    return bool(np.isfinite(fit.outcome.gap)) and not fit.outcome.runaway


def _one_ended(glm: GlmProblem) -> bool:
    """Whether every response that weighs something is 0 (or, binomial, every one is 1)."""
    y, s = glm.seen.y, glm.seen.weight
    y = y if s is None else y[s > 0]
    return bool(np.all(y == 0) or (glm.family.name == "binomial" and np.all(y == 1)))


def _push(glm: GlmProblem) -> FloatArray | None:
    """Without an intercept: weights that move every score towards the responses' end, one by 60; None if none do."""
    from scipy.optimize import linprog

    rows, s = glm.problem.rows, glm.seen.weight
    cells = _cells(rows)
    cells = cells if s is None else cells[s > 0]
    x = np.asarray(cells.toarray() if not isinstance(cells, np.ndarray) else cells, dtype=float)
    size = np.abs(x).max(axis=0)
    x = x / np.where(size > 0, size, 1.0)
    up = glm.family.name == "binomial" and bool(glm.seen.y[0 if s is None else np.argmax(s > 0)] == 1)
    a = -x if up else x  # a·d ≤ 0 for every row
    found = linprog(a.sum(axis=0), A_ub=a, b_ub=np.zeros(len(a)), bounds=[(-1.0, 1.0)] * x.shape[1])
    if found.status != 0 or found.x is None or found.fun is None or not found.fun < -1e-9:
        return None
    scores = np.abs(a @ found.x)
    direction = found.x / np.where(size > 0, size, 1.0)
    return direction * (60.0 / float(scores[scores > 1e-9].min()))


def _cells(rows: Rows) -> Any:
    return np.vstack([rows.block(i).X for i in range(rows.n_blocks)]) if rows.lazy else rows.source


def _as_classes(glm: GlmProblem) -> Rows:
    """Rows with their classes, 0 and 1; a row whose response is in between stands in both."""
    rows, y, s = glm.problem.rows, glm.seen.y, glm.seen.weight
    cells = _cells(rows)
    keep = np.arange(rows.n) if s is None else np.flatnonzero(s > 0)
    y = y[keep]
    top = y == 1 if glm.family.name == "binomial" else np.zeros(len(y), dtype=bool)
    between = np.flatnonzero((y > 0) & ~top)
    if len(between) == 0 and len(keep) == rows.n:
        return Rows.of(cells, top.astype(np.intp))
    order = np.concatenate([keep, keep[between]])
    codes = np.concatenate([(y > 0).astype(np.intp), np.zeros(len(between), dtype=np.intp)])
    return Rows.of(cells[order], codes)
