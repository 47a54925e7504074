"""Formats other than delimited text:  JSON lines, ARFF, svmlight, Parquet, Arrow, and folders of documents.

Each reader returns (columns, notes): a mapping from a column's name to its cells, as an Arrow array of strings where
they still have to be understood (see cells.py), or as a pandas Series where the file says what they are.
Cost: one pass over the bytes.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.tables.sources import LIMIT, Source, TableError, decoded, open_source

Columns = dict[str, Any]
WIDEST = 200_000  # columns of a sparse table
DENSE = 1000
SVMLIGHT = re.compile(
    r"\s*[^\s:#]+(?:\s+qid:\d+)?(?:\s+\d+:[+-]?(?:\d+\.?\d*|\.\d+|inf|nan)(?:[eE][+-]?\d+)?)*\s*(?:#.*)?",
    re.IGNORECASE,
)
ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+?)\s*(\{.*\}|\s\S+.*)\s*""", re.IGNORECASE
)
ARFF_CELL = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*)\s*(,|$)""")


# ---------------------------------------------------------------------------------------------- JSON lines


def read_json_lines(source: Source, text: str) -> tuple[Columns, list[str]]:
    """One JSON object a line, or one array of them."""
    notes: list[str] = []
    if text.lstrip().startswith("["):
        records: Iterable[tuple[str, Any]] = _array(source, text)
        notes.append("one JSON array of records")
    else:
        if re.match(r"\s*\{\s*\n", text) and _whole(text):
            raise source.refuse(
                "one JSON object over several lines; write one object a line, or an array of them"
            )
        records = json_records(source, io.StringIO(text))
    return columns_of_records(source, records), notes


def json_records(source: Source, lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """("line 3", its object) for every line that is not blank."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield f"line {number}", _parsed(source, line, f"line {number}")


def _whole(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _array(source: Source, text: str) -> Iterator[tuple[str, Any]]:
    for number, record in enumerate(_parsed(source, text, "the array"), 1):
        yield f"record {number}", record


def _parsed(source: Source, text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise source.refuse(
            f"{place} is nested too deeply; a cell is a number, a word, true, false or null"
        ) from None
    except json.JSONDecodeError as error:
        why = f"{error.msg[:1].lower()}{error.msg[1:]}, at character {error.pos + 1}"
        raise source.refuse(f"{place} is no JSON ({why}); mend or remove it") from None
    except ValueError as error:
        raise source.refuse(f"{place} is no JSON ({error}); mend or remove it") from None


def columns_of_records(source: Source, records: Iterable[tuple[str, Any]]) -> Columns:
    """Objects side by side; a name that an object lacks is a missing cell there."""
    cells: dict[str, list[Any]] = {}
    n = 0
    for place, record in records:
        if not isinstance(record, dict):
            raise source.refuse(f'{place} is no object; write {{"name": value, …}}')
        for name, value in record.items():
            if isinstance(value, (dict, list)):
                held = f"{place}: {name!r} holds {'an object' if isinstance(value, dict) else 'a list'}"
                if isinstance(value, list) and value and isinstance(value[0], dict):
                    raise source.refuse(f"{held} of objects; if these are the rows, write one of them a line")
                raise source.refuse(
                    f"{held}; a cell is a number, a word, true, false or null: leave it out, or cut it into cells"
                )
            column = cells.setdefault(name, [])
            if len(column) < n:
                column.extend([None] * (n - len(column)))
            column.append(value)
        n += 1
    for column in cells.values():
        column.extend([None] * (n - len(column)))
    return {name: _typed(source, name, column) for name, column in cells.items()}


def _typed(source: Source, name: str, cells: list[Any]) -> Any:
    import pandas as pd
    import pyarrow as pa

    types = {type(v) for v in cells if v is not None}
    if types and types <= {int, float}:
        try:
            values = np.array([np.nan if v is None else float(v) for v in cells])
        except OverflowError:
            values = np.array([np.inf if isinstance(v, int) and abs(v) >= 1 << 1024 else 0.0 for v in cells])
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0]) + 1
            raise source.refuse(
                f"column {name!r} holds a number in row {row} that is infinite or beyond 1.8e308; mend it"
            )
        whole = types == {int} and None not in cells and np.all(np.abs(values) < 2**53)
        return pd.Series(values.astype(np.int64) if whole else values, name=name)
    if types == {bool} and None not in cells:
        return pd.Series(cells, name=name, dtype=bool)
    words = [None if v is None else v if isinstance(v, str) else json.dumps(v) for v in cells]
    try:
        return pa.array(words, pa.string())
    except UnicodeEncodeError:
        raise source.refuse(f"column {name!r} holds half of a surrogate pair; write it as UTF-8") from None


