"""Pairs of variables on a kernel matrix of which only rows that are asked for are made, compiled, without the GIL.

As :func:`separatrix.loops.smo.pairs`, over all rows at once: a variable that moves asks for its row of K, and most
variables never do. Rows stay where they are made, in the order in which they were asked for.

    v ← v − d(K_i − K_j),     d = min((v_i − v_j)/(K_ii + K_jj − 2K_ij), what the box allows)

Of the n rows m are active; variable t belongs to the (t mod m)-th of them. ``K`` (slots, n) holds rows over all
columns, ``near`` (slots, m) over those of active rows: K itself where all are. Cost O(m) a step and O(np) a row made.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import inlined_with, inner_with, loop_with
from separatrix.loops.gram import _two_to_double, _two_to_single
from separatrix.loops.smo import larger, smaller

LINEAR, POWER, RADIAL, GIVEN = 0, 1, 2, 3  # what a kernel's row is made of
TAU = 1e-12  # curvature of a pair that has none
FAR = 1e150  # added to a slope to take it out of the running; its square is still a number
FAR_SINGLE = 1e18
LANES = 64  # of a row that are made at once: vector instructions without a rest
BLOCK = 256  # variables among which the one that is looked for is searched

_FAST = {"contract", "nsz", "nnan"}


@inlined_with(_FAST)
def _single(t):
    """2^t as far as single precision has numbers so small."""
    return _two_to_single(min(max(np.float32(t), np.float32(-126.0)), np.float32(0.0)))


@inlined_with(_FAST)
def _double(t):
    """2^t as far as double precision has."""
    return _two_to_double(min(max(np.float64(t), -1022.0), 0.0))


@inlined_with(_FAST)
def _products(cells, i, start, part, count):
    """part_r = x_i·x_(start + r) of ``count`` rows."""
    p = cells.shape[0]
    whole = p // 4 * 4
    for r in range(count):
        part[r] = 0.0
    for k in range(0, whole, 4):
        a, b, c, d = cells[k, i], cells[k + 1, i], cells[k + 2, i], cells[k + 3, i]
        c0, c1 = cells[k, start : start + count], cells[k + 1, start : start + count]
        c2, c3 = cells[k + 2, start : start + count], cells[k + 3, start : start + count]
        for r in range(count):
            part[r] += (a * c0[r] + b * c1[r]) + (c * c2[r] + d * c3[r])
    for k in range(whole, p):
        a = cells[k, i]
        c0 = cells[k, start : start + count]
        for r in range(count):
            part[r] += a * c0[r]


@inner_with(_FAST)
def _row(kind, cells, half, gamma, coef0, degree, given, index, i, out):
    """out_r = k(x_i, x_r), from cells (p, n), a row for each column of the table; or from a matrix that is there."""
    n = out.shape[0]
    if kind == GIVEN:
        source = given[index[i]]
        for r in range(n):
            out[r] = source[index[r]]
        return
    whole = n // LANES * LANES
    for start in range(0, whole, LANES):
        _products(cells, i, start, out[start : start + LANES], LANES)
    if whole < n:
        _products(cells, i, whole, out[whole:n], n - whole)
    if kind == RADIAL and out.itemsize == 4:
        for start in range(0, whole, LANES):
            part, near = out[start : start + LANES], half[start : start + LANES]
            for r in range(LANES):
                part[r] = _single(part[r] - (near[r] + half[i]))
        for r in range(whole, n):
            out[r] = _single(out[r] - (half[r] + half[i]))
    elif kind == RADIAL:
        for start in range(0, whole, LANES):
            part, near = out[start : start + LANES], half[start : start + LANES]
            for r in range(LANES):
                part[r] = _double(part[r] - (near[r] + half[i]))
        for r in range(whole, n):
            out[r] = _double(out[r] - (half[r] + half[i]))
    elif kind == POWER:
        for r in range(n):
            base = gamma * out[r] + coef0
            value = 1.0
            for _ in range(degree):
                value *= base
            out[r] = value


@loop_with(_FAST)
def rows_asked(kind, cells, half, gamma, coef0, degree, given, index, K, slot, used, wanted):
    """Rows ``wanted`` of the matrix into K (slots, n), as far as they are missing: slot_i is where row i is, or −1.

    Returns how many slots are used.
    """
    for i in wanted:
        if slot[i] < 0:
            _row(kind, cells, half, gamma, coef0, degree, given, index, i, K[used])
            slot[i] = used
            used += 1
    return used


@inner_with(_FAST)
def _moved(v, near, far, d, no_rise, no_fall, far_away):
    """v −= d(near − far); then the largest v that may rise, the block it is in, and the smallest that may fall."""
    n, up, lo, where = near.shape[0], -far_away, far_away, -1
    for off in range(0, v.shape[0], n):
        for first in range(0, n, BLOCK):
            last = min(first + BLOCK, n)
            slope, x, y = v[off + first : off + last], near[first:last], far[first:last]
            rise, fall = no_rise[off + first : off + last], no_fall[off + first : off + last]
            most = -far_away
            for r in range(last - first):
                z = slope[r] - d * (x[r] - y[r])
                slope[r] = z
                most = larger(most, z + rise[r])
                lo = smaller(lo, z + fall[r])
            if most > up:
                up, where = most, off + first
    return up, where, lo


@inner_with(_FAST)
def _partner(v, no_fall, near, diagonal, own, up, over):
    """The variable that gains most with one whose slope is ``up`` and row ``near``, or −1; ``over`` scales slopes."""
    n, zero, two, least = near.shape[0], v.dtype.type(0.0), v.dtype.type(2.0), v.dtype.type(TAU)
    best, block, edge = zero, -1, 0
    for off in range(0, v.shape[0], n):
        for first in range(0, n, BLOCK):
            last = min(first + BLOCK, n)
            slope, fall = v[off + first : off + last], no_fall[off + first : off + last]
            x, length = near[first:last], diagonal[first:last]
            most = zero
            for r in range(last - first):
                short = larger((up - (slope[r] + fall[r])) * over, zero)
                most = larger(most, short * short / larger(own + length[r] - two * x[r], least))
            if most > best:
                best, block, edge = most, first, off
    best, j = zero, -1
    if block >= 0:
        for r in range(block, min(block + BLOCK, n)):
            short = (up - (v[edge + r] + no_fall[edge + r])) * over
            if short > zero:
                gain = short * short / larger(own + diagonal[r] - two * near[r], least)
                if gain > best:
                    best, j = gain, edge + r
    return j


@inner_with(_FAST)
def _asked(kind, cells, half, gamma, coef0, degree, given, index, K, near, slot, used, active, at):
    """How many slots are used once the row of the active row ``at`` is there."""
    row = active[at]
    if slot[row] >= 0:
        return used
    _row(kind, cells, half, gamma, coef0, degree, given, index, row, K[used])
    slot[row] = used
    if active.shape[0] < slot.shape[0]:
        source, out = K[used], near[used]
        for r in range(active.shape[0]):
            out[r] = source[active[r]]
    return used + 1


@loop_with(_FAST)
def pairs_asked(
    kind,
    cells,
    half,
    gamma,
    coef0,
    degree,
    given,
    index,
    K,
    near,
    slot,
    used,
    active,
    diagonal,
    group,
    levels,
    v,
    beta,
    low,
    high,
    tol,
    limit,
    negative,
):
    """Best pairs of all variables until v spreads no more than ``tol`` in each of ``levels`` groups.

    β and v (q,) in place. Returns the number of steps, the slots used, the largest spread, by how much the
    objective fell, and whether a pair's curvature was below ``negative``: then K is not positive semidefinite.
    """
    n, q, real = diagonal.shape[0], v.shape[0], v.dtype.type
    zero, far = real(0.0), real(FAR if v.itemsize == 8 else FAR_SINGLE)
    gained, indefinite = 0.0, False
    no_rise, no_fall = np.full((levels, q), -far), np.full((levels, q), far)
    for t in range(q):
        if beta[t] < high[t]:
            no_rise[group[t], t] = zero
        if beta[t] > low[t]:
            no_fall[group[t], t] = zero
    Ki, Kj, d = diagonal, diagonal, 0.0  # nothing has moved yet
    for step in range(limit + 1):
        g, up, i, spread = 0, far, -1, -np.inf
        for other in range(levels):
            move = real(d) if other == 0 else zero
            top, where, bottom = _moved(v, Ki, Kj, move, no_rise[other], no_fall[other], far)
            apart = np.float64(top) - bottom if top > -0.5 * far and bottom < 0.5 * far else -np.inf
            if apart > spread:
                g, up, i, spread = other, top, where, apart
        if spread <= tol or step == limit:
            return step, used, spread, gained, indefinite
        rise, fall = no_rise[g], no_fall[g]
        while v[i] + rise[i] < up:
            i += 1
        at = i % n
        used = _asked(kind, cells, half, gamma, coef0, degree, given, index, K, near, slot, used, active, at)
        Ki, own = near[slot[active[at]]], diagonal[at]
        j = _partner(v, fall, Ki, diagonal, own, up, real(1.0 / spread))
        if j < 0:
            return step, used, spread, gained, indefinite
        to = j % n
        used = _asked(kind, cells, half, gamma, coef0, degree, given, index, K, near, slot, used, active, to)
        Kj = near[slot[active[to]]]
        eta = np.float64(own) + diagonal[to] - 2.0 * Ki[to]
        if eta < negative:
            indefinite = True
        apart = np.float64(up) - v[j]
        d = apart / max(eta, TAU)
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        if d >= room_i or d >= room_j:
            d = min(room_i, room_j)
            beta[i] = high[i] if room_i <= room_j else beta[i] + d
            beta[j] = low[j] if room_j <= room_i else beta[j] - d
        else:
            beta[i] += d
            beta[j] -= d
        gained += d * (apart - 0.5 * d * eta)
        for t in (i, j):
            rise[t] = zero if beta[t] < high[t] else -far
            fall[t] = zero if beta[t] > low[t] else far
    return limit, used, 0.0, gained, indefinite
