"""Scatters of fewer rows than columns, kept as rows:  S_g = Z_gᵀZ_g, and covariances Σ = ZᵀZ + diag d.

    Z       rows less the mean of their class, times the root of their weight: (m, p), m < p
    merge   [Z_a; Z_b; √(w_a w_b / W) δᵀ],  δ the difference of the means (Chan's rule); a plain scatter once m ≥ p

No matrix (p, p) is formed: a thing of the rows costs O(mp) to keep and O(m²p) to solve with, where S would cost O(p²)
and O(p³). Shapes: X (n, p), K classes, m rows of Z.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.core.numerics import FloatArray
from separatrix.core.statistic import Statistic
from separatrix.core.statistics.grouped import GroupScatter, merged_means, spread_out
from separatrix.core.statistics.means import two_sum
from separatrix.core.statistics.members import Members


@dataclass(frozen=True, eq=False)
class SpanCovariance:
    """Σ = ZᵀZ + diag d, Z (m, p) and d (p,), d ≥ 0: covariances add, and scale by what is not negative.

    >>> sigma = 0.5 * SpanCovariance(np.array([[2.0, 0.0]]), np.zeros(2)) + 0.5 * SpanCovariance.identity(2)
    >>> sigma.dense().tolist(), sigma.diagonal().tolist()
    ([[2.5, 0.0], [0.0, 0.5]], [2.5, 0.5])
    """

    rows: FloatArray
    spread: FloatArray

    __array_ufunc__ = None  # a NumPy number times this is ours to multiply

    @classmethod
    def identity(cls, p: int) -> Self:
        return cls(np.zeros((0, p)), np.ones(p))

    @classmethod
    def of_diagonal(cls, d: FloatArray) -> Self:
        return cls(np.zeros((0, len(d))), np.asarray(d, dtype=np.float64))

    def __len__(self) -> int:
        return len(self.spread)

    def __rmul__(self, factor: float) -> Self:
        return type(self)(np.sqrt(factor) * self.rows, factor * self.spread)

    def __add__(self, other: Self) -> Self:
        return type(self)(np.vstack([self.rows, other.rows]), self.spread + other.spread)

    def diagonal(self) -> FloatArray:
        return np.einsum("ij,ij->j", self.rows, self.rows) + self.spread

    def trace(self) -> float:
        return float(np.vdot(self.rows, self.rows) + self.spread.sum())

    def in_units(self, unit: FloatArray) -> Self:
        """The covariance of columns divided by ``unit``."""
        return type(self)(self.rows / unit, self.spread / unit**2)

    def of_columns(self, which: NDArray[np.bool_]) -> Self:
        """The covariance of some columns."""
        return type(self)(self.rows[:, which], self.spread[which])

    def squares(self) -> float:
        """Σ_jl Σ_jl², from products of rows."""
        inner = self.rows @ self.rows.T
        cross = np.einsum("ij,ij->j", self.rows, self.rows) @ self.spread
        return float(np.sum(inner**2) + 2 * cross + self.spread @ self.spread)

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """n rows of N(0, Σ): Zᵀε + √d ε'."""
        drawn = rng.standard_normal((n, len(self.rows))) @ self.rows
        if self.spread.any():
            drawn += np.sqrt(self.spread) * rng.standard_normal((n, len(self)))
        return np.asarray(drawn)

    def dense(self) -> FloatArray:
        """Σ itself: (p, p)."""
        return np.asarray(self.rows.T @ self.rows + np.diag(self.spread))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.dense() if dtype is None else self.dense().astype(dtype)


