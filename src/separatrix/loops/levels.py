"""Levels of columns counted by class, each cell read where it lies:  N_kjl = Σ_i [y_i = k, x_ij = l] w_i.

A cell is a level 0, 1, 2, … or missing (NaN). Of each column there is one run of counters, a class after the other.
Shapes: cells (n, p), row-major. Cost O(np).
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import loop


@loop
def largest_levels(cells, most, largest):
    """Raise ``largest`` (p,) to the largest level of each column; whether every cell is a level below ``most``."""
    n, p = cells.shape
    for i in range(n):
        wrong = 0
        for j in range(p):
            x = np.float64(cells[i, j])
            sound = (x >= 0.0) & (x < most) & (x == np.floor(x)) | (x != x)
            wrong += 0 if sound else 1
            largest[j] = x if x > largest[j] else largest[j]
        if wrong > 0:
            return False
    return True


@loop
def count_levels(cells, codes, weight, start, counts):
    """counts[start_kj + x_ij] += w_i for rows of class k ≥ 0; ``weight`` may be empty (all one)."""
    n, p = cells.shape
    weighted = weight.shape[0] > 0
    for i in range(n):
        k = codes[i]
        if k < 0:
            continue
        w = weight[i] if weighted else 1.0
        for j in range(p):
            x = cells[i, j]
            if x == x:
                counts[start[k, j] + np.int64(x)] += w
