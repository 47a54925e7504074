"""Files as people have them, through every command: an answer, or one sentence with a way out before any work."""

import csv
import gzip
import io
import json
import zipfile

import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
REFUSED = pytest.importorskip("tests.tables.test_broken_files").REFUSED

from separatrix.app.cli import main  # noqa: E402

MODELS = ("-m", "logistic,naive-bayes", "--budget", "60")
# Broken for whoever learns from them, and read by a model that knows what it wants.
FINE_ROWS = ("no-target.csv", "target-missing.csv", "one-class.csv")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """run("fit", "logistic", "t.csv") → (exit code, standard output, standard error), in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main([str(a) for a in arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err and "Warning" not in said.err
        return code, said.out, said.err

    return run


@pytest.fixture
def fits(monkeypatch):
    """What was begun of the work: stays empty where a file is refused in time."""
    begun = []
    monkeypatch.setattr("sklearn.pipeline.Pipeline.fit", lambda *a, **k: begun.append("fit"))
    monkeypatch.setattr("separatrix.judge.schedule.Race.run", lambda *a, **k: begun.append("compare"))
    monkeypatch.setattr(
        "separatrix.app.commands.separability.separability", lambda *a: begun.append("program")
    )
    return begun


@pytest.fixture
def brief(monkeypatch):
    """Two folds in place of ten, and no pictures: what is asked here is that there is an answer."""
    monkeypatch.setattr("separatrix.judge.folds.FOLDS", 2)
    monkeypatch.setattr("separatrix.judge.folds.REPEATS", 1)
    for command in ("compare", "report"):
        monkeypatch.setattr(f"separatrix.app.commands.{command}.page_of", lambda *a, **k: None)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A table of 30 rows and a model of its columns n and x."""
    place = tmp_path_factory.mktemp("learned")
    rows = "".join(f"{i * i % 17},{'ab'[i % 2]},{i * 1.5 % 7}\n" for i in range(30))
    (place / "good.csv").write_text("n,y,x\n" + rows)
    assert main(["fit", "logistic", f"{place}/good.csv", "-t", "y", "-o", f"{place}/m.sepx", "-q"]) == 0
    return place


def write(path, content):
    content = content() if callable(content) else content
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def one_sentence(said):
    lines = said.splitlines()
    return len(lines) == 1 and lines[0].startswith("separatrix: ") and ";" in lines[0]


# ---- fifty broken files ----


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_file_is_one_sentence_before_any_work(name, learned, run, fits, tmp_path):
    write(tmp_path / name, REFUSED[name][0])
    target = [] if name.endswith(".svm") else ["--target", "y"]
    told = set()
    for command in (["compare"], ["fit", "logistic"], ["separability"]):
        code, out, said = run(*command, name, *target)
        assert code == 1 and not out and one_sentence(said) and f"separatrix: {name}: " in said
        told.add(said)
    assert len(told) == 1
    fine = name in FINE_ROWS
    for command in (["predict"], ["explain", "--row", "1"]):
        code, out, said = run(command[0], learned / "m.sepx", name, *command[1:])
        assert (code == 0 and out) if fine else (code == 1 and not out and one_sentence(said))
    if name != "one-class.csv":
        code, out, said = run("report", learned / "m.sepx", name, "--out", "page.html")
        assert code == 1 and not out and one_sentence(said)
    if name not in (
        "one-class.csv",
        "huge-number.csv",
    ):  # the first is fine to be judged on; the second: see below
        code, out, said = run("compare", learned / "good.csv", "-t", "y", "--test", name, "--quiet")
        assert code == 1 and not out and one_sentence(said) and name in said
    assert not fits and [p.name for p in tmp_path.iterdir()] == [name]


