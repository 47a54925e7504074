"""Trees, stumps and ensembles as graph pieces (row O8).

    forest     one TreeEnsemble node that gives each tree's leaf, as an exact float64; the leaves' values from a table
    stumps     all at once: the columns tested (n, T) against the thresholds, then a product with the votes
    bags       each learner's piece, its columns picked out, and the mean of their shares

A level of a nominal column goes left or right by a table of its split, as a column of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.files.graph import ML, Cells, Graph, OnnxExportError
from separatrix.files.onnx_encode import codes_of_levels
from separatrix.files.onnx_models import Answer, convert, converter, mixed
from separatrix.growth.stumps import KINDS, Stump
from separatrix.growth.trees import Forest

LEVELS = 64
FROM_FLOAT = {np.dtype(np.float32): 1}


@converter("DecisionTreeClassifier", "ExtraTreesClassifier", "RandomForestClassifier")
def _trees(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    shares = forest_mean(g, model._forest, _tree_cells(g, model, cells))
    return Answer(shares, shares)


def _tree_cells(g: Graph, model: BaseEstimator, cells: Cells) -> str:
    if model._nominal is None:
        return cells.numbers()
    X = mixed(g, model._nominal.key, cells)
    groups = model._nominal.groups or {}
    if not model._nominal.levels and not groups:
        return X
    parts = []
    for j in range(model.n_features_in_):
        x = g.columns(X, [j])
        known = model._nominal.levels.get(j)
        if known is not None:
            x = codes_of_levels(g, x, known.tolist(), False, -1.0)
        if j in groups:  # a level never seen and a missing cell go the same way
            x = g.op("Gather", np.append(groups[j], -1).astype(float), _level(g, x, len(groups[j])))
        parts.append(x)
    return g.concat(parts)


def forest_mean(g: Graph, forest: Forest, X: str) -> str:
    """The trees' mean value of each row: (n, V)."""
    if np.dtype(forest.dtype) in FROM_FLOAT:
        X = g.double(g.op("Cast", X, to=FROM_FLOAT[np.dtype(forest.dtype)]))
    p, nominal = len(forest.nominal), forest.nominal
    sides: list[str] = []  # columns beside the table: 0 where a nominal split goes left, 1 where right
    build: dict[str, list[Any]] = {
        name: [] for name in ("feature", "split", "yes", "yes_leaf", "no", "no_leaf", "nan")
    }
    roots: list[int] = []
    targets: list[int] = []
    values: list[np.ndarray] = []
    leaves = 0
    for t, tree in enumerate(forest.trees):
        split = tree.feature >= 0
        number = np.where(split, np.cumsum(split) - 1 + len(build["feature"]), 0)
        roots.append(len(build["feature"]))
        if not split.any():  # a root alone: a test whose sides are alike
            _node(build, 0, 0.0, leaves, 1, leaves, 1, 0)
        for i in np.flatnonzero(split).tolist():
            feature, threshold = int(tree.feature[i]), float(tree.threshold[i])
            missing_left = int(tree.extra[i]) & 1
            if nominal[feature]:
                column = g.columns(X, [feature])
                sides.append(
                    _set_side(g, column, int(tree.sets[int(tree.extra[i]) >> 1]), bool(missing_left))
                )
                feature, threshold = p + len(sides) - 1, 0.5
            ends = []
            for child in (int(tree.child[i]), int(tree.child[i]) + 1):
                leaf = not split[child]
                ends += [leaves + int(tree.extra[child]) if leaf else int(number[child]), int(leaf)]
            _node(build, feature, threshold, *ends, missing_left)
        count = len(tree.leaf_value)
        values.append(np.asarray(tree.leaf_value, dtype=float))
        targets += [t] * count
        leaves += count
    table = g.concat([X, *sides]) if sides else X
    found = g.op(
        "TreeEnsemble", table, domain=ML, n_targets=len(forest.trees), aggregate_function=1, post_transform=0,
        tree_roots=roots, nodes_featureids=build["feature"],
        nodes_modes=g.tensor(np.zeros(len(build["feature"]), np.uint8)),
        nodes_splits=g.tensor(np.array(build["split"], dtype=np.float64)),
        nodes_truenodeids=build["yes"], nodes_trueleafs=build["yes_leaf"],
        nodes_falsenodeids=build["no"], nodes_falseleafs=build["no_leaf"],
        nodes_missing_value_tracks_true=build["nan"], leaf_targetids=targets,
        leaf_weights=g.tensor(np.arange(leaves, dtype=np.float64)),
    )  # fmt: skip
    shares = g.op("Gather", np.concatenate(values), g.whole(g.op("Round", found)), axis=0)
    return g.div(g.sum(shares, axis=1, keep=False), float(len(forest.trees)))


def _node(build: dict[str, list[Any]], *values: Any) -> None:
    for name, value in zip(build, values, strict=True):
        build[name].append(value)


def _set_side(g: Graph, column: str, bits: int, missing_left: bool) -> str:
    """0 where a level is in the set, 1 where it is not; the missing side for a level never seen, or none."""
    table = np.array(
        [0.0 if bits >> level & 1 else 1.0 for level in range(LEVELS)] + [0.0 if missing_left else 1.0]
    )
    return g.op("Gather", table, _level(g, column, LEVELS))


def _level(g: Graph, column: str, unseen: int) -> str:
    """Levels as indices (n, 1), ``unseen`` for what is no level below it."""
    known = g.both(g.op("GreaterOrEqual", column, 0.0), g.op("Less", column, float(unseen)))
    return g.whole(g.where(known, column, float(unseen)))


# ---- stumps ----


