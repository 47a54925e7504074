"""Importance by permutation out of fold, and partial dependence: what must hold of models whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from separatrix import LogisticRegression, RandomForestClassifier
from separatrix.judge import importance as module
from separatrix.judge.dependence import LEVELS, dependence
from separatrix.judge.importance import NoTime, importance
from separatrix.judge.scores import log_loss
from separatrix.tables.encode import TableEncoder


def table(n=400, seed=0):
    """A number and a word that matter, a number and a word that do not; gaps in two."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "size": rng.normal(size=n),
        "sky": rng.choice(["sun", "rain", "snow"], n).astype(object),
        "noise": rng.normal(size=n),
        "word": rng.choice(["a", "b", "c", "d"], n).astype(object),
    })  # fmt: skip
    score = 2.0 * frame["size"] + 2.5 * (frame["sky"] == "sun") - 0.8
    codes = (rng.logistic(size=n) < score.to_numpy()).astype(int)
    frame.loc[::13, "noise"] = np.nan
    frame.loc[::17, "sky"] = None
    return frame, codes


def model():
    return Pipeline([("columns", TableEncoder()), ("model", LogisticRegression())])


@pytest.mark.parametrize("metric", ["log_loss", "accuracy", "auc", "brier"])
def test_what_matters_stands_above_what_does_not(metric):
    X, codes = table()
    found = importance(model(), X, codes, np.array([0, 1]), codes, metric=metric)
    assert set(found.names[:2]) == {"size", "sky"} and found.columns[0] == list(X.columns).index(
        found.names[0]
    )
    own = dict(zip(found.names, found.drop))
    assert own["size"].low > 0
    for name in ("noise", "word"):
        assert own[name].low <= 0 <= own[name].high
    assert found.of == 4 and "5 folds" in found.how


def test_a_drop_is_that_of_the_definition():
    X, codes = table()
    half = np.arange(len(codes)) < 300
    fitted = model().fit(X[half], codes[half])
    rows, own = X[~half].reset_index(drop=True), codes[~half]
    found = importance(fitted, X, codes, np.array([0, 1]), codes, test=(rows, own))
    drop = dict(zip(found.names, found.drop))["size"]
    places = np.random.default_rng([0, 0, 1]).permutation(len(rows))
    moved = rows.assign(size=rows["size"].to_numpy()[places])
    expected = log_loss(own, fitted.predict_proba(moved)) - log_loss(own, fitted.predict_proba(rows))
    assert drop.mean == pytest.approx(expected, rel=1e-12) and drop.low < drop.mean < drop.high
    assert found.score == pytest.approx(log_loss(own, fitted.predict_proba(rows)), rel=1e-12)


def test_many_columns_are_screened_on_a_fold_that_does_not_count():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, module.SCREENED + 10))
    codes = (X[:, 7] + 0.3 * rng.normal(size=300) > 0).astype(int)
    found = importance(LogisticRegression(), X, codes, np.array([0, 1]), codes)
    assert found.columns[0] == 7 and len(found.names) == module.KEPT
    assert "4 folds" in found.how and "does not count" in found.how


def test_too_many_columns_are_refused_at_once():
    X, codes = np.zeros((4, module.MOST + 1)), np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match="shuffled one by one"):
        importance(LogisticRegression(), X, codes, np.array([0, 1]), codes)


def test_time_that_is_up():
    X, codes = table()
    with pytest.raises(NoTime):
        importance(model(), X, codes, np.array([0, 1]), codes, seconds=0.0)


def test_fits_are_cut_down_to_rows_and_it_is_said():
    X, codes = table()
    found = importance(model(), X, codes, np.array([0, 1]), codes, rows=100)
    assert "to 100 rows of it" in found.how


# ---- dependence ----


def test_of_a_linear_model_it_is_the_line():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(80, 3)), np.array([2.0, -1.0, 0.5])
    found = dependence(lambda Z: (Z @ w)[:, None], X, 1)
    slope = np.diff(found.mean[:, 0]) / np.diff(found.at)
    assert slope == pytest.approx(np.full(len(slope), -1.0)) and found.lines.shape[0] == 80
    rest = X @ np.array([2.0, 0.0, 0.5])
    assert found.lines[:, 0, 0] == pytest.approx(rest - found.at[0])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_words_gaps_and_dates(kind):
    X, codes = table()
    X["day"] = pd.date_range("2024-01-01", periods=len(X))
    fitted = model().fit(X, codes)
    if kind == "polars":
        X = pytest.importorskip("polars").from_pandas(X)
    found = dependence(fitted.predict_proba, X, 1)
    assert found.kind == "levels" and "(missing)" in found.labels and found.lines.shape == (150, 4, 2)
    of = {label: found.mean[i, 1] for i, label in enumerate(found.labels)}
    assert of["sun"] > max(of["rain"], of["snow"])
    assert dependence(fitted.predict_proba, X, 2).missing.shape == (150, 2)
    assert dependence(fitted.predict_proba, X, 4).kind == "date"


def test_levels_beyond_those_shown_are_counted_and_texts_have_no_axis():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"many": [f"l{v}" for v in rng.integers(0, 30, 300)]})
    found = dependence(lambda Z: np.ones((len(Z), 1)), frame, 0)
    assert len(found.labels) == LEVELS and f"{LEVELS} most frequent of 30" in found.said
    texts = pd.DataFrame({"said": [f"word {i} " * 20 for i in range(50)]})
    with pytest.raises(ValueError, match="text"):
        dependence(lambda Z: np.ones((len(Z), 1)), texts, 0)


def test_a_heavy_tail_is_cut_and_said():
    x = np.r_[np.random.default_rng(0).exponential(size=400), 500.0]
    found = dependence(lambda Z: Z[:, :1], x[:, None], 0)
    assert found.at.max() < 10 and "98th percentile" in found.said and "500" in found.said


def test_a_forest_is_read_as_it_stands():
    X, codes = table()
    X = X.drop(columns=["sky", "word"]).fillna(0.0)
    forest = RandomForestClassifier(10, random_state=0).fit(X, codes)
    found = dependence(forest.predict_proba, X, 0)
    assert found.mean[-1, 1] > found.mean[0, 1] + 0.3
