"""The learners of boosting's rounds: each is given the rows' weights, and says what it makes of every row.

    stumps         one table, laid out once, searched exactly in every round
    any learner    by its sample_weight; where it takes none, n rows drawn by D_t

Notes [6321] "Weak learners", "AdaBoost". Row E2 of the specification. Cost: a fit of the learner a round.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from separatrix.core.numerics import FloatArray
from separatrix.growth.stumps import StumpTable
from separatrix.models.ensemble.stump import DecisionStump
from separatrix.models.ensemble.weighted_votes import codes_of
from separatrix.solve.sequential import keyed_generator

REDRAWS = 50  # samples drawn until two classes are among the rows


class WeakLearner(Protocol):
    """What a round asks for. ``rows``: the places of its rows in the table given; ``cls``: their classes (n,)."""

    rows: np.ndarray
    cls: np.ndarray
    resampled: bool

    def learn(self, t: int, w: np.ndarray, total: int) -> tuple[Any, np.ndarray]:
        """The learner of round t from weights w in whole units of ``total``, and the class it gives each row."""

    def said(self, learner: Any) -> np.ndarray:
        """The class a learner of an earlier round gives each row."""

    def no_edge(self, error: float, K: int) -> str:
        """Why the first round failed, and the way out."""


class StumpLearner:
    """Stumps from one table laid out once."""

    resampled = False

    def __init__(self, table: StumpTable, reader: DecisionStump):
        self.table, self.reader = table, reader
        self.rows, self.cls = table.rows, table.cls

    def learn(self, t: int, w: np.ndarray, total: int) -> tuple[DecisionStump, np.ndarray]:
        found, left, _ = self.table.best(w)
        stump = copy(self.reader)
        stump.stump_ = found
        return stump, np.where(left, found.left, found.right)

    def said(self, stump: DecisionStump) -> np.ndarray:
        return np.asarray(stump._winner(self.table.X)[self.rows])

    def no_edge(self, error: float, K: int) -> str:
        return (
            f"no stump does better than chance in the first round (weighted error {error:.3g}): the columns tell "
            "nothing one at a time. Add columns (products, differences), or boost deeper learners"
        )


class AnyLearner:
    """Any classifier, by its sample_weight, or on rows drawn by D_t where it takes none."""

    def __init__(
        self, model: Any, classes: np.ndarray, seed: int, cells: Any, rows: np.ndarray, cls: np.ndarray
    ):
        self.model, self.classes, self.seed = model, classes, seed
        self.cells, self.rows, self.cls = cells, rows, cls
        self.labels = classes[cls]
        self.resampled = not has_fit_parameter(model, "sample_weight")
        self.name = type(model).__name__

    def learn(self, t: int, w: np.ndarray, total: int) -> tuple[Any, np.ndarray]:
        h = clone(self.model)
        seeded = [k for k in h.get_params() if k == "random_state" or k.endswith("__random_state")]
        h.set_params(**{k: self._drawn(t) for k in seeded})
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
        return h, codes_of(self.classes, said).astype(np.int64)

    def said(self, h: Any) -> np.ndarray:
        return codes_of(self.classes, h.predict(self.cells))

    def no_edge(self, error: float, K: int) -> str:
        return (
            f"the base learner {self.name} does no better than chance in the first round (weighted error "
            f"{error:.3g}, chance {1 - 1 / K:.3g}): BaseClassifier in AdaBoostClassifier ensemble is worse than "
            "random, ensemble can not be fit. Use a learner that can tell the classes apart on the training rows, "
            "such as DecisionStump()"
        )

    def _drawn(self, t: int) -> int:
        return int(keyed_generator(self.seed, "boosting", t).integers(2**31))

    def _sample(self, t: int, D: FloatArray) -> np.ndarray:
        rng = keyed_generator(self.seed, "boosting rows", t)
        for _ in range(REDRAWS):
            some = rng.choice(len(D), len(D), p=D / D.sum())
            if len(np.unique(self.cls[some])) > 1:
                break
        return np.sort(some)
