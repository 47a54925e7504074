"""Against scikit-learn's LogisticRegression at a tight tolerance, and against conditions anyone can check by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.preprocessing import StandardScaler

from separatrix import LogisticRegression
from tests.models.reference import overlapping


def data(K: int):
    if K == 2:
        X, y = load_breast_cancer(return_X_y=True)
        return StandardScaler().fit_transform(X)[:, :8], y
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def sklearn_fit(X, y, weight=None, **parameters):
    solver = "newton-cholesky" if parameters.get("C", 1.0) < np.inf else "newton-cg"
    model = SklearnLogisticRegression(solver=solver, tol=1e-12, max_iter=10_000, **parameters)
    return model.fit(X, y, sample_weight=weight)


def assert_same(ours, theirs, X, tol=1e-6):
    size = max(1.0, np.abs(theirs.coef_).max())
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=tol * size)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=tol * size)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=tol)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.coef_.shape == theirs.coef_.shape and ours.intercept_.shape == theirs.intercept_.shape


@pytest.mark.parametrize("solver", ["auto", "newton", "newton-cholesky", "lbfgs"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
def test_penalised(K, fit_intercept, C, solver):
    X, y = data(K)
    ours = LogisticRegression(C=C, fit_intercept=fit_intercept, solver=solver, tol=1e-12, max_iter=1000)
    theirs = sklearn_fit(X, y, C=C, fit_intercept=fit_intercept)
    assert_same(ours.fit(X, y), theirs, X)


@pytest.mark.parametrize("K", [2, 3])
def test_unpenalised(K):
    X, y = overlapping(300, 4, K, seed=1)
    assert_same(LogisticRegression(C=np.inf).fit(X, y), sklearn_fit(X, y, C=np.inf), X, tol=1e-5)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 5.0, 1: 0.25}])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_and_class_weights(K, class_weight, weighted):
    X, y = data(K)
    weight = np.random.default_rng(2).exponential(size=len(y)) if weighted else None
    ours = LogisticRegression(class_weight=class_weight).fit(X, y, sample_weight=weight)
    theirs = SklearnLogisticRegression(
        class_weight=class_weight, solver="newton-cholesky", tol=1e-12, max_iter=1000
    )
    assert_same(ours, theirs.fit(X, y, sample_weight=weight), X)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.coo_array])
def test_sparse_is_dense(K, solver, container):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 15)) * (rng.random((200, 15)) < 0.2)
    y = (X @ rng.standard_normal((15, K)) + rng.gumbel(size=(200, K))).argmax(axis=1)
    settings = dict(solver=solver, tol=1e-12, max_iter=1000)
    dense = LogisticRegression(**settings).fit(X, y)
    sparse = LogisticRegression(**settings).fit(container(X), y)
    tol = 1e-6 if solver == "lbfgs" else 1e-7
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=0, atol=tol)
    np.testing.assert_allclose(sparse.intercept_, dense.intercept_, rtol=0, atol=tol)
    for method in ("predict_proba", "predict_log_proba", "decision_function", "predict"):
        np.testing.assert_allclose(
            getattr(sparse, method)(container(X)), getattr(sparse, method)(X), rtol=1e-12, atol=1e-12
        )


def test_score_equations_hold_at_the_optimum():
    """C Σ (σ(η_i) − y_i) x_i + w = 0 and Σ (σ(η_i) − y_i) = 0: the balance property."""
    X, y = data(2)
    model = LogisticRegression(C=0.7).fit(X, y)
    residual = expit(X @ model.coef_[0] + model.intercept_[0]) - y
    np.testing.assert_allclose(0.7 * X.T @ residual + model.coef_[0], 0, atol=1e-6)
    assert abs(residual.sum()) < 1e-6


def test_by_hand_two_groups_give_the_log_odds():
    """One binary column: b = logit(share in group 0), w = the log odds ratio."""
    x = np.repeat([0.0, 0.0, 1.0, 1.0], [10, 30, 25, 5])
    y = np.repeat([1, 0, 1, 0], [10, 30, 25, 5])
    model = LogisticRegression(C=np.inf).fit(x[:, None], y)
    assert model.intercept_[0] == pytest.approx(np.log(10 / 30), rel=1e-8)
    assert model.coef_[0, 0] == pytest.approx(np.log(25 / 5) - np.log(10 / 30), rel=1e-8)


def test_by_hand_intercept_only():
    """A constant column: the probabilities are the class shares."""
    y = np.repeat(["a", "b", "c"], [1, 2, 5])
    model = LogisticRegression(C=np.inf).fit(np.full((8, 1), 3.0), y)
    np.testing.assert_allclose(model.predict_proba([[3.0]])[0], [1 / 8, 2 / 8, 5 / 8], rtol=1e-9)
    assert (model.coef_ == 0).all()


def test_by_hand_saturated_groups_of_three_classes():
    """One-hot groups without an intercept reproduce each group's shares (minimum norm: rows sum to zero)."""
    counts = np.array([[3, 1, 2], [1, 5, 1]])
    X = np.repeat(np.eye(2), counts.sum(axis=1), axis=0)
    y = np.concatenate([np.repeat(np.arange(3), c) for c in counts])
    model = LogisticRegression(C=np.inf, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(np.eye(2)), counts / counts.sum(axis=1)[:, None], atol=1e-8
    )
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("reference", [0, None])
def test_reference_form_has_the_same_probabilities(K, reference):
    X, y = overlapping(200, 3, K, seed=4)
    model = LogisticRegression().fit(X, y)
    classes, v, c = model.reference_form(reference)
    left_out = K - 1 if reference is None else reference
    assert left_out not in classes and len(classes) == K - 1 and v.shape == (K - 1, 3)
    e = np.zeros((len(X), K))
    e[:, classes] = X @ v.T + c
    e = np.exp(e)
    np.testing.assert_allclose(e / e.sum(axis=1)[:, None], model.predict_proba(X), atol=1e-12)


