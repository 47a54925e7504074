"""Tables of a database:  file.db::table → rows, in the order the database gives them (row T3).

    shop.db::orders          SQLite, by Python's own sqlite3: lines of cells between commas, as the rows come
    shop.duckdb::orders      DuckDB, by its package: Arrow columns, which say what they are

Views are read like tables; a schema may stand before the name (``main.orders``). Without a name the only table is
read, and where there are several they are named in the refusal. Files are opened for reading alone.
Memory: a block of rows. Cost: one pass.
"""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from separatrix.core.words import and_more
from separatrix.tables.sources import Columns, Source, TableError

AT_ONCE = 5000  # rows
MOST_NAMED = 20


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds.

    >>> quoted('my "own" table')
    '"my ""own"" table"'
    """
    return '"' + name.replace('"', '""') + '"'


def table_note(source: Source) -> list[str]:
    """Which table is read, where none was named."""
    return [] if source.part else [f"the only table, {_chosen(source, _names(source))!r}, was read"]


def sqlite_lines(source: Source) -> Iterator[bytes]:
    """The table as CSV, names first: a block of lines at a time, encoded as UTF-8."""
    base = _sqlite(source)
    try:
        table = _chosen(source, _sqlite_names(source, base))
        rows = base.execute(f"SELECT * FROM {quoted(table)}")
        names = [part[0] for part in rows.description]
        yield _lines([names], csv.QUOTE_ALL)
        start = 1
        while block := rows.fetchmany(AT_ONCE):
            yield _lines(
                [[_word(source, names, start + i, *c) for c in enumerate(r)] for i, r in enumerate(block)]
            )
            start += len(block)
    except sqlite3.Error as error:
        raise _sqlite_refusal(source, error) from None
    finally:
        base.close()


def duckdb_pieces(source: Source, rows: int) -> Iterator[tuple[Columns, int]]:
    """(columns, how many rows they have), ``rows`` at most; a table without a row is one piece without rows."""
    import pyarrow as pa

    from separatrix.tables.formats.arrow import columns_of_arrow

    package = _duckdb_package()
    base = _duckdb(source)
    empty = True
    try:
        table = _chosen(source, _duckdb_names(source, base))
        path = ".".join(map(quoted, table.split("."))) if "." in table else quoted(table)
        made = base.sql(f"SELECT * FROM {path}")
        reader = (getattr(made, "to_arrow_reader", None) or made.fetch_arrow_reader)(rows)  # the older name
        for batch in reader:
            whole = pa.Table.from_batches([batch])
            for at in range(0, len(whole), rows):
                piece, empty = whole.slice(at, rows), False
                yield columns_of_arrow(source, piece), len(piece)
        if empty:
            yield columns_of_arrow(source, reader.schema.empty_table()), 0
    except TableError:
        raise
    except (package.Error, pa.ArrowException) as error:
        raise _duckdb_refusal(source, error) from None
    finally:
        base.close()


def duckdb_columns(source: Source) -> Columns:
    """All columns of the table at once."""
    import pyarrow as pa

    from separatrix.tables.formats.arrow import columns_of_arrow

    package = _duckdb_package()
    base = _duckdb(source)
    try:
        table = _chosen(source, _duckdb_names(source, base))
        path = ".".join(map(quoted, table.split("."))) if "." in table else quoted(table)
        return columns_of_arrow(source, base.sql(f"SELECT * FROM {path}").to_arrow_table())
    except TableError:
        raise
    except (package.Error, pa.ArrowException) as error:
        raise _duckdb_refusal(source, error) from None
    finally:
        base.close()


def _names(source: Source) -> list[str]:
    """The tables and views of a database."""
    sqlite = source.format == "sqlite"
    base = _sqlite(source) if sqlite else _duckdb(source)
    try:
        return _sqlite_names(source, base) if sqlite else _duckdb_names(source, base)
    finally:
        base.close()


def _chosen(source: Source, names: list[str]) -> str:
    """The table that the source names, or the only one."""
    there = and_more([repr(name) for name in names], MOST_NAMED)
    if not names:
        raise source.refuse("the database holds no table; give one that does")
    if not source.part:
        if len(names) > 1:
            raise source.refuse(f"the database holds {there}; name one by {source.path}::{names[0]}")
        return names[0]
    asked = source.part.removeprefix("main.") if source.part not in names else source.part
    same = [name for name in names if name == asked]
    same = same or [name for name in names if name.casefold() == asked.casefold()]
    if not same:
        raise source.refuse(f"no table is called {source.part!r}; there are {there}")
    return same[0]


# ---- SQLite ----


def _sqlite(source: Source) -> sqlite3.Connection:
    if source.packed:
        raise source.refuse("a database packed by gzip; unpack it")
    place = quote(str(source.path.resolve()))
    try:
        return sqlite3.connect(f"file:{place}?mode=ro", uri=True, timeout=2.0, check_same_thread=False)
    except sqlite3.Error as error:
        raise _sqlite_refusal(source, error) from None


def _sqlite_names(source: Source, base: sqlite3.Connection) -> list[str]:
    asked = (
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_' "
        "ORDER BY name"
    )
    try:
        return [row[0] for row in base.execute(asked)]
    except sqlite3.Error as error:
        raise _sqlite_refusal(source, error) from None


def _sqlite_refusal(source: Source, error: sqlite3.Error) -> TableError:
    said = str(error).rstrip(".")
    if "locked" in said or "busy" in said:
        return source.refuse("another program is writing to the database; try again when it is done")
    if "unable to open" in said:
        return source.refuse("cannot be opened; its permissions, or those of its folder, may forbid it")
    if "not a database" in said or "malformed" in said or "encrypted" in said:
        return source.refuse(f"the database is damaged ({said}); get the file again")
    return source.refuse(f"the database says: {said}; mend the table or the view")


def _word(source: Source, names: list[str], row: int, j: int, cell: Any) -> str:
    """A cell as CSV spells it; NULL is empty."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, bytes):
        raise source.refuse(
            f"column {names[j]!r} holds bytes in row {row:,}; a cell is a number or a word: "
            "leave the column out, by a view"
        )
    return str(cell)


def _lines(rows: list[list[str]], quoting: Any = csv.QUOTE_MINIMAL) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", quoting=quoting).writerows(rows)
    return out.getvalue().encode("utf-8", "replace")


# ---- DuckDB ----


def _duckdb_package() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ImportError('DuckDB files need duckdb: pip install "separatrix[duckdb]"') from None
    return duckdb


def _duckdb(source: Source) -> Any:
    package = _duckdb_package()
    if source.packed:
        raise source.refuse("a database packed by gzip; unpack it")
    try:
        return package.connect(str(source.path), read_only=True)
    except package.Error as error:
        raise _duckdb_refusal(source, error) from None


def _duckdb_names(source: Source, base: Any) -> list[str]:
    """Tables and views; those of the schema main by their name alone."""
    asked = (
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_catalog = current_database() ORDER BY table_schema <> 'main', 1, 2"
    )
    return [name if home == "main" else f"{home}.{name}" for home, name in base.execute(asked).fetchall()]


def _duckdb_refusal(source: Source, error: Exception) -> TableError:
    said = str(error).split("\n")[0].rstrip(".")[:160]
    if re.search(r"\b(un)?lock", said) or "with a different configuration" in said:
        return source.refuse("another program has the database open; close it there")
    if "version" in said.lower():
        return source.refuse(f"written by another version of DuckDB ({said}); export the table as Parquet")
    return source.refuse(f"the database cannot be read ({said}); get the file again, or export it as Parquet")
