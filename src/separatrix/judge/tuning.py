"""Settings chosen inside the training rows:  θ̂ = argmin_θ Σ_folds loss(model_θ fitted to the other folds, the fold).

    Tuned         a list of settings, each judged on the same inner folds; the best refitted to all rows
    TunedRounds   the number of rounds of a boosted model, every stage judged by one fit a fold
    TunedSVC      C and gamma of a kernel machine along warm-started paths (svm_path), then probabilities

What is tuned sees only the rows handed to ``fit``: inside an outer fold the held-out rows have no say (nested
cross-validation, [726]). Of many rows the search looks at a stratified sample; the last fit is to all of them.
``best_estimator_`` is the plain fitted model. Row V1. Between two inner fits :func:`checkpoint` asks whether the work
is still wanted. Cost: settings × folds fits of at most SEARCH_ROWS rows, and one of all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray
from separatrix.data.door import read_labels
from separatrix.judge.scores import accuracy, log_loss
from separatrix.models.svc import SVC
from separatrix.models.svm_path import svm_path

SEARCH_ROWS = 2_000  # enough to tell settings apart by ratios of ten

_wanted: ContextVar[Callable[[], bool]] = ContextVar("separatrix_wanted", default=lambda: True)


class Unwanted(Exception):
    """The work was called off: time is up, or Ctrl-C."""


@contextmanager
def while_wanted(asked: Callable[[], bool]) -> Iterator[None]:
    """Inside, :func:`checkpoint` raises :class:`Unwanted` as soon as ``asked()`` is False."""
    token = _wanted.set(asked)
    try:
        yield
    finally:
        _wanted.reset(token)


def checkpoint() -> None:
    if not _wanted.get()():
        raise Unwanted


def probabilities(model: Any, X: Any, classes: np.ndarray) -> FloatArray:
    """P (n, K) over ``classes``; 0 for a class the model has not met."""
    said = np.asarray(model.predict_proba(X), dtype=float)
    known = np.asarray(model.classes_)
    if len(known) == len(classes) and (known == classes).all():
        return said
    place = {label: k for k, label in enumerate(classes.tolist())}
    P = np.zeros((len(said), len(classes)))
    P[:, [place[label] for label in known.tolist()]] = said
    return P


def set_seed(model: Any, seed: int) -> Any:
    """The model with every ``random_state`` of it and its parts set."""
    names = [k for k in model.get_params() if k == "random_state" or k.endswith("__random_state")]
    return model.set_params(**dict.fromkeys(names, seed)) if names else model


class _Fold(NamedTuple):
    X: Any
    y: np.ndarray
    X_test: Any
    codes: np.ndarray


class _Tuner(ClassifierMixin, BaseEstimator):
    """What tuners share: predictions are those of ``best_estimator_``."""

    best_estimator_: Any
    classes_: np.ndarray
    search_seconds_: float

    def _folds(self, X: Any, labels: np.ndarray, folds: int, seed: int) -> Iterator[_Fold]:
        """Inner folds of the rows, or of a sample of them, and the time the search takes."""
        began = time.perf_counter()
        self.classes_, codes = read_labels(labels, None)
        rows = sample(codes, SEARCH_ROWS, seed)
        for train, test in inner_folds(codes[rows], folds, seed):
            a, b = rows[train], rows[test]
            yield _Fold(_safe_indexing(X, a), labels[a], _safe_indexing(X, b), codes[b])
        self.search_seconds_ = time.perf_counter() - began

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.best_estimator_.predict(X))

    def predict_proba(self, X: Any) -> FloatArray:
        return np.asarray(self.best_estimator_.predict_proba(X))


def inner_folds(codes: np.ndarray, folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Stratified (train, test) pairs; a class of fewer rows than folds is in some of the test parts only.

    >>> [test.tolist() for _, test in inner_folds(np.array([0, 0, 1, 1]), 2, 0)]
    [[0, 2], [1, 3]]
    """
    if folds < 2:
        return []
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(codes))
    order = order[
        np.argsort(codes[order], kind="stable")
    ]  # class after class, so that dealing out stratifies
    fold = np.empty(len(codes), dtype=np.intp)
    fold[order] = np.arange(len(codes)) % folds
    parts = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(folds)]
    return [(a, b) for a, b in parts if len(b) and len(np.unique(codes[a])) > 1]


def sample(codes: np.ndarray, size: int, seed: int, least: int = 6) -> np.ndarray:
    """Rows (sorted) of about ``size`` of them, classes in proportion, and ``least`` of each or all there are.

    >>> sample(np.repeat([0, 1], [90, 10]), 20, 0).shape
    (24,)
    """
    if len(codes) <= size:
        return np.arange(len(codes))
    rng = np.random.default_rng(seed)
    kept = []
    for k in np.unique(codes):
        own = np.flatnonzero(codes == k)
        kept.append(rng.permutation(own)[: max(least, round(size * len(own) / len(codes)))])
    return np.sort(np.concatenate(kept))


