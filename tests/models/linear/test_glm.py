"""Generalised linear models: scikit-learn's battery, laws of the data, verdicts, separation, aliasing, hard numbers.

Hypothesis draws the data. Agreement with R is in test_glm_references.py.
"""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn.base import clone
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    ConvergenceWarning,
    GeneralizedLinearModel,
    LogisticRegression,
    SeparationWarning,
    anova,
    engine,
    keep_going,
    verify,
)
from separatrix.core.links import link as link_of
from separatrix.core.responses import GlmLoss, response
from separatrix.problems.objective import Objective
from tests.models.reference import overlapping, quiet

few = settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
seeds = st.integers(0, 10_000)

# name → (family, link, parameters)
KINDS = {
    "gaussian": ("gaussian", "identity", {}),
    "gaussian log": ("gaussian", "log", {}),
    "binomial": ("binomial", "logit", {}),
    "probit": ("binomial", "probit", {}),
    "cloglog": ("binomial", "cloglog", {}),
    "poisson": ("poisson", "log", {}),
    "poisson sqrt": ("poisson", "sqrt", {}),
    "gamma": ("gamma", "inverse", {}),
    "gamma log": ("gamma", "log", {}),
    "inverse gaussian": ("inverse_gaussian", "inverse_squared", {}),
    "negative binomial": ("negative_binomial", "log", {"size": 2.0}),
    "tweedie": ("tweedie", "log", {"power": 1.5}),
}
PROVEN = ("gaussian", "binomial", "poisson", "gamma log", "negative binomial", "tweedie")
FREE = ("gaussian", "gaussian log", "gamma", "gamma log", "inverse gaussian", "tweedie")  # φ is estimated
kinds = pytest.mark.parametrize("kind", KINDS)


def glm(kind, **parameters):
    family, link, own = KINDS[kind]
    return GeneralizedLinearModel(family, link, **own, **parameters)


def draw(kind, seed=0, n=80, p=3):
    """Rows in [−1, 1]^p whose scores lie inside the range of every link, and responses of the law."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    eta = 1.0 + 0.25 * X @ np.array([1.0, -1.0, 0.5, 0.7][:p])
    family, name, _ = KINDS[kind]
    mu = link_of(name).inverse(eta)
    match family:
        case "gaussian":
            y = mu + 0.2 * rng.standard_normal(n)
        case "binomial":
            y = (rng.random(n) < mu).astype(float)
            y[:2] = 0, 1
        case "poisson":
            y = rng.poisson(mu).astype(float)
        case "negative_binomial":
            y = rng.poisson(mu * rng.gamma(2.0, 0.5, n)).astype(float)
        case "tweedie":
            y = np.array([rng.gamma(2.0, 0.5, k).sum() for k in rng.poisson(mu)])
        case "inverse_gaussian":
            y = rng.wald(mu, 8.0)
        case _:
            y = rng.gamma(4.0, mu / 4.0)
    return X, y


def parameters_of(model):
    coef = np.ravel(model.coef_)
    return np.append(model.intercept_, coef) if model.fit_intercept else coef


def numbers(model):
    """Everything a fit says besides its parameters and their errors."""
    names = ("deviance_", "null_deviance_", "aic_", "bic_", "df_residual_", "df_null_", "dispersion_")
    return np.array([getattr(model, name) for name in names])


def assert_same_fit(a, b, tol=1e-6, *, scale=1.0, numbers_too=True):
    """Parameters within tol standard errors, errors and figures relatively; ``scale`` takes b's units to a's."""
    error = a.standard_errors()
    here, there = parameters_of(a), parameters_of(b) * scale
    np.testing.assert_array_equal(np.isnan(here), np.isnan(there))
    with np.errstate(invalid="ignore"):
        assert np.nanmax(np.abs(here - there) / error, initial=0.0) < tol
    np.testing.assert_allclose(b.standard_errors() * scale, error, rtol=tol)
    if numbers_too:
        np.testing.assert_allclose(numbers(b), numbers(a), rtol=1e-7, atol=1e-9)
    assert (a.verdict_.status, a.verdict_.unique) == (b.verdict_.status, b.verdict_.unique)


# ---- scikit-learn ----


def squeezed(y):
    y = np.asarray(y) if y is not None else None
    if y is not None and y.dtype == object and all(isinstance(v, (int, float)) for v in y.ravel()):
        y = y.astype(float)
    if y is not None and y.dtype.kind in "biuf" and np.isfinite(y).all():
        y = 1 / (1 + np.exp(-y / 10))
    return y


class Squashed(GeneralizedLinearModel):
    """A binomial model of any number: the battery's responses are squeezed into (0, 1) first."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, squeezed(y), sample_weight)

    def score(self, X, y, sample_weight=None):
        return super().score(X, squeezed(y), sample_weight)


CHECKED = [
    GeneralizedLinearModel(),
    GeneralizedLinearModel(alpha=0.1, fit_intercept=False),
    GeneralizedLinearModel("poisson"),
    GeneralizedLinearModel("poisson", alpha=0.5),
    GeneralizedLinearModel("gamma", "log"),
    GeneralizedLinearModel("tweedie", power=1.5),
    GeneralizedLinearModel("negative_binomial", size=2.0),
    Squashed("binomial"),
    LogisticRegression(penalty="firth"),
]


def expected_failures(estimator):
    if isinstance(estimator, LogisticRegression):
        return {"check_classifiers_train": "compares log P with the log of a rounded float32 P"}
    return {}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures, xfail_strict=False)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", [m for m in CHECKED if not isinstance(m, Squashed)], ids=str)
def test_clone_copies_parameters_and_nothing_learned(model):
    X, y = draw("binomial")
    copied = clone(clone(model).fit(X, y + (not isinstance(model, LogisticRegression))))
    assert repr(copied) == repr(model)
    assert not [name for name in vars(copied) if name.endswith("_")]
    assert copied.get_params() == model.get_params()


