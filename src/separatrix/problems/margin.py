"""One machine of a margin model:  min_{w,b} ½‖w‖² + Σ_i [ up_i h(t_i − ε − η_i) + down_i h(η_i − t_i − ε) ]

with η = w·x + b and h(u) = max(0, u), or its square. Both losses of the notes are of this form ([6867] 5.3, [6321]):

    hinge max(0, 1 − yη)               ε = 0, t = y, only the side y asks for: up = c·[y > 0], down = c·[y < 0]
    tube  max(0, |y − η| − ε)          t = y, up = down = c

The dual has one number a row, w = Σ_i β_i x_i, −down_i ≤ β_i ≤ up_i (no bounds for the square), and Σ_i β_i = 0
because nothing penalises b:

    D(β) = Σ_i (t_i β_i − ε|β_i|) − ½‖Σ_i β_i x_i‖²  (− Σ_i β_i²/(4c_i), square),     D(β) ≤ min F for every such β

**Proof.** Any β is made feasible by shrinking the positive or the negative ones, whichever weigh more, until they
balance; the gap F(w, b) − D(β) needs the data, w, b and β alone. One sweep, O(np).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.engine import sweep
from separatrix.data.rows import Block, Rows
from separatrix.problems.stored_cells import add_back, stored_scores

MISSED = 1e-7  # of the targets' range: a row farther outside a tube without slack is not in it


@dataclass(frozen=True)
class MarginMachine:
    """The problem of the module: rows (n, p), t, up and down (n,), ε, whether h is squared, whether b is fitted.

    >>> rows = Rows.of(np.array([[0.0], [2.0]]))
    >>> machine = MarginMachine.hinge(rows, np.array([-1.0, 1.0]), np.ones(2))
    >>> proof = machine.prove(np.array([1.0]), -1.0, np.array([-0.5, 0.5]))
    >>> proof.primal, proof.dual
    (0.5, 0.5)
    """

    rows: Rows
    target: FloatArray
    up: FloatArray
    down: FloatArray
    epsilon: float = 0.0
    squared: bool = False
    fit_intercept: bool = True

    @classmethod
    def hinge(
        cls, rows: Rows, y: FloatArray, cost: FloatArray, *, squared: bool = False, fit_intercept: bool = True
    ) -> MarginMachine:
        """max(0, 1 − yη), y = ±1, at ``cost`` a row."""
        up, down = np.where(y > 0, cost, 0.0), np.where(y < 0, cost, 0.0)
        return cls(rows, y, up, down, 0.0, squared, fit_intercept)

    @cached_property
    def hard(self) -> bool:
        return bool(np.isinf(self.up).any() or np.isinf(self.down).any())

    def prove(self, coef: FloatArray, intercept: float, beta: FloatArray) -> Proof:
        """F at (w, b) and the dual at a feasible shrinking of β: one sweep."""
        beta = self.clip(beta)
        few = self.rows.few
        if few is not None:
            eta = few.scores(coef) + float(intercept)
            return self.prove_from(coef, eta, beta, few.back(np.column_stack(both_signs(beta))).T)
        etas: list[FloatArray]
        pull, etas = sweep(_proof_sums, self.rows, (coef, float(intercept)), blocked(self.rows, beta))
        return self.prove_from(coef, np.concatenate(etas), beta, pull)

    def prove_from(self, coef: FloatArray, eta: FloatArray, beta: FloatArray, pull: FloatArray) -> Proof:
        """From scores η (n,) and the pulls Σ βx of the positive and the negative β, (2, p); β in its box."""
        shrink, dual = np.ones(2), 0.0
        sides = both_signs(beta)
        if self.fit_intercept:
            plus, minus = float(sides[0].sum()), -float(sides[1].sum())
            least = min(plus, minus)
            shrink = np.array([least / v if v > 0 else 1.0 for v in (plus, minus)])
        for r, side, cap in zip(shrink, sides, (self.up, self.down), strict=True):
            width = self.epsilon * float(np.abs(side).sum()) if self.epsilon else 0.0
            dual += r * (float(self.target @ side) - width)
            if self.squared:
                on = side != 0
                dual -= r * r * float((side[on] ** 2 / (4.0 * cap[on])).sum())
        v = shrink @ pull
        dual -= 0.5 * float(v @ v)
        primal = 0.5 * float(coef @ coef)
        if self.hard:
            short = max(0.0, float(np.max(self._short(eta))))
            if self.two_sided:
                primal += self._price_of_missing(short, beta)
            else:  # (w, b) misses its constraints by rounding at most: it is measured as if scaled up to them
                primal /= max(1.0 - short, 1e-3) ** 2
        else:
            primal += self.loss(eta)
        return Proof(primal, float(dual), shrink[0] * sides[0] + shrink[1] * sides[1], eta)

    @property
    def two_sided(self) -> bool:
        """Whether rows have both sides: a tube, not a hinge."""
        return bool(np.any((self.up > 0) & (self.down > 0)))

    def _price_of_missing(self, short: float, beta: FloatArray) -> float:
        """What a tube without slack adds for rows that are outside by at most ``short``.

        ½‖w‖² + M·short has its minimum where the tube's is for every M ≥ Σ|β*|: twice the Σ|β| at hand is M, as long
        as what is missing can be rounding.
        """
        live = (self.up > 0) | (self.down > 0)
        size = float(np.ptp(self.target[live])) + self.epsilon
        return 2.0 * float(np.abs(beta).sum()) * short if short <= MISSED * size else np.inf

    def _short(self, eta: FloatArray) -> FloatArray:
        """By how much each row misses what it is asked for, its larger side."""
        low, high = self.target - self.epsilon - eta, eta - self.target - self.epsilon
        return np.maximum(np.where(self.up > 0, low, -np.inf), np.where(self.down > 0, high, -np.inf))

    def loss(self, eta: FloatArray) -> float:
        """Σ up·h + down·h at scores η."""
        low = np.maximum(self.target - self.epsilon - eta, 0.0)
        high = np.maximum(eta - self.target - self.epsilon, 0.0)
        if self.squared:
            low, high = low * low, high * high
        return float(self.up @ low + self.down @ high)

    def clip(self, beta: FloatArray) -> FloatArray:
        """β inside its bounds; the square has no upper ones."""
        if self.squared:
            return np.where(beta > 0, np.where(self.up > 0, beta, 0), np.where(self.down > 0, beta, 0.0))
        return np.clip(beta, -self.down, self.up)

    def slope_beta(self, eta: FloatArray) -> FloatArray:
        """β the losses' slopes ask for at scores η: the optimum's own where h is squared."""
        low = np.maximum(self.target - self.epsilon - eta, 0.0)
        high = np.maximum(eta - self.target - self.epsilon, 0.0)
        if self.squared:
            return 2.0 * (self.up * low - self.down * high)
        return np.where(low > 0, self.up, 0.0) - np.where(high > 0, self.down, 0.0)

    def kkt(self, eta: FloatArray, beta: FloatArray) -> float:
        """The largest |β − clip(β + c·(what η asks of β))|/c: zero where β and η are optimal for each other."""
        worst = 0.0
        for sign, cap in ((1.0, self.up), (-1.0, self.down)):
            live = cap > 0
            if not live.any():
                continue
            a, c = np.maximum(sign * beta[live], 0.0), cap[live]
            short = sign * (self.target[live] - eta[live]) - self.epsilon
            if self.squared:
                c = 2.0 * c
                gap = a - np.maximum(c * short, 0.0)
            elif self.hard:
                c = np.full(len(a), max(float(a.max()), 1e-300))
                gap = a - np.maximum(a + c * short, 0.0)
            else:
                gap = a - np.clip(a + c * short, 0.0, c)
            worst = max(worst, float(np.max(np.abs(gap) / c)))
        return worst


@dataclass(frozen=True, eq=False)
class Proof:
    """F and D at a point, D at a feasible ``beta`` (n,); ``eta`` (n,) the scores."""

    primal: float
    dual: float
    beta: FloatArray
    eta: FloatArray

    @property
    def gap(self) -> float:
        """F − D ≥ F − min F, and no less than what rounding of the two sums hides."""
        return max(self.primal - self.dual, 64 * EPS * abs(self.primal))

    def within(self, tol: float) -> bool:
        """Whether the relative gap is proven to be at most ``tol``; an infinite F proves nothing."""
        return bool(np.isfinite(self.primal) and self.gap <= tol * abs(self.primal))


def _proof_sums(
    block: Block, task: tuple[FloatArray, float], memo: tuple[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Σ βx of the positive and the negative β, (2, p); the block's scores are its memo."""
    coef, b = task
    (beta,) = memo
    if block.sparse:
        return stored_pull(block.X, beta), stored_scores(block.X, coef, b)
    eta = np.empty(block.n)
    pull = np.zeros((2, len(coef)))
    for part in block.tiles(len(coef)):
        cells = block.X[part]
        eta[part] = cells @ coef + b
        pull += np.asarray((cells.T @ np.column_stack(both_signs(beta[part]))).T)
    return pull, eta


