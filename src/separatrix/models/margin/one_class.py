"""Where most rows are:  min ½‖w‖² + Σ_i C_i max(0, ρ − w·φ(x_i)) − νρ ΣC_i,   inside where w·φ(x) ≥ ρ.

    dual   min ½ Σ_ij α_i α_j k(x_i, x_j),   0 ≤ α_i ≤ C_i,   Σ α_i = ν ΣC_i

C_i is the row's weight. ν is at least the share of rows left outside and at most that of support vectors. Schölkopf,
Platt, Shawe-Taylor, Smola and Williamson (2001); notes [6321] "Kernels", [6867] 5.3 (the same dual with one side).
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_dask, read_weights
from separatrix.models.margin.kernel_machine import WHOLE, KernelMachine
from separatrix.models.margin.nu_svc import check_nu
from separatrix.models.parameters import threads, warn_of
from separatrix.problems.dual import Dual
from separatrix.solve.smo import DualSolution, certify, minimise
from separatrix.verdict.verdict import Verdict

EDGE = 1e-10  # of the offset: by so much rows on the edge are inside


class OneClassSVM(OutlierMixin, KernelMachine):
    """min ½‖w‖² + Σ_i C_i max(0, ρ − w·φ(x_i)) − νρ ΣC_i: the region that holds all but a share ν of the rows.

    Parameters have scikit-learn's names, meanings and defaults; ``n_jobs`` is new.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, n_jobs : as of
        :class:`~separatrix.SVC`
    nu : above 0, at most 1: the largest share of rows (by weight) outside, the smallest share of support vectors

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_ (1, n_support), intercept_ (1,), coef_, fit_status_,
    shape_fit_, n_iter_ : as in scikit-learn, except that dual_coef_ of sparse tables is dense
    offset_ : ρ = −intercept_: `decision_function` is `score_samples` less this; assign ``intercept_`` to move it
    verdict_ : the :class:`~separatrix.Verdict`, objective in the scale above

    Notes
    -----
    Cost: about (support vectors) × n kernel values of O(p). Memory: cache_size and the rows once more. A weight is
    repetition, a weight of zero is absence.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    >>> int((model.predict(X) < 0).sum()) <= 20 <= len(model.support_), model.verdict_.status
    (True, 'optimal')
    """

    dual_coef_: FloatArray
    intercept_: FloatArray

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
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
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit to rows X (n, p), or a kernel matrix (n, n); y is not read. A weight of 2 means the row stands there
        twice."""
        began = time.perf_counter()
        self._check_machine()
        with threads(self.n_jobs):
            cells = self._read_rows(X, sample_weight, reset=True)
            n = cells.shape[0]
            weight = self._weights_of(sample_weight, n)
            points = self._points(cells, n <= WHOLE)
            indefinite, looked_at = self._definiteness(points)
            self._forecast(points)
            keep = np.flatnonzero(weight > 0)
            fit = minimise(
                self._kernel(),
                points if len(keep) == n else points.take(keep),
                Dual.one_class(weight[keep], float(self.nu)),
                tol=float(self.tol),
                max_steps=None if self.max_iter == -1 else int(self.max_iter),
                megabytes=float(self.cache_size),
                shrinking=bool(self.shrinking),
                report=self._say(),
            )
        self._keep(cells, keep, fit)
        outside = float(weight[keep][fit.score + fit.intercept < 0].sum()) / float(weight.sum())
        verdict = self._verdict(fit, indefinite, looked_at, n, outside)
        self.verdict_ = replace(verdict, seconds=time.perf_counter() - began)
        warn_of(self.verdict_, "", "Increase max_iter, or scale the columns")
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """w·φ(x) − ρ of each row (n,): positive inside."""
        return self.score_samples(X) + self.intercept_[0]

    def score_samples(self, X: Any) -> FloatArray:
        """w·φ(x) of each row (n,), before ρ is taken off."""
        check_is_fitted(self)
        cells = self._read_for_prediction(X)
        if is_dask(cells):
            raise TypeError(
                "OneClassSVM scores rows in memory: call .compute(), or use map_blocks(model.decision_function)"
            )
        with threads(self.n_jobs):
            if self.kernel == "linear":
                return np.asarray(cells @ self.coef_[0])
            return self._scores(cells, self._read_back())[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """1 inside, −1 outside, of each row (n,); a row on the edge is inside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    @property
    def offset_(self) -> FloatArray:
        """ρ = −``intercept_``, (1,), as in scikit-learn; to be read."""
        if "intercept_" not in self.__dict__:
            raise AttributeError("this OneClassSVM is not fitted yet: it has no offset_")
        offset = -np.asarray(self.intercept_)
        offset.flags.writeable = False
        return offset

    @offset_.setter
    def offset_(self, value: Any) -> None:
        raise AttributeError("offset_ is −intercept_: assign intercept_ instead")

    def _check_price(self) -> None:
        check_nu(self.nu)

    def _weights_of(self, sample_weight: Any, n: int) -> FloatArray:
        weight = read_weights(sample_weight, n)
        return np.ones(n) if weight is None else weight

    def _keep(self, cells: Any, keep: np.ndarray, fit: DualSolution) -> None:
        own = np.flatnonzero(fit.beta)
        self.support_ = keep[own].astype(np.int32)
        self.n_support_ = np.array([len(own)], dtype=np.int32)
        self.support_vectors_ = self._kept(cells, self.support_)
        self.dual_coef_ = fit.beta[own][None, :]
        # a support vector on the edge is inside, whatever rounding says: the offset is that much lower
        self.intercept_ = np.array([fit.intercept + EDGE * abs(fit.intercept)])
        self.shape_fit_ = cells.shape
        self.n_iter_ = fit.steps
        self.fit_status_ = int(fit.stopped_by == "max_iter")

    def _verdict(
        self, fit: DualSolution, indefinite: bool, looked_at: int, n: int, outside: float
    ) -> Verdict:
        goal = float(self.tol) * fit.scale
        gap, indefinite = fit.gap, indefinite or fit.indefinite
        status: Any = "optimal" if gap <= goal else "not converged"
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
        findings.append(
            f"{len(self.support_)} support vectors of {n} rows; {outside:.1%} of the weight is outside"
        )
        if fit.freedom > float(self.tol):
            findings.append(
                f"every support vector is at its bound: the offset may be anything in an interval of length "
                f"{fit.freedom:.3g}, and its middle is taken"
            )
        findings.append(f"optimality conditions violated by at most {fit.violation:.1e}")
        scaling = self._scaling()
        if scaling:
            findings.append(scaling)
        return Verdict(
            type(self).__name__, status, fit.primal, gap, goal, None, fit.values / n**2, 0.0, stopped, tuple(findings)
        )  # fmt: skip

    def _verdict_from_data(self, X: Any, y: Any = None, sample_weight: Any = None) -> Verdict:
        """The verdict recomputed from rows, dual_coef_ and intercept_, for :func:`separatrix.verify`."""
        cells = self._read_rows(X, reset=False)
        n = cells.shape[0]
        weight = self._weights_of(sample_weight, n)
        claimed = self.verdict_
        if not self._holds_support(cells):
            return self._infeasible(claimed.tol)
        beta = np.zeros(n)
        beta[self.support_] = self.dual_coef_[0]
        total = float(self.nu) * float(weight.sum())
        slack = 1e-9 * float(np.abs(beta).max(initial=0.0))
        inside = bool(np.all((beta >= -slack) & (beta <= weight + slack)))
        if not inside or abs(float(beta.sum()) - total) > 1e-9 * total:
            return self._infeasible(claimed.tol)
        points = self._points(cells, n <= WHOLE)
        dual = Dual.one_class(weight, float(self.nu), beta)
        fit = certify(self._kernel(), points, dual, float(self.intercept_[0]), self.tol)
        indefinite, looked_at = self._definiteness(points)
        outside = float(weight[fit.score + fit.intercept < 0].sum()) / float(weight.sum())
        verdict = self._verdict(fit, indefinite or claimed.status == "no claim", looked_at, n, outside)
        return replace(verdict, tol=claimed.tol, stopped_by="verified from data")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
