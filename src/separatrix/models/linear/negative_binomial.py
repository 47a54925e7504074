"""Negative binomial models whose size is estimated beside the weights, as MASS's glm.nb does ([6867] 3.1.3; row D8).

    max over (w, b, k) of ℓ(w, b, k):   weights for a given size  ⇄  size for given means, until neither moves

The two are nearly independent (their expected information is zero), so a round settles most digits; the rounds are
sped up by the secant of log k' − log k. Where counts are no more spread out than a Poisson's the likelihood rises
towards k = ∞: the Poisson model is fitted, and that is said. Cost: 4–6 warm fits, each 2–4 sweeps, and O(n) a round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix.core.links import Link
from separatrix.core.numerics import FloatArray
from separatrix.core.overdispersion import LARGE, best_size, first_size, size_information, size_log_likelihood
from separatrix.core.responses import NegativeBinomial, Poisson
from separatrix.data.observations import Observations
from separatrix.models.linear.existence import Existence
from separatrix.models.linear.glm_problem import GlmProblem
from separatrix.models.linear.separation import joined
from separatrix.problems.influence import row_scores
from separatrix.solve.linear import LinearFit

ROUNDS = 60
ROUNDING = 1e-12  # of a log-likelihood
FitWeights = Callable[[GlmProblem, tuple[FloatArray, FloatArray] | None], tuple[Existence, LinearFit]]
STILL = 1e-9  # log k' − log k at which the two agree


@dataclass(frozen=True)
class SizeFit:
    """A fit of the family it ended in, the size (MASS's theta), its standard error, and what to say."""

    existence: Existence
    fit: LinearFit
    size: float
    error: float
    words: str
    warning: str = ""
    settled: bool = True


def fit_with_size(fit_weights: FitWeights, glm: GlmProblem) -> SizeFit:
    """Weights and size together; ``glm`` is that of any size."""
    seen, link = glm.seen, glm.link
    s = np.ones(len(seen.y)) if seen.weight is None else seen.weight
    y = np.where(s > 0, seen.y, 0.0)
    existence, fit = fit_weights(glm.of_family(Poisson()), None)
    if not (s * y).any():
        words = "theta: every response is 0, so there is nothing to estimate it from"
        return SizeFit(existence, fit, np.nan, np.nan, words)
    if fit.outcome.stopped_by == "interrupted":
        words = "theta: interrupted before it was estimated; the weights are a Poisson model's"
        return SizeFit(existence, fit, np.nan, np.nan, words)
    mu = _means(fit, seen, link, s)
    plain, k, before = (existence, fit), first_size(y, mu, s), (np.nan, np.nan)
    at_infinity = _worth(np.inf, y, mu, s, fit)
    rounds, moved = 0, np.inf
    while rounds < ROUNDS:
        rounds += 1
        existence, new = fit_weights(glm.of_family(NegativeBinomial(k)), _usable(fit))
        fit = joined(fit, new)
        mu = _means(fit, seen, link, s)
        if fit.outcome.stopped_by == "interrupted":
            break
        found = best_size(y, mu, s, k)
        moved = float(np.log(found) - np.log(k)) if 0 < found < np.inf else 2.0 if found > 0 else -2.0
        if abs(moved) <= STILL:
            break
        t = float(np.log(k)) + _stride(float(np.log(k)), moved, before)
        before = float(np.log(k)), moved
        k = float(np.exp(t))
        if k >= LARGE:
            return _poisson(*plain)
    if abs(moved) <= STILL and _worth(k, y, mu, s, fit) <= at_infinity + ROUNDING * abs(at_infinity):
        return _poisson(*plain)
    information = size_information(k, y, mu, s)
    error = float(1.0 / np.sqrt(information)) if information > 0 else np.nan
    words = (
        f"theta: {k:.6g}, standard error {error:.3g}, by maximum likelihood beside the weights in {rounds} rounds; "
        "AIC and BIC count it, tests and intervals of the weights hold it"
    )
    settled = abs(moved) <= STILL
    if not settled:
        words = f"theta: {k:.6g} after {rounds} rounds, not settled" + (
            f": it still moves by {100 * abs(moved):.2g} %" if np.isfinite(moved) else ""
        )
    return SizeFit(existence, fit, k, error, words, settled=settled)


def _usable(last: LinearFit) -> tuple[FloatArray, FloatArray] | None:
    """The last fit's weights as a start, where they are finite."""
    return (last.coef, last.intercept) if not last.outcome.runaway and np.isfinite(last.coef).all() else None


def _means(fit: LinearFit, seen: Observations, link: Link, s: FloatArray) -> FloatArray:
    eta = row_scores(fit.objective, fit.outcome.theta)
    mu = link.inverse(eta if seen.offset is None else eta + seen.offset)
    return np.where(s > 0, mu, 0.0)


def _worth(k: float, y: FloatArray, mu: FloatArray, s: FloatArray, fit: LinearFit) -> float:
    """The log-likelihood (but for terms of y), less what a ridge takes: what sizes are compared by."""
    lost = 0.5 * fit.objective.ridge * float(s.sum()) * float(fit.coef @ fit.coef)
    return size_log_likelihood(k, y, mu, s) - lost


def _stride(t: float, moved: float, before: tuple[float, float]) -> float:
    """The next move of log k: the secant's where two rounds agree on a slope near −1, else the round's own."""
    slope = (moved - before[1]) / (t - before[0]) if np.isfinite(before[0]) and t != before[0] else np.nan
    return -moved / slope if -2.0 < slope < -0.3 else moved


def _poisson(existence: Existence, fit: LinearFit) -> SizeFit:
    words = (
        "theta: the counts are no more spread out than a Poisson's, so the likelihood rises up to theta = ∞: this is "
        "the Poisson model (AIC still counts theta)"
    )
    warning = (
        "the negative binomial's size has no finite estimate: the counts are no more spread out than a Poisson's, "
        'and the Poisson model was fitted (size_ is inf); use family="poisson", or give size='
    )
    return SizeFit(existence, fit, np.inf, np.nan, words, warning)
