"""Trees by absolute errors, compiled:  a node's value is the weighted median, its loss Σ w |y − median|.

    best split     every bin edge of the columns looked at; losses of both sides from sums over the order of y
    extra-trees    one random test a column, its sides' losses in two readings of the rows

Rows stand in the order of y and are parted in order, so that every node's stretch is sorted. Rows of one side enter a
Fenwick tree of (w, w y) over their places in that order, bin by bin: the median is found and the loss told in
O(log m). Notes [6321] "Bagging", "Extremely randomized trees"; rows E3, E4. Shapes as in
:mod:`separatrix.loops.trees.grow`. Cost: best splits O(p n log n) a level, random ones O(n K).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from separatrix.loops.trees.grow import _STEP, MISSING, TIE, WORST, _below, _drawn, _longer, _part

EVEN = 1e-12  # weight on both sides of a value is equal to this: the median is between it and the next


@njit(cache=True, nogil=True, error_model="numpy")
def _spread(y, w):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True, error_model="numpy")
def _enter(fenwick, i, w, y):  # type: ignore[no-untyped-def]
    """Row i joins the side: its w and w y are added where sums of it are kept."""
    size = fenwick.shape[0] - 1
    at = i + 1
    while at <= size:
        fenwick[at, 0] += w
        fenwick[at, 1] += w * y
        at += at & -at


@njit(cache=True, nogil=True, error_model="numpy")
def _loss(fenwick, y, W, A):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True, error_model="numpy")
def _losses(y, w, member, begins, found, count, fenwick, backwards, with_missing, out):  # type: ignore[no-untyped-def]
    """out[i] = the loss of the first i + 1 codes found, or of those after the i-th; rows without a cell first."""
    fenwick[:] = 0.0
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


@njit(cache=True, nogil=True, error_model="numpy")
def _by_code(column, rows, member, begins):  # type: ignore[no-untyped-def]
    """Places of the rows by their code into ``member``; code c's are begins[c] … begins[c + 1] − 1."""
    begins[:] = 0
    for i in range(rows.shape[0]):
        begins[column[rows[i]] + 2] += 1
    for c in range(2, begins.shape[0]):
        begins[c] += begins[c - 1]
    for i in range(rows.shape[0]):
        c = column[rows[i]] + 1
        member[begins[c]] = i
        begins[c] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _in_order(nominal, y, w, member, begins, found):  # type: ignore[no-untyped-def]
    """Codes that rows have, in order, of levels in the order of their means; how many."""
    count = 0
    means = np.empty(256)
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


@njit(cache=True, nogil=True, error_model="numpy")
def _best_cut(y, w, W, member, begins, found, count, fenwick, loss, min_leaf, min_weight, best, tie, answer):  # type: ignore[no-untyped-def]
    """Try every cut of the codes found; a score above ``best`` is noted in ``answer`` as in ``tree_loops._search2``,
    the place of the cut (not the code) in answer[0]."""
    m = y.shape[0]
    gone = begins[MISSING + 1] - begins[MISSING]
    gone_w = 0.0
    for r in range(begins[MISSING], begins[MISSING + 1]):
        gone_w += w[member[r]]
    holes = gone > 0
    _losses(y, w, member, begins, found, count, fenwick, False, False, loss[0])
    _losses(y, w, member, begins, found, count, fenwick, True, holes, loss[1])
    if holes:
        _losses(y, w, member, begins, found, count, fenwick, False, True, loss[2])
        _losses(y, w, member, begins, found, count, fenwick, True, False, loss[3])
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


