"""NuSVC and NuSVR: scikit-learn's numbers at a tight tolerance, bounds that are bounds, and laws of weights."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as PeerSVC
from sklearn.svm import NuSVC as PeerC
from sklearn.svm import NuSVR as PeerR
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks import shared
from separatrix import NuSVC, NuSVR, verify
from tests.draws import examples

few = examples(10)
TIGHT = 1e-9
KERNELS = [{}, {"kernel": "linear"}, {"kernel": "poly", "degree": 2, "coef0": 1.0}, {"gamma": 0.3}]


def infeasible(estimator):
    """Weights of 3 and 10, or 1000 and 0.0001, leave no room for nu = 0.5: the refusal is the answer."""
    names = ("sample_weight_equivalence_on_dense_data", "sample_weight_equivalence_on_sparse_data")
    names = (*names, "class_weight_classifiers") if isinstance(estimator, NuSVC) else ()
    return {f"check_{name}": "nu is infeasible for such weights" for name in names}


@parametrize_with_checks([NuSVC(), NuSVR()], expected_failed_checks=infeasible)
def test_scikit_learn_battery(estimator, check):
    check(estimator)


def blobs(seed, n=61, k=2):
    """A number of rows whose shares are no whole numbers, so that some variable is free and b is settled."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.standard_normal((n, 3)) + 2.5 * np.eye(3)[y], y


def close(found, wanted, rtol=1e-5):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * np.abs(wanted).max())


@pytest.mark.parametrize("given", KERNELS, ids=str)
@pytest.mark.parametrize("nu", [0.41, 0.611])
@pytest.mark.parametrize("k", [2, 3])
def test_classes_as_in_scikit_learn(given, nu, k):
    X, y = blobs(0, k=k)
    mine, peer = NuSVC(nu=nu, tol=TIGHT, **given).fit(X, y), PeerC(nu=nu, tol=TIGHT, **given).fit(X, y)
    np.testing.assert_array_equal(mine.support_, peer.support_)
    np.testing.assert_array_equal(mine.n_support_, peer.n_support_)
    close(
        mine.dual_coef_, peer.dual_coef_, 1e-3 if given.get("kernel") else 1e-5
    )  # few columns: α is not unique
    close(mine.decision_function(X), peer.decision_function(X))
    np.testing.assert_array_equal(mine.predict(X), peer.predict(X))
    assert mine.verdict_.status == "optimal" and verify(mine, X, y).status == "optimal"


@pytest.mark.parametrize("given", KERNELS, ids=str)
@pytest.mark.parametrize("nu", [0.13, 0.5])
def test_numbers_as_in_scikit_learn(given, nu):
    X, z = load_diabetes(return_X_y=True)
    X, z = StandardScaler().fit_transform(X)[:151], z[:151]
    mine, peer = (
        NuSVR(nu=nu, tol=TIGHT, C=3.0, **given).fit(X, z),
        PeerR(nu=nu, tol=TIGHT, C=3.0, **given).fit(X, z),
    )
    close(mine.predict(X), peer.predict(X))
    close(mine.intercept_, peer.intercept_)
    np.testing.assert_array_equal(mine.support_, peer.support_)
    assert mine.verdict_.status == "optimal" and verify(mine, X, z).status == "optimal"
    assert (
        np.mean(np.abs(z - mine.predict(X)) > mine.epsilon_ * (1 + 1e-6)) <= nu <= len(mine.support_) / len(z)
    )


@pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")
@pytest.mark.parametrize("name", ["banknote", "ionosphere", "sonar", "pima"])
@pytest.mark.parametrize("scaled", [False, True])
def test_real_tables(name, scaled):
    X, y, _ = shared.numeric(name)
    keep = np.random.default_rng(0).permutation(len(y))[:400]
    X, y = X[keep], y[keep]
    X = StandardScaler().fit_transform(X) if scaled else X
    y = (y == y[0]).astype(int)
    nu = 0.9 * 2 * min(y.mean(), 1 - y.mean())
    mine, peer = NuSVC(nu=nu, tol=1e-8).fit(X, y), PeerC(nu=nu, tol=1e-8).fit(X, y)
    close(mine.decision_function(X), peer.decision_function(X), 1e-4)
    assert mine.verdict_.status == "optimal"
    column = X[:, -1]
    mine, peer = (
        NuSVR(nu=0.2987, tol=1e-8).fit(X[:, :-1], column),
        PeerR(nu=0.2987, tol=1e-8).fit(X[:, :-1], column),
    )
    close(mine.predict(X[:, :-1]), peer.predict(X[:, :-1]), 1e-4)


@few
@given(seed=st.integers(0, 10_000), nu=st.sampled_from([0.1, 0.3, 0.7]))
def test_nu_is_between_the_shares(seed, nu):
    X, y = blobs(seed)
    model = NuSVC(nu=nu, gamma=1.0, tol=1e-8).fit(X, y)
    inside = np.mean(model.reports_[0].margin < 1 - 1e-6)
    assert inside <= nu <= len(model.support_) / len(y)


