"""The best cut of a column of numbers by Gini's index for more than two classes, compiled.

    score = Σ_k l_k² / W_l + Σ_k r_k² / W_r,      Σ l² += h (2 l + h) and Σ r² −= h (2 r − h) as h goes over

from a histogram of the codes. With weights that are counts all sums are exact; with others Σ r² is summed anew where
W_r is so small that what was taken away would be felt.
Shapes as in :mod:`separatrix.loops.trees.best`. Cost: O(codes · K).
"""

from __future__ import annotations

from separatrix.loops.compiled import lean_inner, lean_inner_with
from separatrix.loops.trees.node import FAST, TIE

SMALL = 64.0  # W over W_r from which Σ r² is summed anew


@lean_inner_with(FAST)
def _gone_over(cells, left, total):
    """(W, what Σ l² gains, what Σ r² loses) as a code's weights of the classes go over, into ``left``."""
    W = 0.0
    up = 0.0
    down = 0.0
    for k in range(total.shape[0]):
        h = cells[k]
        x = left[k]
        z = total[k] - x
        W += h
        up += h * (x + x + h)
        down += h * (z + z - h)
        left[k] = x + h
    return W, up, down


@lean_inner
def _scored(total, left, W, Wl, a, b):
    """The score of a cut with a = Σ l² and b = Σ r², and b."""
    Wr = W - Wl
    if Wr * SMALL < W:
        b = 0.0
        for k in range(total.shape[0]):
            b += (total[k] - left[k]) * (total[k] - left[k])
    return (a * Wr + b * Wl) / (Wl * Wr), b


@lean_inner
def _begun(total, left):
    """Σ r² before anything went left."""
    b = 0.0
    for k in range(total.shape[0]):
        left[k] = 0.0
        b += total[k] * total[k]
    return b


@lean_inner
def by_codes(hist, tally, counted, found, count, total, left, W, m, min_leaf, min_weight, best, answer):
    """As :func:`separatrix.loops.trees.best._search` does it, of numbers none of which is missing."""
    classes = total.shape[0]
    number = 0
    Wl = 0.0
    a = 0.0
    b = _begun(total, left)
    for i in range(count - 1):
        c = found[i]
        more, up, down = _gone_over(hist[c * classes :], left, total)
        Wl += more
        a += up
        b -= down
        if counted:
            number += tally[c]
            if number < min_leaf or m - number < min_leaf:
                continue
        if Wl < min_weight or W - Wl < min_weight or Wl >= W:
            continue
        score, b = _scored(total, left, W, Wl, a, b)
        if score > best + TIE * abs(best):
            best = score
            answer[0] = c
            answer[1] = found[i + 1]
            answer[2] = 0
    return best
