"""Support vector classification:  min ½‖w‖² + Σ_i C_i ξ_i,   y_i (w·φ(x_i) + b) ≥ 1 − ξ_i,  ξ_i ≥ 0.

    dual   max Σ α_i − ½ Σ_ij α_i α_j y_i y_j k(x_i, x_j),   0 ≤ α_i ≤ C_i,  Σ α_i y_i = 0

Notes [6867] 5.2 (separable: C = ∞), 5.3 (slacks), [6321] "Support vector machines", [446]. Rows M4–M6, M8, M9 and
M12 of the specification. What several classes add is in many_classes.py, what probabilities add in out_of_fold.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from separatrix.core.margins import STATES, MarginReport
from separatrix.core.numerics import FloatArray, Index
from separatrix.data.door import read_weights
from separatrix.models.base import Classifier
from separatrix.models.margin.calibration import calibrate
from separatrix.models.margin.kernel_machine import WHOLE, KernelMachine
from separatrix.models.margin.many_classes import (
    Sides,
    fold_pairs,
    refuse_inseparable,
    sides_of,
    unfold_pairs,
    votes,
)
from separatrix.models.margin.out_of_fold import Calibrated, FoldFits, feasible, folds_of
from separatrix.models.parameters import check_class_weight, class_factors, seed_of, threads, warn_of
from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Points
from separatrix.solve.smo import DualSolution, certify, minimise
from separatrix.verdict.verdict import Verdict


class SVC(Calibrated, KernelMachine, Classifier):
    """min ½‖w‖² + Σ_i C_i ξ_i subject to y_i (w·φ(x_i) + b) ≥ 1 − ξ_i, through its dual, with a verdict.

    C_i is ``C`` times the row's and its class's weight; ``C=np.inf`` is the hard margin, which data that are not
    separable refuse with a proof. More than two classes: a machine for each pair and a vote, or one for each class
    against the rest. Notes [6867] 5.2, 5.3, [6321], [446]. Parameters have scikit-learn's names, meanings and
    defaults; ``calibrate``, ``multi_class``, ``warm_start`` and ``n_jobs`` are new.

    Parameters
    ----------
    C : the price of slack, positive, or ``np.inf`` for none at all
    kernel : "linear", "poly", "rbf", "sigmoid", "precomputed", or a function of two tables that returns the matrix
        of values (it is asked for blocks of rows); rows that are no numbers, a list of words for one, it gets as
        they are
    degree, gamma, coef0 : of the kernels; gamma is "scale" (1/(p·Var X), weights counting as
        repetitions), "auto" (1/p) or a positive number
    shrinking : leave rows whose variable is stuck at a bound out of the search until its end
    probability : True means ``calibrate="sigmoid"``: probabilities that `predict` agrees with; False and leaving it
        out mean none
    tol : largest violation of the optimality conditions, and largest gap relative to the objective
    cache_size : megabytes of kernel rows that are kept
    class_weight : {label: weight}, "balanced", or None; like a row's, it counts in the probabilities too
    verbose : True prints a forecast of a long fit and its progress to standard error
    max_iter : most steps (pairs of variables) of a machine; −1 for ten million
    decision_function_shape : "ovr" (n, K) or "ovo" (n, K(K−1)/2) scores of more than two classes
    break_ties : let ``predict`` follow the ovr scores rather than the votes
    random_state : seed of the folds of ``calibrate``; nothing else is random, and None is a seed too
    calibrate : None, "sigmoid" (few rows) or "isotonic" (a thousand or more): `predict_proba` from scores of rows
        held out, in five stratified folds that start from the fit of all rows; `predict` is then its argmax
    multi_class : "ovo", a machine for each pair, or "ovr", one for each class against the rest, of all rows, each
        at its own class's weight
    warm_start : start from the dual variables of the fit before, where that had as many rows and classes
    n_jobs : threads; None uses all cores this process may use

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, fit_status_, classes_, shape_fit_, n_iter_ : as in
        scikit-learn, except that dual_coef_ of sparse tables is dense; with "ovr" dual_coef_ is (K, support
        vectors), a row for each machine, of K > 2 classes
    coef_ : (machines, p) with the linear kernel: 1 machine of two classes, else K(K−1)/2 or, with "ovr", K; made from
        ``dual_coef_`` and ``support_vectors_``, which are the model and may be edited
    reports_ : a :class:`~separatrix.core.margins.MarginReport` for each machine
    calibration_ : with ``calibrate``, the map from scores to probabilities of each machine
    verdict_ : the :class:`~separatrix.Verdict`; objective and gap are sums over the machines, in the scale above

    Notes
    -----
    Cost: about (support vectors) × n kernel values of O(p). Memory: cache_size and the rows once more. A fold of
    ``calibrate`` takes a half to nine tenths of the steps of a fit from nothing, and no new kernel values where the
    whole matrix is kept. A weight is repetition everywhere but in the folds, which may part the copies of a row; a
    weight of zero is absence.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> round(model.score(X, y), 3), model.n_support_.tolist()
    (0.973, [7, 29, 24])
    >>> model.verdict_.status, model.verdict_.gap < 1e-3 * model.verdict_.objective
    ('optimal', True)
    >>> model = SVC(calibrate="sigmoid").fit(X, y)
    >>> P = model.predict_proba(X)
    >>> P[100].round(2), bool((model.predict(X) == model.classes_[P.argmax(axis=1)]).all())
    (array([0.01, 0.  , 0.99]), True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Mapping[Any, float] | str | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        calibrate: str | None = None,
        multi_class: str = "ovo",
        warm_start: bool = False,
        n_jobs: int | None = None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.calibrate = calibrate
        self.multi_class = multi_class
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit to rows X (n, p), or a kernel matrix (n, n), and labels y (n,); a weight multiplies the row's C."""
        began = time.perf_counter()
        self._check_parameters()
        with threads(self.n_jobs):
            before = self._before()
            cells = self._read_rows(X, sample_weight, reset=True)
            n = cells.shape[0]
            codes, machines = self._sides(y, sample_weight, n, reset=True)
            folds = folds_of(codes, self.classes_, seed_of(self.random_state)) if self._method else None
            if np.isinf(self._price()):
                names = getattr(self, "feature_names_in_", None)
                refuse_inseparable(cells, machines, self.kernel, self.classes_, names)
            many = (len(machines) > 1 or self._method) and n * n * 8e-6 <= self.cache_size
            points = self._points(cells, n <= WHOLE or bool(many))
            indefinite, looked_at = self._definiteness(points)
            self._forecast(points)
            if before.shape != (n, len(machines)):
                before = np.zeros((n, len(machines)))
            fits = []
            for machine, start in zip(machines, before.T):
                fits.append(self._solve(points, machine, start[machine.rows]))
                if fits[-1].stopped_by == "interrupted":
                    break
            for machine in machines[len(fits) :]:  # those an interruption left no time for say nothing
                fits.append(self._unfitted(points, machine))
            self._keep(cells, codes, machines, fits)
            self.__dict__.pop("calibration_", None)
            told = None
            if folds is not None:
                told = self._calibrate(points, machines, fits, folds)
        verdict = self._verdict(fits, indefinite, looked_at, n, told.values if told else 0)
        self.verdict_ = replace(
            told.told(verdict, self.calibration_) if told else verdict, seconds=time.perf_counter() - began
        )
        warn_of(self.verdict_, "", "Increase max_iter, or scale the columns")
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """f(x): (n,) for two classes, the margin; of more (n, K) votes, refined by the sums of scores, or
        (n, K(K−1)/2) scores of pairs; with ``multi_class="ovr"`` the scores (n, K) of the machines.

        With ``calibrate`` the class with the largest score need not be `predict`'s, which is the most probable one.
        """

        def score(cells: Any) -> FloatArray:
            values = self._machine_scores(cells)
            if len(self.classes_) == 2:
                return values[:, 0]
            as_they_are = not self._coupled or self.decision_function_shape == "ovo"
            return values if as_they_are else self._shares(values)

        return np.asarray(self._on_rows(X, score))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class with ``calibrate``; else the one with most votes of the machines, or with
        ``break_ties`` or ``multi_class="ovr"`` the one with the largest score."""
        return np.asarray(self._on_rows(X, lambda cells: self.classes_[self._winner(cells)]))

    # ---- the door ----

    def _check_parameters(self) -> None:
        self._check_machine()
        self._check_calibrate()
        self._check_probability()
        if self.multi_class not in ("ovo", "ovr"):
            raise ValueError(f'multi_class {self.multi_class!r} is unknown: use "ovo" or "ovr"')
        if not isinstance(self.warm_start, (bool, np.bool_)):
            raise ValueError(f"warm_start must be True or False, got {self.warm_start!r}")
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                f'decision_function_shape must be "ovr" or "ovo", got {self.decision_function_shape!r}'
            )
        if self.decision_function_shape == "ovo" and self.multi_class == "ovr":
            raise ValueError(
                'decision_function_shape="ovo" asks for scores of pairs, and multi_class="ovr" has no machines of '
                'pairs: use "ovr" for both, or "ovo"'
            )
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError('break_ties must be False when decision_function_shape is "ovo"')
        if self.break_ties and self._method is not None:
            raise ValueError(
                "break_ties lets predict follow the scores, and with calibrate it follows the probabilities: leave "
                "one of them out"
            )
        check_class_weight(self.class_weight)

    def _check_probability(self) -> None:
        """``probability`` is scikit-learn's word for ``calibrate``: refuse what the two say against each other."""
        given = self.probability
        if not (isinstance(given, (bool, np.bool_)) or (isinstance(given, str) and given == "deprecated")):
            raise ValueError(f"probability must be True or False, got {given!r}")
        if given is not False and self.calibrate == "isotonic" and given != "deprecated":
            raise ValueError(
                'probability=True means calibrate="sigmoid", and calibrate is "isotonic": leave probability out'
            )
        if isinstance(given, (bool, np.bool_)) and not given and self.calibrate is not None:
            raise ValueError(
                f"probability=False asks for no probabilities, and calibrate={self.calibrate!r} for some: leave "
                "probability out"
            )

    @property
    def _method(self) -> str | None:
        """The kind of calibration asked for, by either name."""
        asked = not isinstance(self.probability, str) and bool(self.probability)
        return "sigmoid" if self.calibrate is None and asked else self.calibrate

    def _price(self) -> float:
        """What a slack costs before weights."""
        return float(self.C)

    def _sides(self, y: Any, sample_weight: Any, n: int, *, reset: bool) -> tuple[np.ndarray, list[Sides]]:
        """Class codes (n,), −1 for rows that are absent, and the machines."""
        weight = read_weights(sample_weight, n)
        codes, totals = self._read_classes(y, weight, n, reset=reset)
        weight = np.ones(n) if weight is None else weight
        codes = np.where(weight > 0, codes, -1)
        weight = weight * class_factors(self.class_weight, self.classes_, totals)[codes]
        if reset:
            self._against = self.multi_class
        return codes, sides_of(codes, weight, self._price(), len(self.classes_), self._against)

    # ---- the machines ----

    def _solve(self, points: Points, machine: Sides, near: FloatArray) -> DualSolution:
        """One machine, from the feasible point nearest to a β (rows of the machine,), often zero."""
        say = self._say()
        if say is not None and len(self.classes_) > 2:
            say(f"{machine.words(self.classes_)}: {len(machine.rows):,} rows")
        dual = Dual.classifier(machine.y, machine.C)
        fit = minimise(
            self._kernel(),
            points if len(machine.rows) == len(points) else points.take(machine.rows),
            replace(dual, start=feasible(near, dual.low, dual.high)),
            tol=float(self.tol),
            max_steps=None if self.max_iter == -1 else int(self.max_iter),
            megabytes=float(self.cache_size),
            shrinking=bool(self.shrinking),
            report=say,
        )
        if fit.stopped_by == "hulls meet":
            total = 0.5 * np.abs(fit.beta).sum()
            above, below = int((fit.beta > 0).sum()), int((fit.beta < 0).sum())
            raise ValueError(
                f"C=np.inf asks for a margin that no row enters, which {machine.words(self.classes_)} do not allow: "
                f"a weighted mean of {above} rows of one and of {below} rows of the other have images at distance "
                f"{np.sqrt(max(fit.square, 0.0)) / total:.0e}. Use a finite C, or a finer kernel"
            )
        return fit

    def _unfitted(self, points: Points, machine: Sides) -> DualSolution:
        """A machine that says nothing, judged where it would start."""
        dual = Dual.classifier(machine.y, machine.C)
        return certify(self._kernel(), points.take(machine.rows), dual, 0.0, self.tol)

    def _before(self) -> FloatArray:
        """With ``warm_start``, β (n, machines) of the fit before."""
        if not self.warm_start or not hasattr(self, "support_"):
            return np.zeros((0, 0))
        weights = self._read_back()
        out = np.zeros((self.shape_fit_[0], weights.shape[1]))
        out[self.support_] = weights
        return out

    def _calibrate(
        self, points: Points, machines: list[Sides], fits: list[DualSolution], folds: Index
    ) -> FoldFits:
        """``calibration_`` from the scores of each machine fitted without a fold, which starts at the fit of all.

        A row and its class weigh in the map as in the machine.
        """
        method = self._method
        assert method is not None
        told = FoldFits(method, int(folds.max()) + 1)
        told.interrupted = any(fit.stopped_by == "interrupted" for fit in fits)
        self.calibration_ = []
        for machine, fit in zip(machines, fits):
            score = fit.score + fit.intercept
            for f in range(told.folds):
                if told.interrupted:
                    break
                held = folds[machine.rows] == f
                less = machine.without(held)
                again = self._solve(points, less, fit.beta[~held])
                told.add(again.stopped_by, again.stopped_by == "gap ≤ tol", again.steps, again.values)
                support = np.flatnonzero(again.beta)
                score[held] = again.intercept + self._kernel().combine(
                    points.take(machine.rows[held]),
                    points.take(less.rows[support]),
                    again.beta[support][:, None],
                )[:, 0]  # fmt: skip
            self.calibration_.append(calibrate(method, score, machine.y > 0, machine.weight))
        return told

    def _keep(self, cells: Any, codes: np.ndarray, machines: list[Sides], fits: list[DualSolution]) -> None:
        """Support vectors by class, coefficients in scikit-learn's layout, and the reports."""
        n, k = cells.shape[0], len(self.classes_)
        beta = np.zeros((n, len(machines)))
        for m, (machine, fit) in enumerate(zip(machines, fits)):
            beta[machine.rows, m] = fit.beta
        support = np.flatnonzero(beta.any(axis=1))
        support = support[np.argsort(codes[support], kind="stable")]
        weights, own = beta[support], codes[support]
        coef = fold_pairs(weights, own, k) if self._coupled else weights.T.copy()
        self.support_ = support.astype(np.int32)
        self.n_support_ = np.bincount(own, minlength=k).astype(np.int32)
        self.support_vectors_ = self._kept(cells, support)
        self.dual_coef_ = coef
        self.intercept_ = np.array([fit.intercept for fit in fits])
        self.shape_fit_ = cells.shape
        self.n_iter_ = np.array([fit.steps for fit in fits], dtype=np.int32)
        self.fit_status_ = int(any(fit.stopped_by == "max_iter" for fit in fits))
        self.reports_ = [
            MarginReport(
                np.abs(fit.beta),
                machine.y * (fit.score + fit.intercept),
                fit.primal,
                fit.dual,
                float(np.sqrt(max(fit.square, 0.0))),
                fit.violation,
                max(float(self.tol), fit.violation),
                machine.rows,
                machine.labels(self.classes_),
            )
            for machine, fit in zip(machines, fits)
        ]

    def _verdict(
        self, fits: list[DualSolution], indefinite: bool, looked_at: int, n: int, values: int = 0
    ) -> Verdict:
        """``values``: kernel values computed beside those of the fits."""
        objective, gap = sum(f.primal for f in fits), sum(f.gap for f in fits)
        goal = float(self.tol) * sum(f.scale for f in fits)
        indefinite = indefinite or any(f.indefinite for f in fits)
        stops = [f.stopped_by for f in fits]
        status: Any = "optimal" if gap <= goal else "not converged"
        stopped = (
            "gap ≤ tol"
            if status == "optimal"
            else next((s for s in stops if s != "gap ≤ tol"), "no progress")
        )
        if "interrupted" in stops:
            status, stopped = "interrupted", "interrupted"
        elif indefinite:
            status, gap = "no claim", np.inf
        findings = self._findings(indefinite, looked_at, n)
        freedom = max(f.freedom for f in fits)
        if freedom > float(self.tol):
            which = "b" if len(fits) == 1 else "some machine's b"
            findings += (
                f"every support vector is at its bound: {which} may be anything in an interval of length "
                f"{freedom:.3g}, and its middle is taken; a larger C settles it",
            )
        passes = (values + sum(f.values for f in fits)) / n**2
        return Verdict(
            type(self).__name__, status, objective, gap, goal, None, passes, 0.0, stopped, findings
        )

    def _findings(self, indefinite: bool, looked_at: int, n: int) -> tuple[str, ...]:
        out = []
        if indefinite:
            out.append("the kernel is not positive semidefinite: no optimum is claimed")
        elif looked_at:
            out.append(f"that the kernel is positive semidefinite was looked at on {looked_at} rows")
        each = ", ".join(f"{c} of {k!r}" for c, k in zip(self.n_support_.tolist(), self.classes_.tolist()))
        out.append(f"{len(self.support_)} support vectors of {n} rows: {each}")
        counts = np.sum([list(r.counts.values()) for r in self.reports_], axis=0).tolist()
        listed = ", ".join(f"{c} {s}" for s, c in zip(STATES, counts))
        over = "" if len(self.reports_) == 1 else f" (over {len(self.reports_)} machines)"
        out.append(f"examples{over}: {listed}")
        width = min(r.width for r in self.reports_)
        kkt = max(r.kkt for r in self.reports_)
        out.append(
            f"{'margin width' if len(self.reports_) == 1 else 'least margin width'} {width:.4g}, optimality "
            f"conditions violated by at most {kkt:.1e}"
        )
        scaling = self._scaling()
        if scaling:
            out.append(scaling)
        return tuple(out)

    # ---- scores ----

    @property
    def _coupled(self) -> bool:
        """Whether the machines are pairs of classes, as they also are of two."""
        return self._against == "ovo" or len(self.classes_) == 2

    def _machine_scores(self, cells: Any) -> FloatArray:
        """The machines' scores (n, machines), of pairs in scikit-learn's orientation."""
        if self.kernel == "linear":
            return np.asarray(cells @ self.coef_.T) + self.intercept_
        return self._scores(cells, self._read_back()) + self.intercept_

    def _shares(self, values: FloatArray) -> FloatArray:
        return np.asarray(_ovr_decision_function(values < 0, -values, len(self.classes_)))

    def _winner(self, cells: Any) -> np.ndarray:
        if self._has_probabilities:
            return self._probabilities(cells).argmax(axis=1)
        values = self._machine_scores(cells)
        k = len(self.classes_)
        if k == 2:
            return (values[:, 0] > 0).astype(np.intp)
        if not self._coupled:
            return values.argmax(axis=1)
        return (self._shares(values) if self.break_ties else votes(values, k)).argmax(axis=1)

    def _tiled(self, function: Any) -> Any:
        return function  # the kernel's products have the threads already

    # ---- again, from data ----

    def _verdict_from_data(self, X: Any, y: Any, sample_weight: Any = None) -> Verdict:
        """The verdict recomputed from rows, labels, dual_coef_ and intercept_, for :func:`separatrix.verify`."""
        cells = self._read_rows(X, reset=False)
        n = cells.shape[0]
        same = self._holds_support(cells)
        _, machines = self._sides(y, sample_weight, n, reset=False)
        fits: list[DualSolution] = []
        points = self._points(cells, n <= WHOLE)
        weights = self._read_back()
        for m, machine in enumerate(machines if same else []):
            beta = np.zeros(n)
            beta[self.support_] = weights[:, m]
            if np.delete(beta, machine.rows).any():
                same = False
                break
            fit = self._judged(
                points.take(machine.rows), machine, beta[machine.rows], float(self.intercept_[m])
            )
            if fit is None:
                same = False
                break
            fits.append(fit)
        claimed = self.verdict_
        if not same:
            return self._infeasible(claimed.tol)
        indefinite, looked_at = self._definiteness(points)
        verdict = self._verdict(fits, indefinite or claimed.status == "no claim", looked_at, n)
        return Verdict(
            verdict.model, verdict.status, verdict.objective, verdict.gap, claimed.tol, None, verdict.sweeps, 0.0,
            "verified from data", verdict.findings,
        )  # fmt: skip

    def _judged(self, points: Points, machine: Sides, start: FloatArray, b: float) -> DualSolution | None:
        """One machine at β (rows of the machine,) and b, or None where β is no feasible point."""
        dual = Dual.classifier(machine.y, machine.C, start)
        slack = 1e-9 * np.abs(start).max(initial=0.0)
        inside = (start >= dual.low - slack) & (start <= dual.high + slack)
        if not inside.all() or abs(start.sum()) > 1e-9 * np.abs(start).sum():
            return None
        return certify(self._kernel(), points, dual, b, self.tol)

    def _read_back(self) -> FloatArray:
        """β (support vectors, machines), from ``dual_coef_``."""
        if not self._coupled:
            return np.asarray(self.dual_coef_.T)
        own = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        return unfold_pairs(self.dual_coef_, own, len(self.classes_))
