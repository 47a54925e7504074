"""Support vector regression:  min ½‖w‖² + Σ_i C_i max(0, |z_i − f(x_i)| − ε),   f(x) = w·φ(x) + b.

    dual   max −½ Σ_ij (a_i − â_i)(a_j − â_j) k(x_i, x_j) + Σ z_i (a_i − â_i) − ε Σ (a_i + â_i),
           0 ≤ a_i, â_i ≤ C_i,   Σ (a_i − â_i) = 0

Notes [6321] "Support vector regression": a_i is not zero on or above the upper edge of the tube, â_i on or below the
lower one. Row M10 of the specification.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.core.margins import TUBE
from separatrix.core.numerics import FloatArray, Index
from separatrix.data.checks import is_positive
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models.margin.kernels import Definiteness, row_key
from separatrix.models.margin.support_vector_regressor import SupportVectorRegressor
from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Points
from separatrix.solve.dual_solution import DualSolution
from separatrix.solve.hard_tube import (
    Directions,
    NoTube,
    directions_of_cells,
    directions_of_kernel,
    hard_tube,
)
from separatrix.solve.smo import certify

__all__ = ["SVR", "TUBE", "refuse_equal_rows"]

MOST_ROWS = 4000  # whose kernel matrix is taken apart for a tube without slack


@constructor
class SVR(SupportVectorRegressor):
    """min ½‖w‖² + Σ_i C_i max(0, |z_i − f(x_i)| − ε), f(x) = Σ_i (a_i − â_i) k(x_i, x) + b, with a verdict.

    Notes [6321] "Support vector regression". Parameters have scikit-learn's names, meanings and defaults; ``n_jobs``
    is new.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, n_jobs : as of
        :class:`~separatrix.SVC`
    C : the price of a deviation beyond the tube, positive; a weight multiplies it. ``np.inf`` wants every row inside
        the tube, which data that allow none refuse with a proof
    epsilon : half the width of the tube, zero or more

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_ (1, n_support), intercept_, fit_status_, shape_fit_, n_iter_ :
        as in scikit-learn, except that dual_coef_ of sparse tables is dense
    coef_ : (1, p) with the linear kernel, made from ``dual_coef_`` and ``support_vectors_``, which are the model
    alpha_, alpha_hat_ : (n,) dual variables of the upper and the lower edge
    tube_ : (n,) the side of the tube each row is on, codes into ``separatrix.models.margin.svr.TUBE``
    verdict_ : the :class:`~separatrix.Verdict`, objective in the scale above

    Notes
    -----
    Cost: about (support vectors) × n kernel values of O(p). Memory: cache_size and the rows once more.

    Examples
    --------
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = SVR(C=10, epsilon=0.1).fit(X, np.sin(X[:, 0]))
    >>> round(model.score(X, np.sin(X[:, 0])), 2), model.verdict_.status
    (1.0, 'optimal')
    >>> bool(np.all(model.alpha_ * model.alpha_hat_ == 0))
    True
    >>> model = SVR(C=np.inf, gamma=10.0, epsilon=0.0).fit(X[::6], np.sin(X[::6, 0]))  # through every point
    >>> bool(np.allclose(model.predict(X[::6]), np.sin(X[::6, 0]))), model.verdict_.status
    (True, 'optimal')
    """

    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    C: float = 1.0
    epsilon: float = 0.1
    shrinking: bool = True
    cache_size: float = 200
    verbose: bool | int = False
    max_iter: int = -1
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        self._check_machine()
        if not (is_positive(self.epsilon, finite=True) or self.epsilon == 0) or self.epsilon is False:
            raise ValueError(f"epsilon must be a number of at least 0, got {self.epsilon!r}")

    def _dual(self, z: FloatArray, C: FloatArray, start: FloatArray | None = None) -> Dual:
        return Dual.regression(z, C, float(self.epsilon), start)

    def _half_width(self, fit: DualSolution) -> float:
        return float(self.epsilon)

    def _solve(
        self, cells: Any, points: Points, z: FloatArray, C: FloatArray, keep: Index, known: Definiteness
    ) -> DualSolution:
        if np.isinf(self.C):
            return self._without_slack(cells, points, z, keep, known.indefinite)
        return super()._solve(cells, points, z, C, keep, known)

    def _without_slack(
        self, cells: Any, points: Points, z: FloatArray, keep: Index, indefinite: bool
    ) -> DualSolution:
        """C = ∞: the flattest function with every row in its tube, or a refusal with the proof that there is none."""
        epsilon, n = float(self.epsilon), len(keep)
        if indefinite:
            raise ValueError(
                "C=np.inf asks for the flattest function of a kernel, and this kernel is not positive semidefinite: "
                "use a finite C, or another kernel"
            )
        refuse_equal_rows(cells, z, keep, epsilon, self.kernel)
        phi = self._directions(cells, points, keep)
        steps = 200 if self.max_iter == -1 else int(self.max_iter)
        found = hard_tube(phi, z[keep], epsilon, 1e-3 * float(self.tol), steps)
        if isinstance(found, NoTube):
            more = ""
            if self.kernel == "rbf":
                more = (
                    f". Rows that differ allow every target, but {found.most - found.rank} of the kernel matrix's "
                    f"{found.most} directions are below rounding: a larger gamma brings them back"
                )
            raise ValueError(
                f"C=np.inf asks for a tube that no row leaves, and there is none: {found.sentence(epsilon)}{more}. "
                f"Use a finite C, or epsilon of at least {found.least:.6g}"
            )
        dual = Dual.regression(z[keep], np.full(n, np.inf), epsilon, found.proof.beta)
        some, tol = points.take(keep), float(self.tol)
        # the directions have mean zero
        shift = float(certify(self._kernel(), some, dual, 0.0, tol).score.mean())
        fit = certify(self._kernel(), some, dual, found.intercept - shift, tol)
        if not np.isfinite(fit.primal) and found.stopped_by != "interrupted":
            raise ValueError(
                "C=np.inf asks for a tube that no row leaves, and its function could not be found in double "
                f"precision: dual variables of size {np.abs(fit.beta).max():.0e} cancel to fewer digits than the "
                "tube asks for. Use a finite C, a larger epsilon, or a finer kernel (a larger gamma)"
            )
        return replace(fit, steps=found.iterations, stopped_by=found.stopped_by)

    def _directions(self, cells: Any, points: Points, keep: Index) -> Directions:
        """φ(x_i) of the rows kept, less their mean, along directions of the kernel's space."""
        n = len(keep)
        if self.kernel == "linear" and cells.shape[1] < n:
            rows = cells[keep]
            return directions_of_cells(rows if isinstance(rows, np.ndarray) else rows.toarray())[0]
        if n > MOST_ROWS:
            raise ValueError(
                f"C=np.inf takes the kernel matrix of all {n:,} rows apart, which is done for at most {MOST_ROWS:,}: "
                "use a large finite C"
            )
        K = np.empty((n, n))
        some = points.take(keep)
        self._kernel().fill(some, some, K, np.arange(n))
        return directions_of_kernel(K)


def refuse_equal_rows(cells: Any, z: FloatArray, keep: np.ndarray, epsilon: float, kernel: object) -> None:
    """Two equal rows whose targets are more than a tube apart leave no function a chance; name them."""
    if kernel == "precomputed" or callable(kernel):
        return
    lowest: dict[bytes, int] = {}
    highest: dict[bytes, int] = {}
    for i in keep.tolist():
        key = row_key(cells, i)
        low, high = lowest.setdefault(key, i), highest.setdefault(key, i)
        lowest[key], highest[key] = (i if z[i] < z[low] else low), (i if z[i] > z[high] else high)
        low, high = lowest[key], highest[key]
        if z[high] - z[low] > 2.0 * epsilon * (1.0 + 1e-12):
            raise ValueError(
                f"C=np.inf asks for a tube that no row leaves, but rows {min(low, high)} and {max(low, high)} are "
                f"equal and their targets are {z[high] - z[low]:.6g} apart, more than 2·epsilon = {2 * epsilon:g}. "
                "Use a finite C, a larger epsilon, or drop one of them"
            )
