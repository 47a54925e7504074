"""Newton's method for a squared hinge or tube by its rows, compiled, without the GIL:  w = Σ_i a_i z_i,  G = zzᵀ.

    F = ½ aᵀGa + Σ_i c_i h(η_i)²,  η = Ga + b          (G_AA + diag 1/2c) a_A = τ_A − b,  Σ a = 0,  A the rows short

as solve/finite_newton.py has it, for rows of about as many columns as there are of them. N = (G + diag 1/2c)⁻¹ is the
same in every step, so that a step costs O(n²) and a factor of N_II, I the rows that are not short, or of G_AA + diag
1/2c where those are fewer. Shapes: G and N (n, n). Each solution is mended once by what rounding left of it.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import inner_with, loop_with
from separatrix.loops.squares import EPS, LIMIT, MET, SINGULAR, STALLED, _length, _slope

FAST = {"reassoc", "contract"}


@inner_with(FAST)
def _factored(matrix, m):
    """L of the leading m by m block in its place; whether it is positive definite to rounding."""
    for a in range(m):
        row = matrix[a]
        for b in range(a + 1):
            other, total = matrix[b], row[b]
            for k in range(b):
                total -= row[k] * other[k]
            if b < a:
                row[b] = total / other[b]
            elif total > 0.0:
                row[b] = np.sqrt(total)
            else:
                return False
    return True


@inner_with(FAST)
def _back(matrix, m, right):
    """(LLᵀ)⁻¹ of the first m of ``right``, in their place."""
    for a in range(m):
        row, total = matrix[a], right[a]
        for k in range(a):
            total -= row[k] * right[k]
        right[a] = total / row[a]
    for a in range(m - 1, -1, -1):
        row = matrix[a]
        right[a] /= row[a]
        x = right[a]
        for k in range(a):
            right[k] -= row[k] * x


@inner_with(FAST)
def _times(matrix, x, out):
    """out = matrix x."""
    out[:] = 0.0
    for j in range(x.shape[0]):
        factor, row = x[j], matrix[j]
        if factor != 0.0:
            for i in range(out.shape[0]):
                out[i] += factor * row[i]


@inner_with(FAST)
def _sides(target, up, down, epsilon, cost, eta, sought, short, rest):
    """τ, and which rows are short and which are not: (how many are, how many are not, the loss)."""
    m, k, loss = 0, 0, 0.0
    for i in range(eta.shape[0]):
        sought[i] = 0.0
        if cost[i] == 0.0:
            continue
        low, high = target[i] - epsilon - eta[i], eta[i] - target[i] - epsilon
        if low > 0.0 and up[i] > 0.0:
            loss += cost[i] * low * low
            sought[i] = target[i] - epsilon
        elif high > 0.0 and down[i] > 0.0:
            loss += cost[i] * high * high
            sought[i] = target[i] + epsilon
        else:
            rest[k] = i
            k += 1
            continue
        short[m] = i
        m += 1
    return m, k, loss


@inner_with(FAST)
def _prepared(gram, inverse, cost, short, m, rest, k, factor):
    """The factor of the smaller of the two blocks; whether there is one."""
    if k <= m:
        for a in range(k):
            for b in range(a + 1):
                factor[a, b] = inverse[rest[a], rest[b]]
        return _factored(factor, k)
    for a in range(m):
        for b in range(a + 1):
            factor[a, b] = gram[short[a], short[b]]
        factor[a, a] += 0.5 / cost[short[a]]
    return _factored(factor, m)


@inner_with(FAST)
def _over_short(inverse, short, m, rest, k, factor, right, out, part):
    """(G_AA + diag 1/2c)⁻¹ of ``right``, which is zero elsewhere, as the answer is."""
    if k <= m:
        _times(inverse, right, out)
        for j in range(k):
            part[j] = -out[rest[j]]
        _back(factor, k, part)
        for j in range(k):
            x, row = part[j], inverse[rest[j]]
            for i in range(out.shape[0]):
                out[i] += x * row[i]
        for j in range(k):
            out[rest[j]] = 0.0
        return
    for j in range(m):
        part[j] = right[short[j]]
    _back(factor, m, part)
    out[:] = 0.0
    for j in range(m):
        out[short[j]] = part[j]


@inner_with(FAST)
def _parabola(gram, inverse, cost, free, sought, short, m, rest, k, factor, fresh, new, work):
    """a into ``fresh`` and Ga into ``new`` where the parabola of the rows that are short is least: b."""
    right, other, part = work[0], work[1], work[2]
    _over_short(inverse, short, m, rest, k, factor, sought, fresh, part)
    total, shift = 0.0, 0.0
    other[:] = 0.0
    if free:
        right[:] = 0.0
        for j in range(m):
            right[short[j]] = 1.0
        _over_short(inverse, short, m, rest, k, factor, right, other, part)
        for i in range(other.shape[0]):
            total += other[i]
    change = fresh
    for turn in range(2):
        off = 0.0
        if free and m > 0:
            for i in range(fresh.shape[0]):
                off += fresh[i] if turn == 0 else fresh[i] + change[i]
            off /= total
        for i in range(fresh.shape[0]):
            fresh[i] += (0.0 if turn == 0 else change[i]) - off * other[i]
        shift += off
        _times(gram, fresh, new)
        if turn == 0:
            right[:] = 0.0
            for j in range(m):
                i = short[j]
                right[i] = sought[i] - shift - new[i] - 0.5 * fresh[i] / cost[i]
            change = work[3]
            _over_short(inverse, short, m, rest, k, factor, right, change, part)
    return shift


@loop_with(FAST)
def squared_by_rows(gram, inverse, target, up, down, epsilon, cost, free, tol, max_iter, a, eta, work):
    """Minimise from a = 0 and η = 0: (steps, why it ended, b), a and η in their place.

    ``cost`` is c on whichever side a row is short, 0 for rows that are left out, which are the identity's in N; b is
    fitted where ``free``. ``tol`` as for `squared_newton`; ``work`` (9, n) is written on.
    """
    n = gram.shape[0]
    short, rest, factor = np.empty(n, np.int64), np.empty(n, np.int64), np.empty((n, n))
    sought, fresh, new, own, move = work[4], work[5], work[6], work[7], work[8]
    own[:] = 0.0
    b, met = 0.0, False
    for iteration in range(max_iter + 1):
        m, k, value = _sides(target, up, down, epsilon, cost, eta, sought, short, rest)
        if not _prepared(gram, inverse, cost, short, m, rest, k, factor):
            return iteration, SINGULAR, b
        shift = _parabola(gram, inverse, cost, free, sought, short, m, rest, k, factor, fresh, new, work)
        if free and m == 0:
            shift = b
        linear, square = 0.0, 0.0
        for i in range(n):
            d = fresh[i] - a[i]
            value += 0.5 * a[i] * own[i]
            linear += own[i] * d
            square += (new[i] - own[i]) * d
            move[i] = new[i] + shift - eta[i]
        slope, _ = _slope(0.0, linear, square, target, up, down, epsilon, eta, move)
        met = -0.5 * slope <= max(0.1 * tol, 4.0 * EPS) * abs(value)
        if iteration == max_iter or -0.5 * slope <= 4.0 * EPS * abs(value):
            return iteration, MET if met else LIMIT, b
        t = _length(linear, square, target, up, down, epsilon, eta, move)
        if t <= 0.0:
            return iteration, STALLED, b
        for i in range(n):
            a[i] += t * (fresh[i] - a[i])
            own[i] += t * (new[i] - own[i])
            eta[i] += t * move[i]
        b += t * (shift - b)
        if met:
            return iteration, MET, b
    return max_iter, LIMIT, b
