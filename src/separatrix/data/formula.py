"""Formulas to tables:  "y ~ x + C(g) * z" and a frame give columns, names, terms and the response (row D8).

The grammar is formulaic's (an extra), which is close to R's. Rows with an empty cell in a column of the formula are
left out and counted. A table remembers how it was made, so that new frames are coded with the same levels.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

EXTRAS = ("sample_weight", "offset", "exposure", "precision")


@dataclass(frozen=True)
class FormulaTable:
    """X (a frame without the intercept's column), y, term → columns, the coding of new frames, rows left out."""

    X: Any
    y: Any
    terms: dict[str, list[int]]
    intercept: bool
    spec: Any
    extras: dict[str, Any]
    dropped: int


def read_formula(formula: str, frame: Any, extras: dict[str, Any]) -> FormulaTable:
    """The table a formula describes on a frame of any kind narwhals reads."""
    formulaic = _formulaic()
    if not isinstance(formula, str):
        raise TypeError(f'a formula is a text like "y ~ x + C(g)", got {type(formula).__name__}')
    data = _pandas(frame)
    if "~" not in formula:
        raise ValueError(f'formula {formula!r} has no response: write "y ~ terms"')
    formula = _spell_out(formula, data)
    missing = _names_missing(formula, data, formulaic)
    if missing:
        listed = ", ".join(map(str, data.columns[:12]))
        raise ValueError(f"formula names {missing[0]!r}, which is not a column: the columns are {listed}")
    given = {name: _column(name, value, data) for name, value in extras.items() if value is not None}
    try:
        made = formulaic.model_matrix(formula, data, na_action="drop")
    except Exception as error:  # formulaic wraps whatever evaluating a term raised
        raise ValueError(f"formula {formula!r} could not be evaluated: {_plain(error)}") from error
    if not hasattr(made, "rhs") or not hasattr(made, "lhs"):
        raise ValueError(f'formula {formula!r} has no response: write "y ~ terms"')
    y, X = made.lhs, made.rhs
    spec = X.model_spec
    intercept = "Intercept" in X.columns
    places = data.index.get_indexer(X.index)
    whole = np.ones(len(places), dtype=bool)  # an empty cell in a weight or an offset drops its row too
    for value in given.values():
        if value.dtype.kind == "f":
            whole &= ~np.isnan(value[places])
    places, X, y = places[whole], X[whole], y[whole]
    if len(X) == 0:
        raise ValueError("every row has an empty cell in some column of the formula: nothing is left to fit")
    terms: dict[str, list[int]] = {}
    for term, where in spec.term_indices.items():
        if str(term) != "1":
            terms[str(term)] = [int(j) - int(intercept) for j in where]
    if intercept:
        X = X.drop(columns="Intercept")
    if X.shape[1] == 0:
        raise ValueError(
            f"formula {formula!r} has no column besides the intercept: its deviance is null_deviance_"
        )
    return FormulaTable(
        X,
        _response(y, formula, data, places),
        terms,
        intercept,
        spec,
        {name: value[places] for name, value in given.items()},
        len(data) - len(X),
    )


def cells_of(spec: Any, frame: Any) -> Any:
    """The columns of a formula's right-hand side on a new frame."""
    data = _pandas(frame)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error"
            )  # a level that was not seen is only warned of, and coded as the first
            X = spec.get_model_matrix(data, na_action="raise")
    except Exception as error:
        raise ValueError(f"the frame does not give the columns of the formula: {_plain(error)}") from error
    return X.drop(columns="Intercept") if "Intercept" in X.columns else X


def _response(y: Any, formula: str, data: Any, places: np.ndarray) -> Any:
    """The response's numbers, or its labels; two columns are counts."""
    name = formula.split("~")[0].strip()
    if name in data.columns and data[name].dtype.kind not in "fiub":
        return np.asarray(data[name].iloc[places].tolist(), dtype=object)
    if y.shape[1] == 1:
        return y.iloc[:, 0].to_numpy()
    levels = [str(c).rsplit("[", 1) for c in y.columns]
    if all(len(parts) == 2 for parts in levels) and len({parts[0] for parts in levels}) == 1:
        if y.shape[1] == 2:
            return y.iloc[:, 1].to_numpy(dtype=float)
        raise ValueError(f"the response has {y.shape[1]} levels, and a binomial one has two")
    if "Intercept" in y.columns:
        y = y.drop(columns="Intercept")
    return y.to_numpy(dtype=float) if y.shape[1] == 2 else y.iloc[:, 0].to_numpy()


def _column(name: str, value: Any, data: Any) -> np.ndarray:
    if isinstance(value, str):
        if value not in data.columns:
            raise ValueError(f"{name}={value!r} is not a column of the frame")
        return data[value].to_numpy()
    array = np.asarray(value)
    if array.shape != (len(data),):
        raise ValueError(f"{name} must have one number a row, {len(data)} in all, got shape {array.shape}")
    return array


def _names_missing(formula: str, data: Any, formulaic: Any) -> list[str]:
    try:
        names = formulaic.Formula(formula).required_variables
    except Exception as error:
        raise ValueError(f"formula {formula!r} could not be read: {_plain(error)}") from error
    return sorted(str(v) for v in names if str(v) not in data.columns)


def _spell_out(formula: str, data: Any) -> str:
    """A lone dot on the right is every column that the left does not name, as in R."""
    left, right = formula.split("~", 1)
    if not re.search(r"(?<![\w.])\.(?![\w.])", right):
        return formula
    others = [f"`{c}`" for c in data.columns if not re.search(rf"(?<!\w){re.escape(str(c))}(?!\w)", left)]
    return left + "~" + re.sub(r"(?<![\w.])\.(?![\w.])", f"({' + '.join(others)})", right)


def _plain(error: Exception) -> str:
    """formulaic's message without the marks it colours a terminal with."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).replace("⧛", "").replace("⧚", "")
    return " ".join(text.split())


def _pandas(frame: Any) -> Any:
    import narwhals as nw

    if not nw.dependencies.is_into_dataframe(frame):
        raise TypeError(f"a formula is read on a frame (pandas, Polars, Arrow), got {type(frame).__name__}")
    data = nw.from_native(frame, eager_only=True).to_pandas()
    return data.reset_index(drop=True)


def _formulaic() -> Any:
    try:
        import formulaic
    except ImportError:
        raise ImportError('formulas need formulaic: pip install "separatrix[formula]"') from None
    return formulaic
