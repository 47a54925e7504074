"""Whether loaded numbers fit each other, where compiled loops would not look (row O8).

    a tree's children follow it and stay inside it, its columns are the model's, its leaves have values
    a stump's column, levels and classes exist
    a sparse matrix's indices lie within its shape
    weights are as wide as the model has columns

A file made on purpose could say otherwise, and a loop without bounds would read outside its arrays. Cost O(size).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from separatrix.files.archive import ModelFileError
from separatrix.growth.stumps import KINDS, Stump
from separatrix.growth.trees import Forest, Tree
from separatrix.models.generative.any_family import GenerativeClassifier
from separatrix.models.generative.parts.counted import BagPart, BernoulliPart
from separatrix.models.generative.parts.measured import NormalPart
from separatrix.models.generative.parts.part import ColumnsPart
from separatrix.models.rule import LiveRule

NODE_FIELDS = {"feature", "threshold", "child", "extra"}


def check_sound(model: BaseEstimator) -> None:
    """Raise :class:`ModelFileError` where parts of a loaded model do not fit each other.

    >>> from separatrix.models.linear.logistic import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> model.coef_ = np.ones((1, 7))
    >>> check_sound(model)
    Traceback (most recent call last):
        ...
    separatrix.files.archive.ModelFileError: the file is damaged: LogisticRegression has weights of 7 columns and was
    trained on 1
    """
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"the file holds a {type(model).__name__}, not a model")
    _Walk().value(model, None)


class _Walk:
    def __init__(self) -> None:
        self.seen: set[int] = set()

    def value(self, value: Any, owner: Any) -> None:
        """Look at a value, and at what it holds; ``owner`` is the estimator nearest above."""
        if value is None or isinstance(value, (str, int, float, np.generic)) or id(value) in self.seen:
            return
        self.seen.add(id(value))
        if isinstance(value, np.ndarray):
            if value.dtype == object:
                self.value(value.tolist(), owner)
        elif sp.issparse(value):
            _sparse(value)
        elif isinstance(value, dict):
            for item in value.values():
                self.value(item, owner)
        elif isinstance(value, (list, tuple, set)):
            for item in value:
                self.value(item, owner)
        elif hasattr(value, "__dict__"):
            _object(value, owner)
            owner = value if isinstance(value, BaseEstimator) else owner
            for item in vars(value).values():
                self.value(item, owner)


def _object(value: Any, owner: Any) -> None:
    try:
        if isinstance(value, BaseEstimator):
            _estimator(value)
        elif isinstance(value, Forest):
            flags = value.nominal
            _is(type(flags) is np.ndarray and flags.shape == (_width(owner),), "a forest's columns")
            _is(np.dtype(value.dtype) in (np.float32, np.float64), "a forest's type of numbers")
            _is(len({t.leaf_value.shape[1] for t in value.trees}) == 1, "its trees")
        elif isinstance(value, Tree):
            _tree(value, _width(owner))
        elif isinstance(value, Stump):
            _stump(value, owner)
        elif isinstance(value, ColumnsPart):
            _part(value, owner)
    except ModelFileError:
        raise
    except Exception as error:  # an attribute that is not there, or of another kind
        raise ModelFileError(
            f"the file is damaged: a {type(value).__name__} is not whole ({error})"
        ) from None


def _is(true: Any, what: str) -> None:
    if not true:
        raise ModelFileError(f"the file is damaged: {what} do not fit the rest")


def _width(owner: Any) -> int:
    return int(owner.n_features_in_)


def _estimator(model: BaseEstimator) -> None:
    if "estimator_weights_" in vars(model):
        _is(len(model.estimator_weights_) >= len(model.estimators_), "weights of learners")
    vectors, state, widths = vars(model).get("support_vectors_"), vars(model), []
    if isinstance(model, LiveRule) and "coef_" in state and not isinstance(model, GenerativeClassifier):
        widths.append(np.shape(state["coef_"])[-1])
        if state.get("_limit") is not None:
            widths.append(np.shape(state["_limit"][0].coef)[-1])
    if "thresholds_" in state and "coef_" in state:  # ordered classes
        widths.append(len(state["coef_"]))
        if state.get("_limit") is not None:
            widths.append(len(state["_limit"][0]))
    if vectors is not None and getattr(model, "kernel", None) != "precomputed":
        widths.append(vectors.shape[1])
    for width in widths:
        if width != _width(model):
            raise ModelFileError(
                f"the file is damaged: {type(model).__name__} has weights of {width} columns and was trained on "
                f"{_width(model)}"
            )


def _tree(tree: Tree, p: int) -> None:
    nodes, n = tree.nodes, len(tree.nodes)
    named = nodes.dtype.names and set(nodes.dtype.names) >= NODE_FIELDS
    _is(n > 0 and nodes.ndim == 1 and named, "a tree's nodes")
    split = nodes["feature"] >= 0
    at = np.arange(n)
    child, extra = nodes["child"].astype(np.int64), nodes["extra"].astype(np.int64)
    _is((nodes["feature"][split] < p).all() and (nodes["feature"] >= -1).all(), "a tree's columns")
    _is((child[split] > at[split]).all() and (child[split] + 1 < n).all(), "a tree's branches")
    _is((extra[~split] >= 0).all() and (extra[~split] < len(tree.leaf_value)).all(), "a tree's leaves")
    _is(tree.leaf_value.ndim == 2 and tree.leaf_value.dtype == np.float64, "a tree's leaves")
    most = int((extra[split] >> 1).max(initial=0))
    _is((extra[split] >= 0).all() and (len(tree.sets) == 0 or most < len(tree.sets)), "a tree's levels")


def _stump(stump: Stump, owner: Any) -> None:
    _is(stump.kind in KINDS, "a stump's kind")
    if stump.kind != "majority":
        _is(0 <= stump.feature < _width(owner), "columns of stumps")
    if stump.kind == "levels":
        _is(stump.levels is not None and len(stump.levels) > 0, "levels of stumps")
    _is(all(0 <= side < len(owner.classes_) for side in (stump.left, stump.right)), "classes of stumps")


def _part(part: Any, owner: Any) -> None:
    k = len(owner.classes_)
    p = _width(owner) if part.columns is None else len(part.columns)
    if part.columns is not None:
        _is(((part.columns >= 0) & (part.columns < _width(owner))).all(), "columns of a part")
    if isinstance(part, NormalPart):
        arrays = (part.mean, part.variance)
        _is(all(np.shape(a) == (k, p) for a in arrays), "means and variances")
    elif isinstance(part, BernoulliPart):
        _is(np.shape(part.log_yes) == (k, p) and np.shape(part.log_no) == (k, p), "probabilities")
    elif isinstance(part, BagPart):
        _is(np.shape(part.weights) == (p, k), "probabilities")


def _sparse(matrix: Any) -> None:
    try:
        matrix.check_format(full_check=True) if hasattr(matrix, "check_format") else matrix._check()
    except Exception as error:
        raise ModelFileError(f"the file is damaged: a sparse matrix is not whole ({error})") from None
