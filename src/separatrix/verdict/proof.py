"""Check a claim about separation from data alone; this file knows nothing of how the claim was found.

Rows x̃ = (x, 1), classes y. A matrix D (K, p+1) gives row i the margins  m_ik = (D_{y_i} − D_k)·x̃_i, k ≠ y_i.

    complete   some D has all m_ik > 0
    quasi      some D has all m_ik ≥ 0 and one > 0, and no D has all > 0: weights a ≥ 0, a ≠ 0 with
               Aᵀa = Σ_ik a_ik (e_{y_i} − e_k) x̃_iᵀ = 0   (Gordan: ⟨a, m⟩ = 0 for every D)
    overlap    weights a ≥ 0 as above whose rows reach every direction any row reaches (Stiemke)

Floating point: a margin is positive when it exceeds the rounding error of its own sum, or is found positive in
rational numbers; it is zero when it is no larger than that error. Weights whose combination
r = Aᵀa is only nearly zero count when exact ones lie beside them: δ with Aᵀδ = r and |δ| ≤ a/2. The shortest
has ‖δ/a‖ ≤ ‖r‖/σ, σ the least singular value of diag(a)A, so ‖r‖ plus its rounding must be below σ/2.
Reference: Albert and Anderson (1984). Cost: O(nK(p + K)), and O(mKp² + (pK)³) for m rows with weight.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, FloatArray

DENSE_FLOPS = 4e9  # singular values of diag(a)A itself up to this cost, of its Gram matrix beyond
RANK = 1e-13  # directions reached by less are rounding of the cells: there the combination itself must vanish
MAX_EXACT = 200_000  # cells multiplied in rational numbers


def margins(X: Any, codes: np.ndarray, direction: FloatArray, intercept: FloatArray) -> FloatArray:
    """m_ik (n, K) with +inf at k = y_i; direction (K, p), intercept (K,)."""
    result = np.empty((len(codes), len(direction)))
    for part in _slices(X):
        result[part] = np.asarray(_numbers(X[part]) @ direction.T) + intercept
    at = np.arange(len(codes))
    result = result[at, codes][:, None] - result
    result[at, codes] = np.inf
    return result


def margin_error(X: Any, codes: np.ndarray, direction: FloatArray, intercept: FloatArray) -> FloatArray:
    """A bound on the rounding error of each margin, (n, K): (terms + 4) EPS (Σ_j |x_ij|(|D_y| + |D_k|) + |b|)."""
    terms = X.shape[1] if isinstance(X, np.ndarray) else int(np.diff(X.indptr).max(initial=0))
    size = np.empty((len(codes), len(direction)))
    for part in _slices(X):
        size[part] = np.asarray(np.abs(_numbers(X[part])) @ np.abs(direction).T) + np.abs(intercept)
    size += size[np.arange(len(codes)), codes][:, None]
    return (terms + 4) * EPS * size


def _slices(X: Any) -> list[slice]:
    n, p = X.shape
    size = max(64, (1 << 20) // max(p, 1)) if isinstance(X, np.ndarray) else max(n, 1)
    return [slice(a, min(a + size, n)) for a in range(0, n, size)]


def _numbers(cells: Any) -> Any:
    return cells if cells.dtype == np.float64 else cells.astype(np.float64)


def check_direction(
    X: Any, codes: np.ndarray, direction: FloatArray, intercept: FloatArray, *, strict: bool
) -> bool:
    """All margins positive beyond rounding (strict), or none negative beyond it and one positive."""
    if direction.shape != (len(intercept), X.shape[1]) or len(codes) != X.shape[0]:
        return False
    if codes.max(initial=0) >= len(direction) or not (
        np.isfinite(direction).all() and np.isfinite(intercept).all()
    ):
        return False
    m = margins(X, codes, direction, intercept)
    error = margin_error(X, codes, direction, intercept)
    rival = np.isfinite(m)
    if strict:
        doubt = rival & (m <= error)
        return bool((m > -error)[rival].all()) and _positive_exactly(X, codes, direction, intercept, doubt)
    nearly = 2 * error.max(axis=1, keepdims=True)  # what rounding D itself would change in this row
    return bool((m >= -nearly)[rival].all() and (m > 2 * nearly)[rival].any())


def _positive_exactly(
    X: Any, codes: np.ndarray, direction: FloatArray, intercept: FloatArray, doubt: np.ndarray
) -> bool:
    """The margins in doubt, in rational numbers: cells and weights are the exact numbers they are stored as."""
    rows, rivals = np.nonzero(doubt)
    if len(rows) * X.shape[1] > MAX_EXACT:
        return False
    for i, k in zip(rows, rivals, strict=True):
        y = int(codes[i])
        cells = X[i] if isinstance(X, np.ndarray) else X[[i]].toarray()[0]
        total = Fraction(float(intercept[y])) - Fraction(float(intercept[k]))
        for j in np.flatnonzero(cells):
            turn = Fraction(float(direction[y, j])) - Fraction(float(direction[k, j]))
            total += Fraction(float(cells[j])) * turn
        if total <= 0:
            return False
    return True


def check_weights(
    X: Any, codes: np.ndarray, weights: FloatArray, *, fit_intercept: bool, spanning: bool
) -> bool:
    """Weights (n, K) ≥ 0, not all zero, whose signed combination vanishes; ``spanning``: and reach everything."""
    n_classes = weights.shape[1]
    if weights.shape[0] != X.shape[0] or len(codes) != X.shape[0] or codes.max(initial=0) >= n_classes:
        return False
    if not (weights >= 0).all() or not np.isfinite(weights).all() or not weights.any():
        return False
    if weights[np.arange(len(codes)), codes].any():
        return False
    carrying = np.flatnonzero(weights.any(axis=1))
    own = _Axes(X, carrying, fit_intercept)
    z = own.turned()
    length = np.linalg.norm(z, axis=1, keepdims=True)
    length[length == 0] = 1.0
    z, a = z / length, weights[carrying] * length
    reached = _vanishes(z, codes[carrying], a / a.max())
    if reached is None:
        return False
    return not spanning or (reached == (n_classes - 1) * z.shape[1] and own.span_all(X))


def combination(X: Any, codes: np.ndarray, weights: FloatArray, *, fit_intercept: bool) -> float:
    """The largest entry of Aᵀa against the sum of its terms' sizes, in centred and scaled columns."""
    carrying = np.flatnonzero(weights.any(axis=1))
    axes = _Axes(X, carrying, fit_intercept)
    a, y = weights[carrying], codes[carrying]
    signed = -a
    signed[np.arange(len(a)), y] = a.sum(axis=1)
    terms = float((np.abs(signed).T @ np.abs(axes.standard)).max(initial=0.0))
    return float(np.abs(signed.T @ axes.standard).max(initial=0.0)) / max(terms, 1e-300)


