"""separatrix itself, with its defaults."""

from __future__ import annotations

from typing import Any

from benchmarks.model import SUBJECT, LinearAnswer, Task
from benchmarks.peers.base import (
    ENSEMBLE,
    GLM,
    KERNEL,
    LOGISTIC,
    MARGIN,
    NAIVE_BAYES,
    SCORES,
    SMALL,
    EstimatorPeer,
    kernel_machine,
)


class Separatrix(EstimatorPeer):
    """`LogisticRegression(C)` with the automatic solver and the default tolerance; LDA pooled by the priors."""

    name = SUBJECT
    module = "separatrix"
    distribution = "separatrix"
    kinds = LOGISTIC | NAIVE_BAYES | GLM | KERNEL | SCORES | MARGIN | ENSEMBLE | SMALL | {"lda", "evidence"}
    cold_start = "import separatrix\nModel = separatrix.LogisticRegression"

    def make(self, task: Task) -> Any:
        """The unfitted estimator."""
        import separatrix

        match task.kind:
            case "gaussian_nb" | "gaussian_nb_predict":
                return separatrix.GaussianNB()
            case "multinomial_nb":
                return separatrix.MultinomialNB()
            case "glm_binomial" | "glm_poisson":
                return separatrix.GeneralizedLinearModel(task.kind.removeprefix("glm_"))
            case "evidence":
                return separatrix.BayesianLogisticRegression(prior_precision="evidence")
            case kind if kind in KERNEL | SCORES:
                return kernel_machine(separatrix, task)
            case "linear_hinge" | "linear_squared_hinge":
                return separatrix.LinearSVC(C=task.C, loss=task.kind.removeprefix("linear_"))
            case "perceptron":
                return separatrix.Perceptron(max_iter=5, tol=None)
            case "adaboost":
                return separatrix.AdaBoostClassifier(n_estimators=100)
            case "extra_trees" | "extra_trees_predict":
                return separatrix.ExtraTreesClassifier(random_state=0)
            case "bagged_trees":
                return separatrix.BaggingClassifier(n_estimators=50, random_state=0)
            case "bagged_logistic":
                base = separatrix.LogisticRegression()
                return separatrix.BaggingClassifier(base, n_estimators=50, random_state=0)
            case "lda":
                return separatrix.LinearDiscriminantAnalysis(solver="lsqr")
            case _:
                return separatrix.LogisticRegression(C=task.C)


class SeparatrixPlain(EstimatorPeer):
    """`LogisticRegression()` as it comes, C = 1 and no standard errors: what a summary is measured by."""

    name = "separatrix-plain"
    module = "separatrix"
    distribution = "separatrix"
    kinds = frozenset({"glm_binomial"})
    counts = False
    note = "a ridge, no errors: another objective"

    def make(self, task: Task) -> Any:
        """The unfitted estimator."""
        import separatrix

        return separatrix.LogisticRegression()

    def fit(self, X: Any, y: Any, task: Task) -> LinearAnswer:
        """Fit, and nothing more."""
        model = self.make(task).fit(X, y)
        return LinearAnswer(model.coef_, model.intercept_)