THEIRS = {
    "gaussian": lambda a: Ridge(alpha=a * 80, solver="svd", tol=1e-12),
    "poisson": lambda a: PoissonRegressor(alpha=a, solver="newton-cholesky", tol=1e-12),
    "gamma log": lambda a: GammaRegressor(alpha=a, solver="newton-cholesky", tol=1e-12),
    "tweedie": lambda a: TweedieRegressor(
        power=1.5, alpha=a, link="log", solver="newton-cholesky", tol=1e-12
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 1.0, 100.0])
@pytest.mark.parametrize("kind", THEIRS)
def test_scikit_learns_regressors_at_equal_alpha(kind, alpha, weighted):
    X, y = draw(kind)
    weight = np.random.default_rng(0).exponential(size=80) if weighted else None
    if weighted:
        weight *= 80 / weight.sum()
    ours = glm(kind, alpha=alpha).fit(X, y, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newton-cholesky may end its line search at rounding
        theirs = THEIRS[kind](alpha).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-6)
    assert ours.verdict_.status == "optimal"
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    assert ours.score(X, y, weight) == pytest.approx(theirs.score(X, y, weight), rel=1e-6)


def test_linear_regression():
    X, y = draw("gaussian")
    for intercept in (True, False):
        ours = GeneralizedLinearModel(fit_intercept=intercept).fit(X, y)
        theirs = LinearRegression(fit_intercept=intercept).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
        if intercept:  # scikit-learn compares with the mean, and so does the model
            assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-9)


def test_pipelines_searches_and_cross_validation():
    X, y = draw("poisson", n=120)
    pipe = make_pipeline(StandardScaler(), PolynomialFeatures(2), GeneralizedLinearModel("poisson"))
    grid = {"generalizedlinearmodel__alpha": [1e-3, 1e-1, 10.0]}
    ours = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    other = make_pipeline(
        StandardScaler(),
        PolynomialFeatures(2),
        PoissonRegressor(solver="newton-cholesky", tol=1e-10, max_iter=1000),
    )
    theirs = GridSearchCV(other, {"poissonregressor__alpha": [1e-3, 1e-1, 10.0]}, cv=3).fit(X, y)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=1e-6
    )
    assert cross_val_score(GeneralizedLinearModel(), *draw("gaussian"), cv=3).mean() > 0.3
    assert (cross_val_predict(GeneralizedLinearModel("gamma", "log"), *draw("gamma log"), cv=3) > 0).all()


