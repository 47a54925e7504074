"""Sets of classes that hold the right one in a chosen share of rows, whatever the model: split-conformal (row O12).

    s_i = 1 − P(y_i | x_i)      of n rows that the model was not fitted to
    q = the ⌈(n + 1)·c⌉-th smallest of them                 set(x) = {k : 1 − P(k | x) ≤ q}
    by class: q_k from the rows of class k alone             set(x) = {k : 1 − P(k | x) ≤ q_k}

If those n rows and a new one are exchangeable (drawn alike, in any order), the set holds the right class with a
probability of at least c, taken over both; by class, that is so of every class. It is no promise for one kind of row,
nor for one draw of the n rows: with these fixed, the share covered varies by about √(c(1 − c)/n). It needs
n ≥ c/(1 − c) rows, of every class by class. Scores out of fold stand for held-out ones of a model that is then fitted
to all rows (compare does so): the share is close to c in practice, and proven is 2c − 1 of kindred methods alone.
Cost: the probabilities of the rows; O(n log n).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline as PlainPipeline
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.core.words import and_more
from separatrix.data import door
from separatrix.data.sources import TableLike

HELD_OUT, OUT_OF_FOLD = "held out", "out of fold"
SLACK = 1e-12  # of a probability, which differs by rounding with the rows beside it; it only widens a set


class PredictionSets:
    """``calibrate_sets`` and ``predict_set`` for whatever has classes and probabilities."""

    conformal_: dict[str, Any]

    def calibrate_sets(self, X: TableLike, y: ArrayLike, sample_weight: Any = None) -> Self:
        """Learn from rows the model was **not** fitted to how wide its sets must be; see `predict_set` (O12).

        A later ``fit`` forgets it. Rows are counted alike: weights are refused.
        """
        calibrate_sets(self, X, y, sample_weight)
        return self

    def predict_set(
        self, X: TableLike, coverage: float = 0.9, *, by_class: bool = False, empty: bool = True
    ) -> list[tuple[Any, ...]]:
        """A tuple of labels for each row that holds the right one in a share ``coverage`` of rows (O12).

        Parameters
        ----------
        X : rows (n, p)
        coverage : the share, in (0, 1); what it promises is said in models/sets.py
        by_class : the share holds of every class by itself; sets are wider, and every class needs rows enough
        empty : a set may be empty, where every class is less likely than it usually is when right; False puts the
            most probable class in

        >>> from sklearn.datasets import load_iris
        >>> from separatrix import LogisticRegression
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LogisticRegression().fit(X[::2], y[::2]).calibrate_sets(X[1::2], y[1::2])
        >>> model.predict_set(X[[0, 70, 77]], 0.98)
        [(0,), (1, 2), (1, 2)]
        """
        return predict_set(self, X, coverage, by_class=by_class, empty=empty)


class Pipeline(PredictionSets, PlainPipeline):
    """scikit-learn's Pipeline, with sets: what ``compare`` and ``separatrix fit`` make of an encoder and a model."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        self.__dict__.pop("conformal_", None)
        super().fit(X, y, **params)
        return self


def calibrate_sets(model: Any, X: TableLike, y: ArrayLike, sample_weight: Any = None) -> Any:
    """``model.calibrate_sets`` for any fitted classifier with ``predict_proba``; the model is given back (O12).

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = calibrate_sets(DecisionTreeClassifier(max_depth=2).fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> predict_set(tree, X[[0, 70]], 0.9)
    [(0,), (2,)]
    """
    if sample_weight is not None:
        raise ValueError(
            "sample_weight: sets are cut at a quantile that counts rows alike, and what they promise is lost with "
            "weights; leave it out, or draw the rows to be calibrated on as new ones will come"
        )
    P = _probabilities(model, X)
    codes = _codes(model, y, len(P))
    known = codes >= 0
    if not known.any():
        raise ValueError("y has no label; give the right answers of the rows")
    model.conformal_ = kept(P[known], codes[known], HELD_OUT)
    return model


def predict_set(
    model: Any, X: TableLike, coverage: float = 0.9, *, by_class: bool = False, empty: bool = True
) -> list[tuple[Any, ...]]:
    """``model.predict_set`` for any classifier that ``calibrate_sets`` has seen (O12)."""
    classes = np.asarray(model.classes_).tolist() if hasattr(model, "classes_") else []
    q = thresholds(model, coverage, by_class=by_class)
    held = members(_probabilities(model, X), q, empty=empty)
    return [tuple(label for label, there in zip(classes, row) if there) for row in held.tolist()]


def kept(P: FloatArray, codes: np.ndarray, how: str) -> dict[str, Any]:
    """What a model keeps of rows whose answers are known: s_i (n,), the class of each (n,), where they come from."""
    own = 1.0 - np.asarray(P, dtype=float)[np.arange(len(codes)), codes]
    own = np.where(np.isnan(own), np.inf, own)  # a row without an answer is in no set
    return {"scores": own, "codes": np.asarray(codes, dtype=np.int64), "how": how}


