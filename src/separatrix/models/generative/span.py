"""Covariances of wide tables that can be divided by:  Σ = ZᵀZ + diag d, Z (m, p), m < p, never formed ([6867] 3.1.1).

    d = 0                 T from the singular vectors of Z in unit columns: as many directions as rows
    d > 0 (shrinkage)     T = D^{−½}(I − V(I − (I + S²)^{−½})Vᵀ),  Z D^{−½} = U S Vᵀ: Woodbury's identity, by its root

What counts as no spread is said in covariance.py. A shrinkage so small that every column's d lies below tol² of its
variance counts as none there, and here too: d is then left out.

Shapes: Z (m, p), T (p, r) or, for d > 0, (p, p) by what it does to rows. Cost O(m²p), O(mp) a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.spans import SpanCovariance, SpanScatter
from separatrix.core.wide import singular_directions
from separatrix.models.generative.covariance import WhiteningRoot

TAKING_PART = 1e-4  # squared share of a column in directions without spread, above which it is named


@dataclass(frozen=True, eq=False)
class SpanRoot:
    """T (p, p) with TᵀΣT = I for Σ = diag d + ZᵀZ, by products: ``z @ T``, ``z @ T.T`` and ``T @ B``.

    >>> sigma = SpanCovariance(np.array([[3.0, 0.0]]), np.ones(2))
    >>> T = SpanRoot.of(sigma)
    >>> (np.array([[10.0, 1.0]]) @ T @ T.T).round(12).tolist(), round(float(np.exp(T.log_det)), 9)
    ([[1.0, 1.0]], 10.0)
    """

    root: FloatArray  # √d, infinite in a column that takes no part
    vectors: FloatArray  # V (p, r)
    factor: FloatArray  # 1/√(1 + s²) − 1
    log_det: float  # of Σ, over the columns that take part
    turned: bool = False

    __array_ufunc__ = None  # NumPy leaves products with this to this

    @classmethod
    def of(cls, sigma: SpanCovariance, live: np.ndarray | None = None) -> SpanRoot:
        root = np.sqrt(sigma.spread)
        if live is not None:
            root = np.where(live, root, np.inf)
        _, s, vt = np.linalg.svd(sigma.rows / root, full_matrices=False)
        keep = s > 0
        s, vt = s[keep], vt[keep]
        log_det = 2 * float(np.sum(np.log(root[np.isfinite(root)]))) + float(np.sum(np.log1p(s**2)))
        return cls(root, vt.T, 1 / np.sqrt(1 + s**2) - 1, log_det)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.root), int(np.isfinite(self.root).sum())

    @property
    def T(self) -> SpanRoot:
        return replace(self, turned=not self.turned)

    def __rmatmul__(self, rows: FloatArray) -> FloatArray:
        z = rows if self.turned else rows / self.root
        z = z + (z @ self.vectors * self.factor) @ self.vectors.T
        return np.asarray(z / self.root if self.turned else z)

    def __matmul__(self, columns: FloatArray) -> FloatArray:
        return (columns.T @ self.T).T

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.eye(len(self.root), dtype=dtype or np.float64) @ self


@dataclass(frozen=True, eq=False)
class FoldedRoot:
    """T = F T', where F keeps the columns ``stiff`` and sees the others along ``basis`` (p − a, r): [x_A, x_C B]."""

    stiff: np.ndarray
    basis: FloatArray
    inner: SpanRoot

    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.stiff), self.inner.shape[1]

    @property
    def log_det(self) -> float:
        return self.inner.log_det

    @property
    def T(self) -> FoldedRoot:
        return replace(self, inner=self.inner.T)

    def fold(self, rows: FloatArray) -> FloatArray:
        return np.hstack([rows[:, self.stiff], rows[:, ~self.stiff] @ self.basis])

    def __rmatmul__(self, rows: FloatArray) -> FloatArray:
        if not self.inner.turned:
            return np.asarray(self.fold(rows) @ self.inner)
        inner = rows @ self.inner
        out, a = np.empty((len(rows), len(self.stiff))), int(self.stiff.sum())
        out[:, self.stiff], out[:, ~self.stiff] = inner[:, :a], inner[:, a:] @ self.basis.T
        return out

    def __matmul__(self, columns: FloatArray) -> FloatArray:
        return (columns.T @ self.T).T

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.eye(len(self.stiff), dtype=dtype or np.float64) @ self


