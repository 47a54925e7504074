"""Second-order statistics of rows: the scatter as a matrix (`Gram`) or as its root (`QRFactor`).

    m = Σ w z / W        S = Σ w (z − m)(z − m)ᵀ = RᵀR        z = [x | y],  W = Σ w

    merge (Chan, Golub & LeVeque):   m = mₐ + δ w_b/W,   S = Sₐ + S_b + δδᵀ wₐw_b/W,   δ = m_b − mₐ
    merge (TSQR):                    R = qr([Rₐ; R_b; δᵀ √(wₐw_b/W)])

Shapes: p columns x, k targets y, q = p + k; m (q,), S and R (q, q).
Cost for n rows: Gram n q², QRFactor 2 n q²; a merge q² and 4 q³ / 3; a solve about 3 p³.

A Gram squares the condition number κ of the design, so its solution carries a relative error near κ² ε; the
factor carries κ ε. `trustworthy` looks at a Gram and says whether the cheap one will do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core.numerics import EPS, FloatArray
from separatrix.core.statistic import Statistic
from separatrix.core.statistics.means import (
    TILE_ROWS,
    Centre,
    Merged,
    as_block,
    centred_tiles,
    constant_columns,
    merge_means,
    remaining,
    remaining_mean,
    rounding,
)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """coef (p, k), the rank r of the system it solves, and the p − r columns that added nothing to it.

    An aliased column is constant or a combination of the others to rounding, and carries no penalty. When
    there is one, the solution is the one of least norm among many.
    """

    coef: FloatArray
    rank: int
    aliased: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class SecondOrder(Statistic):
    """W = Σ w, m = Σ w z / W, S = Σ w (z − m)(z − m)ᵀ of rows z = [x | y]: what `Gram` and `QRFactor` share.

    Shapes: joint_mean and joint_tail (q,), joint (q, q), q = p + targets. `joint` is S in a Gram, R in a
    QRFactor; `joint_tail` is what rounding took off the mean (see `merge_means`).
    """

    weight: float
    joint_mean: FloatArray
    joint_tail: FloatArray
    joint: FloatArray
    targets: int = 0

    @classmethod
    def zero(cls, columns: int, targets: int = 0) -> Self:
        """The statistic of no rows."""
        q = columns + targets
        return cls(0.0, np.zeros(q), np.zeros(q), np.zeros((q, q)), targets)

    @property
    def columns(self) -> int:
        return len(self.joint_mean) - self.targets

    @property
    def mean(self) -> FloatArray:
        """Mean of the columns (p,); not finite wherever a column holds a NaN or an infinity."""
        return self.joint_mean[: self.columns]

    @property
    def target_mean(self) -> FloatArray:
        """Mean of the targets (k,)."""
        return self.joint_mean[self.columns :]

    @property
    def centre(self) -> tuple[float, FloatArray, FloatArray]:
        """weight, joint_mean, joint_tail: what merging the means takes."""
        return self.weight, self.joint_mean, self.joint_tail

    def joint_scatter(self) -> FloatArray:
        """S (q, q)."""
        raise NotImplementedError

    def joint_factor(self) -> FloatArray:
        """Upper triangular R (q, q) with a non-negative diagonal and RᵀR = S."""
        raise NotImplementedError

    def noise(self) -> FloatArray:
        """Length (p,) below which what is left of a column, the others taken out, is only rounding."""
        raise NotImplementedError

    def scatter(self) -> FloatArray:
        """Σ w (x − x̄)(x − x̄)ᵀ (p, p)."""
        return self.joint_scatter()[: self.columns, : self.columns]

    def cross(self) -> FloatArray:
        """Σ w (x − x̄)(y − ȳ)ᵀ (p, k)."""
        return self.joint_scatter()[: self.columns, self.columns :]

    def factor(self) -> FloatArray:
        """Upper triangular R (p, p) with a non-negative diagonal and RᵀR = scatter."""
        return self.joint_factor()[: self.columns, : self.columns]

    def condition(self) -> float:
        """Estimated condition number of the standardised design, constant columns left out; cost p² after R.

        In the 1-norm, by LAPACK's estimator on the triangular factor: within a factor p of the 2-norm.
        """
        from scipy.linalg import lapack

        R = self.factor()
        length = np.linalg.norm(R, axis=0)
        kept = ~constant_columns(self.weight, self.mean, length**2)
        if not kept.any():
            return 1.0
        unit = triangular(R[:, kept] / length[kept])
        reciprocal, _ = lapack.dtrcon(unit, norm="1", uplo="U")
        return float(1 / reciprocal) if reciprocal > 0 else float("inf")

    def solve(self, ridge: float | ArrayLike = 0.0) -> Solution:
        """argmin_B Σ w ‖y − ȳ − Bᵀ(x − x̄)‖² + Σ_j ridge_j ‖B_j‖², of least norm if there are many.

        B (p, k) is in the user's units. Inside, every column is divided by its own noise level, so that the
        rank does not depend on units, and a pivoted QR drops what is shorter than the rounding of the data.
        """
        from scipy.linalg import qr, solve_triangular

        p = self.columns
        R = self.joint_factor()
        root_ridge = np.sqrt(np.broadcast_to(np.asarray(ridge, dtype=np.float64), (p,)))
        noise = np.maximum(self.noise(), rounding(p) * root_ridge)
        live = np.flatnonzero(noise > 0)
        scale = noise[live]
        penalty = np.diag(root_ridge)[root_ridge > 0]
        A = np.vstack([R[:p, live], penalty[:, live]]) / scale
        target = np.vstack([R[:p, p:], np.zeros((len(penalty), self.targets))])
        coef = np.zeros((p, self.targets))
        if len(live) == 0:
            return Solution(coef, 0, np.arange(p))
        Q, T, pivot = qr(A, mode="economic", pivoting=True, check_finite=False)
        rank = int(np.count_nonzero(np.abs(np.diag(T)) > 1))
        basic = solve_triangular(T[:rank, :rank], Q[:, :rank].T @ target, check_finite=False)
        coef[live[pivot[:rank]]] = basic
        spare = np.setdiff1d(np.arange(p), live)
        if rank < len(live):
            null = np.empty((len(live), len(live) - rank))
            null[pivot[:rank]] = -solve_triangular(T[:rank, :rank], T[:rank, rank:], check_finite=False)
            null[pivot[rank:]] = np.eye(len(live) - rank)
            # What each column contributes to a combination that vanishes; below √ε that is rounding.
            share = null * np.linalg.norm(A, axis=0)[:, None]
            share /= np.abs(share).max(axis=0)
            share[np.abs(share) <= math.sqrt(EPS)] = 0
            coef[live] += null @ least_norm_step(np.where(share != 0, null, 0.0), coef[live], scale)
            spare = np.union1d(spare, live[last_dependent(share, pivot[rank:])])
        coef[live] /= scale[:, None]
        return Solution(coef, rank, spare)


@dataclass(frozen=True, slots=True, eq=False)
class Gram(SecondOrder):
    """W = Σ w, m = Σ w z / W, S = Σ w (z − m)(z − m)ᵀ of rows z = [x | y], with + and −.

    Shapes: joint_mean (q,), joint = S (q, q), q = p + targets. Cost n q² from n rows, q² a merge.
    `a − b` takes rows out again; it loses digits in the ratio of what was there to what is left, and a column
    whose remaining scatter drowns in that loss is set to zero.

    >>> g = Gram.of([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> g.mean, g.scatter(), g.solve().coef
    (array([1.]), array([[2.]]), array([[2.]]))
    >>> more = Gram.of([[3.0]], [7.0])
    >>> ((g + more) - more).scatter()
    array([[2.]])
    """

    @classmethod
    def of(cls, X: ArrayLike, Y: ArrayLike | None = None, weight: ArrayLike | None = None) -> Self:
        """From rows X (n, p), targets Y (n,) or (n, k), weights (n,)."""
        X, Y, weight = as_pair(X, Y, weight)
        q, k = joint_width(X, Y)
        if len(X) == 0:
            return cls.zero(q - k, k)
        S = np.zeros((q, q))
        facts = []
        with np.errstate(all="ignore"):
            for w, W, mean, tail, centred in centred_tiles(X, Y, weight, TILE_ROWS):
                centred *= np.sqrt(w)[:, None]
                S += centred.T @ centred
                facts.append((W, mean, tail))
            total, mean, tail, spread = merge_weighted(facts)
            S += spread.T @ spread
        return cls(total, mean, tail, S, k)

    def __add__(self, other: Self) -> Self:
        check_pair(self, other)
        total, mean, tail, spread = merge_weighted([self.centre, other.centre])
        with np.errstate(all="ignore"):
            return type(self)(total, mean, tail, self.joint + other.joint + spread.T @ spread, self.targets)

    def __sub__(self, other: Self) -> Self:
        check_pair(self, other)
        rest = float(remaining(self.weight, other.weight))
        if rest == 0:
            return self.zero(self.columns, self.targets)
        mean, tail, delta = remaining_mean(self.centre, other.centre, rest)
        with np.errstate(all="ignore"):
            delta *= np.sqrt(rest * (other.weight / self.weight))
            S = self.joint - other.joint - np.outer(delta, delta)
            lost = np.diag(S) <= 16 * EPS * np.diag(self.joint)
        S[lost] = 0
        S[:, lost] = 0
        return type(self)(rest, mean, tail, S, self.targets)

    def joint_scatter(self) -> FloatArray:
        return self.joint

    def joint_factor(self) -> FloatArray:
        from scipy.linalg import lapack

        length = np.sqrt(np.diag(self.joint))
        safe = np.where(length > 0, length, 1.0)
        unit = self.joint / safe / safe[:, None]
        U, failed = lapack.dpotrf(unit, clean=True)
        if failed:
            # Pivoting stops where only rounding is left; the factor is made triangular again after.
            U, pivot, rank, _ = lapack.dpstrf(unit)
            U = np.triu(U)
            U[rank:] = 0
            U[:, pivot - 1] = U.copy()
        return triangular(U * safe)

    def noise(self) -> FloatArray:
        # The error ε of a scatter of unit columns is the square of a length, hence √ε.
        length, ulps = np.sqrt(np.diag(self.joint)[: self.columns]), rounding(self.columns)
        stored = math.sqrt(self.weight) * np.abs(self.mean) * (length > 0)
        return np.asarray(math.sqrt(ulps) * length + ulps * stored)


@dataclass(frozen=True, slots=True, eq=False)
class QRFactor(SecondOrder):
    """W = Σ w, m = Σ w z / W, RᵀR = Σ w (z − m)(z − m)ᵀ of rows z = [x | y], with R triangular; + but no −.

    Shapes: joint_mean (q,), joint = R (q, q), q = p + targets. Cost 2 n q² from n rows, 4 q³ / 3 a merge.
    R is never squared, so designs of condition 1e9 and beyond keep their digits.

    >>> f = QRFactor.of([[0.0], [1.0]], [1.0, 3.0]) + QRFactor.of([[2.0]], [5.0])
    >>> f.mean, f.scatter().round(12), f.solve().coef.round(12)
    (array([1.]), array([[2.]]), array([[2.]]))
    """

    @classmethod
    def of(cls, X: ArrayLike, Y: ArrayLike | None = None, weight: ArrayLike | None = None) -> Self:
        """From rows X (n, p), targets Y (n,) or (n, k), weights (n,)."""
        X, Y, weight = as_pair(X, Y, weight)
        q, k = joint_width(X, Y)
        if len(X) == 0:
            return cls.zero(q - k, k)
        R: FloatArray = np.zeros((0, q))
        facts = []
        with np.errstate(all="ignore"):
            for w, W, mean, tail, centred in centred_tiles(X, Y, weight, max(TILE_ROWS, 4 * q)):
                centred *= np.sqrt(w)[:, None]
                R = triangular(np.vstack([R, centred]))
                facts.append((W, mean, tail))
        total, mean, tail, spread = merge_weighted(facts)
        return cls(total, mean, tail, triangular(np.vstack([R, spread])), k)

    def __add__(self, other: Self) -> Self:
        check_pair(self, other)
        total, mean, tail, spread = merge_weighted([self.centre, other.centre])
        R = triangular(np.vstack([self.joint, other.joint, spread]))
        return type(self)(total, mean, tail, R, self.targets)

    def joint_scatter(self) -> FloatArray:
        return self.joint.T @ self.joint

    def joint_factor(self) -> FloatArray:
        return self.joint

    def noise(self) -> FloatArray:
        length = np.linalg.norm(self.joint[:, : self.columns], axis=0)
        stored = math.sqrt(self.weight) * np.abs(self.mean) * (length > 0)
        return np.asarray(rounding(self.columns) * (length + stored))


def trustworthy(gram: SecondOrder, limit: float = 1e6) -> bool:
    """Whether a Gram's condition is known and below `limit`; if not, sweep again for a `QRFactor`.

    The relative error of the Gram's solution is near κ² ε: 2e-8 at κ = 1e4, 2e-4 at the default limit.
    """
    return gram.condition() <= limit


def as_pair(
    X: ArrayLike, Y: ArrayLike | None, weight: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray | None, FloatArray]:
    X, weight = as_block(X, weight)
    if Y is None:
        return X, None, weight
    Y = np.asarray(Y, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.ndim != 2 or len(Y) != len(X):
        raise ValueError(f"one target row per row: {len(X)} rows, targets of shape {Y.shape}")
    return X, Y, weight


def joint_width(X: np.ndarray, Y: np.ndarray | None) -> tuple[int, int]:
    """Columns in all, and how many of them are targets."""
    k = 0 if Y is None else Y.shape[1]
    return X.shape[1] + k, k


def check_pair(a: SecondOrder, b: SecondOrder) -> None:
    a._check_same_shape(b)
    if a.targets != b.targets:
        raise ValueError(f"cannot merge {type(a).__name__}: {a.targets} targets here and {b.targets} there")


def merge_weighted(facts: Iterable[Centre]) -> Merged:
    """Merge (weight, mean, tail) triples; the last array holds the rows √w (mean − overall mean)."""
    W, means, tails = (np.array(part) for part in zip(*facts, strict=True))
    total, mean, tail, offset = merge_means(W, means, tails)
    with np.errstate(all="ignore"):
        offset *= np.sqrt(W)[:, None]
    return total, mean, tail, offset


def triangular(A: FloatArray) -> FloatArray:
    """R (q, q) of A = QR, padded with zero rows, diagonal made non-negative so that R is unique."""
    q = A.shape[1]
    R = np.zeros((q, q))
    top = np.linalg.qr(A, mode="r") if len(A) else A
    R[: len(top)] = top
    R[np.diag(R) < 0] *= -1
    return R


def least_norm_step(null: FloatArray, b: FloatArray, scale: FloatArray) -> FloatArray:
    """argmin_z ‖diag(1/scale)(b + null z)‖: the way to the solution of least norm in the user's units.

    Rows go largest first: with column pivoting that makes Householder QR accurate row by row (Cox & Higham
    1998), which scales from 1e-8 to 1e8 need.
    """
    from scipy.linalg import qr, solve_triangular

    move = null / scale[:, None]
    size = np.linalg.norm(move, axis=0)
    move /= size
    order = np.argsort(-np.abs(move).max(axis=1), kind="stable")
    Q, T, pivot = qr(move[order], mode="economic", pivoting=True, check_finite=False)
    step = np.empty((null.shape[1], b.shape[1]))
    step[pivot] = solve_triangular(T, -Q.T @ (b / scale[:, None])[order], check_finite=False)
    step /= size[:, None]
    return step


def last_dependent(null: FloatArray, fallback: np.ndarray) -> NDArray[np.intp]:
    """The columns that depend on those before them, from a basis (p, m) of the combinations that vanish.

    The set that pivoting leaves out hangs on rounding; this one does not: of two equal columns, the later.
    """
    work = null.T.copy()
    found: list[int] = []
    for j in range(len(null) - 1, -1, -1):
        top = len(found)
        if top == len(work):
            break
        best = top + int(np.abs(work[top:, j]).argmax())
        if abs(work[best, j]) <= 10 * math.sqrt(EPS):
            continue
        work[[top, best]] = work[[best, top]]
        work[top + 1 :] -= np.outer(work[top + 1 :, j] / work[top, j], work[top])
        found.append(j)
    return np.array(found if len(found) == len(work) else fallback, dtype=np.intp)
