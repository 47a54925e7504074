"""The harness runs, judges fairly and refuses nonsense. Tiny sizes; no assertion about time."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import judge, report, shared
from benchmarks.__main__ import main, run
from benchmarks.model import Dataset, Goal, LinearAnswer, Options, Row, Task, Workload
from benchmarks.objective import logistic
from benchmarks.peers import PEERS
from benchmarks.workloads import WORKLOADS

TINY = Options(peers=("sklearn", "null"), repeat=1, scale=0.001)


@pytest.fixture(autouse=True)
def cache_apart(tmp_path, monkeypatch):
    """Data made by tests stay out of the user's cache."""
    monkeypatch.setenv("SEPARATRIX_BENCH_CACHE", str(tmp_path / "cache"))


def judged(*rows: Row, goal: Goal | None = None):
    """A report on hand-made rows."""
    workload = Workload("T", "test", goal or Goal("2×", speedup=2.0), run=lambda w, o, s: None)
    return judge.report(workload, "by hand", "s", rows, TINY)


def notes(result, peer: str) -> tuple[str, ...]:
    return next(row.notes for row in result.rows if row.peer == peer)


def test_race_runs_and_marks_the_null_rival():
    (result,) = run(["L1"], TINY)
    by_name = {row.peer: row for row in result.rows}
    assert by_name["sklearn"].status == by_name["null"].status == "ok"
    assert result.reference == "sklearn"
    assert by_name["null"].objective == pytest.approx(np.log(2))
    assert judge.WORSE in by_name["null"].notes
    assert judge.WORSE not in by_name["sklearn"].notes
    assert len(by_name["sklearn"].growth) == 3


def test_softmax_latency_and_memory_run():
    softmax, latency, memory = run(["L2", "C2", "M1"], replace(TINY, scale=0.005))
    assert {row.status for row in softmax.rows + latency.rows + memory.rows} == {"ok"}
    assert next(row for row in softmax.rows if row.peer == "null").objective == pytest.approx(np.log(10))
    assert all(row.memory is not None and row.memory >= 0 for row in memory.rows)


def test_command_line_prints_saves_and_shows_again(tmp_path, capsys):
    file = tmp_path / "results.json"
    argv = ["L1", "--peers", "sklearn,null", "--peers-only", "--repeat", "1", "--scale", "0.001"]
    assert main([*argv, "--save", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "worse objective" in printed
    assert "goal: 5× the fastest peer" in printed
    assert json.loads(file.read_text(encoding="utf-8"))["reports"][0]["id"] == "L1"
    assert main(["--show", str(file)]) == 0
    assert capsys.readouterr().out.strip() in printed


@pytest.mark.parametrize(
    "argv", [["L9"], ["L1", "--peers", "sklearn,nobody"], ["L1", "--save", "/no/such/dir/x.json"]]
)
def test_nonsense_is_refused_in_one_sentence(argv, capsys):
    assert main(argv) == 2
    complaint = capsys.readouterr().err.strip()
    assert complaint.startswith("benchmarks: ")
    assert "\n" not in complaint


def test_list_names_everything(capsys):
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in [*WORKLOADS, *PEERS])


def test_separatrix_counts_only_at_no_worse_objective():
    peer = Row("sklearn", seconds=1.0, objective=0.5)
    assert judged(Row("separatrix", seconds=0.1, objective=0.5), peer).met is True
    assert judged(Row("separatrix", seconds=0.6, objective=0.5), peer).met is False
    behind = judged(Row("separatrix", seconds=0.1, objective=0.5 + 1e-6), peer)
    assert behind.met is False
    assert judge.WORSE in notes(behind, "separatrix")


def test_a_faster_peer_with_a_worse_objective_is_not_the_reference():
    ours = Row("separatrix", seconds=0.4, objective=0.5)
    sloppy, honest = Row("sloppy", seconds=0.1, objective=0.6), Row("honest", seconds=1.0, objective=0.5)
    result = judged(ours, sloppy, honest)
    assert (result.reference, result.met) == ("honest", True)
    assert judge.WORSE in notes(result, "sloppy")
    assert "sloppy" in result.verdict
    # A slower peer counts even when it is worse: that is the stricter comparison.
    assert judged(ours, replace(sloppy, seconds=0.5), honest).met is False


def test_rivals_of_another_problem_never_count():
    ours = Row("separatrix", seconds=0.4, objective=0.5)
    other = Row("unpenalised", seconds=0.3, objective=0.5, counts=False)
    assert judged(ours, other).met is None


def test_memory_goal():
    goal = Goal("below 10 %", share=0.1)
    assert judged(Row("separatrix", memory=5, share=0.05), goal=goal).met is True
    assert judged(Row("separatrix", memory=20, share=0.2), goal=goal).met is False


def test_a_failing_or_absent_peer_is_a_row(monkeypatch):
    monkeypatch.setattr(type(PEERS["null"]), "fit", lambda *a: 1 / 0)
    monkeypatch.setattr(type(PEERS["glum"]), "available", lambda self: False)
    (result,) = run(["L1"], replace(TINY, peers=("sklearn", "null", "glum")))
    states = {row.peer: row.status for row in result.rows}
    assert states == {"sklearn": "ok", "null": "failed", "glum": "missing"}
    assert "ZeroDivisionError" in notes(result, "null")[0]
    assert "failed" in report.plain(result)


def test_objective_by_hand():
    X, y = np.array([[1.0], [-2.0]]), np.array([1, 0])
    data, w, b = Dataset(X, y, "two rows"), 0.7, 0.1
    losses = np.log1p(np.exp(-(w * 1 + b))) + np.log1p(np.exp(w * -2 + b))
    task = Task("T", "logistic", 2, 1, C=3.0)
    answer = LinearAnswer(np.array([[w]]), np.array([b]))
    assert logistic(answer, data, task) == pytest.approx((3 * losses + 0.5 * w**2) / 2, rel=1e-14)


def test_peers_solve_the_same_problem():
    names = ("sklearn", "sklearn-newton", "sklearnex", "glum", "liblinear")
    (result,) = run(["L1"], replace(TINY, peers=names))
    for row in result.rows:
        assert row.status in ("ok", "missing"), row
        assert row.excess is None or row.excess < 1e-4, row


def test_shared_data_absent_is_said_clearly(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_SHARED", str(tmp_path))
    assert not shared.available()
    with pytest.raises(FileNotFoundError, match="SEPARATRIX_SHARED"):
        shared.table("iris")


@pytest.mark.skipif(not shared.available(), reason="no shared data beside the project")
def test_shared_tables_encode_words_and_drop_rows_with_missing_numbers():
    X, y, names = shared.numeric("heart_cleveland")
    assert X.shape == (298, len(names))  # 5 of 303 rows lack `ca`
    assert "thal=missing" in names
    assert not np.isnan(X).any()
    assert set(y) == {"<50", ">50_1"}
    assert int(shared.table("adult").isna().sum().sum()) == 4262
    with pytest.raises(FileNotFoundError, match="wine_quality/winequality-white"):
        shared.path("wine_quality/nothing")
    with pytest.raises(ValueError, match="not a table"):
        shared.table("a9a")
