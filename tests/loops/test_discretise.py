"""The scan for cuts of a column against a search of every cut."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.loops.discretise import accepted_cuts, blocks_of

ONES = np.empty(0)


def bits(codes):
    share = np.bincount(codes) / len(codes)
    return -len(codes) * (share[share > 0] @ np.log2(share[share > 0]))


def cuts(x, codes, weight=ONES):
    entry_class, entry_weight, start, _, high = blocks_of(x, codes, weight, codes.max() + 1)
    return high[accepted_cuts(entry_class, entry_weight, start, codes.max() + 1)]


def test_blocks_are_runs_that_no_best_cut_divides():
    x, codes = np.array([1.0, 1, 2, 3, 4, 4, 5]), np.array([0, 0, 0, 1, 0, 1, 1])
    entry_class, weight, start, low, high = blocks_of(x, codes, ONES, 2)
    assert (entry_class.tolist(), weight.tolist()) == ([0, 1, 0, 1, 1], [3.0, 1.0, 1.0, 1.0, 1.0])
    assert (start.tolist(), low.tolist(), high.tolist()) == ([0, 1, 2, 4, 5], [1, 3, 4, 5], [2, 3, 4, 5])


@pytest.mark.parametrize("seed", range(5))
def test_the_first_cut_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.integers(0, 30, 200)).astype(float)
    codes = np.where(rng.random(200) < 0.1, rng.integers(0, 3, 200), (x > 14) * 1)
    values = np.unique(x)[:-1]
    left_over = [bits(codes[x <= t]) + bits(codes[x > t]) for t in values]
    assert values[int(np.argmin(left_over))] in cuts(x, codes)


def test_what_says_nothing_is_not_cut_and_a_weight_is_a_repetition():
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=300))
    assert len(cuts(x, rng.integers(0, 2, 300))) == 0
    codes, repeats = (x > 0.3) * 1 + (x > 1.0) * 1, rng.integers(1, 4, 300)
    found = cuts(x, codes, repeats.astype(float))
    np.testing.assert_array_equal(found, cuts(np.repeat(x, repeats), np.repeat(codes, repeats)))
    assert len(found) == 2
