"""Trees as arrays: best splits against brute force and scikit-learn, and the laws of growth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from separatrix import engine
from separatrix.growth import forest as module
from separatrix.growth.forest import grow_forest
from separatrix.growth.growers import Binned, Columns, Options
from tests.draws import examples

draws = examples(25)


def one(X, y, classes, options, weight=None, *, kind=Binned, nominal=None, seed=0):
    columns = Binned.of(X, weight, nominal) if kind is Binned else Columns.of(X, nominal)
    return grow_forest(columns, y, classes, options, seed, 1, weight)


def bag(t, n):
    return np.bincount(np.random.default_rng(t).integers(0, n, n), minlength=n).astype(float)


def same(a, b):
    """Whether two trees are equal, array by array."""
    return all(
        np.array_equal(getattr(a, name), getattr(b, name), equal_nan=name in ("threshold", "leaf_value"))
        for name in (
            "feature",
            "threshold",
            "child",
            "extra",
            "count",
            "leaf_value",
            "leaf_weight",
            "sets",
            "gains",
        )
    )


def gini(y, w):
    share = np.bincount(y, w) / w.sum()
    return 1 - (share**2).sum()


def entropy(y, w):
    share = np.bincount(y, w) / w.sum()
    return -(share[share > 0] * np.log2(share[share > 0])).sum()


def variance(y, w):
    return float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))


def brute(X, y, w, impurity):
    """The least weighted impurity after one split of any column between neighbouring values."""
    best = np.inf
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for t in (values[1:] + values[:-1]) / 2:
            left = X[:, j] <= t
            parts = sum(w[s].sum() * impurity(y[s], w[s]) for s in (left, ~left))
            best = min(best, parts / w.sum())
    return best


@pytest.mark.parametrize(
    "criterion, impurity", [("gini", gini), ("entropy", entropy), ("squared_error", variance)]
)
@draws
@given(seed=st.integers(0, 10_000), n=st.integers(3, 40), p=st.integers(1, 4), k=st.integers(2, 5))
def test_first_split_is_the_best_of_all(criterion, impurity, seed, n, p, k):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, p)).astype(float)
    w = rng.integers(1, 4, n).astype(float)
    y = rng.normal(size=n) if criterion == "squared_error" else rng.integers(0, k, n)
    classes = 0 if criterion == "squared_error" else k
    tree = one(X, y, classes, Options(criterion, p, max_depth=1), w).trees[0]
    if tree.node_count == 1:
        assert (X[0] == X).all() or (y == y[0]).all()
        return
    found = np.average(tree.impurity[1:], weights=tree.weighted_n_node_samples[1:])
    assert found == pytest.approx(brute(X, y, w, impurity), abs=1e-6)
    assert tree.gains.sum() / w.sum() == pytest.approx(impurity(y, w) - found, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_normalised_gain_by_hand(seed):
    """2 I/(H_split + H_class) of every split, by its formula; the installed one has the largest."""
    rng = np.random.default_rng(seed)
    X, y, w = rng.integers(0, 5, (30, 2)).astype(float), rng.integers(0, 3, 30), np.ones(30)
    scores = {}
    for j in range(2):
        for t in np.arange(0.5, 4):
            left = X[:, j] <= t
            gain = entropy(y, w) - sum(s.mean() * entropy(y[s], w[s]) for s in (left, ~left))
            scores[j, t] = 2 * gain / (entropy(left.astype(int), w) + entropy(y, w))
    tree = one(X, y, 3, Options("normalized_gain", 2, max_depth=1)).trees[0]
    assert scores[int(tree.feature[0]), float(tree.threshold[0])] == pytest.approx(max(scores.values()))


LIMITS = [
    ({}, {}),
    ({"max_depth": 3}, {"max_depth": 3}),
    ({"min_samples_leaf": 7}, {"min_leaf": 7}),
    ({"min_samples_split": 25}, {"min_split": 25}),
    ({"min_weight_fraction_leaf": 0.05}, {"min_weight_fraction": 0.05}),
    ({"min_impurity_decrease": 0.01}, {"min_decrease": 0.01}),
]


def continuous(seed, n=200, p=6, classes=2):
    """Fewer than 256 distinct values in a column, and no two splits of equal score but by chance."""
    X, y = make_classification(
        n,
        p,
        n_informative=p - 1,
        n_redundant=0,
        n_classes=classes,
        n_clusters_per_class=1,
        flip_y=0.1,
        random_state=seed,
    )
    return X.astype(np.float32).astype(float), y


def same_splits(ours, peer, a=0, b=0):
    """How many splits are the same from the root down; where they differ, they must be equally good."""
    weight, other = ours.weighted_n_node_samples, peer.weighted_n_node_samples
    assert ours.count[a] == peer.n_node_samples[b]
    assert weight[a] == pytest.approx(other[b])
    assert ours.impurity[a] == pytest.approx(peer.impurity[b], abs=1e-6)
    if (
        ours.feature[a] < 0 or peer.feature[b] < 0
    ):  # theirs may split a pure node whose impurity is not quite zero
        assert ours.feature[a] == -1 and (peer.feature[b] < 0 or peer.impurity[b] < 1e-12)
        return 0
    sides = (ours.children_left[a], ours.children_right[a]), (peer.children_left[b], peer.children_right[b])
    if ours.feature[a] != peer.feature[b] or abs(ours.threshold[a] - peer.threshold[b]) > 1e-6:
        left, right = (
            sum(w[c] * t.impurity[c] for c in s) for w, t, s in zip((weight, other), (ours, peer), sides)
        )
        assert left == pytest.approx(right, abs=1e-5)
        return 0
    return 1 + sum(same_splits(ours, peer, c, d) for c, d in zip(*sides))


@pytest.mark.parametrize("theirs, ours", LIMITS, ids=lambda v: "-".join(v) or "none")
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_scikit_learns_trees(criterion, classes, theirs, ours):
    """The same splits but for ties, which are of columns that part a node's rows alike."""
    X, y = continuous(classes, classes=classes)
    w = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    peer = DecisionTreeClassifier(criterion=criterion, random_state=0, **theirs).fit(X, y, w)
    forest = one(X, y, classes, Options(criterion, 6, **ours), w)
    assert same_splits(forest.trees[0], peer.tree_) >= 4
    if not theirs:
        np.testing.assert_array_equal(forest.mean(X).argmax(axis=1), peer.predict(X))


