"""Dates in a graph: every day of four centuries, and the edges of 64 bits."""

from functools import cache

import numpy as np
import onnx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from separatrix import (
    DecisionTreeClassifier,
    LogisticRegression,
    NaiveBayes,
)
from separatrix.files.graph import MISSING, Graph
from separatrix.files.onnx_dates import DateMoments
from separatrix.tables.encode import TableEncoder
from separatrix.tables.learned import date_parts
from tests.files.by_graph import (
    DAY,
    YEAR_1,
    YEAR_9999,
    agrees,
    dated,
    of_graph,
    same_matrix,
)

PARTS = [
    "year",
    "days",
    *(f"{what} {wave}" for what in ("month", "weekday", "hour") for wave in ("sin", "cos")),
]


@cache
def calendar():
    g = Graph()
    moments = DateMoments(g, "when", 7 * DAY + 5)
    made = {name.replace(" ", "_"): moments.part(name) for name in PARTS}
    made |= {"_month": g.double(moments.month()), "_weekday": g.double(moments.weekday())}
    return of_graph((g, made), [("when", onnx.TensorProto.INT64)])


def same_dates(moments):
    moments = np.asarray(moments, dtype=np.int64)
    runs = calendar()
    found = runs.run(None, {"when": moments[:, None]})
    wanted = date_parts(moments.astype("datetime64[us]"), 7 * DAY + 5)
    for output, got in zip(runs.get_outputs(), found, strict=True):
        name = output.name if output.name.startswith("_") else output.name.replace("_", " ")
        np.testing.assert_allclose(got[:, 0], wanted[name], rtol=1e-15, atol=1e-15)


@given(st.lists(st.integers(YEAR_1, YEAR_9999 + DAY - 1) | st.just(MISSING), min_size=1, max_size=30))
def test_dates_of_every_year(moments):
    same_dates(moments)


def test_every_day_of_four_centuries_and_the_edges_of_64_bits():
    start = int(np.datetime64("1600-02-27", "us").astype(np.int64))
    midnights = start + DAY * np.arange(146_097 + 4)
    same_dates(midnights)
    same_dates(midnights - 1)
    same_dates([MISSING + 2 * DAY, -1, 0, 1, 2**63 - 1 - 8 * DAY])


def undated(frame):
    new = frame.copy()
    new.loc[::3, ["day", "zoned", "far", "once"]] = None
    return new


@pytest.mark.parametrize("standardize", [True, False])
def test_the_numbers_of_dates(standardize):
    frame, _ = dated()
    encoder = TableEncoder(standardize=standardize).fit(frame)
    assert {"stamp hour sin", "stamp is missing", "far year", "zoned hour cos", "day weekday sin"} <= set(
        encoder.get_feature_names_out()
    )
    same_matrix(encoder, frame, dated(90, seed=1)[0], undated(frame))


def test_what_pipelines_say_of_dates():
    frame, y = dated()
    for encoder, last in (
        (TableEncoder(), LogisticRegression()),
        (TableEncoder(form="native"), NaiveBayes()),
        (TableEncoder(form="native"), DecisionTreeClassifier(max_depth=5, categorical_features="from_dtype")),
        (TableEncoder(form="counts", kinds={"x": "discrete"}), None),
    ):
        if last is None:
            with pytest.raises(ValueError, match="no column is left"):
                encoder.fit(frame)
            continue
        model = make_pipeline(encoder, last).fit(frame, y)
        names = agrees(model, frame, dated(90, seed=1)[0], undated(frame))
        assert names == ["day", "stamp", "zoned", "far", "once", "x"]


def test_dates_that_were_all_missing_in_training():
    frame, y = dated()
    frame["never"] = pd.Series([pd.NaT] * len(frame))
    new = frame.assign(never=pd.Timestamp("2020-02-29"))
    for encoder, last in (
        (TableEncoder(kinds={"never": "date"}), LogisticRegression()),
        (TableEncoder(form="native", kinds={"never": "date"}), NaiveBayes()),
        (
            TableEncoder(form="native", kinds={"never": "date"}),
            DecisionTreeClassifier(max_depth=5, categorical_features="from_dtype"),
        ),
    ):
        assert "never" in agrees(make_pipeline(encoder, last).fit(frame, y), frame, new)
