"""separability: laws, and an independent linear program on tiny tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix import separability
from separatrix.verdict.facial import Undecided
from tests.verdict.reference import assert_sound, kind_by_linear_programs, tiny_tables
from tests.verdict.tables import many, random, some


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_tiny_tables_agree_with_two_linear_programs(classes, fit_intercept):
    @many
    @given(tiny_tables(classes))
    def law(table):
        X, y = table
        found = separability(X, y, fit_intercept=fit_intercept)
        assert found.kind == kind_by_linear_programs(X, y, fit_intercept)
        assert_sound(found, X, y)

    law()


@some
@given(tiny_tables(3), st.permutations(["x", "y", "z"]))
def test_names_of_classes_do_not_matter(table, names):
    X, y = table
    assert separability(X, np.array(names)[y]).kind == separability(X, y).kind


@some
@given(tiny_tables(2))
def test_two_classes_as_two_or_as_part_of_three(table):
    """A third class far away in a new column leaves the other two as they were."""
    X, y = table
    wide = np.column_stack([X, np.zeros(len(X))])
    far = np.zeros((3, wide.shape[1]))
    far[:, -1] = [5.0, 6.0, 7.0]
    joint = separability(np.vstack([wide, far]), [*y, 2, 2, 2])
    alone = separability(X, y).kind
    assert joint.kind == ("complete" if alone == "complete" else "quasi")


@some
@given(
    tiny_tables(2) | tiny_tables(3),
    st.lists(st.integers(-8, 8), min_size=3, max_size=3),
    st.lists(st.sampled_from([0.0, 1.0, -3.0, 1e4, 1e8]), min_size=3, max_size=3),
)
def test_units_and_origins_do_not_matter(table, powers, origins):
    X, y = table
    p = X.shape[1]
    unit, origin = 10.0 ** np.array(powers[:p]), np.array(origins[:p])
    try:
        found = separability((X + origin) * unit, y)  # integers up to 1e8 are stored exactly before the unit
    except Undecided:  # the unit rounds cells far from zero: then it is said, and no answer is given
        assert max(map(abs, origins[:p])) >= 1e4
        return
    same = separability(X, y)
    assert found.kind == same.kind
    assert (
        len(found.columns) == len(same.columns) or found.kind == "complete"
    )  # of equal columns either may be named
    assert found.check((X + origin) * unit, y)


@some
@given(tiny_tables(2) | tiny_tables(3), st.integers(0, 2**32 - 1))
def test_a_change_of_basis_does_not_matter(table, seed):
    X, y = table
    turned = X @ random(seed).normal(size=(X.shape[1], X.shape[1]))
    found = separability(turned, y)
    assert found.kind == separability(X, y).kind
    assert found.check(turned, y)


@some
@given(tiny_tables(2) | tiny_tables(3), st.randoms(use_true_random=False))
def test_order_and_repetition_of_rows_do_not_matter(table, shuffle):
    X, y = table
    order = [*range(len(y)), *range(len(y) // 2)]
    shuffle.shuffle(order)
    found, same = separability(X[order], y[order]), separability(X, y)
    assert found.kind == same.kind
    if found.kind == "quasi":
        assert np.array_equal(found.margins > 0, (same.margins > 0)[order])


@some
@given(tiny_tables(2) | tiny_tables(3))
def test_weights_are_repetition_or_absence(table):
    X, y = table
    weight = np.where(np.arange(len(y)) < 3, 1.0, np.arange(len(y)) % 3)
    keep = weight > 0
    found = separability(X, y, weight)
    assert found.kind == separability(X[keep], y[keep]).kind
    assert found.check(X, y, weight)
