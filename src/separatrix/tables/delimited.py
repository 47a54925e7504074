"""Delimited text:  lines of cells between commas, semicolons, tabs or bars, quoted by " where a cell holds one.

    read_delimited(text) → columns of words (arrow strings), names, notes

The delimiter is the one that cuts most of the first lines into the same number (≥ 2) of cells, quotes respected.
Arrow parses; where it finds rows of another length, the csv module goes over the text again to say which line.
Shapes: n rows, p columns. Cost: one pass, O(bytes), plus one more where something is wrong.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.tables.cells import NUMBER
from separatrix.tables.sources import Source, TableError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLE = 1 << 18
LONGEST = 1 << 27  # characters in one cell
BLOCK = 4 << 20  # bytes; Arrow reads up to 32 blocks ahead, and a row fits into one


@dataclass(frozen=True)
class Dialect:
    """How a delimited file is cut: its delimiter, whether " quotes, lines before the names, the names."""

    delimiter: str = ","
    quotes: bool = True
    skip: int = 0
    header: bool = True
    names: tuple[str, ...] = ()
    spare: bool = False  # every line ends in a delimiter

    def cut(self, lines: Any, strict: bool = True) -> Iterator[list[str]]:
        csv.field_size_limit(LONGEST)
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE,
            skipinitialspace=self.quotes and self.delimiter != "\t",
            strict=strict and self.quotes,
        )


def find_dialect(
    source: Source, text: str, header: bool | None, delimiter: str | None = None
) -> tuple[Dialect, list[str]]:
    """The dialect of a text from its first lines, and notes on what was skipped or named."""
    sample = text[:SAMPLE]
    if len(text) > SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample
    lines, notes = re.split(r"\r\n|\r|\n", sample.rstrip("\r\n")), []
    skip = 0
    while skip < len(lines) and (not lines[skip].strip() or lines[skip].lstrip().startswith("#")):
        skip += 1
    told = delimiter
    if skip < len(lines) and (found := re.fullmatch(r"(?i)sep=(.)\s*", lines[skip])):
        told, skip = found.group(1), skip + 1
    if skip >= len(lines):
        raise source.refuse("no line holds a name or a cell; give a table with a line of names and rows")
    if any(line.lstrip().startswith("#") for line in lines[:skip]):
        notes.append(f"{skip} lines of comments before the names were skipped")
    body = lines[skip:]
    if told is None:
        told = "\t" if source.format == "tsv" and "\t" in body[0] else _best_delimiter(body)
    dialect = Dialect(delimiter=told, skip=skip)
    if told == "\t" and any(line.count('"') % 2 for line in body) and _level(body, told):
        dialect = replace(dialect, quotes=False)
        notes.append("quotation marks are read as characters like any other")
    try:
        first = next(dialect.cut(body, strict=False))
    except (csv.Error, StopIteration) as error:
        raise source.refuse(f"line {skip + 1} cannot be cut into cells ({error}); mend it", error) from None
    return _named(source, dialect, [cell.strip() for cell in first], body, header, notes)


def is_table(text: str) -> bool:
    """Whether nearly all of the first lines have the same number of cells, two or more, by some delimiter."""
    lines = [line for line in re.split(r"\r\n|\r|\n", text[:SAMPLE]) if line.strip()][:200]
    for delimiter in DELIMITERS:
        widths = Counter(line.count(delimiter) for line in lines)
        if '"' in text[:SAMPLE] and delimiter != "\t":
            try:
                rows = Dialect(delimiter=delimiter).cut(lines, strict=False)
                widths = Counter(len(row) - 1 for row in rows)
            except csv.Error:
                continue
        width, alike = widths.most_common(1)[0]
        if width and len(lines) > 1 and alike >= 0.9 * sum(widths.values()):
            return True
    return False


def _best_delimiter(lines: list[str]) -> str:
    """The delimiter that gives most lines the same number of cells; a comma where none gives two."""
    best = (0.0, 0)
    chosen = ","
    for delimiter in DELIMITERS:
        try:
            rows = [len(row) for row in Dialect(delimiter=delimiter).cut(lines[:200], strict=False) if row]
        except csv.Error:
            continue
        if not rows:
            continue
        width, alike = Counter(rows).most_common(1)[0]
        if width < 2:
            continue
        score = (round(alike / len(rows), 2), width)
        if score > best:
            best, chosen = score, delimiter
    return chosen


def _level(lines: list[str], delimiter: str) -> bool:
    return len({line.count(delimiter) for line in lines if line}) == 1