def test_weights_are_routed():
    import sklearn

    X, y = draw("poisson")
    weight = np.random.default_rng(1).integers(1, 4, 80).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = GeneralizedLinearModel("poisson", alpha=0.1)
        model.set_fit_request(sample_weight=True, exposure=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipe.fit(X, y, sample_weight=weight, exposure=np.full(80, 2.0))
        plain = make_pipeline(StandardScaler(), GeneralizedLinearModel("poisson", alpha=0.1)).fit(X, y)
    kept = np.repeat(np.arange(80), weight.astype(int))
    scaler = StandardScaler().fit(X)
    direct = GeneralizedLinearModel("poisson", alpha=0.1).fit(
        scaler.transform(X)[kept], y[kept], exposure=np.full(len(kept), 2.0)
    )
    np.testing.assert_allclose(pipe[-1].coef_, direct.coef_, rtol=1e-8)
    assert not np.allclose(pipe[-1].coef_, plain[-1].coef_, rtol=1e-4)


@kinds
def test_fitting_again_gives_the_same_bits(kind):
    X, y = draw(kind)
    model = glm(kind).fit(X, y)
    first = parameters_of(model)
    np.testing.assert_array_equal(parameters_of(model.fit(X, y)), first)
    np.testing.assert_array_equal(parameters_of(clone(model).fit(X, y)), first)


# ---- weights ----


@kinds
@few
@given(seed=seeds)
def test_weight_is_repetition_and_zero_is_absence(kind, seed):
    X, y = draw(kind, seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    weight[:2] = 1.0
    kept = np.repeat(np.arange(len(y)), weight.astype(int))
    with quiet(SeparationWarning):
        a, b = glm(kind).fit(X[kept], y[kept]), glm(kind).fit(X, y, sample_weight=weight)
    assume(a.verdict_.settled and a.verdict_.status != "no optimum")
    assert_same_fit(a, b)
    np.testing.assert_allclose(
        b.residuals("pearson")[np.repeat(np.arange(len(y)), weight.astype(int))],
        a.residuals("pearson"),
        atol=1e-6,
    )
    assert b.test(0).statistic == pytest.approx(a.test(0).statistic, rel=1e-6, abs=1e-9)


IMPOSSIBLE = {
    "binomial": [7.0, -1.0, 0.5],
    "probit": [7.0, 0.5],
    "cloglog": [-2.0],
    "poisson": [-3.0],
    "poisson sqrt": [-3.0],
    "gamma": [0.0, -1.0],
    "gamma log": [0.0, -1.0],
    "inverse gaussian": [0.0, -1.0],
    "negative binomial": [-2.0],
    "tweedie": [-1.0],
}


@pytest.mark.parametrize("kind, value", [(k, v) for k, values in IMPOSSIBLE.items() for v in values])
def test_an_absent_row_may_hold_an_impossible_response(kind, value):
    X, y = draw(kind)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    weight[[3, 11]] = 0.0
    wrong = y.copy()
    wrong[[3, 11]] = value
    a = glm(kind).fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    b = glm(kind).fit(X, wrong, sample_weight=weight)
    assert_same_fit(a, b)
    groups = np.arange(len(y)) % 9
    for which in ("HC0", "HC1", "HC2", "HC3", "cluster"):
        here = a.standard_errors(which, groups[weight > 0] if which == "cluster" else None)
        np.testing.assert_allclose(
            b.standard_errors(which, groups if which == "cluster" else None), here, rtol=1e-6
        )
    for method in ("wald", "lr", "score"):
        assert b.test(0, method).statistic == pytest.approx(a.test(0, method).statistic, rel=1e-6)
    assert b.score(X, wrong, weight) == pytest.approx(
        a.score(X[weight > 0], y[weight > 0], weight[weight > 0])
    )


@pytest.mark.parametrize("kind", FREE)
def test_a_precision_of_zero_is_absence_too(kind):
    X, y = draw(kind)
    precision = np.random.default_rng(0).exponential(size=len(y))
    precision[[3, 11]] = 0.0
    wrong = y.copy()
    if not kind.startswith("gaussian"):
        wrong[[3, 11]] = -1.0
    here = precision > 0
    a = glm(kind).fit(X[here], y[here], precision=precision[here])
    b = glm(kind).fit(X, wrong, precision=precision)
    assert_same_fit(a, b)
    np.testing.assert_allclose(b.standard_errors("HC3"), a.standard_errors("HC3"), rtol=1e-6)


def test_a_label_of_weight_zero_is_absent():
    X, y = draw("binomial")
    labels = np.array(["no", "yes"])[y.astype(int)].astype(object)
    labels[5] = "unknown"
    weight = (np.arange(80) != 5).astype(float)
    model = GeneralizedLinearModel("binomial").fit(X, labels, sample_weight=weight)
    assert model.classes_.tolist() == ["no", "yes"]
    plain = GeneralizedLinearModel("binomial").fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)


@pytest.mark.parametrize("kind", FREE)
@few
@given(seed=seeds, factor=st.sampled_from([2.0**-26, 0.5, 3.0, 2.0**26]))
def test_a_common_factor_of_the_precisions_changes_nothing_but_the_dispersion(kind, seed, factor):
    X, y = draw(kind, seed)
    precision = np.random.default_rng(seed).exponential(size=len(y)) + 0.1
    a, b = glm(kind).fit(X, y, precision=precision), glm(kind).fit(X, y, precision=factor * precision)
    assert_same_fit(a, b, numbers_too=False)
    assert b.dispersion_ == pytest.approx(factor * a.dispersion_, rel=1e-8)
    assert b.deviance_ == pytest.approx(factor * a.deviance_, rel=1e-8)
    assert b.df_residual_ == a.df_residual_ == 76


def test_a_precision_is_not_a_frequency():
    """Both weigh the row; only the frequency counts observations."""
    X, y = draw("gaussian")
    two = np.full(80, 2.0)
    often, fine = GeneralizedLinearModel().fit(X, y, two), GeneralizedLinearModel().fit(X, y, precision=two)
    np.testing.assert_allclose(often.coef_, fine.coef_, rtol=1e-12)
    assert (often.df_residual_, fine.df_residual_) == (156, 76)
    plain = GeneralizedLinearModel().fit(X, y)
    np.testing.assert_allclose(fine.standard_errors(), plain.standard_errors(), rtol=1e-10)
    np.testing.assert_allclose(
        often.standard_errors(), plain.standard_errors() * np.sqrt(76 / 156), rtol=1e-10
    )


# ---- storage and engines ----


@kinds
def test_the_way_rows_are_cut_does_not_matter(kind):
    X, y = draw(kind, n=140)
    weight = np.random.default_rng(0).integers(1, 3, 140).astype(float)
    groups = np.arange(140) % 11
    with engine("serial"):
        plain = glm(kind).fit(X, y, weight)
        robust = plain.standard_errors("HC1"), plain.standard_errors("cluster", groups)
    choices = [dict(kind="serial", blocks=7), dict(kind="threads", workers=2, blocks=5), dict(blocks=1)]
    for options in choices:
        with engine(**options):
            other = glm(kind).fit(X, y, weight)
            assert_same_fit(plain, other)
            np.testing.assert_allclose(other.standard_errors("HC1"), robust[0], rtol=1e-6)
            np.testing.assert_allclose(other.standard_errors("cluster", groups), robust[1], rtol=1e-6)
            np.testing.assert_allclose(other.residuals(), plain.residuals(), atol=1e-6)
            np.testing.assert_allclose(other.leverage(), plain.leverage(), atol=1e-8)


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "gamma", "probit"])
def test_storage_does_not_matter(kind, tmp_path):
    X, y = draw(kind, n=120)
    X = np.round(X * 16) / 16 * (np.abs(X) > 0.3)  # exact in float32, and with zeros to leave out
    plain = glm(kind).fit(X, y)
    path = tmp_path / "rows.dat"
    disk = np.memmap(path, dtype=float, mode="w+", shape=X.shape)
    disk[:] = X
    tables = [np.asfortranarray(X), X.astype(np.float32), disk, sp.csr_array(X), sp.csc_array(X), X.tolist()]
    for table in tables:
        other = glm(kind).fit(table, y)
        assert_same_fit(plain, other)
        np.testing.assert_allclose(other.predict(table), plain.predict(X), rtol=1e-6)
        np.testing.assert_allclose(other.standard_errors("HC3"), plain.standard_errors("HC3"), rtol=1e-6)
        np.testing.assert_allclose(
            other.confidence_intervals(method="profile"),
            plain.confidence_intervals(method="profile"),
            rtol=1e-5,
            atol=1e-7,
        )


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "gamma", "binomial"])
def test_dask(kind):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, y = draw(kind, n=120)
    weight = np.random.default_rng(0).integers(1, 3, 120).astype(float)
    plain = glm(kind).fit(X, y, weight)
    lazy = da.from_array(X, chunks=(50, 2))
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    for table in (lazy, frame):
        model = glm(kind).fit(table, da.from_array(y, chunks=40), da.from_array(weight, chunks=60))
        assert_same_fit(plain, model)
        np.testing.assert_allclose(np.asarray(model.predict(table)), plain.predict(X), rtol=1e-8)
        np.testing.assert_allclose(model.standard_errors("HC0"), plain.standard_errors("HC0"), rtol=1e-7)
        np.testing.assert_allclose(model.cooks_distance(), plain.cooks_distance(), atol=1e-8)
        assert model.test(0).statistic == pytest.approx(plain.test(0).statistic, rel=1e-6)
        assert model.score(table, y) == pytest.approx(plain.score(X, y))
    names = anova(glm(kind).fit(lazy[:, :2], y, weight), glm(kind).fit(lazy, y, weight)).to_frame()
    direct = anova(glm(kind).fit(X[:, :2], y, weight), plain).to_frame()
    np.testing.assert_allclose(names.to_numpy(), direct.to_numpy(), rtol=1e-6)


