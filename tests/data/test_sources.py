"""Frames as arrays: the block itself where there is one, and the same numbers whatever holds them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from separatrix import GaussianNB, LogisticRegression
from separatrix.data.sources import frame_cells

KINDS = {"float64": np.float64, "float32": np.float32, "int64": np.int64, "bool": bool}


def numbers(kind: str) -> np.ndarray:
    X = np.random.default_rng(0).normal(0.0, 9.0, (60, 4))
    return X > 0 if kind == "bool" else X.astype(KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_the_block_of_a_pandas_frame_is_not_copied(kind):
    X = numbers(kind)
    frame = pd.DataFrame(X, columns=list("abcd"))
    cells = frame_cells(frame)
    assert cells.dtype == X.dtype
    assert np.shares_memory(cells, frame.to_numpy())
    np.testing.assert_array_equal(cells, X)


@pytest.mark.parametrize("dtypes", [{"a": "Int64"}, {"b": "float32"}, {"c": "boolean"}, {"d": "int8"}])
def test_columns_of_unlike_kinds_are_one_array(dtypes):
    X = np.rint(np.abs(numbers("float64"))) % 2
    frame = pd.DataFrame(X, columns=list("abcd")).astype(dtypes)
    np.testing.assert_array_equal(frame_cells(frame).astype(float), X)


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_missing_and_infinite_cells_are_told_apart(kind):
    frame = pd.DataFrame(numbers(kind), columns=list("abcd"))
    frame.loc[[3, 7], "c"] = np.nan
    with pytest.raises(ValueError, match=r"column 'c' is missing in row 3 \(2 rows"):
        frame_cells(frame)
    assert np.isnan(frame_cells(frame, missing=True)).sum() == 2
    frame = pd.DataFrame(numbers(kind), columns=list("abcd"))
    frame.loc[[1, 2], "b"] = np.inf, -np.inf  # their sum is no number, and no cell is missing
    assert np.isinf(frame_cells(frame)).sum() == 2
    with pytest.raises(ValueError, match=r"infinity: column 'b', row 1"):
        LogisticRegression().fit(frame, np.arange(60) % 2)


def test_a_frame_is_left_as_it_was():
    X = numbers("float64")
    frame, y = pd.DataFrame(X.copy(), columns=list("abcd")), np.arange(60) % 3
    for model in (GaussianNB(), LogisticRegression()):
        np.testing.assert_allclose(
            model.fit(frame, y).predict_proba(frame), type(model)().fit(X, y).predict_proba(X), rtol=1e-9
        )
    np.testing.assert_array_equal(frame.to_numpy(), X)
