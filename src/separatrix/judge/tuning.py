"""Settings chosen inside the training rows:  θ̂ = argmin_θ Σ_folds loss(model_θ fitted to the other folds, the fold).

    Tuned         a list of settings, each judged on the same inner folds; the best refitted to all rows
    TunedRounds   the number of rounds of a boosted model, every stage judged by one fit a fold
    TunedSVC      C and gamma of a kernel machine along warm-started paths (svm_path), then probabilities

What is tuned sees only the rows handed to ``fit``: inside an outer fold the held-out rows have no say (nested
cross-validation). Of many rows the search looks at a stratified sample; the last fit is to all of them.
``best_estimator_`` is the plain fitted model, ``trials_`` what was tried with its score. Row V1. Between two inner
fits :func:`checkpoint` asks whether the work is still wanted. Cost: settings × folds fits of at most SEARCH_ROWS
rows, and one of all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray
from separatrix.data.door import read_labels
from separatrix.data.estimator import Estimator
from separatrix.judge.scores import accuracy, log_loss
from separatrix.models.margin.svc import SVC
from separatrix.models.margin.svm_path import svm_path

SEARCH_ROWS = 2_000  # enough to tell settings apart by ratios of ten

STEPS = 5  # in which an ensemble is grown where it may be called off

_wanted: ContextVar[Callable[[], bool] | None] = ContextVar("separatrix_wanted", default=None)
_searching: ContextVar[bool] = ContextVar("separatrix_searching", default=False)


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
    asked = _wanted.get()
    if asked is not None and not asked():
        raise Unwanted


def searching() -> bool:
    """Whether settings are being tried: what such a fit warns of, is of a model that nobody keeps."""
    return _searching.get()


@contextmanager
def _search() -> Iterator[None]:
    token = _searching.set(True)
    try:
        yield
    finally:
        _searching.reset(token)


def fitted(model: Any, X: Any, y: Any) -> Any:
    """The model fitted to all rows, unless it is called off.

    Where it may be, an ensemble that can go on growing (``warm_start``) is grown in steps: the same members.
    """
    checkpoint()
    params = model.get_params(deep=False)
    size = params.get("n_estimators", 0)
    if _wanted.get() is None or params.get("warm_start") is not False or size < 2 * STEPS:
        return model.fit(X, y)
    for step in range(1, STEPS + 1):
        checkpoint()
        model.set_params(warm_start=True, n_estimators=size * step // STEPS).fit(X, y)
    return model.set_params(warm_start=False)


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


class Trial(NamedTuple):
    """Settings that were tried, and their mean score over the inner folds."""

    settings: dict[str, Any]
    score: float

    def __str__(self) -> str:
        """The settings as they are given to ``fit``.

        >>> print(Trial({"C": 0.1, "gamma": 0.01234567}, 0.3))
        C=0.1, gamma=0.01235
        """
        return ", ".join(f"{k}={_spelled(v)}" for k, v in self.settings.items()) or "as it is"


def _spelled(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):  # a family for each of many columns: they are all one
        return "/".join(dict.fromkeys(map(str, value.values())))
    return f"{value[0]}" if isinstance(value, list) and len(set(map(str, value))) == 1 else f"{value}"


class _Tuner(ClassifierMixin, Estimator):
    """What tuners share: predictions are those of ``best_estimator_``."""

    best_estimator_: Any
    classes_: np.ndarray
    search_seconds_: float
    trials_: tuple[Trial, ...]
    scored_by_: str

    def fixing(self, settings: Mapping[str, Any]) -> Any:
        """A copy in which these settings are as given: what they name is not chosen any more."""
        raise NotImplementedError

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
    fold[order] = np.resize(np.arange(folds), len(codes))
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
        with _search():
            for fold in self._folds(
                X, labels, self.folds if len(self.grid) > 1 else 0, self.random_state or 0
            ):
                losses.append([self._loss(setting, fold) for setting in self.grid])
        self.losses_ = np.array(losses).T.reshape(len(self.grid), len(losses))
        means = self.losses_.mean(axis=1) if losses else np.full(len(self.grid), np.nan)
        self.scored_by_ = self.scoring
        sign = -1.0 if self.scoring == "accuracy" else 1.0
        self.trials_ = tuple(Trial(dict(s), sign * float(m)) for s, m in zip(self.grid, means))
        self.best_params_ = dict(self.grid[int(means.argmin()) if losses else 0])
        last = {**self.best_params_, **(self.final or {})}
        self.best_estimator_ = fitted(clone(self.estimator).set_params(**last), X, labels)
        return self

    def fixing(self, settings: Mapping[str, Any]) -> Tuned:
        """A copy in which these settings are as given; equal entries of the grid become one.

        >>> from separatrix import LogisticRegression
        >>> tuner = Tuned(LogisticRegression(), [{"C": 1.0}, {"C": 10.0}])
        >>> tuner.fixing({"C": 3.0}).grid, tuner.fixing({"tol": 0.1}).grid
        ([{}], [{'C': 1.0}, {'C': 10.0}])
        """
        grid: list[dict[str, Any]] = []
        for setting in self.grid:
            free = {k: v for k, v in setting.items() if k not in settings}
            if free not in grid:
                grid.append(free)
        final = {k: v for k, v in (self.final or {}).items() if k not in settings}
        return Tuned(
            clone(self.estimator).set_params(**settings),
            grid,
            scoring=self.scoring,
            final=final,
            folds=self.folds,
            random_state=self.random_state,
        )

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
        with _search():
            for fold in self._folds(X, labels, self.folds, self.random_state or 0):
                losses = self._stages(fold)
                total += np.array(losses + [losses[-1]] * (rounds - len(losses)))  # boosting may end early
                folds += 1
        self.losses_ = total / folds if folds else np.full(rounds, np.nan)
        self.best_rounds_ = int(self.losses_.argmin()) + 1 if folds else rounds
        self.scored_by_ = "log_loss"
        self.trials_ = tuple(Trial({"n_estimators": t + 1}, float(m)) for t, m in enumerate(self.losses_))
        last = clone(self.estimator).set_params(n_estimators=self.best_rounds_)
        self.best_estimator_ = fitted(last, X, labels)
        return self

    @property
    def best_params_(self) -> dict[str, Any]:
        return {"n_estimators": self.best_rounds_}

    def fixing(self, settings: Mapping[str, Any]) -> Tuned | TunedRounds:
        """A copy in which these settings are as given; with ``n_estimators`` among them nothing is left to choose."""
        fixed = clone(self.estimator).set_params(**settings)
        if "n_estimators" in settings:
            return Tuned(fixed, [{}], folds=self.folds, random_state=self.random_state)
        return TunedRounds(fixed, folds=self.folds, random_state=self.random_state)

    def _stages(self, fold: _Fold) -> list[float]:
        """The loss after each round."""
        checkpoint()
        model = clone(self.estimator).fit(fold.X, fold.y)
        known = codes_in(np.asarray(model.classes_), self.classes_)
        losses = []
        for said in model.staged_predict_proba(fold.X_test):
            P = np.zeros((len(fold.codes), len(self.classes_)))
            P[:, known] = said
            losses.append(log_loss(fold.codes, P))
        return losses


class TunedSVC(_Tuner):
    """C and γ of a radial kernel by :func:`~separatrix.svm_path`, then the machine with probabilities.

    ``gammas`` are multiples of scikit-learn's "scale", 1/(p·Var X). Where ``Cs`` or ``gammas`` is None, C or gamma is
    that of ``estimator``, an :class:`~separatrix.SVC`.

    Attributes: best_params_, best_estimator_ (an :class:`~separatrix.SVC`), classes_.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> sorted(TunedSVC().fit(X, y).best_params_)
    ['C', 'gamma']
    """

    def __init__(
        self,
        *,
        estimator: SVC | None = None,
        Cs: Sequence[float] | None = (0.1, 1.0, 10.0, 100.0, 1000.0),
        gammas: Sequence[float] | None = (0.1, 0.3, 1.0, 3.0),
        folds: int = 3,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.Cs = Cs
        self.gammas = gammas
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> TunedSVC:
        labels, seed = np.asarray(y), self.random_state or 0
        began = time.perf_counter()
        self.classes_, codes = read_labels(labels, None)
        machine = SVC(calibrate="sigmoid", random_state=seed) if self.estimator is None else self.estimator
        rows = sample(codes, SEARCH_ROWS, seed)
        pairs = inner_folds(codes[rows], self.folds, seed)
        widths = [machine.gamma] if self.gammas is None else [width * _scale(X) for width in self.gammas]
        trials: list[Trial] = []
        with _search():
            for gamma in widths if pairs else ():  # one at a time, so that it can be called off in between
                checkpoint()
                path = svm_path(
                    _safe_indexing(X, rows),
                    labels[rows],
                    Cs=[machine.C] if self.Cs is None else list(self.Cs),
                    gammas=[_scale(X) if gamma == "scale" else 1 / X.shape[1] if gamma == "auto" else gamma],
                    cv=pairs,
                    refit=False,
                )
                if path.interrupted:
                    raise KeyboardInterrupt
                trials += [
                    Trial({"C": float(C), "gamma": float(path.gammas[0])}, float(m))
                    for C, m in zip(path.Cs, path.mean[0])
                ]
        self.search_seconds_ = time.perf_counter() - began
        self.trials_, self.scored_by_ = tuple(trials), "accuracy"
        best = max(
            trials, key=lambda t: t.score, default=None
        )  # of equals the first: the least C, the widest kernel
        self.best_params_ = {"C": 1.0, "gamma": _scale(X)} if best is None else dict(best.settings)
        self.best_estimator_ = fitted(clone(machine).set_params(**self.best_params_), X, labels)
        return self

    def fixing(self, settings: Mapping[str, Any]) -> Tuned | TunedSVC:
        """A copy in which these settings are as given; the path is of radial kernels, so another one is refused."""
        kernel = settings.get("kernel", "rbf")
        if kernel != "rbf":
            raise ValueError(
                f"C and gamma are chosen of the radial kernel alone: leave kernel={kernel!r} out"
            )
        base = SVC(calibrate="sigmoid", random_state=self.random_state or 0)
        fixed = (base if self.estimator is None else clone(self.estimator)).set_params(**settings)
        if {"C", "gamma"} <= set(settings):
            return Tuned(fixed, [{}], folds=self.folds, random_state=self.random_state)
        return TunedSVC(
            estimator=fixed,
            Cs=None if "C" in settings else self.Cs,
            gammas=None if "gamma" in settings else self.gammas,
            folds=self.folds,
            random_state=self.random_state,
        )


def _scale(X: Any) -> float:
    """1/(p·Var X), the width that scikit-learn calls "scale"."""
    spread = X.power(2).mean() - X.mean() ** 2 if hasattr(X, "tocsr") else np.var(X)
    return 1.0 / (X.shape[1] * (float(spread) or 1.0))


def codes_in(labels: Any, classes: np.ndarray) -> np.ndarray:
    """The number of each label among ``classes``."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([place[label] for label in np.asarray(labels).tolist()], dtype=np.intp)


def settled(model: Any) -> Any:
    """The plain fitted model behind a tuner."""
    return model.best_estimator_ if isinstance(model, _Tuner) else model
