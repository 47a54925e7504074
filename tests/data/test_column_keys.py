"""What an encoding keeps of its columns: keys that extend and merge, names, and what it refuses."""

import pickle
import subprocess
import sys
from datetime import date, timedelta

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from separatrix.data.columns import Column, Encoding
from tests.data.column_sources import ENJOY_SPORT, cells, encode, learn, nan, quick

# ---- laws of keys ----

word_tables = st.lists(st.tuples(cells, st.none() | st.sampled_from("xyz")), min_size=1, max_size=8)


@quick
@given(word_tables, word_tables)
def test_extending_keeps_codes_and_equals_merging(first, second):
    estimator, key = learn(pd.DataFrame(first, columns=["a", "b"], dtype="str"))
    batch = pd.DataFrame(second, columns=["a", "b"], dtype="str")
    longer, other = key.extended(estimator, batch), learn(batch)[1]
    assert longer == key.merged(other)
    for old, new in zip(key.columns, longer.columns, strict=True):
        assert new.levels[: len(old.levels)] == old.levels and len(set(new.levels)) == len(new.levels)
    old, new = key.encode(estimator, batch), longer.encode(estimator, batch)
    np.testing.assert_array_equal(np.where(old == -1, new, old), new)
    assert not (new == -1).any()
    assert longer.extended(estimator, batch) == longer


@quick
@given(word_tables, word_tables, word_tables)
def test_merging_is_associative_and_recoding_follows_it(first, second, third):
    frames = [pd.DataFrame(t, columns=["a", "b"], dtype="str") for t in (first, second, third)]
    estimator, one = learn(frames[0])
    two, three = (learn(f)[1] for f in frames[1:])
    merged = one.merged(two).merged(three)
    assert merged == one.merged(two.merged(three))
    assert one.merged(one) == one
    for frame, key in zip(frames, (one, two, three), strict=True):
        own, wanted = key.encode(estimator, frame), merged.encode(estimator, frame)
        for j, move in enumerate(merged.recode(key)):
            seen = ~np.isnan(own[:, j])
            np.testing.assert_array_equal(move[own[seen, j].astype(int)], wanted[seen, j])
            np.testing.assert_array_equal(np.isnan(wanted[:, j]), ~seen)


def test_recode_is_none_where_there_are_no_codes():
    key = learn([["a", 1.5], ["b", 2]])[1]
    moves = key.recode(key)
    assert moves[0].tolist() == [0, 1] and moves[0].dtype == np.intp and moves[1] is None


def test_keys_are_values():
    key = learn(ENJOY_SPORT)[1]
    assert pickle.loads(pickle.dumps(key)) == key == learn(ENJOY_SPORT)[1] and hash(key)
    with pytest.raises(AttributeError):
        key.columns = ()


def test_whole_and_number_are_exchangeable():
    estimator, whole = learn(pd.DataFrame({"a": [1, 2]}))
    number = learn(pd.DataFrame({"a": [1.5]}))[1]
    assert whole.merged(number) == whole and number.merged(whole) == number
    assert whole.encode(estimator, pd.DataFrame({"a": [0.5]})).tolist() == [[0.5]]
    assert number.encode(estimator, pd.DataFrame({"a": [3]})).tolist() == [[3.0]]
    assert whole.extended(estimator, pd.DataFrame({"a": [0.5]})) == whole
    assert number.encode(estimator, pd.DataFrame({"a": [True]})).tolist() == [[1.0]]


def test_booleans_may_come_as_zeros_and_ones():
    estimator, key = learn(np.array([[True], [False]]))
    assert key.encode(estimator, np.array([[0], [1]])).tolist() == [[0], [1]]
    np.testing.assert_array_equal(key.encode(estimator, np.array([[nan], [1]])), [[nan], [1]])
    with pytest.raises(
        ValueError, match=r"column 0 was boolean in training and is whole now \(row 1 holds 2\)"
    ):
        key.encode(estimator, np.array([[0], [2]]))


