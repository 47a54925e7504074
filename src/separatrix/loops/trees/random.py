"""Extremely randomised trees, compiled: K tests at a node, of columns drawn among those not constant there.

    numbers    t uniform between the node's least and largest value of the column
    levels     a random set of those that the node has
    missing    both sides are tried

Shapes: ``cells`` (p, n) float32 with NaN where missing, ``table`` (n, p) the same by rows: a small node's rows are
copied once, and its whole subtree is grown in the cache. Cost: O(n K) a level. What a node is, and where it is noted:
:mod:`separatrix.loops.trees.node`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.loops.compiled import inner, inner_with, loop
from separatrix.loops.trees.node import (
    COUNT,
    FAST,
    IMPURITY,
    STEP,
    TIE,
    WORST,
    alike,
    begun,
    below,
    class_sums,
    drawn,
    full,
    gained,
    judged,
    leaf,
    noted,
    parted,
    pushed,
    split,
    split_score,
    split_score2,
    stops,
    sums2,
    taken,
    too_little,
    went,
)


@inner
def _copied(table, idx, start, m, near):
    """The node's rows of the table one after another, and for each row where it begins in their place."""
    p = table.shape[1]
    for i in range(m):
        row = np.uint32(idx[start + i])
        for j in range(p):
            near[i * p + j] = table[row, j]
        idx[start + i] = i * p


@inner_with({"nnan", "nsz", "reassoc"})
def _gathered(flat, first, idx, start, m, v):
    """v[i] = the cell of the node's i-th row; (least, largest). The column begins at ``first``; none is missing."""
    column = flat[first:]
    rows = idx[start : start + m]
    low = column[np.uint32(rows[0])]
    high = low
    for i in range(rows.shape[0]):
        x = column[np.uint32(rows[i])]
        v[i] = x
        low = min(low, x)
        high = max(high, x)
    return low, high


@inner
def _gathered_odd(flat, first, idx, start, m, v):
    """As :func:`_gathered` where cells may be missing or are levels: (least, largest, missing, levels as bits)."""
    column = flat[first:]
    rows = idx[start : start + m]
    low = np.float32(np.inf)
    high = np.float32(-np.inf)
    gone = 0
    bits = np.uint64(0)
    for i in range(rows.shape[0]):
        x = column[np.uint32(rows[i])]
        v[i] = x
        if x != x:
            gone += 1
        else:
            low = min(low, x)
            high = max(high, x)
            bits |= np.uint64(1) << (np.uint64(x) & np.uint64(63)) if x >= 0 else np.uint64(0)
    return low, high, gone, bits


@inner_with(FAST)
def _left2(v, t, weights, targets, start, m, unit, two):
    """(rows, W, Σ w y) of the node's rows whose cell in v is at most t."""
    w = weights[start : start + m]
    y = targets[start : start + m]
    count = np.uint32(0)
    A = 0.0
    if unit and two:
        ones = np.uint32(0)
        for i in range(m):
            went = np.uint32(v[i] <= t)
            count = np.uint32(count + went)
            ones = np.uint32(ones + (went & np.uint32(y[i])))
        return np.int64(count), np.float64(count), np.float64(ones)
    if unit:
        for i in range(m):
            went = np.uint32(v[i] <= t)
            count = np.uint32(count + went)
            A += y[i] * went
        return np.int64(count), np.float64(count), A
    W = 0.0
    for i in range(m):
        went = np.uint32(v[i] <= t)
        count = np.uint32(count + went)
        weight = w[i] * went
        W += weight
        A += weight * y[i]
    return np.int64(count), W, A


@inner
def sent(v, m, t, odd, nominal, mask, gone_left, go):
    """go[i] = whether the node's i-th row, with its cell in v, goes left."""
    if not odd:
        for i in range(m):
            go[i] = v[i] <= t
        return
    for i in range(m):
        x = v[i]
        if x != x:
            go[i] = gone_left
        elif nominal:
            go[i] = (mask >> np.uint64(x)) & np.uint64(1)
        else:
            go[i] = x <= t


@inner
def look(flat, first, idx, start, m, odd, nominal, v):
    """The node's cells of a column into ``v``: (least, largest, missing, levels as bits, one value, constant)."""
    if not odd:
        low, high = _gathered(flat, first, idx, start, m, v)
        alone = not (low < high)
        return low, high, 0, np.uint64(0), alone, alone
    low, high, gone, bits = _gathered_odd(flat, first, idx, start, m, v)
    alone = bits & (bits - np.uint64(1)) == np.uint64(0) if nominal else not (low < high)
    return low, high, gone, bits, alone, gone == m or (alone and gone == 0)


