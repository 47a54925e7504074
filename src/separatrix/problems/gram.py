"""Rows of a kernel matrix K_ij = k(x_i, x_j), computed when they are asked for and kept in a cache of bounded size.

Notes [6867] 5.2.2, [6321] "Kernels". Row M8 of the specification. The least recently used rows leave the cache first;
columns that are no longer looked at are dropped from all of it at once.

Shapes: ``cache`` (slots, active columns). Cost O(p) a value that is missing; memory as given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.engine import each_in_threads
from separatrix.loops import gram as kernel_loops
from separatrix.problems.kernels import Kernel, Points, is_sparse, spans

SPARE = 30  # rounds by which a row whose variable is at a bound counts as older
CHEAPER = 200  # columns up to which a kernel value is computed again rather than looked up far away


class KernelRows:
    """Rows of a kernel matrix over the active columns, the last used ones kept in a cache of bounded size.

    ``slots = rows.fetch(index)`` makes sure that the rows are in ``rows.cache[slots]``; ``narrow`` drops columns.
    """

    def __init__(self, kernel: Kernel, points: Points, megabytes: float, single: bool):
        self.kernel, self.points = kernel, points
        self.n = len(points)
        self.dtype: Any = np.float32 if single else np.float64
        whole = self.n * self.n
        size = min(int(megabytes * 1e6 / np.dtype(self.dtype).itemsize), whole)
        self.room = max(size, min(self.n, 4) * self.n)
        self.flat = np.empty(0 if self._given() else self.room, self.dtype)
        self.computed = 0  # kernel values
        self.there = False  # whether the cache is the given matrix itself
        self.reset(np.arange(self.n))

    def _given(self) -> bool:
        """Whether the points are all rows of a matrix that is there: it is read where it lies."""
        index, cells = self.points.index, self.points.cells
        return (
            index is not None
            and not is_sparse(cells)
            and cells.dtype == self.dtype
            and cells.flags.c_contiguous
            and cells.flags.writeable  # loops know two types of arrays, and are built for one
            and len(index) == len(cells) == self.n <= self.room // self.n
            and bool((index == np.arange(self.n)).all())
        )

    def reset(self, active: Index) -> None:
        """Start anew with these columns and an empty cache."""
        self.active = active
        self.columns = self.points if len(active) == self.n else self.points.take(active)
        was_there, self.there = self.there, len(active) == self.n and self._given()
        if self.there:
            self.flat = self.points.cells.reshape(-1)
        elif was_there or len(self.flat) < self.room:
            self.flat = np.empty(self.room, self.dtype)
        self._shape()
        if self.there:  # every row in its own slot
            self.used, self.slot, self.owner = self.n, np.arange(self.n), np.arange(self.n)
        else:
            self.used, self.slot = 0, np.full(self.n, -1, dtype=np.intp)
            self.owner = np.full(self.capacity, -1, dtype=np.intp)
        self.stamp = np.zeros(self.capacity, dtype=np.int64)
        self.clock = 0

    def _shape(self) -> None:
        width = len(self.active)
        self.capacity = min(max(len(self.flat) // max(width, 1), 1), self.n)
        self.cache = self.flat[: self.capacity * width].reshape(self.capacity, width)

    def narrow(self, keep: Index) -> None:
        """Keep the active columns at these positions; rows in the cache stay."""
        if self.there:
            self.flat, self.there = np.take(self.cache, keep, axis=1).reshape(-1), False
        else:
            kernel_loops.narrow(self.flat, self.used, len(self.active), keep)
        self.active = self.active[keep]
        self.columns = self.points.take(self.active)
        self._shape()
        grown = self.capacity - len(self.owner)
        self.owner = np.append(self.owner, np.full(grown, -1, dtype=np.intp))
        self.stamp = np.append(self.stamp, np.zeros(grown, dtype=np.int64))

    def fetch(self, index: Index) -> Index:
        """Slots of the given rows (distinct, at most ``capacity``), computed where they are missing."""
        self.clock += 1
        have = self.slot[index]
        self.stamp[have[have >= 0]] = self.clock
        missing = index[have < 0]
        if len(missing):
            free = min(self.capacity - self.used, len(missing))
            slots = np.arange(self.used, self.used + free)
            self.used += free
            if free < len(missing):
                more = len(missing) - free
                stamps = self.stamp[: self.used].copy()
                stamps[slots] = self.clock
                old = np.argpartition(stamps, more - 1)[:more]
                self.slot[self.owner[old]] = -1
                slots = np.append(slots, old)
            self.kernel.fill(self.points.take(missing), self.columns, self.cache, slots)
            self.computed += len(missing) * len(self.active)
            self.slot[missing], self.owner[slots] = slots, missing
            self.stamp[slots] = self.clock
        return self.slot[index]

    def spare(self, slots: Index) -> None:
        """Rows less likely to be asked for again: they leave the cache before others."""
        self.stamp[slots] -= SPARE

    def between(self, slots: Index, positions: Index) -> FloatArray:
        """The cached rows at the given positions of the active columns, (k, l)."""
        out = np.empty((len(slots), len(positions)), self.dtype)
        points = self.columns
        dense = points.index is None and not callable(self.kernel.kind) and not is_sparse(points.cells)
        if dense and points.cells.shape[1] <= CHEAPER:  # scattered reads cost more than the products
            near = points.take(positions)
            self.kernel.fill(self.points.take(self.owner[slots]), near, out, np.arange(len(slots)))
        else:
            kernel_loops.gather(self.cache, slots, positions, out, np.arange(len(slots)))
        return out

    def add(self, slots: Index, coef: FloatArray, score: FloatArray) -> None:
        """score += Σ_k coef_k row_k over the active columns."""
        width = len(self.active)

        def work(part: slice) -> None:
            kernel_loops.add_rows(self.cache, slots, coef, part.start, min(part.stop, width), score)

        if len(slots) * width < 200_000:
            work(slice(0, width))
        else:
            each_in_threads(work, spans(width, max(2048, -(-width // 4))))
