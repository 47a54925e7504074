"""The command line: every command, its words, its exit codes, and files that are whole or not there."""

import csv
import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from separatrix.app.cli import main  # noqa: E402
from separatrix.app.errors import guarded  # noqa: E402
from separatrix.app.outputs import growing  # noqa: E402
from separatrix.files.store import load  # noqa: E402
from separatrix.tables.read import BUNDLED, read  # noqa: E402

COMMANDS = ("compare", "fit", "predict", "report", "explain", "separability", "bench")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """run("fit", "logistic", "iris") → (exit code, standard output, standard error), in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main([str(a) for a in arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return code, said.out, said.err

    return run


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A messy table of 90 rows: numbers with gaps, words, an identifier, a quoted cell; and models fitted to it."""
    place = tmp_path_factory.mktemp("mixed")
    rng = np.random.default_rng(0)
    lines = ["id,colour,size,note,class"]
    for i in range(90):
        label = "yes" if rng.random() < 0.5 else "no"
        colour = rng.choice(["red", "blue", "green"]) if label == "yes" else rng.choice(["blue", "?"])
        size = f"{rng.normal(2 * (label == 'yes')):.3f}" if rng.random() > 0.1 else "NA"
        lines.append(f'k{i:03d},{colour},{size},"a, ""{i % 7}""",{label}')
    path = place / "mixed.csv"
    path.write_text("\n".join(lines) + "\n")
    for name in ("logistic", "naive-bayes", "extra-trees"):
        assert main(["fit", name, str(path), "--quiet", "--out", str(place / f"{name}.sepx")]) == 0
    return place


def one_sentence(said):
    lines = said.strip().splitlines()
    return len(lines) == 1 and lines[0].startswith("separatrix: ") and ";" in lines[0]


# ---- help and usage ----


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches(command, run):
    code, said, _ = run(command, "-h")
    assert code == 0
    assert (
        said.count(f"separatrix {command} ") >= 2 + 1 and "Examples:" in said and "Exit codes: 0 done" in said
    )


def test_help_without_a_command_and_version(run):
    code, said, _ = run()
    assert code == 0 and all(command in said for command in COMMANDS)
    code, said, _ = run("--version")
    assert code == 0 and said.startswith("separatrix ")


@pytest.mark.parametrize(
    "arguments, holds",
    [
        (["fitt"], "fitt"),
        (["compare"], "DATA"),
        (["compare", "iris", "--bugdet", "3"], "--bugdet"),
        (["compare", "iris", "--budget", "soon"], "--budget"),
        (["compare", "iris", "--budget", "-1"], "seconds"),
        (["compare", "iris", "--models", "logistc"], "did you mean 'logistic'"),
        (["compare", "iris", "--models", "ada,nothing"], "extra_trees"),
        (["compare", "iris", "--metric", "acuracy"], "accuracy"),
        (["compare", "iris", "--metric", "cost"], "--cost"),
        (["compare", "iris", "--kinds", "a"], "column=kind"),
        (["compare", "iris", "--kinds", "a=colour"], "nominal"),
        (["fit", "logistc", "iris"], "did you mean 'logistic'"),
        (["fit", "logistic", "iris", "--set", "C"], "name=value"),
        (["fit", "logistic", "iris", "--set", "c=1"], "there are C"),
    ],
)
def test_what_is_not_understood_is_code_2_and_a_sentence(arguments, holds, run, tmp_path):
    code, out, said = run(*arguments)
    assert code == 2 and not out and one_sentence(said) and holds in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments, holds",
    [
        (["compare", "nowhere.csv"], "breast-cancer"),
        (["compare", "iris", "--target", "kind"], "'species'"),
        (["compare", "iris", "--kinds", "kind=nominal"], "--kinds names"),
        (["compare", "iris", "--cost", "{"], "JSON"),
        (["compare", "iris", "--cost", '{"rose": {"setosa": 1}}'], "versicolor"),
        (["compare", "iris", "--cost", "[[0, 1]]"], "3×3"),
        (["compare", "iris", "--models", "multinomial_nb"], "leave it out of --models"),
        (["predict", "nowhere.sepx", "iris"], "separatrix fit"),
        (["fit", "multinomial-nb", "iris"], "--kinds"),
    ],
)
def test_what_cannot_be_used_is_code_1_and_a_sentence(arguments, holds, run):
    code, out, said = run(*arguments, *(["--quiet"] if arguments[0] != "predict" else []))
    assert code == 1 and not out and one_sentence(said) and holds in said


