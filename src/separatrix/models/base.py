"""What every linear classifier shares: scores, predictions, geometry ([6867] 5.1), a verdict to show."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.data import door
from separatrix.data.estimator import Estimator
from separatrix.data.rows import over_rows
from separatrix.data.sources import TableLike
from separatrix.models.rule import LiveRule, SparseCoef
from separatrix.models.sets import PredictionSets


class Classifier(PredictionSets, ClassifierMixin, Estimator):
    """Rows in, labels of any hashable type out; subclasses say which class wins a row (`_winner`)."""

    classes_: np.ndarray

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows, by weight, that are predicted right; labels of any hashable type."""
        codes = np.asarray(self._winners(X))
        labels, given = door.read_labels(y, len(codes))
        known = {v: k for k, v in enumerate(self.classes_.tolist())}
        expected = np.array([known.get(v, -1) for v in labels.tolist()])[given]
        return float(np.average(codes == expected, weights=door.read_weights(sample_weight, len(codes))))

    def _winner(self, cells: Any) -> np.ndarray:
        """Index of the class a row is given."""
        raise NotImplementedError

    def _winners(self, X: TableLike) -> Any:
        """`_winner` of all rows: (n,)."""
        return self._on_rows(X, self._tiled(self._winner))

    def _read_classes(
        self, y: ArrayLike, weight: FloatArray | None, n: int, *, reset: bool = True
    ) -> tuple[np.ndarray, FloatArray]:
        """Codes of the labels (n,) and each class's total weight (K,); with ``reset`` they become ``classes_``."""
        if not reset:
            codes = self._codes_of(y, n)
            return codes, np.bincount(codes, weight, minlength=len(self.classes_)).astype(float)
        classes, codes, totals = door.drop_absent_classes(*door.read_labels(y, n), weight)
        door.refuse_one_class(classes)
        self.classes_ = classes
        return codes, totals

    def _codes_of(self, y: ArrayLike, n: int) -> np.ndarray:
        """Indices of labels into ``classes_``; an unknown label is refused by value."""
        labels, codes = door.read_labels(y, n)
        known = {v: k for k, v in enumerate(self.classes_.tolist())}
        unknown = [v for v in labels.tolist() if v not in known]
        if unknown:
            raise ValueError(f"label {unknown[0]!r} was not seen in training: the classes are {list(known)}")
        return np.array([known[v] for v in labels.tolist()], dtype=np.intp)[codes]

    def _read_for_prediction(self, X: TableLike) -> Any:
        return door.read_for_prediction(self, X)

    def _tiled(self, function: Any) -> Any:
        """The function by tiles of rows, on the engine's threads."""
        return lambda cells: over_rows(function, cells)

    def _on_rows(self, X: TableLike, function: Any) -> Any:
        """Apply to the checked rows; a Dask collection is answered lazily, partition by partition."""
        check_is_fitted(self)
        cells = self._read_for_prediction(X)
        if not door.is_dask(cells):
            return function(cells)
        if hasattr(cells, "columns"):
            cells = cells.to_dask_array(lengths=True)
        with np.errstate(all="ignore"):  # only the shape of the answer is looked at
            sample = function(np.zeros((1, cells.shape[1]), dtype=cells.dtype))
        cells = cells.rechunk({1: -1})
        # a name of our own: to make one, Dask pickles the model, and that asks Dask for the rows of its fit, for ever
        name = f"{type(self).__name__}-{uuid.uuid4().hex}"
        if sample.ndim == 1:
            return cells.map_blocks(function, name=name, dtype=sample.dtype, drop_axis=1)
        chunks = (cells.chunks[0], (sample.shape[1],))
        return cells.map_blocks(function, name=name, dtype=sample.dtype, chunks=chunks)


def minimum_cost(model: Any, X: TableLike, cost: Any) -> np.ndarray:
    """argmin_l Σ_k P(k | x) C_kl, the class of least expected cost; C_kl is the cost of saying l when k is true.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> wary = [[0, 1, 1], [1, 0, 1], [1, 9, 0]]  # calling a 2 a 1 is costly
    >>> int((model.predict(X) == 2).sum()), int((minimum_cost(model, X, wary) == 2).sum())
    (52, 71)
    """
    k = len(model.classes_)
    matrix = np.asarray(cost, dtype=float)
    if matrix.shape != (k, k):
        raise ValueError(
            f"cost must be a {k}×{k} matrix, a row for each true class and a column for each answer, in the "
            f"order of classes_; got shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("cost must be finite: use a large number for what must not happen")
    wrong = np.flatnonzero(np.diag(matrix) < 0)
    if len(wrong):
        label = model.classes_.tolist()[int(wrong[0])]
        raise ValueError(
            f"cost of a right answer is negative for class {label!r}: costs are what a wrong answer adds, so "
            "subtract the diagonal from its row"
        )
    return np.asarray(model.classes_[np.asarray(model.predict_proba(X) @ matrix).argmin(axis=1)])


class LinearClassifier(LiveRule, SparseCoef, Classifier):
    """A classifier whose score is w·x + w₀: prediction, and the geometry of its surface.

    Subclasses set ``classes_``, ``coef_`` (1, p) or (K, p), ``intercept_`` (1,) or (K,); ``rule_`` is read
    from them.
    """

    def _read_for_prediction(self, X: TableLike) -> Any:
        return door.read_for_prediction(self, X, stored="in parts")  # a score is linear in them

    def decision_function(self, X: TableLike) -> FloatArray:
        """w·x + w₀ of each row: (n,) for two classes, (n, K) for more."""
        return self._on_rows(X, self._score)

    def predict(self, X: TableLike) -> np.ndarray:
        """The class with the largest score, which is also the most probable one."""

        return self._on_rows(X, self._tiled(lambda cells: np.asarray(self.classes_[self._winner(cells)])))

    def signed_distance(self, X: TableLike) -> FloatArray:
        """(w·x + w₀)/‖w‖ of each row, positive on the side of the second class (two classes)."""
        return self._on_rows(X, lambda cells: self.rule_.signed_distance(cells))

    def functional_margin(self, X: TableLike, y: ArrayLike) -> FloatArray:
        """y (w·x + w₀) of each row; for K classes the smallest score difference to a rival class."""
        return self._margin("functional_margin", X, y)

    def geometric_margin(self, X: TableLike, y: ArrayLike) -> FloatArray:
        """The margin as a distance: y (w·x + w₀)/‖w‖; negative for a row on the wrong side."""
        return self._margin("geometric_margin", X, y)

    def _winner(self, cells: Any) -> np.ndarray:
        """Index of the class with the largest score."""
        scores = self._score(cells)
        return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

    def _margin(self, kind: str, X: TableLike, y: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        cells = LinearClassifier._read_for_prediction(self, X)
        codes = self._codes_of(y, cells.shape[0])
        rule = self.rule_
        target = 2.0 * codes - 1.0 if rule.coef.ndim == 1 else codes
        margin: FloatArray = getattr(rule, kind)(cells, target)
        return margin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
