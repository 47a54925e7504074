"""What a column is worth to a model:  by how much its score worsens on held-out rows when the column is shuffled.

    drop_j = score(rows with column j permuted) − score(rows)     (turned so that more is more important)
    mean over folds ± t_{J−1} √((1/J + n_test/n_train) s²)        (Nadeau and Bengio 2003, as scores are)

The model is fitted anew to each fold, with the settings that it has, and judged on the rows of that fold; or, where
test rows are given, it is judged as it is, with bootstraps of those rows. A column is shuffled as it stands in the
table: a word, a date or a text is one. Of more than SCREENED columns those with the largest drop on the first fold
are looked at on the others. Breiman (2001); notes [6321] "Bagging". Row V4. Cost: folds × (a fit + columns × times
predictions).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray
from separatrix.judge.cells import mixed, names_of
from separatrix.judge.fits import codes_in, probabilities
from separatrix.judge.folds import inner_folds, sample, strata_of
from separatrix.judge.scores import METRICS, Interval, corrected_interval

FOLDS = 5
ROWS = 1_000  # of a fold that are asked about
FEW_ROWS = 200  # of the first fold, where columns are screened
SCREENED = 60
MOST = 3_000  # columns
KEPT = 20
TIMES = 3  # a column is shuffled
DRAWS = 200  # bootstraps of test rows
BLOCK = 10_000  # rows asked about at once


@dataclass(frozen=True, eq=False)
class Importance:
    """``names`` of columns, most important first, and the ``drop`` of each with its interval, in units of ``metric``.

    ``how`` says in a sentence what was done; ``score`` is the mean score of the rows as they are; ``columns`` are the
    places of the names in the table; ``of`` counts the columns there are; ``fitted`` are the models of the folds
    and the rows that each has not seen.
    """

    metric: str
    names: list[str]
    columns: list[int]
    drop: list[Interval]
    score: float
    how: str
    of: int
    level: float = 0.95
    fitted: tuple[tuple[Any, np.ndarray], ...] = ()


class NoTime(Exception):
    """Time was up before anything could be said."""


def importance(
    model: BaseEstimator,
    X: Any,
    y: np.ndarray,
    classes: np.ndarray,
    codes: np.ndarray,
    *,
    metric: str = "log_loss",
    cost: FloatArray | None = None,
    splits: Sequence[tuple[np.ndarray, np.ndarray]] | None = None,
    test: tuple[Any, np.ndarray] | None = None,
    rows: int | None = None,
    seconds: float | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Importance:
    """Permutation importances of the columns of X (n, p) out of fold.

    Parameters
    ----------
    y, classes, codes : the labels (n,), the model's classes, and the number of each label among them; of numbers, no
        classes, and the numbers themselves
    metric, cost : the score, and the matrix of a cost
    splits : (train, test) rows of each fold; None deals five
    test : (table, codes) of rows that the model has not seen: it is judged on them as it is
    rows : of training, to which fits are cut down, where all would take too long
    seconds : no fold is begun that would end later; :class:`NoTime` where none ended
    """
    ends = np.inf if seconds is None else time.perf_counter() + seconds
    shuffler = _Shuffler(classes, metric, cost, seed, ends)
    names = names_of(X)
    if len(names) > MOST:
        wide = f"the table has {len(names):,} columns"
        raise ValueError(f"{wide}, and {MOST:,} are the most that are shuffled one by one")
    if test is not None:
        kept = sample(strata_of(test[1]) if METRICS[metric].task == "numbers" else test[1], 2 * ROWS, seed)
        return _as_it_is(model, _safe_indexing(test[0], kept), test[1][kept], names, shuffler, level)
    strata = strata_of(codes) if METRICS[metric].task == "numbers" else codes
    pairs = list(splits) if splits is not None else inner_folds(strata, FOLDS, seed)
    columns = list(range(len(names)))
    drops: list[FloatArray] = []
    made: list[tuple[Any, np.ndarray]] = []
    scores, longest, said, screened = [], 0.0, "", len(names) > SCREENED
    for f, (train, held) in enumerate(pairs):
        began = time.perf_counter()
        if f and began + longest > ends:
            break
        if rows is not None and rows < len(train):
            train = train[sample(strata[train], rows, seed)]
            said = f"to {len(train):,} rows of it, "
        fitted = clone(model).fit(_safe_indexing(X, train), y[train])
        made.append((fitted, held))
        held = held[sample(strata[held], FEW_ROWS if screened and not f else ROWS, seed)]
        table = _safe_indexing(X, held)
        try:
            score, worse = shuffler.drops(fitted, table, codes[held], columns, f)
        except NoTime:
            if not drops:
                raise
            break
        longest = max(longest, time.perf_counter() - began)
        if screened and not f:
            columns = sorted(np.argsort(-worse, kind="stable")[:KEPT].tolist())
            continue
        drops.append(worse)
        scores.append(score)
    if not drops:
        raise NoTime
    found = np.array(drops)
    ratio = float(np.mean([len(b) / len(a) for a, b in pairs]))
    many = len(drops)
    how = (
        f"On {many} fold{'s' * (many > 1)}, the model fitted anew {said or ''}without the fold and with the "
        f"settings it "
        f"has, and judged on at most {ROWS:,} rows of the fold with one column shuffled at a time"
    )
    if screened:
        how += f"; these {KEPT} of {len(names):,} columns mattered most on another fold, which does not count here"
    elif many < len(pairs):
        how += f"; for want of time {many} of {len(pairs)} folds"
    intervals = [corrected_interval(found[:, c], ratio, level) for c in range(found.shape[1])]
    ordered = _ordered(metric, names, columns, intervals, float(np.mean(scores)), how, level)
    return replace(ordered, fitted=tuple(made))


def _ordered(
    metric: str,
    names: list[str],
    columns: list[int],
    drop: list[Interval],
    score: float,
    how: str,
    level: float,
) -> Importance:
    order = sorted(range(len(columns)), key=lambda c: -drop[c].mean)
    places = [columns[c] for c in order]
    shown = [names[j] for j in places]
    return Importance(metric, shown, places, [drop[c] for c in order], score, how, len(names), level)


def _as_it_is(
    model: BaseEstimator, table: Any, codes: np.ndarray, names: list[str], shuffler: _Shuffler, level: float
) -> Importance:
    """The model on rows it has not seen; intervals over bootstraps of the rows."""
    columns = list(range(len(names)))
    if len(names) > SCREENED:
        part = sample(codes, FEW_ROWS, shuffler.seed)
        _, worse = shuffler.drops(model, _safe_indexing(table, part), codes[part], columns, 0)
        columns = sorted(np.argsort(-worse, kind="stable")[:KEPT].tolist())
    plain = shuffler.answers(model, table)
    score = shuffler.score(codes, *plain)
    rng = np.random.default_rng(shuffler.seed)
    draws = [rng.integers(0, len(codes), len(codes)) for _ in range(DRAWS)]
    drop = []
    for after in shuffler.shuffled(model, table, [(j, 1) for j in columns]):
        each = [shuffler.worse(codes[r], _part(plain, r), _part(after, r)) for r in draws]
        known = np.array([w for w in each if np.isfinite(w)])
        mean = shuffler.worse(codes, plain, after)
        low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if len(known) else (np.nan, np.nan)
        drop.append(Interval(mean, float(low), float(high)))
    how = f"On {len(codes):,} rows it had not seen, one column shuffled at a time"
    if len(columns) < len(names):
        how += f"; the {KEPT} of {len(names):,} columns that mattered most on {FEW_ROWS} of them"
    return _ordered(shuffler.metric, names, columns, drop, score, how, level)


Answers = tuple[np.ndarray, FloatArray | None]


def _part(found: Answers, rows: np.ndarray) -> Answers:
    return found[0][rows], None if found[1] is None else found[1][rows]


@dataclass(frozen=True, eq=False)
class _Shuffler:
    """Scores of answers to rows with a column shuffled."""

    classes: np.ndarray
    metric: str
    cost: FloatArray | None
    seed: int
    ends: float

    def score(self, codes: np.ndarray, said: np.ndarray, P: FloatArray | None) -> float:
        found = METRICS[self.metric]
        of: Callable[..., float] = found.of
        if found.needs == "labels":
            return of(codes, said)
        return of(codes, P, self.cost) if found.needs == "cost" else of(codes, P)

    def worse(self, codes: np.ndarray, before: Answers, after: Answers) -> float:
        """By how much the score is worse afterwards."""
        sign = -1.0 if METRICS[self.metric].higher else 1.0
        return sign * (self.score(codes, *after) - self.score(codes, *before))

    def answers(self, model: BaseEstimator, table: Any) -> Answers:
        """What the metric reads of a model: labels, or probabilities; of numbers, those."""
        if METRICS[self.metric].task == "numbers":
            return np.asarray(model.predict(table), dtype=float), None
        if METRICS[self.metric].needs == "labels":
            return codes_in(model.predict(table), self.classes), None
        P = probabilities(model, table, self.classes)
        return P.argmax(axis=1), P

    def shuffled(self, model: BaseEstimator, table: Any, asked: list[tuple[int, int]]) -> Iterator[Answers]:
        """Answers to the rows with column j shuffled, for each (j, number of the shuffle); some at a time."""
        n = int(table.shape[0])
        some = max(1, BLOCK // n)
        for a in range(0, len(asked), some):
            if time.perf_counter() > self.ends:
                raise NoTime
            part = asked[a : a + some]
            rows = np.tile(np.arange(n), len(part))
            moved = {j: rows.copy() for j, _ in part}
            for i, (j, t) in enumerate(part):
                moved[j][i * n : (i + 1) * n] = np.random.default_rng([self.seed, j, t]).permutation(n)
            said, P = self.answers(model, mixed(table, rows, moved))
            for i in range(len(part)):
                yield _part((said, P), np.arange(i * n, (i + 1) * n))

    def drops(
        self, model: BaseEstimator, table: Any, codes: np.ndarray, columns: list[int], fold: int
    ) -> tuple[float, FloatArray]:
        """(score, drop of each column, the mean over shuffles)."""
        plain = self.answers(model, table)
        times = TIMES if len(columns) <= SCREENED else 1
        asked = [(j, fold * TIMES + t) for j in columns for t in range(times)]
        found = [self.worse(codes, plain, after) for after in self.shuffled(model, table, asked)]
        return self.score(codes, *plain), np.reshape(found, (len(columns), times)).mean(axis=1)