def test_separated_counts_on_dask_and_sparse_rows():
    da = pytest.importorskip("dask.array")
    X, y = no_counts_in_one_level()
    for table in (X, sp.csr_array(X), da.from_array(X, chunks=(20, 2)), np.asfortranarray(X)):
        with pytest.warns(SeparationWarning):
            model = GeneralizedLinearModel("poisson").fit(table, y)
        assert model.coef_[1] == -np.inf and np.isfinite(model.coef_[0])


@kinds
def test_row_and_column_order_and_n_jobs(kind):
    X, y = draw(kind)
    plain = glm(kind).fit(X, y)
    rows, columns = np.random.default_rng(1).permutation(80), np.array([2, 0, 1])
    assert_same_fit(plain, glm(kind, n_jobs=1).fit(X[rows], y[rows]))
    assert_same_fit(plain, glm(kind, n_jobs=2).fit(X, y))
    moved = glm(kind).fit(X[:, columns], y)
    np.testing.assert_allclose(moved.coef_, plain.coef_[columns], rtol=1e-6)
    np.testing.assert_allclose(moved.standard_errors()[1:], plain.standard_errors()[1:][columns], rtol=1e-6)


# ---- units, origins, offsets ----


@kinds
@few
@given(
    seed=seeds,
    powers=st.lists(st.integers(-26, 26), min_size=3, max_size=3),
    shifts=st.lists(st.sampled_from([0, 1, -1000, 10**6]), min_size=3, max_size=3),
)
def test_units_and_origins_of_columns(kind, seed, powers, shifts):
    """x → a(x + b): weights and errors over a, tests, profile intervals and deviance unchanged."""
    X, y = draw(kind, seed)
    X = np.round(X * 64) / 64
    a = 2.0 ** np.array(powers)
    with quiet(SeparationWarning):
        plain, moved = glm(kind).fit(X, y), glm(kind).fit(a * (X + np.array(shifts, dtype=float)), y)
    assume(plain.verdict_.status in ("optimal", "stationary"))
    error = plain.standard_errors()[1:]
    np.testing.assert_allclose(moved.coef_ * a / error, plain.coef_ / error, atol=1e-5)
    np.testing.assert_allclose(moved.standard_errors()[1:] * a, error, rtol=1e-5)
    np.testing.assert_allclose(numbers(moved), numbers(plain), rtol=1e-7, atol=1e-9)
    for method in ("wald", "lr", "score"):
        here, there = plain.test([0, 2], method), moved.test([0, 2], method)
        assert there.statistic == pytest.approx(here.statistic, rel=1e-5, abs=1e-9)
    ends = plain.confidence_intervals(method="profile", columns=1)
    np.testing.assert_allclose(
        moved.confidence_intervals(method="profile", columns=1) * a[1] / error[1],
        ends / error[1],
        atol=1e-5,
    )


@pytest.mark.parametrize("kind", ["gaussian", "gaussian log", "gamma log", "inverse gaussian"])
@few
@given(seed=seeds, power=st.sampled_from([-100, -20, 7, 100]))
def test_units_of_the_response(kind, seed, power):
    X, y = draw(kind, seed)
    c = 2.0**power
    if kind == "inverse gaussian":
        plain, other = (GeneralizedLinearModel("inverse_gaussian", "log").fit(X, v) for v in (y, c * y))
    else:
        plain, other = glm(kind).fit(X, y), glm(kind).fit(X, c * y)
    error = plain.standard_errors()
    if kind == "gaussian":
        np.testing.assert_allclose(parameters_of(other) / c, parameters_of(plain), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.standard_errors() / c, error, rtol=1e-9)
    else:
        shift = np.append(np.log(c), np.zeros(3))
        np.testing.assert_allclose(
            parameters_of(other) - shift, parameters_of(plain), atol=1e-5 * error.min()
        )
        np.testing.assert_allclose(other.standard_errors(), error, rtol=1e-5)
    size = {"gaussian": c**2, "gaussian log": c**2, "gamma log": 1.0, "inverse gaussian": 1 / c}[kind]
    assert other.deviance_ == pytest.approx(size * plain.deviance_, rel=1e-8)
    assert other.null_deviance_ == pytest.approx(size * plain.null_deviance_, rel=1e-8)
    assert other.aic_ == pytest.approx(plain.aic_ + 2 * 80 * np.log(c), rel=1e-8)
    assert (other.verdict_.status, other.verdict_.unique) == (plain.verdict_.status, plain.verdict_.unique)
    assert other.test(0).p_value == pytest.approx(plain.test(0).p_value, rel=1e-5)


@kinds
@few
@given(seed=seeds)
def test_an_offset_is_a_column_with_coefficient_one(kind, seed):
    """Move a column into the offset with its own estimate taken off: the same fit, one parameter less."""
    X, y = draw(kind, seed)
    with quiet(SeparationWarning):
        whole = glm(kind).fit(X, y)
    assume(whole.verdict_.status in ("optimal", "stationary"))
    moved = glm(kind).fit(X[:, :2], y, offset=X[:, 2] * whole.coef_[2])
    error = whole.standard_errors()
    assert np.abs(parameters_of(moved) - parameters_of(whole)[:3]).max() < 1e-5 * error.max()
    assert moved.deviance_ == pytest.approx(whole.deviance_, rel=1e-8)
    # and with all three columns, an offset of one of them lowers its coefficient
    if kind not in ("gamma", "inverse gaussian", "poisson sqrt"):
        shifted = glm(kind).fit(X, y, offset=0.5 * X[:, 2])
        np.testing.assert_allclose(
            parameters_of(shifted) + np.array([0, 0, 0, 0.5]), parameters_of(whole), atol=1e-5 * error.max()
        )
        np.testing.assert_allclose(shifted.standard_errors(), error, rtol=1e-6)
        np.testing.assert_allclose(shifted.predict(X, 0.5 * X[:, 2]), whole.predict(X), rtol=1e-6)


