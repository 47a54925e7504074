"""Gaussian discriminants: LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianDiscriminant (G1–G3).

    one Σ for all        linear:  β_k·x + γ_k,  β_k = Σ⁻¹ μ_k,  γ_k = −½ μ_kᵀ Σ⁻¹ μ_k + log π_k
    one Σ_k a class      quadratic, with the log determinants
    some classes share   linear between those, quadratic to the others         (the three-class figure of [PC])

The mathematics is in gaussian.py; here is which classes share a covariance, and how it is estimated.
Cost O(np²) for a fit, one sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupScatter
from separatrix.data.door import is_count, read_weights
from separatrix.models.base import LinearClassifier
from separatrix.models.generative.answers import differences
from separatrix.models.generative.common import Facts, Generative
from separatrix.models.generative.gaussian import Gaussian, Whitened, _incomplete, shrunk
from separatrix.models.generative.state import Derived, Report, publish, report, state
from separatrix.verdict.verdict import Verdict


@dataclass(eq=False, repr=False)
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
    scikit-learn has it: what all classes share is no fact of the rule. Cost O(np²), one sweep.

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
    covariance_ = Report(_instead)
    explained_variance_ratio_ = Report("edit scalings_, which transform")

    @property  # type: ignore[misc]
    def class_prior_(self) -> Any:  # type: ignore[override]
        """``priors_``, by the name other models have for it."""
        return self.priors_

    def _set_prior(self, prior: FloatArray) -> None:
        publish(self, "priors_", prior, self._single)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_solver(self.solver, ("svd", "lsqr", "eigen"), self.shrinkage, self.covariance_estimator)
        if not (self.n_components is None or (is_count(self.n_components) and self.n_components >= 1)):
            raise ValueError(f"n_components must be a whole number of at least 1, got {self.n_components!r}")

    def _refuse_values(self, rows: Any, facts: Facts) -> None:
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

    def _covariances(self, facts: Facts, fourth: FloatArray | None) -> list[FloatArray]:
        s: GroupScatter = facts.of_x
        total = float(s.weight.sum())
        if not self._by_class:
            return [shrunk(s.scatter[0] / total, self.shrinkage, total, None)]
        live = s.weight > 0
        if self._estimated is not None:
            return [np.tensordot(state(self, "priors_", s.weight.shape), np.array(self._estimated), axes=1)]
        each = [shrunk(s.scatter[k] / w, self.shrinkage, w, None if fourth is None else fourth[k])
                for k, w in enumerate(s.weight) if w > 0]  # fmt: skip
        share = self.class_prior_[live] if self.solver != "svd" else s.weight[live] / total
        return [np.tensordot(share, np.array(each), axes=1)]

    def _set_forms(self, means: FloatArray, whitened: list[Whitened]) -> None:
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
        self.coef_ = self._kept(
            coef
        )  # in float32 the intercept takes up what rounding does at the middle of the rows
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

    def transform(self, X: Any) -> FloatArray:
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

    def _now(self) -> Any:
        now = Generative._now(self)
        now.__dict__["means_"] = state(self, "means_", (len(self.classes_), self.n_features_in_))
        if "_as_fitted" not in self.__dict__:
            now._set_linear()
            now._shift = np.zeros(self.n_features_in_)
        now._form = self._public() if self._edited else None
        return now

    def _joint(self, cells: Any) -> FloatArray:
        if self._form is None:
            return super()._joint(cells)
        if _incomplete(cells) is not None:
            self._refuse_edited("rows with missing cells")
        with np.errstate(all="ignore"):
            scores = cells @ self._form[0].T + self._form[1]
        return np.hstack([np.zeros_like(scores), scores]) if len(self.classes_) == 2 else scores

    def _log_base(self, cells: Any) -> FloatArray:
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

    def decision_function(self, X: Any) -> FloatArray:
        """coef_·x + intercept_: (n,) for two classes, (n, K) for more."""
        now = self._now()
        if now._form is not None or not now._shift.any():
            return Generative.decision_function.__get__(self)(X)

        def shared(cells: Any) -> FloatArray:
            return np.dot(cells, now._shift)[:, None] - 0.5 * now._shift @ now._centre

        scores = Generative.decision_function.__get__(self)(X)
        return scores + self._on_rows(X, self._tiled(lambda cells: now._typed(shared(cells), cells)))

    def _verdict_from_data(self, X: Any, y: Any, sample_weight: Any) -> Verdict:
        """Edited weights have no density to judge: the mean of −log P(y | x) is compared with a fit's instead."""
        if not self._edited:
            return super()._verdict_from_data(X, y, sample_weight)
        best = clone(self).fit(X, y, sample_weight)
        value, reference = (_log_loss(m, self, X, y, sample_weight) for m in (self, best))
        gap = abs(value - reference)
        same = gap <= self._tolerance * max(1.0, abs(value))
        return replace(
            self.verdict_, status=self.verdict_.status if same else "not converged", objective=value,
            gap=gap if same else np.inf, unique=None, sweeps=3.0, stopped_by="verified from data",
            findings=(f"coef_ or intercept_ were edited: a fit to these data has −log P(y | x) {reference:.10g}",),
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class QuadraticDiscriminantAnalysis(Gaussian):
    """log p(x, k) = −½ (x − μ_k)ᵀΣ_k⁻¹(x − μ_k) − ½ log |2πΣ_k| + log π_k  ([6867] 3.1.1, [PC], G2).

    Parameters: solver ("svd" or "eigen", the same here), shrinkage (None, a number, "auto"), priors, reg_param
    ((1 − r) Σ_k + r I), tol as in scikit-learn; store_covariance is accepted, ``covariance_`` always there;
    covariance_estimator with solver "eigen", an estimator of sklearn.covariance, a clone for each class;
    class_weight (None, "balanced", {class: weight}) times the weights of the rows. A singular Σ_k is a warning
    and a line in the verdict, not an exception.

    Attributes: means_ (K, p), priors_ (K,) and, class by class, rotations_ (p, r), the principal axes, and
    scalings_ (r,), the variances along them: the state, edits of it predict; covariance_ reports the estimates.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(QuadraticDiscriminantAnalysis().fit(X, y).score(X, y), 2)
    0.98
    """

    solver: str = "svd"
    shrinkage: Any = None
    priors: Any = None
    reg_param: float = 0.0
    store_covariance: bool = False
    tol: float = 1e-4
    covariance_estimator: Any = None
    em_tol: float = 1e-6
    em_max_iter: int = 500
    class_weight: Any = None

    _keeps = "parameters"
    covariance_ = Report("edit rotations_ and scalings_, which predict")
    xbar_ = Report("edit means_ or priors_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_solver(self.solver, ("svd", "eigen"), self.shrinkage, self.covariance_estimator)
        if not (isinstance(self.reg_param, (int, float, np.number)) and 0 <= self.reg_param <= 1):
            raise ValueError(f"reg_param must be a number from 0 to 1, got {self.reg_param!r}")

    def _groups(self, classes: np.ndarray) -> np.ndarray:
        return np.arange(len(classes))

    def _covariances(self, facts: Facts, fourth: FloatArray | None) -> list[FloatArray]:
        s: GroupScatter = facts.of_x
        found: list[FloatArray] = []
        for k, w in enumerate(s.weight):
            sigma = s.scatter[k] / w if w > 0 else np.eye(s.mean.shape[1])
            if self._estimated is not None:
                sigma = self._estimated[k]
            sigma = shrunk(sigma, self.shrinkage, w, None if fourth is None else fourth[k])
            found.append((1 - self.reg_param) * sigma + self.reg_param * np.eye(len(sigma)))
        return found

    def _set_forms(self, means: FloatArray, whitened: list[Whitened]) -> None:
        super()._set_forms(means, whitened)
        report(self, covariance_=tuple(self._estimates))
        axes = [np.linalg.svd(w.half, full_matrices=False)[:2] for w in whitened]
        self.rotations_ = [self._kept(u) for u, _ in axes]
        self.scalings_ = [self._kept(s**2) for _, s in axes]
        self._as_fitted = [a.copy() for a in (*self.rotations_, *self.scalings_)]

    def _now(self) -> Any:
        now = super()._now()
        k = len(self.classes_)
        fitted = self.__dict__.get("_as_fitted")
        if fitted is None:  # a model file of before
            return now
        axes = [*self.rotations_, *self.scalings_]
        if [np.shape(a) for a in axes] != [a.shape for a in fitted]:
            raise ValueError(
                "rotations_ and scalings_ of QuadraticDiscriminantAnalysis are lists of arrays, one a class, of the "
                "fitted shapes: an edit may change numbers, not shapes"
            )
        now._whiten, now._log_det, now._sigma = list(self._whiten), list(self._log_det), list(self._sigma)
        for i in range(k):
            pairs = ((axes[i], fitted[i]), (axes[k + i], fitted[k + i]))
            if not all(np.array_equal(a, b) for a, b in pairs):
                R, S = (np.asarray(a, dtype=np.float64) for a, _ in pairs)
                with np.errstate(all="ignore"):
                    now._whiten[i], now._log_det[i] = R / np.sqrt(S), float(np.sum(np.log(S)))
                now._sigma[i] = (R * S) @ R.T
        return now


@dataclass(eq=False, repr=False)
class GaussianDiscriminant(Gaussian):
    """p(x | k) = N(x; μ_k, Σ) by maximum likelihood, Σ shared as told ([6867] 3.1.1, [PC], G3).

    Parameters
    ----------
    covariance : "shared" (one Σ), "per-class" (Σ_k), "diagonal" (diag σ²_kj), "spherical" (σ²_k I), or groups: a
        mapping from class to the name of the covariance it uses, or a list of lists of classes that share one
    priors : (K,), default the classes' shares
    shrinkage : None, a number in [0, 1], or "auto" (Ledoit–Wolf; with a covariance a class)
    tol : eigenvalues below tol² count as none
    em_tol, em_max_iter : for rows without a label, or with missing cells

    class_weight : None, "balanced" or {class: weight}, times the weights of the rows

    Attributes: means_ (K, p) and priors_ (K,), the state: edits of them predict; covariance_ (a Σ for each class)
    reports. Where all classes share Σ the separator is linear: coef_, intercept_, rule_ follow from the state.

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0], [9.0], [13.0]])
    >>> model = GaussianDiscriminant(covariance=[["a", "b"], ["c"]]).fit(X, list("aabbcc"))
    >>> [float(v) for v in np.ravel(model.covariance_)]
    [0.25, 0.25, 4.0]
    """

    covariance: Any = "shared"
    _: KW_ONLY
    priors: Any = None
    shrinkage: Any = None
    tol: float = 1e-4
    em_tol: float = 1e-6
    em_max_iter: int = 500
    class_weight: Any = None

    covariance_ = Report("edit means_ or priors_; covariances of several fits are joined by merge")
    xbar_ = Report("edit means_ or priors_")
    coef_ = Derived("edit means_ or priors_")
    intercept_ = Derived("edit means_ or priors_")

    def _coef_(self) -> FloatArray | None:
        return self._public_form(0)

    def _intercept_(self) -> FloatArray | None:
        return self._public_form(1)

    def _public_form(self, which: int) -> FloatArray | None:
        if not self._is_linear:
            return None
        now = self._now()
        if len(self.classes_) == 2:  # from amid the classes, where differences keep their digits
            beta, gamma = differences(now._beta, now._gamma + now._log_prior)
            return (beta, gamma - beta @ now._centre)[which]
        inner = now.means_ @ now._whiten[0]
        return (inner @ now._whiten[0].T, -0.5 * np.sum(inner**2, axis=1) + now._log_prior)[which]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.covariance, str):
            if self.covariance not in ("shared", "per-class", "diagonal", "spherical"):
                raise ValueError(
                    'covariance must be "shared", "per-class", "diagonal", "spherical" or groups of classes, got '
                    f"{self.covariance!r}"
                )
            if self.shrinkage == "auto" and self.covariance != "per-class":
                raise ValueError('shrinkage="auto" (Ledoit–Wolf) needs covariance="per-class"')
        elif not isinstance(self.covariance, (Mapping, list, tuple)):
            raise ValueError(
                "groups of classes are a mapping from class to group, or a list of lists of classes"
            )
        elif not isinstance(self.covariance, Mapping):
            named = [c for together in self.covariance for c in together]
            twice = [c for c in named if named.count(c) > 1]
            if twice:
                raise ValueError(
                    f"covariance puts class {twice[0]!r} into two groups: a class has one covariance"
                )

    def _groups(self, classes: np.ndarray) -> np.ndarray:
        if isinstance(self.covariance, str):
            shared = self.covariance == "shared"
            return np.zeros(len(classes), dtype=np.intp) if shared else np.arange(len(classes))
        if isinstance(self.covariance, Mapping):
            named = dict(self.covariance)
        else:
            named = {c: i for i, together in enumerate(self.covariance) for c in together}
        labels = classes.tolist()
        for label in labels:
            if label not in named:
                raise ValueError(f"covariance says nothing of class {label!r}: name the group it belongs to")
        order = {name: i for i, name in enumerate(dict.fromkeys(named[c] for c in labels))}
        return np.array([order[named[c]] for c in labels], dtype=np.intp)

    def _covariances(self, facts: Facts, fourth: FloatArray | None) -> list[FloatArray]:
        s: GroupScatter = facts.of_x
        found: list[FloatArray] = []
        for g in range(len(s.scatter)):
            weight = float(s.weight[s.group == g].sum())
            sigma = s.scatter[g] / weight if weight > 0 else np.eye(s.mean.shape[1])
            if self.covariance == "diagonal":
                sigma = np.diag(np.diag(sigma))
            elif self.covariance == "spherical":
                sigma = np.eye(len(sigma)) * np.trace(sigma) / len(sigma)
            found.append(shrunk(sigma, self.shrinkage, weight, None if fourth is None else fourth[g]))
        return found

    def _set_forms(self, means: FloatArray, whitened: list[Whitened]) -> None:
        super()._set_forms(means, whitened)
        report(self, covariance_=tuple(self._estimates[g] for g in self._group))


def _log_loss(model: Any, judge: Any, X: Any, y: Any, sample_weight: Any) -> float:
    """The mean of −log P(y | x), rows weighted as ``judge`` weighs them."""
    log_p = np.asarray(model.predict_log_proba(X), dtype=np.float64)
    codes = judge._codes_of(y, len(log_p))
    weight = judge._class_weighted(read_weights(sample_weight, len(log_p)), codes, judge.classes_, False)
    return -float(np.average(log_p[np.arange(len(log_p)), codes], weights=weight))


def _check_solver(solver: Any, known: tuple[str, ...], shrinkage: Any, covariance_estimator: Any) -> None:
    if solver not in known:
        raise ValueError(f"solver must be one of {', '.join(map(repr, known))}, got {solver!r}")
    if covariance_estimator is None:
        return
    if solver == "svd":
        raise ValueError(
            "covariance_estimator is not supported with solver='svd', which never forms a covariance: use "
            f"solver={known[-1]!r}"
        )
    if shrinkage is not None and shrinkage != 0:
        raise ValueError("covariance_estimator and shrinkage are both given: only one of the two can be set")
    if not hasattr(covariance_estimator, "fit"):
        raise ValueError(
            "covariance_estimator must have a fit method, as those of sklearn.covariance, got "
            f"{covariance_estimator!r}"
        )
