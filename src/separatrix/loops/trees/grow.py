"""Trees grown and walked, compiled: a node sends a row left where x_j ≤ t (or its level is in a set), else right.

    extra-trees    K tests at a node: columns drawn among those not constant there, t uniform between the node's least
                   and largest value of the column; the test of the best score is kept            (notes [6321], E4)
    best split     every bin edge of K columns (or of all), by counts of the node's rows a bin

Rows of a node are a stretch of ``idx``, with their targets y and weights w beside them, and are parted in place; a
small node's cells are copied once, and its whole subtree is grown in the cache. Randomness belongs to a node's path
(splitmix64), so a tree depends on its seed and the rows alone.

With the left side's weight W and A = Σ w y (y ∈ {0, 1} for two classes, centred numbers for a regression) both Gini
and variance are largest in A_l²/W_l + A_r²/W_r; more classes keep a weight each. Shapes: ``cells`` (p, n), codes in
uint8 (``MISSING`` = 255) or float32 with NaN. Cost: best split O(n p) a level, extra-trees O(n K); prediction
O(depth) a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import extending, njit, types

MISSING = 255  # the code of a missing cell
LOCAL = 256  # rows of a node from which its subtree is grown on a copy that fits the cache
GINI, ENTROPY, GAIN, VARIANCE = 0, 1, 2, 3  # criteria; GAIN is the normalised information gain
TIE = 1e-11  # scores nearer than this are equal: which is larger is a matter of rounding
WORST = -1e300
_FEW = 96  # rows up to which the bins that hold some are noted, not all looked through
_STEP = np.uint64(0x9E3779B97F4A7C15)
FAST = {"reassoc", "contract", "nsz"}


intrinsic: Any = extending.intrinsic  # what it makes of a function is called without the context


@intrinsic
def _lowest(typing, word):  # type: ignore[no-untyped-def]
    """The place of the lowest bit set in a 64-bit word that is not zero."""

    def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
        from llvmlite import ir

        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@njit(cache=True, nogil=True, error_model="numpy")
def _drawn(state):  # type: ignore[no-untyped-def]
    """The 64 bits of splitmix64 that belong to a state."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True, error_model="numpy")
def _below(bits, bound):  # type: ignore[no-untyped-def]
    """A number 0 … bound − 1 from 64 random bits, bound < 2³²."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True, nogil=True, error_model="numpy")
def tree_key(seed, tree, purpose):  # type: ignore[no-untyped-def]
    """The state that belongs to (seed, purpose, tree).

    >>> tree_key(0, 1, 0) != tree_key(0, 0, 1) != tree_key(1, 0, 0)
    True
    """
    z = _drawn(np.uint64(seed) + _STEP)
    z = _drawn((z ^ np.uint64(purpose)) + _STEP)
    return _drawn((z ^ np.uint64(tree)) + _STEP)


@njit(cache=True, nogil=True, error_model="numpy")
def bag(seed, tree, n, draws):  # type: ignore[no-untyped-def]
    """How often each of n rows is met in ``draws`` draws with replacement, float64 (n,); the bag of (seed, tree).

    >>> float(bag(0, 3, 10, 7).sum())
    7.0
    """
    out = np.zeros(n)
    state = tree_key(seed, tree, 1)
    for _ in range(draws):
        state += _STEP
        out[_below(_drawn(state), n)] += 1.0
    return out


# ------------------------------------------------------------------------------------------------- scores


@njit(cache=True, nogil=True, error_model="numpy")
def _xlogx(x):  # type: ignore[no-untyped-def]
    return x * np.log(x) if x > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _purity2(kind, W, A):  # type: ignore[no-untyped-def]
    """What adds up over the sides of a split and grows as they get purer: two classes, or a regression."""
    if kind in (GINI, VARIANCE):
        return A * A / W
    return _xlogx(A) + _xlogx(W - A) - _xlogx(W)


@njit(cache=True, nogil=True, error_model="numpy")
def _purity(kind, stats, classes):  # type: ignore[no-untyped-def]
    """As :func:`_purity2`, from the weights of K classes."""
    total = 0.0
    value = 0.0
    if kind == GINI:
        for k in range(classes):
            total += stats[k]
            value += stats[k] * stats[k]
        return value / total
    for k in range(classes):
        total += stats[k]
        value += _xlogx(stats[k])
    return value - _xlogx(total)


@njit(cache=True, nogil=True, error_model="numpy")
def _score2(kind, W, A, Wl, Al, node):  # type: ignore[no-untyped-def]
    """The score of a split of (W, A) that sends (Wl, Al) left; ``node`` is the node's own purity."""
    Wr = W - Wl
    Ar = A - Al
    if kind in (GINI, VARIANCE):
        return (Al * Al * Wr + Ar * Ar * Wl) / (Wl * Wr)
    both = _purity2(kind, Wl, Al) + _purity2(kind, Wr, Ar)
    if kind == ENTROPY:
        return both
    outcome = _xlogx(W) - _xlogx(Wl) - _xlogx(Wr)  # W H_split, and −node is W H_class
    return 2.0 * (both - node) / (outcome - node)


