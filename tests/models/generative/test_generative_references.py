"""The generative models against everything that can contradict them: scikit-learn's own battery and its fitted
numbers, R's lda, qda and naiveBayes, densities from scipy.stats, and cases small enough to work by hand.
"""

from __future__ import annotations

import shutil
import subprocess
import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats as ss
from scipy.special import gammaln, logsumexp, psi
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
from separatrix.core.families import Multinomial, Normal

TIES = ("none", "class", "feature", "both")
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


# ---- data ----


@cache
def table(name):
    """Rows and labels; breast cancer z-scored, for scikit-learn solves its normal equations in raw units."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "digits":
        X, y = X[:400], y[:400]
        X = X[:, np.ptp(X, axis=0) > 0]
    if name == "breast_cancer":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    X.flags.writeable = y.flags.writeable = False
    return X, y


TABLES = ("iris", "wine", "breast_cancer", "digits")
tables = pytest.mark.parametrize("name", TABLES)


def some_priors(y):
    share = np.arange(1.0, len(np.unique(y)) + 1)
    return share / share.sum()


def random_weights(n, seed=0):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0, 3.7], n)


def joint(density, prior):
    """log p(x, k) from log p(x | k)."""
    return density + np.log(prior)


def assert_predicts(model, X, density, tol=1e-10):
    """Every public density and posterior follows from log p(x | k) (n, K) and the model's priors."""
    log_joint = joint(density, model.class_prior_)
    log_p = logsumexp(log_joint, axis=1)
    size = np.maximum(1.0, np.abs(density))
    np.testing.assert_allclose(model.class_log_density(X) / size, density / size, atol=tol)
    np.testing.assert_allclose(model.score_samples(X), log_p, rtol=tol, atol=tol)
    posterior = np.exp(log_joint - log_p[:, None])
    np.testing.assert_allclose(model.predict_proba(X), posterior, atol=tol)
    np.testing.assert_allclose(
        model.predict_log_proba(X), log_joint - log_p[:, None], rtol=tol, atol=100 * tol
    )
    np.testing.assert_array_equal(model.predict(X), model.classes_[log_joint.argmax(axis=1)])
    ours = model.predict_joint_log_proba(X)
    # "factors common to all classes may be left out": the differences between classes are what is promised
    np.testing.assert_allclose(ours - ours[:, :1], log_joint - log_joint[:, :1], rtol=tol, atol=100 * tol)
    if hasattr(model, "decision_function"):
        scores = model.decision_function(X)
        if len(model.classes_) == 2:
            np.testing.assert_allclose(scores, log_joint[:, 1] - log_joint[:, 0], rtol=tol, atol=100 * tol)
        else:
            np.testing.assert_allclose(
                scores - scores[:, :1], log_joint - log_joint[:, :1], rtol=tol, atol=100 * tol
            )


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


def words():
    """Counts in 0 … 16 of ten classes: digits read as a bag of words."""
    return table("digits")


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


# ---- densities from scipy.stats ----


def normal_density(X, means, sigmas):
    return np.column_stack([ss.multivariate_normal(m, S).logpdf(X) for m, S in zip(means, sigmas)])


def by_class(X, y):
    return [X[y == k] for k in np.unique(y)]


GROUPS = {
    "shared": lambda parts: [sum(len(p) * np.cov(p.T, ddof=0) for p in parts) / sum(map(len, parts))] * 3,
    "per-class": lambda parts: [np.cov(p.T, ddof=0) for p in parts],
    "diagonal": lambda parts: [np.diag(p.var(axis=0)) for p in parts],
    "spherical": lambda parts: [np.eye(p.shape[1]) * p.var(axis=0).mean() for p in parts],
}


def _pooled(parts):
    return sum(len(p) * np.cov(p.T, ddof=0) for p in parts) / sum(map(len, parts))


