"""Bagging (row E3): missing classes, errors, Ctrl-C, files, frames of every kind."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn.naive_bayes
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    LogisticRegression,
    engine,
    keep_going,
)
from separatrix.models.ensemble.bags.draws import Draws, rows_a_bag
from tests.models.ensemble.bagged import IRIS, table

# ---- missing classes, errors, bad input ----


def test_a_bag_that_misses_a_class_gives_it_no_share():
    X, y = IRIS
    few = np.r_[0:50, 50:100, 100:103]
    for base in (None, LogisticRegression(), sklearn.naive_bayes.GaussianNB(), KNeighborsClassifier(1)):
        model = BaggingClassifier(base, 30, max_samples=20, random_state=0).fit(X[few], y[few])
        missing = [b for b, rows in enumerate(model.estimators_samples_) if 2 not in y[few][rows]]
        assert missing
        proba = model.predict_proba(X)
        assert proba.shape == (150, 3) and np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        for b in missing:
            assert (model._share_of(b, X)[:, 2] == 0).all()


def test_a_bag_of_one_class_is_a_constant_vote():
    X, y = IRIS
    keep = np.r_[0:50, 50:52]
    for base in (LogisticRegression(), DecisionTreeClassifier(), KNeighborsClassifier(1)):
        model = BaggingClassifier(base, 30, max_samples=15, random_state=0).fit(X[keep], y[keep])
        alone = [b for b, rows in enumerate(model.estimators_samples_) if len(set(y[keep][rows])) == 1]
        assert len(alone) > 3
        assert f"{len(alone)} bags held one class only" in str(model.verdict_)
        for b in alone:
            assert (model.estimators_[b].predict(X) == 0).all()
        assert model.predict_proba(X)[:, 0].min() >= len(alone) / 30 - 1e-12


class Refuses(ClassifierMixin, BaseEstimator):
    """A learner that refuses a row it may meet in a bag."""

    def fit(self, X, y):
        if (X[:, 0] == 7).any():
            raise ValueError("seven is not served")
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_errors_name_the_bag():
    X, y = np.arange(40.0).reshape(20, 2) % 17, np.arange(20) % 2
    X[3, 0] = 7
    first = next(b for b in range(9) if 3 in Draws(20, 2, 20, 2, 0).rows(b))
    with engine("serial"), pytest.raises(ValueError, match=f"bag {first}: seven is not served"):
        BaggingClassifier(Refuses(), 9, random_state=0).fit(X, y)
    X[3, 0] = np.nan
    with pytest.raises(ValueError, match=r"bag \d+: .*NaN"):
        BaggingClassifier(LogisticRegression(), 5, random_state=0).fit(X, y)
    passed = BaggingClassifier(None, 5, random_state=0).fit(X, y)  # trees have a way for missing cells
    assert np.isfinite(passed.predict_proba(X)).all()


def test_a_fit_that_fails_leaves_no_half_of_a_model():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    X[3, 0] = 7
    model = BaggingClassifier(Refuses(), 9, random_state=0, warm_start=True)
    with pytest.raises(ValueError, match="seven"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    X[3, 0] = 8
    assert len(model.fit(X, y).estimators_) == 9


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_estimators": 0}, "n_estimators must be a whole number of at least 1"),
        ({"n_estimators": 2.5}, "n_estimators must be a whole number"),
        ({"max_samples": 0}, "max_samples=0 must be at least 1"),
        ({"max_samples": 1.5}, r"max_samples=1.5 must be None .* a share of the rows in \(0, 1\]"),
        ({"max_samples": 500, "bootstrap": False}, "at most the 150 rows"),
        ({"max_features": 9}, "max_features=9 must be between 1 and the 4 columns"),
        ({"max_features": 0.0}, "max_features=0.0 must be a whole number between 1 and 4"),
        ({"voting": "loud"}, "voting 'loud' is unknown"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0"),
        ({"oob_score": True, "warm_start": True}, "oob_score=True needs warm_start=False"),
        ({"oob_score": True, "bootstrap": False}, "leaves none out"),
    ],
)
def test_bad_parameters_are_named(change, words):
    with pytest.raises(ValueError, match=words):
        BaggingClassifier(**change).fit(*IRIS)


def test_bad_learners_and_data_are_named():
    X, y = IRIS
    with pytest.raises(TypeError, match=r"give a model, LogisticRegression\(\)"):
        BaggingClassifier(LogisticRegression).fit(X, y)
    with pytest.raises(TypeError, match="must have fit and predict"):
        BaggingClassifier("tree").fit(X, y)
    with pytest.raises(ValueError, match="only one class: 0"):
        BaggingClassifier(LogisticRegression()).fit(X[:50], y[:50])
    with pytest.raises(
        ValueError, match="KNeighborsClassifier does not take sample_weight: use bootstrap=True"
    ):
        BaggingClassifier(KNeighborsClassifier(), bootstrap=False, max_samples=0.5).fit(X, y, np.ones(150))
    with pytest.raises(ValueError, match="row 3 has no finite number"):
        BaggingRegressor().fit(X, np.where(np.arange(150) == 3, np.nan, 1.0))
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="X is a Dask collection"):
        BaggingClassifier().fit(da.from_array(X), y)


def test_more_bags_than_rows_and_bags_larger_than_the_table():
    X, y = IRIS
    few = np.r_[0:5, 50:55]
    model = BaggingClassifier(None, 40, random_state=0).fit(X[few], y[few])
    assert len(model.estimators_) == 40
    large = BaggingClassifier(LogisticRegression(), 3, max_samples=1000, random_state=0).fit(X, y)
    assert all(len(rows) == 1000 for rows in large.estimators_samples_)
    assert rows_a_bag(1000, 150, None, True) == 1000


# ---- Ctrl-C, files, frames ----


class Impatient(ClassifierMixin, BaseEstimator):
    """Raises KeyboardInterrupt at the fourth fit."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Impatient.fits += 1
        if Impatient.fits == 4:
            raise KeyboardInterrupt
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_ctrl_c_keeps_the_bags_done():
    X, y = IRIS
    for kind in ("serial", "threads"):
        Impatient.fits = 0
        with engine(kind, workers=2), keep_going():
            model = BaggingClassifier(Impatient(), 10, random_state=0, oob_score=True).fit(X, y)
        assert 2 <= len(model.estimators_) < 10
        assert model.verdict_.status == "interrupted"
        assert f"the {len(model.estimators_)} bags that were done are kept" in str(model.verdict_)
        assert model.predict(X).shape == (150,)
        assert len(model.estimators_samples_) == len(model.estimators_)
    Impatient.fits = 3
    with engine("serial"), pytest.raises(KeyboardInterrupt):
        BaggingClassifier(Impatient(), 10).fit(X, y)