# ---- names ----


def test_names_and_numbers_of_columns_are_learned_and_compared():
    frame = pd.DataFrame({"sky": ["sunny"], "wind": [3]})
    estimator, key = learn(frame)
    assert estimator.feature_names_in_.tolist() == ["sky", "wind"] and estimator.n_features_in_ == 2
    assert [c.name for c in key.columns] == ["sky", "wind"]
    with pytest.raises(ValueError, match="feature names should match"):
        key.encode(estimator, frame.rename(columns={"sky": "Sky"}))
    with pytest.raises(ValueError, match="feature names should match"):
        key.extended(estimator, frame[["wind", "sky"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert key.encode(estimator, [["sunny", 3]]).tolist() == [[0, 3]]
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(ValueError, match="X has 1 features, but Estimator is expecting 2"),
    ):
        key.encode(estimator, [["sunny"]])
    estimator, key = learn([["sunny", 3]])
    assert [c.name for c in key.columns] == [0, 1] and not hasattr(estimator, "feature_names_in_")
    assert [c.name for c in learn(pd.DataFrame([["a", 1]], columns=[7, 3]))[1].columns] == [0, 1]


def test_columns_and_rows_named_like_methods_are_harmless():
    frame = pd.DataFrame({"collect": ["a", "b"], "compute": ["x", None]}, index=["cat", "dtype"])
    np.testing.assert_array_equal(encode(frame), [[0, 0], [1, nan]])
    np.testing.assert_array_equal(encode(frame.astype("category")), [[0, 0], [1, nan]])


# ---- refusals ----


@pytest.mark.parametrize(
    ("trained", "now", "sentence"),
    [
        (["a", "b"], [1, 2], r"column 'c' was category in training and is whole now \(row 0 holds 1.0\)"),
        (
            ["a", "b"],
            [nan, 0.5],
            r"column 'c' was category in training and is number now \(row 1 holds 0.5\)",
        ),
        (["a", "b"], [True, False], "column 'c' was category in training and is boolean now"),
        ([1, 2], [None, "b"], r"column 'c' was whole in training and is category now \(row 1 holds 'b'\)"),
        ([True, False], ["True", "x"], "column 'c' was boolean in training and is category now"),
        (
            [True, False],
            [1.0, 0.5],
            r"column 'c' was boolean in training and is number now \(row 1 holds 0.5\)",
        ),
    ],
)
def test_a_changed_kind_is_refused_by_name(trained, now, sentence):
    estimator, key = learn(pd.DataFrame({"c": trained}))
    for method in (key.encode, key.extended):
        with pytest.raises(ValueError, match=sentence):
            method(estimator, pd.DataFrame({"c": now}))
        with pytest.raises(ValueError, match=sentence.split(" and ")[0]):
            method(estimator, pl.DataFrame({"c": now}))


def test_integer_categories_are_not_integers():
    estimator, key = learn(pd.DataFrame({"c": pd.Categorical([1, 2])}))
    with pytest.raises(ValueError, match="column 'c' was category in training and is whole now"):
        key.encode(estimator, pd.DataFrame({"c": [1, 2]}))


def test_mixed_levels_may_come_as_numbers_alone():
    estimator, key = learn([[1, "x"], ["many", "x"], [2, "y"]])
    assert key.columns[0].levels == (1, 2, "many")
    assert key.encode(estimator, [[2, "x"], [3, "x"]])[:, 0].tolist() == [1, -1]
    assert key.extended(estimator, [[3, "x"]]).columns[0].levels == (1, 2, "many", 3)
    estimator, key = learn([[1], ["many"]])
    np.testing.assert_array_equal(key.encode(estimator, np.array([[1.0], [nan], [2.0]])), [[0], [nan], [-1]])


def test_other_columns_do_not_merge():
    key = Encoding((Column("a", "category", ("x",)), Column("b", "number")))
    with pytest.raises(ValueError, match="one encoding has 2 columns, the other 1"):
        key.merged(Encoding(key.columns[:1]))
    with pytest.raises(ValueError, match=r"column 'b' \(number\) is 'c' \(number\) in the other"):
        key.merged(Encoding((key.columns[0], Column("c", "number"))))
    with pytest.raises(ValueError, match=r"column 'b' \(number\) is 'b' \(category\) in the other"):
        key.recode(Encoding((key.columns[0], Column("b", "category", ("x",)))))
    with pytest.raises(ValueError, match="column 'a': level 'y' has no code here, merge first"):
        key.recode(Encoding((Column("a", "category", ("x", "y")), key.columns[1])))


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"when": pd.to_datetime(["2024-01-01"])}),
        pd.DataFrame({"when": pd.Series([date(2024, 1, 1)], dtype=object)}),
        pd.DataFrame({"when": [timedelta(1)]}),
        pd.DataFrame({"when": pd.period_range("2024", periods=1, freq="D")}),
        pl.DataFrame({"when": [date(2024, 1, 1)]}),
        pl.DataFrame({"when": [[1, 2]]}),
        pa.table({"when": [date(2024, 1, 1)]}),
        pd.DataFrame({"when": [[1, 2]]}),
        pd.DataFrame({"when": pd.Series([1j], dtype=object)}),
    ],
    ids=lambda X: f"{type(X).__module__.split('.')[0]}",
)
def test_dates_and_nested_cells_are_refused_by_name_with_the_way_out(X):
    with pytest.raises(ValueError, match=r"column 'when' is .*give the numbers meant .* or drop the column"):
        learn(X)


