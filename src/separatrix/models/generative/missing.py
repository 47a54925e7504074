"""Normal rows with missing cells:  what is there has a marginal density, what is gone an expectation ([6867] 3.3).

    log p(x_o | k) = log N(x_o; μ_o, Σ_oo)
    E[x_g | x_o]   = μ_g + Σ_go Σ_oo⁻¹ (x_o − μ_o),       Cov[x_g | x_o] = Σ_gg − Σ_go Σ_oo⁻¹ Σ_og

Rows are taken by the pattern of what is missing. Shapes: cells (n, p). Cost O(p³) a pattern and covariance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupMoments, GroupScatter, Members
from separatrix.data.rows import Block
from separatrix.models.generative.answers import InfiniteCell
from separatrix.models.generative.span import KEPT_AS_ROWS, root_of_columns


def incomplete(cells: np.ndarray) -> np.ndarray | None:
    """Which rows have a missing cell; None when none has."""
    with np.errstate(all="ignore"):
        if cells.dtype.kind != "f" or np.isfinite(np.sum(cells)):
            return None
    if np.isinf(cells).any():
        raise InfiniteCell("X holds an infinite cell")
    gone = np.isnan(cells).any(axis=1)
    return gone if gone.any() else None


def patterns(cells: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(rows, which columns are missing) for every pattern of missing cells."""
    gone = np.isnan(cells)
    distinct, which = np.unique(gone, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for i, pattern in enumerate(distinct):
        yield np.flatnonzero(which == i), pattern


def completed(
    means: FloatArray, sigmas: list[FloatArray], cells: np.ndarray, members: Members, group: np.ndarray
) -> GroupScatter:
    """E step for missing cells: their mean given the others, and the covariance that is left ([6867] 3.3)."""
    total = GroupScatter.zero(group, cells.shape[1])
    R, found = members.matrix, list(patterns(cells))
    for k in np.flatnonzero(R.sum(axis=0) > 0).tolist():
        sigma = sigmas[group[k] if len(sigmas) > 1 else 0]
        mu, mine = means[k], R[:, k] > 0
        full, left = cells.astype(np.float64), np.zeros_like(sigma)
        for rows, gone in found:
            rows = rows[mine[rows]]
            if len(rows):
                there, across = ~gone, np.ix_(~gone, gone)
                gain = np.linalg.solve(sigma[np.ix_(there, there)], sigma[across])
                full[np.ix_(rows, gone)] = mu[gone] + (full[np.ix_(rows, there)] - mu[there]) @ gain
                rest = sigma[np.ix_(gone, gone)] - sigma[across].T @ gain
                left[np.ix_(gone, gone)] += R[rows, k].sum() * rest
        hard = Members(members.k, codes=np.full(int(mine.sum()), k), weight=R[mine, k])
        stat = GroupScatter.of(full[mine], hard, group)
        scatter = np.array(stat.scatter)
        scatter[group[k]] += left
        total = total + replace(stat, scatter=scatter)
    return total


def marginal(
    means: FloatArray, sigmas: list[Any], group: np.ndarray, flat: np.ndarray, cells: np.ndarray
) -> FloatArray:
    """Rows with missing cells: the density of the cells that are there."""
    out = np.empty((len(cells), len(means)))
    for rows, gone in patterns(cells):
        there = ~gone & ~flat
        for g in set(group.tolist()):
            if isinstance(sigmas[g], KEPT_AS_ROWS):
                root = root_of_columns(sigmas[g], there)
                for k in np.flatnonzero(group == g).tolist():
                    u = (cells[np.ix_(rows, there)] - means[k, there]) @ root
                    out[rows, k] = -0.5 * (np.sum(u * u, axis=1) + root.log_det)
                continue
            sigma = sigmas[g][np.ix_(there, there)]
            scale = np.sqrt(np.maximum(np.diag(sigma), 1e-300))
            values, vectors = np.linalg.eigh(sigma / np.outer(scale, scale))
            values = np.maximum(values, 1e-14)
            T = vectors / np.sqrt(values) / scale[:, None]
            log_det = float(np.sum(np.log(values)) + 2 * np.sum(np.log(scale)))
            for k in np.flatnonzero(group == g).tolist():
                u = (cells[np.ix_(rows, there)] - means[k, there]) @ T
                out[rows, k] = -0.5 * (np.sum(u * u, axis=1) + log_det)
    return out


def members_of(members: Members, rows: np.ndarray) -> Members:
    """The memberships of some rows."""
    weight = None if members.weight is None else members.weight[rows]
    if members.soft is not None:
        return Members(members.k, weight=weight, soft=members.soft[rows])
    assert members.codes is not None
    return Members(members.k, codes=members.codes[rows], weight=weight)


def column_moments(block: Block, k: int, _memo: None) -> tuple[GroupMoments, None]:
    total = GroupMoments.zero(k, block.X.shape[1])
    for part in block.tiles(block.X.shape[1]):
        total = total + GroupMoments.centred(block.X[part], block.members(k, part))
    return total, None
