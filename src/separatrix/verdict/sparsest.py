"""The separating direction with the fewest columns (in the ℓ₁ sense), so that the culprits can be named.

    min Σ_jk c_jk σ_j |D_kj|   subject to   margins ≥ 1 on the separated pairs,  = 0 on the flat ones

by HiGHS, on the pairs that matter; the costs c start at one and grow where a weight is small (Candès, Wakin and
Boyd 2008). A single leaking column is found before by looking at each column's ranges: it then stands alone,
whatever the other columns are. At the end the columns of largest weight are tried alone, 1, 2, 4, … of them; for
wide tables that is all there is. Cost: a linear program of a few hundred pairs, grown by those it breaks, and a few
decisions on few columns; given up (None) where the program would be large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments
from separatrix.verdict.axes import CodedTable
from separatrix.verdict.facial import Decision, decide, flat_bases
from separatrix.verdict.tucker import rival_mask

MAX_VARIABLES = 4000
MAX_CELLS = 1_000_000  # of all programs together
LARGE, MANY = 40_000, 40
MAX_PIVOTS = 4000
ROUNDS = 12
FIRST_PAIRS = 400
MAX_HEAVIEST = 512
FAR = 10.0  # |mean| / spread beyond which a column is centred; the others keep their zeros

Direction = tuple[FloatArray, FloatArray]  # (K, p) and (K,) in the user's units


def sparsest_direction(table: CodedTable, moments: Moments, found: Decision) -> Direction | None:
    """(K, p) and (K,) in the user's units, or None when the program would be too large or does not settle."""
    if found.kind == "complete":
        alone = _one_column(table, moments)
        if alone is not None:
            return alone
    if found.face is None:
        return None
    heads = 1 if table.n_classes == 2 else table.n_classes
    small = 2 * table.p * heads <= MAX_VARIABLES
    direction = _least(table, moments, found) if small else None
    if direction is None and small:
        return None
    w = found.coef if direction is None else direction[0]
    assert w is not None
    return _heaviest(table, moments, found, w) or direction


def _heaviest(table: CodedTable, moments: Moments, found: Decision, w: FloatArray) -> Direction | None:
    """A direction in the columns of largest weight, as few of them (by doubling) as separate the same pairs."""
    size = np.abs(w - w.mean(axis=0)).max(axis=0) * np.sqrt(moments.variance)
    order = np.argsort(-size, kind="stable")
    count = 1
    while count <= min(MAX_HEAVIEST, int(np.count_nonzero(size)) // 2):
        direction = _on_columns(table, found, np.sort(order[:count]))
        if direction is not None:
            return direction
        count *= 2
    return None


def _least(table: CodedTable, moments: Moments, found: Decision) -> Direction | None:
    """Reweighted ℓ₁ over all columns of the table."""
    program = _Program(table, moments)
    positive = rival_mask(table.y, table.n_classes) & ~found.flat
    equal = program.matrix(*_independent(table, found))
    active = _hardest(program.scaled(found), positive, FIRST_PAIRS)
    cost, best, fewest, spent, v = program.cost, None, table.p + 1, 0, None
    for _ in range(ROUNDS):
        a = program.matrix(*np.nonzero(active))
        spent += a.nnz
        x = _solve(cost, a, equal, program.bounds) if spent <= MAX_CELLS else None
        if x is None:
            break
        v, b = program.polished(x, equal)
        margins = program.margins(v, b)
        broken = positive & (margins < 0.5)
        if a.nnz > LARGE and np.count_nonzero(v.any(axis=0)) > max(MANY, 0.6 * table.p):
            return best  # most columns are needed: which few are not is not worth the time
        cost = program.dearer(v) if v.any() else cost
        if broken.any():
            active |= _hardest(margins, broken, 1000)
            continue
        size = int(np.count_nonzero(v.any(axis=0)))
        if size >= fewest or np.abs(margins[~positive]).max(initial=0.0) > 1e-6:
            break
        best, fewest = program.to_user(v, b), size
    if best is None and v is not None:  # too many pairs for the program: its columns may do all the same
        return _on_columns(table, found, np.flatnonzero(v.any(axis=0)))
    return best


def _on_columns(table: CodedTable, found: Decision, columns: np.ndarray) -> Direction | None:
    """A direction in the given columns alone that separates the same pairs; None where there is none."""
    if len(columns) == table.p:
        return None
    X = table.X[:, columns]
    X = np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray())
    part = CodedTable(X, table.y, table.n_classes, table.fit_intercept)
    try:
        inner = decide(part, Moments.of(X))
    except ArithmeticError:
        return None
    if inner.coef is None or not np.array_equal(inner.flat, found.flat):
        return None
    full = np.zeros((table.n_classes, table.p))
    full[:, columns] = inner.coef
    return full, inner.intercept


