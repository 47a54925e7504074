"""Scores of two classes and of many against scikit-learn's, and laws of a threshold chosen out of fold."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.datasets import load_breast_cancer

from separatrix import LinearDiscriminantAnalysis, compare, load, save
from separatrix.judge import threshold
from separatrix.judge.label_scores import by_class, table_of
from separatrix.judge.scores import METRICS, scores_of
from separatrix.models.threshold import threshold_of, with_threshold, without_threshold
from tests.draws import examples

seeds = st.integers(0, 10_000)


def drawn(seed: int, k: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(codes, answers, P, whole weights), with ties among the probabilities."""
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    P = rng.integers(1, 6, (n, k)).astype(float)
    P[np.arange(n), codes] += rng.integers(0, 4, n)
    P /= P.sum(axis=1, keepdims=True)
    return codes, rng.integers(0, k, n), P, rng.integers(1, 4, n)


@examples(30)
@given(seeds, st.integers(2, 5))
def test_as_scikit_learn_has_them(seed: int, k: int) -> None:
    codes, said, P, w = drawn(seed, k)
    pairs = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score}
    for name, theirs in pairs.items():
        macro = theirs(codes, said, average="macro", zero_division=0, sample_weight=w)
        assert METRICS[name].of(codes, said, w) == pytest.approx(macro, abs=1e-12)
        one = theirs(codes == 1, said == 1, zero_division=0)
        assert METRICS[name].value(codes, said, 1) == pytest.approx(one, abs=1e-12)
    assert METRICS["mcc"].of(codes, said, w) == pytest.approx(
        sk.matthews_corrcoef(codes, said, sample_weight=w), abs=1e-12
    )
    assert METRICS["balanced_accuracy"].of(codes, said, w) == pytest.approx(
        sk.balanced_accuracy_score(codes, said, sample_weight=w), abs=1e-12
    )
    each = [sk.average_precision_score(codes == j, P[:, j], sample_weight=w) for j in range(k)]
    assert METRICS["average_precision"].of(codes, P, w) == pytest.approx(
        each[1] if k == 2 else np.mean(each), abs=1e-12
    )


@examples(20)
@given(seeds)
def test_a_weight_is_a_repetition_and_sides_are_symmetric(seed: int) -> None:
    codes, said, P, w = drawn(seed, 2)
    many = np.repeat(np.arange(len(codes)), w)
    for name in ("precision", "recall", "f1", "average_precision", "mcc", "balanced_accuracy"):
        metric = METRICS[name]
        given = P if name == "average_precision" else said
        assert metric.of(codes, given, w) == pytest.approx(metric.of(codes[many], given[many]), abs=1e-12)
        turned = P[:, ::-1] if name == "average_precision" else 1 - said
        assert metric.value(codes, given, 0) == pytest.approx(metric.value(1 - codes, turned, 1), abs=1e-12)


def test_a_table_by_hand() -> None:
    table = table_of(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 2]), 3)
    precision, recall, f1 = by_class(table)
    assert table.tolist() == [[2, 1, 0], [0, 1, 1], [0, 0, 0]]
    assert precision.tolist() == [1.0, 0.5, 0.0] and recall.tolist() == [2 / 3, 0.5, 0.0]
    assert f1.round(6).tolist() == [0.8, 0.5, 0.0]


def test_what_is_not_there_is_nan_and_every_name_has_a_value() -> None:
    codes, said, P, _ = drawn(0, 3)
    found = scores_of(codes, said, None, None)
    assert {m for m, v in found.items() if np.isnan(v)} == {
        m for m, metric in METRICS.items() if metric.needs != "labels"
    }
    assert not np.isnan(scores_of(codes, said, P, 1.0 - np.eye(3)).popitem()[1])