def shared_root(sigma: SpanCovariance, unit: FloatArray, live: np.ndarray, tol: float) -> Any:
    """T of a covariance all classes share, in columns of spread ``unit``: what has no spread is left out.

    Some columns may have spread of their own (d ≥ tol²) and others not: where the rows do not span these, they count
    by that span.
    """
    stiff = live & (sigma.spread >= (tol * unit) ** 2)
    soft = live & ~stiff
    if not soft.any():
        return SpanRoot.of(sigma, live)
    basis = _directions((sigma.rows / unit)[:, ~stiff] * live[~stiff], tol)
    if basis.shape[1] == soft.sum():
        return SpanRoot.of(sigma, live & (sigma.spread > 0))
    return _folded(sigma, stiff, basis / unit[~stiff, None], 0.0)


def _folded(sigma: SpanCovariance, stiff: np.ndarray, basis: FloatArray, least: float) -> FoldedRoot:
    """Columns without spread of their own along ``basis``, with the little they have there, or ``least``."""
    rows = np.hstack([sigma.rows[:, stiff], sigma.rows[:, ~stiff] @ basis])
    little = np.maximum(sigma.spread[~stiff] @ basis**2, max(least, np.finfo(float).tiny))
    spread = np.concatenate([sigma.spread[stiff], little])
    return FoldedRoot(stiff, basis, SpanRoot.of(SpanCovariance(rows, spread)))


def _directions(rows: FloatArray, tol: float) -> FloatArray:
    """The singular directions of rows with singular values of at least ``tol``: (p, r), orthonormal."""
    return singular_directions(rows, tol)[1].T


