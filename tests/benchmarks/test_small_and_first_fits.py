"""Small fits and first fits: every model has its row, a worse answer is marked, the slower are named. No timings."""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from benchmarks import first_fits, judge, parts, report, small, startup, turns
from benchmarks.__main__ import main, run, summary
from benchmarks.model import SUBJECT, Goal, Options, Row, Workload
from benchmarks.peers import PEERS
from benchmarks.workloads import WORKLOADS

TINY = Options(peers=(SUBJECT, "sklearn"), repeat=1, scale=0.001)
BOTH = (SUBJECT, "sklearn")
FAST_ENOUGH = Goal("never slower, 2× on geometric mean", speedup=2.0, each=1.0)
NOT_ABOVE = Goal("at most 1.5 s above", above=1.5)


@pytest.fixture(autouse=True)
def cache_apart(tmp_path, monkeypatch):
    """Data made by tests stay out of the user's cache."""
    monkeypatch.setenv("SEPARATRIX_BENCH_CACHE", str(tmp_path / "cache"))


def row(peer: str, part: str, seconds: float, objective: float | None = None, **more) -> Row:
    return Row(peer, seconds=seconds, objective=objective, part=part, **more)


def judged(*rows: Row, goal: Goal = FAST_ENOUGH):
    """A report on hand-made rows."""
    workload = Workload("T", "test", goal, run=lambda w, o, s: None)
    return parts.report(workload, "by hand", "s", rows, TINY)


def notes(result, peer: str, part: str) -> tuple[str, ...]:
    return next(r.notes for r in result.rows if (r.peer, r.part) == (peer, part))


@pytest.fixture
def two_quick_models(monkeypatch):
    monkeypatch.setattr(small, "MODELS", small.MODELS[:2])
    monkeypatch.setattr(small, "LEAST", 2)


# ---- judging several models ----


def test_the_geometric_mean_and_the_slower_models_are_named():
    pairs = {"A": (1.0, 8.0), "B": (1.0, 0.5), "C": (1.0, 0.9), "D": (1.0, 1.0)}
    result = judged(
        *[row(p, part, s) for part, both in pairs.items() for p, s in zip(BOTH, both, strict=True)]
    )
    assert result.met is False
    assert result.speedup == pytest.approx((8 * 0.5 * 0.9) ** 0.25)
    assert "slower: B 0.50×, C 0.90×" in result.verdict
    assert f"{result.speedup:.2f}× the speed of sklearn on geometric mean" in result.verdict
    assert [(r.peer, r.part) for r in result.rows] == [(p, part) for part in pairs for p in BOTH]
    assert next(r.ratio for r in result.rows if (r.peer, r.part) == (SUBJECT, "B")) == 2.0


@pytest.mark.parametrize("ours, met", [(0.4, True), (0.6, False)])
def test_no_slower_model_and_twice_as_fast_is_met(ours, met):
    result = judged(row(SUBJECT, "A", ours), row("sklearn", "A", 1.0))
    assert result.met is met
    assert "slower: none" in result.verdict


def test_a_faster_but_worse_answer_is_marked_and_does_not_count():
    rows = row(SUBJECT, "A", 0.1, 0.5 + 1e-6), row("sklearn", "A", 1.0, 0.5)
    result = judged(*rows)
    assert judge.WORSE in notes(result, SUBJECT, "A")
    assert judge.WORSE not in notes(result, "sklearn", "A")
    assert result.met is False
    assert "worse objective: A" in result.verdict
    assert "worse objective" in report.plain(result)
    within = judged(*[replace(each, spread=1e-3) for each in rows])
    assert within.met is True
    assert judge.WORSE not in notes(within, SUBJECT, "A")


def test_a_worse_rival_is_marked_and_counts_all_the_same():
    result = judged(row(SUBJECT, "A", 1.0, 0.5), row("sklearn", "A", 0.5, 0.6))
    assert judge.WORSE in notes(result, "sklearn", "A")
    assert result.met is False
    assert "slower: A 0.50×" in result.verdict


