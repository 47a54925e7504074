"""The left side of a formula:  y,  log(y),  k/N,  cbind(k, N - k)  ([6867] 3.2.3; row D8).

    k/N              k successes in N trials of a binomial family: the counts (k, N − k)
    cbind(k, f)      successes and failures, as in R;  k + f is read so too
    y, log(y), I(…)  a number or a label in each row

Formula operators mean sets of terms (k/N is k + k:N), which on the left would be read as two columns; so any operator
that stands there by itself is either one of the above or refused, and I(…) is arithmetic as it is in R.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.formulas.expressions import (
    CONTEXT,
    Expression,
    formulaic,
    plain,
    refuse_missing_columns,
    required_columns,
    rows_listed,
)
from separatrix.data.observations import WHOLE

OPERATORS = "+-*/:|%<>=!&"  # which outside brackets mean terms, or nothing


@dataclass(frozen=True)
class LeftSide:
    """A response: its text, ``kind`` ("plain", "share" or "counts"), its parts, and the columns it needs."""

    text: str
    kind: str
    parts: tuple[Expression, ...]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, text: str, data: Any, family: str) -> LeftSide:
        """Read the left side for a family; refuse what it cannot mean there."""
        text = _bare(text)
        kind, pieces = _kind(text, family)
        if kind == "plain":
            columns = (text,) if text in data.columns else tuple(sorted(required_columns(f"0 + {text}")))
            refuse_missing_columns(columns, data, "formula names")
            return cls(text, kind, (), tuple(c.strip("`") for c in columns))
        parts = tuple(Expression.of(piece, data) for piece in pieces)
        return cls(text, kind, parts, tuple(sorted({c for part in parts for c in part.columns})))

    def empty(self, data: Any) -> np.ndarray:
        """Which rows have an empty cell in a column of the response."""
        refuse_missing_columns(self.columns, data, f"the response {self.text} needs")
        if not self.columns:
            return np.zeros(len(data), dtype=bool)
        return np.asarray(data[list(self.columns)].isna().any(axis=1))

    def read(self, data: Any, numbers: np.ndarray) -> Any:
        """The response of rows without an empty cell: (n,), or counts of successes and failures (n, 2).

        ``numbers`` (n,) are what the user calls the rows, for refusals. NaN is what arithmetic made of a row.
        """
        if self.kind == "plain":
            return self._plain(data)
        first, second = (part.values(data) for part in self.parts)
        a, b = (part.text for part in self.parts)
        if self.kind == "share":
            _refuse(~np.isfinite(first) | ~np.isfinite(second), numbers, f"{self.text} is not two numbers")
            _refuse(first < 0, numbers, f"{a} counts successes and is negative", first)
            _refuse(
                first > second, numbers, f"{a} is above {b}, and {self.text} is {a} successes in {b} trials",
                first, second,
            )  # fmt: skip
            ways = f"write I({self.text}) with precision= for a proportion that is no count"
            for name, values in ((a, first), (b, second)):
                _refuse(_broken(values), numbers, f"{name} is no whole number, so no count ({ways})", values)
            return np.column_stack([first, second - first])
        for name, values in ((a, first), (b, second)):
            _refuse(~np.isfinite(values), numbers, f"{name} is not a finite number")
            _refuse(values < 0, numbers, f"{name} is a count and is negative", values)
            _refuse(
                _broken(values), numbers,
                f"{name} is no whole number, and {self.text} counts successes and failures (for a proportion p of N "
                "trials write I(p) with weights=N)",
                values,
            )  # fmt: skip
        return np.column_stack([first, second])

    def words(self) -> str:
        """How it was read, for the verdict; empty where it is what it says."""
        if self.kind == "share":
            a, b = (part.text for part in self.parts)
            return f"response: {self.text} is {a} successes in {b} trials"
        if self.kind == "counts" and not self.text.startswith("cbind"):
            a, b = (part.text for part in self.parts)
            return f"response: {a} are successes and {b} failures; for their sum write I({self.text})"
        return ""

    def _plain(self, data: Any) -> Any:
        if self.text.strip("`") in data.columns:
            column = data[self.text.strip("`")]
            if column.dtype.kind not in "fiub":
                return np.asarray(column.tolist(), dtype=object)
            return column.to_numpy(dtype=bool if column.dtype.kind == "b" else np.float64)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                y = formulaic().model_matrix(f"0 + {self.text}", data, na_action="ignore", context=CONTEXT)
        except Exception as error:
            raise ValueError(f"the response {self.text} could not be evaluated: {plain(error)}") from error
        if y.shape[1] == 1:
            return y.iloc[:, 0].to_numpy()
        if y.shape[1] == 2:  # a factor of two levels: the second counts as success
            return y.iloc[:, 1].to_numpy(dtype=float)
        raise ValueError(f"the response has {y.shape[1]} levels, and a binomial one has two")


def split(text: str, marks: str) -> list[str]:
    """The pieces of a text between marks that stand outside brackets and quotes.

    >>> split("cbind(k, N - k)", ","), split("(a + b) / `n / m`", "/")
    (['cbind(k, N - k)'], ['(a + b)', '`n / m`'])
    """
    pieces, depth, quote = [""], 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "`'\"":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif depth == 0 and c in marks:
            pieces.append("")
            continue
        pieces[-1] += c
    return [piece.strip() for piece in pieces]


def _bare(text: str) -> str:
    """A text without brackets around the whole of it."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        depth = [0]
        for c in text[:-1]:
            depth.append(depth[-1] + (c == "(") - (c == ")"))
        if min(depth[1:]) == 0:
            break
        text = text[1:-1].strip()
    return text


