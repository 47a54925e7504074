"""Logarithms of shares of counts by class, where most counts are zero:  w_jk = log (N_kj + a_j) − log T_k.

A class in which word j never stands has log a_j − log T_k, or, where N_kj are the counts of all classes but k, what
every such class has: one logarithm for all of them. Shapes: counts (K, p), w (p, K). Cost O(pK), and a logarithm for
each count that is not zero and for each word.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import loop


@loop
def log_shares(counts, whole, add, log_total, first, last, weights, losses):
    """Fill rows first … last−1 of w; losses_k −= Σ_j N_kj w_jk; how many N_kj are zero.

    ``whole`` (p,) Σ_k counts: N_kj = whole_j − counts_kj; empty: N = counts.
    """
    without = whole.shape[0] > 0
    zeros = 0
    for j in range(first, last):
        common = whole[j] if without else 0.0
        shared = np.log(common + add[j])
        for k in range(counts.shape[0]):
            own, n, value = counts[k, j], common, shared
            if own != 0.0:
                n = max(common - own, 0.0) if without else own
                value = np.log(n + add[j])
            value -= log_total[k]
            if n == 0.0:
                zeros += 1
            else:
                losses[k] -= n * value
            weights[j, k] = value
    return zeros
