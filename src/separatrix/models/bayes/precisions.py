"""Prior precisions by evidence maximisation: α_g, one for all weights or one a column  ([6867] 4, row B3).

    max over α of  log Pr(D | W_MAP) + log Pr(W_MAP) + (D/2) log 2π − ½ log|H|,   H = diag(α) + Σ o(1−o)xxᵀ

the reported evidence itself, its dependence on W_MAP and on the curvature there included (MacKay's fixed point leaves
that out). Each round makes the mode exact and then maximises over α, without the data, what a quadratic model of the
likelihood and a linear one of log|H| make of it: θ̂(α) is the model's mode, and the slope at the current α is the
evidence's, so that where a round changes nothing the evidence has slope zero. Precisions are taken in turn, each at
its best given the others (Tipping & Faul 2003), which switches columns off outright and not only in the limit.

Cost: a round is a warm Newton fit and two sweeps of O(nQ²), usually 2–8 rounds, and O(Q³) for the search.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from separatrix.core.numerics import EPS, FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.interrupts import until_interrupted
from separatrix.data.rows import Rows
from separatrix.models.bayes.laplace import Laplace, laplace
from separatrix.problems.prior import Prior, chart, curvature
from separatrix.verdict.gaps import class_shares

ROUNDS = 50  # at most
UNFINISHED = "no more rounds"
STEADY = 1e-8  # change of log α below which a round has nothing left to do
NO_GAIN = 1e-13  # nats: rounding
LOSS = 1e-8  # nats a round may lose to rounding
WIDEN = 3.5  # the most log α falls in one round
STEEP = 1e-3  # a fall of α beyond which the model is solved anew
CYCLES = 50  # through the precisions in a round
NARROWEST = 1e6  # a prior this many times as sharp as the data can be: the weight is off
WIDEST = 1e-6  # a prior of 1000 standard units: as good as flat


@dataclass(frozen=True)
class Search:
    """What evidence maximisation found: α (G,), inf where a group is off, and how it ended."""

    alpha: FloatArray
    fit: Laplace
    rounds: int
    stopped_by: str
    sweeps: float

    @property
    def short(self) -> bool:
        """Whether the evidence was still growing."""
        return self.stopped_by == UNFINISHED


def maximise_evidence(
    rows: Rows,
    moments: Moments,
    n_classes: int | None,
    prior_of: Callable[[FloatArray], Prior],
    groups: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    verbose: int = 0,
    switch_off: bool = True,
) -> Search:
    """α_g of the weights j with groups[j] = g that maximise the Laplace evidence; ``prior_of`` takes α (p,).

    ``switch_off``: a group whose evidence still grows where the prior is narrowest is held at zero from then on.
    """

    def fit_with(alpha: FloatArray, start: tuple[FloatArray, FloatArray] | None = None) -> Laplace:
        prior = prior_of(alpha[groups])
        return laplace(rows, moments, n_classes, prior, tol=tol, max_iter=max_iter, start=start)

    size = moments.variance
    if not prior_of(np.ones(rows.p)).fit_intercept:
        size = size + moments.mean**2
    elif moments.constant.any():
        size = np.where(moments.constant, 0.0, size)
    top = np.array([size[groups == g].max() for g in range(int(groups.max()) + 1)])
    says = top > 0
    usable = np.where(says, top, 1.0)  # a column that says nothing: any bounds do
    bounds = WIDEST * usable, NARROWEST * usable * rows.total_weight * curvature(n_classes)
    alpha = np.where(says, np.clip(usable * rows.p / 4, *bounds), bounds[1])
    found = _climb(fit_with, alpha, groups, bounds, says, verbose)
    if found.stopped_by == "interrupted" or not switch_off:
        return found
    off = found.alpha >= bounds[1] * (1 - 1e-9)
    if off.any():
        found = _with(found, fit_with, np.where(off, np.inf, found.alpha), always=True)
    if found.fit.log_evidence < _null_likelihood(found.fit) and not off.all():
        found = _with(found, fit_with, np.full(len(off), np.inf))  # maybe no weights at all are better still
    return found


def _climb(
    fit_with: Callable[..., Laplace],
    alpha: FloatArray,
    groups: np.ndarray,
    bounds: tuple[FloatArray, FloatArray],
    says: np.ndarray,
    verbose: int,
) -> Search:
    """Round after round from α; a round that lost evidence is taken back, and the next may not go as far."""
    at, start, sweeps, reach = alpha, None, 0.0, np.inf
    best: Laplace | None = None
    last: tuple[FloatArray, FloatArray] | None = None
    rounds = 0
    with until_interrupted():
        for rounds in range(1, ROUNDS + 1):
            fit = fit_with(at, start)
            sweeps += fit.sweeps
            if verbose:
                _report(rounds, fit, at)
            if fit.outcome.stopped_by == "interrupted":
                return Search(alpha, best or fit, rounds, "interrupted", sweeps)
            if best is None or fit.log_evidence >= best.log_evidence - LOSS:
                model = _Model.of(fit, groups)
                alpha, best, reach = at, fit, 4 * reach
                sweeps += 1
            else:
                reach, last = float(np.max(np.abs(np.log(at / alpha)))) / 4, None
            at, gain, start = _better(model, alpha, bounds, says, reach)
            step = np.log(at / alpha)
            if np.max(np.abs(step)) < STEADY or gain < NO_GAIN:
                return Search(alpha, best, rounds, "the evidence is at its top", sweeps)
            at, last = _extrapolated(at, step, last, bounds), (at, step)
        assert best is not None
        return Search(alpha, best, ROUNDS, UNFINISHED, sweeps)
    if best is None:
        raise KeyboardInterrupt("no round was finished")
    return Search(alpha, best, rounds, "interrupted", sweeps)


def _with(
    found: Search, fit_with: Callable[..., Laplace], alpha: FloatArray, *, always: bool = False
) -> Search:
    """The search ended at α instead, where that has more evidence (or ``always``)."""
    fit = fit_with(alpha)
    sweeps = found.sweeps + fit.sweeps
    if always or fit.log_evidence > found.fit.log_evidence:
        return Search(alpha, fit, found.rounds, found.stopped_by, sweeps)
    return Search(found.alpha, found.fit, found.rounds, found.stopped_by, sweeps)


def _null_likelihood(fit: Laplace) -> float:
    """log Pr(D) at the classes' shares: no model without weights has more evidence."""
    shares = class_shares(fit.objective)
    shares = shares[shares > 0]
    return fit.weight * float(np.sum(shares * np.log(shares)))


