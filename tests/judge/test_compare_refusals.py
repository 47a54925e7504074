"""What compare refuses, and classes too small for its folds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB as PeerNB
from sklearn.svm import LinearSVC as PeerSVC

from separatrix import compare
from separatrix.judge.folds import read_splits
from tests.judge.slow import QUICK, blobs


@pytest.mark.parametrize(
    "options, words",
    [
        ({"models": "logistics"}, "did you mean 'logistic'.*known are majority, lda"),
        (
            {"models": ["gradient boosting"]},
            "models names 'gradient boosting', which is unknown: known are majority",
        ),
        ({"models": []}, "models is empty"),
        ({"models": ["lda", "lda"]}, "names 'lda' twice"),
        ({"models": ["multinomial_nb"]}, "does not suit this table: it reads counts of words"),
        ({"metric": "rmse"}, "metric 'rmse' is unknown: use one of 'log_loss', 'accuracy', 'auc', 'cost'"),
        ({"metric": "cost"}, "needs cost"),
        ({"budget": 0}, "budget must be a number of seconds above 0"),
        ({"budget": -3}, "budget must be a number of seconds above 0"),
        ({"budget": "a minute"}, "budget must be"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": 80}, "class 'a' has 50 rows, fewer than 80 folds: give cv=50"),
        ({"cv": "five"}, "cv must be a number of folds"),
        ({"cv": [(np.arange(5), np.arange(5, 9))] * 0}, "cv has no splits"),
        ({"cv": [(np.arange(0, 150, 3), np.arange(10))]}, r"cv\[0\] trains on one class"),
        ({"cv": [3, 4]}, r"cv\[0\] must be a pair"),
        ({"level": 95}, "level must be a share"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"test": 3}, "test must be a pair"),
        ({"test": (np.zeros((3, 2)), ["a", "b", "c"])}, "test has 2 columns, X has 3"),
        ({"test": (np.zeros((2, 3)), ["a", "z"])}, "test has the label 'z'"),
        ({"models": {"svm": PeerSVC()}}, "svm has no predict_proba"),
    ],
)
def test_settings_that_cannot_be_meant(options, words):
    X, y = blobs()
    with pytest.raises(ValueError, match=words):
        compare(X, y, **options)


def test_labels_that_cannot_be_compared():
    X, y = blobs()
    with pytest.raises(ValueError, match="y holds one class, 'a'"):
        compare(X, np.repeat("a", 150))
    with pytest.raises(ValueError, match="row 1 has no label"):
        compare(X, np.where(np.arange(150) == 1, np.nan, 1.0))
    with pytest.raises(ValueError, match="X has 150 rows, y has 3"):
        compare(X, [1, 2, 3])
    with pytest.raises(
        ValueError, match="class 'z' has 1 row: cross-validation needs at least 3 of two classes"
    ):
        compare(X, np.where(np.arange(150) == 7, "z", "a"))
    with pytest.raises(ValueError, match="y is None"):
        compare(X)
    far = X.copy()
    far[4, 1] = np.inf
    with pytest.raises(ValueError, match="infinite in row 4, column 1"):
        compare(far, y)
    with pytest.raises(TypeError, match="is no classifier"):
        compare(X, y, models={"wrong": 3})
    with pytest.raises(TypeError, match="give an instance"):
        compare(X, y, models=[PeerNB])


def test_a_small_class_has_fewer_folds():
    y = np.where(np.arange(150) < 4, "z", blobs()[1])
    splits = read_splits(None, np.unique(y, return_inverse=True)[1], np.unique(y), 0)
    assert len(splits) == 8 and splits[-1].fold == 3


def test_a_class_too_small_to_be_judged_is_learned_from():
    X, y = blobs()
    y = np.where(np.arange(150) < 2, "z", y)
    splits = read_splits(None, np.unique(y, return_inverse=True)[1], np.unique(y), 0)
    assert len(splits) == 10
    for split in splits:
        assert {0, 1} <= set(split.train) and not {0, 1} & set(split.test)
        assert not set(split.train) & set(split.test) and len(split.train) + len(split.test) == 150
    assert sorted(np.concatenate([s.test for s in splits[:5]])) == list(range(2, 150))
    found = compare(X, y, models=QUICK, budget=None)
    assert [a.kind for a in found.alerts] == ["unjudged"] and "class 'z' has 2 rows" in found.alerts[
        0
    ].sentence
    assert found.out_of_fold("lda")[1].shape == (148, 4) and "z" in found.best_model.classes_
