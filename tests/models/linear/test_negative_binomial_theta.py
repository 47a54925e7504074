"""The negative binomial's size estimated with the weights: MASS's numbers, a direct maximisation, laws."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from benchmarks import shared
from separatrix import ConvergenceWarning, GeneralizedLinearModel, anova, engine, verify
from separatrix.core.overdispersion import (
    best_size,
    excess,
    size_information,
    size_log_likelihood,
    size_score,
)
from tests.draws import examples
from tests.laws.conftest import Calls, traced

NB = "negative_binomial"


def counts(n=200, size=1.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(0, 1, (n, 2))
    t = rng.uniform(0.5, 3.0, n)
    mu = t * np.exp(0.7 + X @ [0.5, -0.3])
    return X, rng.negative_binomial(size, size / (size + mu)).astype(float), t


X, Y, T = counts()


def log_likelihood(y, mu, k, s=1.0):
    g = scipy.special.gammaln
    terms = g(k + y) - g(k) - g(y + 1) + k * np.log(k / (k + mu)) + y * np.log(mu / (k + mu))
    return float(np.sum(s * terms))


def maximised(X, y, s=1.0, shift=0.0):
    """All parameters at once by BFGS: weights, intercept, log k."""
    Z = np.column_stack([np.ones(len(y)), X])

    def loss(p):
        return -log_likelihood(y, np.exp(np.clip(Z @ p[:-1] + shift, -50, 50)), np.exp(p[-1]), s)

    start = np.append(np.zeros(Z.shape[1]), 0.0)
    start[0] = np.log(np.average(y, weights=s * np.ones(len(y))))
    found = scipy.optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    return found.x, -found.fun


# ---- MASS ----


def quine():
    pytest.importorskip("formulaic")
    if not shared.available():
        pytest.skip(f"a real table, and there are no shared data at {shared.root()}")
    return shared.table("glm_rdatasets/quine")


# theta, its error, 2 log-likelihood, deviance, null deviance, df, as the help of glm.nb, Venables & Ripley (7.4) and
# Crawley (The R Book) print them
PUBLISHED = {
    "Days ~ Eth + Sex + Age + Lrn": (1.275, 0.161, -1093.151, 167.95, 195.29, 139),
    "Days ~ Sex/(Age + Eth*Lrn)": (1.597991, 0.213, -1063.025, 167.56, 234.56, 132),
    "Days ~ Eth*Sex*Age*Lrn": (1.92836014510701, 0.269, -1039.324, 167.45, 272.29, 118),
}


@pytest.mark.parametrize("formula", PUBLISHED)
def test_quine_as_mass_prints_it(formula):
    theta, error, twice, deviance, null, df = PUBLISHED[formula]
    model = GeneralizedLinearModel.from_formula(formula, quine(), NB)
    digits = len(str(theta).split(".")[1])
    assert model.size_ == pytest.approx(theta, abs=0.51 * 10 ** -min(digits, 9))
    assert model.size_error_ == pytest.approx(error, abs=5.1e-4)
    assert 2 * model.log_likelihood_ == pytest.approx(twice, abs=5.1e-4)
    assert model.deviance_ == pytest.approx(deviance, abs=5.1e-3)
    assert model.null_deviance_ == pytest.approx(null, abs=5.1e-3)
    assert model.df_residual_ == df
    assert model.aic_ == pytest.approx(2 * (model.n_parameters_ + 1) - twice, abs=1e-3)


def test_quine_compared_by_likelihoods():
    d = quine()
    fits = [
        GeneralizedLinearModel.from_formula(f, d, NB)
        for f in ("Days ~ Eth + Sex", "Days ~ Eth + Sex + Age + Lrn")
    ]
    table = anova(*fits)
    assert table.to_frame()["LR"].iloc[1] == pytest.approx(
        2 * (fits[1].log_likelihood_ - fits[0].log_likelihood_)
    )
    assert "theta is estimated in each model" in str(table)
    assert "held at the estimate of the whole model" in str(anova(fits[1]))


# ---- the definition ----


@pytest.mark.parametrize("size, seed", [(0.4, 1), (1.5, 0), (8.0, 2)])
def test_weights_and_size_maximise_the_likelihood_together(size, seed):
    X, y, _ = counts(200, size, seed)
    p, best = maximised(X, y)
    model = GeneralizedLinearModel(NB).fit(X, y)
    np.testing.assert_allclose([model.intercept_, *model.coef_], p[:-1], rtol=1e-4, atol=1e-5)
    assert model.size_ == pytest.approx(np.exp(p[-1]), rel=1e-4)
    assert model.log_likelihood_ == pytest.approx(best, rel=1e-10)
    assert model.log_likelihood_ >= best - 1e-9 * abs(best)  # no lower than a search over everything at once
    assert model.family_.size == model.size_ and model.verdict_.status == "optimal"
    assert verify(model, X, y).status == "optimal"


def test_the_standard_error_is_that_of_the_curvature():
    model = GeneralizedLinearModel(NB).fit(X, Y)
    mu, k, h = model.predict(X), model.size_, 1e-3
    at = [log_likelihood(Y, mu, k + d) for d in (-h, 0.0, h)]
    assert model.size_error_ == pytest.approx(1 / np.sqrt((2 * at[1] - at[0] - at[2]) / h**2), rel=1e-4)


def test_the_estimate_is_that_of_the_size_given():
    """Fitted again with the size it found, a model is the same but for the parameter that AIC counts."""
    model = GeneralizedLinearModel(NB).fit(X, Y)
    given = GeneralizedLinearModel(NB, size=model.size_).fit(X, Y)
    np.testing.assert_allclose(model.coef_, given.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.standard_errors(), given.standard_errors(), rtol=1e-6)
    assert model.deviance_ == pytest.approx(given.deviance_) and model.df_residual_ == given.df_residual_
    assert model.aic_ == pytest.approx(given.aic_ + 2) and model.bic_ == pytest.approx(
        given.bic_ + np.log(200)
    )
    assert model.test(0).statistic == pytest.approx(given.test(0).statistic, rel=1e-6)
    assert not hasattr(given, "size_")


def test_offsets_and_exposures():
    p, best = maximised(X, Y, shift=np.log(T))
    model = GeneralizedLinearModel(NB).fit(X, Y, exposure=T)
    np.testing.assert_allclose([model.intercept_, *model.coef_], p[:-1], rtol=1e-4, atol=1e-5)
    assert model.size_ == pytest.approx(np.exp(p[-1]), rel=1e-4)
    assert model.log_likelihood_ == pytest.approx(best, rel=1e-10)
    assert model.null_deviance_ > model.deviance_


def test_weights_are_repetitions_and_zero_is_absence():
    w = np.arange(200) % 3
    weighted = GeneralizedLinearModel(NB).fit(X, Y, w)
    repeated = GeneralizedLinearModel(NB).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    assert weighted.size_ == pytest.approx(repeated.size_, rel=1e-6)
    assert weighted.size_error_ == pytest.approx(repeated.size_error_, rel=1e-6)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    prior = GeneralizedLinearModel(NB).fit(X, Y, weights=w)
    assert prior.size_ == pytest.approx(weighted.size_, rel=1e-9)


@pytest.mark.parametrize("link", ["sqrt", "identity"])
def test_other_links(link):
    rng = np.random.default_rng(3)
    x = rng.uniform(1, 3, (150, 1))
    mu = (x[:, 0] ** 2) if link == "sqrt" else 2 * x[:, 0]
    y = rng.negative_binomial(2.0, 2.0 / (2.0 + mu))
    model = GeneralizedLinearModel(NB, link).fit(x, y)
    assert size_score(model.size_, y.astype(float), model.predict(x), np.ones(150)) == pytest.approx(
        0, abs=1e-5
    )


def test_a_ridge_and_no_intercept():
    ridged = GeneralizedLinearModel(NB, alpha=0.5).fit(X, Y)
    assert size_score(ridged.size_, Y, ridged.predict(X), np.ones(200)) == pytest.approx(0, abs=1e-5)
    free = GeneralizedLinearModel(NB).fit(X, Y)
    assert np.linalg.norm(ridged.coef_) < np.linalg.norm(free.coef_)
    through = GeneralizedLinearModel(NB, fit_intercept=False).fit(X, Y)
    assert size_score(through.size_, Y, through.predict(X), np.ones(200)) == pytest.approx(0, abs=1e-5)


# ---- no overdispersion ----


def test_counts_no_more_spread_out_than_a_poissons():
    """The likelihood rises up to an infinite size: the Poisson model, said and not run away from."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (80, 1))
    y = np.round(np.exp(1 + 0.5 * x[:, 0]))  # hardly any spread at all
    with pytest.warns(
        UserWarning, match="no finite estimate: the counts are no more spread out than a Poisson's"
    ):
        model = GeneralizedLinearModel(NB).fit(x, y)
    plain = GeneralizedLinearModel("poisson").fit(x, y)
    assert model.size_ == np.inf and np.isnan(model.size_error_) and model.family_.name == "poisson"
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8)
    assert model.log_likelihood_ == pytest.approx(plain.log_likelihood_)
    assert model.aic_ == pytest.approx(plain.aic_ + 2)
    assert any("rises up to theta = ∞" in f for f in model.verdict_.findings)
    assert "theta" in str(model.summary())


