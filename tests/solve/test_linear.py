"""What a linear problem is solved in: coordinates by what solvers declare, columns that repeat each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates
from separatrix.solve import linear
from separatrix.solve.linear import minimise
from separatrix.solve.registry import GRADIENT, LBFGS, NEWTON, SGD, SOLVERS
from tests.solve.cases import draw, least, value_of


def scales(problem, solver):
    outer, inner = linear._coordinates(problem, solver)
    assert outer is inner
    return outer.coordinates


def test_solvers_get_the_coordinates_they_declare():
    problem = draw(1, ridge=0.5)
    standard = Coordinates.standard(problem.moments, True)
    np.testing.assert_array_equal(scales(problem, NEWTON).scale, standard.scale)
    assert scales(problem, LBFGS).basis is not None
    for solver in (GRADIENT, SGD):
        assert (scales(problem, solver).scale < standard.scale).all()
    under_another_name = replace(LBFGS, name="another")
    np.testing.assert_array_equal(scales(problem, under_another_name).basis, scales(problem, LBFGS).basis)


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=lambda s: s.name)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_only_solvers_that_span_see_wide_rows_in_their_span(solver, store):
    problem = draw(2, n=20, p=40, store=store)
    outer, inner = linear._coordinates(problem, solver)
    spans = solver.spans and (solver.quadratic or linear._span_pays(problem))
    assert (inner.rows.p <= 20) == spans
    assert inner.shape == outer.shape


def test_the_choice_goes_by_cost(monkeypatch):
    assert linear._choose(draw(3)) is NEWTON
    monkeypatch.setattr(linear, "GRAM_LIMIT", 1)
    assert linear._choose(draw(3)) is LBFGS


@pytest.mark.parametrize("k", [2, 3, 5])
def test_wide_rows_of_a_dear_hessian_are_fitted_by_gradients_and_proven(k, monkeypatch):
    monkeypatch.setattr(linear, "SPAN_FACTOR", 20)
    problem = draw(6, k, n=40, p=90, ridge=0.01)
    fit = minimise(problem, None, tol=1e-4, max_iter=300)
    assert fit.solver == "lbfgs" and fit.outcome.stopped_by == "gap ≤ tol"
    exact = minimise(problem, NEWTON, tol=1e-4, max_iter=300)
    assert exact.outcome.gap <= fit.outcome.gap <= 1e-8 * fit.outcome.value
    assert fit.outcome.value - exact.outcome.value <= fit.outcome.gap


@pytest.mark.parametrize("k", [2, 4])
def test_newton_takes_over_where_gradients_crawl(k, monkeypatch):
    monkeypatch.setattr(linear, "SPAN_FACTOR", 20)
    monkeypatch.setattr(linear, "SPAN_STEPS", 3)
    problem = draw(6, k, n=40, p=90, ridge=1e-4)
    fit = minimise(problem, None, tol=1e-4, max_iter=300)
    exact = minimise(problem, NEWTON, tol=1e-4, max_iter=300)
    assert fit.solver == "newton" and fit.outcome.iterations > 3
    assert fit.outcome.value - exact.outcome.value <= max(fit.outcome.gap, 1e-15) <= 1e-8 * fit.outcome.value
    # no more steps than were asked for: then it is gradients alone that were cut short
    short = minimise(problem, None, tol=1e-4, max_iter=2)
    assert short.solver == "lbfgs" and short.outcome.stopped_by == "max_iter reached"


@pytest.mark.parametrize("name", ["newton", "lbfgs"])
def test_a_repeated_column_shares_its_weight_and_is_reported(name):
    problem = draw(4, ridge=0.0)
    X = problem.rows.source
    rows = Rows.of(np.column_stack([X, X[:, :1]]), problem.rows.y, problem.rows.weight)
    twice = replace(problem, rows=rows, moments=rows.moments())
    fit = minimise(twice, SOLVERS[name], tol=1e-4, max_iter=300)
    assert list(fit.aliased) == [0, 3] and fit.outcome.unique is False
    assert fit.coef[0] == pytest.approx(fit.coef[3], rel=1e-6)  # of all with these scores the shortest
    alone = minimise(problem, SOLVERS[name], tol=1e-4, max_iter=300)
    assert fit.coef[0] + fit.coef[3] == pytest.approx(alone.coef[0], rel=1e-4)
    assert value_of(problem, alone) - least(problem) <= 1e-8
