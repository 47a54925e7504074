"""A primal–dual interior point for machines with a hinge or a tube, by sums over rows only ([6867] 5.3, [6321]).

    min ½‖w‖² + Σ cap·ξ     s.t.  sign·(w·x + b) − target + ξ = s,   s, ξ ≥ 0     multipliers α of s, m = cap − α of ξ

Optimal where w = Σ sign·α x, Σ sign·α = 0, and every product α s, m ξ is zero. Newton's direction towards products of
σμ, with D = ξ/m + s/α and q = target − sign·η (+ what the products ask for), is one small system:

    (P + Σ_i z zᵀ/D) (dw, db) = −r_d + Σ_i sign·z q/D,        dα = (q − sign·dη)/D,   z = (x − centre, 1)

Where the gap is rounding alone the products can fall on, to numbers whose reciprocals are infinite: steps end once
the products are less than the objective's own rounding, or once a gap that is small enough no longer falls.

Mehrotra's predictor (σ = 0) says how far a step may go and so σ = (μ_aff/μ)³, his corrector adds the products of the
predictor. Dual residuals r_d shrink by 1 − t with every step of length t. What a row remembers (η, α, m, s, ξ) is the
sweep's memo. Three passes a step: Σ z zᵀ/D, the predictor, the corrector; 15 to 30 steps whatever n.

Cost: O(np²) a step, O(p³) a factor; memory O(n) and O(p²).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.engine import sweep
from separatrix.data.interrupts import until_interrupted
from separatrix.data.rows import Block
from separatrix.loops.interior import advance, centred_rows, correct, predict, weigh
from separatrix.problems.margin import MarginMachine, Proof, best_intercept, blocked

SHORT_OF_THE_WALL = 0.995
TINY_STEP = 1e-7
IDLE = 4  # steps that may leave a gap that is small enough as large as it is
STALLED = "rounding: no step is left"


@dataclass(frozen=True, eq=False)
class MarginFit:
    """Where a solver of margin machines ended: w, b, the proof there, and why it stopped."""

    coef: FloatArray
    intercept: float
    proof: Proof
    iterations: int
    sweeps: float
    stopped_by: str
    finished: str = ""  # a sentence where another method did the last steps


def interior(
    machine: MarginMachine,
    centre: FloatArray,
    tol: float,
    max_iter: int,
    *,
    further: float | None = None,
    verbose: int = 0,
) -> MarginFit:
    """Minimise the machine's objective until a feasible dual point proves a relative gap of ``tol``.

    ``centre`` (p,) is taken off the columns while solving (their mean, with an intercept), so that a far origin costs
    no digits. ``further`` is a smaller gap to go on to while steps are left, where they cost little.
    """
    if machine.squared:
        raise ValueError(
            "the interior point is for losses with corners: Newton's method solves a squared one"
        )
    return _Interior(machine, centre, verbose).run(tol, min(tol, further or tol), max_iter)


class _Interior:
    """The moving state of one solve."""

    def __init__(self, machine: MarginMachine, centre: FloatArray, verbose: int):
        self.machine, self.verbose = machine, verbose
        self.centre = np.array(centre) if machine.fit_intercept else np.zeros_like(centre)
        p = len(centre)
        q = p + int(machine.fit_intercept)
        self.w = np.zeros(q)
        self.sweeps = 0.0
        self.ridge = np.ones(q)
        self.ridge[p:] = 0.0
        sign, target, cap = _sides(machine)
        live = cap > 0
        self.pairs = int(live.sum()) * (1 if machine.hard else 2)
        if machine.fit_intercept:
            self.w[-1] = _middle(machine)
        eta = np.full(machine.rows.n, self.w[-1] if machine.fit_intercept else 0.0)
        size = float(np.mean(np.abs(target - sign * eta[:, None])[live])) or 1.0
        s, xi = np.full(cap.shape, size), np.full(cap.shape, size)
        if machine.hard:
            alpha, room = np.where(live, 1.0 / len(eta), 0.0), np.zeros(cap.shape)
        else:
            alpha = np.where(live, 0.5 * cap, 0.0)
            room = alpha.copy()
        shape = cap.shape
        state = (
            sign, target, cap, eta, alpha, room, s, xi, np.zeros(len(eta)), np.zeros(shape), np.zeros(shape),
            np.zeros(shape),
        )  # fmt: skip
        self.memo: list[State] = blocked(machine.rows, *state)
        self.step = 0.0
        self.residual = self.ridge * self.w - self._start()

    def run(self, tol: float, further: float, max_iter: int) -> MarginFit:
        stopped, iterations = "max_iter reached", 0
        best: tuple[FloatArray, float, Proof] | None = None
        least, idle = np.inf, 0
        with until_interrupted() as watch:
            for iterations in range(max_iter + 1):
                sums = self._weigh()
                mu, primal, estimate = self._estimates(sums)
                least, idle = (estimate, 0) if estimate <= 0.5 * least else (least, idle + 1)
                if self.verbose:
                    print(
                        f"  step {iterations:3d}   objective {primal:.10g}   gap about {estimate:.1e}",
                        file=sys.stderr,
                    )
                if estimate <= further * abs(primal) or iterations == max_iter:
                    best = self._proven(best)
                    if best[2].within(tol):
                        stopped = "gap ≤ tol"
                        break
                spent = self._is_rounding(sums, primal) or (idle >= IDLE and estimate <= tol * abs(primal))
                if iterations == max_iter or spent or not self._newton_step(sums, mu):
                    stopped = stopped if iterations == max_iter else STALLED
                    break
        if watch.interrupted:
            stopped = "interrupted"
        best = self._proven(best) if best is None or stopped != "gap ≤ tol" else best
        if best[2].within(tol) and stopped != "interrupted":
            stopped = "gap ≤ tol"
        return MarginFit(best[0], best[1], best[2], iterations, self.sweeps, stopped)

    # ---- one step ----

    def _estimates(self, sums: _Newton) -> tuple[float, float, float]:
        """μ, F at the current weights, and about how far it is from the dual (exact once residuals vanish)."""
        mu = float(sums.sums[0]) / self.pairs
        w = self.w * self.ridge
        v = w - self.ridge * self.residual
        primal = 0.5 * float(w @ w) + float(sums.sums[1])
        dual = float(sums.sums[2]) - 0.5 * float(v @ v)
        if self.machine.hard:
            return mu, primal, abs(float(sums.sums[0])) + float(np.linalg.norm(self.residual)) ** 2
        return mu, primal, abs(primal - dual)

    def _is_rounding(self, sums: _Newton, primal: float) -> bool:
        """Whether all products together are less than what rounding hides in the primal and the dual."""
        return float(sums.sums[0]) <= EPS * (abs(primal) + abs(float(sums.sums[2])))

    def _newton_step(self, sums: _Newton, mu: float) -> bool:
        """Predictor and corrector; False when no step is left to take."""
        from scipy.linalg import lapack

        hessian = sums.hessian
        if not (np.isfinite(hessian).all() and np.isfinite(sums.pull).all() and mu > 0):
            return False
        hessian[np.diag_indices(len(hessian))] += self.ridge
        size = np.sqrt(np.diag(hessian))
        size[size == 0] = 1.0
        chol, info = lapack.dpotrf(hessian / size / size[:, None], lower=0)
        if info != 0:
            return False

        def solve(g: FloatArray) -> FloatArray:
            return np.asarray(lapack.dpotrs(chol, g / size, lower=0)[0]) / size

        first = solve(sums.pull - self.residual)
        ahead: _Predicted = self._sweep(_predict, first)
        if not (np.isfinite(ahead.pulls).all() and np.isfinite(ahead.sums).all()):
            return False  # a multiplier has underflowed: 1/α is no number
        t = ahead.largest
        mu_ahead = mu + (t * ahead.sums[0] + t * t * ahead.sums[1]) / self.pairs
        aim = mu * max(mu_ahead / mu, 0.0) ** 3
        step = solve(sums.pull - self.residual + aim * ahead.pulls[:, 0] + ahead.pulls[:, 1])
        if not np.isfinite(step).all():
            return False
        reached: _Least = self._sweep(_correct, (step, aim))
        t = min(1.0, SHORT_OF_THE_WALL * reached.value)
        if t < TINY_STEP:
            return False
        self.w = self.w + t * step
        self.residual = self.residual * (1.0 - t)
        self.step = t
        return True

    def _sweep(self, local: Any, params: Any) -> Any:
        total, self.memo = sweep(local, self.machine.rows, (self.centre, params), self.memo)
        self.sweeps += 1
        return total

    def _weigh(self) -> _Newton:
        step, self.step = self.step, 0.0
        total: _Newton = self._sweep(_weigh, (step, len(self.w)))
        return total

    def _start(self) -> FloatArray:
        """Σ sign·α z."""
        total: FloatArray = self._sweep(_signed_sum, len(self.w))
        return total

    def _proven(self, before: tuple[FloatArray, float, Proof] | None) -> tuple[FloatArray, float, Proof]:
        """w and b in the user's units with the proof there; the better of the intercept reached and the best one."""
        machine, p = self.machine, len(self.centre)
        coef: FloatArray = self.w[:p].copy()
        b = float(self.w[-1] - self.centre @ coef) if machine.fit_intercept else 0.0
        beta: FloatArray = np.concatenate([np.sum(m[0] * m[4], axis=1) for m in self.memo])
        proof = machine.prove(coef, b, beta)
        self.sweeps += 1
        if machine.hard and machine.two_sided:
            pass  # there is no scale to choose
        elif machine.hard:
            coef, b, proof = scaled_up(machine, coef, b, beta)
        elif machine.fit_intercept:
            better = best_intercept(machine, proof.eta, b)
            moved = machine.prove(coef, better, beta)
            self.sweeps += 1
            if moved.primal <= proof.primal + 64 * EPS * abs(proof.primal):  # of equals, the middle one
                b, proof = better, moved
        if before is not None and before[2].primal <= proof.primal:
            dual = max(before[2].dual, proof.dual)
            own = before[2] if before[2].dual >= proof.dual else proof
            return before[0], before[1], Proof(before[2].primal, dual, own.beta, before[2].eta)
        return coef, b, proof


