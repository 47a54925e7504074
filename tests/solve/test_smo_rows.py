"""Some thousand rows on kernel rows made when asked for: the answer of the working sets, however rows are shared."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Kernel, whole
from separatrix.solve import smo, smo_rows
from separatrix.solve.smo import minimise
from tests.draws import examples

KERNELS = [
    Kernel("linear"),
    Kernel("rbf", gamma=0.5),
    Kernel("poly", gamma=0.5, coef0=1.0, degree=3),
]
KINDS = ["hinge", "tube", "nu", "nu tube", "one class"]


def problem(seed, kind, n=90):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(1) + (kind == "one class")  # the origin lies outside
    C = rng.choice([0.3, 1.0, 10.0], n)
    z = rng.normal(size=n)
    y = np.where(X[:, 0] + 0.4 * X[:, 1] > 0.27, 1.0, -1.0)  # a plane between them: ν leaves a margin
    return X, {
        "hinge": lambda: Dual.classifier(y, C),
        "tube": lambda: Dual.regression(z, C, 0.1),
        "nu": lambda: Dual.nu_classifier(y, np.ones(n), 0.3),
        "nu tube": lambda: Dual.nu_regression(z, C, 0.4),
        "one class": lambda: Dual.one_class(C, 0.3),
    }[kind]()


@pytest.fixture
def every_way(monkeypatch):
    """Few rows take the ways of many."""
    monkeypatch.setattr(smo, "SMALL", 0)
    monkeypatch.setattr(smo, "few_steps", lambda *_: None)
    return monkeypatch


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.kind)
@pytest.mark.parametrize("kind", KINDS)
@examples(6)
@given(seed=st.integers(0, 10_000))
def test_it_is_the_answer_of_working_sets(kernel, kind, seed):
    X, dual = problem(seed, kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smo, "SMALL", 0)
        patch.setattr(smo, "few_steps", lambda *_: None)
        found = minimise(kernel, X, dual, tol=1e-6)
        patch.setattr(smo, "fits", lambda *_: False)
        other = minimise(kernel, X, dual, tol=1e-6)
    assert found.stopped_by == other.stopped_by == "gap ≤ tol" and found.rounds == 1
    assert abs(found.dual - other.dual) <= found.gap + other.gap + 1e-9 * abs(found.scale)
    scores = whole(kernel, kernel.points(X)) @ dual.of_rows(found.beta, len(X))
    np.testing.assert_allclose(found.score, scores, atol=1e-9 * (1 + np.abs(scores).max()))
    assert (found.beta >= dual.low).all() and (found.beta <= dual.high).all()
    for g, total in enumerate(dual.totals):
        own = found.beta if dual.group is None else found.beta[dual.group == g]
        assert own.sum() == pytest.approx(total, abs=1e-9 * (1 + np.abs(found.beta).sum()))


@pytest.mark.parametrize("kind", KINDS)
def test_it_does_not_matter_where_rows_of_the_matrix_come_from(every_way, kind):
    X, dual = problem(4, kind)
    kernel = KERNELS[1]
    points = kernel.points(X)
    want = minimise(kernel, points, dual, tol=1e-8)
    K = whole(kernel, points)
    given = Kernel("precomputed")
    among = np.zeros((200, 200))
    at = np.random.default_rng(0).choice(200, len(X), replace=False)
    among[np.ix_(at, at)] = K
    fixed = K.copy()
    fixed.flags.writeable = False
    for points in (given.points(K), given.points(among).take(at), given.points(fixed)):
        got = minimise(given, points, dual, tol=1e-8)
        np.testing.assert_allclose(got.score, want.score, atol=1e-6)
    np.testing.assert_array_equal(K, whole(kernel, kernel.points(X)))  # what was given is as it was
    sparse = minimise(kernel, sp.csr_matrix(X), dual, tol=1e-8)
    np.testing.assert_allclose(sparse.score, want.score, atol=1e-6)


@pytest.mark.parametrize("kind", ["hinge", "tube", "one class"])
def test_rows_that_are_left_out_come_back(every_way, kind):
    X, dual = problem(7, kind, 400)
    shrunk = []
    real = smo_rows.RowsAsked._activate

    def activate(self, rows):
        shrunk.append(len(rows))
        real(self, rows)

    every_way.setattr(smo_rows, "SHRINK_AFTER", 20)
    want = minimise(KERNELS[1], X, dual, tol=1e-7, shrinking=False)
    every_way.setattr(smo_rows.RowsAsked, "_activate", activate)
    got = minimise(KERNELS[1], X, dual, tol=1e-7)
    assert got.stopped_by == want.stopped_by == "gap ≤ tol"
    assert min(shrunk) < 400 and shrunk[-1] == 400
    np.testing.assert_allclose(got.score, want.score, atol=1e-4)


@pytest.mark.parametrize("n", [63, 64, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_first_proves_its_answer_in_double(every_way, kind, n):
    X, dual = problem(3, kind, n)
    kernel = KERNELS[1]
    fit = minimise(kernel, X, dual, tol=5e-3)
    other = minimise(kernel, X, dual, tol=5e-3, single=False)
    assert fit.single and not other.single
    assert fit.stopped_by == other.stopped_by == "gap ≤ tol"
    assert abs(fit.dual - other.dual) <= fit.gap + other.gap
    proof = smo.certify(kernel, X, Dual(**{**vars_of(dual), "start": fit.beta}), fit.levels, 5e-3)
    scale = 1e-6 * (1.0 + abs(proof.scale))
    assert abs(proof.dual - fit.dual) <= scale and abs(proof.primal - fit.primal) <= scale
    support = np.flatnonzero(dual.of_rows(fit.beta, n))
    np.testing.assert_allclose(fit.score[support], proof.score[support], rtol=1e-10, atol=1e-10)


def vars_of(dual):
    return {name: getattr(dual, name) for name in ("linear", "low", "high", "base", "group", "totals")}


def test_what_single_precision_does_not_reach_double_does(every_way):
    X, dual = problem(8, "hinge", 200)
    for tol in (1e-4, 1e-9):  # slopes of size 1 are told apart to 2e-5 and no finer
        fit = minimise(KERNELS[1], X, dual, tol=tol)
        assert fit.violation <= 1.1 * tol and fit.single == (tol > 1e-5)
    every_way.setattr(smo_rows.RowsAsked, "_in_vain", lambda run: run.dtype == np.float32)
    every_way.setattr(smo_rows, "AT_ONCE", 1.0)
    every_way.setattr(smo_rows, "LOOK_AFTER", 20)
    late = minimise(KERNELS[1], X, dual)
    assert late.stopped_by == "gap ≤ tol" and not late.single


def test_single_precision_is_left_in_time_where_it_is_too_coarse(every_way):
    X, dual = problem(9, "nu", 120)
    for tol in (1e-6, 1e-9):
        run = smo._Descent(KERNELS[1], X, dual, tol, None, 200.0, True, None, None)
        assert not run.lightly  # slopes of unknown size
        run.lightly = True
        fit = run.solve()
        assert fit.stopped_by == "gap ≤ tol" and not fit.single and fit.steps < 100_000


def test_steps_in_both_precisions_are_counted_and_limited(every_way):
    X, dual = problem(8, "hinge", 200)
    many = minimise(KERNELS[1], X, dual, tol=1e-5, shrinking=False).steps
    few = minimise(KERNELS[1], X, dual, tol=1e-5, max_steps=many - 3, shrinking=False)
    assert few.steps == many - 3 and few.stopped_by == "max_iter"


def test_what_is_known_of_the_start_is_used(every_way):
    X, dual = problem(5, "hinge", 200)
    cold = minimise(KERNELS[1], X, dual, tol=1e-6)
    y, C = -dual.linear, np.maximum(dual.high, -dual.low)
    warm = minimise(KERNELS[1], X, Dual.classifier(y, C, cold.beta), tol=1e-6)
    assert warm.steps <= 2 and warm.stopped_by == "gap ≤ tol"
    few = minimise(KERNELS[1], X, dual, max_steps=9)
    assert few.steps == 9 and few.stopped_by == "max_iter" and few.gap >= cold.dual - few.dual - 1e-9


def test_a_kernel_that_is_not_definite_is_told(every_way):
    X, dual = problem(6, "hinge")
    fit = minimise(Kernel("sigmoid", gamma=2.0, coef0=-1.0), X, dual)
    assert fit.indefinite


def test_hard_margins_and_little_memory_go_another_way():
    X, dual = problem(0, "hinge")
    kernel, y = KERNELS[1], -dual.linear
    points = kernel.points(X)
    assert smo_rows.fits(kernel, points, dual, 200.0)
    assert not smo_rows.fits(kernel, points, dual, 0.01)
    assert not smo_rows.fits(kernel, points, Dual.classifier(y, np.full(len(y), np.inf)), 200.0)
    assert not smo_rows.fits(
        Kernel(lambda A, B: A @ B.T), Kernel(lambda A, B: A @ B.T).points(X), dual, 200.0
    )
