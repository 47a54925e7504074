"""Rows that fit a tile or two:  z = [((x − centre) · scale) B, lift] is formed once; a sweep is then a few products.

    F(θ) = (1/W) Σ_i s_i ℓ(z_i·θ, y_i) + ½ θᵀMθ,    ∇F = (1/W) zᵀ(s ℓ') + Mθ,    H = (1/W) zᵀ diag(s ℓ'') z + M

What a sweep costs on a table of a few hundred rows is the way to it: tasks, blocks, sums of blocks. Here the
objective sees the cells of its coordinates directly (problems/objective.py says what it is; problems/blocks.py is the
general way). Memory n·q doubles, at most two megabytes; cost O(nq), O(nq²) with the Hessian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.core.losses import Loss
from separatrix.core.numerics import FloatArray
from separatrix.data import rows as grid
from separatrix.data.rows import Rows
from separatrix.problems.bends import add_class_blocks
from separatrix.problems.coordinates import Coordinates

FEW_TILES = 2  # tiles of a sweep that are worked on at once where that spares the way to a sweep


@dataclass(frozen=True)
class Tile:
    """Rows in inner coordinates z (n, q), the intercept's column last; ``basis`` Q (K, K−1) of K classes."""

    z: FloatArray
    y: FloatArray
    weight: FloatArray | None
    total: float
    loss: Loss
    basis: FloatArray | None
    radius: float  # max_i ‖z_i‖ over rows that weigh something

    @classmethod
    def of(
        cls, rows: Rows, c: Coordinates, loss: Loss, basis: FloatArray | None, fit_intercept: bool
    ) -> Tile | None:
        """The tile of all rows, where they fit one; None elsewhere, and for sparse rows.

        Nor where a basis rounds a sample's Gram matrix: it stretches what no row has, but rounding does in z.
        """
        if c.basis is not None and not c.delicate:
            return None
        q = c.size + int(fit_intercept)
        width = max(q, rows.p) * (1 if basis is None else basis.shape[1])
        if rows.n_blocks > 1 or rows.sparse or 8 * rows.n * width > FEW_TILES * grid.TILE_BYTES:
            return None
        block = rows.block(0)
        if block.sparse:  # a partition that was not read yet
            return None
        z = np.empty((rows.n, q))
        c.tile(block.X, out=z[:, : c.size])
        if fit_intercept:
            z[:, -1] = c.lift
        squares = np.einsum("ij,ij->i", z, z)
        if block.weight is not None:
            squares = squares[block.weight > 0]
        radius = math.sqrt(squares.max(initial=0.0))
        return cls(z, block.y, block.weight, rows.total_weight, loss, basis, radius)

    @cached_property
    def _pairs(self) -> FloatArray:
        """Q ⊗ Q (K², (K−1)²): the curvature of every row in the K−1 coordinates, QᵀCQ, is one product."""
        assert self.basis is not None
        return np.kron(self.basis, self.basis)

    def spread(self, scores: FloatArray) -> FloatArray:
        return scores if self.basis is None else scores @ self.basis.T

    def drift(self, change: FloatArray) -> float:
        """The most a row's score changes when θ does so; with K classes the widest range of its changes."""
        moved = self.spread(self.z @ change)
        if self.weight is not None:
            moved = moved[self.weight > 0]
        if moved.ndim == 1:
            return float(np.abs(moved).max(initial=0.0))
        return float(np.ptp(moved, axis=1).max(initial=0.0))

    def sums(self, theta: FloatArray, order: int) -> tuple[float, FloatArray, FloatArray | None]:
        """Mean loss, its gradient, and its Hessian where ``order`` is 2."""
        scores = self.spread(self.z @ theta)
        if order == 2:
            losses, slope, curvature = self.loss.derivatives(scores, self.y)
        else:
            losses, slope = self.loss.value_slope(scores, self.y)
        if self.weight is not None:
            losses = losses * self.weight
            slope = (slope.T * self.weight).T
        value = float(losses.sum()) / self.total
        hessian = None
        if order == 2:
            if self.weight is not None:
                curvature = (curvature.T * self.weight).T
            hessian = self._hessian(curvature)
        slope = slope if self.basis is None else slope @ self.basis
        gradient = self.z.T @ slope
        gradient /= self.total
        return value, gradient, hessian

    def _hessian(self, curvature: FloatArray) -> FloatArray:
        z = self.z
        if self.basis is None:
            root = z * np.sqrt(curvature)[:, None]
            hessian = root.T @ root  # NumPy sees AᵀA and calls syrk
            hessian /= self.total
            return hessian
        (n, q), (k, heads) = z.shape, self.basis.shape
        weights = (curvature.reshape(n, k * k) @ self._pairs).reshape(n, heads, heads)
        weights /= self.total
        hessian = np.zeros((heads * q, heads * q))
        add_class_blocks(hessian, z, weights)
        return hessian
