"""Newton on squared margins: few steps, each exact along its line, and a dual point that proves the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize_scalar

from separatrix.loops.squares import step_length
from separatrix.solve.finite_newton import finite_newton, prove_by_slopes
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
