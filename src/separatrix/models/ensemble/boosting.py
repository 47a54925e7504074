"""The rounds of AdaBoost ([6321] "AdaBoost"; formulas in :mod:`separatrix.models.ensemble.adaboost`).

    D_{t+1}(i) = D_t(i) e^{∓α_t} / Z_t,     − where h_t(x_i) = y_i

D is repeats · unit: sample weights that are whole numbers are repeats, and unit depends on the row's history alone.
Sums over D are taken in whole units of 2⁻⁶², so ε_t and all that follows do not depend on the order of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.interrupts import check, until_interrupted
from separatrix.growth.stumps import UNITS, in_units, whole_weights
from separatrix.loops.stumps import advance, snap, wrong_weight
from separatrix.models.ensemble.weak_learners import WeakLearner
from separatrix.models.ensemble.weighted_votes import margins_of

EDGE = 1e-12  # an edge over chance below this is rounding
HALF, FEW, STUCK = 0.5, 0.15, 2 / 3  # half the weight on few of the rows, most of them still wrong …
LONG, MANY = 10, 50  # … after this many rounds, of this many rows
NAMED = 10  # rows a warning names


class Round(NamedTuple):
    """h_t, ε_t, α_t, Z_t, the training error after it, and D_t where asked for."""

    learner: Any
    error: float
    alpha: float
    normalizer: float
    train_error: float
    weights: FloatArray | None


@dataclass
class Course:
    """What the rounds left behind; ``rows``: the place of each row in the table given."""

    rows: np.ndarray
    rounds: list[Round] = field(default_factory=list)
    ended: str = "every round run"
    margin: float = np.nan
    tightest: int = -1
    hard: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    few: str | None = None

    def told(self, asked: int) -> str:
        ran = len(self.rounds)
        rounds = f"{ran} of {asked} rounds were run"
        if self.ended == "no edge":
            return f"{rounds}: the next learner has no edge over chance, so it was left out"
        if self.ended == "perfect learner":
            return f"{rounds}: learner {ran} makes no error in training and decides alone"
        if self.ended == "interrupted":
            return f"{rounds}: interrupted, the rounds so far are kept"
        return f"all {asked} rounds were run" if asked > 1 else "the one round asked for was run"


def boost(
    learner: WeakLearner,
    K: int,
    weight: FloatArray | None,
    factor: FloatArray | None,
    *,
    rounds: int,
    learning_rate: float,
    keep_weights: bool,
) -> Course:
    """The rounds. Rows are in the learner's order; D = repeats · unit, in whole units for the sums.

    ``weight`` (n,) of the rows; ``factor`` (K,): by which those of the classes' rows are multiplied.
    """
    cls, course = learner.cls, Course(learner.rows)
    repeats, unit = whole_weights(weight, len(cls))
    if factor is not None:
        unit = unit * factor[cls]
        unit /= (repeats * unit).sum()
    first = repeats * unit
    w = in_units(repeats, unit)
    votes, carried, spent = np.zeros((len(cls), K)), np.zeros(len(cls)), 0.0
    with until_interrupted() as watch:
        for t in range(rounds):
            check()
            total = int(w.sum())
            h, said = learner.learn(t, w, total)
            lost, count = wrong_weight(said, cls, w)
            error = int(lost) / total
            if count and not lost:  # weights too small to be counted
                error = float((repeats * unit)[said != cls].sum())
            if K > 1 and error >= 1.0 - 1.0 / K - EDGE:
                if t == 0:
                    raise ValueError(learner.no_edge(error, K))
                course.ended = "no edge"
                break
            alpha = 0.5 + spent / 2  # without an error: more than all before
            if error > 0:
                alpha = 0.5 * learning_rate * (np.log((1 - error) / error) + np.log(K - 1))
            keep, grow = np.exp(-alpha), np.exp(alpha)
            Z = (1 - error) * keep + error * grow if error > 0 else 0.0
            scale = UNITS / total / Z if Z > 0 else 1.0
            weights = w / total if keep_weights else None
            late = 1.0 / total if t >= rounds // 2 else 0.0
            spent += 2 * alpha
            wrong = advance(
                said, cls, unit, repeats, keep * scale, grow * scale, 2 * alpha, spent, UNITS, first, votes, w,
                carried, late,
            )  # fmt: skip
            course.rounds.append(Round(h, error, float(alpha), float(Z), float(wrong), weights))
            if error == 0:
                course.ended = "perfect learner"
                break
    if watch.interrupted:
        if not course.rounds:
            raise KeyboardInterrupt
        course.ended = "interrupted"
        votes[:] = 0.0  # a round that was under way may have voted
        for r in course.rounds:
            votes[np.arange(len(cls)), learner.said(r.learner)] += 2 * r.alpha
        spent = sum(2 * r.alpha for r in course.rounds)
    snap(votes, spent)
    _look(course, votes, cls, spent, carried)
    return course


def _look(course: Course, votes: FloatArray, cls: np.ndarray, spent: float, carried: FloatArray) -> None:
    """The smallest margin, and the rows that carry the weight."""
    margins = margins_of(votes, cls, spent)
    at = int(margins.argmin())
    course.margin, course.tightest = float(margins[at]), int(course.rows[at])
    total = carried.sum()
    if not total > 0:
        return
    order = np.argsort(-carried, kind="stable")
    count = int(np.searchsorted(np.cumsum(carried[order]), HALF * total)) + 1
    course.hard = course.rows[order[:count]]
    n, wrong = len(cls), margins[order[:count]] < 0
    if count <= FEW * n and wrong.mean() >= STUCK and len(course.rounds) >= LONG and n >= MANY:
        named = ", ".join(str(r) for r in course.hard[:NAMED])
        more = f" and {count - NAMED} more" if count > NAMED else ""
        course.few = (
            f"{count} of {n} rows carry half of the weight in the later rounds and most of them stay wrong: rows "
            f"{named}{more}"
        )
