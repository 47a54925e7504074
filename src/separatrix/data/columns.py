"""Mixed tables: columns of numbers, booleans and categories become one matrix and a key to read it by.

    Z[i, j] = the number, of kind "number" or, in an integer dtype, "whole"; 0 or 1, of kind "boolean";
            = ℓ where the cell is levels_j[ℓ], of kind "category";   NaN where it is missing

Missing are None, NaN, NA, NaT, null and masked cells. The key is an :class:`Encoding`; a code never changes its
meaning, new levels go after the old. A column's kind is its dtype's; where that is ``object``, and in lists of
mixed rows, its cells': all booleans, all numbers, else a category, and so is a column of missing cells. Infinities
pass: the caller refuses them. Each cell is hashed once, in C; only distinct values are handled one by one.
"""

from __future__ import annotations

import datetime
import numbers
from dataclasses import dataclass, field, replace
from itertools import count, repeat
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_array

from separatrix.data.labels import is_missing
from separatrix.data.sources import is_dask, is_frame

KINDS = {"b": "boolean", "i": "whole", "u": "whole", "f": "number"}  # by the kind of a NumPy dtype
BOOLEANS = {bool, np.bool_}
NUMBERS = (numbers.Number, np.bool_)
REFUSED = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64, complex)


@dataclass(frozen=True)
class Column:
    """A column's name (its index where columns have none), its kind, and a category's levels in code order."""

    name: str | int
    kind: str
    levels: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Encoding:
    """How a mixed table is read as a matrix: one :class:`Column` a column.

    >>> from sklearn.base import BaseEstimator
    >>> model = BaseEstimator()
    >>> days = [["sunny", 21.0, True], ["rainy", None, False]]
    >>> key = Encoding.learn(model, days)
    >>> [(c.kind, c.levels) for c in key.columns]
    [('category', ('rainy', 'sunny')), ('number', ()), ('boolean', ())]
    >>> key.encode(model, [*days, ["foggy", 15, None]])
    array([[ 1., 21.,  1.],
           [ 0., nan,  0.],
           [-1., 15., nan]])
    >>> key.extended(model, [["foggy", 15, False]]).columns[0].levels
    ('rainy', 'sunny', 'foggy')
    """

    columns: tuple[Column, ...]

    @classmethod
    def learn(cls, estimator: object, X: Any) -> Encoding:
        """The key of a training table; the estimator learns its column names and number.

        Levels are sorted (by type name and text where they have no order); a pandas Categorical and a Polars
        Enum keep every level they declare, in the declared order.
        """
        return cls(tuple(c.added_to(Column(c.name, c.kind)) for c in _read(estimator, X)[0]))

    def extended(self, estimator: object, X: Any) -> Encoding:
        """This key with the levels of X it lacks after its own; the kinds stay as they were learned."""
        pairs = zip(self.columns, _read(estimator, X, self.columns)[0])
        return Encoding(tuple(read.added_to(column) for column, read in pairs))

    def merged(self, other: Encoding) -> Encoding:
        """The union of two keys to the same columns, this one's levels first.

        >>> one, two = (Encoding((Column("sky", "category", v),)) for v in (("a", "c"), ("b", "c")))
        >>> one.merged(two).columns[0].levels, one.merged(two).recode(two)
        (('a', 'c', 'b'), [array([2, 1])])
        """
        pairs = self._paired(other)
        return Encoding(tuple(replace(a, levels=(*dict.fromkeys(a.levels + b.levels),)) for a, b in pairs))

    def recode(self, other: Encoding) -> list[np.ndarray | None]:
        """For each category, where the other key's codes go in this one; None for the other kinds."""
        moves: list[np.ndarray | None] = []
        for a, b in self._paired(other):
            number = dict(zip(a.levels, count()))
            for lost in (v for v in b.levels if v not in number):
                raise ValueError(f"column {a.name!r}: level {lost!r} has no code here, merge first")
            to = np.array([number[v] for v in b.levels], dtype=np.intp)
            moves.append(to if a.kind == "category" else None)
        return moves

    def encode(self, estimator: object, X: Any, *, unseen: float = -1.0) -> np.ndarray:
        """X as an (n, p) float64 matrix in C order; a level this key lacks becomes ``unseen``.

        A numeric array, if float64 in C order or float32 (it stays so), comes back itself: copy before you write.
        """
        cells, array = _read(estimator, X, self.columns)
        if array is not None and all(c.kind != "category" for c in self.columns):
            return array if array.dtype == np.float32 else np.ascontiguousarray(array, dtype=np.float64)
        matrix = np.empty((len(cells[0].values), len(cells)))
        for j, (column, read) in enumerate(zip(self.columns, cells)):
            number = dict(zip(column.levels, count()))
            code = np.array([*(number.get(v, unseen) for v in read.levels), np.nan])  # −1 finds the NaN
            matrix[:, j] = code[read.values] if column.kind == "category" else read.values
        return matrix

    def _paired(self, other: Encoding) -> list[tuple[Column, Column]]:
        if len(self.columns) != len(other.columns):
            raise ValueError(f"one encoding has {len(self.columns)} columns, the other {len(other.columns)}")
        for a, b in (pairs := list(zip(self.columns, other.columns))):
            if a.name != b.name or (a.kind != b.kind and {a.kind, b.kind} != {"number", "whole"}):
                raise ValueError(f"column {a.name!r} ({a.kind}) is {b.name!r} ({b.kind}) in the other")
        return pairs


