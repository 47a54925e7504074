"""Covariances that can be divided by:  Σ through T with TᵀΣT = I, on the directions that vary ([6867] 3.1.1).

    shrinkage s      (1 − s) Σ + s (tr Σ / p) I, or Ledoit and Wolf's s from the fourth moments
    no spread        an eigenvalue below tol², in columns of unit spread: left out where all classes share Σ, as
                     scikit-learn does (with fewer rows than columns they are accidents of the sample), and raised to
                     tol² where densities of classes are compared

Shapes: Σ (p, p), T (p, directions that vary). Cost O(p³) a covariance, one sweep for fourth moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.base import clone

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupScatter
from separatrix.core.statistics.spans import SpanCovariance, SpanScatter
from separatrix.data.engine import sweep
from separatrix.data.rows import Block, Rows


@dataclass(frozen=True)
class WhiteningRoot:
    """Σ through T with TᵀΣT = I on the directions that vary; ``thin``: columns in directions without spread."""

    root: Any  # T: (p, directions that vary), or what multiplies as it does (span.py)
    log_det: float
    sigma: Any  # Σ, eigenvalues below tol² raised to it, one in a direction that never varies
    thin: np.ndarray
    rank: int
    residual: float
    half: Any  # H with H Hᵀ = Σ on the directions that vary
    out: Any  # unit directions of columns, each divided by its spread, that were left out or raised

    @classmethod
    def of(
        cls, sigma: FloatArray, scale: FloatArray, basis: FloatArray, tol: float, shared: bool
    ) -> WhiteningRoot:
        """Within the span of ``basis`` (p, r), directions of columns divided by their total spread ``scale``.

        Directions below tol² are left out where all classes share Σ (``shared``), and raised to tol² where not.
        """
        plain = cls._plain(sigma, scale, basis, tol)
        if plain is not None:
            return plain
        unit = basis.T @ (sigma / np.outer(scale, scale)) @ basis
        within = np.sqrt(np.maximum(np.diag(unit), 0.0))
        within = np.where(within > tol, within, 1.0)
        values, vectors = np.linalg.eigh(unit / np.outer(within, within))
        below = values < tol**2
        raised = np.maximum(values, tol**2)
        root = (basis @ (vectors / within[:, None])) / np.sqrt(raised) / scale[:, None]
        back = (basis @ (vectors * within[:, None])) * np.sqrt(raised) * scale[:, None]
        thin = (np.abs(basis @ vectors[:, below]) > 1e-2).any(axis=1)
        whole = basis.shape[1] == len(sigma)
        outside = np.zeros_like(sigma) if whole else np.eye(len(sigma)) - basis @ basis.T
        full = sigma if whole and not below.any() else back @ back.T + outside * np.outer(scale, scale)
        residual = 0.0  # where directions were raised, T is not of Σ itself
        if not below.any():
            residual = float(np.max(np.abs(root.T @ full @ root - np.eye(root.shape[1])), initial=0.0))
        if shared:
            root, raised = root[:, ~below], raised[~below]
        log_det = float(np.sum(np.log(raised)) + 2 * np.sum(np.log(within)) + 2 * np.sum(np.log(scale)))
        out = basis @ (vectors[:, below] / within[:, None])
        return cls(root, log_det, full, thin, int((~below).sum()), residual, back, out)

    @classmethod
    def _plain(
        cls, sigma: FloatArray, scale: FloatArray, basis: FloatArray, tol: float
    ) -> WhiteningRoot | None:
        """By Cholesky's factor, a tenth of the work, where directions are columns and none is below tol²."""
        live = np.flatnonzero(basis.any(axis=1))
        if not 0 < len(live) == basis.shape[1] or not np.array_equal(basis[live], np.eye(len(live))):
            return None
        sizes = np.sqrt(np.maximum(np.diag(sigma)[live], 0.0))
        if not (sizes > tol * scale[live]).all():
            return None
        among = np.ix_(live, live)
        low, info = lapack.dpotrf(sigma[among] / np.outer(sizes, sizes), lower=1, clean=1)
        inverse = lapack.dtrtri(low, lower=1)[0] if info == 0 else low
        # the trace of the inverse is more than 1/λ_min
        if info or not float(np.vdot(inverse, inverse)) * tol**2 < 1.0:
            return None
        root, half = np.zeros(basis.shape), np.zeros(basis.shape)
        root[live], half[live] = inverse.T / sizes[:, None], low * sizes[:, None]
        full = sigma
        if len(live) < len(sigma):
            full = np.diag(scale**2)
            full[among] = sigma[among]
        residual = float(
            np.max(np.abs(root[live].T @ sigma[among] @ root[live] - np.eye(len(live))), initial=0.0)
        )
        log_det = 2 * float(np.sum(np.log(np.diag(low))) + np.sum(np.log(sizes)))
        thin, out = np.zeros(len(sigma), dtype=bool), np.zeros((len(sigma), 0))
        # constant columns have the spread one of their own making: they take no part
        others = 2 * float(np.sum(np.log(np.delete(scale, live))))
        return cls(root, log_det + others, full, thin, len(live), residual, half, out)


