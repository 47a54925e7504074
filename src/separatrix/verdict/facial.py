"""Separation decided exactly: a small likelihood fit for overlap, linear programs for the rest.

Signed pairs: A_(i,k) = z_i ⊗ (Q_{y_i} − Q_k), one for each row and rival class, so that a direction v has
margins Av. Rows that can never be strictly on their side are found face by face:

    1. a maximum-likelihood fit on a few rows that has a minimum proves overlap: its probabilities of the
       rival classes are the weights (Stiemke), and any subset of rows that spans is proof for all of them;
    2. else  max Σ_i t_i,  A v ≥ t,  0 ≤ t ≤ 1  over the hardest pairs, violated pairs added until none is left:
       v ≠ 0 is a direction; v = 0 gives, as dual values, weights ≥ 1 with Aᵀa = 0: overlap;
    3. pairs on which v vanishes form the next face: repeat there, until it is empty (complete separation)
       or overlaps (quasi-separation).

Cost: step 1 some O(m q²) with m ≈ 20 q sampled rows; step 2 a linear program of a few thousand pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.losses import Multinomial
from separatrix.core.numerics import FloatArray
from separatrix.data.coordinates import Coordinates
from separatrix.data.objective import Objective, helmert
from separatrix.data.rows import Rows
from separatrix.verdict.gaps import curvature_gap, factorise, range_factor

SAMPLE_PER_PARAMETER = 20
LP_PAIRS = 1500
FLAT = 1e-9  # a margin this small against ‖A_i‖‖v‖ is zero
NEWTON_STEPS = 25
KEPT_CELLS = 8_000_000


@dataclass(frozen=True)
class Pairs:
    """All signed pairs of some rows in inner coordinates; pair index = row · (K − 1) + rival's rank."""

    rows: Rows  # in-memory rows whose y is the class index
    coordinates: Coordinates
    fit_intercept: bool
    n_classes: int

    @cached_property
    def class_basis(self) -> FloatArray:
        return helmert(self.n_classes)

    @cached_property
    def rivals(self) -> np.ndarray:
        """(K, K−1): the classes other than each class."""
        k = self.n_classes
        return np.array([[r for r in range(k) if r != y] for y in range(k)])

    @property
    def q(self) -> int:
        return self.coordinates.size + int(self.fit_intercept)

    @property
    def count(self) -> int:
        return self.rows.n * (self.n_classes - 1)

    def inner_rows(self, pick: np.ndarray) -> FloatArray:
        """z of the picked rows, with the intercept's one."""
        if self._all_rows is not None:
            return self._all_rows[pick]
        return self._transform(pick)

    @cached_property
    def _all_rows(self) -> FloatArray | None:
        """z of every row, kept where a wide basis would be applied again and again."""
        if self.coordinates.basis is None or self.rows.n * self.q > KEPT_CELLS:
            return None
        return self._transform(np.arange(self.rows.n))

    def _transform(self, pick: np.ndarray) -> FloatArray:
        cells = self.rows.source[pick]
        cells = cells if isinstance(cells, np.ndarray) else cells.toarray()
        z = np.ones((len(pick), self.q))
        self.coordinates.tile(cells, out=z[:, : self.coordinates.size])
        return z

    def matrix(self, pairs: np.ndarray) -> FloatArray:
        """The rows A of the given pairs, each of unit length (zero pairs stay zero)."""
        a = self._raw(pairs)
        length = np.linalg.norm(a, axis=1, keepdims=True)
        return np.divide(a, length, out=np.zeros_like(a), where=length > 0)

    def _raw(self, pairs: np.ndarray) -> FloatArray:
        i, r = np.divmod(pairs, self.n_classes - 1)
        y = self.rows.y[i]
        turn = self.class_basis[y] - self.class_basis[self.rivals[y, r]]
        return (turn[:, :, None] * self.inner_rows(i)[:, None, :]).reshape(len(pairs), -1)

    @cached_property
    def lengths(self) -> FloatArray:
        """‖A_i‖ of every pair: √2 ‖z_i‖."""
        norms = np.empty(self.rows.n)
        for part in self._slices():
            norms[part] = np.linalg.norm(self.inner_rows(np.arange(part.start, part.stop)), axis=1)
        return np.repeat(np.sqrt(2.0) * norms, self.n_classes - 1)

    def margins(self, v: FloatArray) -> FloatArray:
        """A v of every pair, relative to ‖A_i‖ ‖v‖."""
        turn = v.reshape(self.n_classes - 1, self.q).T @ self.class_basis.T
        result = np.empty((self.rows.n, self.n_classes - 1))
        for part in self._slices():
            scores = self.inner_rows(np.arange(part.start, part.stop)) @ turn
            y = self.rows.y[part]
            own = scores[np.arange(len(y)), y]
            result[part] = own[:, None] - np.take_along_axis(scores, self.rivals[y], axis=1)
        size = self.lengths * float(np.linalg.norm(v))
        return np.divide(result.ravel(), size, out=np.zeros(self.count), where=size > 0)

    def _slices(self) -> list[slice]:
        size = max(64, (1 << 17) // self.q)
        return [slice(a, min(a + size, self.rows.n)) for a in range(0, self.rows.n, size)]


@dataclass(frozen=True)
class Face:
    """What was found: a direction (or None), the pairs flat under it, and weights on them (or None)."""

    direction: FloatArray | None
    flat: np.ndarray
    weights: tuple[np.ndarray, FloatArray] | None  # (pairs, weights)


def early_overlap(pairs: Pairs) -> Face | None:
    """Overlap proven by a likelihood fit on a small sample, or None: the cheap answer for most data."""
    pick = _spread_sample(pairs, max(256, SAMPLE_PER_PARAMETER * pairs.q * (pairs.n_classes - 1)))
    _, proven, probabilities = _likelihood(pairs, pick)
    if not proven:
        return None
    return Face(None, np.arange(pairs.count), _weights_of(pairs, pick, probabilities))


def decide(pairs: Pairs) -> Face:
    """Complete (no flat pairs), quasi (direction and weights), or overlap (weights alone)."""
    found = _early_answer(pairs)
    if isinstance(found, Face):
        return found
    guess = found
    direction: FloatArray | None = None
    face = np.arange(pairs.count)
    face = face[pairs.lengths[face] > 0]
    while len(face):
        v, weights = _direction_on_face(pairs, face, guess)
        if v is None:
            return Face(direction, face, weights)
        relative = pairs.margins(v)[face]
        direction = v if direction is None else _combine(pairs, direction, v)
        face = face[relative <= FLAT]
        guess = v
    return Face(direction, face, None)


def _early_answer(pairs: Pairs) -> Face | FloatArray:
    """Overlap or complete separation from likelihood fits on growing samples; else the last runaway fit."""
    n, k = pairs.rows.n, pairs.n_classes
    size = max(256, SAMPLE_PER_PARAMETER * pairs.q * (k - 1))
    pick = _spread_sample(pairs, size)
    while True:
        theta, proven, probabilities = _likelihood(pairs, pick)
        if proven:
            return Face(None, np.arange(pairs.count), _weights_of(pairs, pick, probabilities))
        v = theta.T.ravel()
        relative = pairs.margins(v)
        if (relative > FLAT).all():
            return Face(v, np.empty(0, dtype=np.intp), None)
        if len(pick) >= n or len(pick) > 8 * size:
            return v
        # the rows this fit gets wrong, or nearly so, are the ones that can prove overlap
        worst = relative.reshape(n, k - 1).min(axis=1)
        hardest = np.argpartition(worst, min(len(pick), n - 1))[: len(pick)]
        pick = np.union1d(pick, hardest)
        pick = np.union1d(pick, _spread_sample(pairs, min(n, 2 * len(pick))))


def _spread_sample(pairs: Pairs, size: int) -> np.ndarray:
    """``size`` rows drawn evenly from every class, by a generator keyed to the size alone."""
    n = pairs.rows.n
    if size >= n:
        return np.arange(n)
    order = np.random.default_rng([71, size]).permutation(n)
    codes = pairs.rows.y[order]
    share = max(1, size // pairs.n_classes)
    chosen = [order[np.flatnonzero(codes == k)[:share]] for k in range(pairs.n_classes)]
    return np.unique(np.concatenate([*chosen, order[: max(0, size - sum(map(len, chosen)))]]))


def _likelihood(pairs: Pairs, pick: np.ndarray) -> tuple[FloatArray, bool, FloatArray]:
    """Damped Newton on the picked rows: (θ, whether a minimum is proven to exist, probabilities)."""
    z = pairs.inner_rows(pick)
    rows = Rows.of(z, pairs.rows.y[pick])
    objective = Objective(rows, Multinomial(), 0.0, False, Coordinates.identity(pairs.q), pairs.n_classes)
    theta = objective.zero()
    at = objective.evaluate(theta, order=2)
    proven = False
    for _ in range(NEWTON_STEPS):
        assert at.hessian is not None
        factor = factorise(at.hessian)
        gradient = at.gradient.T.ravel()
        step = -factor.solve(gradient).reshape(theta.shape[::-1]).T
        decrement = float(np.sqrt(max(-np.sum(at.gradient * step), 0.0)))
        range_ = range_factor(objective) * at.radius * float(np.sqrt(factor.inverse_trace))
        gap = curvature_gap(decrement, range_) if not factor.singular else np.inf
        if gap < 1e-18 or (np.isfinite(gap) and decrement < 1e-9):
            proven = True
            break
        if at.value < 1e-9 or factor.singular:
            break  # the fit runs away, or the sample does not span
        scale = 1.0
        while scale > 1e-6:
            new = objective.evaluate(theta + scale * step, order=2)
            if new.value <= at.value - 1e-4 * scale * decrement**2 + 1e-15:
                break
            scale *= 0.5
        else:
            break
        theta, at = theta + scale * step, new
    scores = z @ theta @ pairs.class_basis.T
    scores -= scores.max(axis=1, keepdims=True)
    p = np.exp(scores)
    return theta, proven, p / p.sum(axis=1, keepdims=True)


def _weights_of(pairs: Pairs, pick: np.ndarray, p: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Rival probabilities as weights of the pairs of the picked rows."""
    y = pairs.rows.y[pick]
    weights = np.take_along_axis(p, pairs.rivals[y], axis=1)
    index = pick[:, None] * (pairs.n_classes - 1) + np.arange(pairs.n_classes - 1)
    return index.ravel(), weights.ravel()


def _direction_on_face(
    pairs: Pairs, face: np.ndarray, guess: FloatArray
) -> tuple[FloatArray | None, tuple[np.ndarray, FloatArray] | None]:
    """v with A v ≥ 0 on the face and > 0 somewhere on it; or weights that prove there is none."""
    relative = pairs.margins(guess)[face]
    pool = max(LP_PAIRS, 6 * pairs.q * (pairs.n_classes - 1))
    active = face[np.argpartition(relative, min(pool, len(face) - 1))[:pool]] if len(face) > pool else face
    while True:
        a = pairs.matrix(active)
        v, weights = _maximal_direction(a)
        if v is not None:
            relative = pairs.margins(v)[face]
            broken = face[relative < -FLAT]
            if len(broken) == 0:
                return v, None
            order = np.argsort(relative[relative < -FLAT])[: max(pool // 2, len(active))]
            grown = np.union1d(active, broken[order])
        else:
            missing = _unreached(pairs, face, a)
            if len(missing) == 0:
                assert weights is not None
                length = pairs.lengths[active]
                return None, (active, weights / length)
            grown = np.union1d(active, missing[:pool])
        if len(grown) == len(active):
            raise RuntimeError(
                "separability: the linear program and its check disagree; please report this data"
            )
        active = grown


def _maximal_direction(a: FloatArray) -> tuple[FloatArray | None, FloatArray | None]:
    """max Σ t, Av ≥ t, 0 ≤ t ≤ 1: (v, None) when positive, else (None, dual weights ≥ 1)."""
    from scipy.sparse import csr_array, eye_array, hstack

    m, q = a.shape
    x, marginals, best = solve_program(
        np.concatenate([np.zeros(q), -np.ones(m)]),
        hstack([csr_array(-a), eye_array(m)], format="csr"),
        np.zeros(m),
        [(None, None)] * q + [(0.0, 1.0)] * m,
    )
    if -best < 0.5:
        return None, np.maximum(-marginals, 0.0)
    v, flat = x[:q], x[q:] < 0.5
    if flat.any():  # exact zeros on the flat pairs: project onto what they leave free
        v = v - np.linalg.lstsq(a[flat], a[flat] @ v, rcond=1e-12)[0]
    return v / np.linalg.norm(v), None


def solve_program(
    cost: FloatArray, A: Any, b: FloatArray, bounds: Any, A_eq: Any = None
) -> tuple[FloatArray, FloatArray, float]:
    """min cost·x, Ax ≤ b, A_eq x = 0 by HiGHS: (x, duals of Ax ≤ b, value).

    Tight tolerances first; on degenerate programs HiGHS may give up on them, so others are tried. Whatever
    comes back is checked against all rows by the caller.
    """
    from scipy.optimize import linprog

    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    tries: list[tuple[str, dict[str, Any]]] = [
        ("highs", tight),
        ("highs", {}),
        ("highs-ds", {"presolve": False}),
        ("highs-ipm", {}),
    ]
    b_eq = None if A_eq is None else np.zeros(A_eq.shape[0])
    for method, options in tries:
        result: Any = linprog(cost, A, b, A_eq, b_eq, bounds, method=method, options=options)  # type: ignore[call-overload]
        if result.status == 0:
            return result.x, np.asarray(result.ineqlin.marginals), float(result.fun)
    raise ArithmeticError(f"the linear program did not finish ({result.message})")


def _unreached(pairs: Pairs, face: np.ndarray, a: FloatArray) -> np.ndarray:
    """Pairs of the face that leave the span of A: without them the weights prove nothing about those directions."""
    _, values, vectors = np.linalg.svd(a, full_matrices=True)
    rank = int(np.sum(values > 1e-10 * values[0]))
    missing: list[np.ndarray] = []
    for v in vectors[rank:]:
        off = face[np.abs(pairs.margins(v)[face]) > 1e-7]
        if len(off):
            missing.append(off[:200])
    return np.unique(np.concatenate(missing)) if missing else np.empty(0, dtype=np.intp)


def _combine(pairs: Pairs, first: FloatArray, second: FloatArray) -> FloatArray:
    """first + δ·second with δ small enough that pairs already positive stay so."""
    strong, change = pairs.margins(first), pairs.margins(second)
    positive = strong > FLAT
    against = positive & (change < 0)
    delta = 0.5
    if against.any():
        delta = min(0.5, 0.5 * float(np.min(strong[against] / -change[against])))
    return first + delta * second
