"""Any source → a frame with all its columns understood, before a target is set apart (see read.py). O(bytes)."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.tables.cells import DATES, NUMBER, Reading, read_column
from separatrix.tables.delimited import Dialect, find_dialect, is_table, read_delimited
from separatrix.tables.formats.arff import read_arff
from separatrix.tables.formats.arrow import read_columns
from separatrix.tables.formats.folders import read_folder
from separatrix.tables.formats.json_lines import read_json_lines
from separatrix.tables.formats.svmlight import read_svmlight
from separatrix.tables.sources import (
    SHELVES,
    Columns,
    Source,
    TableError,
    decoded,
    is_there,
    open_source,
    parted,
)

if TYPE_CHECKING:
    import pandas as pd

ENJOY_SPORT = """Sky,Temp,Humid,Wind,Water,Forecast,EnjoySport
Sunny,Warm,Normal,Strong,Warm,Same,Yes
Sunny,Warm,High,Strong,Warm,Same,Yes
Rainy,Cold,High,Strong,Warm,Change,No
Sunny,Warm,High,Strong,Cool,Change,Yes
"""
BUNDLED = ("iris", "wine", "breast-cancer", "digits", "enjoy-sport")
DIGITS = re.compile(r"\W*\d")  # how numbers, dates and sums of money begin
FORMATS = (
    "csv", "tsv", "parquet", "arrow", "jsonl", "arff", "svmlight", "text", "document", "excel", "sqlite", "duckdb",
)  # fmt: skip


@dataclass(frozen=True)
class ReadOptions:
    kinds: dict[str, str]
    header: bool | None = None
    delimiter: str | None = None
    missing: tuple[str, ...] | None = None
    width: int | None = None


@dataclass(frozen=True)
class RawTable:
    """A frame with all columns, how they were read, and the target the source itself names."""

    frame: pd.DataFrame
    readings: dict[str, Reading]
    name: str
    format: str
    notes: list[str]
    target: str | None = None


def load(source: Any, format: str | None, options: ReadOptions) -> RawTable:
    import pandas as pd

    if not isinstance(source, (str, Path)) or not str(source).strip():
        if hasattr(source, "columns") and hasattr(source, "shape"):
            return _of_frame(source)
        got = repr(source) if isinstance(source, str) else type(source).__name__
        raise TableError(f"a table is a path, a bundled name or a DataFrame, got {got}; give one of them")
    path, part = parted(source)
    if not is_there(path):
        if str(source) in BUNDLED:
            return _bundled(str(source))
        raise TableError(
            f"{source}: no such file; check the path, or use a bundled name: {', '.join(BUNDLED)}"
        )
    if path.is_dir():
        if part:
            raise TableError(f"{path}: a folder, not a workbook or a database; leave out ::{part}")
        cells, labels, notes = read_folder(path)
        frame = pd.DataFrame({name: pd.Series(column, dtype="str") for name, column in cells.items()})
        if labels is not None:
            frame["label"] = pd.Series(labels, dtype="str")
        readings = {str(n): Reading(str(n), "words", empty=("",)) for n in frame.columns}
        return RawTable(frame, readings, str(path), "folder", notes, None if labels is None else "label")
    try:
        return _of_file(open_source(source, format), options)
    except MemoryError:
        raise TableError(
            f"{source}: does not fit into memory; read it piece by piece (read_chunks)"
        ) from None
    except TableError as error:
        if str(error).startswith(str(path)):
            raise
        raise TableError(f"{source}: {error}") from error.__cause__


def _of_file(source: Source, options: ReadOptions) -> RawTable:
    notes = list(source.notes)
    if source.format in ("parquet", "arrow"):
        columns, more = read_columns(source)
        return _understood(source, columns, options, notes + more)
    if source.format == "svmlight":
        frame, labels = read_svmlight(source, source.content(), options.width)
        frame["label"] = labels
        return RawTable(frame, _typed_readings(frame), source.name, "svmlight", notes, "label")
    if source.format in SHELVES:
        return _of_shelf(source, options, notes)
    text, more = decoded(source, source.content())
    notes += more
    if not text.strip():
        raise source.refuse("nothing but blanks; give a table with a line of names and rows")
    if source.format in ("jsonl", "arff"):
        columns, more = (read_json_lines if source.format == "jsonl" else read_arff)(source, text)
        return _understood(source, columns, options, notes + more)
    if source.format == "text" and (kind := _kind_of_text(text)):
        return _of_file(replace(source, format=kind, notes=(*notes, f"its content is {kind}")), options)
    if source.format == "document":
        return _document(source, text, notes)
    if source.format == "text" and options.delimiter is None and not is_table(text):
        return _document(source, text, [*notes, "no table in it: read as one document"])
    dialect, more = find_dialect(source, text, options.header, options.delimiter)
    if options.header is None and dialect.header:
        _refuse_title(source, text, dialect)
    table, also = read_delimited(source, text, dialect)
    columns = {name: table.column(name) for name in dialect.names}
    raw = _understood(source, columns, options, [*notes, *more, *also], dialect)
    labelled = source.format == "text" and dialect.names == ("label", "text")
    return replace(raw, target="label") if labelled else raw


def _of_shelf(source: Source, options: ReadOptions, notes: list[str]) -> RawTable:
    """A sheet of a workbook or a table of a database; its lines are read as CSV is."""
    check_shelf(source, options.header, options.delimiter)
    if source.format == "excel":
        from separatrix.tables.formats.sheets import read_sheet

        notes += read_sheet(source).notes
    else:
        from separatrix.tables.formats.databases import duckdb_columns, table_note

        notes += table_note(source)
        if source.format == "duckdb":
            return _understood(source, duckdb_columns(source), options, notes)
    text, more = decoded(source, source.content())
    header = options.header if source.format == "excel" else True
    dialect, also = find_dialect(source, text, header, ",")
    if header is None and dialect.header:
        _refuse_title(source, text, dialect)
    table, said = read_delimited(source, text, dialect)
    columns = {name: table.column(name) for name in dialect.names}
    return _understood(source, columns, options, [*notes, *more, *also, *said], dialect)


def check_shelf(source: Source, header: bool | None, delimiter: str | None) -> None:
    """Refuse what means something for lines of text alone."""
    if delimiter is not None:
        raise source.refuse(f"{SHELVES[source.format]} has no delimiter; leave it out")
    if header is not None and source.format != "excel":
        raise source.refuse("the columns of a database have names; leave out header")


def _refuse_title(source: Source, text: str, dialect: Dialect) -> None:
    """Refuse a title in place of names: most of its cells are empty, and words fill a line below, numbers after."""
    lines = re.split(r"\r\n|\r|\n", text[:20_000])[:-1][:40]
    rows = [(number, cells) for number, line in enumerate(lines, 1) if (cells := _cut(dialect, line))]
    (first, title), *rows = [row for row in rows if row[0] > dialect.skip] or [(0, [])]
    full = [(number, cells) for number, cells in rows[:10] if len(cells) > 1 and all(cells)]
    if not full:
        return
    number, names = full[0]
    below = [cells for at, cells in rows if at > number and len(cells) == len(names)]
    alone = len(title) == 1 or 2 * sum(map(bool, title)) < len(names)
    words = len(set(names)) == len(names) and not any(map(DIGITS.match, names))
    if alone and words and any(DIGITS.match(cell) for cells in below for cell in cells):
        raise source.refuse(
            f"line {first} ({lines[first - 1][:60]!r}) is no line of names, which seem to stand in line {number} "
            f"({lines[number - 1][:60]!r}); take out the lines above them, or say header=True"
        )


def _cut(dialect: Dialect, line: str) -> list[str]:
    return [cell.strip() for cell in next(dialect.cut([line], strict=False), [])]


def _kind_of_text(text: str) -> str:
    """What a file without a telling name holds: ARFF, JSON lines, svmlight; empty for delimited text or prose."""
    head = text.lstrip()[:20_000]
    if head.lower().startswith("@relation"):
        return "arff"
    if re.match(r'[\[\s]*\{\s*"', head):
        return "jsonl"
    lines = head.split("\n")[:20][:-1] or head.split("\n")
    return "svmlight" if all(re.fullmatch(r"[+-]?[\d.]+(\s+\d+:\S+)+\s*", line) for line in lines) else ""


def _document(source: Source, text: str, notes: list[str]) -> RawTable:
    import pandas as pd

    frame = pd.DataFrame({"text": pd.Series([text], dtype="str")})
    return RawTable(frame, {"text": Reading("text", "words", empty=("",))}, source.name, "document", notes)


def _understood(
    source: Source, columns: Columns, options: ReadOptions, notes: list[str], dialect: Dialect | None = None
) -> RawTable:
    """Every column of words as what the words mean."""
    import pandas as pd

    made: dict[str, pd.Series] = {}
    readings: dict[str, Reading] = {}
    for name, cells in columns.items():
        kind = options.kinds.get(name)
        if isinstance(cells, pd.Series):
            made[name], readings[name] = cells, typed_reading(name, cells)
            continue
        if kind == "text" or (kind is None and _is_prose(cells)):
            made[name] = pd.Series(cells.to_pandas(), name=name, dtype="str").reset_index(drop=True)
            readings[name] = Reading(name, "words", empty=())
            continue
        mark = dialect.delimiter if dialect else ""
        made[name], readings[name], said = read_column(
            name, cells, kind=kind, delimiter=mark, missing=options.missing
        )
        notes = notes + (said or _nearly(name, cells, readings[name], kind))
    if not made:
        raise source.refuse("no column in it; give a table with a line of names and rows")
    frame = pd.DataFrame(made)
    if not len(frame):
        raise source.refuse("names, but no row below them; give a table with rows")
    return RawTable(frame, readings, source.name, source.format, [*notes, *_missing_note(frame)])


def _is_prose(words: Any) -> bool:
    """Long cells are text as they stand: blanks and line breaks kept, nothing taken for a number or a date."""
    import pyarrow.compute as pc

    return bool(len(words)) and (pc.mean(pc.utf8_length(words)).as_py() or 0) > 60


def _nearly(name: str, words: Any, reading: Reading, kind: str | None) -> list[str]:
    """A sentence on words half of which, at least, are numbers, or all of which are dates in several spellings."""
    import pyarrow.compute as pc

    if kind is not None or reading.storage != "words":
        return []
    held = pc.unique(pc.utf8_trim_whitespace(words)).drop_null()[:1000].to_pylist()
    held = [word for word in held if word not in reading.empty]
    odd = [word for word in held if not NUMBER.fullmatch(word)]
    if odd and 2 * len(odd) <= len(held):
        return [
            f"column {name!r}: read as words, as {odd[0][:40]!r} is no number while most of its different cells are; "
            f"kinds={{{name!r}: 'continuous'}} reads such cells as missing"
        ]
    shapes = [next((i for i, (shape, _) in enumerate(DATES) if shape.fullmatch(word)), -1) for word in held]
    other = next((word for word, shape in zip(held, shapes) if shape != shapes[0]), None)
    if other is None or -1 in shapes:
        return []
    return [
        f"column {name!r}: read as words, as its dates are spelled in several ways ({held[0]!r}, {other!r}); "
        "write them all as 2024-01-31"
    ]


def _missing_note(frame: pd.DataFrame) -> list[str]:
    counts = {str(name): int(column.isna().sum()) for name, column in frame.items()}
    held = {name: count for name, count in counts.items() if count}
    if not held:
        return []
    most = sorted(held, key=lambda name: -held[name])
    listed = ", ".join(f"{name!r} {held[name]:,}" for name in most[:4])
    count = sum(held.values())
    return [
        f"{count:,} missing cell{'s' * (count > 1)} in {len(held)} column{'s' * (len(held) > 1)} "
        f"({listed}{', …' if len(held) > 4 else ''})"
    ]


def typed_reading(name: str, column: pd.Series) -> Reading:
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype):
        return Reading(name, "boolean")
    if isinstance(column.dtype, pd.SparseDtype) or pd.api.types.is_numeric_dtype(column.dtype):
        return Reading(name, "number")
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return Reading(name, "date", format="ISO8601")
    return Reading(name, "words")


def _typed_readings(frame: pd.DataFrame) -> dict[str, Reading]:
    return {str(n): typed_reading(str(n), frame.iloc[:, j]) for j, n in enumerate(frame.columns)}


def _of_frame(given: Any) -> RawTable:
    """A frame that narwhals reads, as it is; columns of objects as what they hold."""
    import narwhals as nw
    import pandas as pd

    try:
        own = isinstance(given, pd.DataFrame)
        frame = given.copy() if own else nw.from_native(given, eager_only=True).to_pandas()
    except TypeError as error:
        raise TableError(
            f"a table is a path, a bundled name or a DataFrame in memory ({error}); give one of them"
        ) from None
    names = [str(c) for c in frame.columns]
    frame.columns = pd.Index(names)
    twice = [name for name in names if names.count(name) > 1] if len(set(names)) < len(names) else []
    if twice:
        raise TableError(f"more than one column is called {twice[0]!r}; give every column a name of its own")
    if not len(frame) or not frame.shape[1]:
        raise TableError(f"the frame has {len(frame)} rows and {frame.shape[1]} columns; give one with both")
    for name in frame.columns:
        values = frame[name]
        if pd.api.types.is_float_dtype(values.dtype):
            infinite = np.flatnonzero(np.isinf(values.to_numpy(dtype=float, na_value=np.nan)))
            if len(infinite):
                row = int(infinite[0]) + 1
                raise TableError(f"column {name!r} is infinite in row {row}; mend the cell or leave it empty")
        if values.dtype == object:
            types = {type(v) for v in values.dropna()}
            if types and not types <= {str}:
                bad = types - {str, int, float, bool, np.bool_, np.int64, np.float64}
                if bad:
                    raise TableError(
                        f"column {name!r} holds {bad.pop().__name__}; "
                        "a cell is a number, a word, a date, true or false"
                    )
                if types <= {int, float, np.int64, np.float64}:
                    frame[name] = values.astype(float)
                    continue
            frame[name] = values.map(str, na_action="ignore").astype("str")
    frame = frame.reset_index(drop=True)
    return RawTable(frame, _typed_readings(frame), "frame", "frame", _missing_note(frame))


def _bundled(name: str) -> RawTable:
    import pandas as pd

    if name == "enjoy-sport":
        frame = pd.read_csv(io.StringIO(ENJOY_SPORT), dtype="str")
        return RawTable(frame, _typed_readings(frame), name, "csv", [], "EnjoySport")
    from sklearn import datasets

    made = getattr(datasets, f"load_{name.replace('-', '_')}")()
    target = {"iris": "species", "wine": "cultivar", "breast-cancer": "diagnosis", "digits": "digit"}[name]
    frame = pd.DataFrame(made.data, columns=[str(n) for n in made.feature_names])
    words = [str(n) for n in made.target_names]
    labels = made.target if name == "digits" else pd.Series([words[t] for t in made.target], dtype="str")
    frame[target] = labels
    return RawTable(frame, _typed_readings(frame), name, "csv", [], target)


def needs_frames() -> None:
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError('tables need pandas and pyarrow: pip install "separatrix[frames]"') from None
