"""statsmodels: Logit by Newton, without a penalty and so another objective; GLM by IRLS, with its summary."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.model import LinearAnswer, Task
from benchmarks.peers.base import GLM, Peer, dense_and_narrow

MOST_CELLS = 50_000_000  # it copies the design matrix several times


class Statsmodels(Peer):
    """Two classes, dense, moderate size."""

    name = "statsmodels"
    module = "statsmodels"
    distribution = "statsmodels"
    kinds = GLM | {"logistic"}
    counts = False

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
        """Fit with an added constant column, its own advice; a GLM with its summary."""
        from statsmodels import api

        design = api.add_constant(X, has_constant="add")
        if task.kind in GLM:
            family = api.families.Binomial() if task.kind == "glm_binomial" else api.families.Poisson()
            fit = api.GLM(y, design, family).fit()
            str(fit.summary())
        else:
            fit = api.Logit(y, design).fit(disp=0)
        params = np.asarray(fit.params)
        return LinearAnswer(params[None, 1:], params[:1])
