"""Loops over blocks of a kernel matrix, compiled, without the GIL.

    k(x, z) = 2^t,  t = x̃·z̃ − h_x − h_z,   x̃ = x√(2γ log₂e),  h_x = ½‖x̃‖²       (radial)
    k(x, z) = (γ x·z + r)^d                                                       (polynomial)

2^t is 2^k·2^f with k the nearest whole number and f in [−½, ½]: a polynomial of degree 6 (single precision, error
2e-9) or 10 (double, 2e-16) and k added to the bits of the exponent, which the compiler turns into vector
instructions; the library's own ``exp`` takes one number at a time. Cost O(1) a kernel value; notes [6867] 5, [6321].
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import inlined_with, instruction, loop, loop_with, reads

_FAST = {"contract", "nnan", "nsz"}  # nothing here is NaN: the cells were checked


@instruction
def _bits(number):
    """The bits of a float as a whole number of its size."""
    return number.view(np.int32 if number.itemsize == 4 else np.int64)


@instruction
def _number(bits):
    """The float that has these bits."""
    return bits.view(np.float32 if bits.itemsize == 4 else np.float64)


@inlined_with(_FAST)
def _two_to_single(t):
    """2^t, −126 ≤ t ≤ 0; adding 1.5·2²³ rounds t, and leaves the whole number in the lowest bits."""
    z = t + np.float32(12582912.0)
    f = t - (z - np.float32(12582912.0))
    p = np.float32(0.00015461444698569129)
    p = p * f + np.float32(0.0013400428177615838)
    p = p * f + np.float32(0.009618056678524638)
    p = p * f + np.float32(0.05550327226670302)
    p = p * f + np.float32(0.24022650922288758)
    p = p * f + np.float32(0.6931472067028326)
    p = p * f + np.float32(1.0)
    return _number(np.int32(_bits(p) + (_bits(z) << np.int32(23))))


@inlined_with(_FAST)
def _two_to_double(t):
    """2^t, −1022 ≤ t ≤ 0, as :func:`_two_to_single`."""
    z = t + 6755399441055744.0
    f = t - (z - 6755399441055744.0)
    p = 7.0725859492692237e-9
    p = p * f + 1.0208690299958305835e-7
    p = p * f + 1.3215442587921689653e-6
    p = p * f + 0.000015252657260200837064
    p = p * f + 0.00015403530441736050155
    p = p * f + 0.0013333558230164973899
    p = p * f + 0.0096181291076068885273
    p = p * f + 0.055504108664447719166
    p = p * f + 0.2402265069591009822
    p = p * f + 0.69314718055994998286
    p = p * f + 1.0
    return _number(_bits(p) + (_bits(z) << np.int64(52)))


@loop_with(_FAST)
def radial_single(dots, half_a, half_b, dest, slots, offset):
    """dest[slots_r, offset + j] = 2^(dots_rj − half_a_r − half_b_j) in single precision; dest is not dots."""
    count, width = dots.shape
    for r in range(count):
        row, h = dots[r], half_a[r]
        out = dest[slots[r], offset : offset + width]
        for j in range(width):
            t = row[j] - (half_b[j] + h)
            out[j] = _two_to_single(min(max(t, np.float32(-126.0)), np.float32(0.0)))


@loop_with(_FAST)
def radial_double(dots, half_a, half_b, dest, slots, offset):
    """As :func:`radial_single`, in double precision; ``dest`` may hold single ones."""
    count, width = dots.shape
    for r in range(count):
        row, h = dots[r], half_a[r]
        out = dest[slots[r], offset : offset + width]
        for j in range(width):
            t = row[j] - (half_b[j] + h)
            out[j] = _two_to_double(min(max(t, -1022.0), 0.0))


@loop_with(_FAST)
def radial_single_here(dots, half_a, half_b):
    """dots_rj = 2^(dots_rj − half_a_r − half_b_j) in place, which two names of one array would hide."""
    count, width = dots.shape
    for r in range(count):
        row, h = dots[r], half_a[r]
        for j in range(width):
            t = row[j] - (half_b[j] + h)
            row[j] = _two_to_single(min(max(t, np.float32(-126.0)), np.float32(0.0)))


@loop_with(_FAST)
def radial_double_here(dots, half_a, half_b):
    """As :func:`radial_single_here`, in double precision."""
    count, width = dots.shape
    for r in range(count):
        row, h = dots[r], half_a[r]
        for j in range(width):
            t = row[j] - (half_b[j] + h)
            row[j] = _two_to_double(min(max(t, -1022.0), 0.0))


@loop_with({"contract"})
def power(dots, gamma, coef0, degree, dest, slots, offset):
    """dest[slots_r, offset + j] = (gamma·dots_rj + coef0)^degree, degree a whole number."""
    count, width = dots.shape
    for r in range(count):
        out = dest[slots[r], offset : offset + width]
        for j in range(width):
            base = gamma * dots[r, j] + coef0
            value = 1.0
            for _ in range(degree):
                value *= base
            out[j] = value


@loop_with({"contract"})
def add_rows(cache, slots, coef, first, last, score):
    """score_j += Σ_k coef_k cache[slots_k, j] for first ≤ j < last, four rows at a time; sums are double."""
    count = slots.shape[0]
    whole = count // 4 * 4
    for start in range(first, last, 2048):
        stop = min(start + 2048, last)
        part = score[start:stop]
        for k in range(0, whole, 4):
            a, b, c, d = coef[k], coef[k + 1], coef[k + 2], coef[k + 3]
            r0 = cache[slots[k], start:stop]
            r1 = cache[slots[k + 1], start:stop]
            r2 = cache[slots[k + 2], start:stop]
            r3 = cache[slots[k + 3], start:stop]
            for j in range(stop - start):
                part[j] += (a * r0[j] + b * r1[j]) + (c * r2[j] + d * r3[j])
        for k in range(whole, count):
            a = coef[k]
            r0 = cache[slots[k], start:stop]
            for j in range(stop - start):
                part[j] += a * r0[j]


@reads("cells")
@loop
def gather(cells, rows, columns, dest, slots):
    """dest[slots_k, l] = cells[rows_k, columns_l]."""
    for k in range(rows.shape[0]):
        row = cells[rows[k]]
        out = dest[slots[k]]
        for l in range(columns.shape[0]):
            out[l] = row[columns[l]]


@loop
def narrow(flat, used, width, columns):
    """Keep only the given (rising) columns of ``used`` rows of a flat cache, in place."""
    to = 0
    for r in range(used):
        start = r * width
        for l in range(columns.shape[0]):
            flat[to] = flat[start + columns[l]]
            to += 1
