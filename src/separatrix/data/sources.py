"""Frames and Dask collections as the arrays that are in them; a column that is not numbers is refused by name.

Frames of any kind narwhals reads (pandas, Polars, Arrow); Dask arrays and frames by their partitions. O(cells).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from separatrix.core.numerics import FloatArray

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike
    from scipy.sparse import sparray, spmatrix

# A table as users have it: an array or nested lists, a sparse matrix, a frame; of Dask too, which has no types.
TableLike: TypeAlias = "ArrayLike | spmatrix | sparray | IntoDataFrame"

NAMED = 5  # how many culprits an error lists before it counts the rest


def is_dask(X: object) -> bool:
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def is_frame(X: object) -> bool:
    if isinstance(X, (np.ndarray, list, tuple)) or not hasattr(X, "__class__"):
        return False
    import narwhals as nw

    return bool(nw.dependencies.is_into_dataframe(X))


def frame_cells(X: Any, *, missing: bool = False, reader: str = "the model") -> Any:
    """The cells of a frame as one array; a column that is not a number is refused by name, for the ``reader``."""
    import narwhals as nw

    plain = _plain_cells(X, missing=missing)
    if plain is not None:
        return plain
    frame = nw.from_native(X, eager_only=True)
    columns = list(zip(frame.columns, frame.iter_columns(), strict=True))
    refused = []
    for name, column in columns:
        dtype = column.dtype
        if isinstance(dtype, (nw.Categorical, nw.Enum)):
            refused.append((name, "categorical: its codes are names, not numbers"))
        elif isinstance(dtype, nw.Object):
            values = [v for v in column.to_list() if not (missing and v is None)]
            if not all(isinstance(v, (int, float, np.number)) for v in values):
                refused.append((name, "of mixed or text values"))
        elif not (dtype.is_numeric() or isinstance(dtype, nw.Boolean)):
            refused.append((name, str(dtype).lower()))
    if refused:
        listed = "; ".join(f"column {name!r} is {why}" for name, why in refused[:NAMED])
        more = f"; and {len(refused) - NAMED} more" if len(refused) > NAMED else ""
        raise ValueError(
            f"{listed}{more}. {reader} reads numbers: encode such columns first "
            "(OneHotEncoder for categories, TfidfVectorizer for text), or drop them"
        )
    empty = [(name, column.is_null()) for name, column in columns]
    empty = [(name, where) for name, where in empty if where.any()]
    if empty and missing:
        return np.column_stack([_with_nan(column) for _, column in columns])
    if empty:
        name, where = empty[0]
        i = int(np.flatnonzero(where.to_numpy())[0])
        raise ValueError(
            f"Input X contains NaN: column {name!r} is missing in row {i} "
            f"({int(where.sum())} rows in all): fill such cells (SimpleImputer) or drop the rows"
        )
    dtypes = {str(column.dtype) for _, column in columns}
    cells = frame.to_numpy()
    if cells.dtype == object:
        cells = cells.astype(np.float64)
    return cells if dtypes != {"Boolean"} else cells.astype(bool)


def _plain_cells(X: Any, *, missing: bool) -> np.ndarray | None:
    """The cells of a pandas frame of NumPy's own numbers: where they lie in one block, the block itself.

    None of other frames, of numbers and booleans side by side, and where a missing cell is to be refused by name.
    """
    if type(X).__module__.split(".")[0] != "pandas" or not hasattr(X, "dtypes"):
        return None
    if not all(isinstance(t, np.dtype) and t.kind in "fiub" for t in set(X.dtypes)):
        return None
    cells = np.asarray(X)
    if cells.dtype.kind not in "fiub":
        return None
    if cells.dtype.kind == "f" and not missing:
        with np.errstate(all="ignore"):
            if np.isnan(cells.sum()):
                return None
    return as_others(cells)


def as_others(cells: np.ndarray) -> np.ndarray:
    """Writeable, as loops are built for arrays of one kind: pandas marks its block, and nothing here writes to it."""
    if not cells.flags.writeable:
        cells = cells.view()
        with suppress(ValueError):  # memory that really is read-only
            cells.flags.writeable = True
    return cells


def _with_nan(column: Any) -> FloatArray:
    """A column's numbers as float64, empty cells NaN."""
    where = column.is_null().to_numpy()
    out = np.full(len(column), np.nan)
    out[~where] = np.asarray(column.filter(~column.is_null()).to_numpy(), dtype=np.float64)
    return out


def dask_parts(X: Any, missing: bool = False) -> tuple[list[Any], list[int]]:
    """Row partitions as delayed ndarrays, and their lengths (read when Dask does not know them)."""
    import dask

    if hasattr(X, "columns"):
        parts = [dask.delayed(frame_cells)(part, missing=missing) for part in X.to_delayed()]
    else:
        X = X.rechunk({1: -1})
        parts = list(X.to_delayed().ravel())
        if not any(np.isnan(c) for c in X.chunks[0]):
            return parts, [int(c) for c in X.chunks[0]]
    lengths = dask.compute(*[dask.delayed(len)(part) for part in parts])
    return parts, [int(v) for v in lengths]
