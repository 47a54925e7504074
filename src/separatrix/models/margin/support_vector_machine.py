"""What support vector machines share: the checks of their parameters, one solve, the verdict, and it anew from data.

    f(x) = Σ_j β_j k(x_j, x) + b        over the support vectors x_j
    F − min F ≤ gap = primal − dual,    in LIBSVM's scale ½‖w‖² + Σ C_i ξ_i

Notes [6867] 5.2, 5.3; [6321] "Kernels". How rows are read for a kernel: kernels.py; the solver: solve/smo.py.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.checks import check_flag, check_positive, is_count, is_positive
from separatrix.data.door import column_name, is_dask
from separatrix.data.objects import Objects
from separatrix.models.margin.kernels import Definiteness, KernelModel, check_gamma_and_degree
from separatrix.models.parameters import threads, warn_of
from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Points
from separatrix.solve.dual_solution import DualSolution
from separatrix.solve.smo import Report, certify, minimise
from separatrix.verdict.build import VERIFIED, no_claim, proven
from separatrix.verdict.verdict import Verdict

WHOLE = 1500  # rows up to which the kernel matrix is computed at once
SPREAD = 100.0  # ratio of column scales at which scaling is suggested
REACHED = "gap ≤ tol"
WAY = "Increase max_iter, or scale the columns"


class SupportVectorMachine(KernelModel):
    """A model f(x) = Σ β_j k(x_j, x) + b; subclasses say what is minimised."""

    tol: float
    C: float
    shrinking: bool
    cache_size: float
    verbose: bool | int
    max_iter: int
    n_jobs: int | None
    dual_coef_: FloatArray
    intercept_: FloatArray
    verdict_: Verdict

    def _check_machine(self) -> None:
        """Refuse, before data is read, what cannot be meant."""
        self._check_kernel()
        self._check_price()
        check_gamma_and_degree(self.gamma, self.degree)
        number = isinstance(self.coef0, (int, float, np.number)) and not isinstance(self.coef0, bool)
        if not number or not np.isfinite(self.coef0):
            raise ValueError(f"coef0 must be a finite number, got {self.coef0!r}")
        check_positive("tol", self.tol, finite=True)
        if not is_positive(self.cache_size, finite=True):
            raise ValueError(f"cache_size must be a positive number of megabytes, got {self.cache_size!r}")
        if not (is_count(self.max_iter) and (self.max_iter == -1 or self.max_iter >= 1)):
            raise ValueError(f"max_iter must be -1 (ten million) or at least 1, got {self.max_iter!r}")
        if self.n_jobs is not None and (not is_count(self.n_jobs) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, got {self.n_jobs!r}")
        check_flag("shrinking", self.shrinking)

    def _check_price(self) -> None:
        check_positive("C", self.C)

    # ---- fitting ----

    def _prepared(self, cells: Any, whole: bool) -> tuple[Points, Definiteness]:
        """Rows ready for the kernel, and what is known of it; with ``verbose`` a forecast."""
        points = self._points(cells, whole)
        known = self._definiteness(points)
        self._forecast(points)
        return points, known

    def _minimise(
        self, points: Points, rows: Index, dual: Dual, most: int | None = None, name: str = ""
    ) -> DualSolution:
        """The solver on some of the rows; ``most`` steps where ``max_iter`` sets no limit, ``name`` heads reports."""
        some = points if len(rows) == len(points) else points.take(rows)
        steps = most if self.max_iter == -1 else int(self.max_iter)
        return minimise(
            self._kernel(), some, dual, tol=float(self.tol), max_steps=steps, megabytes=float(self.cache_size),
            shrinking=bool(self.shrinking), report=self._say(name),
        )  # fmt: skip

    @property
    def coef_(self) -> FloatArray:
        """w (machines, p) of the linear kernel, Σ_j β_j x_j: from ``dual_coef_`` and ``support_vectors_``."""
        if self.kernel != "linear":
            raise AttributeError('coef_ is only available when using a linear kernel: kernel="linear"')
        if "dual_coef_" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: it has no coef_")
        coef = np.asarray(self._read_back().T @ self.support_vectors_)
        coef.flags.writeable = False
        return coef

    @coef_.setter
    def coef_(self, value: object) -> None:
        raise AttributeError(
            f"coef_ of {type(self).__name__} is made from dual_coef_ and support_vectors_: edit these, or fit a "
            "linear model (LinearSVC, LinearSVR), whose coef_ is its own"
        )

    def _read_back(self) -> FloatArray:
        """β (support vectors, machines), from ``dual_coef_``."""
        return np.asarray(self.dual_coef_.T)

    def _kept(self, cells: Any, support: np.ndarray) -> Any:
        """``support_vectors_``; a kernel matrix has none, and rows that are no numbers stay what they are."""
        if self.kernel == "precomputed":
            return np.empty((0, 0))
        return cells[support].given if isinstance(cells, Objects) else cells[support]

    def _holds_support(self, cells: Any) -> bool:
        """Whether these are the rows of the fit, as far as the support vectors tell."""
        if cells.shape[0] != self.shape_fit_[0]:
            return False
        if self.kernel == "precomputed" or not len(self.support_):
            return True
        if isinstance(cells, Objects):
            same = zip(cells[self.support_].given, self.support_vectors_, strict=True)
            return all(bool(np.all(a == b)) for a, b in same)
        return not abs(cells[self.support_] - self.support_vectors_).max() > 0

    # ---- the verdict ----

    def _verdict_of(
        self,
        fits: Sequence[DualSolution],
        goal: float,
        indefinite: bool,
        passes: float,
        findings: Sequence[str],
    ) -> Verdict:
        """The machines' verdicts as one: objectives and gaps add up; a kernel that is not definite has none."""
        objective, gap = sum(f.primal for f in fits), sum(f.gap for f in fits)
        settled = bool(np.isfinite(objective) and gap <= goal)
        stops = [f.stopped_by for f in fits]
        interrupted = "interrupted" in stops
        stopped = "interrupted" if interrupted else self._stopped_by(stops, settled)
        if indefinite and not interrupted:
            return no_claim(
                self, scale="C-scaled sum", objective=objective, tol=goal, stopped_by=stopped, sweeps=passes,
                findings=findings,
            )  # fmt: skip
        return proven(
            self, scale="C-scaled sum", objective=objective, gap=gap, tol=goal, unique=None, stopped_by=stopped,
            sweeps=passes, findings=findings, status="optimal" if settled else "not converged",
            interrupted=interrupted,
        )  # fmt: skip

    def _stopped_by(self, stops: Sequence[str], settled: bool) -> str:
        return next((s for s in stops if s != REACHED), REACHED if settled else "no progress")

    def _known_from_data(self, points: Points) -> Definiteness:
        """What is known of the kernel; what the fit saw of it on the way still holds."""
        known = self._definiteness(points)
        return replace(known, indefinite=known.indefinite or self.verdict_.status == "no claim")

    def _from_data(self, verdict: Verdict) -> Verdict:
        """The verdict made anew, by the tolerance that the fit was asked for."""
        return replace(verdict, tol=self.verdict_.tol, stopped_by=VERIFIED)

    def _infeasible(self) -> Verdict:
        """What `verify` says of rows on which the dual variables are no feasible point."""
        words = ("the support vectors are not a feasible point of the dual on these data",)
        return no_claim(self, tol=self.verdict_.tol, stopped_by=VERIFIED, findings=words)

    # ---- what is said while fitting ----

    def _say(self, name: str = "") -> Report | None:
        """Where progress goes: standard error when ``verbose``, else nowhere; line by line, others may speak too."""

        def say(line: str) -> None:
            sys.stderr.write(f"{name}{line}\n")
            sys.stderr.flush()

        return say if self.verbose else None

    def _forecast(self, points: Points) -> None:
        """With ``verbose``, how long the fit may take and how much it keeps, from the time of a few kernel rows."""
        n = len(points)
        if not self.verbose or n < 5000 or points.index is not None:
            return
        kernel, some = self._kernel(), points.take(np.arange(32))
        buffer = np.empty((32, n))
        kernel.fill(some, points, buffer, np.arange(32))
        began = time.perf_counter()
        kernel.fill(some, points, buffer, np.arange(32))
        whole = (time.perf_counter() - began) / 32 * n
        if whole < 1.0:
            return
        print(
            f"{type(self).__name__}: {n:,} rows; a pass over their kernel matrix takes about {_duration(whole)}, "
            f"a fit usually a half to four, so {_duration(whole / 2)} to {_duration(4 * whole)}; at most "
            f"{self.cache_size:g} MB of kernel rows are kept (cache_size)",
            file=sys.stderr,
            flush=True,
        )

    def _scaling(self) -> list[str]:
        """A sentence where columns differ by orders of magnitude and the kernel cannot tell."""
        scales = getattr(self, "_scales", np.empty(0))
        if self.kernel in ("linear", "precomputed") or callable(self.kernel) or not (scales > 0).any():
            return []
        big, small = int(scales.argmax()), int(np.where(scales > 0, scales, np.inf).argmin())
        ratio = scales[big] / scales[small]
        if ratio < SPREAD:
            return []
        return [
            f"columns differ in scale by a factor of {ratio:.2g} (column {column_name(self, big)} against "
            f"{column_name(self, small)}): the kernel sees little but the largest, scale them first (StandardScaler)"
        ]