def _kind(text: str, family: str) -> tuple[str, list[str]]:
    """What a left side is, and its two parts where it has some."""
    binomial = family == "binomial"
    if text.startswith("cbind(") and len(split(text, OPERATORS)) == 1:
        pieces = split(text[len("cbind(") : -1], ",")
        if not binomial:
            raise ValueError(
                f"{text} counts successes and failures, which only the binomial family reads, and the family is "
                f"{family}: give one response a row"
            )
        if len(pieces) != 2 or not all(pieces):
            raise ValueError(f"{text} needs two columns, successes and failures: write cbind(k, N - k)")
        return "counts", pieces
    if len(split(text, OPERATORS)) == 1:
        return "plain", []
    for mark, kind in (("/", "share"), ("+", "counts")):
        pieces = split(text, mark)
        alone = len(pieces) == 2 and all(pieces) and len(split(text, OPERATORS)) == 2
        if binomial and alone:
            return kind, pieces
    ways = f"write I({text}) for the arithmetic, as in R"
    if "/" in text:
        a, b = [*split(text, "/"), "N"][:2]
        if family in ("poisson", "negative_binomial"):
            ways += f"; for counts {a} out of {b} write {a} ~ … + offset(log({b}))"
        elif not binomial:
            ways += f", with precision={b} where {b} is how much a row knows"
    raise ValueError(
        f"the response {text} of a {family} family is an operation between terms, which is no response: {ways}"
    )


def _broken(values: FloatArray) -> np.ndarray:
    return np.abs(values - np.round(values)) > WHOLE * np.maximum(np.abs(values), 1.0)


def _refuse(bad: np.ndarray, numbers: np.ndarray, words: str, *values: FloatArray) -> None:
    if bad.any():
        rows = np.flatnonzero(bad)
        shown = " and ".join(f"{v[rows[0]]:g}" for v in values)
        first = int(numbers[rows[0]])
        more = f" ({rows_listed(numbers[rows])})" if len(rows) > 1 else ""
        raise ValueError(f"{words}: row {first}{f' has {shown}' if shown else ''}{more}")
