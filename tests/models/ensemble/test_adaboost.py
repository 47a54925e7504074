"""AdaBoost (row E2): the notes' example, a reference of thirty lines, scikit-learn, the bounds, and what stops it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoostClassifier
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from separatrix import (
    AdaBoostClassifier,
    DecisionStump,
    LabelNoiseWarning,
    LogisticRegression,
    engine,
    keep_going,
    verify,
)

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


@settings(deadline=None, max_examples=80)
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


@settings(deadline=None, max_examples=30)
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


@settings(deadline=None, max_examples=30)
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


def test_a_perfect_learner_decides_alone():
    X, y = load_iris(return_X_y=True)
    one = AdaBoostClassifier(n_estimators=10).fit(X[:100], y[:100])
    assert len(one.estimators_) == 1 and one.estimator_weights_.tolist() == [1.0]
    assert (
        one.verdict_.findings[0]
        == "1 of 10 rounds were run: learner 1 makes no error in training and decides alone"
    )
    assert one.verdict_.stopped_by == "perfect learner" and one.train_error_bound_ == 0
    X, y = load_wine(return_X_y=True)
    late = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=200, random_state=0).fit(X, y)
    if late.estimator_errors_[-1] == 0:
        assert late.estimator_weights_[-1] > late.estimator_weights_[:-1].sum()
    assert (late.train_errors_ <= np.cumprod(late.normalizers_) + 1e-9).all()


def test_no_edge_left_ends_boosting_at_the_minimum():
    """Two rows that no stump tells apart: after the majority nothing is left, and the loss is at its minimum."""
    X, y = np.zeros((5, 1)), [0, 0, 0, 1, 1]
    model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    assert len(model.estimators_) == 1 and model.predict(X).tolist() == [0] * 5
    assert model.verdict_.stopped_by == "no edge" and model.verdict_.status == "stationary"
    assert "1 of 50 rounds were run: the next learner has no edge" in model.verdict_.findings[0]
    p = 0.6  # the least mean exponential loss of a constant is 2√(p(1−p))
    assert model.verdict_.objective == pytest.approx(2 * np.sqrt(p * (1 - p)))


def test_chance_in_the_first_round_is_an_error_that_names_the_way_out():
    exclusive_or = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"no stump does better than chance .* deeper learners"):
        AdaBoostClassifier().fit(exclusive_or, [0, 1, 1, 0])
    deeper = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, random_state=0)).fit(
        exclusive_or, [0, 1, 1, 0]
    )
    assert deeper.score(exclusive_or, [0, 1, 1, 0]) == 1.0

    class Contrary(GaussianNB):
        def predict(self, X):
            return 1 - super().predict(X)

    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="base learner Contrary does no better than chance"):
        AdaBoostClassifier(Contrary()).fit(X, y)


def test_a_learner_without_weights_learns_from_rows_drawn():
    X, y = load_wine(return_X_y=True)
    model = AdaBoostClassifier(KNeighborsClassifier(5), n_estimators=5, random_state=3).fit(X, y)
    assert any(
        "KNeighborsClassifier takes no sample_weight: each round learned from 178 rows drawn" in f
        for f in model.verdict_.findings
    )
    again = AdaBoostClassifier(KNeighborsClassifier(5), n_estimators=5, random_state=3).fit(X, y)
    other = AdaBoostClassifier(KNeighborsClassifier(5), n_estimators=5, random_state=4).fit(X, y)
    np.testing.assert_array_equal(model.estimator_errors_, again.estimator_errors_)
    assert (model.estimator_errors_ != other.estimator_errors_).any()
    assert model.score(X, y) > 0.7


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


def test_mislabelled_rows_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    wrong = rng.choice(np.flatnonzero(np.abs(X[:, 0]) > 0.5), 12, replace=False)
    y[wrong] = 1 - y[wrong]
    with pytest.warns(LabelNoiseWarning, match="rows carry half of the weight") as caught:
        model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    assert np.isin(model.hard_rows_[:5], wrong).all() and np.isin(model.hard_rows_, wrong).mean() > 0.6
    assert str(model.hard_rows_[0]) in str(caught[0].message) and "carry half" in str(model.verdict_)
    clean = (X[:, 0] + X[:, 1] > 0).astype(int)
    assert "carry half" not in str(AdaBoostClassifier(n_estimators=50).fit(X, clean).verdict_)


def test_an_interrupt_keeps_the_rounds_so_far(monkeypatch):
    from separatrix.models.ensemble.weak_learners import StumpLearner

    X, y = load_breast_cancer(return_X_y=True)
    whole = AdaBoostClassifier(n_estimators=9, keep_weights=True).fit(X, y)
    learn = StumpLearner.learn

    def stopped(self, t, w, total):
        if t == 5:
            raise KeyboardInterrupt
        return learn(self, t, w, total)

    monkeypatch.setattr(StumpLearner, "learn", stopped)
    with keep_going():
        model = AdaBoostClassifier(n_estimators=9, keep_weights=True).fit(X, y)
    assert model.verdict_.status == "interrupted" and "5 of 9 rounds" in model.verdict_.findings[0]
    np.testing.assert_array_equal(model.alphas_, whole.alphas_[:5])
    np.testing.assert_array_equal(model.weights_, whole.weights_[:5])
    np.testing.assert_array_equal(model.predict(X), list(whole.staged_predict(X))[4])
    assert f"smallest margin {model.margins(X, y).min():.3g}" in str(model.verdict_)
    monkeypatch.setattr(StumpLearner, "learn", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        AdaBoostClassifier().fit(X, y)


def test_words_on_sparse_counts():
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 3, 400)
    rate = np.full((3, 200), 0.05)
    rate[np.arange(3), [5, 50, 100]] = 1.5
    counts = rng.poisson(rate[topic])
    model = AdaBoostClassifier(n_estimators=20).fit(sp.csr_matrix(counts), topic)
    dense = AdaBoostClassifier(n_estimators=20).fit((counts > 0).astype(float), topic)
    np.testing.assert_allclose(model.alphas_, dense.alphas_, rtol=1e-12)
    assert [h.feature_ for h in model.estimators_] == [h.feature_ for h in dense.estimators_]
    assert {5, 50, 100} <= {h.feature_ for h in model.estimators_}
    for X in (sp.csr_matrix(counts), counts.astype(float)):
        np.testing.assert_array_equal(model.predict(X), dense.predict((counts > 0).astype(float)))
        np.testing.assert_allclose(
            model.decision_function(X), dense.decision_function((counts > 0).astype(float)), atol=1e-12
        )
    for a, b in zip(
        model.staged_predict(sp.csc_matrix(counts)), dense.staged_predict((counts > 0).astype(float))
    ):
        np.testing.assert_array_equal(a, b)


def test_frames_with_words_missing_cells_and_names():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], 200), "size": rng.normal(size=200)})
    y = np.where((frame["colour"] == "red") ^ (frame["size"] > 0.7), "yes", "no")
    frame.loc[::7, "size"] = np.nan
    model = AdaBoostClassifier(DecisionStump(categorical_features="from_dtype"), n_estimators=25).fit(
        frame, y
    )
    assert model.score(frame, y) > 0.8
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert list(model.feature_names_in_) == ["colour", "size"]
    assert any(h.rule_.startswith("colour among") for h in model.estimators_)
    numbers = AdaBoostClassifier().fit(frame[["size"]], y)
    assert numbers.predict(frame[["size"]]).shape == (200,)
    with pytest.raises(ValueError, match="'colour' holds words"):
        AdaBoostClassifier().fit(frame, y)


def test_weights_of_every_kind_and_the_shapes_kept():
    X, y = load_iris(return_X_y=True)
    w = np.r_[np.zeros(50), np.ones(100)]
    model = AdaBoostClassifier(n_estimators=6, keep_weights=True).fit(X, y, w)
    assert model.classes_.tolist() == [1, 2] and model.weights_.shape == (6, 150)
    assert not model.weights_[:, :50].any() and model.hard_rows_.min() >= 50
    assert not hasattr(AdaBoostClassifier(n_estimators=6).fit(X, y), "weights_")
    tree = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=6, keep_weights=True).fit(
        X, y, w
    )
    assert tree.weights_.shape == (6, 150) and not tree.weights_[:, :50].any()
    assert tree.feature_importances_.shape == (4,)
    with pytest.raises(AttributeError, match="GaussianNB has no feature_importances_"):
        _ = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y).feature_importances_


def test_labels_of_any_kind():
    X, y = load_iris(return_X_y=True)
    names = np.empty(150, dtype=object)
    names[:] = [("iris", int(k)) for k in y]
    for learner in (None, DecisionTreeClassifier(max_depth=1)):
        model = AdaBoostClassifier(learner, n_estimators=5, random_state=0)
        words = model.fit(X, np.array(["x", "y", "z"])[y]).predict(X)
        assert set(words) <= {"x", "y", "z"}
    model = AdaBoostClassifier(n_estimators=5).fit(X, names)
    assert model.predict(X)[0] == ("iris", 0) and model.score(X, names) > 0.9


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_estimators": 0}, "n_estimators must be a whole number of at least 1, got 0"),
        ({"n_estimators": 2.5}, "n_estimators must be a whole number"),
        ({"learning_rate": 0}, "learning_rate must be a positive number, got 0"),
        ({"learning_rate": np.inf}, "learning_rate must be a positive number"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number"),
        ({"estimator": LinearRegression()}, "estimator must be a classifier"),
        ({"estimator": 3}, "estimator must be a classifier with fit and predict, got 3"),
        ({"estimator": DecisionStump(criterion="x")}, "criterion 'x' is unknown"),
    ],
)
def test_parameters_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        AdaBoostClassifier(**change).fit([[0.0], [1.0]], [0, 1])


def test_bad_input_is_refused_by_name():
    X, y = load_iris(return_X_y=True)
    hole = X.copy()
    hole[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"base learner LogisticRegression refused round 1: .*NaN"):
        AdaBoostClassifier(LogisticRegression()).fit(hole, y)
    assert AdaBoostClassifier().fit(hole, y).score(hole, y) > 0.9
    with pytest.raises(ValueError, match="label 9 was not seen in training"):
        AdaBoostClassifier(n_estimators=2).fit(X, y).margins(X, np.full(150, 9))


def test_parameters_and_defaults_are_scikit_learns():
    ours, theirs = AdaBoostClassifier().get_params(), SklearnAdaBoostClassifier().get_params()
    assert {k: ours[k] for k in theirs} == theirs


def test_dask_is_answered_lazily_and_learned_from_in_memory():
    da = pytest.importorskip("dask.array")
    X, y = load_wine(return_X_y=True)
    lazy = da.from_array(X, chunks=(50, 13))
    for model in (AdaBoostClassifier(n_estimators=5).fit(X, y), DecisionStump().fit(X, y)):
        np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))
        np.testing.assert_allclose(model.predict_proba(lazy).compute(), model.predict_proba(X))
        with pytest.raises(TypeError, match=r"call X.compute\(\)"):
            type(model)().fit(lazy, y)