def rows_needed(coverage: float) -> int:
    """The least n with ⌈(n + 1)·c⌉ ≤ n.

    >>> rows_needed(0.9), rows_needed(0.99), rows_needed(0.5)
    (9, 99, 1)
    """
    return max(ceil(coverage / (1.0 - coverage) - 1e-9), 1)


def quantile(scores: FloatArray, coverage: float) -> float:
    """The ⌈(n + 1)·c⌉-th smallest of n scores.

    >>> quantile(np.arange(1.0, 10.0), 0.9), quantile(np.arange(1.0, 20.0), 0.9)
    (9.0, 18.0)
    """
    at = ceil((len(scores) + 1) * coverage - 1e-9)
    return float(np.partition(scores, at - 1)[at - 1])


def thresholds(model: Any, coverage: float, *, by_class: bool = False) -> FloatArray:
    """q of every class (K,); refused where rows are too few, with how many it takes."""
    number = isinstance(coverage, (int, float, np.number)) and not isinstance(coverage, bool)
    if not (number and 0 < coverage < 1):
        raise ValueError(
            f"coverage must be a share between 0 and 1, 0.9 for nine rows of ten; got {coverage!r}"
        )
    coverage = float(coverage)
    held = getattr(model, "conformal_", None)
    if held is None:
        check_is_fitted(model)
        raise ValueError(
            f"this {type(model).__name__} does not know how wide its sets must be: give it rows that it was not "
            "fitted to, by calibrate_sets(X, y)"
        )
    scores, codes = np.asarray(held["scores"], dtype=float), np.asarray(held["codes"])
    labels, least = np.asarray(model.classes_).tolist(), rows_needed(coverage)
    if not by_class:
        if len(scores) < least:
            raise ValueError(
                f"sets that hold {coverage:g} of rows take {least:,} {held['how']} rows with answers, and there "
                f"{_are(len(scores))}: give more, or ask for {_most(len(scores))} at most"
            )
        return np.full(len(labels), quantile(scores, coverage))
    counts = np.bincount(codes, minlength=len(labels))
    few = [f"{label!r} has {count:,}" for label, count in zip(labels, counts.tolist()) if count < least]
    if few:
        raise ValueError(
            f"sets that hold {coverage:g} of every class take {least:,} {held['how']} rows of each, and class "
            f"{and_more(few, 6)}: give more, or ask for {_most(int(counts.min()))} at most, or leave out by_class"
        )
    return np.array([quantile(scores[codes == k], coverage) for k in range(len(labels))])


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count:,}"


def _most(n: int) -> str:
    """The largest coverage that n rows allow: n/(n + 1), rounded down."""
    return f"{np.floor(n / (n + 1) * 1000) / 1000:g}"


def members(P: FloatArray, q: FloatArray, *, empty: bool = True) -> np.ndarray:
    """Whether a class is in a row's set: (n, K); a row without an answer has them all."""
    held = ~(q[None, :] + SLACK < 1.0 - P)
    if not empty:
        bare = np.flatnonzero(~held.any(axis=1))
        held[bare, P[bare].argmax(axis=1)] = True
    return np.asarray(held)


def promise(model: Any, coverage: float, by_class: bool = False) -> str:
    """What the sets of a model promise, in a sentence."""
    n, how = len(model.conformal_["scores"]), model.conformal_["how"]
    which = "of every class" if by_class else "of rows"
    if how == HELD_OUT:
        return f"sets hold the right class in at least {coverage:g} {which} drawn like the {n:,} held out"
    return (
        f"sets hold the right class in about {coverage:g} {which}, by {n:,} scores out of fold; rows kept apart "
        "would prove it"
    )


def _probabilities(model: Any, X: TableLike) -> FloatArray:
    if not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
        way = ': say calibrate="sigmoid"' if hasattr(model, "calibrate") else "; give a classifier that has"
        check_is_fitted(model)
        raise ValueError(f"{type(model).__name__} has no probabilities, from which sets are cut{way}")
    return np.asarray(model.predict_proba(X), dtype=float)


def _codes(model: Any, y: ArrayLike, n: int) -> np.ndarray:
    """The place of each label among the model's classes, −1 where it is missing; an unknown label is refused."""
    labels, given = door.read_labels(y, n)
    place = {label: k for k, label in enumerate(np.asarray(model.classes_).tolist())}
    new = [label for label in labels.tolist() if label not in place]
    if new:
        raise ValueError(f"label {new[0]!r} was not seen in training: the classes are {list(place)}")
    at = np.array([place[label] for label in labels.tolist()], dtype=np.int64)
    return at[given]


def of_folds(classes: Sequence[Any], codes: np.ndarray, P: FloatArray, model: Any) -> dict[str, Any] | None:
    """`kept` of probabilities out of fold (n, K) in the order of ``classes``, NaN in rows that no fold answered."""
    known = ~np.isnan(P).any(axis=1)
    own = {label: k for k, label in enumerate(np.asarray(model.classes_).tolist())}
    if not known.any() or set(own) != set(classes):
        return None
    order = np.array([own[label] for label in classes])
    found = kept(P[known], codes[known], OUT_OF_FOLD)
    return found | {"codes": order[found["codes"]]}
