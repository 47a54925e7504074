"""What support vector machines share: the checks of their parameters, their kernel, and scores of new rows.

    f(x) = Σ_j β_j k(x_j, x) + b        over the support vectors x_j

Notes [6867] 5.2, 5.3; [6321] "Kernels". Cost of a score O(p) for each support vector.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.door import (
    column_name,
    is_count,
    is_dask,
    is_positive,
    read_for_prediction,
    read_table,
    read_weights,
    refuse_nonfinite,
)
from separatrix.data.estimator import Estimator
from separatrix.data.objects import Objects, are_objects
from separatrix.data.rows import Rows
from separatrix.problems.kernels import KERNELS, Kernel, Points, centre_of
from separatrix.verdict.verdict import Verdict

WHOLE = 1500  # rows up to which the kernel matrix is computed at once
DENSE_SHARE = 10  # a sparse table is laid out dense where that takes at most so many times its memory
LOOKED_AT = 500  # rows whose kernel matrix is tested for a negative eigenvalue
SYMMETRIC = (
    1e-5  # asymmetry of a given kernel matrix, relative to its largest value, that rounding may explain
)
SPREAD = 100.0  # ratio of column scales at which scaling is suggested


class KernelMachine(Estimator):
    """A model f(x) = Σ β_j k(x_j, x) + b; subclasses fit β and b."""

    kernel: Any
    degree: int
    gamma: Any
    coef0: float
    tol: float
    C: float
    shrinking: bool
    cache_size: float
    verbose: Any
    max_iter: int
    n_jobs: int | None
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: FloatArray
    shape_fit_: tuple[int, int]

    def _check_machine(self) -> None:
        """Refuse, before data is read, what cannot be meant."""
        if not (callable(self.kernel) or self.kernel in KERNELS):
            names = ", ".join(f'"{k}"' for k in KERNELS)
            raise ValueError(f"kernel {self.kernel!r} is unknown: use {names} or a function of two tables")
        self._check_price()
        if not (self.gamma in ("scale", "auto") if isinstance(self.gamma, str) else is_positive(self.gamma)):
            raise ValueError(f'gamma must be "scale", "auto" or a positive number, got {self.gamma!r}')
        if not (is_count(self.degree) and self.degree >= 0):
            raise ValueError(f"degree must be a whole number of at least 0, got {self.degree!r}")
        if (
            isinstance(self.coef0, bool)
            or not isinstance(self.coef0, (int, float, np.number))
            or not np.isfinite(self.coef0)
        ):
            raise ValueError(f"coef0 must be a finite number, got {self.coef0!r}")
        if not is_positive(self.tol, finite=True):
            raise ValueError(f"tol must be a positive number, got {self.tol!r}")
        if not is_positive(self.cache_size, finite=True):
            raise ValueError(f"cache_size must be a positive number of megabytes, got {self.cache_size!r}")
        if not (is_count(self.max_iter) and (self.max_iter == -1 or self.max_iter >= 1)):
            raise ValueError(f"max_iter must be -1 (ten million) or at least 1, got {self.max_iter!r}")
        if self.n_jobs is not None and (not is_count(self.n_jobs) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, got {self.n_jobs!r}")
        if not isinstance(self.shrinking, (bool, np.bool_)):
            raise ValueError(f"shrinking must be True or False, got {self.shrinking!r}")

    def _check_price(self) -> None:
        if not is_positive(self.C):
            raise ValueError(f"C must be a positive number, got {self.C!r}")

    def _read_rows(self, X: Any, sample_weight: Any = None, *, reset: bool) -> Any:
        """The rows of a fit, finite; a kernel matrix square and symmetric. Sets γ and the columns' scales.

        A kernel that is a function may compare rows of any kind: what is no table of numbers it gets as it is.
        """
        if callable(self.kernel) and are_objects(X):
            return self._read_objects(X, reset)
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} compares every row with every other and takes rows in memory: call "
                ".compute(), or use LinearSVC, which reads Dask collections block by block"
            )
        X = read_table(self, X, reset=reset)
        rows = Rows.of(X)
        moments = rows.moments()
        refuse_nonfinite(self, rows, moments)
        if self.kernel == "precomputed":
            return self._read_matrix(X)
        X = X.astype(np.float64, copy=False)
        if reset:
            self._gamma = self._gamma_of(X, read_weights(sample_weight, X.shape[0]))
            self._scales = np.sqrt(moments.variance)
        return X

    def _read_objects(self, X: Any, reset: bool) -> Objects:
        rows = Objects.of(X)
        if not rows.shape[0]:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required: X is empty")
        if reset:
            self._gamma, self._scales = 1.0, np.empty(0)
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        return rows

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
    def coef_(self, value: Any) -> None:
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

    def _read_matrix(self, K: Any) -> FloatArray:
        K = np.asarray(K.toarray() if not isinstance(K, np.ndarray) else K, dtype=np.float64)
        n, m = K.shape
        if n != m:
            raise ValueError(
                f"a precomputed kernel must be a square matrix of k(x_i, x_j) over the training rows, got {n} × {m}"
            )
        off = np.abs(K - K.T)
        if off.max(initial=0.0) > SYMMETRIC * np.abs(K).max(initial=0.0):
            i, j = (int(v) for v in np.unravel_index(off.argmax(), off.shape))
            raise ValueError(
                f"the precomputed kernel is not symmetric: k({i}, {j}) = {K[i, j]:.6g} but k({j}, {i}) = "
                f"{K[j, i]:.6g}. Was it computed between different rows?"
            )
        self._gamma, self._scales = 1.0, np.empty(0)
        return K

    def _gamma_of(self, X: Any, weight: FloatArray | None) -> float:
        return gamma_of(self.gamma, X, weight)

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self._gamma, float(self.coef0), int(self.degree))

    def _points(self, X: Any, whole: bool) -> Points:
        """Rows ready for the kernel: the whole kernel matrix (``whole``), or cells, dense where that costs little."""
        kernel = self._kernel()
        if self.kernel == "precomputed":
            return kernel.points(X)
        if callable(self.kernel):
            if not whole:
                return kernel.points(X)
            return Points(self._symmetric(kernel._called(X, X)), np.empty(0), np.arange(X.shape[0]))
        if not isinstance(X, np.ndarray):
            stored = 12 * X.nnz + 8 * X.shape[0]
            if X.shape[0] * X.shape[1] * 8 <= DENSE_SHARE * stored:
                X = X.toarray()
        if whole:
            return Points(kernel(X, X), np.empty(0), np.arange(X.shape[0]))
        return kernel.points(X, centre_of(X))

    def _symmetric(self, K: FloatArray) -> FloatArray:
        off = np.abs(K - K.T)
        if off.max(initial=0.0) > SYMMETRIC * np.abs(K).max(initial=0.0):
            i, j = (int(v) for v in np.unravel_index(off.argmax(), off.shape))
            raise ValueError(
                f"the kernel function is not symmetric: k(x_{i}, x_{j}) = {K[i, j]:.6g} but k(x_{j}, x_{i}) = "
                f"{K[j, i]:.6g}. A kernel must not depend on the order of its rows"
            )
        return K

    def _scores(self, cells: Any, coef: FloatArray) -> FloatArray:
        """Σ_j coef_jm k(x_j, x): (n, m) from coef (support vectors, m)."""
        if self.kernel == "precomputed":
            part = cells[:, self.support_]
            return np.asarray((part.toarray() if not isinstance(part, np.ndarray) else part) @ coef)
        kernel = self._kernel()
        if callable(self.kernel):
            vectors = self.support_vectors_
            vectors = Objects.of(vectors) if isinstance(cells, Objects) else vectors
            return kernel.combine(kernel.points(cells), kernel.points(vectors), coef)
        vectors = self.support_vectors_
        if isinstance(cells, np.ndarray) != isinstance(vectors, np.ndarray):
            cells = cells if isinstance(cells, np.ndarray) else cells.toarray()
            vectors = vectors if isinstance(vectors, np.ndarray) else vectors.toarray()
        centre = centre_of(vectors) if self.kernel == "rbf" and vectors.shape[0] else None
        cells = cells.astype(np.float64, copy=False)
        return kernel.combine(kernel.points(cells, centre), kernel.points(vectors, centre), coef)

    def _read_for_prediction(self, X: Any) -> Any:
        if callable(self.kernel) and not hasattr(self, "n_features_in_"):
            return self._read_objects(X, reset=False)
        if self.kernel == "precomputed" and not is_dask(X):
            shape = np.shape(X) if not hasattr(X, "shape") else X.shape
            if len(shape) == 2 and shape[1] != self.shape_fit_[0]:
                raise ValueError(
                    f"X has {shape[1]} features, but {type(self).__name__} is expecting {self.shape_fit_[0]} "
                    'features as input: with kernel="precomputed" a column for each training row, k(x, x_i)'
                )
        return read_for_prediction(self, X)

    def _definiteness(self, points: Points) -> tuple[bool, int]:
        """(whether K is proven not positive semidefinite, rows looked at); no row where a theorem settles it."""
        kernel = self._kernel()
        if kernel.known_definite:
            return False, 0
        n = len(points)
        some = points.take(np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.intp)))
        K = np.empty((len(some), len(some)))
        kernel.fill(some, some, K, np.arange(len(some)))
        values = np.linalg.eigvalsh(0.5 * (K + K.T))
        return bool(values[0] < -1e-8 * max(abs(values[-1]), abs(values[0]))), len(some)

    # ---- what is said while and after fitting ----

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

    def _infeasible(self, tol: float) -> Verdict:
        """What `verify` says of rows on which the dual variables are no feasible point."""
        words = ("the support vectors are not a feasible point of the dual on these data",)
        name = type(self).__name__
        return Verdict(name, "no claim", np.nan, np.inf, tol, None, 0, 0.0, "verified from data", words)

    def _say(self) -> Any:
        """Where progress goes: standard error when ``verbose``, else nowhere."""
        return (lambda line: print(line, file=sys.stderr, flush=True)) if self.verbose else None

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

    def _scaling(self) -> str | None:
        """A sentence where columns differ by orders of magnitude and the kernel cannot tell."""
        scales = getattr(self, "_scales", np.empty(0))
        if self.kernel in ("linear", "precomputed") or callable(self.kernel) or not (scales > 0).any():
            return None
        big, small = int(scales.argmax()), int(np.where(scales > 0, scales, np.inf).argmin())
        ratio = scales[big] / scales[small]
        if ratio < SPREAD:
            return None
        return (
            f"columns differ in scale by a factor of {ratio:.2g} (column {column_name(self, big)} against "
            f"{column_name(self, small)}): the kernel sees little but the largest, scale them first (StandardScaler)"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def gamma_of(gamma: float | str, X: Any, weight: FloatArray | None) -> float:
    """The kernel's γ: "scale" is 1/(p·Var X) with weights as repetitions, "auto" 1/p."""
    if not isinstance(gamma, str):
        return float(gamma)
    p = X.shape[1]
    if gamma == "auto":
        return 1.0 / p
    if isinstance(X, np.ndarray) and weight is None:
        variance = float(X.var())
    elif isinstance(X, np.ndarray):
        assert weight is not None
        mean = float(weight @ X.mean(axis=1)) / float(weight.sum())
        variance = float(weight @ ((X - mean) ** 2).mean(axis=1)) / float(weight.sum())
    else:
        w = np.ones(X.shape[0]) if weight is None else weight
        cells = float(w.sum()) * p
        variance = float((w @ X.multiply(X)).sum()) / cells - (float((w @ X).sum()) / cells) ** 2
    return 1.0 / (p * variance) if variance > 0 else 1.0
