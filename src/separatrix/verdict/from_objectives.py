"""The verdict on fitted weights, from the objectives they claim to minimise: F and its bound, or a proof afresh.

    finite weights    F(ŵ) − min F ≤ Σ_parts gap                 (verdict/gaps.py)
    weights at ±∞     no minimum, where a separation is found again from the data

For :func:`separatrix.verify`. Cost: one to five sweeps, O(np²) where the curvature proves the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike
from separatrix.problems.coordinates import Coordinates, row_span, singular_coordinates, standard_span
from separatrix.problems.objective import Objective
from separatrix.verdict import build
from separatrix.verdict.gaps import Certificate, certify
from separatrix.verdict.verdict import Status, Verdict

if TYPE_CHECKING:
    from separatrix.verdict.separability import Separability

Part = tuple[Objective, FloatArray, FloatArray]  # an objective, and the weights and intercept it is judged at
NO_DIRECTION = "no direction was found along which the likelihood rises for ever"
WIDE = 3000  # columns up to which their singular directions are looked for, and rows up to which theirs are
DENSE_CELLS = 1 << 26  # cells up to which sparse rows are made dense to find their span


class Fitted(Protocol):
    """An estimator with a verdict of its fit."""

    verdict_: Verdict


def verdict_from_objectives(
    model: Fitted, parts: Sequence[Part], prove: Callable[[], tuple[Separability | None, bool]]
) -> Verdict:
    """The verdict on the sum of ``parts``; ``prove`` finds a separation afresh, and says whether it is proven.

    ``prove`` is called only where some weight is not finite. The tolerance is the one the fit was asked for.
    """
    claimed = model.verdict_
    if not all(np.isfinite(weights).all() for _, weights, _ in parts):
        return _runaway(model, *prove())
    certificates = [_certificate(*part, claimed.tol) for part in parts]
    value, gap = sum(c.objective for c in certificates), sum(c.gap for c in certificates)
    unique = None if any(c.unique is None for c in certificates) else all(c.unique for c in certificates)
    status: Status = "not converged"
    if gap <= _goal(claimed.tol, value):
        status = "closed form" if claimed.status == "closed form" else "optimal"
    elif claimed.status == "stationary" and sum(c.left for c in certificates) <= _goal(claimed.tol, value):
        status = "stationary"
        if unique is None and all(o.proven and getattr(o.loss, "convex", False) for o, _, _ in parts):
            unique = True  # a convex function has one minimum where its curvature is positive
    return build.proven(
        model, scale="mean loss", objective=value, gap=gap, tol=claimed.tol, unique=unique, status=status,
        stopped_by=build.VERIFIED, sweeps=sum(c.sweeps for c in certificates),
        findings=(f"gradient norm {max(c.gradient_norm for c in certificates):.1e}",),
    )  # fmt: skip


def separated_classes(
    X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, fit_intercept: bool
) -> Callable[[], tuple[Separability, bool]]:
    """``prove`` for a model whose weights run away where its classes are separated."""

    def prove() -> tuple[Separability, bool]:
        from separatrix.verdict.separability import separability

        found = separability(X, y, sample_weight, fit_intercept=fit_intercept)
        return found, found.kind != "overlap" and found.check(X, y, sample_weight)

    return prove


def _runaway(model: Fitted, found: Separability | None, proven: bool) -> Verdict:
    """The verdict on weights that are not all finite, from a separation found afresh (None: there is none)."""
    make = build.no_optimum if proven else build.no_claim
    verdict = make(
        model, stopped_by=build.VERIFIED, tol=model.verdict_.tol, scale="mean loss",
        findings=(NO_DIRECTION if found is None else found.sentence(),),
        direction=None if found is None else found.direction, columns=() if found is None else found.columns,
        separation=found,
    )  # fmt: skip
    return replace(verdict, unique=None)


def _certificate(objective: Objective, coef: FloatArray, intercept: FloatArray, tol: float) -> Certificate:
    """Certify in standardised columns; where that proves too little, along their singular directions.

    With fewer rows than columns neither a Hessian nor directions of all columns are formed: those of the rows serve.
    """
    if objective.proven and objective.rows.n < objective.rows.p and _in_memory(objective):
        found = _certified(objective, coef, intercept, hessian_limit=0) if objective.ridge > 0 else None
        if found is not None and found.gap <= _goal(tol, found.objective):
            return found
        inside = _in_span(objective, coef, intercept)
        if inside is not None:
            return inside if found is None or inside.gap < found.gap else found
    found = _certified(objective, coef, intercept)
    if found.gap <= _goal(tol, found.objective) or objective.rows.p > WIDE:
        return found
    coordinates, aliased = singular_coordinates(
        objective.rows, objective.rows.moments(), objective.fit_intercept, objective.ridge
    )
    live = int(np.count_nonzero(coordinates.scale))
    if objective.ridge > 0 and coordinates.size < live:  # with a penalty no direction may be left out
        return found
    inside = _certified(objective.in_coordinates(coordinates), coef, intercept)
    inside = replace(inside, sweeps=found.sweeps + 1 + inside.sweeps)
    if len(aliased):
        inside = replace(inside, unique=False)
    return inside if inside.gap < found.gap else found


def _in_memory(objective: Objective) -> bool:
    """Whether the span of the rows can be found: they are in memory, few, and dense or small enough to become so."""
    rows = objective.rows
    return not rows.lazy and rows.n <= WIDE and (not rows.sparse or rows.n * rows.p <= DENSE_CELLS)


def _in_span(objective: Objective, coef: FloatArray, intercept: FloatArray) -> Certificate | None:
    """The certificate in the span of wide rows; weights outside it change no score and cost their penalty.

    None where no row differs from another, and there is no span.
    """
    rows, one = objective.rows, objective.fit_intercept
    moments = rows.moments()
    if objective.ridge > 0:
        coordinates, inner = row_span(rows, moments.mean if one else np.zeros(rows.p))
    else:
        coordinates, inner = standard_span(rows, moments, one)
    if not coordinates.size:
        return None
    outer = objective.in_coordinates(coordinates)
    theta = outer.from_user(coef, intercept)
    seen = replace(outer, rows=inner, coordinates=Coordinates.identity(coordinates.size))
    found = _with_unseen(objective, certify(seen, theta), coef, outer.to_user(theta)[0])
    return found if objective.ridge > 0 or coordinates.blind is None else replace(found, unique=False)


def _certified(
    objective: Objective, coef: FloatArray, intercept: FloatArray, hessian_limit: int = WIDE
) -> Certificate:
    """The certificate at θ, and the penalty of what θ cannot express.

    That is a part common to all classes and the weights of constant columns: no score depends on them, so all
    of ½λ(‖w‖² − ‖w seen‖²) is distance from the minimum.
    """
    theta = objective.from_user(coef, intercept)
    found = certify(objective, theta, hessian_limit=hessian_limit)
    return _with_unseen(objective, found, coef, objective.to_user(theta)[0])


def _with_unseen(objective: Objective, found: Certificate, coef: FloatArray, seen: FloatArray) -> Certificate:
    """``found`` of the weights ``seen``, and the penalty of what they lack of ``coef``."""
    extra = 0.5 * objective.ridge * float(np.sum((coef - seen) * (coef + seen)))
    value, gap = found.objective + extra, found.gap + max(extra, 0.0)
    free = objective.ridge == 0 and not objective.coordinates.scale.all()  # a column that says nothing
    return replace(
        found,
        objective=value,
        gap=min(gap, value) if objective.ridge > 0 else gap,  # no loss is negative
        unique=False if free else found.unique,
    )


def _goal(tol: float, value: float) -> float:
    """The gap asked for, but no finer than sums of the data can show."""
    return max(tol, 1e-13 * abs(value))
