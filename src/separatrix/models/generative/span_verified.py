"""verify for Gaussians of wide tables: the moment equations of verified.py where covariances are kept as rows.

    Σ̂ = ẐᵀẐ + diag d̂,    Σ = ZᵀZ + diag d        compared in the span Q of the rows of Ẑ, Z and the means' differences

Outside Q both are diag d, in units of √d̂ where there is any; so KL(N(m̂, Σ̂) ‖ N(m, Σ)) is that of matrices of the size
of the span, and nothing (p, p) is formed. Where d̂ is nothing beside the variances, Σ̂ is judged on the directions in
which it has spread, as in verified.py. Shapes: Z (m, p), Q (p, q), q ≤ 2m + K. Cost O(m²p).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, LOG_2PI, FloatArray
from separatrix.core.statistics.members import Members
from separatrix.core.statistics.spans import SpanCovariance, SpanScatter
from separatrix.core.wide import singular_directions
from separatrix.models.generative.span import FoldedRoot, SpanRoot, shared_root
from separatrix.models.generative.verified import Equations, LabelledRows


def span_scatter(rows: LabelledRows, group: np.ndarray) -> SpanScatter:
    """Scatters of complete rows, about means taken in two passes."""
    total = SpanScatter.zero(group, rows.rows.p)
    for cells, R in rows:
        hard = (R > 0).sum(axis=1).max(initial=0) <= 1
        codes = np.where(R.max(axis=1) > 0, R.argmax(axis=1), -1)
        members = (
            Members(R.shape[1], codes=codes, weight=R.max(axis=1)) if hard else Members(R.shape[1], soft=R)
        )
        total = total + SpanScatter.of(cells, members, group)
    return total


def span_axes(S: SpanCovariance, tol: float) -> tuple[FloatArray, Any, float]:
    """Unit of each column, T with TᵀST = I where S has spread, and the least eigenvalue in unit columns."""
    unit = np.sqrt(S.diagonal())
    unit = np.where(unit > tol * np.max(unit, initial=0.0) * EPS, unit, 1.0)
    if (S.spread > (tol * unit) ** 2).any():
        return unit, shared_root(S, unit, S.spread > 0, tol), float(np.min(S.spread / unit**2))
    s, vt = singular_directions(S.rows / unit, tol)
    return unit, vt.T / s / unit[:, None], 0.0


def span_equations(
    share: FloatArray,
    means: FloatArray,
    sigma: SpanCovariance,
    m: FloatArray,
    S: SpanCovariance,
    raw: SpanCovariance,
    tol: float,
) -> Equations:
    """`gaussian_equations` of covariances kept as rows; the residual is a bound on every entry's."""
    unit, T, least = span_axes(S, tol)
    slack = 100 * tol**2 if least < 10 * tol**2 else 0.0
    d = np.sign(means - m) * np.maximum(np.abs(means - m) - 8 * EPS * np.abs(m), 0.0)
    if not (np.isfinite(sigma.rows).all() and np.isfinite(d).all() and (sigma.spread >= 0).all()):
        return Equations(np.inf, np.inf, np.nan)
    ours, theirs = S.in_units(unit), sigma.in_units(unit)
    apart = np.max(np.abs(ours.spread - theirs.spread), initial=0.0) + _distance(ours.rows, theirs.rows)
    worst = max(max(apart - slack, 0.0), float(np.max(np.abs(d) / unit, initial=0.0)))
    d_white, loss, kl = d @ T, np.nan, np.zeros(len(d))
    if isinstance(T, (SpanRoot, FoldedRoot)):
        live = S.spread > 0
        whole = np.where(live, S.spread, 1.0)
        ratio = np.where(live, sigma.spread / whole, 1.0)
        if not (ratio > 0).all():
            return Equations(np.inf, np.inf, np.nan)
        # in columns divided by √d both are I and rows: the diagonals' own distance is the first term
        values = _pencil((S.rows / np.sqrt(whole))[:, live], (sigma.rows / np.sqrt(whole * ratio))[:, live])
        kl += np.sum(1 / ratio - 1 + np.log(ratio)) + np.sum(1 / values - 1 + np.log(values))
        kl += np.sum((d @ SpanRoot.of(sigma, live)) ** 2, axis=1)
        if not slack and live.all():
            loss = share.sum() * (len(S) * LOG_2PI + T.log_det) + np.sum((raw.rows @ T) ** 2)
            loss = 0.5 * float(loss)
    else:
        white = T.T @ (sigma.rows.T @ (sigma.rows @ T)) + (T.T * sigma.spread) @ T
        values, vectors = np.linalg.eigh((white + white.T) / 2)
        if not (values > 0).all() or not np.isfinite(d_white).all():
            return Equations(np.inf, np.inf, np.nan)
        kl += np.sum(1 / values - 1 + np.log(values)) + np.sum((d_white @ vectors) ** 2 / values, axis=1)
    return Equations(worst, 0.5 * float(share @ kl), loss)


def _distance(A: FloatArray, B: FloatArray) -> float:
    """No entry of AᵀA − BᵀB is larger: max_i Σ_k |λ_k| v_ik², by its eigenvectors v_k in the span of both."""
    Q, R = np.linalg.qr(np.vstack([A, B]).T)
    a, b = R[:, : len(A)], R[:, len(A) :]
    values, vectors = np.linalg.eigh(a @ a.T - b @ b.T)
    return float(np.max((Q @ vectors) ** 2 @ np.abs(values), initial=0.0))


def _pencil(A: FloatArray, B: FloatArray) -> FloatArray:
    """Eigenvalues of (I + AᵀA)⁻¹(I + BᵀB) in the span of both; they are one outside it."""
    from scipy.linalg import eigh

    R: FloatArray = np.asarray(np.linalg.qr(np.vstack([A, B]).T, mode="r"))
    a, b = R[:, : len(A)], R[:, len(A) :]
    one = np.eye(len(R))
    values = eigh(one + b @ b.T, one + a @ a.T, eigvals_only=True)
    return np.maximum(values, np.finfo(float).tiny)
