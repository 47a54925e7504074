"""The kernel of a model: its parameters checked, rows read for it, γ, and scores of new rows.

    f(x) = Σ_j β_j k(x_j, x)        over the support vectors x_j

Notes [6321] "Kernels". A kernel is one of a few by name, the matrix of its values, or a function of two tables, which
may compare rows of any kind. Cost of a score O(p) for each support vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.checks import check_count, is_positive
from separatrix.data.door import finite_moments, is_dask, read_for_prediction, read_table, read_weights
from separatrix.data.estimator import Estimator
from separatrix.data.objects import Objects, are_objects
from separatrix.data.rows import Rows
from separatrix.problems.kernels import KERNELS, Kernel, Points, centre_of
from separatrix.problems.kernels import whole as whole_matrix

DENSE_SHARE = 10  # a sparse table is laid out dense where that takes at most so many times its memory
LOOKED_AT = 500  # rows whose kernel matrix is tested for a negative eigenvalue
# asymmetry of a given kernel matrix, relative to its largest value, that rounding may explain
SYMMETRIC = 1e-5


@dataclass(frozen=True)
class Definiteness:
    """Whether K is proven not positive semidefinite, by how many rows; none where a theorem settles it."""

    indefinite: bool = False
    looked_at: int = 0

    def sentences(self) -> list[str]:
        if self.indefinite:
            return ["the kernel is not positive semidefinite: no optimum is claimed"]
        if self.looked_at:
            return [f"that the kernel is positive semidefinite was looked at on {self.looked_at} rows"]
        return []


class KernelModel(Estimator):
    """A model Σ_j β_j k(x_j, x) over the rows ``support_``; subclasses fit β."""

    kernel: Any
    degree: int
    gamma: float | str
    coef0: float
    support_: Index
    support_vectors_: Any
    shape_fit_: tuple[int, int]
    _gamma: float
    _scales: FloatArray  # standard deviations of the columns

    def _check_kernel(self) -> None:
        if not (callable(self.kernel) or self.kernel in KERNELS):
            names = ", ".join(f'"{k}"' for k in KERNELS)
            raise ValueError(f"kernel {self.kernel!r} is unknown: use {names} or a function of two tables")

    def _read_rows(self, X: Any, sample_weight: ArrayLike | None = None, *, reset: bool) -> Any:
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
        moments = finite_moments(self, rows)
        if self.kernel == "precomputed":
            return self._read_matrix(X)
        X = X.astype(np.float64, copy=False)
        if reset:
            self._gamma = gamma_of(self.gamma, X, read_weights(sample_weight, X.shape[0]))
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

    def _read_matrix(self, K: Any) -> FloatArray:
        K = np.ascontiguousarray(K.toarray() if not isinstance(K, np.ndarray) else K, dtype=np.float64)
        n, m = K.shape
        if n != m:
            raise ValueError(
                f"a precomputed kernel must be a square matrix of k(x_i, x_j) over the training rows, got {n} × {m}"
            )
        _refuse_asymmetric(
            K, "the precomputed kernel", "k({0}, {1})", "Was it computed between different rows?"
        )
        self._gamma, self._scales = 1.0, np.empty(0)
        return K

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
            K = kernel._called(X, X)
            rule = "A kernel must not depend on the order of its rows"
            _refuse_asymmetric(K, "the kernel function", "k(x_{0}, x_{1})", rule)
            return Points(K, np.empty(0), np.arange(X.shape[0]))
        if not isinstance(X, np.ndarray):
            stored = 12 * X.nnz + 8 * X.shape[0]
            if X.shape[0] * X.shape[1] * 8 <= DENSE_SHARE * stored:
                X = X.toarray()
        points = kernel.points(X, centre_of(X))
        return Points(whole_matrix(kernel, points), np.empty(0), np.arange(X.shape[0])) if whole else points

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

    def _definiteness(self, points: Points) -> Definiteness:
        kernel = self._kernel()
        if kernel.known_definite:
            return Definiteness()
        n = len(points)
        some = points.take(np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.intp)))
        K = np.empty((len(some), len(some)))
        kernel.fill(some, some, K, np.arange(len(some)))
        values = np.linalg.eigvalsh(0.5 * (K + K.T))
        return Definiteness(bool(values[0] < -1e-8 * max(abs(values[-1]), abs(values[0]))), len(some))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def check_gamma_and_degree(gamma: float | str, degree: int) -> None:
    """Refuse what no kernel has a meaning for."""
    if not (gamma in ("scale", "auto") if isinstance(gamma, str) else is_positive(gamma)):
        raise ValueError(f'gamma must be "scale", "auto" or a positive number, got {gamma!r}')
    check_count("degree", degree, 0)


def _refuse_asymmetric(K: FloatArray, what: str, value: str, rule: str) -> None:
    off = np.abs(K - K.T)
    if off.max(initial=0.0) > SYMMETRIC * np.abs(K).max(initial=0.0):
        i, j = (int(v) for v in np.unravel_index(off.argmax(), off.shape))
        raise ValueError(
            f"{what} is not symmetric: {value.format(i, j)} = {K[i, j]:.6g} but {value.format(j, i)} = "
            f"{K[j, i]:.6g}. {rule}"
        )


def row_key(cells: Any, i: int) -> bytes:
    """The bytes of row i: equal rows have equal ones (−0 is 0)."""
    row = cells[i] if isinstance(cells, np.ndarray) else cells[[i]].toarray()[0]
    return bytes((row + 0.0).tobytes())


def gamma_of(gamma: float | str, X: Any, weight: FloatArray | None) -> float:
    """The kernel's γ: "scale" is 1/(p·Var X) with weights as repetitions, "auto" 1/p."""
    if not isinstance(gamma, str):
        return float(gamma)
    p = X.shape[1]
    if gamma == "auto":
        return 1.0 / p
    if isinstance(X, np.ndarray) and weight is None:
        off = X.ravel("K") - X.mean()
        variance = float(off @ off) / max(off.size, 1)
    elif isinstance(X, np.ndarray):
        assert weight is not None
        mean = float(weight @ X.mean(axis=1)) / float(weight.sum())
        variance = float(weight @ ((X - mean) ** 2).mean(axis=1)) / float(weight.sum())
    else:
        w = np.ones(X.shape[0]) if weight is None else weight
        cells = float(w.sum()) * p
        variance = float((w @ X.multiply(X)).sum()) / cells - (float((w @ X).sum()) / cells) ** 2
    return 1.0 / (p * variance) if variance > 0 else 1.0
