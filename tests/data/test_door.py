"""Labels and weights as they are read at the door: any hashable label, weights as repetitions, culprits named."""

import warnings
from datetime import date
from fractions import Fraction

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from separatrix.core.statistics import Moments
from separatrix.data.door import (
    column_name,
    drop_absent_classes,
    is_count,
    is_dask,
    is_positive,
    read_labels,
    read_table,
    read_weights,
    refuse_nonfinite,
    refuse_one_class,
    rows_of,
)
from tests.draws import examples

quick = examples(60)


class Estimator:
    """What the door needs to know of an estimator: a name, and a place to keep columns."""


def decoded(y, n=None):
    classes, codes = read_labels(y, len(y) if n is None else n)
    assert codes.min(initial=0) >= 0 and codes.max(initial=-1) < max(len(classes), 1)
    return classes, codes


# ---- labels: laws ----

LABELS = {
    "integers": st.integers(-(2**60), 2**60),
    "small integers": st.integers(-3, 3),
    "booleans": st.booleans(),
    "strings": st.text("abcé ", max_size=3),
    "whole floats": st.integers(-5, 5).map(float),
    "tuples": st.tuples(st.integers(0, 2), st.text("xy", max_size=1)),
    "dates": st.integers(1, 28).map(lambda d: date(2024, 1, d)),
    "mixed": st.one_of(
        st.integers(0, 3), st.text("ab", min_size=1, max_size=1), st.tuples(st.integers(0, 2))
    ),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
@quick
@given(data=st.data())
def test_classes_and_codes_give_the_labels_back(labels, data):
    y = data.draw(st.lists(labels, min_size=1, max_size=12))
    classes, codes = decoded(y)
    listed = classes.tolist()
    assert [listed[c] for c in codes] == y
    assert len(set(listed)) == len(listed) == len(set(y))


@pytest.mark.parametrize("name", ["integers", "small integers", "booleans", "strings", "whole floats"])
@quick
@given(data=st.data())
def test_classes_that_can_be_compared_are_sorted(name, data):
    y = data.draw(st.lists(LABELS[name], min_size=1, max_size=12))
    classes, _ = decoded(y)
    assert classes.tolist() == sorted(set(y))


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
@quick
@given(data=st.data())
def test_the_order_of_rows_does_not_decide_the_order_of_classes(labels, data):
    y = data.draw(st.lists(labels, min_size=1, max_size=8))
    moved = data.draw(st.permutations(y))
    assert decoded(y)[0].tolist() == decoded(moved)[0].tolist()


# ---- labels: containers ----

CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "object array": lambda y: np.array(y, dtype=object),
    "pandas": pd.Series,
    "pandas with another index": lambda y: pd.Series(y, index=np.arange(len(y))[::-1] + 5),
    "pandas category": lambda y: pd.Series(y).astype("category"),
    "polars": pl.Series,
    "column": lambda y: np.array(y)[:, None],
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
@pytest.mark.parametrize("y", [["b", "a", "b"], [3, -1, 3], [True, False, True]], ids=["text", "int", "bool"])
def test_every_container_holds_the_same_labels(container, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        classes, codes = decoded(container(y))
    assert classes.tolist() == sorted(set(y)) and codes.tolist() == [1, 0, 1]


def test_a_dask_array_of_labels_is_read():
    classes, codes = decoded(da.from_array(np.array([2, 1, 2]), chunks=2))
    assert classes.tolist() == [1, 2] and codes.tolist() == [1, 0, 1]


def test_a_column_of_labels_is_accepted_with_scikit_learns_warning():
    with pytest.warns(DataConversionWarning):
        classes, _ = decoded(np.array([[1], [0]]))
    assert classes.tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.bool_, np.float32, "U3", "S3"])
def test_classes_keep_the_labels_dtype(dtype):
    y = np.array([1, 0, 1]).astype(dtype)
    assert decoded(y)[0].dtype == y.dtype