def scaled_up(
    machine: MarginMachine, coef: FloatArray, b: float, beta: FloatArray
) -> tuple[FloatArray, float, Proof]:
    """A hard margin's (w, b) moved to the middle of what it separates and scaled so that the least margin is one."""
    proof = machine.prove(coef, b, beta)
    up, down = machine.up > 0, machine.down > 0
    low, high = proof.eta[up], proof.eta[down]
    if len(low) and len(high) and machine.fit_intercept and low.min() > high.max():
        b -= 0.5 * (float(low.min()) + float(high.max()))
        scale = 2.0 / (float(low.min()) - float(high.max()))
    else:
        least = min(low.min(initial=np.inf), (-high).min(initial=np.inf))
        scale = 1.0 / float(least) if least > 0 else 1.0
    coef, b = coef * scale, b * scale
    return coef, b, machine.prove(coef, b, beta)


def _sides(machine: MarginMachine) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(sign, target, cap), each (n, 1) where every row has one side at most, else (n, 2)."""
    t, e = machine.target, machine.epsilon
    if not np.any((machine.up > 0) & (machine.down > 0)):
        sign = np.where(machine.down > 0, -1.0, 1.0)
        cap = np.maximum(machine.up, machine.down)
        return sign[:, None], (sign * t - e)[:, None], cap[:, None]
    sign = np.tile([1.0, -1.0], (len(t), 1))
    return sign, np.column_stack([t - e, -t - e]), np.column_stack([machine.up, machine.down])


def _middle(machine: MarginMachine) -> float:
    """A first intercept: the targets' mean by weight, zero for signs; the middle of a tube without slack."""
    if machine.hard:
        live = machine.target[machine.up > 0]
        return 0.5 * float(live.min() + live.max()) if machine.two_sided else 0.0
    weight = machine.up + machine.down
    return float(machine.target @ weight / weight.sum())


