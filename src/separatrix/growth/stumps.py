"""Decision stumps: one column, one test, two sides, each with its class ([6321] "Weak learners", row E1).

    x_j ≤ t  or  x_j among some levels  or  word j absent   →   the left side's class, else the right side's

The test chosen puts the most weight right; a tie (to a part in 10¹²) goes to the lowest column, then to the lowest
threshold. A missing cell goes the better way. Weights are whole numbers of one unit, 2⁻⁶² of their sum unless they
are whole already, so that sums are exact: whatever the order of rows, the number of threads or the way of searching,
the stump is the same.

A :class:`StumpTable` is laid out once, O(np log 255) for numbers, and searched as often as weights change: O(np)
bytes read a search (see :mod:`separatrix.loops.stumps`), O(stored cells) for a sparse table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.rows import solid
from separatrix.growth.stump_columns import (
    CRITERIA,
    ROUNDING_BITS,
    Bins,
    Levels,
    PlacedTest,
    Sorted,
    Words,
    Worth,
)
from separatrix.loops.stumps import add_thresholds, add_votes, side_weights

UNITS = 2.0**62  # one whole weight
KINDS = {"number": 0, "levels": 1, "word": 2, "majority": 3}
DENSE_CELLS = 1 << 20  # cells of a sparse tile laid out dense at once


@dataclass(frozen=True)
class Stump:
    """One test and what each side says, classes by number.

    ``kind`` is "number" (x ≤ threshold goes left), "levels" (a level goes left where ``levels[level]``, the last
    place standing for levels unseen), "word" (x = 0 goes left) or "majority" (all go left). ``left_weight``,
    ``right_weight`` (K,) are the classes' shares of the whole weight on each side.

    >>> Stump(0, "number", 2.5, None, 0, 1, True, np.array([0.5, 0.0]), np.array([0.1, 0.4]), 0.1).side(
    ...     np.array([1.0, 3.0, np.nan])
    ... ).tolist()
    [True, False, True]
    """

    feature: int
    kind: str
    threshold: float
    levels: np.ndarray | None
    left: int
    right: int
    missing_left: bool
    left_weight: FloatArray
    right_weight: FloatArray
    error: float

    def side(self, column: np.ndarray) -> np.ndarray:
        """Whether each cell of the stump's column goes left."""
        x = np.asarray(column, dtype=np.float64)
        if self.kind == "majority":
            return np.ones(len(x), dtype=bool)
        lost = np.isnan(x)
        if self.kind == "number":
            goes = x <= self.threshold
        elif self.kind == "word":
            goes = x == 0.0
        else:
            assert self.levels is not None
            unseen = len(self.levels) - 1
            at = np.where(lost | (x < 0), unseen, x).astype(np.intp)
            goes = self.levels[np.minimum(at, unseen)]
        return np.where(lost, self.missing_left, goes)

    def codes(self, column: np.ndarray) -> np.ndarray:
        """The class each cell of the stump's column is given, by number."""
        return np.where(self.side(column), self.left, self.right)


@dataclass
class StumpTable:
    """Cells laid out for the search, rows sorted by class: ``rows[i]`` is the place of row i in the table given.

    ``cls`` (n,) their classes, ``bounds`` (K + 1,) where each class begins.
    """

    X: Any
    rows: np.ndarray
    cls: np.ndarray
    bounds: np.ndarray
    criterion: str
    parts: list[Bins | Sorted | Levels | Words] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        X: Any,
        codes: np.ndarray,
        n_classes: int,
        rows: np.ndarray,
        nominal: Iterable[int] = (),
        criterion: str = "error",
    ) -> StumpTable:
        """Lay out the given rows of X (n, p), an array or CSR; ``nominal`` lists the columns of levels 0, 1, …"""
        order = np.argsort(codes[rows], kind="stable")
        rows = rows[order].astype(np.int64)
        sorted_codes = codes[rows].astype(np.int64)
        bounds = np.searchsorted(sorted_codes, np.arange(n_classes + 1)).astype(np.int64)
        assert criterion in CRITERIA
        table = cls(X, rows, sorted_codes, bounds, criterion)
        if not isinstance(X, np.ndarray):
            table.parts.append(Words(table))
            return table
        named = {int(j) for j in nominal}
        numbers = np.array([j for j in range(X.shape[1]) if j not in named], dtype=np.int64)
        if len(numbers):
            table.parts.append((Bins if criterion == "error" else Sorted)(table, numbers))
        if named:
            table.parts.append(Levels(table, np.array(sorted(named), dtype=np.int64)))
        return table

    def best(self, w: np.ndarray) -> tuple[Stump, np.ndarray, int]:
        """The stump of least weighted error (or impurity), which rows it sends left, and what it gets right."""
        total = np.array([w[a:b].sum() for a, b in zip(self.bounds, self.bounds[1:])], dtype=np.int64)
        whole = int(total.sum())
        slack: Worth = whole >> ROUNDING_BITS if self.criterion == "error" else 2.0**-ROUNDING_BITS
        several = len(total) > 1  # one class needs no test
        tops = [part.most(w, total) for part in self.parts] if several else [-np.inf]
        found: PlacedTest | None = None
        owner: Bins | Sorted | Levels | Words | None = None
        if max(tops) > (-1 if self.criterion == "error" else -np.inf):
            goal = max(tops) - slack
            first = [(p.first(goal, w, total, slack), p) for p, top in zip(self.parts, tops) if top >= goal]
            found, owner = min(first, key=lambda pair: pair[0].column)
        left = np.ones(len(w), dtype=bool)
        if found is not None and owner is not None:
            owner.left(found, left)
        sides = np.empty((2, len(total)), dtype=np.int64)
        side_weights(left, w, self.bounds, sides)
        tie = whole >> ROUNDING_BITS
        a, b = (int(np.argmax(side >= side.max() - tie)) for side in (sides[0], sides[1 if found else 0]))
        right = int(sides[0, a] + sides[1, b])
        stump = Stump(
            -1 if found is None else found.column, "majority" if found is None else found.kind,
            np.nan if found is None or owner is None else owner.threshold(found),
            None if found is None else found.levels, a, b, True,
            sides[0] / whole, sides[1] / whole, (whole - right) / whole,
        )  # fmt: skip
        return _settled(stump, found), left, right


