"""The problem of a margin machine: its dual stays below its primal, and its best intercept is best."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from separatrix.problems.margin import best_intercept
from separatrix.solve.finite_newton import finite_newton
from separatrix.solve.interior import interior
from tests.solve.machines import centre, few, machine_of, seeds


@pytest.mark.parametrize("kind", ["hinge", "tube"])
@pytest.mark.parametrize("squared", [False, True])
@few
@given(seed=seeds)
def test_the_dual_is_below_every_primal_value(kind, squared, seed):
    """Weak duality, whatever w, b and β: the proof never claims more than is true."""
    machine = machine_of(kind, seed, squared=squared)
    rng = np.random.default_rng(seed)
    best = (finite_newton if squared else interior)(machine, centre(machine), 1e-9, 100).proof.primal
    for _ in range(5):
        beta = rng.standard_normal(machine.rows.n) * rng.choice([0.01, 1.0, 100.0])
        proof = machine.prove(rng.standard_normal(machine.rows.p), float(rng.standard_normal()), beta)
        assert proof.dual <= best * (1 + 1e-9)
        assert proof.primal >= best * (1 - 1e-9)
        assert abs(proof.beta.sum()) <= 1e-10 * (1 + np.abs(proof.beta).sum())
        np.testing.assert_array_equal(machine.clip(proof.beta), proof.beta)


@pytest.mark.parametrize("kind", ["hinge", "tube"])
@pytest.mark.parametrize("squared", [False, True])
@few
@given(seed=seeds)
def test_best_intercept_is_best(kind, squared, seed):
    machine = machine_of(kind, seed, squared=squared)
    w = np.random.default_rng(seed).standard_normal(machine.rows.p)
    eta = machine.rows.source @ w
    b = best_intercept(machine, eta + 5.0, 5.0)
    least = machine.loss(eta + b)
    for other in b + np.append(np.linspace(-2, 2, 41), [1e-6, -1e-6]):
        assert least <= machine.loss(eta + other) * (1 + 1e-12)
