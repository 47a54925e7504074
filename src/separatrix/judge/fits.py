"""A fit that may be called off, and its answers as numbers of classes.

    with while_wanted(asked): …     checkpoint() raises Unwanted as soon as asked() is False
    ŷ, P = answers(model, X, classes)

Row V1. Cost: that of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike

STEPS = 5  # in which an ensemble is grown where it may be called off

_wanted: ContextVar[Callable[[], bool] | None] = ContextVar("separatrix_wanted", default=None)
_searching: ContextVar[bool] = ContextVar("separatrix_searching", default=False)


class Unwanted(Exception):
    """The work was called off: time is up, or Ctrl-C."""


@contextmanager
def while_wanted(asked: Callable[[], bool]) -> Iterator[None]:
    """Inside, :func:`checkpoint` raises :class:`Unwanted` as soon as ``asked()`` is False."""
    token = _wanted.set(asked)
    try:
        yield
    finally:
        _wanted.reset(token)


def checkpoint() -> None:
    asked = _wanted.get()
    if asked is not None and not asked():
        raise Unwanted


def searching() -> bool:
    """Whether settings are being tried: what such a fit warns of, is of a model that nobody keeps."""
    return _searching.get()


@contextmanager
def search() -> Iterator[None]:
    token = _searching.set(True)
    try:
        yield
    finally:
        _searching.reset(token)


def fitted(model: BaseEstimator, X: TableLike, y: ArrayLike) -> Any:
    """The model fitted to all rows, unless it is called off.

    Where it may be, an ensemble that can go on growing (``warm_start``) is grown in steps: the same members.
    """
    checkpoint()
    params = model.get_params(deep=False)
    size = params.get("n_estimators", 0)
    if _wanted.get() is None or params.get("warm_start") is not False or size < 2 * STEPS:
        return model.fit(X, y)
    for step in range(1, STEPS + 1):
        checkpoint()
        model.set_params(warm_start=True, n_estimators=size * step // STEPS).fit(X, y)
    return model.set_params(warm_start=False)


def probabilities(model: BaseEstimator, X: TableLike, classes: np.ndarray) -> FloatArray:
    """P (n, K) over ``classes``; 0 for a class the model has not met."""
    said = np.asarray(model.predict_proba(X), dtype=float)
    known = np.asarray(model.classes_)
    if len(known) == len(classes) and (known == classes).all():
        return said
    place = {label: k for k, label in enumerate(classes.tolist())}
    P = np.zeros((len(said), len(classes)))
    P[:, [place[label] for label in known.tolist()]] = said
    return P


def codes_in(labels: Any, classes: np.ndarray) -> np.ndarray:
    """The number of each label among ``classes``."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([place[label] for label in np.asarray(labels).tolist()], dtype=np.intp)


def answers(model: BaseEstimator, X: TableLike, classes: np.ndarray) -> tuple[np.ndarray, FloatArray | None]:
    """The number (n,) of each answer among ``classes``, and P (n, K), None of a model without probabilities."""
    P = probabilities(model, X, classes) if hasattr(model, "predict_proba") else None
    return codes_in(model.predict(X), classes), P


def set_seed(model: BaseEstimator, seed: int) -> Any:
    """The model with every ``random_state`` of it and its parts set."""
    names = [k for k in model.get_params() if k == "random_state" or k.endswith("__random_state")]
    return model.set_params(**dict.fromkeys(names, seed)) if names else model
