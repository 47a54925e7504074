"""Random forests, and what forests and trees share: best-first growth, one class, seeds of members, live lists."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn import ensemble, tree
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from benchmarks import shared
from separatrix import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    LogisticRegression,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tests.models.ensemble.test_extra_trees import corrected_t

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
FORESTS = CLASSIFIERS + REGRESSORS


def iris():
    return load_iris(return_X_y=True)


def coarse(n=120, p=4, seed=0, levels=20):
    """Columns of few distinct values, so that bins of a bag are bins of the table; numbers as targets."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (n, p)).astype(float)
    return X, X[:, 0] - 0.5 * X[:, 1] + rng.normal(0, 2, n)


# ---- accuracy ----


@pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")
@pytest.mark.parametrize("name", ["pima", "sonar", "glass", "vehicle"])
def test_accuracy_is_scikit_learns(name):
    """Five folds, 50 trees: no difference that the corrected t-test would see at 0.1 %."""
    X, y, _ = shared.numeric(name)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    mine = cross_val_score(RandomForestClassifier(50, random_state=0), X, y, cv=folds)
    peer = cross_val_score(ensemble.RandomForestClassifier(50, random_state=0, n_jobs=2), X, y, cv=folds)
    assert corrected_t(mine - peer, 1 / 4) > 1e-3, (mine.mean(), peer.mean())
    assert mine.mean() > peer.mean() - 0.03


def test_regression_is_as_good_as_scikit_learns():
    X, y = make_friedman1(600, noise=1.0, random_state=0)
    folds = KFold(4, shuffle=True, random_state=0)
    mine = cross_val_score(RandomForestRegressor(40, max_features=0.4, random_state=0), X, y, cv=folds)
    peer = cross_val_score(
        ensemble.RandomForestRegressor(40, max_features=0.4, random_state=0), X, y, cv=folds
    )
    assert abs(mine.mean() - peer.mean()) < 0.03


def test_out_of_bag_estimates_are_near_those_of_held_out_rows():
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(100, oob_score=True, random_state=1).fit(X, y)
    assert model.oob_decision_function_.shape == (569, 2)
    held = cross_val_score(RandomForestClassifier(100, random_state=1), X, y, cv=5).mean()
    assert abs(model.oob_score_ - held) < 0.02
    assert "out-of-bag error" in str(model.verdict_)
    Z, t = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(60, oob_score=True, max_samples=0.7, random_state=1).fit(Z, t)
    assert model.oob_prediction_.shape == (442,) and 0.2 < model.oob_score_ < 0.6


def test_every_row_is_judged_by_the_trees_that_did_not_see_it():
    X, y = iris()
    model = RandomForestClassifier(12, oob_score=True, max_samples=50, random_state=0).fit(X, y)
    total, count = np.zeros((150, 3)), np.zeros(150)
    for part, rows in zip(model, model.estimators_samples_, strict=True):
        assert len(rows) == 50
        out = np.setdiff1d(np.arange(150), rows)
        total[out] += part.predict_proba(X[out])
        count[out] += 1
    np.testing.assert_allclose(model.oob_decision_function_, total / count[:, None], atol=1e-12)


@pytest.mark.parametrize("given", [None, "balanced", "balanced_subsample", {0: 1.0, 1: 5.0}], ids=str)
def test_class_weights(given):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), (rng.random(300) < 0.15).astype(int)
    X[y == 1, 0] += 1.0
    forest = {"max_depth": 3, "random_state": 0, "class_weight": given}
    mine = RandomForestClassifier(100, **forest).fit(X, y).predict_proba(X)[:, 1].mean()
    peer = ensemble.RandomForestClassifier(100, **forest).fit(X, y).predict_proba(X)[:, 1].mean()
    assert abs(mine - peer) < 0.025


# ---- the members ----


