"""A threshold of the probability travels with its model: into files, graphs and queries, to the last bit."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import separatrix
from separatrix.models.sets import Pipeline
from separatrix.models.threshold import threshold_of, with_threshold, without_threshold
from separatrix.tables.encode import TableEncoder


def fitted() -> tuple[Any, pd.DataFrame, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :5].rename(columns=str.title)
    labels = np.array(["ill", "well"])[y]
    encoder = TableEncoder(form="linear")
    cells = encoder.fit_transform(X, labels)
    return (
        Pipeline([("columns", encoder), ("model", separatrix.LogisticRegression().fit(cells, labels))]),
        X,
        labels,
    )


@pytest.mark.parametrize("positive", ["ill", "well"])
@pytest.mark.parametrize("row", [3, 40, None])
def test_graphs_and_queries_answer_by_the_threshold_even_on_it(positive: str, row: int | None) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model, X, _ = fitted()
    side = ["ill", "well"].index(positive)
    t = 0.2 if row is None else float(model.predict_proba(X)[row, side])  # a row's own probability
    cut = with_threshold(model, t, positive)
    said = cut.predict(X)
    assert row is None or said[row] == positive
    feed = separatrix.onnx_inputs(cut, X)
    session = onnxruntime.InferenceSession(separatrix.to_onnx(cut))
    P = session.run(None, feed)[1]
    sure = np.abs(P[:, side] - t) > 1e-12
    assert (np.asarray(session.run(None, feed)[0]).ravel()[sure] == said[sure]).all()
    base = sqlite3.connect(":memory:")
    X.to_sql("rows", base, index_label="row")
    rows = base.execute(separatrix.to_sql(cut, table="rows", keep=["row"])).fetchall()
    answers = pd.DataFrame(rows).sort_values(0)[1].to_numpy()
    assert (answers[sure] == said[sure]).all()
    assert (said != model.predict(X)).any()


def test_what_a_pipeline_knows_beside_its_steps_goes_along(tmp_path: Any) -> None:
    model, X, labels = fitted()
    model.calibrate_sets(X, labels)
    cut = with_threshold(model, 0.3, "ill")
    assert isinstance(cut, Pipeline) and threshold_of(cut) == (0.3, "ill") and threshold_of(model) is None
    assert cut.predict_set(X[:5], 0.9) == model.predict_set(X[:5], 0.9)
    separatrix.save(cut, tmp_path / "cut.sepx")
    again = separatrix.load(tmp_path / "cut.sepx")
    assert (again.predict(X) == cut.predict(X)).all() and again.predict_set(X[:5], 0.9) == cut.predict_set(
        X[:5], 0.9
    )
    assert (without_threshold(again).predict(X) == model.predict(X)).all()
