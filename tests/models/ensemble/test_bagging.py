"""Bagging: the bags and their laws, the batch against single fits, out of bag by hand, the waveform (row E3)."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.tree
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_friedman1
from sklearn.exceptions import NotFittedError
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
    keep_going,
    verify,
)
from separatrix.models.ensemble.bags.draws import Draws, rows_a_bag
from separatrix.models.ensemble.bags.out_of_bag import share_interval

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


def table(n=240, p=6, k=3, seed=0):
    return make_classification(
        n, p, n_informative=4, n_redundant=0, n_classes=k, flip_y=0.1, random_state=seed
    )


def counts_of(model, n):
    return [np.bincount(rows, minlength=n) for rows in model.estimators_samples_]


# ---- the draws ----


def test_a_bag_depends_on_seed_and_number_alone():
    few, many = Draws(50, 3, 50, 3, seed=7), Draws(50, 3, 50, 3, seed=7)
    assert [few.rows(b).tolist() for b in (2, 0, 1)] == [many.rows(b).tolist() for b in (2, 0, 1)]
    assert few.rows(0).tolist() != few.rows(1).tolist()
    assert few.rows(0).tolist() != Draws(50, 3, 50, 3, seed=8).rows(0).tolist()


def test_rows_are_drawn_evenly_and_weighted_ones_in_proportion():
    """Counts over many bags against the binomial: five standard errors."""
    n, bags = 20, 2000
    for weight in (None, np.arange(n, dtype=float)):
        total = Draws(n, 1, n, 1, 0, weight=weight).table(range(bags)).sum(axis=0)
        share = np.full(n, 1 / n) if weight is None else weight / weight.sum()
        error = np.sqrt(n * bags * share * (1 - share))
        assert np.all(np.abs(total - n * bags * share) <= 5 * error)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12).filter(any), st.integers(0, 2**63))
def test_a_weight_is_a_repetition_in_every_draw(weight, seed):
    weight = np.array(weight)
    m = int(weight.sum())
    once = Draws(len(weight), 1, m, 1, seed, weight=weight.astype(float))
    repeated = Draws(m, 1, m, 1, seed)
    of = np.repeat(np.arange(len(weight)), weight)
    np.testing.assert_array_equal(once.rows(3), of[repeated.rows(3)])


def test_without_replacement_rows_and_columns_are_distinct():
    X, y = table()
    model = BaggingClassifier(max_samples=0.5, max_features=4, bootstrap=False, random_state=0).fit(X, y)
    assert all(len(rows) == len(set(rows)) == 120 for rows in model.estimators_samples_)
    assert all(len(columns) == len(set(columns)) == 4 for columns in model.estimators_features_)
    model.set_params(bootstrap_features=True, max_features=6).fit(X, y)
    assert any(len(set(columns)) < 6 for columns in model.estimators_features_)


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


# ---- the batch ----


@pytest.mark.parametrize(
    ("base", "data"),
    [
        (LogisticRegression(), CANCER),
        (LogisticRegression(), IRIS),
        (LogisticRegression(C=0.01), CANCER),
        (LogisticRegression(C=np.inf), table(2000, 6, 2)),
        (LogisticRegression(C=np.inf), table(2000, 6, 4)),
        (LogisticRegression(penalty=None, fit_intercept=False), table(1000, 6, 2)),
        (LogisticRegression(class_weight="balanced"), table(400, 6, 3)),
        (LogisticRegression(class_weight={0: 1.0, 1: 5.0}, fit_intercept=False), CANCER),
        (LogisticRegression(), (CANCER[0] + 1e5, CANCER[1])),
        (LogisticRegression(), table(20_000, 10, 2)),
    ],
    ids=lambda v: str(v) if isinstance(v, LogisticRegression) else f"{v[0].shape}",
)
def test_batch_equals_one_by_one(base, data):
    X, y = data
    model = BaggingClassifier(base, 6, random_state=1).fit(X, y)
    assert "in one batch" in model.verdict_.findings[0]
    assert model.verdict_.status == "optimal"
    for fitted, count in zip(model.estimators_, counts_of(model, len(X)), strict=True):
        alone = clone(base).set_params(tol=1e-6).fit(X, y, sample_weight=count)
        scale = np.abs(alone.coef_).max()
        np.testing.assert_allclose(fitted.coef_, alone.coef_, rtol=1e-6, atol=1e-6 * scale)
        np.testing.assert_allclose(fitted.predict_proba(X), alone.predict_proba(X), atol=1e-6)
        again = verify(fitted, X, y, sample_weight=count)  # the proof, from data and parameters alone
        assert again.status == "optimal"
        assert again.objective == pytest.approx(fitted.verdict_.objective, rel=1e-12)
        assert fitted.verdict_.gap <= fitted.verdict_.tol


def test_batch_with_weights_without_replacement():
    X, y = table(600, 5, 3)
    weight = np.random.default_rng(0).integers(1, 5, len(X)).astype(float)
    model = BaggingClassifier(LogisticRegression(), 4, bootstrap=False, max_samples=0.6, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert "in one batch" in model.verdict_.findings[0]
    for fitted, count in zip(model.estimators_, counts_of(model, len(X)), strict=True):
        assert count.max() == 1
        alone = LogisticRegression().fit(X, y, sample_weight=count * weight)
        np.testing.assert_allclose(fitted.coef_, alone.coef_, rtol=1e-6, atol=1e-6)


def test_separated_bags_are_left_to_single_fits():
    """Rows overlap by one pair only: bags without it have no optimum, the others have one."""
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(-4, 1, 40), rng.normal(4, 1, 40)]
    y = np.repeat([0, 1], 40)
    y[x.argmax()] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BaggingClassifier(LogisticRegression(C=np.inf), 20, random_state=0).fit(x[:, None], y)
    held = np.array([x.argmax() in rows for rows in model.estimators_samples_])
    status = np.array([m.verdict_.status for m in model.estimators_])
    assert 0 < held.sum() < 20
    assert (status[held] == "optimal").all() and (status[~held] == "no optimum").all()
    assert f"{held.sum()} optimal" in str(model.verdict_) or f"{(~held).sum()} no optimum" in str(
        model.verdict_
    )


def test_what_a_batch_cannot_serve_goes_one_by_one():
    X, y = CANCER
    for base in (
        LogisticRegression(solver="lbfgs"),
        LogisticRegression(penalty="firth"),
        LogisticRegression(record_path=True),
    ):
        model = BaggingClassifier(base, 2, random_state=0).fit(X[:, :4], y)
        assert "one by one" in model.verdict_.findings[0]
    narrow = BaggingClassifier(LogisticRegression(), 4, max_features=3, random_state=0).fit(X, y)
    for fitted, columns, count in zip(
        narrow.estimators_, narrow.estimators_features_, counts_of(narrow, len(X)), strict=True
    ):
        alone = LogisticRegression().fit(X[:, columns], y, sample_weight=count)
        np.testing.assert_allclose(fitted.coef_, alone.coef_, rtol=1e-8)


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


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([None, 0.3, 10]), st.booleans())
def test_out_of_bag_is_what_the_other_bags_say(seed, m, linear):
    X, y = table(60, seed=seed % 5)
    base = LogisticRegression() if linear else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BaggingClassifier(base, 4, max_samples=m, oob_score=True, random_state=seed).fit(X, y)
    total, seen = np.zeros((60, 3)), np.zeros(60)
    for fitted, count in zip(model.estimators_, counts_of(model, 60), strict=True):
        out = np.flatnonzero(count == 0)
        place = [model.classes_.tolist().index(c) for c in fitted.classes_]
        total[np.ix_(out, place)] += fitted.predict_proba(X[out])
        seen[out] += 1
    some = seen > 0
    np.testing.assert_allclose(
        model.oob_decision_function_[some], total[some] / seen[some, None], rtol=1e-9, atol=1e-12
    )
    assert np.isnan(model.oob_decision_function_[~some]).all()
    margin = np.sort(total[some], axis=1)
    clear = margin[:, -1] - margin[:, -2] > 1e-9  # an exact tie may fall either way
    right = total[some].argmax(axis=1) == np.searchsorted(model.classes_, y[some])
    assert abs(model.oob_score_ - right.mean()) <= (~clear).mean() + 1e-12
    never = int((~some).sum())
    said = " ".join(model.verdict_.findings)
    assert (f"{never} rows are in every bag" in said or "1 row is in every bag" in said) == (never > 0)


def test_out_of_bag_of_a_regression_by_hand():
    X, y = make_friedman1(120, random_state=0)
    model = BaggingRegressor(None, 12, oob_score=True, random_state=0).fit(X, y)
    inside = np.array(counts_of(model, 120)) > 0
    said = np.array([m.predict(X) for m in model.estimators_])
    some = ~inside.all(axis=0)
    hand = np.ma.masked_array(said, inside).mean(axis=0)
    np.testing.assert_allclose(model.oob_prediction_[some], hand.data[some], rtol=1e-12)
    assert np.isnan(model.oob_prediction_[~some]).all()
    residual = ((y - hand.data) ** 2)[some]
    spread = ((y[some] - y[some].mean()) ** 2).sum()
    assert model.oob_score_ == pytest.approx(1 - residual.sum() / spread)
    found = re.search(
        r"error ([\d.]+) \(95 % interval ([\d.]+) to ([\d.]+)\)", " ".join(model.verdict_.findings)
    )
    mean, low, high = map(float, found.groups())
    assert mean == pytest.approx(residual.mean(), rel=1e-3)
    half = 1.96 * residual.std() / np.sqrt(some.sum())
    assert (high - low) / 2 == pytest.approx(half, rel=1e-2)


def test_wilson_interval_covers_what_it_says():
    """Exact coverage over the binomial stays near 95 % for any share."""
    from scipy.stats import binom

    n = 50
    ends = np.array([share_interval(x / n, n) for x in range(n + 1)])
    for share in np.linspace(0.05, 0.95, 19):
        inside = (ends[:, 0] <= share) & (share <= ends[:, 1])
        assert 0.92 < binom.pmf(np.arange(n + 1), n, share)[inside].sum() < 0.98


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
        sklearn.linear_model.LogisticRegression(),
        KNeighborsClassifier(1),
    ],
    ids=lambda b: type(b).__name__,
)
def test_as_accurate_as_scikit_learns(base):
    """The same learner on the same rows over eight seeds: mean accuracies within four standard errors."""
    X, y = table(900, 8, 3)
    train, test = slice(0, 300), slice(300, None)
    pair = []
    for make in (BaggingClassifier, sklearn.ensemble.BaggingClassifier):
        scores = [
            make(base, 15, random_state=s).fit(X[train], y[train]).score(X[test], y[test]) for s in range(8)
        ]
        pair.append((np.mean(scores), np.std(scores, ddof=1) / np.sqrt(8)))
    (a, da), (b, db) = pair
    assert abs(a - b) <= 4 * np.hypot(da, db) + 1e-3


def test_breimans_waveform():
    """40 training sets of 300 rows, 1,500 test rows each: Breiman (1996) has 29.1 % for a tree, 19.3 % bagged."""
    single, bagged = [], []
    for r in range(40):
        rng = np.random.default_rng(r)
        X, y = waveform(300, rng)
        Z, z = waveform(1500, rng)
        single.append(1 - DecisionTreeClassifier(random_state=r).fit(X, y).score(Z, z))
        bagged.append(1 - BaggingClassifier(n_estimators=50, random_state=r).fit(X, y).score(Z, z))
    assert abs(np.mean(single) - 0.291) < 0.015
    assert abs(np.mean(bagged) - 0.193) < 0.015
