"""Generalised linear models of hard tables: aliased and constant columns, far origins, huge and tiny numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import optimize

from separatrix import ConvergenceWarning, GeneralizedLinearModel
from separatrix.core.responses import GlmLoss
from tests.models.linear.glms import FREE, assert_close_parameters, draw, glm, kinds, numbers, parameters_of
from tests.models.reference import quiet

# ---- aliased and constant columns ----


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "gamma", "probit"])
def test_aliased_columns(kind):
    """x₃ = x₀ + x₁: only the sums along (1, 1, 0, −1)⊥ are estimable, here x₂ and the intercept."""
    X, y = draw(kind)
    wide = np.column_stack([X, X[:, 0] + X[:, 1]])
    model, less = glm(kind).fit(wide, y), glm(kind).fit(X, y)
    assert model.verdict_.unique is False and model.verdict_.status == less.verdict_.status
    assert any("aliased" in f for f in model.verdict_.findings)
    np.testing.assert_allclose(model.predict(wide), less.predict(X), rtol=1e-6)
    assert model.coef_ @ [1, 1, 0, -1] == pytest.approx(0.0, abs=1e-7)  # the shortest
    np.testing.assert_allclose(model.summary().to_frame()["coef"], parameters_of(model), atol=1e-7)
    error = model.standard_errors()
    np.testing.assert_array_equal(np.isnan(error), [False, True, True, False, True])
    np.testing.assert_allclose(error[[0, 3]], less.standard_errors()[[0, 3]], rtol=1e-6)
    assert model.df_residual_ == less.df_residual_
    np.testing.assert_allclose(numbers(model), numbers(less), rtol=1e-7)
    for method in ("wald", "lr", "score"):
        with pytest.raises(ValueError, match="'x3' is aliased"):
            model.test(3, method)
        assert model.test(2, method).statistic == pytest.approx(less.test(2, method).statistic, rel=1e-5)
    ends = model.confidence_intervals(method="profile")
    np.testing.assert_allclose(
        ends[[0, 3]], less.confidence_intervals(method="profile")[[0, 3]], rtol=1e-5, atol=1e-7
    )
    assert np.isnan(ends[[1, 2, 4]]).all()
    for which in ("HC0", "HC3"):
        np.testing.assert_allclose(
            model.standard_errors(which)[[0, 3]], less.standard_errors(which)[[0, 3]], rtol=1e-6
        )
    np.testing.assert_allclose(model.leverage(), less.leverage(), atol=1e-8)
    np.testing.assert_allclose(model.cooks_distance(), less.cooks_distance(), atol=1e-8)


def test_a_repeated_column_far_from_the_origin_is_not_estimable():
    """x and x − 10⁸: the intercept takes part in what cannot be told apart, and so do both columns."""
    rng = np.random.default_rng(0)
    near = np.round(rng.standard_normal(80) * 64) / 64
    y = rng.standard_normal(80)
    for far in (10.0, 1e4, 1e8):
        model = GeneralizedLinearModel().fit(np.column_stack([near + far, near]), y)
        assert np.isnan(model.standard_errors()).all(), far
        with pytest.raises(ValueError, match="aliased"):
            model.test(1)


def test_the_dummy_variable_trap():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 90)
    X = np.column_stack([np.eye(3)[level], rng.standard_normal(90)])
    y = rng.poisson([1.0, 2.0, 4.0], (90, 3))[np.arange(90), level]
    model = GeneralizedLinearModel("poisson").fit(X, y)
    less = GeneralizedLinearModel("poisson").fit(X[:, 1:], y)
    none = GeneralizedLinearModel("poisson", fit_intercept=False).fit(X, y)
    assert np.isnan(model.standard_errors()).tolist() == [True, True, True, True, False]
    np.testing.assert_allclose(model.standard_errors()[4], less.standard_errors()[3], rtol=1e-7)
    assert np.isfinite(none.standard_errors()).all()
    for other in (less, none):
        assert other.deviance_ == pytest.approx(model.deviance_, rel=1e-9)
        assert other.df_residual_ == model.df_residual_


def test_constant_columns():
    X, y = draw("poisson")
    wide = np.column_stack([X[:, 0], np.full(80, 7.0), X[:, 1], np.zeros(80)])
    model, less = (
        GeneralizedLinearModel("poisson").fit(wide, y),
        GeneralizedLinearModel("poisson").fit(X[:, :2], y),
    )
    np.testing.assert_allclose(model.coef_, [less.coef_[0], 0.0, less.coef_[1], 0.0], atol=1e-8)
    assert any("constant" in f for f in model.verdict_.findings) and model.verdict_.unique is False
    assert np.isnan(model.standard_errors()).tolist() == [False, False, True, False, True]
    np.testing.assert_allclose(model.standard_errors()[[0, 1, 3]], less.standard_errors(), rtol=1e-7)
    assert model.df_residual_ == less.df_residual_ == 77
    with pytest.raises(ValueError, match="'x1'"):
        model.test(1)
    # without an intercept a constant is a column like any other
    free = GeneralizedLinearModel("poisson", fit_intercept=False).fit(wide[:, :3], y)
    assert np.isfinite(free.standard_errors()).all()
    assert 7 * free.coef_[1] == pytest.approx(less.intercept_, rel=1e-6)


@pytest.mark.parametrize("kind", ["gaussian", "poisson"])
def test_the_summary_shows_the_weights_of_the_model(kind):
    """More columns than rows: of all that fit, coef_ is the shortest, and the table shows the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 9)) * np.array([1.0, 3.0, 0.2] * 3)
    y = rng.integers(1, 9, 6).astype(float)
    model = glm(kind).fit(X, y)
    np.testing.assert_allclose(
        model.summary().to_frame()["coef"].to_numpy(), parameters_of(model), rtol=1e-6, atol=1e-12
    )
    if kind == "gaussian":
        centred = X - X.mean(axis=0)
        np.testing.assert_allclose(
            model.coef_, np.linalg.pinv(centred) @ (y - y.mean()), rtol=1e-5, atol=1e-9
        )
    assert np.isnan(model.standard_errors()).all()


