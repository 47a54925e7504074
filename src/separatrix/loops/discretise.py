"""The scan of the supervised partition, compiled, without the GIL.

    N·E(T; S) = f(N₁) − Σ_k f(n₁ₖ) + f(N₂) − Σ_k f(n₂ₖ),   f(n) = n log₂ n

A *block* is a run of neighbouring values that no best cut divides: one value, or several whose rows are all of
one class (Fayyad & Irani 1993, theorem 1). Its *entries* are its classes with their weights. A cut has the
number of the block it follows. Both sums over k change in the classes of one block only, so they are kept up to
date, with Kahan's compensation: cost O(entries) a scan whatever the number of classes.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import inner, loop

LOG2_3 = np.log2(3.0)
TIE = 1e-12  # bits a row below which two cuts count as equally good: the lower one is taken


@loop
def blocks_of(x, codes, weight, n_classes):
    """(entry_class, entry_weight, start, low, high) from values in ascending order; empty ``weight`` means ones.

    Block b holds the entries start[b] … start[b+1] − 1 and the values from low[b] to high[b].
    """
    n = x.shape[0]
    weighted = weight.shape[0] > 0
    entry_class = np.empty(n, np.int64)
    entry_weight = np.empty(n, np.float64)
    start = np.empty(n + 1, np.int64)
    low = np.empty(n, np.float64)
    high = np.empty(n, np.float64)
    where = np.full(n_classes, -1, np.int64)  # each class's last entry
    count, entries, i = 0, 0, 0
    start[0] = 0
    while i < n:
        value, first = x[i], entries
        while i < n and x[i] == value:
            k = codes[i]
            w = weight[i] if weighted else 1.0
            if where[k] >= first:
                entry_weight[where[k]] += w
            else:
                where[k] = entries
                entry_class[entries] = k
                entry_weight[entries] = w
                entries += 1
            i += 1
        one = entries == first + 1 and count > 0 and start[count] - start[count - 1] == 1
        if one and entry_class[first - 1] == entry_class[first]:
            entries = first
            entry_weight[first - 1] += entry_weight[first]
            where[entry_class[first]] = first - 1
        else:
            low[count] = value
            count += 1
            start[count] = entries
        high[count - 1] = value
    return entry_class[:entries], entry_weight[:entries], start[: count + 1], low[:count], high[:count]


@inner
def _xlog2x(x):
    return x * np.log2(x) if x > 0.0 else 0.0


@inner
def _add(total, lost, term):
    """Kahan: (total + term, what rounding lost)."""
    term -= lost
    new = total + term
    return new, (new - total) - term


@inner
def _best_cut(entry_class, entry_weight, start, a, b, total, left, remaining):
    """The cut of least E among blocks a … b − 1, or −1 where the description length refuses it.

    ``total`` and ``left`` (weights) and ``remaining`` (entries), by class, are scratch space, all zero before and
    after. A class is absent on the right when no entry remains there, not when rounding leaves no weight.
    """
    first, last = start[a], start[b]
    for at in range(first, last):
        total[entry_class[at]] += entry_weight[at]
        remaining[entry_class[at]] += 1
    all_weight, sum_right, k_right = 0.0, 0.0, 0
    for at in range(first, last):  # by first appearance: no pass over classes that are not here
        k = entry_class[at]
        if left[k] == 0.0:
            left[k] = -1.0
            all_weight += total[k]
            sum_right += _xlog2x(total[k])
            k_right += 1
    for at in range(first, last):
        left[entry_class[at]] = 0.0
    bits_all, k_all, k_left = _xlog2x(all_weight) - sum_right, k_right, 0
    sum_left, lost_left, lost_right, left_weight = 0.0, 0.0, 0.0, 0.0
    best, best_block, spent = np.inf, -1, 0.0
    for block in range(a, b - 1):
        for at in range(start[block], start[block + 1]):
            k, w = entry_class[at], entry_weight[at]
            old_left, old_right = left[k], total[k] - left[k]
            k_left += old_left == 0.0
            left[k] += w
            remaining[k] -= 1
            if remaining[k] == 0:
                left[k] = total[k]
                k_right -= 1
            left_weight += w
            sum_left, lost_left = _add(sum_left, lost_left, _xlog2x(left[k]) - _xlog2x(old_left))
            change = _xlog2x(total[k] - left[k]) - _xlog2x(old_right)
            sum_right, lost_right = _add(sum_right, lost_right, change)
        right_weight = all_weight - left_weight
        bits_left = _xlog2x(left_weight) - sum_left
        bits_right = _xlog2x(right_weight) - sum_right
        if bits_left + bits_right < best - TIE * all_weight:
            best, best_block = bits_left + bits_right, block
            spent = k_left * bits_left / left_weight  # k₁ Ent(S₁) + k₂ Ent(S₂)
            spent += k_right * bits_right / right_weight if right_weight > 0.0 else 0.0
    for at in range(first, last):
        total[entry_class[at]] = 0.0
        left[entry_class[at]] = 0.0
        remaining[entry_class[at]] = 0
    # log₂(3^k − 2) without the power; log₂(N − 1) at least 0, which matters for weights of under two rows in all
    cost = np.log2(max(all_weight - 1.0, 1.0)) + k_all * LOG2_3 + np.log2(1.0 - 2.0 * 3.0**-k_all)
    cost += spent - k_all * bits_all / all_weight
    return best_block if bits_all - best > cost else -1


@loop
def accepted_cuts(entry_class, entry_weight, start, n_classes):
    """For every block whether a cut follows it: the best cut of all blocks, then of each half, while accepted."""
    n_blocks = start.shape[0] - 1
    chosen = np.zeros(n_blocks, np.bool_)
    total = np.zeros(n_classes, np.float64)
    left = np.zeros(n_classes, np.float64)
    remaining = np.zeros(n_classes, np.int64)
    pending = [(0, n_blocks)]
    while len(pending) > 0:
        a, b = pending.pop()
        if b - a < 2:
            continue
        cut = _best_cut(entry_class, entry_weight, start, a, b, total, left, remaining)
        if cut >= 0:
            chosen[cut] = True
            pending.append((cut + 1, b))
            pending.append((a, cut + 1))
    return chosen