def _named(
    source: Source, dialect: Dialect, first: list[str], body: list[str], header: bool | None, notes: list[str]
) -> tuple[Dialect, list[str]]:
    """The names of the columns: the first line's, unless it is data."""
    if header is None and (why := _looks_like_data(first, dialect, body)):
        if len(first) == 2 and source.format == "text" and dialect.delimiter == "\t":
            notes.append("no line of names: the two columns are called 'label' and 'text'")
            return replace(dialect, header=False, names=("label", "text")), notes
        raise source.refuse(
            f"the first line looks like data, not names ({why}); say header=False (columns are then c1, c2, …), "
            "or header=True if these are names"
        )
    if header is False:
        return replace(dialect, header=False, names=tuple(f"c{j + 1}" for j in range(len(first)))), notes
    names = list(first)
    blank = [j for j, name in enumerate(names) if not name]
    if blank == [len(names) - 1] and len(names) > 2 and _last_empty(dialect, body):
        notes.append("every line ends in a delimiter: the empty last column was left out")
        return _distinct(source, replace(dialect, names=tuple(names[:-1]), spare=True), notes)
    for j in blank:
        names[j] = f"column {j + 1}"
    if blank:
        listed = ", ".join(repr(names[j]) for j in blank[:5])
        notes.append(f"{len(blank)} column{'s' * (len(blank) > 1)} without a name: called {listed}")
    elif len(names) > 1 and _spare_cells(dialect, body, len(names)):
        notes.append(
            "every row ends in a delimiter that the names do not have: the empty last cells were left out"
        )
        dialect = replace(dialect, spare=True)
    elif _one_more(dialect, body, len(names)):
        names.insert(0, "row" if "row" not in names else "row name")
        notes.append(
            f"one cell more in every row than there are names: the first column was called {names[0]!r}"
        )
    return _distinct(source, replace(dialect, names=tuple(names)), notes)


def _distinct(source: Source, dialect: Dialect, notes: list[str]) -> tuple[Dialect, list[str]]:
    twice = [name for name, count in Counter(dialect.names).items() if count > 1]
    if twice:
        listed = ", ".join(map(repr, twice[:5]))
        raise source.refuse(f"more than one column is called {listed}; give every column a name of its own")
    return dialect, notes


def _looks_like_data(first: list[str], dialect: Dialect, body: list[str]) -> str:
    """Why the first line is no line of names; empty where it may be one."""
    for cell in first:
        if NUMBER.fullmatch(cell):
            return f"{cell!r} is a number"
    below = [
        [c.strip() for c in row] for row in dialect.cut(body[1:1001], strict=False) if len(row) == len(first)
    ]
    if len(below) >= 3:
        for j, name in enumerate(first):
            if name and sum(row[j] == name for row in below) >= 1:
                return f"{name!r} stands again below it"
    return ""


def _last_empty(dialect: Dialect, body: list[str]) -> bool:
    return all(not row[-1].strip() for row in dialect.cut(body, strict=False) if row)


def _spare_cells(dialect: Dialect, body: list[str], width: int) -> bool:
    rows = [row for row in dialect.cut(body[1:], strict=False) if row]
    return bool(rows) and all(len(row) == width + 1 and not row[-1].strip() for row in rows)


def _one_more(dialect: Dialect, body: list[str], width: int) -> bool:
    """Whether every row has a name of its own before the cells, as R writes tables."""
    rows = [row for row in dialect.cut(body[1:], strict=False) if row]
    return len(rows) > 1 and all(len(row) == width + 1 for row in rows)


def parse(source: Source, dialect: Dialect, stream: Any, block: int | None = None) -> Iterator[Any]:
    """Record batches of words from a stream of UTF-8 bytes; ArrowInvalid where a row has another length."""
    import pyarrow as pa
    import pyarrow.csv as arrow

    names = [*dialect.names, *(["\0spare"] if dialect.spare else [])]
    reader = arrow.open_csv(
        stream,
        read_options=arrow.ReadOptions(
            column_names=names,
            skip_rows=dialect.skip,
            skip_rows_after_names=int(dialect.header),
            block_size=block or BLOCK,
            use_threads=False,
        ),
        parse_options=arrow.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char='"' if dialect.quotes else False,
            newlines_in_values=dialect.quotes,
            invalid_row_handler=lambda row: "error" if row.text.strip() else "skip",
        ),
        convert_options=arrow.ConvertOptions(
            column_types={name: pa.string() for name in names},
            strings_can_be_null=False,
            include_columns=list(dialect.names),
        ),
    )
    yield from reader


