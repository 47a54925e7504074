"""Rows put together from the cells of other rows:  cell (i, j) of the new table = cell (places_ij, j) of another.

    mixed(X, rows, {j: places})     the rows asked for, whose column j holds the cells of the rows ``places``

Only cells that occur are used, so that words, dates, gaps and types stay what a model was fitted to. Arrays and
frames (pandas, Polars, Arrow) stay what they are. Row V4. Cost: O(cells).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse


def mixed(X: Any, rows: np.ndarray, moved: Mapping[int, np.ndarray]) -> Any:
    """Rows of a table (m,), with the cells of some columns taken from other rows of it (m,) each.

    >>> mixed(np.array([[1.0, 10.0], [2.0, 20.0]]), np.array([0, 0]), {1: np.array([0, 1])}).tolist()
    [[1.0, 10.0], [1.0, 20.0]]
    """
    if issparse(X):
        raise TypeError("the table is sparse: its entries are not moved one column at a time")
    if not (hasattr(X, "columns") or hasattr(X, "column_names")):
        cells = np.array(np.asarray(X)[rows])
        for j, places in moved.items():
            cells[:, j] = np.asarray(X)[places, j]
        return cells
    if hasattr(X, "iloc") and 4 * len(moved) < X.shape[1]:
        some = X.iloc[rows].reset_index(drop=True)
        for j, places in moved.items():
            some.isetitem(j, X.iloc[:, j].array.take(places))
        return some
    if hasattr(X, "iloc"):
        columns = {j: X.iloc[:, j].array.take(moved.get(j, rows)) for j in range(X.shape[1])}
        made = type(X)(columns)
        made.columns = X.columns
        return made
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    taken = frame[rows.tolist()]
    names = frame.columns
    new = [frame[places.tolist()][names[j]].alias(names[j]) for j, places in moved.items()]
    return (taken.with_columns(*new) if new else taken).to_native()


def names_of(X: Any) -> list[str]:
    """The names of a table's columns; x0, x1, … of an array.

    >>> names_of(np.eye(2))
    ['x0', 'x1']
    """
    found = getattr(X, "column_names", getattr(X, "columns", None))
    return [f"x{j}" for j in range(X.shape[1])] if found is None else [str(name) for name in found]


def joined_rows(A: Any, B: Any) -> Any:
    """The rows of two tables of one kind, the first's before the second's.

    >>> joined_rows(np.eye(2), np.zeros((1, 2))).shape
    (3, 2)
    """
    if not (hasattr(A, "columns") or hasattr(A, "column_names")):
        return np.concatenate([np.asarray(A), np.asarray(B)])
    import narwhals as nw

    both = [nw.from_native(part, eager_only=True) for part in (A, B)]
    return nw.maybe_reset_index(nw.concat(both, how="vertical")).to_native()