@njit(cache=True, nogil=True, error_model="numpy")
def _score(kind, total, left, classes, W, node):  # type: ignore[no-untyped-def]
    """As :func:`_score2`, from the weights of K classes in the node and on the left."""
    Wl = 0.0
    a = 0.0
    b = 0.0
    if kind == GINI:
        for k in range(classes):
            r = total[k] - left[k]
            Wl += left[k]
            a += left[k] * left[k]
            b += r * r
        return a / Wl + b / (W - Wl)
    for k in range(classes):
        Wl += left[k]
        a += _xlogx(left[k]) + _xlogx(max(total[k] - left[k], 0.0))
    Wr = W - Wl
    both = a - _xlogx(Wl) - _xlogx(Wr)
    if kind == ENTROPY:
        return both
    return 2.0 * (both - node) / (_xlogx(W) - _xlogx(Wl) - _xlogx(Wr) - node)


@njit(cache=True, nogil=True, error_model="numpy")
def _impurity(kind, node, W, squares):  # type: ignore[no-untyped-def]
    """Gini index, entropy in bits, or variance, from a node's purity; ``squares`` is Σ w y² or, for Gini, made up."""
    if kind == VARIANCE:
        return max((squares - node) / W, 0.0)
    if kind == GINI:
        return max(1.0 - node / W, 0.0)
    return max(-node / W / np.log(2.0), 0.0)


# ------------------------------------------------------------------------------------------------- a node's rows


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _sums2(weights, targets, start, m, unit, two):  # type: ignore[no-untyped-def]
    """(W, Σ w y, Σ w y²) of a node's rows; the last is not needed of ``two`` classes."""
    w = weights[start : start + m]
    y = targets[start : start + m]
    if unit and two:
        ones = np.uint32(0)
        for i in range(m):
            ones = np.uint32(ones + np.uint32(y[i]))
        return np.float64(m), np.float64(ones), 0.0
    W = 0.0
    A = 0.0
    Q = 0.0
    for i in range(m):
        a = w[i] * y[i]
        W += w[i]
        A += a
        Q += a * y[i]
    return W, A, Q


@njit(cache=True, nogil=True, error_model="numpy")
def _class_sums(weights, targets, start, m, total):  # type: ignore[no-untyped-def]
    """The weight of each class among a node's rows into ``total``; W."""
    w = weights[start : start + m]
    y = targets[start : start + m]
    total[:] = 0.0
    W = 0.0
    for i in range(m):
        total[np.uint64(y[i])] += w[i]
        W += w[i]
    return W


@njit(cache=True, nogil=True, error_model="numpy")
def _class_went(go, weights, targets, start, m, side):  # type: ignore[no-untyped-def]
    """The weight of each class among the rows that go into ``side``; (rows, W) that go."""
    w = weights[start : start + m]
    y = targets[start : start + m]
    side[:] = 0.0
    count = 0
    W = 0.0
    for i in range(m):
        count += go[i]
        side[np.uint64(y[i])] += w[i] * go[i]
    for k in range(side.shape[0]):
        W += side[k]
    return count, W


@njit(cache=True, nogil=True, error_model="numpy")
def _alike(targets, start, m):  # type: ignore[no-untyped-def]
    """Whether all targets of a node are equal."""
    y = targets[start : start + m]
    first = y[0]
    i = 1
    while i < m and y[i] == first:
        i += 1
    return i == m


@njit(cache=True, nogil=True, error_model="numpy")
def _part(go, whole, start, m, buffer):  # type: ignore[no-untyped-def]
    """Entries start … start + m − 1 with go first, in order, then the others, in order; how many went."""
    a = whole[start : start + m]
    one = np.uint64(1)
    left = np.uint64(0)  # without a sign to be checked when it is an index
    right = np.uint64(0)
    for i in range(a.shape[0]):
        here = a[i]
        went = np.uint64(go[i])
        a[left] = here
        buffer[right] = here
        left += went
        right += one - went
    first = np.int64(left)
    for i in range(a.shape[0] - first):
        a[first + i] = buffer[i]
    return first


