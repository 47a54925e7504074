"""Value, gradient and Hessian of every problem against the same formula in extended precision, row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from separatrix.core.losses import Exponential, Hinge, Logistic, Multinomial, Squared, SquaredHinge
from separatrix.data import rows as rows_module
from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import (
    Coordinates,
    diagonal_coordinates,
    gram_coordinates,
    singular_coordinates,
)
from separatrix.problems.objective import Memo, Objective, helmert
from tests.data.naive import Naive

quick = settings(max_examples=12, deadline=None)
seeds = st.integers(0, 10**6)
LOSSES = {
    "logistic": (Logistic(), None),
    "multinomial": (Multinomial(), 3),
    "multinomial of two": (Multinomial(), 2),
    "squared": (Squared(), None),
    "squared hinge": (SquaredHinge(), None),
    "exponential": (Exponential(), None),
    "hinge": (Hinge(), None),
}
SMOOTH = ["logistic", "multinomial", "multinomial of two", "squared", "exponential"]
STORAGE = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_matrix,
    "csr array float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}
KINDS = ["standard", "identity", "diagonal", "gram", "singular"]


def draw_cells(rng, n=40, p=3):
    """Half of the cells zero; values a float32 can hold, units apart, columns correlated."""
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)))
    X *= rng.random((n, p)) < 0.6
    X *= np.array([1.0, 64.0, 0.125])[:p]
    return X.astype(np.float32).astype(np.float64)


def target(rng, loss, classes, n):
    if loss.target == "class":
        return rng.integers(0, classes, n)
    return rng.choice([-1.0, 1.0], n) if loss.target == "sign" else rng.normal(size=n)


def coordinates_of(kind, rows, fit_intercept, ridge):
    moments = rows.moments()
    match kind:
        case "standard":
            return Coordinates.standard(moments, fit_intercept)
        case "identity":
            return Coordinates.identity(rows.p)
        case "diagonal":
            return diagonal_coordinates(moments, fit_intercept, ridge, 0.25)
        case "gram":
            return gram_coordinates(rows, moments, fit_intercept, ridge, 0.25)
    return singular_coordinates(rows, moments, fit_intercept, ridge, 0.25)[0]


def problem(
    seed, name, *, store=np.asarray, kind="standard", weighted=True, fit_intercept=True, ridge=0.1, X=None
):
    """An objective, the same in extended precision, and a point at which to look."""
    rng = np.random.default_rng(seed)
    loss, classes = LOSSES[name]
    X = draw_cells(rng) if X is None else X
    weight = rng.integers(0, 4, len(X)) + rng.random(len(X)) if weighted else None
    rows = Rows.of(store(X), target(rng, loss, classes, len(X)), weight)
    objective = Objective(
        rows, loss, ridge, fit_intercept, coordinates_of(kind, rows, fit_intercept, ridge), classes
    )
    theta = rng.normal(size=objective.shape)
    return objective, Naive.of(objective), theta


def agree(at, naive, theta, rtol=1e-12):
    """Each part to a few rounding errors of the sums it is made of."""
    value, gradient, hessian = (np.asarray(part, dtype=np.float64) for part in naive.parts(theta))
    assert at.value == pytest.approx(float(value), rel=rtol)
    np.testing.assert_allclose(at.gradient, gradient, rtol=rtol, atol=rtol * (1 + np.abs(gradient).max()))
    if at.hessian is not None:
        scale = np.sqrt(np.diag(hessian))
        np.testing.assert_allclose(
            at.hessian, hessian, rtol=rtol, atol=rtol * (1e-3 + np.outer(scale, scale).max())
        )
        radius = float(np.sqrt((naive.z**2).sum(axis=1).max()))
        assert radius * (1 - 1e-12) <= at.radius <= radius * (1 + 1e-6)


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


# ---- weights and partitions ----


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
@pytest.mark.parametrize("order", [1, 2])
@quick
@given(seed=seeds)
def test_an_integer_weight_is_that_many_copies_and_zero_is_absence(name, order, seed):
    rng = np.random.default_rng(seed)
    loss, classes = LOSSES[name]
    X = draw_cells(rng)
    y = target(rng, loss, classes, len(X))
    copies = rng.integers(0, 4, len(X))
    copies[0] = 1
    weighted, repeated = (
        Rows.of(X, y, copies.astype(float)),
        Rows.of(np.repeat(X, copies, 0), np.repeat(y, copies)),
    )
    answers = []
    for rows in (weighted, repeated):
        objective = Objective(rows, loss, 0.1, True, Coordinates.standard(rows.moments(), True), classes)
        theta = np.linspace(-1, 1, int(np.prod(objective.shape))).reshape(objective.shape)
        answers.append(objective.evaluate(theta, order))
    a, b = answers
    assert a.value == pytest.approx(b.value, rel=1e-12)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-12)
    if order == 2:
        np.testing.assert_allclose(a.hessian, b.hessian, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_a_common_factor_of_all_weights_changes_nothing(order):
    objective, _, theta = problem(9, "logistic")
    rows = objective.rows
    scaled = Objective(
        rows.with_targets(rows.y, rows.weight * 1024.0), Logistic(), 0.1, True, objective.coordinates
    )
    a, b = objective.evaluate(theta, order), scaled.evaluate(theta, order)
    assert a.value == b.value and np.array_equal(a.gradient, b.gradient)
    if order == 2:
        np.testing.assert_allclose(b.hessian, a.hessian, rtol=1e-14)
    ones = Objective(rows.with_targets(rows.y, np.ones(rows.n)), Logistic(), 0.1, True, objective.coordinates)
    none = Objective(rows.with_targets(rows.y, None), Logistic(), 0.1, True, objective.coordinates)
    a, b = ones.evaluate(theta, order), none.evaluate(theta, order)
    assert a.value == pytest.approx(b.value, rel=1e-15)
    np.testing.assert_allclose(a.gradient, b.gradient, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", ["logistic", "multinomial"])
@quick
@given(seed=seeds, cut=st.integers(1, 39))
def test_the_whole_is_the_weighted_mean_of_its_parts(name, order, seed, cut):
    whole, _, theta = problem(seed, name, ridge=0.0)
    rows = whole.rows
    pieces = [
        Objective(
            Rows.of(rows.source[part], rows.y[part], rows.weight[part]),
            whole.loss,
            0.0,
            True,
            whole.coordinates,
            whole.n_classes,
        )
        for part in (slice(0, cut), slice(cut, None))
    ]
    share = np.array([p.total_weight for p in pieces]) / whole.total_weight
    at = whole.evaluate(theta, order)
    parts = [p.evaluate(theta, order) for p in pieces]
    assert at.value == pytest.approx(sum(s * p.value for s, p in zip(share, parts)), rel=1e-12)
    np.testing.assert_allclose(at.gradient, sum(s * p.gradient for s, p in zip(share, parts)), atol=1e-12)
    if order == 2:
        np.testing.assert_allclose(at.hessian, sum(s * p.hessian for s, p in zip(share, parts)), atol=1e-12)
        assert at.radius == pytest.approx(max(p.radius for p in parts))


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_grids_of_1_7_and_97_blocks_agree(name, order, store):
    answers = []
    for blocks in (1, 7, 97):
        with engine(blocks=blocks):
            objective, _, theta = problem(11, name, store=store)
            answers.append(objective.evaluate(theta, order))
    for other in answers[1:]:
        assert other.value == pytest.approx(answers[0].value, rel=1e-13)
        np.testing.assert_allclose(other.gradient, answers[0].gradient, rtol=1e-11, atol=1e-13)
        if order == 2:
            np.testing.assert_allclose(other.hessian, answers[0].hessian, rtol=1e-11, atol=1e-13)
            assert other.radius == pytest.approx(answers[0].radius, rel=1e-9)


def test_small_tiles_change_nothing_but_rounding(monkeypatch):
    objective, naive, theta = problem(12, "multinomial", X=draw_cells(np.random.default_rng(0), 300))
    monkeypatch.setattr(rows_module, "TILE_BYTES", 64)
    assert len(list(objective.rows.block(0).tiles(4))) > 4
    agree(objective.evaluate(theta), naive, theta)
    agree(objective.evaluate(theta, order=2), naive, theta)


# ---- sampling ----


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_stride_evaluates_the_rows_of_its_tiles(name, weighted, monkeypatch):
    monkeypatch.setattr(rows_module, "TILE_BYTES", 64)
    objective, _, theta = problem(13, name, X=draw_cells(np.random.default_rng(1), 900), weighted=weighted)
    rows = objective.rows
    block = rows.block(0)
    tiles = list(block.tiles(objective.shape[0], 4))
    picked = np.concatenate([np.arange(t.start, t.stop) for t in tiles])
    assert 0 < len(picked) < rows.n / 2
    sample = Objective(
        Rows.of(rows.source[picked], rows.y[picked], None if rows.weight is None else rows.weight[picked]),
        objective.loss,
        objective.ridge,
        True,
        objective.coordinates,
        objective.n_classes,
    )
    at = objective.evaluate(theta, order=2, stride=4)
    agree_with = sample.evaluate(theta, order=2)
    assert at.value == pytest.approx(agree_with.value, rel=1e-12)
    np.testing.assert_allclose(at.gradient, agree_with.gradient, atol=1e-12)
    np.testing.assert_allclose(at.hessian, agree_with.hessian, atol=1e-12)


def test_a_sample_bounds_no_radius(monkeypatch):
    """The radius enters proofs: it must come from every row or be infinite."""
    monkeypatch.setattr(rows_module, "TILE_BYTES", 64)
    X = draw_cells(np.random.default_rng(2), 900)
    X[-1] = 1e3
    objective, naive, theta = problem(14, "logistic", X=X)
    assert objective.evaluate(theta, order=2, stride=4).radius == np.inf
    full = float(np.sqrt((naive.z**2).sum(axis=1).max()))
    assert objective.evaluate(theta, order=2).radius == pytest.approx(full)
    assert objective.evaluate(theta, order=2, stride=4).radius in (np.inf, pytest.approx(full))


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


# ---- what sweeps leave to the next travels in the open ----


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
@pytest.mark.parametrize("storage", ["C", "csr"])
def test_a_memo_changes_no_number_and_an_objective_keeps_nothing(name, storage):
    X = draw_cells(np.random.default_rng(4))
    objective, _, theta = problem(17, name, X=X, store=STORAGE[storage])
    before, memo = set(vars(objective)), Memo()
    for point in (theta, 0.5 * theta, theta):
        with_memo, without = objective.evaluate(point, memo=memo), objective.evaluate(point)
        assert with_memo.value == without.value
        np.testing.assert_array_equal(with_memo.gradient, without.gradient)
    assert memo.radius is None
    seen = objective.evaluate(theta, order=2, memo=memo).radius
    assert memo.radius == seen == objective.evaluate(0 * theta, memo=memo).radius
    kept = {k: v for k, v in vars(objective).items() if k not in before}
    assert not any(isinstance(v, list) for v in kept.values())
