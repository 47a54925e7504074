"""Linear support vector regression:  min_{w,b} ½‖w‖² + C Σ_i s_i ℓ(y_i, w·x_i + b),  a tube around the numbers.

    ℓ = max(0, |y − η| − ε), or its square; C = ∞ wants every row inside the tube

Notes [6321] "Support vector regression". Row M10 of the specification. The intercept is free of the penalty, as in
:class:`~separatrix.LinearSVC`, with which it shares solvers (linear_machine.py).
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.core.linear import LinearRule
from separatrix.core.margins import TubeReport
from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_known, is_positive
from separatrix.data.door import (
    finite_moments,
    is_dask,
    read_for_prediction,
    read_table,
    read_weights,
    rows_of,
)
from separatrix.data.estimator import KW_ONLY, Estimator, constructor
from separatrix.data.labels import read_numbers
from separatrix.data.pool import one_blas_thread
from separatrix.data.sources import TableLike
from separatrix.models.margin import linear_machine
from separatrix.models.parameters import seed_of, threads, warn_of
from separatrix.problems.margin import MarginMachine
from separatrix.solve.hard_tube import NoTube, directions_of_cells, hard_tube
from separatrix.solve.interior import MarginFit
from separatrix.solve.margin import RELATIVE, refuse_lazy, solve_machines
from separatrix.verdict.verdict import Verdict


@constructor
class LinearSVR(RegressorMixin, Estimator):
    """min_{w,b} ½‖w‖² + C Σ_i s_i max(0, |y_i − w·x_i − b| − ε), or the square of it, with a verdict ([6321]).

    Parameters
    ----------
    epsilon : half the width of the tube, in units of y
    tol : the fit stops when a feasible dual point proves the objective within tol/100 (relatively) of its minimum
    C : cost of a slack, positive; ``np.inf`` wants every row inside the tube (rows in memory), which data that allow
        none refuse with a proof
    loss : "epsilon_insensitive" or "squared_epsilon_insensitive"
    fit_intercept : whether b is fitted; it is never penalised (liblinear penalises it)
    intercept_scaling : only 1
    dual : "auto"; True asks for dual coordinate ascent, False for Newton on the primal (squared loss only)
    verbose, random_state, max_iter, solver, n_jobs : as in :class:`~separatrix.LinearSVC`

    Attributes
    ----------
    coef_ : (p,)
    intercept_ : (1,)
    report_ : a :class:`TubeReport`: a and â apart, slacks, the side of the tube each example is on
    alpha_, alpha_hat_ : (n,), those a and â
    verdict_, n_iter_, solver_ : as in :class:`~separatrix.LinearSVC`

    Examples
    --------
    >>> X = np.arange(6.0)[:, None]
    >>> model = LinearSVR(epsilon=0.5, C=100.0).fit(X, 2.0 * X[:, 0] + 1.0)
    >>> model.coef_.round(3), model.verdict_.status
    (array([1.8]), 'optimal')
    """

    _: KW_ONLY
    epsilon: float = 0.0
    tol: float = 1e-4
    C: float = 1.0
    loss: str = "epsilon_insensitive"
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    dual: bool | str = "auto"
    verbose: int = 0
    random_state: Any = None
    max_iter: int = 1000
    solver: str = "auto"
    n_jobs: int | None = None

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (n, p) and numbers y (n,); a weight of 2 means the row stands there twice."""
        began = time.perf_counter()
        solver = self._check_parameters()
        if is_dask(X):
            refuse_lazy("coordinate" if np.isinf(self.C) else solver)
        with threads(self.n_jobs), one_blas_thread():
            machine, mean, spread = self._read(X, y, sample_weight, reset=True)
            self.solver_, fits = self._without_slack(machine) if machine.hard else solve_machines(
                [machine], mean, solver, tol=float(self.tol) / RELATIVE, max_iter=int(self.max_iter),
                seed=seed_of(self.random_state), verbose=int(self.verbose),
            )  # fmt: skip
        fit = fits[0]
        self.coef_, self.intercept_ = fit.coef.copy(), np.array([fit.intercept])
        self.n_iter_ = fit.iterations
        proof = fit.proof
        self.report_ = TubeReport(
            np.maximum(proof.beta, 0.0), np.maximum(-proof.beta, 0.0), machine.target - proof.eta,
            float(self.epsilon), proof.primal, proof.dual, machine.kkt(proof.eta, proof.beta),
        )  # fmt: skip
        self.alpha_, self.alpha_hat_ = self.report_.alpha, self.report_.alpha_hat
        verdict = linear_machine.machines_verdict(
            self, fits, [machine], linear_machine.scale_findings(self, spread)
        )
        self.verdict_ = replace(verdict, seconds=time.perf_counter() - began)
        warn_of(self.verdict_, linear_machine.REMEDY, linear_machine.WAY)
        return self

    def predict(self, X: TableLike) -> FloatArray:
        """w·x + b of each row (n,); a Dask collection is answered lazily."""
        check_is_fitted(self)
        cells = read_for_prediction(self, X)
        if is_dask(cells) and hasattr(cells, "columns"):
            cells = cells.to_dask_array(lengths=True)
        if is_dask(cells):
            return cells @ self.coef_ + float(self.intercept_[0])
        return LinearRule(self.coef_, float(self.intercept_[0])).score(cells)

    def _check_parameters(self) -> str:
        check_known("loss", self.loss, "epsilon_insensitive", "squared_epsilon_insensitive")
        if not (self.epsilon == 0 or is_positive(self.epsilon, finite=True)):
            raise ValueError(f"epsilon must be zero or positive, got {self.epsilon!r}")
        solver = linear_machine.checked_solver(self, squared=self.loss.startswith("squared"))
        if np.isinf(self.C) and solver == "qp":
            raise ValueError('solver "qp" does not know a tube without slack (C=np.inf): leave solver="auto"')
        return solver

    def _without_slack(self, machine: MarginMachine) -> tuple[str, list[MarginFit]]:
        """C = ∞: the flattest function with every row in its tube, or a refusal with the proof of none."""
        keep = np.flatnonzero(machine.up > 0)
        rows = machine.rows.source[keep]
        cells = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
        phi, basis = directions_of_cells(cells, machine.fit_intercept)
        found = hard_tube(
            phi, machine.target[keep], machine.epsilon, float(self.tol) / RELATIVE, int(self.max_iter),
            fit_intercept=machine.fit_intercept,
        )  # fmt: skip
        if isinstance(found, NoTube):
            raise ValueError(
                f"C=np.inf asks for a tube that no row leaves, and there is none: {found.sentence(machine.epsilon)}. "
                f"Use a finite C, or epsilon of at least {found.least:.6g}"
            )
        coef = basis @ found.coef
        b = found.intercept - float(cells.mean(axis=0) @ coef) if machine.fit_intercept else 0.0
        beta = np.zeros(machine.rows.n)
        beta[keep] = found.proof.beta
        return "interior", [replace(found, coef=coef, intercept=b, proof=machine.prove(coef, b, beta))]

    def _read(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[MarginMachine, FloatArray, FloatArray]:
        """The machine, and means and spreads of the columns (p,)."""
        rows = rows_of(self, read_table(self, X, reset=reset))
        target = read_numbers(y, rows.n)
        weight = read_weights(sample_weight, rows.n)
        moments = finite_moments(self, rows.with_targets(None, weight))
        cost = np.full(rows.n, float(self.C))
        if weight is not None:
            cost = np.multiply(cost, weight, out=np.zeros(rows.n), where=weight > 0)
        squared = self.loss.startswith("squared") and not np.isinf(self.C)
        machine = MarginMachine(
            rows, target, cost, cost, float(self.epsilon), squared, bool(self.fit_intercept)
        )
        return machine, moments.mean, np.sqrt(moments.variance)

    def _verdict_from_data(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Verdict:
        """For :func:`separatrix.verify`: primal and dual anew."""
        machine, _, _ = self._read(X, y, sample_weight, reset=False)
        beta = self.alpha_ - self.alpha_hat_
        fit = linear_machine.proof_from_data(machine, self.coef_, float(self.intercept_[0]), beta)
        return linear_machine.machines_verdict(self, [fit], [machine])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