# ---- sums over a block ----
# No Statistics: sealing arrays after each of three sweeps a step would cost small fits a few per cent.

State = tuple[FloatArray, ...]  # what the rows of a block remember


@dataclass(frozen=True)
class _Newton:
    hessian: FloatArray
    pull: FloatArray
    sums: FloatArray

    def __add__(self, other: _Newton) -> _Newton:
        return _Newton(self.hessian + other.hessian, self.pull + other.pull, self.sums + other.sums)

    def __iadd__(self, other: _Newton) -> _Newton:
        for own, more in ((self.hessian, other.hessian), (self.pull, other.pull), (self.sums, other.sums)):
            np.add(own, more, out=own)
        return self


@dataclass(frozen=True)
class _Predicted:
    pulls: FloatArray
    sums: FloatArray
    largest: float

    def __add__(self, other: _Predicted) -> _Predicted:
        return _Predicted(self.pulls + other.pulls, self.sums + other.sums, min(self.largest, other.largest))


@dataclass(frozen=True)
class _Least:
    value: float

    def __add__(self, other: _Least) -> _Least:
        return _Least(min(self.value, other.value))


def _own(memo: State) -> State:
    """The row state as this block may write on it: what travelled to another process comes back read-only."""
    return memo if memo[3].flags.writeable else tuple(np.array(a) for a in memo)