@njit(cache=True, nogil=True, error_model="numpy")
def _longer(a, size):  # type: ignore[no-untyped-def]
    out = np.empty(size, a.dtype)
    out[: a.shape[0]] = a
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _localised(cells, idx, start, m, block):  # type: ignore[no-untyped-def]
    """The node's cells beside each other, and its rows renumbered 0 … m − 1."""
    rows = idx[start : start + m]
    for j in range(cells.shape[0]):
        column = cells[j]
        copy = block[j]
        for i in range(rows.shape[0]):
            copy[i] = column[np.uint32(rows[i])]
    for i in range(rows.shape[0]):
        rows[i] = i


# ------------------------------------------------------------------------------------------------- best split


@njit(cache=True, nogil=True, error_model="numpy")
def _fill2(flat, j, stride, idx, weights, targets, start, m, unit, hist, words):  # type: ignore[no-untyped-def]
    """hist[2c], hist[2c + 1] += w, w y of the rows with code c; for few rows, which codes there are in ``words``."""
    column = flat[j * stride : (j + 1) * stride]
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


@njit(cache=True, nogil=True, error_model="numpy")
def _fill(flat, j, stride, idx, weights, targets, start, m, classes, hist, words):  # type: ignore[no-untyped-def]
    """As :func:`_fill2` for K classes, a weight each."""
    column = flat[j * stride : (j + 1) * stride]
    rows = idx[start : start + m]
    w = weights[start : start + m]
    y = targets[start : start + m]
    for i in range(m):
        c = np.uint64(column[np.uint32(rows[i])])
        words[c >> np.uint64(6)] |= np.uint64(1) << (c & np.uint64(63))
        hist[c * np.uint64(classes) + np.uint64(y[i])] += w[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _tallied(flat, j, stride, idx, start, m, tally):  # type: ignore[no-untyped-def]
    """tally[c] += the rows with code c."""
    column = flat[j * stride : (j + 1) * stride]
    rows = idx[start : start + m]
    for i in range(m):
        tally[column[np.uint32(rows[i])]] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _sent_codes(flat, j, stride, idx, start, m, cut, nominal, mask, gone_left, go):  # type: ignore[no-untyped-def]
    """go[i] = whether the node's i-th row goes left; whether one of them has a missing cell."""
    column = flat[j * stride : (j + 1) * stride]
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


@njit(cache=True, nogil=True, error_model="numpy")
def _present(width, hist, words, few, found):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True, error_model="numpy")
def _search2(  # type: ignore[no-untyped-def]
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
            score = _score2(kind, W, A, a, b, node)
            if score > best + TIE * abs(best):
                best = score
                answer[0] = i if nominal else c
                answer[1] = found[i + 1] if i < count - 1 else MISSING
                answer[2] = side
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _search(  # type: ignore[no-untyped-def]
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
                score = _score(kind, total, left, classes, W, node)
                if score > best + TIE * abs(best):
                    best = score
                    answer[0] = i if nominal else c
                    answer[1] = found[i + 1] if i < count - 1 else MISSING
                    answer[2] = side
            if side:
                for k in range(classes):
                    left[k] -= hist[MISSING * classes + k]
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def grow_best(  # type: ignore[no-untyped-def]
    codes, low, high, nominal, idx, y, w, unit, classes, kind, tests, max_depth, min_split, min_leaf, min_weight,
    min_decrease, key,
):  # fmt: skip
    """One tree of best splits.

    codes (p, n) uint8; low, high (p, 256) the least and largest value of each bin; nominal (p,) whether codes are
    levels; idx (m,) int32 the rows, y (m,) numbers or class codes (uint8 where they fit), w (m,) weights above zero,
    all three used up; ``classes`` is 0 for a regression. ``tests`` columns, drawn anew at each node, are looked at.

    Returns (feature, threshold, left, extra, impurity, count, leaf_value, leaf_weight, sets, gains, depth): see
    :class:`separatrix.growth.trees.Tree`.
    """
    p = codes.shape[0]
    n = idx.shape[0]
    many = classes > 2
    width = classes if many else 2
    values = 1 if classes == 0 else classes
    counted = min_leaf > 1
    room = 255
    feature = np.empty(room, np.int32)
    threshold = np.empty(room, np.float64)
    child = np.empty(room, np.int32)
    extra = np.empty(room, np.int32)
    impurity = np.empty(room, np.float32)
    number = np.empty(room, np.int32)
    leaf_room = 128
    leaf_value = np.empty(leaf_room * values)
    leaf_weight = np.empty(leaf_room)
    sets = np.empty(16, np.uint64)
    n_sets = 0
    gains = np.zeros(p)
    hist = np.zeros(256 * width)
    tally = np.zeros(256, np.int64)
    words = np.zeros(4, np.uint64)
    found = np.empty(256, np.int64)
    answer = np.zeros(3, np.int64)
    kept = np.zeros(3, np.int64)
    order = np.zeros(64, np.int64)
    total = np.zeros(width)
    side = np.zeros(width)
    go = np.empty(n, np.uint8)
    bi = np.empty(n, idx.dtype)
    bw = np.empty(1 if unit else n)
    by = np.empty(n, y.dtype)
    block = np.empty((p, LOCAL), codes.dtype)
    far = codes.reshape(-1)
    near = block.reshape(-1)
    flat = far
    stride = codes.shape[1]
    worth = 4 * tests >= p  # copying all columns pays
    columns = np.arange(p)
    # what is to be grown: node, first row, rows, depth, constant columns, whether local; and its state
    stack = np.empty((64, 6), np.int64)
    states = np.empty(64, np.uint64)
    stack[0, :] = 0
    stack[0, 2] = n
    states[0] = key
    waiting = 1
    nodes = 1
    leaves = 0
    deepest = 0
    while waiting > 0:
        waiting -= 1
        here = stack[waiting, 0]
        start = stack[waiting, 1]
        m = stack[waiting, 2]
        depth = stack[waiting, 3]
        constant = stack[waiting, 4]
        local = stack[waiting, 5] == 1
        state = states[waiting]
        deepest = max(deepest, depth)
        W = 0.0
        A = 0.0
        squares = 0.0
        if many:
            W = _class_sums(w, y, start, m, total)
            node = _purity(kind, total, classes)
        else:
            W, A, squares = _sums2(w, y, start, m, unit, classes == 2)
            node = _purity2(kind, W, A)
        if kind == GINI and not many:
            impurity[here] = max(2.0 * A / W * (1.0 - A / W), 0.0)
        else:
            impurity[here] = _impurity(kind, node, W, squares)
        number[here] = m
        stop = depth >= max_depth or m < min_split or m < 2 * min_leaf or min_weight > 0.5 * W
        stop = stop or _alike(y, start, m)
        best = WORST
        chosen = -1
        if not stop:
            if worth and not local and m <= LOCAL:
                _localised(codes, idx, start, m, block)
                local = True
            flat = near if local else far
            stride = LOCAL if local else codes.shape[1]
            few = m <= _FEW
            end = p
            tried = 0
            while tried < tests and constant < end:
                if tests < p:
                    state += _STEP
                    at = constant + _below(_drawn(state), end - constant)
                else:
                    at = end - 1
                j = columns[at]
                if many:
                    _fill(flat, j, stride, idx, w, y, start, m, width, hist, words)
                else:
                    _fill2(flat, j, stride, idx, w, y, start, m, unit, hist, words)
                if counted:
                    _tallied(flat, j, stride, idx, start, m, tally)
                count = _present(width, hist, words, few or many, found)
                holes = False
                for k in range(width):
                    holes = holes or hist[MISSING * width + k] > 0.0
                if count < 2 and not (holes and count == 1):
                    columns[at] = columns[constant]
                    columns[constant] = j
                    constant += 1
                else:
                    tried += 1
                    end -= 1
                    columns[at] = columns[end]
                    columns[end] = j
                    # equal scores: the column that comes first in the table
                    floor = best - 2.0 * TIE * abs(best) if chosen > j else best
                    if many:
                        score = _search(
                            kind, hist, tally, counted, found, count, nominal[j], classes, total, side, W, m, node,
                            min_leaf, min_weight, floor, answer,
                        )  # fmt: skip
                    else:
                        score = _search2(
                            kind, hist, tally, counted, found, count, nominal[j], W, A, m, node, min_leaf,
                            min_weight, floor, answer,
                        )  # fmt: skip
                    if score > floor:
                        best = score
                        chosen = j
                        kept[:] = answer
                        if nominal[j]:
                            order[:count] = found[:count]
                for i in range(count):
                    for k in range(width):
                        hist[found[i] * width + k] = 0.0
                    tally[found[i]] = 0
                if holes:
                    for k in range(width):
                        hist[MISSING * width + k] = 0.0
                    tally[MISSING] = 0
        gain = 0.0
        seen = False
        nl = 0
        mask = np.uint64(0)
        if chosen >= 0:
            if nominal[chosen]:
                for i in range(kept[0] if many else 0, kept[0] + 1):
                    mask |= np.uint64(1) << np.uint64(order[i])
            seen = _sent_codes(
                flat, chosen, stride, idx, start, m, kept[0], nominal[chosen], mask, kept[2], go
            )  # fmt: skip
            if many:
                nl, Wl = _class_went(go, w, y, start, m, side)
                after = _purity(kind, side, classes)
                for k in range(classes):
                    side[k] = max(total[k] - side[k], 0.0)
                gain = after + _purity(kind, side, classes) - node
            else:
                nl, Wl, Al = _went2(go, w, y, start, m)
                gain = _purity2(kind, Wl, Al) + _purity2(kind, W - Wl, A - Al) - node
                if kind == GINI:
                    gain *= 2.0
            gain = max(gain, 0.0) / (np.log(2.0) if kind in (ENTROPY, GAIN) else 1.0)
            if gain * (1.0 + 1e-12) + 2.3e-16 < min_decrease:
                chosen = -1
        if chosen < 0:
            if leaves == leaf_room:
                leaf_room *= 2
                leaf_value = _longer(leaf_value, leaf_room * values)
                leaf_weight = _longer(leaf_weight, leaf_room)
            feature[here] = -1
            threshold[here] = np.inf
            child[here] = here
            extra[here] = leaves
            leaf_weight[leaves] = W
            if many:
                for k in range(classes):
                    leaf_value[leaves * classes + k] = total[k] / W
            elif classes == 0:
                leaf_value[leaves] = A / W
            else:
                leaf_value[2 * leaves] = (W - A) / W
                leaf_value[2 * leaves + 1] = A / W
            leaves += 1
            continue
        gains[chosen] += gain
        flag = kept[2]
        if not seen:
            flag = 1 if 2 * nl >= m else 0
        if nodes + 2 > room:
            room = 2 * room + 2
            feature = _longer(feature, room)
            threshold = _longer(threshold, room)
            child = _longer(child, room)
            extra = _longer(extra, room)
            impurity = _longer(impurity, room)
            number = _longer(number, room)
        feature[here] = chosen
        child[here] = nodes
        if nominal[chosen]:
            if n_sets == sets.shape[0]:
                sets = _longer(sets, 2 * n_sets)
            sets[n_sets] = mask
            threshold[here] = np.nan
            extra[here] = 2 * n_sets + flag
            n_sets += 1
        else:
            a = high[chosen, kept[0]]
            if kept[1] == MISSING:
                threshold[here] = np.inf
            else:
                b = low[chosen, kept[1]]
                middle = 0.5 * a + 0.5 * b
                threshold[here] = middle if middle < b else a
            extra[here] = flag
        went = _part(go, idx, start, m, bi)
        _part(go, y, start, m, by)
        if not unit:
            _part(go, w, start, m, bw)
        if waiting + 2 > stack.shape[0]:
            wider = np.empty((2 * stack.shape[0], 6), np.int64)
            wider[: stack.shape[0]] = stack
            stack = wider
            states = _longer(states, stack.shape[0])
        for which in range(2):
            at = waiting + 1 - which  # the left is grown first
            stack[at, 0] = nodes + which
            stack[at, 1] = start + (went if which else 0)
            stack[at, 2] = m - went if which else went
            stack[at, 3] = depth + 1
            stack[at, 4] = constant
            stack[at, 5] = 1 if local else 0
            state += _STEP
            states[at] = _drawn(state)
        waiting += 2
        nodes += 2
    return (
        feature[:nodes].copy(), threshold[:nodes].copy(), child[:nodes].copy(), extra[:nodes].copy(),
        impurity[:nodes].copy(), number[:nodes].copy(), leaf_value[: leaves * values].copy(),
        leaf_weight[:leaves].copy(), sets[:n_sets].copy(), gains, deepest,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------- extra-trees


@njit(cache=True, nogil=True, error_model="numpy")
def _copied(table, idx, start, m, near):  # type: ignore[no-untyped-def]
    """The node's rows of the table one after another, and for each row where it begins in their place."""
    p = table.shape[1]
    for i in range(m):
        row = np.uint32(idx[start + i])
        for j in range(p):
            near[i * p + j] = table[row, j]
        idx[start + i] = i * p


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"nnan", "nsz", "reassoc"})
def _gathered(flat, first, idx, start, m, v):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True, error_model="numpy")
def _gathered_odd(flat, first, idx, start, m, v):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def _left2(v, t, weights, targets, start, m, unit, two):  # type: ignore[no-untyped-def]
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


