"""Few rows in one run: the answer of the working sets, to rounding, whatever the box, the kernel and the start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Kernel, Points
from separatrix.solve import smo, smo_few
from separatrix.solve.smo import minimise
from tests.draws import examples

KERNELS = [Kernel("linear"), Kernel("rbf", gamma=0.5), Kernel("poly", gamma=0.5, coef0=1.0, degree=2)]


def problem(seed, kind, n=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)  # some rows are equal
    C = rng.choice([0.3, 1.0, 10.0], n)
    if kind == "tube":
        return X, Dual.regression(rng.normal(size=n), C, 0.1)
    return X, Dual.classifier(np.where(rng.random(n) < 0.4, 1.0, -1.0), C)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.kind)
@pytest.mark.parametrize("kind", ["hinge", "tube"])
@examples(10)
@given(seed=st.integers(0, 10_000))
def test_it_is_the_answer_of_working_sets(kernel, kind, seed):
    X, dual = problem(seed, kind)
    few = minimise(kernel, X, dual)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smo, "few_steps", lambda *_: None)
        other = minimise(kernel, X, dual)
    assert few.stopped_by == other.stopped_by == "gap ≤ tol"
    assert few.dual == pytest.approx(other.dual, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(few.score, other.score, atol=1e-6 * (1 + np.abs(other.score).max()))
    assert few.gap <= 1e-9 * max(few.primal, 1.0)
    scores = kernel(X, X) @ dual.of_rows(few.beta, len(X))
    np.testing.assert_allclose(few.score, scores, atol=1e-9 * (1 + np.abs(scores).max()))
    assert (few.beta >= dual.low).all() and (few.beta <= dual.high).all() and abs(few.beta.sum()) < 1e-9


def test_many_rows_hard_margins_and_sums_by_groups_go_another_way():
    X, dual = problem(0, "hinge")
    ready = Points(X, np.empty(0))
    assert smo_few.few_steps(KERNELS[0], ready, dual, 100, -np.inf) is not None
    y = -dual.linear
    for other in (Dual.classifier(y, np.full(30, np.inf)), Dual.nu_classifier(y, np.ones(30), 0.2)):
        assert smo_few.few_steps(KERNELS[0], ready, other, 100, -np.inf) is None
    many = Points(np.zeros((smo_few.SMALL + 1, 3)), np.empty(0))
    assert smo_few.few_steps(KERNELS[0], many, dual, 100, -np.inf) is None


def test_a_limit_on_steps_holds_and_is_said():
    X, dual = problem(3, "hinge")
    fit = minimise(KERNELS[1], X, dual, max_steps=5)
    assert fit.stopped_by == "max_iter" and fit.steps <= 5
