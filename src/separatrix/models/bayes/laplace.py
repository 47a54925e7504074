"""Laplace's approximation: the posterior as a Gaussian at its mode, and the evidence that follows ([6867] 4).

    S_n⁻¹ = H = S₀⁻¹ + Σ_i s_i o_i (1 − o_i) x_i x_iᵀ          at W_MAP = argmin NLL(W) + ½ (W − m₀)ᵀS₀⁻¹(W − m₀)
    log Pr(D) ≈ log Pr(D | W_MAP)  +  log Pr(W_MAP) + (D/2) log 2π − ½ log|H|
                 likelihood            Occam factor

Both are the same in every coordinate system, so they are computed in the solver's. Cost: Newton's sweeps and one more
of O(nQ²); O(Q³), Q parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.core.numerics import EPS, LOG_2PI, FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.rows import Rows
from separatrix.models.parameters import Fitting
from separatrix.problems import prior as priors
from separatrix.problems.coordinates import Coordinates
from separatrix.solve.newton import newton
from separatrix.solve.outcome import Account, Outcome
from separatrix.verdict import build
from separatrix.verdict.gaps import ROUNDING, curvature_gap, range_factor
from separatrix.verdict.verdict import Verdict


@dataclass(frozen=True)
class Posterior:
    """N(θ̂, root·rootᵀ) over θ, and the way to the user's units; ``root`` (Q, Q), contrast by contrast."""

    coordinates: Coordinates
    root: FloatArray
    n_classes: int | None
    fit_intercept: bool

    @cached_property
    def basis(self) -> FloatArray | None:
        return priors.contrasts(self.n_classes)

    @property
    def q(self) -> int:
        return self.coordinates.size + int(self.fit_intercept)

    def _to_first(self) -> FloatArray:
        """(b, w), the intercept first, from one contrast's θ: (q, q_inner)."""
        T = priors.chart(self.coordinates, np.zeros(len(self.coordinates.centre)), self.fit_intercept)
        return np.roll(T, 1, axis=0) if self.fit_intercept else T

    def user_root(self) -> FloatArray:
        """A root of the covariance of (b, w): (q, Q), or (K, q, Q)."""
        T = self._to_first()
        parts = np.stack([T @ self.root[a : a + self.q] for a in range(0, len(self.root), self.q)])
        return parts[0] if self.basis is None else np.tensordot(self.basis, parts, axes=1)

    def covariance(self) -> FloatArray:
        """Of (b, w): (q, q), or class by class (Kq, Kq)."""
        root = self.user_root()
        root = root.reshape(-1, root.shape[-1])
        return root @ root.T

    def score_covariance(self, cells: Any) -> FloatArray:
        """Of the score of each row: its variance (n,), or that of the K−1 contrasts (n, K−1, K−1)."""
        dense = cells if isinstance(cells, np.ndarray) else cells.toarray()
        z = priors.inner_rows(self.coordinates, dense, self.fit_intercept)
        if self.basis is None:
            return np.square(z @ self.root).sum(axis=1)
        return priors.leverages(z, self.root, self.q)


