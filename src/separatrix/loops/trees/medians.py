"""Trees by absolute errors, compiled:  a node's value is the weighted median, its loss Σ w |y − median|.

    best split     every bin edge of the columns looked at; losses of both sides from sums over the order of y
    extra-trees    one random test a column, its sides' losses in two readings of the rows

Rows stand in the order of y and are parted in order, so that every node's stretch is sorted. Rows of one side enter a
Fenwick tree of (w, w y) over their places in that order, bin by bin: the median is found and the loss told in
O(log m). Notes [6321] "Bagging", "Extremely randomized trees"; rows E3, E4. Shapes as in
:mod:`separatrix.loops.trees.node`. Cost: best splits O(p n log n) a level, random ones O(n K).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.loops.compiled import lean_inner, lean_loop
from separatrix.loops.trees.best import between, levels_left, sent_codes
from separatrix.loops.trees.node import (
    COUNT,
    IMPURITY,
    MIDDLE,
    MISSING,
    STEP,
    TIE,
    WORST,
    begun,
    below,
    drawn,
    full,
    leaf,
    noted,
    parted,
    pushed,
    split,
    stops,
    taken,
    too_little,
)
from separatrix.loops.trees.random import look, random_test, sent

EVEN = 1e-12  # weight on both sides of a value is equal to this: the median is between it and the next


@lean_inner
def _spread(y, w):
    """(W, median, Σ w |y − median|) of sorted y; between two values that share the weight, their middle."""
    m = y.shape[0]
    W = 0.0
    for i in range(m):
        W += w[i]
    at = 0
    until = w[0]
    while at < m - 1 and until < 0.5 * W * (1.0 - EVEN):
        at += 1
        until += w[at]
    median = y[at]
    if at < m - 1 and until <= 0.5 * W * (1.0 + EVEN):
        median = 0.5 * y[at] + 0.5 * y[at + 1]
    loss = 0.0
    for i in range(m):
        loss += w[i] * abs(y[i] - median)
    return W, median, loss


@lean_inner
def _enter(fenwick, i, w, y):
    """Row i joins the side: its w and w y are added where sums of it are kept."""
    size = fenwick.shape[0] - 1
    at = i + 1
    while at <= size:
        fenwick[at, 0] += w
        fenwick[at, 1] += w * y
        at += at & -at


@lean_inner
def _loss(fenwick, y, W, A):
    """Σ w |y − median| of the rows that are in, W and A being their Σ w and Σ w y."""
    size = fenwick.shape[0] - 1
    step = 1
    while 2 * step <= size:
        step *= 2
    at = 0
    w = 0.0
    a = 0.0
    while step > 0:
        if at + step <= size and w + fenwick[at + step, 0] < 0.5 * W:
            at += step
            w += fenwick[at, 0]
            a += fenwick[at, 1]
        step //= 2
    median = y[min(at, size - 1)]
    return max((median * w - a) + ((A - a) - median * (W - w)), 0.0)


@lean_inner
def _losses(y, w, member, begins, found, count, fenwick, backwards, with_missing, out):
    """out[i] = the loss of the first i + 1 codes found, or of those after the i-th; rows without a cell first."""
    for i in range(fenwick.shape[0]):
        fenwick[i, 0] = 0.0
        fenwick[i, 1] = 0.0
    W = 0.0
    A = 0.0
    for q in range(-1, count):
        if q < 0 and not with_missing:
            continue
        k = 0 if q < 0 else (count - 1 - q if backwards else q)
        if backwards and q >= 0:
            out[k] = _loss(fenwick, y, W, A) if W > 0.0 else 0.0
        c = MISSING if q < 0 else found[k]
        for r in range(begins[c], begins[c + 1]):
            i = member[r]
            _enter(fenwick, i, w[i], y[i])
            W += w[i]
            A += w[i] * y[i]
        if q >= 0 and not backwards:
            out[k] = _loss(fenwick, y, W, A)


@lean_inner
def _by_code(column, rows, member, begins):
    """Places of the rows by their code into ``member``; code c's are begins[c] … begins[c + 1] − 1."""
    for c in range(begins.shape[0]):
        begins[c] = 0
    for i in range(rows.shape[0]):
        begins[column[rows[i]] + 2] += 1
    for c in range(2, begins.shape[0]):
        begins[c] += begins[c - 1]
    for i in range(rows.shape[0]):
        c = column[rows[i]] + 1
        member[begins[c]] = i
        begins[c] += 1