# ---------------------------------------------------------------------------------------------- ARFF


def read_arff(source: Source, text: str) -> tuple[Columns, list[str]]:
    """Weka's format: @relation, @attribute name type, @data, rows; ? is missing; sparse rows {index value, …}."""
    import pandas as pd
    import pyarrow as pa

    names: list[str] = []
    types: list[Any] = []
    rows: list[list[str | None]] = []
    inside = False
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        bare = line.strip()
        if not bare or bare.startswith("%"):
            continue
        if inside:
            rows.append(_arff_row(source, bare, number, len(names), types))
        elif bare.lower().startswith("@data"):
            inside = True
        elif bare.lower().startswith("@attribute"):
            found = ATTRIBUTE.fullmatch(bare)
            if found is None:
                raise source.refuse(
                    f"line {number} is no attribute ({bare[:60]!r}); write @attribute name type"
                )
            names.append(_unquoted(found.group(1)))
            types.append(_arff_type(source, found.group(2).strip(), number))
        elif not bare.lower().startswith("@relation"):
            raise source.refuse(
                f"line {number} stands before @data and is no attribute ({bare[:60]!r}); mend it"
            )
    if not names or not inside:
        what = "@data" if names else "@attribute"
        raise source.refuse(
            f"no {what} line, so this is no whole ARFF file; get it again, or give it the name of the format it has"
        )
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise source.refuse(f"more than one attribute is called {twice!r}; give every one a name of its own")
    columns: Columns = {}
    for j, (name, kind) in enumerate(zip(names, types)):
        cells = [row[j] for row in rows]
        if isinstance(kind, list):
            known = set(kind)
            for row, cell in enumerate(cells, 1):
                if cell is not None and cell not in known:
                    raise source.refuse(
                        f"row {row} of the data holds {cell!r} under {name!r}, whose levels are "
                        f"{', '.join(kind[:8])}; mend the cell or declare the level"
                    )
            columns[name] = pd.Series(pd.Categorical(cells, categories=kind), name=name)
        else:
            if kind == "number":
                _refuse_words(source, name, cells)
            columns[name] = pa.array(cells, pa.string())
    return columns, []


def _arff_type(source: Source, kind: str, number: int) -> Any:
    if kind.startswith("{"):
        return list(dict.fromkeys(v for v in _arff_cells(kind[1:-1]) if v is not None))
    word = kind.split()[0].lower()
    if word in ("numeric", "real", "integer"):
        return "number"
    if word in ("string", "date"):
        return word
    raise source.refuse(
        f"line {number} has the type {kind[:30]!r}; it is numeric, string, date or {{levels}}"
    )


def _arff_row(source: Source, line: str, number: int, width: int, types: list[Any]) -> list[str | None]:
    if not line.startswith("{"):
        cells = _arff_cells(line)
        if len(cells) == width + 1 and cells[-1] == "":
            cells.pop()
        if len(cells) != width:
            has = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
            raise source.refuse(f"line {number} has {has} for {width} attributes ({line[:60]!r}); mend it")
        return cells
    row: list[str | None] = ["0" if not isinstance(t, list) else (t[0] if t else None) for t in types]
    for part in line.strip("{} ").split(","):
        if not part.strip():
            continue
        place, _, value = part.strip().partition(" ")
        if not place.isdigit() or int(place) >= width:
            raise source.refuse(
                f"line {number}: {part.strip()[:40]!r} is no 'index value' with an index below {width}; mend it"
            )
        row[int(place)] = None if value.strip() == "?" else _unquoted(value.strip())
    return row


def _arff_cells(line: str) -> list[str | None]:
    if "'" not in line and '"' not in line:
        return [None if (c := cell.strip()) == "?" else c for cell in line.split(",")]
    out: list[str | None] = []
    at = 0
    while at <= len(line):
        found = ARFF_CELL.match(line, at)
        if found is None:  # a quote that is never closed, or text after it: as it stands to the next comma
            end = line.find(",", at)
            out.append(line[at : end if end >= 0 else len(line)].strip())
            if end < 0:
                break
            at = end + 1
            continue
        cell = found.group(1).strip()
        out.append(None if cell == "?" else _unquoted(cell))
        if found.group(2) != ",":
            break
        at = found.end()
    return out


