"""Separation decided exactly: Tucker's alternative on few rows first, then on the rows that contradict it.

    1. some rows: a sample that spans, or all where they are few. Weights on all their pairs prove overlap for
       every row (Stiemke: no direction is left on which a further row could be positive);
    2. a direction V is tried on all rows. Pairs it breaks, and pairs it leaves at zero that the weights do not
       explain, join the sample: back to 1, until there are none;
    3. weights on some pairs only: those pairs are flat under every direction. The claim is checked along the
       singular directions of their own rows, where a gap of 1e-12 is as large as any other; if it fails, the
       face gets an alternative of its own, and the two directions are added.

Coordinates are the singular directions of the rows in question (`axes`). Cost: step 1 is `tucker`'s with m ≈ 20 D
rows, step 2 O(npK) a round and O(pq) for each row it does not settle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.core.statistics import Moments
from separatrix.verdict.axes import FLAT, Axes, CodedTable, upper
from separatrix.verdict.tucker import Cone, alternative, magnified, rival_mask

SURE = 1e-12  # on rows whose alternative is known: rounding is far below
NEARLY = 1e-14  # a margin below −this is not zero but small
DIRECT = 1e7  # pairs × (q² + 100) up to which all rows are taken at once
SAMPLE = 20  # rows for each unknown
MAX_SAMPLES = 12  # grown samples before all rows are taken
MAX_FACES = 12
HIDDEN = (
    "the gap between the classes is as small as the rounding of the cells; subtract a constant from columns "
    "far from zero, or drop rows that nearly coincide"
)


@dataclass(frozen=True)
class Face:
    """What is known of the rows ``pick``: V (None: none exists), flat pairs (m, K), weights on them (None: none)."""

    axes: Axes
    pick: np.ndarray
    direction: FloatArray | None
    flat: np.ndarray
    weights: FloatArray | None


@dataclass(frozen=True)
class Decision:
    """A direction in the user's units (None: none exists), flat pairs of all rows (n, K), weights (m, K) of ``pick``.

    ``face`` is where it was found, None for a direction that came of first-order steps (`wide`).
    """

    coef: FloatArray | None  # (K, p)
    intercept: FloatArray  # (K,)
    flat: np.ndarray
    pick: np.ndarray
    weights: FloatArray | None
    face: Face | None = None

    @property
    def kind(self) -> str:
        if self.coef is None:
            return "overlap"
        return "quasi" if self.flat.any() else "complete"


class Undecided(ArithmeticError):
    """The question was too large, or its answer lies below rounding."""


def decide(table: CodedTable, moments: Moments) -> Decision:
    """Complete, quasi or overlap; raises Undecided where rounding hides the answer."""
    pick = table.sorted(_first_rows(table))
    samples = 1
    while True:
        face = settle(table, pick)
        if face.direction is None:
            missing = _outside_span(table, moments, face)
            if len(missing) == 0:
                flat, none = rival_mask(table.y, table.n_classes), np.zeros(table.n_classes)
                return Decision(None, none, flat, pick, face.weights, face)
        else:
            flat, missing = _tried(table, face)
            if len(missing) == 0:
                return Decision(*face.axes.to_user(face.direction), flat, pick, face.weights, face)
        grown = np.union1d(pick, missing[: max(len(pick), 256)])
        samples += 1
        enough = 2 * len(grown) >= table.n or samples > MAX_SAMPLES
        pick = table.sorted(np.arange(table.n) if enough else grown)


def effort(table: CodedTable) -> float:
    """Multiplications of one step of `decide` on its first rows."""
    q = min(table.n, table.p) + 1
    rows = min(table.n, _sample_size(table))
    return float(rows) * (table.n_classes - 1) * q**2 + ((table.n_classes - 1.0) * q) ** 3 / 3


def settle(table: CodedTable, pick: np.ndarray) -> Face:
    """Tucker's alternative on the picked rows (sorted by class), face by face until the weights are proven."""
    cells = table.cells(pick)
    axes = Axes.of(cells, table.fit_intercept)
    cone = Cone.of(axes.rows(cells), table.y[pick], table.n_classes)
    return Face(axes, pick, *_settled(cells, axes, cone, 0))


