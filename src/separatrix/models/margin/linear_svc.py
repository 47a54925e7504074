"""Linear support vector machines:  min_{w,b} ½‖w‖² + C Σ_i s_i ℓ(y_i, w·x_i + b),  for labels and for numbers.

    LinearSVC   ℓ = max(0, 1 − yη), or its square (the default); one-vs-rest, or all classes at once (Crammer–Singer)
    LinearSVR   ℓ = max(0, |y − η| − ε), or its square

Notes [6867] 5.2 (hard margin, dual, support vectors), 5.3 (slack), [6321] (soft margin, C, regression), [446].
Rows M4–M7, M9, M10 and M12 of the specification. The intercept is free of the penalty, as everywhere here and in the
notes; liblinear, behind scikit-learn's classes of the same names, penalises it, and gives somewhat other surfaces.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix.core.linear import LinearRule
from separatrix.core.margins import MarginReport
from separatrix.core.numerics import FloatArray
from separatrix.data.door import (
    is_dask,
    is_positive,
    read_for_prediction,
    read_table,
    read_weights,
    refuse_nonfinite,
    rows_of,
)
from separatrix.data.engine import one_blas_thread
from separatrix.data.estimator import Estimator
from separatrix.data.rows import Rows
from separatrix.models.base import LinearClassifier
from separatrix.models.margin.calibration import calibrate
from separatrix.models.margin.out_of_fold import Calibrated, FoldFits, folds_of
from separatrix.models.parameters import (
    check_class_weight,
    check_limits,
    class_factors,
    seed_of,
    threads,
    warn_of,
)
from separatrix.problems.margin import MarginMachine, Proof
from separatrix.solve.hard_tube import NoTube, directions_of_cells, hard_tube
from separatrix.solve.interior import MarginFit
from separatrix.solve.joint import JointFit, JointMachine
from separatrix.solve.margin import RELATIVE, check_solver, refuse_lazy, solve_joint, solve_machines
from separatrix.verdict.facial import Undecided
from separatrix.verdict.separability import separability_of_rows
from separatrix.verdict.verdict import Verdict

REMEDY = "Use a finite C"
WAY = "Increase max_iter, or scale the columns to similar sizes"


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

    verdict_: Verdict

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Mapping[Any, float] | str | None = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        solver: str = "auto",
        calibrate: str | None = None,
        n_jobs: int | None = None,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.calibrate = calibrate
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fit to rows X (n, p) and labels y (n,); a weight of 2 means the row stands there twice."""
        began = time.perf_counter()
        solver = self._check_parameters()
        if is_dask(X):
            refuse_lazy("coordinate" if self.multi_class == "crammer_singer" else solver)
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
            if self.multi_class == "crammer_singer":
                self._fit_together(data, solver)
            else:
                self._fit_apart(data, solver)
            if folds is not None:
                self._calibrate(data, folds, solver)
        self.verdict_ = replace(self.verdict_, seconds=time.perf_counter() - began)
        warn_of(self.verdict_, REMEDY, WAY)
        return self

    def _fit_apart(self, data: _Data, solver: str) -> None:
        """A machine a class against the rest (two classes: one machine)."""
        self.__dict__.pop("dual_coef_", None)
        machines = self._machines(data)
        if np.isinf(self.C):
            self._refuse_overlap(data, machines)
        self.solver_, fits = solve_machines(
            machines, data.mean, solver, tol=float(self.tol) / RELATIVE, max_iter=int(self.max_iter),
            codes=data.codes if len(machines) > 1 else None, seed=seed_of(self.random_state),
            verbose=int(self.verbose),
        )  # fmt: skip
        if np.isinf(self.C):
            for k, fit in enumerate(fits):
                if not np.isfinite(fit.proof.gap) or fit.proof.gap > 0.5 * fit.proof.primal:
                    raise ValueError(f"hard margin: no surface that separates {self._words(k)} was found")
        self._keep([f.coef for f in fits], [f.intercept for f in fits])
        self.n_iter_ = max(f.iterations for f in fits)
        self.reports_ = [margin_report(m, f.proof, f.coef) for m, f in zip(machines, fits, strict=True)]
        self.verdict_ = verdict_of(type(self).__name__, fits, machines, float(self.tol), self._findings(data))

    def _fit_together(self, data: _Data, solver: str) -> None:
        """All classes in one problem (Crammer–Singer)."""
        machine = self._joint_machine(data)
        self.solver_, fit = solve_joint(
            machine, solver, float(self.tol) / RELATIVE, int(self.max_iter), seed=seed_of(self.random_state),
            verbose=int(self.verbose),
        )  # fmt: skip
        coef, intercept = fit.coef, fit.intercept
        if len(self.classes_) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self._keep(list(coef), list(intercept))
        self.n_iter_ = fit.iterations
        self.dual_coef_ = fit.alpha
        self.reports_ = [
            MarginReport(np.abs(fit.own), fit.margin, fit.primal, fit.dual, fit.norm, machine.kkt(fit))
        ]
        self.verdict_ = _joint_verdict(type(self).__name__, fit, float(self.tol), self._findings(data))

    # ---- probabilities ----

    def _calibrate(self, data: _Data, folds: np.ndarray, solver: str) -> None:
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

    def _without(self, data: _Data, held: np.ndarray, solver: str) -> tuple[FloatArray, Verdict, int]:
        """(scores of all rows (n, machines), verdict, steps) of a fit that does not see the rows held out."""
        less = replace(data, weight=np.where(held, 0.0, data.weight))
        tol, most, seed = float(self.tol), int(self.max_iter), seed_of(self.random_state)
        if self.multi_class == "crammer_singer":
            machine = self._joint_machine(less)
            _, joint = solve_joint(machine, solver, tol / RELATIVE, most, seed=seed)
            scores = machine.scores(joint.coef, joint.intercept)
            scores = _leads(scores) if len(self.classes_) > 2 else scores[:, 1:] - scores[:, :1]
            return scores, _joint_verdict("", joint, tol, ()), joint.iterations
        machines = self._machines(less)
        _, fits = solve_machines(
            machines, data.mean, solver, tol=tol / RELATIVE, max_iter=most,
            codes=data.codes if len(machines) > 1 else None, seed=seed,
        )  # fmt: skip
        scores = np.column_stack([fit.proof.eta for fit in fits])
        return scores, verdict_of("", fits, machines, tol, ()), sum(f.iterations for f in fits)

    def _machine_scores(self, cells: Any) -> FloatArray:
        """What is calibrated: the machines' scores; of "crammer_singer" by how much a class leads the others."""
        scores = np.asarray(self._score(cells))
        return _leads(scores) if hasattr(self, "dual_coef_") and scores.ndim == 2 else scores

    def _winner(self, cells: Any) -> np.ndarray:
        return (
            self._probabilities(cells).argmax(axis=1) if self._has_probabilities else super()._winner(cells)
        )

    # ---- the door ----

    def _check_parameters(self) -> str:
        """Refuse, before data is read, what cannot be meant; the solver's name."""
        self._check_calibrate()
        if self.penalty != "l2":
            raise ValueError(
                f'penalty {self.penalty!r} is not offered: a margin is ‖w‖², use "l2" (LogisticRegression likewise)'
            )
        if self.loss not in ("hinge", "squared_hinge"):
            raise ValueError(f'loss {self.loss!r} is unknown: use "squared_hinge" or "hinge"')
        if self.multi_class not in ("ovr", "crammer_singer"):
            raise ValueError(f'multi_class {self.multi_class!r} is unknown: use "ovr" or "crammer_singer"')
        check_common(self)
        squared, hard = self.loss == "squared_hinge", bool(np.isinf(self.C))
        solver = dual_solver(self.dual, self.solver, squared=squared)
        check_solver(solver, squared=squared, hard=hard)
        if self.multi_class == "crammer_singer":
            if hard:
                raise ValueError('multi_class="crammer_singer" needs a finite C: use "ovr" for a hard margin')
            if solver not in ("auto", "coordinate", "qp"):
                raise ValueError(
                    f'solver {solver!r} does not know multi_class="crammer_singer": use "coordinate"'
                )
        check_class_weight(self.class_weight)
        return solver

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> _Data:
        X = read_table(self, X, reset=reset)
        rows = rows_of(self, X)
        weight = read_weights(sample_weight, rows.n)
        codes, totals = self._read_classes(y, weight, rows.n, reset=reset)
        rows = rows.with_targets(None, weight)
        moments = rows.moments()
        refuse_nonfinite(self, rows, moments)
        rows = rows.with_targets(None, None)
        weight = np.ones(rows.n) if weight is None else weight
        return _Data(
            rows,
            codes,
            np.where(codes >= 0, weight, 0.0),
            moments.mean,
            np.sqrt(moments.variance),
            class_factors(self.class_weight, self.classes_, totals),
        )

    def _machines(self, data: _Data) -> list[MarginMachine]:
        """Class 1 against class 0; of more classes each against the rest, its own rows at their class's weight."""
        squared = self.loss == "squared_hinge" and not np.isinf(self.C)
        machines = []
        for j in self._positives():
            y = np.where(data.codes == j, 1.0, -1.0)
            factor = self._factor(data, j)
            cost = np.zeros(data.rows.n)
            live = data.weight > 0
            cost[live] = float(self.C) * data.weight[live] * factor[live]
            machines.append(
                MarginMachine.hinge(
                    data.rows, y, cost, squared=squared, fit_intercept=bool(self.fit_intercept)
                )
            )
        return machines

    def _positives(self) -> Sequence[int]:
        """The class each machine is for."""
        return [1] if len(self.classes_) == 2 else range(len(self.classes_))

    def _factor(self, data: _Data, k: int) -> FloatArray:
        """What a row's class multiplies its cost by in the machine of class k, or in the one that has them all."""
        if len(self.classes_) == 2 or self.multi_class == "crammer_singer":
            return data.factors[data.codes]
        return np.where(data.codes == k, data.factors[k], 1.0)

    def _joint_machine(self, data: _Data) -> JointMachine:
        cost = float(self.C) * data.weight * np.where(data.codes >= 0, data.factors[data.codes], 0.0)
        return JointMachine(data.rows, data.codes, cost, len(self.classes_), bool(self.fit_intercept))

    def _refuse_overlap(self, data: _Data, machines: Sequence[MarginMachine]) -> None:
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

    # ---- the answer ----

    def _keep(self, coef: Sequence[FloatArray], intercept: Sequence[float]) -> None:
        self.coef_ = np.array(coef)
        self.intercept_ = np.array(intercept, dtype=float)

    def _full_joint(self) -> tuple[FloatArray, FloatArray]:
        """w (K, p) and b (K,) of "crammer_singer": of two classes the difference is kept, half of it for each."""
        w, b = self._shown()
        return (w, b) if len(w) > 1 else (np.vstack([-w / 2, w / 2]), np.concatenate([-b / 2, b / 2]))

    def _findings(self, data: _Data) -> tuple[str, ...]:
        return scale_findings(self, data.spread)

    def _verdict_from_data(self, X: Any, y: Any, sample_weight: Any = None) -> Verdict:
        """For :func:`separatrix.verify`: primal and dual anew, at ``coef_`` and the dual variables kept."""
        data = self._read(X, y, sample_weight, reset=False)
        n = data.rows.n
        if self.multi_class == "crammer_singer":
            return _joint_from_data(self, self._joint_machine(data))
        fits, machines = [], self._machines(data)
        for machine, report, w, b in zip(machines, self.reports_, *self._shown(), strict=True):
            alpha = report.alpha if len(report.alpha) == n else np.zeros(n)
            fits.append(proof_from_data(machine, w, float(b), machine.target * alpha))
        return verdict_of(type(self).__name__, fits, machines, float(self.tol), ())


