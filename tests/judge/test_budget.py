"""compare under a budget: how far it goes, what is kept and said, threads, Ctrl-C, and what is told on the way."""

from __future__ import annotations

import _thread
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB as PeerNB

from separatrix import BaggingClassifier, ExtraTreesClassifier, compare
from separatrix.judge import budget as budget_module
from separatrix.judge import fits
from separatrix.judge.candidates import CANDIDATES
from separatrix.judge.fits import fitted, while_wanted
from separatrix.judge.tuning import Tuned
from tests.judge.slow import QUICK, Broken, Slow, SlowNB, blobs


def same_numbers(one, two):
    assert one.ranking == two.ranking and one.used == two.used and one.plan.steps == two.plan.steps
    for name in one.ranking:
        for metric in ("log_loss", "accuracy", "auc", "calibration_error"):
            np.testing.assert_equal(one.scores[name][metric], two.scores[name][metric])
    for a, b in zip(one.differences, two.differences, strict=True):
        np.testing.assert_equal(a.__dict__, b.__dict__)


@pytest.mark.slow
def test_the_same_for_any_number_of_threads_and_any_budget_that_does_not_bind():
    X, y = blobs(90)
    names = [*QUICK, "logistic", "adaboost", "extra_trees", "bagged_trees", "svc", "sklearn_hgb"]
    one, two = (compare(X, y, models=names, cv=3, budget=b, n_jobs=j) for b, j in ((None, 1), (1e6, 2)))
    same_numbers(one, two)
    for name in names:
        np.testing.assert_array_equal(one.out_of_fold(name)[1], two.out_of_fold(name)[1])
    np.testing.assert_array_equal(one.best_model.predict_proba(X), two.best_model.predict_proba(X))


# ---- the order ----


def rivals(seconds=1.0):
    """Models of one speed and of different worth."""
    return {
        "majority": CANDIDATES["majority"],
        "good": SlowNB(seconds),
        "same": SlowNB(seconds),
        "poor": Slow(seconds),
        "poorer": Slow(seconds),
    }


@pytest.mark.parametrize("budget", [3.0, 9.0, 15.0, 22.0, 40.0])
def test_what_a_smaller_budget_did_is_the_beginning_of_what_a_larger_one_does(clock, budget):
    X, y = blobs()
    whole = compare(X, y, models=rivals(), cv=(4, 2), budget=None, n_jobs=1)
    clock.now = 0.0
    part = compare(X, y, models=rivals(), cv=(4, 2), budget=budget, n_jobs=1)
    steps = [s for s in whole.plan.steps if s.model not in part.plan.gone]
    assert part.plan.steps == tuple(steps[: len(part.plan.steps)])
    assert clock.now <= 1.15 * budget + 5
    assert part.best in ("good", "same")


def test_a_model_that_has_a_score_stays_in_the_table(clock):
    """With less and less time there are fewer folds, wider intervals and never fewer models than have a score."""
    X, y = blobs()
    widths = []
    for budget in (100.0, 14.0, 5.9):
        clock.now = 0.0
        found = compare(X, y, models=rivals(), cv=(4, 1), budget=budget, n_jobs=1)
        assert set(found.ranking) == {s.model for s in found.plan.steps}
        assert set(found.ranking) == set(rivals())
        widths.append(found.scores["good"]["log_loss"].half)
        assert found.standing["poor"].folds <= found.standing["good"].folds
    assert found.standing["good"].folds == 1 and "1 fold of 4" in found.text()
    assert all(np.isfinite(widths)) and widths[0] < widths[-1]


def test_a_model_that_cannot_be_fitted_in_the_time_is_called_off_and_that_is_said(clock):
    X, y = blobs()
    long = Tuned(Slow(1.0), [{"seconds": 1.0}] * 100)
    found = compare(X, y, models={"quick": SlowNB(0.1), "long": long}, cv=2, budget=20.0, n_jobs=1)
    assert found.ranking == ("quick",) and found.standing["quick"].whole
    assert found.cut["long"].startswith("a fit to 75 rows was called off after 1") and found.reasons == {
        "long": "time"
    }
    assert "No score of long: a fit to 75 rows was called off" in found.text(1000)
    assert clock.now <= 20 * 1.15 + 5
    assert "With a larger budget long would be tried." in found.notes


