"""Files as people have them: what is read, and what is noted."""

import contextlib
import gzip
import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
import pyarrow.feather  # noqa: E402
import pyarrow.parquet  # noqa: E402, F401

from separatrix.tables.chunks import read_chunks  # noqa: E402
from separatrix.tables.read import BUNDLED, read  # noqa: E402
from separatrix.tables.sources import TableError  # noqa: E402
from separatrix.tables.table import Schema, Table  # noqa: E402
from tests.tables.written import GOOD, ROWS, SVM, feather, many, parquet, write  # noqa: E402


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 60
    return pd.DataFrame(
        {
            "size": rng.normal(size=n).round(3),
            "legs": rng.integers(0, 5, n),
            "colour": pd.Series(rng.choice(["red", "green", "blue"], n), dtype="str"),
            "y": pd.Series(rng.choice(["cat", "dog"], n), dtype="str"),
        }
    )


def csv(frame, sep=","):
    return frame.to_csv(index=False, sep=sep).encode()


def arrow(frame):
    table, out = pa.Table.from_pandas(frame, preserve_index=False), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as sink:
        sink.write_table(table)
    return out.getvalue().to_pybytes()


def arff(frame):
    head = "@relation r\n@attribute size numeric\n@attribute 'legs' integer\n"
    head += "@attribute colour {red, green, 'blue'}\n@ATTRIBUTE y {cat,dog}\n% said\n@data\n"
    return (head + frame.to_csv(index=False, header=False)).encode()


