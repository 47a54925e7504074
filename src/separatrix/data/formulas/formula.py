"""Formulas to tables:  "k/N ~ x + C(g) * z + offset(log(t))" and a frame give columns, terms, response, offset (D8).

The grammar is formulaic's (an extra), which is close to R's; the left side is R's (see ``left_side``), offset(…) on
the right is a column whose coefficient is one. Rows with an empty cell in a column of the formula are left out and
counted; so are rows of which arithmetic makes no number, by name. A coding remembers how a table was made, so that
new frames are read with the same levels, the same offsets, and the weights and exposures that were named.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.caller import warn
from separatrix.data.formulas import expressions
from separatrix.data.formulas.coding import Coding, and_more, column_or_numbers, is_empty, numbers_of
from separatrix.data.formulas.left_side import LeftSide


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


def read_formula(formula: str, frame: Any, extras: dict[str, Any], family: str = "gaussian") -> FormulaTable:
    """The table a formula describes on a frame of any kind narwhals reads, for a family (its name)."""
    if not isinstance(formula, str):
        raise TypeError(f'a formula is a text like "y ~ x + C(g)", got {type(formula).__name__}')
    data = expressions.pandas_frame(frame)
    if "~" not in formula or not formula.split("~", 1)[0].strip():
        raise ValueError(f'formula {formula!r} has no response: write "y ~ terms"')
    text, right = _spell_out(expressions.r_spelling(formula), data).split("~", 1)
    right, offsets = _without_offsets(right, formula)
    columns = expressions.required_columns(right)
    expressions.refuse_missing_columns(columns, data, "formula names")
    left = LeftSide.of(text, data, family)
    shifts = tuple(expressions.Expression.of(offset, data) for offset in offsets)
    given = {
        name: column_or_numbers(name, value, data) for name, value in extras.items() if value is not None
    }
    named = {name: str(value) for name, value in extras.items() if isinstance(value, str)}

    needed = sorted({*columns, *left.columns, *(c for s in shifts for c in s.columns)})
    whole = ~np.asarray(data[needed].isna().any(axis=1)) if needed else np.ones(len(data), dtype=bool)
    for value in given.values():  # an empty cell in a weight or an offset drops its row too
        whole &= ~is_empty(value)
    findings = _empty_words(data, needed, named, given, whole)
    _refuse_nothing_left(whole)
    rows = data if whole.all() else data[whole]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            X = expressions.formulaic().model_matrix(
                right, rows, na_action="ignore", context=expressions.CONTEXT
            )
    except Exception as error:  # formulaic wraps whatever evaluating a term raised
        raise ValueError(f"formula {formula!r} could not be evaluated: {expressions.plain(error)}") from error
    spec = X.model_spec
    coding = Coding(left, spec, shifts, tuple(sorted(columns)), _levels(spec, rows), named)
    numbers = np.flatnonzero(whole)
    y = left.read(rows, numbers)
    shift = coding.shift(rows, numbers)
    values = {name: value[whole] for name, value in given.items()}
    if shift is not None:
        values["offset"] = shift if "offset" not in values else shift + numbers_of("offset", values["offset"])
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


# ---- rows left out ----


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
                f"{expressions.rows_listed(numbers[new])}"
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
        counts[named.get(name, f"{name}=")] = int(is_empty(value).sum())
    listed = ", ".join(f"{name} ({count})" for name, count in counts.items() if count)
    return [f"rows: {int((~whole).sum())} left out, with an empty cell in a column of the formula: {listed}"]


def _refuse_nothing_left(whole: np.ndarray) -> None:
    if not whole.any():
        raise ValueError("every row has an empty cell in some column of the formula: nothing is left to fit")


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
        whole = expressions.formulaic().Formula(right)
    except Exception as error:
        raise ValueError(f"formula {formula!r} could not be read: {expressions.plain(error)}") from error
    if not isinstance(whole, expressions.formulaic().SimpleFormula):
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
    return expressions.formulaic().Formula(kept), found


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
            given = numbers_of(name, values[name])
            differs = np.flatnonzero(given != trials)
            if len(differs):
                i = int(differs[0])
                raise ValueError(
                    f"{left.text} has {trials[i]:g} trials in row {int(numbers[i])} and {name}="
                    f"{named.get(name, '…')} says {given[i]:g}{and_more(differs)}: leave {name} out, or write "
                    f"I({left.text}) for a proportion of other trials"
                )
            values = {key: value for key, value in values.items() if key != name}
    return values