@dataclass(frozen=True, eq=False)
class TubeReport:
    """A tube machine on the examples it was fitted to: dual variables a (above) and â (below), and its sides.

    ``alpha``, ``alpha_hat`` (n,): at most one of the two is positive; ``residual`` (n,) y − η; ``primal``, ``dual``
    in LIBSVM's scale ½‖w‖² + Σ C_i ξ_i; ``kkt`` the largest violation of the optimality conditions.

    >>> report = TubeReport(np.array([1.0, 0.0]), np.zeros(2), np.array([0.7, 0.1]), 0.5, 1.2, 1.2, 0.0)
    >>> report.counts
    {'inside': 1, 'edge': 0, 'above': 1, 'below': 0}
    """

    alpha: FloatArray
    alpha_hat: FloatArray
    residual: FloatArray
    epsilon: float
    primal: float
    dual: float
    kkt: float
    tol: float = 1e-3

    SIDES = ("inside", "edge", "above", "below")

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @cached_property
    def slack(self) -> FloatArray:
        return np.maximum(0.0, np.abs(self.residual) - self.epsilon)

    @cached_property
    def states(self) -> np.ndarray:
        """Codes into ``SIDES``: inside the tube, on its edge (to ``tol``), above it, below it."""
        out = np.abs(self.residual) - self.epsilon
        size = self.tol * max(float(np.abs(self.residual).max(initial=0.0)), self.epsilon)
        side = np.where(self.residual > 0, 2, 3)
        return np.where(out > size, side, np.where(out >= -size, 1, 0)).astype(np.int8)

    @property
    def counts(self) -> dict[str, int]:
        """How many examples are in each state."""
        return dict(zip(self.SIDES, np.bincount(self.states, minlength=4).tolist(), strict=True))


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

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        solver: str = "auto",
        n_jobs: int | None = None,
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
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
        verdict = verdict_of(
            type(self).__name__, fits, [machine], float(self.tol), scale_findings(self, spread)
        )
        self.verdict_ = replace(verdict, seconds=time.perf_counter() - began)
        warn_of(self.verdict_, REMEDY, WAY)
        return self

    def predict(self, X: Any) -> FloatArray:
        """w·x + b of each row (n,); a Dask collection is answered lazily."""
        check_is_fitted(self)
        cells = read_for_prediction(self, X)
        if is_dask(cells) and hasattr(cells, "columns"):
            cells = cells.to_dask_array(lengths=True)
        return (
            LinearRule(self.coef_, float(self.intercept_[0])).score(cells)
            if not is_dask(cells)
            else (cells @ self.coef_ + float(self.intercept_[0]))
        )

    def _check_parameters(self) -> str:
        if self.loss not in ("epsilon_insensitive", "squared_epsilon_insensitive"):
            raise ValueError(
                f'loss {self.loss!r} is unknown: use "epsilon_insensitive" or "squared_epsilon_insensitive"'
            )
        if not (self.epsilon == 0 or is_positive(self.epsilon, finite=True)):
            raise ValueError(f"epsilon must be zero or positive, got {self.epsilon!r}")
        check_common(self)
        squared, hard = self.loss.startswith("squared"), bool(np.isinf(self.C))
        solver = dual_solver(self.dual, self.solver, squared=squared)
        check_solver(solver, squared=squared, hard=hard)
        if hard and solver == "qp":
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
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool
    ) -> tuple[MarginMachine, FloatArray, FloatArray]:
        X = read_table(self, X, reset=reset)
        rows = rows_of(self, X)
        target = read_numbers(y, rows.n)
        weight = read_weights(sample_weight, rows.n)
        rows = rows.with_targets(None, weight)
        moments = rows.moments()
        refuse_nonfinite(self, rows, moments)
        rows = rows.with_targets(None, None)
        cost = np.full(rows.n, float(self.C))
        if weight is not None:
            cost = np.multiply(cost, weight, out=np.zeros(rows.n), where=weight > 0)
        machine = MarginMachine(
            rows,
            target,
            cost,
            cost,
            float(self.epsilon),
            self.loss.startswith("squared") and not np.isinf(self.C),
            bool(self.fit_intercept),
        )
        return machine, moments.mean, np.sqrt(moments.variance)

    def _verdict_from_data(self, X: Any, y: Any, sample_weight: Any = None) -> Verdict:
        """For :func:`separatrix.verify`: primal and dual anew."""
        machine, _, _ = self._read(X, y, sample_weight, reset=False)
        beta = self.alpha_ - self.alpha_hat_
        beta = beta if len(beta) == machine.rows.n else np.zeros(machine.rows.n)
        fit = proof_from_data(machine, self.coef_, float(self.intercept_[0]), beta)
        return verdict_of(type(self).__name__, [fit], [machine], float(self.tol), ())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True, eq=False)
