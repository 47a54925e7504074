"""Shrunken means of levels and groups of levels alike: laws of names, weights and noise, and sums by hand."""

import numpy as np
import pytest

from separatrix.data.level_means import LevelMeans, group_levels


def drawn(n=3000, levels=200, spread=2.0, classes=2, seed=0):
    """Levels (n,) and classes (n,) whose scores differ by level."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, levels, n)
    score = spread * rng.normal(size=(levels, classes))
    return codes, (score[codes] + rng.gumbel(size=(n, classes))).argmax(axis=1)


def test_means_by_hand():
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1, -1])
    z = np.array([1.0, 2.0, 3.0, 4.0, 9.0, 10.0, 11.0, 12.0, 5.0])
    means = LevelMeans.of(codes, z, None, 3)
    whole = np.array([1, 2, 3, 4, 9, 10, 11, 12.0])
    m, total = whole.mean(), ((whole - whole.mean()) ** 2).sum()
    within = (10.0 + total / 8) / (8 - 2 + 1)  # 5 in each level, and one row of the whole's variance
    between = 4 * (2.5 - m) ** 2 + 4 * (10.5 - m) ** 2
    tau = (between / 1 - within) / ((8 - (16 + 16) / 8) / 1)
    part = tau / (tau + within / 4)
    np.testing.assert_allclose(means.shrunk, [m + part * (2.5 - m), m + part * (10.5 - m), m], rtol=1e-12)
    np.testing.assert_allclose(means.spread[:2], np.sqrt(tau * (1 - part)), rtol=1e-12)


@pytest.mark.parametrize("classes", [0, 2, 5])
def test_names_change_nothing_and_a_weight_is_that_many_rows(classes):
    codes, y = drawn(classes=max(classes, 2))
    target = y + 0.25 if classes == 0 else y
    found = group_levels(codes, target, None, 200, classes, 64)
    names = np.random.default_rng(1).permutation(200)
    np.testing.assert_array_equal(group_levels(names[codes], target, None, 200, classes, 64)[names], found)
    times = np.random.default_rng(2).integers(1, 4, len(codes))
    repeated = group_levels(np.repeat(codes, times), np.repeat(target, times), None, 200, classes, 64)
    weighed = group_levels(codes, target, times.astype(float), 200, classes, 64)
    np.testing.assert_array_equal(weighed, repeated)


@pytest.mark.parametrize("classes", [2, 3, 26, 100])
def test_groups_fit_into_a_split_and_tell_the_levels_apart(classes):
    codes, y = drawn(20_000, 500, 4.0, classes)
    found = group_levels(codes, y, None, 600, classes, 64)
    assert (found[500:] == -1).all()  # no row
    assert found[:500].min() == 0 and 1 < found.max() < 64
    assert set(np.unique(found[:500])) == set(range(found.max() + 1))

    def right(group):
        table = np.zeros((group.max() + 1, classes))
        np.add.at(table, (group[codes], y), 1)
        return table.max(axis=1).sum() / len(y)

    whole = np.bincount(y).max() / len(y)
    assert right(found) - whole > 0.5 * (right(np.arange(600)) - whole)


@pytest.mark.parametrize("classes", [0, 2, 4])
def test_levels_that_tell_nothing_are_few_groups(classes):
    """Of 40 tables of chance the groups hardly ever say more than a coin would."""
    told = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 1000, 4000)
        target = rng.normal(size=4000) if classes == 0 else rng.integers(0, classes, 4000)
        told.append(group_levels(codes, target, None, 1000, classes, 64).max() + 1)
    assert np.mean(told) < 3


def test_a_level_a_row_tells_nothing():
    y = np.random.default_rng(0).integers(0, 2, 500)
    assert group_levels(np.arange(500), y, None, 500, 2, 64).max() == 0


def test_nothing_to_learn():
    none = np.full(5, -1)
    assert group_levels(none, np.arange(5) % 2, None, 0, 2, 64).tolist() == []
    assert group_levels(np.zeros(5, int), np.zeros(5, int), None, 1, 2, 64).tolist() == [0]
    assert LevelMeans.of(none, np.ones(5), None, 2).shrunk.tolist() == [0.0, 0.0]
