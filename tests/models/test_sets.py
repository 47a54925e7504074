"""Prediction sets: the share they hold, by law and in simulations; ties, classes, files; what is refused."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier as Tree

from separatrix import (
    BaggingClassifier,
    DecisionTreeClassifier,
    GaussianNB,
    GeneralizedLinearModel,
    LinearSVC,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    calibrate_sets,
    compare,
    predict_set,
)
from separatrix.models.sets import Pipeline, members, quantile, rows_needed, thresholds

DRAWS = 1000
ROWS, NEW = 99, 50


class Said:
    """A classifier that is asked for probabilities it is given."""

    def __init__(self, classes):
        self.classes_ = np.array(classes)

    def predict_proba(self, X):
        return X


def world(n, seed):
    """Three overlapping classes of unequal shares, in two columns."""
    draw = np.random.default_rng(seed)
    y = draw.choice(3, n, p=[0.5, 0.3, 0.2])
    return draw.normal(size=(n, 2)) * (1 + 0.5 * y[:, None]) + y[:, None], y


def covered(model, coverage, by_class=False, rows=ROWS):
    """The share of new rows whose set holds their class, of every draw and (by class) of every class."""
    X, y = world(DRAWS * (rows + NEW), 1)
    P = model.predict_proba(X).reshape(DRAWS, rows + NEW, 3)
    y = y.reshape(DRAWS, -1)
    held = []
    for draw in range(DRAWS):
        said = calibrate_sets(Said([0, 1, 2]), P[draw, :rows], y[draw, :rows])
        sets = predict_set(said, P[draw, rows:], coverage, by_class=by_class)
        held.append([label in own for label, own in zip(y[draw, rows:], sets)])
    held, new = np.array(held), y[:, rows:]
    if by_class:
        return [
            np.array([row[labels == k].mean() for row, labels in zip(held, new) if (labels == k).any()])
            for k in range(3)
        ]
    return [held.mean(axis=1)]


def test_coverage_of_a_thousand_simulations_of_any_model():
    """The mean is ⌈(n + 1)c⌉/(n + 1) where no two scores are equal, whether the model fits or not; with ties more."""
    X, y = world(300, 0)
    for model, smooth in ((LogisticRegression(), True), (GaussianNB(), True), (Tree(max_depth=2), False)):
        for coverage in (0.8, 0.9):
            (found,) = covered(model.fit(X, y), coverage)
            error = found.std() / np.sqrt(DRAWS)
            assert error < 0.003
            assert found.mean() > coverage - 4 * error
            if smooth:
                assert abs(found.mean() - np.ceil((ROWS + 1) * coverage - 1e-9) / (ROWS + 1)) < 4 * error


def test_coverage_class_by_class():
    X, y = world(300, 0)
    model = LogisticRegression().fit(X, y)
    for found in covered(model, 0.8, by_class=True):
        assert found.mean() > 0.8 - 4 * found.std() / np.sqrt(DRAWS)
    X, y = world(40_000, 3)  # what holds of all rows does not hold of every class
    model.calibrate_sets(X[:20_000], y[:20_000])
    for by_class, worst in ((False, 0.85), (True, 0.88)):
        sets = model.predict_set(X[20_000:], 0.9, by_class=by_class)
        held = np.array([label in own for label, own in zip(y[20_000:], sets)])
        least = min(held[y[20_000:] == k].mean() for k in range(3))
        assert bool(least > worst) is by_class


def test_the_quantile_is_the_one_of_the_definition():
    draw = np.random.default_rng(2)
    for n in (9, 10, 37, 99, 100):
        for coverage in (0.5, 0.8, 0.9):
            scores = draw.random(n).round(1)  # with ties
            at = next(k for k in range(1, n + 1) if k >= (n + 1) * coverage - 1e-9)
            assert quantile(scores, coverage) == np.sort(scores)[at - 1]
    for coverage in (0.05, 0.5, 0.9, 0.95, 0.99, 0.999):
        least = rows_needed(coverage)
        assert np.ceil((least + 1) * coverage - 1e-9) <= least
        assert least == 1 or np.ceil(least * coverage - 1e-9) > least - 1


def test_more_coverage_wider_sets_and_empty_ones():
    X, y = world(600, 4)
    model = LogisticRegression().fit(X[:200], y[:200]).calibrate_sets(X[200:400], y[200:400])
    before = model.predict_set(X[400:], 0.3)
    assert any(not own for own in before)
    for coverage in (0.5, 0.8, 0.95):
        now = model.predict_set(X[400:], coverage)
        assert all(set(a) <= set(b) for a, b in zip(before, now))
        before = now
    full = model.predict_set(X[400:], 0.3, empty=False)
    best = model.predict(X[400:]).tolist()
    for own, other, label in zip(model.predict_set(X[400:], 0.3), full, best):
        assert other == (own or (label,))


def test_labels_of_any_kind_and_rows_without_a_label():
    X, y = world(400, 5)
    words = np.array(["a", "b|c", "ü"])[y]
    model = GaussianNB().fit(X[:200], words[:200]).calibrate_sets(X[200:], words[200:])
    plain = GaussianNB().fit(X[:200], y[:200]).calibrate_sets(X[200:], y[200:])
    assert model.predict_set(X[:9]) == [
        tuple(["a", "b|c", "ü"][k] for k in own) for own in plain.predict_set(X[:9])
    ]


def test_a_row_that_a_model_does_not_answer_has_all_classes():
    P = np.array([[0.2, 0.8], [np.nan, np.nan]])
    assert members(P, np.array([0.5, 0.5])).tolist() == [[False, True], [True, True]]


def test_fit_forgets_and_a_refused_fit_does_not():
    X, y = world(400, 6)
    model = LogisticRegression().fit(X[:200], y[:200]).calibrate_sets(X[200:], y[200:])
    with pytest.raises(ValueError):
        model.fit(X, y[:-1])
    assert model.predict_set(X[:2])
    assert not hasattr(clone(model), "conformal_")
    with pytest.raises(ValueError, match="does not know how wide"):
        model.fit(X, y).predict_set(X)
    pipe = Pipeline([("model", LogisticRegression())]).fit(X[:200], y[:200]).calibrate_sets(X[200:], y[200:])
    assert pipe.predict_set(X[:5]) == LogisticRegression().fit(X[:200], y[:200]).calibrate_sets(
        X[200:], y[200:]
    ).predict_set(X[:5])
    with pytest.raises(ValueError, match="does not know how wide"):
        pipe.fit(X, y).predict_set(X)


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=3),
        QuadraticDiscriminantAnalysis(),
        LinearSVC(calibrate="sigmoid"),
        BaggingClassifier(n_estimators=5),
    ],
    ids=lambda m: type(m).__name__,
)
def test_every_classifier_with_probabilities_has_them(model):
    X, y = world(3000, 7)
    model.fit(X[:300], y[:300]).calibrate_sets(X[300:1500], y[300:1500])
    held = np.mean([k in own for k, own in zip(y[1500:], model.predict_set(X[1500:], 0.9))])
    assert held > 0.87  # of 1,200 and 1,500 rows: three standard errors


def test_files_keep_them(tmp_path):
    pytest.importorskip("skops")
    from separatrix import load, save

    X, y = world(400, 8)
    for model in (LogisticRegression(), Pipeline([("model", GaussianNB())])):
        model.fit(X[:200], y[:200]).calibrate_sets(X[200:], y[200:])
        save(model, tmp_path / "m.sepx")
        again = load(tmp_path / "m.sepx")
        assert type(again) is type(model)
        assert again.predict_set(X, 0.8, by_class=True) == model.predict_set(X, 0.8, by_class=True)


def test_the_winner_of_a_comparison_knows_its_sets():
    X, y = world(600, 9)
    new, labels = world(4000, 10)
    found = compare(X, y, models=["logistic", "lda"], budget=None)
    best = found.best_model
    assert best.conformal_["how"] == "out of fold" and len(best.conformal_["scores"]) == 600
    held = np.mean([k in own for k, own in zip(labels, best.predict_set(new, 0.9))])
    assert abs(held - 0.9) < 0.05
    best.fit(X, y)
    with pytest.raises(ValueError, match="does not know how wide"):
        found.best_model.predict_set(new)


def test_refusals():
    X, y = world(60, 11)
    model = LogisticRegression().fit(X, y)

    def refused(said, call):
        with pytest.raises((ValueError, TypeError), match=said):
            call()

    refused(r"does not know how wide .* calibrate_sets\(X, y\)", lambda: model.predict_set(X))
    refused("not fitted yet", lambda: LogisticRegression().predict_set(X))
    refused("not fitted yet", lambda: LogisticRegression().calibrate_sets(X, y))
    refused("label 7 was not seen", lambda: model.calibrate_sets(X, np.full(60, 7)))
    refused("sample_weight: sets are cut", lambda: model.calibrate_sets(X, y, np.ones(60)))
    means = GeneralizedLinearModel("binomial").fit(X, (y > 0).astype(int))
    refused(
        "has no probabilities, from which sets are cut; give a classifier",
        partial(calibrate_sets, means, X, y),
    )
    refused("has no probabilities, from which sets", lambda: LinearSVC().fit(X, y).calibrate_sets(X, y))
    model.calibrate_sets(X[:8], y[:8])
    refused(
        "take 9 held out rows with answers, and there are 8: give more, or ask for 0.888 at most",
        lambda: model.predict_set(X),
    )
    assert len(model.predict_set(X, 0.888)) == 60
    for coverage in (0, 1, -0.1, 1.5, np.nan, "0.9", None, True):
        refused("coverage must be a share between 0 and 1", partial(model.predict_set, X, coverage))
    two = np.flatnonzero(y < 2)
    model.calibrate_sets(X[two], y[two])
    refused("take 9 held out rows of each, and class 2 has 0", lambda: model.predict_set(X, by_class=True))
    assert thresholds(model, 0.9).shape == (3,)
