"""What a model answers to rows it was not fitted to:  the test rows, else each row by a model without its fold.

    P (n, K), said = argmax_k P      scores with percentile intervals over bootstraps of the rows

Notes [726] (hold-out data must not be seen). Row O5. Cost: a prediction, or five fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray
from separatrix.judge.scores import Interval, accuracy, auc, calibration_error, log_loss
from separatrix.show.reading import codes_of, last_step, name_of

DRAWS = 400
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Answers:
    """rows (m,) places in the table judged, codes (m,), P (m, K) or None, said (m,); what rows they are, in words."""

    X: Any
    rows: np.ndarray
    codes: np.ndarray
    P: FloatArray | None
    said: np.ndarray
    words: str
    fresh: bool = True  # the rows had no part in the fit
    own: bool = False  # the answers are those of the model itself, not of its like without a fold


def classes_of(model: Any) -> list[Any]:
    """The classes of a classifier, or 0 and 1 of a binomial model fitted to them."""
    found = getattr(model, "classes_", getattr(last_step(model), "classes_", None))
    if found is None:
        if getattr(getattr(model, "family_", None), "name", "") in ("binomial", "bernoulli"):
            return [0, 1]
        raise TypeError(
            f"{name_of(model)} has no classes_: the report is of a classifier or a binomial model"
        )
    return list(np.asarray(found).tolist())


def probabilities_of(model: Any, X: Any) -> FloatArray | None:
    """P (n, K); None of a model that has none."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=float)
    if hasattr(model, "link_") and hasattr(model, "family_"):
        p = np.asarray(model.predict(X), dtype=float)
        return np.column_stack([1.0 - p, p])
    return None


def answer(model: Any, X: Any) -> tuple[FloatArray | None, np.ndarray]:
    """(P, the number of the class said) for rows X."""
    P = probabilities_of(model, X)
    if P is not None:
        return P, P.argmax(axis=1)
    classes = np.asarray(classes_of(model))
    said = np.asarray(model.predict(X))
    return None, codes_of(classes, said, len(said))


def judged(
    model: Any,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    comparison: Any = None,
    name: str | None = None,
) -> Answers:
    """Answers to the test rows; else those of the comparison's folds; else those of five folds fitted here."""
    classes = np.asarray(classes_of(model))
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together: give both, or neither")
    if X_test is not None:
        codes = codes_of(classes, y_test, _rows(X_test))
        P, said = answer(model, X_test)
        return Answers(
            X_test, np.arange(len(codes)), codes, P, said, f"the {len(codes):,} test rows", own=True
        )
    codes = codes_of(classes, y, _rows(X))
    if comparison is not None and name is not None:
        try:
            rows, shares = comparison.out_of_fold(name)
        except ValueError:
            rows = np.zeros(0, dtype=np.intp)
        if len(rows):
            words = f"{len(rows):,} rows, each judged by a model that had not seen it (cross-validation)"
            return Answers(X, rows, codes[rows], shares, shares.argmax(axis=1), words)
    return _folds(model, X, np.asarray(y), codes, classes)


def take(X: Any, places: Any) -> Any:
    """Rows of an array or a frame."""
    return _safe_indexing(X, np.asarray(places, dtype=np.intp))


def _rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _folds(model: Any, X: Any, y: np.ndarray, codes: np.ndarray, classes: np.ndarray) -> Answers:
    n, least = len(codes), int(np.bincount(codes, minlength=len(classes)).min())
    if least < 2:
        P, said = answer(model, X)
        words = (
            f"the {n:,} rows of the fit itself (a class is too small for folds), so that all looks too good"
        )
        return Answers(X, np.arange(n), codes, P, said, words, False, True)
    folds = StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=0)
    said, P = np.zeros(n, dtype=np.intp), None
    for train, test in folds.split(np.zeros(n), codes):
        fitted = clone(model).fit(take(X, train), y[train])
        own, said[test] = answer(fitted, take(X, test))
        if own is not None:
            P = np.zeros((n, len(classes))) if P is None else P
            P[test] = own
    count = min(FOLDS, least)
    words = f"{n:,} rows, each judged by a model that had not seen it ({count}-fold cross-validation)"
    return Answers(X, np.arange(n), codes, P, said, words)


SCORES: dict[str, tuple[str, Callable[[np.ndarray, Any, np.ndarray], float]]] = {
    "log_loss": ("log loss", lambda codes, P, said: log_loss(codes, P)),
    "accuracy": ("accuracy", lambda codes, P, said: accuracy(codes, said)),
    "auc": ("AUC", lambda codes, P, said: auc(codes, P)),
    "calibration_error": ("calibration error", lambda codes, P, said: calibration_error(codes, P)),
}


def scores(found: Answers, level: float = 0.95) -> dict[str, Interval]:
    """Scores of the answers, with percentile intervals over bootstraps of the rows judged."""
    rng = np.random.default_rng(0)
    m = len(found.codes)
    draws = [rng.integers(0, m, m) for _ in range(DRAWS if m <= 20_000 else 60)]
    out = {}
    for name, (_, of) in SCORES.items():
        if found.P is None and name != "accuracy":
            continue

        def at(rows: Any, of: Any = of) -> float:
            return float(of(found.codes[rows], None if found.P is None else found.P[rows], found.said[rows]))

        values = np.array([at(rows) for rows in draws])
        known = values[np.isfinite(values)]
        low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if len(known) else (np.nan, np.nan)
        out[name] = Interval(at(slice(None)), float(low), float(high))
    return out