@pytest.mark.parametrize("kind", ["poisson", "gamma log", "negative binomial", "tweedie", "gaussian log"])
def test_an_exposure_is_an_offset_of_its_logarithm(kind):
    X, y = draw(kind)
    years, shift = np.random.default_rng(0).uniform(0.5, 4, 80), np.random.default_rng(1).normal(0, 0.1, 80)
    a = glm(kind).fit(X, y, exposure=years, offset=shift)
    b = glm(kind).fit(X, y, offset=np.log(years) + shift)
    np.testing.assert_array_equal(parameters_of(a), parameters_of(b))
    np.testing.assert_allclose(
        a.predict(X, shift, exposure=years), a.predict(X) * years * np.exp(shift), rtol=1e-12
    )
    np.testing.assert_allclose(a.predict(X, kind="link"), np.log(a.predict(X)), atol=1e-12)
    assert a.score(X, y, None, shift, exposure=years) == pytest.approx(
        1 - a.deviance_ / a.null_deviance_, rel=1e-9
    )  # against a constant rate


def test_a_poisson_rate_is_a_poisson_of_precision():
    """y events in t years with log t as offset, or the rate y/t that stands there t times: one estimate."""
    X, y = draw("poisson")
    years = np.random.default_rng(0).integers(1, 5, 80).astype(float)
    by_offset = GeneralizedLinearModel("poisson").fit(X, y, exposure=years)
    by_weight = GeneralizedLinearModel("poisson").fit(X, y / years, sample_weight=years)
    np.testing.assert_allclose(by_weight.coef_, by_offset.coef_, rtol=1e-7)
    np.testing.assert_allclose(by_weight.standard_errors(), by_offset.standard_errors(), rtol=1e-7)
    assert by_weight.deviance_ == pytest.approx(by_offset.deviance_, rel=1e-8)


# ---- the binomial ----


