"""Loops of the search for a decision stump, compiled; weights are whole numbers, so sums are exact in any order.

    right(j, t) = max_k L_k + max_k R_k,    L_k = Σ w_i over rows of class k with x_ij ≤ t,    R_k the rest

Rows lie sorted by class, class k at ``bounds[k]:bounds[k+1]``. A column of numbers is cut into at most 255 bins; a
row holds its bin's number (one byte), 255 where the cell is missing. One pass of adding gives every bin's weight by
class, hence the value of every threshold between bins. A threshold inside a bin is worth at most max_k L_k at the
bin's end + max_k R_k at its start: only bins where that reaches the best value known are looked into, row by row in
sorted order.

Shapes: codes (p, n) uint8; hist (p, K, 256); w (n,) int64. Cost: O(np) additions a search, and O(n/255) a bin looked
into.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import inner, loop, reads

BINS = MISSING = 255  # missing cells have the code after the last bin's


@inner
def _put(x, at, i, codes, low, high):
    if x != x:
        codes[i] = MISSING
        return
    codes[i] = at
    if x < low[at]:
        low[at] = x
    if x > high[at]:
        high[at] = x


@reads("X")
@loop
def encode(X, rows, first, last, edges, codes, low, high):
    """codes[j, i] = how many of edges[j] lie below X[rows[i], j], by halving; each bin's least and largest value.

    Four columns at once, as each halving waits for the one before; sums in place of branches that none can foresee.
    """
    for j in range(first, last, 4):
        j1, j2, j3 = min(j + 1, last - 1), min(j + 2, last - 1), min(j + 3, last - 1)
        e0, e1, e2, e3 = edges[j], edges[j1], edges[j2], edges[j3]
        for i in range(rows.shape[0]):
            row = rows[i]
            x0, x1, x2, x3 = X[row, j], X[row, j1], X[row, j2], X[row, j3]
            a0, a1, a2, a3 = 0, 0, 0, 0
            step = 128
            while step > 0:
                a0 += step * (e0[a0 + step - 1] < x0)
                a1 += step * (e1[a1 + step - 1] < x1)
                a2 += step * (e2[a2 + step - 1] < x2)
                a3 += step * (e3[a3 + step - 1] < x3)
                step >>= 1
            _put(x0, a0, i, codes[j], low[j], high[j])
            _put(x1, a1, i, codes[j1], low[j1], high[j1])
            _put(x2, a2, i, codes[j2], low[j2], high[j2])
            _put(x3, a3, i, codes[j3], low[j3], high[j3])


@loop
def group(codes, order, starts):
    """Rows of a column by bin: bin b is order[starts[b]:starts[b+1]]."""
    count = np.zeros(257, np.int64)
    for i in range(codes.shape[0]):
        count[np.int64(codes[i]) + 1] += 1
    for b in range(256):
        count[b + 1] += count[b]
    for b in range(257):
        starts[b] = count[b]
    for i in range(codes.shape[0]):
        b = codes[i]
        order[count[b]] = i
        count[b] += 1


@loop
def sort_bin(X, rows, j, part, ends):
    """Sort the rows of one bin by their value in column j; ``ends``: the next row's value is another."""
    m, width = part.shape[0], 1
    values, other, places = np.empty(m), np.empty(m), np.empty(m, part.dtype)
    for at in range(m):
        values[at] = X[rows[part[at]], j]
    while width < m:  # runs of this width are in order: two and two are merged
        for start in range(0, m, 2 * width):
            middle, end = min(start + width, m), min(start + 2 * width, m)
            a, b = start, middle
            for at in range(start, end):
                if a < middle and (b == end or values[a] <= values[b]):
                    other[at], places[at] = values[a], part[a]
                    a += 1
                else:
                    other[at], places[at] = values[b], part[b]
                    b += 1
        for at in range(m):
            values[at], part[at] = other[at], places[at]
        width *= 2
    for at in range(m):
        ends[at] = at + 1 == m or values[at] < values[at + 1]


@loop
def histogram(codes, w, bounds, out):
    """out[k, b] = weight of class k in bin (or level) b."""
    for k in range(bounds.shape[0] - 1):
        sums = out[k]
        for b in range(sums.shape[0]):
            sums[b] = 0
        for i in range(bounds[k], bounds[k + 1]):
            sums[codes[i]] += w[i]