def test_integers_far_apart_and_at_the_ends_of_their_type():
    y = np.array([2**63 - 1, -(2**63), 0])
    classes, codes = decoded(y)
    assert classes.tolist() == sorted(y.tolist()) and codes.tolist() == [2, 0, 1]


def test_unsigned_integers_beyond_the_signed():
    y = np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], dtype=np.uint64)
    classes, codes = decoded(y)
    assert classes.tolist() == [2**64 - 3, 2**64 - 1] and codes.tolist() == [1, 0, 1]


def test_labels_of_one_row_and_of_none():
    assert decoded(["only"])[0].tolist() == ["only"]
    classes, codes = read_labels(np.array([], dtype=int), 0)
    assert len(classes) == len(codes) == 0


# ---- labels: refusals ----


@pytest.mark.parametrize(
    "y, n, message",
    [
        (None, 2, "requires y"),
        ([0, 1], 3, "X has 3 rows, y has 2 labels"),
        ([0.5, 1.5], 2, "Unknown label type: continuous"),
        ([0.0, np.nan], 2, "Input y contains NaN: row 1"),
        ([0.0, np.inf], 2, "Input y contains infinity: row 1"),
        (["a", None, "b", None], 4, r"row 1 has no label \(2 rows in all\)"),
        (np.array(["a", np.nan], dtype=object), 2, "row 1 has no label"),
        (np.zeros((2, 2)), 2, "1d array"),
        (np.array([[1], [2]], dtype=object)[None].repeat(2, 0), 2, "array"),
        (np.array([{}, {}], dtype=object), 2, "hashable"),
        (np.array([0.5, 1], dtype=object), 2, "continuous"),
    ],
)
def test_labels_that_cannot_be_are_refused(y, n, message):
    with pytest.raises(ValueError, match=message):
        read_labels(y, n)


@pytest.mark.parametrize(
    "y", [pd.Series([1, None], dtype="Int64"), pd.Series(["a", None]), pl.Series([1, None])]
)
def test_a_missing_label_of_a_frame_is_refused_by_row(y):
    with pytest.raises(ValueError, match="row 1 has no label"):
        read_labels(y, 2)


def test_one_class_is_refused_by_name():
    with pytest.raises(ValueError, match=r"at least 2 classes.*only one class: 'a'"):
        refuse_one_class(np.array(["a"]))
    with pytest.raises(ValueError, match="at least 2 classes"):
        refuse_one_class(np.array([]))
    refuse_one_class(np.array([0, 1]))


# ---- weights ----


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, pd.Series, pl.Series, lambda w: da.from_array(np.array(w), chunks=1)],
    ids=["list", "tuple", "array", "pandas", "polars", "dask"],
)
def test_weights_of_every_container_are_float64(container):
    weight = read_weights(container([1, 0, 2]), 3)
    assert weight.dtype == np.float64 and weight.tolist() == [1, 0, 2]


def test_no_weights_are_none_and_a_number_is_a_number_for_each():
    assert read_weights(None, 3) is None
    assert read_weights(2, 3).tolist() == [2, 2, 2]
    assert read_weights(np.float32(0.5), 2).tolist() == [0.5, 0.5]


def test_the_callers_weights_are_not_changed():
    own = np.array([1.0, 2.0])
    assert read_weights(own, 2).tolist() == [1, 2]
    assert own.tolist() == [1, 2]


@pytest.mark.parametrize(
    "weight, message",
    [
        ([1.0, -0.5], "row 1 has weight -0.5"),
        ([np.nan, 1.0], "row 0 has weight nan"),
        ([1.0, np.inf], "row 1 has weight inf"),
        ([0.0, 0.0], "zero in every row"),
        ([1.0], r"sample_weight.shape == \(1,\), expected \(2,\)"),
        ([[1.0], [1.0]], r"1D array or scalar, got shape \(2, 1\)"),
        (["a", "b"], "must be numbers"),
        ([1 + 2j, 1], "must be numbers"),
        (-1, "row 0 has weight -1"),
    ],
)
def test_weights_that_cannot_be_are_refused_by_row(weight, message):
    with pytest.raises(ValueError, match=message):
        read_weights(weight, 2)


