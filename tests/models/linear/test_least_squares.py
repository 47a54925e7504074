"""Least squares as a classifier (D1, D9) against NumPy's lstsq; and the geometry of every linear rule (M1)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import RidgeClassifier

from separatrix import LeastSquaresClassifier, LinearRule, LogisticRegression, verify
from tests.draws import examples
from tests.models.reference import overlapping

few = examples(25)


def by_lstsq(X, T, weight=None, fit_intercept=True):
    """(coef, intercept) of the least-squares problem, by NumPy alone."""
    A = np.column_stack([X, np.ones(len(X))]) if fit_intercept else np.asarray(X, float)
    root = np.ones(len(X)) if weight is None else np.sqrt(weight)
    B = np.linalg.lstsq(A * root[:, None], T * root[:, None], rcond=None)[0]
    if not fit_intercept:
        return B.T, np.zeros(T.shape[1])
    return B[:-1].T, B[-1]


def signs(y, t=1.0):
    return np.where(y == 1, t, -t)[:, None]


@pytest.mark.parametrize("solver", ["direct", "newton"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@few
@given(seed=st.integers(0, 1000), K=st.sampled_from([2, 3]))
def test_against_lstsq(solver, fit_intercept, weighted, seed, K):
    X, y = overlapping(40, 3, K, seed=seed)
    X = X + 2.0
    weight = np.random.default_rng(seed).exponential(size=40) if weighted else None
    model = LeastSquaresClassifier(solver=solver, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    T = signs(y) if K == 2 else np.eye(3)[y]
    coef, intercept = by_lstsq(X, T, weight, fit_intercept)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, intercept, atol=1e-9)
    assert model.n_iter_ == 1  # one Newton step is the answer (D9)
    assert model.verdict_.status == "closed form" and model.verdict_.unique
    residual = T - X @ coef.T - intercept
    w = np.ones(40) if weight is None else weight
    assert model.verdict_.objective == pytest.approx(
        0.5 * np.sum(w[:, None] * residual**2) / w.sum(), rel=1e-9
    )
    assert model.verdict_.gap <= 1e-12
    assert verify(model, X, y, weight).status == "closed form"


@pytest.mark.parametrize("t", [0.6, 1.0, 100.0])
def test_the_surface_does_not_depend_on_the_targets(t):
    """±0.6 as in the notes: weights and intercept are multiplied by t, the surface stays."""
    X, y = overlapping(60, 3, 2)
    one, other = LeastSquaresClassifier().fit(X, y), LeastSquaresClassifier(target=t).fit(X, y)
    np.testing.assert_allclose(other.coef_, t * one.coef_, rtol=1e-10)
    np.testing.assert_allclose(other.intercept_, t * one.intercept_, rtol=1e-10)
    np.testing.assert_allclose(other.signed_distance(X), one.signed_distance(X), rtol=1e-9)
    np.testing.assert_array_equal(other.predict(X), one.predict(X))


def test_one_hot_of_two_classes_is_the_same_surface():
    X, y = overlapping(60, 3, 2)
    sign, hot = LeastSquaresClassifier().fit(X, y), LeastSquaresClassifier(coding="one-hot").fit(X, y)
    assert hot.coef_.shape == (2, 3)
    np.testing.assert_allclose(hot.coef_.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(hot.decision_function(X), sign.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(hot.predict(X), sign.predict(X))


def test_one_hot_scores_sum_to_one():
    X, y = load_iris(return_X_y=True)
    scores = LeastSquaresClassifier().fit(X, y).decision_function(X)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.1, 10.0])
@pytest.mark.parametrize("solver", ["direct", "newton"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge(alpha, solver, fit_intercept):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5] / X[:, :5].std(axis=0)
    model = LeastSquaresClassifier(alpha=alpha, solver=solver, fit_intercept=fit_intercept).fit(X, y)
    theirs = RidgeClassifier(alpha=alpha, fit_intercept=fit_intercept, solver="cholesky").fit(X, y)
    np.testing.assert_allclose(model.coef_[0], np.ravel(theirs.coef_), rtol=1e-7)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    assert verify(model, X, y).status == "closed form"


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", ["direct", "newton"])
def test_rank_deficient_columns_get_the_shortest_weights(K, solver):
    X, y = overlapping(60, 3, K)
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.full(60, 3.0)])
    model = LeastSquaresClassifier(solver=solver).fit(X, y)
    centred = X - X.mean(axis=0)
    T = signs(y) if K == 2 else np.eye(3)[y]
    shortest = np.linalg.pinv(centred, rcond=1e-10) @ (T - T.mean(axis=0))
    np.testing.assert_allclose(model.coef_, shortest.T, atol=1e-9)
    assert model.verdict_.unique is False
    (finding,) = [f for f in model.verdict_.findings if f.startswith("aliased")]
    assert "3, 4 constant or combinations of other columns" in finding
    # lstsq gives the same scores
    coef, intercept = by_lstsq(X, T)
    np.testing.assert_allclose(model.rule_.score(X).reshape(60, -1), X @ coef.T + intercept, atol=1e-9)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 40)), np.arange(20) % 2
    model = LeastSquaresClassifier().fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), signs(y)[:, 0], atol=1e-9)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(model.coef_[0], np.linalg.pinv(centred) @ signs(y)[:, 0], atol=1e-9)
    assert model.verdict_.unique is False


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_matrix])
def test_sparse(container):
    X, y = overlapping(80, 4, 3)
    X = X * (np.abs(X) > 0.5)
    dense, sparse = LeastSquaresClassifier().fit(X, y), LeastSquaresClassifier().fit(container(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-10)
    np.testing.assert_allclose(sparse.decision_function(container(X)), dense.decision_function(X), atol=1e-10)


@pytest.mark.parametrize("log_condition", [3, 6, 9])
@pytest.mark.parametrize("solver", ["direct", "newton"])
def test_condition_numbers(log_condition, solver):
    """Above 1e4 a QR factor takes over from the Gram matrix: lstsq's digits are kept."""
    rng = np.random.default_rng(1)
    U, _ = np.linalg.qr(rng.standard_normal((200, 4)))
    U = U - U.mean(axis=0)
    V, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    X = U * np.logspace(0, -log_condition, 4) @ V
    y = (U @ [1.0, -1.0, 1.0, 1.0] + 0.05 * rng.standard_normal(200) > 0).astype(int)
    model = LeastSquaresClassifier(solver=solver).fit(X, y)
    coef, _ = by_lstsq(X, signs(y))
    size = np.abs(coef).max()
    np.testing.assert_allclose(model.coef_ / size, coef / size, atol=1e-14 * 10**log_condition + 1e-10)


