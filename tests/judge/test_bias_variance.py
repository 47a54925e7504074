"""Bias and variance: the parts add up on any table, a double loop by hand, closed forms, the laws, and refusals."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import ConvergenceWarning as PeerWarning
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from separatrix import LogisticRegression, bias_variance, bias_variance_curve, engine
from separatrix.judge import decomposition
from separatrix.judge.bias_variance_curve import geometric
from separatrix.judge.decomposition import Repeats, equal_rows, squared_table, zero_one_table
from separatrix.models.ensemble.bags.draws import Draws


def sine(n=120, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 6, (n, 1))
    return x, np.sin(x[:, 0]) + rng.normal(0, noise, n)


def blobs(n=90, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(0, 1.2, (n, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[y], y


def same(one, two):
    assert one.parts == two.parts
    for name in ("count", "prediction", "error", "bias", "variance", "noise"):
        np.testing.assert_array_equal(getattr(one.points, name), getattr(two.points, name))


def adds_up(found):
    assert found.total == pytest.approx(found.bias + found.variance + found.noise, rel=1e-12, abs=1e-14)
    every = [found.points] + ([found.kohavi_wolpert_points] if found.loss == "zero_one" else [])
    for points in every:
        np.testing.assert_allclose(
            points.error, points.bias + points.variance + points.noise, rtol=1e-10, atol=1e-12
        )


# ---- the parts add up, whatever the table ----


@st.composite
def repeats(draw, n):
    groups = draw(st.lists(st.integers(0, max(n // 2, 1)), min_size=n, max_size=n))
    weight = draw(st.lists(st.floats(0.1, 5), min_size=n, max_size=n))
    return Repeats(np.unique(groups, return_inverse=True)[1], np.array(weight))


@st.composite
def number_tables(draw):
    B, n, d = draw(st.integers(1, 25)), draw(st.integers(1, 12)), draw(st.integers(1, 3))
    seed, scale = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([1e-6, 1.0, 1e6]))
    rng = np.random.default_rng(seed)
    table = rng.normal(draw(st.sampled_from([0.0, 1e3])), scale, (B, n, d))
    table[rng.random((B, n)) < draw(st.floats(0, 0.9))] = np.nan
    return table, rng.normal(0, scale, (n, d)), draw(repeats(n))


@settings(max_examples=150, deadline=None)
@given(number_tables(), st.booleans())
def test_squared_parts_add_up_on_any_table(case, half):
    table, target, equal = case
    mean, found = squared_table(table, target, equal, half)
    loss = np.square(table - target).sum(axis=2) * (0.5 if half else 1.0)
    count = (~np.isnan(loss)).sum(axis=0)
    points = found.points
    np.testing.assert_array_equal(points["count"], count)
    for i in range(len(target)):
        if count[i] < 2:
            assert np.isnan([points[k][i] for k in ("error", "bias", "variance", "noise")]).all()
            continue
        own = table[~np.isnan(loss[:, i]), i]
        measured = np.nanmean(loss[:, i])
        assert points["error"][i] == pytest.approx(measured, rel=1e-12)
        parts = points["bias"][i] + points["variance"][i] + points["noise"][i]
        assert parts == pytest.approx(measured, rel=1e-9, abs=1e-9 * points["noise"][i])
        variance = own.var(axis=0, ddof=1).sum() * (0.5 if half else 1.0)
        assert points["variance"][i] == pytest.approx(variance, rel=1e-6, abs=1e-12 * measured)
        np.testing.assert_allclose(mean[i], own.mean(axis=0), rtol=1e-10, atol=1e-12 * np.sqrt(measured))
    judged = count >= 2
    if judged.any():
        total = np.average(np.nanmean(loss[:, judged], axis=0), weights=equal.weight[judged])
        parts = found.overall(1.96)
        assert parts["error"].value == pytest.approx(total, rel=1e-12)
        summed = parts["bias"].value + parts["variance"].value + parts["noise"].value
        assert summed == pytest.approx(total, rel=1e-9, abs=1e-9 * parts["noise"].value)


@st.composite
def label_tables(draw):
    B, n, k = draw(st.integers(1, 25)), draw(st.integers(1, 14)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = rng.integers(0, k, (B, n))
    table[rng.random((B, n)) < draw(st.floats(0, 0.9))] = -1
    return table, rng.integers(0, k, n), draw(repeats(n)), k


@settings(max_examples=150, deadline=None)
@given(label_tables())
def test_zero_one_parts_add_up_on_any_table(case):
    table, codes, equal, k = case
    main, domingos, kw = zero_one_table(table, codes, equal, k)
    count = (table >= 0).sum(axis=0)
    for i in np.flatnonzero(count >= 2):
        own = table[table[:, i] >= 0, i]
        measured = np.mean(own != codes[i])
        for points in (domingos.points, kw.points):
            assert points["error"][i] == pytest.approx(measured, abs=1e-14)
            summed = points["bias"][i] + points["variance"][i] + points["noise"][i]
            assert summed == pytest.approx(measured, abs=1e-13)
        votes = np.bincount(own, minlength=k)
        assert votes[main[i]] == votes.max()
        points = domingos.points
        assert points["variance"][i] == pytest.approx(
            points["unbiased_variance"][i] - points["biased_variance"][i], abs=1e-14
        )
        assert points["disagreement"][i] == pytest.approx(np.mean(own != main[i]), abs=1e-14)
        if k == 2:  # c₂ = −1: where the main prediction is wrong, every other one is right
            assert points["unbiased_variance"][i] + points["biased_variance"][i] == pytest.approx(
                points["disagreement"][i], abs=1e-14
            )
    assert np.isnan(domingos.points["error"][count < 2]).all()
    if (count >= 2).any():
        for found in (domingos, kw):
            parts = found.overall(1.96)
            summed = parts["bias"].value + parts["variance"].value + parts["noise"].value
            assert summed == pytest.approx(parts["error"].value, abs=1e-13)


@settings(max_examples=60, deadline=None)
@given(label_tables(), st.randoms(use_true_random=False))
def test_names_of_classes_change_nothing(case, random):
    table, codes, equal, k = case
    order = list(range(k))
    random.shuffle(order)
    renamed = np.append(order, -1)
    one, two = (
        zero_one_table(table, codes, equal, k),
        zero_one_table(renamed[table], renamed[codes], equal, k),
    )
    np.testing.assert_array_equal(renamed[one[0]], two[0])
    for a, b in zip(one[1:], two[1:]):
        for name in a.points:
            np.testing.assert_allclose(a.points[name], b.points[name], atol=1e-14)


def test_three_classes_by_hand():
    # 10 answers 0×5, 1×3, 2×2 about a row of class 1: main 0, biased; of the 5 others only 3 are right
    table = np.repeat([0, 1, 2], [5, 3, 2])[:, None]
    main, found, kw = zero_one_table(table, np.array([1]), Repeats(np.zeros(1, int), np.ones(1)), 3)
    parts = {name: values[0] for name, values in found.points.items()}
    assert main[0] == 0
    expected = {"error": 0.7, "bias": 1.0, "variance": -0.3, "disagreement": 0.5, "biased_variance": 0.3}
    assert {name: parts[name] for name in expected} == pytest.approx(expected)
    spread = (1 - 0.38) / 2
    assert kw.points["variance"][0] == pytest.approx(spread * 10 / 9)
    assert kw.points["bias"][0] == pytest.approx((0.25 + 0.49 + 0.04) / 2 - spread / 9)


def test_a_tie_goes_to_the_class_predicted_first():
    one = Repeats(np.zeros(1, int), np.ones(1))
    assert zero_one_table(np.array([[1], [0], [0], [1]]), np.array([0]), one, 2)[0][0] == 1
    assert zero_one_table(np.array([[0], [1], [1], [0]]), np.array([0]), one, 2)[0][0] == 0


# ---- against a double loop ----


@pytest.mark.parametrize("loss", ["squared", "zero_one"])
def test_against_a_double_loop(loss):
    if loss == "squared":
        X, y = sine(12)
        model = KNeighborsRegressor(2)
    else:
        X, y = blobs(15)
        model = KNeighborsClassifier(1)
    B, n = 9, len(y)
    found = bias_variance(model, X, y, loss=loss, n_bootstraps=B, random_state=5)
    draws = Draws(n=n, p=1, m=n, width=1, seed=5)
    said = [[] for _ in range(n)]
    for b in range(B):
        bag = draws.rows(b).tolist()
        fitted = model.fit(X[bag], y[bag])
        for i in set(range(n)) - set(bag):
            said[i].append(fitted.predict(X[[i]])[0])
    totals, biases, variances = [], [], []
    for i in range(n):
        K = len(said[i])
        assert found.points.count[i] == K
        if K < 2:
            assert np.isnan(found.points.error[i])
            continue
        if loss == "squared":
            mean = sum(said[i]) / K
            variance = sum((h - mean) ** 2 for h in said[i]) / (K - 1)
            bias = (y[i] - mean) ** 2 - variance / K
            error = sum((y[i] - h) ** 2 for h in said[i]) / K
            assert found.points.prediction[i] == pytest.approx(mean)
            assert found.points.residual[i] == pytest.approx(y[i] - mean)
        else:
            main = max(said[i], key=said[i].count)  # the first of equals
            bias = float(main != y[i])
            error = sum(h != y[i] for h in said[i]) / K
            variance = (
                sum(h != main for h in said[i]) / K if not bias else -sum(h == y[i] for h in said[i]) / K
            )
            assert found.points.prediction[i] == main
        assert found.points.bias[i] == pytest.approx(bias, abs=1e-14)
        assert found.points.variance[i] == pytest.approx(variance, abs=1e-14)
        totals.append(error), biases.append(bias), variances.append(variance)
    assert found.judged == len(totals)
    assert (found.total, found.bias, found.variance) == pytest.approx(
        (np.mean(totals), np.mean(biases), np.mean(variances))
    )
    adds_up_where_judged = found.bias + found.variance + found.noise
    assert adds_up_where_judged == pytest.approx(found.total, rel=1e-12)


# ---- known answers ----


def test_the_mean_has_a_closed_form():
    """A left-out row hears means of n draws from the others: expectation ȳ₋ᵢ, variance of the others over n."""
    _, y = sine(25)
    found = bias_variance(DummyRegressor(), np.arange(25.0)[:, None], y, n_bootstraps=4000, random_state=1)
    others = np.array([np.delete(y, i) for i in range(25)])
    variance = others.var(axis=1) / 25
    bias = (y - others.mean(axis=1)) ** 2
    assert found.variance == pytest.approx(variance.mean(), abs=4 * found.parts["variance"].error_bootstraps)
    assert found.bias == pytest.approx(bias.mean(), abs=4 * found.parts["bias"].error_bootstraps)
    np.testing.assert_allclose(found.points.variance, variance, rtol=0.15)
    adds_up(found)


def test_ridge_against_simulation_and_closed_form():
    """Bias² against λ² |x(XᵀX + λ)⁻¹β|²; variance against data sets drawn from the truth; noise against σ²."""
    rng = np.random.default_rng(0)
    places = rng.normal(size=(60, 3))
    X = np.repeat(places, 5, axis=0)
    beta, sigma, alpha, n = np.array([1.0, -2.0, 0.5]), 1.5, 200.0, 300
    ridge = alpha * np.eye(3)
    bias = np.square(X @ np.linalg.solve(X.T @ X + ridge, alpha * beta)).mean()
    fixed = sigma**2 * np.square(X @ np.linalg.solve(X.T @ X + ridge, X.T)).sum(axis=1).mean()
    coefs = []
    for _ in range(3000):  # bootstraps draw rows as well as noise, so the design varies here too
        Z = places[rng.integers(0, 60, n)]
        coefs.append(np.linalg.solve(Z.T @ Z + ridge, Z.T @ (Z @ beta + rng.normal(0, sigma, n))))
    variance = (np.array(coefs) @ X.T).var(axis=0).mean()
    assert variance > 1.2 * fixed
    found = []
    for _ in range(16):
        y = X @ beta + rng.normal(0, sigma, n)
        result = bias_variance(Ridge(alpha, fit_intercept=False), X, y, n_bootstraps=60)
        adds_up(result)
        found.append((result.bias, result.variance, result.noise))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / 4
    assert (np.abs(mean - [bias, variance, sigma**2]) < 4 * error).all()
    assert mean == pytest.approx([bias, variance, sigma**2], rel=0.15)


def test_variance_of_least_squares():
    """Without shrinking, the rows' draw adds little: σ² p/n on average over the rows."""
    rng = np.random.default_rng(3)
    X, sigma = rng.normal(size=(400, 4)), 0.7
    found = []
    for _ in range(8):
        y = X @ [1.0, 0.0, -1.0, 2.0] + rng.normal(0, sigma, 400)
        found.append(bias_variance(LinearRegression(fit_intercept=False), X, y, n_bootstraps=60))
    variance = np.mean([r.variance for r in found])
    assert variance == pytest.approx(sigma**2 * 4 / 400, rel=0.1)
    # bias ≈ 0: what is left is noise, counted in bias since no rows repeat
    assert np.mean([r.bias for r in found]) == pytest.approx(sigma**2, rel=0.1)
    assert all(not r.noise_known and r.noise == 0 for r in found)


