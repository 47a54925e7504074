"""Least squares as a classifier:  min Σ_i s_i (w·x_i + b − t_i)²,  t = ±1  ([6867] 3.2.1; rows D1 and D9).

Kept as the honest bad example it is: it punishes points for being too far on the right side, so it can
fail to separate data that a line separates. One Newton step from anywhere is the answer ([PC]).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.linear import single_rounding
from separatrix.core.losses import Squared
from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Gram, Moments, QRFactor, trustworthy
from separatrix.data.checks import check_known, check_positive, is_positive
from separatrix.data.door import finite_moments, read_table, read_weights, rows_of
from separatrix.data.engine import sweep
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.rows import Block, Rows
from separatrix.data.sources import TableLike
from separatrix.models.base import LinearClassifier
from separatrix.models.linear.verdicts import single_findings
from separatrix.models.parameters import listed
from separatrix.solve.linear import LinearFit, Problem, in_span, minimise
from separatrix.solve.registry import NEWTON
from separatrix.verdict import build
from separatrix.verdict.from_objectives import Part, separated_classes, verdict_from_objectives
from separatrix.verdict.gaps import ROUNDING
from separatrix.verdict.verdict import Verdict

GRAM_IS_ENOUGH = 1e4  # condition up to which a Gram matrix keeps nine digits of the weights


@constructor
class LeastSquaresClassifier(LinearClassifier):
    """min (1/W) Σ_i s_i ½ (w·x_i + b − t_i)² + ½ λ ‖w‖²,  t_i = ±target or one-hot ([6867] 3.2.1).

    Parameters
    ----------
    target : t > 0: two classes are coded −t and +t; the surface does not depend on it
    coding : "sign" (two classes), "one-hot" (a column of 0 and t for each class), or "auto"
    alpha : λ·W, the ridge on the weights, 0 for none; the intercept is never penalised
    fit_intercept : whether b is fitted
    solver : "direct" (the normal equations, or a QR factor where those would lose digits) or "newton"
        (one step from zero, to see that one is enough)
    record_path : with "newton", keep start and end in ``path_``

    Attributes
    ----------
    coef_ : (1, p) or (K, p)
    intercept_ : (1,) or (K,)
    classes_, verdict_, rule_, n_iter_ : as in :class:`~separatrix.LogisticRegression`

    Notes
    -----
    One sweep, O(np²), or O(n²p) with fewer rows than columns; exact to rounding. Rank-deficient columns get the
    shortest weights and are named.

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [2.0], [30.0]])
    >>> y = ["no", "no", "yes", "yes"]
    >>> LeastSquaresClassifier().fit(X, y).predict(X).tolist()  # 2 is sacrificed to the point at 30
    ['no', 'no', 'no', 'yes']
    >>> from separatrix import LogisticRegression
    >>> LogisticRegression(C=10).fit(X, y).predict(X).tolist()
    ['no', 'no', 'yes', 'yes']
    """

    _: KW_ONLY
    target: float = 1.0
    coding: str = "auto"
    alpha: float = 0.0
    fit_intercept: bool = True
    solver: str = "direct"
    record_path: bool = False

    def fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LeastSquaresClassifier:
        """Fit to rows X (n, p) and labels y (n,)."""
        began = time.perf_counter()
        self._check_parameters()
        rows, moments = self._read(X, y, sample_weight, reset=True)
        self.n_iter_ = 1
        self.__dict__.pop("path_", None)
        wide = in_span(
            self._problems(rows, moments)[0]
        )  # fewer rows than columns: no matrix of columns is formed
        if not wide:
            statistic = self._statistic(rows)
            solution = statistic.solve(float(self.alpha) * statistic.weight / rows.total_weight)
            coef: FloatArray = solution.coef.T
            intercept: FloatArray
            intercept = (
                statistic.target_mean - coef @ statistic.mean if self.fit_intercept else np.zeros(len(coef))
            )
            value, gap = _value_and_gap(statistic, coef, float(self.alpha) / rows.total_weight)
            sweeps, aliased = 2.0 if isinstance(statistic, QRFactor) else 1.0, solution.aliased
        if wide or self.solver == "newton":
            coef, intercept, fits = self._newton(rows, moments)
            value, gap = sum(f.outcome.value for f in fits), sum(f.outcome.gap for f in fits)
            sweeps = sum(f.sweeps for f in fits)
            self.n_iter_ = max(f.outcome.iterations for f in fits)
            aliased = fits[0].aliased if wide else aliased
        self._keep_numbers(coef, intercept, rows, moments, bool(self.fit_intercept))
        shown = single_rounding(self.coef_, self.intercept_, np.sqrt(moments.variance))
        self.verdict_ = build.closed_form(
            self, scale="mean loss", objective=value, gap=max(gap, ROUNDING * value) + shown**2,
            tol=max(1e-12 * value, 1e-26) + 2 * shown**2, unique=len(aliased) == 0,
            stopped_by=f"solved in {'one Newton step' if self.solver == 'newton' else 'closed form'}",
            sweeps=sweeps + 1, seconds=time.perf_counter() - began,
            findings=(*self._findings(aliased), *single_findings(shown)),
        )  # fmt: skip
        return self

    def decision_function(self, X: TableLike) -> FloatArray:
        """w·x + b: (n,) for ± coding; (n, K) for one-hot, or its difference (n,) for two classes."""
        scores = super().decision_function(X)
        if len(self.classes_) == 2 and getattr(scores, "ndim", 1) == 2:
            return scores[:, 1] - scores[:, 0]
        return scores

    def _heads(self) -> tuple[int, ...]:
        k = len(self.classes_)
        return (1, 2) if k == 2 else (k,)  # two classes: one row for ± coding, two for one-hot

    def _check_parameters(self) -> None:
        check_positive("target", self.target, finite=True)
        check_known("coding", self.coding, "auto", "sign", "one-hot")
        if not (self.alpha == 0 or is_positive(self.alpha, finite=True)):
            raise ValueError(f"alpha must be zero or positive, got {self.alpha!r}")
        check_known("solver", self.solver, "direct", "newton")
        if self.record_path and self.solver != "newton":
            raise ValueError('record_path needs solver="newton": the direct solution has no path')

    def _read(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[Rows, Moments]:
        """Rows whose targets are (n, 1) or (n, K) numbers, and their moments."""
        X = read_table(self, X, reset=reset)
        rows = rows_of(self, X)
        weight = read_weights(sample_weight, rows.n)
        codes, _ = self._read_classes(y, weight, rows.n, reset=reset)
        if self.coding == "sign" and len(self.classes_) > 2:
            raise ValueError(f'coding="sign" is for two classes, found {len(self.classes_)}: use "one-hot"')
        t = float(self.target)
        if self.coding == "one-hot" or len(self.classes_) > 2:
            target = t * np.eye(len(self.classes_))[codes]
        else:
            target = np.where(codes == 1, t, -t)[:, None]
        rows = rows.with_targets(target, weight)
        return rows, finite_moments(self, rows)

    def _statistic(self, rows: Rows) -> Gram | QRFactor:
        """The Gram matrix where it keeps the digits, else a QR factor."""
        gram: Gram = sweep(_second_order, rows, (Gram, bool(self.fit_intercept)))[0]
        if trustworthy(gram, GRAM_IS_ENOUGH):
            return gram
        factor: QRFactor = sweep(_second_order, rows, (QRFactor, bool(self.fit_intercept)))[0]
        return factor

    def _newton(self, rows: Rows, moments: Moments) -> tuple[FloatArray, FloatArray, list[LinearFit]]:
        """One Newton step from zero for each column of targets, through the ordinary solver."""
        how: dict[str, Any] = {"tol": 1e-16, "max_iter": 20, "record": self.record_path}
        fits = [minimise(problem, NEWTON, **how) for problem in self._problems(rows, moments)]
        if self.record_path:
            self.path_ = fits[0].path if len(fits) == 1 else [f.path for f in fits]
        return np.array([f.coef for f in fits]), np.array([float(f.intercept) for f in fits]), fits

    def _problems(self, rows: Rows, moments: Moments) -> list[Problem]:
        """One least-squares problem a target column."""
        ridge, one = float(self.alpha) / rows.total_weight, bool(self.fit_intercept)
        each = (rows.with_targets(column, rows.weight) for column in np.ascontiguousarray(rows.y.T))
        return [Problem(part, moments, Squared(), ridge, one) for part in each]

    def _findings(self, aliased: np.ndarray) -> list[str]:
        findings = ["the objective is a parabola: one Newton step from anywhere is its minimum"]
        if len(aliased):
            findings.append(
                f"aliased: {listed(self, aliased)} constant or combinations of other columns; the shortest weights "
                "are shown"
            )
        return findings

    def _objectives_of(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> list[Part]:
        """(objective, weights, intercept) of each target column on given data."""
        problems = self._problems(*self._read(X, y, sample_weight, reset=False))
        return [(p.objective(), w, b) for p, w, b in zip(problems, *self._shown(), strict=True)]

    def _verdict_from_data(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Verdict:
        prove = separated_classes(X, y, sample_weight, bool(self.fit_intercept))
        return verdict_from_objectives(self, self._objectives_of(X, y, sample_weight), prove)


def _second_order(block: Block, kind: tuple[Any, bool], _memo: Any) -> tuple[Any, None]:
    """Gram or QRFactor of a block with its targets.

    Without an intercept every row is joined by its mirror image, so that the mean is zero and nothing is centred
    away; the statistic then counts everything twice.
    """
    statistic, centred = kind
    cells, y = block.dense(slice(0, block.n)), block.y
    total = statistic.of(cells, y, block.weight)
    if not centred:
        total = total + statistic.of(-np.asarray(cells, dtype=np.float64), -y, block.weight)
    return total, None


def _value_and_gap(statistic: Gram | QRFactor, coef: FloatArray, ridge: float) -> tuple[float, float]:
    """F at the given weights and ½gᵀH⁻¹g, exact for a parabola, from the triangular factor of the rows."""
    p = statistic.columns
    R = statistic.joint_factor() / np.sqrt(statistic.weight)
    B = coef.T
    error = R[:, p:] - R[:, :p] @ B
    value = 0.5 * float(np.sum(error**2)) + 0.5 * ridge * float(np.sum(B**2))
    design = np.vstack([R[:p, :p], np.sqrt(ridge) * np.eye(p)])
    gradient = -R[:p, :p].T @ error[:p] + ridge * B
    size = np.linalg.norm(design, axis=0)
    size[size == 0] = 1.0
    pull = np.linalg.lstsq((design / size).T, (gradient.T / size).T, rcond=1e-13)[0]
    return value, 0.5 * float(np.sum(pull**2))
