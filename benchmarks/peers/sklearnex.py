"""scikit-learn-intelex, imported directly: `patch_sklearn` would change the sklearn participant too."""

from __future__ import annotations

from typing import Any

from benchmarks.model import Task
from benchmarks.peers.base import KERNEL, LOGISTIC, SCORES, EstimatorPeer, kernel_machine
from benchmarks.peers.sklearn import MAX_ITER


class Sklearnex(EstimatorPeer):
    """`sklearnex.linear_model.LogisticRegression` (lbfgs on oneDAL's gradients)."""

    name = "sklearnex"
    module = "sklearnex"
    distribution = "scikit-learn-intelex"
    kinds = LOGISTIC | KERNEL | SCORES | {"extra_trees", "extra_trees_predict"}
    cold_start = "from sklearnex.linear_model import LogisticRegression as Model"

    def declines(self, task: Task) -> str | None:
        """Where it runs scikit-learn's code it would be sklearn twice.

        So on sparse data on a CPU (its log says so; kernel machines are its own there too), and in models that
        `sklearnex.get_patch_names()` does not list: naive Bayes and discriminants.
        """
        if task.kind not in self.kinds:
            return f"leaves {task.kind.replace('_', ' ')} to scikit-learn"
        own = task.kind in KERNEL | SCORES or not task.sparse
        return None if own else "falls back to scikit-learn on sparse data"

    def make(self, task: Task) -> Any:
        """The unfitted estimator."""
        from sklearnex.linear_model import LogisticRegression

        if task.kind.startswith("extra_trees"):
            from sklearnex.ensemble import ExtraTreesClassifier

            return ExtraTreesClassifier(random_state=0, n_jobs=-1)
        if task.kind in KERNEL | SCORES:
            from sklearnex import svm

            return kernel_machine(svm, task)
        return LogisticRegression(C=task.C, max_iter=MAX_ITER)
