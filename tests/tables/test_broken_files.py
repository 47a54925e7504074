"""Fifty broken files and places that are none: each is refused by one sentence."""

import gzip
import os
import socket
import zipfile

import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
import pyarrow.feather  # noqa: E402
import pyarrow.parquet  # noqa: E402, F401

from separatrix.tables.read import read  # noqa: E402
from separatrix.tables.sources import TableError  # noqa: E402
from tests.tables.written import GOOD, ROWS, SVM, feather, many, parquet, write  # noqa: E402


def bomb():
    return gzip.compress(b"a,b\n" + b"0,0\n" * (17 << 20), compresslevel=9)


def zipped(content=b"a,b\n1,2\n"):
    import io

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t.csv", content)
    return out.getvalue()


ARFF = "@relation r\n@attribute x numeric\n@attribute y {a,b}\n@data\n"
JSONL = '{"x": 1, "y": "a"}\n{"x": 2, "y": "b"}\n'

# name: (content, what the one sentence must hold)
REFUSED = {
    "empty.csv": (b"", "empty"),
    "blank.csv": (b"\n \n\n", "blank|no line"),
    "only-names.csv": ("n,y,x\n", "no row"),
    "ragged-short.csv": ("n,y,x\n1,a,2\n2,b\n3,a,1\n", r"line 3 has 2 cells .* 3"),
    "ragged-long.csv": ("n,y,x\n1,a,2\n2,b,3,4\n", r"line 3 has 4 cells"),
    "ragged-far.csv": (GOOD * 1 + ROWS * 2000 + "1,a\n" + ROWS, r"line 60032 has 2 cells"),
    "comment-inside.csv": ("n,y,x\n1,a,2\n# said\n2,b,3\n", r"line 3 .*comment"),
    "same-names.csv": ("n,y,n\n1,a,2\n2,b,3\n", "more than one column is called 'n'"),
    "same-names-spaced.csv": ("n,y, n \n1,a,2\n2,b,3\n", "more than one column is called 'n'"),
    "no-names.csv": ("5.1,a,2\n4.9,b,3\n", r"looks like data.*header=False"),
    "no-names-words.csv": ("p,a,x\ne,b,x\np,a,w\ne,b,x\n", r"looks like data.*stands again"),
    "open-quote.csv": ('n,y,x\n1,a,"2\n2,b,3\n', r"quotation mark .*never closed"),
    "no-target.csv": ("n,Y ,x\n1,a,2\n2,b,3\n", "no column is called 'y'; did you mean 'Y'"),
    "target-missing.csv": (many(["1"]).replace(",a,", ",,").replace(",b,", ",?,"), "every cell of the target"),
    "one-class.csv": (many(["1", "2"]).replace(",b,", ",a,"), "one class"),
    "target-continuous.csv": ("x,y\n" + "".join(f"{i},{i / 7}\n" for i in range(100)), "no classes"),
    "target-quantity.csv": ("x,y\n" + "".join(f"{i % 7},{i % 300}\n" for i in range(3000)), "300 different numbers"),
    "target-dates.csv": ("x,y\n" + "".join(f"{i},2024-01-{i + 1:02d}\n" for i in range(28)), "dates"),
    "only-target.csv": ("y\na\nb\na\n", "only column"),
    "only-identifiers.csv": (many(["1"]).replace("n,y,x", "id,y,x"), "no column is left"),
    "huge-number.csv": (many(["1.5", "2.5", "1e400"]), r"'x' holds '1e400' in row 3"),
    "infinite.csv": (many(["1.5", "inf"]), "'x' holds 'inf' in row 2"),
    "zero-bytes.csv": (b"n,y,x\n1,a,\x00\n", "line 2 holds a zero byte"),
    "garbage.csv": (bytes(range(1, 256)) * 40, "neither text nor"),
    "garbage-zeros.bin": (os.urandom(64) + bytes(range(256)), "zero byte|neither text"),
    "image.csv": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "a picture"),
    "photo.csv": (b"\xff\xd8\xff\xe0" + bytes(range(256)), "a picture"),
    "not-found.csv": ("\n<!DOCTYPE html>\n<html><body>Not found, sorry</body></html>\n", "an HTML page"),
    "forbidden.parquet": ("<html>\n<h1>403</h1>\n</html>\n", "an HTML page"),
    "export.csv": ("<?xml version='1.0'?>\n<rows>\n<row x='1'/>\n</rows>\n", "XML"),
    "pointer.csv": ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "git lfs pull"),
    "title.csv": ("Report for March,,\nby me,,\n" + GOOD, "stand in line 3 \\('n,y,x'\\)"),
    "title-alone.csv": ("Report for March\n\n" + GOOD, "stand in line 3"),
    "title-money.csv": ("Konto;;\nvon:;1.1.;\n\nTag;Euro;y\n" + "1.2.2024;-1.234,5;a\n2.2.2024;7,5;b\n", "line 4"),
    "half-utf16.csv": (b"\xff\xfe" + "n,y\n1,a\n".encode("utf-16-le") + b"\x00\xd8x", "begins as utf-16"),
    "truncated.csv.gz": (gzip.compress(GOOD.encode() * 50)[:-30], "gzip data end"),
    "damaged.csv.gz": (gzip.compress(GOOD.encode())[:30] + b"\xff" * 200, "gzip data"),
    "nothing.csv.gz": (gzip.compress(b""), "hold nothing"),
    "twice.csv.gz": (gzip.compress(gzip.compress(GOOD.encode())), "more than once"),
    "bomb.csv.gz": (bomb, "unpack to more than"),
    "archive.zip": (zipped, "zip archive"),
    "sheet.csv": (zipped, "zip archive or a spreadsheet"),
    "pickle.csv": (b"\x80\x04\x95\x0f\x00\x00", "pickle"),
    "letter.pdf": (b"%PDF-1.4 ...", "PDF"),
    "truncated.parquet": (lambda: parquet(pd.DataFrame({"x": [1.0], "y": ["a"]}))[:-20], "damaged"),
    "fake.parquet": (b"PAR1 nothing here", "damaged"),
    "truncated.feather": (lambda: feather(pd.DataFrame({"x": [1.0], "y": ["a"]}))[:60], "damaged"),
    "list.parquet": (lambda: parquet(pd.DataFrame({"x": [[1], [2]], "y": ["a", "b"]})), "'x' is list"),
    "bad-line.jsonl": (JSONL + "{x: 1}\n", "line 3 is no JSON .*, at character 2"),
    "spread.json": ('{\n "x": 1,\n "y": "a"\n}\n', "one JSON object over several lines"),
    "wrapped.json": ('{"count": 2, "data": [{"x": 1, "y": "a"}]}\n', "'data' holds a list of objects"),
    "error.csv": ('{"y": "not found", "code": 404}\n', "'y' is 'not found' in every row"),
    "not-objects.jsonl": ("[1, 2]\n", "record 1 is no object"),
    "nested.jsonl": (JSONL + '{"x": {"z": 1}, "y": "a"}\n', "line 3: 'x' holds an object"),
    "deep.jsonl": ('{"x": ' + "[" * 200_000 + "\n", "line 1 is (nested too deeply|no JSON)"),
    "huge.jsonl": ('{"x": 1e999, "y": "a"}\n{"x": 1, "y": "b"}\n', "in row 1 .* beyond"),
    "no-data.arff": ("@relation r\n@attribute x numeric\n", "no @data"),
    "bad-attribute.arff": ("@relation r\n@attribute x\n@data\n1\n", "line 2 is no attribute"),
    "bad-type.arff": ("@relation r\n@attribute x colour\n@data\n1\n", "has the type 'colour'"),
    "ragged.arff": (ARFF + "1,a\n2\n", "line 6 has 1 cell for 2"),
    "unknown-level.arff": (ARFF + "1,a\n2,c\n", "row 2 .*'c' under 'y'"),
    "words.arff": (ARFF + "1,a\nmuch,b\n", "'much' under 'x'"),
    "bad.svm": (SVM + "1 2:x\n", "line 3 is not"),
    "unordered.svm": (SVM + "1 3:1 2:1\n", "line 3: index 2 comes after 3"),
    "zeroth.svm": ("0.1 -1:2\n", "line 1 is not"),
    "too-wide.svm": (SVM + "1 4000000000:1\n", "column 4,000,000,000"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_file_is_refused_by_one_sentence(name, tmp_path):
    content, said = REFUSED[name]
    path = write(tmp_path / name, content() if callable(content) else content)
    with pytest.raises(TableError, match=said) as error:
        read(path, target=None if name.endswith(".svm") else "y")
    message = str(error.value)
    assert message.startswith(str(path)) and "\n" not in message and len(message) < len(str(path)) + 300
    assert ";" in message  # what is wrong; the way out


def empty_folder(path):
    path.mkdir()


def one_class_folder(path):
    (path / "spam").mkdir(parents=True)
    write(path / "spam" / "1.txt", "buy")
    write(path / "spam" / "2.txt", "buy now")


def folder_of_tables(path):
    path.mkdir()
    write(path / "a.csv", GOOD)


def link_loop(path):
    path.symlink_to(path)


def broken_link(path):
    path.symlink_to(path.parent / "nowhere")


def garbage_folder(path):
    (path / "spam").mkdir(parents=True)
    write(path / "spam" / "1.txt", bytes(range(256)))


def pipe(path):
    os.mkfifo(path)


def unreadable(path):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    write(path, GOOD).chmod(0)


PLACES = {
    empty_folder: "no document",
    one_class_folder: "one class",
    folder_of_tables: "name one of them: a.csv",
    garbage_folder: "no document could be read",
    link_loop: "cannot be read|no such file",
    broken_link: "no such file",
    pipe: "neither a file nor a folder",
    unreadable: "not allowed",
}


@pytest.mark.parametrize("make", PLACES)
def test_a_place_that_is_no_table_is_refused(make, tmp_path):
    path = tmp_path / "it"
    make(path)
    with pytest.raises(TableError, match=PLACES[make]) as error:
        read(path)
    assert str(error.value).startswith(str(path)) and ";" in str(error.value)


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("s")
        with pytest.raises(TableError, match="neither a file nor a folder"):
            read("s")


def test_a_device_is_refused_by_one_plain_sentence():
    with pytest.raises(TableError) as error:
        read("/dev/null")
    assert str(error.value) == "/dev/null: neither a file nor a folder; give the path of a file"


@pytest.mark.parametrize("nothing", ["", "  ", None, 7])
def test_what_is_no_path_is_refused(nothing):
    with pytest.raises(TableError, match=r"a table is a path.*; give one"):
        read(nothing)


def test_a_folder_says_why_a_class_is_not_there(tmp_path):
    for label, text in (("spam", ""), ("ham", "see you")):
        (tmp_path / label).mkdir()
        write(tmp_path / label / "1.txt", text)
    with pytest.raises(TableError, match=r"in the folder 'ham', as 1 file could not be read.*spam.*empty"):
        read(tmp_path)
