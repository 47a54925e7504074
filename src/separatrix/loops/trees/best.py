"""Trees of best splits, compiled: every bin edge of K columns (or of all) is tried, by sums of the rows a bin.

Shapes: ``codes`` (p, n) uint8, ``MISSING`` = 255. A small node's codes are copied once, and its whole subtree is
grown in the cache. Cost: O(n p) a level. What a node is, and where it is noted: :mod:`separatrix.loops.trees.node`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import extending, types

from separatrix.loops.compiled import inner, loop
from separatrix.loops.trees.node import (
    COUNT,
    IMPURITY,
    LOCAL,
    MISSING,
    STEP,
    TIE,
    WORST,
    alike,
    begun,
    below,
    class_sums,
    drawn,
    gained,
    judged,
    leaf,
    longer,
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
    workspace,
)

_FEW = 96  # rows up to which the bins that hold some are noted, not all looked through

intrinsic: Any = extending.intrinsic  # what it makes of a function is called without the context


@intrinsic
def _lowest(typing, word):
    """The place of the lowest bit set in a 64-bit word that is not zero."""

    def code(context, builder, signature, args):
        from llvmlite import ir

        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@inner
def _localised(cells, idx, start, m, block):
    """The node's cells beside each other, and its rows renumbered 0 … m − 1."""
    rows = idx[start : start + m]
    for j in range(cells.shape[0]):
        column = cells[j]
        copy = block[j]
        for i in range(rows.shape[0]):
            copy[i] = column[np.uint32(rows[i])]
    for i in range(rows.shape[0]):
        rows[i] = i


@inner
def _fill2(codes, j, idx, weights, targets, start, m, unit, hist, words):
    """hist[2c], hist[2c + 1] += w, w y of the rows with code c; for few rows, which codes there are in ``words``."""
    column = codes[j]
    rows = idx[start : start + m]
    w = weights[start : start + m]
    y = targets[start : start + m]
    one = np.uint64(1)
    if m <= _FEW:
        for i in range(m):
            c = np.uint64(column[np.uint32(rows[i])])
            words[c >> np.uint64(6)] |= one << (c & np.uint64(63))
            hist[c + c] += w[i]
            hist[c + c + one] += w[i] * y[i]
    elif unit:
        for i in range(m):
            c = np.uint64(column[np.uint32(rows[i])])
            hist[c + c] += 1.0
            hist[c + c + one] += np.float64(y[i])
    else:
        for i in range(m):
            c = np.uint64(column[np.uint32(rows[i])])
            hist[c + c] += w[i]
            hist[c + c + one] += w[i] * y[i]


@inner
def _fill(codes, j, idx, weights, targets, start, m, classes, hist, words):
    """As :func:`_fill2` for K classes, a weight each."""
    column = codes[j]
    rows = idx[start : start + m]
    w = weights[start : start + m]
    y = targets[start : start + m]
    for i in range(m):
        c = np.uint64(column[np.uint32(rows[i])])
        words[c >> np.uint64(6)] |= np.uint64(1) << (c & np.uint64(63))
        hist[c * np.uint64(classes) + np.uint64(y[i])] += w[i]


@inner
def _tallied(codes, j, idx, start, m, tally):
    """tally[c] += the rows with code c."""
    column = codes[j]
    rows = idx[start : start + m]
    for i in range(m):
        tally[column[np.uint32(rows[i])]] += 1


@inner
def sent_codes(codes, j, idx, start, m, cut, nominal, mask, gone_left, go):
    """go[i] = whether the node's i-th row goes left; whether one of them has a missing cell."""
    column = codes[j]
    rows = idx[start : start + m]
    seen = False
    for i in range(m):
        c = np.uint64(column[np.uint32(rows[i])])
        if c == np.uint64(MISSING):
            go[i] = gone_left
            seen = True
        elif nominal:
            go[i] = (mask >> c) & np.uint64(1)
        else:
            go[i] = c <= np.uint64(cut)
    return seen


@inner
def _present(width, hist, words, few, found):
    """Codes that hold some weight, in order, into ``found``; how many (a missing cell's is not among them)."""
    count = 0
    if few:
        for q in range(4):
            word = words[q]
            while word != np.uint64(0):
                c = 64 * q + _lowest(word)
                word &= word - np.uint64(1)
                if c != MISSING:
                    found[count] = c
                    count += 1
            words[q] = np.uint64(0)
        return count
    for c in range(MISSING):  # only for two sums a code, of which the first is the weight
        if hist[c * width] > 0.0:
            found[count] = c
            count += 1
    return count


