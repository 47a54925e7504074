"""Sums of curvature over the rows of a block:  Σ_i s_i ℓ''(η_i) ⊗ z_i z_iᵀ,  z = (cells, 1), tile after tile.

    one score a row    A Aᵀ, A the rows times √(s ℓ'')
    pairs of classes   Σ_{a<b} p_a p_b (e_a − e_b)(e_a − e_b)ᵀ: a product a pair, of rows times √(s p_a p_b)
    classes            Σ_k p_k e_k e_kᵀ less p pᵀ: a product a class, of rows times √(s p_k), and one of all at once

Both of these are diag p − p pᵀ.
The second has half the products of the third where classes are few, and nothing in it cancels, however sure the rows
are. Class matrices are turned into the K−1 coordinates of Q once a block. Cost O(nq²) a product; memory two tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from separatrix.core.losses import SURE, Loss, Multinomial
from separatrix.core.numerics import FloatArray
from separatrix.data.rows import order_of

# Times the rows' own width that a tile of K classes' products may be, so that sums of products are few.
WIDE_TILES = 4
# Classes up to which a product a pair of them is quicker than one a class and one of all; of wide rows some more.
FEW_CLASSES, SOME_CLASSES, WIDE = 6, 10, 32
FORMED = 24, 64  # products of BLAS that a number takes which is formed for pairs, and for classes
NARROW = 10  # cells of a row up to which a loop is quicker than BLAS

Scores = Callable[[], FloatArray]
Derivatives = tuple[FloatArray, FloatArray, FloatArray]


class Bends(Protocol):
    """The sum; ``tiles`` times a row's width is what a tile may be."""

    tiles: int

    def derivatives(self, loss: Loss, scores: Scores, y: np.ndarray) -> Derivatives:
        """Losses, slopes, and what :meth:`add` asks for; ``scores`` makes scores, as often as they are needed."""

    def room(self, cells: FloatArray) -> FloatArray:
        """Room for the rows of a tile, to be written on between its derivatives and :meth:`add`."""

    def add(self, cells: FloatArray, bend: FloatArray, weight: FloatArray | None) -> None:
        """Add a tile's rows."""

    def total(self) -> FloatArray:
        """The sum so far."""


def bends_of(width: int, one: bool, basis: FloatArray | None) -> Bends:
    """The quickest way for rows of ``width`` cells, with a column of ones or without, and a basis of K classes.

    >>> type(bends_of(84, True, np.ones((3, 2)))).__name__
    'OfPairs'
    """
    if basis is None:
        return OfScores(width, one)
    return (OfPairs if _by_pairs(width, len(basis)) else OfClasses)(width, one, basis)


def _by_pairs(width: int, k: int) -> bool:
    return k <= FEW_CLASSES or (k <= SOME_CLASSES and width >= WIDE)


def products(q: int, k: int | None) -> int:
    """How many products a row costs, of q cells and K classes (None: one score), counting what is formed for them."""
    if k is None:
        return q * q
    if _by_pairs(q, k):
        return k * (k - 1) // 2 * q * (q + FORMED[0])
    return ((k - 1) ** 2 + k) * q * q + (2 * k - 1) * q * FORMED[1]


class OfScores:
    """Of one score a row."""

    tiles = 1

    def __init__(self, width: int, one: bool):
        self.width, self.q = width, width + int(one)
        self.sum, self.product = np.zeros((self.q, self.q)), np.empty((self.q, self.q))
        self.buffer: FloatArray | None = None

    def room(self, cells: FloatArray) -> FloatArray:
        """Room for the rows of a tile; the first tile is the longest."""
        if self.buffer is None:
            self.buffer = np.empty((len(cells), self.q), order=order_of(cells))
        return self.buffer

    def derivatives(self, loss: Loss, scores: Scores, y: np.ndarray) -> Derivatives:
        """As the loss says."""
        return loss.derivatives(scores(), y)

    def add(self, cells: FloatArray, bend: FloatArray, weight: FloatArray | None) -> None:
        """``bend`` is written on."""
        if weight is not None:
            bend *= weight
        if self.q <= NARROW and add_narrow(self.sum, cells, bend):
            return
        z = self.room(cells)[: len(cells)]
        np.sqrt(bend, out=bend)
        np.multiply(cells, bend[:, None], out=z[:, : self.width])
        if self.q > self.width:
            z[:, -1] = bend
        self.sum += np.dot(z.T, z, out=self.product)  # NumPy sees AᵀA and calls syrk, without the GIL

    def total(self) -> FloatArray:
        """(q, q)."""
        return self.sum


