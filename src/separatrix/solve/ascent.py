"""Dual coordinate ascent with a free intercept, for sparse wide rows and small dense ones ([6867] 5.2, [6321] duals).

    max over β ∈ box, Σβ = 0 of  Σ (tβ − ε|β|) − ½‖Σβx‖² (− Σβ²/4c)       one β_i at a time

Rows come in an order drawn anew each pass. One coordinate at a time cannot keep Σβ = 0. Instead the intercept gets
a column of its own of size √ρ, pulled towards where it last stood (a proximal step, which is the method of
multipliers on Σβ = 0):

    b ← b + ρ Σβ   between passes,      and with every step dβ inside one:  b ← b + ρ dβ

Fixed points have Σβ = 0 and b the unpenalised intercept, whatever ρ > 0; ρ grows (up to ‖x‖²) where Σβ does not
shrink. The gap is proven by a feasible β made from the last one (problems/margin.py); passes go on until it is small
enough. Rows at a bound are set aside until the rest is done.

Cost O(cells) a pass, 10 to a few hundred passes; rows in memory. Machines of one-vs-rest run side by side.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.interrupts import check, until_interrupted
from separatrix.data.rows import floats
from separatrix.loops.ascent import dense_pass, joint_pass, own_sums, shuffle, sparse_pass
from separatrix.loops.sparse import back_k, scores_k
from separatrix.problems.margin import MarginMachine, Proof, best_intercept
from separatrix.problems.stored_cells import row_squares
from separatrix.solve.interior import MarginFit

PATIENCE, SHRUNK, GROWTH = 10, 0.5, 2.0  # after so many passes Σβ has shrunk so much, or ρ grows so much
PULL = 0.03  # ρ over the mean ‖x‖²: larger couples rows through the intercept, smaller lets it lag behind


def first_look(tol: float) -> float:
    """The largest violation of a row at which the gap is first looked at: the gap goes with its square."""
    return min(0.5, 5.0 * float(np.sqrt(tol)))


def coordinate_ascent(
    machine: MarginMachine, tol: float, max_iter: int, *, seed: int = 0, verbose: int = 0
) -> MarginFit:
    """Maximise the dual until it proves a relative gap of ``tol``, in at most ``max_iter`` passes."""
    if machine.rows.lazy:
        raise ValueError("coordinate ascent visits rows in random order and needs them in memory")
    return _Ascent(machine, seed, verbose).run(tol, max_iter)


class _Ascent:
    """The moving state of one solve."""

    def __init__(self, machine: MarginMachine, seed: int, verbose: int):
        self.machine, self.verbose = machine, verbose
        rows = machine.rows
        X = rows.source
        cost = np.maximum(machine.up, machine.down)
        live = cost > 0
        if rows.sparse:
            self.cells: tuple[Any, ...] = (X.data, X.indices, X.indptr)
            norms = row_squares(X)
        else:
            X = np.ascontiguousarray(floats(X))
            self.cells = (X,)
            norms = np.einsum("ij,ij->i", X, X, dtype=np.float64)
        if machine.squared:
            bend = np.divide(0.5, cost, out=np.zeros(rows.n), where=live)
            low = np.where(machine.down > 0, -np.inf, 0.0)
            high = np.where(machine.up > 0, np.inf, 0.0)
        else:
            bend, low, high = np.zeros(rows.n), -machine.down, machine.up
        self.rho = PULL * float(np.mean(norms[live])) if machine.fit_intercept else 0.0
        self.rho = self.rho or float(machine.fit_intercept)
        self.most = self.rho / PULL
        self.fixed = (norms, machine.target, low, high, bend, float(machine.epsilon))
        self.w = np.zeros(rows.p)
        self.lift = np.zeros(2)
        if machine.fit_intercept:
            self.lift[0] = best_intercept(machine, np.zeros(rows.n), 0.0)
        self.beta = np.zeros(rows.n)
        self.active = np.flatnonzero(live)
        self.random = np.array([(seed + 1) * 0x9E3779B97F4A7C15 % 2**64], dtype=np.uint64)

    def run(self, tol: float, max_iter: int) -> MarginFit:
        total = count = len(self.active)
        margin, goal, uneven = np.inf, first_look(tol), np.inf
        best: tuple[FloatArray, float, Proof] | None = None
        stopped, passes, sweeps = "max_iter reached", 0, 0.0
        one_pass: Any = sparse_pass if self.machine.rows.sparse else dense_pass
        with until_interrupted() as watch:
            for passes in range(1, max_iter + 1):
                shuffle(self.active, count, self.random)
                sweeps += count / total
                whole = count == total
                check()
                count, worst = one_pass(
                    *self.cells,
                    *self.fixed,
                    self.rho,
                    self.w,
                    self.lift,
                    self.beta,
                    self.active,
                    count,
                    margin,
                )
                jump = abs(self.rho * self.lift[1])
                self.lift[0] += self.rho * self.lift[1]
                if passes % PATIENCE == 0:
                    left, uneven = uneven, abs(self.lift[1])
                    if uneven > SHRUNK * left and self.rho < self.most:
                        self.rho *= GROWTH
                # the intercept moves more than any row: those set aside may have to answer
                if jump > 10 * worst:
                    count, margin = total, np.inf
                else:
                    margin = worst
                worst = max(worst, jump)
                if worst > goal and passes < max_iter:
                    continue
                if not whole and passes < max_iter:
                    count, margin = total, np.inf  # everyone is asked again before a gap is claimed
                    continue
                best = self._proven(best)
                sweeps += 1
                gap = best[2].gap / max(abs(best[2].primal), 1e-300)
                if self.verbose:
                    print(
                        f"  pass {passes:4d}   objective {best[2].primal:.10g}   gap {gap:.1e}",
                        file=sys.stderr,
                    )
                if gap <= tol:
                    stopped = "gap ≤ tol"
                    break
                goal = worst * min(0.5, max(0.05, np.sqrt(tol / gap)))
                count, margin = total, np.inf
        if watch.interrupted:
            stopped = "interrupted"
        if best is None or stopped == "interrupted":
            best = self._proven(best)
        return MarginFit(best[0], best[1], best[2], passes, sweeps, stopped)

    def _proven(self, before: tuple[FloatArray, float, Proof] | None) -> tuple[FloatArray, float, Proof]:
        """The proof at (w, b); the better of this point and the one before, with the better of the two bounds."""
        machine = self.machine
        coef, b = self.w.copy(), float(self.lift[0])
        proof = machine.prove(coef, b, self.beta)
        if machine.fit_intercept:
            better = best_intercept(machine, proof.eta, b)
            eta = proof.eta + (better - b)
            value = 0.5 * float(coef @ coef) + machine.loss(eta)
            if value < proof.primal:
                b, proof = better, Proof(value, proof.dual, proof.beta, eta)
        if before is None:
            return coef, b, proof
        bound = before[2] if before[2].dual > proof.dual else proof
        if before[2].primal < proof.primal:
            return before[0], before[1], Proof(before[2].primal, bound.dual, bound.beta, before[2].eta)
        return coef, b, Proof(proof.primal, bound.dual, bound.beta, proof.eta)


def joint_ascent(
    X: Any,
    codes: np.ndarray,
    machines: Sequence[MarginMachine],
    first: int,
    tol: float,
    max_iter: int,
    *,
    seed: int = 0,
    verbose: int = 0,
) -> list[MarginFit]:
    """Coordinate ascent on the hinge machines of classes ``first``, ``first`` + 1, … together: a CSR row is read once
    for all of them, and the K weights of a column lie side by side. Nothing is set aside; right for squared losses,
    whose passes are few. O(cells·K) a pass."""
    ascent = _JointAscent(X, codes, machines, first, seed)
    goal, stopped, passes, checks = first_look(tol), "max_iter reached", 0, 0
    with until_interrupted() as watch:
        for passes in range(1, max_iter + 1):
            check()
            worst = ascent.one_pass()
            if worst > goal and passes < max_iter:
                continue
            gap = ascent.prove()
            checks += 1
            if verbose:
                print(f"  pass {passes:4d}   largest gap {gap:.1e}", file=sys.stderr)
            if gap <= tol:
                stopped = "gap ≤ tol"
                break
            goal = worst * min(0.5, max(0.05, np.sqrt(tol / gap)))
    if watch.interrupted:
        stopped = "interrupted"
        ascent.prove()
    return [
        MarginFit(ascent.coef[k], float(ascent.b[k]), proof, passes, float(passes + checks), stopped)
        for k, proof in enumerate(ascent.proofs)
    ]


class _JointAscent:
    """The moving state of a joint solve: w (p, K), β (n, K), b and Σβ (K,)."""

    def __init__(self, X: Any, codes: np.ndarray, machines: Sequence[MarginMachine], first: int, seed: int):
        self.X, self.codes, self.machines, self.first = X, codes, machines, first
        k, (n, p) = len(machines), X.shape
        self.own, self.others = np.zeros(n), np.zeros(n)
        for j, machine in enumerate(machines):
            self.own = np.where(codes == first + j, machine.up, self.own)
            self.others = np.where(codes == first + j, self.others, machine.down)
        # a row of a class beyond these machines costs the same in each; one of theirs, what the other machines say
        self.own = np.where(self.own > 0, self.own, self.others)
        self.others = np.where(self.others > 0, self.others, self.own)
        live = np.maximum(self.own, self.others) > 0
        self.norms = row_squares(X)
        fitted = machines[0].fit_intercept
        self.rho = (PULL * float(np.mean(self.norms[live])) or 1.0) if fitted else 0.0
        self.w, self.lift, self.beta = np.zeros((p, k)), np.zeros((2, k)), np.zeros((n, k))
        if fitted:
            self.lift[0] = [best_intercept(machine, np.zeros(n), 0.0) for machine in machines]
        self.order = np.flatnonzero(live)
        self.random = np.array([(seed + 1) * 0x9E3779B97F4A7C15 % 2**64], dtype=np.uint64)
        self.coef, self.b = np.zeros((k, p)), np.zeros(k)
        self.proofs: list[Proof] = []

    def one_pass(self) -> float:
        shuffle(self.order, len(self.order), self.random)
        X = self.X
        worst = joint_pass(
            X.data, X.indices, X.indptr, self.norms, self.own, self.others, self.codes, self.first,
            self.machines[0].squared, self.rho, self.w, self.lift, self.beta, self.order,
        )  # fmt: skip
        jump = self.rho * self.lift[1]
        self.lift[0] += jump
        return max(float(worst), float(np.max(np.abs(jump))))

    def prove(self) -> float:
        """Everything anew from X and β: weights, scores, each machine's proof; returns the largest relative gap."""
        X, beta = self.X, self.beta
        self.w[:] = 0.0
        back_k(X.data, X.indices, X.indptr, beta, self.w)
        plus = np.zeros_like(self.w)
        own_sums(X.data, X.indices, X.indptr, self.codes, self.first, beta, plus)
        eta = np.empty(beta.shape)
        scores_k(X.data, X.indices, X.indptr, self.w, self.lift[0], eta)
        self.lift[1] = beta.sum(axis=0)
        self.proofs, worst = [], 0.0
        for k, machine in enumerate(self.machines):
            b = float(self.lift[0, k])
            self.b[k] = best_intercept(machine, eta[:, k], b)
            w, up = self.w[:, k], plus[:, k]
            proof = machine.prove_from(
                w, eta[:, k] + (self.b[k] - b), beta[:, k].copy(), np.stack([up, w - up])
            )
            self.proofs.append(proof)
            worst = max(worst, proof.gap / max(abs(proof.primal), 1e-300))
        self.coef = np.ascontiguousarray(self.w.T)
        return worst
