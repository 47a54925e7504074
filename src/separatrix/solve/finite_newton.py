"""Newton's method for machines whose loss is a squared hinge or a squared tube:  F = ½‖w‖² + Σ_i c_i h(η_i)²

F is a parabola wherever no row crosses its corner, so a step of Newton's with the rows that are short,

    (P + Σ_{short} 2c z zᵀ) d = −∇F,        z = (x − centre, 1)

lands on the minimum as soon as the right rows are short: it ends after finitely many steps, usually 5 to 12. Each is
followed by an exact search along it, on the scores alone. The slopes β = ∓2c·(how short) are a dual point, and prove
how far F is from its minimum. Cost O(np²) a step at most, O(p³) a factor. Notes: [PC] "Newton-Raphson", [6321].
"""

from __future__ import annotations

import sys
from collections.abc import MutableMapping

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.interrupts import check, until_interrupted
from separatrix.loops.squares import LIMIT, MET, squared_newton, step_length
from separatrix.loops.squares_rows import squared_by_rows
from separatrix.problems.margin import MarginMachine, Proof, both_signs, stored_pull
from separatrix.problems.stored_cells import stored_scores
from separatrix.solve.interior import STALLED, MarginFit
from separatrix.solve.short_rows import BySweeps, StoredSums, Table, sums_of

FEW = 1 << 15  # cells up to which the search is one call
NARROW = 32  # columns up to which it factors as fast as LAPACK
BY_ROWS = 256  # rows up to which, of no fewer than half as many columns, it goes by the rows
STEEP = 1e8  # 2c Σ‖z‖² up to which their Gram matrix is relied on

Inverses = MutableMapping[bytes, tuple[FloatArray, FloatArray]]


def finite_newton(
    machine: MarginMachine,
    centre: FloatArray,
    tol: float,
    max_iter: int,
    *,
    verbose: int = 0,
    table: Table | None = None,
    kept: Inverses | None = None,
) -> MarginFit:
    """Minimise until a dual point proves a relative gap of ``tol``; ``centre`` as for the interior point.

    What machines of the same rows have in common: ``table``, the rows as :meth:`Table.of` has them, and ``kept``,
    which is written on.
    """
    if not machine.squared or machine.hard:
        raise ValueError(
            "Newton's method needs a squared loss and finite costs: the interior point has corners"
        )
    rows, p = machine.rows, int(machine.rows.p)
    centre = np.array(centre) if machine.fit_intercept else np.zeros_like(centre)
    few = None
    if not verbose:
        few = _of_few_rows(machine, centre, tol, max_iter)
        few = few or _by_rows(machine, centre, tol, max_iter, {} if kept is None else kept)
    if few is not None:
        return few
    q = p + int(machine.fit_intercept)
    sums = sums_of(machine, centre, q, table)
    w, ridge = np.zeros(q), np.append(np.ones(p), [0.0] * (q - p))
    eta = np.zeros(rows.n)
    if machine.fit_intercept:
        w[p] = _first_intercept(machine)
        eta += w[p]
    sides = machine.target, machine.up, machine.down, float(machine.epsilon)
    stopped, sweeps, iterations = "max_iter reached", 0.0, 0
    with until_interrupted() as watch:
        for iterations in range(max_iter + 1):
            check()
            total = sums.short(eta)
            sweeps += 1
            if iterations == 0 and isinstance(sums, StoredSums) and not sums.near_origin():
                sums = BySweeps(machine, centre, q)
                total = sums.short(eta)
                sweeps += 1
            gradient = ridge * w - total.pull
            value = 0.5 * float(w[:p] @ w[:p]) + total.loss
            step = _solve(total.hessian, ridge, -gradient)
            if step is None:  # what was taken away left its rounding
                step = _solve(sums.afresh().hessian, ridge, -gradient)
            if step is None:
                raise np.linalg.LinAlgError("the matrix of Newton's step is not positive definite")
            left = -0.5 * float(gradient @ step)  # what the parabola promises
            if verbose:
                print(
                    f"  step {iterations:3d}   objective {value:.10g}   parabola −{left:.1e}", file=sys.stderr
                )
            # and what the slopes prove as a dual point, whose gap is ½‖∇F‖² along the penalised weights
            far = 0.5 * float(gradient[:p] @ gradient[:p]) > tol * abs(value) and left > 4 * EPS * abs(value)
            if left <= max(0.1 * tol, 4 * EPS) * abs(value) and not far:
                stopped = "gap ≤ tol"
                if left <= 4 * EPS * abs(value) or iterations == max_iter:
                    break
            elif iterations == max_iter:
                break
            move = sums.moves(step)
            sweeps += 1
            linear, square = float(w[:p] @ step[:p]), float(step[:p] @ step[:p])
            t = step_length(linear, square, *sides, eta, move)
            if t <= 0:
                stopped = STALLED
                break
            w, eta = w + t * step, eta + t * move
            if stopped == "gap ≤ tol":  # one more step after the promise got small: the last is exact
                break
    if watch.interrupted:
        stopped = "interrupted"
    coef = w[:p].copy()
    b = float(w[p] - centre @ coef) if machine.fit_intercept else 0.0
    proof = prove_by_slopes(machine, coef, b)
    if stopped != "interrupted":
        met = proof.gap <= tol * abs(proof.primal)
        stopped = "gap ≤ tol" if met else STALLED if stopped == "gap ≤ tol" else stopped
    return MarginFit(coef, b, proof, iterations, sweeps + 2, stopped)


