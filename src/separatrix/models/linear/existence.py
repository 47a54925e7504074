"""Whether a generalised linear model has an estimate at all, and the verdict on its fit ([6867] 3.2.2; rows D7, D8).

A likelihood that never stops rising in some direction d has no maximum. For responses at the end of their range:

    binomial   d·z ≥ 0 where y = 1,  ≤ 0 where y = 0,  = 0 where 0 < y < 1,  and ≠ 0 for some row
    counts     d·z ≤ 0 where y = 0,                     = 0 where y > 0,      and ≠ 0 for some row     (log link)

The second is separation of a Poisson, negative binomial or Tweedie model: a level without a single count has a
coefficient of −∞. Both are the separability of classes when a row in between is counted in both, so one proof serves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.linear import LinearRule
from separatrix.core.links import Link, Logit
from separatrix.core.numerics import FloatArray
from separatrix.core.responses import GlmLoss, Response
from separatrix.data.observations import Observations
from separatrix.data.rows import Rows
from separatrix.inference.likelihood import Likelihood
from separatrix.models.linear.verdicts import FIRTH, STOPPED_EARLY, listed, score_rounding
from separatrix.solve.limits import limit_of_the_rest
from separatrix.solve.linear import LinearFit, Problem, minimise
from separatrix.solve.newton import FLAT, STUCK
from separatrix.solve.registry import SOLVERS
from separatrix.verdict import build
from separatrix.verdict.facial import Undecided
from separatrix.verdict.gaps import certify
from separatrix.verdict.separability import Separability, separability_of_rows
from separatrix.verdict.verdict import Status, Verdict

Limits = tuple[LinearRule, FloatArray, float]
FLAT_INFORMATION = 1e-10  # reciprocal condition below which a direction has next to no information
NEAR_THE_EDGE = 1e-7  # distance of a score from the end of its link's range, relatively, that is no distance
ONE_SIDED = ("poisson", "negative_binomial", "tweedie")


@dataclass
class Existence:
    """What is known of whether an estimate exists; filled in as it is found out."""

    family: Response
    link: Link
    problem: Problem
    seen: Observations
    proof: Separability | None = None
    undecided: str = ""
    proven: bool = False  # that an estimate exists
    push: FloatArray | None = None  # without an intercept, weights along which they follow
    one_ended: bool = False  # all responses are at one end of their range, and all scores can follow them

    @cached_property
    def in_doubt(self) -> bool:
        """Whether the likelihood could rise for ever: no penalty, and responses at the end of their range."""
        if self.problem.ridge > 0 or not self.problem.kind.proven:
            return False
        y = self.seen.y
        if self.family.name == "binomial":
            return self.link.name in ("logit", "probit", "cloglog") and bool(np.any((y == 0) | (y == 1)))
        return self.family.name in ONE_SIDED and self.link.name == "log" and bool(np.any(y == 0))


def worth_a_proof(problem: Problem, fit: LinearFit, existence: Existence) -> bool:
    """Whether the fit itself leaves the question open."""
    if not existence.in_doubt or fit.outcome.stopped_by == "interrupted":
        return False
    existence.proven = bool(np.isfinite(fit.outcome.gap)) and not fit.outcome.runaway
    return not existence.proven


def glm_existence(model: Any, problem: Problem, existence: Existence) -> tuple[Separability | None, str]:
    """The proof of separation, or None beside ``existence.proven``; a sentence where neither was found."""
    if existence.family.name == "binomial" and existence.link.name != "logit" and _logit_exists(existence):
        existence.proven = True  # the same rows overlap under every link that rises from 0 to 1
        return None, ""
    if _one_ended(existence):
        if not problem.fit_intercept:
            existence.push = _push(problem, existence)
        existence.one_ended = problem.fit_intercept or existence.push is not None
        existence.proven = not existence.one_ended
        return None, ""
    rows, codes = _as_classes(existence)
    try:
        found = separability_of_rows(
            rows.with_targets(codes, None),
            rows.moments(),
            2,
            fit_intercept=problem.fit_intercept,
            names=getattr(model, "feature_names_in_", None),
            classes=(0, 1),
        )
    except Undecided as undecided:
        return None, str(undecided)
    existence.proven = found.kind == "overlap"
    return found, ""


def _logit_exists(existence: Existence) -> bool:
    """Whether the logit fit of the same rows proves a maximum."""
    problem, seen = existence.problem, existence.seen
    target = seen.y if seen.offset is None else np.column_stack([seen.y, seen.offset])
    rows = problem.rows.with_targets(target, problem.rows.weight)
    logit = Problem(rows, problem.moments, GlmLoss(existence.family, Logit()), 0.0, problem.fit_intercept)
    fit = minimise(logit, SOLVERS["newton"], tol=1e-4, max_iter=30)
    return bool(np.isfinite(fit.outcome.gap)) and not fit.outcome.runaway


def _one_ended(existence: Existence) -> bool:
    """Whether every response that weighs something is 0 (or, binomial, every one is 1)."""
    y, s = existence.seen.y, existence.seen.weight
    y = y if s is None else y[s > 0]
    return bool(np.all(y == 0) or (existence.family.name == "binomial" and np.all(y == 1)))


def _push(problem: Problem, existence: Existence) -> FloatArray | None:
    """Without an intercept: weights that move every score towards the responses' end and one by 60; None if "
    "none do."""
    from scipy.optimize import linprog

    rows, s = problem.rows, existence.seen.weight
    cells = _cells(rows)
    cells = cells if s is None else cells[s > 0]
    x = np.asarray(cells.toarray() if not isinstance(cells, np.ndarray) else cells, dtype=float)
    size = np.abs(x).max(axis=0)
    x = x / np.where(size > 0, size, 1.0)
    up = existence.family.name == "binomial" and bool(
        existence.seen.y[0 if s is None else np.argmax(s > 0)] == 1
    )
    a = -x if up else x  # a·d ≤ 0 for every row
    found = linprog(a.sum(axis=0), A_ub=a, b_ub=np.zeros(len(a)), bounds=[(-1.0, 1.0)] * x.shape[1])
    if found.status != 0 or found.x is None or found.fun is None or not found.fun < -1e-9:
        return None
    scores = np.abs(a @ found.x)
    direction = found.x / np.where(size > 0, size, 1.0)
    return direction * (60.0 / float(scores[scores > 1e-9].min()))


