"""Generalised linear models against R's numbers: glm, sandwich, statmod, MASS, brglm2, nnet.

The numbers are in tests/golden, with the script that made them; tests/golden/fits.py reads the rows for both sides.
Coefficients and the ends of intervals are compared in standard errors, everything else by relative error.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import special

from benchmarks import shared
from separatrix import GeneralizedLinearModel, LogisticRegression, anova
from tests.golden.fits import FIRTH, FIRTH_SOFTMAX, FITS, INTERCEPT, SETS, SOFTMAX

GOLDEN = Path(__file__).parents[2] / "golden"
TOL = 1e-7  # relative
ERRORS = 1e-6  # in standard errors, what the default tol may leave
KNOWN = ("binomial", "poisson", "negative_binomial")  # whose dispersion is 1


@cache
def golden(kind):
    return json.loads((GOLDEN / f"{kind}.json").read_text(encoding="utf-8"))


@cache
def rows(kind, name):
    return SETS[kind][name].load()


def frame(table):
    return pd.DataFrame(table.X, columns=list(table.names))


@cache
def glm(name):
    fit, t = FITS[name], rows("glm", name)
    model = GeneralizedLinearModel(
        fit.family, fit.link, size=fit.size, power=fit.power, fit_intercept=fit.fit_intercept
    )
    return model.fit(frame(t), t.y, sample_weight=t.frequency, offset=t.offset, precision=t.precision)


@cache
def firth(name):
    t = rows("firth", name)
    model = GeneralizedLinearModel(FIRTH[name].family, penalty="firth")
    return model.fit(frame(t), t.y, offset=t.offset, precision=t.precision)


def both_firth(name):
    """The model, and LogisticRegression where the responses are classes."""
    yield firth(name)
    if FIRTH[name].family == "binomial" and rows("firth", name).precision is None:
        yield logistic("firth", name, penalty="firth")


@cache
def logistic(kind, name, penalty=None):
    t = rows(kind, name)
    options = {"C": np.inf} if penalty is None else {"penalty": penalty}
    return LogisticRegression(**options).fit(frame(t), t.y.astype(int), sample_weight=t.frequency)


@pytest.fixture(autouse=True)
def tables(request):
    """Where the real tables are not beside the project, a fit on one of them is skipped."""
    given = getattr(request.node, "callspec", None)
    name = given.params.get("name") if given else None
    known = [f[name] for f in SETS.values() if name in f]
    if known and not known[0].bundled and not shared.available():
        pytest.skip(f"a real table, and there are no shared data at {shared.root()}")


def fits(*asks, also=lambda fit: True):
    """Every maximum-likelihood fit of which R was asked this."""
    names = [n for n, f in FITS.items() if set(asks) <= set(f.asks) and also(f)]
    return pytest.mark.parametrize("name", names)


def parameters(model):
    coef = np.ravel(model.coef_)
    return np.append(model.intercept_, coef) if model.fit_intercept else coef


def assert_close(actual, expected, tol=TOL):
    """Relative error."""
    np.testing.assert_allclose(actual, np.asarray(expected, dtype=float), rtol=tol, atol=1e-12)


def assert_same_p(actual, expected, square):
    """Tail probabilities of statistics alike to 1e-6, ``square`` as of a χ²: p is then alike to 1e-6 of that."""
    actual, expected, square = (np.asarray(a, dtype=float) for a in (actual, expected, square))
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
    present = ~np.isnan(expected)
    off = np.abs(actual - expected)[present]
    assert np.all(off <= 1e-6 * (1 + square[present]) * expected[present] + 1e-300), (
        f"{actual} for {expected}"
    )


def assert_within_errors(actual, expected, error, tol=ERRORS):
    """|difference| ≤ tol · standard error."""
    difference = np.abs(np.asarray(actual) - np.asarray(expected)) / np.asarray(error)
    assert np.max(difference) <= tol, f"{np.max(difference):.1e} standard errors apart"


def assert_same_matrix(actual, expected, tol=TOL):
    """Entry by entry, in units of the two standard errors."""
    expected = np.asarray(expected)
    error = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(actual / np.outer(error, error), expected / np.outer(error, error), atol=tol)


# ---- the rows themselves ----


@pytest.mark.parametrize("kind, name", [(kind, name) for kind, fits in SETS.items() for name in fits])
def test_the_rows_are_those_r_read(kind, name):
    t, data = rows(kind, name), golden(kind)[name]["data"]
    assert t.X.shape == (data["rows"], data["columns"]), "run tests/golden/make_glm.R again"
    assert_close([t.y.sum(), (t.X**2).sum()], [data["y"], data["squares"]], tol=1e-12)


def test_every_fit_has_its_numbers_and_no_number_is_without_its_fit():
    for kind, fits in SETS.items():
        assert sorted(golden(kind)) == sorted(fits)
    assert sum(f.bundled for f in FITS.values()) >= 4


# ---- maximum likelihood ----


@fits()
def test_coefficients_and_standard_errors(name):
    model, r = glm(name), golden("glm")[name]
    assert model.verdict_.settled
    assert_within_errors(parameters(model), r["coefficients"], r["standard_errors"])
    assert_close(model.standard_errors(), r["standard_errors"])
    assert_same_matrix(model.covariance_, r["covariance"])
    assert_same_matrix(model.covariance(), r["covariance"])


@fits()
def test_deviances_and_dispersion(name):
    model, r = glm(name), golden("glm")[name]
    for ours in ("deviance", "null_deviance", "dispersion", "df_residual"):
        assert_close(getattr(model, f"{ours}_"), r[ours])


@fits()
def test_log_likelihood_aic_bic(name):
    model, r = glm(name), golden("glm")[name]
    for ours in ("log_likelihood", "aic", "bic"):
        if r[ours] is None:  # a Tweedie law has no density in closed form
            assert np.isnan(getattr(model, f"{ours}_"))
        else:
            assert_close(getattr(model, f"{ours}_"), r[ours])


@fits()
def test_summary(name):
    model, r = glm(name), golden("glm")[name]
    table = model.summary().to_frame()
    letter = "z" if FITS[name].family in KNOWN else "t"
    assert list(table.columns) == ["coef", "se", letter, "p", "low", "high"]
    names = list(rows("glm", name).names)
    assert list(table.index) == ([INTERCEPT, *names] if model.fit_intercept else names)
    assert_within_errors(table["coef"], r["coefficients"], r["standard_errors"])
    assert_close(table["se"], r["standard_errors"])
    np.testing.assert_allclose(table[letter], r["z"], rtol=TOL, atol=TOL)
    assert_same_p(table["p"], r["p"], np.square(r["z"]))
    assert_within_errors(table[["low", "high"]].to_numpy().T, np.transpose(r["wald"]), r["standard_errors"])


@fits()
def test_wald_intervals(name):
    model, r = glm(name), golden("glm")[name]
    found = model.confidence_intervals()
    assert_within_errors(found.T, np.transpose(r["wald"]), r["standard_errors"])
    last = model.confidence_intervals(columns=[rows("glm", name).names[-1]])
    np.testing.assert_array_equal(last, found[-1:])


@fits(also=lambda fit: fit.profile)
def test_profile_intervals(name):
    model, r, fit = glm(name), golden("glm")[name], FITS[name]
    names = [INTERCEPT] * model.fit_intercept + list(rows("glm", name).names)
    error = [r["standard_errors"][names.index(column)] for column in fit.profile]
    found = model.confidence_intervals(method="profile", columns=list(fit.profile))
    assert found.shape == (len(fit.profile), 2)
    assert_within_errors(found.T, np.transpose(r["profile"]), error)


@fits(also=lambda fit: fit.tests)
@pytest.mark.parametrize("method", ["wald", "lr", "score"])
def test_tests(name, method):
    """R gives Rao's statistic over φ̂ as a χ² even where φ is estimated; here it is an F like the others."""
    model, r, fit = glm(name), golden("glm")[name], FITS[name]
    known = fit.family in KNOWN
    for columns, expected in zip(fit.tests, r["tests"], strict=True):
        found = model.test(list(columns), method)
        statistic, p = expected["score_as_F"] if method == "score" and not known else expected[method]
        assert found.df == expected["df"] == len(columns)
        assert found.df_residual == (None if known else r["df_residual"])
        assert_close(found.statistic, statistic, tol=1e-6)
        square = statistic if known else statistic * found.df
        assert_same_p(found.p_value, p, square)
        if method == "score":
            assert_same_p(special.chdtrc(found.df, square), expected["score"][1], square)


