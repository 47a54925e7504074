"""Passes of dual coordinate ascent: dense as sparse, jointly as one by one, and never uphill."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.loops.ascent import dense_pass, joint_pass, own_sums, shuffle, sparse_pass, together_pass

N, P, K, RHO = 60, 5, 3, 1.0


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)) * (rng.random((N, P)) < 0.7)
    codes = (X[:, 0] + 0.3 * rng.normal(size=N) > 0).astype(np.int64) + (X[:, 1] > 0.5)
    csr = sp.csr_matrix(X)
    return X, codes, (csr.data, csr.indices, csr.indptr), (X**2).sum(axis=1)


def hinge(sign, cost=1.0):
    """(targets, low, high, bend, ε) of a machine with the hinge loss."""
    return sign, np.where(sign > 0, 0.0, -cost), np.where(sign > 0, cost, 0.0), np.zeros(N), 0.0


def test_shuffled_rows_are_the_same_rows():
    active = np.arange(50)
    shuffle(active, 40, np.array([7], np.uint64))
    again = np.arange(50)
    shuffle(again, 40, np.array([7], np.uint64))
    np.testing.assert_array_equal(active, again)
    assert sorted(active[:40]) == list(range(40)) != active[:40].tolist() and active[40:].tolist() == [
        *range(40, 50)
    ]


def test_a_pass_goes_down_and_is_alike_dense_and_sparse():
    X, codes, cells, norms = table()
    how = hinge(np.where(codes == 0, 1.0, -1.0))
    made = []
    for run, data in ((dense_pass, (X,)), (sparse_pass, cells)):
        w, lift, beta = np.zeros(P), np.zeros(2), np.zeros(N)
        falls = [0.0]
        for _ in range(60):
            _, worst = run(*data, norms, *how, RHO, w, lift, beta, np.arange(N), N, np.inf)
            falls.append(0.5 * (w @ w + lift[0] ** 2 / RHO) - how[0] @ beta)
        assert (np.diff(falls) <= 1e-12).all() and worst < 0.02
        np.testing.assert_allclose(w, X.T @ beta, atol=1e-12)
        np.testing.assert_allclose(lift, [RHO * beta.sum(), beta.sum()], atol=1e-12)
        made.append(beta)
    np.testing.assert_allclose(made[0], made[1], atol=1e-9)


@pytest.mark.parametrize("squared", [False, True])
def test_machines_together_are_what_each_is_alone(squared):
    X, codes, cells, norms = table()
    own, others = np.full(N, 1.5), np.full(N, 0.5)
    w, lift, beta = np.zeros((P, K)), np.zeros((2, K)), np.zeros((N, K))
    for _ in range(3):
        joint_pass(*cells, norms, own, others, codes, 0, squared, RHO, w, lift, beta, np.arange(N))
    for k in range(K):
        sign = np.where(codes == k, 1.0, -1.0)
        cost = np.where(codes == k, own, others)
        top = np.where(squared, np.inf, cost)
        low, high = np.where(sign > 0, 0.0, -top), np.where(sign > 0, top, 0.0)
        alone = np.zeros(P), np.zeros(2), np.zeros(N)
        bend = 0.5 / cost if squared else np.zeros(N)
        for _ in range(3):
            dense_pass(X, norms, sign, low, high, bend, 0.0, RHO, *alone, np.arange(N), N, np.inf)
        np.testing.assert_allclose(beta[:, k], alone[2], atol=1e-10)
    out = np.zeros((P, K))
    own_sums(*cells, codes, 0, beta, out)
    np.testing.assert_allclose(out, X.T @ (beta * (codes[:, None] == np.arange(K))), atol=1e-12)


def test_the_joint_machine_keeps_each_row_in_its_simplex():
    X, codes, cells, norms = table()
    cost, w, lift, alpha = np.full(N, 0.8), np.zeros((P, K)), np.zeros((2, K)), np.zeros((N, K))
    mine = codes[:, None] == np.arange(K)
    falls = [0.0]
    for _ in range(40):
        together_pass(*cells, norms, cost, codes, RHO, w, lift, alpha, np.arange(N))
        falls.append(0.5 * ((w**2).sum() + (lift[0] ** 2).sum() / RHO) + (alpha * ~mine).sum())
    np.testing.assert_allclose(alpha.sum(axis=1), 0, atol=1e-12)
    assert (alpha <= np.where(mine, 0.8, 0.0) + 1e-12).all()
    np.testing.assert_allclose(w, X.T @ alpha, atol=1e-12)
    assert (np.diff(falls) <= 1e-12).all()
