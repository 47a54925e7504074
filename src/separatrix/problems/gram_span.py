"""The span of wide rows by their Gram matrix:  Z = X − centre,  G = ZZᵀ = (D L)(D L)ᵀ,  w = Qt with Q = Zᵀ D⁻¹L⁻ᵀ.

Rows D L of as many numbers as there are rows have the lengths and angles of Z, so a solver sees the same problem in
them; Q, which `row_span` forms by a QR factor, is never formed: w = Zᵀa is one pass over the table. D are the rows'
lengths, L a Cholesky factor with pivots of what is left, so that each row counts in its own size. Rows that say no
more than others to rounding are told by those.

A Gram matrix squares the condition, so this serves where a penalty is not small beside it: how far rounding moves
scores is known for each answer (`RowBasis.rounding`). Shapes: Z (n, p), n < p, L (n, r). Cost O(n²p), memory O(n²)
and a tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.few_cells import FewCells
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.objective import Objective

TILE_CELLS = 1 << 17  # of a tile of centred columns: it stays in cache
NARROW = 256  # columns of a tile, at least: products of fewer are slow
STEEP = 1e8  # Σ‖z‖² over the penalty from where squared conditions are not risked
FAR = 8.0  # squared distance from zero over that from the centre beyond which cells are centred first
SAME = 16 * EPS  # what is left of a row of length one that others tell


@dataclass(frozen=True, eq=False)
class RowBasis:
    """Q = Zᵀ D⁻¹L⁻ᵀ (p, r) by what it does: ``Q @ t``; of few columns, whatever else is asked of an array.

    ``factor`` is L (r, r) of the rows ``picked``, ``lengths`` (n,) is D.
    """

    table: np.ndarray
    centre: FloatArray
    picked: np.ndarray
    factor: FloatArray
    lengths: FloatArray
    few: FewCells | None = None  # of the table, where most of its cells are zero

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.centre), len(self.picked)

    @property
    def T(self) -> np.ndarray:
        return np.asarray(self).T

    def shares(self, t: FloatArray) -> FloatArray:
        """a (n,) or (n, K) with Qt = Zᵀa."""
        from scipy.linalg import solve_triangular

        own = solve_triangular(self.factor, t, lower=True, trans=1, check_finite=False)
        a = np.zeros((len(self.table), *t.shape[1:]))
        a[self.picked] = (own.T / self.lengths[self.picked]).T
        return a

    def __matmul__(self, t: FloatArray) -> FloatArray:
        return self.columns_of(self.shares(t))

    def inner(self, w: FloatArray) -> FloatArray:
        """Qᵀw = L⁻¹D⁻¹Zw: the t whose weights are nearest to w, as Q is orthonormal to the rounding of ZZᵀ."""
        from scipy.linalg import solve_triangular

        own = (self.scores_of(w)[self.picked].T / self.lengths[self.picked]).T
        return np.asarray(solve_triangular(self.factor, own, lower=True, check_finite=False))

    def scores_of(self, w: FloatArray) -> FloatArray:
        """Zw of w (p,) or (p, K)."""
        if self.few is not None:
            return self.few.scores(w) - self.centre @ w
        out = np.zeros((len(self.table), *w.shape[1:]))
        for part, z in centred_columns(self.table, self.centre):
            out += z @ w[part]
        return out

    def columns_of(self, a: FloatArray) -> FloatArray:
        """Zᵀa of a (n,) or (n, K)."""
        if self.few is not None:
            out = self.few.back(a)
            out -= np.multiply.outer(self.centre, a.sum(axis=0))
            if len(full := self.few.full):
                out[full] = (self.table[:, full] - self.centre[full]).T @ a
            return out
        out = np.empty((len(self.centre), *a.shape[1:]))
        for part, z in centred_columns(self.table, self.centre):
            out[part] = z.T @ a
        return out

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self @ np.eye(len(self.picked)), dtype=dtype)


def gram_span(
    rows: Rows, centre: FloatArray, penalty: float, live: np.ndarray | None = None
) -> tuple[Coordinates, Rows] | None:
    """As `row_span`; None where the Gram matrix is too large beside the ``penalty`` to be relied on.

    ``penalty`` is λ where the rows' losses are summed, bent by one at most; rows that are not ``live`` are left out,
    and are zeros in the span.
    """
    from scipy.linalg.lapack import dpstrf

    table = rows.source if isinstance(rows.source, np.ndarray) else rows.source.toarray()
    with np.errstate(over="ignore", invalid="ignore"):
        gram, lengths = _near_gram(rows.few, centre) or (row_gram(table, centre), None)
    if live is not None and not live.all():
        gram[~live] = 0.0
        gram[:, ~live] = 0.0
    total = float(np.trace(gram))
    if not (np.isfinite(total) and total <= STEEP * penalty):
        return None
    if lengths is None:
        lengths = np.sqrt(np.diag(gram))
    inverse = np.divide(1.0, lengths, out=np.zeros(rows.n), where=lengths > 0)
    gram *= inverse
    gram *= inverse[:, None]
    factor, order, rank, _ = dpstrf(gram, lower=1, tol=SAME, overwrite_a=1)
    if rank == 0:
        return None
    order = order - 1
    lower = np.tril(factor[:, :rank])
    span = np.empty((rows.n, rank))
    span[order] = lower * lengths[order, None]
    basis = RowBasis(table, centre, order[:rank], lower[:rank], lengths, rows.few)
    return Coordinates(centre, np.ones(rows.p), basis), Rows.of(span, rows.y, rows.weight)


def _near_gram(few: FewCells | None, centre: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """(X − centre)(X − centre)ᵀ from XXᵀ of few cells, and the lengths that its rounding goes by; None where the rows
    lie so far from zero that it cancels."""
    if few is None:
        return None
    gram, turned, middle = few.gram(), few.scores(centre), float(centre @ centre)
    before = np.diag(gram).copy()
    gram -= turned
    gram -= turned[:, None]
    gram += middle
    if not before.sum() <= FAR * np.trace(gram):
        return None
    return gram, np.sqrt(before) + np.sqrt(middle)


def steepness(objective: Objective, coef: FloatArray, intercept: FloatArray) -> float:
    """½‖∇_w F‖²/λ on the rows themselves: no less than F − min F, were the intercept's slope zero. Two passes."""
    rows, c = objective.rows, objective.coordinates
    basis = c.basis
    assert isinstance(basis, RowBasis)
    scores = basis.scores_of(coef.T) + (intercept + coef @ c.centre)
    slope = objective.loss.value_slope(scores, rows.y)[1] / objective.total_weight
    if rows.weight is not None:
        slope = (slope.T * rows.weight).T
        slope[rows.weight == 0] = 0.0
    left = basis.columns_of(slope) + objective.ridge * coef.T
    return 0.5 * float(np.vdot(left, left)) / objective.ridge


def row_gram(table: np.ndarray, centre: FloatArray) -> FloatArray:
    """(X − centre)(X − centre)ᵀ, by tiles of columns."""
    gram = np.zeros((len(table), len(table)))
    for _, z in centred_columns(table, centre):
        gram += z @ z.T
    return gram


def centred_columns(table: np.ndarray, centre: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Tiles of columns less their centre, each in the place of the one before."""
    n, p = table.shape
    width = max(NARROW, TILE_CELLS // max(n, 1))
    order = "C" if abs(table.strides[0]) >= abs(table.strides[1]) else "F"
    tile = np.empty((n, min(width, p)), order=order)  # type: ignore[call-overload]
    for a in range(0, p, width):
        part = slice(a, min(a + width, p))
        z = tile[:, : part.stop - a]
        np.subtract(table[:, part], centre[part], out=z)
        yield part, z
