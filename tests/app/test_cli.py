"""The command line: its help, its exit codes, compare, and what it writes on a terminal."""

import json
import os
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from separatrix.app.errors import guarded  # noqa: E402
from separatrix.files.store import load  # noqa: E402
from separatrix.tables.read import read  # noqa: E402
from tests.app.said import one_sentence  # noqa: E402

COMMANDS = ("compare", "fit", "predict", "report", "explain", "separability", "sql", "doctor", "bench")


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
    assert "..." not in said.split("Commands:")[1]  # no purpose is cut short
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
        (["compare", "iris", "--models", "Decision-Tree"], "separatrix fit Decision_Tree iris"),
        (["fit", "logistc", "iris"], "did you mean 'logistic'"),
        (["fit", "Naive-Bayes-Cut", "iris"], "--models Naive-Bayes-Cut"),
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
    assert said.index("alerts") < said.index("plan: ") < said.index("written")
    assert "separatrix predict o/model.sepx wine" in said
    held = {p.name for p in (tmp_path / "o").iterdir()}
    assert held == {"model.sepx", "table.csv", "comparison.json", "plan.json", "report.html"}
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


def test_a_plan_and_the_command_in_the_report_give_the_same_again(run, tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.app.commands.compare.page_of", lambda *a, **k: None)
    code, _, _ = run(
        "compare", "iris", "-m", "lda,naive_bayes,majority", "--exhaustive", "--out", "o", "--quiet"
    )
    made = json.loads((tmp_path / "o" / "comparison.json").read_text())
    assert code == 0 and made["budget"] is None and made["larger_budget"] == ""
    words = shlex.split(made["command"])
    assert words[:2] == ["separatrix", "compare"] and words[words.index("--plan") + 1] == "o/plan.json"
    code, _, _ = run(*words[1:], "--out", "again", "--quiet")
    again = json.loads((tmp_path / "again" / "comparison.json").read_text())
    for one, two in zip(made["ranking"], again["ranking"], strict=True):
        one["scores"].pop("seconds")
        two["scores"].pop("seconds")
        assert one == two
    code, _, said = run("compare", "wine", "--plan", "o/plan.json", "--quiet")
    assert (
        code == 1 and one_sentence(said) and "the plan is of another table, of 150 rows and 4 columns" in said
    )
    code, _, said = run("compare", "iris", "--plan", "nowhere.json", "--quiet")
    assert code == 1 and "there is no plan nowhere.json" in said
    code, _, said = run("compare", "iris", "--plan", "o/plan.json", "--exhaustive", "--quiet")
    assert code == 2 and "leave one out" in said


def test_the_floor_alone_has_an_exit_code_of_its_own(run, monkeypatch):
    from separatrix.judge.contest import FLOORS
    from separatrix.judge.fits import Unwanted
    from separatrix.judge.schedule import Race

    work = Race._work

    def never(self, task):
        if task.step.model != FLOORS[0]:
            raise Unwanted
        return work(self, task)

    monkeypatch.setattr(Race, "_work", never)
    monkeypatch.setattr("separatrix.app.commands.compare.page_of", lambda *a, **k: None)
    code, _, said = run("compare", "iris", "-m", "lda,majority", "--budget", 1, "--quiet")
    assert code == 3 and one_sentence(said) and "nothing but the classes' shares could be fitted" in said


def test_what_came_first_and_is_not_ours_is_not_saved_in_silence(run, tmp_path, monkeypatch):
    monkeypatch.setattr("separatrix.app.commands.compare.page_of", lambda *a, **k: None)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.where(X[:, 0] * X[:, 1] > 0, "yes", "no"))
    frame.to_csv("t.csv", index=False)
    code, out, said = run("compare", "t.csv", "-m", "sklearn_hgb,lda", "--exhaustive", "--out", "o")
    assert code == 0 and "saved is lda, the best of ours" in said and "sklearn_hgb is scikit-learn's" in out
    assert type(load(tmp_path / "o" / "model.sepx").steps[-1][1]).__name__ == "LinearDiscriminantAnalysis"
    code, out, said = run("compare", "t.csv", "-m", "sklearn_hgb", "--exhaustive", "--out", "p", "--quiet")
    assert code == 1 and "no model file holds" in said


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
    assert held == ["comparison.json", "model.sepx", "plan.json", "table.csv"]


SLOW = """
import sys, time
import separatrix.judge.schedule as schedule
from separatrix.app.cli import main
work = schedule.Race._work
def slow(self, task):
    found = work(self, task)
    if task.step.split >= 5:
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
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == ["comparison.json", "plan.json", "table.csv"]


def test_ctrl_c_during_fit_writes_the_best_so_far(run, monkeypatch):
    """The command owns the loop: what was reached is written, and the exit code says that it was cut short."""
    from separatrix.solve import smo_few

    calls, real = [], smo_few.few_pairs

    def pressed(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(smo_few, "few_pairs", pressed)
    code, said, heard = run("fit", "rbf-svc", "wine", "--out", "m.sepx")
    assert code == 130 and "interrupted" in said + heard and "the best so far is written" in heard
    kept = load("m.sepx")
    assert kept.steps[-1][1].verdict_.status == "interrupted"
    assert len(kept.predict(read("wine").frame)) == 178


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
