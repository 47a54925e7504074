"""What is learned of one column, and the columns it becomes (see encode.py). O(n) a column; O(tokens) of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from separatrix.tables.coded_levels import HashedColumn, TargetColumn
from separatrix.tables.sources import TableError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class NumberColumn:
    """(x − mean)/scale, the median and a sign where x is missing."""

    name: str
    median: float
    mean: float
    scale: float
    gaps: int
    whole: bool  # none negative, so that it may be a count

    def names(self) -> list[str]:
        return [self.name, *([f"{self.name} is missing"] if self.gaps else [])]

    def columns(self, values: np.ndarray, scaled: bool) -> np.ndarray:
        empty = np.isnan(values)
        x = np.where(empty, self.median, values)
        x = (x - self.mean) / self.scale if scaled else x
        return np.column_stack([x, empty]) if self.gaps else x[:, None]


@dataclass(frozen=True)
class LevelColumn:
    """0 and 1 for each level kept; "other" for those pooled; a sign where the cell is missing."""

    name: str
    levels: tuple[str, ...]
    pooled: int
    gaps: int
    reference: str | None

    @property
    def other(self) -> str:
        """What the pooled levels are called: no level of the table is."""
        word = "other"
        while word in self.levels:
            word = f"any {word}"
        return word

    def kept(self) -> list[str]:
        return [level for level in self.levels if level != self.reference]

    def names(self) -> list[str]:
        out = [f"{self.name}={level}" for level in self.kept()]
        return [
            *out,
            *([f"{self.name}={self.other}"] if self.pooled else []),
            *([f"{self.name} is missing"] if self.gaps else []),
        ]

    def columns(self, words: list[str], codes: np.ndarray) -> sp.csr_matrix:
        """The place of each cell's 1, if it has one."""
        kept = self.kept()
        place = {level: j for j, level in enumerate(kept)}
        width = len(self.names())
        other = len(kept) if self.pooled else -1
        empty = width - 1 if self.gaps else -1
        if self.reference is not None:
            place[self.reference] = -1
        at = np.array([*(place.get(w, other) for w in words), empty])[codes]
        held = at >= 0
        ends = np.concatenate([[0], np.cumsum(held)])
        return sp.csr_matrix((np.ones(ends[-1]), at[held], ends), shape=(len(codes), width))


@dataclass(frozen=True)
class DateColumn:
    """Numbers of a date: the parts that vary in training, standardised; a missing date is the average one."""

    name: str
    origin: int  # microseconds since 1970
    parts: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    gaps: int

    def names(self) -> list[str]:
        out = [f"{self.name} {part}" for part in self.parts]
        return [*out, *([f"{self.name} is missing"] if self.gaps else [])]

    def columns(self, moments: np.ndarray, scaled: bool) -> np.ndarray:
        numbers = date_parts(moments, self.origin)
        mean, scale = np.array(self.mean), np.array(self.scale)
        x = np.array([numbers[part] for part in self.parts]).reshape(len(self.parts), len(moments)).T
        empty = np.isnat(moments)
        x = np.where(empty[:, None], mean, x)
        x = (x - mean) / scale if scaled else x
        return np.column_stack([x, empty]) if self.gaps else x


@dataclass(frozen=True)
class WordColumn:
    """A bag of words."""

    name: str
    features: Any

    def names(self) -> list[str]:
        return [f"{self.name}: {word}" for word in self.features.get_feature_names_out()]


@dataclass(frozen=True)
class SparseColumn:
    """Numbers of which most are 0: divided by the largest, so that 0 stays 0."""

    name: str
    scale: float

    def names(self) -> list[str]:
        return [self.name]


LearnedColumn = (
    NumberColumn | LevelColumn | DateColumn | WordColumn | SparseColumn | TargetColumn | HashedColumn
)


def holds_levels(part: LearnedColumn) -> bool:
    """Whether the column's cells are words of a nominal variable, however they are coded."""
    return isinstance(part, (LevelColumn, TargetColumn, HashedColumn))


