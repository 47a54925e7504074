"""Support vector regression:  min ½‖w‖² + Σ_i C_i max(0, |z_i − f(x_i)| − ε),   f(x) = w·φ(x) + b.

    dual   max −½ Σ_ij (a_i − â_i)(a_j − â_j) k(x_i, x_j) + Σ z_i (a_i − â_i) − ε Σ (a_i + â_i),
           0 ≤ a_i, â_i ≤ C_i,   Σ (a_i − â_i) = 0

Notes [6321] "Support vector regression": a_i is not zero on or above the upper edge of the tube, â_i on or below the
lower one. Row M10 of the specification.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_dask, is_positive, read_weights
from separatrix.models.margin.kernel_machine import WHOLE, KernelMachine
from separatrix.models.parameters import threads, warn_of
from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Points
from separatrix.solve.hard_tube import NoTube, directions_of_cells, directions_of_kernel, hard_tube
from separatrix.solve.smo import DualSolution, certify, minimise
from separatrix.verdict.verdict import Verdict

MOST_ROWS = 4000  # whose kernel matrix is taken apart for a tube without slack
TUBE = ("inside", "edge", "above", "below")


def tube_sides(residual: FloatArray, epsilon: float, tol: float = 1e-3) -> np.ndarray:
    """Codes into :data:`TUBE` from z − f(x) (n,); within ``tol`` of ±ε is on the edge.

    >>> [TUBE[k] for k in tube_sides(np.array([0.0, 0.1, 0.5, -0.5]), 0.1)]
    ['inside', 'edge', 'above', 'below']
    """
    size = np.abs(residual)
    outside = np.where(residual > 0, 2, 3)
    return np.where(size < epsilon - tol, 0, np.where(size <= epsilon + tol, 1, outside)).astype(np.int8)


def refuse_equal_rows(cells: Any, z: FloatArray, keep: np.ndarray, epsilon: float, kernel: Any) -> None:
    """Two equal rows whose targets are more than a tube apart leave no function a chance; name them."""
    if kernel == "precomputed" or callable(kernel):
        return
    lowest: dict[bytes, int] = {}
    highest: dict[bytes, int] = {}
    for i in keep.tolist():
        row = cells[i] if isinstance(cells, np.ndarray) else cells[[i]].toarray()[0]
        key = (row + 0.0).tobytes()
        low, high = lowest.setdefault(key, i), highest.setdefault(key, i)
        lowest[key], highest[key] = (i if z[i] < z[low] else low), (i if z[i] > z[high] else high)
        low, high = lowest[key], highest[key]
        if z[high] - z[low] > 2.0 * epsilon * (1.0 + 1e-12):
            raise ValueError(
                f"C=np.inf asks for a tube that no row leaves, but rows {min(low, high)} and {max(low, high)} are "
                f"equal and their targets are {z[high] - z[low]:.6g} apart, more than 2·epsilon = {2 * epsilon:g}. "
                "Use a finite C, a larger epsilon, or drop one of them"
            )


class SVR(RegressorMixin, KernelMachine):
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

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool | int = False,
        max_iter: int = -1,
        n_jobs: int | None = None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVR:
        """Fit to rows X (n, p), or a kernel matrix (n, n), and targets y (n,); a weight multiplies the row's C."""
        began = time.perf_counter()
        self._check_parameters()
        with threads(self.n_jobs):
            cells = self._read_rows(X, sample_weight, reset=True)
            n = cells.shape[0]
            z, C = self._targets(y, sample_weight, n)
            points = self._points(cells, n <= WHOLE)
            indefinite, looked_at = self._definiteness(points)
            self._forecast(points)
            keep = np.flatnonzero(C > 0)
            if np.isinf(self.C):
                fit = self._without_slack(cells, points, z, keep, indefinite)
            else:
                fit = minimise(
                    self._kernel(),
                    points if len(keep) == n else points.take(keep),
                    self._dual(z[keep], C[keep]),
                    tol=float(self.tol),
                    max_steps=None if self.max_iter == -1 else int(self.max_iter),
                    megabytes=float(self.cache_size),
                    shrinking=bool(self.shrinking),
                    report=self._say(),
                )
        self._keep(cells, z, keep, fit)
        verdict = self._verdict(fit, indefinite, looked_at, n)
        self.verdict_ = replace(verdict, seconds=time.perf_counter() - began)
        warn_of(self.verdict_, "", "Increase max_iter, or scale the columns")
        return self

    def predict(self, X: Any) -> FloatArray:
        """f(x) of each row."""
        check_is_fitted(self)
        cells = self._read_for_prediction(X)
        if is_dask(cells):
            raise TypeError("SVR predicts rows in memory: call .compute(), or use map_blocks(model.predict)")
        with threads(self.n_jobs):
            if self.kernel == "linear":
                return np.asarray(cells @ self.coef_[0]) + self.intercept_[0]
            return self._scores(cells, self.dual_coef_.T)[:, 0] + self.intercept_[0]

    def _without_slack(
        self, cells: Any, points: Points, z: FloatArray, keep: np.ndarray, indefinite: bool
    ) -> DualSolution:
        """C = ∞: the flattest function with every row in its tube, or a refusal with the proof that there is none."""
        epsilon, n = float(self.epsilon), len(keep)
        if indefinite:
            raise ValueError(
                "C=np.inf asks for the flattest function of a kernel, and this kernel is not positive semidefinite: "
                "use a finite C, or another kernel"
            )
        refuse_equal_rows(cells, z, keep, epsilon, self.kernel)
        if self.kernel == "linear" and cells.shape[1] < n:
            rows = cells[keep]
            phi, _ = directions_of_cells(rows if isinstance(rows, np.ndarray) else rows.toarray())
        elif n > MOST_ROWS:
            raise ValueError(
                f"C=np.inf takes the kernel matrix of all {n:,} rows apart, which is done for at most {MOST_ROWS:,}: "
                "use a large finite C"
            )
        else:
            K = np.empty((n, n))
            some = points.take(keep)
            self._kernel().fill(some, some, K, np.arange(n))
            phi = directions_of_kernel(K)
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
        shift = float(
            certify(self._kernel(), some, dual, 0.0, tol).score.mean()
        )  # the directions have mean zero
        fit = certify(self._kernel(), some, dual, found.intercept - shift, tol)
        if not np.isfinite(fit.primal) and found.stopped_by != "interrupted":
            raise ValueError(
                "C=np.inf asks for a tube that no row leaves, and its function could not be found in double "
                f"precision: dual variables of size {np.abs(fit.beta).max():.0e} cancel to fewer digits than the "
                "tube asks for. Use a finite C, a larger epsilon, or a finer kernel (a larger gamma)"
            )
        return replace(fit, steps=found.iterations, stopped_by=found.stopped_by)

    def _check_parameters(self) -> None:
        self._check_machine()
        if not (is_positive(self.epsilon, finite=True) or self.epsilon == 0) or self.epsilon is False:
            raise ValueError(f"epsilon must be a number of at least 0, got {self.epsilon!r}")

    def _dual(self, z: FloatArray, C: FloatArray, start: FloatArray | None = None) -> Dual:
        return Dual.regression(z, C, float(self.epsilon), start)

    def _half_width(self, fit: DualSolution) -> float:
        """ε, given or found."""
        return float(self.epsilon)

    def _levels(self) -> tuple[float, ...]:
        """b of each group of dual variables."""
        return (float(self.intercept_[0]),)

    def _targets(self, y: Any, sample_weight: Any, n: int) -> tuple[FloatArray, FloatArray]:
        """Finite numbers z and the box C_i."""
        if y is None:
            raise ValueError(
                "this estimator requires y to be passed, but the target y is None: one number a row"
            )
        z = column_or_1d(np.asarray(y), warn=True)
        if z.dtype.kind == "O":
            try:
                z = z.astype(np.float64)
            except (TypeError, ValueError):
                raise ValueError("y must be numbers: SVR fits a real target") from None
        if z.dtype.kind not in "fiub":
            raise ValueError(f"y must be real numbers, got dtype {z.dtype}")
        z = z.astype(np.float64)
        if len(z) != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(z)} targets"
            )
        bad = np.flatnonzero(~np.isfinite(z))
        if len(bad):
            raise ValueError(
                f"y contains {'NaN' if np.isnan(z[bad[0]]) else 'infinity'} in row {bad[0]}: drop such rows"
            )
        weight = read_weights(sample_weight, n)
        C = np.full(n, float(self.C))
        return z, C if weight is None else np.multiply(C, weight, out=np.zeros(n), where=weight > 0)

    def _keep(self, cells: Any, z: FloatArray, keep: np.ndarray, fit: DualSolution) -> None:
        n, m = cells.shape[0], len(keep)
        a, hat = fit.beta[:m], -fit.beta[m:]
        both = np.minimum(a, hat)  # a row cannot be on both edges: what is common only costs
        self.alpha_, self.alpha_hat_ = np.zeros(n), np.zeros(n)
        self.alpha_[keep], self.alpha_hat_[keep] = a - both, hat - both
        beta = self.alpha_ - self.alpha_hat_
        self.support_ = np.flatnonzero(beta).astype(np.int32)
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.support_vectors_ = self._kept(cells, self.support_)
        self.dual_coef_ = beta[self.support_][None, :]
        self.intercept_ = np.array([fit.intercept])
        self.shape_fit_ = cells.shape
        self.n_iter_ = fit.steps
        self.fit_status_ = int(fit.stopped_by == "max_iter")
        residual = np.full(n, np.nan)
        residual[keep] = z[keep] - fit.score - fit.intercept
        if m < n:  # rows of weight zero were not in the fit, but they have a side
            gone = np.setdiff1d(np.arange(n), keep)
            residual[gone] = z[gone] - self._scores(cells[gone], self.dual_coef_.T)[:, 0] - fit.intercept
        self.tube_ = tube_sides(residual, self._half_width(fit), max(float(self.tol), fit.violation))

    def _verdict(self, fit: DualSolution, indefinite: bool, looked_at: int, n: int) -> Verdict:
        floor = 1e-13 * float(np.abs(fit.beta).sum())
        goal = max(float(self.tol) * fit.scale, floor)
        settled = bool(np.isfinite(fit.primal) and fit.gap <= goal)
        status: Any = "optimal" if settled else "not converged"
        indefinite = indefinite or fit.indefinite
        gap = fit.gap
        stopped = fit.stopped_by if status == "optimal" or fit.stopped_by != "gap ≤ tol" else "no progress"
        if fit.stopped_by == "interrupted":
            status = "interrupted"
        elif indefinite:
            status, gap = "no claim", np.inf
        findings = []
        if indefinite:
            findings.append("the kernel is not positive semidefinite: no optimum is claimed")
        elif looked_at:
            findings.append(f"that the kernel is positive semidefinite was looked at on {looked_at} rows")
        findings.append(f"{len(self.support_)} support vectors of {n} rows")
        counts = np.bincount(self.tube_, minlength=4).tolist()
        findings.append("the tube: " + ", ".join(f"{c} {s}" for s, c in zip(TUBE, counts)))
        findings.append(f"optimality conditions violated by at most {fit.violation:.1e}")
        scaling = self._scaling()
        if scaling:
            findings.append(scaling)
        return Verdict(
            type(self).__name__,
            status,
            fit.primal,
            gap,
            goal,
            None,
            fit.values / n**2,
            0.0,
            stopped,
            tuple(findings),
        )

    def _verdict_from_data(self, X: Any, y: Any, sample_weight: Any = None) -> Verdict:
        """The verdict recomputed from rows, targets, dual_coef_ and intercept_, for :func:`separatrix.verify`."""
        cells = self._read_rows(X, reset=False)
        n = cells.shape[0]
        z, C = self._targets(y, sample_weight, n)
        same = self._holds_support(cells)
        beta = np.zeros(n)
        if same:
            beta[self.support_] = self.dual_coef_[0]
            scale = np.abs(beta).max(initial=0.0)
            inside = (np.abs(beta) <= C + 1e-9 * scale).all()
            same = bool(inside and abs(beta.sum()) <= 1e-9 * np.abs(beta).sum())
        claimed = self.verdict_
        if not same:
            return self._infeasible(claimed.tol)
        points = self._points(cells, n <= WHOLE)
        fit = certify(self._kernel(), points, self._dual(z, C, beta), self._levels(), self.tol)
        indefinite, looked_at = self._definiteness(points)
        verdict = self._verdict(fit, indefinite or claimed.status == "no claim", looked_at, n)
        return replace(verdict, tol=claimed.tol, stopped_by="verified from data")
