"""Mixed tables as matrices: one table gives one matrix whatever holds it, and a code never changes its meaning."""

import pickle
import subprocess
import sys
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from separatrix.data.columns import Column, Encoding

quick = settings(max_examples=60, deadline=None)
nan = np.nan

ENJOY_SPORT = [
    ["sunny", "warm", "normal", "strong", "warm", "same"],
    ["sunny", "warm", "high", "strong", "warm", "same"],
    ["rainy", "cold", "high", "strong", "warm", "change"],
    ["sunny", "warm", "high", "strong", "cool", "change"],
]


class Estimator:
    """What the door needs to know of an estimator: a name, and a place to keep columns."""


def learn(X):
    estimator = Estimator()
    return estimator, Encoding.learn(estimator, X)


def encode(X):
    estimator, key = learn(X)
    return key.encode(estimator, X)


def kinds(X):
    return [c.kind for c in learn(X)[1].columns]


def levels(X, j=0):
    return learn(X)[1].columns[j].levels


def objects(rows):
    """Rows as an object array, cell by cell: NumPy makes no guess."""
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            array[i, j] = cell
    return array


def frame_of(rows):
    return {f"c{j}": list(column) for j, column in enumerate(zip(*rows, strict=True))}


def polars_of(rows, text):
    """A Polars frame in which columns of text have the given dtype, whatever of them is missing."""
    columns = frame_of(rows)
    return pl.DataFrame({k: pl.Series(v, dtype=text if is_text(v) else None) for k, v in columns.items()})


def arrow_of(rows, dictionary=False):
    columns = {k: pa.array(v) for k, v in frame_of(rows).items()}
    if dictionary:
        columns = {k: v.dictionary_encode() if v.type == pa.string() else v for k, v in columns.items()}
    return pa.table(columns)


def is_text(cells):
    return any(isinstance(v, str) for v in cells)


def pandas_of(rows, text):
    frame = pd.DataFrame(frame_of(rows))
    return frame.astype({k: text for k, v in frame_of(rows).items() if is_text(v)})


SOURCES = {
    "list of lists": lambda rows: rows,
    "tuple of tuples": lambda rows: tuple(map(tuple, rows)),
    "object array": objects,
    "pandas": lambda rows: pd.DataFrame(frame_of(rows)),
    "pandas object": lambda rows: pd.DataFrame(frame_of(rows), dtype=object),
    "pandas nullable": lambda rows: pd.DataFrame(frame_of(rows)).convert_dtypes(),
    "pandas on Arrow": lambda rows: pd.DataFrame(frame_of(rows)).convert_dtypes(dtype_backend="pyarrow"),
    "pandas string": lambda rows: pandas_of(rows, "string[python]"),
    "pandas category": lambda rows: pandas_of(rows, "category"),
    "polars": lambda rows: polars_of(rows, pl.String),
    "polars category": lambda rows: polars_of(rows, pl.Categorical),
    "arrow": arrow_of,
    "arrow dictionary": lambda rows: arrow_of(rows, dictionary=True),
}
source = pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())

# ---- every container, one matrix ----


@source
def test_enjoy_sport_reads_the_same_from_every_source(make):
    X = make(ENJOY_SPORT)
    assert levels(X) == ("rainy", "sunny") and levels(X, 4) == ("cool", "warm")
    assert encode(X).tolist() == [
        [1, 1, 1, 0, 1, 1],
        [1, 1, 0, 0, 1, 1],
        [0, 0, 0, 0, 1, 0],
        [1, 1, 0, 0, 0, 0],
    ]


def test_an_array_of_text_reads_as_a_list_does():
    for dtype in ("U", np.dtypes.StringDType()):
        np.testing.assert_array_equal(encode(np.array(ENJOY_SPORT, dtype=dtype)), encode(ENJOY_SPORT))
    assert levels(np.array([[b"x"], [b"a"]])) == (b"a", b"x")


