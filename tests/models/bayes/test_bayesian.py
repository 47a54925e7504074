"""Bayesian logistic regression against integrals, an independent optimiser and the laws of its prior.

posterior    mode and curvature by scipy.optimize and finite differences; the evidence by quadrature, with the
             error Laplace's approximation has, O(1/n), seen to shrink
predictive   brute-force integration over the weights
K classes    the K weight vectors themselves, their common part included
α            a scalar maximiser of the evidence
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize
from scipy.special import expit, log_expit, logsumexp, softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import (
    BayesianLogisticRegression,
    ConvergenceWarning,
    LogisticRegression,
    compare_evidence,
    engine,
    keep_going,
    verify,
)
from separatrix.data.rows import Rows
from separatrix.models.bayes.predictive import monte_carlo, normal_draws, probit
from separatrix.problems.prior import Prior, PriorObjective, loss_of
from tests.models.reference import overlapping, quiet

few = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
seeds = st.integers(0, 10_000)
classes = pytest.mark.parametrize("K", [2, 3])


# ---- an independent posterior ----


def log_joint(W, X, codes, K, mean, S, weight=None):
    """log Pr(D | W) + log N(W; mean, S) of W = (b, w) (two classes) or the K vectors (b_k, w_k) one after another.

    X has the column of ones first; S is one class's covariance. Plain sums, in the user's units.
    """
    s = np.ones(len(X)) if weight is None else weight
    P, d = np.linalg.inv(S), X.shape[1]
    logdet = np.linalg.slogdet(2 * np.pi * S)[1]
    if K == 2:
        likelihood = s @ log_expit(np.where(codes == 1, 1, -1) * (X @ W))
        return likelihood - 0.5 * (W - mean) @ P @ (W - mean) - 0.5 * logdet
    V = W.reshape(K, d)
    eta = X @ V.T
    likelihood = s @ (eta[np.arange(len(X)), codes] - logsumexp(eta, axis=1))
    away = V - mean
    return likelihood - 0.5 * np.sum(away * (away @ P)) - 0.5 * K * logdet


def hessian_of(function, x, step=1e-4):
    """Second differences."""
    d = len(x)
    H = np.empty((d, d))
    E = np.eye(d) * step
    for i in range(d):
        for j in range(i + 1):
            H[i, j] = H[j, i] = (
                function(x + E[i] + E[j]) - function(x + E[i] - E[j])
                - function(x - E[i] + E[j]) + function(x - E[i] - E[j])
            ) / (4 * step**2)  # fmt: skip
    return H


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


def reference(X, codes, K, mean, S, weight=None):
    """(mode, covariance, log evidence) of all K (p+1) weights, by BFGS and second differences."""
    A = with_ones(X)

    def minus(W):
        return -log_joint(W, A, codes, K, mean, S, weight)

    start = np.zeros(A.shape[1] * (1 if K == 2 else K))
    found = optimize.minimize(minus, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    H = hessian_of(minus, found.x, 3e-4)
    evidence = -found.fun + 0.5 * len(found.x) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(H)[1]
    return found.x, np.linalg.inv(H), evidence


def some_covariance(d, seed):
    A = np.random.default_rng(seed).normal(size=(d, d + 2))
    return A @ A.T / d + 0.2 * np.eye(d)


@classes
@pytest.mark.parametrize("kind", ["number", "per column", "covariance", "whole covariance", "mean"])
def test_mode_covariance_and_evidence_against_an_independent_optimiser(K, kind):
    X, y = overlapping(60, 2, K, seed=4)
    X = X * [1.0, 2.0] + [0.3, -1.0]
    weight = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    given_: dict = {
        "number": dict(prior_precision=0.7),
        "per column": dict(prior_precision=[0.5, 3.0], intercept_precision=0.2),
        "covariance": dict(prior_covariance=some_covariance(2, 0)),
        "whole covariance": dict(prior_covariance=some_covariance(3, 1)),
        "mean": dict(
            prior_covariance=some_covariance(3, 1),
            prior_mean=[0.5, -1.0, 0.3] if K == 2 else np.random.default_rng(5).normal(size=(3, 3)),
        ),
    }[kind]
    model = BayesianLogisticRegression(**given_).fit(X, y, sample_weight=weight)
    S = model.prior_covariance_
    if "whole" in kind or kind == "mean":
        np.testing.assert_allclose(S, given_["prior_covariance"], rtol=1e-10)
    mean = np.asarray(given_.get("prior_mean", np.zeros(3)))
    mode, covariance, evidence = reference(X, y, K, mean, S, weight)
    ours = np.column_stack([model.intercept_, model.coef_])
    if K == 2:
        np.testing.assert_allclose(ours[0], mode, atol=2e-6)
        np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-4, atol=1e-5)
    else:
        # the mode's common part is the prior's; the posterior in contrasts is what the library reports
        V = mode.reshape(K, 3)
        np.testing.assert_allclose(ours, V - V.mean(axis=0), atol=5e-6)
        centre = np.kron(np.eye(K) - 1 / K, np.eye(3))
        np.testing.assert_allclose(model.covariance_, centre @ covariance @ centre, rtol=1e-4, atol=1e-5)
    # K classes: the common part has as much evidence after the data as before, so the two are one number
    assert model.log_evidence_ == pytest.approx(evidence, abs=2e-4)
    assert model.log_evidence_ == pytest.approx(model.log_likelihood_ + model.log_occam_factor_, abs=1e-9)
    assert model.log_occam_factor_ == pytest.approx(model.log_prior_ + model.log_volume_, abs=1e-9)


def test_the_notes_formula_for_the_covariance():
    """S_n⁻¹ = S₀⁻¹ + Σ o(1−o) x xᵀ."""
    X, y = overlapping(80, 3, 2, seed=2)
    model = BayesianLogisticRegression(2.0).fit(X, y)
    o = model.predict_proba(X, method="plugin")[:, 1]
    A = with_ones(X)
    H = np.linalg.inv(model.prior_covariance_) + (A.T * (o * (1 - o))) @ A
    np.testing.assert_allclose(np.linalg.inv(model.covariance_), H, rtol=1e-7)
    np.testing.assert_allclose(model.coef_sd_[0], np.sqrt(np.diag(model.covariance_))[1:], rtol=1e-12)
    gamma = 4 - np.trace(model.covariance_ @ np.linalg.inv(model.prior_covariance_))
    assert model.n_effective_ == pytest.approx(gamma, rel=1e-9)
    likelihood = np.sum(np.log(np.where(y == 1, o, 1 - o)))
    assert model.log_likelihood_ == pytest.approx(likelihood, rel=1e-12)
    assert model.bic_ == pytest.approx(-2 * likelihood + 4 * np.log(80), rel=1e-12)


# ---- integrals ----


def one_weight(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x[:, None], (rng.random(n) < expit(1.2 * x)).astype(int)


def test_one_weight_against_quadrature_and_the_error_shrinks_as_one_over_n():
    errors = []
    for n in (25, 100, 400):
        differences = []
        for seed in range(12):
            X, y = one_weight(n, seed)
            model = BayesianLogisticRegression(0.5, fit_intercept=False).fit(X, y)
            m, sd = model.coef_[0, 0], model.coef_sd_[0, 0]
            sign = 2 * y - 1

            def log_density(w, X=X, sign=sign):
                return np.sum(log_expit(sign * X[:, 0] * w)) - 0.25 * w**2 + 0.5 * np.log(0.5 / (2 * np.pi))

            top = log_density(m)
            limits = (m - 12 * sd, m + 12 * sd)
            Z = integrate.quad(lambda w, f=log_density, t=top: np.exp(f(w) - t), *limits, epsrel=1e-10)[0]
            differences.append(model.log_evidence_ - (np.log(Z) + top))
            second = (log_density(m + 1e-4) - 2 * top + log_density(m - 1e-4)) / 1e-8
            assert sd == pytest.approx((-second) ** -0.5, rel=1e-4)
        errors.append(np.mean(np.abs(differences)))
    assert errors[0] < 0.05
    assert errors[1] < errors[0] / 2 and errors[2] < errors[0] / 8  # 1/4 and 1/16, and some noise


def test_two_weights_against_quadrature():
    X, y = one_weight(60, 3)
    model = BayesianLogisticRegression(0.5, intercept_precision=0.3).fit(X, y)
    A, S = with_ones(X), model.prior_covariance_
    m, sd = np.array([model.intercept_[0], model.coef_[0, 0]]), np.sqrt(np.diag(model.covariance_))
    grid = np.linspace(-9, 9, 301)
    b, w = np.meshgrid(m[0] + grid * sd[0], m[1] + grid * sd[1], indexing="ij")
    eta = A @ np.vstack([b.ravel(), w.ravel()])
    points = np.column_stack([b.ravel(), w.ravel()])
    density = log_expit((2 * y - 1)[:, None] * eta).sum(axis=0)
    density = density - 0.5 * np.einsum("ij,jk,ik->i", points, np.linalg.inv(S), points)
    density -= 0.5 * np.linalg.slogdet(2 * np.pi * S)[1]
    cell = np.prod(sd) * (grid[1] - grid[0]) ** 2
    truth = logsumexp(density) + np.log(cell)
    assert model.log_evidence_ == pytest.approx(truth, abs=0.05)
    p = np.exp(density - logsumexp(density))
    mean = p @ points
    spread = (points - mean).T @ ((points - mean) * p[:, None])
    np.testing.assert_allclose(mean, m, atol=0.3 * sd.max())  # a mode is not a mean: off by O(1/√n) of an sd
    np.testing.assert_allclose(spread, model.covariance_, rtol=0.3, atol=0.02)
    # the predictive of the exact posterior, at rows in and out of the data
    rows = np.array([[0.0], [1.5], [4.0]])
    exact = p @ expit(points @ with_ones(rows).T)
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], exact, atol=0.03)


# ---- the predictive distribution ----


@pytest.mark.parametrize("s2", [0.0, 0.5, 4.0, 40.0])
def test_two_class_predictives_against_the_integral(s2):
    m = np.linspace(-6, 6, 13)
    exact = [
        integrate.quad(
            lambda z, a=a: expit(a + np.sqrt(s2) * z) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi), -12, 12
        )[0]
        for a in m
    ]
    S = np.full(len(m), s2)
    np.testing.assert_allclose(np.exp(probit(m, S))[:, 1], exact, atol=0.02)  # MacKay's, at its worst 0.018
    drawn = np.exp(monte_carlo(m, S, normal_draws(1000, 1, np.random.default_rng(0))))
    np.testing.assert_allclose(drawn[:, 1], exact, atol=1e-3)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-12)


def test_class_predictives_against_brute_force():
    X, y = overlapping(60, 3, 4, seed=1)
    model = BayesianLogisticRegression(0.2).fit(X, y)
    far = np.random.default_rng(0).normal(size=(30, 3)) * 4
    coef, intercept = model.sample_posterior(40_000, random_state=1)
    brute = np.mean([softmax(far @ w.T + b, axis=1) for w, b in zip(coef, intercept)], axis=0)
    error = 0.5 / np.sqrt(40_000)
    drawn = model.predict_proba(far, method="monte_carlo")
    np.testing.assert_allclose(drawn, brute, atol=4 * (error + 0.5 / np.sqrt(1000)))
    assert np.sqrt(np.mean((drawn - brute) ** 2)) < 0.5 / np.sqrt(1000)
    many = clone(model).set_params(n_samples=20_000, random_state=3).fit(X, y)
    np.testing.assert_allclose(many.predict_proba(far, method="monte_carlo"), brute, atol=6 * error)
    # the probit formula for K classes is cruder than for two: a few hundredths
    np.testing.assert_allclose(model.predict_proba(far), brute, atol=0.08)
    assert np.abs(model.predict_proba(far) - brute).mean() < 0.02
    plain = model.predict_proba(far, method="plugin")
    np.testing.assert_allclose(plain, softmax(model.decision_function(far), axis=1), rtol=1e-12)
    assert np.abs(plain - brute).mean() > 2 * np.abs(model.predict_proba(far) - brute).mean()


def test_two_classes_as_two_of_K():
    m, S = np.array([1.7, -0.4]), np.array([2.0, 9.0])
    half = np.array([[-0.5], [0.5]]) @ np.array([[-0.5, 0.5]])
    pair = probit(np.column_stack([-m / 2, m / 2]), S[:, None, None] * half)
    np.testing.assert_allclose(pair, probit(m, S), rtol=1e-12)


def test_small_probabilities_keep_their_digits():
    m, S = np.array([-2000.0, 3000.0]), np.array([1.0, 1.0])
    for log_p in (probit(m, S), monte_carlo(m, S, normal_draws(200, 1, np.random.default_rng(0)))):
        assert np.isfinite(log_p).all() and log_p[0, 1] < -500 and log_p[1, 0] < -500


@classes
def test_uncertainty_grows_away_from_the_data(K):
    X, y = overlapping(60, 2, K, seed=0)
    model = BayesianLogisticRegression().fit(X, y)
    ray = np.outer([1.0, 10.0, 1000.0], X[0])
    sure = model.predict_proba(ray, method="plugin").max(axis=1)
    moderated = model.predict_proba(ray).max(axis=1)
    assert (moderated < sure).all() and sure[-1] > 0.999 and moderated[-1] < 0.999
    if K == 2:
        low, high = model.predict_interval(ray).T
        assert (high - low)[1] > (high - low)[0] > 0
        near = model.predict_proba(ray)[:2, 1]
        assert ((low[:2] <= near) & (near <= high[:2])).all()


def test_intervals_hold_their_share_of_draws():
    for K in (2, 3):
        X, y = overlapping(80, 2, K, seed=3)
        model = BayesianLogisticRegression(n_samples=4000).fit(X, y)
        coef, intercept = model.sample_posterior(20_000, random_state=0)
        bounds = model.credible_intervals(0.8)
        draws = np.concatenate([intercept[..., None], coef], axis=-1)
        inside = ((draws >= bounds[..., 0]) & (draws <= bounds[..., 1])).mean(axis=0)
        np.testing.assert_allclose(inside, 0.8, atol=0.015)
        np.testing.assert_allclose(np.cov(draws.reshape(len(draws), -1).T), model.covariance_, atol=0.03)
        rows = X[:5] * 2
        p = model.predict_interval(rows, 0.8)
        if K == 2:
            drawn = expit(coef @ rows.T + intercept[:, None])
            share = ((drawn >= p[:, 0]) & (drawn <= p[:, 1])).mean(axis=0)
        else:
            assert p.shape == (5, 3, 2)
            drawn = softmax(np.einsum("dkp,np->dnk", coef, rows) + intercept[:, None, :], axis=2)
            share = ((drawn >= p[..., 0]) & (drawn <= p[..., 1])).mean(axis=0)
        np.testing.assert_allclose(share, 0.8, atol=0.02)


# ---- laws ----


def assert_same_belief(a, b, tol=1e-6, covariance=None):
    covariance = b.covariance_ if covariance is None else covariance
    size = max(1.0, np.abs(a.coef_).max(), np.abs(a.intercept_).max())
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=0, atol=tol * size)
    np.testing.assert_allclose(b.intercept_, a.intercept_, rtol=0, atol=tol * size)
    np.testing.assert_allclose(covariance, a.covariance_, rtol=tol, atol=tol * np.abs(a.covariance_).max())
    assert b.log_evidence_ == pytest.approx(a.log_evidence_, rel=1e-9, abs=1e-7)
    assert b.n_effective_ == pytest.approx(a.n_effective_, rel=1e-6)


PRIORS = {
    "number": lambda: BayesianLogisticRegression(0.5),
    "per column": lambda: BayesianLogisticRegression([0.5, 2.0, 0.1], intercept_precision=1.0),
    "no intercept": lambda: BayesianLogisticRegression(fit_intercept=False),
    "evidence": lambda: BayesianLogisticRegression("evidence"),
}
priors = pytest.mark.parametrize("make", PRIORS.values(), ids=PRIORS.keys())


@priors
@classes
@few
@given(seed=seeds)
def test_weight_is_repetition_and_zero_is_absence(make, K, seed):
    X, y = overlapping(70, 3, K, seed=seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    weight[:K] = 1.0
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    a, b = make().fit(X[repeated], y[repeated]), make().fit(X, y, sample_weight=weight)
    assert_same_belief(a, b)
    assert b.bic_ == pytest.approx(a.bic_, rel=1e-9)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}])
def test_a_class_weight_is_a_weight_of_its_rows(K, class_weight):
    X, y = overlapping(90, 3, K, seed=4)
    X, y = X[20:], y[20:]
    own = np.linspace(0.5, 2.0, len(y))
    totals = np.bincount(y, own)
    each = totals.sum() / (K * totals) if class_weight == "balanced" else np.array([3.0, 1.0, 1.0])
    model = BayesianLogisticRegression(class_weight=class_weight)
    expected = BayesianLogisticRegression().fit(X, y, sample_weight=each[y] * own)
    assert_same_belief(model.fit(X, y, sample_weight=own), expected, tol=1e-9)
    if isinstance(class_weight, dict):
        online = model.partial_fit(X[:30], y[:30], sample_weight=each[y[:30]])
        assert np.isfinite(online.log_evidence_)
        return
    with pytest.raises(ValueError, match="needs all rows at once"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("class_weight, match", [
    ("fair", 'unknown: use "balanced"'), ([1.0, 2.0], "must be a dictionary"), ({7: 1.0}, "names 7"),
    ({0: 0.0}, "must be positive"),
])  # fmt: skip
def test_class_weights_that_cannot_be_meant(class_weight, match):
    X, y = overlapping(40, 2, 2, seed=0)
    with pytest.raises(ValueError, match=match):
        BayesianLogisticRegression(class_weight=class_weight).fit(X, y)


@priors
@few
@given(seed=seeds)
def test_flipping_two_labels_negates_the_weights(make, seed):
    X, y = overlapping(70, 3, 2, seed=seed)
    a, b = make().fit(X, y), make().fit(X, 1 - y)
    b.coef_, b.intercept_ = -b.coef_, -b.intercept_
    assert_same_belief(a, b)


@few
@given(seed=seeds, order=st.permutations([0, 1, 2]))
def test_permuting_labels_permutes_the_classes(seed, order):
    X, y = overlapping(70, 3, 3, seed=seed)
    a, b = BayesianLogisticRegression().fit(X, y), BayesianLogisticRegression().fit(X, np.array(order)[y])
    b.coef_, b.intercept_ = b.coef_[order], b.intercept_[order]
    blocks = b.covariance_.reshape(3, 4, 3, 4)
    moved = blocks[np.ix_(order, range(4), order, range(4))].reshape(12, 12)
    assert_same_belief(a, b, covariance=moved)
    np.testing.assert_allclose(a.covariance_.reshape(3, 4, 3, 4).sum(axis=0), 0.0, atol=1e-12)  # singular


@classes
@few
@given(
    seed=seeds,
    powers=st.lists(st.integers(-12, 12), min_size=3, max_size=3),
    shifts=st.lists(st.sampled_from([0, 1, -100, 10**4]), min_size=3, max_size=3),
)
def test_units_with_their_prior_and_origins_change_nothing(K, seed, powers, shifts):
    """x → a(x + c) with α → α/a²: w → w/a. The intercept's prior sits at the mean row, which moves along."""
    X, y = overlapping(70, 3, K, seed=seed)
    a = 2.0 ** np.array(powers)
    alpha = np.array([0.5, 1.0, 2.0])
    plain = BayesianLogisticRegression(alpha).fit(X, y)
    moved = a * (X + np.array(shifts, dtype=float))
    other = BayesianLogisticRegression(alpha * a**2).fit(moved, y)
    np.testing.assert_allclose(other.coef_ * a, plain.coef_, atol=1e-6)
    np.testing.assert_allclose(other.coef_sd_ * a, plain.coef_sd_, rtol=1e-6)
    np.testing.assert_allclose(other.predict_proba(moved), plain.predict_proba(X), atol=1e-6)
    assert other.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-6)