@fits("HC")
@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_robust_standard_errors(name, kind):
    model, r = glm(name), golden("glm")[name]["robust"]
    assert_close(model.standard_errors(kind), r["standard_errors"][kind])
    if kind == "HC0":
        assert_same_matrix(model.covariance(kind), r["HC0"])
        for columns in FITS[name].tests:
            at = [
                ([INTERCEPT] * model.fit_intercept + list(rows("glm", name).names)).index(c) for c in columns
            ]
            b, V = np.array(golden("glm")[name]["coefficients"])[at], np.array(r["HC0"])[np.ix_(at, at)]
            found = model.test(list(columns), "wald", covariance=kind)
            scale = 1 if FITS[name].family in KNOWN else len(columns)
            assert_close(found.statistic, b @ np.linalg.solve(V, b) / scale, tol=1e-6)
    bounds = model.confidence_intervals(covariance=kind)
    half = 0.5 * (bounds[:, 1] - bounds[:, 0]) / r["standard_errors"][kind]
    plain = (
        np.ptp(np.asarray(golden("glm")[name]["wald"]), axis=1) / 2 / golden("glm")[name]["standard_errors"]
    )
    assert_close(half, plain)


@pytest.mark.parametrize("name", [n for n in FITS if "cluster" in golden("glm")[n]])
def test_cluster_standard_errors(name):
    model, r, t = glm(name), golden("glm")[name]["cluster"], rows("glm", name)
    assert len(np.unique(t.groups)) == r["groups"]
    assert_close(model.standard_errors("cluster", t.groups), r["standard_errors"])
    assert_same_matrix(model.covariance("cluster", groups=t.groups), r["covariance"])


