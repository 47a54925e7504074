"""Facts of rows by class: GroupMoments, GroupScatter, GroupSums, from memberships R that may be soft.

    W_k = Σ_i R_ik      m_k = Σ_i R_ik x_i / W_k      S_g = Σ_{k ∈ g} Σ_i R_ik (x_i − m_k)(x_i − m_k)ᵀ

R is in members.py. Notes [6867] 3.1: every generative model of the notes is a function of
these sums. They merge by Chan's rule, class by class, so that classes a world apart do not cancel, and they can
be laid out over more classes (`spread`), so that a class may come later. A NaN cell is a missing one: it counts
in no sum of its column.

Shapes: X (n, p), K classes. Cost: O(np) for moments and sums, O(np²) for scatters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.core.numerics import FloatArray
from separatrix.core.statistic import Statistic
from separatrix.core.statistics.means import remaining, two_sum
from separatrix.core.statistics.members import Members

CENTRED = 0.2  # scatter over sum of squares above which plain products lose no digit worth keeping
NEAR_ORIGIN = 1e-3  # scatter over sum of squares above which plain sums keep twelve digits of it


@dataclass(frozen=True, slots=True, eq=False)
class GroupMoments(Statistic):
    """weight W_kj, mean m_kj and second = Σ R (x − m_kj)², for every class k and column j: all (K, p).

    weight depends on the column because missing cells count in none. ``tail`` is what rounding took off the mean.

    >>> a = GroupMoments.of(np.array([[1e8 - 1], [1e8 + 1], [5.0]]), Members(2, codes=np.array([0, 0, 1])))
    >>> a.mean.tolist(), a.second.tolist()
    ([[100000000.0], [5.0]], [[2.0], [0.0]])
    """

    weight: FloatArray
    mean: FloatArray
    tail: FloatArray
    second: FloatArray

    @classmethod
    def zero(cls, k: int, p: int) -> Self:
        return cls(np.zeros((k, p)), np.zeros((k, p)), np.zeros((k, p)), np.zeros((k, p)))

    @classmethod
    def of(cls, X: np.ndarray, members: Members) -> Self:
        """Plain sums where they keep their digits, else centred class by class."""
        X = X if X.dtype == np.float64 else X.astype(np.float64)
        with np.errstate(all="ignore"):
            count, first, second = members.count, members.sum(X), members.sum(X * X)
        return cls.of_sums(count, first, second) or cls.centred(X, members)

    @classmethod
    def of_sums(
        cls, count: FloatArray, first: FloatArray, second: FloatArray, shift: FloatArray | None = None
    ) -> Self | None:
        """From Σ R (x − s) and Σ R (x − s)², s = 0 without a shift (K, p); None where those cannot tell.

        They cannot where a column lies far from s for its spread (one that does not vary, but at s itself), and where
        a cell is missing or not finite.
        """
        with np.errstate(all="ignore"):
            weight = np.repeat(count[:, None], first.shape[1], axis=1)
            offset = np.where(weight > 0, first / weight, 0.0)
            scatter = second - weight * offset * offset
            sound = (scatter > NEAR_ORIGIN * second) & np.isfinite(scatter) | (weight == 0)
        if not (sound | (first == 0) & (second == 0)).all():
            return None
        mean, tail = (offset, np.zeros_like(offset)) if shift is None else two_sum(shift, offset)
        empty = weight == 0
        if empty.any():
            mean, tail, scatter = (np.where(empty, 0.0, values) for values in (mean, tail, scatter))
        return cls(weight, mean, tail, scatter)

    @classmethod
    def centred(cls, X: np.ndarray, members: Members) -> Self:
        k, p = members.k, X.shape[1]
        weight, mean, tail, second = np.zeros((k, p)), np.zeros((k, p)), np.zeros((k, p)), np.zeros((k, p))
        with np.errstate(all="ignore"):
            for c, rows, w in members.classes():
                cells = X[rows].astype(np.float64, copy=False)
                present = ~np.isnan(cells)
                if present.all():
                    total = np.full(p, w.sum())
                    shift = _one_present(cells, present)
                    z = cells - shift
                else:
                    total = w @ present
                    shift = _one_present(cells, present)
                    z = np.where(present, cells - shift, 0.0)
                offset = np.where(total > 0, w @ z / total, 0.0)
                z -= offset
                z[~present] = 0.0
                weight[c], second[c] = total, w @ (z * z)
                mean[c], tail[c] = two_sum(shift, offset)
        empty = weight == 0
        for array in (mean, tail, second):
            array[empty] = 0.0
        return cls(weight, mean, tail, second)

    @property
    def variance(self) -> FloatArray:
        """second / weight; NaN where there are no rows."""
        with np.errstate(all="ignore"):
            return self.second / self.weight

    def spread(self, index: NDArray[np.intp], k: int) -> Self:
        """The same facts among k classes: class c becomes index[c]."""
        return type(self)(*(spread_out(getattr(self, name), index, k) for name in self.__slots__))

    def pooled(self) -> Self:
        """All classes as one: (1, p), the spread between classes included."""
        with np.errstate(all="ignore"):
            first = self.weight.argmax(axis=0)[None]  # a class that has rows, where one has
            start, rest = np.take_along_axis(self.mean, first, 0), np.take_along_axis(self.tail, first, 0)
            apart = (self.mean - start) + (self.tail - rest)
            weight = self.weight.sum(axis=0, keepdims=True)
            offset = (self.weight * apart).sum(axis=0, keepdims=True)
            offset = np.where(weight > 0, offset / weight, 0.0)
            spread = self.weight * (apart - offset) ** 2
            second = (self.second + spread).sum(axis=0, keepdims=True)
            mean, tail = two_sum(start, rest + offset)
        return type(self)(weight, mean, tail, second)

    def __add__(self, other: Self) -> Self:
        self._check_same_shape(other)
        with np.errstate(all="ignore"):
            mean, tail, delta, share = merged_means(self, other, self.weight, other.weight)
            second = self.second + other.second + delta * delta * share
        return type(self)(self.weight + other.weight, mean, tail, second)

    def __sub__(self, other: Self) -> Self:
        self._check_same_shape(other)
        rest = np.asarray(remaining(self.weight, other.weight))
        with np.errstate(all="ignore"):
            delta = (self.mean - other.mean) + (self.tail - other.tail)
            shift = np.where(rest > 0, delta * (other.weight / rest), 0.0)
            mean, tail = two_sum(self.mean, self.tail + shift)
            gone = delta + shift
            second = (
                self.second
                - other.second
                - gone * gone * np.where(self.weight > 0, other.weight * rest / self.weight, 0.0)
            )
        live = rest > 0
        second = np.where(live & (second > 1e-12 * self.second), second, 0.0)
        return type(self)(rest, np.where(live, mean, 0.0), np.where(live, tail, 0.0), second)


@dataclass(frozen=True, slots=True, eq=False)
class GroupScatter(Statistic):
    """weight W_k (K,), mean m_k (K, p) + tail, and scatter S_g (G, p, p) of the groups ``group`` (K,) names.

    One group: LDA's pooled scatter, never a matrix a class. G = K: QDA's.

    >>> X = np.array([[0.0], [2.0], [10.0], [14.0]])
    >>> s = GroupScatter.of(X, Members(2, codes=np.array([0, 0, 1, 1])), np.array([0, 0]))
    >>> s.mean.ravel().tolist(), s.scatter.ravel().tolist()
    ([1.0, 12.0], [10.0])
    """

    weight: FloatArray
    mean: FloatArray
    tail: FloatArray
    scatter: FloatArray
    group: NDArray[np.intp]

    @classmethod
    def zero(cls, group: NDArray[np.intp], p: int) -> Self:
        k, g = len(group), int(group.max(initial=-1)) + 1
        return cls(np.zeros(k), np.zeros((k, p)), np.zeros((k, p)), np.zeros((g, p, p)), np.asarray(group))

    @classmethod
    def of(cls, X: np.ndarray, members: Members, group: NDArray[np.intp]) -> Self:
        """X without missing cells."""
        if members.soft is None:
            return cls.of_tiles([(X, members)], group, X.shape[1])
        k, p = members.k, X.shape[1]
        total = cls.zero(group, p)
        for c in range(k):  # a class at a time: each has weights of its own
            one = Members(k, codes=np.full(len(X), c), weight=members.matrix[:, c])
            total = total + cls.of_tiles([(X, one)], group, p)
        return total

    @classmethod
    def of_plain_sums(cls, count: FloatArray, sums: FloatArray, products: FloatArray) -> Self | None:
        """One group from Σ x by class and Σ x xᵀ, unless columns lie so far off that subtracting costs digits."""
        with np.errstate(all="ignore"):
            mean = np.where(count[:, None] > 0, sums / count[:, None], 0.0)
            scatter = products - (mean.T * count) @ mean
            near = np.diag(scatter) > CENTRED * np.diag(products)
        if not near.all():  # NaN and infinity too
            return None
        group = np.zeros(len(count), dtype=np.intp)
        return cls(count, mean, np.zeros_like(mean), scatter[None], group)

    @classmethod
    def of_tiles(cls, tiles: Iterable[tuple[np.ndarray, Members]], group: NDArray[np.intp], p: int) -> Self:
        """Rows with hard memberships, tile by tile: each row less its class's mean in the first tile that has it.

        That mean lies within the class's spread, so what is subtracted at the end is small, however far apart
        the classes lie and however far from the origin.
        """
        k, g = len(group), int(group.max(initial=-1)) + 1
        count, shift, sums, scatter = np.zeros(k), np.zeros((k, p)), np.zeros((k, p)), np.zeros((g, p, p))
        buffer = np.empty((0, p))
        with np.errstate(all="ignore"):
            for X, members in tiles:
                assert members.codes is not None
                new = (count == 0) & (members.count > 0)
                if new.any():
                    cells = X if X.dtype == np.float64 else X.astype(np.float64)
                    shift[new] = (members.sum(cells) / members.count[:, None])[new]
                buffer = buffer if len(buffer) >= len(X) else np.empty((len(X), p))
                # −1 wraps: see below
                z = np.take(shift, members.codes, axis=0, out=buffer[: len(X)], mode="wrap")
                np.subtract(X, z, out=z)
                none = members.codes < 0
                if none.any():
                    z[none] = 0.0
                count += members.count
                sums += members.sum(z)
                if members.weight is not None:
                    z *= np.sqrt(members.weight)[:, None]
                for i in range(g):
                    part = z if g == 1 else z[group[members.codes] == i]
                    scatter[i] += np.dot(part.T, part)
            offset = np.where(count[:, None] > 0, sums / count[:, None], 0.0)
            for i in range(g):
                mine = group == i
                scatter[i] -= (offset[mine].T * count[mine]) @ offset[mine]
            mean, tail = two_sum(shift, offset)
        return cls(count, mean, tail, scatter, np.asarray(group))

    def covariance(self, g: int, weight: float) -> FloatArray:
        """S_g / weight; the identity where there are no rows."""
        return self.scatter[g] / weight if weight > 0 else np.eye(self.mean.shape[1])

    def diagonals(self) -> FloatArray:
        """The diagonal of every S_g: (G, p)."""
        return np.einsum("gii->gi", self.scatter)

    def explained(self, root: FloatArray, g: int | None = None) -> float:
        """tr (TᵀS_gT), or of the sum of all S."""
        scatter = self.scatter.sum(axis=0) if g is None else self.scatter[g]
        return float(np.sum(root * (scatter @ root)))

    def gram(self) -> Self:
        """Itself: what a `SpanScatter` becomes once it has as many rows as columns."""
        return self

    def spread(self, index: NDArray[np.intp], k: int, group: NDArray[np.intp]) -> Self:
        """The same facts among k classes in the given groups: class c becomes index[c]."""
        out = type(self).zero(group, self.mean.shape[1])
        weight, mean, tail, scatter = (np.array(getattr(out, f)) for f in out.__slots__[:4])
        weight[index], mean[index], tail[index] = self.weight, self.mean, self.tail
        for c, to in enumerate(index.tolist()):
            scatter[group[to]] = self.scatter[self.group[c]]
        return type(self)(weight, mean, tail, scatter, np.asarray(group))

    def __add__(self, other: Self) -> Self:
        other = other.gram() if hasattr(other, "gram") else other  # kept as rows (spans.py)
        self._check_same_shape(other)
        with np.errstate(all="ignore"):
            mean, tail, delta, parts = merged_means(self, other, self.weight[:, None], other.weight[:, None])
            scatter, share = self.scatter + other.scatter, parts[:, 0]
            for g in range(len(scatter)):
                mine = (self.group == g) & (share > 0)
                scatter[g] += (delta[mine].T * share[mine]) @ delta[mine]
        return type(self)(self.weight + other.weight, mean, tail, scatter, self.group)


@dataclass(frozen=True, slots=True, eq=False)
class GroupSums(Statistic):
    """value Σ R x (K, p) and weight Σ R (K,): counts of words, successes, levels.

    >>> (GroupSums(np.ones((1, 2)), np.ones(1)) + GroupSums(np.ones((1, 2)), np.ones(1))).value.tolist()
    [[2.0, 2.0]]
    """

    value: FloatArray
    weight: FloatArray

    @classmethod
    def zero(cls, k: int, p: int) -> Self:
        return cls(np.zeros((k, p)), np.zeros(k))

    def spread(self, index: NDArray[np.intp], k: int) -> Self:
        return type(self)(*(spread_out(getattr(self, name), index, k) for name in self.__slots__))

    def __add__(self, other: Self) -> Self:
        self._check_same_shape(other)
        return type(self)(self.value + other.value, self.weight + other.weight)

    def __sub__(self, other: Self) -> Self:
        self._check_same_shape(other)
        return type(self)(
            np.asarray(remaining(self.value, other.value)), np.asarray(remaining(self.weight, other.weight))
        )


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts(Statistic):
    """tables[j] (K, L_j): the weight of every level of column j in every class; columns may differ in levels.

    >>> a = GroupCounts.of(np.array([[0.0], [1.0], [np.nan]]), Members(1, codes=np.zeros(3, dtype=int)))
    >>> (a + GroupCounts((np.array([[1.0, 0.0, 5.0]]),))).tables[0].tolist()
    [[2.0, 1.0, 5.0]]
    """

    tables: tuple[FloatArray, ...]

    @classmethod
    def zero(cls, k: int, p: int) -> Self:
        return cls(tuple(np.zeros((k, 0)) for _ in range(p)))

    @classmethod
    def of(cls, X: np.ndarray, members: Members) -> Self:
        """X holds level numbers 0, 1, …; NaN (or a negative number) is no level."""
        tables: list[FloatArray] = []
        k = members.k
        for column in X.T:
            known = column >= 0
            levels = column[known].astype(np.intp)
            size = int(levels.max(initial=-1)) + 1
            if members.soft is not None:
                parts = [np.bincount(levels, members.matrix[known, c], minlength=size) for c in range(k)]
                tables.append(np.array(parts, dtype=np.float64).reshape(k, size))
                continue
            assert members.codes is not None
            mine = members.codes[known] >= 0
            weight = None if members.weight is None else members.weight[known][mine]
            at = members.codes[known][mine] * size + levels[mine]
            tables.append(np.bincount(at, weight, minlength=k * size).reshape(k, size).astype(np.float64))
        return cls(tuple(tables))

    def spread(self, index: NDArray[np.intp], k: int) -> Self:
        return type(self)(tuple(spread_out(table, index, k) for table in self.tables))

    def recode(self, places: Sequence[NDArray[np.intp] | None]) -> Self:
        """Level l of column j becomes places[j][l] (None: as it is)."""
        out = []
        for table, place in zip(self.tables, places, strict=True):
            if place is None:
                out.append(table)
                continue
            new = np.zeros((len(table), int(np.max(place, initial=-1)) + 1))
            new[:, place[: table.shape[1]]] = table
            out.append(new)
        return type(self)(tuple(out))

    def __add__(self, other: Self) -> Self:
        return type(self)(tuple(_padded_sum(a, b) for a, b in zip(self.tables, other.tables, strict=True)))


def _padded_sum(a: FloatArray, b: FloatArray) -> FloatArray:
    wide, narrow = (a, b) if a.shape[1] >= b.shape[1] else (b, a)
    total = wide.copy()
    total[:, : narrow.shape[1]] += narrow
    return total


def spread_out(old: FloatArray, index: NDArray[np.intp], k: int) -> FloatArray:
    """Class c of old (K, …) becomes index[c] of k."""
    new = np.zeros((k, *old.shape[1:]))
    new[index] = old
    return new


def merged_means(
    a: Any, b: Any, of_a: FloatArray, of_b: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Chan's rule for means of weight ``of_a`` and ``of_b``: mean, tail, δ and the weight w_a w_b/W of δ²."""
    total, first = of_a + of_b, of_a >= of_b
    share = np.where(total > 0, of_b / total, 0.0)
    delta = (b.mean - a.mean) + (b.tail - a.tail)
    back = np.where(first, share, share - 1.0) * delta
    mean, tail = two_sum(np.where(first, a.mean, b.mean), np.where(first, a.tail, b.tail) + back)
    return mean, tail, delta, of_a * share


def _one_present(cells: FloatArray, present: NDArray[np.bool_]) -> FloatArray:
    """A value each column really takes (its first), so that nothing far away is subtracted."""
    at = present.argmax(axis=0)
    shift = cells[at, np.arange(cells.shape[1])]
    return np.where(np.isnan(shift), 0.0, shift)
