"""Loops of the search for a stump against plain NumPy; weights are whole numbers, so answers are equal, not near."""

from __future__ import annotations

import numpy as np

from separatrix.loops.stumps import group, histogram, side_weights, snap, sort_bin, wrong_weight

RNG = np.random.default_rng(0)


def test_rows_grouped_by_code_keep_their_order():
    codes = RNG.integers(0, 256, 300).astype(np.uint8)
    order, starts = np.empty(300, np.int32), np.empty(257, np.int64)
    group(codes, order, starts)
    np.testing.assert_array_equal(order, np.argsort(codes, kind="stable"))
    np.testing.assert_array_equal(starts, np.searchsorted(np.sort(codes), np.arange(257)))


def test_rows_of_a_bin_sorted_by_value():
    X, rows = RNG.integers(0, 5, (40, 3)).astype(float), RNG.permutation(40)
    part, ends = np.array([7, 3, 30, 12, 9, 21], np.int32), np.empty(6, bool)
    before = part.copy()
    sort_bin(X, rows, 1, part, ends)
    values = X[rows[part], 1]
    assert sorted(part) == sorted(before) and (np.diff(values) >= 0).all()
    np.testing.assert_array_equal(ends, np.append(np.diff(values) > 0, True))


def test_weights_by_class_and_bin_and_side():
    w, bounds = RNG.integers(0, 9, 50), np.array([0, 20, 50])
    codes, left = RNG.integers(0, 256, 50).astype(np.uint8), RNG.random(50) < 0.5
    out, sides = np.full((2, 256), -1, np.int64), np.empty((2, 2), np.int64)
    histogram(codes, w, bounds, out)
    side_weights(left, w, bounds, sides)
    for k, rows in enumerate((slice(0, 20), slice(20, 50))):
        np.testing.assert_array_equal(out[k], np.bincount(codes[rows], w[rows], 256))
        assert sides[:, k].tolist() == [w[rows][left[rows]].sum(), w[rows][~left[rows]].sum()]
    said, cls = RNG.integers(0, 2, 50), RNG.integers(0, 2, 50)
    assert wrong_weight(said, cls, w) == (w[said != cls].sum(), (said != cls).sum())


def test_votes_a_rounding_apart_are_equal():
    votes = np.array([[0.5, 0.5 - 1e-14, 0.1], [0.2, 0.3, 0.1]])
    snap(votes, 1.0)
    assert votes.tolist() == [[0.5, 0.5, 0.1], [0.2, 0.3, 0.1]]