class _Data:
    """What was read: rows, class codes, weights (n,), column means and spreads (p,), class weights (K,)."""

    rows: Rows
    codes: np.ndarray
    weight: FloatArray
    mean: FloatArray
    spread: FloatArray
    factors: FloatArray


# ---- what the machines of this file share ----


def check_common(model: Any) -> None:
    """Refuse C, tolerances and liblinear's own parameters that cannot be meant."""
    if not is_positive(model.C):
        raise ValueError(f"C must be a positive number, got {model.C!r}")
    if model.intercept_scaling != 1:
        raise ValueError(
            f"intercept_scaling={model.intercept_scaling!r} undoes liblinear's penalty on the intercept: there is "
            "none here, leave it 1"
        )
    check_limits(model.tol, model.max_iter, model.n_jobs)


def dual_solver(dual: Any, solver: str, *, squared: bool) -> str:
    """The solver that ``dual`` and ``solver`` mean together."""
    if isinstance(dual, str) and dual == "auto":
        return solver
    if not isinstance(dual, (bool, np.bool_)):
        raise ValueError(f'dual must be "auto", True or False, got {dual!r}')
    if dual:
        if solver not in ("auto", "coordinate", "qp"):
            raise ValueError(f'dual=True is coordinate ascent, and solver is {solver!r}: leave dual="auto"')
        return "coordinate" if solver == "auto" else solver
    if not squared:
        raise ValueError(
            'dual=False needs a squared loss: one with corners is solved in primal and dual together, leave it "auto"'
        )
    if solver not in ("auto", "newton"):
        raise ValueError(f'dual=False is Newton on the primal, and solver is {solver!r}: leave dual="auto"')
    return "newton"