@source
def test_mixed_columns_with_missing_cells(make):
    rows = [["b", 1.5, True, "x"], [None, None, None, "y"], ["a", -2.0, False, "x"], ["b", 3.0, True, None]]
    X = make(rows)
    assert kinds(X) == ["category", "number", "boolean", "category"]
    matrix = encode(X)
    expected = [[1, 1.5, 1, 0], [nan, nan, nan, 1], [0, -2, 0, 0], [1, 3, 1, nan]]
    np.testing.assert_array_equal(matrix, expected)
    assert matrix.dtype == np.float64 and matrix.flags.c_contiguous


cells = st.none() | st.sampled_from(["", "a", "b", "ab", "é", "0", "nan", "None"])
tables = st.lists(
    st.tuples(cells, st.none() | st.floats(-10, 10), st.none() | st.booleans()), min_size=1, max_size=12
).map(lambda rows: [["a", 0.5, True], *map(list, rows)])


@quick
@given(tables)
def test_sources_agree_on_any_table(rows):
    expected = encode(rows)
    for make in SOURCES.values():
        np.testing.assert_array_equal(encode(make(rows)), expected)


@quick
@given(tables)
def test_a_code_leads_back_to_its_cell(rows):
    estimator, key = learn(rows)
    matrix = key.encode(estimator, rows)
    for column, codes, cells in zip(key.columns, matrix.T, zip(*rows, strict=True), strict=True):
        for code, cell in zip(codes, cells, strict=True):
            if column.kind == "category":
                assert cell is None if np.isnan(code) else cell == column.levels[int(code)]
            else:
                assert np.isnan(code) if cell is None else code == cell


@quick
@given(tables, st.data())
def test_any_rows_of_the_training_table_encode_as_they_did(rows, data):
    taken = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1))
    for make in (SOURCES["list of lists"], objects, SOURCES["pandas object"], SOURCES["arrow"]):
        estimator, key = learn(make(rows))
        part = key.encode(estimator, make([rows[i] for i in taken]))
        np.testing.assert_array_equal(part, key.encode(estimator, make(rows))[taken])


@quick
@given(st.lists(st.sampled_from([1, 1.0, True, 0, "a", "1", None, nan, 2.5, (1, 2)]), min_size=1))
def test_the_order_of_rows_does_not_matter(column):
    rows = objects([[v] for v in column])
    estimator, key = learn(rows)
    assert Encoding.learn(estimator, rows[::-1]) == key
    np.testing.assert_array_equal(key.encode(estimator, rows[::-1]), key.encode(estimator, rows)[::-1])


@quick
@given(st.lists(st.sampled_from([1, True, 0, "a", "b", None, nan, 2.5]), min_size=1), st.data())
def test_any_rows_of_a_column_of_mixed_types_encode_as_they_did(column, data):
    taken = data.draw(st.lists(st.integers(0, len(column) - 1), min_size=1))
    for make in (
        list,
        objects,
        lambda rows: pd.DataFrame({"c": pd.Series([v for (v,) in rows], dtype=object)}),
    ):
        estimator, key = learn(make([[v] for v in column]))
        part = key.encode(estimator, make([[column[i]] for i in taken]))
        np.testing.assert_array_equal(part, key.encode(estimator, make([[v] for v in column]))[taken])


def test_a_hundred_thousand_rows():
    rng = np.random.default_rng(0)
    names = np.array([f"level {k:04d}" for k in range(1000)], dtype=object)
    codes = rng.integers(0, 1000, (100_000, 2))
    X = names[codes]
    for table in (X, pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X.tolist(), ["a", "b"], orient="row")):
        np.testing.assert_array_equal(encode(table), codes)


# ---- kinds ----