@dataclass(frozen=True)
class Laplace:
    """A mode, the curvature there, and what they add up to; ``factor`` is the lower Cholesky factor of H/W."""

    objective: priors.PriorObjective
    theta: FloatArray
    outcome: Outcome
    value: float
    gap: float
    penalty: float
    factor: FloatArray
    sweeps: float

    @property
    def weight(self) -> float:
        return self.objective.total_weight

    @property
    def prior(self) -> priors.Prior:
        return self.objective.prior

    @cached_property
    def inverse_root(self) -> FloatArray:
        """R with (H/W)⁻¹ = RRᵀ."""
        return np.asarray(solve_triangular(self.factor, np.eye(len(self.factor)), lower=True)).T

    @property
    def posterior(self) -> Posterior:
        F = self.objective
        return Posterior(
            F.coordinates, self.inverse_root / np.sqrt(self.weight), F.n_classes, F.fit_intercept
        )

    @property
    def log_likelihood(self) -> float:
        return -self.weight * (self.value - self.penalty)

    @property
    def log_det(self) -> float:
        """log|H| over θ; a column held at zero has a one on the diagonal of H/W and adds nothing."""
        return 2 * float(np.log(np.diag(self.factor)).sum()) + self.prior.size * float(np.log(self.weight))

    @property
    def log_occam(self) -> float:
        """log Pr(W_MAP) + (D/2) log 2π − ½ log|H|: the same in all coordinates."""
        volume = self.prior.log_det_in(self.objective.coordinates) - self.log_det
        return 0.5 * volume - self.weight * self.penalty

    @property
    def log_prior(self) -> float:
        """log Pr(W_MAP), a density in the user's units."""
        return 0.5 * (self.prior.log_det - self.prior.size * LOG_2PI) - self.weight * self.penalty

    @property
    def log_evidence(self) -> float:
        return self.log_likelihood + self.log_occam

    @property
    def n_effective(self) -> float:
        """γ = tr(H⁻¹ Σ o(1−o)xxᵀ): how many parameters the data determine, the prior the rest."""
        pull = float(np.sum(self.inverse_root * (self.objective.weigher @ self.inverse_root)))
        return self.prior.size - pull

    def as_prior(self) -> priors.Prior:
        """The posterior as the prior of rows to come, anchored at the mean of these."""
        F = self.objective
        c, q = F.coordinates, F.shape[0]
        H = self.weight * (self.factor @ self.factor.T)
        back = np.linalg.pinv(priors.chart(c, c.centre, F.fit_intercept))  # zero on columns held at zero
        wide = back.shape[1]
        P = np.empty((self.prior.heads * wide, self.prior.heads * wide))
        for a in range(self.prior.heads):
            for b in range(self.prior.heads):
                part = H[a * q : a * q + q, b * q : b * q + q]
                P[a * wide : a * wide + wide, b * wide : b * wide + wide] = back.T @ part @ back
        live = self.prior.live
        log_det = self.log_det - 2 * self.prior.heads * priors.log_volume(c, live, F.fit_intercept)
        t, lift = F.split(self.theta)
        mean = c.weights(t)
        if F.fit_intercept:
            mean = np.concatenate([mean, [lift]])
        return priors.Prior(mean, P, log_det, c.centre, live)


def laplace(
    rows: Rows,
    moments: Moments,
    n_classes: int | None,
    prior: priors.Prior,
    *,
    tol: float,
    max_iter: int,
    verbose: int = 0,
    start: tuple[FloatArray, FloatArray] | None = None,
) -> Laplace:
    """The mode by Newton (which proves its gap), then the curvature there by one more sweep."""
    sweeps = 0.0
    for rotated in (False, True):
        F = priors.PriorObjective.of(
            rows, moments, priors.loss_of(n_classes), n_classes, prior, rotated=rotated
        )
        account = Account(F, verbose=verbose, sweeps=sweeps + rotated)
        theta = F.centre if start is None else F.from_user(*start)
        outcome = newton(account, theta, tol**4, max_iter, warm=start is not None, exists=True)
        sweeps = account.sweeps
        if not outcome.ill_conditioned:
            break
    return at_mode(F, outcome, sweeps)


def at_mode(F: priors.PriorObjective, outcome: Outcome, sweeps: float = 0.0) -> Laplace:
    """The Gaussian at a point, and how far above the minimum F may be there: proven by the sweep itself."""
    at = F.evaluate(outcome.theta, order=2)
    assert at.hessian is not None
    factor = _cholesky(at.hessian)
    inverse = solve_triangular(factor, np.eye(len(factor)), lower=True)
    decrement = float(np.linalg.norm(inverse @ at.gradient.T.ravel()))
    reach = range_factor(F) * at.radius * float(np.linalg.norm(inverse))
    gap = max(min(outcome.gap, curvature_gap(decrement, reach)), ROUNDING * abs(at.value))
    return Laplace(F, outcome.theta, outcome, at.value, gap, at.penalty, factor, sweeps + 1)