@inner
def _four(codes, w, bounds, out):
    """:func:`histogram` of four columns, each weight read once."""
    c0, c1, c2, c3 = codes[0], codes[1], codes[2], codes[3]
    for k in range(bounds.shape[0] - 1):
        h0, h1, h2, h3 = out[0, k], out[1, k], out[2, k], out[3, k]
        for b in range(h0.shape[0]):
            h0[b], h1[b], h2[b], h3[b] = 0, 0, 0, 0
        for i in range(bounds[k], bounds[k + 1]):
            x = w[i]
            h0[c0[i]] += x
            h1[c1[i]] += x
            h2[c2[i]] += x
            h3[c3[i]] += x


@inner
def _most(a, b):
    """max_k a_k + b_k."""
    best = a[0] + b[0]
    for k in range(1, a.shape[0]):
        if a[k] + b[k] > best:
            best = a[k] + b[k]
    return best


@inner
def _value(left, right, missing, zero, some, slack):
    """(what the two sides get right, whether missing cells go left: they do where that is no worse)."""
    if not some:
        return _most(left, zero) + _most(right, zero), True
    to_left = _most(left, missing) + _most(right, zero)
    to_right = _most(left, zero) + _most(right, missing)
    return max(to_left, to_right), to_left >= to_right - slack


@inner
def survey(hist, n_bins, wide, some, total):
    """(best value between bins, bound on any value inside a bin) of one column; −1 where there is none.

    ``wide[b]``: bin b holds more than one value. ``some``: the column has missing cells.
    """
    K = total.shape[0]
    missing, zero = np.zeros(K, np.int64), np.zeros(K, np.int64)
    left, right = np.zeros(K, np.int64), np.zeros(K, np.int64)
    for k in range(K):
        missing[k] = hist[k, MISSING]
        right[k] = total[k] - missing[k]
    best, bound = np.int64(-1), np.int64(-1)
    for b in range(n_bins):
        right_plain, right_more = _most(right, zero), _most(right, missing)
        for k in range(K):
            left[k] += hist[k, b]
            right[k] -= hist[k, b]
        if wide[b]:
            inside = max(_most(left, missing) + right_plain, _most(left, zero) + right_more)
            bound = max(bound, inside)
        if b < n_bins - 1:
            best = max(best, _value(left, right, missing, zero, some, np.int64(0))[0])
        elif some:
            best = max(best, _most(left, zero) + _most(missing, zero))
    return best, bound


@loop
def look(codes, w, bounds, hist, n_bins, wide, some, total, first, last, surveys):
    """Histogram and :func:`survey` of columns first … last − 1."""
    fours = first + (last - first) // 4 * 4
    for j in range(first, fours, 4):
        _four(codes[j : j + 4], w, bounds, hist[j : j + 4])
    for j in range(first, last):
        if j >= fours:
            histogram(codes[j], w, bounds, hist[j])
        surveys[j, 0], surveys[j, 1] = survey(hist[j], n_bins[j], wide[j], some[j], total)


@reads("X")
@loop
def search(
    X, rows, order, ends, starts, tidy, wide, n_bins, some, hist, surveys, cls, w, total, floor, first, slack
):
    """(value, column, bin, rows of that bin on the left less one, or −1 for all of it, missing cells left).

    The best test worth at least ``floor``, or, with ``first``, the first one, by column and threshold. ``surveys``
    (p, 2) are the answers of :func:`survey`.
    """
    K, p = total.shape[0], order.shape[0]
    zero = np.zeros(K, np.int64)
    best, column, cut, inner, missing_left = np.int64(floor - 1), -1, -1, -1, True
    left, right, missing = np.zeros(K, np.int64), np.zeros(K, np.int64), np.zeros(K, np.int64)
    for j in range(p):
        if max(surveys[j, 0], surveys[j, 1]) <= best:
            continue
        h, known = hist[j], some[j]
        for k in range(K):
            missing[k] = h[k, MISSING]
            left[k], right[k] = 0, total[k] - missing[k]
        for b in range(n_bins[j]):
            right_plain, right_more = _most(right, zero), _most(right, missing)
            for k in range(K):
                left[k] += h[k, b]
                right[k] -= h[k, b]
            if wide[j, b] and max(_most(left, missing) + right_plain, _most(left, zero) + right_more) > best:
                part = order[j, starts[j, b] : starts[j, b + 1]]
                end = ends[j, starts[j, b] : starts[j, b + 1]]
                if not tidy[j, b]:
                    sort_bin(X, rows, j, part, end)
                    tidy[j, b] = True
                for k in range(K):
                    left[k] -= h[k, b]
                    right[k] += h[k, b]
                for at in range(part.shape[0]):
                    i = part[at]
                    k = cls[i]
                    left[k] += w[i]
                    right[k] -= w[i]
                    if end[at] and at + 1 < part.shape[0]:
                        value, goes = _value(left, right, missing, zero, known, slack)
                        if value > best:
                            best, column, cut, inner, missing_left = value, j, b, at, goes
                            if first:
                                return best, column, cut, inner, missing_left
            if b < n_bins[j] - 1:
                value, goes = _value(left, right, missing, zero, known, slack)
            elif known:
                value, goes = _most(left, zero) + _most(missing, zero), False
            else:
                break
            if value > best:
                best, column, cut, inner, missing_left = value, j, b, -1, goes
                if first:
                    return best, column, cut, inner, missing_left
    return best, column, cut, inner, missing_left


