"""Wide tables that are mostly zeros:  their cells are found in one pass, and what follows costs as much as they are.

    CSC vectors of X (n, p), n < p, as float64        moments of columns, XXᵀ, Xw, Xᵀa

Products of words, squares of pixels, indicators of levels: stored densely, most of their cells are zero. A table that
is not like that is given up after an eighth of it. Which it is hangs on the cells alone, not on the order in memory.
Shapes: data and rows (cells,), starts (p + 1,). Cost O(np) once, memory 12 bytes a cell that is not zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments

LEAST_CELLS = 1 << 16  # of a table from where compiled loops are worth loading
MOST_ROWS = 3000
SHARE = 8  # one cell of so many may be other than zero
SPARE = 16  # places beyond those


@dataclass(frozen=True, eq=False)
class FewCells:
    """The cells of X (n, p) that are not zero, column by column.

    >>> few = FewCells(np.array([2.0, 3.0]), np.array([1, 0], np.int32), np.array([0, 1, 1, 2], np.int32), 2)
    >>> few.gram().tolist(), few.scores(np.ones(3)).tolist(), few.back(np.ones(2)).tolist()
    ([[9.0, 0.0], [0.0, 4.0]], [3.0, 2.0], [2.0, 0.0, 3.0])
    """

    data: FloatArray
    rows: np.ndarray
    starts: np.ndarray
    n: int

    @classmethod
    def of(cls, X: np.ndarray) -> FewCells | None:
        """None where the table is not wide, too small to matter, or has too many such cells."""
        n, p = X.shape
        whole = X.dtype.char in "fd" and X.flags.forc
        if not whole or not n < p or n > MOST_ROWS or not LEAST_CELLS <= X.size < np.iinfo(np.int32).max:
            return None
        from separatrix.loops.wide import cells_not_zero

        lines = X if X.flags.c_contiguous else X.T
        room = X.size // SHARE
        data, places = np.empty(room + SPARE), np.empty(room + SPARE, dtype=np.int32)
        starts = np.empty(len(lines) + 1, dtype=np.int32)
        count = cells_not_zero(lines, data, places, starts)
        if not 0 <= count <= room:
            return None
        data, places = data[:count].copy(), places[:count].copy()
        if lines is X:
            from scipy.sparse import csr_array

            turned = csr_array((data, places, starts), shape=(n, p)).tocsc()
            data, places, starts = turned.data, turned.indices, turned.indptr
        return cls(data, places, starts, n)

    @cached_property
    def full(self) -> np.ndarray:
        """The columns without a zero: those may lie far from it."""
        return np.flatnonzero(np.diff(self.starts) == self.n)

    def moments(self, weight: FloatArray | None) -> Moments:
        """Weighted mean and centred second moment of every column."""
        from separatrix.loops.wide import stored_moments

        p = len(self.starts) - 1
        mean, second = np.empty(p), np.empty(p)
        weight = np.ones(self.n) if weight is None else np.asarray(weight, dtype=np.float64)
        stored_moments(self.data, self.rows, self.starts, weight, mean, second)
        return Moments(float(weight.sum()), mean, np.zeros(p), second)

    def gram(self) -> FloatArray:
        """XXᵀ: (n, n)."""
        from separatrix.loops.wide import row_products

        products = np.zeros((self.n, self.n))
        row_products(self.data, self.rows, self.starts, products)
        return products + np.tril(products, -1).T

    def scores(self, w: FloatArray) -> FloatArray:
        """Xw of w (p,) or (p, K)."""
        from separatrix.loops.sparse import back_1, back_k

        out = np.zeros((self.n, *w.shape[1:]))
        loop = back_1 if w.ndim == 1 else back_k
        loop(self.data, self.rows, self.starts, np.array(w, dtype=np.float64, order="C"), out)
        return out

    def back(self, a: FloatArray) -> FloatArray:
        """Xᵀa of a (n,) or (n, K)."""
        from separatrix.loops.sparse import scores_1, scores_k

        out = np.empty((len(self.starts) - 1, *a.shape[1:]))
        a = np.array(a, dtype=np.float64, order="C")  # loops are built for what may be written to
        if a.ndim == 1:
            scores_1(self.data, self.rows, self.starts, a, 0.0, out)
        else:
            scores_k(self.data, self.rows, self.starts, a, np.zeros(a.shape[1]), out)
        return out
