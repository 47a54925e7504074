"""Passes of dual coordinate ascent over rows in memory, compiled, without the GIL (solve/ascent.py explains).

One β_i at a time to its best value, w = Σ β_i x_i kept alongside:

    min over β ∈ [low, high] of ½Q(β − β_i)² + g(β − β_i) + ε|β|,     g = η_i − t_i + d_i β_i,   Q = ‖x_i‖² + ρ + d_i

d = 1/(2c) for a squared loss, else 0; ρ is the weight of the intercept's own column. A row whose β stays at a bound
(or at zero inside a tube) by more than the last pass's largest violation is set aside. Rows are CSR, or dense.
O(cells) a pass.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import inlined, loop, loop_with, reads
from separatrix.loops.memory import prefetch_cells

AHEAD = 2  # rows: enough time for memory to answer


@inlined
def _draw(state):
    """The next of a xorshift sequence, in place: the order of rows depends on its seed alone."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return x


@loop
def shuffle(active, count, state):
    """The first ``count`` entries in a new order (Fisher–Yates)."""
    for i in range(count - 1, 0, -1):
        j = np.int64(_draw(state) % np.uint64(i + 1))
        active[i], active[j] = active[j], active[i]


@inlined
def _best(beta, g, q, low, high, epsilon):
    """argmin of ½q(b − β)² + g(b − β) + ε|b| on [low, high]."""
    if q <= 0.0:  # an empty row: only the linear part is left
        return high if g + epsilon < 0.0 else low if g - epsilon > 0.0 else beta
    to = beta - g / q
    if epsilon > 0.0:
        e = epsilon / q
        to = to - e if to > e else to + e if to < -e else 0.0
    return min(max(to, low), high)


@inlined
def _settled(beta, g, low, high, epsilon, margin):
    """Whether the optimum of this row alone is its bound, or zero in a tube, by more than ``margin``."""
    if beta == low and low != 0.0:
        return g - epsilon >= margin
    if beta == high and high != 0.0:
        return g + epsilon <= -margin
    if beta == 0.0:
        below = low == 0.0 or g <= epsilon - margin
        above = high == 0.0 or g >= margin - epsilon
        if low == 0.0 and high > 0.0:
            return g + epsilon >= margin
        if high == 0.0 and low < 0.0:
            return g - epsilon <= -margin
        return below and above
    return False


@loop
def sparse_pass(
    data, indices, indptr, norms, target, low, high, bend, epsilon, rho, w, lift, beta, active, count, margin
):
    """One pass over the ``count`` active rows; returns (still active, largest violation).

    ``lift`` = [intercept, Σβ]; the intercept moves by ρ dβ with every step.
    """
    worst, k = 0.0, 0
    while k < count:
        i = active[k]
        first, last = indptr[i], indptr[i + 1]
        if k + AHEAD < count:
            following = active[k + AHEAD]
            prefetch_cells(data, indices, indptr[following], indptr[following + 1])
        score = 0.0
        for at in range(first, last):
            score += data[at] * w[np.uint64(indices[at])]
        g = score + lift[0] - target[i] + bend[i] * beta[i]
        q = norms[i] + rho + bend[i]
        if _settled(beta[i], g, low[i], high[i], epsilon, margin):
            count -= 1
            active[k], active[count] = active[count], active[k]
            continue
        k += 1
        to = _best(beta[i], g, q, low[i], high[i], epsilon)
        step = to - beta[i]
        if step != 0.0:
            worst = max(worst, abs(step) * q)
            beta[i] = to
            lift[1] += step
            lift[0] += rho * step
            for at in range(first, last):
                w[np.uint64(indices[at])] += step * data[at]
    return count, worst


@reads("X")
@loop_with({"reassoc", "contract"})
def dense_pass(X, norms, target, low, high, bend, epsilon, rho, w, lift, beta, active, count, margin):
    """As :func:`sparse_pass` for an array (n, p)."""
    worst, k, p = 0.0, 0, X.shape[1]
    while k < count:
        i = active[k]
        score = 0.0
        for j in range(p):
            score += X[i, j] * w[j]
        g = score + lift[0] - target[i] + bend[i] * beta[i]
        q = norms[i] + rho + bend[i]
        if _settled(beta[i], g, low[i], high[i], epsilon, margin):
            count -= 1
            active[k], active[count] = active[count], active[k]
            continue
        k += 1
        to = _best(beta[i], g, q, low[i], high[i], epsilon)
        step = to - beta[i]
        if step != 0.0:
            worst = max(worst, abs(step) * q)
            beta[i] = to
            lift[1] += step
            lift[0] += rho * step
            for j in range(p):
                w[j] += step * X[i, j]
    return count, worst


