"""OneClassSVM: scikit-learn's numbers at a tight tolerance, the meaning of nu, and laws."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import shared
from separatrix import OneClassSVM, verify
from tests.draws import examples

few = examples(10)
TIGHT = 1e-9


@parametrize_with_checks([OneClassSVM(), OneClassSVM(kernel="linear", nu=0.2)])
def test_scikit_learn_battery(estimator, check):
    check(estimator)


def cloud(seed, n=101):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 3)) + np.array([2.0, 0.0, 1.0])


def close(found, wanted, rtol=1e-6):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * np.abs(wanted).max())


def assert_same(mine, peer, X, rtol=1e-6):
    np.testing.assert_array_equal(mine.support_, peer.support_)
    np.testing.assert_array_equal(mine.n_support_, peer.n_support_)
    close(mine.decision_function(X), peer.decision_function(X), rtol)
    close(mine.score_samples(X), peer.score_samples(X), rtol)
    close(mine.offset_, peer.offset_, rtol)
    close(mine.intercept_, peer.intercept_, rtol)
    assert mine.dual_coef_.shape == peer.dual_coef_.shape
    sure = np.abs(peer.decision_function(X)) > rtol * np.abs(peer.decision_function(X)).max()
    np.testing.assert_array_equal(mine.predict(X)[sure], peer.predict(X)[sure])


@pytest.mark.parametrize("nu", [0.05, 0.33, 0.9])
@pytest.mark.parametrize(
    "given", [{}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}, {"gamma": 2.0}], ids=str
)
def test_as_in_scikit_learn(given, nu):
    X = cloud(0)
    mine, peer = OneClassSVM(nu=nu, tol=TIGHT, **given).fit(X), Peer(nu=nu, tol=TIGHT, **given).fit(X)
    assert_same(mine, peer, X)
    assert mine.verdict_.status == "optimal" and verify(mine, X, None).status == "optimal"
    if given.get("kernel") == "linear":
        close(mine.coef_, peer.coef_)


@pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")
@pytest.mark.parametrize("name", ["banknote", "ionosphere", "sonar", "pima"])
@pytest.mark.parametrize("scaled", [False, True])
def test_real_tables(name, scaled):
    X, y, _ = shared.numeric(name)
    X = StandardScaler().fit_transform(X) if scaled else X
    X = X[y == y[0]][:401]
    mine, peer = OneClassSVM(nu=0.123, tol=TIGHT).fit(X), Peer(nu=0.123, tol=TIGHT).fit(X)
    close(mine.decision_function(X), peer.decision_function(X), 1e-5)
    assert mine.verdict_.status == "optimal" and verify(mine, X, None).status == "optimal"


@few
@given(seed=st.integers(0, 10_000), nu=st.sampled_from([0.02, 0.3, 0.8]))
def test_nu_is_between_the_shares(seed, nu):
    X = cloud(seed)
    model = OneClassSVM(nu=nu, tol=1e-8).fit(X)
    outside = np.mean(model.decision_function(X) < -1e-6)
    assert outside <= nu <= len(model.support_) / len(X)
    assert model.dual_coef_.sum() == pytest.approx(nu * len(X))


@few
@given(seed=st.integers(0, 10_000))
def test_weights_repeat_and_zero_is_absence(seed):
    X = cloud(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(X)).astype(float)
    model = OneClassSVM(nu=0.31, gamma=0.5, tol=TIGHT).fit(X, sample_weight=weight)
    said = model.decision_function(X)
    assert verify(model, X, None, weight).status == "optimal"
    peer = Peer(nu=0.31, gamma=0.5, tol=TIGHT).fit(X[weight > 0], sample_weight=weight[weight > 0])
    close(said, peer.decision_function(X))
    again = np.repeat(np.arange(len(X)), weight.astype(int))
    close(said, model.fit(X[again]).decision_function(X))
    close(said, model.fit(sp.csr_matrix(X), sample_weight=weight).decision_function(X))


def test_kernel_matrices_functions_and_rows_that_are_no_numbers():
    X = cloud(3)
    model, K = OneClassSVM(nu=0.2, gamma=0.4, tol=1e-8).fit(X), rbf_kernel(X, gamma=0.4)
    close(
        OneClassSVM(nu=0.2, kernel="precomputed", tol=1e-8).fit(K).decision_function(K),
        model.decision_function(X),
    )
    own = OneClassSVM(nu=0.2, kernel=lambda a, b: rbf_kernel(a, b, gamma=0.4), tol=1e-8).fit(X)
    close(own.decision_function(X), model.decision_function(X))
    words = ["rain", "train", "brain", "grain", "drain", "xylophone"]

    def letters(a, b):
        return np.array([[len(set(s) & set(t)) / np.sqrt(len(set(s)) * len(set(t))) for t in b] for s in a])

    odd = OneClassSVM(kernel=letters, nu=0.3).fit(words)
    assert odd.decision_function(["rainy"])[0] > odd.decision_function(["fox"])[0]


def test_what_you_read_is_what_scores():
    X = cloud(4)
    model = OneClassSVM(nu=0.2).fit(X)
    said = model.decision_function(X)
    model.intercept_ -= 1.0
    np.testing.assert_allclose(model.decision_function(X), said - 1.0)
    np.testing.assert_allclose(model.offset_, -model.intercept_)
    with pytest.raises(AttributeError, match="assign intercept_"):
        model.offset_ = 3.0
    with pytest.raises(ValueError, match="read-only"):
        model.offset_ += 1.0
    assert verify(model, X, None).status == "not converged"


@pytest.mark.parametrize(
    "given, X, words",
    [
        ({"nu": 0}, [[0.0], [1.0]], "nu must be a number above 0 and at most 1, got 0"),
        ({"nu": 1.5}, [[0.0], [1.0]], "nu must be"),
        ({"kernel": "magic"}, [[0.0], [1.0]], "kernel 'magic' is unknown"),
        ({}, [[0.0], [np.nan]], "NaN"),
        ({"kernel": "precomputed"}, [[0.0, 1.0]], "square matrix"),
    ],
)
def test_refusals(given, X, words):
    with pytest.raises(ValueError, match=words):
        OneClassSVM(**given).fit(X)
