"""Support vector classification:  min ½‖w‖² + Σ_i C_i ξ_i,   y_i (w·φ(x_i) + b) ≥ 1 − ξ_i,  ξ_i ≥ 0.

    dual   max Σ α_i − ½ Σ_ij α_i α_j y_i y_j k(x_i, x_j),   0 ≤ α_i ≤ C_i,  Σ α_i y_i = 0

Notes [6867] 5.2 (separable: C = ∞), 5.3 (slacks), [6321] "Support vector machines", [446]. Rows M4–M6, M8 and M9
of the specification.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from separatrix.core.margins import STATES, MarginReport
from separatrix.core.numerics import FloatArray
from separatrix.data.door import read_weights
from separatrix.data.kernels import Index, Points
from separatrix.models.base import Classifier
from separatrix.models.kernel_machine import WHOLE, KernelMachine
from separatrix.models.running import check_class_weight, class_factors, threads, warn_of
from separatrix.solve.smo import Dual, Solution, certify, minimise
from separatrix.verdict.separability import separability
from separatrix.verdict.verdict import Verdict


@dataclass(frozen=True, eq=False)
class _Pair:
    """One machine: the rows of two classes, y = ±1, and the box."""

    classes: tuple[int, int]  # (negative, positive)
    rows: Index
    y: FloatArray
    C: FloatArray


class SVC(KernelMachine, Classifier):
    """min ½‖w‖² + Σ_i C_i ξ_i subject to y_i (w·φ(x_i) + b) ≥ 1 − ξ_i, through its dual, with a verdict.

    C_i is ``C`` times the row's and its class's weight; ``C=np.inf`` is the hard margin, which data that are not
    separable refuse with a proof. More than two classes: a machine for each pair, and a vote. Notes [6867] 5.2, 5.3,
    [6321], [446]. Parameters have scikit-learn's names, meanings and defaults; ``n_jobs`` is new.

    Parameters
    ----------
    C : the price of slack, positive, or ``np.inf`` for none at all
    kernel : "linear", "poly", "rbf", "sigmoid", "precomputed", or a function of two tables that returns the matrix
        of values (it is asked for blocks of rows)
    degree, gamma, coef0 : of the kernels; gamma is "scale" (1/(p·Var X), weights counting as
        repetitions), "auto" (1/p) or a positive number
    shrinking : leave rows whose variable is stuck at a bound out of the search until its end
    probability : only False; scores become probabilities by calibration on other rows (CalibratedClassifierCV)
    tol : largest violation of the optimality conditions, and largest gap relative to the objective
    cache_size : megabytes of kernel rows that are kept
    class_weight : {label: weight}, "balanced", or None
    verbose : True prints a forecast of a long fit and its progress to standard error
    max_iter : most steps (pairs of variables) of a machine; −1 for ten million
    decision_function_shape : "ovr" (n, K) or "ovo" (n, K(K−1)/2) scores of more than two classes
    break_ties : let ``predict`` follow the ovr scores rather than the votes
    random_state : as in scikit-learn, where only its probabilities are random; nothing here is
    n_jobs : threads; None uses all cores this process may use

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, fit_status_, classes_, shape_fit_, n_iter_ : as in
        scikit-learn, except that dual_coef_ of sparse tables is dense
    coef_ : (1, p) or (K(K−1)/2, p) with the linear kernel
    reports_ : a :class:`~separatrix.core.margins.MarginReport` for each machine
    verdict_ : the :class:`~separatrix.Verdict`; objective and gap are sums over the machines, in the scale above

    Notes
    -----
    Cost: about (support vectors) × n kernel values of O(p). Memory: cache_size and the rows once more.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> round(model.score(X, y), 3), model.n_support_.tolist()
    (0.973, [7, 29, 24])
    >>> model.verdict_.status, model.verdict_.gap < 1e-3 * model.verdict_.objective
    ('optimal', True)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Mapping[Any, float] | str | None = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit to rows X (n, p), or a kernel matrix (n, n), and labels y (n,); a weight multiplies the row's C."""
        began = time.perf_counter()
        self._check_parameters()
        with threads(self.n_jobs):
            cells = self._read_rows(X, sample_weight, reset=True)
            pairs = self._pairs(y, sample_weight, cells.shape[0], reset=True)
            if np.isinf(self.C):
                self._refuse_inseparable(cells, pairs)
            n = cells.shape[0]
            many = len(pairs) > 1 and n * n * 8e-6 <= self.cache_size
            points = self._points(cells, n <= WHOLE or many)
            indefinite, looked_at = self._definiteness(points)
            self._forecast(points)
            fits = []
            for pair in pairs:
                fits.append(self._machine(points, pair, n))
                if fits[-1].stopped_by == "interrupted":
                    break
            for pair in pairs[len(fits) :]:  # machines that an interruption left no time for say nothing
                fits.append(certify(self._kernel(), points.take(pair.rows), _dual(pair), 0.0, self.tol))
        self._keep(cells, pairs, fits)
        self.verdict_ = self._verdict(fits, indefinite, looked_at, n, time.perf_counter() - began)
        warn_of(self.verdict_, "", "Increase max_iter, or scale the columns")
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """f(x): (n,) for two classes; (n, K) "ovr" (votes, refined by the sums of scores) or (n, K(K−1)/2) "ovo"."""

        def score(cells: Any) -> FloatArray:
            values = self._pair_scores(cells)
            if len(self.classes_) == 2:
                return values[:, 0]
            return values if self.decision_function_shape == "ovo" else self._shares(values)

        return np.asarray(self._on_rows(X, score))

    def predict(self, X: Any) -> np.ndarray:
        """The class with most votes of the machines; with ``break_ties`` the one with the largest score."""
        return np.asarray(self._on_rows(X, lambda cells: self.classes_[self._winner(cells)]))

    # ---- the door ----

    def _check_parameters(self) -> None:
        self._check_machine()
        if self.probability not in ("deprecated", False):
            raise ValueError(
                f"probability={self.probability!r}: probabilities fitted inside an SVM contradict its predictions; "
                "leave it out and wrap the model in CalibratedClassifierCV(model, ensemble=False)"
            )
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                f'decision_function_shape must be "ovr" or "ovo", got {self.decision_function_shape!r}'
            )
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError('break_ties must be False when decision_function_shape is "ovo"')
        check_class_weight(self.class_weight)

    def _pairs(self, y: Any, sample_weight: Any, n: int, *, reset: bool) -> list[_Pair]:
        """The machines' rows, signs and boxes; two classes: the second is positive, more: the first of a pair."""
        weight = read_weights(sample_weight, n)
        codes, totals = self._read_classes(y, weight, n, reset=reset)
        box = np.ones(n) if weight is None else weight.copy()
        present = (box > 0) & (codes >= 0)
        box *= class_factors(self.class_weight, self.classes_, totals)[codes]
        box = np.where(present, np.inf, 0.0) if np.isinf(self.C) else box * float(self.C)
        out = []
        for i, j in combinations(range(len(self.classes_)), 2):
            rows = np.flatnonzero(present & ((codes == i) | (codes == j)))
            negative, positive = (i, j) if len(self.classes_) == 2 else (j, i)
            sign = np.where(codes[rows] == positive, 1.0, -1.0)
            out.append(_Pair((negative, positive), rows, sign, box[rows]))
        return out

    def _refuse_inseparable(self, cells: Any, pairs: list[_Pair]) -> None:
        """A hard margin on rows that no surface separates: the linear kernel's proof, or equal rows."""
        names = getattr(self, "feature_names_in_", None)
        for pair in pairs:
            a, b = (repr(self.classes_.tolist()[k]) for k in sorted(pair.classes))
            if self.kernel == "linear":
                try:
                    found = separability(cells[pair.rows], pair.y)
                except ArithmeticError:  # too large for the exact answer: the dual will show it
                    continue
                if found.kind == "complete":
                    continue
                words = found.sentence()
                if names is not None and found.columns:
                    words = f"{words} (columns {', '.join(str(names[int(j)]) for j in found.columns[:8])})"
                raise ValueError(
                    f"C=np.inf asks for a margin that no row enters, which classes {a} and {b} do not allow: "
                    f"{words}. Use a finite C"
                )
            if self.kernel == "precomputed" or callable(self.kernel):
                continue
            twins = _equal_rows(cells[pair.rows], pair.y)
            if twins is not None:
                i, j = (int(pair.rows[t]) for t in twins)
                raise ValueError(
                    f"C=np.inf asks for a margin that no row enters, but rows {i} and {j} are equal and of classes "
                    f"{a} and {b}: no kernel tells them apart. Use a finite C, or drop one of them"
                )

    # ---- the machines ----

    def _machine(self, points: Points, pair: _Pair, n: int) -> Solution:
        say = self._say()
        if say is not None and len(self.classes_) > 2:
            a, b = (self.classes_.tolist()[k] for k in sorted(pair.classes))
            say(f"classes {a!r} and {b!r}: {len(pair.rows):,} rows")
        fit = minimise(
            self._kernel(),
            points if len(pair.rows) == n else points.take(pair.rows),
            _dual(pair),
            tol=float(self.tol),
            max_steps=None if self.max_iter == -1 else int(self.max_iter),
            megabytes=float(self.cache_size),
            shrinking=bool(self.shrinking),
            report=say,
        )
        if fit.stopped_by == "hulls meet":
            a, b = (repr(self.classes_.tolist()[k]) for k in sorted(pair.classes))
            total = 0.5 * np.abs(fit.beta).sum()
            raise ValueError(
                f"C=np.inf asks for a margin that no row enters, which classes {a} and {b} do not allow: a weighted "
                f"mean of {int((fit.beta > 0).sum())} rows of one and of {int((fit.beta < 0).sum())} rows of the "
                f"other have images at distance {np.sqrt(max(fit.square, 0.0)) / total:.0e}. Use a finite C, or a "
                "finer kernel"
            )
        return fit

    def _keep(self, cells: Any, pairs: list[_Pair], fits: list[Solution]) -> None:
        """Support vectors by class, coefficients in scikit-learn's layout, and the reports."""
        n, k = cells.shape[0], len(self.classes_)
        code = np.full(n, -1)
        used = np.zeros(n, dtype=bool)
        for pair, fit in zip(pairs, fits):
            code[pair.rows] = np.where(pair.y > 0, pair.classes[1], pair.classes[0])
            used[pair.rows[fit.beta != 0]] = True
        support = np.flatnonzero(used)
        support = support[np.argsort(code[support], kind="stable")]
        place = np.full(n, -1)
        place[support] = np.arange(len(support))
        coef = np.zeros((k - 1, len(support)))
        weights = np.zeros((len(support), len(pairs)))
        for m, (pair, fit) in enumerate(zip(pairs, fits)):
            some = np.flatnonzero(fit.beta)
            at, beta = place[pair.rows[some]], fit.beta[some]
            weights[at, m] = beta
            low, high = sorted(pair.classes)
            own = code[pair.rows[some]]
            coef[np.where(own == low, high - 1, low), at] = beta
        self.support_ = support.astype(np.int32)
        self.n_support_ = np.bincount(code[support], minlength=k).astype(np.int32)
        precomputed = self.kernel == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if precomputed else cells[support]
        self.dual_coef_ = coef
        self._weights = weights
        self.intercept_ = np.array([fit.intercept for fit in fits])
        self.shape_fit_ = cells.shape
        self.n_iter_ = np.array([fit.steps for fit in fits], dtype=np.int32)
        self.fit_status_ = int(any(fit.stopped_by == "max_iter" for fit in fits))
        self.__dict__.pop("coef_", None)
        if self.kernel == "linear":
            self.coef_ = np.asarray(weights.T @ self.support_vectors_)
        self.reports_ = [
            MarginReport(
                np.abs(fit.beta),
                pair.y * (fit.score + fit.intercept),
                fit.primal,
                fit.dual,
                float(np.sqrt(max(fit.square, 0.0))),
                fit.violation,
                max(float(self.tol), fit.violation),
                pair.rows,
                tuple(self.classes_[list(pair.classes)].tolist()),
            )
            for pair, fit in zip(pairs, fits)
        ]

    def _verdict(
        self, fits: list[Solution], indefinite: bool, looked_at: int, n: int, seconds: float
    ) -> Verdict:
        objective, gap = sum(f.primal for f in fits), sum(f.gap for f in fits)
        goal = float(self.tol) * abs(objective)
        indefinite = indefinite or any(f.indefinite for f in fits)
        stops = [f.stopped_by for f in fits]
        status: Any = "optimal" if gap <= goal else "not converged"
        stopped = (
            "gap ≤ tol"
            if status == "optimal"
            else next((s for s in stops if s != "gap ≤ tol"), "no progress")
        )
        if "interrupted" in stops:
            status, stopped = "interrupted", "interrupted"
        elif indefinite:
            status, gap = "no claim", np.inf
        findings = self._findings(indefinite, looked_at, n)
        passes = sum(f.values for f in fits) / n**2
        return Verdict(
            type(self).__name__, status, objective, gap, goal, None, passes, seconds, stopped, findings
        )

    def _findings(self, indefinite: bool, looked_at: int, n: int) -> tuple[str, ...]:
        out = []
        if indefinite:
            out.append("the kernel is not positive semidefinite: no optimum is claimed")
        elif looked_at:
            out.append(f"that the kernel is positive semidefinite was looked at on {looked_at} rows")
        each = ", ".join(f"{c} of {k!r}" for c, k in zip(self.n_support_.tolist(), self.classes_.tolist()))
        out.append(f"{len(self.support_)} support vectors of {n} rows: {each}")
        counts = np.sum([list(r.counts.values()) for r in self.reports_], axis=0).tolist()
        listed = ", ".join(f"{c} {s}" for s, c in zip(STATES, counts))
        over = "" if len(self.reports_) == 1 else f" (over {len(self.reports_)} machines)"
        out.append(f"examples{over}: {listed}")
        width = min(r.width for r in self.reports_)
        kkt = max(r.kkt for r in self.reports_)
        out.append(
            f"{'margin width' if len(self.reports_) == 1 else 'least margin width'} {width:.4g}, optimality "
            f"conditions violated by at most {kkt:.1e}"
        )
        scaling = self._scaling()
        if scaling:
            out.append(scaling)
        return tuple(out)

    # ---- scores ----

    def _pair_scores(self, cells: Any) -> FloatArray:
        """The machines' scores (n, K(K−1)/2), in scikit-learn's orientation."""
        if self.kernel == "linear":
            return np.asarray(cells @ self.coef_.T) + self.intercept_
        return self._scores(cells, self._weights) + self.intercept_

    def _shares(self, values: FloatArray) -> FloatArray:
        return np.asarray(_ovr_decision_function(values < 0, -values, len(self.classes_)))

    def _winner(self, cells: Any) -> np.ndarray:
        values = self._pair_scores(cells)
        k = len(self.classes_)
        if k == 2:
            return (values[:, 0] > 0).astype(np.intp)
        if self.break_ties:
            return self._shares(values).argmax(axis=1)
        votes = np.zeros((len(values), k), dtype=np.intp)
        for m, (i, j) in enumerate(combinations(range(k), 2)):
            votes[:, i] += values[:, m] > 0
            votes[:, j] += values[:, m] <= 0
        return votes.argmax(axis=1)

    def _tiled(self, function: Any) -> Any:
        return function  # the kernel's products have the threads already

    # ---- again, from data ----

    def _verdict_from_data(self, X: Any, y: Any, sample_weight: Any = None) -> Verdict:
        """The verdict recomputed from rows, labels, dual_coef_ and intercept_, for :func:`separatrix.verify`."""
        cells = self._read_rows(X, reset=False)
        n = cells.shape[0]
        same = self._holds_support(cells)
        pairs = self._pairs(y, sample_weight, n, reset=False)
        fits: list[Solution] = []
        points = self._points(cells, n <= WHOLE)
        for m, pair in enumerate(pairs if same else []):
            beta = np.zeros(n)
            beta[self.support_] = self._coefficients(m)
            start = beta[pair.rows]
            dual = Dual.classifier(pair.y, pair.C, start)
            slack = 1e-9 * np.abs(start).max(initial=0.0)
            inside = (start >= dual.low - slack) & (start <= dual.high + slack)
            outside = np.delete(beta, pair.rows).any()
            if not inside.all() or outside or abs(start.sum()) > 1e-9 * np.abs(start).sum():
                same = False
                break
            fits.append(
                certify(self._kernel(), points.take(pair.rows), dual, float(self.intercept_[m]), self.tol)
            )
        claimed = self.verdict_
        if not same:
            return self._infeasible(claimed.tol)
        indefinite, looked_at = self._definiteness(points)
        verdict = self._verdict(fits, indefinite or claimed.status == "no claim", looked_at, n, 0.0)
        return Verdict(
            verdict.model, verdict.status, verdict.objective, verdict.gap, claimed.tol, None, verdict.sweeps, 0.0,
            "verified from data", verdict.findings,
        )  # fmt: skip

    def _coefficients(self, machine: int) -> FloatArray:
        """β of one machine's support vectors, read back from ``dual_coef_``."""
        ends = np.cumsum(self.n_support_)
        own = np.searchsorted(ends, np.arange(len(self.support_)), side="right")
        i, j = list(combinations(range(len(self.classes_)), 2))[machine]
        beta = np.zeros(len(self.support_))
        beta[own == i] = self.dual_coef_[j - 1, own == i]
        beta[own == j] = self.dual_coef_[i, own == j]
        return beta


def _dual(pair: _Pair) -> Dual:
    return Dual.classifier(pair.y, pair.C)


def _equal_rows(cells: Any, y: FloatArray) -> tuple[int, int] | None:
    """Two equal rows of opposite signs, by a hash of their bytes, or None."""
    seen: dict[bytes, int] = {}
    for i in range(cells.shape[0]):
        row = cells[i] if isinstance(cells, np.ndarray) else cells[[i]].toarray()[0]
        key = (row + 0.0).tobytes()
        first = seen.setdefault(key, i)
        if y[first] != y[i]:
            return first, i
    return None
