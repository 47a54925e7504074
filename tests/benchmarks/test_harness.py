"""The harness runs, judges fairly and refuses nonsense. Tiny sizes; no assertion about time."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from benchmarks import judge, objective, report, shared, text
from benchmarks.__main__ import main, run
from benchmarks.model import (
    Dataset,
    GaussianAnswer,
    Goal,
    KernelAnswer,
    LinearAnswer,
    Options,
    Row,
    ScoredAnswer,
    Task,
    Workload,
)
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


def test_softmax_and_latency_run():
    softmax, latency = run(["L2", "C2"], replace(TINY, scale=0.005))
    assert {row.status for row in softmax.rows + latency.rows} == {"ok"}
    assert next(row for row in softmax.rows if row.peer == "null").objective == pytest.approx(np.log(10))


def test_memory_weighs_each_part_with_the_peers_that_know_it():
    assert WORKLOADS["M1"].parts == ("L1", "N1-fit", "N1-predict", "N2")
    (memory,) = run(["M1"], replace(TINY, peers=("sklearn-lsqr", "null"), scale=0.001))
    parts = [(row.part, row.peer) for row in memory.rows]
    nulls = [("L1", "null"), ("N1-fit", "null"), ("N1-predict", "null"), ("N2", "null")]
    assert sorted(parts) == sorted([*nulls, ("N2", "sklearn-lsqr")])
    assert [part for part, _ in parts] == sorted(part for part, _ in parts)  # grouped
    assert all(row.memory is not None and row.memory >= 0 for row in memory.rows)
    assert "N1-predict" in report.plain(memory)


GENERATIVE = ("separatrix", "sklearn", "sklearn-lsqr", "sklearn-svd", "sklearnex", "null")


def agree(result, *peers: str) -> None:
    """Exactly these ran beside the null rival, at the same score; the null rival is marked as worse."""
    ran = {row.peer: row for row in result.rows if row.status == "ok"}
    assert set(ran) == {*peers, "null"}, result.rows
    for name in peers:
        assert ran[name].objective == pytest.approx(ran["separatrix"].objective, rel=1e-9)
        assert judge.WORSE not in ran[name].notes
    assert judge.WORSE in ran["null"].notes


def test_gaussian_naive_bayes_has_a_goal_for_fit_and_one_for_predict():
    fit, predict = run(["N1"], replace(TINY, peers=GENERATIVE))
    assert (fit.id, predict.id) == ("N1-fit", "N1-predict")
    for result in (fit, predict):
        agree(result, "separatrix", "sklearn")
        assert result.reference == "sklearn" and result.speedup is not None and result.met is not None
    assert "leaves gaussian nb to scikit-learn" in notes(fit, "sklearnex")
    assert 0 < next(row.objective for row in predict.rows if row.peer == "separatrix") < 0.5


def test_linear_discriminants_run():
    (result,) = run(["N2"], replace(TINY, peers=GENERATIVE, scale=0.005))
    agree(result, "separatrix", "sklearn-lsqr", "sklearn-svd")


def test_multinomial_naive_bayes_runs(monkeypatch):
    monkeypatch.setattr(shared, "available", lambda: False)
    monkeypatch.setattr(text, "DOCUMENTS", 400)
    monkeypatch.setattr(text, "WORDS", 1_000)
    (result,) = run(["N3"], replace(TINY, peers=GENERATIVE, scale=1.0))
    agree(result, "separatrix", "sklearn")
    assert "400×1,000" in result.source


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
    "argv",
    [
        ["L9"],
        ["N"],
        ["N1-score"],
        ["L1", "--peers", "sklearn,nobody"],
        ["L1", "--save", "/no/such/dir/x.json"],
    ],
)
def test_nonsense_is_refused_in_one_sentence(argv, capsys):
    assert main(argv) == 2
    complaint = capsys.readouterr().err.strip()
    assert complaint.startswith("benchmarks: ")
    assert "\n" not in complaint


def test_kernel_machines_agree_in_fit_and_in_prediction():
    peers = ("separatrix", "sklearn", "sklearnex")
    fit, predict, decision = run(["S1", "S7"], replace(TINY, peers=peers, scale=0.02))
    assert (predict.id, decision.id) == ("S7-predict", "S7-decision")
    for row in fit.rows:
        assert row.status in ("ok", "missing"), row
        assert row.excess is None or row.excess < 1e-4, row
    for result in (predict, decision):
        scored = [row for row in result.rows if row.status == "ok"]
        assert {row.peer for row in scored} >= {"separatrix", "sklearn"}
        assert {row.objective for row in scored} == {scored[0].objective}
        assert 0 < scored[0].objective < 0.5


@pytest.mark.skipif(not shared.available(), reason="no shared data beside the project")
def test_kernel_machines_agree_on_sparse_rows_and_on_ten_classes():
    peers = ("separatrix", "sklearn", "sklearnex", "libsvm")
    for result in run(["S5", "S6"], replace(TINY, peers=peers, scale=0.02)):
        assert {"separatrix", "sklearn"} <= {row.peer for row in result.rows if row.status == "ok"}
        for row in result.rows:
            assert row.status in ("ok", "missing"), row
            assert row.excess is None or row.excess < 1e-3 * row.objective, row


@pytest.mark.parametrize("id_", ["S5", "S6"])
def test_a_workload_without_its_data_is_skipped_with_a_sentence(id_, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SEPARATRIX_SHARED", str(tmp_path))
    assert main([id_, "--repeat", "1"]) == 0
    printed = capsys.readouterr().out
    assert f"skipped: no shared data at {tmp_path / 'data'}: set SEPARATRIX_SHARED" in printed
    assert "──" not in printed


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_kernel_objective_is_what_the_machine_says_of_itself(K, gamma, storage):
    from separatrix import SVC

    rng = np.random.default_rng(0)
    y = np.arange(90) % K
    X = storage(np.round(rng.standard_normal((90, 5)) + 1.5 * np.eye(K, 5)[y], 1))
    model = SVC(C=2.0, gamma=gamma).fit(X, y)
    answer = KernelAnswer(model.dual_coef_, model.support_, model.intercept_)
    task = Task("T", "svc_rbf", 90, 5, K, C=2.0, gamma=gamma)
    value = objective.kernel_hinge(answer, Dataset(X, y, "by hand"), task)
    assert value == pytest.approx(model.verdict_.objective / 90, rel=1e-10)
    worse = answer._replace(intercept=model.intercept_ + 0.1)
    assert objective.kernel_hinge(worse, Dataset(X, y, "by hand"), task) > value


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
    assert judged(Row("sklearn", memory=20, share=0.2), goal=goal).met is None


def test_memory_goal_must_be_met_in_every_part():
    goal = Goal("below 10 %", share=0.1)
    light, heavy = (Row("separatrix", memory=m, share=m / 100, part=f"P{m}") for m in (5, 20))
    result = judged(light, heavy, Row("sklearn", memory=1, share=0.01, part="P20"), goal=goal)
    assert result.met is False
    assert "P5 5.0 %, P20 20.0 %" in result.verdict
    assert [row.peer for row in result.rows] == ["separatrix", "sklearn", "separatrix"]
    broken = Row("separatrix", "failed", part="P9")
    assert judged(light, broken, goal=goal).met is False
    assert "P9 failed" in judged(light, broken, goal=goal).verdict


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
    assert objective.logistic(answer, data, task) == pytest.approx((3 * losses + 0.5 * w**2) / 2, rel=1e-14)
    assert objective.log_loss(answer, data, task) == pytest.approx(losses / 2, rel=1e-14)


def test_joint_likelihood_by_scipy(monkeypatch):
    monkeypatch.setattr(objective, "BLOCK", 7)
    rng = np.random.default_rng(0)
    X, y = rng.normal(3.0, 2.0, (20, 4)), rng.integers(3, size=20)
    answer = GaussianAnswer(np.array([0.2, 0.3, 0.5]), rng.normal(size=(3, 4)), rng.uniform(0.5, 2, (3, 4)))
    data, task = Dataset(X, y, "20 rows"), Task("T", "gaussian_nb", 20, 4, 3)
    log = norm.logpdf(X, answer.mean[y], np.sqrt(answer.variance[y])).sum(axis=1) + np.log(answer.prior[y])
    assert objective.joint(answer, data, task) == pytest.approx(-log.mean(), rel=1e-13)
    with pytest.raises(ValueError, match="not"):
        objective.joint(answer, data, replace(task, p=5))


def test_claimed_labels_and_accuracy_are_checked():
    X, y = np.eye(3), np.array([0, 1, 1])
    data, task = Dataset(X, y, "three rows"), Task("T", "multinomial_nb", 3, 3, 3)
    assert objective.errors(np.array([0, 1, 2]), data, task) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="labels"):
        objective.errors(np.array([0, 1]), data, task)
    honest = ScoredAnswer(np.eye(3), np.zeros(3), 2 / 3)
    linear = LinearAnswer(honest.coef, honest.intercept)
    assert objective.log_loss_and_accuracy(honest, data, task) == objective.log_loss(linear, data, task)
    for claim in (1.0, float("nan")):
        with pytest.raises(ValueError, match="scored itself"):
            objective.log_loss_and_accuracy(honest._replace(accuracy=claim), data, task)


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
