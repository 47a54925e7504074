"""AdaBoost (row E2): the notes' example, a reference of thirty lines, scikit-learn, the bounds, and what stops it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoostClassifier
from sklearn.naive_bayes import GaussianNB

from separatrix import (
    AdaBoostClassifier,
    DecisionStump,
    LogisticRegression,
    engine,
    verify,
)
from tests.draws import examples

pytestmark = pytest.mark.filterwarnings("ignore::separatrix.models.ensemble.adaboost.LabelNoiseWarning")

# The ten points of the notes' toy example: five of each class, and stumps that err on three in every round.
TEN = np.array(
    [[1, 3], [1.5, 7], [4, 8], [5.5, 9], [7, 7.5], [3, 2], [5, 4], [6.5, 1.5], [9, 8.5], [9.5, 7.2]]
)
TEN_SIGNS = np.array([1, 1, 1, 1, 1, -1, -1, -1, -1, -1])


def test_the_ten_points_of_the_notes():
    model = AdaBoostClassifier(n_estimators=3, keep_weights=True).fit(TEN, TEN_SIGNS)
    np.testing.assert_allclose(model.estimator_errors_, [0.30, 0.21, 0.14], atol=0.005)
    np.testing.assert_allclose(model.alphas_, [0.42, 0.65, 0.92], atol=0.005)
    one, two, three = model.weights_
    np.testing.assert_allclose(one, 0.1)
    np.testing.assert_allclose(two, [1 / 14, 1 / 14, 1 / 6, 1 / 6, 1 / 6, *[1 / 14] * 5])  # 0.072 and 0.17
    np.testing.assert_allclose(np.sort(three)[[0, 4, 7]], [1 / 22, 7 / 66, 1 / 6])  # 0.045, 0.11, 0.17
    assert model.normalizers_[0] == pytest.approx(0.912, abs=0.005)  # printed as Z_2
    assert model.score(TEN, TEN_SIGNS) == 1.0
    assert [h.feature_ for h in model.estimators_] == [0, 0, 1]
    assert model.train_errors_.tolist() == pytest.approx([0.3, 0.3, 0.0])


def reference(X, y, rounds):
    """AdaBoost as the notes write it, y of ±1, each stump found by trying everything."""
    n = len(y)
    D = np.full(n, 1 / n)
    tests = []
    for j in range(X.shape[1]):
        for a, b in pairwise(np.unique(X[:, j])):
            tests.append((j, (a + b) / 2, X[:, j] <= (a + b) / 2))
    errors, alphas, f = [], [], np.zeros(n)
    for _ in range(rounds):
        tried = []
        for j, t, left in tests:
            h = np.empty(n)
            for side in (left, ~left):
                h[side] = 1 if (D * y)[side].sum() > 1e-12 else -1
            tried.append((D[h != y].sum(), j, t, h))
        least = min(e for e, *_ in tried)
        epsilon, j, t, h = next(one for one in tried if one[0] <= least + 1e-12)
        alpha = 0.5 * np.log((1 - epsilon) / epsilon)
        f += alpha * h
        D = D * np.exp(-alpha * y * h)
        D /= D.sum()
        errors.append(epsilon)
        alphas.append(alpha)
    return np.array(errors), np.array(alphas), f


@pytest.mark.parametrize("seed", range(6))
def test_the_reference_gives_the_same_rounds(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)) if seed % 2 else rng.integers(0, 9, (60, 3)).astype(float)
    y = np.where(X[:, 0] + X[:, 1] ** 2 / 4 + rng.normal(size=60) > X.mean(), 1, -1)
    errors, alphas, f = reference(X, y, 15)
    model = AdaBoostClassifier(n_estimators=15).fit(X, y)
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=1e-9)
    np.testing.assert_allclose(model.alphas_, alphas, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), np.where(f > 1e-12, 1, -1))
    np.testing.assert_allclose(model.decision_function(X), f / alphas.sum(), atol=1e-9)
    np.testing.assert_allclose(model.margins(X, y), y * f / alphas.sum(), atol=1e-9)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer], ids=lambda f: f.__name__)
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_scikit_learn_agrees_round_by_round(load, rate):
    X, y = load(return_X_y=True)
    ours = AdaBoostClassifier(n_estimators=20, learning_rate=rate).fit(X, y)
    theirs = SklearnAdaBoostClassifier(DecisionStump(), n_estimators=20, learning_rate=rate).fit(X, y)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-8)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-8)
    for a, b in zip(ours.estimators_, theirs.estimators_):
        assert (a.feature_, a.threshold_, a.left_class_, a.right_class_) == (
            b.feature_, b.threshold_, b.left_class_, b.right_class_,
        )  # fmt: skip
    for a, b in zip(ours.staged_predict(X), theirs.staged_predict(X)):
        np.testing.assert_array_equal(a, b)
    factor = 2.0 if len(ours.classes_) == 2 else 1.0
    np.testing.assert_allclose(factor * ours.decision_function(X), theirs.decision_function(X), atol=1e-9)


def test_any_weighted_learner_agrees_with_scikit_learns():
    X, y = load_breast_cancer(return_X_y=True)
    for learner in (GaussianNB(), LogisticRegression()):
        ours = AdaBoostClassifier(learner, n_estimators=4).fit(X, y)
        theirs = SklearnAdaBoostClassifier(learner, n_estimators=4).fit(X, y)
        errors = theirs.estimator_errors_[: len(theirs.estimators_)]  # a round without an edge is left out
        np.testing.assert_allclose(ours.estimator_errors_, errors, rtol=1e-6)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@st.composite
def problems(draw, classes=4):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p, k = draw(st.integers(6, 60)), draw(st.integers(1, 4)), draw(st.integers(2, classes))
    X = rng.integers(0, 6, (n, p)).astype(float) if draw(st.booleans()) else rng.normal(size=(n, p)).round(2)
    if draw(st.booleans()):
        X[rng.random((n, p)) < 0.1] = np.nan
    y = rng.integers(0, k, n)
    assume(len(np.unique(y)) > 1)
    w = rng.uniform(0.2, 2.0, n) if draw(st.booleans()) else rng.integers(1, 4, n).astype(float)
    return X, y, w


def boosted(X, y, w=None, **given):
    """A fit, or nothing where no stump has an edge in the first round."""
    try:
        return AdaBoostClassifier(**given).fit(X, y, w)
    except ValueError as refused:
        assume("better than chance" not in str(refused))
        raise


@examples(50)
@given(problems(), st.sampled_from([1.0, 0.3, 1.7]))
def test_the_bounds_hold_after_every_round(problem, rate):
    X, y, w = problem
    model = boosted(X, y, w, n_estimators=25, learning_rate=rate, keep_weights=True)
    stages = list(model.staged_predict(X))
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    wrong = np.array([np.average(said != y, weights=w) for said in stages])
    np.testing.assert_allclose(model.train_errors_, wrong, atol=1e-12)
    products = np.cumprod(model.normalizers_)
    assert (wrong <= products + 1e-9).all()
    assert model.train_error_bound_ == pytest.approx(products[-1])
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1.0, atol=1e-9)
    assert (model.weights_ >= 0).all()
    for D, h, error in zip(model.weights_, model.estimators_, model.estimator_errors_):
        assert D[h.predict(X) != y].sum() == pytest.approx(error, abs=1e-9)
    if len(model.classes_) == 2 and rate == 1.0:
        second = np.exp(-2 * np.cumsum((0.5 - model.estimator_errors_) ** 2))
        assert (products <= second + 1e-12).all()
        if model.estimator_errors_[-1] > 0:
            e = model.estimator_errors_
            np.testing.assert_allclose(model.normalizers_, 2 * np.sqrt(e * (1 - e)), rtol=1e-9)
            loss = np.average(
                np.exp(
                    -(model.alphas_.sum() * model.decision_function(X)) * (2 * (y == model.classes_[1]) - 1)
                ),
                weights=w,
            )
            assert loss == pytest.approx(products[-1], rel=1e-6)


def same_rounds(a, b):
    np.testing.assert_array_equal(a.estimator_errors_, b.estimator_errors_)
    np.testing.assert_array_equal(a.alphas_, b.alphas_)
    for one, two in zip(a.estimators_, b.estimators_, strict=True):
        assert (one.feature_, one.missing_goes_) == (two.feature_, two.missing_goes_)
        np.testing.assert_equal(one.threshold_, two.threshold_)


@examples(30)
@given(problems())
def test_laws(problem):
    X, y, w = problem
    w = np.ceil(w)
    model = boosted(X, y, w, n_estimators=12)
    with engine("serial", blocks=13):
        same_rounds(model, AdaBoostClassifier(n_estimators=12).fit(X, y, w))
    same_rounds(model, AdaBoostClassifier(n_estimators=12, n_jobs=2).fit(X, y, w))
    repeated = np.repeat(np.arange(len(y)), w.astype(int))
    same_rounds(model, AdaBoostClassifier(n_estimators=12).fit(X[repeated], y[repeated]))
    absent = np.vstack([X, X + 0.1]), np.r_[y, y[::-1]], np.r_[w, np.zeros(len(y))]
    same_rounds(model, AdaBoostClassifier(n_estimators=12).fit(*absent))
    order = np.random.default_rng(0).permutation(len(y))
    same_rounds(model, AdaBoostClassifier(n_estimators=12).fit(X[order], y[order], w[order]))
    bent = np.arctan(X) ** 3 + X
    np.testing.assert_array_equal(
        model.predict(X), AdaBoostClassifier(n_estimators=12).fit(bent, y, w).predict(bent)
    )
    names = np.array(["p", "q", "r", "s"])
    np.testing.assert_array_equal(
        AdaBoostClassifier(n_estimators=12).fit(X, names[y], w).predict(X), names[model.predict(X)]
    )


@examples(30)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_exchanging_the_labels_exchanges_the_predictions(seed, k):
    rng = np.random.default_rng(seed)
    X, y, w = (
        rng.normal(size=(50, 3)),
        rng.integers(0, k, 50),
        rng.uniform(0.1, 1, 50),
    )  # weights without ties
    assume(len(np.unique(y)) == k)
    model = boosted(X, y, w, n_estimators=10)
    turned = AdaBoostClassifier(n_estimators=10).fit(X, k - 1 - y, w)
    np.testing.assert_allclose(turned.alphas_, model.alphas_, rtol=1e-9)
    np.testing.assert_array_equal(turned.predict(X), k - 1 - model.predict(X))


def test_threads_choose_the_same_stumps_on_a_large_table():
    X, y = make_classification(8000, 30, n_informative=10, n_classes=3, flip_y=0.1, random_state=0)
    same_rounds(*(AdaBoostClassifier(n_estimators=20, n_jobs=k).fit(X, y) for k in (1, 2)))


@pytest.mark.parametrize("k", [2, 3])
def test_predictions_agree_with_each_other(k):
    X, y = make_classification(400, 8, n_informative=5, n_classes=k, flip_y=0.2, random_state=k)
    model = AdaBoostClassifier(n_estimators=30).fit(X[:300], y[:300])
    new = X[300:]
    proba, said = model.predict_proba(new), model.predict(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(proba.argmax(axis=1), said)
    scores = model.decision_function(new)
    np.testing.assert_array_equal((scores > 0).astype(int) if k == 2 else scores.argmax(axis=1), said)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(new)), proba)
    if k == 2:  # P = 1/(1 + exp(−2f)), f = Σ α h
        f = model.alphas_.sum() * scores
        np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-2 * f)))
    *_, last = model.staged_predict_proba(new)
    np.testing.assert_allclose(last, proba, atol=1e-12)
    *_, last = model.staged_decision_function(new)
    np.testing.assert_allclose(last, scores, atol=1e-12)
    *_, last = model.staged_margins(new, y[300:])
    margins = model.margins(new, y[300:])
    np.testing.assert_allclose(last, margins, atol=1e-12)
    np.testing.assert_array_equal(margins > 0, (said == y[300:]) & (margins != 0))
    assert np.abs(margins).max() <= 1
    stages = list(model.staged_score(new, y[300:]))
    assert len(stages) == 30 and stages[-1] == model.score(new, y[300:])
    prefix = AdaBoostClassifier(n_estimators=7).fit(X[:300], y[:300])
    np.testing.assert_array_equal(list(model.staged_predict(new))[6], prefix.predict(new))


def test_votes_that_tie_are_a_tie_everywhere():
    """Two learners of one vote each: 0 and 1 draw, and every answer says the first class."""
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [0, 1, 1, 1]
    model = AdaBoostClassifier(n_estimators=2).fit(X, y)
    model.estimator_weights_ = 2 * np.array([0.3, 0.1 + 0.2])
    scores = model.decision_function(X)
    tied = scores == 0
    assert (model.predict(X)[tied] == 0).all()
    assert (model.predict_proba(X)[tied] == 0.5).all()


def test_the_verdict_says_what_was_proven():
    X, y = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    verdict = model.verdict_
    assert verdict.status == "no claim" and verdict.findings[0] == "all 30 rounds were run"
    assert verdict.objective == pytest.approx(np.prod(model.normalizers_))
    assert (
        f"training error {model.train_errors_[-1]:.4g} ≤ ∏Z_t = {model.train_error_bound_:.4g} ≤ exp"
        in str(verdict)
    )
    margins = model.margins(X, y)
    assert f"smallest margin {margins.min():.3g}, of row {margins.argmin()}" in str(verdict)
    again = verify(model, X, y)
    assert again.status == "no claim" and again.objective == pytest.approx(verdict.objective, rel=1e-9)
    assert verify(model, X[:, ::-1], y).status == "not converged"
    three = AdaBoostClassifier(n_estimators=5).fit(*load_wine(return_X_y=True))
    assert "exp(" not in str(three.verdict_)  # that bound is for two classes


def test_parameters_and_defaults_are_scikit_learns():
    ours, theirs = AdaBoostClassifier().get_params(), SklearnAdaBoostClassifier().get_params()
    assert {k: ours[k] for k in theirs} == theirs
