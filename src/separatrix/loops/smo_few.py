"""Pairs of few variables to rounding, with all that is free settled at once on the way, compiled, without the GIL.

    K_FF d + μ1 = v_F,   Σ_F d = 0        of the variables F between their bounds; then β_F + d, v − K_F d

As :func:`separatrix.loops.smo.pairs`, in one call (solve/smo_few.py says when). Cost O(n) a step and O(|F|³) once.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import inner_with, loop
from separatrix.loops.smo import pairs

EPS = 2.220446049250313e-16
MIDDLING = 1e-6  # of the spread at which pairs were left: what is settled lies this close together

_FAST = {"contract", "nsz", "reassoc"}


@inner_with(_FAST)
def _factor(A, right):
    """A = LLᵀ in the lower half of A, and A⁻¹ of both columns of ``right``; whether A is positive definite."""
    m = A.shape[0]
    for a in range(m):
        row = A[a]
        for b in range(a):
            other, total = A[b], row[b]
            for k in range(b):
                total -= row[k] * other[k]
            row[b] = total / other[b]
        pivot, first, second = row[a], right[0, a], right[1, a]
        for k in range(a):
            pivot -= row[k] * row[k]
            first -= row[k] * right[0, k]
            second -= row[k] * right[1, k]
        if not pivot > 0.0:
            return False
        root = np.sqrt(pivot)
        row[a] = root
        right[0, a], right[1, a] = first / root, second / root
    for a in range(m - 1, -1, -1):
        row = A[a]
        right[0, a] /= row[a]
        right[1, a] /= row[a]
        for k in range(a):
            right[0, k] -= row[k] * right[0, a]
            right[1, k] -= row[k] * right[1, a]
    return True


@inner_with(_FAST)
def _settle(K, v, beta, low, high, spread):
    """All that is free at once, where the right variables are; β and v in place.

    Where the box is in the way, K_FF has no factor, or what is free is then spread by more than ``spread``, nothing
    happens. Row t of ``K`` is variable t's.
    """
    n = v.shape[0]
    free = np.empty(n, np.int64)
    m, size = 0, 0.0
    for t in range(n):
        size += abs(beta[t])
        if low[t] < beta[t] and beta[t] < high[t]:
            free[m] = t
            m += 1
    if m < 2:
        return
    A, right = np.empty((m, m)), np.empty((2, m))
    for a in range(m):
        row = K[free[a]]
        for b in range(a + 1):
            A[a, b] = row[free[b]]
        right[0, a], right[1, a] = v[free[a]], 1.0
    if not _factor(A, right):
        return
    first, second = 0.0, 0.0
    for a in range(m):
        first += right[0, a]
        second += right[1, a]
    level, left = first / second, 0.0
    for a in range(m):
        d = right[0, a] - level * right[1, a]
        right[0, a] = d
        left += d
        moved = beta[free[a]] + d
        if not (low[free[a]] < moved and moved < high[free[a]]):
            return
    if not abs(left) <= 4.0 * EPS * size:
        return
    then = v.copy()
    for a in range(m):
        row, d = K[free[a]], right[0, a]
        for t in range(n):
            then[t] -= d * row[t]
    up, lo = then[free[0]], then[free[0]]
    for a in range(m):
        up, lo = max(up, then[free[a]]), min(lo, then[free[a]])
    if not up - lo <= spread:
        return
    for a in range(m):
        beta[free[a]] += right[0, a]
    for t in range(n):
        v[t] = then[t]


@loop
def few_pairs(K, row, v, beta, low, high, rough, fine, limit, negative):
    """Pairs until v spreads no more than ``rough``, what is free at once, and pairs again until ``fine``.

    ``K`` (r, q) and ``row`` (q,) as of :func:`separatrix.loops.smo.pairs`; β and v in place. Returns the number of
    steps, at most ``limit``, and whether K showed itself not positive semidefinite.
    """
    steps, _, indefinite = pairs(K, row, v, beta, low, high, rough, 0.0, limit, negative)
    if not indefinite and K.shape[0] == v.shape[0]:
        _settle(K, v, beta, low, high, MIDDLING * rough)
    more, _, found = pairs(K, row, v, beta, low, high, fine, 0.0, limit - steps, negative)
    return steps + more, indefinite or found
