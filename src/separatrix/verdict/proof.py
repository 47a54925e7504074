"""Check a claim about separation from data alone; this file knows nothing of how the claim was found.

Rows x̃ = (x, 1), classes y. A matrix D (K, p+1) gives row i the margins  m_ik = (D_{y_i} − D_k)·x̃_i, k ≠ y_i.

    complete   some D has all m_ik > 0
    quasi      some D has all m_ik ≥ 0 and one > 0, and no D has all > 0: weights a ≥ 0, a ≠ 0 with
               Σ_ik a_ik (e_{y_i} − e_k) x̃_iᵀ = 0   (Gordan: that sum is ⟨a, m⟩ = 0 for every D)
    overlap    weights a ≥ 0 as above whose rows reach every direction any row reaches (Stiemke)

Floating point: a margin is positive when it exceeds the rounding error of its own sum, and weights whose
combination is only nearly zero count when correcting them to exact zero leaves them positive.
Reference: Albert and Anderson (1984). Cost: O(nK(p + K)), and O(m·(pK)²) for m rows with weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, FloatArray

ZERO = 1e-9  # a margin this small against |x̃||D| is on the surface


def margins(X: Any, codes: np.ndarray, direction: FloatArray, intercept: FloatArray) -> FloatArray:
    """m_ik (n, K) with +inf at k = y_i; direction (K, p), intercept (K,)."""
    scores = np.asarray(X @ direction.T) + intercept
    at = np.arange(len(codes))
    result = scores[at, codes][:, None] - scores
    result[at, codes] = np.inf
    return result


def margin_scale(X: Any, codes: np.ndarray, direction: FloatArray, intercept: FloatArray) -> FloatArray:
    """Σ_j |x_ij||D_yj − D_kj| + |b_y − b_k|: what a margin's rounding error is relative to, (n, K)."""
    size = np.abs(X)
    scale = np.empty((len(codes), len(direction)))
    for y in range(len(direction)):
        rows = np.flatnonzero(codes == y)
        scale[rows] = np.asarray(size[rows] @ np.abs(direction[y] - direction).T) + np.abs(
            intercept[y] - intercept
        )
    return scale


def check_direction(
    X: Any, codes: np.ndarray, direction: FloatArray, intercept: FloatArray, *, strict: bool
) -> bool:
    """All margins positive beyond rounding (strict), or none negative and one positive."""
    m = margins(X, codes, direction, intercept)
    scale = margin_scale(X, codes, direction, intercept)
    error = (X.shape[1] + 4) * EPS * scale
    if strict:
        return bool((m > error).all())
    rival = np.isfinite(m)
    zero = ZERO * float(scale.max())  # a tie is a sum of terms as large as any row's
    return bool((m >= -zero)[rival].all() and (m > zero)[rival].any())


def check_weights(
    X: Any, codes: np.ndarray, weights: FloatArray, *, fit_intercept: bool, spanning: bool
) -> bool:
    """Weights (n, K) ≥ 0, not all zero, whose signed combination vanishes; ``spanning``: and reach everything."""
    n_classes = weights.shape[1]
    if (weights < 0).any() or not weights.any() or weights[np.arange(len(codes)), codes].any():
        return False
    rows, rivals = np.nonzero(weights)
    cells = _cells(X, np.unique(rows))
    centre, spread = _standard(X, fit_intercept)
    z = (cells - centre) / spread
    if fit_intercept:
        z = np.column_stack([z, np.ones(len(z))])
    local = np.searchsorted(np.unique(rows), rows)
    signs = np.zeros((len(rows), n_classes))
    signs[np.arange(len(rows)), codes[rows]] += 1.0
    signs[np.arange(len(rows)), rivals] -= 1.0
    system = (signs[:, :, None] * z[local][:, None, :]).reshape(len(rows), -1)
    a = weights[rows, rivals]
    # a' = a − correction has exactly zero combination; positive a' means an exact proof is next to this one
    solved, _, rank, _ = np.linalg.lstsq((system * np.sqrt(a)[:, None]).T, system.T @ a, rcond=1e-12)
    correction = np.sqrt(a) * solved
    left = np.abs(system.T @ (a - correction)).max()
    size = float(np.abs(system).T.dot(a).max())
    if not ((np.abs(correction) < a).all() and left <= 1e-10 * max(size, 1e-300)):
        return False
    return not spanning or int(rank) == (n_classes - 1) * _rank(X, centre, spread, fit_intercept)


def _cells(X: Any, pick: np.ndarray) -> FloatArray:
    cells = X[pick]
    return np.asarray(cells if isinstance(cells, np.ndarray) else cells.toarray(), dtype=np.float64)


def _standard(X: Any, fit_intercept: bool) -> tuple[FloatArray, FloatArray]:
    """Centre and spread of the columns: the same cone in numbers that compare."""
    if isinstance(X, np.ndarray):
        mean, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    else:
        mean = np.asarray(X.mean(axis=0)).ravel().astype(float)
        spread = np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))
    if not fit_intercept:
        spread, mean = np.sqrt(spread**2 + mean**2), np.zeros_like(mean)
    flat = spread <= 8 * EPS * np.abs(mean)
    return mean, np.where(flat | (spread == 0), 1.0, spread)


def _rank(X: Any, centre: FloatArray, spread: FloatArray, fit_intercept: bool) -> int:
    """Rank of the standardised rows with their intercept."""
    n, p = X.shape
    if p >= n:
        z = (_cells(X, np.arange(n)) - centre) / spread
        z = np.column_stack([z, np.ones(n)]) if fit_intercept else z
        return int(np.linalg.matrix_rank(z, rtol=1e-11))
    R: Any = np.zeros((0, p + int(fit_intercept)))
    for a in range(0, n, 4096):
        z = (_cells(X, np.arange(a, min(a + 4096, n))) - centre) / spread
        z = np.column_stack([z, np.ones(len(z))]) if fit_intercept else z
        R = np.linalg.qr(np.vstack([R, z]), mode="r")
    return int(np.linalg.matrix_rank(R, rtol=1e-11))
