"""liblinear-official: `-s 0`, L2-regularised logistic regression in the primal (trust-region Newton), and `-s 2`, the
squared hinge, one-vs-rest.

`-B 1` adds a bias column; `-R` (since 2.40) leaves it out of the penalty, which makes the objective ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.model import LinearAnswer, Task
from benchmarks.peers.base import Peer


class Liblinear(Peer):
    """Two classes; conversion to its node arrays is not timed."""

    name = "liblinear"
    module = "liblinear"
    distribution = "liblinear-official"
    kinds = frozenset({"logistic", "linear_squared_hinge"})
    note = "conversion to its own format not timed"

    def declines(self, task: Task) -> str | None:
        """K classes would be one-vs-rest, another problem."""
        if task.kind == "logistic" and task.n_classes > 2:
            return "has no softmax (one-vs-rest only)"
        return super().declines(task)

    def prepare(self, X: Any, y: np.ndarray, task: Task) -> tuple[Any, Any]:
        """Its problem structure, 16 bytes per entry. The bias is set here, as `train` would set it."""
        from liblinear.liblinearutil import problem

        return problem(y.astype(np.float64), X, bias=1), None

    def fit(self, X: Any, y: Any, task: Task) -> LinearAnswer:
        """Train with the default tolerance; of K classes in the order of their codes."""
        from liblinear.liblinearutil import train

        machine = 0 if task.kind == "logistic" else 2
        model = train(X, f"-s {machine} -c {task.C!r} -B 1 -R -q")
        if task.n_classes > 2:
            rules = {int(label): model.get_decfun(label_idx=i) for i, label in enumerate(model.get_labels())}
            found = [rules[k] for k in range(task.n_classes)]
            return LinearAnswer(_padded([coef for coef, _ in found], task.p), np.array([b for _, b in found]))
        coef, intercept = model.get_decfun(label_idx=0)
        sign = 1.0 if model.get_labels()[0] == 1 else -1.0  # decision values favour the first label seen
        return LinearAnswer(sign * _padded([coef], task.p), sign * np.array([intercept]))


def _padded(coef: list[list[float]], p: int) -> np.ndarray:
    """Its weights end at the last column that is not all zero."""
    found = np.array(coef)
    return np.pad(found, ((0, 0), (0, p - found.shape[1])))
