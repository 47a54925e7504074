"""compare: scores of the same splits by scikit-learn, the test by hand, budgets, Ctrl-C, threads, and refusals."""

from __future__ import annotations

import _thread
import math
import threading
import time
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.integrate import quad
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB as PeerNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as PeerSVC

import separatrix.judge.compare as judge_compare
from separatrix import BaggingClassifier, ExtraTreesClassifier, LogisticRegression, compare
from separatrix.judge import budget, encoded, fits, schedule, tuning
from separatrix.judge.budget import forecast
from separatrix.judge.candidates import CANDIDATES, read_models
from separatrix.judge.facts import TableFacts, encoder_of
from separatrix.judge.fits import Unwanted, fitted, while_wanted
from separatrix.judge.folds import inner_folds, read_splits, sample
from separatrix.judge.scores import corrected_t, log_loss
from separatrix.judge.tuning import Tuned, settled
from separatrix.tables.read import read

QUICK = ["majority", "lda", "naive_bayes"]


def blobs(n=150, k=3, seed=0, spread=1.2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(0, spread, (n, 3)) + np.array([[0, 0, 0], [2, 0, 1], [0, 2, 1]])[y], np.array(
        list("abc")
    )[y]


def words(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    sky = np.where(rng.random(n) < 0.25 + 0.5 * y, "sun", "rain")
    frame = pd.DataFrame({"sky": sky, "wind": rng.normal(size=n) + y, "gap": rng.normal(size=n)})
    frame.loc[::7, "gap"] = np.nan
    return frame, np.where(y == 1, "yes", "no")


class Clock:
    """Time that passes in fits of Slow alone, so that budgets are tested to the second on any machine."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    fake = Clock()
    for module in (budget, encoded, schedule, judge_compare, tuning):
        monkeypatch.setattr(module, "time", fake)
    monkeypatch.setattr(Slow, "clock", fake)
    return fake


class Slow(ClassifierMixin, BaseEstimator):
    """A classifier that takes its time."""

    clock = time

    def __init__(self, seconds=0.05):
        self.seconds = seconds

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.share_ = np.bincount(codes) / len(codes)
        self.clock.sleep(self.seconds)
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class SlowNB(PeerNB):
    def __init__(self, seconds=0.05):
        super().__init__()
        self.seconds = seconds

    def fit(self, X, y):
        Slow.clock.sleep(self.seconds)
        return super().fit(X, y)


class Broken(Slow):
    def fit(self, X, y):
        raise ValueError("no luck today")


# ---- against scikit-learn ----


def test_scores_are_those_of_cross_val_score_on_the_same_splits():
    X, y = blobs()
    cv = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=3)
    peers = {"peer": make_pipeline(StandardScaler(), Peer()), "nb": PeerNB()}
    found = compare(X, y, models=peers, cv=cv, metric="accuracy", budget=None)
    folds = found.to_frame("folds")
    for name, model in peers.items():
        own = folds[folds.model == name]
        for column, scoring, sign in (("accuracy", "accuracy", 1), ("log_loss", "neg_log_loss", -1),
                                      ("auc", "roc_auc_ovr", 1)):  # fmt: skip
            peer = sign * cross_val_score(model, X, y, cv=cv, scoring=scoring)
            np.testing.assert_allclose(own[column], peer, rtol=1e-12)
        assert found.scores[name]["accuracy"].mean == pytest.approx(own["accuracy"].mean())
    assert (found.splits[5].repeat, found.splits[5].fold) == (1, 1)


def test_ours_on_given_pairs_equal_a_loop_by_hand():
    X, y = blobs()
    pairs = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    found = compare(X, y, models={"ours": LogisticRegression(C=2.0)}, cv=pairs, budget=None)
    losses = []
    for train, test in pairs:
        P = LogisticRegression(C=2.0).fit(X[train], y[train]).predict_proba(X[test])
        losses.append(log_loss(np.searchsorted(["a", "b", "c"], y[test]), P))
    np.testing.assert_allclose(found.to_frame("folds")["log_loss"], losses, rtol=1e-9)
    rows, P = found.out_of_fold("ours")
    assert rows.tolist() == list(range(150)) and np.allclose(P.sum(axis=1), 1)
    assert found.confusion().to_numpy().sum() == 150
    wrong = 150 - np.trace(found.confusion().to_numpy())
    assert found.scores["ours"]["error"].mean == pytest.approx(wrong / 150)


def test_differences_by_hand():
    X, y = blobs(spread=1.0)
    found = compare(X, y, models=QUICK, cv=(5, 2), budget=None)
    folds = found.to_frame("folds").pivot_table(index=["repeat", "fold"], columns="model", values="log_loss")
    best, ps = found.best, []
    assert found.ranking == tuple(folds.mean().sort_values().index)
    for difference in found.differences:
        d = (folds[difference.model] - folds[best]).to_numpy()
        t = d.mean() / np.sqrt((1 / 10 + 30 / 120) * d.var(ddof=1))
        assert difference.t == pytest.approx(t)
        assert difference.p == pytest.approx(2 * stats.t.sf(abs(t), 9))
        assert difference.mean >= 0 and difference.low <= difference.mean <= difference.high
        ps.append(difference.p)
    first, second = sorted(ps)
    assert sorted(d.p_holm for d in found.differences) == pytest.approx([2 * first, max(2 * first, second)])
    assert {d.model for d in found.differences if d.real} == {
        d.model for d in found.differences if d.p_holm < 0.05
    }
    assert set(found.equals) | {d.model for d in found.differences if d.real} == set(QUICK)
    assert "majority" in str(found) and "Really worse" in str(found)


def test_a_model_against_itself_cannot_be_told_apart():
    X, y = blobs()
    found = compare(X, y, models={"one": PeerNB(), "two": PeerNB()}, cv=5)
    (same,) = found.differences
    assert (same.mean, same.t, same.p, same.real) == (0.0, 0.0, 1.0, False)
    assert "cannot be told from" in str(found) and "cannot be told" in str(same)


def test_the_corrected_test_is_wary_where_the_plain_one_is_not():
    X, y = blobs(spread=2.0)
    found = compare(X, y, models=["lda", "naive_bayes"], cv=(5, 4), budget=None)
    folds = found.to_frame("folds").pivot_table(index=["repeat", "fold"], columns="model", values="log_loss")
    d = folds[found.ranking[1]] - folds[found.best]
    assert found.differences[0].p > stats.ttest_1samp(d, 0).pvalue
    assert found.differences[0].p == pytest.approx(corrected_t(d, 0.25)[1])


# ---- tables of every kind ----


def test_all_models_on_numbers_and_the_best_refitted():
    X, y = load_breast_cancer(return_X_y=True)
    found = compare(X[:200], y[:200], cv=2, budget=None, test=(X[200:], y[200:]))
    assert set(found.ranking) == set(CANDIDATES) - {"multinomial_nb", "random_forest"}
    assert found.cut == {"multinomial_nb": "it reads counts of words"}
    assert found.ranking[-1] in ("majority", "naive_bayes_cut", "naive_bayes", "qda")
    assert found.scores[found.best]["accuracy"].mean > 0.93
    assert found.models.fitted  # the best, and all that were judged on the test rows
    model = found.best_model
    assert model is found.models[found.best] and model.score(X[200:], y[200:]) > 0.9
    kept = found.tested[found.best]["accuracy"]
    assert kept.mean == pytest.approx(model.score(X[200:], y[200:])) and kept.low < kept.mean < kept.high
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    assert not hasattr(last, "best_estimator_")  # a plain model, without the search around it
    told = next(note for note in found.notes if note.startswith("On the test rows, log loss: "))
    best = found.tested[found.best]["log_loss"]
    assert f": {found.best} {best.mean:.4f} ({best.low:.4f} to {best.high:.4f}), " in told
    assert f", majority {found.tested['majority']['log_loss'].mean:.4f}" in told and told.count("(") == 1


def test_a_frame_with_words_and_gaps():
    frame, y = words()
    found = compare(frame, y, models=["naive_bayes", "logistic", "adaboost", "majority"], cv=3, budget=None)
    assert found.scores["logistic"]["auc"].mean > 0.75
    for name in ("naive_bayes", "logistic", "adaboost"):
        assert set(found.models[name].predict(frame.iloc[:5])) <= {"yes", "no"}
    assert [a.kind for a in found.alerts] == ["missing"]
    assert found.scores["logistic"]["log_loss"].mean < found.scores["majority"]["log_loss"].mean


def test_rows_as_a_list_are_read_as_the_frame_is():
    frame, y = words(90)
    frame = frame[["sky", "wind"]]
    one = compare(frame, y, models=["naive_bayes", "logistic"], cv=3, budget=None)
    two = compare(frame.to_numpy().tolist(), y, models=["naive_bayes", "logistic"], cv=3, budget=None)
    for name in ("naive_bayes", "logistic"):
        np.testing.assert_allclose(one.out_of_fold(name)[1], two.out_of_fold(name)[1])


def test_encoders_learn_inside_the_fold():
    """The encoded training part of a fold does not depend on the judged rows."""
    frame, y = words()
    facts = TableFacts.of(frame, y)
    rows = np.arange(100)
    wild = frame.copy()
    wild.loc[100:, "wind"] = 1e6
    first = encoder_of(facts, "linear").fit(frame.iloc[rows]).transform(frame.iloc[rows])
    second = encoder_of(facts, "linear").fit(wild.iloc[rows]).transform(wild.iloc[rows])
    np.testing.assert_array_equal(first, second)


def test_text_and_counts():
    rng = np.random.default_rng(0)
    spam = rng.integers(0, 2, 120)
    bag = [["meet", "lunch", "project", "report", "team"], ["win", "cash", "prize", "free", "click"]]
    texts = [" ".join(rng.choice(bag[s] + ["the", "a", "you"], 8)) for s in spam]
    table = pd.DataFrame({"text": texts})
    found = compare(table, spam, cv=3, budget=None, kinds={"text": "text"})
    assert set(found.ranking) == {"majority", "multinomial_nb", "logistic", "linear_svc"}
    assert found.scores[found.best]["accuracy"].mean > 0.95
    assert "the table holds text only" in found.cut["naive_bayes"]
    counts = sp.csr_matrix(rng.poisson(0.3 + 0.7 * spam[:, None], (120, 6)))
    found = compare(counts, spam, cv=3, budget=None, models=["multinomial_nb", "logistic"])
    assert set(found.ranking) == {"multinomial_nb", "logistic"}


def test_a_table_brings_its_labels():
    found = compare(read("iris"), models=QUICK, cv=3)
    assert found.classes.tolist() == ["setosa", "versicolor", "virginica"]


def test_arrays_with_missing_cells():
    X, y = blobs()
    X[::5, 0] = np.nan
    found = compare(X, y, models=[*QUICK, "logistic", "extra_trees"], cv=3, budget=None)
    assert found.ranking[-1] == "majority" and len(found.ranking) == 5


def test_costs_rank_by_what_answers_cost():
    X, y = blobs(k=2, spread=0.8)
    cost = {("a", "b"): 1.0, ("b", "a"): 5.0}
    found = compare(X, y, models=QUICK, metric="cost", cost=cost, cv=3, budget=None)
    P = found.out_of_fold("majority")[1]
    assert found.scores["majority"]["cost"].mean == pytest.approx(0.5)  # always b: every a costs 1
    said = (P @ found.cost).argmin(axis=1)
    assert (said == 1).all()
    assert found.ranking[0] != "majority" and found.metric == "cost"


# ---- threads, time, Ctrl-C ----


def test_the_same_for_any_number_of_threads():
    X, y = blobs(90)
    names = [*QUICK, "logistic", "adaboost", "extra_trees", "svc"]
    one, two = (compare(X, y, models=names, cv=3, budget=None, n_jobs=j) for j in (1, 2))
    assert one.ranking == two.ranking
    for name in names:
        np.testing.assert_array_equal(one.out_of_fold(name)[1], two.out_of_fold(name)[1])
        for metric in ("log_loss", "auc", "calibration_error"):
            assert one.scores[name][metric] == two.scores[name][metric]
    np.testing.assert_array_equal(one.best_model.predict_proba(X), two.best_model.predict_proba(X))


def test_a_budget_that_does_not_bind_changes_nothing():
    X, y = blobs(90)
    names = ["logistic", "extra_trees", "bagged_trees", "svc"]
    one, two = (compare(X, y, models=names, cv=(3, 1), budget=b, n_jobs=j) for b, j in ((None, 1), (1e6, 2)))
    assert one.ranking == two.ranking and one.used == two.used
    for name in names:
        np.testing.assert_array_equal(one.out_of_fold(name)[1], two.out_of_fold(name)[1])
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
    assert clock.now <= 14


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


# ---- to look at ----


def test_frames_pictures_and_html():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = blobs()
    X = np.column_stack(
        [X, np.where(y == "a", 5.0, 1.0) + 0.01 * X[:, 0]]
    )  # an alert: it tells a from the others
    found = compare(X, y, models=QUICK, cv=3)
    table = found.to_frame()
    assert tuple(table.index) == found.ranking
    assert (table["accuracy_low"] <= table["accuracy"]).all() and (table["accuracy_high"] <= 1).all()
    assert len(found.to_frame("differences")) == 2
    ax = found.plot()
    assert [t.get_text() for t in ax.get_yticklabels()] == [CANDIDATES[m].title for m in found.ranking]
    assert "<table" in found.to_html()
    assert "log loss" in str(found.table()) and repr(found) == str(found)
    with pytest.raises(ValueError, match='ask for "table"'):
        found.to_frame("rows")
    assert "fitted to all rows" in repr(found.models)
    with pytest.raises(KeyError, match="was not compared"):
        found.models["svm"]
    with pytest.raises(ValueError, match="no probabilities"):
        found.out_of_fold("lda", repeat=3)


# ---- tuning and forecasts ----


def test_tuned_chooses_on_inner_folds_by_hand():
    X, y = blobs()
    grid = [{"C": 1e-4}, {"C": 1.0}]
    found = Tuned(LogisticRegression(), grid, random_state=5).fit(X, y)
    codes = np.searchsorted(["a", "b", "c"], y)
    for s, setting in enumerate(grid):
        for f, (train, test) in enumerate(inner_folds(codes, 3, 5)):
            P = LogisticRegression(**setting).fit(X[train], y[train]).predict_proba(X[test])
            assert found.losses_[s, f] == pytest.approx(log_loss(codes[test], P))
    assert found.best_params_ == {"C": 1.0} and settled(found) is found.best_estimator_
    assert clone(found).get_params()["grid"] == grid


def test_inner_folds_part_the_rows_and_keep_the_shares():
    codes = np.repeat([0, 1, 2], [31, 20, 4])
    folds = inner_folds(codes, 3, 0)
    assert sorted(np.concatenate([b for _, b in folds]).tolist()) == list(range(55))
    for a, b in folds:
        assert not set(a) & set(b)
        assert np.all(np.abs(np.bincount(codes[b], minlength=3) - np.array([31, 20, 4]) / 3) < 1.01)
    assert inner_folds(codes, 0, 0) == []
    rows = sample(np.repeat([0, 1], [5000, 50]), 1000, 0)
    assert len(rows) == 1000 and (rows >= 5000).sum() == 10
    assert sample(np.repeat([0, 1], [5000, 5]), 1000, 0)[-5:].tolist() == list(range(5000, 5005))


def test_work_that_is_not_wanted_ends():
    X, y = blobs()
    with while_wanted(lambda: False), pytest.raises(Unwanted):
        Tuned(Slow(0.0), [{}, {}]).fit(X, y)


def test_forecasts_follow_the_growth():
    assert forecast((100, 1.0), (200, 2.0), 1000, 1.0) == pytest.approx(10.0)
    assert forecast((100, 1.0), (200, 4.0), 1000, 2.0) == pytest.approx(100.0)
    assert forecast((100, 1.0), (200, 2.0), 150, 1.0) == 2.0
    assert forecast((100, 2.0), (200, 2.0), 1000, 1.0) >= 2.0  # a flat pair still grows


def test_one_pilot_is_taken_to_grow_by_a_quarter():
    assert forecast((100, 1.005), (100, 1.005), 1000, 1.0) == pytest.approx(1.005 + 0.25 * 9)
    assert forecast((100, 0.004), (100, 0.004), 1000, 1.0) == 0.004  # what any fit takes does not grow


def test_suitability_says_why():
    X, y = load_iris(return_X_y=True)
    facts = TableFacts.of(X, y)
    chosen, aside = read_models(None, facts)
    assert "qda" in chosen and list(aside) == ["multinomial_nb"]
    few = TableFacts.of(np.random.default_rng(0).normal(size=(12, 9)), [0, 1] * 6)
    assert "the smallest class has 6 rows for 9 columns" in read_models(None, few)[1]["qda"]


# ---- refusals ----


@pytest.mark.parametrize(
    "options, words",
    [
        ({"models": "logistics"}, "did you mean 'logistic'.*known are majority, lda"),
        (
            {"models": ["gradient boosting"]},
            "models names 'gradient boosting', which is unknown: known are majority",
        ),
        ({"models": []}, "models is empty"),
        ({"models": ["lda", "lda"]}, "names 'lda' twice"),
        ({"models": ["multinomial_nb"]}, "does not suit this table: it reads counts of words"),
        ({"metric": "f1"}, "metric 'f1' is unknown: use one of 'log_loss', 'accuracy', 'auc', 'cost'"),
        ({"metric": "cost"}, "needs cost"),
        ({"budget": 0}, "budget must be a number of seconds above 0"),
        ({"budget": -3}, "budget must be a number of seconds above 0"),
        ({"budget": "a minute"}, "budget must be"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": 80}, "class 'a' has 50 rows, fewer than 80 folds: give cv=50"),
        ({"cv": "five"}, "cv must be a number of folds"),
        ({"cv": [(np.arange(5), np.arange(5, 9))] * 0}, "cv has no splits"),
        ({"cv": [(np.arange(0, 150, 3), np.arange(10))]}, r"cv\[0\] trains on one class"),
        ({"cv": [3, 4]}, r"cv\[0\] must be a pair"),
        ({"level": 95}, "level must be a share"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"test": 3}, "test must be a pair"),
        ({"test": (np.zeros((3, 2)), ["a", "b", "c"])}, "test has 2 columns, X has 3"),
        ({"test": (np.zeros((2, 3)), ["a", "z"])}, "test has the label 'z'"),
        ({"models": {"svm": PeerSVC()}}, "svm has no predict_proba"),
    ],
)
def test_settings_that_cannot_be_meant(options, words):
    X, y = blobs()
    with pytest.raises(ValueError, match=words):
        compare(X, y, **options)


def test_labels_that_cannot_be_compared():
    X, y = blobs()
    with pytest.raises(ValueError, match="y holds one class, 'a'"):
        compare(X, np.repeat("a", 150))
    with pytest.raises(ValueError, match="row 1 has no label"):
        compare(X, np.where(np.arange(150) == 1, np.nan, 1.0))
    with pytest.raises(ValueError, match="X has 150 rows, y has 3"):
        compare(X, [1, 2, 3])
    with pytest.raises(
        ValueError, match="class 'z' has 1 row: cross-validation needs at least 3 of two classes"
    ):
        compare(X, np.where(np.arange(150) == 7, "z", "a"))
    with pytest.raises(ValueError, match="y is None"):
        compare(X)
    far = X.copy()
    far[4, 1] = np.inf
    with pytest.raises(ValueError, match="infinite in row 4, column 1"):
        compare(far, y)
    with pytest.raises(TypeError, match="is no classifier"):
        compare(X, y, models={"wrong": 3})
    with pytest.raises(TypeError, match="give an instance"):
        compare(X, y, models=[PeerNB])


def test_a_small_class_has_fewer_folds():
    y = np.where(np.arange(150) < 4, "z", blobs()[1])
    splits = read_splits(None, np.unique(y, return_inverse=True)[1], np.unique(y), 0)
    assert len(splits) == 8 and splits[-1].fold == 3


def test_a_class_too_small_to_be_judged_is_learned_from():
    X, y = blobs()
    y = np.where(np.arange(150) < 2, "z", y)
    splits = read_splits(None, np.unique(y, return_inverse=True)[1], np.unique(y), 0)
    assert len(splits) == 10
    for split in splits:
        assert {0, 1} <= set(split.train) and not {0, 1} & set(split.test)
        assert not set(split.train) & set(split.test) and len(split.train) + len(split.test) == 150
    assert sorted(np.concatenate([s.test for s in splits[:5]])) == list(range(2, 150))
    found = compare(X, y, models=QUICK, budget=None)
    assert [a.kind for a in found.alerts] == ["unjudged"] and "class 'z' has 2 rows" in found.alerts[
        0
    ].sentence
    assert found.out_of_fold("lda")[1].shape == (148, 4) and "z" in found.best_model.classes_


# ---- what is said ----


def test_the_seed_is_kept_and_gives_the_same_again():
    X, y = blobs()
    one = compare(X, y, models=QUICK, cv=3, random_state=7)
    two = compare(X, y, models=QUICK, cv=3, random_state=one.seed)
    assert one.seed == 7 and "seed 7" in str(one) and "seed 7" in one.to_html()
    assert one.scores["lda"]["log_loss"] == two.scores["lda"]["log_loss"]
    drawn = compare(X, y, models=QUICK, cv=3, random_state=np.random.RandomState(3))
    again = compare(X, y, models=QUICK, cv=3, random_state=drawn.seed)
    assert drawn.scores["lda"]["log_loss"] == again.scores["lda"]["log_loss"] != one.scores["lda"]["log_loss"]


def test_who_is_not_ranked_is_told_by_the_reason():
    found = compare(read("iris").frame, load_iris().target, models=[*QUICK], cv=3)
    cut = {
        "a": "too wide",
        "b": "too wide",
        "c": "of words",
        "d": "late",
        "e": "failed in fold 1: " + "no " * 90,
    }
    reasons = dict(zip(cut, ["unsuited"] * 3 + ["time", "failed"]))
    told = replace(found, cut=cut, reasons=reasons, needed=41.0, forecast={"d": 8.0}).notes
    assert "Not ranked for want of time: d (2 s a fold); about 50 s would do." in told
    assert "Not suited to this table: a and b (too wide); c (of words)." in told
    (failed,) = [note for note in told if note.startswith("e failed in fold 1: no no")]
    assert len(failed) < 170
    assert sum("Not" in note for note in told) == 2


def test_the_table_fits_into_80_columns():
    X, y = load_breast_cancer(return_X_y=True)
    names = ["naive_bayes_cut", "majority", "lda", "naive_bayes"]
    found = compare(X, y, models=names, cv=3, budget=60)
    for text in (found.text(), found.text(60).split("±", 1)[0]):
        assert max(map(len, text.splitlines())) <= 80
    assert max(len(line) for line in found.text(60).splitlines() if line.startswith("Really")) <= 60
    cost = compare(X, y, models=names, cv=3, metric="cost", cost=[[0, 1], [5, 0]])
    assert max(map(len, cost.text().splitlines())) <= 80


class Warns(Slow):
    def fit(self, X, y):
        warnings.warn(f"tried with {self.seconds}", UserWarning, stacklevel=2)
        warnings.warn("row 7 is odd", UserWarning, stacklevel=2)
        return super().fit(X, y)


def test_warnings_are_those_of_the_models_that_are_kept():
    """Not of settings that were tried, nor of rows by their place in a fold; each with the model's name."""
    X, y = blobs()
    models = {"one": Tuned(Warns(0.0), [{"seconds": 0.0}, {"seconds": 0.001}]), "two": Warns(0.0)}
    found = compare(X, y, models=models, cv=3, n_jobs=2)
    assert sorted((text, times) for _, text, times in found.warned) == [
        ("one: tried with 0.0", 3),
        ("two: tried with 0.0", 3),
    ]
    assert "one: tried with 0.0 (UserWarning, 3 times)" in found.notes


def test_one_failure_does_not_end_it_where_others_were_late(clock):
    X, y = blobs()
    models = {"majority": CANDIDATES["majority"], "bad": Broken(), "slow": Slow(50.0)}
    found = compare(X, y, models=models, cv=3, budget=20.0, n_jobs=1)
    assert found.ranking == ("majority",) and found.reasons == {"bad": "failed", "slow": "time"}


def test_models_that_do_not_see_the_text_are_named():
    rng = np.random.default_rng(0)
    spam = np.arange(80) % 2
    bag = [["meet", "lunch", "team"], ["win", "cash", "prize"]]
    texts = [" ".join(rng.choice(bag[s] + ["the", "a", "you"], 8)) for s in spam]
    frame = pd.DataFrame({"text": texts, "size": rng.normal(size=80) + spam})
    found = compare(
        frame, spam, models=["logistic", "naive_bayes"], cv=3, kinds={"text": "text"}, budget=None
    )
    assert "naive_bayes does not see the text." in found.notes


def test_naive_bayes_of_cut_columns_reads_frames_of_numbers():
    X, y = load_iris(return_X_y=True)
    one = compare(X, y, models=["naive_bayes_cut"], cv=3, budget=None)
    two = compare(read("iris").frame, y, models=["naive_bayes_cut"], cv=3, budget=None)
    np.testing.assert_allclose(one.out_of_fold()[1], two.out_of_fold()[1])
    frame, labels = words()
    with pytest.raises(
        ValueError, match="naive_bayes_cut does not suit this table: it cuts columns of numbers"
    ):
        compare(frame, labels, models=["naive_bayes_cut"])


# ---- against Nadeau and Bengio's own formula ----


def test_intervals_and_tests_by_exact_arithmetic():
    """t = d̄ / √((1/J + n₂/n₁) Σ(d − d̄)²/(J − 1)) in fractions, its quantile and tail by integrating the density."""
    X, y = blobs(150, spread=1.5)
    found = compare(X, y, models=["lda", "naive_bayes"], cv=(5, 2), budget=None)
    table = found.to_frame("folds").pivot_table(index=["repeat", "fold"], columns="model", values="log_loss")
    best, other = found.ranking
    for values, interval in (
        (table[best], found.scores[best]["log_loss"]),
        (table[other] - table[best], found.differences[0]),
    ):
        d = [Fraction(v) for v in values]
        mean = sum(d) / 10
        spread = sum((v - mean) ** 2 for v in d) / 9
        error = math.sqrt((Fraction(1, 10) + Fraction(30, 120)) * spread)
        assert interval.mean == pytest.approx(float(mean), rel=1e-12)
        half = 2.262157162798205 * error  # t of 9 degrees of freedom at 97.5 %, from tables to ten digits
        assert interval.high - interval.low == pytest.approx(2 * half, rel=1e-9)
    t = float(mean) / error
    norm = math.gamma(5.0) / (math.sqrt(9 * math.pi) * math.gamma(4.5))
    tail, _ = quad(lambda u: norm * (1 + u * u / 9) ** -5, abs(t), np.inf)
    assert found.differences[0].t == pytest.approx(t) and found.differences[0].p == pytest.approx(2 * tail)


def test_labels_alone_suffice_for_accuracy():
    X, y = blobs()
    found = compare(X, y, models={"svm": PeerSVC(), "nb": PeerNB()}, metric="accuracy", cv=3)
    assert np.isnan(found.scores["svm"]["log_loss"].mean) and found.scores["svm"]["accuracy"].mean > 0.6
    assert "—" in str(found)


def test_a_random_forest_is_tried_where_it_is_named():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    found = compare(X, y, models=["random_forest", "majority"], cv=2)
    assert list(found.ranking) == ["random_forest", "majority"]
    chosen, aside = read_models(None, TableFacts.of(X, y))
    assert "random_forest" not in chosen and "random_forest" not in aside
