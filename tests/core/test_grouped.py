"""Facts of rows by class: laws of merging, then references in exact and extended arithmetic."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from separatrix.core.statistics.grouped import GroupCounts, GroupMoments, GroupScatter, GroupSums, Members
from tests.core.grouped_tables import (
    MAKERS,
    P,
    assert_same_facts,
    every,
    parts,
    quick,
    removable,
    slack,
    some,
    tables,
    with_gaps,
)

# ---- laws of merging ----


@every
@quick
@given(t=tables(), cut=st.floats(0, 1))
def test_merge_is_joint(name, t, cut):
    X, k, codes, weight = t
    make, at = MAKERS[name], int(cut * len(X))
    joint = make(X, Members(k, codes=codes, weight=weight))
    a, b = (
        make(X[rows], Members(k, codes=codes[rows], weight=some(weight, rows)))
        for rows in (slice(None, at), slice(at, None))
    )
    assert_same_facts(a + b, joint, X)
    assert_same_facts(b + a, joint, X)


@every
@quick
@given(t=tables(min_rows=3))
def test_merge_is_associative_and_zero_is_nothing(name, t):
    X, k, codes, weight = t
    make = MAKERS[name]
    a, b, c = (
        make(X[i::3], Members(k, codes=codes[i::3], weight=some(weight, slice(i, None, 3)))) for i in range(3)
    )
    assert_same_facts((a + b) + c, a + (b + c), X)
    nothing = {
        GroupMoments: lambda: GroupMoments.zero(k, P),
        GroupScatter: lambda: GroupScatter.zero(a.group, P),
        GroupSums: lambda: GroupSums.zero(k, P),
        GroupCounts: lambda: GroupCounts.zero(k, 2),
    }[type(a)]()
    assert_same_facts(a + nothing, a, X, tol=0)
    assert_same_facts(nothing + a, a, X, tol=0)


@every
@quick
@given(t=tables(weights=(0.0, 1.0, 2.0, 3.0)), seed=st.integers(0, 1000))
def test_weight_is_repetition_and_order_is_nothing(name, t, seed):
    X, k, codes, weight = t
    weight = np.ones(len(X)) if weight is None else weight
    repeated = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(X)), weight.astype(int)))
    make = MAKERS[name]
    assert_same_facts(
        make(X[repeated], Members(k, codes=codes[repeated])),
        make(X, Members(k, codes=codes, weight=weight)),
        X,
    )


@every
@quick
@given(t=tables(min_rows=1, weights=(0.5, 1.0, 2.0)), wild=st.sampled_from([-1e12, 1e9, 0.0]))
def test_zero_weight_is_absence_whatever_the_row_holds(name, t, wild):
    """A row that does not count is nothing to measure distances from."""
    X, k, codes, weight = t
    absent = np.full((2, P), wild) + np.array([[0.0], [1.0]])
    cells = np.vstack([absent[:1], X, absent[1:]])
    everyone = np.concatenate([[0], codes, [k - 1]])
    weight = np.ones(len(X)) if weight is None else weight
    make = MAKERS[name]
    if name == "counts":  # levels only an absent row has are columns of zeros
        cells[[0, -1]] = 6.0
    model = make(cells, Members(k, codes=everyone, weight=np.concatenate([[0.0], weight, [0.0]])))
    assert_same_facts(make(X, Members(k, codes=codes, weight=weight)), model, X)


@every
@quick
@given(t=tables())
def test_a_hard_membership_is_a_soft_one_of_one(name, t):
    X, k, codes, weight = t
    soft = (codes[:, None] == np.arange(k)).astype(float)
    make = MAKERS[name]
    assert_same_facts(
        make(X, Members(k, codes=codes, weight=weight)), make(X, Members(k, weight=weight, soft=soft)), X
    )


@every
@quick
@given(t=tables(min_rows=1), seed=st.integers(0, 1000))
def test_a_soft_membership_is_a_row_in_every_class(name, t, seed):
    X, k, _, weight = t
    soft = np.random.default_rng(seed).dirichlet(np.ones(k), len(X))
    weight = np.ones(len(X)) if weight is None else weight
    make = MAKERS[name]
    rows = np.tile(X, (k, 1))
    hard = Members(k, codes=np.repeat(np.arange(k), len(X)), weight=np.concatenate(soft.T * weight))
    assert_same_facts(make(rows, hard), make(X, Members(k, soft=soft, weight=weight)), X)


@every
@quick
@given(t=tables(), seed=st.integers(0, 1000))
def test_spread_is_a_renaming_of_classes(name, t, seed):
    X, k, codes, weight = t
    more = k + 3
    index = np.random.default_rng(seed).permutation(more)[:k]
    new = np.where(codes >= 0, index[codes], -1)
    stat = MAKERS[name](X, Members(k, codes=codes, weight=weight))
    if isinstance(stat, GroupScatter):
        # classes of one group stay together, whatever the new ones do
        group = np.full(more, int(stat.group.max()) + 1)
        group[index] = stat.group
        moved = stat.spread(index, more, group)
        wanted = GroupScatter.of(X, Members(more, codes=new, weight=weight), group)
    else:
        moved = stat.spread(index, more)
        wanted = MAKERS[name](X, Members(more, codes=new, weight=weight))
    assert_same_facts(wanted, moved, X)


@removable
@quick
@given(t=tables(min_rows=1), seed=st.integers(0, 1000))
def test_minus_undoes_plus(name, t, seed):
    X, k, codes, weight = t
    keep = np.random.default_rng(seed).random(len(X)) < 0.5
    make = MAKERS[name]
    joint = make(X, Members(k, codes=codes, weight=weight))
    gone = make(X[~keep], Members(k, codes=codes[~keep], weight=some(weight, ~keep)))
    left = make(X[keep], Members(k, codes=codes[keep], weight=some(weight, keep)))
    assert_same_facts(left, joint - gone, X, tol=1e-9)
    nothing = joint - joint
    assert not nothing.weight.any()
    assert not (nothing.value if name == "sums" else nothing.second).any()
    if gone.weight.any() and not np.array_equal(gone.weight, joint.weight):
        with pytest.raises(ValueError, match="more weight"):
            _ = gone - joint


@quick
@given(t=tables(gaps=True))
def test_all_classes_as_one(t):
    X, k, codes, weight = t
    together = GroupMoments.centred(X, Members(k, codes=codes, weight=weight)).pooled()
    one = GroupMoments.centred(X, Members(1, codes=np.where(codes >= 0, 0, -1), weight=weight))
    assert_same_facts(one, together, X)


# ---- missing cells ----


@with_gaps
@quick
@given(t=tables(gaps=True), cut=st.floats(0, 1))
def test_merge_is_joint_with_missing_cells(name, t, cut):
    X, k, codes, weight = t
    make, at = MAKERS[name], int(cut * len(X))
    joint = make(X, Members(k, codes=codes, weight=weight))
    a, b = (
        make(X[rows], Members(k, codes=codes[rows], weight=some(weight, rows)))
        for rows in (slice(None, at), slice(at, None))
    )
    assert_same_facts(a + b, joint, X)


@pytest.mark.parametrize("soft", [False, True])
@quick
@given(t=tables(gaps=True))
def test_a_missing_cell_is_a_row_absent_from_its_column(soft, t):
    X, k, codes, weight = t

    def members(rows):
        if not soft:
            return Members(k, codes=codes[rows], weight=some(weight, rows))
        R = 0.3 + 0.7 * (codes[rows][:, None] == np.arange(k))
        return Members(k, soft=R, weight=some(weight, rows))

    joint = GroupMoments.of(X, members(np.arange(len(X))))
    for j in range(P):
        rows = np.flatnonzero(~np.isnan(X[:, j]))
        wide = np.where(np.arange(P) == j, X[rows], 0.0)
        alone = GroupMoments.of(wide, members(rows))
        np.testing.assert_allclose(joint.weight[:, j], alone.weight[:, j], rtol=1e-14)
        live = alone.weight[:, j] > 0
        size = slack(wide)[j] + 1e-300
        for a, b in ((joint.mean, alone.mean), (joint.second, alone.second)):
            np.testing.assert_allclose(a[live, j], b[live, j], rtol=1e-11, atol=1e-11 * size)
        assert (joint.second[~live, j] == 0).all() and (joint.mean[~live, j] == 0).all()


def test_a_column_without_cells_counts_nothing():
    X = np.array([[1.0, np.nan], [2.0, np.nan], [4.0, 5.0]])
    stat = GroupMoments.of(X, Members(2, codes=np.array([0, 0, 1])))
    assert stat.weight.tolist() == [[2.0, 0.0], [1.0, 1.0]]
    assert stat.mean.tolist() == [[1.5, 0.0], [4.0, 5.0]]
    assert np.isnan(stat.variance[0, 1]) and stat.variance[0, 0] == 0.25


# ---- levels ----


@quick
@given(
    codes=hnp.arrays(np.int64, 12, elements=st.integers(-1, 2)),
    levels=hnp.arrays(np.float64, (12, 2), elements=st.sampled_from([0.0, 1.0, 4.0, np.nan, -1.0])),
)
def test_levels_are_counted_one_by_one(codes, levels):
    weight = np.linspace(0.5, 2, 12)
    counts = GroupCounts.of(levels, Members(3, codes=codes, weight=weight))
    for j, table in enumerate(counts.tables):
        assert table.shape[0] == 3 and table.dtype == np.float64
        for k in range(3):
            for l in range(table.shape[1]):
                assert table[k, l] == pytest.approx(weight[(codes == k) & (levels[:, j] == l)].sum())
        total = weight[(codes >= 0) & (levels[:, j] >= 0)].sum()
        assert table.sum() == pytest.approx(total)


def test_levels_move_to_new_places():
    counts = GroupCounts((np.array([[1.0, 2.0, 3.0]]), np.array([[4.0, 5.0]])))
    moved = counts.recode([np.array([3, 0, 1]), None])
    assert moved.tables[0].tolist() == [[2.0, 3.0, 0.0, 1.0]]
    assert moved.tables[1].tolist() == [[4.0, 5.0]]
    fewer = GroupCounts((np.array([[1.0]]),)).recode([np.array([2, 0, 1])])  # later levels not met yet
    assert fewer.tables[0].tolist() == [[0.0, 0.0, 1.0]]
    with pytest.raises(ValueError):
        _ = counts + GroupCounts((np.zeros((1, 1)),))


# ---- exact references ----


def exact(X, codes, weight, k):
    """Mean and scatter of class k in rational arithmetic."""
    rows = [[Fraction(float(v)) for v in row] for row in X[codes == k]]
    w = [Fraction(float(v)) for v in (np.ones(len(X)) if weight is None else weight)[codes == k]]
    W = sum(w)
    if not W:
        return None
    p = X.shape[1]
    mean = [sum(a * r[j] for a, r in zip(w, rows)) / W for j in range(p)]
    S = [
        [sum(a * (r[i] - mean[i]) * (r[j] - mean[j]) for a, r in zip(w, rows)) for j in range(p)]
        for i in range(p)
    ]
    return W, mean, S


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("soft", [False, True])
@quick
@given(t=tables(min_rows=2), far=st.sampled_from([0.0, 1e8, -1e12]))
def test_against_rational_arithmetic(dtype, soft, t, far):
    """Twelve digits of every variance at 1e8 ± 3, and for classes 1e12 apart."""
    X, k, codes, weight = t
    X = X + far * (codes == 0)[:, None]
    X = np.asarray(X, dtype=dtype)
    hard = Members(k, codes=codes, weight=weight)
    members = Members(k, soft=(codes[:, None] == np.arange(k)) * 1.0, weight=weight) if soft else hard
    moments = (
        [GroupMoments.of(X, hard)] if soft else [GroupMoments.of(X, hard), GroupMoments.centred(X, hard)]
    )
    scatter = GroupScatter.of(X, members, np.arange(k))
    for c in range(k):
        truth = exact(X, codes, weight, c)
        if truth is None:
            assert scatter.weight[c] == 0
            continue
        W, mean, S = truth
        second = np.array([float(S[j][j]) for j in range(P)])
        spread = np.sqrt(second / float(W))
        for m in moments:
            np.testing.assert_allclose(m.second[c], second, rtol=1e-11)
            off = [
                float(Fraction(float(a)) + Fraction(float(b)) - mean[j])
                for j, (a, b) in enumerate(zip(m.mean[c], m.tail[c]))
            ]
            assert (np.abs(off) <= 1e-11 * spread + 1e-16 * np.abs([float(v) for v in mean])).all()
        length = np.sqrt(second)
        gap = scatter.scatter[c] - np.array([[float(v) for v in row] for row in S])
        known = 4 * np.finfo(float).eps * np.abs([float(v) for v in mean])  # the rounding of one value
        assert (np.abs(gap) <= 1e-11 * np.outer(length, length) + float(W) * np.outer(known, known)).all()


def test_a_billion_plus_or_minus_one_merged_row_by_row():
    """Chan's rule with a tail loses nothing over many merges."""
    rng = np.random.default_rng(0)
    X = 1e8 + rng.integers(-1, 2, (400, 1)).astype(float)
    codes = rng.integers(0, 2, 400)
    total, scatter = GroupMoments.zero(2, 1), GroupScatter.zero(np.zeros(2, dtype=int), 1)
    for i in range(400):
        members = Members(2, codes=codes[i : i + 1])
        total = total + GroupMoments.of(X[i : i + 1], members)
        scatter = scatter + GroupScatter.of(X[i : i + 1], members, np.zeros(2, dtype=int))
    seconds = [float(exact(X, codes, None, k)[2][0][0]) for k in range(2)]
    np.testing.assert_allclose(total.second.ravel(), seconds, rtol=1e-12)
    np.testing.assert_allclose(scatter.scatter.ravel(), [sum(seconds)], rtol=1e-12)


