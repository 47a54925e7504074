"""inference/covariance.py against its definitions: information, sandwiches and clusters in NumPy, and statsmodels for
K classes.
R's numbers: models/linear/test_glm_references.py.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given

from separatrix import LogisticRegression, SeparationWarning
from separatrix.inference.covariance import covariance_matrix, inner_covariance
from tests.inference.direct import CANONICAL, FREE, both, few, kinds, seeds
from tests.models.reference import overlapping, quiet

# ---- covariances ----


@kinds
@few
@given(seed=seeds)
def test_the_covariance_is_the_inverse_information(kind, seed):
    with quiet(SeparationWarning):
        model, direct = both(kind, seed, frequency=True, precision=kind in FREE, offset=True)
    np.testing.assert_allclose(model.covariance_, direct.phi * direct.bread, rtol=1e-6, atol=1e-12)
    assert model.dispersion_ == pytest.approx(direct.phi, rel=1e-7)
    assert model.deviance_ == pytest.approx(2 * direct.value(direct.beta), rel=1e-9)
    np.testing.assert_allclose(model.covariance(), model.covariance_)
    np.testing.assert_allclose(model.standard_errors(), np.sqrt(np.diag(model.covariance_)))
    if kind in CANONICAL:  # expected and observed information are one
        H = np.array(
            [(direct.slope(direct.beta + h) - direct.slope(direct.beta - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
        )
        np.testing.assert_allclose(model.covariance_, direct.phi * np.linalg.inv(H), rtol=1e-5, atol=1e-10)


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_robust_covariances_by_their_formulas(kind, weighted):
    model, d = both(kind, 3, frequency=weighted, precision=weighted and kind in FREE, offset=weighted)
    n = d.f.sum()
    for which, u, factor in (
        ("HC0", d.u, 1.0),
        ("HC1", d.u, n / (n - d.k)),
        ("HC2", d.u / np.sqrt(1 - d.h), 1.0),
        ("HC3", d.u / (1 - d.h), 1.0),
    ):
        meat = (d.A * (d.f * u**2)[:, None]).T @ d.A
        np.testing.assert_allclose(model.covariance(which), factor * d.bread @ meat @ d.bread, rtol=1e-5)
    groups = np.random.default_rng(0).integers(0, 12, 70)
    sums = np.array([(d.f * d.u)[groups == g] @ d.A[groups == g] for g in np.unique(groups)])
    G = len(sums)
    expected = G / (G - 1) * (n - 1) / (n - d.k) * d.bread @ sums.T @ sums @ d.bread
    np.testing.assert_allclose(model.covariance("cluster", groups), expected, rtol=1e-5)
    names = np.array(list("abcdefghijkl"))[groups]
    np.testing.assert_allclose(model.covariance("cluster", names), expected, rtol=1e-5)
    np.testing.assert_allclose(model.covariance("cluster", names.tolist()), expected, rtol=1e-5)
    table = model.summary(covariance="cluster", groups=groups).to_frame()
    np.testing.assert_allclose(table["se"], np.sqrt(np.diag(expected)), rtol=1e-5)


def test_every_row_its_own_cluster_is_HC1_up_to_the_small_sample_factor():
    model, _ = both("poisson")
    own = model.covariance("cluster", np.arange(70))
    np.testing.assert_allclose(own, model.covariance("HC1") * (69 / 70) * 70 / 69, rtol=1e-9)
    np.testing.assert_allclose(own, model.covariance("HC0") * 70 / 69 * 69 / 67, rtol=1e-9)


def softmax_parts(model, X, y):
    """Scores and information of the softmax against class 0, in plain NumPy."""
    A = np.column_stack([np.ones(len(y)), X])
    P = model.predict_proba(X)
    K, q = P.shape[1], A.shape[1]
    U = ((P - np.eye(K)[y])[:, 1:, None] * A[:, None, :]).reshape(len(y), -1)
    H = np.zeros(((K - 1) * q,) * 2)
    for a in range(1, K):
        for b in range(1, K):
            w = P[:, a] * ((a == b) - P[:, b])
            H[(a - 1) * q : a * q, (b - 1) * q : b * q] = (A * w[:, None]).T @ A
    return U, np.linalg.inv(H), P


@pytest.mark.parametrize("K", [3, 4])
def test_softmax_covariances(K):
    X, y = overlapping(150, 2, K, seed=1, noise=2.0)
    model = LogisticRegression(C=np.inf).fit(X, y)
    U, bread, P = softmax_parts(model, X, y)
    np.testing.assert_allclose(model.covariance_, bread, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.covariance("HC0"), bread @ U.T @ U @ bread, rtol=1e-5)
    k = len(bread)
    np.testing.assert_allclose(model.covariance("HC1"), bread @ U.T @ U @ bread * 150 / (150 - k), rtol=1e-5)
    groups = np.arange(150) % 13
    S = np.array([U[groups == g].sum(axis=0) for g in range(13)])
    np.testing.assert_allclose(
        model.covariance("cluster", groups), 13 / 12 * 149 / (150 - k) * bread @ S.T @ S @ bread, rtol=1e-5
    )
    assert model.leverage().sum() == pytest.approx(k, rel=1e-6)
    assert (model.residuals() ** 2).sum() == pytest.approx(model.deviance_, rel=1e-9)
    np.testing.assert_allclose(model.residuals("response"), np.eye(K)[y] - P, atol=1e-9)
    for which in ("HC2", "HC3"):
        with pytest.raises(ValueError, match="use HC0 or HC1"):
            model.covariance(which)


def test_softmax_with_weights_is_repetition():
    X, y = overlapping(90, 2, 3, seed=2, noise=2.0)
    weight = np.random.default_rng(0).integers(1, 4, 90).astype(float)
    rows = np.repeat(np.arange(90), weight.astype(int))
    a = LogisticRegression(C=np.inf).fit(X[rows], y[rows])
    b = LogisticRegression(C=np.inf).fit(X, y, weight)
    groups = np.arange(90) % 8
    np.testing.assert_allclose(b.covariance_, a.covariance_, rtol=1e-6)
    np.testing.assert_allclose(b.covariance("HC1"), a.covariance("HC1"), rtol=1e-6)
    np.testing.assert_allclose(
        b.covariance("cluster", groups), a.covariance("cluster", groups[rows]), rtol=1e-6
    )
    for name in ("deviance_", "null_deviance_", "aic_", "bic_", "df_residual_", "log_likelihood_"):
        assert getattr(b, name) == pytest.approx(getattr(a, name), rel=1e-8)


# ---- K classes, statsmodels, reference classes ----


@pytest.mark.parametrize("K", [3, 4])
def test_softmax_errors_are_statsmodels_mnlogits(K):
    sm = pytest.importorskip("statsmodels.api")
    X, y = overlapping(200, 3, K, seed=4, noise=2.0)
    model = LogisticRegression(C=np.inf).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, method="newton", tol=1e-14, maxiter=100)
    table = model.summary().to_frame()
    np.testing.assert_allclose(table["coef"], np.asarray(theirs.params).T.ravel(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(table["se"], np.asarray(theirs.bse).T.ravel(), rtol=1e-6)
    np.testing.assert_allclose(table["p"], np.asarray(theirs.pvalues).T.ravel(), rtol=1e-5, atol=1e-12)
    assert model.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-9)
    assert model.null_deviance_ == pytest.approx(-2 * theirs.llnull, rel=1e-9)
    assert model.aic_ == pytest.approx(theirs.aic, rel=1e-9)


def test_separated_classes_have_no_errors_against_any_reference():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    with quiet(SeparationWarning):
        model = LogisticRegression(C=np.inf).fit(X, y)
    for reference in (None, 0, 1, 2):
        for which in ("model", "HC0", "HC1"):
            table = model.summary(covariance=which, reference=reference).to_frame()
            assert np.isnan(table[["se", "p", "low", "high"]]).all(axis=None), (reference, which)
    assert np.isnan(model.covariance("cluster", np.arange(150) % 9)).all()
    two = LogisticRegression(C=np.inf)
    with quiet(SeparationWarning):
        two.fit(X[:100], y[:100])
    assert np.isnan(two.standard_errors("HC0")).all() and np.isnan(two.covariance_).all()


@pytest.mark.parametrize("kind", ["model", "HC0", "HC3"])
def test_a_covariance_is_that_of_the_inner_coordinates_turned(kind):
    model, _ = both("poisson")
    fit = model._likelihood_
    U = fit.user_map
    np.testing.assert_allclose(
        covariance_matrix(fit, kind), U @ inner_covariance(fit, kind) @ U.T, rtol=1e-10, atol=1e-14
    )
