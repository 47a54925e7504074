"""Extremely randomised trees and single trees as estimators: accuracy, out-of-bag, importances, limits, bad input."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import t as student
from sklearn import ensemble, tree
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1
from sklearn.inspection import permutation_importance
from sklearn.model_selection import StratifiedKFold, cross_val_score

from benchmarks import shared
from separatrix import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    keep_going,
)
from separatrix.growth import forest as module

PEERS = {
    ExtraTreesClassifier: ensemble.ExtraTreesClassifier,
    ExtraTreesRegressor: ensemble.ExtraTreesRegressor,
    DecisionTreeClassifier: tree.DecisionTreeClassifier,
    DecisionTreeRegressor: tree.DecisionTreeRegressor,
    RandomForestClassifier: ensemble.RandomForestClassifier,
    RandomForestRegressor: ensemble.RandomForestRegressor,
}
CLASSIFIERS = [ExtraTreesClassifier(20), DecisionTreeClassifier(), DecisionTreeClassifier(splitter="random")]
REGRESSORS = [ExtraTreesRegressor(20), DecisionTreeRegressor(), DecisionTreeRegressor(splitter="random")]


def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("ours, theirs", PEERS.items(), ids=lambda c: c.__name__)
def test_parameters_and_defaults_are_scikit_learns(ours, theirs):
    mine, peers = ours().get_params(), theirs().get_params()
    assert {name: mine[name] for name in peers} == peers
    assert set(mine) - set(peers) == {"categorical_features"}
    order = [p for p in inspect.signature(theirs).parameters]
    assert list(inspect.signature(ours).parameters)[: len(order)] == order


def corrected_t(differences, ratio):
    """p-value of Nadeau and Bengio's test: differences over repeated folds, with the correction for shared rows."""
    d = np.asarray(differences)
    scale = np.sqrt((1 / len(d) + ratio) * d.var(ddof=1))
    return 1.0 if scale == 0 else 2 * student.sf(abs(d.mean()) / scale, len(d) - 1)


TABLES = [
    "pima",
    "sonar",
    "ionosphere",
    "glass",
    "vehicle",
    "wine",
    "heart_statlog",
    "german_credit",
    "banknote",
    "yeast",
]


@pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")
@pytest.mark.parametrize("name", TABLES)
def test_accuracy_is_scikit_learns(name):
    """Ten folds, 50 trees: no difference that the corrected t-test would see at 0.1 %."""
    X, y, _ = shared.numeric(name)
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
    mine = cross_val_score(ExtraTreesClassifier(50, random_state=0), X, y, cv=folds)
    peer = cross_val_score(ensemble.ExtraTreesClassifier(50, random_state=0), X, y, cv=folds)
    assert corrected_t(mine - peer, 1 / 9) > 1e-3, (mine.mean(), peer.mean())
    assert mine.mean() > peer.mean() - 0.03


def test_regression_is_as_good_as_scikit_learns():
    X, y = make_friedman1(1000, noise=1.0, random_state=0)
    mine = cross_val_score(ExtraTreesRegressor(50, random_state=0), X, y, cv=3)
    peer = cross_val_score(ensemble.ExtraTreesRegressor(50, random_state=0), X, y, cv=3)
    assert abs(mine.mean() - peer.mean()) < 0.02


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss", "normalized_gain"])
def test_every_criterion_learns(criterion):
    X, y = load_breast_cancer(return_X_y=True)
    assert cross_val_score(ExtraTreesClassifier(30, criterion=criterion), X, y, cv=3).mean() > 0.93
    model = DecisionTreeClassifier(criterion=criterion).fit(X, y)
    assert model.score(X, y) == 1.0 and model.tree_.impurity[0] > 0


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_probabilities_and_predictions(model):
    X, y = iris()
    names = np.array(["set", "ver", "vir"])[y]
    model = clone(model).fit(X, names)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(proba))
    assert model.score(X, names) == np.mean(model.predict(X) == names)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), proba)


def test_a_forest_is_the_mean_of_its_trees():
    X, y = iris()
    model = ExtraTreesClassifier(15, random_state=3).fit(X, y)
    parts = [t.predict_proba(X) for t in model.estimators_]
    np.testing.assert_allclose(np.mean(parts, axis=0), model.predict_proba(X), atol=1e-12)
    assert len({t.tree_.node_count for t in model.estimators_}) > 1
    z, target = load_diabetes(return_X_y=True)
    model = ExtraTreesRegressor(15).fit(z, target)
    np.testing.assert_allclose(np.mean([t.predict(z) for t in model.estimators_], axis=0), model.predict(z))