def test_the_evidences_own_precision_follows_the_unit():
    X, y = overlapping(100, 3, 2, seed=3)
    plain = BayesianLogisticRegression("evidence").fit(X, y)
    other = BayesianLogisticRegression("evidence").fit(8 * X, y)
    assert other.prior_precision_ == pytest.approx(64 * plain.prior_precision_, rel=1e-6)
    assert other.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-8)


@classes
def test_engines_and_grids(K):
    X, y = overlapping(500, 4, K, seed=0)
    whole = BayesianLogisticRegression("evidence").fit(X, y)
    with engine("serial", blocks=7):
        serial = BayesianLogisticRegression("evidence").fit(X, y)
    with engine("threads", workers=2, blocks=7):
        threads = BayesianLogisticRegression("evidence").fit(X, y)
    np.testing.assert_array_equal(serial.covariance_, threads.covariance_)
    assert serial.log_evidence_ == threads.log_evidence_
    assert_same_belief(whole, serial)
    one = BayesianLogisticRegression("evidence", n_jobs=1).fit(X, y)
    assert_same_belief(whole, one)


@classes
def test_sparse_frames_float32_and_dask(K):
    pd = pytest.importorskip("pandas")
    da = pytest.importorskip("dask.array")
    X, y = overlapping(300, 4, K, seed=1)
    X = np.round(X * (np.abs(X) > 0.5) * 8) / 8  # exact in float32
    dense = BayesianLogisticRegression().fit(X, y)
    for kind in (sp.csr_array, sp.csc_matrix, np.asfortranarray, lambda A: A.astype(np.float32)):
        assert_same_belief(dense, BayesianLogisticRegression().fit(kind(X), y))
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = BayesianLogisticRegression().fit(frame, y)
    assert_same_belief(dense, named)
    assert list(named.feature_names_in_) == list("abcd") and "a" in str(named.summary())
    lazy = da.from_array(X, chunks=(100, 4))
    assert_same_belief(dense, BayesianLogisticRegression().fit(lazy, y))
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function", "predict_interval"):
        expected = getattr(dense, method)(X)
        np.testing.assert_allclose(np.asarray(getattr(dense, method)(lazy)), expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(getattr(dense, method)(sp.csr_array(X)), expected, rtol=1e-6, atol=1e-9)
    assert dense.predict_proba(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(
        dense.predict_proba(X.astype(np.float32)), dense.predict_proba(X), rtol=0, atol=1e-5
    )


def test_a_constant_column_shares_the_intercept():
    """With proper priors a column of fives has a weight: that of the prior's best way to split the shift."""
    X, y = overlapping(60, 2, 2, seed=0)
    wide = np.column_stack([X, np.full(60, 5.0)])
    S = np.diag([4.0, 1.0, 1.0, 0.5])
    model = BayesianLogisticRegression(prior_covariance=S).fit(wide, y)
    mode, covariance, evidence = reference(wide, y, 2, np.zeros(4), S)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_[0]), mode, atol=2e-6)
    np.testing.assert_allclose(model.covariance_, covariance, rtol=1e-4, atol=1e-5)
    assert model.log_evidence_ == pytest.approx(evidence, abs=2e-4)