def shrunk(sigma: Any, shrinkage: Any, weight: float, fourth: float | None) -> Any:
    """(1 − s) Σ + s (tr Σ / p) I; "auto": Ledoit–Wolf's s, in columns of unit spread as scikit-learn takes it."""
    if shrinkage is None:
        return sigma
    p = len(sigma)
    if isinstance(sigma, SpanCovariance):
        return _shrunk_span(sigma, shrinkage, weight, fourth)
    if shrinkage != "auto":
        return (1 - shrinkage) * sigma + np.eye(p) * (shrinkage * np.trace(sigma) / p)
    assert fourth is not None
    scale = np.sqrt(np.diag(sigma))
    scale = np.where(scale > 0, scale, 1.0)
    unit = sigma / np.outer(scale, scale)
    mu, s = _ledoit_wolf(p, np.trace(unit), float(np.sum(unit**2)), weight, fourth)
    return ((1 - s) * unit + np.eye(p) * (s * mu)) * np.outer(scale, scale)


def _ledoit_wolf(p: int, trace: float, squares: float, weight: float, fourth: float) -> tuple[float, float]:
    """μ = tr Σ / p and the share s of μI, from tr Σ, Σ_jl Σ_jl² and Σ w ‖z‖⁴."""
    mu = trace / p
    beta = (fourth / weight - squares) / (p * weight)
    delta = squares / p - mu**2
    return mu, 0.0 if delta <= 0 else min(max(beta, 0.0), delta) / delta


def _shrunk_span(
    sigma: SpanCovariance, shrinkage: Any, weight: float, fourth: float | None
) -> SpanCovariance:
    """`shrunk` where Σ is kept as rows: what is added is diagonal."""
    p = len(sigma)
    if shrinkage != "auto":
        return (1 - shrinkage) * sigma + (shrinkage * sigma.trace() / p) * SpanCovariance.identity(p)
    assert fourth is not None
    scale = np.sqrt(sigma.diagonal())
    scale = np.where(scale > 0, scale, 1.0)
    unit = sigma.in_units(scale)
    mu, s = _ledoit_wolf(p, unit.trace(), unit.squares(), weight, fourth)
    return (1 - s) * sigma + SpanCovariance.of_diagonal(s * mu * scale**2)


def averaged(share: FloatArray, sigmas: list[Any]) -> Any:
    """Σ_k share_k Σ_k."""
    if any(isinstance(sigma, SpanCovariance) for sigma in sigmas):
        parts = [float(part) * sigma for part, sigma in zip(share, sigmas, strict=True)]
        return sum(parts[1:], start=parts[0])
    return np.tensordot(share, np.array(sigmas), axes=1)


def diagonal_of(sigma: Any) -> FloatArray:
    """The diagonal of a covariance of either kind."""
    return sigma.diagonal() if isinstance(sigma, SpanCovariance) else np.diag(sigma)


def of_diagonal(like: Any, d: FloatArray) -> Any:
    """diag d, as a covariance of the kind of ``like``."""
    return SpanCovariance.of_diagonal(d) if isinstance(like, SpanCovariance) else np.diag(d)


def fourth_moments(rows: Rows, s: GroupScatter | SpanScatter) -> FloatArray:
    """Σ_i w_i ‖z_i‖⁴ of each class, z in columns of unit spread: Ledoit–Wolf needs it, and a sweep of its own."""
    if s.group.max(initial=0) + 1 != len(s.group):
        raise ValueError("Ledoit–Wolf needs a covariance a class")
    with np.errstate(all="ignore"):
        spread = np.sqrt(s.diagonals() / s.weight[:, None])
    return sweep(_fourth, rows, (s.mean, np.where(spread > 0, spread, 1.0)))[0]


def _fourth(block: Block, params: Any, _memo: None) -> tuple[FloatArray, None]:
    mean, spread = params
    total = np.zeros(len(mean))
    for part in block.tiles(block.X.shape[1]):
        codes = block.y[part]
        z = (block.X[part] - mean[codes]) / spread[codes]
        norm = np.einsum("ij,ij->i", z, z) ** 2
        norm = norm if block.weight is None else norm * block.weight[part]
        seen = (codes >= 0) & ~np.isnan(norm)
        total += np.bincount(codes[seen], norm[seen], minlength=len(mean))
    return total, None


def estimated(rows: Rows, classes: list[Any], covariance_estimator: Any) -> list[FloatArray]:
    """Σ_k of each class by a clone of ``covariance_estimator``; weights may differ between classes alone."""
    if rows.lazy:
        raise TypeError("covariance_estimator needs the rows in memory: use shrinkage for a lazy table")
    found: list[FloatArray] = []
    for k, name in enumerate(classes):
        mine = rows.y == k
        weight = None if rows.weight is None else rows.weight[mine]
        if weight is not None and not (weight == weight[0]).all():
            raise ValueError(
                f"covariance_estimator takes no weights, and rows of class {name!r} have different ones: repeat "
                "rows instead, or use shrinkage"
            )
        model = clone(covariance_estimator, safe=False)
        model.fit(np.asarray(rows.source[mine], dtype=np.float64))
        if not hasattr(model, "covariance_"):
            raise ValueError(f"{type(model).__name__} does not have a covariance_ attribute")
        found.append(np.asarray(model.covariance_, dtype=np.float64))
    return found
