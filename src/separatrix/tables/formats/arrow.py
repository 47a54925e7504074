"""Parquet and Arrow files:  columns that say what they are.

Gives (columns, notes): a column's cells are an Arrow array of strings where they still have to be understood
(cells.py), or a pandas Series where the file says what they are. Cost: one pass over the bytes.
"""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np

from separatrix.tables.sources import LIMIT, Columns, Source, TableError


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
