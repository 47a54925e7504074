"""Scatters kept as rows: the laws of merging, and the same facts as scatters of columns by columns."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.core.statistics.grouped import GroupScatter, Members
from separatrix.core.statistics.spans import SpanCovariance, SpanScatter
from tests.draws import examples

P = 40


@st.composite
def tables(draw, most=16):
    """Fewer rows than columns of different unit and origin, codes with −1 for none, weights, groups of classes."""
    n, k = draw(st.integers(3, most)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, P)) * 10.0 ** rng.integers(-4, 5, P) + np.where(
        np.arange(P) % 7 == 0, 1e6, 0.0
    )
    codes = rng.integers(-1, k, n)
    weight = draw(st.sampled_from([None, "some"]))
    weight = None if weight is None else rng.choice([0.0, 0.5, 1.0, 3.0], n)
    group = draw(
        st.sampled_from(
            [np.zeros(k, dtype=int), np.arange(k), np.arange(k) % 2 if k > 1 else np.zeros(1, int)]
        )
    )
    return X, Members(k, codes=codes, weight=weight), group


def assert_same(a, b, X):
    a, b = a.gram(), b.gram()
    size = np.abs(X).max(axis=0) + 1e-300
    far = np.abs(X - X.mean(axis=0)).max(axis=0) + 1e-9 * size  # what rounding of the cells leaves
    np.testing.assert_allclose(a.weight, b.weight, rtol=1e-14)
    np.testing.assert_allclose(a.mean / size, b.mean / size, rtol=0, atol=1e-13)
    n = max(a.weight.sum(), 1.0)
    np.testing.assert_allclose(
        a.scatter / np.outer(far, far) / n, b.scatter / np.outer(far, far) / n, rtol=0, atol=1e-9
    )
    np.testing.assert_array_equal(a.group, b.group)


@examples(40)
@given(t=tables())
def test_the_same_facts_as_of_columns(t):
    X, members, group = t
    ours, theirs = SpanScatter.of(X, members, group), GroupScatter.of(X, members, group)
    assert_same(ours, theirs, X)
    far = np.abs(X - X.mean(axis=0)).max(axis=0) + 1e-9 * np.abs(X).max(axis=0)
    n = max(ours.weight.sum(), 1.0)
    np.testing.assert_allclose(ours.diagonals() / far**2 / n, theirs.diagonals() / far**2 / n, atol=1e-9)
    for order in (np.asfortranarray, lambda x: x.astype(np.float32).astype(float)):
        assert_same(SpanScatter.of(order(X), members, group), GroupScatter.of(order(X), members, group), X)


@examples(30)
@given(t=tables(), cut=st.floats(0, 1))
def test_merge_is_joint_and_commutes(t, cut):
    X, m, group = t
    at = int(cut * len(X))
    weight = m.weight
    parts = [
        SpanScatter.of(
            X[s], Members(m.k, codes=m.codes[s], weight=None if weight is None else weight[s]), group
        )
        for s in (slice(None, at), slice(at, None))
    ]
    joint = SpanScatter.of(X, m, group)
    assert_same(parts[0] + parts[1], joint, X)
    assert_same(parts[1] + parts[0], joint, X)
    assert_same(joint + SpanScatter.zero(group, P), joint, X)
    assert_same(
        parts[0]
        + GroupScatter.of(
            X[at:], Members(m.k, codes=m.codes[at:], weight=None if weight is None else weight[at:]), group
        ),
        joint,
        X,
    )


def test_rows_as_many_as_columns_become_a_scatter():
    rng = np.random.default_rng(0)
    X, codes, group = rng.standard_normal((60, 30)), np.arange(60) % 2, np.zeros(2, dtype=int)
    chunks = [
        SpanScatter.of(X[i : i + 12], Members(2, codes=codes[i : i + 12]), group) for i in range(0, 60, 12)
    ]
    total = chunks[0]
    kinds = [type(total)]
    for chunk in chunks[1:]:
        total = total + chunk
        kinds.append(type(total))
    assert kinds[0] is SpanScatter and kinds[1] is SpanScatter and kinds[-1] is GroupScatter
    joint = GroupScatter.of(X, Members(2, codes=codes), group)
    np.testing.assert_allclose(total.scatter, joint.scatter, rtol=1e-10, atol=1e-10)


@examples(20)
@given(t=tables())
def test_weights_are_repetitions_and_zero_is_absence(t):
    X, m, group = t
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = SpanScatter.of(X, Members(m.k, codes=m.codes, weight=weight.astype(float)), group)
    again = np.repeat(np.arange(len(X)), weight)
    assert_same(weighted, SpanScatter.of(X[again], Members(m.k, codes=m.codes[again]), group), X)


def test_soft_memberships_and_later_classes():
    rng = np.random.default_rng(3)
    X, R = rng.standard_normal((12, 25)) + 1e4, rng.dirichlet(np.ones(3), 12)
    for group in (np.zeros(3, dtype=int), np.arange(3), np.array([0, 1, 0])):
        ours = SpanScatter.of(X, Members(3, soft=R), group)
        theirs = GroupScatter.of(X, Members(3, soft=R), group)
        assert len(ours.rows) <= 12 * (group.max() + 1)
        np.testing.assert_allclose(ours.gram().scatter, theirs.scatter, atol=1e-7)
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-13)
    hard = SpanScatter.of(X, Members(2, codes=np.arange(12) % 2), np.arange(2))
    spread = hard.spread(np.array([2, 0]), 3, np.arange(3))
    np.testing.assert_allclose(spread.gram().scatter[[2, 0]], hard.gram().scatter)
    assert spread.weight.tolist() == [6.0, 0.0, 6.0]
    again = pickle.loads(pickle.dumps(hard))
    np.testing.assert_array_equal(again.rows, hard.rows)
    with pytest.raises(ValueError, match="read-only"):
        again.rows[0] = 1.0


def test_covariances_add_and_scale_as_matrices():
    rng = np.random.default_rng(1)
    a = SpanCovariance(rng.standard_normal((3, 8)), rng.random(8))
    b = SpanCovariance(rng.standard_normal((2, 8)), np.zeros(8))
    both = 0.25 * a + np.float64(0.75) * b
    np.testing.assert_allclose(both.dense(), 0.25 * a.dense() + 0.75 * b.dense())
    np.testing.assert_allclose(both.diagonal(), np.diag(both.dense()))
    np.testing.assert_allclose(
        [both.trace(), both.squares()], [np.trace(both.dense()), (both.dense() ** 2).sum()]
    )
    unit, some = rng.random(8) + 0.5, np.arange(8) % 3 > 0
    np.testing.assert_allclose(both.in_units(unit).dense(), both.dense() / np.outer(unit, unit))
    np.testing.assert_allclose(both.of_columns(some).dense(), both.dense()[np.ix_(some, some)])
    drawn = both.draw(200_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), both.dense(), atol=0.05 * both.trace() / 8)