def test_kinds_follow_dtypes():
    frame = pd.DataFrame(
        {
            "f": [0.5, nan],
            "i": [1, 2],
            "u": np.array([1, 2], dtype=np.uint8),
            "b": [True, False],
            "I": pd.array([1, None], dtype="Int64"),
            "B": pd.array([True, None], dtype="boolean"),
            "F": pd.array([1.5, None], dtype="Float64"),
            "c": pd.Categorical([30, 4]),
        }
    )
    assert kinds(frame) == ["number", "whole", "whole", "boolean", "whole", "boolean", "number", "category"]
    np.testing.assert_array_equal(
        encode(frame), [[0.5, 1, 1, 1, 1, 1, 1.5, 1], [nan, 2, 2, 0, *[nan] * 3, 0]]
    )
    for dtype, kind in (("f4", "number"), ("i2", "whole"), ("u8", "whole"), ("?", "boolean")):
        assert kinds(np.ones((2, 1), dtype=dtype)) == [kind]
    for make in (pl.DataFrame, pa.table):
        assert kinds(make({"i": [1, None], "f": [0.5, nan], "b": [True, None], "s": ["a", None]})) == [
            *("whole", "number", "boolean", "category")
        ]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ([1, 2.5, Fraction(1, 2), Decimal("0.25"), np.float32(3), None], "number"),
        ([1, 2], "whole"),
        ([True, None, np.True_, False], "boolean"),
        ([True, 1], "whole"),
        ([1.0, True], "number"),
        ([1, "a"], "category"),
        ([True, "a", nan], "category"),
        ([None, nan], "category"),
        ([(1, 2), (0, 3)], "category"),
    ],
)
def test_kinds_of_objects_follow_their_cells(column, kind):
    rows = objects([[v] for v in column])
    assert kinds(rows) == [kind]
    assert kinds(pd.DataFrame({"a": pd.Series(column, dtype=object)})) == [kind]
    if kind != "category":
        wanted = [nan if v is None else float(v) for v in column]
        np.testing.assert_array_equal(encode(rows)[:, 0], wanted)


def test_lists_of_numbers_are_arrays_of_numbers():
    assert kinds([[1, 2], [3, 4]]) == ["whole", "whole"]
    assert kinds([[1, 2.5], [3, 4]]) == ["number", "number"]
    assert kinds([[True], [False]]) == ["boolean"]
    assert kinds([[True, 2.5], [False, 1]]) == ["boolean", "number"]
    assert kinds([np.array([1.0, 2.0]), np.array([3.0, 4.0])]) == ["number", "number"]


def test_levels_are_sorted_and_declared_ones_kept_as_declared():
    assert levels([["b"], ["a"], ["B"]]) == ("B", "a", "b")
    assert levels([["b"], [10], [2], [(1,)]]) == (2, 10, "b", (1,))
    declared = ["low", "mid", "high", "never"]
    for ordered in (False, True):
        column = pd.Categorical(["high", None, "low"], categories=declared, ordered=ordered)
        frame = pd.DataFrame({"c": column})
        assert levels(frame) == tuple(declared)
        np.testing.assert_array_equal(encode(frame), [[2], [nan], [0]])
    frame = pl.DataFrame({"c": ["high", None, "low"]}, schema={"c": pl.Enum(declared)})
    assert levels(frame) == tuple(declared)
    np.testing.assert_array_equal(encode(frame), [[2], [nan], [0]])
    assert all(type(v) is int for v in levels(objects([[np.int64(3)], ["a"]])) if v != "a")
    chunks = pa.chunked_array(
        [pa.array(["b"]).dictionary_encode(), pa.array(["a", None]).dictionary_encode()]
    )
    np.testing.assert_array_equal(encode(pa.table({"c": chunks})), [[1], [0], [nan]])
    assert levels(pa.table({"c": pa.array([7, 5, None]).dictionary_encode()})) == (5, 7)


def test_a_number_is_one_level_however_it_is_typed():
    estimator, key = learn([[1], ["a"], [2.5]])
    rows = objects([[1.0], [np.int8(1)], [True], ["1"], [Decimal("2.5")]])
    assert key.encode(estimator, rows)[:, 0].tolist() == [0, 0, 0, -1, 1]
    estimator, key = learn(pd.DataFrame({"c": pd.Categorical([3, 4])}))
    assert key.encode(estimator, pd.DataFrame({"c": pd.Categorical([4.0, 3.0])})).tolist() == [[1], [0]]


