"""Trees by absolute errors: scikit-learn's where no two splits tie, brute force where they do, and the laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import ensemble, tree
from sklearn.model_selection import cross_val_score

from benchmarks import shared
from separatrix import BaggingRegressor, DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor
from tests.draws import examples

ABSOLUTE = {"criterion": "absolute_error"}


def loss(y, w):
    """min_c Σ w |y − c|: the minimum is at one of the values."""
    return min((w * np.abs(y - c)).sum() for c in y) if len(y) else 0.0


def middle(y, w):
    """The weighted median by repetition of whole weights."""
    return float(np.median(np.repeat(y, w.astype(int))))


@pytest.mark.parametrize("limit", [{"max_depth": 3}, {"max_leaf_nodes": 9}, {}], ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_trees_are_scikit_learns(limit, seed):
    """Weights that are no whole numbers, leaves of some rows: no two splits are equally good."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(200, 3)), rng.uniform(0.5, 2.0, 200)
    y = X[:, 0] + np.sin(3 * X[:, 1]) + rng.standard_t(2, 200)
    limit = {"min_samples_leaf": 7, **limit}
    mine = DecisionTreeRegressor(**ABSOLUTE, **limit).fit(X, y, w)
    peer = tree.DecisionTreeRegressor(**ABSOLUTE, **limit, random_state=0).fit(X, y, w)
    assert mine.get_n_leaves() == peer.get_n_leaves() and mine.get_depth() == peer.get_depth()
    new = rng.normal(size=(300, 3))
    np.testing.assert_allclose(mine.predict(new), peer.predict(new), rtol=1e-9)
    np.testing.assert_allclose(np.sort(mine.tree_.value[:, 0]), np.sort(peer.tree_.value[:, 0, 0]), rtol=1e-9)
    np.testing.assert_allclose(np.sort(mine.tree_.impurity), np.sort(peer.tree_.impurity), rtol=1e-9)
    np.testing.assert_allclose(mine.feature_importances_, peer.feature_importances_, atol=1e-9)


@examples(40)
@given(st.integers(0, 10**6), st.booleans())
def test_a_stump_takes_the_least_loss_there_is(seed, holes):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 15))
    X = rng.integers(0, 5, (n, 2)).astype(float)
    if holes:
        X[rng.random((n, 2)) < 0.3] = np.nan
    y, w = rng.integers(-5, 6, n).astype(float), rng.integers(1, 4, n).astype(float)
    least = loss(y, w)
    for j in range(2):
        for t in (0, 1, 2, 3, 4):
            for missing_left in (False, True):
                left = np.where(np.isnan(X[:, j]), missing_left, np.nan_to_num(X[:, j]) <= t)
                if left.any() and not left.all():
                    least = min(least, loss(y[left], w[left]) + loss(y[~left], w[~left]))
    model = DecisionTreeRegressor(max_depth=1, **ABSOLUTE).fit(X, y, w)
    found = (w * np.abs(y - model.predict(X))).sum()
    if model.get_n_leaves() > 1:
        np.testing.assert_allclose(found, least, atol=1e-9)
    for leaf in np.unique(model.apply(X)):
        rows = model.apply(X) == leaf
        np.testing.assert_allclose(model.predict(X)[rows], middle(y[rows], w[rows]), atol=1e-9)


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, RandomForestRegressor, ExtraTreesRegressor])
def test_weights_are_repetition_and_zero_is_absence(kind):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 30, (60, 3)).astype(float), rng.normal(size=60)
    w = rng.integers(0, 3, 60)
    forest = {} if kind is DecisionTreeRegressor else {"n_estimators": 3, "bootstrap": False}
    one = kind(**ABSOLUTE, **forest, max_depth=4).fit(X, y, w)
    two = kind(**ABSOLUTE, **forest, max_depth=4).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(one.predict(X), two.predict(X), atol=1e-12)


def test_an_outlier_moves_no_median():
    X, y = np.arange(9.0)[:, None], np.array([0.0, 0, 0, 0, 5, 5, 5, 5, 1e9])
    model = DecisionTreeRegressor(max_depth=1, min_samples_leaf=4, **ABSOLUTE).fit(X, y)
    assert model.predict(X).tolist() == [0.0] * 4 + [5.0] * 5
    assert "absolute_error impurity" in str(model.verdict_)
    np.testing.assert_allclose(model.tree_.value[0], np.median(y))


def test_levels_and_holes():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 6, 200)
    y = np.array([0, 10, 1, 11, 2, 12])[level] + rng.normal(0, 0.1, 200)
    X = np.column_stack([level, rng.normal(size=200)])
    X[rng.random((200, 2)) < 0.1] = np.nan
    for model in (DecisionTreeRegressor(categorical_features=[0], max_depth=1, **ABSOLUTE),
                  ExtraTreesRegressor(30, categorical_features=[0], max_depth=6, **ABSOLUTE)):  # fmt: skip
        model.fit(X, y)
        seen = ~np.isnan(X[:, 0])
        far = np.abs(model.predict(X) - y)[seen]
        assert far.mean() < 2.0
    rows = DecisionTreeRegressor(categorical_features=[0], max_depth=1, **ABSOLUTE).fit(X, y).apply(X)
    assert len({(a, b % 2) for a, b in zip(rows[seen], level[seen], strict=True)}) == 2


@pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")
@pytest.mark.parametrize("name", ["auto_mpg", "bodyfat", "boston_housing"])
def test_forests_are_as_good_as_scikit_learns(name):
    table = shared.table(name).select_dtypes("number").dropna()
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy(float)
    setting = {"n_estimators": 20, "max_features": 0.5, "random_state": 0, "min_samples_leaf": 2, **ABSOLUTE}
    score = {"cv": 3, "scoring": "neg_median_absolute_error"}
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    for kind in ("RandomForestRegressor", "ExtraTreesRegressor"):
        mine = {"RandomForestRegressor": RandomForestRegressor, "ExtraTreesRegressor": ExtraTreesRegressor}[
            kind
        ]
        ours = cross_val_score(mine(**setting), X, y, **score).mean()
        theirs = cross_val_score(getattr(ensemble, kind)(**setting), X, y, **score).mean()
        assert abs(ours - theirs) < 0.15 * abs(theirs)


def test_bags_of_median_trees():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    model = BaggingRegressor(DecisionTreeRegressor(max_leaf_nodes=4, **ABSOLUTE), 3, random_state=0).fit(X, y)
    for h, rows in zip(model, model.estimators_samples_, strict=True):
        leaf = h.apply(X)
        for at in np.unique(leaf):
            mine = np.isin(rows, np.flatnonzero(leaf == at))
            np.testing.assert_allclose(h.predict(X)[leaf == at], np.median(y[rows[mine]]), atol=1e-12)