def _unquoted(word: str) -> str:
    if len(word) > 1 and word[0] in "'\"" and word[-1] == word[0]:
        return re.sub(r"\\(.)", r"\1", word[1:-1])
    return word


def _refuse_words(source: Source, name: str, cells: list[str | None]) -> None:
    for row, cell in enumerate(cells, 1):
        if cell is not None:
            try:
                float(cell)
            except ValueError:
                raise source.refuse(
                    f"row {row} of the data holds {cell[:40]!r} under {name!r}, which is numeric; "
                    "mend the cell or write ?"
                ) from None


# ---------------------------------------------------------------------------------------------- svmlight


def read_svmlight(source: Source, content: bytes, width: int | None) -> tuple[Any, np.ndarray]:
    """label index:value …  →  a frame (sparse where wide), and the labels."""
    import pandas as pd
    from sklearn.datasets import load_svmlight_file

    text, _ = decoded(source, content)
    widest = 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        if not SVMLIGHT.fullmatch(bare):
            raise source.refuse(f"line {number} is not 'label index:value …' ({bare[:60]!r}); mend it")
        if ":" in (last := bare.split("#")[0].split()[-1]):
            widest = max(widest, int(last.split(":")[0]))
    if widest > WIDEST:
        raise source.refuse(
            f"column {widest:,} is beyond the {WIDEST:,} columns of a table; load it by "
            "sklearn.datasets.load_svmlight_file and fit a model on the matrix"
        )
    try:
        X, y = load_svmlight_file(io.BytesIO(text.encode()), dtype=np.float64)
    except (ValueError, OverflowError) as error:
        for number, line in enumerate(text.split("\n"), 1):
            held = [int(index) for index in re.findall(r"\s(\d+):", line.split("#")[0])]
            fall = next((pair for pair in pairwise(held) if pair[0] >= pair[1]), None)
            if fall:
                raise source.refuse(
                    f"line {number}: index {fall[1]} comes after {fall[0]}; write the indices rising"
                ) from None
        raise source.refuse(
            f"no svmlight file ({str(error).rstrip('.')}); write 'label index:value …', indices rising"
        ) from None
    if not X.shape[0]:
        raise source.refuse("no line holds a row; write 'label index:value …'")
    if not np.isfinite(X.data).all():
        raise source.refuse("a value is not a finite number; mend it or leave it out")
    if width is not None and X.shape[1] > width:
        raise source.refuse(f"column {X.shape[1]} is beyond the {width} columns asked for; raise width")
    if width is not None:
        X.resize((X.shape[0], width))
    names = [f"x{j + 1}" for j in range(X.shape[1])]
    if X.shape[1] <= DENSE:
        frame = pd.DataFrame(X.toarray(), columns=names)
    else:
        frame = pd.DataFrame.sparse.from_spmatrix(X.tocsc(), columns=names)  # type: ignore[attr-defined]
    labels = y.astype(np.int64) if np.array_equal(y, np.rint(y)) else y
    return frame, labels


# ---------------------------------------------------------------------------------------------- Parquet, Arrow