@dataclass(frozen=True)
class Within:
    """Where the rows of a wide table vary: all columns but ``flat``, or the span of ``basis`` (p, r) of unit columns.

    ``stiff`` are columns with spread of their own in some class; the basis is that of the others.
    """

    scale: FloatArray
    flat: np.ndarray
    stiff: np.ndarray
    basis: FloatArray | None
    shared: bool
    tol: float

    @classmethod
    def of(
        cls, s: SpanScatter, sigmas: list[SpanCovariance], scale: FloatArray, flat: np.ndarray, tol: float
    ) -> Within:
        """For several covariances, the singular directions of all rows about their mean where none has a d."""
        least = (tol * scale) ** 2
        stiff = ~flat & np.any([sigma.spread >= least for sigma in sigmas], axis=0)
        whole = cls(scale, flat, stiff, None, len(sigmas) == 1, tol)
        if whole.shared or (stiff | flat).all():
            return whole
        rows = (total_rows(s) / scale)[:, ~stiff] * ~flat[~stiff]
        basis = _directions(rows, np.sqrt(1e-3) * tol)
        spanned = stiff.any() and basis.shape[1] == np.count_nonzero(~stiff & ~flat)
        return whole if spanned else replace(whole, basis=basis)

    def whiten(self, sigma: SpanCovariance) -> WhiteningRoot:
        if self.shared:
            return self._of_all(sigma)
        if self.basis is not None and not self.stiff.any():
            return self._of_classes(sigma, self.basis)
        return self._of_stiff(sigma)

    def _units(self, sigma: SpanCovariance) -> FloatArray:
        """Each column's spread by ``sigma``; the total spread where it is below tol of that."""
        within = np.sqrt(sigma.diagonal()) / self.scale
        return np.where(within > self.tol, within, 1.0) * self.scale

    def _of_all(self, sigma: SpanCovariance) -> WhiteningRoot:
        """Σ of all classes: along the directions with spread, the others left out."""
        unit, live = self._units(sigma), ~self.flat
        if (live & (sigma.spread >= (self.tol * unit) ** 2)).any():
            root = shared_root(sigma, unit, live, self.tol)
            thin = ~root.stiff & live if isinstance(root, FoldedRoot) else np.zeros(len(unit), dtype=bool)
            return self._rooted(sigma, root, thin)
        rows = sigma.rows / unit
        rows[:, self.flat] = 0.0
        values, vt = singular_directions(rows, self.tol)
        log_det = 2 * float(np.sum(np.log(values)) + np.sum(np.log(unit)))
        raised = np.sqrt(values**2 - self.tol**2)[:, None] * vt
        raised *= unit
        root = np.divide(vt, values[:, None], out=rows[: len(vt)])  # the rows have served
        root /= unit
        V = vt.T
        return WhiteningRoot(
            root.T, log_det, SpanCovariance(raised, (self.tol * unit) ** 2), self._taking_part(V), len(values), 0.0,
            ThinHalf(vt, values, unit), Outside(V, unit / self.scale),
        )  # fmt: skip

    def _taking_part(self, V: FloatArray) -> np.ndarray:
        """Columns that lie in directions V leaves out."""
        return (1 - np.einsum("ij,ij->i", V, V) > TAKING_PART) & ~self.flat

    def _of_classes(self, sigma: SpanCovariance, basis: FloatArray) -> WhiteningRoot:
        """Σ_k = ZᵀZ within the span of all rows, eigenvalues there below tol² raised to it."""
        rows, one = (sigma.rows / self.scale) @ basis, np.ones(basis.shape[1])
        found = WhiteningRoot.of(rows.T @ rows, one, np.diag(one), self.tol, False)
        half = basis @ found.half * self.scale[:, None]
        out = basis @ found.out
        return replace(
            found, root=basis @ found.root / self.scale[:, None], half=half,
            thin=(np.abs(out) > 1e-2).any(axis=1), out=out, sigma=SubspaceCovariance(half, basis, self.scale),
            log_det=found.log_det + 2 * float(np.sum(np.log(self.scale))),
        )  # fmt: skip

    def _of_stiff(self, sigma: SpanCovariance) -> WhiteningRoot:
        """Σ_k = ZᵀZ + diag d, d raised to tol² of a column's variance: densities are compared."""
        least = (self.tol * self._units(sigma)) ** 2
        thin = self.stiff & (sigma.diagonal() < least)
        raised = SpanCovariance(sigma.rows, np.maximum(sigma.spread, least))
        if self.basis is None:
            return self._rooted(raised, SpanRoot.of(raised, ~self.flat), thin)
        basis = self.basis / self.scale[~self.stiff, None]
        return self._rooted(raised, _folded(raised, self.stiff, basis, self.tol**2), thin | self.left_out)

    @property
    def left_out(self) -> np.ndarray:
        """Columns without spread of their own that lie outside the span of the rows."""
        out = np.zeros(len(self.flat), dtype=bool)
        if self.basis is not None:
            share = np.einsum("ij,ij->i", self.basis, self.basis)
            out[~self.stiff] = 1 - share > TAKING_PART
        return out & ~self.flat

    def _rooted(self, sigma: SpanCovariance, root: Any, thin: np.ndarray) -> WhiteningRoot:
        """With how far TᵀΣT is from I along the directions of Z and along one that is none of them."""
        inner = root.inner if isinstance(root, FoldedRoot) else root
        q = len(inner.root)
        probe = np.vstack([inner.vectors.T[:4], np.cos(np.arange(q))[None] / np.sqrt(q)])
        probe[:, ~np.isfinite(inner.root)] = 0.0
        out = probe @ root.T
        out = (out @ sigma.rows.T @ sigma.rows + out * sigma.spread) @ root
        left = 0.0 if isinstance(root, FoldedRoot) else float(np.max(np.abs(out - probe), initial=0.0))
        log_det = root.log_det + 2 * float(np.sum(np.log(self.scale[self.flat])))
        nothing = Outside(None, np.ones(len(thin)))
        rank = q if isinstance(root, FoldedRoot) else len(thin) - int(thin.sum())
        return WhiteningRoot(root, log_det, sigma, thin, rank, left, None, nothing)


