"""What `svm_path` is given, cut into folds: rows of some weight, and in each fold a machine for each pair of classes.

    read → :class:`PathRows`     cut → :class:`Fold`     with :class:`~.multiclass.Sides` of C = 1

Row M11. What is done with them: svm_path_search.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedKFold

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.checks import is_count
from separatrix.data.door import read_weights
from separatrix.data.sources import TableLike
from separatrix.models.margin.multiclass import Sides, sides_of
from separatrix.models.margin.svc import SVC
from separatrix.models.parameters import class_factors

ClassWeight = Mapping[Any, float] | str | None


@dataclass(frozen=True, eq=False)
class PathRows:
    """Rows of some weight: cells, codes of labels, weights (None: all one), their numbers among the given rows."""

    cells: Any
    codes: Index
    weight: FloatArray | None
    rows: Index
    given: int
    classes: np.ndarray


def read(model: SVC, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None) -> PathRows:
    cells = model._read_rows(X, sample_weight, reset=True)
    n = cells.shape[0]
    weight = read_weights(sample_weight, n)
    try:
        codes, _ = model._read_classes(y, weight, n)
    except ValueError as refused:
        if "continuous" not in str(refused):
            raise
        raise ValueError(
            "y is continuous, and svm_path chooses among classifiers: give labels, or search over SVR with "
            "GridSearchCV"
        ) from None
    rows = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
    if len(rows) < n:
        assert weight is not None
        cells = cells[np.ix_(rows, rows)] if model.kernel == "precomputed" else cells[rows]
        codes, weight = codes[rows], weight[rows]
    return PathRows(cells, codes.astype(np.intp), weight, rows, n, model.classes_)


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and held-out rows, the classes met in training, and a machine (of training rows) for each pair."""

    train: Index
    test: Index
    classes: Index
    machines: tuple[Sides, ...]


def cut(cv: Any, random_state: Any, data: PathRows, class_weight: ClassWeight) -> list[Fold]:
    place = np.full(data.given, -1, dtype=np.intp)
    place[data.rows] = np.arange(len(data.rows))
    out = []
    for number, (train, test) in enumerate(_splits(cv, random_state, data)):
        parts = []
        for word, rows in (("train on", train), ("hold out", test)):
            rows = _row_numbers(rows, data.given, number)
            rows = place[rows][place[rows] >= 0]
            if not len(rows):
                raise ValueError(
                    f"fold {number} of cv has no row to {word}: leave it out, or cut fewer folds"
                )
            parts.append(rows)
        out.append(_fold(number, parts[0], parts[1], data, class_weight))
    if not out:
        raise ValueError("cv holds no split: give at least one pair (train, test)")
    return out


def _splits(cv: Any, random_state: Any, data: PathRows) -> Iterable[tuple[ArrayLike, ArrayLike]]:
    """Pairs of numbers of the given rows."""
    if is_count(cv):
        if cv < 2:
            raise ValueError(f"cv must be at least 2 folds, a splitter, or pairs (train, test); got {cv}")
        counts = np.bincount(data.codes)
        if counts.min() < cv:
            label = data.classes.tolist()[int(counts.argmin())]
            raise ValueError(
                f"class {label!r} has {counts.min()} rows, too few for {cv} folds: cut at most "
                f"{max(counts.min(), 2)}, or give the splits"
            )
        seed = {} if random_state is None else {"shuffle": True, "random_state": random_state}
        cut = StratifiedKFold(int(cv), **seed).split(np.zeros(len(data.codes)), data.codes)
        return [(data.rows[train], data.rows[test]) for train, test in cut]
    if random_state is not None:
        raise ValueError(
            "random_state shuffles a number of folds: give the splitter its own, and leave this out"
        )
    if hasattr(cv, "split") and not isinstance(cv, str):
        codes = np.full(data.given, -1, dtype=np.intp)
        codes[data.rows] = data.codes
        return cv.split(np.zeros((data.given, 1)), codes)
    try:
        pairs = list(cv)
        return [(train, test) for train, test in pairs]
    except (TypeError, ValueError):
        raise TypeError(
            f"cv must be a number of folds, a splitter, or pairs (train, test) of row numbers, got {cv!r}"
        ) from None


def _row_numbers(rows: ArrayLike, n: int, number: int) -> Index:
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise ValueError(f"fold {number} of cv must be a pair of arrays of row numbers, got {rows!r}")
    given = given.astype(np.intp)
    bad = given[(given < -n) | (given >= n)]
    if len(bad):
        raise ValueError(f"fold {number} of cv names row {bad[0]}, but there are {n} rows")
    given = np.where(given < 0, given + n, given)
    values, counts = np.unique(given, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"fold {number} of cv names row {values[counts > 1][0]} twice: repeat rows by sample_weight"
        )
    return given


def _fold(number: int, train: Index, test: Index, data: PathRows, class_weight: ClassWeight) -> Fold:
    codes = data.codes[train]
    box: FloatArray = np.ones(len(train)) if data.weight is None else data.weight[train]
    totals = np.bincount(codes, box, minlength=len(data.classes)).astype(float)
    present = np.flatnonzero(totals)
    if len(present) < 2:
        raise ValueError(
            f"fold {number} of cv trains on class {data.classes.tolist()[present[0]]!r} alone: cut fewer folds, or "
            "folds in which every class takes part"
        )
    factor: FloatArray = np.ones(len(totals))
    if class_weight == "balanced":
        factor[present] = class_factors(class_weight, data.classes[present], totals[present])
    else:
        factor = class_factors(class_weight, data.classes, totals)
    own = np.searchsorted(present, codes)
    machines = sides_of(own, box * factor[codes], 1.0, len(present), "ovo")
    return Fold(train, test, present, tuple(machines))
