"""A table before any model:  its facts, its cells, and its columns in the form that a model wants.

    TableFacts.of(X, y)         rows, columns, classes, missing cells, kinds of columns: what suitability depends on
    encoder_of(facts, form)     TableEncoder of a frame, scaling of an array

Forms: "native" (as they are, words and missing cells too), "linear" (numbers, standardised, words as 0 and 1),
"counts" (whole numbers), "dense" (as "linear", but columns of many levels coded by the target). Row V1.
Cost: one pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_dask, read_labels

NUMBERS = ("continuous", "discrete")


@dataclass(frozen=True)
class Target:
    """Numbers to predict: the least, whether all are whole, how many differ, and their spread (a quarter of what the
    middle 95 % differ by, so that a few huge ones do not count).
    """

    least: float
    whole: bool
    different: int
    spread: float

    @classmethod
    def of(cls, y: FloatArray) -> Target:
        """
        >>> Target.of(np.arange(101.0))
        Target(least=0.0, whole=True, different=101, spread=23.75)
        """
        low, high = np.quantile(y, [0.025, 0.975])
        spread = float(high - low) / 4 or float(y.std()) or 1.0
        return cls(float(y.min()), bool((y == np.rint(y)).all()), len(np.unique(y)), spread)


@dataclass(frozen=True, eq=False)
class TableFacts:
    """What is known of a table before any model: n, p, counts of classes, and what its columns hold."""

    n: int
    p: int
    classes: np.ndarray
    counts: np.ndarray
    frame: bool
    sparse: bool
    missing: bool
    whole: bool  # every cell a count: whole and not negative
    kinds: Mapping[str, str]  # of a frame's columns, empty of an array
    task: str = "classes"  # or "numbers": then there are no classes, and counts of none
    target: Target | None = None  # of numbers
    order: tuple[Any, ...] | None = (
        None  # of the classes, from the lowest to the highest, where they have one
    )

    @classmethod
    def of(
        cls, X: Any, y: ArrayLike, kinds: Mapping[str, str] | None = None, task: str = "classes"
    ) -> TableFacts:
        """Read from X (n, p), a table (array, sparse matrix or frame), and y (n,), labels or numbers. One pass.

        >>> facts = TableFacts.of([[1.0, 2.0], [0.0, 5.0], [3.0, 1.0]], ["a", "b", "a"])
        >>> facts.n, facts.p, facts.counts.tolist(), facts.whole
        (3, 2, [2, 1], True)
        """
        n, p = np.shape(X)
        classes, counts = np.empty(0, dtype=object), np.empty(0, dtype=np.intp)
        target = None
        if task == "numbers":
            target = Target.of(np.asarray(y, dtype=float))
        else:
            classes, codes = read_labels(y, n)
            counts = np.bincount(codes, minlength=len(classes))
        if hasattr(X, "columns"):
            from separatrix.tables.kinds import infer_kinds

            known = infer_kinds(X, dict(kinds) if kinds else None, None if task == "numbers" else y)
            return cls(
                n, p, classes, counts, True, False, bool(X.isna().any(axis=None)), False, known, task, target
            )
        cells = np.asarray(getattr(X, "data") if sp.issparse(X) else X)  # noqa: B009  the stored cells of CSR
        if cells.dtype.kind not in "fiub":
            return cls(n, p, classes, counts, False, False, False, False, {}, task, target)
        missing = bool(np.isnan(cells).any()) if cells.dtype.kind == "f" else False
        whole = not missing and bool((cells >= 0).all()) and bool((cells == np.rint(cells)).all())
        return cls(n, p, classes, counts, False, bool(sp.issparse(X)), missing, whole, {}, task, target)

    @property
    def numeric(self) -> bool:
        """Whether every column that is used holds numbers."""
        return all(k in (*NUMBERS, "identifier", "leak", "constant") for k in self.kinds.values())

    def has(self, *kinds: str) -> bool:
        return any(k in kinds for k in self.kinds.values())

    @property
    def text_only(self) -> bool:
        """Whether text is all there is to go by."""
        return self.has("text") and not self.has("continuous", "discrete", "nominal", "target", "date")


def read_two(y: ArrayLike, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(classes, the number of each label (n,), the labels); one class alone is refused."""
    classes, codes = read_labels(y, n)
    if len(classes) < 2:
        raise ValueError(f"y holds one class, {classes.tolist()[0]!r}: there is nothing to tell apart")
    return classes, codes, np.asarray(classes)[codes]


