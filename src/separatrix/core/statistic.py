"""What every mergeable fact of rows shares.

    statistic(A ∪ B) = statistic(A) + statistic(B)        statistic(∅) = zero        (a + b) − b = a

A statistic is a frozen value. `of` computes it from a block of rows, `zero` is that of no rows, + merges and
−, where it exists, takes out rows that are in. A weight is that many copies of the row; weight 0 is absence.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np

_NAMES: dict[type, tuple[str, ...]] = {}


def _names(kind: Any) -> tuple[str, ...]:
    """The fields of a class of statistics, looked up once: every block makes some."""
    found = _NAMES.get(kind)
    if found is None:
        found = _NAMES[kind] = tuple(field.name for field in fields(kind))
    return found


class Statistic:
    """A frozen value that merges: arrays are read-only, equality compares every field (NaN equals NaN)."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name in _names(type(self)):
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                sealed = value.view()
                sealed.flags.writeable = False
                object.__setattr__(self, name, sealed)

    def __add__(self, other: Self) -> Self:
        """Field by field; what merges in another way says so itself."""
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in _names(type(self))))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that what comes out of a pickle is sealed again.
        return type(self), tuple(getattr(self, name) for name in _names(type(self)))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        pairs = ((getattr(self, name), getattr(other, name)) for name in _names(type(self)))
        return all(
            np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else a == b for a, b in pairs
        )

    def _check_same_shape(self, other: Statistic) -> None:
        """Raise ValueError unless `other` is of the same class with arrays of the same shapes."""
        if type(self) is not type(other):
            raise ValueError(f"cannot merge {type(self).__name__} with {type(other).__name__}")
        for name in _names(type(self)):
            a, b = getattr(self, name), getattr(other, name)
            if isinstance(a, np.ndarray) and a.shape != b.shape:
                raise ValueError(
                    f"cannot merge {type(self).__name__} of different shapes: "
                    f"{name} is {a.shape} here and {b.shape} there"
                )
