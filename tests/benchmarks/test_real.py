"""The race on real tables: what is on its list, how forms are made, who counts. No assertion about time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.__main__ import main
from benchmarks.model import SUBJECT
from benchmarks.real import judgement, models, race, tables
from benchmarks.real.child import problem
from benchmarks.real.judgement import Outcome, Result
from benchmarks.real.rows import ROWS, Entry, forms


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No shared data, and a cache apart: scikit-learn's own tables stand in."""
    monkeypatch.setenv("SEPARATRIX_SHARED", str(tmp_path / "nowhere"))
    monkeypatch.setenv("SEPARATRIX_BENCH_CACHE", str(tmp_path / "cache"))


def outcome(*results: Result) -> Outcome:
    return Outcome("Q0", "by hand", "by hand", results)


def result(peer: str, seconds: float, objective: float, slack: float = 1e-4, **more) -> Result:
    return Result(peer, runs=(seconds, 2 * seconds), cpu=(seconds,), objective=objective, slack=slack, **more)


def test_the_list_holds_every_kind_of_model_form_and_table():
    assert len(ROWS) >= 40
    assert {entry.model for entry in ROWS.values()} == set(models.MODELS)
    assert {entry.table for entry in ROWS.values()} <= set(tables.TABLES)
    for name in ("order", "dtype", "strings"):
        assert min(Counter(getattr(entry, name) for entry in ROWS.values()).values()) >= 10
    assert len({entry.title for entry in ROWS.values()}) == len(ROWS)


def test_a_row_in_all_its_forms():
    entry = ROWS["Q1"]
    made = list(forms(entry))
    assert len(made) == len({each.id for each in made}) == 8
    assert all(
        (each.table, each.model, each.settings) == (entry.table, entry.model, entry.settings) for each in made
    )
    numbers = next(each for each in ROWS.values() if each.model == "SVR")
    assert len(list(forms(numbers))) == 4


@pytest.mark.parametrize("id_", ROWS)
def test_every_row_falls_back_to_a_bundled_table_and_says_so(id_):
    entry = ROWS[id_]
    data = problem(entry, quick=True)
    assert f"no shared data here for {entry.table}" in data.source
    assert data.X.dtype == entry.dtype
    if not sp.issparse(data.X):
        assert data.X.flags["F_CONTIGUOUS" if entry.order == "F" else "C_CONTIGUOUS"]
    assert data.X.shape[0] == len(data.labels) == len(data.codes)
    if entry.model == "SVR":
        assert data.codes.std() == pytest.approx(1.0)
        return
    assert (data.labels.dtype.kind == "U") == entry.strings
    np.testing.assert_array_equal(np.unique(data.labels, return_inverse=True)[1], data.codes)
    if data.by_errors:
        X, labels = data.held_out
        assert X.shape[0] == len(labels) > 0
        assert set(labels) <= set(data.labels)


