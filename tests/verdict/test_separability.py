"""separability: cases built so that the answer is known."""

import pickle
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix import separability
from separatrix.verdict import separability as module
from tests.draws import examples
from tests.verdict.reference import assert_sound, kind_by_linear_programs, tiny_tables
from tests.verdict.tables import noisy, random


def test_two_classes_with_a_gap_are_separated():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    found = separability(X, [0, 0, 1, 1])
    assert found.kind == "complete" and found.separable
    assert found.columns == (0,) and found.direction[0] > 0
    assert_sound(found, X, [0, 0, 1, 1])


def test_two_classes_that_touch_are_quasi_separated():
    X = np.array([[0.0], [1.0], [1.0], [3.0]])
    found = separability(X, [0, 0, 1, 1])
    assert found.kind == "quasi" and not found.separable
    assert found.margins.tolist()[1:3] == [0.0, 0.0] and found.margins[0] > 0 and found.margins[3] > 0
    assert_sound(found, X, [0, 0, 1, 1])


def test_interleaved_classes_overlap():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    found = separability(X, [0, 1, 0, 1])
    assert found.kind == "overlap"
    assert_sound(found, X, [0, 1, 0, 1])


def test_one_quasi_separating_binary_column_among_twenty():
    X, y = noisy()
    X[:, 13] = 0.0
    X[y == 1, 13] = random(1).random(int(y.sum())) < 0.1
    found = separability(X, y)
    assert found.kind == "quasi" and found.columns == (13,)
    assert found.direction[13] > 0 and np.count_nonzero(found.direction) == 1
    assert np.array_equal(found.margins > 0, X[:, 13] == 1)
    assert_sound(found, X, y)


def test_two_quasi_separating_columns_are_both_named():
    X, y = noisy()
    rng = random(2)
    X[:, [3, 8]] = 0.0
    X[y == 1, 3] = rng.random(int(y.sum())) < 0.1
    X[y == 0, 8] = rng.random(int((1 - y).sum())) < 0.1
    found = separability(X, y)
    assert found.kind == "quasi" and found.columns == (3, 8)
    assert found.direction[3] > 0 > found.direction[8]
    assert np.array_equal(found.margins > 0, X[:, [3, 8]].any(axis=1))
    assert_sound(found, X, y)


