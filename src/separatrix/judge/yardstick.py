"""Scikit-learn's histogram gradient boosting, as a yardstick beside our own models.

    f_T = Σ_t ν · tree_t,  trees of 255 bins, ν = 0.1, T = 100

It is fitted on one thread, as every model of a comparison is, and in steps of rounds, so that it may be called off:
the trees are the same. Row V1. Cost O(T n p K).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from separatrix.judge.fits import checkpoint

STEPS = 10


class _InSteps:
    """Fitted in steps, on one thread; dense rows are made of sparse ones."""

    def __init__(
        self,
        *,
        max_iter: int = 100,
        early_stopping: bool = False,
        warm_start: bool = False,
        random_state: Any = 0,
    ):
        super().__init__(  # type: ignore[call-arg]
            max_iter=max_iter, early_stopping=early_stopping, warm_start=warm_start, random_state=random_state
        )

    def fit(self, X: Any, y: Any) -> Any:
        _grown(self, super().fit, X, y)  # type: ignore[misc]
        return self

    def predict(self, X: Any) -> Any:
        with threadpool_limits(1, user_api="openmp"):
            return super().predict(_dense(X))  # type: ignore[misc]


class HistogramBoosting(_InSteps, HistGradientBoostingClassifier):
    """scikit-learn's HistGradientBoostingClassifier without early stopping; it reads sparse tables too.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> own, theirs = (
    ...     kind(random_state=0, early_stopping=False).fit(X, y)
    ...     for kind in (HistogramBoosting, HistGradientBoostingClassifier)
    ... )
    >>> bool((own.predict_proba(X) == theirs.predict_proba(X)).all())
    True
    """

    def predict_proba(self, X: Any) -> Any:
        with threadpool_limits(1, user_api="openmp"):
            return super().predict_proba(_dense(X))


class HistogramBoostingNumbers(_InSteps, HistGradientBoostingRegressor):
    """The same of numbers: scikit-learn's HistGradientBoostingRegressor without early stopping."""


def _grown(model: Any, fit: Callable[..., Any], X: Any, y: Any) -> None:
    """Fit in steps of rounds, between which it may be called off: the same trees."""
    rows, rounds = _dense(X), model.max_iter
    with threadpool_limits(1, user_api="openmp"):  # threads that wait for busy cores wait for long
        for step in range(1, STEPS + 1):
            checkpoint()
            model.set_params(warm_start=step > 1, max_iter=max(rounds * step // STEPS, 1))
            fit(rows, y)
    model.set_params(warm_start=False, max_iter=rounds)


def _dense(X: Any) -> Any:
    return np.asarray(X.toarray()) if hasattr(X, "toarray") else X
