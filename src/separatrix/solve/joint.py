"""All classes in one machine (Crammer and Singer; [6321] "multi-class"):

    min ½ Σ_k ‖w_k‖² + Σ_i c_i max_k ( 1[k ≠ y_i] + η_ik − η_iy_i ),      η_ik = w_k·x_i + b_k

Dual: α (n, K) with rows that sum to zero, α_iy_i ≤ c_i, the others ≤ 0, w_k = Σ_i α_ik x_i, and columns that sum to
zero too because no b_k is penalised:

    D(α) = Σ_i α_iy_i − ½ Σ_k ‖w_k‖²

A row's K numbers are solved for at once (a sort), rows in an order drawn anew each pass; intercepts as in
solve/ascent.py. **Proof**: −α_ik moves weight from class y_i to k; the totals from class to class are shrunk to a
circulation by a small linear program (K² numbers), which makes the columns of α sum to zero, and so D a bound.

Cost O(cells·K) a pass, rows in memory. Small problems go to a dense quadratic programme instead (solve/programme.py).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.interrupts import check, until_interrupted
from separatrix.data.rows import Rows
from separatrix.loops.ascent import shuffle, together_pass
from separatrix.loops.sparse import back_k
from separatrix.solve.ascent import PULL, first_look
from separatrix.solve.programme import dense_rows, ending, refuse_large, solve_programme


@dataclass(frozen=True, eq=False)
class JointFit:
    """Where the joint machine stands: weights (K, p), intercepts (K,), α (n, K), margins, and primal and dual there.

    ``own`` (n,) is α_iy_i, ``margin`` (n,) the least η_iy_i − η_ik.
    """

    coef: FloatArray
    intercept: FloatArray
    alpha: FloatArray
    margin: FloatArray
    own: FloatArray
    primal: float
    dual: float
    iterations: int = 0
    sweeps: float = 0.0
    stopped_by: str = ""

    @property
    def gap(self) -> float:
        return max(self.primal - self.dual, 64 * EPS * abs(self.primal))

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.coef))


@dataclass(frozen=True)
class JointMachine:
    """The problem of the module: rows (n, p), class codes (n,), costs (n,), K, whether b is fitted."""

    rows: Rows
    codes: np.ndarray
    cost: FloatArray
    n_classes: int
    fit_intercept: bool = True

    @cached_property
    def csr(self) -> Any:
        """The rows as CSR of floats: passes are compiled for one kind of cells."""
        import scipy.sparse as sp

        X = self.rows.source
        X = sp.csr_matrix(X) if isinstance(X, np.ndarray) else X
        return X if X.dtype.kind == "f" else X.astype(float)

    def scores(self, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """η (n, K)."""
        return np.asarray(self.rows.source @ coef.T + intercept)

    def prove(self, coef: FloatArray, intercept: FloatArray, alpha: FloatArray) -> JointFit:
        """F at (w, b) and the dual at a feasible shrinking of α."""
        at = np.arange(self.rows.n)
        codes, live = np.maximum(self.codes, 0), self.cost > 0
        eta = self.scores(coef, intercept)
        own = eta[at, codes].copy()
        eta[at, codes] = -np.inf
        margin = own - eta.max(axis=1)
        primal = 0.5 * float(np.sum(coef**2)) + float(self.cost[live] @ np.maximum(1.0 - margin[live], 0.0))
        alpha = self.feasible(alpha)
        X = self.csr
        w = np.zeros((self.rows.p, self.n_classes))
        back_k(X.data, X.indices, X.indptr, np.ascontiguousarray(alpha), w)
        dual = float(alpha[at, codes].sum()) - 0.5 * float(np.sum(w**2))
        return JointFit(coef, intercept, alpha, margin, alpha[at, codes], primal, dual)

    def feasible(self, alpha: FloatArray) -> FloatArray:
        """α shrunk so that its columns sum to zero; rows do, and bounds hold, before and after."""
        at, codes = np.arange(self.rows.n), np.maximum(self.codes, 0)
        give = np.maximum(-alpha, 0.0)
        give[at, codes] = 0.0
        total = give.sum(axis=1)
        over = total > self.cost
        give[over] *= (self.cost[over] / total[over])[:, None]
        if self.fit_intercept:
            flow = np.zeros((self.n_classes, self.n_classes))
            np.add.at(flow, codes, give)
            share = np.divide(_circulation(flow), flow, out=np.zeros_like(flow), where=flow > 0)
            give *= np.minimum(share, 1.0)[codes]
        out = -give
        out[at, codes] = give.sum(axis=1)
        return out

    def slope_beta(self, eta: FloatArray) -> FloatArray:
        """α of the loss's slopes at scores η: all of the cost against the worst rival of a row that is short."""
        at, codes = np.arange(self.rows.n), np.maximum(self.codes, 0)
        rival = eta.copy()
        rival[at, codes] = -np.inf
        worst = rival.argmax(axis=1)
        short = (eta[at, codes] - rival[at, worst] < 1.0) & (self.cost > 0)
        alpha = np.zeros(eta.shape)
        alpha[at[short], codes[short]] = self.cost[short]
        alpha[at[short], worst[short]] = -self.cost[short]
        return alpha

    def kkt(self, fit: JointFit) -> float:
        """The largest max_k g_ik − min over k with α_ik below its bound of g_ik, g_ik = 1[k ≠ y_i] + η_ik."""
        live = np.flatnonzero(self.cost > 0)
        codes, at = self.codes[live], np.arange(len(live))
        g = self.scores(fit.coef, fit.intercept)[live] + 1.0
        g[at, codes] -= 1.0
        top = np.zeros(g.shape)
        top[at, codes] = self.cost[live]
        below = fit.alpha[live] < top - 1e-6 * self.cost[live, None]
        least = np.where(below, g, np.inf).min(axis=1)
        least = np.where(np.isfinite(least), least, g[at, codes])
        return float(np.max(g.max(axis=1) - least, initial=0.0))