def test_a_constant_has_no_variance():
    X, y = sine(40)
    found = bias_variance(DummyRegressor(strategy="constant", constant=0.1), X, y, n_bootstraps=30)
    assert found.variance == 0.0
    assert (found.points.variance == 0).all()
    assert found.bias == pytest.approx(np.mean((y - 0.1) ** 2))
    X, y = blobs(40)
    found = bias_variance(DummyClassifier(strategy="constant", constant=1), X, y, n_bootstraps=30)
    assert found.variance == 0.0 == found.kohavi_wolpert["variance"].value
    assert found.bias == found.total == pytest.approx(np.mean(y != 1))


def test_neighbours_trade_bias_for_variance():
    X, y = sine(150, noise=0.1)
    one, many = (bias_variance(KNeighborsRegressor(k), X, y, n_bootstraps=60) for k in (1, 60))
    assert one.variance > 2 * many.variance and many.bias > 3 * one.bias
    X, y = blobs(150)
    one, many = (bias_variance(KNeighborsClassifier(k), X, y, n_bootstraps=60) for k in (1, 30))
    # a row's nearest neighbour is in two bags of three, so the bootstraps' vote is nearly the neighbour's own
    assert one.bias > many.bias
    tree, line = (bias_variance(model, X, y, n_bootstraps=60) for model in (DecisionTreeClassifier(), Peer()))
    for name in ("disagreement", "unbiased_variance"):
        assert tree.parts[name].value > 1.5 * line.parts[name].value
    assert tree.kohavi_wolpert["variance"].value > 1.5 * line.kohavi_wolpert["variance"].value


