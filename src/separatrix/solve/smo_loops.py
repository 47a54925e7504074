"""The inner loops of sequential minimal optimisation, compiled, without the GIL.

A variable may rise where β < h and fall where β > l. With v = −∂f/∂β, a pair (i, j) that moves by β_i + d, β_j − d
keeps Σβ and gains where v_i > v_j; the best d is (v_i − v_j)/(K_ii + K_jj − 2K_ij), cut off at the box ([6321]
"SMO"). Of the partners of the largest v_i the one that gains most, (v_i − v_j)²/(…), is taken.
"""

from __future__ import annotations

import numpy as np
from numba import njit

TAU = 1e-12  # curvature of a pair that has none
BINS = 512


@njit(cache=True, nogil=True)
def slopes(score, position, linear, beta, low, high, v):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True)
def choose(v, beta, low, high, up, i, lo, j, kept, want):  # type: ignore[no-untyped-def]
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
    for t in range(m):
        if taken[t]:
            continue
        if beta[t] < high[t] and v[t] > lo:
            rise[int((v[t] - lo) * scale)] += 1
        if beta[t] > low[t] and v[t] < up:
            fall[int((v[t] - lo) * scale)] += 1
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
            if taken[t]:
                continue
            b = int((v[t] - lo) * scale)
            if beta[t] < high[t] and v[t] > lo and ups < half and ((b > top) if whole == 0 else (b == top)):
                ups += 1
            elif (
                beta[t] > low[t]
                and v[t] < up
                and downs < half
                and ((b < bottom) if whole == 0 else (b == bottom))
            ):
                downs += 1
            else:
                continue
            taken[t] = True
            chosen[size] = t
            size += 1
    return chosen[:size]


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def pairs(K, row, v, beta, low, high, tol, share, limit, negative):  # type: ignore[no-untyped-def]
    """Best pairs of the working set until v spreads no more than max(tol, share·its first spread).

    ``K`` (r, q) rows of the working set's kernel matrix, ``row`` (q,) which of them is whose. Returns the number of
    steps, by how much the objective fell, and whether a pair's curvature was below ``negative``: then K is not
    positive semidefinite.
    """
    q = v.shape[0]
    goal = tol
    gained = 0.0
    indefinite = False
    diagonal = np.empty(q)
    for t in range(q):
        diagonal[t] = K[row[t], t]
    up = -np.inf
    i = -1
    for t in range(q):
        if beta[t] < high[t] and v[t] > up:
            up, i = v[t], t
    for step in range(limit):
        if i < 0:
            return step, gained, indefinite
        lo, best, j = np.inf, 0.0, -1
        Ki = K[row[i]]
        for t in range(q):
            if beta[t] > low[t]:
                x = v[t]
                if x < lo:
                    lo = x
                b = up - x
                if b > 0.0:
                    eta = max(diagonal[i] + diagonal[t] - 2.0 * Ki[t], TAU)
                    if b * b > best * eta:
                        best, j = b * b / eta, t
        if step == 0:
            goal = max(tol, share * (up - lo))
        if j < 0 or up - lo <= goal:
            return step, gained, indefinite
        eta = diagonal[i] + diagonal[j] - 2.0 * Ki[j]
        if eta < negative:
            indefinite = True
        d = (up - v[j]) / max(eta, TAU)
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        if d >= room_i or d >= room_j:
            d = min(room_i, room_j)
            beta[i] = high[i] if room_i <= room_j else beta[i] + d
            beta[j] = low[j] if room_j <= room_i else beta[j] - d
        else:
            beta[i] += d
            beta[j] -= d
        gained += d * (up - v[j] - 0.5 * d * eta)
        Kj = K[row[j]]
        up, i = -np.inf, -1
        for t in range(q):
            x = v[t] - d * (Ki[t] - Kj[t])
            v[t] = x
            if x > up and beta[t] < high[t]:
                up, i = x, t
    return limit, gained, indefinite


@njit(cache=True, nogil=True)
def settled(v, beta, low, high, up, lo, position, keep):  # type: ignore[no-untyped-def]
    """keep[position_t] = True where a variable is free or its bound is not yet beyond doubt."""
    for t in range(v.shape[0]):
        if (beta[t] >= high[t] and v[t] > up) or (beta[t] <= low[t] and v[t] < lo):
            continue
        keep[position[t]] = True
