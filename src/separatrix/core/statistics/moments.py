"""Weight, mean and centred second moment of every column.

    W = Σ w        m = Σ w x / W        second = Σ w (x − m)²

Second moments are centred and merged by Chan's rule, because raw sums lose every digit at 1e8 ± 1. Cost: one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core.numerics import EPS, FloatArray
from separatrix.core.statistic import Statistic
from separatrix.core.statistics.means import (
    TILE_ROWS,
    as_block,
    centred_tiles,
    constant_columns,
    merge_means,
    merge_two_means,
    remaining,
    remaining_mean,
)

TILE_CELLS = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class Moments(Statistic):
    """weight W = Σ w, mean m = Σ w x / W, second = Σ w (x − m)², per column.

    Merge: m = mₐ + δ w_b/W, second = secondₐ + second_b + δ² wₐw_b/W, with δ = m_b − mₐ.
    Shapes: X (n, p), mean, tail and second (p,), weight one number; tail is what rounding took off the mean.
    Cost: one pass over memory, in tiles that stay in cache, outside the GIL. float32, integers and booleans
    are accumulated in float64.

    A NaN or an infinity in a column, whatever the weight of its row, makes that column's mean non-finite. (So
    may values near 1e308, whose sum overflows: look at the column before naming the culprit.) A constant
    column has second exactly 0. `a − b` loses digits in the ratio of what was there to what is left; a second
    moment that drowns in that loss is set to 0.

    >>> m = Moments.of([[1e8 - 1], [1e8 + 1]]) + Moments.of([[1e8]], weight=[2.0])
    >>> m.weight, m.mean, m.variance
    (4.0, array([1.e+08]), array([0.5]))
    """

    weight: float
    mean: FloatArray
    tail: FloatArray
    second: FloatArray

    @classmethod
    def zero(cls, columns: int) -> Self:
        return cls(0.0, np.zeros(columns), np.zeros(columns), np.zeros(columns))

    @classmethod
    def of(cls, X: ArrayLike, weight: ArrayLike | None = None) -> Self:
        X, weight = as_block(X, weight)
        n, p = X.shape
        if n == 0:
            return cls.zero(p)
        rows = min(TILE_ROWS, max(64, TILE_CELLS // max(p, 1)))
        tiles = -(-n // rows)
        W, means, tails, second = np.empty(tiles), np.empty((tiles, p)), np.empty((tiles, p)), np.zeros(p)
        with np.errstate(all="ignore"):
            for t, (w, *fact, centred) in enumerate(centred_tiles(X, None, weight, rows)):
                W[t], means[t], tails[t] = fact
                np.multiply(centred, centred, out=centred)
                second += np.dot(w, centred)
            total, mean, tail, offset = merge_means(W, means, tails)
            second += W @ (offset * offset)
        return cls(total, mean, tail, second)

    @property
    def variance(self) -> FloatArray:
        """second / weight (the population's: no n − 1); NaN when there are no rows."""
        with np.errstate(all="ignore"):
            return np.divide(self.second, self.weight)

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Columns that vary by no more than the rounding of their stored values."""
        return constant_columns(self.weight, self.mean, self.second)

    @property
    def scale(self) -> FloatArray:
        """√variance, and 1 for constant columns, so that it is safe to divide by."""
        with np.errstate(all="ignore"):
            return np.where(self.constant, 1.0, np.sqrt(self.variance))

    def __add__(self, other: Self) -> Self:
        self._check_same_shape(other)
        a, b = (self, other) if self.weight >= other.weight else (other, self)
        total, mean, tail, delta = merge_two_means(a, b)
        with np.errstate(all="ignore"):
            share = a.weight * (b.weight / total) if total > 0 else 0.0
            delta *= delta
            delta *= share
            delta += a.second
            delta += b.second
        return type(self)(total, mean, tail, delta)

    def __sub__(self, other: Self) -> Self:
        self._check_same_shape(other)
        rest = float(remaining(self.weight, other.weight))
        if rest == 0:
            return self.zero(len(self.mean))
        mean, tail, delta = remaining_mean(
            (self.weight, self.mean, self.tail), (other.weight, other.mean, other.tail), rest
        )
        with np.errstate(all="ignore"):
            second = self.second - other.second - delta * (delta * (rest * (other.weight / self.weight)))
            lost = second <= 16 * EPS * self.second
            return type(self)(rest, mean, tail, np.where(lost, 0.0, second))