@dataclass(frozen=True)
class _Cells:
    """A column as read: numbers with NaN, or codes (−1: missing) into the levels it holds or declares."""

    name: str | int
    kind: str
    values: np.ndarray
    levels: list[Any] = field(default_factory=list)
    declared: bool = False

    def added_to(self, column: Column) -> Column:
        """The column with the levels it lacks after its own."""
        known = set(column.levels)
        new = [v.item() if isinstance(v, np.generic) else v for v in self.levels if v not in known]
        if not self.declared:
            try:
                new.sort()
            except TypeError:  # 1, 1.0 and True are one level: numbers go by value, whatever their type
                new.sort(key=lambda v: ("", v) if isinstance(v, NUMBERS) else (type(v).__name__, repr(v)))
        return replace(column, levels=(*column.levels, *new))

    def like(self, column: Column) -> _Cells:
        """These cells as the trained column's kind, where they can be that.

        Any rows of a training table must pass: where all cells are missing, where mixed levels (1, 2, "many")
        happen to be all numbers. Booleans are numbers; 0 and 1 are booleans.
        """
        here, there = self.kind, column.kind
        if (here == "category") == (there == "category") and (here == "boolean" or there != "boolean"):
            return self
        wrong = self.values >= 0 if here == "category" else ~np.isnan(self.values)
        if here != "category" and there == "boolean":
            wrong &= (self.values != 0) & (self.values != 1)
        if not wrong.any() and there != "category":
            return self if here != "category" else replace(self, values=np.full(len(wrong), np.nan))
        if not wrong.any() or len({isinstance(v, NUMBERS) for v in column.levels}) == 2:
            levels, codes = np.unique(self.values, return_inverse=True)  # a NaN among them comes last
            return _Cells(self.name, there, np.where(wrong, codes, -1), levels[~np.isnan(levels)].tolist())
        i = int(np.flatnonzero(wrong)[0])
        value = self.levels[self.values[i]] if here == "category" else self.values[i].item()
        raise ValueError(
            f"column {column.name!r} was {there} in training and is {here} now (row {i} holds {value!r}): "
            "give its cells the type they had in training"
        )


def _read(
    estimator: object, X: Any, trained: tuple[Column, ...] = ()
) -> tuple[list[_Cells], np.ndarray | None]:
    """The columns of X, as the trained ones if there are any, and X itself where it is an array of numbers."""
    named, reset = is_frame(X), not trained
    if issparse(X):
        raise TypeError("X is a sparse matrix and mixed columns are read dense: call X.toarray()")
    if is_dask(X) or (not named and hasattr(X, "collect")):
        raise TypeError(f"X is not in memory yet: call X.{'compute' if is_dask(X) else 'collect'}()")
    _check_feature_names(estimator, X, reset=reset)
    array = np.broadcast_to(False, X.shape) if named else _as_array(X)  # a frame's stands for its shape
    array = check_array(array, dtype=None, ensure_all_finite=False, estimator=estimator)
    _check_n_features(estimator, array, reset=reset)
    kind = array.dtype.kind
    if named:
        cells = _frame_cells(X)
    elif kind in KINDS:
        cells = [_Cells(j, KINDS[kind], column) for j, column in enumerate(array.T)]
    else:  # of dates, tolist() would make integers
        cells = [_object_cells(j, list(c) if kind in "mM" else c.tolist()) for j, c in enumerate(array.T)]
    cells = [read.like(column) for read, column in zip(cells, trained)] if trained else cells
    return cells, None if named or kind not in KINDS else array


