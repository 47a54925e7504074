"""Loops over wide tables that are mostly zeros, compiled, without the GIL:  what is not zero is found once.

    cells that are not zero, line by line        then every sum is as long as they are many
    m_j = Σ_i w_i x_ij / W,  Σ_i w_i (x_ij − m_j)²,  (XXᵀ)_ik = Σ_j x_ij x_kj

Lines are rows or columns, whichever lie in one piece. Shapes: lines (m, q), CSC vectors of X (n, p) with rows in
order. Cost O(np) to find the cells, a fraction of a sum where most are zeros; O(Σ_j nnz_j²) for XXᵀ.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import loop, reads

STEP = 8  # cells that are passed at once where all are zero


@reads("lines")
@loop
def cells_not_zero(lines, data, indices, indptr):
    """Fill the CSR vectors of ``lines``; how many cells, or −1 where there is no room for ``STEP`` more."""
    m, q = lines.shape
    whole, room, at = q - q % STEP, data.shape[0] - STEP, 0
    for i in range(m):
        line = lines[i]
        indptr[i] = at
        for j in range(0, whole, STEP):
            low = (abs(line[j]) + abs(line[j + 1])) + (abs(line[j + 2]) + abs(line[j + 3]))
            high = (abs(line[j + 4]) + abs(line[j + 5])) + (abs(line[j + 6]) + abs(line[j + 7]))
            if low + high == 0.0:
                continue
            if at > room:
                return -1
            for k in range(j, j + STEP):
                x = line[k]
                data[np.uint64(at)] = x
                indices[np.uint64(at)] = k
                at += x != 0.0
        if at > room:
            return -1
        for k in range(whole, q):
            data[at] = line[k]
            indices[at] = k
            at += line[k] != 0.0
    indptr[m] = at
    return at


@loop
def stored_moments(data, indices, indptr, weight, mean, second):
    """Mean and Σ w (x − m)² of every column, zeros included; a column of one value has a second moment of zero."""
    total = weight.sum()
    for j in range(mean.shape[0]):
        first, last = indptr[j], indptr[j + 1]
        sums, own = 0.0, 0.0
        for at in range(first, last):
            w = weight[np.uint64(indices[at])]
            sums += w * data[at]
            own += w
        middle = sums / total
        spread = 0.0 if last - first == weight.shape[0] else (total - own) * middle * middle
        for at in range(first, last):
            d = data[at] - middle
            spread += weight[np.uint64(indices[at])] * d * d
        mean[j], second[j] = middle, max(spread, 0.0) if spread == spread else spread


@loop
def row_products(data, indices, indptr, products):
    """Add XXᵀ to the lower half of ``products`` (n, n)."""
    for j in range(indptr.shape[0] - 1):
        first, last = indptr[j], indptr[j + 1]
        for a in range(first, last):
            x, i = data[a], np.uint64(indices[a])
            for b in range(first, a + 1):
                products[i, np.uint64(indices[b])] += x * data[b]
