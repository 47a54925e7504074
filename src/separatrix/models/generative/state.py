"""What a fitted generative model holds in the open:  numbers that predict, and numbers that only report.

    theta_, feature_log_prob_, coef_ of LDA, …     the state: read anew by every prediction, edits are honoured
    coef_ of naive Bayes, class_count_, …          reports: an assignment is refused by a sentence that names the
                                                   state behind it, and the arrays are read-only

A report lives in the estimator's ``__dict__`` under its own name, so that pickles and model files hold it as they
hold the rest. Cost O(1); reading a derived number costs its formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.spans import SpanCovariance


class Report:
    """A public number that is written by fitting alone: ``model.__dict__[name]``, arrays sealed.

    >>> class Model:
    ...     count_ = Report("edit weight_ instead")
    >>> model = Model()
    >>> report(model, count_=np.ones(2))
    >>> model.count_[0] = 3.0
    Traceback (most recent call last):
        ...
    ValueError: assignment destination is read-only
    >>> model.count_ = 3.0
    Traceback (most recent call last):
        ...
    AttributeError: count_ of Model is a report, and no prediction reads it: edit weight_ instead
    """

    def __init__(self, instead: str):
        self.instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: object, owner: type | None = None) -> Any:
        if model is None:
            return self
        try:
            return _sealed(model.__dict__[self.name])
        except KeyError:
            raise AttributeError(f"{type(model).__name__!r} object has no attribute {self.name!r}") from None

    def __set__(self, model: object, value: Any) -> None:
        raise AttributeError(
            f"{self.name} of {type(model).__name__} is a report, and no prediction reads it: {self.instead}"
        )

    def __delete__(self, model: object) -> None:
        model.__dict__.pop(self.name, None)


class Derived(Report):
    """A report computed from the state when it is read, by the model's method ``_<name>`` (None: not there)."""

    def __get__(self, model: object, owner: type | None = None) -> Any:
        if model is None:
            return self
        value = getattr(model, f"_{self.name}")() if "classes_" in model.__dict__ else None
        if value is None:
            raise AttributeError(f"{type(model).__name__!r} object has no attribute {self.name!r}")
        return _sealed(value)

    def __set__(self, model: object, value: Any) -> None:
        raise AttributeError(
            f"{self.name} of {type(model).__name__} is computed from other numbers: {self.instead}"
        )


class CovarianceReport(Report):
    """A report of covariances (p, p), or a tuple of them: those that are kept as rows are made when they are read."""

    def __get__(self, model: object, owner: type | None = None) -> Any:
        value = super().__get__(model, owner)
        if isinstance(value, tuple):
            return _sealed(tuple(map(_as_matrix, value)))
        return value if model is None else _sealed(_as_matrix(value))


def _as_matrix(sigma: Any) -> Any:
    return sigma.dense() if isinstance(sigma, SpanCovariance) else sigma


def report(model: object, **values: Any) -> None:
    """Write reports of a model."""
    model.__dict__.update(values)


def publish(model: object, name: str, values: FloatArray, single: bool) -> None:
    """Set a public array of the state; in float32 with the digits that rounding takes kept beside it.

    Far from the origin a float32 mean is too coarse to predict by: while a number is the one that was fitted, its
    float64 serves (`state`); one that was edited is what it is.
    """
    doubles = dict(model.__dict__.get("_doubles", {}))
    doubles.pop(name, None)
    if single:
        rounded = np.asarray(values, dtype=np.float32)
        doubles[name] = (rounded.copy(), values)
        values = rounded
    model.__dict__["_doubles"] = doubles
    model.__dict__[name] = values


def state(model: object, name: str, shape: tuple[int, ...]) -> FloatArray:
    """The public array of that name in float64; an edit that changed its shape is refused."""
    found = getattr(model, name)
    found = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)
    if found.shape != shape:
        raise ValueError(
            f"{name} of {type(model).__name__} has shape {found.shape}, and the fitted one has {shape}: an edit may "
            "change numbers, not shapes"
        )
    if name in model.__dict__.get("_doubles", {}):
        rounded, double = model.__dict__["_doubles"][name]
        return np.where(found == rounded, double, found)
    return found


def _sealed(value: Any) -> Any:
    for array in value if isinstance(value, tuple) else (value,):
        if isinstance(array, np.ndarray) and array.flags.writeable:
            array.flags.writeable = False
    return value
