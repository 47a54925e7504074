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
LOOK_AFTER = (
    1000  # steps in single precision, and as many as there are variables, after which they are judged:
)
IN_VAIN = 1e-7  # of the objective is what they have to lower it by
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
        start: FloatArray | None = None,
        single: bool = False,
    ):
        n = len(points)
        self.dual, self.negative, self.dtype = dual, negative, np.float32 if single else np.float64
        self.diagonal = diagonal.astype(self.dtype, copy=False)
        self.shrinking = shrinking and dual.group is None
        self.steps, self.used, self.gained, self.indefinite = 0, 0, 0.0, False
        self.value = np.inf  # of the objective when it was last looked at
        self.source = _source(kernel, points, single)
        whole = _is_whole(self.source)
        width = _padded(n) if single else n
        self.K: FloatArray = self.source[-2] if whole else np.empty((n, width), self.dtype)
        self.slot = np.full(n, -1)
        if whole:
            self.slot, self.used = np.arange(n), n
        self.group = np.zeros(len(dual.linear), np.int8) if dual.group is None else dual.group
        self.beta = (dual.start if start is None else start).copy()
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
            if self.dtype == np.float32:
                some = min(some, max(LOOK_AFTER, len(self.v)))
            steps, self.used, spread, gained, found = loops.pairs_asked(
                *self.source, self.K, self.near, self.slot, self.used, self.active, self.own,
                self.g, len(self.dual.totals), self.v, self.b, self.low, self.high, goal,
                min(some, limit - self.steps), self.negative,
            )  # fmt: skip
            self.steps += steps
            self.indefinite |= bool(found)
            self.beta[self.variables] = self.b[self.places]
            between()
            self.gained += gained
            ended = spread <= goal or steps < some or gained <= ROUNDED * self.gained or self._in_vain()
            if ended and len(self.active) < len(self.slot) and self.steps < limit:
                self._activate(np.arange(len(self.slot)))  # rows that were left out are looked at again
            elif ended or self.steps >= limit:
                return float(spread)
            elif self.shrinking:
                self._shrink()

    def _in_vain(self) -> bool:
        """Whether steps in single precision no longer lower the objective; v of all rows is made anew on the way."""
        if self.dtype == np.float64:
            return False
        score = self.score()
        moved = self.dual.of_rows(self.beta, len(score))
        value = 0.5 * float(moved @ score) + float(self.dual.linear @ self.beta)
        before, self.value = self.value, value
        self.renew(self.dual.pull(score))
        return before - value <= IN_VAIN * abs(value)

    def _activate(self, rows: Index) -> None:
        """What belongs to these rows, v from all scores anew, and the kernel's rows over these columns.

        Where a row has room for more numbers than there are rows, what belongs to none of them may not move.
        """
        n, m, d = len(self.slot), len(rows), self.dual
        copies, full = len(self.beta) // n, self.K.shape[1]
        width = full if m == n else _padded(m) if full > n else m
        self.active = rows
        t = self.variables = (np.arange(copies)[:, None] * n + rows).ravel()
        self.places = (np.arange(copies)[:, None] * width + np.arange(m)).ravel()
        self.b, self.low, self.high, self.g = (
            self._laid_out(x[t], width) for x in (self.beta, d.low, d.high, self.group)
        )
        self.own = self._laid_out(self.diagonal[rows], width)
        self.renew(d.pull(self.score()))
        self.near = self.K
        if m < n:
            self.near = np.zeros((len(self.K), width), self.dtype)
            columns = np.zeros(width, dtype=np.intp)
            columns[:m] = rows
            np.take(self.K[: self.used], columns, axis=1, out=self.near[: self.used], mode="clip")

    def renew(self, v: FloatArray) -> None:
        """v of all variables, from scores made anew."""
        self.v = self._laid_out(v[self.variables].astype(self.dtype, copy=False), len(self.own))

    def _laid_out(self, values: Any, width: int) -> Any:
        """Numbers of the active rows (copies·m,) where rows have room for ``width``: zero beyond m."""
        m = len(self.active)
        if width == m:
            return values
        out = np.zeros((len(values) // m, width), values.dtype)
        out[:, :m] = values.reshape(-1, m)
        return out.ravel()

    def _shrink(self) -> None:
        """Leave rows out whose variables are stuck at a bound beyond doubt, where it is many."""
        m, at = len(self.active), self.places
        v, b, low, high = self.v[at].astype(float), self.b[at], self.low[at], self.high[at]
        rise, fall = b < high, b > low
        if not (rise.any() and fall.any()):
            return
        keep = np.zeros(m, dtype=bool)
        up, lo = float(v[rise].max()), float(v[fall].min())
        smo_loops.settled(v, b, low, high, up, lo, np.arange(len(b)) % m, keep)
        if keep.sum() <= 0.7 * m:
            self._activate(self.active[keep])


def _padded(n: int) -> int:
    """The next multiple of what a loop works on at a time."""
    return -(-n // loops.LANES) * loops.LANES


def radial_scores(points: Points, support: Index, coef: FloatArray, wanted: Index) -> FloatArray:
    """Σ_j coef_j k(x_j, x_i) in double precision, of the rows i that are wanted; the support is among them.

    >>> points = Kernel("rbf", gamma=1.0).points(np.array([[0.0], [1.0]]))
    >>> radial_scores(points, np.array([0]), np.ones(1), np.array([0, 1])).round(4)
    array([1.    , 0.3679])
    """
    n, own = len(wanted), np.searchsorted(wanted, support)
    cells, half = _wide(points.take(wanted), np.float64)
    K, slot = np.empty((len(support), len(half))), np.full(n, -1)
    nothing, index = np.empty((0, 0)), np.empty(0, dtype=np.intp)
    loops.rows_asked(loops.RADIAL, cells, half, 1.0, 0.0, 1, nothing, index, K, slot, 0, own)
    return np.asarray(coef @ K)[:n]


def _wide(points: Points, dtype: Any) -> tuple[FloatArray, FloatArray]:
    """Columns (p, width) of the cells and halves (width,), width a multiple of LANES: zero beyond the rows."""
    n, width = len(points), _padded(len(points))
    cells, half = np.zeros((points.cells.shape[1], width), dtype), np.zeros(width, dtype)
    cells[:, :n], half[:n] = points.cells.T, points.half
    return cells, half


def _source(kernel: Kernel, points: Points, single: bool) -> tuple[Any, ...]:
    """What `loops.smo_rows` makes rows of: the kernel's kind and numbers, cells (p, n), or a matrix and an index."""
    nothing, none, n = np.empty((0, 0)), np.empty(0), len(points)
    index: Index
    if single:  # of radial kernels of dense rows only, with room up to a multiple of LANES
        cells, half = _wide(points, np.float32)
        index = np.empty(0, dtype=np.intp)
        return loops.RADIAL, cells, half, 1.0, 0.0, 1, np.empty((0, 0), np.float32), index
    if points.index is None and not is_sparse(points.cells) and kernel.kind in _KINDS:
        cells = np.ascontiguousarray(points.cells.T)
        half = points.half if kernel.kind == "rbf" else none
        index = np.empty(0, dtype=np.intp)
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
