"""Separation of wide or sparse tables by first-order steps: a direction that shows itself is proof enough.

    D_t → a minimiser of the likelihood at infinity;   margins(P D_t) > 0 on all pairs that are not flat

where P D = D − A_Fᵀ(A_F A_Fᵀ)⁺A_F D makes the pairs F that must be flat exactly so. Those are found apart: rows
that occur in two classes (each such two rows are weights 1, 1 with vanishing combination), and whatever the exact
alternative finds among the rows of least margin. Where the number of columns passes that of rows this nearly
always ends at once; nothing of size p² or n² is formed. Cost: a sweep, O(nnz·K), a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.losses import Logistic, Multinomial
from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import diagonal_coordinates
from separatrix.problems.objective import Memo, Objective
from separatrix.verdict import proof
from separatrix.verdict.axes import CodedTable
from separatrix.verdict.facial import Decision, Undecided, settle
from separatrix.verdict.tucker import rival_mask

HARD = 600  # unknowns of the exact alternative among the rows of least margin
STEPS = 240
LOOK_EVERY = 8
ROUNDS = 3
MAX_FLAT = 1000


def first_order(table: CodedTable, rows: Rows, moments: Moments) -> Decision | None:
    """A complete or quasi separation with its proof, or None: nothing showed itself."""
    flat, weights = _repeated(table)
    climb = _Climb(table, rows, moments)
    for _ in range(ROUNDS):
        if np.count_nonzero(weights) > MAX_FLAT:
            return None
        found = climb.run(flat, _Projection(table, climb.objective, weights))
        if found is not None:
            pick = np.flatnonzero(weights.any(axis=1))
            return Decision(*found, flat, pick, weights[pick] if len(pick) else None)
        _add_flat(table, climb.worst, flat, weights)
    return None


class _Climb:
    """L-BFGS on the likelihood, in scaled columns; the last point is kept between runs."""

    def __init__(self, table: CodedTable, rows: Rows, moments: Moments):
        self.table = table
        coordinates = diagonal_coordinates(moments, table.fit_intercept, 0.0, 0.25)
        two = table.n_classes == 2
        target = np.where(table.y == 1, 1.0, -1.0) if two else table.y
        loss, classes = (Logistic(), None) if two else (Multinomial(), table.n_classes)
        rows = rows.with_targets(target, None)
        self.objective = Objective(rows, loss, 0.0, table.fit_intercept, coordinates, classes)
        self.theta, self.memo = self.objective.zero(), Memo()
        # least margin of each row's pairs not known to be flat, when last looked at
        self.worst = np.zeros(table.n)

    def run(self, flat: np.ndarray, project: _Projection) -> tuple[FloatArray, FloatArray] | None:
        """Some steps among the directions zero on the flat pairs, until one is positive on all others."""
        from scipy.optimize import minimize

        shape, steps = self.objective.shape, 0

        def value(theta: FloatArray) -> tuple[float, FloatArray]:
            at = self.objective.evaluate(theta.reshape(shape), memo=self.memo)
            return at.value, project(at.gradient).ravel()

        def look(intermediate_result: Any) -> None:
            nonlocal steps
            steps += 1
            self.theta = intermediate_result.x.reshape(shape)
            if steps % LOOK_EVERY == 0 and self._candidate(flat, project) is not None:
                raise StopIteration

        options: Any = {"maxiter": STEPS, "maxcor": 20, "gtol": 0.0, "ftol": 0.0}
        start = project(self.theta).ravel()
        minimize(value, start, jac=True, method="L-BFGS-B", callback=look, options=options)
        return self._candidate(flat, project)

    def _candidate(self, flat: np.ndarray, project: _Projection) -> tuple[FloatArray, FloatArray] | None:
        """The last point in the user's units, if it is zero on the flat pairs and positive on the others."""
        coef, b = self.objective.to_user(project(project(self.theta)))
        if coef.ndim == 1:
            coef, b = np.vstack([-coef / 2, coef / 2]), np.array([-b / 2, b / 2])
        X, y = self.table.X, self.table.y
        margins = proof.margins(X, y, coef, b)
        error = proof.margin_error(X, y, coef, b)
        tied = bool((np.abs(margins) <= 2 * error.max(axis=1, keepdims=True))[flat].all())
        margins[flat] = np.inf
        self.worst = margins.min(axis=1)
        return (coef, b) if tied and (margins > 4 * error).all() else None