@fits("rows")
def test_residuals_leverages_and_cooks_distances(name):
    model, r, t = glm(name), golden("glm")[name]["rows"], rows("glm", name)
    for kind in ("deviance", "pearson", "response", "working"):
        size = np.sqrt(np.mean(np.square(r[kind])))
        np.testing.assert_allclose(model.residuals(kind), r[kind], rtol=TOL, atol=TOL * size)
    assert_close(model.predict(frame(t)), r["fitted"])
    assert_close(model.leverage(), r["leverage"])
    np.testing.assert_allclose(model.cooks_distance(), r["cook"], rtol=1e-6, atol=1e-9 * max(r["cook"]))


# ---- analysis of deviance ----


def assert_same_anova(table, expected, known):
    table = table.to_frame()
    assert list(table.columns) == ["resid_df", "resid_dev", "df", "deviance", "LR" if known else "F", "p"]
    assert_close(table["resid_df"], expected["df_residual"])
    assert_close(table["resid_dev"], expected["deviance"])
    assert_close(table["df"], expected["df"])
    assert_close(table["deviance"], expected["change"], tol=1e-6)
    statistic = table["LR" if known else "F"].to_numpy()
    assert_close(statistic, expected["statistic"], tol=1e-6)
    assert_same_p(table["p"], expected["p"], statistic * table["df"])


@fits("anova")
def test_anova_of_nested_models(name):
    """What is in no test, then the columns of each test in turn; in any order."""
    fit, t, r = FITS[name], rows("glm", name), golden("glm")[name]["anova"]
    X, models = frame(t), []
    for added in range(len(fit.tests) + 1):
        late = {column for columns in fit.tests[added:] for column in columns}
        late -= {column for columns in fit.tests[:added] for column in columns}
        model = GeneralizedLinearModel(fit.family, fit.link)
        model.fit(X.drop(columns=list(late)), t.y, offset=t.offset, precision=t.precision)
        models.append(model)
    known = fit.family in KNOWN
    assert_same_anova(anova(*models), r, known)
    assert_same_anova(anova(*models[::-1]), r, known)


@fits("anova")
def test_anova_of_columns_added_one_by_one(name):
    found = anova(glm(name))
    assert list(found.to_frame().index) == ["NULL", *rows("glm", name).names]
    assert_same_anova(found, golden("glm")[name]["columns"], FITS[name].family in KNOWN)


# ---- other ways to say the same ----


@pytest.mark.parametrize("name", ["lizards_logit"])
def test_counts_of_successes_and_failures_are_proportions_of_trials(name):
    t, r = rows("glm", name), golden("glm")[name]
    successes = np.rint(t.y * t.precision)
    counts = np.column_stack([successes, t.precision - successes])
    model = GeneralizedLinearModel("binomial").fit(frame(t), counts)
    assert_within_errors(parameters(model), r["coefficients"], r["standard_errors"])
    assert_close([model.deviance_, model.aic_, model.bic_], [r["deviance"], r["aic"], r["bic"]])


@pytest.mark.parametrize("name", ["insurance"])
def test_an_exposure_is_an_offset_of_its_logarithm(name):
    t, r = rows("glm", name), golden("glm")[name]
    model = GeneralizedLinearModel("poisson").fit(frame(t), t.y, exposure=np.rint(np.exp(t.offset)))
    assert_within_errors(parameters(model), r["coefficients"], r["standard_errors"])
    assert_close([model.deviance_, model.null_deviance_], [r["deviance"], r["null_deviance"]])


BINARY = [n for n, f in FITS.items() if (f.family, f.link) == ("binomial", "logit") and n != "lizards_logit"]


