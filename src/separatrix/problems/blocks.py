"""What a sweep of a linear model's objective does in one block: value, gradient, Hessian, and what proofs measure.

    Σ s ℓ(η),   Σ s ℓ'(η) z,   Σ s ℓ''(η) z zᵀ,   max ‖z‖,   max |change of η|

Tiles stay in cache between the product that gives scores and the one that takes slopes back. Dense tiles go
through BLAS, sparse blocks through the compiled loops behind problems/stored_cells.py. See problems/objective.py for
the sum of blocks and the coordinates. Cost O(np) a class, O(np²) with the Hessian; of sparse rows O(Σ_i nnz_i²) where
that is less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from separatrix.core.losses import Loss
from separatrix.core.numerics import FloatArray
from separatrix.core.statistic import Statistic
from separatrix.data.rows import Block, order_of
from separatrix.problems.bends import bends_of, value_slope
from separatrix.problems.coordinates import Coordinates, Largest
from separatrix.problems.stored_cells import add_back, longest, pairs_hessian, pairs_pay, stored_scores


@dataclass(frozen=True)
class SweepTask:
    """What a block needs to know of θ: u (p,) or (p, K−1) multiplies centred raw columns, b is the score there.

    Scores of K classes are turned by ``class_basis`` after the product: n is the short side where it matters.
    """

    loss: Loss
    t: FloatArray
    u: FloatArray
    b: FloatArray
    coordinates: Coordinates
    class_basis: FloatArray | None
    fit_intercept: bool
    order: int
    stride: int
    want_radius: bool
    explicit: bool  # x − centre is formed before the product
    inner: bool  # tiles are brought to inner coordinates: gradient sums are then in t
    moved: tuple[FloatArray, FloatArray] | None = None  # factor and offset of a change of scores to measure

    def spread(self, scores: FloatArray) -> FloatArray:
        """Scores of all K classes from those of the K−1 coordinates."""
        return scores if self.class_basis is None else scores @ self.class_basis.T

    def gather(self, slope: FloatArray) -> FloatArray:
        """Slopes in the K−1 coordinates from those of all K classes."""
        return slope if self.class_basis is None else slope @ self.class_basis

    @property
    def factor(self) -> FloatArray:
        """What multiplies the cells that :meth:`cells` returns."""
        return self.t if self.inner else self.u

    @cached_property
    def offset(self) -> FloatArray:
        """The score where those cells are zero."""
        return self.b if self.inner or self.explicit else self.b - self.coordinates.centre @ self.u

    def cells(self, raw: np.ndarray) -> FloatArray:
        """A tile as the products want it: inner coordinates, centred columns, or raw ones; float64."""
        if self.inner:
            z = np.empty((len(raw), self.coordinates.size))
            self.coordinates.tile(raw, out=z)
            return z
        if self.explicit:
            return np.subtract(raw, self.coordinates.centre, dtype=np.float64)
        return raw if raw.dtype == np.float64 else raw.astype(np.float64)


@dataclass(frozen=True)
class Partial:
    """Sums over some rows: losses, slopes times cells, slopes (``lift``), and the Hessian where asked.

    No :class:`~separatrix.core.statistic.Statistic`: its arrays are added to in place and then used up.
    """

    weight: float
    value: float
    gradient: FloatArray
    lift: FloatArray
    hessian: FloatArray | None = None
    radius: float = np.inf
    drift: float = np.inf

    def __add__(self, other: Partial) -> Partial:
        copy = replace(self, gradient=self.gradient.copy())
        if self.hessian is not None:
            copy = replace(copy, hessian=self.hessian.copy())
        copy += other
        return copy

    def __iadd__(self, other: Partial) -> Partial:
        np.add(self.gradient, other.gradient, out=self.gradient)
        if self.hessian is not None and other.hessian is not None:
            np.add(self.hessian, other.hessian, out=self.hessian)
        return replace(
            self, weight=self.weight + other.weight, value=self.value + other.value, lift=self.lift + other.lift,
            radius=max(self.radius, other.radius), drift=max(self.drift, other.drift),
        )  # fmt: skip


# a trial step may leave the range of numbers: F is inf or NaN there
@np.errstate(over="ignore", invalid="ignore")
def evaluate_block(
    block: Block, task: SweepTask, memo: FloatArray | None
) -> tuple[Partial, FloatArray | None]:
    block = block.thinned(task.stride)
    stored = block.sparse and not (task.inner or task.explicit)
    if task.order == 2:
        if stored and task.class_basis is None and pairs_pay(block.X, task.u.shape[0]):
            return _second_order_sparse(block, task), memo
        return _second_order(block, task), memo
    if stored:
        return _first_order_sparse(block, task, memo)
    return _first_order_dense(block, task), memo


def _weighted(block: Block, part: slice, *arrays: FloatArray) -> float:
    """Scale arrays by the tile's weights in place; return the tile's total weight."""
    if block.weight is None:
        return float(part.stop - part.start)
    weight = block.weight[part]
    for array in arrays:
        array *= weight.reshape((-1,) + (1,) * (array.ndim - 1))
    return float(weight.sum())


def _first_order_dense(block: Block, task: SweepTask) -> Partial:
    # the short side is turned: the weights of K classes before the sweep of a block, their slopes' sums after it
    factor, offset = task.spread(task.factor), task.spread(task.offset)
    gradient, lift = np.zeros_like(factor), np.zeros_like(offset, dtype=float)
    weight = value = radius = drift = 0.0
    squares: FloatArray | None = None
    for part in block.tiles(task.u.shape[0]):
        cells = task.cells(block.dense(part))
        if task.want_radius:
            squares = np.empty(cells.shape, order=order_of(cells)) if squares is None else squares
            radius = max(radius, _radius_squared(_present(block, part, cells), task, squares))
        if task.moved is not None:
            drift = max(drift, _drift(_present(block, part, cells), task))
        losses, slope = value_slope(task.loss, _scores_of(cells, factor, offset), block.y[part])
        weight += _weighted(block, part, losses, slope)
        value += float(losses.sum())
        gradient += np.dot(cells.T, slope)
        lift += slope.sum(axis=0)
    measured = np.inf if task.moved is None else drift
    return Partial(
        weight, value, task.gather(gradient), task.gather(lift), None, float(np.sqrt(radius)), measured
    )


def _present(block: Block, part: slice, cells: FloatArray) -> FloatArray:
    """The rows of a tile that weigh something."""
    return cells if block.weight is None else cells[block.weight[part] > 0]


def _drift(cells: FloatArray, task: SweepTask) -> float:
    """The most a row's score changed; with K classes the widest range of its changes."""
    assert task.moved is not None
    factor, offset = task.moved
    change = task.spread(np.dot(cells, factor) + offset)
    if change.ndim == 1:
        return float(max(change.max(initial=0.0), -change.min(initial=0.0)))
    return float(np.ptp(change, axis=1).max(initial=0.0))