def _as_array(X: Any) -> Any:
    """Masked cells as missing ones; rows of mixed types as objects, where NumPy would make all of them text."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(float if X.dtype.kind in KINDS else object), np.nan)
    objects = np.array(X, dtype=object) if isinstance(X, (list, tuple)) else np.empty(0)
    types = {*map(type, objects.ravel().tolist())}
    alike = types <= BOOLEANS or (not types & BOOLEANS and all(issubclass(t, NUMBERS) for t in types))
    return X if alike or objects.ndim != 2 else objects


def _frame_cells(X: Any) -> list[_Cells]:
    import narwhals as nw

    def read(name: str | int, column: nw.Series[Any]) -> _Cells:
        dtype, native = column.dtype, column.to_native()
        storage = str(getattr(native, "dtype", dtype)).lower()
        if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
            kind = "whole" if dtype.is_integer() else "number" if dtype.is_numeric() else "boolean"
            return _Cells(name, kind, column.cast(nw.Float64).to_numpy())
        if storage == "category" and column.implementation.is_pandas():
            return _Cells(name, "category", native.cat.codes.to_numpy(), native.cat.categories.tolist(), True)
        declared = list(dtype.categories) if isinstance(dtype, nw.Enum) else []
        if storage == "object":
            return _object_cells(name, column.to_list())
        if not declared and column.is_null().all():
            return _Cells(name, "category", np.full(len(column), -1))
        if not isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
            raise _refusal(name, storage)
        if column.implementation.is_pandas():
            return _Cells(name, "category", *native.factorize())
        column = column.cast(nw.String) if column.implementation.is_polars() else column
        levels = declared or [v for v in column.unique().to_list() if v is not None]
        number = column.replace_strict(levels, range(len(levels)), return_dtype=nw.Int64)
        return _Cells(name, "category", number.fill_null(-1).to_numpy(), levels, bool(declared))

    columns = enumerate(nw.from_native(X, eager_only=True).iter_columns())
    return [read(c.name if isinstance(c.name, str) else j, c) for j, c in columns]


def _object_cells(name: str | int, cells: list[Any]) -> _Cells:
    """Cells of any type; a dict finds the distinct ones, and sooner than pandas.factorize."""
    try:
        distinct = [v for v in dict.fromkeys(cells) if not is_missing(v)]
    except TypeError as error:
        raise _refusal(name, str(error)) from None
    types = {*map(type, distinct)}
    for refused in (t.__name__ for t in types if issubclass(t, REFUSED)):
        raise _refusal(name, refused)
    if not types or not all(issubclass(t, NUMBERS) for t in types):
        codes = map(dict(zip(distinct, count())).get, cells, repeat(-1))
        return _Cells(name, "category", np.fromiter(codes, np.intp, len(cells)), distinct)
    # True and 1 are one key of a dict: whether all are booleans, only the cells know
    boolean = types <= BOOLEANS and all(type(v) in BOOLEANS or is_missing(v) for v in cells)
    number = {v: float(v) for v in distinct}
    values = np.fromiter(map(number.get, cells, repeat(np.nan)), np.float64, len(cells))
    # 1 and 1.0 are one key too: whether all are whole, again only the cells know
    whole = all(isinstance(v, (int, np.integer)) or is_missing(v) for v in cells)
    return _Cells(name, "boolean" if boolean else "whole" if whole else "number", values)


def _refusal(name: str | int, what: str) -> ValueError:
    return ValueError(
        f"column {name!r} is {what}. A cell is a number, a boolean or a category: of a date give the numbers "
        "meant (days since a date, the hour, the month), of anything else its text, or drop the column"
    )
