"""Rows that are not numbers, words or graphs, as a function of the user's compares them ([6321] "Kernels"; row M8).

Shapes: a sequence of n things. Cost O(n): nothing is copied but references.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Objects:
    """Rows that are not numbers (words, graphs, …), for a kernel that is a function: it gets them as they were given.

    >>> words = Objects.of(["ab", "cd", "e"])
    >>> words.shape, words[np.array([2, 0])].given
    ((3,), ['e', 'ab'])
    """

    cells: np.ndarray
    listed: bool

    @classmethod
    def of(cls, X: Any) -> Objects:
        if isinstance(X, Objects):
            return X
        if isinstance(X, np.ndarray):
            return cls(X, False)
        cells = np.empty(len(X), dtype=object)
        for i, value in enumerate(X):
            cells[i] = value
        return cls(cells, isinstance(X, (list, tuple)))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cells.shape

    @property
    def given(self) -> Any:
        return self.cells.tolist() if self.listed else self.cells

    def __getitem__(self, rows: Any) -> Objects:
        return Objects(self.cells[rows], self.listed)


def are_objects(X: Any) -> bool:
    """Whether rows are no table of numbers, so that only a function can compare them.

    >>> (
    ...     are_objects(["ab", "c"]),
    ...     are_objects([[1.0, 2.0]]),
    ...     are_objects([{"a": 1}]),
    ...     are_objects([[1, 2], [3]]),
    ... )
    (True, False, True, True)
    """
    if hasattr(X, "toarray") or hasattr(X, "columns") or isinstance(X, Objects):
        return isinstance(X, Objects)
    if not isinstance(X, np.ndarray):
        if not isinstance(X, (list, tuple)) and not hasattr(X, "__array__"):
            return False
        try:
            X = np.asarray(X)
        except ValueError:  # lists of unlike lengths
            return True
    if X.dtype.kind in "SU":
        return True
    return bool(X.dtype.kind == "O" and not (X.ndim == 2 and all(np.isreal(v) for v in X.flat)))
