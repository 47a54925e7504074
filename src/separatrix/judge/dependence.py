"""How a model's answer moves with one column, the others as they are:  partial dependence and single rows.

    line_i(v) = f(x_i with x_ij = v),      partial dependence(v) = mean_i line_i(v)

v are cells that occur, so that words, dates and types stay as they are. Of a heavy-tailed column the axis ends at
quantiles, or is logarithmic, and the words say so. It is not what happens if the column is changed in the world, and
where columns go together it asks about rows that no one has. Friedman (2001), Goldstein et al. (2015). Row V4.
Shapes: m rows, g cells, K classes. Cost: m·g predictions a column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.judge.cells import mixed, names_of

ROWS = 150
POINTS = 24
LEVELS = 14
HEAVY = 1.5  # a tail beyond the middle 96 % that is longer than so many times its width is cut off
LOG = 8.0  # the 98 % quantile over the median, and the median over the 2 % one, of a logarithmic axis


@dataclass(frozen=True, eq=False)
class Dependence:
    """Lines (m, g, K) of one column over its cells.

    at : (g,) numbers, days, or places 0 … of levels; labels of levels, else empty
    kind : "number", "date" or "levels"
    missing : (m, K) answers where the cell is missing, None where none is
    scale : "linear" or "log"; said : what was done to the axis, in words; marks : (…,) tenths of the cells
    start : the place among the cells that lines are centred at
    """

    name: str
    kind: str
    at: FloatArray
    labels: list[str]
    lines: FloatArray
    missing: FloatArray | None
    scale: str
    said: str
    marks: FloatArray
    start: int

    @property
    def mean(self) -> FloatArray:
        """Partial dependence (g, K)."""
        return np.asarray(self.lines.mean(axis=0))

    @property
    def reach(self) -> float:
        """The largest move of the mean, over cells and classes."""
        return float(np.ptp(self.mean, axis=0).max())


def dependence(
    f: Callable[[Any], FloatArray], X: Any, j: int, *, rows: int = ROWS, seed: int = 0
) -> Dependence:
    """Lines of f: table → (n, K) over the cells of column j of X (n, p).

    >>> X = np.column_stack([np.arange(10.0), np.arange(10.0)[::-1]])
    >>> found = dependence(lambda Z: Z[:, :1] * 2.0, X, 0)
    >>> (found.mean[:, 0] / 2).tolist() == found.at.tolist()
    True
    """
    column = _cells(X, j)
    kind, places, at, labels, scale, said = _axis(column)
    n = len(column)
    keep = np.sort(np.random.default_rng(seed).permutation(n)[:rows])
    gone = next((i for i, v in enumerate(column.tolist()) if v is None or v != v), None)
    asked = [*places, *([] if gone is None or kind == "levels" else [gone])]
    m = len(keep)
    table = mixed(X, np.tile(keep, len(asked)), {j: np.repeat(np.array(asked), m)})
    lines = np.asarray(f(table), dtype=float).reshape(len(asked), m, -1).transpose(1, 0, 2)
    missing = lines[:, -1] if len(asked) > len(places) else None
    lines = lines[:, : len(places)]
    known = _numbers(column) if kind != "levels" else np.zeros(0)
    marks = np.quantile(known, np.arange(1, 10) / 10) if len(known) else np.zeros(0)
    start = 0 if kind == "levels" else int(np.abs(at - np.median(known)).argmin())
    return Dependence(names_of(X)[j], kind, at, labels, lines, missing, scale, said, marks, start)


def _cells(X: Any, j: int) -> np.ndarray:
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        return frame[frame.columns[j]].to_numpy()
    return np.asarray(X)[:, j]


def _numbers(column: np.ndarray) -> FloatArray:
    """The cells that are there, as numbers or days."""
    if column.dtype.kind == "M":
        return column[~np.isnat(column)].astype("datetime64[s]").astype(float) / 86400.0
    values = np.asarray(column, dtype=float)
    return values[np.isfinite(values)]


def _axis(column: np.ndarray) -> tuple[str, list[int], FloatArray, list[str], str, str]:
    """(kind, rows that hold the cells to ask about, where these stand, labels, scale, what is said of the axis)."""
    kind = "date" if column.dtype.kind == "M" else "number" if _is_number(column) else "levels"
    if kind == "levels":
        return _levels(column)
    full = column.astype("datetime64[s]").astype(float) / 86400.0 if kind == "date" else column.astype(float)
    full = np.where(np.isnat(column), np.nan, full) if kind == "date" else full
    known = np.unique(full[np.isfinite(full)])
    if len(known) < 2:
        raise ValueError("the column has fewer than two different cells")
    low, high, scale, said = ends_of(full[np.isfinite(full)])
    known = known[(known >= low) & (known <= high)]
    if len(known) > POINTS:
        turn = np.log if scale == "log" else lambda v: v
        wanted = np.linspace(turn(known[0]), turn(known[-1]), POINTS)
        known = known[np.unique([int(np.abs(turn(known) - w).argmin()) for w in wanted])]
    places = [int(np.flatnonzero(full == v)[0]) for v in known]
    return kind, places, known, [], scale, said


def ends_of(known: FloatArray) -> tuple[float, float, str, str]:
    """(low, high, scale, what is said) of an axis for some numbers: heavy tails are cut, or the axis is logarithmic.

    >>> ends_of(np.arange(100.0))[2:]
    ('linear', '')
    >>> ends_of(np.r_[np.arange(200.0), 1e6])
    (0.0, 196.0, 'linear', 'to the 98th percentile; the largest is 1,000,000')
    >>> ends_of(np.logspace(-3, 5, 100))[2:]
    ('log', 'logarithmic')
    """
    least, most = float(known.min()), float(known.max())
    a, middle, b = (float(v) for v in np.quantile(known, [0.02, 0.5, 0.98], method="nearest"))
    if least > 0 and b > LOG * middle and middle > LOG * a:
        return least, most, "log", "logarithmic"
    wide = b - a
    if not wide > 0:  # almost all cells are one: the others are all there is to see
        return least, most, "linear", ""
    low = a if a - least > HEAVY * wide else least
    high = b if most - b > HEAVY * wide else most
    cut = []
    if low > least:
        cut.append(f"from the 2nd percentile; the least is {_text(least)}")
    if high < most:
        cut.append(f"to the 98th percentile; the largest is {_text(most)}")
    return low, high, "linear", "; ".join(cut)


def _text(value: float) -> str:
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 and value == round(value) else f"{value:.4g}"


def _levels(column: np.ndarray) -> tuple[str, list[int], FloatArray, list[str], str, str]:
    first: dict[Any, int] = {}
    counts: dict[Any, int] = {}
    for i, v in enumerate(column.tolist()):
        key = None if v is None or v != v else v
        first.setdefault(key, i)
        counts[key] = counts.get(key, 0) + 1
    if len(first) < 2:
        raise ValueError("the column has fewer than two different cells")
    if any(isinstance(v, str) and len(v) > 80 for v in first) or len(first) > max(200, len(column) // 2):
        raise ValueError("the column is a text, or nearly each row has a level of its own")
    order = sorted(first, key=lambda v: -counts[v])
    kept = order[:LEVELS]
    said = f"the {LEVELS} most frequent of {len(order)} levels" if len(order) > LEVELS else ""
    labels = ["(missing)" if v is None else str(v) for v in kept]
    return "levels", [first[v] for v in kept], np.arange(float(len(kept))), labels, "linear", said


def _is_number(column: np.ndarray) -> bool:
    if column.dtype.kind in "iuf":
        return True
    if column.dtype.kind != "O" or any(isinstance(v, (str, bool)) for v in column.tolist()):
        return False
    try:
        np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        return False
    return True
