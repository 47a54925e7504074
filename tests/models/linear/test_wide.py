"""Linear models of fewer rows than columns: the span of the rows serves, and no matrix of columns is formed."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, Ridge

from separatrix import GeneralizedLinearModel, LeastSquaresClassifier, LogisticRegression, verify
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Blind, singular_coordinates, standard_span

rng = np.random.default_rng(5)
N, P = 40, 90
X = rng.standard_normal((N, P)) * 10.0 ** rng.uniform(-2, 2, P) + 30 * rng.standard_normal(P)
X[:, 4], X[:, 8] = 3.0, X[:, 9]
Y = rng.standard_normal(N) + X[:, 0]
CLASSES = np.arange(N) % 3


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_shortest_weights_of_least_squares(intercept, order):
    model = GeneralizedLinearModel(fit_intercept=intercept).fit(np.asarray(X, order=order), Y)
    theirs = LinearRegression(fit_intercept=intercept).fit(X, Y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-6, atol=1e-9 * np.abs(theirs.coef_).max())
    np.testing.assert_allclose(model.predict(X), Y, atol=1e-9)
    assert model.verdict_.status == "optimal" and model.verdict_.unique is False
    found = verify(model, X, Y)
    assert found.status == "optimal" and found.unique is False
    assert np.isnan(model.standard_errors()[1:]).all()
    model.coef_[0] += 0.1
    assert verify(model, X, Y).status == "not converged"


def test_least_squares_as_a_classifier():
    two = CLASSES > 0
    model, theirs = LeastSquaresClassifier().fit(X, two), LinearRegression().fit(X, 2.0 * two - 1)
    np.testing.assert_allclose(
        model.coef_[0], theirs.coef_, rtol=1e-6, atol=1e-9 * np.abs(theirs.coef_).max()
    )
    assert model.verdict_.status == verify(model, X, two).status == "closed form"
    ridge = LeastSquaresClassifier(alpha=2.0).fit(X, CLASSES)
    theirs = Ridge(2.0, solver="svd").fit(X, np.eye(3)[CLASSES])
    np.testing.assert_allclose(ridge.coef_, theirs.coef_, rtol=1e-6, atol=1e-9 * np.abs(theirs.coef_).max())
    assert verify(ridge, X, CLASSES).status == "closed form"


@pytest.mark.parametrize("family", ["poisson", "gamma"])
def test_counts_that_columns_fit_exactly(family):
    y = np.random.default_rng(1).poisson(3, N) + 1.0
    model = GeneralizedLinearModel(family, link="log").fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-6)
    assert model.verdict_.status == verify(model, X, y).status == "optimal"


def test_weights_are_repetitions_and_zero_is_absence():
    weight = np.tile([1.0, 2.0, 0.0, 3.0], N // 4)
    again = np.repeat(np.arange(N), weight.astype(int))
    for settings in ({}, {"alpha": 0.1}):
        ours = GeneralizedLinearModel(**settings).fit(X, Y, sample_weight=weight)
        theirs = GeneralizedLinearModel(**settings).fit(X[again], Y[again])
        size = np.abs(theirs.coef_).max()
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-7 * size)


def test_separated_classes_have_no_optimum_and_a_penalty_has():
    for y in (CLASSES, CLASSES > 0):
        model = LogisticRegression(C=np.inf).fit(X, y)
        assert model.verdict_.status == verify(model, X, y).status == "no optimum"
        assert model.verdict_.separation.check(X, y)
        for cells in (X, sp.csr_array(X)):
            bounded = LogisticRegression().fit(cells, y)
            assert bounded.verdict_.status == verify(bounded, cells, y).status == "optimal"
            bounded.coef_ = bounded.coef_ * 1.5
            assert verify(bounded, cells, y).status == "not converged"


def test_rows_that_do_not_differ():
    same = np.zeros((4, 9))
    for intercept in (True, False):
        model = LogisticRegression(C=np.inf, fit_intercept=intercept).fit(same, [0, 1, 0, 1])
        np.testing.assert_array_equal(model.coef_, 0.0)
        verify(model, same, [0, 1, 0, 1])


@pytest.mark.parametrize("intercept", [True, False])
def test_the_same_directions_as_by_columns(intercept):
    cells = np.delete(X, 4, axis=1)  # the constant column
    rows = Rows.of(cells, Y)
    by_columns, aliased = singular_coordinates(rows, rows.moments(), intercept)
    by_rows, inner = standard_span(rows, rows.moments(), intercept)
    assert isinstance(by_columns.blind, Blind)
    assert by_rows.size == by_columns.size == inner.p
    np.testing.assert_array_equal(by_rows.blind.columns, aliased)
    w = np.random.default_rng(0).standard_normal((P - 1, 2))
    np.testing.assert_allclose(by_rows.blind.shortest(w), by_columns.blind.shortest(w), atol=1e-9)
    for share in (1e-7, 1e-2):
        np.testing.assert_array_equal(by_rows.blind.moved(share), by_columns.blind.moved(share))
    mean = rows.moments().mean
    assert by_rows.blind.moves_sum(mean, 1e-7) == by_columns.blind.moves_sum(mean, 1e-7)
    gram = inner.source.T @ inner.source / N
    np.testing.assert_allclose(gram, np.eye(inner.p), atol=1e-8)


@pytest.mark.parametrize("model", [
    LogisticRegression(C=np.inf), LogisticRegression(), LeastSquaresClassifier(),
    GeneralizedLinearModel("binomial", alpha=0.1),
])  # fmt: skip
def test_nothing_of_columns_by_columns(model):
    n, p = 30, 6000
    cells, y = np.random.default_rng(0).standard_normal((n, p)), np.arange(n) % 2
    model.fit(cells[:, :50], y)  # what is imported
    tracemalloc.start()
    model.fit(cells, y)
    status = verify(model, cells, y).status
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert status == model.verdict_.status
    assert peak < 8 * p * p / 4, f"{peak / 8 / p:.0f} numbers a column"
