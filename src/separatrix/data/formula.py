"""Formulas to tables:  "k/N ~ x + C(g) * z + offset(log(t))" and a frame give columns, terms, response, offset (D8).

The grammar is formulaic's (an extra), which is close to R's; the left side is R's (see ``left_side``), offset(…) on
the right is a column whose coefficient is one. Rows with an empty cell in a column of the formula are left out and
counted; so are rows of which arithmetic makes no number, by name. A coding remembers how a table was made, so that
new frames are read with the same levels, the same offsets, and the weights and exposures that were named.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray
from separatrix.data.expressions import (
    CONTEXT,
    Expression,
    formulaic,
    pandas_frame,
    plain,
    r_spelling,
    refuse_missing_columns,
    required_columns,
    rows_listed,
)
from separatrix.data.left_side import LeftSide

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
    offsets: tuple[Expression, ...]
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
                warnings.filterwarnings("error", category=formulaic().errors.DataMismatchWarning)
                X = self.spec.get_model_matrix(data, na_action="ignore", context=CONTEXT)
        except Exception as error:
            raise ValueError(f"the frame does not give the columns of the formula: {plain(error)}") from error
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
                    f"{int(numbers[bad[0]])} ({cells}){_and_more(bad)}; drop rows that were never at risk"
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
                    f"{_and_more(strange)}, which was not seen in training: the levels are {listed}{more}; "
                    "leave such rows out, or fit with some"
                )


@dataclass(frozen=True)
class FormulaTable:
    """X (a frame without the intercept's column), y, term → columns, the coding of new frames, what was left out, and
    the rows' numbers in the frame."""

    X: Any
    y: Any
    terms: dict[str, list[int]]
    intercept: bool
    coding: Coding
    extras: dict[str, Any]
    findings: tuple[str, ...]
    numbers: np.ndarray


@dataclass(frozen=True)
class NewRows:
    """Rows of a new frame: X of the whole ones, which they are (n,), their offset, and what columns were named."""

    X: Any
    whole: np.ndarray
    extras: dict[str, Any]


def read_formula(formula: str, frame: Any, extras: dict[str, Any], family: str = "gaussian") -> FormulaTable:
    """The table a formula describes on a frame of any kind narwhals reads, for a family (its name)."""
    if not isinstance(formula, str):
        raise TypeError(f'a formula is a text like "y ~ x + C(g)", got {type(formula).__name__}')
    data = pandas_frame(frame)
    if "~" not in formula or not formula.split("~", 1)[0].strip():
        raise ValueError(f'formula {formula!r} has no response: write "y ~ terms"')
    text, right = _spell_out(r_spelling(formula), data).split("~", 1)
    right, offsets = _without_offsets(right, formula)
    columns = required_columns(right)
    refuse_missing_columns(columns, data, "formula names")
    left = LeftSide.of(text, data, family)
    shifts = tuple(Expression.of(offset, data) for offset in offsets)
    given = {name: _column(name, value, data) for name, value in extras.items() if value is not None}
    named = {name: str(value) for name, value in extras.items() if isinstance(value, str)}

    needed = sorted({*columns, *left.columns, *(c for s in shifts for c in s.columns)})
    whole = ~np.asarray(data[needed].isna().any(axis=1)) if needed else np.ones(len(data), dtype=bool)
    for value in given.values():  # an empty cell in a weight or an offset drops its row too
        whole &= ~_is_empty(value)
    findings = _empty_words(data, needed, named, given, whole)
    _refuse_nothing_left(whole)
    rows = data[whole]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            X = formulaic().model_matrix(right, rows, na_action="ignore", context=CONTEXT)
    except Exception as error:  # formulaic wraps whatever evaluating a term raised
        raise ValueError(f"formula {formula!r} could not be evaluated: {plain(error)}") from error
    spec = X.model_spec
    coding = Coding(left, spec, shifts, tuple(sorted(columns)), _levels(spec, rows), named)
    numbers = np.flatnonzero(whole)
    y = left.read(rows, numbers)
    shift = coding.shift(rows, numbers)
    values = {name: value[whole] for name, value in given.items()}
    if shift is not None:
        values["offset"] = shift if "offset" not in values else shift + _numbers("offset", values["offset"])
    kept, more = _numbers_only(X, y, left.text, numbers, formula)
    if not kept.all():
        X, y, numbers = X[kept], y[kept], numbers[kept]
        values = {name: value[kept] for name, value in values.items()}
    values = _shares(left, y, values, named, numbers)
    terms, intercept = _terms(X, spec, formula)
    words = left.words()
    return FormulaTable(
        X.drop(columns="Intercept") if intercept else X, y, terms, intercept, coding, values,
        (*([words] if words else []), *findings, *more), numbers,
    )  # fmt: skip


def read_new(coding: Coding, frame: Any, given: dict[str, Any], na: str = "nan") -> NewRows:
    """A new frame read as the fit's was; ``given`` overrides what the fit's arguments named.

    ``na="nan"`` leaves rows with an empty cell out of X and out of ``whole``; "raise" refuses the first by name.
    """
    data = pandas_frame(frame)
    refuse_missing_columns(coding.columns, data, "the formula needs")
    for term in coding.offsets:
        refuse_missing_columns(term.columns, data, f"offset({term.text}) needs")
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
            values[name] = _column(name, value, data) if isinstance(value, str) else value
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
            lost = _is_empty(value)
            if na == "raise" and lost.any():
                i = int(np.flatnonzero(lost)[0])
                raise ValueError(
                    f"{name}={coding.named[name]!r} is empty in row {i}: fill it or drop the row"
                )
            whole &= ~lost
    rows, numbers = data[whole], np.flatnonzero(whole)
    X = coding.cells(rows) if len(rows) else None
    shift = coding.shift(rows, numbers) if len(rows) else None
    values = {name: _some(name, value, whole) for name, value in values.items()}
    if shift is not None:
        values["offset"] = shift if "offset" not in values else shift + _numbers("offset", values["offset"])
    if X is not None and (lost := np.isnan(X.to_numpy(dtype=np.float64)).any(axis=1)).any():
        _report_lost(X, lost, numbers, na)
        X, whole = X[~lost], whole.copy()
        whole[numbers[lost]] = False
        values = {name: v if np.ndim(v) == 0 else v[~lost] for name, v in values.items()}
    return NewRows(X, whole, values)


# ---- rows left out ----


def _report_lost(X: Any, lost: np.ndarray, numbers: np.ndarray, na: str) -> None:
    """A term that arithmetic makes no number of, though no cell is empty: said, or refused."""
    term = X.columns[int(np.flatnonzero(np.isnan(X.to_numpy(dtype=np.float64)).any(axis=0))[0])]
    words = f"{term} is no number in {rows_listed(numbers[lost])}, though no cell is empty there"
    if na == "raise":
        raise ValueError(words)
    warn(f"{words}: the prediction is NaN")


def _numbers_only(
    X: Any, y: Any, response: str, numbers: np.ndarray, formula: str
) -> tuple[np.ndarray, list[str]]:
    """Rows of which every term is a number, and sentences on the others, which are warned of as well."""
    cells = X.to_numpy(dtype=np.float64)
    lost = [(str(X.columns[j]), np.isnan(cells[:, j])) for j in range(cells.shape[1])]
    if getattr(y, "ndim", 1) == 1 and np.asarray(y).dtype.kind == "f":
        lost.append((f"the response {response}", np.isnan(y)))
    kept, findings = np.ones(len(cells), dtype=bool), []
    for name, where in lost:
        if (new := where & kept).any():
            kept &= ~where
            findings.append(
                f"rows: {int(new.sum())} left out, where {name} is no number though no cell is empty: "
                f"{rows_listed(numbers[new])}"
            )
    for words in findings:
        warn(f"{formula}: {words}")
    _refuse_nothing_left(kept)
    return kept, findings


def _empty_words(
    data: Any, needed: list[str], named: dict[str, str], given: dict[str, np.ndarray], whole: np.ndarray
) -> list[str]:
    if whole.all():
        return []
    counts = {name: int(data[name].isna().sum()) for name in needed}
    for name, value in given.items():
        counts[named.get(name, f"{name}=")] = int(_is_empty(value).sum())
    listed = ", ".join(f"{name} ({count})" for name, count in counts.items() if count)
    return [f"rows: {int((~whole).sum())} left out, with an empty cell in a column of the formula: {listed}"]


def _refuse_nothing_left(whole: np.ndarray) -> None:
    if not whole.any():
        raise ValueError("every row has an empty cell in some column of the formula: nothing is left to fit")


def _is_empty(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    import pandas as pd  # a formula has one already: None, NaN and pandas.NA alike

    return np.asarray(pd.isna(values))


# ---- terms ----


def _terms(X: Any, spec: Any, formula: str) -> tuple[dict[str, list[int]], bool]:
    """Term → its columns, the intercept's left out; and whether there is one."""
    intercept = "Intercept" in X.columns
    terms: dict[str, list[int]] = {}
    for term, where in spec.term_indices.items():
        if str(term) != "1":
            terms[str(term)] = [int(j) - int(intercept) for j in where]
    if X.shape[1] == int(intercept):
        raise ValueError(
            f"formula {formula!r} has no column besides the intercept: its deviance is null_deviance_"
        )
    return terms, intercept


def _without_offsets(right: str, formula: str) -> tuple[Any, list[str]]:
    """The right side without its offset(…) terms, and what stands in them.

    >>> _without_offsets("x + offset(log(t)) + z", "y ~ …")
    (1 + x + z, ['log(t)'])
    """
    try:
        whole = formulaic().Formula(right)
    except Exception as error:
        raise ValueError(f"formula {formula!r} could not be read: {plain(error)}") from error
    if not isinstance(whole, formulaic().SimpleFormula):
        raise ValueError(
            f"formula {formula!r} has several right sides: write one, y ~ terms, without | or a second ~"
        )
    terms = list(whole)
    kept, found = [], []
    for term in terms:
        inside = [re.fullmatch(r"offset\s*\((.*)\)", factor.expr, re.DOTALL) for factor in term.factors]
        if len(inside) == 1 and inside[0]:
            if not inside[0][1].strip():
                raise ValueError("offset() is empty: name what is added to the score, as in offset(log(t))")
            found.append(inside[0][1])
        elif any(re.search(r"(?<![\w.])offset\s*\(", factor.expr) for factor in term.factors):
            raise ValueError(
                f"{term} puts offset(…) inside another term, and an offset has no coefficient to share: let it stand "
                "alone, as in y ~ x + offset(log(t))"
            )
        else:
            kept.append(term)
    return formulaic().Formula(kept), found


def _levels(spec: Any, data: Any) -> dict[str, tuple[Any, ...]]:
    """Levels of the columns that are factors as they stand: their values are the levels themselves."""
    found: dict[str, tuple[Any, ...]] = {}
    for factor, variables in spec.factor_variables.items():
        state = spec.encoder_state.get(factor.expr)
        names = [str(v) for v in variables if str(v) in data.columns]
        if state is None or state[0].name != "CATEGORICAL" or len(names) != 1:
            continue
        known = tuple(state[1].get("categories", ()))
        if data[names[0]].isin(known).all():
            found[names[0]] = known
    return found


def _spell_out(formula: str, data: Any) -> str:
    """A lone dot on the right is every column that the left does not name, as in R."""
    left, right = formula.split("~", 1)
    if not re.search(r"(?<![\w.])\.(?![\w.])", right):
        return formula
    others = [f"`{c}`" for c in data.columns if not re.search(rf"(?<!\w){re.escape(str(c))}(?!\w)", left)]
    return left + "~" + re.sub(r"(?<![\w.])\.(?![\w.])", f"({' + '.join(others)})", right)


# ---- weights and offsets ----


def _shares(
    left: LeftSide, y: Any, values: dict[str, Any], named: dict[str, str], numbers: np.ndarray
) -> dict[str, Any]:
    """Of k/N with weights=N, as R's users write it, N counts once; other weights contradict it."""
    if left.kind != "share":
        return values
    for name in ("weights", "precision"):
        if name in values:
            trials = y.sum(axis=1)
            given = _numbers(name, values[name])
            differs = np.flatnonzero(given != trials)
            if len(differs):
                i = int(differs[0])
                raise ValueError(
                    f"{left.text} has {trials[i]:g} trials in row {int(numbers[i])} and {name}="
                    f"{named.get(name, '…')} says {given[i]:g}{_and_more(differs)}: leave {name} out, or write "
                    f"I({left.text}) for a proportion of other trials"
                )
            values = {key: value for key, value in values.items() if key != name}
    return values


def _column(name: str, value: Any, data: Any) -> np.ndarray:
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


def _numbers(name: str, values: Any) -> FloatArray:
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


def _and_more(rows: np.ndarray) -> str:
    return f" ({len(rows)} such rows)" if len(rows) > 1 else ""
