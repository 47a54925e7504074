"""Few rows: their whole kernel matrix at once, and one run of pairs to rounding (solve/smo.py has the rest).

It takes next to no time, and the answer does not depend on the route. Cost O(n²p) and some hundred steps of O(n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.loops.smo_few import few_pairs
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
    return 1e-13 * (1.0 + dual.reach)


def few_steps(kernel: Kernel, points: Points, dual: Dual, limit: int, negative: float) -> FewSteps | None:
    """From the dual's start; None for many rows, hard margins and sums by groups, which take other ways."""
    n = len(points)
    if n > SMALL or dual.hard or dual.group is not None:
        return None
    K = whole(kernel, points)
    beta = dual.start.copy()
    v = dual.pull(K @ dual.of_rows(beta, n))
    columns = K if len(beta) == n else np.take(K, dual.base, axis=1)
    rough = ROUGH * (1.0 + dual.reach)
    steps, indefinite = few_pairs(
        columns, dual.base, v, beta, dual.low, dual.high, rough, 0.5 * rounding(dual), limit, negative
    )
    return FewSteps(beta, K @ dual.of_rows(beta, n), steps, bool(indefinite))
