"""A table of predictions taken apart:  mean loss = bias + variance + noise, to rounding.

    row i has K_i predictions h_1 … h_K of bootstraps that left it out, a label t, and a weight w

    squared   error   = Σ_b |t − h_b|² / K                       h̄ = Σ_b h_b / K,   V = Σ_b |h_b − h̄|² / (K − 1)
              variance = V,   bias = |t − h̄|² − V/K − N,   noise = N
    0–1       error   = P(h ≠ t)                                 m = the class predicted most often, y* = that of t
              bias    = [m ≠ y*],   noise = P(h ≠ t) − P(h ≠ y*)
              variance = P(h ≠ m) where m = y*  (it does harm),  −P(h = y*) where m ≠ y*  (it does good)

V has the divisor of the notes ([6321] "Estimating bias and variance"); the mean of K predictions varies by V/K, which
is therefore taken out of (t − h̄)², so the parts add up and neither depends, on average, on the number of bootstraps.
Vectors h serve as well: for probabilities with one-hot t, and halved, this is the Brier score; for hard predictions
the same sums are Kohavi and Wolpert's decomposition of 0–1 loss. The 0–1 parts above are Domingos' (2000) with his
factors written out: c₂ = 1 or −P(h = y* | h ≠ m), for two classes −1; c₁ = P(h = y*) − P(h = t) where t ≠ y*.

Over all:  Σ w_i part_i / Σ w_i, every row once by its weight however often it was left out. N, and y* other than t,
is what equal rows of X with different labels say; without enough of them N = 0, y* = t, and noise is counted in bias.
Row E5 of the specification. Cost: O(B n d), and as much again for the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix.core.numerics import FloatArray, Index

BATCHES = 20  # of bootstraps, left out one at a time to see how far the answer would move
RESAMPLES = 60  # of the bootstraps, for parts that hang on a vote: a jackknife overstates how far those move
BLOCK = 8192  # rows resampled at a time
FREEDOM = 5  # degrees of freedom below which equal rows are too few to tell noise
LEAST = 2  # predictions a row needs: of one, nobody can say how it varies

Parts = dict[str, FloatArray]


class LossPart(NamedTuple):
    """A part of the mean loss: its value, an interval, and the standard errors the interval is made of."""

    value: float
    low: float
    high: float
    error_points: float
    error_bootstraps: float


# ---- equal rows ----


@dataclass(frozen=True, eq=False)
class Repeats:
    """Which rows of X are equal: ``group`` (n,) numbers the distinct ones."""

    group: Index
    weight: FloatArray

    @cached_property
    def groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1

    @cached_property
    def sizes(self) -> Index:
        return np.bincount(self.group, minlength=self.groups)

    @property
    def rows(self) -> int:
        """How many rows have an equal."""
        return int(self.sizes[self.sizes > 1].sum())

    @cached_property
    def tell(self) -> bool:
        """Whether equal rows are enough to tell noise from bias."""
        return bool(self.free.sum() >= FREEDOM)

    def noise(self, target: FloatArray) -> tuple[float, FloatArray]:
        """Variance of targets (n, d) within groups, pooled, and how each group moves it; zero where few repeat."""
        if not self.tell:
            return 0.0, np.zeros(self.groups)
        scatter, free = self.scatter(target), self.free.sum()
        pooled = float(scatter.sum() / free)
        return pooled, (scatter - pooled * self.free) / free

    def total(self, values: FloatArray) -> FloatArray:
        """Sums of (n,) or (n, d) over each group."""
        if values.ndim == 1:
            return np.bincount(self.group, values, minlength=self.groups).astype(float)
        return np.column_stack([self.total(column) for column in values.T])

    @cached_property
    def free(self) -> FloatArray:
        """Degrees of freedom within each group: one less than its rows, where they weigh the same."""
        total = self.total(self.weight)
        free = total - self.total(self.weight**2) / total
        return np.where(self.sizes > 1, free, 0.0)

    def scatter(self, target: FloatArray) -> FloatArray:
        """Σ w |t − t̄|² of each group, t (n, d)."""
        mean = self.total(self.weight[:, None] * target) / self.total(self.weight)[:, None]
        return self.total(self.weight * np.square(target - mean[self.group]).sum(axis=1))

    def usual(self, codes: Index) -> Index:
        """The label (n,) that weighs most among equal rows; of a tie, the one met first. Its own where few repeat."""
        if not self.tell:
            return codes
        k = int(codes.max()) + 1
        mass = self.total(self.weight[:, None] * (codes[:, None] == np.arange(k)))
        where = np.full((self.groups, k), len(codes))
        np.minimum.at(where, (self.group, codes), np.arange(len(codes)))
        return _first_of_largest(mass, where)[self.group]


def equal_rows(X: Any) -> Index:
    """The number (n,) of each row among the distinct rows of a table, a sparse matrix, a frame or a list.

    >>> equal_rows(np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]])).tolist()
    [0, 1, 0]
    """
    if sp.issparse(X):
        table: Any = X
        table = table.tocsr().copy()
        table.sum_duplicates()
        table.eliminate_zeros()
        keys = [(table.indices[a:b].tobytes(), table.data[a:b].tobytes()) for a, b in pairwise(table.indptr)]
    else:
        cells = np.asarray(X) if not isinstance(X, (list, tuple)) else np.array(X, dtype=object)
        if cells.dtype.kind in "fiub":
            cells = np.ascontiguousarray(cells.reshape(len(cells), -1)) + cells.dtype.type(0)  # −0 is 0
            keys = [row.tobytes() for row in cells]
        elif cells.ndim == 1:
            keys = cells.tolist()
        else:
            keys = [tuple(map(_same_nan, row)) for row in cells.tolist()]
    number: dict[Any, int] = {}
    return np.array([number.setdefault(_hashable(key), len(number)) for key in keys], dtype=np.intp)


def _same_nan(cell: Any) -> Any:
    return "NaN" if isinstance(cell, float) and cell != cell else cell


def _hashable(key: Any) -> Any:
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key


def _first_of_largest(mass: FloatArray, where: np.ndarray) -> Index:
    """argmax of each row (n, K); of a tie, the entry with the smallest ``where``."""
    tied = mass == mass.max(axis=1, keepdims=True)
    return np.asarray(np.where(tied, where, np.iinfo(np.intp).max).argmin(axis=1))


# ---- one table ----


def squared_table(
    table: FloatArray, target: FloatArray, repeats: Repeats, half: bool = False
) -> tuple[FloatArray, Decomposition]:
    """Mean predictions (n, d) and the parts of squared loss, halved with ``half``.

    table (B, n, d), NaN where a bootstrap says nothing of a row; target (n, d).

    >>> table = np.array([[[1.0], [np.nan]], [[2.0], [4.0]], [[np.nan], [4.0]]])
    >>> mean, found = squared_table(table, np.array([[1.0], [2.0]]), Repeats(np.arange(2), np.ones(2)))
    >>> mean.ravel(), found.points["bias"], found.points["variance"]
    (array([1.5, 4. ]), array([0., 4.]), array([0.5, 0. ]))
    """
    scale = 0.5 if half else 1.0
    there = ~np.isnan(table[:, :, 0])
    count = there.sum(axis=0)
    at_least = np.maximum(count, 1)[:, None]
    # about the row's first prediction first: a learner that always says the same has exactly no variance
    first = table[there.argmax(axis=0), np.arange(len(target))]
    off_first = np.zeros(target.shape)
    for b in range(len(table)):
        rows = np.flatnonzero(there[b])
        off_first[rows] += table[b, rows] - first[rows]
    mean = first + off_first / at_least
    batch = np.arange(len(table)) % min(BATCHES, max(len(table), 1))
    shape = (batch.max(initial=0) + 1, *target.shape)
    sums, squares, counts = np.zeros(shape), np.zeros(shape[:2]), np.zeros(shape[:2])
    loss = np.zeros(len(target))
    for b, g in enumerate(batch):
        rows = np.flatnonzero(there[b])
        off = table[b, rows] - mean[rows]
        sums[g, rows] += off
        squares[g, rows] += np.square(off).sum(axis=1)
        counts[g, rows] += 1
        loss[rows] += scale * np.square(target[rows] - table[b, rows]).sum(axis=1)
    noise, influence = repeats.noise(np.sqrt(scale) * target)

    def parts(kept: FloatArray) -> Parts:
        """Of the batches kept (G,)."""
        n, s = kept @ counts, np.tensordot(kept, sums, 1)
        judged = n >= LEAST
        n = np.where(judged, n, np.nan)
        spread = np.maximum(kept @ squares - np.square(s).sum(axis=1) / n, 0.0)
        miss = np.square(target - mean - s / n[:, None]).sum(axis=1)
        return additive(scale * miss, scale * spread / n, n, np.where(judged, noise, np.nan))

    every = parts(np.ones(shape[0]))
    every["error"] = np.where(count >= LEAST, loss / at_least[:, 0], np.nan)
    every["count"] = count.astype(float)
    return np.where((count > 0)[:, None], mean, np.nan), Decomposition(
        every, repeats, _left_out(parts, shape[0], repeats.weight), influence
    )


def additive(miss: FloatArray, spread: FloatArray, n: FloatArray, noise: FloatArray) -> Parts:
    """The parts from |t − h̄|², Σ|h − h̄|²/n and the noise; error is their sum before anything is taken apart."""
    return {
        "error": miss + spread,
        "bias": miss - spread / (n - 1.0) - noise,
        "variance": spread * (n / (n - 1.0)),
        "noise": noise,
    }


def zero_one_table(
    table: np.ndarray, codes: Index, repeats: Repeats, k: int
) -> tuple[Index, Decomposition, Decomposition]:
    """Main predictions (n,), Domingos' parts, and Kohavi and Wolpert's.

    table (B, n) of class numbers below k, −1 where a bootstrap says nothing of a row; codes (n,). A row's main
    prediction is the class predicted most often, of a tie the one predicted by the earliest bootstrap: names and
    order of the classes change nothing.

    >>> table = np.array([[0, 1], [0, 1], [1, 0]])
    >>> main, found, _ = zero_one_table(table, np.array([0, 0]), Repeats(np.arange(2), np.ones(2)), 2)
    >>> main, found.points["bias"], found.points["variance"].round(3), found.points["error"].round(3)
    (array([0, 1]), array([0., 1.]), array([ 0.333, -0.333]), array([0.333, 0.667]))
    """
    B, n = table.shape
    batch = np.arange(B) % min(BATCHES, max(B, 1))
    counts = np.zeros((batch.max(initial=0) + 1, n, k))
    where = np.full((n, k), B)
    for b in range(B - 1, -1, -1):
        rows = np.flatnonzero(table[b] >= 0)
        counts[batch[b], rows, table[b, rows]] += 1
        where[rows, table[b, rows]] = b
    best = repeats.usual(codes)

    def shares(votes: FloatArray) -> tuple[FloatArray, FloatArray]:
        total = votes.sum(axis=1)
        total = np.where(total >= LEAST, total, np.nan)
        return votes / total[:, None], total

    def domingos(votes: FloatArray, rows: slice = slice(None)) -> Parts:
        q, _ = shares(votes)
        row, usual = np.arange(len(votes)), best[rows]
        main = _first_of_largest(votes, where[rows])
        right, of_best = q[row, codes[rows]], q[row, usual]
        biased = np.where(main != usual, 1.0, 0.0)
        spread = 1.0 - q[row, main]
        unbiased_part, biased_part = (1.0 - biased) * spread, biased * of_best
        return {
            "error": 1.0 - right,
            "bias": np.where(np.isnan(right), np.nan, biased),
            "variance": unbiased_part - biased_part,
            "noise": of_best - right,
            "unbiased_variance": unbiased_part,
            "biased_variance": biased_part,
            "disagreement": spread,
        }

    one_hot = (codes[:, None] == np.arange(k)).astype(float)
    noise, influence = repeats.noise(np.sqrt(0.5) * one_hot)

    def kohavi_wolpert(kept: FloatArray) -> Parts:
        q, total = shares(np.tensordot(kept, counts, 1))
        right, square = q[np.arange(n), codes], np.square(q).sum(axis=1)
        miss, spread = 0.5 * np.square(one_hot - q).sum(axis=1), 0.5 * (1.0 - square)
        return additive(miss, spread, total, np.where(np.isnan(right), np.nan, noise)) | {
            "error": 1.0 - right
        }

    votes = counts.sum(axis=0)
    count = votes.sum(axis=1)
    drawn = _resampled(domingos, table, k, repeats.weight)
    left = _left_out(kohavi_wolpert, len(counts), repeats.weight)
    both = kohavi_wolpert(np.ones(len(counts))) | {"count": count}
    return (
        np.where(count > 0, _first_of_largest(votes, where), -1),
        Decomposition(domingos(votes) | {"count": count}, repeats, drawn, None),
        Decomposition(both, repeats, left, influence),
    )


# ---- over all rows ----


@dataclass(frozen=True, eq=False)
class Moved:
    """Means (R,) of the parts on other choices of the bootstraps; ``factor`` makes Σ(θ − θ̄)² a variance."""

    means: Mapping[str, FloatArray]
    factor: float

    def error(self, name: str) -> float:
        if name not in self.means:
            return np.nan
        return float(np.sqrt(self.factor * np.square(self.means[name] - self.means[name].mean()).sum()))


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Parts of every row, their means on other choices of the bootstraps, and how noise moves with the groups.

    ``noise_influence`` (groups,) is None where noise is a mean over rows like the other parts.
    """

    points: Parts
    repeats: Repeats
    moved: Moved
    noise_influence: FloatArray | None

    def overall(self, z: float) -> Mapping[str, LossPart]:
        """Σ w part / Σ w over the judged rows, with value ± z standard errors.

        The error of the points is a jackknife over groups of equal rows. That of the bootstraps is a jackknife over
        batches of them, or, of Domingos' parts, which jump where a vote turns, the spread over resampled bootstraps.
        """
        return {name: self._part(name, z) for name in self.points if name != "count"}

    def _part(self, name: str, z: float) -> LossPart:
        values, weight = self.points[name], self.repeats.weight
        judged = np.isfinite(values)
        value = _mean(values, weight)
        if not judged.any():
            return LossPart(*[np.nan] * 5)
        weight = np.where(judged, weight, 0.0)
        off = np.where(judged, values - value, 0.0)
        moved = self.repeats.total(weight * off) / weight.sum()
        if self.noise_influence is not None and name in ("bias", "noise"):
            moved = moved + self.noise_influence * (1.0 if name == "noise" else -1.0)
        groups = len(np.unique(self.repeats.group[judged]))
        of_points = float(np.sqrt(groups / (groups - 1) * np.square(moved).sum())) if groups > 1 else np.nan
        of_bootstraps = self.moved.error(name)
        half = z * float(np.hypot(of_points, of_bootstraps))
        least = 0.0 if values[judged].min() >= 0 else -np.inf  # what no row can be below
        return LossPart(value, max(value - half, least), value + half, of_points, of_bootstraps)


