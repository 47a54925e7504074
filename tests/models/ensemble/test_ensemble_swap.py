"""Bagging and boosting as scikit-learn's users handle them: members listed, cut off, edited; class weights."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB as PeerNB
from sklearn.tree import DecisionTreeClassifier as PeerTree

from benchmarks import shared
from separatrix import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    verify,
)

X, Y = load_breast_cancer(return_X_y=True)
X = X[:200, :6]
Y = Y[:200]
BAGS = [
    BaggingClassifier(n_estimators=6, random_state=3),
    BaggingClassifier(LogisticRegression(), n_estimators=6),
    BaggingClassifier(LogisticRegression(), n_estimators=6, voting="hard"),
    BaggingClassifier(LinearDiscriminantAnalysis(), n_estimators=6),
    BaggingRegressor(n_estimators=6),
    BaggingRegressor(LinearRegression(), n_estimators=6),
]
BOOSTS = [
    AdaBoostClassifier(n_estimators=6),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=6, random_state=1),
]


class Silent(ClassifierMixin, BaseEstimator):
    """A learner whose fit returns None."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        self.inner_ = PeerTree(max_depth=1).fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_

    def predict(self, X):
        return self.inner_.predict(X)


class Deaf(Silent):
    """The same, without sample_weight."""

    def fit(self, X, y):
        Silent.fit(self, X, y)


@pytest.mark.parametrize("model", BAGS + BOOSTS, ids=str)
def test_len_index_and_iteration(model):
    unfitted = clone(model)
    with pytest.raises(AttributeError, match="not fitted"):
        len(unfitted)
    assert bool(unfitted)
    model = clone(model).fit(X, Y)
    assert len(model) == len(model.estimators_) == 6
    assert model[2] is model.estimators_[2] and model[1:4] == model.estimators_[1:4]
    assert list(model) == model.estimators_ and model[-1] is model.estimators_[5]


@pytest.mark.parametrize("kind", [BaggingClassifier, AdaBoostClassifier])
@pytest.mark.parametrize("learner", [Silent(), Deaf()], ids=str)
def test_a_learner_whose_fit_returns_none(kind, learner):
    model = kind(learner, n_estimators=4, random_state=0).fit(X, Y)
    assert model.score(X, Y) > 0.8
    assert len({h.random_state for h in model}) == len(model)  # each has a seed of its own
    assert all(isinstance(h.random_state, int) for h in model)


def test_members_carry_the_seed_they_were_grown_with():
    Z = np.round(X, 0)  # few distinct values: the bins of a bag are those of all rows
    model = BaggingClassifier(DecisionTreeClassifier(max_features=2), 4, random_state=5).fit(Z, Y)
    for h, rows in zip(model, model.estimators_samples_, strict=True):
        again = clone(h).fit(Z, Y, sample_weight=np.bincount(rows, minlength=len(Z)))
        np.testing.assert_array_equal(again.predict_proba(Z), h.predict_proba(Z))
    boost = AdaBoostClassifier(
        DecisionTreeClassifier(max_features=1, max_depth=2), n_estimators=4, keep_weights=True
    ).fit(Z, Y)
    for h, D in zip(boost, boost.weights_, strict=True):
        np.testing.assert_array_equal(clone(h).fit(Z, Y, sample_weight=D).predict(Z), h.predict(Z))


# ---- what you read is what predicts ----


@pytest.mark.parametrize("model", BAGS, ids=str)
def test_bags_predict_by_the_list_as_it_stands(model):
    model = clone(model).fit(X, Y)
    soft = isinstance(model, BaggingClassifier)

    def mean(kept):
        if not soft:
            return np.mean([h.predict(X) for h in kept], axis=0)
        if model.voting == "hard":
            return np.mean([np.eye(2)[h.predict(X)] for h in kept], axis=0)
        return np.mean([h.predict_proba(X) for h in kept], axis=0)

    def check():
        said = model.predict_proba(X) if soft else model.predict(X)
        np.testing.assert_allclose(said, mean(model.estimators_), atol=1e-9)
        if soft:
            np.testing.assert_array_equal(model.predict(X), model.classes_[said.argmax(axis=1)])

    check()
    whole = model.estimators_
    model.estimators_ = whole[:4]
    check()
    del model.estimators_[1:3]
    check()
    assert len(whole) == 6 and len(model) == 2
    h = model.estimators_[0]
    if hasattr(h, "coef_"):
        h.coef_ = h.coef_ * -1.0
        check()
        h.coef_[...] = 0.0
        check()
        h.intercept_ += 3.0
        check()
    elif hasattr(h, "tree_"):
        h.tree_.leaf_value[:] = 0.5
        check()
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copied.predict(X), model.predict(X))
    with pytest.raises(AttributeError, match="estimators_ has been edited since fit"):
        _ = model.estimators_samples_
    model.estimators_ = []
    with pytest.raises(ValueError, match="estimators_ is empty"):
        model.predict(X)


