"""Separators, smoothing and posteriors of the notes, worked by hand, and error counts known from elsewhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn import datasets

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from tests.models.generative.real_tables import TIES, table, words

# ---- worked by hand ----


BITS = np.array(
    [[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 1]]
)
SIDES = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0])


def test_the_bernoulli_separator_of_the_notes():
    """W_j = log θ₁(1−θ₀)/(θ₀(1−θ₁)), W₀ = log π₁/π₀ + Σ log (1−θ₁)/(1−θ₀): the erratum's right-hand side."""
    model = BernoulliNB(alpha=0).fit(BITS, SIDES)
    theta1, theta0 = BITS[SIDES == 1].mean(axis=0), BITS[SIDES == 0].mean(axis=0)
    np.testing.assert_allclose(theta1, [3 / 4, 3 / 4, 3 / 4])
    np.testing.assert_allclose(theta0, [1 / 5, 1 / 5, 3 / 5])
    W = np.log(theta1 * (1 - theta0) / (theta0 * (1 - theta1)))
    W0 = np.log(4 / 5) + np.sum(np.log((1 - theta1) / (1 - theta0)))
    printed = np.log(4 / 5) + np.sum(np.log(1 - theta1) / np.log(1 - theta0))
    np.testing.assert_allclose(model.coef_, [W], rtol=1e-13)
    np.testing.assert_allclose(model.intercept_, [W0], rtol=1e-13)
    assert abs(printed - W0) > 1.0
    odds = model.predict_log_proba(BITS)
    np.testing.assert_allclose(odds[:, 1] - odds[:, 0], BITS @ W + W0, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.rule_.score(BITS), BITS @ W + W0, rtol=1e-13)


def test_smoothing_is_virtual_rows_of_each_parameter():
    """[726]: each parameter is smoothed, not the posterior."""
    n1, n = BITS[SIDES == 1].sum(axis=0), 4
    q = BITS.mean(axis=0)
    cases = {
        None: (n1 + 1) / (n + 2),
        ("beta", 2, 2): (n1 + 1) / (n + 2),
        ("m", 2, "uniform"): (n1 + 1) / (n + 2),
        ("beta", 3, 1.5): (n1 + 2) / (n + 2.5),
        ("m", 5, "marginal"): (n1 + 5 * q) / (n + 5),
        ("m", 5, 0.3): (n1 + 1.5) / (n + 5),
        ("m", 5, (0.1, 0.2, 0.3)): (n1 + np.array([0.5, 1.0, 1.5])) / (n + 5),
    }
    for smoothing, wanted in cases.items():
        model = BernoulliNB(smoothing=smoothing).fit(BITS, SIDES)
        np.testing.assert_allclose(
            np.exp(model.feature_log_prob_[1]), wanted, rtol=1e-13, err_msg=str(smoothing)
        )


def test_smoothing_of_categories_and_words():
    X = np.array([[0, 2], [0, 1], [1, 0], [2, 0], [2, 2]])
    y = np.array([0, 0, 0, 1, 1])
    first = {0: np.array([2, 1, 0]), 1: np.array([0, 0, 2])}
    for smoothing, add in (
        (None, np.ones(3)),
        (("dirichlet", 2), np.ones(3)),
        (("dirichlet", 1.5), np.full(3, 0.5)),
        (("m", 3, "uniform"), np.ones(3)),
        (("m", 6, "marginal"), 6 * np.array([2, 1, 2]) / 5),
        (("m", 10, (0.5, 0.3, 0.2)), np.array([5.0, 3.0, 2.0])),
    ):
        model = CategoricalNB(smoothing=smoothing).fit(X, y)
        for k, n in first.items():
            wanted = (n + add) / (n.sum() + add.sum())
            np.testing.assert_allclose(
                np.exp(model.feature_log_prob_[0][k]), wanted, rtol=1e-12, err_msg=str(smoothing)
            )
    words = np.array([[3, 0, 1], [1, 1, 0], [0, 4, 2]])
    for smoothing, add in (
        (None, np.ones(3)),
        (("dirichlet", 2), np.ones(3)),
        (("dirichlet", (2.0, 1.5, 3.0)), np.array([1.0, 0.5, 2.0])),
        (("m", 3, "uniform"), np.ones(3)),
        (("m", 6, "marginal"), 6 * np.array([4, 5, 3]) / 12),
        (("m", 10, (0.5, 0.3, 0.2)), np.array([5.0, 3.0, 2.0])),
    ):
        model = MultinomialNB(smoothing=smoothing).fit(words, [0, 0, 1])
        for k, n in enumerate(np.array([[4, 1, 1], [0, 4, 2]])):
            wanted = (n + add) / (n.sum() + add.sum())
            np.testing.assert_allclose(
                np.exp(model.feature_log_prob_[k]), wanted, rtol=1e-12, err_msg=str(smoothing)
            )


