"""Extremely randomised trees, compiled: K tests at a node, of columns drawn among those not constant there.

    numbers    t uniform between the node's least and largest value of the column
    levels     a random set of those that the node has
    missing    both sides are tried

Where rows weigh one each and have classes, columns of two values are not read: how many rows of each class have
the rarer value is counted for all of them at once, from lists of the columns in which a row has it; and of a node's
two children for the smaller one alone, since the other's counts are what is left of the node's.

Shapes: ``cells`` (p, n) float32 with NaN where missing; a small node's cells are copied once, and its whole subtree
is grown in the cache. Cost: O(n K) a level. What a node is, and where it is noted:
:mod:`separatrix.loops.trees.node`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.loops.compiled import lean_inner, lean_inner_with, lean_loop
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


@lean_inner
def _copied(flat, n, slot, idx, start, m, near, few, origin):
    """The node's cells of columns that are not counted, beside each other; its rows are renumbered 0 … m − 1."""
    rows = idx[start : start + m]
    for j in range(slot.shape[0]):
        if slot[j] < 0:
            column = flat[j * n :]
            copy = near[j * few :]
            for i in range(rows.shape[0]):
                copy[i] = column[np.uint32(rows[i])]
    for i in range(rows.shape[0]):
        origin[i] = rows[i]
        rows[i] = i


@lean_inner
def _tallied(begins, entries, idx, origin, local, targets, start, m, width, tally):
    """tally[c · width + k]: the node's rows of class k with the rarer value of counted column c; last, of all."""
    y = targets[start : start + m]
    rows = idx[start : start + m]
    for c in range(tally.shape[0]):
        tally[c] = 0
    own = tally[tally.shape[0] - width :]
    for i in range(m):
        row = np.uint32(origin[np.uint32(rows[i])] if local else rows[i])
        k = np.uint64(y[i])
        own[k] += 1
        for e in range(begins[row], begins[row + np.uint32(1)]):
            tally[np.uint64(entries[e]) + k] += 1


@lean_inner
def _shared(counts, at, begins, entries, idx, origin, local, targets, start, m, left, width):
    """From a node's counts in ``counts[at]`` its children's: the right one's there, the left one's after it."""
    right_counts = counts[at]
    left_counts = counts[at + 1]
    few_left = 2 * left <= m
    first = start if few_left else start + left
    size = left if few_left else m - left
    _tallied(begins, entries, idx, origin, local, targets, first, size, width, left_counts)
    if few_left:
        for c in range(right_counts.shape[0]):
            right_counts[c] -= left_counts[c]
    else:
        for c in range(right_counts.shape[0]):
            x = left_counts[c]
            left_counts[c] = right_counts[c] - x
            right_counts[c] = x


@lean_inner
def _rarer(own, c, width):
    """How many of a node's rows have the rarer value of a counted column."""
    count = 0
    for k in range(width):
        count += own[c + k]
    return count


@lean_inner_with({"nnan", "nsz", "reassoc"})
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


@lean_inner
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


@lean_inner_with(FAST)
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


@lean_inner
def _left(v, t, targets, start, m, side):
    """Into ``side`` the rows of each of at most eight classes whose cell in v is at most t; how many."""
    y = targets[start : start + m]
    for k in range(side.shape[0]):
        side[k] = 0.0
    for first in range(0, m, 255):  # eight counters of eight bits in a word
        word = np.uint64(0)
        for i in range(first, min(first + 255, m)):
            word += np.uint64(v[i] <= t) << np.uint64(np.uint64(y[i]) << np.uint64(3))
        for k in range(side.shape[0]):
            side[k] += np.float64((word >> np.uint64(8 * k)) & np.uint64(255))
    count = 0.0
    for k in range(side.shape[0]):
        count += side[k]
    return np.int64(count)


@lean_inner
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


@lean_inner
def look(flat, first, idx, start, m, odd, nominal, v):
    """The node's cells of a column into ``v``: (least, largest, missing, levels as bits, one value, constant)."""
    if not odd:
        low, high = _gathered(flat, first, idx, start, m, v)
        alone = not (low < high)
        return low, high, 0, np.uint64(0), alone, alone
    low, high, gone, bits = _gathered_odd(flat, first, idx, start, m, v)
    alone = bits & (bits - np.uint64(1)) == np.uint64(0) if nominal else not (low < high)
    return low, high, gone, bits, alone, gone == m or (alone and gone == 0)


@lean_inner
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


@lean_inner
def _cells(flat, first, idx, origin, local, start, m, u):
    """u[i] = the cell of the node's i-th row in a counted column."""
    column = flat[first:]
    rows = idx[start : start + m]
    for i in range(rows.shape[0]):
        u[i] = column[np.uint32(origin[np.uint32(rows[i])] if local else rows[i])]


@lean_inner
def _rarer_left(own, c, total, rarer_left, width, side):
    """(rows, Σ y) of the lower of a counted column's two values; of more classes, their rows into ``side``."""
    last = own.shape[0] - width
    count = 0
    for k in range(width):
        rows = own[c + k] if rarer_left else own[last + k] - own[c + k]
        count += rows
        if total is not None:
            side[k] = rows
    return count, np.float64(own[c + 1] if rarer_left else own[last + 1] - own[c + 1])


