"""The verdict on the fit of a generalised linear model ([6867] 3.2.2; rows D7, D8).

    optimal       the curvature's bound holds (logit, and losses convex in the same way) and is met
    stationary    no bound is known for the link: the score vanishes where the information is positive definite
    no optimum    responses are separated, or all at one end: with the limits of weights and predictions

Cost O(1) beside a certificate of O(np²) where the solver's own bound is not enough.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.linear import LinearRule
from separatrix.core.numerics import EPS, FloatArray
from separatrix.core.responses import GlmLoss
from separatrix.inference.likelihood import Likelihood
from separatrix.models.linear.existence import Existence
from separatrix.models.linear.verdicts import FIRTH, STOPPED_EARLY, findings_on_columns, score_rounding
from separatrix.models.parameters import Fitting
from separatrix.solve.limits import limit_of_the_rest
from separatrix.solve.linear import LinearFit, Problem
from separatrix.solve.newton import FLAT, STUCK
from separatrix.solve.registry import SOLVERS
from separatrix.verdict import build
from separatrix.verdict.gaps import certify
from separatrix.verdict.separability import Separability
from separatrix.verdict.verdict import Status, Verdict

Limits = tuple[LinearRule, FloatArray, float]
FLAT_INFORMATION = 1e-10  # reciprocal condition below which a direction has next to no information
NEAR_THE_EDGE = 1e-7  # distance of a score from the end of its link's range, relatively, that is no distance


def glm_verdict(
    model: Fitting, fit: LinearFit, existence: Existence, likelihood: Likelihood
) -> tuple[Verdict, Limits | None]:
    """The verdict, and where no estimate exists the limits of the weights."""
    if existence.one_ended:
        return _all_at_one_end(model, fit, existence)
    if existence.proof is not None and existence.proof.kind != "overlap":
        return _separated(model, fit, existence)
    problem = existence.glm.problem
    outcome = fit.outcome
    value, gap, unique = outcome.value, outcome.gap, outcome.unique
    proven = problem.kind.proven and not np.isnan(problem.loss.bend)
    rounding = max(score_rounding(problem, fit) ** 2, outcome.floor)
    target = max(SOLVERS[fit.solver].goal(float(model.tol)), 1e-13) * abs(value) + 2 * rounding
    # where columns fit every row, F is a difference of sums that leaves nothing: it is known to their rounding
    null = existence.glm.null_deviance / (2 * problem.rows.total_weight)
    target += EPS * null if np.isfinite(null) else 0.0
    if proven and outcome.stopped_by not in STOPPED_EARLY and not gap <= target:
        certificate = certify(fit.objective, outcome.theta)
        value, gap = certificate.objective, min(gap, certificate.gap)
        unique = unique or certificate.unique
    if np.isfinite(gap):
        gap = max(gap, rounding)
    status: Status = "not converged"
    edge = ""
    if outcome.stopped_by == "interrupted":
        status = "interrupted"
    elif gap <= target:
        status = "optimal"
    elif not proven and outcome.stopped_by in (FLAT, STUCK, "rounding: no further decrease"):
        edge = _at_the_edge(problem, likelihood)
        small = outcome.stopped_by != STUCK or _left(likelihood) <= 1e-9 * abs(value)
        status = "stationary" if small and not edge else "not converged"
        unique = True if status == "stationary" and _convex(problem) else None
    if len(fit.aliased) or likelihood.constant:
        unique = False if status in ("optimal", "stationary") else unique
    parabola = problem.kind.proven and problem.loss.bend == 0
    stopped = outcome.stopped_by
    if parabola and status == "optimal" and outcome.iterations == 1:
        stopped = "one Newton step"
    verdict = build.proven(
        model, scale="mean loss", objective=value, gap=gap, tol=target, unique=unique, status=status,
        stopped_by=stopped, sweeps=fit.sweeps, seconds=fit.seconds, separation=_checkable(existence),
        findings=[*_findings(model, fit, existence, likelihood, status), *([edge] if edge else [])],
    )  # fmt: skip
    return verdict, None


def _at_the_edge(problem: Problem, likelihood: Likelihood) -> str:
    """Why a point whose Newton step is nothing is no stationary point; empty where it is one."""
    if likelihood.factor.singular or likelihood.factor.reciprocal_condition < FLAT_INFORMATION:
        return "edge: the information vanishes in a direction: weights of it may run away; look at columns and link"
    if not isinstance(problem.loss, GlmLoss) or problem.loss.interval == (-np.inf, np.inf):
        return ""
    low, high = problem.loss.interval
    eta, s = likelihood.eta, likelihood.seen.weight
    eta = eta if s is None else eta[s > 0]
    spread = float(np.abs(eta).max())
    room = min(float(eta.min()) - low, high - float(eta.max()))
    if room > NEAR_THE_EDGE * spread:
        return ""
    i = int(np.argmin(np.minimum(likelihood.eta - low, high - likelihood.eta)))
    return (
        f"edge: the likelihood rises up to where the {problem.loss.link.name} link ends (row {i}), so there is "
        f"no maximum inside; choose a link that takes every score"
    )


def _left(likelihood: Likelihood) -> float:
    """½ν² at the end: a parabola's word on how far the minimum is."""
    g = likelihood.at.gradient.ravel()
    return max(0.5 * float(likelihood.factor.solve(g) @ g), 0.0)


