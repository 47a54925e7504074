"""A column of words as what the words mean:  numbers, dates, or words;  and which words say that a cell is empty.

    always empty     "", ?, NA, N/A, #N/A, <NA>, NaN, NULL, NaT            in any column
    empty in part    -, --, ., *, na, none, nil, missing, unknown, …       where all others are numbers or dates

Numbers may have a decimal comma, thousands in groups of three, one currency sign or a per cent sign, if the whole
column agrees. A cell that is no number among numbers (at least 95 of 100, more than 20 different) is read as missing,
and said. Digits that begin with 0 and are equally long are codes, hence words. How a column was read is a
:class:`Reading`, which reads later rows alike. Cost: O(n) in C, and Python only for distinct words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.tables.sources import TableError

if TYPE_CHECKING:
    import pandas as pd

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
ALWAYS = (
    "",
    "?",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "#NA",
    "<NA>",
    "NaN",
    "nan",
    "NAN",
    "NULL",
    "null",
    "#NULL!",
    "NaT",
)
IN_PART = (
    "-", "--", "---", "—", "–", ".", "..", "*", "na", "Na", "N.A.", "n.a.", "none", "None", "NONE",
    "nil", "Nil", "missing", "Missing", "MISSING", "unknown", "Unknown", "UNKNOWN", "undefined",
    "#VALUE!", "#DIV/0!", "#REF!", "#NUM!",
    "not available",
)  # fmt: skip
MOSTLY = 0.95
DISTINCT = 20
# Spellings of numbers that float() does not read: the pattern of a cell, and how to turn it into one that it does.
GROUPS = re.compile(r"([+-]?)(\d{1,3}(?:,\d{3})+)(\.\d+)?")
COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d*),\d+(?:[eE][+-]?\d+)?")
STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
DATES = (
    (re.compile(r"\d{4}-\d{1,2}-\d{1,2}"), ("%Y-%m-%d",)),
    (STAMP, ("ISO8601",)),
    (re.compile(r"\d{4}/\d{1,2}/\d{1,2}"), ("%Y/%m/%d",)),
    (re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}"), ("%d.%m.%Y",)),
    (re.compile(r"\d{1,2}/\d{1,2}/\d{4}"), ("%d/%m/%Y", "%m/%d/%Y")),
    (re.compile(r"\d{1,2}-\d{1,2}-\d{4}"), ("%d-%m-%Y", "%m-%d-%Y")),
    (re.compile(r"\d{1,2} [A-Za-z]{3} \d{4}"), ("%d %b %Y",)),
    (re.compile(r"\d{1,2}-[A-Za-z]{3}-\d{4}"), ("%d-%b-%Y",)),
    (re.compile(r"[A-Za-z]{3} \d{1,2}, \d{4}"), ("%b %d, %Y",)),
)
AS_WORDS = ("nominal", "target", "text", "identifier", "leak")
AS_NUMBERS = ("continuous", "discrete")


@dataclass(frozen=True)
class Reading:
    """How the words of one column are read: as "number", "date", "boolean" or "words".

    ``style`` is "" (as float reads it), "comma", "groups"; ``sign`` a currency or per cent sign; ``format`` of a
    date; ``empty`` the words that say a cell is empty; ``lenient``: a cell that does not fit is missing.
    """

    name: str
    storage: str
    style: str = ""
    sign: str = ""
    format: str = ""
    empty: tuple[str, ...] = ALWAYS
    lenient: bool = False

    def read(self, words: Any, first_row: int = 1) -> pd.Series:
        """Words (an Arrow array of strings) → a column, read as in training."""
        import pandas as pd

        if self.storage == "number" and not self.style and not self.sign:
            values = plain_numbers(words, self.empty)
            if values is not None and not np.isinf(values).any():
                return pd.Series(values, name=self.name)
        if self.storage == "words":
            return pd.Series(pd.array(without(words, self.empty), dtype="str"), name=self.name, copy=False)
        distinct, codes = _distinct(words)
        known = np.array([w in set(self.empty) for w in distinct], dtype=bool)
        if self.storage in ("number", "boolean"):
            values = np.array([np.nan if e else self.number(w) for w, e in zip(distinct, known)], dtype=float)
            wrong = np.isnan(values) & ~known
            if self.storage == "boolean":
                values = np.array([{"true": 1.0, "false": 0.0}.get(w.lower(), np.nan) for w in distinct])
                wrong = np.isnan(values) & ~known
        else:
            values = _dates_or_stamps(distinct, self.format)
            wrong = np.isnat(values) & ~known
        if wrong.any() and not self.lenient:
            i = int(np.flatnonzero(np.isin(codes, np.flatnonzero(wrong)))[0])
            raise TableError(
                f"column {self.name!r} holds {distinct[codes[i]]!r} in row {i + first_row}, which is no "
                f"{self.storage}, as it was in training; mend the cell or leave it empty"
            )
        empty = np.datetime64("NaT") if self.storage == "date" else np.nan
        return pd.Series(_take(values, codes, empty), name=self.name)

    def number(self, word: str) -> float:
        """The number a word spells; NaN where it spells none."""
        if self.sign:
            word = word.replace(self.sign, "", 1).strip()
        if self.style == "comma" and COMMA.fullmatch(word):
            word = word.replace(".", "").replace(",", ".")
        elif self.style == "groups" and GROUPS.fullmatch(word):
            word = word.replace(",", "")
        value = float(word) if NUMBER.fullmatch(word) else np.nan
        return value if np.isfinite(value) else np.nan


def read_column(
    name: str,
    words: Any,
    *,
    kind: str | None = None,
    delimiter: str = "",
    missing: tuple[str, ...] | None = None,
) -> tuple[pd.Series, Reading, list[str]]:
    """A column of words → a pandas Series, how it was read, and notes on what was done."""
    import pandas as pd
    import pyarrow.compute as pc

    words = pc.utf8_trim_whitespace(words)
    empty = ALWAYS if missing is None else ("", *missing)
    if kind not in AS_WORDS and kind != "date":
        values = plain_numbers(words, empty)
        if values is not None and not np.isnan(values).all() and not _is_code(words, kind):
            _refuse_infinite(name, values, words)
            return pd.Series(whole_numbers(values), name=name), Reading(name, "number", empty=empty), []
    distinct, codes = _distinct(words)
    reading, notes = _meaning(name, distinct, codes, kind, delimiter, empty, missing is None)
    column = reading.read(words)
    if reading.storage == "number":
        values = column.to_numpy()
        _refuse_infinite(name, values, words)
        column = pd.Series(whole_numbers(values), name=name)
    return column, reading, notes


def _meaning(
    name: str,
    distinct: list[str],
    codes: np.ndarray,
    kind: str | None,
    delimiter: str,
    empty: tuple[str, ...],
    guess: bool,
) -> tuple[Reading, list[str]]:
    """What the distinct words of a column are."""
    uses = np.bincount(codes[codes >= 0], minlength=len(distinct))
    cells = [w for w in distinct if w not in empty]
    said = {w: int(c) for w, c in zip(distinct, uses)}
    if kind in AS_WORDS or not cells:
        return _words(name, distinct, empty, guess)
    doubtful = tuple(w for w in cells if w in IN_PART) if guess else ()
    firm = [w for w in cells if w not in doubtful]
    every = empty + doubtful
    notes: list[str] = []
    if doubtful:
        listed = ", ".join(map(repr, doubtful[:4]))
        notes.append(f"column {name!r}: {listed} read as missing, as the other cells are numbers or dates")
    if not firm or (kind is None and _same_length_codes(firm)):
        if firm:
            notes = [f"column {name!r}: digits that begin with 0 are a code, read as words"]
        reading, more = _words(name, distinct, empty, guess)
        return reading, [*notes, *more] if firm else more
    if kind != "date":
        trial, more = _number_style(name, firm, delimiter)
        good = [not np.isnan(trial.number(w)) for w in firm]
        share = sum(said[w] for w, g in zip(firm, good) if g) / sum(said[w] for w in firm)
        many = sum(good) > DISTINCT
        if all(good) or kind in AS_NUMBERS or (share >= MOSTLY and many):
            bad = [w for w, g in zip(firm, good) if not g]
            if bad:
                row = int(np.flatnonzero(codes == distinct.index(bad[0]))[0]) + 1
                count = sum(said[w] for w in bad)
                more.append(
                    f"column {name!r}: {_cells(count, 'that spell no number', 'that spells no number')} "
                    f"(first: {bad[0][:40]!r} in row {row}) read as missing; kinds={{{name!r}: 'nominal'}} keeps "
                    "them as words"
                )
            reading = Reading(name, "number", trial.style, trial.sign, empty=every, lenient=bool(bad))
            return reading, [*notes, *more]
    if kind not in AS_NUMBERS:
        found, more = _date_format(name, firm, said, forced=kind == "date")
        if found is not None:
            return Reading(name, "date", format=found, empty=every, lenient=bool(more)), [*notes, *more]
        reading, others = _words(name, distinct, empty, guess)
        return reading, [*more, *others]
    raise AssertionError("a forced number is always read")


def _words(name: str, distinct: list[str], empty: tuple[str, ...], guess: bool) -> tuple[Reading, list[str]]:
    """Words as they are; NA stays a word among two-letter codes (Namibia)."""
    if guess and "NA" in distinct:
        others = [w for w in distinct if w not in empty]
        if len(others) >= 5 and all(re.fullmatch(r"[A-Z]{2}", w) for w in others):
            kept = tuple(w for w in empty if w != "NA")
            note = f"column {name!r}: 'NA' read as a word, as the others are codes of two letters"
            return Reading(name, "words", empty=kept), [note]
    return Reading(name, "words", empty=empty), []


def _number_style(name: str, cells: list[str], delimiter: str) -> tuple[Reading, list[str]]:
    """Decimal commas, thousands, a currency or per cent sign: what the whole column agrees on."""
    notes, sign = [], ""
    signs = {w[0] for w in cells if w[0] in "$€£"} | {w[-1] for w in cells if w[-1] in "%€$£"}
    if len(signs) == 1 and all(next(iter(signs)) in w for w in cells):
        sign = signs.pop()
        cells = [w.replace(sign, "", 1).strip() for w in cells]
        notes.append(f"column {name!r}: the sign {sign} was taken off the numbers")
    with_comma = [w for w in cells if "," in w]
    if not with_comma:
        return Reading(name, "number", sign=sign), notes
    groups = all(GROUPS.fullmatch(w) for w in with_comma)
    comma = all(COMMA.fullmatch(w) for w in with_comma)
    if comma and (not groups or delimiter == ";"):
        notes.append(f"column {name!r}: numbers have a decimal comma")
        return Reading(name, "number", "comma", sign), notes
    if groups:
        notes.append(f"column {name!r}: commas between groups of three digits are read as thousands")
        return Reading(name, "number", "groups", sign), notes
    return Reading(name, "number", sign=sign), notes


def _date_format(
    name: str, cells: list[str], uses: dict[str, int], *, forced: bool
) -> tuple[str | None, list[str]]:
    """The format in which at least 95 of 100 cells are dates."""
    total = sum(uses[w] for w in cells)
    for shape, formats in DATES:
        fitting = [w for w in cells if shape.fullmatch(w)]
        if not fitting or (sum(uses[w] for w in fitting) < MOSTLY * total and not forced):
            continue
        bad = [[w for w, d in zip(cells, _dates(cells, f)) if np.isnat(d)] for f in formats]
        best = min(range(len(formats)), key=lambda i: len(bad[i]))
        wrong = bad[best]
        count = sum(uses[w] for w in wrong)
        if count > (1 - MOSTLY) * total and not forced:
            return None, [
                f"column {name!r}: looks like dates, but {wrong[0][:40]!r} is none; read as words "
                f"(kinds={{{name!r}: 'date'}} reads such cells as missing)"
            ]
        notes = []
        if wrong:
            notes.append(
                f"column {name!r}: {_cells(count, 'that are no dates', 'that is no date')} "
                f"(first: {wrong[0][:40]!r}) read as missing"
            )
        if len(formats) > 1 and not bad[0] and not bad[1]:
            notes.append(
                f"column {name!r}: read as day before month, which nothing decides; write 2024-01-31 to be sure"
            )
        return formats[best], notes
    if forced:
        raise TableError(
            f"column {name!r} was said to be a date, and {cells[0][:40]!r} is none; write dates as 2024-01-31"
        )
    return None, []


def _cells(count: int, many: str, one: str) -> str:
    return f"{count:,} cells {many}" if count > 1 else f"1 cell {one}"


def _dates(words: list[str], format: str) -> np.ndarray:
    import pandas as pd

    parsed = pd.to_datetime(pd.Series(words, dtype=object), format=format, errors="coerce", utc=True)
    return parsed.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")


def _dates_or_stamps(words: list[str], format: str) -> np.ndarray:
    """Dates in the format of training, or as time stamps, which nobody can misread."""
    moments = _dates(words, format)
    stamps = [i for i in np.flatnonzero(np.isnat(moments)) if STAMP.fullmatch(words[i])]
    if stamps:
        moments[stamps] = _dates([words[i] for i in stamps], "ISO8601")
    return moments


def plain_numbers(words: Any, empty: tuple[str, ...]) -> np.ndarray | None:
    """The numbers, NaN where a cell is empty, in C; None where some cell is neither."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for cells in (lambda: words, lambda: without(words, empty)):  # most columns have no empty cell
        try:
            return np.asarray(pc.cast(cells(), pa.float64()).to_numpy(zero_copy_only=False))
        except pa.ArrowInvalid:
            pass
    return None


