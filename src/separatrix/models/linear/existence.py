"""Whether a linear model has an estimate at all ([6867] 3.2.2; rows D7, D8).

A likelihood that never stops rising in some direction d has no maximum. For responses at the end of their range:

    classes    d separates them, completely or up to ties (verdict/separability.py)
    binomial   d·z ≥ 0 where y = 1,  ≤ 0 where y = 0,  = 0 where 0 < y < 1,  and ≠ 0 for some row
    counts     d·z ≤ 0 where y = 0,                     = 0 where y > 0,      and ≠ 0 for some row     (log link)

The last is separation of a Poisson, negative binomial or Tweedie model: a level without a single count has a
coefficient of −∞. All are the separability of classes when a row in between is counted in both, so one proof serves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.links import Logit
from separatrix.core.numerics import FloatArray
from separatrix.core.responses import GlmLoss
from separatrix.data.rows import Rows
from separatrix.models.linear.glm_problem import GlmProblem
from separatrix.models.linear.separation import decided
from separatrix.solve.linear import LinearFit, Problem, minimise
from separatrix.solve.registry import NEWTON
from separatrix.verdict.separability import Names, Separability

ONE_SIDED = ("poisson", "negative_binomial", "tweedie")
BOUNDED = ("logit", "probit", "cloglog")


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
    existence.proof, existence.undecided = decided(rows, rows.moments(), 2, one, names, (0, 1))
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