@pytest.mark.parametrize("covariance", GROUPS)
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_gaussian_discriminants_are_scipys_normals(name, covariance):
    X, y = table(name)
    parts = by_class(X, y)
    model = GaussianDiscriminant(covariance).fit(X, y)
    sigmas = GROUPS[covariance](parts)
    for a, b in zip(model.covariance_, sigmas, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12 * np.abs(b).max())
    assert_predicts(model, X, normal_density(X, [p.mean(axis=0) for p in parts], sigmas))


@pytest.mark.parametrize(
    "groups",
    [
        [["a", "b"], ["c"]],
        (("c",), ("b", "a")),
        {"a": "one", "b": "one", "c": "other"},
        {"c": 0, "b": 7, "a": 7},
        [["a", "b"], ["c"], ["never seen"]],
    ],
    ids=str,
)
def test_classes_that_share_a_covariance(groups):
    """The three-class figure of [PC]: a line between the two that share, curves to the third."""
    X, y = table("iris")
    labels = np.array(["a", "b", "c"])[y]
    parts = by_class(X, y)
    model = GaussianDiscriminant(groups).fit(X, labels)
    both, third = _pooled(parts[:2]), np.cov(parts[2].T, ddof=0)
    for a, b in zip(model.covariance_, [both, both, third], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)
    assert_predicts(model, X, normal_density(X, [p.mean(axis=0) for p in parts], [both, both, third]))
    # the log odds of a and b are linear: second differences along any line vanish
    line = X[:1] + np.linspace(-2, 2, 9)[:, None] * np.array([1.0, -0.5, 2.0, 0.3])
    logs = model.predict_log_proba(line)
    bend = np.abs(np.diff(logs[:, 0] - logs[:, 1], n=2)), np.abs(np.diff(logs[:, 0] - logs[:, 2], n=2))
    assert bend[0].max() < 1e-9 < 1.0 < bend[1].max()


@pytest.mark.parametrize("shrinkage", [0.0, 0.4, 1.0])
def test_shrunk_groups_and_priors(shrinkage):
    X, y = table("iris")
    parts = by_class(X, y)
    prior = [0.5, 0.2, 0.3]
    model = GaussianDiscriminant([[0, 2], [1]], shrinkage=shrinkage, priors=prior).fit(X, y)
    sigmas = [_pooled([parts[0], parts[2]]), np.cov(parts[1].T, ddof=0)]
    sigmas = [(1 - shrinkage) * S + shrinkage * np.trace(S) / 4 * np.eye(4) for S in sigmas]
    np.testing.assert_allclose(model.class_prior_, prior)
    assert_predicts(
        model, X, normal_density(X, [p.mean(axis=0) for p in parts], [sigmas[i] for i in (0, 1, 0)])
    )