def _cholesky(H: FloatArray) -> FloatArray:
    """L with LLᵀ = H; eigenvalues below rounding, which a prior does not leave but rounding may, are lifted to it."""
    try:
        return np.linalg.cholesky(H)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(H)
        values = np.maximum(values, len(values) * EPS * values[-1])
        r = np.asarray(np.linalg.qr((vectors * np.sqrt(values)).T, mode="r"))
        return np.asarray(r * np.where(np.diag(r) < 0, -1.0, 1.0)[:, None]).T


def verdict_of(
    model: Fitting, fit: Laplace, moments: Moments, findings: tuple[str, ...], sweeps: float
) -> Verdict:
    """The verdict on a mode, its gap proven by the curvature there; the prior makes it unique."""
    coef = np.atleast_2d(fit.objective.to_user(fit.theta)[0])
    error = EPS * float(np.max(np.abs(coef) @ np.sqrt(moments.variance)))  # of a score, by rounding
    rise = _rise_in_single(model, fit)
    gap = max(fit.gap, error**2) + rise
    target = max(float(model.tol) ** 4, 1e-13) * abs(fit.value) + 2 * error**2 + 4 * rise
    stopped = fit.outcome.stopped_by
    if gap <= target and stopped == "max_iter reached":
        stopped += ", and the gap is met"
    return build.proven(
        model, scale="mean loss", objective=fit.value, gap=gap, tol=target, unique=True, stopped_by=stopped,
        sweeps=sweeps, findings=findings, interrupted=stopped == "interrupted",
    )  # fmt: skip


def _rise_in_single(model: Fitting, fit: Laplace) -> float:
    """How much higher F is at coef_ and intercept_ where float32 has rounded them: one sweep, else 0."""
    if model.coef_.dtype != np.float32:
        return 0.0
    F, two = fit.objective, fit.objective.n_classes is None
    coef, intercept = model.coef_.astype(float), model.intercept_.astype(float)
    theta = F.from_user(*((coef[0], intercept[0]) if two else (coef, intercept)))
    return max(F.evaluate(theta).value - fit.value, 0.0)


def verified(
    model: Fitting,
    rows: Rows,
    moments: Moments,
    prior: priors.Prior,
    coef: FloatArray,
    intercept: FloatArray,
    claimed: float,
) -> Verdict:
    """The verdict on given weights from the rows and the prior alone; ``claimed`` is the log evidence of the fit."""
    n_classes, by = None if coef.ndim == 1 else len(coef), build.VERIFIED
    found: list[Laplace] = []
    for rotated in (False, True):
        F = priors.PriorObjective.of(
            rows, moments, priors.loss_of(n_classes), n_classes, prior, rotated=rotated
        )
        theta = F.from_user(coef, intercept)
        found.append(at_mode(F, Outcome(theta, np.inf, np.inf, None, 0, by, np.nan)))
        if found[-1].gap <= model.verdict_.tol:
            break
    best = min(found, key=lambda f: f.gap)
    # a part common to all classes, or a weight of a column switched off, is in no θ: it is not the mode
    seen, tol = F.to_user(theta), model.verdict_.tol
    room = 1e-9 if coef.dtype == np.float64 else 1e-6
    strange = any(
        np.abs(a - b).max() > room * max(1.0, np.abs(a).max()) for a, b in zip((coef, intercept), seen)
    )
    gap = np.inf if strange else best.gap
    text = f"log evidence {best.log_evidence:.4f}"
    if not abs(best.log_evidence - claimed) <= 1e-6 * max(1.0, abs(claimed)):
        text += f", not the {claimed:.4f} of the fit"
    return build.proven(
        model, scale="mean loss", objective=best.value, gap=gap, tol=tol, unique=True, stopped_by=by,
        sweeps=2.0 * len(found) - 1, findings=(text,),
        status="optimal" if gap <= max(tol, 1e-13 * abs(best.value)) else "not converged",
    )  # fmt: skip
