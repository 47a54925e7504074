"""A file in pieces: cells as they are written beside what they mean, and the way back to lines."""

import csv
import io

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from separatrix.tables.chunks import chunks_as_written, read_chunks  # noqa: E402
from separatrix.tables.delimited import lines  # noqa: E402
from separatrix.tables.read import read  # noqa: E402
from separatrix.tables.sources import TableError  # noqa: E402

cells = st.one_of(
    st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=6), st.text(',;\t"\r\n ab')
)


@given(
    st.integers(2, 4).flatmap(lambda p: st.lists(st.tuples(*[cells] * p), max_size=8)),
    st.sampled_from(",\t;|"),
)
def test_lines_are_read_back_by_the_csv_module(rows, delimiter):
    columns = [list(c) for c in zip(*rows)] if rows else [[], []]
    text = lines(columns, delimiter)
    again = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    assert again == [[c or "" for c in row] for row in rows]


@given(st.lists(st.tuples(cells, cells), min_size=3, max_size=9), st.data())
def test_lines_of_slices_and_chunks(rows, data):
    a = data.draw(st.integers(0, len(rows)))
    b = data.draw(st.integers(a, len(rows)))
    columns = [pa.array(c, pa.string()) for c in zip(*rows)]
    expected = lines([c.to_pylist()[a:b] for c in columns], ",")
    assert lines([c.slice(a, b - a) for c in columns], ",") == expected
    halves = [pa.chunked_array([c.slice(0, a), c.slice(a)]) for c in columns]
    assert lines(halves, ",") == lines([c.to_pylist() for c in columns], ",")


def test_cells_as_written_beside_what_they_mean(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f'{i:03d}, {i / 7:.9f} ,"a ""{i % 3}"", b",1{i % 10}.01.2024,{"uv"[i % 2]}' for i in range(60)]
    path.write_text("\n".join(["n,x,w,d,y", *rows]) + "\n")
    table = read(path, target="y", kinds={"w": "nominal"})
    pieces = list(chunks_as_written(path, table.schema, rows=25))
    assert [len(frame) for frame, _ in pieces] == [25, 25, 10]
    made = pd.concat([frame for frame, _ in pieces])
    pd.testing.assert_frame_equal(
        made, pd.concat(read_chunks(path, table.schema, rows=60, extra=False)), check_dtype=False
    )
    written = {name: [w for _, c in pieces for w in c[name].to_pylist()] for name in pieces[0][1]}
    assert list(written) == ["n", "x", "w", "d", "y"]
    assert written["n"][:2] == ["000", "001"] and written["x"][1] == " 0.142857143 "
    assert written["w"][4] == 'a "1", b' and written["d"][3] == "13.01.2024"


def test_dates_of_training_as_time_stamps_later(tmp_path):
    days = pd.date_range("2020-01-01", periods=40, freq="5D")
    frame = pd.DataFrame({"d": days, "x": np.arange(40.0), "y": ["u", "v"] * 20})
    frame.assign(d=days.strftime("%d.%m.%Y")).to_csv(tmp_path / "t.csv", index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True, date_format="iso")
    table = read(tmp_path / "t.csv", target="y")
    assert table.kinds["d"] == "date"
    piece = next(read_chunks(tmp_path / "t.jsonl", table.schema))
    assert (
        piece["d"].to_numpy(dtype="datetime64[D]").tolist() == days.to_numpy(dtype="datetime64[D]").tolist()
    )


@pytest.mark.parametrize(
    "letters, encoding", [("é", "utf-8"), ("é€", "cp1252"), ("漢字", "utf-8"), ("aé", "latin-1")]
)
@pytest.mark.parametrize("at", [3, 40_000, 44_998])
def test_letters_beyond_ascii_anywhere_in_a_long_file(letters, encoding, at, tmp_path):
    rows = [f"{i},word{i % 5},{'uv'[i % 2]}" for i in range(45_000)]
    rows[at] = f"{at},{letters},u"
    path = tmp_path / "t.csv"
    path.write_bytes("\n".join(["x,w,y", *rows, ""]).encode(encoding))
    schema = read(good(tmp_path), target="y").schema
    found = pd.concat(read_chunks(path, schema, rows=20_000))
    assert (
        len(found) == 45_000
        and found["w"].iloc[at] == letters
        and found["w"].iloc[at - 1] == f"word{(at - 1) % 5}"
    )


def test_letters_of_two_encodings_are_refused(tmp_path):
    rows = [f"{i},word{i % 5},{'uv'[i % 2]}" for i in range(600_000)]
    rows[3] = "3,é,u"
    path = tmp_path / "t.csv"
    path.write_bytes("\n".join(["x,w,y", *rows]).encode() + b"\n7,\xe9,v\n")
    with pytest.raises(TableError, match="others are not; save the whole file as UTF-8"):
        list(read_chunks(path, read(good(tmp_path), target="y").schema))


def test_a_mark_never_closed_loses_no_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x,w,y\n1,a,u\n2,b,"v\n3,a,u\n4,b,v\n')
    with pytest.raises(TableError, match="never closed"):
        list(read_chunks(path, read(good(tmp_path), target="y").schema))


def good(folder):
    path = folder / "good.csv"
    path.write_text("x,w,y\n" + "".join(f"{i},word{i % 5},{'uv'[i % 2]}\n" for i in range(60)))
    return path


@pytest.mark.parametrize("header", [True, False])
def test_names_that_look_like_numbers_of_columns(header, tmp_path):
    lines = [f"{i},{i % 3}.5,{'uv'[i % 2]}" for i in range(40)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["c1,c2,c3", *lines] if header else lines) + "\n")
    table = read(path, target="c3", header=header)
    piece = next(read_chunks(path, table.schema))
    assert len(piece) == 40 and piece["c1"].tolist() == list(range(40))


def test_names_of_rows_as_r_writes_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"x" "y"\n' + "".join(f'"{i + 1}" {i % 7} "{"uv"[i % 2]}"\n' for i in range(40)))
    table = read(path, target="y", delimiter=" ")
    assert list(table.frame.columns) == ["row", "x"] and table.frame["x"].tolist() == [
        i % 7 for i in range(40)
    ]
    assert any("one cell more in every row" in note for note in table.notes)
    piece = next(read_chunks(path, table.schema, delimiter=" "))
    assert piece["x"].tolist() == table.frame["x"].tolist()
