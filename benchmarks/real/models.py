"""Who fits what in the real race, and the score by which the answers are compared.

Estimators are made from a name in a library and the row's settings, at the library's defaults otherwise; `max_iter`
is raised where the default would end the fit before its tolerance. liblinear, libsvm and glum come through the
adapters of the other workloads. A score is lower where the answer is better, and the same formula for everyone:

    linear, kernel    what the model minimises (objective.py)
    LDA, QDA, NB      mean −log P(y | x) of the rows fitted, at most JUDGED of them: equal models tie
    wide LDA, trees   share of wrong labels among rows held out, good to twice its sampling error
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import objective
from benchmarks.model import SUBJECT, Dataset, KernelAnswer, LinearAnswer, Task
from benchmarks.peers import PEERS
from benchmarks.real.rows import Entry

MAX_ITER = 10_000
JUDGED = 20_000  # rows on which the probabilities of generative models are compared
NARROW = 5_000  # weights beyond which a Newton matrix is not asked of a peer


@dataclass(frozen=True)
class Model:
    """A model: its name in every library, its score, and how far apart two scores of equal answers may be."""

    score: str
    tolerance: float
    libraries: Mapping[str, tuple[str, Mapping[str, Any]]]  # peer: dotted class, settings
    native: Mapping[str, str] = field(default_factory=dict)  # peer: the adapter's kind of task


Libraries = dict[str, tuple[str, Mapping[str, Any]]]
NONE: Mapping[str, Any] = {}


def _by_name(
    name: str,
    home: str,
    *,
    ours: Mapping[str, Any] = NONE,
    theirs: Mapping[str, Any] = NONE,
    ex: bool = False,
) -> Libraries:
    """The same name everywhere; ``ex``: sklearnex has code of its own for it."""
    made = {SUBJECT: (f"separatrix.{name}", ours), "sklearn": (f"sklearn.{home}.{name}", theirs)}
    return made | ({"sklearnex": (f"sklearnex.{home}.{name}", theirs)} if ex else {})


SEEDED = {"random_state": 0}
BUSY = {"random_state": 0, "n_jobs": -1}
_LONG = {"max_iter": MAX_ITER}
_LOGISTIC = _by_name("LogisticRegression", "linear_model", theirs=_LONG, ex=True)
_LDA = _by_name("LinearDiscriminantAnalysis", "discriminant_analysis")

MODELS = {
    "logistic": Model(
        "logistic", 1e-4,
        _LOGISTIC | {"sklearn-newton": (_LOGISTIC["sklearn"][0], {**_LONG, "solver": "newton-cholesky"})},
        {"liblinear": "logistic", "glum": "logistic"},
    ),
    "LinearSVC": Model("squared_hinge", 5e-3, _by_name("LinearSVC", "svm", theirs={**_LONG, **SEEDED}),
                       {"liblinear": "linear_squared_hinge"}),
    "SVC": Model("kernel_hinge", 1e-3, _by_name("SVC", "svm", ex=True), {"libsvm": "svc_rbf"}),
    "SVR": Model("kernel_tube", 1e-3, _by_name("SVR", "svm", ex=True), {"libsvm": "svr_rbf"}),
    "LDA": Model("probabilities", 1e-3,
                 _LDA | {"sklearn-lsqr": (_LDA["sklearn"][0], {"solver": "lsqr"})}),
    "QDA": Model("probabilities", 1e-3, _by_name("QuadraticDiscriminantAnalysis", "discriminant_analysis")),
    **{name: Model("probabilities", 1e-3, _by_name(name, "naive_bayes"))
       for name in ("GaussianNB", "MultinomialNB", "BernoulliNB", "ComplementNB", "CategoricalNB")},
    "NaiveBayes": Model("probabilities", 1e-3, {
        SUBJECT: ("separatrix.NaiveBayes", {}), "sklearn": ("sklearn.naive_bayes.GaussianNB", {})}),
    "AdaBoost": Model("held_out", 0.0, _by_name("AdaBoostClassifier", "ensemble", theirs=SEEDED)),
    "DecisionTree": Model("held_out", 0.0, _by_name("DecisionTreeClassifier", "tree", ours=SEEDED, theirs=SEEDED)),
    "Bagging": Model("held_out", 0.0, _by_name("BaggingClassifier", "ensemble", ours=SEEDED, theirs=BUSY)),
    "ExtraTrees": Model("held_out", 0.0,
                        _by_name("ExtraTreesClassifier", "ensemble", ours=SEEDED, theirs=BUSY, ex=True)),
    "RandomForest": Model("held_out", 0.0,
                          _by_name("RandomForestClassifier", "ensemble", ours=SEEDED, theirs=BUSY, ex=True)),
}  # fmt: skip
RACERS = tuple(dict.fromkeys(name for model in MODELS.values() for name in (*model.libraries, *model.native)))


@dataclass(frozen=True)
class Problem:
    """A row's data: labels as the row hands them over and as codes, and rows that no fit sees."""

    X: Any
    labels: np.ndarray
    codes: np.ndarray
    source: str
    held_out: tuple[Any, np.ndarray] | None = None  # rows, and labels as handed over
    by_errors: bool = False

    @property
    def classes(self) -> int:
        """How many; of numbers 2, as they have one score."""
        return 2 if self.codes.dtype.kind == "f" else int(self.codes.max()) + 1

    def head(self, n: int) -> Problem:
        """A warm-up's rows, codes counted anew."""
        codes = self.codes[:n]
        if codes.dtype.kind != "f":
            codes = np.unique(codes, return_inverse=True)[1]
        return Problem(self.X[:n], self.labels[:n], codes, self.source)


