"""A file of thirty rows."""

import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
import pyarrow.feather  # noqa: E402
import pyarrow.parquet  # noqa: E402, F401

ROWS = "".join(f"{i},{'ab'[i % 2]},{i * 1.5}\n" for i in range(1, 31))
GOOD = "n,y,x\n" + ROWS
SVM = "1 1:2\n0 2:3\n"


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def many(cells, header="n,y,x\n"):
    """Thirty rows: number, class, and a cell of the list in turn."""
    return header + "".join(f"{i * i},{'ab'[i % 2]},{cells[i % len(cells)]}\n" for i in range(30))


def parquet(frame):
    out = pa.BufferOutputStream()
    pa.parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), out)
    return out.getvalue().to_pybytes()


def feather(frame):
    out = pa.BufferOutputStream()
    pa.feather.write_feather(frame, out)
    return out.getvalue().to_pybytes()