def test_pickle_keeps_every_bit():
    X, y = IRIS
    for base in (None, LogisticRegression()):
        model = BaggingClassifier(base, 5, oob_score=True, random_state=0).fit(X, y)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
        assert str(copy.verdict_) == str(model.verdict_)
        assert "BaggingClassifier" in model.verdict_._repr_html_()


def test_a_pipeline_may_name_the_columns_of_a_frame():
    pd = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=80), "kind": rng.choice(["a", "b"], 80)})
    y = np.where((frame["kind"] == "a") ^ (rng.random(80) < 0.1), "yes", "no")
    steps = make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), ["size"]))
    model = BaggingClassifier(make_pipeline(steps, LogisticRegression()), 5, random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.8
    assert list(model.feature_names_in_) == ["size", "kind"]
    words = frame.astype({"kind": "category"})
    trees = BaggingClassifier(DecisionTreeClassifier(categorical_features="from_dtype"), 5, random_state=0)
    assert trees.fit(words, y).score(words, y) > 0.8
    np.testing.assert_array_equal(
        BaggingClassifier(None, 5, random_state=0).fit(frame[["size"]], y).predict(frame[["size"]]),
        BaggingClassifier(None, 5, random_state=0)
        .fit(frame[["size"]].to_numpy(), y)
        .predict(frame[["size"]].to_numpy()),
    )


@pytest.mark.filterwarnings("error")
def test_frames_of_polars_and_arrow_are_read():
    pl = pytest.importorskip("polars")
    X, y = IRIS
    plain = BaggingClassifier(LogisticRegression(), 4, random_state=0, oob_score=True).fit(X, y)
    frame = pl.DataFrame({f"c{j}": X[:, j] for j in range(4)})
    for given_frame in (frame, frame.to_arrow()):
        model = BaggingClassifier(LogisticRegression(), 4, random_state=0, oob_score=True).fit(given_frame, y)
        np.testing.assert_allclose(model.predict_proba(given_frame), plain.predict_proba(X), atol=1e-9)
        assert model.oob_score_ == plain.oob_score_
        assert list(model.feature_names_in_) == ["c0", "c1", "c2", "c3"]


def test_sparse_rows_are_bagged():
    sparse = pytest.importorskip("scipy.sparse")
    X, y = table(200, 6, 2)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    for base in (LogisticRegression(), None):
        dense = BaggingClassifier(base, 4, random_state=0, oob_score=True).fit(X, y)
        for kind in (sparse.csr_matrix, sparse.csc_array):
            model = BaggingClassifier(base, 4, random_state=0, oob_score=True).fit(kind(X), y)
            np.testing.assert_allclose(model.predict_proba(kind(X)), dense.predict_proba(X), atol=1e-6)
