"""Errors and tests of ordered classes: against second differences of the likelihood, and a fit with a line for each
threshold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from separatrix import LogisticRegression, OrdinalRegression, load, save
from tests.models.linear.ordinals import BELOW, drawn, housing


def loss(model, X, y, weight, v):
    """−log-likelihood with the numbers v = (coef, thresholds)."""
    p = X.shape[1]
    ends = np.concatenate([[-np.inf], v[p:], [np.inf]])
    eta = X @ v[:p]
    return -float(weight @ np.log(BELOW[model.link](ends[y + 1] - eta) - BELOW[model.link](ends[y] - eta)))


@pytest.mark.parametrize("link", BELOW)
def test_the_covariance_is_the_inverse_of_second_differences(link):
    X, y = drawn(200, 3, 4, seed=1)
    X = X * [1.0, 3.0, 0.3] + [0.0, 2.0, 1.0]
    weight = np.random.default_rng(2).integers(1, 4, 200).astype(float)
    model = OrdinalRegression(link, C=np.inf).fit(X, y, weight)
    v = np.concatenate([model.coef_, model.thresholds_])
    h, n = 1e-4, len(v)
    E, H = h * np.eye(n), np.empty((n, n))
    for i in range(n):
        for j in range(n):
            signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            H[i, j] = sum(a * b * loss(model, X, y, weight, v + a * E[i] + b * E[j]) for a, b in signs) / (
                4 * h * h
            )
    np.testing.assert_allclose(model.covariance(), np.linalg.inv(H), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(model.covariance_, model.covariance())
    assert model.log_likelihood_ == pytest.approx(-loss(model, X, y, weight, v), rel=1e-12)


def test_two_classes_have_the_errors_of_logistic_regression():
    X, y = drawn(150, 3, 2, seed=3)
    one, two = OrdinalRegression(C=np.inf).fit(X, y), LogisticRegression(C=np.inf).fit(X, y)
    np.testing.assert_allclose(one.standard_errors(), np.roll(two.standard_errors(), -1), rtol=1e-8)
    for name in ("deviance_", "null_deviance_", "aic_", "bic_", "log_likelihood_"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-11), name
    low, high = two.confidence_intervals(0.9)[0]
    np.testing.assert_allclose(one.confidence_intervals(0.9)[-1], [-high, -low], rtol=1e-8)


def test_the_summary():
    X, y, frequency = housing()
    model = OrdinalRegression(C=np.inf).fit(X, y, frequency)
    text = str(model.summary())
    for part in ("ordered, 3 classes", "1,681", "3479.15", "0|1", "-0.49614", "95 % Wald interval"):
        assert part in text
    odds = model.summary(exponentiate=True).to_frame()
    np.testing.assert_allclose(odds["coef"].to_numpy()[:6], np.exp(model.coef_))
    for ask in (lambda: OrdinalRegression().fit(X, y).summary(), lambda: model.confidence_intervals(1.0)):
        with pytest.raises(ValueError, match=r"penalty moves the estimates|between 0 and 1"):
            ask()
    with pytest.raises(AttributeError, match="has no likelihood here"):
        _ = OrdinalRegression().fit(X, y).aic_


def every_line(X, y, weight, k, shared):
    """The maximum of the likelihood with a line for each threshold (``shared``: columns that have one weight), by
    BFGS from where all are parallel, and the −log-likelihood there."""
    p = X.shape[1]
    own = [j for j in range(p) if j not in shared]

    def lines(v):
        tau, b = v[: k - 1], v[k - 1 : k - 1 + p]
        B = np.tile(b, (k - 1, 1))
        if own:
            B[1:, own] += v[k - 1 + p :].reshape(k - 2, len(own))
        return tau, B

    def F(v):
        tau, B = lines(v)
        below = np.column_stack([np.zeros(len(X)), BELOW["logit"](tau - X @ B.T), np.ones(len(X))])
        P = below[np.arange(len(X)), y + 1] - below[np.arange(len(X)), y]
        return -float(weight @ np.log(np.maximum(P, 1e-12)))

    return F, (k - 1) + p + (k - 2) * len(own)


def test_proportional_odds_against_the_score_by_differences():
    """UᵀI⁻¹U with U by differences and I as the mean of UUᵀ over all classes a row could be of."""
    X, y = drawn(300, 2, 4, seed=4)
    model = OrdinalRegression(C=np.inf).fit(X, y)
    found = model.proportional_odds_test()
    F, size = every_line(X, y, np.ones(300), 4, shared=[])
    v = np.concatenate([model.thresholds_, model.coef_, np.zeros(4)])
    P, h = model.predict_proba(X), 1e-5
    I, U = np.zeros((size, size)), np.zeros(size)
    for i in range(300):
        for code in range(4):
            f, _ = every_line(X[[i]], np.array([code]), np.ones(1), 4, shared=[])
            u = np.array([(f(v - h * e) - f(v + h * e)) / (2 * h) for e in np.eye(size)])
            I += P[i, code] * np.outer(u, u)
            U += u * (y[i] == code)
    assert found.df == 4 and found.statistic == pytest.approx(U @ np.linalg.solve(I, U), rel=1e-4)
    # near the truth the score and the likelihood ratio are much the same
    least = minimize(F, v, method="BFGS")
    assert found.statistic == pytest.approx(2 * (F(v) - least.fun), abs=1.0)


def test_a_column_whose_effect_changes_is_found_and_one_alone_tested():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((2000, 2))
    y = (X[:, 0] + rng.logistic(size=2000) > 0).astype(int)
    y += (y == 1) & (2 * X[:, 1] + rng.logistic(size=2000) > 0)  # the second step is another column's
    frame = pd.DataFrame(X, columns=["first", "second"])
    model = OrdinalRegression(C=np.inf).fit(frame, y)
    assert model.proportional_odds_test().p_value < 1e-10
    assert (
        model.proportional_odds_test("second").df == 1
        and model.proportional_odds_test(["second"]).p_value < 1e-6
    )
    assert "second" in str(model.proportional_odds_test("second"))
    with pytest.raises(ValueError, match="'third' is not in the model"):
        model.proportional_odds_test("third")


def test_under_the_hypothesis_p_values_are_uniform():
    found = []
    for seed in range(300):
        X, y = drawn(150, 2, 3, seed=seed)
        found.append(OrdinalRegression(C=np.inf).fit(X, y).proportional_odds_test().p_value)
    counts = np.histogram(found, np.linspace(0, 1, 6))[0]
    assert chi2.sf(np.sum((counts - 60) ** 2 / 60), 4) > 1e-3


def test_the_test_is_that_of_repeated_rows_and_of_any_unit():
    X, y, frequency = housing()
    one = OrdinalRegression(C=np.inf).fit(X, y, frequency).proportional_odds_test()
    often = np.repeat(np.arange(72), frequency.astype(int))
    two = OrdinalRegression(C=np.inf).fit(X[often] * 7 + 3, y[often]).proportional_odds_test()
    assert (one.df, two.df) == (6, 6) and one.statistic == pytest.approx(two.statistic, rel=1e-8)


def test_what_the_test_needs(tmp_path):
    X, y = drawn(100, 2, 3, seed=6)
    model = OrdinalRegression(C=np.inf).fit(X, y)
    save(model, tmp_path / "model.sepx")
    again = load(tmp_path / "model.sepx")
    assert str(again.summary()) == str(model.summary())
    with pytest.raises(ValueError, match="a file or a pickle leaves behind"):
        again.proportional_odds_test()
    with pytest.raises(ValueError, match="two classes have one threshold"):
        OrdinalRegression(C=np.inf).fit(X, y > 0).proportional_odds_test()
    with pytest.raises(ValueError, match="penalty moves"):
        OrdinalRegression().fit(X, y).proportional_odds_test()
