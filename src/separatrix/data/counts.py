"""Counts of words by class and what follows from them, for tables as wide as a vocabulary.

    N_kj = Σ_i R_ik x_ij        log θ_kj = log (N_kj + a_j) − log Σ_j (N_kj + a_j)        η_ik = Σ_j x_ij w_jk

A class's counts are one line of memory: rows are taken class by class, so that it stays in cache, and classes go
side by side over the engine's threads; no statistic is merged. Cost O(stored cells · K) for scores, O(stored
cells) for counts, O(pK) for logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import Members
from separatrix.data.engine import each_in_threads

COLUMNS = 2048  # a tile of columns: K lines of it fit in cache


def class_sums(X: Any, members: Members) -> FloatArray:
    """Σ_i R_ik x_i of CSR rows: (K, p)."""
    if members.soft is not None:
        return np.ascontiguousarray((X.T @ members.matrix).T)
    from separatrix.loops.sparse import add_rows

    out, ones = np.zeros((members.k, X.shape[1])), np.empty(0)
    groups = members.classes()
    data = X.data if X.data.dtype.kind == "f" else X.data.astype(np.float64)

    def work(group: Any) -> None:
        k, rows, weight = group
        add_rows(data, X.indices, X.indptr, rows, weight if members.weight is not None else ones, out[k])

    each_in_threads(work, groups)
    return out


@dataclass(frozen=True)
class LogShares:
    """log θ laid out (p, K) for products; N_k; −Σ N log θ; how many counts are zero."""

    weights: FloatArray
    totals: FloatArray
    loss: float
    zeros: int


def log_shares(counts: FloatArray, add: FloatArray) -> LogShares:
    """log (N_kj + a_j) − log Σ_j (N_kj + a_j) of counts (K, p), by tiles of columns; no rows: a share of 1/p."""
    k, p = counts.shape
    weights = np.empty((p, k))
    counted = counts.sum(axis=1)
    totals = counted + np.broadcast_to(add, (p,)).sum()
    with np.errstate(divide="ignore"):
        log_total = np.where(totals > 0, np.log(totals), 0.0)[:, None]
    starts = range(0, p, COLUMNS)
    found: list[tuple[float, int]] = [(0.0, 0)] * len(starts)

    def work(a: int) -> None:
        part = slice(a, min(a + COLUMNS, p))
        tile = counts[:, part]
        share = tile + add[part]
        with np.errstate(divide="ignore", invalid="ignore"):
            np.log(share, out=share)
        share -= log_total
        empty = tile == 0
        known = share if add[part].all() else np.where(empty, 0.0, share)
        loss = -float(np.einsum("kj,kj->", tile, known))
        if not totals.all():
            share[totals == 0] = -np.log(p)
        weights[part] = share.T
        found[a // COLUMNS] = (loss, int(np.count_nonzero(empty)))

    each_in_threads(work, starts)
    loss, zeros = (sum(column) for column in zip(*found, strict=True))
    return LogShares(weights, counted, float(loss), int(zeros))


def scores(X: Any, weights: FloatArray) -> FloatArray:
    """X @ weights for CSR X and weights (p, K): (n, K)."""
    from separatrix.loops.sparse import scores_k

    out = np.empty((X.shape[0], weights.shape[1]))
    data = X.data if X.data.dtype.kind == "f" else X.data.astype(np.float64)
    scores_k(data, X.indices, X.indptr, weights, np.zeros(weights.shape[1]), out)
    return out
