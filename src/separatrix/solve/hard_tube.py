"""The flattest function with every row in its tube:  min ½‖w‖²,  |z_i − w·φ_i − b| ≤ ε,  or a proof of none.

    dual   max Σ (z_i β_i − ε|β_i|) − ½‖Σ β_i φ_i‖²,   Σ β_i = 0,   w = Σ β_i φ_i

Notes [6321] "Support vector regression" without slack (C = ∞). **Proof of none** (Farkas): β with Σ β_i φ_i = 0,
Σ β_i = 0, Σ|β_i| = 1 and h = Σ β_i z_i > ε. Every w·φ + b gives Σ β_i f(x_i) = 0, so that the rows' errors average to
h under β and one of them is at least h: no tube is narrower than that.

    ε = 0   the least w through all points: a least-squares problem; what is left over is the proof's β
    ε > 0   the interior point (solve/interior.py), then its rows on the edge solved as equations
    φ       rows U·s of a kernel matrix K = U s² Uᵀ, or centred columns; directions that are rounding are left out

Cost O(n r²) for r directions, O(n³) for those of a kernel matrix of n rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.rows import Rows
from separatrix.problems.margin import MISSED, MarginMachine
from separatrix.solve.interior import MarginFit, interior

PROGRAMME = 1 << 16  # cells of the directions up to which the narrowest tube is found for the refusal
ROUNDING = 1e-11  # multipliers below this share of the largest are nothing


@dataclass(frozen=True, eq=False)
class NoTube:
    """The proof that no tube of half width ε holds all rows: β (n,), Σ|β| = 1, and h, which no tube is narrower than.

    ``rank`` of the ``most`` directions that rows of this number could have are more than rounding.
    """

    beta: FloatArray
    least: float
    rank: int
    most: int

    def sentence(self, epsilon: float) -> str:
        count = int((np.abs(self.beta) > 1e-9 * np.abs(self.beta).max()).sum())
        return (
            f"every function the kernel offers misses one of {count} rows by at least {self.least:.6g}, a weighted "
            f"mean of their errors, and epsilon is {epsilon:g}"
        )


@dataclass(frozen=True, eq=False)
class Directions:
    """φ = U s: U (n, r) orthonormal, s (r,) positive, orthogonal to the constant where there is an intercept."""

    U: FloatArray
    s: FloatArray

    @property
    def features(self) -> FloatArray:
        return self.U * self.s


def directions_of_kernel(K: FloatArray, fit_intercept: bool = True) -> Directions:
    """Of a kernel matrix (n, n), centred where there is an intercept (Σβ = 0 sees nothing else).

    >>> directions_of_kernel(np.eye(3)).s
    array([1., 1.])
    """
    n, K = len(K), 0.5 * (K + K.T)
    # swaps the constant direction and the first axis, which is then left out
    mirror = np.full(n, 1.0 / np.sqrt(n))
    mirror[0] += 1.0
    mirror /= np.linalg.norm(mirror)
    if fit_intercept:
        K = _mirrored(mirror, _mirrored(mirror, K).T)[1:, 1:]
    if not len(K):
        return Directions(np.zeros((n, 0)), np.zeros(0))
    values, U = np.linalg.eigh(K)
    keep = values > 4 * n * EPS * max(values[-1], 0.0)
    U, values = U[:, keep][:, ::-1], values[keep][::-1]
    if fit_intercept:
        U = _mirrored(mirror, np.vstack([np.zeros((1, U.shape[1])), U]))
    return Directions(np.ascontiguousarray(U), np.sqrt(values))


def _mirrored(mirror: FloatArray, A: FloatArray) -> FloatArray:
    return np.asarray(A - 2.0 * np.outer(mirror, mirror @ A))


def directions_of_cells(X: FloatArray, fit_intercept: bool = True) -> tuple[Directions, FloatArray]:
    """Of dense cells (n, p), and V (p, r) with w = V·(weights of the directions)."""
    centred = X - X.mean(axis=0) if fit_intercept else X
    U, s, Vt = np.linalg.svd(centred, full_matrices=False)
    keep = s > max(X.shape) * EPS * max(float(s.max(initial=0.0)), EPS * float(np.abs(X).max(initial=0.0)))
    return Directions(U[:, keep], s[keep]), Vt[keep].T


def hard_tube(
    phi: Directions, z: FloatArray, epsilon: float, tol: float, max_iter: int, *, fit_intercept: bool = True
) -> MarginFit | NoTube:
    """w (r,), b and β (n,) of the flattest function whose tube holds all rows, with a proof; or the proof of none.

    >>> cells, _ = directions_of_cells(np.array([[0.0], [1.0], [2.0]]))
    >>> fit = hard_tube(cells, np.array([0.0, 1.0, 2.0]), 0.5, 1e-9, 100)
    >>> abs(fit.coef).round(9), round(fit.intercept, 9), fit.proof.beta.round(9)
    (array([0.5]), 1.0, array([-0.25,  0.  ,  0.25]))
    >>> hard_tube(cells, np.array([0.0, 1.0, 0.0]), 0.2, 1e-9, 100).least
    0.5
    """
    cost = np.full(len(z), np.inf)
    machine = MarginMachine(Rows.of(phi.features), z, cost, cost, epsilon, False, fit_intercept)
    shift = float(z.mean()) if fit_intercept else 0.0
    left = z - shift - phi.U @ (phi.U.T @ (z - shift))  # what no function of these directions reaches
    size = float(np.ptp(z)) + float(np.abs(z - shift).max(initial=0.0))
    full = len(phi.s) == len(z) - int(fit_intercept)
    reached = full or float(np.abs(left).max(initial=0.0)) <= max(64 * EPS * size, 0.01 * MISSED * epsilon)
    middle = 0.5 * float(z.min() + z.max()) if fit_intercept else 0.0
    if float(np.abs(z - middle).max()) <= epsilon:  # a constant will do
        flat = machine.prove(np.zeros(len(phi.s)), middle, np.zeros(len(z)))
        return MarginFit(np.zeros(len(phi.s)), middle, flat, 0, 1.0, "gap ≤ tol")
    if epsilon == 0.0:
        if not reached:
            return _widest(_none(phi, left, z, fit_intercept), phi, z, fit_intercept)
        return _through(machine, phi, z, shift)
    fit = interior(machine, np.zeros(len(phi.s)), tol, max_iter, further=1e-12)
    fit = _on_the_edge(machine, phi, fit)
    if fit.proof.within(tol) and fit.stopped_by != "interrupted":
        return replace(fit, stopped_by="gap ≤ tol")
    if reached or fit.stopped_by == "interrupted":  # a tube exists: it is only hard to find
        return fit
    found = _widest(_none(phi, fit.proof.beta, z, fit_intercept), phi, z, fit_intercept)
    return found if found.least > epsilon * (1.0 + 1e-9) else fit


def _through(machine: MarginMachine, phi: Directions, z: FloatArray, shift: float) -> MarginFit:
    """ε = 0: w = s⁻¹Uᵀz goes through every point, β = U s⁻²Uᵀz."""
    along = phi.U.T @ (z - shift)
    coef = along / phi.s
    beta = phi.U @ (coef / phi.s)
    proof = machine.prove(coef, shift, beta)
    return MarginFit(coef, shift, proof, 1, 2.0, "gap ≤ tol")


def _off(phi: Directions, beta: FloatArray, fit_intercept: bool) -> FloatArray:
    """β without what the directions and the constant see."""
    for _ in range(2):  # the second time takes what rounding left of the first
        beta = beta - phi.U @ (phi.U.T @ beta)
        beta = beta - beta.mean() if fit_intercept else beta
    return beta


def _none(phi: Directions, beta: FloatArray, z: FloatArray, fit_intercept: bool) -> NoTube:
    """The half width that a β, made orthogonal to every function, proves no tube to go below."""
    beta = _off(phi, beta, fit_intercept)
    mass = float(np.abs(beta).sum())
    beta = beta / mass if mass > 0 else beta
    least = float(beta @ z)
    most = len(z) - int(fit_intercept)
    return NoTube(beta if least >= 0 else -beta, abs(least), len(phi.s), most)


def _widest(found: NoTube, phi: Directions, z: FloatArray, fit_intercept: bool) -> NoTube:
    """The proof found, or a better one by a linear programme where that costs little."""
    other = _narrowest(phi, z, fit_intercept) if phi.U.size <= PROGRAMME else found
    return other if other.least > found.least else found


def _narrowest(phi: Directions, z: FloatArray, fit_intercept: bool) -> NoTube:
    """max β·z, Σ|β| = 1, β orthogonal to every function: the narrowest tube's half width, by a linear programme."""
    from scipy.optimize import linprog

    rows = np.vstack([phi.U.T, np.ones((int(fit_intercept), len(z)))])
    shift = float(z.mean()) if fit_intercept else 0.0
    found = linprog(
        np.concatenate([shift - z, z - shift]),
        A_ub=np.ones((1, 2 * len(z))),
        b_ub=np.ones(1),
        A_eq=np.hstack([rows, -rows]),
        b_eq=np.zeros(len(rows)),
        method="highs",
    )
    beta = np.zeros(len(z)) if found.x is None else found.x[: len(z)] - found.x[len(z) :]
    return _none(phi, beta, z, fit_intercept)