@pytest.mark.parametrize("name", BINARY)
def test_logistic_regression_says_the_same(name):
    model, r = logistic("glm", name), golden("glm")[name]
    fit = FITS[name]
    assert_within_errors(parameters(model), r["coefficients"], r["standard_errors"])
    assert_same_matrix(model.covariance(), r["covariance"])
    for ours in ("log_likelihood", "deviance", "aic", "bic"):
        assert_close(getattr(model, f"{ours}_"), r[ours])
    assert_within_errors(model.confidence_intervals().T, np.transpose(r["wald"]), r["standard_errors"])
    assert_close(model.standard_errors("HC3"), r["robust"]["standard_errors"]["HC3"])
    table = model.summary().to_frame()
    assert list(table.columns) == ["coef", "se", "z", "p", "low", "high"]
    names = [INTERCEPT, *rows("glm", name).names]
    assert list(table.index) == names
    error = [r["standard_errors"][names.index(column)] for column in fit.profile]
    found = model.confidence_intervals(method="profile", columns=list(fit.profile))
    assert_within_errors(found.T, np.transpose(r["profile"]), error)
    for columns, expected in zip(fit.tests, r["tests"], strict=True):
        for method in ("wald", "lr", "score"):
            assert_close(model.test(list(columns), method).statistic, expected[method][0], tol=1e-6)


@pytest.mark.parametrize("name", list(SOFTMAX))
def test_softmax_against_the_first_class(name):
    model, r = logistic("softmax", name), golden("softmax")[name]
    table = model.summary().to_frame()
    assert_within_errors(table["coef"], r["coefficients"], r["standard_errors"])
    assert_close(table["se"], r["standard_errors"])
    contrast = np.column_stack([model.intercept_ - model.intercept_[0], model.coef_ - model.coef_[0]])[1:]
    assert_within_errors(contrast.ravel(), r["coefficients"], r["standard_errors"])
    assert_same_matrix(model.covariance(), r["covariance"])
    assert_within_errors(model.confidence_intervals().T, np.transpose(r["wald"]), r["standard_errors"])
    for ours in ("log_likelihood", "deviance", "aic", "bic"):
        assert_close(getattr(model, f"{ours}_"), r[ours])
    for kind in ("HC0", "HC1"):
        assert_same_matrix(model.covariance(kind), r["robust"][kind])


@pytest.mark.parametrize("name", list(SOFTMAX))
def test_softmax_tests_and_profile_intervals(name):
    """A column stands for its coefficients in every class."""
    model, r, fit = logistic("softmax", name), golden("softmax")[name], SOFTMAX[name]
    for columns, expected in zip(fit.tests, r["tests"], strict=True):
        for method in ("wald", "lr", "score"):
            found = model.test(list(columns), method)
            assert found.df == expected["df"] == len(columns) * (len(model.classes_) - 1)
            assert_close(found.statistic, expected[method][0], tol=1e-6)
            assert_same_p(found.p_value, expected[method][1], found.statistic)
    found = model.confidence_intervals(method="profile", columns=list(fit.profile))
    each = [1 + rows("softmax", name).names.index(column) for column in fit.profile]
    error = np.reshape(r["standard_errors"], (len(model.classes_) - 1, -1))[:, each].T.ravel()
    assert_within_errors(found.T, np.transpose(r["profile"]), error)


# ---- Firth's penalised likelihood ----


@pytest.mark.parametrize("name", list(FIRTH))
def test_firth(name):
    r = golden("firth")[name]
    for model in both_firth(name):
        assert model.verdict_.settled
        assert_within_errors(parameters(model), r["coefficients"], r["standard_errors"])
        assert_close(model.standard_errors(), r["standard_errors"])
        assert_same_matrix(model.covariance(), r["covariance"])
        assert_close(model.log_likelihood_, r["log_likelihood"])


@pytest.mark.parametrize("name", list(FIRTH_SOFTMAX))
def test_firth_of_several_classes(name):
    model, r = logistic("firth_softmax", name, penalty="firth"), golden("firth_softmax")[name]
    table = model.summary().to_frame()
    assert_within_errors(table["coef"], r["coefficients"], r["standard_errors"])
    assert_close(table["se"], r["standard_errors"], tol=1e-6)
    assert_same_matrix(model.covariance(), r["covariance"], tol=1e-6)
    assert_close(model.log_likelihood_, r["log_likelihood"], tol=1e-6)


@pytest.mark.parametrize("name", [n for n, f in FIRTH.items() if "penalised" in f.asks])
def test_penalised_likelihood_intervals_and_tests(name):
    r, fit = golden("firth")[name], FIRTH[name]
    names = [INTERCEPT, *rows("firth", name).names]
    error = [r["standard_errors"][names.index(column)] for column in fit.profile]
    for model in both_firth(name):
        found = model.confidence_intervals(method="profile", columns=list(fit.profile))
        assert_within_errors(found.T, np.transpose(r["profile"]), error)
        for columns, expected in zip(fit.tests, r["tests"], strict=True):
            test = model.test(list(columns), "lr")
            assert test.df == expected["df"] and test.df_residual is None
            assert_close(test.statistic, expected["lr"][0], tol=1e-6)
            assert_same_p(test.p_value, expected["lr"][1], test.statistic)