@inner
def _search2(
    kind, hist, tally, counted, found, count, nominal, W, A, m, node, min_leaf, min_weight, best, answer
):
    """Try every cut of the codes found; a better score than ``best`` is noted in ``answer``:
    [last code left (numbers) or its place in the order (levels), first code right, whether missing cells go left].
    """
    gone_w = hist[2 * MISSING]
    gone_a = hist[2 * MISSING + 1]
    gone_n = tally[MISSING] if counted else 0
    holes = gone_w > 0.0
    if nominal:  # levels in the order of their means
        for i in range(1, count):
            c = found[i]
            mean = hist[2 * c + 1] / hist[2 * c]
            q = i
            while q > 0 and hist[2 * found[q - 1] + 1] / hist[2 * found[q - 1]] > mean:
                found[q] = found[q - 1]
                q -= 1
            found[q] = c
    Wl = 0.0
    Al = 0.0
    nl = 0
    for i in range(count if holes else count - 1):
        c = found[i]
        Wl += hist[2 * c]
        Al += hist[2 * c + 1]
        if counted:
            nl += tally[c]
        for side in range(2 if holes and i < count - 1 else 1):
            a = Wl + gone_w if side else Wl
            b = Al + gone_a if side else Al
            if counted:
                number = nl + gone_n if side else nl
                if number < min_leaf or m - number < min_leaf:
                    continue
            if a < min_weight or W - a < min_weight or a >= W:
                continue
            score = split_score2(kind, W, A, a, b, node)
            if score > best + TIE * abs(best):
                best = score
                answer[0] = i if nominal else c
                answer[1] = found[i + 1] if i < count - 1 else MISSING
                answer[2] = side
    return best


@inner
def _search(
    kind, hist, tally, counted, found, count, nominal, classes, total, left, W, m, node, min_leaf, min_weight, best,
    answer,
):  # fmt: skip
    """As :func:`_search2` for K classes; of levels, one against the others (its place in the order in answer[0])."""
    gone_n = tally[MISSING] if counted else 0
    gone_w = 0.0
    for k in range(classes):
        gone_w += hist[MISSING * classes + k]
        left[k] = 0.0
    holes = gone_w > 0.0
    nl = 0
    Wl = 0.0
    last = count if holes or (nominal and count > 2) else count - 1
    for i in range(last):
        c = found[i]
        if nominal:
            nl = 0
            Wl = 0.0
            for k in range(classes):
                left[k] = 0.0
        for k in range(classes):
            left[k] += hist[c * classes + k]
            Wl += hist[c * classes + k]
        if counted:
            nl += tally[c]
        for side in range(2 if holes and count > 1 and (nominal or i < count - 1) else 1):
            a = Wl
            number = nl
            if side:
                a += gone_w
                number += gone_n
                for k in range(classes):
                    left[k] += hist[MISSING * classes + k]
            good = not (counted and (number < min_leaf or m - number < min_leaf))
            if good and not (a < min_weight or W - a < min_weight or a >= W):
                score = split_score(kind, total, left, classes, W, node)
                if score > best + TIE * abs(best):
                    best = score
                    answer[0] = i if nominal else c
                    answer[1] = found[i + 1] if i < count - 1 else MISSING
                    answer[2] = side
            if side:
                for k in range(classes):
                    left[k] -= hist[MISSING * classes + k]
    return best


@inner
def between(low, high, column, last, first):
    """The threshold between two bins of a column, the last on the left and the first on the right (or none)."""
    if first == MISSING:
        return np.inf
    a = high[column, last]
    b = low[column, first]
    middle = 0.5 * a + 0.5 * b
    return middle if middle < b else a


@inner
def levels_left(found, first, last):
    """The levels found at places first … last, as bits."""
    mask = np.uint64(0)
    for i in range(first, last + 1):
        mask |= np.uint64(1) << np.uint64(found[i])
    return mask


@inner
def _looked(
    codes, j, idx, weights, targets, start, m, unit, classes, kind, nominal, counted, W, A, node, total, side, hist,
    tally, words, found, min_leaf, min_weight, floor, answer,
):  # fmt: skip
    """(whether column j is constant in the node, the best score above ``floor``); its sums are cleared again."""
    many = classes > 2
    width = classes if many else 2
    if many:
        _fill(codes, j, idx, weights, targets, start, m, width, hist, words)
    else:
        _fill2(codes, j, idx, weights, targets, start, m, unit, hist, words)
    if counted:
        _tallied(codes, j, idx, start, m, tally)
    count = _present(width, hist, words, many or m <= _FEW, found)
    holes = False
    for k in range(width):
        holes = holes or hist[MISSING * width + k] > 0.0
    constant = count < 2 and not (holes and count == 1)
    best = floor
    if constant:
        pass
    elif many:
        best = _search(
            kind, hist, tally, counted, found, count, nominal, classes, total, side, W, m, node, min_leaf, min_weight,
            floor, answer,
        )  # fmt: skip
    else:
        best = _search2(
            kind,
            hist,
            tally,
            counted,
            found,
            count,
            nominal,
            W,
            A,
            m,
            node,
            min_leaf,
            min_weight,
            floor,
            answer,
        )
    for i in range(count):
        for k in range(width):
            hist[found[i] * width + k] = 0.0
        tally[found[i]] = 0
    if holes:
        for k in range(width):
            hist[MISSING * width + k] = 0.0
        tally[MISSING] = 0
    return constant, best


