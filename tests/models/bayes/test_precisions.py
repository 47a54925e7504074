"""Precisions of most evidence, against a scalar maximiser and the slope of the evidence."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import optimize
from scipy.special import expit

from separatrix import BayesianLogisticRegression
from separatrix.data.rows import Rows
from separatrix.problems.prior import Prior, PriorObjective, loss_of
from tests.models.bayes.beliefs import assert_same_belief, classes
from tests.models.reference import overlapping


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
