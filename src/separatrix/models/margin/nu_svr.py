"""Support vector regression by a share of rows:  min ½‖w‖² + Σ_i C_i (νε + max(0, |z_i − f(x_i)| − ε)),  ε ≥ 0 free.

    dual   max −½ Σ_ij β_i β_j k(x_i, x_j) + Σ z_i β_i,   β = a − â,   0 ≤ a_i, â_i ≤ C_i,   Σ a = Σ â = ν ΣC_i / 2

ν is at most the share of support vectors and at least that of rows outside the tube, whose half width ε is found.
Schölkopf, Smola, Williamson and Bartlett (2000); notes [6321] "Support vector regression". Row M10 of the
specification.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models.margin.support_vector_machine import check_nu
from separatrix.models.margin.support_vector_regressor import SupportVectorRegressor
from separatrix.problems.dual import Dual
from separatrix.solve.dual_solution import DualSolution


@constructor
class NuSVR(SupportVectorRegressor):
    """min ½‖w‖² + Σ_i C_i (νε + max(0, |z_i − f(x_i)| − ε)) over f and ε, with a verdict.

    ν takes the place of ε: at most this share of rows (by weight) is outside the tube. Parameters have scikit-learn's
    names, meanings and defaults; ``n_jobs`` is new.

    Parameters
    ----------
    nu : above 0, at most 1
    C : the price of a deviation beyond the tube, positive and finite; a weight multiplies it
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, n_jobs : as of
        :class:`~separatrix.SVC`

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_, shape_fit_, n_iter_, alpha_,
    alpha_hat_, tube_ : as of :class:`~separatrix.SVR`
    epsilon_ : half the width of the tube that was found
    verdict_ : the :class:`~separatrix.Verdict`, objective in the scale above

    Notes
    -----
    Cost: about (support vectors) × n kernel values of O(p). Memory: cache_size and the rows once more.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> z = np.sin(X[:, 0]) + rng.uniform(-0.3, 0.3, 200)
    >>> model = NuSVR(nu=0.1, C=100).fit(X, z)
    >>> round(model.epsilon_, 1), bool(np.mean(np.abs(z - model.predict(X)) > model.epsilon_ + 1e-3) <= 0.1)
    (0.3, True)
    >>> model.verdict_.status
    'optimal'
    """

    _: KW_ONLY
    nu: float = 0.5
    C: float = 1.0
    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float = 200
    verbose: bool | int = False
    max_iter: int = -1
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        self._check_machine()
        check_nu(self.nu)
        if np.isinf(self.C):
            raise ValueError(
                "C=np.inf leaves nothing to share out by nu: use SVR(C=np.inf) for a tube that no row leaves"
            )

    def _dual(self, z: FloatArray, C: FloatArray, start: FloatArray | None = None) -> Dual:
        return Dual.nu_regression(z, C, float(self.nu), start)

    def _half_width(self, fit: DualSolution) -> float:
        self._apart = 0.5 * (fit.levels[0] - fit.levels[1])  # below 0 where nu = 1 leaves no row inside
        self.epsilon_ = max(self._apart, 0.0)
        return self.epsilon_

    def _levels(self) -> tuple[float, ...]:
        b = float(self.intercept_[0])
        return b + self._apart, b - self._apart
