"""Sub-gradient descent on the notes' own objective ([446] "Sub-gradient descent for SVM"; row M7):

    min_{w,b} (1/c) ‖w‖² + Σ_i s_i max(0, 1 − y_i (w·x_i + b))

    w ← w − η_t ( Σ_i s_i 1[y_i(w·x_i + b) ≤ 1] (−y_i x_i) + (2/c) w ),      b ← b − η_t Σ_i s_i 1[…] (−y_i)

It is c/2 times smaller than ½‖w‖² + C Σ s_i ξ_i at C = c/2, with the same minimiser. At a corner any slope between
the two sides would do; the notes take the hinge's own. It approaches the optimum and does not reach it: for study.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags

from separatrix.core.numerics import FloatArray
from separatrix.core.statistic import Statistic
from separatrix.data import door
from separatrix.data.checks import check_positive, is_positive
from separatrix.data.engine import sweep
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.interrupts import until_interrupted
from separatrix.data.rows import Block
from separatrix.data.sources import TableLike
from separatrix.models.base import LinearClassifier
from separatrix.models.margin.linear_machine import margin_report
from separatrix.models.parameters import check_limits, threads
from separatrix.problems.margin import MarginMachine, Proof, blocked
from separatrix.solve.outcome import Path
from separatrix.verdict.build import VERIFIED, proven
from separatrix.verdict.verdict import Verdict

SCHEDULES = ("constant", "sqrt", "inverse")


@constructor
class SubgradientSVC(LinearClassifier):
    """(1/c)‖w‖² + Σ_i s_i max(0, 1 − y_i(w·x_i + b)) by steps along a sub-gradient ([446]); two classes.

    Parameters
    ----------
    c : the notes' balance of a wide margin against few violations, positive; C = c/2 of
        :class:`~separatrix.LinearSVC`
    eta : first step size η₁; None takes c/2 for "inverse" (one over the penalty's curvature), else 1/Σ s(‖x‖ + 1)
    schedule : η_t = η₁ ("constant"), η₁/√t ("sqrt"), or η₁/t ("inverse")
    max_iter : steps, each one sweep over all rows
    average : whether the mean of the second half of the points is taken where it is better than the best point
    tol : the relative gap at which to stop early; that of a feasible dual point made from the sub-gradients
    fit_intercept : whether b is fitted
    record_path : keep every point in ``path_``
    n_jobs : threads; None uses all cores this process may use

    Attributes
    ----------
    coef_, intercept_, classes_, rule_, n_iter_ : as in :class:`~separatrix.LinearSVC`
    objective_path_ : (T,), the objective at every point; it need not fall at every step
    verdict_ : objective and proven gap in the notes' scale; "no claim" unless the gap asked for was met
    reports_ : one :class:`~separatrix.core.margins.MarginReport`, in the scale ½‖w‖² + C Σ s_i ξ_i
    path_ : the :class:`~separatrix.solve.outcome.Path`, when recorded

    Notes
    -----
    Cost O(np) a step. The dual point is the mean of the sub-gradients' indicators over the later steps, which
    tends to a dual solution as the steps get small; the gap it proves shrinks like 1/√t or 1/t.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [4.0, 3.0]])
    >>> model = SubgradientSVC(c=10.0, max_iter=2000).fit(X, [0, 0, 1, 1])
    >>> model.predict(X).tolist(), model.verdict_.status
    ([0, 0, 1, 1], 'no claim')
    >>> model.coef_.round(1)
    array([[0.3, 0.3]])
    """

    _: KW_ONLY
    c: float = 2.0
    eta: float | None = None
    schedule: str = "sqrt"
    max_iter: int = 1000
    average: bool = True
    tol: float = 1e-4
    fit_intercept: bool = True
    record_path: bool = False
    n_jobs: int | None = None

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (n, p) and labels y (n,) of two classes; a weight of 2 means the row stands there twice."""
        began = time.perf_counter()
        self._check_parameters()
        with threads(self.n_jobs):
            machine, reach = self._read(X, y, sample_weight)
            run = _Descent(self, machine, reach)
            stopped = run.go()
            coef, b, proof = run.best()
        self.coef_, self.intercept_ = coef[None, :].copy(), np.array([b])
        self.n_iter_ = run.steps
        self.objective_path_ = np.array(run.values)
        self.reports_ = [margin_report(machine, proof, coef)]
        word = (
            'sub-gradient steps approach the minimum and do not reach it; LinearSVC(loss="hinge", C=c/2) does'
        )
        verdict = self._judged(proof, stopped, float(run.sweeps), (word,))
        self.verdict_ = replace(verdict, seconds=time.perf_counter() - began)
        self.__dict__.pop("path_", None)
        if self.record_path:
            self.path_ = run.path()
        return self

    def _check_parameters(self) -> None:
        check_positive("c", self.c, finite=True)
        if self.eta is not None and not is_positive(self.eta, finite=True):
            raise ValueError(f"eta must be a positive number or None, got {self.eta!r}")
        if self.schedule not in SCHEDULES:
            known = ", ".join(f'"{s}"' for s in SCHEDULES)
            raise ValueError(f"schedule {self.schedule!r} is unknown: use one of {known}")
        check_limits(self.tol, self.max_iter, self.n_jobs)

    def _read(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool = True
    ) -> tuple[MarginMachine, float]:
        """The machine at C = c/2, and Σ s_i(‖x_i‖ + 1)."""
        rows = door.rows_of(self, door.read_table(self, X, reset=reset))
        classes, codes = door.read_labels(y, rows.n)
        weight = door.read_weights(sample_weight, rows.n)
        if reset:
            classes, codes, _ = door.drop_absent_classes(classes, codes, weight)
            door.refuse_one_class(classes)
            if len(classes) > 2:
                raise ValueError(
                    f"Only binary classification is supported. The type of the target is multiclass: {len(classes)} "
                    "classes. Use LinearSVC, or OneVsRestClassifier around this one"
                )
            self.classes_ = classes
        else:
            codes = self._codes_of(y, rows.n)
        moments = door.finite_moments(self, rows.with_targets(None, weight))
        weight = np.where(codes >= 0, 1.0 if weight is None else weight, 0.0)
        reach = float(weight.sum()) * (float(np.sqrt(np.sum(moments.variance + moments.mean**2))) + 1.0)
        cost = 0.5 * float(self.c) * weight
        sign = np.where(codes == 1, 1.0, -1.0)
        return MarginMachine.hinge(rows, sign, cost, fit_intercept=bool(self.fit_intercept)), reach

    def _judged(self, proof: Proof, stopped: str, sweeps: float, findings: tuple[str, ...] = ()) -> Verdict:
        """A proof in the scale ½‖w‖² + C Σ s_i ξ_i as the verdict in the notes' own."""
        scale = 2.0 / float(self.c)
        goal, gap = float(self.tol) * proof.primal * scale, proof.gap * scale
        return proven(
            self, scale="summed loss", objective=proof.primal * scale, gap=gap, tol=goal,
            unique=None if self.fit_intercept else True, stopped_by=stopped, sweeps=sweeps, findings=findings,
            status="optimal" if gap <= goal else "no claim", interrupted=stopped == "interrupted",
        )  # fmt: skip

    def _verdict_from_data(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Verdict:
        """For :func:`separatrix.verify`: objective and bound anew, at ``coef_`` and the dual variables kept."""
        machine, _ = self._read(X, y, sample_weight, reset=False)
        alpha = self.reports_[0].alpha
        alpha = alpha if len(alpha) == machine.rows.n else np.zeros(machine.rows.n)
        (w,), (b,) = self._shown()
        return self._judged(machine.prove(w, float(b), machine.target * alpha), VERIFIED, 1.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class _Descent:
    """The moving state: the point, the best so far, means of points and of indicators over the second half."""

    def __init__(self, model: SubgradientSVC, machine: MarginMachine, reach: float):
        self.model, self.machine = model, machine
        self.c = float(model.c)
        default = 0.5 * self.c if model.schedule == "inverse" else 1.0 / reach
        self.first = default if model.eta is None else float(model.eta)
        p = machine.rows.p
        self.w, self.b = np.zeros(p), 0.0
        self.values: list[float] = []
        self.points: list[tuple[FloatArray, float, float]] = []
        self.steps, self.sweeps, self.seen = 0, 1, 0
        self.kept: tuple[FloatArray, float, float] = (self.w, 0.0, np.inf)
        self.mean_w, self.mean_b = np.zeros(p), 0.0
        self.active = np.zeros(machine.rows.n)
        self.proof: tuple[FloatArray, float, Proof] | None = None

    def go(self) -> str:
        most, look = int(self.model.max_iter), 16
        with until_interrupted():
            for self.steps in range(1, most + 1):
                if 2 * (self.steps - 1) <= most and (self.steps & (self.steps - 1)) == 0:
                    self.seen, self.mean_b = 0, 0.0  # means start anew at powers of two
                    self.mean_w = np.zeros_like(self.w)
                    self.active = np.zeros_like(self.active)
                self._step()
                if self.steps >= look:
                    look *= 2
                    coef, b, proof = self.best()
                    self.proof = (coef, b, proof)
                    if proof.gap <= float(self.model.tol) * proof.primal:
                        return "gap ≤ tol"
            return "max_iter reached"
        return "interrupted"

    def _step(self) -> None:
        machine = self.machine
        cost = np.maximum(machine.up, machine.down)
        memo = blocked(machine.rows, machine.target, cost)
        at, shorts = sweep(_slopes, machine.rows, (self.w, self.b), memo)
        self.sweeps += 1
        scale = 2.0 / self.c  # costs are c/2 a unit of weight: the notes' sum has weight one
        value = scale * (0.5 * float(self.w @ self.w) + at.loss)
        self.values.append(value)
        self.points.append((self.w.copy(), self.b, value)) if self.model.record_path else None
        if value < self.kept[2]:
            self.kept = (self.w.copy(), self.b, value)
        self.seen += 1
        self.mean_w += (self.w - self.mean_w) / self.seen
        self.mean_b += (self.b - self.mean_b) / self.seen
        self.active += (np.concatenate(shorts) - self.active) / self.seen
        t = self.steps
        eta = self.first / {"constant": 1.0, "sqrt": np.sqrt(t), "inverse": float(t)}[self.model.schedule]
        self.w = self.w - eta * scale * (at.gradient + self.w)
        if machine.fit_intercept:
            self.b -= eta * scale * at.lift

    def best(self) -> tuple[FloatArray, float, Proof]:
        """The best point seen, or the mean of the later ones where better, with the gap the mean slopes prove."""
        machine = self.machine
        beta = machine.target * np.maximum(machine.up, machine.down) * self.active
        coef, b, _ = self.kept
        proof = machine.prove(coef, b, beta)
        found = [(coef, b, proof)]
        if self.model.average and self.seen:
            found.append((self.mean_w.copy(), self.mean_b, machine.prove(self.mean_w, self.mean_b, beta)))
        if self.proof is not None:
            found.append(self.proof)
        self.sweeps += len(found)
        point = min(found, key=lambda f: f[2].primal)
        bound = max(found, key=lambda f: f[2].dual)[2]
        return point[0], point[1], Proof(point[2].primal, bound.dual, bound.beta, point[2].eta)

    def path(self) -> Path:
        coef, b, value = zip(*self.points, strict=True)
        norm = np.full(len(value), np.nan)
        return Path(np.array(coef), np.array(b), np.array(value), norm)


@dataclass(frozen=True, eq=False)
class Slopes(Statistic):
    """Of rows at or inside the margin: Σ −β x (p,), Σ −β, and Σ cost·ξ."""

    gradient: FloatArray
    lift: float
    loss: float


def _slopes(
    block: Block, task: tuple[FloatArray, float], memo: tuple[FloatArray, FloatArray]
) -> tuple[Slopes, FloatArray]:
    w, b = task
    y, cost = memo
    margin = np.empty(block.n)
    gradient = np.zeros(len(w))
    for part in [slice(0, block.n)] if block.sparse else block.tiles(len(w)):
        cells = block.X[part]
        margin[part] = y[part] * (cells @ w + b)
        beta = np.where(margin[part] <= 1.0, y[part] * cost[part], 0.0)
        gradient -= cells.T @ beta
    short = (margin <= 1.0).astype(float)
    lift = -float((y * cost) @ short)
    return Slopes(gradient, lift, float(cost @ np.maximum(1.0 - margin, 0.0))), short
