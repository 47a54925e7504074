"""The separating direction with the fewest columns (in the ℓ₁ sense), so that the culprits can be named.

    min Σ_jk σ_j |D_kj|   subject to   margins ≥ 1 on the separated pairs,  = 0 on the flat ones

A single leaking column then stands alone, whatever the other columns are. Cost: a linear program of a few
hundred pairs, grown by the pairs it breaks; given up (None) where that would be large.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.verdict.facial import FLAT, Face, Pairs, solve_program

MAX_VARIABLES = 4000
MAX_CELLS = 2_000_000
ROUNDS = 12


def sparsest_direction(pairs: Pairs, face: Face) -> tuple[FloatArray, FloatArray] | None:
    """(K, p) and (K,) in the user's units, or None when the program would be too large or does not settle."""
    assert face.direction is not None
    k, p = pairs.n_classes, pairs.rows.p
    heads = 1 if k == 2 else k  # two classes: one vector, the other is its negative
    if 2 * p * heads > MAX_VARIABLES:
        return None
    alone = _one_column(pairs) if k == 2 and len(face.flat) == 0 else None
    if alone is not None:
        return alone
    relative = pairs.margins(face.direction)
    flat = np.zeros(pairs.count, dtype=bool)
    flat[face.flat] = True
    live = pairs.lengths > 0
    positive = np.flatnonzero(~flat & live)
    fixed = _independent(pairs, face.flat[live[face.flat]])
    active = positive[np.argsort(relative[positive])[:400]]
    columns = _Columns(pairs, heads)
    equal = columns.matrix(fixed) if len(fixed) else None
    cost, best = columns.cost, None
    for _ in range(ROUNDS):
        a = columns.matrix(active)
        if a.size > MAX_CELLS:
            return best
        try:
            x, _, _ = solve_program(cost, -a, -np.ones(len(active)), columns.bounds, equal)
        except ArithmeticError:
            return best
        coef, intercept, margins = columns.direction(x)
        broken = positive[margins[positive] < 0.5]
        if len(broken) == 0:
            if not (np.abs(margins[face.flat]) <= 1e-6).all():
                return best
            fewer = best is None or np.count_nonzero(coef) < np.count_nonzero(best[0])
            if not fewer:
                return best
            best = (coef, intercept)
            cost = columns.reweighted(x)
            continue
        worst = broken[np.argsort(margins[broken])[:1000]]
        active = np.union1d(active, worst)
    return best


def _one_column(pairs: Pairs) -> tuple[FloatArray, FloatArray] | None:
    """A single column that separates two classes by itself, with the widest gap for its spread."""
    X, y, scale = pairs.rows.source, pairs.rows.y, pairs.coordinates.scale
    if not isinstance(X, np.ndarray) or not pairs.fit_intercept:
        return None
    low, high = X[y == 0].astype(np.float64), X[y == 1].astype(np.float64)
    up, down = high.min(axis=0) - low.max(axis=0), low.min(axis=0) - high.max(axis=0)
    gap = np.maximum(up, down) * scale
    j = int(np.argmax(gap))
    if not gap[j] > 0:
        return None
    sign = 1.0 if up[j] > 0 else -1.0
    middle = (
        (high[:, j].min() + low[:, j].max()) / 2 if sign > 0 else (low[:, j].min() + high[:, j].max()) / 2
    )
    w = np.zeros(X.shape[1])
    w[j] = sign * 2.0 / max(abs(up[j]) if sign > 0 else abs(down[j]), 1e-300)
    b = -w[j] * middle
    return np.vstack([-w / 2, w / 2]), np.array([-b / 2, b / 2])


class _Columns:
    """The program's variables: positive and negative parts of standardised weights, then free intercepts."""

    def __init__(self, pairs: Pairs, heads: int):
        self.pairs, self.heads = pairs, heads
        c = pairs.coordinates
        self.centre, self.scale = c.centre, c.scale
        p, b = len(c.scale), int(pairs.fit_intercept)
        self.cost = np.concatenate([np.ones(2 * p * heads), np.zeros(b * heads)])
        self.bounds = [(0.0, None)] * (2 * p * heads) + [(None, None)] * (b * heads)

    def reweighted(self, x: FloatArray) -> FloatArray:
        """Costs that make small weights dear: repeated, they leave only the columns that are needed."""
        p = len(self.scale) * self.heads
        size = x[:p] + x[p : 2 * p]
        dear = 1.0 / (size + 1e-3 * size.max())
        dear /= dear.min()
        return np.concatenate([dear, dear, self.cost[2 * p :]])

    def rows(self, pick: np.ndarray) -> FloatArray:
        cells = self.pairs.rows.source[pick]
        cells = cells if isinstance(cells, np.ndarray) else cells.toarray()
        return np.subtract(cells, self.centre, dtype=np.float64) * self.scale

    def matrix(self, index: np.ndarray) -> FloatArray:
        """Margins of the given pairs as a linear map of the variables."""
        i, r = np.divmod(index, self.pairs.n_classes - 1)
        y = self.pairs.rows.y[i]
        turn = np.zeros((len(index), self.pairs.n_classes))
        turn[np.arange(len(index)), y] += 1.0
        turn[np.arange(len(index)), self.pairs.rivals[y, r]] -= 1.0
        if self.heads == 1:
            turn = turn[:, 1:]
        z = self.rows(i)
        weights = (turn[:, :, None] * z[:, None, :]).reshape(len(index), -1)
        parts = [weights, -weights]
        if self.pairs.fit_intercept:
            parts.append(turn)
        return np.hstack(parts)

    def direction(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(K, p), (K,) in the user's units and the margins of all pairs, weights at rounding level cut to zero."""
        p, heads, k = len(self.scale), self.heads, self.pairs.n_classes
        v = (x[: p * heads] - x[p * heads : 2 * p * heads]).reshape(heads, p)
        v[np.abs(v) < 1e-7 * np.abs(v).max(initial=0.0)] = 0.0
        b = x[2 * p * heads :] if self.pairs.fit_intercept else np.zeros(heads)
        if heads == 1:
            v, b = np.vstack([-v / 2, v / 2]), np.array([-b[0] / 2, b[0] / 2])
        margins = np.empty((self.pairs.rows.n, k - 1))
        for a in range(0, self.pairs.rows.n, 4096):
            pick = np.arange(a, min(a + 4096, self.pairs.rows.n))
            scores = self.rows(pick) @ v.T + b
            y = self.pairs.rows.y[pick]
            own = scores[np.arange(len(y)), y]
            margins[pick] = own[:, None] - np.take_along_axis(scores, self.pairs.rivals[y], axis=1)
        coef = v * self.scale
        return coef, b - coef @ self.centre, margins.ravel()


def _independent(pairs: Pairs, flat: np.ndarray) -> np.ndarray:
    """A few flat pairs that span all of them: equality on these is equality on the rest."""
    from scipy.linalg import qr

    if len(flat) == 0:
        return flat
    kept = np.empty(0, dtype=np.intp)
    for a in range(0, len(flat), 2000):
        pool = np.concatenate([kept, flat[a : a + 2000]])
        m = pairs.matrix(pool)
        _, r, pivot = qr(m.T, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(r))
        kept = pool[pivot[: int(np.sum(diagonal > FLAT * max(diagonal[0], 1e-300)))]]
    return kept
