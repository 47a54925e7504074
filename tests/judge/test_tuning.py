"""Settings chosen on inner folds, and the forecasts of their cost."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from separatrix import LogisticRegression
from separatrix.judge.budget import forecast
from separatrix.judge.candidates import read_models
from separatrix.judge.facts import TableFacts
from separatrix.judge.fits import Unwanted, while_wanted
from separatrix.judge.folds import inner_folds, sample
from separatrix.judge.scores import log_loss
from separatrix.judge.tuning import Tuned, settled
from tests.judge.slow import Slow, blobs


def test_tuned_chooses_on_inner_folds_by_hand():
    X, y = blobs()
    grid = [{"C": 1e-4}, {"C": 1.0}]
    found = Tuned(LogisticRegression(), grid, random_state=5).fit(X, y)
    codes = np.searchsorted(["a", "b", "c"], y)
    for s, setting in enumerate(grid):
        for f, (train, test) in enumerate(inner_folds(codes, 3, 5)):
            P = LogisticRegression(**setting).fit(X[train], y[train]).predict_proba(X[test])
            assert found.losses_[s, f] == pytest.approx(log_loss(codes[test], P))
    assert found.best_params_ == {"C": 1.0} and settled(found) is found.best_estimator_
    assert clone(found).get_params()["grid"] == grid


def test_inner_folds_part_the_rows_and_keep_the_shares():
    codes = np.repeat([0, 1, 2], [31, 20, 4])
    folds = inner_folds(codes, 3, 0)
    assert sorted(np.concatenate([b for _, b in folds]).tolist()) == list(range(55))
    for a, b in folds:
        assert not set(a) & set(b)
        assert np.all(np.abs(np.bincount(codes[b], minlength=3) - np.array([31, 20, 4]) / 3) < 1.01)
    assert inner_folds(codes, 0, 0) == []
    rows = sample(np.repeat([0, 1], [5000, 50]), 1000, 0)
    assert len(rows) == 1000 and (rows >= 5000).sum() == 10
    assert sample(np.repeat([0, 1], [5000, 5]), 1000, 0)[-5:].tolist() == list(range(5000, 5005))


def test_work_that_is_not_wanted_ends():
    X, y = blobs()
    with while_wanted(lambda: False), pytest.raises(Unwanted):
        Tuned(Slow(0.0), [{}, {}]).fit(X, y)


def test_forecasts_follow_the_growth():
    assert forecast((100, 1.0), (200, 2.0), 1000, 1.0) == pytest.approx(10.0)
    assert forecast((100, 1.0), (200, 4.0), 1000, 2.0) == pytest.approx(100.0)
    assert forecast((100, 1.0), (200, 2.0), 150, 1.0) == 2.0
    assert forecast((100, 2.0), (200, 2.0), 1000, 1.0) >= 2.0  # a flat pair still grows


def test_one_fit_is_taken_to_grow_as_a_whole():
    assert forecast((100, 1.005), (100, 1.005), 1000, 1.0) == pytest.approx(1.005 + 9)
    assert forecast((100, 0.004), (100, 0.004), 1000, 1.0) == 0.004  # what any fit takes does not grow


def test_suitability_says_why():
    X, y = load_iris(return_X_y=True)
    facts = TableFacts.of(X, y)
    chosen, aside = read_models(None, facts)
    assert "qda" in chosen and list(aside) == ["multinomial_nb"]
    few = TableFacts.of(np.random.default_rng(0).normal(size=(12, 9)), [0, 1] * 6)
    assert "the smallest class has 6 rows for 9 columns" in read_models(None, few)[1]["qda"]