# ---- hard numbers ----


@kinds
def test_a_column_at_1e8_plus_minus_1(kind):
    X, y = draw(kind)
    X[:, 1] = np.sign(X[:, 1])
    far = X + np.array([0.0, 1e8, 0.0])
    plain, moved = glm(kind).fit(X, y), glm(kind).fit(far, y)
    assert moved.verdict_.status == plain.verdict_.status
    error = plain.standard_errors()[1:]
    np.testing.assert_allclose(moved.coef_ / error, plain.coef_ / error, atol=1e-5)
    np.testing.assert_allclose(moved.standard_errors()[1:], error, rtol=1e-6)
    np.testing.assert_allclose(moved.standard_errors("HC3")[1:], plain.standard_errors("HC3")[1:], rtol=1e-6)
    assert moved.deviance_ == pytest.approx(plain.deviance_, rel=1e-8)


@pytest.mark.parametrize("size", [1e6, 1e9])
def test_counts_in_millions(size):
    """2·10⁸ counts: the maximum, its errors and the ends of its intervals keep their digits."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (100, 2))
    y = rng.poisson(size * np.exp(X @ [0.3, -0.2]))
    model = GeneralizedLinearModel("poisson").fit(X, y)
    assert model.verdict_.status == "optimal"
    mu = model.predict(X)
    A = np.column_stack([np.ones(100), X])
    error = np.sqrt(np.diag(np.linalg.inv((A * mu[:, None]).T @ A)))
    np.testing.assert_allclose(model.standard_errors(), error, rtol=1e-7)
    assert np.abs((A.T @ (y - mu)) * error).max() < 1e-4  # the score in its own errors
    ends = model.confidence_intervals(method="profile")
    wald = model.confidence_intervals()
    np.testing.assert_allclose((ends - wald) / error[:, None], 0.0, atol=0.01)
    assert model.test(0, "lr").statistic == pytest.approx(model.test(0, "wald").statistic, rel=0.05)


@pytest.mark.parametrize("size", [1e-2, 1e8])
@pytest.mark.parametrize("kind", ["poisson", "probit", "gamma log"])
def test_small_and_large_weights(kind, size):
    """s times the likelihood: errors over √s, statistics times s (φ known); intervals exist or are infinite."""
    X, y = draw(kind)
    model, plain = glm(kind).fit(X, y, np.full(80, size)), glm(kind).fit(X, y)
    assert_close_parameters(model, plain)
    if kind == "gamma log":
        return
    np.testing.assert_allclose(model.standard_errors() * np.sqrt(size), plain.standard_errors(), rtol=1e-7)
    for method in ("wald", "lr", "score"):
        assert model.test(0, method).statistic / size == pytest.approx(
            plain.test(0, method).statistic, rel=1e-4
        )
    ends = model.confidence_intervals(method="profile")
    assert not np.isnan(ends).any()
    assert (ends[:, 0] < parameters_of(model)).all() and (parameters_of(model) < ends[:, 1]).all()


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "gamma", "binomial"])
def test_weights_of_sixteen_orders_of_magnitude(kind):
    """What weighs 1e-8 beside 1e8 weighs nothing."""
    X, y = draw(kind, n=160)
    light = np.arange(160) % 2 == 1
    weight = np.where(light, 1e-8, 1e8)
    model, heavy = glm(kind).fit(X, y, weight), glm(kind).fit(X[~light], y[~light])
    assert model.verdict_.settled
    assert_close_parameters(model, heavy)


@pytest.mark.parametrize("size", [1e-150, 1e-9, 1e9, 1e150])
@pytest.mark.parametrize("kind", ["gaussian", "gamma log", "gamma"])
def test_responses_of_any_size(kind, size):
    X, y = draw(kind)
    model, plain = glm(kind).fit(X, size * y), glm(kind).fit(X, y)
    assert model.verdict_.status == plain.verdict_.status
    unit = {"gaussian": 1 / size, "gamma": size, "gamma log": 1.0}[kind]
    np.testing.assert_allclose(model.coef_ * unit, plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.standard_errors()[1:] * unit, plain.standard_errors()[1:], rtol=1e-6)


def test_rare_events():
    """A dozen events among 20,000 rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 2))
    y = rng.poisson(np.exp(-7.5 + 0.3 * X[:, 0])).astype(float)
    poisson = GeneralizedLinearModel("poisson").fit(X, y)
    cloglog = GeneralizedLinearModel("binomial", "cloglog").fit(X, np.minimum(y, 1))
    assert poisson.verdict_.status == "optimal" and cloglog.verdict_.status == "stationary"
    assert_close_parameters(cloglog, poisson, tol=0.02)
    assert poisson.predict(X).sum() == pytest.approx(y.sum(), rel=1e-9)


