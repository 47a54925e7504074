"""The perceptron's pass over rows, compiled: a row on the wrong side, y_i (w·x_i + b) ≤ 0, moves the weights.

    w ← w + η s_i y_i x_i,   b ← b + η s_i y_i            ([6867] 5.4, [6321], [446])

Rows are visited in a given order and each step waits for the one before, so a pass is one thread's work: O(np)
reading and O(p) a mistake. Memory, not arithmetic, is the limit: rows to come are prefetched, and the random order
of a large table is dealt in two steps that memory likes (see :func:`dealt`). A score that is not a finite number
ends the pass at its row, so that no sweep is needed to look for missing cells first.

Shapes: weights (p+1,), the intercept last; ``sign`` (n,) int8; ``scale`` (n,) or empty (all one); ``counts`` (n,).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from separatrix.data.engine import _pool, available_cores, current_engine

AHEAD = 12  # rows between a prefetch and its use
BLOCK = 32  # neighbouring rows that are dealt together in a large table
WINDOW = 1024  # rows that are shuffled among each other once dealt: they fit the second-level cache
IN_CACHE = 1 << 24  # bytes of a table whose rows may be fetched in any order
DRAWN_AHEAD = 100_000  # rows from which drawing their order is worth a second thread
WIDE_ROW = 2048  # bytes of a row from which its own length hides the jump to it


@intrinsic
def _prefetch(typingctx, array, at):  # type: ignore[no-untyped-def]
    """Ask for the cache line that holds element ``at`` of a contiguous array (by its flat index)."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        word = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word]),
            "llvm.prefetch.p0i8",
        )
        builder.call(function, [address, word(0), word(2), word(1)])  # to read, into the second-level cache
        return context.get_dummy_value()

    return types.none(array, types.intp), code


@dataclass(frozen=True)
class Visits:
    """The order of an epoch (m,), and which row to ask memory for while ``order[at]`` is looked at:
    ``fetch[at + ahead]``."""

    order: np.ndarray
    fetch: np.ndarray
    ahead: int

    @classmethod
    def cyclic(cls, rows: np.ndarray) -> Visits:
        return cls(rows, rows, AHEAD)

    @classmethod
    def shuffled(cls, rows: np.ndarray, seed: int, X: Any) -> Visits:
        """Uniformly at random; a large table of short rows in memory is dealt in blocks (:func:`dealt`)."""
        row_bytes = X.shape[1] * X.itemsize if isinstance(X, np.ndarray) else WIDE_ROW
        if row_bytes >= WIDE_ROW or row_bytes * len(rows) <= IN_CACHE:
            order = shuffled(rows, seed)
            return cls(order, order, AHEAD)
        order, fetch = dealt(rows, seed, BLOCK, WINDOW)
        return cls(order, fetch, WINDOW)


class Orders:
    """epoch → :class:`Visits`, drawn anew from ``key(epoch)``; of many rows, the next is drawn meanwhile."""

    def __init__(self, rows: np.ndarray, X: Any, key: Callable[[int], int]):
        self._rows, self._X, self._key = rows, X, key
        chosen = current_engine()
        self._ahead = len(rows) > DRAWN_AHEAD and chosen.kind != "serial" and available_cores() > 1
        self._pending = lru_cache(maxsize=4)(self._start)

    def __call__(self, epoch: int) -> Visits:
        if not self._ahead:
            return self._draw(epoch)
        now = self._pending(epoch)
        self._pending(epoch + 1)
        return now.result()

    def _draw(self, epoch: int) -> Visits:
        return Visits.shuffled(self._rows, self._key(epoch), self._X)

    def _start(self, epoch: int) -> Future[Visits]:
        return _pool(1).submit(self._draw, epoch)