def test_newton_reaches_the_optimum_in_exactly_one_step():
    """D9, as seen on the path: start, end, and no more."""
    X, y = overlapping(60, 2, 2)
    model = LeastSquaresClassifier(solver="newton", record_path=True).fit(X, y)
    assert model.n_iter_ == 1
    path = model.path_
    np.testing.assert_array_equal(path.coef[0], 0)
    coef, intercept = by_lstsq(X, signs(y))
    np.testing.assert_allclose(path.coef[-1], coef[0], atol=1e-10)
    assert path.intercept[-1] == pytest.approx(intercept[0], abs=1e-10)
    assert path.objective[-1] < path.objective[0]
    three = LeastSquaresClassifier(solver="newton", record_path=True).fit(*overlapping(60, 2, 3))
    assert three.n_iter_ == 1 and len(three.path_) == 3  # one path a class


def test_it_fails_where_a_line_separates():
    """D1, the honest bad example: far points on the right side drag the surface over near ones."""
    X = np.concatenate([np.linspace(-2, 1, 20), np.linspace(2, 4, 20), np.linspace(60, 90, 10)])[:, None]
    y = np.repeat(["left", "right"], [20, 30])
    least, logistic = LeastSquaresClassifier().fit(X, y), LogisticRegression(C=100).fit(X, y)
    assert logistic.score(X, y) == 1.0
    assert least.score(X, y) < 1.0
    assert least.geometric_margin(X, y).min() < 0 < logistic.geometric_margin(X, y).min()
    # without the far points it separates
    assert LeastSquaresClassifier().fit(X[:40], y[:40]).score(X[:40], y[:40]) == 1.0