def _hardest(margins: FloatArray, among: np.ndarray, count: int) -> np.ndarray:
    """The ``count`` pairs of least margin, as a mask."""
    at = np.flatnonzero(among)
    chosen = np.zeros(among.size, dtype=bool)
    chosen[at[np.argsort(margins.ravel()[at], kind="stable")[:count]]] = True
    return chosen.reshape(among.shape)


def _solve(cost: FloatArray, a: Any, equal: Any, bounds: Any) -> FloatArray | None:
    """min cost·x, a x ≥ 1, equal x = 0; None where HiGHS gives up."""
    from scipy.optimize import linprog

    one, zero = np.ones(a.shape[0]), np.zeros(equal.shape[0])
    e = (equal, zero) if equal.shape[0] else (None, None)
    for tight in (1e-9, 1e-7):
        options = {
            "primal_feasibility_tolerance": tight,
            "dual_feasibility_tolerance": tight,
            "maxiter": MAX_PIVOTS,
        }
        result: Any = linprog(cost, -a, -one, *e, bounds, method="highs-ds", options=options)  # type: ignore[call-overload]
        if result.status == 0:
            return np.asarray(result.x)
        if result.status == 1:
            return None
    return None


class _Program:
    """The variables: positive and negative parts of scaled weights (heads × p each), then free intercepts."""

    def __init__(self, table: CodedTable, moments: Moments):
        self.table = table
        # two classes: one vector, the other is its negative
        self.heads = 1 if table.n_classes == 2 else table.n_classes
        spread = np.sqrt(moments.variance if table.fit_intercept else moments.variance + moments.mean**2)
        live = ~moments.constant if table.fit_intercept else spread > 0
        self.scale = np.divide(1.0, spread, out=np.zeros(table.p), where=live)
        far = np.abs(moments.mean) * self.scale > FAR
        self.centre = np.where(far & table.fit_intercept, moments.mean, 0.0)
        size, free = 2 * table.p * self.heads, self.heads * int(table.fit_intercept)
        self.cost = np.concatenate([np.ones(size), np.zeros(free)])
        self.bounds = [(0.0, None)] * size + [(None, None)] * free

    def cells(self, pick: np.ndarray | slice) -> FloatArray:
        return (self.table.cells(pick) - self.centre) * self.scale

    def matrix(self, rows: np.ndarray, rivals: np.ndarray) -> Any:
        """Margins of the given pairs as a sparse map of the variables."""
        from scipy.sparse import csr_array, hstack

        p, m = self.table.p, len(rows)
        z = csr_array(self.cells(rows))
        y = self.table.y[rows]
        at = np.repeat(np.arange(m), np.diff(z.indptr))
        if self.heads == 1:
            sign = np.where(y == 1, 1.0, -1.0)
            w = csr_array((z.data * sign[at], z.indices, z.indptr), shape=(m, p))
            turn = sign[:, None]
        else:
            own, other = z.indices + p * y[at], z.indices + p * rivals[at]
            w = csr_array(
                (np.concatenate([z.data, -z.data]), (np.tile(at, 2), np.concatenate([own, other]))),
                shape=(m, p * self.heads),
            )
            turn = np.zeros((m, self.heads))
            turn[np.arange(m), y] = 1.0
            turn[np.arange(m), rivals] = -1.0
        return hstack([w, -w, csr_array(turn)] if self.table.fit_intercept else [w, -w], format="csr")

    def polished(self, x: FloatArray, equal: Any) -> Direction:
        """Scaled weights (heads, p) and intercepts: rounding cut to zero, the equalities met on what is left."""
        size = self.table.p * self.heads
        u = np.concatenate([x[:size] - x[size : 2 * size], x[2 * size :]])
        e = equal[:, np.r_[:size, 2 * size : len(x)]]
        tiny = np.abs(u) < 1e-7 * np.abs(u[:size]).max(initial=0.0)
        u[tiny] = 0.0
        if e.shape[0]:
            for used in (np.flatnonzero(~tiny), np.r_[np.flatnonzero(~tiny[:size]), size : len(u)]):
                part = e[:, used].toarray()
                for _ in range(2):
                    u[used] -= np.linalg.lstsq(part, part @ u[used], rcond=1e-12)[0]
                if np.abs(part @ u[used]).max() <= 1e-14 * np.abs(u).max():
                    break  # else the intercepts are needed, small as they are
        return u[:size].reshape(self.heads, -1), u[size:] if len(u) > size else np.zeros(self.heads)

    def dearer(self, v: FloatArray) -> FloatArray:
        """Costs that make columns of small weight dear: repeated, they leave only those that are needed."""
        size = np.abs(v).max(axis=0)
        dear = 1.0 / (size + 1e-3 * size.max())
        dear = np.tile(dear / dear.min(), 2 * self.heads)
        return np.concatenate([dear, self.cost[len(dear) :]])

    def margins(self, v: FloatArray, b: FloatArray) -> FloatArray:
        """Of all pairs, (n, K); zero at each row's own class."""
        table = self.table
        v, b = self._all_classes(v, b)
        result = np.empty((table.n, table.n_classes))
        for part in table.slices():
            scores = self.cells(part) @ v.T + b
            result[part] = scores[np.arange(len(scores)), table.y[part]][:, None] - scores
        return result

    def scaled(self, found: Decision) -> FloatArray:
        """The margins of the direction found."""
        assert found.coef is not None
        w, b = found.coef, found.intercept
        inner = np.divide(w, self.scale, out=np.zeros_like(w), where=self.scale > 0)
        if self.heads == 1:
            return self.margins(inner[1:] - inner[:1], (b[1:] - b[:1]) + (w[1:] - w[:1]) @ self.centre)
        return self.margins(inner, b + w @ self.centre)

    def to_user(self, v: FloatArray, b: FloatArray) -> Direction:
        v, b = self._all_classes(v, b)
        coef = v * self.scale
        return coef, b - coef @ self.centre

    def _all_classes(self, v: FloatArray, b: FloatArray) -> Direction:
        if self.heads > 1:
            return v, b
        return np.vstack([-v / 2, v / 2]), np.array([-b[0] / 2, b[0] / 2])


