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

from separatrix.data.door import is_dask, read_labels

NUMBERS = ("continuous", "discrete")


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

    @classmethod
    def of(cls, X: Any, y: ArrayLike, kinds: Mapping[str, str] | None = None) -> TableFacts:
        """Read from X (n, p), a table (array, sparse matrix or frame), and y (n,). One pass.

        >>> facts = TableFacts.of([[1.0, 2.0], [0.0, 5.0], [3.0, 1.0]], ["a", "b", "a"])
        >>> facts.n, facts.p, facts.counts.tolist(), facts.whole
        (3, 2, [2, 1], True)
        """
        n, p = np.shape(X)
        classes, codes = read_labels(y, n)
        counts = np.bincount(codes, minlength=len(classes))
        if hasattr(X, "columns"):
            from separatrix.tables.kinds import infer_kinds

            known = infer_kinds(X, dict(kinds) if kinds else None, y)
            return cls(n, p, classes, counts, True, False, bool(X.isna().any(axis=None)), False, known)
        cells = np.asarray(getattr(X, "data") if sp.issparse(X) else X)  # noqa: B009  the stored cells of CSR
        if cells.dtype.kind not in "fiub":
            return cls(n, p, classes, counts, False, False, False, False, {})
        missing = bool(np.isnan(cells).any()) if cells.dtype.kind == "f" else False
        whole = not missing and bool((cells >= 0).all()) and bool((cells == np.rint(cells)).all())
        return cls(n, p, classes, counts, False, bool(sp.issparse(X)), missing, whole, {})

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