def without(words: Any, empty: tuple[str, ...]) -> Any:
    """Arrow strings, null where a word says that the cell is empty. O(n)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not empty:
        return words
    return pc.if_else(pc.is_in(words, pa.array(empty, pa.string())), pa.scalar(None, pa.string()), words)


def _distinct(words: Any) -> tuple[list[str], np.ndarray]:
    """The different words, and each cell's place among them (−1: a null)."""
    import pyarrow as pa

    words = words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
    coded = words.dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return coded.dictionary.to_pylist(), codes.astype(np.int64)


def _take(values: np.ndarray, codes: np.ndarray, empty: Any) -> np.ndarray:
    if not len(values):
        return np.full(len(codes), empty)
    return np.where(codes >= 0, values[codes], empty) if (codes < 0).any() else values[codes]


def whole_numbers(values: np.ndarray) -> np.ndarray:
    """Whole numbers as integers, where none is missing."""
    kept = np.all(np.abs(values) < 2**53) and np.all(values == np.rint(values))  # neither holds of NaN
    return values.astype(np.int64) if len(values) and kept else values


def _is_code(words: Any, kind: str | None) -> bool:
    """Whether digits are a code and no quantity: 01234 beside 98765, or more digits than a number keeps."""
    import pyarrow.compute as pc

    if kind in AS_NUMBERS:
        return False
    long = pc.binary_length(words)
    zero = pc.and_(pc.starts_with(words, "0"), pc.greater(long, 1))
    if not (pc.any(zero).as_py() or (pc.max(long).as_py() or 0) > 16):  # the common case, no look at digits
        return False
    return _same_length_codes([w for w in pc.unique(words).to_pylist() if w is not None and w not in ALWAYS])


def _same_length_codes(words: list[str]) -> bool:
    digits = bool(words) and all(w.isascii() and w.isdigit() for w in words)
    leading = any(w[0] == "0" and len(w) > 1 for w in words) and len({len(w) for w in words}) == 1
    return digits and (leading or any(len(w) > 16 for w in words))


def _refuse_infinite(name: str, values: np.ndarray, words: Any) -> None:
    if np.isinf(values).any():
        i = int(np.flatnonzero(np.isinf(values))[0])
        shown = str(words[i].as_py())[:40]
        raise TableError(
            f"column {name!r} holds {shown!r} in row {i + 1}, which is infinite or beyond 1.8e308; "
            "mend the cell or leave it empty"
        )
