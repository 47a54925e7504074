"""The null rival: answers zero at once. Its time is the harness's own cost, its log loss log K."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.model import Task
from benchmarks.peers.base import LOGISTIC, NAIVE_BAYES, EstimatorPeer


class Zeros:
    """A classifier that has learned nothing, whichever attributes it is asked for."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def fit(self, X: Any, y: Any) -> Zeros:
        """Zeros of the right shape."""
        k = self.n_classes
        zeros = np.zeros((k, X.shape[1]))
        rows = 1 if k == 2 else k
        self.coef_, self.intercept_ = zeros[:rows], np.zeros(rows)
        self.feature_log_prob_, self.class_log_prior_ = zeros, np.zeros(k)
        self.class_prior_, self.theta_, self.var_ = np.full(k, 1 / k), zeros, zeros + 1.0
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The first class for everyone."""
        return np.zeros(X.shape[0], dtype=np.intp)

    def score(self, X: Any, y: np.ndarray) -> float:
        """The share of the first class."""
        return float(np.mean(y == 0))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Zeros, not even probabilities."""
        return np.zeros((X.shape[0], self.n_classes))


class Null(EstimatorPeer):
    """Takes part in everything and never counts."""

    name = "null"
    module = "numpy"
    distribution = "numpy"
    kinds = LOGISTIC | NAIVE_BAYES | {"lda"}
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
