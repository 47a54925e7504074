"""Rows dealt into folds:  those on which models are judged, and the inner ones on which settings are chosen.

    read_splits(cv, …)      5 folds, of few rows twice, classes in proportion; or as they are given
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


def _given_splits(cv: Any, codes: np.ndarray, classes: np.ndarray) -> list[Split]:
    if hasattr(cv, "split") and not isinstance(cv, (str, bytes)):
        pairs = list(cv.split(np.zeros(len(codes)), np.asarray(classes)[codes]))
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
        if len(np.unique(codes[train])) < 2:
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
