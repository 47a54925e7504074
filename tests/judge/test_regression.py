"""Comparisons of models of numbers: laws of metrics, folds and search, references, refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge

from separatrix import compare
from separatrix.judge.alerts import alerts
from separatrix.judge.facts import TableFacts
from separatrix.judge.folds import numbered_splits, numeric_splits, strata_of
from separatrix.judge.regressors import REGRESSORS, TunedNumbers
from separatrix.judge.scores import METRICS
from tests.draws import examples

seeds = st.integers(0, 10_000)
QUICK = ["mean", "linear_regression", "extra_trees_regressor"]


def made(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, 50 + 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(scale=0.5, size=n)


@examples(25)
@given(seeds)
def test_metrics_as_scikit_learn_has_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, said, w = rng.normal(size=30), rng.normal(size=30), rng.integers(1, 4, 30)
    theirs = {"rmse": sk.root_mean_squared_error, "mae": sk.mean_absolute_error, "r2": sk.r2_score}
    many = np.repeat(np.arange(30), w)
    for name, score in theirs.items():
        own = METRICS[name].of(y, said, w)
        assert own == pytest.approx(score(y, said, sample_weight=w), rel=1e-10)
        assert own == pytest.approx(METRICS[name].of(y[many], said[many]), rel=1e-10)


@examples(25)
@given(seeds, st.integers(12, 90))
def test_folds_judge_every_row_once_and_hold_every_size_of_number(seed: int, n: int) -> None:
    y = np.random.default_rng(seed).exponential(size=n)
    splits = numeric_splits(None, y, seed)
    for repeat in {s.repeat for s in splits}:
        judged = np.concatenate([s.test for s in splits if s.repeat == repeat])
        assert sorted(judged.tolist()) == list(range(n))
    strata = strata_of(y)
    for split in splits:
        whole, part = (
            np.bincount(strata[rows], minlength=strata.max() + 1) for rows in (np.arange(n), split.test)
        )
        assert (np.abs(part - whole * len(split.test) / n) <= 1.5).all()


def test_a_linear_target_is_found_and_the_floor_is_last() -> None:
    X, y = made()
    found = compare(X, y, task="regression", models=QUICK, cv=4)
    assert found.ranking[0] == "linear_regression" and found.ranking[-1] == "mean"
    assert found.task == "regression" and found.metric == "rmse" and not len(found.classes)
    assert found.scores["mean"]["r2"].mean < 0.05 < 0.9 < found.scores["linear_regression"]["r2"].mean
    rows, said = found.out_of_fold()
    assert rows.tolist() == list(range(len(y)))
    own = [r for r in found.folds if r.model == found.best]
    assert found.scores[found.best]["rmse"].mean == pytest.approx(
        np.mean([METRICS["rmse"].of(y[r.test], said[r.test]) for r in own])
    )
    assert np.sqrt(np.mean((found.best_model.predict(X) - y) ** 2)) < 0.6
    assert "RMSE" in str(found) and "classes" not in str(found)


def test_a_fold_is_what_ridge_makes_of_it() -> None:
    """The gaussian model with alpha is a ridge of n·alpha on standardised columns."""
    X, y = made(80)
    model = REGRESSORS["linear_regression"].usual(TableFacts.of(X, y, task="numbers"), 0, "rmse")
    Z = (X - X.mean(0)) / X.std(0)
    theirs = Ridge(len(y) * model.alpha).fit(Z, y)
    assert model.fit(Z, y).predict(Z) == pytest.approx(theirs.predict(Z), rel=1e-9)


@pytest.mark.parametrize("units", [1e-3, 1e4])
@pytest.mark.parametrize("name", ["linear_regression", "linear_svr", "svr", "extra_trees_regressor"])
def test_units_of_the_target_do_not_matter(name: str, units: float) -> None:
    X, y = made(60)
    first = compare(X, y, task="regression", models=[name], cv=3, budget=None)
    second = compare(X, units * y, task="regression", models=[name], cv=3, budget=None)
    assert second.out_of_fold()[1] / units == pytest.approx(first.out_of_fold()[1], rel=5e-3, abs=0.05)
    assert second.scores[name]["r2"].mean == pytest.approx(first.scores[name]["r2"].mean, abs=5e-3)


def test_the_same_seed_gives_the_same_numbers_on_any_number_of_threads() -> None:
    X, y = made(90)
    one, two = (
        compare(X, y, task="regression", models=QUICK, cv=3, n_jobs=jobs, budget=None) for jobs in (1, 2)
    )
    assert one.ranking == two.ranking
    for name in QUICK:
        assert (one.out_of_fold(name)[1] == two.out_of_fold(name)[1]).all()


def test_counts_and_positive_numbers_have_their_families() -> None:
    X, _ = made(80)
    counts = np.random.default_rng(0).poisson(np.exp(0.3 * X[:, 0]))

    def suited(y: np.ndarray) -> set[str]:
        facts = TableFacts.of(X, y, task="numbers")
        return {m for m, c in REGRESSORS.items() if not c.unsuited(facts)}

    assert "poisson_regression" in suited(counts) and "gamma_regression" not in suited(counts)
    assert "gamma_regression" in suited(counts + 0.5) and "poisson_regression" not in suited(counts + 0.5)
    assert not {"poisson_regression", "gamma_regression"} & suited(counts - 1.0)


def test_a_search_is_blind_to_the_rows_judged() -> None:
    X, y = made(60)
    tuner = REGRESSORS["linear_svr"].make(TableFacts.of(X, y, task="numbers"), 0, "rmse")
    assert isinstance(tuner, TunedNumbers)
    tuner.fit(X, y)
    assert tuner.losses_.shape == (4, 3) and tuner.best_params_ in list(tuner.grid)
    again = REGRESSORS["linear_svr"].make(TableFacts.of(X, y, task="numbers"), 0, "rmse").fit(X, y)
    assert (again.losses_ == tuner.losses_).all()


def test_frames_words_and_missing_cells() -> None:
    X, y = made(120)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["town"] = np.where(frame.a > 0, "north", "south")
    frame.loc[::7, "b"] = np.nan
    found = compare(frame, y, task="regression", models=[*QUICK, "bagged_trees_regressor"], cv=3)
    assert found.scores[found.best]["r2"].mean > 0.5
    assert np.isfinite(found.best_model.predict(frame.head(9))).all()


def test_groups_and_time() -> None:
    X, y = made(100)
    groups = np.repeat(np.arange(20), 5)
    for split in numbered_splits(None, groups, None, y, 0):
        assert not set(groups[split.train]) & set(groups[split.test])
    for split in numbered_splits(None, None, np.arange(100)[::-1], y, 0):
        assert split.train.min() > split.test.max()
    found = compare(X, y, task="regression", models=QUICK, groups=groups, budget=None)
    assert found.ranking[0] == "linear_regression"


def test_rows_kept_apart_and_the_users_own_model() -> None:
    X, y = load_diabetes(return_X_y=True)
    models: Mapping[str, Any] = {"ridge": Ridge(0.1), "mean": "mean"}
    found = compare(X[:300], y[:300], task="regression", models=models, cv=3, test=(X[300:], y[300:]))
    inner = found.tested["ridge"]["rmse"]
    theirs = sk.root_mean_squared_error(y[300:], Ridge(0.1).fit(X[:300], y[:300]).predict(X[300:]))
    assert inner.mean == pytest.approx(theirs) and inner.low < theirs < inner.high


def test_a_copy_of_the_target_is_a_leak() -> None:
    X, y = made(60)
    odd = alerts(np.column_stack([X, 2.54 * y + 7]), y, numbers=True)
    assert [(a.kind, a.column) for a in odd if a.severity == "serious"] == [("leakage", "4")]
    assert not [a for a in alerts(X, y, numbers=True) if a.kind in ("leakage", "conflict", "imbalance")]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"y": ["dear"] + [1.0] * 19}, "y is 'dear' in row 0, which is no number"),
        ({"y": [1.0] * 19 + [np.nan]}, "y is nan in row 19"),
        ({"y": [3.0] * 20}, "y is 3 in every row"),
        ({"y": [1.0, 2.0]}, "X has 20 rows"),
        ({"task": "guessing"}, "task"),
        ({"metric": "log_loss"}, "metric 'log_loss' is unknown: use one of 'rmse'"),
        ({"positive": "yes"}, 'positive is of classes, and task="regression"'),
        ({"cost": np.eye(2)}, 'cost is of classes, and task="regression"'),
        ({"models": ["logistic"]}, "models names 'logistic', which is unknown"),
        (
            {"models": ["poisson_regression"]},
            "poisson_regression does not suit this table: the target is no count",
        ),
        ({"groups": np.arange(20), "cv": 3}, "cv and groups both say what the folds are"),
        ({"cv": 1}, "cv must be at least 2 folds"),
    ],
)
def test_refused(change: dict[str, Any], told: str) -> None:
    X, y = made(20)
    given = {"y": y, "task": "regression", **change}
    with pytest.raises(ValueError, match=told):
        compare(X, **given)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"positive": "maybe"}, "positive='maybe' is no class of y"),
        ({"metric": "rmse"}, "metric 'rmse' is unknown"),
        ({"time": np.arange(20), "groups": np.arange(20)}, "groups and time both say"),
    ],
)
def test_refused_of_classes(change: dict[str, Any], told: str) -> None:
    X, _ = made(20)
    with pytest.raises(ValueError, match=told):
        compare(X, np.tile(["no", "yes"], 10), models=["lda"], **change)


def test_the_positive_class_is_the_rarer_unless_it_is_named() -> None:
    X, y = made(90)
    labels = np.where(y > np.quantile(y, 0.7), "dear", "usual")
    found = compare(X, labels, models=["lda", "majority"], cv=3, metric="f1")
    assert found.positive == "dear" and found.scores["majority"]["f1"].mean == 0.0
    other = compare(X, labels, models=["lda", "majority"], cv=3, metric="f1", positive="usual")
    assert other.positive == "usual" and other.scores["majority"]["f1"].mean > 0.5
