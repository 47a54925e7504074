"""Sums over the stored cells of sparse rows, in raw columns: scores, sums of slopes, the Hessian, the longest row.

    η = Xu + b,    G = Xᵀs,    H = Σ_i c_i (x_i, 1)(x_i, 1)ᵀ,    max_i ‖(x_i − centre)·scale‖²

No row is made dense and no column centred, so these are for columns near the origin; the centre enters through sums.
Cost O(nnz), of the Hessian Σ_i nnz_i²/2 scattered additions, each worth some products of dense tiles (`PAIR`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray

PAIR = 20.0  # products that BLAS makes of a dense tile while one pair of stored cells is added
CELL, ROW = 60.0, 500.0  # and while scores and slopes take up one stored cell, or a row's loss is found


def pairs_cost(X: Any) -> float:
    """What :func:`pairs_hessian` costs for all rows, in products of a dense tile."""
    stored = np.diff(X.indptr).astype(float)
    return 0.5 * PAIR * float(np.dot(stored, stored + 1.0))


def pairs_pay(X: Any, q: int) -> bool:
    """Whether the pairs of stored cells are fewer, by their price, than the n·q² products of dense tiles."""
    n, stored = float(X.shape[0]), float(X.nnz)
    tiles = n * q * q
    if 0.5 * PAIR * stored * (X.shape[1] + 1.0) < tiles:  # were all cells in full rows
        return True
    if n and 0.5 * PAIR * stored * (stored / n + 1.0) >= tiles:  # and in rows of one length
        return False
    return pairs_cost(X) < tiles


def pairs_price(X: Any) -> float:
    """What a sweep with the Hessian by pairs costs, in sweeps without."""
    return 1.0 + pairs_cost(X) / _without(X)


def tiles_price(X: Any, q: int) -> float:
    """What one product of dense tiles by a matrix (q, q) costs, in sweeps without a Hessian."""
    return float(X.shape[0]) * q * q / _without(X)


def _without(X: Any) -> float:
    return CELL * X.nnz + ROW * X.shape[0]


def stored_scores(X: Any, u: FloatArray, offset: FloatArray | float) -> FloatArray:
    """Xu + offset: (n,) or (n, K)."""
    from separatrix.loops import sparse

    out = np.empty((X.shape[0], *u.shape[1:]))
    product = sparse.scores_1 if u.ndim == 1 else sparse.scores_k
    product(X.data, X.indices, X.indptr, u, offset, out)
    return out


def add_back(X: Any, slope: FloatArray, out: FloatArray) -> None:
    """out += Xᵀ slope: (p,) or (p, K)."""
    from separatrix.loops import sparse

    back = sparse.back_1 if slope.ndim == 1 else sparse.back_k
    back(X.data, X.indices, X.indptr, np.ascontiguousarray(slope), out)


def pairs_hessian(X: Any, curvature: FloatArray, one: bool) -> FloatArray:
    """Σ_i c_i x_i x_iᵀ (p, p); with ``one``, of rows (x_i, 1): (p+1, p+1). Zero curvatures cost nothing."""
    from separatrix.loops import sparse

    p = X.shape[1]
    half, cells = np.zeros((p, p)), (X.data, X.indices, X.indptr)
    sparse.add_pairs(*cells, curvature, half)
    if not one:
        return half + half.T
    out = np.empty((p + 1, p + 1))
    np.add(half, half.T, out=out[:p, :p])
    line = np.zeros(p)
    sparse.back_1(*cells, curvature, line)
    out[p, :p] = out[:p, p] = line
    out[p, p] = curvature.sum()
    return out


def row_squares(X: Any) -> FloatArray:
    """‖x_i‖² of every row (n,)."""
    from separatrix.loops import sparse

    out = np.empty(X.shape[0])
    sparse.row_squares(X.data, X.indptr, out)
    return out


def longest(X: Any, weight: FloatArray | None, centre: FloatArray, scale: FloatArray) -> float:
    """max_i ‖(x_i − centre)·scale‖² over rows that weigh something."""
    from separatrix.loops import sparse

    square = scale**2
    line, constant = -2.0 * square * centre, float(np.sum(square * centre**2))
    present = np.empty(0) if weight is None else weight
    return float(sparse.largest_square(X.data, X.indices, X.indptr, present, square, line, constant))
