"""What a row's scores come to under softmax, compiled, without the GIL:  log Σ_k e^{η_k} − η_y  and  P − Y.

NumPy would go over the scores a dozen times, a short row at a time; here it is twice, with NumPy's own exponential,
which is written for vectors, in between (problems/blocks.py). Cost O(nK).
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.loops.compiled import loop, loop_with


@loop_with({"contract"})
def less_the_largest(eta, y, own):
    """η_ik − max_k η_ik in the place of η (n, K), and of it what belongs to the row's class y_i in ``own`` (n,)."""
    n, classes = eta.shape
    for i in range(n):
        row = eta[i]
        top = row[0]
        for k in range(1, classes):
            top = max(top, row[k])
        for k in range(classes):
            row[k] -= top
        own[i] = row[y[i]]


@loop
def slopes(e, y, own, chance):
    """Slopes P − Y in the place of e = e^{η − max η} (n, K), losses in that of ``own``; p_y too, where it has room.

    Sums leave the row's own class out: 1 − p_y = rest / total keeps its digits as p_y → 1.
    """
    n, classes = e.shape
    wanted = chance.shape[0] == n
    for i in range(n):
        row, c = e[i], np.uint64(y[i])
        mine = row[c]
        row[c] = 0.0
        rest = 0.0
        for k in range(classes):
            rest += row[k]
        total = rest + mine
        own[i] = math.log1p(rest + (mine - 1.0)) - own[i]
        inverse = 1.0 / total
        for k in range(classes):
            row[k] *= inverse
        row[c] = -rest / total
        if wanted:
            chance[i] = mine / total
