"""Sums of x and x² by class over a block: compiled where the block is large, NumPy where it is small.

    W_k = Σ_i [y_i = k] w_i,    Σ_i [y_i = k] w_i x_i,    Σ_i [y_i = k] w_i x_i²

Shapes: (K,), (K, p), (K, p). Cost: one pass over the cells.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.rows import Block

COMPILED_FROM = 1 << 17  # cells from which compiled loops are worth loading


def worth_compiling(cells: np.ndarray) -> bool:
    """Whether a dense tile should go through the compiled loops of loops/dense.py."""
    return cells.size >= COMPILED_FROM and cells.dtype.kind == "f" and bool(cells.flags.c_contiguous)


def class_power_sums(block: Block, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(W, Σ w x, Σ w x²) of each class; a NaN or an infinity in a cell shows in the sums."""
    p = block.X.shape[1]
    count, first, second = np.zeros(k), np.zeros((k, p)), np.zeros((k, p))
    if worth_compiling(block.X):
        from separatrix.loops import dense

        weight = np.empty(0) if block.weight is None else block.weight
        dense.class_power_sums(block.X, block.y, weight, first, second)
        return block.members(k, slice(None)).count, first, second
    buffer: FloatArray | None = None
    with np.errstate(all="ignore"):
        for part in block.tiles(p):
            members = block.members(k, part)
            cells = block.X[part].astype(np.float64, copy=False)
            buffer = np.empty_like(cells, order="C") if buffer is None else buffer
            count += members.count
            first += members.sum(cells)
            second += members.sum(np.multiply(cells, cells, out=buffer[: len(cells)]))
    return count, first, second
