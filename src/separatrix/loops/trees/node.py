"""A node of a growing tree, compiled: what its rows add up to, how pure it is, how it is parted and noted down.

    best split     :mod:`separatrix.loops.trees.best`       every bin edge of K columns (or of all)
    extra-trees    :mod:`separatrix.loops.trees.random`     K random tests
    medians        :mod:`separatrix.loops.trees.medians`    both, by absolute errors

A node sends a row left where x_j ≤ t (or its level is in a set), else right. Rows of a node are a stretch of ``idx``
(int32), with their targets y (uint8 for up to 256 classes, else float64) and weights w (float64) beside them, and are
parted in place. Randomness belongs to a node's path (splitmix64), so a tree depends on its seed and the rows alone.

With the left side's weight W and A = Σ w y (y ∈ {0, 1} for two classes, centred numbers for a regression) both Gini
and variance are largest in A_l²/W_l + A_r²/W_r; more classes keep a weight each. Notes [6321] "Bagging", "Extremely
randomized trees"; rows E3, E4.

A tree in the making is four tables, and how much of each is filled:

    made  (nodes, 7)          float64: FEATURE (−1 in a leaf) … MIDDLE; children stand beside each other
    ends  (leaves, 1 + V)     float64: weight and values of a leaf
    sets  (sets, 1)           int64: the levels, as bits, that go left
    stack (waiting, 7)        int64: node, first row, rows, depth, constant columns, whether local, state of its draws
    filled (5,)               int64: WAITING, NODES, LEAVES, SETS, DEEPEST

A loop that has no room left returns; :mod:`separatrix.growth.making` makes the tables longer and calls it again.
Where ``total`` and ``side`` (K,) are None (two classes, a regression), what is for K classes is not compiled.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import lean_inner, lean_inner_with

MISSING = 255  # the code of a missing cell
LOCAL = 256  # rows of a node from which its subtree is grown on a copy that fits the cache
GINI, ENTROPY, GAIN, VARIANCE = 0, 1, 2, 3  # criteria; GAIN is the normalised information gain
TIE = 1e-11  # scores nearer than this are equal: which is larger is a matter of rounding
WORST = -1e300
STEP = np.uint64(0x9E3779B97F4A7C15)
FAST = {"reassoc", "contract", "nsz"}
FEATURE, THRESHOLD, CHILD, EXTRA, IMPURITY, COUNT, MIDDLE = range(7)  # MIDDLE: medians alone have it
WAITING, NODES, LEAVES, SETS, DEEPEST = range(5)


@lean_inner
def drawn(state):
    """The 64 bits of splitmix64 that belong to a state."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@lean_inner
def below(bits, bound):
    """A number 0 … bound − 1 from 64 random bits, bound < 2³²."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


# ------------------------------------------------------------------------------------------------- scores


@lean_inner
def _xlogx(x):
    return x * np.log(x) if x > 0.0 else 0.0


@lean_inner
def purity2(kind, W, A):
    """What adds up over the sides of a split and grows as they get purer: two classes, or a regression."""
    if kind in (GINI, VARIANCE):
        return A * A / W
    return _xlogx(A) + _xlogx(W - A) - _xlogx(W)


@lean_inner
def purity(kind, stats):
    """As :func:`purity2`, from the weights of K classes."""
    classes = stats.shape[0]
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


@lean_inner
def split_score2(kind, W, A, Wl, Al, node):
    """The score of a split of (W, A) that sends (Wl, Al) left; ``node`` is the node's own purity."""
    Wr = W - Wl
    Ar = A - Al
    if kind in (GINI, VARIANCE):
        return (Al * Al * Wr + Ar * Ar * Wl) / (Wl * Wr)
    both = purity2(kind, Wl, Al) + purity2(kind, Wr, Ar)
    if kind == ENTROPY:
        return both
    outcome = _xlogx(W) - _xlogx(Wl) - _xlogx(Wr)  # W H_split, and −node is W H_class
    return 2.0 * (both - node) / (outcome - node)


@lean_inner
def split_score(kind, total, left, W, node):
    """As :func:`split_score2`, from the weights of K classes in the node and on the left."""
    classes = total.shape[0]
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


@lean_inner
def _impurity(kind, node, W, squares):
    """Gini index, entropy in bits, or variance, from a node's purity; ``squares`` is Σ w y² or, for Gini, made up."""
    if kind == VARIANCE:
        return max((squares - node) / W, 0.0)
    if kind == GINI:
        return max(1.0 - node / W, 0.0)
    return max(-node / W / np.log(2.0), 0.0)


# ------------------------------------------------------------------------------------------------- a node's rows


@lean_inner_with(FAST)
def sums2(weights, targets, start, m, unit, two):
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


@lean_inner
def class_sums(weights, targets, start, m, total):
    """The weight of each class among a node's rows into ``total``; W."""
    w = weights[start : start + m]
    y = targets[start : start + m]
    for k in range(total.shape[0]):
        total[k] = 0.0
    W = 0.0
    for i in range(m):
        total[np.uint64(y[i])] += w[i]
        W += w[i]
    return W


@lean_inner
def alike(targets, start, m):
    """Whether all targets of a node are equal."""
    y = targets[start : start + m]
    first = y[0]
    i = 1
    while i < m and y[i] == first:
        i += 1
    return i == m


@lean_inner
def _part(go, whole, start, m, buffer):
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