@lean_inner
def _in_order(nominal, y, w, member, begins, found, means):
    """Codes that rows have, in order, of levels in the order of their means; how many."""
    count = 0
    for c in range(MISSING):
        if begins[c + 1] == begins[c]:
            continue
        W = 0.0
        A = 0.0
        for r in range(begins[c], begins[c + 1]):
            W += w[member[r]]
            A += w[member[r]] * y[member[r]]
        means[c] = A / W
        q = count
        while nominal and q > 0 and means[found[q - 1]] > means[c]:
            found[q] = found[q - 1]
            q -= 1
        found[q] = c
        count += 1
    return count


@lean_inner
def _best_cut(y, w, W, member, begins, found, count, fenwick, loss, min_leaf, min_weight, best, tie, answer):
    """Try every cut of the codes found; a score above ``best`` is noted in ``answer`` as in ``best._search2``,
    the place of the cut (not the code) in answer[0]."""
    m = y.shape[0]
    gone = begins[MISSING + 1] - begins[MISSING]
    gone_w = 0.0
    for r in range(begins[MISSING], begins[MISSING + 1]):
        gone_w += w[member[r]]
    holes = gone > 0
    for way in range(4 if holes else 2):  # forwards, backwards; missing cells right, left
        _losses(y, w, member, begins, found, count, fenwick, way & 1 == 1, holes and 0 < way < 3, loss[way])
    nl = 0
    Wl = 0.0
    for i in range(count if holes else count - 1):
        c = found[i]
        nl += begins[c + 1] - begins[c]
        for r in range(begins[c], begins[c + 1]):
            Wl += w[member[r]]
        for side in range(2 if holes and i < count - 1 else 1):
            number = nl + gone if side else nl
            a = Wl + gone_w if side else Wl
            if number < min_leaf or m - number < min_leaf or a < min_weight or W - a < min_weight:
                continue
            score = -(loss[2, i] + loss[3, i] if side else loss[0, i] + loss[1, i])
            if score > best + tie:
                best = score
                answer[0] = i
                answer[1] = found[i + 1] if i < count - 1 else MISSING
                answer[2] = side
    return best


@lean_inner
def _two_losses(y, w, go, W):
    """(rows, weight, loss of both sides) where the rows with go are one side."""
    m = y.shape[0]
    count = 0
    Wl = 0.0
    for i in range(m):
        count += go[i]
        Wl += w[i] * go[i]
    until_l = 0.0
    until_r = 0.0
    left = y[0]
    right = y[0]
    seek_l = True
    seek_r = True
    for i in range(m):
        if go[i]:
            until_l += w[i]
            if seek_l and until_l >= 0.5 * Wl:
                left = y[i]
                seek_l = False
        else:
            until_r += w[i]
            if seek_r and until_r >= 0.5 * (W - Wl):
                right = y[i]
                seek_r = False
    loss = 0.0
    for i in range(m):
        loss += w[i] * abs(y[i] - (left if go[i] else right))
    return count, Wl, loss


@lean_inner
def _best_test(
    column, rows, y, w, W, nominal, member, begins, found, fenwick, loss, min_leaf, min_weight, floor, tie,
    answer,
):  # fmt: skip
    """(whether the column is constant in the node, the best score above ``floor``) of its cuts."""
    _by_code(column, rows, member, begins)
    count = _in_order(nominal, y, w, member, begins, found, loss[0])
    if count < 2 and not (begins[MISSING + 1] > begins[MISSING] and count == 1):
        return True, floor
    return False, _best_cut(
        y, w, W, member, begins, found, count, fenwick, loss, min_leaf, min_weight, floor, tie, answer
    )


@lean_inner
def _worth(y, w, go, W, min_leaf, min_weight):
    """−(loss of both sides) where the rows with go are one side, ``WORST`` where a side is too small."""
    m = y.shape[0]
    left, Wl, both = _two_losses(y, w, go, W)
    least = max(min_leaf, 1)
    if left < least or m - left < least or Wl < min_weight or W - Wl < min_weight:
        return WORST
    return -both


@lean_inner
def _drawn_test(flat, first, idx, start, m, nominal, y, w, W, min_leaf, min_weight, floor, tie, state, v, go):
    """(whether the column is constant in the node, the score above ``floor`` of a test drawn, its threshold, levels,
    whether missing cells go left and whether there are any, state)."""
    low, high, gone, bits, alone, fixed = look(flat, first, idx, start, m, True, nominal, v)
    if fixed:
        return True, floor, low, bits, 0, False, state
    t, mask, state = random_test(low, high, bits, alone, nominal, state)
    if alone:
        t = np.float32(np.inf)
    best = floor
    flag = 0
    for way in range(2 if gone > 0 and not alone else 1):
        sent(v, m, t, True, nominal, mask, way, go)
        score = _worth(y, w, go, W, min_leaf, min_weight)
        if score > best + tie:
            best = score
            flag = way
    return False, best, t, mask, flag, gone > 0, state


