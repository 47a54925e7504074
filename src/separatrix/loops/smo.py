"""The inner loops of sequential minimal optimisation, compiled, without the GIL.

A variable may rise where β < h and fall where β > l. With v = −∂f/∂β, a pair (i, j) that moves by β_i + d, β_j − d
keeps Σβ and gains where v_i > v_j; the best d is (v_i − v_j)/(K_ii + K_jj − 2K_ij), cut off at the box ([6321]
"SMO"). Of the partners of the largest v_i the one that gains most, (v_i − v_j)²/(…), is taken.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import instruction, loop, loop_with

TAU = 1e-12  # curvature of a pair that has none
BINS = 512  # of a histogram; the bits above its number say what a variable may do
RISE, FALL = 1024, 2048
FAR = 1e150  # added to a slope to take it out of the running; its square is still a number
FAR_SINGLE = 1e18


@instruction
def larger(a, b):
    """The larger of two numbers of one type, neither of them NaN."""
    return max(a, b)


@instruction
def smaller(a, b):
    """The smaller of two numbers of one type, neither of them NaN."""
    return min(a, b)


@loop
def slopes(score, position, linear, beta, low, high, v):
    """v_t = −score − linear; (largest v that may rise, where, smallest that may fall, where)."""
    up, lo = -np.inf, np.inf
    i, j = -1, -1
    for t in range(v.shape[0]):
        x = -score[position[t]] - linear[t]
        v[t] = x
        if x > up and beta[t] < high[t]:
            up, i = x, t
        if x < lo and beta[t] > low[t]:
            lo, j = x, t
    return up, i, lo, j


@loop
def choose(v, beta, low, high, up, i, lo, j, kept, want):
    """The pair that violates most, the variables kept, and about ``want`` others by how much they violate.

    One pass makes two histograms of v between lo and up, a second takes the outermost bins.
    """
    m = v.shape[0]
    taken = np.zeros(m, np.bool_)
    chosen = np.empty(want + kept.shape[0] + 2, np.int64)
    size = 2
    chosen[0], chosen[1] = i, j
    taken[i] = True
    if j == i:
        size = 1
    taken[j] = True
    for t in kept:
        if not taken[t]:
            taken[t] = True
            chosen[size] = t
            size += 1
    rise, fall = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)
    scale = (BINS - 1) / (up - lo) if up > lo else 0.0
    bins = np.empty(m, np.int16)  # bit 10: may rise, bit 11: may fall
    for t in range(m):
        code = 0
        if not taken[t]:
            x = v[t]
            if beta[t] < high[t] and x > lo:
                code = int((x - lo) * scale)
                rise[code] += 1
                code |= RISE
            if beta[t] > low[t] and x < up:
                at = int((x - lo) * scale)
                fall[at] += 1
                code |= at | FALL
        bins[t] = code
    half = want // 2
    top, count = BINS - 1, rise[BINS - 1]
    while top > 0 and count < half:
        top -= 1
        count += rise[top]
    bottom, count = 0, fall[0]
    while bottom < BINS - 1 and count < half:
        bottom += 1
        count += fall[bottom]
    ups, downs = 0, 0
    # the bins beyond the last are taken whole; of the last, what there is room for
    for whole in range(2):
        for t in range(m):
            code = bins[t]
            if code == 0 or taken[t]:
                continue
            b = code & (BINS - 1)
            if code & RISE and ups < half and ((b > top) if whole == 0 else (b == top)):
                ups += 1
            elif code & FALL and downs < half and ((b < bottom) if whole == 0 else (b == bottom)):
                downs += 1
            else:
                continue
            taken[t] = True
            chosen[size] = t
            size += 1
    return chosen[:size]


@loop_with({"contract", "nsz", "nnan"})
def pairs(K, row, v, beta, low, high, tol, share, limit, negative):
    """Best pairs of the working set until v spreads no more than max(tol, share·its first spread).

    ``K`` (r, q) rows of the working set's kernel matrix, ``row`` (q,) which of them is whose. Returns the number of
    steps, by how much the objective fell, and whether a pair's curvature was below ``negative``: then K is not
    positive semidefinite. Loops have no branches, so that they become vector instructions: what may not rise or fall
    is moved out of the way by FAR, and where a largest value sits is looked up afterwards.
    """
    q = v.shape[0]
    real = v.dtype.type  # single precision where K is: twice as many numbers in a vector
    zero, two, tau, far = real(0.0), real(2.0), real(TAU), real(FAR if v.itemsize == 8 else FAR_SINGLE)
    goal = tol
    gained = 0.0
    indefinite = False
    diagonal, gain = np.empty(q, v.dtype), np.empty(q, v.dtype)
    no_rise, no_fall = np.empty(q, v.dtype), np.empty(q, v.dtype)
    for t in range(q):
        diagonal[t] = K[row[t], t]
        no_rise[t] = zero if beta[t] < high[t] else -far
        no_fall[t] = zero if beta[t] > low[t] else far
    up = real(-np.inf)
    for t in range(q):
        up = larger(up, v[t] + no_rise[t])
    for step in range(limit):
        if up < -0.5 * far:
            return step, gained, indefinite
        i = 0
        while v[i] + no_rise[i] < up:
            i += 1
        Ki = K[row[i]]
        lo, best = real(np.inf), zero
        own = diagonal[i]
        for t in range(q):
            x = v[t] + no_fall[t]
            lo = smaller(lo, x)
            b = larger(up - x, zero)
            g = b * b / larger(own + diagonal[t] - two * Ki[t], tau)
            gain[t] = g
            best = larger(best, g)
        if step == 0:
            goal = max(tol, share * (up - lo))
        if best <= 0.0 or up - lo <= goal:
            return step, gained, indefinite
        j = 0
        while gain[j] < best:
            j += 1
        eta = np.float64(own) + diagonal[j] - 2.0 * Ki[j]
        if eta < negative:
            indefinite = True
        spread = np.float64(up) - v[j]
        d = spread / max(eta, TAU)
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        if d >= room_i or d >= room_j:
            d = min(room_i, room_j)
            beta[i] = high[i] if room_i <= room_j else beta[i] + d
            beta[j] = low[j] if room_j <= room_i else beta[j] - d
        else:
            beta[i] += d
            beta[j] -= d
        for t in (i, j):
            no_rise[t] = zero if beta[t] < high[t] else -far
            no_fall[t] = zero if beta[t] > low[t] else far
        gained += d * (spread - 0.5 * d * eta)
        Kj = K[row[j]]
        move = real(d)
        up = real(-np.inf)
        for t in range(q):
            x = v[t] - move * (Ki[t] - Kj[t])
            v[t] = x
            up = larger(up, x + no_rise[t])
    return limit, gained, indefinite


@loop
def levelled(v, group, beta, low, high, count):
    """v less the middle of its group's violation, so that groups compare: (up, where, lo, where) of the worst.

    Within a group only differences matter; ``count`` groups, each with a sum of its own to keep.
    """
    up, lo = np.full(count, -np.inf), np.full(count, np.inf)
    i, j = np.full(count, -1), np.full(count, -1)
    for t in range(v.shape[0]):
        g = group[t]
        if v[t] > up[g] and beta[t] < high[t]:
            up[g], i[g] = v[t], t
        if v[t] < lo[g] and beta[t] > low[t]:
            lo[g], j[g] = v[t], t
    worst, where = -np.inf, 0
    middle = np.zeros(count)
    for g in range(count):
        if i[g] < 0 or j[g] < 0:  # nothing may move: any level will do
            middle[g] = lo[g] if i[g] < 0 else up[g]
            if i[g] < 0 and j[g] < 0:
                middle[g] = 0.0
            continue
        middle[g] = 0.5 * (up[g] + lo[g])
        if up[g] - lo[g] > worst:
            worst, where = up[g] - lo[g], g
    for t in range(v.shape[0]):
        v[t] -= middle[group[t]]
    if worst == -np.inf:
        return 0.0, -1, 0.0, -1
    return up[where] - middle[where], i[where], lo[where] - middle[where], j[where]


@loop
def pairs_within(K, row, group, v, beta, low, high, tol, share, limit, negative):
    """As :func:`pairs` where both variables of a pair are of one group, 0 or 1, whose sum stays."""
    q = v.shape[0]
    goal, gained, indefinite = tol, 0.0, False
    for step in range(limit):
        up0, up1, lo0, lo1 = -np.inf, -np.inf, np.inf, np.inf
        i0, i1 = -1, -1
        for t in range(q):
            x = np.float64(v[t])
            if group[t] == 0:
                if x > up0 and beta[t] < high[t]:
                    up0, i0 = x, t
                if x < lo0 and beta[t] > low[t]:
                    lo0 = x
            else:
                if x > up1 and beta[t] < high[t]:
                    up1, i1 = x, t
                if x < lo1 and beta[t] > low[t]:
                    lo1 = x
        first = up0 - lo0 >= up1 - lo1
        up, lo, i, own = (up0, lo0, i0, 0) if first else (up1, lo1, i1, 1)
        if step == 0:
            goal = max(tol, share * (up - lo))
        if i < 0 or up - lo <= goal:
            return step, gained, indefinite
        Ki = K[row[i]]
        best, j = 0.0, -1
        for t in range(q):
            if group[t] == own and beta[t] > low[t]:
                spread = up - v[t]
                if spread > 0.0:
                    g = spread * spread / max(np.float64(Ki[i]) + K[row[t], t] - 2.0 * Ki[t], TAU)
                    if g > best:
                        best, j = g, t
        if j < 0:
            return step, gained, indefinite
        eta = np.float64(Ki[i]) + K[row[j], j] - 2.0 * Ki[j]
        if eta < negative:
            indefinite = True
        spread = up - v[j]
        d = spread / max(eta, TAU)
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        if d >= room_i or d >= room_j:
            d = min(room_i, room_j)
            beta[i] = high[i] if room_i <= room_j else beta[i] + d
            beta[j] = low[j] if room_j <= room_i else beta[j] - d
        else:
            beta[i] += d
            beta[j] -= d
        gained += d * (spread - 0.5 * d * eta)
        Kj = K[row[j]]
        for t in range(q):
            v[t] -= d * (Ki[t] - Kj[t])
    return limit, gained, indefinite


@loop
def settled(v, beta, low, high, up, lo, position, keep):
    """keep[position_t] = True where a variable is free or its bound is not yet beyond doubt."""
    for t in range(v.shape[0]):
        if (beta[t] >= high[t] and v[t] > up) or (beta[t] <= low[t] and v[t] < lo):
            continue
        keep[position[t]] = True
