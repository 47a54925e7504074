"""Gaussian discriminants: LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianDiscriminant (G1–G3).

    one Σ for all        linear:  β_k·x + γ_k,  β_k = Σ⁻¹ μ_k,  γ_k = −½ μ_kᵀ Σ⁻¹ μ_k + log π_k
    one Σ_k a class      quadratic, with the log determinants
    some classes share   linear between those, quadratic to the others         (the three-class figure of [PC])

The mathematics is in models/gaussian.py; here is which classes share a covariance, and how it is estimated.
Cost O(np²) for a fit, one sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.core.grouped import GroupScatter
from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_count
from separatrix.models.base import LinearClassifier
from separatrix.models.gaussian import Gaussian, shrunk
from separatrix.models.generative import Facts, Generative


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
    covariance_estimator : not offered (shrinkage is)
    em_tol, em_max_iter : for rows without a label, or with missing cells

    Attributes: coef_ (K, p) or (1, p), intercept_, rule_, means_, priors_, covariance_, xbar_, scalings_,
    explained_variance_ratio_, classes_, verdict_. Cost O(np²), one sweep.

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_solver(self.solver, ("svd", "lsqr", "eigen"), self.covariance_estimator)
        if not (self.n_components is None or (is_count(self.n_components) and self.n_components >= 1)):
            raise ValueError(f"n_components must be a whole number of at least 1, got {self.n_components!r}")

    @property
    def _by_class(self) -> bool:
        """Whether classes' covariances are estimated apart before they are averaged."""
        return self.shrinkage == "auto" or (self.solver != "svd" and self.priors is not None)

    def _groups(self, classes: np.ndarray) -> np.ndarray:
        return np.arange(len(classes)) if self._by_class else np.zeros(len(classes), dtype=np.intp)

    def _covariances(self, facts: Facts, fourth: FloatArray | None) -> list[FloatArray]:
        s: GroupScatter = facts.of_x
        total = float(s.weight.sum())
        if not self._by_class:
            return [shrunk(s.scatter[0] / total, self.shrinkage, total, None)]
        live = s.weight > 0
        each = [shrunk(s.scatter[k] / w, self.shrinkage, w, None if fourth is None else fourth[k])
                for k, w in enumerate(s.weight) if w > 0]  # fmt: skip
        share = self.class_prior_[live] if self.solver != "svd" else s.weight[live] / total
        return [np.tensordot(share, np.array(each), axes=1)]

    def _set_forms(self) -> None:
        self._group = np.zeros(len(self.means_), dtype=np.intp)
        super()._set_forms()
        self.covariance_ = self._estimates[0]
        k, p = self.means_.shape
        limit = min(k - 1, p)
        if self.n_components is not None and self.n_components > limit and self._whole:
            raise ValueError(
                f"n_components cannot be larger than min(n_features, n_classes - 1): it is {self.n_components}, "
                f"and {limit} is the most"
            )
        live = self.class_count_ > 0
        T = self._whiten[0]
        weight = self.class_count_.sum() * self.class_prior_[live] / max(k - 1, 1)
        _, s, vt = np.linalg.svd(
            np.sqrt(weight)[:, None] * ((self.means_[live] - self.xbar_) @ T), full_matrices=False
        )
        keep = s > self.tol * s[0] if len(s) else np.zeros(0, dtype=bool)
        self._n_features_out = limit if self.n_components is None else min(self.n_components, limit)
        with np.errstate(invalid="ignore"):
            self.explained_variance_ratio_ = (s**2 / np.sum(s**2))[: self._n_features_out]
        self.scalings_ = T @ vt.T[:, keep]
        self._n_features_out = min(self._n_features_out, self.scalings_.shape[1])

    def transform(self, X: Any) -> FloatArray:
        """(x − x̄) in the directions that set the classes apart most, spread within classes one: (n, n_components)."""
        check_is_fitted(self)
        return self._on_rows(
            X, lambda cells: (cells - self.xbar_) @ self.scalings_[:, : self._n_features_out]
        )

    def decision_function(self, X: Any) -> FloatArray:
        """β_k·x + γ_k up to what all classes share: (n,) for two classes, (n, K) for more."""
        return Generative.decision_function.__get__(self)(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class QuadraticDiscriminantAnalysis(Gaussian):
    """log p(x, k) = −½ (x − μ_k)ᵀΣ_k⁻¹(x − μ_k) − ½ log |2πΣ_k| + log π_k  ([6867] 3.1.1, [PC], G2).

    Parameters: solver ("svd" or "eigen", the same here), shrinkage (None, a number, "auto"), priors, reg_param
    ((1 − r) Σ_k + r I), tol as in scikit-learn; store_covariance is accepted, ``covariance_`` always there;
    covariance_estimator is not offered. A singular Σ_k is named in the verdict, not an exception.

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_solver(self.solver, ("svd", "eigen"), self.covariance_estimator)
        if not (isinstance(self.reg_param, (int, float, np.number)) and 0 <= self.reg_param <= 1):
            raise ValueError(f"reg_param must be a number from 0 to 1, got {self.reg_param!r}")

    def _groups(self, classes: np.ndarray) -> np.ndarray:
        return np.arange(len(classes))

    def _covariances(self, facts: Facts, fourth: FloatArray | None) -> list[FloatArray]:
        s: GroupScatter = facts.of_x
        found: list[FloatArray] = []
        for k, w in enumerate(s.weight):
            sigma = s.scatter[k] / w if w > 0 else np.eye(s.mean.shape[1])
            sigma = shrunk(sigma, self.shrinkage, w, None if fourth is None else fourth[k])
            found.append((1 - self.reg_param) * sigma + self.reg_param * np.eye(len(sigma)))
        return found

    def _set_forms(self) -> None:
        super()._set_forms()
        self.covariance_ = self._estimates


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

    Where all classes share Σ the separator is linear: coef_, intercept_, rule_.

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

    def _set_forms(self) -> None:
        super()._set_forms()
        self.covariance_ = [self._estimates[g] for g in self._group]


def _check_solver(solver: Any, known: tuple[str, ...], covariance_estimator: Any) -> None:
    if solver not in known:
        raise ValueError(f"solver must be one of {', '.join(map(repr, known))}, got {solver!r}")
    if covariance_estimator is not None:
        raise ValueError(
            "covariance_estimator is not offered: use shrinkage, a number or 'auto' (Ledoit–Wolf)"
        )
