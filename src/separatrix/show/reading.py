"""What displays read of a model and a table: names, columns, rows built cell by cell, scores and labels.

    rows(m, {j: values})  =  m rows whose column j holds the values, all other columns their usual cell: the median,
                             of words the most frequent
    moved([(j, values)])  =  rows in each of which one cell is a given one, and all others are usual

Arrays and frames (pandas, Polars, Arrow) stay what they were, so that a model sees the kind of table it was fitted
to. Row V4. Cost O(cells).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.core.words import and_more
from separatrix.data.sources import TableLike


class ShownTable:
    """X as columns with names; ``base`` are the cells that columns are held at.

    >>> table = ShownTable(np.array([[1.0, 5.0], [3.0, 7.0], [8.0, 7.0]]))
    >>> table.names, table.base, table.rows(2, {0: [0.0, 9.0]}).tolist()
    (['x0', 'x1'], [3.0, 7.0], [[0.0, 7.0], [9.0, 7.0]])
    """

    def __init__(self, X: TableLike, names: Sequence[Any] | None = None):
        if issparse(X):
            raise TypeError("X is sparse and a picture reads it dense: take some columns and call .toarray()")
        self.frame: Any = None
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            import narwhals as nw

            self.frame = nw.from_native(X, eager_only=True)
            self.columns = [column.to_numpy() for column in self.frame.iter_columns()]
            self.names = [str(name) for name in self.frame.columns]
            self.n = int(self.frame.shape[0])
        else:
            cells = np.asarray(X)
            if cells.ndim != 2:
                raise ValueError(f"X must be a table (n, p), got {cells.ndim} dimension(s)")
            self.dtype = cells.dtype
            self.columns = list(cells.T)
            self.names = [f"x{j}" for j in range(cells.shape[1])]
            self.n = len(cells)
        if not self.n or not self.columns:
            raise ValueError("X is empty: a picture needs at least one row and one column")
        if names is not None:
            if len(names) != len(self.columns):
                raise ValueError(f"names has {len(names)} entries and X {len(self.columns)} columns")
            self.names = [str(name) for name in names]
        self.numeric = [_is_number(column) for column in self.columns]
        self.base = [_usual(column, number) for column, number in zip(self.columns, self.numeric)]

    @property
    def p(self) -> int:
        return len(self.columns)

    def place(self, column: Any) -> int:
        """Index of a column given by name or number; an unknown one is refused."""
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
            if -self.p <= column < self.p:
                return int(column) % self.p
        elif str(column) in self.names:
            return self.names.index(str(column))
        raise ValueError(f"column {column!r} is not in X: its columns are {and_more(self.names, 8)}")

    def numbers(self, which: Sequence[int] | None = None) -> FloatArray:
        """Columns as numbers (n, ·); one that is none is refused by name."""
        which = range(self.p) if which is None else which
        for j in which:
            if not self.numeric[j]:
                raise ValueError(
                    f"column {self.names[j]!r} is not a number and has no place on an axis: choose a pair of others "
                    'with columns=("a", "b")'
                )
        return np.column_stack([np.asarray(self.columns[j], dtype=float) for j in which])

    def rows(self, m: int, cells: Mapping[int, Any]) -> Any:
        """m rows: the columns given hold their values (m,), the others are held at ``base``."""
        if self.frame is None:
            out = np.empty((m, self.p), dtype=object if self.dtype == object else np.float64)
            if self.dtype.kind not in "biufO":
                out = out.astype(self.dtype)
            for j in range(self.p):
                out[:, j] = cells.get(j, self.base[j])
            return out
        import narwhals as nw

        places = [0] * m
        out_frame = nw.maybe_reset_index(self.frame[places])
        new = []
        for j, name in enumerate(self.frame.columns):
            if j in cells:
                values: Any = cells[j]
                if self.numeric[j]:
                    values = np.asarray(values, dtype=float)
            elif self.numeric[j]:
                values = np.full(m, float(self.base[j]))
            else:
                values = None
            if not self.numeric[j]:
                values = self._native_cells(j, [self.base[j]] * m if values is None else list(values))
                new.append(values.alias(name))
                continue
            new.append(nw.new_series(name, values, backend=self.frame.implementation))
        return out_frame.with_columns(*new).to_native()

    def moved(self, wanted: Sequence[tuple[int, Sequence[Any]]]) -> Any:
        """Rows that hold one of the cells asked for, [(j, cells)] in order, and otherwise ``base``.

        >>> ShownTable(np.array([[1.0, 5.0], [3.0, 7.0]])).moved([(0, [2.0]), (1, [9.0])]).tolist()
        [[2.0, 5.0], [1.0, 9.0]]
        """
        m = sum(len(cells) for _, cells in wanted)
        columns: dict[int, Any] = {}
        at = 0
        for j, cells in wanted:
            if self.numeric[j]:
                columns[j] = np.full(m, float(self.base[j]))
                columns[j][at : at + len(cells)] = np.asarray(cells, dtype=float)
            else:
                columns[j] = [self.base[j]] * m
                columns[j][at : at + len(cells)] = cells
            at += len(cells)
        return self.rows(m, columns)

    def joined(self, given: ShownTable) -> ShownTable:
        """The table with the words of further rows known to it, so that rows can be built that hold them."""
        if given.p != self.p:
            raise ValueError(f"X has {given.p} columns, the model {self.p}")
        words = [j for j in range(self.p) if not self.numeric[j]]
        if self.frame is None or not any(set(given.cells(j)) - set(self.cells(j)) for j in words):
            return self
        import narwhals as nw

        names = [self.frame.columns[j] for j in words]
        both = copy(self)
        longer = nw.maybe_reset_index(
            nw.concat([self.frame.select(names), given.frame.select(names)], how="vertical")
        )
        blank = nw.maybe_reset_index(self.frame[[0] * longer.shape[0]])
        both.frame = blank.with_columns(*(longer[name].alias(name) for name in names))
        both.columns = [
            a if number else np.concatenate([a.astype(object), b.astype(object)])
            for a, b, number in zip(self.columns, given.columns, self.numeric)
        ]
        return both

    def cells_of(self, given: ShownTable) -> list[tuple[int, Sequence[Any]]]:
        """All cells of further rows, [(j, cells)], for :meth:`moved`."""
        columns = enumerate(given.columns)
        return [(j, column if self.numeric[j] else column.tolist()) for j, column in columns]

    def _native_cells(self, j: int, values: list[Any]) -> Any:
        """Cells of a column that is no number, taken from rows that hold them, so that its type stays."""
        import narwhals as nw

        first: dict[Any, int] = {}
        for i, v in enumerate(self.cells(j)):
            first.setdefault(v, i)
        places = [first[None if v != v else v] for v in values]
        return nw.maybe_reset_index(self.frame[places])[self.frame.columns[j]]

    def cells(self, j: int) -> list[Any]:
        """A column's cells, None where they are missing."""
        return [None if v != v else v for v in self.columns[j].tolist()]

    def with_cells(self, cells: FloatArray) -> Any:
        """All columns replaced by numbers (m, p)."""
        if self.frame is not None and self.frame.implementation.is_pandas() and all(self.numeric):
            native = self.frame.to_native()
            return type(native)(
                cells, columns=native.columns
            )  # at once: a series a column would take its time
        return self.rows(len(cells), {j: cells[:, j] for j in range(self.p)})


