"""Bias and variance: the parts add up on any table, a double loop by hand, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from separatrix import bias_variance
from separatrix.judge.decomposition import Repeats, squared_table, zero_one_table
from separatrix.models.ensemble.bags.draws import Draws
from tests.draws import examples
from tests.judge.parts import adds_up, blobs, sine

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


@examples(150)
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


@examples(150)
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


@examples(60)
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