def stored_pull(X: Any, beta: FloatArray) -> FloatArray:
    """Σ βx of the positive and the negative β (2, p), of sparse rows by their stored cells."""
    pull = np.zeros((2, X.shape[1]))
    for side, out in zip(both_signs(beta), pull, strict=True):
        add_back(X, side, out)
    return pull


def prove_together(
    machines: Sequence[MarginMachine], coefs: FloatArray, intercepts: FloatArray, betas: Sequence[FloatArray]
) -> list[Proof]:
    """`MarginMachine.prove` of machines that share their rows, at weights (K, p): one sweep for all."""
    rows = machines[0].rows
    betas = [machine.clip(beta) for machine, beta in zip(machines, betas, strict=True)]
    signs = np.column_stack([side for beta in betas for side in both_signs(beta)])
    if rows.few is not None:
        etas, pulls = rows.few.scores(coefs.T) + intercepts, rows.few.back(signs)
    else:
        pulls, parts = sweep(_sums_together, rows, (coefs, intercepts), blocked(rows, signs))
        etas = np.concatenate(parts)
    each = zip(machines, coefs, etas.T, betas, pulls.T.reshape(len(betas), 2, -1), strict=True)
    return [machine.prove_from(coef, eta.copy(), beta, pull) for machine, coef, eta, beta, pull in each]


