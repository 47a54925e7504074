"""Normal rows with missing cells, by EM: the likelihood is scipy.stats's, the maximum that of a direct search."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as ss
from scipy.optimize import minimize
from scipy.special import logsumexp

from separatrix import (
    GaussianDiscriminant,
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from tests.models.generative.em_cases import codes_of, continuous, half_labelled, with_gaps


def marginal_densities(X, means, sigmas):
    """log p of the cells that are there, by scipy, pattern by pattern."""
    out = np.zeros((len(X), len(means)))
    gaps = np.isnan(X)
    for gone in np.unique(gaps, axis=0):
        rows, j = np.flatnonzero((gaps == gone).all(axis=1)), np.flatnonzero(~gone)
        if len(j):
            for k, (m, S) in enumerate(zip(means, sigmas)):
                out[rows, k] = ss.multivariate_normal(m[j], S[np.ix_(j, j)]).logpdf(X[np.ix_(rows, j)])
    return out


FULL = {
    "LDA": lambda: LinearDiscriminantAnalysis(),
    "LDA lsqr": lambda: LinearDiscriminantAnalysis("lsqr"),
    "LDA lsqr, priors": lambda: LinearDiscriminantAnalysis("lsqr", priors=[0.4, 0.6]),
    "QDA": lambda: QuadraticDiscriminantAnalysis(),
    "shared": lambda: GaussianDiscriminant(),
    "per-class": lambda: GaussianDiscriminant("per-class"),
    "diagonal": lambda: GaussianDiscriminant("diagonal"),
    "spherical": lambda: GaussianDiscriminant("spherical"),
    "groups": lambda: GaussianDiscriminant({0: "one", 1: "two"}),
}


@pytest.mark.parametrize("case", FULL)
@pytest.mark.parametrize("labels_too", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_missing_cells_by_em(case, labels_too, weighted):
    X, y = continuous(seed=4)
    holes = with_gaps(X)
    holes[7] = np.nan  # nothing at all is known of it but its label
    labels = half_labelled(y) if labels_too else y.astype(object)
    weight = np.linspace(0.5, 2, len(y)) if weighted else None
    model = FULL[case]().set_params(em_max_iter=2000).fit(holes, labels, sample_weight=weight)
    path = model.log_likelihoods_
    if "priors" not in case:  # there classes are averaged by their priors, which is not the likelihood's step
        assert (np.diff(path) >= -1e-10).all()
    sigmas = [model.covariance_] * 2 if case.startswith("LDA") else model.covariance_
    density = marginal_densities(holes, model.means_, sigmas)
    joint = density + np.log(model.class_prior_)
    codes = codes_of(labels)
    seen = np.where(codes < 0, logsumexp(joint, axis=1), joint[np.arange(len(y)), codes])
    assert path[-1] == pytest.approx(np.average(seen, weights=weight), rel=1e-9)
    np.testing.assert_allclose(model.class_log_density(holes), density, rtol=1e-8, atol=1e-8)
    text = str(model.verdict_)
    assert "local" in text and ("missing cells" in text or labels_too)


def pack(means, roots):
    p = means.shape[1]
    return np.concatenate([means.ravel(), *[L[np.tril_indices(p)] for L in roots]])


def unpack(theta, k, p, g):
    means, rest = theta[: k * p].reshape(k, p), theta[k * p :].reshape(g, -1)
    sigmas = []
    for part in rest:
        L = np.zeros((p, p))
        L[np.tril_indices(p)] = part
        sigmas.append(L @ L.T)
    return means, sigmas


@pytest.mark.parametrize("shared", [True, False])
def test_the_maximum_is_that_of_a_direct_search(shared):
    """A tiny table: the observed-data likelihood maximised over means and Cholesky roots by BFGS."""
    rng = np.random.default_rng(5)
    y = np.arange(26) % 2
    X = rng.standard_normal((26, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]]) + y[:, None] * [1.5, -1.0]
    holes = with_gaps(X, 0.3, seed=6)
    make = LinearDiscriminantAnalysis if shared else QuadraticDiscriminantAnalysis
    model = make(em_tol=1e-14, em_max_iter=20_000).fit(holes, y)
    sigmas = [model.covariance_] if shared else model.covariance_
    prior = np.log(np.bincount(y) / len(y))

    def loss(theta):
        means, S = unpack(theta, 2, 2, 1 if shared else 2)
        density = marginal_densities(holes, means, S * 2 if shared else S)
        return -np.mean((density + prior)[np.arange(len(y)), y])

    start = pack(np.array([X[y == k].mean(axis=0) for k in (0, 1)]), [np.eye(2)] * len(sigmas))
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    assert model.log_likelihoods_[-1] == pytest.approx(-found.fun, abs=1e-8)
    means, best = unpack(found.x, 2, 2, len(sigmas))
    np.testing.assert_allclose(model.means_, means, atol=1e-3)
    np.testing.assert_allclose(sigmas, best, atol=1e-3)


def test_the_maximum_of_a_mixture_is_a_stationary_point():
    """Unlabelled rows and missing cells at once: no direction of the parameters raises the likelihood."""
    X, y = continuous(seed=8, n=60)
    holes, labels = with_gaps(X[:, :2], 0.2, seed=1), half_labelled(y)
    model = LinearDiscriminantAnalysis(em_tol=1e-14, em_max_iter=20_000).fit(holes, labels)
    codes = codes_of(labels)

    def likelihood(means, sigma, logit):
        prior = np.array([-np.logaddexp(0, logit), -np.logaddexp(0, -logit)])
        joint = marginal_densities(holes, means, [sigma] * 2) + prior
        return np.mean(np.where(codes < 0, logsumexp(joint, axis=1), joint[np.arange(len(codes)), codes]))

    at = [model.means_, model.covariance_, np.log(model.class_prior_[1] / model.class_prior_[0])]
    top = likelihood(*at)
    assert top == pytest.approx(model.log_likelihoods_[-1], rel=1e-10)
    rng = np.random.default_rng(0)
    for _ in range(10):
        d, S, t = rng.standard_normal((2, 2)), rng.standard_normal((2, 2)), rng.standard_normal()
        h = 1e-4
        slope = [likelihood(at[0] + s * h * d, at[1] + s * h * (S + S.T), at[2] + s * h * t) for s in (1, -1)]
        assert abs(slope[0] - slope[1]) / (2 * h) < 1e-5
        assert max(slope) < top + 1e-9


@pytest.mark.parametrize("tie", ["none", "class", "feature", "both"])
def test_columns_that_are_independent_need_no_em_for_missing_cells(tie):
    X, y = continuous(seed=4)
    holes = with_gaps(X)
    model = GaussianNB(tie=tie, var_smoothing=0).fit(holes, y)
    assert model.verdict_.status == "closed form" and not hasattr(model, "log_likelihoods_")
    if tie == "none":
        by_em = GaussianDiscriminant("diagonal", em_tol=1e-13, em_max_iter=10_000).fit(holes, y)
        np.testing.assert_allclose(by_em.means_, model.theta_, atol=1e-5)
        np.testing.assert_allclose([np.diag(S) for S in by_em.covariance_], model.var_, rtol=1e-4)
        np.testing.assert_allclose(by_em.predict_proba(holes), model.predict_proba(holes), atol=1e-5)


def test_em_recovers_a_covariance_that_complete_rows_would_not_show():
    """Four of five rows have a gap: what the complete rows alone say is far worse."""
    rng = np.random.default_rng(9)
    y = np.arange(3000) % 2
    S = np.array([[1.0, 0.8, 0.4], [0.8, 1.0, 0.6], [0.4, 0.6, 1.0]])
    X = rng.multivariate_normal(np.zeros(3), S, 3000) + 2.0 * y[:, None]
    holes = X.copy()
    which = rng.integers(0, 15, 3000)
    for j in range(3):
        holes[which // 4 == j, j] = np.nan
    model = LinearDiscriminantAnalysis().fit(holes, y)
    np.testing.assert_allclose(model.covariance_, S, atol=0.08)
    np.testing.assert_allclose(model.means_, [[0] * 3, [2] * 3], atol=0.08)


def test_missing_cells_in_a_class_that_never_shows_a_column():
    X, y = continuous(seed=4)
    holes = X.copy()
    holes[y == 1, 2] = np.nan
    for make in (LinearDiscriminantAnalysis, GaussianDiscriminant, GaussianNB):
        model = make().fit(holes, y)
        assert np.isfinite(model.predict_proba(X)).all() and np.isfinite(model.score_samples(holes)).all()
        assert model.score(holes, y) > 0.7
