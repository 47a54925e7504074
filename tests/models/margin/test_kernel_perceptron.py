"""The perceptron's dual form: with the linear kernel it is the perceptron, and its bound holds in feature space."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from separatrix.models.margin.kernel_perceptron import KernelPerceptron
from separatrix.models.margin.perceptron import Perceptron
from tests.models.margin.perceptrons import quiet, seeds, some


@some
@given(
    seeds,
    st.integers(2, 40),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["plain", "average", "pocket"]),
)
def test_the_linear_kernel_is_the_perceptron(seed, n, p, shuffle, intercept, variant):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, p)).astype(float)  # sums are exact: the same mistakes, not nearly
    y = rng.integers(0, 3, n)
    y[:2] = [0, 1]
    about = {
        "shuffle": shuffle,
        "fit_intercept": intercept,
        "max_iter": 12,
        "tol": None,
        "random_state": seed,
    }
    if variant != "plain":
        about[variant] = True
    primal = quiet(Perceptron(**about), X, y)
    dual = quiet(KernelPerceptron(kernel="linear", **about), X, y)
    np.testing.assert_allclose(dual.dual_coef_, primal.dual_coef_, rtol=1e-12)
    np.testing.assert_array_equal(dual.n_mistakes_, primal.n_mistakes_)
    np.testing.assert_array_equal(np.hstack(dual.mistakes_path_), np.hstack(primal.mistakes_path_))
    np.testing.assert_allclose(dual.decision_function(X), primal.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, atol=1e-9)
    assert dual.verdict_.status == primal.verdict_.status


def test_prediction_needs_the_support_alone():
    X, y = make_blobs(200, centers=3, cluster_std=2.0, random_state=1)
    model = quiet(KernelPerceptron(gamma=0.5), X, y)
    used = model.dual_coef_.any(axis=0)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(used))
    np.testing.assert_array_equal(model.support_vectors_, X[used])
    signs = np.where(y[None] == model.classes_[:, None], 1, -1)
    by_hand = (model.dual_coef_ * signs) @ (rbf_kernel(X, X, 0.5) + 1)
    np.testing.assert_allclose(model.decision_function(X), by_hand.T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cache_size", [200, 0.05, 1e-6])
def test_every_kernel_and_cache(cache_size):
    X, y = make_blobs(150, centers=2, cluster_std=2.0, random_state=1)
    X = X - X.mean(axis=0)
    gram = rbf_kernel(X, X, 0.3)
    about = {"max_iter": 20, "tol": None, "cache_size": cache_size}
    expected = quiet(KernelPerceptron(gamma=0.3, max_iter=20, tol=None), X, y)
    for kernel, rows in (("rbf", X), ("precomputed", gram), (lambda A, B: rbf_kernel(A, B, 0.3), X)):
        model = quiet(KernelPerceptron(kernel=kernel, gamma=0.3, **about), rows, y)
        np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
        np.testing.assert_allclose(model.decision_function(rows), expected.decision_function(X), rtol=1e-9)
    sparse = quiet(KernelPerceptron(gamma=0.3, **about), sp.csr_array(X), y)
    np.testing.assert_array_equal(sparse.dual_coef_, expected.dual_coef_)
    for kernel in ("poly", "sigmoid", "linear"):
        model = quiet(KernelPerceptron(kernel=kernel, gamma=0.1, coef0=0.5, degree=2, **about), X, y)
        assert model.score(X, y) > 0.7


@some
@given(seeds, st.floats(10.0, 50.0), st.booleans())
def test_the_bound_in_feature_space(seed, gamma, weighted):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((60, 2)), rng.integers(0, 2, 60)
    y[:2] = [0, 1]
    weight = rng.uniform(0.5, 2, 60) if weighted else None
    model = KernelPerceptron(gamma=gamma, max_iter=20_000).fit(X, y, sample_weight=weight)
    assert model.verdict_.status == "optimal" and model.score(X, y) == 1.0
    assert model.n_mistakes_ <= model.mistake_bound_ < np.inf


def test_rows_no_kernel_separates():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), rng.integers(0, 2, 40)
    X[:2], y[:2] = X[0], [0, 1]
    model = KernelPerceptron().fit(X, y)
    assert model.verdict_.status == "infeasible" and model.n_iter_ < 1000
    proof, sign = model.verdict_.separation, np.where(y == 1, 1, -1)
    K = rbf_kernel(X, X, 1 / (2 * X.var()))
    assert abs((proof.weights * sign) @ (K + 1) @ (proof.weights * sign)) < 1e-15
    assert proof.check(K, sign) and not proof.check(K, -sign * sign)


def test_a_kernel_without_lengths_makes_no_bound():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), np.repeat([0, 1], 15)
    X[15:] += 6
    model = quiet(KernelPerceptron(kernel=lambda A, B: A @ B.T - 3.0 * np.outer(A[:, 0], B[:, 0])), X, y)
    assert model.mistake_bound_ == np.inf
