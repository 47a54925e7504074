"""Bytes of a file, safely:  which format it is, unpacked within bounds, as text in the encoding it was written in.

A gzip file may unpack to a thousand times its size, so unpacking stops at BOMB times the packed size (small files:
at SMALL bytes) and at LIMIT in any case. Encodings, in this order: a byte order mark (UTF-8, UTF-16, UTF-32), UTF-8,
and else Windows-1252, which is Latin-1 with quotation marks, said in a note. Cost: one pass over the bytes.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

Columns = dict[str, Any]  # cells by name: Arrow strings still to be understood, or a pandas Series
LIMIT = 4 << 30  # bytes held in memory at once
SMALL = 64 << 20
BOMB = 200  # tables of text shrink 3 to 50 times

FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet", ".feather": "arrow",
    ".arrow": "arrow", ".ipc": "arrow", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".arff": "arff",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".txt": "text", ".data": "csv",
    ".eml": "document", ".md": "document", ".xlsx": "excel", ".xlsm": "excel", ".db": "sqlite", ".sqlite": "sqlite",
    ".sqlite3": "sqlite", ".duckdb": "duckdb", ".ddb": "duckdb",
}  # fmt: skip
SHELVES = {"excel": "a workbook", "sqlite": "a database", "duckdb": "a database"}  # files of several tables
MAGIC = {
    "excel": b"PK\x03\x04",
    "sqlite": b"SQLite format 3",
    "duckdb": b"DUCK",
}  # DuckDB's from the ninth byte on
# What other files begin with, and what to do about it.
FOREIGN = (
    (b"PK\x03\x04", "a zip archive or a spreadsheet", "unpack it, or save the sheet as CSV"),
    (b"PK\x05\x06", "an empty zip archive", "unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old Office file, or one with a password", "save the sheet as .xlsx or CSV"),
    (b"BZh", "packed by bzip2", "unpack it, or pack it by gzip"),
    (b"\xfd7zXZ", "packed by xz", "unpack it, or pack it by gzip"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it, or pack it by gzip"),
    (b"7z\xbc\xaf", "a 7z archive", "unpack it"),
    (b"%PDF", "a PDF", "save its table as CSV"),
    (b"\x89HDF", "an HDF5 file", "save the table as Parquet or CSV"),
    (b"\x80\x04", "a Python pickle, which could run code", "save the table as Parquet or CSV"),
    (b"\x80\x05", "a Python pickle, which could run code", "save the table as Parquet or CSV"),
    (b"\x89PNG", "a picture", "give the table it shows as CSV"),
    (b"\xff\xd8\xff", "a picture", "give the table it shows as CSV"),
    (b"GIF8", "a picture", "give the table it shows as CSV"),
    (
        b"version https://git-lfs.github.com/spec/",
        "a pointer of git-lfs, not the data",
        "fetch them by git lfs pull",
    ),
)
# What a server or a program writes under a table's name; as a .txt it may be a document.
PAGES = (
    (
        re.compile(rb"<(!doctype\s+)?html[\s>]", re.IGNORECASE),
        "an HTML page",
        "open it to see what it says, and",
    ),
    (re.compile(rb"<\?xml\s", re.IGNORECASE), "XML", "export the table as CSV, or"),
)
JSON = re.compile(rb'(\[\s*)?\{\s*"[^"\n]*"\s*:')
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class TableError(ValueError):
    """A table that cannot be read or used; the message is one sentence that names the place and the way out.

    >>> from separatrix.tables.read import read
    >>> read("no-such-file.csv")
    Traceback (most recent call last):
    ...
    separatrix.tables.sources.TableError: no-such-file.csv: no such file; check the path, or use a bundled name: ...
    """


@dataclass(frozen=True)
class Source:
    """A file opened for reading: its path, its format, whether it is packed by gzip, and which of its tables."""

    path: Path
    format: str
    packed: bool
    notes: tuple[str, ...] = ()
    part: str = ""

    @property
    def name(self) -> str:
        return f"{self.path}::{self.part}" if self.part else str(self.path)

    def refuse(self, what: str, cause: BaseException | None = None) -> TableError:
        error = TableError(f"{self.name}: {what}")
        error.__cause__ = cause
        return error

    def stream(self) -> BinaryIO:
        """The bytes, unpacked as they are asked for, within bounds; of a sheet or a table of SQLite as CSV."""
        if self.format in SHELVES:
            return io.BufferedReader(_Lines(self._lines()), 1 << 20)
        raw = self.path.open("rb")
        return io.BufferedReader(_Unpacked(raw, self), 1 << 20) if self.packed else raw

    def content(self) -> bytes:
        """All bytes at once."""
        size = 0 if self.format in SHELVES else self.path.stat().st_size  # of those it is not known before
        if size <= LIMIT:
            with self.stream() as stream:
                found = stream.read(LIMIT + 1) if self.format in SHELVES else stream.read()
            if self.format not in SHELVES or (size := len(found)) <= LIMIT:
                return found
        raise self.refuse(
            f"{size / 1e9:.1f} GB is more than the {LIMIT >> 30} GB read at once; "
            "train on part of the rows, or read it piece by piece (read_chunks)"
        )

    def _lines(self) -> Iterator[bytes]:
        if self.format == "sqlite":
            from separatrix.tables.formats.databases import sqlite_lines

            return sqlite_lines(self)
        from separatrix.tables.formats.sheets import read_sheet

        return iter([read_sheet(self).text.encode("utf-8", "replace")])


class _Lines(io.RawIOBase):
    """Blocks of bytes as a stream."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.blocks, self.held = blocks, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not len(self.held):
            block = next(self.blocks, None)
            if block is None:
                return 0
            self.held = memoryview(block)
        size = min(len(buffer), len(self.held))
        buffer[:size], self.held = self.held[:size], self.held[size:]
        return size

    def close(self) -> None:
        if not self.closed and hasattr(self.blocks, "close"):
            self.blocks.close()  # a database that is read is let go
        super().close()


