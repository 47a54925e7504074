"""What a generalised linear model minimises, where it begins, and its means ([6867] 3.1.3, 3.2.3; row D8).

    the loss     Logistic of ±1 for 0/1 responses under the logit, else ½d(y, μ(η + offset)) of the family
    the start    the model without columns, where its mean lies inside the link for every row;
                 else R's: least squares on the links of the responses

Cost O(n) for the first start, one fit of least squares for the second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core import links
from separatrix.core.linear import LinearRule
from separatrix.core.links import Link
from separatrix.core.losses import Logistic, Loss
from separatrix.core.numerics import FloatArray
from separatrix.core.responses import Gaussian, GlmLoss, Response
from separatrix.data.observations import Observations
from separatrix.models.linear.null_model import null_deviance, null_intercept
from separatrix.solve.linear import Problem, minimise
from separatrix.solve.registry import NEWTON


@dataclass(frozen=True)
class GlmProblem:
    """Family, link and responses beside the rows and the loss they make."""

    family: Response
    link: Link
    problem: Problem
    seen: Observations

    def of_family(self, family: Response) -> GlmProblem:
        """The same rows and responses under another family."""
        loss, _ = glm_loss(family, self.link, self.seen, firth=not self.problem.kind.proven)
        return replace(self, family=family, problem=replace(self.problem, loss=loss))

    # ---- the model without columns ----

    @cached_property
    def null_intercept(self) -> float:
        return null_intercept(self.family, self.link, self.seen, self.problem.fit_intercept)

    @property
    def null_deviance(self) -> float:
        return null_deviance(
            self.family, self.link, self.seen, self.null_intercept, self.problem.fit_intercept
        )

    # ---- the start ----

    def has_value_at(self, coef: FloatArray, intercept: FloatArray) -> bool:
        """Whether the link gives every row a mean there."""
        objective = self.problem.objective()
        return bool(np.isfinite(objective.evaluate(objective.from_user(coef, intercept)).value))

    def start(self) -> tuple[FloatArray, FloatArray]:
        """Weights and intercept to begin from, inside the range of the link."""
        loss, middle = GlmLoss(self.family, self.link), np.asarray(self.null_intercept)
        fits = loss.interval == (-np.inf, np.inf)
        if not fits and self.problem.fit_intercept:
            eta = float(middle) + (np.zeros(1) if self.seen.offset is None else self.seen.offset)
            fits = bool(loss.domain(eta).all())
        return (np.zeros(self.problem.rows.p), middle) if fits else self._by_least_squares()

    def _by_least_squares(self) -> tuple[FloatArray, FloatArray]:
        """R's start: least squares on the links of the responses."""
        problem, seen = self.problem, self.seen
        mu = self.family.start(seen.y, 1.0 if seen.precision is None else seen.precision)
        target = self.link.eta(mu) - (0.0 if seen.offset is None else seen.offset)
        rows = problem.rows.with_targets(target, problem.rows.weight)
        loss = GlmLoss(Gaussian(), links.link("identity"))
        straight = Problem(rows, problem.moments, loss, 0.0, problem.fit_intercept)
        fit = minimise(straight, NEWTON, tol=1e-4, max_iter=5, exists=True)
        if not self.has_value_at(fit.coef, fit.intercept):
            raise ValueError(
                f"no weights were found whose means all lie in the range of the {self.link.name} link: add an "
                "intercept, or use a link that takes every score (log, logit)"
            )
        return fit.coef, fit.intercept


def glm_loss(family: Response, link: Link, seen: Observations, firth: bool) -> tuple[Loss, FloatArray]:
    """The loss and its targets: ±1 for 0/1 responses under the logit, else y, beside it the offset."""
    y = seen.y
    plain = family.name == "binomial" and link.name == "logit" and seen.offset is None
    if plain and bool(np.all((y == 0) | (y == 1))):
        return Logistic(), 2.0 * y - 1.0
    loss = GlmLoss(family, link)
    if not (loss.canonical or np.isnan(loss.range_factor) or firth):
        loss = replace(loss, observed=True)
    return loss, y if seen.offset is None else np.column_stack([y, seen.offset])


def known_dispersion(given: Any, family: Response) -> float | None:
    """1 where the family says so (an exponential is a Gamma of known dispersion), None where it is estimated."""
    exponential = isinstance(given, str) and given.strip().lower() == "exponential"
    return 1.0 if family.known_dispersion or exponential else None


def means(cells: Any, rule: LinearRule, link: Link, shift: FloatArray | None, kind: str) -> FloatArray:
    """Means, or scores, of rows; float32 rows give float32."""
    eta = rule.score(cells)
    kept = eta.dtype
    eta = eta if shift is None else eta + shift
    return np.asarray(eta if kind == "link" else link.inverse(eta), dtype=kept)
