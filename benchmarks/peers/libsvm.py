"""libsvm-official: `-s 0` (C-SVC) and `-s 3` (ε-SVR) with the RBF kernel, as its own Python interface gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.model import KernelAnswer, Task
from benchmarks.peers.base import KERNEL, Peer


class Libsvm(Peer):
    """Kernel machines; conversion to its node arrays is not timed."""

    name = "libsvm"
    module = "libsvm"
    distribution = "libsvm-official"
    kinds = KERNEL
    note = "conversion to its own format not timed"

    def prepare(self, X: Any, y: np.ndarray, task: Task) -> tuple[Any, Any]:
        """Its problem structure, and gamma="scale"."""
        from libsvm.svmutil import svm_problem

        return svm_problem(y.astype(np.float64), X), 1.0 / (X.shape[1] * X.var())

    def fit(self, X: Any, y: Any, task: Task) -> KernelAnswer:
        """Train with the default tolerance and a cache of 200 MB, as scikit-learn has."""
        from libsvm.svmutil import svm_train

        kind = "-s 0" if task.kind == "svc_rbf" else "-s 3 -p 0.1"
        model = svm_train(X, f"{kind} -t 2 -c {task.C!r} -g {float(y)!r} -m 200 -q")
        dual = np.array(model.get_sv_coef()).ravel()
        support = np.array(model.get_sv_indices()) - 1
        sign = (
            -1.0 if task.kind == "svc_rbf" and model.get_labels()[0] == 0 else 1.0
        )  # the first label seen is +
        return KernelAnswer(sign * dual, support, -sign * float(model.rho[0]))