def test_bags_of_some_columns_want_both_lists_cut():
    model = BaggingClassifier(n_estimators=5, max_features=3, random_state=0).fit(X, Y)
    parts = [h.predict_proba(X[:, c]) for h, c in zip(model, model.estimators_features_, strict=True)]
    del model.estimators_[1]
    with pytest.raises(ValueError, match="take the same places out of both"):
        model.predict(X)
    del model.estimators_features_[1]
    kept = np.mean([parts[i] for i in (0, 2, 3, 4)], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), kept, atol=1e-12)


def test_a_vote_for_an_unknown_class_is_named():
    model = BaggingClassifier(n_estimators=2).fit(X, Y)
    model.estimators_.append(DecisionTreeClassifier().fit(X, Y + 5))
    with pytest.raises(ValueError, match=r"estimators_\[2\] votes for 5, which is not in classes_"):
        model.predict(X)
    boost = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3).fit(X, Y)
    boost.estimators_[1] = model.estimators_[2]
    with pytest.raises(ValueError, match=r"a learner votes for [56], which is not in classes_"):
        boost.predict(X)
    boost = AdaBoostClassifier(n_estimators=3).fit(X, Y)
    boost.estimators_[1] = model.estimators_[0]
    with pytest.raises(TypeError, match="estimators_ holds DecisionTreeClassifier"):
        boost.predict(X)


def test_warm_start_adds_to_a_list_that_was_cut():
    model = BaggingClassifier(n_estimators=5, warm_start=True, random_state=0).fit(X, Y)
    first = list(model)
    model.estimators_ = model.estimators_[:3]
    model.estimators_features_ = model.estimators_features_[:3]
    kept = model.estimators_
    model.set_params(n_estimators=6).fit(X, Y)
    assert len(model) == 6 and model[:3] == first[:3] and len(kept) == 3
    assert len({h.random_state for h in [*first, *model[3:]]}) == 8  # bags that are new


@pytest.mark.parametrize("model", BOOSTS, ids=str)
def test_boosting_votes_by_the_lists_as_they_stand(model):
    model = clone(model).fit(X, Y)

    def check():
        T = len(model.estimators_)
        w = np.asarray(model.estimator_weights_)[:T]
        votes = np.zeros((len(X), 2))
        for a, h in zip(w, model.estimators_, strict=True):
            votes[np.arange(len(X)), h.predict(X)] += a
        f = (votes[:, 1] - votes[:, 0]) / w.sum()
        np.testing.assert_allclose(model.decision_function(X), f, atol=1e-12)
        sure = abs(f) > 1e-9
        np.testing.assert_array_equal(model.predict(X)[sure], (f > 0)[sure].astype(int))
        p = 1 / (1 + np.exp(votes[:, 0] - votes[:, 1]))
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], p, atol=1e-12)
        last = list(model.staged_decision_function(X))
        assert len(last) == T
        np.testing.assert_allclose(last[-1], f, atol=1e-12)
        np.testing.assert_allclose(model.margins(X, Y), f * (2 * Y - 1), atol=1e-12)
        np.testing.assert_allclose(model.alphas_, np.asarray(model.estimator_weights_) / 2)
        if hasattr(model[0], "feature_importances_"):
            np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)

    check()
    model.estimator_weights_[2] = 0
    check()
    model.estimators_ = model.estimators_[:4]  # the votes of those cut off do not count
    check()
    model.estimator_weights_ = np.array([1.0, 0.2, 3.0, 0.5])
    check()
    del model.estimators_[0]
    model.estimator_weights_ = model.estimator_weights_[1:]
    check()
    if isinstance(model[0], DecisionStump):
        model[0].stump_ = replace(model[0].stump_, threshold=np.inf)
        check()
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copied.decision_function(X), model.decision_function(X))
    model.estimator_weights_ = np.ones(1)
    with pytest.raises(ValueError, match="give one vote each"):
        model.predict(X)
    model.estimator_weights_ = np.zeros(3)
    with pytest.raises(ValueError, match="nobody's vote counts"):
        model.predict(X)


