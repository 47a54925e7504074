"""What ensembles share: len(), an index and iteration over ``estimators_``, and attributes that are worked out.

    len(model), model[0], model[2:5], for h in model          as scikit-learn's ensembles

``estimators_`` is the state: predictions go through the list as it stands, so that members may be taken out, put in
or edited. Rows E2, E3, E4 of the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, SupportsIndex

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.data.checks import is_count
from separatrix.data.sources import TableLike
from separatrix.models.parameters import check_limits


class Members:
    """len, index and iteration over the fitted members."""

    n_estimators: int
    n_jobs: int | None
    estimators_: list[Any]

    def __len__(self) -> int:
        return len(self._fitted_members())

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        return self._fitted_members()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fitted_members())

    def __bool__(self) -> bool:
        return True  # a model is there, fitted or not

    def _fitted_members(self) -> list[Any]:
        check_is_fitted(self, "estimators_")
        return self.estimators_

    def _check_members(self, why: str = "") -> None:
        """Refuse, before data is read, numbers of members and of threads that cannot be meant."""
        if not (is_count(self.n_estimators) and self.n_estimators >= 1):
            raise ValueError(
                f"n_estimators must be a whole number of at least 1, got {self.n_estimators!r}{why}"
            )
        check_limits(1.0, 1, self.n_jobs)

    def _voters(self) -> list[Any]:
        """The members that predict; none left is refused."""
        found = self._fitted_members()
        if not len(found):
            raise ValueError(
                "estimators_ is empty, and nobody is left to predict: put members back, or fit anew"
            )
        return found


class Shares:
    """Logarithms of probabilities that may be zero."""

    def predict_proba(self, X: TableLike) -> FloatArray:
        raise NotImplementedError

    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """log of :meth:`predict_proba`; −∞ for a class that has no share."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def same_classes(these: np.ndarray, those: np.ndarray) -> bool:
    """Whether two models know the same labels in the same order."""
    return these is those or these.tolist() == those.tolist()


def refuse_given(model: object, given: Mapping[str, object]) -> None:
    """For ``_verdict_from_data`` of models whose fit takes a table, labels and weights alone."""
    for name in given:
        raise TypeError(
            f"{type(model).__name__}._verdict_from_data() got an unexpected keyword argument {name!r}"
        )


class derived(property):
    """A property worked out from other attributes: to assign it is refused, with a sentence that says what to edit.

    >>> class Square:
    ...     side_ = 2.0
    ...     area_ = derived(lambda self: self.side_**2, "edit side_")
    >>> Square().area_
    4.0
    >>> Square().area_ = 9.0
    Traceback (most recent call last):
        ...
    AttributeError: area_ is worked out and cannot be assigned: edit side_
    """

    def __init__(self, fget: Callable[[Any], Any], instead: str):
        super().__init__(fget)
        self.__doc__ = fget.__doc__
        self.instead = instead
        self.name = getattr(fget, "__name__", "it")

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, instance: object, value: object) -> None:
        raise AttributeError(f"{self.name} is worked out and cannot be assigned: {self.instead}")

    def __delete__(self, instance: object) -> None:
        raise AttributeError(f"{self.name} is worked out and cannot be deleted: {self.instead}")


def derived_from(instead: str) -> Callable[[Callable[[Any], Any]], Any]:
    """:class:`derived` as a decorator."""
    return lambda fget: derived(fget, instead)
