"""What Newton's method for squared margins sums over the rows that are short, and how far a step moves every row.

    H = Σ_short 2c z zᵀ,    g = Σ β z,    the loss,        z = (x − centre, 1),    β the losses' slopes at η

Tiles are made dense and go through BLAS. Sparse rows of few cells go by the pairs of these, in raw columns that are
centred afterwards; from one step to the next only the rows that began or ceased to be short are added or taken away.
Cost O(np²) at most, or Σ nnz_i² over those rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.engine import sweep
from separatrix.data.rows import Block, solid
from separatrix.loops.interior import picked_rows
from separatrix.loops.squares import shortfalls
from separatrix.problems.coordinates import FAR_FROM_ORIGIN
from separatrix.problems.margin import MarginMachine, blocked
from separatrix.problems.stored_cells import add_back, pairs_hessian, pairs_pay, stored_scores
from separatrix.solve.interior import moves

KEPT = 1e-8  # of the penalty's ones: what rounding may leave in H of rows that were taken away


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


class TiledSums:
    """The sums by dense tiles."""

    def __init__(self, machine: MarginMachine, centre: FloatArray, q: int):
        self.machine, self.centre, self.q = machine, centre, q

    def at(self, eta: FloatArray) -> Short:
        """The sums over the rows that are short at scores η (n,)."""
        m = self.machine
        memo = blocked(m.rows, m.target, m.up, m.down, eta)
        total: Short = sweep(_short_rows, m.rows, (self.centre, self.q, m.epsilon), memo)[0]
        return total

    def move(self, step: FloatArray) -> FloatArray:
        """How much each score changes by a step (q,) of the weights."""
        _, moved = sweep(_move_rows, self.machine.rows, (self.centre, step))
        return np.concatenate(moved)


class StoredSums(TiledSums):
    """The sums by pairs of stored cells; H is kept, and brought up to date."""

    def __init__(self, machine: MarginMachine, centre: FloatArray, q: int):
        super().__init__(machine, centre, q)
        n = machine.rows.n
        self.curve, self.change, self.beta = np.zeros(n), np.zeros(n), np.zeros(n)
        self.hessian: FloatArray | None = None

    def at(self, eta: FloatArray) -> Short:
        m, p = self.machine, len(self.centre)
        loss, short, changed = shortfalls(
            m.target, m.up, m.down, float(m.epsilon), eta, self.curve, self.change, self.beta
        )
        before = self.hessian
        if before is not None and (changed >= short or EPS * float(np.trace(before)) > KEPT):
            before = None
        weight = self.curve if before is None else self.change
        total: Short = sweep(_pairs, m.rows, (p, self.q), blocked(m.rows, weight, self.beta))[0]
        hessian, pull = total.hessian, total.pull
        if self.q > p:
            pull[p] = self.beta.sum()
            pull[:p] -= pull[p] * self.centre
            hessian[:p] -= np.multiply.outer(self.centre, hessian[p])
            hessian[:, :p] -= np.multiply.outer(hessian[:, p], self.centre)
        if before is not None:
            hessian += before
        self.hessian = hessian
        return Short(hessian, pull, loss)

    def near_origin(self) -> bool:
        """Whether the columns are, as far as the last sums can tell: sums of raw cells would cancel elsewhere."""
        assert self.hessian is not None
        if self.q == len(self.centre):
            return True
        spread = np.diag(self.hessian)
        return bool(np.all(self.centre**2 * spread[-1] <= FAR_FROM_ORIGIN**2 * spread[:-1]))

    def move(self, step: FloatArray) -> FloatArray:
        p = len(self.centre)
        offset = float(step[p:].sum() - self.centre @ step[:p])
        _, moved = sweep(_stored_move, self.machine.rows, (np.ascontiguousarray(step[:p]), offset))
        return np.concatenate(moved)


def sums_of(machine: MarginMachine, centre: FloatArray, q: int) -> TiledSums:
    """The cheaper way for the machine's rows."""
    rows = machine.rows
    stored = rows.sparse and pairs_pay(rows.source, q)
    return (StoredSums if stored else TiledSums)(machine, centre, q)


def _short_rows(
    block: Block, task: tuple[FloatArray, int, float], memo: tuple[FloatArray, ...]
) -> tuple[Short, None]:
    from scipy.linalg.blas import dsyrk

    centre, q, epsilon = task
    target, up, down, eta = memo
    low, high = np.maximum(target - epsilon - eta, 0.0), np.maximum(eta - target - epsilon, 0.0)
    curve = 2.0 * (np.where(low > 0, up, 0.0) + np.where(high > 0, down, 0.0))
    beta = 2.0 * (up * low - down * high)
    hessian, pull = np.zeros((q, q), order="F"), np.zeros(q)
    for part in block.tiles(q):
        at = np.flatnonzero(curve[part])
        if not len(at):
            continue
        root = np.sqrt(curve[part][at])
        rows = np.empty((len(at), q))
        picked_rows(solid(block.dense(part)), at, centre, root, rows)
        hessian = dsyrk(1.0, rows.T, beta=1.0, c=hessian, overwrite_c=1)
        pull += (beta[part][at] / root) @ rows
    hessian = np.triu(hessian)
    hessian += np.triu(hessian, 1).T
    return Short(hessian, pull, float(up @ (low * low) + down @ (high * high))), None


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
