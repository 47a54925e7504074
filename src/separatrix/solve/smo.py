"""Sequential minimal optimisation by working sets:  min ½βᵀKβ + qᵀβ,  l ≤ β ≤ h,  Σβ = constant (problems/dual.py).

Notes [6321] "Solving the dual: SMO" and ε-insensitive regression, [6867] 5.3. Row M6 of the specification. A round
takes some hundred variables that violate the optimality conditions, solves for them pair by pair on their own small
kernel matrix, and then brings the scores s = Kβ of all rows up to date: one product instead of hundreds. Rows whose
variable is stuck at a bound beyond doubt are left out (shrinking) and looked at again in the end.

Few rows are solved to rounding (smo_few.py), some thousand in one call (smo_rows.py); what follows is for more.
Radial rows are single precision first; the bound that a point proves is computed in double, and where it does not
close the solver goes on in double.

Cost: about as many kernel values as (support vectors + some rounds of the working set) × n, O(p) each; memory
``megabytes`` for kernel rows and O(n).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.interrupts import check, until_interrupted
from separatrix.loops import smo as smo_loops
from separatrix.problems.dual import Dual
from separatrix.problems.gram import KernelRows
from separatrix.problems.kernels import Kernel, Points
from separatrix.solve.dual_solution import DualSolution
from separatrix.solve.smo_few import SMALL, few_steps, rounding
from separatrix.solve.smo_rows import RowsAsked, fits
from separatrix.solve.smo_state import FINEST_SINGLE, Report, Search

WORKING_SET = 512  # variables of a round; twice as many of tables of 20,000 rows and more
MOST_GOALS = 24  # violations aimed at, each a half to a tenth of the one before, until the gap is closed
PATIENCE = 40  # rounds without progress before single precision is given up


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


class _Descent(Search):
    """The ways of a search: few rows at once, some thousand, and working sets of more."""

    # ---- phases ----

    def solve(self) -> DualSolution:
        with until_interrupted():
            return self._phases()
        self.beta[self.variables] = self.b
        return self._judge("interrupted", everywhere=True)

    def _phases(self) -> DualSolution:
        for ended in (self._few, self._asked):
            found = ended()
            if found is not None:
                return found
        stopped = ""
        if self.single:
            points = Points(self.exact.cells.astype(np.float32), self.exact.half.astype(np.float32))
            goal = max(self.tol, 1e-3)
            for _ in range(
                5
            ):  # the proof may find a row that was left out too early, or a gap that is too wide
                stopped = self._run(points, goal, single=True)
                if stopped != "tol":
                    break
                found = self._judge("gap ≤ tol", everywhere=False)
                if self._good(found):
                    return found
                closer = self._closer(goal, found)
                if goal > self.tol or (not self.left_out and closer < FINEST_SINGLE):
                    break
                goal = goal if found.violation > 1.1 * goal else max(closer, FINEST_SINGLE)
            if stopped == "max_iter":
                return self._judge("max_iter", everywhere=True)
            self.single = False
        goal, found = self.tol, None
        for _ in range(MOST_GOALS):
            self.score = self._exact_scores(np.arange(self.n))
            stopped = self._run(self.exact, goal, single=False)
            found = self._judge("gap ≤ tol" if stopped == "tol" else stopped, everywhere=True)
            if stopped != "tol" or self.indefinite:
                return found
            if self._good(found):
                return self._polished(found)
            goal = self._closer(goal, found)
            if goal == 0.0:
                break
        assert found is not None
        return found

    def _few(self) -> DualSolution | None:
        """Few rows, all at once; None where there are many, or where that does not end it."""
        limit = min(self.max_steps, 100 * len(self.beta))
        few = few_steps(self.kernel, self.exact, self.problem, limit, self.negative)
        if few is None or few.indefinite or few.steps >= self.max_steps:
            return None
        start, self.beta, self.score = self.beta, few.beta, few.score
        self.steps, self.rounds, self.values = few.steps, 1, self.n**2
        found = self._solution("gap ≤ tol")
        if self._good(found):
            return found
        self.beta, self.steps, self.rounds = start, 0, 0
        return None

    def _asked(self) -> DualSolution | None:
        """Some thousand rows, on those of the kernel matrix that are asked for; None as `_few`."""
        few = self.n <= SMALL and self.problem.group is None
        if self.forced or few or not fits(self.kernel, self.exact, self.problem, self.megabytes):
            return None
        many = self.single
        for single in (True, False) if self.lightly else (False,):
            found = self._asked_in(single)
            if found is not None:
                return found
        self.single = many
        self.beta = self.b = self.problem.start.copy()
        return None

    def _asked_in(self, single: bool) -> DualSolution | None:
        """As `_asked`, in one precision; in double after single, where that was not enough, from where it ended."""
        start = self.beta if self.steps else None
        self.single = single
        run = RowsAsked(
            self.kernel, self.exact, self.problem, self.diagonal, self.negative, self.shrinking, start, single
        )
        self.beta = self.b = run.beta
        self.rounds, goal, taken, made = 1, self.tol, self.steps, self.values

        def between() -> None:
            self.steps, self.values = taken + run.steps, made + run.used * self.n
            check()
            self._speak(self.values, self.n)

        for _ in range(MOST_GOALS):
            self.violation = run.search(goal, self.max_steps - taken, between)
            self.score, self.indefinite = run.score(), run.indefinite
            late = taken + run.steps >= self.max_steps
            found = self._told(run, "max_iter" if late else "gap ≤ tol", single)
            if self._good(found) or self.indefinite or late:
                return self._polished(found)
            if self.violation > goal:  # rounding has made steps useless: what follows says so, or finds a way
                break
            goal = self._closer(goal, found)
            if goal < (FINEST_SINGLE if single else 1e-300):
                break
            run.renew(self.problem.pull(self.score))
        return None

    def _told(self, run: RowsAsked, stopped: str, single: bool) -> DualSolution:
        if not single:
            return self._solution(stopped)
        self.travel = float(np.abs(self.beta).sum())
        return self._judge(stopped, everywhere=stopped != "gap ≤ tol")

    def _polished(self, found: DualSolution) -> DualSolution:
        """Few rows are solved to rounding: it takes next to no time, and answers no longer depend on the route."""
        if self.n > SMALL or self.steps == 0:
            return found
        limit, self.max_steps = self.max_steps, min(self.max_steps, self.steps + 100 * len(self.beta))
        self._run(self.exact, rounding(self.problem), single=False)
        self.max_steps = limit
        return self._judge(found.stopped_by, everywhere=True)

    # ---- the working-set loop ----

    def _run(self, points: Points, tol: float, single: bool) -> str:
        """Rounds until the violation is at most tol; scores must be exact for β at the start."""
        rows = KernelRows(self.kernel, points, self.megabytes, single)
        self.looked, self.due = 0, False
        if single and self.rounds == 0:
            self._refresh(points, np.arange(self.n))
        self._activate(rows)
        kept: Index = np.empty(0, dtype=np.intp)
        since, before = 0, self.gained
        while True:
            v = np.empty(len(self.variables))
            up, i, lo, j = smo_loops.slopes(self.s, self.position, self.q, self.b, self.l, self.h, v)
            if self.g is not None:
                up, i, lo, j = smo_loops.levelled(v, self.g, self.b, self.l, self.h, 2)
            self.violation = up - lo if i >= 0 and j >= 0 else 0.0
            check()
            self._speak(self.values + rows.computed, len(rows.active))
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
            self._round(rows, ws, v, tol)
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

    def _round(self, rows: KernelRows, ws: Index, v: FloatArray, tol: float) -> None:
        positions, which = np.unique(self.position[ws], return_inverse=True)
        slots = rows.fetch(rows.active[positions])
        K = rows.between(slots, self.position[ws])
        beta, part = self.b[ws], v[ws].astype(K.dtype, copy=False)
        limit = int(min(self.max_steps - self.steps, 10 * len(ws) + 100))
        # of the first spread, good enough among others
        share = 0.0 if len(ws) == len(self.variables) else 0.1
        if self.g is None:
            steps, gained, indefinite = smo_loops.pairs(
                K, which, part, beta, self.l[ws], self.h[ws], 0.5 * tol, share, limit, self.negative
            )
        else:
            steps, gained, indefinite = smo_loops.pairs_within(
                K,
                which,
                self.g[ws],
                part,
                beta,
                self.l[ws],
                self.h[ws],
                0.5 * tol,
                share,
                limit,
                self.negative,
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