def test_small_counts_spread_out_beside_large_ones_that_are_not():
    """The likelihood falls as it leaves the Poisson, and rises above it further on: the higher maximum is meant."""
    rng = np.random.default_rng(0)
    large = np.repeat([1.0, 0.0], [6, 300])
    y = np.where(large == 1, 1000.0, rng.negative_binomial(0.5, 0.5 / 1.5, 306))
    plain = GeneralizedLinearModel("poisson").fit(large[:, None], y)
    assert excess(y, plain.predict(large[:, None]), np.ones(306)) < 0
    model = GeneralizedLinearModel(NB).fit(large[:, None], y)
    assert 0.3 < model.size_ < 1.0 and model.log_likelihood_ > plain.log_likelihood_ + 10
    along = [
        GeneralizedLinearModel(NB, size=k).fit(large[:, None], y).log_likelihood_
        for k in np.geomspace(0.05, 1e4, 12)
    ]
    assert model.log_likelihood_ >= max(along) - 1e-9


def test_all_zero_counts():
    with pytest.warns(UserWarning, match="no maximum-likelihood estimate exists"):
        model = GeneralizedLinearModel(NB).fit(X, 0 * Y)
    assert np.isnan(model.size_) and "nothing to estimate it from" in str(model.verdict_)


def test_a_level_without_counts():
    """Its coefficient runs away; the size is that of the other rows."""
    level = (np.arange(200) % 4 == 0).astype(float)
    y = np.where(level == 1, 0.0, Y)
    with pytest.warns(UserWarning, match="no maximum-likelihood estimate exists"):
        model = GeneralizedLinearModel(NB).fit(np.column_stack([X, level]), y)
    rest = GeneralizedLinearModel(NB).fit(X[level == 0], y[level == 0])
    assert model.coef_[2] == -np.inf
    assert model.size_ == pytest.approx(rest.size_, rel=1e-3)