def test_threads_and_warm_start_grow_the_same_trees():
    X, y = iris()
    one = ExtraTreesClassifier(12, n_jobs=1, random_state=5, bootstrap=True, oob_score=True).fit(X, y)
    two = clone(one).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.oob_decision_function_, two.oob_decision_function_)
    late = clone(one).set_params(n_estimators=5, warm_start=True).fit(X, y)
    late.set_params(n_estimators=12).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), late.predict_proba(X))
    with pytest.raises(ValueError, match="n_estimators=3 is less than the 12"):
        late.set_params(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="know the classes"):
        late.set_params(n_estimators=13).fit(X, y + 1)
    other = clone(one).set_params(random_state=6).fit(X, y)
    assert (other.predict_proba(X) != one.predict_proba(X)).any()


def test_apply_and_decision_path():
    X, y = iris()
    model = ExtraTreesClassifier(4, max_depth=5).fit(X, y)
    ends = model.apply(X)
    paths, begins = model.decision_path(X)
    assert ends.shape == (150, 4) and paths.shape == (150, begins[-1])
    for t, part in enumerate(model.estimators_):
        np.testing.assert_array_equal(part.apply(X), ends[:, t])
        assert (part.tree_.feature[ends[:, t]] == -1).all()
        inside = paths[:, begins[t] : begins[t + 1]]
        assert inside[np.arange(150), ends[:, t]].all() and inside[:, 0].sum() == 150
        assert inside.sum(axis=1).max() == part.get_depth() + 1
    single = DecisionTreeClassifier().fit(X, y)
    assert single.decision_path(X).shape == (150, single.tree_.node_count)
    assert single.get_n_leaves() == len(np.unique(single.apply(X)))


def test_out_of_bag_by_hand():
    X, y = load_breast_cancer(return_X_y=True)
    model = ExtraTreesClassifier(30, bootstrap=True, oob_score=True, random_state=1).fit(X, y)
    votes, count = np.zeros((len(y), 2)), np.zeros(len(y))
    for part, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        outside = np.setdiff1d(np.arange(len(y)), rows)
        assert len(rows) == len(y)
        votes[outside] += part.predict_proba(X[outside])
        count[outside] += 1
    np.testing.assert_allclose(model.oob_decision_function_, votes / count[:, None])
    assert model.oob_score_ == np.mean(votes.argmax(axis=1) == y)
    said = [s for s in model.verdict_.findings if s.startswith("out-of-bag error")]
    assert len(said) == 1 and f"{1 - model.oob_score_:.3g}" in said[0]
    small = ExtraTreesClassifier(10, bootstrap=True, max_samples=0.2).fit(X, y)
    assert {len(rows) for rows in small.estimators_samples_} == {int(0.2 * len(y))}
    X, z = load_diabetes(return_X_y=True)
    model = ExtraTreesRegressor(60, bootstrap=True, oob_score=True).fit(X, z)
    assert 0.3 < model.oob_score_ < 0.6 and model.oob_prediction_.shape == z.shape
    few = ExtraTreesClassifier(1, bootstrap=True, oob_score=lambda y, p: -1.0).fit(*iris())
    assert np.isnan(few.oob_decision_function_).any() and few.oob_score_ == -1.0


def test_importances_find_the_columns_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 1] + 2 * X[:, 3] > 0).astype(int)
    model = ExtraTreesClassifier(40, bootstrap=True, max_features=None).fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argsort()[::-1][:2].tolist() == [3, 1]
    for found in (
        model.permutation_importance(X, y, out_of_bag=True, n_repeats=2),
        model.permutation_importance(X, y, n_repeats=3),
    ):
        assert found.importances_mean.argsort()[::-1][:2].tolist() == [3, 1]
        assert (np.abs(found.importances_mean[[0, 2, 4]]) < 0.05).all() and found.importances_mean[3] > 0.1
    theirs = permutation_importance(model, X, y, n_repeats=3, random_state=0)
    ours = model.permutation_importance(X, y, n_repeats=3)
    np.testing.assert_allclose(ours.importances_mean, theirs.importances_mean, atol=0.05)
    with pytest.raises(ValueError, match="needs bags"):
        ExtraTreesClassifier(3).fit(X, y).permutation_importance(X, y, out_of_bag=True)
    peer = ensemble.ExtraTreesClassifier(40, max_features=None, random_state=0).fit(X, y)
    plain = ExtraTreesClassifier(40, max_features=None).fit(X, y)
    np.testing.assert_allclose(plain.feature_importances_, peer.feature_importances_, atol=0.03)


@pytest.mark.parametrize("model", CLASSIFIERS + REGRESSORS, ids=str)
def test_missing_cells_are_read(model):
    X, y = iris()
    X = X.copy()
    X[::3, 2] = np.nan
    X[:, 0] = np.nan
    fitted = clone(model).fit(X, y)
    assert fitted.score(X, y) > 0.95
    assert any("column 0 constant or missing" in s for s in fitted.verdict_.findings)
    assert np.isfinite(np.asarray(fitted.predict(np.full((2, 4), np.nan)), dtype=float)).all()