@pytest.mark.parametrize("kind", FORESTS, ids=lambda k: k.__name__)
def test_len_index_and_iteration(kind):
    X, y = iris()
    model = kind(5).fit(X, y)
    assert len(model) == 5 and bool(model) and bool(kind())
    assert model[0] is model.estimators_[0] and model[-1] is model.estimators_[-1]
    assert model[1:3] == model.estimators_[1:3] and list(model) == model.estimators_
    with pytest.raises(AttributeError, match="not fitted"):
        len(kind())
    peer = getattr(ensemble, kind.__name__)(5).fit(X, y)
    assert len(peer) == len(model) and [hasattr(t, "random_state") for t in peer] == [True] * 5


@pytest.mark.parametrize("kind", FORESTS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("bootstrap", [False, True])
def test_a_member_fitted_again_to_its_bag_is_the_same_tree(kind, bootstrap):
    X, z = coarse()
    y = z if kind in REGRESSORS else np.array(["a", "b", "c"])[np.digitize(z, [-3, 5])]
    model = kind(4, bootstrap=bootstrap, max_features=2, random_state=7).fit(X, y)
    assert len({m.random_state for m in model}) == 4
    for member, rows in zip(model, model.estimators_samples_, strict=True):
        counts = np.bincount(rows, minlength=len(X))
        again = clone(member).fit(X, y, sample_weight=counts)
        assert again.random_state == member.random_state
        np.testing.assert_array_equal(again.tree_.nodes, member.tree_.nodes)
        # a mean is taken from the bag's own centre: rounding
        np.testing.assert_allclose(again.predict(X), member.predict(X), rtol=1e-12, atol=1e-12) if (
            kind in REGRESSORS
        ) else np.testing.assert_array_equal(again.predict_proba(X), member.predict_proba(X))


@pytest.mark.parametrize("kind", FORESTS, ids=lambda k: k.__name__)
def test_predictions_go_through_the_list_as_it_stands(kind):
    X, y = iris()
    model = kind(8, random_state=1).fit(X, y)
    said = "predict_proba" if kind in CLASSIFIERS else "predict"
    parts = [getattr(m, said)(X) for m in model]

    def check(kept):
        np.testing.assert_allclose(
            getattr(model, said)(X), np.mean([parts[i] for i in kept], axis=0), atol=1e-12
        )
        assert model.apply(X).shape == (150, len(kept)) and len(model) == len(kept)

    model.estimators_ = model.estimators_[:6]
    check(range(6))
    del model.estimators_[3:5]
    check([0, 1, 2, 5])
    model.estimators_[0], model.estimators_[1] = model.estimators_[1], model.estimators_[1]
    check([1, 1, 2, 5])
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(getattr(copied, said)(X), getattr(model, said)(X))
    model.estimators_[2].tree_.leaf_value[:] = 1.0 / (3 if kind in CLASSIFIERS else 1)
    parts[2] = getattr(model.estimators_[2], said)(X)
    check([1, 1, 2, 5])
    assert np.ptp(parts[2]) == 0
    assert model.score(X, y) > 0.5


def test_forests_put_together_are_one_forest():
    X, y = iris()
    one, two = (RandomForestClassifier(6, random_state=s).fit(X, y) for s in (1, 2))
    mean = (one.predict_proba(X) + two.predict_proba(X)) / 2
    one.estimators_ += two.estimators_
    np.testing.assert_allclose(one.predict_proba(X), mean, atol=1e-12)
    other = RandomForestClassifier(2).fit(X, np.array(["a", "b", "c"])[y])
    one.estimators_ += other.estimators_
    with pytest.raises(ValueError, match="other classes"):
        one.predict(X)
    one.estimators_ = [LogisticRegression().fit(X, y)]
    with pytest.raises(TypeError, match="holds LogisticRegression"):
        one.predict(X)
    one.estimators_ = ExtraTreesClassifier(1).fit(X[:, :2], y).estimators_
    with pytest.raises(ValueError, match="read other columns"):
        one.predict(X)
    one.estimators_ = []
    with pytest.raises(ValueError, match="estimators_ is empty"):
        one.predict_proba(X)


def test_what_is_worked_out_cannot_be_assigned():
    X, y = iris()
    model = RandomForestClassifier(3).fit(X, y)
    with pytest.raises(AttributeError, match="feature_importances_ is worked out"):
        model.feature_importances_ = np.ones(4)
    with pytest.raises(ValueError, match="read-only"):
        model.feature_importances_[0] = 1.0
    with pytest.raises(
        AttributeError, match=r"tree_ is worked out and cannot be assigned: edit tree_\.threshold"
    ):
        model[0].tree_ = model[1].tree_
    for name in ("value", "feature", "child", "children_left", "weighted_n_node_samples"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model[0].tree_, name)[0] = 0
    stump = DecisionTreeClassifier(max_depth=1).fit(X, y)
    assert set(stump.predict(X)) == {0, 1}
    stump.tree_.threshold[0] = np.inf
    assert set(stump.predict(X)) == {0}


def test_a_later_fit_leaves_an_earlier_ones_trees_alone():
    X, y = iris()
    model = RandomForestClassifier(4, warm_start=True, random_state=0).fit(X, y)
    first, list_ = list(model), model.estimators_
    before = [m.predict_proba(X) for m in first]
    model.set_params(n_estimators=7).fit(X, y)
    assert len(list_) == 4 and model.estimators_[:4] == first
    for m, p in zip(first, before, strict=True):
        np.testing.assert_array_equal(m.predict_proba(X), p)
    del model.estimators_[2]
    model.fit(X, y)  # grows the tree taken out again
    whole = RandomForestClassifier(7, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-12)


# ---- one class ----


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(), DecisionTreeClassifier(splitter="random"), RandomForestClassifier(3, oob_score=True),
     ExtraTreesClassifier(3, class_weight="balanced")],
    ids=str,
)  # fmt: skip
def test_one_class_is_predicted_as_scikit_learn_does(model):
    X, _ = iris()
    y = np.full(150, "only")
    peer = getattr(tree, type(model).__name__, None) or getattr(ensemble, type(model).__name__)
    peer = peer().fit(X, y)
    model = clone(model).fit(X, y, sample_weight=np.arange(150))
    assert model.classes_.tolist() == ["only"] == peer.classes_.tolist() and model.n_classes_ == 1
    np.testing.assert_array_equal(model.predict_proba(X), peer.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_array_equal(model.feature_importances_, peer.feature_importances_)
    assert model.score(X, y) == 1.0
    two = clone(model).fit(X, np.where(np.arange(150) < 3, "other", y), sample_weight=np.arange(150) >= 3)
    assert two.classes_.tolist() == ["only"]  # a class of weight zero is none


# ---- best node first ----


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("leaves", [2, 5, 11])
def test_best_first_trees_are_scikit_learns(criterion, leaves):
    """No two splits are equally good in these tables, and every value has a bin of its own."""
    rng = np.random.default_rng(leaves)
    X = rng.normal(size=(200, 3))
    z = X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(0, 0.3, 200)
    w = rng.uniform(0.5, 2.0, 200)
    if criterion == "squared_error":
        y, mine, peer = z, DecisionTreeRegressor, tree.DecisionTreeRegressor
    else:
        y, mine, peer = np.digitize(z, [-0.5, 1.0]), DecisionTreeClassifier, tree.DecisionTreeClassifier
    limits = {"criterion": criterion, "max_leaf_nodes": leaves, "min_samples_leaf": 5}
    mine, peer = mine(**limits).fit(X, y, w), peer(**limits, random_state=0).fit(X, y, w)
    assert mine.get_n_leaves() == peer.get_n_leaves() == leaves and mine.get_depth() == peer.get_depth()
    new = rng.normal(size=(500, 3))
    if criterion == "squared_error":
        np.testing.assert_allclose(mine.predict(new), peer.predict(new), rtol=1e-9)
    else:
        np.testing.assert_allclose(mine.predict_proba(new), peer.predict_proba(new), atol=1e-12)
    np.testing.assert_allclose(mine.feature_importances_, peer.feature_importances_, atol=1e-9)
    assert sorted(mine.tree_.n_node_samples) == sorted(peer.tree_.n_node_samples)
    np.testing.assert_allclose(sorted(mine.tree_.impurity), sorted(peer.tree_.impurity), atol=1e-6)


def test_one_leaf_more_is_one_split_more():
    X, y = load_breast_cancer(return_X_y=True)
    whole = DecisionTreeClassifier().fit(X, y)
    before = None
    for leaves in range(2, whole.get_n_leaves() + 3):
        model = DecisionTreeClassifier(max_leaf_nodes=leaves).fit(X, y)
        assert model.get_n_leaves() == min(leaves, whole.get_n_leaves())
        if before is not None:
            pairs = {(a, b) for a, b in zip(model.apply(X), before.apply(X), strict=True)}
            assert len(pairs) == model.get_n_leaves()  # each new leaf lies in one old leaf
        before = model
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    assert "max_leaf_nodes=" in str(model.verdict_)


@pytest.mark.parametrize("kind", FORESTS, ids=lambda k: k.__name__)
def test_forests_of_few_leaves(kind):
    X, y = load_diabetes(return_X_y=True)
    y = y if kind in REGRESSORS else (y > 140).astype(int)
    model = kind(20, max_leaf_nodes=8, random_state=0).fit(X, y)
    assert {m.get_n_leaves() for m in model} == {8}
    peer = getattr(ensemble, kind.__name__)(20, max_leaf_nodes=8, random_state=0).fit(X, y)
    assert abs(model.score(X, y) - peer.score(X, y)) < 0.06


def test_best_first_with_holes_and_levels():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (200, 2)).astype(float)
    X[rng.random((200, 2)) < 0.2] = np.nan
    y = (np.nan_to_num(X[:, 0]) % 2 + rng.random(200) > 0.8).astype(int)
    model = DecisionTreeClassifier(max_leaf_nodes=6, categorical_features=[0]).fit(X, y)
    full = DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    for part in np.unique(model.apply(X)):
        rows = model.apply(X) == part
        np.testing.assert_allclose(model.predict_proba(X[rows])[0, 1], y[rows].mean(), atol=1e-12)
    pairs = {(a, b) for a, b in zip(full.apply(X), model.apply(X), strict=True)}
    assert len(pairs) == full.get_n_leaves()


