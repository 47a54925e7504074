"""Tables and the objective that the tests of linear machines share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.draws import examples

few = examples(12)

seeds = st.integers(0, 10_000)

LOSSES = ("hinge", "squared_hinge")


def overlapping(seed, n=80, p=3, K=2):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(K), rng.integers(0, K, n - K))
    X = rng.standard_normal((n, p)) + 1.2 * np.eye(K, p)[y]
    return X, y


def objective(coef, intercept, X, y, C, loss, weight=None):
    """½‖w‖² + C Σ s ℓ, one-vs-rest added up, by hand."""
    total, weight = 0.0, np.ones(len(y)) if weight is None else weight
    classes = np.unique(y)
    for k, (w, b) in enumerate(zip(np.atleast_2d(coef), np.atleast_1d(intercept), strict=True)):
        sign = np.where(y == classes[k if len(classes) > 2 else 1], 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - sign * (X @ w + b))
        total += 0.5 * w @ w + C * weight @ (slack if loss == "hinge" else slack**2)
    return total
