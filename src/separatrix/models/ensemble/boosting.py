"""The rounds of AdaBoost, and the learners that take part ([6321] "AdaBoost"; formulas in ``models.adaboost``).

    D_{t+1}(i) = D_t(i) e^{∓α_t} / Z_t,     − where h_t(x_i) = y_i

D is repeats · unit: sample weights that are whole numbers are repeats, and unit depends on the row's history alone.
Sums over D are taken in whole units of 2⁻⁶², so ε_t and all that follows do not depend on the order of rows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from separatrix.core.numerics import FloatArray
from separatrix.data.interrupts import check, until_interrupted
from separatrix.growth.stumps import UNITS, StumpTable, in_units, whole_weights
from separatrix.loops.stumps import advance, snap, wrong_weight
from separatrix.models.parameters import seed_of
from separatrix.solve.sequential import keyed_generator

EDGE = 1e-12  # an edge over chance below this is rounding
REDRAWS = 50  # samples drawn until two classes are among the rows
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


def boost(model: Any, learner: Any, weight: FloatArray | None, factor: FloatArray | None = None) -> Course:
    """The rounds. Rows are in the learner's order; D = repeats · unit, in whole units for the sums.

    ``factor`` (K,): by which the weights of the classes' rows are multiplied.
    """
    K, nu, T = len(model.classes_), float(model.learning_rate), int(model.n_estimators)
    cls, course = learner.cls, Course(learner.rows)
    repeats, unit = whole_weights(weight, len(cls))
    if factor is not None:
        unit = unit * factor[cls]
        unit /= (repeats * unit).sum()
    first = repeats * unit
    w = in_units(repeats, unit)
    votes, carried, spent = np.zeros((len(cls), K)), np.zeros(len(cls)), 0.0
    with until_interrupted() as watch:
        for t in range(T):
            check()
            total = int(w.sum())
            h, said = learner.learn(t, w, total)
            lost, count = wrong_weight(said, cls, w)
            error = int(lost) / total
            if count and not lost:  # weights too small to be counted
                error = float((repeats * unit)[said != cls].sum())
            if K > 1 and error >= 1.0 - 1.0 / K - EDGE:
                if t == 0:
                    raise ValueError(_worse(learner, error, K))
                course.ended = "no edge"
                break
            alpha = 0.5 * nu * (np.log((1 - error) / error) + np.log(K - 1)) if error > 0 else 0.5 + spent / 2
            keep, grow = np.exp(-alpha), np.exp(alpha)
            Z = (1 - error) * keep + error * grow if error > 0 else 0.0
            scale = UNITS / total / Z if Z > 0 else 1.0
            weights = w / total if model.keep_weights else None
            late = 1.0 / total if t >= T // 2 else 0.0
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


@dataclass
class StumpLearner:
    """Stumps from one table laid out once."""

    table: StumpTable
    reader: Any
    resampled: bool = False

    def __post_init__(self) -> None:
        self.rows, self.cls = self.table.rows, self.table.cls
        self.name = "DecisionStump"

    def learn(self, t: int, w: np.ndarray, total: int) -> tuple[Any, np.ndarray]:
        found, left, _ = self.table.best(w)
        stump = copy(self.reader)
        stump.stump_ = found
        return stump, np.where(left, found.left, found.right)

    def said(self, stump: Any) -> np.ndarray:
        return np.asarray(stump._winner(self.table.X)[self.rows])


class AnyLearner:
    """Any classifier, by its sample_weight, or on rows drawn by D_t where it takes none."""

    def __init__(self, model: Any, cells: Any, rows: np.ndarray, cls: np.ndarray):
        self.model, self.cells, self.rows, self.cls = model, cells, rows, cls
        self.labels = model.classes_[cls]
        self.resampled = not has_fit_parameter(model.estimator_, "sample_weight")
        self.seed = seed_of(model.random_state)
        self.name = type(model.estimator_).__name__

    def learn(self, t: int, w: np.ndarray, total: int) -> tuple[Any, np.ndarray]:
        h = clone(self.model.estimator_)
        draws = {
            k: self._drawn(t) for k in h.get_params() if k == "random_state" or k.endswith("__random_state")
        }
        h.set_params(**draws)
        D = w / total
        try:
            if self.resampled:
                some = self._sample(t, D)
                h.fit(_safe_indexing(self.cells, some), self.labels[some])
            else:
                h.fit(self.cells, self.labels, sample_weight=D)
            said = h.predict(self.cells)
        except ValueError as error:
            raise ValueError(f"the base learner {self.name} refused round {t + 1}: {error}") from error
        return h, codes_of(self.model.classes_, said).astype(np.int64)

    def said(self, h: Any) -> np.ndarray:
        return codes_of(self.model.classes_, h.predict(self.cells))

    def _drawn(self, t: int) -> int:
        return int(keyed_generator(self.seed, "boosting", t).integers(2**31))

    def _sample(self, t: int, D: FloatArray) -> np.ndarray:
        rng = keyed_generator(self.seed, "boosting rows", t)
        for _ in range(REDRAWS):
            some = rng.choice(len(D), len(D), p=D / D.sum())
            if len(np.unique(self.cls[some])) > 1:
                break
        return np.sort(some)


def _worse(learner: Any, error: float, K: int) -> str:
    if isinstance(learner, StumpLearner):
        return (
            f"no stump does better than chance in the first round (weighted error {error:.3g}): the columns tell "
            "nothing one at a time. Add columns (products, differences), or boost deeper learners"
        )
    return (
        f"the base learner {learner.name} does no better than chance in the first round (weighted error {error:.3g}, "
        f"chance {1 - 1 / K:.3g}): BaseClassifier in AdaBoostClassifier ensemble is worse than random, ensemble can "
        "not be fit. Use a learner that can tell the classes apart on the training rows, such as DecisionStump()"
    )


def codes_of(classes: np.ndarray, labels: Any) -> np.ndarray:
    """Indices of predicted labels into ``classes``.

    >>> codes_of(np.array(["a", "b"]), ["b", "a"]).tolist()
    [1, 0]
    """
    labels = np.asarray(labels)
    if classes.dtype.kind != "O":
        order = np.argsort(classes, kind="stable")  # they may have been given other names
        at = np.asarray(order[np.searchsorted(classes[order], labels).clip(0, len(classes) - 1)])
        if (classes[at] == labels).all():
            return at
    place = {v: k for k, v in enumerate(classes.tolist())}
    for v in labels.tolist():
        if v not in place:
            raise ValueError(f"a learner votes for {v!r}, which is not in classes_: {list(place)}")
    return np.array([place[v] for v in labels.tolist()], dtype=np.intp)


def decision(votes: FloatArray, spent: float) -> FloatArray:
    """f normalised by all votes, from votes (n, K): (n,) for two classes, else (n, K) whose rows sum to zero.

    >>> decision(np.array([[1.0, 3.0]]), 4.0), decision(np.array([[1.0, 3.0, 0.0]]), 4.0)
    (array([0.5]), array([[-0.125,  0.625, -0.5  ]]))
    """
    K = votes.shape[1]
    if K == 1:
        return np.zeros((len(votes), 1))
    if K == 2:
        return (votes[:, 1] - votes[:, 0]) / spent
    return (votes - (spent - votes) / (K - 1)) / spent


def log_shares(votes: FloatArray) -> FloatArray:
    """log softmax of the votes."""
    below = votes - votes.max(axis=1, keepdims=True)
    return np.asarray(below - np.log(np.exp(below).sum(axis=1, keepdims=True)))


def margins_of(votes: FloatArray, codes: np.ndarray, spent: float) -> FloatArray:
    """(votes for the row's class − most for another) / all votes.

    >>> margins_of(np.array([[1.0, 3.0]]), np.array([0]), 4.0)
    array([-0.5])
    """
    every = np.arange(len(codes))
    own = votes[every, codes]
    others = votes.copy()
    others[every, codes] = -np.inf if votes.shape[1] > 1 else 0.0
    return np.asarray((own - others.max(axis=1)) / spent)
