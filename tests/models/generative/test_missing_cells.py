"""A missing cell is a column that is not there: densities are marginals, fits count each column's own rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as ss
from hypothesis import given
from scipy.special import logsumexp

from separatrix import (
    GaussianDiscriminant,
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from tests.models.generative.cases import (
    CASES,
    GAUSSIAN,
    assert_same_model,
    continuous,
    few,
    mixed,
    seeds,
    tolerance,
)

# the marginal of the fitted model is the model fitted without the column
MARGINAL = (
    "LDA", "QDA", "shared", "per-class", "diagonal", "groups", "GaussianNB", "GaussianNB class", "BernoulliNB",
    "BernoulliNB marginal", "CategoricalNB", "CategoricalNB marginal", "NaiveBayes normal", "NaiveBayes poisson",
    "NaiveBayes gamma", "NaiveBayes beta", "NaiveBayes mixed", "normal", "normal shared", "poisson", "exponential",
    "gamma", "gamma shared", "beta",
)  # fmt: skip


@pytest.mark.parametrize("case", MARGINAL)
@few
@given(seed=seeds)
def test_a_missing_cell_is_a_column_that_is_not_there(case, seed):
    make, draw = CASES[case]
    X, y = draw(seed)
    model = make().fit(X, y)
    missing = np.random.default_rng(seed).random(X.shape) < 0.4
    missing[:4, :3] = [[True, False, False], [False, True, True], [True] * 3, [False] * 3]
    missing[2] = True
    holes = X.copy()
    holes[missing] = None if X.dtype == object else np.nan
    density, posterior, total = (
        model.class_log_density(holes),
        model.predict_proba(holes),
        model.score_samples(holes),
    )
    joint, wanted = model.predict_joint_log_proba(holes), density + np.log(model.class_prior_)
    np.testing.assert_allclose(joint - joint[:, :1], wanted - wanted[:, :1], atol=1e-8)
    for pattern in np.unique(missing, axis=0):
        mine = np.flatnonzero((missing == pattern).all(axis=1))
        there = np.flatnonzero(~pattern)
        if not len(there):
            np.testing.assert_allclose(
                posterior[mine], np.tile(model.class_prior_, (len(mine), 1)), atol=1e-12
            )
            np.testing.assert_allclose(total[mine], 0.0, atol=1e-12)
            continue
        shorter = make()
        if "families" in shorter.get_params() and shorter.families != "auto":
            families = {i: shorter.families[j] for i, j in enumerate(there.tolist()) if j in shorter.families}
            shorter.set_params(families=families)
        shorter.fit(X[:, there], y)
        np.testing.assert_allclose(
            density[mine], shorter.class_log_density(X[mine][:, there]), rtol=1e-8, atol=1e-8
        )
        np.testing.assert_allclose(posterior[mine], shorter.predict_proba(X[mine][:, there]), atol=1e-8)
        np.testing.assert_allclose(
            total[mine], shorter.score_samples(X[mine][:, there]), rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("case", ["LDA shrunk", "LDA lsqr, priors", "QDA regularised", "spherical", "groups"])
def test_missing_cells_are_scipys_marginals(case):
    make, _ = CASES[case]
    X, y = continuous(4)
    model = make().fit(X, y)
    sigmas = [model.covariance_] * 3 if case.startswith("LDA") else model.covariance_
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.4, np.nan, X)
    density = np.zeros((len(X), 3))
    for i, row in enumerate(holes):
        j = np.flatnonzero(~np.isnan(row))
        for k in range(3):
            if len(j):
                normal = ss.multivariate_normal(model.means_[k, j], sigmas[k][np.ix_(j, j)])
                density[i, k] = normal.logpdf(row[j])
    np.testing.assert_allclose(model.class_log_density(holes), density, rtol=1e-10, atol=1e-10)
    joint = density + np.log(model.class_prior_)
    np.testing.assert_allclose(model.score_samples(holes), logsumexp(joint, axis=1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("tie", ["feature", "both"])
def test_missing_cells_under_ties_over_columns(tie):
    X, y = continuous(4)
    model = GaussianNB(tie=tie).fit(X, y)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.4, np.nan, X)
    cells = ss.norm.logpdf(holes[:, None, :], model.theta_, np.sqrt(model.var_))
    np.testing.assert_allclose(
        model.class_log_density(holes), np.nansum(cells, axis=2), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("case", [c for c in MARGINAL if CASES[c][1] is not mixed and c not in GAUSSIAN])
@few
@given(seed=seeds)
def test_naive_models_fit_each_column_to_the_rows_that_have_it(case, seed):
    make, draw = CASES[case]
    X, y = draw(seed)
    holes = np.where(np.random.default_rng(seed).random(X.shape) < 0.3, np.nan, X)
    holes[:24:8] = X[:24:8]  # something of every class in every column
    if "Categorical" in case:
        holes[0] = X.max(axis=0)
    model = make().fit(holes, y)
    assert not hasattr(model, "log_likelihoods_")  # no EM: columns are independent
    density = np.zeros((len(X), 3))
    for j in range(3):
        there = ~np.isnan(holes[:, j])
        one = make()
        if "families" in one.get_params() and one.families != "auto":
            one.set_params(families={0: one.families[0]})
        one.fit(holes[there, j : j + 1], y[there])
        density += one.class_log_density(X[:, j : j + 1])
    np.testing.assert_allclose(model.class_log_density(X), density, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.class_prior_, np.bincount(y) / len(y), rtol=1e-14)
    # and chunks of such rows add up as well
    chunks = make().partial_fit(holes[:30], y[:30]).partial_fit(holes[30:], y[30:])
    if "NaiveBayes" not in case:
        assert_same_model(model, chunks, X, tolerance(case))


def test_a_constant_column_says_nothing_with_or_without_missing_cells():
    X, y = continuous(0)
    wide = np.column_stack([X, np.full(len(X), 3.0)])
    new = wide.copy()
    new[:, 3] += np.linspace(-5, 5, len(X))  # it varies after training
    for make in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianDiscriminant, GaussianNB):
        model = make()
        wanted = model.fit(X[:, 1:], y).predict_proba(X[:, 1:])
        model.fit(wide, y)
        new[:, 0] = np.nan
        np.testing.assert_allclose(model.predict_proba(new), wanted, atol=1e-9, err_msg=str(model))
