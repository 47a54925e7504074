"""Sums over blocks: weights are repetition, parts add up to the whole, grids and tiles change rounding only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from separatrix.core.losses import Logistic
from separatrix.data import rows as rows_module
from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import (
    Coordinates,
)
from separatrix.problems.objective import Memo, Objective
from tests.problems.objective_cases import LOSSES, STORAGE, agree, draw_cells, problem, quick, seeds, target

pytestmark = pytest.mark.usefixtures("way")

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
def test_a_stride_evaluates_one_row_of_every_four(name, weighted):
    objective, _, theta = problem(13, name, X=draw_cells(np.random.default_rng(1), 900), weighted=weighted)
    rows = objective.rows
    places = Rows.of(np.arange(900.0)[:, None]).block(0).thinned(4)
    picked = places.X[:, 0].astype(int)
    np.testing.assert_array_equal(picked // 4, np.arange(225))  # from all over the table, sorted or not
    assert len(set(picked % 4)) == 4  # and in step with no pattern that repeats
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


# ---- what sweeps leave to the next travels in the open ----


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
@pytest.mark.parametrize("storage", ["C", "csr"])
def test_a_memo_changes_no_number_and_an_objective_keeps_nothing(name, storage, way):
    X = draw_cells(np.random.default_rng(4))
    objective, _, theta = problem(17, name, X=X, store=STORAGE[storage])
    before, memo = set(vars(objective)), Memo()
    for point in (theta, 0.5 * theta, theta):
        with_memo, without = objective.evaluate(point, memo=memo), objective.evaluate(point)
        assert with_memo.value == without.value
        np.testing.assert_array_equal(with_memo.gradient, without.gradient)
    assert (memo.radius is None) == (storage == "csr" or way == "blocks")  # a tile knows it from the start
    seen = objective.evaluate(theta, order=2, memo=memo).radius
    assert memo.radius == seen == objective.evaluate(0 * theta, memo=memo).radius
    kept = {k: v for k, v in vars(objective).items() if k not in before}
    assert not any(isinstance(v, list) for v in kept.values())
