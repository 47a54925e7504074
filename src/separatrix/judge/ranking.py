"""From folds to a ranking, and which of its differences are real.

    mean ± t_{J−1} √((1/J + n_test/n_train) s²)      of every score over the model's folds (of a few: paired.py)
    d̄ / √((1/J + n_test/n_train) s²_d)               of the best and each other, on folds of both; Holm's correction

Nadeau and Bengio (2003), Holm (1979); notes [726]. Row V1. The calibration error is that of all rows of a repetition
together (a fold is too small for bins), its interval a jackknife over folds. Cost: models × folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from separatrix.judge.contest import FLOORS, Contest, FoldResult
from separatrix.judge.course import CLEAR, Course
from separatrix.judge.paired import Pair, difference_of, interval_of, spread_of, worse
from separatrix.judge.scores import METRICS, Interval, calibration_error, corrected_interval, holm, metrics_of


@dataclass(frozen=True)
class Difference:
    """How much worse a model is than the best, fold by fold.

    ``mean`` with ``low`` and ``high`` is positive where it is worse; ``t`` and ``p`` are of the corrected resampled
    t-test, ``p_holm`` after Holm's correction over all models; ``real`` where that is below 1 − level.
    """

    model: str
    best: str
    mean: float
    low: float
    high: float
    t: float
    p: float
    p_holm: float
    real: bool

    def __str__(self) -> str:
        size = f"{abs(self.mean):.3g}"
        p = "p < 0.001" if self.p_holm < 0.001 else f"p = {self.p_holm:.2g}"
        if not np.isfinite(self.p_holm):
            return f"{self.model}: too little was seen to tell it from {self.best}"
        if self.real:
            return f"{self.model} is worse than {self.best} by {size} ({p})"
        return f"{self.model} cannot be told from {self.best}: {size} worse ({p})"


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranking:
    """Names, best first; the results and scores of each; Difference of each other from the best."""

    names: tuple[str, ...]
    results: Mapping[str, tuple[FoldResult, ...]]
    scores: Mapping[str, Mapping[str, Interval]]
    differences: tuple[Difference, ...]


def rank(course: Course, names: Sequence[str], level: float) -> Ranking:
    """Of these models, by what each is judged by.

    The yardstick is the model of most folds and rows with the best mean. Each other is placed by how much worse it is
    on the folds that both have; one with fewer folds or rows comes before the yardstick only where it is clearly
    better, and those that stopped, and the floor, never do.
    """
    contest = course.contest
    folds = contest.folds
    results = {m: tuple(course.own(m)) for m in names}
    scores: dict[str, dict[str, Interval]] = {}
    for m in names:
        own, ratio = results[m], _ratio(results[m])
        found = {
            name: interval_of(own, name, ratio, level, folds)
            for name in metrics_of(contest.facts.task)
            if name != "calibration_error"
        }
        if not contest.numbers:
            found["calibration_error"] = _pooled(own, contest, level)
        found["seconds"] = corrected_interval([r.seconds for r in own], ratio, level)
        scores[m] = found
    first = _yardstick(course, names, scores)

    def key(m: str) -> tuple[float, int]:
        return (-1.0 if m == first else _behind(course, m, first, results), list(names).index(m))

    order = sorted(names, key=key)
    ahead = [m for m in order if m != first and _before(course, m, first, results)]
    order = [*ahead, first, *(m for m in order if m != first and m not in ahead)]
    best, *others = order
    tests = [_test(course, m, best, results, level) for m in others]
    corrected = holm([p for _, _, p in tests])
    differences = tuple(
        Difference(m, best, *found, t, p, float(q), bool(q < 1 - level and found.mean > 0))
        for m, (found, t, p), q in zip(others, tests, corrected)
    )
    return Ranking(names=(best, *others), results=results, scores=scores, differences=differences)


def _ratio(own: Sequence[FoldResult]) -> float:
    """Rows judged by rows of training."""
    return float(np.mean([len(r.test) / r.rows for r in own]))


def _yardstick(course: Course, names: Sequence[str], scores: Mapping[str, Mapping[str, Interval]]) -> str:
    """Of those in the race with the most folds, and then the most rows, the one of the best mean."""
    sign = -1.0 if METRICS[course.contest.metric].higher else 1.0

    def key(m: str) -> tuple[Any, ...]:
        own, mean = course.own(m), sign * scores[m][course.contest.metric].mean
        out = m in FLOORS, m in course.gone, m in course.stopped
        return (*out, -len(own), -max(r.rows for r in own), mean if np.isfinite(mean) else np.inf)

    def most(m: str) -> tuple[Any, ...]:
        """Rows count where folds are as many: a fold's rows differ by one."""
        found = key(m)
        share = max(r.rows / len(course.contest.splits[r.split].train) for r in course.own(m))
        return (*found[:4], -round(share, 3), found[5])

    return min(names, key=most)


def _before(course: Course, m: str, first: str, results: Mapping[str, Sequence[FoldResult]]) -> bool:
    """Whether a model with fewer folds or rows comes before the yardstick: where it is clearly better."""
    if m in FLOORS or m in course.stopped or m in course.gone:
        return False
    found = spread_of(_pairs(m, first, results), course.contest.metric, 0.0)
    return bool(np.isfinite(found.error) and found.mean < -CLEAR * found.error and found.error > 0)


def _pairs(m: str, best: str, results: Mapping[str, Sequence[FoldResult]]) -> list[Pair]:
    theirs = {r.split: r for r in results[best]}
    return [(r, theirs[r.split]) for r in results[m] if r.split in theirs]


def _behind(course: Course, m: str, best: str, results: Mapping[str, Sequence[FoldResult]]) -> float:
    pairs = _pairs(m, best, results)
    mean = float(np.mean(worse(pairs, course.contest.metric))) if pairs else np.inf
    return mean if np.isfinite(mean) else np.inf


def _test(
    course: Course, m: str, best: str, results: Mapping[str, Sequence[FoldResult]], level: float
) -> tuple[Interval, float, float]:
    pairs = _pairs(m, best, results)
    if not pairs:
        return Interval(float("nan"), float("nan"), float("nan")), float("nan"), float("nan")
    ratio = _ratio([one for one, _ in pairs])
    return difference_of(pairs, course.contest.metric, ratio, level, course.contest.folds)


def _pooled(own: Sequence[FoldResult], contest: Contest, level: float) -> Interval:
    """The calibration error of a repetition's rows together, averaged over repetitions; a jackknife over folds."""
    parts = [(contest.splits[r.split].repeat, r.codes, r.P) for r in own]
    known = [(repeat, y, P) for repeat, y, P in parts if P is not None]
    if not known:
        return Interval(float("nan"), float("nan"), float("nan"))

    def value(without: int | None) -> float:
        kept = [part for j, part in enumerate(known) if j != without]
        values = []
        for repeat in dict.fromkeys(part[0] for part in kept):
            mine = [part for part in kept if part[0] == repeat]
            values.append(
                calibration_error(np.concatenate([y for _, y, _ in mine]), np.vstack([P for _, _, P in mine]))
            )
        return float(np.mean(values))

    J = len(known)
    mean = value(None)
    if J < 2:
        return Interval(mean, float("nan"), float("nan"))
    left = np.array([value(j) for j in range(J)])
    wide = float(
        stats.t.ppf(0.5 + level / 2, J - 1) * np.sqrt((J - 1) / J * np.square(left - left.mean()).sum())
    )
    return Interval(mean, mean - wide, mean + wide)
