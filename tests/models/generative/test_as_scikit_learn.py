"""Discriminants and naive Bayes are scikit-learn's where the model is the same, and pass its checks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets, discriminant_analysis, naive_bayes
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDiscriminant,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from tests.models.generative.real_tables import (
    TIES,
    by_class,
    random_weights,
    some_priors,
    table,
    tables,
    words,
)

CHECKED = [
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    GaussianDiscriminant(),
    GaussianDiscriminant("per-class"),
    GaussianDiscriminant("diagonal"),
    *(GaussianNB(tie=tie) for tie in TIES),
    BernoulliNB(),
    MultinomialNB(),
    ComplementNB(),
    ComplementNB(norm=True),
    CategoricalNB(),
    NaiveBayes(),
    GenerativeClassifier(),
    GenerativeClassifier("multivariate_normal"),
]


def expected_failures(estimator):
    if isinstance(estimator, CategoricalNB):
        return {
            name: "passes fractions as levels, which are refused"
            for name in (
                "check_sample_weight_equivalence_on_dense_data",
                "check_classifiers_one_label_sample_weights",
                "check_class_weight_classifiers",
            )
        }
    if isinstance(estimator, (MultinomialNB, ComplementNB)):
        return {
            "check_class_weight_classifiers": "1e7 on a class is e^16 in the prior: less than the counts may say"
        }
    return {}


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures, xfail_strict=True)
def test_check_estimator(estimator, check):
    check(estimator)


# ---- scikit-learn: discriminants ----


def across(values):
    """Free of what all classes share: centred over classes, or as it is where there is one row for two classes."""
    return values - values.mean(axis=0) if len(values) > 1 else values


@tables
@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
@pytest.mark.parametrize("shrinkage", [None, 0.3, "auto"])
@pytest.mark.parametrize("with_priors", [False, True])
def test_lda_is_scikit_learns(name, solver, shrinkage, with_priors):
    X, y = table(name)
    parameters = {"shrinkage": shrinkage, "priors": some_priors(y) if with_priors else None}
    theirs_solver = solver
    if (
        solver == "svd" and shrinkage is not None
    ):  # not offered there; pooled by rows, which are lsqr's priors
        if with_priors:
            pytest.skip("scikit-learn has no shrinkage with svd")
        theirs_solver = "lsqr"
    theirs = discriminant_analysis.LinearDiscriminantAnalysis(
        theirs_solver, store_covariance=True, **parameters
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # collinear variables
            theirs.fit(X, y)
    except np.linalg.LinAlgError:
        pytest.skip("scikit-learn's eigen solver fails on a singular covariance")
    ours = LinearDiscriminantAnalysis(solver, **parameters).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.priors_, theirs.priors_, rtol=1e-14)
    if not (solver == "svd" and with_priors):  # there scikit-learn's covariance_ is not the one it uses
        np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-10, atol=1e-12)
    size = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(across(ours.coef_), across(theirs.coef_), atol=1e-10 * size)
    # what moves with the classes' common part of β is no fact of the model: compare scores at the rows
    scores, reference = (m.intercept_ + X @ m.coef_.T for m in (ours, theirs))
    if len(ours.classes_) > 2:
        scores, reference = (s - s.mean(axis=1, keepdims=True) for s in (scores, reference))
    np.testing.assert_allclose(scores, reference, atol=1e-10 * max(1.0, np.abs(reference).max()))
    if theirs_solver == solver and len(ours.classes_) > 2:  # the β, γ form itself
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-10 * size)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-9)


@tables
@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.parametrize("n_components", [None, 1])
def test_lda_transform_is_scikit_learns_up_to_sign(name, solver, n_components):
    X, y = table(name)
    if name == "digits" and solver == "eigen":
        pytest.skip("scikit-learn's eigen solver fails on a singular covariance")
    theirs = discriminant_analysis.LinearDiscriminantAnalysis(solver, n_components=n_components).fit(X, y)
    ours = LinearDiscriminantAnalysis(solver, n_components=n_components).fit(X, y)
    a, b = ours.transform(X), theirs.transform(X)
    if solver == "eigen":
        b = b - b.mean(axis=0)  # scikit-learn leaves the origin where it was
    assert a.shape == b.shape
    b = b * np.sign(np.sum(a * b, axis=0))
    np.testing.assert_allclose(a, b, atol=1e-9 * np.abs(b).max())
    np.testing.assert_allclose(ours.fit_transform(X, y), a)
    if solver == "svd":
        ratio = theirs.explained_variance_ratio_
        np.testing.assert_allclose(ours.explained_variance_ratio_, ratio, atol=1e-10)
    within = sum((y == k).mean() * np.cov(a[y == k].T, ddof=0) for k in np.unique(y))
    np.testing.assert_allclose(np.atleast_2d(within), np.eye(a.shape[1]), atol=1e-8)


@tables
@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "svd"},
        {"solver": "svd", "reg_param": 0.2},
        {"solver": "svd", "reg_param": 1.0},
        {"solver": "eigen"},
        {"solver": "eigen", "shrinkage": 0.3},
        {"solver": "eigen", "shrinkage": "auto"},
    ],
    ids=str,
)
@pytest.mark.parametrize("with_priors", [False, True])
def test_qda_is_scikit_learns(name, parameters, with_priors):
    X, y = table(name)
    parameters = {**parameters, "priors": some_priors(y) if with_priors else None}
    theirs = discriminant_analysis.QuadraticDiscriminantAnalysis(store_covariance=True, **parameters)
    try:
        theirs.fit(X, y)
    except np.linalg.LinAlgError:
        pytest.skip("scikit-learn refuses a singular covariance")
    ours = QuadraticDiscriminantAnalysis(**parameters).fit(X, y)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.priors_, theirs.priors_, rtol=1e-14)
    for a, b in zip(ours.covariance_, theirs.covariance_, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10 * np.abs(b).max())
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_qda_both_solvers_are_the_same_model_with_any_regularisation():
    """scikit-learn's eigen solver drops reg_param without a word; here it means what it says."""
    X, y = table("wine")
    for shrinkage in (None, 0.3):
        model = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage, reg_param=0.2).fit(X, y)
        for k, sigma in enumerate(model.covariance_):
            S = np.cov(X[y == k].T, ddof=0)
            s = shrinkage or 0.0
            S = (1 - s) * S + s * np.trace(S) / len(S) * np.eye(len(S))
            np.testing.assert_allclose(sigma, 0.8 * S + 0.2 * np.eye(len(S)), rtol=1e-10, atol=1e-12)
        same = QuadraticDiscriminantAnalysis(solver="svd", shrinkage=shrinkage, reg_param=0.2).fit(X, y)
        np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("rows", [30, 55])
