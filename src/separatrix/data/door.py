"""The door: tables, labels and weights are read and checked here, once; nothing below checks again.

A refusal is a sentence that names the column, the row or the value, and the way out. Accepted tables:
NumPy arrays of any order and numeric type, memmaps, SciPy sparse, frames of any kind narwhals reads
(pandas, Polars, Arrow) whose columns are numbers or booleans, Dask arrays and frames. Labels may be of
any hashable type. Weights mean repetition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_array,
    column_or_1d,
)

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.rows import Rows

NAMED = 5  # how many culprits an error lists before it counts the rest


def read_table(estimator: Any, X: Any, *, reset: bool, missing: bool = False) -> Any:
    """X as an ndarray, a CSR matrix or a Dask collection; column names and number set or compared.

    With ``missing`` a frame's empty cells become NaN; without, they are refused by name.
    Finite values are not checked here: the first sweep of a fit sees them (see :func:`refuse_nonfinite`).
    """
    if is_dask(X):
        return _dask_table(estimator, X, reset=reset)
    is_frame = _is_frame(X)
    if is_frame:
        _check_feature_names(estimator, X, reset=reset)
        X = _frame_cells(X, missing=missing)
    elif type(X).__module__.startswith("cupy"):
        raise TypeError("arrays on a GPU are not read yet: call .get() to bring X to the host")
    _refuse_dates(X)
    X = check_array(
        X, accept_sparse=["csr", "csc", "coo"], dtype="numeric", ensure_all_finite=False, estimator=estimator
    )
    if not isinstance(X, np.ndarray):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    if not is_frame:
        _check_feature_names(estimator, X, reset=reset)
    _check_n_features(estimator, X, reset=reset)
    if X.dtype.kind not in "fiub" or X.dtype == np.longdouble or X.dtype == np.float16:
        X = X.astype(np.float64)
    return X


def read_for_prediction(estimator: Any, X: Any) -> Any:
    """The table of a prediction: same columns as in training, and every cell finite."""
    X = read_table(estimator, X, reset=False)
    if is_dask(X):
        return X
    cells = X if isinstance(X, np.ndarray) else X.data
    if cells.dtype.kind == "f" and not np.isfinite(cells.sum()):
        finite = np.isfinite(cells) if isinstance(X, np.ndarray) else np.isfinite(X.toarray())
        if not finite.all():
            raise ValueError(_nonfinite_message(estimator, X, finite))
    return X


def rows_of(
    estimator: Any, X: Any, y: Any = None, weight: FloatArray | None = None, *, missing: bool = False
) -> Rows:
    """Rows on their grid from what :func:`read_table` returned."""
    if not is_dask(X):
        return Rows.of(X, y, weight)
    parts, lengths = _dask_parts(X, missing)
    edges = (0, *np.cumsum(lengths).tolist())
    if edges[-1] == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {X.shape[1]})) while a minimum of 1 is required."
        )
    single = getattr(X, "dtype", None) == np.float32
    return Rows(parts, edges[-1], int(X.shape[1]), edges, y, weight, single)


def refuse_nonfinite(estimator: Any, rows: Rows, moments: Moments) -> None:
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


def refuse_infinite(estimator: Any, X: Any, start: int = 0) -> None:
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


def refuse_not_finite(estimator: Any, cells: np.ndarray, start: int = 0) -> None:
    """Raise, naming column and row, when a cell is missing or infinite."""
    finite = np.isfinite(cells)
    if not finite.all():
        raise ValueError(_nonfinite_message(estimator, cells, finite, start))


def column_name(estimator: Any, j: int) -> str:
    """The name of column j in quotes where columns have names, else its index."""
    names = getattr(estimator, "feature_names_in_", None)
    return str(j) if names is None else repr(str(names[j]))


def read_labels(y: Any, n: int | None) -> tuple[np.ndarray, np.ndarray]:
    """(classes, codes): the distinct labels in a fixed order and each row's index into them.

    >>> classes, codes = read_labels(["b", "a", "b"], 3)
    >>> classes.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    if y is None:
        raise ValueError(
            "this estimator requires y to be passed, but the target y is None: give one label a row"
        )
    if is_dask(y):
        y = y.compute()
    labels = as_labels(y)
    if n is not None and len(labels) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(labels)} labels"
        )
    if labels.dtype.kind in "biu":
        return _integer_codes(labels)
    _refuse_missing_labels(labels)
    if labels.dtype.kind == "O" and not all(isinstance(v, str) for v in labels):
        return _object_codes(labels)
    if labels.dtype.kind == "f":
        check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes


