"""Inner coordinates:  z = ((x − centre) · scale) B,  so that a column's unit or origin changes nothing.

    standard   centre = mean, scale = 1/spread, B = I
    fewer      the same without columns that are exact combinations of others: their scale is 0
    singular   the same, then B = V Σ⁻¹ from a QR factor of the columns: for condition numbers a Gram matrix
               cannot hold (it squares them), and for columns that repeat each other
    gram       the same, then B ≈ H^{−1/2} from a Gram matrix of a sample: a preconditioner
    span       B = an orthonormal basis of the rows of wide data, columns unscaled; without a penalty, of the
               standardised rows and as `singular`, in O(n²p)

and back:  w = scale · (B t),  b = b' − w·centre.  Cost: O(np) for moments, O(np²) for the factors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from separatrix.core.numerics import EPS, FloatArray
from separatrix.core.statistic import Statistic
from separatrix.core.statistics import Gram, Moments, QRFactor
from separatrix.data.engine import sweep
from separatrix.data.rows import Block, Rows

TAKING_PART = 1e-5  # share of a column in a direction that vanishes, above which it is aliased
FAR_FROM_ORIGIN = 100.0  # |mean| / spread beyond which x − centre is formed before any product


@dataclass(frozen=True)
class Blind:
    """Changes of the weights that change no score, (p, d): of standardised columns, and in the user's units."""

    directions: FloatArray
    weights: FloatArray

    def shortest(self, w: FloatArray) -> FloatArray:
        """The shortest of all weights (p, K) with the same scores as w."""
        free, _ = np.linalg.qr(self.weights)
        return w - free @ (free.T @ w)

    def moved(self, share: float) -> np.ndarray:
        """Weights (p,) that such a change moves by more than ``share`` of its length."""
        return np.abs(self.directions).max(axis=1) > share

    def moves_sum(self, centre: FloatArray, share: float) -> bool:
        """Whether such a change moves centre·w."""
        terms = centre[:, None] * self.weights
        return not bool(np.all(np.abs(terms.sum(axis=0)) <= share * np.abs(terms).sum(axis=0)))


@dataclass(frozen=True)
class BlindOutside:
    """`Blind` of wide data, by the r directions that do change scores: orthonormal (p, r) in both units.

    >>> one = np.eye(3)[:, :1]
    >>> BlindOutside(one, one, np.ones(3, dtype=bool)).shortest(np.ones((3, 1))).ravel().tolist()
    [1.0, 0.0, 0.0]
    """

    directions: FloatArray
    weights: FloatArray
    live: np.ndarray  # columns that are not constant

    def shortest(self, w: FloatArray) -> FloatArray:
        return np.asarray(self.weights @ (self.weights.T @ w))

    @property
    def columns(self) -> np.ndarray:
        """The columns that take part in such a change: no column tells what others of them do not."""
        return np.flatnonzero(self.moved(TAKING_PART))

    def moved(self, share: float) -> np.ndarray:
        seen = np.einsum("ij,ij->i", self.directions, self.directions)
        return (1.0 - seen > max(share**2, len(seen) * EPS)) & self.live

    def moves_sum(self, centre: FloatArray, share: float) -> bool:
        left = np.where(self.live, centre, 0.0)
        size = float(np.linalg.norm(left))
        left = left - self.weights @ (self.weights.T @ left)
        return bool(np.linalg.norm(left) > max(share, len(left) * EPS) * size)


