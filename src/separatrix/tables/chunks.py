"""A file piece by piece:  the columns of a schema, read as in training, in memory for one piece (row T3).

    for piece in read_chunks("big.csv", table.schema): model.predict(encoder.transform(piece))

CSV, TSV, JSON lines and Parquet, gzip of them, and tables of a database are streamed; other formats are read whole
and dealt out. Shapes: pieces of at most ``rows`` rows, all columns. Cost: one pass over the bytes; Arrow reads up
to 128 MB ahead.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.tables.cells import Reading
from separatrix.tables.delimited import Dialect, find_dialect, parse
from separatrix.tables.formats.arrow import columns_of_arrow, open_columns
from separatrix.tables.formats.json_lines import columns_of_records, json_records, read_json_lines
from separatrix.tables.learned import spelled
from separatrix.tables.load import ReadOptions, check_shelf, load, needs_frames, typed_reading
from separatrix.tables.sources import MARKS, SHELVES, Columns, Source, TableError, decoded, located
from separatrix.tables.table import Schema, lacks

if TYPE_CHECKING:
    import pandas as pd


def read_chunks(
    source: Any, schema: Schema, *, rows: int = 100_000, extra: bool = True, delimiter: str | None = None
) -> Iterator[pd.DataFrame]:
    """Frames of at most ``rows`` rows, in the file's order, its columns read as the schema says (T3).

    Columns the schema does not know are kept as they are written (``extra=False`` leaves them out); one that it knows
    and the file lacks is refused. The index goes on from piece to piece. Cost: one pass, memory for one piece.

    >>> from separatrix.tables.read import read
    >>> table = read("enjoy-sport")
    >>> [len(piece) for piece in read_chunks("enjoy-sport", table.schema, rows=3)]
    [3, 1]
    """
    for columns, start, length in _pieces(source, schema, rows, delimiter):
        yield _conformed(str(source), columns, schema, start, length, extra)


def chunks_as_written(
    source: Any, schema: Schema, *, rows: int = 100_000, delimiter: str | None = None
) -> Iterator[tuple[pd.DataFrame, dict[str, Any]]]:
    """(a piece of ``read_chunks`` without other columns, {column: its cells as the file spells them}) (T3).




    >>> from separatrix.tables.read import read
    >>> table = read("enjoy-sport")
    >>> frame, cells = next(chunks_as_written("enjoy-sport", table.schema, rows=3))
    >>> len(frame), cells["Sky"].to_pylist()
    (3, ['Sunny', 'Sunny', 'Rainy'])
    """
    for columns, start, length in _pieces(source, schema, rows, delimiter):
        yield (
            _conformed(str(source), columns, schema, start, length, False),
            {name: arrow_words(column) for name, column in columns.items()},
        )


def arrow_words(column: Any) -> Any:
    """A column as Arrow strings, null where a cell is missing. O(n)."""
    import pandas as pd
    import pyarrow as pa

    if not isinstance(column, pd.Series):
        return column
    return pa.array(column.astype("str"), pa.string())


def _pieces(
    source: Any, schema: Schema, rows: int, delimiter: str | None
) -> Iterator[tuple[Columns, int, int]]:
    """(columns, the rows before them, how many rows they have)."""
    needs_frames()
    if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 1:
        raise TableError(f"rows is {rows!r}; give a whole number above 0")
    start = 0
    for columns, length in _by_format(source, schema, int(rows), delimiter):
        yield columns, start, length
        start += length
    if start == 0:
        raise TableError(f"{source}: names, but no row below them; give a table with rows")


def _by_format(
    source: Any, schema: Schema, rows: int, delimiter: str | None
) -> Iterator[tuple[Columns, int]]:
    opened = located(source)
    if opened is not None and opened.format in SHELVES:
        check_shelf(opened, None, delimiter)
        delimiter = ","
    if (opened is not None and opened.format in ("csv", "tsv", "excel", "sqlite")) or _is_label_text(opened):
        assert opened is not None
        yield from _delimited_pieces(opened, schema, rows, delimiter)
    elif opened is not None and opened.format == "jsonl":
        yield from _json_pieces(opened, rows)
    elif opened is not None and opened.format == "duckdb":
        from separatrix.tables.formats.databases import duckdb_pieces

        yield from duckdb_pieces(opened, rows)
    elif opened is not None and opened.format == "parquet":
        import pyarrow as pa

        try:
            for batch in open_columns(opened).iter_batches(batch_size=rows):
                yield columns_of_arrow(opened, pa.Table.from_batches([batch])), len(batch)
        except (pa.ArrowException, OSError) as error:
            raise opened.refuse(f"the parquet data are damaged ({error}); get the file again") from None
    else:
        width = len(schema.names) if schema.format == "svmlight" else None
        raw = load(source, None, ReadOptions({}, delimiter=delimiter, width=width))
        for at in range(0, len(raw.frame), rows):
            part = raw.frame.iloc[at : at + rows]
            yield {str(n): part[n].reset_index(drop=True) for n in part.columns}, len(part)


def _is_label_text(opened: Source | None) -> bool:
    if opened is None or opened.format != "text":
        return False
    with opened.stream() as stream:
        return b"\t" in stream.read(4096)


def _delimited_pieces(
    source: Source, schema: Schema, rows: int, delimiter: str | None
) -> Iterator[tuple[Columns, int]]:
    import pyarrow as pa

    with source.stream() as stream:
        head = stream.read(1 << 18)
    marked = next((name for mark, name in MARKS if head.startswith(mark)), "")
    whole = head[: head.rfind(b"\n") + 1] or head
    text, said = decoded(
        source, whole if not marked.startswith(("utf-16", "utf-32")) else head[: len(head) // 4 * 4]
    )
    encoding = marked or ("cp1252" if any("Windows-1252" in note for note in said) else "utf-8")
    # names of training are known, so that no first line need be doubted; a file of label and text may have none
    unnamed = None if schema.names == ["text"] and source.format not in SHELVES else True
    dialect, _ = find_dialect(source, text, unnamed, delimiter)
    numbered = all(re.fullmatch(r"c\d+", name) for name in schema.names)  # as header=False names them
    if numbered and not set(schema.names) <= set(dialect.names):
        dialect, _ = find_dialect(source, text, False, delimiter)
    stream = source.stream()
    recoded = _Bytes(stream if encoding == "utf-8" else _Recoded(stream, encoding))
    held: list[Any] = []
    count = 0
    try:
        for batch in parse(source, dialect, recoded):
            held.append(batch)
            count += len(batch)
            while count >= rows:
                table = pa.Table.from_batches(held)
                yield {n: table.column(n).slice(0, rows) for n in dialect.names}, rows
                held, count = table.slice(rows).to_batches(), count - rows
        if count:
            table = pa.Table.from_batches(held)
            yield {n: table.column(n) for n in dialect.names}, count
        if dialect.quotes and recoded.count % 2:
            raise source.refuse("a quotation mark is never closed; close it, or double it inside a cell")
    except UnicodeDecodeError:
        raise source.refuse(
            "some letters are UTF-8 and others are not; save the whole file as UTF-8"
        ) from None
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return
        raise source.refuse(_misfit(str(error).splitlines()[0], dialect)) from None
    finally:
        stream.close()


def _misfit(said: str, dialect: Dialect) -> str:
    """Arrow's complaint as a sentence.

    >>> _misfit("CSV parse error: Row #3: Expected 4 columns, got 2: rough,9.1", Dialect())
    "row 2 below the names has 2 cells where the names have 4 ('rough,9.1'); mend it, or quote its delimiters"
    """
    found = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+): (.*)", said)
    if found is None:
        return f"a row does not fit ({said[:160]}); mend it"
    row, wanted, held = int(found[1]) - dialect.skip - dialect.header, int(found[2]), int(found[3])
    below = " below the names" if dialect.header else ""
    return (
        f"row {row:,}{below} has {held} cell{'s' * (held != 1)} where the names have {wanted} "
        f"({found[4][:60]!r}); mend it, or quote its delimiters"
    )


class _Bytes(io.RawIOBase):
    """UTF-8 as it is, its quotation marks counted; Windows-1252 where the first bytes beyond ASCII are no UTF-8."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.count = stream, 0
        self.decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder("utf-8")()
        self.settled = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self.stream.read(size)
        self.count += data.count(b'"')
        begun = self.decoder.getstate()[0]
        if data and data.isascii() and not begun:
            return data
        try:
            text = self.decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            if self.settled:
                raise
            self.decoder = codecs.getincrementaldecoder("cp1252")("replace")
            text = self.decoder.decode(begun + data)
        self.settled = self.settled or not text.isascii()
        made = text.encode("utf-8")
        return made if made or not data else self.read(size)


