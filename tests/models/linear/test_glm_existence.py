"""Generalised linear models without an estimate: separated classes and counts, Firth's way out, edges of a link."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from separatrix import GeneralizedLinearModel, SeparationWarning, verify
from tests.models.linear.glms import assert_no_inference, glm, no_counts_in_one_level
from tests.models.reference import overlapping, quiet


def complete(seed=0):
    y = np.repeat([0.0, 1.0], 20)
    return np.random.default_rng(seed).standard_normal((40, 2)) + 8 * y[:, None], y


def quasi(seed=0):
    X, y = overlapping(120, 2, 2, seed=seed, noise=2.0)
    flag = ((np.random.default_rng(seed).random(120) < 0.3) & (y == 1)).astype(float)
    return np.column_stack([X, flag]), y.astype(float)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_complete_separation(link):
    X, y = complete()
    with pytest.warns(SeparationWarning, match="no maximum-likelihood estimate exists"):
        model = GeneralizedLinearModel("binomial", link).fit(X, y)
    verdict = model.verdict_
    assert verdict.status == "no optimum" and verdict.settled and verdict.unique is False
    assert not np.isfinite(model.coef_).any()
    assert np.abs(model.predict(X) - y).max() < 1e-9
    assert ((X @ verdict.direction > 0) == (y == 1)).all() or verdict.separation.check(X, y)
    assert verify(model, X, y).status == "no optimum"
    assert_no_inference(model, X)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_quasi_separation_keeps_the_estimates_of_the_rest(link, sign):
    X, y = quasi()
    X[:, 2] *= sign
    with pytest.warns(SeparationWarning, match="column 2"):
        model = GeneralizedLinearModel("binomial", link).fit(X, y)
    assert model.coef_[2] == sign * np.inf and model.verdict_.columns == (2,)
    flat = X[:, 2] == 0
    rest = GeneralizedLinearModel("binomial", link).fit(X[flat, :2], y[flat])
    np.testing.assert_allclose(model.coef_[:2], rest.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(rest.intercept_, abs=1e-6)
    np.testing.assert_allclose(model.predict(X)[flat], rest.predict(X[flat, :2]), atol=1e-6)
    np.testing.assert_allclose(model.predict(X)[~flat], 1.0, atol=1e-9)
    assert verify(model, X, y).status == "no optimum"
    assert_no_inference(model, X)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_grouped_counts_can_be_separated_too(link):
    """Proportions strictly between 0 and 1 hold a hyperplane in place; a level without a success does not."""
    x = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    counts = np.array([[2, 5], [3, 4], [5, 2], [0, 6], [0, 7], [0, 5]])
    with pytest.warns(SeparationWarning):
        model = GeneralizedLinearModel("binomial", link).fit(x, counts)
    assert model.coef_[1] == -np.inf
    rest = GeneralizedLinearModel("binomial", link).fit(x[:3, :1], counts[:3])
    assert model.coef_[0] == pytest.approx(rest.coef_[0], abs=1e-6)
    np.testing.assert_allclose(model.predict(x)[3:], 0.0, atol=1e-9)
    assert_no_inference(model, x)
    counts[4] = 1, 6
    assert GeneralizedLinearModel("binomial", link).fit(x, counts).verdict_.status in (
        "optimal",
        "stationary",
    )


@pytest.mark.parametrize("kind", ["poisson", "negative binomial", "tweedie"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_level_without_a_single_count(kind, seed):
    X, y = no_counts_in_one_level(seed)
    weight = np.random.default_rng(seed).integers(1, 3, 60).astype(float)
    with pytest.warns(SeparationWarning, match="zeros and positive counts are separated by column 1"):
        model = glm(kind).fit(X, y, weight)
    assert model.coef_[1] == -np.inf and model.verdict_.columns == (1,)
    flat = X[:, 1] == 0
    rest = glm(kind).fit(X[flat, :1], y[flat], weight[flat])
    assert model.coef_[0] == pytest.approx(rest.coef_[0], abs=1e-6)
    assert model.intercept_ == pytest.approx(rest.intercept_, abs=1e-6)
    np.testing.assert_allclose(model.predict(X)[~flat], 0.0, atol=1e-9)
    assert_no_inference(model, X)
    y[0] = 1.0
    assert np.isfinite(glm(kind).fit(X, y).coef_).all()


@pytest.mark.parametrize("kind", ["poisson", "negative binomial", "tweedie", "probit"])
def test_verify_proves_the_separation_of_counts_afresh(kind):
    X, y = no_counts_in_one_level()
    if kind == "probit":
        y = np.column_stack([y, 9 - y])
    with quiet(SeparationWarning):
        model = glm(kind).fit(X, y)
    again = verify(model, X, y)
    assert again.status == "no optimum" and again.columns == (1,)


def test_the_advice_is_one_that_can_be_taken():
    """What the verdict tells the user to try must work on the data at hand."""
    X, y = no_counts_in_one_level()
    for kind in ("poisson", "negative binomial", "tweedie"):
        with quiet(SeparationWarning):
            model = glm(kind).fit(X, y)
        advice = " ".join(model.verdict_.findings)
        if "alpha" in advice:
            assert np.isfinite(glm(kind, alpha=0.1).fit(X, y).coef_).all()
        if "firth" in advice:
            assert np.isfinite(glm(kind, penalty="firth").fit(X, y).coef_).all()
        assert "BayesianLogisticRegression" not in advice  # it reads classes, not counts


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "kind, value",
    [("poisson", 0.0), ("negative binomial", 0.0), ("tweedie", 0.0), ("binomial", 0.0), ("binomial", 1.0),
     ("probit", 0.0), ("cloglog", 1.0)],
)  # fmt: skip
def test_responses_that_are_all_at_one_end(kind, value, fit_intercept):
    X = np.random.default_rng(0).uniform(0.5, 1.5, (30, 2))
    y = np.full(30, value)
    with pytest.warns(SeparationWarning):
        model = glm(kind, fit_intercept=fit_intercept).fit(X, y)
    assert model.verdict_.status == "no optimum"
    np.testing.assert_allclose(model.predict(X), value, atol=1e-9)
    assert_no_inference(model, X)


def test_all_zero_counts_that_have_an_estimate():
    """Without an intercept and with columns on both sides of the origin a 0/1 model of zeros does exist."""
    X = np.random.default_rng(0).standard_normal((50, 2))
    model = GeneralizedLinearModel("binomial", fit_intercept=False).fit(X, np.zeros(50))
    assert model.verdict_.status == "optimal" and np.isfinite(model.coef_).all()


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_firth_is_finite_where_nothing_else_is(link):
    x = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    grouped = np.array([[2, 5], [3, 4], [5, 2], [0, 6], [0, 7], [0, 5]])
    cases = [complete(), quasi(), (x, grouped), (x, np.zeros(6)), (x, np.ones(6))]
    for X, y in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = GeneralizedLinearModel("binomial", link, penalty="firth").fit(X, y)
        assert model.verdict_.status == "stationary"
        table = model.summary().to_frame()
        assert np.isfinite(table.to_numpy()).all() and (table["se"] > 0).all()
        assert 0 < model.test(0).p_value <= 1
        assert np.isfinite(model.predict(X)).all() and np.isfinite(model.deviance_)


def test_firth_for_counts():
    X, y = no_counts_in_one_level()
    model = GeneralizedLinearModel("poisson", penalty="firth").fit(X, y)
    assert np.isfinite(model.coef_).all() and model.coef_[1] < -1
    # one level and nothing else: Jeffreys' prior adds half a count to each
    flag = np.repeat([0.0, 1.0], [10, 5])[:, None]
    counts = np.r_[np.full(10, 3.0), np.zeros(5)]
    model = GeneralizedLinearModel("poisson", penalty="firth").fit(flag, counts)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [30.5 / 10, 0.5 / 5], rtol=1e-6)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("seed", range(6))
def test_nearly_separated_data_that_overlap_have_an_estimate(link, seed):
    """One row on the wrong side by a hair: an estimate exists, far out, and no warning may say otherwise."""
    X, y = complete(seed)
    order = np.argsort(X @ [1.0, 1.0])
    X = X[order]
    y[order] = y.copy()
    y = (np.arange(40) >= 20).astype(float)
    y[[19, 20]] = 1.0, 0.0
    from separatrix import separability

    overlap = separability(X, y.astype(int)).kind == "overlap"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = GeneralizedLinearModel("binomial", link, max_iter=300).fit(X, y)
    separated = any(issubclass(w.category, SeparationWarning) for w in seen)
    assert separated is not overlap
    if overlap:
        assert np.isfinite(model.coef_).all() and model.verdict_.status in ("optimal", "stationary")


def test_a_single_count_in_a_large_level_is_no_separation():
    X, y = no_counts_in_one_level()
    big_X, big_y = np.tile(X, (40, 1)), np.tile(y, 40)
    big_y[0] = 1.0
    for kind in ("poisson", "negative binomial", "tweedie"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = glm(kind).fit(big_X, big_y)
        assert model.verdict_.status == "optimal" and np.isfinite(model.coef_).all()


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_a_gaussian_log_model_can_run_away_too(low):
    """A level whose mean is at or below zero is reached by no e^η: the coefficient falls for ever."""
    g = np.repeat([0.0, 1.0], 20)[:, None]
    y = np.r_[np.random.default_rng(0).gamma(9.0, 1.0, 20), np.full(20, low)]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = GeneralizedLinearModel("gaussian", "log").fit(g, y)
    assert model.verdict_.status not in ("stationary", "optimal")
    assert seen


@pytest.mark.parametrize(
    "family, link, low", [("poisson", "identity", True), ("poisson", "sqrt", True), ("binomial", "log", False),
                          ("binomial", "identity", False)],
)  # fmt: skip
def test_a_mean_at_the_edge_of_its_range_is_no_stationary_point(family, link, low):
    """A level of zeros (ones) under a link that reaches them at a finite score: the score there is ±1, not 0."""
    g = np.repeat([0.0, 1.0], 20)[:, None]
    y = np.r_[np.arange(20) % 4 if low else np.arange(20) % 2, np.zeros(20) if low else np.ones(20)].astype(
        float
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = GeneralizedLinearModel(family, link).fit(g, y)
    np.testing.assert_allclose(model.predict([[1.0]]), 0.0 if low else 1.0, atol=1e-4)
    assert model.verdict_.status not in ("stationary", "optimal") and seen
    assert not any("the score vanishes" in f for f in model.verdict_.findings)