@njit(cache=True, nogil=True, error_model="numpy")
def _went2(go, weights, targets, start, m):  # type: ignore[no-untyped-def]
    """As :func:`_left2`, of the rows that go."""
    w = weights[start : start + m]
    y = targets[start : start + m]
    count = 0
    W = 0.0
    A = 0.0
    for i in range(y.shape[0]):
        count += go[i]
        W += w[i] * go[i]
        A += w[i] * y[i] * go[i]
    return count, W, A


@njit(cache=True, nogil=True, error_model="numpy")
def _sent(v, m, t, go):  # type: ignore[no-untyped-def]
    for i in range(m):
        go[i] = v[i] <= t


@njit(cache=True, nogil=True, error_model="numpy")
def _sent_odd(v, m, t, nominal, mask, gone_left, go):  # type: ignore[no-untyped-def]
    for i in range(m):
        x = v[i]
        if x != x:
            go[i] = gone_left
        elif nominal:
            go[i] = (mask >> np.uint64(x)) & np.uint64(1)
        else:
            go[i] = x <= t


@njit(cache=True, nogil=True, error_model="numpy")
def grow_random(  # type: ignore[no-untyped-def]
    cells, table, nominal, odd, idx, y, w, unit, classes, kind, tests, max_depth, min_split, min_leaf, min_weight,
    min_decrease, key,
):  # fmt: skip
    """One extremely randomised tree: as :func:`grow_best`, of ``tests`` random tests a node.

    cells (p, n) float32 with NaN where missing, table (n, p) the same by rows; ``odd`` (p,) columns with missing
    cells or levels. A test of a nominal column is a random set of the levels the node has; where cells are missing,
    both sides are tried for them.
    """
    p = cells.shape[0]
    n = idx.shape[0]
    many = classes > 2
    values = 1 if classes == 0 else classes
    room = 255
    feature = np.empty(room, np.int32)
    threshold = np.empty(room, np.float64)
    child = np.empty(room, np.int32)
    extra = np.empty(room, np.int32)
    impurity = np.empty(room, np.float32)
    number = np.empty(room, np.int32)
    leaf_room = 128
    leaf_value = np.empty(leaf_room * values)
    leaf_weight = np.empty(leaf_room)
    sets = np.empty(16, np.uint64)
    n_sets = 0
    gains = np.zeros(p)
    total = np.zeros(max(classes, 2))
    side = np.zeros(max(classes, 2))
    best_side = np.zeros(max(classes, 2))
    go = np.empty(n, np.uint8)
    v = np.empty(n, np.float32)
    u = np.empty(n, np.float32)
    bi = np.empty(n, idx.dtype)
    bw = np.empty(1 if unit else n)
    by = np.empty(n, y.dtype)
    few = min(LOCAL, max(32, 32768 // p))
    near = np.empty(few * p, cells.dtype)
    far = cells.reshape(-1)
    worth = 32 * tests >= p  # copying whole rows pays
    columns = np.arange(p)
    stack = np.empty((64, 6), np.int64)
    states = np.empty(64, np.uint64)
    stack[0, :] = 0
    stack[0, 2] = n
    states[0] = key
    waiting = 1
    nodes = 1
    leaves = 0
    deepest = 0
    while waiting > 0:
        waiting -= 1
        here = stack[waiting, 0]
        start = stack[waiting, 1]
        m = stack[waiting, 2]
        depth = stack[waiting, 3]
        constant = stack[waiting, 4]
        local = stack[waiting, 5] == 1
        state = states[waiting]
        deepest = max(deepest, depth)
        W = 0.0
        A = 0.0
        squares = 0.0
        if many:
            W = _class_sums(w, y, start, m, total)
            node = _purity(kind, total, classes)
        else:
            W, A, squares = _sums2(w, y, start, m, unit, classes == 2)
            node = _purity2(kind, W, A)
        if kind == GINI and not many:
            impurity[here] = max(2.0 * A / W * (1.0 - A / W), 0.0)
        else:
            impurity[here] = _impurity(kind, node, W, squares)
        number[here] = m
        stop = depth >= max_depth or m < min_split or m < 2 * min_leaf or min_weight > 0.5 * W
        stop = stop or _alike(y, start, m)
        best = WORST
        chosen = -1
        cut = np.float32(0.0)
        mask = np.uint64(0)
        flag = 0
        nl = 0
        holes = False
        best_w = 0.0
        best_a = 0.0
        if not stop:
            if worth and not local and m <= few:
                _copied(table, idx, start, m, near)
                local = True
            flat = near if local else far
            end = p
            tried = 0
            while tried < tests and constant < end:
                state += _STEP
                at = constant + _below(_drawn(state), end - constant)
                j = columns[at]
                first = j if local else j * cells.shape[1]
                gone = 0
                bits = np.uint64(0)
                if odd[j]:
                    low, high, gone, bits = _gathered_odd(flat, first, idx, start, m, v)
                    if nominal[j]:
                        alone = bits & (bits - np.uint64(1)) == np.uint64(0)
                    else:
                        alone = not (low < high)
                    fixed = gone == m or (alone and gone == 0)
                else:
                    low, high = _gathered(flat, first, idx, start, m, v)
                    alone = not (low < high)
                    fixed = alone
                if fixed:
                    columns[at] = columns[constant]
                    columns[constant] = j
                    constant += 1
                    continue
                tried += 1
                end -= 1
                columns[at] = columns[end]
                columns[end] = j
                state += _STEP
                t = high
                test = bits
                if not alone:
                    if nominal[j]:
                        test = np.uint64(0)
                        while test == np.uint64(0) or test == bits:
                            test = bits & _drawn(state)
                            state += _STEP
                    else:
                        share = np.float64(_drawn(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                        t = np.float32(np.float64(low) + share * (np.float64(high) - np.float64(low)))
                        if t >= high:
                            t = low
                for way in range(2 if gone > 0 and not alone else 1):
                    if odd[j]:
                        _sent_odd(v, m, t, nominal[j], test, way, go)
                    elif many:
                        _sent(v, m, t, go)
                    if many:
                        count, Wl = _class_went(go, w, y, start, m, side)
                        Al = 0.0
                    elif odd[j]:
                        count, Wl, Al = _went2(go, w, y, start, m)
                    else:
                        count, Wl, Al = _left2(v, t, w, y, start, m, unit, classes == 2)
                    if count < min_leaf or m - count < min_leaf or Wl < min_weight or W - Wl < min_weight:
                        continue
                    if not (Wl > 0.0 and Wl < W):
                        continue
                    if many:
                        score = _score(kind, total, side, classes, W, node)
                    else:
                        score = _score2(kind, W, A, Wl, Al, node)
                    if score > best + TIE * abs(best):
                        best = score
                        chosen = j
                        cut = np.float32(np.inf) if alone else t
                        mask = test
                        flag = way
                        nl = count
                        holes = gone > 0
                        best_w = Wl
                        best_a = Al
                        if many:
                            best_side[:] = side
                if chosen == j:  # its cells are kept to part the rows by
                    v, u = u, v
        gain = 0.0
        if chosen >= 0:
            if many:
                after = _purity(kind, best_side, classes)
                for k in range(classes):
                    side[k] = max(total[k] - best_side[k], 0.0)
                gain = after + _purity(kind, side, classes) - node
            else:
                gain = _purity2(kind, best_w, best_a) + _purity2(kind, W - best_w, A - best_a) - node
                if kind == GINI:
                    gain *= 2.0
            gain = max(gain, 0.0) / (np.log(2.0) if kind in (ENTROPY, GAIN) else 1.0)
            if gain * (1.0 + 1e-12) + 2.3e-16 < min_decrease:
                chosen = -1
            elif odd[chosen]:
                _sent_odd(u, m, cut, nominal[chosen], mask, flag, go)
            else:
                _sent(u, m, cut, go)
        if chosen < 0:
            if leaves == leaf_room:
                leaf_room *= 2
                leaf_value = _longer(leaf_value, leaf_room * values)
                leaf_weight = _longer(leaf_weight, leaf_room)
            feature[here] = -1
            threshold[here] = np.inf
            child[here] = here
            extra[here] = leaves
            leaf_weight[leaves] = W
            if many:
                for k in range(classes):
                    leaf_value[leaves * classes + k] = total[k] / W
            elif classes == 0:
                leaf_value[leaves] = A / W
            else:
                leaf_value[2 * leaves] = (W - A) / W
                leaf_value[2 * leaves + 1] = A / W
            leaves += 1
            continue
        gains[chosen] += gain
        if not holes:
            flag = 1 if 2 * nl >= m else 0
        if nodes + 2 > room:
            room = 2 * room + 2
            feature = _longer(feature, room)
            threshold = _longer(threshold, room)
            child = _longer(child, room)
            extra = _longer(extra, room)
            impurity = _longer(impurity, room)
            number = _longer(number, room)
        feature[here] = chosen
        child[here] = nodes
        if nominal[chosen]:
            if n_sets == sets.shape[0]:
                sets = _longer(sets, 2 * n_sets)
            sets[n_sets] = mask
            threshold[here] = np.nan
            extra[here] = 2 * n_sets + flag
            n_sets += 1
        else:
            threshold[here] = cut
            extra[here] = flag
        went = _part(go, idx, start, m, bi)
        _part(go, y, start, m, by)
        if not unit:
            _part(go, w, start, m, bw)
        if waiting + 2 > stack.shape[0]:
            wider = np.empty((2 * stack.shape[0], 6), np.int64)
            wider[: stack.shape[0]] = stack
            stack = wider
            states = _longer(states, stack.shape[0])
        for which in range(2):
            at = waiting + 1 - which  # the left is grown first
            stack[at, 0] = nodes + which
            stack[at, 1] = start + (went if which else 0)
            stack[at, 2] = m - went if which else went
            stack[at, 3] = depth + 1
            stack[at, 4] = constant
            stack[at, 5] = 1 if local else 0
            state += _STEP
            states[at] = _drawn(state)
        waiting += 2
        nodes += 2
    return (
        feature[:nodes].copy(), threshold[:nodes].copy(), child[:nodes].copy(), extra[:nodes].copy(),
        impurity[:nodes].copy(), number[:nodes].copy(), leaf_value[: leaves * values].copy(),
        leaf_weight[:leaves].copy(), sets[:n_sets].copy(), gains, deepest,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------- prediction

ABREAST = 16  # rows walked side by side: one waits for memory while the others move


@njit(cache=True, nogil=True, error_model="numpy")
def walk(X, nodes, sets, nominal, any_nominal, out):  # type: ignore[no-untyped-def]
    """out[i] = the node row i of X (n, p) ends in; ``nodes`` are records (:class:`separatrix.growth.trees.Tree`)."""
    at = np.zeros(ABREAST, np.uint32)
    row = np.zeros(ABREAST, np.uint32)
    n = X.shape[0]
    active = min(ABREAST, n)
    for s in range(active):
        row[s] = s
    waiting = active
    while active > 0:
        for s in range(active):
            here = nodes[at[s]]
            j = here.feature
            if j >= 0:
                x = X[row[s], np.uint32(j)]
                right = np.uint32(not (x <= here.threshold))
                if x != x:
                    right = np.uint32(1 - (here.extra & 1))
                elif any_nominal and nominal[j]:
                    if x >= 0 and x < 64:
                        right = np.uint32(1) - np.uint32(
                            (sets[here.extra >> 1] >> np.uint64(x)) & np.uint64(1)
                        )
                    else:
                        right = np.uint32(1 - (here.extra & 1))
                at[s] = np.uint32(here.child) + right
            elif waiting < n:  # another row takes its place
                out[row[s]] = at[s]
                row[s] = waiting
                at[s] = 0
                waiting += 1
            else:
                out[row[s]] = at[s]
                active -= 1
                row[s] = row[active]
                at[s] = at[active]
                break


@njit(cache=True, nogil=True, error_model="numpy")
def add_leaves(ends, nodes, value, width, rows, out):  # type: ignore[no-untyped-def]
    """out[row] += the value of the leaf each row ended in; ``rows`` empty: rows 0 … in order."""
    if rows.shape[0] > 0:
        for i in range(ends.shape[0]):
            leaf = nodes[np.uint32(ends[i])].extra
            for k in range(width):
                out[rows[i], k] += value[leaf * width + k]
        return
    for i in range(ends.shape[0]):
        leaf = nodes[np.uint32(ends[i])].extra
        for k in range(width):
            out[i, k] += value[leaf * width + k]
