"""Which parameters and tables are cut, and which are refused with a way out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from separatrix.data.discretise import Discretizer
from tests.data.discretise_tables import nan, same_cuts

# ---- refusals ----


class Unreadable:
    """A table that must not be looked at: parameters come first."""

    def __getattribute__(self, name):
        raise AssertionError(f"X was read: {name}")


@pytest.mark.parametrize(
    "parameters, sentence",
    [
        ({"method": "quantile"}, "method 'quantile' is unknown"),
        ({"method": None}, "method None is unknown"),
        ({"bins": 1}, "bins must be a whole number of at least 2, got 1"),
        ({"bins": 2.0}, "bins must be a whole number"),
        ({"bins": True}, "bins must be a whole number"),
        ({"cuts": "ab"}, "cuts must be a list with one entry a column"),
        ({"cuts": 3}, "cuts must be a list with one entry a column"),
        ({"cuts": [0.5, 1.0]}, "cuts of column 0 must be a list of numbers, got 0.5"),
        ({"cuts": [["x"]]}, "cuts of column 0 must be a list of numbers"),
        ({"cuts": {"age": [1, 1]}}, "cuts of column 'age' must increase: 1.0 follows 1.0"),
        ({"cuts": [None, [2, 1]]}, "cuts of column 1 must increase: 1.0 follows 2.0"),
        ({"cuts": {"age": [0, nan]}}, "cuts of column 'age' must be finite: number 1 is nan"),
        ({"cuts": {2: [0, np.inf]}}, "cuts of column 2 must be finite: number 1 is inf"),
        ({"cuts": {1.5: [0]}}, "cuts must name columns by name or number, got 1.5"),
        ({"y": None}, 'method "mdl" requires y to be passed'),
        ({"y": None, "cuts": [[1.0], None]}, 'method "mdl" requires y to be passed'),
    ],
)
def test_parameters_are_refused_before_data_is_read(parameters, sentence):
    y = parameters.pop("y", [0, 1])
    with pytest.raises(ValueError, match=sentence):
        Discretizer(**parameters).fit(Unreadable(), y)


@pytest.mark.parametrize(
    "cuts, sentence",
    [
        ([[1.0]], "cuts has 1 entries and X has 2 columns"),
        ([], "cuts has 0 entries and X has 2 columns"),
        ({2: [1.0]}, "cuts names column 2, but X has 2 columns: use 0 to 1"),
        ({-1: [1.0]}, "cuts names column -1, but X has 2 columns"),
        ({"c": [1.0]}, "cuts names column 'c', which X does not have: its columns are 'a', 'b'"),
        ({"a": [1.0], 0: [2.0]}, "cuts names column 'a' twice"),
        ({"a": [1.0]}, None),
    ],
)
def test_cuts_that_do_not_fit_the_table_are_refused(cuts, sentence):
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    if sentence is not None:
        with pytest.raises(ValueError, match=sentence):
            Discretizer("width", cuts=cuts).fit(X)
    else:
        with pytest.raises(ValueError, match="X has no column names: use 0 to 1"):
            Discretizer("width", cuts=cuts).fit(X.to_numpy())
        with pytest.raises(ValueError, match='method "mdl" requires y'):
            Discretizer(cuts=cuts).fit(X)


@pytest.mark.parametrize("value, text", [(np.inf, "inf"), (-np.inf, "-inf")])
def test_infinity_is_refused_by_column_and_row(value, text):
    X = np.arange(8.0).reshape(4, 2)
    model = Discretizer("width").fit(X)
    X[2, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains infinity: column 1, row 2 is {text}"):
        model.fit(X)
    with pytest.raises(ValueError, match="column 1, row 2"):
        model.transform(X)
    with pytest.raises(ValueError, match="column 'b', row 2"):
        Discretizer("width").fit(pl.DataFrame(X, schema=["a", "b"]))


def test_tables_it_cannot_read_are_refused_with_a_way_out():
    import dask.array as da

    X = np.eye(4)
    with pytest.raises(TypeError, match=r"use X.toarray\(\)"):
        Discretizer("width").fit(sparse.csr_array(X))
    with pytest.raises(TypeError, match=r"fit on X.compute\(\)"):
        Discretizer("width").fit(da.from_array(X))
    with pytest.raises(NotFittedError):
        Discretizer().transform(X)
    with pytest.raises(NotFittedError):
        Discretizer().describe()
    with pytest.raises(ValueError, match="X has 4 rows, y has 3 labels"):
        Discretizer().fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="row 1 has weight -1"):
        Discretizer("width").fit(X, sample_weight=[1, -1, 1, 1])
    with pytest.raises(ValueError, match="Unknown label type"):
        Discretizer().fit(X, [0.1, 0.2, 0.7, 1.9])


def test_a_column_of_words_with_gaps_is_refused_by_name():
    with pytest.raises(ValueError, match="column 'b'"):
        Discretizer("width").fit(pl.DataFrame({"a": [1.0, None], "b": ["x", None]}))


# ---- tables of every kind ----


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, nan, 3.0, 4.0], "b": [1, 2, 3, 4], "c": [True, False, True, True]}),
        pd.DataFrame({"a": [1, None, 3, 4], "b": [1, 2, 3, 4], "c": [True, False, True, True]}).astype(
            {"a": "Int64", "c": "boolean"}
        ),
        pl.DataFrame({"a": [1, None, 3, 4], "b": [1.0, 2.0, 3.0, 4.0], "c": [True, False, True, True]}),
        pl.DataFrame({"a": [1.0, nan, 3.0, 4.0], "b": [1, 2, 3, 4], "c": [True, False, True, True]}),
    ],
    ids=["pandas", "pandas-nullable", "polars-null", "polars-nan"],
)
def test_frames_with_missing_cells(frame):
    X = np.array([[1, 1, 1], [nan, 2, 0], [3, 3, 1], [4, 4, 1]])
    model = Discretizer("frequency", bins=2).fit(frame)
    assert same_cuts(model, Discretizer("frequency", bins=2).fit(X))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"] and model.n_features_in_ == 3
    np.testing.assert_array_equal(model.transform(frame), [[0, 0, 1], [nan, 0, 0], [1, 1, 1], [1, 1, 1]])
    assert list(model.describe()) == ["a", "b", "c"]


def test_a_missing_boolean_in_polars():
    frame = pl.DataFrame({"a": [True, None, False, True]})
    codes = Discretizer("width", bins=2).fit_transform(frame)[:, 0]
    np.testing.assert_array_equal(codes, [1, nan, 0, 1])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_output_as_a_frame(kind):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[kind]({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    out = Discretizer("width", bins=2).set_output(transform=kind).fit_transform(frame)
    assert type(out) is type(frame) and list(out.columns) == ["a", "b"]
    assert out["a"].to_list() == [0, 1] and "int64" in str(out["a"].dtype).lower()


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, bool])
def test_the_type_of_numbers_is_nothing(dtype):
    X = np.random.default_rng(0).integers(0, 50, size=(40, 2)).astype(dtype)
    y = X[:, 0] > np.median(X[:, 0])
    for method in ("width", "frequency", "mdl"):
        narrow, wide = Discretizer(method).fit(X, y), Discretizer(method).fit(X.astype(float), y)
        assert same_cuts(narrow, wide)
        assert np.array_equal(narrow.transform(X), wide.transform(np.asfortranarray(X.astype(float))))


def test_the_table_is_left_as_it_was():
    X = np.asfortranarray([[3.0, 1.0], [1.0, nan], [2.0, 0.0]])
    before = X.copy()
    for method in ("width", "frequency", "mdl"):
        Discretizer(method).fit(X, [0, 1, 1]).transform(X)
    np.testing.assert_array_equal(X, before)


def test_more_rows_than_a_block():
    X = np.random.default_rng(1).normal(size=(20_001, 2))
    model = Discretizer("frequency", bins=7).fit(X)
    expected = [np.searchsorted(cuts, x) for cuts, x in zip(model.cuts_, X.T)]
    assert np.array_equal(model.transform(X), np.transpose(expected))