def _on_the_edge(machine: MarginMachine, phi: Directions, fit: MarginFit) -> MarginFit:
    """The rows with a multiplier are on the edge exactly: their equations, where that gives as good a proof.

    φ_A w + b = z_A ∓ ε, w = Σ_A β φ, Σ_A β = 0. Else multipliers that are nothing become zero, or β is moved by what
    it lacks of w = Σβφ: scores come from β alone.
    """
    beta = fit.proof.beta
    top = float(np.abs(beta).max(initial=0.0))
    if top == 0.0 or fit.stopped_by == "interrupted":
        return fit
    room = 1.0 - np.abs(machine.target - fit.proof.eta) / machine.epsilon
    on = np.flatnonzero(np.abs(beta) / top > np.maximum(room, ROUNDING))
    lifted = beta + phi.U @ ((fit.coef - phi.features.T @ beta) / phi.s)  # gives w to the last digit
    for exact, b in (
        _equations(machine, phi, beta, on),
        (np.where(np.abs(beta) > ROUNDING * top, beta, 0.0), fit.intercept),
        (lifted, fit.intercept),
    ):
        if np.any((exact * beta < 0) & (np.abs(exact) > 1e-6 * top)):
            continue
        coef = phi.features.T @ exact
        proof = machine.prove(coef, b, exact)
        if np.isfinite(proof.primal) and proof.gap <= max(fit.proof.gap, 1e-7 * abs(proof.primal)):
            return replace(fit, coef=coef, intercept=b, proof=proof)
    return fit


def _equations(
    machine: MarginMachine, phi: Directions, beta: FloatArray, on: np.ndarray
) -> tuple[FloatArray, float]:
    """β (n,), zero but for the rows ``on`` the edge, and b."""
    F, k, free = phi.features[on], len(on), int(machine.fit_intercept)
    system = np.zeros((k + free, k + free))
    system[:k, :k] = F @ F.T
    system[:k, k:] = system[k:, :k] = 1.0
    right = np.zeros(k + free)
    right[:k] = machine.target[on] - machine.epsilon * np.sign(beta[on])
    solved = np.linalg.lstsq(system, right, rcond=None)[0]
    exact = np.zeros(len(beta))
    exact[on] = solved[:k]
    return exact, float(solved[-1]) if free else 0.0
