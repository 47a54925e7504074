"""Few rows: their whole kernel matrix at once, and one run of pairs to rounding (solve/smo.py has the rest).

It takes next to no time, and the answer does not depend on the route. Cost O(n²p) and some hundred steps of O(n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.loops import smo as smo_loops
from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Kernel, Points, whole

SMALL = 256  # rows up to which the optimum is found to rounding
ROUGH = 1e-4  # a violation at which variables are mostly where they belong: free, or at a bound


@dataclass(frozen=True, eq=False)
class FewSteps:
    """β (m,), the scores Kβ (n,), the steps it took, and whether K showed itself not positive semidefinite."""

    beta: FloatArray
    score: FloatArray
    steps: int
    indefinite: bool


def rounding(dual: Dual) -> float:
    """The violation that is left where only rounding moves variables."""
    return 1e-13 * (1.0 + float(np.abs(dual.linear).max()))


def few_steps(kernel: Kernel, points: Points, dual: Dual, limit: int, negative: float) -> FewSteps | None:
    """From the dual's start; None for many rows, hard margins and sums by groups, which take other ways."""
    n = len(points)
    if n > SMALL or dual.hard or dual.group is not None:
        return None
    K = whole(kernel, points)
    beta = dual.start.copy()
    v = dual.pull(K @ dual.of_rows(beta, n))
    columns = K if len(beta) == n else np.take(K, dual.base, axis=1)
    total, indefinite = 0, False
    for goal in (ROUGH, 0.5 * rounding(dual)):
        steps, _, found = smo_loops.pairs(
            columns, dual.base, v, beta, dual.low, dual.high, goal, 0.0, limit - total, negative
        )
        total, indefinite = total + steps, indefinite or bool(found)
        if goal == ROUGH and not indefinite:
            _settle(columns, dual, v, beta)
    return FewSteps(beta, K @ dual.of_rows(beta, n), total, indefinite)


def _settle(columns: FloatArray, dual: Dual, v: FloatArray, beta: FloatArray) -> None:
    """All that is free at once, where the right variables are:  K_FF d + μ1 = v_F,  Σd = 0;  β and v in place.

    Where the box is in the way, or K_FF has no factor, nothing happens, and pairs go on.
    """
    from scipy.linalg.lapack import dposv

    free = np.flatnonzero((beta > dual.low) & (beta < dual.high))
    if len(free) < 2 or len(beta) > len(columns):
        return
    rows = columns[free]
    right = np.ones((len(free), 2), order="F")
    right[:, 0] = v[free]
    _, found, info = dposv(rows[:, free], right)
    if info != 0:
        return
    with np.errstate(all="ignore"):  # a factor of a singular matrix, which rounding let pass
        d = found[:, 0] - found[:, 0].sum() / found[:, 1].sum() * found[:, 1]
        moved, then = beta[free] + d, v - d @ rows
        inside = np.all((moved > dual.low[free]) & (moved < dual.high[free]))
        balanced = abs(float(d.sum())) <= 4 * EPS * float(np.abs(beta).sum())
        settled = float(np.ptp(then[free])) <= 1e-6 * ROUGH * (1.0 + float(np.abs(dual.linear).max()))
    if inside and balanced and settled:
        beta[free] = moved
        v[:] = then
