"""Linear support vector classification:  min_{w,b} ½‖w‖² + C Σ_i s_i ℓ(y_i (w·x_i + b)),  ℓ = max(0, 1 − m) or (…)².

One-vs-rest, or all classes at once (Crammer–Singer). Notes [6867] 5.2 (hard margin, dual, support vectors), 5.3
(slack), [6321] (soft margin, C), [446]. Rows M4–M7, M9 and M12 of the specification. The intercept is free of the
penalty, as everywhere here and in the notes; liblinear, behind scikit-learn's class of the same name, penalises it,
and gives somewhat other surfaces.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.margins import MarginReport
from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_known
from separatrix.data.door import finite_moments, is_dask, read_table, read_weights, rows_of
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.pool import one_blas_thread
from separatrix.data.rows import Rows
from separatrix.data.sources import TableLike
from separatrix.models.base import LinearClassifier
from separatrix.models.margin.calibration import calibrate
from separatrix.models.margin.linear_machine import (
    REMEDY,
    WAY,
    checked_solver,
    machines_verdict,
    margin_report,
    proof_from_data,
    scale_findings,
)
from separatrix.models.margin.probabilities import Calibrated, FoldFits, folds_of
from separatrix.models.parameters import check_class_weight, class_factors, seed_of, threads, warn_of
from separatrix.problems.margin import MarginMachine
from separatrix.solve.interior import MarginFit
from separatrix.solve.joint import JointFit, JointMachine
from separatrix.solve.margin import RELATIVE, refuse_lazy, serves_all_classes, solve_joint, solve_machines
from separatrix.verdict.build import VERIFIED
from separatrix.verdict.facial import Undecided
from separatrix.verdict.separability import separability_of_rows
from separatrix.verdict.verdict import Verdict


@constructor
class LinearSVC(Calibrated, LinearClassifier):
    """min_{w,b} ½‖w‖² + C Σ_i s_i ℓ(y_i(w·x_i + b)),  ℓ = max(0, 1 − m)² or max(0, 1 − m), with a verdict.

    Notes [6867] 5.2, 5.3, [6321], [446]. Parameters have scikit-learn's names, meanings and defaults; the intercept
    is not penalised here (liblinear penalises it). ``C=np.inf`` is the hard margin: data that no surface separates
    are refused with the proof. Of more than two classes each has a machine against the rest, or one problem has all.

    Parameters
    ----------
    penalty : only "l2"
    loss : "squared_hinge" or "hinge"
    dual : "auto"; True asks for dual coordinate ascent, False for Newton on the primal (squared hinge only). Ascent
        on few cells, or short of its gap, is finished by a method with a factor, and the verdict says so
    tol : the fit stops when a feasible dual point proves the objective within tol/100 (relatively) of its minimum
    C : cost of a slack, positive, or ``np.inf`` for a hard margin
    multi_class : "ovr", or "crammer_singer": ½Σ_k‖w_k‖² + C Σ_i s_i max_k (1[k ≠ y_i] + η_ik − η_iy_i),
        whatever ``loss``
    fit_intercept : whether b is fitted; without it the surface passes through the origin
    intercept_scaling : only 1: it undoes the penalty on the intercept that liblinear has
    class_weight : {label: weight}, "balanced", or None: the cost of a class's rows in its own machine, and what they
        count in its probabilities
    verbose : 1 prints a line a step to standard error
    random_state : seed of the order in which coordinate ascent visits rows
    max_iter : most steps (or passes) a solver takes
    solver : "auto"; "interior" (hinge, hard margin), "newton" (squared hinge), "coordinate" (rows in memory), "qp"
        (the dual as a generic programme, a reference for a few hundred rows)
    calibrate : None, "sigmoid" (few rows) or "isotonic" (a thousand or more): `predict_proba` from scores of rows
        held out in five stratified folds, which ``random_state`` draws; each class against the rest (of
        "crammer_singer" by its lead over the best of the rest), divided by their sum. `predict` is then its argmax,
        which may differ from the sign or the argmax of `decision_function`. Rows in memory
    n_jobs : threads; None uses all cores this process may use

    Attributes
    ----------
    coef_ : (1, p) or (K, p)
    intercept_ : (1,) or (K,)
    classes_, n_features_in_, feature_names_in_, n_iter_ : as in scikit-learn
    rule_ : the :class:`~separatrix.LinearRule` that predicts
    verdict_ : the :class:`~separatrix.Verdict`: objective and bound are the primal and the dual, in the scale above
    reports_ : a :class:`~separatrix.core.margins.MarginReport` for each machine: α, slacks, states, width, KKT
    dual_coef_ : (n, K), α of "crammer_singer": w_k = Σ_i α_ik x_i
    calibration_ : with ``calibrate``, the map from scores to probabilities of each machine
    solver_ : the solver used

    Notes
    -----
    Cost: O(np²) a step for 2–10 (Newton) or 10–30 (interior point) steps, O(p³) a factor; coordinate ascent O(cells)
    a pass. Newton and the interior point are sweeps: memmaps and Dask collections of up to 3,000 columns do.
    ``calibrate`` is five fits more, each afresh. A weight is repetition everywhere but in its folds, which may part
    the copies of a row; a weight of zero is absence.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(loss="hinge").fit(X, y)
    >>> round(model.score(X, y), 3)
    0.963
    >>> model.verdict_.status, model.verdict_.gap < 1e-6 * model.verdict_.objective
    ('optimal', True)
    >>> model.reports_[0].counts
    {'outside': 511, 'margin': 10, 'inside': 27, 'misclassified': 21}
    >>> LinearSVC(loss="hinge", calibrate="sigmoid").fit(X, y).predict_proba(X[20:22]).round(2)
    array([[0.02, 0.98],
           [0.  , 1.  ]])
    """

    penalty: str = "l2"
    loss: str = "squared_hinge"
    _: KW_ONLY
    dual: bool | str = "auto"
    tol: float = 1e-4
    C: float = 1.0
    multi_class: str = "ovr"
    fit_intercept: bool = True
    intercept_scaling: float = 1
    class_weight: Mapping[Any, float] | str | None = None
    verbose: int = 0
    random_state: Any = None
    max_iter: int = 1000
    solver: str = "auto"
    calibrate: str | None = None
    n_jobs: int | None = None

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (n, p) and labels y (n,); a weight of 2 means the row stands there twice."""
        began = time.perf_counter()
        solver = self._check_parameters()
        if is_dask(X):
            refuse_lazy("coordinate" if self._together else solver)
            if self.calibrate is not None:
                raise ValueError(
                    "calibrate holds out rows in memory: call X.compute() first, or fit with calibrate=None and give "
                    "a sample of rows to CalibratedClassifierCV(FrozenEstimator(model))"
                )
        with threads(self.n_jobs), one_blas_thread():
            data = self._read(X, y, sample_weight, reset=True)
            folds = None
            if self.calibrate is not None:
                present = np.where(data.weight > 0, data.codes, -1)
                folds = folds_of(present, self.classes_, seed_of(self.random_state))
            self.__dict__.pop("calibration_", None)
            (self._fit_together if self._together else self._fit_apart)(data, solver)
            if folds is not None:
                self._calibrate(data, folds, solver)
        self.verdict_ = replace(self.verdict_, seconds=time.perf_counter() - began)
        warn_of(self.verdict_, REMEDY, WAY)
        return self

    @property
    def _together(self) -> bool:
        """Whether one problem has all classes (Crammer–Singer)."""
        return self.multi_class == "crammer_singer"

    def _fit_apart(self, data: _Labelled, solver: str) -> None:
        """A machine a class against the rest (two classes: one machine)."""
        self.__dict__.pop("dual_coef_", None)
        machines = self._machines(data)
        if np.isinf(self.C):
            self._refuse_overlap(data, machines)
        self.solver_, fits = self._solve_apart(data, machines, solver, int(self.verbose))
        if np.isinf(self.C):
            for k, fit in enumerate(fits):
                if not np.isfinite(fit.proof.gap) or fit.proof.gap > 0.5 * fit.proof.primal:
                    raise ValueError(f"hard margin: no surface that separates {self._words(k)} was found")
        self.coef_ = np.array([f.coef for f in fits])
        self.intercept_ = np.array([f.intercept for f in fits], dtype=float)
        self.n_iter_ = max(f.iterations for f in fits)
        self.reports_ = [margin_report(m, f.proof, f.coef) for m, f in zip(machines, fits, strict=True)]
        self.verdict_ = machines_verdict(self, fits, machines, scale_findings(self, data.spread))

    def _fit_together(self, data: _Labelled, solver: str) -> None:
        machine = self._joint_machine(data)
        self.solver_, fit = self._solve_together(machine, solver, int(self.verbose))
        coef, intercept = fit.coef, fit.intercept
        if len(self.classes_) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = np.array(coef), np.array(intercept, dtype=float)
        self.n_iter_ = fit.iterations
        self.dual_coef_ = fit.alpha
        self.reports_ = [
            MarginReport(np.abs(fit.own), fit.margin, fit.primal, fit.dual, fit.norm, machine.kkt(fit))
        ]
        self.verdict_ = machines_verdict(self, [fit], findings=scale_findings(self, data.spread))

    def _solve_apart(
        self, data: _Labelled, machines: list[MarginMachine], solver: str, verbose: int = 0
    ) -> tuple[str, list[MarginFit]]:
        return solve_machines(
            machines, data.mean, solver, tol=float(self.tol) / RELATIVE, max_iter=int(self.max_iter),
            codes=data.codes if len(machines) > 1 else None, seed=seed_of(self.random_state), verbose=verbose,
        )  # fmt: skip

    def _solve_together(self, machine: JointMachine, solver: str, verbose: int = 0) -> tuple[str, JointFit]:
        tol, seed = float(self.tol) / RELATIVE, seed_of(self.random_state)
        return solve_joint(machine, solver, tol, int(self.max_iter), seed=seed, verbose=verbose)

    # ---- probabilities ----

    def _calibrate(self, data: _Labelled, folds: np.ndarray, solver: str) -> None:
        """``calibration_`` from the scores of the machines fitted with a fold's rows at weight zero."""
        assert self.calibrate is not None
        told = FoldFits(self.calibrate, int(folds.max()) + 1)
        told.interrupted = self.verdict_.status == "interrupted"
        scores = self._machine_scores(data.rows.source).reshape(data.rows.n, -1)
        for f in range(told.folds):
            if told.interrupted:
                break
            held = folds == f
            found, verdict, steps = self._without(data, held, solver)
            told.add(verdict.stopped_by, verdict.status == "optimal", steps)
            scores[held] = found[held]
        live = folds >= 0
        self.calibration_ = []
        for k, score in zip(self._positives(), scores.T, strict=True):
            own = (data.codes == k)[live]
            weight = (data.weight * self._factor(data, k))[live]  # as in the machine
            self.calibration_.append(calibrate(self.calibrate, score[live], own, weight))
        self.verdict_ = told.told(self.verdict_, self.calibration_)

    def _without(self, data: _Labelled, held: np.ndarray, solver: str) -> tuple[FloatArray, Verdict, int]:
        """(scores of all rows (n, machines), verdict, steps) of a fit that does not see the rows held out."""
        less = replace(data, weight=np.where(held, 0.0, data.weight))
        if self._together:
            machine = self._joint_machine(less)
            _, joint = self._solve_together(machine, solver)
            scores = machine.scores(joint.coef, joint.intercept)
            scores = _leads(scores) if len(self.classes_) > 2 else scores[:, 1:] - scores[:, :1]
            return scores, machines_verdict(self, [joint]), joint.iterations
        machines = self._machines(less)
        _, fits = self._solve_apart(less, machines, solver)
        scores = np.column_stack([fit.proof.eta for fit in fits])
        return scores, machines_verdict(self, fits, machines), sum(f.iterations for f in fits)

    def _machine_scores(self, cells: Any) -> FloatArray:
        """What is calibrated: the machines' scores; of "crammer_singer" by how much a class leads the others."""
        scores = np.asarray(self._score(cells))
        return _leads(scores) if hasattr(self, "dual_coef_") and scores.ndim == 2 else scores

    def _winner(self, cells: Any) -> np.ndarray:
        if self._has_probabilities:
            return self._probabilities(cells).argmax(axis=1)
        return super()._winner(cells)

    # ---- the door ----

    def _check_parameters(self) -> str:
        """Refuse, before data is read, what cannot be meant; the solver's name."""
        self._check_calibrate()
        if self.penalty != "l2":
            raise ValueError(
                f'penalty {self.penalty!r} is not offered: a margin is ‖w‖², use "l2" (LogisticRegression likewise)'
            )
        check_known("loss", self.loss, "squared_hinge", "hinge")
        check_known("multi_class", self.multi_class, "ovr", "crammer_singer")
        solver = checked_solver(self, squared=self.loss == "squared_hinge")
        if self._together:
            if np.isinf(self.C):
                raise ValueError('multi_class="crammer_singer" needs a finite C: use "ovr" for a hard margin')
            if not serves_all_classes(solver):
                raise ValueError(
                    f'solver {solver!r} does not know multi_class="crammer_singer": use "coordinate"'
                )
        check_class_weight(self.class_weight)
        return solver

    def _read(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool) -> _Labelled:
        rows = rows_of(self, read_table(self, X, reset=reset))
        weight = read_weights(sample_weight, rows.n)
        codes, totals = self._read_classes(y, weight, rows.n, reset=reset)
        weighed = rows.with_targets(None, weight)
        moments, rows = finite_moments(self, weighed), weighed.with_targets(None, None)
        weight = np.where(codes >= 0, 1.0 if weight is None else weight, 0.0)
        factors = class_factors(self.class_weight, self.classes_, totals)
        return _Labelled(rows, codes, weight, moments.mean, np.sqrt(moments.variance), factors)

    def _machines(self, data: _Labelled) -> list[MarginMachine]:
        """Class 1 against class 0; of more classes each against the rest, its own rows at their class's weight."""
        squared = self.loss == "squared_hinge" and not np.isinf(self.C)
        machines = []
        for j in self._positives():
            y = np.where(data.codes == j, 1.0, -1.0)
            factor = self._factor(data, j)
            cost = np.zeros(data.rows.n)
            live = data.weight > 0
            cost[live] = float(self.C) * data.weight[live] * factor[live]
            one = bool(self.fit_intercept)
            machines.append(MarginMachine.hinge(data.rows, y, cost, squared=squared, fit_intercept=one))
        return machines

    def _positives(self) -> Sequence[int]:
        """The class each machine is for."""
        return [1] if len(self.classes_) == 2 else range(len(self.classes_))

    def _factor(self, data: _Labelled, k: int) -> FloatArray:
        """What a row's class multiplies its cost by in the machine of class k, or in the one that has them all."""
        if len(self.classes_) == 2 or self._together:
            return data.factors[data.codes]
        return np.where(data.codes == k, data.factors[k], 1.0)

    def _joint_machine(self, data: _Labelled) -> JointMachine:
        cost = float(self.C) * data.weight * np.where(data.codes >= 0, data.factors[data.codes], 0.0)
        return JointMachine(data.rows, data.codes, cost, len(self.classes_), bool(self.fit_intercept))

    def _refuse_overlap(self, data: _Labelled, machines: Sequence[MarginMachine]) -> None:
        """A hard margin exists where the classes are separated completely, and only there."""
        for k, machine in enumerate(machines):
            codes = (machine.target > 0).astype(np.intp)
            rows = data.rows.with_targets(codes, (data.weight > 0).astype(float))
            try:
                found = separability_of_rows(
                    rows, rows.moments(), 2, fit_intercept=bool(self.fit_intercept),
                    names=getattr(self, "feature_names_in_", None),
                )  # fmt: skip
            except Undecided:
                continue  # the fit itself will show
            if found.kind != "complete":
                raise ValueError(
                    f"hard margin (C=np.inf): no surface separates {self._words(k)} with a margin; "
                    f"{found.sentence()}. Use a finite C"
                )

    def _words(self, k: int) -> str:
        labels = self.classes_.tolist()
        return "the classes" if len(labels) == 2 else f"class {labels[k]!r} from the rest"

    # ---- again, from data ----

    def _full_joint(self) -> tuple[FloatArray, FloatArray]:
        """w (K, p) and b (K,) of "crammer_singer": of two classes the difference is kept, half of it for each."""
        w, b = self._shown()
        return (w, b) if len(w) > 1 else (np.vstack([-w / 2, w / 2]), np.concatenate([-b / 2, b / 2]))

    def _verdict_from_data(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Verdict:
        """For :func:`separatrix.verify`: primal and dual anew, at ``coef_`` and the dual variables kept."""
        data = self._read(X, y, sample_weight, reset=False)
        if self._together:
            joint = self._joint_machine(data)
            w, b = self._full_joint()
            known = len(self.dual_coef_) == data.rows.n
            fit = joint.prove(w, b, self.dual_coef_ if known else joint.slope_beta(joint.scores(w, b)))
            return machines_verdict(self, [replace(fit, stopped_by=VERIFIED)])
        machines = self._machines(data)
        fits = []
        for machine, report, w, b in zip(machines, self.reports_, *self._shown(), strict=True):
            alpha = report.alpha if len(report.alpha) == data.rows.n else np.zeros(data.rows.n)
            fits.append(proof_from_data(machine, w, float(b), machine.target * alpha))
        return machines_verdict(self, fits, machines)


@dataclass(frozen=True, eq=False)
class _Labelled:
    """What was read: rows, class codes, weights (n,), column means and spreads (p,), class weights (K,)."""

    rows: Rows
    codes: np.ndarray
    weight: FloatArray
    mean: FloatArray
    spread: FloatArray
    factors: FloatArray


def _leads(scores: FloatArray) -> FloatArray:
    """η_k − max_{j ≠ k} η_j of scores (n, K): what a constant added to all of them leaves alone."""
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return scores - np.where(scores == top[:, 1:], top[:, :1], top[:, 1:])
