"""Whether classes have a linear model at all: the proof where a fit leaves it open ([6867] 3.2.2; row D7).

A likelihood that never stops rising in some direction d has no maximum: d separates the classes, completely or up to
ties (verdict/separability.py). The proof is read when it is asked for: a fit with a penalty never asks.
A solver that stopped for fear of separation goes on where the fear was unfounded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.core.statistics import Moments
from separatrix.data.rows import Rows
from separatrix.solve.linear import LinearFit, Problem, minimise
from separatrix.solve.outcome import Path
from separatrix.solve.registry import Solver

if TYPE_CHECKING:
    from separatrix.verdict.separability import Names, Separability


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
    return decided(rows, problem.moments, problem.n_classes or 2, problem.fit_intercept, names, classes)


def decided(
    rows: Rows,
    moments: Moments,
    n_classes: int,
    fit_intercept: bool,
    names: Names,
    classes: tuple[object, ...],
) -> tuple[Separability | None, str]:
    """The proof of what these classes are, or the sentence of why none was found."""
    from separatrix.verdict.facial import Undecided
    from separatrix.verdict.separability import separability_of_rows

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
