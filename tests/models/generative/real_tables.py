"""Real tables, weights and priors for them, and what it means to predict as a density does."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn import datasets


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


TIES = ("none", "class", "feature", "both")
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


def words():
    """Counts in 0 … 16 of ten classes: digits read as a bag of words."""
    return table("digits")


def by_class(X, y):
    return [X[y == k] for k in np.unique(y)]
