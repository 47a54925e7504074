"""Regression in a tube, for a given ε or a given ν:  f(x) = Σ_i (a_i − â_i) k(x_i, x) + b.

    ξ_i = max(0, |z_i − f(x_i)| − ε),    a_i > 0 on or above the upper edge, â_i > 0 on or below the lower one

Notes [6321] "Support vector regression". Row M10. What is minimised: svr.py and nu_svr.py.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from separatrix.core.margins import TUBE, tube_sides
from separatrix.core.numerics import FloatArray, Index
from separatrix.data.door import read_weights
from separatrix.data.labels import read_numbers
from separatrix.data.sources import TableLike
from separatrix.models.margin.kernels import Definiteness
from separatrix.models.margin.support_vector_machine import SingleMachine
from separatrix.solve.dual_solution import DualSolution
from separatrix.verdict.verdict import Verdict


class SupportVectorRegressor(RegressorMixin, SingleMachine):
    """f(x) = Σ β_i k(x_i, x) + b, β = a − â; subclasses give the dual and the half width of the tube."""

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (n, p), or a kernel matrix (n, n), and targets y (n,); a weight multiplies the row's C."""
        return self._learn(X, y, sample_weight)

    def predict(self, X: TableLike) -> FloatArray:
        """f(x) of each row."""
        refusal = "SVR predicts rows in memory: call .compute(), or use map_blocks(model.predict)"
        return self._linear_part(X, refusal) + self.intercept_[0]

    def _half_width(self, fit: DualSolution) -> float:
        """ε, given or found."""
        raise NotImplementedError

    def _targets(
        self, y: ArrayLike | None, sample_weight: ArrayLike | None, n: int
    ) -> tuple[FloatArray, FloatArray]:
        """Finite numbers z and the box C_i."""
        z = read_numbers(y, n)
        weight = read_weights(sample_weight, n)
        C = np.full(n, float(self.C))
        return z, C if weight is None else np.multiply(C, weight, out=np.zeros(n), where=weight > 0)

    def _feasible(self, beta: FloatArray, C: FloatArray) -> bool:
        inside = (np.abs(beta) <= C + 1e-9 * np.abs(beta).max(initial=0.0)).all()
        return bool(inside and abs(beta.sum()) <= 1e-9 * np.abs(beta).sum())

    def _keep(self, cells: Any, z: FloatArray, keep: Index, fit: DualSolution) -> None:
        n, m = cells.shape[0], len(keep)
        a, hat = fit.beta[:m], -fit.beta[m:]
        both = np.minimum(a, hat)  # a row cannot be on both edges: what is common only costs
        self.alpha_, self.alpha_hat_ = np.zeros(n), np.zeros(n)
        self.alpha_[keep], self.alpha_hat_[keep] = a - both, hat - both
        beta = self.alpha_ - self.alpha_hat_
        support = np.flatnonzero(beta)
        self._keep_support(cells, support, beta[support], fit)
        self.intercept_ = np.array([fit.intercept])
        residual = np.full(n, np.nan)
        residual[keep] = z[keep] - fit.score - fit.intercept
        if m < n:  # rows of weight zero were not in the fit, but they have a side
            gone = np.setdiff1d(np.arange(n), keep)
            residual[gone] = z[gone] - self._scores(cells[gone], self.dual_coef_.T)[:, 0] - fit.intercept
        self.tube_ = tube_sides(residual, self._half_width(fit), max(float(self.tol), fit.violation))

    def _verdict(self, fit: DualSolution, known: Definiteness, n: int, C: FloatArray) -> Verdict:
        goal = max(float(self.tol) * fit.scale, 1e-13 * float(np.abs(fit.beta).sum()))
        known = Definiteness(known.indefinite or fit.indefinite, known.looked_at)
        counts = np.bincount(self.tube_, minlength=4).tolist()
        findings = (
            *known.sentences(),
            f"{len(self.support_)} support vectors of {n} rows",
            "the tube: " + ", ".join(f"{c} {s}" for s, c in zip(TUBE, counts)),
            f"optimality conditions violated by at most {fit.violation:.1e}",
            *self._scaling(),
        )
        return self._verdict_of([fit], goal, known.indefinite, fit.values / n**2, findings)