def test_a_prior_is_a_penalty():
    """prior_precision α with a flat intercept is LogisticRegression(C=1/α)."""
    for load in (load_breast_cancer, load_iris):
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        for alpha in (0.1, 1.0, 25.0):
            model = BayesianLogisticRegression(alpha, intercept_precision=1e-9).fit(X, y)
            ridge = LogisticRegression(C=1 / alpha).fit(X, y)
            np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-5)
            np.testing.assert_allclose(model.intercept_, ridge.intercept_, atol=1e-5)
            np.testing.assert_allclose(
                model.predict_proba(X, method="plugin"), ridge.predict_proba(X), atol=1e-6
            )


@classes
def test_no_rows_leave_the_prior_and_many_rows_leave_no_prior(K):
    X, y = overlapping(60, 2, K, seed=0)
    faint = BayesianLogisticRegression(4.0).fit(X, y, sample_weight=np.full(60, 1e-9))
    np.testing.assert_allclose(faint.coef_sd_, 0.5 * np.sqrt(1 if K == 2 else 1 - 1 / K), rtol=1e-6)
    assert faint.n_effective_ < 1e-5 and faint.log_occam_factor_ == pytest.approx(0.0, abs=1e-5)
    plenty = BayesianLogisticRegression(4.0).fit(X, y, sample_weight=np.full(60, 1e9))
    np.testing.assert_allclose(plenty.coef_, LogisticRegression(C=np.inf).fit(X, y).coef_, atol=1e-5)
    assert plenty.n_effective_ == pytest.approx(3 * (K - 1), abs=1e-6)


