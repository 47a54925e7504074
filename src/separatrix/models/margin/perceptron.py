"""The perceptron: learn from mistakes, one row at a time, until there are none.

    y_i (w·x_i + b) ≤ 0:    w ← w + η s_i y_i x_i,   b ← b + η s_i y_i       ([6867] 5.4, [6321] "Perceptrons", [446])

With α_i the number of updates on row i, w = η Σ α_i s_i y_i x_i ([6321] "Weight as a combination of input
vectors"): the dual form, which :class:`~separatrix.KernelPerceptron` runs on. Rows M2 and M3 of the specification.
The perceptron as a minimiser of its criterion Σ max(0, −y_i η_i) is :class:`~separatrix.core.losses.Perceptron` with
the solver "sgd"; the separator by linear programme is :func:`~separatrix.solve.separator.linear_separator`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from separatrix.core.linear import in_single
from separatrix.core.losses import Perceptron as Criterion
from separatrix.core.numerics import FloatArray
from separatrix.data import door
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.orders import row_major
from separatrix.models.base import LinearClassifier
from separatrix.models.margin.perceptron_base import WORST, MistakeDriven, online, spread
from separatrix.models.parameters import seed_of
from separatrix.solve.perceptron import (
    BadRow,
    Epochs,
    LinearPerceptronRun,
    PerceptronRun,
    linear_bound,
    scores_under,
)
from separatrix.solve.separator import Contradiction, contradiction_among, contradiction_of
from separatrix.solve.sequential import keyed_generator
from separatrix.verdict.build import VERIFIED
from separatrix.verdict.verdict import Status, Verdict


@constructor
class Perceptron(MistakeDriven, LinearClassifier):
    """y (w·x + b) ≤ 0:  w ← w + η s y x,  b ← b + η s y, row after row until none is wrong ([6867] 5.4).

    K classes are K machines, each class against the others, as in scikit-learn; the largest score wins. Parameters
    have scikit-learn's names and defaults; there is no penalty. On rows that can be separated it stops after at most
    (R/γ)² mistakes, and the verdict checks the count; on rows that cannot it stops with the proof.

    Parameters
    ----------
    penalty : only None
    alpha, l1_ratio : strengths of a penalty: leave them alone
    fit_intercept : whether b is learned, as the weight of a column of ones
    max_iter : most epochs
    tol : when the mistakes of ``n_iter_no_change`` epochs in a row have not fallen by this share of the rows, ask
        whether the rows can be separated at all: stop if not, or if that is too costly to find out; go on if they
        can. None: go on to ``max_iter`` and ask then
    shuffle : a new random order each epoch, drawn from (seed, epoch); False: cyclic, in the order given. The order of
        tables beyond 16 MB is dealt in blocks of 32 rows, shuffled within windows of 512
    verbose : 1 prints a line an epoch to standard error
    eta0 : the step size η; from a zero start it scales the weights and changes no decision
    n_jobs : threads for the machines of K classes; None uses all cores this process may use
    random_state : seed of orders and of a random start
    early_stopping, validation_fraction : only the defaults: the mistakes on the training rows decide
    n_iter_no_change : see ``tol``
    class_weight : {label: factor of the step}, "balanced", or None
    warm_start : start from the last fit's weights
    start : "zero", or "random" (standard normal weights)
    average : the answer is the mean of the weights over all visits (the averaged perceptron)
    pocket : the answer is the weights that put most rows right; they are looked at whenever a run of right rows
        longer than any before has ended, and at the end

    Attributes
    ----------
    coef_ : (1, p) or (K, p)
    intercept_ : (1,) or (K,)
    n_mistakes_ : updates made, an int; (K,) for K classes
    mistakes_path_ : (epochs,) mistakes of each epoch; a list of K such arrays for K classes
    mistake_bound_ : (R/γ)² over the rows s_i (x_i, 1), γ their largest margin where that is found in reasonable time,
        else the margin of the weights found; with a start w₀, ‖w₀/η − (R²/γ) w*‖²/R². inf where no bound is known.
        (K,) for K classes
    dual_coef_ : (n,) updates on each row, (K, n) for K classes: coef_ = start + η Σ_i dual_i s_i y_i x_i, y_i = ±1.
        Read-only: coef_ predicts. With ``average`` their average over visits; with ``pocket`` those up to the
        weights kept; after ``partial_fit`` of the rows of that call
    coef_start_, intercept_start_ : the weights the fit started from
    classes_, n_features_in_, feature_names_in_, n_iter_, t_ : as in scikit-learn
    rule_, verdict_ : as in :class:`~separatrix.LogisticRegression`; the verdict's objective is the perceptron
        criterion (1/W) Σ s_i max(0, −y_i f_i), summed over machines; ``verdict_.separation`` holds the
        :class:`~separatrix.solve.separator.Contradiction` where the rows cannot be separated

    Notes
    -----
    Weights scale the step, as in scikit-learn: a rule that depends on the order of rows cannot treat a weight of two
    as the row standing there twice. A weight of zero is absence, to the bit. Cost: O(np) an epoch, one thread a
    machine. float32, float64 and CSR are read as they are; column-major arrays are copied once.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    >>> model = Perceptron(shuffle=False).fit(X, ["no", "no", "no", "yes"])
    >>> model.coef_, model.intercept_, model.dual_coef_
    (array([[1., 1.]]), array([-3.]), array([2, 1, 1, 1]))
    >>> model.n_mistakes_, round(model.mistake_bound_, 2)
    (5, 33.0)
    >>> model.verdict_.status
    'optimal'
    >>> exclusive_or = Perceptron().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]).verdict_
    >>> exclusive_or.status, exclusive_or.separation.weights
    ('infeasible', array([0.25, 0.25, 0.25, 0.25]))
    """

    _: KW_ONLY
    penalty: str | None = None
    alpha: float = 0.0001
    l1_ratio: float = 0.15
    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    shuffle: bool = True
    verbose: int = 0
    eta0: float = 1.0
    n_jobs: int | None = None
    random_state: Any = 0
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    class_weight: Mapping[Any, float] | str | None = None
    warm_start: bool = False
    start: str = "zero"
    average: bool = False
    pocket: bool = False

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        coef_init: ArrayLike | None = None,
        intercept_init: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from rows X (n, p) and labels y (n,), starting at ``coef_init`` and ``intercept_init`` if given."""
        began = time.perf_counter()
        self._check_parameters()
        self._refuse_dask(X)
        before = self._last() if self.warm_start else None
        X = row_major(door.read_table(self, X, reset=True))
        n = X.shape[0]
        codes, scale = self._read_targets(y, sample_weight, n)
        rows = self._present(n, scale)
        signs = self._signs(codes)
        starts = self._starts(len(signs), X.shape[1], before, coef_init, intercept_init)
        machines = [self._machine(X, sign, scale, w) for sign, w in zip(signs, starts, strict=True)]
        intercept = bool(self.fit_intercept)

        def ask(machine: PerceptronRun) -> Contradiction | bool | None:
            some = len(rows) < n
            cells = X[rows] if some else X
            answer = contradiction_among(cells, machine.sign[rows], intercept, machine.counts[rows])
            return spread(answer, rows, n) if some else answer

        def cancelled(machine: LinearPerceptronRun, counts: np.ndarray) -> Contradiction | None:
            weights = counts * (machine.scale if len(machine.scale) else 1.0)
            return contradiction_of(weights.astype(float), X, machine.sign, intercept)

        try:
            courses = self._trained(machines, rows, X, ask, cancelled)
            for machine in machines:
                machine.finish(rows)
        except BadRow as bad:
            self._refuse_row(X, bad.row)
        self._keep(machines)
        self._keep_counts(machines, courses, len(rows))
        bounds = [
            linear_bound(m, rows, len(c.mistakes), reached=c.ended == "separated") if c.separable else None
            for m, c in zip(machines, courses, strict=True)
        ]
        margins = [self._margins(m, course, rows) for m, course in zip(machines, courses, strict=True)]
        self._conclude(courses, bounds, margins, scale[rows] if len(scale) else scale, began)
        return self

    @available_if(online)
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn online from the next rows, each visited once in the order given; go on where the last call ended.

        ``classes`` lists all labels and is needed in the first call. Chunks in turn are one pass over all rows. The
        mistakes are counted over all calls; no claim is made about rows that are gone. Weights edited between two
        calls are where the second begins; an average begins anew with them.
        """
        began = time.perf_counter()
        self._check_online(X)
        first = not hasattr(self, "_online_")
        X = row_major(door.read_table(self, X, reset=first))
        n, p = X.shape
        codes, scale = self._read_online(y, classes, sample_weight, n, first=first)
        rows = self._present(n, scale)
        signs = self._signs(codes)
        if first:
            starts = self._starts(len(signs), p, None, None, None)
            self._online_ = [(w, np.zeros(len(w)), 0, w) for w in starts]
            self.n_mistakes_ = 0 if len(signs) == 1 else np.zeros(len(signs), dtype=np.int64)
            self.mistakes_path_ = (
                np.zeros(0, dtype=np.int64) if len(signs) == 1 else [np.zeros(0, np.int64)] * len(signs)
            )
            self.t_ = 1.0
        elif self._was_edited():
            # go on from what is read there; an average begins anew with it
            self._online_ = [(w, np.zeros(len(w)), 0, w) for w in self._last() or []]
        machines = []
        for sign, (w, drift, seen, _) in zip(signs, self._online_, strict=True):
            machine = self._machine(X, sign, scale, w)
            machine.seen = seen
            if self.average:
                machine.drift = drift.copy()
            machines.append(machine)
        paths, counts, t = self.mistakes_path_, self.n_mistakes_, self.t_
        try:
            courses = self._visited_once(machines, rows)
        except BadRow as bad:
            self._refuse_row(X, bad.row)
        started = [state[3] for state in self._online_]
        self._keep(machines, started)
        self._keep_counts(machines, courses, len(rows))
        self.n_mistakes_ = counts + self.n_mistakes_
        self.mistakes_path_ = (
            np.append(paths, self.mistakes_path_)
            if len(signs) == 1
            else [np.append(a, b) for a, b in zip(paths, self.mistakes_path_, strict=True)]
        )
        self.t_ = t + len(rows)
        self._no_claim(len(signs), began)
        return self

    def _check_parameters(self) -> None:
        """Refuse, before data is read, what cannot be meant."""
        self._check_shared()
        if self.penalty is not None:
            raise ValueError(
                f"penalty={self.penalty!r}: a perceptron has no penalty, leave it None (SubgradientSVC has one)"
            )
        if self.alpha != 0.0001 or self.l1_ratio != 0.15:
            raise ValueError(
                "alpha and l1_ratio are the strength of a penalty, and a perceptron has none: leave them"
            )
        if self.early_stopping or self.validation_fraction != 0.1:
            raise ValueError(
                "early_stopping is not offered, validation_fraction neither: hold rows out yourself, or use "
                "pocket=True, which keeps the best weights"
            )
        if self.start not in ("zero", "random"):
            raise ValueError(
                f'start {self.start!r} is unknown: use "zero" or "random", or fit(…, coef_init=…)'
            )

    def _last(self) -> list[FloatArray] | None:
        if not hasattr(self, "coef_"):
            return None
        return [np.append(w, b).astype(float) for w, b in zip(*self._shown(), strict=True)]

    def _starts(
        self,
        k: int,
        p: int,
        before: list[FloatArray] | None,
        coef: ArrayLike | None,
        intercept: ArrayLike | None,
    ) -> list[FloatArray]:
        """The weights (p+1,) each of k machines starts from."""
        if coef is not None or intercept is not None:
            w = np.zeros((k, p)) if coef is None else np.asarray(coef, dtype=float)
            b = np.zeros(k) if intercept is None else np.asarray(intercept, dtype=float)
            if w.size != k * p or b.size != k:
                raise ValueError(
                    f"coef_init must have shape {(k, p)} and intercept_init {(k,)}, got {w.shape} and {b.shape}"
                )
            if not (np.isfinite(w).all() and np.isfinite(b).all()):
                raise ValueError("coef_init and intercept_init must be finite numbers")
            if not self.fit_intercept and b.any():
                raise ValueError("intercept_init is given and fit_intercept is False: leave one out")
            return list(np.column_stack([w.reshape(k, p), b.reshape(k)]))
        if before is not None and len(before) == k and len(before[0]) == p + 1:
            return before
        if self.start == "zero":
            return [np.zeros(p + 1) for _ in range(k)]
        drawn: list[FloatArray] = [
            keyed_generator(seed_of(self.random_state), "perceptron start", j).standard_normal(p + 1)
            for j in range(k)
        ]
        for w in drawn:
            w[-1] *= bool(self.fit_intercept)
        return drawn

    def _machine(self, X: Any, sign: np.ndarray, scale: FloatArray, start: FloatArray) -> LinearPerceptronRun:
        return LinearPerceptronRun(
            X, sign, scale, float(self.eta0), start, fit_intercept=bool(self.fit_intercept),
            average=bool(self.average), pocket=bool(self.pocket),
        )  # fmt: skip

    def _keep(self, machines: list[LinearPerceptronRun], started: list[FloatArray] | None = None) -> None:
        """The weights, and what partial_fit needs to go on."""
        chosen = np.array([m.chosen for m in machines])
        first = np.array(started if started is not None else [m.start for m in machines])
        self.coef_, self.intercept_ = chosen[:, :-1].copy(), chosen[:, -1].copy()
        if machines[0].X.dtype == np.float32:
            self.coef_, self.intercept_ = in_single(self.coef_, self.intercept_, None)
        self._remember_fit()
        self.coef_start_, self.intercept_start_ = first[:, :-1].copy(), first[:, -1].copy()
        self._online_ = [
            (m.w.copy(), m.drift.copy() if self.average else np.zeros(len(m.w)), m.seen, w)
            for m, w in zip(machines, first, strict=True)
        ]

    def _margins(self, machine: LinearPerceptronRun, course: Epochs, rows: np.ndarray) -> FloatArray:
        """y f of the present rows under the weights kept; an epoch without a mistake has shown the last right."""
        single = self.coef_.dtype == np.float32  # what is shown is rounded, and has to be looked at
        if course.ended == "separated" and not self.average and not single:
            return np.ones(len(rows))
        chosen = machine.chosen.astype(np.float32).astype(float) if single else machine.chosen
        scores = scores_under(machine.X, chosen)
        return machine.sign[rows] * (scores[rows] if len(rows) < len(scores) else scores)

    def _refuse_row(self, X: Any, row: int) -> NoReturn:
        cells = np.asarray(X[row : row + 1] if isinstance(X, np.ndarray) else X[[row]].toarray(), dtype=float)
        door.refuse_not_finite(self, cells, row)
        j = int(np.abs(cells[0]).argmax())
        raise ValueError(
            f"column {door.column_name(self, j)} holds values too large to add up: divide it by a power of ten"
        )

    def _verdict_from_data(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Verdict:
        """The verdict from data and ``coef_`` alone, for :func:`separatrix.verify`."""
        X = row_major(door.read_for_prediction(self, X))
        codes = self._codes_of(y, X.shape[0])
        weight = door.read_weights(sample_weight, X.shape[0])
        rows = self._present(X.shape[0], np.empty(0) if weight is None else weight)
        X, codes = (X, codes) if len(rows) == len(codes) else (X[rows], codes[rows])
        weight = None if weight is None else weight[rows]
        value = 0.0
        statuses: list[Status] = []
        findings = []
        for sign, w, b in zip(self._signs(codes), *self._shown(), strict=True):
            scores = scores_under(X, np.append(w, b).astype(float))
            wrong = int(np.count_nonzero(~(sign * scores > 0)))
            value += float(np.average(Criterion().value(scores, sign.astype(float)), weights=weight))
            if wrong == 0:
                statuses.append("optimal")
                continue
            findings.append(f"{wrong} of {len(sign)} rows are on the wrong side")
            answer = contradiction_among(X, sign, bool(self.fit_intercept), -sign * scores)
            statuses.append("infeasible" if isinstance(answer, Contradiction) else "not converged")
            if isinstance(answer, Contradiction):
                findings.append(answer.sentence())
        worst = min(statuses, key=WORST.index)
        return self._criterion(value, worst, VERIFIED, 1, findings)