def test_a_model_that_failed_leaves_the_goal_missed():
    result = judged(
        row(SUBJECT, "A", 0.1),
        row("sklearn", "A", 1.0),
        Row(SUBJECT, "failed", part="B"),
        row("sklearn", "B", 1.0),
    )
    assert result.met is False
    assert "failed: B" in result.verdict
    assert judged(row("sklearn", "A", 1.0)).met is None
    assert judged(row(SUBJECT, "A", 1.0)).met is None


def test_seconds_above_are_counted_and_named():
    near = [row(SUBJECT, "A", 2.0), row("sklearn", "A", 1.0)]
    far = [row(SUBJECT, "B", 4.0), row("sklearn", "B", 1.0)]
    met, missed = judged(*near, goal=NOT_ABOVE), judged(*near, *far, goal=NOT_ABOVE)
    assert met.met is True
    assert "at most 1.00 s above sklearn (A)" in met.verdict
    assert missed.met is False
    assert "1 of 2 more than 1.5 s above sklearn: B 3.00 s" in missed.verdict


def test_the_summary_gives_no_single_time_for_several_models():
    result = judged(row(SUBJECT, "A", 0.4), row("sklearn", "A", 1.0))
    (line,) = summary([result])
    assert line.endswith("slower: none")


# ---- small data ----


def test_every_shape_is_fitted_and_predicted():
    assert [WORKLOADS[f"F{i}"].title.split(" ")[0] for i in range(1, 7)] == ["fit"] * 3 + ["predict"] * 3
    shapes = [(100, 5), (150, 4), (1000, 20)]
    for i, shape in enumerate(shapes * 2, 1):
        data = WORKLOADS[f"F{i}"].data(0.001)
        assert data.X.shape == shape  # at any scale
        assert len(np.unique(data.y)) == (3 if shape[0] == 150 else 2)


@pytest.mark.slow
@pytest.mark.parametrize("id_", ["F2", "F5"])
def test_seven_models_run_and_agree(id_):
    (result,) = run([id_], TINY)
    assert [r.part for r in result.rows] == [model.name for model in small.MODELS for _ in BOTH]
    assert {r.status for r in result.rows} == {"ok"}
    assert not any(judge.WORSE in r.notes for r in result.rows if r.peer == SUBJECT), report.plain(result)
    assert len(small.MODELS) == 7


def test_a_wrong_fit_and_a_wrong_prediction_are_marked(monkeypatch, two_quick_models):
    from separatrix import LogisticRegression

    def nowhere(self, X, y):
        self.coef_, self.intercept_ = np.zeros((1, X.shape[1])), np.zeros(1)
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    monkeypatch.setattr(LogisticRegression, "fit", nowhere)
    for result in run(["F1", "F4"], TINY):
        assert judge.WORSE in notes(result, SUBJECT, "LogisticRegression"), report.plain(result)
        assert judge.WORSE not in notes(result, SUBJECT, "LinearDiscriminantAnalysis")
        assert "worse objective: LogisticRegression" in result.verdict
        assert result.met is False


def test_a_model_that_raises_is_a_row(monkeypatch, two_quick_models):
    from separatrix import LogisticRegression

    monkeypatch.setattr(LogisticRegression, "fit", lambda *a: 1 / 0)
    for result in run(["F1", "F4"], TINY):
        (broken,) = [r for r in result.rows if r.status == "failed"]
        assert (broken.peer, broken.part) == (SUBJECT, "LogisticRegression")
        assert "ZeroDivisionError" in broken.notes[0]
        assert "failed: LogisticRegression" in result.verdict


def test_grid_search_finds_no_worse_an_error():
    (result,) = run(["F7"], replace(TINY, scale=0.01))
    assert {r.status for r in result.rows} == {"ok"}
    ours, theirs = (next(r for r in result.rows if r.peer == peer) for peer in BOTH)
    assert (
        0 < ours.objective <= theirs.objective + ours.spread
    )  # at C = 10⁴ scikit-learn stops far from the optimum
    assert "2 values of C by 5 folds" in result.source
    assert result.reference == "sklearn"


