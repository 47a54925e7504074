"""Generalised linear models as estimators: scikit-learn's battery, the Gaussian, warm starts, pickles and copies.

Hypothesis draws the data. Agreement with R is in test_glm_references.py.
"""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import clone
from sklearn.linear_model import GammaRegressor, LinearRegression, PoissonRegressor, Ridge, TweedieRegressor
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import GeneralizedLinearModel, LogisticRegression
from separatrix.core.responses import response
from tests.models.linear.glms import draw, few, glm, kinds, numbers, parameters_of, seeds

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
