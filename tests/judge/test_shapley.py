"""Shapley values against the definition, computed by brute force, and what they promise."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier as SklearnExtraTrees
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    SVC,
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    LogisticRegression,
    RandomForestClassifier,
)
from separatrix.judge import shapley as module
from separatrix.judge.cells import mixed
from separatrix.judge.plain_trees import plain_forest
from separatrix.judge.shapley import contributions, shapley
from separatrix.tables.encode import TableEncoder


def by_hand(f, both, i, others):
    """The mean over all orders of the columns of what each adds when it joins."""
    p = both.shape[1]
    phi = 0.0
    orders = list(permutations(range(p)))
    for order in orders:
        gains, joined = {}, []
        before = f(mixed(both, others, {})).mean(axis=0)
        for j in order:
            joined.append(j)
            now = f(mixed(both, others, {c: np.full(len(others), i) for c in joined})).mean(axis=0)
            gains[j], before = now - before, now
        phi = phi + np.array([gains[j] for j in range(p)])
    return phi / len(orders)


def numbers(n=90, p=4, classes=2, seed=0, gaps=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).round(2)
    y = np.digitize(X[:, 0] * X[:, 1] + 0.5 * X[:, 2], np.linspace(-0.5, 0.5, classes - 1))
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y


def words(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "size": rng.normal(size=n),
        "sky": rng.choice(["sun", "rain", "snow"], n).astype(object),
        "open": rng.random(n) < 0.4,
        "count": rng.poisson(3, n),
    })  # fmt: skip
    y = np.where(frame["size"] + (frame["sky"] == "sun") - 0.4 * frame["count"] > -1, "yes", "no")
    frame.loc[::9, "size"] = np.nan
    frame.loc[::11, "sky"] = None
    return frame, y


TREES = {
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(8, random_state=0),
    "extra": ExtraTreesClassifier(8, random_state=0),
    "bags": BaggingClassifier(DecisionTreeClassifier(), 8, random_state=0),
    "scikit-learn's forest": SklearnForest(8, random_state=0),
    "scikit-learn's extra-trees": SklearnExtraTrees(8, random_state=0),
}


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("classes", [2, 3])
def test_trees_are_exact(name, classes):
    theirs = "scikit" in name
    X, y = numbers(classes=classes, gaps=not theirs)
    model = make_pipeline(StandardScaler(), TREES[name]).fit(X, y) if not theirs else TREES[name].fit(X, y)
    found = contributions(model, X[:3], X[10:22])
    assert (found.error is None and "trees" in found.how) or name == "tree"
    both = np.vstack([X[:3], X[10:22]])
    for i in range(3):
        assert found.adds[i] == pytest.approx(
            by_hand(model.predict_proba, both, i, 3 + np.arange(12)), abs=1e-6
        )
    assert found.base + found.adds.sum(axis=1) == pytest.approx(found.output, abs=1e-6)
    assert found.output == pytest.approx(model.predict_proba(X[:3]))


@pytest.mark.parametrize("form", ["linear", "native"])
def test_a_word_is_one_column(form):
    X, y = words()
    kind = {"categorical_features": "from_dtype"} if form == "native" else {}
    forest = RandomForestClassifier(10, random_state=0, **kind)
    model = Pipeline([("columns", TableEncoder(form=form)), ("model", forest)]).fit(X, y)
    rows, behind = X.iloc[:4], X.iloc[20:35]
    found = contributions(model, rows, behind)
    assert found.names == ["size", "sky", "open", "count"] and "leaves" in found.how
    both = pd.concat([rows, behind], ignore_index=True)
    for i in range(4):
        expected = by_hand(model.predict_proba, both, i, 4 + np.arange(15))
        assert found.adds[i] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("made", [numbers, words])
def test_sets_of_columns_are_the_definition(made):
    X, y = made()
    model = SVC(calibrate="sigmoid") if made is numbers else LogisticRegression()
    model = Pipeline([("columns", TableEncoder()), ("model", model)]) if made is words else model
    model.fit(X, y)
    rows, behind = X[:2], X[30:40]
    found = contributions(model, rows, behind)
    both = pd.concat([rows, behind], ignore_index=True) if made is words else np.vstack([rows, behind])
    for i in range(2):
        expected = by_hand(model.predict_proba, both, i, 2 + np.arange(10))
        assert found.adds[i] == pytest.approx(expected, abs=1e-12)
    assert found.base + found.adds.sum(axis=1) == pytest.approx(found.output, abs=1e-12)


def test_orders_come_near_the_exact_values_and_add_up(monkeypatch):
    X, y = numbers(p=5, n=200)
    model = SVC(calibrate="sigmoid").fit(X, y)
    exact = contributions(model, X[:2], X[50:80])
    monkeypatch.setattr(module, "EXACT", 3)
    found = contributions(model, X[:2], X[50:80])
    assert found.error is not None and "estimated" in found.how
    assert found.base + found.adds.sum(axis=1) == pytest.approx(found.output, abs=1e-12)
    # twenty values, independent enough: none is five standard errors off
    assert (np.abs(found.adds - exact.adds) <= 5 * found.error + 1e-12).all()
    assert found.error.max() < 0.1


def test_a_linear_function_has_its_terms():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(40, 14)), rng.normal(size=14)
    found = shapley(lambda Z: (Z @ w)[:, None], X[:3], X[10:])
    assert found.adds[:, :, 0] == pytest.approx((X[:3] - X[10:].mean(axis=0)) * w, abs=1e-12)


def test_a_column_that_is_not_used_adds_nothing():
    X, y = numbers(p=3)
    model = RandomForestClassifier(10, random_state=0).fit(np.column_stack([X, np.zeros(len(X))]), y)
    rows = np.column_stack([X, np.arange(len(X))])
    found = contributions(model, rows[:5], rows[20:])
    assert np.array_equal(found.adds[:, 3], np.zeros((5, 2)))


def test_plain_trees_say_what_the_model_says():
    X, y = numbers(n=300, classes=3, gaps=True)
    for name in ("tree", "forest", "extra", "bags"):
        model = TREES[name].fit(X, y)
        forest = plain_forest(model)
        assert forest.mean(forest.read(X)) == pytest.approx(model.predict_proba(X), abs=1e-12)
    assert plain_forest(LogisticRegression()) is None


def test_time_that_is_up_is_said_by_fewer_rows():
    X, y = numbers()
    found = contributions(SVC(calibrate="sigmoid").fit(X, y), X[:5], X[20:40], seconds=0.0)
    assert len(found.adds) == len(found.output) == 1


def test_too_many_columns_are_refused():
    with pytest.raises(ValueError, match="500 columns"):
        shapley(lambda Z: Z[:, :1], np.zeros((1, 500)), np.zeros((2, 500)))
