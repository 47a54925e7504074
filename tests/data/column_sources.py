"""One table of mixed columns in every container it may come in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from separatrix.data.columns import Encoding
from tests.draws import examples

quick = examples(60)
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
cells = st.none() | st.sampled_from(["", "a", "b", "ab", "é", "0", "nan", "None"])
tables = st.lists(
    st.tuples(cells, st.none() | st.floats(-10, 10), st.none() | st.booleans()), min_size=1, max_size=12
).map(lambda rows: [["a", 0.5, True], *map(list, rows)])