@pytest.mark.parametrize("kind", ["binomial", "probit"])
@few
@given(seed=seeds)
def test_success_and_failure_change_places(kind, seed):
    X, y = draw(kind, seed)
    with quiet(SeparationWarning):
        a, b = glm(kind).fit(X, y), glm(kind).fit(X, 1 - y)
    assume(a.verdict_.status in ("optimal", "stationary"))
    np.testing.assert_allclose(parameters_of(b), -parameters_of(a), atol=1e-7)
    np.testing.assert_allclose(b.covariance_, a.covariance_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(numbers(b), numbers(a), rtol=1e-8)


@pytest.mark.parametrize("kind", ["binomial", "probit", "cloglog"])
@few
@given(seed=seeds)
def test_counts_are_proportions_are_single_trials(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (25, 2))
    trials = rng.integers(1, 7, 25)
    mu = link_of(KINDS[kind][1]).inverse(0.2 + X @ [1.0, -1.0])
    wins = rng.binomial(trials, mu)
    wins[:2], trials[:2] = 1, 3
    counts = glm(kind).fit(X, np.column_stack([wins, trials - wins]))
    shares = glm(kind).fit(X, wins / trials, precision=trials)
    rows = np.repeat(np.arange(25), trials)
    ones = np.concatenate([[1.0] * w + [0.0] * (t - w) for w, t in zip(wins, trials)])
    single = glm(kind).fit(X[rows], ones)
    assert_same_fit(counts, shares)
    np.testing.assert_allclose(parameters_of(single), parameters_of(counts), atol=1e-7)
    np.testing.assert_allclose(single.standard_errors(), counts.standard_errors(), rtol=1e-6)
    # deviances differ by what the grouping says, so their differences do not
    assert single.null_deviance_ - single.deviance_ == pytest.approx(
        counts.null_deviance_ - counts.deviance_, rel=1e-7
    )
    for method in ("wald", "lr", "score"):
        assert single.test(0, method).statistic == pytest.approx(
            counts.test(0, method).statistic, rel=1e-6, abs=1e-9
        )
    np.testing.assert_allclose(
        single.confidence_intervals(method="profile"),
        counts.confidence_intervals(method="profile"),
        atol=1e-6,
    )
    assert counts.df_residual_ == 25 - 3 and single.df_residual_ == trials.sum() - 3


@few
@given(seed=seeds)
def test_zeros_and_ones_under_the_logit_are_logistic_regression(seed):
    X, y = draw("binomial", seed)
    weight = np.random.default_rng(seed).exponential(size=80) + 0.1
    with quiet(SeparationWarning):
        a = GeneralizedLinearModel("binomial").fit(X, y, weight)
        b = LogisticRegression(C=np.inf).fit(X, y.astype(int), weight)
    assume(a.verdict_.status == "optimal")
    np.testing.assert_allclose(b.coef_[0], a.coef_, atol=1e-8)
    np.testing.assert_allclose(b.covariance_, a.covariance_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(a.predict(X), b.predict_proba(X)[:, 1], atol=1e-9)
    for name in ("deviance_", "null_deviance_", "aic_", "bic_", "log_likelihood_", "df_residual_"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-9)
    np.testing.assert_allclose(a.residuals(), b.residuals(), atol=1e-8)


def test_labels_are_read_and_remembered():
    X, y = draw("binomial")
    for labels in (["no", "yes"], [b"a", b"b"], ["1", "2"]):
        named = np.array(labels)[y.astype(int)]
        model = GeneralizedLinearModel("binomial").fit(X, named)
        assert model.classes_.tolist() == labels
        assert any(f"{labels[1]!r} counts as success" in f for f in model.verdict_.findings)
        np.testing.assert_array_equal(model.coef_, GeneralizedLinearModel("binomial").fit(X, y).coef_)
        assert model.score(X, named) == pytest.approx(
            GeneralizedLinearModel("binomial").fit(X, y).score(X, y)
        )
        only = named == labels[1]
        assert np.isfinite(model.score(X[only], named[only]))  # one label of the two is legal later
        assert verify(model, X, named).status == "optimal"
    model.fit(X, y)
    assert not hasattr(model, "classes_")


# ---- the Gaussian ----


@pytest.mark.parametrize("fit_intercept", [True, False])
@few
@given(seed=seeds)
def test_one_newton_step_is_least_squares(fit_intercept, seed):
    X, y = draw("gaussian", seed)
    precision = np.random.default_rng(seed).exponential(size=80) + 0.05
    for w in (None, precision):
        model = GeneralizedLinearModel(fit_intercept=fit_intercept).fit(X, y, precision=w)
        A = np.column_stack([np.ones(80), X]) if fit_intercept else X
        root = np.ones(80) if w is None else np.sqrt(w)
        best = np.linalg.lstsq(A * root[:, None], y * root, rcond=None)[0]
        np.testing.assert_allclose(parameters_of(model), best, rtol=1e-9, atol=1e-12)
        assert model.n_iter_ == 1
        verdict = model.verdict_
        assert (verdict.status, verdict.unique, verdict.stopped_by) == ("optimal", True, "one Newton step")
        assert any("parabola" in f for f in verdict.findings)
        left = (y - A @ best) * root
        assert model.deviance_ == pytest.approx(left @ left, rel=1e-9)
        assert model.dispersion_ == pytest.approx(left @ left / (80 - A.shape[1]), rel=1e-9)
        covariance = np.linalg.inv((A * root[:, None] ** 2).T @ A) * model.dispersion_
        np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-8, atol=1e-14)


def test_one_step_from_a_warm_start_and_with_a_ridge():
    X, y = draw("gaussian")
    model = GeneralizedLinearModel(warm_start=True).fit(X, y)
    model.coef_ = model.coef_ + 100.0
    again = model.fit(X, y)
    assert again.n_iter_ == 1 and again.verdict_.status == "optimal"
    np.testing.assert_allclose(again.coef_, np.linalg.lstsq(
        np.column_stack([X, np.ones(80)]), y, rcond=None)[0][:3], rtol=1e-8)  # fmt: skip
    ridge = GeneralizedLinearModel(alpha=0.7).fit(X, y)
    assert ridge.n_iter_ == 1 and ridge.verdict_.stopped_by == "one Newton step"


# ---- warm starts ----


@kinds
def test_a_warm_start_ends_at_the_same_place(kind):
    X, y = draw(kind)
    cold = glm(kind).fit(X, y)
    warm = glm(kind, warm_start=True).fit(X[:60], y[:60])
    warm.fit(X, y)
    np.testing.assert_allclose(
        parameters_of(warm), parameters_of(cold), atol=1e-6 * cold.standard_errors().min()
    )
    assert warm.null_deviance_ == pytest.approx(cold.null_deviance_, rel=1e-10)
    assert warm.fit(X, y).n_iter_ <= 2
    # fewer columns: the old weights do not fit, and are left alone
    np.testing.assert_allclose(
        warm.fit(X[:, :2], y).coef_, glm(kind).fit(X[:, :2], y).coef_, rtol=1e-5, atol=1e-8
    )


def test_a_warm_start_outside_the_range_of_the_link_starts_anew():
    X, y = draw("gamma")
    model = glm("gamma", warm_start=True).fit(X, y)
    model.coef_ = np.array([50.0, 0.0, 0.0])
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, glm("gamma").fit(X, y).coef_, rtol=1e-6)


# ---- the verdict ----


def minimum(kind, X, y, alpha=0.0, weight=None):
    """min (1/W) Σ s ½d + ½α‖w‖² to high accuracy, by SciPy on the definition."""
    family, name, own = KINDS[kind]
    loss = GlmLoss.of(family, name, **own)
    s = np.ones(len(y)) if weight is None else weight
    A = np.column_stack([np.ones(len(y)), X])

    def value(b):
        v = loss.value(A @ b, y)
        return float(s @ v / s.sum() + 0.5 * alpha * b[1:] @ b[1:])

    def slope(b):
        return A.T @ (s * loss.slope(A @ b, y)) / s.sum() + alpha * np.append(0.0, b[1:])

    start = glm(kind, alpha=alpha).fit(X, y, sample_weight=weight)
    b = parameters_of(start)
    for _ in range(3):  # polish by Newton with a numerical derivative of the exact gradient
        H = np.array([(slope(b + h) - slope(b - h)) / 2e-6 for h in 1e-6 * np.eye(len(b))])
        b = b - np.linalg.solve(H, slope(b))
    return value, value(b), b


@pytest.mark.parametrize("kind", PROVEN)
@few
@given(
    seed=seeds,
    alpha=st.sampled_from([0.0, 0.01, 1.0]),
    tol=st.sampled_from([1e-1, 1e-2, 1e-4]),
    steps=st.sampled_from([1, 2, 3, 100]),
)
def test_the_gap_bounds_the_distance_from_the_minimum(kind, seed, alpha, tol, steps):
    X, y = draw(kind, seed)
    with quiet(ConvergenceWarning, SeparationWarning):
        model = glm(kind, alpha=alpha, tol=tol, max_iter=steps).fit(X, y)
        assume(model.verdict_.status != "no optimum" and glm(kind, alpha=alpha).fit(X, y).verdict_.settled)
    value, least, _ = minimum(kind, X, y, alpha)
    here = value(parameters_of(model))
    assert model.verdict_.objective == pytest.approx(here, rel=1e-9)
    assert here - least <= model.verdict_.gap + 1e-13 * abs(here)
    if model.verdict_.status == "optimal":
        assert model.verdict_.gap <= model.verdict_.tol
    again = verify(model, X, y)
    assert here - least <= again.gap + 1e-13 * abs(here)


