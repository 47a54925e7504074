"""A softmax Hessian, class by class:  H_k = (1/W) Σ_i s_i p_ik (1 − p_ik) z_i z_iᵀ + λ scale²,  k = 1 … K.

The blocks of the diagonal say what a common Gram matrix cannot: how sure the rows are of each class, and which rows
still are not. Once a few steps are taken those are few: rows whose p(1 − p) is small against their class's mean are
left out, and a share of the Gram matrix of a sample stands for all that may count again farther on. A preconditioner
and nothing else: no bound speaks of it, so its products are in single precision.

Cost O(m q²) a class for the m rows that count, O(q³) a factor, O(Kq²) a solution; memory (K + 1) q² floats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix.core.numerics import FloatArray, softmax
from separatrix.data.engine import each_in_threads, one_blas_thread
from separatrix.data.rows import tiles_of
from separatrix.problems.objective import Objective

COUNTS = 0.05  # of a class's mean p(1 − p), from where a row counts
GRAM_SHARE = 0.1  # of that mean, times the Gram matrix, for the rows that do not
SAMPLED = 20  # rows a column in the Gram matrix
LEAST_SAMPLED = 2048
TINY = 1e-12  # of a mean p(1 − p): below it all rows are sure
DAMPING = 1e-5  # of each number of a block's diagonal, added to it: what rounding may have taken

Solve = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class ClassFactors:
    """Factors of the classes' blocks, for rows in memory, in coordinates without a basis; ``gram`` (1/W) Σ s z zᵀ."""

    objective: Objective
    gram: np.ndarray

    @classmethod
    def of(cls, objective: Objective) -> ClassFactors:
        """With the Gram matrix of a sample: one row of every so many, for tables come sorted, or in patterns."""
        rows = objective.rows
        assert objective.class_basis is not None and objective.coordinates.basis is None
        stride = max(1, rows.n // max(SAMPLED * rows.p, LEAST_SAMPLED))
        picked = np.arange(0, rows.n - stride + 1, stride)
        picked += np.random.default_rng(0).integers(0, stride, len(picked))
        weight = np.ones(len(picked)) if rows.weight is None else rows.weight[picked]
        return cls(objective, _squares(objective, picked, weight) / np.float32(weight.sum()))

    def at_origin(self) -> Solve:
        """g ↦ H⁻¹g where p = 1/K, and all blocks are one."""
        k = self.objective.n_classes
        assert k is not None
        return self._solution([self._factor(np.float32((1 / k) * (1 - 1 / k)) * self.gram)] * k)

    def at(self, theta: FloatArray) -> Solve:
        """g ↦ H⁻¹g with the blocks at θ, side by side on threads."""
        bends = _bends(self.objective, theta)
        factors: list[np.ndarray] = [np.empty(0)] * bends.shape[1]

        def factor(k: int) -> None:
            bend = bends[:, k]
            mean = max(bend.sum(dtype=np.float64) / self.objective.total_weight, TINY)
            rows = np.flatnonzero(bend > COUNTS * mean)
            with one_blas_thread():
                block = _squares(self.objective, rows, bend[rows])
                block /= np.float32(self.objective.total_weight)
                block += np.float32(GRAM_SHARE * mean) * self.gram
                factors[k] = self._factor(block)

        each_in_threads(factor, range(len(factors)))
        return self._solution(factors)

    def _factor(self, block: np.ndarray) -> np.ndarray:
        """L with LLᵀ the block and its penalty, damped until it has one."""
        from scipy.linalg import lapack

        c = self.objective.coordinates
        diagonal = np.diag(block).copy()
        diagonal[: c.size] += (self.objective.ridge_matrix + (c.scale == 0)).astype(np.float32)
        diagonal[diagonal <= 0] = diagonal.max(
            initial=TINY
        )  # no row of those picked says anything of the column
        damping = DAMPING
        while damping < 1e3 * len(block):  # from where the diagonal outweighs each row
            np.fill_diagonal(block, np.float32(1.0 + damping) * diagonal)
            chol, info = lapack.spotrf(block, lower=1)
            if info == 0:
                return chol
            damping *= 10.0
        return np.diag(np.sqrt(diagonal))

    def _solution(self, factors: list[np.ndarray]) -> Solve:
        basis, shape = self.objective.class_basis, self.objective.shape
        assert basis is not None

        def solve(gradient: FloatArray) -> FloatArray:
            from scipy.linalg import lapack

            by_class = (gradient.reshape(shape) @ basis.T).astype(np.float32)
            found = [lapack.spotrs(chol, by_class[:, k], lower=1)[0] for k, chol in enumerate(factors)]
            return (np.column_stack(found) @ basis).reshape(gradient.shape)

        return solve


def _bends(objective: Objective, theta: FloatArray) -> np.ndarray:
    """s_i p_ik (1 − p_ik) of every row and class: (n, K)."""
    rows = objective.rows
    coef, intercept = objective.to_user(theta)
    bends = np.empty((rows.n, len(coef)), dtype=np.float32)

    def fill(i: int) -> None:
        block = rows.block(i)
        for part in block.tiles(rows.p):
            chance = softmax(block.dense(part) @ coef.T + intercept)
            chance *= 1.0 - chance
            if block.weight is not None:
                chance *= block.weight[part, None]
            bends[block.start + part.start : block.start + part.stop] = chance

    with one_blas_thread():
        each_in_threads(fill, range(rows.n_blocks))
    return bends


def _squares(objective: Objective, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Σ_i weight_i z_i z_iᵀ over some rows."""
    c, q = objective.coordinates, objective.shape[0]
    sums = np.zeros((q, q), dtype=np.float32)
    for part in tiles_of(len(rows), q):
        z = np.empty((len(rows[part]), q), dtype=np.float32)
        z[:, : c.size] = (objective.rows.source[rows[part]] - c.centre) * c.scale
        if objective.fit_intercept:
            z[:, -1] = c.lift
        z *= np.sqrt(weight[part], dtype=np.float32)[:, None]
        sums += z.T @ z
    return sums
