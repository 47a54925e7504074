"""Wide tables that are mostly zeros: the same facts as of the table, in whatever order it lies."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import LinearSVC, LogisticRegression
from separatrix.core.statistics import Moments
from separatrix.data.few_cells import FewCells
from separatrix.data.rows import Rows


def table(n=40, p=2000, share=0.05, seed=0, **how):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, p)) < share, rng.normal(size=(n, p)) + 1.0, 0.0)
    X[:, 3], X[:, 4] = 2.5, 0.0
    return np.array(X, **how)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_facts_of_the_table(order, dtype):
    X = table(order=order, dtype=dtype)
    few, rng = FewCells.of(X), np.random.default_rng(1)
    assert few is not None and len(few.data) == np.count_nonzero(X)
    dense = X.astype(np.float64)
    np.testing.assert_allclose(few.gram(), dense @ dense.T, rtol=1e-12, atol=1e-12)
    for shape in ((), (3,)):
        w, a = rng.normal(size=(2000, *shape)), rng.normal(size=(40, *shape))
        np.testing.assert_allclose(few.scores(w), dense @ w, atol=1e-12)
        np.testing.assert_allclose(few.back(a), dense.T @ a, atol=1e-12)
    for weight in (None, rng.integers(0, 3, 40).astype(float)):
        ours, theirs = few.moments(weight), Moments.of(dense, weight)
        assert ours.weight == theirs.weight
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-13, atol=1e-16)
        np.testing.assert_allclose(ours.second, theirs.second, rtol=1e-11, atol=1e-25)
        np.testing.assert_array_equal(ours.constant, theirs.constant)


def test_the_same_bits_in_either_order():
    a, b = (FewCells.of(table(order=order)) for order in "CF")
    for name in ("data", "rows", "starts"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize(
    "X",
    [table(share=0.2), table(p=60), table(n=2000, p=100), table()[:, ::2], (table() > 0).astype(np.int8)],
    ids=["too many", "small", "tall", "gaps", "whole numbers"],
)
def test_other_tables_are_left_alone(X):
    assert FewCells.of(X) is None


def test_rows_hand_them_on_with_other_targets():
    rows = Rows.of(table())
    assert rows.few is not None and rows.with_targets(None, None).few is rows.few


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC(), LinearSVC(loss="hinge")], ids=str)
@pytest.mark.parametrize("classes", [2, 4])
def test_fits_are_those_of_a_table_without_zeros(monkeypatch, model, classes):
    X, y = table(), np.arange(40) % classes
    model.fit(X, y)
    assert model.verdict_.status == "optimal"
    coef, intercept, value = model.coef_.copy(), model.intercept_.copy(), model.verdict_.objective
    monkeypatch.setattr(FewCells, "of", classmethod(lambda cls, X: None))
    model.fit(X, y)
    assert model.verdict_.objective == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, intercept, atol=1e-5)
    assert not coef[:, 4].any() and np.abs(coef[:, 3]).max() < 1e-15


def test_a_cell_that_is_not_finite_is_refused_by_name():
    X = table()
    X[7, 11] = np.nan
    with pytest.raises(ValueError, match="NaN: column 11, row 7"):
        LogisticRegression().fit(X, np.arange(40) % 2)