def _independent(table: CodedTable, found: Decision) -> tuple[np.ndarray, np.ndarray]:
    """A few flat pairs (rows, rivals) that span all of them: equality on these is equality on the rest."""
    from scipy.linalg import qr

    rows: list[np.ndarray] = []
    rivals: list[np.ndarray] = []
    y, flat = table.y[found.pick], found.flat[found.pick]
    if not flat.any():
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    assert found.face is not None
    bases = flat_bases(table, found.face)
    for j in range(table.n_classes):
        for k in range(j + 1, table.n_classes):
            between = found.pick[((y == j) & flat[:, k]) | ((y == k) & flat[:, j])]
            kept = between[:0]
            for a in range(0, len(between), 2000):
                if len(kept) == len(bases[j, k]):
                    break
                pool = np.concatenate([kept, between[a : a + 2000]])
                _, r, pivot = qr(found.face.axes.rows(table.cells(pool)).T, mode="economic", pivoting=True)
                diagonal = np.abs(np.diag(r))
                kept = pool[pivot[: int(np.sum(diagonal > 1e-9 * max(float(diagonal[0]), 1e-300)))]]
            rows.append(kept)
            rivals.append(np.where(table.y[kept] == j, k, j))
    return np.concatenate(rows), np.concatenate(rivals)


def _one_column(table: CodedTable, moments: Moments) -> Direction | None:
    """A single column that separates the classes by itself, with the widest gaps for its spread."""
    low, high = _ranges(table)  # (K, p)
    if not table.fit_intercept:
        return _one_ray(table, low, high)
    order = np.argsort(low, axis=0, kind="stable")
    low, high = np.take_along_axis(low, order, 0), np.take_along_axis(high, order, 0)
    spread = np.sqrt(moments.variance)
    gap = np.divide((low[1:] - high[:-1]).min(axis=0), spread, out=np.zeros(table.p), where=spread > 0)
    j = int(np.argmax(gap))
    middle = high[:-1, j] + (low[1:, j] - high[:-1, j]) / 2
    if not gap[j] > 0 or not ((high[:-1, j] < middle) & (middle < low[1:, j])).all():
        return None
    # class of rank r scores r·x − (m_1 + … + m_r): its rivals below lose by x − m_r, those above by m_{r+1} − x
    rank = np.empty(table.n_classes, dtype=np.intp)
    rank[order[:, j]] = np.arange(table.n_classes)
    coef = np.zeros((table.n_classes, table.p))
    coef[:, j] = rank
    return coef, -np.concatenate([[0.0], np.cumsum(middle)])[rank]


def _one_ray(table: CodedTable, low: FloatArray, high: FloatArray) -> Direction | None:
    """Without an intercept: two classes on either side of zero in one column."""
    if table.n_classes > 2:
        return None
    gap = np.maximum(np.minimum(low[1], -high[0]), np.minimum(low[0], -high[1]))
    size = np.maximum(np.abs(low).max(axis=0), np.abs(high).max(axis=0))
    gap = np.divide(gap, size, out=np.zeros(table.p), where=size > 0)
    j = int(np.argmax(gap))
    if not gap[j] > 0:
        return None
    coef = np.zeros((2, table.p))
    coef[1, j] = (1.0 if low[1, j] > 0 else -1.0) / (gap[j] * size[j])
    return coef, np.zeros(2)


def _ranges(table: CodedTable) -> Direction:
    """The least and the largest cell of each column in each class: (K, p) twice."""
    low, high = [], []
    for k in range(table.n_classes):
        rows = table.X[table.y == k]
        least, most = rows.min(axis=0), rows.max(axis=0)
        if not isinstance(rows, np.ndarray):
            least, most = least.toarray(), most.toarray()
        low.append(np.asarray(least, dtype=np.float64).ravel())
        high.append(np.asarray(most, dtype=np.float64).ravel())
    return np.array(low), np.array(high)
