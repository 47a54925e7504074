"""Value, gradient and Hessian of every problem against the same formula in extended precision, row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from separatrix.core.losses import Logistic, Multinomial
from separatrix.data.engine import engine
from separatrix.problems.objective import Objective, helmert
from tests.data.naive import Naive
from tests.problems.objective_cases import (
    KINDS,
    LOSSES,
    SMOOTH,
    STORAGE,
    agree,
    draw_cells,
    problem,
    quick,
    seeds,
)

pytestmark = pytest.mark.usefixtures("way")

# ---- against extended precision ----


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
@quick
@given(seed=seeds, weighted=st.booleans(), ridge=st.sampled_from([0.0, 0.1, 3.0]))
def test_every_loss(name, fit_intercept, seed, weighted, ridge):
    objective, naive, theta = problem(seed, name, weighted=weighted, fit_intercept=fit_intercept, ridge=ridge)
    agree(objective.evaluate(theta), naive, theta)
    agree(objective.evaluate(theta, order=2), naive, theta)


@pytest.mark.parametrize("store", STORAGE.values(), ids=STORAGE.keys())
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["logistic", "multinomial"])
@pytest.mark.parametrize("blocks", [1, 7])
def test_every_storage_in_every_coordinates(store, kind, name, blocks):
    with engine(blocks=blocks):
        for seed, fit_intercept in ((0, True), (1, False)):
            objective, naive, theta = problem(seed, name, store=store, kind=kind, fit_intercept=fit_intercept)
            agree(objective.evaluate(theta), naive, theta)
            agree(objective.evaluate(theta, order=2), naive, theta)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_integer_and_boolean_cells(dtype, name):
    X = np.random.default_rng(0).integers(0, 2 if dtype is np.bool_ else 7, (30, 3))
    for store in (lambda X: X.astype(dtype), lambda X: sparse.csr_matrix(X.astype(dtype))):
        objective, naive, theta = problem(3, name, store=store, X=X)
        naive = Naive.of(objective, X.astype(float))
        agree(objective.evaluate(theta), naive, theta)
        agree(objective.evaluate(theta, order=2), naive, theta)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", ["logistic", "multinomial", "squared"])
@pytest.mark.parametrize("kind", ["standard", "singular"])
def test_columns_far_from_the_origin(order, name, kind):
    """1e8 ± 1 beside 1e-8 and 1e8: products of raw cells would lose every digit of the first column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 1e-8, 1e8] + [1e8, 0, 0]
    objective, naive, theta = problem(1, name, kind=kind, ridge=0.0, X=X)
    assert objective.coordinates.far
    # the mean itself is known to the rounding of a double, 1e-8 of this spread
    agree(objective.evaluate(theta, order), naive, theta, rtol=1e-11)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_sparse_columns_far_from_the_origin(order, name):
    """A full column at 1e4 ± 1 in a sparse table: only stored cells are touched, and still most digits are right."""
    rng = np.random.default_rng(0)
    X = draw_cells(rng, 50)
    X[:, 0] = 1e4 + rng.normal(size=50)
    objective, naive, theta = problem(1, name, store=sparse.csr_matrix, X=X)
    assert objective.coordinates.far
    agree(objective.evaluate(theta, order), naive, theta, rtol=1e-10)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("kind", ["standard", "gram"])
