"""Where a search on the dual of a kernel machine stands, and what it proves (solve/smo.py moves it).

The bound is computed from double-precision kernel values; after single precision only those that count are made anew.
Cost O(n) kernel values a support vector.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray, Index
from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Kernel, Points, centre_of
from separatrix.solve.dual_solution import DualSolution
from separatrix.solve.smo_few import rounding
from separatrix.solve.smo_rows import radial_scores

SINGLE_FROM = 2000  # rows from which single precision is worth a second look in double
FINEST_SINGLE = 2e-5  # a violation that single precision still tells apart
FINEST_REACH = 5e4  # slopes in units of the tolerance for which that holds
FINEST_SUM = 3e5  # the same of a bound on slopes, Σ|β| times the largest kernel value, which few come near
FEW = 1000  # support vectors whose exact scores are computed by loops alone
MOST_STEPS = 10_000_000  # where no limit is given, as in LIBSVM

Report = Callable[[str], None]


class Search:
    """One solve: what is fixed, and the moving state (β and the scores of active rows); subclasses move it."""

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        dual: Dual,
        tol: float,
        max_steps: int | None,
        megabytes: float,
        shrinking: bool,
        single: bool | None,
        report: Report | None,
    ):
        self.kernel, self.problem, self.tol = kernel, dual, tol
        self.max_steps = max_steps if max_steps is not None else max(MOST_STEPS, 100 * len(dual.linear))
        self.megabytes, self.shrinking, self.report = megabytes, shrinking, report
        self.exact = X if isinstance(X, Points) else kernel.points(X, centre_of(X))
        self.n = len(self.exact)
        self.hard = dual.hard
        can = kernel.kind == "rbf" and self.exact.index is None and isinstance(self.exact.cells, np.ndarray)
        self.forced = bool(single)
        can = can and not self.hard
        self.single = can and (self.n >= SINGLE_FROM if single is None else single)
        self.diagonal = kernel.diagonal(self.exact)
        self.size = float(np.abs(self.diagonal).max(initial=0.0))  # of kernel values
        # rows that are asked for one by one are single from fewer rows on, where that is fine enough for the scores
        finest = dual.reach / FINEST_REACH + self.size * float(np.abs(dual.totals).sum()) / FINEST_SUM
        self.lightly = can and single is None and finest <= tol
        self.negative = (
            -np.inf if kernel.known_definite else -1e-10 * self.size
        )  # a curvature that no definite K has
        self.beta: FloatArray = dual.start.copy()
        self.score: FloatArray = np.zeros(self.n)
        self.steps = self.rounds = self.values = 0
        self.gained = 0.0  # by which the dual objective has risen
        self.travel = 0.0  # Σ|Δβ|, which bounds what single precision may have cost
        self.indefinite = False
        self.looked = 0  # kernel values computed when all rows were last looked at
        self.due = False  # whether rows are left out that must be looked at before the end
        self.left_out = False  # whether the last search ended without some rows
        self.spoken = time.perf_counter()
        self.violation = np.inf
        self.variables, self.b = np.arange(len(self.beta)), self.beta
        self.g = dual.group

    def _good(self, found: DualSolution) -> bool:
        floor = 1e-13 * (abs(found.square) + float(np.abs(self.problem.linear) @ np.abs(self.beta)))
        return found.violation <= 1.1 * self.tol and found.gap <= max(self.tol * abs(found.scale), floor)

    def _closer(self, goal: float, found: DualSolution) -> float:
        """The next goal, about what closes the gap, which shrinks as the violation does; 0 where rounding ends it."""
        goal = min(goal, found.violation) if found.violation > 0 else goal
        want = (
            0.7 * self.tol * abs(found.scale) / found.gap if found.gap > 0 and np.isfinite(found.gap) else 0.1
        )
        goal *= min(max(want, 0.1), 0.5)
        return goal if goal >= 0.1 * rounding(self.problem) else 0.0

    def _total(self) -> FloatArray:
        return self.problem.of_rows(self.beta, self.n)

    # ---- the verdict ----

    def _exact_scores(self, index: Index) -> FloatArray:
        total = self._total()
        support = np.flatnonzero(total)
        self.values += len(index) * len(support)
        return self.kernel.combine(self.exact.take(index), self.exact.take(support), total[support][:, None])[
            :, 0
        ]

    def _slack_of_single(self) -> float:
        """By how much a score from single precision may be off: Σ|Δβ| times the worst kernel value's error."""
        longest = float(self.exact.half.max(initial=0.0))
        p = self.exact.cells.shape[1]
        each = np.log(2.0) * longest * (2 * p + 8) * 2.0**-24 + 2.0**-21
        return self.travel * min(each, 1.0)

    def _judge(self, stopped: str, everywhere: bool) -> DualSolution:
        """b, primal, dual and violation from double-precision kernel values.

        After single precision only rows that count are computed anew: support vectors, and rows whose slack is not
        certain to be zero.
        """
        if everywhere:
            self.score = self._exact_scores(np.arange(self.n))
        elif np.count_nonzero(self.beta) <= FEW:
            self._judge_few()
        else:
            total = self._total()
            support = np.flatnonzero(total)
            self.score[support] = self.kernel.combine_own(self.exact.take(support), total[support])
            self.values += len(support) ** 2 // 2
            others = np.setdiff1d(self._loose(self._slack_of_single()), support)
            self.score[others] = self._exact_scores(others)
        return self._solution(stopped)

    def _loose(self, off: float) -> Index:
        """Rows whose slack is not certain to be zero, by scores that may be off by so much."""
        d = self.problem
        v = d.pull(self.score)
        b = d.spread_out(d.intercept(v, self.beta)[1])
        loose = ((d.low == 0) & (v > b - off)) | ((d.high == 0) & (v < b + off))
        return d.base[loose]

    def _judge_few(self) -> None:
        """Exact scores where there are few support vectors: b is not exact before, but no farther off than scores."""
        total = self._total()
        support = np.flatnonzero(total)
        wanted = np.union1d(support, self._loose(2.0 * self._slack_of_single()))
        self.score[wanted] = radial_scores(self.exact, support, total[support], wanted)
        self.values += len(support) * len(wanted)

    def _solution(self, stopped: str, levels: tuple[float, ...] | None = None) -> DualSolution:
        at = self.problem.prove(self.beta, self.score, levels)
        return DualSolution(
            self.beta, self.score, float(np.mean(at.levels)), at.primal, at.dual, at.square, at.violation, self.steps,
            self.rounds, self.values, stopped, self.indefinite, self.single, at.freedom, at.levels, at.scale,
        )  # fmt: skip

    def _speak(self, values: int, active: int) -> None:
        if self.report is None:
            return
        now = time.perf_counter()
        if now - self.spoken < 1.0:
            return
        self.spoken = now
        done = values / max(self.n, 1) ** 2
        self.report(
            f"  round {self.rounds:6d}   steps {self.steps:9,d}   violation {self.violation:.1e}   "
            f"active rows {active:,d}   {done:.2f} passes over the kernel matrix"
        )
