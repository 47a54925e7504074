"""What a graph is given:  onnx_inputs(model, X) → {name: tensor}, the rows X as to_onnx(model) reads them (row O8).

    "X" (n, p) float64                    models of numbers
    "X" (n, 1) text                       documents, before a TextFeatures
    a tensor (n, 1) a column, by name     where some columns hold words (text, the others float64), and always before
                                          a TableEncoder (dates are int64, sparse columns one tensor: onnx_tables.py)

A cell that is missing is NaN, "" or, for dates, −2⁶³. Cost: O(cells), sparse rows made dense.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from separatrix.data.sources import TableLike
from separatrix.files.graph import Input, OnnxExportError
from separatrix.files.onnx_encode import words_of
from separatrix.files.onnx_tables import table_inputs
from separatrix.tables import learned as cells_of
from separatrix.tables.encode import TableEncoder
from separatrix.tables.frames import as_frame
from separatrix.tables.table import lacks
from separatrix.tables.text import TextFeatures


def onnx_inputs(
    model: BaseEstimator, X: TableLike, *, encoder: BaseEstimator | None = None
) -> dict[str, np.ndarray]:
    """The rows X as the inputs of ``to_onnx(model, encoder=encoder)``: name → tensor, for onnxruntime's ``run``.

    X is what the pipeline itself is given: an array, a sparse matrix, a frame (pandas, polars), a Table, or a list of
    documents; a frame may have other columns too. Row O8; see the module for names and shapes.

    >>> import onnxruntime, pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from separatrix import LogisticRegression, TableEncoder, to_onnx
    >>> frame = pd.DataFrame({"when": pd.to_datetime(["2024-02-29", "2024-03-01", None, "2024-03-09"])})
    >>> model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, [0, 1, 0, 1])
    >>> session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    >>> given = onnx_inputs(model, frame)
    >>> given["when"].ravel().tolist()
    [1709164800000000, 1709251200000000, -9223372036854775808, 1709942400000000]
    >>> label, probabilities = session.run(None, given)
    >>> bool(abs(probabilities - model.predict_proba(frame)).max() < 1e-12)
    True
    """
    model, steps = taken_apart(model, encoder)
    inputs, first = inputs_of(model, steps), _first(model, steps)
    if isinstance(first, TableEncoder):
        return _of_table(first, inputs, X)
    if isinstance(first, TextFeatures):
        plain = copy(first)
        plain.headers, plain.lowercase = "keep", False
        return {inputs[0].name: _texts(list(plain._texts(X)))}
    if inputs[0].columns:
        return _of_columns(inputs, X)
    if hasattr(X, "columns"):
        X = as_frame(X).to_numpy(dtype=np.float64, na_value=np.nan)
    return {inputs[0].name: np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)}


def taken_apart(model: BaseEstimator, encoder: Any, scores: bool = False) -> tuple[Any, list[Any]]:
    """The model itself, and the transformers before it in order; all fitted, and the model with probabilities.

    ``scores``: a model that has none will do.
    """
    steps = [] if encoder is None else [encoder]
    while type(model).__name__ == "Pipeline" and hasattr(model, "steps"):
        steps += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    known = scores or type(model).__name__ == "GeneralizedLinearModel" or hasattr(model, "predict_proba")
    if not known:
        way = ': say calibrate="sigmoid"' if hasattr(model, "calibrate") else ""
        raise OnnxExportError(f"{type(model).__name__} has no probabilities to export{way}")
    for part in (*steps, model):
        if part != "passthrough":
            check_is_fitted(part)
    return model, steps


def inputs_of(
    model: BaseEstimator, steps: list[Any], outputs: tuple[str, ...] = ("label", "probabilities")
) -> list[Input]:
    """The tensors a row is given by: one for all columns, or one a column (words, or a TableEncoder).

    No column may be called as an output is.
    """
    outer = next((s for s in steps if s not in (None, "passthrough")), model)
    first = _first(model, steps)
    if isinstance(first, TextFeatures):
        return [Input("X", "documents")]
    if isinstance(first, TableEncoder):
        inputs = table_inputs(first)
    else:
        words = words_of(outer) if steps else words_of(model)
        if steps and words is None:
            found = (words_of(s) for s in (*steps, model))
            words = next((w for w in found if w is not None and len(w) == _width(outer)), None)
        if words is None or not words.any():
            return [Input("X", "numbers", width=_width(outer))]
        names = getattr(outer, "feature_names_in_", None)
        names = [f"x{j}" for j in range(len(words))] if names is None else [str(n) for n in names]
        inputs = [Input(n, "words" if w else "numbers", (n,)) for n, w in zip(names, words, strict=True)]
    named = [i.name for i in inputs]
    taken = ["", *outputs, *(["mean"] if outputs and is_mean(model) else [])]
    for at, name in enumerate(named):
        if name in taken or name in named[:at]:
            raise OnnxExportError(f"column {name!r} has a name that is taken: rename it")
    return inputs


def is_mean(model: BaseEstimator) -> bool:
    """Whether the model answers by a mean, and not by classes."""
    return type(model).__name__ == "GeneralizedLinearModel" and model.family_.name != "binomial"


def _first(model: BaseEstimator, steps: list[Any]) -> Any:
    """What reads the rows."""
    found = next((s for s in steps if s not in (None, "passthrough")), model)
    while type(found).__name__ == "Pipeline" and found.steps:
        found = found.steps[0][1]
    return found


def _width(first: Any) -> int | None:
    if getattr(first, "kernel", None) == "precomputed":
        return int(first.shape_fit_[0])
    width = getattr(first, "n_features_in_", None)
    return None if width is None else int(width)


def _texts(values: list[Any]) -> np.ndarray:
    out = np.empty((len(values), 1), dtype=object)
    out[:, 0] = values
    return out


def _of_table(encoder: TableEncoder, inputs: list[Input], X: TableLike) -> dict[str, np.ndarray]:
    """The columns of a frame as the encoder reads them."""
    frame, out = as_frame(X), {}
    lacking = [name for i in inputs for name in i.columns if name not in frame.columns]
    if lacking:
        unknown = [c for c in frame.columns if c not in encoder.kinds_]
        raise OnnxExportError(lacks("the frame", lacking, unknown))
    sparse = [part for part in encoder._used() if isinstance(part, cells_of.SparseColumn)]
    for i in inputs:
        if sparse and i.columns == tuple(part.name for part in sparse):
            if encoder.form == "native":  # which tells missing cells from 0
                numbers = [cells_of.numbers_of(part.name, frame[part.name]) for part in sparse]
                out[i.name] = np.column_stack(numbers)
            else:
                out[i.name] = cells_of.sparse_block(frame, sparse, False).toarray()
            continue
        column = frame[i.name]
        match i.kind:
            case "numbers":
                out[i.name] = cells_of.numbers_of(i.name, column)[:, None]
            case "moments":
                out[i.name] = cells_of.moments_of(i.name, column).astype(np.int64)[:, None]
            case "words":
                out[i.name] = _texts(["" if w is None else w for w in cells_of.words_of(column).tolist()])
            case _:
                out[i.name] = _texts(cells_of.documents_of(column))
    return out


def _of_columns(inputs: list[Input], X: TableLike) -> dict[str, np.ndarray]:
    """Columns of words and numbers, by name in a frame and by place in an array."""
    if hasattr(X, "columns"):
        frame = as_frame(X)
        lacking = [i.name for i in inputs if i.name not in frame.columns]
        if lacking:
            known = [i.name for i in inputs]
            raise OnnxExportError(lacks("the frame", lacking, [c for c in frame.columns if c not in known]))
        columns = [frame[i.name].tolist() for i in inputs]
    else:
        array = np.asarray(X, dtype=object)
        if array.ndim != 2 or array.shape[1] != len(inputs):
            raise OnnxExportError(f"X has shape {array.shape}: give {len(inputs)} columns")
        columns = array.T.tolist()
    out = {}
    for i, column in zip(inputs, columns, strict=True):
        missing = [v is None or v != v or str(v) == "<NA>" for v in column]
        if i.words:
            for v, empty in zip(column, missing, strict=True):
                if not empty and not isinstance(v, str):
                    raise OnnxExportError(
                        f"column {i.name!r} held words in training and holds {v!r}: spell it as a word"
                    )
            out[i.name] = _texts(["" if empty else v for v, empty in zip(column, missing, strict=True)])
        else:
            numbers = [np.nan if empty else v for v, empty in zip(column, missing, strict=True)]
            out[i.name] = np.array(numbers, dtype=np.float64)[:, None]
    return out
