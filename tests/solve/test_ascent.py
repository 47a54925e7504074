"""Dual coordinate ascent: machines together are the machines apart, and interruption keeps the best."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.data.rows import Rows
from separatrix.problems.margin import MarginMachine
from separatrix.solve.ascent import coordinate_ascent, joint_ascent
from tests.solve.machines import machine_of, table


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_joint_passes_are_the_machines_apart(squared, intercept):
    X, _, rng = table(7, n=120, p=30)
    X[np.abs(X) < 1.0] = 0.0
    X[5] = 0.0  # an empty row
    codes = rng.integers(0, 4, len(X))
    rows = Rows.of(sp.csr_matrix(X))
    machines = []
    for k in range(4):
        cost = np.where(codes == k, 2.0, 1.0)
        y = np.where(codes == k, 1.0, -1.0)
        machines.append(MarginMachine.hinge(rows, y, cost, squared=squared, fit_intercept=intercept))
    for a, b in ((0, 4), (1, 3)):
        together = joint_ascent(rows.source, codes, machines[a:b], a, 1e-8, 50_000)
        for fit, machine in zip(together, machines[a:b], strict=True):
            apart = coordinate_ascent(machine, 1e-8, 50_000)
            assert fit.stopped_by == apart.stopped_by == "gap ≤ tol"
            assert fit.proof.primal == pytest.approx(apart.proof.primal, rel=1e-7)
            assert machine.prove(fit.coef, fit.intercept, fit.proof.beta).gap <= 2e-8 * fit.proof.primal


def test_interrupted_passes_keep_the_best_so_far(monkeypatch):
    import separatrix.solve.ascent as module

    machine = machine_of("hinge", 2)
    calls = []

    def once(*args):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return dense_pass(*args)

    dense_pass = module.dense_pass
    monkeypatch.setattr(module, "dense_pass", once)
    fit = coordinate_ascent(machine, 1e-10, 1000)
    assert fit.stopped_by == "interrupted"
    assert fit.proof.dual <= fit.proof.primal < machine.loss(np.zeros(machine.rows.n))
