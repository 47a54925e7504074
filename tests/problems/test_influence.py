"""Sums and forms over rows that inference needs, against the same formulas on the whole matrix of rows z."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from separatrix.core.losses import Logistic, Multinomial
from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.influence import cluster_scores, row_forms, row_scores, score_products
from separatrix.problems.objective import Objective

classes = pytest.mark.parametrize("k", [None, 3])


def drawn(k, *, n=70, store=np.asarray, fit_intercept=True):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) + 2.0
    rows = Rows.of(store(X), rng.choice([-1.0, 1.0], n) if k is None else rng.integers(0, k, n))
    c = Coordinates.standard(rows.moments(), fit_intercept)
    F = Objective(rows, Logistic() if k is None else Multinomial(), 0.0, fit_intercept, c, k)
    z = (X - c.centre) * c.scale
    z = np.column_stack([z, np.full(n, c.lift)]) if fit_intercept else z
    return F, z, rng


@classes
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_scores_are_those_of_the_users_weights(k, fit_intercept, store):
    F, z, rng = drawn(k, store=store, fit_intercept=fit_intercept)
    theta = rng.normal(size=F.shape)
    eta = z @ theta if k is None else z @ theta @ F.class_basis.T
    np.testing.assert_allclose(row_scores(F, theta), eta, atol=1e-12)


@classes
def test_forms_products_and_cluster_sums_are_their_definitions(k):
    F, z, rng = drawn(k)
    heads, q = 1 if k is None else k - 1, z.shape[1]
    root = rng.normal(size=(heads * q, heads * q))
    parts = [z @ root[a * q : a * q + q] for a in range(heads)]
    forms = np.einsum("ani,bni->nab", parts, parts)
    np.testing.assert_allclose(row_forms(F, root), forms[:, 0, 0] if k is None else forms, rtol=1e-12)
    slopes, weight = rng.normal(size=(len(z), heads)), rng.random(len(z))
    g = np.einsum("na,ni->nai", slopes, z).reshape(len(z), -1)
    given = slopes[:, 0] if k is None else slopes
    np.testing.assert_allclose(score_products(F, given, weight), (g.T * weight) @ g, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(score_products(F, given, None), g.T @ g, rtol=1e-11, atol=1e-11)
    codes = rng.integers(0, 4, len(z))
    sums = np.array([(weight[codes == c, None] * g[codes == c]).sum(axis=0) for c in range(4)])
    np.testing.assert_allclose(cluster_scores(F, given, weight, codes, 4), sums, atol=1e-11)


@classes
def test_blocks_and_threads_change_nothing_but_rounding(k):
    found = []
    for kind, blocks in (("serial", 1), ("serial", 7), ("threads", 7)):
        with engine(kind, blocks=blocks):
            F, z, rng = drawn(k)
            slopes = rng.normal(size=len(z) if k is None else (len(z), k - 1))
            found.append(score_products(F, slopes, None))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found[1], found[2])
