"""Many logistic regressions of one table at once: each bag's answer is that of a fit of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from separatrix.data.engine import engine
from separatrix.solve.batch import BagWeights, fit_batch
from separatrix.solve.linear import minimise
from separatrix.solve.registry import NEWTON
from tests.solve.cases import draw

classes = pytest.mark.parametrize("k", [2, 3])


def bags(k, B=6, *, row=False, factor=False):
    problem = draw(5, k, n=200, weighted=False)
    rng = np.random.default_rng(6)
    n, codes = 200, (problem.rows.y > 0).astype(np.intp) if k == 2 else problem.rows.y
    counts = rng.multinomial(n, np.full(n, 1 / n), size=B)
    return problem, BagWeights(
        counts, codes, rng.random(n) + 0.5 if row else None, rng.random((B, k)) + 0.5 if factor else None
    )


@classes
@pytest.mark.parametrize("row", [False, True])
@pytest.mark.parametrize("factor", [False, True])
def test_every_bag_ends_where_its_own_fit_does(k, row, factor):
    problem, weights = bags(k, row=row, factor=factor)
    found = fit_batch(problem, weights, 2.0, 1e-4)
    assert found is not None and len(found.failed) == 0 and (found.gap <= found.goal).all()
    for b, total in enumerate(weights.totals()):
        s = weights.of(b)
        assert s.sum() == pytest.approx(total)
        rows = problem.rows.with_targets(problem.rows.y, s)
        alone = minimise(
            replace(problem, rows=rows, moments=rows.moments(), ridge=1 / (2.0 * total)), NEWTON, tol=1e-4,
            max_iter=100,
        )  # fmt: skip
        assert found.value[b] == pytest.approx(alone.outcome.value, rel=1e-10)
        np.testing.assert_allclose(found.coef[b], alone.coef, atol=1e-5)
        np.testing.assert_allclose(found.intercept[b], alone.intercept, atol=1e-5)


@classes
def test_engines_and_grids_change_nothing_but_rounding(k):
    problem, weights = bags(k)
    found = []
    for kind in ("serial", "threads"):
        with engine(kind):
            found.append(fit_batch(problem, weights, 1.0, 1e-4).coef)
    np.testing.assert_array_equal(found[0], found[1])


def test_columns_that_repeat_each_other_give_no_start():
    problem, weights = bags(2)
    X = problem.rows.source
    rows = replace(problem.rows, source=np.column_stack([X, X[:, 0]]), p=4)
    assert fit_batch(replace(problem, rows=rows, moments=rows.moments()), weights, np.inf, 1e-4) is None
