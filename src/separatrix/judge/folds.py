"""Rows dealt into folds:  those on which models are judged, and the inner ones on which settings are chosen.

    read_splits(cv, …)      5 folds, of few rows twice, classes in proportion; or as they are given
    grouped_splits(…)       the same, and rows of one group (a patient, a sender) always on one side
    timed_splits(…)         what is judged comes after all that is learned from
    inner_folds(codes, k)   the same for a search, of a :func:`sample` where rows are many

A class too small for folds is learned from in all and judged in none. Row V1. Cost: O(n) a fold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold

from separatrix.data.door import is_count
from separatrix.judge.alerts import Alert

FOLDS, REPEATS = 5, 2
REPEATED = 2_500  # rows, up to which folds are repeated: of more, one repetition says enough
LEAST = 3  # rows of a class, for folds with all classes on both sides


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of training and rows to be judged, the fold's number and that of its repetition."""

    repeat: int
    fold: int
    train: np.ndarray
    test: np.ndarray


def read_splits(cv: Any, codes: np.ndarray, classes: np.ndarray, seed: int) -> list[Split]:
    """Folds in order of repetition; refused where a class is too small for them.

    >>> splits = read_splits((2, 2), np.array([0, 0, 1, 1]), np.array(["a", "b"]), 0)
    >>> [(s.repeat, s.fold, s.test.tolist()) for s in splits]
    [(0, 0, [1, 2]), (0, 1, [0, 3]), (1, 0, [0, 3]), (1, 1, [1, 2])]
    """
    counts = np.bincount(codes, minlength=len(classes))
    least, label = int(counts.min()), classes.tolist()[int(counts.argmin())]
    if cv is None:
        if (counts >= LEAST).sum() < 2:
            raise ValueError(
                f"class {label!r} has {least} row{'s' if least > 1 else ''}: cross-validation needs at least {LEAST} "
                "of two classes; give more rows, or give cv"
            )
        return _without_small(codes, counts, seed)
    if is_count(cv):
        cv = (cv, 1)
    if isinstance(cv, tuple) and len(cv) == 2 and all(is_count(v) for v in cv):
        folds, repeats = int(cv[0]), int(cv[1])
        if folds < 2 or repeats < 1:
            raise ValueError(f"cv must be at least 2 folds, at least once; got {cv!r}")
        if least < folds:
            raise ValueError(
                f"class {label!r} has {least} row{'s' if least > 1 else ''}, fewer than {folds} folds: give "
                f"cv={max(least, 2)} or less, drop the class, or merge it with another"
            )
        split = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
        pairs = list(split.split(np.zeros(len(codes)), codes))
        return [Split(i // folds, i % folds, a, b) for i, (a, b) in enumerate(pairs)]
    return _given_splits(cv, codes, classes)


def dealt_splits(
    cv: Any, groups: Any, time: Any, codes: np.ndarray, classes: np.ndarray, seed: int
) -> list[Split]:
    """The folds asked for: by groups, by time, or as cv says; only one of them."""
    _one_way(cv, groups, time)
    if groups is not None:
        return grouped_splits(groups, codes, classes, seed)
    if time is not None:
        return timed_splits(time, codes, classes)
    return read_splits(cv, codes, classes, seed)


def numbered_splits(cv: Any, groups: Any, time: Any, y: np.ndarray, seed: int) -> list[Split]:
    """The same for numbers."""
    _one_way(cv, groups, time)
    if groups is not None:
        strata = strata_of(y)
        return grouped_splits(groups, strata, np.unique(strata), seed, numbers=True)
    if time is not None:
        return timed_splits(time, np.zeros(len(y), dtype=np.intp), np.zeros(1), numbers=True)
    return numeric_splits(cv, y, seed)


def _one_way(cv: Any, groups: Any, time: Any) -> None:
    given = [name for name, value in (("cv", cv), ("groups", groups), ("time", time)) if value is not None]
    if len(given) > 1:
        raise ValueError(f"{given[0]} and {given[1]} both say what the folds are: give one of them")


def strata_of(y: np.ndarray, parts: int = 10) -> np.ndarray:
    """The number (n,) of the tenth of y that a row lies in, so that folds and samples have numbers of every size.

    Of few rows, or few different numbers, there are fewer parts.

    >>> strata_of(np.arange(40.0)).tolist()[::8]
    [0, 0, 1, 2, 3]
    """
    parts = max(min(parts, len(y) // FOLDS // 2), 1)
    edges = np.unique(np.quantile(y, np.arange(1, parts) / parts)) if parts > 1 else np.empty(0)
    return np.asarray(
        np.unique(np.searchsorted(edges, y, side="right"), return_inverse=True)[1], dtype=np.intp
    )


def numeric_splits(cv: Any, y: np.ndarray, seed: int) -> list[Split]:
    """Folds for numbers, each tenth of y in proportion; 5, twice, where cv is None, else as it is given.

    >>> [len(s.test) for s in numeric_splits(3, np.arange(12.0), 0)]
    [4, 4, 4]
    """
    n = len(y)
    if cv is None and n < 2 * LEAST:
        raise ValueError(
            f"there are {n} rows: cross-validation needs at least {2 * LEAST}; give more rows, or give cv"
        )
    strata = strata_of(y)
    if cv is not None and not is_count(cv) and not (isinstance(cv, tuple) and all(is_count(v) for v in cv)):
        return _given_splits(cv, strata, np.unique(strata), numbers=y)
    folds, repeats = (min(FOLDS, n // 2), REPEATS) if cv is None else (cv, 1) if is_count(cv) else cv
    if folds < 2 or repeats < 1 or folds > n:
        raise ValueError(f"cv must be at least 2 folds of {n} rows or fewer, at least once; got {cv!r}")
    splits = []
    for repeat in range(repeats):
        order = np.random.default_rng((seed, repeat)).permutation(n)
        order = order[
            np.argsort(strata[order], kind="stable")
        ]  # stratum after stratum: dealing out stratifies
        fold = np.empty(n, dtype=np.intp)
        fold[order] = np.arange(n) % folds
        splits += [
            Split(repeat, f, np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(folds)
        ]
    return splits


def grouped_splits(
    groups: Any, codes: np.ndarray, classes: np.ndarray, seed: int, *, numbers: bool = False
) -> list[Split]:
    """Folds in which no group is on both sides, classes about in proportion; as many as groups and classes allow.

    groups : (n,) of any kind, one value a group; a missing one is refused, as its rows' company is not known

    >>> groups = np.repeat(["a", "b", "c", "d"], 5)
    >>> splits = grouped_splits(groups, np.tile([0, 1], 10), np.array([0, 1]), 0)
    >>> all(not set(groups[s.train]) & set(groups[s.test]) for s in splits), len(splits)
    (True, 8)
    """
    from sklearn.model_selection import StratifiedGroupKFold

    own = _coded(groups, len(codes), "groups")
    count = int(own.max()) + 1
    if count < 2:
        raise ValueError(
            "groups holds one value for all rows: folds that keep groups whole need at least two; leave groups out"
        )
    each = [len(np.unique(own[codes == k])) for k in range(len(classes))]
    folds = min(FOLDS, count)
    if count < LEAST or (min(each) < 2 and not numbers):
        label = classes.tolist()[int(np.argmin(each))]
        alone = (
            f"class {label!r} is in {min(each)} group{'s' * (min(each) != 1)} only"
            if min(each) < 2 and not numbers
            else ""
        )
        why = alone or f"groups has {count} values"
        raise ValueError(
            f"{why}: folds that keep groups whole cannot learn and judge it; give groups=None, or cv"
        )
    splits = []
    for repeat in range(REPEATS):
        dealt = StratifiedGroupKFold(folds, shuffle=True, random_state=seed + repeat)
        pairs = dealt.split(np.zeros(len(codes)), codes, own)
        kept = [(a, b) for a, b in pairs if len(b) and (numbers or len(np.unique(codes[a])) > 1)]
        splits += [Split(repeat, i, np.asarray(a), np.asarray(b)) for i, (a, b) in enumerate(kept)]
    return splits


def timed_splits(times: Any, codes: np.ndarray, classes: np.ndarray, *, numbers: bool = False) -> list[Split]:
    """Stretches of time (at most `FOLDS`), each judged by what is learned from all before it; ties stay together.

    times : (n,) numbers or dates in any order; a missing one is refused, as its place is not known

    >>> splits = timed_splits(np.arange(12.0)[::-1], np.tile([0, 1], 6), np.array([0, 1]))
    >>> [(len(s.train), len(s.test)) for s in splits], splits[0].test.tolist()
    ([(2, 2), (4, 2), (6, 2), (8, 2), (10, 2)], [8, 9])
    """
    place = _coded(times, len(codes), "time")
    order = np.argsort(place, kind="stable")
    found = np.searchsorted(
        place[order], place[order][[len(order) * f // (FOLDS + 1) for f in range(1, FOLDS + 1)]]
    )
    edges = [int(e) for e in np.unique(found) if e > 0]
    splits: list[Split] = []
    for first, last in zip(edges, [*edges[1:], len(order)]):
        train, test = np.sort(order[:first]), np.sort(order[first:last])
        if len(test) and (len(np.unique(codes[train])) > 1 or numbers):
            splits.append(Split(0, len(splits), train, test))
    if not splits:
        raise ValueError(
            f"in the order of time no stretch has rows of two of the classes {classes.tolist()} before it: leave "
            "time out, or give cv"
        )
    return splits


def _coded(values: Any, n: int, name: str) -> np.ndarray:
    """The rank (n,) of each value; refused where one is missing or the number of rows is another."""
    column = np.asarray(values)
    if column.shape != (n,):
        raise ValueError(f"{name} has shape {column.shape}, X has {n} rows: give one value a row")
    gone = np.flatnonzero([v is None for v in column]) if column.dtype == object else np.empty(0, dtype=int)
    if not len(gone):
        gone = np.flatnonzero(column != column)
    if len(gone):
        raise ValueError(
            f"{name} is missing in row {int(gone[0])} ({len(gone)} in all): fill it in, or drop the row"
        )
    try:
        _, codes = np.unique(column, return_inverse=True)
    except TypeError:  # words beside numbers have no order
        _, codes = np.unique([str(v) for v in column.tolist()], return_inverse=True)
    return np.asarray(codes, dtype=np.intp)


def _without_small(codes: np.ndarray, counts: np.ndarray, seed: int) -> list[Split]:
    """The default folds; rows of a class too small for them are learned from in all, and judged in none."""
    large = counts >= LEAST
    own = np.flatnonzero(large[codes])
    small = np.flatnonzero(~large[codes])
    folds = min(FOLDS, int(counts[large].min()))
    repeats = REPEATS if len(codes) <= REPEATED else 1
    split = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    pairs = split.split(np.zeros(len(own)), codes[own])
    return [
        Split(i // folds, i % folds, np.sort(np.concatenate([own[a], small])), own[b])
        for i, (a, b) in enumerate(pairs)
    ]


def unjudged(codes: np.ndarray, classes: np.ndarray) -> list[Alert]:
    """Classes too small for the default folds."""
    counts = np.bincount(codes, minlength=len(classes)).tolist()
    told = ", too few for folds: learned from in every fold and judged in none, so that no score speaks of it"
    return [
        Alert("unjudged", "warning", None, f"class {label!r} has {rows} row{'s' * (rows > 1)}{told}")
        for label, rows in zip(classes.tolist(), counts)
        if rows < LEAST
    ]


def _given_splits(
    cv: Any, codes: np.ndarray, classes: np.ndarray, numbers: np.ndarray | None = None
) -> list[Split]:
    if hasattr(cv, "split") and not isinstance(cv, (str, bytes)):
        pairs = list(
            cv.split(np.zeros(len(codes)), np.asarray(classes)[codes] if numbers is None else numbers)
        )
    elif isinstance(cv, Iterable) and not isinstance(cv, (str, bytes)):
        pairs = list(cv)
    else:
        raise ValueError(
            f"cv must be a number of folds, (folds, repetitions), a splitter or (train, test) pairs; got {cv!r}"
        )
    splits: list[Split] = []
    repeat, seen = 0, np.zeros(len(codes), dtype=bool)
    for i, pair in enumerate(pairs):
        try:
            train, test = (np.asarray(rows, dtype=np.intp) for rows in pair)
        except (TypeError, ValueError):
            raise ValueError(f"cv[{i}] must be a pair (train, test) of row numbers") from None
        if not len(train) or not len(test):
            raise ValueError(f"cv[{i}] has no rows to {'judge' if len(train) else 'train on'}")
        if numbers is None and len(np.unique(codes[train])) < 2:
            raise ValueError(f"cv[{i}] trains on one class: shuffle or stratify the folds")
        if seen[test].any():  # rows judged before: another repetition begins
            repeat, seen = repeat + 1, np.zeros(len(codes), dtype=bool)
        seen[test] = True
        splits.append(Split(repeat, sum(s.repeat == repeat for s in splits), train, test))
    if not splits:
        raise ValueError("cv has no splits")
    return splits


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
