"""Perceptrons: mistakes against the bound (R/γ)², the proof that nothing separates rows, separators by programme."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

from separatrix import ConvergenceWarning, separability
from separatrix.core.losses import Perceptron as Criterion
from separatrix.data.rows import Rows
from separatrix.models.margin.perceptron import Perceptron
from separatrix.solve.linear import Problem, minimise
from separatrix.solve.registry import resolve
from separatrix.solve.separator import (
    Contradiction,
    contradiction_among,
    linear_separator,
    maximum_margin,
    maximum_margin_rule,
)
from tests.models.margin.perceptrons import many, seeds, separable, some


@many
@given(
    seeds,
    st.integers(2, 60),
    st.integers(1, 6),
    st.floats(0.02, 1.0),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_mistakes_never_exceed_the_bound(seed, n, p, gap, shuffle, random, intercept):
    X, y = separable(seed, max(n, 4), p, gap, offset=float(intercept))
    model = Perceptron(
        shuffle=shuffle, start="random" if random else "zero", fit_intercept=intercept, max_iter=200_000,
        random_state=seed, eta0=0.7,
    ).fit(X, y)  # fmt: skip
    assert model.verdict_.status == "optimal" and model.verdict_.unique is False
    assert (y * model.decision_function(X) > 0).all()
    assert model.n_mistakes_ <= model.mistake_bound_ < np.inf
    assert model.n_mistakes_ == model.mistakes_path_.sum() == model.dual_coef_.sum()
    assert model.mistakes_path_[-1] == 0
    if not random:
        R = np.sqrt(((X**2).sum(axis=1) + intercept).max())
        known = maximum_margin(y[:, None] * np.column_stack([X, np.full(len(X), float(intercept))]))
        assert model.mistake_bound_ == pytest.approx((R / known.low) ** 2, rel=1e-6)


def test_the_bound_is_the_square():
    """[6867] prints R/γ; here the mistakes exceed it and stay within its square."""
    X, y = separable(1, 400, 10, gap=0.005)
    model = Perceptron(max_iter=100_000).fit(X, y)
    assert np.sqrt(model.mistake_bound_) < model.n_mistakes_ <= model.mistake_bound_


@some
@given(seeds, st.booleans())
def test_the_bound_with_weights(seed, classes):
    X, y = separable(seed, 40, 3)
    weight = np.random.default_rng(seed).uniform(0.2, 3.0, len(y))
    model = Perceptron(max_iter=100_000, class_weight={1: 3.0, -1: 0.5} if classes else None)
    model.fit(X, y, sample_weight=weight)
    assert model.verdict_.status == "optimal"
    assert model.n_mistakes_ <= model.mistake_bound_


def test_a_start_near_the_answer_tightens_the_bound_and_a_bad_one_loosens_it():
    X, y = separable(3, 50, 2, 0.5)
    zero = Perceptron(max_iter=10_000).fit(X, y)
    best = maximum_margin(y[:, None] * np.column_stack([X, np.ones(len(X))])).direction
    for w, sign in ((best, 1), (-best, -1)):
        size = 5.0
        model = Perceptron(max_iter=100_000).fit(X, y, coef_init=size * w[:2], intercept_init=size * w[2:])
        assert model.n_mistakes_ <= model.mistake_bound_
        assert (model.mistake_bound_ - zero.mistake_bound_) * sign < 0
        np.testing.assert_allclose(model.coef_start_[0], size * w[:2])


@many
@given(seeds, st.integers(6, 80), st.integers(1, 4), st.booleans(), st.booleans(), st.booleans())
def test_rows_nothing_separates_always_end_with_the_proof(seed, n, p, shuffle, whole, intercept):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, p)).astype(float) if whole else rng.standard_normal((n, p))
    y = rng.integers(0, 2, n)
    X[:2], y[:2] = X[0], [0, 1]  # one row in both classes
    model = Perceptron(shuffle=shuffle, fit_intercept=intercept, random_state=seed).fit(X, y)
    assert model.verdict_.status == "infeasible"
    assert model.n_iter_ < 1000
    proof = model.verdict_.separation
    assert isinstance(proof, Contradiction) and proof.check(X, np.where(y == 1, 1, -1))
    assert model.mistake_bound_ == np.inf
    Z = np.column_stack([X, np.full(n, float(intercept))]) * np.where(y == 1, 1, -1)[:, None]
    assert np.abs(proof.weights @ Z).max() < 1e-12 * max(1.0, np.abs(Z).max())
    assert proof.weights.min() >= 0 and proof.weights.sum() == pytest.approx(1.0)


def test_exclusive_or_repeats_its_weights():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    model = Perceptron(shuffle=False, tol=None).fit(X, y)
    assert "came back" in model.verdict_.stopped_by
    assert model.verdict_.separation.check(np.array(X), np.array([-1, 1, 1, -1]))
    assert model.n_iter_ < 10


def test_slow_data_that_can_be_separated_are_not_called_inseparable():
    """Thousands of epochs without progress do not prove anything; nor does max_iter."""
    X, y = load_breast_cancer(return_X_y=True)
    assert separability(X, y).kind == "complete"
    with pytest.warns(ConvergenceWarning, match="classes can be separated"):
        model = Perceptron(max_iter=50).fit(X, y)
    assert model.verdict_.status == "not converged" and model.n_iter_ == 50


def test_quasi_separated_rows_are_not_separated():
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    model = Perceptron().fit(X, [0, 0, 1, 1])
    assert model.verdict_.status == "infeasible"


def test_large_tables_get_a_proof_from_a_sample():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 8))
    y = np.where(X[:, 0] + rng.standard_normal(60_000) > 0, 1, -1)
    model = Perceptron(max_iter=2, tol=None).fit(X, y)
    proof = model.verdict_.separation
    assert model.verdict_.status == "infeasible" and proof.check(X, y)
    assert 0 < np.count_nonzero(proof.weights) < 1000


@some
@given(seeds, st.integers(4, 60), st.integers(1, 5), st.booleans())
def test_the_linear_programme_agrees_with_separability(seed, n, p, intercept):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, 0] + 0.4 * rng.standard_normal(n) > 0, 1, -1)
    y[:2] = [1, -1]
    known = separability(X, y, fit_intercept=intercept).kind == "complete"
    for method in ("lp", "margin"):
        found = linear_separator(X, y, method=method, fit_intercept=intercept)
        assert found.separable == known
        if known:
            assert (y * found.rule.score(X) > 0).all() and found.margin > 0
        else:
            assert found.contradiction.check(X, y)
    answer = contradiction_among(X, y, intercept)
    assert (answer is False) == known


@some
@given(seeds, st.integers(4, 60), st.integers(1, 4))
def test_the_widest_street_is_libsvms(seed, n, p):
    X, y = separable(seed, n, p, 0.2)
    rule, found = maximum_margin_rule(X, y)
    assert found.low <= found.high * (1 + 1e-12) and found.low >= found.high * (1 - 1e-6)
    svm = SVC(kernel="linear", C=1e7, tol=1e-8).fit(X, y)
    assert found.low == pytest.approx(1 / np.linalg.norm(svm.coef_), rel=1e-3)
    assert rule.margin(X, y) == pytest.approx(found.low)
    assert rule.functional_margin(X, y).min() == pytest.approx(1.0)
    assert found.low >= linear_separator(X, y).margin * (1 - 1e-9)


@some
@given(seeds, st.integers(1, 60), st.integers(1, 5))
def test_nearest_point_of_a_hull(seed, n, q):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, q)) + rng.uniform(0, 3)
    found = maximum_margin(Z)
    assert found.weights.min() >= 0 and found.weights.sum() == pytest.approx(1.0)
    assert np.linalg.norm(found.weights @ Z) == pytest.approx(found.high, abs=1e-9)
    assert found.low <= found.high + 1e-12
    if found.low > 1e-6:
        assert (Z @ found.direction).min() == pytest.approx(found.low) == pytest.approx(found.high, rel=1e-8)
    else:
        assert found.high < 1e-6


def test_the_criterion_is_an_objective_of_the_registry():
    """From weights of length one, sgd lowers Σ max(0, −yη); solvers that need a smooth loss refuse it."""
    X, y = separable(0, 200, 3, 0.3)
    rows = Rows.of(X, y.astype(float), None)
    problem = Problem(rows, rows.moments(), Criterion(), 0.0, True)
    start = (np.array([1.0, 0.0, 0.0]), np.array(0.0))
    before = Criterion().value(X @ start[0], y.astype(float)).mean()
    fit = minimise(problem, resolve("sgd", Criterion(), None), tol=1e-4, max_iter=100, start=start)
    after = Criterion().value(X @ fit.coef + fit.intercept, y.astype(float)).mean()
    assert after == pytest.approx(fit.outcome.value) and after < 0.05 * before
    for name in ("newton", "lbfgs", "gradient"):
        with pytest.raises(ValueError, match="perceptron loss"):
            resolve(name, Criterion(), None)
