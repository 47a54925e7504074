"""Newton's method for a squared hinge or tube: on few rows in one call, and its sums over many; without the GIL.

    F(w) = ½‖w_1…p‖² + Σ_i up_i max(0, t_i − ε − η_i)² + down_i max(0, η_i − t_i − ε)²,    η = zw

As solve/finite_newton.py, which has the derivation and takes many rows; here one call is the whole search.
Cost O(nq²) and O(q³) a step, q columns of z; the first p are penalised.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import inner, inner_with, loop, loop_with

EPS = 2.220446049250313e-16
MET, LIMIT, STALLED, SINGULAR = 0, 1, 2, 3


@inner
def _sums(z, target, up, down, epsilon, eta, hessian, pull):
    """Over the rows that are short: Σ 2c z zᵀ (its lower half), Σ β z, and the loss."""
    q = z.shape[1]
    hessian[:] = 0.0
    pull[:] = 0.0
    loss = 0.0
    for i in range(z.shape[0]):
        low, high = target[i] - epsilon - eta[i], eta[i] - target[i] - epsilon
        cost, short = 0.0, 0.0
        if low > 0.0:
            cost, short = up[i], low
        elif high > 0.0:
            cost, short = down[i], -high
        if cost > 0.0:
            loss += cost * short * short
            for a in range(q):
                pull[a] += 2.0 * cost * short * z[i, a]
                weight = 2.0 * cost * z[i, a]
                for b in range(a + 1):
                    hessian[a, b] += weight * z[i, b]
    return loss


@inner
def _solved(hessian, size, step):
    """H⁻¹·step in its place, H scaled to a diagonal of ones; whether H is positive definite to rounding."""
    q = step.shape[0]
    for a in range(q):
        size[a] = np.sqrt(hessian[a, a]) if hessian[a, a] > 0.0 else 1.0
    for a in range(q):
        for b in range(a):
            hessian[a, b] /= size[a] * size[b]
        hessian[a, a] = 1.0 + 8.0 * EPS
        step[a] /= size[a]
    for a in range(q):  # H = LLᵀ, and L⁻¹ of the right side along with it
        for b in range(a):
            total = hessian[a, b]
            for k in range(b):
                total -= hessian[a, k] * hessian[b, k]
            hessian[a, b] = total / hessian[b, b]
        pivot, right = hessian[a, a], step[a]
        for k in range(a):
            pivot -= hessian[a, k] * hessian[a, k]
            right -= hessian[a, k] * step[k]
        if not pivot > 0.0:
            return False
        hessian[a, a] = np.sqrt(pivot)
        step[a] = right / hessian[a, a]
    for a in range(q - 1, -1, -1):
        right = step[a]
        for k in range(a + 1, q):
            right -= hessian[k, a] * step[k]
        step[a] = right / hessian[a, a]
    for a in range(q):
        step[a] /= size[a]
    return True


@inner_with({"reassoc", "contract"})
def _slope(t, linear, square, target, up, down, epsilon, eta, move):
    """dF/dt and d²F/dt² at η + t·move: no row branches, as none can tell beforehand which are short."""
    pull, bend = 0.0, 0.0
    for i in range(eta.shape[0]):
        at = eta[i] + t * move[i]
        low, high = target[i] - epsilon - at, at - target[i] - epsilon
        c_low = up[i] if low > 0.0 else 0.0
        c_high = down[i] if high > 0.0 else 0.0
        pull += (c_high * high - c_low * low) * move[i]
        bend += (c_high + c_low) * move[i] * move[i]
    return linear + t * square + 2.0 * pull, square + 2.0 * bend


@inner
def _length(linear, square, target, up, down, epsilon, eta, move):
    """The t > 0 that minimises F along the step: its slope rises, Newton on it inside a bracket."""
    start, _ = _slope(0.0, linear, square, target, up, down, epsilon, eta, move)
    if not start < 0.0:
        return 0.0
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(60):
        first, second = _slope(t, linear, square, target, up, down, epsilon, eta, move)
        if abs(first) <= -1e-10 * start:
            break
        if first < 0.0:
            low = t
        else:
            high = t
        t = t - first / second if second > 0.0 else 2.0 * t
        if not (low < t and t < high):
            t = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return t


@loop
def step_length(linear, square, target, up, down, epsilon, eta, move):
    """The t > 0 that minimises ½‖w + t·d‖² + the losses at η + t·move, where w·d is ``linear`` and d·d ``square``; 0
    where F does not fall along d."""
    return _length(linear, square, target, up, down, epsilon, eta, move)


@loop_with({"reassoc", "contract"})
def shortfalls(target, up, down, epsilon, eta, curve, change, beta):
    """The losses' slopes −β and curvatures at η, and the change of these: (loss, rows short, rows that changed)."""
    loss, short, changed = 0.0, 0, 0
    for i in range(eta.shape[0]):
        low, high = target[i] - epsilon - eta[i], eta[i] - target[i] - epsilon
        c_low = up[i] if low > 0.0 else 0.0
        c_high = down[i] if high > 0.0 else 0.0
        pull = c_low * low - c_high * high
        bend, before = 2.0 * (c_low + c_high), curve[i]
        loss += c_low * low * low + c_high * high * high
        beta[i], change[i], curve[i] = 2.0 * pull, bend - before, bend
        short += 1 if bend != 0.0 else 0
        changed += 1 if bend != before else 0
    return loss, short, changed


@loop
def squared_newton(z, p, target, up, down, epsilon, tol, max_iter, w, eta, move):
    """Minimise from w, with η = zw, both in place: (steps, why it ended).

    ``tol``: the relative decrease that the parabola may still promise. One more step is taken after that is met.
    """
    n, q = z.shape
    hessian, pull, size, step = np.empty((q, q)), np.empty(q), np.empty(q), np.empty(q)
    met = False
    for iteration in range(max_iter + 1):
        value = _sums(z, target, up, down, epsilon, eta, hessian, pull)
        for a in range(q):
            if a < p:
                value += 0.5 * w[a] * w[a]
                pull[a] -= w[a]
                hessian[a, a] += 1.0
            step[a] = pull[a]
        if not _solved(hessian, size, step):
            return iteration, SINGULAR
        left, linear, square = 0.0, 0.0, 0.0
        for a in range(q):
            left += 0.5 * pull[a] * step[a]
            if a < p:
                linear += w[a] * step[a]
                square += step[a] * step[a]
        met = left <= max(0.1 * tol, 4.0 * EPS) * abs(value)
        if iteration == max_iter or left <= 4.0 * EPS * abs(value):
            return iteration, MET if met else LIMIT
        for i in range(n):
            total = 0.0
            for a in range(q):
                total += z[i, a] * step[a]
            move[i] = total
        t = _length(linear, square, target, up, down, epsilon, eta, move)
        if t <= 0.0:
            return iteration, STALLED
        for a in range(q):
            w[a] += t * step[a]
        for i in range(n):
            eta[i] += t * move[i]
        if met:
            return iteration, MET
    return max_iter, LIMIT
