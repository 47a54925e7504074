"""SVR(C=np.inf) and LinearSVR(C=np.inf): every row inside the tube, or a proof that no function has them there."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR as Peer

from separatrix import SVR, LinearSVR, verify
from separatrix.solve.hard_tube import NoTube, directions_of_cells, hard_tube
from tests.draws import examples

few = examples(10)


def noisy(seed, n=50, p=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)


def narrowest(X, z):
    """min over (w, b) of max |z − Xw − b|, by a linear programme."""
    n, p = X.shape
    A = np.block([[-X, -np.ones((n, 1)), -np.ones((n, 1))], [X, np.ones((n, 1)), -np.ones((n, 1))]])
    found = linprog(np.r_[np.zeros(p + 1), 1.0], A, np.r_[-z, z], bounds=[(None, None)] * (p + 2))
    return found.fun


@few
@given(seed=st.integers(0, 10_000), epsilon=st.sampled_from([0.0, 0.1, 0.5, 3.0]))
def test_rows_that_differ_have_an_exact_tube(seed, epsilon):
    X, z = noisy(seed)
    model = SVR(C=np.inf, gamma=0.3, epsilon=epsilon).fit(X, z)
    assert model.verdict_.status == "optimal" and verify(model, X, z).status == "optimal"
    assert np.abs(z - model.predict(X)).max() <= epsilon + 1e-8
    # no other function in the tube is flatter: the dual at these variables says so, from the kernel matrix alone
    K, beta = rbf_kernel(X, gamma=0.3), model.alpha_ - model.alpha_hat_
    assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
    dual = beta @ z - epsilon * np.abs(beta).sum() - 0.5 * beta @ K @ beta
    np.testing.assert_allclose(0.5 * beta @ K @ beta, dual, rtol=1e-6, atol=1e-12)


def test_a_large_c_is_the_limit():
    X, z = noisy(1)
    hard = SVR(C=np.inf, gamma=0.3, epsilon=0.5, tol=1e-9).fit(X, z)
    soft = Peer(C=2 * np.abs(hard.dual_coef_).max(), gamma=0.3, epsilon=0.5, tol=1e-9).fit(X, z)
    np.testing.assert_array_equal(hard.support_, soft.support_)
    np.testing.assert_allclose(hard.predict(X), soft.predict(X), atol=1e-6)


@few
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.0, 0.5, 0.99, 1.01, 1.5]))
def test_a_plane_is_found_or_refuted(seed, share):
    """Just narrower than the narrowest tube is refused with its half width, just wider is solved."""
    X, z = noisy(seed, n=30, p=3)
    least = narrowest(X, z)
    epsilon = share * least
    if share < 1:
        for model in (SVR(kernel="linear", C=np.inf, epsilon=epsilon), LinearSVR(C=np.inf, epsilon=epsilon)):
            with pytest.raises(ValueError, match="no row leaves") as told:
                model.fit(X, z)
            assert float(str(told.value).rsplit("at least ", 1)[1]) == pytest.approx(least, rel=2e-5)
        proof = hard_tube(directions_of_cells(X)[0], z, epsilon, 1e-9, 200)
        assert isinstance(proof, NoTube)
        assert np.abs(X.T @ proof.beta).max() <= 1e-9 and abs(proof.beta.sum()) <= 1e-9
        assert proof.beta @ z > epsilon * np.abs(proof.beta).sum()
        return
    kernel = SVR(kernel="linear", C=np.inf, epsilon=epsilon, tol=1e-9).fit(X, z)
    plain = LinearSVR(C=np.inf, epsilon=epsilon, tol=1e-7).fit(X, z)
    for model in (kernel, plain):
        assert model.verdict_.status == "optimal" and verify(model, X, z).status == "optimal"
        assert np.abs(z - model.predict(X)).max() <= epsilon + 1e-9
    np.testing.assert_allclose(kernel.coef_[0], plain.coef_, atol=1e-6)


def test_storage_weights_and_rows_that_are_absent():
    X, z = noisy(3)
    model = SVR(C=np.inf, gamma=0.3, epsilon=0.2).fit(X, z)
    weight = np.random.default_rng(0).integers(1, 4, len(z)).astype(float)
    again = SVR(C=np.inf, gamma=0.3, epsilon=0.2).fit(sp.csr_matrix(X), z, weight)
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-8)
    wild = np.vstack([X, X[:1]]), np.r_[z, z[0] + 9.0], np.r_[np.ones(len(z)), 0.0]
    with_absent = SVR(C=np.inf, gamma=0.3, epsilon=0.2).fit(*wild)
    np.testing.assert_allclose(model.predict(X), with_absent.predict(X), atol=1e-8)
    plain = LinearSVR(C=np.inf, epsilon=5.0).fit(*wild)
    np.testing.assert_allclose(plain.coef_, 0.0, atol=1e-12)


def test_no_intercept():
    X, z = noisy(4)
    model = LinearSVR(C=np.inf, epsilon=2.0, fit_intercept=False).fit(X, z + 3.0 * X[:, 1])
    assert model.intercept_ == 0.0 and np.abs(z + 3.0 * X[:, 1] - model.predict(X)).max() <= 2.0 + 1e-9
    assert model.verdict_.status == "optimal" and np.linalg.norm(model.coef_) > 0


@pytest.mark.parametrize(
    "given, z, words",
    [
        (
            {},
            [0.0, 1.0, 5.0],
            r"rows 0 and 2 are equal and their targets are 5 apart, more than 2·epsilon = 0.2",
        ),
        ({"kernel": "sigmoid", "coef0": -3.0, "gamma": 2.0}, [0.0, 1.0, 0.0], "not positive semidefinite"),
    ],
)
def test_refusals(given, z, words):
    X = np.array([[0.0, 1.0], [1.0, 0.3], [0.0, 1.0]])
    with pytest.raises(ValueError, match=words):
        SVR(C=np.inf, **given).fit(X, z)


def test_solvers_that_do_not_know_it():
    X, z = noisy(0)
    with pytest.raises(ValueError, match="does not know a hard margin"):
        LinearSVR(C=np.inf, dual=True).fit(X, z)
    with pytest.raises(ValueError, match="without slack"):
        LinearSVR(C=np.inf, solver="qp").fit(X, z)