def _convex(problem: Problem) -> bool:
    return problem.kind.proven and (not isinstance(problem.loss, GlmLoss) or problem.loss.convex)


def _checkable(existence: Existence) -> Separability | None:
    """The proof, where it speaks of the user's own rows as two classes."""
    y = existence.glm.seen.y
    two = existence.glm.family.name == "binomial" and bool(np.all((y == 0) | (y == 1)))
    return existence.proof if two and existence.glm.seen.weight is None else None


def _findings(
    model: Fitting, fit: LinearFit, existence: Existence, likelihood: Likelihood, status: Status
) -> list[str]:
    problem = existence.glm.problem
    findings = list(existence.glm.seen.findings)
    if problem.kind.proven and problem.loss.bend == 0:
        findings.append("the objective is a parabola: one Newton step from anywhere is its minimum")
    if not problem.kind.proven:
        findings.append(FIRTH)
    elif status == "stationary":
        words = f"the score vanishes (½ν² = {_left(likelihood):.0e}) and the information is positive definite"
        if _convex(problem):
            findings.append(
                f"{words}; the loss is convex, so this is the minimum, though no distance from it is proven"
            )
        else:
            findings.append(
                f"{words}: a local maximum of the likelihood; that it is the global one is not proven"
            )
    if existence.undecided:
        findings.append(existence.undecided)
    if existence.in_doubt and existence.proven:
        findings.append("separation: none — an estimate exists (proven)")
    same = "means, and have no standard errors"
    findings += findings_on_columns(model, problem, fit, score_rounding(problem, fit), same)
    if likelihood.estimates_dispersion and not likelihood.df_residual > 0:
        findings.append("dispersion: as many parameters as observations, so none is left to estimate it from")
    return findings


def _separated(model: Fitting, fit: LinearFit, existence: Existence) -> tuple[Verdict, Limits]:
    proof = existence.proof
    assert proof is not None and proof.direction is not None
    rule = proof.limiting_rule(LinearRule(fit.coef, fit.intercept))
    if proof.kind == "quasi" or existence.glm.family.name != "binomial":
        rule = limit_of_the_rest(existence.glm.problem, rule)
    coef, intercept = proof.limits()
    coef = np.where(coef[0] == 0, rule.coef, coef[0])
    b = float(intercept[0]) if intercept[0] != 0 else float(rule.intercept)
    verdict = build.no_optimum(
        model, objective=fit.outcome.value, sweeps=fit.sweeps, seconds=fit.seconds,
        stopped_by=fit.outcome.stopped_by,
        findings=(
            _sentence(existence, proof),
            f"a direction along which the likelihood never falls is in verdict_.direction ({proof.n_rows} "
            "rows checked)",
            _remedies(existence),
        ),
        direction=proof.direction, columns=proof.columns, separation=_checkable(existence),
    )  # fmt: skip
    return verdict, (rule, coef, b)


def _remedies(existence: Existence) -> str:
    ways = ["alpha > 0"]
    if existence.glm.family.name in ("binomial", "poisson"):
        ways.insert(0, 'penalty="firth"')
    if existence.glm.family.name == "binomial":
        ways.append("BayesianLogisticRegression")
    return f"try {' or '.join(ways)}: a finite estimate"


def _sentence(existence: Existence, proof: Separability) -> str:
    if existence.glm.family.name == "binomial":
        return proof.sentence()
    text = proof.sentence().replace("quasi-separated", "separated")
    return text.replace("the classes are", "zeros and positive counts are")


def _all_at_one_end(model: Fitting, fit: LinearFit, existence: Existence) -> tuple[Verdict, Limits]:
    problem = existence.glm.problem
    s = existence.glm.seen.weight
    y = existence.glm.seen.y if s is None else existence.glm.seen.y[s > 0]
    up = bool(y[0] == 1) and existence.glm.family.name == "binomial"
    coef, b = np.full(problem.rows.p, np.nan), np.inf if up else -np.inf
    if not problem.fit_intercept:
        assert existence.push is not None
        rule, b = LinearRule(fit.coef + existence.push, np.asarray(0.0)), 0.0
    else:
        rule = LinearRule(np.zeros(problem.rows.p), np.asarray(40.0 if up else -745.0))
    verdict = build.no_optimum(
        model, objective=fit.outcome.value, sweeps=fit.sweeps, seconds=fit.seconds,
        stopped_by=fit.outcome.stopped_by,
        findings=(
            f"every response is {y[0]:g}, so the {'intercept' if problem.fit_intercept else 'scores'} "
            f"run{'s' if problem.fit_intercept else ''} to {'+' if up else '−'}∞ and the weights say nothing",
            "responses that differ, or a prior, are needed: there is nothing to estimate",
        ),
    )  # fmt: skip
    return verdict, (rule, coef, float(b))
