"""The checker under attack: a proof holds on its own data and a false claim on none."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix import separability
from separatrix.verdict import proof
from tests.draws import examples
from tests.verdict.reference import kind_by_linear_programs, tiny_tables

some = examples(50)
random = np.random.default_rng


def overlapping(seed=0, classes=2):
    rng = random(seed)
    X = rng.normal(size=(80, 4))
    return X, (X[:, 0] + rng.logistic(size=80) > 0).astype(int) if classes == 2 else rng.integers(
        0, classes, 80
    )


def quasi(seed=0):
    X, y = overlapping(seed)
    X[:, 2] = (X[:, 2] > 1) & (y == 1)
    return X, y


def complete(seed=0, classes=2):
    rng = random(seed)
    X = rng.normal(size=(80, 4))
    return X, (X @ rng.normal(size=(4, classes))).argmax(axis=1)


CASES = {
    "overlap": (*overlapping(), "overlap"),
    "overlap of three": (*overlapping(1, 3), "overlap"),
    "quasi": (*quasi(), "quasi"),
    "complete": (*complete(), "complete"),
    "complete of three": (*complete(2, 3), "complete"),
}
every = pytest.mark.parametrize("name", CASES)
with_direction = pytest.mark.parametrize("name", ["quasi", "complete", "complete of three"])
with_weights = pytest.mark.parametrize("name", ["overlap", "overlap of three", "quasi"])


@every
def test_the_proof_holds_on_its_own_data(name):
    X, y, kind = CASES[name]
    found = separability(X, y)
    assert found.kind == kind and found.check(X, y)


@every
def test_a_label_that_matters_breaks_the_proof(name):
    X, y, kind = CASES[name]
    found = separability(X, y)
    carried = found.margins if kind != "overlap" else found.weights.reshape(len(y), -1).sum(axis=1)
    changed = y.copy()
    changed[np.argmax(carried)] = (changed[np.argmax(carried)] + 1) % len(found.classes)
    assert not found.check(X, changed)


@every
def test_another_table_breaks_the_proof(name):
    X, y, kind = CASES[name]
    found = separability(X, y)
    apart = X.copy()
    apart[:, 0] += 10.0 * y
    for table in (X[::-1], random(3).normal(size=X.shape), apart if kind == "overlap" else -X):
        assert not found.check(table, y)
    assert not found.check(X[:-1], y[:-1])
    assert not found.check(np.column_stack([X, X[:, 0] ** 2]), y)
    assert not found.check(X, y + 10)  # other classes than the claim is about
    turned = X[:, ::-1]
    assert found.check(turned, y) == (kind == "overlap")  # weights know no columns, directions do


@with_direction
def test_wrong_directions(name):
    X, y, _ = CASES[name]
    found = separability(X, y)
    rng = random(4)
    for direction in (
        -found.direction,
        np.zeros_like(found.direction),
        rng.normal(size=found.direction.shape),
        np.full_like(found.direction, np.nan),
        found.direction[..., :-1],
    ):
        assert not replace(found, direction=direction).check(X, y)
    far = np.asarray(found.intercept) + 1e3 * (1 + np.arange(np.size(found.intercept))).reshape(
        np.shape(found.intercept)
    )
    assert not replace(found, intercept=far).check(X, y)


@with_weights
def test_wrong_weights(name):
    X, y, _ = CASES[name]
    found = separability(X, y)
    w = found.weights
    negative = w.copy()
    negative[np.unravel_index(np.argmax(w), w.shape)] *= -1
    lopsided = w * (y == 0).reshape((-1,) + (1,) * (w.ndim - 1))
    uniform = np.where(w > 0, 1.0, 0.0)
    noisy = w * random(5).exponential(size=w.shape) ** 3
    for weights in (
        negative,
        lopsided,
        noisy,
        uniform,
        np.zeros_like(w),
        w * np.nan,
        np.where(w > 0, np.inf, 0),
    ):
        assert not replace(found, weights=weights).check(X, y)


def test_weight_on_a_rows_own_class_is_refused():
    X, y, _ = CASES["overlap of three"]
    found = separability(X, y)
    weights = found.weights.copy()
    weights[0, y[0]] = 1e-3
    assert not replace(found, weights=weights).check(X, y)


@with_weights
def test_weights_off_by_rounding_still_prove_it(name):
    """Exact weights lie beside them: that is what is checked, not the size of a residual."""
    X, y, _ = CASES[name]
    found = separability(X, y)
    shaken = found.weights * (1 + 1e-9 * random(6).normal(size=found.weights.shape))
    assert replace(found, weights=shaken).check(X, y)


def test_weights_that_do_not_span_prove_no_overlap():
    X, y, _ = CASES["quasi"]
    found = separability(X, y)
    claim = replace(found, kind="overlap", direction=None, margins=None)
    assert not claim.check(X, y)
    # the same weights do prove overlap of the rows and columns they reach
    flat = found.margins == 0
    some_columns = [0, 1, 3]
    part = X[flat][:, some_columns]
    shorter = replace(claim, weights=found.weights[flat], n_rows=int(flat.sum()))
    assert shorter.check(part, y[flat])


def test_a_kind_stronger_or_weaker_than_the_truth_is_refused():
    X, y, _ = CASES["quasi"]
    found = separability(X, y)
    assert not replace(found, kind="complete").check(X, y)
    X, y, _ = CASES["complete"]
    found = separability(X, y)
    for weights in (np.full(80, 1 / 80), np.eye(80)[0], (y == 1) / (y == 1).sum()):
        assert not replace(found, kind="quasi", weights=weights).check(X, y)
        assert not replace(found, kind="overlap", weights=weights).check(X, y)
    X, y, _ = CASES["overlap"]
    found = separability(X, y)
    for direction in np.eye(4):
        claim = replace(found, direction=direction, intercept=0.0, margins=np.zeros(80))
        assert not replace(claim, kind="quasi").check(X, y)
        assert not replace(claim, kind="complete").check(X, y)


def test_a_gap_of_one_part_in_1e13_is_not_taken_for_a_tie():
    """Weights of size 1e-13 on the outer rows make the rank look full; they prove nothing."""
    X = np.array([[-1.0], [0.0], [1e-13], [1.0]])
    y = np.array([0, 0, 1, 1])
    assert separability(X, y).kind == "complete"
    for outer in (0.0, 1e-14, 1e-13, 1e-12, 1e-6):
        weights = np.zeros((4, 2))
        weights[[0, 1], 1] = outer, 1.0
        weights[[2, 3], 0] = 1.0, outer
        for spanning in (True, False):
            assert not proof.check_weights(X, y, weights, fit_intercept=True, spanning=spanning)


def test_margins_below_rounding_are_settled_in_rational_numbers():
    X = np.array([[1e8], [1e8 + 2**-20]])
    y = np.array([0, 1])
    direction, intercept = np.array([[0.0], [1.0]]), np.array([0.0, -(1e8 + 2**-21)])
    assert proof.check_direction(X, y, direction, intercept, strict=True)
    assert not proof.check_direction(X, y, direction, intercept - [0, 2**-21], strict=True)
    assert not proof.check_direction(X, y, direction, np.array([0.0, -1e8]), strict=True)
    found = separability(X, y)
    assert found.kind == "complete" and found.check(X, y)


def test_no_rows_reach_nothing():
    weights = np.array([[0.0, 0.5], [0.5, 0.0]])
    assert proof.check_weights(
        np.zeros((2, 1)), np.array([0, 1]), weights, fit_intercept=False, spanning=True
    )
    assert proof.check_weights(np.ones((2, 1)), np.array([0, 1]), weights, fit_intercept=True, spanning=True)
    lone = np.array([[0.0, 1.0], [0.0, 0.0]])
    assert not proof.check_weights(
        np.ones((2, 1)), np.array([0, 1]), lone, fit_intercept=True, spanning=False
    )


@some
@given(tiny_tables(2) | tiny_tables(3), st.data())
def test_a_proof_carried_to_other_data_holds_only_where_its_claim_is_true(table, data):
    """Soundness: whatever proof is offered, the checker accepts it only if the kind is right."""
    X, y = table
    found = separability(X, y)
    other_X, other_y = X.copy(), y.copy()
    for _ in range(data.draw(st.integers(1, 2))):
        i = data.draw(st.integers(0, len(y) - 1))
        if data.draw(st.booleans()):
            other_y[i] = data.draw(st.integers(0, int(y.max())))
        else:
            other_X[i, data.draw(st.integers(0, X.shape[1] - 1))] += data.draw(st.sampled_from([-1.0, 1.0]))
    if len(np.unique(other_y)) < len(found.classes):
        return
    if found.check(other_X, other_y):
        assert found.kind == kind_by_linear_programs(other_X, other_y)


@some
@given(tiny_tables(2), st.sampled_from(["overlap", "quasi", "complete"]), st.integers(0, 2**32 - 1))
def test_a_made_up_proof_holds_only_where_its_claim_is_true(table, kind, seed):
    X, y = table
    rng = random(seed)
    n, p = X.shape
    claim = replace(
        separability(X, y),
        kind=kind,
        direction=rng.integers(-1, 2, p).astype(float),
        intercept=float(rng.integers(-2, 3)),
        margins=np.zeros(n),
        weights=rng.integers(0, 3, n).astype(float),
    )
    if claim.check(X, y):
        assert kind == kind_by_linear_programs(X, y)
