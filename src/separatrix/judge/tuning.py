"""Settings chosen inside the training rows:  θ̂ = argmin_θ Σ_folds loss(model_θ fitted to the other folds, the fold).

    Tuned         a list of settings, each judged on the same inner folds; the best refitted to all rows
    TunedRounds   the number of rounds of a boosted model, every stage judged by one fit a fold
    TunedSVC      C and gamma of a kernel machine along warm-started paths (svm_path), then probabilities

What is tuned sees only the rows handed to ``fit``: inside an outer fold the held-out rows have no say (nested
cross-validation). Of many rows the search looks at a stratified sample; the last fit is to all of them.
``best_estimator_`` is the plain fitted model, ``trials_`` what was tried with its score. Row V1. Between two inner
fits :func:`~separatrix.judge.fits.checkpoint` asks whether the work is still wanted. Cost: settings × folds fits of
at most SEARCH_ROWS rows, and one of all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray
from separatrix.data.door import read_labels
from separatrix.data.estimator import KW_ONLY, Estimator, constructor
from separatrix.judge.fits import checkpoint, codes_in, fitted, probabilities, search
from separatrix.judge.folds import inner_folds, sample
from separatrix.judge.scores import accuracy, log_loss
from separatrix.models.margin.svc import SVC
from separatrix.models.margin.svm_path import svm_path

SEARCH_ROWS = 2_000  # enough to tell settings apart by ratios of ten


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


class Tuner(ClassifierMixin, Estimator):
    """What tuners share: predictions are those of ``best_estimator_``."""

    best_estimator_: Any
    classes_: np.ndarray
    search_seconds_: float
    trials_: tuple[Trial, ...]
    scored_by_: str

    def fixing(self, settings: Mapping[str, Any]) -> Any:
        """A copy in which these settings are as given: what they name is not chosen any more."""
        raise NotImplementedError

    def usual(self) -> Any:
        """The model as it is without a search, not yet fitted."""
        raise NotImplementedError

    def tries(self) -> int:
        """How many fits an inner fold takes."""
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


@constructor
class Tuned(Tuner):
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

    estimator: BaseEstimator
    grid: Sequence[Mapping[str, Any]]
    _: KW_ONLY
    scoring: str = "log_loss"
    final: Mapping[str, Any] | None = None
    folds: int = 3
    random_state: Any = 0

    def fit(self, X: Any, y: ArrayLike) -> Tuned:
        labels = np.asarray(y)
        count = self.folds if len(self.grid) > 1 else 0
        with search():
            folds = self._folds(X, labels, count, self.random_state or 0)
            losses = [[self._loss(setting, fold) for setting in self.grid] for fold in folds]
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
        fixed = clone(self.estimator).set_params(**settings)
        return Tuned(**self.get_params(deep=False) | {"estimator": fixed, "grid": grid, "final": final})

    def usual(self) -> Any:
        """The estimator with its own settings, and those of the last fit.

        >>> from separatrix import LogisticRegression
        >>> Tuned(LogisticRegression(C=3.0), [{"C": 1.0}, {"C": 10.0}]).usual().C
        3.0
        """
        return clone(self.estimator).set_params(**(self.final or {}))

    def tries(self) -> int:
        return len(self.grid)

    def _loss(self, setting: Mapping[str, Any], fold: _Fold) -> float:
        checkpoint()
        model = clone(self.estimator).set_params(**setting).fit(fold.X, fold.y)
        if self.scoring == "accuracy":
            return -accuracy(fold.codes, codes_in(model.predict(fold.X_test), self.classes_))
        return log_loss(fold.codes, probabilities(model, fold.X_test, self.classes_))


@constructor
class TunedRounds(Tuner):
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

    estimator: BaseEstimator
    _: KW_ONLY
    folds: int = 3
    random_state: Any = 0

    def fit(self, X: Any, y: ArrayLike) -> TunedRounds:
        labels = np.asarray(y)
        rounds = int(self.estimator.n_estimators)
        total, folds = np.zeros(rounds), 0
        with search():
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

    def usual(self) -> Any:
        """The estimator with all its rounds."""
        return clone(self.estimator)

    def tries(self) -> int:
        return 2  # a fit a fold, and its answers after each round

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


@constructor
class TunedSVC(Tuner):
    """C and γ of a radial kernel by :func:`~separatrix.svm_path`, then the machine with probabilities.

    ``gammas`` are multiples of scikit-learn's "scale", 1/(p·Var X). Where ``Cs`` or ``gammas`` is None, C or gamma is
    that of ``estimator``, an :class:`~separatrix.SVC`.

    Attributes: best_params_, best_estimator_ (an :class:`~separatrix.SVC`), classes_.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> sorted(TunedSVC().fit(X, y).best_params_)
    ['C', 'gamma']
    """

    _: KW_ONLY
    estimator: SVC | None = None
    Cs: Sequence[float] | None = (0.1, 1.0, 10.0, 100.0, 1000.0)
    gammas: Sequence[float] | None = (0.1, 0.3, 1.0, 3.0)
    folds: int = 3
    random_state: Any = 0

    def fit(self, X: Any, y: ArrayLike) -> TunedSVC:
        labels, seed = np.asarray(y), self.random_state or 0
        began = time.perf_counter()
        self.classes_, codes = read_labels(labels, None)
        machine = SVC(calibrate="sigmoid", random_state=seed) if self.estimator is None else self.estimator
        rows = sample(codes, SEARCH_ROWS, seed)
        pairs = inner_folds(codes[rows], self.folds, seed)
        widths = [machine.gamma] if self.gammas is None else [width * _scale(X) for width in self.gammas]
        Cs = [machine.C] if self.Cs is None else list(self.Cs)
        trials: list[Trial] = []
        with search():
            for gamma in widths if pairs else ():  # one at a time, so that it can be called off in between
                checkpoint()
                width = _scale(X) if gamma == "scale" else 1 / X.shape[1] if gamma == "auto" else gamma
                some = _safe_indexing(X, rows), labels[rows]
                path = svm_path(*some, Cs=Cs, gammas=[width], cv=pairs, refit=False)
                if path.interrupted:
                    raise KeyboardInterrupt
                for C, m in zip(path.Cs, path.mean[0]):
                    trials.append(Trial({"C": float(C), "gamma": float(path.gammas[0])}, float(m)))
        self.search_seconds_ = time.perf_counter() - began
        self.trials_, self.scored_by_ = tuple(trials), "accuracy"
        # of equals the first: the least C, the widest kernel
        best = max(trials, key=lambda t: t.score, default=None)
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
        given = {grid: None for name, grid in (("C", "Cs"), ("gamma", "gammas")) if name in settings}
        return TunedSVC(**self.get_params(deep=False) | {"estimator": fixed} | given)

    def usual(self) -> Any:
        """The machine with its own C and gamma, and probabilities."""
        seed = self.random_state or 0
        return (
            SVC(calibrate="sigmoid", random_state=seed) if self.estimator is None else clone(self.estimator)
        )

    def tries(self) -> int:
        return len(self.Cs or [0]) * len(self.gammas or [0])


def _scale(X: Any) -> float:
    """1/(p·Var X), the width that scikit-learn calls "scale"."""
    spread = X.power(2).mean() - X.mean() ** 2 if hasattr(X, "tocsr") else np.var(X)
    return 1.0 / (X.shape[1] * (float(spread) or 1.0))


def settled(model: BaseEstimator) -> Any:
    """The plain fitted model behind a tuner."""
    return model.best_estimator_ if isinstance(model, Tuner) else model