def lines(columns: Sequence[Any], delimiter: str) -> str:
    """Columns of words (lists, or Arrow strings; null: an empty cell) as lines of cells, quoted where they must be.

    Cost: O(characters), in C.

    >>> lines([["a", "b,c"], ["1", None]], ",")
    'a,1\\n"b,c",\\n'
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = [_quoted(pa.array(c, pa.string()) if isinstance(c, list) else c, delimiter) for c in columns]
    rows = pc.binary_join_element_wise(*cells, delimiter, null_handling="replace", null_replacement="")
    return _text(pc.binary_join_element_wise(rows, "", "\n"))


def _quoted(words: Any, delimiter: str) -> Any:
    import pyarrow.compute as pc

    held = _text(words)
    if not any(mark in held for mark in (delimiter, '"', "\n", "\r")):
        return words
    special = pc.match_substring_regex(words, f'[{re.escape(delimiter)}"\r\n]')
    doubled = pc.replace_substring(words, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), words)


def _text(words: Any) -> str:
    """All words of an Arrow array, one after the other."""
    import pyarrow as pa

    if isinstance(words, pa.ChunkedArray):
        return "".join(map(_text, words.chunks))
    held = words.buffers()[2]
    if held is None or not len(words):
        return ""
    ends = np.frombuffer(words.buffers()[1], np.int32)[[words.offset, words.offset + len(words)]]
    return str(memoryview(held)[ends[0] : ends[1]], "utf-8")


def read_delimited(source: Source, text: str, dialect: Dialect) -> tuple[Any, list[str]]:
    """All rows as an Arrow table of words, and notes."""
    import pyarrow as pa

    notes: list[str] = []
    if dialect.quotes and text.count('"') % 2:
        raise _fault(source, text, dialect) or source.refuse(
            "a quotation mark is never closed; close it, or double it inside a cell"
        )
    try:
        schema = pa.schema([(name, pa.string()) for name in dialect.names])
        block = min(max(BLOCK, 4 * len(text) + 1024), 1 << 30)
        batches = list(parse(source, dialect, io.BytesIO(text.encode("utf-8", "replace")), block))
        table = pa.Table.from_batches(batches, schema=schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError) as error:
        if "Empty CSV" in str(error):
            return pa.table({name: pa.array([], pa.string()) for name in dialect.names}), notes
        fault = _fault(source, text, dialect)
        if fault is not None:
            raise fault from None
        rows = [row[: len(dialect.names)] for _, row in _rows(text, dialect)]
        columns = list(zip(*rows)) if rows else [()] * len(dialect.names)
        table = pa.table({n: pa.array(c, pa.string()) for n, c in zip(dialect.names, columns)})
    if dialect.quotes and '"' in text:
        lines = text.count("\n") + (not text.endswith("\n"))
        broken = lines - dialect.skip - dialect.header - table.num_rows
        if broken > 0 and re.search(r'"[^"\n]*\n', text):
            notes.append(
                "some cells in quotation marks hold line breaks, so rows and lines are not counted alike"
            )
    return table, notes


def _rows(text: str, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The rows below the names and the line each begins in; csv.Error where a line cannot be cut."""
    reader: Any = dialect.cut(io.StringIO(text, newline=""))
    begins, names_seen = 1, not dialect.header
    for row in reader:
        line, begins = begins, reader.line_num + 1
        if line > dialect.skip and row:
            if names_seen:
                yield line, row
            names_seen = True


def _fault(source: Source, text: str, dialect: Dialect) -> TableError | None:
    """The first line that does not fit, as a sentence; None where every line does."""
    wanted, last = len(dialect.names) + dialect.spare, dialect.skip + dialect.header
    try:
        for last, row in _rows(text, dialect):
            if len(row) == wanted:
                continue
            shown = dialect.delimiter.join(row)[:60]
            hint = "quote a cell that holds the delimiter, or mend the line"
            if shown.lstrip().startswith("#"):
                hint = "take the comment out"
            return source.refuse(
                f"line {last} has {len(row)} cell{'s' * (len(row) != 1)} where the names have {wanted} ({shown!r}); "
                f"{hint}"
            )
    except csv.Error as error:
        if "unexpected end" in str(error):
            return source.refuse(
                f"a quotation mark opened below line {last} is never closed; close it, or double it"
            )
        if "field limit" in str(error):
            return source.refuse(
                f"a cell below line {last} has more than {LONGEST >> 20} million characters; mend it"
            )
        return source.refuse(
            f"the line below {last} cannot be cut into cells ({error}); mend its quotation marks"
        )
    return None
