"""Mergeable facts of rows: Sum, Moments, Histogram, Extrema, Counts; Gram and QRFactor from `second_order`.

    statistic(A ∪ B) = statistic(A) + statistic(B)        statistic(∅) = zero        (a + b) − b = a

A statistic is a frozen value. `of` computes it from a block of rows, `zero` is that of no rows, + merges and
−, where it exists, takes out rows that are in. A weight is that many copies of the row; weight 0 is absence.
Second moments are centred and merged by Chan's rule, because raw sums lose every digit at 1e8 ± 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .second_order import Gram, QRFactor, SecondOrder, Solution, trustworthy
from .statistic import (
    EPS,
    TILE_CELLS,
    TILE_ROWS,
    Array,
    Statistic,
    as_block,
    centred_tiles,
    constant_columns,
    merge_means,
    merge_two_means,
    remaining,
    remaining_mean,
)

__all__ = [
    "Counts",
    "Extrema",
    "Gram",
    "Histogram",
    "Moments",
    "QRFactor",
    "SecondOrder",
    "Solution",
    "Statistic",
    "Sum",
    "trustworthy",
]


@dataclass(frozen=True, slots=True, eq=False)
class Sum(Statistic):
    """value = Σ w x, weight = Σ w, over the first axis of anything array-like.

    Shapes: x (n, …), value (…). Cost: one pass. `a − b` is exact up to the rounding of value.

    >>> s = Sum.of([[1.0, 2.0], [3.0, 4.0]]) + Sum.of([[10.0, 10.0]], weight=[2.0])
    >>> s.value, s.weight, s.mean
    (array([24., 26.]), 4.0, array([6. , 6.5]))
    """

    value: Array
    weight: float

    @classmethod
    def zero(cls, shape: int | tuple[int, ...] = ()) -> Self:
        return cls(np.zeros(shape), 0.0)

    @classmethod
    def of(cls, x: ArrayLike, weight: ArrayLike | None = None) -> Self:
        x = np.asarray(x)
        with np.errstate(all="ignore"):
            if weight is None:
                return cls(np.asarray(x.sum(axis=0, dtype=np.float64)), float(len(x)))
            weight = np.asarray(weight, dtype=np.float64)
            if weight.shape != x.shape[:1]:
                raise ValueError(f"one weight per row: {len(x)} rows, weight of shape {weight.shape}")
            return cls(np.asarray(np.tensordot(weight, x, axes=1)), float(weight.sum()))

    @property
    def mean(self) -> Array:
        """value / weight; NaN when there are no rows."""
        with np.errstate(all="ignore"):
            return np.divide(self.value, self.weight)

    def __add__(self, other: Self) -> Self:
        self._check_same_shape(other)
        return type(self)(np.asarray(self.value + other.value), self.weight + other.weight)

    def __sub__(self, other: Self) -> Self:
        self._check_same_shape(other)
        rest = float(remaining(self.weight, other.weight))
        return type(self)(np.asarray(self.value - other.value), rest)


@dataclass(frozen=True, slots=True, eq=False)
class Moments(Statistic):
    """weight W = Σ w, mean m = Σ w x / W, second = Σ w (x − m)², per column.

    Merge: m = mₐ + δ w_b/W, second = secondₐ + second_b + δ² wₐw_b/W, with δ = m_b − mₐ.
    Shapes: X (n, p), mean, tail and second (p,), weight one number; tail is what rounding took off the mean.
    Cost: one pass over memory, in tiles that stay in cache, outside the GIL. float32, integers and booleans
    are accumulated in float64.

    A NaN or an infinity in a column, whatever the weight of its row, makes that column's mean non-finite. (So
    may values near 1e308, whose sum overflows: look at the column before naming the culprit.) A constant
    column has second exactly 0. `a − b` loses digits in the ratio of what was there to what is left; a second
    moment that drowns in that loss is set to 0.

    >>> m = Moments.of([[1e8 - 1], [1e8 + 1]]) + Moments.of([[1e8]], weight=[2.0])
    >>> m.weight, m.mean, m.variance
    (4.0, array([1.e+08]), array([0.5]))
    """

    weight: float
    mean: Array
    tail: Array
    second: Array

    @classmethod
    def zero(cls, columns: int) -> Self:
        return cls(0.0, np.zeros(columns), np.zeros(columns), np.zeros(columns))

    @classmethod
    def of(cls, X: ArrayLike, weight: ArrayLike | None = None) -> Self:
        X, weight = as_block(X, weight)
        n, p = X.shape
        if n == 0:
            return cls.zero(p)
        rows = min(TILE_ROWS, max(64, TILE_CELLS // max(p, 1)))
        tiles = -(-n // rows)
        W, means, tails, second = np.empty(tiles), np.empty((tiles, p)), np.empty((tiles, p)), np.zeros(p)
        with np.errstate(all="ignore"):
            for t, (w, *fact, centred) in enumerate(centred_tiles(X, None, weight, rows)):
                W[t], means[t], tails[t] = fact
                np.multiply(centred, centred, out=centred)
                second += np.dot(w, centred)
            total, mean, tail, offset = merge_means(W, means, tails)
            second += W @ (offset * offset)
        return cls(total, mean, tail, second)

    @property
    def variance(self) -> Array:
        """second / weight (the population's: no n − 1); NaN when there are no rows."""
        with np.errstate(all="ignore"):
            return np.divide(self.second, self.weight)

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Columns that vary by no more than the rounding of their stored values."""
        return constant_columns(self.weight, self.mean, self.second)

    @property
    def scale(self) -> Array:
        """√variance, and 1 for constant columns, so that it is safe to divide by."""
        with np.errstate(all="ignore"):
            return np.where(self.constant, 1.0, np.sqrt(self.variance))

    def __add__(self, other: Self) -> Self:
        self._check_same_shape(other)
        a, b = (self, other) if self.weight >= other.weight else (other, self)
        total, mean, tail, delta = merge_two_means(a, b)
        with np.errstate(all="ignore"):
            share = a.weight * (b.weight / total) if total > 0 else 0.0
            delta *= delta
            delta *= share
            delta += a.second
            delta += b.second
        return type(self)(total, mean, tail, delta)

    def __sub__(self, other: Self) -> Self:
        self._check_same_shape(other)
        rest = float(remaining(self.weight, other.weight))
        if rest == 0:
            return self.zero(len(self.mean))
        mean, tail, delta = remaining_mean(
            (self.weight, self.mean, self.tail), (other.weight, other.mean, other.tail), rest
        )
        with np.errstate(all="ignore"):
            second = self.second - other.second - delta * (delta * (rest * (other.weight / self.weight)))
            lost = second <= 16 * EPS * self.second
            return type(self)(rest, mean, tail, np.where(lost, 0.0, second))


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(Statistic):
    """counts[j, b, c] = Σ w over rows with x_j in bin b of column j and label c.

    Column j with cut points e₀ < … < e_m has the m + 2 bins (−∞, e₀), [e₀, e₁), …, [e_m, ∞), so no row is
    lost; NaN goes to `missing` (p, K). Shapes: counts (p, B, K), B the largest number of bins, unused bins
    stay 0. Cost: n p log m.

    >>> h = Histogram.of([[0.5], [1.5], [1.0]], edges=[[0.0, 1.0]], label=[0, 1, 1], labels=2)
    >>> h.counts[0]
    array([[0., 0.],
           [1., 0.],
           [0., 2.]])
    """

    edges: tuple[tuple[float, ...], ...]
    counts: Array
    missing: Array

    @classmethod
    def zero(cls, edges: Iterable[ArrayLike], labels: int = 1) -> Self:
        cuts = tuple(tuple(np.asarray(e, dtype=np.float64).tolist()) for e in edges)
        if any(a >= b for cut in cuts for a, b in pairwise(cut)):
            raise ValueError("the cut points of a column must increase strictly")
        bins = 1 + max((len(cut) for cut in cuts), default=0)
        return cls(cuts, np.zeros((len(cuts), bins, labels)), np.zeros((len(cuts), labels)))

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        edges: Iterable[ArrayLike],
        weight: ArrayLike | None = None,
        label: ArrayLike | None = None,
        labels: int = 1,
    ) -> Self:
        """From rows X (n, p), cut points for each column, weights (n,), label codes 0 … labels − 1 (n,)."""
        X, weight = as_block(X, weight)
        empty = cls.zero(edges, labels)
        p, bins, _ = empty.counts.shape
        if p != X.shape[1]:
            raise ValueError(f"cut points for {p} columns, rows of {X.shape[1]}")
        code = np.zeros(len(X), dtype=np.intp) if label is None else np.asarray(label, dtype=np.intp)
        if code.shape != X.shape[:1] or (len(code) and not 0 <= code.min() <= code.max() < labels):
            raise ValueError(f"label must hold one code from 0 to {labels - 1} for each of the {len(X)} rows")
        counts, missing = np.empty_like(empty.counts), np.empty_like(empty.missing)
        for j, cut in enumerate(empty.edges):
            column = X[:, j].astype(np.float64)
            absent = np.isnan(column)
            cell = np.searchsorted(np.array(cut), column, side="right") * labels + code
            counts[j].flat = np.bincount(cell, np.where(absent, 0.0, weight), minlength=bins * labels)
            missing[j] = np.bincount(code[absent], weight[absent], minlength=labels)
        return cls(empty.edges, counts, missing)

    def _check_same_edges(self, other: Self) -> None:
        self._check_same_shape(other)
        if self.edges != other.edges:
            raise ValueError("cannot merge Histogram of different edges")

    def __add__(self, other: Self) -> Self:
        self._check_same_edges(other)
        return type(self)(self.edges, self.counts + other.counts, self.missing + other.missing)

    def __sub__(self, other: Self) -> Self:
        self._check_same_edges(other)
        counts, missing = remaining(self.counts, other.counts), remaining(self.missing, other.missing)
        return type(self)(self.edges, counts, missing)


@dataclass(frozen=True, slots=True, eq=False)
class Extrema(Statistic):
    """low = min x, high = max x, per column, over rows of positive weight; + but no −.

    NaN is ignored; a column with no value has low = +∞ and high = −∞. Shapes: X (n, p), low and high (p,).
    Cost: one pass.

    >>> e = Extrema.of([[1.0, np.nan], [3.0, 5.0]]) + Extrema.of([[-2.0, 4.0]])
    >>> e.low, e.high
    (array([-2.,  4.]), array([3., 5.]))
    """

    low: Array
    high: Array

    @classmethod
    def zero(cls, columns: int) -> Self:
        return cls(np.full(columns, np.inf), np.full(columns, -np.inf))

    @classmethod
    def of(cls, X: ArrayLike, weight: ArrayLike | None = None) -> Self:
        rows, w = as_block(X, weight)
        if not w.all():
            rows = rows[w != 0]
        if len(rows) == 0:
            return cls.zero(rows.shape[1])
        low = np.fmin.reduce(rows, axis=0).astype(np.float64)
        high = np.fmax.reduce(rows, axis=0).astype(np.float64)
        return cls(np.where(np.isnan(low), np.inf, low), np.where(np.isnan(high), -np.inf, high))

    def __add__(self, other: Self) -> Self:
        self._check_same_shape(other)
        return type(self)(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@dataclass(frozen=True, slots=True, eq=False)
class Counts(Statistic):
    """weight[key] = Σ w over rows whose label is key, for hashable labels of any type.

    Reads like a mapping in which an absent key weighs 0.0. Keys that weigh nothing are dropped; the others
    stand in a canonical order: natural where labels can be compared, else by type and then within the type.
    NaN is one key. Cost: n log n for an array, n look-ups otherwise; a merge sorts the keys.

    >>> c = Counts.of(["b", "a", "b"]) + Counts.of(["z"], weight=[0.5])
    >>> list(c.items()), c["b"], c["q"], c.total
    ([('a', 1.0), ('b', 2.0), ('z', 0.5)], 2.0, 0.0, 3.5)
    """

    labels: tuple[Hashable, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(plain(key) for key in self.labels))

    @classmethod
    def zero(cls) -> Self:
        return cls((), ())

    @classmethod
    def of(cls, labels: Iterable[Hashable] | NDArray[Any], weight: ArrayLike | None = None) -> Self:
        if hasattr(labels, "__array__"):
            labels = np.asarray(labels)
        rows: Any = labels if isinstance(labels, np.ndarray) else list(labels)
        w = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=np.float64)
        if w.shape != (len(rows),):
            raise ValueError(f"one weight per label: {len(rows)} labels, weight of shape {w.shape}")
        if isinstance(rows, np.ndarray) and rows.dtype.kind != "O":
            level, code = np.unique(rows, return_inverse=True)
            # .tolist() would turn datetime64[ns] into bare integers.
            keys = list(level) if level.dtype.kind in "mM" else level.tolist()
            return cls._from_pairs(zip(keys, np.bincount(code, w, minlength=len(keys)).tolist(), strict=True))
        return cls._from_pairs(zip(rows, w.tolist(), strict=True))

    @classmethod
    def _from_pairs(cls, pairs: Iterable[tuple[Hashable, float]]) -> Self:
        weight: dict[Hashable, float] = {}
        for key, w in pairs:
            key = plain(key)
            weight[key] = weight.get(key, 0.0) + w
        keys = canonical([key for key, w in weight.items() if w != 0])
        return cls(tuple(keys), tuple(weight[key] for key in keys))

    @property
    def total(self) -> float:
        return math.fsum(self.weights)

    def __getitem__(self, key: Hashable) -> float:
        return dict(self.items()).get(plain(key), 0.0)

    def __contains__(self, key: Hashable) -> bool:
        return plain(key) in self.labels

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def keys(self) -> tuple[Hashable, ...]:
        return self.labels

    def values(self) -> tuple[float, ...]:
        return self.weights

    def items(self) -> Iterator[tuple[Hashable, float]]:
        return zip(self.labels, self.weights, strict=True)

    def __add__(self, other: Self) -> Self:
        self._check_same_shape(other)
        return self._from_pairs([*self.items(), *other.items()])

    def __sub__(self, other: Self) -> Self:
        self._check_same_shape(other)
        mine = dict(self.items())
        for key, w in other.items():
            if key not in mine:
                raise ValueError(f"cannot remove label {key!r}: it is not there")
            mine[key] = float(remaining(mine[key], w))
        return self._from_pairs(mine.items())


def plain(key: Hashable) -> Hashable:
    """NumPy scalars as Python values, every NaN as the one `math.nan`, so that equal labels are one key."""
    if isinstance(key, np.generic) and key.dtype.kind not in "mM":
        key = key.item()
    return math.nan if isinstance(key, float) and math.isnan(key) else key


def canonical(keys: Sequence[Hashable]) -> list[Hashable]:
    """Keys in an order that does not depend on the order they came in; NaN last."""
    nan = [key for key in keys if key is math.nan]
    rest: list[Any] = [key for key in keys if key is not math.nan]
    try:
        ordered = sorted(rest)
        # Sets compare without being ordered: only a strict chain proves that the order is the only one.
        if all(a < b for a, b in pairwise(ordered)):
            return [*ordered, *nan]
    except (TypeError, ValueError):
        pass
    kind: Callable[[Any], str] = lambda key: f"{type(key).__module__}.{type(key).__qualname__}"  # noqa: E731
    kinds = sorted({kind(key) for key in rest})
    if len(kinds) == 1:
        return [*sorted(rest, key=repr), *nan]
    return [key for name in kinds for key in canonical([k for k in rest if kind(k) == name])] + nan