def _extrapolated(
    at: FloatArray,
    step: FloatArray,
    last: tuple[FloatArray, FloatArray] | None,
    bounds: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Anderson's step in log α from this round and the last: alone, rounds shrink by a constant factor."""
    if last is None or np.max(np.abs(step)) > 1:
        return at
    before, step_before = last
    change = step - step_before
    share = float(step @ change) / max(float(change @ change), EPS)
    if not -2 < share < 0.5:
        return at
    return np.clip(at * (at / before) ** -share, *bounds)


@dataclass(frozen=True)
class _Model:
    """The likelihood as a parabola at the mode of α₀, in the user's weights, contrast by contrast, the intercept
    integrated out. A₀ (Q, Q) is their posterior precision; μ, their distance from the prior's mean at the mode of
    another α, and h = A⁻¹∇log|H| follow from A = A₀ + diag(α − α₀):  Aμ = A₀μ₀,  Ah = A₀h₀."""

    precision: FloatArray
    mu: FloatArray
    h: FloatArray
    members: list[np.ndarray]
    fit: Laplace

    @classmethod
    def of(cls, fit: Laplace, groups: np.ndarray) -> _Model:
        F, p, q, heads = fit.objective, len(groups), fit.objective.shape[0], fit.prior.heads
        T = chart(F.coordinates, F.coordinates.centre, F.fit_intercept)[:p, :p]
        inner = fit.inverse_root / np.sqrt(fit.weight)
        R = np.concatenate([T @ inner[a * q : a * q + p] for a in range(heads)])
        h = R @ (inner.T @ F.tilt(fit.theta, fit.inverse_root).T.ravel())
        mu = (F.coordinates.weights(F.split(fit.theta)[0]) - fit.prior.mean[:p]).T.ravel()
        H = fit.weight * (fit.factor @ fit.factor.T)
        last = np.arange(q - 1, len(H), q) if F.fit_intercept else np.empty(0, dtype=np.intp)
        rest = np.setdiff1d(np.arange(len(H)), last)
        A = H[np.ix_(rest, rest)]
        if len(last):
            A = A - H[np.ix_(rest, last)] @ np.linalg.solve(H[np.ix_(last, last)], H[np.ix_(last, rest)])
        back = np.kron(np.eye(heads), np.linalg.inv(T))
        members = [np.flatnonzero(np.tile(groups == g, heads)) for g in range(int(groups.max()) + 1)]
        return cls(back.T @ A @ back, mu, h, members, fit)

    def at(self, change: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(C, μ, h) of α₀ + change (G,), from scratch."""
        A = self.precision.copy()
        for g in np.flatnonzero(change):
            A[self.members[g], self.members[g]] += change[g]
        size = np.sqrt(np.diag(A))
        root = np.linalg.inv(np.linalg.cholesky(A / size / size[:, None])) / size
        C = root.T @ root
        if not change.any():
            return C, self.mu.copy(), self.h.copy()
        return C, C @ (self.precision @ self.mu), C @ (self.precision @ self.h)

    def weights(self, mu: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(coef, intercept) at another distance from the prior's mean, the score at the mean row kept."""
        F, mean = self.fit.objective, self.fit.prior.mean
        p, heads = F.rows.p, self.fit.prior.heads
        w = mean[:p] + mu.reshape(heads, p).T.reshape(mean[:p].shape)
        b = np.zeros(w.shape[1:])
        if F.fit_intercept:
            b = F.split(self.fit.theta)[1] - F.coordinates.centre @ w
        return (w, b) if F.class_basis is None else (F.class_basis @ w.T, F.class_basis @ b)


def _better(
    model: _Model, start: FloatArray, bounds: tuple[FloatArray, FloatArray], says: np.ndarray, reach: float
) -> tuple[FloatArray, float, tuple[FloatArray, FloatArray]]:
    """(α', the gain promised, where the mode will be) by the model, log α' no further than ``reach`` from log α.

    With Δ = α' − α and C_GG = U diag(v) Uᵀ, a group's change gains

        ½ Σ_a [ log(α'/α) − log(1 + Δv_a) − Δ μ_a (μ_a − h_a) / (1 + Δv_a) ]
    """
    # where classes are nearly separated the curvature falls as weights grow: no prior widens far in one round
    low = np.maximum(bounds[0], start * np.exp(-min(reach, WIDEN)))
    high = np.minimum(bounds[1], start * np.exp(min(reach, 50.0)))
    alpha, total = start.copy(), 0.0
    for _ in range(CYCLES):
        C, mu, h = model.at(alpha - start)
        moved, before = 0.0, total
        for g in np.flatnonzero(says):
            G = model.members[g]
            v, U = np.linalg.eigh(C[np.ix_(G, G)]) if len(G) > 1 else (C[G, G], np.ones((1, 1)))
            v = np.clip(v, 0.0, 1.0 / alpha[g])
            m, t = U.T @ mu[G], U.T @ h[G]
            new, gain = _best_alpha(alpha[g], v, m * (m - t), low[g], high[g])
            if not gain > 0:
                continue
            total += gain
            moved = max(moved, abs(float(np.log(new / alpha[g]))))
            k = (new - alpha[g]) / (1 + (new - alpha[g]) * v)
            steep, alpha[g] = new < STEEP * alpha[g], new
            if steep:  # 1 + Δv is a small difference: its digits would be lost in C
                C, mu, h = model.at(alpha - start)
                continue
            E = C[:, G] @ U
            mu -= E @ (k * m)
            h -= E @ (k * t)
            if len(alpha) > 1:
                C -= (E * k) @ E.T
        if len(alpha) == 1 or moved < STEADY or total - before < 1e-3 * total:
            break  # the next round has a better model
    return alpha, total, model.weights(mu)


def _best_alpha(alpha: float, v: FloatArray, m: FloatArray, low: float, high: float) -> tuple[float, float]:
    """The α' of most gain between the bounds, and that gain; m = μ(μ − h) along the eigenvectors."""

    def gain(new: FloatArray) -> FloatArray:
        delta = (new - alpha)[:, None]
        terms = np.log(new / alpha)[:, None] - np.log1p(delta * v) - delta * m / (1 + delta * v)
        return 0.5 * terms.sum(axis=1)

    if len(v) == 1:
        s = max(1.0 / v[0] - alpha, 0.0) if v[0] > 0 else np.inf
        room = m[0] / v[0] ** 2 - s if v[0] > 0 else 0.0
        new = np.array([np.clip(s * s / room, low, high) if room > 0 else high])
        return float(new[0]), float(gain(new)[0])

    def slope(log_new: float) -> float:
        new = np.exp(log_new)
        share = new / (1 + (new - alpha) * v)
        return float(np.sum(1 - share * v - share * m / (1 + (new - alpha) * v)))

    grid = np.linspace(np.log(low), np.log(high), 200)
    i = int(gain(np.exp(grid)).argmax())
    left, right = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
    best = float(brentq(slope, left, right, xtol=1e-14)) if slope(left) > 0 > slope(right) else float(grid[i])
    return float(np.exp(best)), float(gain(np.exp([best]))[0])


def _report(round_: int, fit: Laplace, alpha: FloatArray) -> None:
    shown = f"{alpha[0]:.6g}" if len(alpha) == 1 else f"{alpha.min():.3g} … {alpha.max():.3g}"
    print(
        f"  round {round_:3d}   log evidence {fit.log_evidence:.8f}   precision {shown}   γ {fit.n_effective:.2f}",
        file=sys.stderr,
    )