class _Projection:
    """P θ: the nearest point that is zero on the pairs with weight, in the objective's coordinates.

    Their rows z = ((x − c)σ, lift) are never formed: with X sparse, z·z' = xσ²x' − xσ²c − x'σ²c + cσ²c + lift².
    """

    def __init__(self, table: CodedTable, objective: Objective, weights: FloatArray):
        rows, rivals = np.nonzero(weights)
        at, y = objective.coordinates, table.y[rows]
        basis = objective.class_basis
        self.turn = np.where(y == 1, 1.0, -1.0)[:, None] if basis is None else basis[y] - basis[rivals]
        X = table.X[rows]
        self.X = X * at.scale if isinstance(X, np.ndarray) else X.multiply(at.scale[None, :]).tocsr()
        self.centre = at.centre * at.scale
        self.lift = at.lift if table.fit_intercept else 0.0
        product = self.X @ self.X.T
        product = product if isinstance(product, np.ndarray) else product.toarray()
        along = np.asarray(self.X @ self.centre)
        gram = product - along[:, None] - along + self.centre @ self.centre + self.lift**2
        self.inverse = np.linalg.pinv(gram * (self.turn @ self.turn.T), rcond=1e-13, hermitian=True)

    def __call__(self, theta: FloatArray) -> FloatArray:
        if not len(self.turn):
            return theta
        t = theta.reshape(len(theta), -1).copy()
        p = len(self.centre)
        scores = np.asarray(self.X @ t[:p]) - self.centre @ t[:p]
        if self.lift:
            scores += self.lift * t[-1]
        back = self.turn * (self.inverse @ np.sum(self.turn * scores, axis=1))[:, None]
        t[:p] -= np.asarray(self.X.T @ back) - np.outer(self.centre, back.sum(axis=0))
        if self.lift:
            t[-1] -= self.lift * back.sum(axis=0)
        return t.reshape(theta.shape)


def _repeated(table: CodedTable) -> tuple[np.ndarray, FloatArray]:
    """Pairs that are flat because the same row occurs in both classes, and weights that prove it."""
    shape = (table.n, table.n_classes)
    flat, weights = np.zeros(shape, dtype=bool), np.zeros(shape)
    groups: dict[bytes, list[int]] = {}
    for i in range(table.n):
        groups.setdefault(_key(table.X, i), []).append(i)
    for group in groups.values():
        first = {int(table.y[i]): i for i in reversed(group)}
        for i in group:
            flat[i, [k for k in first if k != table.y[i]]] = True
        for j, i in first.items():
            weights[i, [k for k in first if k != j]] = 1.0
    if not table.fit_intercept:  # a row of zeros is on every surface
        size = abs(table.X).sum(axis=1)
        zero = (np.asarray(size).ravel() == 0)[:, None] & rival_mask(table.y, table.n_classes)
        flat |= zero
        weights[zero] = 1.0
    return flat, weights


def _key(X: Any, i: int) -> bytes:
    """The row's cells as bytes: equal rows, equal bytes."""
    if isinstance(X, np.ndarray):
        return bytes((X[i] + 0).tobytes())
    part = slice(X.indptr[i], X.indptr[i + 1])
    return bytes(X.indices[part].tobytes() + X.data[part].tobytes())


def _add_flat(table: CodedTable, worst: FloatArray, flat: np.ndarray, weights: FloatArray) -> None:
    """What the exact alternative finds flat among the rows of least margin joins ``flat`` and ``weights``."""
    hard = np.argsort(worst, kind="stable")[: max(40, HARD // (table.n_classes - 1))]
    hard = np.union1d(hard[np.isfinite(worst[hard])], np.flatnonzero(weights.any(axis=1)))
    X = table.X[hard]
    if not isinstance(X, np.ndarray):
        X = X[:, np.unique(X.indices)].toarray()
    present, codes = np.unique(table.y[hard], return_inverse=True)
    part = CodedTable(X, codes, len(present), table.fit_intercept)
    if len(present) < 2:
        return
    pick = part.sorted(np.arange(len(hard)))
    try:
        face = settle(part, pick)
    except Undecided:
        return
    at = np.ix_(hard[pick], present)
    flat[at] |= face.flat
    if face.weights is not None:
        weights[at] = face.weights / face.weights.max()
