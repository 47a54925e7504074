"""A fitted model as an ONNX graph:  to_onnx(model) → bytes, the same probabilities to 1e-6 (row O8).

    in     "X" (n, p) float64; or, where some columns hold words, one tensor (n, 1) a column under its name: text for
           words ("" where missing), float64 for numbers (NaN where missing); so always before a TableEncoder, but for
           the columns that it leaves out
    out    "label" (n,), the class: int64, text, float64 or bool;   "probabilities" (n, K), in the order of classes_
           (a generalised linear model that is no binomial has "mean" (n, 1) instead)

A pipeline, or an ``encoder`` given apart, comes before the model in the same graph. Missing cells are answered as the
model answers them by naive Bayes, stumps and trees; the others give NaN for such a row, and a Gaussian discriminant
trained on missing cells is refused. Of classes equally probable to rounding the graph may name another one.
Cost: a graph of O(pK) numbers for linear models, of all support vectors or nodes for the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.files import onnx_densities, onnx_trees  # noqa: F401  they register their converters
from separatrix.files.graph import IR, ML, ML_OPSET, OPSET, Cells, Graph, OnnxExportError, onnx
from separatrix.files.onnx_encode import encoded, words_of
from separatrix.files.onnx_models import convert, linear, mean_of
from separatrix.files.onnx_tables import table_inputs
from separatrix.files.whole import write_whole


def to_onnx(model: Any, path: Any = None, *, encoder: Any = None) -> bytes:
    """The graph of a fitted model as bytes, and in a file where ``path`` is given (whole or not at all).

    ``model`` has ``predict_proba`` (or is a GeneralizedLinearModel), or is a Pipeline that ends in such a model;
    ``encoder`` is a fitted transformer of scikit-learn's kind (or one with ``to_onnx_nodes``) that comes before it.
    What cannot be said in ONNX is refused with an :class:`OnnxExportError` that names it: kernels of your own, Monte
    Carlo, formulas, machines without calibration. Row O8; see the module for names and shapes.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix.models.logistic import LogisticRegression
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
    model, steps = _taken_apart(model, encoder)
    for part in (*steps, model):
        if part != "passthrough":
            check_is_fitted(part)
    first = next((s for s in steps if s not in (None, "passthrough")), model)
    g = Graph()
    cells, inputs = _inputs(g, package, first, model, steps)
    for step in steps:
        cells = encoded(g, step, cells)
    outputs = _outputs(g, package, model, cells)
    graph = package.helper.make_graph(g.nodes, type(model).__name__, inputs, outputs, g.constants)
    made = package.helper.make_model(
        graph,
        producer_name="separatrix",
        opset_imports=[package.helper.make_opsetid("", OPSET), package.helper.make_opsetid(ML, ML_OPSET)],
        ir_version=IR,
    )
    package.checker.check_model(made)
    data: bytes = made.SerializeToString()
    if path is not None:
        write_whole(path, data)
    return data


def _taken_apart(model: Any, encoder: Any) -> tuple[Any, list[Any]]:
    """The model itself, and the transformers before it in order."""
    steps = [] if encoder is None else [encoder]
    while type(model).__name__ == "Pipeline" and hasattr(model, "steps"):
        steps += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    if type(model).__name__ != "GeneralizedLinearModel" and not hasattr(model, "predict_proba"):
        way = ': say calibrate="sigmoid"' if hasattr(model, "calibrate") else ""
        raise OnnxExportError(f"{type(model).__name__} has no probabilities to export{way}")
    return model, steps


def _inputs(g: Graph, package: Any, first: Any, model: Any, steps: list[Any]) -> tuple[Cells, list[Any]]:
    """The tensors a row is given by: one for all columns, or one a column (words, or a TableEncoder)."""
    info, kinds = package.helper.make_tensor_value_info, package.TensorProto
    inner = first
    while type(inner).__name__ == "Pipeline" and inner.steps:
        inner = inner.steps[0][1]
    names: Any
    words: Any
    if type(inner).__name__ == "TableEncoder" and type(inner).__module__ == "separatrix.tables.encode":
        names, words = table_inputs(inner)
    else:
        words = words_of(first) if steps else words_of(model)
        if steps and words is None:
            found = (words_of(s) for s in (*steps, model))
            words = next((w for w in found if w is not None and len(w) == _width(first)), None)
        if words is None or not words.any():
            return Cells.matrix(g, "X"), [info("X", kinds.DOUBLE, [None, _width(first)])]
        names = getattr(first, "feature_names_in_", None)
        names = [f"x{j}" for j in range(len(words))] if names is None else [str(n) for n in names]
    taken = {"", "label", "probabilities", *(["mean"] if _is_mean(model) else [])} & set(names)
    if taken or len(set(names)) < len(names):
        raise OnnxExportError(
            f"column {sorted(taken)[0] if taken else names[0]!r} has a name that is taken: rename it"
        )
    g.reserve(names)
    tensors = [
        info(n, kinds.STRING if w else kinds.DOUBLE, [None, 1]) for n, w in zip(names, words, strict=True)
    ]
    return Cells(g, None, tuple(names), tuple(bool(w) for w in words), tuple(names)), tensors


def _is_mean(model: Any) -> bool:
    return type(model).__name__ == "GeneralizedLinearModel" and model.family_.name != "binomial"


def _width(first: Any) -> int | None:
    kernel = getattr(first, "kernel", None)
    if kernel == "precomputed":
        return int(first.shape_fit_[0])
    width = getattr(first, "n_features_in_", None)
    return None if width is None else int(width)


def _outputs(g: Graph, package: Any, model: Any, cells: Cells) -> list[Any]:
    """The graph's last nodes, named as promised."""
    info, kinds = package.helper.make_tensor_value_info, package.TensorProto
    node = package.helper.make_node
    if _is_mean(model):
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