@njit(cache=True, nogil=True, error_model="numpy")
def _two_losses(y, w, go, W):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True, error_model="numpy")
def _random_test(column, rows, nominal, state):  # type: ignore[no-untyped-def]
    """(constant, threshold, levels that go left, whether cells are missing, state) of a test drawn for a column."""
    low = np.inf
    high = -np.inf
    gone = 0
    bits = np.uint64(0)
    for i in range(rows.shape[0]):
        x = column[rows[i]]
        if x != x:
            gone += 1
        else:
            low = min(low, x)
            high = max(high, x)
            if nominal and x >= 0:
                bits |= np.uint64(1) << (np.uint64(x) & np.uint64(63))
    alone = not (low < high)
    if gone == rows.shape[0] or (alone and gone == 0):
        return True, 0.0, bits, False, state
    state += _STEP
    t = high
    test = bits
    if not alone:
        if nominal:
            test = np.uint64(0)
            while test == np.uint64(0) or test == bits:
                test = bits & _drawn(state)
                state += _STEP
        else:
            share = np.float64(_drawn(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
            t = np.float64(np.float32(low + share * (high - low)))
            if t >= high:
                t = low
    else:
        t = np.inf
    return False, t, test, gone > 0, state


@njit(cache=True, nogil=True, error_model="numpy")
def _sent(column, rows, t, nominal, mask, gone_left, go):  # type: ignore[no-untyped-def]
    """go[i] = whether a cell goes left."""
    for i in range(rows.shape[0]):
        x = column[rows[i]]
        if x != x:
            go[i] = gone_left
        elif nominal:
            go[i] = (mask >> np.uint64(x)) & np.uint64(1)
        else:
            go[i] = x <= t


@njit(cache=True, nogil=True, error_model="numpy")
def grow_absolute(  # type: ignore[no-untyped-def]
    codes, low, high, cells, nominal, random, idx, y, w, tests, max_depth, min_split, min_leaf, min_weight,
    min_decrease, key,
):  # fmt: skip
    """One tree of medians: best splits of ``codes`` (p, n), or with ``random`` random tests of ``cells`` (p, n).

    y (m,) is sorted, idx and w stand beside it; all three are used up. Returns what ``grow.grow_best`` does,
    and the median of every node.
    """
    p = nominal.shape[0]
    n = idx.shape[0]
    room = 2 * n
    feature = np.full(room, -1, np.int32)
    threshold = np.full(room, np.inf)
    child = np.arange(room).astype(np.int32)
    extra = np.zeros(room, np.int32)
    impurity = np.zeros(room)
    number = np.zeros(room, np.int32)
    middle = np.zeros(room)
    leaf_value = np.empty(n)
    leaf_weight = np.empty(n)
    sets = np.empty(16, np.uint64)
    n_sets = 0
    gains = np.zeros(p)
    member = np.empty(n, np.int64)
    begins = np.zeros(258, np.int64)
    found = np.empty(256, np.int64)
    kept = np.empty(256, np.int64)
    answer = np.zeros(3, np.int64)
    loss = np.zeros((4, 256))
    tree = np.zeros((n + 1, 2))
    go = np.empty(n, np.uint8)
    bi = np.empty(n, idx.dtype)
    bw = np.empty(n)
    by = np.empty(n)
    columns = np.arange(p)
    stack = np.zeros((n + 2, 5), np.int64)  # node, first row, rows, depth, constant columns
    states = np.empty(n + 2, np.uint64)
    stack[0, 2] = n
    states[0] = key
    waiting = 1
    nodes = 1
    leaves = 0
    deepest = 0
    while waiting > 0:
        waiting -= 1
        here, start, m, depth, constant = stack[waiting]
        state = states[waiting]
        deepest = max(deepest, depth)
        rows = idx[start : start + m]
        ys = y[start : start + m]
        ws = w[start : start + m]
        W, median, node = _spread(ys, ws)
        impurity[here] = node / W
        middle[here] = median
        number[here] = m
        stop = (
            depth >= max_depth
            or m < min_split
            or m < 2 * min_leaf
            or min_weight > 0.5 * W
            or ys[0] == ys[m - 1]
        )
        best = WORST
        tie = TIE * node
        chosen = -1
        cut = 0.0
        mask = np.uint64(0)
        flag = 0
        holes = False
        end = p
        tried = 0
        while not stop and tried < tests and constant < end:
            at = end - 1
            if random or tests < p:
                state += _STEP
                at = constant + _below(_drawn(state), end - constant)
            j = columns[at]
            count = 0
            t = 0.0
            test = np.uint64(0)
            gone = False
            if random:
                fixed, t, test, gone, state = _random_test(cells[j], rows, nominal[j], state)
            else:
                _by_code(codes[j], rows, member, begins)
                count = _in_order(nominal[j], ys, ws, member, begins, found)
                gone = begins[MISSING + 1] > begins[MISSING]
                fixed = count < 2 and not (gone and count == 1)
            if fixed:
                columns[at] = columns[constant]
                columns[constant] = j
                constant += 1
                continue
            tried += 1
            end -= 1
            columns[at] = columns[end]
            columns[end] = j
            if random:
                for way in range(2 if gone and t < np.inf else 1):
                    _sent(cells[j], rows, t, nominal[j], test, way, go)
                    nl, Wl, both = _two_losses(ys, ws, go, W)
                    if (
                        nl < max(min_leaf, 1)
                        or m - nl < max(min_leaf, 1)
                        or Wl < min_weight
                        or W - Wl < min_weight
                    ):
                        continue
                    if -both > best + tie:
                        best = -both
                        chosen = j
                        cut = t
                        mask = test
                        flag = way
                        holes = gone
                continue
            # equal scores: the column that comes first in the table
            floor = best - 2.0 * tie if chosen > j else best
            score = _best_cut(
                ys,
                ws,
                W,
                member,
                begins,
                found,
                count,
                tree[: m + 1],
                loss,
                min_leaf,
                min_weight,
                floor,
                tie,
                answer,
            )
            if score > floor:
                best = score
                chosen = j
                flag = answer[2]
                holes = gone
                mask = np.uint64(0)
                if nominal[j]:
                    for i in range(answer[0] + 1):
                        mask |= np.uint64(1) << np.uint64(found[i])
                kept[0] = found[answer[0]]
                kept[1] = answer[1]
        gain = max(node + best, 0.0)
        if chosen >= 0 and gain * (1.0 + 1e-12) + 2.3e-16 < min_decrease:
            chosen = -1
        if chosen < 0:
            extra[here] = leaves
            leaf_weight[leaves] = W
            leaf_value[leaves] = median
            leaves += 1
            continue
        if random:
            _sent(cells[chosen], rows, cut, nominal[chosen], mask, flag, go)
        else:
            column = codes[chosen]
            for i in range(m):
                c = column[rows[i]]
                if c == MISSING:
                    go[i] = flag
                elif nominal[chosen]:
                    go[i] = (mask >> np.uint64(c)) & np.uint64(1)
                else:
                    go[i] = c <= kept[0]
            cut = np.inf
            if kept[1] != MISSING:
                a = high[chosen, kept[0]]
                b = low[chosen, kept[1]]
                cut = 0.5 * a + 0.5 * b
                if not cut < b:
                    cut = a
        went = _part(go, idx, start, m, bi)
        _part(go, y, start, m, by)
        _part(go, w, start, m, bw)
        gains[chosen] += gain
        if not holes:
            flag = 1 if 2 * went >= m else 0
        feature[here] = chosen
        child[here] = nodes
        threshold[here] = cut
        extra[here] = flag
        if nominal[chosen]:
            if n_sets == sets.shape[0]:
                sets = _longer(sets, 2 * n_sets)
            sets[n_sets] = mask
            threshold[here] = np.nan
            extra[here] = 2 * n_sets + flag
            n_sets += 1
        for which in range(2):
            at = waiting + 1 - which  # the left is grown first
            stack[at, 0] = nodes + which
            stack[at, 1] = start + (went if which else 0)
            stack[at, 2] = m - went if which else went
            stack[at, 3] = depth + 1
            stack[at, 4] = constant
            state += _STEP
            states[at] = _drawn(state)
        waiting += 2
        nodes += 2
    return (
        feature[:nodes].copy(), threshold[:nodes].copy(), child[:nodes].copy(), extra[:nodes].copy(),
        impurity[:nodes].copy(), number[:nodes].copy(), leaf_value[:leaves].copy(), leaf_weight[:leaves].copy(),
        sets[:n_sets].copy(), gains, deepest, middle[:nodes].copy(),
    )  # fmt: skip
