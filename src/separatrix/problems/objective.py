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
from typing import ClassVar

import numpy as np

from separatrix.core.losses import Loss
from separatrix.core.numerics import FloatArray
from separatrix.data.engine import sweep
from separatrix.data.rows import Rows
from separatrix.problems.blocks import Partial, SweepTask, evaluate_block, farthest, intercept_sums, to_inner
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.small import Tile

DENSE_TILES = 4096  # columns up to which sparse rows far from the origin go through dense, centred tiles
CHEAP = 1 << 20  # products of a Hessian that take less time than what leads to them
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
    # the most a row's scores changed since the point asked about, as a range over classes
    drift: float = np.inf


@dataclass
class Memo:
    """What the sweeps of one solve leave to the next; whoever solves holds it and passes it along.

    ``blocks``: what each block may write on again; ``radius``: max_i ‖z_i‖ once a full sweep has seen it, for it does
    not depend on θ; ``sample``: the rows of the last stride asked for.
    """

    blocks: list[FloatArray | None] | None = None
    radius: float | None = None
    sample: tuple[int, Rows | None] = (1, None)

    def sample_of(self, rows: Rows, stride: int) -> Rows | None:
        """The sampled rows, copied once for all sweeps over them; None where they are not copied."""
        if self.sample[0] != stride:
            self.sample = stride, rows.sampled(stride) if stride > 1 else None
        return self.sample[1]