def test_what_is_not_begun_is_said_to_be_not_begun(clock):
    X, y = blobs()
    found = compare(X, y, models={"a": SlowNB(8.0), "b": SlowNB(8.0)}, cv=2, budget=1.0, n_jobs=1)
    assert found.ranking == ("a",)
    assert found.cut == {"b": "the budget of 1 s ended before its first fit"}


def test_repetitions_are_whole_or_not_begun(clock):
    X, y = blobs()
    for budget, repetitions in ((1e3, 4), (25.0, 2), (15.0, 1)):
        clock.now = 0.0
        found = compare(X, y, models={"s": SlowNB(3.0)}, cv=(3, 4), budget=budget, n_jobs=1)
        assert len(found.used) == 3 * repetitions and not found.cut
        assert clock.now <= budget + 3.0
        assert bool(found.more) == (repetitions < 4)


def test_time_is_kept_for_the_fit_to_all_rows_and_for_what_comes_after(clock):
    X, y = blobs()
    compare(X, y, models={"s": SlowNB(3.0)}, cv=(3, 9), budget=20.0, kept=6.0, n_jobs=1)
    assert clock.now <= 14.0


def test_time_is_kept_to_judge_all_models_on_test_rows(clock):
    X, y = blobs()
    models = {"a": SlowNB(1.0), "b": SlowNB(1.0)}
    found = compare(X, y, models=models, cv=(3, 9), budget=20.0, n_jobs=1, test=(X, y))
    assert set(found.tested) == {"a", "b"} and clock.now <= 20.0
    assert len(found.used) == 6  # 12 s of folds; a third repetition would leave no time for the two fits


class Growing(PeerNB):
    """Seconds grow with the rows."""

    def __init__(self, seconds=1.0):
        super().__init__()
        self.seconds = seconds

    def fit(self, X, y):
        Slow.clock.sleep(self.seconds * len(y) / 1000)
        return super().fit(X, y)


def test_a_model_too_dear_for_all_rows_is_judged_and_kept_on_fewer(clock):
    """The best of a table of 12,500 rows is fitted to 1,000 of them where that is what the time allows."""
    X, y = blobs(12_500)
    models = {"dear": Growing(4.0), "poor": Slow(0.01)}
    found = compare(X, y, models=models, cv=5, budget=60, n_jobs=1)
    own = found.standing["dear"]
    assert found.best == "dear" and (own.trained, own.of_trained, own.rows) == (1_000, 10_000, 1_000)
    assert own.why.startswith("a fit to 4,000 rows would take about 20 s (its fit to 1,000 took 4 s)")
    assert "The model kept, dear, is fitted to 1,000 of 12,500 rows." in found.notes
    assert clock.now <= 60 and own.folds == 5
    assert found.best_model.class_count_.sum() == pytest.approx(1_000, abs=3)
    assert any("dear would be fitted to all rows" in note for note in found.notes)
    clock.now = 0.0
    whole = compare(X, y, models=models, cv=5, budget=None, n_jobs=1)
    assert whole.standing["dear"].whole and not whole.more and whole.standing["dear"].rows == 12_500


def test_samples_are_of_the_table_and_the_seed_alone(clock):
    X, y = blobs(3_000)
    one, two = (compare(X, y, models=rivals(0.0), cv=4, budget=b, n_jobs=j) for b, j in ((None, 1), (1e6, 2)))
    same_numbers(one, two)
    assert {s.rows for s in one.plan.steps if s.split == 0} == {250, 1_000, 2_250}


# ---- the same again ----


def test_a_plan_runs_again_to_the_same_numbers(clock, tmp_path):
    import json

    X, y = blobs()
    first = compare(X, y, models=rivals(), cv=(4, 2), budget=14.0, n_jobs=1)
    again = compare(X, y, models=rivals(), cv=(4, 2), plan=first.plan, budget=1e-3, n_jobs=2)
    assert set(again.plan.steps) == set(first.plan.steps)
    same_numbers(first, again)
    assert again.standing == first.standing and again.more.split("(")[0] == first.more.split("(")[0]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(first.plan.to_dict()))
    same_numbers(first, compare(X, y, models=rivals(), cv=(4, 2), plan=path))