def test_calls_take_turns():
    seen: list[str] = []
    calls = {"A": lambda: seen.append("A"), "B": lambda: seen.append("B"), "C": lambda: 1 / 0}
    times, failed = turns.by_turns(calls, 0.0, 4)
    assert "".join(seen) == "AABB" + "ABBAABBA"  # twice each before the clock runs
    assert {name: len(found) for name, found in times.items()} == {"A": 4, "B": 4}
    assert failed["C"].status == "failed"


# ---- first fits ----


def test_every_public_estimator_has_rows_it_can_read(tmp_path):
    files = first_fits.stored(tmp_path)
    for name in first_fits.estimators():
        pair = first_fits.beside(name)
        for first in (pair.ours, pair.theirs) if pair.same else (pair.ours,):
            X, y = (np.load(file) for file in files[first.reads])
            model = eval(
                f"Model({first.settings})", {"Model": getattr(import_module(first.module), first.name)}
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = np.asarray(model.fit(X, y).predict(X))
            error = eval(first.scored, {"np": np, "answer": answer, "y": y})
            assert 0 <= error < 0.7, (name, first, error)


def test_first_fits_are_compared_name_by_name(monkeypatch):
    def told(first, files, python):
        if first.name == "GaussianNB" and first.module == SUBJECT:
            return "ImportError: no such thing"
        slow = first.name == "SVC" and first.module == SUBJECT
        return first_fits.Outcome(4.0 if slow else 1.0, 0.5, 0.9 if slow else 0.1, f"/there/{first.module}")

    monkeypatch.setattr(first_fits, "process", told)
    monkeypatch.setattr(first_fits, "estimators", lambda: ("SVC", "GaussianNB", "KernelPerceptron"))
    (result,) = run(["C1-all"], replace(TINY, python=sys.executable))
    assert [(r.part, r.peer) for r in result.rows] == [
        (name, peer) for name in first_fits.estimators() for peer in BOTH
    ]
    assert judge.WORSE in notes(result, SUBJECT, "SVC")
    assert "no counterpart: LogisticRegression" in notes(result, "sklearn", "KernelPerceptron")
    assert "1 of 2 more than 1.5 s above sklearn: SVC 3.00 s" in result.verdict
    assert "worse objective: SVC; failed: GaussianNB" in result.verdict
    assert "an installed package: /there/separatrix" in result.source


def test_a_process_is_new_and_has_no_caches(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "src")
    open_ = first_fits.environment("/empty", isolated=False)
    closed = first_fits.environment("/empty", isolated=True)
    assert {open_[name] for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")} == {"/empty"}
    assert open_["PYTHONPATH"].endswith("/src") and open_["PYTHONPATH"].startswith("/")
    assert "PYTHONPATH" not in closed
    files = first_fits.stored(tmp_path)
    first = first_fits.beside("BernoulliNB").theirs
    found = first_fits.process(first, files["iris"], os.path.relpath(sys.executable))
    assert isinstance(found, first_fits.Outcome), found
    assert found.seconds >= found.imported > 0
    assert "sklearn" in found.place
    absent = first._replace(name="NoSuchModel")
    assert "NoSuchModel" in str(first_fits.process(absent, files["iris"], sys.executable))


def test_an_interpreter_that_is_not_there_is_refused_in_one_sentence(capsys):
    assert main(["C1-all", "--python", "/no/such/python"]) == 2
    assert (
        capsys.readouterr().err.strip() == "benchmarks: there is no interpreter at --python /no/such/python"
    )


def test_c1_is_one_workload_and_shows_imports_alone(monkeypatch):
    answer = [[[0.0] * 4] * 3, [0.0] * 3]
    monkeypatch.setattr(startup, "_process", lambda script: [0.5, *answer] if "fit" in script else [0.2])
    (result,) = run(["C1"], TINY)
    assert [r.part for r in result.rows] == ["", "", *[line for _, line in startup.IMPORTS]]
    assert "import separatrix" in report.plain(result)
    assert all(r.ratio == 1.0 for r in result.rows)
    json.dumps([r.runs for r in result.rows])


def test_others_decline_small_data_in_one_sentence():
    task = WORKLOADS["F1"].task(WORKLOADS["F1"].data(1.0))
    assert [name for name, peer in PEERS.items() if peer.declines(task) is None] == list(BOTH)
