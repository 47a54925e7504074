"""What bags draw and leave out (row E3): the draws, out of bag by hand, the interval of a share."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_friedman1

from separatrix import (
    BaggingClassifier,
    BaggingRegressor,
    LogisticRegression,
)
from separatrix.models.ensemble.bags.draws import Draws
from separatrix.models.ensemble.bags.out_of_bag import share_interval
from tests.draws import examples
from tests.models.ensemble.bagged import counts_of, table

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


@examples(20)
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
