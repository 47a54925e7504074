"""Sequential minimal optimisation by working sets:  min ½βᵀKβ + qᵀβ,  l ≤ β ≤ h,  Σβ = constant (problems/dual.py).

Notes [6321] "Solving the dual: SMO" and ε-insensitive regression, [6867] 5.3. Row M6 of the specification. A round
takes some hundred variables that violate the optimality conditions, solves for them pair by pair on their own small
kernel matrix, and then brings the scores s = Kβ of all rows up to date: one product instead of hundreds. Rows whose
variable is stuck at a bound beyond doubt are left out (shrinking) and looked at again in the end.

Radial rows are single precision first; the bound that a point proves is computed in double, and where it does not
close the solver goes on in double.

Cost: about as many kernel values as (support vectors + some rounds of the working set) × n, O(p) each; memory
``megabytes`` for kernel rows and O(n).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.interrupts import check, until_interrupted
from separatrix.loops import smo as smo_loops
from separatrix.problems.dual import Dual
from separatrix.problems.gram import KernelRows
from separatrix.problems.kernels import Kernel, Points, centre_of
from separatrix.solve.dual_solution import DualSolution
from separatrix.solve.smo_few import SMALL, few_steps, rounding

WORKING_SET = 512  # variables of a round; twice as many of tables of 20,000 rows and more
SINGLE_FROM = 2000  # rows from which single precision is worth a second look in double
PATIENCE = 40  # rounds without progress before single precision is given up
MOST_STEPS = 10_000_000  # where no limit is given, as in LIBSVM


Report = Callable[[str], None]


def minimise(
    kernel: Kernel,
    X: Any,
    dual: Dual,
    *,
    tol: float = 1e-3,
    max_steps: int | None = None,
    megabytes: float = 200.0,
    shrinking: bool = True,
    single: bool | None = None,
    report: Report | None = None,
) -> DualSolution:
    """Minimise to a violation of ``tol`` and a relative gap of ``tol``; never raises on Ctrl-C but ends early.

    ``X`` is a table (n, p) or :class:`~separatrix.problems.kernels.Points` already made ready. ``single``: kernel
    rows in single precision first; None decides by the kernel and the number of rows.

    Examples
    --------
    Two points at distance 2: α = ½ for both, f(x) = x.

    >>> X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> fit = minimise(Kernel("linear"), X, Dual.classifier(y, np.full(2, 10.0)))
    >>> fit.beta, fit.intercept, fit.primal, fit.dual
    (array([ 0.5, -0.5]), 0.0, 0.5, 0.5)
    """
    return _Descent(kernel, X, dual, tol, max_steps, megabytes, shrinking, single, report).solve()


def certify(
    kernel: Kernel, X: Any, dual: Dual, intercept: float | tuple[float, ...], tol: float
) -> DualSolution:
    """Primal, dual and violation of β = ``dual.start`` (feasible) and b, one for each group, from double-precision
    kernel values."""
    run = _Descent(kernel, X, dual, tol, None, 1.0, False, False, None)
    run.score = run._exact_scores(np.arange(run.n))
    levels = intercept if isinstance(intercept, tuple) else (float(intercept),)
    return run._solution("verified from data", levels)


class _Descent:
    """One solve: what is fixed, and the moving state (β and the scores of active rows)."""

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
        self.single = can and not self.hard and (self.n >= SINGLE_FROM if single is None else single)
        self.size = float(np.abs(kernel.diagonal(self.exact)).max(initial=0.0))  # of kernel values
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

    # ---- phases ----

    def solve(self) -> DualSolution:
        with until_interrupted():
            return self._phases()
        self.beta[self.variables] = self.b
        return self._judge("interrupted", everywhere=True)

    def _phases(self) -> DualSolution:
        stopped = ""
        if self.single:
            points = Points(self.exact.cells.astype(np.float32), self.exact.half.astype(np.float32))
            goal = max(self.tol, 1e-3)
            for _ in range(3):  # the proof may find a row that was left out too early
                stopped = self._run(points, goal, single=True)
                if stopped != "tol":
                    break
                found = self._judge("gap ≤ tol", everywhere=False)
                if self._good(found):
                    return found
                if not self.left_out or goal > self.tol:
                    break
            if stopped == "max_iter":
                return self._judge("max_iter", everywhere=True)
            self.single = False
        few = self._few()
        if few is not None:
            return few
        goal = self.tol
        for _ in range(8):
            self.score = self._exact_scores(np.arange(self.n))
            stopped = self._run(self.exact, goal, single=False)
            found = self._judge("gap ≤ tol" if stopped == "tol" else stopped, everywhere=True)
            if stopped != "tol" or self.indefinite:
                return found
            if self._good(found):
                return self._polished(found)
            goal = min(goal, found.violation if found.violation > 0 else goal) / 10
        return found

    def _few(self) -> DualSolution | None:
        """Few rows, all at once; None where there are many, or where that does not end it."""
        negative = -np.inf if self.kernel.known_definite else -1e-10 * self.size
        limit = min(self.max_steps, 100 * len(self.beta))
        few = few_steps(self.kernel, self.exact, self.problem, limit, negative)
        if few is None or few.indefinite or few.steps >= self.max_steps:
            return None
        start, self.beta, self.score = self.beta, few.beta, few.score
        found = self._solution("gap ≤ tol")
        if not self._good(found):
            self.beta = start
            return None
        self.steps, self.rounds, self.values = few.steps, 1, self.n**2
        return replace(found, steps=few.steps, rounds=1, values=self.values)

    def _polished(self, found: DualSolution) -> DualSolution:
        """Few rows are solved to rounding: it takes next to no time, and answers no longer depend on the route."""
        if self.n > SMALL or self.steps == 0:
            return found
        limit, self.max_steps = self.max_steps, min(self.max_steps, self.steps + 100 * len(self.beta))
        self._run(self.exact, rounding(self.problem), single=False)
        self.max_steps = limit
        return self._judge(found.stopped_by, everywhere=True)

    def _good(self, found: DualSolution) -> bool:
        floor = 1e-13 * (abs(found.square) + float(np.abs(self.problem.linear) @ np.abs(self.beta)))
        return found.violation <= 1.1 * self.tol and found.gap <= max(self.tol * abs(found.scale), floor)

    # ---- the working-set loop ----

    def _run(self, points: Points, tol: float, single: bool) -> str:
        """Rounds until the violation is at most tol; scores must be exact for β at the start."""
        rows = KernelRows(self.kernel, points, self.megabytes, single)
        self.looked, self.due = 0, False
        if single and self.rounds == 0:
            self._refresh(points, np.arange(self.n))
        self._activate(rows)
        kept: Index = np.empty(0, dtype=np.intp)
        negative = -np.inf if self.kernel.known_definite else -1e-10 * self.size
        since, before = 0, self.gained
        while True:
            v = np.empty(len(self.variables))
            up, i, lo, j = smo_loops.slopes(self.s, self.position, self.q, self.b, self.l, self.h, v)
            if self.g is not None:
                up, i, lo, j = smo_loops.levelled(v, self.g, self.b, self.l, self.h, 2)
            self.violation = up - lo if i >= 0 and j >= 0 else 0.0
            check()
            self._speak(rows)
            if self.violation <= tol:
                self._write(rows)
                if len(rows.active) == self.n or not self._unshrink(rows, points, tol, single):
                    self.values += rows.computed
                    self.left_out = len(rows.active) < self.n
                    return "tol"
                kept = np.empty(0, dtype=np.intp)
                continue
            if self.steps >= self.max_steps:
                self._write(rows)
                self._refresh_inactive(rows, points)
                self.values += rows.computed
                return "max_iter"
            if self.hard and self._hulls_meet():
                self._write(rows)
                return "hulls meet"
            if self.shrinking and self._shrink(rows, v, up, lo, single):
                kept = np.empty(0, dtype=np.intp)
                continue
            size = min(
                max(WORKING_SET, min(2 * WORKING_SET, self.n // 20)), rows.capacity, len(self.variables)
            )
            if size == len(self.variables):  # all at once
                ws = np.arange(size)
            else:
                want = size - 2 if len(kept) == 0 else size // 2 - 2
                room = max(size - 2 - max(want, 0), 0)
                ws = smo_loops.choose(v, self.b, self.l, self.h, up, i, lo, j, kept[:room], max(want, 0))
                kept = ws[::-1].copy() if len(kept) == 0 else np.setdiff1d(ws, kept)
            self._round(rows, ws, v, tol, negative)
            self.rounds += 1
            since += 1
            if since * size >= PATIENCE * WORKING_SET:
                # in double only steps that rounding has made useless end the search
                if self.gained - before <= (1e-7 * self.gained if single else 0.0):
                    self._write(rows)
                    self._refresh_inactive(rows, points)
                    self.values += rows.computed
                    return "no progress"
                since, before = 0, self.gained

    def _round(self, rows: KernelRows, ws: Index, v: FloatArray, tol: float, negative: float) -> None:
        positions, which = np.unique(self.position[ws], return_inverse=True)
        slots = rows.fetch(rows.active[positions])
        K = rows.between(slots, self.position[ws])
        beta, part = self.b[ws], v[ws].astype(K.dtype, copy=False)
        limit = int(min(self.max_steps - self.steps, 10 * len(ws) + 100))
        # of the first spread, good enough among others
        share = 0.0 if len(ws) == len(self.variables) else 0.1
        if self.g is None:
            steps, gained, indefinite = smo_loops.pairs(
                K, which, part, beta, self.l[ws], self.h[ws], 0.5 * tol, share, limit, negative
            )
        else:
            steps, gained, indefinite = smo_loops.pairs_within(
                K, which, self.g[ws], part, beta, self.l[ws], self.h[ws], 0.5 * tol, share, limit, negative
            )
        change = np.bincount(which, beta - self.b[ws], minlength=len(positions)).astype(float)
        self.travel += float(np.abs(beta - self.b[ws]).sum())
        moved = np.flatnonzero(change)
        self.b[ws] = beta
        rows.add(slots[moved], change[moved], self.s)
        stuck = np.bincount(which, (beta > self.l[ws]) & (beta < self.h[ws]), minlength=len(positions)) == 0
        rows.spare(slots[stuck])
        self.steps += steps
        self.gained += gained
        self.indefinite |= bool(indefinite)

    # ---- active rows ----

    def _activate(self, rows: KernelRows) -> None:
        """Compressed copies of what belongs to the active rows."""
        d = self.problem
        where = np.full(self.n, -1, dtype=np.intp)
        where[rows.active] = np.arange(len(rows.active))
        index = np.flatnonzero(where[d.base] >= 0)
        self.position = where[d.base[index]]
        self.q, self.l, self.h = d.linear[index], d.low[index], d.high[index]
        self.g = None if d.group is None else d.group[index]
        self.s = self.score[rows.active]
        self.variables, self.b = index, self.beta[index]

    def _write(self, rows: KernelRows) -> None:
        self.beta[self.variables] = self.b
        self.score[rows.active] = self.s

    def _beta_rows(self) -> FloatArray:
        return np.bincount(self.position, self.b, minlength=len(self.s)).astype(float)

    def _hulls_meet(self) -> bool:
        """Whether two convex combinations of the classes' rows, β of either sign, coincide to rounding."""
        total = float(np.abs(self.b).sum())
        square = float(self._beta_rows() @ self.s)
        return 4.0 * square <= 1e-13 * self.size * total * total and total > 0

    def _shrink(self, rows: KernelRows, v: FloatArray, up: float, lo: float, single: bool) -> bool:
        """Leave rows out whose variable is stuck at a bound: those that do not cost more in the end than now.

        Scores of all rows left out are due in the end, which pays after as much work as twice that price. After
        single precision the proof computes those of the support vectors anyway: they may go at any time.
        """
        if self.rounds % 5 != 4:
            return False
        self.beta[self.variables] = self.b
        price = np.count_nonzero(self.beta) * float(self.n)
        pays = bool(self.due or rows.computed - self.looked >= 2.0 * price)
        if not (pays or single):
            return False
        keep = np.zeros(len(rows.active), dtype=bool)
        smo_loops.settled(v, self.b, self.l, self.h, up, lo, self.position, keep)
        if not pays:
            keep |= self._beta_rows() == 0
        if keep.sum() > 0.7 * len(keep):
            return False
        self.due |= pays
        self._write(rows)
        rows.narrow(np.flatnonzero(keep))
        self._activate(rows)
        return True

    def _refresh(self, points: Points, index: Index) -> None:
        """Scores of some rows from β anew."""
        total = self._total()
        support = np.flatnonzero(total)
        if len(index):
            parts = self.kernel.combine(points.take(index), points.take(support), total[support][:, None])
            self.score[index] = parts[:, 0]
            self.values += len(index) * len(support)

    def _refresh_inactive(self, rows: KernelRows, points: Points) -> Index:
        out = np.ones(self.n, dtype=bool)
        out[rows.active] = False
        index = np.flatnonzero(out)
        self._refresh(points, index)
        return index

    def _unshrink(self, rows: KernelRows, points: Points, tol: float, single: bool) -> bool:
        """Bring rows left out up to date; those that should not have been are active again.

        In single precision support vectors stay out: the proof looks at them.
        """
        if single and not self.due:
            return False
        before, total = rows.active, self._total()
        out = np.ones(self.n, dtype=bool)
        out[before] = False
        stale = out & (total != 0) if single else np.zeros(self.n, dtype=bool)
        self._refresh(points, np.flatnonzero(out & ~stale))
        d = self.problem
        known = np.flatnonzero(~stale[d.base])
        beta, low, high, base = self.beta[known], d.low[known], d.high[known], d.base[known]
        v = np.empty(len(known))
        up, _, lo, _ = smo_loops.slopes(self.score, base, d.linear[known], beta, low, high, v)
        if d.group is not None:
            up, _, lo, _ = smo_loops.levelled(v, d.group[known], beta, low, high, 2)
        self.violation = up - lo
        if up - lo <= tol:
            return False
        keep = np.zeros(self.n, dtype=bool)
        smo_loops.settled(v, beta, low, high, up, lo, base, keep)
        keep[before] = True
        rows.reset(np.flatnonzero(keep))
        self.looked, self.due = rows.computed, False
        self._activate(rows)
        return True

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
        d = self.problem
        if everywhere:
            self.score = self._exact_scores(np.arange(self.n))
        else:
            off = self._slack_of_single()
            total = self._total()
            support = np.flatnonzero(total)
            self.score[support] = self.kernel.combine_own(self.exact.take(support), total[support])
            self.values += len(support) ** 2 // 2
            v = d.pull(self.score)
            b = d.spread_out(d.intercept(v, self.beta)[1])
            loose = ((d.low == 0) & (v > b - off)) | ((d.high == 0) & (v < b + off))
            others = np.setdiff1d(d.base[loose], support)
            self.score[others] = self._exact_scores(others)
        return self._solution(stopped)

    def _solution(self, stopped: str, levels: tuple[float, ...] | None = None) -> DualSolution:
        at = self.problem.prove(self.beta, self.score, levels)
        return DualSolution(
            self.beta, self.score, float(np.mean(at.levels)), at.primal, at.dual, at.square, at.violation, self.steps,
            self.rounds, self.values, stopped, self.indefinite, self.single, at.freedom, at.levels, at.scale,
        )  # fmt: skip

    def _speak(self, rows: KernelRows) -> None:
        if self.report is None:
            return
        now = time.perf_counter()
        if now - self.spoken < 1.0:
            return
        self.spoken = now
        done = (self.values + rows.computed) / max(self.n, 1) ** 2
        self.report(
            f"  round {self.rounds:6d}   steps {self.steps:9,d}   violation {self.violation:.1e}   "
            f"active rows {len(rows.active):,d}   {done:.2f} passes over the kernel matrix"
        )