def test_what_is_worked_out_cannot_be_assigned():
    model = AdaBoostClassifier(n_estimators=3).fit(X, Y)
    with pytest.raises(
        AttributeError, match="alphas_ is worked out and cannot be assigned: edit estimator_weights_"
    ):
        model.alphas_ = np.ones(3)
    with pytest.raises(ValueError, match="read-only"):
        model.alphas_[0] = 0.0
    with pytest.raises(AttributeError, match="feature_importances_ is worked out"):
        model.feature_importances_ = np.ones(6)
    stump = DecisionStump().fit(X, Y)
    for name in (
        "feature_",
        "threshold_",
        "left_class_",
        "right_class_",
        "left_weights_",
        "missing_goes_",
        "rule_",
    ):
        with pytest.raises(AttributeError, match=f"{name} is worked out and cannot be assigned"):
            setattr(stump, name, 1)
    with pytest.raises(AttributeError, match=r"dataclasses.replace\(stump_, threshold=…\)"):
        stump.threshold_ = 3.0
    with pytest.raises(ValueError, match="read-only"):
        stump.left_weights_[0] = 3.0


# ---- class weights ----


def test_class_weights_of_boosting_are_weights_of_rows():
    given = {0: 3.0, 1: 1.0}
    rows = np.where(Y == 0, 3, 1)
    for base in (None, DecisionTreeClassifier(max_depth=2)):
        by_class = AdaBoostClassifier(base, n_estimators=8, class_weight=given).fit(X, Y)
        by_row = AdaBoostClassifier(base, n_estimators=8).fit(X, Y, sample_weight=rows)
        np.testing.assert_allclose(by_class.estimator_errors_, by_row.estimator_errors_, atol=1e-12)
        np.testing.assert_allclose(by_class.decision_function(X), by_row.decision_function(X), atol=1e-9)
    even = AdaBoostClassifier(n_estimators=8, class_weight="balanced", keep_weights=True).fit(X, Y)
    np.testing.assert_allclose([even.weights_[0][k == Y].sum() for k in (0, 1)], [0.5, 0.5])
    np.testing.assert_allclose(verify(even, X, Y).objective, even.verdict_.objective, rtol=1e-9)
    whole = AdaBoostClassifier(n_estimators=8, class_weight="balanced").fit(X, Y, np.full(200, 2.0))
    twice = AdaBoostClassifier(n_estimators=8, class_weight="balanced").fit(np.vstack([X, X]), np.tile(Y, 2))
    np.testing.assert_array_equal(whole.estimator_weights_, twice.estimator_weights_)


def test_class_weights_of_bags_are_weights_of_rows():
    rows = np.where(Y == 0, 3.0, 1.0)
    for bag in (
        BaggingClassifier(n_estimators=4),
        BaggingClassifier(LogisticRegression(), 4, bootstrap=False),
    ):
        by_class = clone(bag).set_params(class_weight={0: 3.0}).fit(X, Y)
        by_row = clone(bag).fit(X, Y, sample_weight=rows)
        np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), atol=1e-9)
    rare = np.flatnonzero((Y == 0) | (np.arange(200) % 10 == 0))
    Z, t = X[rare], Y[rare]
    even = BaggingClassifier(n_estimators=20, class_weight="balanced", oob_score=True).fit(Z, t)
    shares = [np.mean(t[r]) for r in even.estimators_samples_]
    assert abs(np.mean(shares) - 0.5) < 0.06
    judged = ~np.isnan(even.oob_decision_function_).any(axis=1)
    right = even.oob_decision_function_[judged].argmax(axis=1) == t[judged]
    assert even.oob_score_ == pytest.approx(right.mean())  # rows count alike, whatever their class


def test_bad_class_weights():
    for model in (AdaBoostClassifier, BaggingClassifier):
        with pytest.raises(ValueError, match="class_weight 'even' is unknown"):
            model(class_weight="even").fit(X, Y)
        with pytest.raises(ValueError, match="class_weight names 7"):
            model(class_weight={7: 1.0}).fit(X, Y)
    with pytest.raises(ValueError, match='here give the base learner class_weight="balanced"'):
        BaggingClassifier(class_weight="balanced_subsample").fit(X, Y)
    with pytest.raises(ValueError, match="does not take sample_weight"):
        BaggingClassifier(Deaf(), bootstrap=False, class_weight="balanced").fit(X, Y)


# ---- one class ----