@dataclass(frozen=True)
class Coordinates:
    """z = ((x − centre) · scale) B and its way back; ``basis`` None means B = I."""

    centre: FloatArray
    scale: FloatArray
    basis: Any = None  # (p, r), or what multiplies as such a one does (gram_span.py)
    lift: float = 1.0  # the intercept's unit: b' = lift · θ_b
    standardised: bool = False  # columns have mean zero and mean square one (or none: constant)
    delicate: bool = False  # B undoes a condition number that products in raw columns would not survive
    blind: Blind | BlindOutside | None = None  # changes of the weights that change no score
    dropped: tuple[int, ...] = ()  # with B = I, the columns left out because of them

    @classmethod
    def standard(cls, moments: Moments, fit_intercept: bool) -> Coordinates:
        """Mean zero and spread one (without an intercept: root mean square one, origin kept).

        A column that is constant to rounding gets scale 0: it says nothing the intercept does not.
        """
        mean, variance = moments.mean, moments.variance
        if not fit_intercept:
            size = np.sqrt(variance + mean**2)
            return cls(np.zeros_like(mean), _inverse(size, size > 0))
        return cls(mean, _inverse(np.sqrt(variance), ~moments.constant), standardised=True)

    @classmethod
    def identity(cls, size: int) -> Coordinates:
        return cls(np.zeros(size), np.ones(size))

    @property
    def size(self) -> int:
        return len(self.centre) if self.basis is None else int(self.basis.shape[1])

    @cached_property
    def far(self) -> bool:
        """Whether some column lies so far from the origin that products of raw cells would cancel."""
        return bool(np.max(np.abs(self.centre) * self.scale, initial=0.0) > FAR_FROM_ORIGIN)

    def weights(self, t: FloatArray) -> FloatArray:
        """w = scale · (B t) in the user's units: (p,) or (p, K)."""
        w: FloatArray = t if self.basis is None else self.basis @ t
        return (self.scale * w.T).T

    def pull(self, gradient: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """∂/∂t from ∂/∂w of the centred columns: Bᵀ(scale · g)."""
        scale = self.scale if gradient.ndim == 1 else self.scale[:, None]
        if self.basis is None:
            return np.multiply(scale, gradient, out=out)
        return np.matmul(self.basis.T, scale * gradient, out=out)

    def tile(self, cells: np.ndarray, out: FloatArray) -> None:
        """z of a tile of raw cells, into ``out``."""
        if self.basis is None:
            np.subtract(cells, self.centre, out=out)
            out *= self.scale
            return
        z = np.subtract(cells, self.centre, dtype=np.float64)
        z *= self.scale
        np.matmul(z, self.basis, out=out)

    def ridge(self, lam: float) -> FloatArray:
        """The penalty's matrix in t: λ Bᵀ scale² B, or its diagonal when B = I."""
        if self.basis is None:
            return lam * self.scale**2
        scaled = self.scale[:, None] * self.basis
        return lam * (scaled.T @ scaled)

    def penalty_dual(self, g: FloatArray) -> float:
        """gᵀ (Bᵀ scale² B)⁻¹ g: a gradient's length in the user's units; constant columns carry nothing."""
        if self.basis is not None:
            return float(np.sum((self._inverse_root @ g) ** 2))
        g = (g.T * self._inverse_scale).T.ravel()
        return float(np.dot(g, g))

    @cached_property
    def _inverse_scale(self) -> FloatArray:
        return _inverse(self.scale, self.scale > 0)

    @cached_property
    def _inverse_root(self) -> FloatArray:
        """R⁻ᵀ with RᵀR = Bᵀ scale² B, by QR: the basis may be badly conditioned."""
        assert self.basis is not None
        r = np.linalg.qr(self.scale[:, None] * self.basis, mode="r")
        size = np.abs(np.diag(r))
        if size.min(initial=np.inf) > len(r) * np.finfo(float).eps * size.max(initial=0.0):
            return np.linalg.inv(r).T
        return np.linalg.pinv(r).T  # constant columns have no scale, and no part in the penalty

    def inner(self, w: FloatArray) -> FloatArray:
        """t of given weights w (least squares when B is not square: the part that can be expressed)."""
        if self.dropped:  # the same scores without those columns
            assert isinstance(self.blind, Blind)
            left_out = list(self.dropped)
            w = w - self.blind.weights @ np.linalg.solve(self.blind.weights[left_out], w[left_out])
        t = (w.T * self._inverse_scale).T
        if self.basis is None:
            return t
        if not isinstance(self.basis, np.ndarray):
            return np.asarray(self.basis.inner(t))
        return np.linalg.lstsq(self.basis, t, rcond=None)[0]


def singular_coordinates(
    rows: Rows, moments: Moments, fit_intercept: bool, ridge: float = 0.0, curvature: float = 1.0
) -> tuple[Coordinates, np.ndarray]:
    """Coordinates along the singular directions of the standardised columns; and the aliased columns.

    Directions that vanish to the rounding of the stored cells are left out. Columns that take part in one
    are aliased (only reported without a ridge: with one, the penalty decides between them).
    """
    p = rows.p
    standard = penalised_coordinates(moments, fit_intercept, ridge, curvature)
    qr = qr_of(rows)
    R = qr.factor()
    if not fit_intercept:
        R = np.vstack([R, np.sqrt(qr.weight) * qr.mean])
    design = R * standard.scale / np.sqrt(qr.weight)
    stack = np.vstack([np.sqrt(curvature) * design, np.diag(np.sqrt(ridge) * standard.scale)])
    _, values, vectors = np.linalg.svd(stack, full_matrices=False)
    # a cell is stored to EPS·|mean|: a direction thinner than that is made of rounding
    noise = _noise(moments, standard)
    keep = values > noise * max(values[0], EPS)
    aliased, blind = np.empty(0, dtype=np.intp), None
    if ridge == 0 and not keep.all():
        live = standard.scale > 0
        directions = vectors[~keep][:, live]
        directions = directions[np.linalg.norm(directions, axis=1) > 0.5]  # the others are constant columns
        if len(directions):
            aliased = np.flatnonzero(live)[np.sqrt(np.sum(directions**2, axis=0)) > TAKING_PART]
            free = np.zeros((p, len(directions)))
            free[live] = directions.T
            blind = Blind(free, standard.scale[:, None] * free)
    return replace(standard, basis=vectors[keep].T / values[keep], delicate=True, blind=blind), aliased


def fewer_columns(rows: Rows, moments: Moments, fit_intercept: bool) -> tuple[Coordinates, np.ndarray] | None:
    """Standardised coordinates without columns that are combinations of others, and all columns taking part.

    Which ones is found on a sample of rows and then checked on every row, to the rounding of the cells; None where
    the columns are independent, or nearly dependent without being so. Cost: a QR of the sample, one pass O(npd).
    """
    if rows.lazy:
        return None
    standard = Coordinates.standard(moments, fit_intercept)
    live = np.flatnonzero(standard.scale)
    sample = _standardised_sample(rows, standard, max(20 * rows.p, 2000))[:, live]
    r, order = scipy.linalg.qr(sample, mode="r", pivoting=True)[-2:]
    size = np.abs(np.diag(r))
    noise = _noise(moments, standard)
    rank = int(np.count_nonzero(size > 1e3 * noise * size[0]))
    if rank == len(live) or rank == 0:
        return None
    combination = scipy.linalg.solve_triangular(r[:rank, :rank], r[:rank, rank:])
    directions = np.zeros((rows.p, len(live) - rank))
    directions[live[order[:rank]]] = -combination
    directions[live[order[rank:]]] = np.eye(len(live) - rank)
    # two random mixtures of the directions instead of each: one that does not vanish leaves neither at zero
    mixed = directions @ np.random.default_rng(0).standard_normal((directions.shape[1], 2))
    left = sweep(_largest_score, rows, (standard, mixed))[0].value
    if not np.all(left <= 1e3 * noise * np.abs(mixed).sum(axis=0)):
        return None
    dropped = tuple(sorted(int(j) for j in live[order[rank:]]))
    scale = standard.scale.copy()
    scale[list(dropped)] = 0.0
    taking_part = np.flatnonzero(np.abs(directions).max(axis=1) > TAKING_PART)
    blind = Blind(directions, standard.scale[:, None] * directions)
    return replace(standard, scale=scale, blind=blind, dropped=dropped), taking_part


def _noise(moments: Moments, standard: Coordinates) -> float:
    """The relative size below which a direction of the standardised columns is made of rounding."""
    far = float(np.max(np.abs(moments.mean) * standard.scale, initial=0.0))
    return EPS * 8.0 * max(float(len(standard.scale)), far)


def _standardised_sample(rows: Rows, standard: Coordinates, count: int) -> FloatArray:
    """About ``count`` rows, evenly spaced over the table, centred and scaled."""
    parts = []
    for i in range(rows.n_blocks):
        block = rows.block(i)
        step = max(1, rows.n // count)
        cells = block.X[::step]
        cells = cells if isinstance(cells, np.ndarray) else cells.toarray()
        parts.append((cells - standard.centre) * standard.scale)
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Largest(Statistic):
    """max |score| of each direction over some rows."""

    value: FloatArray

    def __add__(self, other: Largest) -> Largest:
        return Largest(np.maximum(self.value, other.value))


def _largest_score(block: Block, params: tuple[Coordinates, FloatArray], _memo: None) -> tuple[Largest, None]:
    standard, directions = params
    weights = np.asfortranarray(standard.scale[:, None] * directions)
    offset = -standard.centre @ weights
    largest = np.zeros(directions.shape[1])
    for part in block.tiles(block.X.shape[1]):
        cells = block.dense(part)
        for k in range(len(largest)):
            score = cells @ weights[:, k]
            score += offset[k]
            largest[k] = max(largest[k], float(score.max()), -float(score.min()))
    return Largest(largest), None


def gram_coordinates(
    rows: Rows, moments: Moments, fit_intercept: bool, ridge: float, curvature: float
) -> Coordinates:
    """B with BᵀHB near the identity, from the Gram matrix of about 20 rows a column."""
    p = rows.p
    standard = penalised_coordinates(moments, fit_intercept, ridge, curvature)
    stride = 1 if rows.lazy else max(1, rows.n // max(20 * p, 2048))
    gram: Gram = sweep(_sampled_gram, rows, stride)[0]
    scatter = gram.scatter()
    if not fit_intercept:
        scatter = scatter + gram.weight * np.outer(gram.mean, gram.mean)
    scaled = standard.scale[:, None] * scatter * standard.scale / gram.weight
    scaled = curvature * scaled + np.diag(ridge * standard.scale**2 + (standard.scale == 0))
    values, vectors = np.linalg.eigh(scaled)
    floor = 1e-8 * values[-1]  # a sample may miss a direction: never stretch one by more than 1e4
    return replace(standard, basis=vectors / np.sqrt(np.maximum(values, floor)), lift=curvature**-0.5)


def penalised_coordinates(
    moments: Moments, fit_intercept: bool, ridge: float, curvature: float
) -> Coordinates:
    """Columns divided by √(variance + λ/κ): standardised, and shrunk where the penalty is the stiffer part."""
    diagonal = diagonal_coordinates(moments, fit_intercept, ridge, curvature)
    return replace(diagonal, scale=diagonal.scale * np.sqrt(curvature), lift=1.0)


def diagonal_coordinates(
    moments: Moments, fit_intercept: bool, ridge: float, curvature: float
) -> Coordinates:
    """Columns divided by √(κ·variance + λ): the Gram preconditioner's diagonal, where p is too large for more."""
    standard = Coordinates.standard(moments, fit_intercept)
    live = standard.scale > 0
    variance = _inverse(standard.scale**2, live)
    scale = _inverse(np.sqrt(curvature * variance + ridge), live)
    return replace(standard, scale=scale, lift=curvature**-0.5, standardised=False)


def row_span(rows: Rows, centre: FloatArray) -> tuple[Coordinates, Rows]:
    """w = Qt with (X − centre)ᵀ = QR, and the rows Rᵀ that t sees; ‖w‖ = ‖t‖."""
    dense = rows.source if isinstance(rows.source, np.ndarray) else rows.source.toarray()
    q, r = np.linalg.qr(np.subtract(dense, centre, dtype=np.float64).T)
    inner = Rows.of(np.ascontiguousarray(r.T), rows.y, rows.weight)
    return Coordinates(centre, np.ones(rows.p), q), inner


def standard_span(rows: Rows, moments: Moments, fit_intercept: bool) -> tuple[Coordinates, Rows]:
    """`singular_coordinates` of wide data without a penalty, by the rows; and those rows in them.

    Z = U S Vᵀ of the standardised rows that weigh something; directions that vanish to the rounding of the cells are
    left out. Cost O(n²p), and no matrix (p, p).
    """
    standard = Coordinates.standard(moments, fit_intercept)
    dense = rows.source if isinstance(rows.source, np.ndarray) else rows.source.toarray()
    z = np.subtract(dense, standard.centre, dtype=np.float64)
    z *= standard.scale
    seen = z if rows.weight is None else z[rows.weight > 0]
    _, values, vt = np.linalg.svd(seen, full_matrices=False)
    keep = values > _noise(moments, standard) * max(float(np.max(values, initial=0.0)), EPS)
    vt, values = vt[keep], values[keep] / np.sqrt(len(seen))
    live = standard.scale > 0
    weights, _ = np.linalg.qr(np.where(live, _inverse(standard.scale, live), 0.0)[:, None] * vt.T)
    blind = BlindOutside(vt.T, weights, live) if len(vt) < np.count_nonzero(live) else None
    basis = vt.T / values
    return replace(standard, basis=basis, delicate=True, blind=blind), Rows.of(z @ basis, rows.y, rows.weight)


def _sampled_gram(block: Block, stride: int, _memo: None) -> tuple[Gram, None]:
    total = Gram.zero(block.X.shape[1])
    block = block.thinned(stride)
    for part in block.tiles(block.X.shape[1]):
        weight = None if block.weight is None else block.weight[part]
        total = total + Gram.of(block.dense(part), weight=weight)
    return total, None


def qr_of(rows: Rows) -> QRFactor:
    """The QR factor of all rows, by one sweep."""
    total: QRFactor = sweep(_qr, rows)[0]
    return total


def _qr(block: Block, _params: None, _memo: None) -> tuple[QRFactor, None]:
    return QRFactor.of(block.dense(slice(0, block.n)), weight=block.weight), None


def _inverse(size: FloatArray, where: np.ndarray) -> FloatArray:
    return np.divide(1.0, size, out=np.zeros_like(size), where=where)