def _circulation(flow: FloatArray) -> FloatArray:
    """The largest F ≤ flow, F ≥ 0, in which every class gives as much as it gets."""
    from scipy.optimize import linprog

    k = len(flow)
    size = float(flow.max(initial=0.0))
    if size == 0:
        return flow
    pairs = [(i, j) for i in range(k) for j in range(k) if flow[i, j] > 0]
    balance = np.zeros((k, len(pairs)))
    for at, (i, j) in enumerate(pairs):
        balance[i, at], balance[j, at] = 1.0, -1.0
    top = [(0.0, flow[i, j] / size) for i, j in pairs]
    found = linprog(-np.ones(len(pairs)), A_eq=balance, b_eq=np.zeros(k), bounds=top, method="highs")
    out = np.zeros_like(flow)
    if found.status == 0 and found.x is not None:
        for (i, j), value in zip(pairs, found.x, strict=True):
            out[i, j] = size * max(float(value), 0.0)
    return out


def joint_programme(
    machine: JointMachine, tol: float, max_iter: int, *, seed: int = 0, verbose: int = 0
) -> JointFit:
    """The dual as a generic quadratic programme in x_ik = −α_ik, k ≠ y_i, and a slack a row; O((nK)³) a step.

    Nothing is drawn, and nothing said, so ``seed`` and ``verbose`` change nothing: the passes' own.
    """
    k, live = machine.n_classes, np.flatnonzero(machine.cost > 0)
    refuse_large(len(live) * k)
    n, codes = len(live), machine.codes[live]
    X = dense_rows(machine.rows.source, live)
    if machine.fit_intercept:
        X = X - X.mean(axis=0)
    rival = np.array([[j for j in range(k) if j != y] for y in codes], dtype=np.intp)
    row, to = np.repeat(np.arange(n), k - 1), rival.ravel()
    own = codes[row]
    # w_k = Σ α_ik x_i with α_iy = Σ_k x_ik: <(i,k),(j,l)> = K_ij ([y_i = y_j] − [y_i = l] − [k = y_j] + [k = l])
    same = (
        (own[:, None] == own).astype(float)
        - (own[:, None] == to)
        - (to[:, None] == own)
        + (to[:, None] == to)
    )
    Q = np.zeros((n * k, n * k))
    m = n * (k - 1)
    Q[:m, :m] = same * (X @ X.T)[np.ix_(row, row)]
    rows = np.zeros((n, n * k))
    rows[row, np.arange(m)] = 1.0
    rows[np.arange(n), m + np.arange(n)] = 1.0
    even = np.zeros((k - 1 if machine.fit_intercept else 0, n * k))
    for j in range(len(even)):
        even[j, :m] = (own == j).astype(float) - (to == j)
    A, b = np.vstack([rows, even]), np.append(machine.cost[live], np.zeros(len(even)))
    c = np.append(-np.ones(m), np.zeros(n))
    x, nu, steps = solve_programme(Q, c, A, b, np.full(n * k, np.inf), max_iter)
    alpha: FloatArray = np.zeros((machine.rows.n, k))
    alpha[live[row], to] = -x[:m]
    alpha[live, codes] = x[:m].reshape(n, k - 1).sum(axis=1)
    alpha = machine.feasible(alpha)
    coef = np.asarray(machine.rows.source.T @ alpha).T
    intercept: FloatArray = np.zeros(k)
    if machine.fit_intercept:
        intercept = _centred_intercepts(machine, coef, nu[n:])
    fit = machine.prove(np.ascontiguousarray(coef), intercept, alpha)
    stopped = ending(fit.gap <= tol * abs(fit.primal), steps, max_iter)
    return replace(fit, iterations=steps, sweeps=float(steps), stopped_by=stopped)


