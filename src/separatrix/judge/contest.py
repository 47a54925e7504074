"""What is compared:  a table, models, and the folds on which all of them are judged. Row V1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.judge.candidates import Candidate
from separatrix.judge.facts import TableFacts
from separatrix.judge.folds import Split


@dataclass(frozen=True, eq=False)
class FoldResult:
    """A model on a split: its scores, seconds of the fit, answers (m,) and P (m, K), None without probabilities."""

    model: str
    split: int
    scores: Mapping[str, float]
    seconds: float
    predicted: np.ndarray
    P: FloatArray | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Contest:
    """Models on folds of a table.

    facts, X, labels, codes : the table (n, p), its labels (n,) and the number of each row's
    candidates : by name
    splits : in order of repetition
    metric, scoring : what ranks, and what the search for settings looks at
    cost : (K, K) or None
    seed : of the models
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

    @property
    def folds(self) -> int:
        """Splits of one repetition."""
        return max(sum(s.repeat == self.splits[0].repeat for s in self.splits), 1)

    def made(self, name: str) -> Any:
        """The model, its tuning around it, not yet fitted."""
        return self.candidates[name].make(self.facts, self.seed, self.scoring)
