"""A fitted model as an ONNX graph:  to_onnx(model) → bytes, the same probabilities to 1e-6 (row O8).

    in     "X" (n, p) float64, or (n, 1) text before a TextFeatures; or, where some columns hold words, one tensor
           (n, 1) a column under its name: text for words ("" where missing), float64 for numbers (NaN where missing).
           So always before a TableEncoder, but for the columns that it leaves out: there dates are int64,
           microseconds since 1970 by the clock of the column (−2⁶³ where missing), texts are text, and all sparse
           columns are one float64 tensor "sparse" (n, their number). ``onnx_inputs(model, X)`` makes the tensors of a
           frame; what each holds is said in its doc_string and in the model's metadata
    out    "label" (n,), the class: int64, text, float64 or bool;   "probabilities" (n, K), in the order of classes_
           (a generalised linear model that is no binomial has "mean" (n, 1) instead)

A pipeline, or an ``encoder`` given apart, comes before the model in the same graph. Missing cells are answered as the
model answers them by naive Bayes, stumps, trees and Gaussian discriminants (of at most 60 columns); the others give
NaN for such a row. Of classes equally probable to rounding the graph may name another one. A graph of text needs
onnxruntime, as its Tokenizer is no part of ONNX proper (onnx_text.py); all others are ONNX.
Cost: a graph of O(pK) numbers for linear models, of all support vectors or nodes for the rest; bags of words are
dense while the graph runs, 8 bytes a document and word of the vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.files import onnx_densities, onnx_trees  # noqa: F401  they register their converters
from separatrix.files.graph import IR, Cells, Graph, OnnxExportError, onnx
from separatrix.files.onnx_encode import encoded
from separatrix.files.onnx_inputs import inputs_of, is_mean, taken_apart
from separatrix.files.onnx_models import at_threshold, convert, linear, mean_of
from separatrix.files.whole import write_whole
from separatrix.models.threshold import threshold_of, without_threshold

if TYPE_CHECKING:
    from os import PathLike


def to_onnx(
    model: BaseEstimator, path: str | PathLike[str] | None = None, *, encoder: BaseEstimator | None = None
) -> bytes:
    """The graph of a fitted model as bytes, and in a file where ``path`` is given (whole or not at all).

    ``model`` has ``predict_proba`` (or is a GeneralizedLinearModel), or is a Pipeline that ends in such a model;
    ``encoder`` is a fitted transformer of scikit-learn's kind (or one with ``to_onnx_nodes``) that comes before it.
    What cannot be said in ONNX is refused with an :class:`OnnxExportError` that names it: kernels of your own, Monte
    Carlo, formulas, machines without calibration, stems of words. The rows as the graph reads them come from
    ``onnx_inputs``. Row O8; see the module for names and shapes.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix.models.linear.logistic import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    >>> label, probabilities = session.run(None, {"X": X})
    >>> (
    ...     bool(abs(probabilities - model.predict_proba(X)).max() < 1e-12),
    ...     bool((label == model.predict(X)).all()),
    ... )
    (True, True)
    """
    package = onnx()
    cut, model = threshold_of(model), without_threshold(model)
    model, steps = taken_apart(model, encoder)
    g, given = Graph(), inputs_of(model, steps)
    g.reserve([i.name for i in given])
    cells = Cells.given(g, given) if given[0].columns or given[0].words else Cells.matrix(g, "X")
    for step in steps:
        cells = encoded(g, step, cells)
    outputs = _outputs(g, package, model, cells, cut)
    info = package.helper.make_tensor_value_info
    inputs = [info(i.name, i.type(), [None, i.width], doc_string=i.said()) for i in given]
    graph = package.helper.make_graph(g.nodes, type(model).__name__, inputs, outputs, g.constants)
    made = package.helper.make_model(
        graph, producer_name="separatrix", opset_imports=g.versions(), ir_version=IR
    )
    package.helper.set_model_props(made, {i.name: i.said() for i in given})
    package.checker.check_model(made)
    data: bytes = made.SerializeToString()
    if path is not None:
        write_whole(path, data)
    return data


def _outputs(
    g: Graph, package: Any, model: BaseEstimator, cells: Cells, cut: tuple[float, Any] | None
) -> list[Any]:
    """The graph's last nodes, named as promised."""
    info, kinds = package.helper.make_tensor_value_info, package.TensorProto
    node = package.helper.make_node
    if is_mean(model):
        if hasattr(model, "_table"):
            raise OnnxExportError(
                "a formula is code that is run on every new frame: fit to the columns themselves"
            )
        eta = linear(g, cells.numbers(), model.rule_.coef, model.rule_.intercept, "GeneralizedLinearModel")
        g.nodes.append(node("Identity", [mean_of(g, type(model.link_).__name__, eta)], ["mean"]))
        return [info("mean", kinds.DOUBLE, [None, 1])]
    answer = convert(g, model, cells)
    if answer.probabilities is None:
        raise OnnxExportError(f"{type(model).__name__} has no probabilities to export")
    answer = at_threshold(g, answer, cut, model)
    labels = _labels(getattr(model, "classes_", np.array([0, 1])))
    kind = {"i": kinds.INT64, "O": kinds.STRING, "f": kinds.DOUBLE, "b": kinds.BOOL}[labels.dtype.kind]
    g.nodes.append(node("Gather", [g.const(labels), g.argmax(answer.scores)], ["label"]))
    g.nodes.append(node("Identity", [answer.probabilities], ["probabilities"]))
    return [info("label", kind, [None]), info("probabilities", kinds.DOUBLE, [None, len(labels)])]


def _labels(classes: Any) -> np.ndarray:
    """Labels as a tensor holds them."""
    array = np.asarray(classes)
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind in "fb":
        return array
    values = array.tolist()
    if all(isinstance(v, str) for v in values):
        return np.array(values, dtype=object)
    if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return np.array(values, dtype=np.int64)
    raise OnnxExportError(
        f"labels {values[:4]!r} are of several kinds, and a tensor holds one: name them by words"
    )