@lean_inner
def judged(kind, W, A, squares, total):
    """(purity, impurity) of a node, from what :func:`sums2` or :func:`class_sums` says of its rows."""
    if total is None:
        node = purity2(kind, W, A)
        if kind == GINI:
            return node, max(2.0 * A / W * (1.0 - A / W), 0.0)
    else:
        node = purity(kind, total)
    return node, _impurity(kind, node, W, squares)


@lean_inner
def went(go, weights, targets, start, m, side):
    """(rows, W, Σ w y) of the node's rows that go; of more than two classes, their weights into ``side``."""
    w = weights[start : start + m]
    y = targets[start : start + m]
    count = 0
    W = 0.0
    A = 0.0
    if side is None:
        for i in range(y.shape[0]):
            count += go[i]
            W += w[i] * go[i]
            A += w[i] * y[i] * go[i]
    else:
        for k in range(side.shape[0]):
            side[k] = 0.0
        for i in range(m):
            count += go[i]
            side[np.uint64(y[i])] += w[i] * go[i]
        for k in range(side.shape[0]):
            W += side[k]
    return count, W, A


@lean_inner
def gained(kind, W, A, node, total, Wl, Al, side):
    """What a split that sends (Wl, Al), or ``side``, left takes from W·impurity; ``side`` is used up."""
    if total is None:
        gain = purity2(kind, Wl, Al) + purity2(kind, W - Wl, A - Al) - node
        if kind == GINI:
            gain *= 2.0
    else:
        after = purity(kind, side)
        for k in range(side.shape[0]):
            side[k] = max(total[k] - side[k], 0.0)
        gain = after + purity(kind, side) - node
    gain = max(gain, 0.0)
    return gain / np.log(2.0) if kind in (ENTROPY, GAIN) else gain


@lean_inner
def too_little(gain, min_decrease):
    """Whether a split does not take what it has to, rounding forgiven."""
    return gain * (1.0 + 1e-12) + 2.3e-16 < min_decrease


@lean_inner
def stops(depth, m, W, max_depth, min_split, min_leaf, min_weight):
    """Whether the limits make a node a leaf."""
    return depth >= max_depth or m < min_split or m < 2 * min_leaf or min_weight > 0.5 * W


@lean_inner
def parted(go, idx, targets, weights, unit, start, m, spare_idx, spare_targets, spare_weights):
    """The node's rows that go, before those that do not; how many."""
    first = _part(go, idx, start, m, spare_idx)
    _part(go, targets, start, m, spare_targets)
    if not unit:
        _part(go, weights, start, m, spare_weights)
    return first


# ------------------------------------------------------------------------------------------------- noted down


@lean_inner
def full(made, ends, sets, stack, waiting, nodes, leaves, n_sets):
    """Whether a table has no room for what one more node may add."""
    return (
        nodes + 2 > made.shape[0]
        or leaves == ends.shape[0]
        or n_sets == sets.shape[0]
        or waiting == stack.shape[0]
    )


@lean_inner
def begun(filled):
    """What :func:`noted` wrote."""
    return filled[WAITING], filled[NODES], filled[LEAVES], filled[SETS], filled[DEEPEST]


@lean_inner
def noted(filled, waiting, nodes, leaves, n_sets, deepest):
    """How much of each table is filled; whether nodes wait."""
    filled[WAITING] = waiting
    filled[NODES] = nodes
    filled[LEAVES] = leaves
    filled[SETS] = n_sets
    filled[DEEPEST] = deepest
    return waiting > 0


@lean_inner
def taken(stack, at):
    """What is to be grown next: (node, first row, rows, depth, constant columns, whether local, state)."""
    row = stack[at]
    return row[0], row[1], row[2], row[3], row[4], row[5] == 1, np.uint64(row[6])


@lean_inner
def pushed(stack, waiting, nodes, start, m, left, depth, constant, local, state):
    """The two children of a node of m rows wait, ``left`` of its rows in the first, which is grown first."""
    for which in range(2):
        row = stack[waiting + 1 - which]
        row[0] = nodes + which
        row[1] = start + (left if which else 0)
        row[2] = m - left if which else left
        row[3] = depth + 1
        row[4] = constant
        row[5] = 1 if local else 0
        state += STEP
        row[6] = np.int64(drawn(state))


@lean_inner
def leaf(made, here, ends, leaves, two, W, A, total):
    """The node is a leaf, of a mean or of shares of classes."""
    made[here, FEATURE] = -1.0
    made[here, THRESHOLD] = np.inf
    made[here, CHILD] = here
    made[here, EXTRA] = leaves
    row = ends[leaves]
    row[0] = W
    if total is not None:
        for k in range(total.shape[0]):
            row[1 + k] = total[k] / W
    elif two:
        row[1] = (W - A) / W
        row[2] = A / W
    else:
        row[1] = A / W


@lean_inner
def split(made, here, nodes, sets, n_sets, column, cut, nominal, mask, missing_left):
    """The node is split, its children to be ``nodes`` and the next; how many sets of levels there are now."""
    made[here, FEATURE] = column
    made[here, CHILD] = nodes
    if nominal:
        sets[n_sets, 0] = np.int64(mask)
        made[here, THRESHOLD] = np.nan
        made[here, EXTRA] = 2 * n_sets + missing_left
        return n_sets + 1
    made[here, THRESHOLD] = cut
    made[here, EXTRA] = missing_left
    return n_sets
