"""Products of a CSR block with a few columns, compiled, without the GIL:  η = XW,  G = Xᵀs.

SciPy's own products hold one thread; these run side by side on blocks. W is (p, K) and row-major, so a
stored cell touches one contiguous line of K numbers. Cost O(nnz·K); XᵀDX is Σ_i nnz_i²/2 additions. Cells may be
float32 or float64; sums are float64.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import loop, loop_with


@loop
def scores_1(data, indices, indptr, w, offset, out):
    """out_i = offset + Σ_j x_ij w_j."""
    for i in range(out.shape[0]):
        total = offset
        for at in range(indptr[i], indptr[i + 1]):
            total += data[at] * w[np.uint64(indices[at])]
        out[i] = total


@loop_with({"contract"})
def scores_k(data, indices, indptr, w, offset, out):
    """out_ik = offset_k + Σ_j x_ij w_jk, four cells at a time: ``out`` is then read and written a fourth as often."""
    k_count = w.shape[1]
    if k_count == 2:  # both fit in registers
        for i in range(out.shape[0]):
            a, b, c, d = offset[0], offset[1], 0.0, 0.0
            first, last = indptr[i], indptr[i + 1]
            middle = first + (last - first) // 2 * 2
            for at in range(first, middle, 2):
                x0, x1 = data[at], data[at + 1]
                j0, j1 = np.uint64(indices[at]), np.uint64(indices[at + 1])
                a += x0 * w[j0, 0]
                b += x0 * w[j0, 1]
                c += x1 * w[j1, 0]
                d += x1 * w[j1, 1]
            if middle < last:
                x0, j0 = data[middle], np.uint64(indices[middle])
                a += x0 * w[j0, 0]
                b += x0 * w[j0, 1]
            out[i, 0], out[i, 1] = a + c, b + d
        return
    for i in range(out.shape[0]):
        for k in range(k_count):
            out[i, k] = offset[k]
        first, last = indptr[i], indptr[i + 1]
        middle = first + (last - first) // 4 * 4
        for at in range(first, middle, 4):
            x0, x1, x2, x3 = data[at], data[at + 1], data[at + 2], data[at + 3]
            j0, j1 = np.uint64(indices[at]), np.uint64(indices[at + 1])
            j2, j3 = np.uint64(indices[at + 2]), np.uint64(indices[at + 3])
            for k in range(k_count):
                out[i, k] += (x0 * w[j0, k] + x1 * w[j1, k]) + (x2 * w[j2, k] + x3 * w[j3, k])
        for at in range(middle, last):
            x = data[at]
            j = np.uint64(indices[at])
            for k in range(k_count):
                out[i, k] += x * w[j, k]


@loop
def back_1(data, indices, indptr, slope, out):
    """out_j += Σ_i x_ij s_i."""
    for i in range(slope.shape[0]):
        s = slope[i]
        if s != 0.0:
            for at in range(indptr[i], indptr[i + 1]):
                out[np.uint64(indices[at])] += data[at] * s


@loop_with({"contract"})
def back_k(data, indices, indptr, slope, out):
    """out_jk += Σ_i x_ij s_ik."""
    k_count = slope.shape[1]
    for i in range(slope.shape[0]):
        for at in range(indptr[i], indptr[i + 1]):
            x = data[at]
            j = np.uint64(indices[at])
            for k in range(k_count):
                out[j, k] += x * slope[i, k]


@loop
def add_pairs(data, indices, indptr, weight, out):
    """out + outᵀ += Σ_i w_i x_i x_iᵀ: each pair of a row's stored cells once, a cell with itself by half.

    Two cells at a time are paired with all before them: what these are is then read half as often.
    """
    for i in range(weight.shape[0]):
        w = weight[i]
        if w != 0.0:
            first, last = indptr[i], indptr[i + 1]
            middle = first + (last - first) // 2 * 2
            for at in range(first, middle, 2):
                x0, j0 = w * data[at], np.uint64(indices[at])
                x1, j1 = w * data[at + 1], np.uint64(indices[at + 1])
                for before in range(first, at):
                    x, j = data[before], np.uint64(indices[before])
                    out[j0, j] += x0 * x
                    out[j1, j] += x1 * x
                out[j0, j0] += 0.5 * x0 * data[at]
                out[j1, j0] += x1 * data[at]
                out[j1, j1] += 0.5 * x1 * data[at + 1]
            if middle < last:
                x0, j0 = w * data[middle], np.uint64(indices[middle])
                for before in range(first, middle):
                    out[j0, np.uint64(indices[before])] += x0 * data[before]
                out[j0, j0] += 0.5 * x0 * data[middle]


@loop
def largest_square(data, indices, indptr, weight, square, line, constant):
    """max_i constant + Σ_j (s_j x_ij² + l_j x_ij), of rows that weigh something; ``weight`` may be empty (all do)."""
    largest, all_weigh = 0.0, weight.shape[0] == 0
    for i in range(indptr.shape[0] - 1):
        if all_weigh or weight[i] > 0.0:
            total = constant
            for at in range(indptr[i], indptr[i + 1]):
                x, j = np.float64(data[at]), np.uint64(indices[at])
                total += x * (square[j] * x + line[j])
            largest = max(largest, total)
    return largest


@loop
def add_rows(data, indices, indptr, rows, weight, out):
    """out_j += Σ_i w_i x_ij over the given rows; ``weight`` may be empty (all one)."""
    if weight.shape[0] == 0:
        for at_row in range(rows.shape[0]):
            i = rows[at_row]
            for at in range(indptr[i], indptr[i + 1]):
                out[np.uint64(indices[at])] += data[at]
        return
    for at_row in range(rows.shape[0]):
        i, w = rows[at_row], weight[at_row]
        for at in range(indptr[i], indptr[i + 1]):
            out[np.uint64(indices[at])] += w * data[at]


@loop
def column_sums(data, indices, spread, sums):
    """Per column (Σ w x, Σ w x²) over the stored cells, side by side; ``spread`` is each cell's weight (or empty)."""
    weighted = spread.shape[0] > 0
    for at in range(data.shape[0]):
        x = np.float64(data[at])
        w = spread[at] if weighted else 1.0
        j = np.uint64(indices[at])
        sums[j, 0] += w * x
        sums[j, 1] += w * x * x


@loop
def row_squares(data, indptr, out):
    """out_i = Σ_j x_ij²."""
    for i in range(out.shape[0]):
        total = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[at]) * np.float64(data[at])
        out[i] = total


@loop
def stored_twice(indices, indptr, last):
    """Whether a row holds a column twice; ``last`` (p,) of −1 takes the row that held a column last."""
    for i in range(indptr.shape[0] - 1):
        for at in range(indptr[i], indptr[i + 1]):
            j = np.uint64(indices[at])
            if last[j] == i:
                return True
            last[j] = i
    return False