def _centred_intercepts(machine: JointMachine, coef: FloatArray, nu: FloatArray) -> FloatArray:
    """b from the multipliers of the columns' sums, which speak of centred rows."""
    live = machine.cost > 0
    X = machine.rows.source
    mean = np.asarray(X[np.flatnonzero(live)].mean(axis=0)).ravel()
    b = -np.append(nu, 0.0) - coef @ mean
    return b - b.mean()


def joint_passes(
    machine: JointMachine,
    tol: float,
    max_iter: int,
    *,
    start: JointFit | None = None,
    seed: int = 0,
    verbose: int = 0,
) -> JointFit:
    """Maximise the dual until it proves a relative gap of ``tol``, in at most ``max_iter`` passes, from ``start``."""
    X = machine.csr
    k, n, p = machine.n_classes, machine.rows.n, machine.rows.p
    norms = np.asarray(X.multiply(X).sum(axis=1)).ravel().astype(float)
    order = np.flatnonzero(machine.cost > 0)
    rho = (PULL * float(np.mean(norms[order])) or 1.0) if machine.fit_intercept else 0.0
    w, lift, alpha = np.zeros((p, k)), np.zeros((2, k)), np.zeros((n, k))
    random = np.array([(seed + 1) * 0x9E3779B97F4A7C15 % 2**64], dtype=np.uint64)
    codes = np.maximum(machine.codes, 0).astype(np.intp)
    goal, stopped, passes, checks = first_look(tol), "max_iter reached", 0, 0
    best = start
    if start is not None:
        alpha[:] = start.alpha
        back_k(X.data, X.indices, X.indptr, alpha, w)
        lift[0], lift[1] = start.intercept, alpha.sum(axis=0)

    def prove() -> JointFit:
        now = machine.prove(np.ascontiguousarray(w.T), lift[0] - lift[0].mean(), alpha)
        if best is None:
            return now
        bound = best if best.dual > now.dual else now
        point = best if best.primal < now.primal else now
        return replace(point, alpha=bound.alpha, own=bound.own, dual=bound.dual)

    with until_interrupted() as watch:
        for passes in range(1, max_iter + 1):
            check()
            shuffle(order, len(order), random)
            worst = float(
                together_pass(
                    X.data, X.indices, X.indptr, norms, machine.cost, codes, rho, w, lift, alpha, order
                )
            )
            jump = rho * lift[1]
            lift[0] += jump
            worst = max(worst, float(np.max(np.abs(jump))))
            if worst > goal and passes < max_iter:
                continue
            best = prove()
            checks += 1
            gap = best.gap / max(abs(best.primal), 1e-300)
            if verbose:
                print(f"  pass {passes:4d}   objective {best.primal:.10g}   gap {gap:.1e}", file=sys.stderr)
            if gap <= tol:
                stopped = "gap ≤ tol"
                break
            goal = worst * min(0.5, max(0.05, float(np.sqrt(tol / gap))))
    if watch.interrupted:
        stopped = "interrupted"
        best = prove()
    assert best is not None
    return replace(best, iterations=passes, sweeps=float(passes + checks), stopped_by=stopped)