def test_quasi_separation_through_a_combination_of_columns():
    X, y = noisy(n=400, p=6, seed=3)
    X = X - np.outer(X @ [1, 1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0])  # x0 + x1 = 0 everywhere …
    X[:5, 0] += 1.0  # … but in five rows of one class
    y[:5] = 1
    found = separability(X, y)
    assert found.kind == "quasi" and found.columns == (0, 1)
    assert found.direction[0] == pytest.approx(found.direction[1])
    assert np.array_equal(found.margins > 0, np.arange(400) < 5)
    assert_sound(found, X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_leaking_column_stands_alone(classes):
    rng = random(4)
    X = rng.normal(size=(150, 12))
    y = np.arange(150) % classes
    X[:, 5] = 1e-6 * y + 3.0
    found = separability(X, y)
    assert found.kind == "complete" and found.columns == (5,)
    assert_sound(found, X, y)


def test_equal_rows_of_two_classes_forbid_complete_separation():
    X, y = noisy(n=30, p=40)
    assert separability(X, y).kind == "complete"
    X[1], y[0], y[1] = X[0], 0, 1
    found = separability(X, y)
    assert found.kind == "quasi"
    assert found.weights[:2] == pytest.approx([0.5, 0.5]) and not found.weights[2:].any()
    assert_sound(found, X, y)


def two_rows_at(gap):
    """Two classes on either side of a plane, and two more rows at ± gap from it (before a change of basis)."""
    rng = random(5)
    X = rng.normal(size=(60, 3))
    rows = np.vstack([X, [[gap, 1.0, 1.0], [-gap, 1.0, 1.0]]]) @ rng.normal(size=(3, 3))
    return rows, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("gap", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_tiny_gap_is_a_gap(gap, fit_intercept):
    X, y = two_rows_at(gap)
    found = separability(X, [*y, 1, 0], fit_intercept=fit_intercept)
    assert found.kind == "complete"
    assert_sound(found, X, [*y, 1, 0])


@pytest.mark.parametrize("gap", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_tiny_overlap_is_an_overlap(gap, fit_intercept):
    X, y = two_rows_at(gap)
    found = separability(X, [*y, 0, 1], fit_intercept=fit_intercept)
    assert found.kind == "overlap"
    assert_sound(found, X, [*y, 0, 1])


def test_three_classes_of_which_one_is_apart():
    rng = random(6)
    X = rng.normal(size=(300, 4))
    y = np.where(rng.random(300) < 0.5, 0, 1)
    y[:100] = 2
    X[:100, 1] += 50.0
    found = separability(X, y)
    assert found.kind == "quasi" and found.columns == (1,)
    assert (found.margins[:100] > 0).all() and not found.margins[100:].any()
    assert_sound(found, X, y)


def test_three_classes_on_a_circle_are_separated_only_together():
    """Each class is apart from the two others, although no single column says so."""
    rng = random(7)
    angle = np.repeat([0.0, 2.1, 4.2], 40) + rng.uniform(-0.6, 0.6, 120)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    found = separability(X, np.repeat(["a", "b", "c"], 40))
    assert found.kind == "complete" and found.columns == (0, 1)
    assert_sound(found, X, np.repeat(["a", "b", "c"], 40))


def test_classes_two_by_two_separated_may_overlap_jointly():
    """Three pairwise gaps that turn round the origin: no three vectors satisfy them at once without an intercept."""
    X = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    directions = np.repeat(X, 2, axis=0)  # two rows a class on one ray, so that margins are (D_y − D_k)·x ≥ 0
    y = np.repeat([0, 1, 2], 2)
    for order in permutations(range(3)):
        relabelled = np.array(order)[y]
        want = kind_by_linear_programs(directions, relabelled, fit_intercept=False)
        assert separability(directions, relabelled, fit_intercept=False).kind == want


def test_without_an_intercept_the_origin_counts():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    y = [0, 0, 1, 1]
    assert separability(X, y).kind == "complete"
    found = separability(X, y, fit_intercept=False)
    assert found.kind == "overlap" and not found.fit_intercept
    assert_sound(found, X, y)
    centred = X - 2.5
    found = separability(centred, y, fit_intercept=False)
    assert found.kind == "complete" and found.intercept == 0.0
    assert_sound(found, centred, y)


def test_a_row_of_zeros_is_on_every_surface_through_the_origin():
    X = np.array([[-1.0], [0.0], [1.0]])
    found = separability(X, [0, 1, 1], fit_intercept=False)
    assert found.kind == "quasi" and found.margins[1] == 0.0
    assert_sound(found, X, [0, 1, 1])
    only = separability(np.zeros((3, 2)), [0, 1, 1], fit_intercept=False)
    assert only.kind == "overlap"
    assert_sound(only, np.zeros((3, 2)), [0, 1, 1])


def test_constant_and_repeated_columns_change_nothing():
    X, y = noisy(p=4)
    for table in (
        np.column_stack([X, np.full(200, 7.0)]),
        np.column_stack([X, X, 1 - 3 * X[:, :1]]),
        np.full((200, 2), 5.0),
    ):
        found = separability(table, y)
        assert found.kind == "overlap"
        assert_sound(found, table, y)
    apart = np.column_stack([X, X])
    apart[y == 1] += 100.0
    found = separability(apart, y)
    assert found.kind == "complete" and len(found.columns) == 1
    assert_sound(found, apart, y)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, np.uint8, bool])
def test_cells_of_any_number_type(dtype):
    rng = random(8)
    X = (rng.random((120, 5)) < 0.4).astype(dtype)
    y = (rng.random(120) < 0.5).astype(int)
    X[:, 2] = (rng.random(120) < 0.3) & (y == 1)
    found = separability(X, y)
    assert found.kind == "quasi" and 2 in found.columns
    assert found.kind == separability(X.astype(float), y).kind
    assert_sound(found, X, y)


def test_units_from_1e_minus_8_to_1e8_and_a_column_far_from_zero():
    X, y = noisy(p=6)
    X[:, 2] = (X[:, 2] > 1) & (y == 0)
    table = X * 10.0 ** np.array([-8, 8, -8, 3, 0, -3])
    table[:, 4] = 1e8 + np.round(table[:, 4])
    found = separability(table, y)
    assert found.kind == "quasi" and found.columns == (2,)
    assert_sound(found, table, y)


def test_labels_of_any_kind_and_names_of_columns():
    pd = pytest.importorskip("pandas")
    X, y = noisy(p=5)
    frame = pd.DataFrame(X, columns=["age", "dose", "sex", "weight", "treated"])
    frame["treated"] = ((y == 1) & (X[:, 4] > 1)).astype(int)
    found = separability(frame, np.where(y == 1, "ill", "well"))
    assert found.kind == "quasi" and found.columns == ("treated",)
    assert found.classes == ("ill", "well") and found.direction[4] < 0
    assert found.sentence() == "the classes are quasi-separated by column 'treated' (coefficient → −∞)"
    assert found.check(frame, np.where(y == 1, "ill", "well"))


def test_sparse_rows_give_the_dense_answer():
    sparse = pytest.importorskip("scipy.sparse")
    rng = random(9)
    for kind, X, y in (
        ("overlap", (rng.random((300, 8)) < 0.3) * 1.0, rng.integers(0, 2, 300)),
        ("complete", (rng.random((40, 200)) < 0.1) * rng.normal(size=(40, 200)), rng.integers(0, 3, 40)),
    ):
        found = separability(sparse.csr_array(X), y)
        assert found.kind == separability(X, y).kind == kind
        assert_sound(found, sparse.csr_matrix(X), y)


def test_wide_sparse_rows_are_decided_without_a_dense_table():
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.random_array((2500, 20_000), density=2e-3, rng=random(10), format="csr")
    y = random(11).integers(0, 2, 2500)
    found = separability(X, y)
    assert found.kind == "complete" and found.check(X, y)
    twice = sparse.vstack([X, X[[7]]]).tocsr()  # the same document in both classes
    both = np.append(y, 1 - y[7])
    found = separability(twice, both)
    assert found.kind == "quasi" and found.check(twice, both)
    assert np.flatnonzero(found.weights).tolist() == [7, 2500]
    assert found.margins[7] == found.margins[2500] == 0.0 and np.count_nonzero(found.margins == 0) == 2
    assert not found.check(X, y)


@examples(60)
@given(tiny_tables(2) | tiny_tables(3), st.booleans())
def test_first_order_steps_tell_the_truth_or_nothing(table, fit_intercept):
    """The way of wide tables, on tables small enough to know the answer."""
    X, y = table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "QUICK", 0.0)
        patch.setattr(module, "MAX_EFFORT", 0.0)
        try:
            found = separability(X, y, fit_intercept=fit_intercept)
        except ArithmeticError:
            assert kind_by_linear_programs(X, y, fit_intercept) != "complete"
            return
    assert found.kind == kind_by_linear_programs(X, y, fit_intercept)
    assert_sound(found, X, y)


