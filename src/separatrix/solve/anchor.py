"""Where Newton's method stands:  the point whose Hessian is in use, its factor, and what it proves of points nearby.

    H̃ = LLᵀ,   H ⪰ share · H̃,   |change of a score in a step d| ≤ c · min(max‖z‖ ‖d‖, √max zᵀH̃⁻¹z ‖d‖_H̃)

The second of these two bounds, by the leverage, takes a sweep, and is far below the first where a level of a factor
has few rows, or columns nearly agree. Solutions cost O(q²), a factor O(q³).
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt
from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.problems.objective import Evaluation
from separatrix.solve.lbfgs import Pair, two_loop
from separatrix.solve.outcome import Account
from separatrix.verdict.gaps import ROUNDED_UP, factorise, stale_curvature_gap

# a change of scores, and so relatively of the curvature, that standard errors do not see
SAME_CURVATURE = 2e-7
KEPT = 0.1  # contraction of steps that need no new Hessian
QUICK = 0.3  # contraction of steps of which one more tells
EXACT = 0.1  # of a gap asked for, that a step which costs little should leave
NEARBY = 0.1  # a change of scores that costs a bound a tenth
HOPEFUL = 0.7  # of the decrement at which the bound says something, were the leverage as it was seen last


class Anchor:
    """The point whose Hessian is in use, its factor, and what it says of scores nearby.

    ``share`` < 1: the Hessian is a sample's, and that of all rows is at least share times it.
    """

    def __init__(
        self,
        theta: FloatArray,
        at: Evaluation,
        range_factor: float,
        leverage: float = np.inf,
        seen: float = 0.0,
    ):
        assert at.hessian is not None
        self.theta, self.share, self.range_factor = theta, at.share, range_factor
        self.hessian, self.diagonal = at.hessian, np.diag(at.hessian)
        self.factor = factorise(at.hessian)
        self.pairs: list[Pair] = []
        self.measured: tuple[FloatArray, float] | None = None
        self.leverage, self.sharp = leverage, False  # √max zᵀH⁻¹z at most, and whether that was measured
        self.seen = seen  # when it was last, and what it may be expected to be again
        # the gradient that was solved for last, and its solution
        self._solved: tuple[FloatArray, FloatArray] = (np.empty(0), np.empty(0))

    def solve(self, gradient: FloatArray) -> FloatArray:
        if gradient is not self._solved[0]:
            step = self.factor.solve(gradient.T.ravel())
            self._solved = gradient, step.reshape(gradient.shape[::-1]).T
        return self._solved[1]

    def decrement(self, gradient: FloatArray) -> float:
        """ν of the gradient in the factor alone: what the bounds speak of."""
        return sqrt(max(float(np.vdot(gradient, self.solve(gradient))), 0.0))

    def step(self, gradient: FloatArray) -> FloatArray:
        """−H̃⁻¹∇F, the factor corrected by the changes of the gradient seen since (BFGS)."""
        return two_loop(self.pairs, gradient, self.solve)

    def damped_step(self, gradient: FloatArray, damping: float) -> FloatArray:
        return damped_step(self.hessian, gradient, damping)

    def learn(self, before: FloatArray, at: Evaluation, theta: FloatArray, new: Evaluation) -> None:
        """Keep what a sweep without the Hessian says of the curvature, and of how far scores have moved."""
        pair = Pair.of(theta - before, new.gradient - at.gradient)
        if pair.curvature > EPS * pair.change_squared:
            self.pairs.append(pair)
        if new.drift < np.inf:
            self.measured = (theta, new.drift)

    def expected(self, decrement: float, contraction: float) -> float:
        """The decrement after the next step, if it shrinks as the last one did."""
        return decrement * min(contraction, 1.0) / float(np.sqrt(self.share))

    def may_be_last(self, decrement: float, contraction: float, goal: float) -> bool:
        return contraction > 0 and self.expected(decrement, contraction) ** 2 <= 20 * goal

    def worth_measuring(
        self, decrement: float, contraction: float, at: Evaluation, ahead: FloatArray
    ) -> dict[str, Any]:
        """What the sweep at ``ahead`` that may be the last should measure for the proof of a sample's factor, or of
        one taken so far away that no bound says how far scores have moved since."""
        if self.share == 1:
            return {} if self.reach(ahead - self.theta, at) < NEARBY else {"since": self.theta}
        expected = self.expected(decrement, contraction)
        return {"since": self.theta, "radius": not 2 * expected * self.bend(at) < 1}

    def one_more(self, gap: float, contraction: float, target: float) -> bool:
        """Whether a gap that is just met by a measured drift is worth a step more, which costs little and leaves far
        less."""
        return self.share == 1 and self.measured is not None and contraction < QUICK and gap > EXACT * target

    def bend(self, at: Evaluation) -> float:
        """r of the curvature bound: the most a score can move in a step of H-length one."""
        crude = at.radius * sqrt(self.factor.inverse_trace)
        return self.range_factor * min(crude, self.leverage) / sqrt(self.share)

    def promised(self, decrement: float) -> float:
        """What the bound would come to if scores moved little."""
        known = self.sharp or self.factor.singular
        hopeless = self.range_factor * self.seen * decrement > HOPEFUL * sqrt(self.share)
        return np.inf if known or hopeless else decrement**2 / self.share

    def pays(
        self, decrement: float, contraction: float, at: Evaluation, price: float, measuring: float
    ) -> bool:
        """Whether measuring the leverage costs less than the steps after which the crude bound says something too:
        ``measuring`` sweeps without a Hessian, of which one with it costs ``price``."""
        crude = self.bend(at) * decrement
        if not (crude < np.inf and 0 < contraction < 1):
            return True
        # one at least, to see how far scores have moved
        steps = max(log(HOPEFUL / crude) / log(contraction), 1.0)
        return steps * (1.0 if contraction < KEPT else price) > measuring

    def sharpen(self, account: Account) -> None:
        """Measure the leverage: max ‖z‖/√λ_min is far above it where a level has few rows, or columns agree."""
        inverse = self.factor.solve(np.eye(len(self.hessian)))
        self.leverage = self.seen = ROUNDED_UP * account.objective.leverage(inverse)
        self.sharp = True
        account.sweeps += 1

    def leverage_near(self, theta: FloatArray, at: Evaluation) -> float:
        """The leverage in the Hessian at a point nearby, H(θ) ⪰ e^{−drift} share·H̃."""
        drift = self.drift(theta, at)
        return self.leverage / sqrt(self.share) * exp(0.5 * drift) if drift < 1 else np.inf

    def drift(self, theta: FloatArray, at: Evaluation) -> float:
        """At most how far any score has moved since the Hessian was taken: by Cauchy–Schwarz from there, or from
        the point where it was measured."""
        if theta is self.theta:
            return 0.0
        near, moved = self.measured or (self.theta, 0.0)
        return min(moved + self.reach(theta - near, at), self.reach(theta - self.theta, at))

    def reach(self, step: FloatArray, at: Evaluation) -> float:
        """At most how far any score moves in a step."""
        length = sqrt(float(np.vdot(step, step)))
        if not length:
            return 0.0
        far = at.radius * length
        if self.leverage < np.inf:
            flat = step.T.ravel()
            far = min(far, self.leverage * sqrt(max(float(flat @ self.hessian @ flat), 0.0)))
        return self.range_factor * far

    def gap(self, decrement: float, theta: FloatArray, at: Evaluation) -> float:
        return self.gap_at(decrement, self.drift(theta, at), at)

    def gap_at(self, decrement: float, drift: float, at: Evaluation) -> float:
        """The curvature bound for a decrement taken in this factor, scores having moved by ``drift``."""
        if self.factor.singular:
            return np.inf
        return stale_curvature_gap(decrement / sqrt(self.share), self.bend(at), drift)

    def noise(self, at: Evaluation) -> float:
        """What rounding scores to EPS does to F: at most EPS · mean |ℓ'|, and |ℓ'| ≈ √(2ℓℓ'')."""
        value = max(abs(at.value), 1e-300)
        return EPS * (value + sqrt(2.0 * value * float(self.diagonal.max())))

    def floor(self, theta: FloatArray) -> float:
        """What rounding the weights to EPS leaves of F above its minimum: ½ΔᵀHΔ."""
        flat = theta.T.ravel()
        return EPS**2 * float(self.diagonal @ (flat * flat))

    def fresh(self, theta: FloatArray) -> bool:
        return theta is self.theta or bool(np.array_equal(theta, self.theta))

    def ended(self, theta: FloatArray, at: Evaluation) -> Evaluation | None:
        """The evaluation at θ with the Hessian in hand, where that was taken so near that it is θ's to rounding."""
        near = self.fresh(theta) or self.drift(theta, at) < SAME_CURVATURE
        return replace(at, hessian=self.hessian) if self.share == 1 and near else None


def damped_step(hessian: FloatArray, gradient: FloatArray, damping: float) -> FloatArray:
    """−(H + μκI)⁻¹∇F, κ the mean of H's diagonal: short where rows have grown so sure that H no longer knows how F
    bends a little farther on, and Newton's own step elsewhere."""
    unit = damping * float(np.trace(hessian)) / len(hessian)
    step = factorise(hessian + unit * np.eye(len(hessian))).solve(gradient.T.ravel())
    return -step.reshape(gradient.shape[::-1]).T
