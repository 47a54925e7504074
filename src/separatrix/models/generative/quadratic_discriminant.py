"""Quadratic discriminant analysis:  a Gaussian of its own covariance for every class  ([6867] 3.1.1, [PC]; G2).

The mathematics is in gaussian.py; here is the state, principal axes and the variances along them. Cost O(np²), one
sweep; O(np²K) for a prediction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupScatter
from separatrix.core.statistics.spans import SpanCovariance, SpanScatter
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models.generative.covariance import WhiteningRoot, of_diagonal, shrunk
from separatrix.models.generative.facts import ClassFacts
from separatrix.models.generative.gaussian import Gaussian, check_solver
from separatrix.models.generative.span import SubspaceCovariance
from separatrix.models.generative.state import CovarianceReport, Report, report


class Axes:
    """``rotations_`` and ``scalings_`` where the fit did not make them: p × p matrices, computed when read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        if "_sigma" not in model.__dict__:
            raise AttributeError(f"{type(model).__name__!r} object has no attribute {self.name!r}")
        model._make_axes()
        return model.__dict__[self.name]


@constructor
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

    _: KW_ONLY
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
    covariance_ = CovarianceReport("edit rotations_ and scalings_, which predict")
    xbar_ = Report("edit means_ or priors_")
    rotations_ = Axes()
    scalings_ = Axes()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_solver(self.solver, ("svd", "eigen"), self.shrinkage, self.covariance_estimator)
        if not (isinstance(self.reg_param, (int, float, np.number)) and 0 <= self.reg_param <= 1):
            raise ValueError(f"reg_param must be a number from 0 to 1, got {self.reg_param!r}")

    def _groups(self, classes: np.ndarray) -> np.ndarray:
        return np.arange(len(classes))

    def _covariances(self, facts: ClassFacts, fourth: FloatArray | None) -> list[Any]:
        s: GroupScatter | SpanScatter = facts.of_x
        found: list[Any] = []
        for k, w in enumerate(s.weight):
            sigma = s.covariance(k, w)
            if self._estimated is not None:
                sigma = self._estimated[k]
            sigma = shrunk(sigma, self.shrinkage, w, None if fourth is None else fourth[k])
            found.append(
                (1 - self.reg_param) * sigma + self.reg_param * of_diagonal(sigma, np.ones(len(sigma)))
            )
        return found

    def _set_forms(self, means: FloatArray, whitened: list[WhiteningRoot]) -> None:
        super()._set_forms(means, whitened)
        report(self, covariance_=tuple(self._estimates))
        for name in ("rotations_", "scalings_", "_as_fitted"):
            self.__dict__.pop(name, None)
        if all(w.half is not None for w in whitened):
            self._show_axes([np.linalg.svd(w.half, full_matrices=False)[:2] for w in whitened])

    def _show_axes(self, axes: list[Any]) -> None:
        """Publish principal axes and the roots of variances along them, where they were not set by hand before."""
        kept = [self._kept(u) for u, _ in axes], [self._kept(s**2) for _, s in axes]
        self._as_fitted = [a.copy() for part in kept for a in part]
        for name, part in zip(("rotations_", "scalings_"), kept, strict=True):
            self.__dict__.setdefault(name, part)

    def _make_axes(self) -> None:
        """The axes of covariances kept as rows with spread in every column: all p of them, once somebody asks."""
        axes = [np.linalg.eigh(sigma.dense())[::-1] for sigma in self._sigma]
        self._show_axes([(vectors[:, ::-1], np.sqrt(values[::-1])) for vectors, values in axes])

    def _public_normals(self) -> tuple[FloatArray, Any]:
        means, sigmas = super()._public_normals()
        if not self.__dict__.keys() & {"rotations_", "scalings_"}:
            return means, sigmas
        axes = [
            (np.asarray(R, dtype=np.float64), S) for R, S in zip(self.rotations_, self.scalings_, strict=True)
        ]
        if isinstance(sigmas, list) and axes[0][0].shape[1] < len(sigmas[0]):
            with np.errstate(invalid="ignore"):
                return means, [SpanCovariance((R * np.sqrt(S)).T, np.zeros(len(R))) for R, S in axes]
        return means, np.array([(R * S) @ R.T for R, S in axes])

    def _now(self) -> Self:
        now = super()._now()
        if "_as_fitted" not in self.__dict__ and not self.__dict__.keys() & {"rotations_", "scalings_"}:
            return now  # covariances of a wide table, whose axes nobody asked for; a model file of before
        k = len(self.classes_)
        axes = [*self.rotations_, *self.scalings_]
        fitted = self.__dict__.get("_as_fitted")
        if fitted is None:
            return now
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
                    half = (R * np.sqrt(S)).T
                sigma = self._sigma[i]
                kept = isinstance(sigma, SubspaceCovariance)
                now._sigma[i] = replace(sigma, half=half.T) if kept else (R * S) @ R.T
        return now