def test_a_place_that_is_no_table_is_one_sentence(learned, run, fits, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for place in ("/dev/null", "empty", "link", "nowhere.csv", ""):
        for command in (["compare"], ["fit", "lda"], ["separability"]):
            code, out, said = run(*command, place)
            assert code == 1 and not out and one_sentence(said), place
        for command in (["predict"], ["report"], ["explain", "--row", "1"]):
            code, out, said = run(command[0], learned / "m.sepx", place, *command[1:])
            assert code == 1 and not out and one_sentence(said), place
    assert not fits and {p.name for p in tmp_path.iterdir()} == {"empty", "link"}


def test_a_number_too_large_in_later_rows_is_refused_before_any_work(learned, run, fits, tmp_path):
    write(tmp_path / "huge.csv", REFUSED["huge-number.csv"][0])
    code, out, said = run("predict", learned / "m.sepx", "huge.csv")
    assert code == 1 and not out and "huge.csv: column 'x' holds '1e400' in row 3" in said
    code, _, said = run("compare", learned / "good.csv", "-t", "y", "--test", "huge.csv", "--quiet")
    assert code == 1 and one_sentence(said) and "huge.csv" in said and not fits


def test_rows_to_predict_are_not_swallowed_by_a_quotation_mark(run, tmp_path):
    write(tmp_path / "t.csv", rows(turn("a", "b"), "x,class,z\n", labels="uvw"))
    assert run("fit", "naive-bayes", "t.csv", "-q", "-o", "m.sepx")[0] == 0
    write(tmp_path / "open.csv", 'x,class,z\n1,a,u\n2,b,"v\n3,a,w\n4,b,u\n')
    code, out, said = run("predict", "m.sepx", "open.csv", "--out", "answers.csv")
    assert code == 1 and not out and one_sentence(said) and "never closed" in said
    assert not (tmp_path / "answers.csv").exists()


# ---- odd files: an answer, or a sentence ----


def rows(cell=lambda i: i % 7, header="x,z,class\n", n=24, sep=",", labels="ab"):
    """Lines of a noisy number, a cell and a class."""
    lines = [
        f"{(i * 37 % 11) / 3 + i % 2:.3f}{sep}{cell(i)}{sep}{labels[i % len(labels)]}\n" for i in range(n)
    ]
    return header + "".join(lines)


def turn(*cells):
    return lambda i: cells[i % len(cells)]


def sheet():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return out.getvalue()


# name: (content, what the sentence holds where there is no answer, what is said where there is one)
ODD = {
    "bom.csv": (b"\xef\xbb\xbf" + rows().encode(), "", "24 rows, 2 columns"),
    "crlf.csv": (rows().replace("\n", "\r\n"), "", "24 rows"),
    "mac.csv": (rows().replace("\n", "\r"), "", "24 rows"),
    "utf16.tsv": (rows(sep="\t", header="x\tz\tclass\n").encode("utf-16"), "", "read as UTF-16"),
    "excel.csv": (rows(turn("Straße", "Öd"), "Größe;Ort;Klasse\n", sep=";").replace(".", ",").encode("cp1252"), "",
                  "Windows-1252"),
    "huge.csv": (rows(lambda i: f"{i % 7 + 1}e307"), "", "1 discrete"),
    "most.csv": (rows(turn("1e308", "-1e308", "1.7e308")), "", "1 discrete"),
    "least.csv": (rows(turn("1e-308", "5e-324", "-1e-310")), "", "2 continuous"),
    "infinite.csv": (rows(turn("inf")), "'z' holds 'inf' in row 1", ""),
    "empty-column.csv": (rows(turn("", "NA")), "", "every cell is the same: 'z'"),
    "quotes.csv": (rows(turn('"say ""hi"", 1"', '"say ""ho"", 2"')), "", "1 leak"),
    "types.csv": (rows(turn("1", "two", "3.5", "2020-01-01", "NA")), "", "--kinds z=continuous"),
    "dates.csv": (rows(turn("2024-01-31", "30.01.2024", "29 Jan 2024")), "", "spelled in several ways"),
    "thousands.csv": (rows(lambda i: f'"{i + 1},{i * 7 % 1000:03d}"'), "", "thousands"),
    "decimal.csv": (rows(lambda i: f"{i},5", "x;z;class\n", sep=";"), "", "decimal comma"),
    "percent.csv": (rows(lambda i: f"{i % 9} %"), "", "sign %"),
    "money.csv": (rows(lambda i: f"€ {i % 9}.50"), "", "sign €"),
    "blank-lines.csv": (rows() + "\n\n\n", "", "24 rows"),
    "blank-cells.csv": (rows() + ",,\n,,\n", "", "2 rows without a label"),
    "comments.csv": ("# made by\n# someone\n" + rows(), "", "comments"),
    "totals.csv": (rows() + "Total,180,\n", "", "'Total' is no number"),
    "total-class.csv": (rows() + "99,180,Total\n", "", "class 'Total' has 1 row"),
    "third-line.csv": ("Report for March,,\nby me,,\n" + rows(), "stand in line 3", ""),
    "nameless.csv": (rows(header="x,,class\n"), "", "called 'column 2'"),
    "names.csv": (rows(header='"a, b","two\nlines",class\n'), "", "'a, b'"),
    "escapes.csv": (rows(turn("\x1b[31mred", "plain", "\x07"), "x,\x1b[2Jz,class\n"), "", "\\x1b[2Jz"),
    "script.csv": (rows(turn("<b>", "<script>alert(1)</script>", "c"), "<script>,<img>,class\n"), "", "<script>"),
    "emoji.csv": (rows(turn("😀", "😡", "👩‍👩‍👧"), labels="👍👎"), "", "👍 12"),
    "alike.csv": (rows(labels=("Yes", "yes")), "", "'Yes', 'yes' differ only in capitals"),
    "repeats.csv": ("x,z,class\n" + "1,2,a\n2,3,b\n1,2,a\n" * 8, "", "22 rows repeat"),
    "gaps.csv": (rows(n=30).replace(",a\n", ",NaN\n", 4), "", "4 rows without a label"),
    "rare-words.csv": (rows(lambda i: f"w{i // 2}", n=300), "", "150 levels"),
    "one-class.csv": (rows(labels="a"), "is 'a' in every row; name another column by --target", ""),
    "own-class.csv": (rows(n=10, labels=[f"c{i}" for i in range(10)]), "class 'c0' has 1 row", ""),
    "many-classes.csv": (rows(n=40, labels=[f"c{i}" for i in range(40)]), "so they are no classes", ""),
    "quantity.csv": (rows(n=5000, labels=range(5000)), "name another column by --target", ""),
    "quantity-again.csv": (rows(n=10_000, labels=range(5000)), "5,000 different numbers", ""),
    "two-rows.csv": (rows(n=2), "has 1 row: cross-validation needs", ""),
    "six-rows.csv": (rows(n=6), "", "6 rows"),
    "blanks-between.csv": (rows().replace(",", "  "), "say by --delimiter", ""),
    "sheet.csv": (sheet, "save the sheet as CSV", ""),
    "page.csv": ("<!doctype html>\n<html>\n<p>Not found, sorry</p>\n</html>\n", "an HTML page", ""),
    "pointer.csv": ("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "git lfs pull", ""),
    "cut.csv.gz": (gzip.compress(rows().encode())[:-40], "gzip data end in the middle", ""),
    "zeros.csv": (rows().replace("2", "\0", 3), "zero byte", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_gets_an_answer_or_a_sentence(name, run, brief, tmp_path):
    content, refused, noted = ODD[name]
    write(tmp_path / name, content)
    code, out, said = run("compare", name, *MODELS, "--out", "o")
    assert "\x1b" not in out + said and "\x07" not in out + said
    if refused:
        assert (
            code == 1 and not out and one_sentence(said.splitlines()[-1]) and refused in said.splitlines()[-1]
        )
        assert not [p for p in tmp_path.rglob("*") if p.is_file() and p.name != name]
        return
    assert code == 0 and "log loss" in out and noted in said
    made = json.loads((tmp_path / "o" / "comparison.json").read_text(encoding="utf-8"))
    assert made["best"] in ("logistic", "naive_bayes")
    code, out, said = run("predict", "o/model.sepx", name, "--proba", "--out", "answers.csv")
    assert code == 0 and not out
    with (tmp_path / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = list(csv.DictReader(file))
    known = [row["predicted"] for row in answers]
    assert len(known) >= made["rows"] and set(known) <= set(made["classes"])
    for command in (["report", "--out", "page.html"], ["explain", "--row", "1"]):
        code, out, said = run(command[0], "o/model.sepx", name, *command[1:])
        assert (code == 0 and out) or (code == 1 and not out and one_sentence(said))
        assert "\x1b" not in out + said


@pytest.mark.parametrize("name", ["two-rows.csv", "own-class.csv"])
def test_what_is_too_small_to_compare_is_fitted(name, run, tmp_path):
    write(tmp_path / name, ODD[name][0])
    code, _, said = run("compare", name, "--quiet")
    assert code == 1 and "separatrix fit, which needs no folds" in said
    code, out, _ = run("fit", "logistic", name)
    assert code == 0 and "LogisticRegression" in out


def test_ten_thousand_levels(run, brief, tmp_path):
    write(tmp_path / "levels.csv", rows(lambda i: f"w{i // 2}", n=20_000))
    code, out, said = run("compare", "levels.csv", "-m", "logistic")
    assert code == 0 and "logistic" in out and "10,000 levels" in said
    assert "all 10,000 levels, each rare (fewer than 3 rows), pooled as other" in said  # what logistic sees


@pytest.mark.slow
def test_three_thousand_columns(run, brief, tmp_path):
    names = [f"v{j}" for j in range(3000)]
    cells = [[str((i * j * 7919 + j) % 97) for j in range(3000)] for i in range(12)]
    lines = [[*names, "class"], *([*row, "ab"[i % 2]] for i, row in enumerate(cells))]
    write(tmp_path / "wide.csv", "".join(",".join(line) + "\n" for line in lines))
    code, out, said = run("compare", "wide.csv", "-m", "majority")
    assert code == 0 and "majority" in out and "3,000 columns for 12 rows" in said


def test_a_page_shows_names_and_levels_as_text(run, tmp_path):
    pytest.importorskip("matplotlib")
    text = rows(
        turn("<b>", "<script>alert(1)</script>", "👎"), "<script>alert(2)</script>,<img src=x>,class\n"
    )
    write(tmp_path / "t.csv", text.replace(",a\n", ",<i>a</i>\n"))
    assert run("fit", "logistic", "t.csv", "-q", "-o", "m.sepx") == (0, "", "")
    code, out, said = run("report", "m.sepx", "t.csv", "--out", "page.html", "-q")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (code, out, said) == (0, "", "") and "&lt;script&gt;alert" in page
    assert not [mark for mark in ("<script>alert", "<img src=x>", "<i>a</i>") if mark in page]


# ---- warnings of libraries ----


def test_what_a_library_warns_of_is_a_line_of_ours_and_said_once(learned, run, monkeypatch):
    import warnings

    from sklearn.pipeline import Pipeline

    predict = Pipeline.predict

    def warns(self, X):
        for _ in range(3):
            warnings.warn("the rows are odd, see kinds={'x': 'nominal'}", UserWarning, stacklevel=1)
        return predict(self, X)

    monkeypatch.setattr(Pipeline, "predict", warns)
    code, out, said = run("predict", learned / "m.sepx", learned / "good.csv")
    assert code == 0 and len(out.splitlines()) == 31
    assert said.splitlines() == ["  warning: the rows are odd, see --kinds x=nominal", "30 rows"]
    assert run("predict", learned / "m.sepx", learned / "good.csv", "-q", "-o", "o.csv") == (0, "", "")


def test_columns_left_out_and_targets_in_doubt_are_said_in_the_command_lines_words(run, brief, tmp_path):
    lines = ["x,copy,code,class"]
    lines += [f"{i * 7919 % 101},{'ab'[i % 2]},{i * 31 % 17 + 100},{'yn'[i % 2]}" for i in range(60)]
    write(tmp_path / "t.csv", "\n".join(lines) + "\n")
    code, _out, said = run("compare", "t.csv", *MODELS, "--out", "o")
    assert code == 0 and "--kinds copy=nominal keeps it" in " ".join(said.split()) and "kinds={" not in said
    code, _, said = run("fit", "logistic", "t.csv", "--kinds", "code=target,copy=nominal", "--out", "m.sepx")
    assert code == 0 and "'code' (target): the share of y in each of 17 levels" in said
    assert "'copy' (nominal): 0 or 1 for" in said
    grades = "x,y\n" + "".join(f"{i % 13},{i * 37 % 23}\n" for i in range(460))
    write(tmp_path / "g.csv", grades)
    code, _, said = run("fit", "naive-bayes", "g.csv", "--out", "g.sepx")
    assert code == 0 and "23 different numbers from 0 to 22, taken for 23 classes (460 rows)" in said
