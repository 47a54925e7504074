"""compare under a budget: who is cut and who comes back, threads, Ctrl-C, and what is told on the way."""

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


@pytest.mark.slow
def test_the_same_for_any_number_of_threads_and_any_budget_that_does_not_bind():
    X, y = blobs(90)
    names = [*QUICK, "logistic", "adaboost", "extra_trees", "bagged_trees", "svc"]
    one, two = (compare(X, y, models=names, cv=3, budget=b, n_jobs=j) for b, j in ((None, 1), (1e6, 2)))
    assert one.ranking == two.ranking and one.used == two.used
    for name in names:
        np.testing.assert_array_equal(one.out_of_fold(name)[1], two.out_of_fold(name)[1])
        for metric in ("log_loss", "auc", "calibration_error"):
            assert one.scores[name][metric] == two.scores[name][metric]
    np.testing.assert_array_equal(one.best_model.predict_proba(X), two.best_model.predict_proba(X))


def test_a_budget_cuts_the_slow_and_keeps_the_quick(clock):
    X, y = blobs()
    found = compare(X, y, models={"quick": Slow(0.1), "slow": Slow(20.0)}, cv=(5, 1), budget=60, n_jobs=1)
    assert found.ranking == ("quick",)
    assert found.cut["slow"].startswith("4 folds of about 20 s each do not fit into the 40 s left of 60 s")
    assert "Not ranked for want of time: slow (20 s a fold); about 150 s would do." in str(found)
    assert found.reasons == {"slow": "time"} and found.needed == pytest.approx(20.6 + 4 * 20 + 20)
    assert (found.budget, found.forecast["slow"]) == (60, 20.0 * 6) and clock.now < 60


def test_a_model_that_was_cut_comes_back_where_time_is_left(clock):
    """Its first fold is slow; as there is time to try again, it is tried again, and fits."""
    X, y = blobs()

    class Warming(Slow):
        fits = 0

        def fit(self, X, y):
            type(self).fits += 1
            self.clock.sleep(20.0 if self.fits == 1 else 0.0)
            return super().fit(X, y)

    found = compare(X, y, models={"warming": Warming(0.1)}, cv=(5, 1), budget=70, n_jobs=1)
    assert found.ranking == ("warming",) and len(found.used) == 5 and not found.cut


@pytest.mark.parametrize("budget, repetitions", [(1e3, 4), (25.0, 2), (12.0, 1)])
def test_repetitions_as_the_budget_lets(clock, budget, repetitions):
    X, y = blobs()
    found = compare(X, y, models={"s": Slow(3.0)}, cv=(3, 4), budget=budget, n_jobs=1)
    assert len(found.used) == 3 * repetitions and not found.cut  # whole repetitions, never a part of one
    assert clock.now <= budget + 3.0


def test_large_tables_are_forecast_by_pilots(clock):
    """Seconds grow with the rows: 150 and 600 of them tell what 6,000 take, before any fold is fitted."""
    X, y = blobs(9000)

    class Growing(PeerNB):
        def __init__(self, seconds=1.0):
            super().__init__()
            self.seconds = seconds

        def fit(self, X, y):
            clock.sleep(self.seconds * len(y) / 1000)
            return super().fit(X, y)

    events = []
    models = {"quick": Growing(0.01), "dear": Growing(100.0)}
    found = compare(X, y, models=models, cv=3, budget=400, n_jobs=1, on_progress=events.append)
    told = next(e for e in events if e.kind == "forecast").data
    assert 600 < told["dear"] / 4 < 900 and found.cut["dear"].startswith("3 folds of about")
    assert found.ranking == ("quick",)


def test_a_forecast_that_was_too_high_is_put_right(clock):
    """The pilots take long, the folds do not: the model is cut by the forecast, tried all the same, and ranked."""
    X, y = blobs(9000)

    class Shy(PeerNB):
        def fit(self, X, y):
            clock.sleep(0.1 + 0.01 * len(y) if len(y) < 1000 else 15.0)
            return super().fit(X, y)

    events = []
    models = {"quick": PeerNB(), "shy": Shy()}
    found = compare(X, y, models=models, cv=3, budget=150, n_jobs=1, on_progress=events.append)
    assert [e.model for e in events if e.kind == "cut"] == ["shy"] and not found.cut
    assert set(found.ranking) == {"quick", "shy"} and clock.now <= 150


def test_a_fit_past_the_budget_ends_between_its_inner_fits(clock):
    X, y = blobs()
    long = Tuned(Slow(1.0), [{"seconds": 1.0}] * 100)
    found = compare(X, y, models={"quick": Slow(0.0), "long": long}, cv=2, budget=20.0, n_jobs=1)
    assert clock.now <= 11  # not 300 s, nor 20 s: after 10 s it is clear that two folds do not fit in
    assert found.ranking == ("quick",)
    assert found.cut["long"] == "fold 1 took so long that 2 folds do not fit into 20 s"
    assert "long (over 11 s a fold); it takes more than 50 s." in str(found)


def test_time_is_kept_for_the_winners_fit_to_all_rows(clock):
    """Three folds of 3 s and the fit to all rows are 12 s: in 11 s, with a tenth of grace, it fits; in 10 s not."""
    X, y = blobs()
    models = {"majority": CANDIDATES["majority"], "s": SlowNB(3.0)}
    found = compare(X, y, models=models, cv=3, budget=11.0, n_jobs=1)
    assert set(found.ranking) == {"s", "majority"} and clock.now == pytest.approx(12.0)
    clock.now = 0.0
    found = compare(X, y, models=models, cv=3, budget=10.0, n_jobs=1)
    assert found.ranking == ("majority",) and found.reasons == {"s": "time"}
    assert clock.now <= 6.0  # no fold is begun for nothing


