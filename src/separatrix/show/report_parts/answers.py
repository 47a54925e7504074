"""What a model answers to rows it was not fitted to:  the test rows, else each row by a model without its fold.

    P (n, K), said = argmax_k P      scores with percentile intervals over bootstraps of the rows

Notes [726] "Learning curve for Twenty News Groups". Row O5. Cost: a prediction, or five fits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray
from separatrix.judge.comparison import Comparison
from separatrix.judge.scores import Interval, bootstrapped
from separatrix.show.reading import codes_of, last_step, name_of

FOLDS = 5
WHOLE = 0.99  # of rows that stand in another table: it is the same one


@dataclass(frozen=True, eq=False)
class JudgedAnswers:
    """rows (m,) places in the table judged, codes (m,), P (m, K) or None, said (m,); what rows they are, in words."""

    X: Any
    rows: np.ndarray
    codes: np.ndarray
    P: FloatArray | None
    said: np.ndarray
    words: str
    whose: str = "rows it had not seen"
    own: bool = False  # the answers are those of the model itself, not of its like without a fold
    repeats: int = 1  # of the cross-validation, of which these are the first


def classes_of(model: BaseEstimator) -> list[Any]:
    """The classes of a classifier, or 0 and 1 of a binomial model fitted to them."""
    found = getattr(model, "classes_", getattr(last_step(model), "classes_", None))
    if found is None:
        if getattr(getattr(model, "family_", None), "name", "") in ("binomial", "bernoulli"):
            return [0, 1]
        raise TypeError(
            f"{name_of(model)} has no classes_: the report is of a classifier or a binomial model"
        )
    return list(np.asarray(found).tolist())


def probabilities_of(model: BaseEstimator, X: Any) -> FloatArray | None:
    """P (n, K); None of a model that has none."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=float)
    if hasattr(model, "link_") and hasattr(model, "family_"):
        p = np.asarray(model.predict(X), dtype=float)
        return np.column_stack([1.0 - p, p])
    return None


def answer(model: BaseEstimator, X: Any) -> tuple[FloatArray | None, np.ndarray]:
    """(P, the number of the class said) for rows X."""
    P = probabilities_of(model, X)
    if P is not None:
        return P, P.argmax(axis=1)
    classes = np.asarray(classes_of(model))
    said = np.asarray(model.predict(X))
    return None, codes_of(classes, said, len(said))


def judged(
    model: BaseEstimator,
    X: Any,
    y: ArrayLike,
    X_test: Any = None,
    y_test: Any = None,
    comparison: Comparison | None = None,
    name: str | None = None,
    known: float | None = 1.0,
) -> JudgedAnswers:
    """Answers to the test rows; else those of the comparison's folds; else those of five folds fitted here."""
    classes = np.asarray(classes_of(model))
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together: give both, or neither")
    if X_test is not None:
        codes = codes_of(classes, y_test, _rows(X_test))
        P, said = answer(model, X_test)
        words, whose = f"the {len(codes):,} test rows", rows_of(known if X_test is X else 0.0)
        return JudgedAnswers(X_test, np.arange(len(codes)), codes, P, said, words, whose, own=True)
    codes = codes_of(classes, y, _rows(X))
    if comparison is not None and name is not None:
        try:
            rows, shares = comparison.out_of_fold(name)
        except ValueError:
            rows = np.zeros(0, dtype=np.intp)
        if len(rows):
            words = f"{len(rows):,} rows, each judged by a model that had not seen it (cross-validation)"
            repeats = 1 + max(comparison.splits[r.split].repeat for r in comparison.folds if r.model == name)
            return JudgedAnswers(X, rows, codes[rows], shares, shares.argmax(axis=1), words, repeats=repeats)
    return _folds(model, X, np.asarray(y), codes, classes)


def at_threshold(found: JudgedAnswers, cut: tuple[float, Any], classes: list[Any]) -> JudgedAnswers:
    """The same rows, answered by a threshold t of the positive class's probability, and not by the larger of two."""
    if found.P is None:
        return found
    t, positive = cut
    side = classes.index(positive)
    said = np.where(found.P[:, side] >= t, side, 1 - side)
    words = f"{found.words}, called {positive} from a probability of {t:.3g} on"
    return replace(found, said=said, words=words)


def rows_of(known: float | None) -> str:
    """What rows these are, if the model was fitted to this share of them; None: nobody knows.

    >>> rows_of(1.0), rows_of(0.25)
    ('rows it was fitted to', 'these rows, 25 % of which stand in its training table too')
    """
    if known is None:
        return "these rows"
    if known >= WHOLE:
        return "rows it was fitted to"
    if known >= 0.01:
        return f"these rows, {100 * known:.0f} % of which stand in its training table too"
    return "rows it had not seen"


def take(X: Any, places: Any) -> Any:
    """Rows of an array or a frame."""
    return _safe_indexing(X, np.asarray(places, dtype=np.intp))


def _rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _folds(
    model: BaseEstimator, X: Any, y: np.ndarray, codes: np.ndarray, classes: np.ndarray
) -> JudgedAnswers:
    n, least = len(codes), int(np.bincount(codes, minlength=len(classes)).min())
    if least < 2:
        P, said = answer(model, X)
        words = (
            f"the {n:,} rows of the fit itself (a class is too small for folds), so that all looks too good"
        )
        return JudgedAnswers(X, np.arange(n), codes, P, said, words, rows_of(1.0), True)
    count = min(FOLDS, least)
    folds = StratifiedKFold(count, shuffle=True, random_state=0)
    said, P = np.zeros(n, dtype=np.intp), None
    for train, test in folds.split(np.zeros(n), codes):
        fitted = clone(model).fit(take(X, train), y[train])
        own, said[test] = answer(fitted, take(X, test))
        if own is not None:
            P = np.zeros((n, len(classes))) if P is None else P
            P[test] = own
    words = f"{n:,} rows, each judged by a model that had not seen it ({count}-fold cross-validation)"
    return JudgedAnswers(X, np.arange(n), codes, P, said, words)


SCORES = ("log_loss", "accuracy", "auc", "calibration_error")


def scores(found: JudgedAnswers, level: float = 0.95) -> dict[str, Interval]:
    """Scores of the answers, with intervals over bootstraps of the rows judged."""
    return bootstrapped(found.codes, found.said, found.P, SCORES, level=level)
