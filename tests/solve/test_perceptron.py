"""The perceptron's epochs: updates by hand, what ends them, Novikoff's bound; both forms make the same mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.data.orders import Visits
from separatrix.solve.perceptron import (
    BadRow,
    KernelPerceptronRun,
    LinearPerceptronRun,
    linear_bound,
    mistake_bound,
    train,
)
from tests.draws import examples

quick = examples(15)
seeds = st.integers(0, 10_000)
NONE = np.empty(0)


def apart(seed, n=40):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(n) > 0.5, 1, -1).astype(np.int8)
    return np.column_stack([sign * (1.0 + rng.random(n)), rng.normal(size=n)]), sign


def run_of(X, sign, **options):
    return LinearPerceptronRun(X, sign, NONE, 1.0, np.zeros(X.shape[1] + 1), **options)


def trained(run, n, max_iter=200, ask=lambda run: None):
    return train(
        run, lambda epoch: Visits.cyclic(np.arange(n)), max_iter=max_iter, tol=1e-3, patience=5, ask=ask,
        cancelled=lambda counts: None, cyclic=True,
    )  # fmt: skip


def test_two_rows_by_hand():
    """Every score begins at zero, a mistake: w = (1, 1), then the other row lies on the line: w = (2, 0)."""
    X, sign = np.array([[1.0], [-1.0]]), np.array([1, -1], dtype=np.int8)
    run = run_of(X, sign)
    assert [run.epoch(Visits.cyclic(np.arange(2))) for _ in range(2)] == [2, 0]
    np.testing.assert_array_equal(run.w, [2.0, 0.0])
    np.testing.assert_array_equal(run.counts, [1, 1])


@quick
@given(seed=seeds)
def test_separated_rows_end_without_a_mistake_and_within_the_bound(seed):
    X, sign = apart(seed)
    run = run_of(X, sign)
    course = trained(run, len(X))
    assert course.ended == "separated" and course.separable and course.mistakes[-1] == 0
    assert (sign * run.scores() > 0).all()
    bound = linear_bound(run, np.arange(len(X)), len(course.mistakes))
    assert bound.largest and run.mistakes <= bound.value


@quick
@given(seed=seeds)
def test_both_forms_make_the_same_mistakes(seed):
    X, sign = apart(seed)
    K = X @ X.T
    linear, dual = run_of(X, sign), KernelPerceptronRun(lambda i: K[i], sign, NONE, 1.0, np.zeros(len(X)))
    for _ in range(5):
        visits = Visits.cyclic(np.arange(len(X)))
        assert linear.epoch(visits) == dual.epoch(visits)
    np.testing.assert_array_equal(linear.counts, dual.counts)
    np.testing.assert_allclose(linear.scores(), dual.scores(), atol=1e-10)


def test_weights_that_come_back_are_noticed():
    X, sign = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, 1, -1, 1], dtype=np.int8)
    course = trained(run_of(X, sign), 4, max_iter=1000)
    assert course.ended in ("repeated", "stalled") and course.separable is not True


def test_the_pocket_keeps_the_best_and_the_average_is_of_all_visits():
    X, sign = apart(1)
    sign[:3] = -sign[:3]  # nothing separates them now
    pocket, average = run_of(X, sign, pocket=True), run_of(X, sign, average=True)
    for run in (pocket, average):
        trained(run, len(X), max_iter=20)
        run.finish(np.arange(len(X)))
    right = np.count_nonzero(sign * (X @ pocket.chosen[:-1] + pocket.chosen[-1]) > 0)
    assert right >= np.count_nonzero(sign * pocket.scores() > 0)
    np.testing.assert_allclose(average.chosen, average.w - average.drift / average.seen)


def test_a_row_without_a_finite_score_is_named():
    X, sign = apart(2)
    X[7] = np.nan
    with pytest.raises(BadRow, match="row 7"):
        trained(run_of(X, sign), len(X))


def test_the_bound_of_a_known_margin():
    Z = np.array([[2.0, 1.0], [2.0, -1.0]])
    bound = mistake_bound(Z, np.sqrt(5.0), None, np.zeros(2), 1e6)
    assert bound.largest and bound.value == pytest.approx(5 / 4)
    assert mistake_bound(None, 1.0, None, np.zeros(2), 1.0) is None
