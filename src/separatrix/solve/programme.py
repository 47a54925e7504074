"""Duals as generic dense quadratic programmes, kept as the reference for small problems ([6867] 5.2, [6321]).

    min ½ xᵀQx + cᵀx     s.t.  Ax = 0,  0 ≤ x ≤ u  (u may be inf)

A textbook primal–dual method that knows nothing of margins: (Q + Z/X + V/(u − X)) dx − Aᵀdν = r, Mehrotra's steps.
    one machine       x = (a, â), β = a − â:   Q from XXᵀ (+ 1/2c for a squared loss), c = −t + ε, A: Σβ = 0
    classes together  x_ik = −α_ik, k ≠ y_i, and a slack a row: Σ_k x_ik + slack_i = c_i; A: columns of α sum to zero
Dense, O(N³) a step for N variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.problems.margin import MarginMachine, best_intercept
from separatrix.solve.interior import STALLED, MarginFit, scaled_up

MOST_VARIABLES = 3000


def solve_programme(
    Q: FloatArray, c: FloatArray, A: FloatArray, b: FloatArray, upper: FloatArray, max_iter: int = 100
) -> tuple[FloatArray, FloatArray, int]:
    """(x, ν, steps) of min ½xᵀQx + cᵀx, Ax = b, 0 ≤ x ≤ upper: Q (N, N) positive semidefinite, A (m, N).

    >>> x, nu, _ = solve_programme(
    ...     np.eye(2), np.array([-1.0, -3.0]), np.ones((1, 2)), np.ones(1), np.full(2, np.inf)
    ... )
    >>> x.round(6) + 0.0
    array([0., 1.])
    """
    from scipy.linalg import cho_factor, cho_solve

    capped = np.isfinite(upper)
    size = max(float(np.max(np.abs(c), initial=0.0)), 1e-300)
    x = np.where(
        capped, 0.5 * np.where(capped, upper, 0.0), max(1.0, float(np.abs(b).max(initial=0.0))) / len(c)
    )
    z, v, nu = np.full(len(c), size), np.where(capped, size, 0.0), np.zeros(len(A))
    room = np.where(capped, x, 1.0)  # upper − x, kept apart: near the bound the difference has no digits
    pairs = len(c) + int(capped.sum())
    steps = 0
    for steps in range(max_iter):
        r_dual, r_even = Q @ x + c - A.T @ nu - z + v, A @ x - b
        mu = float(x @ z + room @ v) / pairs
        if mu * pairs <= 1e-15 * (abs(float(c @ x)) + 1e-300) and np.max(np.abs(r_dual)) <= 1e-12 * size:
            break
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            H = Q + np.diag(z / x + v / room)
        if not np.isfinite(H).all():
            break
        try:
            factor = cho_factor(H)
            back = cho_solve(factor, A.T)
            small = cho_factor(A @ back + 1e-15 * np.eye(len(A)) * np.trace(A @ back)) if len(A) else None
        except np.linalg.LinAlgError:
            break

        none = (np.zeros(len(c)), np.zeros(len(c)))
        if not np.isfinite(back).all():
            break
        at = _At(factor, small, back, A, x, z, v, room, capped)
        dx, _, dz, dv = at.direction(0.0, r_dual, r_even, none)
        t = at.longest(dx, dz, dv)
        ahead = float((x + t * dx) @ (z + t * dz) + (room - t * dx)[capped] @ (v + t * dv)[capped]) / pairs
        dx, dnu, dz, dv = at.direction(mu * (ahead / mu) ** 3, r_dual, r_even, (dx * dz, dx * dv))
        t = 0.995 * at.longest(dx, dz, dv)
        if not t > 1e-10 or not np.isfinite(dx).all() or not np.isfinite(dnu).all():
            break
        x, nu, z, v = x + t * dx, nu + t * dnu, z + t * dz, v + t * dv
        room = np.where(capped, room - t * dx, 1.0)
    return x, nu, steps


@dataclass(frozen=True, eq=False)
class _At:
    """A point of the method with its factors, and the directions that start there."""

    factor: Any
    small: Any
    back: FloatArray
    A: FloatArray
    x: FloatArray
    z: FloatArray
    v: FloatArray
    room: FloatArray
    capped: np.ndarray

    def direction(
        self, aim: float, dual: FloatArray, even: FloatArray, second: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """(dx, dν, dz, dv) towards products of ``aim``, given residuals and the products of the predictor."""
        from scipy.linalg import cho_solve

        rz = aim - self.x * self.z - second[0]
        rv = np.where(self.capped, aim - self.room * self.v + second[1], 0.0)
        dx = cho_solve(self.factor, -dual + rz / self.x - rv / self.room)
        dnu = np.zeros(len(self.A))
        if self.small is not None:
            dnu = cho_solve(self.small, -even - self.A @ dx)
            dx = dx + self.back @ dnu
        dv = np.where(self.capped, (rv + self.v * dx) / self.room, 0.0)
        return dx, dnu, (rz - self.z * dx) / self.x, dv

    def longest(self, dx: FloatArray, dz: FloatArray, dv: FloatArray) -> float:
        """The longest step of at most one that keeps everything positive."""
        on, t = self.capped, 1.0
        for value, change in ((self.x, dx), (self.z, dz), (self.room[on], -dx[on]), (self.v[on], dv[on])):
            down = change < 0
            if down.any():
                t = min(t, float(np.min(-value[down] / change[down])))
        return t


def quadratic_programme(machine: MarginMachine, tol: float, max_iter: int) -> MarginFit:
    """A machine by its dual; rows in memory, and few (:data:`MOST_VARIABLES` sides that weigh anything)."""
    rows = machine.rows
    above, below = np.flatnonzero(machine.up > 0), np.flatnonzero(machine.down > 0)
    at, sign = np.append(above, below), np.append(np.ones(len(above)), -np.ones(len(below)))
    refuse_large(len(at))
    X = dense_rows(rows.source, at)
    # Σβ = 0: the origin does not matter
    centre = X.mean(axis=0) if machine.fit_intercept else np.zeros(rows.p)
    Z = sign[:, None] * (X - centre)
    Q = Z @ Z.T
    cost = np.append(machine.up[above], machine.down[below])
    upper: FloatArray = cost
    if machine.squared:
        Q[np.diag_indices(len(Q))] += 0.5 / cost
        upper = np.full(len(at), np.inf)
    A = sign[None, :] if machine.fit_intercept else np.zeros((0, len(at)))
    c = machine.epsilon - sign * machine.target[at]
    x, _, steps = solve_programme(Q, c, A, np.zeros(len(A)), upper, max_iter)
    beta: FloatArray = np.zeros(rows.n)
    np.add.at(beta, at, sign * x)
    beta = machine.prove(np.zeros(rows.p), 0.0, beta).beta
    coef = np.asarray(rows.source.T @ beta)
    proof = machine.prove(coef, 0.0, beta)
    if machine.hard:
        coef, b, proof = scaled_up(machine, coef, 0.0, beta)
    else:
        b = best_intercept(machine, proof.eta, 0.0)
        proof = machine.prove(coef, b, beta)
    stopped = ending(proof.gap <= tol * abs(proof.primal), steps, max_iter)
    return MarginFit(coef, b, proof, steps, float(steps), stopped)


def ending(met: bool, steps: int, max_iter: int) -> str:
    """Why a programme stopped."""
    return "gap ≤ tol" if met else "max_iter reached" if steps >= max_iter - 1 else STALLED


def dense_rows(source: object, at: np.ndarray) -> FloatArray:
    """The rows ``at`` of an array or a CSR matrix as float64."""
    X = source[at]  # type: ignore[index]
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=float)


def refuse_large(variables: int) -> None:
    if variables > MOST_VARIABLES:
        raise ValueError(
            f'solver "qp" is the reference for small problems, at most {MOST_VARIABLES} dual variables, and here are '
            f'{variables}: use "auto"'
        )
