"""Errors, intervals, tests and a summary of an unpenalised fit of ordered classes, as R's ``polr`` prints them.

    Cov(β, θ) = J (W·H)⁻¹ Jᵀ,     H the observed information at the estimate, J the way to the user's units

**Proportional odds**, that all thresholds share one β, are tested by Rao's score in the model where each has its own,
s_k = θ_k − x·β_k: with u_i = ∂ log P(y_i)/∂s and T_i = E u_i u_iᵀ, which is tridiagonal,

    UᵀI⁻¹U,   U = Σ_i s_i u_i ⊗ (−x_i, 1),   I = Σ_i s_i T_i ⊗ (−x_i, 1)(−x_i, 1)ᵀ,     χ² on p (K − 2) df

at the fit in hand: no model in which the lines cross, and probabilities turn negative, is ever fitted. Cost of the
test: one sweep, O(nKp²), and O((Kp)³).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from separatrix.core.cumulative import CumulativeLink
from separatrix.core.numerics import EPS, FloatArray, xlogx
from separatrix.core.statistic import Statistic
from separatrix.data.engine import one_blas_thread, sweep
from separatrix.data.rows import Block
from separatrix.problems.coordinates import Coordinates
from separatrix.solve.ordinal import OrdinalFit, OrdinalProblem
from separatrix.verdict.gaps import factorise

if TYPE_CHECKING:  # loaded when asked for: a plain fit imports none of it
    from separatrix.inference.hypothesis import Test
    from separatrix.inference.summary import Summary

MOST = 3000  # parameters of the model with a line for each threshold
KEPT = 1e-6  # share of a parameter in a direction that the data do not see, from which it has no error
NO_ROWS = (
    "the proportional-odds test needs the rows of the fit, which a file or a pickle leaves behind: fit again"
)


@dataclass(frozen=True)
class OrdinalLikelihood:
    """The likelihood at the estimates: ``covariance`` of (β, θ), NaN where the data tell none."""

    names: tuple[str, ...]
    covariance: FloatArray
    log_likelihood: float
    null_log_likelihood: float
    count: float
    parameters: int
    problem: OrdinalProblem | None = None

    @classmethod
    def of(
        cls, problem: OrdinalProblem, fit: OrdinalFit, columns: Any, classes: np.ndarray, exists: bool
    ) -> OrdinalLikelihood:
        labels = classes.tolist()
        own = [f"x{j}" for j in range(problem.rows.p)] if columns is None else map(str, columns)
        names = (*own, *(f"{a}|{b}" for a, b in pairwise(labels)))
        totals = fit.objective.class_weights
        count = float(totals.sum())
        covariance, parameters = _covariance(problem, fit, exists)
        null = float(xlogx(totals / count).sum()) * count
        return cls(names, covariance, -fit.outcome.value * count, null, count, parameters, problem)

    def without_rows(self) -> OrdinalLikelihood:
        return replace(self, problem=None)


def _covariance(problem: OrdinalProblem, fit: OrdinalFit, exists: bool) -> tuple[FloatArray, int]:
    """The covariance of (β, θ), and how many parameters the data determine."""
    size = problem.rows.p + problem.n_classes - 1
    none = np.full((size, size), np.nan)
    live = (
        int(np.count_nonzero(fit.objective.coordinates.scale))
        if fit.objective.coordinates.basis is None
        else 0
    )
    parameters = (live or fit.objective.coordinates.size) + problem.n_classes - 1
    hessian = None if fit.outcome.last is None else fit.outcome.last.hessian
    if not exists or hessian is None or problem.spans:
        return none, parameters
    factor = factorise(hessian)
    if factor.singular:
        return none, parameters
    J = fit.objective.chart()
    found = J @ factor.solve(np.ascontiguousarray(J.T)) / problem.rows.total_weight
    lost = np.zeros(size, dtype=bool)
    lost[: problem.rows.p] = problem.moments.constant
    lost[fit.aliased] = True
    if len(fit.aliased) and problem.moments.mean[fit.aliased].any():
        lost[problem.rows.p :] = True
    found[lost] = found[:, lost] = np.nan
    return found, parameters


class OrdinalInference:
    """What an unpenalised fit of ordered classes offers beside its numbers."""

    coef_: np.ndarray
    thresholds_: np.ndarray
    verdict_: Any

    def _likelihood(self) -> OrdinalLikelihood:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if "_likelihood_" in state:
            state["_likelihood_"] = state["_likelihood_"].without_rows()
        return state

    def _told(self) -> OrdinalLikelihood:
        """The likelihood, or an AttributeError with the sentence why there is none."""
        if "classes_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted")
        try:
            return self._likelihood()
        except ValueError as error:
            raise AttributeError(f"{type(self).__name__} has no likelihood here: {error}") from None

    @property
    def covariance_(self) -> FloatArray:
        """Covariance of the weights and thresholds (p + K − 1, p + K − 1)."""
        return self._told().covariance

    @property
    def log_likelihood_(self) -> float:
        """log p(y | X) at the estimates."""
        return self._told().log_likelihood

    @property
    def deviance_(self) -> float:
        """−2 log p(y | X)."""
        return -2.0 * self._told().log_likelihood

    @property
    def null_deviance_(self) -> float:
        """−2 Σ_k W_k log(W_k/W): the deviance of thresholds alone."""
        return -2.0 * self._told().null_log_likelihood

    @property
    def aic_(self) -> float:
        """2k − 2 log p(y | X), k the weights and thresholds."""
        fit = self._told()
        return 2.0 * fit.parameters - 2.0 * fit.log_likelihood

    @property
    def bic_(self) -> float:
        """k log n − 2 log p(y | X)."""
        fit = self._told()
        return float(np.log(fit.count)) * fit.parameters - 2.0 * fit.log_likelihood

    def covariance(self) -> FloatArray:
        """Covariance of the estimates, the inverse of the observed information: weights, then thresholds."""
        return self._likelihood().covariance.copy()

    def standard_errors(self) -> FloatArray:
        """√diag of :meth:`covariance`: (p + K − 1,)."""
        return np.sqrt(np.diag(self._likelihood().covariance))

    def confidence_intervals(self, level: float = 0.95) -> FloatArray:
        """(low, high) of each weight and threshold, estimate ± quantile · error: (p + K − 1, 2)."""
        error = self.standard_errors()
        if not 0 < float(level) < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}")
        reach = float(ndtri(0.5 + 0.5 * float(level))) * error
        return np.column_stack([self._estimates() - reach, self._estimates() + reach])

    def summary(self, level: float = 0.95, *, exponentiate: bool = False) -> Summary:
        """The table that R's ``summary(polr(…))`` prints, with p-values and intervals, and the verdict below it.

        With ``exponentiate`` coef, low and high are e to their power: under the logit the factors by which a column
        multiplies the odds of a higher class.
        """
        from separatrix.inference.summary import Summary

        fit, error, ends = self._likelihood(), self.standard_errors(), self.confidence_intervals(level)
        show = np.exp if exponentiate else np.asarray
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            z = np.where(error > 0, self._estimates() / error, np.nan)
            columns = {
                "coef": show(self._estimates()), "se": error, "z": z,
                "p": np.asarray(2.0 * ndtr(-np.abs(z))), "low": show(ends[:, 0]), "high": show(ends[:, 1]),
            }  # fmt: skip
        header = [
            ("family", f"ordered, {len(self.thresholds_) + 1} classes"), ("link", str(self.link)),  # type: ignore[attr-defined]
            ("observations", f"{fit.count:,.6g}"), ("parameters", str(fit.parameters)),
        ]  # fmt: skip
        exists = self.verdict_.status != "no optimum"
        if exists:
            header += [
                ("deviance", f"{self.deviance_:.6g}"), ("null deviance", f"{self.null_deviance_:.6g}"),
                ("log-likelihood", f"{fit.log_likelihood:.6g}"), ("AIC", f"{self.aic_:.6g}"),
                ("BIC", f"{self.bic_:.6g}"), ("sweeps", f"{self.verdict_.sweeps:.3g}"),
            ]  # fmt: skip
        notes = [self.verdict_.headline()]
        if exists:
            notes.append(f"low, high: {100 * level:g} % Wald interval, normal law; observed information")
        else:
            notes.append("no standard errors, tests or intervals: an estimate that does not exist has none")
        if exponentiate:
            notes.append("coef, low, high: exponentiated; se, z and p are those of the logarithm")
        notes += self.verdict_.findings
        return Summary(type(self).__name__, tuple(header), fit.names, columns, tuple(notes))

    @one_blas_thread()
    def proportional_odds_test(self, columns: Sequence[str | int] | str | int | None = None) -> Test:
        """Whether all thresholds share one weight a column: Rao's score test against a weight for each threshold.

        ``columns`` : the columns (names or places) whose weights may differ under the alternative; None for all. A
        small ``p_value`` says that the effect of a column changes with the threshold.
        """
        fit = self._likelihood()
        if fit.problem is None:
            raise ValueError(NO_ROWS)
        if self.verdict_.status in ("no optimum", "not converged", "interrupted"):
            raise ValueError(
                f"the proportional-odds test is made at the estimate, and the fit has none (verdict: "
                f"{self.verdict_.status})"
            )
        if fit.problem.n_classes == 2:
            raise ValueError(
                "two classes have one threshold: there is nothing that it could share its weights with"
            )
        wanted = self._columns(fit, columns)
        which = "all columns" if columns is None else ", ".join(fit.names[j] for j in wanted[:4])
        return score_test(
            fit.problem, self.coef_, self.thresholds_, wanted, f"one weight for all thresholds, {which}"
        )

    def _columns(self, fit: OrdinalLikelihood, columns: Any) -> list[int]:
        check_is_fitted(self)
        own = fit.names[: len(self.coef_)]
        if columns is None:
            return list(range(len(own)))
        given = [columns] if isinstance(columns, (str, int, np.integer)) else list(columns)
        found = [own.index(c) if isinstance(c, str) and c in own else c for c in given]
        for c in found:
            if not (isinstance(c, (int, np.integer)) and -len(own) <= c < len(own)):
                raise ValueError(f"column {c!r} is not in the model: its columns are {', '.join(own[:8])}")
        return sorted({int(c) % len(own) for c in found})

    def _estimates(self) -> FloatArray:
        return np.concatenate([self.coef_, self.thresholds_]).astype(np.float64)


# ---- a weight for each threshold ----


@dataclass(frozen=True, eq=False)
class ThresholdSums(Statistic):
    """U and I of the model with a line for each threshold, thresholds slowest: (Q,) and (Q, Q)."""

    score: FloatArray
    information: FloatArray


def score_test(
    problem: OrdinalProblem, coef: FloatArray, thresholds: FloatArray, columns: list[int], words: str
) -> Test:
    """UᵀI⁻¹U against lines that differ in ``columns``; constant and repeated columns count for none."""
    from separatrix.inference.hypothesis import Test

    k, p = problem.n_classes - 1, problem.rows.p
    if k * (p + 1) > MOST:
        raise ValueError(
            f"a weight for each of {k} thresholds and {p} columns are {k * (p + 1):,} parameters, more than "
            f"{MOST:,}: fit a smaller model, and test that"
        )
    c = Coordinates.standard(problem.moments, True)
    t = c.inner(coef.astype(np.float64))
    tau = thresholds - c.centre @ coef
    total: ThresholdSums = sweep(_threshold_block, problem.rows, (problem.link, t, tau, c))[0]
    full = _directions(k, p, columns)
    U, I = full.T @ total.score, full.T @ total.information @ full
    statistic, rank = _quadratic(U, I)
    shared = _directions(k, p, [])
    df = rank - _quadratic(shared.T @ total.score, shared.T @ total.information @ shared)[1]
    if df <= 0:
        raise ValueError("the columns are constant or repeat others: there is nothing to test")
    return Test("score", words, statistic, df, None)


def _directions(k: int, p: int, columns: list[int]) -> FloatArray:
    """Changes of (β_1, τ_1, …, β_K−1, τ_K−1): thresholds, weights shared by all, and ``columns``' own beyond the
    first threshold."""
    q = p + 1
    free = np.zeros((k * q, k + p + (k - 1) * len(columns)))
    for j in range(k):
        free[j * q + p, j] = 1.0
        free[j * q + np.arange(p), k + np.arange(p)] = 1.0
        if j:
            free[
                j * q + np.array(columns, dtype=np.intp),
                k + p + (j - 1) * len(columns) + np.arange(len(columns)),
            ] = 1
    return free


def _quadratic(U: FloatArray, I: FloatArray) -> tuple[float, int]:
    """UᵀI⁺U and the rank of I, in units of its diagonal."""
    unit = np.sqrt(np.maximum(np.diag(I), 0.0))
    unit[unit == 0] = 1.0
    values, vectors = np.linalg.eigh(I / np.outer(unit, unit))
    keep = values > len(values) * 1e3 * EPS * values[-1]
    seen = vectors[:, keep].T @ (U / unit)
    return float(np.sum(seen**2 / values[keep])), int(keep.sum())


def _threshold_block(
    block: Block, task: tuple[CumulativeLink, FloatArray, FloatArray, Coordinates], _memo: Any
) -> tuple[ThresholdSums, None]:
    link, t, tau, c = task
    k, q = len(tau), len(t) + 1
    U, I = np.zeros((k, q)), np.zeros((k, q, k, q))
    for part in block.tiles(max(block.X.shape[1], q)):
        raw = block.dense(part)
        z = np.ones((len(raw), q))
        c.tile(raw, out=z[:, :-1])
        z[:, :-1] *= -1.0
        eta = -(z[:, :-1] @ t)
        s = np.ones(len(raw)) if block.weight is None else block.weight[part]
        codes = np.maximum(block.y[part], 0)
        found = link.pieces(eta, codes, tau)
        u = np.zeros((len(raw), k + 2))
        at = np.arange(len(raw))
        u[at, codes], u[at, codes + 1] = -found.at_lower, -found.at_upper
        U += (u[:, 1:-1] * s[:, None]).T @ z
        f, P = link.density(tau - eta[:, None]), np.exp(link.log_probabilities(eta, tau))
        with np.errstate(divide="ignore", invalid="ignore"):
            for j in range(k):
                own = f[:, j] ** 2 * (1.0 / P[:, j] + 1.0 / P[:, j + 1])
                I[j, :, j] += (z * _finite(own * s)[:, None]).T @ z
                if j + 1 < k:
                    across = (z * _finite(f[:, j] * f[:, j + 1] / P[:, j + 1] * s)[:, None]).T @ z
                    I[j, :, j + 1] -= across
                    I[j + 1, :, j] -= across.T
    return ThresholdSums(U.ravel(), I.reshape(k * q, k * q)), None


def _finite(values: FloatArray) -> FloatArray:
    """Nothing of a row that is so far from a threshold that both have underflowed."""
    return np.where(np.isfinite(values), values, 0.0)
