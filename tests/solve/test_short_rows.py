"""Sums over rows that are short: rows at hand keep theirs from step to step, sweeps make them anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.solve.finite_newton import finite_newton
from separatrix.solve.short_rows import AtHand, BySweeps, Table
from tests.solve.machines import centre, few, machine_of, seeds


@pytest.mark.parametrize("kind", ["hinge", "tube"])
@few
@given(seed=seeds)
def test_rows_at_hand_say_what_sweeps_say(kind, seed):
    machine = machine_of(kind, seed, squared=True)
    rng, mean, q = np.random.default_rng(seed), centre(machine), machine.rows.p + int(machine.fit_intercept)
    mean = mean if machine.fit_intercept else np.zeros_like(mean)
    table = Table.of(machine.rows, mean, machine.fit_intercept)
    sweeps, hand = BySweeps(machine, mean, q), AtHand(machine, table)
    eta, step = np.zeros(machine.rows.n), rng.normal(size=q)
    np.testing.assert_allclose(hand.moves(step), sweeps.moves(step), atol=1e-9)
    for size in (0.0, 1.0, 0.1, 0.01, 0.01):  # fewer and fewer rows cross their corner
        eta += size * rng.normal(size=len(eta))
        ours, theirs = hand.short(eta), sweeps.short(eta)
        np.testing.assert_allclose(
            ours.hessian, theirs.hessian, atol=1e-10 * (1 + np.abs(theirs.hessian).max())
        )
        np.testing.assert_allclose(ours.pull, theirs.pull, atol=1e-10 * (1 + np.abs(theirs.pull).max()))
        assert ours.loss == pytest.approx(theirs.loss, rel=1e-12)
        np.testing.assert_allclose(
            hand.afresh().hessian, ours.hessian, atol=1e-10 * (1 + np.abs(ours.hessian).max())
        )


def test_a_table_is_of_few_cells_in_memory():
    cells = np.arange(12.0).reshape(6, 2)
    table = Table.of(Rows.of(cells), cells.mean(axis=0), True)
    np.testing.assert_array_equal(table.z[:, -1], 1.0)
    np.testing.assert_allclose(table.z[:, :2].mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(table.square, table.z.T @ table.z)
    assert Table.of(Rows.of(np.zeros((1 << 18, 2))), np.zeros(2), True) is None
    assert Table.of(replace(Rows.of(cells), source=[cells]), np.zeros(2), True) is None


def test_many_rows_go_by_sweeps_to_the_same_minimum(monkeypatch):
    machine = machine_of("hinge", 3, squared=True)
    best = finite_newton(machine, centre(machine), 1e-10, 100)
    monkeypatch.setattr("separatrix.solve.finite_newton.FEW", 0)
    hand = finite_newton(machine, centre(machine), 1e-10, 100)
    monkeypatch.setattr("separatrix.solve.short_rows.DOUBLE_CELLS", 0)
    with engine(blocks=3):
        swept = finite_newton(
            replace(machine, rows=Rows.of(machine.rows.source)), centre(machine), 1e-10, 100
        )
    for fit in (hand, swept):
        assert fit.stopped_by == "gap ≤ tol"
        np.testing.assert_allclose(fit.coef, best.coef, atol=1e-6)
