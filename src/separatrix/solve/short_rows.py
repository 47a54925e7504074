"""What Newton's method asks of the rows that are short:  Σ 2c z zᵀ,  Σ β z,  the loss,  and moves of scores  z·d.

    BySweeps    block by block, whatever the rows are
    AtHand      z = (x − centre, 1) of few cells is written down once, for all machines that share the rows
    StoredSums  sparse rows of few cells go by the pairs of these, in raw columns that are centred afterwards

The last two keep the sum: from one step to the next only rows that have crossed their corner are added or taken away.
Cost O(nq²) a step at most; of rows at hand O(q²) for each that crossed, of stored cells Σ nnz_i² over those rows.
Memory of rows at hand n·q doubles, four megabytes at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.engine import sweep
from separatrix.data.rows import DOUBLE_CELLS, Block, Rows
from separatrix.loops.interior import picked_rows
from separatrix.loops.squares import shortfalls
from separatrix.problems.coordinates import FAR_FROM_ORIGIN
from separatrix.problems.margin import MarginMachine, blocked
from separatrix.problems.stored_cells import add_back, pairs_hessian, pairs_pay, stored_scores
from separatrix.solve.interior import moves

# times that the sum may have shrunk since it was made anew: what is taken away leaves its rounding
AFRESH = 8.0
KEPT = 1e-8  # of the penalty's ones: what rounding may leave in H of stored rows that were taken away


@dataclass(frozen=True)
class Short:
    """Over the rows that are short: Σ 2c z zᵀ, Σ β z, and the loss; not sealed, as in solve/interior.py."""

    hessian: FloatArray
    pull: FloatArray
    loss: float

    def __add__(self, other: Short) -> Short:
        return Short(self.hessian + other.hessian, self.pull + other.pull, self.loss + other.loss)

    def __iadd__(self, other: Short) -> Short:
        np.add(self.hessian, other.hessian, out=self.hessian)
        np.add(self.pull, other.pull, out=self.pull)
        return Short(self.hessian, self.pull, self.loss + other.loss)


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
        self.curve, self.change, self.beta = np.zeros(n), np.empty(n), np.empty(n)
        self.bend: FloatArray = np.zeros((q, q))
        self.loss, self.most = 0.0, 0.0

    def short(self, eta: FloatArray) -> Short:
        """The sums at scores η."""
        before, machine = self.curve.copy(), self.machine
        sides = machine.target, machine.up, machine.down, float(machine.epsilon)
        self.loss, short, changed = shortfalls(*sides, eta, self.curve, self.change, self.beta)
        crossed = np.flatnonzero(self.change)
        if 2 * changed > short or AFRESH * float(self.curve.sum()) < self.most:
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


class StoredSums:
    """Of sparse rows, by pairs of stored cells."""

    def __init__(self, machine: MarginMachine, centre: FloatArray, q: int):
        self.machine, self.centre, self.q = machine, centre, q
        n = machine.rows.n
        self.curve, self.change, self.beta = np.zeros(n), np.zeros(n), np.zeros(n)
        self.loss = 0.0
        self.bend: FloatArray | None = None

    @classmethod
    def pay(cls, machine: MarginMachine, q: int) -> bool:
        """Whether they cost less than sweeps of tiles that are made dense."""
        return machine.rows.sparse and pairs_pay(machine.rows.source, q)

    def short(self, eta: FloatArray) -> Short:
        """The sums at scores η."""
        m, before = self.machine, self.bend
        sides = m.target, m.up, m.down, float(m.epsilon)
        self.loss, short, changed = shortfalls(*sides, eta, self.curve, self.change, self.beta)
        if before is None or changed >= short or EPS * float(np.trace(before)) > KEPT:
            return self.afresh()
        return self._sums(self.change, before)

    def afresh(self) -> Short:
        """The same, the sum of squares made anew."""
        return self._sums(self.curve, None)

    def _sums(self, weight: FloatArray, before: FloatArray | None) -> Short:
        p, rows = len(self.centre), self.machine.rows
        total: Short = sweep(_pairs, rows, (p, self.q), blocked(rows, weight, self.beta))[0]
        hessian, pull = total.hessian, total.pull
        if self.q > p:
            pull[p] = self.beta.sum()
            pull[:p] -= pull[p] * self.centre
            hessian[:p] -= np.multiply.outer(self.centre, hessian[p])
            hessian[:, :p] -= np.multiply.outer(hessian[:, p], self.centre)
        if before is not None:
            hessian += before
        self.bend = hessian
        return Short(hessian, pull, self.loss)

    def near_origin(self) -> bool:
        """Whether the columns are, as far as the last sums can tell: sums of raw cells would cancel elsewhere."""
        assert self.bend is not None
        if self.q == len(self.centre):
            return True
        spread = np.diag(self.bend)
        return bool(np.all(self.centre**2 * spread[-1] <= FAR_FROM_ORIGIN**2 * spread[:-1]))

    def moves(self, step: FloatArray) -> FloatArray:
        """The change of the scores."""
        p = len(self.centre)
        offset = float(step[p:].sum() - self.centre @ step[:p])
        _, moved = sweep(_stored_move, self.machine.rows, (np.ascontiguousarray(step[:p]), offset))
        return np.concatenate(moved)


def sums_of(
    machine: MarginMachine, centre: FloatArray, q: int, table: Table | None = None
) -> AtHand | BySweeps | StoredSums:
    """The cheapest way for the machine's rows; ``table``: the rows at hand, where several machines share them."""
    table = table or Table.of(machine.rows, centre, q > len(centre))
    if table is not None:
        return AtHand(machine, table)
    return (StoredSums if StoredSums.pay(machine, q) else BySweeps)(machine, centre, q)


def _short_rows(
    block: Block, task: tuple[FloatArray, int, float], memo: tuple[FloatArray, ...]
) -> tuple[Short, None]:
    from scipy.linalg.blas import dsyrk

    centre, q, epsilon = task
    target, up, down, eta = memo
    curve, change, beta = np.zeros(block.n), np.empty(block.n), np.empty(block.n)
    loss, _, _ = shortfalls(target, up, down, float(epsilon), eta, curve, change, beta)
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


def _pairs(block: Block, task: tuple[int, int], memo: tuple[FloatArray, ...]) -> tuple[Short, None]:
    """Σ weight x xᵀ and Σ β x of raw columns."""
    (p, q), (weight, beta) = task, memo
    pull = np.zeros(q)
    add_back(block.X, beta, pull[:p])
    return Short(pairs_hessian(block.X, weight, q > p), pull, 0.0), None


def _stored_move(block: Block, task: tuple[FloatArray, float], _memo: None) -> tuple[float, FloatArray]:
    step, offset = task
    return 0.0, stored_scores(block.X, step, offset)