def test_lda_of_a_table_wider_than_long_is_scikit_learns(rows):
    """Fewer rows than columns: what no class varies in decides nothing, or chance decides everything."""
    X, y = datasets.load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:rows], order[rows:]
    theirs = discriminant_analysis.LinearDiscriminantAnalysis().fit(X[train], y[train])
    ours = LinearDiscriminantAnalysis().fit(X[train], y[train])
    np.testing.assert_allclose(ours.predict_proba(X[test]), theirs.predict_proba(X[test]), atol=1e-9)
    assert ours.score(X[test], y[test]) == theirs.score(X[test], y[test])
    assert "singular covariance" in str(ours.verdict_)


@pytest.mark.parametrize("parameters", [{"shrinkage": 0.3}, {"shrinkage": "auto"}], ids=["0.3", "auto"])
@pytest.mark.parametrize("extra", ["constant", "sum"])
def test_shrinkage_gives_a_column_without_news_a_variance(parameters, extra):
    """A constant column, or one that is a sum of others, is singular no longer: scikit-learn's formula applies."""
    X, y = table("iris")
    X = np.column_stack([X, np.full(len(X), 5.0) if extra == "constant" else X[:, 0] - 2 * X[:, 1]])
    theirs = discriminant_analysis.QuadraticDiscriminantAnalysis(solver="eigen", **parameters).fit(X, y)
    ours = QuadraticDiscriminantAnalysis(solver="eigen", **parameters).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)


# ---- scikit-learn: naive Bayes ----


def jittered(name):
    """digits have columns constant within a class, where var_smoothing=0 is no density."""
    X, y = table(name)
    return (X + np.random.default_rng(0).normal(0, 0.1, X.shape), y) if name == "digits" else (X, y)


def assert_same_posteriors(ours, theirs, X):
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    np.testing.assert_allclose(
        ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-10, atol=1e-8
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@tables
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_priors", [False, True])
def test_gaussian_nb_is_scikit_learns(name, weighted, with_priors):
    X, y = jittered(name)
    weight = random_weights(len(y)) if weighted else None
    priors = some_priors(y) if with_priors else None
    ours = GaussianNB(var_smoothing=0, priors=priors).fit(X, y, sample_weight=weight)
    theirs = naive_bayes.GaussianNB(var_smoothing=0, priors=priors).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.theta_, theirs.theta_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-12)
    np.testing.assert_allclose(ours.class_prior_, theirs.class_prior_, rtol=1e-14)
    np.testing.assert_allclose(ours.class_count_, theirs.class_count_, rtol=1e-14)
    assert_same_posteriors(ours, theirs, X)


@tables
def test_gaussian_nb_smoothing_is_scikit_learns_in_columns_of_one_unit(name):
    """A share of the column's own variance is a share of the largest one's when all are equal."""
    X, y = table(name)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for smoothing in (1e-9, 1e-2):
        ours = GaussianNB(var_smoothing=smoothing).fit(X, y)
        theirs = naive_bayes.GaussianNB(var_smoothing=smoothing).fit(X, y)
        np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-10)
        np.testing.assert_allclose(ours.epsilon_, theirs.epsilon_, rtol=1e-10)
        # at 1e-9 digits hold densities of 1e9: log p is large, and its relative error is what can be promised
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-7)


