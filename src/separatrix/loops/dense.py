"""Loops over dense rows that memory alone should bound, compiled, without the GIL.

    Σ_i c_i z_i z_iᵀ of narrow rows
    Σ_i [y_i = k] w_i (x_i − s_k),  Σ_i [y_i = k] w_i (x_i − s_k)²        η_ki = c_k − Σ_j ((x_ij − m_kj) r_kj)²

NumPy would write the squares down before it adds them up; here a cell is read once. s_k is a row of the class, so
that a class far from the origin keeps its digits and a column that does not vary has sums of exactly zero. Sums go
by runs of rows, so that rounding grows with the number of runs and not of rows. A NaN or an infinity shows in the
sums. Cost O(np²), O(np) and O(npK).
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import loop, loop_with, reads

STRETCH = 256  # rows of a narrow table that are worked on at once: a dozen columns of them stay at hand
RUN = 128  # rows added up before they join the total, times a sixteenth of the classes


@loop
def class_power_sums(X, codes, weight, shift, seen, first, second):
    """Add each class's sums of x − s and (x − s)² (rows of code −1 are left out); ``weight`` may be empty (all one).

    The first row of a class that is not ``seen`` yet becomes its shift, cells that are no numbers aside.
    """
    n, p = X.shape
    classes = first.shape[0]
    weighted = weight.shape[0] > 0
    one, two = np.zeros((classes, p)), np.zeros((classes, p))
    run = RUN * (1 + classes // 16)
    for start in range(0, n, run):
        for i in range(start, min(start + run, n)):
            k = codes[i]
            if k < 0:
                continue
            if not seen[k]:
                seen[k] = True
                for j in range(p):
                    x = np.float64(X[i, j])
                    shift[k, j] = x if np.isfinite(x) else 0.0
            if weighted:
                w = weight[i]
                for j in range(p):
                    d = np.float64(X[i, j]) - shift[k, j]
                    one[k, j] += w * d
                    two[k, j] += w * d * d
            else:
                for j in range(p):
                    d = np.float64(X[i, j]) - shift[k, j]
                    one[k, j] += d
                    two[k, j] += d * d
        for k in range(classes):
            for j in range(p):
                first[k, j] += one[k, j]
                second[k, j] += two[k, j]
                one[k, j] = 0.0
                two[k, j] = 0.0


@loop_with({"contract"})
def normal_scores(cells, mean, root, constant, out):
    """out_ki = constant_k − Σ_j ((cells_ji − mean_kj) root_kj)², cells (p, m) by columns; a root of 0: left out."""
    p, m = cells.shape
    for k in range(mean.shape[0]):
        for i in range(m):
            out[k, i] = constant[k]
        for j in range(p):
            centre, scale = mean[k, j], root[k, j]
            if scale == 0.0:
                continue
            for i in range(m):
                u = (cells[j, i] - centre) * scale
                out[k, i] -= u * u


@loop
def level_scores(cells, first, table, out):
    """out_ik += Σ_j table[first_j + x_ij, k]: level x_ij of column j, the place after its levels where there is no
    such level, the next after that where the cell is missing."""
    n, p = cells.shape
    for i in range(n):
        for j in range(p):
            x, start, size = cells[i, j], first[j], first[j + 1] - first[j] - 2
            at = start + size
            if x != x:
                at += 1
            elif x >= 0.0 and x < size:
                at = start + np.int64(x)
            for k in range(out.shape[1]):
                out[i, k] += table[at, k]


@reads("cells")
@loop_with({"reassoc", "contract"})
def narrow_squares(cells, n, p, row, column, bend, out):
    """out += Σ_i bend_i z_i z_iᵀ, z = (x, 1) or x as ``out`` has room, x_ij = cells[i·row + j·column].

    BLAS is made for wide rows. A stretch of rows is laid out by columns, whose products are then added up in turn.
    """
    q = out.shape[0]
    z, own = np.empty((q, STRETCH)), np.empty(STRETCH)
    for i in range(STRETCH):
        z[q - 1, i] = 1.0
    for start in range(0, n, STRETCH):
        size = min(STRETCH, n - start)
        for j in range(p):
            at = start * row + j * column
            if row == 1:
                for i in range(size):
                    z[j, i] = cells[at + i]
            else:
                for i in range(size):
                    z[j, i] = cells[at + i * row]
        for a in range(q):
            for i in range(size):
                own[i] = bend[start + i] * z[a, i]
            for b in range(a + 1):
                total = 0.0
                for i in range(size):
                    total += own[i] * z[b, i]
                out[a, b] += total
                if b < a:
                    out[b, a] += total