def test_noise_where_rows_repeat():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(-1, 1, (80, 1)), 4, axis=0)
    y = 3 * X[:, 0] + rng.normal(0, 0.5, 320)
    found = bias_variance(LinearRegression(), X, y, n_bootstraps=60)
    within = y.reshape(80, 4).var(axis=1, ddof=1).mean()
    assert found.noise == pytest.approx(within)
    assert found.parts["noise"].low < 0.25 < found.parts["noise"].high
    assert abs(found.bias) < 0.05
    assert found.parts["bias"].low < 0.0 < found.parts["bias"].high
    adds_up(found)
    assert "240 degrees" in str(found)
    assert "counted in bias" not in str(found)
    # a few repeats say nothing
    few = bias_variance(LinearRegression(), np.vstack([X[::4], X[:1]]), y[:81], n_bootstraps=20)
    assert few.noise == 0 and "Only 2 rows" in str(few)


def test_noise_of_labels_where_rows_repeat():
    rng = np.random.default_rng(1)
    place = rng.uniform(1, 3, 40) * np.where(np.arange(40) % 2, 1, -1)
    X = np.repeat(place, 15)[:, None]
    y = np.where((X[:, 0] > 0) ^ (rng.random(600) < 0.2), "up", "down")
    found = bias_variance(Peer(), X, y, n_bootstraps=50)
    assert found.noise == pytest.approx(0.2, abs=0.05)  # c₁ ≈ 1: the learner is nearly always at y*
    assert found.bias < 0.05
    assert found.kohavi_wolpert["noise"].value == pytest.approx(0.2 * 0.8, abs=0.03)
    adds_up(found)


