"""Bags of rows and columns:  D_b = m rows drawn from D with replacement, c_ib = how often row i is in bag b.

    row of draw u ~ U[0, 1):   floor(u·n),   or with weights w the i whose Σ_{j<i} w_j ≤ u·W < Σ_{j≤i} w_j

so that a row of weight 2 is drawn as two equal rows would be, and one of weight 0 never. The generator is keyed by
(seed, bag, purpose) and not consumed in visiting order: any engine and any number of threads draw the same bags.
Notes [6321] "Bootstrap replicates". Row E3 of the specification. Cost: O(m) a bag, O(m log n) with weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.checks import is_count
from separatrix.data.engine import each_in_threads

ROWS, COLUMNS, LEARNER = 0, 1, 2  # what a generator is for


@dataclass(frozen=True, eq=False)
class Draws:
    """m of n rows and ``width`` of p columns for each bag; ``weight`` (n,) or None.

    With replacement rows are drawn in proportion to their weight; without, any m rows that weigh something.

    >>> draws = Draws(n=5, p=2, m=5, width=2, seed=0)
    >>> bool((draws.counts(3) == np.bincount(draws.rows(3), minlength=5)).all())
    True
    >>> twice = Draws(n=4, p=2, m=5, width=2, seed=0, weight=np.array([1.0, 2.0, 1.0, 1.0]))
    >>> (twice.counts(3) == np.add.reduceat(draws.counts(3), [0, 1, 3, 4])).tolist()
    [True, True, True, True]
    """

    n: int
    p: int
    m: int
    width: int
    seed: int
    bootstrap: bool = True
    bootstrap_columns: bool = False
    weight: FloatArray | None = None

    def generator(self, bag: int, purpose: int) -> np.random.Generator:
        key = np.array([self.seed % 2**64, 4 * bag + purpose], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(key=key))

    def rows(self, bag: int) -> Index:
        """The rows of a bag (m,), repeats included, in the order drawn."""
        rng = self.generator(bag, ROWS)
        if not self.bootstrap:
            return self.present[rng.choice(len(self.present), self.m, replace=False)]
        u = rng.random(self.m)
        if self.weight is None:
            return np.minimum((u * self.n).astype(np.intp), self.n - 1)
        cumulated = self._cumulated
        at = np.searchsorted(cumulated, u * cumulated[-1], side="right")
        return np.minimum(at, int(self.present[-1]))

    def counts(self, bag: int) -> Index:
        """How often each row is in the bag (n,)."""
        return np.bincount(self.rows(bag), minlength=self.n)

    def weights(self, counts: Index) -> FloatArray:
        """What the rows weigh in a bag of these counts (n,)."""
        weight = counts.astype(float)
        return weight if self.kept_weight is None else weight * self.kept_weight

    def table(self, bags: Sequence[int]) -> np.ndarray:
        """Counts of several bags (bags, n), in the smallest whole numbers that hold them."""
        out = np.empty((len(bags), self.n), dtype=np.uint8 if self.m < 256 * self.n else np.uint32)
        most = np.zeros(len(bags), dtype=np.intp)

        def work(i: int) -> None:
            counts = self.counts(bags[i])
            out[i], most[i] = counts, counts.max(initial=0)

        each_in_threads(work, range(len(bags)))
        if most.max(initial=0) <= np.iinfo(out.dtype).max:
            return out
        # a heavy row is in a bag hundreds of times
        return np.array([self.counts(bag) for bag in bags], dtype=np.uint32)

    def columns(self, bag: int) -> Index:
        """The columns of a bag (width,); all of them in order where nothing is drawn."""
        if self.all_columns:
            return np.arange(self.p)
        rng = self.generator(bag, COLUMNS)
        if self.bootstrap_columns:
            return rng.integers(0, self.p, self.width)
        return rng.choice(self.p, self.width, replace=False)

    def learner_seed(self, bag: int) -> int:
        """The seed of what the base learner itself draws."""
        return int(self.generator(bag, LEARNER).integers(2**31 - 1))

    @property
    def all_columns(self) -> bool:
        return self.width == self.p and not self.bootstrap_columns

    @property
    def kept_weight(self) -> FloatArray | None:
        """The weight rows keep in a bag: drawn without replacement, theirs; else that of the draw is all."""
        return None if self.bootstrap else self.weight

    @cached_property
    def present(self) -> Index:
        """Rows that weigh something."""
        return np.arange(self.n) if self.weight is None else np.flatnonzero(self.weight > 0)

    @cached_property
    def _cumulated(self) -> FloatArray:
        assert self.weight is not None
        return np.cumsum(self.weight)


def rows_a_bag(max_samples: Any, n: int, weight: FloatArray | None, bootstrap: bool) -> int:
    """m: all rows (None), that many (a whole number), or that share of the rows, which weights count as repeated.

    >>> rows_a_bag(None, 10, None, True), rows_a_bag(0.25, 10, None, True), rows_a_bag(3, 10, None, False)
    (10, 2, 3)
    """
    there = n if weight is None else int(np.count_nonzero(weight))
    if max_samples is None:
        return there
    if is_count(max_samples):
        m = int(max_samples)
        if m < 1 or (not bootstrap and m > there):
            most = "" if bootstrap else f" and at most the {there} rows, which are drawn without replacement"
            raise ValueError(
                f"max_samples={m} must be at least 1{most}: give a smaller number, or a share of the rows in (0, 1]"
            )
        return m
    if not (isinstance(max_samples, (float, np.floating)) and 0 < max_samples <= 1):
        raise ValueError(
            f"max_samples={max_samples!r} must be None (as many as there are rows), a whole number of at least 1, or "
            "a share of the rows in (0, 1]: 1.0 is all of them, 1 is one row"
        )
    total = there if weight is None or not bootstrap else float(weight.sum())
    return max(int(max_samples * total), 1)


def columns_a_bag(max_features: Any, p: int, bootstrap_columns: bool) -> int:
    """How many of p columns a bag sees."""
    if is_count(max_features):
        width = int(max_features)
        if not 1 <= width <= p:
            raise ValueError(
                f"max_features={width} must be between 1 and the {p} columns of X, or a share of them in (0, 1]"
            )
        return width
    if not (isinstance(max_features, (float, np.floating)) and 0 < max_features <= 1):
        raise ValueError(
            f"max_features={max_features!r} must be a whole number between 1 and {p}, or a share of the columns in "
            "(0, 1]: 1.0 is all of them, 1 is one column"
        )
    return max(int(max_features * p), 1)
