"""fit, predict, report, explain, separability and bench: what they print, and files that are whole or not there."""

import csv
import io
import json
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from separatrix.app.outputs import growing  # noqa: E402
from separatrix.files.store import load  # noqa: E402
from separatrix.tables.read import BUNDLED, read  # noqa: E402
from tests.app.said import one_sentence  # noqa: E402


@pytest.mark.parametrize("name", BUNDLED)
def test_fit_and_predict_bundled_tables(name, run, tmp_path):
    code, out, said = run("fit", "naive-bayes", name)
    assert code == 0 and "NaiveBayes · closed form" in out and "naive-bayes.sepx" in said
    code, out, _ = run("predict", tmp_path / "out" / name / "naive-bayes.sepx", name, "--proba")
    rows = list(csv.DictReader(io.StringIO(out)))
    table = read(name)
    right = np.mean([row["predicted"] == str(y) for row, y in zip(rows, table.labels)])
    assert code == 0 and len(rows) == len(table) and right > 0.8
    chances = [float(v) for k, v in rows[0].items() if k.startswith("p(")]
    assert sum(chances) == pytest.approx(1)


def test_fit_settings_json_and_quiet(run, tmp_path):
    code, out, said = run(
        "fit", "LogisticRegression", "iris", "--set", "C=0.5", "--json", "--out", "a/b.sepx"
    )
    made = json.loads(out)
    assert code == 0 and not said
    assert (
        made["settings"]["C"] == 0.5 and made["verdict"]["status"] == "optimal" and made["file"] == "a/b.sepx"
    )
    assert load(tmp_path / "a" / "b.sepx").named_steps["model"].C == 0.5
    assert run("fit", "lda", "iris", "--quiet") == (0, "", "")


def test_predict_keeps_rows_order_and_cells_in_pieces_of_any_size(mixed, run):
    model = mixed / "logistic.sepx"
    code, whole, said = run("predict", model, mixed / "mixed.csv", "--proba")
    assert code == 0 and "90 rows" in said
    _, pieces, _ = run("predict", model, mixed / "mixed.csv", "--proba", "--rows", 7)
    parsed = [pd.read_csv(io.StringIO(text)) for text in (pieces, whole)]
    pd.testing.assert_frame_equal(*parsed, rtol=1e-12)
    given = list(csv.reader((mixed / "mixed.csv").open()))
    made = list(csv.reader(io.StringIO(whole)))
    assert [row[:5] for row in made] == given
    assert made[0][5:] == ["predicted", "p(no)", "p(yes)"]
    # columns in another order, with more of them, and without those that are left out
    frame = pd.read_csv(mixed / "mixed.csv", dtype=str, keep_default_na=False)
    frame[["size", "note", "colour"]].assign(predicted="x", more="y z").to_csv("other.csv", index=False)
    code, out, _ = run("predict", model, "other.csv", "--rows", 11)
    again = list(csv.DictReader(io.StringIO(out)))
    assert code == 0 and list(again[0]) == ["size", "note", "colour", "predicted", "more", "predicted_"]
    assert [row["predicted_"] for row in again] == [row[5] for row in made[1:]]
    code, _, said = run("predict", model, "iris")
    assert code == 1 and one_sentence(said) and "'colour'" in said


def test_predict_json_lines_and_files(mixed, run, tmp_path):
    frame = pd.read_csv(mixed / "mixed.csv")
    records = [{**r, "tags": i} for i, r in enumerate(json.loads(frame.to_json(orient="records")))]
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps(r) for r in records) + "\n\n")
    code, out, _ = run("predict", mixed / "naive-bayes.sepx", "t.jsonl", "-p", "--rows", 13)
    made = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and [{k: m[k] for k in records[0]} for m in made] == records
    model, table = load(mixed / "naive-bayes.sepx"), read(mixed / "mixed.csv", target="class")
    P = model.predict_proba(table.frame)
    assert np.allclose([[m["p(no)"], m["p(yes)"]] for m in made], P, rtol=1e-12, atol=0)
    for name in ("o.csv", "o.tsv", "o.jsonl.gz"):
        code, out, _ = run(
            "predict", mixed / "naive-bayes.sepx", mixed / "mixed.csv", "--out", f"new/{name}", "-q"
        )
        assert code == 0 and not out
    said = pd.read_csv(tmp_path / "new" / "o.tsv", sep="\t")["predicted"].tolist()
    assert said == [m["predicted"] for m in made]
    assert pd.read_json(tmp_path / "new" / "o.jsonl.gz", lines=True)["predicted"].tolist() == said
    code, _, said = run("predict", mixed / "naive-bayes.sepx", mixed / "mixed.csv", "--out", "o.ods")
    assert code == 2 and ".jsonl" in said