def test_a_target_that_is_no_class_says_how_to_name_another(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i % 2},{i / 7}\n" for i in range(60)))
    code, _, said = run("compare", "t.csv", "--quiet")
    assert code == 1 and "--target" in said


def test_an_error_nobody_foresaw_is_a_sentence_and_a_trace_only_when_asked(capsys, monkeypatch):
    def work():
        raise RuntimeError("odd")

    assert guarded(work) == 1
    assert one_sentence(capsys.readouterr().err)
    monkeypatch.setenv("SEPARATRIX_DEBUG", "1")
    assert guarded(work) == 1
    assert "Traceback" in capsys.readouterr().err


# ---- compare ----


def test_compare_writes_what_it_says(run, tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.app.commands.compare.page_of", lambda *a, **k: "<html>")
    code, out, said = run("compare", "wine", "-m", "lda,naive-bayes,majority", "--budget", 20, "--out", "o")
    assert code == 0
    assert out.index("lda") < out.index("majority") and "Really worse than" in out
    assert said.index("alerts") < said.index("forecast") < said.index("written")
    assert "separatrix predict o/model.sepx wine" in said
    held = {p.name for p in (tmp_path / "o").iterdir()}
    assert held == {"model.sepx", "table.csv", "comparison.json", "report.html"}
    table = pd.read_csv(tmp_path / "o" / "table.csv")
    assert table["model"].tolist()[-1] == "majority" and table["worse"].tolist()[-1]
    wine = read("wine")
    assert (load(tmp_path / "o" / "model.sepx").predict(wine.frame) == wine.labels).mean() > 0.95


def test_compare_json_and_quiet(run, tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.app.commands.compare.page_of", lambda *a, **k: None)  # drawn above
    options = ["-m", "lda,majority", "--metric", "accuracy", "--seed", 3, "--out", "o"]
    code, out, said = run("compare", "iris", *options, "--json")
    made = json.loads(out)
    assert code == 0 and not said
    assert made["best"] == "lda" and made["metric"] == "accuracy" and made["target"] == "species"
    assert made["ranking"][0]["scores"]["accuracy"]["mean"] > 0.9
    assert made == json.loads((tmp_path / "o" / "comparison.json").read_text())
    assert "--seed 3" in made["command"]
    code, out, said = run("compare", "iris", *options, "--quiet")
    assert (code, out, said) == (0, "", "")


def test_compare_by_cost_and_on_rows_kept_apart(run, tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.app.commands.compare.page_of", lambda *a, **k: None)
    table = read("breast-cancer")
    frame = table.frame.iloc[:, :4].assign(diagnosis=table.labels)
    frame.iloc[::2].to_csv("train.csv", index=False)
    frame.iloc[1::2].to_csv("test.csv", index=False)
    (tmp_path / "cost.json").write_text('{"malignant": {"benign": 10}, "benign": {"malignant": 1}}')
    code, out, _ = run(
        "compare", "train.csv", "-t", "diagnosis", "-m", "lda,majority", "--cost", "cost.json", "--test", "test.csv",
        "--json",
    )  # fmt: skip
    made = json.loads(out)
    assert code == 0 and made["metric"] == "cost"
    assert made["test"]["lda"]["cost"]["mean"] < made["test"]["majority"]["cost"]["mean"]
    assert (tmp_path / "out" / "train" / "model.sepx").exists()
    (tmp_path / "new.csv").write_text((tmp_path / "test.csv").read_text().replace("benign", "unsure"))
    code, _, said = run("compare", "train.csv", "-t", "diagnosis", "--test", "new.csv", "--quiet")
    assert code == 1 and one_sentence(said) and "'unsure'" in said and "malignant" in said


@pytest.mark.slow
def test_compare_draws_a_page(run, tmp_path):
    pytest.importorskip("matplotlib")
    code, _, said = run("compare", "iris", "-m", "lda,majority")
    assert code == 0 and "no report" not in said
    assert (tmp_path / "out" / "iris" / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_an_answer_is_not_lost_for_want_of_a_picture(run, tmp_path, monkeypatch):
    report = pytest.importorskip("separatrix.show.report")

    def fails(*a, **k):
        raise RuntimeError("no ink")

    monkeypatch.setattr(report, "report_html", fails)
    code, _, said = run("compare", "iris", "-m", "lda,majority")
    assert code == 0 and "no report: RuntimeError: no ink" in said
    held = sorted(p.name for p in (tmp_path / "out" / "iris").iterdir())
    assert held == ["comparison.json", "model.sepx", "table.csv"]


SLOW = """
import sys, time
import separatrix.judge.schedule as schedule
from separatrix.app.cli import main
work = schedule.Race._work
def slow(self, name, s):
    found = work(self, name, s)
    if s >= 5:
        print("waiting", flush=True)
        for _ in range(600):
            time.sleep(0.1)
            if self._stop: break
    return found
schedule.Race._work = slow
sys.exit(main(["compare", "iris", "-m", "lda,majority", "--budget", "0", "--out", "o", "--quiet"]))
"""


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline().startswith("waiting")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in said and "Traceback" not in said
    made = json.loads((tmp_path / "o" / "comparison.json").read_text())
    assert made["interrupted"] and made["folds"] == 5 and made["best"] == "lda"
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == ["comparison.json", "table.csv"]


def test_ctrl_c_during_fit_writes_the_best_so_far(run, monkeypatch):
    """The command owns the loop: what was reached is written, and the exit code says that it was cut short."""
    from separatrix.solve import smo

    calls, real = [], smo.smo_loops.pairs

    def pressed(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(smo.smo_loops, "pairs", pressed)
    code, said, heard = run("fit", "rbf-svc", "wine", "--out", "m.sepx")
    assert code == 130 and "interrupted" in said + heard and "the best so far is written" in heard
    kept = load("m.sepx")
    assert kept.steps[-1][1].verdict_.status == "interrupted"
    assert len(kept.predict(read("wine").frame)) == 178


# ---- fit, predict, report, explain ----


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
    code, _, said = run("predict", mixed / "naive-bayes.sepx", mixed / "mixed.csv", "--out", "o.xlsx")
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


def test_what_has_no_explanation_says_so(mixed, run):
    code, _, said = run("explain", mixed / "extra-trees.sepx", mixed / "mixed.csv", "--row", 1)
    assert code == 1 and one_sentence(said) and "no exact explanation" in said and "logistic" in said
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
    monkeypatch.setattr("separatrix.app.commands.bench.home", lambda: None)
    code, _, said = run("bench")
    assert code == 1 and one_sentence(said)


# ---- the terminal and the process ----


def test_what_a_file_holds_cannot_write_on_the_terminal(run, tmp_path):
    rows = "".join(f"{'ab'[i % 2]},{i % 5}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("\x1b[31mred,x\n" + rows)
    code, out, said = run("separability", "t.csv", "--target", "x")
    assert "\x1b" not in out + said
    code, out, said = run("separability", "t.csv", "--target", "\x1b[2Jnone")
    assert code == 1 and "\x1b" not in out + said


def test_python_m_separatrix(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "separatrix", "separability", "iris", "-q"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_importing_separatrix_loads_no_terminal():
    code = "import sys, separatrix; print(any(m in sys.modules for m in ('typer', 'rich', 'pandas')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert done.stdout == "False\n"
