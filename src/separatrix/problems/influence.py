"""Sums and forms over rows that inference needs of a linear model, in its inner coordinates z (coordinates.py).

    η_i = z_i·θ,     h_i = z_iᵀ A⁻¹ z_i,     Σ_i s_i u_i² z_i z_iᵀ,     Σ_{i in g} s_i u_i z_i

η are scores, h the leverages up to the row's own curvature, the third the "meat" of a robust covariance and the last
the scores of each cluster. For K classes u_i is a vector of the K−1 contrasts and z_i stands for its Kronecker
product with them. One sweep each, so serial, threads and Dask agree. Cost O(np) for η, O(np²) for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import sweep
from separatrix.data.rows import Block
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.objective import Objective


@dataclass(frozen=True)
class Design:
    """How a tile of raw cells becomes rows z, the intercept's column last; ``factor`` is what they meet."""

    coordinates: Coordinates
    fit_intercept: bool
    factor: FloatArray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, objective: Objective, *factor: FloatArray) -> Design:
        return cls(objective.coordinates, objective.fit_intercept, *factor)

    @property
    def size(self) -> int:
        """Columns of z."""
        return self.coordinates.size + int(self.fit_intercept)

    def tiles(self, block: Block) -> Iterator[tuple[slice, FloatArray]]:
        """(slice, z) for every tile of the block."""
        c, q = self.coordinates, self.size
        for part in block.tiles(max(q, block.X.shape[1])):
            raw = block.dense(part)
            z = np.full((len(raw), q), c.lift)
            c.tile(raw, out=z[:, : c.size])
            yield part, z


def row_scores(objective: Objective, theta: FloatArray) -> FloatArray:
    """η of every row, offsets left out: (n,), or (n, K) centred scores of K classes."""
    _, parts = sweep(_scores, objective.rows, Design.of(objective, theta))
    eta = np.concatenate(parts)
    return eta if objective.class_basis is None else eta @ objective.class_basis.T


def _scores(block: Block, design: Design, _memo: None) -> tuple[int, FloatArray]:
    eta = np.empty((block.n, *design.factor.shape[1:]))
    for part, z in design.tiles(block):
        np.dot(z, design.factor, out=eta[part])
    return 0, eta


def row_forms(objective: Objective, root: FloatArray) -> FloatArray:
    """z_iᵀ A⁻¹ z_i with A⁻¹ = root·rootᵀ: (n,), or (n, K−1, K−1) blocks for K classes."""
    _, parts = sweep(_forms, objective.rows, Design.of(objective, root))
    forms = np.concatenate(parts)
    return forms[:, 0, 0] if objective.class_basis is None else forms


def _forms(block: Block, design: Design, _memo: None) -> tuple[int, FloatArray]:
    q = design.size
    heads = len(design.factor) // q
    out = np.empty((block.n, heads, heads))
    for part, z in design.tiles(block):
        turned = [z @ design.factor[k * q : (k + 1) * q] for k in range(heads)]
        for a in range(heads):
            for b in range(a + 1):
                out[part, a, b] = out[part, b, a] = np.einsum("ij,ij->i", turned[a], turned[b])
    return 0, out


def score_products(objective: Objective, slopes: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Σ_i s_i g_i g_iᵀ with g_i = u_i ⊗ z_i: (q, q), or ((K−1)q, (K−1)q); slopes (n,) or (n, K−1)."""
    rows = objective.rows.with_targets(slopes.reshape(len(slopes), -1), weight)
    total: FloatArray = sweep(_products, rows, Design.of(objective))[0]
    return total


def _products(block: Block, design: Design, _memo: None) -> tuple[FloatArray, None]:
    width = design.size * block.y.shape[1]
    total = np.zeros((width, width))
    for part, z in design.tiles(block):
        u = block.y[part]
        if block.weight is not None:
            u = u * np.sqrt(block.weight[part])[:, None]
        g = (u[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        total += g.T @ g
    return total, None


def cluster_scores(
    objective: Objective, slopes: FloatArray, weight: FloatArray | None, codes: np.ndarray, groups: int
) -> FloatArray:
    """Σ_{i in g} s_i u_i ⊗ z_i of each group: (groups, (K−1)q)."""
    targets = np.column_stack([slopes.reshape(len(slopes), -1), codes])
    rows = objective.rows.with_targets(targets, weight)
    total: FloatArray = sweep(_by_group, rows, (Design.of(objective), groups))[0]
    return total


def _by_group(block: Block, task: tuple[Design, int], _memo: None) -> tuple[FloatArray, None]:
    design, groups = task
    total = np.zeros((groups, design.size * (block.y.shape[1] - 1)))
    for part, z in design.tiles(block):
        u = block.y[part, :-1]
        if block.weight is not None:
            u = u * block.weight[part][:, None]
        np.add.at(
            total, block.y[part, -1].astype(np.intp), (u[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        )
    return total, None