def test_predict_that_fails_midway_leaves_the_old_file(mixed, run, tmp_path):
    (tmp_path / "o.csv").write_text("old")
    text = (mixed / "mixed.csv").read_text()
    (tmp_path / "bad.csv").write_text(text + "k999,red,many,x,yes\n")
    code, _, said = run("predict", mixed / "logistic.sepx", "bad.csv", "--rows", 10, "--out", "o.csv")
    assert code == 1 and "'many'" in said and "row 91" in said
    assert (tmp_path / "o.csv").read_text() == "old" and len(list(tmp_path.iterdir())) == 2


def test_a_file_that_grows_is_not_seen_before_it_is_whole(tmp_path):
    path = tmp_path / "a.csv"

    def work():
        with growing(path) as file:
            file.write("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not list(tmp_path.iterdir())


def test_predict_into_a_closed_pipe_is_no_error(mixed):
    arguments = ["predict", str(mixed / "logistic.sepx"), "wide.csv", "-q"]
    source = f"import sys; from separatrix.app.cli import main; sys.exit(main({arguments!r}))"
    frame = pd.read_csv(mixed / "mixed.csv", dtype=str)
    pd.concat([frame] * 200).to_csv(mixed / "wide.csv", index=False)
    process = subprocess.Popen(
        [sys.executable, "-c", source], cwd=mixed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline().startswith("id,")
    process.stdout.close()
    assert process.stderr is not None and process.stderr.read() == ""
    assert process.wait(timeout=60) == 0


def test_a_model_saved_from_python_predicts_too(run, tmp_path):
    from separatrix.files.store import save
    from separatrix.models.linear.logistic import LogisticRegression

    table = read("iris")
    save(LogisticRegression().fit(table.frame, table.labels), tmp_path / "m.sepx")
    code, out, said = run("predict", "m.sepx", "iris")
    assert code == 0 and len(out.splitlines()) == 151 and "by name" in said
    code, _, said = run("predict", "m.sepx", "wine")
    assert code == 1 and "lacks column" in said


def test_a_file_that_is_no_model_is_refused(run, tmp_path):
    (tmp_path / "m.sepx").write_bytes(b"\x80\x04 pickle")
    for command in (["predict"], ["report"], ["explain", "--row", "1"]):
        code, _, said = run(command[0], "m.sepx", "iris", *command[1:])
        assert code == 1 and "not a model file" in said


def test_report_judges_on_the_rows_given(mixed, run, monkeypatch):
    monkeypatch.setattr("separatrix.app.commands.report.page_of", lambda *a, **k: "<html>")
    code, out, _ = run("report", mixed / "logistic.sepx", mixed / "mixed.csv", "--json", "--out", "r.html")
    made = json.loads(out)
    model, table = load(mixed / "logistic.sepx"), read(mixed / "mixed.csv", target="class")
    right = (model.predict(table.frame) == table.labels).mean()
    assert code == 0 and made["scores"]["accuracy"]["value"] == pytest.approx(right)
    assert np.sum(made["confusion"]) == 90 and made["report"] == "r.html"
    code, out, _ = run("report", mixed / "logistic.sepx", mixed / "mixed.csv")
    assert code == 0 and "log loss" in out and "true \\ said" in out
    pd.read_csv(mixed / "mixed.csv").drop(columns="class").to_csv("bare.csv", index=False)
    code, _, said = run("report", mixed / "logistic.sepx", "bare.csv")
    assert code == 1 and "'class'" in said and "predict" in said


@pytest.mark.parametrize("name", ["logistic", "naive-bayes"])
@pytest.mark.parametrize("row", [1, 17, 90])
def test_explanations_add_up_to_the_log_odds(name, row, mixed, run):
    code, out, _ = run(
        "explain", mixed / f"{name}.sepx", mixed / "mixed.csv", "--row", row, "--json", "--class", "yes"
    )
    made = json.loads(out)
    table = read(mixed / "mixed.csv", target="class")
    P = load(mixed / f"{name}.sepx").predict_proba(table.frame.iloc[[row - 1]])[0]
    total = made["start"] + sum(part["adds"] for part in made["parts"])
    assert code == 0 and total == pytest.approx(np.log(P[1] / P[0]), rel=1e-9, abs=1e-9)
    assert {part["column"] for part in made["parts"]} == {
        "colour",
        "size",
        "note",
    }  # an identifier adds nothing


def test_explanations_of_several_classes_and_of_words(run, tmp_path):
    assert run("fit", "lda", "iris", "-q", "-o", "iris.sepx")[0] == 0
    code, out, _ = run("explain", "iris.sepx", "iris", "-r", 60, "--json")
    made = json.loads(out)
    P = made["probabilities"]
    assert code == 0 and made["sum"] == pytest.approx(np.log(P[made["class"]] / P[made["against"]]), rel=1e-9)
    words = {
        "spam": ["win money now, please call this number", "free money to win with this number"],
        "ham": ["see you at lunch with the others", "lunch at noon as on the other days"],
    }
    for label, texts in words.items():
        (tmp_path / "mail" / label).mkdir(parents=True)
        for i in range(10):
            (tmp_path / "mail" / label / f"{i}.txt").write_text(f"{texts[i % 2]} {'abcdefghij'[i]}")
    for model in ("multinomial-nb", "logistic"):
        assert run("fit", model, "mail", "-q", "-o", "mail.sepx")[0] == 0
        code, out, _ = run("explain", "mail.sepx", "mail", "-r", 1, "--json")
        made = json.loads(out)
        P = made["probabilities"]
        assert code == 0 and made["sum"] == pytest.approx(
            np.log(P[made["class"]] / P[made["against"]]), rel=1e-9
        )
        assert any("lunch" in part["column"] for part in made["parts"])
    code, out, _ = run("explain", "mail.sepx", "mail", "-r", 1, "--top", 1)
    assert code == 0 and "others" in out


def test_trees_are_explained_by_their_probability(mixed, run):
    code, out, _ = run("explain", mixed / "extra-trees.sepx", mixed / "mixed.csv", "--row", 1, "--json")
    made = json.loads(out)
    total = made["start"] + sum(part["adds"] for part in made["parts"])
    assert code == 0 and made["of"] == "probability" and "exact, from the leaves" in made["how"]
    assert total == pytest.approx(made["probabilities"][made["class"]], abs=1e-6) == made["sum"]
    code, out, _ = run("explain", mixed / "extra-trees.sepx", mixed / "mixed.csv", "--row", 1)
    assert code == 0 and "Shapley" in out


def test_what_has_no_explanation_says_so(mixed, run):
    names = json.loads(
        run("explain", mixed / "extra-trees.sepx", mixed / "mixed.csv", "--row", 1, "--json")[1]
    )["probabilities"]
    asked = ("--row", 1, "--against", next(iter(names)))
    code, _, said = run("explain", mixed / "extra-trees.sepx", mixed / "mixed.csv", *asked)
    assert code == 1 and one_sentence(said) and "leave out --against" in said
    code, _, said = run("explain", mixed / "logistic.sepx", mixed / "mixed.csv", "--row", 91)
    assert code == 1 and "90" in said
    code, _, said = run("explain", mixed / "logistic.sepx", mixed / "mixed.csv", "--row", 0)
    assert code == 2
    code, _, said = run(
        "explain", mixed / "logistic.sepx", mixed / "mixed.csv", "--row", 1, "--class", "maybe"
    )
    assert code == 2 and "no, yes" in said


def test_separability(run, mixed):
    code, out, said = run("separability", "enjoy-sport")
    assert code == 0 and "separated by column" in out and "proof was checked" in said
    code, out, _ = run("separability", mixed / "mixed.csv", "--kinds", "note=identifier", "--json")
    made = json.loads(out)
    assert code == 0 and made["proof_checked"] and made["target"] == "class"


def test_bench_runs_what_is_in_the_folder(run, tmp_path, monkeypatch):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "__main__.py").write_text("import sys; sys.exit(len(sys.argv) + 4)")
    assert run("bench", "N1", "--repeat", "5")[0] == 8
    assert run("bench", "--help")[0] == 6
    monkeypatch.setattr("separatrix.app.commands.bench.home", lambda: None)
    code, out, _ = run("bench", "--help")
    assert code == 0 and "Race separatrix against other libraries" in out
    code, _, said = run("bench")
    assert code == 1 and one_sentence(said)


def test_predictions_of_sheets_and_tables_stand_beside_their_columns(run, mixed, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    frame = pd.read_csv(mixed / "mixed.csv", dtype=str, keep_default_na=False)
    base = sqlite3.connect(tmp_path / "shop.db")
    frame.to_sql("orders", base, index=False)
    base.commit()
    base.close()
    model = mixed / "logistic.sepx"
    _, plain, _ = run("predict", model, mixed / "mixed.csv", "--proba", "--quiet")
    code, out, _ = run("predict", model, "shop.db::orders", "--proba", "--quiet")
    assert code == 0 and out == plain
    code, _, said = run("predict", model, "shop.db::orders", "--proba", "--out", "made.xlsx", "--rows", "40")
    assert code == 0 and "90 rows in made.xlsx" in said
    sheet = list(openpyxl.load_workbook("made.xlsx").active.iter_rows(values_only=True))
    wanted = list(csv.reader(io.StringIO(plain)))
    assert len(sheet) == 91 and list(sheet[0]) == wanted[0]
    assert [row[0] for row in sheet] == [row[0] for row in wanted]
    assert [row[-1] for row in sheet[1:]] == pytest.approx([float(row[-1]) for row in wanted[1:]], rel=1e-15)
    code, out, _ = run("predict", model, "made.xlsx", "--only", "--quiet")
    assert code == 0 and out.splitlines() == ["predicted", *[row[-3] for row in wanted[1:]]]
    code, out, _ = run("predict", model, mixed / "mixed.csv", "--only", "--proba", "--out", "a.jsonl")
    held = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert code == 0 and len(held) == 90 and list(held[0]) == ["predicted", "p(no)", "p(yes)"]
    code, _, said = run("predict", model, "shop.db::order")
    assert code == 1 and one_sentence(said) and "there are 'orders'" in said
    code, _, said = run("fit", "logistic", "shop.db::orders", "--target", "class", "--quiet")
    assert code == 0 and (tmp_path / "out/shop-orders/logistic.sepx").exists()


def test_sets_of_classes(run, mixed, tmp_path):
    """From a comparison by its scores out of fold, from a fit by rows kept apart."""
    table = read("iris")
    frame = table.frame.assign(species=table.labels).drop_duplicates()
    frame[::2].to_csv("train.csv", index=False)
    frame[1::2].to_csv("apart.csv", index=False)
    assert run("compare", "train.csv", "--models", "lda,logistic", "--quiet", "--budget", "0")[0] == 0
    model = "out/train/model.sepx"
    code, out, said = run("predict", model, "apart.csv", "--sets", "0.9", "--proba")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0 and "about 0.9 of rows, by 75 scores out of fold" in said
    assert list(rows[0])[-1] == "set" and np.mean([r["species"] in r["set"].split("|") for r in rows]) > 0.8
    code, out, _ = run("predict", model, "apart.csv", "--sets", "0.95", "--by-class", "--only")
    assert code == 0 and out.startswith("predicted,set\n")
    assert run("fit", "lda", "train.csv", "--out", "lda.sepx", "--quiet")[0] == 0
    code, _, said = run("predict", "lda.sepx", "apart.csv", "--sets", "0.9")
    assert code == 1 and one_sentence(said) and "--calibrate FILE" in said
    code, out, said = run("predict", "lda.sepx", "apart.csv", "--sets", "0.9", "--calibrate", "apart.csv")
    assert code == 0 and "at least 0.9 of rows drawn like the 74 held out" in said
    code, _, said = run("predict", "lda.sepx", "apart.csv", "--sets", "0.9", "--calibrate", "train.csv")
    assert code == 1 and one_sentence(said) and "rows kept apart" in said
    code, _, said = run("predict", model, "apart.csv", "--sets", "0.99")
    assert (
        code == 1 and one_sentence(said) and "take 99 out of fold rows with answers, and there are 75" in said
    )
    for wrong in ("0", "1", "1.5", "nan"):
        code, _, said = run("predict", model, "apart.csv", "--sets", wrong)
        assert code == 2 and one_sentence(said) and "no share between 0 and 1" in said
    code, _, said = run("predict", model, "apart.csv", "--by-class")
    assert code == 2 and one_sentence(said) and "add --sets" in said


def test_queries(run, mixed, tmp_path):
    made = mixed / "logistic.sepx"
    code, out, said = run("sql", made, "--dialect", "duckdb", "--table", "people", "--keep", "id")
    assert code == 0 and out.startswith("-- LogisticRegression as a query on people, for DuckDB")
    assert '"p(yes)"' in out and "a query of" in said
    code, _, said = run("sql", made, "--dialect", "oracle")
    assert code == 2 and one_sentence(said) and "there are sqlite, duckdb, postgres" in said
    code, _, said = run("sql", mixed / "extra-trees.sepx")
    assert code == 1 and one_sentence(said) and "a mean of many trees" in said
    code, _, said = run("sql", mixed / "mixed.csv")
    assert code == 1 and "not a model file" in said
    code, _, said = run("sql", made, "--keep", "predicted")
    assert code == 1 and one_sentence(said) and "'predicted'" in said
