"""Many logistic regressions of one table at once:  min_θ F_b(θ) for bags b = 1 … B, one sweep for all of them.

    F_b(w, b₀) = (1/W_b) Σ_i s_ib ℓ(y_i, η_i) + ½λ_b‖w‖²,    s_ib = c_ib v_i f_{b,y_i},   W_b = Σ_i s_ib

c is how often row i is in bag b, v the rows' own weights, f the bags' class weights. The optima lie near that of all
rows, whose Hessian H serves every bag:  θ_b ← θ_b − H̃_b⁻¹∇F_b, with H̃_b = H corrected by the changes of bag b's
gradient seen so far (BFGS). A sweep is two products, (B × p)(p × n) and (B × n)(n × p), and one pass over (B, n).
A bag that shrinks too slowly gets its own Hessian; one that still does, or whose gap is not proven, is left to a fit
of its own. The proof is the curvature bound of verdict/gaps.py with the bag's gradient and its own Hessian at the
end, on a sample of the rows where that is enough: H_b ⪰ share · H_sample.

Notes [6321] "Bagging". Shapes: θ (B, q) or (B, K−1, q) with the intercept last, counts (B, n). Cost: O(npKB) a sweep,
6–8 sweeps; O(np²B/32) for the proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from separatrix.core.numerics import EPS, FloatArray, Index
from separatrix.core.statistic import Statistic
from separatrix.data.engine import each_in_threads, engine, one_blas_thread, sweep
from separatrix.data.rows import Block
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.objective import Objective
from separatrix.solve.linear import Problem, minimise
from separatrix.solve.registry import NEWTON
from separatrix.verdict.gaps import ROUNDING, Factor, curvature_gap, factorise, range_factor

TILE_CELLS = 1 << 16  # scores of a tile of rows in all bags: half a megabyte
SLOW = 0.3  # a step that leaves more of the decrement than this asks for the bag's own Hessian
MAX_SWEEPS = 30
SPARE = 0.02  # how far below the gap asked for a bag goes, so that a sampled Hessian can prove it
SAMPLED = 40  # sampled rows a parameter for a proof
THINNEST = 32
FAR = 700.0  # exp of more is not a number


@dataclass(frozen=True, eq=False)
class BagWeights:
    """s_ib = counts_bi · row_i · factor_b,y_i; ``row`` (n,) and ``factor`` (B, K) None where all one."""

    counts: np.ndarray
    codes: Index
    row: FloatArray | None = None
    factor: FloatArray | None = None

    def of(self, bag: int) -> FloatArray:
        """s of one bag (n,)."""
        return self.part(np.array([bag]), slice(None))[0].astype(np.float64, copy=False)

    def part(self, bags: Index | None, rows: slice) -> np.ndarray:
        """s of some bags (None: all) and rows, (bags, rows)."""
        s = self.counts[:, rows] if bags is None else self.counts[bags, rows]
        if self.factor is not None:
            s = s * (self.factor if bags is None else self.factor[bags])[:, self.codes[rows]]
        return s if self.row is None else s * self.row[rows]

    def totals(self) -> FloatArray:
        """W_b (B,)."""
        if self.factor is None and self.row is None:
            return self.counts.sum(axis=1, dtype=np.int64).astype(float)
        return np.array([self.of(b).sum() for b in range(len(self.counts))])


@dataclass(frozen=True, eq=False)
class BatchFit:
    """Each bag's answer in the user's units; ``failed`` are the bags that need a fit of their own."""

    coef: FloatArray  # (B, p) or (B, K, p)
    intercept: FloatArray  # (B,) or (B, K)
    value: FloatArray
    gap: FloatArray
    goal: FloatArray
    failed: Index
    own_hessians: int
    sweeps: float
    start_sweeps: float


def fit_batch(problem: Problem, weights: BagWeights, C: float, tol: float) -> BatchFit | None:
    """All bags' penalised maximum-likelihood fits; None where the table of all rows gives no start.

    ``problem`` has all rows; its ridge is set here, 1/(C·mean W_b), so that its optimum is a bag's up to noise.
    """
    totals = weights.totals()
    ridge = np.zeros(len(totals)) if np.isinf(C) else 1.0 / (C * totals)
    problem = replace(problem, ridge=float(ridge.mean()))
    with one_blas_thread():
        start = minimise(problem, NEWTON, tol=1e-2, max_iter=50)
        if start.outcome.stopped_by == "interrupted":
            raise KeyboardInterrupt("no bag was finished")
        objective = start.objective
        if (
            not np.isfinite(start.outcome.gap)
            or len(start.aliased)
            or objective.coordinates.basis is not None
        ):
            return None
        at = objective.evaluate(start.outcome.theta, order=2)
        assert at.hessian is not None
        factor = factorise(at.hessian)
        if factor.singular:
            return None
        batch = _Batch(objective, weights, totals, ridge, factor, at.radius, abs(at.value))
        return batch.run(start.outcome.theta.T, tol, start.sweeps + 1)


class _Batch:
    def __init__(
        self,
        objective: Objective,
        weights: BagWeights,
        totals: FloatArray,
        ridge: FloatArray,
        factor: Factor,
        radius: float,
        scale: float,
    ):
        self.objective, self.weights, self.totals, self.ridge = objective, weights, totals, ridge
        self.radius, self.scale = radius, scale
        bags = len(totals)
        self.factors: list[Factor] = [factor] * bags
        self.shared = factor
        self.value = np.full(bags, np.nan)
        self.pairs: list[tuple[FloatArray, FloatArray, FloatArray]] = []

    def run(self, theta0: FloatArray, tol: float, start_sweeps: float) -> BatchFit:
        bags = len(self.totals)
        theta = np.repeat(theta0[None], bags, axis=0)
        flat = theta.reshape(bags, -1)
        gradient, step = np.zeros_like(flat), np.zeros_like(flat)
        previous, reach = np.full(bags, np.inf), np.full(bags, np.inf)
        own = np.zeros(bags, dtype=bool)
        active, failed = np.ones(bags, dtype=bool), np.zeros(bags, dtype=bool)
        floor = SPARE * max(tol**4, ROUNDING) * self.scale
        sweeps = 0
        while active.any() and sweeps < MAX_SWEEPS:
            at = np.flatnonzero(active)
            new, value = self._gradients(theta, at, wanted=bool((reach[at] ** 2 <= floor).all()))
            sweeps += 1
            self._learn(step, new - gradient[at], at)
            gradient[at] = new
            decrement = self._decrements(new, at)
            wild = ~np.isfinite(decrement)
            rate = np.divide(decrement, previous[at], out=np.zeros(len(at)), where=previous[at] > 0)
            met = 0.5 * decrement**2 <= floor
            if value is not None:
                self.value[at] = value
                active[at[met]] = False
            slow = ((rate > SLOW) & ~met) | wild | (decrement > 1.0)
            for b in at[slow]:
                if own[b] or not np.isfinite(gradient[b]).all() or not self._own_hessian(theta, int(b)):
                    failed[b], active[b] = True, False
                own[b] = True
            own[at[~slow & (rate < 0.1)]] = False  # its Hessian serves: another may be taken should it age
            previous[at] = np.where(slow, np.inf, decrement)
            reach[at] = decrement * np.where(np.isfinite(rate) & (rate > 0), np.minimum(rate, 1.0), 0.1)
            reach[at[met]] = 0.0
            move = active.copy()
            move[at[met]] = False  # there already: only its value is missing
            step[:] = 0.0
            go = np.flatnonzero(move)
            step[go] = -self._solve(gradient[go], go)
            flat += step
        failed |= active
        gap, goal = self._proofs(theta, gradient, failed, tol)
        failed |= ~(gap <= goal)
        return self._answer(theta, gap, goal, failed, sweeps, start_sweeps)

    # ---- one sweep ----

    def _gradients(
        self, theta: FloatArray, bags: Index, wanted: bool
    ) -> tuple[FloatArray, FloatArray | None]:
        """∇F_b of some bags (bags, parameters), and F_b where ``wanted``."""
        o, c = self.objective, self.objective.coordinates
        inner = theta[bags]
        inner = inner[:, None] if inner.ndim == 2 else inner  # (bags, heads, q)
        t = inner[..., : c.size]
        u = t * c.scale
        b = c.lift * inner[..., -1] if o.fit_intercept else np.zeros(u.shape[:2])
        some = None if len(bags) == len(self.totals) else bags
        task = _BagTask(u, b if c.far else b - u @ c.centre, c, o.class_basis, self.weights, some, wanted)
        total: _BagSums = sweep(_batch_sums, o.rows, task)[0]
        slope, lift = total.gradient, total.lift
        if not c.far:
            slope = slope - lift[..., None] * c.centre
        W = self.totals[bags]
        out = np.empty_like(inner)
        out[..., : c.size] = (slope / W[:, None, None] + self.ridge[bags, None, None] * u) * c.scale
        if o.fit_intercept:
            out[..., -1] = c.lift * lift / W[:, None]
        value = None
        if wanted:
            value = total.value / W + 0.5 * self.ridge[bags] * np.sum(u * u, axis=(1, 2))
        return out.reshape(len(bags), -1), value

    # ---- steps ----

    def _apply(self, g: FloatArray, bags: Index) -> FloatArray:
        """H_b⁻¹g of each bag by the factor it has: all that share one in a single solve."""
        out = np.empty_like(g)
        shared = np.array([self.factors[b] is self.shared for b in bags], dtype=bool)
        if shared.any():
            out[shared] = self.shared.solve(np.asfortranarray(g[shared].T)).T
        for i in np.flatnonzero(~shared):
            out[i] = self.factors[bags[i]].solve(g[i])
        return out

    def _decrements(self, g: FloatArray, bags: Index) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.sqrt(np.maximum(np.sum(g * self._apply(g, bags), axis=1), 0.0))

    def _solve(self, g: FloatArray, bags: Index) -> FloatArray:
        """H̃_b⁻¹∇F_b: BFGS's two loops over the pairs seen, every bag at once."""
        q, kept = g.copy(), []
        for s, y, rho in reversed(self.pairs):
            a = rho[bags] * np.sum(s[bags] * q, axis=1)
            q -= a[:, None] * y[bags]
            kept.append(a)
        r = self._apply(q, bags)
        for (s, y, rho), a in zip(self.pairs, reversed(kept), strict=True):
            r += (a - rho[bags] * np.sum(y[bags] * r, axis=1))[:, None] * s[bags]
        return r

    def _learn(self, step: FloatArray, change: FloatArray, bags: Index) -> None:
        """Keep (Δθ, Δ∇) of the bags that moved; a pair without positive curvature teaches nothing."""
        if not step.any():
            return
        y = np.zeros_like(step)
        y[bags] = change
        curvature = np.sum(step * y, axis=1)
        good = curvature > EPS * np.sum(y * y, axis=1)
        rho = np.divide(1.0, curvature, out=np.zeros(len(step)), where=good)
        self.pairs.append((step.copy(), y, rho))

    def _own_hessian(self, theta: FloatArray, bag: int) -> bool:
        """Replace a bag's factor by its own Hessian's at its point; whether that is regular."""
        at = self._of(bag).evaluate(theta[bag].T, order=2)
        assert at.hessian is not None
        if not np.isfinite(at.hessian).all():
            return False
        factor = factorise(at.hessian)
        self.factors[bag] = factor
        for _, _, rho in self.pairs:
            rho[bag] = 0.0
        return not factor.singular

    def _of(self, bag: int) -> Objective:
        """F_b as an objective of its own, in the shared coordinates."""
        o = self.objective
        rows = o.rows.with_targets(o.rows.y, self.weights.of(bag))
        return replace(o, rows=rows, ridge=float(self.ridge[bag]))

    # ---- the proof ----

    def _proofs(
        self, theta: FloatArray, gradient: FloatArray, failed: np.ndarray, tol: float
    ) -> tuple[FloatArray, FloatArray]:
        """F_b(θ_b) − min F_b at most, and what was asked for."""
        size, n = gradient.shape[1], self.objective.rows.n
        stride = int(np.clip(n // (SAMPLED * size), 1, THINNEST))
        gap = np.full(len(failed), np.inf)
        goal = max(NEWTON.goal(tol), 1e-13) * np.abs(self.value)
        bend = range_factor(self.objective)

        def prove(bag: int) -> None:
            for every in sorted({stride, 1}, reverse=True):
                with engine("serial"):
                    at = self._of(bag).evaluate(theta[bag].T, order=2, stride=every)
                if at.hessian is None or at.share <= 0 or not np.isfinite(at.hessian).all():
                    continue
                factor = factorise(at.hessian)
                if factor.singular:
                    continue
                g = gradient[bag]
                nu = float(np.sqrt(max(g @ factor.solve(g), 0.0) / at.share))
                r = bend * self.radius * float(np.sqrt(factor.inverse_trace / at.share))
                gap[bag] = max(curvature_gap(nu, r), ROUNDING * abs(self.value[bag]))
                if gap[bag] <= goal[bag]:
                    return

        with one_blas_thread():
            each_in_threads(prove, [int(b) for b in np.flatnonzero(~failed)])
        return gap, goal

    def _answer(
        self,
        theta: FloatArray,
        gap: FloatArray,
        goal: FloatArray,
        failed: np.ndarray,
        sweeps: int,
        start_sweeps: float,
    ) -> BatchFit:
        found = [self.objective.to_user(t.T) for t in theta]
        return BatchFit(
            np.array([w for w, _ in found]),
            np.array([b for _, b in found]),
            self.value,
            gap,
            goal,
            np.flatnonzero(failed),
            sum(f is not self.shared for f in self.factors),
            float(sweeps),
            start_sweeps,
        )


@dataclass(frozen=True, eq=False)
class _BagTask:
    """u (bags, heads, p) multiplies the cells, offset (bags, heads) is the score where they are zero."""

    u: FloatArray
    offset: FloatArray
    coordinates: Coordinates
    class_basis: FloatArray | None
    weights: BagWeights
    bags: Index | None
    wanted: bool


@dataclass(frozen=True, eq=False)
class _BagSums(Statistic):
    """Sums over some rows for every bag: slopes times cells (bags, heads, p), slopes (bags, heads), losses."""

    gradient: FloatArray
    lift: FloatArray
    value: FloatArray


@np.errstate(over="ignore", invalid="ignore")
def _batch_sums(block: Block, task: _BagTask, _memo: None) -> tuple[_BagSums, None]:
    bags, heads, p = task.u.shape
    u = np.ascontiguousarray(task.u.reshape(-1, p))
    gradient, lift, value = np.zeros((bags * heads, p)), np.zeros((bags, heads)), np.zeros(bags)
    classes = heads if task.class_basis is None else heads + 1
    size = max(64, TILE_CELLS // (bags * classes))
    slopes: Callable[..., FloatArray] = _two_classes if task.class_basis is None else _many_classes
    for a in range(0, block.n, size):
        part = slice(a, min(a + size, block.n))
        cells = block.dense(part)
        if task.coordinates.far:
            cells = np.subtract(cells, task.coordinates.centre, dtype=np.float64)
        elif cells.dtype != np.float64:
            cells = cells.astype(np.float64)
        scores = np.dot(u, cells.T).reshape(bags, heads, -1)
        scores += task.offset[..., None]
        s = task.weights.part(task.bags, slice(block.start + a, block.start + part.stop))
        slope = slopes(scores, block.y[part], s, task, value)
        gradient += np.dot(slope.reshape(bags * heads, -1), cells)
        lift += slope.sum(axis=2)
    return _BagSums(gradient.reshape(bags, heads, p), lift, value), None


def _two_classes(
    scores: FloatArray, y: FloatArray, s: np.ndarray, task: _BagTask, value: FloatArray
) -> FloatArray:
    """s ℓ' of the logistic loss, y = ±1, in the place of the scores; Σ s ℓ is added to ``value`` where wanted."""
    m = scores[:, 0]
    m *= -y
    e = np.exp(np.minimum(m, FAR))
    if task.wanted:
        losses = np.log1p(e)
        losses += np.maximum(m - FAR, 0.0)
        value += np.einsum("bi,bi->b", losses, s)
    np.add(e, 1.0, out=m)
    np.divide(e, m, out=m)
    m *= s
    m *= -y
    return scores


def _many_classes(
    scores: FloatArray, y: Index, s: np.ndarray, task: _BagTask, value: FloatArray
) -> FloatArray:
    """s (P − Y) turned back to K − 1 heads; Σ s ℓ is added to ``value`` where wanted."""
    assert task.class_basis is not None
    eta = np.matmul(task.class_basis, scores)
    rows = np.arange(len(y))
    eta -= eta.max(axis=1, keepdims=True)
    own = eta[:, y, rows]
    np.exp(eta, out=eta)
    total = eta.sum(axis=1)
    if task.wanted:
        value += np.einsum("bi,bi->b", np.log(total) - own, s)
    eta /= total[:, None]
    eta[:, y, rows] -= 1.0
    eta *= s[:, None]
    return np.matmul(task.class_basis.T, eta)
