"""The frozen problem of a linear model and its sweeps: value, gradient, Hessian.

    F(w, b) = (1/W) Σ_i s_i ℓ(η_i, y_i) + ½ λ ‖w‖²,      η_i = w·x_i + b,   W = Σ_i s_i

with the intercept b unpenalised and stored apart. Solvers see inner coordinates t in which columns are
centred and scaled (and, where the data ask for it, rotated):

    z = ((x − centre) · scale) B,      w = scale · (B t),      b = b' − w·centre

so that a column's unit or origin changes nothing a solver does; the penalty stays in the user's units.
K-class weights are W = V Qᵀ with Q (K, K−1) orthonormal and orthogonal to 1: no gauge is left to drift.

Shapes: t is (q,) or (q, K−1), q = columns of B plus one for the intercept, which is the last row.
Cost of a sweep: O(np) a class for value and gradient, O(np²) with the Hessian (K(K−1)/2 times that for
K classes). Memory: the statistics of a few blocks, O(q²), plus a tile a thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.losses import Loss
from separatrix.core.numerics import FloatArray
from separatrix.data.coordinates import Coordinates
from separatrix.data.engine import sweep
from separatrix.data.rows import Block, Rows

DENSE_TILES = 4096  # columns up to which sparse rows far from the origin go through dense, centred tiles
LIGHT_CELLS = 1 << 15  # sampled cells a block below which threads cost more than they save


@dataclass(frozen=True)
class Evaluation:
    """F, its gradient, and where asked its Hessian in the inner coordinates; ``radius`` = max_i ‖z_i‖.

    ``share`` is the part of the total weight the sums went over: H of all rows ⪰ share · ``hessian``.
    """

    value: float
    gradient: FloatArray
    hessian: FloatArray | None = None
    radius: float = np.inf
    penalty: float = 0.0  # the part of ``value`` that is ½λ‖w‖²
    share: float = 1.0
    drift: float = (
        np.inf
    )  # the most a row's scores changed since the point asked about, as a range over classes


@dataclass(frozen=True)
class Objective:
    """F over given rows, in given coordinates; ``n_classes`` is None for one score a row."""

    rows: Rows
    loss: Loss
    ridge: float
    fit_intercept: bool
    coordinates: Coordinates
    n_classes: int | None = None

    @cached_property
    def total_weight(self) -> float:
        return self.rows.total_weight

    @cached_property
    def _radius(self) -> list[float]:
        """max_i ‖z_i‖ once a full second-order sweep has seen it: it does not depend on θ."""
        return []

    @cached_property
    def _memory(self) -> list[FloatArray | None]:
        """What a sweep may write on again in the next, block by block."""
        return []

    @cached_property
    def class_basis(self) -> FloatArray | None:
        """Q (K, K−1): orthonormal columns, orthogonal to the vector of ones (Helmert's)."""
        return None if self.n_classes is None else helmert(self.n_classes)

    @cached_property
    def ridge_matrix(self) -> FloatArray:
        return self.coordinates.ridge(self.ridge)

    @property
    def shape(self) -> tuple[int, ...]:
        q = self.coordinates.size + int(self.fit_intercept)
        return (q,) if self.n_classes is None else (q, self.n_classes - 1)

    def in_coordinates(self, coordinates: Coordinates) -> Objective:
        return replace(self, coordinates=coordinates)

    def zero(self) -> FloatArray:
        return np.zeros(self.shape)

    def split(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(t, b') of θ."""
        if self.fit_intercept:
            return theta[:-1], self.coordinates.lift * theta[-1]
        return theta, np.zeros(theta.shape[1:])

    def to_user(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(coef, intercept) in the user's units: (p,) and a number, or (K, p) and (K,)."""
        t, b = self.split(theta)
        w = self.coordinates.weights(t)
        b = b - self.coordinates.centre @ w if self.fit_intercept else b
        if self.class_basis is None:
            return w, b
        return self.class_basis @ w.T, self.class_basis @ b

    def from_user(self, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """θ of (coef, intercept); K-class weights lose the common part no probability depends on."""
        w = coef.T if self.class_basis is None else coef.T @ self.class_basis
        b = intercept if self.class_basis is None else intercept @ self.class_basis
        t = self.coordinates.inner(w)
        if not self.fit_intercept:
            return t
        return np.concatenate([t, [(b + self.coordinates.centre @ w) / self.coordinates.lift]])

    def penalty(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """½ λ ‖w‖² and its gradient in θ."""
        gradient = np.zeros_like(theta)
        if self.ridge == 0:
            return 0.0, gradient
        t, _ = self.split(theta)
        w = self.coordinates.weights(t)
        gradient[: len(t)] = self.ridge * self.coordinates.pull(w)
        return 0.5 * self.ridge * float(np.vdot(w, w)), gradient

    @cached_property
    def loose_radius(self) -> float:
        """max_i ‖z_i‖ ≤ √Σ_i ‖z_i‖², which standardised columns of equal weight make √(n q); inf elsewhere."""
        c = self.coordinates
        plain = self.fit_intercept and self.rows.weight is None and c.basis is None and c.standardised
        return float(np.sqrt(self.rows.n * self.shape[0])) if plain else np.inf

    def evaluate(
        self,
        theta: FloatArray,
        order: int = 1,
        stride: int = 1,
        since: FloatArray | None = None,
        radius: bool = False,
    ) -> Evaluation:
        """F and its derivatives up to ``order`` at θ by one sweep; over every ``stride``-th tile only.

        With ``since``, a sweep of the first order also measures how far scores moved from that point to θ; with
        ``radius`` it measures max ‖z_i‖ too, as every sweep of the second order does.
        """
        measure = since is not None and order == 1 and not self.rows.sparse
        first_radius = radius and measure and self.coordinates.basis is None
        want_radius = stride == 1 and not self._radius and (order == 2 or first_radius)
        task = self._task(*self.split(theta), order, stride, want_radius)
        if since is not None and measure:
            moved = self._task(*self.split(theta - since), order)
            task = replace(task, moved=(moved.factor, moved.offset))
        light = stride > 1 and self.rows.n * self.rows.p < LIGHT_CELLS * stride * self.rows.n_blocks
        total: _Partial
        total, self._memory[:] = sweep(_evaluate, self.rows, task, self._memory or None, light=light)
        if want_radius:
            self._radius.append(total.radius)
        hessian = None
        if total.hessian is not None:
            hessian = total.hessian / total.weight
            _to_inner(hessian, self.shape[0], task)
            self._add_ridge(hessian)
        penalty = 0.5 * self.ridge * float(np.vdot(task.u, task.u))
        return Evaluation(
            total.value / total.weight + penalty,
            self._gradient(total, task),
            hessian,
            self._radius[0] if self._radius else self.loose_radius,
            penalty,
            min(total.weight / self.total_weight, 1.0),
            total.drift,
        )

    def _gradient(self, total: _Partial, task: _Task) -> FloatArray:
        """∂F/∂θ from sums over raw (or inner) columns and the sum of slopes; ``total`` is used up."""
        c, slope = self.coordinates, total.gradient
        gradient = np.empty(self.shape)
        inside = gradient[: c.size]
        if not (task.inner or task.explicit):
            _add_multiple(slope, -1.0, np.multiply.outer(c.centre, total.lift))
        slope /= total.weight
        if task.inner:
            inside[:] = slope
            if self.ridge:
                inside += c.pull(self.ridge * task.u)
        else:
            if self.ridge:
                _add_multiple(slope, self.ridge, task.u)
            c.pull(slope, out=inside)
        if self.fit_intercept:
            gradient[-1] = c.lift * total.lift / total.weight
        return gradient

    def settle_intercept(self, theta: FloatArray, steps: int = 6) -> FloatArray:
        """θ with the intercept at its optimum for the given weights.

        The scores are computed once and kept as the rows' memo; Newton on the intercept then only reads them.
        """
        t, b = self.split(theta)
        if not self.fit_intercept:
            return theta
        memo = None
        for _ in range(steps):
            task = self._task(t, b, order=0)
            total, memo = sweep(_intercept_sums, self.rows, task, memo)
            slope = np.atleast_1d(total.slope)
            step = np.linalg.solve(np.atleast_2d(total.bend), slope).reshape(np.shape(b))
            b = b - step
            if np.max(np.abs(step)) < 1e-13 * (1.0 + np.max(np.abs(b))):
                break
        return np.concatenate([t, [b / self.coordinates.lift]])

    def _task(
        self, t: FloatArray, b: FloatArray, order: int, stride: int = 1, want_radius: bool = False
    ) -> _Task:
        c = self.coordinates
        u = np.ascontiguousarray(c.weights(t))
        inner = c.delicate or (order == 2 and (c.basis is not None or c.far))
        explicit = c.far and (not self.rows.sparse or self.rows.p <= DENSE_TILES)
        return _Task(
            self.loss,
            t,
            u,
            b,
            c,
            self.class_basis,
            self.fit_intercept,
            order,
            stride,
            want_radius,
            explicit,
            inner,
        )

    def _add_ridge(self, hessian: FloatArray) -> None:
        """λ onto the blocks of the diagonal; a column of scale 0 gets a one, so that it stays put."""
        size, q = self.coordinates.size, self.shape[0]
        matrix = self.ridge_matrix
        block = np.diag(matrix) if matrix.ndim == 1 else np.array(matrix)
        if self.coordinates.basis is None:
            block[np.diag_indices(size)] += self.coordinates.scale == 0
        for k in range(1 if self.n_classes is None else self.n_classes - 1):
            part = slice(k * q, k * q + size)
            hessian[part, part] += block


def _add_multiple(y: FloatArray, a: float, x: FloatArray) -> None:
    """y += a·x without a temporary: these are as long as a vocabulary."""
    from scipy.linalg.blas import daxpy

    daxpy(x.reshape(-1), y.reshape(-1), a=a)


def helmert(k: int) -> FloatArray:
    """Orthonormal (K, K−1) whose columns sum to zero.

    >>> helmert(2).round(4).tolist()
    [[-0.7071], [0.7071]]
    """
    q = np.zeros((k, k - 1))
    for j in range(1, k):
        q[:j, j - 1] = -1.0
        q[j, j - 1] = j
        q[:, j - 1] /= np.sqrt(j * (j + 1.0))
    return q


@dataclass(frozen=True)
class _Task:
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
class _Partial:
    """Sums over some rows: losses, slopes times cells, slopes (``lift``), and the Hessian where asked."""

    weight: float
    value: float
    gradient: FloatArray
    lift: FloatArray
    hessian: FloatArray | None = None
    radius: float = np.inf
    drift: float = np.inf

    def __add__(self, other: _Partial) -> _Partial:
        copy = replace(self, gradient=self.gradient.copy())
        if self.hessian is not None:
            copy = replace(copy, hessian=self.hessian.copy())
        copy += other
        return copy

    def __iadd__(self, other: _Partial) -> _Partial:
        np.add(self.gradient, other.gradient, out=self.gradient)
        if self.hessian is not None and other.hessian is not None:
            np.add(self.hessian, other.hessian, out=self.hessian)
        return replace(
            self,
            weight=self.weight + other.weight,
            value=self.value + other.value,
            lift=self.lift + other.lift,
            radius=max(self.radius, other.radius),
            drift=max(self.drift, other.drift),
        )


def _evaluate(block: Block, task: _Task, memo: FloatArray | None) -> tuple[_Partial, FloatArray | None]:
    if task.order == 2:
        return _second_order(block, task), memo
    if block.sparse and not (task.inner or task.explicit):
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


def _first_order_dense(block: Block, task: _Task) -> _Partial:
    factor, offset = task.factor, task.offset
    gradient, lift = np.zeros_like(factor), np.zeros_like(task.b, dtype=float)
    weight = value = radius = drift = 0.0
    squares: FloatArray | None = None
    for part in block.tiles(task.u.shape[0], task.stride):
        cells = task.cells(block.dense(part))
        if task.want_radius:
            squares = np.empty(cells.shape) if squares is None else squares
            radius = max(radius, _radius_squared(_present(block, part, cells), task, squares))
        if task.moved is not None:
            drift = max(drift, _drift(_present(block, part, cells), task))
        losses, slope = task.loss.value_slope(task.spread(np.dot(cells, factor) + offset), block.y[part])
        weight += _weighted(block, part, losses, slope)
        value += float(losses.sum())
        slope = task.gather(slope)
        gradient += np.dot(cells.T, slope)
        lift += slope.sum(axis=0)
    measured = np.inf if task.moved is None else drift
    return _Partial(weight, value, gradient, lift, None, float(np.sqrt(radius)), measured)


def _present(block: Block, part: slice, cells: FloatArray) -> FloatArray:
    """The rows of a tile that weigh something."""
    return cells if block.weight is None else cells[block.weight[part] > 0]


def _drift(cells: FloatArray, task: _Task) -> float:
    """The most a row's score changed; with K classes the widest range of its changes."""
    assert task.moved is not None
    factor, offset = task.moved
    change = task.spread(np.dot(cells, factor) + offset)
    if change.ndim == 1:
        return float(max(change.max(initial=0.0), -change.min(initial=0.0)))
    return float(np.ptp(change, axis=1).max(initial=0.0))


def _first_order_sparse(
    block: Block, task: _Task, memo: FloatArray | None
) -> tuple[_Partial, FloatArray | None]:
    """Only the stored cells are touched: the centre enters through the offset and the lift.

    The memo is the memory of the last sweep's gradient: as long as a vocabulary, costly to ask for anew.
    """
    from separatrix.data import sparse

    X = block.X
    losses, slope = task.loss.value_slope(task.spread(_sparse_scores(X, task.u, task.offset)), block.y)
    weight = _weighted(block, slice(0, block.n), losses, slope)
    slope = task.gather(slope)
    if memo is None:
        gradient = np.zeros_like(task.u)
    else:
        gradient = memo
        gradient[:] = 0.0
    back = sparse.back_1 if task.u.ndim == 1 else sparse.back_k
    back(X.data, X.indices, X.indptr, np.ascontiguousarray(slope), gradient)
    return _Partial(weight, float(losses.sum()), gradient, slope.sum(axis=0)), gradient


def _sparse_scores(X: Any, u: FloatArray, offset: FloatArray) -> FloatArray:
    from separatrix.data import sparse

    scores = np.empty((X.shape[0], *u.shape[1:]))
    product = sparse.scores_1 if u.ndim == 1 else sparse.scores_k
    product(X.data, X.indices, X.indptr, u, offset, scores)
    return scores


@dataclass(frozen=True)
class _InterceptSums:
    """Sums of slopes (K,) and curvatures (K, K) over some rows; numbers for one score a row."""

    slope: FloatArray
    bend: FloatArray

    def __add__(self, other: _InterceptSums) -> _InterceptSums:
        return _InterceptSums(self.slope + other.slope, self.bend + other.bend)


def _intercept_sums(block: Block, task: _Task, memo: Any) -> tuple[_InterceptSums, FloatArray]:
    """Derivatives in the intercept alone; the memo is the rows' scores without it."""
    scores = _scores(block, task) if memo is None else memo
    _, slope, curvature = task.loss.derivatives(task.spread(scores + task.b), block.y)
    _weighted(block, slice(0, block.n), slope, curvature)
    slope, curvature = slope.sum(axis=0), curvature.sum(axis=0)
    if task.class_basis is not None:
        slope, curvature = task.gather(slope), task.class_basis.T @ curvature @ task.class_basis
    return _InterceptSums(slope, curvature), scores


def _scores(block: Block, task: _Task) -> FloatArray:
    """The score of every row of the block, the intercept left out."""
    offset = task.offset - task.b
    if block.sparse and not (task.inner or task.explicit):
        return _sparse_scores(block.X, task.u, offset)
    scores = np.empty((block.n, *task.u.shape[1:]))
    for part in block.tiles(task.u.shape[0]):
        scores[part] = np.dot(task.cells(block.dense(part)), task.factor) + offset
    return scores


def _second_order(block: Block, task: _Task) -> _Partial:
    """One product AᵀA a tile and class pair, A the rows weighted by root curvature, with a column of ones.

    Near the origin the raw cells are used as they are and H is centred and scaled afterwards, which spares two
    passes over the tile; far from it, or with a basis, tiles are brought to inner coordinates first.
    """
    basis, u, offset = task.class_basis, task.factor, task.offset
    width = u.shape[0]
    q = width + int(task.fit_intercept)
    heads = 1 if basis is None else basis.shape[1]
    hessian, product = np.zeros((q * heads, q * heads)), np.empty((q, q))
    gradient, lift = np.zeros_like(u), np.zeros_like(task.b, dtype=float)
    weight = value = radius = 0.0
    buffer: FloatArray | None = None
    for part in block.tiles(q, task.stride):
        cells = task.cells(block.dense(part))
        losses, slope, curvature = task.loss.derivatives(
            task.spread(np.dot(cells, u) + offset), block.y[part]
        )
        weight += _weighted(block, part, losses, slope, curvature)
        value += float(losses.sum())
        slope = task.gather(slope)
        gradient += np.dot(cells.T, slope)
        lift += slope.sum(axis=0)
        if buffer is None:
            buffer = np.empty((len(cells), q))
        if task.want_radius:
            radius = max(radius, _radius_squared(_present(block, part, cells), task, buffer))
        z = buffer[: len(cells)]
        if basis is None:
            np.sqrt(curvature, out=curvature)
            np.multiply(cells, curvature[:, None], out=z[:, :width])
            if task.fit_intercept:
                z[:, -1] = curvature
            hessian += np.dot(z.T, z, out=product)  # NumPy sees AᵀA and calls syrk, without the GIL
        else:
            z[:, :width] = cells
            if task.fit_intercept:
                z[:, -1] = 1.0
            _add_class_blocks(hessian, z, np.einsum("ka,nkl,lb->nab", basis, curvature, basis, optimize=True))
    _symmetrise(hessian, q)
    return _Partial(weight, value, gradient, lift, hessian, float(np.sqrt(radius)))


def _radius_squared(cells: FloatArray, task: _Task, scratch: FloatArray) -> float:
    """max ‖z_i‖² of a tile, the intercept's one included; ``scratch`` has room for the tile."""
    c = task.coordinates
    one = c.lift**2 if task.fit_intercept else 0.0
    if len(cells) == 0:
        return 0.0
    if task.inner:
        return one + float(np.einsum("ij,ij->i", cells, cells).max(initial=0.0))
    s2 = c.scale**2
    squares = np.multiply(cells, cells, out=scratch.reshape(-1)[: cells.size].reshape(cells.shape))
    norms = np.dot(squares, s2)
    if task.explicit:
        return one + float(norms.max(initial=0.0))
    norms -= np.dot(cells, 2.0 * s2 * c.centre)
    return one + float(norms.max(initial=0.0)) + float(np.sum(s2 * c.centre**2))


def _to_inner(hessian: FloatArray, q: int, task: _Task) -> None:
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


def _add_class_blocks(hessian: FloatArray, z: FloatArray, weights: FloatArray) -> None:
    """hessian[a, b] += Σ_i weights_iab z_i z_iᵀ for b ≤ a; the other half is filled once at the end."""
    q, blocks = z.shape[1], weights.shape[1]
    for a in range(blocks):
        left = slice(a * q, a * q + q)
        for b in range(a + 1):
            hessian[left, b * q : b * q + q] += (z * weights[:, a, b, None]).T @ z


def _symmetrise(hessian: FloatArray, q: int) -> None:
    for a in range(len(hessian) // q):
        for b in range(a):
            hessian[b * q : b * q + q, a * q : a * q + q] = hessian[a * q : a * q + q, b * q : b * q + q].T
