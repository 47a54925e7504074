"""How sure a score of a few folds is, and a difference of two models that were judged on the same rows.

    of a repetition or more     s² over folds; t of J − 1 degrees of freedom                Nadeau and Bengio (2003)
    of fewer folds              s² the larger of that and (G − 1)/G Σ_g (θ_g − θ̄)², θ_g the score without part g of
                                the rows judged (a jackknife); t of as many degrees as a repetition has
    both                        mean ± t √((1/J + n_test/n_train) s²)

With one fold there is no spread of folds, but the rows' own: wider, as it has to be, and never of width 0 by chance.
Row V1. Cost: G scores a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from separatrix.core.numerics import EPS, FloatArray
from separatrix.judge.contest import GROUPS, FoldResult
from separatrix.judge.scores import METRICS, Interval, corrected_interval, corrected_t

Pair = tuple[FoldResult, FoldResult]


@dataclass(frozen=True)
class Spread:
    """A mean over J folds, with what says how sure it is: √((1/J + ratio) s²) and degrees of freedom."""

    mean: float
    error: float
    freedom: int

    def interval(self, level: float) -> Interval:
        if not (np.isfinite(self.error) and self.error > 0):
            return Interval(self.mean, float("nan"), float("nan"))
        wide = float(stats.t.ppf(0.5 + level / 2, self.freedom) * self.error)
        return Interval(self.mean, self.mean - wide, self.mean + wide)

    def test(self) -> tuple[float, float]:
        """t and its two-sided p; NaN where nothing tells how sure the mean is."""
        if not np.isfinite(self.error) or not np.isfinite(self.mean):
            return float("nan"), float("nan")
        if self.error <= 4 * EPS * abs(self.mean):
            return (0.0, 1.0) if self.mean == 0 else (float("nan"), float("nan"))
        t = self.mean / self.error
        return t, float(2 * stats.t.sf(abs(t), self.freedom))


def _jackknife(parts: FloatArray) -> float:
    """(G − 1)/G Σ (θ_g − θ̄)²."""
    return float((len(parts) - 1) / len(parts) * np.square(parts - parts.mean()).sum())


def _spread(
    values: Sequence[float], within: Sequence[FloatArray], rows: int, ratio: float, whole: int
) -> Spread:
    """Of the mean of the values; unknown (NaN) where fewer rows were judged than there are parts to leave out."""
    found = np.asarray(values, dtype=float)
    inside = float(np.mean([_jackknife(parts) for parts in within])) if rows >= GROUPS else float("nan")
    between = float(found.var(ddof=1)) if len(found) > 1 else 0.0
    error = float(np.sqrt((1 / len(found) + ratio) * np.maximum(between, inside)))
    return Spread(float(found.mean()), error, max(whole - 1, 1))


def interval_of(own: Sequence[FoldResult], metric: str, ratio: float, level: float, whole: int) -> Interval:
    """Of a model's score over its folds, of which a repetition has ``whole``."""
    values = [r.scores[metric] for r in own]
    if len(own) >= whole and len(own) > 1:
        found = corrected_interval(values, ratio, level)
        if found.high > found.low or len(own) > 2:
            return found
        return Interval(
            found.mean, float("nan"), float("nan")
        )  # two folds that agree say nothing of their spread
    return _spread(values, [r.without_parts(metric) for r in own], _judged(own), ratio, whole).interval(level)


def difference_of(
    pairs: Sequence[Pair], metric: str, ratio: float, level: float, whole: int
) -> tuple[Interval, float, float]:
    """(how much worse the first of each pair is than the second, t, p)."""
    values = worse(pairs, metric)
    if len(pairs) >= whole and len(pairs) > 1:
        return corrected_interval(values, ratio, level), *corrected_t(values, ratio)
    found = spread_of(pairs, metric, ratio, whole)
    return found.interval(level), *found.test()


def _judged(own: Sequence[FoldResult]) -> int:
    return sum(len(r.test) for r in own)


def worse(pairs: Sequence[Pair], metric: str) -> list[float]:
    """How much worse the first of each pair is, on the rows that both were judged on."""
    sign = -1.0 if METRICS[metric].higher else 1.0
    found = []
    for one, two in pairs:
        rows = one.test if len(one.test) <= len(two.test) else two.test
        found.append(sign * (one.score_on(metric, rows) - two.score_on(metric, rows)))
    return found


def spread_of(pairs: Sequence[Pair], metric: str, ratio: float, whole: int = GROUPS) -> Spread:
    """Of the difference, by folds and by rows: on those that both were judged on."""
    sign = -1.0 if METRICS[metric].higher else 1.0
    within: list[FloatArray] = []
    for one, two in pairs:
        rows = one.test if len(one.test) <= len(two.test) else two.test
        parts = one.without_parts(metric, rows) - two.without_parts(metric, rows)
        within.append(np.asarray(sign * parts, dtype=float))
    judged = min(_judged([one for one, _ in pairs]), _judged([two for _, two in pairs]))
    return _spread(worse(pairs, metric), within, judged, ratio, whole)