@loop
def left_rows(codes, part, cut, inner, missing_left, out):
    """Which rows go left: bins up to ``cut``, of that bin its first inner + 1 sorted rows (all where inner is −1)."""
    for i in range(codes.shape[0]):
        out[i] = codes[i] <= cut if codes[i] != MISSING else missing_left
    if inner >= 0:
        for at in range(inner + 1, part.shape[0]):
            out[part[at]] = False


@inner
def _worth(side, more, criterion):
    """−impurity · weight of a side L = side + more, up to a constant: Gini Σ L_k²/L; entropy Σ L_k log(L_k/L)."""
    whole, worth = 0.0, 0.0
    for k in range(side.shape[0]):
        whole += side[k] + more[k]
    if whole <= 0.0:
        return 0.0
    for k in range(side.shape[0]):
        here = side[k] + more[k]
        if criterion == 1:
            worth += here * here / whole
        elif here > 0.0:
            worth += here * np.log(here / whole)
    return worth


@loop
def scan(values, order, known, cls, w, total, missing, criterion, floor, first):
    """The best threshold of one column by Gini (1) or entropy (2), or the first worth more than ``floor``:
    (value, rows on the left, missing left).

    ``order`` sorts the ``known`` rows without a missing cell by ``values``; sides are shares of the whole weight.
    """
    best, cut, missing_left = floor, -1, True
    some = known < order.shape[0]
    left, right, zero = np.zeros(total.shape[0]), np.zeros(total.shape[0]), np.zeros(total.shape[0])
    seen = np.zeros(total.shape[0], np.int64)
    whole = np.float64(0.0)
    for k in range(total.shape[0]):
        right[k] = total[k] - missing[k]
        whole += total[k]
    for at in range(known):
        i = order[at]
        k = cls[i]
        seen[k] += w[i]
        left[k] = np.float64(seen[k])
        right[k] = total[k] - missing[k] - left[k]
        if at == known - 1:
            if not some:
                break
        elif values[order[at + 1]] == values[i]:
            continue
        to_right = (_worth(left, zero, criterion) + _worth(right, missing, criterion)) / whole
        if at == known - 1:
            to_left = -np.inf
        elif some:
            to_left = (_worth(left, missing, criterion) + _worth(right, zero, criterion)) / whole
        else:
            to_left = to_right
        value = max(to_left, to_right)
        if value > best:
            best, cut, missing_left = value, at + 1, to_left >= to_right - 1e-12
            if first:
                break
    return best, cut, missing_left


@loop
def words(indptr, indices, cls, w, total, first, last, criterion, whole, share):
    """What the test for a word is worth, for columns first … last − 1 of a CSC matrix; O(stored cells).

    ``whole[j]`` for criterion 0, ``share[j]`` for the others; −1 or −inf for a word in no row or in all.
    """
    K = total.shape[0]
    here, away, zero = np.zeros(K, np.int64), np.zeros(K, np.int64), np.zeros(K, np.int64)
    a, b, none = np.zeros(K), np.zeros(K), np.zeros(K)
    every = 0.0
    for k in range(K):
        every += total[k]
    for j in range(first, last):
        whole[j], share[j] = -1, -np.inf
        stored = indptr[j + 1] - indptr[j]
        if stored == 0 or stored == cls.shape[0]:
            continue
        for k in range(K):
            here[k] = 0
        for at in range(indptr[j], indptr[j + 1]):
            i = indices[at]
            here[cls[i]] += w[i]
        for k in range(K):
            away[k] = total[k] - here[k]
            a[k], b[k] = here[k], away[k]
        if criterion == 0:
            whole[j] = _most(here, zero) + _most(away, zero)
        else:
            share[j] = (_worth(a, none, criterion) + _worth(b, none, criterion)) / every


