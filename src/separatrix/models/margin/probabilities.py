"""Probabilities of margin machines from scores of rows they were not fitted to:  P(k | x) = map_k(f_k(x)).

    every row's score comes from the machine fitted without its fold; one map a machine (calibration.py);
    then  (1 − p, p) of two classes,  p_k / Σ p of one-vs-rest machines,  coupling of one-vs-one machines

`predict` is the argmax of `predict_proba` wherever there is one, so the two never contradict each other. Platt
(2000); notes [6321] "Support vector machines". Row M12 of the specification. Cost: one fit more for each fold, which
starts from the fit of all rows where the solver takes a start; O(nK) for the maps, O(nK³) for the coupling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.sources import TableLike
from separatrix.models.margin.calibration import METHODS, Calibration, Sigmoid, couple
from separatrix.verdict.verdict import Verdict

FOLDS = 5


def _calibrates(model: Calibrated) -> bool:
    if model._method is None:
        raise AttributeError(
            f'{type(model).__name__} has probabilities with calibrate="sigmoid" or "isotonic", not with None'
        )
    return True


class Calibrated:
    """`predict_proba` and `predict_log_proba` of a model with ``calibrate``.

    Subclasses give `_machine_scores`, and say with ``_coupled`` whether the machines are pairs of classes.
    """

    calibrate: str | None
    calibration_: list[Calibration]
    classes_: np.ndarray
    verdict_: Verdict

    @available_if(_calibrates)
    def predict_proba(self, X: TableLike) -> FloatArray:
        """P(k | x) of each row (n, K), which sums to one; `predict` is the class where it is largest."""
        check_is_fitted(self, "calibration_")
        return self._on_rows(X, self._tiled(self._probabilities))  # type: ignore[attr-defined]

    @available_if(_calibrates)
    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """log P(k | x) of each row (n, K); −∞ where a step function says zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _check_calibrate(self) -> None:
        if not (self.calibrate is None or (isinstance(self.calibrate, str) and self.calibrate in METHODS)):
            raise ValueError(f'calibrate {self.calibrate!r} is unknown: use "sigmoid", "isotonic" or None')

    @property
    def _method(self) -> str | None:
        """The kind of calibration asked for."""
        return self.calibrate

    @property
    def _has_probabilities(self) -> bool:
        return self._method is not None and hasattr(self, "calibration_")

    def _machine_scores(self, cells: Any) -> FloatArray:
        """Scores of each machine, (n,) or (n, machines)."""
        raise NotImplementedError

    @property
    def _coupled(self) -> bool:
        return False

    def _probabilities(self, cells: Any) -> FloatArray:
        scores = self._machine_scores(cells)
        return shares(self.calibration_, scores.reshape(len(scores), -1), len(self.classes_), self._coupled)


def shares(maps: Sequence[Calibration], scores: FloatArray, k: int, coupled: bool) -> FloatArray:
    """P of K classes (n, K) from scores (n, machines): one machine, K against the rest, or ``coupled`` pairs.

    Machine (i, j) of a pair scores i; the single machine of two classes scores the second.

    >>> shares([Sigmoid(1.0, 0.0)] * 3, np.array([[0.0, 0.0, 9.0]]), 3, coupled=False).round(3)
    array([[0.25, 0.25, 0.5 ]])
    """
    p = np.column_stack([m.probability(score) for m, score in zip(maps, scores.T, strict=True)])
    if k == 2:
        return np.column_stack([1.0 - p[:, 0], p[:, 0]])
    if coupled:
        pairs = np.zeros((len(p), k, k))
        for m, (i, j) in enumerate(combinations(range(k), 2)):
            pairs[:, i, j], pairs[:, j, i] = p[:, m], 1.0 - p[:, m]
        return couple(pairs)
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / k)


def folds_of(codes: np.ndarray, classes: np.ndarray, seed: int) -> Index:
    """The fold (n,) that holds each row out, −1 for rows without a class (code −1); every class is in every fold.

    Five folds, or as many as the smallest class has rows. Absent rows and the classes' names change nothing.

    >>> folds_of(np.array([0, 0, 1, 1, 1, -1]), np.array(["a", "b"]), 0).tolist()
    [1, 0, 1, 0, 0, -1]
    """
    present = np.flatnonzero(codes >= 0)
    counts = np.bincount(codes[present], minlength=len(classes))
    if counts.min() < 2:
        label = classes.tolist()[int(counts.argmin())]
        raise ValueError(
            f"probabilities come from rows held out, and class {label!r} has a single row: give it more rows, or "
            "calibrate=None"
        )
    out = np.full(len(codes), -1, dtype=np.intp)
    split = StratifiedKFold(int(min(FOLDS, counts.min())), shuffle=True, random_state=seed)
    for f, (_, held) in enumerate(split.split(present, codes[present])):
        out[present[held]] = f
    return out


@dataclass
class FoldFits:
    """What became of the fits without a fold: how many, their steps, how many fell short of the tolerance."""

    method: str
    folds: int
    fits: int = 0
    steps: int = 0
    short: int = 0
    values: int = 0
    interrupted: bool = False

    def add(self, stopped_by: str, settled: bool, steps: int, values: int = 0) -> None:
        self.fits += 1
        self.steps += steps
        self.values += values
        self.short += not settled
        self.interrupted |= stopped_by == "interrupted"

    def told(self, verdict: Verdict, maps: Sequence[Calibration]) -> Verdict:
        """The verdict with a sentence on how the probabilities were made."""
        ends = f"{self.short} of them short of the tolerance" if self.short else "all converged"
        words = [
            f"probabilities: {self.method} of scores out of fold, {self.folds} stratified folds, {self.fits} fits "
            f"({self.steps:,} steps), {ends}"
        ]
        if self.interrupted:
            words.append(
                "interrupted: folds that were not fitted have the scores of the fit itself, which are too sure"
            )
        against = sum(isinstance(m, Sigmoid) and m.slope < 0 for m in maps)
        if against:
            words.append(f"scores of {against} of {len(maps)} machines point the wrong way on rows held out")
        verdict = replace(verdict, findings=(*verdict.findings, *words))
        if self.interrupted:
            verdict = replace(verdict, status="interrupted", stopped_by="interrupted")
        return verdict
