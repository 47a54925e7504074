"""What you read is what predicts, a refused call leaves no trace, float32 stays float32: GeneralizedLinearModel."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import GammaRegressor, LinearRegression, PoissonRegressor, TweedieRegressor

from separatrix import GeneralizedLinearModel, LogisticRegression, anova, verify

RNG = np.random.default_rng(0)
X = RNG.normal([5.0, 0.0, -40.0], 1, (120, 3))
ETA = (X - X.mean(axis=0)) @ [0.5, -0.2, 0.3]
Y = {
    "gaussian": ETA + RNG.normal(0, 1, 120),
    "poisson": RNG.poisson(np.exp(ETA)),
    "negative_binomial": RNG.negative_binomial(1.5, 1.5 / (1.5 + np.exp(ETA))),
    "gamma": np.exp(ETA) * RNG.gamma(2.0, 0.5, 120),
    "inverse_gaussian": np.exp(ETA) * RNG.gamma(3.0, 0.3, 120),
    "tweedie": np.exp(ETA) * RNG.poisson(1.0, 120),
    "binomial": (RNG.random(120) < 1 / (1 + np.exp(-ETA))).astype(int),
}


def model_of(family):
    return GeneralizedLinearModel(family, "log" if family in ("gamma", "inverse_gaussian") else None)


# ---- edits ----


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma"])
@pytest.mark.parametrize(
    "edit",
    [
        lambda m: setattr(m, "intercept_", m.intercept_ + np.log(2.0)),
        lambda m: setattr(m, "coef_", 0.5 * m.coef_),
        lambda m: m.coef_.__imul__(0.9),
        lambda m: m.coef_.__setitem__(1, 0.0),
    ],
    ids=["intercept", "assigned", "in place", "pruned"],
)
def test_edits_are_honoured(family, edit):
    model = model_of(family).fit(X, Y[family])
    before = model.score(X, Y[family])
    edit(model)
    eta = X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X, kind="link"), eta, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.predict(X), model.link_.inverse(eta), rtol=1e-11)
    assert model.score(X, Y[family]) < before
    assert verify(model, X, Y[family]).status == "not converged"


def test_a_prior_corrected_by_its_intercept():
    """The commonest edit of all: double the odds."""
    model = GeneralizedLinearModel("binomial").fit(X, Y["binomial"])
    odds = model.predict(X) / (1 - model.predict(X))
    model.intercept_ += np.log(2.0)
    np.testing.assert_allclose(model.predict(X) / (1 - model.predict(X)), 2 * odds, rtol=1e-10)


def test_what_is_said_of_the_fit_is_refused_after_an_edit_and_comes_back():
    model = GeneralizedLinearModel("poisson").fit(X, Y["poisson"])
    text, aic, fitted = str(model.summary()), model.aic_, model.coef_.copy()
    model.coef_[0] += 1.0
    for ask in (
        model.summary, model.covariance, model.standard_errors, model.confidence_intervals, model.residuals,
        model.leverage, model.cooks_distance, lambda: model.test(0), lambda: anova(model),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"was edited after the fit.*fit again, or put its numbers back"):
            ask()
    for name in ("aic_", "bic_", "deviance_", "log_likelihood_", "covariance_", "dispersion_"):
        with pytest.raises(AttributeError, match="was edited after the fit"):
            getattr(model, name)
    kept = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(kept.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="was edited after the fit"):
        kept.summary()
    model.coef_ = fitted
    assert str(model.summary()) == text and model.aic_ == aic
    model.coef_[0] += 1.0
    assert model.fit(X, Y["poisson"]).aic_ == aic


def test_the_same_rule_holds_for_a_logistic_regression():
    model = LogisticRegression(C=np.inf).fit(X, Y["binomial"])
    model.intercept_ += 1.0
    with pytest.raises(ValueError, match="was edited after the fit"):
        model.summary()
    model.fit(X, Y["binomial"]).summary()


def test_limits_of_a_fit_without_an_estimate():
    y = (X[:, 0] > 5).astype(int)
    with pytest.warns(UserWarning, match="no maximum-likelihood estimate exists"):
        model = GeneralizedLinearModel("binomial").fit(X, y)
    assert (model.predict(X).round() == y).all() and "∞" in str(model.summary())
    model.coef_, model.intercept_ = np.array([2.0, 0.0, 0.0]), -10.0
    np.testing.assert_allclose(model.predict(X), 1 / (1 + np.exp(10.0 - 2 * X[:, 0])), rtol=1e-10)


# ---- refused calls ----


@pytest.mark.parametrize(
    "bad",
    [
        lambda m: m.fit(X, Y["poisson"][:-1]),
        lambda m: m.fit(X, -1.0 - Y["poisson"]),
        lambda m: m.fit(np.where(X[3, 1] == X, np.nan, X), Y["poisson"]),
        lambda m: m.fit(X, Y["poisson"], exposure=np.zeros(120)),
        lambda m: m.fit(X, Y["poisson"], weights=-np.ones(120)),
        lambda m: m.set_params(alpha=-1).fit(X[:, :2], Y["poisson"]),
        lambda m: m.set_params(family="negative_binomial").fit(X[:, :2], -1.0 - Y["poisson"]),
    ],
)
def test_a_refused_fit_leaves_the_model_as_it_was(bad):
    model = GeneralizedLinearModel("poisson").fit(X, Y["poisson"])
    means, text = model.predict(X), str(model.summary())
    with pytest.raises(ValueError):
        bad(model)
    np.testing.assert_array_equal(model.predict(X), means)
    assert str(model.summary()) == text


def test_a_refused_fit_of_a_formula_keeps_the_formula():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("formulaic")
    d = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y["poisson"])
    model = GeneralizedLinearModel.from_formula("y ~ a + b", d, "poisson", exposure="a")
    means = model.predict(d)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.fit(X, Y["poisson"][:-1])
    np.testing.assert_array_equal(model.predict(d), means)
    assert model.formula_ == "y ~ a + b" and model.test("b").df == 1


# ---- float32 ----


@pytest.mark.parametrize("family", Y)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_float32_stays_float32(family, kind):
    single = kind(X.astype(np.float32))
    model, double = model_of(family).fit(single, Y[family]), model_of(family).fit(X, Y[family])
    assert model.coef_.dtype == np.float32 and np.asarray(model.intercept_).dtype == np.float32
    for found in (
        model.predict(single),
        model.predict(single, kind="link"),
        model.predict(single, np.ones(120)),
    ):
        assert found.dtype == np.float32
    assert double.coef_.dtype == np.float64 and double.predict(X).dtype == np.float64
    assert isinstance(double.intercept_, float)
    # rounding of cells near 40, of the weights and of the sums: some units in the last place of the largest term
    np.testing.assert_allclose(
        model.predict(single, kind="link"),
        double.predict(X, kind="link"),
        atol=40 * 16 * np.finfo(np.float32).eps,
    )
    assert model.standard_errors().dtype == np.float64  # inference has all digits
    np.testing.assert_allclose(model.standard_errors(), double.standard_errors(), rtol=1e-4)
    assert verify(model, single, Y[family]).status == model.verdict_.status
    assert model.summary().to_frame()["coef"].dtype == np.float64


@pytest.mark.parametrize(
    "there, family, power",
    [
        (PoissonRegressor(alpha=0, max_iter=3), "poisson", None),
        (GammaRegressor(alpha=0, max_iter=3), "gamma", None),
        (TweedieRegressor(power=1.5, alpha=0, link="log", max_iter=3), "tweedie", 1.5),
        (LinearRegression(), "gaussian", None),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_dtypes_are_scikit_learns(there, family, power, dtype):
    cells = (X - [5.0, 0.0, -40.0]).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there.fit(cells, Y[family])
    here = GeneralizedLinearModel(family, "log" if family == "gamma" else None, power=power).fit(
        cells, Y[family]
    )
    assert here.coef_.dtype == there.coef_.dtype
    assert np.asarray(here.intercept_).dtype == np.asarray(there.intercept_).dtype
    assert here.predict(cells).dtype == there.predict(cells).dtype


@pytest.mark.parametrize("family", ["poisson", "negative_binomial", "gamma"])
def test_lazy_rows_of_a_model_fitted_to_lazy_rows(family):
    """The blocks of a prediction carry weights and link, not the model with the rows of its fit."""
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=(40, 3))
    model, plain = model_of(family).fit(lazy, Y[family]), model_of(family).fit(X, Y[family])
    np.testing.assert_allclose(model.predict(lazy).compute(), plain.predict(X), rtol=1e-7)
    assert model.score(lazy, Y[family]) == pytest.approx(plain.score(X, Y[family]), rel=1e-7)


@pytest.mark.parametrize("labels", [Y["binomial"], Y["binomial"] + (X[:, 1] > 1)], ids=["two", "three"])
def test_lazy_rows_of_a_logistic_regression(labels):
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=(40, 3))
    model, plain = (LogisticRegression(C=np.inf).fit(rows, labels) for rows in (lazy, X))
    np.testing.assert_allclose(model.predict_proba(lazy).compute(), plain.predict_proba(X), atol=1e-7)
    np.testing.assert_array_equal(model.predict(lazy).compute(), plain.predict(X))


def test_warm_starts_from_float32():
    single = X.astype(np.float32)
    model = GeneralizedLinearModel("poisson", warm_start=True).fit(single, Y["poisson"])
    first = model.coef_.copy()
    np.testing.assert_allclose(model.fit(single, Y["poisson"]).coef_, first, rtol=1e-5)
    assert model.n_iter_ <= 1 and model.coef_.dtype == np.float32


def test_integers_and_booleans_give_float64():
    cells = (X.mean(axis=0) < X).astype(bool)
    assert GeneralizedLinearModel("poisson").fit(cells, Y["poisson"]).coef_.dtype == np.float64
