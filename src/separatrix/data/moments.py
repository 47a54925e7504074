"""Moments of every column by class over a block: compiled where the block is large, NumPy where it is small.

    W_k = Σ_i [y_i = k] w_i,    Σ_i [y_i = k] w_i (x_i − s_k),    Σ_i [y_i = k] w_i (x_i − s_k)²

s_k is a row of class k; where that one was an outlier, so that the squares would cancel, the class's mean in a second
pass. Shapes: (K,), (K, p), (K, p). Cost: one pass over the cells, in whatever order and type of number they lie.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupMoments
from separatrix.core.statistics.members import Members
from separatrix.data.rows import Block, order_of, tiles_of

COMPILED_FROM = 1 << 16  # cells from which compiled loops are worth loading
COLUMN_TILE = 1 << 15  # cells of a tile that is laid out column by column: it stays in cache


def worth_compiling(cells: np.ndarray) -> bool:
    """Whether dense cells should go through the compiled loops of loops/dense.py."""
    return cells.size >= COMPILED_FROM


def class_moments(block: Block, k: int) -> GroupMoments | None:
    """The moments of a dense block's rows by class; None where a cell is missing or not finite."""
    members = block.members(k, slice(None))
    if worth_compiling(block.X):
        return _compiled_moments(block.X, members)
    p = block.X.shape[1]
    first, second = np.zeros((k, p)), np.zeros((k, p))
    buffer: FloatArray | None = None
    with np.errstate(all="ignore"):
        for part in block.tiles(p):
            mine = block.members(k, part)
            cells = block.X[part].astype(np.float64, copy=False)
            buffer = np.empty_like(cells, order="C") if buffer is None else buffer
            first += mine.sum(cells)
            second += mine.sum(np.multiply(cells, cells, out=buffer[: len(cells)]))
    return GroupMoments.of_sums(members.count, first, second)


def _compiled_moments(X: np.ndarray, members: Members) -> GroupMoments | None:
    from separatrix.loops.dense import class_power_sums

    k, p = members.k, X.shape[1]
    assert members.codes is not None
    weight = np.empty(0) if members.weight is None else members.weight
    shift, seen = np.zeros((k, p)), np.zeros(k, dtype=bool)
    for again in (False, True):
        first, second = np.zeros((k, p)), np.zeros((k, p))
        for part, cells in row_major(X):
            mine = weight[part] if len(weight) else weight
            class_power_sums(cells, members.codes[part], mine, shift, seen, first, second)
        moments = GroupMoments.of_sums(members.count, first, second, shift)
        if moments is not None or again or not np.isfinite(second).all():
            return moments
        with np.errstate(all="ignore"):
            count = members.count[:, None]
            shift = np.where(count > 0, shift + first / count, 0.0)
    return None


def row_major(X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """X row by row in floats: itself where it is so, else copied tile by tile."""
    if X.dtype.char in "fd" and X.flags.c_contiguous and X.flags.writeable:
        yield slice(None), X
        return
    buffer: FloatArray | None = None
    if order_of(X) == "F":  # column by column into the cache first
        for part, columns in by_columns(X):
            buffer = np.empty(columns.shape[::-1]) if buffer is None else buffer
            cells = buffer[: columns.shape[1]]
            np.copyto(cells, columns.T)
            yield part, cells
        return
    for part in tiles_of(*X.shape):
        buffer = np.empty((part.stop - part.start, X.shape[1])) if buffer is None else buffer
        cells = buffer[: part.stop - part.start]
        np.copyto(cells, X[part])
        yield part, cells


def by_columns(X: np.ndarray) -> Iterator[tuple[slice, FloatArray]]:
    """Tiles of rows laid out column by column (p, m) in float64, for loops over one column's cells at a time."""
    n, p = X.shape
    size = min(n, max(64, COLUMN_TILE // p))
    buffer = np.empty((p, size))
    for a in range(0, n, size):
        part = slice(a, min(a + size, n))
        cells = buffer if part.stop - a == size else np.empty((p, part.stop - a))
        np.copyto(cells, X[part].T)
        yield part, cells