def test_time_is_kept_to_judge_all_models_on_test_rows(clock):
    X, y = blobs()
    models = {"a": Slow(1.0), "b": Slow(1.0)}
    found = compare(X, y, models=models, cv=(3, 9), budget=20.0, n_jobs=1, test=(X, y))
    assert set(found.tested) == {"a", "b"} and clock.now <= 20.0
    assert len(found.used) == 6  # 12 s of folds; a third repetition would leave no time for the two fits


def test_a_model_that_was_cut_is_called_off_in_its_other_folds(clock):
    """Folds side by side: where one shows that the model cannot be finished, the others end at once."""
    X, y = blobs()
    long = Tuned(Slow(1.0), [{"seconds": 1.0}] * 100)
    found = compare(X, y, models={"quick": Slow(0.0), "long": long}, cv=4, budget=20.0, n_jobs=2)
    assert [m for m, why in found.reasons.items() if why == "time"] == ["long"]
    assert clock.now <= 18  # by how the threads take turns; all folds would have taken the 20


def test_a_begun_model_goes_before_one_that_is_not(clock):
    """Where two cannot both be finished, the one with folds done is."""
    X, y = blobs()
    models = {"first": Slow(2.0), "second": Slow(1.9)}
    found = compare(X, y, models=models, cv=(5, 1), budget=13.0, n_jobs=1)
    assert found.ranking == ("first",) and found.reasons == {"second": "time"}


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


def test_a_budget_for_nothing_is_told(clock):
    X, y = blobs()
    with pytest.raises(ValueError, match="no model finished within the budget"):
        compare(X, y, models={"long": Tuned(Slow(1.0), [{"seconds": 1.0}] * 50)}, cv=2, budget=3.0)
    clock.now = 0.0
    models = {"majority": CANDIDATES["majority"], "slow": Slow(5.0)}
    found = compare(X, y, models=models, cv=2, budget=1.0, n_jobs=1)
    assert found.ranking == ("majority",) and "slow" in found.cut  # the shares cost nothing and are never cut


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_is_finished(n_jobs):
    X, y = blobs()
    pressed = []

    def press(progress):
        if progress.kind == "fold" and progress.model == "slow" and not pressed:
            pressed.append(progress)
            _thread.interrupt_main()

    models = {"quick": Slow(0.0), "slow": Slow(0.2)}
    found = compare(X, y, models=models, cv=(3, 20), budget=None, n_jobs=n_jobs, on_progress=press)
    assert found.interrupted and "Interrupted" in str(found)
    assert "quick" in found.ranking and 0 < len(found.folds) < 120
    assert not found.models.fitted  # nothing is fitted after Ctrl-C, but on demand
    assert found.best_model.predict(X[:2]).shape == (2,)
    alive = [t for t in threading.enumerate() if t.name.startswith("separatrix-judge")]
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
    assert [e.done for e in folds] == list(range(1, 10)) and folds[-1].total == 9
    assert folds[-1].standing["lda"] == (3, pytest.approx(found.scores["lda"]["log_loss"].mean))
    assert names == {threading.current_thread().name}
    assert tuple(events[0].data) == found.alerts


def test_a_model_that_fails_is_cut_with_its_words():
    X, y = blobs()
    found = compare(X, y, models={"good": PeerNB(), "bad": Broken()}, cv=3, n_jobs=1)
    assert found.ranking == ("good",) and found.cut["bad"] == "failed in fold 1: no luck today"
    with pytest.raises(ValueError, match="no luck today"):
        compare(X, y, models={"bad": Broken()}, cv=3)


def test_estimators_are_left_as_they_are():
    X, y = blobs()
    mine = PeerNB()
    compare(X, y, models={"mine": mine}, cv=3)
    assert not hasattr(mine, "classes_")


def test_one_failure_does_not_end_it_where_others_were_late(clock):
    X, y = blobs()
    models = {"majority": CANDIDATES["majority"], "bad": Broken(), "slow": Slow(50.0)}
    found = compare(X, y, models=models, cv=3, budget=20.0, n_jobs=1)
    assert found.ranking == ("majority",) and found.reasons == {"bad": "failed", "slow": "time"}


def test_compiling_is_no_part_of_a_budget_nor_of_a_forecast(monkeypatch):
    """A fit that compiles a loop for a minute costs what it costs without."""
    clock, compiled = [100.0], {"compiled": 3.0}
    monkeypatch.setattr(budget_module.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(budget_module.telling, "seconds", compiled)
    monkeypatch.setattr(budget_module.telling, "compiled_here", lambda: compiled["compiled"])
    allowed = budget_module.Allowed(began=100.0, seconds=30.0, workers=2)
    plan = object.__new__(budget_module.Budget)
    plan.allowed = allowed
    began = budget_module.working()
    clock[0] += 65.0
    compiled["compiled"] += 60.0
    assert plan.elapsed() == pytest.approx(5.0) and plan.left() == pytest.approx(25.0)
    assert budget_module.working() - began == pytest.approx(5.0)
