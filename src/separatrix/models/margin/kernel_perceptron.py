"""The perceptron in its dual form:  f(x) = Σ_i c_i (k(x_i, x) + 1),   c_i = η α_i s_i y_i ([6321]).

A mistake on row i, y_i f(x_i) ≤ 0, adds one to α_i. Rows enter through k(x_i, x_j) alone, so that any kernel may take
the place of x_i·x_j; with the linear kernel the mistakes are those of :class:`~separatrix.Perceptron`. Row M3.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from separatrix.core.losses import Perceptron as Criterion
from separatrix.core.numerics import FloatArray
from separatrix.data.checks import is_positive
from separatrix.data.door import read_for_prediction, read_table, read_weights
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.rows import over_rows
from separatrix.models.margin.kernels import check_gamma_and_degree, gamma_of
from separatrix.models.margin.perceptron_base import MistakeDriven, online
from separatrix.models.margin.perceptron_gram import GramRows, refuse_gram
from separatrix.solve.perceptron import EXACT_WORK, BadRow, KernelPerceptronRun, MistakeBound, mistake_bound
from separatrix.solve.separator import Contradiction
from separatrix.verdict.build import VERIFIED
from separatrix.verdict.verdict import Verdict

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


@constructor
class KernelPerceptron(MistakeDriven):
    """f(x) = Σ_i c_i (k(x_i, x) + 1), c_i = η α_i s_i y_i: a mistake on row i adds one to α_i ([6321]).

    K classes are K machines, each class against the others. Kernels are scikit-learn's, as in its SVC.

    Parameters
    ----------
    kernel : "linear", "poly", "rbf", "sigmoid", "precomputed" (X is then the Gram matrix), or k(A, B) → (n_A, n_B)
    degree, gamma, coef0 : of the kernel; gamma "scale" is 1/(p·Var X), "auto" 1/p
    fit_intercept : whether the 1 is added to the kernel
    cache_size : megabytes for kernel rows; a Gram matrix that fits is computed once
    max_iter, tol, shuffle, verbose, eta0, n_jobs, random_state, n_iter_no_change, class_weight, average, pocket :
        as in :class:`~separatrix.Perceptron`

    Attributes
    ----------
    dual_coef_ : (n,) updates α on each training row, (K, n) for K classes (``average``, ``pocket``: as there)
    support_ : indices of the rows with updates; prediction needs these alone
    support_vectors_ : those rows (not for a precomputed kernel)
    intercept_ : (1,) or (K,), Σ c_i
    n_mistakes_, mistakes_path_, mistake_bound_, n_iter_, classes_, verdict_ : as in :class:`~separatrix.Perceptron`,
        with R² = max k(x, x) + 1 and γ in the kernel's feature space

    Notes
    -----
    Cost: O(n) an epoch and O(n) a mistake besides its kernel row; O(m) kernel values a predicted row for m support
    vectors. The verdict's proofs and the largest margin need a factor of the Gram matrix and are given up to 500
    rows; beyond, γ is that of the answer found.

    Examples
    --------
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> model = KernelPerceptron(kernel="poly", degree=2, coef0=1, gamma=1).fit(
    ...     X, [0, 1, 1, 0]
    ... )  # exclusive or
    >>> model.predict(X), model.verdict_.status
    (array([0, 1, 1, 0]), 'optimal')
    >>> model.n_mistakes_ <= model.mistake_bound_
    True
    """

    _EDITED = "support_vectors_ or intercept_"

    _: KW_ONLY
    kernel: str | Callable[[Any, Any], Any] = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    shuffle: bool = True
    verbose: int = 0
    eta0: float = 1.0
    n_jobs: int | None = None
    random_state: Any = 0
    n_iter_no_change: int = 5
    class_weight: Mapping[Any, float] | str | None = None
    average: bool = False
    pocket: bool = False
    cache_size: float = 200

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows X (n, p), or from their Gram matrix (n, n), and labels y (n,)."""
        began = time.perf_counter()
        self._check_parameters()
        self._refuse_dask(X)
        read_table(self, X, reset=True)
        X = read_for_prediction(self, X)
        n = X.shape[0]
        codes, scale = self._read_targets(y, sample_weight, n)
        if self.kernel == "precomputed":
            refuse_gram(X)
        self._set_gamma(X, read_weights(sample_weight, n))
        rows = self._present(n, scale)
        gram = self._gram(X, rows)
        signs = self._signs(codes)
        machines = self._machines(gram, signs, scale, [np.zeros(n) for _ in signs])
        intercept = bool(self.fit_intercept)

        def ask(machine: KernelPerceptronRun) -> Contradiction | bool | None:
            return gram.settled(machine.sign[rows], intercept)

        def cancelled(machine: KernelPerceptronRun, counts: np.ndarray) -> Contradiction | None:
            if gram.full is None:
                return None
            weights = (counts * (machine.scale if len(machine.scale) else 1.0)).astype(float)
            return gram.contradiction(weights[rows], machine.sign[rows], intercept)

        try:
            courses = self._trained(machines, rows, None, ask, cancelled)
        except BadRow as bad:
            raise ValueError(
                f"row {bad.row} has no finite score: its kernel values are too large or missing, scale the columns"
            ) from None
        for machine in machines:
            machine.finish(rows)
        self._keep_counts(machines, courses, len(rows))
        self._keep(X, machines)
        self._rows_seen_ = n
        bounds = [
            self._bound(machine, gram, rows, len(course.mistakes)) if course.ended == "separated" else None
            for machine, course in zip(machines, courses, strict=True)
        ]
        margins = [m.sign[rows] * self._chosen_scores(k, m, gram)[rows] for k, m in enumerate(machines)]
        self._conclude(courses, bounds, margins, scale[rows] if len(scale) else scale, began)
        return self

    @available_if(online)
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn online from the next rows, each visited once in the order given; the rows with updates are kept.

        ``support_`` counts rows over all calls; ``dual_coef_`` is of the rows of this call.
        """
        began = time.perf_counter()
        self._check_online(X)
        first = not hasattr(self, "_seen_")
        read_table(self, X, reset=first)
        X = read_for_prediction(self, X)
        n = X.shape[0]
        codes, scale = self._read_online(y, classes, sample_weight, n, first=first)
        if first:
            self._set_gamma(X, read_weights(sample_weight, n))
        rows = self._present(n, scale)
        signs = self._signs(codes)
        before = np.zeros((n, len(signs))) if first else self._raw_scores(X, last=True)
        machines = self._machines(self._gram(X, rows), signs, scale, list(np.ascontiguousarray(before.T)))
        if not first:
            for machine, seen in zip(machines, self._seen_, strict=True):
                machine.seen = seen
        counted, total = (0, 0) if first else (self.n_mistakes_, self._rows_seen_)
        courses = self._visited_once(machines, rows)
        self._keep_counts(machines, courses, len(rows))
        self.n_mistakes_ = self.n_mistakes_ + counted
        old = (
            () if first else (self.support_, self.support_vectors_, self._steps_, self._counts_, self._late_)
        )
        self._keep(X, machines)
        self.t_ = 1.0 + float(self._seen_[0])
        if old:
            self._join(old, total)
        self._rows_seen_ = total + n
        self._no_claim(len(signs), began)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """f(x) of each row: (n,) for two classes, (n, K) for more; X (n, n_train) for a precomputed kernel."""
        return self._on_rows(X, self._tiled(self._scores))

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest score."""
        return self._on_rows(X, self._tiled(lambda cells: np.asarray(self.classes_[self._winner(cells)])))

    def _winner(self, cells: Any) -> np.ndarray:
        scores = self._scores(cells)
        return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

    def _scores(self, cells: Any) -> FloatArray:
        scores = self._raw_scores(cells)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _raw_scores(self, cells: Any, *, last: bool = False) -> FloatArray:
        """(n, machines) from the support vectors alone; ``last``: under the last weights, not their average."""
        coef = self._steps_ * self._counts_ if last else self._coef_
        if coef.shape[1] == 0:
            return np.zeros((cells.shape[0], len(coef))) + (0.0 if last else self.intercept_)
        if self.kernel == "precomputed":
            dense = isinstance(cells, np.ndarray)
            part = cells[:, self.support_] if dense else cells.tocsc()[:, self.support_].toarray()
            values = np.asarray(part, float)
        else:
            values = self._kernel(cells, self.support_vectors_)
        if last:
            return values @ coef.T + (coef.sum(axis=1) if self.fit_intercept else 0.0)
        return np.asarray(values @ coef.T + self.intercept_)

    def _check_parameters(self) -> None:
        self._check_shared()
        if not (callable(self.kernel) or self.kernel in KERNELS):
            listed = ", ".join(f'"{name}"' for name in KERNELS)
            raise ValueError(f"kernel {self.kernel!r} is unknown: use one of {listed}, or a function k(A, B)")
        check_gamma_and_degree(self.gamma, self.degree)
        if not is_positive(self.cache_size):
            raise ValueError(f"cache_size must be a positive number of megabytes, got {self.cache_size!r}")

    def _set_gamma(self, X: Any, weight: FloatArray | None) -> None:
        self._gamma = gamma_of("auto" if self.kernel == "precomputed" else self.gamma, X, weight)

    def _kernel(self, A: Any, B: Any) -> FloatArray:
        """k(a, b), (n_A, n_B), in double precision."""
        if callable(self.kernel):
            values = np.asarray(self.kernel(A, B), dtype=np.float64)
            if values.shape != (A.shape[0], B.shape[0]):
                raise ValueError(
                    f"kernel must return an array of shape {(A.shape[0], B.shape[0])}, got {values.shape}"
                )
        else:
            from sklearn.metrics.pairwise import pairwise_kernels

            A, B = (M.astype(np.float64, copy=False) for M in (A, B))
            values = pairwise_kernels(
                A, B, metric=self.kernel, filter_params=True, gamma=self._gamma, degree=self.degree, coef0=self.coef0
            )  # fmt: skip
            values = np.asarray(values if isinstance(values, np.ndarray) else values.toarray())
        if not np.isfinite(values).all():
            i, j = (int(v[0]) for v in np.nonzero(~np.isfinite(values)))
            raise ValueError(f"kernel gave {values[i, j]} for rows {i} and {j}: it must give finite numbers")
        return values

    def _gram(self, X: Any, rows: np.ndarray) -> GramRows:
        kernel = None if self.kernel == "precomputed" else self._kernel
        return GramRows(kernel, X, rows, float(self.cache_size))

    def _machines(
        self, gram: GramRows, signs: Sequence[np.ndarray], scale: FloatArray, starts: Sequence[FloatArray]
    ) -> list[KernelPerceptronRun]:
        """A machine each class, from the scores (n,) it starts with."""
        return [
            KernelPerceptronRun(
                gram.row, sign, scale, float(self.eta0), start, fit_intercept=bool(self.fit_intercept),
                average=bool(self.average), pocket=bool(self.pocket),
            )
            for sign, start in zip(signs, starts, strict=True)
        ]  # fmt: skip

    def _keep(self, X: Any, machines: list[KernelPerceptronRun]) -> None:
        """The rows with updates, and the coefficients of what was chosen."""
        dual = np.atleast_2d(self.dual_coef_)
        steps = np.array([m.eta * m.sign * (m.scale if len(m.scale) else 1.0) for m in machines])
        counts = np.array([m.counts for m in machines])
        used = np.flatnonzero(dual.any(axis=0) | (counts.any(axis=0) if self.average else False))
        self.support_ = used
        if self.kernel != "precomputed":
            self.support_vectors_ = X[used]
        self._steps_, self._counts_ = steps[:, used], counts[:, used].astype(float)
        late = np.array([m.late for m in machines])[:, used] if self.average else None
        self._late_ = np.zeros_like(self._counts_) if late is None else late
        self._coef_ = steps[:, used] * dual[:, used]
        self._seen_ = [m.seen for m in machines]
        self._keep_intercept()

    def _keep_intercept(self) -> None:
        self.intercept_ = self._coef_.sum(axis=1) * float(bool(self.fit_intercept))

    def _join(self, old: tuple[Any, ...], total: int) -> None:
        """The support vectors of earlier calls before those of this one."""
        support, vectors, steps, counts, late = old
        self.support_ = np.concatenate([support, self.support_ + total])
        if isinstance(vectors, np.ndarray):
            self.support_vectors_ = np.vstack([vectors, self.support_vectors_])
        else:
            from scipy.sparse import vstack

            self.support_vectors_ = vstack([vectors, self.support_vectors_]).tocsr()
        self._steps_ = np.hstack([steps, self._steps_])
        self._counts_ = np.hstack([counts, self._counts_])
        self._late_ = np.hstack([late, self._late_])
        seen = np.maximum(np.array(self._seen_, dtype=float), 1.0)[:, None]
        self._coef_ = self._steps_ * (self._counts_ - self._late_ / seen)
        self._keep_intercept()

    def _chosen_scores(self, k: int, machine: KernelPerceptronRun, gram: GramRows) -> FloatArray:
        """f (n,) of the training rows under the coefficients kept."""
        if machine.best is not None:
            scores: FloatArray = machine.best[0]
            return scores
        if not self.average:
            return machine.f
        f = np.full(len(machine.f), self.intercept_[k])
        for i, c in zip(self.support_, self._coef_[k], strict=True):
            f += c * gram.row(int(i))
        return f

    def _bound(
        self, machine: KernelPerceptronRun, gram: GramRows, rows: np.ndarray, epochs: int
    ) -> MistakeBound | None:
        """R² = max s²(k(x, x) + 1), γ ≥ min s y f/‖w‖ with ‖w‖² = Σ c_i f_i, or the largest where it is found."""
        factor = machine.sign[rows] * (machine.scale[rows] if len(machine.scale) else 1.0)
        c = machine.eta * factor * machine.counts[rows]
        square = float(c @ machine.f[rows])
        reach = gram.diagonal[rows] + machine.one
        if not (square > 0 and (reach >= 0).all()):
            return None  # not a positive semidefinite kernel: there is no length to speak of
        margin = float((factor * machine.f[rows]).min()) / np.sqrt(square)
        Z = None
        if gram.features is not None:
            ones = np.full(len(rows), machine.one)
            Z = factor[:, None] * np.column_stack([gram.features, ones])
        elif gram.indefinite:
            return None
        q = 1 if Z is None else Z.shape[1]
        radius = float(np.sqrt((factor**2 * reach).max()))
        nothing = np.zeros(q)
        return mistake_bound(Z, radius, (nothing, margin), nothing, EXACT_WORK + epochs * len(rows) * q)

    def _verdict_from_data(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Verdict:
        """The verdict from data and what predicts alone, for :func:`separatrix.verify`."""
        cells = read_for_prediction(self, X)
        codes = self._codes_of(y, cells.shape[0])
        weight = read_weights(sample_weight, cells.shape[0])
        scores = over_rows(self._raw_scores, cells)
        value, wrong = 0.0, 0
        for k, sign in enumerate(self._signs(codes)):
            value += float(np.average(Criterion().value(scores[:, k], sign.astype(float)), weights=weight))
            bad = ~(sign * scores[:, k] > 0)
            wrong += int(np.count_nonzero(bad if weight is None else bad & (weight > 0)))
        words = [f"{wrong} rows are on the wrong side"] if wrong else []
        return self._criterion(value, "not converged" if wrong else "optimal", VERIFIED, 1, words)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = not callable(self.kernel)
        return tags