@examples(30)
@given(seeds, st.sampled_from(threshold.CHOSEN_BY), st.integers(0, 1))
def test_no_threshold_is_better_than_the_one_that_is_chosen(seed: int, by: str, side: int) -> None:
    codes, _, P, _ = drawn(seed, 2)
    cost = np.array([[0.0, 1.0], [3.0, 0.5]])
    t, score = threshold.best_threshold(codes == side, P[:, side], by, cost=cost, side=side)
    p = P[:, side]
    for other in [0.0, *np.unique(p), *(np.unique(p) + 1e-9), 1.1, t]:
        said = np.where(p >= other, side, 1 - side)
        if by == "cost":
            value = -float(np.mean(cost[codes, said]))
        else:
            value = METRICS[by].value(codes, said, side)
        best = -score if by == "cost" else score
        assert value <= best + 1e-12
        if other == t:
            assert value == pytest.approx(best, abs=1e-12)


@examples(15)
@given(seeds)
def test_weights_of_a_threshold_are_repetitions(seed: int) -> None:
    codes, _, P, w = drawn(seed, 2)
    many = np.repeat(np.arange(len(codes)), w)
    weighted = threshold.best_threshold(codes == 1, P[:, 1], "f1", weight=w)
    repeated = threshold.best_threshold(codes[many] == 1, P[many, 1], "f1")
    assert weighted == pytest.approx(repeated)


def test_labels_dealt_at_random_give_no_skill_out_of_fold() -> None:
    """Chosen and judged on the same rows, a threshold would seem to help."""
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(60):
        folds = [(rng.integers(0, 2, 12), np.column_stack([1 - (p := rng.random(12)), p])) for _ in range(5)]
        found = threshold.out_of_fold(folds, np.array([0, 1]), 1, "balanced_accuracy")
        gains.append(found.score - 0.5)
    assert abs(np.mean(gains)) < 4 * np.std(gains) / np.sqrt(len(gains))


def test_a_model_with_a_threshold_answers_by_it_and_is_kept_in_a_file(tmp_path) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    plain = LinearDiscriminantAnalysis().fit(X, y)
    careful = with_threshold(plain, 0.97, positive=0)
    P = plain.predict_proba(X)
    assert (careful.predict(X) == np.where(P[:, 0] >= 0.97, 0, 1)).all()
    assert (careful.predict_proba(X) == P).all() and careful.classes_.tolist() == [0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(careful, tmp_path / "careful.sepx")
        again = load(tmp_path / "careful.sepx")
    assert (again.predict(X) == careful.predict(X)).all()
    assert threshold_of(again) == (0.97, 0) and threshold_of(plain) is None
    assert (without_threshold(again).predict(X) == plain.predict(X)).all()


@pytest.mark.parametrize(
    ("by", "told"),
    [("precision", "alone is best"), ("recall", "alone is best"), ("depth", "use one of 'accuracy'")],
)
def test_a_threshold_by_what_cannot_choose_one_is_refused(by: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        threshold.best_threshold(np.array([True, False]), np.array([0.2, 0.3]), by)


def test_one_class_and_three_classes_have_no_threshold() -> None:
    with pytest.raises(ValueError, match="all of these are of one"):
        threshold.best_threshold(np.array([True, True]), np.array([0.2, 0.3]))
    with pytest.raises(ValueError, match="there are 3"):
        threshold.out_of_fold([], np.array([0, 1, 2]), 1, "f1")


def test_the_model_stands_once_in_its_file(tmp_path) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    plain = LinearDiscriminantAnalysis().fit(X, y)
    save(plain, tmp_path / "plain.sepx")
    save(with_threshold(plain, 0.9, positive=1), tmp_path / "careful.sepx")
    sizes = [(tmp_path / f"{name}.sepx").stat().st_size for name in ("plain", "careful")]
    assert sizes[1] < 1.2 * sizes[0]


def test_rows_kept_apart_are_answered_by_the_threshold() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    given = {"models": ["lda", "majority"], "cv": 3, "budget": None, "test": (X[400:], y[400:])}
    found = compare(X[:400], y[:400], threshold="cost", cost=[[0, 9], [1, 0]], **given)
    assert found.threshold is not None and found.positive == 0
    said = found.best_model.predict(X[400:])
    assert found.tested[found.best]["recall"].mean == sk.recall_score(y[400:], said, pos_label=0)
    assert found.tested[found.best]["accuracy"].mean == np.mean(said == y[400:])
    assert (said != found.models[found.best].predict(X[400:])).any()
