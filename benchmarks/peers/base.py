"""What an adapter tells the harness: its name, whether it is installed, what it can do, and how to fit."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata, util
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from benchmarks.model import GaussianAnswer, KernelAnswer, LinearAnswer, ScoredAnswer, Task

LOGISTIC = frozenset({"logistic", "cold_start", "one_row"})
SCORES = frozenset({"svc_rbf_predict", "svc_rbf_decision"})  # only the scores of a fitted machine are timed
KERNEL = frozenset({"svc_rbf", "svr_rbf"})
ENSEMBLE = frozenset({"adaboost", "extra_trees", "extra_trees_predict", "bagged_trees", "bagged_logistic"})
PREDICTED = SCORES | {"gaussian_nb_predict", "extra_trees_predict"}
SETTLED = 1e-6  # tolerance of the machines whose predictions are timed
MARGIN = frozenset({"linear_hinge", "linear_squared_hinge", "perceptron"})
GLM = frozenset({"glm_binomial", "glm_poisson"})
SMALL = frozenset({"small", "search", "first_fit"})  # benchmarks/small.py and first_fits.py make the models
NAIVE_BAYES = frozenset({"gaussian_nb", "gaussian_nb_predict", "multinomial_nb"})


class Peer:
    """A participant. Subclasses set the fields and write `fit`; libraries are imported inside methods."""

    name: ClassVar[str]
    module: ClassVar[str]  # importable when the peer is installed
    distribution: ClassVar[str]  # its name on PyPI, for the version
    kinds: ClassVar[frozenset[str]] = frozenset()  # task kinds it can do
    counts: ClassVar[bool] = True  # solves the same problem, so it may be the reference
    note: ClassVar[str] = ""  # shown beside its results
    slow: ClassVar[Mapping[str, float]] = MappingProxyType({})  # workload: seconds it is expected to take
    cold_start: ClassVar[str] = ""  # lines that bind `Model`, for C1

    def available(self) -> bool:
        """Whether the library is installed; it is not imported to find out."""
        return util.find_spec(self.module) is not None

    def version(self) -> str:
        """The installed version, or an empty string."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return ""

    def declines(self, task: Task) -> str | None:
        """Why the peer does not take part in this task, or None when it does."""
        return None if task.kind in self.kinds else f"not for {task.kind.replace('_', ' ')}"

    def prepare(self, X: Any, y: np.ndarray, task: Task) -> tuple[Any, Any]:
        """X and y in the form `fit` wants; not timed, so that a rival is seen at its best."""
        return X, y

    def fit(self, X: Any, y: Any, task: Task) -> Any:
        """The timed call; what it returns is what the workload's score reads, a LinearAnswer mostly."""
        raise NotImplementedError


class EstimatorPeer(Peer):
    """A peer whose models have scikit-learn's interface."""

    kinds = LOGISTIC

    def make(self, task: Task) -> Any:
        """The unfitted estimator for the task."""
        raise NotImplementedError

    def prepare(self, X: Any, y: np.ndarray, task: Task) -> tuple[Any, Any]:
        """As they are; for a prediction the fitted model takes the place of the labels."""
        return (X, self.make(task).fit(X, y)) if task.kind in PREDICTED else (X, y)

    def fit(self, X: Any, y: Any, task: Task) -> Any:
        """Fit the estimator and read what it learned; or predict, or fit and score, where that is the task."""
        if task.kind == "svc_rbf_decision":
            return (y.decision_function(X) > 0).astype(np.int64)
        if task.kind in PREDICTED:
            return y.predict(X)
        model = self.make(task).fit(X, y)
        match task.kind:
            case kind if kind in ENSEMBLE:
                return model
            case "gaussian_nb":
                return GaussianAnswer(model.class_prior_, model.theta_, model.var_)
            case "glm_binomial" | "glm_poisson" if hasattr(model, "summary"):
                str(model.summary())
                return LinearAnswer(np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_))
            case "svc_rbf" | "svr_rbf":
                dual = model.dual_coef_
                dual = np.asarray(dual.toarray() if hasattr(dual, "toarray") else dual)
                return KernelAnswer(np.atleast_2d(dual), model.support_, np.atleast_1d(model.intercept_))
            case "multinomial_nb":
                return ScoredAnswer(model.feature_log_prob_, model.class_log_prior_, model.score(X, y))
            case _:
                return LinearAnswer(model.coef_, model.intercept_)


def kernel_machine(library: Any, task: Task) -> Any:
    """`SVC` or `SVR` of a library; before a prediction fitted so far that everyone's machine has the same signs."""
    if task.kind == "svr_rbf":
        return library.SVR(C=task.C, gamma=task.gamma)
    options = {"tol": SETTLED} if task.kind in SCORES else {}
    return library.SVC(C=task.C, gamma=task.gamma, **options)


def dense_and_narrow(task: Task, columns: int) -> str | None:
    """Why a method that builds a p×p matrix declines: one sentence, or None."""
    if task.p > columns:
        return f"would build a matrix of {task.p:,}² entries"
    return None
