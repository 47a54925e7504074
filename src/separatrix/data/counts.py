"""Counts of words by class and what follows from them, for tables as wide as a vocabulary.

    N_kj = Σ_i R_ik x_ij        log θ_kj = log (N_kj + a_j) − log Σ_j (N_kj + a_j)        η_ik = Σ_j x_ij w_jk

A class's counts are one line of memory: rows are taken class by class, so that it stays in cache, and classes go
side by side over the engine's threads; no statistic is merged. Cost O(stored cells · K) for scores, O(stored
cells) for counts, O(pK) for logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import Members
from separatrix.data.engine import each_in_threads
from separatrix.data.sources import as_others

TILE_CELLS = 1 << 15  # of a tile of columns: K lines of it fit in cache
COMPILED_FROM = 1 << 16  # counts from which a compiled loop is worth loading
THREADED = 1 << 17  # cells, stored or counted, from which threads are worth waking
COLUMNS = 2048  # the fewest that are worth a thread's while


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

    _each(work, groups, X.nnz)
    return out


@dataclass(frozen=True)
class LogShares:
    """log θ laid out (p, K) for products; N_k; −Σ_j N_kj log θ_kj; how many counts are zero."""

    weights: FloatArray
    totals: FloatArray
    losses: FloatArray
    zeros: int

    @property
    def residual(self) -> float:
        """How far Σ_j θ_kj is from one; of a vocabulary one class is looked at."""
        looked_at = self.weights if self.weights.size < 1 << 17 else self.weights[:, :1]
        return float(np.max(np.abs(np.exp(looked_at).sum(axis=0) - 1.0)))


def over_columns(k: int, p: int, work: Callable[[slice], Any]) -> list[Any]:
    """What work(columns) says of every tile of columns (k, p), in their order; tiles go over the engine's threads."""
    size = max(COLUMNS, TILE_CELLS // max(k, 1))
    starts = range(0, p, size)
    found: list[Any] = [None] * len(starts)

    def tile(a: int) -> None:
        found[a // size] = work(slice(a, min(a + size, p)))

    _each(tile, starts, k * p)
    return found


def _each(work: Callable[[Any], None], items: Sequence[Any], cells: int) -> None:
    """work(item) for every item; over threads where there are cells enough to pay for waking one."""
    if cells >= THREADED:
        each_in_threads(work, items)
        return
    for item in items:
        work(item)


def log_shares(counts: FloatArray, add: FloatArray, whole: FloatArray | None = None) -> LogShares:
    """log (N_kj + a_j) − log Σ_j (N_kj + a_j) of counts (K, p), by tiles of columns; no rows: a share of 1/p.

    With ``whole`` (p,), the counts of all classes, N_kj are those of all classes but k.
    """
    k, p = counts.shape
    weights = np.empty((p, k))
    add = np.broadcast_to(add, (p,))

    def counts_of(part: slice) -> FloatArray:
        tile = counts[:, part]
        return tile if whole is None else np.maximum(whole[part] - tile, 0.0)

    counted = counts.sum(axis=1)
    if whole is not None:
        counted = (1.0 - np.eye(k)) @ counted  # not their difference from all, which would lose digits
    totals = counted + add.sum()
    with np.errstate(divide="ignore"):
        log_total = np.where(totals > 0, np.log(totals), 0.0)

    def work(part: slice) -> tuple[FloatArray, int]:
        tile = counts_of(part)
        share = tile + add[part]
        with np.errstate(divide="ignore", invalid="ignore"):
            np.log(share, out=share)
        share -= log_total[:, None]
        empty = tile == 0
        known = share if add[part].all() else np.where(empty, 0.0, share)
        losses = -np.einsum("kj,kj->k", tile, known)
        weights[part] = share.T
        return losses, int(np.count_nonzero(empty))

    compiled = k * p >= COMPILED_FROM
    found = over_columns(k, p, _compiled(counts, add, whole, log_total, weights) if compiled else work)
    losses, zeros = zip(*found, strict=True)
    if not totals.all():
        weights[:, totals == 0] = -np.log(p)
    return LogShares(weights, counted, np.sum(losses, axis=0), sum(zeros))


def _compiled(
    counts: FloatArray, add: FloatArray, whole: FloatArray | None, log_total: FloatArray, weights: FloatArray
) -> Callable[[slice], tuple[FloatArray, int]]:
    """The same of some columns, a logarithm for every word and every count that is not zero."""
    from separatrix.loops import shares

    counts, add = as_others(np.ascontiguousarray(counts)), np.array(add)  # a statistic's arrays are sealed
    others = np.empty(0) if whole is None else whole

    def work(part: slice) -> tuple[FloatArray, int]:
        losses = np.zeros(len(counts))
        zeros = shares.log_shares(counts, others, add, log_total, part.start, part.stop, weights, losses)
        return losses, zeros

    return work


def scores(X: Any, weights: FloatArray) -> FloatArray:
    """X @ weights for CSR X and weights (p, K): (n, K)."""
    from separatrix.loops.sparse import scores_k

    out = np.empty((X.shape[0], weights.shape[1]))
    data = X.data if X.data.dtype.kind == "f" else X.data.astype(np.float64)
    scores_k(data, X.indices, X.indptr, weights, np.zeros(weights.shape[1]), out)
    return out
