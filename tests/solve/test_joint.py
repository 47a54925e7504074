"""All classes in one machine: passes and the programme agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from separatrix.data.rows import Rows
from separatrix.solve.joint import JointMachine, joint_passes, joint_programme
from tests.draws import examples
from tests.solve.machines import seeds, table


@pytest.mark.parametrize("intercept", [False, True])
@examples(6)
@given(seed=seeds)
def test_joint_machine_by_passes_and_as_a_programme(intercept, seed):
    X, _, rng = table(seed, n=40, p=3)
    codes = rng.integers(0, 3, len(X))
    codes[:3] = range(3)
    machine = JointMachine(Rows.of(X), codes, rng.integers(0, 3, len(X)) + 0.5, 3, intercept)
    passes, programme = joint_passes(machine, 1e-6, 100_000), joint_programme(machine, 1e-6, 100)
    assert passes.stopped_by == programme.stopped_by == "gap ≤ tol"
    assert passes.primal == pytest.approx(programme.primal, rel=1e-6)  # each is within its gap of the optimum
    best = programme.primal
    for _ in range(5):  # any α proves a bound, and it is one
        fit = machine.prove(
            rng.standard_normal((3, 3)), rng.standard_normal(3), rng.standard_normal((40, 3)) * 3
        )
        assert fit.dual <= best * (1 + 1e-9) and fit.primal >= best * (1 - 1e-9)
        np.testing.assert_allclose(fit.alpha.sum(axis=1), 0.0, atol=1e-12)
        if intercept:
            np.testing.assert_allclose(fit.alpha.sum(axis=0), 0.0, atol=1e-8)
