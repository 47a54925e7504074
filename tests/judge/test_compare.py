"""compare: scores of the same splits by scikit-learn, the test by hand, tables of every kind, and what is said."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.integrate import quad
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB as PeerNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as PeerSVC

from separatrix import LogisticRegression, compare
from separatrix.judge.candidates import CANDIDATES, read_models
from separatrix.judge.facts import TableFacts, encoder_of
from separatrix.judge.scores import corrected_t, log_loss
from separatrix.judge.tuning import Tuned
from separatrix.tables.read import read
from tests.judge.slow import QUICK, Slow, blobs, words

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
    assert set(found.ranking) == set(CANDIDATES) - {"multinomial_nb", "ordinal", "random_forest"}
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