def date_parts(moments: np.ndarray, origin: int) -> dict[str, np.ndarray]:
    """year, sin and cos of month, weekday and hour, days since the origin (in µs since 1970): (n,) each. O(n).

    >>> parts = date_parts(np.array(["1970-04-01"], dtype="datetime64[us]"), origin=0)
    >>> parts["days"].tolist(), parts["month sin"].round(3).tolist(), parts["_weekday"].tolist()
    ([90.0], [1.0], [2])
    """
    moments = moments.astype("datetime64[us]")
    start = np.datetime64(origin, "us")
    safe = np.where(np.isnat(moments), start, moments)
    day = safe.astype("datetime64[D]").astype(np.int64)
    month = safe.astype("datetime64[M]").astype(np.int64) % 12
    weekday = (day + 3) % 7  # 1970-01-01 was a Thursday
    hour = (safe - safe.astype("datetime64[D]")).astype(np.int64) / 3.6e9
    out = {"year": safe.astype("datetime64[Y]").astype(np.int64) + 1970.0}
    for name, value, period in (("month", month, 12), ("weekday", weekday, 7), ("hour", hour, 24)):
        out[f"{name} sin"] = np.sin(2 * np.pi * value / period)
        out[f"{name} cos"] = np.cos(2 * np.pi * value / period)
    out["days"] = (safe - start).astype(np.int64) / 8.64e10
    return out | {"_month": month, "_weekday": weekday}


def learn_dates(name: str, column: pd.Series) -> DateColumn:
    moments = moments_of(name, column)
    seen = moments[~np.isnat(moments)]
    origin = int(seen.min().astype(np.int64)) if len(seen) else 0
    numbers = {k: v for k, v in date_parts(seen, origin).items() if k[0] != "_"} if len(seen) else {}
    kept = [part for part, values in numbers.items() if values.std() > 1e-9]
    mean = tuple(float(numbers[part].mean()) for part in kept)
    scale = tuple(float(numbers[part].std()) for part in kept)
    return DateColumn(name, origin, tuple(kept), mean, scale, int(np.isnat(moments).sum()))


def numbers_of(name: str, column: pd.Series) -> np.ndarray:
    import pandas as pd

    try:
        if pd.api.types.is_datetime64_any_dtype(column.dtype):
            raise ValueError
        if isinstance(column.dtype, pd.SparseDtype):
            values = np.asarray(column.array.to_dense(), dtype=np.float64)
        else:
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError):
        bad = next((v for v in column.tolist() if not _is_number(v)), column.iloc[0] if len(column) else "")
        raise TableError(
            f"column {name!r} is read as numbers and holds {bad!r}; mend the cell or leave it empty"
        ) from None
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise TableError(f"column {name!r} is infinite in row {row + 1}; mend the cell or leave it empty")
    return values


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (ValueError, TypeError):
        return value is None
    return True


def words_of(column: pd.Series) -> np.ndarray:
    """Cells as words, None where missing; 3.0 is spelled 3, as it is where no cell beside it is missing."""
    words, codes = coded(column)
    return np.array([*words, None], dtype=object)[codes]


def coded(column: pd.Series) -> tuple[list[str], np.ndarray]:
    """The different words of a column, and each cell's place among them, −1 where missing."""
    codes, levels = column.factorize()
    return [spelled(v) for v in levels.tolist()], codes


def spelled(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def moments_of(name: str, column: pd.Series) -> np.ndarray:
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        plain = column.dt.tz_localize(None) if column.dt.tz is not None else column
        return plain.to_numpy(dtype="datetime64[us]")
    if column.isna().all():
        return np.full(len(column), np.datetime64("NaT", "us"))
    bad = column.dropna().iloc[0]
    raise TableError(
        f"column {name!r} is read as dates and holds {bad!r}; read it as dates (see read_chunks)"
    )


def documents_of(column: pd.Series) -> list[str]:
    return ["" if v is None or v != v else str(v) for v in column.tolist()]


def counts_of(name: str, values: np.ndarray) -> np.ndarray:
    if not np.all(values >= 0):
        row = int(np.flatnonzero(~(values >= 0))[0])
        what = "is missing" if np.isnan(values[row]) else f"is {values[row]:g}"
        raise TableError(
            f"column {name!r} {what} in row {row + 1} and was a count in training; mend the cell"
        )
    return values


def sparse_block(frame: pd.DataFrame, parts: list[SparseColumn], scaled: bool) -> sp.csr_matrix:
    """Columns that are mostly 0, side by side (n, parts); a missing cell is 0."""
    import pandas as pd

    chosen = frame[[part.name for part in parts]]
    if all(isinstance(d, pd.SparseDtype) and d.fill_value == 0 for d in chosen.dtypes):
        block = sp.csr_matrix(chosen.sparse.to_coo(), dtype=np.float64)  # type: ignore[attr-defined]
    else:
        block = sp.csr_matrix(np.column_stack([numbers_of(p.name, chosen[p.name]) for p in parts]))
    if not np.isfinite(block.data).all():
        for part in parts:
            numbers_of(part.name, chosen[part.name])  # names what is infinite
        block.data[np.isnan(block.data)] = 0.0  # the usual cell of such a column
        block.eliminate_zeros()
    if not scaled:
        return block
    return sp.csr_matrix(block @ sp.diags_array([1.0 / part.scale for part in parts]))
