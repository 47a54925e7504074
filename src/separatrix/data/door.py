"""The door: tables, labels and weights are read and checked here, once; nothing below checks again.

A refusal is a sentence that names the column, the row or the value, and the way out. Accepted tables:
NumPy arrays of any order and numeric type, memmaps, SciPy sparse, frames of any kind narwhals reads
(pandas, Polars, Arrow) whose columns are numbers or booleans, Dask arrays and frames. Labels may be of
any hashable type. Weights mean repetition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_array

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.checks import is_count, is_positive
from separatrix.data.labels import (
    as_labels,
    drop_absent_classes,
    read_labels,
    read_some_labels,
    read_weights,
    refuse_one_class,
)
from separatrix.data.rows import Rows, floats
from separatrix.data.sources import dask_parts, frame_cells, is_dask, is_frame
from separatrix.data.stored import Stored, sparse_rows, with_cells

__all__ = [
    "as_labels",
    "column_name",
    "drop_absent_classes",
    "finite_moments",
    "is_count",
    "is_dask",
    "is_frame",
    "is_positive",
    "read_for_prediction",
    "read_labels",
    "read_some_labels",
    "read_table",
    "read_weights",
    "refuse_infinite",
    "refuse_nonfinite",
    "refuse_not_finite",
    "refuse_one_class",
    "rows_of",
]

PLAIN = "fdbBhHiIlLqQ?"  # kinds of numbers that are read as they are


def read_table(
    estimator: object, X: Any, *, reset: bool, missing: bool = False, stored: Stored = "in order"
) -> Any:
    """X as an ndarray, a CSR matrix or a Dask collection; column names and number set or compared.

    With ``missing`` a frame's empty cells become NaN; without, they are refused by name. ``stored``: how the cells
    of a sparse row must be, see :func:`sparse_rows`; what is so already is not copied.
    Finite values are not checked here: the first sweep of a fit sees them (see :func:`refuse_nonfinite`).
    """
    if _is_plain(X) and getattr(estimator, "feature_names_in_", None) is None:
        _check_n_features(estimator, X, reset=reset)
        return X
    if _is_plain_csr(X) and getattr(estimator, "feature_names_in_", None) is None:
        _check_n_features(estimator, X, reset=reset)
        return sparse_rows(X, stored)
    if is_dask(X):
        return _dask_table(estimator, X, reset=reset)
    named = is_frame(X)
    if named:
        _check_feature_names(estimator, X, reset=reset)
        X = frame_cells(X, missing=missing, reader=type(estimator).__name__)
    elif type(X).__module__.startswith("cupy"):
        raise TypeError("arrays on a GPU are not read yet: call .get() to bring X to the host")
    _refuse_dates(estimator, X)
    X = check_array(
        X, accept_sparse=["csr", "csc", "coo"], dtype="numeric", ensure_all_finite=False, estimator=estimator
    )
    if not isinstance(X, np.ndarray):
        X = sparse_rows(X.tocsr(), stored)
    if not named:
        _check_feature_names(estimator, X, reset=reset)
    _check_n_features(estimator, X, reset=reset)
    if X.dtype.kind not in "fiub" or X.dtype == np.longdouble or X.dtype == np.float16:
        cells = X.astype(np.float64) if isinstance(X, np.ndarray) else X.data.astype(np.float64)
        X = cells if isinstance(X, np.ndarray) else with_cells(X, cells)
    # Of a sparse table the numbers alone are copied; a dense one of whole numbers may be an eighth of its floats.
    return X if isinstance(X, np.ndarray) else floats(X)


def _is_plain(X: object) -> bool:
    """Whether X is an array of plain numbers with rows and columns: what is asked of other tables it need not be."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.char in PLAIN and X.size > 0


def _is_plain_csr(X: object) -> bool:
    """Whether X is a CSR matrix of floats with rows and columns, its vectors as they should be."""
    if type(X).__name__ not in ("csr_matrix", "csr_array") or not type(X).__module__.startswith(
        "scipy.sparse"
    ):
        return False
    cells: Any = X
    return (
        cells.ndim == 2
        and min(cells.shape) > 0
        and cells.data.dtype.char in "fd"
        and cells.indices.dtype == cells.indptr.dtype
        and len(cells.indptr) == cells.shape[0] + 1
    )


def _refuse_dates(estimator: object, X: Any) -> None:
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", "") in "mM" and dtype is not None:
        raise ValueError(
            f"X holds dates or durations ({dtype}): {type(estimator).__name__} reads numbers, say which ones "
            "(days since a date, the hour, the month) and give those"
        )


