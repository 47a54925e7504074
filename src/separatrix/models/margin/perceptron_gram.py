"""The Gram matrix of a kernel perceptron: rows of kernel values as they are asked for, and proofs made of them.

    nothing separates the rows  ⟸  u = a·y,  a ≥ 0,  Σ a = 1,  uᵀ(K + 1)u = 0       (the hulls of the classes meet)

Notes [6321] "Perceptrons". Row M3. Cost: O(n) kernel values a row; proofs factorise the matrix, of up to 500 rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.solve.separator import Contradiction, maximum_margin

EXACT_ROWS = 500  # rows up to which the Gram matrix is factorised for the verdict


@dataclass(frozen=True, eq=False)
class GramContradiction(Contradiction):
    """u_i = a_i y_i with uᵀ(K + 1)u = 0, a ≥ 0, Σ a_i = 1: in the kernel's space the hulls of the classes meet.

    ``residual`` is √(uᵀ(K + 1)u / Σ a_i (k_ii + 1)), about 1e-8 where kernel values are rounded to 1e-16: no margin
    is larger than that against R.
    """

    def check(self, X: Any, sign: np.ndarray) -> bool:
        """Whether the proof holds for the Gram matrix X (n, n) of the rows and their signs ±1."""
        return _cancels(np.asarray(X, dtype=float), self.weights, sign, self.fit_intercept)[1]

    def sentence(self) -> str:
        rows = int(np.count_nonzero(self.weights))
        return (
            f"nothing separates the classes in the kernel's space (proof: {rows} rows with convex weights cancel, "
            f"residual {self.residual:.0e})"
        )


def _cancels(K: FloatArray, a: FloatArray, sign: np.ndarray, fit_intercept: bool) -> tuple[float, bool]:
    """(the residual of :class:`GramContradiction`, whether it is no more than rounding)."""
    rows = np.flatnonzero(a)
    u, part = a[rows] * sign[rows], K[np.ix_(rows, rows)] + float(fit_intercept)
    square = float(u @ (part @ u))
    size = float(np.abs(u) @ (np.abs(part) @ np.abs(u)))
    reach = float(a[rows] @ np.diag(part))
    good = bool((a >= 0).all() and a.any()) and abs(square) <= 64 * EPS * size
    return float(np.sqrt(max(square, 0.0) / max(reach, 1e-300))), good


class GramRows:
    """Rows of kernel values: all at once where they fit the cache, else when first asked for."""

    def __init__(
        self,
        kernel: Callable[[Any, Any], FloatArray] | None,
        X: Any,
        rows: np.ndarray,
        megabytes: float,
    ):
        """``kernel`` None: X is the Gram matrix. ``rows`` are those of some weight."""
        self.kernel, self.X, self.rows = kernel, X, rows
        n = X.shape[0]
        self.room = int(megabytes * 2**20 / (8 * max(n, 1)))
        self.kept: dict[int, FloatArray] = {}
        self.full: FloatArray | None = None
        self.indefinite = False
        if kernel is None:
            self.full = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
        elif n <= self.room:
            self.full = kernel(X, X)

    def row(self, i: int) -> FloatArray:
        """k(x_i, ·), (n,)."""
        if self.full is not None:
            return self.full[i]
        found = self.kept.get(i)
        if found is None:
            assert self.kernel is not None
            found = self.kernel(self.X[i : i + 1], self.X)[0]
            if len(self.kept) < self.room:
                self.kept[i] = found
        return found

    @cached_property
    def diagonal(self) -> FloatArray:
        if self.full is not None:
            return np.diag(self.full).copy()
        assert self.kernel is not None
        parts = [self.X[i : i + 256] for i in range(0, self.X.shape[0], 256)]
        return np.concatenate([np.diag(self.kernel(part, part)) for part in parts])

    @cached_property
    def features(self) -> FloatArray | None:
        """φ (m, r) with φφᵀ the Gram matrix of the present rows, None where they are many or it has none."""
        if self.full is None or len(self.rows) > EXACT_ROWS:
            return None
        K = self.full[np.ix_(self.rows, self.rows)]
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        top = float(np.abs(values).max(initial=0.0))
        if values.min(initial=0.0) < -1e-9 * top:
            self.indefinite = True
            return None
        keep = values > 1e-13 * len(K) * top
        return vectors[:, keep] * np.sqrt(values[keep])

    def settled(self, sign: np.ndarray, fit_intercept: bool) -> Contradiction | bool | None:
        """A proof that nothing separates the present rows; False: something does; None: not known.

        The candidate is the hulls' nearest point among the features; kernel values themselves decide.
        """
        if self.features is None or self.full is None:
            return None
        ones = np.full(len(sign), float(fit_intercept))
        a = maximum_margin(sign[:, None] * np.column_stack([self.features, ones])).weights
        K = self.full[np.ix_(self.rows, self.rows)] + float(fit_intercept)
        terms = K * (a * sign)
        if (sign * terms.sum(axis=1) > 4 * len(a) * EPS * np.abs(terms).sum(axis=1)).all():
            return False
        return self.contradiction(a, sign, fit_intercept)

    def contradiction(self, a: FloatArray, sign: np.ndarray, fit_intercept: bool) -> Contradiction | None:
        """The proof these weights of the present rows make, None where they do not."""
        assert self.full is not None
        a = a / max(float(a.sum()), 1e-300)
        residual, good = _cancels(self.full[np.ix_(self.rows, self.rows)], a, sign, fit_intercept)
        if not good or self.indefinite:
            return None
        weights = np.zeros(self.full.shape[0])
        weights[self.rows] = a
        return GramContradiction(weights, residual, fit_intercept)


def refuse_gram(X: Any) -> None:
    """A Gram matrix is square and symmetric."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f'kernel="precomputed" reads the square matrix of kernel values of the rows, got shape {X.shape}'
        )
    K = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    off = np.abs(K - K.T)
    if off.max() > 1e-8 * np.abs(K).max():
        i, j = (int(v) for v in np.unravel_index(int(off.argmax()), off.shape))
        raise ValueError(
            f"the precomputed kernel is not symmetric: {K[i, j]} at ({i}, {j}), {K[j, i]} at ({j}, {i})"
        )