class _Recoded(io.RawIOBase):
    """A stream in some encoding as UTF-8 bytes."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self.text = io.TextIOWrapper(stream, encoding=encoding, newline="", errors="replace")

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self.text.read(size if size < 0 else max(size // 4, 1)).encode("utf-8")


def _json_pieces(source: Source, rows: int) -> Iterator[tuple[Columns, int]]:
    with source.stream() as stream:
        if stream.read(64).lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"["):
            columns, _ = read_json_lines(source, decoded(source, source.content())[0])
            length = len(next(iter(columns.values()), ()))
            for at in range(0, length, rows):
                yield {n: c[at : at + rows] for n, c in columns.items()}, min(rows, length - at)
            return
    with source.stream() as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace") as lines:
        held: list[tuple[str, Any]] = []
        for record in json_records(source, lines):
            held.append(record)
            if len(held) == rows:
                yield columns_of_records(source, held), rows
                held = []
        if held:
            yield columns_of_records(source, held), len(held)


def _conformed(
    source: str, columns: Columns, schema: Schema, start: int, length: int, extra: bool
) -> pd.DataFrame:
    """The piece as a frame: known columns read as in training, the others as they are written."""
    import pandas as pd
    import pyarrow.compute as pc

    lacking = [name for name in schema.names if name not in columns]
    if lacking:
        raise TableError(
            lacks(source, lacking, [n for n in columns if n not in schema.names and n != schema.target])
        )
    readings = {r.name: r for r in schema.readings}
    made = {}
    for name, cells in columns.items():
        if name not in readings:
            if extra:
                made[name] = (
                    cells if isinstance(cells, pd.Series) else pd.Series(cells.to_pandas(), dtype="str")
                )
            continue
        reading = readings[name]
        try:
            if isinstance(cells, pd.Series):
                made[name] = _as_trained(cells, reading, start)
            else:
                words = cells if not reading.empty else pc.utf8_trim_whitespace(cells)
                made[name] = reading.read(words, start + 1)
        except TableError as error:
            raise TableError(f"{source}: {error}") from None
    frame = pd.DataFrame({n: c.reset_index(drop=True) for n, c in made.items()})
    frame.index = pd.RangeIndex(start, start + length)
    return frame


def _as_trained(column: pd.Series, reading: Reading, start: int) -> pd.Series:
    """A column that came with a type, as the type it had in training."""
    import pyarrow as pa

    here = typed_reading(reading.name, column).storage
    if here == reading.storage or {here, reading.storage} == {"number", "boolean"}:
        return column
    words = [None if v is None or v != v else spelled(v) for v in column.tolist()]
    return reading.read(pa.array(words, pa.string()), start + 1)
