"""L-BFGS: what its memory and its loss change, and what they do not."""

import pytest

from separatrix.core.losses import SquaredHinge
from tests.solve.cases import draw, least, run, value_of


@pytest.mark.parametrize("memory", [1, 3, 30])
def test_lbfgs_memory_changes_the_way_and_not_the_end(memory):
    problem = draw(12, 3)
    fit = run(problem, "lbfgs", options={"memory": memory})
    assert fit.outcome.stopped_by == "gap ≤ tol"
    assert value_of(problem, fit) - least(problem) <= fit.outcome.gap


def test_lbfgs_on_another_smooth_loss():
    problem = draw(13, loss=SquaredHinge(), ridge=0.1)
    fit = run(problem, "lbfgs")
    assert value_of(problem, fit) - least(problem) <= 1e-9
