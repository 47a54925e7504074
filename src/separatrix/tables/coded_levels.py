"""Levels without a column each:  the target's mean for a level, or a column shared by those of one hash (row T3).

    target    for a class (two: the second) the share of it in a level, for numbers their mean, shrunk to the whole's
              (data/level_means.py); rows of training get what the other four fifths of the rows say
    hashed    0 and 1 in 2¹⁷ columns, by the CRC-32 of the word in UTF-8: the same on every machine

A row of training never meets its own label in its columns, so that a column that tells nothing stays one that tells
nothing. Missing cells are a level of their own; one first met after training has the mean of the whole. Cost: O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import type_of_target

from separatrix.core.numerics import FloatArray
from separatrix.data.level_means import LevelMeans
from separatrix.tables.sources import TableError

HASHED_FROM = 100_000  # levels of a column beyond which they share columns
BUCKETS = 1 << 17
FOLDS = 5
NUMBERS_FROM = 100  # different numbers beyond which a target is a quantity


@dataclass(frozen=True, eq=False)
class TargetColumn:
    """(mean target of the level − mean)/scale; ``table`` (levels + 1, width), the last row of missing cells."""

    name: str
    levels: tuple[str, ...]
    table: FloatArray
    whole: FloatArray  # of a level never met
    mean: FloatArray
    scale: FloatArray
    told: tuple[str, ...]  # what each column is
    gaps: int

    def names(self) -> list[str]:
        return [f"{self.name}: {what}" for what in self.told]

    def rows(self) -> FloatArray:
        """The numbers of each level, of missing cells, and of a level never met: (levels + 2, width)."""
        return np.vstack([self.table, self.whole])

    def columns(self, words: list[str], codes: np.ndarray, scaled: bool) -> FloatArray:
        place = {level: j for j, level in enumerate(self.levels)}
        never = len(self.levels) + 1
        at = np.array([*(place.get(w, never) for w in words), len(self.levels)])[codes]
        return self.scaled(self.rows()[at], scaled)

    def scaled(self, x: FloatArray, scaled: bool) -> FloatArray:
        return (x - self.mean) / self.scale if scaled else x


@dataclass(frozen=True)
class HashedColumn:
    """0 and 1 for each hash of a level; a sign where the cell is missing."""

    name: str
    size: int
    count: int  # levels in training
    gaps: int

    def names(self) -> list[str]:
        out = [f"{self.name}#{j}" for j in range(self.size)]
        return [*out, *([f"{self.name} is missing"] if self.gaps else [])]

    def columns(self, words: list[str], codes: np.ndarray) -> sp.csr_matrix:
        width = self.size + bool(self.gaps)
        at = np.array([*(bucket(w, self.size) for w in words), width - 1 if self.gaps else -1])[codes]
        held = at >= 0
        ends = np.concatenate([[0], np.cumsum(held)])
        return sp.csr_matrix((np.ones(ends[-1]), at[held], ends), shape=(len(codes), width))


def bucket(word: str, size: int) -> int:
    """The column of a word, of ``size``.

    >>> bucket("zip", 1 << 17), bucket("Zürich", 1 << 17)
    (103750, 108862)
    """
    return crc32(word.encode("utf-8", "surrogatepass")) % size


def read_target(name: str, y: ArrayLike | None, n: int) -> tuple[list[str], FloatArray]:
    """What the columns of a target-coded variable are, and the numbers they are means of (n, width)."""
    if y is None:
        raise TableError(f"column {name!r} is coded by the target: give it, fit(X, y), or another kind")
    labels = np.asarray(y).ravel()
    if len(labels) != n:
        raise TableError(f"the table has {n} rows and the target {len(labels)}: give one for each row")
    classes, codes = np.unique(labels, return_inverse=True)
    numbers = labels.dtype.kind in "iuf" and len(classes) > NUMBERS_FROM
    if numbers or type_of_target(labels) == "continuous":
        return ["mean of the target"], labels.astype(np.float64)[:, None]
    first = 1 if len(classes) == 2 else 0
    told = [f"share of {value}" for value in classes.tolist()[first:]]
    return told, np.array(codes[:, None] == np.arange(first, len(classes)), dtype=np.float64)


def learn_target(name: str, words: np.ndarray, y: ArrayLike | None) -> tuple[TargetColumn, FloatArray]:
    """The column, and the numbers of the rows it is learned of (n, width), each from the other folds' rows."""
    import pandas as pd

    told, target = read_target(name, y, len(words))
    codes, found = pd.factorize(pd.Series(words, dtype=object))
    levels = tuple(str(v) for v in found)
    gaps = int((codes < 0).sum())
    at = np.where(codes < 0, len(levels), codes)
    whole, table = _means(at, target, len(levels) + 1)
    fold = np.empty(len(at), np.int64)
    fold[np.random.default_rng(0).permutation(len(at))] = np.arange(len(at)) % FOLDS
    out = np.tile(whole, (len(at), 1))
    for f in range(FOLDS):
        mine = fold == f
        if mine.all() or not mine.any():
            continue
        centre, means = _means(at[~mine], target[~mine], len(levels) + 1)
        out[mine] += means[at[mine]] - centre  # what a fold's own mean lacks would tell its labels
    mean, spread = out.mean(axis=0), out.std(axis=0)
    scale = np.where(spread > 1e-9 * np.maximum(np.abs(mean), 1e-300), spread, 1.0)
    order = np.argsort(np.array(levels, dtype=object), kind="stable") if levels else np.empty(0, np.intp)
    column = TargetColumn(
        name,
        tuple(levels[i] for i in order),
        table[[*order, len(levels)]],
        whole,
        mean,
        scale,
        tuple(told),
        gaps,
    )
    return column, out


def _means(codes: np.ndarray, target: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """The means of the whole (width,), and those of levels shrunk to them (size, width)."""
    found: list[Any] = [LevelMeans.of(codes, z, None, size) for z in target.T]
    return np.array([m.mean for m in found]), np.column_stack([m.shrunk for m in found])
