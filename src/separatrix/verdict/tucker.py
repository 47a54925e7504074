"""Tucker's alternative by an interior point: which margins can be positive, and weights for those that cannot.

For rows A_(i,k) = (e_{y_i} − e_k) ⊗ z_i, one for each row i and rival class k, some V (K, q) and a ≥ 0 have

    s = A V ≥ 0,      Aᵀ a = 0,      s + a > 0                                            (Tucker 1956)

so each pair is either positive under V or carries weight, never both. Both halves are found at once on the
path s∘a = μ, A V − s = −μ·1, Aᵀa = μ Aᵀ1 from s = a = 1, V = 0: Σ(s + a) = N(1 + μ) there, so that the limit
is not zero, and it has the largest support (Goldman and Tucker). Mehrotra's steps, one length for all:

    (Aᵀ diag(a/s) A) dV = …      D = (K−1) q unknowns (the last class is the reference, V_K = 0)

Cost of a step: O(nKq²) for the matrix, whose K² blocks are a Laplacian in the classes, and O(D³) to factor it;
10 to 20 steps whatever the data. Shapes: z (m, q) sorted by class, s, a and mask (m, K).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.core.numerics import FloatArray

MAX_STEPS = 80
CLEAR = 1e-8  # a margin above this share of |V| needs no further step
END = 1e-14
SMALL = 3e8  # pairs × D² up to which steps may be taken the careful way
BACK_OFF = 0.99


Solver = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Cone:
    """The pairs of rows z on ``mask``, rows sorted by class and each cut to unit length (zero rows stay)."""

    z: FloatArray
    length: FloatArray  # (m, 1), what z was divided by
    y: np.ndarray
    n_classes: int
    mask: np.ndarray

    @classmethod
    def of(cls, z: FloatArray, y: np.ndarray, n_classes: int, mask: np.ndarray | None = None) -> Cone:
        length = np.linalg.norm(z, axis=1, keepdims=True)
        length[length == 0] = 1.0
        return cls(z / length, length, y, n_classes, rival_mask(y, n_classes) if mask is None else mask)

    @cached_property
    def edges(self) -> np.ndarray:
        return np.searchsorted(self.y, np.arange(self.n_classes + 1))

    @property
    def q(self) -> int:
        return int(self.z.shape[1])

    def margins(self, v: FloatArray) -> FloatArray:
        """A V: (m, K), zero off the mask."""
        scores = self.z @ v.T
        margins = scores[np.arange(len(scores)), self.y][:, None] - scores
        margins *= self.mask
        return margins

    def pull(self, a: FloatArray) -> FloatArray:
        """Aᵀ a: (K, q); a is zero off the mask."""
        signed = -a
        signed[np.arange(len(a)), self.y] = a.sum(axis=1)
        return signed.T @ self.z

    def gram(self, w: FloatArray) -> FloatArray:
        """Aᵀ diag(w) A without the reference class: (D, D); w is zero off the mask."""
        k, q = self.n_classes, self.q
        total = np.zeros((k, q, k, q))
        for j in range(k):
            part = slice(self.edges[j], self.edges[j + 1])
            z, root = self.z[part], np.sqrt(w[part])
            for r in range(k):
                if r == j or not root[:, r].any():
                    continue
                scaled = z * root[:, r, None]
                g = scaled.T @ scaled  # NumPy sees SᵀS and does half the work
                total[j, :, j] += g
                total[r, :, r] += g
                total[j, :, r] -= g
                total[r, :, j] -= g
        return total[: k - 1, :, : k - 1].reshape((k - 1) * q, (k - 1) * q)

    @property
    def small(self) -> bool:
        """Whether the careful way, by a dense A, costs next to nothing."""
        return int(self.mask.sum()) * ((self.n_classes - 1) * self.q) ** 2 <= SMALL

    def solver(self, w: FloatArray, *, careful: bool = False, ridge: float = 0.0) -> Solver:
        """h (m, K) ↦ V with Aᵀ diag(w) A V = Aᵀh; a ridge, against the largest entry, keeps V short.

        ``careful`` takes an orthogonal factor of diag(√w)A, heavy rows first, which holds weights of any range;
        the Gram matrix squares them.
        """
        if careful:
            return self._careful(w)
        gram = self.gram(w)
        gram[np.diag_indices(len(gram))] += ridge * gram.max(initial=0.0)
        factor = _cholesky(gram)

        def solve(h: FloatArray) -> FloatArray:
            return self._with_reference(factor(self.pull(h)[:-1].ravel()))

        return solve

    def _careful(self, w: FloatArray) -> Solver:
        from scipy.linalg import qr, solve_triangular

        rows, rivals = np.nonzero(w)
        order = np.argsort(-w[rows, rivals], kind="stable")
        rows, rivals = rows[order], rivals[order]
        root = np.sqrt(w[rows, rivals])
        turn = np.eye(self.n_classes)[self.y[rows]] - np.eye(self.n_classes)[rivals]
        a = (turn[:, :-1, None] * self.z[rows][:, None, :]).reshape(len(rows), -1)
        q, r, pivot = qr(root[:, None] * a, mode="economic", pivoting=True)
        size = np.abs(np.diag(r))
        rank = int(np.count_nonzero(size > 1e-13 * size.max(initial=0.0)))

        def solve(h: FloatArray) -> FloatArray:
            x = np.zeros(a.shape[1])
            along = q[:, :rank].T @ (h[rows, rivals] / root)
            x[pivot[:rank]] = solve_triangular(r[:rank, :rank], along)
            return self._with_reference(x)

        return solve

    def _with_reference(self, x: FloatArray) -> FloatArray:
        return np.vstack([x.reshape(self.n_classes - 1, self.q), np.zeros((1, self.q))])


@dataclass(frozen=True)
class Alternative:
    """V, the weights a (m, K) and the pairs (m, K) that carry weight: on the others V is positive."""

    direction: FloatArray
    weights: FloatArray
    flat: np.ndarray


def rival_mask(y: np.ndarray, n_classes: int) -> np.ndarray:
    """(m, K), true except at each row's own class."""
    mask = np.ones((len(y), n_classes), dtype=bool)
    mask[np.arange(len(y)), y] = False
    return mask


