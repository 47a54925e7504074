"""Transformers in front of a model, as graph pieces:  Cells → Cells (row O8).

    pipelines and column transformers, scaling, imputing, one-hot and ordinal codes, PCA, radial basis, bins;
    TableEncoder (onnx_tables.py), TextFeatures (onnx_text.py)

A transformer of another kind may bring its own piece: a method ``to_onnx_nodes(graph, cells)`` that adds nodes and
returns the :class:`~separatrix.files.graph.Cells` it makes, and, where its table has columns of words, a method
``onnx_words()`` that says which, one boolean a column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.files.graph import ML, Cells, Graph, OnnxExportError
from separatrix.files.onnx_tables import table
from separatrix.files.onnx_text import text

Piece = Callable[[Graph, Any, Cells], Cells]


def encoded(g: Graph, transformer: BaseEstimator, cells: Cells) -> Cells:
    """The transformer's piece of the graph after ``cells``."""
    if transformer in (None, "passthrough"):
        return cells
    if hasattr(transformer, "to_onnx_nodes"):
        return transformer.to_onnx_nodes(g, cells)
    piece = PIECES.get(type(transformer).__name__) if _known(transformer) else None
    if piece is None:
        raise OnnxExportError(
            f"{type(transformer).__name__} has no form in ONNX here: apply it before, or give it a method "
            "to_onnx_nodes(graph, cells)"
        )
    return piece(g, transformer, cells)


def words_of(transformer: BaseEstimator) -> np.ndarray | None:
    """Which of its columns hold words, (p,); None where the transformer does not tell."""
    if hasattr(transformer, "onnx_words"):
        return np.asarray(transformer.onnx_words(), dtype=bool)
    kind = type(transformer).__name__
    if kind == "Pipeline" and transformer.steps:
        return next((w for w in (words_of(s) for _, s in transformer.steps) if w is not None), None)
    if kind == "TextFeatures":
        return np.ones(1, dtype=bool)
    if kind in ("OneHotEncoder", "OrdinalEncoder"):
        return np.array([np.asarray(c).dtype.kind in "OUS" for c in transformer.categories_])
    if kind == "ColumnTransformer":
        out = np.zeros(transformer.n_features_in_, dtype=bool)
        for _, inner, which in transformer.transformers_:
            found = None if isinstance(inner, str) else words_of(inner)
            if found is not None and len(found):
                out[_places(transformer, which)] = found
        return out
    key = getattr(transformer, "_encoding", None) or getattr(
        getattr(transformer, "_nominal", None), "key", None
    )
    if key is None and hasattr(transformer, "_reader"):
        key = transformer._reader._encoding
    return None if key is None else np.array([c.kind == "category" and bool(c.levels) for c in key.columns])


def codes_of_levels(g: Graph, column: str, levels: Any, words: bool, unseen: float) -> str:
    """Levels (n, 1) → 0, 1, …; ``unseen`` for others; an empty text or NaN is the level of missing cells, or NaN."""
    known, missing = list(levels), np.nan
    for at, level in enumerate(known):
        if level is None or level != level:
            missing = float(at)
    values = [float(at) for at in range(len(known)) if at != missing]
    known = [level for at, level in enumerate(known) if at != missing]
    if words:
        if not all(isinstance(v, str) for v in known):
            raise OnnxExportError(f"levels {known[:3]!r} are not all words: an ONNX column has one type")
        keys = known
        if "" not in known:  # else it is a level like the others
            keys, values = [*known, ""], [*values, missing]
        found = g.op(
            "LabelEncoder", column, domain=ML, keys_strings=keys, values_floats=values, default_float=unseen
        )
        return g.double(found)
    same = g.op("Equal", column, np.asarray(known, dtype=np.float64).reshape(1, -1))
    place = g.matmul(g.double(same), np.array(values).reshape(-1, 1))
    hit = g.op("Greater", g.sum(g.double(same)), 0.0)
    return g.where(g.op("IsNaN", column), missing, g.where(hit, place, unseen))


def _known(transformer: BaseEstimator) -> bool:
    return type(transformer).__module__.split(".")[0] in ("sklearn", "separatrix")


def _places(transformer: BaseEstimator, which: Any) -> list[int]:
    """Columns of a ColumnTransformer by index."""
    from sklearn.utils._indexing import _get_column_indices

    names = getattr(transformer, "feature_names_in_", None)
    stand_in = np.empty((0, transformer.n_features_in_))
    if names is not None:
        if isinstance(which, str):
            which = [which]
        place = {name: j for j, name in enumerate(names)}
        if not isinstance(which, slice) and all(isinstance(v, str) for v in which):
            return [place[v] for v in which]
    return [int(j) for j in _get_column_indices(stand_in, which)]


