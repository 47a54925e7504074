"""A file → a table:  rows, columns with kinds, a target, and sentences on everything that was done (row T3).

    read("mail.csv", target="spam")           CSV, TSV, Parquet, Arrow, JSON lines, ARFF, svmlight, gzip of each
    read("book.xlsx::Sheet2")                 a sheet of an Excel workbook; the first one by default
    read("shop.db::orders")                   a table or a view of SQLite or DuckDB
    read("letters/")                          a folder of documents, one folder a class
    read_chunks("big.csv", table.schema)      the same columns, read alike, a piece at a time, in order
    read("iris")                              a bundled table: iris, wine, breast-cancer, digits, enjoy-sport

What cannot be read without guessing is refused by a :class:`TableError` of one sentence; what can is noted.
Shapes: n rows, p columns. Cost: one pass over the bytes. For files larger than
memory see chunks.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.tables.chunks import read_chunks
from separatrix.tables.kinds import LEFT_OUT, check_kinds, infer_kinds, kind_notes, listed
from separatrix.tables.load import BUNDLED, FORMATS, RawTable, ReadOptions, load, needs_frames
from separatrix.tables.sources import TableError
from separatrix.tables.table import Schema, Table

if TYPE_CHECKING:
    import pandas as pd

MANY_NUMBERS = 1000  # whole numbers beyond which a target's are quantities
ROWS_EACH = 20  # and of more than 100, where each has fewer rows than this

__all__ = ["BUNDLED", "Schema", "Table", "TableError", "read", "read_chunks"]


def read(
    source: Any,
    *,
    target: str | Callable[[list[str]], str] | None = None,
    kinds: Mapping[str, str] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    missing: Sequence[str] | None = None,
    classes: bool = True,
    format: str | None = None,
    width: int | None = None,
) -> Table:
    """A file, a folder, a bundled name or a frame → a :class:`Table` (T1–T3). One pass over the bytes.

    Parameters
    ----------
    source : a path, of a workbook or a database with ``::`` and the name of a table; one of the names iris,
        wine, breast-cancer, digits, enjoy-sport (a file of that name comes first); or a DataFrame
    target : the column to predict, or a function that picks it from the names where the source itself names none;
        its rows without a label are left out, and said
    kinds : {column: "continuous" | "discrete" | "nominal" | "target" | "date" | "text" | "identifier" | "leak" |
        "constant"} where the rules of kinds.py should not decide
    header : whether the first line holds names; by default it does, and a first line that looks like data is refused
    delimiter : one character; by default found
    missing : the words that say a cell is empty, instead of the usual ones
    classes : the target's values are classes; False lets numbers be
    format : "csv", "tsv", "parquet", "arrow", "jsonl", "arff", "svmlight", "text", "document", "excel", "sqlite" or
        "duckdb"; by default found
    width : columns of an svmlight file, whose last ones may all be 0

    >>> table = read("iris")
    >>> len(table), table.target, table.kinds["petal width (cm)"]
    (150, 'species', 'continuous')
    """
    needs_frames()
    if format is not None and format not in FORMATS:
        raise TableError(f"format {format!r} is unknown; it is one of {', '.join(FORMATS)}")
    if delimiter is not None and (
        not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n'
    ):
        raise TableError(f"delimiter {delimiter!r} is no single character; give one such as ';'")
    if kinds is not None and not isinstance(kinds, Mapping):
        raise TableError(f"kinds is {type(kinds).__name__}; give a mapping {{column: kind}}")
    for name, kind in (kinds or {}).items():
        check_kinds({name: kind}, [name])
    options = ReadOptions(
        dict(kinds or {}), header, delimiter, None if missing is None else tuple(missing), width
    )
    made = load(source, format, options)
    if callable(target):
        target = made.target or target([str(c) for c in made.frame.columns])
    return _finished(made, made.target if target is None else target, kinds, classes)


def _finished(raw: RawTable, target: str | None, kinds: Mapping[str, str] | None, classes: bool) -> Table:
    """The target set apart, its rows without a label left out, the kinds found."""
    frame, notes = raw.frame, list(raw.notes)
    names = [str(c) for c in frame.columns]
    rows, labels = np.arange(1, len(frame) + 1), None
    if target is not None:
        if target not in names:
            close = [n for n in names if n.lower().strip() == str(target).lower().strip()]
            hint = f"did you mean {close[0]!r}?" if close else f"the columns are {listed(names, 12)}"
            raise TableError(f"{raw.name}: no column is called {target!r}; {hint}")
        if kinds and target in kinds:
            raise TableError(f"kinds names {target!r}, which is the target; leave it out of kinds")
        column = frame[target]
        frame = frame.drop(columns=target)
        if not frame.shape[1]:
            mark = "say by delimiter= what stands between cells"
            if raw.format == "document":
                raise TableError(
                    f"{raw.name}: no table was found in it, so that it was read as one text; {mark}, "
                    "or give a folder of texts with one folder a class"
                )
            more = f", or {mark}" if raw.format in ("csv", "tsv", "text") else ""
            raise TableError(
                f"{raw.name}: {listed([target])} is the only column; give columns to predict it from{more}"
            )
        known = column.notna().to_numpy()
        if not known.all():
            if not known.any():
                raise TableError(
                    f"{raw.name}: every cell of the target {target!r} is missing; name another column"
                )
            empty = int((~known).sum())
            what = "rows without a label" if empty > 1 else "row without a label"
            notes.append(f"{empty:,} {what} in {target!r} {'were' if empty > 1 else 'was'} left out")
            frame, column, rows = frame[known].reset_index(drop=True), column[known], rows[known]
        labels = _labels(raw, target, column, classes)
        notes += _spelled_alike(labels) if classes else []
    check_kinds(kinds, [str(c) for c in frame.columns])
    told = dict(kinds or {})  # by the user
    if raw.format == "folder":  # a document is text, however short
        kinds = {"file": "identifier", "text": "text", **told}
    found = infer_kinds(frame, kinds, labels if classes else None)
    notes += kind_notes(frame, found, told, labels)
    if all(kind in LEFT_OUT for kind in found.values()) and labels is not None:
        raise TableError(
            f"{raw.name}: no column is left to predict from, as all are identifiers, constant or copies of the "
            "target; say what they are by kinds="
        )
    small = frame.shape[1] <= 1000 and len(frame) <= 200_000
    twice = int(frame.duplicated().sum()) if labels is not None and small else 0
    if twice:
        notes.append(f"{twice:,} row{'s repeat' if twice > 1 else ' repeats'} the columns of an earlier row")
    readings = tuple(raw.readings[str(n)] for n in frame.columns)
    schema = Schema(readings, found, target, raw.format)
    return Table(frame, target, labels, rows, raw.name, schema, tuple(notes))


def _labels(raw: RawTable, target: str, column: pd.Series, classes: bool) -> np.ndarray:
    import pandas as pd

    source = raw.name
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        raise TableError(
            f"{source}: the target {target!r} holds dates, which are no classes; name another column"
        )
    if pd.api.types.is_numeric_dtype(column.dtype):
        labels = column.to_numpy()
        whole = labels.dtype.kind == "f" and np.array_equal(labels, np.rint(labels))
        if whole and np.abs(labels).max() < 2**53:
            labels = labels.astype(np.int64)
    else:
        labels = column.astype(str).to_numpy(dtype=np.str_)
    if not classes:
        return labels
    values = np.unique(labels)
    if len(values) == 1 and raw.format == "folder":
        left = ", as " * bool(raw.notes) + " and ".join(raw.notes)
        raise TableError(
            f"{source}: every document that was read is in the folder {str(values[0])!r}{left}; "
            "give one folder a class, as with one class there is nothing to tell apart"
        )
    if len(values) == 1:
        raise TableError(
            f"{source}: the target {target!r} is {listed(values.tolist())} in every row; name another column, "
            "as with one class there is nothing to tell apart"
        )
    fractions = labels.dtype.kind == "f" and len(values) > 20
    if fractions or (len(values) > 20 and len(values) > 0.5 * len(labels)):
        raise TableError(
            f"{source}: the target {target!r} has {len(values):,} different values in {len(labels):,} rows, "
            "so they are no classes; name another column, cut it into a few classes, or, where it is a quantity, "
            "predict it by --task regression"
        )
    few = len(values) > 100 and len(values) * ROWS_EACH > len(labels)
    if labels.dtype.kind in "iuf" and (few or len(values) > MANY_NUMBERS):
        raise TableError(
            f"{source}: the target {target!r} has {len(values):,} different numbers in {len(labels):,} rows, which "
            "look like a quantity and no classes: predict it by --task regression; or name another column, cut it "
            "into a few classes, or, where the numbers are names, spell them as words (c17)"
        )
    return labels


def _spelled_alike(labels: np.ndarray) -> list[str]:
    """A sentence on classes that are one but for capitals and blanks."""
    if labels.dtype.kind != "U":
        return []
    held: dict[str, list[str]] = {}
    for value in np.unique(labels).tolist():
        held.setdefault(" ".join(value.split()).casefold(), []).append(value)
    return [
        f"the classes {listed(alike)} differ only in capitals or blanks; if they are one, spell them alike"
        for alike in held.values()
        if len(alike) > 1
    ][:3]
