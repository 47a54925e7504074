"""Mixed tables as matrices: one table gives one matrix whatever holds it, and a code never changes its meaning."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.data.columns import Encoding
from tests.data.column_sources import (
    ENJOY_SPORT,
    SOURCES,
    encode,
    frame_of,
    kinds,
    learn,
    levels,
    nan,
    objects,
    quick,
    source,
    tables,
)

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