WRITERS = {
    "t.csv": csv,
    "t.tsv": lambda f: csv(f, "\t"),
    "semicolon.csv": lambda f: csv(f, ";"),
    "bar.txt": lambda f: csv(f, "|"),
    "t.jsonl": lambda f: f.to_json(orient="records", lines=True).encode(),
    "array.json": lambda f: f.to_json(orient="records").encode(),
    "t.arff": arff,
    "t.parquet": parquet,
    "t.feather": feather,
    "t.arrow": arrow,
    "nameless": csv,
    "wrongly-named.csv": parquet,
    "crlf.csv": lambda f: csv(f).replace(b"\n", b"\r\n"),
    "mac.csv": lambda f: csv(f).replace(b"\n", b"\r"),
    "mark.csv": lambda f: b"\xef\xbb\xbf" + csv(f),
    "utf16.csv": lambda f: csv(f).decode().encode("utf-16"),
    "quoted.csv": lambda f: f.to_csv(index=False, quoting=1).encode(),
    "spaced.csv": lambda f: csv(f).replace(b",", b" , "),
    "excel.csv": lambda f: b"sep=;\r\n" + csv(f, ";"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(name, packed, frame, tmp_path):
    content = WRITERS[name](frame)
    path = write(tmp_path / (name + ".gz" * packed), gzip.compress(content) if packed else content)
    table = read(path, target="y")
    assert table.labels.tolist() == frame["y"].tolist()
    assert table.kinds == {"size": "continuous", "legs": "discrete", "colour": "nominal"}
    assert table.frame["size"].tolist() == frame["size"].tolist()
    assert table.frame["legs"].tolist() == frame["legs"].tolist()
    assert table.frame["colour"].astype(str).tolist() == frame["colour"].tolist()
    assert table.rows.tolist() == list(range(1, 61))
    pieces = list(read_chunks(path, table.schema, rows=25))
    assert [len(piece) for piece in pieces] == [25, 25, 10]
    joined = pd.concat(pieces)
    assert joined.index.tolist() == list(range(60))
    assert "y" in joined  # what the schema does not know is kept
    for column in ("size", "legs"):
        assert joined[column].tolist() == frame[column].tolist()
    assert joined["colour"].astype(str).tolist() == frame["colour"].tolist()


def test_schema_survives_json(frame, tmp_path):
    schema = read(write(tmp_path / "t.csv", csv(frame)), target="y").schema
    made = schema.to_dict()
    assert Schema.from_dict(json.loads(json.dumps(made))) == schema
    assert Schema.from_dict({**made, "readings": json.loads(made["readings"])}) == schema


def test_a_table_trained_on_parquet_is_read_alike_from_csv(frame, tmp_path):
    dated = frame.assign(day=pd.date_range("2024-01-01", periods=60), flag=frame["legs"] > 2)
    table = read(write(tmp_path / "t.parquet", parquet(dated)), target="y")
    piece = next(read_chunks(write(tmp_path / "t.csv", csv(dated)), table.schema))
    assert piece["day"].tolist() == dated["day"].tolist()
    assert piece["flag"].astype(bool).tolist() == dated["flag"].tolist()


def test_svmlight(tmp_path):
    path = write(tmp_path / "t.svm", "+1 1:0.5 3:2\n-1 2:1 # said\n+1 1:1\n")
    table = read(path)
    assert table.labels.tolist() == [1, -1, 1]
    assert table.frame.to_numpy().tolist() == [[0.5, 0, 2], [0, 1, 0], [1, 0, 0]]
    short = write(tmp_path / "later.svm", "0 1:1\n")
    assert next(read_chunks(short, table.schema))[["x1", "x2", "x3"]].to_numpy().tolist() == [[1, 0, 0]]


def test_a_wide_svmlight_file_stays_sparse(tmp_path):
    table = read(write(tmp_path / "t.svm", "1 1:1\n0 5000:2\n" * 20))
    assert isinstance(table.frame["x1"].dtype, pd.SparseDtype) and table.frame.shape == (40, 5000)


def test_folders_are_labels(tmp_path):
    for label, words in (("spam", "buy now"), ("ham", "see you")):
        (tmp_path / label / "deep").mkdir(parents=True)
        for i in range(3):
            write(tmp_path / label / f"{i}.txt", f"{words} {i}")
        (tmp_path / label / "deep" / "9.gz").write_bytes(gzip.compress(words.encode()))
    write(tmp_path / "README", "not a document")
    table = read(tmp_path)
    assert table.target == "label" and sorted(set(table.labels)) == ["ham", "spam"] and len(table) == 8
    assert any("README" in note for note in table.notes)


def test_labels_and_texts_without_names(tmp_path):
    lines = ['ham\tSo "quoted once', "spam\tBuy\u2028 now!", "ham\tsee you", "spam\tbuy, buy"] * 5
    table = read(write(tmp_path / "sms.txt", "\n".join(lines) + "\n"))
    assert table.target == "label" and len(table) == 20
    assert table.frame["text"][0] == 'So "quoted once'


def test_one_document(tmp_path):
    table = read(
        write(tmp_path / "mail.txt", "Dear all,\nplease find, as said,\nnothing.\n"), format="document"
    )
    assert len(table) == 1 and table.frame["text"][0].startswith("Dear all")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_names(name):
    table = read(name)
    assert isinstance(table, Table) and table.labels is not None and len(set(table.labels.tolist())) > 1


def test_a_frame_is_a_source(frame):
    polars = pytest.importorskip("polars")
    for given in (frame, polars.from_pandas(frame)):
        assert read(given, target="y").kinds == {
            "size": "continuous",
            "legs": "discrete",
            "colour": "nominal",
        }


def test_streamed_and_whole_reading_agree_on_missing_and_dates(tmp_path):
    text = "d,v,w,y\n" + "".join(
        f'{i % 28 + 1:02d}.03.2024,"{i},5",{["?", "u", "v"][i % 3]},{i % 2}\n' for i in range(50)
    )
    path = write(tmp_path / "t.csv", text)
    table = read(path, target="y")
    joined = pd.concat(read_chunks(path, table.schema, rows=7))
    assert table.kinds["d"] == "date" and table.kinds["v"] == "continuous"
    for name in table.frame:
        pd.testing.assert_series_equal(table.frame[name], joined[name], check_dtype=False)


def test_chunks_name_the_columns_that_are_missing(tmp_path):
    schema = read(write(tmp_path / "a.csv", GOOD), target="y").schema
    with pytest.raises(TableError, match="lacks 'x', and has 'X'"):
        list(read_chunks(write(tmp_path / "b.csv", GOOD.replace("n,y,x", "n,y,X")), schema))


def test_ragged_rows_and_a_bomb_are_refused_in_pieces(tmp_path):
    schema = read(write(tmp_path / "a.csv", GOOD), target="y").schema
    pieces = read_chunks(write(tmp_path / "b.csv", GOOD + "1,a\n"), schema, rows=10)
    with pytest.raises(TableError, match="row 31 below the names has 2 cells where the names have 3"):
        list(pieces)
    packed = gzip.compress(GOOD.encode() + b"0,a,0\n" * (20 << 20), compresslevel=9)
    with pytest.raises(TableError, match="unpack to more than"):
        for _ in read_chunks(write(tmp_path / "c.csv.gz", packed), schema):
            pass


def test_chunks_name_the_cell_that_is_no_number(tmp_path):
    schema = read(write(tmp_path / "a.csv", GOOD), target="y").schema
    with pytest.raises(TableError, match="'x' holds 'much' in row 2"):
        list(read_chunks(write(tmp_path / "b.csv", "n,y,x\n1,a,2\n2,b,much\n"), schema))


@pytest.mark.parametrize("name", ["page.txt", "page", "page.md"])
def test_a_page_that_may_be_a_document_is_read_as_one(name, tmp_path):
    table = read(write(tmp_path / name, "<html>\n<body>buy, buy, buy</body>\n</html>\n"))
    assert len(table) == 1 and "buy" in table.frame["text"][0]
    with pytest.raises(TableError, match=r"no table was found in it.*delimiter="):
        read(tmp_path / name, target="text")


def test_a_function_picks_the_target_and_the_file_is_read_once(tmp_path, monkeypatch):
    from separatrix.tables import load

    opened, open_source = [], load.open_source
    monkeypatch.setattr(load, "open_source", lambda *a: opened.append(a) or open_source(*a))
    path = write(tmp_path / "t.csv", GOOD)
    table = read(path, target=lambda names: names[1])
    assert table.target == "y" and len(opened) == 1
    assert (
        read("iris", target=lambda names: "petal width (cm)").target == "species"
    )  # the source names its own
    with pytest.raises(TableError, match="no column is called ''"):
        read(path, target="")


def test_whole_numbers_are_classes_where_each_has_rows(tmp_path):
    text = "x,y\n" + "".join(f"{i % 7},{i % 200}\n" for i in range(4000))
    assert len(set(read(write(tmp_path / "t.csv", text), target="y").labels.tolist())) == 200
    words = text.replace("x,y\n", "x,y\n").replace(",", ",c").replace("x,cy", "x,y")
    small = "\n".join(words.splitlines()[:601])
    assert len(set(read(write(tmp_path / "u.csv", small), target="y").labels.tolist())) == 200


def test_classes_that_differ_in_capitals_are_named(tmp_path):
    text = "x,y\n" + "".join(f"{i % 7},{['Yes', 'yes', 'No'][i % 3]}\n" for i in range(60))
    notes = read(write(tmp_path / "t.csv", text), target="y").notes
    assert [n for n in notes if "'Yes', 'yes' differ only in capitals" in n]
    assert not [n for n in read("iris").notes if "capitals" in n]


def test_a_folder_that_links_to_itself_is_read_once(tmp_path):
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        write(tmp_path / label / "1.txt", f"text of {label}")
        (tmp_path / label / "loop").symlink_to(tmp_path)
    assert len(read(tmp_path)) == 2


# name: (content, what a note must hold, what must be true of the table)
NOTED = {
    "latin.csv": (many(["grün", "blau"]).encode("latin-1"), "Windows-1252", lambda t: t.frame["x"][0] == "grün"),
    "utf16.csv": (many(["1", "2"]).encode("utf-16"), "UTF-16", lambda t: t.frame["x"].sum() == 45),
    "unmarked.csv": (many(["1", "2"]).encode("utf-16-le"), "UTF-16", lambda t: t.frame["x"].sum() == 45),
    "comments.csv": ("# made by\n# someone\n" + many(["1", "2"]), "comments", lambda t: len(t) == 30),
    "trailing.csv": (many(["1,", "2,"], "n,y,x,\n"), "ends in a delimiter", lambda t: list(t.frame) == ["n", "x"]),
    "trailing-rows.csv": (many(["1,", "2,"]), "ends in a delimiter", lambda t: t.frame["x"][1] == 2),
    "unnamed.csv": (many(["1", "2"], ",y,x\n"), "without a name", lambda t: "column 1" in t.kinds),
    "decimal.csv": (many(["1,5", "2,25"]).replace("x\n", "x\n").replace(",a,", ";a;").replace(",b,", ";b;")
                    .replace("n,y,x", "n;y;x"), "decimal comma", lambda t: t.frame["x"][1] == 2.25),
    "thousands.csv": (many(['"1,234"', '"1,234,567.5"']), "thousands", lambda t: t.frame["x"][1] == 1234567.5),
    "currency.csv": (many(["$5", "$7.5"]), "sign", lambda t: t.frame["x"][1] == 7.5),
    "percent.csv": (many(["5%", "7%"]), "sign", lambda t: t.frame["x"][1] == 7),
    "dashes.csv": (many(["1.5", "-", "2.5", "none"]), "read as missing", lambda t: t.frame["x"].isna().sum() == 15),
    "typo.csv": ("n,y,x\n" + "".join(f"{i * i},{'ab'[i % 2]},{i / 4 if i != 50 else '1O'}\n" for i in range(100)),
                 "spells no number (first: '1O' in row 51", lambda t: t.kinds["x"] == "continuous"),
    "mixed.csv": (many(["1", "two", "3"]), "'two' is no number while most", lambda t: t.kinds["x"] == "nominal"),
    "limits.csv": (many(["<0.5", "1.5", "2.5"]), "kinds={'x': 'continuous'}", lambda t: t.kinds["x"] == "nominal"),
    "spellings.csv": (many(["2024-02-28", "01.03.2024", "2024-02-28"]), "dates are spelled in several ways",
                      lambda t: t.kinds["x"] == "nominal"),
    "records.csv": ("".join(f'{{"x": {i * i}, "y": "{"ab"[i % 2]}"}}\n' for i in range(30)), "its content is jsonl",
                    lambda t: t.frame["x"][2] == 4),
    "impossible.csv": (many(["2024-02-28", "2024-02-30", "2024-02-28"]), "looks like dates",
                       lambda t: t.kinds["x"] == "nominal"),
    "codes.csv": (many(["01234", "98765"]), "code", lambda t: t.frame["x"][0] == "01234"),
    "levels.csv": ("n,y,x\n" + "".join(f"{i * i},{'ab'[i % 2]},w{i // 2}\n" for i in range(20_000)),
                   "10,000 levels", lambda t: t.kinds["x"] == "nominal"),
    "all-missing.csv": (many(["", "NA"]), "every cell is the same: 'x'", lambda t: t.kinds["x"] == "constant"),
    "target-gaps.csv": (many(["1", "2"]) + "5,,1\n", "1 row without a label", lambda t: len(t) == 30),
    "repeated.csv": ("n,y,x\n" + "1,a,2\n2,b,3\n" * 20, "38 rows repeat", lambda t: len(t) == 40),
    "tabs.csv": (many(["1", "2"]).replace(",", "\t"), "", lambda t: t.frame["x"].sum() == 45),
    "long.csv": (many(["w" * 100_000 + " end", "short words"]), "", lambda t: len(t.frame["x"][0]) == 100_004),
    "breaks.csv": (many(['"two\nlines"', "one"]), "line breaks", lambda t: t.frame["x"][0] == "two\nlines"),
    "not-packed.csv.gz": (many(["1", "2"]), "not packed", lambda t: len(t) == 30),
    "namibia.csv": (many(["NA", "DE", "FR", "GB", "ES", "IT"]), "two letters",
                    lambda t: t.frame["x"].isna().sum() == 0),
    "ambiguous.csv": (many(["01/02/2024", "03/04/2024"]), "day before month",
                      lambda t: t.frame["x"][0] == pd.Timestamp("2024-02-01")),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTED)
def test_an_odd_file_is_read_and_the_oddity_said(name, tmp_path):
    content, said, holds = NOTED[name]
    table = read(write(tmp_path / name, content), target="y")
    assert set(table.labels) == {"a", "b"}
    assert any(said in note for note in table.notes) or not said, table.notes
    assert holds(table)


def test_a_cell_padded_after_the_comma_may_be_quoted(tmp_path):
    table = read(write(tmp_path / "t.csv", many([' "a, b"', ' "c"'])), target="y")
    assert table.frame["x"][0] == "a, b"


def test_options_decide(tmp_path):
    path = write(tmp_path / "t.csv", ROWS)
    assert list(read(path, header=False, target="c2").frame) == ["c1", "c3"]
    path = write(tmp_path / "u.csv", many(["7", "8", "none"]))
    assert read(path, target="y", kinds={"x": "nominal"}).frame["x"].nunique() == 3
    assert read(path, target="y", missing=["8"], kinds={"x": "nominal"}).frame["x"].isna().sum() == 10
    with pytest.raises(TableError, match="kinds names the column 'z'"):
        read(path, target="y", kinds={"z": "nominal"})
    with pytest.raises(TableError, match="a kind is one of"):
        read(path, target="y", kinds={"x": "ordinal"})
    with pytest.raises(TableError, match="format 'xls'"):
        read(path, format="xls")


def test_numbers_may_be_the_target_when_said(tmp_path):
    path = write(tmp_path / "t.csv", "x,y\n" + "".join(f"{i * i},{i / 7}\n" for i in range(100)))
    assert read(path, target="y", classes=False).labels[7] == 1.0


def test_a_file_without_names_is_read_alike_in_pieces(tmp_path):
    path = write(tmp_path / "t.csv", ROWS)
    table = read(path, header=False, target="c2")
    assert pd.concat(read_chunks(path, table.schema, rows=7))["c3"].tolist() == table.frame["c3"].tolist()


@pytest.mark.parametrize(
    "suffix", ["csv", "tsv", "jsonl", "arff", "svm", "parquet", "arrow", "txt", "csv.gz"]
)
def test_damaged_bytes_never_raise_anything_else(suffix, frame, tmp_path):
    makers = {"csv": csv, "tsv": csv, "txt": csv, "parquet": parquet, "arrow": arrow, "arff": arff}
    makers |= {
        "jsonl": WRITERS["t.jsonl"],
        "svm": lambda f: SVM.encode() * 9,
        "csv.gz": lambda f: gzip.compress(csv(f)),
    }
    whole, rng = makers[suffix](frame), np.random.default_rng(7)
    path = tmp_path / f"t.{suffix}"
    schema = read(write(path, whole), target="label" if suffix == "svm" else "y").schema
    for trial in range(60):
        content = bytearray(whole)
        for at in rng.integers(0, len(content), rng.integers(1, 6)):
            content[at] = rng.choice([0, 10, 34, 44, 58, 123, 200, 255, rng.integers(256)])
        path.write_bytes(bytes(content[: rng.integers(1, len(content) + 1)] if trial % 2 else content))
        for target in (None, "y"):
            with contextlib.suppress(TableError):
                assert len(read(path, target=target)) > 0
        with contextlib.suppress(TableError):
            assert sum(map(len, read_chunks(path, schema, rows=7))) > 0


def test_documents_of_a_folder_are_text_however_short(tmp_path):
    for label, words in (("wet", "rain and more rain"), ("dry", "sun and wind")):
        (tmp_path / label).mkdir()
        for i in range(10):
            (tmp_path / label / f"{i}.txt").write_text(f"{words} {i}")
    table = read(tmp_path)
    assert table.kinds == {"file": "identifier", "text": "text"} and len(table.frame) == 20