def _settled(
    cells: FloatArray, axes: Axes, cone: Cone, depth: int
) -> tuple[FloatArray | None, np.ndarray, FloatArray | None]:
    """(V or None, the flat pairs, weights on them or None) of a cone, proven along the flat rows' own axes."""
    found = alternative(cone)
    v, flat = _cleared(cone, found.direction, found.flat)
    if not flat.any():
        return v, flat, None
    if v is not None and float(cone.margins(v)[flat].min()) < -NEARLY:
        found = magnified(cone, v)
        v, flat = _cleared(cone, found.direction, found.flat)
        if not flat.any():
            return v, flat, None
    rows: np.ndarray = np.asarray(flat.any(axis=1))
    if rows.all():
        own, inside = axes, replace(cone, mask=flat)
    else:
        own = Axes.of(cells[rows], axes.fit_intercept)
        inside = Cone.of(own.rows(cells[rows]), cone.y[rows], cone.n_classes, flat[rows])
    weights = balanced(inside, found.weights[rows] / cone.length[rows] * inside.length)
    stuck = v is None and rows.all()
    if weights is None and (stuck or depth >= MAX_FACES):
        raise Undecided(f"separability: {HIDDEN}")
    if weights is not None:
        return v, flat, _spread(weights / inside.length, rows)
    deeper, inner_flat, weights = _settled(cells[rows], own, inside, depth + 1)
    if deeper is not None:
        deeper = axes.from_user(*own.to_user(deeper))
        v = deeper if v is None else _combined(cone, v, deeper, cone.mask & ~flat)
    return v, _spread(inner_flat, rows), None if weights is None else _spread(weights, rows)


def _spread(part: np.ndarray, rows: np.ndarray) -> np.ndarray:
    full = np.zeros((len(rows), part.shape[1]), dtype=part.dtype)
    full[rows] = part
    return full


def _cleared(cone: Cone, v: FloatArray, flat: np.ndarray) -> tuple[FloatArray | None, np.ndarray]:
    """V of length one, exactly zero on the flat pairs; pairs it then leaves at rounding level are flat too."""
    if not (cone.mask & ~flat).any():
        return None, flat
    if flat.any():
        solve = cone.solver(flat.astype(float), ridge=1e-11)
        for _ in range(4):
            v = v - solve(cone.margins(v) * flat)
    v = v / np.linalg.norm(v)
    v[np.abs(v) < 1e-25] = 0.0
    flat = flat | (cone.mask & (cone.margins(v) <= SURE))
    return (v if (cone.mask & ~flat).any() else None), flat


def balanced(cone: Cone, a: FloatArray) -> FloatArray | None:
    """a − δ > 0 with Aᵀ(a − δ) = 0 to rounding, δ the smallest against a; None where there is none near a."""
    a = a * cone.mask
    for _ in range(6):
        pulled = cone.pull(a)
        signed = a.copy()
        signed[np.arange(len(a)), cone.y] = a.sum(axis=1)
        if np.abs(pulled).max(initial=0.0) <= 8 * EPS * float((signed.T @ np.abs(cone.z)).max(initial=0.0)):
            break
        delta = a**2 * cone.margins(cone.solver(a**2, careful=cone.small)(a))
        if not (np.abs(delta) <= 0.5 * a)[cone.mask].all():
            return None
        a = a - delta
    size = float((signed.T @ np.abs(cone.z)).max(initial=0.0))
    least = 1e-14 * float(a.max(initial=0.0))  # a weight below rounding proves nothing of its pair
    if np.abs(cone.pull(a)).max(initial=0.0) > 1e-12 * size or not (a > least)[cone.mask].all():
        return None
    return a


def _combined(cone: Cone, first: FloatArray, second: FloatArray, positive: np.ndarray) -> FloatArray:
    """first + δ·second, δ small enough that the pairs first makes positive stay so."""
    second = second / np.linalg.norm(second)
    strong, change = cone.margins(first)[positive], cone.margins(second)[positive]
    against = change < 0
    delta = min(1.0, 0.5 * float(np.min(strong[against] / -change[against], initial=np.inf)))
    v = first + delta * second
    return v / np.linalg.norm(v)


def _sample_size(table: CodedTable) -> int:
    unknowns = (table.n_classes - 1) * (min(table.n, table.p) + 1)
    return max(256, SAMPLE * unknowns if unknowns <= 300 else 4200 + 6 * unknowns)