def test_a_plan_of_something_else_is_refused_by_what_differs(tmp_path):
    X, y = blobs()
    plan = compare(X, y, models=QUICK, cv=3).plan
    with pytest.raises(ValueError, match=r"another table, of 150 rows and 3 columns; this one has 150 and 2"):
        compare(X[:, :2], y, models=QUICK, cv=3, plan=plan)
    with pytest.raises(ValueError, match="cells, names or labels differ"):
        compare(X + 1, y, models=QUICK, cv=3, plan=plan)
    with pytest.raises(ValueError, match="other folds"):
        compare(X, y, models=QUICK, cv=4, plan=plan)
    with pytest.raises(ValueError, match="ranks by 'log_loss', not by 'accuracy'"):
        compare(X, y, models=QUICK, cv=3, plan=plan, metric="accuracy")
    with pytest.raises(ValueError, match="'naive_bayes', which is not among those compared"):
        compare(X, y, models=["majority", "lda"], cv=3, plan=plan)
    with pytest.raises(ValueError, match=r"there is no plan nowhere\.json"):
        compare(X, y, cv=3, plan="nowhere.json")
    (tmp_path / "p.json").write_text("{")
    with pytest.raises(ValueError, match="it is no JSON"):
        compare(X, y, cv=3, plan=tmp_path / "p.json")
    wrong = plan.to_dict() | {"steps": [["lda", 1]]}
    with pytest.raises(ValueError, match="cannot be read"):
        compare(X, y, cv=3, plan=wrong)
    with pytest.raises(ValueError, match="has the format 7"):
        compare(X, y, cv=3, plan=plan.to_dict() | {"format": 7})


# ---- the floor, and failures ----


def test_the_floor_alone_is_no_answer_and_says_so(clock):
    X, y = blobs()
    models = {
        "majority": CANDIDATES["majority"],
        "bad": Broken(),
        "long": Tuned(Slow(1.0), [{"seconds": 1.0}] * 99),
    }
    found = compare(X, y, models=models, cv=2, budget=1.0, n_jobs=1)
    assert found.ranking == ("majority",) and found.floor_only
    assert found.reasons == {"bad": "failed", "long": "time"}
    assert any(note.startswith("Nothing but the classes' shares could be fitted") for note in found.notes)
    clock.now = 0.0
    with pytest.raises(ValueError, match="no model finished within the budget"):
        compare(X, y, models={"long": models["long"]}, cv=2, budget=1.0)


def test_the_floor_never_wins_while_another_was_fitted(clock):
    X, y = blobs()
    for budget in (0.5, 5.0, None):
        clock.now = 0.0
        models = {"majority": CANDIDATES["majority"], "poor": Slow(2.0)}  # its scores are those of the floor
        found = compare(X, y, models=models, cv=3, budget=budget, n_jobs=1)
        assert found.ranking == ("poor", "majority") and not found.floor_only


def test_a_model_that_fails_is_cut_with_its_words():
    X, y = blobs()
    found = compare(X, y, models={"good": PeerNB(), "bad": Broken()}, cv=3, n_jobs=1)
    assert found.ranking == ("good",) and found.cut["bad"] == "failed in fold 1: no luck today"
    with pytest.raises(ValueError, match="no luck today"):
        compare(X, y, models={"bad": Broken()}, cv=3)


