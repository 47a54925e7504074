"""scikit-learn-intelex, imported directly: `patch_sklearn` would change the sklearn participant too."""

from __future__ import annotations

from typing import Any

from benchmarks.model import Task
from benchmarks.peers.base import EstimatorPeer
from benchmarks.peers.sklearn import MAX_ITER


class Sklearnex(EstimatorPeer):
    """`sklearnex.linear_model.LogisticRegression` (lbfgs on oneDAL's gradients)."""

    name = "sklearnex"
    module = "sklearnex"
    distribution = "scikit-learn-intelex"
    cold_start = "from sklearnex.linear_model import LogisticRegression as Model"

    def declines(self, task: Task) -> str | None:
        """Sparse data on a CPU run scikit-learn's code (its log says so): that would be sklearn twice."""
        if task.sparse:
            return "falls back to scikit-learn on sparse data"
        return super().declines(task)

    def make(self, task: Task) -> Any:
        """The unfitted estimator."""
        from sklearnex.linear_model import LogisticRegression

        return LogisticRegression(C=task.C, max_iter=MAX_ITER)
