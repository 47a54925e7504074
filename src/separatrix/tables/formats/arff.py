"""ARFF, Weka's format:  @relation, @attribute name type, @data, rows.

Gives (columns, notes): a column's cells are an Arrow array of strings where they still have to be understood
(cells.py), or a pandas Series where the file says what they are. Cost: one pass over the bytes.
"""

from __future__ import annotations

import re
from typing import Any

from separatrix.tables.sources import Columns, Source

ATTRIBUTE = re.compile(
    r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+?)\s*(\{.*\}|\s\S+.*)\s*""", re.IGNORECASE
)
ARFF_CELL = re.compile(r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,]*)\s*(,|$)""")


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