def test_three_classes_in_a_row_hide_the_middle_one():
    """One-hot least squares never predicts the class in the middle of a line: its score is flat there."""
    X = np.concatenate([np.linspace(a, a + 1, 20) for a in (0.0, 4.0, 8.0)])[:, None]
    y = np.repeat([0, 1, 2], 20)
    assert 1 not in LeastSquaresClassifier().fit(X, y).predict(X)
    assert LogisticRegression(C=100).fit(X, y).score(X, y) == 1.0


# ---- geometry on every linear model (M1) ----


@pytest.mark.parametrize("make", [LogisticRegression, LeastSquaresClassifier])
def test_geometry_of_two_classes(make):
    X, y = overlapping(80, 3, 2)
    labels = np.array(["no", "yes"])[y]
    model = make().fit(X, labels)
    w, b = model.coef_[0], model.intercept_[0]
    distance = (X @ w + b) / np.linalg.norm(w)
    np.testing.assert_allclose(model.signed_distance(X), distance, rtol=1e-12)
    np.testing.assert_allclose(
        model.functional_margin(X, labels), signs(y)[:, 0] * model.decision_function(X), rtol=1e-12
    )
    np.testing.assert_allclose(model.geometric_margin(X, labels), signs(y)[:, 0] * distance, rtol=1e-12)
    # the surface: a point moved by its distance lies on it
    foot = X - distance[:, None] * w / np.linalg.norm(w)
    np.testing.assert_allclose(model.decision_function(foot), 0, atol=1e-12)
    origin = model.rule_.distance_from_origin()
    np.testing.assert_allclose(model.decision_function([origin * w / np.linalg.norm(w)]), 0, atol=1e-12)
    assert isinstance(model.rule_, LinearRule)
    assert model.rule_.margin(X, signs(y)[:, 0]) == model.geometric_margin(X, labels).min()
    # a margin is positive exactly where the prediction is right
    np.testing.assert_array_equal(model.geometric_margin(X, labels) > 0, model.predict(X) == labels)


@pytest.mark.parametrize("make", [LogisticRegression, LeastSquaresClassifier])
def test_geometry_of_three_classes(make):
    X, y = overlapping(80, 3, 3)
    model = make().fit(X, y)
    scores = model.decision_function(X)
    rivals = np.where(np.eye(3, dtype=bool)[y], -np.inf, scores)
    np.testing.assert_allclose(
        model.functional_margin(X, y), scores[np.arange(80), y] - rivals.max(axis=1), rtol=1e-9, atol=1e-12
    )
    pair = model.rule_.between(2, 0)
    np.testing.assert_allclose(pair.score(X), scores[:, 2] - scores[:, 0], atol=1e-10)
    np.testing.assert_array_equal(model.geometric_margin(X, y) > 0, model.predict(X) == y)
    with pytest.raises(ValueError, match=r"take rule\.between"):
        model.signed_distance(X)


def test_geometry_scales_with_the_rows():
    """Distances are in the units of the rows; functional margins are not distances."""
    X, y = overlapping(80, 2, 2)
    model, tenfold = LogisticRegression(C=np.inf).fit(X, y), LogisticRegression(C=np.inf).fit(10 * X, y)
    np.testing.assert_allclose(tenfold.signed_distance(10 * X), 10 * model.signed_distance(X), rtol=1e-6)
    np.testing.assert_allclose(
        tenfold.functional_margin(10 * X, y), model.functional_margin(X, y), rtol=1e-6, atol=1e-7
    )
