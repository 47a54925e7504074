"""Kernel functions against scikit-learn, and products with the kernel matrix that never is whole."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

from separatrix.problems.kernels import Kernel, centre_of


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_kernels_agree_with_scikit_learn(make):
    X = np.random.default_rng(0).normal(size=(150, 7)) * 2
    X[np.abs(X) < 1.5] = 0.0
    A, B = make(X[:40]), make(X)
    close = dict(rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(Kernel("linear")(A, B), X[:40] @ X.T, **close)
    np.testing.assert_allclose(Kernel("rbf", 0.3)(A, B), rbf_kernel(X[:40], X, gamma=0.3), **close)
    np.testing.assert_allclose(
        Kernel("poly", 0.3, 1.5, 4)(A, B), polynomial_kernel(X[:40], X, 4, gamma=0.3, coef0=1.5), **close
    )
    np.testing.assert_allclose(
        Kernel("sigmoid", 0.3, -0.5)(A, B), sigmoid_kernel(X[:40], X, gamma=0.3, coef0=-0.5), **close
    )


def test_combination_is_the_product_with_the_whole_matrix():
    rng = np.random.default_rng(1)
    A, B, coef = rng.normal(size=(700, 5)), rng.normal(size=(2500, 5)), rng.normal(size=(2500, 3))
    for kernel in (Kernel("rbf", 0.2), Kernel("poly", 0.2, 1.0, 2), Kernel("sigmoid", 0.1), Kernel("linear")):
        centre = centre_of(B)
        got = kernel.combine(kernel.points(A, centre), kernel.points(B, centre), coef)
        np.testing.assert_allclose(got, kernel(A, B) @ coef, rtol=1e-9, atol=1e-9)


def test_own_combination_uses_each_block_twice():
    rng = np.random.default_rng(2)
    A, coef = rng.normal(size=(2300, 5)), rng.normal(size=2300)
    for kernel in (Kernel("rbf", 0.2), Kernel("poly", 0.2, 1.0, 2), Kernel("linear")):
        got = kernel.combine_own(kernel.points(A, centre_of(A)), coef)
        np.testing.assert_allclose(got, kernel(A, A) @ coef, rtol=1e-9, atol=1e-8)


def test_far_points_have_a_kernel_of_nothing():
    far = Kernel("rbf", 1.0)(np.array([[0.0], [1e3]]), np.array([[0.0], [30.0]]))
    assert far[0, 0] == 1.0 and (far.ravel()[1:] < 1e-300).all() and (far >= 0).all()


@pytest.mark.parametrize("kind", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_the_diagonal_is_that_of_the_matrix(kind, make):
    kernel, X = Kernel(kind, 0.3, 0.5, 3), make(np.random.default_rng(3).normal(size=(40, 5)))
    np.testing.assert_allclose(kernel.diagonal(kernel.points(X)), np.diag(kernel(X, X)), atol=1e-12)


def test_a_precomputed_matrix_and_a_function_are_kernels_like_others():
    rng = np.random.default_rng(4)
    X, coef = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    named = Kernel("rbf", 0.4)
    K = named(X, X)
    for kernel, points in (
        (Kernel("precomputed"), Kernel("precomputed").points(K)),
        (Kernel(lambda A, B: named(A, B)), Kernel(lambda A, B: named(A, B)).points(X)),
    ):
        np.testing.assert_allclose(kernel.combine(points, points, coef), K @ coef, atol=1e-12)
        np.testing.assert_allclose(kernel.diagonal(points), np.ones(30), atol=1e-12)
        some = points.take(np.array([3, 7]))
        np.testing.assert_allclose(kernel.combine(some, points, coef), K[[3, 7]] @ coef, atol=1e-12)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda A, B: np.zeros((1, 1)), r"returned shape \(1, 1\) for tables of 3 and 3 rows"),
        (lambda A, B: np.full((len(A), len(B)), "a"), "it must return numbers"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "must be finite for every pair of rows"),
    ],
)
def test_a_function_that_is_no_kernel_is_refused_in_words(function, message):
    with pytest.raises(ValueError, match=message):
        Kernel(function)(np.zeros((3, 1)), np.zeros((3, 1)))


def test_definite_kernels_are_known():
    assert Kernel("rbf").known_definite and Kernel("linear").known_definite
    assert Kernel("poly", coef0=1.0).known_definite and not Kernel("poly", coef0=-1.0).known_definite
    assert not Kernel("sigmoid").known_definite
