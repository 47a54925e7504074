"""Levels of a nominal column by what goes with them:  means shrunk to the whole's, and groups of levels alike.

    m_l = Σ_l w z / W_l                        the mean of numbers, or of 0 and 1 for a class, in level l
    B_l = τ² / (τ² + σ²/W_l)                   how much of m_l − m is no chance: τ² between levels, σ² within
    shrunk_l = m + B_l (m_l − m)               known to τ √(1 − B_l)

τ² and σ² are found by moments (analysis of variance), σ² with one row of the whole's variance beside those within, so
that levels of a row each are worth nothing. A weight is that many rows. What levels are called, and how they are
numbered, changes nothing: where two are equal in rows and mean, they are in one group. Cost: O(n + levels) a target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.core.numerics import FloatArray

TINY = 1e-12  # of the whole's variance: what rounding leaves of none


@dataclass(frozen=True, eq=False)
class LevelMeans:
    """``mean`` of the whole, ``shrunk`` (L,) of each level, the whole's where it has no row, ``spread`` (L,): how
    far off that may be."""

    mean: float
    shrunk: FloatArray
    spread: FloatArray

    @classmethod
    def of(cls, codes: np.ndarray, target: FloatArray, weight: FloatArray | None, size: int) -> LevelMeans:
        """Of rows with a level ``codes`` (n,) in 0 … size − 1, −1 where it is missing, and numbers (n,).

        >>> means = LevelMeans.of(np.repeat([0, 1], 50), np.repeat([0.0, 1.0], 50), None, 3)
        >>> means.shrunk.round(2).tolist()
        [0.0, 1.0, 0.5]
        """
        seen = codes >= 0
        at, z = codes[seen], np.asarray(target, dtype=np.float64)[seen]
        w = np.ones(len(at)) if weight is None else np.asarray(weight, dtype=np.float64)[seen]
        total = float(w.sum())
        if total <= 0:
            return cls(0.0, np.zeros(size), np.zeros(size))
        mean = float(w @ z) / total
        z = z - mean
        rows = np.bincount(at, w, minlength=size)
        there = rows > 0
        away = np.zeros(size)
        away[there] = np.bincount(at, w * z, minlength=size)[there] / rows[there]
        whole = float(w @ (z * z))
        between = float(rows @ (away * away))
        levels = int(there.sum())
        within = (max(whole - between, 0.0) + whole / total) / max(total - levels + 1.0, 1.0)
        even = (total - float(rows @ rows) / total) / max(levels - 1, 1)
        tau = max(between / max(levels - 1, 1) - within, 0.0) / even if even > 0 else 0.0
        if tau <= TINY * whole / total:
            return cls(mean, np.full(size, mean), np.zeros(size))
        part = np.zeros(size)
        part[there] = tau / (tau + within / rows[there])
        return cls(mean, mean + part * away, np.sqrt(tau * np.maximum(1.0 - part, 0.0)))


def group_levels(
    codes: np.ndarray, target: np.ndarray, weight: FloatArray | None, size: int, classes: int, most: int
) -> np.ndarray:
    """The group of each level (size,), 0 … fewer than ``most``, −1 where it has no row. O(n + size) a class.

    Numbers (``classes`` 0) and two classes: levels in the order of their shrunk means, those together that are nearer
    than the means are known. More: by the class of which a level has most more than the whole, and how much more.

    >>> codes = np.repeat(np.arange(100), 50)
    >>> target = np.repeat(np.arange(100) % 2, 50)
    >>> group_levels(codes, target, None, 100, 2, 64)[:4].tolist()
    [0, 1, 0, 1]
    """
    there = np.bincount(codes[codes >= 0], minlength=size) > 0
    if classes > 2:
        steps = _by_class(codes, target, weight, size, classes, most, there)
    else:
        means = LevelMeans.of(codes, target, weight, size)
        away = means.shrunk - means.mean
        widest = float(np.ptp(away[there])) if there.any() else 0.0
        width = max(_usual(means, codes, weight), widest / (most - 2))
        steps = _near(away / width).astype(np.int64) if width > 0 else np.zeros(size, np.int64)
    found = np.full(size, -1)
    found[there] = np.unique(steps[there], return_inverse=True)[1]
    return found


def _by_class(
    codes: np.ndarray, target: np.ndarray, weight: FloatArray | None, size: int, classes: int, most: int,
    there: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """0 where a level tells nothing, else a number for its class and how much more of it there is."""
    best, gain = np.zeros(size), np.zeros(size)
    width = np.ones(classes)
    winner = np.full(size, -1)
    share = np.bincount(target, weight, minlength=classes)
    place = np.empty(classes, np.int64)
    place[np.argsort(-share, kind="stable")] = np.arange(classes)
    bins = max(1, (most - 1) // classes)
    place = np.minimum(place, most - 2)  # the rarest classes of very many share a place
    for k in range(classes):
        means = LevelMeans.of(codes, (target == k).astype(float), weight, size)
        more = means.shrunk - means.mean
        scale = np.sqrt(max(means.mean * (1.0 - means.mean), 1e-300))
        width[k] = max(_usual(means, codes, weight), 1e-9)
        takes = there & (more > 0.5 * width[k]) & (more / scale > best * (1 + 1e-9))
        best[takes], gain[takes], winner[takes] = (more / scale)[takes], more[takes], k
    steps = np.zeros(size, np.int64)
    for k in np.unique(winner[winner >= 0]).tolist():
        mine = winner == k
        wide = max(width[k], float(gain[mine].max()) / bins * (1 + 1e-9))
        steps[mine] = 1 + place[k] * bins + np.minimum(_near(gain[mine] / wide, np.floor), bins - 1)
    return steps


def _usual(means: LevelMeans, codes: np.ndarray, weight: FloatArray | None) -> float:
    """How far off the mean of a row's level usually is."""
    seen = codes >= 0
    if not seen.any():
        return 0.0
    return float(np.average(means.spread[codes[seen]], weights=None if weight is None else weight[seen]))


def _near(x: FloatArray, function: np.ufunc = np.rint) -> np.ndarray:
    """Rounded, where what sums leave of rounding moves nothing over an edge."""
    return np.asarray(function(np.round(x, 9)))