@kinds
def test_the_status_says_what_is_proven(kind):
    X, y = draw(kind)
    model = glm(kind).fit(X, y)
    verdict = model.verdict_
    assert verdict.status == ("optimal" if kind in PROVEN else "stationary")
    assert verdict.settled and verdict.unique is (None if kind == "gaussian log" else True)
    if verdict.status == "stationary":
        assert verdict.gap == np.inf and "no bound proven" in str(verdict)
        words = "that it is the global one is not proven" if kind == "gaussian log" else "the loss is convex"
        assert any(words in f for f in verdict.findings)
    best = minimum(kind, X, y)[2]
    np.testing.assert_allclose(parameters_of(model), best, atol=1e-6 * model.standard_errors().min())


@kinds
def test_verify_confirms_a_fit_and_refuses_a_changed_one(kind):
    X, y = draw(kind)
    weight = np.random.default_rng(0).integers(1, 3, 80).astype(float)
    model = glm(kind).fit(X, y, weight)
    again = verify(model, X, y, weight)
    assert again.status == model.verdict_.status
    assert again.objective == pytest.approx(model.verdict_.objective, rel=1e-9)
    assert again.unique == model.verdict_.unique
    assert verify(model, X, y).status == "not converged"
    model.coef_ = model.coef_ + np.array([0.0, 0.02, 0.0])
    assert verify(model, X, y, weight).status == "not converged"


def confirmed_or_refused(model, X, y, *words):
    """verify is right about the fit, or says which of the fit's arguments it was not given."""
    try:
        return verify(model, X, y).status == model.verdict_.status
    except (TypeError, ValueError) as refusal:
        return any(word in str(refusal) for word in words)


def test_verify_with_an_offset_counts_and_a_precision():
    X, y = draw("poisson")
    years = np.random.default_rng(0).uniform(1, 3, 80)
    assert confirmed_or_refused(glm("poisson").fit(X, y, exposure=years), X, y, "exposure", "offset")
    trials = np.random.default_rng(0).integers(1, 9, 80)
    wins = np.random.default_rng(1).binomial(trials, 0.4)
    counts = np.column_stack([wins, trials - wins])
    assert verify(GeneralizedLinearModel("binomial").fit(X, counts), X, counts).status == "optimal"
    X, y = draw("gaussian")
    assert confirmed_or_refused(GeneralizedLinearModel().fit(X, y, precision=years), X, y, "precision")


def test_a_loss_that_is_not_convex_is_not_called_convex():
    """Tweedie of power above 2 under the log: ℓ'' = (p−1) y μ^(1−p) − (p−2) μ^(2−p) is negative for large μ."""
    loss = GlmLoss.of("tweedie", "log", observed=True, power=2.5)
    assert loss.derivatives(np.array([3.0]), np.array([1.0]))[2][0] < 0
    assert not loss.convex
    assert GlmLoss.of("tweedie", "log", power=1.5).convex
    X, y = draw("gamma log")
    model = GeneralizedLinearModel("tweedie", power=2.5).fit(X, y)
    assert model.verdict_.status == "stationary" and model.verdict_.unique is None
    assert not any("convex" in f for f in model.verdict_.findings)


@pytest.mark.parametrize("kind", ["poisson", "gamma", "probit", "tweedie"])
def test_too_few_steps_are_said(kind):
    X, y = draw(kind)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model = glm(kind, max_iter=1).fit(X, y)
    assert model.verdict_.status == "not converged" and not model.verdict_.settled
    assert "max_iter reached" in model.verdict_.stopped_by and model.n_iter_ == 1
    assert np.isfinite(model.standard_errors()).all()


@pytest.mark.parametrize("kind", ["poisson", "gamma", "probit"])
def test_an_interrupt_keeps_the_best_so_far(monkeypatch, kind):
    X, y = draw(kind)
    evaluate, calls = Objective.evaluate, []

    def interrupted(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return evaluate(self, *args, **kwargs)

    monkeypatch.setattr(Objective, "evaluate", interrupted)
    with keep_going():
        model = glm(kind).fit(X, y)
    monkeypatch.undo()
    assert model.verdict_.status == model.verdict_.stopped_by == "interrupted"
    assert not model.verdict_.settled
    value, least, _ = minimum(kind, X, y)
    here = value(parameters_of(model))
    assert model.verdict_.objective == pytest.approx(here, rel=1e-10)
    assert least < here and here - least <= model.verdict_.gap
    model.predict(X), model.summary()
    assert model.set_params(warm_start=True).fit(X, y).verdict_.settled


def test_the_path_ends_at_the_answer():
    X, y = draw("poisson")
    model = glm("poisson", record_path=True).fit(X, y)
    np.testing.assert_allclose(model.path_.objective[-1], model.verdict_.objective, rtol=1e-12)
    assert (np.diff(model.path_.objective) <= 1e-15).all()
    model.set_params(record_path=False).fit(X, y)
    assert not hasattr(model, "path_")


# ---- separation ----


def complete(seed=0):
    y = np.repeat([0.0, 1.0], 20)
    return np.random.default_rng(seed).standard_normal((40, 2)) + 8 * y[:, None], y


def quasi(seed=0):
    X, y = overlapping(120, 2, 2, seed=seed, noise=2.0)
    flag = ((np.random.default_rng(seed).random(120) < 0.3) & (y == 1)).astype(float)
    return np.column_stack([X, flag]), y.astype(float)


def no_counts_in_one_level(seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 1, 60), np.arange(60) < 15])
    y = rng.poisson(2 * np.exp(0.5 * X[:, 0])).astype(float)
    y[X[:, 1] == 1] = 0.0
    y[20] = 0.0
    return X, y


