"""SVR against scikit-learn's at its tightest, a case by hand, and the laws of the problem."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import ConvergenceWarning, keep_going, verify
from separatrix.models.margin.svr import SVR, TUBE
from separatrix.solve import smo_rows
from tests.draws import examples

draws = examples(15)


@parametrize_with_checks([SVR(), SVR(kernel="linear", epsilon=0.0)])
def test_scikit_learn_battery(estimator, check):
    check(estimator)


def friedman(n=300, seed=0):
    return make_friedman1(n, 6, noise=1.0, random_state=seed)


def dual_value(beta, K, z, epsilon):
    return -0.5 * beta @ K @ beta + z @ beta - epsilon * np.abs(beta).sum()


@pytest.mark.parametrize("load", [lambda: load_diabetes(return_X_y=True), friedman])
@pytest.mark.parametrize(
    "given",
    [{}, {"C": 20.0, "epsilon": 0.5}, {"kernel": "linear"}, {"kernel": "poly", "degree": 2}, {"epsilon": 0.0},
     {"epsilon": 1e4}],
    ids=str,
)  # fmt: skip
def test_agrees_with_scikit_learn(load, given):
    X, z = load()
    mine, peer = SVR(tol=1e-8, **given).fit(X, z), Peer(tol=1e-8, **given).fit(X, z)
    np.testing.assert_allclose(mine.predict(X), peer.predict(X), rtol=1e-6, atol=1e-4)
    np.testing.assert_array_equal(mine.support_, peer.support_)
    beta = np.zeros(len(z))
    beta[peer.support_] = peer.dual_coef_[0]
    K = mine._kernel()(X, X)
    ours = dual_value(mine.alpha_ - mine.alpha_hat_, K, z, mine.epsilon)
    assert ours >= dual_value(beta, K, z, mine.epsilon) - 1e-9 * abs(ours)
    assert mine.verdict_.status == "optimal" and mine.fit_status_ == 0


def test_line_by_hand():
    """The flattest line within ½ of (0, 0), (1, 1), (2, 2): from (0, ½) to (2, 1½)."""
    model = SVR(kernel="linear", C=100, epsilon=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    np.testing.assert_allclose(model.coef_, [[0.5]], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, [0.5], rtol=1e-9)
    np.testing.assert_allclose(model.alpha_, [0, 0, 0.25], atol=1e-9)
    np.testing.assert_allclose(model.alpha_hat_, [0.25, 0, 0], atol=1e-9)
    assert [TUBE[k] for k in model.tube_] == ["edge", "inside", "edge"]


@pytest.mark.parametrize("n", [300, 3000])
def test_dual_variables_and_the_tube(n):
    X, z = friedman(n)
    model = SVR(tol=1e-6, C=2.0, epsilon=0.5).fit(X, z)
    residual = z - model.predict(X)
    assert (model.alpha_ * model.alpha_hat_ == 0).all()
    sides = np.array(TUBE)[model.tube_]
    assert (np.abs(residual[sides == "inside"]) < 0.5).all()
    assert (model.alpha_[sides == "above"] == 2.0).all() and (residual[sides == "above"] > 0.5).all()
    assert (model.alpha_hat_[sides == "below"] == 2.0).all() and (residual[sides == "below"] < -0.5).all()
    inside = sides == "inside"
    assert not model.alpha_[inside].any() and not model.alpha_hat_[inside].any()
    free = (model.alpha_ > 0) & (model.alpha_ < 2.0)
    np.testing.assert_allclose(residual[free], 0.5, atol=1e-5)
    np.testing.assert_allclose(model.alpha_.sum(), model.alpha_hat_.sum(), rtol=1e-9)
    beta = model.alpha_ - model.alpha_hat_
    K = rbf_kernel(X, gamma=model._gamma)
    primal = 0.5 * beta @ K @ beta + 2.0 * np.maximum(0, np.abs(residual) - 0.5).sum()
    np.testing.assert_allclose(model.verdict_.objective, primal, rtol=1e-7)
    assert primal - dual_value(beta, K, z, 0.5) <= 1e-6 * primal


@draws
@given(st.integers(0, 1000))
def test_weight_is_repetition(seed):
    X, z = friedman(50, seed)
    weight = np.random.default_rng(seed).integers(0, 4, 50)
    weight[0] = 1
    a = SVR(tol=1e-9).fit(X, z, weight.astype(float))
    b = SVR(tol=1e-9).fit(np.repeat(X, weight, axis=0), np.repeat(z, weight))
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-6)
    gone = weight == 0
    assert not a.alpha_[gone].any() and len(a.tube_) == 50


@draws
@given(st.integers(0, 1000), st.floats(-50, 50))
def test_targets_shift_reflect_and_rows_permute(seed, shift):
    X, z = friedman(60, seed)
    want = SVR(tol=1e-9).fit(X, z).predict(X)
    np.testing.assert_allclose(SVR(tol=1e-9).fit(X, z + shift).predict(X), want + shift, atol=1e-5)
    np.testing.assert_allclose(SVR(tol=1e-9).fit(X, -z).predict(X), -want, atol=1e-5)
    order = np.random.default_rng(seed).permutation(60)
    np.testing.assert_allclose(SVR(tol=1e-9).fit(X[order], z[order]).predict(X), want, atol=1e-5)


def test_storage_and_given_kernels():
    X, z = friedman(120)
    X[X < 0.4] = 0
    model = SVR(tol=1e-9, gamma=0.7).fit(X, z)
    want = model.predict(X)
    np.testing.assert_allclose(SVR(tol=1e-9, gamma=0.7).fit(sp.csr_array(X), z).predict(X), want, atol=1e-6)
    K = rbf_kernel(X, gamma=0.7)
    np.testing.assert_allclose(SVR(kernel="precomputed", tol=1e-9).fit(K, z).predict(K), want, atol=1e-6)
    called = SVR(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.7), tol=1e-9).fit(X, z)
    np.testing.assert_allclose(called.predict(X), want, atol=1e-6)


def test_verify_and_honesty(monkeypatch):
    X, z = friedman()
    model = SVR().fit(X, z)
    assert verify(model, X, z).status == "optimal"
    np.testing.assert_allclose(verify(model, X, z).objective, model.verdict_.objective, rtol=1e-9)
    assert verify(model, X, z + 1).status == "not converged"
    assert verify(model, X + 1, z).status == "no claim"
    with pytest.warns(ConvergenceWarning):
        short = SVR(max_iter=3).fit(X, z)
    assert short.verdict_.status == "not converged" and short.fit_status_ == 1 and short.n_iter_ == 3
    assert SVR(kernel="sigmoid", coef0=1.0).fit(X, z).verdict_.status == "no claim"

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(smo_rows.loops, "pairs_asked", stop)
    with keep_going():
        assert SVR().fit(X, z).verdict_.status == "interrupted"


@pytest.mark.parametrize(
    "given, z, words",
    [
        ({"C": 0}, [0, 1, 2], "C must be a positive number"),
        ({"C": np.inf, "kernel": "linear"}, [0, 1, 0], "epsilon of at least 0.5"),
        ({"epsilon": -0.1}, [0, 1, 2], "epsilon must be"),
        ({"gamma": -1.0}, [0, 1, 2], "gamma must be"),
        ({}, [0, np.nan, 2], "y contains NaN in row 1"),
        ({}, ["a", "b", "c"], "y must be numbers"),
        ({}, [0, 1], "inconsistent numbers of samples"),
        ({"kernel": "precomputed"}, [0, 1, 2], "must be a square matrix"),
    ],
)
def test_refusals(given, z, words):
    with pytest.raises(ValueError, match=words):
        SVR(**given).fit([[0.0], [1.0], [2.0]], z)
