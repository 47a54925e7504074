"""Trees on nominal columns of more levels than a split holds: grouped in training, whatever they are called."""

import warnings

import numpy as np
import pandas as pd
import pytest

from separatrix import (
    BaggingClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    load,
    save,
)

TREES = {
    "tree": DecisionTreeClassifier(min_samples_leaf=5, categorical_features="from_dtype"),
    "random_tree": DecisionTreeClassifier(
        splitter="random", min_samples_leaf=5, categorical_features="from_dtype"
    ),
    "extra": ExtraTreesClassifier(20, min_samples_leaf=5, categorical_features="from_dtype"),
    "forest": RandomForestClassifier(20, min_samples_leaf=5, categorical_features="from_dtype"),
    "bag": BaggingClassifier(DecisionTreeClassifier(categorical_features="from_dtype"), 5),
}


def table(n=3000, levels=300, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    place = rng.integers(0, levels, n)
    score = 2.0 * rng.normal(size=(levels, classes))
    y = (score[place] + rng.gumbel(size=(n, classes))).argmax(axis=1)
    words = np.char.add("w", place.astype(str)).astype(object)
    words[rng.random(n) < 0.02] = None
    return pd.DataFrame({"x": rng.normal(size=n), "word": words}), y


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("name", TREES)
def test_levels_are_learned_and_new_ones_are_legal(name, classes):
    frame, y = table(classes=classes)
    train, test = slice(0, 2000), slice(2000, 3000)
    model = TREES[name].fit(frame[train], y[train])
    alone = np.bincount(y[train]).max() / 2000
    assert model.score(frame[test], y[test]) > alone + 0.1
    late = pd.DataFrame({"x": [0.0, 0.0], "word": ["never met", None]})
    P = model.predict_proba(late)
    assert np.isfinite(P).all()
    if name != "bag":
        np.testing.assert_array_equal(P[0], P[1])  # both go where a missing cell goes
        said = [line for line in model.verdict_.findings if "'word'" in line]
        assert len(said) == 1 and " levels, in " in said[0] and "groups" in said[0]


@pytest.mark.parametrize("name", TREES)
def test_what_levels_are_called_changes_nothing(name):
    frame, y = table()
    names = {
        w: f"q{i}"
        for i, w in enumerate(np.random.default_rng(5).permutation(frame["word"].dropna().unique()))
    }
    other = frame.assign(word=frame["word"].map(names))
    P = TREES[name].fit(frame, y).predict_proba(frame)
    np.testing.assert_array_equal(P, TREES[name].fit(other, y).predict_proba(other))


def test_a_weight_is_that_many_rows():
    frame, y = table(1500)
    times = np.random.default_rng(3).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    for limits in ({"max_depth": 4}, {"max_leaf_nodes": 9}):
        tree = DecisionTreeClassifier(categorical_features="from_dtype", **limits)
        weighed = tree.fit(frame, y, sample_weight=times).predict_proba(frame)
        repeated = tree.fit(frame.iloc[rows], y[rows]).predict_proba(frame)
        np.testing.assert_allclose(weighed, repeated, atol=1e-12)


def test_numbers_too_and_regression():
    frame, _ = table()
    codes = pd.factorize(frame["word"])[0].astype(float)
    codes[codes < 0] = np.nan
    effect = np.random.default_rng(1).normal(size=400)
    z = np.where(np.isnan(codes), 0.0, effect[np.nan_to_num(codes).astype(int)])
    X = np.column_stack([frame["x"], codes * 7.0 + 3])
    for model in (
        DecisionTreeRegressor(categorical_features=[1]),
        ExtraTreesRegressor(20, categorical_features=[1]),
    ):
        assert model.fit(X, z).score(X, z) > 0.98
    binary = DecisionTreeClassifier(max_depth=3, categorical_features=[1]).fit(X, z > 0)
    assert binary.score(X, z > 0) > 0.98  # two classes: the order of shares is exact


def test_a_column_of_chance_is_not_learned_by_heart():
    rng = np.random.default_rng(0)
    n = 3000
    x = rng.normal(size=n)
    y = (x + rng.logistic(size=n) > 0).astype(int)
    frame = pd.DataFrame({"x": x, "word": [f"w{i}" for i in rng.integers(0, 1000, n)]})
    tree = DecisionTreeClassifier(min_samples_leaf=20, categorical_features="from_dtype")
    both = tree.fit(frame[:2000], y[:2000]).score(frame[2000:], y[2000:])
    alone = tree.fit(frame[["x"]][:2000], y[:2000]).score(frame[["x"]][2000:], y[2000:])
    assert both > alone - 0.02


def test_up_to_64_levels_have_a_code_each():
    frame, y = table(levels=64)
    model = DecisionTreeClassifier(categorical_features="from_dtype").fit(frame, y)
    assert model._nominal.groups is None and not [f for f in model.verdict_.findings if "levels, in" in f]


def test_files_and_graphs_hold_the_groups(tmp_path):
    frame, y = table()
    late = pd.concat([frame[:50], pd.DataFrame({"x": [0.5], "word": ["never met"]})], ignore_index=True)
    for model in (TREES["extra"], TREES["tree"]):
        fitted = model.fit(frame, y)
        save(fitted, tmp_path / "m.sepx")
        np.testing.assert_array_equal(
            load(tmp_path / "m.sepx").predict_proba(late), fitted.predict_proba(late)
        )


@pytest.mark.parametrize("name", ["extra", "tree"])
def test_graphs_say_the_same(name):
    pytest.importorskip("onnxruntime")
    from separatrix.files.onnx import to_onnx
    from separatrix.files.onnx_inputs import onnx_inputs
    from tests.files.by_graph import session

    frame, y = table()
    late = pd.concat([frame[:50], pd.DataFrame({"x": [0.5], "word": ["never met"]})], ignore_index=True)
    fitted = TREES[name].fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = to_onnx(fitted)
    found = session(graph).run(["probabilities"], onnx_inputs(fitted, late))[0]
    np.testing.assert_allclose(found, fitted.predict_proba(late), atol=1e-12)
