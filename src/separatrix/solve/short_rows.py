"""What Newton's method asks of the rows that are short:  Σ 2c z zᵀ,  Σ β z,  the loss,  and moves of scores  z·d.

    BySweeps    block by block, whatever the rows are
    AtHand      z = (x − centre, 1) of few cells is written down once, for all machines that share the rows; from one
                step to the next only the rows that have crossed their corner are added or taken away

Cost O(nq²) a step at most, of rows at hand O(q²) for each that crossed. Memory n·q doubles, four megabytes at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import sweep
from separatrix.data.rows import DOUBLE_CELLS, Block, Rows
from separatrix.loops.interior import picked_rows
from separatrix.loops.squares import shortfalls
from separatrix.problems.margin import MarginMachine, blocked
from separatrix.solve.interior import moves

AFRESH = (
    8.0  # times that the sum may have shrunk since it was made anew: what is taken away leaves its rounding
)


@dataclass(frozen=True)
class Short:
    """Over the rows that are short: Σ 2c z zᵀ, Σ β z, and the loss; not sealed, as in solve/interior.py."""

    hessian: FloatArray
    pull: FloatArray
    loss: float

    def __add__(self, other: Short) -> Short:
        return Short(self.hessian + other.hessian, self.pull + other.pull, self.loss + other.loss)


@dataclass(frozen=True, eq=False)
class Table:
    """z (n, q) of rows in memory: centred cells, and a column of ones where an intercept is fitted."""

    z: FloatArray

    @classmethod
    def of(cls, rows: Rows, centre: FloatArray, one: bool) -> Table | None:
        """None where there are too many cells, or they lie elsewhere."""
        q = rows.p + int(one)
        if rows.lazy or rows.sparse or rows.n * q > DOUBLE_CELLS:
            return None
        z = np.ones((rows.n, q))
        np.subtract(rows.source, centre, out=z[:, : rows.p])
        return cls(z)

    @cached_property
    def square(self) -> FloatArray:
        """Σ z zᵀ over all rows: what the first step of every machine asks for, up to a factor."""
        return np.asarray(np.dot(self.z.T, self.z))


class AtHand:
    """Of a table in memory."""

    def __init__(self, machine: MarginMachine, table: Table):
        self.machine, self.table, self.z = machine, table, table.z
        n, q = self.z.shape
        self.curve, self.beta = np.zeros(n), np.empty(n)
        self.bend: FloatArray = np.zeros((q, q))
        self.loss, self.most = 0.0, 0.0

    def short(self, eta: FloatArray) -> Short:
        """The sums at scores η."""
        before, machine = self.curve, self.machine
        self.curve = np.empty(len(before))
        sides = machine.target, machine.up, machine.down, float(machine.epsilon)
        self.loss = float(shortfalls(*sides, eta, self.curve, self.beta))
        crossed = np.flatnonzero(before != self.curve)
        if 2 * len(crossed) > np.count_nonzero(self.curve) or AFRESH * float(self.curve.sum()) < self.most:
            return self.afresh()
        if len(crossed):
            self.bend = self.bend + self._squares(crossed, self.curve) - self._squares(crossed, before)
        return self._sums()

    def afresh(self) -> Short:
        """The same, the sum of squares made anew."""
        self.most, first = float(self.curve.sum()), float(self.curve[0])
        if first > 0 and bool((self.curve == first).all()):
            self.bend = first * self.table.square
        else:
            self.bend = self._squares(np.flatnonzero(self.curve), self.curve)
        return self._sums()

    def _sums(self) -> Short:
        return Short(self.bend, np.dot(self.beta, self.z), self.loss)

    def _squares(self, rows: np.ndarray, curve: FloatArray) -> FloatArray:
        weight = curve[rows]
        live = weight > 0
        some = self.z[rows[live]]
        some *= np.sqrt(weight[live])[:, None]
        return np.asarray(np.dot(some.T, some))

    def moves(self, step: FloatArray) -> FloatArray:
        """The change of the scores."""
        return np.asarray(np.dot(self.z, step))


class BySweeps:
    """Of any rows."""

    def __init__(self, machine: MarginMachine, centre: FloatArray, q: int):
        self.machine, self.centre, self.q = machine, centre, q
        self.last: Short | None = None

    def short(self, eta: FloatArray) -> Short:
        """The sums at scores η, by a sweep."""
        machine = self.machine
        memo = blocked(machine.rows, machine.target, machine.up, machine.down, eta)
        self.last = sweep(_short_rows, machine.rows, (self.centre, self.q, machine.epsilon), memo)[0]
        return self.afresh()

    def afresh(self) -> Short:
        """The same: nothing is kept from one step to the next."""
        assert self.last is not None
        return self.last

    def moves(self, step: FloatArray) -> FloatArray:
        """The change of the scores, by a sweep."""
        return np.concatenate(sweep(_move_rows, self.machine.rows, (self.centre, step))[1])


def _short_rows(
    block: Block, task: tuple[FloatArray, int, float], memo: tuple[FloatArray, ...]
) -> tuple[Short, None]:
    from scipy.linalg.blas import dsyrk

    centre, q, epsilon = task
    target, up, down, eta = memo
    curve, beta = np.empty(block.n), np.empty(block.n)
    loss = shortfalls(target, up, down, float(epsilon), eta, curve, beta)
    hessian, pull = np.zeros((q, q), order="F"), np.zeros(q)
    for part in block.tiles(q):
        at = np.flatnonzero(curve[part])
        if not len(at):
            continue
        root = np.sqrt(curve[part][at])
        rows = np.empty((len(at), q))
        picked_rows(np.ascontiguousarray(block.dense(part)), at, centre, root, rows)
        hessian = dsyrk(1.0, rows.T, beta=1.0, c=hessian, overwrite_c=1)
        pull += (beta[part][at] / root) @ rows
    hessian = np.triu(hessian)
    hessian += np.triu(hessian, 1).T
    return Short(hessian, pull, float(loss)), None


def _move_rows(block: Block, task: tuple[FloatArray, FloatArray], _memo: None) -> tuple[float, FloatArray]:
    centre, step = task
    out = np.empty(block.n)
    for part in block.tiles(len(step)):
        moves(block.dense(part), centre, step, out[part])
    return 0.0, out