def test_forms_of_tables():
    X = np.array([[1.0, 7.0, 2.0], [3.0, 7.0, 2.5], [1.0, 7.0, 9.0]])
    np.testing.assert_array_equal(tables.one_hot(X), [[0, 0, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(tables.codes(X), [[0, 0, 0], [1, 0, 1], [0, 0, 2]])
    made = tables.standardised(X)
    np.testing.assert_allclose(made.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(made.std(axis=0), [1.0, 0.0, 1.0])
    wide = sp.random_array((20, 50), density=0.4, format="csr", rng=np.random.default_rng(0))
    shuffled = tables.unsorted(wide)
    assert not sp.csr_matrix(
        (shuffled.data, shuffled.indices, shuffled.indptr), shuffled.shape
    ).has_sorted_indices
    np.testing.assert_array_equal(shuffled.toarray(), wide.toarray())


def test_a_worse_answer_is_marked_and_does_not_count():
    ours = result(SUBJECT, 1.0, 0.5)
    row = outcome(ours, result("hasty", 0.1, 0.51), result("slow", 3.0, 0.5))
    assert row.reference.peer == "slow"
    assert row.ratio == pytest.approx(3.0)
    assert any("faster, worse: hasty" in mark for mark in row.marks)
    within = outcome(ours, result("quick", 0.5, 0.5 + 0.9e-4))
    assert within.ratio == pytest.approx(0.5)


def test_a_peer_of_another_penalty_counts_by_its_own_objective():
    ours = result(SUBJECT, 1.0, 0.50, own=0.56)
    assert outcome(ours, result("sklearn", 0.5, 0.52, own=0.55)).ratio == pytest.approx(0.5)
    assert outcome(ours, result("sklearn", 0.5, 0.52, own=0.57)).reference is None
    assert outcome(ours, result("sklearn", 0.5, 0.52)).reference is None


def test_our_worse_answer_is_lost_however_fast():
    row = outcome(result(SUBJECT, 0.1, 0.51), result("sklearn", 1.0, 0.5))
    assert row.behind and row.ratio is None
    assert any("WORSE" in mark for mark in row.marks)
    assert "rows lost: 1" in judgement.summary([row])[1]


def test_a_peer_over_the_limit_is_a_lower_bound_and_the_last_resort():
    ours, over = result(SUBJECT, 2.0, 0.5), Result("sklearn", "over", (60.0,))
    assert outcome(ours, over).ratio == pytest.approx(30.0)
    assert ">30.00×" in judgement.lines(outcome(ours, over))[0]
    assert outcome(ours, over, result("libsvm", 70.0, 0.5)).reference.peer == "libsvm"


def test_the_summary_counts_by_hand():
    quick = result("peer", 0.1, 1.0, memory=1_000_000)
    rows = [
        Outcome("Q1", "", "", (result(SUBJECT, 0.025, 1.0, memory=900_000), quick)),
        Outcome("Q2", "", "", (result(SUBJECT, 0.105, 1.0), quick)),
        Outcome("Q3", "", "", (result(SUBJECT, 2.5, 1.0, memory=90_000_000), quick)),
        Outcome("Q4", "", "", (Result(SUBJECT, "failed", note="ValueError"), quick)),
        Outcome("Q5", "", "", (Result(SUBJECT, "over", (300.0,)), quick)),
    ]
    first, lost, slow, heavy = judgement.summary(rows)
    assert "3 with a peer" in first and f"{(4 * 0.1 / 0.105 * 0.04) ** (1 / 3):.2f}×" in first
    assert "rows lost: 4" in lost and "10 %: Q3 0.04×" in lost and lost.endswith("failed: Q4, Q5")
    assert slow.endswith(": Q3, Q5") and heavy.endswith(": Q3")
    assert "separatrix over 300 s" in rows[4].marks


def test_an_answer_of_liblinear_has_a_weight_for_every_column():
    entry = Entry("Q0", "covtype largest", "logistic")
    data = problem(entry)
    empty = replace(data, X=sp.csr_matrix(np.pad(data.X, ((0, 0), (0, 2)))))
    if models.available("liblinear"):
        answer = models.prepared("liblinear", entry, empty)()
        assert answer.coef.shape == (1, data.X.shape[1] + 2)
        assert np.isfinite(models.score(answer, entry, empty)[0])


def test_libraries_solve_the_same_problem_on_many_classes():
    entry = Entry("Q0", "optdigits", "LinearSVC", "unit", rows=600, order="F", dtype="float32", strings=True)
    data = problem(entry)
    scores, own = {}, {}
    for peer in (SUBJECT, "sklearn", "liblinear"):
        if models.available(peer):
            assert models.declines(peer, entry, data) is None
            answer = models.prepared(peer, entry, data)()
            scores[peer], slack = models.score(answer, entry, data)
            own[peer] = models.penalised(peer, answer, entry, scores[peer], len(data.codes))
    best = min(scores.values())
    assert best == pytest.approx(scores[SUBJECT], abs=slack)
    assert (
        max(scores.values()) < 1.1 * best
    )  # another penalty on the intercept, another tolerance: not another problem
    assert own["sklearn"] <= own[SUBJECT] + slack  # each the better one by its own objective
    assert own.get("liblinear") is None
    assert models.declines("glum", entry, data) == "has no such model"


@pytest.mark.parametrize("id_", ["Q13", "Q31", "Q34", "Q41", "Q43", "Q46", "Q55"])
def test_one_row_of_a_family_is_fitted_and_scored(id_):
    entry = ROWS[id_]
    data = problem(entry, quick=True)
    found = {}
    for peer in (SUBJECT, "sklearn"):
        answer = models.prepared(peer, entry, data)()
        found[peer] = models.score(answer, entry, data)
    assert all(np.isfinite(value) and slack > 0 for value, slack in found.values())


@pytest.mark.slow
def test_the_command_races_saves_and_shows_again(tmp_path, capsys):
    kept = tmp_path / "kept.json"
    assert main(["real", "Q13", "--quick", "--peers", "sklearn", "--save", str(kept)]) == 0
    printed = capsys.readouterr().out
    assert "scikit-learn's own tables stand in" in printed and "breast cancer" in printed
    assert "geometric mean" in printed
    assert main(["real", "--show", str(kept)]) == 0
    assert "breast cancer" in capsys.readouterr().out


@pytest.mark.slow
def test_a_process_past_the_limit_is_ended():
    terms = race.Terms(limit=1e-4, quick=True)
    found = race.run(ROWS["Q13"], [SUBJECT], terms, lambda text: None)
    assert found.results[0].status == "over" and found.results[0].seconds == race.OWN * 1e-4
    assert found.ratio is None


@pytest.mark.parametrize(
    "argv", [["Q999"], ["Q1", "--peers", "nobody"], ["--limit", "0"], ["--show", "/nowhere.json"]]
)
def test_nonsense_is_refused_in_one_sentence(argv, capsys):
    assert main(["real", *argv]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_the_list_is_printed(capsys):
    assert main(["real", "--list"]) == 0
    assert len(capsys.readouterr().out.strip().splitlines()) == len(ROWS)


def test_a_slow_spell_takes_no_time_away(monkeypatch):
    runner = race.Runner("sklearn", ROWS["Q1"], race.Terms())
    monkeypatch.setattr(runner, "end", lambda: None)

    def slow():
        raise race.TooLong

    runner.runs = [0.5]
    runner.guarded(slow)
    assert runner.status == "ok" and runner.result().seconds == 0.5 and "later round" in runner.result().note
    fresh = race.Runner("sklearn", ROWS["Q1"], race.Terms(limit=7.0))
    monkeypatch.setattr(fresh, "end", lambda: None)
    fresh.guarded(slow)
    assert fresh.status == "over" and fresh.result().seconds == 7.0
