"""Logistic regression:  P(y = k | x) = softmax_k(w_k·x + b_k), two classes P(y = 1 | x) = σ(w·x + b).

    min_{w,b}  C Σ_i s_i ℓ_i + ½‖w‖²      ⇔      min (1/W) Σ_i s_i ℓ_i + ½λ‖w‖²,  λ = 1/(C·W)

Notes: [6867] 3.2.2 (likelihood, gradient, separable data), [PC] "Logistic Regression" and Newton, [726]
"Logistic Regression" and its reference-class form, [446]. Rows D2–D5 and D7 of the specification.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix.core.linear import in_single
from separatrix.core.losses import Logistic, Multinomial
from separatrix.core.numerics import FloatArray, expit, softmax
from separatrix.data.checks import is_count, is_positive
from separatrix.data.door import finite_moments, is_dask, read_table, read_weights, rows_of
from separatrix.data.engine import one_blas_thread
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.sources import TableLike
from separatrix.inference.mixin import PENALISED, Inferential
from separatrix.models import parameters
from separatrix.models.base import LinearClassifier, minimum_cost
from separatrix.models.linear.separation import gone_on, separation
from separatrix.models.linear.verdicts import no_optimum, verdict_of
from separatrix.solve.linear import LinearFit, Problem, minimise
from separatrix.solve.outcome import Path
from separatrix.solve.registry import STAND_INS, Solver, may_be_newton, refuse_lazy, resolve
from separatrix.verdict.from_objectives import Part, separated_classes, verdict_from_objectives
from separatrix.verdict.verdict import Verdict


@constructor
class LogisticRegression(Inferential, LinearClassifier):
    """P(y = k | x) = softmax_k(w_k·x + b_k), fitted by penalised maximum likelihood, with a verdict.

    min over w, b of  C Σ_i s_i ℓ(y_i, w·x_i + b) + ½‖w‖²  with the intercept unpenalised; ``C=np.inf`` is plain
    maximum likelihood. Notes [6867] 3.2.2, [PC], [726], [446]. Parameters have scikit-learn's names, meanings
    and defaults, except that ``solver="auto"`` is the default here.

    Parameters
    ----------
    penalty : "l2" or None may be given as in older scikit-learn; None means ``C=np.inf``. "firth" is the likelihood
        times Jeffreys' prior |I|^½: finite under separation, less biased, no strength to choose; leave C alone then
    C : inverse strength of the penalty, positive, or ``np.inf`` for none
    l1_ratio : only 0 (an l2 penalty)
    dual : only False
    tol : the fit stops when the objective is proven within tol/100 (relatively) of its minimum; Newton, which
        squares its error at every step, goes on to tol², and to tol⁴ of few rows or without a penalty; where "auto"
        fits wide rows by gradients, those go on to tol² too
    fit_intercept : whether b is fitted; without it the surface passes through the origin
    intercept_scaling : only 1: the intercept is never penalised
    class_weight : {label: weight}, "balanced", or None
    random_state : seed of the "sgd" solver
    solver : "auto", "newton", "lbfgs", "gradient" or "sgd"; "newton-cholesky" means "newton". "newton-cg", "sag",
        "saga" and "liblinear" (two classes) are taken as names of the optimum: "auto" finds it, and ``verdict_``
        names the method that ran. liblinear penalises the intercept, which is not done here: the verdict says so
    max_iter : most steps a solver takes
    verbose : 1 prints a line a step to standard error
    warm_start : start from the last fit's weights
    n_jobs : threads; None uses all cores this process may use
    solver_options : options of the named solver, e.g. {"eta": 0.1, "threshold": 1e-3} for "gradient",
        {"theta": 1e-6} for "newton", {"batch": 1} for "sgd"
    record_path : keep every step in ``path_``

    Attributes
    ----------
    coef_ : (1, p) or (K, p); ±inf or NaN where no finite estimate exists (see ``verdict_``)
    intercept_ : (1,) or (K,); both may be assigned or edited, and every prediction, margin and ``verify`` follows
    classes_, n_features_in_, feature_names_in_, n_iter_ : as in scikit-learn
    rule_ : the :class:`~separatrix.LinearRule` that predicts
    verdict_ : the :class:`~separatrix.Verdict`
    path_ : the :class:`~separatrix.solve.outcome.Path`, when recorded
    covariance_, deviance_, null_deviance_, log_likelihood_, aic_, bic_ : of fits with ``C=np.inf`` or Firth's
        penalty, computed when first asked for; for K classes against the first class

    Without a penalty (or with Firth's) ``summary()``, ``covariance()``, ``confidence_intervals()``, ``test()`` and
    ``residuals()`` answer as for a :class:`~separatrix.GeneralizedLinearModel`, from the rows of the last fit, which
    are kept by reference. A ridge has no p-values, and says so.

    Notes
    -----
    Cost: two classes O(np²) for about two sweeps and O(np) for a few more; many columns O(npK) a sweep.
    Memory above the data: a few tiles of a megabyte and O(p²).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> round(model.score(X, y), 3)
    0.958
    >>> model.verdict_.status, model.verdict_.unique, model.verdict_.gap < 1e-12
    ('optimal', True, True)
    """

    penalty: str | None = "deprecated"
    _: KW_ONLY
    C: float = 1.0
    l1_ratio: float = 0.0
    dual: bool = False
    tol: float = 1e-4
    fit_intercept: bool = True
    intercept_scaling: float = 1
    class_weight: Mapping[Any, float] | str | None = None
    random_state: Any = None
    solver: str = "auto"
    max_iter: int = 100
    verbose: int = 0
    warm_start: bool = False
    n_jobs: int | None = None
    solver_options: Mapping[str, Any] | None = None
    record_path: bool = False

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LogisticRegression:
        """Fit to rows X (n, p) and labels y (n,); a weight of 2 means the row stands there twice."""
        began = time.perf_counter()
        solver = self._check_parameters()
        if solver is not None and is_dask(X):
            refuse_lazy(solver)
        start = self._start_values()
        with parameters.threads(self.n_jobs), one_blas_thread():
            problem = self._read(X, y, sample_weight, reset=True)
            options: dict[str, Any] = {
                "tol": float(self.tol), "options": self.solver_options, "record": self.record_path,
                "verbose": self.verbose, "seed": parameters.seed_of(self.random_state),
            }  # fmt: skip
            start = start if start is not None and self._fits(start, problem) else None
            firth = self.penalty == "firth"
            fit = minimise(problem, solver, max_iter=self.max_iter, start=start, exists=firth, **options)
            names, proof, undecided = getattr(self, "feature_names_in_", None), None, ""
            if not firth:
                proof, undecided = separation(problem, fit, names, tuple(self.classes_.tolist()))
            if fit.outcome.runaway and proof is not None and proof.kind == "overlap":  # a false alarm
                fit = gone_on(fit, problem, solver, self.max_iter, **options)
            self._keep_numbers(fit.coef, fit.intercept, problem.rows, problem.moments, problem.fit_intercept)
            if proof is None or proof.kind == "overlap":
                verdict = verdict_of(self, problem, fit, proof, undecided)
            else:
                verdict, rule, coef, intercept = no_optimum(self, problem, fit, proof)
                if problem.rows.single:
                    coef, intercept = in_single(coef, intercept, None)
                self._keep_limit(rule, coef, intercept)
            findings = (*verdict.findings, *self._stand_in(fit.solver))
            seconds = time.perf_counter() - began
            self.verdict_ = replace(verdict, seconds=seconds, findings=findings, method=fit.solver)
            self._keep_likelihood(problem, fit)
        self.n_iter_ = np.array([fit.outcome.iterations], dtype=np.int32)
        self.solver_ = fit.solver
        self.__dict__.pop("path_", None)
        if fit.path is not None:
            self.path_: Path = fit.path
        parameters.warn_of(
            self.verdict_,
            'Use a finite C, or penalty="firth", to get an estimate',
            'Increase max_iter, or use solver="auto"',
        )
        return self

    def predict_proba(self, X: TableLike) -> FloatArray:
        """P(class | x): (n, K), rows sum to one."""

        def probability(cells: Any) -> FloatArray:
            scores = self._score(cells)
            if scores.ndim == 1:
                return np.column_stack([expit(-scores), expit(scores)])
            return softmax(scores)

        return self._on_rows(X, probability)

    def predict(self, X: TableLike, cost: Any = None) -> np.ndarray:
        """The most probable class, or with ``cost`` (K, K) the one of least expected cost Σ_k P(k|x) C_kl."""
        return super().predict(X) if cost is None else minimum_cost(self, X, cost)

    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """log P(class | x) from the scores, so that a small probability keeps its digits."""

        def log_probability(cells: Any) -> FloatArray:
            scores = self._score(cells)
            if scores.ndim == 1:
                return -np.logaddexp(0.0, np.column_stack([scores, -scores]))
            shifted = scores - scores.max(axis=1, keepdims=True)
            return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))

        return self._on_rows(X, log_probability)

    def reference_form(self, reference: object = None) -> tuple[np.ndarray, FloatArray, FloatArray]:
        """K−1 weight vectors against a reference class: log P(k|x)/P(ref|x) = v_k·x + c_k ([726]).

        Returns the other classes, v (K−1, p) and c (K−1,); the same probabilities as the symmetric form.
        The reference is the last class unless another is named.

        >>> from sklearn.datasets import load_iris
        >>> model = LogisticRegression().fit(*load_iris(return_X_y=True))
        >>> classes, v, c = model.reference_form(0)
        >>> classes.tolist(), v.shape
        ([1, 2], (2, 4))
        """
        check_is_fitted(self)
        labels = self.classes_.tolist()
        reference = labels[-1] if reference is None else reference
        if reference not in labels:
            raise ValueError(f"reference {reference!r} is not a class: the classes are {labels}")
        k = labels.index(reference)
        coef, intercept = self._shown()
        if len(labels) == 2:
            coef, intercept = np.vstack([0 * coef, coef]), np.append(0.0, intercept)
        others = np.arange(len(labels)) != k
        return self.classes_[others], (coef - coef[k])[others], (intercept - intercept[k])[others]

    # ---- the door ----

    def _check_parameters(self) -> Solver | None:
        """Refuse, before data is read, what cannot be meant."""
        if self.penalty not in ("deprecated", "l2", None, "firth"):
            raise ValueError(
                f'penalty {self.penalty!r} is not offered: use "l2" with C, C=np.inf for none, or "firth"'
            )
        if self.penalty == "firth":
            self._check_firth()
        if not is_positive(self.C):
            raise ValueError(f"C must be a positive number (np.inf for no penalty), got {self.C!r}")
        if self.l1_ratio not in (0, None):
            raise ValueError(f"l1_ratio={self.l1_ratio!r}: an l1 penalty is not offered, use l1_ratio=0")
        if self.dual:
            raise ValueError(
                "dual=True is liblinear's: leave it False, wide data are handled in the span of rows"
            )
        if self.intercept_scaling != 1:
            raise ValueError(
                "intercept_scaling is liblinear's: the intercept is never penalised here, leave it 1"
            )
        parameters.check_limits(self.tol, self.max_iter, self.n_jobs)
        parameters.check_class_weight(self.class_weight)
        if not (self.solver_options is None or isinstance(self.solver_options, Mapping)):
            raise ValueError(f"solver_options must be a dictionary, got {self.solver_options!r}")
        name = "auto" if self.solver in STAND_INS else self.solver
        if name != self.solver and self.solver_options:
            raise ValueError(
                f'solver_options belong to one solver, and {self.solver!r} leaves the choice to "auto": name one of '
                '"newton", "lbfgs", "gradient" or "sgd"'
            )
        solver = resolve(name, Logistic(), self.solver_options)
        for name, value in (self.solver_options or {}).items():
            if name in ("batch", "memory") and not is_count(value):
                raise ValueError(f"solver_options[{name!r}] must be a whole number, got {value!r}")
            if name != "average" and value is not None and not is_positive(value):
                raise ValueError(f"solver_options[{name!r}] must be positive, got {value!r}")
        return solver

    def _check_firth(self) -> None:
        if self.C not in (1.0, np.inf):
            raise ValueError(
                f'C={self.C!r} has no meaning with penalty="firth", which has no strength: leave C out'
            )
        if not may_be_newton(self.solver):
            raise ValueError(f'solver {self.solver!r} does not know Firth\'s penalty: use "auto"')

    def _read(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool) -> Problem:
        """Rows, labels and weights into the problem to be minimised."""
        X = read_table(self, X, reset=reset)
        rows = rows_of(self, X).in_doubles()
        weight = read_weights(sample_weight, rows.n)
        codes, totals = self._read_classes(y, weight, rows.n, reset=reset)
        weight = parameters.row_weights(self.class_weight, self.classes_, codes, totals, weight)
        k = len(self.classes_)
        if k > 2 and self.solver == "liblinear":
            raise ValueError(
                f'solver "liblinear" is for two classes, found {k}: use "auto", or scikit-learn\'s '
                "OneVsRestClassifier around this model"
            )
        target = codes * 2.0 - 1.0 if k == 2 else codes
        rows = (rows if k == 2 else rows.of_classes(k)).with_targets(target, weight)
        moments = finite_moments(self, rows)
        C = np.inf if self.penalty in (None, "firth") else float(self.C)
        ridge = 0.0 if np.isinf(C) else 1.0 / (C * rows.total_weight)
        loss, classes_k = (Logistic(), None) if k == 2 else (Multinomial(), k)
        kind = parameters.objective_kind(self.penalty)
        return Problem(rows, moments, loss, ridge, bool(self.fit_intercept), classes_k, kind)

    def _stand_in(self, ran: str) -> list[str]:
        """What stood in for a solver of scikit-learn's."""
        if self.solver not in STAND_INS:
            return []
        words = f'solver: "{ran}" ran in place of "{self.solver}"'
        if self.solver != "liblinear" or not self.fit_intercept:
            return [f"{words}, to the same optimum"]
        return [
            f"{words}, which penalises the intercept; here it is not, and the optimum is that of the others"
        ]

    def _start_values(self) -> tuple[FloatArray, FloatArray] | None:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        coef, intercept = (np.asarray(part, dtype=float) for part in self._shown())
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            return None
        return (coef[0], intercept[0]) if len(coef) == 1 else (coef, intercept)

    def _fits(self, start: tuple[FloatArray, FloatArray], problem: Problem) -> bool:
        shape = (problem.rows.p,) if problem.n_classes is None else (problem.n_classes, problem.rows.p)
        return start[0].shape == shape

    # ---- the answer ----

    def _keep_likelihood(self, problem: Problem, fit: LinearFit) -> None:
        """What inference needs of a fit without a ridge: no sweep is made until something is asked."""
        for name in ("_likelihood_", "_no_inference_"):
            self.__dict__.pop(name, None)
        if problem.ridge > 0:
            self._no_inference_ = PENALISED
            return
        if self.class_weight is not None:
            why = "class weights change what the likelihood is of"
            self._no_inference_ = f"{why}: standard errors and tests need class_weight=None"
            return
        from separatrix.core.links import Logit
        from separatrix.core.responses import Binomial
        from separatrix.data.observations import Observations
        from separatrix.inference.likelihood import Likelihood

        k = problem.n_classes
        y = 0.5 * (problem.rows.y + 1.0) if k is None else problem.rows.y
        y = np.maximum(y, 0)  # rows of a class that weighs nothing have no code
        codes = np.asarray(y, dtype=np.intp)
        totals = np.bincount(codes, problem.rows.weight, minlength=len(self.classes_))
        self._class_totals = totals.astype(float)
        seen = Observations(y, frequency=problem.rows.weight)
        law = (Binomial(), Logit()) if k is None else (None, None)
        labels = () if k is None else tuple(map(str, self.classes_.tolist()))
        names = getattr(self, "feature_names_in_", None)
        self._likelihood_ = Likelihood.of(
            problem, fit, seen, names, *law, dispersion_known=1.0, classes=labels
        )
        if self.verdict_.status == "no optimum":
            self._likelihood_.lose_covariance()

    @property
    def null_deviance_(self) -> float:
        """−2 Σ_k W_k log(W_k/W): the deviance of the intercept alone (of equal odds without one)."""
        self._known("weight")  # an AttributeError that says why, where there is no likelihood
        totals = self._class_totals
        if not self.fit_intercept:
            return 2.0 * float(totals.sum()) * float(np.log(len(totals)))
        return -2.0 * float(np.sum(totals * np.log(totals / totals.sum())))

    def _limits_of_coefficients(self) -> FloatArray:
        """coef_ and intercept_ in the order of a summary, against the reference class."""
        fit = self._likelihood_
        coef, intercept = self._shown()
        table = np.column_stack([intercept, coef]) if self.fit_intercept else coef
        if not fit.classes:
            return np.asarray(table[0])
        with np.errstate(invalid="ignore"):
            return np.delete(table - table[fit.reference], fit.reference, axis=0).ravel()

    def _objectives_of(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> list[Part]:
        """(objective, weights, intercept) of this estimator on given data."""
        objective = self._read(X, y, sample_weight, reset=False).objective()
        coef, intercept = self._shown()
        return [(objective, coef[0], intercept[0])] if len(coef) == 1 else [(objective, coef, intercept)]

    def _verdict_from_data(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Verdict:
        prove = separated_classes(X, y, sample_weight, bool(self.fit_intercept))
        return verdict_from_objectives(self, self._objectives_of(X, y, sample_weight), prove)