# ---- missing and unseen ----


@pytest.mark.parametrize(
    "missing", [None, nan, np.float32(nan), float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("nan")]
)
def test_every_way_to_say_missing(missing):
    rows = [["a", 1.0, True], [missing] * 3]
    for X in (rows, objects(rows), pd.DataFrame(frame_of(rows), dtype=object)):
        assert kinds(X) == ["category", "number", "boolean"]
        np.testing.assert_array_equal(encode(X), [[0, 1, 1], [nan] * 3])


def test_missing_in_text_categories_and_masks():
    for dtype in ("str", "string", "category", object, pd.ArrowDtype(pa.string())):
        frame = pd.DataFrame({"c": pd.Series(["a", None, "b", nan, pd.NA], dtype=object).astype(dtype)})
        np.testing.assert_array_equal(encode(frame)[:, 0], [0, nan, 1, nan, nan])
    numbers = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(encode(numbers), [[1, nan], [3, 4]])
    words = np.ma.array([["a"], ["b"]], mask=[[0], [1]])
    np.testing.assert_array_equal(encode(words), [[0], [nan]])


EMPTY = {
    "objects": objects([[None], [nan]]),
    "floats": np.full((2, 1), nan),
    "pandas": pd.DataFrame({"c": [None, None]}),
    "pandas text": pd.DataFrame({"c": pd.Series([None, None], dtype="str")}),
    "pandas floats": pd.DataFrame({"c": [nan, nan]}),
    "pandas category": pd.DataFrame({"c": pd.Categorical([None, None])}),
    "polars null": pl.DataFrame({"c": [None, None]}),
    "polars text": pl.DataFrame({"c": [None, None]}, schema={"c": pl.String}),
    "polars enum": pl.DataFrame({"c": [None, None]}, schema={"c": pl.Enum(["z"])}),
    "arrow null": pa.table({"c": pa.nulls(2)}),
    "arrow text": pa.table({"c": pa.nulls(2, pa.string())}),
}


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY.keys())
@pytest.mark.parametrize("trained", [["a", "b"], [0.5, 1.5], [1, 2], [True, False]], ids=str)
@pytest.mark.filterwarnings("ignore:X (has feature names|does not have valid)")
def test_a_column_of_missing_cells_is_of_every_kind(trained, empty):
    estimator, key = learn(pd.DataFrame({"c": trained}))
    assert np.isnan(key.encode(estimator, empty)).all()
    assert key.extended(estimator, empty).columns[0].kind == key.columns[0].kind
    assert np.isnan(encode(empty)).all()


def test_unseen_levels():
    estimator, key = learn([["a", "x"], ["b", "x"]])
    np.testing.assert_array_equal(key.encode(estimator, [["c", "x"], [None, "A"]]), [[-1, 0], [nan, -1]])
    np.testing.assert_array_equal(key.encode(estimator, [["c", "x"]], unseen=nan), [[nan, 0]])
    np.testing.assert_array_equal(key.encode(estimator, [["c", "x"]], unseen=7.0), [[7, 0]])


# ---- arrays of numbers ----


def test_arrays_of_numbers_are_not_copied():
    for X in (np.array([[1.0, nan], [np.inf, -np.inf]]), np.ones((3, 2), dtype=np.float32)):
        assert encode(X) is X
        F = np.asfortranarray(X)
        assert encode(F).flags.c_contiguous or X.dtype == np.float32
        np.testing.assert_array_equal(encode(F), X)
    for dtype in (np.int64, np.uint8, bool, np.float16, np.longdouble):
        matrix = encode(np.eye(3, dtype=dtype))
        assert matrix.dtype == np.float64 and matrix.flags.c_contiguous
        np.testing.assert_array_equal(matrix, np.eye(3))


def test_infinities_are_left_to_the_caller():
    for X in (pd.DataFrame({"a": [np.inf, 1.0]}), objects([[np.inf, "a"], [1.0, "b"]])):
        assert encode(X)[0, 0] == np.inf


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