# ---- absent classes ----


@quick
@given(st.data())
def test_a_class_without_weight_is_absent(data):
    k = data.draw(st.integers(1, 5))
    codes = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=1, max_size=12)))
    weight = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.5, 2.0]), min_size=len(codes), max_size=len(codes)))
    )
    classes = np.array([f"c{i}" for i in range(k)])
    kept, renumbered, totals = drop_absent_classes(classes, codes, weight)
    present = weight > 0
    assert kept.tolist() == sorted({f"c{c}" for c in codes[present]})
    assert kept[renumbered[present]].tolist() == classes[codes[present]].tolist()
    assert totals.sum() == pytest.approx(weight.sum()) and (totals > 0).all()


def test_without_weights_totals_are_counts():
    classes, codes, totals = drop_absent_classes(np.array([5, 7]), np.array([0, 1, 1]), None)
    assert classes.tolist() == [5, 7] and codes.tolist() == [0, 1, 1] and totals.tolist() == [1, 2]


# ---- numbers as parameters ----


def test_what_is_a_positive_number():
    for good in (1, 0.5, 1e-300, np.inf, np.float32(2), np.int64(3)):
        assert is_positive(good)
    for bad in (0, -1, np.nan, True, None, "1", [1], 1 + 0j, -np.inf):
        assert not is_positive(bad)
    assert not is_positive(np.inf, finite=True) and is_positive(1e308, finite=True)


def test_what_is_a_whole_number():
    assert is_count(3) and is_count(np.int64(0)) and is_count(-1)
    for bad in (3.0, True, "3", None, Fraction(3)):
        assert not is_count(bad)


# ---- tables become rows ----


def test_a_dask_array_becomes_rows_on_its_own_chunks():
    X = np.arange(20.0).reshape(10, 2)
    lazy = da.from_array(X, chunks=((3, 3, 4), (1, 1)))
    assert is_dask(lazy) and not is_dask(X) and not is_dask(sparse.csr_matrix(X))
    rows = rows_of(Estimator(), read_table(Estimator(), lazy, reset=True))
    assert rows.edges == (0, 3, 6, 10) and rows.lazy and (rows.n, rows.p) == (10, 2)
    assert np.array_equal(np.vstack([rows.block(i).X for i in range(3)]), X)


def test_a_dask_array_of_unknown_chunks_is_measured():
    X = np.arange(20.0).reshape(10, 2)
    lazy = da.from_array(X, chunks=(4, 2))
    lazy = lazy[lazy[:, 0] > 3]
    rows = rows_of(Estimator(), lazy)
    assert rows.n == 8
    assert np.array_equal(np.vstack([rows.block(i).X for i in range(rows.n_blocks)]), X[2:])


@pytest.mark.parametrize("bad, what", [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, lambda X: da.from_array(X, chunks=(4, 2))])
def test_a_cell_that_is_not_finite_is_named_by_column_and_row(bad, what, kind):
    X = np.ones((10, 2))
    X[7, 1] = bad
    rows = rows_of(Estimator(), kind(X))
    with pytest.raises(ValueError, match=f"contains {what}: column 1, row 7"):
        refuse_nonfinite(Estimator(), rows, rows.moments())
    named = Estimator()
    named.feature_names_in_ = np.array(["age", "dose"], dtype=object)
    assert column_name(named, 1) == "'dose'"
    with pytest.raises(ValueError, match=f"contains {what}: column 'dose', row 7"):
        refuse_nonfinite(named, rows, rows.moments())


def test_cells_too_large_to_average_are_named():
    X = np.full((10, 2), 1.0)
    X[:, 1] = 1.7e308
    rows = rows_of(Estimator(), X)
    moments = rows.moments()
    if not np.isfinite(moments.mean).all():
        with pytest.raises(ValueError, match="column 1 holds values too large"):
            refuse_nonfinite(Estimator(), rows, moments)
    refuse_nonfinite(Estimator(), rows, Moments.of(np.ones((3, 2))))