class _Unpacked(io.RawIOBase):
    """gzip as a stream that refuses bombs, and says what is wrong with the packing."""

    def __init__(self, raw: BinaryIO, source: Source) -> None:
        self.raw, self.source, self.out = raw, source, 0
        self.packed = max(os.fstat(raw.fileno()).st_size, 1)
        self.inner = gzip.GzipFile(fileobj=raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.inner.read(len(buffer))
        except (EOFError, zlib.error, OSError) as error:
            what = str(error).removeprefix("Error -3 while decompressing data: ")
            why = "end in the middle" if isinstance(error, EOFError) else f"are damaged ({what})"
            raise self.source.refuse(f"the gzip data {why}; get the file again", error) from None
        self.out += len(data)
        if self.out > SMALL and self.out > BOMB * self.packed:
            raise self.source.refuse(
                f"{self.packed:,} bytes unpack to more than {BOMB} times as many, as no table does; "
                "unpack it yourself if you trust it"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self.inner.close()
            self.raw.close()
        super().close()


def parted(source: str | Path) -> tuple[Path, str]:
    """``book.xlsx::Sheet2`` → the file and the table in it; no name where there is none.

    >>> parted("book.xlsx::Sheet2"), parted("iris.csv")
    ((PosixPath('book.xlsx'), 'Sheet2'), (PosixPath('iris.csv'), ''))
    """
    path = Path(source).expanduser()
    text = str(path)
    if "::" not in text or is_there(path):
        return path, ""
    cuts = [(Path(text[:at]), text[at + 2 :]) for at in range(1, len(text)) if text[at : at + 2] == "::"]
    return next(((file, part) for file, part in cuts if is_there(file)), cuts[0] if cuts else (path, ""))


def located(source: Any) -> Source | None:
    """The file that is named, opened; None where it is no file: a folder, a bundled name, a frame."""
    if not isinstance(source, (str, Path)) or not parted(source)[0].is_file():
        return None
    return open_source(source)


def is_there(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except (OSError, ValueError):
        return False


def open_source(given: str | Path, format: str | None = None) -> Source:
    """The file at the path (and the table in it), its format by its first bytes and its name."""
    path, part = parted(given)
    blank = Source(path, "", False, (), part)
    try:
        plain = stat.S_ISREG(path.stat().st_mode)
        head = b""
        if plain:
            with path.open("rb") as raw:
                head = raw.read(4096)
    except FileNotFoundError:
        raise blank.refuse("no such file; check the path") from None
    except PermissionError:
        raise blank.refuse("not allowed to read it; change its permissions") from None
    except (OSError, ValueError) as error:
        raise blank.refuse(
            f"cannot be read ({getattr(error, 'strerror', None) or error}); check the path"
        ) from None
    if not plain:
        raise blank.refuse("neither a file nor a folder; give the path of a file")
    if not head:
        raise blank.refuse("the file is empty; give a table with a line of names and rows")
    packed = head[:2] == b"\x1f\x8b"
    suffixes = [s.lower() for s in path.suffixes]
    notes = []
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
        if not packed:
            notes.append("named .gz, but not packed: read as it is")
    if packed:
        with Source(path, "", True).stream() as stream:
            head = stream.read(4096)
        if not head:
            raise blank.refuse("the gzip data hold nothing; give a table with a line of names and rows")
    by_name = FORMATS.get(suffixes[-1], "") if suffixes else ""
    found = format or _by_content(head, blank, by_name) or by_name
    if found in SHELVES and not head.startswith(MAGIC[found]) and head[8:12] != MAGIC[found]:
        raise blank.refuse(
            f"the file is not {SHELVES[found]} that {found} wrote; check the path, or get it again"
        )
    if part and found not in SHELVES:
        raise blank.refuse(f"{path.name} holds one table; leave out ::{part}")
    if by_name and found != by_name and not format:
        notes.append(f"named {suffixes[-1]}, but its content is {found}: read as {found}")
    return Source(path, found or "text", packed, tuple(notes), part)


def _by_content(head: bytes, blank: Source, by_name: str) -> str:
    """The format that a file's first bytes prove; empty where they prove none."""
    if head.startswith(MAGIC["sqlite"]):
        return "sqlite"
    if head[8:12] == MAGIC["duckdb"]:
        return "duckdb"
    if head.startswith(MAGIC["excel"]) and (by_name == "excel" or _is_workbook(blank.path)):
        return "excel"
    for magic, what, way_out in FOREIGN:
        if head.startswith(magic):
            raise blank.refuse(f"the file is {what}; {way_out}")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
        return "arrow"
    if head[:2] == b"\x1f\x8b":
        raise blank.refuse("packed by gzip more than once; unpack it once")
    begins = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if by_name not in ("", "text", "document"):
        for page, what, way_out in PAGES:
            if page.match(begins):
                raise blank.refuse(f"the file is {what}, not a table; {way_out} get the table again")
    return "jsonl" if by_name in ("csv", "tsv") and JSON.match(begins) else ""


def _is_workbook(path: Path) -> bool:
    """Whether a zip archive is one of Excel's, whatever its name."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def decoded(source: Source, content: bytes) -> tuple[str, list[str]]:
    """The bytes as text, and notes on the encoding."""
    notes = []
    encoding = next((name for mark, name in MARKS if content.startswith(mark)), "")
    if not encoding and _is_utf16(content):
        encoding = "utf-16-le" if content[1:2] == b"\0" else "utf-16-be"
    if not encoding:
        if (at := content.find(b"\0")) >= 0:
            line = content.count(b"\n", 0, at) + 1
            raise source.refuse(
                f"line {line} holds a zero byte, as no text does; take it out, or give a CSV, Parquet, "
                "JSON lines, ARFF or svmlight file"
            )
        encoding = "utf-8"
    try:
        text = content.decode(encoding)
        if encoding not in ("utf-8", "utf-8-sig"):
            notes.append(f"read as {encoding.upper()}")
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise source.refuse(
                f"begins as {encoding} and goes on as something else; save it as UTF-8", error
            ) from None
        text, line = _western(source, content), content.count(b"\n", 0, error.start) + 1
        notes.append(
            f"not UTF-8 (line {line}): read as Windows-1252 (Latin-1); save it as UTF-8 if letters look wrong"
        )
    if "\0" in text:
        raise source.refuse("holds zero characters, so this is no text; give a table")
    return text, notes


def _western(source: Source, content: bytes) -> str:
    """Windows-1252; refused where control characters show that the bytes are no text at all."""
    sample = content[: 1 << 16]
    strange = sum(sample.count(bytes([c])) for c in (*range(1, 9), *range(14, 27), *range(28, 32), 127))
    if strange > 0.02 * len(sample):
        raise source.refuse(
            "neither text nor a known table format; give a CSV, Parquet, JSON lines, ARFF or svmlight file"
        )
    try:
        return content.decode("cp1252")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _is_utf16(content: bytes) -> bool:
    """UTF-16 without a mark: of Western text, every other byte is zero."""
    sample = content[:2000]
    if len(sample) < 4 or len(content) % 2:
        return False
    zeros = [sample[i::2].count(0) / max(len(sample[i::2]), 1) for i in (0, 1)]
    return max(zeros) > 0.9 and min(zeros) < 0.1