@converter("DecisionStump")
def _stump(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    stump: Stump = model.stump_
    left = _goes_left(g, [stump], _stump_cells(g, model, cells))
    sides = (stump.left_weight, stump.right_weight)
    shares = [w / w.sum() if w.sum() > 0 else np.full(len(w), 1 / len(w)) for w in sides]
    k = len(model.classes_)
    said = [np.eye(k)[side][None] for side in (stump.left, stump.right)]
    yes = g.op("Greater", left, 0.5)
    return Answer(g.where(yes, *said), g.where(yes, shares[0][None], shares[1][None]))


def _stump_cells(g: Graph, model: BaseEstimator, cells: Cells) -> str:
    if model._encoding is None:
        return cells.numbers()
    X = mixed(g, model._encoding, cells)
    numbers = {j: known for j, known in model._levels.items() if not model._encoding.columns[j].levels}
    if not numbers:
        return X
    parts = [g.columns(X, [j]) for j in range(model.n_features_in_)]
    for j, known in numbers.items():
        parts[j] = codes_of_levels(g, parts[j], known, False, -1.0)
    return g.concat(parts)


def _goes_left(g: Graph, stumps: list[Stump], X: str) -> str:
    """1 where a stump sends a row left, 0 where right: (n, T)."""
    kinds = np.array([KINDS[s.kind] for s in stumps])
    feature = np.array([max(s.feature, 0) for s in stumps])
    parts, order = [], []
    for kind in (KINDS["number"], KINDS["word"], KINDS["majority"]):
        mine = np.flatnonzero(kinds == kind)
        if not len(mine):
            continue
        order += mine.tolist()
        x = g.columns(X, feature[mine])
        if kind == KINDS["majority"]:
            parts.append(g.add(g.double(g.op("IsNaN", x)), 1.0))  # 1 or 2: left
            continue
        if kind == KINDS["number"]:
            goes = g.op("LessOrEqual", x, np.array([[stumps[t].threshold for t in mine]]))
        else:
            goes = g.op("Equal", x, 0.0)
        lost = np.array([[float(stumps[t].missing_left) for t in mine]])
        parts.append(g.where(g.op("IsNaN", x), lost, g.double(goes)))
    for t in np.flatnonzero(kinds == KINDS["levels"]).tolist():
        order.append(t)
        levels = np.asarray(stumps[t].levels, dtype=float)
        column = g.columns(X, [feature[t]])
        goes = g.op("Gather", levels, _level(g, column, len(levels) - 1))
        parts.append(g.where(g.op("IsNaN", column), float(stumps[t].missing_left), goes))
    found = g.op("Min", g.concat(parts), 1.0)
    return found if order == sorted(order) else g.columns(found, np.argsort(order))


@converter("AdaBoostClassifier")
def _adaboost(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    weight, k = np.asarray(model._fitted_weights(), dtype=float), len(model.classes_)
    if model._stumps:
        stumps = [h.stump_ for h in model.estimators_]
        left = _goes_left(g, stumps, _stump_cells(g, model._reader, cells))
        to_left, to_right = np.zeros((len(stumps), k)), np.zeros((len(stumps), k))
        for t, s in enumerate(stumps):
            to_left[t, s.left], to_right[t, s.right] = weight[t], weight[t]
        votes = g.add(g.matmul(left, to_left), g.matmul(g.sub(1.0, left), to_right))
    else:
        votes = ""
        for a, h in zip(weight, model.estimators_, strict=True):
            part = _one_vote(g, h, cells, model.classes_, float(a))
            votes = part if not votes else g.add(votes, part)
    top = g.op("ReduceMax", votes, np.array([1]), keepdims=1)
    near = g.op("GreaterOrEqual", votes, g.sub(top, 1e-12 * float(weight.sum())))
    votes = g.where(near, top, votes)
    return Answer(votes, g.softmax(votes))


def _places(model: BaseEstimator, classes: np.ndarray) -> np.ndarray:
    """A learner's classes as rows of the identity: (its classes, K)."""
    known = {v: i for i, v in enumerate(classes.tolist())}
    return np.eye(len(classes))[[known[v] for v in model.classes_.tolist()]]


def _one_vote(g: Graph, learner: Any, cells: Cells, classes: np.ndarray, weight: float = 1.0) -> str:
    """``weight`` for the class a learner says: (n, K)."""
    answer = convert(g, learner, cells)
    said = g.one_hot(g.argmax(answer.scores), len(learner.classes_))
    return g.matmul(said, weight * _places(learner, classes))


@converter("DummyClassifier", package="sklearn")
def _constant(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    if model.strategy not in ("most_frequent", "prior", "constant"):
        raise OnnxExportError(f"DummyClassifier(strategy={model.strategy!r}) draws at random")
    row = model.predict_proba(np.zeros((1, 1)))
    found = g.constant_rows(cells.column(0), np.asarray(row)[0])
    return Answer(found, found)


@converter("BaggingClassifier")
def _bagging(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    forest = model._forest
    if forest is not None and model.voting == "soft":
        shares = forest_mean(g, forest, _tree_cells(g, model.estimators_[0], cells))
    else:
        shares = ""
        for b, learner in enumerate(model.estimators_):
            whole = model._whole_tables()
            mine = cells if whole else cells.some(np.asarray(model.estimators_features_[b]).tolist())
            if model._soft(learner):
                found = convert(g, learner, mine).probabilities
                assert found is not None
                part = g.matmul(found, _places(learner, model.classes_))
            else:
                part = _one_vote(g, learner, mine, model.classes_)
            shares = part if not shares else g.add(shares, part)
    return Answer(shares, g.div(shares, g.sum(shares)))
