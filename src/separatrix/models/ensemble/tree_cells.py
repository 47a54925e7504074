"""How trees read tables:  dense cells, NaN where one is missing, and 0, 1, … for the levels of nominal columns.

    nominal     what ``categorical_features`` says: columns of words by their key, columns of numbers by their values
    best        codes of at most 255 bins a column (:class:`separatrix.growth.trees.Binned`)
    random      a float32 copy by columns (:class:`separatrix.growth.trees.Columns`)

A split is a set of at most 64 codes. Up to so many levels have a code each; more are grouped by what goes with them
in training (:func:`separatrix.data.level_means.group_levels`), and a group has a code. A level that training lacked
goes where a missing cell does. Shapes: X (n, p). Rows E1, E3, E4 of the specification. Cost: O(np), and a search
among the levels a nominal cell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.data.checks import is_count
from separatrix.data.columns import Encoding
from separatrix.data.door import column_name, is_dask, read_table, refuse_infinite
from separatrix.data.estimator import Estimator
from separatrix.data.level_means import group_levels
from separatrix.data.sources import TableLike
from separatrix.growth.growers import LEVELS, Binned, Columns
from separatrix.models.ensemble.tree_limits import is_word

DENSE_CELLS = 1 << 28  # cells of a sparse table up to which it is made dense


@dataclass(frozen=True, eq=False)
class Nominal:
    """How nominal columns are read: the key of a mixed table, and the levels of columns that hold numbers."""

    key: Encoding
    which: np.ndarray
    levels: dict[int, FloatArray]
    groups: dict[int, np.ndarray] | None = (
        None  # of columns of many levels: the code of each level, −1 of one without rows
    )

    def encode(self, model: Any, X: TableLike) -> np.ndarray:
        """Cells (n, p) with levels as 0 …, −1 where a level was not seen in training."""
        cells = self.key.encode(model, X)
        if self.levels:
            cells = np.array(cells, dtype=np.float64)
        for j, known in self.levels.items():
            cells[:, j] = level_numbers(cells[:, j], known)
        return self.grouped(cells)

    def grouped(self, cells: np.ndarray) -> np.ndarray:
        """Levels of columns of many as the codes of their groups, in a table of one's own."""
        for j, group in (self.groups or {}).items():
            cells[:, j] = _grouped(cells[:, j], group)
        return cells

    def size(self, j: int) -> int:
        """How many levels a column has."""
        return len(self.levels[j]) if j in self.levels else len(self.key.columns[j].levels)


def level_numbers(column: FloatArray, known: FloatArray) -> FloatArray:
    """The place of each number among the ``known`` ones, which are sorted; −1 where it is none, NaN where missing.

    >>> level_numbers(np.array([7.0, 3.0, np.nan, 4.0]), np.array([3.0, 7.0]))
    array([ 1.,  0., nan, -1.])
    """
    place = np.searchsorted(known, column).clip(0, max(len(known) - 1, 0))
    hit = known[place] == column if len(known) else np.zeros(len(column), dtype=bool)
    return np.where(np.isnan(column), np.nan, np.where(hit, place, -1.0))


def _grouped(column: FloatArray, group: np.ndarray) -> FloatArray:
    """The group of each level, −1 of one that is in none; NaN where missing."""
    out = np.full(len(column), np.nan)
    seen = ~np.isnan(column)
    out[seen] = np.append(group, -1)[column[seen].astype(np.int64)]  # −1 finds the last
    return out


