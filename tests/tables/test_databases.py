"""Tables of SQLite and DuckDB: read as CSV is, in pieces, and what is refused."""

import sqlite3

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from separatrix.tables.chunks import chunks_as_written, read_chunks  # noqa: E402
from separatrix.tables.read import read  # noqa: E402
from separatrix.tables.sources import TableError  # noqa: E402

N = 230


def frame():
    i = np.arange(N)
    return pd.DataFrame(
        {
            "x": np.where(i % 11 == 0, np.nan, np.sin(i) * 10.0 ** (i % 9)),
            "n": i % 40,
            "word": [None if k % 7 == 0 else ["a, b", 'say "so"', "two\nlines"][k % 3] for k in i],
            "#code": [f"{k % 50:03d}" for k in i],
            "y": ["no" if k % 2 else "yes" for k in i],
        }
    )


@pytest.fixture
def sqlite_file(tmp_path):
    path = tmp_path / "shop.db"
    base = sqlite3.connect(path)
    frame().to_sql("my orders", base, index=False)
    base.execute('CREATE VIEW few AS SELECT x, n, y FROM "my orders" WHERE n < 20')
    base.execute("CREATE TABLE empty (a, b)")
    base.execute("CREATE TABLE bytes (a, y)")
    base.execute("INSERT INTO bytes VALUES (x'00ff', 'a')")
    base.commit()
    base.close()
    return path


@pytest.fixture
def duckdb_file(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "shop.duckdb"
    base = duckdb.connect(str(path))
    base.register("given", frame())
    base.execute(
        "CREATE TABLE \"my orders\" AS SELECT *, DATE '2024-01-01' + CAST(n AS INTEGER) AS day, n > 20 AS big, "
        "CAST(n AS DECIMAL(9, 2)) AS price FROM given"
    )
    base.execute('CREATE VIEW few AS SELECT x, n, y FROM "my orders" WHERE n < 20')
    base.execute("CREATE TABLE lists AS SELECT [1, 2] AS a, 'a' AS y")
    base.execute("CREATE TABLE empty (a INTEGER, y TEXT)")
    base.execute("CREATE SCHEMA side")
    base.execute("CREATE TABLE side.other AS SELECT n, y FROM given")
    base.close()
    return path


def test_a_table_of_sqlite_reads_as_the_same_in_csv(sqlite_file, tmp_path):
    table = read(f"{sqlite_file}::my orders", target="y")
    csv = tmp_path / "t.csv"
    frame().rename(columns={"#code": "code"}).to_csv(csv, index=False)
    same = read(csv, target="y")
    assert list(table.kinds) == ["x", "n", "word", "#code"]
    assert list(table.kinds.values()) == list(same.kinds.values())
    for name in ("x", "n", "word"):
        pd.testing.assert_series_equal(table.frame[name], same.frame[name])
    assert table.frame["#code"].tolist() == frame()["#code"].tolist()
    assert len(read(f"{sqlite_file}::few", target="y")) == int((frame().n < 20).sum())  # a view


def test_pieces_of_sqlite(sqlite_file):
    name = f"{sqlite_file}::my orders"
    table = read(name, target="y")
    pieces = list(read_chunks(name, table.schema, rows=100, extra=False))
    assert [len(piece) for piece in pieces] == [100, 100, 30]
    pd.testing.assert_frame_equal(pd.concat(pieces), table.frame, check_index_type=False, check_dtype=False)
    written = [
        w for _, cells in chunks_as_written(name, table.schema, rows=100) for w in cells["y"].to_pylist()
    ]
    assert written == frame().y.tolist()


def test_a_table_of_duckdb_and_its_pieces(duckdb_file):
    name = f"{duckdb_file}::my orders"
    table = read(name, target="y")
    assert np.array_equal(table.frame["x"], frame().x, equal_nan=True)
    assert table.kinds["day"] == "date" and table.frame["price"].tolist() == frame().n.tolist()
    pieces = list(read_chunks(name, table.schema, rows=100, extra=False))
    assert [len(piece) for piece in pieces] == [100, 100, 30]
    pd.testing.assert_frame_equal(pd.concat(pieces), table.frame, check_index_type=False, check_dtype=False)
    assert len(read(f"{duckdb_file}::side.other", target="y")) == N
    assert len(read(f"{duckdb_file}::FEW", target="y")) == int((frame().n < 20).sum())


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_missing_table_names_those_that_exist(kind, request):
    path = request.getfixturevalue(f"{kind}_file")
    with pytest.raises(
        TableError, match=r"no table is called 'orders'; there are .*'empty', 'few'.*'my orders'"
    ):
        read(f"{path}::orders")
    with pytest.raises(TableError, match=r"the database holds .*; name one by"):
        read(path)
    with pytest.raises(TableError, match="no row below them"):
        read(f"{path}::empty")
    with pytest.raises(TableError, match="have names; leave out header"):
        read(f"{path}::few", header=False)
    with pytest.raises(TableError, match="has no delimiter"):
        read(f"{path}::few", delimiter=";")


def test_cells_that_are_none(sqlite_file, duckdb_file):
    with pytest.raises(TableError, match="column 'a' holds bytes in row 1"):
        read(f"{sqlite_file}::bytes")
    with pytest.raises(TableError, match="column 'a' is"):
        read(f"{duckdb_file}::lists")


def test_a_database_that_another_program_writes(sqlite_file):
    other = sqlite3.connect(sqlite_file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(TableError, match="another program is writing"):
            read(f"{sqlite_file}::few", target="y")
    finally:
        other.close()
    assert len(read(f"{sqlite_file}::few", target="y"))


def test_files_that_are_no_database(tmp_path, sqlite_file):
    (tmp_path / "text.db").write_text("x,y\n1,a\n")
    with pytest.raises(TableError, match="not a database that sqlite wrote"):
        read(tmp_path / "text.db")
    whole = sqlite_file.read_bytes()
    (tmp_path / "cut.db").write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    with pytest.raises(TableError, match="the database is damaged"):
        read(f"{tmp_path / 'cut.db'}::few")
    (tmp_path / "cut.duckdb").write_bytes(bytes(8) + b"DUCK" + bytes(5000))
    pytest.importorskip("duckdb")
    with pytest.raises(TableError, match=r"cannot be read|another version"):
        read(f"{tmp_path / 'cut.duckdb'}::few")


def test_the_only_table_needs_no_name(tmp_path):
    base = sqlite3.connect(tmp_path / "one.sqlite")
    frame().to_sql("t", base, index=False)
    base.commit()
    base.close()
    table = read(tmp_path / "one.sqlite", target="y")
    assert "the only table, 't', was read" in table.notes and len(table) == N


def test_a_column_of_gaps_alone_keeps_its_rows(tmp_path):
    base = sqlite3.connect(tmp_path / "one.db")
    pd.DataFrame({"y": ["a", None, "", "b"]}).to_sql("t", base, index=False)
    base.commit()
    base.close()
    schema = read(pd.DataFrame({"y": ["a", "b"]})).schema
    assert [len(p) for p in read_chunks(tmp_path / "one.db", schema)] == [4]