def read_some_labels(y: Any, n: int | None, known: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """(classes, codes) where a row may have no label: its code is −1.

    No label is None or NaN, and among integers −1, unless −1 is a known class or the only other label besides
    one: y of −1 and 1 is the usual coding of two classes. ``known`` lists the classes met before.

    >>> classes, codes = read_some_labels([0, 1, -1], 3)
    >>> classes.tolist(), codes.tolist()
    ([0, 1], [0, 1, -1])
    """
    if y is None:
        read_labels(y, n)
    if is_dask(y):
        y = y.compute()
    labels = as_labels(y)
    if labels.dtype.kind in "iu":
        absent = labels == -1
        if (known is None and len(np.unique(labels[~absent])) < 2) or (
            known is not None and -1 in list(known)
        ):
            absent = np.zeros(len(labels), dtype=bool)
    elif labels.dtype.kind == "f":
        absent = np.isnan(labels)
    elif labels.dtype.kind == "O":
        absent = np.array([_is_missing(v) for v in labels], dtype=bool)
    else:
        absent = np.zeros(len(labels), dtype=bool)
    if not absent.any():
        return read_labels(labels, n)
    if n is not None and len(labels) != n:
        read_labels(labels, n)
    present = labels[~absent]
    if (
        labels.dtype.kind == "O"
        and len(present)
        and all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in present)
    ):
        present = present.astype(np.int64)
    classes, found = read_labels(present, None)
    codes = np.full(len(labels), -1, dtype=np.intp)
    codes[~absent] = found
    return classes, codes


def read_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Weights as float64 (None: all one); a negative, missing or all-zero weight is refused by row."""
    if sample_weight is None:
        return None
    if is_dask(sample_weight):
        sample_weight = sample_weight.compute()
    if np.isscalar(sample_weight):
        sample_weight = np.full(n, sample_weight)
    weight = np.asarray(sample_weight)
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}")
    if weight.dtype.kind not in "fiub":
        raise ValueError(f"sample_weight must be numbers, got dtype {weight.dtype}")
    if len(weight) != n:
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n,)}: one weight a row")
    weight = weight.astype(np.float64, copy=False)
    bad = ~(weight >= 0) | np.isinf(weight)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(f"sample_weight must be finite and not negative: row {i} has weight {weight[i]}")
    if not weight.any():
        raise ValueError("sample_weight is zero in every row: nothing is left to fit")
    return weight


def drop_absent_classes(
    classes: np.ndarray, codes: np.ndarray, weight: FloatArray | None
) -> tuple[np.ndarray, np.ndarray, FloatArray]:
    """Classes that keep some weight, the codes renumbered, and each class's total weight.

    Weight zero means absence, so a class whose rows all weigh nothing is not a class: its rows have the code of
    a row without a label, −1.
    """
    labelled = codes >= 0 if codes.min(initial=0) < 0 else slice(None)
    some = None if weight is None else weight[labelled]
    totals = np.bincount(codes[labelled], some, minlength=len(classes)).astype(float)
    if (totals > 0).all():
        return classes, codes, totals
    keep = totals > 0
    renumber = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
    return classes[keep], renumber[codes], totals[keep]


def is_positive(value: Any, *, finite: bool = False) -> bool:
    """Whether a parameter is a real number above zero (no NaN, no boolean)."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return real and value > 0 and (not finite or value < np.inf)


def is_count(value: Any) -> bool:
    """Whether a parameter is a whole number."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def refuse_one_class(classes: np.ndarray) -> None:
    """A classifier needs something to tell apart."""
    if len(classes) < 2:
        only = repr(classes.tolist()[0]) if len(classes) else "none"
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{only}. Add rows of another class"
        )


def is_dask(X: Any) -> bool:
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def _is_frame(X: Any) -> bool:
    if isinstance(X, (np.ndarray, list, tuple)) or not hasattr(X, "__class__"):
        return False
    import narwhals as nw

    return bool(nw.dependencies.is_into_dataframe(X))


def _refuse_dates(X: Any) -> None:
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", "") in "mM" and dtype is not None:
        raise ValueError(
            f"X holds dates or durations ({dtype}): a linear model reads numbers, say which ones "
            "(days since a date, the hour, the month) and give those"
        )


def _frame_cells(X: Any, *, missing: bool = False) -> Any:
    """The cells of a frame as one array; a column that is not a number is refused by name."""
    import narwhals as nw

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
            f"{listed}{more}. Linear models read numbers: encode such columns first "
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


def _with_nan(column: Any) -> FloatArray:
    """A column's numbers as float64, empty cells NaN."""
    where = column.is_null().to_numpy()
    out = np.full(len(column), np.nan)
    out[~where] = np.asarray(column.filter(~column.is_null()).to_numpy(), dtype=np.float64)
    return out


