"""AdaBoost (row E2): what ends it, learners and tables of every kind, Ctrl-C, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from separatrix import (
    AdaBoostClassifier,
    DecisionStump,
    LabelNoiseWarning,
    LogisticRegression,
    keep_going,
)

pytestmark = pytest.mark.filterwarnings("ignore::separatrix.models.ensemble.adaboost.LabelNoiseWarning")


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


def test_dask_is_answered_lazily_and_learned_from_in_memory():
    da = pytest.importorskip("dask.array")
    X, y = load_wine(return_X_y=True)
    lazy = da.from_array(X, chunks=(50, 13))
    for model in (AdaBoostClassifier(n_estimators=5).fit(X, y), DecisionStump().fit(X, y)):
        np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))
        np.testing.assert_allclose(model.predict_proba(lazy).compute(), model.predict_proba(X))
        with pytest.raises(TypeError, match=r"call X.compute\(\)"):
            type(model)().fit(lazy, y)