def _sums_together(
    block: Block, task: tuple[FloatArray, FloatArray], memo: tuple[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Σ βx of some columns β, (p, 2K); the block's scores (n, K) are its memo."""
    coefs, b = task
    (signs,) = memo
    etas = np.empty((block.n, len(b)))
    pulls = np.zeros((coefs.shape[1], signs.shape[1]))
    for part in [slice(0, block.n)] if block.sparse else block.tiles(coefs.shape[1]):
        cells = block.X[part]
        etas[part] = cells @ coefs.T + b
        pulls += cells.T @ signs[part]
    return pulls, etas


def both_signs(beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The positive and the negative part of β."""
    return np.maximum(beta, 0.0), np.minimum(beta, 0.0)


def blocked(rows: Rows, *arrays: FloatArray) -> list[tuple[FloatArray, ...]]:
    """The arrays' parts block by block, as the memos of a sweep.

    >>> blocked(Rows(None, 4, 1, (0, 1, 4)), np.arange(4.0))
    [(array([0.]),), (array([1., 2., 3.]),)]
    """
    return [tuple(a[lo:hi] for a in arrays) for lo, hi in pairwise(rows.edges)]


def best_intercept(machine: MarginMachine, eta: FloatArray, intercept: float) -> float:
    """b that minimises the loss for given w: η holds w·x + ``intercept``. O(n log n).

    The slope of the loss in b rises; hinge sides change it by a jump at their corner, squares by a kink.
    """
    if not machine.fit_intercept or machine.hard:
        return intercept
    base = eta - intercept
    low = machine.target - machine.epsilon - base  # side "up" is active for b < low
    high = machine.target + machine.epsilon - base  # side "down" for b > high
    corner = np.concatenate([low, high])
    cost = np.concatenate([machine.up, machine.down])
    below = np.concatenate([np.ones(len(low), bool), np.zeros(len(high), bool)])
    live = cost > 0
    order = np.argsort(corner[live], kind="stable")
    corner, cost, below = corner[live][order], cost[live][order], below[live][order]
    if not machine.squared:
        slope = -cost[below].sum() + np.cumsum(cost)  # to the right of each corner
        flat = 1e-12 * cost.sum()  # a slope that rounding may have moved off zero
        first, last = int(np.argmax(slope >= -flat)), int(np.argmax(slope > flat))
        return float(0.5 * (corner[first] + corner[max(first, last)]))
    # 2 Σ cost (b − corner) over sides active at b; between corners it is linear in b
    c_low, c_high = np.where(below, cost, 0.0), np.where(below, 0.0, cost)
    rest = c_low[::-1].cumsum()[::-1] - c_low  # "up" sides still active right of each corner
    rest_m = (c_low * corner)[::-1].cumsum()[::-1] - c_low * corner
    on, on_m = c_high.cumsum(), (c_high * corner).cumsum()
    slope = (rest + on) * corner - rest_m - on_m
    i = int(np.argmax(slope >= 0)) if (slope >= 0).any() else len(corner) - 1
    j = max(i - 1, 0)
    total = rest[j] + on[j]
    return float((rest_m[j] + on_m[j]) / total) if total > 0 else float(corner[i])
