"""Loops over dense rows that memory alone should bound, compiled, without the GIL.

    Σ_i [y_i = k] w_i x_i,  Σ_i [y_i = k] w_i x_i²        η_ik = c_k + Σ_j x_ij (a_kj x_ij + b_kj)

NumPy would write the squares down before it adds them up; here a cell is read once. Sums go by runs of rows, so
that rounding grows with the number of runs and not of rows. A NaN or an infinity shows in the sums.
Cost O(np) and O(npK).
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import loop, loop_with

RUN = 128  # rows added up before they join the total


@loop
def class_power_sums(X, codes, weight, first, second):
    """Add each class's sums of x and x² (rows of code −1 are left out); ``weight`` may be empty (all one)."""
    n, p = X.shape
    classes = first.shape[0]
    weighted = weight.shape[0] > 0
    one, two = np.zeros((classes, p)), np.zeros((classes, p))
    for start in range(0, n, RUN):
        for i in range(start, min(start + RUN, n)):
            k = codes[i]
            if k < 0:
                continue
            w = weight[i] if weighted else 1.0
            for j in range(p):
                x = np.float64(X[i, j])
                one[k, j] += w * x
                two[k, j] += w * x * x
        for k in range(classes):
            for j in range(p):
                first[k, j] += one[k, j]
                second[k, j] += two[k, j]
                one[k, j] = 0.0
                two[k, j] = 0.0


@loop_with({"reassoc", "contract"})
def quadratic_scores(X, square, slope, constant, out):
    """out_ik += constant_k + Σ_j x_ij (square_kj x_ij + slope_kj)."""
    n, p = X.shape
    for i in range(n):
        for k in range(square.shape[0]):
            total = 0.0
            for j in range(p):
                x = np.float64(X[i, j])
                total += x * (square[k, j] * x + slope[k, j])
            out[i, k] += constant[k] + total