def _pipeline(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    for _, step in t.steps:
        cells = encoded(g, step, cells)
    return cells


def _column_transformer(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    parts = []
    for _, inner, which in t.transformers_:
        places = [] if isinstance(inner, str) and inner == "drop" else _places(t, which)
        if places:
            parts.append(encoded(g, inner, cells.some(places)).numbers())
    return Cells.matrix(g, g.concat(parts))


def _standard(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    X = cells.numbers()
    X = X if t.mean_ is None or not t.with_mean else g.sub(X, t.mean_[None])
    return Cells.matrix(g, X if t.scale_ is None or not t.with_std else g.div(X, t.scale_[None]))


def _min_max(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    X = g.add(g.mul(cells.numbers(), t.scale_[None]), t.min_[None])
    if t.clip:
        X = g.op("Max", g.op("Min", X, float(t.feature_range[1])), float(t.feature_range[0]))
    return Cells.matrix(g, X)


def _max_abs(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    return Cells.matrix(g, g.div(cells.numbers(), t.scale_[None]))


def _robust(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    X = cells.numbers()
    X = X if t.center_ is None else g.sub(X, t.center_[None])
    return Cells.matrix(g, X if t.scale_ is None else g.div(X, t.scale_[None]))


def _impute(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    if not (isinstance(t.missing_values, float) and np.isnan(t.missing_values)):
        raise OnnxExportError(
            f"SimpleImputer(missing_values={t.missing_values!r}) is not exported: only NaN is"
        )
    X, fill = cells.numbers(), np.asarray(t.statistics_)
    if fill.dtype.kind == "O" or getattr(t, "indicator_", None) is not None:
        raise OnnxExportError("SimpleImputer of words, or with an indicator, is not exported")
    empty = np.isnan(fill.astype(float))
    if empty.any():  # columns without a value: scikit-learn drops them
        keep = np.flatnonzero(~empty)
        X, fill = g.columns(X, keep), fill[keep]
    return Cells.matrix(g, g.where(g.op("IsNaN", X), fill.astype(float)[None], X))


def _one_hot(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    if t._infrequent_enabled:
        raise OnnxExportError(
            "OneHotEncoder with min_frequency or max_categories is not exported: merge levels before"
        )
    parts = []
    for j, levels in enumerate(t.categories_):
        codes = _codes(g, t, j, cells, -1.0)
        ones = g.double(g.op("Equal", codes, np.arange(len(levels), dtype=float).reshape(1, -1)))
        gone = None if t.drop_idx_ is None else t.drop_idx_[j]
        if gone is not None:
            ones = g.columns(ones, [i for i in range(len(levels)) if i != gone])
        parts.append(ones)
    return Cells.matrix(g, g.concat(parts))


def _ordinal(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    gaps = [j for j, levels in enumerate(t.categories_) if any(v is None or v != v for v in levels.tolist())]
    if t._infrequent_enabled or gaps:
        raise OnnxExportError(
            "OrdinalEncoder of rare levels (min_frequency) or missing cells is not exported"
        )
    unseen = -1.0 if t.handle_unknown == "error" else float(t.unknown_value)
    codes = [_codes(g, t, j, cells, unseen) for j in range(len(t.categories_))]
    return Cells.matrix(g, g.concat(codes))


def _codes(g: Graph, t: BaseEstimator, j: int, cells: Cells, unseen: float) -> str:
    words = bool(cells.words and cells.words[j])
    return codes_of_levels(g, cells.column(j), np.asarray(t.categories_[j]).tolist(), words, unseen)


def _pca(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    root = t.components_.T / np.sqrt(t.explained_variance_) if t.whiten else t.components_.T
    return Cells.matrix(g, g.matmul(g.sub(cells.numbers(), t.mean_[None]), root))


def _svd(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    return Cells.matrix(g, g.matmul(cells.numbers(), t.components_.T))


def _select(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    return Cells.matrix(g, g.columns(cells.numbers(), np.flatnonzero(t.get_support())))


def _passthrough(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    if t.func is not None:
        raise OnnxExportError("FunctionTransformer runs a function of yours, which ONNX cannot hold")
    return cells


def _radial(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    X = cells.numbers()
    squares = [
        g.sum(g.op("Pow", g.sub(X, centre[None]), 2.0)) for centre in np.asarray(t.centers_, dtype=float)
    ]
    return Cells.matrix(g, g.exp(g.mul(g.concat(squares), -float(t.gamma_))))


def _bins(g: Graph, t: BaseEstimator, cells: Cells) -> Cells:
    parts = []
    for j, cuts in enumerate(t.cuts_):
        x = cells.column(j)
        if len(cuts):
            code = g.sum(g.double(g.op("Greater", x, np.asarray(cuts, dtype=float).reshape(1, -1))))
        else:
            code = g.mul(x, 0.0)
        parts.append(g.where(g.op("IsNaN", x), np.nan, code))
    return Cells.matrix(g, g.concat(parts))


PIECES: dict[str, Piece] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "StandardScaler": _standard,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "RobustScaler": _robust,
    "SimpleImputer": _impute,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "PCA": _pca,
    "TruncatedSVD": _svd,
    "SelectKBest": _select,
    "SelectPercentile": _select,
    "VarianceThreshold": _select,
    "FunctionTransformer": _passthrough,
    "RadialBasis": _radial,
    "Discretizer": _bins,
    "TableEncoder": table,
    "TextFeatures": text,
}