def assert_no_inference(model, X):
    """Nothing finite is said about an estimate that does not exist."""
    k = len(model.summary().index)
    assert np.isnan(model.covariance_).all() and model.covariance_.shape == (k, k)
    for options in ({}, {"covariance": "HC0"}, {"covariance": "HC1"}, {"covariance": "HC3"}):
        table = model.summary(**options).to_frame()
        assert np.isnan(table["se"]).all(), options
        assert np.isnan(table[["p", "low", "high"]].to_numpy()).all(), options
    groups = np.arange(len(X)) % 10
    assert np.isnan(model.standard_errors("cluster", groups)).all()
    for method in ("wald", "profile"):
        assert np.isnan(model.confidence_intervals(method=method)).all()
    for method in ("wald", "lr", "score"):
        with pytest.raises(ValueError, match="there is no estimate to test"):
            model.test(0, method)
    with pytest.raises(ValueError, match="without an estimate"):
        anova(model)
    text = str(model.summary())
    assert "no optimum exists" in text and "no standard errors" in text
    copied = pickle.loads(pickle.dumps(model))
    assert str(copied.summary()) == text and np.isnan(copied.covariance_).all()


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


def assert_close_parameters(a, b, tol=1e-6):
    np.testing.assert_allclose(
        parameters_of(a), parameters_of(b), rtol=0, atol=tol * b.standard_errors().min()
    )


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


# ---- kept and copied ----


@kinds
def test_a_pickle_keeps_the_answers(kind):
    X, y = draw(kind)
    model = glm(kind).fit(X, y)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(copied.predict(X), model.predict(X))
        assert str(copied.summary()) == str(model.summary())
        np.testing.assert_array_equal(copied.covariance_, model.covariance_)
        np.testing.assert_array_equal(numbers(copied), numbers(model))
        assert copied.test(0, "wald") == model.test(0, "wald")
        for ask in (copied.residuals, copied.leverage, copied.cooks_distance, lambda c=copied: c.test(0),
                    lambda c=copied: c.covariance("HC0"),
                    lambda c=copied: c.confidence_intervals(method="profile")):  # fmt: skip
            with pytest.raises(ValueError, match="does not carry them: fit again"):
                ask()
    assert len(pickle.dumps(glm(kind).fit(np.tile(X, (50, 1)), np.tile(y, 50)))) < 30_000
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(model))))
    assert str(again.summary()) == str(model.summary())
    again.fit(X, y).residuals()


@pytest.mark.parametrize(
    "model",
    [GeneralizedLinearModel("poisson"), LogisticRegression(C=np.inf), GeneralizedLinearModel()],
    ids=str,
)
def test_saving_a_model_takes_nothing_from_it(model):
    X, y = draw("binomial")
    model = clone(model).fit(X, y.astype(int))
    before = model.residuals()
    for save in (pickle.dumps, copy.deepcopy, copy.copy, clone):
        save(model)
        np.testing.assert_array_equal(model.residuals(), before)
        assert np.isfinite(model.test(0).statistic)


def test_a_lazy_prediction_takes_nothing_from_the_model():
    """Dask names a task by what is in it, and reads the model's state for that."""
    da = pytest.importorskip("dask.array")
    X, y = draw("poisson")
    lazy = da.from_array(X, chunks=(40, 3))
    model = GeneralizedLinearModel("poisson").fit(lazy, y)
    np.testing.assert_allclose(np.asarray(model.predict(lazy)), model.predict(X), rtol=1e-12)
    assert len(model.residuals()) == 80


def test_family_objects_and_names_are_one():
    X, y = draw("negative binomial")
    from separatrix.core import families
    from separatrix.core.links import Log
    from separatrix.core.responses import NegativeBinomial, Poisson

    a = GeneralizedLinearModel("negative_binomial", size=2.0).fit(X, y)
    b = GeneralizedLinearModel(NegativeBinomial(2.0), Log()).fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    for family in ("Poisson", Poisson(), families.Poisson(), response("poisson")):
        model = GeneralizedLinearModel(family).fit(X, y)
        assert model.family_ == Poisson() and model.link_ == Log()
        clone(model).fit(X, y)
    power = {0: "gaussian", 1: "poisson", 2: "gamma", 3: "inverse_gaussian"}
    for p, name in power.items():
        model = GeneralizedLinearModel("tweedie", "log", power=p).fit(X, y + 1)
        assert model.family_.name == name
    exponential = GeneralizedLinearModel("exponential", "log").fit(X, y + 1)
    gamma = GeneralizedLinearModel("gamma", "log").fit(X, y + 1)
    assert exponential.dispersion_ == 1.0 != gamma.dispersion_
    np.testing.assert_allclose(
        exponential.standard_errors(), gamma.standard_errors() / np.sqrt(gamma.dispersion_), rtol=1e-8
    )


def test_tags_say_which_responses_are_read():
    def positive(*args, **kw):
        return GeneralizedLinearModel(*args, **kw).__sklearn_tags__().target_tags.positive_only

    assert positive("poisson") and positive("tweedie", power=1.5) and positive("gamma")
    assert not positive() and not positive("binomial") and not positive("tweedie", power=0)
    GeneralizedLinearModel("nonsense").__sklearn_tags__()


def test_score_is_the_explained_deviance():
    X, y = draw("gaussian")
    model = GeneralizedLinearModel().fit(X, y)
    assert model.score(X, y) == pytest.approx(1 - model.deviance_ / model.null_deviance_)
    X, y = draw("poisson")
    model = GeneralizedLinearModel("poisson").fit(X, y)
    assert model.score(X, y) == pytest.approx(1 - model.deviance_ / model.null_deviance_)
    trials = np.random.default_rng(0).integers(1, 9, 80)
    wins = np.random.default_rng(1).binomial(trials, 0.4)
    counts = np.column_stack([wins, trials - wins])
    model = GeneralizedLinearModel("binomial").fit(X, counts)
    assert model.score(X, counts) == pytest.approx(1 - model.deviance_ / model.null_deviance_)
