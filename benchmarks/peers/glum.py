"""glum: GeneralizedLinearRegressor, binomial. It minimises mean loss + alpha/2 ‖w‖², so alpha = 1/(nC)."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.model import LinearAnswer, Task
from benchmarks.peers.base import GLM, Peer, dense_and_narrow


class Glum(Peer):
    """Two classes, data narrow enough for its IRLS."""

    name = "glum"
    module = "glum"
    distribution = "glum"
    kinds = GLM | {"logistic"}

    def declines(self, task: Task) -> str | None:
        """One response column only, and a p×p Hessian."""
        if task.kind == "logistic" and task.n_classes > 2:
            return "has no softmax"
        return super().declines(task) or dense_and_narrow(task, 5_000)

    def prepare(self, X: Any, y: np.ndarray, task: Task) -> tuple[Any, Any]:
        """The response as float."""
        return X, y.astype(np.float64)

    def fit(self, X: Any, y: Any, task: Task) -> LinearAnswer:
        """Fit with its default solver and tolerance."""
        from glum import GeneralizedLinearRegressor

        plain = task.kind in GLM
        alpha = 0.0 if plain else 1.0 / (X.shape[0] * task.C)
        family = task.kind.removeprefix("glm_") if plain else "binomial"
        model = GeneralizedLinearRegressor(family=family, alpha=alpha, l1_ratio=0.0).fit(X, y)
        return LinearAnswer(model.coef_[None, :], np.atleast_1d(model.intercept_))
