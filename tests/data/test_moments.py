"""Moments by class of large blocks against two plain passes, however their cells lie."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import GaussianNB
from separatrix.data.moments import COMPILED_FROM, class_moments
from separatrix.data.rows import Block

N, P, K = COMPILED_FROM // 6 + 13, 6, 3
ORDERS = {
    "row-major": np.ascontiguousarray,
    "column-major": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float32": lambda X: X.astype(np.float32),
    "whole numbers": lambda X: np.rint(X).astype(np.int64),
}


def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A far column, classes far apart, an indicator, one without variance in a class, one that starts far off."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, K, N)
    X = rng.normal(size=(N, P))
    X[:, 0] += 1e6
    X[:, 1] += 1e4 * codes
    X[:, 2] = rng.random(N) < 0.01
    X[codes == 1, 3] = 7.25
    X[[np.flatnonzero(codes == k)[0] for k in range(K)], 4] = 1e5
    return X, codes, rng.integers(1, 4, N).astype(float)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by_class", [False, True])
def test_moments_of_classes_are_those_of_two_passes(order, weighted, by_class):
    X, codes, weight = table()
    if by_class:
        at = np.argsort(codes, kind="stable")
        X, codes, weight = X[at], codes[at], weight[at]
    codes = np.where(np.arange(N) % 11 == 0, -1, codes)  # rows without a label
    X = ORDERS[order](X)
    found = class_moments(Block(X, codes, weight if weighted else None, 0), K)
    assert found is not None
    for k in range(K):
        cells, w = (
            X[codes == k].astype(float),
            weight[codes == k] if weighted else np.ones((codes == k).sum()),
        )
        mean = np.average(cells, axis=0, weights=w)
        scatter = w @ (cells - mean) ** 2
        np.testing.assert_allclose(found.mean[k], mean, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(found.second[k], scatter, rtol=1e-9, atol=1e-20)
    if order != "whole numbers":
        assert found.second[1, 3] == 0.0


def test_a_missing_or_infinite_cell_has_no_plain_moments():
    X, codes, _ = table()
    for wrong in (np.nan, np.inf):
        cells = X.copy()
        cells[N // 2, 1] = wrong
        assert class_moments(Block(cells, codes, None, 0), K) is None


@pytest.mark.parametrize("order", ORDERS)
def test_densities_of_many_rows_are_those_of_few(order):
    X, codes, _ = table()
    X[5, 2] = np.nan if order != "whole numbers" else 0.0
    X[7, 0] = 1e300 if order == "row-major" else 1e9
    X = ORDERS[order](X)
    model = GaussianNB().fit(X[8:], codes[8:])
    whole = model.predict_joint_log_proba(X)
    some = np.r_[0:40, N - 40 : N]
    few = np.vstack([model.predict_joint_log_proba(X[[i]]) for i in some])
    np.testing.assert_allclose(whole[some], few, rtol=2e-5 if order == "float32" else 1e-8)
    if order == "float32":  # the public means are float32, and predictions go by more digits
        return
    log_odds = np.log(model.class_prior_) - 0.5 * np.log(2 * np.pi * model.var_).sum(axis=1)
    squares = ((X[40:80, None].astype(float) - model.theta_) ** 2 / model.var_).sum(axis=2)
    np.testing.assert_allclose(whole[40:80], log_odds - 0.5 * squares, rtol=1e-8)