# ---- numbers ----


@examples(25)
@given(st.floats(-4, 12), st.integers(0, 10**6))
def test_score_and_information_are_derivatives(log_k, seed):
    """Against central differences in 50 digits, across the change from functions to series."""
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(seed)
    y, mu, k = rng.poisson(4, 6).astype(float), rng.uniform(0.1, 9, 6), float(np.exp(log_k))
    with mpmath.workdps(50):

        def ell(t):
            one = [
                mpmath.loggamma(t + a)
                - mpmath.loggamma(t)
                + t * mpmath.log(t / (t + m))
                - a * mpmath.log(t + m)
                for a, m in zip(y.tolist(), mu.tolist(), strict=True)
            ]
            return mpmath.fsum(one)

        slope, bend = mpmath.diff(ell, k), mpmath.diff(ell, k, 2)
        scale = mpmath.fsum((a - m) ** 2 + a for a, m in zip(y.tolist(), mu.tolist(), strict=True))
        worth = ell(mpmath.mpf(k)) + mpmath.fsum(
            a * mpmath.log(m) for a, m in zip(y.tolist(), mu.tolist(), strict=True)
        )
    one = np.ones(6)
    assert size_log_likelihood(k, y, mu, one) == pytest.approx(float(worth), rel=1e-12, abs=1e-11)
    size = float(scale) * min(1 / k, 1.0) / max(k, 1e-9)  # of the terms, which nearly cancel
    assert size_score(k, y, mu, one) == pytest.approx(float(slope), rel=1e-9, abs=1e-9 * size)
    assert size_information(k, y, mu, one) == pytest.approx(-float(bend), rel=1e-8, abs=1e-8 * size / k)


