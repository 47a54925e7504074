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


@dataclass(frozen=True)
class Evaluation:
    """F, its gradient, and where asked its Hessian in the inner coordinates; ``radius`` = max_i ‖z_i‖."""

    value: float
    gradient: FloatArray
    hessian: FloatArray | None = None
    radius: float = np.inf


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
            return theta[:-1], theta[-1]
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
        return np.concatenate([t, [b + self.coordinates.centre @ w]])

    def penalty(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """½ λ ‖w‖² and its gradient in θ."""
        gradient = np.zeros_like(theta)
        if self.ridge == 0:
            return 0.0, gradient
        t, _ = self.split(theta)
        matrix = self.ridge_matrix
        part = (matrix * t.T).T if matrix.ndim == 1 else matrix @ t
        gradient[: len(t)] = part
        return 0.5 * float(np.sum(t * part)), gradient

    def evaluate(self, theta: FloatArray, order: int = 1, stride: int = 1) -> Evaluation:
        """F and its derivatives up to ``order`` at θ by one sweep; over every ``stride``-th tile only."""
        t, b = self.split(theta)
        u = self.coordinates.weights(t)
        if self.class_basis is not None:
            u, b = np.ascontiguousarray(u @ self.class_basis.T), self.class_basis @ b
        task = _Task(
            self.loss, theta, u, b, self.coordinates, self.class_basis, self.fit_intercept, order, stride
        )
        total: _Partial = sweep(_evaluate, self.rows, task)[0]
        penalty, penalty_gradient = self.penalty(theta)
        gradient = total.gradient if total.lift is None else self._pull(total.gradient, total.lift)
        hessian = None
        if total.hessian is not None:
            hessian = total.hessian / total.weight
            self._add_ridge(hessian)
        return Evaluation(
            total.value / total.weight + penalty,
            gradient / total.weight + penalty_gradient,
            hessian,
            total.radius,
        )

    def _pull(self, slope: FloatArray, lift: FloatArray) -> FloatArray:
        """The gradient in θ from sums over raw centred columns and the sum of slopes."""
        if self.class_basis is not None:
            slope, lift = slope @ self.class_basis, lift @ self.class_basis
        gradient = self.coordinates.pull(slope)
        return np.concatenate([gradient, [lift]]) if self.fit_intercept else gradient

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
    """What a block needs to know of θ: u multiplies centred raw columns, b is the score at the centre."""

    loss: Loss
    theta: FloatArray
    u: FloatArray
    b: FloatArray
    coordinates: Coordinates
    class_basis: FloatArray | None
    fit_intercept: bool
    order: int
    stride: int


@dataclass(frozen=True)
class _Partial:
    """Sums over some rows. First order: ``gradient`` is in raw centred columns and ``lift`` sums the slopes;
    second order: ``gradient`` is in θ and there is no ``lift``."""

    weight: float
    value: float
    gradient: FloatArray
    lift: FloatArray | None
    hessian: FloatArray | None = None
    radius: float = np.inf

    def __add__(self, other: _Partial) -> _Partial:
        return _Partial(
            self.weight + other.weight,
            self.value + other.value,
            self.gradient + other.gradient,
            None if self.lift is None or other.lift is None else self.lift + other.lift,
            None if self.hessian is None or other.hessian is None else self.hessian + other.hessian,
            max(self.radius, other.radius),
        )


def _evaluate(block: Block, task: _Task, _memo: Any) -> tuple[_Partial, None]:
    if task.order == 2:
        return _second_order(block, task), None
    if block.sparse:
        return _first_order_sparse(block, task), None
    return _first_order_dense(block, task), None


def _weighted(block: Block, part: slice, *arrays: FloatArray) -> float:
    """Scale arrays by the tile's weights in place; return the tile's total weight."""
    if block.weight is None:
        return float(part.stop - part.start)
    weight = block.weight[part]
    for array in arrays:
        array *= weight.reshape((-1,) + (1,) * (array.ndim - 1))
    return float(weight.sum())


def _first_order_dense(block: Block, task: _Task) -> _Partial:
    c = task.coordinates
    gradient, lift = np.zeros_like(task.u), np.zeros_like(task.b, dtype=float)
    weight = value = 0.0
    explicit = c.far
    offset = task.b if explicit else task.b - c.centre @ task.u
    for part in block.tiles(task.u.shape[0], task.stride):
        cells = block.dense(part)
        if explicit:
            cells = np.subtract(cells, c.centre, dtype=np.float64)
        elif cells.dtype != np.float64:
            cells = cells.astype(np.float64)
        losses, slope = task.loss.value_slope(cells @ task.u + offset, block.y[part])
        weight += _weighted(block, part, losses, slope)
        value += float(losses.sum())
        gradient += cells.T @ slope
        lift += slope.sum(axis=0)
    if not explicit:
        gradient -= np.multiply.outer(c.centre, lift) if task.u.ndim == 2 else c.centre * lift
    return _Partial(weight, value, gradient, lift)


def _first_order_sparse(block: Block, task: _Task) -> _Partial:
    """Only the stored cells are touched: the centre enters through the offset and the lift."""
    from separatrix.data import sparse

    c, X = task.coordinates, block.X
    single = task.u.ndim == 1
    eta = np.empty(block.n if single else (block.n, task.u.shape[1]))
    offset = task.b - c.centre @ task.u
    scores = sparse.scores_1 if single else sparse.scores_k
    scores(X.data, X.indices, X.indptr, task.u, offset, eta)
    losses, slope = task.loss.value_slope(eta, block.y)
    weight = _weighted(block, slice(0, block.n), losses, slope)
    gradient = np.zeros_like(task.u)
    (sparse.back_1 if single else sparse.back_k)(X.data, X.indices, X.indptr, slope, gradient)
    lift = slope.sum(axis=0)
    gradient -= np.multiply.outer(c.centre, lift) if not single else c.centre * lift
    return _Partial(weight, float(losses.sum()), gradient, lift)


def _second_order(block: Block, task: _Task) -> _Partial:
    """Everything in inner coordinates with a column of ones, so that H is one product a tile and class pair."""
    c, basis, theta = task.coordinates, task.class_basis, task.theta
    q = theta.shape[0]
    hessian, product = np.zeros((theta.size, theta.size)), np.empty((q, q))
    gradient = np.zeros_like(theta)
    weight = value = radius = 0.0
    buffer: FloatArray | None = None
    for part in block.tiles(q, task.stride):
        cells = block.dense(part)
        if buffer is None:
            buffer = np.empty((len(cells), q))
        z = buffer[: len(cells)]
        c.tile(cells, out=z[:, : c.size])
        if task.fit_intercept:
            z[:, -1] = 1.0
        if task.stride == 1:  # a sample's radius bounds nothing
            radius = max(radius, float(np.einsum("ij,ij->i", z, z).max(initial=0.0)))
        eta = z @ theta if basis is None else z @ theta @ basis.T
        losses, slope, curvature = task.loss.derivatives(eta, block.y[part])
        weight += _weighted(block, part, losses, slope, curvature)
        value += float(losses.sum())
        gradient += z.T @ (slope if basis is None else slope @ basis)
        if basis is None:
            np.sqrt(curvature, out=curvature)
            z *= curvature[:, None]
            hessian += np.dot(z.T, z, out=product)  # NumPy sees AᵀA and calls syrk, without the GIL
        else:
            _add_class_blocks(hessian, z, np.einsum("ka,nkl,lb->nab", basis, curvature, basis, optimize=True))
    _symmetrise(hessian, q)
    return _Partial(weight, value, gradient, None, hessian, float(np.sqrt(radius)))


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
