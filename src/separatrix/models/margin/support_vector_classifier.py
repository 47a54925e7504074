"""Support vector classification, for a given C or a given ν: machines of two sides, their votes, their verdict.

    f_m(x) = Σ_i β_im k(x_i, x) + b_m,      β_im = α_im y_im,  for each pair of classes or each class against the rest

Notes [6867] 5.2, 5.3, [6321] "Support vector machines", [446]. Rows M4–M6, M8, M9 and M12. What is minimised: svc.py
and nu_svc.py; what several classes add: multiclass.py; what probabilities add: probabilities.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import _ovr_decision_function

from separatrix.core.margins import STATES, MarginReport
from separatrix.core.numerics import FloatArray, Index
from separatrix.data.checks import check_flag, check_known
from separatrix.data.door import read_weights
from separatrix.data.pool import one_blas_thread
from separatrix.data.sources import TableLike
from separatrix.data.together import together
from separatrix.models.base import Classifier
from separatrix.models.margin.calibration import calibrate
from separatrix.models.margin.kernels import Definiteness
from separatrix.models.margin.multiclass import (
    Sides,
    refuse_inseparable,
    sides_of,
    unfold_pairs,
    votes,
)
from separatrix.models.margin.probabilities import Calibrated, FoldFits, folds_of
from separatrix.models.margin.support_vector_machine import REACHED, WAY, WHOLE, SupportVectorMachine
from separatrix.models.parameters import check_class_weight, class_factors, seed_of, threads, warn_of
from separatrix.problems.kernels import Points
from separatrix.solve.dual_solution import DualSolution
from separatrix.solve.smo_rows import SOME
from separatrix.verdict.verdict import Verdict

DEAR = 300  # columns from which a kernel value costs so much that machines share all of them
WORTH_THREADS = 1e6  # Σn² of the machines from which they run side by side


class SupportVectorClassifier(Calibrated, SupportVectorMachine, Classifier):
    """Machines of two sides on one kernel; subclasses say what each of them minimises (`_solve`)."""

    probability: bool | str
    class_weight: Mapping[Any, float] | str | None
    decision_function_shape: str
    break_ties: bool
    random_state: Any
    multi_class: str
    warm_start: bool = False
    n_support_: Index
    reports_: list[MarginReport]

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (n, p), or a kernel matrix (n, n), and labels y (n,); a weight multiplies the row's C."""
        began = time.perf_counter()
        self._check_parameters()
        with threads(self.n_jobs), one_blas_thread():
            before = self._before()
            cells = self._read_rows(X, sample_weight, reset=True)
            n = cells.shape[0]
            codes, machines = self._sides(y, sample_weight, n, reset=True)
            folds = folds_of(codes, self.classes_, seed_of(self.random_state)) if self._method else None
            if np.isinf(self._price()):
                names = getattr(self, "feature_names_in_", None)
                refuse_inseparable(cells, machines, self.kernel, self.classes_, names)
            points, known = self._prepared(cells, self._wants_whole(cells, len(machines)))
            if before is not None and before.shape != (n, len(machines)):
                before = None
            fits = self._solved(points, machines, before)
            self._keep(cells, codes, machines, fits)
            self.__dict__.pop("calibration_", None)
            told = None
            if folds is not None:
                told = self._calibrate(points, machines, fits, folds)
        verdict = self._verdict(fits, known, n, told.values if told else 0)
        verdict = told.told(verdict, self.calibration_) if told else verdict
        self.verdict_ = replace(verdict, seconds=time.perf_counter() - began)
        warn_of(self.verdict_, "", WAY)
        return self

    def decision_function(self, X: TableLike) -> FloatArray:
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

    def predict(self, X: TableLike) -> np.ndarray:
        """The most probable class with ``calibrate``; else the one with most votes of the machines, or with
        ``break_ties`` or ``multi_class="ovr"`` the one with the largest score."""
        return np.asarray(self._on_rows(X, lambda cells: self.classes_[self._winner(cells)]))

    # ---- the door ----

    def _check_parameters(self) -> None:
        self._check_machine()
        self._check_calibrate()
        self._check_probability()
        check_known("multi_class", self.multi_class, "ovo", "ovr")
        check_flag("warm_start", self.warm_start)
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

    def _sides(
        self, y: ArrayLike, sample_weight: ArrayLike | None, n: int, *, reset: bool
    ) -> tuple[np.ndarray, list[Sides]]:
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

    def _wants_whole(self, cells: Any, machines: int) -> bool:
        """Whether machines share a kernel matrix: where many ask for its values, or one value costs much."""
        n = cells.shape[0]
        if machines == 1 and not self._method:
            return callable(self.kernel) and n <= WHOLE
        dear = self._method or not isinstance(cells, np.ndarray) or cells.shape[1] > DEAR
        return n <= WHOLE or bool(dear and 8e-6 * n * n <= self.cache_size)

    def _solved(self, points: Points, machines: list[Sides], before: FloatArray | None) -> list[DualSolution]:
        """Every machine, from β (n, machines) or from nothing: those of some thousand rows side by side, larger ones
        have the threads to themselves; what an interruption left no time for says nothing.
        """
        sizes = np.array([len(machine.rows) for machine in machines])
        free = points.index is not None or not callable(self.kernel)  # a function may not like company
        few = np.flatnonzero(sizes <= SOME) if free else np.empty(0, dtype=np.intp)
        if float(sizes[few] @ sizes[few]) < WORTH_THREADS:
            few = few[:0]
        most = int(self.cache_size // (8e-6 * sizes[few].max() ** 2)) if len(few) else 1
        others = np.setdiff1d(np.arange(len(machines)), few)

        def work(m: int) -> DualSolution:
            machine = machines[m]
            near = np.zeros(len(machine.rows)) if before is None else before[machine.rows, m]
            return self._solve(points, machine, near)

        def cut_short(fit: DualSolution) -> bool:
            return fit.stopped_by == "interrupted"

        fits: list[DualSolution | None] = [None] * len(machines)
        for group, side_by_side in ((few, most), (others, 1)):
            found = together(work, group.tolist(), cut_short, side_by_side)
            for m, fit in zip(group.tolist(), found):
                fits[m] = fit
            if any(fit is None or cut_short(fit) for fit in found):
                break
        return [self._unfitted(points, machines[m]) if fit is None else fit for m, fit in enumerate(fits)]

    def _price(self) -> float:
        """What a slack costs before weights."""
        raise NotImplementedError

    def _solve(self, points: Points, machine: Sides, near: FloatArray) -> DualSolution:
        """One machine, from the feasible point nearest to a β (rows of the machine,), often zero."""
        raise NotImplementedError

    def _unfitted(self, points: Points, machine: Sides) -> DualSolution:
        """A machine that says nothing, judged where it would start."""
        raise NotImplementedError

    def _judged(self, points: Points, machine: Sides, start: FloatArray, b: float) -> DualSolution | None:
        """One machine at β (rows of the machine,) and b, or None where β is no feasible point."""
        raise NotImplementedError

    def _before(self) -> FloatArray | None:
        """β (n, machines) to start from, or None."""
        return None

    def _announce(self, machine: Sides) -> str:
        """What a machine's progress is headed by: its classes, where there are several machines."""
        if len(self.classes_) == 2 or not self.verbose:
            return ""
        name = f"{machine.words(self.classes_)}: "
        say = self._say(name)
        if say is not None:
            say(f"{len(machine.rows):,} rows")
        return name

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
        some = np.zeros(n, dtype=bool)
        for machine, fit in zip(machines, fits):
            some[machine.rows[fit.beta != 0]] = True
        support = np.flatnonzero(some)
        support = support[np.argsort(codes[support], kind="stable")]
        at = np.full(n, -1)
        at[support] = np.arange(len(support))
        own = codes[support]
        coef = np.zeros((k - 1 if self._coupled else len(machines), len(support)))
        for m, (machine, fit) in enumerate(zip(machines, fits)):
            moved = np.flatnonzero(fit.beta)
            rows = at[machine.rows[moved]]
            where = m if not self._coupled else machine.place(own[rows])
            coef[where, rows] = fit.beta[moved]
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

    # ---- the verdict ----

    def _verdict(self, fits: Sequence[DualSolution], known: Definiteness, n: int, values: int = 0) -> Verdict:
        """``values``: kernel values computed beside those of the fits."""
        known = replace(known, indefinite=known.indefinite or any(f.indefinite for f in fits))
        findings = self._findings(known, n)
        freedom = max(f.freedom for f in fits)
        if freedom > float(self.tol):
            which = "b" if len(fits) == 1 else "some machine's b"
            findings += (
                f"every support vector is at its bound: {which} may be anything in an interval of length "
                f"{freedom:.3g}, and its middle is taken; a larger C settles it",
            )
        passes = (values + sum(f.values for f in fits)) / n**2
        goal = float(self.tol) * sum(f.scale for f in fits)
        return self._verdict_of(fits, goal, known.indefinite, passes, findings)

    def _stopped_by(self, stops: Sequence[str], settled: bool) -> str:
        return REACHED if settled else super()._stopped_by(stops, settled)

    def _findings(self, known: Definiteness, n: int) -> tuple[str, ...]:
        out = known.sentences()
        each = ", ".join(f"{c} of {k!r}" for c, k in zip(self.n_support_.tolist(), self.classes_.tolist()))
        out.append(f"{len(self.support_)} support vectors of {n} rows: {each}")
        counts = np.bincount(
            np.concatenate([r.states for r in self.reports_]), minlength=len(STATES)
        ).tolist()
        listed = ", ".join(f"{c} {s}" for s, c in zip(STATES, counts))
        over = "" if len(self.reports_) == 1 else f" (over {len(self.reports_)} machines)"
        out.append(f"examples{over}: {listed}")
        width = min(r.width for r in self.reports_)
        kkt = max(r.kkt for r in self.reports_)
        out.append(
            f"{'margin width' if len(self.reports_) == 1 else 'least margin width'} {width:.4g}, optimality "
            f"conditions violated by at most {kkt:.1e}"
        )
        return (*out, *self._scaling())

    def _verdict_from_data(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Verdict:
        """The verdict recomputed from rows, labels, dual_coef_ and intercept_, for :func:`separatrix.verify`."""
        cells = self._read_rows(X, reset=False)
        n = cells.shape[0]
        _, machines = self._sides(y, sample_weight, n, reset=False)
        if not self._holds_support(cells):
            return self._infeasible()
        points = self._points(cells, n <= WHOLE)
        beta = np.zeros((n, len(machines)))
        beta[self.support_] = self._read_back()
        fits = []
        for m, machine in enumerate(machines):
            own, b = beta[machine.rows, m], float(self.intercept_[m])
            elsewhere = np.delete(beta[:, m], machine.rows).any()
            fit = None if elsewhere else self._judged(points.take(machine.rows), machine, own, b)
            if fit is None:
                return self._infeasible()
            fits.append(fit)
        return self._from_data(self._verdict(fits, self._known_from_data(points), n))

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

    def _tiled(self, function: Callable[[Any], FloatArray]) -> Callable[[Any], FloatArray]:
        return function  # the kernel's products have the threads already

    def _read_back(self) -> FloatArray:
        """β (support vectors, machines), from ``dual_coef_``."""
        if not self._coupled:
            return np.asarray(self.dual_coef_.T)
        own = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        return unfold_pairs(self.dual_coef_, own, len(self.classes_))
