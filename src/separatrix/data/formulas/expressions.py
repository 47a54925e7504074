"""Expressions over the columns of a frame, as R's users write them: log(t), N - k, `days at risk`/365 (row D8).

They are evaluated by formulaic (an extra). An expression remembers what it learned of the frame it was first
evaluated on (a centre, knots), so that a new frame is read alike. Cost O(n) an expression.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray

# functions of R that formulaic does not bring by itself
CONTEXT: dict[str, Any] = {
    "np": np,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "floor": np.floor,
    "ceiling": np.ceil,
    "round": np.round,
}
ROWS_NAMED = 5  # how many rows a sentence lists before it counts the rest


def formulaic() -> Any:
    try:
        import formulaic
    except ImportError:
        raise ImportError('formulas need formulaic: pip install "separatrix[formula]"') from None
    return formulaic


def pandas_frame(frame: Any) -> Any:
    """A frame of any kind narwhals reads, as pandas', its rows numbered from 0."""
    import narwhals as nw

    if not nw.dependencies.is_into_dataframe(frame):
        raise TypeError(f"a formula is read on a frame (pandas, Polars, Arrow), got {type(frame).__name__}")
    data = nw.from_native(frame, eager_only=True).to_pandas()
    return data.reset_index(drop=True)


def plain(error: Exception) -> str:
    """formulaic's message without the marks it colours a terminal with."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).replace("⧛", "").replace("⧚", "")
    return " ".join(text.split())


def r_spelling(formula: str) -> str:
    """A formula of R's in formulaic's words: x^2 is x**2 (in Python ^ would be something else), factor(g) is C(g).

    >>> r_spelling("y ~ I(x^2) + factor(g) + `x^2`")
    'y ~ I(x**2) + C(g) + `x^2`'
    """
    parts = re.split(r"(`[^`]*`|\"[^\"]*\"|'[^']*')", formula)
    for k in range(0, len(parts), 2):
        parts[k] = re.sub(r"(?<![\w.])(?:as\.)?factor\s*\(", "C(", parts[k].replace("^", "**"))
    return "".join(parts)


def required_columns(formula: Any) -> set[str]:
    """The names a formula (or one side of it, as text or as formulaic's object) needs of a frame."""
    try:
        found = formulaic().Formula(formula).required_variables
    except Exception as error:
        raise ValueError(f"formula {formula!r} could not be read: {plain(error)}") from error
    callables = {str(v) for v in found if any(role.name == "CALLABLE" for role in v.roles)}
    return {str(v) for v in found} - (callables & set(CONTEXT))


def rows_listed(rows: np.ndarray) -> str:
    """``row 3``, ``rows 3, 7, 9``, ``rows 1, 2, 3, 4, 5 and 12 more``."""
    shown = ", ".join(str(int(i)) for i in rows[:ROWS_NAMED])
    more = f" and {len(rows) - ROWS_NAMED} more" if len(rows) > ROWS_NAMED else ""
    return f"row{'s' if len(rows) > 1 else ''} {shown}{more}"


@dataclass(frozen=True)
class Expression:
    """One number a row: its text, the columns it needs, and how formulaic coded it on the frame of the fit.

    >>> import pandas as pd
    >>> ratio = Expression.of("log(t)", pd.DataFrame({"t": [1.0, np.e, None]}))
    >>> ratio.columns, ratio.values(pd.DataFrame({"t": [1.0, 1.0]}))
    (('t',), array([0., 0.]))
    """

    text: str
    columns: tuple[str, ...]
    spec: Any

    @classmethod
    def of(cls, text: str, data: Any) -> Expression:
        text = text.strip()
        columns = tuple(sorted(required_columns(f"0 + I({text})")))
        refuse_missing_columns(columns, data, "formula names")
        rows = data.dropna(subset=list(columns)) if columns else data
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                made = formulaic().model_matrix(f"0 + I({text})", rows, na_action="ignore", context=CONTEXT)
        except Exception as error:  # formulaic wraps whatever evaluating raised
            raise ValueError(f"{text} could not be evaluated: {plain(error)}") from error
        if made.shape[1] != 1 or made.iloc[:, 0].dtype.kind not in "fiub":
            raise ValueError(f"{text} is not a number in each row")
        return cls(text, columns, made.model_spec)

    def values(self, data: Any) -> FloatArray:
        """Its numbers on the rows of a frame (n,); NaN where a column of it has an empty cell, or by arithmetic."""
        refuse_missing_columns(self.columns, data, f"{self.text} needs")
        whole = ~self.empty(data)
        numbers = np.full(len(data), np.nan)
        if not whole.any():
            return numbers
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                made = self.spec.get_model_matrix(data[whole], na_action="ignore", context=CONTEXT)
                numbers[whole] = made.iloc[:, 0].to_numpy(dtype=np.float64)
        except Exception as error:
            raise ValueError(f"{self.text} could not be evaluated: {plain(error)}") from error
        return numbers

    def empty(self, data: Any) -> np.ndarray:
        """Which rows have an empty cell in a column of it."""
        if not self.columns:
            return np.zeros(len(data), dtype=bool)
        return np.asarray(data[list(self.columns)].isna().any(axis=1))


def refuse_missing_columns(columns: Any, data: Any, words: str) -> None:
    missing = sorted(name for name in columns if name not in data.columns)
    if missing:
        listed = ", ".join(map(str, data.columns[:12]))
        raise ValueError(f"{words} {missing[0]!r}, which is not a column: the columns are {listed}")
