"""separatrix itself, with its defaults."""

from __future__ import annotations

from typing import Any

from benchmarks.model import SUBJECT, Task
from benchmarks.peers.base import LOGISTIC, NAIVE_BAYES, EstimatorPeer


class Separatrix(EstimatorPeer):
    """`LogisticRegression(C)` with the automatic solver and the default tolerance; LDA pooled by the priors."""

    name = SUBJECT
    module = "separatrix"
    distribution = "separatrix"
    kinds = LOGISTIC | NAIVE_BAYES | {"lda"}
    cold_start = "import separatrix\nModel = separatrix.LogisticRegression"

    def make(self, task: Task) -> Any:
        """The unfitted estimator."""
        import separatrix

        match task.kind:
            case "gaussian_nb" | "gaussian_nb_predict":
                return separatrix.GaussianNB()
            case "multinomial_nb":
                return separatrix.MultinomialNB()
            case "lda":
                return separatrix.LinearDiscriminantAnalysis(solver="lsqr")
            case _:
                return separatrix.LogisticRegression(C=task.C)
