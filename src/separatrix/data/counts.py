"""Counts of words by class and what follows from them, for tables as wide as a vocabulary.

    N_kj = Σ_i R_ik x_ij        log θ_kj = log (N_kj + a_j) − log Σ_j (N_kj + a_j)        η_ik = Σ_j x_ij w_jk

A class's counts are one line of memory: rows are taken class by class, so that it stays in cache, and classes go
side by side over the engine's threads; no statistic is merged. Cost O(stored cells · K) for scores, O(stored
cells) for counts, O(pK) for logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.grouped import Members
from separatrix.core.numerics import FloatArray
from separatrix.data.engine import each_in_threads

COLUMNS = 2048  # a tile of columns: K lines of it fit in cache


def class_sums(X: Any, members: Members) -> FloatArray:
    """Σ_i R_ik x_i of CSR rows: (K, p)."""
    if members.soft is not None:
        return np.ascontiguousarray((X.T @ members.matrix).T)
    from separatrix.data.sparse import add_rows

    out = np.zeros((members.k, X.shape[1]))
    groups = members.classes()
    data = X.data if X.data.dtype.kind == "f" else X.data.astype(np.float64)

    def work(group: Any) -> None:
        k, rows, weight = group
        add_rows(data, X.indices, X.indptr, rows, weight, out[k])

    each_in_threads(work, groups)
    return out


def log_shares(counts: FloatArray, add: FloatArray) -> tuple[FloatArray, float, int]:
    """(log θ laid out (p, K) for products, −Σ N log θ, how many counts are zero), by tiles of columns."""
    k, p = counts.shape
    out = np.empty((p, k))
    with np.errstate(divide="ignore"):
        log_total = np.log(counts.sum(axis=1) + np.broadcast_to(add, (p,)).sum())
    starts = range(0, p, COLUMNS)
    loss, zeros = np.zeros(len(starts)), np.zeros(len(starts), dtype=np.intp)

    def work(a: int) -> None:
        part = slice(a, min(a + COLUMNS, p))
        tile = counts[:, part]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.log(tile + add[part] if np.ndim(add) else tile + add)
            share -= log_total[:, None]
            empty = tile == 0
            zeros[a // COLUMNS] = np.count_nonzero(empty)
            loss[a // COLUMNS] = -np.vdot(tile, np.where(empty, 0.0, share))
        out[part] = np.where(np.isnan(share), -np.log(p), share).T

    each_in_threads(work, starts)
    return out, float(loss.sum()), int(zeros.sum())


def scores(X: Any, weights: FloatArray) -> FloatArray:
    """X @ weights for CSR X and weights (p, K): (n, K)."""
    from separatrix.data.sparse import scores_k

    out = np.empty((X.shape[0], weights.shape[1]))
    data = X.data if X.data.dtype.kind == "f" else X.data.astype(np.float64)
    scores_k(data, X.indices, X.indptr, weights, np.zeros(weights.shape[1]), out)
    return out
