"""The verdict on a fit of ordered classes: what its outcome, a certificate and a proof of separation add up to.

    optimal      the bound of verdict/ordinal.py is met (the logit)
    stationary   another link: the score vanishes where the curvature is positive, and F is convex
    no optimum   ordered classes are separated (verdict/ordered.py)

Cost O(1), and a sweep where the solver's own bound is not enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.core.linear import UNIT32
from separatrix.core.numerics import EPS, FloatArray
from separatrix.models.linear.verdicts import STOPPED_EARLY, single_findings
from separatrix.models.parameters import listed
from separatrix.problems.coordinates import Coordinates, row_span, singular_coordinates, standard_span
from separatrix.problems.ordinal import OrdinalObjective
from separatrix.solve.newton import FLAT, STUCK
from separatrix.solve.ordinal import OrdinalFit, OrdinalProblem
from separatrix.solve.registry import SOLVERS
from separatrix.verdict import build
from separatrix.verdict.gaps import Certificate
from separatrix.verdict.ordinal import certify_ordinal
from separatrix.verdict.verdict import Status, Verdict

if TYPE_CHECKING:
    from separatrix.verdict.ordered import OrderedSeparation

NO_DIRECTION = "no direction was found along which the likelihood rises for ever"
FLAT_ENDS = (FLAT, STUCK, "rounding: no further decrease", "‖∇F‖ ≤ tol")
WIDE = 3000  # columns up to which their singular directions are looked for


def separation_of(
    problem: OrdinalProblem, fit: OrdinalFit, names: Any, classes: tuple[object, ...]
) -> tuple[OrderedSeparation | None, str]:
    """The exact answer where the fit alone does not prove that an optimum exists; or why there is none."""
    outcome = fit.outcome
    proven = (np.isfinite(outcome.gap) or outcome.unique is True) and not outcome.runaway
    if problem.ridge > 0 or proven or outcome.stopped_by == "interrupted":
        return None, ""
    from separatrix.verdict.facial import Undecided
    from separatrix.verdict.ordered import ordered_separation

    try:
        return ordered_separation(problem.rows, classes, names), ""
    except Undecided as undecided:
        return None, str(undecided)


def ordinal_verdict(
    model: Any, problem: OrdinalProblem, fit: OrdinalFit, proof: OrderedSeparation | None, undecided: str
) -> Verdict:
    """The verdict of a fit whose numbers the model already shows."""
    if proof is not None and proof.kind != "overlap":
        return _no_optimum(model, fit, proof)
    outcome = fit.outcome
    value, gap, unique = outcome.value, outcome.gap, outcome.unique
    error, shown = _score_rounding(problem, fit.coef), shown_rounding(model, problem)
    rounding = error**2 + shown**2
    goal = SOLVERS[fit.method].goal(float(model.tol), exact=problem.ridge == 0)
    target = max(goal, 1e-13) * abs(value) + 2 * rounding
    if problem.link.proven and outcome.stopped_by not in STOPPED_EARLY and not gap <= target:
        certificate = certify_ordinal(fit.objective, outcome.theta)
        gap, unique = min(gap, certificate.gap), unique or certificate.unique
    if np.isfinite(gap):
        gap = max(gap, rounding)
        gap = min(gap, value) if problem.ridge > 0 else gap  # no loss is negative
    status: Status = "optimal" if gap <= target else "not converged"
    flat = outcome.stopped_by in FLAT_ENDS and outcome.unique is not None
    if outcome.stopped_by == "interrupted":
        status = "interrupted"
    elif not problem.link.proven and flat:
        status = "stationary"
    spare = problem.ridge == 0 and bool(problem.moments.constant.any())
    findings = [undecided] if undecided else []
    findings += _findings(model, problem, fit, proof, status, error)
    return build.proven(
        model, scale="mean loss", objective=value, gap=gap, tol=target, status=status, separation=proof,
        unique=False if len(fit.aliased) or spare else unique, sweeps=fit.sweeps, method=fit.method,
        stopped_by=outcome.stopped_by, findings=(*findings, *single_findings(shown)),
    )  # fmt: skip


def shown_rounding(model: Any, problem: OrdinalProblem) -> float:
    """How far the rounding of ``coef_`` to float32 moves scores (0 where they are float64); see verdicts.py."""
    if model.coef_.dtype != np.float32:
        return 0.0
    coef, ends = model.coef_.astype(float), model.thresholds_.astype(float)
    moved = np.abs(coef) @ np.sqrt(problem.moments.variance) + np.abs(ends).max(initial=0.0)
    return UNIT32 * float(moved + np.sqrt(problem.ridge) * np.linalg.norm(coef))


def verified(model: Any, problem: OrdinalProblem) -> Verdict:
    """The verdict on the model's numbers as they stand, from data alone."""
    claimed: Verdict = model.verdict_
    coef, ends = (np.asarray(v, dtype=float) for v in (model.coef_, model.thresholds_))
    if not (np.isfinite(coef).all() and np.isfinite(ends).all()):
        return _still_separated(model, problem)
    model._numbers()  # shapes, and thresholds in order
    found = _certificate(problem, coef, ends, claimed.tol)
    goal = max(claimed.tol, 1e-13 * abs(found.objective))
    status: Status = "optimal" if found.gap <= goal else "not converged"
    if not problem.link.proven and claimed.status == "stationary" and found.left <= goal:
        status = "stationary"
    return build.proven(
        model, scale="mean loss", objective=found.objective, gap=found.gap, tol=claimed.tol, unique=found.unique,
        status=status, stopped_by=build.VERIFIED, sweeps=found.sweeps,
        findings=(f"gradient norm {found.gradient_norm:.1e}",),
    )  # fmt: skip


