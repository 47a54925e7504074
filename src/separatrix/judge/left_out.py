"""Predictions of rows by learners that have not seen them:  h_b fitted to D_b, asked about D − D_b.

    D_b = m rows drawn with replacement (bags/draws.py), keyed by (seed, b);   T_b = the rows not among them

Notes [6321] "Bootstrap replicates". Row E5 of the specification. Bootstraps run side by side on the engine's threads,
each on one; what a bootstrap draws depends on its number alone, so any number of threads gives the same table. Ctrl-C
keeps the bootstraps that are finished. Cost: B fits and predictions, memory for the table of B·n answers.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.door import as_labels, is_dask, read_labels, read_weights
from separatrix.data.engine import Kind, current_engine, engine
from separatrix.data.side_by_side import side_by_side
from separatrix.data.sources import TableLike
from separatrix.judge.decomposition import Repeats, equal_rows
from separatrix.models.ensemble.bags.draws import Draws

BAR = 24  # places of the progress bar
LOSSES = ("squared", "zero_one")


# ---- the door ----


@dataclass(frozen=True, eq=False)
class JudgedTask:
    """What is asked of the learners: rows that weigh something, y, and how answers become numbers.

    ``kind`` is "number" (predict), "share" (predict_proba) or "label" (predict, as a class number). ``target`` (n, d)
    of numbers and shares, ``codes`` (n,) and ``classes`` (K,) of shares and labels. ``rows`` are the places of the n
    rows among those given.
    """

    kind: str
    X: Any
    y: np.ndarray
    rows: Index
    given: int
    repeats: Repeats
    weight: FloatArray | None
    target: FloatArray
    codes: Index
    classes: np.ndarray


def read_task(
    estimator: BaseEstimator, X: TableLike, y: ArrayLike, loss: str | None, sample_weight: ArrayLike | None
) -> JudgedTask:
    """The rows and the question, or a sentence that says what is wrong with them."""
    name = type(estimator).__name__
    if isinstance(estimator, type):
        raise TypeError(
            f"estimator is the class {estimator.__name__}: give an instance, {estimator.__name__}()"
        )
    for needed in ("fit", "predict", "get_params"):
        if not hasattr(estimator, needed):
            raise TypeError(
                f"estimator must have fit, predict and get_params as scikit-learn's do: {name} has no {needed}"
            )
    if loss is not None and loss not in LOSSES:
        raise ValueError(
            f'loss {loss!r} is unknown: use "squared", "zero_one", or None for the one that suits the estimator'
        )
    labels = _tagged(is_classifier, estimator)
    loss = loss or ("zero_one" if labels else "squared")
    if loss == "zero_one" and _tagged(is_regressor, estimator):
        raise ValueError(f'loss="zero_one" compares labels, and {name} predicts numbers: use loss="squared"')
    if loss == "squared" and labels and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f'loss="squared" of a classifier is that of its probabilities, and {name} has no predict_proba: use '
            'loss="zero_one", or a classifier with probabilities'
        )
    if is_dask(X) or is_dask(y):
        raise TypeError(
            "bootstraps are drawn from rows in memory: call .compute() on X and y, or give a sample"
        )
    n = _num_samples(X)
    if y is None:
        raise ValueError("bias and variance need the labels: y is None")
    given = as_labels(y)
    if len(given) != n:
        raise ValueError(f"X has {n} rows, y has {len(given)}: give one label a row")
    weight = read_weights(sample_weight, n)
    rows = np.arange(n) if weight is None else np.flatnonzero(weight)
    if len(rows) < 3:
        raise ValueError(f"{len(rows)} rows are too few to leave some out: give at least 3")
    if len(rows) < n:
        X, given = _safe_indexing(X, rows), given[rows]
    kind = "number" if loss == "squared" and not labels else "share" if loss == "squared" else "label"
    classes, codes = np.empty(0), np.empty(0, dtype=np.intp)
    if kind == "number":
        target = _numbers(given, name)[:, None]
    else:
        classes, codes = _classes(given, name)
        target = (codes[:, None] == np.arange(len(classes))).astype(float)
    mass = np.ones(len(rows)) if weight is None else weight[rows] / weight[rows].mean()
    return JudgedTask(
        kind, X, given, rows, n, Repeats(equal_rows(X), mass), None if weight is None else mass, target, codes,
        classes,
    )  # fmt: skip


def _tagged(asks: Callable[[Any], bool], estimator: BaseEstimator) -> bool:
    try:
        return bool(asks(estimator))
    except (AttributeError, TypeError):  # scikit-learn's methods without its base class
        return False


def _numbers(y: np.ndarray, name: str) -> FloatArray:
    if y.dtype.kind == "O":
        with suppress(TypeError, ValueError):
            y = y.astype(float)
    if y.dtype.kind not in "fiub":
        raise ValueError(
            f'loss="squared" of {name} subtracts predictions from y, and y holds labels such as '
            f'{y.tolist()[0]!r}: use loss="zero_one" with a classifier, or give numbers'
        )
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise ValueError(f"y is {y[bad[0]]} in row {bad[0]} ({len(bad)} rows in all): drop such rows")
    return y.astype(np.float64)


def _classes(y: np.ndarray, name: str) -> tuple[np.ndarray, Index]:
    if y.dtype.kind == "f" and np.isfinite(y).all() and (y != np.round(y)).any():
        value = y[np.flatnonzero(y != np.round(y))[0]]
        raise ValueError(
            f'y holds numbers such as {value:g}, not labels: use loss="squared" with a regressor, or give classes to '
            f"{name}"
        )
    classes, codes = read_labels(y, None)
    if len(classes) < 2:
        raise ValueError(f"y has one class, {classes.tolist()[0]!r}: add rows of another")
    return classes, codes


# ---- the bootstraps ----


@dataclass(frozen=True, eq=False)
class LeftOutAnswers:
    """Answers (B, n, d) or class numbers (B, n) of the finished bootstraps, and what happened on the way."""

    answers: np.ndarray
    one_class: int
    interrupted: bool
    warned: tuple[tuple[type[Warning], str, int], ...]


def ask_left_out(
    estimator: BaseEstimator, task: JudgedTask, draws: Draws, bootstraps: int, verbose: bool | int, title: str
) -> LeftOutAnswers:
    """The table of B bootstraps; see the module. Call inside the engine wanted."""
    n, d = task.target.shape
    shape, unknown = ((n,), np.int32(-1)) if task.kind == "label" else ((n, d), np.float64(np.nan))
    config = sklearn.get_config()

    def work(b: int) -> tuple[Index, np.ndarray | None]:
        """The rows left out, and the answers to them; None where the learner refused a bag of one class."""
        bag = draws.rows(b)
        left = np.flatnonzero(np.bincount(bag, minlength=draws.n) == 0)
        if not len(left):
            return left, np.empty((0, *shape[1:]))
        with sklearn.config_context(**config):
            model = _fitted(estimator, task, draws, b, bag)
            return left, None if model is None else _answers(model, task, left, b)

    progress = _Progress(title, bootstraps) if verbose else None
    # the table stays in this process
    kind: Kind | None = "threads" if current_engine().kind == "dask" else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with engine(kind):
                step = progress.step if progress else None
                done, interrupted = side_by_side(work, range(bootstraps), each=step)
        finally:
            if progress:
                progress.close()
    if interrupted and len(done) < 2:
        raise KeyboardInterrupt
    found = [done[b] for b in sorted(done)]
    answers = [(left, said) for left, said in found if said is not None]
    table = np.full((len(answers), *shape), unknown)
    for b, (left, said) in enumerate(answers):
        table[b, left] = said
    return LeftOutAnswers(table, len(found) - len(answers), interrupted, counted(caught))


def _fitted(estimator: BaseEstimator, task: JudgedTask, draws: Draws, b: int, bag: Index) -> Any:
    """The learner fitted to the bag; None where the bag is of one class and the learner refuses it."""
    model = clone(estimator)
    seeded = [k for k in model.get_params() if k == "random_state" or k.endswith("__random_state")]
    model.set_params(**dict.fromkeys(seeded, draws.learner_seed(b)))
    try:
        model.fit(_safe_indexing(task.X, bag), task.y[bag])
    except ValueError as error:
        if task.kind != "number" and (task.codes[bag] == task.codes[bag[0]]).all():
            return None
        error.add_note(f"while fitting bootstrap {b}")
        raise
    return model


def _answers(model: BaseEstimator, task: JudgedTask, left: Index, b: int) -> np.ndarray:
    """What the model says of the rows left out: numbers (m, 1), shares (m, K) or class numbers (m,)."""
    X = _safe_indexing(task.X, left)
    name = type(model).__name__
    if task.kind == "label":
        return _codes_of(np.asarray(model.predict(X)).reshape(-1), task.classes, name)
    if task.kind == "share":
        said = np.asarray(model.predict_proba(X), dtype=float)
        known = _codes_of(np.asarray(model.classes_), task.classes, name)
        shares = np.zeros((len(left), len(task.classes)))
        shares[:, known] = said
        said = shares
    else:
        said = np.asarray(model.predict(X), dtype=float).reshape(len(left), -1)
        if said.shape[1] != 1:
            raise ValueError(f"{name} predicts {said.shape[1]} numbers a row: fit one target at a time")
    if not np.isfinite(said).all():
        i = int(left[np.flatnonzero(~np.isfinite(said).all(axis=1))[0]])
        raise ValueError(
            f"{name}, fitted to bootstrap {b}, predicts a number that is not finite for row {task.rows[i]}"
        )
    return said


def _codes_of(labels: np.ndarray, classes: np.ndarray, name: str) -> Index:
    number = {label: k for k, label in enumerate(classes.tolist())}
    try:
        return np.array([number[label] for label in labels.tolist()], dtype=np.intp)
    except KeyError as error:
        raise ValueError(
            f"{name} predicts {error.args[0]!r}, which is not a class of y: 0–1 loss needs a classifier of labels"
        ) from None


def counted(caught: Sequence[warnings.WarningMessage]) -> tuple[tuple[type[Warning], str, int], ...]:
    """Warnings of the fits by kind: (category, the text of the first, how many)."""
    kinds: dict[type[Warning], list[str]] = {}
    for warning in caught:
        # scikit-learn empties the list of filters for a moment, and in another thread takes that for a mistake
        if "sklearn.utils.parallel.delayed" in str(warning.message):
            continue
        kinds.setdefault(warning.category, []).append(str(warning.message))
    return tuple((kind, texts[0], len(texts)) for kind, texts in kinds.items())


class _Progress:
    """A bar on a terminal, a line for each tenth elsewhere; on standard error."""

    def __init__(self, title: str, total: int):
        self.title, self.total, self.began, self.said = title, total, time.perf_counter(), 0
        self.terminal = sys.stderr.isatty()

    def step(self, done: int) -> None:
        tenth = 10 * done // self.total
        if not self.terminal and tenth == self.said:
            return
        self.said = tenth
        seconds = time.perf_counter() - self.began
        ahead = seconds / max(done, 1) * (self.total - done)
        filled = BAR * done // self.total
        line = (
            f"{self.title}: [{'█' * filled}{'·' * (BAR - filled)}] {done} of {self.total} bootstraps, {seconds:.1f} s"
            f"{f', about {ahead:.0f} s left' if done < self.total else ''}"
        )
        shown, end = (f"\r{line:<100}", "") if self.terminal else (line, "\n")
        print(shown, end=end, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.terminal:
            print(file=sys.stderr)
