"""libsvm-official: `-s 0` (C-SVC) and `-s 3` (ε-SVR) with the RBF kernel, as its own Python interface gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.model import KernelAnswer, Task
from benchmarks.objective import rbf_gamma
from benchmarks.peers.base import KERNEL, Peer


class Libsvm(Peer):
    """Kernel machines; conversion to its node arrays is not timed."""

    name = "libsvm"
    module = "libsvm"
    distribution = "libsvm-official"
    kinds = KERNEL
    note = "conversion to its own format not timed"

    def prepare(self, X: Any, y: np.ndarray, task: Task) -> tuple[Any, Any]:
        """Its problem structure, of rows sorted by class, since it numbers classes as they come; and their order."""
        from libsvm.svmutil import svm_problem

        order = np.arange(len(y)) if task.kind == "svr_rbf" else np.argsort(y, kind="stable")
        return svm_problem(y[order].astype(np.float64), X[order]), (order, rbf_gamma(X, task.gamma))

    def fit(self, X: Any, y: Any, task: Task) -> KernelAnswer:
        """Train with the default tolerance and a cache of 200 MB, as scikit-learn has."""
        from libsvm.svmutil import svm_train

        order, gamma = y
        kind = "-s 0" if task.kind == "svc_rbf" else "-s 3 -p 0.1"
        model = svm_train(X, f"{kind} -t 2 -c {task.C!r} -g {gamma!r} -m 200 -q")
        support = order[np.array(model.get_sv_indices()) - 1]
        sign = (
            -1.0 if task.kind == "svc_rbf" and task.n_classes == 2 else 1.0
        )  # the first class is its positive one
        pairs = task.n_classes * (task.n_classes - 1) // 2
        return KernelAnswer(
            sign * np.array(model.get_sv_coef()).T,
            support,
            -sign * np.array([model.rho[i] for i in range(pairs)]),
        )