@loop_with({"reassoc", "contract"})
def joint_pass(data, indices, indptr, norms, own, others, codes, first, squared, rho, w, lift, beta, order):
    """One pass for the machines ``first`` … of one-vs-rest together: w (p, K) and β (n, K), a row of X is read once.

    Row i costs ``own_i`` in the machine of its class and ``others_i`` in the rest. Returns the largest violation.
    """
    k_count = w.shape[1]
    score, step = np.empty(k_count), np.empty(k_count)
    worst = 0.0
    for at_row in range(order.shape[0]):
        i = order[at_row]
        begin, end = indptr[i], indptr[i + 1]
        if at_row + AHEAD < order.shape[0]:
            following = order[at_row + AHEAD]
            prefetch_cells(data, indices, indptr[following], indptr[following + 1])
        for k in range(k_count):
            score[k] = lift[0, k]
        middle = begin + (end - begin) // 4 * 4
        for at in range(begin, middle, 4):
            x0, x1, x2, x3 = data[at], data[at + 1], data[at + 2], data[at + 3]
            j0, j1 = np.uint64(indices[at]), np.uint64(indices[at + 1])
            j2, j3 = np.uint64(indices[at + 2]), np.uint64(indices[at + 3])
            for k in range(k_count):
                score[k] += (x0 * w[j0, k] + x1 * w[j1, k]) + (x2 * w[j2, k] + x3 * w[j3, k])
        for at in range(middle, end):
            x, j = data[at], np.uint64(indices[at])
            for k in range(k_count):
                score[k] += x * w[j, k]
        mine, moved = codes[i] - first, 0
        for k in range(k_count):
            positive = k == mine
            cost = own[i] if positive else others[i]
            bend = 0.5 / cost if squared else 0.0
            top = np.inf if squared else cost
            g = score[k] + bend * beta[i, k] + (-1.0 if positive else 1.0)
            q = norms[i] + rho + bend
            low, high = (0.0, top) if positive else (-top, 0.0)
            to = _best(beta[i, k], g, q, low, high, 0.0)
            d = to - beta[i, k]
            step[k] = d
            if d != 0.0:
                moved += 1
                worst = max(worst, abs(d) * q)
                beta[i, k] = to
                lift[1, k] += d
                lift[0, k] += rho * d
        if moved * 4 > k_count:
            for at in range(begin, end):
                x, j = data[at], np.uint64(indices[at])
                for k in range(k_count):
                    w[j, k] += step[k] * x
        elif moved > 0:
            for k in range(k_count):
                d = step[k]
                if d != 0.0:
                    for at in range(begin, end):
                        w[np.uint64(indices[at]), k] += d * data[at]
    return worst


@loop
def own_sums(data, indices, indptr, codes, first, beta, out):
    """out_jk += Σ over rows of class first + k of β_ik x_ij: the positive part of each machine's weights."""
    for i in range(codes.shape[0]):
        k = codes[i] - first
        if 0 <= k < out.shape[1]:
            b = beta[i, k]
            if b != 0.0:
                for at in range(indptr[i], indptr[i + 1]):
                    out[np.uint64(indices[at]), k] += b * data[at]


@inlined
def _best_row(g, alpha, cost, mine, a, order, to):
    """argmin over α of ½a‖α‖² + (g − a·alpha)·α, Σα = 0, α_mine ≤ cost, the others ≤ 0 (Keerthi and others, 2008)."""
    k_count = g.shape[0]
    if a <= 0.0:  # an empty row: all its cost against one rival
        for k in range(k_count):
            to[k] = 0.0
        to[mine] = cost
        to[1 if mine == 0 else 0] = -cost
        return
    for k in range(k_count):
        order[k] = g[k] - a * alpha[k]
    order[mine] += a * cost
    order.sort()
    level = order[k_count - 1] - a * cost
    r = 1
    while r < k_count and level < r * order[k_count - 1 - r]:
        level += order[k_count - 1 - r]
        r += 1
    level /= r
    for k in range(k_count):
        top = cost if k == mine else 0.0
        to[k] = min(top, (level - (g[k] - a * alpha[k])) / a)


@loop_with({"reassoc", "contract"})
def together_pass(data, indices, indptr, norms, cost, codes, rho, w, lift, alpha, order):
    """One pass of the joint machine: w (p, K), α (n, K), a row's K numbers at once; returns the largest violation."""
    k_count = w.shape[1]
    g, to, sort = np.empty(k_count), np.empty(k_count), np.empty(k_count)
    worst = 0.0
    for at_row in range(order.shape[0]):
        i = order[at_row]
        begin, end = indptr[i], indptr[i + 1]
        if at_row + AHEAD < order.shape[0]:
            following = order[at_row + AHEAD]
            prefetch_cells(data, indices, indptr[following], indptr[following + 1])
        mine, c = codes[i], cost[i]
        for k in range(k_count):
            g[k] = lift[0, k] + 1.0
        g[mine] -= 1.0
        for at in range(begin, end):
            x, j = data[at], np.uint64(indices[at])
            for k in range(k_count):
                g[k] += x * w[j, k]
        top, low = -np.inf, np.inf
        for k in range(k_count):
            top = max(top, g[k])
            if alpha[i, k] < (c if k == mine else 0.0):
                low = min(low, g[k])
        if low == np.inf:
            low = g[mine]
        if top - low < 1e-12:
            continue
        worst = max(worst, top - low)
        _best_row(g, alpha[i], c, mine, norms[i] + rho, sort, to)
        for k in range(k_count):
            d = to[k] - alpha[i, k]
            alpha[i, k] = to[k]
            to[k] = d
            lift[1, k] += d
            lift[0, k] += rho * d
        for at in range(begin, end):
            x, j = data[at], np.uint64(indices[at])
            for k in range(k_count):
                w[j, k] += to[k] * x
    return worst
