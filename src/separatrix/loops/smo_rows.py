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
from separatrix.loops.gram import _two_to_double

LINEAR, POWER, RADIAL, GIVEN = 0, 1, 2, 3  # what a kernel's row is made of
TAU = 1e-12  # curvature of a pair that has none
FAR = 1e150  # added to a slope to take it out of the running; its square is still a number
PART = 1024  # of a row that is made at once: it stays in the first-level cache
LANES = 64  # variables side by side, the largest of each lane kept: a maximum of all would go one by one

_FAST = {"contract", "nsz", "nnan"}


@inner_with(_FAST)
def _row(kind, cells, half, gamma, coef0, degree, given, index, i, out):
    """out_r = k(x_i, x_r), from cells (p, n), a row for each column of the table; or from a matrix that is there."""
    n = out.shape[0]
    if kind == GIVEN:
        source = given[index[i]]
        for r in range(n):
            out[r] = source[index[r]]
        return
    p = cells.shape[0]
    whole = p // 4 * 4
    for start in range(0, n, PART):
        stop = min(start + PART, n)
        part = out[start:stop]
        for r in range(stop - start):
            part[r] = 0.0
        for k in range(0, whole, 4):
            a, b, c, d = cells[k, i], cells[k + 1, i], cells[k + 2, i], cells[k + 3, i]
            c0, c1 = cells[k, start:stop], cells[k + 1, start:stop]
            c2, c3 = cells[k + 2, start:stop], cells[k + 3, start:stop]
            for r in range(stop - start):
                part[r] += (a * c0[r] + b * c1[r]) + (c * c2[r] + d * c3[r])
        for k in range(whole, p):
            a = cells[k, i]
            c0 = cells[k, start:stop]
            for r in range(stop - start):
                part[r] += a * c0[r]
        if kind == RADIAL:
            h = half[i]
            near = half[start:stop]
            for r in range(stop - start):
                part[r] = _two_to_double(min(max(part[r] - (near[r] + h), -1022.0), 0.0))
        elif kind == POWER:
            for r in range(stop - start):
                base = gamma * part[r] + coef0
                value = 1.0
                for _ in range(degree):
                    value *= base
                part[r] = value


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


@inlined_with(_FAST)
def _moved(v, off, near, far, d):
    """v −= d(near − far), from ``off`` on."""
    for first in range(0, near.shape[0], LANES):
        last = min(first + LANES, near.shape[0])
        slope, x, y = v[off + first : off + last], near[first:last], far[first:last]
        for r in range(last - first):
            slope[r] -= d * (x[r] - y[r])


@inner_with(_FAST)
def _ends(v, no_rise, no_fall, tops, bottoms):
    """The largest v that may rise and the smallest that may fall, and those of every lane."""
    q = v.shape[0]
    for r in range(LANES):
        tops[r], bottoms[r] = -FAR, FAR
    for first in range(0, q, LANES):
        last = min(first + LANES, q)
        slope, rise, fall = v[first:last], no_rise[first:last], no_fall[first:last]
        for r in range(last - first):
            tops[r] = max(tops[r], slope[r] + rise[r])
        for r in range(last - first):
            bottoms[r] = min(bottoms[r], slope[r] + fall[r])
    up, lo = -FAR, FAR
    for r in range(LANES):
        up, lo = max(up, tops[r]), min(lo, bottoms[r])
    return up if up > -0.5 * FAR else -np.inf, lo if lo < 0.5 * FAR else np.inf


@inner_with(_FAST)
def _partner(v, no_fall, near, diagonal, own, up, spread, size, gains):
    """The variable that gains most with one whose slope is ``up`` and row ``near``, or −1.

    Which one it is single precision decides, of numbers scaled to 1: a division takes half the time.
    """
    n = near.shape[0]
    over, unit, least = 1.0 / spread, 1.0 / size, max(TAU / size, 1e-30)
    for r in range(LANES):
        gains[r] = np.float32(0.0)
    for off in range(0, v.shape[0], n):
        for first in range(0, n, LANES):
            last = min(first + LANES, n)
            slope, fall = v[off + first : off + last], no_fall[off + first : off + last]
            x, length = near[first:last], diagonal[first:last]
            for r in range(last - first):
                short = np.float32(max((up - (slope[r] + fall[r])) * over, 0.0))
                eta = np.float32(max((own + length[r] - 2.0 * x[r]) * unit, least))
                gains[r] = max(gains[r], short * short / eta)
    lane = 0
    for r in range(LANES):
        if gains[r] > gains[lane]:
            lane = r
    best, j = 0.0, -1
    for off in range(0, v.shape[0], n):
        for r in range(lane, n, LANES):
            short = (up - (v[off + r] + no_fall[off + r])) * over
            if short > 0.0:
                gain = short * short / max((own + diagonal[r] - 2.0 * near[r]) * unit, least)
                if gain > best:
                    best, j = gain, off + r
    return j


@inner_with(_FAST)
def _asked(kind, cells, half, gamma, coef0, degree, given, index, K, near, slot, used, active, at):
    """How many slots are used once the row of the active row ``at`` is there."""
    row = active[at]
    if slot[row] >= 0:
        return used
    _row(kind, cells, half, gamma, coef0, degree, given, index, row, K[used])
    slot[row] = used
    if active.shape[0] < K.shape[1]:
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
    n, q = diagonal.shape[0], v.shape[0]
    gained, indefinite = 0.0, False
    no_rise, no_fall = np.full((levels, q), -FAR), np.full((levels, q), FAR)
    for t in range(q):
        if beta[t] < high[t]:
            no_rise[group[t], t] = 0.0
        if beta[t] > low[t]:
            no_fall[group[t], t] = 0.0
    size = 1e-300
    for r in range(n):
        size = max(size, abs(diagonal[r]))
    tops, bottoms, gains = np.empty((levels, LANES)), np.empty(LANES), np.empty(LANES, np.float32)
    for step in range(limit + 1):
        g, up, lo = 0, -np.inf, np.inf
        for other in range(levels):
            top, bottom = _ends(v, no_rise[other], no_fall[other], tops[other], bottoms)
            if other == 0 or top - bottom > up - lo:
                g, up, lo = other, top, bottom
        spread = up - lo
        if spread <= tol or step == limit:
            return step, used, spread, gained, indefinite
        rise, fall = no_rise[g], no_fall[g]
        i = 0
        while tops[g, i] < up:
            i += 1
        while v[i] + rise[i] < up:
            i += LANES
        at = i % n
        used = _asked(kind, cells, half, gamma, coef0, degree, given, index, K, near, slot, used, active, at)
        Ki, own = near[slot[active[at]]], diagonal[at]
        j = _partner(v, fall, Ki, diagonal, own, up, spread, size, gains)
        if j < 0:
            return step, used, spread, gained, indefinite
        to = j % n
        used = _asked(kind, cells, half, gamma, coef0, degree, given, index, K, near, slot, used, active, to)
        Kj = near[slot[active[to]]]
        eta = own + diagonal[to] - 2.0 * Ki[to]
        if eta < negative:
            indefinite = True
        apart = up - v[j]
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
            rise[t] = 0.0 if beta[t] < high[t] else -FAR
            fall[t] = 0.0 if beta[t] > low[t] else FAR
        for off in range(0, q, n):
            _moved(v, off, Ki, Kj, d)
    return limit, used, 0.0, gained, indefinite