# ---- separation, verdict, verify ----


def test_separated_classes_have_a_mode_and_a_proof():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = [0, 0, 1, 1]
    for alpha in (10.0, 1.0, 1e-3, 1e-6):
        model = BayesianLogisticRegression(alpha).fit(X, y)
        assert model.verdict_.status == "optimal" and model.verdict_.unique
        assert np.isfinite(model.coef_).all() and np.isfinite(model.log_evidence_)
        assert verify(model, X, y).status == "optimal"
    for K in (2, 3):
        X, y = load_iris(return_X_y=True)
        keep = y < K
        model = BayesianLogisticRegression("evidence").fit(X[keep], y[keep])
        assert model.verdict_.status == "optimal"
        assert 0 < model.prior_precision_ < 1


@pytest.mark.parametrize("prior", [1.0, "evidence", "ard"])
@classes
def test_verify_confirms_a_fit_and_not_a_changed_one(prior, K):
    X, y = overlapping(150, 4, K, seed=0)
    model = BayesianLogisticRegression(prior).fit(X, y)
    found = verify(model, X, y)
    assert found.status == model.verdict_.status == "optimal"
    assert found.objective == pytest.approx(model.verdict_.objective, rel=1e-9)
    assert "of the fit" not in found.findings[0]
    model.coef_ = model.coef_ + 0.05
    changed = verify(model, X, y)
    assert changed.status == "not converged" and changed.gap > 1e-6
    model = BayesianLogisticRegression(prior).fit(X, y)
    assert verify(model, X[:100], y[:100]).status == "not converged"
    assert "of the fit" in verify(model, X[:100], y[:100]).findings[0]