@pytest.mark.parametrize(
    "model, peer",
    [(AdaBoostClassifier(), ensemble.AdaBoostClassifier()),
     (AdaBoostClassifier(DecisionTreeClassifier(max_depth=1)), ensemble.AdaBoostClassifier()),
     (AdaBoostClassifier(PeerNB()), ensemble.AdaBoostClassifier(PeerNB())),
     (BaggingClassifier(class_weight="balanced", oob_score=True), ensemble.BaggingClassifier()),
     (BaggingClassifier(PeerNB()), ensemble.BaggingClassifier(PeerNB())),
     (BaggingClassifier(max_features=2), ensemble.BaggingClassifier())],
    ids=str,
)  # fmt: skip
def test_one_class_is_predicted_as_scikit_learn_does(model, peer):
    y = np.full(200, "only")
    model, peer = clone(model).fit(X, y), peer.fit(X, y)
    assert model.classes_.tolist() == ["only"] and model.n_classes_ == 1
    np.testing.assert_array_equal(model.predict_proba(X), peer.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.score(X, y) == 1.0
    if hasattr(peer, "decision_function"):
        np.testing.assert_array_equal(model.decision_function(X), peer.decision_function(X))


def test_a_learner_of_two_classes_says_so():
    with pytest.raises(ValueError, match="only one class"):
        BaggingClassifier(LogisticRegression()).fit(X, np.zeros(200))
    stump = DecisionStump().fit(X, np.full(200, "only"))
    assert stump.rule_ == "always only" and stump.predict_proba(X).tolist() == [[1.0]] * 200
    assert stump.feature_importances_.tolist() == [0.0] * 6


def test_a_verdict_names_the_scale_of_its_objective():
    """Impurity, error and exponential loss are means; bags have their learners' scale, and none without a claim."""
    for model in (DecisionTreeClassifier(), DecisionStump(), AdaBoostClassifier(n_estimators=2)):
        assert model.fit(X, Y).verdict_.scale == "mean loss"
    bags = BaggingClassifier(LogisticRegression(), 3).fit(X, Y)
    assert bags.verdict_.scale == bags[0].verdict_.scale == "mean loss"
    assert BaggingClassifier(n_estimators=2).fit(X, Y).verdict_.scale == ""
    for model in (DecisionStump().fit(X, Y), AdaBoostClassifier(n_estimators=2).fit(X, Y)):
        with pytest.raises(TypeError, match="unexpected keyword argument 'offset'"):
            verify(model, X, Y, offset=Y)


# ---- float32 ----


def test_float32_where_scikit_learn_keeps_it():
    Z, t = load_diabetes(return_X_y=True)
    Z, t = Z.astype(np.float32), t.astype(np.float32)
    pairs = [
        (
            BaggingRegressor(LinearRegression(), 3),
            ensemble.BaggingRegressor(LinearRegression(), n_estimators=3),
        ),
        (BaggingRegressor(n_estimators=3), ensemble.BaggingRegressor(n_estimators=3)),
    ]
    for mine, peer in pairs:
        assert mine.fit(Z, t).predict(Z).dtype == peer.fit(Z, t).predict(Z).dtype
    y = (t > 140).astype(int)
    for mine, peer in [
        (BaggingClassifier(n_estimators=3), ensemble.BaggingClassifier(n_estimators=3)),
        (AdaBoostClassifier(n_estimators=3), ensemble.AdaBoostClassifier(n_estimators=3)),
    ]:
        assert mine.fit(Z, y).predict_proba(Z).dtype == peer.fit(Z, y).predict_proba(Z).dtype


# ---- tables ----


@pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")
@pytest.mark.parametrize("name", ["pima", "ionosphere", "wine"])
def test_on_tables_edits_are_read(name):
    Z, t, _ = shared.numeric(name)
    boost = AdaBoostClassifier(n_estimators=20).fit(Z, t)
    staged = list(boost.staged_predict(Z))
    boost.estimators_ = boost.estimators_[:10]
    np.testing.assert_array_equal(boost.predict(Z), staged[9])
    bag = BaggingClassifier(n_estimators=8, class_weight="balanced", random_state=0).fit(Z, t)
    few = BaggingClassifier(n_estimators=5, class_weight="balanced", random_state=0).fit(Z, t)
    del bag.estimators_[5:]
    np.testing.assert_array_equal(bag.predict_proba(Z), few.predict_proba(Z))


def test_trees_of_iris_in_a_bag_are_those_of_iris_alone():
    Z, t = load_iris(return_X_y=True)
    model = BaggingRegressor(DecisionTreeRegressor(max_leaf_nodes=5), 3, random_state=0).fit(Z, t)
    for h, rows in zip(model, model.estimators_samples_, strict=True):
        again = clone(h).fit(Z[rows], t[rows])
        np.testing.assert_allclose(again.predict(Z), h.predict(Z), atol=1e-12)
        assert h.get_n_leaves() == 5


def test_columns_of_a_bag_may_be_edited_even_where_all_have_all():
    model = BaggingClassifier(n_estimators=3, random_state=0).fit(X, Y)
    turned = np.arange(6)[::-1]
    parts = [h.predict_proba(X) for h in model]
    model.estimators_features_[1] = turned
    parts[1] = model[1].predict_proba(X[:, turned])
    np.testing.assert_allclose(model.predict_proba(X), np.mean(parts, axis=0), atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        model.estimators_features_[0][0] = 3
