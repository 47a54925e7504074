"""The time of a comparison:  what is left, what must be kept, how long a fold may take, and who does not fit in.

    forecast      pilots on 150 and 600 rows give the seconds of a fit (`forecast`); folds correct it
    reserve       the seconds of the fit to all rows that comes last (of all models where test rows are to be judged)
    admission     dearest first, models are cut until  Σ seconds × folds of one repetition / workers + reserve ≤ left
    limit         a fold is called off as soon as it takes so long that the folds still to come cannot fit in:
                  (left − reserve) / rounds of folds to come

Row V1. Cost: a few sums over models and folds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from separatrix.judge.contest import Contest, FoldResult
from separatrix.judge.encoded import EncodedSplits
from separatrix.loops import telling

DOUBT = (3.0, 2.5)  # how many times too high a forecast by pilots may be, and one by a single fold
GRACE = 0.1  # of the budget, over it, to finish a model that has folds already
OVERHEAD = 0.005  # seconds of any fit, however few its rows
BASELINE = "majority"  # costs nothing and is never cut


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """When the work began, the seconds that it may take (None: no limit), and on how many threads.

    ``fits_all`` where at the end all models are fitted to all rows, not the best alone.
    """

    began: float
    seconds: float | None
    workers: int
    fits_all: bool = False
    compiled: float = field(default_factory=lambda: telling.seconds["compiled"])  # before the work began


@dataclass(eq=False)
class Budget:
    """What came out of a contest so far, and the time that it takes."""

    contest: Contest
    allowed: Allowed
    results: dict[tuple[str, int], FoldResult] = field(default_factory=dict)
    cut: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)  # "time" or "failed", of those cut
    errors: dict[str, Exception] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of one fold, as forecast or as measured
    called_off: set[str] = field(default_factory=set)  # their seconds are the least that a fold takes
    interrupted: bool = False
    warned: tuple[tuple[type[Warning], str, int], ...] = ()

    def __post_init__(self) -> None:
        self.encoded = EncodedSplits(self.contest)
        self._took: dict[str, list[float]] = {}  # seconds of the folds that are done: fit and answers

    def elapsed(self) -> float:
        """Seconds of the work. Loops are compiled once for a machine, if at all, and that is no part of it."""
        return (
            time.perf_counter() - self.allowed.began - (telling.seconds["compiled"] - self.allowed.compiled)
        )

    def left(self) -> float:
        """Seconds of the budget."""
        return np.inf if self.allowed.seconds is None else self.allowed.seconds - self.elapsed()

    def spare(self, name: str = "") -> float:
        """Seconds for folds: what is left without the reserve, and a little more for a model that has begun."""
        grace = GRACE * (self.allowed.seconds or 0.0) if name in self._took else 0.0
        return self.left() - self._reserve([m for m in self.contest.candidates if m not in self.cut]) + grace

    def to_refit(self, name: str) -> float:
        """Seconds of a fit to all rows, about those of a fold: more rows, but all cores and no answers."""
        return self.seconds.get(name, 0.0) + self.encoded.seconds.get(self.contest.candidates[name].form, 0.0)

    def _reserve(self, names: Sequence[str]) -> float:
        """Seconds to be kept for the fits to all rows where one of these models wins."""
        each = [self.to_refit(m) for m in names]
        return sum(each) if self.allowed.fits_all else max(each, default=0.0)

    def forecast(self) -> dict[str, float]:
        """Seconds of all folds and the fit to all rows, by model; NaN where nothing is known of them."""
        return {
            name: self.seconds.get(name, float("nan")) * (len(self.contest.splits) + 1)
            for name in self.contest.candidates
        }

    def needed(self) -> float:
        """Seconds that the first repetition of all models, those cut for time too, would have taken; NaN: unknown."""
        late = [m for m in self.cut if self.reasons.get(m) == "time"]
        work = sum(self._undone(m) * self.seconds.get(m, float("nan")) for m in late)
        return (
            self.elapsed() + work / self.allowed.workers + max((self.to_refit(m) for m in late), default=0.0)
        )

    def _undone(self, name: str) -> int:
        return sum((name, s) not in self.results for s in range(self.contest.folds))

    def _repeats(self) -> bool:
        """Whether one more repetition fits."""
        if self.allowed.seconds is None:
            return True
        names = [m for m in self.contest.candidates if m not in self.cut]
        fit = sum(self.seconds.get(m, 0.0) for m in names)
        fit += sum(
            self.encoded.seconds.get(form, 0.0) for form in {self.contest.candidates[m].form for m in names}
        )
        return self.contest.folds * fit / self.allowed.workers + self._reserve(names) <= 0.9 * self.left()

    def _limit(self, name: str, s: int) -> float:
        """Seconds that a fold may take, so that those to come still fit in."""
        if self.allowed.seconds is None or name == BASELINE:
            return np.inf
        rounds = -(-self._undone(name) // self.allowed.workers) if s < self.contest.folds else 1
        return self.spare(name) / max(rounds, 1)

    def _may_fit(self, name: str) -> bool:
        """Whether a model that was cut by a forecast may fit in after all."""
        enough = self._doubt(name) * self.left()
        work = self._undone(name) * self.seconds[name] / self.allowed.workers + self.to_refit(name)
        return self.seconds[name] < 0.5 * enough and work <= enough

    def _doubt(self, name: str) -> float:
        """How many times too high the seconds of a model may be."""
        folds = len(self._took.get(name, ()))
        return DOUBT[folds] if folds < len(DOUBT) else 1.0


def forecast(small: tuple[int, float], large: tuple[int, float], n: int, grows: float) -> float:
    """Seconds of a fit of n rows, a + b·n^e through two pilots (rows, seconds); never less than the larger of them.

    Of one pilot, given twice, a quarter is taken to grow.

    >>> forecast((100, 0.02), (400, 0.05), 10_000, 1.0)
    1.01
    """
    if n <= large[0] or grows == 0:
        return large[1]
    span = large[0] ** grows - small[0] ** grows
    slope = max((large[1] - small[1]) / span, 0.0) if span > 0 else 0.0
    some = max(large[1] - OVERHEAD, 0.0)  # two short times are noisy: assume some growth
    slope = max(slope, 0.25 * some / large[0] ** grows)
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