@dataclass(frozen=True, slots=True, eq=False)
class SpanScatter(Statistic):
    """GroupScatter by its rows: weight W_k (K,), mean m_k (K, p) + tail, Z (m, p), of which row i is group owner_i's.

    >>> X = np.array([[0.0, 1.0, 0.0], [2.0, 1.0, 0.0]])
    >>> s = SpanScatter.of(X, Members(1, codes=np.array([0, 0])), np.array([0]))
    >>> s.mean.tolist(), s.gram().scatter.tolist()
    ([[1.0, 1.0, 0.0]], [[[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    """

    weight: FloatArray
    mean: FloatArray
    tail: FloatArray
    rows: FloatArray
    owner: NDArray[np.intp]
    group: NDArray[np.intp]

    @classmethod
    def zero(cls, group: NDArray[np.intp], p: int) -> Self:
        k = len(group)
        none = np.zeros(0, dtype=np.intp)
        return cls(np.zeros(k), np.zeros((k, p)), np.zeros((k, p)), np.zeros((0, p)), none, np.asarray(group))

    @classmethod
    def of(cls, X: np.ndarray, members: Members, group: NDArray[np.intp]) -> Self:
        """X (n, p) without missing cells; each row less its class's mean, or mixed where memberships are soft."""
        k, p = members.k, X.shape[1]
        R, X = members.matrix, X.astype(np.float64, order="C", copy=False)
        weight, shift, offset = R.sum(axis=0), np.zeros((k, p)), np.zeros((k, p))
        hard = members.soft is None
        Z = np.empty((int(np.count_nonzero(R)) if hard else 0, p))
        owner = np.empty(len(Z), dtype=np.intp)
        end = 0
        with np.errstate(all="ignore"):
            for c in np.flatnonzero(weight > 0).tolist():
                mine = np.flatnonzero(R[:, c])
                start, end = end, end + len(mine)
                z = Z[start:end] if hard else np.empty((len(mine), p))
                # about one of its rows first, so that nothing far away is subtracted from the mean
                shift[c] = X[mine[0]]
                np.take(X, mine, axis=0, out=z)
                z -= shift[c]
                offset[c] = R[mine, c] @ z / weight[c]
                if hard:
                    z -= offset[c]
                    owner[start:end] = group[c]
                    if members.weight is not None:
                        z *= np.sqrt(R[mine, c])[:, None]
            mean, tail = two_sum(shift, offset)
            if not hard:
                each = range(int(group.max(initial=-1)) + 1)
                parts = [_mixed(X, np.where(group == g, R, 0.0)) for g in each]
                Z = np.vstack([Z, *parts])
                owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return cls(weight, mean, tail, Z, owner, np.asarray(group))

    @property
    def groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1

    def factor(self, g: int | None = None) -> FloatArray:
        """Z of one group, or of all."""
        return self.rows if g is None or self.groups == 1 else self.rows[self.owner == g]

    def covariance(self, g: int, weight: float) -> SpanCovariance:
        """S_g / weight; the identity where there are no rows."""
        p = self.mean.shape[1]
        if weight <= 0:
            return SpanCovariance.identity(p)
        return SpanCovariance(self.factor(g) / np.sqrt(weight), np.zeros(p))

    def diagonals(self) -> FloatArray:
        """The diagonal of every S_g: (G, p)."""
        return np.array([np.einsum("ij,ij->j", Z, Z) for Z in map(self.factor, range(self.groups))])

    def explained(self, root: Any, g: int | None = None) -> float:
        """tr (TᵀS_gT), or of the sum of all S."""
        return float(np.sum((self.factor(g) @ root) ** 2))

    def gram(self) -> GroupScatter:
        """The same facts with scatters (G, p, p)."""
        each = [Z.T @ Z for Z in map(self.factor, range(self.groups))]
        p = self.mean.shape[1]
        return GroupScatter(self.weight, self.mean, self.tail, np.array(each).reshape(-1, p, p), self.group)

    def spread(self, index: NDArray[np.intp], k: int, group: NDArray[np.intp]) -> Self:
        """The same facts among k classes in the given groups: class c becomes index[c]."""
        place = np.zeros(self.groups, dtype=np.intp)
        place[self.group] = np.asarray(group)[index]
        weight, mean, tail = (spread_out(part, index, k) for part in (self.weight, self.mean, self.tail))
        return type(self)(weight, mean, tail, self.rows, place[self.owner], np.asarray(group))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, GroupScatter) or len(self.rows) + len(other.rows) >= self.mean.shape[1]:
            return self.gram() + other.gram()
        if self.mean.shape != other.mean.shape or not np.array_equal(self.group, other.group):
            raise ValueError(
                f"cannot merge SpanScatter of different shapes: means {self.mean.shape} and {other.mean.shape}"
            )
        with np.errstate(all="ignore"):
            mean, tail, delta, parts = merged_means(self, other, self.weight[:, None], other.weight[:, None])
            both = np.flatnonzero(parts[:, 0] > 0)
            apart = np.sqrt(parts[both]) * delta[both]
        rows = np.vstack([self.rows, other.rows, apart])
        owner = np.concatenate([self.owner, other.owner, self.group[both]])
        return type(self)(self.weight + other.weight, mean, tail, rows, owner, self.group)


def _mixed(X: FloatArray, R: FloatArray) -> FloatArray:
    """Z with ZᵀZ = Σ_k Σ_i R_ik (x_i − m_k)(x_i − m_k)ᵀ.

    That is Xᵀ (diag Σ_k R_k − Σ_k R_k R_kᵀ / W_k) X, from wherever rows are measured: here from their mean.
    """
    weight = R.sum(axis=0)
    live = weight > 0
    if not live.any():
        return np.zeros((0, X.shape[1]))
    total = R.sum(axis=1)
    M = np.diag(total) - (R[:, live] / weight[live]) @ R[:, live].T
    values, vectors = np.linalg.eigh(M)
    centred = X - total @ X / total.sum()
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T @ centred)
