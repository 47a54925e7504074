"""Bayesian logistic regression: a Gaussian prior over the weights, and the Gaussian nearest the posterior ([6867] 4).

    prior        W ~ N(m₀, S₀)
    posterior    W | D ≈ N(m_n, S_n),   m_n = W_MAP,   S_n⁻¹ = S₀⁻¹ + Σ_i s_i o_i (1 − o_i) x_i x_iᵀ
    predictive   P(y = 1 | x) = ∫ σ(a) N(a | m, s²) da ≈ σ(m / √(1 + πs²/8)),   m = m_n·x,  s² = xᵀ S_n x
    evidence     log Pr(D) ≈ log Pr(D | W_MAP) + log Pr(W_MAP) + (D/2) log 2π − ½ log|S_n⁻¹|

The convention is NLL(W) + ½ (W − m₀)ᵀ S₀⁻¹ (W − m₀): a precision α is the penalty ½α‖w‖², scikit-learn's C = 1/α.
Rows B1–B3 and D7 of the specification. The mode and the evidence are found in models/bayes/laplace.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.checks import check_count, check_positive
from separatrix.data.door import (
    as_labels,
    drop_absent_classes,
    finite_moments,
    read_labels,
    read_table,
    read_weights,
    refuse_one_class,
    rows_of,
)
from separatrix.data.engine import one_blas_thread
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.rows import Rows
from separatrix.data.sources import TableLike
from separatrix.models.base import LinearClassifier, minimum_cost
from separatrix.models.bayes.laplace import Laplace, laplace, verdict_of, verified
from separatrix.models.bayes.precisions import Search, maximise_evidence
from separatrix.models.bayes.predictive import Predictive, normal_draws, tail_of
from separatrix.models.bayes.priors import INTERCEPT_PRECISION, is_default, read_prior
from separatrix.models.bayes.shown import ShownPosterior
from separatrix.models.parameters import (
    check_class_weight,
    check_limits,
    generator_of,
    listed,
    row_weights,
    threads,
)
from separatrix.problems.prior import Prior
from separatrix.verdict.verdict import ConvergenceWarning, Verdict

MOST_PARAMETERS = 4000  # the posterior covariance has the square of that many numbers
CHOSEN = ("evidence", "ard")
PREDICTIVES = ("probit", "monte_carlo", "plugin")


@constructor
class BayesianLogisticRegression(ShownPosterior, LinearClassifier):
    """P(y = k | x, D) = ∫ softmax_k(W x) N(W | m_n, S_n) dW: predictions that know how sure the weights are.

    W ~ N(m₀, S₀) before the data; after them, by Laplace's approximation, N(m_n, S_n) with m_n = W_MAP and
    S_n⁻¹ = S₀⁻¹ + Σ s_i o_i(1−o_i) x_i x_iᵀ. Notes [6867] 4, rows B1–B3. Because the prior is proper the mode exists
    and is unique even where the classes are separated and maximum likelihood has no answer (row D7).

    The prior is in the user's units, NLL + ½(W − m₀)ᵀS₀⁻¹(W − m₀): standardise columns of different units
    (``make_pipeline(StandardScaler(), BayesianLogisticRegression())``) unless it is meant for them as they are.
    K > 2 classes have a weight vector each, with independent equal priors. The likelihood does not see the part
    common to all K, which integrates out exactly: what is fitted, and counted as D = (K−1)(p+1), are K−1 contrasts.

    Parameters
    ----------
    prior_precision : a number α, S₀ = I/α; or (p,), one α_j a column (np.inf holds a weight at zero); or "evidence",
        the one α of most evidence; or "ard", one α_j a column of most evidence, which switches columns off
    prior_mean : m₀: 0, a number, (p,) for the weights alone, or (p+1,) with the intercept first; for K > 2 classes 0,
        or (K, p) or (K, p+1), since a mean common to all classes changes nothing
    prior_covariance : S₀, in place of ``prior_precision``: (p, p) for the weights, or (p+1, p+1), the intercept first
    intercept_precision : of the score at the mean row, where a change of the columns' origin changes nothing
        (unless ``prior_covariance`` has the intercept). It must be proper, or the evidence would have no value. The
        default 0.01 is a standard deviation of 10 in log odds: next to flat, and all models that share it lose the
        same evidence by it
    fit_intercept : whether there is an intercept
    class_weight : {label: weight}, "balanced", or None: a factor of the rows' weights, which the likelihood and the
        evidence then count; "balanced" needs all rows at once, and ``partial_fit`` takes a dictionary
    predictive : how ``predict_proba`` integrates over the weights: "probit" σ(m/√(1 + πs²/8)), for K classes
        P_k ∝ 1/Σ_j exp(−κ_kj (m_k − m_j)); "monte_carlo", ``n_samples`` draws of the scores of each row; "plugin", no
        integral, the weights taken as certain
    n_samples : draws of "monte_carlo", made even: antithetic pairs in a Latin hypercube over the K−1 scores of a row.
        The standard error is at most 0.5/√n_samples, and below 1e-3 for two classes at the default 1000
    random_state : seed of the draws; None is 0, so that a prediction repeats itself
    tol : the fit stops when the objective is proven within tol⁴ (relatively) of its minimum, or within rounding
    max_iter : most Newton steps a fit takes
    verbose : 1 prints a line a step (or a round of evidence maximisation) to standard error
    n_jobs : threads; None uses all cores this process may use

    Attributes
    ----------
    coef_, intercept_ : the mode m_n: (1, p) and (1,), or (K, p) and (K,), which sum to zero over classes
        Both may be edited: predictions, intervals and draws then have that mean, and ``partial_fit`` goes on from it
    coef_sd_, intercept_sd_ : posterior standard deviations, of the same shapes, read-only as ``covariance_`` is
    covariance_ : S_n, the intercept first, then the columns: (p+1, p+1); for K classes (K(p+1), K(p+1)), class by
        class, singular along the part common to all. Without an intercept p in place of p+1
    prior_precision_ : the precision used or found: a number, or (p,) (np.inf: switched off); None with a covariance
    prior_mean_, prior_covariance_ : m₀ and S₀ of (b, w), as they were used, the intercept first
    log_evidence_ : log Pr(D) = ``log_likelihood_`` + ``log_occam_factor_``
    log_likelihood_ : log Pr(D | W_MAP)
    log_occam_factor_ : log Pr(W_MAP) + (D/2) log 2π − ½ log|S_n⁻¹|; its two parts are ``log_prior_``, a density in
        the user's units, and ``log_volume_``
    bic_ : −2 log Pr(D | W_MAP) + D log n (smaller is better, as in R), n the total weight. The notes' score is −½ of
        it and has W_ML, its limit as the prior flattens; at the mode it exists for separated classes too
    n_parameters_ : D, columns switched off left out
    n_effective_ : γ = tr(S_n Σ o(1−o)xxᵀ) of the D parameters are determined by the data, the others by the prior
    classes_, n_features_in_, feature_names_in_, n_iter_, rule_, verdict_ : as in ``LogisticRegression``

    Notes
    -----
    Cost: O(nD²) for three or four sweeps and O(nD) for a few more; "evidence" and "ard" three to ten times that.
    Memory: O(D²) above the data. D may be 4000 at most.

    Examples
    --------
    >>> X = np.arange(6.0)[:, None]  # separated between 2 and 3: no maximum likelihood
    >>> model = BayesianLogisticRegression().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.coef_.round(3), model.coef_sd_.round(3)
    (array([[1.121]]), array([[0.647]]))
    >>> far = [[4.0], [12.0]]  # the uncertainty of a score grows with it
    >>> model.predict_proba(far)[:, 1].round(3)
    array([0.776, 0.933])
    >>> model.predict_proba(far, method="plugin")[:, 1].round(3)
    array([0.843, 1.   ])
    >>> model.verdict_.status
    'optimal'
    """

    prior_precision: Any = 1.0
    _: KW_ONLY
    prior_mean: Any = 0.0
    prior_covariance: Any = None
    intercept_precision: float = INTERCEPT_PRECISION
    fit_intercept: bool = True
    class_weight: Mapping[Any, float] | str | None = None
    predictive: str = "probit"
    n_samples: int = 1000
    random_state: Any = None
    tol: float = 1e-4
    max_iter: int = 100
    verbose: int = 0
    n_jobs: int | None = None

    def fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> BayesianLogisticRegression:
        """Fit to rows X (n, p) and labels y (n,); a weight of 2 means the row stands there twice."""
        return self._learn(X, y, None, sample_weight, anew=True)

    def partial_fit(
        self, X: TableLike, y: ArrayLike, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> BayesianLogisticRegression:
        """Add rows: the posterior of the last call is the prior of this one.

        Exact up to Laplace's approximation, which is made anew at each call; one call equals `fit`. ``classes`` of
        the first call announces labels that come later. "evidence" and "ard" choose the prior on the first rows.
        ``log_evidence_`` is of all rows so far, by log Pr(D₁) + log Pr(D₂ | D₁), and its parts add up likewise;
        ``bic_`` needs the likelihood of all rows at one W and is absent after a second call.

        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(400, 2))
        >>> y = (X[:, 0] + rng.logistic(size=400) > 0).astype(int)
        >>> online = BayesianLogisticRegression()
        >>> for part in np.split(np.arange(400), 4):
        ...     _ = online.partial_fit(X[part], y[part], classes=[0, 1])
        >>> whole = BayesianLogisticRegression().fit(X, y)
        >>> bool(abs(online.coef_ - whole.coef_).max() < 0.02)
        True
        """
        if isinstance(self.class_weight, str):
            raise ValueError(
                'class_weight="balanced" needs all rows at once: give partial_fit a dictionary of weights'
            )
        return self._learn(X, y, classes, sample_weight, anew=not hasattr(self, "_belief"))

    # ---- predictions ----

    def predict(self, X: TableLike, cost: Any = None) -> np.ndarray:
        """The class most probable in ``predict_proba``, or with ``cost`` (K, K) that of least expected cost."""
        return super().predict(X) if cost is None else minimum_cost(self, X, cost)

    def predict_proba(self, X: TableLike, method: str | None = None) -> FloatArray:
        """P(class | x, D): (n, K); ``method`` in place of ``predictive`` for this call."""
        found, method = self._predictive(), self._method(method)
        return self._on_rows(X, self._tiled(lambda cells: np.exp(found.log_probability(cells, method))))

    def predict_log_proba(self, X: TableLike, method: str | None = None) -> FloatArray:
        """log P(class | x, D), so that a small probability keeps its digits."""
        found, method = self._predictive(), self._method(method)
        return self._on_rows(X, self._tiled(lambda cells: found.log_probability(cells, method)))

    def predict_interval(self, X: TableLike, level: float = 0.95) -> FloatArray:
        """Credible interval of each predicted probability: σ(m ± zs), (n, 2) for the second of two classes.

        For K classes (n, K, 2), one interval a class: quantiles of softmax over ``n_samples`` draws of the scores.

        >>> X = np.arange(6.0)[:, None]
        >>> model = BayesianLogisticRegression().fit(X, [0, 0, 0, 1, 1, 1])
        >>> model.predict_interval([[0.0], [3.0]]).round(2)
        array([[0.  , 0.74],
               [0.16, 0.94]])
        """
        found, tail = self._predictive(), tail_of(level)
        bounds = self._on_rows(X, self._tiled(lambda cells: found.interval(cells, tail)))
        return bounds if len(self.classes_) == 2 else bounds.reshape((bounds.shape[0], len(self.classes_), 2))

    # ---- the door ----

    def _check_parameters(self) -> None:
        """Refuse, before data is read, what cannot be meant."""
        if isinstance(self.prior_precision, str) and self.prior_precision not in CHOSEN:
            raise ValueError(
                f"prior_precision {self.prior_precision!r} is unknown: use a positive number, one a column, "
                '"evidence" for the one of most evidence, or "ard" for one a column'
            )
        if self.prior_covariance is not None and not is_default(self.prior_precision, 1.0):
            raise ValueError(
                "prior_covariance and prior_precision are two names of one thing: give one and leave the other out"
            )
        if self.predictive not in PREDICTIVES:
            raise ValueError(
                f"predictive {self.predictive!r} is unknown: use one of {', '.join(map(repr, PREDICTIVES))}"
            )
        check_limits(self.tol, self.max_iter, self.n_jobs)
        check_class_weight(self.class_weight)
        check_positive("intercept_precision", self.intercept_precision, finite=True)
        check_count("n_samples", self.n_samples)

    def _read(
        self, X: TableLike, y: ArrayLike, classes: Any, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[Rows, Moments]:
        """Rows with their targets, and the columns' moments; with ``reset`` the classes are learnt."""
        rows = rows_of(self, read_table(self, X, reset=reset))
        found, codes = read_labels(y, rows.n)
        weight = read_weights(sample_weight, rows.n)
        found, codes, _ = drop_absent_classes(found, codes, weight)
        if reset and classes is None:
            refuse_one_class(found)
            self.classes_ = found
        elif reset:
            self.classes_ = read_labels(as_labels(classes), None)[0]
            refuse_one_class(self.classes_)
        known = {v: k for k, v in enumerate(self.classes_.tolist())}
        late = [v for v in found.tolist() if v not in known]
        if late:
            raise ValueError(
                f"label {late[0]!r} is not one of the classes {list(known)}: a posterior over their weights has no "
                "place for another. Announce all classes in the first call, partial_fit(X, y, classes=[…])"
            )
        if classes is not None and not reset:
            strange = [v for v in as_labels(classes).tolist() if v not in known]
            if strange:
                raise ValueError(
                    f"classes has {strange[0]!r}, which the first call did not announce: {list(known)}"
                )
        places = np.array([known[v] for v in found.tolist()], dtype=np.intp)
        codes = np.append(places, 0)[codes]  # −1 is a row of weight zero
        k = len(self.classes_)
        totals = np.bincount(codes, weight, minlength=k).astype(float)
        weight = row_weights(self.class_weight, self.classes_, codes, totals, weight)
        rows = rows.with_targets(codes * 2.0 - 1.0 if k == 2 else codes, weight)
        moments = finite_moments(self, rows)
        size = (k - 1) * (rows.p + int(bool(self.fit_intercept)))
        if size > MOST_PARAMETERS:
            raise ValueError(
                f"{size} parameters: the posterior covariance would hold {size}² numbers, and {MOST_PARAMETERS} is "
                "the limit. Reduce the columns first (PCA, TruncatedSVD, SelectKBest), or use LogisticRegression, "
                "which keeps no covariance"
            )
        return rows, moments

    # ---- the fit ----

    def _learn(
        self, X: TableLike, y: ArrayLike, classes: Any, sample_weight: ArrayLike | None, *, anew: bool
    ) -> BayesianLogisticRegression:
        began = time.perf_counter()
        self._check_parameters()
        with threads(self.n_jobs), one_blas_thread():
            rows, moments = self._read(X, y, classes, sample_weight, reset=anew)
            prior = read_prior(self, moments, len(self.classes_)) if anew else self._last_belief()
            n_classes = None if len(self.classes_) == 2 else len(self.classes_)
            search = None
            options: dict[str, Any] = {
                "tol": float(self.tol), "max_iter": int(self.max_iter), "verbose": int(self.verbose)
            }  # fmt: skip
            if anew and isinstance(self.prior_precision, str):
                search = self._search(rows, moments, n_classes, prior, options)
                fit = search.fit
            else:
                fit = laplace(rows, moments, n_classes, prior, **options)
            self._set(fit, search, anew)
            self._keep_numbers(*fit.objective.to_user(fit.theta), rows, moments, bool(self.fit_intercept))
            self._dtype = self.coef_.dtype
            sweeps = search.sweeps if search else fit.sweeps
            verdict = verdict_of(self, fit, moments, tuple(self._findings(fit, search)), sweeps)
            if search is not None and search.stopped_by == "interrupted":
                verdict = replace(verdict, status="interrupted", stopped_by="interrupted")
            self.verdict_ = replace(verdict, seconds=time.perf_counter() - began)
        if self.verdict_.status == "not converged":
            warn(
                f"the objective may be {self.verdict_.gap:.1e} above its minimum ({self.verdict_.tol:.1e} was asked "
                f"for; stopped: {self.verdict_.stopped_by}). Increase max_iter, or give a sharper prior",
                ConvergenceWarning,
            )
        if search is not None and search.short:
            warn(
                f"the evidence was still growing after {search.rounds} rounds, as it does where a prior may widen "
                "for ever (separated classes, few rows): give prior_precision a number, or fewer columns",
                ConvergenceWarning,
            )
        return self

    def _search(
        self, rows: Rows, moments: Moments, n_classes: int | None, prior: Prior, options: dict[str, Any]
    ) -> Search:
        """The precisions of most evidence."""
        intercept, heads = prior.precision[rows.p :], prior.heads

        def with_precision(alpha: FloatArray) -> Prior:
            precision, live = np.concatenate([alpha, intercept]), np.isfinite(alpha)
            log_det = heads * float(np.log(precision[np.isfinite(precision)]).sum())
            return replace(prior, precision=precision, log_det=log_det, live=live)

        groups = np.zeros(rows.p, dtype=np.intp) if self.prior_precision == "evidence" else np.arange(rows.p)
        zero = not prior.mean[: rows.p].any()
        return maximise_evidence(rows, moments, n_classes, with_precision, groups, switch_off=zero, **options)

    def _set(self, fit: Laplace, search: Search | None, anew: bool) -> None:
        """Learned attributes from the mode and its curvature."""
        posterior, prior = fit.posterior, fit.prior
        self.__dict__.pop("_covariance", None)
        self.n_iter_ = np.array([fit.outcome.iterations], dtype=np.int32)
        self.n_effective_, self.n_parameters_ = fit.n_effective, fit.prior.size
        parts = {
            "log_likelihood_": fit.log_likelihood,
            "log_occam_factor_": fit.log_occam,
            "log_prior_": fit.log_prior,
            "log_volume_": fit.log_occam - fit.log_prior,
        }
        for name, value in parts.items():
            setattr(self, name, value if anew else getattr(self, name) + value)
        self.log_evidence_ = self.log_likelihood_ + self.log_occam_factor_
        self._last_evidence = fit.log_evidence
        self.__dict__.pop("bic_", None)
        if anew:
            self.bic_ = -2 * fit.log_likelihood + fit.prior.size * float(np.log(fit.weight))
            self.prior_precision_: Any = None
            if search is not None:
                alpha = search.alpha
                self.prior_precision_ = float(alpha[0]) if self.prior_precision == "evidence" else alpha
            elif self.prior_covariance is None:
                self.prior_precision_ = np.array(self.prior_precision, dtype=float)[()]
        self.prior_mean_, self.prior_covariance_ = prior.mean_first(), prior.covariance()
        self._prior_used, self._posterior, self._belief = prior, posterior, fit.as_prior()

    def _findings(self, fit: Laplace, search: Search | None) -> list[str]:
        found = [
            f"log evidence {self.log_evidence_:.4f} = log likelihood {self.log_likelihood_:.4f} + log Occam factor "
            f"{self.log_occam_factor_:.4f}",
            f"the data determine {fit.n_effective:.1f} of {fit.prior.size} parameters, the prior the rest",
        ]
        if search is None:
            return found
        ended = f"{search.rounds} rounds, stopped: {search.stopped_by}"
        off = np.isinf(search.alpha)
        if self.prior_precision == "evidence":
            if off.all():
                return [
                    *found,
                    f"prior: the data ask for no weights at all ({ended}); the intercept alone predicts",
                ]
            return [*found, f"prior: precision {search.alpha[0]:.4g} has the most evidence ({ended})"]
        found.append(f"prior: one precision a column by evidence ({ended})")
        if off.any():
            columns = listed(self, np.flatnonzero(off))
            found.append(f"relevance: columns {columns} are switched off, weight 0")
        return found

    def _last_belief(self) -> Prior:
        """The posterior so far as the prior of rows to come; its mean is ``coef_``, ``intercept_`` where edited."""
        belief: Prior = self._belief
        if not self._was_edited():
            return belief
        coef, intercept = self._shown()
        mean = coef.T.astype(float)
        if belief.fit_intercept:
            mean = np.vstack([mean, intercept + belief.anchor @ mean])
        basis = self._posterior.basis
        return replace(belief, mean=mean[:, 0] if basis is None else mean @ basis)

    def _verdict_from_data(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Verdict:
        """The verdict on coef_ and intercept_ under the prior of the fit, for :func:`separatrix.verify`.

        After several calls of `partial_fit` the rows are those of the last, whose prior was the posterior before it.
        """
        coef, intercept = self._shown()
        coef, intercept = (coef[0], intercept[0]) if len(coef) == 1 else (coef, intercept)
        with threads(self.n_jobs), one_blas_thread():
            rows, moments = self._read(X, y, None, sample_weight, reset=False)
            return verified(self, rows, moments, self._prior_used, coef, intercept, self._last_evidence)

    # ---- small parts ----

    def _method(self, method: str | None) -> str:
        method = self.predictive if method is None else method
        if method not in PREDICTIVES:
            raise ValueError(f"method {method!r} is unknown: use one of {', '.join(map(repr, PREDICTIVES))}")
        return method

    def _predictive(self) -> Predictive:
        check_is_fitted(self)
        normals = normal_draws(int(self.n_samples), len(self.classes_) - 1, generator_of(self.random_state))
        return Predictive(self.rule_, self._posterior, normals)

    def _winner(self, cells: Any) -> np.ndarray:
        """Index of the most probable class, the weights integrated over; of two classes that is the score's sign."""
        if len(self.classes_) == 2:
            return super()._winner(cells)
        return np.asarray(self._predictive().log_probability(cells, self.predictive).argmax(axis=1))