def _first_order_sparse(
    block: Block, task: SweepTask, memo: FloatArray | None
) -> tuple[Partial, FloatArray | None]:
    """Only the stored cells are touched: the centre enters through the offset and the lift.

    The memo is the memory of the last sweep's gradient: as long as a vocabulary, costly to ask for anew.
    """
    scores = stored_scores(block.X, task.u, task.offset)
    losses, slope = value_slope(task.loss, task.spread(scores), block.y)
    weight = _weighted(block, slice(0, block.n), losses, slope)
    slope = task.gather(slope)
    if memo is None:
        gradient = np.zeros_like(task.u)
    else:
        gradient = memo
        gradient[:] = 0.0
    add_back(block.X, slope, gradient)
    return Partial(weight, float(losses.sum()), gradient, slope.sum(axis=0)), gradient


def _second_order_sparse(block: Block, task: SweepTask) -> Partial:
    """One score a row: the Hessian by pairs of stored cells."""
    X, c = block.X, task.coordinates
    losses, slope, curvature = task.loss.derivatives(stored_scores(X, task.u, task.offset), block.y)
    weight = _weighted(block, slice(0, block.n), losses, slope, curvature)
    gradient, radius = np.zeros_like(task.u), 0.0
    add_back(X, slope, gradient)
    if task.want_radius:
        one = c.lift**2 if task.fit_intercept else 0.0
        radius = float(np.sqrt(one + longest(X, block.weight, c.centre, c.scale)))
    hessian = pairs_hessian(X, curvature, task.fit_intercept)
    return Partial(weight, float(losses.sum()), gradient, slope.sum(axis=0), hessian, radius)


@dataclass(frozen=True, eq=False)
class InterceptSums(Statistic):
    """Sums of slopes (K,) and curvatures (K, K) over some rows; numbers for one score a row."""

    slope: FloatArray
    bend: FloatArray


def intercept_sums(
    block: Block, task: SweepTask, memo: FloatArray | None
) -> tuple[InterceptSums, FloatArray]:
    """Derivatives in the intercept alone; the memo is the rows' scores without it."""
    scores = block_scores(block, task) if memo is None else memo
    _, slope, curvature = task.loss.derivatives(task.spread(scores + task.b), block.y)
    _weighted(block, slice(0, block.n), slope, curvature)
    slope, curvature = slope.sum(axis=0), curvature.sum(axis=0)
    if task.class_basis is not None:
        slope, curvature = task.gather(slope), task.class_basis.T @ curvature @ task.class_basis
    return InterceptSums(slope, curvature), scores