def test_reference_form_against_a_separate_solve():
    """K−1 free vectors without a penalty are the same model: any two classes alone give the same odds only
    when nothing else is fitted, so compare with the extended-precision reference instead."""
    from tests.models.reference import long_newton

    X, y = overlapping(300, 3, 3, seed=5)
    answer = long_newton(X, y, C=np.inf)
    _, v, c = LogisticRegression(C=np.inf).fit(X, y).reference_form(0)
    np.testing.assert_allclose(v, np.asarray(answer.coef[1:] - answer.coef[0], float), atol=1e-7)
    np.testing.assert_allclose(c, np.asarray(answer.intercept[1:] - answer.intercept[0], float), atol=1e-7)


def test_two_classes_are_the_softmax_of_two():
    """σ(w·x) = softmax(±½w·x): the K-class objective on two classes has half the two-class weights,

    with twice the ridge, for ½λ'(‖w/2‖² + ‖w/2‖²) = ¼λ'‖w‖²."""
    from separatrix.core.losses import Logistic, Multinomial
    from separatrix.data.rows import Rows
    from separatrix.solve.linear import Problem, minimise
    from separatrix.solve.registry import SOLVERS

    X, y = overlapping(150, 4, 2, seed=6)
    for lam in (0.0, 0.05):
        rows = Rows.of(X, np.where(y == 1, 1.0, -1.0))
        two = minimise(
            Problem(rows, rows.moments(), Logistic(), lam, True), SOLVERS["newton"], tol=1e-16, max_iter=50
        )
        rows = rows.with_targets(y, None)
        many = minimise(
            Problem(rows, rows.moments(), Multinomial(), 2 * lam, True, 2),
            SOLVERS["newton"],
            tol=1e-16,
            max_iter=50,
        )
        np.testing.assert_allclose(many.coef, [-two.coef / 2, two.coef / 2], atol=1e-8)
        np.testing.assert_allclose(many.intercept, [-two.intercept / 2, two.intercept / 2], atol=1e-8)
        assert many.outcome.value == pytest.approx(two.outcome.value, rel=1e-12)


def test_a_class_that_is_never_near_changes_nothing_between_the_others():
    """Softmax restricted: a third class far away on its own column leaves the odds of the first two alone."""
    X, y = overlapping(120, 2, 2, seed=7)
    far = np.column_stack([np.zeros((30, 2)), np.full(30, 1.0)])
    everything = np.vstack([np.column_stack([X, np.zeros(120)]), far])
    model = LogisticRegression(C=1e8).fit(everything, np.append(y, np.full(30, 2)))
    pair = LogisticRegression(C=1e8).fit(X, y)
    _, v, c = model.reference_form(0)
    np.testing.assert_allclose(v[0, :2], pair.coef_[0], atol=1e-4)
    assert c[0] == pytest.approx(pair.intercept_[0], abs=1e-4)


def test_log_probabilities_keep_their_digits():
    model = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])
    x = 700.0 / model.coef_[0, 0]
    assert model.predict_log_proba([[x]])[0, 0] == pytest.approx(-700, rel=1e-6)
    three = LogisticRegression().fit(*load_iris(return_X_y=True))
    X = load_iris().data
    np.testing.assert_allclose(
        three.predict_log_proba(X), np.log(three.predict_proba(X)), rtol=1e-9, atol=1e-12
    )
