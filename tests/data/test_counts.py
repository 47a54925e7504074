"""Counts by class and their logarithms: compiled ways against those of few cells."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.core.statistics.grouped import GroupCounts
from separatrix.core.statistics.members import Members
from separatrix.data import counts, levels, moments


@pytest.fixture
def always(monkeypatch):
    """The ways of many cells for few."""
    monkeypatch.setattr(counts, "COMPILED_FROM", 0)
    monkeypatch.setattr(counts, "THREADED", 0)
    monkeypatch.setattr(moments, "COMPILED_FROM", 0)


def shares(of_others: bool, alpha: float, empty: bool) -> counts.LogShares:
    rng = np.random.default_rng(3)
    N = rng.poisson(0.3, (4, 5_000)) * rng.random((4, 1))
    if empty:
        N[2] = 0.0
    whole = N.sum(axis=0) if of_others else None
    return counts.log_shares(N, np.full(5_000, alpha), whole)


@pytest.mark.parametrize("of_others", [False, True])
@pytest.mark.parametrize(("alpha", "empty"), [(1.0, False), (0.0, False), (0.0, True)])
def test_shares_of_many_counts_are_those_of_few(of_others, alpha, empty, request):
    few = shares(of_others, alpha, empty)
    request.getfixturevalue("always")
    many = shares(of_others, alpha, empty)
    np.testing.assert_allclose(many.weights, few.weights, rtol=1e-12)
    np.testing.assert_allclose(many.totals, few.totals, rtol=1e-12)
    np.testing.assert_allclose(many.losses, few.losses, rtol=1e-12)
    assert many.zeros == few.zeros


def test_shares_of_one_class_without_others_are_all_alike():
    N = np.random.default_rng(0).random((1, 300))  # sums that round differently in another order
    found = counts.log_shares(N, np.zeros(300), N[0].copy())
    assert found.totals.tolist() == [0.0]
    assert (found.weights == -np.log(300)).all()


def test_sums_of_rows_by_class_over_threads(always):
    rng = np.random.default_rng(1)
    X = sp.random(300, 40, 0.2, format="csr", random_state=1)
    codes, weight = rng.integers(-1, 3, 300), rng.random(300)
    for w in (None, weight):
        found = counts.class_sums(X, Members(3, codes=codes, weight=w))
        each = np.ones(300) if w is None else w
        wanted = [(X.toarray() * each[:, None])[codes == k].sum(axis=0) for k in range(3)]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, bool])
@pytest.mark.parametrize("weighted", [False, True])
def test_levels_of_a_whole_block_are_those_of_its_columns(order, dtype, weighted, always):
    rng = np.random.default_rng(2)
    X = np.asarray(rng.integers(0, [2, 7, 1, 4], (900, 4)), dtype=dtype, order=order)
    if X.dtype.kind == "f":
        X[rng.random(X.shape) < 0.05] = np.nan
    codes, weight = rng.integers(-1, 3, 900), rng.random(900) if weighted else None
    members = Members(3, codes=codes, weight=weight)
    found, wanted = levels.level_counts(X, members), GroupCounts.of(X, members)
    assert found is not None
    for a, b in zip(found.tables, wanted.tables, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_column_without_a_level_has_a_table_without_columns(always):
    X = np.column_stack([np.full(50, np.nan), np.zeros(50)])
    found = levels.level_counts(X, Members(2, codes=np.arange(50) % 2))
    assert found is not None
    assert [table.shape for table in found.tables] == [(2, 0), (2, 1)]


@pytest.mark.parametrize("wrong", [-1.0, 0.5, np.inf, 1e12])
def test_levels_are_not_counted_where_a_cell_is_none(wrong, always):
    X = np.zeros((50, 3))
    members = Members(2, codes=np.arange(50) % 2)
    assert levels.level_counts(X, members) is not None
    X[20, 1] = wrong
    assert levels.level_counts(X, members) is None
    soft = Members(2, soft=np.full((50, 2), 0.5))
    assert levels.level_counts(np.zeros((50, 3)), soft) is None
