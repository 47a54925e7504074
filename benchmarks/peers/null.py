"""The null rival: answers zero at once. Its time is the harness's own cost, its objective log K."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.model import Task
from benchmarks.peers.base import EstimatorPeer


class Zeros:
    """A classifier that has learned nothing."""

    coef_: np.ndarray
    intercept_: np.ndarray

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def fit(self, X: Any, y: Any) -> Zeros:
        """Zeros of the right shape."""
        rows = 1 if self.n_classes == 2 else self.n_classes
        self.coef_ = np.zeros((rows, X.shape[1]))
        self.intercept_ = np.zeros(rows)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Zeros, not even probabilities."""
        return np.zeros((X.shape[0], self.n_classes))


class Null(EstimatorPeer):
    """Takes part in everything and never counts."""

    name = "null"
    module = "numpy"
    distribution = "numpy"
    counts = False
    note = "harness cost"
    cold_start = (
        "import numpy as np\n"
        "class Model:\n"
        "    def fit(self, X, y):\n"
        "        self.coef_, self.intercept_ = np.zeros((3, X.shape[1])), np.zeros(3)\n"
        "        return self"
    )

    def make(self, task: Task) -> Zeros:
        """The classifier of zeros."""
        return Zeros(task.n_classes)