def _dask_table(estimator: object, X: Any, *, reset: bool) -> Any:
    if hasattr(X, "_meta") and hasattr(X, "columns"):
        _check_feature_names(estimator, X._meta, reset=reset)
        frame_cells(X._meta, reader=type(estimator).__name__)
    elif X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D Dask array instead. Reshape your data")
    _check_n_features(estimator, np.empty((1, X.shape[1])), reset=reset)
    return X


def read_for_prediction(estimator: object, X: Any, stored: Stored = "in order") -> Any:
    """The table of a prediction: same columns as in training, and every cell finite."""
    X = read_table(estimator, X, reset=False, stored=stored)
    if is_dask(X):
        return X
    cells = X if isinstance(X, np.ndarray) else X.data
    if cells.dtype.kind == "f" and not np.isfinite(cells.sum()):
        finite = np.isfinite(cells) if isinstance(X, np.ndarray) else np.isfinite(X.toarray())
        if not finite.all():
            raise ValueError(_nonfinite_message(estimator, X, finite))
    return X


def rows_of(
    estimator: object,
    X: Any,
    y: ArrayLike | None = None,
    weight: FloatArray | None = None,
    *,
    missing: bool = False,
) -> Rows:
    """Rows on their grid from what :func:`read_table` returned."""
    if not is_dask(X):
        return Rows.of(X, y, weight)
    parts, lengths = dask_parts(X, missing)
    edges = (0, *np.cumsum(lengths).tolist())
    if edges[-1] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {X.shape[1]})) while a minimum of 1 is required."
        )
    single = getattr(X, "dtype", None) == np.float32
    return Rows(parts, edges[-1], int(X.shape[1]), edges, y, weight, single)


def finite_moments(estimator: object, rows: Rows) -> Moments:
    """The moments of the rows; a cell that is not finite is refused by column and row."""
    moments = rows.moments()
    refuse_nonfinite(estimator, rows, moments)
    return moments


def refuse_nonfinite(estimator: object, rows: Rows, moments: Moments) -> None:
    """Raise, naming column and row, when the moments betray a NaN or an infinity."""
    bad = ~np.isfinite(moments.mean) | ~np.isfinite(moments.variance)
    if not bad.any():
        return
    for i in range(rows.n_blocks):
        block = rows.block(i)
        cells = block.X if isinstance(block.X, np.ndarray) else block.X.toarray()
        finite = np.isfinite(cells)
        if not finite.all():
            raise ValueError(_nonfinite_message(estimator, cells, finite, block.start))
    column = column_name(estimator, int(np.flatnonzero(bad)[0]))
    raise ValueError(f"column {column} holds values too large to square: divide it by a power of ten")


def refuse_infinite(estimator: object, X: Any, start: int = 0) -> None:
    """Raise, naming column and row, when a cell is infinite; NaN is a missing cell, and legal."""
    cells = X if isinstance(X, np.ndarray) else X.data
    if cells.dtype.kind != "f" or cells.size == 0 or np.isfinite(cells.sum()):
        return
    wrong = np.isinf(X if isinstance(X, np.ndarray) else X.toarray())
    if wrong.any():
        text = _nonfinite_message(estimator, X, ~wrong, start).split(". ")[0]
        raise ValueError(
            f"{text}. A missing cell (NaN) would be left out; an infinite one means nothing here"
        )


def refuse_not_finite(estimator: object, cells: np.ndarray, start: int = 0) -> None:
    """Raise, naming column and row, when a cell is missing or infinite."""
    finite = np.isfinite(cells)
    if not finite.all():
        raise ValueError(_nonfinite_message(estimator, cells, finite, start))


def _nonfinite_message(estimator: object, cells: Any, finite: np.ndarray, start: int = 0) -> str:
    i, j = (int(v[0]) for v in np.nonzero(~finite))
    value = cells[i, j]
    what = "NaN" if np.isnan(value) else "infinity"
    count = int((~finite).sum())
    return (
        f"Input X contains {what}: column {column_name(estimator, j)}, row {start + i}"
        f"{f' ({count} such cells in this block)' if count > 1 else ''}. "
        f"{type(estimator).__name__} reads finite numbers: fill missing cells (SimpleImputer) or drop the rows"
    )


def column_name(estimator: object, j: int) -> str:
    """The name of column j in quotes where columns have names, else its index."""
    names = getattr(estimator, "feature_names_in_", None)
    return str(j) if names is None else repr(str(names[j]))
