"""Some thousand rows: pairs of variables over all of them, on kernel rows made when they are asked for.

A compiled call without the GIL instead of rounds of a working set (solve/smo.py), so that machines run side by side;
the same steps whatever runs beside them. Cost O(n) a step and O(np) a row that is made; memory for those rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray, Index
from separatrix.loops import gram as kernel_loops
from separatrix.loops import smo as smo_loops
from separatrix.loops import smo_rows as loops
from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Kernel, Points, is_sparse, whole

SOME = 3000  # rows up to which a step over all of them costs less than the rounds of a working set
SHRINK_AFTER = 500  # steps, and as many as there are kernel rows, after which fewer columns are worth a copy
AT_ONCE = 2.0**24  # numbers that are looked at before someone may interrupt: some hundredths of a second
ROUNDED = 1e-14  # of what all steps have gained: so little more is rounding
_KINDS = {"linear": loops.LINEAR, "poly": loops.POWER, "rbf": loops.RADIAL}


def fits(kernel: Kernel, points: Points, dual: Dual, megabytes: float) -> bool:
    """Whether this is the way: some rows, slack for each, and room for the matrix if all of it is asked for."""
    n, q = len(points), len(dual.linear)
    known = points.index is not None or kernel.kind in (*_KINDS, "sigmoid")
    return (
        known and n <= SOME and 8e-6 * n * n <= megabytes and not dual.hard and q % n == 0
        and bool((dual.base.reshape(-1, n) == np.arange(n)).all())
    )  # fmt: skip


class RowsAsked:
    """β, v = −(Kβ + q) and rows of K that were asked for; `search` moves β until v spreads no more than a goal."""

    def __init__(
        self,
        kernel: Kernel,
        points: Points,
        dual: Dual,
        diagonal: FloatArray,
        negative: float,
        shrinking: bool,
    ):
        n = len(points)
        self.dual, self.diagonal, self.negative = dual, diagonal, negative
        self.shrinking = shrinking and dual.group is None
        self.steps, self.used, self.gained, self.indefinite = 0, 0, 0.0, False
        self.source = _source(kernel, points)
        whole = _is_whole(self.source)
        self.K: FloatArray = self.source[-2] if whole else np.empty((n, n))
        self.slot = np.full(n, -1)
        if whole:
            self.slot, self.used = np.arange(n), n
        self.group = np.zeros(len(dual.linear), np.int8) if dual.group is None else dual.group
        self.beta = dual.start.copy()
        self._activate(np.arange(n))

    def score(self) -> FloatArray:
        """Kβ (n,), from rows that are there mostly: those of the variables that moved."""
        n = len(self.slot)
        total = self.dual.of_rows(self.beta, n)
        support = np.flatnonzero(total)
        score = np.zeros(n)
        if len(support):
            self.used = loops.rows_asked(*self.source, self.K, self.slot, self.used, support)
            kernel_loops.add_rows(self.K, self.slot[support], total[support], 0, n, score)
        return score

    def search(self, goal: float, limit: int, between: Callable[[], None]) -> float:
        """At most ``limit`` steps, or until they gain no more than rounding; the spread that is left."""
        while True:
            some = max(int(AT_ONCE / len(self.v)), 100)
            if self.shrinking:
                some = min(some, max(SHRINK_AFTER, self.used))
            steps, self.used, spread, gained, found = loops.pairs_asked(
                *self.source, self.K, self.near, self.slot, self.used, self.active, self.diagonal[self.active],
                self.g, len(self.dual.totals), self.v, self.b, self.low, self.high, goal,
                min(some, limit - self.steps), self.negative,
            )  # fmt: skip
            self.steps += steps
            self.indefinite |= bool(found)
            self.beta[self.variables] = self.b
            between()
            self.gained += gained
            ended = spread <= goal or steps < some or gained <= ROUNDED * self.gained
            if ended and len(self.active) < len(self.slot) and self.steps < limit:
                self._activate(np.arange(len(self.slot)))  # rows that were left out are looked at again
            elif ended or self.steps >= limit:
                return float(spread)
            elif self.shrinking:
                self._shrink()

    def _activate(self, rows: Index) -> None:
        """What belongs to these rows, v from all scores anew, and the kernel's rows over these columns."""
        n, d = len(self.slot), self.dual
        copies = len(self.beta) // n
        self.active = rows
        t = self.variables = (np.arange(copies)[:, None] * n + rows).ravel()
        self.b, self.low, self.high, self.g = self.beta[t], d.low[t], d.high[t], self.group[t]
        self.v = d.pull(self.score())[t]
        self.near = self.K
        if len(rows) < n:
            self.near = np.empty((len(self.K), len(rows)))
            np.take(self.K[: self.used], rows, axis=1, out=self.near[: self.used], mode="clip")

    def _shrink(self) -> None:
        """Leave rows out whose variables are stuck at a bound beyond doubt, where it is many."""
        m = len(self.active)
        rise, fall = self.b < self.high, self.b > self.low
        if not (rise.any() and fall.any()):
            return
        keep = np.zeros(m, dtype=bool)
        position = np.arange(len(self.b)) % m
        smo_loops.settled(
            self.v,
            self.b,
            self.low,
            self.high,
            float(self.v[rise].max()),
            float(self.v[fall].min()),
            position,
            keep,
        )
        if keep.sum() <= 0.7 * m:
            self._activate(self.active[keep])


def _source(kernel: Kernel, points: Points) -> tuple[Any, ...]:
    """What `loops.smo_rows` makes rows of: the kernel's kind and numbers, cells (p, n), or a matrix and an index."""
    nothing, none, n = np.empty((0, 0)), np.empty(0), len(points)
    if points.index is None and not is_sparse(points.cells) and kernel.kind in _KINDS:
        cells = np.ascontiguousarray(points.cells.T)
        half = points.half if kernel.kind == "rbf" else none
        index: Index = np.empty(0, dtype=np.intp)
        return (
            _KINDS[kernel.kind], cells, half, float(kernel.gamma), float(kernel.coef0), int(kernel.degree), nothing,
            index,
        )  # fmt: skip
    given = points.cells
    if points.index is None or is_sparse(given):
        given, index = whole(kernel, points), np.arange(n)
    elif not (given.flags.c_contiguous and given.flags.writeable and given.dtype == np.float64):
        given, index = np.array(given[np.ix_(points.index, points.index)], dtype=np.float64), np.arange(n)
    else:
        index = points.index
    return loops.GIVEN, nothing, none, 1.0, 0.0, 1, given, index


def _is_whole(source: tuple[Any, ...]) -> bool:
    """Whether the matrix that is given has these rows, all of them and in their order."""
    given, index = source[-2:]
    return len(given) > 0 and len(index) == len(given) and bool((index == np.arange(len(given))).all())