def test_probabilities_of_hard_classifiers_are_kohavi_and_wolpert():
    """½ Σ_k (t − p)² of one-hot p is 0–1 loss."""
    X, y = blobs(80)
    labels = bias_variance(KNeighborsClassifier(1), X, y, n_bootstraps=40)
    shares = bias_variance(KNeighborsClassifier(1), X, y, loss="squared", n_bootstraps=40)
    for name in ("error", "bias", "variance", "noise"):
        assert shares.parts[name].value == pytest.approx(labels.kohavi_wolpert[name].value, abs=1e-13)
        assert shares.parts[name].error_bootstraps == pytest.approx(
            labels.kohavi_wolpert[name].error_bootstraps, abs=1e-12
        )


def test_two_classes_of_probabilities_are_a_regression():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:150, :5]
    y = y[:150]

    class Second(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.model_ = Peer().fit(X, y)
            return self

        def predict(self, X):
            return self.model_.predict_proba(X)[:, 1]

    one = bias_variance(Peer(), X, y, loss="squared", n_bootstraps=20)
    two = bias_variance(Second(), X, y, loss="squared", n_bootstraps=20)
    for name in ("error", "bias", "variance", "noise"):
        assert one.parts[name].value == pytest.approx(two.parts[name].value, rel=1e-9, abs=1e-14)
    assert one.points.prediction.shape == (150, 2)
    adds_up(one)


# ---- intervals ----


def test_interval_of_the_bootstraps_covers_more_bootstraps():
    X, y = sine(60)
    model = DecisionTreeRegressor()
    truth = bias_variance(model, X, y, n_bootstraps=1500, random_state=99)
    missed = 0
    for seed in range(24):
        part = bias_variance(model, X, y, n_bootstraps=60, random_state=seed).parts["variance"]
        missed += abs(part.value - truth.variance) > 1.96 * part.error_bootstraps
    assert missed <= 6  # 1.2 expected of 24; a jackknife of 20 batches has its own spread


def test_errors_of_the_bootstraps_are_the_spread_over_seeds():
    X, y = blobs(150)
    found = [
        bias_variance(DecisionTreeClassifier(max_depth=6), X, y == 1, n_bootstraps=60, random_state=s)
        for s in range(25)
    ]
    for parts in ("parts", "kohavi_wolpert"):
        for name in ("error", "bias", "variance"):
            each = [getattr(r, parts)[name] for r in found]
            claimed = np.sqrt(np.mean([part.error_bootstraps**2 for part in each]))
            assert 0.6 < claimed / np.std([part.value for part in each], ddof=1) < 1.7


def test_interval_of_the_points_covers_other_points():
    """The mean of a constant's loss: its interval is that of a mean."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(200):
        y = rng.normal(size=40)
        X = rng.normal(size=(40, 1))
        part = bias_variance(DummyRegressor(strategy="constant", constant=0.0), X, y, n_bootstraps=12).parts[
            "error"
        ]
        missed += not part.low <= 1.0 <= part.high
    assert missed <= 30


def test_equal_rows_go_together_in_the_interval():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 1)), rng.normal(size=50)
    model = DummyRegressor(strategy="constant", constant=0.0)
    once = bias_variance(model, X, y, n_bootstraps=40).parts["error"]
    fourfold = bias_variance(model, np.tile(X, (4, 1)), np.tile(y, 4), n_bootstraps=40).parts["error"]
    assert fourfold.value == pytest.approx(once.value)
    assert fourfold.error_points == pytest.approx(once.error_points)


def test_level_widens():
    X, y = sine(40)
    low, high = (
        bias_variance(DummyRegressor(), X, y, n_bootstraps=20, level=v).parts["error"] for v in (0.5, 0.99)
    )
    assert high.low < low.low < low.high < high.high


# ---- laws ----


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (DecisionTreeRegressor(max_features=1), "squared"),
        (DecisionTreeClassifier(max_features=1), "zero_one"),
        (LogisticRegression(), "squared"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "zero_one"),
    ],
    ids=str,
)
def test_threads_give_the_same_bits(model, loss):
    X, y = blobs(80)
    runs = [
        bias_variance(model, X, y, loss=loss, n_bootstraps=24, random_state=3, n_jobs=j) for j in (1, 2, 5)
    ]
    same(runs[0], runs[1])
    same(runs[0], runs[2])
    adds_up(runs[0])


def test_seeds_differ_and_repeat():
    X, y = sine(50)
    one, again, other = (
        bias_variance(KNeighborsRegressor(1), X, y, n_bootstraps=20, random_state=s) for s in (1, 1, 2)
    )
    same(one, again)
    assert one.total != other.total


def test_weight_zero_is_absence():
    X, y = blobs(60)
    weight = np.where(np.arange(60) % 5 == 0, 0.0, 1.0 + np.arange(60) % 3)
    keep = weight > 0
    with_zero = bias_variance(DecisionTreeClassifier(), X, y, sample_weight=weight, n_bootstraps=30)
    absent = bias_variance(
        DecisionTreeClassifier(), X[keep], y[keep], sample_weight=weight[keep], n_bootstraps=30
    )
    assert with_zero.parts == absent.parts
    np.testing.assert_array_equal(with_zero.points.error[keep], absent.points.error)
    assert np.isnan(with_zero.points.error[~keep]).all() and (with_zero.points.count[~keep] == 0).all()
    assert with_zero.points.prediction[0] is None


def test_weights_are_relative_and_count_in_the_mean():
    X, y = sine(50)
    weight = 1.0 + np.arange(50) % 3
    one, tenfold = (
        bias_variance(KNeighborsRegressor(3), X, y, sample_weight=w, n_bootstraps=40)
        for w in (weight, 10 * weight)
    )
    assert one.total == pytest.approx(tenfold.total, rel=1e-12)
    assert one.total == pytest.approx(np.average(one.points.error, weights=weight), rel=1e-12)
    # a heavy row is left out less often
    assert one.points.count[weight == 3].mean() < one.points.count[weight == 1].mean()


def test_label_permutation():
    X, y = blobs(70)
    names = np.array(["pear", "apple", "fig"])
    one = bias_variance(KNeighborsClassifier(1), X, y, n_bootstraps=30)
    two = bias_variance(KNeighborsClassifier(1), X, names[y], n_bootstraps=30)
    for name, part in one.parts.items():
        assert two.parts[name] == pytest.approx(part, abs=1e-13)
    assert two.points.prediction.tolist() == names[one.points.prediction.astype(int)].tolist()


def test_rows_in_any_container():
    import pandas as pd

    X, y = blobs(60)
    want = bias_variance(KNeighborsClassifier(3), X, y, n_bootstraps=15)
    for table in (pd.DataFrame(X, columns=["a", "b"]), sp.csr_array(X), X.tolist(), np.asfortranarray(X)):
        same(bias_variance(KNeighborsClassifier(3), table, pd.Series(y), n_bootstraps=15), want)


def test_equal_rows_in_any_container():
    import pandas as pd

    rows = [[1.0, 0.0], [0.0, 2.0], [1.0, -0.0], [np.nan, 1.0], [np.nan, 1.0]]
    want = [0, 1, 0, 2, 2]
    for table in (np.array(rows), pd.DataFrame(rows), sp.csr_array(np.array(rows))):
        assert equal_rows(table).tolist() == want
    assert equal_rows(pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 1, 1]})).tolist() == [0, 1, 0]
    assert equal_rows(["a text", "another", "a text"]).tolist() == [0, 1, 0]


def test_the_estimator_stays_as_it_is():
    model = DecisionTreeClassifier(random_state=7)
    X, y = blobs(40)
    bias_variance(model, X, y, n_bootstraps=5)
    assert model.random_state == 7 and not hasattr(model, "tree_")


def test_fewer_rows_a_bootstrap():
    X, y = sine(100)
    whole, part = (
        bias_variance(KNeighborsRegressor(1), X, y, n_bootstraps=40, max_samples=m) for m in (None, 0.2)
    )
    assert whole.bag == 100 and part.bag == 20
    assert part.points.count.mean() == pytest.approx(40 * 0.99**20, rel=0.1)
    assert part.total > whole.total


# ---- what may go wrong on the way ----


def test_bootstraps_of_one_class_are_skipped():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.r_[np.zeros(18, int), 1, 1]
    refuses = bias_variance(Peer(), X, y, n_bootstraps=60)
    assert refuses.one_class > 0
    assert refuses.bootstraps == 60 - refuses.one_class
    assert f"{refuses.one_class} bootstraps held one class" in str(refuses)
    takes = bias_variance(DecisionTreeClassifier(), X, y, n_bootstraps=60)
    assert takes.one_class == 0 and takes.bootstraps == 60
    shares = bias_variance(DecisionTreeClassifier(), X, y, loss="squared", n_bootstraps=60)
    adds_up(shares)


def test_rows_never_left_out_are_counted():
    X, y = sine(60)
    found = bias_variance(KNeighborsRegressor(1), X, y, n_bootstraps=3)
    unjudged = found.points.count < 2
    assert unjudged.any()
    assert found.judged == 60 - unjudged.sum()
    assert np.isnan(found.points.bias[unjudged]).all()
    assert np.isnan(found.points.prediction[found.points.count == 0]).all()
    assert f"{unjudged.sum()} rows were left out by fewer than 2" in str(found)
    assert found.total == pytest.approx(found.bias + found.variance, rel=1e-12)


def test_warnings_are_counted_and_given_once():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(PeerWarning, match="10 times while fitting bootstraps") as caught:
        found = bias_variance(Peer(max_iter=3), X, y, n_bootstraps=10, n_jobs=1)
    assert len([w for w in caught if issubclass(w.category, PeerWarning)]) == 1
    assert "ConvergenceWarning 10 times" in str(found)


class Slow(ClassifierMixin, BaseEstimator):
    done = 0

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        Slow.done += 1
        time.sleep(0.01)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interruption_keeps_what_is_finished(n_jobs):
    X, y = blobs(60)
    Slow.done = 0
    timer = threading.Timer(0.6, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    found = bias_variance(Slow(), X, y, n_bootstraps=5000, n_jobs=n_jobs)
    timer.join()
    assert found.interrupted
    assert 2 <= found.bootstraps < 5000
    assert "Interrupted" in str(found)
    after = Slow.done
    time.sleep(0.1)
    assert Slow.done == after  # nothing goes on in the background
    adds_up(bias_variance(Slow(), X, y, n_bootstraps=5))


def test_an_interruption_before_two_bootstraps_is_raised():
    class Stops(Slow):
        def fit(self, X, y):
            if Slow.done:
                raise KeyboardInterrupt
            return super().fit(X, y)

    Slow.done = 0
    X, y = blobs(60)
    with pytest.raises(KeyboardInterrupt):
        bias_variance(Stops(), X, y, n_bootstraps=9, n_jobs=1)


def test_under_dask_the_table_stays_here_on_threads():
    pytest.importorskip("dask")
    seen = []

    class Sees(DecisionTreeClassifier):
        def fit(self, X, y):
            seen.append(threading.current_thread().name)
            return super().fit(X, y)

    X, y = blobs(60)
    want = bias_variance(DecisionTreeClassifier(), X, y, n_bootstraps=10)
    with engine("dask", workers=2):
        same(bias_variance(Sees(), X, y, n_bootstraps=10), want)
    assert len(seen) == 10 and all(name.startswith("separatrix") for name in seen)


@pytest.mark.usefixtures("no_collector")
def test_an_interrupted_curve_keeps_its_values():
    X, y = blobs(60)

    class Named(Slow):
        def __init__(self, word="a"):
            self.word = word

    timer = threading.Timer(0.8, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    curve = bias_variance_curve(
        Named(), X, y, param_name="word", param_range=[str(i) for i in range(500)], n_bootstraps=6
    )
    timer.join()
    assert curve.interrupted and 1 <= len(curve.results) < 500
    assert "Interrupted" in str(curve)
    assert len(curve.to_frame()) == len(curve.results)


def test_progress_goes_to_standard_error(capsys):
    X, y = blobs(40)
    bias_variance(Slow(), X, y, n_bootstraps=10, verbose=True)
    out, err = capsys.readouterr()
    assert out == "" and "10 of 10 bootstraps" in err
    bias_variance(Slow(), X, y, n_bootstraps=10)
    assert capsys.readouterr() == ("", "")


def test_an_error_says_which_bootstrap():
    class Breaks(Slow):
        def fit(self, X, y):
            raise ValueError("the box is empty")

    X, y = blobs(40)
    with pytest.raises(ValueError, match="the box is empty") as caught:
        bias_variance(Breaks(), X, y, n_bootstraps=5)
    assert any("bootstrap" in note for note in caught.value.__notes__)


# ---- to look at ----


def test_frame_and_html():
    X, y = blobs(40)
    found = bias_variance(KNeighborsClassifier(1), X, y, n_bootstraps=20)
    frame = found.to_frame()
    assert len(frame) == 40
    assert {"count", "prediction", "error", "unbiased_variance", "biased_variance", "kw_bias"} <= set(
        frame.columns
    )
    np.testing.assert_allclose(frame["error"], frame["bias"] + frame["variance"] + frame["noise"], atol=1e-12)
    assert "<table" in found._repr_html_()
    assert repr(found) == str(found)
    shares = bias_variance(KNeighborsClassifier(1), X, y, loss="squared", n_bootstraps=20).to_frame()
    assert {"P(0)", "P(1)", "P(2)"} <= set(shares.columns)
    with pytest.raises(AttributeError):
        found.loss = "other"


# ---- the curve ----


def test_curve_is_the_single_results_on_the_same_bootstraps():
    X, y = sine(60)
    curve = bias_variance_curve(
        KNeighborsRegressor(),
        X,
        y,
        param_name="n_neighbors",
        param_range=[1, 5, 20],
        n_bootstraps=20,
        random_state=4,
    )
    for k, result in zip((1, 5, 20), curve.results, strict=True):
        same(result, bias_variance(KNeighborsRegressor(k), X, y, n_bootstraps=20, random_state=4))
        np.testing.assert_array_equal(result.points.count, curve.results[0].points.count)
    frame = curve.to_frame()
    assert frame["n_neighbors"].tolist() == [1, 5, 20]
    np.testing.assert_allclose(frame["total"], frame["bias"] + frame["variance"] + frame["noise"])
    assert (frame["total_low"] < frame["total"]).all() and (frame["total"] < frame["total_high"]).all()
    assert curve.best == frame["n_neighbors"][frame["total"].idxmin()]
    assert "n_neighbors 20" in str(curve) and "<table" in curve._repr_html_()


def test_curve_of_a_pipeline_and_of_words():
    X, y = sine(50)
    model = make_pipeline(PolynomialFeatures(), LinearRegression())
    curve = bias_variance_curve(
        model, X, y, param_name="polynomialfeatures__degree", param_range=range(1, 4), n_bootstraps=10
    )
    assert len(curve.results) == 3
    words = bias_variance_curve(
        KNeighborsRegressor(),
        X,
        y,
        param_name="weights",
        param_range=["uniform", "distance"],
        n_bootstraps=10,
    )
    assert words.to_frame()["weights"].tolist() == ["uniform", "distance"]


def test_curve_draws():
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = sine(50)

    def curve(name, values):
        return bias_variance_curve(
            DecisionTreeRegressor(), X, y, param_name=name, param_range=values, n_bootstraps=8
        )

    ax = curve("min_samples_leaf", [1, 3, 10, 30]).plot()
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "min_samples_leaf"
    assert [line.get_label() for line in ax.lines] == ["error", "bias²", "variance"]
    assert len(ax.collections) == 3
    _, given_axes = plt.subplots()
    assert curve("max_depth", [1, 2, 3, 4]).plot(given_axes) is given_axes
    assert given_axes.get_xscale() == "linear"
    ax = curve("max_depth", [2, None]).plot()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["2", "None"]
    plt.close("all")


def test_geometric():
    assert geometric(np.logspace(-3, 3, 7))
    assert not geometric(np.linspace(1, 100, 7))
    assert not geometric(np.array([0, 1, 10, 100]))
    assert not geometric(np.array([1, 2]))


# ---- refusals ----


X_SINE, Y_SINE = sine(30)
X_BLOBS, Y_BLOBS = blobs(30)


@pytest.mark.parametrize(
    ("model", "X", "y", "options", "message"),
    [
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"n_bootstraps": 1}, "n_bootstraps must be a whole number of at"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"n_bootstraps": 10.0}, "n_bootstraps must be a whole number"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"loss": "hinge"}, "loss 'hinge' is unknown"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"loss": "zero_one"}, "predicts numbers"),
        (KNeighborsClassifier(), X_SINE, Y_SINE, {}, "y holds numbers such as"),
        (KNeighborsRegressor(), X_BLOBS, np.array(["a", "b", "c"])[Y_BLOBS], {}, "y holds labels such as 'a'"),
        (LinearSVC(), X_BLOBS, Y_BLOBS, {"loss": "squared"}, "has no predict_proba"),
        (KNeighborsRegressor(), X_SINE, Y_SINE[:-1], {}, "X has 30 rows, y has 29"),
        (KNeighborsRegressor(), X_SINE, None, {}, "y is None"),
        (KNeighborsRegressor(), X_SINE, np.where(Y_SINE > 0, np.nan, Y_SINE), {}, "y is nan in row"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"sample_weight": -np.ones(30)}, "sample_weight must be finite"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"level": 95}, "level must be a share"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"n_jobs": 0}, "n_jobs must be None"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"max_samples": 1.5}, "max_samples=1.5"),
        (KNeighborsRegressor(), X_SINE[:2], Y_SINE[:2], {}, "2 rows are too few"),
        (KNeighborsClassifier(), X_BLOBS, np.zeros(30, int), {}, "y has one class, 0"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"max_samples": 3000, "n_bootstraps": 3}, "no row was left out"),
        (KNeighborsRegressor(), X_SINE, np.column_stack([Y_SINE] * 2), {}, "1d array"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_refusals(model, X, y, options, message):
    with pytest.raises(ValueError, match=message):
        bias_variance(model, X, y, **options)


def test_refusals_of_estimators():
    class NoPredict(BaseEstimator):
        def fit(self, X, y):
            return self

    with pytest.raises(TypeError, match="NoPredict has no predict"):
        bias_variance(NoPredict(), X_SINE, Y_SINE)
    with pytest.raises(TypeError, match=r"give an instance, KNeighborsRegressor\(\)"):
        bias_variance(KNeighborsRegressor, X_SINE, Y_SINE)

    class Infinite(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.full(len(X), np.inf)

    with pytest.raises(ValueError, match="predicts a number that is not finite for row"):
        bias_variance(Infinite(), X_SINE, Y_SINE, n_bootstraps=5)

    class Strange(Slow):
        def predict(self, X):
            return np.full(len(X), 17)

    with pytest.raises(ValueError, match="predicts 17, which is not a class"):
        bias_variance(Strange(), X_BLOBS, Y_BLOBS, n_bootstraps=5)


def test_refusals_of_the_curve():
    with pytest.raises(ValueError, match="no setting 'neighbors': did you mean 'n_neighbors'"):
        bias_variance_curve(KNeighborsRegressor(), X_SINE, Y_SINE, param_name="neighbors", param_range=[1])
    with pytest.raises(ValueError, match="param_range is empty"):
        bias_variance_curve(KNeighborsRegressor(), X_SINE, Y_SINE, param_name="n_neighbors", param_range=[])
    with pytest.raises(ValueError, match="must be a list of values"):
        bias_variance_curve(KNeighborsRegressor(), X_SINE, Y_SINE, param_name="n_neighbors", param_range=3)


def test_iris_against_scikit_learns_out_of_bag_error():
    """The mean of the main predictions' errors is the out-of-bag error of bagging by vote, on the same idea."""
    from sklearn.ensemble import BaggingClassifier

    X, y = load_iris(return_X_y=True)
    found = bias_variance(DecisionTreeClassifier(), X, y, n_bootstraps=200)
    bag = BaggingClassifier(DecisionTreeClassifier(), 200, oob_score=True, random_state=0).fit(X, y)
    assert found.bias == pytest.approx(1 - bag.oob_score_, abs=0.02)
    adds_up(found)


def test_batches_are_not_more_than_bootstraps():
    for B, n in itertools.product((2, 3, 21), (5,)):
        table = np.random.default_rng(0).normal(size=(B, n, 1))
        found = squared_table(table, np.zeros((n, 1)), Repeats(np.arange(n), np.ones(n)))[1]
        assert len(found.moved.means.get("error", [])) == (0 if B < 3 else min(B, decomposition.BATCHES))
        assert np.isnan(found.overall(2.0)["variance"].error_bootstraps) == (B < 3)


def test_no_warning_of_our_own():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bias_variance(DecisionTreeClassifier(), X_BLOBS, Y_BLOBS, n_bootstraps=3)
        bias_variance(DecisionTreeRegressor(), X_SINE, Y_SINE, n_bootstraps=2)