def test_what_is_too_large_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(module, "QUICK", 0.0)
    monkeypatch.setattr(module, "MAX_EFFORT", 0.0)
    X, y = noisy(n=300, p=3)
    with pytest.raises(ArithmeticError, match="300 rows, 3 columns and 2 classes are too many"):
        separability(X, y)


def test_dask_rows_are_read():
    da = pytest.importorskip("dask.array")
    X, y = noisy(p=3)
    found = separability(da.from_array(X, chunks=(50, 3)), da.from_array(y, chunks=50))
    assert found.kind == separability(X, y).kind == "overlap"
    assert found.check(da.from_array(X, chunks=(50, 3)), y)


def test_weight_zero_is_absence():
    X = np.array([[0.0], [1.0], [2.0], [1.5], [2.5], [9.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    assert separability(X, y).kind == "overlap"
    keep = np.array([1.0, 1.0, 0.0, 3.0, 0.5, 1.0])
    found = separability(X, y, sample_weight=keep)
    assert found.kind == "complete" and found.n_rows == 5
    assert np.isnan(found.margins).tolist() == (keep == 0).tolist()
    assert found.check(X, y, sample_weight=keep) and not found.check(X, y)
    touching = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    X[4] = 2.0
    found = separability(X, y, touching)
    assert found.kind == "quasi" and found.weights[3] == 0 and found.check(X, y, touching)


def test_weight_zero_may_remove_a_class():
    X = np.arange(6.0)[:, None]
    y = ["a", "a", "b", "b", "c", "c"]
    found = separability(X, y, [1, 1, 0, 0, 1, 1])
    assert found.classes == ("a", "c") and found.kind == "complete" and found.direction.shape == (1,)
    assert found.check(X, y, [1, 1, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="only one class, 'c'"):
        separability(X, y, [0, 0, 0, 0, 1, 1])


def test_bad_input_is_refused_by_name():
    X, y = noisy(n=20, p=2)
    with pytest.raises(ValueError, match="only one class, 1"):
        separability(X, np.ones(20, dtype=int))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN: column 1, row 3"):
        separability(X, y)


def test_the_answer_is_the_same_each_time_and_can_be_stored():
    X, y = noisy(n=3000, p=10)
    one, two = separability(X, y), separability(X, y)
    assert np.array_equal(one.weights, two.weights) and one.residual == two.residual
    again = pickle.loads(pickle.dumps(one))
    assert again.check(X, y) and str(again) == str(one)


def test_many_rows_need_few_for_the_proof():
    rng = random(12)
    X = rng.normal(size=(60_000, 15))
    y = (X[:, 0] + rng.logistic(size=60_000) > 0).astype(int)
    found = separability(X, y)
    assert found.kind == "overlap" and np.count_nonzero(found.weights) < 1000
    assert_sound(found, X, y)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    found = separability(X, y)
    assert found.kind == "complete" and found.columns == (0, 1)
    assert_sound(found, X, y)
    y[np.argmax(X[:, 0] + X[:, 1])] = 0  # one row among the others
    assert separability(X, y).kind == "overlap"


def test_a_rare_column_in_many_rows_is_not_overlooked():
    rng = random(13)
    X = rng.normal(size=(60_000, 8))
    y = (X[:, 0] + rng.logistic(size=60_000) > 0).astype(int)
    X[:, 5] = 0.0
    X[np.flatnonzero(y == 1)[:3], 5] = 1.0
    found = separability(X, y)
    assert found.kind == "quasi" and found.columns == (5,)
    assert np.array_equal(np.flatnonzero(found.margins), np.flatnonzero(X[:, 5]))
    assert_sound(found, X, y)
    X[np.flatnonzero(y == 0)[0], 5] = 1.0
    found = separability(X, y)
    assert found.kind == "overlap"
    assert_sound(found, X, y)
