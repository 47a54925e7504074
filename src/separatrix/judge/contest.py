"""What is compared:  a table, models, the folds on which all of them are judged, and a step of the work. Row V1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.judge.candidates import Candidate
from separatrix.judge.facts import TableFacts
from separatrix.judge.fits import answers
from separatrix.judge.folds import Split, sample, strata_of
from separatrix.judge.scores import METRICS, metrics_of, scores_of

# of classes, and of numbers: they cost nothing, and do not win by default of others
FLOORS = ("majority", "mean")
LADDER = (250, 1_000, 4_000, 16_000, 64_000, 256_000)  # rows of training on the way to all of them
LARGE = 2_000  # rows of training, from which there is a ladder
JUDGED = 2  # rows judged for each row of training, at most, where not all are trained on
GROUPS = 20  # parts of the judged rows, left out in turn, that say how sure a score of one fold is


class Step(NamedTuple):
    """A fit and its answers: a model, with its usual settings or tuned, on ``rows`` of a split's training rows."""

    model: str
    tuned: bool
    split: int
    rows: int


@dataclass(frozen=True, eq=False)
class FoldResult:
    """A model on a split.

    model, split : whose, and where
    scores : by metric
    seconds : of the fit
    predicted, P : answers (m,), and probabilities (m, K) or None
    test : rows judged (m,)
    rows : rows of training
    tuned : whether settings were chosen, inside the training rows
    took : seconds of the fit and the answers together
    codes, cost : of the rows judged, and the costs
    """

    model: str
    split: int
    scores: Mapping[str, float]
    seconds: float
    predicted: np.ndarray
    P: FloatArray | None
    test: np.ndarray
    rows: int
    tuned: bool
    took: float
    codes: np.ndarray
    cost: FloatArray | None
    positive: int | None = None

    @cached_property
    def _kept(self) -> dict[tuple[str, int], FloatArray]:
        return {}

    def without_parts(self, metric: str, rows: np.ndarray | None = None) -> FloatArray:
        """The score without each of GROUPS parts of the rows judged, in turn: a jackknife. NaN where it has none.

        ``rows``: those of them that count, by their numbers in the table; None for all.
        """
        of = len(self.test) if rows is None else len(rows)
        if (metric, of) not in self._kept:
            counted = np.isin(self.test, self.test if rows is None else rows)
            parts = min(GROUPS, of)
            place = (np.cumsum(counted) - 1) % parts
            scores = [self._score(metric, counted & (place != g)) for g in range(parts)]
            self._kept[metric, of] = np.array(scores)
        return self._kept[metric, of]

    def score_on(self, metric: str, rows: np.ndarray) -> float:
        """The score on some of the rows judged, by their numbers in the table."""
        if len(rows) == len(self.test):
            return self.scores[metric]
        return self._score(metric, np.isin(self.test, rows))

    def _score(self, metric: str, kept: np.ndarray) -> float:
        found = METRICS[metric]
        P = None if self.P is None else self.P[kept]
        if not kept.any() or (P is None and found.needs != "labels"):
            return float("nan")
        if found.needs == "cost":
            return float("nan") if self.cost is None else float(found.of(self.codes[kept], P, self.cost))
        return found.value(
            self.codes[kept], self.predicted[kept] if found.needs == "labels" else P, self.positive
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Contest:
    """Models on folds of a table.

    facts, X, labels, codes : the table (n, p), its labels (n,) and the number of each row's
    candidates : by name
    splits : in order of repetition
    metric, scoring : what ranks, and what the search for settings looks at
    cost : (K, K) or None
    seed : of the models
    positive : the class of two that precision, recall and F₁ are of
    remarks : sentences for the outcome
    """

    facts: TableFacts
    X: Any
    labels: np.ndarray
    codes: np.ndarray
    candidates: Mapping[str, Candidate]
    splits: Sequence[Split]
    metric: str
    scoring: str
    cost: FloatArray | None
    seed: int
    positive: int | None = None
    remarks: tuple[str, ...] = ()

    @property
    def numbers(self) -> bool:
        """Whether numbers are predicted, not classes; ``codes`` are then those numbers."""
        return self.facts.task == "numbers"

    @property
    def floor(self) -> str:
        return FLOORS[self.numbers]

    @cached_property
    def strata(self) -> np.ndarray:
        """What samples hold in proportion: classes, or tenths of the numbers."""
        return strata_of(self.codes) if self.numbers else self.codes

    def answers(self, model: Any, X: Any) -> tuple[np.ndarray, FloatArray | None]:
        """The number of each answer's class, and P or None; or the numbers predicted."""
        if self.numbers:
            return np.asarray(model.predict(X), dtype=float), None
        return answers(model, X, self.facts.classes)

    def scores(self, codes: np.ndarray, predicted: np.ndarray, P: FloatArray | None) -> dict[str, float]:
        """Every metric of the task."""
        if self.numbers:
            return {name: metric.value(codes, predicted) for name, metric in metrics_of("numbers").items()}
        return scores_of(codes, predicted, P, self.cost, self.positive)

    @property
    def folds(self) -> int:
        """Splits of one repetition."""
        return max(sum(s.repeat == self.splits[0].repeat for s in self.splits), 1)

    def made(self, name: str, tuned: bool = True) -> Any:
        """The model, not yet fitted: its tuning around it, or as it usually is."""
        candidate = self.candidates[name]
        make = candidate.make if tuned else candidate.usual
        return make(self.facts, self.seed, self.scoring)

    def rungs(self, split: int = 0) -> list[int]:
        """Numbers of rows of training, fewest first: the ladder as far as half of them, then all.

        They depend on the table alone, so that the same rows are met whatever the machine and the budget.
        """
        most = len(self.splits[split].train)
        return [rows for rows in LADDER if 2 * rows <= most and most >= LARGE] + [most]

    def rows_of(self, step: Step) -> tuple[np.ndarray, np.ndarray]:
        """(rows of training, rows judged) of a step: all of the split's, or a part of each, classes in proportion."""
        split = self.splits[step.split]
        if step.rows >= len(split.train):
            return split.train, split.test
        few = split.train[sample(self.strata[split.train], step.rows, self.seed)]
        if self.most(step.model) <= step.rows:  # it is never fitted to more, so these are its folds
            return few, split.test
        return few, split.test[sample(self.strata[split.test], JUDGED * step.rows, self.seed)]

    def most(self, name: str) -> int:
        """Rows of training that a model is given at most."""
        return self.candidates[name].most_rows or self.facts.n