class TreeCells(Estimator):
    """A tree's door: the table as training and prediction read it."""

    categorical_features: Any
    _nominal: Nominal | None

    def _read_cells(self, X: TableLike, *, reset: bool) -> np.ndarray:
        """X as a dense array with NaN for missing cells and codes for levels; columns learned or compared."""
        if is_dask(X):
            raise TypeError(f"{type(self).__name__} reads rows in memory: call .compute() on X")
        if reset:
            self._nominal = None
            if self.categorical_features is not None:
                return self._learn_nominal(X)
        if self._nominal is not None:
            cells = self._nominal.encode(self, X)
            refuse_infinite(self, cells)
            return cells
        try:
            cells = read_table(self, X, reset=reset, missing=True)
        except ValueError as error:
            text = str(error)
            mark = f"{type(self).__name__} reads numbers"
            if mark not in text:
                raise
            raise ValueError(
                text.split(f" {mark}")[0] + ' Say categorical_features="from_dtype" to read them as levels'
            ) from None
        refuse_infinite(self, cells)
        if not isinstance(cells, np.ndarray):
            if cells.shape[0] * cells.shape[1] > DENSE_CELLS:
                raise ValueError(
                    f"the sparse table has {cells.shape[0]}×{cells.shape[1]} cells, and trees need them all in "
                    "memory: keep fewer columns (SelectKBest), or use a linear model"
                )
            cells = cells.toarray()
        return cells

    def _learn_nominal(self, X: TableLike) -> np.ndarray:
        if sp.issparse(X):
            raise ValueError("categorical_features needs a dense table: call .toarray() on X")
        key = Encoding.learn(self, X)
        kinds = np.array([c.kind == "category" for c in key.columns])
        which = kinds if is_word(self.categorical_features, "from_dtype") else self._listed(key)
        if (kinds & ~which).any():
            j = int(np.flatnonzero(kinds & ~which)[0])
            raise ValueError(
                f"column {column_name(self, j)} holds words, which have no order: add it to categorical_features"
            )
        cells = key.encode(self, X)
        levels: dict[int, FloatArray] = {}
        for j in np.flatnonzero(which).tolist():
            if not kinds[j]:
                column = cells[:, j]
                levels[j] = np.unique(column[~np.isnan(column)]).astype(np.float64)
        self._nominal = Nominal(key, which, levels)
        cells = self._nominal.encode(self, X)
        refuse_infinite(self, cells)
        return cells

    def _group_levels(
        self, cells: np.ndarray, target: np.ndarray, weight: FloatArray | None, classes: int
    ) -> np.ndarray:
        """The cells of training with the levels of columns of many in groups, which are learned here."""
        if self._nominal is None:
            return cells
        many = [j for j in np.flatnonzero(self._nominal.which).tolist() if self._nominal.size(j) > LEVELS]
        if not many:
            return cells
        groups = {}
        for j in many:
            column = cells[:, j]
            codes = np.where(np.isnan(column), -1, column).astype(np.int64)
            groups[j] = group_levels(codes, target, weight, self._nominal.size(j), classes, LEVELS)
        self._nominal = replace(self._nominal, groups=groups)
        return self._nominal.grouped(np.array(cells))

    def _said_of_levels(self) -> list[str]:
        """Sentences on columns whose levels were grouped."""
        out = []
        for j, group in ((self._nominal and self._nominal.groups) or {}).items():
            levels, kept = int((group >= 0).sum()), int(group.max(initial=-1)) + 1
            how = f"in {kept} groups by what goes with them in training"
            if kept < 2:
                how = "which tell no more of the target than chance would: never split on"
            out.append(f"column {column_name(self, j)}: {levels:,} levels, {how}")
        return [*out[:5], f"and {len(out) - 5} more such columns"] if len(out) > 6 else out

    def _listed(self, key: Encoding) -> np.ndarray:
        """categorical_features as a mask, given as one, as indices, or as names."""
        p = len(key.columns)
        given = self.categorical_features
        if isinstance(given, str) or not hasattr(given, "__len__"):
            raise ValueError(
                f'categorical_features must be None, "from_dtype", a mask or a list of columns, got {given!r}'
            )
        items = list(given)
        out = np.zeros(p, dtype=bool)
        if len(items) == p and all(isinstance(v, (bool, np.bool_)) for v in items):
            return np.array(items, dtype=bool)
        names = [c.name for c in key.columns]
        for item in items:
            if isinstance(item, str) and item in names:
                out[names.index(item)] = True
            elif is_count(item) and -p <= item < p:
                out[item] = True
            else:
                raise ValueError(f"categorical_features names {item!r}, which is not a column of X")
        return out

    def _columns(self, cells: np.ndarray, weight: FloatArray | None, exact: bool) -> Binned | Columns:
        """The columns as growth reads them: bins for best splits, float32 for random ones."""
        flags = np.zeros(cells.shape[1], bool) if self._nominal is None else self._nominal.which
        if exact:
            return Binned.of(cells, weight, flags)
        if cells.dtype.itemsize > 4 and cells.size and np.nanmax(np.abs(cells), initial=0.0) > 3.4e38:
            j = int(np.flatnonzero(np.nanmax(np.abs(cells), axis=0, initial=0.0) > 3.4e38)[0])
            raise ValueError(
                f"column {column_name(self, j)} holds values too large for float32: divide it by a power of ten"
            )
        return Columns.of(cells, flags)

    def _read_for_prediction(self, X: TableLike) -> Any:
        check_is_fitted(self)
        return self._read_cells(X, reset=False)
