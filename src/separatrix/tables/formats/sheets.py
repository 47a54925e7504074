"""Excel workbooks:  a sheet → lines of cells between commas, so that it is read with the care that CSV gets (row T3).

    book.xlsx            the first sheet; that there are others is said
    book.xlsx::Sheet2    the sheet of that name

A cell is written as what it holds: 3 and not 3.0, dates as 2024-01-31 (with the time of day where any cell of the
column has one), text as it stands. Rows without any cell are left out, and so are columns at the right without one.
Formulas count with the value that the workbook was saved with. Memory: the sheet as text.
Cost: O(cells), a few microseconds each, in openpyxl.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from separatrix.core.words import and_more
from separatrix.tables.sources import BOMB, LIMIT, SMALL, Source

ROWS, COLUMNS = 1_048_576, 16_384  # of a sheet
MOST_NAMED = 12
# What openpyxl and zipfile raise on files that are cut, damaged, or not what they are called.
BROKEN = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, SyntaxError, zipfile.BadZipFile)
WORD = re.compile(r"\s*[^\W\d]")  # how a name begins, and no number or date does


@dataclass(frozen=True)
class Sheet:
    """A sheet as lines, and what is to be said of it."""

    text: str
    notes: tuple[str, ...]


def openpyxl() -> Any:
    """The package, where it is installed."""
    try:
        import openpyxl as package
    except ImportError:
        raise ImportError('Excel files need openpyxl: pip install "separatrix[excel]"') from None
    return package


def read_sheet(source: Source) -> Sheet:
    """The sheet that the source names, else the first; kept until another one, or a newer file, is asked for.

    >>> import tempfile
    >>> from separatrix.tables.sources import open_source
    >>> book = openpyxl().Workbook()
    >>> for row in (["n", "y"], [1, "a"], [2.5, None]):
    ...     book.active.append(row)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     book.save(f"{place}/b.xlsx")
    ...     read_sheet(open_source(f"{place}/b.xlsx")).text
    'n,y\\n1,a\\n2.5,\\n'
    """
    about = source.path.stat()
    return _kept(source, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=1)
def _kept(source: Source, changed: int, size: int) -> Sheet:
    package = openpyxl()
    if source.packed:
        raise source.refuse("a workbook packed by gzip; unpack it")
    try:
        with zipfile.ZipFile(source.path) as archive:
            whole = sum(member.file_size for member in archive.infolist())
        if whole > LIMIT or (whole > SMALL and whole > BOMB * size):
            raise source.refuse(
                f"{size:,} bytes unpack to {whole:,}, as no table does; save the sheet as CSV"
            )
        book = package.load_workbook(_opened(source), read_only=True, data_only=True)
    except PermissionError:
        raise source.refuse("not allowed to read it; close it elsewhere, or change its permissions") from None
    except BROKEN as error:
        said = str(error).split("\n")[0].rstrip(".")[:120]
        raise source.refuse(
            f"the workbook is damaged ({said}); save it again, or save the sheet as CSV"
        ) from None
    try:
        sheet, notes = _chosen(source, book)
        return _as_lines(source, sheet, notes)
    finally:
        book.close()


def _opened(source: Source) -> io.BytesIO:
    """The bytes: of a path openpyxl wants a name that it knows."""
    return io.BytesIO(source.path.read_bytes())


def _chosen(source: Source, book: Any) -> tuple[Any, list[str]]:
    """The sheet that is read, and a note where there are others."""
    names = [sheet.title for sheet in book.worksheets]
    if not names:
        raise source.refuse("no sheet with cells in it; save the table in a sheet")
    there = and_more([repr(name) for name in names], MOST_NAMED)
    if not source.part:
        more = f"there are {len(names)} sheets, {there}: {names[0]!r} was read; name another by {source.path}::NAME"
        return book.worksheets[0], [more] if len(names) > 1 else []
    same = [name for name in names if name == source.part]
    same = same or [name for name in names if name.casefold() == source.part.casefold()]
    if not same:
        raise source.refuse(f"no sheet is called {source.part!r}; there are {there}")
    return book[same[0]], []


def _as_lines(source: Source, sheet: Any, notes: list[str]) -> Sheet:
    sheet.reset_dimensions()  # what a file says of its size may be wrong
    place = "" if source.part else f" {sheet.title!r}"
    try:
        rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    except BROKEN as error:
        raise source.refuse(f"the sheet{place} is damaged ({error}); save it again, or as CSV") from None
    kept = [(number, row) for number, row in enumerate(rows, 1) if any(_held(cell) for cell in row)]
    if not kept:
        raise source.refuse(f"the sheet{place} is empty; give a table with a line of names and rows")
    between = kept[-1][0] - kept[0][0] + 1 - len(kept)
    if between:
        notes.append(f"{between:,} empty row{'s were' if between > 1 else ' was'} left out")
    width = max(max(j for j, cell in enumerate(row) if _held(cell)) for _, row in kept) + 1
    table = [[*row[:width], *[None] * (width - len(row))] for _, row in kept]
    _refuse_two_rows_of_names(source, kept[0][0], table)
    merged = _merged(source, sheet)
    if merged:
        what = "ranges of cells are" if merged > 1 else "range of cells is"
        notes.append(f"{merged:,} {what} merged: the value counts in the first cell, the others are empty")
    if len(table) > 1:
        notes += _uncomputed(source, sheet.title, table)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_word(cell, False) for cell in table[0]])
    timed = [any(_has_time(row[j]) for row in table[1:]) for j in range(width)]
    writer.writerows([_word(cell, clock) for cell, clock in zip(row, timed)] for row in table[1:])
    return Sheet(out.getvalue(), tuple(notes))


def _held(cell: Any) -> bool:
    return cell is not None and (not isinstance(cell, str) or bool(cell.strip()))


def _has_time(cell: Any) -> bool:
    return isinstance(cell, datetime.datetime) and cell.time() != datetime.time(0)


def _word(cell: Any, clock: bool) -> str:
    """A cell as CSV spells it; ``clock``: dates of this column have a time of day.

    >>> _word(3.0, False), _word(0.1, False), _word(datetime.datetime(2024, 1, 31), False), _word(None, False)
    ('3', '0.1', '2024-01-31', '')
    """
    if cell is None:
        return ""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ") if clock else cell.date().isoformat()
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    return str(cell)


def _refuse_two_rows_of_names(source: Source, first: int, table: Sequence[Sequence[Any]]) -> None:
    """Refuse names over names, as where titles span groups of columns: gaps in one row, a full row of words below.

    That the row below is one of names shows where columns go on with numbers or dates.
    """
    if len(table) < 3 or not 1 < sum(map(_held, table[0])) < len(table[0]):
        return
    second, below = table[1], table[2:12]
    words = [cell for cell in second if isinstance(cell, str) and WORD.match(cell)]
    numbers = any(
        isinstance(row[j], (int, float, datetime.date)) for row in below for j in range(len(second))
    )
    if len(words) == len(second) > 1 and len(set(words)) == len(words) and numbers:
        raise source.refuse(
            f"rows {first} and {first + 1} both look like names ({str(words[0])[:40]!r} stands below "
            f"{'an empty cell' if not _held(table[0][0]) else repr(str(table[0][0])[:40])}); keep one row of names"
        )


def _merged(source: Source, sheet: Any) -> int:
    """How many ranges of the sheet are merged, from its XML: openpyxl does not say while it reads on."""
    path = str(getattr(sheet, "_worksheet_path", ""))
    try:
        with zipfile.ZipFile(source.path) as archive, archive.open(path) as stream:
            tail, found = b"", 0
            while block := stream.read(1 << 20):
                found += (tail + block).count(b"<mergeCell ") - tail.count(b"<mergeCell ")
                tail = (tail + block)[-16:]
            return found
    except (KeyError, OSError, zipfile.BadZipFile):
        return 0


def _uncomputed(source: Source, title: str, table: Sequence[Sequence[Any]]) -> list[str]:
    """A note on columns whose formulas were saved without values, as programs that write workbooks leave them."""
    empty = [j for j in range(len(table[0])) if not any(_held(row[j]) for row in table[1:])]
    if not empty:
        return []
    book = openpyxl().load_workbook(_opened(source), read_only=True)
    try:
        rows: Iterable[Any] = book[title].iter_rows(values_only=True, max_row=1000)
        found = {j for row in rows for j in empty if j < len(row) and str(row[j] or "").startswith("=")}
    finally:
        book.close()
    names = and_more([repr(_word(table[0][j], False)) for j in sorted(found)], MOST_NAMED)
    if not found:
        return []
    return [f"formulas of {names} were saved without values: open the workbook in Excel, and save it again"]


def write_rows(path: Path, columns: Iterable[Sequence[Sequence[Any]]], title: str = "predictions") -> None:
    """Blocks of columns, each a list of cells, as one sheet of a new workbook; the first row of the first: names.

    Text that begins with = stays text. More rows than a sheet holds are refused. Cost: O(cells), in openpyxl.
    """
    package = openpyxl()
    from openpyxl.cell import WriteOnlyCell

    book = package.Workbook(write_only=True)
    sheet = book.create_sheet(title)
    place = Source(path, "excel", False)

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        made = WriteOnlyCell(sheet)
        made.value = value
        made.data_type = "s"  # not a formula
        return made

    try:
        _append(place, sheet, columns, cell)
    except BaseException:
        sheet.close()
        raise
    book.save(path)


def _append(place: Source, sheet: Any, columns: Any, cell: Any) -> None:
    from openpyxl.utils.exceptions import IllegalCharacterError

    count = 0
    for block in columns:
        if len(block) > COLUMNS:
            raise place.refuse(f"{len(block):,} columns are more than the {COLUMNS:,} of a sheet; write .csv")
        for row in zip(*block):
            count += 1
            if count > ROWS:
                raise place.refuse(f"more than the {ROWS:,} rows of a sheet; write .csv")
            try:
                sheet.append([cell(value) for value in row])
            except IllegalCharacterError as error:
                raise place.refuse(
                    f"row {count} holds a control character ({error!s:.40}); write .csv"
                ) from None