def _vanishes(z: FloatArray, codes: np.ndarray, a: FloatArray) -> int | None:
    """The dimension the weighted pairs reach if exact weights lie beside a; None if that is not proven."""
    m, k, q = len(z), a.shape[1], z.shape[1]
    if q == 0:
        return 0
    signed = -a
    signed[np.arange(m), codes] = a.sum(axis=1)
    r = signed.T @ z
    rounding = 4 * EPS * np.sqrt(m) * np.linalg.norm(np.abs(signed).T @ np.abs(z))
    pairs = int(np.count_nonzero(a))
    if pairs * ((k - 1) * q) ** 2 <= DENSE_FLOPS:
        values, vectors = _singular(z, codes, a)
        keep = values > RANK * max(float(values.max(initial=0.0)), 1e-300)
    else:
        squares, vectors = np.linalg.eigh(_gram(z, codes, a))
        values = np.sqrt(np.maximum(squares, 0.0))
        keep = values > 1e-6 * values.max(initial=0.0)
    if not keep.any():  # rows that are zero: every combination of them vanishes
        return 0 if np.linalg.norm(r) <= rounding else None
    inside = r[:-1].ravel() @ vectors[:, keep]
    outside = r[:-1].ravel() - vectors[:, keep] @ inside
    if np.linalg.norm(outside) > 8 * rounding:
        return None
    # δ/a is at most ‖inside/values‖ long, and rounding adds at most its own size over the least value
    if not np.linalg.norm(inside / values[keep]) + rounding / values[keep].min() <= 0.5:
        return None
    return int(np.count_nonzero(keep))