def read_numbers(y: Any, n: int) -> FloatArray:
    """Targets of a regression as float64 (n,), every one finite."""
    if y is None:
        raise ValueError(
            "this estimator requires y to be passed, but the target y is None: give one number a row"
        )
    if is_dask(y):
        y = y.compute()
    values = np.asarray(y)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must be real numbers")
    values = column_or_1d(values, warn=True)
    try:
        target = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y must be numbers, got {values[0]!r} first") from None
    if len(target) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(target)} numbers"
        )
    bad = ~np.isfinite(target)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(f"y contains NaN or infinity: row {i} has {target[i]}. Leave such rows out")
    return target


def margin_report(machine: MarginMachine, proof: Proof, coef: FloatArray) -> MarginReport:
    """What one hinge machine says of its examples."""
    return MarginReport(
        np.abs(proof.beta), machine.target * proof.eta, proof.primal, proof.dual, float(np.linalg.norm(coef)),
        machine.kkt(proof.eta, proof.beta),
    )  # fmt: skip


def proof_from_data(
    machine: MarginMachine, coef: FloatArray, intercept: float, beta: FloatArray
) -> MarginFit:
    """The better proof at (w, b) of a dual point given (checked, not trusted) and of the losses' slopes."""
    proof = machine.prove(coef, intercept, beta)
    if not machine.hard:
        other = machine.prove(coef, intercept, machine.slope_beta(proof.eta))
        proof = max(proof, other, key=lambda p: p.dual)
    return MarginFit(coef, intercept, proof, 0, 3.0, "verified from data")