@dataclass(frozen=True, eq=False)
class SubspaceCovariance:
    """Σ = HHᵀ in the span of ``basis`` of columns divided by ``scale``, and their variance one outside it."""

    half: FloatArray  # H (p, r)
    basis: FloatArray  # (p, r)
    scale: FloatArray

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """n rows of N(0, HHᵀ): nothing varies outside."""
        return np.asarray(rng.standard_normal((n, self.half.shape[1])) @ self.half.T)

    def root(self, there: np.ndarray) -> SpanRoot:
        """T of some columns: I + [B, H] diag(−1, 1) [B, H]ᵀ by the eigenvectors in the span of B and H."""
        unit = self.scale[there]
        sides = np.hstack([self.basis[there], self.half[there] / unit[:, None]])
        Q, R = np.linalg.qr(sides)
        sign = np.repeat([-1.0, 1.0], [self.basis.shape[1], self.half.shape[1]])
        values, vectors = np.linalg.eigh(np.eye(len(R)) + (R * sign) @ R.T)
        values = np.maximum(values, 1e-14)
        log_det = 2 * float(np.sum(np.log(unit))) + float(np.sum(np.log(values)))
        return SpanRoot(unit, Q @ vectors, 1 / np.sqrt(values) - 1, log_det)

    def dense(self) -> FloatArray:
        inside = self.half @ self.half.T
        outside = np.eye(len(self.scale)) - self.basis @ self.basis.T
        return np.asarray(inside + outside * np.outer(self.scale, self.scale))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.dense() if dtype is None else self.dense().astype(dtype)


KEPT_AS_ROWS = (SpanCovariance, SubspaceCovariance)


def root_of_columns(sigma: SpanCovariance | SubspaceCovariance, there: np.ndarray) -> SpanRoot:
    """T of the covariance of some columns."""
    if isinstance(sigma, SubspaceCovariance):
        return sigma.root(there)
    return SpanRoot.of(sigma.of_columns(there))


@dataclass(frozen=True, eq=False)
class ThinHalf:
    """H (p, r) with HHᵀ = Σ on the directions that vary, V diag(s) in columns of spread ``unit``: made when read."""

    vt: FloatArray
    values: FloatArray
    unit: FloatArray

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        half = (self.vt.T * self.values) * self.unit[:, None]
        return half if dtype is None else half.astype(dtype)


@dataclass(frozen=True)
class Outside:
    """The directions that V (p, r) leaves out of columns with spreads ``within``; V None: none is left out."""

    V: FloatArray | None
    within: FloatArray

    def __rmatmul__(self, rows: FloatArray) -> FloatArray:
        """How far each row lies from the first along those directions: (n, 1)."""
        if self.V is None:
            return np.zeros((len(rows), 0))
        z = (rows - rows[:1]) / self.within
        z = z - (z @ self.V) @ self.V.T
        return np.linalg.norm(z, axis=1)[:, None]

    __array_ufunc__ = None


def total_rows(s: SpanScatter) -> FloatArray:
    """Z of all rows about their common mean: ZᵀZ is the covariance of the table, (m + K, p)."""
    total = max(float(s.weight.sum()), 1e-300)
    live = s.weight > 0
    share = s.weight[live] / total
    offset = s.mean[live] - share @ s.mean[live]
    return np.vstack([s.rows / np.sqrt(total), np.sqrt(share)[:, None] * offset])