def _cells(rows: Rows) -> Any:
    return np.vstack([rows.block(i).X for i in range(rows.n_blocks)]) if rows.lazy else rows.source


def _as_classes(existence: Existence) -> tuple[Rows, np.ndarray]:
    """Rows and classes 0, 1; a row whose response is in between stands in both."""
    rows, y, s = existence.problem.rows, existence.seen.y, existence.seen.weight
    cells = _cells(rows)
    keep = np.arange(rows.n) if s is None else np.flatnonzero(s > 0)
    y = y[keep]
    top = y == 1 if existence.family.name == "binomial" else np.zeros(len(y), dtype=bool)
    between = np.flatnonzero((y > 0) & ~top)
    if len(between) == 0 and len(keep) == rows.n:
        return Rows.of(cells), top.astype(np.intp)
    order = np.concatenate([keep, keep[between]])
    codes = np.concatenate([(y > 0).astype(np.intp), np.zeros(len(between), dtype=np.intp)])
    return Rows.of(cells[order]), codes


def glm_verdict(
    model: Any, problem: Problem, fit: LinearFit, existence: Existence, likelihood: Likelihood
) -> tuple[Verdict, Limits | None]:
    """The verdict, and where no estimate exists the limits of the weights."""
    if existence.one_ended:
        return _all_at_one_end(model, problem, fit, existence)
    if existence.proof is not None and existence.proof.kind != "overlap":
        return _separated(model, problem, fit, existence)
    outcome = fit.outcome
    value, gap, unique = outcome.value, outcome.gap, outcome.unique
    proven = problem.kind.proven and not np.isnan(problem.loss.bend)
    rounding = score_rounding(problem, fit) ** 2
    target = max(SOLVERS[fit.solver].goal(float(model.tol)), 1e-13) * abs(value) + 2 * rounding
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
        findings=[*_findings(model, problem, fit, existence, likelihood, status), *([edge] if edge else [])],
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
        f"edge: the likelihood rises up to where the {problem.loss.link.name} link ends (row {i}), so there "
        "is no maximum "
        "inside; choose a link that takes every score"
    )


def _left(likelihood: Likelihood) -> float:
    """½ν² at the end: a parabola's word on how far the minimum is."""
    g = likelihood.at.gradient.ravel()
    return max(0.5 * float(likelihood.factor.solve(g) @ g), 0.0)


def _convex(problem: Problem) -> bool:
    return problem.kind.proven and (not isinstance(problem.loss, GlmLoss) or problem.loss.convex)


def _checkable(existence: Existence) -> Separability | None:
    """The proof, where it speaks of the user's own rows as two classes."""
    y = existence.seen.y
    two = existence.family.name == "binomial" and bool(np.all((y == 0) | (y == 1)))
    return existence.proof if two and existence.seen.weight is None else None


def _findings(
    model: Any, problem: Problem, fit: LinearFit, existence: Existence, likelihood: Likelihood, status: str
) -> list[str]:
    findings = list(existence.seen.findings)
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
    if len(fit.aliased):
        findings.append(
            f"aliased: columns {listed(model, fit.aliased)} are linearly dependent; the weights shown are the "
            "shortest of "
            "all that give the same means, and have no standard errors"
        )
    if likelihood.constant:
        findings.append(
            f"constant: {listed(model, np.array(likelihood.constant))}, weight 0: the intercept says the same"
        )
    score_error = score_rounding(problem, fit)
    if score_error > 1e-9:
        findings.append(
            f"precision: columns nearly cancel each other, so that scores are good to about {score_error:.0e}"
        )
    if likelihood.estimates_dispersion and not likelihood.df_residual > 0:
        findings.append("dispersion: as many parameters as observations, so none is left to estimate it from")
    return findings


def _separated(model: Any, problem: Problem, fit: LinearFit, existence: Existence) -> tuple[Verdict, Limits]:
    proof = existence.proof
    assert proof is not None and proof.direction is not None
    rule = proof.limiting_rule(LinearRule(fit.coef, fit.intercept))
    if proof.kind == "quasi" or existence.family.name != "binomial":
        rule = limit_of_the_rest(problem, rule)
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
    if existence.family.name in ("binomial", "poisson"):
        ways.insert(0, 'penalty="firth"')
    if existence.family.name == "binomial":
        ways.append("BayesianLogisticRegression")
    return f"try {' or '.join(ways)}: a finite estimate"


def _sentence(existence: Existence, proof: Separability) -> str:
    if existence.family.name == "binomial":
        return proof.sentence()
    text = proof.sentence().replace("quasi-separated", "separated")
    return text.replace("the classes are", "zeros and positive counts are")


def _all_at_one_end(
    model: Any, problem: Problem, fit: LinearFit, existence: Existence
) -> tuple[Verdict, Limits]:
    s = existence.seen.weight
    y = existence.seen.y if s is None else existence.seen.y[s > 0]
    up = bool(y[0] == 1) and existence.family.name == "binomial"
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
