"""Bagging (row E3): an explicit loop, its laws, what the verdict says, scikit-learn, the waveform."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.tree
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from examples._waveform import waveform
from separatrix import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    engine,
)
from tests.models.ensemble.bagged import CANCER, IRIS, table

# ---- agreement with an explicit loop ----

BASES = [
    LogisticRegression(),
    LinearDiscriminantAnalysis(),
    DecisionTreeClassifier(max_features=2),
    KNeighborsClassifier(),
    sklearn.tree.DecisionTreeClassifier(max_depth=4),
    # To the last digits: where its default stops, short of the optimum, is decided by rounding.
    sklearn.linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-10),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


@pytest.mark.parametrize(
    "base", BASES, ids=lambda b: f"{type(b).__module__.split('.')[0]}-{type(b).__name__}"
)
def test_bags_are_those_of_an_explicit_loop(base):
    X, y = IRIS
    model = BaggingClassifier(base, 8, random_state=3).fit(X, y)
    total = np.zeros((len(X), 3))
    for fitted, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
        alone = clone(fitted)
        if "it takes no sample_weight" in model.verdict_.findings[0]:
            alone.fit(X[rows], y[rows])
        else:
            alone.fit(X, y, sample_weight=np.bincount(rows, minlength=len(X)).astype(float))
        total += alone.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), total / 8, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), total.argmax(axis=1))


def test_regression_is_the_mean_of_an_explicit_loop():
    X, y = make_friedman1(200, random_state=0)
    X = X.round(2)  # at most 101 values a column: the bins of a bag are those of all rows
    for base in (
        None,
        DecisionTreeRegressor(max_depth=3),
        sklearn.linear_model.Ridge(),
        KNeighborsRegressor(),
    ):
        model = BaggingRegressor(base, 6, random_state=0).fit(X, y)
        said = []
        for fitted, rows in zip(model.estimators_, model.estimators_samples_, strict=True):
            if isinstance(base, KNeighborsRegressor):
                said.append(clone(fitted).fit(X[rows], y[rows]).predict(X))
            else:
                count = np.bincount(rows, minlength=len(X)).astype(float)
                said.append(clone(fitted).fit(X, y, sample_weight=count).predict(X))
        np.testing.assert_allclose(model.predict(X), np.mean(said, axis=0), rtol=1e-9)
    two = BaggingRegressor(KNeighborsRegressor(), 5, random_state=0, oob_score=True).fit(X, np.c_[y, -y])
    assert two.predict(X).shape == (200, 2)
    np.testing.assert_allclose(two.predict(X)[:, 0], -two.predict(X)[:, 1])


def test_hard_votes_are_counted():
    X, y = table()
    model = BaggingClassifier(LogisticRegression(), 9, voting="hard", random_state=0).fit(X, y)
    votes = np.array([m.predict(X) for m in model.estimators_])
    share = np.array([(votes == c).mean(axis=0) for c in model.classes_]).T
    np.testing.assert_allclose(model.predict_proba(X), share, atol=1e-15)
    np.testing.assert_array_equal(model.predict(X), model.classes_[share.argmax(axis=1)])
    machines = BaggingClassifier(sklearn.linear_model.RidgeClassifier(), 9, random_state=0).fit(X, y)
    votes = np.array(
        [m.predict(X) for m in machines.estimators_]
    )  # no probabilities: soft falls back to votes
    np.testing.assert_allclose(machines.predict_proba(X)[:, 1], (votes == 1).mean(axis=0))


def test_decision_function_is_the_mean_score():
    X, y = CANCER
    model = BaggingClassifier(LogisticRegression(), 5, random_state=0).fit(X, y)
    mean = np.mean([m.decision_function(X) for m in model.estimators_], axis=0)
    np.testing.assert_allclose(model.decision_function(X), mean, rtol=1e-12)
    assert not hasattr(BaggingClassifier().fit(X, y), "decision_function")


# ---- laws ----


@pytest.mark.parametrize("base", [None, LogisticRegression(), KNeighborsClassifier()], ids=str)
def test_engines_and_threads_give_the_same_bits(base):
    X, y = table(500)
    answers = []
    for kind in ("serial", "threads", "dask"):
        if kind == "dask":
            pytest.importorskip("dask")
        with engine(kind):
            model = BaggingClassifier(base, 6, random_state=0, oob_score=True).fit(X, y)
            answers.append((model.predict_proba(X), model.oob_decision_function_))
            assert kind in model.verdict_.findings[0] or kind == "threads"
    for jobs in (1, 2, 3):
        model = BaggingClassifier(base, 6, random_state=0, oob_score=True, n_jobs=jobs).fit(X, y)
        answers.append((model.predict_proba(X), model.oob_decision_function_))
    for proba, oob in answers[1:]:
        np.testing.assert_array_equal(proba, answers[0][0])
        np.testing.assert_array_equal(oob, answers[0][1])


@pytest.mark.parametrize("base", [None, LogisticRegression(), KNeighborsClassifier()], ids=str)
def test_label_names_change_nothing(base):
    X, y = table()
    plain = BaggingClassifier(base, 5, random_state=0).fit(X, y)
    words = np.array(["a", "b", "c"])[y]
    named = BaggingClassifier(base, 5, random_state=0).fit(X, words)
    np.testing.assert_array_equal(named.predict_proba(X), plain.predict_proba(X))
    assert set(named.predict(X)) <= {"a", "b", "c"}
    turned = BaggingClassifier(base, 5, random_state=0).fit(X, np.array([2, 0, 1])[y])
    np.testing.assert_allclose(turned.predict_proba(X)[:, [2, 0, 1]], plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("base", [None, LogisticRegression(), KNeighborsClassifier()], ids=str)
def test_zero_weight_is_absence(base):
    X, y = table()
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    there = weight > 0
    spoilt = X.copy()
    spoilt[~there] = 1e6
    a = BaggingClassifier(base, 5, random_state=0, oob_score=True).fit(spoilt, y, sample_weight=weight)
    b = BaggingClassifier(base, 5, random_state=0, oob_score=True).fit(
        X[there], y[there], sample_weight=weight[there]
    )
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert a.oob_score_ == b.oob_score_
    assert np.isnan(a.oob_decision_function_[~there]).all()
    np.testing.assert_array_equal(a.oob_decision_function_[there], b.oob_decision_function_)
    assert all(there[rows].all() for rows in a.estimators_samples_)


@pytest.mark.parametrize("base", [LogisticRegression(), KNeighborsClassifier(weights="distance")], ids=str)
def test_weights_are_repetitions(base):
    X, y = table()
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    a = BaggingClassifier(base, 5, max_samples=1.0, random_state=0).fit(X, y, sample_weight=weight)
    b = BaggingClassifier(base, 5, max_samples=1.0, random_state=0).fit(X.repeat(weight, 0), y.repeat(weight))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-6)


def test_warm_start_adds_the_bags_a_long_fit_has():
    X, y = table()
    for base in (None, LogisticRegression(), KNeighborsClassifier()):
        grown = BaggingClassifier(base, 4, warm_start=True, random_state=5).fit(X, y)
        grown.set_params(n_estimators=9).fit(X, y)
        whole = BaggingClassifier(base, 9, random_state=5).fit(X, y)
        np.testing.assert_allclose(grown.predict_proba(X), whole.predict_proba(X), atol=1e-7)
        assert [r.tolist() for r in grown.estimators_samples_] == [
            r.tolist() for r in whole.estimators_samples_
        ]
    with pytest.warns(UserWarning, match="nothing was fitted"):
        grown.fit(X, y)
    with pytest.raises(ValueError, match="less than the 9 bags there are"):
        grown.set_params(n_estimators=3).fit(X, y)


def test_the_verdict_says_what_happened():
    X, y = CANCER
    model = BaggingClassifier(LogisticRegression(), 12, oob_score=True, random_state=0, n_jobs=1).fit(X, y)
    text = str(model.verdict_)
    assert text.startswith("BaggingClassifier · optimal, unique\n")
    for words in (
        "12 of 12 bags of 569 from 569 rows, drawn with replacement; base learner LogisticRegression, in one batch",
        "engine: serial",
        "all optimal; the objective is their mean, the gap the worst of them",
        "out of bag: error",
        "stopped: all bags fitted",
    ):
        assert words in text
    assert model.verdict_.gap == max(m.verdict_.gap for m in model.estimators_)
    trees = BaggingClassifier(None, 3, random_state=0).fit(X, y)
    assert trees.verdict_.status == "no claim"
    assert "3 bags," in str(trees.verdict_) and "nan" not in str(trees.verdict_)


# ---- against scikit-learn and Breiman ----


def test_parameters_and_defaults_are_scikit_learns():
    for ours, theirs in (
        (BaggingClassifier(), sklearn.ensemble.BaggingClassifier()),
        (BaggingRegressor(), sklearn.ensemble.BaggingRegressor()),
    ):
        mine, his = ours.get_params(), theirs.get_params()
        assert {k: mine[k] for k in his} == his
        assert set(mine) - set(his) <= {"voting", "class_weight"}


@pytest.mark.parametrize(
    "base",
    [
        sklearn.tree.DecisionTreeClassifier(),
        sklearn.naive_bayes.GaussianNB(),
        KNeighborsClassifier(1),
    ],
    ids=lambda b: type(b).__name__,
)
def test_as_accurate_as_scikit_learns(base):
    """The same learner on the same rows over eight seeds: mean accuracies within four standard errors."""
    X, y = table(600, 8, 3)
    train, test = slice(0, 300), slice(300, None)
    pair = []
    for make in (BaggingClassifier, sklearn.ensemble.BaggingClassifier):
        scores = [
            make(base, 10, random_state=s).fit(X[train], y[train]).score(X[test], y[test]) for s in range(8)
        ]
        pair.append((np.mean(scores), np.std(scores, ddof=1) / np.sqrt(8)))
    (a, da), (b, db) = pair
    assert abs(a - b) <= 4 * np.hypot(da, db) + 1e-3


@pytest.mark.slow
def test_breimans_waveform():
    """16 training sets of 300 rows, 1,500 test rows each: Breiman (1996) has 29.1 % for a tree, 19.3 % bagged."""
    single, bagged = [], []
    for r in range(16):
        rng = np.random.default_rng(r)
        X, y = waveform(300, rng)
        Z, z = waveform(1500, rng)
        single.append(1 - DecisionTreeClassifier(random_state=r).fit(X, y).score(Z, z))
        bagged.append(1 - BaggingClassifier(n_estimators=50, random_state=r).fit(X, y).score(Z, z))
    assert abs(np.mean(single) - 0.291) < 0.015
    assert abs(np.mean(bagged) - 0.193) < 0.015