SATURATED = [("gaussian", [1, 2, 3.0]), ("poisson", [1, 2, 3.0]), ("gamma", [1, 2, 3.0]),
             ("gamma log", [1, 2, 3.0]), ("inverse gaussian", [1, 2, 3.0]), ("poisson", [4e6, 5, 1.0]),
             ("negative binomial", [1, 2, 3.0])]  # fmt: skip


@pytest.mark.parametrize("kind, y", SATURATED)
@pytest.mark.parametrize("seed", range(4))
def test_as_many_parameters_as_rows(kind, y, seed):
    """Means equal to the responses, deviance zero; errors exist only where the dispersion is known."""
    X = np.random.default_rng(seed).uniform(-1, 1, (3, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = glm(kind).fit(X, y)
    assert model.verdict_.settled, str(model.verdict_)
    assert model.verdict_.sweeps < 200
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-6)
    assert model.deviance_ == pytest.approx(0.0, abs=1e-10) and model.df_residual_ == 0
    table = model.summary().to_frame()
    if kind in FREE:
        assert np.isnan(model.dispersion_) and np.isnan(table[["se", "p", "low", "high"]]).all(axis=None)
        assert any("none is left to estimate it from" in f for f in model.verdict_.findings)
    else:
        assert np.isfinite(table["se"]).all()
    float(model.aic_), float(model.bic_)  # a number or NaN, no exception
    for which in ("HC0", "HC1", "HC2", "HC3", "cluster"):
        groups = [0, 1, 2] if which == "cluster" else None
        if which in ("HC2", "HC3"):
            with pytest.raises(ValueError, match="leverage 1"):
                model.standard_errors(which, groups)
        else:  # all residuals are zero; n/(n − k) has no value
            error = model.standard_errors(which, groups)
            assert np.isnan(error).all() if which != "HC0" else (error < 1e-4).all()


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "gamma", "gamma log", "inverse gaussian", "tweedie"])
def test_constant_responses(kind):
    """The intercept says all; residuals are zero, and nothing divides by them."""
    X, _ = draw(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = glm(kind).fit(X, np.full(80, 2.0))
        model.summary(), model.aic_, model.bic_
    assert model.verdict_.settled
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-7)
    np.testing.assert_allclose(model.predict(X), 2.0, rtol=1e-7)
    assert model.score(X, np.full(80, 2.0)) in (0.0, 1.0)


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "gamma", "gamma log"])
def test_one_row(kind):
    model = glm(kind).fit([[3.0]], [2.0])
    assert model.predict([[3.0]]) == pytest.approx(2.0) and model.coef_[0] == 0.0
    assert model.df_residual_ == 0
    model.summary()
    model = glm(kind).fit([[3.0], [4.0]], [2.0, 2.5])
    np.testing.assert_allclose(model.predict([[3.0], [4.0]]), [2.0, 2.5], rtol=1e-7)


