"""Excel workbooks: the same care as CSV, sheets by name, and what is refused."""

import datetime
import zipfile

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
openpyxl = pytest.importorskip("openpyxl")

from separatrix.tables.chunks import chunks_as_written, read_chunks  # noqa: E402
from separatrix.tables.formats.sheets import write_rows  # noqa: E402
from separatrix.tables.read import read  # noqa: E402
from separatrix.tables.sources import TableError, parted  # noqa: E402

DAY = datetime.datetime(2024, 1, 31)


def book(path, **sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def rows(n=30):
    """Dates, numbers as text with gaps, codes that begin with 0, numbers, classes."""
    day = datetime.timedelta(days=1)
    body = [
        [DAY + i * day, None if i % 7 == 0 else str(i * 1.5), f"{i % 9:03d}", i * i, "ab"[i % 2]]
        for i in range(n)
    ]
    return [["when", "text", "code", "n", "y"], *body]


def test_a_sheet_reads_as_the_same_table_in_csv(tmp_path):
    path = book(tmp_path / "b.xlsx", Data=rows())
    table = read(path, target="y")
    csv = tmp_path / "b.csv"
    pd.DataFrame(rows()[1:], columns=rows()[0]).to_csv(csv, index=False)
    same = read(csv, target="y")
    pd.testing.assert_frame_equal(table.frame, same.frame)
    assert table.kinds == same.kinds and (table.labels == same.labels).all()
    assert table.kinds["when"] == "date" and table.frame["code"].iloc[1] == "001"
    assert table.frame["text"].isna().sum() == 5


def test_numbers_come_back_as_the_workbook_holds_them(tmp_path):
    values = np.random.default_rng(0).normal(size=40) * 10.0 ** np.arange(-20, 20)
    path = book(tmp_path / "b.xlsx", D=[["x", "y"], *([float(v), "ab"[i % 2]] for i, v in enumerate(values))])
    held = [float(f"{v:.16g}") for v in values]  # openpyxl writes sixteen digits
    assert (read(path, target="y").frame["x"] == held).all()


def test_a_time_of_day_anywhere_is_kept_everywhere(tmp_path):
    body = [[DAY + datetime.timedelta(hours=12 * i), "ab"[i % 2]] for i in range(20)]
    table = read(book(tmp_path / "b.xlsx", D=[["t", "y"], *body]), target="y")
    assert table.kinds["t"] == "date"
    assert table.frame["t"].tolist() == [pd.Timestamp(row[0]) for row in body]


def test_sheets_by_name_and_the_first_by_default(tmp_path):
    other = [["z", "y"], *[[i % 4, "uv"[i % 2]] for i in range(20)]]
    path = book(tmp_path / "b.xlsx", First=rows(), Second=other)
    first = read(path, target="y")
    assert "n" in first.kinds and any("'First', 'Second': 'First' was read" in note for note in first.notes)
    second = read(f"{path}::second", target="y")
    assert list(second.kinds) == ["z"] and not any("sheets" in note for note in second.notes)
    with pytest.raises(TableError, match=r"no sheet is called 'Third'; there are 'First', 'Second'"):
        read(f"{path}::Third")


def test_pieces_are_read_as_in_training_and_kept_as_written(tmp_path):
    path = book(tmp_path / "b.xlsx", D=rows(50))
    table = read(path, target="y")
    pieces = list(read_chunks(path, table.schema, rows=20, extra=False))
    assert [len(piece) for piece in pieces] == [20, 20, 10]
    whole = pd.concat(pieces)
    for name in table.frame:
        assert whole[name].astype(str).tolist() == table.frame[name].astype(str).tolist() or name == "n"
    assert (whole["n"].to_numpy() == table.frame["n"].to_numpy()).all()
    _, written = next(chunks_as_written(path, table.schema, rows=20))
    assert (
        written["code"].to_pylist()[:2] == ["000", "001"] and written["when"].to_pylist()[0] == "2024-01-31"
    )


def test_a_csv_model_reads_a_workbook_and_back(tmp_path):
    csv = tmp_path / "b.csv"
    pd.DataFrame(rows()[1:], columns=rows()[0]).to_csv(csv, index=False)
    table = read(csv, target="y")
    pieces = list(read_chunks(book(tmp_path / "b.xlsx", D=rows()), table.schema, extra=False))
    pd.testing.assert_frame_equal(pd.concat(pieces), table.frame, check_index_type=False, check_dtype=False)


def test_what_is_odd_is_said(tmp_path):
    body = rows(12)
    path = book(tmp_path / "b.xlsx", D=[*body[:4], [], [None, " "], *body[4:]])
    assert any("2 empty rows were left out" in note for note in read(path, target="y").notes)
    blank = [[*body[0][:3], None, "y"], *body[1:]]
    noted = read(book(tmp_path / "c.xlsx", D=blank), target="y")
    assert "column 4" in noted.kinds and any("without a name" in note for note in noted.notes)
    formulas = [["x", "sum", "y"], *[[i, f"=A{i + 2}*2", "ab"[i % 2]] for i in range(12)]]
    noted = read(book(tmp_path / "d.xlsx", D=formulas), target="y")
    assert any("formulas of 'sum' were saved without values" in note for note in noted.notes)
    made = openpyxl.load_workbook(path)
    made["D"].merge_cells("C3:C4")
    made.save(tmp_path / "e.xlsx")
    assert any("1 range of cells is merged" in note for note in read(tmp_path / "e.xlsx", target="y").notes)


REFUSED = {
    "an empty sheet": ({"D": []}, "the sheet 'D' is empty"),
    "names alone": ({"D": [["x", "y"]]}, "no row below them"),
    "names twice": ({"D": [["x", "y", "x"], *[[1, "a", 2]] * 5]}, "more than one column is called 'x'"),
    "no names": ({"D": [[5.1, "a"], *[[i, "a"] for i in range(9)]]}, "first line looks like data"),
    "a title": ({"D": [["Report", None, None], ["x", "z", "y"], *[[i, i, "a"] for i in range(9)]]}, "line of names"),
    "two rows of names": (
        {"D": [["Size", None, "Answer"], ["width", "height", "y"], *[[i, i, "a"] for i in range(9)]]},
        r"rows 1 and 2 both look like names \('width' stands below 'Size'\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, tmp_path):
    sheets, said = REFUSED[name]
    with pytest.raises(TableError, match=said):
        read(book(tmp_path / "b.xlsx", **sheets), target="y")


def test_files_that_are_no_workbook(tmp_path):
    (tmp_path / "text.xlsx").write_text("x,y\n1,a\n")
    with pytest.raises(TableError, match="not a workbook"):
        read(tmp_path / "text.xlsx")
    (tmp_path / "old.xlsx").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(100))
    with pytest.raises(TableError, match="old Office file, or one with a password"):
        read(tmp_path / "old.xlsx")
    whole = book(tmp_path / "b.xlsx", D=rows()).read_bytes()
    (tmp_path / "cut.xlsx").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TableError, match="the workbook is damaged"):
        read(tmp_path / "cut.xlsx")
    with zipfile.ZipFile(tmp_path / "other.xlsx", "w") as archive:
        archive.writestr("t.csv", "x,y\n1,a\n")
    with pytest.raises(TableError, match="the workbook is damaged"):
        read(tmp_path / "other.xlsx")
    (tmp_path / "plain.csv").write_text("x,y\n1,a\n")
    with pytest.raises(TableError, match="holds one table; leave out ::two"):
        read(f"{tmp_path / 'plain.csv'}::two")
    with pytest.raises(TableError, match="no such file"):
        read(f"{tmp_path / 'absent.xlsx'}::two")
    with pytest.raises(TableError, match="a workbook has no delimiter"):
        read(tmp_path / "b.xlsx", delimiter=";")


def test_a_workbook_without_its_name_is_known(tmp_path):
    path = book(tmp_path / "b.xlsx", D=rows())
    path = path.rename(tmp_path / "table.data")
    assert len(read(path, target="y")) == 30


def test_a_file_that_has_the_mark_in_its_name_comes_first(tmp_path):
    path = tmp_path / "odd::name.csv"
    path.write_text("x,y\n" + "1,a\n2,b\n" * 5)
    assert parted(path) == (path, "") and len(read(path, target="y")) == 10


def test_written_rows_come_back(tmp_path):
    path = tmp_path / "out.xlsx"
    write_rows(path, [[["n", 1, 2.5], ["w", "=A1", "007"], ["d", DAY, None]], [[3], ["x"], [DAY]]])
    cells = list(openpyxl.load_workbook(path).active.iter_rows(values_only=True))
    assert cells == [("n", "w", "d"), (1, "=A1", DAY), (2.5, "007", None), (3, "x", DAY)]
    assert openpyxl.load_workbook(path).active["B2"].data_type == "s"
    with pytest.raises(TableError, match="row 2 holds a control character"):
        write_rows(tmp_path / "bad.xlsx", [[["n", "a\x00"]]])