@pytest.mark.parametrize("model", CLASSIFIERS + REGRESSORS, ids=str)
def test_weights_and_class_weights(model):
    X, y = iris()
    rng = np.random.default_rng(0)
    w = rng.integers(0, 3, 150).astype(float)
    a = clone(model).fit(X, y, w)
    b = clone(model).fit(X[w > 0], y[w > 0], w[w > 0])
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    if hasattr(model, "class_weight"):
        factor = np.array([1.0, 2.0, 5.0])
        a = clone(model).set_params(class_weight={0: 1, 1: 2, 2: 5}, max_depth=2).fit(X, y)
        b = clone(model).set_params(max_depth=2).fit(X, y, factor[y])
        np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


def test_balanced_weights():
    X, y = load_breast_cancer(return_X_y=True)
    keep = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:20]]
    X, y = X[keep], y[keep]
    for word in ("balanced", "balanced_subsample"):
        model = ExtraTreesClassifier(10, class_weight=word, bootstrap=True, max_depth=1).fit(X, y)
        shares = np.array([t.tree_.value[0] for t in model.estimators_])
        tolerance = 1e-12 if word == "balanced_subsample" else 0.3
        np.testing.assert_allclose(shares, 0.5, atol=tolerance)
    with pytest.raises(ValueError, match="is for forests"):
        DecisionTreeClassifier(class_weight="balanced_subsample").fit(X, y)


def test_nominal_columns_of_frames():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    sky = rng.choice(["clear", "cloud", "fog", "rain"], 400)
    frame = pd.DataFrame({"sky": pd.Categorical(sky), "wind": rng.normal(size=400)})
    y = np.where(np.isin(sky, ["clear", "rain"]), "go", "stay")
    for model in (ExtraTreesClassifier(10), DecisionTreeClassifier()):
        for which in ("from_dtype", ["sky"], [0], [True, False]):
            fitted = clone(model).set_params(categorical_features=which).fit(frame, y)
            assert fitted.score(frame, y) == 1.0
        late = pd.DataFrame({"sky": ["hail", None], "wind": [0.0, 1.0]})
        assert set(fitted.predict(late)) <= {"go", "stay"}
    tree_ = DecisionTreeClassifier(categorical_features="from_dtype").fit(frame, y).tree_
    assert tree_.depth == 1 and tree_.sets.tolist() in ([0b1001], [0b0110])
    with pytest.raises(ValueError, match=r"'sky' is categorical.*categorical_features=\"from_dtype\""):
        ExtraTreesClassifier(3).fit(frame, y)
    with pytest.raises(ValueError, match="'sky' holds words"):
        ExtraTreesClassifier(3, categorical_features=["wind"]).fit(frame, y)
    with pytest.raises(ValueError, match="'rain', which is not a column"):
        ExtraTreesClassifier(3, categorical_features=["rain"]).fit(frame, y)
    codes = np.column_stack([np.searchsorted(np.unique(sky), sky) * 7.0 + 3, frame["wind"]])
    coded = DecisionTreeClassifier(categorical_features=[0]).fit(codes, y)
    assert coded.get_depth() == 1 and coded.score(codes, y) == 1.0


def test_sparse_tables_are_those_made_dense():
    X, y = iris()
    X = np.where(X > 3, X, 0.0)
    for model in CLASSIFIERS:
        dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_matrix(X), y)
        np.testing.assert_array_equal(dense.predict_proba(X), sparse.predict_proba(sp.csc_matrix(X)))


BAD = [
    ({"n_estimators": 0}, "n_estimators must be a whole number of at least 1, got 0"),
    ({"n_estimators": True}, "n_estimators must be"),
    ({"criterion": "best"}, "criterion 'best' is not grown by: use one of \"gini\""),
    ({"max_depth": 0}, "max_depth must be None"),
    ({"min_samples_split": 1}, "min_samples_split must be a whole number of at least 2"),
    ({"min_samples_leaf": 0.0}, "min_samples_leaf must be"),
    ({"min_weight_fraction_leaf": 0.6}, r"min_weight_fraction_leaf must be a number in \[0, 0.5\]"),
    ({"min_impurity_decrease": -1}, "min_impurity_decrease must be"),
    ({"max_features": 5}, "max_features=5 is more than the 4 columns of X"),
    ({"max_features": "auto"}, 'max_features must be "sqrt"'),
    ({"max_leaf_nodes": 1}, "max_leaf_nodes must be None or a whole number of at least 2, got 1"),
    ({"ccp_alpha": 0.1}, "trees are not pruned here"),
    ({"monotonic_cst": [0, 0, 0, 1]}, "monotonic_cst is not served"),
    ({"oob_score": True}, "oob_score needs bags"),
    ({"max_samples": 10}, "max_samples is the size of a bag"),
    ({"max_samples": 0, "bootstrap": True}, "max_samples=0 must be at least 1"),
    ({"max_samples": 1.5, "bootstrap": True}, "max_samples=1.5 must be None"),
    ({"class_weight": "even"}, "class_weight 'even' is unknown"),
    ({"class_weight": {9: 1.0}}, "class_weight names 9"),
    ({"n_jobs": 0}, "n_jobs must be"),
    ({"categorical_features": "all"}, 'categorical_features must be None, "from_dtype"'),
]