@lean_inner
def _only(own, width, m):
    """Whether all rows of a node are of one class."""
    pure = False
    for k in range(own.shape[0] - width, own.shape[0]):
        pure = pure or own[k] == m
    return pure


@lean_loop
def grow_random(
    flat_cells, nominal, odd, slot, base, rarer, begins, entries, idx, y, w, unit, two, kind, tests, max_depth,
    min_split, min_leaf, min_weight, min_decrease, made, ends, sets, stack, counts, filled, gains, columns, go, bi,
    by, bw, total, side, best_side, v, u, near, origin,
):  # fmt: skip
    """One extremely randomised tree, of ``tests`` random tests a node; the rest is said in ``best.grow_best``.

    flat_cells (p · n,) float32, a column after the other; ``odd`` (p,) bool, columns with missing cells or levels.
    slot (p,) int64: where in a row of ``counts`` (waiting, ·) int32 a counted column's rows begin, else −1; base and
    rarer (p,) float32 its two values; begins (n + 1,) int64 and entries int32 the slots of columns in which a row has
    the rarer one. No column is counted where rows have weights; of numbers, counts is None. Room: best_side as side,
    v and u (m,) float32, near (p · few,) float32 and origin (few,) int32 for few rows.
    """
    p = slot.shape[0]
    n = flat_cells.shape[0] // p
    few = origin.shape[0]
    zero: Any = np.int64(0)  # a literal would have helpers compiled for it
    worth = 32 * tests >= p  # copying whole rows pays
    waiting, nodes, leaves, n_sets, deepest = begun(filled)
    width = 2
    if total is not None:
        width = total.shape[0]
    if counts is not None and unit and nodes == 1:
        _tallied(begins, entries, idx, origin, False, y, zero, idx.shape[0], width, counts[0])
    while waiting > 0 and not full(made, ends, sets, stack, waiting, nodes, leaves, n_sets):
        waiting -= 1
        here, start, m, depth, constant, local, state = taken(stack, waiting)
        deepest = max(deepest, depth)
        W = 0.0
        A = 0.0
        squares = 0.0
        pure = False
        known = False
        if counts is not None and unit:
            known = True
            own = counts[waiting]
            last = own.shape[0] - width
            W = np.float64(m)
            A = np.float64(own[last + 1])
            pure = _only(own, width, m)
            if total is not None:
                for k in range(width):
                    total[k] = own[last + k]
        if not known:
            if total is None:
                W, A, squares = sums2(w, y, start, m, unit, two)
            else:
                W = class_sums(w, y, start, m, total)
            pure = alike(y, start, m)
        node, impure = judged(kind, W, A, squares, total)
        made[here, IMPURITY] = impure
        made[here, COUNT] = m
        end = p
        if pure or stops(depth, m, W, max_depth, min_split, min_leaf, min_weight):
            end = 0
        elif worth and not local and m <= few:
            _copied(flat_cells, n, slot, idx, start, m, near, few, origin)
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
            number = -1
            if counts is not None and slot[j] >= 0:
                number = _rarer(counts[waiting], slot[j], width)
            if number >= 0:
                low = min(base[j], rarer[j])
                high = max(base[j], rarer[j])
                gone = zero
                bits = np.uint64(0)
                alone = number == 0 or number == m
                fixed = alone
            else:
                first = j * few if local else j * n
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
                if counts is not None and number >= 0:
                    count, Al = _rarer_left(counts[waiting], slot[j], total, rarer[j] < base[j], width, side)
                    Wl = np.float64(count)
                    plain = True
                if not plain and not odd[j]:
                    if total is None:
                        count, Wl, Al = _left2(v, t, w, y, start, m, unit, two)
                        plain = True
                    elif unit and width <= 8:
                        count = _left(v, t, y, start, m, side)
                        Wl = np.float64(count)
                        Al = 0.0
                        plain = True
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
            if chosen == j and number < 0:  # its cells are kept to part the rows by
                v, u = u, v
        gain = 0.0
        if chosen >= 0:
            gain = gained(kind, W, A, node, total, best_w, best_a, best_side)
        if chosen < 0 or too_little(gain, min_decrease):
            leaf(made, here, ends, leaves, two, W, A, total)
            leaves += 1
            continue
        gains[chosen] += gain
        if counts is not None and slot[chosen] >= 0:
            _cells(flat_cells, chosen * n, idx, origin, local, start, m, u)
        sent(u, m, cut, odd[chosen], nominal[chosen], mask, flag, go)
        left = parted(go, idx, y, w, unit, start, m, bi, by, bw)
        if not holes:
            flag = 1 if 2 * left >= m else 0
        if counts is not None and unit:
            _shared(counts, waiting, begins, entries, idx, origin, local, y, start, m, left, width)
        threshold = np.float64(cut)
        n_sets = split(made, here, nodes, sets, n_sets, chosen, threshold, nominal[chosen], mask, flag)
        pushed(stack, waiting, nodes, start, m, left, depth, constant, local, state)
        waiting += 2
        nodes += 2
    return noted(filled, waiting, nodes, leaves, n_sets, deepest)