def alternative(cone: Cone) -> Alternative:
    """Follow the path to its end, or until every margin is clearly positive."""
    mask = cone.mask
    count = int(mask.sum())
    v = np.zeros((cone.n_classes, cone.q))
    reached = np.zeros(mask.shape)  # A V
    s, a = np.ones(mask.shape), mask.astype(float)
    if not cone.z.any():  # nothing to choose: every pair is flat
        return Alternative(v, a, mask)
    stalled = 0
    for _ in range(MAX_STEPS):
        mu = float(np.sum(a * s)) / count
        least = float(reached.min(where=mask, initial=np.inf))
        if least > CLEAR * float(np.linalg.norm(v)):
            return Alternative(v, np.zeros(mask.shape), np.zeros(mask.shape, dtype=bool))
        if mu < END or stalled > 3:
            break
        dv, moved, ds, da = _step(cone, reached, s, a, mu)
        length = BACK_OFF * min(_reach(s, ds), _reach(a, da))
        stalled = stalled + 1 if length < 0.05 else 0
        new_s, new_a = s + length * ds, a + length * da
        drift = float(np.sum(new_s + new_a, where=mask)) / count - 1.0 - float(np.sum(new_a * new_s)) / count
        if not abs(drift) < 0.03:
            break  # off the path, where the sum is N(1 + μ): the rest would be rounding
        v, reached, s, a = v + length * dv, reached + length * moved, new_s, new_a
    return Alternative(v, a, mask & (a > s))


def magnified(cone: Cone, v: FloatArray) -> Alternative:
    """The alternative again, in coordinates that measure rows by how near V passes them.

    Where classes reach into each other by ε of their spread, V is −ε on the rows that do, and the weights of the
    others are of size ε: in the old coordinates the two halves would part only when μ < ε².
    """
    near = np.where(cone.mask, np.abs(cone.margins(v)), np.inf).min(axis=1) / float(np.linalg.norm(v))
    _, values, vectors = np.linalg.svd(cone.z / np.maximum(near, 1e-14)[:, None], full_matrices=False)
    keep = values > 1e-15 * values[0]
    turn = vectors[keep].T / values[keep]
    other = Cone.of(cone.z @ turn, cone.y, cone.n_classes, cone.mask)
    found = alternative(other)
    return Alternative(found.direction @ turn.T, found.weights / other.length, found.flat)


def _step(
    cone: Cone, reached: FloatArray, s: FloatArray, a: FloatArray, mu: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Mehrotra's predictor and corrector: (dV, A dV, ds, da).

    With γ = 0 for the predictor:  A dV − ds = −(1−γ)(AV − s),  Aᵀda = −(1−γ)Aᵀa,  s da + a ds = γμ − sa − bend.
    """
    mask = cone.mask
    short = (reached - s) * mask
    solve = cone.solver(np.divide(a, s, out=np.zeros_like(a), where=mask))

    def direction(
        gamma: float, bend: FloatArray | float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        target = gamma * mu - a * s - bend
        toward = (gamma - 1.0) * short
        dv = solve((target + a * toward) / s * mask + (1.0 - gamma) * a)
        moved = cone.margins(dv)
        ds = moved - toward
        return dv, moved, ds, (target - a * ds) / s * mask

    _, _, ds, da = direction(0.0, 0.0)
    reach = min(_reach(s, ds), _reach(a, da))
    gamma = max((1.0 - reach) ** 3 if reach > 0.1 else 1.0 - reach, 1e-6)
    return direction(gamma, ds * da)


def _reach(x: FloatArray, dx: FloatArray) -> float:
    """The largest step ≤ 1 that keeps x ≥ 0."""
    negative = dx < 0
    return min(1.0, float(np.min(x[negative] / -dx[negative], initial=1.0)))


def _cholesky(matrix: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Solve with a symmetric matrix scaled to a unit diagonal; as little as needed is added to it."""
    from scipy.linalg import lapack

    diagonal = np.diag(matrix)
    scale = np.where(diagonal > 0, 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0)), 0.0)
    scaled = scale[:, None] * matrix * scale
    added = 1e-15
    while True:
        regular = scaled.copy()
        regular[np.diag_indices(len(scaled))] += added + (diagonal <= 0)
        factor, info = lapack.dpotrf(regular.T, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return lambda g: scale * lapack.dpotrs(factor, scale * g, lower=1)[0]
        added *= 100.0
