"""Columns of two values, as lists of those in which a row has the rarer one.

    rows of class k with the rarer value of column c  =  Σ_i [y_i = k] [c in the list of row i]

for all such columns in one pass over the lists of a node's rows; their cells need not be read to know which of them
are constant there, nor what a split would part. Rows E3, E4. Cost: O(np) once; memory: 4 bytes a rarer cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from separatrix.data.engine import each_in_threads

HEAD = 256  # rows that tell of most columns that they have more than two values
PASSES = 4  # lists are worth it up to that many rarer cells a row for each column tested in a node,
COUNTS = 256  # and that many counts


@dataclass(frozen=True, eq=False)
class Pairs:
    """slot (p,) int64: the number of a column among those of two values, else −1; base and rarer (p,) their values.

    Row i has the rarer value in the columns numbered columns[begins[i]:begins[i + 1]].
    """

    slot: np.ndarray
    base: np.ndarray
    rarer: np.ndarray
    begins: np.ndarray
    columns: np.ndarray

    @classmethod
    def none(cls, p: int, n: int) -> Pairs:
        """No column of p is counted."""
        values = np.zeros((2, p), np.float32)
        return cls(np.full(p, -1), values[0], values[1], np.zeros(n + 1, np.int64), np.zeros(0, np.int32))

    @classmethod
    def of(cls, cells: np.ndarray, odd: np.ndarray) -> Pairs:
        """Those of cells (p, n) that are not ``odd``.

        >>> pairs = Pairs.of(np.array([[3, 3, 1], [1, 2, 3], [0, 5, 5]], np.float32), np.zeros(3, bool))
        >>> pairs.slot.tolist(), pairs.begins.tolist(), pairs.columns.tolist()
        ([0, -1, 1], [0, 1, 1, 2], [1, 0])
        """
        p, n = cells.shape
        found = cls.none(p, n)
        rows: list[np.ndarray | None] = [None] * p

        def work(j: int) -> None:
            column = cells[j]
            if odd[j] or not _two(column[:HEAD], most=True) or not _two(column):
                return
            low, high = column.min(), column.max()
            above = column == high
            if 2 * int(above.sum()) > n:
                low, high, above = high, low, ~above
            found.base[j], found.rarer[j], rows[j] = low, high, np.flatnonzero(above)

        each_in_threads(work, range(p))
        lists = [r for r in rows if r is not None]
        found.slot[[r is not None for r in rows]] = np.arange(len(lists))
        if not lists:
            return found
        ends = np.cumsum([0, *map(len, lists)])
        at = np.concatenate(lists)
        table = csc_array((np.ones(len(at), np.uint8), at, ends), shape=(n, len(lists))).tocsr()
        begins, columns = table.indptr.astype(np.int64), table.indices.astype(np.int32)
        return cls(found.slot, found.base, found.rarer, begins, columns)

    @property
    def count(self) -> int:
        """How many columns there are."""
        return int(self.slot.max(initial=-1)) + 1

    def worth(self, width: int, tests: int) -> bool:
        """Whether counting all of them for ``width`` classes is cheaper than to read those that are tested."""
        n = len(self.begins) - 1
        return self.count * width <= COUNTS * tests and len(self.columns) <= PASSES * tests * n


def _two(column: np.ndarray, most: bool = False) -> bool:
    """Whether there are two values in a column, or at most two."""
    low, high = column.min(), column.max()
    return bool((most or low < high) and ((column == low) | (column == high)).all())
