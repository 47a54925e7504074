"""The decision stump: one test on one column, and the class of each side ([6321] "Weak learners", row E1).

    h(x) = left class if x_j ≤ t else right class,     (j, t) = argmin Σ_i w_i 1[h(x_i) ≠ y_i] / Σ_i w_i

The weak learner of :class:`~separatrix.AdaBoostClassifier`. Everything is searched: the verdict is "optimal".
Cost: O(np) to lay the table out and O(np) bytes a search; O(stored cells) for sparse tables.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.data import door
from separatrix.data.columns import Encoding
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.sources import TableLike
from separatrix.growth.stump_columns import CRITERIA
from separatrix.growth.stumps import Stump, StumpTable, in_units, whole_weights
from separatrix.growth.trees import sealed
from separatrix.models.base import Classifier
from separatrix.models.ensemble.members import Shares, derived, derived_from, refuse_given
from separatrix.models.ensemble.tree_cells import level_numbers
from separatrix.models.parameters import read_any_classes, threads
from separatrix.verdict.build import VERIFIED, proven
from separatrix.verdict.verdict import Verdict

ROUNDING = 1e-12  # of a sum of shares
SHOWN = 6  # levels a rule lists before it counts the rest


def _field(change: str) -> str:
    """How a part of a stump is changed."""
    return f"set stump_ = dataclasses.replace(stump_, {change})"


@constructor
class DecisionStump(Shares, Classifier):
    """h(x) = a if x_j ≤ t else b, the test and the classes of least weighted error ([6321] "Weak learners").

    Any number of classes: each side says its weighted majority. A column of numbers is cut by a threshold, halfway
    between two values; a nominal column by its levels (two classes: the best subset, more: one level against the
    rest); a sparse table by whether a word is there (x_j ≠ 0). A missing cell (NaN) goes the way that is better in
    training; a cell or level of which training had none goes to the heavier side. A tie (to a part
    in 10¹²) goes to the lowest column, then to the lowest threshold.

    Parameters
    ----------
    criterion : "error" (the least weighted error), "gini" or "entropy" (the purest sides)
    categorical_features : which columns are nominal: None (none), "from_dtype" (columns of words, categories), a mask
        (p,) of booleans, or a list of names or indices
    n_jobs : threads; None uses all cores this process may use

    Attributes
    ----------
    feature_ : index of the column; −1 where no column can be cut and the majority is all there is
    threshold_ : t; inf where the test is whether the cell is there at all, NaN for a nominal column
    levels_left_ : the levels that go left, of a nominal column; None else
    left_class_, right_class_ : labels
    left_weights_, right_weights_ : (K,) weight of each class on each side, in the units of the weights given
    missing_goes_ : "left" or "right"
    error_ : share of the weight that is put wrong
    rule_ : the stump in words
    stump_ : the test and its sides (:class:`separatrix.growth.stumps.Stump`), what predictions read: the attributes
        above are worked out from it, and changed by ``dataclasses.replace(stump_, …)``
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    verdict_ : objective = error (or the sides' mean impurity, natural logarithms)

    Notes
    -----
    Weights mean repetition, exactly: whole weights are counted, others are counted in units of 2⁻⁶² of their sum, so
    that no order of adding changes a tie. Cost O(np); threads share the columns and give the same stump.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> data = load_iris()
    >>> stump = DecisionStump().fit(data.data, data.target_names[data.target])
    >>> print(stump)
    x[2] ≤ 2.45 → setosa, else versicolor
    >>> round(stump.error_, 4), stump.verdict_.status
    (0.3333, 'optimal')
    >>> DecisionStump(categorical_features="from_dtype").fit(
    ...     [["sun", 1], ["rain", 1], ["sun", 2]], [1, 0, 1]
    ... ).rule_
    'x[0] among rain → 0, else 1'
    """

    _: KW_ONLY
    criterion: str = "error"
    categorical_features: Any = None
    n_jobs: int | None = None

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> DecisionStump:
        """Fit to rows X (n, p) and labels y (n,); a weight of 2 means the row stands there twice."""
        began = time.perf_counter()
        with threads(self.n_jobs):
            table, weight = self._lay_out(X, y, sample_weight)
            n = len(table.rows)
            repeats, unit = whole_weights(None if weight is None else weight[table.rows], n)
            whole = weight is None or bool((weight == np.floor(weight)).all())
            w = repeats if whole else in_units(repeats, unit)
            self.stump_: Stump = table.best(w)[0]
        self.total_ = float(n if weight is None else weight.sum())
        self.verdict_ = self._judged(began)
        return self

    def predict(self, X: TableLike) -> np.ndarray:
        """The class of the side each row of X (n, p) falls on, (n,)."""
        return self._on_rows(X, lambda cells: np.asarray(self.classes_[self._winner(cells)]))

    def predict_proba(self, X: TableLike) -> FloatArray:
        """The classes' shares of the side each row falls on, (n, K)."""
        check_is_fitted(self)
        stump = self.stump_
        shares = [_shares(side) for side in (stump.left_weight, stump.right_weight)]
        return self._on_rows(X, lambda cells: np.where(self._left(cells)[:, None], shares[0], shares[1]))

    feature_ = derived(lambda self: self.stump_.feature, _field("feature=…"))
    threshold_ = derived(lambda self: self.stump_.threshold, _field("threshold=…"))
    error_ = derived(lambda self: self.stump_.error, "it is the weight put wrong in training")
    left_class_ = derived(
        lambda self: self.classes_.tolist()[self.stump_.left], _field("left=its number in classes_")
    )
    right_class_ = derived(
        lambda self: self.classes_.tolist()[self.stump_.right], _field("right=its number in classes_")
    )
    left_weights_ = derived(
        lambda self: sealed(self.total_ * self.stump_.left_weight), _field("left_weight=shares of all weight")
    )
    right_weights_ = derived(
        lambda self: sealed(self.total_ * self.stump_.right_weight),
        _field("right_weight=shares of all weight"),
    )
    missing_goes_ = derived(
        lambda self: "left" if self.stump_.missing_left else "right", _field("missing_left=True or False")
    )

    @derived_from("set stump_ = dataclasses.replace(stump_, levels=a mask of the levels)")
    def levels_left_(self) -> list[Any] | None:
        """The levels of a nominal column that go left."""
        if self.stump_.kind != "levels" or self.stump_.levels is None:
            return None
        names = self._levels[self.stump_.feature]
        return [names[at] for at in np.flatnonzero(self.stump_.levels[:-1])]

    @derived_from("it is one for the column tested")
    def feature_importances_(self) -> FloatArray:
        """One for the column tested, zero for the others, (p,)."""
        out = np.zeros(self.n_features_in_)
        if self.stump_.feature >= 0:
            out[self.stump_.feature] = 1.0
        return sealed(out)

    @derived_from("it is stump_ in words")
    def rule_(self) -> str:
        """The stump in words."""
        stump, left, right = self.stump_, self.left_class_, self.right_class_
        if stump.kind == "majority":
            return f"always {left}"
        names = getattr(self, "feature_names_in_", None)
        column = f"x[{stump.feature}]" if names is None else str(names[stump.feature])
        if stump.kind == "word":
            return f"{column} present → {right}, else {left}"
        if stump.kind == "levels":
            levels = [str(v) for v in self.levels_left_ or ()]
            more = f" and {len(levels) - SHOWN} more" if len(levels) > SHOWN else ""
            return f"{column} among {', '.join(levels[:SHOWN]) or 'missing'}{more} → {left}, else {right}"
        if np.isposinf(stump.threshold):
            return f"{column} given → {left}, else {right}"
        return f"{column} ≤ {stump.threshold:.4g} → {left}, else {right}"

    def __str__(self) -> str:
        return self.rule_ if hasattr(self, "stump_") else repr(self)

    def _winner(self, cells: Any) -> np.ndarray:
        return np.where(self._left(cells), self.stump_.left, self.stump_.right)

    def _left(self, cells: Any) -> np.ndarray:
        j = max(self.stump_.feature, 0)
        column = cells[:, j] if isinstance(cells, np.ndarray) else cells[:, [j]].toarray().ravel()
        return self.stump_.side(column)

    def _check_parameters(self) -> None:
        if self.criterion not in CRITERIA:
            known = ", ".join(f'"{c}"' for c in CRITERIA)
            raise ValueError(f"criterion {self.criterion!r} is unknown: use one of {known}")
        kinds = self.categorical_features
        if isinstance(kinds, str) and kinds != "from_dtype":
            raise ValueError(
                f'categorical_features {kinds!r} is unknown: use "from_dtype", a mask, or a list of columns'
            )

    def _lay_out(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[StumpTable, FloatArray | None]:
        """The table of the rows that weigh something, and the weights of all."""
        self._check_parameters()
        cells, nominal = self._read(X)
        n = cells.shape[0]
        weight = door.read_weights(sample_weight, n)
        self.classes_, codes, _ = read_any_classes(y, weight, n)
        rows = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
        return StumpTable.of(cells, codes, len(self.classes_), rows, nominal, self.criterion), weight

    def _read(self, X: TableLike) -> tuple[Any, np.ndarray]:
        """(cells, nominal columns) of a training table; levels as numbers 0, 1, …"""
        if door.is_dask(X):
            raise TypeError("X is a Dask collection, and a stump is searched in memory: call X.compute()")
        self._encoding: Encoding | None = None
        self._levels: dict[int, list[Any]] = {}
        if self.categorical_features is None and not door.is_frame(X):
            cells = door.read_table(self, X, reset=True, missing=True)
            self._refuse_cells(cells)
            return cells, np.zeros(0, dtype=np.intp)
        self._encoding = Encoding.learn(self, X)
        nominal = self._nominal(self._encoding)
        raw = self._encoding.encode(self, X)
        door.refuse_infinite(self, raw)
        for j in nominal:
            column = self._encoding.columns[j]
            values = raw[:, j]
            known = list(column.levels) or np.unique(values[~np.isnan(values)]).tolist()
            self._levels[int(j)] = known
        return self._numbered(raw), nominal

    def _nominal(self, encoding: Encoding) -> np.ndarray:
        """Indices of the nominal columns; one that holds words and is not named is refused."""
        wanted, columns = self.categorical_features, encoding.columns
        p = len(columns)
        words = [j for j, c in enumerate(columns) if c.kind == "category" and c.levels]
        if isinstance(wanted, str):
            return np.array(words, dtype=np.intp)
        if wanted is None:
            chosen: list[int] = []
        elif isinstance(wanted, Iterable) and np.asarray(wanted).dtype == bool:
            mask = np.asarray(wanted)
            if mask.shape != (p,):
                raise ValueError(
                    f"categorical_features is a mask of shape {mask.shape} for {p} columns: give one boolean a column"
                )
            chosen = np.flatnonzero(mask).tolist()
        else:
            place = {c.name: j for j, c in enumerate(columns)} | {j: j for j in range(p)}
            unknown = [v for v in wanted if v not in place]
            if unknown:
                raise ValueError(
                    f"categorical_features names column {unknown[0]!r}, which the table does not have"
                )
            chosen = sorted({place[v] for v in wanted})
        for j in words:
            if j not in chosen:
                raise ValueError(
                    f"column {door.column_name(self, j)} holds words and a threshold needs numbers: "
                    'use categorical_features="from_dtype", or name the column there'
                )
        return np.array(chosen, dtype=np.intp)

    def _numbered(self, raw: np.ndarray) -> np.ndarray:
        """Cells with each nominal column's values replaced by their level's number, −1 where unseen."""
        assert self._encoding is not None
        cells = raw
        for j, known in self._levels.items():
            if self._encoding.columns[j].levels:
                continue  # numbered by the encoding already
            if cells is raw:
                cells = raw.copy()
            cells[:, j] = level_numbers(raw[:, j], np.asarray(known, dtype=np.float64))
        return cells

    def _read_for_prediction(self, X: TableLike) -> Any:
        if self._encoding is not None:
            raw = self._encoding.encode(self, X)
            door.refuse_infinite(self, raw)
            return self._numbered(raw)
        cells = door.read_table(self, X, reset=False, missing=True)
        if not door.is_dask(cells):
            self._refuse_cells(cells)
        return cells

    def _refuse_cells(self, cells: Any) -> None:
        door.refuse_infinite(self, cells)
        if not isinstance(cells, np.ndarray) and cells.dtype.kind == "f" and np.isnan(cells.sum()):
            at = int(np.flatnonzero(np.isnan(cells.data))[0])
            raise ValueError(
                f"Input X contains NaN: column {door.column_name(self, int(cells.indices[at]))} of a sparse table, "
                "where a word is there or not: take the cell out"
            )

    def _judged(self, began: float) -> Verdict:
        stump = self.stump_
        findings = [self.rule_]
        if stump.kind == "majority":
            findings.append("no column has two values: the majority class is all there is to say")
        elif stump.left == stump.right:
            findings.append("both sides say the same class: no test of one column beats the majority")
        return proven(
            self, scale="mean loss", objective=self._objective(stump), gap=0.0, tol=0.0, unique=None, sweeps=1,
            seconds=time.perf_counter() - began, stopped_by="every test was tried", findings=findings,
        )  # fmt: skip

    def _objective(self, stump: Stump) -> float:
        if self.criterion == "error":
            return stump.error
        impurity = 0.0
        for side in (stump.left_weight, stump.right_weight):
            share = _shares(side)[side > 0]
            loss = 1 - share if self.criterion == "gini" else -np.log(share)
            impurity += float(side[side > 0] @ loss)
        return impurity

    def _verdict_from_data(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **given: Any
    ) -> Verdict:
        """For :func:`separatrix.verify`: the stump's error on these data against the least there is."""
        refuse_given(self, given)
        cells = self._read_for_prediction(X)
        weight = door.read_weights(sample_weight, cells.shape[0])
        codes = self._codes_of(y, cells.shape[0])
        rows = np.arange(len(codes)) if weight is None else np.flatnonzero(weight > 0)
        share = np.ones(len(codes)) if weight is None else weight
        share = share / share.sum()
        k, left = len(self.classes_), self._left(cells)
        here, there = (np.bincount(codes[s], share[s], k).astype(float) for s in (left, ~left))
        error = float(share[self._winner(cells) != codes].sum())
        sides = Stump(0, "number", 0.0, None, 0, 0, True, here, there, error)
        table = StumpTable.of(cells, codes, k, rows, list(self._levels), self.criterion)
        units = in_units(*whole_weights(None if weight is None else weight[table.rows], len(rows)))
        value, bound = self._objective(sides), self._objective(table.best(units)[0])
        gap = max(value - bound, 0.0)
        return proven(
            self, scale="mean loss", objective=value, gap=gap, tol=0.0, unique=None, sweeps=1, stopped_by=VERIFIED,
            findings=(f"the least there is: {bound:.6g}",), status="optimal" if gap <= ROUNDING else "not converged",
        )  # fmt: skip

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.categorical_features is None
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self.categorical_features is not None
        tags.input_tags.string = self.categorical_features is not None
        tags.classifier_tags.poor_score = True
        return tags


def _shares(side: FloatArray) -> FloatArray:
    """A side's classes as shares; even where the side is empty."""
    total = side.sum()
    return side / total if total > 0 else np.full(len(side), 1.0 / len(side))
