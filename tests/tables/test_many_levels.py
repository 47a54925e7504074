"""Columns of many levels: each its own column of 0 and 1, or coded by the target out of fold, or hashed."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

pd = pytest.importorskip("pandas")

from separatrix import LogisticRegression, NaiveBayes, load, save  # noqa: E402
from separatrix.tables.coded_levels import BUCKETS, bucket  # noqa: E402
from separatrix.tables.encode import TableEncoder, encoder_for  # noqa: E402
from separatrix.tables.sources import TableError  # noqa: E402


def even(n=4000, levels=200, spread=2.0, classes=2, seed=0):
    """Levels equally frequent, with classes that differ by level."""
    rng = np.random.default_rng(seed)
    place = rng.permutation(np.arange(n) % levels)
    score = spread * rng.normal(size=(levels, classes))
    y = (score[place] + rng.gumbel(size=(n, classes))).argmax(axis=1)
    return pd.DataFrame({"word": np.char.add("w", place.astype(str)), "x": rng.normal(size=n)}), y


def accuracy(encoder, X, y):
    return cross_val_score(make_pipeline(encoder, LogisticRegression()), X, y, cv=5).mean()


def test_two_hundred_levels_keep_their_columns_and_reach_one_hot():
    X, y = even()
    encoder = TableEncoder().fit(X)
    assert len(encoder.get_feature_names_out()) == 201
    assert any("each of 200 levels" in line and "pooled" not in line for line in encoder.describe())
    one_hot = accuracy(OneHotEncoder(handle_unknown="ignore"), X[["word"]], y)
    assert accuracy(TableEncoder(), X, y) > one_hot - 0.01
    assert accuracy(TableEncoder(levels="target"), X, y) > one_hot - 0.01
    assert accuracy(TableEncoder(max_levels=100), X, y) < one_hot - 0.05


def test_zeros_of_five_thousand_levels_are_not_stored():
    X, _ = even(25_000, 5_000)
    encoder = TableEncoder(kinds={"word": "nominal"})
    Z = encoder.fit_transform(X)
    assert sp.issparse(Z) and Z.shape == (25_000, 5_001) and Z.nnz <= 50_000
    few = encoder.transform(X.iloc[:3].assign(word=["w7", "never met", None]))
    assert sp.issparse(few) and few[1:, :-1].nnz == 0 and few[0, :-1].sum() == 1


def test_much_of_a_table_is_left_out_as_training_decided():
    X, _ = even(300_000, 200)
    encoder = TableEncoder().fit(X)  # 60 million cells
    assert sp.issparse(encoder.transform(X.iloc[:5]))
    assert isinstance(TableEncoder().fit(X.iloc[:5000]).transform(X.iloc[:5]), np.ndarray)


def test_levels_of_too_few_rows_are_pooled_and_said():
    words = ["a"] * 200 + ["b"] * 200 + ["c", "c", "c", "d", "d", "e"]
    encoder = TableEncoder().fit(pd.DataFrame({"w": words}))
    assert encoder.get_feature_names_out().tolist() == ["w=a", "w=b", "w=c", "w=other"]
    assert "2 rare levels (fewer than 3 rows) pooled as other, and so is a new one" in encoder.describe()[1]


@pytest.mark.parametrize("classes", [2, 4])
def test_rows_of_training_get_what_other_folds_say(classes):
    X, y = even(2000, 100, classes=classes)
    encoder = TableEncoder(levels="target", standardize=False)
    Z = encoder.fit_transform(X, y)
    width = 1 if classes == 2 else classes
    names = [f"word: share of {k}" for k in range(classes - width, classes)]
    assert encoder.get_feature_names_out().tolist() == [*names, "x"] and Z.shape == (2000, width + 1)
    told = encoder.transform(X)
    assert abs(told[:, :width] - Z[:, :width]).max() > 0.01  # a row's own label is in these, and not in those
    share = np.array([np.mean(y[X["word"] == w] == classes - 1) for w in X["word"]])
    assert np.corrcoef(told[:, width - 1], share)[0, 1] > 0.999
    whole = np.array([np.mean(y == k) for k in range(classes)])[-width:]
    new = encoder.transform(X.iloc[:1].assign(word="never met"))[0, :width]
    np.testing.assert_allclose(new, whole, rtol=1e-12)


def test_labels_at_random_give_no_skill():
    """In sample, too: what the columns of training say of labels drawn at random is chance, 30 times over."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(30):
        words = pd.DataFrame({"w": np.char.add("w", rng.integers(0, 300, 900).astype(str))})
        y = rng.integers(0, 2, 900)
        Z = TableEncoder(levels="target", kinds={"w": "nominal"}).fit_transform(words, y)
        found.append(np.corrcoef(Z[:, 0], y)[0, 1] if Z[:, 0].std() > 0 else 0.0)
    assert abs(np.mean(found)) < 3 / np.sqrt(30 * 900) + 0.03


def test_target_by_column_and_refused_without_one():
    X, y = even()
    encoder = TableEncoder(kinds={"word": "target"})
    assert encoder.fit_transform(X, y).shape == (4000, 2)
    assert "'word' (target): the share of 1 in each of 200 levels" in encoder.describe()[1]
    with pytest.raises(TableError, match="column 'word' is coded by the target: give it"):
        encoder.fit(X)
    with pytest.raises(TableError, match="4000 rows and the target 7"):
        encoder.fit(X, y[:7])
    with pytest.raises(ValueError, match="levels must be one of"):
        TableEncoder(levels="some").fit(X)
    native = encoder_for("native", {"word": "target"}).fit(X, y).transform(X)
    assert native["word"].tolist() == X["word"].tolist()
    NaiveBayes().fit(native, y)


