"""The dual of a kernel machine, one box and one sum:  min ½βᵀKβ + qᵀβ,  l ≤ β ≤ h,  Σβ = constant.

    classification   β = y a, 0 ≤ a ≤ C_i:  q = −y,  and [l, h] is [0, C_i] or [−C_i, 0] by the label
    regression       β = a and β = −â, two variables for a row:  q = ε − z in [0, C_i],  q = −ε − z in [−C_i, 0]
    with ν           as both, q without its 1 or ε, and Σβ given in each of two groups, the signs of β
    one class        q = 0 in [0, C_i],  Σβ = ν ΣC_i

Notes [6321] "Solving the dual: SMO" and ε-insensitive regression, [6867] 5.3. Row M6 of the specification.

**Proof.** For any b the minimum is at least  −½βᵀKβ + Σ_t min(r_t l_t, r_t h_t) with r = s + q + b  (s = Kβ, K
positive semidefinite), so a point proves its own distance from the optimum; where Σβ is T in a group that has a b of
its own, −bT is added. Shapes: m variables of n rows. Cost O(m), given the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from separatrix.core.numerics import FloatArray, Index
from separatrix.problems.margin import MISSED


@dataclass(frozen=True, eq=False)
class Dual:
    """min ½βᵀKβ + qᵀβ, l ≤ β ≤ h, Σβ as at the start. Arrays (m,); ``base`` is the row of each variable."""

    linear: FloatArray
    low: FloatArray
    high: FloatArray
    base: Index
    start: FloatArray
    group: NDArray[np.int8] | None = None  # of each variable, 0 or 1, where a sum for each is given
    totals: tuple[float, ...] = (0.0,)  # Σβ, of each group

    @classmethod
    def nu_classifier(cls, y: FloatArray, C: FloatArray, nu: float, start: FloatArray | None = None) -> Dual:
        """Of labels ±1 and box sides C_i: Σ a = ν ΣC/2 on either side.

        >>> Dual.nu_classifier(np.array([1.0, 1.0, -1.0]), np.ones(3), 0.5).start
        array([ 0.75,  0.  , -0.75])
        """
        share = 0.5 * nu * float(C.sum())
        beta = y * (_filled(np.where(y > 0, C, 0.0), share) + _filled(np.where(y < 0, C, 0.0), share))
        low, high = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
        group = (y < 0).astype(np.int8)
        n = len(y)
        return cls(
            np.zeros(n), low, high, np.arange(n), beta if start is None else start, group, (share, -share)
        )

    @classmethod
    def nu_regression(cls, z: FloatArray, C: FloatArray, nu: float, start: FloatArray | None = None) -> Dual:
        """Of targets z and box sides C_i: Σ a = Σ â = ν ΣC/2."""
        n, zero = len(z), np.zeros(len(z))
        share = 0.5 * nu * float(C.sum())
        if start is None:
            half = _filled(C, share)
            both = np.concatenate([half, -half])
        else:
            both = np.concatenate([np.maximum(start, 0.0), np.minimum(start, 0.0)])
            # what both edges have in common costs nothing
            for part, box in ((slice(0, n), C), (slice(n, None), -C)):
                lacks = share - abs(float(both[part].sum()))
                both[part] += np.sign(box) * _filled(np.abs(box - both[part]), max(lacks, 0.0))
        base, group = np.concatenate([np.arange(n)] * 2), np.repeat(np.array([0, 1], np.int8), n)
        low, high = np.concatenate([zero, -C]), np.concatenate([C, zero])
        return cls(np.concatenate([-z, -z]), low, high, base, both, group, (share, -share))

    @classmethod
    def one_class(cls, C: FloatArray, nu: float, start: FloatArray | None = None) -> Dual:
        """Of box sides C_i: Σ a = ν ΣC.

        >>> Dual.one_class(np.ones(4), 0.6).start
        array([1. , 1. , 0.4, 0. ])
        """
        n, total = len(C), nu * float(C.sum())
        beta = _filled(C, total) if start is None else start
        return cls(np.zeros(n), np.zeros(n), C.copy(), np.arange(n), beta, None, (total,))

    @classmethod
    def classifier(cls, y: FloatArray, C: FloatArray, start: FloatArray | None = None) -> Dual:
        """Of labels ±1 and box sides C_i; ``start`` are β = y a of an earlier fit.

        >>> Dual.classifier(np.array([1.0, -1.0]), np.array([2.0, 2.0])).low
        array([ 0., -2.])
        """
        n = len(y)
        beta = np.zeros(n) if start is None else start
        return cls(-y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0), np.arange(n), beta)

    @classmethod
    def regression(
        cls, z: FloatArray, C: FloatArray, epsilon: float, start: FloatArray | None = None
    ) -> Dual:
        """Of targets z, box sides C_i and half the width of the tube."""
        n = len(z)
        zero = np.zeros(n)
        linear = np.concatenate([epsilon - z, -epsilon - z])
        base = np.concatenate([np.arange(n), np.arange(n)])
        beta = np.zeros(n) if start is None else start
        both = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
        return cls(linear, np.concatenate([zero, -C]), np.concatenate([C, zero]), base, both)

    @cached_property
    def hard(self) -> bool:
        """Whether some row may not be missed at any price."""
        return bool(np.isinf(self.high).any() or np.isinf(self.low).any())

    @cached_property
    def reach(self) -> float:
        """max |q|: the size of slopes where no variable has moved."""
        return float(np.abs(self.linear).max())

    def of_rows(self, beta: FloatArray, n: int) -> FloatArray:
        """β of each row (n,): the sum over its variables."""
        return np.bincount(self.base, beta, minlength=n).astype(float) if len(beta) > n else beta

    def pull(self, score: FloatArray) -> FloatArray:
        """v (m,) = −(Kβ + q): what each variable asks b to be."""
        return -score[self.base] - self.linear

    def spread_out(self, levels: tuple[float, ...]) -> FloatArray | float:
        """The level of each variable, (m,), or the only one."""
        return levels[0] if self.group is None else np.array(levels)[self.group]

    def prove(
        self, beta: FloatArray, score: FloatArray, levels: tuple[float, ...] | None = None
    ) -> DualProof:
        """What β and scores Kβ (n,) prove with the best b, or with the b of each group that is given."""
        v = self.pull(score)
        violation, best, freedom = self.intercept(v, beta)
        levels = best if levels is None else levels
        b = self.spread_out(levels)
        square = float(self.of_rows(beta, len(score)) @ score)
        if self.hard and len(self.linear) > len(score):
            # a tube: what rows miss it by is rounding, or F is infinite
            r = b - v
            short = max(float(np.max(np.where(self.low == 0, -r, r))), 0.0)
            price = 2.0 * float(np.abs(beta).sum()) * short
            scale = 0.5 * square + price if short <= MISSED * float(np.ptp(self.linear)) else np.inf
        elif self.hard:  # scaled so that no row is inside its margin; the labels are −linear
            least = float(np.min(-self.linear * (score + b)))
            scale = 0.5 * square / least**2 if least > 0 else np.inf
        else:
            residual = b - v
            scale = 0.5 * square + float(np.maximum(-residual * self.low, -residual * self.high).sum())
        primal = scale
        if any(self.totals):
            primal += sum(level * total for level, total in zip(levels, self.totals, strict=True) if total)
        dual = -0.5 * square - float(self.linear @ beta)
        return DualProof(primal, dual, scale, square, violation, levels, freedom)

    def intercept(self, v: FloatArray, beta: FloatArray) -> tuple[float, tuple[float, ...], float]:
        """The violation, b averaged over free variables, and 0; where none is free, the middle of all b that are
        allowed, and the length of their interval. Of groups the largest violation and interval, and each one's b.

        For b a variable within rounding of its bound is at it: else chance would choose.
        """
        if self.group is None:
            violation, b, freedom = self._level(v, beta, self.low, self.high)
            return violation, (b,), freedom
        parts = [np.flatnonzero(self.group == g) for g in range(2)]
        found = [self._level(v[p], beta[p], self.low[p], self.high[p]) for p in parts]
        return max(f[0] for f in found), tuple(f[1] for f in found), max(f[2] for f in found)

    def _level(
        self, v: FloatArray, beta: FloatArray, low: FloatArray, high: FloatArray
    ) -> tuple[float, float, float]:
        up, lo = _ends(v, beta < high, beta > low)
        violation = max(up - lo, 0.0)
        near = 1e-10 * np.where(np.isinf(high - low), np.abs(beta), high - low)
        rise, fall = beta < high - near, beta > low + near
        free = rise & fall
        if free.any() and not self.hard:
            return violation, float(v[free].mean()), 0.0
        up, lo = _ends(v, rise, fall)
        return violation, 0.5 * (up + lo), 0.0 if free.any() else max(lo - up, 0.0)


@dataclass(frozen=True, eq=False)
class DualProof:
    """Primal and dual in LIBSVM's scale at a point, ``square`` = βᵀKβ, ``levels``: b of each group.

    ``violation`` is max v over what may rise minus min v over what may fall, ``freedom`` the length of the interval
    of optimal b where no variable is free, ``scale`` ½βᵀKβ and the losses, which the gap is small against: the
    primal, where all Σβ are zero.
    """

    primal: float
    dual: float
    scale: float
    square: float
    violation: float
    levels: tuple[float, ...]
    freedom: float


def _filled(box: FloatArray, total: float) -> FloatArray:
    """Numbers (n,) between 0 and the box that sum to ``total``: first rows are full, one is not, the rest empty."""
    before = np.cumsum(box) - box
    return np.clip(total - before, 0.0, box)


def _ends(v: FloatArray, rise: np.ndarray, fall: np.ndarray) -> tuple[float, float]:
    """The largest v of what may rise and the smallest of what may fall: b lies between them."""
    up = float(v[rise].max()) if rise.any() else float(v.min())
    lo = float(v[fall].min()) if fall.any() else float(v.max())
    return up, lo