def table_of(X: TableLike, names: Sequence[Any] | None = None) -> ShownTable:
    """X as columns; True and False of a frame are words, so that an encoder meets them as it did in training."""
    table = ShownTable(X, names)
    for j, column in enumerate(table.columns):
        if column.dtype.kind == "b" and table.frame is not None:
            table.numeric[j] = False
            counts = np.bincount(column.astype(int), minlength=2)
            table.base[j] = bool(counts[1] > counts[0])
    return table


def _is_number(column: np.ndarray) -> bool:
    if column.dtype.kind in "biuf":
        return True
    if column.dtype.kind != "O" or any(isinstance(v, str) for v in column.tolist()):
        return False  # digits kept as words are words, such as "01234" of an address
    try:
        np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        return False
    return True


def _usual(column: np.ndarray, number: bool) -> Any:
    """The median of numbers and dates, else the most frequent cell, the first of a tie.

    The median of dates and of whole numbers is one that occurs, the lower of two.
    """
    if number:
        known = np.asarray(column, dtype=float)
        known = known[~np.isnan(known)]
        if not len(known):
            return np.nan
        whole = bool(np.all(known == np.round(known)))
        return float(np.quantile(known, 0.5, method="lower") if whole else np.median(known))
    if column.dtype.kind == "M" and not np.isnat(column).all():
        days = np.sort(column[~np.isnat(column)])
        return days[[(len(days) - 1) // 2]].tolist()[0]
    values = [v for v in column.tolist() if v is not None and v == v]
    counts: dict[Any, int] = {}
    for v in values:
        counts[v] = counts.get(v, 0) + 1
    return max(counts, key=lambda v: counts[v]) if counts else column.tolist()[0]


# ---- models ----


def name_of(model: BaseEstimator) -> str:
    """A model's class in words; of a pipeline its last step's."""
    return type(last_step(model)).__name__


def last_step(model: BaseEstimator) -> Any:
    """The estimator itself, or a pipeline's (a search's) last."""
    model = getattr(model, "best_estimator_", model)
    return model.steps[-1][1] if hasattr(model, "steps") else model


def weights_of(inner: BaseEstimator) -> FloatArray:
    """``coef_`` of a linear model as (K, p), dense where it was made sparse."""
    coef = inner.coef_
    return np.atleast_2d(np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=float))


def check_fitted(model: BaseEstimator, what: str = "drawing it") -> None:
    """One sentence for a model that is a class, or was not fitted."""
    if isinstance(model, type):
        raise TypeError(f"{model.__name__} is a class: give a fitted object, {model.__name__}().fit(X, y)")
    try:
        check_is_fitted(last_step(model))
    except (NotFittedError, TypeError) as error:
        if not isinstance(error, NotFittedError):
            raise TypeError(f"{model!r} is not an estimator: give a fitted classifier") from None
        raise NotFittedError(f"{name_of(model)} is not fitted: call fit(X, y) before {what}") from None


def check_classifier(model: BaseEstimator) -> np.ndarray:
    """The classes of a fitted classifier; anything else is refused."""
    check_fitted(model)
    classes = getattr(model, "classes_", getattr(last_step(model), "classes_", None))
    if classes is None or not (is_classifier(model) or hasattr(model, "predict")):
        raise TypeError(f"{name_of(model)} has no classes_: this picture is of a classifier")
    return np.asarray(classes)


def codes_of(classes: np.ndarray, y: ArrayLike, n: int) -> np.ndarray:
    """Places of the labels in ``classes`` (n,); a wrong length or an unknown label is refused."""
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) != n:
        raise ValueError(f"y must hold a label for each of the {n} rows of X, got shape {labels.shape}")
    known = {v: k for k, v in enumerate(classes.tolist())}
    unknown = [v for v in dict.fromkeys(labels.tolist()) if v not in known]
    if unknown:
        raise ValueError(f"label {unknown[0]!r} is not a class of the model: its classes are {list(known)}")
    return np.array([known[v] for v in labels.tolist()], dtype=np.intp)


