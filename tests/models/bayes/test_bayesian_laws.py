"""Laws of a Gaussian prior: weights, labels, units and origins, engines and storage, limits of the precision."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

from separatrix import BayesianLogisticRegression, LogisticRegression, engine
from tests.models.bayes.beliefs import assert_same_belief, classes, few, priors, reference, seeds
from tests.models.reference import overlapping


@priors
@classes
@few
@given(seed=seeds)
def test_weight_is_repetition_and_zero_is_absence(make, K, seed):
    X, y = overlapping(70, 3, K, seed=seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    weight[:K] = 1.0
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    a, b = make().fit(X[repeated], y[repeated]), make().fit(X, y, sample_weight=weight)
    assert_same_belief(a, b)
    assert b.bic_ == pytest.approx(a.bic_, rel=1e-9)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}])
def test_a_class_weight_is_a_weight_of_its_rows(K, class_weight):
    X, y = overlapping(90, 3, K, seed=4)
    X, y = X[20:], y[20:]
    own = np.linspace(0.5, 2.0, len(y))
    totals = np.bincount(y, own)
    each = totals.sum() / (K * totals) if class_weight == "balanced" else np.array([3.0, 1.0, 1.0])
    model = BayesianLogisticRegression(class_weight=class_weight)
    expected = BayesianLogisticRegression().fit(X, y, sample_weight=each[y] * own)
    assert_same_belief(model.fit(X, y, sample_weight=own), expected, tol=1e-9)
    if isinstance(class_weight, dict):
        online = model.partial_fit(X[:30], y[:30], sample_weight=each[y[:30]])
        assert np.isfinite(online.log_evidence_)
        return
    with pytest.raises(ValueError, match="needs all rows at once"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("class_weight, match", [
    ("fair", 'unknown: use "balanced"'), ([1.0, 2.0], "must be a dictionary"), ({7: 1.0}, "names 7"),
    ({0: 0.0}, "must be positive"),
])  # fmt: skip
def test_class_weights_that_cannot_be_meant(class_weight, match):
    X, y = overlapping(40, 2, 2, seed=0)
    with pytest.raises(ValueError, match=match):
        BayesianLogisticRegression(class_weight=class_weight).fit(X, y)


@priors
@few
@given(seed=seeds)
def test_flipping_two_labels_negates_the_weights(make, seed):
    X, y = overlapping(70, 3, 2, seed=seed)
    a, b = make().fit(X, y), make().fit(X, 1 - y)
    b.coef_, b.intercept_ = -b.coef_, -b.intercept_
    assert_same_belief(a, b)


@few
@given(seed=seeds, order=st.permutations([0, 1, 2]))
def test_permuting_labels_permutes_the_classes(seed, order):
    X, y = overlapping(70, 3, 3, seed=seed)
    a, b = BayesianLogisticRegression().fit(X, y), BayesianLogisticRegression().fit(X, np.array(order)[y])
    b.coef_, b.intercept_ = b.coef_[order], b.intercept_[order]
    blocks = b.covariance_.reshape(3, 4, 3, 4)
    moved = blocks[np.ix_(order, range(4), order, range(4))].reshape(12, 12)
    assert_same_belief(a, b, covariance=moved)
    np.testing.assert_allclose(a.covariance_.reshape(3, 4, 3, 4).sum(axis=0), 0.0, atol=1e-12)  # singular


@classes
@few
@given(
    seed=seeds,
    powers=st.lists(st.integers(-12, 12), min_size=3, max_size=3),
    shifts=st.lists(st.sampled_from([0, 1, -100, 10**4]), min_size=3, max_size=3),
)
def test_units_with_their_prior_and_origins_change_nothing(K, seed, powers, shifts):
    """x → a(x + c) with α → α/a²: w → w/a. The intercept's prior sits at the mean row, which moves along."""
    X, y = overlapping(70, 3, K, seed=seed)
    a = 2.0 ** np.array(powers)
    alpha = np.array([0.5, 1.0, 2.0])
    plain = BayesianLogisticRegression(alpha).fit(X, y)
    moved = a * (X + np.array(shifts, dtype=float))
    other = BayesianLogisticRegression(alpha * a**2).fit(moved, y)
    np.testing.assert_allclose(other.coef_ * a, plain.coef_, atol=1e-6)
    np.testing.assert_allclose(other.coef_sd_ * a, plain.coef_sd_, rtol=1e-6)
    np.testing.assert_allclose(other.predict_proba(moved), plain.predict_proba(X), atol=1e-6)
    assert other.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-6)


