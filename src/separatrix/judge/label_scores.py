"""Scores of answers, and of predicted numbers:  counts of (true class, answer) and what is read of them.

    balanced      mean over classes present of the share of their rows predicted right
    MCC           (c s − Σ_k t_k p_k) / √((s² − Σ p_k²)(s² − Σ t_k²)), c right of s rows, t_k are k, p_k said to be
    precision, recall, F₁   of the positive class of two;  K > 2: means over classes present, each against the rest
    average precision       Σ_j (recall_j − recall_{j−1}) precision_j over falling thresholds; K > 2 likewise
    RMSE, MAE, R²   √ mean (y − ŷ)², mean |y − ŷ|, 1 − Σ (y − ŷ)²/Σ (y − ȳ)²: of numbers

Row V1. Shapes: codes and answers (n,), P (n, K), numbers (n,). Cost: O(n), average precision O(nK log n).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray


def table_of(codes: np.ndarray, predicted: np.ndarray, k: int, weight: Any = None) -> FloatArray:
    """(K, K) weight of rows by true class and answer.

    >>> table_of(np.array([0, 1, 1]), np.array([0, 1, 0]), 2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    cells = np.asarray(codes, dtype=np.intp) * k + np.asarray(predicted, dtype=np.intp)
    return np.bincount(cells, weights=weight, minlength=k * k).reshape(k, k).astype(float)


def _counted(codes: np.ndarray, predicted: np.ndarray, weight: Any) -> FloatArray:
    return table_of(codes, predicted, int(max(codes.max(), predicted.max())) + 1, weight)


def _over(a: Any, b: Any) -> FloatArray:
    """a/b, 0 where b is."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=b > 0)


def balanced_accuracy(codes: np.ndarray, predicted: np.ndarray, weight: Any = None) -> float:
    """The mean over classes that are there of the share of their rows predicted right.

    >>> balanced_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    0.5
    """
    table = _counted(codes, predicted, weight)
    rows = table.sum(axis=1)
    return float(np.mean(np.diag(table)[rows > 0] / rows[rows > 0]))


def mcc(codes: np.ndarray, predicted: np.ndarray, weight: Any = None) -> float:
    """Matthews' correlation of classes and answers, −1 to 1; 0 where either is all of one class.

    >>> mcc(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])).__round__(4)
    0.5774
    """
    table = _counted(codes, predicted, weight)
    total, true, said = table.sum(), table.sum(axis=1), table.sum(axis=0)
    apart = (total**2 - said @ said) * (total**2 - true @ true)
    return float((np.trace(table) * total - true @ said) / np.sqrt(apart)) if apart > 0 else 0.0


def by_class(table: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Precision, recall and F₁ (K,) of each class from a table of (true class, answer); 0 where nothing is counted.

    >>> [v.round(2).tolist() for v in by_class(np.array([[3.0, 1.0], [0.0, 4.0]]))]
    [[1.0, 0.8], [0.75, 1.0], [0.86, 0.89]]
    """
    hit, said, true = np.diag(table), table.sum(axis=0), table.sum(axis=1)
    return _over(hit, said), _over(hit, true), _over(2.0 * hit, said + true)


def _sided(which: int) -> Callable[..., float]:
    def score(
        codes: np.ndarray, predicted: np.ndarray, weight: Any = None, positive: int | None = None
    ) -> float:
        table = _counted(codes, predicted, weight)
        if positive is not None and positive >= len(table):  # neither there nor said
            return 0.0
        values = by_class(table)[which]
        return float(values[positive] if positive is not None else values[table.sum(axis=1) > 0].mean())

    return score


precision, recall, f1 = _sided(0), _sided(1), _sided(2)


def average_precision(
    codes: np.ndarray, P: FloatArray, weight: Any = None, positive: int | None = None
) -> float:
    """Precision at every threshold, weighted by what recall gains there; K > 2: the mean over classes present.

    NaN where a class has all the rows or none.

    >>> average_precision(
    ...     np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]])
    ... )
    0.8333333333333333
    """
    w = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float)
    if P.shape[1] == 2 or positive is not None:
        k = 1 if positive is None else positive
        return _average_precision(codes == k, P[:, k], w)
    each = [_average_precision(codes == k, P[:, k], w) for k in range(P.shape[1]) if (codes == k).any()]
    return float(np.mean(each)) if len(each) > 1 else float("nan")


def _average_precision(positive: np.ndarray, score: FloatArray, weight: FloatArray) -> float:
    values, place = np.unique(score, return_inverse=True)
    hits = np.bincount(place, weights=weight * positive, minlength=len(values))[::-1].cumsum()
    said = np.bincount(place, weights=weight, minlength=len(values))[::-1].cumsum()
    if not 0 < hits[-1] < said[-1]:
        return float("nan")
    return float(np.diff(hits, prepend=0.0) @ _over(hits, said) / hits[-1])


def rmse(y: np.ndarray, predicted: np.ndarray, weight: Any = None) -> float:
    """√ mean (y − ŷ)².

    >>> round(rmse(np.array([1.0, 3.0]), np.array([1.0, 1.0])), 4)
    1.4142
    """
    return float(np.sqrt(np.average(np.square(y - predicted), weights=weight)))


def mae(y: np.ndarray, predicted: np.ndarray, weight: Any = None) -> float:
    """mean |y − ŷ|."""
    return float(np.average(np.abs(y - predicted), weights=weight))


def r2(y: np.ndarray, predicted: np.ndarray, weight: Any = None) -> float:
    """1 − Σ (y − ŷ)² / Σ (y − ȳ)², ȳ of these rows: 1 at best, below 0 where the mean would do better; NaN where y
    does not vary.

    >>> r2(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]))
    0.5
    """
    spread = float(np.average(np.square(y - np.average(y, weights=weight)), weights=weight))
    return (
        1.0 - float(np.average(np.square(y - predicted), weights=weight)) / spread
        if spread > 0
        else float("nan")
    )