@pytest.mark.parametrize("K", [2, 3])
def test_gaussian_nb_tied_over_classes_is_a_line_lda_with_a_diagonal_covariance(K):
    X, y = table("wine")
    X, y = X[y < K], y[y < K]
    model = GaussianNB(tie="class", var_smoothing=0).fit(X, y)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    v = np.diag(lda.covariance_)
    np.testing.assert_allclose(model.var_, np.broadcast_to(v, model.var_.shape), rtol=1e-12)
    beta = lda.means_ / v
    gamma = -0.5 * np.sum(lda.means_**2 / v, axis=1) + np.log(lda.priors_)
    if K == 2:
        beta, gamma = beta[1:] - beta[:1], gamma[1:] - gamma[:1]
    np.testing.assert_allclose(model.coef_, beta, rtol=1e-10, atol=1e-12 * np.abs(beta).max())
    np.testing.assert_allclose(model.intercept_, gamma, rtol=1e-10)
    scores = X @ beta.T + gamma
    logs = model.predict_log_proba(X)
    wanted = scores[:, 0] if K == 2 else scores - logsumexp(scores, axis=1)[:, None]
    found = logs[:, 1] - logs[:, 0] if K == 2 else logs
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    np.testing.assert_allclose(np.squeeze(model.rule_.score(X)), np.squeeze(scores), rtol=1e-12, atol=1e-9)


def test_which_separators_are_linear():
    X, y = table("iris")
    for tie in TIES:
        assert hasattr(GaussianNB(tie=tie).fit(X, y), "rule_") == (tie in ("class", "both"))
    assert hasattr(LinearDiscriminantAnalysis().fit(X, y), "rule_")
    assert hasattr(GaussianDiscriminant("shared").fit(X, y), "rule_")
    assert hasattr(GaussianDiscriminant([[0, 1, 2]]).fit(X, y), "rule_")
    for covariance in ("per-class", "diagonal", "spherical", [[0, 1], [2]]):
        assert not hasattr(GaussianDiscriminant(covariance).fit(X, y), "rule_")
    assert not hasattr(QuadraticDiscriminantAnalysis().fit(X, y), "rule_")


def test_the_multinomial_separator():
    X, y = words()
    for K in (2, 10):
        cells, labels = X[y < K], y[y < K]
        model = MultinomialNB().fit(cells, labels)
        beta, gamma = model.feature_log_prob_, model.class_log_prior_
        if K == 2:
            beta, gamma = beta[1:] - beta[:1], gamma[1:] - gamma[:1]
        np.testing.assert_allclose(model.coef_, beta, rtol=1e-13)
        np.testing.assert_allclose(model.intercept_, gamma, rtol=1e-13)
        score = cells @ model.coef_.T + model.intercept_
        log_p = model.predict_log_proba(cells)
        wanted = score[:, 0] if K == 2 else score - logsumexp(score, axis=1)[:, None]
        np.testing.assert_allclose(log_p[:, 1] - log_p[:, 0] if K == 2 else log_p, wanted, atol=1e-10)


def test_lda_for_two_classes_is_the_sigmoid_of_the_notes():
    """w = Σ⁻¹(μ₁ − μ₀), P(1 | x) = σ(w·x + w₀)."""
    X, y = table("iris")
    X, y = X[y > 0], y[y > 0] - 1
    model = LinearDiscriminantAnalysis().fit(X, y)
    mu0, mu1 = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
    S = (np.cov(X[y == 0].T, ddof=0) + np.cov(X[y == 1].T, ddof=0)) / 2
    w = np.linalg.solve(S, mu1 - mu0)
    w0 = -0.5 * (mu0 + mu1) @ w
    np.testing.assert_allclose(model.covariance_, S, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(model.coef_, [w], rtol=1e-11)
    np.testing.assert_allclose(model.intercept_, [w0], rtol=1e-11)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-(X @ w + w0))), atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), X @ w + w0, rtol=1e-10, atol=1e-10)


def test_a_certainty_is_never_a_nan():
    """θ = 0 or 1, without smoothing: what contradicts it has probability zero, and 0 log 0 is nothing."""
    X, y = np.array([[0, 1], [0, 1], [1, 1], [1, 0]]), [0, 0, 1, 1]
    for container in (np.asarray, sp.csr_array):
        model = BernoulliNB(alpha=0).fit(container(X), y)
        np.testing.assert_allclose(
            model.predict_proba(container(np.array([[0, 1], [1, 1], [1, 0]]))), [[1, 0], [0, 1], [0, 1]]
        )
    counts = MultinomialNB(alpha=0).fit(np.array([[0, 2, 2], [3, 0, 1]]), [0, 1])
    np.testing.assert_allclose(
        counts.predict_proba(np.array([[0, 0, 4], [0, 1, 0], [2, 0, 1]]))[1:], [[1, 0], [0, 1]]
    )
    np.testing.assert_allclose(counts.predict_proba(np.array([[0, 0, 4]])), [[16 / 17, 1 / 17]])
    levels = CategoricalNB(alpha=0).fit(np.array([[0], [0], [1], [2]]), [0, 0, 1, 1])
    np.testing.assert_allclose(levels.predict_proba([[0], [1], [2]]), [[1, 0], [0, 1], [0, 1]])