COUNT_PARAMETERS = [
    {},
    {"alpha": 0.3},
    {"alpha": 1e-12, "force_alpha": False},
    {"fit_prior": False},
    {"class_prior": (np.arange(1, 11) / 55).tolist()},
]


@pytest.mark.parametrize("parameters", COUNT_PARAMETERS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array], ids=["dense", "csr", "csc"])
@pytest.mark.parametrize("kind", ["BernoulliNB", "MultinomialNB"])
def test_naive_bayes_of_counts_is_scikit_learns(kind, container, weighted, parameters):
    X, y = words()
    X = container(X)
    weight = random_weights(len(y)) if weighted else None
    if kind == "BernoulliNB":
        if "force_alpha" in parameters:
            pytest.skip("scikit-learn takes log(1 − θ) of a θ rounded to one")
        parameters = {**parameters, "binarize": 7.0}
    ours = {"BernoulliNB": BernoulliNB, "MultinomialNB": MultinomialNB}[kind](**parameters)
    theirs = getattr(naive_bayes, kind)(**parameters).fit(X, y, sample_weight=weight)
    ours.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(ours.class_count_, theirs.class_count_, rtol=1e-14)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-13)
    assert_same_posteriors(ours, theirs, X)


def test_an_array_of_alpha():
    X, y = words()
    alpha = np.linspace(0.1, 2.0, X.shape[1])
    a, b = MultinomialNB(alpha=alpha).fit(X, y), naive_bayes.MultinomialNB(alpha=alpha).fit(X, y)
    np.testing.assert_allclose(a.feature_log_prob_, b.feature_log_prob_, rtol=1e-12, atol=1e-13)
    assert_same_posteriors(a, b, X)
    model = BernoulliNB(alpha=alpha, binarize=7).fit(X, y)  # scikit-learn's fails here
    theta = np.array([((p > 7).sum(axis=0) + alpha) / (len(p) + 2 * alpha) for p in by_class(X, y)])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), theta, rtol=1e-12)
    shorter = model.set_params(alpha=alpha[:5]).fit(X[:, :5], y)  # the old number of columns is forgotten
    np.testing.assert_allclose(np.exp(shorter.feature_log_prob_), theta[:, :5], rtol=1e-12)


def test_a_tiny_alpha_keeps_its_digits_on_both_sides():
    """log(1 − θ) = log (n₀ + α)/(n + 2α), not the logarithm of what is left of a rounded θ."""
    X, y = np.array([[1, 1], [1, 0], [0, 1], [0, 0]]), [0, 0, 1, 1]
    for alpha in (1e-10, 1e-13):
        model = BernoulliNB(alpha=alpha).fit(X, y)
        log_p = model.class_log_density([[0, 1], [1, 0]])
        half, rare, sure = np.log(0.5), np.log(alpha / (2 + 2 * alpha)), np.log1p(-alpha / (2 + 2 * alpha))
        np.testing.assert_allclose(
            log_p, [[rare + half, sure + half], [sure + half, rare + half]], rtol=1e-12
        )


@pytest.mark.parametrize("parameters", [*COUNT_PARAMETERS, {"min_categories": 20}], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_categorical_nb_is_scikit_learns(weighted, parameters):
    X, y = words()
    # scikit-learn counts the levels of rows of weight zero: here such a row is absent
    weight = np.maximum(random_weights(len(y)), 0.25) if weighted else None
    ours = CategoricalNB(**parameters).fit(X, y, sample_weight=weight)
    theirs = naive_bayes.CategoricalNB(**parameters).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(ours.n_categories_, theirs.n_categories_)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-13)
    for mine, other in (
        (ours.feature_log_prob_, theirs.feature_log_prob_),
        (ours.category_count_, theirs.category_count_),
    ):
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    assert_same_posteriors(ours, theirs, X)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_eighty_classes(container):
    """More than are multiplied by an indicator: rows are sorted by class instead."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 80, 4000)
    C = rng.poisson(rng.uniform(0.5, 4, (80, 5))[y]).astype(float)
    Z = rng.standard_normal((80, 5))[y] + rng.standard_normal((4000, 5))
    weight = random_weights(4000, 5)
    pairs = [(MultinomialNB(), naive_bayes.MultinomialNB(), C), (BernoulliNB(), naive_bayes.BernoulliNB(), C)]
    if container is np.asarray:
        pairs += [
            (GaussianNB(var_smoothing=0), naive_bayes.GaussianNB(var_smoothing=0), Z),
            (CategoricalNB(), naive_bayes.CategoricalNB(), C),
        ]
    for ours, theirs, X in pairs:
        X = container(X)
        for m in (ours, theirs):
            m.fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    for ours, theirs in (
        (LinearDiscriminantAnalysis(), discriminant_analysis.LinearDiscriminantAnalysis()),
        (QuadraticDiscriminantAnalysis(), discriminant_analysis.QuadraticDiscriminantAnalysis()),
    ):
        np.testing.assert_allclose(
            ours.fit(Z, y).predict_proba(Z), theirs.fit(Z, y).predict_proba(Z), atol=1e-10
        )
