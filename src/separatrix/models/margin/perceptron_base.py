"""What the perceptron and its dual form share: parameters, orders, the machines' courses, the verdict on them.

    criterion  (1/W) Σ_i s_i max(0, −y_i f_i), summed over machines: zero where every row is right

Notes [6867] 5.4, [6321] "Perceptrons", [446]. Rows M2 and M3. The epochs themselves: solve/perceptron.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray
from separatrix.data import door
from separatrix.data.checks import check_count, check_positive
from separatrix.data.engine import each_in_threads
from separatrix.data.interrupts import until_interrupted
from separatrix.data.orders import Orders, Visits
from separatrix.models.base import Classifier
from separatrix.models.parameters import check_class_weight, check_limits, class_factors, seed_of, threads
from separatrix.solve.perceptron import Epochs, MistakeBound, PerceptronRun, train
from separatrix.solve.separator import Contradiction
from separatrix.solve.sequential import keyed_generator
from separatrix.verdict.build import no_claim, proven
from separatrix.verdict.verdict import ConvergenceWarning, Status, Verdict

ONCE = "the rows given were visited once"
NAMED = 4  # machines a verdict speaks of one by one
WORST: tuple[Status, ...] = ("interrupted", "not converged", "no claim", "infeasible", "optimal")


class MistakeDriven(Classifier):
    """A classifier that learns from its mistakes, in either form; subclasses have the machines."""

    fit_intercept: bool
    max_iter: int
    tol: float | None
    shuffle: bool
    verbose: int
    eta0: float
    n_jobs: int | None
    random_state: Any
    n_iter_no_change: int
    class_weight: Mapping[Any, float] | str | None
    average: bool
    pocket: bool
    n_mistakes_: Any  # a number, or an array of K
    mistakes_path_: Any  # (epochs,), or a list of K
    mistake_bound_: Any
    n_iter_: int
    t_: float
    verdict_: Verdict
    _EDITED = "coef_ and intercept_"  # what predicts

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _check_shared(self) -> None:
        check_limits(1.0 if self.tol is None else self.tol, self.max_iter, self.n_jobs)
        check_positive("eta0", self.eta0, finite=True)
        check_count("n_iter_no_change", self.n_iter_no_change)
        if self.average and self.pocket:
            raise ValueError("average=True and pocket=True are two answers to one question: choose one")
        check_class_weight(self.class_weight)

    def _refuse_dask(self, X: object) -> None:
        if door.is_dask(X):
            raise ValueError(
                f"{type(self).__name__} visits rows in order and needs them in memory: call X.compute() first, give "
                "its partitions to partial_fit one by one, or use LogisticRegression, whose sweeps read Dask"
            )

    def _read_targets(
        self, y: ArrayLike, sample_weight: ArrayLike | None, n: int
    ) -> tuple[np.ndarray, FloatArray]:
        """Class codes (n,) and the factors of their steps, weight times class weight (empty: all one)."""
        weight = door.read_weights(sample_weight, n)
        codes, totals = self._read_classes(y, weight, n)
        return codes, self._scale(codes, totals, weight)

    def _scale(self, codes: np.ndarray, totals: FloatArray, weight: FloatArray | None) -> FloatArray:
        if self.class_weight is None:
            return np.empty(0) if weight is None else weight
        factor = class_factors(self.class_weight, self.classes_, totals)
        if not (factor < np.inf).all():
            raise ValueError("class_weight must be finite for every class")
        return factor[codes] if weight is None else factor[codes] * weight

    def _signs(self, codes: np.ndarray) -> list[np.ndarray]:
        """±1 (n,) of each machine: one for two classes, else each class against the others."""
        positive = range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))
        return [(codes == k).view(np.int8) * np.int8(2) - np.int8(1) for k in positive]

    def _present(self, n: int, scale: FloatArray) -> np.ndarray:
        rows = np.arange(n) if len(scale) == 0 else np.flatnonzero(scale > 0)
        return rows.astype(np.int32 if n < 2**31 else np.int64)

    def _visits(self, rows: np.ndarray, X: Any) -> Callable[[int], Visits]:
        """epoch → order: as given, or drawn anew from (seed, epoch)."""
        if not self.shuffle:
            cyclic = Visits.cyclic(rows)
            return lambda epoch: cyclic
        seed = seed_of(self.random_state)
        return Orders(rows, X, lambda epoch: int(keyed_generator(seed, "perceptron", epoch).integers(2**63)))

    def _trained(
        self, machines: list[Any], rows: np.ndarray, X: Any, ask: Any, cancelled: Any
    ) -> list[Epochs]:
        """The courses of all machines, side by side on the engine's threads."""
        nothing = Epochs(np.zeros(0, dtype=np.int64), "interrupted", "interrupted")
        courses = [nothing] * len(machines)
        halt: list[bool] = []
        running: set[int] = set()

        def work(k: int) -> None:
            running.add(k)
            try:
                courses[k] = train(
                    machines[k], visits, max_iter=int(self.max_iter),
                    tol=None if self.tol is None else float(self.tol), patience=int(self.n_iter_no_change),
                    ask=ask, cancelled=lambda counts: cancelled(machines[k], counts), cyclic=not self.shuffle,
                    verbose=self.verbose, halt=halt,
                )  # fmt: skip
            finally:
                running.discard(k)

        with threads(self.n_jobs):
            visits = self._visits(rows, X)
            with until_interrupted() as watch:
                each_in_threads(work, range(len(machines)))
            if watch.interrupted:  # the main thread was waiting: the others end with their epoch
                halt.append(True)
                while running:
                    time.sleep(0.01)
        return courses

    def _keep_counts(self, machines: Sequence[PerceptronRun], courses: list[Epochs], visits: int) -> None:
        """``visits``: rows of an epoch."""
        paths = [course.mistakes for course in courses]
        single = len(machines) == 1
        self.mistakes_path_ = paths[0] if single else paths
        self.n_mistakes_ = int(paths[0].sum()) if single else np.array([p.sum() for p in paths])
        self.n_iter_ = max(map(len, paths))
        self.t_ = 1.0 + float(self.n_iter_ * visits)
        dual = np.array([m.dual for m in machines], dtype=np.float64 if self.average else np.int64)
        self._keep_dual(dual[0] if single else dual)

    def _keep_dual(self, dual: np.ndarray) -> None:
        dual.flags.writeable = False
        self._dual_coef = dual

    @property
    def dual_coef_(self) -> np.ndarray:
        """Updates on each training row, (n,) or (K, n), as the fit counted them."""
        state = self.__dict__
        found = state.get("_dual_coef", state.get("dual_coef_"))  # the second: of an older file
        if found is None:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: it has no dual_coef_")
        return np.asarray(found)

    @dual_coef_.setter
    def dual_coef_(self, value: object) -> None:
        raise AttributeError(
            f"dual_coef_ counts the updates that were made on the training rows: edit {self._EDITED}, which "
            "predict, or fit with sample_weight or class_weight"
        )

    def _judged(
        self,
        courses: list[Epochs],
        bounds: list[MistakeBound | None],
        margins: list[FloatArray],
        scale: FloatArray,
    ) -> Verdict:
        """The verdict of all machines: ``margins`` (m,) are y f of the present rows under the weights kept."""
        value = 0.0
        told: list[tuple[int, Status, str, list[str]]] = []
        names = [repr(c) for c in self.classes_.tolist()]
        for k, (course, bound, margin) in enumerate(zip(courses, bounds, margins, strict=True)):
            value += float(np.average(np.maximum(-margin, 0.0), weights=scale if len(scale) else None))
            wrong = int(np.count_nonzero(~(margin > 0)))
            status, words = self._one(course, bound, wrong, len(margin))
            if len(courses) > 1:
                words = [f"{names[k]} against the rest: {'; '.join(words)}"]
            told.append((WORST.index(status), status, course.stopped_by, words))
        told.sort(key=lambda one: one[0])  # the worst first, in the order of classes among equals
        findings = [sentence for one in told[:NAMED] for sentence in one[3]]
        if len(told) > NAMED:
            apart = sum(course.ended == "separated" for course in courses)
            findings.append(
                f"{apart} of {len(told)} classes are separated from the rest; the worst {NAMED} are shown"
            )
        worst = told[0][1]
        proof = next((course.proof for course in courses if course.proof is not None), None)
        return self._criterion(value, worst, told[0][2], self.n_iter_, findings, proof)

    def _criterion(
        self,
        value: float,
        status: Status,
        stopped_by: str,
        sweeps: int,
        findings: list[str],
        proof: Contradiction | None = None,
    ) -> Verdict:
        """The criterion is never negative: its value bounds the gap. It vanishes on a cone of weights, or nowhere."""
        return proven(
            self, scale="mean loss", objective=value, gap=value, tol=0.0, stopped_by=stopped_by, sweeps=sweeps,
            unique=False if status == "optimal" else None, findings=findings, status=status, separation=proof,
        )  # fmt: skip

    def _one(
        self, course: Epochs, bound: MistakeBound | None, wrong: int, n: int
    ) -> tuple[Status, list[str]]:
        """(status, sentences) of one machine whose kept weights leave ``wrong`` of n rows on the wrong side."""
        mistakes = int(course.mistakes.sum())
        side = f"{wrong} of {n} rows {'is' if wrong == 1 else 'are'} on the wrong side"
        if course.ended == "separated":
            count = f"{mistakes} mistakes" if bound is None else bound.sentence(mistakes)
            if wrong == 0:
                return "optimal", [f"separates all {n} rows: {count}"]
            return "no claim", [
                f"the last weights separate all {n} rows: {count}",
                f"under those kept {side}",
            ]
        if course.ended == "interrupted":
            return "interrupted", [side]
        if course.separable is False:
            reason = (
                course.proof.sentence()
                if course.proof is not None
                else "the weights repeat: in this order the mistakes would never end"
            )
            return "infeasible", [reason, f"{side}; the perceptron would go on for ever"]
        if course.separable:
            words = [f"the classes can be separated, but {side}: increase max_iter"]
            return "not converged", words if bound is None else [*words, bound.sentence(mistakes)]
        unknown = "whether anything separates the classes is not known: increase max_iter, or use LogisticRegression"
        return "not converged", [f"{side}; {unknown}"]

    def _conclude(
        self,
        courses: list[Epochs],
        bounds: list[MistakeBound | None],
        margins: list[FloatArray],
        scale: FloatArray,
        began: float,
    ) -> None:
        """Bounds, and the verdict with its time; the caller of ``fit`` is warned where none was reached."""
        values = [np.inf if b is None else b.value for b in bounds]
        self.mistake_bound_ = values[0] if len(values) == 1 else np.array(values)
        verdict = self._judged(courses, bounds, margins, scale)
        self.verdict_ = verdict = replace(verdict, seconds=time.perf_counter() - began)
        if verdict.status == "not converged":
            warn(
                f"no separator was reached: {verdict.findings[0]} (stopped: {verdict.stopped_by})",
                ConvergenceWarning,
            )

    # ---- one pass over the next rows ----

    def _check_online(self, X: object) -> None:
        self._check_parameters()
        self._refuse_dask(X)
        if isinstance(self.class_weight, str):
            raise ValueError(
                'class_weight="balanced" needs all rows at once: give partial_fit a dictionary of factors'
            )

    def _read_online(
        self, y: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None, n: int, *, first: bool
    ) -> tuple[np.ndarray, FloatArray]:
        """Class codes (n,) and the factors of their steps; the ``first`` call sets ``classes_``."""
        if first:
            if classes is None:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit: all labels to come"
                )
            self.classes_ = door.read_labels(classes, None)[0]
            door.refuse_one_class(self.classes_)
        elif classes is not None and door.read_labels(classes, None)[0].tolist() != self.classes_.tolist():
            raise ValueError(f"classes differ from those of the first call, {self.classes_.tolist()}")
        codes = self._codes_of(y, n)
        return codes, self._scale(codes, np.ones(len(self.classes_)), door.read_weights(sample_weight, n))

    def _visited_once(self, machines: Sequence[PerceptronRun], rows: np.ndarray) -> list[Epochs]:
        once = Visits.cyclic(rows)
        return [Epochs(np.array([m.epoch(once)]), "online", ONCE) for m in machines]

    def _no_claim(self, machines: int, began: float) -> None:
        """No bound and no claim about rows that are gone."""
        self.mistake_bound_ = np.inf if machines == 1 else np.full(machines, np.inf)
        words = f"{int(np.sum(self.n_mistakes_))} mistakes in {int(self.t_) - 1} visits so far"
        seconds = time.perf_counter() - began
        self.verdict_ = no_claim(self, stopped_by=ONCE, sweeps=1, seconds=seconds, findings=(words,))


def online(model: MistakeDriven) -> bool:
    """Whether ``partial_fit`` has a meaning; an AttributeError says why not."""
    if model.pocket:
        raise AttributeError(
            "pocket=True compares weights on all rows, and partial_fit sees some: use average=True"
        )
    if getattr(model, "kernel", None) == "precomputed":
        raise AttributeError(
            'kernel="precomputed" has no values between the rows of two calls: give partial_fit rows and a kernel'
        )
    return True


def spread(answer: Contradiction | bool | None, rows: np.ndarray, n: int) -> Contradiction | bool | None:
    """A proof about some rows as one about all n."""
    if not isinstance(answer, Contradiction):
        return answer
    weights = np.zeros(n)
    weights[rows] = answer.weights
    return Contradiction(weights, answer.residual, answer.fit_intercept)