# ---- the notes' tables, and known error counts ----


ENJOY_SPORT = [
    ["Sunny", "Warm", "Normal", "Strong", "Warm", "Same", "Yes"],
    ["Sunny", "Warm", "High", "Strong", "Warm", "Same", "Yes"],
    ["Rainy", "Cold", "High", "Strong", "Warm", "Change", "No"],
    ["Sunny", "Warm", "High", "Strong", "Cool", "Change", "Yes"],
]
SPORT_COLUMNS = ["Sky", "Temp", "Humid", "Wind", "Water", "Forecast"]


def _as_pandas(rows):
    return pytest.importorskip("pandas").DataFrame(rows, columns=SPORT_COLUMNS)


def _as_categories(rows):
    return _as_pandas(rows).astype("category")


def _as_polars(rows):
    return pytest.importorskip("polars").DataFrame(rows, schema=SPORT_COLUMNS, orient="row")


SPORT_TABLES = {
    "list": list,
    "object array": lambda rows: np.array(rows, dtype=object),
    "text array": np.array,
    "pandas": _as_pandas,
    "pandas categories": _as_categories,
    "polars": _as_polars,
}


def sport_posterior(row, alpha=1):
    """P(Yes | row) in exact fractions; an unseen level has α / (n + αL)."""
    odds = {}
    for label in ("Yes", "No"):
        mine = [r for r in ENJOY_SPORT if r[-1] == label]
        p = Fraction(len(mine), len(ENJOY_SPORT))
        for j, value in enumerate(row):
            L = len({r[j] for r in ENJOY_SPORT})
            p *= Fraction(sum(r[j] == value for r in mine) + alpha, len(mine) + alpha * L)
        odds[label] = p
    return odds["Yes"] / (odds["Yes"] + odds["No"])


@pytest.mark.parametrize("convert", SPORT_TABLES.values(), ids=SPORT_TABLES.keys())
def test_the_enjoy_sport_table_as_it_stands(convert):
    X, y = [row[:-1] for row in ENJOY_SPORT], [row[-1] for row in ENJOY_SPORT]
    model = NaiveBayes().fit(convert(X), y)
    assert model.families_ == ["categorical"] * 6
    assert model.predict(convert(X)).tolist() == y
    days = [
        ["Sunny", "Warm", "High", "Strong", "Cool", "Change"],
        ["Rainy", "Cold", "Normal", "Strong", "Cool", "Same"],
        ["Cloudy", "Warm", "High", "Light", "Warm", "Same"],  # levels never seen are legal
    ]
    if convert is _as_categories:  # a category declares its levels: what is new must be declared too
        days = days[:2]
    wanted = [float(sport_posterior(day)) for day in days]
    np.testing.assert_allclose(model.predict_proba(convert(days))[:, 1], wanted, rtol=1e-12)
    np.testing.assert_allclose(model.parameters_[0]["probabilities"][1], [1 / 5, 4 / 5])
    assert "smoothing: 1 virtual row" in str(model.verdict_) and "never seen" in str(model.verdict_)


def test_enjoy_sport_with_a_cell_missing():
    X, y = [row[:-1] for row in ENJOY_SPORT], [row[-1] for row in ENJOY_SPORT]
    model = NaiveBayes().fit(X, y)
    day = ["Sunny", None, "High", "Strong", None, "Change"]
    shorter = NaiveBayes().fit([[r[j] for j in (0, 2, 3, 5)] for r in X], y)
    np.testing.assert_allclose(
        model.predict_proba([day]), shorter.predict_proba([[day[j] for j in (0, 2, 3, 5)]]), rtol=1e-13
    )


@pytest.mark.parametrize(
    "make, errors", [(LinearDiscriminantAnalysis, 2), (QuadraticDiscriminantAnalysis, 1)]
)
def test_wine_leave_one_out(make, errors):
    X, y = datasets.load_wine(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    wrong = 0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        wrong += int(make().fit(Z[rest], y[rest]).predict(Z[i : i + 1])[0] != y[i])
    assert wrong == errors


def test_wine_leave_one_out_by_taking_rows_away_again():
    """The same count from weights: weight zero is absence."""
    X, y = datasets.load_wine(return_X_y=True)
    wrong = 0
    for i in range(len(y)):
        weight = np.ones(len(y))
        weight[i] = 0.0
        model = LinearDiscriminantAnalysis().fit(X, y, sample_weight=weight)
        wrong += int(model.predict(X[i : i + 1])[0] != y[i])
    assert wrong == 2