@njit(cache=True, nogil=True)
def _drawn(state):  # type: ignore[no-untyped-def]
    """The 64 bits of splitmix64 that belong to a state."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def _shuffle(a, first, last, state):  # type: ignore[no-untyped-def]
    """Fisher and Yates on a[first:last]; the next state. Of fewer than 2¹⁶ places two are drawn at once: 32 bits
    choose one of them evenly to 1 in 65,536."""
    at = last - 1
    while at - first < 65535 and at > first:
        state += np.uint64(0x9E3779B97F4A7C15)
        z = _drawn(state)
        other = first + np.int64(((z >> np.uint64(32)) * np.uint64(at + 1 - first)) >> np.uint64(32))
        a[at], a[other] = a[other], a[at]
        at -= 1
        if at > first:
            other = first + np.int64(
                ((z & np.uint64(0xFFFFFFFF)) * np.uint64(at + 1 - first)) >> np.uint64(32)
            )
            a[at], a[other] = a[other], a[at]
            at -= 1
    while at > first:
        state += np.uint64(0x9E3779B97F4A7C15)
        share = np.float64(_drawn(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
        other = first + np.int64(share * (at + 1 - first))
        a[at], a[other] = a[other], a[at]
        at -= 1
    return state


@njit(cache=True, nogil=True)
def shuffled(rows, seed):  # type: ignore[no-untyped-def]
    """A uniformly random order of the given rows.

    >>> sorted(shuffled(np.arange(5), 3).tolist())
    [0, 1, 2, 3, 4]
    """
    order = rows.copy()
    _shuffle(order, 0, order.shape[0], np.uint64(seed))
    return order


@njit(cache=True, nogil=True)
def dealt(rows, seed, block, window):  # type: ignore[no-untyped-def]
    """(order, as dealt): blocks of neighbouring rows in random order, then rows shuffled within each window.

    Rows of one block stay within a window of each other; every window mixes window/block blocks from all over the
    table, others in every epoch.
    """
    n = rows.shape[0]
    count = (n + block - 1) // block
    blocks = np.arange(count)
    state = _shuffle(blocks, 0, count, np.uint64(seed))
    fetch = np.empty_like(rows)
    at = 0
    for b in blocks:
        for i in range(b * block, min(n, (b + 1) * block)):
            fetch[at] = rows[i]
            at += 1
    order = fetch.copy()
    for first in range(0, n, window):
        state = _shuffle(order, first, min(n, first + window), state)
    return order, fetch


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dense_pass(  # type: ignore[no-untyped-def]
    X, sign, scale, eta, one, order, fetch, ahead, begin, w, counts, drift, late, seen, run, record
):
    """Visit order[begin:] and move w at each mistake; X is row-major, ``one`` is 1 with an intercept, else 0.

    The answer is (where the pass ended, mistakes, rows in a row that were right). It ends early before a mistake that
    breaks a ``run`` longer than ``record``, and at −1 − i where row i has no finite score. ``drift`` and ``late``
    (empty: not wanted) gather each step times the number of visits before it, in weights and by row: what an average
    over all visits lacks of the last weights.
    """
    p = X.shape[1]
    visits = order.shape[0]
    line = max(1, 64 // X.itemsize)
    mistakes = 0
    for at in range(begin, visits):
        if at + ahead < visits:
            first = np.int64(fetch[at + ahead]) * p
            for j in range(0, p, line):
                _prefetch(X, first + j)  # type: ignore[call-arg]
        i = np.uint64(order[at])  # no sign to be checked when it is an index
        x = X[i]
        score = one * w[p]
        for j in range(p):
            score += np.float64(x[j]) * w[j]
        margin = score * sign[i]
        if margin > 0.0 and margin < np.inf:
            run += 1
            continue
        if not abs(margin) < np.inf:
            return -1 - np.int64(i), mistakes, run
        if run > record:
            return at, mistakes, run
        run = 0
        mistakes += 1
        counts[i] += 1
        move = eta * sign[i]
        if scale.shape[0] > 0:
            move *= scale[i]
        for j in range(p):
            w[j] += move * np.float64(x[j])
        w[p] += move * one
        if late.shape[0] > 0:
            before = np.float64(seen + at)
            late[i] += before
            move *= before
            for j in range(p):
                drift[j] += move * np.float64(x[j])
            drift[p] += move * one
    return visits, mistakes, run


@njit(cache=True, nogil=True)
def csr_pass(  # type: ignore[no-untyped-def]
    data, indices, indptr, sign, scale, eta, one, order, begin, w, counts, drift, late, seen, run, record
):
    """As :func:`dense_pass`, for the three vectors of a CSR matrix; O(stored cells)."""
    p = w.shape[0] - 1
    visits = order.shape[0]
    mistakes = 0
    for at in range(begin, visits):
        i = order[at]
        score = one * w[p]
        for cell in range(indptr[i], indptr[i + 1]):
            score += np.float64(data[cell]) * w[np.uint64(indices[cell])]
        margin = score * sign[i]
        if margin > 0.0 and margin < np.inf:
            run += 1
            continue
        if not abs(margin) < np.inf:
            return -1 - i, mistakes, run
        if run > record:
            return at, mistakes, run
        run = 0
        mistakes += 1
        counts[i] += 1
        move = eta * sign[i]
        if scale.shape[0] > 0:
            move *= scale[i]
        for cell in range(indptr[i], indptr[i + 1]):
            w[np.uint64(indices[cell])] += move * np.float64(data[cell])
        w[p] += move * one
        if late.shape[0] > 0:
            before = np.float64(seen + at)
            late[i] += before
            move *= before
            for cell in range(indptr[i], indptr[i + 1]):
                drift[np.uint64(indices[cell])] += move * np.float64(data[cell])
            drift[p] += move * one
    return visits, mistakes, run


@njit(cache=True, nogil=True)
def next_mistake(scores, sign, order, begin):  # type: ignore[no-untyped-def]
    """Where in the order the first row from ``begin`` with y_i f_i ≤ 0 (or no number) stands; its end if none.

    >>> int(next_mistake(np.array([1.0, -1.0]), np.array([1, 1], np.int8), np.arange(2), 0))
    1
    """
    for at in range(begin, order.shape[0]):
        i = order[at]
        if not scores[i] * sign[i] > 0.0:
            return at
    return order.shape[0]


def row_major(X: Any) -> Any:
    """Cells as the passes read them: float32 or float64, dense by rows or CSR; copied only where they are not.

    >>> row_major(np.ones((2, 3), order="F")).flags.c_contiguous
    True
    """
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(np.asarray(X), dtype=np.dtype(dtype).newbyteorder("="))
    return X if X.dtype == dtype else X.astype(dtype)
