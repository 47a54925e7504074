"""A fitted likelihood as inference sees it: where it ended, its information there, and the way to the user's units.

    I(θ) = Σ_i s_i w_i z_i z_iᵀ / φ,     β = Uθ,     Cov β̂ = U I⁻¹ Uᵀ

θ are the inner coordinates a fit works in, β the parameters as printed: the intercept first, then the columns; for K
classes class by class against a reference. s is a row's weight (frequency times precision), w its expected curvature
and φ the dispersion. Notes [6867] 3.2.3; row D8. Cost: one sweep with the Hessian, O(nq²).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import lapack

from separatrix.core.links import Link
from separatrix.core.losses import Multinomial
from separatrix.core.numerics import FloatArray, softmax
from separatrix.core.responses import Gaussian, GlmLoss, Response
from separatrix.data.engine import one_blas_thread
from separatrix.data.observations import Observations
from separatrix.inference.mixin import INTERCEPT
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.firth import FirthObjective
from separatrix.problems.influence import row_forms, row_scores
from separatrix.problems.objective import Evaluation, Objective
from separatrix.solve.linear import LinearFit, Problem
from separatrix.verdict.gaps import Factor, factorise
from separatrix.verdict.separability import Names

CHANGED = "{} goes through the data of the fit again, and they have been changed in place since: fit again"
NOT_ESTIMABLE = 1e-7  # share of a parameter in a blind direction, above which it has no estimate


@dataclass(frozen=True)
class Likelihood:
    """A maximum of a likelihood (or of Firth's): objective and θ in inner coordinates, and what was observed.

    ``objective`` has the expected curvature; its value is half the mean deviance. ``response`` and ``link`` are None
    for K classes. ``aliased`` are columns the data cannot tell apart, ``constant`` those the intercept stands for.
    """

    objective: Objective
    theta: FloatArray
    seen: Observations
    columns: tuple[str, ...]
    response: Response | None = None
    link: Link | None = None
    aliased: tuple[int, ...] = ()
    constant: tuple[int, ...] = ()
    dispersion_known: float | None = None
    classes: tuple[str, ...] = ()
    reference: int = 0
    weights: tuple[FloatArray, FloatArray] | None = None  # coef and intercept as the model shows them
    ended: float | None = None  # the objective's value where the solver ended
    estimated: int = 0  # parameters of the family that were estimated beside those of the mean
    lost: bool = False  # whether there is no estimate, and so no errors of it

    @classmethod
    def of(
        cls, problem: Problem, fit: LinearFit, seen: Observations, names: Names,
        response: Response | None = None, link: Link | None = None, *,
        dispersion_known: float | None = None, classes: tuple[str, ...] = (), estimated: int = 0,
    ) -> Likelihood:  # fmt: skip
        """That of a fit; no sweep is made until something is asked. ``names`` are the columns'."""
        objective, loss = fit.objective, fit.objective.loss
        if isinstance(loss, GlmLoss) and loss.observed:
            objective = replace(objective, loss=replace(loss, observed=False))
        constant = np.flatnonzero(problem.moments.constant) if problem.fit_intercept else ()
        kept = cls(
            objective, fit.outcome.theta, seen,
            tuple(map(str, [f"x{j}" for j in range(problem.rows.p)] if names is None else names)),
            response, link, tuple(int(j) for j in fit.aliased), tuple(int(j) for j in constant),
            dispersion_known, classes, weights=(fit.coef, np.asarray(fit.intercept)),
            ended=fit.outcome.value, estimated=estimated,
        )  # fmt: skip
        last = fit.outcome.last
        if last is not None and objective is fit.objective and problem.kind.proven and problem.loss.bend != 0:
            kept.__dict__["at"] = last  # the sweep for the errors has been made already
        return kept

    def lose_covariance(self) -> None:
        """An estimate that does not exist has no errors."""
        self.__dict__["lost"] = True

    # ---- at the maximum ----

    @cached_property
    def at(self) -> Evaluation:
        found = replace(self.objective).evaluate(self.theta, order=2)  # the rows as they are now
        if self.ended is not None and not abs(found.value - self.ended) <= 1e-6 * abs(self.ended) + 1e-12:
            raise ValueError(CHANGED.format("a standard error"))
        return found

    @cached_property
    def information(self) -> FloatArray:
        """H, the mean expected information at θ in inner coordinates (of the likelihood, Firth's term left out)."""
        return self.information_at(self.theta, self.at)

    def information_at(self, theta: FloatArray, at: Evaluation) -> FloatArray:
        """The same elsewhere; ``at`` is the objective's evaluation there, of the second order."""
        if isinstance(self.objective, FirthObjective):
            return self.objective.information(theta)
        assert at.hessian is not None
        return at.hessian

    @cached_property
    def factor(self) -> Factor:
        return factorise(self.information)

    @cached_property
    def root(self) -> FloatArray:
        """R with R Rᵀ = H⁻¹."""
        with one_blas_thread():
            chol, info = lapack.dpotrf(self.information, lower=1, clean=1)
            inverse, failed = lapack.dtrtri(chol, lower=1) if info == 0 else (chol, 1)
            if failed == 0:
                return np.asarray(inverse.T)
            values, vectors = np.linalg.eigh(self.information)
        return vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny))

    @property
    def firth(self) -> bool:
        return not self.objective.proven

    @property
    def weight(self) -> float:
        return self.objective.total_weight

    @cached_property
    def half_deviance(self) -> float:
        """Σ_i s_i ℓ_i at the maximum."""
        if not self.firth:
            return self.weight * (self.at.value - self.at.penalty)
        return self.plain_half_deviance(self.theta)

    def plain_half_deviance(self, theta: FloatArray) -> float:
        """Σ_i s_i ℓ_i at θ without Firth's term."""
        o = self.objective
        plain = Objective(o.rows, o.loss, 0.0, o.fit_intercept, o.coordinates, o.n_classes)
        return self.weight * plain.evaluate(theta).value

    @cached_property
    def eta(self) -> FloatArray:
        """Scores of the rows, offset included: (n,) or (n, K)."""
        eta = row_scores(self.objective, self.theta)
        return eta if self.seen.offset is None else eta + self.seen.offset

    @cached_property
    def mu(self) -> FloatArray:
        """Fitted means (n,), or probabilities (n, K)."""
        return softmax(self.eta) if self.link is None else self.link.inverse(self.eta)

    @cached_property
    def rank(self) -> int:
        """Parameters the data determine."""
        heads = 1 if self.objective.n_classes is None else self.objective.n_classes - 1
        c = self.objective.coordinates
        size = c.size if c.basis is not None else int(np.count_nonzero(c.scale))
        return heads * (size + int(self.objective.fit_intercept))

    @property
    def df_residual(self) -> float:
        return self.seen.count - self.rank

    @cached_property
    def pearson(self) -> float:
        """Σ_i s_i (y_i − μ_i)²/V(μ_i)."""
        if isinstance(self.response, Gaussian):
            return 2.0 * self.half_deviance
        assert self.response is not None
        return self.seen.total((self.seen.y - self.mu) ** 2 / self.response.variance(self.mu))

    @cached_property
    def dispersion(self) -> float:
        """φ: known, or Pearson's statistic over the residual degrees of freedom (NaN without any)."""
        if self.dispersion_known is not None:
            return self.dispersion_known
        return self.pearson / self.df_residual if self.df_residual > 0 else np.nan

    @property
    def estimates_dispersion(self) -> bool:
        return self.dispersion_known is None

    @cached_property
    def log_likelihood(self) -> float:
        """log p(y | μ̂, φ) with the φ that R takes; NaN where the law has no density in closed form."""
        if self.response is None:
            return -self.half_deviance
        y, v = self.seen.y, self.seen.precision
        if v is None and self.binary:
            return -self.half_deviance
        phi = self.dispersion_known
        if phi is None:
            s = self.seen.weight
            if isinstance(self.response, Gaussian):
                phi = 2.0 * self.half_deviance / self.seen.count
            else:
                phi = 2.0 * self.half_deviance / (len(y) if s is None else float(s.sum()))
        if not phi > 0:
            return np.inf  # the fit leaves nothing over, and the density of what is certain has no bound
        law, at = self.response, np.asarray(phi)
        try:
            with np.errstate(all="ignore"):
                if v is None:
                    saturated = self.seen.total_of(lambda y: law.saturated(y, np.ones_like(y), at))
                else:
                    saturated = self.seen.total(np.where(v > 0, law.saturated(y, v, at), 0.0), weight=False)
        except NotImplementedError:
            return np.nan
        return saturated - self.half_deviance / phi

    @cached_property
    def binary(self) -> bool:
        y, binomial = self.seen.y, self.response is not None and self.response.name == "binomial"
        return binomial and bool(np.all((y == 0) | (y == 1)))

    @property
    def parameters(self) -> int:
        """Parameters an information criterion counts: the mean's, the dispersion where estimated, a size."""
        return self.rank + int(self.estimates_dispersion) + self.estimated

    @property
    def aic(self) -> float:
        return 2.0 * self.parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        return float(np.log(self.seen.count)) * self.parameters - 2.0 * self.log_likelihood

    # ---- the user's parameters ----

    @property
    def names(self) -> tuple[str, ...]:
        """Labels of β in the order of :attr:`user_map`."""
        one = (INTERCEPT, *self.columns) if self.objective.fit_intercept else self.columns
        if not self.classes:
            return one
        others = [c for k, c in enumerate(self.classes) if k != self.reference]
        return tuple(f"{c}: {name}" for c in others for name in one)

    @cached_property
    def user_map(self) -> FloatArray:
        """U with β = Uθ: rows as :attr:`names`, columns as the gradient's transpose unravelled."""
        one = user_rows(self.objective.coordinates, self.objective.fit_intercept)
        basis = self.objective.class_basis
        if basis is None:
            return one
        contrasts = np.delete(basis, self.reference, axis=0) - basis[self.reference]
        return np.kron(contrasts, one)

    @cached_property
    def beta(self) -> FloatArray:
        """The parameters as printed; those without an estimate are NaN only in their errors."""
        if self.weights is None:
            return self.user_map @ self.theta.T.ravel()
        coef, intercept = self.weights
        table = np.column_stack([np.atleast_1d(intercept), np.atleast_2d(coef)])
        table = table if self.objective.fit_intercept else table[:, 1:]
        if not self.classes:
            return np.asarray(table[0])
        return np.delete(table - table[self.reference], self.reference, axis=0).ravel()

    @cached_property
    def estimable(self) -> np.ndarray:
        """Which parameters the data determine: no direction they do not see takes part in them."""
        ok = determined(self.objective.coordinates, self.objective.fit_intercept)
        if self.objective.fit_intercept:
            ok[1:][list(self.constant)] = False
        else:
            ok[list(self.constant)] = False
        heads = 1 if self.objective.n_classes is None else self.objective.n_classes - 1
        return np.tile(ok, heads)

    def covariance_of(self, inner: FloatArray) -> FloatArray:
        """U C Uᵀ, NaN where a parameter has no estimate."""
        covariance = self.user_map @ inner @ self.user_map.T
        covariance = 0.5 * (covariance + covariance.T)
        lost = ~self.estimable
        covariance[lost] = np.nan
        covariance[:, lost] = np.nan
        return covariance

    def variances_of(self, inner: FloatArray) -> FloatArray:
        """The diagonal of U C Uᵀ; of wide data alone, where the matrix is much larger, it is not formed."""
        if len(self.names) <= len(inner):
            return np.diag(self.covariance_of(inner))
        variances = np.einsum("ij,ij->i", self.user_map @ inner, self.user_map)
        return np.where(self.estimable, variances, np.nan)

    @cached_property
    def model_covariance(self) -> FloatArray:
        """φ U (W H)⁻¹ Uᵀ."""
        if self.lost:
            return np.full((len(self.names),) * 2, np.nan)
        return self.covariance_of(self.inner_covariance)

    @cached_property
    def inner_covariance(self) -> FloatArray:
        return (self.dispersion / self.weight) * (self.root @ self.root.T)

    # ---- rows ----

    @cached_property
    def slopes(self) -> FloatArray:
        """∂ℓ/∂η of one observation a row, its precision included: (n,), or (n, K−1) in the contrasts."""
        if self.objective.n_classes is not None:
            assert self.objective.class_basis is not None
            slope = Multinomial().slope(self.eta, self.seen.y)
            return slope @ self.objective.class_basis
        slope = self.loss.slope(self.eta, self.seen.y)
        return slope if self.seen.precision is None else slope * self.seen.precision

    @property
    def loss(self) -> GlmLoss:
        """The loss of one row without its offset (η already has it)."""
        assert self.response is not None and self.link is not None
        return GlmLoss(self.response, self.link)

    @cached_property
    def leverage(self) -> FloatArray:
        """h_i = w_i z_iᵀ I⁻¹ z_i (n,), the trace of the block for K classes; Σ frequency·h = rank."""
        forms = row_forms(self.objective, self.root) / self.weight
        if self.objective.n_classes is not None:
            q = self.objective.class_basis
            assert q is not None
            bend = Multinomial().curvature(self.eta, self.seen.y)
            inside = np.einsum("ka,nkl,lb->nab", q, bend, q, optimize=True)
            return np.einsum("nab,nab->n", forms, inside)
        h = forms * self.loss.derivatives(self.eta, self.seen.y)[2]
        return h if self.seen.precision is None else h * self.seen.precision

    def against(self, reference: int) -> Likelihood:
        """The same fit printed against another reference class."""
        if reference == self.reference:
            return self
        other = replace(self, reference=reference)
        kept = set(_SETTLED) - {"beta"}
        other.__dict__.update({name: vars(self)[name] for name in kept if name in vars(self)})
        return other

    @property
    def has_data(self) -> bool:
        return self.objective.rows.source is not None

    def need_data(self, what: str) -> None:
        """Refuse what has to go through the rows again when they were not kept, or are no longer what they were."""
        if not self.has_data:
            raise ValueError(
                f"{what} goes through the data of the fit again, and a saved or copied model does not carry them: "
                "fit again, then ask"
            )
        value = replace(self.objective).evaluate(self.theta).value  # of the rows as they are now
        if not abs(value - self.at.value) <= 1e-8 * abs(self.at.value) + 1e-12:
            raise ValueError(CHANGED.format(what))

    def without_data(self) -> Likelihood:
        """The same with everything that is known kept and the rows left behind: what a pickle holds."""
        if not self.has_data:
            return self
        known = {name: getattr(self, name) for name in _SETTLED}
        rows = replace(self.objective.rows, source=None, y=None, weight=None)
        objective = replace(self.objective, rows=rows)
        objective.__dict__["total_weight"] = self.objective.total_weight
        seen = Observations(np.empty(0))
        seen.__dict__["count"] = self.seen.count
        light = replace(self, objective=objective, seen=seen)
        light.__dict__.update(known)
        return light


# what needs the rows once, and is kept when they are left behind
_SETTLED = (
    "at", "information", "root", "half_deviance", "dispersion", "log_likelihood", "rank", "beta", "estimable",
    "inner_covariance",
)  # fmt: skip


def user_rows(c: Coordinates, fit_intercept: bool) -> FloatArray:
    """U of one score: b = lift·θ_b − centre·w first, then w = scale·(B t)."""
    weights = np.diag(c.scale) if c.basis is None else c.scale[:, None] * c.basis
    if not fit_intercept:
        return weights
    top = np.append(-c.centre @ weights, c.lift)
    return np.vstack([top, np.column_stack([weights, np.zeros(len(weights))])])


def determined(c: Coordinates, fit_intercept: bool) -> np.ndarray:
    """Which of (b, w) no blind direction moves: (p + 1,) or (p,)."""
    if c.blind is None:
        return np.ones(len(c.scale) + int(fit_intercept), dtype=bool)
    weights = ~c.blind.moved(NOT_ESTIMABLE)
    if not fit_intercept:
        return weights
    return np.append(not c.blind.moves_sum(c.centre, NOT_ESTIMABLE), weights)