@lean_loop
def grow_absolute(
    codes, low, high, cells, nominal, idx, y, w, tests, max_depth, min_split, min_leaf, min_weight, min_decrease,
    made, ends, sets, stack, filled, gains, columns, go, bi, by, bw, member, begins, found, answer, loss, fenwick, v,
    u,
):  # fmt: skip
    """One tree of medians: best splits of ``codes`` (p, n) uint8, or random tests of ``cells`` (p · n,) float32; the
    other is None, and so are low and high (p, 256) and the room that is not needed.

    y (m,) float64 is sorted, idx (m,) int32 and w (m,) float64 stand beside it; all three are used up. The rest as in
    :func:`separatrix.loops.trees.best.grow_best`; ``made`` has one more column, the median of every node. Room:
    member (m,), begins (258,), found (256,), answer (3,) int64, loss (4, 256), fenwick (m + 1, 2) float64; or v and u
    (m,) float32.
    """
    p = nominal.shape[0]
    zero: Any = np.int64(0)  # a literal would have helpers compiled for it
    never = zero > 0
    waiting, nodes, leaves, n_sets, deepest = begun(filled)
    while waiting > 0 and not full(made, ends, sets, stack, waiting, nodes, leaves, n_sets):
        waiting -= 1
        here, start, m, depth, constant, local, state = taken(stack, waiting)
        deepest = max(deepest, depth)
        rows = idx[start : start + m]
        ys = y[start : start + m]
        ws = w[start : start + m]
        W, median, node = _spread(ys, ws)
        made[here, IMPURITY] = node / W
        made[here, COUNT] = m
        made[here, MIDDLE] = median
        end = p
        if stops(depth, m, W, max_depth, min_split, min_leaf, min_weight) or ys[0] == ys[m - 1]:
            end = 0
        best = WORST
        tie = TIE * node
        chosen = -1
        cut = zero
        first = zero
        threshold = 0.0
        mask = np.uint64(0)
        flag = zero
        holes = False
        tried = 0
        while tried < tests and constant < end:
            at = end - 1
            if codes is None or tests < p:
                state += STEP
                at = constant + below(drawn(state), end - constant)
            j = columns[at]
            floor = score = best
            fixed = False
            t = np.float32(0.0)
            test = mask
            way = 0
            gone = False
            if cells is not None:
                fixed, score, t, test, way, gone, state = _drawn_test(
                    cells, j * (cells.shape[0] // p), idx, start, m, nominal[j], ys, ws, W, min_leaf,
                    min_weight, floor, tie, state, v, go,
                )  # fmt: skip
            if codes is not None:
                if chosen > j:  # equal scores: the column that comes first in the table
                    floor = best - 2.0 * tie
                fixed, score = _best_test(
                    codes[j], rows, ys, ws, W, nominal[j], member, begins, found, fenwick[: m + 1], loss, min_leaf,
                    min_weight, floor, tie, answer,
                )  # fmt: skip
            if fixed:
                columns[at], columns[constant] = columns[constant], j
                constant += 1
                continue
            tried += 1
            end -= 1
            columns[at], columns[end] = columns[end], j
            if not score > floor:
                continue
            best = score
            chosen = j
            if cells is not None:
                threshold = np.float64(t)
                mask = test
                flag = way
                holes = gone
                v, u = u, v  # its cells are kept to part the rows by
            if codes is not None:
                cut = answer[0]
                first = answer[1]
                flag = answer[2]
                if nominal[j]:
                    mask = levels_left(found, zero, cut)
                cut = found[cut]
        gain = max(node + best, 0.0)
        if chosen < 0 or too_little(gain, min_decrease):
            leaf(made, here, ends, leaves, never, 1.0, median, None)
            ends[leaves, 0] = W
            leaves += 1
            continue
        gains[chosen] += gain
        if cells is not None:
            sent(u, m, np.float32(threshold), True, nominal[chosen], mask, flag, go)
        if codes is not None:
            holes = sent_codes(codes, chosen, idx, start, m, cut, nominal[chosen], mask, flag, go)
            threshold = between(low, high, chosen, cut, first)
        left = parted(go, idx, y, w, never, start, m, bi, by, bw)
        if not holes:
            flag = 1 if 2 * left >= m else 0
        n_sets = split(made, here, nodes, sets, n_sets, chosen, threshold, nominal[chosen], mask, flag)
        pushed(stack, waiting, nodes, start, m, left, depth, constant, local, state)
        waiting += 2
        nodes += 2
    return noted(filled, waiting, nodes, leaves, n_sets, deepest)