@loop
def grow_best(
    codes, low, high, nominal, idx, y, w, unit, classes, kind, tests, max_depth, min_split, min_leaf, min_weight,
    min_decrease, key,
):  # fmt: skip
    """One tree of best splits.

    codes (p, n) uint8; low, high (p, 256) float64, the least and largest value of each bin; nominal (p,) bool,
    whether codes are levels; idx (m,) int32 the rows, y (m,) class codes (uint8 where they fit) or float64, w (m,)
    float64 above zero, all three used up; ``unit``: all weights are one; ``classes`` is 0 for a regression. ``tests``
    columns, drawn anew at each node, are looked at. ``key`` uint64; limits are int64 and, of weights, float64.

    Returns (made, ends, sets, gains, depth): see :mod:`separatrix.loops.trees.node`; gains (p,) float64.
    """
    p = codes.shape[0]
    n = idx.shape[0]
    zero: Any = np.int64(0)  # a literal would have helpers compiled for it
    many = classes > 2
    two = classes == 2
    width = classes if many else 2
    made, ends, sets, stack = begun(n, max(classes, 1), key)
    gains, columns, go, bi, bw = workspace(n, p, unit)
    hist = np.zeros(256 * width)
    tally = np.zeros(256, np.int64)
    words = np.zeros(4, np.uint64)
    found = np.empty(256, np.int64)
    answer = np.zeros(3, np.int64)
    total = np.zeros(width)
    side = np.zeros(width)
    by = np.empty_like(y)
    block = np.empty((p, LOCAL), np.uint8)
    worth = 4 * tests >= p  # copying all columns pays
    waiting = nodes = zero + 1
    leaves = n_sets = deepest = zero
    while waiting > 0:
        waiting -= 1
        here, start, m, depth, constant, local, state = taken(stack, waiting)
        deepest = max(deepest, depth)
        A = 0.0
        squares = 0.0
        if many:
            W = class_sums(w, y, start, m, total)
        else:
            W, A, squares = sums2(w, y, start, m, unit, two)
        node, impure = judged(kind, classes, W, A, squares, total)
        made[here, IMPURITY] = impure
        made[here, COUNT] = m
        end = p
        if stops(depth, m, W, max_depth, min_split, min_leaf, min_weight) or alike(y, start, m):
            end = 0
        elif worth and not local and m <= LOCAL:
            _localised(codes, idx, start, m, block)
            local = True
        source = block if local else codes
        best = WORST
        chosen = -1
        cut = zero
        first = zero
        flag = zero
        mask = np.uint64(0)
        tried = 0
        while tried < tests and constant < end:
            at = end - 1
            if tests < p:
                state += STEP
                at = constant + below(drawn(state), end - constant)
            j = columns[at]
            # equal scores: the column that comes first in the table
            floor = best - 2.0 * TIE * abs(best) if chosen > j else best
            fixed, score = _looked(
                source, j, idx, w, y, start, m, unit, classes, kind, nominal[j], min_leaf > 1, W, A, node, total,
                side, hist, tally, words, found, min_leaf, min_weight, floor, answer,
            )  # fmt: skip
            if fixed:
                columns[at], columns[constant] = columns[constant], j
                constant += 1
                continue
            tried += 1
            end -= 1
            columns[at], columns[end] = columns[end], j
            if score > floor:
                best = score
                chosen = j
                cut = answer[0]
                first = answer[1]
                flag = answer[2]
                if nominal[j]:
                    mask = levels_left(found, cut if many else 0, cut)
        gain = 0.0
        seen = False
        if chosen >= 0:
            seen = sent_codes(source, chosen, idx, start, m, cut, nominal[chosen], mask, flag, go)
            _, Wl, Al = went(classes, go, w, y, start, m, side)
            gain = gained(kind, classes, W, A, node, total, Wl, Al, side)
        if chosen < 0 or too_little(gain, min_decrease):
            ends = longer(ends, leaves + 1)
            leaf(made, here, ends, leaves, classes, W, A, total)
            leaves += 1
            continue
        gains[chosen] += gain
        left = parted(go, idx, y, w, unit, start, m, bi, by, bw)
        if not seen:
            flag = 1 if 2 * left >= m else 0
        made, sets, stack = longer(made, nodes + 2), longer(sets, n_sets + 1), longer(stack, waiting + 2)
        threshold = 0.0 if nominal[chosen] else between(low, high, chosen, cut, first)
        n_sets = split(made, here, nodes, sets, n_sets, chosen, threshold, nominal[chosen], mask, flag)
        pushed(stack, waiting, nodes, start, m, left, depth, constant, local, state)
        waiting += 2
        nodes += 2
    return made[:nodes], ends[:leaves], sets[:n_sets], gains, deepest
