"""The coordinates of the exact answer:  z = ((x − centre) · scale) B, 1,  along the singular directions of some rows.

    X_S = U Σ Vᵀ on the rows S, standardised;   B = V Σ⁻¹,   so that these rows have unit spread in every direction

and back:  w = scale · (B t),  b = b' − w·centre. A column's unit, origin or repetition changes nothing, and a set of
rows that nearly coincide is looked at in its own units. Cost: O(mp²) for m rows, O(m²p) where p > m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.core.statistics import Moments

FLAT = 1e-9  # a margin this small against ‖z‖‖V‖ may be zero
TILE_CELLS = 1 << 18


@dataclass(frozen=True)
class CodedTable:
    """Rows in memory, X dense or CSR, and their class codes."""

    X: Any
    y: np.ndarray
    n_classes: int
    fit_intercept: bool

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def p(self) -> int:
        return int(self.X.shape[1])

    def cells(self, pick: np.ndarray | slice) -> FloatArray:
        cells = self.X[pick]
        return np.asarray(cells if isinstance(cells, np.ndarray) else cells.toarray(), dtype=np.float64)

    def slices(self) -> list[slice]:
        size = max(64, TILE_CELLS // max(self.p, 1))
        return [slice(a, min(a + size, self.n)) for a in range(0, self.n, size)]

    def sorted(self, pick: np.ndarray) -> np.ndarray:
        """The picked rows, class by class."""
        return pick[np.argsort(self.y[pick], kind="stable")]


@dataclass(frozen=True)
class Axes:
    """z = ((x − centre) · scale) B, then a one for the intercept; B = V Σ⁻¹ along the rows' singular directions."""

    centre: FloatArray
    scale: FloatArray
    basis: FloatArray
    back: FloatArray  # Σ Vᵀ: B's inverse on the span of the rows
    fit_intercept: bool

    @classmethod
    def of(cls, cells: FloatArray, fit_intercept: bool) -> Axes:
        """Axes of the given rows; directions that vanish to the rounding of the cells are left out."""
        m, p = cells.shape
        moments = Moments.of(cells)
        mean, variance = moments.mean, moments.variance
        live = ~moments.constant if fit_intercept else variance + mean**2 > 0
        spread = np.sqrt(variance if fit_intercept else variance + mean**2)
        scale = np.divide(1.0, spread, out=np.zeros(p), where=live)
        centre = mean if fit_intercept else np.zeros(p)
        z = (cells - centre) * scale
        values, vectors = _singular(z)
        # a cell is stored to EPS·|mean|: a direction thinner than that is made of rounding
        noise = 8.0 * EPS * max(float(p), float(np.max(np.abs(mean) * scale, initial=0.0)))
        keep = values > noise * max(float(values.max(initial=0.0)), 1e-300)
        values, vectors = values[keep] / np.sqrt(m), vectors[keep]
        return cls(centre, scale, vectors.T / values, vectors * values[:, None], fit_intercept)

    @property
    def q(self) -> int:
        return int(self.basis.shape[1]) + int(self.fit_intercept)

    def rows(self, cells: FloatArray) -> FloatArray:
        z = np.ones((len(cells), self.q))
        z[:, : self.basis.shape[1]] = ((cells - self.centre) * self.scale) @ self.basis
        return z

    def clear(self, cells: FloatArray, y: np.ndarray, v: FloatArray) -> np.ndarray:
        """Rows all of whose margins exceed FLAT ‖z‖‖V‖ for sure, without their z."""
        t = (cells - self.centre) * self.scale
        inner = v[:, : self.basis.shape[1]]
        scores = t @ (self.basis @ inner.T) + (v[:, -1] if self.fit_intercept else 0.0)
        margins = scores[np.arange(len(y)), y][:, None] - scores
        margins[np.arange(len(y)), y] = np.inf
        stretch = 1.0 / float(np.linalg.norm(self.back, axis=1).min(initial=np.inf))  # the length of B
        length = 1.0 + stretch * np.linalg.norm(t, axis=1)
        return np.asarray(margins.min(axis=1) > FLAT * float(np.linalg.norm(v)) * length)

    def to_user(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(K, p) and (K,) in the user's units of a direction (K, q)."""
        w = v[:, : self.basis.shape[1]] @ self.basis.T * self.scale
        b = v[:, -1] - w @ self.centre if self.fit_intercept else np.zeros(len(v))
        return w, b

    def from_user(self, w: FloatArray, b: FloatArray) -> FloatArray:
        """The direction (K, q) of weights in the user's units, as far as these rows can see it."""
        t = np.divide(w, self.scale, out=np.zeros_like(w), where=self.scale > 0) @ self.back.T
        return np.column_stack([t, b + w @ self.centre]) if self.fit_intercept else t


def _singular(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Singular values of z (m, p) and its right vectors, in rows."""
    m, p = z.shape
    if m > 2 * p:
        squares, vectors = np.linalg.eigh(z.T @ z)
        if p and squares[0] > 1e-8 * squares[-1]:  # squared, the condition is still held: half the time
            return np.sqrt(squares), vectors.T
    if m > p:
        _, values, vectors = np.linalg.svd(upper(z), full_matrices=False)
        return values, vectors
    turn, r = np.linalg.qr(z.T)  # the span of the rows first: the rest is m by m
    _, values, vectors = np.linalg.svd(r.T, full_matrices=False)
    return values, vectors @ turn.T


def upper(z: FloatArray) -> FloatArray:
    """R of z = QR."""
    r: Any = np.linalg.qr(z, mode="r")
    return np.asarray(r)
