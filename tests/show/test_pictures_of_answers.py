"""Displays of answers: calibration, confusion, ranking, thresholds, costs; by hand or by another library."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris

from separatrix import (
    GaussianNB,
    LinearSVC,
    LogisticRegression,
)
from separatrix.judge.scores import calibration_error
from separatrix.show import (
    CalibrationDisplay,
    ConfusionDisplay,
    CostDisplay,
    PrecisionRecallDisplay,
    RocDisplay,
    ThresholdDisplay,
)
from separatrix.show.calibration import binomial_interval
from separatrix.show.rates import delong
from separatrix.show.thresholds import all_cuts
from tests.draws import examples

X, y = load_iris(return_X_y=True)
late = y == 2
rng = np.random.default_rng(3)
P = rng.random(400)
HIT = rng.random(400) < P**1.5


# ---- calibration ----


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_reliability_is_scikit_learns_and_the_error_by_hand(strategy):
    display = CalibrationDisplay.from_predictions(HIT, P, bins=7, strategy=strategy)
    observed, predicted = calibration_curve(HIT, P, n_bins=7, strategy=strategy)
    assert np.allclose(display.observed, observed) and np.allclose(display.predicted, predicted)
    edges = np.linspace(0, 1, 8) if strategy == "uniform" else np.quantile(P, np.linspace(0, 1, 8))
    edges[0], edges[-1] = 0, 1
    total = 0.0
    for low, high in pairwise(edges):
        inside = (P - low > 0) & (P - high <= 0)
        total += inside.sum() * abs(HIT[inside].mean() - P[inside].mean())
    assert display.error == pytest.approx(total / len(P))
    assert display.count.sum() == len(P) and display.histogram.sum() == len(P)
    assert f"{display.error:.3f}" in display.ax_.texts[0].get_text()
    assert np.allclose(display.ax_.lines[1].get_xydata(), np.column_stack([predicted, observed]))


def test_binomial_intervals_are_clopper_and_pearsons():
    for hits, n in ((0, 9), (9, 9), (3, 11), (50, 120)):
        exact = binomtest(int(hits), int(n)).proportion_ci(0.9, "exact")
        expected = exact.low, exact.high
        assert np.allclose(
            binomial_interval(hits, n, 0.9), np.nan_to_num(expected, nan=0.0 if hits == 0 else 1.0)
        )


def test_calibration_of_models_of_two_and_three_classes():
    model = GaussianNB().fit(X, late)
    found = CalibrationDisplay.from_estimator(model, X, late, bins=4)
    again = CalibrationDisplay.from_predictions(late, model.predict_proba(X)[:, 1], bins=4)
    assert found.error == again.error and found.name == "GaussianNB"
    three = GaussianNB().fit(X, y)
    top = CalibrationDisplay.from_estimator(three, X, y, bins=4)
    shares = three.predict_proba(X)
    assert top.observed @ top.count == (three.predict(X) == y).sum()
    assert top.predicted @ top.count == pytest.approx(shares.max(axis=1).sum())
    one = CalibrationDisplay.from_estimator(three, X, y, label=1, bins=4)
    assert one.observed @ one.count == (y == 1).sum()


@pytest.mark.parametrize("k", [2, 3])
def test_calibration_of_answers_has_the_error_that_models_are_ranked_by(k):
    rng = np.random.default_rng(k)
    codes = rng.integers(0, k, 300)
    shares = rng.dirichlet(np.ones(k), 300)
    display = CalibrationDisplay.from_answers(list("abc")[:k], codes, shares)
    assert display.error == calibration_error(codes, shares)
    assert f"error {display.error:.3f}" in display.ax_.texts[0].get_text()
    if k == 2:
        same = CalibrationDisplay.from_predictions(codes, shares[:, 1])
        assert display.answer == "b"
    else:
        same = CalibrationDisplay.from_predictions(shares.argmax(axis=1) == codes, shares.max(axis=1))
        assert display.answer == "the predicted class"
    for name in ("predicted", "observed", "count", "interval", "histogram"):
        assert np.array_equal(getattr(display, name), getattr(same, name))
    assert display.error != same.error  # that of the bins drawn


def test_answers_that_are_all_right_are_drawn():
    sure = CalibrationDisplay.from_answers(["a", "b"], np.array([0, 1, 1]), np.eye(2)[[0, 1, 1]])
    assert sure.error == 0 and sure.observed.tolist() == [0, 1]


# ---- confusion, rates, thresholds ----


def test_confusion_counts_and_what_is_written():
    model = LogisticRegression().fit(X, y)
    display = ConfusionDisplay.from_estimator(model, X, y)
    assert np.array_equal(display.matrix, metrics.confusion_matrix(y, model.predict(X)))
    written = {
        tuple(map(round, t.get_position())): t.get_text() for t in display.ax_.texts if t.get_text().isdigit()
    }
    assert written == {(j, i): str(v) for (i, j), v in np.ndenumerate(display.matrix) if v}
    assert ConfusionDisplay.from_predictions(["a", "b"], ["b", "b"], classes=["b", "a"]).matrix.tolist() == [
        [1, 0],
        [1, 0],
    ]


@examples(30)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_areas_and_delongs_interval(seed, digits):
    draw = np.random.default_rng(seed)
    hit = draw.random(60) < 0.4
    hit[:2], hit[2:4] = True, False
    score = np.round(draw.normal(size=60) + hit, digits)
    area, low, high = delong(hit, score)
    assert area == pytest.approx(metrics.roc_auc_score(hit, score))
    if np.isnan(low):
        return
    # by hand, from all pairs
    wins = (score[hit][:, None] > score[~hit]) + 0.5 * (score[hit][:, None] == score[~hit])
    error = np.sqrt(wins.mean(axis=1).var(ddof=1) / hit.sum() + wins.mean(axis=0).var(ddof=1) / (~hit).sum())
    middle = np.log(area / (1 - area))
    ends = middle + np.array([-1, 1]) * scipy.stats.norm.ppf(0.975) * error / (area * (1 - area))
    assert np.allclose([low, high], 1 / (1 + np.exp(-ends)))


def test_curves_of_ranking():
    models = {"bayes": GaussianNB().fit(X, late), "machine": LinearSVC().fit(X, late)}
    display = RocDisplay.from_estimator(models, X, late)
    x, t, _ = metrics.roc_curve(late, models["machine"].decision_function(X))
    assert np.array_equal(display.lines_[1].get_xdata(), x) and np.array_equal(
        display.lines_[1].get_ydata(), t
    )
    three = PrecisionRecallDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
    assert list(three.curves) == ["0", "1", "2"]
    assert three.curves["2"].area == metrics.average_precision_score(
        late, GaussianNB().fit(X, y).predict_proba(X)[:, 2]
    )
    other = RocDisplay.from_estimator(models["machine"], X, late, label=False)
    assert other.curves["LinearSVC"].area == pytest.approx(display.curves["machine"].area)


def test_thresholds_by_hand():
    p = np.round(P, 2)
    display = ThresholdDisplay.from_predictions(HIT, p)
    for t, recall, precision, alarms, f1 in zip(
        display.threshold, display.recall, display.precision, display.alarms, display.f1
    ):
        said = p >= t
        assert recall == (said & HIT).sum() / HIT.sum() and alarms == (said & ~HIT).sum() / (~HIT).sum()
        if said.any():
            assert precision == HIT[said].mean()
            assert f1 == pytest.approx(metrics.f1_score(HIT, said))
        else:
            assert np.isnan(precision) and f1 == 0


def test_cost_by_hand_and_its_least():
    p = np.round(P, 2)
    display = CostDisplay.from_predictions(HIT, p, miss=4.0, alarm=1.5)
    for t, cost in zip(display.threshold, display.cost):
        said = p >= t
        assert cost == pytest.approx((4.0 * (HIT & ~said).sum() + 1.5 * (~HIT & said).sum()) / len(p))
    assert display.theory == pytest.approx(1.5 / 5.5)
    assert display.cost[display.threshold == display.best][0] == display.cost.min()
    marked = display.ax_.lines[1].get_xydata()
    assert np.allclose(marked, [[display.best, display.cost.min()]])
    assert all_cuts(np.array([True, False]), np.array([1.0, 0.0])).threshold[-1] > 1.0


def test_calibrated_probabilities_are_cheapest_near_the_theory():
    draw = np.random.default_rng(0)
    p = draw.random(40_000)
    display = CostDisplay.from_predictions(draw.random(40_000) < p, p, miss=3.0, alarm=1.0)
    assert abs(display.best - 0.25) < 0.03
