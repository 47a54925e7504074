"""In which order the perceptron visits rows, and how they lie in memory ([6867] 5.4, [6321]; row M2).

    cyclic      the order of the table, every epoch
    shuffled    uniformly at random; a large table of short rows is dealt in blocks, which memory likes better

Shapes: an order (m,) of row numbers. Cost O(m) an epoch; of many rows the next order is drawn on a second thread.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from separatrix.data.engine import available_cores, current_engine
from separatrix.data.pool import beside
from separatrix.loops.perceptron import dealt, shuffled

AHEAD = 12  # rows between a prefetch and its use
BLOCK = 32  # neighbouring rows that are dealt together in a large table
WINDOW = 512  # rows that are shuffled among each other once dealt: two windows fit the second-level cache
IN_CACHE = 1 << 24  # bytes of a table whose rows may be fetched in any order
DRAWN_AHEAD = 100_000  # rows from which drawing their order is worth a second thread
WIDE_ROW = 2048  # bytes of a row from which its own length hides the jump to it


@dataclass(frozen=True)
class Visits:
    """The order of an epoch (m,), and which row to ask memory for while ``order[at]`` is looked at:
    ``fetch[at + ahead]``."""

    order: np.ndarray
    fetch: np.ndarray
    ahead: int

    @classmethod
    def cyclic(cls, rows: np.ndarray) -> Visits:
        return cls(rows, rows, AHEAD)

    @classmethod
    def shuffled(cls, rows: np.ndarray, seed: int, X: Any) -> Visits:
        """Uniformly at random; a large table of short rows in memory is dealt in blocks (:func:`dealt`)."""
        row_bytes = X.shape[1] * X.itemsize if isinstance(X, np.ndarray) else WIDE_ROW
        if row_bytes >= WIDE_ROW or row_bytes * len(rows) <= IN_CACHE:
            order = shuffled(rows, seed)
            return cls(order, order, AHEAD)
        order, fetch = dealt(rows, seed, BLOCK, WINDOW)
        return cls(order, fetch, WINDOW)


class Orders:
    """epoch → :class:`Visits`, drawn anew from ``key(epoch)``; of many rows, the next is drawn meanwhile."""

    def __init__(self, rows: np.ndarray, X: Any, key: Callable[[int], int]):
        self._rows, self._X, self._key = rows, X, key
        chosen = current_engine()
        self._ahead = len(rows) > DRAWN_AHEAD and chosen.kind != "serial" and available_cores() > 1
        self._pending = lru_cache(maxsize=4)(self._start)

    def __call__(self, epoch: int) -> Visits:
        if not self._ahead:
            return self._draw(epoch)
        now = self._pending(epoch)
        self._pending(epoch + 1)
        return now.result()

    def _draw(self, epoch: int) -> Visits:
        return Visits.shuffled(self._rows, self._key(epoch), self._X)

    def _start(self, epoch: int) -> Future[Visits]:
        return beside(self._draw, epoch)


def row_major(X: Any) -> Any:
    """Cells as the passes read them: float32 or float64, dense by rows or CSR; copied only where they are not.

    >>> row_major(np.ones((2, 3), order="F")).flags.c_contiguous
    True
    """
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(np.asarray(X), dtype=np.dtype(dtype).newbyteorder("="))
    return X if X.dtype == dtype else X.astype(dtype)
