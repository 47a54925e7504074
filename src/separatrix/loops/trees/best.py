"""Trees of best splits, compiled: every bin edge of K columns (or of all) is tried, by sums of the rows a bin.

Shapes: ``codes`` (p, n) uint8, ``MISSING`` = 255. A small node's codes are copied once, and its whole subtree is
grown in the cache. Cost: O(n p) a level. What a node is, and where it is noted: :mod:`separatrix.loops.trees.node`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.loops.compiled import instruction, lean_inner, lean_loop
from separatrix.loops.trees.gini import by_codes
from separatrix.loops.trees.node import (
    COUNT,
    GINI,
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

_FEW = 96  # rows up to which the bins that hold some are noted, not all looked through


@instruction
def _lowest(word):
    """The place of the lowest bit set in a 64-bit word that is not zero."""
    return (int(word) & -int(word)).bit_length() - 1


@lean_inner
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


@lean_inner
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


@lean_inner
def _fill(codes, j, idx, weights, targets, start, m, hist, words):
    """As :func:`_fill2` for K classes, a weight each."""
    column = codes[j]
    rows = idx[start : start + m]
    w = weights[start : start + m]
    y = targets[start : start + m]
    classes = np.uint64(hist.shape[0] >> 8)
    one = np.uint64(1)
    low = np.uint64(0)  # which codes below 64 there are
    for i in range(m):
        c = np.uint64(column[np.uint32(rows[i])])
        if c < np.uint64(64):
            low |= one << c
        else:
            words[c >> np.uint64(6)] |= one << (c & np.uint64(63))
        hist[c * classes + np.uint64(y[i])] += w[i]
    words[0] = low


@lean_inner
def _tallied(codes, j, idx, start, m, tally):
    """tally[c] += the rows with code c."""
    column = codes[j]
    rows = idx[start : start + m]
    for i in range(m):
        tally[column[np.uint32(rows[i])]] += 1


@lean_inner
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


@lean_inner
def _present(hist, words, few, found):
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
        if hist[2 * c] > 0.0:
            found[count] = c
            count += 1
    return count


@lean_inner
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


@lean_inner
def _search(
    kind,
    hist,
    tally,
    counted,
    found,
    count,
    nominal,
    total,
    left,
    W,
    m,
    node,
    min_leaf,
    min_weight,
    best,
    answer,
):
    """As :func:`_search2` for K classes; of levels, one against the others (its place in the order in answer[0])."""
    classes = total.shape[0]
    gone_n = tally[MISSING] if counted else 0
    gone_w = 0.0
    for k in range(classes):
        gone_w += hist[MISSING * classes + k]
        left[k] = 0.0
    holes = gone_w > 0.0
    if kind == GINI and not holes and not nominal:
        limits = min_leaf, min_weight
        return by_codes(hist, tally, counted, found, count, total, left, W, m, *limits, best, answer)
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
                score = split_score(kind, total, left, W, node)
                if score > best + TIE * abs(best):
                    best = score
                    answer[0] = i if nominal else c
                    answer[1] = found[i + 1] if i < count - 1 else MISSING
                    answer[2] = side
            if side:
                for k in range(classes):
                    left[k] -= hist[MISSING * classes + k]
    return best


@lean_inner
def between(low, high, column, last, first):
    """The threshold between two bins of a column, the last on the left and the first on the right (or none)."""
    if first == MISSING:
        return np.inf
    a = high[column, last]
    b = low[column, first]
    middle = 0.5 * a + 0.5 * b
    return middle if middle < b else a


@lean_inner
def levels_left(found, first, last):
    """The levels found at places first … last, as bits."""
    mask = np.uint64(0)
    for i in range(first, last + 1):
        mask |= np.uint64(1) << np.uint64(found[i])
    return mask


@lean_inner
def _looked(
    codes, j, idx, weights, targets, start, m, unit, kind, nominal, counted, W, A, node, total, side, hist, tally,
    words, found, min_leaf, min_weight, floor, answer,
):  # fmt: skip
    """(whether column j is constant in the node, the best score above ``floor``); its sums are cleared again."""
    width = hist.shape[0] >> 8
    if counted:
        _tallied(codes, j, idx, start, m, tally)
    if total is None:
        _fill2(codes, j, idx, weights, targets, start, m, unit, hist, words)
        count = _present(hist, words, m <= _FEW, found)
    else:
        _fill(codes, j, idx, weights, targets, start, m, hist, words)
        count = _present(hist, words, True, found)
    holes = False
    for k in range(width):
        holes = holes or hist[MISSING * width + k] > 0.0
    constant = count < 2 and not (holes and count == 1)
    best = floor
    if constant:
        pass
    elif total is None:
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
    else:
        best = _search(
            kind, hist, tally, counted, found, count, nominal, total, side, W, m, node, min_leaf, min_weight, floor,
            answer,
        )  # fmt: skip
    for i in range(count):
        for k in range(width):
            hist[found[i] * width + k] = 0.0
        tally[found[i]] = 0
    if holes:
        for k in range(width):
            hist[MISSING * width + k] = 0.0
        tally[MISSING] = 0
    return constant, best


@lean_loop
def grow_best(
    codes, low, high, nominal, idx, y, w, unit, two, kind, tests, max_depth, min_split, min_leaf, min_weight,
    min_decrease, made, ends, sets, stack, filled, gains, columns, go, bi, by, bw, total, side, hist, tally, words,
    found, answer, block,
):  # fmt: skip
    """One tree of best splits; whether it is not finished, as a table is full.

    codes (p, n) uint8; low, high (p, 256) float64, the least and largest value of each bin; nominal (p,) bool,
    whether codes are levels; idx (m,) int32 the rows, y (m,) class codes (uint8 where they fit) or float64, w (m,)
    float64 above zero, all three used up; ``unit``: all weights are one; ``two`` classes. ``tests`` columns, drawn
    anew at each node, are looked at. Limits are int64 and, of weights, float64.

    made, ends, sets, stack, filled: see :mod:`separatrix.loops.trees.node`; gains (p,) float64 what the columns'
    splits gained, columns (p,) int64 their order. Room to work in: go (m,) uint8, bi, by, bw as idx, y, w (bw of one
    for ``unit``), total and side (K,) float64 or None, hist (256 max(K, 2),) float64, tally (256,) int64 and words
    (4,) uint64 of zeros, found (256,) and answer (3,) int64, block (p, LOCAL) uint8.
    """
    p = codes.shape[0]
    zero: Any = np.int64(0)  # a literal would have helpers compiled for it
    worth = 4 * tests >= p  # copying all columns pays
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
                source, j, idx, w, y, start, m, unit, kind, nominal[j], min_leaf > 1, W, A, node, total, side, hist,
                tally, words, found, min_leaf, min_weight, floor, answer,
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
                    mask = levels_left(found, zero if total is None else cut, cut)
        gain = 0.0
        seen = False
        if chosen >= 0:
            seen = sent_codes(source, chosen, idx, start, m, cut, nominal[chosen], mask, flag, go)
            _, Wl, Al = went(go, w, y, start, m, side)
            gain = gained(kind, W, A, node, total, Wl, Al, side)
        if chosen < 0 or too_little(gain, min_decrease):
            leaf(made, here, ends, leaves, two, W, A, total)
            leaves += 1
            continue
        gains[chosen] += gain
        left = parted(go, idx, y, w, unit, start, m, bi, by, bw)
        if not seen:
            flag = 1 if 2 * left >= m else 0
        threshold = 0.0 if nominal[chosen] else between(low, high, chosen, cut, first)
        n_sets = split(made, here, nodes, sets, n_sets, chosen, threshold, nominal[chosen], mask, flag)
        pushed(stack, waiting, nodes, start, m, left, depth, constant, local, state)
        waiting += 2
        nodes += 2
    return noted(filled, waiting, nodes, leaves, n_sets, deepest)