def declines(peer: str, entry: Entry, problem: Problem) -> str | None:
    """Why a peer has nothing to say about a row, or None."""
    model = MODELS[entry.model]
    if peer not in model.libraries and peer not in model.native:
        return "has no such model"
    if peer in model.native:
        return PEERS[peer].declines(_task(peer, entry, problem))
    weights = problem.X.shape[1] * (problem.classes if problem.classes > 2 else 1)
    if peer == "sklearn-newton" and weights > NARROW:
        return f"would build a matrix of {weights:,}² entries"
    own = entry.model in ("SVC", "SVR") or not sp.issparse(problem.X)
    if peer == "sklearnex" and not own:
        return "falls back to scikit-learn on sparse data"
    return None


def available(peer: str) -> bool:
    """Whether the library is installed."""
    return PEERS["sklearn" if peer.startswith("sklearn-") else peer].available()


def _task(peer: str, entry: Entry, problem: Problem) -> Task:
    kind = MODELS[entry.model].native.get(peer, "")
    C = float(entry.settings.get("C", 1.0))
    n, p = problem.X.shape
    return Task(entry.id, kind, n, p, problem.classes, sp.issparse(problem.X), C)


def prepared(peer: str, entry: Entry, problem: Problem) -> Callable[[], Any]:
    """The call to be timed: the constructor and the fit; conversion to a peer's own format is done before."""
    model = MODELS[entry.model]
    if peer in model.native:
        adapter, task = PEERS[peer], _task(peer, entry, problem)
        X = problem.X.astype(np.float64) if peer != "glum" else problem.X
        if not sp.issparse(X) and peer != "glum":
            X = np.ascontiguousarray(X)
        ready = adapter.prepare(X, problem.codes, task)
        return lambda: adapter.fit(*ready, task)
    path, settings = model.libraries[peer]
    home, _, name = path.rpartition(".")
    make = getattr(import_module(home), name)
    settings = {**settings, **entry.settings}
    return lambda: make(**settings).fit(problem.X, problem.labels)


def score(answer: Any, entry: Entry, problem: Problem) -> tuple[float, float]:
    """The score of an answer, and how far above another's it may be and still be no worse."""
    model = MODELS[entry.model]
    if problem.by_errors:
        assert problem.held_out is not None
        X, labels = problem.held_out
        errors = float(np.mean(answer.predict(X) != labels))
        return errors, 2.0 * float(np.sqrt(max(errors * (1.0 - errors), 1.0 / len(labels)) / len(labels)))
    if model.score == "probabilities":
        value = _probabilities(answer, problem)
    else:
        X = problem.X.astype(np.float64)
        data, task = Dataset(X, problem.codes, problem.source), _task("", entry, problem)
        value = getattr(objective, model.score)(_read(answer, model.score), data, task)
    return value, model.tolerance * abs(value) + 1e-9


def penalised(peer: str, answer: Any, entry: Entry, value: float, n: int) -> float | None:
    """The score with ½ b² in it: what scikit-learn's LinearSVC minimises, and how separatrix's answer fares there."""
    if entry.model != "LinearSVC" or peer not in (SUBJECT, "sklearn"):
        return None
    return value + 0.5 * float((np.asarray(answer.intercept_, dtype=float) ** 2).sum()) / n


def _read(answer: Any, kind: str) -> Any:
    """What a linear or a kernel machine learned; the adapters have read it already."""
    if isinstance(answer, tuple):
        return answer
    if not kind.startswith("kernel"):
        return LinearAnswer(np.asarray(answer.coef_, dtype=float), np.asarray(answer.intercept_, dtype=float))
    dual = answer.dual_coef_
    dual = np.atleast_2d(np.asarray(dual.toarray() if sp.issparse(dual) else dual))
    return KernelAnswer(dual, answer.support_, np.atleast_1d(answer.intercept_))


def _probabilities(answer: Any, problem: Problem) -> float:
    """Mean −log P(y | x), a row's at most 700: −log of the smallest number there is."""
    log_p = np.asarray(answer.predict_log_proba(problem.X[:JUDGED]), dtype=float)
    codes = problem.codes[:JUDGED]
    return float(np.minimum(700.0, -log_p[np.arange(len(codes)), codes]).mean())


def sweeps(answer: Any) -> float | None:
    """Passes over the rows (of a peer: its iterations), where the model tells."""
    verdict = getattr(answer, "verdict_", None)
    if verdict is not None:
        return float(verdict.sweeps)
    count = getattr(answer, "n_iter_", None)
    return None if count is None else float(np.max(count))
