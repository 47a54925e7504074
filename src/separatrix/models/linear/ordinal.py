"""Ordered classes by proportional odds:  P(Y ≤ k | x) = F(θ_k − x·β),  θ_1 < … < θ_{K−1}.

    min_{θ,β}  (1/W) Σ_i s_i −log P(y_i | x_i) + ½λ‖β‖²,   λ = 1/(C·W),   thresholds unpenalised

F is the logistic function (proportional odds: e^{β_j} multiplies the odds of being above any threshold), Φ, or that
of proportional hazards. For two classes the logit is LogisticRegression, with θ_1 = −intercept; for more it is one
line that all classes share, cut in K places, where the soft-max has K − 1 lines. Row P4 of the specification.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix.core.caller import warn
from separatrix.core.cumulative import LINKS, CumulativeLink
from separatrix.core.linear import LinearRule
from separatrix.core.numerics import FloatArray
from separatrix.data import door
from separatrix.data.checks import check_known, is_positive
from separatrix.data.engine import one_blas_thread
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.sources import TableLike
from separatrix.models import parameters
from separatrix.models.base import Classifier, minimum_cost
from separatrix.models.linear.ordinal_order import in_order, order_of
from separatrix.models.linear.ordinal_state import OrdinalState
from separatrix.models.linear.ordinal_verdict import ordinal_verdict, separation_of, verified
from separatrix.solve.ordinal import OrdinalFit, OrdinalProblem, minimise_ordinal
from separatrix.verdict.verdict import Verdict

if TYPE_CHECKING:
    from separatrix.verdict.ordered import OrderedSeparation


@constructor
class OrdinalRegression(OrdinalState, Classifier):
    """P(Y ≤ k | x) = F(θ_k − x·β), fitted by penalised maximum likelihood, with a verdict.

    min over θ_1 < … < θ_{K−1} and β of  C Σ_i s_i −log P(y_i | x_i) + ½‖β‖², as in
    :class:`~separatrix.LogisticRegression`, which it is for two classes. A positive weight moves a row to higher
    classes. ``C=np.inf`` is plain maximum likelihood, R's ``polr``. Row P4.

    Parameters
    ----------
    link : "logit" (proportional odds), "probit" or "cloglog" (proportional hazards of grouped times)
    C : inverse strength of the penalty on β, positive, or ``np.inf`` for none; thresholds are never penalised
    categories : the classes from the lowest to the highest. None: an ordered Categorical's own order, else numbers by
        size; three words or more are taken by the alphabet, which a warning and ``verdict_`` say
    tol : Newton stops when the objective is proven within tol² (relatively) of its minimum, of few rows or without a
        penalty within tol⁴; with another link than the logit, when the score vanishes to that precision
    max_iter : most steps
    warm_start : start from the last fit's weights
    verbose : 1 prints a line a step to standard error
    n_jobs : threads; None uses all cores this process may use

    Attributes
    ----------
    coef_ : (p,); ±inf or NaN where no finite estimate exists (see ``verdict_``)
    thresholds_ : (K−1,), increasing; both may be assigned or edited, and every prediction and ``verify`` follows
    classes_ : (K,), from the lowest to the highest
    n_features_in_, feature_names_in_, n_iter_ : as in scikit-learn
    verdict_ : the :class:`~separatrix.Verdict`
    covariance_, deviance_, null_deviance_, log_likelihood_, aic_, bic_ : of fits with ``C=np.inf``; the order is that
        of ``summary()``, weights first

    Without a penalty ``summary()``, ``covariance()``, ``standard_errors()``, ``confidence_intervals()`` and
    ``proportional_odds_test()`` answer from the last fit, whose rows are kept by reference (not in a pickle).

    Notes
    -----
    Cost: O(np² + npK) a step, five to eight of them; beyond some thousand columns O(np), or O(nnz), a step of L-BFGS.
    Memory above the data: a few tiles of a megabyte and O((p + K)²). Arrays in memory or on disk, sparse, or Dask.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    >>> y = ["low", "low", "high", "middle", "middle", "high"]
    >>> model = OrdinalRegression(categories=["low", "middle", "high"]).fit(X, y)
    >>> model.predict([[0.0], [9.0]]).tolist(), model.verdict_.status
    (['low', 'high'], 'optimal')
    >>> model.predict_proba([[3.5]]).round(2)
    array([[0.3 , 0.47, 0.23]])
    """

    link: str = "logit"
    _: KW_ONLY
    C: float = 1.0
    categories: Sequence[Any] | None = None
    tol: float = 1e-4
    max_iter: int = 100
    warm_start: bool = False
    verbose: int = 0
    n_jobs: int | None = None

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> OrdinalRegression:
        """Fit to rows X (n, p) and classes y (n,); a weight of 2 means the row stands there twice."""
        began = time.perf_counter()
        link = self._check_parameters()
        start = self._start_values()
        with parameters.threads(self.n_jobs), one_blas_thread():
            problem, said = self._read(X, y, sample_weight, link, reset=True)
            if start is not None and (len(start[0]), len(start[1])) != (
                problem.rows.p,
                problem.n_classes - 1,
            ):
                start = None
            how: dict[str, Any] = {"verbose": self.verbose}
            fit = minimise_ordinal(problem, float(self.tol), self.max_iter, start=start, **how)
            names, classes = getattr(self, "feature_names_in_", None), tuple(self.classes_.tolist())
            proof, undecided = separation_of(problem, fit, names, classes)
            left = self.max_iter - fit.outcome.iterations
            if (
                fit.outcome.runaway and left > 0 and (proof is None or proof.kind == "overlap")
            ):  # a false alarm
                before, so_far = fit.outcome.iterations, (fit.coef, fit.thresholds)
                then = minimise_ordinal(problem, float(self.tol), left, start=so_far, exists=True, **how)
                outcome = replace(then.outcome, iterations=before + then.outcome.iterations)
                fit = replace(then, outcome=outcome, sweeps=fit.sweeps + then.sweeps)
            self._keep_fit(problem, fit, proof)
            verdict = ordinal_verdict(self, problem, fit, proof, undecided)
            findings = (*said, *verdict.findings)
            self.verdict_ = replace(verdict, findings=findings, seconds=time.perf_counter() - began)
            self._keep_likelihood(problem, fit, names)
        self.n_iter_ = max(fit.outcome.iterations, 1)
        for sentence in said:
            warn(sentence)
        parameters.warn_of(self.verdict_, "Use a finite C to get an estimate", "Increase max_iter")
        return self

    # ---- answers ----

    def latent(self, X: TableLike) -> FloatArray:
        """x·β of each row (n,): where it stands on the line that the thresholds cut."""
        return self._on_rows(X, self._latent)

    def decision_function(self, X: TableLike) -> FloatArray:
        """The log-odds of the upper of two classes (n,), with the logit x·β − θ; of more, log P of each (n, K)."""

        def decide(cells: Any) -> FloatArray:
            log_p = self._log_probability(cells)
            if log_p.shape[1] > 2:
                return log_p
            if self.link == "logit":
                return self._latent(cells) - self._numbers()[1].astype(log_p.dtype)[0]
            return log_p[:, 1] - log_p[:, 0]

        return self._on_rows(X, decide)

    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """log P(class | x), so that a small probability keeps its digits: (n, K)."""
        return self._on_rows(X, self._log_probability)

    def predict_proba(self, X: TableLike) -> FloatArray:
        """P(class | x), from the lowest class to the highest: (n, K), rows sum to one."""
        return self._on_rows(X, lambda cells: np.exp(self._log_probability(cells)))

    def predict(self, X: TableLike, cost: Any = None) -> np.ndarray:
        """The most probable class, or with ``cost`` the one of least expected cost.

        ``cost`` is a matrix (K, K), a row for each true class and a column for each answer, or "absolute": |k − l|,
        how many classes the answer is off; the least of that is expected of the median class.
        """
        if cost is None:
            return self._on_rows(X, self._tiled(lambda cells: np.asarray(self.classes_[self._winner(cells)])))
        if isinstance(cost, str):
            check_known("cost", cost, "absolute")
            check_is_fitted(self)
            place = np.arange(len(self.classes_))
            cost = np.abs(place[:, None] - place)
        return minimum_cost(self, X, cost)

    def _winner(self, cells: Any) -> np.ndarray:
        return self._log_probability(cells).argmax(axis=1)

    def _latent(self, cells: Any) -> FloatArray:
        return LinearRule(self._numbers()[0], 0.0).score(cells)

    def _log_probability(self, cells: Any) -> FloatArray:
        coef, thresholds = self._numbers()
        eta = LinearRule(coef, 0.0).score(cells)
        found = LINKS[self.link].log_probabilities(eta.astype(np.float64), thresholds.astype(np.float64))
        return found.astype(eta.dtype, copy=False)

    # ---- the door ----

    def _check_parameters(self) -> CumulativeLink:
        """Refuse, before data is read, what cannot be meant."""
        check_known("link", self.link, *LINKS)
        if not is_positive(self.C):
            raise ValueError(f"C must be a positive number (np.inf for no penalty), got {self.C!r}")
        parameters.check_limits(self.tol, self.max_iter, self.n_jobs)
        in_order(self.categories)
        return LINKS[self.link]

    def _read(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        link: CumulativeLink,
        *,
        reset: bool,
    ) -> tuple[OrdinalProblem, list[str]]:
        """Rows, classes and weights into the problem to be minimised; and what is to be said of their order."""
        X = door.read_table(self, X, reset=reset)
        rows = door.rows_of(self, X).in_doubles()
        weight = door.read_weights(sample_weight, rows.n)
        codes, _ = self._read_classes(y, weight, rows.n, reset=reset)
        said: list[str] = []
        if reset:
            order, said = order_of(self.classes_, y, self.categories)
            place = np.empty(len(order) + 1, dtype=np.intp)
            place[order], place[-1] = (
                np.arange(len(order)),
                -1,
            )  # a row of a class that weighs nothing has no code
            self.classes_, codes = self.classes_[order], place[codes]
        rows = rows.with_targets(codes, weight)
        moments = door.finite_moments(self, rows)
        ridge = 0.0 if np.isinf(self.C) else 1.0 / (float(self.C) * rows.total_weight)
        return OrdinalProblem(rows, moments, link, ridge, len(self.classes_)), said

    def _read_for_prediction(self, X: TableLike) -> Any:
        return door.read_for_prediction(self, X, stored="in parts")  # a score is linear in them

    def _keep_fit(self, problem: OrdinalProblem, fit: OrdinalFit, proof: OrderedSeparation | None) -> None:
        """``coef_`` and ``thresholds_``, those of the limit where no optimum exists."""
        if proof is None or proof.kind == "overlap":
            self._keep_numbers(fit.coef, fit.thresholds, problem.rows.single, problem.moments.mean)
            return
        far = proof.far_along(fit.coef, fit.thresholds)
        if proof.kind == "quasi":  # the rest finds its own place, with the separated rows out of the way
            far_fit = minimise_ordinal(problem, float(self.tol), self.max_iter, start=far, exists=True)
            far = far_fit.coef, far_fit.thresholds
        self._keep_limit(far, proof.limits())

    def _verdict_from_data(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Verdict:
        self._check_parameters()
        problem, _ = self._read(X, y, sample_weight, LINKS[self.link], reset=False)
        return verified(self, problem)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = (
            True  # on classes in no order, which scikit-learn's checks are about
        )
        return tags
