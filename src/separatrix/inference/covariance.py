"""Covariances of estimates:  the model's φ I⁻¹, and those that hold where the model's variance does not.

    HC0      A⁻¹ (Σ_i s_i u_i² z_i z_iᵀ) A⁻¹                 A = Σ s w z zᵀ,  u_i = ℓ'(η_i)
    HC1      HC0 · n/(n − k)
    HC2      u_i² / (1 − h_i)          HC3      u_i² / (1 − h_i)²
    cluster  A⁻¹ (Σ_g (Σ_{i in g} s_i u_i z_i)(…)ᵀ) A⁻¹ · G/(G−1) · (n−1)/(n−k)

White (1980), MacKinnon and White (1985), Liang and Zeger (1986); R's sandwich and statsmodels have the same. A
frequency is that many rows with one score each; a precision is part of the score. Cost: two or three sweeps, O(nq²).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.numerics import FloatArray
from separatrix.inference.likelihood import Likelihood
from separatrix.problems.influence import cluster_scores, score_products

KINDS = ("model", "HC0", "HC1", "HC2", "HC3", "cluster")


def check_kind(kind: str, groups: ArrayLike | None) -> None:
    """Refuse what cannot be meant, before any sweep."""
    if kind not in KINDS:
        raise ValueError(f"covariance {kind!r} is unknown: use one of {', '.join(KINDS)}")
    if kind == "cluster" and groups is None:
        raise ValueError('covariance="cluster" needs groups=: the cluster of each row')
    if kind != "cluster" and groups is not None:
        raise ValueError(f'groups= is for covariance="cluster", and {kind!r} was asked for')


def covariance_matrix(fit: Likelihood, kind: str = "model", groups: ArrayLike | None = None) -> FloatArray:
    """The covariance of β̂ of the given kind: (k, k), rows as ``fit.names``."""
    check_kind(kind, groups)
    if kind == "model":
        return fit.model_covariance
    return fit.covariance_of(inner_covariance(fit, kind, groups))


def inner_covariance(fit: Likelihood, kind: str, groups: ArrayLike | None = None) -> FloatArray:
    """The same in the inner coordinates."""
    check_kind(kind, groups)
    if kind == "model":
        return fit.inner_covariance
    n, k = fit.seen.count, fit.rank
    bread = fit.root @ fit.root.T / fit.weight
    if kind == "cluster":
        codes, count = _groups(groups, len(fit.seen.y), fit.seen.weight)
        sums = cluster_scores(fit.objective, fit.slopes, fit.seen.frequency, codes, count)
        correction = count / (count - 1.0) * (n - 1.0) / (n - k) if n > k else np.nan
        return correction * (bread @ (sums.T @ sums) @ bread)
    u = fit.slopes
    if kind in ("HC2", "HC3"):
        if fit.objective.n_classes is not None:
            raise ValueError(
                f"{kind} divides by 1 − leverage, which K classes have no single one of: use HC0 or HC1"
            )
        room = np.maximum(1.0 - fit.leverage, 0.0)
        if fit.seen.weight is not None:
            room = np.where(fit.seen.weight > 0, room, 1.0)
        if (room < 1e-10).any():
            i = int(np.argmin(room))
            raise ValueError(
                f"{kind} divides by 1 − leverage, and row {i} has leverage 1: it alone determines a coefficient; "
                "use HC0 or HC1"
            )
        u = u / (np.sqrt(room) if kind == "HC2" else room)
    meat = score_products(fit.objective, u, fit.seen.frequency)
    factor = 1.0
    if kind == "HC1":
        factor = n / (n - k) if n > k else np.nan
    return factor * (bread @ meat @ bread)


def _groups(groups: ArrayLike | None, n: int, weight: FloatArray | None) -> tuple[np.ndarray, int]:
    values = np.asarray(groups)
    if values.shape != (n,):
        raise ValueError(f"groups must have one entry a row, {n} in all, got shape {values.shape}")
    missing = values != values if values.dtype.kind == "f" else np.array([v is None for v in values.tolist()])
    if missing.any():
        raise ValueError(
            f"groups has no value in row {int(np.flatnonzero(missing)[0])}: every row needs a cluster"
        )
    present = np.ones(n, dtype=bool) if weight is None else weight > 0
    labels, codes = np.unique(values[present], return_inverse=True)
    if len(labels) < 2:
        raise ValueError("groups holds a single cluster: a cluster covariance needs at least 2, better 40")
    full = np.zeros(n, dtype=np.intp)
    full[present] = codes
    return full, len(labels)