def _settled(stump: Stump, found: PlacedTest | None) -> Stump:
    """The stump with the way of what training did not show: to the heavier side."""
    heavier = bool(stump.left_weight.sum() >= stump.right_weight.sum())
    if found is None:
        return stump
    missing_left = heavier if found.missing_left is None else found.missing_left
    levels = None if found.levels is None else np.append(found.levels, heavier)
    if levels is not None:
        levels.flags.writeable = False  # a stump is a value
    return replace(stump, missing_left=missing_left, levels=levels)


def whole_weights(weight: FloatArray | None, n: int) -> tuple[np.ndarray, FloatArray]:
    """(repeats, unit): D_i = repeats_i · unit_i sums to one; whole weights become repeats, others units.

    >>> whole_weights(np.array([1.0, 3.0]), 2)
    (array([1, 3]), array([0.25, 0.25]))
    """
    if weight is None:
        return np.ones(n, dtype=np.int64), np.full(n, 1.0 / n)
    total = float(weight.sum())
    if total < 2.0**53 and (weight == np.floor(weight)).all():
        return weight.astype(np.int64), np.full(n, 1.0 / total)
    return np.ones(n, dtype=np.int64), weight / total


def in_units(repeats: np.ndarray, unit: FloatArray) -> np.ndarray:
    """The weights as whole numbers of 2⁻⁶² of their sum."""
    return repeats * np.rint(unit * UNITS).astype(np.int64)


@dataclass(frozen=True)
class Ensemble:
    """Stumps as arrays, one place a stump, and the class votes they give rows."""

    kind: np.ndarray
    feature: np.ndarray
    threshold: FloatArray
    missing_left: np.ndarray
    table: np.ndarray
    first: np.ndarray
    left: np.ndarray
    right: np.ndarray
    n_classes: int

    @classmethod
    def of(cls, stumps: Sequence[Stump], n_classes: int) -> Ensemble:
        tables = [np.zeros(0, dtype=bool) if s.levels is None else s.levels for s in stumps]
        return cls(
            np.array([KINDS[s.kind] for s in stumps], dtype=np.int64),
            np.array([s.feature for s in stumps], dtype=np.int64),
            np.array([s.threshold for s in stumps], dtype=np.float64),
            np.array([s.missing_left for s in stumps], dtype=bool),
            np.concatenate([*tables, np.zeros(1, dtype=bool)]),
            np.cumsum([0, *map(len, tables)]).astype(np.int64),
            np.array([s.left for s in stumps], dtype=np.int64),
            np.array([s.right for s in stumps], dtype=np.int64),
            n_classes,
        )

    def votes(self, X: Any, weight: FloatArray) -> FloatArray:
        """(n, K): Σ of the weights of stumps that give row i to class k."""
        if isinstance(X, np.ndarray):
            return self._dense_votes(X, self.feature, weight)
        used = np.unique(self.feature[self.feature >= 0])
        if np.isin(self.kind, (KINDS["word"], KINDS["majority"])).all():
            return self._word_votes(X, used, weight)
        place = np.searchsorted(used, self.feature)
        out = np.empty((X.shape[0], self.n_classes))
        size = max(1, DENSE_CELLS // max(len(used), 1))
        for a in range(0, X.shape[0], size):
            out[a : a + size] = self._dense_votes(X[a : a + size][:, used].toarray(), place, weight)
        return out

    def _dense_votes(self, X: np.ndarray, feature: np.ndarray, weight: FloatArray) -> FloatArray:
        X = solid(X)
        out = np.zeros((X.shape[0], self.n_classes))
        if self.n_classes == 2 and not self.kind.any():
            out[:, 0] = weight.sum()
            move = weight * (self.left - self.right)
            start = float(weight @ self.right)
            add_thresholds(X, feature, self.threshold, self.missing_left, move, start, out)
            return out
        add_votes(
            X, self.kind, feature, self.threshold, self.missing_left, self.table, self.first, self.left, self.right,
            weight, out,
        )  # fmt: skip
        return out

    def _word_votes(self, X: Any, used: np.ndarray, weight: FloatArray) -> FloatArray:
        """A vote of word stumps is linear in which words are there: a product with the table of present words."""
        start, move = np.zeros(self.n_classes), np.zeros((len(used), self.n_classes))
        np.add.at(start, self.left, weight)
        real = self.feature >= 0
        place = np.searchsorted(used, self.feature[real])
        np.add.at(move, (place, self.right[real]), weight[real])
        np.add.at(move, (place, self.left[real]), -weight[real])
        here = X[:, used]
        here.data = (here.data != 0).astype(np.float64)
        return np.asarray(start + here @ move)


def columns_of(X: Any, features: np.ndarray) -> dict[int, np.ndarray]:
    """The columns named, each contiguous: what rounds one by one read."""
    used = np.unique(features[features >= 0])
    if isinstance(X, np.ndarray):
        some = np.asfortranarray(X[:, used])
        return {int(j): some[:, at] for at, j in enumerate(used)}
    csc = X[:, used].tocsc()
    return {int(j): csc[:, [at]].toarray().ravel() for at, j in enumerate(used)}