def test_a_constant_column_has_exactly_no_spread():
    X = np.full((50, 1), 0.1)
    codes = np.arange(50) % 3
    for weight in (None, np.linspace(0.1, 1, 50)):
        members = Members(3, codes=codes, weight=weight)
        assert not GroupMoments.of(X, members).second.any()
        halves = [
            GroupMoments.of(X[i::2], Members(3, codes=codes[i::2], weight=some(weight, slice(i, None, 2))))
            for i in range(2)
        ]
        assert not (halves[0] + halves[1]).second.any()


# ---- values ----


@every
def test_statistics_are_values(name):
    X = np.arange(12.0).reshape(4, 3)
    stat = MAKERS[name](X, Members(2, codes=np.array([0, 1, 1, 0])))
    copy = pickle.loads(pickle.dumps(stat))
    for (a, _), (b, _) in zip(parts(stat), parts(copy), strict=True):
        np.testing.assert_array_equal(a, b)
    field = stat.__slots__[0]
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        setattr(stat, field, None)
    if name != "counts":
        assert stat == copy
        with pytest.raises(ValueError, match="read-only"):
            getattr(stat, field)[...] = 0.0
        other = MAKERS[name](X[:, :2], Members(2, codes=np.array([0, 1, 1, 0])))
        with pytest.raises(ValueError, match="shapes"):
            _ = stat + other
        with pytest.raises(ValueError, match="cannot merge"):
            _ = stat + (GroupSums.zero(2, 3) if name != "sums" else GroupMoments.zero(2, 3))