def _mean(values: FloatArray, weight: FloatArray) -> float:
    judged = np.isfinite(values)
    return float(weight[judged] @ values[judged] / weight[judged].sum()) if judged.any() else np.nan


def _left_out(parts: Callable[[FloatArray], Parts], batches: int, weight: FloatArray) -> Moved:
    """The means without each batch in turn; none of fewer than three, of which no spread can be told."""
    if batches < 3:
        return Moved({}, np.nan)
    found = [parts(1.0 - row) for row in np.eye(batches)]
    means = {name: np.array([_mean(each[name], weight) for each in found]) for name in found[0]}
    return Moved(means, (batches - 1) / batches)


def _resampled(
    parts: Callable[[FloatArray, slice], Parts], table: np.ndarray, k: int, weight: FloatArray
) -> Moved:
    """The means with the bootstraps drawn anew from themselves; always the same draws."""
    B, n = table.shape
    if B < 3:
        return Moved({}, np.nan)
    draws = np.random.Generator(np.random.Philox(key=B)).multinomial(B, np.full(B, 1.0 / B), RESAMPLES)
    sums: dict[str, FloatArray] = {}
    mass = np.zeros(RESAMPLES)
    for a in range(0, n, BLOCK):
        rows = slice(a, min(a + BLOCK, n))
        votes = np.stack([draws.astype(float) @ (table[:, rows] == c) for c in range(k)], axis=2)
        for r in range(RESAMPLES):
            found = parts(votes[r], rows)
            judged = np.isfinite(found["error"])
            here = weight[rows][judged]
            mass[r] += here.sum()
            for name, values in found.items():
                sums.setdefault(name, np.zeros(RESAMPLES))[r] += here @ values[judged]
    if not mass.all():
        return Moved({}, np.nan)
    return Moved({name: total / mass for name, total in sums.items()}, 1.0 / (RESAMPLES - 1))
