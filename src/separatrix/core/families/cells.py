"""Arithmetic of parameters in cells: leading axes broadcast, the last one or two belong to a row.

Shapes: (…) for a cell, (…, d) for a row, (…, d, d) for a matrix of it. Cost: the number of cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.numerics import FloatArray


def real(x: ArrayLike) -> FloatArray:
    # float32 too: logarithms of nearly equal numbers are subtracted later
    return np.asarray(x, dtype=np.float64)


def leading(weight: ArrayLike, ndim: int) -> FloatArray:
    """weight with axes of length 1 behind its own, up to ndim."""
    w = real(weight)
    return w.reshape(w.shape + (1,) * (ndim - w.ndim))


def blend(w: FloatArray, m: FloatArray, w0: FloatArray, m0: FloatArray) -> FloatArray:
    """(w m + w₀ m₀)/(w + w₀), from the difference, so that 1e8 ± 1 keeps its digits."""
    return m + (m0 - m) * (w0 / (w + w0))


def pooled(weight: ArrayLike, value: FloatArray) -> FloatArray:
    """Σ w value / Σ w over axis 0, the same for every entry of that axis; weight 0 is absence."""
    w = np.broadcast_to(leading(weight, value.ndim), value.shape)
    mean = np.where(w > 0, w * value, 0.0).sum(axis=0, keepdims=True) / w.sum(axis=0, keepdims=True)
    return np.broadcast_to(mean, value.shape).copy()


def pair(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.stack(np.broadcast_arrays(a, b), axis=-1)


def matrix(*rows: tuple[FloatArray, ...]) -> FloatArray:
    """Entries (…) given by rows, as (…, d, d)."""
    cells = np.stack(np.broadcast_arrays(*(cell for row in rows for cell in row)), axis=-1)
    return cells.reshape(*cells.shape[:-1], len(rows), len(rows))


def outer(x: FloatArray) -> FloatArray:
    return x[..., :, None] * x[..., None, :]


def times(M: FloatArray, x: FloatArray) -> FloatArray:
    return np.einsum("...ij,...j->...i", M, x)