def check_nu(nu: Any) -> None:
    """Refuse a ν that is no share.

    >>> check_nu(1.5)
    Traceback (most recent call last):
    ValueError: nu must be a number above 0 and at most 1, got 1.5
    """
    if not (is_positive(nu, finite=True) and nu <= 1):
        raise ValueError(f"nu must be a number above 0 and at most 1, got {nu!r}")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class SingleMachine(SupportVectorMachine):
    """One machine on all rows: the dual of a regression, or of the region that holds most rows."""

    def _check_parameters(self) -> None:
        self._check_machine()

    def _targets(
        self, y: ArrayLike | None, sample_weight: ArrayLike | None, n: int
    ) -> tuple[FloatArray, FloatArray]:
        """Finite numbers z (n,) and the box C_i (n,)."""
        raise NotImplementedError

    def _dual(self, z: FloatArray, C: FloatArray, start: FloatArray | None = None) -> Dual:
        raise NotImplementedError

    def _levels(self) -> tuple[float, ...]:
        """b of each group of dual variables."""
        return (float(self.intercept_[0]),)

    def _feasible(self, beta: FloatArray, C: FloatArray) -> bool:
        """Whether β (n,) is a point of the dual."""
        raise NotImplementedError

    def _keep(self, cells: Any, z: FloatArray, keep: Index, fit: DualSolution) -> None:
        """Support vectors, coefficients and what else is learnt; ``keep`` are the rows of some weight."""
        raise NotImplementedError

    def _verdict(self, fit: DualSolution, known: Definiteness, n: int, C: FloatArray) -> Verdict:
        """``C`` is the box of the rows that ``fit`` has scores of."""
        raise NotImplementedError

    def _solve(
        self, cells: Any, points: Points, z: FloatArray, C: FloatArray, keep: Index, known: Definiteness
    ) -> DualSolution:
        return self._minimise(points, keep, self._dual(z[keep], C[keep]))

    def _learn(self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Self:
        began = time.perf_counter()
        self._check_parameters()
        with threads(self.n_jobs):
            cells = self._read_rows(X, sample_weight, reset=True)
            n = cells.shape[0]
            z, C = self._targets(y, sample_weight, n)
            points, known = self._prepared(cells, callable(self.kernel) and n <= WHOLE)
            keep = np.flatnonzero(C > 0)
            fit = self._solve(cells, points, z, C, keep, known)
        self._keep(cells, z, keep, fit)
        verdict = self._verdict(fit, known, n, C[keep])
        self.verdict_ = replace(verdict, seconds=time.perf_counter() - began)
        warn_of(self.verdict_, "", WAY)
        return self

    def _keep_support(self, cells: Any, support: Index, coef: FloatArray, fit: DualSolution) -> None:
        """What every such machine shows, under scikit-learn's names."""
        self.support_ = support.astype(np.int32)
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.support_vectors_ = self._kept(cells, self.support_)
        self.dual_coef_ = coef[None, :]
        self.shape_fit_ = cells.shape
        self.n_iter_ = fit.steps
        self.fit_status_ = int(fit.stopped_by == "max_iter")

    def _linear_part(self, X: Any, refusal: str) -> FloatArray:
        """Σ_j β_j k(x_j, x) of each row (n,)."""
        check_is_fitted(self)
        cells = self._read_for_prediction(X)
        if is_dask(cells):
            raise TypeError(refusal)
        with threads(self.n_jobs):
            if self.kernel == "linear":
                return np.asarray(cells @ self.coef_[0])
            return self._scores(cells, self._read_back())[:, 0]

    def _verdict_from_data(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Verdict:
        """The verdict recomputed from rows, targets, dual_coef_ and intercept_, for :func:`separatrix.verify`."""
        cells = self._read_rows(X, reset=False)
        n = cells.shape[0]
        z, C = self._targets(y, sample_weight, n)
        if not self._holds_support(cells):
            return self._infeasible()
        beta = np.zeros(n)
        beta[self.support_] = self.dual_coef_[0]
        if not self._feasible(beta, C):
            return self._infeasible()
        points = self._points(cells, n <= WHOLE)
        fit = certify(self._kernel(), points, self._dual(z, C, beta), self._levels(), self.tol)
        return self._from_data(self._verdict(fit, self._known_from_data(points), n, C))