class Tires(PeerNB):
    """Fails in its third fit."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        if self.fits == 3:
            raise ValueError("no more")
        return super().fit(X, y)


def test_a_model_that_fails_later_keeps_its_scores_and_does_not_win():
    X, y = blobs()
    found = compare(X, y, models={"tires": Tires(), "poor": Slow(0.0)}, cv=4, budget=None, n_jobs=1)
    assert found.ranking == ("poor", "tires") and found.standing["tires"].folds == 2
    assert "tires failed in fold 3: no more." in found.notes


def test_estimators_are_left_as_they_are():
    X, y = blobs()
    mine = PeerNB()
    compare(X, y, models={"mine": mine}, cv=3)
    assert not hasattr(mine, "classes_")


# ---- tuning ----


def test_tuning_counts_where_it_scores_better_and_is_nested():
    X, y = blobs()
    found = compare(X, y, models=["logistic", "naive_bayes"], cv=3, budget=None)
    tuned = [s for s in found.plan.steps if s.tuned]
    assert {s.model for s in tuned} == {"logistic", "naive_bayes"} and {s.split for s in tuned} == {0, 1, 2}
    for name in found.ranking:
        both = {}
        for how, made in ((True, CANDIDATES[name].make), (False, CANDIDATES[name].usual)):
            from separatrix.judge.facts import TableFacts, encoder_of
            from separatrix.judge.scores import log_loss

            facts, losses = TableFacts.of(X, y), []
            for split in found.splits:
                encoder = encoder_of(facts, CANDIDATES[name].form)
                A = X[split.train] if encoder is None else encoder.fit_transform(X[split.train])
                B = X[split.test] if encoder is None else encoder.transform(X[split.test])
                P = made(facts, 0, "log_loss").fit(A, y[split.train]).predict_proba(B)
                losses.append(log_loss(np.searchsorted(found.classes, y[split.test]), P))
            both[how] = np.mean(losses)
        assert found.standing[name].tuned == (both[True] < both[False])
        assert found.scores[name]["log_loss"].mean == pytest.approx(min(both.values()), rel=1e-6)


def test_ensembles_grown_in_steps_are_the_same():
    X, y = blobs(90)
    for model in (
        ExtraTreesClassifier(40, random_state=3),
        BaggingClassifier(n_estimators=40, random_state=3),
    ):
        whole = fitted(clone(model), X, y)
        asked = iter(range(100))
        with while_wanted(lambda left=asked: next(left) < 99):
            parts = fitted(clone(model), X, y)
        assert next(asked) == fits.STEPS + 1  # questions
        np.testing.assert_array_equal(whole.predict_proba(X), parts.predict_proba(X))
        for name in ("n_estimators", "warm_start"):
            assert getattr(parts, name) == getattr(model, name)


# ---- Ctrl-C and progress ----


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("at", [1, 4, 9])
def test_ctrl_c_keeps_what_is_finished(n_jobs, at):
    X, y = blobs()
    pressed = []

    def press(progress):
        if progress.kind == "fold" and progress.done == at and not pressed:
            pressed.append(progress)
            _thread.interrupt_main()

    models = {"quick": SlowNB(0.0), "slow": SlowNB(0.2)}
    found = compare(X, y, models=models, cv=(3, 20), budget=None, n_jobs=n_jobs, on_progress=press)
    assert found.interrupted and "Interrupted" in str(found)
    assert "quick" in found.ranking and 0 < len(found.folds) < 120
    assert not found.models.fitted  # nothing is fitted after Ctrl-C, but on demand
    assert found.best_model.predict(X[:2]).shape == (2,)
    alive = [t for t in threading.enumerate() if t.name.startswith("separatrix-background")]
    assert not alive  # nothing goes on in the background


def test_ctrl_c_before_anything_is_finished():
    X, y = blobs()

    class Pressed(Slow):
        def fit(self, X, y):
            _thread.interrupt_main()
            return super().fit(X, y)

    with pytest.raises(KeyboardInterrupt):
        compare(X, y, models={"pressed": Pressed(0.5)}, cv=3, n_jobs=1)


def test_progress_is_told_in_order_from_the_callers_thread():
    X, y = blobs()
    events, names = [], set()

    def listen(progress):
        events.append(progress)
        names.add(threading.current_thread().name)

    found = compare(X, y, models=QUICK, cv=3, on_progress=listen)
    kinds = [e.kind for e in events]
    assert kinds[:2] == ["alerts", "forecast"] and kinds[-2:] == ["refit", "done"]
    folds = [e for e in events if e.kind == "fold"]
    assert [e.done for e in folds] == list(range(1, len(found.plan.steps) + 1))
    assert folds[-1].standing["lda"] == (3, pytest.approx(found.scores["lda"]["log_loss"].mean))
    assert names == {threading.current_thread().name}
    assert tuple(events[0].data) == found.alerts


@pytest.mark.parametrize("budget", [None, 3.0, 9.0, 50.0, 1e4])
def test_progress_only_grows_stays_below_one_and_ends_there(clock, budget):
    X, y = blobs()
    events = []
    compare(X, y, models=rivals(), cv=(4, 2), budget=budget, n_jobs=1, on_progress=events.append)
    shares = [e.share for e in events]
    assert shares == sorted(shares) and shares[-1] == 1.0 and max(shares[:-1]) < 1.0


# ---- the clock ----


def test_compiling_is_no_part_of_a_budget_nor_of_a_forecast(monkeypatch):
    """A fit that compiles a loop for a minute costs what it costs without."""
    clock, compiled = [100.0], {"compiled": 3.0}
    monkeypatch.setattr(budget_module.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(budget_module.telling, "seconds", compiled)
    monkeypatch.setattr(budget_module.telling, "compiled_here", lambda: compiled["compiled"])
    allowed = budget_module.Allowed(began=100.0, seconds=30.0, workers=2)
    began = budget_module.working()
    clock[0] += 65.0
    compiled["compiled"] += 60.0
    assert allowed.elapsed() == pytest.approx(5.0) and allowed.left() == pytest.approx(25.0)
    assert budget_module.working() - began == pytest.approx(5.0)


# ---- how sure a score of few folds is ----


def result(test, right, split=0, rows=80, seed=0):
    """Answers to rows, of which some are right."""
    from separatrix.judge.contest import FoldResult
    from separatrix.judge.scores import scores_of

    codes = np.arange(len(test)) % 2
    said = np.where(right, codes, 1 - codes)
    p = np.random.default_rng(seed).uniform(0.6, 0.9, len(test))
    P = np.column_stack([np.where(said == 0, p, 1 - p), np.where(said == 0, 1 - p, p)])
    scores = scores_of(codes, said, P, None)
    return FoldResult("m", split, scores, 0.1, said, P, np.asarray(test), rows, False, 0.1, codes, None)


def test_the_jackknife_of_a_mean_is_its_standard_error():
    """Of 20 rows in 20 parts: Σ(x − x̄)²/(n(n − 1)); then √(1 + n_test/n_train) and t of four degrees of freedom."""
    from scipy import stats

    from separatrix.judge.paired import interval_of

    right = np.random.default_rng(1).random(20) < 0.7
    one = result(np.arange(20), right)
    found = interval_of([one], "accuracy", 0.25, 0.95, 5)
    error = np.sqrt(1.25 * right.var(ddof=1) / 20)
    assert found.high - found.low == pytest.approx(2 * stats.t.ppf(0.975, 4) * error)
    assert found.mean == pytest.approx(right.mean())


def test_a_few_rows_say_nothing():
    from separatrix.judge.paired import difference_of, interval_of

    one, two = result(np.arange(8), np.arange(8) > 0), result(np.arange(8), np.arange(8) > 6)
    assert np.isnan(interval_of([one], "accuracy", 0.25, 0.95, 5).low)
    found, _, p = difference_of([(two, one)], "accuracy", 0.25, 0.95, 5)
    assert found.mean == pytest.approx(6 / 8) and np.isnan(found.low) and np.isnan(p)


def test_a_difference_is_of_the_rows_that_both_were_judged_on():
    from separatrix.judge.paired import worse

    right = np.random.default_rng(2).random(100) < 0.6
    whole, part = result(np.arange(100), right), result(np.arange(40), right[:40], seed=1)
    assert worse([(part, whole)], "accuracy") == [pytest.approx(0.0)]
    assert worse([(part, whole)], "log_loss")[0] != 0.0  # other probabilities, on the same rows


def test_no_interval_without_width_is_shown():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    text = compare(X, y, models=["majority", "lda"], cv=3, budget=None).text()
    line = next(row for row in text.splitlines() if row.startswith("majority"))
    assert "0.000 " not in line.split("0.500")[0] and "—" in line
