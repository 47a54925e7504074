"""The verdict on a likelihood fit: what its outcome, a certificate and a proof of separation add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from separatrix.core.linear import UNIT32, LinearRule, single_rounding
from separatrix.core.numerics import EPS, FloatArray
from separatrix.models.parameters import Fitting, listed
from separatrix.solve.limits import centred, limit_of_the_rest
from separatrix.solve.linear import LinearFit, Problem
from separatrix.solve.newton import FLAT
from separatrix.solve.registry import SOLVERS
from separatrix.verdict import build
from separatrix.verdict.gaps import certify
from separatrix.verdict.verdict import Status, Verdict

if TYPE_CHECKING:
    from separatrix.verdict.separability import Separability

STOPPED_EARLY = ("max_iter reached", "interrupted")  # a better bound would not make these converged
FIRTH = (
    "Firth's penalty: the likelihood times Jeffreys' prior has a maximum whether the classes are separated or "
    "not; the score vanishes at this one, that no other is higher is not proven"
)


def verdict_of(
    model: Fitting, problem: Problem, fit: LinearFit, proof: Separability | None, undecided: str = ""
) -> Verdict:
    """The verdict of a fit whose classes are not separated (or that has a penalty, or where that is not known)."""
    outcome, objective = fit.outcome, fit.objective
    value, gap, unique = outcome.value, outcome.gap, outcome.unique
    score_error = score_rounding(problem, fit)
    shown = shown_rounding(model, problem)
    rounding = score_error**2 + shown**2
    goal = SOLVERS[fit.solver].goal(float(model.tol), exact=problem.ridge == 0)
    target = max(goal, 1e-13) * abs(value) + 2 * rounding
    if not np.isfinite(gap) or (gap > target and outcome.stopped_by not in STOPPED_EARLY):
        # the solver's own bound is not the best one: curvature may prove more
        certificate = certify(objective, outcome.theta)
        value, gap = certificate.objective, min(gap, certificate.gap)
        unique = unique or certificate.unique
    gap = max(gap, rounding)
    if problem.ridge > 0:
        gap = min(gap, value)  # no loss is negative
    status: Status = "optimal" if gap <= target else "not converged"
    if not objective.proven and outcome.stopped_by == FLAT:
        status = "stationary"
    if outcome.stopped_by == "interrupted":
        status = "interrupted"
    stopped = outcome.stopped_by
    if status == "optimal" and stopped == "max_iter reached":
        stopped += ", and the gap is met"
    spare = problem.ridge == 0 and not problem.objective().coordinates.scale.all()
    return build.proven(
        model, scale="mean loss", objective=value, gap=gap, tol=target, status=status, separation=proof,
        unique=False if len(fit.aliased) or spare else unique, sweeps=fit.sweeps, seconds=fit.seconds,
        stopped_by=stopped,
        findings=(
            *([undecided] if undecided else []),
            *_findings(model, problem, fit, proof, score_error),
            *single_findings(shown),
        ),
    )  # fmt: skip


def no_optimum(
    model: Fitting, problem: Problem, fit: LinearFit, proof: Separability
) -> tuple[Verdict, LinearRule, FloatArray, FloatArray]:
    """The verdict on separated classes, the rule of the limit, and coef and intercept as the limit has them.

    Weights that run away are ±inf (NaN where the sign is not settled); the others keep their estimates.
    """
    rule = proof.limiting_rule(LinearRule(fit.coef, fit.intercept))
    if proof.kind == "quasi":
        rule = limit_of_the_rest(problem, rule)
    rule = centred(rule)
    coef, intercept = proof.limits()  # ±inf or NaN where a weight runs away, else 0
    findings = (
        proof.sentence(),
        f"a direction with non-negative margin on all {proof.n_rows} rows is in verdict_.direction",
        'try a finite C, penalty="firth", or BayesianLogisticRegression: each bounds the weights and gives an '
        "estimate",
    )
    verdict = build.no_optimum(
        model, objective=fit.outcome.value, sweeps=fit.sweeps, seconds=fit.seconds,
        stopped_by=fit.outcome.stopped_by, findings=findings,
        direction=proof.direction, columns=proof.columns, separation=proof,
    )  # fmt: skip
    coef = np.where(coef == 0, rule.coef, coef)
    return verdict, rule, coef, np.where(intercept == 0, rule.intercept, intercept)


def score_rounding(problem: Problem, fit: LinearFit) -> float:
    """How far rounding moves a score computed from the weights: EPS Σ_j |w_j| spread_j, its largest over classes."""
    spread = np.sqrt(problem.moments.variance)
    return float(EPS * np.max(np.abs(np.atleast_2d(fit.coef)) @ spread))


def shown_rounding(model: Fitting, problem: Problem) -> float:
    """How far the rounding of ``coef_`` to float32 moves scores (0 where they are float64).

    F rises by at most its square: ½ δᵀ∇²F δ, with the curvature of a logistic loss at most one half, and the ridge's.
    """
    moments = problem.moments
    moved = single_rounding(model.coef_, model.intercept_, np.sqrt(moments.variance))
    if moved:
        moved += UNIT32 * float(np.sqrt(problem.ridge) * np.linalg.norm(model.coef_.astype(float)))
    return moved


def single_findings(shown: float) -> list[str]:
    """A word where float32 is too coarse for the columns' origin or scale."""
    if shown <= 1e-4:
        return []
    return [
        f"float32: rounding of the weights moves scores by about {shown:.0e}; columns nearer to zero (a "
        "StandardScaler), or float64, keep more digits"
    ]


def _findings(
    model: Fitting, problem: Problem, fit: LinearFit, proof: Separability | None, score_error: float
) -> list[str]:
    findings = []
    if proof is not None:
        findings.append(proof.sentence())
    elif not problem.kind.proven:
        findings.append(FIRTH)
    elif problem.ridge == 0 and np.isfinite(fit.outcome.gap):
        findings.append(
            "separation: none — the classes overlap (proof: a maximum-likelihood estimate exists)"
        )
    better = "; differences of such columns would say the same in better numbers"
    return findings + findings_on_columns(model, problem, fit, score_error, "probabilities", better)


def findings_on_columns(
    model: Fitting, problem: Problem, fit: LinearFit, score_error: float, same: str, better: str = ""
) -> list[str]:
    """Columns that repeat others, say nothing or nearly cancel; ``same`` is what aliased weights leave as it is."""
    findings = []
    if len(fit.aliased):
        findings.append(
            f"aliased: columns {listed(model, fit.aliased)} are linearly dependent; the weights shown are the "
            f"shortest of all that give the same {same}"
        )
    constant = np.flatnonzero(problem.moments.constant)
    if problem.fit_intercept and len(constant):
        findings.append(f"constant: {listed(model, constant)}, weight 0: the intercept says the same")
    if score_error > 1e-9:
        findings.append(
            f"precision: columns nearly cancel each other, so that scores are good to about {score_error:.0e}{better}"
        )
    return findings
