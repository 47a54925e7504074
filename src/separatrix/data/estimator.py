"""What every estimator here promises of a call that learns:  it is whole, or it leaves no trace.

    refused        an error of any kind: the estimator is as it was, to the bit
    interrupted    KeyboardInterrupt: the best so far stays, with the verdict "interrupted"; with nothing to keep,
                   the estimator is as it was
    done           as usual

A subclass of `Estimator` writes ``fit`` and ``partial_fit`` as if nothing could go wrong; it only never changes in
place what an earlier call left. Cost: one shallow copy of a dictionary a call.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from functools import wraps
from typing import Any, Self, TypeVar, dataclass_transform

from sklearn.base import BaseEstimator
from sklearn.utils._available_if import _AvailableIfDescriptor
from sklearn.utils.metaestimators import available_if

from separatrix.data.interrupts import FitUnderWay, answered, fits_under_way, listening, returns_interrupted

__all__ = ["KW_ONLY", "Estimator", "constructor"]

LEARNS = ("fit", "partial_fit")

T = TypeVar("T")


@dataclass_transform(eq_default=False)
def constructor(kind: type[T]) -> type[T]:
    """An estimator's parameters, each written once: a field with its default, by name alone after ``_: KW_ONLY``.

    The one idiom for constructors here. Only parameters are annotated in the body; what is none is a ClassVar.

    >>> @constructor
    ... class Shrunk(Estimator):
    ...     amount: float = 0.5
    ...     _: KW_ONLY
    ...     tol: float = 1e-4
    >>> Shrunk(0.1)
    Shrunk(amount=0.1)
    """
    return dataclass(eq=False, repr=False)(kind)


class Estimator(BaseEstimator):
    """scikit-learn's base class, with calls that are whole or leave no trace (see the module).

    >>> class Mean(Estimator):
    ...     def fit(self, X, y=None):
    ...         self.count_ = len(X)
    ...         self.mean_ = sum(X) / len(X)
    ...         return self
    >>> model = Mean().fit([1.0, 2.0])
    >>> try:
    ...     model.fit([])
    ... except ZeroDivisionError:
    ...     model.count_, model.mean_
    (2, 1.5)
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in LEARNS:
            method = cls.__dict__.get(name)
            if isinstance(method, _AvailableIfDescriptor):
                setattr(cls, name, available_if(method.check)(_whole(method.fn)))
            elif callable(method):
                setattr(cls, name, _whole(method))

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, of nested estimators as ``name__parameter``: all of them, or none."""
        nested = [v for v in self.get_params(deep=True).values() if isinstance(v, BaseEstimator)]
        before = [(model, dict(model.__dict__)) for model in (self, *nested)]
        try:
            super().set_params(**params)
        except BaseException:
            for model, state in before:
                _put_back(model, state)
            raise
        return self


def _whole(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, made whole or without trace."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        fits = fits_under_way()
        if any(fit.estimator is self for fit in fits):  # a class calls the method of the class it builds on
            return method(self, *args, **kwargs)
        before = dict(self.__dict__)
        fit = FitUnderWay(self)
        fits.append(fit)
        self.__dict__.pop("conformal_", None)  # how wide sets must be was learned of the model before
        try:
            with nullcontext() if len(fits) > 1 else listening():
                answer = method(self, *args, **kwargs)
        except BaseException:
            answered()
            _put_back(self, before)
            raise
        finally:
            fits.pop()
        lost = answered()
        verdict = self.__dict__.get("verdict_")
        if verdict is before.get("verdict_"):
            verdict = None
        if not (fit.interrupted or getattr(verdict, "status", "") == "interrupted"):
            if lost:  # and the fit is whole
                raise KeyboardInterrupt
            return answer
        if verdict is not None and verdict.status != "interrupted":
            self.verdict_ = replace(verdict, status="interrupted", stopped_by="interrupted")
        if not returns_interrupted():
            raise KeyboardInterrupt(
                f"{type(self).__name__}.{method.__name__} was interrupted: the best so far is on the estimator "
                "(verdict_ says how good it is). Inside `with separatrix.keep_going():` it is returned instead"
            )
        return answer

    return call


def _put_back(model: Any, state: dict[str, Any]) -> None:
    model.__dict__.clear()
    model.__dict__.update(state)
