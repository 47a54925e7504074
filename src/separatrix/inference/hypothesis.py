"""Tests of a linear hypothesis Aβ = r by the three classic statistics, and intervals ([6867] 3.2.3; row D8).

    Wald                (Aβ̂ − r)ᵀ (A V Aᵀ)⁻¹ (Aβ̂ − r)        how far the estimate is, in its own errors
    likelihood ratio    2 (ℓ(β̂) − ℓ(β̃)) / φ                   what the constraint costs; β̃ the constrained maximum
    score (Rao)         U(β̃)ᵀ I(β̃)⁻¹ U(β̃) / φ                 how steep the likelihood still is at β̃

Each is χ² with rank A degrees of freedom, and divided by them F where φ is estimated. Wald costs nothing; the
others a constrained fit, 3–5 sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.special

from separatrix.core.numerics import FloatArray
from separatrix.inference.likelihood import Likelihood
from separatrix.inference.profile import Constrained, constrained_minimum, interval_end
from separatrix.verdict.gaps import factorise

METHODS = ("wald", "lr", "score")


@dataclass(frozen=True)
class Test:
    """A statistic, its law, and the probability of one at least as large under the hypothesis.

    ``df_residual`` is None for a χ² with ``df`` degrees of freedom, else the law is F(df, df_residual).

    >>> print(Test("lr", "age = 0", 3.84, 1, None))
    likelihood ratio test of age = 0: χ² = 3.84 on 1 df, p = 0.05004
    """

    __test__ = False  # not one of pytest's

    method: str
    hypothesis: str
    statistic: float
    df: int
    df_residual: float | None

    @property
    def p_value(self) -> float:
        if self.df_residual is None:
            return float(scipy.special.chdtrc(self.df, self.statistic))
        return float(scipy.special.fdtrc(self.df, self.df_residual, self.statistic))

    def __str__(self) -> str:
        name = {"wald": "Wald", "lr": "likelihood ratio", "score": "score"}[self.method]
        law = "χ²" if self.df_residual is None else "F"
        on = f"{self.df} df" if self.df_residual is None else f"{self.df} and {self.df_residual:g} df"
        return (
            f"{name} test of {self.hypothesis}: {law} = {self.statistic:.4g} on {on}, p = {self.p_value:.4g}"
        )


def linear_test(
    fit: Likelihood, a: FloatArray, r: FloatArray, name: str, method: str, covariance: FloatArray
) -> Test:
    """Test Aβ = r, A (c, k) over ``fit.names``; ``covariance`` (inner) is what Wald's statistic takes."""
    inner = a @ fit.user_map
    df = int(np.linalg.matrix_rank(inner / np.linalg.norm(inner, axis=1, keepdims=True)))
    if df < len(a):
        raise ValueError(f"the {len(a)} conditions {name} repeat each other: {df} of them say all")
    residual = fit.df_residual if fit.estimates_dispersion else None
    if method == "wald":
        miss = a @ fit.beta - r
        statistic = float(miss @ np.linalg.solve(inner @ covariance @ inner.T, miss))
    else:
        found = restricted(fit, inner, r)
        if method == "lr":
            statistic = 2.0 * fit.weight * (found.at.value - fit.at.value) / fit.dispersion
        else:
            g = found.at.gradient.T.ravel()
            bend = fit.information_at(found.theta, found.at)
            statistic = fit.weight * float(g @ factorise(bend).solve(g)) / fit.dispersion
    statistic = max(statistic, 0.0) / (1.0 if residual is None else df)
    return Test(method, name, statistic, df, residual)


def restricted(fit: Likelihood, inner: FloatArray, r: FloatArray) -> Constrained:
    """The constrained maximum, or one sentence why there is none."""
    found = constrained_minimum(fit.objective, fit.theta, fit.at, inner, np.asarray(r, dtype=float))
    if not found.reached:
        raise ValueError(
            "the fit under the hypothesis was not found: with this link its means leave their range; "
            'use method="wald", or a link that takes every score'
        )
    return found


def quantile(fit: Likelihood, level: float) -> float:
    """The two-sided quantile of an interval: normal, or Student's where φ is estimated."""
    tail = 0.5 * (1.0 + level)
    if not fit.estimates_dispersion:
        return float(scipy.special.ndtri(tail))
    return float(scipy.special.stdtrit(fit.df_residual, tail)) if fit.df_residual > 0 else np.nan


def tail_probability(fit: Likelihood, statistic: FloatArray) -> FloatArray:
    """P(|Z| ≥ |z|) of each statistic, by Student's law where φ is estimated."""
    size = -np.abs(statistic)
    if not fit.estimates_dispersion:
        return np.asarray(2.0 * scipy.special.ndtr(size))
    return np.asarray(2.0 * scipy.special.stdtr(fit.df_residual, size))


def profile_interval(fit: Likelihood, j: int, level: float) -> tuple[float, float]:
    """The values of parameter j whose likelihood-ratio test keeps them."""
    if not fit.estimable[j]:
        return np.nan, np.nan
    rise = 0.5 * quantile(fit, level) ** 2 * fit.dispersion / fit.weight
    a = fit.user_map[j]
    low, high = (interval_end(fit.objective, fit.theta, fit.at, a, rise, sign) for sign in (-1, 1))
    return low, high