def test_the_gap_is_a_bound():
    """F(θ) − min F ≤ gap at points that are not the mode."""
    rng = np.random.default_rng(0)
    for K in (2, 3):
        X, y = overlapping(80, 3, K, seed=5)
        model = BayesianLogisticRegression(0.3).fit(X, y)
        least = model.verdict_.objective
        for size in (1e-6, 1e-3, 0.02):
            other = pickle.loads(pickle.dumps(model))
            shift = rng.normal(size=(len(model.coef_), 3)) * size
            other.coef_ = model.coef_ + (shift - shift.mean(axis=0) if K > 2 else shift)
            found = verify(other, X, y)
            assert found.gap >= found.objective - least - 1e-13


def test_stopping_short_is_said():
    X, y = overlapping(150, 4, 2, seed=0)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model = BayesianLogisticRegression(1e-3, max_iter=1).fit(X * 10, y)
    assert model.verdict_.status == "not converged" and model.verdict_.gap > model.verdict_.tol


@pytest.mark.parametrize("prior, call", [(1.0, 3), ("evidence", 12), ("evidence", 13)])
def test_an_interrupted_fit_keeps_the_best_so_far(prior, call, monkeypatch):
    X, y = overlapping(150, 4, 2, seed=0)
    count = [0]
    evaluate = PriorObjective.evaluate

    def interrupted(self, *args, **kwargs):
        count[0] += 1
        if count[0] == call:
            raise KeyboardInterrupt
        return evaluate(self, *args, **kwargs)

    monkeypatch.setattr(PriorObjective, "evaluate", interrupted)
    with keep_going():
        model = BayesianLogisticRegression(prior).fit(X, y)
    assert model.verdict_.status == model.verdict_.stopped_by == "interrupted"
    assert model.score(X, y) > 0.6 and np.isfinite(model.covariance_).all()


@pytest.mark.parametrize("prior", ["evidence", "ard"])
def test_rounds_that_run_out_are_said(prior, monkeypatch):
    X, y = overlapping(60, 4, 2, seed=0)
    monkeypatch.setattr("separatrix.models.bayes.precisions.ROUNDS", 2)
    with pytest.warns(ConvergenceWarning, match="still growing after 2 rounds"):
        model = BayesianLogisticRegression(prior).fit(X, y)
    assert model.verdict_.status == "optimal" and "2 rounds, stopped: no more rounds" in str(model.verdict_)


def test_columns_that_repeat_each_other_need_the_singular_directions():
    X, y = overlapping(200, 3, 2, seed=0)
    wide = np.column_stack([X, X[:, 0] + 1e-9 * X[:, 1]])
    model = BayesianLogisticRegression(1e-9).fit(wide, y)
    assert model.verdict_.status == "optimal" and verify(model, wide, y).status == "optimal"
    single = BayesianLogisticRegression([0.5e-9, 1e-9, 1e-9]).fit(X, y)
    # two equal columns of precision α are one of precision α/2, split evenly
    np.testing.assert_allclose(model.coef_[0, [0, 3]].sum(), single.coef_[0, 0], rtol=1e-5)
    assert model.coef_[0, 0] == pytest.approx(model.coef_[0, 3], rel=1e-4)
    assert model.log_evidence_ == pytest.approx(single.log_evidence_, abs=1e-3)


# ---- the evidence's own precision ----


@classes
@pytest.mark.parametrize("seed", range(4))
def test_evidence_finds_what_a_scalar_maximiser_finds(K, seed):
    X, y = overlapping(50, 4, K, seed=seed, noise=1.0)

    def minus(log_alpha):
        return -BayesianLogisticRegression(np.exp(log_alpha)).fit(X, y).log_evidence_

    best = optimize.minimize_scalar(minus, bounds=(-12, 12), method="bounded", options={"xatol": 1e-7})
    model = BayesianLogisticRegression("evidence").fit(X, y)
    assert model.log_evidence_ >= -best.fun - 1e-8
    assert np.log(model.prior_precision_) == pytest.approx(best.x, abs=1e-3)
    again = BayesianLogisticRegression(model.prior_precision_).fit(X, y)
    assert again.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-7)


@classes
def test_ard_finds_a_maximum_of_the_evidence(K):
    X, y = overlapping(120, 3, K, seed=2)
    model = BayesianLogisticRegression("ard").fit(X, y)
    alpha = model.prior_precision_
    assert alpha.shape == (3,)
    live = np.isfinite(alpha)
    for j in np.flatnonzero(live):
        for factor in (0.9, 1.1):
            other = alpha.copy()
            other[j] *= factor
            assert BayesianLogisticRegression(other).fit(X, y).log_evidence_ < model.log_evidence_ + 1e-9
    assert model.log_evidence_ >= BayesianLogisticRegression("evidence").fit(X, y).log_evidence_ - 1e-6


@classes
def test_ard_switches_noise_off_and_names_it(K):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6))
    scores = 1.5 * X[:, :2] @ rng.normal(size=(2, K)) + rng.gumbel(size=(2000, K))
    frame = pd.DataFrame(X, columns=["signal", "other", "n1", "n2", "n3", "n4"])
    model = BayesianLogisticRegression("ard").fit(frame, scores.argmax(axis=1))
    off = np.isinf(model.prior_precision_)
    assert not off[:2].any() and off[2:].sum() >= 2
    assert (model.coef_[:, off] == 0).all() and (model.coef_sd_[:, off] == 0).all()
    assert model.n_parameters_ == (K - 1) * (1 + (~off).sum())
    finding = model.verdict_.findings[-1]
    assert finding.startswith("relevance") and all(repr(n) in finding for n in frame.columns[off])
    # the model without those columns
    small = BayesianLogisticRegression(model.prior_precision_[~off]).fit(X[:, ~off], scores.argmax(axis=1))
    assert small.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-7)
    np.testing.assert_allclose(small.coef_, model.coef_[:, ~off], atol=1e-7)
    np.testing.assert_allclose(small.predict_proba(X[:, ~off]), model.predict_proba(frame), atol=1e-8)
    held = BayesianLogisticRegression(model.prior_precision_).fit(frame, scores.argmax(axis=1))
    assert_same_belief(model, held)