@pytest.mark.parametrize("make", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_discriminants_density(make):
    X, y = table("wine")
    parts = by_class(X, y)
    model = make().fit(X, y)
    kind = "shared" if make is LinearDiscriminantAnalysis else "per-class"
    assert_predicts(model, X, normal_density(X, [p.mean(axis=0) for p in parts], GROUPS[kind](parts)))


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_nb_ties_are_scipys_normals(tie, weighted):
    """σ_kj, σ_j, σ_k, σ: the mean square over what is tied, weights as repetition."""
    X, y = table("iris")
    w = random_weights(len(y), 3) if weighted else np.ones(len(y))
    model = GaussianNB(tie=tie, var_smoothing=0).fit(X, y, sample_weight=w if weighted else None)
    means = np.array([np.average(X[y == k], axis=0, weights=w[y == k]) for k in range(3)])
    squares = np.array([w[y == k] @ (X[y == k] - means[k]) ** 2 for k in range(3)])
    counts = np.broadcast_to(np.bincount(y, w)[:, None], squares.shape)
    axes = {"none": (), "class": 0, "feature": 1, "both": (0, 1)}[tie]
    variance = np.sum(squares, axis=axes, keepdims=True) / np.sum(counts, axis=axes, keepdims=True)
    variance = np.broadcast_to(variance, squares.shape)
    np.testing.assert_allclose(model.theta_, means, rtol=1e-13)
    np.testing.assert_allclose(model.var_, variance, rtol=1e-12)
    density = ss.norm.logpdf(X[:, None, :], means, np.sqrt(variance)).sum(axis=2)
    assert_predicts(model, X, density)


def test_smoothed_variances_are_raised_by_a_share_of_their_columns_own():
    X, y = table("iris")
    scale = np.array([1.0, 1e6, 1e-6, 10.0])
    model = GaussianNB(var_smoothing=0.1, var_smoothing_per_column=True).fit(X * scale, y)
    np.testing.assert_allclose(model.epsilon_, 0.1 * X.var(axis=0) * scale**2, rtol=1e-12)
    wanted = np.array([p.var(axis=0) for p in by_class(X, y)]) + 0.1 * X.var(axis=0)
    np.testing.assert_allclose(model.var_, wanted * scale**2, rtol=1e-12)


def test_counts_densities_are_scipys():
    X, y = words()
    parts = by_class(X, y)
    model = MultinomialNB().fit(X, y)
    theta = [(p.sum(axis=0) + 1) / (p.sum() + p.shape[1]) for p in parts]
    density = np.column_stack([ss.multinomial.logpmf(X, X.sum(axis=1), t / t.sum()) for t in theta])
    assert_predicts(model, X, density)
    assert_predicts(MultinomialNB().fit(sp.csr_array(X), y), sp.csr_array(X), density)
    bits = X > 7
    model = BernoulliNB().fit(bits, y)
    theta = np.array([(p.sum(axis=0) + 1) / (len(p) + 2) for p in by_class(bits, y)])
    assert_predicts(model, bits, ss.bernoulli.logpmf(bits[:, None, :], theta).sum(axis=2))
    model = CategoricalNB().fit(X, y)
    density = np.zeros((len(X), 10))
    for j in range(X.shape[1]):
        size = int(X[:, j].max()) + 1
        for k, p in enumerate(parts):
            table_j = (np.bincount(p[:, j].astype(int), minlength=size) + 1) / (len(p) + size)
            density[:, k] += np.log(table_j[X[:, j].astype(int)])
    assert_predicts(model, X, density)


# ---- families ----


def drawn(family, n=60, K=3, p=2, seed=0):
    """Rows of K classes of a family, by NumPy's generators and not ours."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(K), n)
    s = 1.0 + y[:, None] + 0.5 * np.arange(p)
    one = np.ones((len(y), p))
    cells = {
        "normal": lambda: rng.normal(s, 1 + 0.3 * s),
        "bernoulli": lambda: (rng.random(s.shape) < s / 6).astype(float),
        "poisson": lambda: rng.poisson(s).astype(float),
        "exponential": lambda: rng.exponential(s),
        "gamma": lambda: rng.gamma(1 + s, 0.5 * one),
        "beta": lambda: rng.beta(s, 2.0 * one),
        "multinomial": lambda: np.array([rng.multinomial(rng.integers(3, 9), r / r.sum()) for r in s]).astype(
            float
        ),
        "dirichlet": lambda: np.array([rng.dirichlet(1 + 2 * r) for r in s]),
        "multivariate_normal": lambda: (
            rng.normal(s, 1.0) @ np.array([[1.0, 0.5, 0.2], [0, 1, 0.3], [0, 0, 1]])[:p, :p]
        ),
    }[family]()
    return cells, y


UNIVARIATE = ("normal", "bernoulli", "poisson", "exponential", "gamma", "beta")
MULTIVARIATE = ("multinomial", "dirichlet", "multivariate_normal")


def scipy_log_density(family, parameters, X):
    """log p of every cell (n, K, p), or row (n, K), of parameters (K, …)."""
    P, x = parameters, X[:, None, :]
    K = len(next(iter(P.values())))
    match family:
        case "normal":
            return ss.norm.logpdf(x, P["mean"], np.sqrt(P["variance"]))
        case "bernoulli":
            return ss.bernoulli.logpmf(x, P["probability"])
        case "poisson":
            return ss.poisson.logpmf(x, P["rate"])
        case "exponential":
            return ss.expon.logpdf(x, scale=1 / P["rate"])
        case "gamma":
            return ss.gamma.logpdf(x, P["shape"], scale=1 / P["rate"])
        case "beta":
            return ss.beta.logpdf(x, P["a"], P["b"])
        case "multinomial":
            n = X.sum(axis=1)
            shares = P["probabilities"] / P["probabilities"].sum(axis=1, keepdims=True)
            return np.column_stack([ss.multinomial.logpmf(X, n, shares[k]) for k in range(K)])
        case "dirichlet":  # scipy wants sums of 1 to the last digit
            a = P["concentration"]
            norm = gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1)
            return norm + np.log(X) @ (a - 1).T
        case "multivariate_normal":
            return normal_density(X, P["mean"], P["covariance"])
    raise AssertionError(family)


def assert_maximum_likelihood(family, parameters, parts, weight=None):
    """The moment equations ∇A(η_k) = mean of T over class k, written out."""
    for k, X in enumerate(parts):
        w = np.ones(len(X)) if weight is None else weight[k]
        P = {name: value[k] for name, value in parameters.items()}
        mean = np.average(X, axis=0, weights=w)
        close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)  # noqa: E731
        match family:
            case "normal":
                close(P["mean"], mean)
                close(P["variance"], np.average((X - mean) ** 2, axis=0, weights=w))
            case "bernoulli":
                close(P["probability"], mean)
            case "poisson":
                close(P["rate"], mean)
            case "exponential":
                close(1 / P["rate"], mean)
            case "gamma":
                close(P["shape"] / P["rate"], mean)
                close(psi(P["shape"]) - np.log(P["rate"]), np.average(np.log(X), axis=0, weights=w))
            case "beta":
                close(psi(P["a"]) - psi(P["a"] + P["b"]), np.average(np.log(X), axis=0, weights=w))
                close(psi(P["b"]) - psi(P["a"] + P["b"]), np.average(np.log1p(-X), axis=0, weights=w))
            case "multinomial":
                close(P["probabilities"], w @ X / (w @ X).sum())
            case "dirichlet":
                a = P["concentration"]
                close(psi(a) - psi(a.sum()), np.average(np.log(X), axis=0, weights=w))
            case "multivariate_normal":
                close(P["mean"], mean)
                close(P["covariance"], np.cov(X.T, ddof=0, aweights=w))


@pytest.mark.parametrize("family", UNIVARIATE + MULTIVARIATE)
@pytest.mark.parametrize("K", [2, 3])
def test_generative_classifier_of_every_family(family, K):
    X, y = drawn(family, K=K, p=3)
    model = GenerativeClassifier(family).fit(X, y)
    assert_maximum_likelihood(family, model.parameters_, by_class(X, y))
    density = scipy_log_density(family, model.parameters_, X)
    assert_predicts(model, X, density.sum(axis=2) if density.ndim == 3 else density)
    # a(x): linear in the parts of T(x) that differ
    score = model.features(X) @ model.coef_.T + model.intercept_
    decision = model.decision_function(X)
    if K == 2:
        np.testing.assert_allclose(score[:, 0], decision, rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_allclose(score - score[:, :1], decision - decision[:, :1], rtol=1e-9, atol=1e-9)
    assert model.verdict_.status == "closed form" and model.verdict_.gap < 1e-8
    joint_density = density.sum(axis=2) if density.ndim == 3 else density
    wanted = -np.mean((joint_density + np.log(model.class_prior_))[np.arange(len(y)), y])
    if family not in ("poisson", "gamma", "beta", "dirichlet", "multinomial"):  # those leave h(x) out
        assert model.verdict_.objective == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("family", UNIVARIATE + MULTIVARIATE)
@pytest.mark.parametrize("K", [2, 3])
def test_a_of_x_is_linear_with_a_shared_scale(family, K):
    """[6867] 3.1.3.3: with the scale shared, what is left of η differs in x alone (in log x for Beta, Dirichlet)."""
    X, y = drawn(family, K=K, p=3)
    model = GenerativeClassifier(family, shared_scale=True).fit(X, y)
    score = model.features(X) @ model.coef_.T + model.intercept_
    decision = model.decision_function(X)
    if K == 2:
        np.testing.assert_allclose(score[:, 0], decision, rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_allclose(score - score[:, :1], decision - decision[:, :1], rtol=1e-9, atol=1e-9)
    if family in ("beta", "dirichlet"):
        assert not hasattr(model, "rule_")
        return
    np.testing.assert_array_equal(model.features(X), X)
    np.testing.assert_allclose(np.squeeze(model.rule_.score(X)), np.squeeze(score), rtol=1e-12, atol=1e-12)
    P = model.parameters_
    for name in {"normal": ["variance"], "multivariate_normal": ["covariance"], "gamma": ["shape"]}.get(
        family, []
    ):
        np.testing.assert_allclose(P[name], np.broadcast_to(P[name][:1], P[name].shape), rtol=1e-12)
    parts = by_class(X, y)
    if family == "normal":
        wanted = np.mean([p.var(axis=0) for p in parts], axis=0)
        np.testing.assert_allclose(P["variance"][0], wanted, rtol=1e-12)
    if family == "multivariate_normal":
        lda = LinearDiscriminantAnalysis("lsqr").fit(X, y)
        np.testing.assert_allclose(P["covariance"][0], lda.covariance_, rtol=1e-11)
        np.testing.assert_allclose(model.coef_, lda.coef_, rtol=1e-8, atol=1e-10)
        differences = (m.intercept_ - (m.intercept_[0] if K > 2 else 0) for m in (model, lda))
        np.testing.assert_allclose(*differences, rtol=1e-8)
    if family == "gamma":  # one shape: mean over classes of log x̄ − mean log x, and rates a / x̄_k
        excess = np.mean([np.log(p.mean(axis=0)) - np.log(p).mean(axis=0) for p in parts], axis=0)
        a = P["shape"][0]
        np.testing.assert_allclose(np.log(a) - psi(a), excess, rtol=1e-9)
        np.testing.assert_allclose(a / P["rate"], [p.mean(axis=0) for p in parts], rtol=1e-10)
        np.testing.assert_allclose(  # −(b₁ − b₀) for two classes
            model.coef_, P["rate"][:1] - P["rate"][1:] if K == 2 else -P["rate"], rtol=1e-10
        )


def test_a_known_variance_and_trials():
    X, y = drawn("normal", K=2)
    model = GenerativeClassifier(Normal(variance=4.0)).fit(X, y)
    means = np.array([p.mean(axis=0) for p in by_class(X, y)])
    assert_predicts(model, X, ss.norm.logpdf(X[:, None, :], means, 2.0).sum(axis=2))
    np.testing.assert_allclose(model.coef_, [(means[1] - means[0]) / 4], rtol=1e-11)
    assert hasattr(model, "rule_")
    X, y = drawn("multinomial", K=2, p=3)
    model = GenerativeClassifier(Multinomial(trials=7)).fit(X, y)
    assert (model.sample(20, random_state=0)[0].sum(axis=1) == 7).all()


@pytest.mark.parametrize("family", UNIVARIATE)
@pytest.mark.parametrize("weighted", [False, True])
def test_naive_bayes_of_every_family(family, weighted):
    X, y = drawn(family)
    weight = random_weights(len(y), 1) if weighted else None
    model = NaiveBayes({0: family, 1: family}, alpha=0, var_smoothing=0).fit(X, y, sample_weight=weight)
    assert model.families_ == [{"normal": "gaussian"}.get(family, family)] * 2
    parameters = {
        name: np.column_stack([p[name] for p in model.parameters_]) for name in model.parameters_[0]
    }
    weights = None if weight is None else [weight[y == k] for k in range(3)]
    assert_maximum_likelihood(family, parameters, by_class(X, y), weights)
    assert_predicts(model, X, scipy_log_density(family, parameters, X).sum(axis=2))


def mixed_columns(seed=0, n=80):
    """One column of every kind, as lists of Python values; classes differ in all of them."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], n)
    s = y + 1.0
    columns = {
        "colour": np.array(["red", "green", "blue"])[rng.integers(0, s.astype(int) + 1) % 3].tolist(),
        "flag": (rng.random(3 * n) < s / 4).tolist(),
        "visits": rng.poisson(s).tolist(),
        "length": rng.gamma(s, 2.0).tolist(),
        "share": rng.beta(s, 2.0).tolist(),
        "balance": rng.normal(s, 2.0).tolist(),
    }
    return columns, np.array(["x", "y", "z"])[y]


def test_naive_bayes_of_a_mixed_table():
    """Chosen by type and support; the density is the product of scipy's."""
    pd = pytest.importorskip("pandas")
    columns, y = mixed_columns()
    frame = pd.DataFrame(columns)
    model = NaiveBayes(alpha=1.0, var_smoothing=0).fit(frame, y)
    assert model.families_ == ["categorical", "bernoulli", "poisson", "gamma", "beta", "gaussian"]
    assert list(model.levels_[0]) == ["blue", "green", "red"]
    density = np.zeros((len(y), 3))
    for k, label in enumerate("xyz"):
        part = frame[y == label]
        levels = (part["colour"].value_counts().reindex(["blue", "green", "red"]).fillna(0) + 1) / (
            len(part) + 3
        )
        density[:, k] += np.log(levels[frame["colour"]].to_numpy())
        density[:, k] += ss.bernoulli.logpmf(frame["flag"], (part["flag"].sum() + 1) / (len(part) + 2))
        density[:, k] += ss.poisson.logpmf(frame["visits"], part["visits"].mean())
        density[:, k] += ss.norm.logpdf(frame["balance"], part["balance"].mean(), part["balance"].std(ddof=0))
        P = {name: {n: v[k] for n, v in p.items()} for name, p in zip(frame.columns, model.parameters_)}
        density[:, k] += ss.gamma.logpdf(frame["length"], P["length"]["shape"], scale=1 / P["length"]["rate"])
        density[:, k] += ss.beta.logpdf(frame["share"], P["share"]["a"], P["share"]["b"])
    assert_predicts(model, frame, density)
    assert_maximum_likelihood(
        "gamma",
        {n: v[:, None] for n, v in model.parameters_[3].items()},
        by_class(frame[["length"]].to_numpy(), y),
    )
    assert "smoothing: 1 virtual row" in str(model.verdict_)


def test_naive_bayes_agrees_with_the_special_models():
    X, y = words()
    same = lambda a, b, X: np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-10)  # noqa: E731
    columns = range(X.shape[1])
    same(NaiveBayes(dict.fromkeys(columns, "categorical")).fit(X, y), CategoricalNB().fit(X, y), X)
    bits = (X > 7).astype(float)
    same(NaiveBayes(dict.fromkeys(columns, "bernoulli")).fit(bits, y), BernoulliNB().fit(bits, y), bits)
    same(NaiveBayes().fit(X > 7, y), BernoulliNB().fit(bits, y), bits)
    X, y = table("iris")
    for model in (
        NaiveBayes(dict.fromkeys(range(4), "normal")),
        GenerativeClassifier(),
        GaussianDiscriminant("diagonal"),
    ):
        np.testing.assert_allclose(
            model.fit(X, y).predict_proba(X), GaussianNB().fit(X, y).predict_proba(X), atol=1e-6
        )
    exact = NaiveBayes(dict.fromkeys(range(4), "normal"), var_smoothing=0.01).fit(X, y)
    same(exact, GaussianNB(var_smoothing=0.01, var_smoothing_per_column=True).fit(X, y), X)


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