@dataclass(frozen=True)
class Objective:
    """F over given rows, in given coordinates; ``n_classes`` is None for one score a row.

    ``proven`` is whether the curvature's bound (verdict/gaps.py) speaks of F: whether all of F but parabolas is the
    loss, and its Hessian the one evaluated.
    """

    proven: ClassVar[bool] = True

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

    @cached_property
    def tile(self) -> Tile | None:
        """All rows in these coordinates, where they are few."""
        return Tile.of(self.rows, self.coordinates, self.loss, self.class_basis, self.fit_intercept)

    @cached_property
    def cheap_hessian(self) -> bool:
        """Whether a Hessian costs little more than the way to a sweep without one."""
        return self.tile is not None and self.rows.n * int(np.prod(self.shape)) ** 2 <= CHEAP

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

    @np.errstate(over="ignore", invalid="ignore")  # a trial step may leave the range of numbers
    def evaluate(
        self,
        theta: FloatArray,
        order: int = 1,
        stride: int = 1,
        since: FloatArray | None = None,
        radius: bool = False,
        memo: Memo | None = None,
    ) -> Evaluation:
        """F and its derivatives up to ``order`` at θ by one sweep; over one row of every ``stride`` only.

        With ``since``, a sweep of the first order also measures how far scores moved from that point to θ; with
        ``radius`` it measures max ‖z_i‖ too, as every sweep of the second order does. ``memo`` is what earlier sweeps
        of this objective left, and is written on.
        """
        if stride == 1 and self.tile is not None:
            if memo is not None:
                memo.radius = self.tile.radius
            return self._at_once(self.tile, theta, order, since)
        memo = Memo() if memo is None else memo
        measure = since is not None and order == 1 and not self.rows.sparse
        first_radius = radius and measure and self.coordinates.basis is None
        want_radius = stride == 1 and memo.radius is None and (order == 2 or first_radius)
        sample = memo.sample_of(self.rows, stride)
        rows, thin = (self.rows, stride) if sample is None else (sample, 1)
        task = self.task(*self.split(theta), order, thin, want_radius)
        if since is not None and measure:
            moved = self.task(*self.split(theta - since), order)
            task = replace(task, moved=(moved.factor, moved.offset))
        light = stride > 1 and rows.n * rows.p < LIGHT_CELLS * thin * rows.n_blocks
        total: Partial
        total, kept = sweep(evaluate_block, rows, task, memo.blocks if sample is None else None, light=light)
        if sample is None:
            memo.blocks = kept
        if want_radius:
            memo.radius = total.radius
        hessian = None
        if total.hessian is not None:
            hessian = total.hessian / total.weight
            to_inner(hessian, self.shape[0], task)
            self._add_ridge(hessian)
        penalty = 0.5 * self.ridge * float(np.vdot(task.u, task.u))
        return Evaluation(
            total.value / total.weight + penalty, self._gradient(total, task), hessian,
            self.loose_radius if memo.radius is None else memo.radius, penalty,
            min(total.weight / self.total_weight, 1.0), total.drift,
        )  # fmt: skip

    def _at_once(self, tile: Tile, theta: FloatArray, order: int, since: FloatArray | None) -> Evaluation:
        """:meth:`evaluate` on rows that fit one tile."""
        value, gradient, hessian = tile.sums(theta, order)
        penalty, size = 0.0, self.coordinates.size
        if self.ridge:
            t, matrix = theta[:size], self.ridge_matrix
            pull = (matrix * t.T).T if matrix.ndim == 1 else matrix @ t
            penalty = 0.5 * float(np.vdot(t, pull))
            gradient[:size] += pull
        if hessian is not None:
            self._add_ridge(hessian)
        drift = np.inf if since is None or order == 2 else tile.drift(theta - since)
        return Evaluation(value + penalty, gradient, hessian, tile.radius, penalty, 1.0, drift)

    def leverage(self, inverse: FloatArray) -> float:
        """√max_i Σ_k (z_iᵀ G_kk z_i), G the inverse of some Hessian: with H = G⁻¹, no score moves by more in a step d
        with dᵀHd = 1, nor does the range of K scores by more than √2 times that. One sweep, O(nq²)."""
        q = self.shape[0]
        shared = sum(inverse[a : a + q, a : a + q] for a in range(0, len(inverse), q))
        values, vectors = np.linalg.eigh(shared)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        found = sweep(farthest, self.rows, (self.coordinates, self.fit_intercept, root))[0]
        return float(np.sqrt(found.value))

    def _gradient(self, total: Partial, task: SweepTask) -> FloatArray:
        """∂F/∂θ from sums over raw (or inner) columns and the sum of slopes; ``total`` is used up."""
        c, slope = self.coordinates, total.gradient
        gradient = np.empty(self.shape)
        inside = gradient[: c.size]
        if not (task.inner or task.explicit):
            add_multiple(slope, -1.0, np.multiply.outer(c.centre, total.lift))
        slope /= total.weight
        if task.inner:
            inside[:] = slope
            if self.ridge:
                inside += c.pull(self.ridge * task.u)
        else:
            if self.ridge:
                add_multiple(slope, self.ridge, task.u)
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
            task = self.task(t, b, order=0)
            total, memo = sweep(intercept_sums, self.rows, task, memo)
            slope = np.atleast_1d(total.slope)
            step = np.linalg.solve(np.atleast_2d(total.bend), slope).reshape(np.shape(b))
            b = b - step
            if np.max(np.abs(step)) < 1e-13 * (1.0 + np.max(np.abs(b))):
                break
        return np.concatenate([t, [b / self.coordinates.lift]])

    def task(
        self, t: FloatArray, b: FloatArray, order: int = 1, stride: int = 1, want_radius: bool = False
    ) -> SweepTask:
        """What a block needs to know of θ = (t, b)."""
        c = self.coordinates
        u = np.ascontiguousarray(c.weights(t))
        inner = c.delicate or (order == 2 and (c.basis is not None or c.far))
        explicit = c.far and (not self.rows.sparse or self.rows.p <= DENSE_TILES)
        rest = self.class_basis, self.fit_intercept, order, stride, want_radius, explicit, inner
        return SweepTask(self.loss, t, u, b, c, *rest)

    def _add_ridge(self, hessian: FloatArray) -> None:
        """λ onto the blocks of the diagonal; a column of scale 0 gets a one, so that it stays put."""
        size, q, matrix = self.coordinates.size, self.shape[0], self.ridge_matrix
        blocks = range(0, len(hessian), q)
        if matrix.ndim == 2:
            for a in blocks:
                hessian[a : a + size, a : a + size] += matrix
        elif self._diagonal.any():
            diagonal = np.einsum("ii->i", hessian)  # a view that can be written to
            for a in blocks:
                diagonal[a : a + size] += self._diagonal

    @cached_property
    def _diagonal(self) -> FloatArray:
        """λ·scale², and a one for a column of scale 0."""
        return self.ridge_matrix + (self.coordinates.scale == 0)


def add_multiple(y: FloatArray, a: float, x: FloatArray) -> None:
    """y += a·x without a temporary: these are as long as a vocabulary."""
    from scipy.linalg.blas import daxpy, saxpy

    (daxpy if y.dtype == np.float64 else saxpy)(x.reshape(-1), y.reshape(-1), a=a)


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