def test_gradient_and_hessian_are_the_differences_of_the_value(name, kind):
    objective, _, theta = problem(5, name, kind=kind)
    at = objective.evaluate(theta, order=2)
    h = 1e-5
    flat = theta.T.ravel()
    assert at.hessian.shape == (flat.size, flat.size)
    for i in range(flat.size):
        step = np.zeros_like(flat)
        step[i] = h
        step = step.reshape(theta.shape[::-1]).T
        high, low = objective.evaluate(theta + step), objective.evaluate(theta - step)
        assert (high.value - low.value) / (2 * h) == pytest.approx(
            at.gradient.T.ravel()[i], rel=1e-5, abs=1e-7
        )
        slope = (high.gradient - low.gradient).T.ravel() / (2 * h)
        np.testing.assert_allclose(slope, at.hessian[i], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", LOSSES)
def test_both_orders_agree(name):
    objective, _, theta = problem(6, name)
    first, second = objective.evaluate(theta), objective.evaluate(theta, order=2)
    assert first.value == pytest.approx(second.value, rel=1e-14)
    np.testing.assert_allclose(first.gradient, second.gradient, rtol=1e-11, atol=1e-13)
    assert first.hessian is None
    np.testing.assert_allclose(second.hessian, second.hessian.T, rtol=1e-13, atol=1e-13)
    assert np.linalg.eigvalsh(second.hessian).min() > -1e-12


def test_the_value_is_that_of_the_users_weights():
    """F(θ) is the mean loss of the scores X·w + b plus ½λ‖w‖², whatever the coordinates."""
    for kind in KINDS:
        objective, _, theta = problem(7, "logistic", kind=kind)
        coef, intercept = objective.to_user(theta)
        rows = objective.rows
        losses = Logistic().value(rows.source @ coef + intercept, rows.y)
        wanted = np.average(losses, weights=rows.weight) + 0.05 * np.sum(coef**2)
        assert objective.evaluate(theta).value == pytest.approx(wanted, rel=1e-12)
        objective, _, theta = problem(7, "multinomial", kind=kind)
        coef, intercept = objective.to_user(theta)
        assert np.abs(coef.sum(axis=0)).max() < 1e-12 * (1 + np.abs(coef).max())  # no common part
        losses = Multinomial().value(rows.source @ coef.T + intercept, objective.rows.y)
        wanted = np.average(losses, weights=objective.rows.weight) + 0.05 * np.sum(coef**2)
        assert objective.evaluate(theta).value == pytest.approx(wanted, rel=1e-12)


def test_two_classes_of_the_multinomial_are_the_logistic_with_half_the_penalty():
    """Weights ±v/√2 of two classes differ by √2 v, and their squared lengths add up to half of its square."""
    binary, _, theta = problem(8, "logistic", ridge=0.1)
    rows = binary.rows
    double = Objective(
        rows.with_targets((rows.y > 0).astype(int), rows.weight),
        Multinomial(),
        0.2,
        True,
        binary.coordinates,
        2,
    )
    a, b = binary.evaluate(theta, 2), double.evaluate(theta[:, None] / np.sqrt(2), 2)
    assert a.value == pytest.approx(b.value, rel=1e-13)
    np.testing.assert_allclose(b.gradient[:, 0], np.sqrt(2) * a.gradient, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(b.hessian, 2 * a.hessian, rtol=1e-11, atol=1e-14)


# ---- constant columns, the intercept, the class basis ----


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
@pytest.mark.parametrize("order", [1, 2])
def test_a_constant_column_has_no_slope_and_a_hessian_that_can_be_inverted(name, order):
    X = draw_cells(np.random.default_rng(3))
    X[:, 1] = 1e8
    objective, _, theta = problem(15, name, X=X, ridge=0.0)
    at = objective.evaluate(theta, order)
    assert np.abs(np.atleast_1d(at.gradient[1])).max() == 0
    if order == 2:
        q, heads = objective.shape[0], 1 if objective.n_classes is None else objective.n_classes - 1
        for k in range(heads):
            row = at.hessian[k * q + 1]
            assert row[k * q + 1] == 1.0
            assert np.count_nonzero(row) == 1
        assert np.linalg.eigvalsh(at.hessian).min() > 0


@pytest.mark.parametrize("k", [2, 3, 4, 7, 20])
def test_the_class_basis_is_orthonormal_and_sums_to_zero(k):
    q = helmert(k)
    assert q.shape == (k, k - 1)
    np.testing.assert_allclose(q.T @ q, np.eye(k - 1), atol=1e-14)
    np.testing.assert_allclose(q.sum(axis=0), 0, atol=1e-14)


def test_k_class_weights_lose_only_their_common_part():
    objective, _, _ = problem(16, "multinomial")
    rng = np.random.default_rng(0)
    coef, intercept = rng.normal(size=(3, 3)), rng.normal(size=3)
    w, b = objective.to_user(objective.from_user(coef, intercept))
    np.testing.assert_allclose(w, coef - coef.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(b, intercept - intercept.mean(), atol=1e-11)


@pytest.mark.parametrize("name", ["logistic", "multinomial", "squared"])
def test_the_penalty_spares_the_intercept(name):
    objective, _, theta = problem(17, name, ridge=2.0)
    value, gradient = objective.penalty(theta)
    coef, _ = objective.to_user(theta)
    assert value == pytest.approx(np.sum(coef**2))
    assert np.abs(np.atleast_1d(gradient[-1])).max() == 0
    moved = theta.copy()
    moved[-1] += 5
    assert objective.penalty(moved)[0] == pytest.approx(value)


@pytest.mark.parametrize("name", ["logistic", "multinomial", "squared"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("kind", ["standard", "gram"])
def test_settling_the_intercept_leaves_the_weights_and_no_slope(name, store, kind):
    with engine(blocks=3):
        objective, _, theta = problem(20, name, store=store, kind=kind)
        theta *= 0.3
        settled = objective.settle_intercept(theta)
        assert np.array_equal(settled[:-1], theta[:-1])
        before, after = objective.evaluate(theta), objective.evaluate(settled)
    assert np.abs(after.gradient[-1]).max() < 1e-12
    assert after.value <= before.value


def test_an_objective_is_not_changed_by_looking_at_it():
    objective, _, theta = problem(18, "multinomial")
    before = theta.copy(), objective.rows.source.copy(), objective.rows.weight.copy()
    first = objective.evaluate(theta, 2)
    second = objective.evaluate(theta, 2)
    assert np.array_equal(theta, before[0])
    assert np.array_equal(objective.rows.source, before[1]) and np.array_equal(
        objective.rows.weight, before[2]
    )
    assert first.value == second.value and first.radius == second.radius
    assert np.array_equal(first.gradient, second.gradient) and np.array_equal(first.hessian, second.hessian)


@pytest.mark.parametrize("scale", [1e3, 1e4])
@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_scores_of_ten_thousand_are_finite(name, scale):
    objective, _, theta = problem(19, name, ridge=0.0)
    for order in (1, 2):
        at = objective.evaluate(scale * theta, order)
        assert np.isfinite(at.value) and np.isfinite(at.gradient).all()
        assert at.hessian is None or np.isfinite(at.hessian).all()
