"""Memberships: an indicator times the weights, whatever way it is summed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from separatrix.core.statistics import members as members_module
from separatrix.core.statistics.grouped import GroupMoments, GroupScatter, Members
from tests.core.grouped_tables import MAKERS, ORIGIN, WEIGHTS, P, parts, quick, tables

# ---- Members ----


@quick
@given(t=tables())
def test_members_are_an_indicator_times_the_weights(t):
    X, k, codes, weight = t
    members = Members(k, codes=codes, weight=weight)
    R = np.zeros((len(X), k))
    for i, c in enumerate(codes):
        if c >= 0:
            R[i, c] = 1.0 if weight is None else weight[i]
    np.testing.assert_array_equal(members.matrix, R)
    np.testing.assert_allclose(members.count, R.sum(axis=0))
    assert members.count.dtype == np.float64 and members.count.shape == (k,)
    np.testing.assert_allclose(members.sum(X), R.T @ X, rtol=1e-13)
    found = {c: (rows, w) for c, rows, w in members.classes()}
    for c in range(k):
        rows, w = found.get(c, (np.zeros(0, dtype=int), np.zeros(0)))
        np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(R[:, c] > 0))
        np.testing.assert_array_equal(w, R[rows, c])


@quick
@given(t=tables(most_classes=60, max_rows=30))
def test_many_classes_are_sorted_and_few_multiplied_with_one_answer(t):
    X, k, codes, weight = t
    X = X - ORIGIN
    few = Members(k, codes=codes, weight=weight).matrix.T @ X
    out = []
    for limit in (0, 1000):
        old, members_module.FEW_CLASSES = members_module.FEW_CLASSES, limit
        try:
            out.append(Members(k, codes=codes, weight=weight).sum(X))
        finally:
            members_module.FEW_CLASSES = old
    for sums in out:
        np.testing.assert_allclose(sums, few, rtol=1e-12, atol=1e-12 * (1 + np.abs(X).sum()))


def test_more_classes_than_are_multiplied():
    rng = np.random.default_rng(0)
    k = 3 * members_module.FEW_CLASSES
    X, codes = rng.normal(1e3, 1.0, (700, P)), rng.integers(-1, k - 5, 700)
    weight = rng.choice(WEIGHTS, 700)
    moments = GroupMoments.of(X, Members(k, codes=codes, weight=weight))
    scatter = GroupScatter.of(X, Members(k, codes=codes, weight=weight), np.arange(k))
    for c in range(k):
        rows, w = X[codes == c], weight[codes == c]
        np.testing.assert_allclose(moments.weight[c], w.sum())
        if w.sum() == 0:
            assert not moments.second[c].any() and not scatter.scatter[c].any()
            continue
        mean = np.average(rows, axis=0, weights=w)
        np.testing.assert_allclose(moments.mean[c], mean, rtol=1e-13)
        np.testing.assert_allclose(scatter.mean[c], mean, rtol=1e-13)
        S = (rows - mean).T * w @ (rows - mean)
        np.testing.assert_allclose(moments.second[c], np.diag(S), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(scatter.scatter[c], S, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_rows_and_rows_of_no_class(k, weighted):
    for n in (0, 5):
        codes = np.full(n, -1)
        weight = np.ones(n) if weighted else None
        members = Members(k, codes=codes, weight=weight)
        X = np.full((n, P), 7.0)
        assert members.sum(X).tolist() == np.zeros((k, P)).tolist()
        assert members.count.tolist() == [0.0] * k
        assert members.classes() == []
        for name, make in MAKERS.items():
            for x, _ in parts(make(X, members)):
                assert not x.any(), name
    with np.errstate(all="raise"):
        GroupMoments.of(np.zeros((0, P)), Members(k, soft=np.zeros((0, k))))
