"""Newton on squared margins: few steps, each exact along its line, and a dual point that proves the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from scipy.optimize import minimize_scalar

from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.loops.squares import step_length
from separatrix.problems.margin import MarginMachine
from separatrix.solve.finite_newton import finite_newton, prove_by_slopes
from separatrix.solve.short_rows import BySweeps, StoredSums, sums_of
from tests.solve.machines import centre, few, machine_of, seeds


@pytest.mark.parametrize("kind", ["hinge", "tube"])
@few
@given(seed=seeds)
def test_it_ends_in_few_steps_with_a_proof_from_its_slopes(kind, seed):
    machine = machine_of(kind, seed, squared=True)
    fit = finite_newton(machine, centre(machine), 1e-10, 100)
    assert fit.stopped_by == "gap ≤ tol" and fit.iterations <= 30
    proof = prove_by_slopes(machine, fit.coef, fit.intercept)
    assert proof.gap <= 1e-10 * proof.primal
    assert abs(proof.beta.sum()) <= 1e-9 * np.abs(proof.beta).sum()


@few
@given(seed=seeds)
def test_a_step_is_as_long_as_the_line_asks(seed):
    machine = machine_of("tube", seed, squared=True)
    rng = np.random.default_rng(seed)
    n, p = machine.rows.n, machine.rows.p
    w, step = np.zeros(p + 1), rng.normal(size=p + 1)
    X = np.column_stack([machine.rows.source, np.ones(n)])
    eta, move = X @ w, X @ step

    def along(t):
        at = w + t * step
        return 0.5 * at[:p] @ at[:p] + machine.loss(eta + t * move)

    sides = machine.target, machine.up, machine.down, machine.epsilon
    t = step_length(float(w[:p] @ step[:p]), float(step[:p] @ step[:p]), *sides, eta, move)
    assert along(t) <= minimize_scalar(along, bounds=(0, max(2 * t, 1)), method="bounded").fun * (1 + 1e-9)


def half_empty(kind, seed, intercept=True):
    """(sparse machine, the same of dense rows, its columns' means), some rows weighing nothing."""
    rng = np.random.default_rng(seed)
    X = sparse.random(300, 40, 0.08, "csr", random_state=seed)
    score = X @ rng.normal(size=40) + 0.3 * rng.normal(size=300)
    y = score if kind == "tube" else np.where(score > 0.1, 1.0, -1.0)
    cost = rng.integers(0, 3, 300).astype(float)
    up, down = (cost, cost) if kind == "tube" else (np.where(y > 0, cost, 0.0), np.where(y < 0, cost, 0.0))
    rest = y, up, down, 0.05 if kind == "tube" else 0.0, True, intercept
    dense = X.toarray()
    return MarginMachine(Rows.of(X), *rest), MarginMachine(Rows.of(dense), *rest), dense.mean(axis=0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["hinge", "tube"])
@pytest.mark.parametrize("blocks", [1, 3])
def test_sums_by_pairs_of_stored_cells_are_those_of_tiles(kind, intercept, blocks):
    with engine(blocks=blocks):
        stored, dense, mean = half_empty(kind, 0, intercept)
        q, mean = 40 + intercept, mean if intercept else 0.0 * mean
        a, b = sums_of(stored, mean, q), BySweeps(dense, mean, q)
        assert type(a) is StoredSums
        rng = np.random.default_rng(1)
        eta = np.zeros(300)
        for _ in range(4):  # from the second on, what was kept is brought up to date
            one, other = a.short(eta), b.short(eta)
            assert one.loss == pytest.approx(other.loss, rel=1e-13)
            np.testing.assert_allclose(one.hessian, other.hessian, atol=1e-12)
            np.testing.assert_allclose(one.pull, other.pull, atol=1e-12)
            assert a.near_origin()
            step = rng.normal(size=q)
            np.testing.assert_allclose(a.moves(step), b.moves(step), atol=1e-12)
            eta = eta + 0.3 * a.moves(step)


@pytest.mark.parametrize("kind", ["hinge", "tube"])
@pytest.mark.parametrize("seed", range(3))
def test_sparse_rows_come_to_the_same_minimum(kind, seed):
    stored, dense, mean = half_empty(kind, seed)
    one, other = (finite_newton(m, mean, 1e-11, 100) for m in (stored, dense))
    assert one.stopped_by == other.stopped_by == "gap ≤ tol"
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-7)
    assert one.intercept == pytest.approx(other.intercept, abs=1e-7)


def test_columns_far_from_the_origin_are_centred_first():
    stored, _, mean = half_empty("hinge", 0)
    X = stored.rows.source.toarray()
    X[:, 0] = 1e6 + np.random.default_rng(0).normal(size=300)
    mean[0], X = X[:, 0].mean(), sparse.csr_matrix(X)
    far = MarginMachine(Rows.of(X), stored.target, stored.up, stored.down, 0.0, True)
    sums = sums_of(far, mean, 41)
    assert type(sums) is StoredSums
    sums.short(np.zeros(300))
    assert not sums.near_origin()
    assert finite_newton(far, mean, 1e-9, 100).stopped_by == "gap ≤ tol"
