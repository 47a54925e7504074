"""Folds that keep groups whole, and folds in the order of time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.judge.folds import grouped_splits, timed_splits
from tests.draws import examples

seeds = st.integers(0, 10_000)
TWO = np.array([0, 1])


@examples(25)
@given(seeds, st.integers(4, 12))
def test_no_group_is_on_both_sides_and_every_row_is_judged_once_a_repetition(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.array(
        [f"patient {g}" for g in np.concatenate([np.arange(count), rng.integers(0, count, 60)])]
    )
    codes = rng.integers(0, 2, len(groups))
    splits = grouped_splits(groups, codes, TWO, seed)
    for split in splits:
        assert not set(groups[split.train]) & set(groups[split.test])
        assert len(split.train) + len(split.test) == len(groups)
    judged = [s for s in splits if s.repeat == 0]
    assert len(np.unique(np.concatenate([s.test for s in judged]))) == sum(len(s.test) for s in judged)


def test_names_of_groups_say_nothing() -> None:
    rng = np.random.default_rng(1)
    groups, codes = rng.integers(0, 9, 80), rng.integers(0, 2, 80)
    a, b = grouped_splits(groups, codes, TWO, 3), grouped_splits(groups * 10 + 5, codes, TWO, 3)
    assert all((s.test == t.test).all() for s, t in zip(a, b))


@examples(25)
@given(seeds, st.booleans())
def test_what_is_judged_comes_after_what_is_learned_from(seed: int, dates: bool) -> None:
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 30, 70)
    times = np.datetime64("2024-01-01") + days if dates else days.astype(float)
    splits = timed_splits(times, np.concatenate([[0, 1], rng.integers(0, 2, 68)]), TWO)
    assert splits
    for split in splits:
        assert days[split.train].max() < days[split.test].min()
    assert all(days[a.test].max() < days[b.test].min() for a, b in pairwise(splits))


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        (np.zeros(20), "one value for all rows"),
        (np.repeat([0, 1], 10), "groups has 2 values|one group only|1 group only"),
        ([None] * 20, "missing in row 0"),
        ([1.0, np.nan] * 10, "missing in row 1"),
        (np.zeros(7), "X has 20 rows"),
    ],
)
def test_groups_that_make_no_folds_are_refused(groups, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        grouped_splits(groups, np.tile([0, 1], 10), TWO, 0)


def test_a_class_of_one_group_is_named() -> None:
    with pytest.raises(ValueError, match="class 'b' is in 1 group only"):
        grouped_splits(np.repeat(np.arange(5), 4), np.repeat([0, 1], [16, 4]), np.array(["a", "b"]), 0)


def test_one_moment_for_all_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="in the order of time"):
        timed_splits(np.zeros(12), np.tile([0, 1], 6), TWO)