def verdict_of(
    name: str,
    fits: Sequence[MarginFit],
    machines: Sequence[MarginMachine],
    tol: float,
    findings: tuple[str, ...],
) -> Verdict:
    """The machines' verdicts as one: primal objectives, dual bounds and gaps add up."""
    primal, gap = sum(f.proof.primal for f in fits), sum(f.proof.gap for f in fits)
    goal = max(tol / RELATIVE, 1e-13) * abs(primal)
    stops = [f.stopped_by for f in fits]
    status: Any = "optimal" if np.isfinite(primal) and gap <= goal else "not converged"
    stopped = next((s for s in stops if s != "gap ≤ tol"), stops[0])
    if "interrupted" in stops:
        status, stopped = "interrupted", "interrupted"
    free = any(m.fit_intercept and not m.squared and not m.hard for m in machines)
    finished = [f.finished for f in fits if f.finished]
    if finished:
        more = f" (the first of {len(finished)} machines)" if len(finished) > 1 else ""
        findings = (*findings, finished[0] + more)
    return Verdict(
        name, status, float(primal), float(gap), goal, None if free else True, sum(f.sweeps for f in fits) + 1.0, 0.0,
        stopped, findings,
    )  # fmt: skip


def _joint_verdict(name: str, fit: JointFit, tol: float, findings: tuple[str, ...]) -> Verdict:
    goal = max(tol / RELATIVE, 1e-13) * abs(fit.primal)
    status: Any = "optimal" if fit.gap <= goal else "not converged"
    if fit.stopped_by == "interrupted":
        status = "interrupted"
    return Verdict(
        name, status, fit.primal, fit.gap, goal, None, fit.sweeps + 1.0, 0.0, fit.stopped_by, findings
    )


