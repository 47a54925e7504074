"""Scores against scikit-learn's, weights as repetition, and the corrected t-test by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from separatrix.judge.scores import (
    METRICS,
    Interval,
    accuracy,
    auc,
    bootstrapped,
    brier,
    calibration_error,
    cheapest,
    corrected_interval,
    corrected_t,
    holm,
    log_loss,
    mean_cost,
    metric_of,
    read_cost,
)
from tests.draws import examples


def case(n=60, k=3, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    P = rng.dirichlet(np.ones(k), n)
    if ties:
        P = np.round(P * 4) + 1
        P /= P.sum(axis=1, keepdims=True)
    return codes, P, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_scikit_learns(k, ties, weighted):
    codes, P, w = case(k=k, ties=ties, seed=k)
    w = w if weighted else None
    labels = np.arange(k)
    said = P.argmax(axis=1)
    assert log_loss(codes, P, w) == pytest.approx(metrics.log_loss(codes, P, labels=labels, sample_weight=w))
    assert accuracy(codes, said, w) == pytest.approx(metrics.accuracy_score(codes, said, sample_weight=w))
    assert METRICS["error"].of(codes, said, w) == pytest.approx(1 - accuracy(codes, said, w))
    score = P[:, 1] if k == 2 else P
    peer = np.mean([
        metrics.roc_auc_score(codes == j, P[:, j], sample_weight=w) for j in range(k)
    ]) if k > 2 else metrics.roc_auc_score(codes, score, sample_weight=w)  # fmt: skip
    assert auc(codes, P, w) == pytest.approx(peer)
    hit = (codes[:, None] == labels).astype(float)
    if k == 2:
        peer = metrics.brier_score_loss(codes, P[:, 1], sample_weight=w)
    else:  # as scikit-learn's of more classes, which its older releases do not have
        peer = np.average(((P - hit) ** 2).sum(axis=1), weights=w)
    assert brier(codes, P, w) == pytest.approx(peer)


def test_auc_of_many_classes_is_scikit_learns_one_vs_rest():
    codes, P, _ = case(k=4)
    assert auc(codes, P) == pytest.approx(metrics.roc_auc_score(codes, P, multi_class="ovr"))


def test_auc_of_one_class_is_not_a_number_and_an_absent_class_is_left_out():
    codes, P, _ = case(k=3)
    assert np.isnan(auc(np.zeros(60, dtype=int), P))
    assert np.isnan(auc(np.zeros(60, dtype=int), P[:, :2]))
    two = codes[codes < 2]
    own = np.mean([metrics.roc_auc_score(two == j, P[codes < 2, j]) for j in (0, 1)])
    assert auc(two, P[codes < 2]) == pytest.approx(own)


@examples(40)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_a_weight_is_a_repetition(seed, k):
    codes, P, w = case(30, k, seed, ties=True)
    rows = np.repeat(np.arange(30), w.astype(int))
    cost = np.random.default_rng(seed).random((k, k))
    for of in (log_loss, auc, brier, calibration_error):
        assert of(codes, P, w) == pytest.approx(of(codes[rows], P[rows]), nan_ok=True)
    assert mean_cost(codes, P, cost, w) == pytest.approx(mean_cost(codes[rows], P[rows], cost))


def test_calibration_error_by_hand():
    P = np.array([[0.05, 0.95], [0.08, 0.92], [0.7, 0.3], [0.75, 0.25]])
    codes = np.array([1, 0, 0, 0])
    by_hand = 2 / 4 * abs(0.5 - 0.935) + 2 / 4 * abs(1 - 0.725)  # two bins of two rows
    assert calibration_error(codes, P) == pytest.approx(by_hand)
    assert calibration_error(np.array([1]), np.array([[0.0, 1.0]])) == 0


def test_a_zero_probability_costs_what_scikit_learn_says():
    P = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert log_loss(np.array([1, 0]), P) == pytest.approx(metrics.log_loss([1, 0], P, labels=[0, 1]))


def test_costs_choose_the_cheapest_answer():
    cost = read_cost({("a", "b"): 1, ("b", "a"): 9}, np.array(["a", "b"]))
    P = np.array([[0.85, 0.15], [0.95, 0.05]])
    assert cheapest(P, cost).tolist() == [1, 0]
    assert mean_cost(np.array([0, 1]), P, cost) == (1 + 9) / 2


@pytest.mark.parametrize(
    "cost, words",
    [
        ([[0, 1]], "2×2 matrix"),
        ({("a", "c"): 1}, "'c', which is not a class"),
        ({"a": 1}, "pairs"),
        ([[0, np.inf], [1, 0]], "finite"),
    ],
)
def test_costs_that_cannot_be_meant(cost, words):
    with pytest.raises(ValueError, match=words):
        read_cost(cost, np.array(["a", "b"]))


def test_corrected_t_by_hand():
    d = np.array([0.02, 0.05, -0.01, 0.03, 0.04, 0.0, 0.02, 0.06, 0.01, 0.03])
    ratio = 0.25
    s2 = np.sum((d - d.mean()) ** 2) / 9
    t = d.mean() / np.sqrt((1 / 10 + ratio) * s2)
    got, p = corrected_t(d, ratio)
    assert got == pytest.approx(t)
    assert p == pytest.approx(2 * (1 - stats.t.cdf(abs(t), 9)))
    plain = stats.ttest_1samp(d, 0)
    assert corrected_t(d, 0.0)[1] == pytest.approx(plain.pvalue)  # without the correction, the usual test
    found = corrected_interval(d, ratio, 0.9)
    wide = stats.t.ppf(0.95, 9) * np.sqrt((0.1 + ratio) * s2)
    assert found == pytest.approx((d.mean(), d.mean() - wide, d.mean() + wide))
    assert found.half == pytest.approx(wide)


def test_corrected_t_where_there_is_no_spread():
    assert corrected_t([0.0, 0.0], 0.2) == (0.0, 1.0)
    assert corrected_t([0.1, 0.1, 0.1], 0.2) == (np.inf, 0.0)
    assert np.isnan(corrected_t([0.1], 0.2)).all()
    assert np.isnan(corrected_interval([0.1], 0.2)[1:]).all()


def test_holm_by_hand_and_as_a_law():
    assert holm([0.01, 0.04, 0.03, np.nan]) == pytest.approx([0.03, 0.06, 0.06, np.nan], nan_ok=True)
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = rng.random(6) ** 3
        q = holm(p)
        assert (q >= p).all() and (q <= np.minimum(6 * p, 1) + 1e-12).all()
        assert q[p.argmin()] == pytest.approx(min(6 * p.min(), 1)) and (np.diff(q[np.argsort(p)]) >= 0).all()


def test_intervals_are_cut_to_what_a_score_can_be():
    assert METRICS["accuracy"].inside(Interval(0.98, 0.95, 1.01)) == (0.98, 0.95, 1.0)
    assert METRICS["log_loss"].inside(Interval(0.1, -0.1, 0.3)) == (0.1, 0.0, 0.3)
    assert METRICS["cost"].inside(Interval(-1.0, -2.0, 0.0)) == (-1.0, -2.0, 0.0)


def test_an_unknown_metric_is_told_the_known_ones():
    with pytest.raises(ValueError, match="metric 'f2' is unknown: use one of 'log_loss', 'auc'"):
        metric_of("f2", ("log_loss", "auc"))


def test_bootstrapped_intervals_hold_their_score_and_are_as_wide_as_theory_says():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([2, 2], 400)
    codes = (rng.random(400) < P[:, 1]).astype(int)
    found = bootstrapped(codes, P.argmax(axis=1), P, ["log_loss", "accuracy", "calibration_error", "cost"])
    assert list(found) == ["log_loss", "accuracy", "calibration_error"]
    for value, low, high in found.values():
        assert 0 <= low <= value <= high
    value, low, high = found["accuracy"]
    assert value == accuracy(codes, P.argmax(axis=1))
    assert (high - low) / 2 == pytest.approx(1.96 * np.sqrt(value * (1 - value) / 400), rel=0.1)
    assert found == bootstrapped(codes, P.argmax(axis=1), P, list(found))
    assert found != bootstrapped(codes, P.argmax(axis=1), P, list(found), seed=1)
