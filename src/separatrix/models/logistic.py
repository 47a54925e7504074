"""Logistic regression:  P(y = k | x) = softmax_k(w_k·x + b_k), two classes P(y = 1 | x) = σ(w·x + b).

    min_{w,b}  C Σ_i s_i ℓ_i + ½‖w‖²      ⇔      min (1/W) Σ_i s_i ℓ_i + ½λ‖w‖²,  λ = 1/(C·W)

Notes: [6867] 3.2.2 (likelihood, gradient, separable data), [PC] "Logistic Regression" and Newton, [726]
"Logistic Regression" and its reference-class form, [446]. Rows D2–D5 and D7 of the specification.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.core.linear import LinearRule
from separatrix.core.losses import Logistic, Multinomial
from separatrix.core.numerics import FloatArray, expit, softmax
from separatrix.data.door import (
    column_name,
    drop_absent_classes,
    is_count,
    is_positive,
    read_labels,
    read_table,
    read_weights,
    refuse_nonfinite,
    refuse_one_class,
    rows_of,
)
from separatrix.data.engine import engine
from separatrix.data.objective import Objective
from separatrix.models.base import LinearClassifier
from separatrix.solve.linear import LinearFit, Problem, minimise
from separatrix.solve.outcome import Path
from separatrix.solve.registry import SOLVERS, Solver, resolve
from separatrix.verdict.gaps import certify, factorise
from separatrix.verdict.separability import Separability, separability_of_rows
from separatrix.verdict.verdict import ConvergenceWarning, SeparationWarning, Verdict

STOPPED_EARLY = ("max_iter reached", "interrupted")  # a better bound would not make these converged


class LogisticRegression(LinearClassifier):
    """P(y = k | x) = softmax_k(w_k·x + b_k), fitted by penalised maximum likelihood, with a verdict.

    min over w, b of  C Σ_i s_i ℓ(y_i, w·x_i + b) + ½‖w‖²  with the intercept unpenalised; ``C=np.inf`` is plain
    maximum likelihood. Notes [6867] 3.2.2, [PC], [726], [446]. Parameters have scikit-learn's names, meanings
    and defaults, except that ``solver="auto"`` is the default here.

    Parameters
    ----------
    penalty : "l2" or None may be given as in older scikit-learn; None means ``C=np.inf``
    C : inverse strength of the penalty, positive, or ``np.inf`` for none
    l1_ratio : only 0 (an l2 penalty)
    dual : only False
    tol : the fit stops when the objective is proven within tol/100 (relatively) of its minimum; Newton, which
        squares its error at every step, goes on to tol⁴
    fit_intercept : whether b is fitted; without it the surface passes through the origin
    intercept_scaling : only 1: the intercept is never penalised
    class_weight : {label: weight}, "balanced", or None
    random_state : seed of the "sgd" solver
    solver : "auto", "newton", "lbfgs", "gradient" or "sgd"; "newton-cholesky" means "newton"
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
    intercept_ : (1,) or (K,)
    classes_, n_features_in_, feature_names_in_, n_iter_ : as in scikit-learn
    rule_ : the :class:`~separatrix.LinearRule` that predicts
    verdict_ : the :class:`~separatrix.Verdict`
    path_ : the :class:`~separatrix.solve.outcome.Path`, when recorded

    Notes
    -----
    Cost: two classes O(np²) for about two sweeps and O(np) for a few more; many columns O(npK) a sweep.
    Memory above the data: a few tiles of half a megabyte and O(p²).

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

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        solver_options: Mapping[str, Any] | None = None,
        record_path: bool = False,
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.solver_options = solver_options
        self.record_path = record_path

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticRegression:
        """Fit to rows X (n, p) and labels y (n,); a weight of 2 means the row stands there twice."""
        began = time.perf_counter()
        solver = self._check_parameters()
        start = self._start_values()
        with self._engine():
            problem = self._read(X, y, sample_weight, reset=True)
            fit = minimise(
                problem,
                solver,
                tol=float(self.tol),
                max_iter=self.max_iter,
                options=self.solver_options,
                start=start if start is not None and self._fits(start, problem) else None,
                record=self.record_path,
                verbose=self.verbose,
                seed=self._seed(),
            )
            proof = self._separation(problem, fit)
            self._set_rule(fit)
            self.verdict_ = replace(self._verdict(problem, fit, proof), seconds=time.perf_counter() - began)
        self.n_iter_ = np.array([fit.outcome.iterations], dtype=np.int32)
        self.solver_ = fit.solver
        if fit.path is not None:
            self.path_: Path = fit.path
        self._warn(proof)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """P(class | x): (n, K), rows sum to one."""

        def probability(cells: Any) -> FloatArray:
            scores = self.rule_.score(cells)
            if scores.ndim == 1:
                return np.column_stack([expit(-scores), expit(scores)])
            return softmax(scores)

        return self._on_rows(X, probability)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """log P(class | x) from the scores, so that a small probability keeps its digits."""

        def log_probability(cells: Any) -> FloatArray:
            scores = self.rule_.score(cells)
            if scores.ndim == 1:
                return -np.logaddexp(0.0, np.column_stack([scores, -scores]))
            shifted = scores - scores.max(axis=1, keepdims=True)
            return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))

        return self._on_rows(X, log_probability)

    def reference_form(self, reference: Any = None) -> tuple[np.ndarray, FloatArray, FloatArray]:
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
        coef, intercept = self.coef_, self.intercept_
        if len(labels) == 2:
            coef, intercept = np.vstack([0 * coef, coef]), np.append(0.0, intercept)
        others = np.arange(len(labels)) != k
        return self.classes_[others], (coef - coef[k])[others], (intercept - intercept[k])[others]

    # ---- the door ----

    def _check_parameters(self) -> Solver | None:
        """Refuse, before data is read, what cannot be meant."""
        if self.penalty not in ("deprecated", "l2", None):
            raise ValueError(
                f'penalty {self.penalty!r} is not offered: use "l2" with C, or C=np.inf for none'
            )
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
        if not is_positive(self.tol):
            raise ValueError(f"tol must be a positive number, got {self.tol!r}")
        if not (is_count(self.max_iter) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a whole number of at least 1, got {self.max_iter!r}")
        if self.n_jobs is not None and (not is_count(self.n_jobs) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, got {self.n_jobs!r}")
        if isinstance(self.class_weight, str) and self.class_weight != "balanced":
            raise ValueError(f'class_weight {self.class_weight!r} is unknown: use "balanced" or a dictionary')
        return resolve(self.solver, Logistic(), self.solver_options)

    def _engine(self) -> Any:
        if self.n_jobs is None or self.n_jobs < 0:
            return nullcontext()
        return engine("serial") if self.n_jobs == 1 else engine(workers=int(self.n_jobs))

    def _seed(self) -> int:
        if self.random_state is None or is_count(self.random_state):
            return int(self.random_state or 0)
        from sklearn.utils import check_random_state

        return int(check_random_state(self.random_state).randint(2**31))

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Problem:
        """Rows, labels and weights into the problem to be minimised."""
        X = read_table(self, X, reset=reset)
        rows = rows_of(self, X)
        classes, codes = read_labels(y, rows.n)
        weight = read_weights(sample_weight, rows.n)
        if reset:
            classes, codes, totals = drop_absent_classes(classes, codes, weight)
            refuse_one_class(classes)
            self.classes_ = classes
        else:
            codes = self._codes_of(y, rows.n)
            totals = np.bincount(codes, weight, minlength=len(self.classes_)).astype(float)
        weight = self._class_weights(codes, totals, weight)
        k = len(self.classes_)
        target = np.where(codes == 1, 1.0, -1.0) if k == 2 else codes
        rows = rows.with_targets(target, weight)
        moments = rows.moments()
        refuse_nonfinite(self, rows, moments)
        C = np.inf if self.penalty is None else float(self.C)
        ridge = 0.0 if np.isinf(C) else 1.0 / (C * rows.total_weight)
        loss, classes_k = (Logistic(), None) if k == 2 else (Multinomial(), k)
        return Problem(rows, moments, loss, ridge, bool(self.fit_intercept), classes_k)

    def _class_weights(
        self, codes: np.ndarray, totals: FloatArray, weight: FloatArray | None
    ) -> FloatArray | None:
        """Each row's weight times its class's: "balanced" gives every class the same total."""
        if self.class_weight is None:
            return weight
        if isinstance(self.class_weight, str):
            factor = totals.sum() / (len(totals) * totals)
        else:
            labels = self.classes_.tolist()
            unknown = [c for c in self.class_weight if c not in labels]
            if unknown:
                raise ValueError(
                    f"class_weight names {unknown[0]!r}, which is not a class: the classes are {labels}"
                )
            factor = np.array([float(self.class_weight.get(c, 1.0)) for c in labels])
            if not (factor > 0).all():
                raise ValueError("class_weight must be positive for every class")
        each = factor[codes]
        return each if weight is None else each * weight

    def _start_values(self) -> tuple[FloatArray, FloatArray] | None:
        if not self.warm_start or not hasattr(self, "coef_") or not np.isfinite(self.coef_).all():
            return None
        if len(self.coef_) == 1:
            return self.coef_[0], self.intercept_[0]
        return self.coef_, self.intercept_

    def _fits(self, start: tuple[FloatArray, FloatArray], problem: Problem) -> bool:
        shape = (problem.rows.p,) if problem.n_classes is None else (problem.n_classes, problem.rows.p)
        return start[0].shape == shape

    # ---- the answer ----

    def _set_rule(self, fit: LinearFit) -> None:
        self.rule_ = LinearRule(fit.coef, fit.intercept)
        self.coef_ = np.atleast_2d(fit.coef).copy()
        self.intercept_ = np.atleast_1d(np.asarray(fit.intercept, dtype=float)).copy()

    def _separation(self, problem: Problem, fit: LinearFit) -> Separability | None:
        """The exact answer where the fit alone does not prove that an optimum exists."""
        outcome = fit.outcome
        proven = np.isfinite(outcome.gap) and not outcome.runaway
        if problem.ridge > 0 or proven or outcome.stopped_by == "interrupted":
            return None
        codes = (problem.rows.y > 0).astype(np.intp) if problem.n_classes is None else problem.rows.y
        return separability_of_rows(
            problem.rows.with_targets(codes, problem.rows.weight),
            problem.moments,
            problem.n_classes or 2,
            fit_intercept=problem.fit_intercept,
            names=getattr(self, "feature_names_in_", None),
        )

    def _verdict(self, problem: Problem, fit: LinearFit, proof: Separability | None) -> Verdict:
        name = type(self).__name__
        if proof is not None and proof.kind != "overlap":
            return self._no_optimum(problem, fit, proof)
        outcome, objective = fit.outcome, fit.objective
        value, gap, unique = outcome.value, outcome.gap, outcome.unique
        target = max(SOLVERS[fit.solver].goal(float(self.tol)), 1e-13) * abs(value)
        unproven = not np.isfinite(gap) or (gap > target and outcome.stopped_by not in STOPPED_EARLY)
        if unproven:  # the solver's own bound is not the best one: curvature may prove more
            certificate = certify(objective, objective.from_user(fit.coef, fit.intercept))
            value, gap = certificate.objective, min(gap, certificate.gap)
            unique = unique or certificate.unique
        status: Any = "optimal" if gap <= target else "not converged"
        if outcome.stopped_by == "interrupted":
            status = "interrupted"
        findings = self._findings(problem, fit, proof)
        return Verdict(
            name,
            status,
            value,
            gap,
            target,
            False if len(fit.aliased) else unique,
            fit.sweeps,
            fit.seconds,
            outcome.stopped_by,
            tuple(findings),
            separation=proof,
        )

    def _no_optimum(self, problem: Problem, fit: LinearFit, proof: Separability) -> Verdict:
        """Coefficients that run away are shown as such; the rule keeps predicting in the limit."""
        rule = proof.limiting_rule(self.rule_)
        if proof.kind == "quasi":
            rule = _limit_of_the_rest(problem, rule)
        self.rule_ = rule = _centred(rule)
        coef, intercept = proof.limits()  # ±inf or NaN where a weight runs away, else 0
        self.coef_ = np.where(coef == 0, rule.coef, coef)
        self.intercept_ = np.where(intercept == 0, rule.intercept, intercept)
        findings = [
            proof.sentence(),
            f"a direction with non-negative margin on all {proof.n_rows} rows is in verdict_.direction",
            'try a finite C: penalty="l2" bounds the weights and gives an estimate',
        ]
        return Verdict(
            type(self).__name__,
            "no optimum",
            fit.outcome.value,
            np.inf,
            0.0,
            False,
            fit.sweeps,
            fit.seconds,
            fit.outcome.stopped_by,
            tuple(findings),
            proof.direction,
            proof.columns,
            proof,
        )

    def _findings(self, problem: Problem, fit: LinearFit, proof: Separability | None) -> list[str]:
        findings = []
        if proof is not None:
            findings.append(proof.sentence())
        elif problem.ridge == 0 and np.isfinite(fit.outcome.gap):
            findings.append(
                "separation: none — the classes overlap (proof: a maximum-likelihood estimate exists)"
            )
        if len(fit.aliased):
            listed = ", ".join(column_name(self, j) for j in fit.aliased[:8])
            more = f" and {len(fit.aliased) - 8} more" if len(fit.aliased) > 8 else ""
            findings.append(
                f"aliased: columns {listed}{more} are linearly dependent; the weights shown are the shortest of "
                "all that give the same probabilities"
            )
        constant = np.flatnonzero(problem.moments.constant)
        if problem.fit_intercept and len(constant):
            listed = ", ".join(column_name(self, j) for j in constant[:8])
            more = f" and {len(constant) - 8} more" if len(constant) > 8 else ""
            findings.append(f"constant: {listed}{more}, weight 0: the intercept says the same")
        return findings

    def _warn(self, proof: Separability | None) -> None:
        verdict = self.verdict_
        if verdict.status == "no optimum":
            warnings.warn(
                f"no maximum-likelihood estimate exists: {verdict.findings[0]}. coef_ shows ±inf or NaN where a "
                "weight has no finite value; predictions are those of the limit. Use a finite C to get an estimate",
                SeparationWarning,
                stacklevel=3,
            )
        elif verdict.status == "not converged":
            proven = f"{verdict.gap:.1e}" if np.isfinite(verdict.gap) else "an unknown amount"
            warnings.warn(
                f"the objective may be {proven} above its minimum ({verdict.tol:.1e} was asked for; stopped: "
                f'{verdict.stopped_by}). Increase max_iter, or use solver="auto"',
                ConvergenceWarning,
                stacklevel=3,
            )

    def _objectives_of(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> list[tuple[Objective, FloatArray, FloatArray]]:
        """(objective, weights, intercept) of this estimator on given data, for :func:`separatrix.verify`."""
        objective = self._read(X, y, sample_weight, reset=False).objective()
        if objective.n_classes is None:
            return [(objective, self.coef_[0], self.intercept_[0])]
        return [(objective, self.coef_, self.intercept_)]


def _limit_of_the_rest(problem: Problem, rule: LinearRule) -> LinearRule:
    """Newton steps on what does not run away, from a point where separated rows have probability one.

    There the Hessian is singular along the directions that run away and its least step leaves them alone, so
    the other weights reach their limit: the estimate from the rows that are not separated.
    """
    objective = problem.objective()
    if int(np.prod(objective.shape)) > 3000:
        return rule
    theta = objective.from_user(rule.coef, np.asarray(rule.intercept))
    at = objective.evaluate(theta, order=2)
    for _ in range(50):
        assert at.hessian is not None
        step = factorise(at.hessian).solve(at.gradient.T.ravel()).reshape(theta.shape[::-1]).T
        scale = 1.0
        new = objective.evaluate(theta - step, order=2)
        while not new.value < at.value and scale > 1e-3:
            scale /= 2
            new = objective.evaluate(theta - scale * step, order=2)
        if not new.value < at.value:
            break
        theta, at = theta - scale * step, new
    return LinearRule(*objective.to_user(theta))


def _centred(rule: LinearRule) -> LinearRule:
    """The same probabilities from K-class scores that sum to zero: a part common to all classes says nothing."""
    if rule.coef.ndim == 1:
        return rule
    intercept = np.asarray(rule.intercept)
    return LinearRule(rule.coef - rule.coef.mean(axis=0), intercept - intercept.mean())