@pytest.mark.parametrize("theirs, ours", LIMITS[:5], ids=lambda v: "-".join(v) or "none")
def test_scikit_learns_regression_trees(theirs, ours):
    X, _ = continuous(1)
    z = 1e3 + np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * np.random.default_rng(0).normal(size=len(X))
    peer = DecisionTreeRegressor(random_state=0, **theirs).fit(X, z)
    forest = one(X, z, 0, Options("squared_error", 6, **ours))
    left = np.sum((forest.mean(X)[:, 0] - z) ** 2)
    assert left <= np.sum((peer.predict(X) - z) ** 2) * 1.02 + 1e-9
    assert forest.trees[0].node_count == pytest.approx(peer.tree_.node_count, rel=0.03)


@draws
@given(
    seed=st.integers(0, 10_000), kind=st.sampled_from([Binned, Columns]), classes=st.sampled_from([0, 2, 3])
)
def test_zero_weight_is_absence_and_weight_is_repetition(seed, kind, classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (60, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, classes, 60) if classes else rng.normal(size=60)
    w = rng.integers(0, 3, 60).astype(float)
    options = Options("gini" if classes else "squared_error", 2 if kind is Columns else 3)
    tree = one(X, y, classes, options, w, kind=kind).trees[0]
    there = w > 0
    absent = one(X[there], y[there], classes, options, w[there], kind=kind).trees[0]
    assert same(tree, absent)
    rows = np.repeat(np.arange(60), w.astype(int))
    repeated = one(X[rows], y[rows], classes, options, kind=kind).trees[0]
    np.testing.assert_array_equal(tree.feature, repeated.feature)
    np.testing.assert_array_equal(tree.threshold, repeated.threshold)
    np.testing.assert_allclose(tree.leaf_value, repeated.leaf_value, atol=1e-12)


@draws
@given(seed=st.integers(0, 10_000))
def test_best_splits_do_not_see_a_monotone_map(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    options = Options("gini", 3)
    a, b = one(X, y, 3, options), one(np.exp(X), y, 3, options)
    np.testing.assert_array_equal(a.trees[0].feature, b.trees[0].feature)
    np.testing.assert_array_equal(a.ends(X), b.ends(np.exp(X)))


@pytest.mark.parametrize("kind", [Binned, Columns])
def test_labels_permuted(kind):
    X, y = continuous(5, classes=4)
    to = np.array([2, 0, 3, 1])
    a, b = (one(X, v, 4, Options("gini", 3), kind=kind).mean(X) for v in (y, to[y]))
    np.testing.assert_allclose(a, b[:, to], atol=1e-12)


@pytest.mark.parametrize("kind", [Binned, Columns])
def test_any_number_of_threads_grows_the_same_trees(kind):
    X, y = continuous(2, n=300)
    columns = kind.of(X)
    grown = []
    for workers in (1, 2, 3):
        with engine("threads", workers=workers):
            grown.append(grow_forest(columns, y, 2, Options("gini", 2), 7, 6, lambda t: bag(t, len(y))))
    for other in grown[1:]:
        assert all(same(a, b) for a, b in zip(grown[0].trees, other.trees, strict=True))
        np.testing.assert_array_equal(grown[0].mean(X), other.mean(X))
    assert not same(*grown[0].trees[:2])


@pytest.mark.parametrize("kind", [Binned, Columns])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_missing_cells_go_where_they_belong(kind, classes):
    """The class is told by whether a cell is missing: one split does it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    X[::2] = np.nan
    y = (np.arange(200) % 2).astype(float if classes == 0 else int)
    forest = one(X, y, classes, Options("gini" if classes else "squared_error", 1), kind=kind)
    assert (forest.mean(X).argmax(axis=1) == y).all() if classes else np.allclose(forest.mean(X)[:, 0], y)
    if kind is Binned:
        assert forest.trees[0].node_count == 3 and forest.trees[0].threshold[0] == np.inf


@pytest.mark.parametrize("kind", [Binned, Columns])
def test_never_missing_in_training_goes_with_the_larger_child(kind):
    X, y = np.arange(10.0)[:, None], (np.arange(10) >= 3).astype(int)
    forest = one(X, y, 2, Options("gini", 1), kind=kind)
    tree = forest.trees[0]
    left, right = tree.count[tree.child[0]], tree.count[tree.child[0] + 1]
    assert bool(tree.missing_go_to_left[0]) == (left >= right)
    assert forest.mean(np.array([[np.nan]])).shape == (1, 2)


@pytest.mark.parametrize("kind", [Binned, Columns])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_nominal_columns(kind, classes):
    """Targets that depend on a level without order, with a missing level as well."""
    rng = np.random.default_rng(1)
    level = rng.integers(0, 12, 600).astype(float)
    level[::25] = np.nan
    truth = rng.permutation(12) % max(classes, 2)
    y = np.where(np.isnan(level), 0, truth[np.nan_to_num(level).astype(int)])
    X = level[:, None]
    forest = one(
        X, y, classes, Options("gini" if classes else "squared_error", 1), kind=kind, nominal=np.array([True])
    )
    found = forest.mean(X)
    assert (found.argmax(axis=1) == y).all() if classes else np.allclose(found[:, 0], y)
    if kind is Binned and classes == 2:
        assert (
            forest.trees[0].depth <= 2
        )  # the best order of levels needs one split, or two with the missing ones
    assert np.isfinite(forest.mean(np.array([[40.0], [-1.0], [np.nan]]))).all()


def test_columns_of_many_values_are_cut_at_quantiles():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=5000), rng.integers(0, 255, 5000), np.ones(5000)])
    binned = Binned.of(X)
    assert binned.coarse.tolist() == [True, False, False]
    sizes = np.bincount(binned.codes[0])
    assert len(sizes) == 255 and sizes.max() <= 1.1 * 5000 / 255
    values = np.take_along_axis(binned.low[0], binned.codes[0].astype(int), 0)
    assert (values <= X[:, 0]).all()
    assert binned.constant().tolist() == [False, False, True]


def test_weighted_quantiles_are_those_of_repeated_rows():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(800, 1)), rng.integers(1, 4, 800)
    a, b = Binned.of(X, w.astype(float)), Binned.of(np.repeat(X, w, axis=0))
    np.testing.assert_array_equal(a.high, b.high)


def test_thresholds_are_uniform_between_the_ends():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    forest = grow_forest(Columns.of(X), y, 2, Options("gini", 1), 0, 2000)
    t = np.array([tree.threshold[0] for tree in forest.trees])
    assert ((t >= 0) & (t < 1)).all()
    assert abs(t.mean() - 0.5) < 0.03 and abs(t.var() - 1 / 12) < 0.01


def test_columns_are_drawn_evenly_and_never_constant_ones():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(50, 4)), np.ones(50)])
    forest = grow_forest(Columns.of(X), rng.integers(0, 2, 50), 2, Options("gini", 1, max_depth=1), 0, 2000)
    drawn = np.bincount([tree.feature[0] for tree in forest.trees], minlength=5)
    assert drawn[4] == 0 and (np.abs(drawn[:4] - 500) < 90).all()


def test_interrupted_growth_keeps_what_is_finished(monkeypatch):
    X, y = continuous(0)
    columns = Columns.of(X)

    def stop(work, items):
        for t in list(items)[:3]:
            work(t)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "each_in_threads", stop)
    forest = grow_forest(columns, y, 2, Options("gini", 2), 0, 10)
    assert len(forest) == 3 and forest.asked == 10 and forest.numbers == (0, 1, 2)
    monkeypatch.setattr(
        module, "each_in_threads", lambda work, items: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        grow_forest(columns, y, 2, Options("gini", 2), 0, 10)


def test_arrays_of_a_tree():
    X, y = continuous(0, classes=3)
    forest = one(X, y, 3, Options("gini", 6, max_depth=4))
    tree = forest.trees[0]
    inner = np.flatnonzero(tree.splits)
    assert (tree.children_left[inner] > inner).all() and (
        tree.children_right[inner] == tree.children_left[inner] + 1
    ).all()
    assert (tree.count[inner] == tree.count[tree.child[inner]] + tree.count[tree.child[inner] + 1]).all()
    np.testing.assert_allclose(tree.weighted_n_node_samples, tree.count)
    np.testing.assert_allclose(tree.value[0], np.bincount(y) / len(y))
    np.testing.assert_allclose(tree.value.sum(axis=1), 1.0)
    assert tree.max_depth == 4 and tree.n_leaves == (~tree.splits).sum()
