"""Means that lose no digits when they merge, and the weights beside them.

    m = mₐ + δ w_b/W,   δ = m_b − mₐ       (Chan, Golub & LeVeque), a mean kept as mean + tail

At 1e8 ± 1 the rounding of a mean is 1e-8 of the spread: the tail keeps what float64 would drop (Knuth's two-sum).
Shapes: X (n, p), weight (n,), mean and tail (p,). Cost: one pass in tiles that stay in cache; a merge O(p).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core.numerics import EPS, FloatArray

if TYPE_CHECKING:
    from separatrix.core.statistics.moments import Moments

TILE_ROWS = 2048

Centre = tuple[float, FloatArray, FloatArray]  # weight, mean, tail
Merged = tuple[float, FloatArray, FloatArray, FloatArray]  # weight, mean, tail, and offsets from it


def as_block(X: ArrayLike, weight: ArrayLike | None = None) -> tuple[np.ndarray, FloatArray]:
    """X as an (n, p) array in its own numeric dtype, weight as an (n,) float64 array (ones when None)."""
    X = np.asarray(X)
    if X.dtype.kind not in "biuf":
        X = X.astype(np.float64)
    if X.ndim != 2:
        raise ValueError(f"a block of rows has 2 dimensions (rows, columns), this one has {X.ndim}")
    if weight is None:
        return X, np.ones(len(X))
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape != X.shape[:1]:
        raise ValueError(f"one weight per row: {len(X)} rows, weight of shape {weight.shape}")
    return X, weight


def centred_tiles(
    X: np.ndarray, Y: np.ndarray | None, weight: FloatArray, rows: int
) -> Iterator[tuple[FloatArray, float, FloatArray, FloatArray, FloatArray]]:
    """Yield (weights, W, mean, tail, z − mean − tail) of [X | Y] for each tile; the last array is reused.

    Every tile is shifted by its heaviest row before it is averaged. That row lies within √rows standard
    deviations of the mean, so nothing cancels at 1e8 ± 1, and a constant column comes out exactly zero.
    A tile of no weight has mean 0, or NaN where a value is not finite: those are seen whatever their weight.
    """
    n, p = X.shape
    q = p if Y is None else p + Y.shape[1]
    order = "C" if abs(X.strides[0]) >= abs(X.strides[1]) else "F"
    buffer = np.empty((min(rows, n), q), order=order)  # type: ignore[call-overload]
    for start in range(0, n, rows):
        w = weight[start : start + rows]
        tile = X[start : start + rows]
        centred = buffer[: len(w)]
        heaviest = int(w.argmax())
        shift = np.empty(q)
        shift[:p] = tile[heaviest]
        with np.errstate(all="ignore"):
            np.subtract(tile, shift[:p], out=centred[:, :p])
            if Y is not None:
                shift[p:] = Y[start + heaviest]
                np.subtract(Y[start : start + rows], shift[p:], out=centred[:, p:])
            W = float(w.sum())
            tail = np.dot(w, centred)  # measured: vector @ matrix keeps the GIL, np.dot lets it go
            tail = tail / W if W > 0 else tail * 0
            if not w.all():  # BLAS may skip a zero weight, and a NaN with it
                tail += 0 * np.dot(np.ones(len(w)), centred)
            centred -= tail
        yield w, W, shift if W > 0 else tail, tail, centred


def merge_means(
    W: FloatArray, means: FloatArray, tails: FloatArray
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Total weight, mean, its tail, and each row's offset from it: Chan's merge of many means at once.

    A mean is kept as mean + tail, the tail being what float64 rounds off, because at 1e8 ± 1 the rounding of
    a mean is 1e-8 of the spread and would come back in the offsets.
    """
    total = float(W.sum())
    heaviest = int(W.argmax())
    with np.errstate(all="ignore"):
        share = W / total if total > 0 else np.zeros_like(W)
        delta = (means - means[heaviest]) + (tails - tails[heaviest])
        shift = (share[:, None] * delta).sum(axis=0)  # not by BLAS, which may skip 0 · NaN
        mean, tail = two_sum(means[heaviest], tails[heaviest] + shift)
        return total, mean, tail, delta - shift


def merge_two_means(a: Moments, b: Moments) -> Merged:
    """Total weight, mean, its tail, and how far b's mean lies from a's: `merge_means` of two, a the heavier.

    Written for the columns of a vocabulary: few passes, few temporaries.
    """
    total = a.weight + b.weight
    with np.errstate(all="ignore"):
        delta = b.mean - a.mean
        delta += b.tail - a.tail
        shift = delta * (b.weight / total if total > 0 else 0.0)
        shift += a.tail
        mean, tail = two_sum(a.mean, shift)
        return total, mean, tail, delta


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a + b as rounded, and what the rounding left out (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def remaining(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """a − b of weights, exactly zero where only rounding is left; ValueError where b is more than a."""
    rest = np.subtract(a, b)
    if np.any(rest < -16 * EPS * np.asarray(a)):
        raise ValueError("cannot remove rows that are not there: more weight is taken out than was put in")
    return np.where(rest > 16 * EPS * np.asarray(a), rest, 0.0)


def remaining_mean(a: Centre, b: Centre, rest: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and tail of what is left when b (weight, mean, tail) leaves a, and b's offset from them."""
    with np.errstate(all="ignore"):
        delta = (a[1] - b[1]) + (a[2] - b[2])
        shift = delta * (b[0] / rest)
        mean, tail = two_sum(a[1], a[2] + shift)
        return mean, tail, -(delta + shift)


def rounding(columns: int) -> float:
    """Relative error to expect in the scatter of that many unit columns."""
    return 16 * math.sqrt(columns) * EPS


def constant_columns(weight: float, mean: FloatArray, second: FloatArray) -> NDArray[np.bool_]:
    """Columns that vary by no more than the rounding of their stored values."""
    with np.errstate(all="ignore"):
        return second <= weight * (4 * EPS * mean) ** 2