class Tuned(_Tuner):
    """The setting of least log loss (or most right answers) on inner folds, refitted to all rows.

    Parameters
    ----------
    estimator : a classifier; copies are fitted
    grid : a list of settings, {name: value} each; of equals the first wins, so the simplest comes first
    scoring : "log_loss" or "accuracy"
    final : settings for the last fit only (probabilities that need further fits, say)
    folds : inner folds
    random_state : seed of the folds

    Attributes: best_params_, best_estimator_, losses_ (settings, folds), classes_.

    >>> from sklearn.datasets import load_wine
    >>> from separatrix import LogisticRegression
    >>> X, y = load_wine(return_X_y=True)
    >>> Tuned(LogisticRegression(), [{"C": 1e-9}, {"C": 0.01}]).fit(
    ...     (X - X.mean(0)) / X.std(0), y
    ... ).best_params_
    {'C': 0.01}
    """

    def __init__(
        self,
        estimator: Any,
        grid: Sequence[Mapping[str, Any]],
        *,
        scoring: str = "log_loss",
        final: Mapping[str, Any] | None = None,
        folds: int = 3,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.grid = grid
        self.scoring = scoring
        self.final = final
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Tuned:
        labels = np.asarray(y)
        losses = []
        for fold in self._folds(X, labels, self.folds if len(self.grid) > 1 else 0, self.random_state or 0):
            losses.append([self._loss(setting, fold) for setting in self.grid])
        self.losses_ = np.array(losses).T.reshape(len(self.grid), len(losses))
        self.best_params_ = dict(self.grid[int(self.losses_.mean(axis=1).argmin()) if losses else 0])
        checkpoint()
        last = {**self.best_params_, **(self.final or {})}
        self.best_estimator_ = clone(self.estimator).set_params(**last).fit(X, labels)
        return self

    def _loss(self, setting: Mapping[str, Any], fold: _Fold) -> float:
        checkpoint()
        model = clone(self.estimator).set_params(**setting).fit(fold.X, fold.y)
        if self.scoring == "accuracy":
            return -accuracy(fold.codes, codes_in(model.predict(fold.X_test), self.classes_))
        return log_loss(fold.codes, probabilities(model, fold.X_test, self.classes_))


class TunedRounds(_Tuner):
    """The number of rounds T ≤ ``n_estimators`` of least log loss on inner folds: one fit a fold judges all of them.

    ``estimator`` has ``n_estimators`` and ``staged_predict_proba``. Attributes: best_rounds_, best_estimator_,
    losses_ (rounds,), classes_.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = TunedRounds(AdaBoostClassifier(n_estimators=60)).fit(X, y)
    >>> found.best_rounds_ <= 60, len(found.losses_)
    (True, 60)
    """

    def __init__(self, estimator: Any, *, folds: int = 3, random_state: Any = 0):
        self.estimator = estimator
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> TunedRounds:
        labels = np.asarray(y)
        rounds = int(self.estimator.n_estimators)
        total, folds = np.zeros(rounds), 0
        for fold in self._folds(X, labels, self.folds, self.random_state or 0):
            checkpoint()
            model = clone(self.estimator).fit(fold.X, fold.y)
            known = codes_in(np.asarray(model.classes_), self.classes_)
            losses = []
            for said in model.staged_predict_proba(fold.X_test):
                P = np.zeros((len(fold.codes), len(self.classes_)))
                P[:, known] = said
                losses.append(log_loss(fold.codes, P))
            total += np.array(losses + [losses[-1]] * (rounds - len(losses)))  # boosting may end early
            folds += 1
        self.losses_ = total / max(folds, 1)
        self.best_rounds_ = int(self.losses_.argmin()) + 1 if folds else rounds
        checkpoint()
        self.best_estimator_ = clone(self.estimator).set_params(n_estimators=self.best_rounds_).fit(X, labels)
        return self


class TunedSVC(_Tuner):
    """C and γ of a radial kernel by :func:`~separatrix.svm_path`, then the machine with probabilities.

    Attributes: best_params_, best_estimator_ (an :class:`~separatrix.SVC`), classes_.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> sorted(TunedSVC().fit(X, y).best_params_)
    ['C', 'gamma']
    """

    def __init__(
        self,
        *,
        Cs: Sequence[float] = (0.1, 1.0, 10.0, 100.0, 1000.0),
        gammas: Sequence[float] = (0.1, 0.3, 1.0, 3.0),
        folds: int = 3,
        random_state: Any = 0,
    ):
        self.Cs = Cs
        self.gammas = gammas
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> TunedSVC:
        labels, seed = np.asarray(y), self.random_state or 0
        began = time.perf_counter()
        self.classes_, codes = read_labels(labels, None)
        spread = X.power(2).mean() - X.mean() ** 2 if hasattr(X, "tocsr") else np.var(X)
        scale = 1.0 / (X.shape[1] * (float(spread) or 1.0))
        rows = sample(codes, SEARCH_ROWS, seed)
        pairs = inner_folds(codes[rows], self.folds, seed)
        setting = {"C": 1.0, "gamma": scale}
        for width in self.gammas if pairs else ():  # one at a time, so that it can be called off in between
            checkpoint()
            path = svm_path(
                _safe_indexing(X, rows),
                labels[rows],
                Cs=list(self.Cs),
                gammas=[width * scale],
                cv=pairs,
                refit=False,
            )
            best = path.best
            if best is not None and best.score > setting.get("score", -1.0):
                setting = {"C": best.C, "gamma": width * scale, "score": best.score}
        setting.pop("score", None)
        self.search_seconds_ = time.perf_counter() - began
        self.best_params_ = setting
        checkpoint()
        self.best_estimator_ = SVC(**setting, calibrate="sigmoid", random_state=seed).fit(X, labels)
        return self


def codes_in(labels: Any, classes: np.ndarray) -> np.ndarray:
    """The number of each label among ``classes``."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([place[label] for label in np.asarray(labels).tolist()], dtype=np.intp)


def settled(model: Any) -> Any:
    """The plain fitted model behind a tuner."""
    return model.best_estimator_ if isinstance(model, _Tuner) else model
