"""statsmodels: Logit by Newton, maximum likelihood without a penalty, so a neighbouring problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.model import LinearAnswer, Task
from benchmarks.peers.base import Peer, dense_and_narrow

MOST_CELLS = 50_000_000  # it copies the design matrix several times


class Statsmodels(Peer):
    """Two classes, dense, moderate size."""

    name = "statsmodels"
    module = "statsmodels"
    distribution = "statsmodels"
    kinds = frozenset({"logistic"})
    counts = False
    note = "no penalty: another objective"

    def declines(self, task: Task) -> str | None:
        """Dense and binary only."""
        if task.kind == "logistic" and task.n_classes > 2:
            return "its MNLogit has no penalty and a (Kp)² Hessian"
        if task.sparse:
            return "takes no sparse data"
        if task.n * task.p > MOST_CELLS:
            return f"too large for it ({task.n * task.p:,} cells)"
        return super().declines(task) or dense_and_narrow(task, 2_000)

    def fit(self, X: Any, y: Any, task: Task) -> LinearAnswer:
        """Fit with an added constant column, its own advice."""
        from statsmodels.api import Logit, add_constant

        params = np.asarray(Logit(y, add_constant(X, has_constant="add")).fit(disp=0).params)
        return LinearAnswer(params[None, 1:], params[:1])
