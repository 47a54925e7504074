"""The perceptron's epochs: machines that learn from mistakes, and what ends them ([6867] 5.4, [6321], [446]).

    a mistake on row i:   w ← w + η s_i y_i (x_i, 1),   α_i ← α_i + 1      so   w = w_start + η Σ α_i s_i y_i (x_i, 1)

Epochs end when one passes without a mistake; when the weights at its end were there before (in between the updates
cancelled: Σ Δα_i s_i y_i (x_i, 1) = 0, which proves that nothing separates the rows); when the share of mistakes has
stopped falling and a proof of the same is found; or at ``max_iter``.

Mistakes are bounded where a unit w* has margin γ on the rows z_i = s_i y_i (x_i, 1), ‖z_i‖ ≤ R (Novikoff):

    mistakes ≤ ‖w_start/η − (R²/γ) w*‖² / R²,   which from w_start = 0 is (R/γ)²          (not R/γ, as [6867] prints)

Two forms: :class:`LinearPerceptronRun` keeps w (p+1,), :class:`KernelPerceptronRun` the scores f (n,) of all rows and
α alone.
Cost of an epoch: O(np) and O(p) a mistake; of the dual form O(n) and a row of kernel values a mistake.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.interrupts import check, until_interrupted
from separatrix.data.orders import Visits
from separatrix.data.rows import over_rows
from separatrix.loops.perceptron import csr_pass, dense_pass, dense_scores, next_mistake
from separatrix.solve.separator import Contradiction, maximum_margin

NEVER = 1 << 62
SNAPSHOTS = 4_000_000  # update counts kept, over all epochs, to show what cancelled
EXACT_WORK = 1e8  # products spent on the largest margin besides half those of the epochs
EXACT_CELLS = 2e7  # cells up to which it is looked for


class BadRow(ValueError):
    """A row whose score is not a finite number."""

    def __init__(self, row: int):
        super().__init__(f"row {row} has no finite score")
        self.row = row


class PerceptronRun:
    """One two-class perceptron under way: what both forms share.

    ``counts`` (n,) updates on each row, ``late`` (n,) each update times the visits before it (averaged variant),
    ``pocket``: the weights that put the most rows right so far, looked at when a run of right rows longer than any
    before has ended (Gallant's ratchet). ``tally``: mistakes, visits and right rows in a row so far, kept by the pass
    beside the weights, so that they agree wherever Ctrl-C falls.
    """

    sign: np.ndarray
    scale: FloatArray

    def __init__(self, n: int, average: bool, pocket: bool):
        self.counts = np.zeros(n, dtype=np.int32)  # half as much to fetch as int64
        self.late = np.zeros(n if average else 0)
        self.tally = np.zeros(3, dtype=np.int64)
        self.record = -1 if pocket else NEVER
        self.average, self.pocket = average, pocket
        self.best_right = -1.0
        self.best: tuple[Any, np.ndarray] | None = None

    def epoch(self, visits: Visits) -> int:
        """One pass; the number of mistakes."""
        begin, before = 0, self.mistakes
        while True:
            at = self._pass(visits, begin)
            if at < 0:
                raise BadRow(-1 - at)
            if at == len(visits.order):
                return self.mistakes - before
            self.record = int(self.tally[2])
            self._look(visits.order)
            begin = at

    @property
    def mistakes(self) -> int:
        """Updates made so far."""
        return int(self.tally[0])

    @property
    def seen(self) -> int:
        """Visits made so far; settable, to go on where another machine ended."""
        return int(self.tally[1])

    @seen.setter
    def seen(self, visits: int) -> None:
        self.tally[1] = visits

    def finish(self, rows: np.ndarray) -> None:
        """The last weights compete for the pocket too."""
        if self.pocket:
            self._look(rows)

    @property
    def dual(self) -> np.ndarray:
        """α (n,) of the weights to be used: updates, their average over all visits, or those of the pocket."""
        if self.best is not None:
            return self.best[1]
        if self.average:
            return self.counts - self.late / max(self.seen, 1)
        return self.counts

    def _look(self, rows: np.ndarray) -> None:
        right = self.sign[rows] * self.scores()[rows] > 0
        weight = float(np.sum(self.scale[rows] * right) if len(self.scale) else np.count_nonzero(right))
        if weight > self.best_right:
            self.best_right, self.best = weight, (self._weights(), self.counts.copy())

    def _pass(self, visits: Visits, begin: int) -> int:
        """Visit the rows from ``begin`` on: where it ended, the answer of ``loops.perceptron.dense_pass``."""
        raise NotImplementedError

    def _weights(self) -> Any:
        raise NotImplementedError

    def scores(self) -> FloatArray:
        """f (n,) of every row under the last weights."""
        raise NotImplementedError

    def state(self) -> bytes:
        """The last weights, to be recognised when they come back."""
        raise NotImplementedError


class LinearPerceptronRun(PerceptronRun):
    """w (p+1,), the intercept last; X by rows (``data.orders.row_major``)."""

    def __init__(
        self,
        X: Any,
        sign: np.ndarray,
        scale: FloatArray,
        eta: float,
        start: FloatArray,
        *,
        fit_intercept: bool = True,
        average: bool = False,
        pocket: bool = False,
    ):
        super().__init__(X.shape[0], average, pocket)
        self.X, self.sign, self.scale, self.eta = X, sign, scale, eta
        self.one = 1.0 if fit_intercept else 0.0
        self.start = np.append(start[:-1], self.one * start[-1])
        self.w = self.start.copy()
        self.drift = np.zeros(len(start) if average else 0)

    def _pass(self, visits: Visits, begin: int) -> int:
        X, about = self.X, (self.sign, self.scale, self.eta, self.one)
        kept = (self.w, self.counts, self.drift, self.late, self.tally, self.record)
        if isinstance(X, np.ndarray):
            return int(dense_pass(X, *about, visits.order, visits.fetch, visits.ahead, begin, *kept))
        return int(csr_pass(X.data, X.indices, X.indptr, *about, visits.order, begin, *kept))

    @property
    def chosen(self) -> FloatArray:
        """The weights to be used: the last, their average over all visits, or those of the pocket."""
        if self.best is not None:
            weights: FloatArray = self.best[0]
            return weights
        return self.w - self.drift / max(self.seen, 1) if self.average else self.w

    def _weights(self) -> FloatArray:
        return self.w.copy()

    def scores(self) -> FloatArray:
        return scores_under(self.X, self.w)

    def state(self) -> bytes:
        return self.w.tobytes()


class KernelPerceptronRun(PerceptronRun):
    """The dual form: f_j = Σ_i c_i (k(x_i, x_j) + 1), c_i = η α_i s_i y_i; ``row(i)`` gives k(x_i, ·) (n,)."""

    def __init__(
        self,
        row: Callable[[int], FloatArray],
        sign: np.ndarray,
        scale: FloatArray,
        eta: float,
        start: FloatArray,
        *,
        fit_intercept: bool = True,
        average: bool = False,
        pocket: bool = False,
    ):
        super().__init__(len(sign), average, pocket)
        self.row, self.sign, self.scale, self.eta = row, sign, scale, eta
        self.one = 1.0 if fit_intercept else 0.0
        self.start, self.f = start, start.copy()

    def _pass(self, visits: Visits, begin: int) -> int:
        order, at = visits.order, begin
        while True:
            found = int(next_mistake(self.f, self.sign, order, at))
            self.tally[1:] += found - at
            if found == len(order):
                return found
            i = int(order[found])
            if not np.isfinite(self.f[i]):
                return -1 - i
            if self.tally[2] > self.record:
                return found
            at = found + 1
            move = self.eta * float(self.sign[i]) * (float(self.scale[i]) if len(self.scale) else 1.0)
            step = move * self.row(i)  # the long part, before anything is changed
            step += move * self.one
            self.f += step
            self.counts[i] += 1
            if self.average:
                self.late[i] += self.tally[1]
            self.tally += 1
            self.tally[2] = 0

    def _weights(self) -> FloatArray:
        return self.f.copy()

    def scores(self) -> FloatArray:
        return self.f

    def state(self) -> bytes:
        return self.f.tobytes()


def scores_under(X: Any, w: FloatArray) -> FloatArray:
    """w·x_i + b in double precision, by tiles on the engine's threads."""

    def part(cells: Any) -> FloatArray:
        if isinstance(cells, np.ndarray):
            scores: FloatArray = dense_scores(cells, w)
            return scores
        return np.asarray(cells @ w[:-1], dtype=np.float64) + w[-1]

    return over_rows(part, X)


@dataclass(frozen=True)
class Epochs:
    """How the epochs went: mistakes of each, what ended them, and what is known of separability.

    ``separable``: True, False (``proof`` says why, where one was found) or None, not known.
    """

    mistakes: np.ndarray
    ended: str  # "separated", "repeated", "not separable", "stalled", "max_iter", "interrupted"
    stopped_by: str
    separable: bool | None = None
    proof: Contradiction | None = None


def train(
    machine: PerceptronRun,
    visits: Callable[[int], Visits],
    *,
    max_iter: int,
    tol: float | None,
    patience: int,
    ask: Callable[[PerceptronRun], Contradiction | bool | None],
    cancelled: Callable[[np.ndarray], Contradiction | None],
    cyclic: bool,
    verbose: int = 0,
    halt: list[bool] | None = None,
) -> Epochs:
    """Epochs until something ends them.

    ``visits(epoch)`` gives the order; ``ask`` says whether the rows can be separated (a proof that not, False that
    they can, None unknown) and is asked once: when ``patience`` epochs in a row have not lowered the mistakes by
    ``tol`` of the visits, or at the end. ``cancelled`` makes a proof of updates that cancelled.
    """
    path: list[int] = []
    kept: dict[bytes, tuple[int, np.ndarray | None]] = {}
    best, idle = np.inf, 0
    known: bool | None = None
    already = machine.mistakes

    def course(ended: str, stopped_by: str, proof: Contradiction | None = None) -> Epochs:
        separable = True if ended == "separated" else False if proof is not None else known
        return Epochs(np.array(path, dtype=np.int64), ended, stopped_by, separable, proof)

    with until_interrupted():
        for epoch in range(1, max_iter + 1):
            if halt:
                return course("interrupted", "interrupted")
            check()
            order = visits(epoch)
            mistakes = machine.epoch(order)
            path.append(mistakes)
            if verbose:
                print(
                    f"  epoch {epoch:4d}   {mistakes} mistakes in {len(order.order)} visits", file=sys.stderr
                )
            if mistakes == 0:
                return course("separated", "an epoch without a mistake")
            earlier = _noted(kept, machine, epoch)
            if earlier is not None:
                since, counts = earlier
                proof = None if counts is None else cancelled(machine.counts - counts)
                if proof is not None or cyclic:
                    words = f"the weights at the end of epoch {since} came back in epoch {epoch}"
                    known = False
                    return course("repeated", words, proof or _proof(ask(machine)))
            idle = idle + 1 if mistakes > best - (tol or 0.0) * len(order.order) else 0
            best = min(best, mistakes)
            if tol is not None and idle >= patience and known is None:
                answer = ask(machine)
                if isinstance(answer, Contradiction):
                    return course("not separable", "proof that nothing separates the rows", answer)
                if answer is None:
                    return course("stalled", f"mistakes no longer fall by tol (in {patience} epochs)")
                known = True
        proof = None
        if known is None:
            answer = ask(machine)
            proof, known = _proof(answer), answer is False or None
        return course("max_iter", "max_iter reached", proof)
    rest = machine.mistakes - already - sum(path)
    if rest:  # of an epoch that has not been noted
        path.append(rest)
    return course("interrupted", "interrupted")


def _noted(
    kept: dict[bytes, tuple[int, np.ndarray | None]], machine: PerceptronRun, epoch: int
) -> tuple[int, np.ndarray | None] | None:
    """The earlier epoch that ended in these weights and its counts, else None and the epoch is noted."""
    key = hashlib.blake2b(machine.state(), digest_size=16).digest()
    if key in kept:
        return kept[key]
    room = len(machine.counts) * (len(kept) + 1) <= SNAPSHOTS
    kept[key] = epoch, machine.counts.copy() if room else None
    return None


def _proof(answer: Contradiction | bool | None) -> Contradiction | None:
    return answer if isinstance(answer, Contradiction) else None


@dataclass(frozen=True)
class MistakeBound:
    """‖w_start/η − (R²/γ) w*‖²/R²: ``value``, with the ``radius`` R and ``margin`` γ it is made of.

    ``largest``: whether γ is the largest margin (to nine digits), else it is that of the weights found.
    """

    value: float
    radius: float
    margin: float
    largest: bool

    def sentence(self, mistakes: int) -> str:
        which = "the largest margin" if self.largest else "the margin of the weights found"
        verdict = "" if mistakes <= self.value else " — the count exceeds it: rounding has spoiled the margin"
        return (
            f"{mistakes} mistakes, at most (R/γ)² = {self.value:.6g} with R = {self.radius:.4g} and "
            f"γ = {self.margin:.4g}, {which}{verdict}"
        )


def mistake_bound(
    Z: FloatArray | None,
    radius: float,
    found: tuple[FloatArray, float] | None,
    start: FloatArray,
    work: float,
) -> MistakeBound | None:
    """The bound for rows z_i = s_i y_i (x_i, 1) of length at most ``radius``.

    ``Z`` (n, q) where the largest margin is worth looking for with ``work`` products, ``found`` a unit direction and
    its margin, ``start`` = w_start/η. None where no positive margin is known.
    """
    best, largest = found, False
    if Z is not None:
        wolfe = maximum_margin(Z, most=max(20, int(work / max(Z.size, 1))))
        if best is None or wolfe.low > best[1]:
            best = wolfe.direction, wolfe.low
            largest = wolfe.low >= (1 - 1e-8) * wolfe.high
    if best is None or not best[1] > 0:
        return None
    direction, margin = best
    ratio = radius / margin
    value = float(start @ start) / radius**2 - 2.0 * float(direction @ start) / margin + ratio**2
    return MistakeBound(value, radius, margin, largest)


def linear_bound(
    machine: LinearPerceptronRun, rows: np.ndarray, epochs: int, *, reached: bool = True
) -> MistakeBound | None:
    """The mistake bound of rows that can be separated; ``reached``: and the machine's last weights do."""
    X = machine.X if len(rows) == machine.X.shape[0] else machine.X[rows]
    factor = machine.sign[rows] * (machine.scale[rows] if len(machine.scale) else 1.0)
    found = None
    if reached:
        length = float(np.linalg.norm(machine.w))
        found = machine.w / length, float((factor * scores_under(X, machine.w)).min()) / length
    radius = float(np.sqrt((factor**2 * (_squares(X) + machine.one)).max()))
    cells = len(rows) * (X.shape[1] + 1)
    work = EXACT_WORK + 0.5 * epochs * cells
    Z = None
    if cells <= min(EXACT_CELLS, work / 20):
        dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
        Z = factor[:, None] * np.column_stack([dense, np.full(len(dense), machine.one)])
    return mistake_bound(Z, radius, found, machine.start / machine.eta, work)


def _squares(X: Any) -> FloatArray:
    """‖x_i‖² of each row."""
    if isinstance(X, np.ndarray):
        return over_rows(lambda cells: np.einsum("ij,ij->i", cells, cells, dtype=np.float64), X)
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
