"""LinearSVR against LIBSVM, liblinear and its own solvers; its verdict from data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.svm import LinearSVR as SklearnLinearSVR

from separatrix import verify
from separatrix.models.margin.linear_svr import LinearSVR
from tests.models.margin.linear_tables import overlapping


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("epsilon", [0.0, 5.0])
def test_svr_is_libsvms(C, epsilon):
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LinearSVR(C=C, epsilon=epsilon, tol=1e-7).fit(X, y)
    peer = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_[0], rtol=0, atol=1e-3 * np.abs(peer.coef_).max())
    w = peer.coef_[0]
    theirs = 0.5 * w @ w + C * np.maximum(np.abs(y - peer.predict(X)) - epsilon, 0).sum()
    assert model.verdict_.objective <= theirs * (1 + 1e-9) and model.verdict_.bound <= theirs
    assert np.all(model.alpha_ * model.alpha_hat_ == 0)
    np.testing.assert_allclose((model.alpha_ - model.alpha_hat_) @ X, model.coef_, rtol=0, atol=1e-2)
    assert (
        model.report_.counts["inside"] == np.sum(np.abs(model.report_.residual) < epsilon * (1 - 1e-6))
        or epsilon
    )


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_svr_without_intercept_is_liblinears(loss):
    X, y = overlapping(6, n=150)
    target = X @ [1.0, -2.0, 0.5] + 0.3 * y
    model = LinearSVR(loss=loss, fit_intercept=False, epsilon=0.1, tol=1e-7).fit(X, target)
    peer = SklearnLinearSVR(loss=loss, fit_intercept=False, epsilon=0.1, tol=1e-10, max_iter=1_000_000).fit(
        X, target
    )
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=0, atol=1e-5)


def test_svr_solvers_agree():
    X, y = load_diabetes(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:120], y[:120]
    for loss, first in (("epsilon_insensitive", "interior"), ("squared_epsilon_insensitive", "newton")):
        fits = [
            LinearSVR(loss=loss, epsilon=10.0, C=0.1, solver=s, tol=1e-6, max_iter=50_000).fit(X, y)
            for s in (first, "coordinate", "qp")
        ]
        values = [f.verdict_.objective for f in fits]
        assert {f.verdict_.status for f in fits} == {"optimal"}
        assert max(values) - min(values) <= 1e-6 * min(values)


def test_verify_of_a_regression():
    X, y = load_diabetes(return_X_y=True)
    model = LinearSVR(C=10.0).fit(X, y)
    assert verify(model, X, y).status == "optimal"
    model.coef_ = model.coef_ * 1.2
    assert verify(model, X, y).status == "not converged"