def _cells(block: Block, part: slice) -> np.ndarray:
    cells = block.dense(part)
    return cells if cells.flags.c_contiguous else np.ascontiguousarray(cells)


def _weigh(block: Block, task: tuple[FloatArray, tuple[float, int]], memo: State) -> tuple[_Newton, State]:
    from scipy.linalg.blas import dsyrk

    centre, (step, q) = task
    memo = _own(memo)
    hessian, pull, sums = np.zeros((q, q), order="F"), np.zeros(q), np.zeros(3)
    buffer = root = own = None
    for part in block.tiles(q):
        sign, target, cap, eta, alpha, room, s, xi, d_eta, d_alpha, d_s, d_xi = (a[part] for a in memo)
        if step:
            advance(step, eta, alpha, room, s, xi, d_eta, d_alpha, d_s, d_xi)
        if buffer is None:
            buffer, root, own = np.empty((len(eta), q)), np.empty(len(eta)), np.empty(len(eta))
        assert root is not None and own is not None
        k = len(eta)
        weigh(sign, target, cap, eta, alpha, room, s, xi, root[:k], own[:k], sums)
        rows = buffer[:k]
        centred_rows(_cells(block, part), centre, root[:k], rows)
        hessian = dsyrk(1.0, rows.T, beta=1.0, c=hessian, overwrite_c=1)
        pull += own[:k] @ rows
    hessian = np.triu(hessian)
    hessian += np.triu(hessian, 1).T
    return _Newton(hessian, pull, sums), memo


def moves(cells: np.ndarray, centre: FloatArray, direction: FloatArray, out: FloatArray) -> None:
    """dη = (x − centre)·dw + db."""
    p = len(centre)
    offset = -float(centre @ direction[:p]) + (float(direction[p]) if len(direction) > p else 0.0)
    np.add(cells @ direction[:p], offset, out=out)


def _back(cells: np.ndarray, centre: FloatArray, own: FloatArray, q: int) -> FloatArray:
    """Σ z·own of a tile: (q,) or (q, k)."""
    p = len(centre)
    out = np.empty((q, *own.shape[1:]))
    with np.errstate(over="ignore", invalid="ignore"):  # against the wall: the step is refused as not finite
        mass = own.sum(axis=0)
        out[:p] = cells.T @ own - np.multiply.outer(centre, mass)
    out[p:] = mass
    return out


def _predict(block: Block, task: tuple[FloatArray, FloatArray], memo: State) -> tuple[_Predicted, State]:
    centre, direction = task
    memo = _own(memo)
    q = len(direction)
    total, sums, largest = np.zeros((q, 2)), np.zeros(2), 1.0
    for part in block.tiles(q):
        sign, target, cap, eta, alpha, room, s, xi, d_eta, second, _, third = (a[part] for a in memo)
        cells = block.dense(part)
        moves(cells, centre, direction, d_eta)
        pulls = np.empty((len(eta), 2))
        largest = min(
            largest,
            predict(sign, target, cap, eta, alpha, room, s, xi, d_eta, second, third, pulls, sums),
        )
        total += _back(cells, centre, pulls, q)
    return _Predicted(total, sums, largest), memo


def _correct(
    block: Block, task: tuple[FloatArray, tuple[FloatArray, float]], memo: State
) -> tuple[_Least, State]:
    centre, (direction, mu) = task
    memo = _own(memo)
    largest = 1e300
    for part in block.tiles(len(direction)):
        sign, target, cap, eta, alpha, room, s, xi, d_eta, d_alpha, d_s, d_xi = (a[part] for a in memo)
        moves(block.dense(part), centre, direction, d_eta)
        largest = min(
            largest,
            correct(mu, sign, target, cap, eta, alpha, room, s, xi, d_eta, d_alpha, d_s, d_xi),
        )
    return _Least(largest), memo


def _signed_sum(block: Block, task: tuple[FloatArray, int], memo: State) -> tuple[FloatArray, State]:
    centre, q = task
    sign, alpha = memo[0], memo[4]
    total = np.zeros(q)
    for part in block.tiles(q):
        total += _back(block.dense(part), centre, np.sum(sign[part] * alpha[part], axis=1), q)
    return total, memo
