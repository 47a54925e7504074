"""Levels of every column counted by class:  N_kjl = Σ_i [y_i = k, x_ij = l] w_i, compiled where cells are many.

Shapes: cells (n, p) → a table (K, L_j) a column, L_j the largest level met and one. Cost O(np), two passes.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.statistics.grouped import GroupCounts
from separatrix.core.statistics.members import Members
from separatrix.data.moments import row_major, worth_compiling

MOST = float(1 << 31)  # levels beyond this are no levels that a table could hold


def level_counts(X: np.ndarray, members: Members) -> GroupCounts | None:
    """The counts; None of few cells, of soft memberships, and where a cell is neither a level nor missing."""
    if members.codes is None or members.soft is not None or not worth_compiling(X):
        return None
    from separatrix.loops.levels import count_levels, largest_levels

    k, p = members.k, X.shape[1]
    largest = np.full(p, -1.0)
    for _, cells in row_major(X):
        if not largest_levels(cells, MOST, largest):
            return None
    sizes = largest.astype(np.intp) + 1
    first = np.cumsum(sizes) - sizes
    start = np.ascontiguousarray(k * first + np.arange(k)[:, None] * sizes)
    counts = np.zeros(k * int(sizes.sum()))
    weight = np.empty(0) if members.weight is None else members.weight
    for part, cells in row_major(X):
        mine = weight[part] if len(weight) else weight
        count_levels(cells, members.codes[part], mine, start, counts)
    tables = np.split(counts, (k * first[1:]).tolist())
    return GroupCounts(tuple(table.reshape(k, size) for table, size in zip(tables, sizes, strict=True)))