def _of_few_rows(machine: MarginMachine, centre: FloatArray, tol: float, max_iter: int) -> MarginFit | None:
    """The search in one compiled call, where the rows are few; None elsewhere, and where rounding got in its way."""
    rows = machine.rows
    q = rows.p + int(machine.fit_intercept)
    if rows.n_blocks > 1 or rows.lazy or rows.sparse or rows.n * q > FEW or q > NARROW:
        return None
    z = np.ones((rows.n, q))
    np.subtract(rows.source, centre, out=z[:, : rows.p])
    w, eta, move = np.zeros(q), np.zeros(rows.n), np.empty(rows.n)
    sides = machine.target, machine.up, machine.down, float(machine.epsilon)
    steps, ended = squared_newton(z, rows.p, *sides, float(tol), max_iter, w, eta, move)
    if ended not in (MET, LIMIT):
        return None
    coef = w[: rows.p].copy()
    b = float(w[-1] - centre @ coef) if machine.fit_intercept else 0.0
    proof = prove_by_slopes(machine, coef, b)
    if ended == MET and not proof.within(tol):
        return None
    sweeps = 2.0 * steps + 1.0
    return MarginFit(coef, b, proof, steps, sweeps + 2, "gap ≤ tol" if ended == MET else "max_iter reached")


def _by_rows(
    machine: MarginMachine, centre: FloatArray, tol: float, max_iter: int, kept: Inverses
) -> MarginFit | None:
    """The search in one compiled call by products of the rows, where they are few and about as many as the columns;
    None elsewhere, and where rounding got in its way."""
    rows, up, down = machine.rows, machine.up, machine.down
    if rows.n_blocks > 1 or rows.lazy or rows.sparse or rows.n > BY_ROWS or 2 * rows.p < rows.n:
        return None
    cost = np.maximum(up, down)
    if np.any((up > 0) & (down > 0) & (up != down)):
        return None
    z = np.subtract(rows.source, centre, dtype=np.float64)
    key = cost.tobytes()
    if key not in kept:
        live = cost > 0
        gram = (z @ z.T) * np.outer(live, live)
        if not 2.0 * float(cost.max(initial=0.0)) * float(np.trace(gram)) <= STEEP:
            return None
        bend = np.divide(0.5, cost, out=np.ones(rows.n), where=live)
        kept[key] = gram, np.linalg.inv(gram + np.diag(bend))
    gram, inverse = kept[key]
    a, eta, work = np.zeros(rows.n), np.zeros(rows.n), np.empty((9, rows.n))
    sides = machine.target, up, down, float(machine.epsilon), cost, machine.fit_intercept
    steps, ended, b = squared_by_rows(gram, inverse, *sides, float(tol), max_iter, a, eta, work)
    coef = z.T @ a
    proof = prove_by_slopes(machine, coef, float(b - centre @ coef))
    if ended not in (MET, LIMIT) or (ended == MET and not proof.within(tol)):
        return None
    stopped = "gap ≤ tol" if ended == MET else "max_iter reached"
    return MarginFit(coef, float(b - centre @ coef), proof, steps, 2.0 * steps + 3, stopped)


def prove_by_slopes(machine: MarginMachine, coef: FloatArray, b: float) -> Proof:
    """The proof at (w, b) whose dual point is the losses' slopes."""
    rows = machine.rows
    if rows.sparse:
        eta = stored_scores(rows.source, coef, b)
        beta = machine.slope_beta(eta)
        return machine.prove_from(coef, eta, beta, stored_pull(rows.source, beta))
    if rows.n_blocks > 1 or rows.lazy:
        eta = machine.prove(coef, b, np.zeros(rows.n)).eta
        return machine.prove(coef, b, machine.slope_beta(eta))
    eta = np.asarray(rows.source @ coef) + b
    beta = machine.slope_beta(eta)
    pull = np.asarray(rows.source.T @ np.column_stack(both_signs(beta))).T
    return machine.prove_from(coef, eta, beta, pull)


def _solve(hessian: FloatArray, ridge: FloatArray, pull: FloatArray) -> FloatArray | None:
    """(H + P)⁻¹ pull; None where that is not positive definite to rounding."""
    from scipy.linalg import lapack

    H = hessian + np.diag(ridge)
    size = np.sqrt(np.diag(H))
    size[size == 0] = 1.0  # no row is short: the intercept is free, and stays
    H /= size
    H /= size[:, None]
    H[np.diag_indices(len(H))] = np.maximum(np.diag(H), 1.0) * (1.0 + 8 * EPS)
    _, step, info = lapack.dposv(H, pull / size)
    return None if info else np.asarray(step) / size


def _first_intercept(machine: MarginMachine) -> float:
    """b that minimises the loss without weights: on one side of zero or on the other."""
    sides = machine.target, machine.up, machine.down, float(machine.epsilon)
    eta, one = np.zeros(machine.rows.n), np.ones(machine.rows.n)
    above = float(step_length(0.0, 0.0, *sides, eta, one))
    return above or -float(step_length(0.0, 0.0, *sides, eta, -one))
