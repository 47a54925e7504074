"""Sparse rows in any order and in parts: used as they are where that will do, never changed in place."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import BernoulliNB, ComplementNB, LogisticRegression, MultinomialNB
from separatrix.data.door import read_table
from separatrix.data.stored import repeats, sparse_rows
from separatrix.loops.sparse import stored_twice

MODELS = [MultinomialNB(), ComplementNB(), ComplementNB(norm=True), BernoulliNB(), BernoulliNB(binarize=1.5)]
MODELS += [LogisticRegression()]


def rows(
    parts: bool, wide: bool = False, n: int = 40, p: int = 30
) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    """Counts stored in no order, some of them in two parts; the same table in order; labels."""
    rng = np.random.default_rng(int(parts))
    dense = rng.poisson(0.4, (n, p)).astype(float)
    indptr, indices, data = [0], [], []
    for row in dense:
        at = rng.permutation(np.flatnonzero(row))
        held = [(j, row[j]) for j in at]
        if parts and len(at):
            held = [(j, x - 1.0) for j, x in held] + [(j, 1.0) for j in at[::-1]]
        indices += [j for j, _ in held]
        data += [x for _, x in held]
        indptr.append(len(indices))
    kind = np.int64 if wide else np.int32
    X = sp.csr_matrix((n, p))
    X.data, X.indices, X.indptr = np.array(data), np.array(indices, dtype=kind), np.array(indptr, dtype=kind)
    return X, dense, np.arange(n) % 3


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_what_is_stored_as_asked_is_not_copied(parts, wide):
    X, dense, _ = rows(parts, wide)
    assert repeats(X) is parts
    assert sparse_rows(X, "in parts") is X
    assert (sparse_rows(X, "once") is X) is not parts
    before = X.indices.copy(), X.data.copy()
    for stored in ("in order", "once", "in parts"):
        found = sparse_rows(X, stored)
        np.testing.assert_array_equal(found.toarray(), dense)
        assert stored != "in order" or found.has_canonical_format
    few = sp.csr_matrix((40, 3000))  # mostly empty: sorted row by row
    few.data, few.indices, few.indptr = X.data, X.indices, X.indptr
    np.testing.assert_array_equal(sparse_rows(few).toarray()[:, :30], dense)
    np.testing.assert_array_equal(X.indices, before[0])
    np.testing.assert_array_equal(X.data, before[1])


def test_a_column_of_another_row_is_no_repetition():
    last = np.full(3, -1)
    assert not stored_twice(np.array([2, 0, 2, 1]), np.array([0, 2, 4]), last)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_models_take_rows_in_any_order(model, parts, kind):
    X, dense, y = rows(parts)
    X.data = X.data.astype(kind)
    before = X.indices.copy(), X.data.copy()
    model.fit(X, y)
    probabilities = model.predict_proba(X)
    assert (X.indices == before[0]).all() and (X.data == before[1]).all()
    in_order = sp.csr_matrix(dense.astype(kind))
    again = type(model)(**model.get_params()).fit(in_order, y)
    tolerance = 1e-4 if kind is np.float32 else 1e-7
    np.testing.assert_allclose(again.predict_proba(in_order), probabilities, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(again.predict_proba(X), probabilities, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("model", [MultinomialNB(), BernoulliNB()], ids=str)
def test_densities_count_a_cell_once(model):
    X, dense, y = rows(True)
    model.fit(dense, y)
    np.testing.assert_allclose(model.score_samples(X), model.score_samples(dense), rtol=1e-10)
    np.testing.assert_allclose(model.class_log_density(X), model.class_log_density(dense), rtol=1e-10)


def test_parts_may_be_negative_where_the_count_is_not():
    X, dense, y = rows(True)
    X.data[X.indptr[:-1]] -= 5.0  # the first part of a row's first cell, and its last part is the row's last
    X.data[X.indptr[1:] - 1] += 5.0
    model = MultinomialNB().fit(X, y)
    np.testing.assert_allclose(model.feature_count_, [dense[y == k].sum(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.predict_proba(X), model.predict_proba(dense), rtol=1e-10)
    X.data[X.indptr[3]] -= 50.0
    for ask in (lambda: model.predict(X), lambda: MultinomialNB().fit(X, y)):
        with pytest.raises(ValueError, match=r"row 3.*Negative"):
            ask()


def test_whole_numbers_of_little_precision_are_read_in_place():
    X, dense, _ = rows(False)
    X.data = X.data.astype(np.longdouble)
    before = X.indices.copy()
    found = read_table(MultinomialNB(), X, reset=True, stored="once")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.toarray(), dense)
    np.testing.assert_array_equal(X.indices, before)
