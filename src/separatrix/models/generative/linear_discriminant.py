"""Linear discriminant analysis:  β_k·x + γ_k, β_k = Σ⁻¹μ_k, γ_k = −½ μ_kᵀΣ⁻¹μ_k + log π_k  ([6867] 3.1.1, [PC]; G1).

The mathematics of the densities is in gaussian.py; here are how Σ is estimated, the public weights, which predict as
they stand, and the directions of `transform`. Cost O(np²) for a fit, one sweep, or O(n²p) with fewer rows than
columns; O(npK) for a prediction.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import EPS, FloatArray, logsumexp
from separatrix.core.statistics.grouped import GroupScatter
from separatrix.core.statistics.spans import SpanCovariance, SpanScatter
from separatrix.data.checks import is_count
from separatrix.data.estimator import constructor
from separatrix.data.sources import TableLike
from separatrix.models.base import LinearClassifier
from separatrix.models.generative.answers import differences
from separatrix.models.generative.common import Generative
from separatrix.models.generative.covariance import WhiteningRoot, averaged, shrunk
from separatrix.models.generative.facts import ClassFacts
from separatrix.models.generative.gaussian import Gaussian, check_solver
from separatrix.models.generative.missing import incomplete
from separatrix.models.generative.span_verified import span_axes
from separatrix.models.generative.state import CovarianceReport, Report, publish, report, state
from separatrix.models.generative.verified import Equations, LabelledRows, axes_of


@constructor
class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, Gaussian, LinearClassifier
):
    """log p(x, k) = β_k·x + γ_k + …,  β_k = Σ⁻¹μ_k,  γ_k = −½ μ_kᵀΣ⁻¹μ_k + log π_k  ([6867] 3.1.1, [PC], G1).

    Parameters
    ----------
    solver : "svd" pools the classes' covariances by their rows, "lsqr" and "eigen" by their priors, as
        scikit-learn's do: the same unless ``priors`` are given
    shrinkage : None, a number in [0, 1], or "auto" (Ledoit–Wolf), with any solver
    priors : (K,), default the classes' shares
    n_components : directions kept by `transform`, default min(K − 1, p)
    store_covariance : accepted for scikit-learn's sake; ``covariance_`` is always there
    tol : eigenvalues of the covariance below tol² count as none
    covariance_estimator : with solver "lsqr" or "eigen", an estimator with ``fit`` and ``covariance_`` (those of
        sklearn.covariance) for each class's Σ, instead of shrinkage; a clone of it is fitted to the rows of a class
    em_tol, em_max_iter : for rows without a label, or with missing cells
    class_weight : None, "balanced" or {class: weight}, times the weights of the rows

    Attributes: coef_ (K, p) or (1, p) and intercept_, the state: `predict`, `predict_proba` and
    `decision_function` go by them as they stand, and once edited there is no density any more (`score_samples`,
    `sample`, rows with missing cells are refused); xbar_ and scalings_ for `transform`; rule_, means_, priors_,
    covariance_, explained_variance_ratio_, classes_, verdict_. With solver "svd" β_k = Σ⁻¹(μ_k − x̄), as
    scikit-learn has it: what all classes share is no fact of the rule. Cost O(np²) or O(n²p), one sweep.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> round(model.score(X, y), 2), model.transform(X).shape
    (0.98, (150, 2))
    """

    solver: str = "svd"
    shrinkage: Any = None
    priors: Any = None
    n_components: int | None = None
    store_covariance: bool = False
    tol: float = 1e-4
    covariance_estimator: Any = None
    em_tol: float = 1e-6
    em_max_iter: int = 500
    class_weight: Any = None

    _keeps = "answers"
    _one_class = True
    _instead = "edit coef_ and intercept_, which predict, or fit with priors="
    means_ = Report(_instead)
    priors_ = Report(_instead)
    covariance_ = CovarianceReport(_instead)
    explained_variance_ratio_ = Report("edit scalings_, which transform")

    @property  # type: ignore[misc]
    def class_prior_(self) -> FloatArray:  # type: ignore[override]
        """``priors_``, by the name other models have for it."""
        return self.priors_

    def _set_prior(self, prior: FloatArray) -> None:
        publish(self, "priors_", prior, self._single)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_solver(self.solver, ("svd", "lsqr", "eigen"), self.shrinkage, self.covariance_estimator)
        if not (self.n_components is None or (is_count(self.n_components) and self.n_components >= 1)):
            raise ValueError(f"n_components must be a whole number of at least 1, got {self.n_components!r}")

    def _refuse_values(self, rows: Any, facts: ClassFacts) -> None:
        super()._refuse_values(rows, facts)
        if self._whole and len(facts.weight) == 1 and rows.n < 2:
            raise ValueError("one class of 1 sample has neither a spread nor another class: give more rows")

    @property
    def _by_class(self) -> bool:
        """Whether classes' covariances are estimated apart before they are averaged."""
        given = self.priors is not None or self.covariance_estimator is not None
        return self.shrinkage == "auto" or (self.solver != "svd" and given)

    def _groups(self, classes: np.ndarray) -> np.ndarray:
        return np.arange(len(classes)) if self._by_class else np.zeros(len(classes), dtype=np.intp)

    def _covariances(self, facts: ClassFacts, fourth: FloatArray | None) -> list[Any]:
        s: GroupScatter | SpanScatter = facts.of_x
        total = float(s.weight.sum())
        if not self._by_class:
            return [shrunk(s.covariance(0, total), self.shrinkage, total, None)]
        live = s.weight > 0
        if self._estimated is not None:
            return [np.tensordot(state(self, "priors_", s.weight.shape), np.array(self._estimated), axes=1)]
        each = [shrunk(s.covariance(k, w), self.shrinkage, w, None if fourth is None else fourth[k])
                for k, w in enumerate(s.weight) if w > 0]  # fmt: skip
        share = self.class_prior_[live] if self.solver != "svd" else s.weight[live] / total
        return [averaged(share, each)]

    def _set_forms(self, means: FloatArray, whitened: list[WhiteningRoot]) -> None:
        self._group = np.zeros(len(means), dtype=np.intp)
        publish(self, "means_", means, self._single)
        report(self, covariance_=self._estimates[0])
        prior, T = state(self, "priors_", (len(means),)), self._whiten[0]
        middle = self._middle(means, prior)
        inner = (means - middle) @ T
        self._centre, self._beta, self._gamma = middle, inner @ T.T, -0.5 * np.sum(inner**2, axis=1)
        self._shift = np.zeros(len(middle))  # what all classes' β have more in the public form
        if self.solver != "svd" and len(means) > 2:
            self._shift = middle @ T @ T.T
        with np.errstate(divide="ignore"):
            gamma = self._gamma + np.log(prior) - self._beta @ middle - 0.5 * self._shift @ middle
        coef, intercept = differences(self._beta + self._shift, gamma)
        # in float32 the intercept takes up what rounding does at the middle of the rows
        self.coef_ = self._kept(coef)
        self.intercept_ = self._kept(intercept + (coef - self.coef_) @ middle)
        self._as_fitted = self.coef_.copy(), self.intercept_.copy()
        self._set_directions(means, middle)

    def _set_directions(self, means: FloatArray, middle: FloatArray) -> None:
        """The directions of `transform`: those that set the classes apart most, spread within classes one."""
        k, p = means.shape
        limit = min(k - 1, p)
        if self.n_components is not None and self.n_components > limit and self._whole:
            raise ValueError(
                f"n_components cannot be larger than min(n_features, n_classes - 1): it is {self.n_components}, "
                f"and {limit} is the most"
            )
        count, prior = np.asarray(self.class_count_, dtype=np.float64), state(self, "priors_", (k,))
        live, T = count > 0, self._whiten[0]
        weight = count.sum() * prior[live] / max(k - 1, 1)
        _, s, vt = np.linalg.svd(np.sqrt(weight)[:, None] * ((means[live] - middle) @ T), full_matrices=False)
        keep = s > self.tol * s[0] if len(s) else np.zeros(0, dtype=bool)
        self._n_features_out = limit if self.n_components is None else min(self.n_components, limit)
        with np.errstate(invalid="ignore"):
            ratio = (s**2 / np.sum(s**2))[: self._n_features_out]
        report(self, explained_variance_ratio_=self._kept(ratio))
        self.xbar_, self.scalings_ = self._kept(middle.copy()), self._kept(T @ vt.T[:, keep])
        self._n_features_out = min(self._n_features_out, self.scalings_.shape[1])

    def transform(self, X: TableLike) -> FloatArray:
        """(x − x̄) in the directions that set the classes apart most, spread within classes one: (n, n_components)."""
        check_is_fitted(self)
        middle, directions = np.asarray(self.xbar_), np.asarray(self.scalings_)[:, : self._n_features_out]
        return self._on_rows(X, lambda cells: (cells - middle) @ directions)

    # ---- coef_ and intercept_ predict ----

    @property
    def _edited(self) -> bool:
        """Whether coef_ or intercept_ are no longer those of the fit."""
        if "_as_fitted" not in self.__dict__:  # a model file of before
            return False
        return not all(np.array_equal(a, b) for a, b in zip(self._public(), self._as_fitted, strict=True))

    def _public(self) -> tuple[FloatArray, FloatArray]:
        """coef_ and intercept_ as they stand."""
        coef, intercept = self._as_fitted
        return state(self, "coef_", coef.shape), state(self, "intercept_", intercept.shape)

    def _now(self) -> Self:
        now = Generative._now(self)
        now.__dict__["means_"] = state(self, "means_", (len(self.classes_), self.n_features_in_))
        if "_as_fitted" not in self.__dict__:
            now._set_linear()
            now._shift = np.zeros(self.n_features_in_)
        now._form = self._public() if self._edited else None
        return now

    def _joint(self, cells: np.ndarray) -> FloatArray:
        if self._form is None:
            return super()._joint(cells)
        if incomplete(cells) is not None:
            self._refuse_edited("rows with missing cells")
        with np.errstate(all="ignore"):
            scores = cells @ self._form[0].T + self._form[1]
        return np.hstack([np.zeros_like(scores), scores]) if len(self.classes_) == 2 else scores

    def _log_base(self, cells: np.ndarray) -> FloatArray:
        if self._form is not None:
            self._refuse_edited("densities")
        return super()._log_base(cells)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        if self._form is not None:
            self._refuse_edited("samples")
        return super()._draw(k, n, rng)

    def _refuse_edited(self, what: str) -> None:
        raise ValueError(
            f"{what}: coef_ or intercept_ were edited, and say how classes are told apart, not how their rows are "
            "spread; fit again, or use GaussianDiscriminant, whose means_ and priors_ may be edited"
        )

    def decision_function(self, X: TableLike) -> FloatArray:
        """coef_·x + intercept_: (n,) for two classes, (n, K) for more."""
        now = self._now()
        if now._form is not None or not now._shift.any():
            return Generative.decision_function.__get__(self)(X)

        def shared(cells: np.ndarray) -> FloatArray:
            return np.dot(cells, now._shift)[:, None] - 0.5 * now._shift @ now._centre

        scores = Generative.decision_function.__get__(self)(X)
        return scores + self._on_rows(X, self._tiled(lambda cells: now._typed(shared(cells), cells)))

    def _losses(self, X: TableLike, joint: FloatArray, codes: np.ndarray) -> FloatArray:
        """Edited weights have no density to judge: then −log P(y | x)."""
        if not self._edited:
            return super()._losses(X, joint, codes)
        own = joint[np.arange(len(joint)), codes]
        return np.where(codes < 0, 0.0, logsumexp(joint) - own)

    def _form_equations(self, rows: LabelledRows, m: FloatArray, wanted: list[Any]) -> Equations:
        """coef_ and intercept_ against Σ̂⁻¹(m_k − x̄), by differences between classes and scores at x̄."""
        prior = self._priors(rows.weight)
        axes = span_axes if isinstance(wanted[0], SpanCovariance) else axes_of
        unit, T, least = axes(wanted[0], self.tol)
        middle = prior @ np.where((rows.weight > 0)[:, None], m, 0.0)
        inner = (m - middle) @ T
        with np.errstate(all="ignore"):
            ours = differences(inner @ T.T * unit, np.log(prior) - 0.5 * np.sum(inner**2, axis=1))
            coef, intercept = (np.asarray(a, dtype=np.float64) for a in (self.coef_, self.intercept_))
            theirs = coef * unit, intercept + coef @ middle
            rounded = 64 * EPS * (len(unit) + np.max(np.abs(middle) / unit)) / max(least, self.tol**2)
            noise = 0.0, 64 * EPS * (np.abs(coef) @ np.abs(middle))
            worst = 0.0
            for a, b, slack in zip(theirs, ours, noise, strict=True):
                if len(self.classes_) > 2:  # what all classes share is no fact of the rule
                    first = int(np.flatnonzero(np.isfinite(ours[1]))[0])
                    a, b = a - a[first], b - b[first]
                size = max(1.0, float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)))
                off = np.where(a == b, 0.0, np.maximum(np.abs(a - b) - slack - rounded * size, 0.0) / size)
                worst = max(worst, float(np.max(np.where(np.isnan(off), np.inf, off), initial=0.0)))
        return Equations(worst, 0.0, np.nan if self._edited else 0.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