@pytest.mark.parametrize("kind", FORESTS, ids=lambda k: k.__name__)
def test_attributes_are_scikit_learns(kind):
    X, y = iris()
    settings = {"n_estimators": 3, "bootstrap": True, "oob_score": True, "warm_start": True}
    with pytest.warns(UserWarning, match="OOB"):  # few trees
        peer = getattr(ensemble, kind.__name__)(**settings).fit(X, y)
    model = kind(**settings).fit(X, y)
    assert model[0].n_outputs_ == 1
    names = {n for n in (*vars(peer), "estimators_samples_") if n.endswith("_") and not n.startswith("_")}
    assert [n for n in names if not hasattr(model, n)] == []
    assert model.estimator_.random_state is None and not hasattr(model.estimator_, "classes_")
    assert model[0].verdict_.status == "no claim" and "leaves" in str(model[0].verdict_)
    with pytest.warns(UserWarning, match="the 3 trees asked for are there already"):
        model.fit(X, y)


@pytest.mark.parametrize("kind", FORESTS, ids=lambda k: k.__name__)
def test_a_row_of_weight_two_is_drawn_as_two_rows(kind):
    X, z = coarse(60)
    y = z if kind in REGRESSORS else (z > z.mean()).astype(int)
    w = np.random.default_rng(3).integers(0, 3, 60)
    setting = {"n_estimators": 5, "bootstrap": True, "max_samples": 40, "random_state": 2}
    one = kind(**setting).fit(X, y, sample_weight=w)
    two = kind(**setting).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    said = "predict" if kind in REGRESSORS else "predict_proba"
    np.testing.assert_allclose(getattr(one, said)(X), getattr(two, said)(X), rtol=1e-12, atol=1e-12)