def add_narrow(total: FloatArray, cells: FloatArray, bend: FloatArray) -> bool:
    """Add Σ_i bend_i z_i z_iᵀ by a compiled loop, where the cells have no gaps in one direction."""
    from separatrix.loops.dense import narrow_squares

    (n, p), (row, column) = cells.shape, (stride // 8 for stride in cells.strides)
    if min(n, p) < 2 or min(row, column) != 1:
        return False
    flat = np.lib.stride_tricks.as_strided(cells, ((n - 1) * row + (p - 1) * column + 1,), (8,))
    narrow_squares(flat, n, p, row, column, bend, total)
    return True


class OfPairs(OfScores):
    """Of few classes."""

    def __init__(self, width: int, one: bool, basis: FloatArray):
        super().__init__(width, one)
        self.basis = basis
        self.first, self.second = np.triu_indices(len(basis), 1)
        self.sums = np.zeros((len(self.first), self.q, self.q))

    def derivatives(self, loss: Loss, scores: Scores, y: np.ndarray) -> Derivatives:
        """Probabilities (n, K) last."""
        return class_derivatives(loss, scores, y, 0.0)

    def add(self, cells: FloatArray, bend: FloatArray, weight: FloatArray | None) -> None:
        """``bend`` holds probabilities."""
        z = self.room(cells)[: len(cells)]
        roots = np.sqrt(bend.T, order="C")
        both = np.empty(len(cells))
        heavy = None if weight is None else np.sqrt(weight)
        for own, a, b in zip(self.sums, self.first, self.second):
            np.multiply(roots[a], roots[b], out=both)
            if heavy is not None:
                both *= heavy
            np.multiply(cells, both[:, None], out=z[:, : self.width])
            if self.q > self.width:
                z[:, -1] = both
            own += np.dot(z.T, z, out=self.product)

    def total(self) -> FloatArray:
        """((K−1)q, (K−1)q)."""
        apart = self.basis[self.first] - self.basis[self.second]
        return turned(self.sums, apart[:, :, None] * apart[:, None, :])


class OfClasses(OfScores):
    """Of many classes."""

    def __init__(self, width: int, one: bool, basis: FloatArray):
        super().__init__(width, one)
        self.basis, self.tiles = basis, min(basis.shape[1], WIDE_TILES)
        self.by_class = np.zeros((len(basis), self.q, self.q))
        size = basis.shape[1] * self.q
        self.rest = np.zeros((size, size))

    def derivatives(self, loss: Loss, scores: Scores, y: np.ndarray) -> Derivatives:
        """Probabilities (n, K) last, or curvatures (n, K, K) of rows that are sure."""
        return class_derivatives(loss, scores, y)

    def add(self, cells: FloatArray, bend: FloatArray, weight: FloatArray | None) -> None:
        """``bend`` is written on."""
        z = self.room(cells)[: len(cells)]
        z[:, : self.width] = cells
        if self.q > self.width:
            z[:, -1] = 1.0
        if weight is not None:
            bend *= weight.reshape((-1,) + (1,) * (bend.ndim - 1))
        if bend.ndim == 3:
            add_class_blocks(self.rest, z, self.basis.T @ bend @ self.basis)
        else:
            self._add_probabilities(z, bend, weight)

    def _add_probabilities(self, z: FloatArray, p: FloatArray, weight: FloatArray | None) -> None:
        """``p`` (n, K) holds s p: the weights are in it once."""
        (n, q), heads = z.shape, self.basis.shape[1]
        root = np.sqrt(p)
        rows = np.empty_like(z)
        for own, column in zip(self.by_class, root.T):
            np.multiply(z, column[:, None], out=rows)
            own += np.dot(rows.T, rows)  # AᵀA: syrk
        scores = p @ self.basis
        if weight is not None:
            scores *= np.sqrt(np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0))[:, None]
        both = (scores[:, :, None] * z[:, None, :]).reshape(n, heads * q)
        self.rest -= np.dot(both.T, both)

    def total(self) -> FloatArray:
        """((K−1)q, (K−1)q)."""
        self.rest += turned(self.by_class, self.basis[:, :, None] * self.basis[:, None, :])
        return self.rest


def turned(blocks: FloatArray, turns: FloatArray) -> FloatArray:
    """Σ_j turns_j ⊗ blocks_j of (J, q, q) and (J, h, h): (hq, hq)."""
    (_, q, _), (_, h, _) = blocks.shape, turns.shape
    flat = turns.reshape(len(turns), h * h).T @ blocks.reshape(len(blocks), q * q)
    return flat.reshape(h, h, q, q).transpose(0, 2, 1, 3).reshape(h * q, h * q)


def value_slope(loss: Loss, scores: FloatArray, y: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """(losses, slopes) of the scores, which may be written on."""
    if type(loss) is not Multinomial:
        return loss.value_slope(scores, y)
    return _softmax(scores, y, np.empty(0))


def class_derivatives(loss: Loss, scores: Scores, y: np.ndarray, sure: float = SURE) -> Derivatives:
    """As the loss says of K scores a row; ``scores`` makes them, as often as they are needed.

    ``sure``: the mean chance of error below which probabilities are not enough.
    """
    eta = scores()
    if type(loss) is not Multinomial or not len(eta):
        return loss.class_derivatives(eta, y)
    chance = np.empty(len(eta))
    losses, slope = _softmax(eta, y, chance)
    p = slope.copy()
    p[np.arange(len(p)), y] = chance
    if sure and 1.0 - float(p.max(axis=1).mean()) < sure:
        return loss.derivatives(scores(), y)
    return losses, slope, p


def _softmax(scores: FloatArray, y: np.ndarray, chance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Multinomial losses and slopes by compiled loops, the slopes in the place of the scores."""
    from separatrix.loops import softmax

    own = np.empty(len(scores))
    softmax.less_the_largest(scores, y, own)
    np.exp(scores, out=scores)
    softmax.slopes(scores, y, own, chance)
    return own, scores


def add_class_blocks(hessian: FloatArray, z: FloatArray, weights: FloatArray) -> None:
    """hessian[a, b] += Σ_i weights_iab z_i z_iᵀ."""
    q, blocks = z.shape[1], weights.shape[1]
    for a in range(blocks):
        left = slice(a * q, a * q + q)
        for b in range(a + 1):
            right = slice(b * q, b * q + q)
            part = (z * weights[:, a, b, None]).T @ z
            hessian[left, right] += part
            if a > b:
                hessian[right, left] += part.T