def open_columns(source: Source) -> Any:
    """A Parquet or Arrow file as an object with batches: refused where damaged or too large."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if source.format == "parquet":
            return pq.ParquetFile(io.BytesIO(source.content()) if source.packed else str(source.path))
        # read, not mapped: a mapped file that is cut short meanwhile would end the process
        content = pa.py_buffer(source.content())
        try:
            return pa.ipc.open_file(pa.BufferReader(content))
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(pa.BufferReader(content))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise source.refuse(
            f"the {source.format} data are damaged ({_short(error)}); get the file again"
        ) from None


def read_columns(source: Source) -> tuple[Columns, list[str]]:
    """All columns of a Parquet or Arrow file."""
    import pyarrow as pa

    file = open_columns(source)
    try:
        if source.format == "parquet":
            cells = file.metadata.num_rows * max(file.metadata.num_columns, 1)
            if cells * 8 > LIMIT:
                raise source.refuse(
                    f"{cells:,} cells are more than the {LIMIT >> 30} GB read at once; "
                    "read it piece by piece (read_chunks)"
                )
            table = file.read()
        else:
            table = file.read_all()
            table.validate(
                full=True
            )  # offsets are not checked on reading, and wrong ones point outside the file
    except TableError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise source.refuse(
            f"the {source.format} data are damaged ({_short(error)}); get the file again"
        ) from None
    return columns_of_arrow(source, table), []


def columns_of_arrow(source: Source, table: Any) -> Columns:
    """Arrow columns as words or as pandas columns."""
    import pandas as pd
    import pyarrow as pa

    names = [str(n) for n in table.column_names if not re.fullmatch(r"__index_level_\d+__", str(n))]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise source.refuse(f"more than one column is called {twice!r}; give every column a name of its own")
    out: Columns = {}
    for name in names:
        column = table.column(name)
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            out[name] = column.cast(pa.string()) if not pa.types.is_string(kind) else column
        elif pa.types.is_null(kind):
            out[name] = pa.array([None] * len(column), pa.string())
        elif pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
            out[name] = pd.Series(column.to_pandas(), name=name)
        elif pa.types.is_boolean(kind):
            plain = column.null_count == 0
            out[name] = pd.Series(column.to_pandas(), name=name) if plain else column.cast(pa.string())
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            values = column.cast(pa.float64(), safe=False).to_numpy()
            if np.isinf(values).any():
                row = int(np.flatnonzero(np.isinf(values))[0]) + 1
                raise source.refuse(
                    f"column {name!r} is infinite in row {row}; mend the cell or leave it empty"
                )
            whole = pa.types.is_integer(kind) and column.null_count == 0
            out[name] = pd.Series(column.to_numpy() if whole else values, name=name)
        elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            moment = column.cast(pa.timestamp("us"), safe=False)
            out[name] = pd.Series(moment.to_numpy(), name=name)
        else:
            raise source.refuse(
                f"column {name!r} is {kind}; a cell is a number, a word, a date, true or false: leave the column out"
            )
    return out


def _short(error: BaseException) -> str:
    return str(error).split("\n")[0].rstrip(".")[:120]


# ---------------------------------------------------------------------------------------------- folders


def read_folder(folder: Path) -> tuple[dict[str, list[str]], list[str] | None, list[str]]:
    """One document a file; the first folder below is the label, where there are folders."""
    blank = Source(folder, "folder", False)
    try:
        entries = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    except PermissionError:
        raise blank.refuse("not allowed to look into the folder; change its permissions") from None
    except OSError as error:
        raise blank.refuse(f"cannot be read ({error.strerror}); check the path") from None
    folders = [p for p in entries if p.is_dir() and not p.is_symlink()]
    loose = [p for p in entries if p.is_file()]
    notes: list[str] = []
    found: list[tuple[str, Path]] = []
    if folders:
        found = [(f.name, p) for f in folders for p in _files(f)]
        if loose:
            one = len(loose) == 1
            what = "1 file beside the folders was" if one else f"{len(loose):,} files beside the folders were"
            notes.append(f"{what} left out ({'' if one else 'first: '}{loose[0].name!r})")
    tables = [
        p.name
        for p in loose
        if re.search(r"\.(csv|tsv|parquet|jsonl|arff|svm|feather|arrow)(\.gz)?$", p.name)
    ]
    if not found and tables:
        raise blank.refuse(f"a folder of tables, not of documents; name one of them: {', '.join(tables[:5])}")
    labelled = bool(found)
    if not labelled:
        found = [("", p) for p in loose]
    if not found:
        raise blank.refuse("no document in the folder; put one document a file, in one folder a class")
    cells: dict[str, list[str]] = {"file": [], "text": []}
    labels, total, skipped = [], 0, []
    for label, path in found:
        try:
            source = open_source(path, "document")
            content = source.content()
            total += len(content)
            text = decoded(source, content)[0]
        except TableError as error:
            skipped.append(str(error).split(";")[0])
            continue
        if total > LIMIT:
            raise blank.refuse(f"more than {LIMIT >> 30} GB of documents; read a part")
        cells["file"].append(str(path.relative_to(folder)))
        cells["text"].append(text)
        labels.append(label)
    if not labels:
        raise blank.refuse(f"no document could be read ({skipped[0]}); give files of text")
    if skipped:
        one = len(skipped) == 1
        what = (
            "1 file could not be read and was"
            if one
            else f"{len(skipped):,} files could not be read and were"
        )
        notes.append(f"{what} left out ({'' if one else 'first: '}{skipped[0]})")
    return cells, labels if labelled else None, notes


def _files(folder: Path) -> list[Path]:
    """Files below a folder; links to folders are not followed, so that no loop is entered."""
    out = []
    for here, inner, files in os.walk(folder):
        inner[:] = sorted(d for d in inner if not d.startswith("."))
        places = (Path(here) / f for f in sorted(files) if not f.startswith("."))
        out += [p for p in places if p.is_file()]
    return out
