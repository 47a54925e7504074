"""The time of a comparison:  what is left, and how long a step will take by what was measured here before.

    Clock         seconds since the work began, without those that loops were compiled in; what is left of a budget
    Forecasts     f(model, rows) = a + b·n^e through the fits of that model that are done, on this machine, today
    first of a tuning: its settings × inner folds of a fit to the rows that it searches, and one to all

What is measured has a say in how far the plan goes, never in its order (course.py). Row V1. Cost: a few sums.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from separatrix.judge.contest import FLOORS, Contest, FoldResult, Step
from separatrix.judge.tuning import SEARCH_ROWS
from separatrix.loops import telling

OVERHEAD = 0.005  # seconds of any fit, however few its rows
NEAR = 0.05  # of the rows, by which fits are of one size
INNER = 3  # folds in which settings are chosen


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """When the work began, the seconds that it may take (None: no limit), and on how many threads.

    ``kept`` seconds are left for what comes after it; ``fits_all`` where at the end all models are fitted to all
    rows, not the best alone.
    """

    began: float
    seconds: float | None
    workers: int
    kept: float = 0.0
    fits_all: bool = False
    compiled: float = field(default_factory=lambda: telling.seconds["compiled"])  # before the work began

    def elapsed(self) -> float:
        """Seconds of the work. Loops are compiled once for a machine, if at all, and that is no part of it."""
        return time.perf_counter() - self.began - (telling.seconds["compiled"] - self.compiled)

    def left(self) -> float:
        """Seconds of the budget."""
        return np.inf if self.seconds is None else self.seconds - self.kept - self.elapsed()


class Forecasts:
    """Seconds of the fits that are done, and by them of those to come."""

    def __init__(self, contest: Contest):
        self.contest = contest
        self._took: dict[tuple[str, bool], dict[int, list[float]]] = {}  # by rows
        self._tries: dict[str, int] = {}

    def learn(self, result: FoldResult) -> None:
        own = self._took.setdefault((result.model, result.tuned), {})
        own.setdefault(result.rows, []).append(result.took)

    def measured(self, name: str) -> tuple[int, float] | None:
        """(rows, seconds) of the largest fit of a model that is done."""
        own = self._took.get((name, False)) or self._took.get((name, True))
        return None if not own else (max(own), float(np.median(own[max(own)])))

    def of(self, step: Step) -> float:
        """Seconds of a step; NaN where nothing like it was measured."""
        if step.model in FLOORS:
            return 0.0
        known = self._of(step.model, step.tuned, step.rows)
        if known == known or not step.tuned:
            return known
        few = min(step.rows, SEARCH_ROWS)
        search = self.tries(step.model) * INNER * self._of(step.model, False, few * (INNER - 1) // INNER)
        return search + self._of(step.model, False, step.rows)

    def tries(self, name: str) -> int:
        if name not in self._tries:
            self._tries[name] = self.contest.candidates[name].tries(self.contest.facts)
        return self._tries[name]

    def _of(self, name: str, tuned: bool, rows: int) -> float:
        own = self._took.get((name, tuned))
        if not own:
            return float("nan")
        same = [t for n in own if abs(n - rows) <= NEAR * rows for t in own[n]]  # a fold's rows differ by one
        if same:
            return float(np.median(same))
        points = [(n, float(np.median(own[n]))) for n in sorted(own)]
        near = [point for point in points if point[0] < rows] or points[:1]
        far = [point for point in near if point[0] < near[-1][0] / 2] or near[-1:]
        return forecast(far[-1], near[-1], rows, self.contest.candidates[name].grows)


def forecast(small: tuple[int, float], large: tuple[int, float], n: int, grows: float) -> float:
    """Seconds of a fit of n rows, a + b·n^e through two fits (rows, seconds); never less than the larger of them.

    Of one fit, given twice, all is taken to grow but for what any fit takes.

    >>> forecast((100, 0.02), (400, 0.05), 10_000, 1.0)
    1.01
    """
    if n <= large[0] or grows == 0:
        return large[1]
    span = large[0] ** grows - small[0] ** grows
    some = max(large[1] - OVERHEAD, 0.0)
    slope = max((large[1] - small[1]) / span, 0.0) if span > 0 else some / large[0] ** grows
    slope = max(slope, 0.25 * some / large[0] ** grows)  # two short times are noisy: assume some growth
    return float(large[1] + slope * (n**grows - large[0] ** grows))


def working() -> float:
    """A clock for what this thread does, which stands still while it compiles a loop."""
    return time.perf_counter() - telling.compiled_here()


def short(seconds: float) -> str:
    """A time in words.

    >>> short(0.0123), short(2.5), short(200.0)
    ('0.012 s', '2.5 s', '3 min 20 s')
    """
    if not np.isfinite(seconds):
        return "no limit"
    if seconds >= 100:
        return f"{int(seconds) // 60} min {int(seconds) % 60} s"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
