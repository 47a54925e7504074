"""The geometry of a linear rule: laws that hold for any rule, and triangles one can draw ([6867] 5.1)."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from separatrix.core.linear import LinearRule
from tests.draws import examples

quick = examples(50)
cells = st.floats(-100, 100, allow_nan=False).map(lambda v: round(v, 4))


@pytest.fixture(autouse=True)
def _silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@st.composite
def rules(draw, p=3):
    coef = draw(hnp.arrays(np.float64, p, elements=cells))
    assume(np.linalg.norm(coef) > 1e-2)
    return LinearRule(coef, draw(cells))


@st.composite
def class_rules(draw, p=2):
    k = draw(st.integers(3, 5))
    coef = draw(hnp.arrays(np.float64, (k, p), elements=cells, unique=True))
    return LinearRule(coef, draw(hnp.arrays(np.float64, k, elements=cells)))


points = hnp.arrays(np.float64, (4, 3), elements=cells)
plane = hnp.arrays(np.float64, (4, 2), elements=cells)


# ---- laws ----


@quick
@given(rules(), points)
def test_a_point_moved_by_its_distance_along_w_lies_on_the_surface(rule, X):
    foot = X - np.outer(rule.signed_distance(X), rule.coef / rule.norm())
    np.testing.assert_allclose(rule.score(foot), 0, atol=1e-9 * (1 + rule.norm()))


@quick
@given(rules(), points, st.floats(0.01, 100))
def test_distances_do_not_change_when_the_rule_is_scaled(rule, X, c):
    scaled = LinearRule(c * rule.coef, c * rule.intercept)
    np.testing.assert_allclose(scaled.signed_distance(X), rule.signed_distance(X), rtol=1e-9, atol=1e-9)
    assert scaled.distance_from_origin() == pytest.approx(rule.distance_from_origin(), rel=1e-12)


@quick
@given(rules())
def test_the_origin_is_minus_the_surfaces_distance_away(rule):
    assert rule.signed_distance(np.zeros((1, 3)))[0] == pytest.approx(-rule.distance_from_origin())


@quick
@given(rules(), points, hnp.arrays(np.int64, 4, elements=st.sampled_from([-1, 1])))
def test_margins_of_two_classes(rule, X, y):
    np.testing.assert_array_equal(rule.functional_margin(X, y), y * rule.score(X))
    np.testing.assert_allclose(rule.geometric_margin(X, y), y * rule.signed_distance(X))
    assert rule.margin(X, y) == rule.geometric_margin(X, y).min()
    assert (rule.margin(X, y) > 0) == bool((np.sign(rule.score(X)) == y).all())


@quick
@given(class_rules(), plane, st.data())
def test_margins_of_k_classes_are_the_smallest_over_the_rivals(rule, X, data):
    y = data.draw(hnp.arrays(np.int64, 4, elements=st.integers(0, rule.n_classes - 1)))
    functional, geometric = rule.functional_margin(X, y), rule.geometric_margin(X, y)
    for i in range(4):
        rivals = [rule.between(int(y[i]), l) for l in range(rule.n_classes) if l != y[i]]
        scores = [r.score(X[i : i + 1])[0] for r in rivals]
        distances = [r.signed_distance(X[i : i + 1])[0] for r in rivals]
        assert functional[i] == pytest.approx(min(scores), rel=1e-9, abs=1e-8)
        assert geometric[i] == pytest.approx(min(distances), rel=1e-9, abs=1e-8)
    assert rule.margin(X, y) == geometric.min()
    right = rule.score(X).argmax(axis=1) == y
    assert (functional[~right] <= 0).all() and (functional[right] >= 0).all()


@quick
@given(class_rules(), plane)
def test_between_is_the_difference_of_the_scores_and_changes_sign_with_its_order(rule, X):
    pair = rule.between(0, 2)
    scores = rule.score(X)
    np.testing.assert_allclose(pair.score(X), scores[:, 0] - scores[:, 2], atol=1e-9)
    np.testing.assert_array_equal(rule.between(2, 0).score(X), -pair.score(X))


@quick
@given(class_rules(), plane, hnp.arrays(np.float64, 2, elements=cells), cells)
def test_a_common_part_of_all_classes_changes_no_margin(rule, X, w, b):
    moved = LinearRule(rule.coef + w, rule.intercept + b)
    y = np.zeros(4, dtype=int)
    np.testing.assert_allclose(moved.functional_margin(X, y), rule.functional_margin(X, y), atol=1e-7)


# ---- by hand: 3-4-5 ----


def test_the_three_four_five_triangle():
    rule = LinearRule(np.array([3.0, 4.0]), -5.0)
    X = np.array([[3.0, 4.0], [0.0, 0.0], [0.6, 0.8], [-1.0, 2.0]])
    assert rule.n_classes == 2
    assert rule.norm() == 5.0
    assert rule.score(X).tolist() == pytest.approx([20, -5, 0, 0])
    assert rule.signed_distance(X).tolist() == pytest.approx([4, -1, 0, 0])
    assert rule.distance_from_origin() == 1.0
    assert rule.functional_margin(X[:2], np.array([1, -1])).tolist() == [20, 5]
    assert rule.geometric_margin(X[:2], np.array([1, -1])).tolist() == [4, 1]
    assert rule.margin(X[:2], np.array([1, -1])) == 1.0
    assert rule.margin(X[:2], np.array([1, 1])) == -1.0
    assert LinearRule(np.array([3.0, 4.0]), 10.0).distance_from_origin() == -2.0


def test_three_classes_on_a_line_by_hand():
    """Scores 0, x, 2x − 2: surfaces at x = 0 (0|1), x = 2 (1|2), x = 1 (0|2)."""
    rule = LinearRule(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 0.0, -2.0]))
    assert rule.n_classes == 3
    assert -rule.between(1, 0).intercept / rule.between(1, 0).coef[0] == 0.0
    assert rule.between(2, 1).distance_from_origin() == 2.0
    assert rule.between(2, 0).distance_from_origin() == 1.0
    X = np.array([[-3.0], [0.5], [5.0]])
    assert rule.functional_margin(X, np.array([0, 1, 2])).tolist() == [3.0, 0.5, 3.0]
    assert rule.geometric_margin(X, np.array([0, 1, 2])).tolist() == [3.0, 0.5, 3.0]
    assert rule.geometric_margin(X, np.array([2, 2, 0])).tolist() == [-5.0, -1.5, -5.0]
    assert rule.margin(X, np.array([0, 1, 2])) == 0.5


def test_between_of_two_classes():
    rule = LinearRule(np.array([3.0, 4.0]), -5.0)
    forward, backward = rule.between(1, 0), rule.between(0, 1)
    X = np.array([[3.0, 4.0]])
    assert forward.score(X) == [20.0] and backward.score(X) == [-20.0]
    assert backward.distance_from_origin() == -1.0


@pytest.mark.parametrize("pair", [(0, 0), (1, 1), (0, 2), (2, 1), (-1, 0)])
def test_between_refuses_what_is_not_a_pair_of_classes(pair):
    with pytest.raises(ValueError, match="two different indices from 0 to 1"):
        LinearRule(np.array([3.0, 4.0]), -5.0).between(*pair)


def test_between_of_k_classes_refuses_too():
    rule = LinearRule(np.eye(3), np.zeros(3))
    for pair in ((0, 0), (0, 3), (-1, 1)):
        with pytest.raises(ValueError, match="from 0 to 2"):
            rule.between(*pair)


# ---- no surface ----


def test_zero_weights_have_scores_and_no_distances():
    rule = LinearRule(np.zeros(2), 1.5)
    X = np.ones((2, 2))
    assert rule.score(X).tolist() == [1.5, 1.5]
    assert rule.functional_margin(X, np.array([1, -1])).tolist() == [1.5, -1.5]
    for ask in (
        lambda: rule.signed_distance(X),
        lambda: rule.distance_from_origin(),
        lambda: rule.geometric_margin(X, np.array([1, 1])),
        lambda: rule.margin(X, np.array([1, 1])),
    ):
        with pytest.raises(ValueError, match="weight vector is zero"):
            ask()


def test_k_classes_have_no_single_norm():
    rule = LinearRule(np.eye(3), np.zeros(3))
    for ask in (rule.norm, rule.distance_from_origin, lambda: rule.signed_distance(np.ones((1, 3)))):
        with pytest.raises(ValueError, match=r"3 classes.*rule\.between\(k, l\)"):
            ask()


def test_classes_with_equal_weights_have_no_surface_between_them():
    """Rows can be infinitely far from a surface that is nowhere, and a tie everywhere is a margin of zero."""
    rule = LinearRule(np.array([[1.0], [1.0], [-1.0]]), np.array([0.0, 1.0, 0.0]))
    X = np.array([[2.0]])
    assert rule.geometric_margin(X, np.array([1]))[0] == pytest.approx(2.5)
    assert rule.geometric_margin(X, np.array([0]))[0] == -np.inf
    tied = LinearRule(np.zeros((3, 1)), np.zeros(3))
    assert tied.geometric_margin(X, np.array([0]))[0] == 0.0


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_weights_of_any_size_have_a_norm(size):
    rule = LinearRule(size * np.array([3.0, 4.0]), -5.0 * size)
    assert rule.norm() == pytest.approx(5 * size)
    assert rule.distance_from_origin() == pytest.approx(1.0)
    assert rule.signed_distance(np.array([[3.0, 4.0]])) == pytest.approx([4.0])


# ---- storage and types ----


def test_sparse_rows_give_the_same_answers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.5)
    two, many = (
        LinearRule(rng.normal(size=4), 0.5),
        LinearRule(rng.normal(size=(3, 4)), rng.normal(size=3)),
    )
    for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array):
        S = kind(X)
        np.testing.assert_allclose(two.signed_distance(S), two.signed_distance(X))
        assert type(many.score(S)) is np.ndarray
        np.testing.assert_allclose(many.score(S), many.score(X))
        y = np.array([0, 1, 2, 0, 1, 2])
        np.testing.assert_allclose(many.geometric_margin(S, y), many.geometric_margin(X, y))


def test_float32_rows_give_float32_answers():
    X = np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)
    rule = LinearRule(np.array([3.0, 4.0]), -5.0)
    for answer in (
        rule.score(X),
        rule.signed_distance(X),
        rule.functional_margin(X, np.array([1, -1])),
        rule.geometric_margin(X, np.array([1.0, -1.0])),
    ):
        assert answer.dtype == np.float32
    assert rule.signed_distance(X).tolist() == [4.0, -1.0]
    many = LinearRule(np.eye(3)[:, :2], np.zeros(3))
    y = np.array([1, 2])
    assert many.score(X).dtype == many.functional_margin(X, y).dtype == np.float32
    assert many.geometric_margin(X, y).dtype == np.float32
    assert rule.score(sparse.csr_matrix(X)).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.bool_])
def test_integers_and_booleans_are_numbers(dtype):
    X = np.array([[1, 0], [1, 1]], dtype=dtype)
    rule = LinearRule(np.array([3.0, -4.0]), 0.5)
    assert rule.score(X).tolist() == [3.5, -0.5]
    assert rule.score(X).dtype == np.float64


def test_a_rule_is_a_value():
    rule = LinearRule(np.array([1.0]), 0.0)
    with pytest.raises(AttributeError):
        rule.intercept = 2.0
    X = np.array([[2.0]])
    rule.functional_margin(X, np.array([1]))
    assert X.tolist() == [[2.0]] and rule.coef.tolist() == [1.0]
