"""Generalised linear models:  g(E y) = w·x + b + offset,  Var y = φ V(μ)/precision  ([6867] 3.1.3, 3.2.3; [PC]).

    min (1/W) Σ_i s_i ½ d(y_i, μ_i) + ½ α ‖w‖²,      d the unit deviance of the family,  s = frequency · precision

Iteratively reweighted least squares is Newton's method with Fisher's expected curvature w_i = μ'²/V; under the
canonical link the two are one, and where the loss is convex in another way (Gamma, negative binomial and Tweedie
under the log) the observed curvature is used, because then the gap is proven. Rows D8 and D9; D7 for counts too: a
Poisson model whose zeros are cut off by a hyperplane has no estimate either, and says so.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.core import links
from separatrix.core.caller import warn
from separatrix.core.links import Link
from separatrix.core.numerics import FloatArray
from separatrix.core.responses import GlmLoss, Response, response, response_name
from separatrix.data.checks import check_known, is_positive
from separatrix.data.door import finite_moments, is_dask, read_for_prediction, read_table, rows_of
from separatrix.data.engine import one_blas_thread
from separatrix.data.estimator import KW_ONLY, Estimator, constructor
from separatrix.data.observations import read_observations
from separatrix.data.sources import TableLike
from separatrix.inference.likelihood import Likelihood
from separatrix.inference.mixin import PENALISED, Inferential
from separatrix.models.linear.existence import Existence, find_out, worth_a_proof
from separatrix.models.linear.glm_frames import EXTRAS, Given, ReadsFormulas
from separatrix.models.linear.glm_problem import GlmProblem, glm_loss, known_dispersion, means
from separatrix.models.linear.glm_verdict import glm_verdict
from separatrix.models.linear.null_model import null_deviance, null_intercept
from separatrix.models.linear.separation import gone_on
from separatrix.models.parameters import check_limits, objective_kind, threads, warn_of
from separatrix.models.rule import LiveRule
from separatrix.solve.linear import LinearFit, Problem, minimise
from separatrix.solve.registry import NEWTON
from separatrix.verdict.from_objectives import Part, verdict_from_objectives
from separatrix.verdict.separability import Separability
from separatrix.verdict.verdict import Verdict


@constructor
class GeneralizedLinearModel(ReadsFormulas, Inferential, LiveRule, RegressorMixin, Estimator):
    """g(E[y | x]) = w·x + b, Var y = φ V(μ)/precision: fitted by maximum likelihood, with tests and a verdict.

    min over w, b of (1/W) Σ_i s_i ½ d(y_i, μ_i) + ½ α ‖w‖², the objective of scikit-learn's GLM regressors. Notes
    [6867] 3.1.3, 3.2.3, [PC]; rows D8, D9.

    Parameters
    ----------
    family : "gaussian", "binomial" (or "bernoulli"), "poisson", "gamma", "exponential", "inverse_gaussian",
        "negative_binomial", "tweedie"; or a Family or Response object
    link : "identity", "log", "logit", "probit", "cloglog", "inverse", "sqrt", "inverse_squared"; None for the
        family's canonical (or usual) one
    size : of a negative binomial, Var y = μ + μ²/size (MASS's theta); None estimates it with the weights, as glm.nb
    power : of a Tweedie, Var y = φ μ^power
    alpha : strength of a ridge on the weights, never on the intercept; 0 for none. A penalised fit has no p-values
    penalty : None, or "firth" for the Jeffreys-penalised likelihood of binomial and Poisson models, finite under
        separation and with less bias
    fit_intercept : whether b is fitted
    tol : Newton stops when the objective is proven within tol⁴ (relatively) of its minimum; where no bound is known
        for the link, when the score vanishes to that precision
    max_iter : most steps
    warm_start : start from the last fit's weights
    verbose : 1 prints a line a step to standard error
    n_jobs : threads; None uses all cores this process may use
    record_path : keep every step in ``path_``

    Attributes
    ----------
    coef_ : (p,); ±inf or NaN where no finite estimate exists (see ``verdict_``)
    intercept_ : a number
    covariance_ : (p + 1, p + 1), the intercept first; ``dispersion_``, ``deviance_``, ``null_deviance_``,
        ``log_likelihood_``, ``aic_``, ``bic_``, ``df_residual_``, ``df_null_``
    family_, link_ : the objects in use
    size_, size_error_ : of a negative binomial whose size is estimated, with its standard error; inf where the counts
        are no more spread out than a Poisson's
    verdict_, n_iter_, n_features_in_, feature_names_in_, path_ : as in :class:`~separatrix.LogisticRegression`

    Notes
    -----
    Cost: O(np²) a sweep with the Hessian, 2–6 of them, and one more for the standard errors. Threads, arrays on disk
    and Dask as everywhere. AIC, BIC and the dispersion are R's. The rows of the last fit are kept by reference for
    residuals, robust errors and tests; a pickle leaves them behind.

    Examples
    --------
    A rate table: claims against policies held, as in R's ``glm(…, poisson, offset = log(holders))``.

    >>> X = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> claims, holders = [38, 35, 4, 3], [197, 264, 35, 20]
    >>> model = GeneralizedLinearModel("poisson").fit(X, claims, exposure=holders)
    >>> np.exp([model.intercept_, model.coef_[0]]).round(4)  # a rate, and a ratio of rates
    array([0.1584, 0.8037])
    >>> model.summary().to_frame().round(3)["p"].tolist()
    [0.0, 0.58]
    """

    family: Any = "gaussian"
    link: Any = None
    _: KW_ONLY
    size: float | None = None
    power: float | None = None
    alpha: float = 0.0
    penalty: str | None = None
    fit_intercept: bool = True
    tol: float = 1e-4
    max_iter: int = 100
    warm_start: bool = False
    verbose: int = 0
    n_jobs: int | None = None
    record_path: bool = False

    def fit(
        self,
        X: TableLike,
        y: Any,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
        precision: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Fit to rows X (n, p) and responses y (n,), or for the binomial (n, 2) counts of successes and failures.

        Parameters
        ----------
        sample_weight : frequency: a weight of 2 means the row stands there twice
        offset : (n,), added to the score with coefficient one
        exposure : (n,), the time or size a count refers to; adds log exposure to the score (log link)
        precision : (n,), Var y = φ V(μ)/precision, R's ``weights``; of a binomial proportion the number of trials
        weights : (n,), R's prior weights under R's name: a precision, and for Poisson and negative binomial counts,
            which have no φ to divide, what multiplies a row's log-likelihood, as in R
        """
        began = time.perf_counter()
        family, link = self._check_parameters()
        for name in ("_table", "terms_", "formula_", "size_", "size_error_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        with threads(self.n_jobs), one_blas_thread():
            given = {"offset": offset, "exposure": exposure, "precision": precision, "weights": weights}
            glm = self._read(X, y, sample_weight, given, family, link)
            if self._estimates_size:
                fit = self._fit_with_size(glm, began)
            else:
                existence, fit = self._fit_weights(glm)
                self._settle(existence, fit, began)
        self._given = tuple(name for name, value in given.items() if value is not None)
        self.n_iter_ = fit.outcome.iterations
        self.__dict__.pop("path_", None)
        if fit.path is not None:
            self.path_ = fit.path
        warn_of(
            self.verdict_,
            f"The way out: {self.verdict_.findings[-1]}" if self.verdict_.findings else "",
            "Increase max_iter, or choose another link",
        )
        return self

    def predict(
        self,
        X: TableLike,
        offset: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
        kind: str = "mean",
        na: str | None = None,
    ) -> FloatArray:
        """E[y | x] of each row (n,), or with ``kind="link"`` the score g(μ).

        A model of a formula finds in the frame what its ``offset(…)``, ``offset=`` and ``exposure=`` named;
        ``offset`` and ``exposure`` given here (numbers, one for all rows, or a column's name) stand in place of the
        argument of that name. For a model fitted with numbers, give those of the new rows; without any they are
        taken as 0 (an exposure of 1).

        ``na`` : "nan" gives NaN for a row with an empty cell, "raise" refuses it. By default a model of a formula
        does the first, as R does, and a model of a table the second, as scikit-learn does.
        """
        check_is_fitted(self)
        check_known("kind", kind, "mean", "link")
        cells, shift, whole = self._new_rows(X, offset, exposure, na)
        if is_dask(cells):
            if offset is not None or exposure is not None:
                raise ValueError("an offset beside Dask rows is not read: call X.compute() first")
            lazy = cells.to_dask_array(lengths=True) if hasattr(cells, "columns") else cells
            # the rule and the link alone go with the blocks: the model would bring the rows of its fit
            light = partial(means, rule=self.rule_, link=self.link_, shift=None, kind=kind)
            return lazy.rechunk({1: -1}).map_blocks(light, dtype=float, drop_axis=1)
        if whole is None:
            return means(cells, self.rule_, self.link_, shift, kind)
        if not whole.any():
            return np.full(len(whole), np.nan)
        some = means(cells, self.rule_, self.link_, shift, kind)
        values = np.full(len(whole), np.nan, dtype=some.dtype)
        values[whole] = some
        return values

    def score(
        self,
        X: TableLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        *,
        exposure: ArrayLike | None = None,
        precision: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> float:
        """D² = 1 − deviance / deviance of a constant (a constant rate, with an exposure), R² for the Gaussian.

        For a model of a formula X is a frame: offset, exposure, precision and weights are those the fit named, the
        response is its left side unless y is given, and rows with an empty cell are left out. ``sample_weight`` is
        not remembered: how often a row of the training table stood there says nothing of another table.
        """
        check_is_fitted(self)
        family, link = self.family_, self.link_
        given = {"offset": offset, "exposure": exposure, "precision": precision, "weights": weights}
        if hasattr(self, "_table"):
            X, y, sample_weight, given = self._rows_to_judge(X, y, sample_weight, given)
        cells = read_for_prediction(self, X)
        lazy = np.asarray(self.predict(X, offset, exposure=exposure)) if is_dask(cells) else None
        n = cells.shape[0] if lazy is None else len(lazy)
        labels = getattr(self, "classes_", None)
        seen = read_observations(y, n, family, link, sample_weight, classes=labels, **given)
        mu = (
            lazy
            if lazy is not None
            else means(cells, self.rule_, link, seen.offset, "mean").astype(np.float64)
        )
        fitted = seen.total(family.unit_deviance(seen.y, mu))
        constant = null_deviance(family, link, seen, null_intercept(family, link, seen, True), True)
        return 1.0 - fitted / constant if constant > 0 else float(fitted == 0)

    # ---- the door ----

    @property
    def _estimates_size(self) -> bool:
        """Whether the family is a negative binomial by name and its size is left open."""
        if self.size is not None or not isinstance(self.family, str):
            return False
        return response_name(self.family) == "negative_binomial"

    def _fit_with_size(self, glm: GlmProblem, began: float) -> LinearFit:
        """Weights and the negative binomial's size together."""
        from separatrix.models.linear.negative_binomial import fit_with_size

        found = fit_with_size(self._fit_weights, glm)
        self.size_, self.size_error_ = found.size, found.error
        self._settle(found.existence, found.fit, began, estimated=1)
        verdict = replace(self.verdict_, findings=(*self.verdict_.findings, found.words))
        if not found.settled and verdict.status != "interrupted":
            verdict = replace(verdict, status="not converged", stopped_by="theta did not settle")
        self.verdict_ = verdict
        if found.warning:
            warn(found.warning)
        return found.fit

    def _check_parameters(self) -> tuple[Response, Link]:
        """Refuse, before data is read, what cannot be meant."""
        given = {k: v for k, v in (("size", self.size), ("power", self.power)) if v is not None}
        for name, value in given.items():
            if not isinstance(value, (int, float, np.number)) or isinstance(value, bool):
                raise ValueError(f"{name} must be a number, got {value!r}")
        if self._estimates_size:
            given["size"] = 1.0  # a place to begin: no number of it reaches the fit
        family = response(self.family, **given)
        link = links.link(family.default_link if self.link is None else self.link)
        GlmLoss(family, link)  # refuses a link the family does not take
        if not (self.alpha == 0 or is_positive(self.alpha, finite=True)):
            raise ValueError(f"alpha must be zero or positive, got {self.alpha!r}")
        if self.penalty not in (None, "firth"):
            raise ValueError(f'penalty {self.penalty!r} is unknown: use None, or "firth"; a ridge is alpha')
        if self.penalty == "firth" and self.alpha:
            raise ValueError('penalty="firth" and alpha are two penalties: choose one')
        check_limits(self.tol, self.max_iter, self.n_jobs)
        return family, link

    def _read(
        self,
        X: TableLike,
        y: Any,
        sample_weight: ArrayLike | None,
        given: Given,
        family: Response,
        link: Link,
        *,
        reset: bool = True,
    ) -> GlmProblem:
        """Rows, responses and weights into the problem to be minimised."""
        rows = rows_of(self, read_table(self, X, reset=reset))
        labels = None if reset else getattr(self, "classes_", None)
        seen = read_observations(y, rows.n, family, link, sample_weight, classes=labels, **given)
        if reset:
            self.__dict__.pop("classes_", None)
            if seen.classes is not None:
                self.classes_ = seen.classes
        loss, target = glm_loss(family, link, seen, firth=self.penalty == "firth")
        rows = rows.with_targets(target, seen.weight)
        moments = finite_moments(self, rows)
        kind, one = objective_kind(self.penalty), bool(self.fit_intercept)
        problem = Problem(rows, moments, loss, float(self.alpha), one, kind=kind)
        return GlmProblem(family, link, problem, seen)

    def _fit_weights(
        self, glm: GlmProblem, start: tuple[FloatArray, FloatArray] | None = None
    ) -> tuple[Existence, LinearFit]:
        """Weights of one family, from ``start`` where a fit before this one left it; and whether they exist."""
        existence, problem = Existence(glm), glm.problem
        start = self._last_weights(glm) if start is None else start
        options: dict[str, Any] = {
            "tol": float(self.tol), "record": self.record_path, "verbose": self.verbose
        }  # fmt: skip
        fit = minimise(
            problem, NEWTON, max_iter=self.max_iter, start=start or glm.start(), warm=start is not None,
            exists=not existence.in_doubt, errors=not self.alpha, **options,
        )  # fmt: skip
        if worth_a_proof(fit, existence):
            find_out(existence, getattr(self, "feature_names_in_", None))
            if fit.outcome.runaway and existence.proven:
                fit = gone_on(fit, problem, NEWTON, self.max_iter, errors=True, **options)
        return existence, fit

    def _last_weights(self, glm: GlmProblem) -> tuple[FloatArray, FloatArray] | None:
        """Those of the last fit, for a warm start that has a mean for every row."""
        shape = getattr(self, "coef_", np.empty(0)).shape
        if not self.warm_start or shape != (glm.problem.rows.p,) or not np.isfinite(self.coef_).all():
            return None
        start = self.coef_, np.asarray(self.intercept_)
        return start if glm.has_value_at(*start) else None

    # ---- the answer ----

    def _settle(self, existence: Existence, fit: LinearFit, began: float, estimated: int = 0) -> None:
        glm = existence.glm
        problem = glm.problem
        self.family_, self.link_ = glm.family, glm.link
        self.coef_, self.intercept_ = self._in_the_rows_precision(problem, fit.coef, float(fit.intercept))
        self._forget_limit()
        self._remember_fit()
        self._likelihood_ = Likelihood.of(
            problem, fit, glm.seen, getattr(self, "feature_names_in_", None), glm.family, glm.link,
            dispersion_known=known_dispersion(self.family, glm.family), estimated=estimated,
        )  # fmt: skip
        verdict, limits = glm_verdict(self, fit, existence, self._likelihood_)
        if limits is not None:
            rule, coef, intercept = limits
            self._keep_limit(rule, *self._in_the_rows_precision(problem, coef, intercept))
            self._likelihood_.lose_covariance()
        elif self.coef_.dtype == np.float32:
            verdict = self._of_rounded(verdict, problem)
        self.verdict_ = replace(verdict, seconds=time.perf_counter() - began)
        self.df_null_ = glm.seen.count - int(self.fit_intercept)
        self.null_deviance_ = glm.null_deviance
        self.n_parameters_ = self._likelihood_.rank

    def _in_the_rows_precision(
        self, problem: Problem, coef: FloatArray, intercept: float
    ) -> tuple[np.ndarray, float | np.float32]:
        """Weights as shown: float32 for float32 rows, the intercept making up for what rounding took at the mean."""
        if getattr(problem.rows.source, "dtype", None) != np.float32:
            return np.array(coef, dtype=np.float64), float(intercept)
        single = np.asarray(coef, dtype=np.float32)
        with np.errstate(invalid="ignore"):
            lost = np.where(np.isfinite(single), coef - single, 0.0) @ problem.moments.mean
        return single, np.float32(intercept + (lost if self.fit_intercept else 0.0))

    def _of_rounded(self, verdict: Verdict, problem: Problem) -> Verdict:
        """The verdict on weights rounded to float32: what rounding costs is measured, and asked of nobody."""
        objective = problem.objective()
        shown = objective.from_user(self.coef_.astype(np.float64), np.asarray(float(self.intercept_)))
        cost = max(float(objective.evaluate(shown).value) - verdict.objective, 0.0)
        return replace(verdict, gap=verdict.gap + cost, tol=verdict.tol + 4.0 * cost)

    def _limits_of_coefficients(self) -> FloatArray:
        return np.append(self.intercept_, self.coef_) if self.fit_intercept else self.coef_

    def _inference(self, reference: object = None) -> Likelihood:
        fit = super()._inference(reference)
        if fit.objective.ridge > 0:
            raise ValueError(PENALISED)
        return fit

    def _known(self, name: str) -> Any:
        fit = vars(self).get("_likelihood_")
        if fit is not None and fit.objective.ridge > 0 and name not in ("half_deviance", "log_likelihood"):
            raise AttributeError(f"GeneralizedLinearModel has no {name}_ here: {PENALISED}")
        return super()._known(name)

    def _objectives_of(self, X: TableLike, y: Any, sample_weight: ArrayLike | None = None) -> list[Part]:
        """(objective, weights, intercept) of this estimator on given data."""
        return self._parts(self._read_again(X, y, sample_weight))

    def _parts(self, glm: GlmProblem) -> list[Part]:
        return [(glm.problem.objective(), self.coef_, np.asarray(self.intercept_))]

    def _verdict_from_data(
        self, X: TableLike, y: Any, sample_weight: ArrayLike | None = None, **given: Any
    ) -> Verdict:
        glm = self._read_again(X, y, sample_weight, **given)

        def prove() -> tuple[Separability | None, bool]:
            find_out(existence := Existence(glm), getattr(self, "feature_names_in_", None))
            proof = existence.proof
            return proof, proof is not None and proof.kind != "overlap"

        return verdict_from_objectives(self, self._parts(glm), prove)

    def _read_again(
        self, X: TableLike, y: Any, sample_weight: ArrayLike | None = None, **named: ArrayLike | None
    ) -> GlmProblem:
        given: Given = {**dict.fromkeys(EXTRAS), **named}
        if hasattr(self, "_table"):
            X, y, sample_weight, given = self._rows_to_judge(X, y, sample_weight, given)
        has = {name for name, value in given.items() if value is not None}
        if {"offset", "exposure"} & set(self._given) and not {"offset", "exposure"} & has:
            raise ValueError("the model was fitted with an offset or exposure: give it here too, by its name")
        if {"precision", "weights"} & set(self._given) and not {"precision", "weights"} & has:
            name = next(n for n in ("precision", "weights") if n in self._given)
            raise ValueError(f"the model was fitted with {name}=: give it here too, by its name")
        return self._read(X, y, sample_weight, given, self.family_, self.link_, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        try:
            family = self._check_parameters()[0]
            tags.target_tags.positive_only = family.name not in ("gaussian", "binomial")
        except (ValueError, TypeError):
            pass
        return tags