def test_numbers_have_means():
    X, _ = even()
    z = np.random.default_rng(0).normal(size=4000) + 10 * (X["word"] == "w3")
    encoder = TableEncoder(levels="target", standardize=False).fit(X, z)
    assert encoder.get_feature_names_out().tolist() == ["word: mean of the target", "x"]
    found = encoder.transform(pd.DataFrame({"word": ["w3", "w4"], "x": [0.0, 0.0]}))[:, 0]
    assert found[0] > 5 > found[1]


def test_dense_readers_get_a_column_each_up_to_a_hundred():
    X, y = even(3000, 600)
    X["few"] = np.char.add("f", (np.arange(3000) % 7).astype(str))
    encoder = encoder_for("dense", {})
    Z = encoder.fit_transform(X, y)
    assert isinstance(Z, np.ndarray) and Z.shape == (3000, 1 + 1 + 7)


def test_hashes_are_the_same_everywhere(tmp_path):
    rng = np.random.default_rng(0)
    words = np.char.add("http://ex.org/", np.r_[np.arange(150_000), np.arange(150_000)].astype(str))
    X = pd.DataFrame({"url": words, "x": rng.normal(size=300_000)})
    encoder = TableEncoder(kinds={"url": "nominal"}).fit(X)
    Z = encoder.transform(X.iloc[:4].assign(url=["http://ex.org/5", "Zürich", "", None]))
    assert Z.shape == (4, BUCKETS + 1) and bucket("Zürich", BUCKETS) == 108862
    assert Z[:, :-1].indices.tolist() == [bucket("http://ex.org/5", BUCKETS), 108862, 0]
    assert "150,000 levels hashed (CRC-32) into 131,072 columns" in encoder.describe()[1]
    save(encoder, tmp_path / "h.sepx")
    assert abs(load(tmp_path / "h.sepx").transform(X[:9]) - encoder.transform(X[:9])).max() == 0
    pytest.importorskip("onnx")
    from separatrix.files.graph import OnnxExportError
    from separatrix.files.onnx import to_onnx

    y = rng.integers(0, 2, 300_000)
    model = make_pipeline(encoder, LogisticRegression(max_iter=3, tol=1e3)).fit(X, y)
    with pytest.raises(OnnxExportError, match="column 'url' is hashed, as it has 150,000 levels"):
        to_onnx(model)


def test_files_and_graphs_of_a_target_coded_column(tmp_path):
    X, y = even(1000, 60, classes=3)
    X.loc[::9, "word"] = None
    model = make_pipeline(TableEncoder(levels="target"), LogisticRegression()).fit(X, y)
    late = X.iloc[:40].assign(word=[*X["word"].iloc[:39], "never met"])
    save(model, tmp_path / "m.sepx")
    np.testing.assert_array_equal(load(tmp_path / "m.sepx").predict_proba(late), model.predict_proba(late))
    pytest.importorskip("onnxruntime")
    from separatrix.files.onnx import to_onnx
    from separatrix.files.onnx_inputs import onnx_inputs
    from tests.files.by_graph import session

    found = session(to_onnx(model)).run(["probabilities"], onnx_inputs(model, late))[0]
    np.testing.assert_allclose(found, model.predict_proba(late), atol=1e-9)


@pytest.mark.parametrize("levels", ["ones", "target", "dense"])
def test_names_change_nothing(levels):
    X, y = even(2000, 150)
    names = {w: f"q{i}" for i, w in enumerate(np.random.default_rng(5).permutation(X["word"].unique()))}
    other = X.assign(word=X["word"].map(names))
    scores = []
    for table in (X, other):
        model = make_pipeline(TableEncoder(levels=levels), LogisticRegression(tol=1e-10)).fit(table, y)
        scores.append(model.decision_function(table))
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)


@pytest.mark.parametrize("levels", ["ones", "target"])
def test_frames_of_any_library_are_read_alike(levels):
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    X, y = even(1000, 150)
    X.loc[3, "word"] = None
    X.loc[4, "word"] = ""
    X.loc[5, "word"] = "007"
    X.loc[6, "word"] = "東京"
    X["word"] = X["word"].astype("str")
    wanted = TableEncoder(levels=levels).fit_transform(X, y)
    for other in (pl.from_pandas(X), pa.Table.from_pandas(X), X.assign(word=X["word"].astype(object))):
        np.testing.assert_allclose(TableEncoder(levels=levels).fit_transform(other, y), wanted, atol=1e-12)


def test_mixed_types_are_words():
    cells = [1, "1", 2.5, True, None, "two", ""] * 10
    X = pd.DataFrame({"m": pd.Series(cells, dtype=object), "x": np.arange(70) % 11})
    encoder = TableEncoder(rare=1, kinds={"m": "nominal"}).fit(X)
    names = [n for n in encoder.get_feature_names_out() if n.startswith("m")]
    assert names[-1] == "m is missing" and {"m=", "m=1", "m=2.5", "m=two"} <= set(names)