def test_the_best_size_of_one_sample():
    """Equal means: exists just where the variance is above the mean (Levin and Reeds 1977)."""
    y = np.array([0.0, 1, 1, 2, 8])
    mu = np.full(5, y.mean())
    k = best_size(y, mu, np.ones(5), 1.0)
    assert size_score(k, y, mu, np.ones(5)) == pytest.approx(0, abs=1e-10)
    assert log_likelihood(y, mu, k) > max(log_likelihood(y, mu, 0.9 * k), log_likelihood(y, mu, 1.1 * k))
    tight = np.array([2.0, 2, 3, 3, 2])
    assert excess(tight, np.full(5, tight.mean()), np.ones(5)) < 0
    assert best_size(tight, np.full(5, tight.mean()), np.ones(5), 1.0) == np.inf


def test_mites_on_apple_leaves():
    """Bliss and Fisher (1953): 150 leaves, k = 1.0246."""
    y = np.repeat(np.arange(8.0), [70, 38, 17, 10, 9, 3, 2, 1])
    assert best_size(y, np.full(150, y.mean()), np.ones(150), 5.0) == pytest.approx(1.0246, abs=5e-5)


# ---- kept ----


def test_what_is_kept():
    model = GeneralizedLinearModel(NB).fit(X, Y)
    copied = pickle.loads(pickle.dumps(model))
    assert (
        copied.size_ == model.size_
        and copied.aic_ == model.aic_
        and str(copied.summary()) == str(model.summary())
    )
    assert "theta" in str(model.summary()) and f"{model.size_:.6g}" in str(model.summary())
    assert (
        clone(model).size is None
        and repr(clone(model)) == "GeneralizedLinearModel(family='negative_binomial')"
    )
    again = model.fit(X, Y)
    assert again.size_ == copied.size_
    model.set_params(family="poisson").fit(X, Y)
    assert not hasattr(model, "size_")


def test_ctrl_c_between_and_within_rounds():
    """It stops wherever it comes, and leaves the last fit, or the weights and the size it had reached."""
    model = GeneralizedLinearModel(NB).fit(X, Y)
    before = model.predict(X)
    with engine("serial"), traced(Calls()) as calls:
        clone(model).fit(X, Y)
    seen = set()
    for at in np.linspace(1, calls.seen, 14).astype(int)[1:-1]:
        model = GeneralizedLinearModel(NB).fit(X, Y)
        with engine("serial"), pytest.raises(KeyboardInterrupt), traced(Calls(KeyboardInterrupt, int(at))):
            model.fit(X, Y)
        seen.add(model.verdict_.status)
        if model.verdict_.status == "interrupted":
            assert np.isfinite(model.predict(X)).all()
            assert np.isnan(model.size_) or model.family_.size == model.size_
        else:
            np.testing.assert_array_equal(model.predict(X), before)
    assert seen == {"interrupted", "optimal"}


def test_a_size_that_does_not_settle_is_said(monkeypatch):
    monkeypatch.setattr("separatrix.models.linear.negative_binomial.ROUNDS", 1)
    with pytest.warns(ConvergenceWarning, match="stopped: theta did not settle"):
        model = GeneralizedLinearModel(NB).fit(X, Y)
    assert model.verdict_.status == "not converged" and "after 1 rounds, not settled" in str(model.verdict_)


def test_refusals():
    with pytest.raises(ValueError, match="size must be a number, got 'many'"):
        GeneralizedLinearModel(NB, size="many").fit(X, Y)
    with pytest.raises(ValueError, match="y is -1 in row 0; the negative_binomial family takes"):
        GeneralizedLinearModel(NB).fit(X, np.where(np.arange(200) == 0, -1, Y))
    a, b = GeneralizedLinearModel(NB).fit(X[:, :1], Y), GeneralizedLinearModel(NB, size=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="differ in family"):
        anova(a, b)
