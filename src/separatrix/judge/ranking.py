"""From folds to a ranking, and which of its differences are real.

    mean ± t_{J−1} √((1/J + n_test/n_train) s²)      of every score over the J folds that all ranked models finished
    d̄ / √((1/J + n_test/n_train) s²_d)               of the best and each other, fold by fold; Holm's correction

Nadeau and Bengio (2003), Holm (1979); notes [726]. Row V1. The calibration error is that of all rows of a repetition
together (a fold is too small for bins), its interval a jackknife over folds. Cost: models × folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from separatrix.core.numerics import FloatArray
from separatrix.judge.contest import Contest, FoldResult
from separatrix.judge.scores import (
    METRICS,
    Interval,
    calibration_error,
    corrected_interval,
    corrected_t,
    holm,
)

Results = Mapping[tuple[str, int], FoldResult]  # by model and split


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
            return f"{self.model}: too few folds to tell it from {self.best}"
        if self.real:
            return f"{self.model} is worse than {self.best} by {size} ({p})"
        return f"{self.model} cannot be told from {self.best}: {size} worse ({p})"


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranking:
    """Names, best first; the splits that count; name → metric → Interval; Difference of each other from the best."""

    names: tuple[str, ...]
    used: tuple[int, ...]
    scores: Mapping[str, Mapping[str, Interval]]
    differences: tuple[Difference, ...]


def rank(contest: Contest, results: Results, names: Sequence[str], level: float) -> Ranking:
    """Of the models on the splits that all of them finished."""
    splits, metric = contest.splits, contest.metric
    used = tuple(s for s in range(len(splits)) if all((m, s) in results for m in names))
    ratio = float(np.mean([len(splits[s].test) / len(splits[s].train) for s in used]))
    scores: dict[str, dict[str, Interval]] = {}
    for m in names:
        own = [results[m, s] for s in used]
        found = {
            name: corrected_interval([r.scores[name] for r in own], ratio, level)
            for name in METRICS
            if name != "calibration_error"
        }
        found["calibration_error"] = _pooled(own, contest, level)
        found["seconds"] = corrected_interval([r.seconds for r in own], ratio, level)
        scores[m] = found
    sign = -1.0 if METRICS[metric].higher else 1.0

    def key(m: str) -> tuple[float, int]:
        mean = sign * scores[m][metric].mean
        return (mean if np.isfinite(mean) else np.inf, names.index(m))

    best, *others = sorted(names, key=key)

    def worse(m: str) -> FloatArray:
        return sign * np.array([results[m, s].scores[metric] - results[best, s].scores[metric] for s in used])

    differences = _differences(best, {m: worse(m) for m in others}, ratio, level)
    return Ranking(names=(best, *others), used=used, scores=scores, differences=differences)


def _differences(
    best: str, worse: Mapping[str, FloatArray], ratio: float, level: float
) -> tuple[Difference, ...]:
    """Of each model, from how much worse it is in each fold."""
    tests = [(corrected_interval(d, ratio, level), *corrected_t(d, ratio)) for d in worse.values()]
    corrected = holm([p for _, _, p in tests])
    return tuple(
        Difference(m, best, mean, low, high, t, p, float(q), bool(q < 1 - level))
        for m, ((mean, low, high), t, p), q in zip(worse, tests, corrected)
    )


def _pooled(own: Sequence[FoldResult], contest: Contest, level: float) -> Interval:
    """The calibration error of a repetition's rows together, averaged over repetitions; a jackknife over folds."""
    splits = [contest.splits[r.split] for r in own]
    parts = [(s.repeat, contest.codes[s.test], r.P) for s, r in zip(splits, own)]
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