def _singular(z: FloatArray, codes: np.ndarray, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Singular values of diag(a)A in the first K − 1 classes (the last is the reference), and right vectors."""
    rows, rivals = np.nonzero(a)
    k = a.shape[1]
    turn = np.zeros((len(rows), k))
    turn[np.arange(len(rows)), codes[rows]] += 1.0
    turn[np.arange(len(rows)), rivals] -= 1.0
    turn *= a[rows, rivals][:, None]
    system: Any = (turn[:, : k - 1, None] * z[rows][:, None, :]).reshape(len(rows), -1)
    if len(rows) > system.shape[1]:
        system = np.linalg.qr(system, mode="r")
    _, values, vectors = np.linalg.svd(system, full_matrices=False)
    return values, vectors.T


def _gram(z: FloatArray, codes: np.ndarray, a: FloatArray) -> FloatArray:
    """Aᵀ diag(a²) A in the first K − 1 classes: a Laplacian whose edges are matrices Σ a² z zᵀ."""
    k, q = a.shape[1], z.shape[1]
    total = np.zeros((k, q, k, q))
    for j in range(k):
        own = codes == j
        for other in range(k):
            rows = own & (a[:, other] > 0)
            if rows.any():
                scaled = z[rows] * a[rows, other][:, None]
                g = scaled.T @ scaled
                total[j, :, j] += g
                total[other, :, other] += g
                total[j, :, other] -= g
                total[other, :, j] -= g
    return total[:-1, :, :-1].reshape((k - 1) * q, (k - 1) * q)


class _Axes:
    """The carrying rows in their own units: ``standard`` (m, p'), then along their singular directions, (m, q)."""

    def __init__(self, X: Any, carrying: np.ndarray, fit_intercept: bool):
        rows = X[carrying]
        self.fit_intercept = fit_intercept
        # of a sparse table only the columns in which a carrying row has an entry: the others are zero there
        self.columns = None if isinstance(X, np.ndarray) else np.unique(rows.indices)
        cells = self._cells(rows)
        size = np.abs(cells).max(axis=0, initial=0.0)
        self.centre = cells.mean(axis=0) if fit_intercept else np.zeros(cells.shape[1])
        self.spread = np.sqrt(np.mean((cells - self.centre) ** 2, axis=0))
        self.live = self.spread > 8 * EPS * size
        q = int(np.count_nonzero(self.live))
        noise = float(np.max(size[self.live] / self.spread[self.live], initial=0.0)) if fit_intercept else 1.0
        self.noise = 8 * EPS * max(float(q), noise)
        self.standard = self._standard(cells)

    def turned(self) -> FloatArray:
        """The rows along their singular directions, each as long as any other."""
        m, q = self.standard.shape
        if m > 4 * q > 400:  # where the Gram matrix holds them it takes a fraction of the time
            squares, columns = np.linalg.eigh(self.standard.T @ self.standard)
            if squares[0] > 1e-8 * squares[-1]:
                self.vectors = columns.T
                return self.standard @ (columns * np.sqrt(m / squares))
        u, values, vectors = np.linalg.svd(self.standard, full_matrices=False)
        keep = values > self.noise * max(float(values.max(initial=0.0)), 1e-300)
        self.vectors = vectors[keep]
        return u[:, keep] * np.sqrt(m)

    def _cells(self, rows: Any) -> FloatArray:
        dense = rows if self.columns is None else rows[:, self.columns].toarray()
        return np.asarray(dense, dtype=np.float64)

    def _standard(self, cells: FloatArray) -> FloatArray:
        """Centred and scaled, with a column of ones: the same cone in numbers that compare."""
        z = (cells[:, self.live] - self.centre[self.live]) / self.spread[self.live]
        return np.column_stack([z, np.ones(len(z))]) if self.fit_intercept else z

    def span_all(self, X: Any) -> bool:
        """Whether every row lies in the span of the carrying ones."""
        if self.columns is not None:
            elsewhere = np.ones(X.shape[1], dtype=bool)
            elsewhere[self.columns] = False
            if (X.data[elsewhere[X.indices]] != 0).any():
                return False
        size = max(64, (1 << 20) // max(X.shape[1], 1))
        for a in range(0, X.shape[0], size):
            cells = self._cells(X[a : a + size])
            still = np.abs(cells - self.centre)[:, ~self.live]
            if (still > 64 * EPS * np.abs(self.centre[~self.live])).any():
                return False
            if len(self.vectors) == self.standard.shape[1]:
                continue
            z = self._standard(cells)
            left = np.linalg.norm(z - (z @ self.vectors.T) @ self.vectors, axis=1)
            if (left > max(1e-9, 16 * self.noise) * np.linalg.norm(z, axis=1)).any():
                return False
        return True
