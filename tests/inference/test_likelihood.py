"""inference/likelihood.py: log-likelihoods by SciPy's laws, and Firth's by direct optimisation."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import optimize, stats

from separatrix import GeneralizedLinearModel, LogisticRegression
from separatrix.core.responses import GlmLoss
from tests.inference.direct import both, firth_objective, kinds
from tests.models.reference import overlapping

# ---- K classes, statsmodels, reference classes ----


@pytest.mark.parametrize("first_asked", [None, 0, 1, 2])
def test_a_change_of_reference_class(first_asked):
    """Whatever was asked before: β_k − β_ref and its errors."""
    X, y = overlapping(150, 2, 3, seed=5, noise=2.0)
    labels = np.array(["ant", "bee", "cat"])
    model = LogisticRegression(C=np.inf).fit(X, labels[y])
    if first_asked is not None:
        model.summary(reference=labels[first_asked])
        model.summary()
    for r in range(3):
        order = [r, *[k for k in range(3) if k != r]]
        renamed = np.argsort(order)[y]  # class r becomes the first
        other = LogisticRegression(C=np.inf).fit(X, renamed).summary().to_frame()
        table = model.summary(reference=labels[r]).to_frame()
        names = [f"{labels[k]}: {c}" for k in order[1:] for c in ("(Intercept)", "x0", "x1")]
        assert list(table.index) == names
        np.testing.assert_allclose(table.to_numpy(), other.to_numpy(), rtol=1e-5, atol=1e-7)
        _, v, c = model.reference_form(labels[r])
        np.testing.assert_allclose(
            table["coef"].to_numpy().reshape(2, 3), np.column_stack([c, v]), rtol=1e-6, atol=1e-9
        )
    np.testing.assert_allclose(
        model.confidence_intervals(method="profile", reference="bee"),
        LogisticRegression(C=np.inf).fit(X, np.argsort([1, 0, 2])[y]).confidence_intervals(method="profile"),
        atol=1e-5,
    )


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("options", [{"C": np.inf}, {"penalty": "firth"}], ids=str)
def test_a_saved_classifier_keeps_its_summary(K, options):
    X, y = overlapping(150, 2, K, seed=5, noise=2.0)
    model = LogisticRegression(**options).fit(X, y)
    text, other = str(model.summary()), str(model.summary(reference=1)) if K == 3 else ""
    covariance, null = model.covariance_, model.null_deviance_
    copied = pickle.loads(pickle.dumps(model))
    assert str(copied.summary()) == text
    assert K == 2 or str(copied.summary(reference=1)) == other
    np.testing.assert_array_equal(copied.covariance_, covariance)
    assert copied.null_deviance_ == null
    with pytest.raises(ValueError, match="does not carry them"):
        copied.residuals()
    unasked = pickle.loads(pickle.dumps(LogisticRegression(**options).fit(X, y)))
    assert str(unasked.summary()).splitlines()[3:-6] == text.splitlines()[3:-6]


# ---- Firth ----


@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_firth_by_direct_optimisation(link, separated):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((30, 1))
    y = (x[:, 0] > 0.2).astype(float) if separated else (rng.random(30) < 0.4).astype(float)
    A = np.column_stack([np.ones(30), x])
    F = firth_objective(link, A, y)
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    best = optimize.minimize(F, [0.1, 0.5], method="Nelder-Mead", options=options)
    model = GeneralizedLinearModel("binomial", link, penalty="firth").fit(x, y)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), best.x, atol=1e-5)
    models = [model]
    if link == "logit":
        models.append(LogisticRegression(penalty="firth").fit(x, y.astype(int)))
    # the errors are the likelihood's at Firth's estimate
    b = best.x
    w = GlmLoss.of("binomial", link).derivatives(A @ b, y)[2]
    error = np.sqrt(np.diag(np.linalg.inv((A * w[:, None]).T @ A)))
    null = optimize.minimize_scalar(lambda c: F(np.array([c, 0.0])), bracket=(-1, 1), tol=1e-12)

    def above(v):
        grid = np.linspace(-15, 5, 81)  # the profile has more than one valley
        c = grid[np.argmin([F(np.array([c, v])) for c in grid])]
        inner = optimize.minimize_scalar(lambda c: F(np.array([c, v])), bracket=(c - 0.1, c + 0.1), tol=1e-12)
        return inner.fun - best.fun - stats.chi2.ppf(0.95, 1) / 2

    ends = [optimize.brentq(above, b[1], b[1] + s * 60 * error[1] / 3, xtol=1e-9) for s in (-1, 1)]
    for fit in models:
        np.testing.assert_allclose(fit.standard_errors(), error, rtol=1e-4)
        assert fit.test(0, "lr").statistic == pytest.approx(2 * (null.fun - best.fun), abs=1e-5)
        np.testing.assert_allclose(
            fit.confidence_intervals(method="profile", columns=0)[0], ends, atol=1e-4 * error[1]
        )
        plain = GlmLoss.of("binomial", link).value(A @ b, y).sum()
        assert fit.deviance_ == pytest.approx(2 * plain, rel=1e-5)
        assert "Firth" in str(fit.summary())


# ---- likelihoods ----


@pytest.mark.parametrize("kind", ["poisson", "logit", "probit", "negative binomial"])
def test_log_likelihoods_of_known_dispersion(kind):
    model, d = both(kind, 1, frequency=True)
    law = {
        "poisson": lambda: stats.poisson.logpmf(d.y, d.mu),
        "logit": lambda: stats.bernoulli.logpmf(d.y, d.mu),
        "probit": lambda: stats.bernoulli.logpmf(d.y, d.mu),
        "negative binomial": lambda: stats.nbinom.logpmf(d.y, 2.0, 2.0 / (2.0 + d.mu)),
    }[kind]()
    assert model.log_likelihood_ == pytest.approx(float(d.f @ law), rel=1e-9)
    assert model.aic_ == pytest.approx(6 - 2 * model.log_likelihood_)
    assert model.bic_ == pytest.approx(3 * np.log(d.f.sum()) - 2 * model.log_likelihood_)


def test_the_gaussian_likelihood_is_the_maximised_one():
    model, d = both("gaussian", 1, frequency=True, precision=True)
    phi = float(d.s @ (d.y - d.mu) ** 2) / d.f.sum()
    law = stats.norm.logpdf(d.y, d.mu, np.sqrt(phi / d.v))
    assert model.log_likelihood_ == pytest.approx(float(d.f @ law), rel=1e-9)
    assert model.aic_ == pytest.approx(8 - 2 * model.log_likelihood_)  # the dispersion is a parameter too
    assert np.isnan(both("tweedie")[0].aic_)
    assert "—" in str(both("tweedie")[0].summary())


@kinds
def test_the_parameters_are_the_inner_ones_turned(kind):
    """β = Uθ, with and without the rows at hand."""
    model, d = both(kind)
    fit = model._likelihood_
    np.testing.assert_allclose(fit.user_map @ fit.theta.T.ravel(), d.beta, rtol=1e-8)
    light = fit.without_data()
    assert not light.has_data and light.names == ("(Intercept)", "x0", "x1")
    np.testing.assert_array_equal(light.model_covariance, fit.model_covariance)
    with pytest.raises(ValueError, match="goes through the data of the fit again"):
        light.need_data("a residual")
