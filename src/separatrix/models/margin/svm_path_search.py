"""Machines of every fold along a rising C, each from the one before, on one shared kernel matrix (row M11).

    β of the old C, made feasible for the new one → the solver → the score of the fold

Folds run side by side on threads; what is finished is kept. Notes [6321] "Support vector machines".
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import _ovr_decision_function

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.chains import Chains, hands
from separatrix.data.interrupts import until_interrupted
from separatrix.models.margin.multiclass import votes
from separatrix.models.margin.support_vector_machine import WHOLE
from separatrix.models.margin.svc import SVC
from separatrix.models.margin.svm_path_folds import Fold, PathRows
from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Kernel, Points
from separatrix.solve.dual_solution import DualSolution
from separatrix.solve.smo import minimise

# rows of a machine from which folds gain more side by side than they lose by waiting for each other
ALONE = 1000

Scorer = Callable[..., float]


def _laid_out(points: Points, rows: Index) -> Points:
    """Some rows and columns of a whole matrix as a matrix of their own."""
    at = points.take(rows).index
    assert at is not None
    return Points(points.cells.take(at, axis=0).take(at, axis=1), points.half, np.arange(len(rows)))


class HeldAnswers(ClassifierMixin, BaseEstimator):
    """Answers for the held-out rows, known already, as the model that a scorer asks."""

    def __init__(
        self,
        values: FloatArray | None = None,
        answers: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ):
        self.values, self.answers, self.classes = values, answers, classes
        self.classes_ = classes

    def decision_function(self, X: object) -> FloatArray | None:
        return self.values

    def predict(self, X: object) -> np.ndarray | None:
        return self.answers


class PathSearch:
    """The points (γ, C, fold) in order, folds side by side; what is finished is kept."""

    def __init__(
        self,
        model: SVC,
        data: PathRows,
        folds: list[Fold],
        prices: FloatArray,
        widths: FloatArray,
        scorer: Scorer | None,
        verbose: bool | int,
    ):
        self.model, self.data, self.folds = model, data, folds
        self.prices, self.widths, self.scorer, self.verbose = prices, widths, scorer, verbose
        shape = (len(widths), len(prices), len(folds))
        self.scores, self.gap = np.full(shape, np.nan), np.full(shape, np.nan)
        self.support, self.steps = np.zeros(shape, dtype=int), np.zeros(shape, dtype=int)
        self.seconds = np.zeros(shape)
        cells = sum(float(len(machine.rows)) ** 2 for fold in folds for machine in fold.machines)
        self.keeps = cells * 8e-6 <= model.cache_size
        self.kept: dict[tuple[int, int], Points] = {}  # by fold and machine, of the current γ
        largest = max(len(machine.rows) for fold in folds for machine in fold.machines)
        self.hands = hands(len(folds)) if largest >= ALONE else 1
        self.chains = Chains()

    @property
    def interrupted(self) -> bool:
        return self.chains.stopped

    def run(self) -> None:
        """Everything; Ctrl-C sets ``interrupted`` and keeps what is finished."""
        with until_interrupted() as watch:
            for g in range(len(self.widths)):
                self._along(g)
                if self.interrupted:
                    break
        if watch.interrupted:
            self.chains.stopped = True

    def _along(self, g: int) -> None:
        """All C and folds of one γ: a fold is a chain, and a C a link of it."""
        n = self.data.cells.shape[0]
        if not np.isnan(self.widths[g]):
            self.model._gamma = float(self.widths[g])
        whole = n <= WHOLE or n * n * 8e-6 <= self.model.cache_size
        points = self.model._points(self.data.cells, whole)
        self.kept.clear()
        indefinite = self.model._definiteness(points).indefinite
        kernel = self.model._kernel()
        last: list[list[DualSolution]] = [[] for _ in self.folds]

        def work(m: int, f: int) -> None:
            last[f] = self._point(kernel, points, g, m, f, last[f], indefinite)

        self.chains.run(work, len(self.prices), len(self.folds), self.hands, lambda m: self._speak(g, m))

    def _point(
        self,
        kernel: Kernel,
        points: Points,
        g: int,
        m: int,
        f: int,
        before: list[DualSolution],
        indefinite: bool,
    ) -> list[DualSolution]:
        """The machines of one fold at one C, from those ``before``, and the score of the fold."""
        began = time.perf_counter()
        fold, C = self.folds[f], float(self.prices[m])
        fits: list[DualSolution] = []
        for k, machine in enumerate(fold.machines):
            start = _grown(before[k], machine.C, float(self.prices[m - 1]), C) if before else None
            fit = minimise(
                kernel,
                self._rows_of(points, f, k),
                Dual.classifier(machine.y, C * machine.C, start),
                tol=float(self.model.tol),
                megabytes=float(self.model.cache_size) / self.hands,
                report=self._look_up,
            )
            if fit.stopped_by == "interrupted":
                self.chains.stopped = True
                return before
            fits.append(fit)
        coef = np.zeros((len(fold.train), len(fits)))
        for k, (machine, fit) in enumerate(zip(fold.machines, fits)):
            coef[machine.rows, k] = fit.beta
        held = np.flatnonzero(coef.any(axis=1))
        values = kernel.combine(points.take(fold.test), points.take(fold.train[held]), coef[held])
        at = (g, m, f)
        self.support[at] = len(held)
        self.steps[at] = sum(fit.steps for fit in fits)
        no_claim = indefinite or any(fit.indefinite for fit in fits)
        objective = sum(fit.primal for fit in fits)
        self.gap[at] = np.inf if no_claim else sum(fit.gap for fit in fits) / objective if objective else 0.0
        score = self._score(fold, f, values + [fit.intercept for fit in fits])
        self.seconds[at] = time.perf_counter() - began
        self.scores[at] = score
        return fits

    def _rows_of(self, points: Points, f: int, k: int) -> Points:
        """The rows of a machine; of a whole matrix their own part of it, kept for the next C where there is room."""
        fold = self.folds[f]
        rows = fold.train[fold.machines[k].rows]
        if points.index is None:
            return points.take(rows)
        if self.keeps:
            if (f, k) not in self.kept:
                self.kept[f, k] = _laid_out(points, rows)
            return self.kept[f, k]
        return points.take(rows) if 2 * len(rows) > len(points) else _laid_out(points, rows)

    def _score(self, fold: Fold, f: int, values: FloatArray) -> float:
        k = len(fold.classes)
        if k == 2:
            winner = (values[:, 0] > 0).astype(np.intp)
        else:
            winner = votes(values, k).argmax(axis=1)
        codes = self.data.codes[fold.test]
        weight = None if self.data.weight is None else self.data.weight[fold.test]
        if self.scorer is None:
            return float(np.average(fold.classes[winner] == codes, weights=weight))
        labels = self.data.classes[fold.classes]
        each = values[:, 0] if k == 2 else _ovr_decision_function(values < 0, -values, k)
        extra = {} if weight is None else {"sample_weight": weight}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.scorer(
                HeldAnswers(each, labels[winner], labels),
                fold.test[:, None],
                self.data.classes[codes],
                **extra,
            )
        if not np.isfinite(found):
            raise ValueError(
                f"the score of fold {f} is {found}: its held-out rows have classes "
                f"{self.data.classes[np.unique(codes)].tolist()}. Use folds in which every class takes part, or "
                'scoring="accuracy"'
            )
        return float(found)

    def _look_up(self, line: str) -> None:
        """Asked about once a second by every solver: whether to go on."""
        if self.chains.stopped:
            raise KeyboardInterrupt

    def _speak(self, g: int, m: int) -> None:
        if not self.verbose:
            return
        part = self.scores[g, m]
        gamma = "" if np.isnan(self.widths[g]) else f"gamma {self.widths[g]:<10.4g}"
        print(
            f"svm_path: {gamma}C {self.prices[m]:<10.4g}score {part.mean():.4f}   {self.support[g, m].mean():,.0f} "
            f"support vectors   {self.steps[g, m].sum():,d} steps   {self.seconds[g, m].sum():.2f} s",
            file=sys.stderr,
            flush=True,
        )


def _grown(fit: DualSolution, box: FloatArray, old: float, new: float) -> FloatArray:
    """β of the old C made ready for the new one, feasible and with the same sum.

    What was at its bound goes to the new bound, and free variables stay as far as Σβ = 0 lets them: the side (of
    positive or of negative β) that has more of them grows by what the bounds have grown in the other. Nothing
    moves where nothing was at a bound: that machine is the best for every larger C.
    """
    beta, ratio = fit.beta, new / old
    bound = np.abs(beta) >= old * box
    start = np.where(bound, np.sign(beta) * (new * box), beta)
    sides = [~bound & (beta > 0), ~bound & (beta < 0)]
    less, more = sorted((float(np.abs(beta[side]).sum()), k) for k, side in enumerate(sides))
    if more[0] > 0:
        start[sides[more[1]]] *= ratio - (ratio - 1.0) * less[0] / more[0]
    return np.clip(start, -new * box, new * box)