def _first_rows(table: CodedTable) -> np.ndarray:
    """All rows where they are few, else an even sample of every class, keyed to its size alone."""
    n, k, size = table.n, table.n_classes, _sample_size(table)
    if 2 * size >= n or n * (k - 1) * (100 + (min(n, table.p) + 1) ** 2) <= DIRECT:
        return np.arange(n)
    order = np.random.default_rng([71, size]).permutation(n)
    codes = table.y[order]
    share = max(1, size // k)
    chosen = [order[np.flatnonzero(codes == j)[:share]] for j in range(k)]
    return np.unique(np.concatenate([*chosen, order[: max(0, size - sum(map(len, chosen)))]]))


def _tried(table: CodedTable, face: Face) -> tuple[np.ndarray, np.ndarray]:
    """V on all rows: the flat pairs (n, K), and the rows that contradict the face, worst first."""
    assert face.direction is not None
    n, k = table.n, table.n_classes
    flat = np.zeros((n, k), dtype=bool)
    flat[face.pick] = face.flat
    if len(face.pick) == n:
        return flat, np.empty(0, dtype=np.intp)
    known = np.zeros(n, dtype=bool)
    known[face.pick] = True
    bases = flat_bases(table, face)
    trouble = np.zeros(n)
    for part in table.slices():
        cells, y = table.cells(part), table.y[part]
        near = np.flatnonzero(~known[part] & ~face.axes.clear(cells, y, face.direction))
        if len(near) == 0:
            continue
        z, y = face.axes.rows(cells[near]), y[near]
        cone = Cone.of(z, y, k)
        relative = cone.margins(face.direction)
        zero = cone.mask & (np.abs(relative) <= FLAT)
        flat[part.start + near] = zero
        worst = relative.min(axis=1)
        unexplained = _unexplained(cone, zero, bases)
        trouble[part.start + near] = np.where(worst < -FLAT, -worst, np.where(unexplained, FLAT, 0.0))
    missing = np.flatnonzero(trouble > 0)
    return flat, missing[np.argsort(-trouble[missing], kind="stable")]


def flat_bases(table: CodedTable, face: Face) -> dict[tuple[int, int], FloatArray]:
    """For each two classes, an orthonormal basis of the rows flat between them."""
    z = face.axes.rows(table.cells(face.pick))
    y = table.y[face.pick]
    bases = {}
    for j in range(table.n_classes):
        for k in range(j + 1, table.n_classes):
            between = z[((y == j) & face.flat[:, k]) | ((y == k) & face.flat[:, j])]
            if len(between):
                _, values, vectors = np.linalg.svd(upper(between), full_matrices=False)
                bases[j, k] = vectors[values > 1e-10 * values[0]]
    return bases


def _unexplained(cone: Cone, zero: np.ndarray, bases: dict[tuple[int, int], FloatArray]) -> np.ndarray:
    """Rows with a pair at zero that lies outside the span of the flat pairs of its two classes."""
    result = np.zeros(len(cone.y), dtype=bool)
    for j, k in zip(*np.nonzero(_class_pairs(cone.y, zero)), strict=True):
        at = np.flatnonzero((cone.y == j) & zero[:, k])
        basis = bases.get((min(j, k), max(j, k)))
        if basis is None:
            result[at] = True
        else:
            z = cone.z[at]
            result[at] |= np.linalg.norm(z - (z @ basis.T) @ basis, axis=1) > 1e-8
    return result


def _class_pairs(y: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """(K, K): whether some row of class j has a pair at zero against class k."""
    present = np.zeros((zero.shape[1], zero.shape[1]), dtype=bool)
    np.logical_or.at(present, y, zero)
    return present


def _outside_span(table: CodedTable, moments: Moments, face: Face) -> np.ndarray:
    """Rows outside the span of the face's rows: a direction seen by them alone is not yet excluded."""
    live = ~moments.constant if table.fit_intercept else moments.variance + moments.mean**2 > 0
    if len(face.pick) == table.n or face.axes.q == int(live.sum()) + int(table.fit_intercept):
        return np.empty(0, dtype=np.intp)
    spread = np.sqrt(moments.variance if table.fit_intercept else moments.variance + moments.mean**2)
    scale = np.divide(1.0, spread, out=np.zeros(table.p), where=live)
    centre = face.axes.centre

    def standard(pick: np.ndarray | slice) -> FloatArray:
        z = (table.cells(pick) - centre) * scale
        return np.column_stack([z, np.ones(len(z))]) if table.fit_intercept else z

    _, values, vectors = np.linalg.svd(upper(standard(face.pick)), full_matrices=False)
    basis = vectors[values > 1e-11 * values[0]]
    outside = np.zeros(table.n)
    for part in table.slices():
        z = standard(part)
        left = np.linalg.norm(z - (z @ basis.T) @ basis, axis=1)
        outside[part] = left / np.maximum(np.linalg.norm(z, axis=1), 1e-300)
    missing = np.flatnonzero(outside > 1e-8)
    return missing[np.argsort(-outside[missing], kind="stable")]
