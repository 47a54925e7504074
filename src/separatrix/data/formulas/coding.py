"""How a formula reads a frame, remembered:  columns, levels, offsets, and what was named (row D8).

A coding is made by a fit and kept with the model, so that a new frame is read with the same levels, the same knots
and centres, the same offsets, and the exposures and weights that the fit's arguments named. Cost O(n) beside the
design.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray
from separatrix.data.formulas import expressions
from separatrix.data.formulas.left_side import LeftSide

EXTRAS = ("sample_weight", "offset", "exposure", "precision", "weights")
LEVELS_NAMED = 8  # how many known levels a refusal lists


@dataclass(frozen=True)
class Coding:
    """How a formula reads a frame: kept with the model, so that a new frame is read alike.

    ``columns`` are those of the right side, ``levels`` the levels of each of them that is a factor as it stands,
    ``named`` the arguments of the fit that were names of columns.
    """

    left: LeftSide
    spec: Any
    offsets: tuple[expressions.Expression, ...]
    columns: tuple[str, ...]
    levels: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)

    def cells(self, data: Any) -> Any:
        """The columns of the right side on rows without an empty cell (a frame, the intercept's column left out)."""
        self._refuse_unseen(data)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore", RuntimeWarning)
                # a level that was not seen is only warned of, and coded as the first
                warnings.filterwarnings("error", category=expressions.formulaic().errors.DataMismatchWarning)
                X = self.spec.get_model_matrix(data, na_action="ignore", context=expressions.CONTEXT)
        except Exception as error:
            raise ValueError(
                f"the frame does not give the columns of the formula: {expressions.plain(error)}"
            ) from error
        return X.drop(columns="Intercept") if "Intercept" in X.columns else X

    def shift(self, data: Any, numbers: np.ndarray) -> FloatArray | None:
        """Σ offset(…) of the formula on rows without an empty cell; one that is not finite is refused by its row."""
        total = None
        for expression in self.offsets:
            values = expression.values(data)
            bad = np.flatnonzero(~np.isfinite(values))
            if len(bad):
                cells = ", ".join(f"{c} = {data[c].iloc[bad[0]]}" for c in expression.columns)
                raise ValueError(
                    f"offset({expression.text}) must be finite: it is {values[bad[0]]:g} in row "
                    f"{int(numbers[bad[0]])} ({cells}){and_more(bad)}; drop rows that were never at risk"
                )
            total = values if total is None else total + values
        return total

    def _refuse_unseen(self, data: Any) -> None:
        for name, known in self.levels.items():
            values = data[name]
            strange = np.flatnonzero(~values.isin(known).to_numpy())
            if len(strange):
                i = int(strange[0])
                listed = ", ".join(repr(v) for v in known[:LEVELS_NAMED])
                more = f" and {len(known) - LEVELS_NAMED} more" if len(known) > LEVELS_NAMED else ""
                raise ValueError(
                    f"column {name!r} has the level {values.iloc[i]!r} in row {int(data.index[i])}"
                    f"{and_more(strange)}, which was not seen in training: the levels are {listed}{more}; "
                    "leave such rows out, or fit with some"
                )


@dataclass(frozen=True)
class NewRows:
    """Rows of a new frame: X of the whole ones, which they are (n,), their offset, and what columns were named."""

    X: Any
    whole: np.ndarray
    extras: dict[str, Any]


def read_new(coding: Coding, frame: Any, given: dict[str, Any], na: str = "nan") -> NewRows:
    """A new frame read as the fit's was; ``given`` overrides what the fit's arguments named.

    ``na="nan"`` leaves rows with an empty cell out of X and out of ``whole``; "raise" refuses the first by name.
    """
    data = expressions.pandas_frame(frame)
    expressions.refuse_missing_columns(coding.columns, data, "the formula needs")
    for term in coding.offsets:
        expressions.refuse_missing_columns(term.columns, data, f"offset({term.text}) needs")
    values = {}
    for name in EXTRAS:
        value = given.get(name)
        if value is None and name in given:
            value = coding.named.get(name)
            if value is not None and value not in data.columns:
                raise ValueError(
                    f"the model was fitted with {name}={value!r}, and the frame has no such column: add it, or "
                    f"give {name}= here ({_way(name)})"
                )
        if value is not None:
            values[name] = column_or_numbers(name, value, data) if isinstance(value, str) else value
    needed = sorted({*coding.columns, *(c for s in coding.offsets for c in s.columns)})
    empty = data[needed].isna() if needed else data[[]]
    whole = ~np.asarray(empty.any(axis=1)) if needed else np.ones(len(data), dtype=bool)
    if na == "raise" and not whole.all():
        i = int(np.flatnonzero(~whole)[0])
        name = needed[int(np.flatnonzero(empty.iloc[i].to_numpy())[0])]
        raise ValueError(
            f"column {name!r} is empty in row {i} ({int((~whole).sum())} rows with an empty cell in all): fill such "
            'cells or drop the rows; na="nan" gives NaN for them'
        )
    for name, value in values.items():
        if coding.named.get(name) is not None and given.get(name) is None:
            lost = is_empty(value)
            if na == "raise" and lost.any():
                i = int(np.flatnonzero(lost)[0])
                raise ValueError(
                    f"{name}={coding.named[name]!r} is empty in row {i}: fill it or drop the row"
                )
            whole &= ~lost
    rows, numbers = data if whole.all() else data[whole], np.flatnonzero(whole)
    X = coding.cells(rows) if len(rows) else None
    shift = coding.shift(rows, numbers) if len(rows) else None
    values = {name: _some(name, value, whole) for name, value in values.items()}
    if shift is not None:
        values["offset"] = shift if "offset" not in values else shift + numbers_of("offset", values["offset"])
    if X is not None and (lost := np.isnan(X.to_numpy(dtype=np.float64)).any(axis=1)).any():
        _report_lost(X, lost, numbers, na)
        X, whole = X[~lost], whole.copy()
        whole[numbers[lost]] = False
        values = {name: v if np.ndim(v) == 0 else v[~lost] for name, v in values.items()}
    return NewRows(X, whole, values)


def _report_lost(X: Any, lost: np.ndarray, numbers: np.ndarray, na: str) -> None:
    """A term that arithmetic makes no number of, though no cell is empty: said, or refused."""
    term = X.columns[int(np.flatnonzero(np.isnan(X.to_numpy(dtype=np.float64)).any(axis=0))[0])]
    words = f"{term} is no number in {expressions.rows_listed(numbers[lost])}, though no cell is empty there"
    if na == "raise":
        raise ValueError(words)
    warn(f"{words}: the prediction is NaN")


def is_empty(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    import pandas as pd  # a formula has one already: None, NaN and pandas.NA alike

    return np.asarray(pd.isna(values))


def column_or_numbers(name: str, value: Any, data: Any) -> np.ndarray:
    if isinstance(value, str):
        if value not in data.columns:
            hint = f"; an expression stands in the formula: offset({value})" if name == "offset" else ""
            raise ValueError(f"{name}={value!r} is not a column of the frame{hint}")
        column = data[value]
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan)
                          if column.dtype.kind in "iuf" else column.to_numpy())  # fmt: skip
    array = np.asarray(value)
    if array.shape != (len(data),):
        raise ValueError(f"{name} must have one number a row, {len(data)} in all, got shape {array.shape}")
    return array


def numbers_of(name: str, values: Any) -> FloatArray:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numbers, got dtype {array.dtype}")
    return array.astype(np.float64)


def _some(name: str, value: Any, whole: np.ndarray) -> Any:
    """What was given for all rows, on the whole ones; a single number stays one."""
    array = np.asarray(value)
    if array.ndim == 0:
        return value
    if array.shape != whole.shape:
        raise ValueError(f"{name} must have one number a row, {len(whole)} in all, got shape {array.shape}")
    return array[whole]


def _way(name: str) -> str:
    return {
        "exposure": "exposure=1 for rates",
        "offset": "offset=0 for none",
        "precision": "one number a row",
        "weights": "one number a row",
    }[name]


def and_more(rows: np.ndarray) -> str:
    return f" ({len(rows)} such rows)" if len(rows) > 1 else ""