def labels_of(model: BaseEstimator, y: ArrayLike, n: int) -> np.ndarray:
    """The labels as the classes of a fitted classifier (n,)."""
    classes = check_classifier(model)
    return np.asarray(classes[codes_of(classes, y, n)])


def check_level(level: Any) -> None:
    if not 0 < float(level) < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")


def need_y(y: ArrayLike, what: str) -> None:
    if y is None:
        raise ValueError(f"y is missing: {what} compares answers with the labels, give y (n,)")


def two_sided(y: ArrayLike, label: Any = None) -> tuple[np.ndarray, Any]:
    """(is the class asked about (n,), that class): the second of two unless ``label`` names one."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be labels (n,), got shape {labels.shape}")
    found = np.unique(labels)
    if label is None:
        if len(found) != 2:
            raise ValueError(
                f"y has {len(found)} classes and the picture is of one against the rest: name it with label="
            )
        label = found[1]
    positive = np.asarray(labels == label)
    if positive.all() or not positive.any():
        raise ValueError(
            f"y holds {'only' if positive.all() else 'no'} rows of class {label!r}: give both sides"
        )
    return positive, label.item() if isinstance(label, np.generic) else label


def positive_scores(
    model: BaseEstimator, X: TableLike, label: Any, *, probability: bool
) -> tuple[FloatArray, Any]:
    """(score of a class (n,), the class): its probability, or where there is none the decision function."""
    classes = check_classifier(model)
    if label is None:
        if len(classes) != 2:
            raise ValueError(
                f"{name_of(model)} has {len(classes)} classes: name the one the picture is of with label="
            )
        label = classes[1]
    k = int(codes_of(classes, [label], 1)[0])
    label = classes.tolist()[k]
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, k], label
    if probability or not hasattr(model, "decision_function"):
        raise TypeError(f"{name_of(model)} has no predict_proba: calibrate it first, or choose another model")
    scores = np.asarray(model.decision_function(X))
    if scores.ndim == 1:
        return (scores if k == 1 else -scores), label
    return scores[:, k], label


def probabilities(p: Any, n: int) -> FloatArray:
    """Checked probabilities (n,)."""
    values = np.asarray(p, dtype=float)
    if values.shape != (n,):
        raise ValueError(f"probabilities must be ({n},) like y, got shape {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()):
        wrong = int(np.flatnonzero(~((values >= 0) & (values <= 1)))[0])
        raise ValueError(f"row {wrong} has probability {values[wrong]!r}: probabilities lie between 0 and 1")
    return values


def scores_of(p: Any, n: int) -> FloatArray:
    """Checked scores (n,)."""
    values = np.asarray(p, dtype=float)
    if values.shape != (n,) or not np.isfinite(values).all():
        raise ValueError(f"scores must be {n} finite numbers like y, got shape {values.shape}")
    return values