def _nonfinite_message(estimator: Any, cells: Any, finite: np.ndarray, start: int = 0) -> str:
    i, j = (int(v[0]) for v in np.nonzero(~finite))
    value = cells[i, j]
    what = "NaN" if np.isnan(value) else "infinity"
    count = int((~finite).sum())
    return (
        f"Input X contains {what}: column {column_name(estimator, j)}, row {start + i}"
        f"{f' ({count} such cells in this block)' if count > 1 else ''}. "
        f"{type(estimator).__name__} reads finite numbers: fill missing cells (SimpleImputer) or drop the rows"
    )


def as_labels(y: Any) -> np.ndarray:
    array = _as_objects(y) if isinstance(y, (list, tuple)) and not _is_plain(y) else np.asarray(y)
    if array.ndim == 2 and array.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {array.shape} instead: one label a row"
        )
    return np.asarray(column_or_1d(array, warn=True))


def _is_plain(y: Any) -> bool:
    """Whether NumPy reads a list of labels as it is meant: no tuples as rows, no words made of mixed types."""
    if not any(isinstance(v, (tuple, frozenset, str, bytes, dict)) or v is None for v in y):
        return True
    return len({type(v) for v in y}) == 1 and isinstance(y[0], (str, bytes))


def _as_objects(y: Any) -> np.ndarray:
    array = np.empty(len(y), dtype=object)
    array[:] = y
    return array


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array: refused as not hashable
        return False


def _refuse_missing_labels(labels: np.ndarray) -> None:
    if labels.dtype.kind == "f":
        bad = ~np.isfinite(labels)
    elif labels.dtype.kind == "O":
        bad = np.array([_is_missing(v) for v in labels], dtype=bool)
    else:
        return
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        what = "infinity" if labels.dtype.kind == "f" and np.isinf(labels[i]) else "NaN"
        raise ValueError(
            f"Input y contains {what}: row {i} has no label ({int(bad.sum())} rows in all); drop rows without one"
        )


def _integer_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integer labels by counting rather than sorting: half a million rows take a millisecond or two."""
    if len(labels) == 0:
        return labels, labels.astype(np.intp)
    low, high = int(labels.min()), int(labels.max())
    if high - low > 65_536 or high > np.iinfo(np.intp).max:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes
    shifted = labels.astype(np.intp, copy=False)
    shifted = shifted - low if low else shifted
    present = np.bincount(shifted, minlength=high - low + 1) > 0
    if present.all():
        return np.arange(low, high + 1).astype(labels.dtype), shifted
    number = np.cumsum(present) - 1
    classes = (np.flatnonzero(present) + low).astype(labels.dtype)
    return classes, number[shifted]


def _object_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels of any hashable type, sorted where they can be, else by type name and text."""
    try:
        distinct = list(dict.fromkeys(labels.tolist()))
    except TypeError as error:
        raise ValueError(f"Unknown label type: labels must be hashable ({error})") from None
    if all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in distinct):
        check_classification_targets(np.array(distinct, dtype=float))
    try:
        distinct.sort()
    except TypeError:
        distinct.sort(key=lambda v: (type(v).__name__, repr(v)))
    number = {v: k for k, v in enumerate(distinct)}
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return classes, np.array([number[v] for v in labels.tolist()], dtype=np.intp)


def _dask_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    if hasattr(X, "_meta") and hasattr(X, "columns"):
        _check_feature_names(estimator, X._meta, reset=reset)
        _frame_cells(X._meta)
    elif X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D Dask array instead. Reshape your data")
    _check_n_features(estimator, np.empty((1, X.shape[1])), reset=reset)
    return X


def _dask_parts(X: Any, missing: bool = False) -> tuple[list[Any], list[int]]:
    """Row partitions as delayed ndarrays, and their lengths (read when Dask does not know them)."""
    import dask

    if hasattr(X, "columns"):
        parts = [dask.delayed(_frame_cells)(part, missing=missing) for part in X.to_delayed()]
    else:
        X = X.rechunk({1: -1})
        parts = list(X.to_delayed().ravel())
        if not any(np.isnan(c) for c in X.chunks[0]):
            return parts, [int(c) for c in X.chunks[0]]
    lengths = dask.compute(*[dask.delayed(len)(part) for part in parts])
    return parts, [int(v) for v in lengths]
