"""scikit-learn: the default logistic solver (lbfgs), the same on one BLAS thread, and newton-cholesky; naive
Bayes; linear discriminants by lsqr and by svd.

`max_iter` is raised so that the default tolerance, not the default of 100 iterations, ends the fit:
a solver stopped by the counter would be compared at an objective it never aimed for.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import Any

from threadpoolctl import ThreadpoolController

from benchmarks.model import Task
from benchmarks.peers.base import (
    ENSEMBLE,
    KERNEL,
    LOGISTIC,
    MARGIN,
    NAIVE_BAYES,
    SCORES,
    SMALL,
    EstimatorPeer,
    dense_and_narrow,
    kernel_machine,
)

MAX_ITER = 10_000


class Sklearn(EstimatorPeer):
    """`LogisticRegression(solver="lbfgs")`, `GaussianNB()`, `MultinomialNB()`."""

    name = "sklearn"
    module = "sklearn"
    distribution = "scikit-learn"
    kinds = LOGISTIC | NAIVE_BAYES | KERNEL | SCORES | MARGIN | ENSEMBLE | SMALL
    cold_start = "from sklearn.linear_model import LogisticRegression as Model"

    def make(self, task: Task) -> Any:
        """The unfitted estimator."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import GaussianNB, MultinomialNB

        match task.kind:
            case "gaussian_nb" | "gaussian_nb_predict":
                return GaussianNB()
            case "multinomial_nb":
                return MultinomialNB()
            case kind if kind in KERNEL | SCORES:
                from sklearn import svm

                return kernel_machine(svm, task)
            case "linear_hinge" | "linear_squared_hinge":
                from sklearn.svm import LinearSVC

                return LinearSVC(C=task.C, loss=task.kind.removeprefix("linear_"), random_state=0)
            case "perceptron":
                from sklearn.linear_model import Perceptron

                return Perceptron(max_iter=5, tol=None)
            case "adaboost":
                from sklearn.ensemble import AdaBoostClassifier

                return AdaBoostClassifier(n_estimators=100, random_state=0)
            case "extra_trees" | "extra_trees_predict":
                from sklearn.ensemble import ExtraTreesClassifier

                return ExtraTreesClassifier(random_state=0, n_jobs=-1)
            case "bagged_trees" | "bagged_logistic":
                from sklearn.ensemble import BaggingClassifier

                base = LogisticRegression(max_iter=MAX_ITER) if task.kind == "bagged_logistic" else None
                return BaggingClassifier(base, n_estimators=50, random_state=0, n_jobs=-1)
            case _:
                return LogisticRegression(C=task.C, max_iter=MAX_ITER)


class SklearnOneThread(Sklearn):
    """The same with BLAS on one thread, as OPENBLAS_NUM_THREADS=1 gives it.

    On a shared 2-core machine L1 took 1.4 to 1.5 s this way and 2.1 to 3.7 s by default, and 10,000 rows
    0.02 s against 0.4 s: without this participant the race would partly measure OpenBLAS's threads.
    """

    name = "sklearn-1thread"
    kinds = frozenset({"logistic"})

    def fit(self, X: Any, y: Any, task: Task) -> Any:
        """The fit under the limit."""
        with _threads().limit(limits=1, user_api="blas"):
            return super().fit(X, y, task)


@cache
def _threads() -> ThreadpoolController:
    """The loaded BLAS libraries, looked up once (in the warm-up), since that takes milliseconds."""
    import sklearn.linear_model  # noqa: F401  NumPy's and SciPy's BLAS must be loaded to be found

    return ThreadpoolController()


class SklearnNewton(EstimatorPeer):
    """`LogisticRegression(solver="newton-cholesky")`."""

    name = "sklearn-newton"
    module = "sklearn"
    distribution = "scikit-learn"
    kinds = frozenset({"logistic"})
    # It factors a matrix of (Kp)² = 7,840² entries in every step, however few the rows. Estimated from the
    # operation count, not measured.
    slow = MappingProxyType({"L2": 600.0})

    def declines(self, task: Task) -> str | None:
        """Not for very wide data."""
        return super().declines(task) or dense_and_narrow(task, 5_000)

    def make(self, task: Task) -> Any:
        """The unfitted estimator."""
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=task.C, solver="newton-cholesky", max_iter=MAX_ITER)


class SklearnLsqr(EstimatorPeer):
    """`LinearDiscriminantAnalysis(solver="lsqr")`: means and covariance, then Σ⁻¹μ by least squares."""

    name = "sklearn-lsqr"
    module = "sklearn"
    distribution = "scikit-learn"
    kinds = frozenset({"lda"})
    solver = "lsqr"

    def make(self, task: Task) -> Any:
        """The unfitted estimator."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        return LinearDiscriminantAnalysis(solver=self.solver)


class SklearnSvd(SklearnLsqr):
    """`LinearDiscriminantAnalysis(solver="svd")`, its default: two SVDs, the first of all rows."""

    name = "sklearn-svd"
    solver = "svd"