def test_dates_in_arrays_and_lists_are_refused():
    for unit in ("ns", "D"):
        with pytest.raises(ValueError, match="column 0 is datetime64"):
            learn(np.array([["2024-01-01"]], dtype=f"M8[{unit}]"))
    with pytest.raises(ValueError, match="column 1 is date"):
        learn([["a", date(2024, 1, 1)]])


def test_what_is_not_a_dense_table_in_memory_is_refused_in_one_sentence():
    frame = pd.DataFrame({"a": ["x", "y"]})
    with pytest.raises(TypeError, match=r"X is a sparse matrix .*: call X.toarray\(\)"):
        learn(sparse.csr_array(np.eye(2)))
    for X in (da.ones((2, 2)), dd.from_pandas(frame, npartitions=1)):
        with pytest.raises(TypeError, match=r"call X.compute\(\)"):
            learn(X)
    with pytest.raises(TypeError, match=r"call X.collect\(\)"):
        learn(pl.LazyFrame({"a": [1]}))


def test_shapes_that_are_no_table_are_refused():
    for X in (["a", "b"], np.array(["a"]), [1.0, 2.0], pd.Series(["a"])):
        with pytest.raises(ValueError, match=r"Expected 2D array|Expected a 2-dimensional container"):
            learn(X)
    for X in (np.empty((0, 2)), pd.DataFrame({"a": []}), pl.DataFrame({"a": []})):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            learn(X)
    for X in (np.empty((3, 0)), pd.DataFrame(index=[1, 2])):
        with pytest.raises(ValueError, match=r"0 feature\(s\)"):
            learn(X)
    with pytest.raises(ValueError):
        learn([["a", "b"], ["c"]])
    with pytest.raises(ValueError, match="Complex data not supported"):
        learn(np.array([[1j]]))


def test_no_frame_library_is_needed():
    program = """
import sys
for name in ("pandas", "polars", "pyarrow", "dask"):
    sys.modules[name] = None
from separatrix.data.columns import Encoding
class Estimator: pass
e = Estimator()
rows = [["b", 1.5, True], [None, 2, None], ["a", None, False]]
print(Encoding.learn(e, rows).encode(e, rows).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[[1.0, 1.5, 1.0], [nan, 2.0, nan], [0.0, nan, 0.0]]", done.stderr