# ---- R ----

NEEDS_R = pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed")
R_SCRIPT = r"""
a <- commandArgs(TRUE); options(digits = 17)
d <- read.csv(file.path(a[1], "data.csv")); x <- as.matrix(d[, -1]); g <- factor(d$y)
out <- function(m, name) write.table(format(as.matrix(m), digits = 17), file.path(a[1], name),
                                     row.names = FALSE, col.names = FALSE, quote = FALSE)
if (!suppressMessages(require(MASS, quietly = TRUE))) quit(status = 77)
l <- lda(x, g, method = "mle", tol = 1e-12)
out(predict(l, x)$posterior, "lda"); out(l$means, "means")
out(predict(qda(x, g, method = "mle"), x)$posterior, "qda")
moment <- predict(lda(x, g, tol = 1e-12), x)$posterior; out(moment, "lda_moment")
out(predict(l, x)$x, "scores")
if (!suppressMessages(require(e1071, quietly = TRUE))) quit(status = 0)
nb <- naiveBayes(as.data.frame(x), g)
n <- as.vector(table(g))
nb$tables <- lapply(nb$tables, function(t) { t[, 2] <- t[, 2] * sqrt((n - 1) / n); t })  # sd over n
out(predict(nb, as.data.frame(x), type = "raw", threshold = 0), "nb")
f <- as.data.frame(lapply(as.data.frame(x), function(v) factor(v > median(v))))
c <- naiveBayes(f, g, laplace = 1)
out(predict(c, f, type = "raw", threshold = 0), "nb_levels")
"""


