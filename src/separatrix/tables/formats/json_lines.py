"""JSON lines:  one object a line, or one array of objects.

Gives (columns, notes): a column's cells are an Arrow array of strings where they still have to be understood
(cells.py), or a pandas Series where the file says what they are. Cost: one pass over the bytes.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from separatrix.tables.sources import Columns, Source


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