@inner
def random_test(low, high, bits, alone, nominal, state):
    """(threshold, levels that go left, state) of a test drawn for a column; of one value, all of it goes left."""
    state += STEP
    t = high
    test = bits
    if alone:
        return t, test, state
    if nominal:
        test = np.uint64(0)
        while test == np.uint64(0) or test == bits:
            test = bits & drawn(state)
            state += STEP
        return t, test, state
    share = np.float64(drawn(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    t = np.float32(np.float64(low) + share * (np.float64(high) - np.float64(low)))
    if t >= high:
        t = low
    return t, test, state


@loop
def grow_random(
    flat_cells, table, nominal, odd, idx, y, w, unit, two, kind, tests, max_depth, min_split, min_leaf, min_weight,
    min_decrease, made, ends, sets, stack, filled, gains, columns, go, bi, by, bw, total, side, best_side, v, u, near,
):  # fmt: skip
    """One extremely randomised tree, of ``tests`` random tests a node; the rest is said in ``best.grow_best``.

    flat_cells (p · n,) float32, a column after the other, table (n, p) the same by rows; ``odd`` (p,) bool, columns
    with missing cells or levels. Room: best_side as side, v and u (m,) float32, near float32 for some rows.
    """
    n, p = table.shape
    few = near.shape[0] // p
    zero: Any = np.int64(0)  # a literal would have helpers compiled for it
    worth = 32 * tests >= p  # copying whole rows pays
    waiting, nodes, leaves, n_sets, deepest = begun(filled)
    while waiting > 0 and not full(made, ends, sets, stack, waiting, nodes, leaves, n_sets):
        waiting -= 1
        here, start, m, depth, constant, local, state = taken(stack, waiting)
        deepest = max(deepest, depth)
        A = 0.0
        squares = 0.0
        if total is None:
            W, A, squares = sums2(w, y, start, m, unit, two)
        else:
            W = class_sums(w, y, start, m, total)
        node, impure = judged(kind, W, A, squares, total)
        made[here, IMPURITY] = impure
        made[here, COUNT] = m
        end = p
        if stops(depth, m, W, max_depth, min_split, min_leaf, min_weight) or alike(y, start, m):
            end = 0
        elif worth and not local and m <= few:
            _copied(table, idx, start, m, near)
            local = True
        flat = near if local else flat_cells
        best = WORST
        best_w = 0.0
        best_a = 0.0
        chosen = -1
        cut = np.float32(0.0)
        mask = np.uint64(0)
        flag = zero
        holes = False
        tried = 0
        while tried < tests and constant < end:
            state += STEP
            at = constant + below(drawn(state), end - constant)
            j = columns[at]
            first = j if local else j * n
            low, high, gone, bits, alone, fixed = look(flat, first, idx, start, m, odd[j], nominal[j], v)
            if fixed:
                columns[at], columns[constant] = columns[constant], j
                constant += 1
                continue
            tried += 1
            end -= 1
            columns[at], columns[end] = columns[end], j
            t, test, state = random_test(low, high, bits, alone, nominal[j], state)
            for way in range(2 if gone > 0 and not alone else 1):
                plain = False
                if total is None:
                    plain = not odd[j]
                    if plain:
                        count, Wl, Al = _left2(v, t, w, y, start, m, unit, two)
                if not plain:
                    sent(v, m, t, odd[j], nominal[j], test, way, go)
                    count, Wl, Al = went(go, w, y, start, m, side)
                if count < min_leaf or m - count < min_leaf or Wl < min_weight or W - Wl < min_weight:
                    continue
                if not (Wl > 0.0 and Wl < W):
                    continue
                if total is None:
                    score = split_score2(kind, W, A, Wl, Al, node)
                else:
                    score = split_score(kind, total, side, W, node)
                if score > best + TIE * abs(best):
                    best = score
                    best_w = Wl
                    best_a = Al
                    chosen = j
                    cut = np.float32(np.inf) if alone else t
                    mask = test
                    flag = way
                    holes = gone > 0
                    if total is not None:
                        side, best_side = best_side, side
            if chosen == j:  # its cells are kept to part the rows by
                v, u = u, v
        gain = 0.0
        if chosen >= 0:
            gain = gained(kind, W, A, node, total, best_w, best_a, best_side)
        if chosen < 0 or too_little(gain, min_decrease):
            leaf(made, here, ends, leaves, two, W, A, total)
            leaves += 1
            continue
        gains[chosen] += gain
        sent(u, m, cut, odd[chosen], nominal[chosen], mask, flag, go)
        left = parted(go, idx, y, w, unit, start, m, bi, by, bw)
        if not holes:
            flag = 1 if 2 * left >= m else 0
        threshold = np.float64(cut)
        n_sets = split(made, here, nodes, sets, n_sets, chosen, threshold, nominal[chosen], mask, flag)
        pushed(stack, waiting, nodes, start, m, left, depth, constant, local, state)
        waiting += 2
        nodes += 2
    return noted(filled, waiting, nodes, leaves, n_sets, deepest)
