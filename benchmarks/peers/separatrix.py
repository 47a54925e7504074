"""separatrix itself, with its defaults."""

from __future__ import annotations

from typing import Any

from benchmarks.model import SUBJECT, Task
from benchmarks.peers.base import EstimatorPeer


class Separatrix(EstimatorPeer):
    """`LogisticRegression(C)` with the automatic solver and the default tolerance."""

    name = SUBJECT
    module = "separatrix"
    distribution = "separatrix"
    cold_start = "import separatrix\nModel = separatrix.LogisticRegression"

    def make(self, task: Task) -> Any:
        """The unfitted estimator."""
        from separatrix import LogisticRegression

        return LogisticRegression(C=task.C)
