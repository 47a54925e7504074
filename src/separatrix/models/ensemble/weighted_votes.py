"""What boosting predicts by:  votes_k(x) = Σ_t 2α_t 1[h_t(x) = k], whole and after each round ([6321], row E2).

    h(x) = argmax_k votes_k        P(k | x) ∝ exp votes_k      margin of a row = (own votes − most for another) / all

``estimators_`` and ``estimator_weights_`` are read as they stand. Shapes: X (n, p), votes (n, K). Cost: O(n) a stump.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_dask, read_table, read_weights
from separatrix.data.sources import TableLike
from separatrix.growth.stumps import Ensemble, Stump, columns_of
from separatrix.growth.trees import sealed
from separatrix.loops.stumps import snap
from separatrix.models.base import Classifier
from separatrix.models.ensemble.members import Members, derived_from
from separatrix.models.ensemble.stump import DecisionStump


class WeightedVotes(Members, Classifier):
    """Predictions of learners that vote with weights; stumps of one table (``_stumps``) are read at once."""

    _stumps: bool
    _reader: DecisionStump
    _whole_frames: bool

    estimator_weights_: FloatArray

    def predict(self, X: TableLike) -> np.ndarray:
        """The class with the most votes, (n,)."""
        return self._on_rows(X, self._tiled(lambda cells: np.asarray(self.classes_[self._winner(cells)])))

    def decision_function(self, X: TableLike) -> FloatArray:
        """f(x) over all votes: (n,) in [−1, 1] for two classes, (n, K) in [−1/(K−1), 1] for more."""
        spent = float(self._fitted_weights().sum())
        return self._on_rows(X, self._tiled(lambda cells: decision(self._votes(cells), spent)))

    def predict_proba(self, X: TableLike) -> FloatArray:
        """P(k | x) ∝ exp(votes for k), (n, K)."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """log P(k | x), (n, K)."""
        check_is_fitted(self)
        return self._on_rows(X, self._tiled(lambda cells: log_shares(self._votes(cells))))

    def margins(self, X: TableLike, y: ArrayLike) -> FloatArray:
        """(votes for the row's class − most votes for another) / all votes, in [−1, 1]; y f(x)/Σα for two classes."""
        votes = np.asarray(self._on_rows(X, self._tiled(self._votes)))
        return margins_of(votes, self._codes_of(y, len(votes)), float(self._fitted_weights().sum()))

    def staged_margins(self, X: TableLike, y: ArrayLike) -> Iterator[FloatArray]:
        """:meth:`margins` after each round."""
        codes = None
        for votes, spent in self._staged(X):
            codes = self._codes_of(y, len(votes)) if codes is None else codes
            yield margins_of(votes, codes, spent)

    def staged_decision_function(self, X: TableLike) -> Iterator[FloatArray]:
        """:meth:`decision_function` after each round."""
        for votes, spent in self._staged(X):
            yield decision(votes, spent)

    def staged_predict(self, X: TableLike) -> Iterator[np.ndarray]:
        """:meth:`predict` after each round."""
        for votes, _ in self._staged(X):
            yield np.asarray(self.classes_[votes.argmax(axis=1)])

    def staged_predict_proba(self, X: TableLike) -> Iterator[FloatArray]:
        """:meth:`predict_proba` after each round."""
        for votes, _ in self._staged(X):
            yield np.exp(log_shares(votes))

    def staged_score(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Iterator[float]:
        """The share of rows, by weight, that are predicted right after each round."""
        codes, weight = None, None
        for votes, _ in self._staged(X):
            if codes is None:
                codes, weight = self._codes_of(y, len(votes)), read_weights(sample_weight, len(votes))
            yield float(np.average(votes.argmax(axis=1) == codes, weights=weight))

    @derived_from("edit estimator_weights_, which is twice it")
    def alphas_(self) -> FloatArray:
        """α_t, half of estimator_weights_ (T,)."""
        return sealed(0.5 * np.asarray(self.estimator_weights_, dtype=float))

    @derived_from("it is worked out from the learners and estimator_weights_")
    def feature_importances_(self) -> FloatArray:
        """Σ_t α_t (importances of h_t) / Σ_t α_t, (p,)."""
        weight = self._fitted_weights()
        kinds = [h for h in self.estimators_ if not hasattr(h, "feature_importances_")]
        if kinds:
            raise AttributeError(f"{type(kinds[0]).__name__} has no feature_importances_")
        total = sum(a * h.feature_importances_ for a, h in zip(weight, self.estimators_))
        return sealed(np.asarray(total / weight.sum()))

    def _fitted_weights(self) -> FloatArray:
        """The votes of the learners there are (T,); those of learners that were cut off are left out."""
        T = len(self._voters())
        weight = np.asarray(self.estimator_weights_, dtype=float)
        if weight.ndim != 1 or len(weight) < T:
            raise ValueError(
                f"estimator_weights_ has shape {weight.shape} for {T} learners in estimators_: give one vote each"
            )
        weight = weight[:T]
        if not (np.isfinite(weight).all() and weight.sum() > 0):
            raise ValueError(
                "estimator_weights_ must be finite and sum to more than zero: nobody's vote counts"
            )
        return weight

    def _read_for_prediction(self, X: TableLike) -> Any:
        if self._stumps:
            return self._reader._read_for_prediction(X)
        if self._whole_frames:
            return X
        return read_table(self, X, reset=False, missing=True)

    def _tiled(self, function: Any) -> Any:
        check_is_fitted(self)
        return super()._tiled(function) if self._stumps else function

    def _winner(self, cells: Any) -> np.ndarray:
        return np.asarray(self._votes(cells).argmax(axis=1))

    def _votes(self, cells: Any) -> FloatArray:
        """(n, K) votes, Σ_t 2α_t 1[h_t(x) = k]."""
        weight = self._fitted_weights()
        if self._stumps:
            votes = Ensemble.of(self._stumps_there(), len(self.classes_)).votes(cells, weight)
        else:
            votes = np.zeros((cells.shape[0], len(self.classes_)))
            for a, h in zip(weight, self.estimators_):
                votes[np.arange(len(votes)), self._said(h, cells)] += a
        snap(votes, float(weight.sum()))
        return votes

    def _stumps_there(self) -> list[Stump]:
        """The stumps of estimators_, as they stand."""
        for h in self.estimators_:
            if not isinstance(h, DecisionStump):
                raise TypeError(
                    f"estimators_ holds {type(h).__name__}, and these learners are stumps, read as such: boost "
                    "other learners by estimator="
                )
            if len(h.classes_) != len(self.classes_):
                raise ValueError(
                    f"estimators_ holds a stump of {len(h.classes_)} classes: these are votes for "
                    f"{len(self.classes_)}"
                )
        return [h.stump_ for h in self.estimators_]

    def _said(self, learner: Any, cells: Any) -> np.ndarray:
        return codes_of(self.classes_, learner.predict(cells))

    def _staged(self, X: TableLike) -> Iterator[tuple[FloatArray, float]]:
        """(votes so far, all votes so far) after each round."""
        weight = self._fitted_weights()
        cells = self._read_for_prediction(X)
        if is_dask(cells):
            raise TypeError("X is a Dask collection, and stages are made in memory: call X.compute()")
        votes, spent = np.zeros((cells.shape[0], len(self.classes_))), 0.0
        every = np.arange(len(votes))
        columns = {}
        if self._stumps:
            columns = columns_of(cells, np.array([s.feature for s in self._stumps_there()], dtype=np.int64))
        for a, h in zip(weight, self.estimators_):
            if self._stumps:
                column = columns.get(h.stump_.feature, np.zeros(0))
                said = h.stump_.codes(column) if len(column) else np.full(len(votes), h.stump_.left)
            else:
                said = self._said(h, cells)
            votes[every, said] += a
            spent += a
            now = votes.copy()
            snap(now, spent)
            yield now, spent


def codes_of(classes: np.ndarray, labels: ArrayLike) -> np.ndarray:
    """Indices of predicted labels into ``classes``.

    >>> codes_of(np.array(["a", "b"]), ["b", "a"]).tolist()
    [1, 0]
    """
    labels = np.asarray(labels)
    if classes.dtype.kind != "O":
        order = np.argsort(classes, kind="stable")  # they may have been given other names
        at = np.asarray(order[np.searchsorted(classes[order], labels).clip(0, len(classes) - 1)])
        if (classes[at] == labels).all():
            return at
    place = {v: k for k, v in enumerate(classes.tolist())}
    for v in labels.tolist():
        if v not in place:
            raise ValueError(f"a learner votes for {v!r}, which is not in classes_: {list(place)}")
    return np.array([place[v] for v in labels.tolist()], dtype=np.intp)


def decision(votes: FloatArray, spent: float) -> FloatArray:
    """f normalised by all votes, from votes (n, K): (n,) for two classes, else (n, K) whose rows sum to zero.

    >>> decision(np.array([[1.0, 3.0]]), 4.0), decision(np.array([[1.0, 3.0, 0.0]]), 4.0)
    (array([0.5]), array([[-0.125,  0.625, -0.5  ]]))
    """
    K = votes.shape[1]
    if K == 1:
        return np.zeros((len(votes), 1))
    if K == 2:
        return (votes[:, 1] - votes[:, 0]) / spent
    return (votes - (spent - votes) / (K - 1)) / spent


def log_shares(votes: FloatArray) -> FloatArray:
    """log softmax of the votes."""
    below = votes - votes.max(axis=1, keepdims=True)
    return np.asarray(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))


def margins_of(votes: FloatArray, codes: np.ndarray, spent: float) -> FloatArray:
    """(votes for the row's class − most for another) / all votes.

    >>> margins_of(np.array([[1.0, 3.0]]), np.array([0]), 4.0)
    array([-0.5])
    """
    every = np.arange(len(codes))
    own = votes[every, codes]
    others = votes.copy()
    others[every, codes] = -np.inf if votes.shape[1] > 1 else 0.0
    return np.asarray((own - others.max(axis=1)) / spent)
