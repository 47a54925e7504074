"""What is odd about a target that is taken for classes (see alerts.py).

    target        more than 20 different numbers: a quantity? whole numbers or words in order: grades?
    lone class    classes of one row: whoever is fitted to it cannot be judged on it
    imbalance     a class that is rare beside the others
    copy          of a target of numbers: a column that is it in other units

Row V1. Shapes: classes (K,), codes (n,). Cost: O(n).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.words import and_more
from separatrix.judge.alert import Alert

QUANTITY = 20  # different numbers beyond which they are hardly names
MANY = 20  # rows that prove something
SMALL, TINY = 0.1, 0.02  # share of the smallest class
CLOSE = 1e-4  # of a correlation of 1: a copy of the target
CLEAR = 0.8  # share of the largest class from which accuracy says little
GRADES = 5  # numbers in a row from which they may be grades
UNEVEN = 3  # how often more the most frequent of grades is there than the least
NAMED = 6  # classes a sentence lists
SCALES = (
    ("very low", "low", "medium", "high", "very high"),
    ("low", "mid", "high"),
    ("small", "medium", "large"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("bad", "average", "good"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("none", "mild", "moderate", "severe"),
    ("unacc", "acc", "good", "vgood"),
)


def target_alerts(classes: np.ndarray, codes: np.ndarray) -> Iterator[Alert]:
    """Alerts on a target of ``classes`` (K,), of which ``codes`` (n,) says each row's.

    >>> [a.kind for a in target_alerts(np.arange(56), np.arange(1200) % 56)]
    ['target']
    """
    counts = np.bincount(codes, minlength=len(classes))
    yield from _meaning(classes, counts)
    lone = np.flatnonzero(counts == 1)
    if len(lone):
        listed = and_more([repr(classes.tolist()[k]) for k in lone], NAMED)
        what = f"class {listed} has one row" if len(lone) == 1 else f"classes {listed} have one row each"
        yield Alert(
            "lone class", "warning", None,
            f"{what}: a model fitted to such a row cannot be judged on it; give more rows, join classes, or leave it "
            "out",
        )  # fmt: skip
    yield from _imbalance(classes, codes, counts)


def _meaning(classes: np.ndarray, counts: np.ndarray) -> Iterator[Alert]:
    k, n = len(classes), int(counts.sum())
    numbers = classes.dtype.kind in "iuf"
    if numbers and k > QUANTITY:
        yield Alert(
            "target", "serious", None,
            f"the target holds {k:,} different numbers from {classes[0]:g} to {classes[-1]:g}, taken for {k:,} "
            f"classes ({n:,} rows): if this is a quantity, --task regression; if they are names, spell them as words "
            "(c17)",
        )  # fmt: skip
    elif _ordered(classes, counts):
        first, last = (classes[0], classes[-1]) if numbers else (_scale(classes)[0], _scale(classes)[-1])
        yield Alert(
            "target", "note", None,
            f"the {k} classes look ordered, {first} … {last}, and are told apart as if they were not: one step off "
            "counts as much as many; if the order matters, --task ordinal",
        )  # fmt: skip


def _ordered(classes: np.ndarray, counts: np.ndarray) -> bool:
    """Words of a known scale; or whole numbers in a row whose counts rise and then fall, as those of grades do."""
    if classes.dtype.kind not in "iuf":
        return len(classes) > 2 and bool(_scale(classes))
    if len(classes) < GRADES:
        return False
    rising = np.sign(np.diff(counts.astype(np.int64)))
    turns = int((np.diff(rising[rising != 0]) > 0).sum())  # a fall, then a rise
    return bool((np.diff(classes) == 1).all()) and turns == 0 and counts.max() > UNEVEN * counts.min()


def _scale(classes: np.ndarray) -> list[str]:
    """The classes in the order of the scale that all of them are words of; none where there is no such."""
    words = {" ".join(str(v).lower().replace("_", " ").split()) for v in classes.tolist()}
    return next(([w for w in scale if w in words] for scale in SCALES if words <= set(scale)), [])


def _imbalance(classes: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> Iterator[Alert]:
    share, least = counts.min() / len(codes), int(counts.argmin())
    if share < min(SMALL, 0.5 / len(classes)):
        labels, top = classes.tolist(), counts.max() / len(codes)
        told = f"class {labels[least]!r} has {counts.min():,} of {len(codes):,} rows ({share:.1%})"
        if top > CLEAR:
            told += (
                f", and always saying {labels[int(counts.argmax())]!r} is right in {top:.1%}: accuracy says little, "
                "look at log loss or AUC"
            )
        else:
            told += ": little is learned of it, and scores of it are rough"
        yield Alert("imbalance", "warning" if share < TINY or counts.min() < MANY else "note", None, told)


def copies_of(columns: Iterable[Any], y: FloatArray) -> Iterator[Alert]:
    """Columns that are the target in other units, or nearly: |r| above 0.9999 on the rows that have both."""
    for column in columns:
        if column.numbers is None:
            continue
        there = np.isfinite(column.numbers)
        a, b = column.numbers[there], y[there]
        if len(a) < MANY or a.min() == a.max() or b.min() == b.max():
            continue
        r = float(np.corrcoef(a, b)[0, 1])
        if abs(r) > 1 - CLOSE:
            told = f"{column.said} is the target in other units, or nearly (r = {r:.6f}): is it known beforehand?"
            yield Alert("leakage", "serious", column.name, told)