@cache
def from_r(directory, name):
    X, y = table(name)
    np.savetxt(
        f"{directory}/data.csv", np.column_stack([y, X]), delimiter=",", fmt="%.17g", comments="",
        header="y," + ",".join(f"x{j}" for j in range(X.shape[1])),
    )  # fmt: skip
    with open(f"{directory}/script.R", "w") as file:
        file.write(R_SCRIPT)
    done = subprocess.run(
        ["Rscript", "--vanilla", f"{directory}/script.R", directory],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode == 77:
        pytest.skip("R lacks MASS")
    assert done.returncode == 0, done.stderr
    return lambda what: np.loadtxt(f"{directory}/{what}")


@NEEDS_R
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_r_lda_qda_and_naive_bayes(tmp_path, name):
    X, y = table(name)
    r = from_r(str(tmp_path), name)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(lda.means_, r("means"), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(lda.predict_proba(X), r("lda"), atol=1e-10)
    np.testing.assert_allclose(
        QuadraticDiscriminantAnalysis().fit(X, y).predict_proba(X), r("qda"), atol=1e-10
    )
    # R's default divides by n − K: the scores are ours times (n − K)/n
    n, K = len(y), len(lda.classes_)
    scores = lda.class_log_density(X) * (n - K) / n + np.log(lda.class_prior_)
    np.testing.assert_allclose(
        np.exp(scores - logsumexp(scores, axis=1)[:, None]), r("lda_moment"), atol=1e-10
    )
    ours, theirs = lda.transform(X), r("scores").reshape(len(y), -1)
    theirs = theirs * np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(ours).max())
    try:
        theirs = r("nb")
    except OSError:
        pytest.skip("R lacks e1071: lda and qda agree")
    seen = np.isfinite(theirs).all(axis=1)  # where all classes underflow R has 0/0
    assert seen.mean() > 0.95
    ours = GaussianNB(var_smoothing=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours[seen], theirs[seen], atol=1e-10)
    levels = np.median(X, axis=0) < X
    for model in (CategoricalNB(), NaiveBayes(), BernoulliNB()):
        np.testing.assert_allclose(model.fit(levels, y).predict_proba(levels), r("nb_levels"), atol=1e-10)
