"""Which rows a model was fitted to, in a few kilobytes:  the smallest 2,048 of their hashes (row O4).

    share = #{hash(row) ≤ t in the sketch} / #{hash(row) ≤ t},   t the largest hash kept

A row counts with its label. Exact where training had at most 2,048 different rows, else an estimate from the rows
whose hashes are small (Broder 1997, Bottom-k). Cost: O(cells) once; wide tables, as words of text, are not marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.tables.learned import words_of

if TYPE_CHECKING:
    import pandas as pd

MOST = 2_048
WIDEST = 2_000  # columns


def marks(frame: pd.DataFrame, labels: Any, names: list[str]) -> str:
    """The smallest hashes of the rows, labels included, 16 digits each; none of a table that is too wide."""
    if len(names) > WIDEST:
        return ""
    return np.unique(_hashes(frame, labels, names))[:MOST].astype(">u8").tobytes().hex()


def share_seen(frame: pd.DataFrame, labels: Any, names: list[str], kept: str) -> float | None:
    """The share of rows that stand among those marked; None where it cannot be told.

    >>> import pandas as pd
    >>> table, y = pd.DataFrame({"x": [1, 2, 3, 4], "w": list("abab")}), ["u", "u", "v", "v"]
    >>> held = marks(table, y, ["x", "w"])
    >>> share_seen(table.iloc[1:].astype({"x": float}), y[1:], ["x", "w"], held)
    1.0
    >>> share_seen(table.assign(x=[1, 2, 30, 40]), y, ["x", "w"], held)
    0.5
    """
    if not kept:
        return None
    own = np.frombuffer(bytes.fromhex(kept), ">u8").astype(np.uint64)
    found = _hashes(frame, labels, names)
    if len(own) == MOST:
        found = found[found <= own[-1]]
    return float(np.isin(found, own).mean()) if len(found) else None


def _hashes(frame: pd.DataFrame, labels: Any, names: list[str]) -> np.ndarray:
    """(n,) a number for each row, the same whatever type a column was read as."""
    import pandas as pd

    cells: dict[str, Any] = {}
    for j, name in enumerate(names):
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column.dtype):
            cells[f"{j}"] = column.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0  # −0 is 0
        elif pd.api.types.is_datetime64_any_dtype(column.dtype):
            cells[f"{j}"] = column.to_numpy(dtype="datetime64[us]").astype(np.int64)
        else:
            cells[f"{j}"] = words_of(column)
    cells["label"] = np.array([str(v) for v in labels], dtype=object)
    return np.asarray(pd.util.hash_pandas_object(pd.DataFrame(cells), index=False))