def test_the_evidences_own_precision_follows_the_unit():
    X, y = overlapping(100, 3, 2, seed=3)
    plain = BayesianLogisticRegression("evidence").fit(X, y)
    other = BayesianLogisticRegression("evidence").fit(8 * X, y)
    assert other.prior_precision_ == pytest.approx(64 * plain.prior_precision_, rel=1e-6)
    assert other.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-8)


@classes
def test_engines_and_grids(K):
    X, y = overlapping(500, 4, K, seed=0)
    whole = BayesianLogisticRegression("evidence").fit(X, y)
    with engine("serial", blocks=7):
        serial = BayesianLogisticRegression("evidence").fit(X, y)
    with engine("threads", workers=2, blocks=7):
        threads = BayesianLogisticRegression("evidence").fit(X, y)
    np.testing.assert_array_equal(serial.covariance_, threads.covariance_)
    assert serial.log_evidence_ == threads.log_evidence_
    assert_same_belief(whole, serial)
    one = BayesianLogisticRegression("evidence", n_jobs=1).fit(X, y)
    assert_same_belief(whole, one)


@classes
def test_sparse_frames_float32_and_dask(K):
    pd = pytest.importorskip("pandas")
    da = pytest.importorskip("dask.array")
    X, y = overlapping(300, 4, K, seed=1)
    X = np.round(X * (np.abs(X) > 0.5) * 8) / 8  # exact in float32
    dense = BayesianLogisticRegression().fit(X, y)
    for kind in (sp.csr_array, sp.csc_matrix, np.asfortranarray, lambda A: A.astype(np.float32)):
        assert_same_belief(dense, BayesianLogisticRegression().fit(kind(X), y))
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = BayesianLogisticRegression().fit(frame, y)
    assert_same_belief(dense, named)
    assert list(named.feature_names_in_) == list("abcd") and "a" in str(named.summary())
    lazy = da.from_array(X, chunks=(100, 4))
    assert_same_belief(dense, BayesianLogisticRegression().fit(lazy, y))
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "predict_interval"):
        expected = getattr(dense, method)(X)
        np.testing.assert_allclose(np.asarray(getattr(dense, method)(lazy)), expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(getattr(dense, method)(sp.csr_array(X)), expected, rtol=1e-6, atol=1e-9)
    assert dense.predict_proba(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(
        dense.predict_proba(X.astype(np.float32)), dense.predict_proba(X), rtol=0, atol=1e-5
    )


def test_a_constant_column_shares_the_intercept():
    """With proper priors a column of fives has a weight: that of the prior's best way to split the shift."""
    X, y = overlapping(60, 2, 2, seed=0)
    wide = np.column_stack([X, np.full(60, 5.0)])
    S = np.diag([4.0, 1.0, 1.0, 0.5])
    model = BayesianLogisticRegression(prior_covariance=S).fit(wide, y)
    mode, covariance, evidence = reference(wide, y, 2, np.zeros(4), S)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_[0]), mode, atol=2e-6)
    np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-4, atol=1e-5)
    assert model.log_evidence_ == pytest.approx(evidence, abs=2e-4)


def test_a_prior_is_a_penalty():
    """prior_precision α with a flat intercept is LogisticRegression(C=1/α)."""
    for load in (load_breast_cancer, load_iris):
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        for alpha in (0.1, 1.0, 25.0):
            model = BayesianLogisticRegression(alpha, intercept_precision=1e-9).fit(X, y)
            ridge = LogisticRegression(C=1 / alpha).fit(X, y)
            np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-5)
            np.testing.assert_allclose(model.intercept_, ridge.intercept_, atol=1e-5)
            np.testing.assert_allclose(
                model.predict_proba(X, method="plugin"), ridge.predict_proba(X), atol=1e-6
            )


@classes
def test_no_rows_leave_the_prior_and_many_rows_leave_no_prior(K):
    X, y = overlapping(60, 2, K, seed=0)
    faint = BayesianLogisticRegression(4.0).fit(X, y, sample_weight=np.full(60, 1e-9))
    np.testing.assert_allclose(faint.coef_sd_, 0.5 * np.sqrt(1 if K == 2 else 1 - 1 / K), rtol=1e-6)
    assert faint.n_effective_ < 1e-5 and faint.log_occam_factor_ == pytest.approx(0.0, abs=1e-5)
    plenty = BayesianLogisticRegression(4.0).fit(X, y, sample_weight=np.full(60, 1e9))
    np.testing.assert_allclose(plenty.coef_, LogisticRegression(C=np.inf).fit(X, y).coef_, atol=1e-5)
    assert plenty.n_effective_ == pytest.approx(3 * (K - 1), abs=1e-6)