def _certificate(problem: OrdinalProblem, coef: FloatArray, ends: FloatArray, tol: float) -> Certificate:
    """Certify in standardised columns; where that proves too little, along their singular directions. Of wide rows
    in their span."""
    if problem.spans:
        span = row_span(problem.rows, problem.moments.mean) if problem.ridge > 0 else None
        coordinates, rows = span or standard_span(problem.rows, problem.moments, True)
        if coordinates.size:
            outer = problem.objective(coordinates)
            point = outer.from_user(coef, ends)
            seen = replace(outer, rows=rows, coordinates=Coordinates.identity(coordinates.size))
            found = _with_unseen(outer, certify_ordinal(seen, point), coef, outer.to_user(point)[0])
            return found if coordinates.blind is None else replace(found, unique=False)
    found = _certified(problem.objective(), coef, ends)
    if found.gap <= max(tol, 1e-13 * abs(found.objective)) or problem.rows.p > WIDE:
        return found
    coordinates, aliased = singular_coordinates(problem.rows, problem.moments, True, problem.ridge)
    if problem.ridge > 0 and coordinates.size < int(np.count_nonzero(coordinates.scale)):
        return found  # with a penalty no direction may be left out
    inside = _certified(problem.objective(coordinates), coef, ends)
    inside = replace(inside, unique=False if len(aliased) else inside.unique)
    return inside if (inside.gap, inside.left) < (found.gap, found.left) else found


def _certified(objective: OrdinalObjective, coef: FloatArray, ends: FloatArray) -> Certificate:
    point = objective.from_user(coef, ends)
    return _with_unseen(objective, certify_ordinal(objective, point), coef, objective.to_user(point)[0])


def _with_unseen(
    objective: OrdinalObjective, found: Certificate, coef: FloatArray, seen: FloatArray
) -> Certificate:
    """``found`` of the weights ``seen``, and the penalty of what they lack of ``coef``: no score depends on it."""
    extra = 0.5 * objective.ridge * float(np.sum((coef - seen) * (coef + seen)))
    free = objective.ridge == 0 and not objective.coordinates.scale.all()
    return replace(
        found, objective=found.objective + extra, gap=found.gap + max(extra, 0.0),
        unique=False if free else found.unique,
    )  # fmt: skip


def _still_separated(model: Any, problem: OrdinalProblem) -> Verdict:
    """The verdict on numbers that are not all finite: a separation is found afresh, and checked."""
    from separatrix.verdict.facial import Undecided
    from separatrix.verdict.ordered import ordered_separation

    try:
        names = getattr(model, "feature_names_in_", None)
        found = ordered_separation(problem.rows, tuple(model.classes_.tolist()), names)
    except Undecided as undecided:
        return build.no_claim(model, stopped_by=build.VERIFIED, scale="mean loss", findings=(str(undecided),))
    separated = found.kind != "overlap"
    make = build.no_optimum if separated else build.no_claim
    verdict = make(
        model, stopped_by=build.VERIFIED, tol=model.verdict_.tol, scale="mean loss",
        findings=(found.sentence() if separated else NO_DIRECTION,),
        direction=found.direction, columns=found.columns, separation=found,
    )  # fmt: skip
    return replace(verdict, unique=None)


def _no_optimum(model: Any, fit: OrdinalFit, proof: OrderedSeparation) -> Verdict:
    return build.no_optimum(
        model, objective=fit.outcome.value, sweeps=fit.sweeps, stopped_by=fit.outcome.stopped_by,
        findings=(
            proof.sentence(),
            f"a direction (weights, then thresholds) along which no row's probability falls is in verdict_.direction "
            f"({proof.n_rows} rows checked)",
            "try a finite C: it bounds the weights and gives an estimate",
        ),
        direction=proof.direction, columns=proof.columns, separation=proof,
    )  # fmt: skip


def _score_rounding(problem: OrdinalProblem, coef: FloatArray) -> float:
    """How far rounding moves a score computed from the weights."""
    return float(EPS * (np.abs(coef) @ np.sqrt(problem.moments.variance)))


def _findings(
    model: Any,
    problem: OrdinalProblem,
    fit: OrdinalFit,
    proof: OrderedSeparation | None,
    status: Status,
    error: float,
) -> list[str]:
    findings = []
    if proof is not None:
        findings.append(proof.sentence())
    elif problem.ridge == 0 and np.isfinite(fit.outcome.gap) and fit.outcome.unique is not None:
        findings.append(
            "separation: none — the ordered classes overlap (proof: a maximum-likelihood estimate exists)"
        )
    if status == "stationary":
        findings.append(
            "the score vanishes and the information is positive definite; −log P is convex with this link, so this "
            "is the minimum, though no distance from it is proven"
        )
    if len(fit.aliased):
        findings.append(
            f"aliased: columns {listed(model, fit.aliased)} are linearly dependent; the weights shown are the "
            "shortest of all that give the same probabilities"
        )
    constant = np.flatnonzero(problem.moments.constant)
    if len(constant):
        findings.append(f"constant: {listed(model, constant)}, weight 0: the thresholds say the same")
    if error > 1e-9:
        findings.append(
            f"precision: columns nearly cancel each other, so that scores are good to about {error:.0e}"
        )
    return findings