@loop
def side_weights(left, w, bounds, out):
    """out[0, k], out[1, k] = weight of class k on the left, on the right."""
    for k in range(bounds.shape[0] - 1):
        here, there = np.int64(0), np.int64(0)
        for i in range(bounds[k], bounds[k + 1]):
            if left[i]:
                here += w[i]
            else:
                there += w[i]
        out[0, k], out[1, k] = here, there


@loop
def advance(said, cls, unit, repeats, keep, grow, vote, spent, units, first, votes, w, carried, share):
    """After a round: the next weights D, the votes so far, and the share (of ``first``) of rows these put wrong.

    unit ← unit · (keep where right, grow where wrong); w = repeats · round(unit · units); votes[i, said_i] += vote. A
    row whose class has no more votes than another (to a part in 10¹² of ``spent``, all votes) counts as wrong unless
    it is the first of them. ``carried`` += share · w.
    """
    wrong = 0.0
    K = votes.shape[1]
    for i in range(said.shape[0]):
        carried[i] += share * w[i]
        unit[i] *= keep if said[i] == cls[i] else grow
        w[i] = repeats[i] * np.int64(np.rint(unit[i] * units))
        votes[i, said[i]] += vote
        if K == 2:
            wrong += first[i] * ((votes[i, 1] > votes[i, 0] + 1e-12 * spent) != cls[i])
            continue
        top = votes[i, 0]
        for k in range(1, K):
            top = max(top, votes[i, k])
        winner = 0
        while votes[i, winner] < top - 1e-12 * spent:
            winner += 1
        if winner != cls[i]:
            wrong += first[i]
    return wrong


@loop
def wrong_weight(said, cls, w):
    """(weight of rows said wrong, their number)."""
    weight, count = np.int64(0), 0
    for i in range(said.shape[0]):
        if said[i] != cls[i]:
            weight += w[i]
            count += 1
    return weight, count


@loop
def snap(votes, spent):
    """Votes within a part in 10¹² of the most become the most: a tie is a tie, whatever order they were added in."""
    for i in range(votes.shape[0]):
        top = votes[i, 0]
        for k in range(1, votes.shape[1]):
            top = max(top, votes[i, k])
        for k in range(votes.shape[1]):
            if votes[i, k] >= top - 1e-12 * spent:
                votes[i, k] = top


@reads("X")
@loop
def add_votes(X, kind, feature, threshold, missing_left, table, first, left, right, weight, votes):
    """votes[i, class of the side row i falls on] += weight, for every stump t in turn.

    kind 0: x ≤ threshold goes left; 1: level x looked up in ``table[first[t]:first[t+1]]``, the last place being that
    of levels unseen; 2: x = 0 goes left; 3: all go left.
    """
    for i in range(X.shape[0]):
        for t in range(feature.shape[0]):
            goes = True
            if kind[t] != 3:
                x = np.float64(X[i, feature[t]])
                if x != x:
                    goes = missing_left[t]
                elif kind[t] == 0:
                    goes = x <= threshold[t]
                elif kind[t] == 2:
                    goes = x == 0.0
                else:
                    unseen = first[t + 1] - 1
                    at = first[t] + np.int64(x) if x >= 0.0 else unseen
                    goes = table[min(at, unseen)]
            votes[i, left[t] if goes else right[t]] += weight[t]


@reads("X")
@loop
def add_thresholds(X, feature, threshold, missing_left, move, start, votes):
    """:func:`add_votes` for two classes and stumps on numbers only.

    The second class has ``start`` votes if a row goes right at every stump, and ``move[t]`` more (or less) where it
    goes left at stump t; the first class keeps the rest of ``votes[i, 0]``. A sum in place of a branch, as above.
    """
    for i in range(X.shape[0]):
        second = start
        for t in range(feature.shape[0]):
            x = np.float64(X[i, feature[t]])
            second += move[t] * ((x <= threshold[t]) | ((x != x) & missing_left[t]))
        votes[i, 1] = second
        votes[i, 0] -= second