def read_numbers(y: ArrayLike, n: int) -> FloatArray:
    """y (n,) as finite floats that are not all equal; else a sentence that names the row.

    >>> read_numbers(["1.5", "2"], 2)
    array([1.5, 2. ])
    """
    values = np.asarray(y)
    if values.shape != (n,):
        raise ValueError(f"y has shape {values.shape}, X has {n} rows: give one number a row")
    try:
        numbers = values.astype(float)
    except (TypeError, ValueError):
        at = next(i for i, v in enumerate(values.tolist()) if not _is_number(v))
        raise ValueError(
            f"y is {values.tolist()[at]!r} in row {at}, which is no number: a regression predicts numbers; give "
            "another target, or use a classifier"
        ) from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(
            f"y is {numbers[bad[0]]} in row {int(bad[0])} ({len(bad)} in all): drop the row, or mend it"
        )
    if len(numbers) and numbers.min() == numbers.max():
        raise ValueError(f"y is {numbers[0]:g} in every row: there is nothing to predict")
    return numbers


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def read_X(X: Any) -> Any:
    """A pandas frame where columns have names, else a dense or CSR array of numbers; anything else is refused."""
    if is_dask(X):
        raise TypeError("models are compared on rows in memory: call .compute() on X and y, or give a sample")
    if sp.issparse(X):
        return getattr(X, "tocsr")()  # noqa: B009  the stubs know no method of any sparse matrix
    if hasattr(X, "columns"):
        from separatrix.tables.frames import as_frame

        return as_frame(X)
    cells = np.asarray(X)
    if cells.dtype.kind in "US" and isinstance(X, (list, tuple)):
        cells = np.array(X, dtype=object)  # numbers beside words stay numbers
    if cells.dtype.kind in "OUS":
        try:
            cells = cells.astype(float)
        except (TypeError, ValueError):
            return _named(cells)
    if cells.ndim != 2:
        raise ValueError(
            f"X must have rows and columns, got {cells.ndim} dimension(s) of shape {cells.shape}"
        )
    if cells.dtype.kind == "f" and np.isinf(cells).any():
        i, j = (int(v[0]) for v in np.nonzero(np.isinf(cells)))
        raise ValueError(f"X is infinite in row {i}, column {j}: mend the cell, or make it NaN (missing)")
    return cells


def _named(cells: np.ndarray) -> Any:
    """Words in an array become a frame, so that columns have kinds."""
    if cells.ndim != 2:
        raise ValueError(
            f"X must have rows and columns, got {cells.ndim} dimension(s) of shape {cells.shape}"
        )
    import pandas as pd

    frame = pd.DataFrame(cells, columns=[f"x{j}" for j in range(cells.shape[1])])
    return frame.infer_objects()


def encoder_of(facts: TableFacts, form: str | None) -> Any:
    """A transformer to the form, not yet fitted; None where the columns are seen as they are.

    >>> facts = TableFacts.of(np.array([[1.5, np.nan], [0.0, 5.0]]), ["a", "b"])
    >>> [type(step).__name__ for _, step in encoder_of(facts, "linear").steps]
    ['SimpleImputer', 'StandardScaler']
    """
    if form is None:
        return None
    if facts.frame:
        from separatrix.tables.encode import encoder_for

        return encoder_for(form, facts.kinds)
    if form not in ("linear", "dense"):
        return None
    if facts.sparse:
        return MaxAbsScaler()
    if facts.missing:
        fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        return make_pipeline(fill, StandardScaler())
    return StandardScaler()