@pytest.mark.parametrize(
    "family, link",
    [("gamma", "inverse"), ("gamma", "identity"), ("poisson", "identity"), ("poisson", "sqrt"),
     ("inverse_gaussian", "inverse_squared"), ("binomial", "log"), ("binomial", "identity"),
     ("gaussian", "inverse"), ("gaussian", "sqrt")],
)  # fmt: skip
def test_restricted_links_without_an_intercept(family, link):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.2, 1.0, (150, 2))
    y = {"binomial": lambda: (rng.random(150) < 0.3) * 1.0, "poisson": lambda: rng.poisson(2, 150) * 1.0}.get(
        family, lambda: rng.gamma(5, 0.2, 150)
    )()
    model = GeneralizedLinearModel(family, link, fit_intercept=False).fit(X, y)
    assert model.verdict_.status == "stationary" and model.intercept_ == 0.0
    loss = GlmLoss.of(family, link)
    A = X

    def value(b):
        v = loss.value(A @ b, y)
        return float(v.mean()) if np.isfinite(v).all() else 1e9

    best = optimize.minimize(
        value, model.coef_, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
    )
    assert model.verdict_.objective <= best.fun + 1e-12
    assert len(model.summary().index) == 2


def test_offsets_of_fifty():
    """A constant offset is the intercept's; a large one that the responses follow is no obstacle."""
    rng = np.random.default_rng(0)
    for kind in ("poisson", "gamma log", "binomial", "cloglog", "probit", "gaussian", "tweedie"):
        X, y = draw(kind)
        for size in (50.0, -50.0):
            model, plain = glm(kind).fit(X, y, offset=np.full(80, size)), glm(kind).fit(X, y)
            np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
            assert model.intercept_ + size == pytest.approx(plain.intercept_, rel=1e-7)
            np.testing.assert_allclose(model.standard_errors(), plain.standard_errors(), rtol=1e-6)
            assert model.null_deviance_ == pytest.approx(plain.null_deviance_, rel=1e-8)
    shift = np.where(np.arange(80) % 2, 50.0, -50.0)
    X = rng.uniform(-1, 1, (80, 2))
    y = rng.gamma(4.0, np.exp(shift + X @ [0.3, -0.2]) / 4)
    model = GeneralizedLinearModel("gamma", "log").fit(X, y, offset=shift)
    direct = GeneralizedLinearModel("gamma", "log").fit(X, y / np.exp(shift))
    np.testing.assert_allclose(model.coef_, direct.coef_, rtol=1e-6)
    assert model.null_deviance_ == pytest.approx(direct.null_deviance_, rel=1e-7)
    counts = rng.poisson(np.exp(np.minimum(shift, 20) + X @ [0.3, -0.2])).astype(float)
    model = GeneralizedLinearModel("poisson").fit(X, counts, offset=np.minimum(shift, 20))
    assert model.verdict_.status == "optimal" and np.isfinite(model.null_deviance_)


def test_a_gamma_offset_far_from_the_responses():
    """Half of the means e¹⁰⁰ times too large at the start: an answer or a sentence, no exception of arithmetic."""
    X, y = draw("gamma log")
    shift = np.where(np.arange(80) % 2, 50.0, -50.0)
    model = glm("gamma log").fit(X, y, offset=shift)
    assert np.isfinite(parameters_of(model)).all() and np.isfinite(model.null_deviance_)


def test_binary_responses_against_offsets_that_contradict_them():
    """η from −50 to 50 against coin flips: the likelihood is finite, and so must be the null deviance."""
    X, y = draw("binomial")
    shift = np.where(np.arange(80) % 2, 50.0, -50.0)
    with quiet(ConvergenceWarning):
        model = glm("binomial").fit(X, y, offset=shift)
    assert np.isfinite(model.null_deviance_) and np.isfinite(model.deviance_)
    assert model.deviance_ <= model.null_deviance_ * (1 + 1e-9)
    assert model.verdict_.sweeps < 500