@few
@given(seed=st.integers(0, 10_000))
def test_the_surface_is_that_of_c_one_over_rho(seed):
    X, y = blobs(seed)
    model = NuSVC(nu=0.37, gamma=0.5, tol=1e-10).fit(X, y)
    peer = PeerSVC(C=1.0 / model.rho_[0], gamma=0.5, tol=1e-10).fit(X, y)
    close(model.decision_function(X), peer.decision_function(X))


@few
@given(seed=st.integers(0, 10_000))
def test_weights_repeat_and_zero_is_absence(seed):
    X, y = blobs(seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, len(y)).astype(float)
    weight[:4] = 1.0
    again, z = np.repeat(np.arange(len(y)), weight.astype(int)), X[:, 0] + 0.3 * rng.standard_normal(len(y))
    for model, target in (
        (NuSVC(nu=0.31, gamma=0.5, tol=TIGHT), y),
        (NuSVR(nu=0.31, gamma=0.5, tol=TIGHT), z),
    ):
        said = "decision_function" if model.__class__ is NuSVC else "predict"
        one = getattr(model.fit(X, target, weight), said)(X)
        assert verify(model, X, target, weight).status == "optimal"
        close(one, getattr(model.fit(X[again], target[again]), said)(X), 1e-6)
        close(one, getattr(model.fit(sp.csr_matrix(X), target, weight), said)(X), 1e-6)


def test_class_weights_count_and_balanced_allows_every_nu():
    X, y = blobs(1)
    rare = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:6]]
    X, y = X[rare], y[rare]
    with pytest.raises(
        ValueError, match=r"nu=0.9 is infeasible: classes 0 and 1 weigh 31 and 6, and allow nu up to 0\.32"
    ):
        NuSVC(nu=0.9).fit(X, y)
    model = NuSVC(nu=0.9, class_weight="balanced", tol=TIGHT).fit(X, y)
    weight = len(y) / (2 * np.bincount(y))[y]
    close(model.decision_function(X), PeerC(nu=0.9, tol=TIGHT).fit(X, y, weight).decision_function(X))


def test_precomputed_callable_and_probabilities():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = NuSVC(nu=0.21, gamma=0.1, tol=1e-8, probability=True, random_state=0).fit(X, y)
    K = rbf_kernel(X, gamma=0.1)
    close(
        model.decision_function(X),
        NuSVC(nu=0.21, kernel="precomputed", tol=1e-8).fit(K, y).decision_function(K),
    )
    own = NuSVC(nu=0.21, kernel=lambda a, b: rbf_kernel(a, b, gamma=0.1), tol=1e-8).fit(X, y)
    close(model.decision_function(X), own.decision_function(X))
    P = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), P.argmax(axis=1))
    assert np.allclose(P.sum(axis=1), 1) and np.log(P[np.arange(len(y)), y]).mean() > -0.2


def test_shrinking_and_single_precision_change_nothing():
    """Enough rows that kernel rows are single first and rows are left out on the way."""
    X, y = blobs(5, n=2101)
    whole = NuSVC(nu=0.2, shrinking=False, cache_size=2, tol=1e-4).fit(X, y)
    model = NuSVC(nu=0.2, cache_size=2, tol=1e-4).fit(X, y)
    assert whole.verdict_.status == model.verdict_.status == "optimal"
    close(model.decision_function(X), whole.decision_function(X), 1e-3)


@pytest.mark.parametrize(
    "model, words",
    [
        (NuSVC(nu=0.0), "nu must be a number above 0 and at most 1, got 0.0"),
        (NuSVC(nu=1.2), "nu must be"),
        (NuSVC(nu=np.nan), "nu must be"),
        (NuSVC(nu=True, tol=0), "must be"),
        (
            NuSVC(nu=0.01, kernel="linear"),
            "nu=0.01 is too small.*margin between classes 0 and 1 is zero.*larger nu",
        ),
        (NuSVC(probability=True, calibrate="isotonic"), "leave probability out"),
        (NuSVR(nu=-1), "nu must be"),
        (NuSVR(C=np.inf), r"use SVR\(C=np.inf\)"),
        (NuSVR(C=0), "C must be a positive number"),
    ],
)
def test_refusals(model, words):
    X, y = blobs(0, n=200)
    X[:2] = X[0]  # equal rows of both classes: no surface without slack
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


def test_rows_outside_data_are_no_proof():
    X, y = load_breast_cancer(return_X_y=True)
    model = NuSVC(nu=0.2).fit(X, y)
    assert verify(model, X[::-1], y[::-1]).status == "no claim"
    model.dual_coef_ = model.dual_coef_.copy()
    model.dual_coef_[0, 0] *= 3
    assert verify(model, X, y).status == "no claim"