def block_scores(block: Block, task: SweepTask) -> FloatArray:
    """The score of every row of the block, the intercept left out."""
    offset = task.offset - task.b
    if block.sparse and not (task.inner or task.explicit):
        return stored_scores(block.X, task.u, offset)
    scores = np.empty((block.n, *task.u.shape[1:]))
    for part in block.tiles(task.u.shape[0]):
        scores[part] = np.dot(task.cells(block.dense(part)), task.factor) + offset
    return scores


def _second_order(block: Block, task: SweepTask) -> Partial:
    """The sums of the first order, and of curvature (problems/bends.py), rows with a column of ones.

    Near the origin the raw cells are used as they are and H is centred and scaled afterwards, which spares two
    passes over the tile; far from it, or with a basis, tiles are brought to inner coordinates first.
    """
    u, offset = task.spread(task.factor), task.spread(task.offset)
    bends = bends_of(len(u), task.fit_intercept, task.class_basis)
    gradient, lift = np.zeros_like(u), np.zeros_like(offset, dtype=float)
    weight = value = radius = 0.0
    for part in block.tiles((len(u) + int(task.fit_intercept)) * bends.tiles):
        cells = task.cells(block.dense(part))
        scores = partial(_scores_of, cells, u, offset)
        losses, slope, bend = bends.derivatives(task.loss, scores, block.y[part])
        weight += _weighted(block, part, losses, slope)
        value += float(losses.sum())
        gradient += np.dot(cells.T, slope)
        lift += slope.sum(axis=0)
        if task.want_radius:
            radius = max(radius, _radius_squared(_present(block, part, cells), task, bends.room(cells)))
        bends.add(cells, bend, None if block.weight is None else block.weight[part])
    gradient, lift = task.gather(gradient), task.gather(lift)
    return Partial(weight, value, gradient, lift, bends.total(), float(np.sqrt(radius)))


def _scores_of(cells: FloatArray, u: FloatArray, offset: FloatArray) -> FloatArray:
    scores = np.dot(cells, u)
    scores += offset
    return scores


def _radius_squared(cells: FloatArray, task: SweepTask, scratch: FloatArray) -> float:
    """max ‖z_i‖² of a tile, the intercept's one included; ``scratch`` has room for the tile."""
    c = task.coordinates
    one = c.lift**2 if task.fit_intercept else 0.0
    if len(cells) == 0:
        return 0.0
    if task.inner:
        return one + float(np.einsum("ij,ij->i", cells, cells).max(initial=0.0))
    s2 = c.scale**2
    room = scratch.ravel("K")[: cells.size].reshape(cells.shape, order=order_of(cells))
    squares = np.multiply(cells, cells, out=room)
    norms = np.dot(squares, s2)
    if task.explicit:
        return one + float(norms.max(initial=0.0))
    norms -= np.dot(cells, 2.0 * s2 * c.centre)
    return one + max(float(norms.max()) + float(np.sum(s2 * c.centre**2)), 0.0)


def farthest(block: Block, task: tuple[Coordinates, bool, FloatArray], _memo: None) -> tuple[Largest, None]:
    """max_i ‖Rᵀz_i‖² over rows that weigh something, R (q, r) over inner coordinates and the intercept."""
    c, one, root = task
    largest = 0.0
    for part in block.tiles(len(root)):
        raw = _present(block, part, block.dense(part))
        z = np.empty((len(raw), c.size))
        c.tile(raw, out=z)
        turned = z @ root[: c.size]
        if one:
            turned += c.lift * root[-1]
        largest = max(largest, float(np.einsum("ij,ij->i", turned, turned).max(initial=0.0)))
    return Largest(np.array(largest)), None


def to_inner(hessian: FloatArray, q: int, task: SweepTask) -> None:
    """H of raw columns → H of inner ones, in place: T H Tᵀ with T = [scale·I, −scale·centre; 0, lift]."""
    c, one = task.coordinates, int(task.fit_intercept)
    width = q - one
    for a in range(0, 0 if task.inner else len(hessian), q):
        for b in range(0, len(hessian), q):
            block = hessian[a : a + q, b : b + q]
            if one:
                block[:-1] -= np.multiply.outer(c.centre, block[-1])
                block[:, :-1] -= np.multiply.outer(block[:, -1], c.centre)
            block[:width] *= c.scale[:, None]
            block[:, :width] *= c.scale
    if one:
        hessian[q - 1 :: q] *= c.lift
        hessian[:, q - 1 :: q] *= c.lift
