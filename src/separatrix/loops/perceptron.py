"""The perceptron's pass over rows, compiled: a row on the wrong side, y_i (w·x_i + b) ≤ 0, moves the weights.

    w ← w + η s_i y_i x_i,   b ← b + η s_i y_i            ([6867] 5.4, [6321], [446])

Rows are visited in a given order and each step waits for the one before, so a pass is one thread's work: O(np)
reading and O(p) a mistake. Rows to come are prefetched, and the random order of a large table is dealt in two steps
that memory likes (see :func:`dealt`). Where mistakes are frequent and cannot be foreseen, nothing waits for them and
no branch hangs on them: with m the step, zero where row i was right, the next row k has the score

    (w + m (x_i, 1)) · (x_k, 1)  =  w · (x_k, 1)  +  m (x_i · x_k + 1),

whose two products are taken before m is known. A score that is not a finite number ends the pass at its row, so that
no sweep is needed to look for missing cells first.

Shapes: weights (p+1,), the intercept last; ``sign`` (n,) int8; ``scale`` (n,) or empty (all one); ``counts`` (n,);
``tally`` (3,) what was so far: mistakes, visits, right rows in a row. It is kept in memory, as the weights are: where
Ctrl-C falls between a pass and whoever reads its answer, both still belong together.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import LANES, inner, inner_with, instruction, loop, loop_with, reads
from separatrix.loops.memory import prefetch

SHORT = 128  # cells of a row up to which a step of zero costs less than a branch guessed wrong,
RARE = 8  # where at least one visit in so many was a mistake


@inner
def _drawn(state):
    """The 64 bits of splitmix64 that belong to a state."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def _shuffle(a, first, last, state):
    """Fisher and Yates on a[first:last]; the next state. Of fewer than 2¹⁶ places two are drawn at once: 32 bits
    choose one of them evenly to 1 in 65,536."""
    at = last - 1
    while at - first < 65535 and at > first:
        state += np.uint64(0x9E3779B97F4A7C15)
        z = _drawn(state)
        other = first + np.int64(((z >> np.uint64(32)) * np.uint64(at + 1 - first)) >> np.uint64(32))
        a[at], a[other] = a[other], a[at]
        at -= 1
        if at > first:
            other = first + np.int64(
                ((z & np.uint64(0xFFFFFFFF)) * np.uint64(at + 1 - first)) >> np.uint64(32)
            )
            a[at], a[other] = a[other], a[at]
            at -= 1
    while at > first:
        state += np.uint64(0x9E3779B97F4A7C15)
        share = np.float64(_drawn(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
        other = first + np.int64(share * (at + 1 - first))
        a[at], a[other] = a[other], a[at]
        at -= 1
    return state


@loop
def shuffled(rows, seed):
    """A uniformly random order of the given rows.

    >>> sorted(shuffled(np.arange(5), 3).tolist())
    [0, 1, 2, 3, 4]
    """
    order = rows.copy()
    _shuffle(order, 0, order.shape[0], np.uint64(seed))
    return order


@loop
def dealt(rows, seed, block, window):
    """(order, as dealt): blocks of neighbouring rows in random order, then rows shuffled within each window.

    Rows of one block stay within a window of each other; every window mixes window/block blocks from all over the
    table, others in every epoch.
    """
    n = rows.shape[0]
    count = (n + block - 1) // block
    blocks = np.arange(count)
    state = _shuffle(blocks, 0, count, np.uint64(seed))
    fetch = np.empty_like(rows)
    at = 0
    for b in blocks:
        for i in range(b * block, min(n, (b + 1) * block)):
            fetch[at] = rows[i]
            at += 1
    order = fetch.copy()
    for first in range(0, n, window):
        state = _shuffle(order, first, min(n, first + window), state)
    return order, fetch


@instruction
def _step(X, now, following, w, whole, move):
    """(w·x_k, x_i·x_k), and w ← w + move x_i, over the first ``whole`` cells, a multiple of LANES, of two rows.

    Row i begins at the flat index ``now``, row k at ``following``. Written for vectors: left to the compiler, the
    last cells of an update are stored one by one, and reading them back together stalls.
    """
    x, after = (X.reshape(-1)[at : at + whole].astype(np.float64) for at in (now, following))
    both = w[:whole] @ after, x @ after
    w[:whole] += move * x
    return both


@inner_with({"reassoc", "contract"})
def _score(X, i, w):
    score = w[X.shape[1]]
    for j in range(X.shape[1]):
        score += np.float64(X[i, j]) * w[j]
    return score


@reads("X")
@loop_with({"reassoc", "contract"})
def dense_scores(X, w):
    """w·x_i + b (n,) in double precision of row-major X (n, p), w (p+1,); O(np), one thread.

    >>> dense_scores(np.array([[1.0, 2.0], [0.0, 1.0]], dtype=np.float32), np.array([3.0, -1.0, 0.5]))
    array([ 1.5, -0.5])
    """
    scores = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        scores[i] = _score(X, i, w)
    return scores


@reads("X")
@loop_with({"reassoc", "contract"})
def dense_pass(X, sign, scale, eta, one, order, fetch, ahead, begin, w, counts, drift, late, tally, record):
    """Visit order[begin:] and move w at each mistake; X is row-major, ``one`` is 1, or 0 as w[p]: no intercept.

    The answer is where the pass ended: early before a mistake that breaks a run longer than ``record``, and at −1 − i
    where row i has no finite score. ``drift`` and ``late`` (empty: not wanted) gather each step times the number of
    visits before it, in weights and by row: what an average over all visits lacks of the last weights.
    """
    p = X.shape[1]
    visits = order.shape[0]
    line = max(1, 64 // X.itemsize)
    branchless = p <= SHORT and RARE * tally[0] >= tally[1]
    whole = p - p % LANES
    mistakes, seen, run = tally[0], tally[1] - begin, tally[2]
    end = visits
    score = _score(X, np.uint64(order[begin]), w) if begin < visits else 0.0
    for at in range(begin, visits):
        if at + ahead < visits:
            row = np.int64(fetch[at + ahead])
            prefetch(sign, row)
            prefetch(counts, row)
            for j in range(row * p, row * p + p, line):
                prefetch(X, j)
        i = np.uint64(order[at])  # no sign to be checked when it is an index
        k = np.uint64(order[min(at + 1, visits - 1)])
        if not abs(score) < np.inf:
            score = _score(X, i, w)  # x_i·x_k may be too large where the score is not
            if not abs(score) < np.inf:
                end = -1 - np.int64(i)
                seen += at
                break
        y = np.float64(sign[i])
        wrong = np.int64(not score * y > 0.0)
        if run > record and wrong:
            end = at
            break
        run = (run + 1) * (1 - wrong)
        mistakes += wrong
        counts[i] += wrong
        move = eta * y * np.float64(wrong)
        if scale.shape[0] > 0:
            move *= scale[i]
        if branchless:
            score, product = _step(X, np.int64(i) * p, np.int64(k) * p, w, whole, move)
            score += w[p]
            product += one
            for j in range(whole, p):
                x, after = np.float64(X[i, j]), np.float64(X[k, j])
                score += w[j] * after
                product += x * after
                w[j] += move * x
            score += move * product
            w[p] += move * one
        else:
            if wrong:
                for j in range(p):
                    w[j] += move * np.float64(X[i, j])
                w[p] += move * one
            score = _score(X, k, w)
        if late.shape[0] > 0 and wrong:
            before = np.float64(seen + at)
            late[i] += before
            move *= before
            for j in range(p):
                drift[j] += move * np.float64(X[i, j])
            drift[p] += move * one
    tally[0], tally[1], tally[2] = mistakes, seen + max(end, 0), run
    return end


@loop
def csr_pass(
    data, indices, indptr, sign, scale, eta, one, order, begin, w, counts, drift, late, tally, record
):
    """As :func:`dense_pass`, for the three vectors of a CSR matrix; O(stored cells)."""
    p = w.shape[0] - 1
    visits = order.shape[0]
    mistakes, seen, run = tally[0], tally[1] - begin, tally[2]
    end = visits
    for at in range(begin, visits):
        i = order[at]
        score = one * w[p]
        for cell in range(indptr[i], indptr[i + 1]):
            score += np.float64(data[cell]) * w[np.uint64(indices[cell])]
        margin = score * sign[i]
        if margin > 0.0 and margin < np.inf:
            run += 1
            continue
        if not abs(margin) < np.inf:
            end = -1 - i
            seen += at
            break
        if run > record:
            end = at
            break
        run = 0
        mistakes += 1
        counts[i] += 1
        move = eta * sign[i]
        if scale.shape[0] > 0:
            move *= scale[i]
        for cell in range(indptr[i], indptr[i + 1]):
            w[np.uint64(indices[cell])] += move * np.float64(data[cell])
        w[p] += move * one
        if late.shape[0] > 0:
            before = np.float64(seen + at)
            late[i] += before
            move *= before
            for cell in range(indptr[i], indptr[i + 1]):
                drift[np.uint64(indices[cell])] += move * np.float64(data[cell])
            drift[p] += move * one
    tally[0], tally[1], tally[2] = mistakes, seen + max(end, 0), run
    return end


@loop
def next_mistake(scores, sign, order, begin):
    """Where in the order the first row from ``begin`` with y_i f_i ≤ 0 (or no number) stands; its end if none.

    >>> int(next_mistake(np.array([1.0, -1.0]), np.array([1, 1], np.int8), np.arange(2), 0))
    1
    """
    for at in range(begin, order.shape[0]):
        i = order[at]
        if not scores[i] * sign[i] > 0.0:
            return at
    return order.shape[0]
