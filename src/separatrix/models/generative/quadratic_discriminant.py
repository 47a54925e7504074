"""Quadratic discriminant analysis:  a Gaussian of its own covariance for every class  ([6867] 3.1.1, [PC]; G2).

The mathematics is in gaussian.py; here is the state, principal axes and the variances along them. Cost O(np²), one
sweep; O(np²K) for a prediction.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupScatter
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models.generative.covariance import WhiteningRoot, shrunk
from separatrix.models.generative.facts import ClassFacts
from separatrix.models.generative.gaussian import Gaussian, check_solver
from separatrix.models.generative.state import Report, report


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
    covariance_ = Report("edit rotations_ and scalings_, which predict")
    xbar_ = Report("edit means_ or priors_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_solver(self.solver, ("svd", "eigen"), self.shrinkage, self.covariance_estimator)
        if not (isinstance(self.reg_param, (int, float, np.number)) and 0 <= self.reg_param <= 1):
            raise ValueError(f"reg_param must be a number from 0 to 1, got {self.reg_param!r}")

    def _groups(self, classes: np.ndarray) -> np.ndarray:
        return np.arange(len(classes))

    def _covariances(self, facts: ClassFacts, fourth: FloatArray | None) -> list[FloatArray]:
        s: GroupScatter = facts.of_x
        found: list[FloatArray] = []
        for k, w in enumerate(s.weight):
            sigma = s.scatter[k] / w if w > 0 else np.eye(s.mean.shape[1])
            if self._estimated is not None:
                sigma = self._estimated[k]
            sigma = shrunk(sigma, self.shrinkage, w, None if fourth is None else fourth[k])
            found.append((1 - self.reg_param) * sigma + self.reg_param * np.eye(len(sigma)))
        return found

    def _set_forms(self, means: FloatArray, whitened: list[WhiteningRoot]) -> None:
        super()._set_forms(means, whitened)
        report(self, covariance_=tuple(self._estimates))
        axes = [np.linalg.svd(w.half, full_matrices=False)[:2] for w in whitened]
        self.rotations_ = [self._kept(u) for u, _ in axes]
        self.scalings_ = [self._kept(s**2) for _, s in axes]
        self._as_fitted = [a.copy() for a in (*self.rotations_, *self.scalings_)]

    def _public_normals(self) -> tuple[FloatArray, FloatArray]:
        axes = [
            (np.asarray(R, dtype=np.float64), S) for R, S in zip(self.rotations_, self.scalings_, strict=True)
        ]
        return super()._public_normals()[0], np.array([(R * S) @ R.T for R, S in axes])

    def _now(self) -> Self:
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