def test_pure_noise_asks_for_no_weights():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(400, 5)), np.arange(400) % 2
    X -= X[y == 1].mean(axis=0) * (y == 1)[:, None] + X[y == 0].mean(axis=0) * (y == 0)[:, None]
    for prior in ("evidence", "ard"):  # the classes' means are equal: no line says anything
        model = BayesianLogisticRegression(prior).fit(X, y)
        assert (model.coef_ == 0).all() and np.isinf(model.prior_precision_).all()
        np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=1e-12)
    assert "no weights at all" in BayesianLogisticRegression("evidence").fit(X, y).verdict_.findings[-1]


def test_evidence_about_a_mean():
    """A prior mean near the truth earns a sharp prior; a mean far off a wide one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    truth = np.array([1.0, -1.0, 0.5])
    y = (rng.random(200) < expit(X @ truth)).astype(int)
    near = BayesianLogisticRegression("evidence", prior_mean=truth).fit(X, y)
    far = BayesianLogisticRegression("evidence", prior_mean=-truth).fit(X, y)
    assert near.prior_precision_ > 10 * far.prior_precision_
    assert near.log_evidence_ > far.log_evidence_ + 3


def test_the_slope_of_log_det_is_that_of_differences():
    """∂ log|H|/∂θ, the sweep behind evidence maximisation, against central differences; weights and sparse too."""
    rng = np.random.default_rng(0)
    for K, kind in ((2, np.asarray), (3, np.asarray), (4, sp.csr_array)):
        X, y = overlapping(50, 3, K, seed=K)
        weight = rng.uniform(0.5, 2, 50)
        target = 2.0 * y - 1 if K == 2 else y
        rows = Rows.of(kind(X + 0.0), target, weight)
        mean = np.zeros(4) if K == 2 else np.zeros((4, K - 1))
        prior = Prior(mean, np.full(4, 0.3), 0.0, np.zeros(3), np.ones(3, bool))
        n_classes = None if K == 2 else K
        F = PriorObjective.of(rows, rows.moments(), loss_of(n_classes), n_classes, prior)
        theta = rng.normal(size=F.shape)

        def log_det(t, F=F):
            return np.linalg.slogdet(F.evaluate(t, order=2).hessian)[1]

        root = np.linalg.inv(np.linalg.cholesky(F.evaluate(theta, order=2).hessian)).T
        slope = F.tilt(theta, root)
        for index in np.ndindex(theta.shape):
            e = np.zeros_like(theta)
            e[index] = 1e-5
            numeric = (log_det(theta + e) - log_det(theta - e)) / 2e-5
            assert slope[index] == pytest.approx(numeric, abs=1e-7)


# ---- rows that come later ----


@pytest.mark.parametrize("prior", [1.0, "evidence", "ard"])
@classes
def test_one_call_of_partial_fit_is_fit(prior, K):
    X, y = overlapping(90, 3, K, seed=1)
    a = BayesianLogisticRegression(prior).fit(X, y)
    b = BayesianLogisticRegression(prior).partial_fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.covariance_, b.covariance_)
    assert a.log_evidence_ == b.log_evidence_ and a.bic_ == b.bic_


@classes
def test_the_posterior_becomes_the_prior(K):
    X, y = overlapping(200, 3, K, seed=1)
    model = BayesianLogisticRegression(0.5).partial_fit(X[:120], y[:120])
    mean = np.column_stack([model.intercept_, model.coef_])
    first, evidence = model.covariance_, model.log_evidence_
    model.partial_fit(X[120:] + 0.0, y[120:])
    if K == 2:  # the same by hand: the posterior given as S₀ and m₀
        hand = BayesianLogisticRegression(prior_covariance=first, prior_mean=mean[0]).fit(X[120:], y[120:])
        assert model.log_evidence_ - evidence == pytest.approx(hand.log_evidence_, abs=1e-7)
        np.testing.assert_allclose(model.coef_, hand.coef_, atol=1e-7)
        np.testing.assert_allclose(model.covariance_, hand.covariance_, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(model.prior_covariance_, first, rtol=1e-8)
    else:  # in contrasts: S_n⁻¹ = S₀⁻¹ + the rows' information, and the slope there is zero
        Q = np.linalg.qr(np.eye(3)[:, :2] - 1 / 3)[0]
        project = np.kron(Q.T, np.eye(4))
        P, A = np.linalg.inv(project @ first @ project.T), with_ones(X[120:])
        o = model.predict_proba(X[120:], method="plugin")
        bend = np.einsum("ki,nkl,lj->nij", Q, o[:, :, None] * (np.eye(3) - o[:, None, :]), Q)
        information = np.einsum("nij,na,nb->iajb", bend, A, A).reshape(8, 8)
        inverse = np.linalg.inv(project @ model.covariance_ @ project.T)
        np.testing.assert_allclose(inverse, P + information, rtol=1e-6, atol=1e-6)
        away = project @ (np.column_stack([model.intercept_, model.coef_]) - mean).ravel()
        slope = project @ ((np.eye(3)[y[120:]] - o).T @ A).ravel()
        np.testing.assert_allclose(P @ away, slope, atol=1e-6)
    whole = BayesianLogisticRegression(0.5).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=0.1)
    np.testing.assert_allclose(model.coef_sd_, whole.coef_sd_, rtol=0.15)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.8)
    assert not hasattr(model, "bic_")
    assert model.log_evidence_ == pytest.approx(model.log_likelihood_ + model.log_occam_factor_)
    assert verify(model, X[120:], y[120:]).status == "optimal"


def test_order_of_many_small_calls_matters_little_and_ard_stays_off():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 5))
    y = (rng.random(1200) < expit(2 * X[:, 0] - X[:, 1])).astype(int)
    model = BayesianLogisticRegression("ard").fit(X[:600], y[:600])
    off = np.isinf(model.prior_precision_)
    assert off.any()
    for part in np.split(np.arange(600, 1200), 6):
        model.partial_fit(X[part], y[part])
    assert (model.coef_[:, off] == 0).all() and (model.coef_[:, :2] != 0).all()
    whole = BayesianLogisticRegression(model.prior_precision_).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=0.02)


def test_classes_are_announced():
    X, y = overlapping(90, 3, 3, seed=1)
    one = y == 0
    model = BayesianLogisticRegression().partial_fit(X[one], y[one], classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (90, 3)
    model.partial_fit(X[~one], y[~one])
    # a call with one class alone is the worst case of the approximation: no equality, but no nonsense
    assert model.score(X, y) > BayesianLogisticRegression().fit(X, y).score(X, y) - 0.15
    before = pickle.dumps(model.coef_)
    with pytest.raises(ValueError, match=r"label 7 is not one of the classes \[0, 1, 2\].*Announce"):
        model.partial_fit(X[:5], [0, 1, 2, 7, 7])
    with pytest.raises(ValueError, match="classes has 9"):
        model.partial_fit(X, y, classes=[0, 1, 9])
    assert pickle.dumps(model.coef_) == before
    with pytest.raises(ValueError, match="only one class"):
        BayesianLogisticRegression().partial_fit(X[one], y[one])
    assert model.fit(X[y < 2], y[y < 2]).coef_.shape == (1, 3)  # fit begins anew


# ---- comparing models ----


def polynomial(degree, **parameters):
    return make_pipeline(
        PolynomialFeatures(degree, include_bias=False),
        StandardScaler(),
        BayesianLogisticRegression(**parameters),
    )


def parabola(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, (rng.random(n) < expit(3 * X[:, 0] ** 2 - 4)).astype(int)


def test_models_are_ranked_by_evidence_and_by_bic():
    pytest.importorskip("pandas")
    X, y = parabola(200)
    models = {f"degree {d}": polynomial(d, prior_precision="evidence") for d in (1, 2, 3, 5)}
    found = compare_evidence(models, X, y)
    assert found.best == "degree 2" and found.ranked("bic").best == "degree 2"
    assert (np.diff(found.log_evidence) <= 0).all() and (np.diff(found.ranked("bic").bic) >= 0).all()
    assert found.probability.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(
        np.log(found.probability[0] / found.probability[1]), found.log_evidence[0] - found.log_evidence[1]
    )
    frame = found.to_frame()
    assert list(frame.index) == list(found.names) and "log Occam factor" in frame.columns
    np.testing.assert_allclose(frame["log evidence"], frame["log likelihood"] + frame["log Occam factor"])
    assert "degree 5" in str(found) and "<table" in found._repr_html_()
    own = polynomial(3, prior_precision="evidence").fit(X, y)[-1]
    assert found.log_evidence[found.names.index("degree 3")] == pytest.approx(own.log_evidence_, abs=1e-9)
    assert not hasattr(models["degree 1"][-1], "coef_")  # the given ones stay as they were
    assert found.models["degree 2"].predict(X).shape == (200,)


def test_forms_of_the_list_prior_and_weights():
    X, y = parabola(100)
    models = [BayesianLogisticRegression(), BayesianLogisticRegression(10.0)]
    plain = compare_evidence(models, X, y)
    assert plain.names[0].startswith("BayesianLogisticRegression")
    named = compare_evidence(models, X, y, names=["wide", "sharp"], by="bic")
    assert set(named.names) == {"wide", "sharp"}
    pairs = compare_evidence([("wide", models[0]), ("sharp", models[1])], X, y, prior=[1, 0])
    assert pairs.probability[pairs.names.index("wide")] == 1.0
    weight = np.random.default_rng(0).integers(0, 3, 100).astype(float)
    repeated = np.repeat(np.arange(100), weight.astype(int))
    a = compare_evidence({"p": polynomial(1), "m": models[0]}, X, y, sample_weight=weight)
    b = compare_evidence({"m": models[0]}, X[repeated], y[repeated])
    assert a.log_evidence[a.names.index("m")] == pytest.approx(b.log_evidence[0], abs=1e-8)
    with pytest.raises(TypeError, match="'ridge' is a LogisticRegression, which has no evidence"):
        compare_evidence({"ridge": LogisticRegression()}, X, y)
    with pytest.raises(ValueError, match="models is empty"):
        compare_evidence([], X, y)
    with pytest.raises(ValueError, match="names has 1 entries for 2 models"):
        compare_evidence(models, X, y, names=["one"])
    with pytest.raises(ValueError, match="two models are named 'a'"):
        compare_evidence([("a", models[0]), ("a", models[1])], X, y)
    with pytest.raises(ValueError, match="prior must be 2 numbers"):
        compare_evidence(models, X, y, prior=[1, -1])
    with pytest.raises(ValueError, match="by='aic' is unknown"):
        compare_evidence(models, X, y, by="aic")


def test_bic_is_the_evidence_at_leading_order():
    """(log evidence + BIC/2) / log n → 0: the terms BIC drops do not grow with n."""
    left = []
    for n in (100, 1000, 10_000):
        X, y = one_weight(n)
        model = BayesianLogisticRegression().fit(X, y)
        left.append(abs(model.log_evidence_ + model.bic_ / 2))
    assert max(left) < 4 and left[2] / np.log(10_000) < left[0] / np.log(100)
    assert abs(left[2] - left[1]) < 0.3


# ---- bad input ----

X0, Y0 = overlapping(30, 3, 2, seed=0)
X3, Y3 = overlapping(30, 3, 3, seed=0)


@pytest.mark.parametrize(
    "parameters, match",
    [
        (dict(prior_precision=0.0), "prior_precision must be positive and finite.*LogisticRegression"),
        (dict(prior_precision=-1.0), "prior_precision must be positive"),
        (dict(prior_precision=np.inf), "prior_precision must be positive and finite"),
        (dict(prior_precision=np.nan), "prior_precision must be positive"),
        (dict(prior_precision=[1.0, 2.0]), r"one number a column, shape \(3,\); got shape \(2,\)"),
        (dict(prior_precision=[1.0, -2.0, 1.0]), "column 1 has -2.0"),
        (dict(prior_precision="ARD"), '\'ARD\' is unknown.*"evidence".*"ard"'),
        (dict(prior_precision=object()), "prior_precision must be numbers"),
        (dict(prior_covariance=np.eye(2)), r"shape \(3, 3\), or \(4, 4\) with the intercept first; got"),
        (dict(prior_covariance=np.eye(4), fit_intercept=False), r"shape \(3, 3\); got shape \(4, 4\)"),
        (dict(prior_covariance=-np.eye(3)), "not positive definite: its smallest eigenvalue is -1"),
        (dict(prior_covariance=np.ones((3, 3))), "not positive definite.*Add a small"),
        (dict(prior_covariance=np.triu(np.ones((3, 3)))), r"symmetric: entry \(0, 1\) is 1"),
        (dict(prior_covariance=np.eye(3) * np.nan), "prior_covariance must be finite"),
        (dict(prior_covariance=np.eye(3), prior_precision=2.0), "two names of one thing"),
        (dict(prior_covariance=np.eye(3), prior_precision="evidence"), "two names of one thing"),
        (dict(prior_covariance=np.eye(4), intercept_precision=1.0), "has the intercept's variance already"),
        (dict(intercept_precision=0.0), "intercept_precision must be a positive number"),
        (
            dict(prior_mean=[1.0, 2.0]),
            r"prior_mean must be 0, or of shape \(3,\) or \(4,\).*got shape \(2,\)",
        ),
        (dict(prior_mean=np.nan), "prior_mean must be finite"),
        (dict(prior_mean="zero"), "prior_mean must be numbers"),
        (dict(prior_precision=[1, np.inf, 1], prior_mean=1.0), "infinite where prior_mean is not 0"),
        (dict(predictive="exact"), "predictive 'exact' is unknown: use one of 'probit'"),
        (dict(n_samples=0), "n_samples must be a whole number of at least 1"),
        (dict(max_iter=1.5), "max_iter must be a whole number"),
        (dict(tol=0), "tol must be a positive number"),
        (dict(n_jobs=0), "n_jobs must be None or a whole number other than 0"),
    ],
)
def test_parameters_that_cannot_be_meant(parameters, match):
    with pytest.raises(ValueError, match=match):
        BayesianLogisticRegression(**parameters).fit(X0, Y0)


def test_a_mean_common_to_all_classes_is_refused():
    with pytest.raises(ValueError, match=r"changes no probability: give a row a class, shape \(3, 3\)"):
        BayesianLogisticRegression(prior_mean=[1.0, 0.0, 0.0]).fit(X3, Y3)
    with pytest.raises(ValueError, match=r"of shape \(3, 3\) or \(3, 4\)"):
        BayesianLogisticRegression(prior_mean=np.zeros((2, 3))).fit(X3, Y3)
    a = BayesianLogisticRegression(prior_mean=np.ones((3, 3))).fit(
        X3, Y3
    )  # written out it is allowed, and is 0
    np.testing.assert_allclose(a.coef_, BayesianLogisticRegression().fit(X3, Y3).coef_, atol=1e-9)


def test_data_that_cannot_be_read():
    damaged = X0.copy()
    damaged[17, 1] = np.nan
    model = BayesianLogisticRegression()
    with pytest.raises(ValueError, match="column 1, row 17"):
        model.fit(damaged, Y0)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X0, np.zeros(30))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X0, Y0, sample_weight=-np.ones(30))
    with pytest.raises(ValueError, match=r"4001 parameters.*limit.*PCA"):
        model.fit(sp.csr_array((30, 4000)), Y0)
    model.fit(X0, Y0)
    with pytest.raises(ValueError, match="column 1, row 17"):
        model.predict_proba(damaged)
    with pytest.raises(ValueError, match="method 'exact' is unknown"):
        model.predict_proba(X0, method="exact")
    for level in (0, 1, 95, "high"):
        with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
            model.credible_intervals(level)
        with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
            model.predict_interval(X0, level)
    with pytest.raises(ValueError, match="n_draws"):
        model.sample_posterior(0)


# ---- scikit-learn ----

CHECKED = [
    BayesianLogisticRegression(),
    BayesianLogisticRegression("evidence"),
    BayesianLogisticRegression("ard"),
    BayesianLogisticRegression(predictive="monte_carlo", n_samples=100),
    BayesianLogisticRegression(predictive="plugin", fit_intercept=False),
]


def expected_failures(estimator):
    if not estimator.fit_intercept:
        return {
            "check_class_weight_classifiers": "a surface through the origin cannot have all rows on one side"
        }
    if estimator.prior_precision not in ("evidence", "ard"):
        return {}
    order = "a row of larger score may be less certain: probabilities do not rank as scores do"
    failures = {"check_decision_proba_consistency": order}
    if estimator.prior_precision == "ard":
        many = "15 rows and 30 columns: the evidence has many tops, and rounding decides between them"
        failures |= {f"check_sample_weight_equivalence_on_{kind}_data": many for kind in ("dense", "sparse")}
    return failures


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures, xfail_strict=False)
def test_check_estimator(estimator, check):
    check(estimator)


@classes
@pytest.mark.parametrize("predictive", ["probit", "monte_carlo", "plugin"])
def test_predict_never_contradicts_predict_proba(K, predictive):
    X, y = overlapping(60, 3, K, seed=0)
    model = BayesianLogisticRegression(0.05, predictive=predictive, n_samples=200).fit(X, y)
    rows = np.random.default_rng(0).normal(size=(500, 3)) * 5
    proba = model.predict_proba(rows)
    np.testing.assert_array_equal(model.predict(rows), proba.argmax(axis=1))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), proba, rtol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(rows), proba)  # the same draws every time
    cost = 1 - np.eye(K)
    np.testing.assert_array_equal(model.predict(rows, cost=cost), proba.argmax(axis=1))


def test_pickle_clone_and_grid_search():
    X, y = load_iris(return_X_y=True)
    model = BayesianLogisticRegression("evidence").fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert str(copy.verdict_) == str(model.verdict_)
    assert not [name for name in vars(clone(model)) if name.endswith("_")]
    size = len(pickle.dumps(model))
    big = BayesianLogisticRegression().fit(np.repeat(X, 50, axis=0), np.repeat(y, 50))
    assert len(pickle.dumps(big)) < 2 * size  # no rows are kept
    search = GridSearchCV(BayesianLogisticRegression(), {"prior_precision": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["prior_precision"] == 0.01


def test_what_the_verdict_and_the_tables_say():
    X, y = overlapping(100, 3, 3, seed=0)
    model = BayesianLogisticRegression("evidence").fit(X, y)
    text = str(model.verdict_)
    assert text.startswith("BayesianLogisticRegression · optimal, unique\n")
    assert "log Occam factor" in text and "determine" in text and "has the most evidence" in text
    table = model.summary(0.9)
    assert table.index[0] == "0: (Intercept)" and len(table.index) == 12
    np.testing.assert_allclose(table.columns["coef"].reshape(3, 4)[:, 1:], model.coef_)
    assert f"{model.log_evidence_:.4f}" in str(model.evidence_table())


def test_verbose_prints_rounds(capsys):
    X, y = overlapping(60, 2, 2, seed=0)
    BayesianLogisticRegression("evidence", verbose=1).fit(X, y)
    assert "round   1   log evidence" in capsys.readouterr().err
    with quiet(ConvergenceWarning):
        BayesianLogisticRegression(verbose=1).fit(X, y)
    assert "sweep" in capsys.readouterr().err