@pytest.mark.parametrize("given, words", BAD, ids=lambda v: next(iter(v)) if isinstance(v, dict) else "")
def test_what_cannot_be_meant_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        ExtraTreesClassifier(**given).fit(*iris())


def test_bad_tables_are_refused():
    X, y = iris()
    with pytest.raises(ValueError, match="Input y contains NaN in row 2"):
        ExtraTreesRegressor().fit(X[:4], [1.0, 2.0, np.nan, 4.0])
    with pytest.raises(ValueError, match="y must be numbers"):
        DecisionTreeRegressor().fit(X[:2], ["a", "b"])
    with pytest.raises(ValueError, match="should be a 1d array"):
        DecisionTreeRegressor().fit(X, np.ones((150, 2)))
    wrong = X.copy()
    wrong[3, 1] = np.inf
    with pytest.raises(ValueError, match="Input X contains infinity: column 1, row 3"):
        DecisionTreeClassifier().fit(wrong, y)
    with pytest.raises(ValueError, match="column 1 holds values too large for float32"):
        ExtraTreesClassifier().fit(X * [1, 1e300, 1, 1], y)
    assert DecisionTreeClassifier().fit(X * [1, 1e300, 1, 1], y).score(X * [1, 1e300, 1, 1], y) == 1.0
    with pytest.raises(ValueError, match='use one of "squared_error"'):
        ExtraTreesRegressor(criterion="poisson").fit(X, y)
    with pytest.raises(ValueError, match='which makes the same splits as "squared_error"'):
        DecisionTreeRegressor(criterion="friedman_mse").fit(X, y)


def test_the_verdict_says_what_grew():
    X, y = iris()
    verdict = ExtraTreesClassifier(7, min_samples_leaf=60).fit(np.column_stack([X, np.ones(150)]), y).verdict_
    assert verdict.status == "no claim" and not verdict.settled and verdict.gap == np.inf
    text = str(verdict)
    for words in ("7 of 7 trees grown", "column 4 constant", "min_samples_leaf=60", "fewer rows than the 60"):
        assert words in text
    full = DecisionTreeClassifier().fit(X, y).verdict_
    assert full.objective == 0.0 and "leaves, 150 rows" in str(full)
    wide = np.random.default_rng(0).normal(size=(400, 2))
    assert "2 of 2 columns have more than 255" in str(DecisionTreeRegressor().fit(wide, wide[:, 0]).verdict_)


def test_ctrl_c_keeps_the_trees_that_are_finished(monkeypatch):
    X, y = iris()

    def stop(work, items):
        for t in list(items)[1:5]:
            work(t)
        raise KeyboardInterrupt

    whole = ExtraTreesClassifier(10).fit(X, y)
    model = ExtraTreesClassifier(10, warm_start=True)
    real = module.each_in_threads

    def once(work, items):
        return stop(work, items) if len(items) == 10 else real(work, items)

    monkeypatch.setattr(module, "each_in_threads", once)
    with keep_going():
        model.fit(X, y)
    assert len(model.estimators_) == 4 and model.verdict_.status == "interrupted"
    assert "4 of 10 trees grown" in str(model.verdict_) and "Ctrl-C" in str(model.verdict_)
    monkeypatch.setattr(module, "each_in_threads", real)
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    assert model.verdict_.status == "no claim"


def test_numbers_too_large_for_float32_are_larger_than_every_threshold():
    X, y = iris()
    model = ExtraTreesClassifier(20).fit(X, y)
    np.testing.assert_array_equal(
        model.predict_proba(np.full((1, 4), 1e300)), model.predict_proba(np.full((1, 4), 1e9))
    )


def test_blocks_of_rows():
    """Prediction goes by blocks of rows: one row at a time says the same."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9000, 3)), rng.integers(0, 3, 9000)
    model = ExtraTreesClassifier(5, max_depth=6).fit(X, y)
    whole = model.predict_proba(X)
    for i in (0, 1124, 1125, 8999):
        np.testing.assert_array_equal(model.predict_proba(X[i : i + 1])[0], whole[i])
