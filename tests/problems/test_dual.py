"""Duals of kernel machines: starts that are feasible, and what a point proves, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.problems.dual import Dual
from tests.draws import examples

quick = examples(25)
seeds = st.integers(0, 10_000)


def drawn(seed, kind, n=12):
    """A dual, a feasible β beside its start, and a positive semidefinite K."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, 4))
    C, y = rng.uniform(0.5, 2.0, n), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    match kind:
        case "classifier":
            dual = Dual.classifier(y, C)
        case "regression":
            dual = Dual.regression(rng.normal(size=n), C, 0.2)
        case "nu classifier":
            dual = Dual.nu_classifier(y, C, 0.4)
        case "nu regression":
            dual = Dual.nu_regression(rng.normal(size=n), C, 0.4)
        case _:
            dual = Dual.one_class(C, 0.4)
    beta = dual.start.copy()
    for _ in range(200):  # moves that keep the sum of a group
        i, j = rng.integers(0, len(beta), 2)
        if dual.group is None or dual.group[i] == dual.group[j]:
            most = min(dual.high[i] - beta[i], beta[j] - dual.low[j])
            step = rng.random() * max(most, 0.0)
            beta[i] += step
            beta[j] -= step
    return dual, beta, A @ A.T


KINDS = ["classifier", "regression", "nu classifier", "nu regression", "one class"]


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(seed=seeds)
def test_every_start_is_in_its_box_and_has_its_sums(kind, seed):
    dual, beta, _ = drawn(seed, kind)
    for point in (dual.start, beta):
        assert (point >= dual.low - 1e-12).all() and (point <= dual.high + 1e-12).all()
        groups = np.zeros(len(point), int) if dual.group is None else dual.group
        np.testing.assert_allclose(
            [point[groups == g].sum() for g in range(len(dual.totals))], dual.totals, atol=1e-9
        )


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(seed=seeds)
def test_a_point_proves_no_more_than_is_true(kind, seed):
    """The dual is −(½βᵀKβ + qᵀβ), and no feasible point's exceeds another one's primal, whatever b."""
    dual, beta, K = drawn(seed, kind)
    rng = np.random.default_rng(seed)
    at = {}
    for name, point in (("start", dual.start), ("moved", beta)):
        score = K @ dual.of_rows(point, len(K))
        at[name] = dual.prove(point, score)
        square = dual.of_rows(point, len(K)) @ score
        assert at[name].square == pytest.approx(square)
        assert at[name].dual == pytest.approx(-0.5 * square - dual.linear @ point)
        levels = tuple(rng.normal(size=len(dual.totals)))
        at[name + " b"] = dual.prove(point, score, levels)
        assert at[name + " b"].levels == levels
    lowest = min(found.primal for found in at.values())
    assert all(found.dual <= lowest + 1e-9 * (1 + abs(lowest)) for found in at.values())


def test_a_free_variable_gives_the_intercept_and_bounds_an_interval():
    dual = Dual.classifier(np.array([1.0, -1.0]), np.ones(2))
    free = dual.prove(np.array([0.5, -0.5]), np.array([0.5, -0.5]))
    assert (free.violation, free.levels, free.freedom, free.primal, free.dual) == (
        1.0,
        (0.0,),
        0.0,
        1.25,
        0.75,
    )
    at_bounds = dual.prove(np.array([1.0, -1.0]), np.zeros(2))
    assert at_bounds.violation == 0.0 and at_bounds.freedom == 2.0 and at_bounds.levels == (0.0,)


def test_a_hard_margin_is_scaled_up_to_its_rows():
    dual = Dual.classifier(np.array([1.0, -1.0]), np.full(2, np.inf))
    assert dual.hard
    near = dual.prove(np.array([0.5, -0.5]), np.array([0.5, -0.5]))  # margins of one half: w is doubled
    assert near.primal == pytest.approx(0.5 * near.square * 4)
    assert dual.prove(np.zeros(2), np.zeros(2)).primal == np.inf