def _joint_from_data(model: LinearSVC, machine: JointMachine) -> Verdict:
    coef, b = model._full_joint()
    known = len(model.dual_coef_) == machine.rows.n
    fit = machine.prove(coef, b, model.dual_coef_ if known else machine.slope_beta(machine.scores(coef, b)))
    return _joint_verdict(
        type(model).__name__, replace(fit, stopped_by="verified from data"), float(model.tol), ()
    )


def _leads(scores: FloatArray) -> FloatArray:
    """η_k − max_{j ≠ k} η_j of scores (n, K): what a constant added to all of them leaves alone."""
    top = np.partition(scores, -2, axis=1)[:, -2:]
    return scores - np.where(scores == top[:, 1:], top[:, :1], top[:, 1:])


def scale_findings(model: Any, spread: FloatArray) -> tuple[str, ...]:
    """A sentence where columns differ so much in size that the penalty sees only the small ones."""
    from separatrix.data.door import column_name

    live = np.flatnonzero(spread > 0)
    if not len(live) or len(live) > 10_000:
        return ()
    small, large = int(live[np.argmin(spread[live])]), int(live[np.argmax(spread[live])])
    if spread[large] <= 1e3 * spread[small]:
        return ()
    return (
        f"scales: column {column_name(model, large)} spreads {spread[large] / spread[small]:.0e} times as wide as "
        f"column {column_name(model, small)}, and ½‖w‖² weighs them alike: standardise them unless that is meant",
    )
