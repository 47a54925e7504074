"""The perceptron in its dual form:  f(x) = Σ_i c_i (k(x_i, x) + 1),   c_i = η α_i s_i y_i ([6321]).

A mistake on row i, y_i f(x_i) ≤ 0, adds one to α_i. Rows enter through k(x_i, x_j) alone, so that any kernel may take
the place of x_i·x_j; with the linear kernel the mistakes are those of :class:`~separatrix.Perceptron`. Row M3.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.core.losses import Perceptron as Criterion
from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.door import (
    is_count,
    is_positive,
    read_for_prediction,
    read_labels,
    read_table,
    read_weights,
    refuse_one_class,
)
from separatrix.data.orders import Visits
from separatrix.data.rows import over_rows
from separatrix.models.margin.kernels import gamma_of
from separatrix.models.margin.mistakes import FromMistakes, online
from separatrix.solve.perceptron import (
    EXACT_WORK,
    BadRow,
    Epochs,
    KernelPerceptronRun,
    MistakeBound,
    mistake_bound,
)
from separatrix.solve.separator import Contradiction, maximum_margin
from separatrix.verdict.verdict import Verdict

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
EXACT_ROWS = 500  # rows up to which the Gram matrix is factorised for the verdict


class KernelPerceptron(FromMistakes):
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

    def __init__(
        self,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        n_iter_no_change: int = 5,
        class_weight: Mapping[Any, float] | str | None = None,
        average: bool = False,
        pocket: bool = False,
        cache_size: float = 200,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.average = average
        self.pocket = pocket
        self.cache_size = cache_size

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelPerceptron:
        """Learn from rows X (n, p), or from their Gram matrix (n, n), and labels y (n,)."""
        began = time.perf_counter()
        self._check_parameters()
        self._refuse_dask(X)
        read_table(self, X, reset=True)
        X = read_for_prediction(self, X)
        n = X.shape[0]
        codes, scale = self._read_targets(y, sample_weight, n)
        if self.kernel == "precomputed":
            _refuse_gram(X)
        self._set_gamma(X, read_weights(sample_weight, n))
        rows = self._present(n, scale)
        gram = _Gram(self, X, rows)
        machines = [
            KernelPerceptronRun(
                gram.row, sign, scale, float(self.eta0), np.zeros(n), fit_intercept=bool(self.fit_intercept),
                average=bool(self.average), pocket=bool(self.pocket),
            )
            for sign in self._signs(codes)
        ]  # fmt: skip
        intercept = bool(self.fit_intercept)

        def ask(machine: KernelPerceptronRun) -> Contradiction | bool | None:
            return gram.settled(machine.sign[rows], intercept)

        def cancelled(machine: KernelPerceptronRun, counts: np.ndarray) -> Contradiction | None:
            weights = (counts * (machine.scale if len(machine.scale) else 1.0)).astype(float)
            return (
                None
                if gram.full is None
                else gram.contradiction(weights[rows], machine.sign[rows], intercept)
            )

        try:
            courses = self._trained(machines, rows, None, ask, cancelled)
        except BadRow as bad:
            raise ValueError(
                f"row {bad.row} has no finite score: its kernel values are too large or missing, scale the columns"
            ) from None
        for machine in machines:
            machine.finish(rows)
        self._keep_counts(machines, courses, len(rows))
        steps = np.array([m.eta * m.sign * (m.scale if len(m.scale) else 1.0) for m in machines])
        late = np.array([m.late for m in machines]) if self.average else None
        self._keep(X, np.atleast_2d(self.dual_coef_), steps, np.array([m.counts for m in machines]), late)
        self._seen_ = [m.seen for m in machines]
        self._rows_seen_ = n
        bounds = [
            self._bound(machine, gram, rows, len(course.mistakes)) if course.ended == "separated" else None
            for machine, course in zip(machines, courses, strict=True)
        ]
        values = [np.inf if b is None else b.value for b in bounds]
        self.mistake_bound_: Any = values[0] if len(values) == 1 else np.array(values)
        margins = [
            m.sign[rows] * self._chosen_scores(k, m, course, gram)[rows]
            for k, (m, course) in enumerate(zip(machines, courses, strict=True))
        ]
        self.verdict_ = self._judged(courses, bounds, margins, scale[rows] if len(scale) else scale, began)
        self._warn()
        return self

    @available_if(online)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> KernelPerceptron:
        """Learn online from the next rows, each visited once in the order given; the rows with updates are kept.

        ``support_`` counts rows over all calls; ``dual_coef_`` is of the rows of this call.
        """
        began = time.perf_counter()
        self._check_parameters()
        self._refuse_dask(X)
        if isinstance(self.class_weight, str):
            raise ValueError(
                'class_weight="balanced" needs all rows at once: give partial_fit a dictionary of factors'
            )
        first = not hasattr(self, "_seen_")
        read_table(self, X, reset=first)
        X = read_for_prediction(self, X)
        n = X.shape[0]
        if first:
            if classes is None:
                raise ValueError(
                    "classes must be passed on the first call to partial_fit: all labels to come"
                )
            self.classes_ = read_labels(classes, None)[0]
            refuse_one_class(self.classes_)
            self._set_gamma(X, read_weights(sample_weight, n))
        elif classes is not None and read_labels(classes, None)[0].tolist() != self.classes_.tolist():
            raise ValueError(f"classes differ from those of the first call, {self.classes_.tolist()}")
        codes = self._codes_of(y, n)
        scale = self._scale(codes, np.ones(len(self.classes_)), read_weights(sample_weight, n))
        rows = self._present(n, scale)
        gram = _Gram(self, X, rows)
        signs = self._signs(codes)
        before = np.zeros((n, len(signs))) if first else self._raw_scores(X, last=True)
        seen = [0] * len(signs) if first else self._seen_
        counted: Any = 0 if first else self.n_mistakes_
        total = 0 if first else self._rows_seen_
        machines = []
        for k, sign in enumerate(signs):
            machine = KernelPerceptronRun(
                gram.row, sign, scale, float(self.eta0), np.ascontiguousarray(before[:, k]),
                fit_intercept=bool(self.fit_intercept), average=bool(self.average),
            )  # fmt: skip
            machine.seen = seen[k]
            machines.append(machine)
        courses = [
            Epochs(np.array([m.epoch(Visits.cyclic(rows))]), "online", "the rows given were visited once")
            for m in machines
        ]
        self._seen_ = [m.seen for m in machines]
        self._keep_counts(machines, courses, len(rows))
        self.n_mistakes_ = self.n_mistakes_ + counted
        self.t_ = 1.0 + float(self._seen_[0])
        steps = np.array([m.eta * m.sign * (m.scale if len(m.scale) else 1.0) for m in machines])
        counts = np.array([m.counts for m in machines])
        late = np.array([m.late for m in machines]) if self.average else None
        old = (
            None
            if first
            else (self.support_, self.support_vectors_, self._steps_, self._counts_, self._late_)
        )
        self._keep(X, np.atleast_2d(self.dual_coef_), steps, counts, late)
        if old is not None:
            self._join(old, total)
        self._rows_seen_ = total + n
        self.mistake_bound_ = np.inf if len(signs) == 1 else np.full(len(signs), np.inf)
        self.verdict_ = Verdict(
            type(self).__name__, "no claim", np.nan, np.inf, 0.0, None, 1, time.perf_counter() - began,
            "the rows given were visited once",
            (f"{int(np.sum(self.n_mistakes_))} mistakes in {int(self.t_) - 1} visits so far",),
        )  # fmt: skip
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
            values = np.asarray(
                cells[:, self.support_]
                if isinstance(cells, np.ndarray)
                else cells.tocsc()[:, self.support_].toarray(),
                float,
            )
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
        if not (self.gamma in ("scale", "auto") if isinstance(self.gamma, str) else is_positive(self.gamma)):
            raise ValueError(f'gamma must be "scale", "auto" or a positive number, got {self.gamma!r}')
        if not (is_count(self.degree) and self.degree >= 0):
            raise ValueError(f"degree must be a whole number of at least 0, got {self.degree!r}")
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

    def _keep(
        self, X: Any, dual: np.ndarray, steps: FloatArray, counts: np.ndarray, late: FloatArray | None
    ) -> None:
        """The rows with updates, and the coefficients of what was chosen."""
        used = np.flatnonzero(dual.any(axis=0) | (counts.any(axis=0) if self.average else False))
        self.support_ = used
        if self.kernel != "precomputed":
            self.support_vectors_ = X[used]
        self._steps_, self._counts_ = steps[:, used], counts[:, used].astype(float)
        self._late_ = np.zeros_like(self._counts_) if late is None else late[:, used]
        self._coef_ = steps[:, used] * dual[:, used]
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
        self.intercept_ = self._coef_.sum(axis=1) * float(bool(self.fit_intercept))

    def _chosen_scores(self, k: int, machine: KernelPerceptronRun, course: Epochs, gram: _Gram) -> FloatArray:
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
        self, machine: KernelPerceptronRun, gram: _Gram, rows: np.ndarray, epochs: int
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

    def _verdict_from_data(self, X: Any, y: Any, sample_weight: Any = None) -> Verdict:
        """The verdict from data and what predicts alone, for :func:`separatrix.verify`."""
        began = time.perf_counter()
        check_is_fitted(self)
        cells = read_for_prediction(self, X)
        codes = self._codes_of(y, cells.shape[0])
        weight = read_weights(sample_weight, cells.shape[0])
        scores = over_rows(self._raw_scores, cells)
        value, wrong = 0.0, 0
        for k, sign in enumerate(self._signs(codes)):
            value += float(np.average(Criterion().value(scores[:, k], sign.astype(float)), weights=weight))
            bad = ~(sign * scores[:, k] > 0)
            wrong += int(np.count_nonzero(bad if weight is None else bad & (weight > 0)))
        status: Any = "optimal" if wrong == 0 else "not converged"
        words = () if wrong == 0 else (f"{wrong} rows are on the wrong side",)
        return Verdict(
            type(self).__name__, status, value, value, 0.0, None if wrong else False, 1,
            time.perf_counter() - began, "verified from data", words,
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = not callable(self.kernel)
        return tags


@dataclass(frozen=True, eq=False)
class GramContradiction(Contradiction):
    """u_i = a_i y_i with uᵀ(K + 1)u = 0, a ≥ 0, Σ a_i = 1: in the kernel's space the hulls of the classes meet.

    ``residual`` is √(uᵀ(K + 1)u / Σ a_i (k_ii + 1)), about 1e-8 where kernel values are rounded to 1e-16: no margin
    is larger than that against R.
    """

    def check(self, X: Any, sign: np.ndarray) -> bool:
        """Whether the proof holds for the Gram matrix X (n, n) of the rows and their signs ±1."""
        return _cancels(np.asarray(X, dtype=float), self.weights, sign, self.fit_intercept)[1]

    def sentence(self) -> str:
        rows = int(np.count_nonzero(self.weights))
        return (
            f"nothing separates the classes in the kernel's space (proof: {rows} rows with convex weights cancel, "
            f"residual {self.residual:.0e})"
        )


def _cancels(K: FloatArray, a: FloatArray, sign: np.ndarray, fit_intercept: bool) -> tuple[float, bool]:
    """(the residual of :class:`GramContradiction`, whether it is no more than rounding)."""
    rows = np.flatnonzero(a)
    u, part = a[rows] * sign[rows], K[np.ix_(rows, rows)] + float(fit_intercept)
    square = float(u @ (part @ u))
    size = float(np.abs(u) @ (np.abs(part) @ np.abs(u)))
    reach = float(a[rows] @ np.diag(part))
    good = bool((a >= 0).all() and a.any()) and abs(square) <= 64 * EPS * size
    return float(np.sqrt(max(square, 0.0) / max(reach, 1e-300))), good


class _Gram:
    """Rows of kernel values: all at once where they fit the cache, else when first asked for."""

    def __init__(self, model: KernelPerceptron, X: Any, rows: np.ndarray):
        self.model, self.X, self.rows = model, X, rows
        n = X.shape[0]
        self.room = int(float(model.cache_size) * 2**20 / (8 * max(n, 1)))
        self.kept: dict[int, FloatArray] = {}
        self.full: FloatArray | None = None
        self.indefinite = False
        if model.kernel == "precomputed":
            self.full = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
        elif n <= self.room:
            self.full = model._kernel(X, X)

    def row(self, i: int) -> FloatArray:
        """k(x_i, ·), (n,)."""
        if self.full is not None:
            return self.full[i]
        found = self.kept.get(i)
        if found is None:
            found = self.model._kernel(self.X[i : i + 1], self.X)[0]
            if len(self.kept) < self.room:
                self.kept[i] = found
        return found

    @cached_property
    def diagonal(self) -> FloatArray:
        if self.full is not None:
            return np.diag(self.full).copy()
        parts = [self.X[i : i + 256] for i in range(0, self.X.shape[0], 256)]
        return np.concatenate([np.diag(self.model._kernel(part, part)) for part in parts])

    @cached_property
    def features(self) -> FloatArray | None:
        """φ (m, r) with φφᵀ the Gram matrix of the present rows, None where they are many or it has none."""
        if self.full is None or len(self.rows) > EXACT_ROWS:
            return None
        K = self.full[np.ix_(self.rows, self.rows)]
        values, vectors = np.linalg.eigh(0.5 * (K + K.T))
        top = float(np.abs(values).max(initial=0.0))
        if values.min(initial=0.0) < -1e-9 * top:
            self.indefinite = True
            return None
        keep = values > 1e-13 * len(K) * top
        return vectors[:, keep] * np.sqrt(values[keep])

    def settled(self, sign: np.ndarray, fit_intercept: bool) -> Contradiction | bool | None:
        """A proof that nothing separates the present rows; False: something does; None: not known.

        The candidate is the hulls' nearest point among the features; kernel values themselves decide.
        """
        if self.features is None or self.full is None:
            return None
        ones = np.full(len(sign), float(fit_intercept))
        a = maximum_margin(sign[:, None] * np.column_stack([self.features, ones])).weights
        K = self.full[np.ix_(self.rows, self.rows)] + float(fit_intercept)
        terms = K * (a * sign)
        if (sign * terms.sum(axis=1) > 4 * len(a) * EPS * np.abs(terms).sum(axis=1)).all():
            return False
        return self.contradiction(a, sign, fit_intercept)

    def contradiction(self, a: FloatArray, sign: np.ndarray, fit_intercept: bool) -> Contradiction | None:
        """The proof these weights of the present rows make, None where they do not."""
        assert self.full is not None
        a = a / max(float(a.sum()), 1e-300)
        residual, good = _cancels(self.full[np.ix_(self.rows, self.rows)], a, sign, fit_intercept)
        if not good or self.indefinite:
            return None
        weights = np.zeros(self.full.shape[0])
        weights[self.rows] = a
        return GramContradiction(weights, residual, fit_intercept)


def _refuse_gram(X: Any) -> None:
    """A Gram matrix is square and symmetric."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f'kernel="precomputed" reads the square matrix of kernel values of the rows, got shape {X.shape}'
        )
    K = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    off = np.abs(K - K.T)
    if off.max() > 1e-8 * np.abs(K).max():
        i, j = (int(v) for v in np.unravel_index(int(off.argmax()), off.shape))
        raise ValueError(
            f"the precomputed kernel is not symmetric: {K[i, j]} at ({i}, {j}), {K[j, i]} at ({j}, {i})"
        )
