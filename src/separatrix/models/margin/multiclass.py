"""More than two classes by machines of two sides:  K(K−1)/2 of one class against one, or K of one against the rest.

    "ovo"   machine (i, j), i < j, on the rows of these two: a vote for i where its score is positive, else for j
    "ovr"   machine k on all rows, class k against the others: the largest score wins

Two classes need one machine, which scores the second. Notes [6321] "Support vector machines". Row M9 of the
specification. Cost: O(nK) here; the machines see (K−1)n rows in all ("ovo") or Kn ("ovr").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray, Index
from separatrix.models.margin.kernels import row_key
from separatrix.verdict.separability import separability

REST = "the rest"


@dataclass(frozen=True, eq=False)
class Sides:
    """One machine: the classes on either side (None: all the others), its rows, y = ±1, and C_i = price·weight."""

    negative: int | None
    positive: int
    rows: Index
    y: FloatArray
    weight: FloatArray
    price: float

    @property
    def C(self) -> FloatArray:
        """The box; a hard margin has none, whatever the weights, which are positive."""
        return self.weight * self.price

    def labels(self, classes: np.ndarray) -> tuple[Any, Any]:
        """The labels of the negative and the positive side."""
        names = classes.tolist()
        return (REST if self.negative is None else names[self.negative]), names[self.positive]

    def words(self, classes: np.ndarray) -> str:
        names = classes.tolist()
        if self.negative is None:
            return f"class {names[self.positive]!r} and {REST}"
        a, b = sorted((self.negative, self.positive))
        return f"classes {names[a]!r} and {names[b]!r}"

    def place(self, own: Index) -> Index:
        """The row of LIBSVM's layout in which a pair's β of support vectors of these classes stand.

        A support vector is in K − 1 machines: row r is its r-th rival, counted without its own class.
        """
        assert self.negative is not None
        i, j = sorted((self.negative, self.positive))
        return np.where(own == i, j - 1, i)

    def without(self, held: np.ndarray) -> Sides:
        """The machine on the rows that are not held out (a mask of its rows)."""
        kept = ~held
        return Sides(
            self.negative, self.positive, self.rows[kept], self.y[kept], self.weight[kept], self.price
        )


def sides_of(codes: np.ndarray, weight: FloatArray, C: float, k: int, multi_class: str) -> list[Sides]:
    """The machines of K classes from class codes (n,), −1 for rows that are absent, weights (n,) and C.

    >>> [m.rows.tolist() for m in sides_of(np.array([0, 1, 2, 1]), np.ones(4), 1.0, 3, "ovo")]
    [[0, 1, 3], [0, 2], [1, 2, 3]]
    """
    if multi_class == "ovr" and k > 2:
        rows = np.flatnonzero(codes >= 0)
        signs = [np.where(codes[rows] == j, 1.0, -1.0) for j in range(k)]
        return [Sides(None, j, rows, sign, weight[rows], C) for j, sign in enumerate(signs)]
    out = []
    for i, j in combinations(range(k), 2):
        rows = np.flatnonzero((codes == i) | (codes == j))
        negative, positive = (i, j) if k == 2 else (j, i)
        sign = np.where(codes[rows] == positive, 1.0, -1.0)
        out.append(Sides(negative, positive, rows, sign, weight[rows], C))
    return out


def votes(scores: FloatArray, k: int) -> Index:
    """How many machines of pairs (n, K(K−1)/2) are for each class (n, K)."""
    out = np.zeros((len(scores), k), dtype=np.intp)
    for m, (i, j) in enumerate(combinations(range(k), 2)):
        out[:, i] += scores[:, m] > 0
        out[:, j] += scores[:, m] <= 0
    return out


def unfold_pairs(coef: FloatArray, own: Index, k: int) -> FloatArray:
    """β of pairs (support vectors, K(K−1)/2) from LIBSVM's layout (K − 1, support vectors): see `Sides.place`.

    >>> unfold_pairs(np.array([[1.0, -1.0, 0.0], [2.0, 3.0, -5.0]]), np.arange(3), 3).tolist()
    [[1.0, 2.0, 0.0], [-1.0, 0.0, 3.0], [0.0, 0.0, -5.0]]
    """
    out = np.zeros((coef.shape[1], k * (k - 1) // 2))
    for m, (i, j) in enumerate(combinations(range(k), 2)):
        out[own == i, m] = coef[j - 1, own == i]
        out[own == j, m] = coef[i, own == j]
    return out


def refuse_inseparable(
    cells: Any, machines: Sequence[Sides], kernel: object, classes: np.ndarray, names: Sequence[str] | None
) -> None:
    """A hard margin on rows that no surface separates: the linear kernel's proof, or equal rows."""
    for machine in machines:
        words = machine.words(classes)
        if kernel == "linear":
            try:
                found = separability(cells[machine.rows], machine.y)
            except ArithmeticError:  # too large for the exact answer: the dual will show it
                continue
            if found.kind == "complete":
                continue
            why = found.sentence()
            if names is not None and found.columns:
                why = f"{why} (columns {', '.join(str(names[int(j)]) for j in found.columns[:8])})"
            raise ValueError(
                f"C=np.inf asks for a margin that no row enters, which {words} do not allow: {why}. Use a finite C"
            )
        if kernel == "precomputed" or callable(kernel):
            continue
        twins = _equal_rows(cells[machine.rows], machine.y)
        if twins is not None:
            i, j = (int(machine.rows[t]) for t in twins)
            raise ValueError(
                f"C=np.inf asks for a margin that no row enters, but rows {i} and {j} are equal and of {words}: no "
                "kernel tells them apart. Use a finite C, or drop one of them"
            )


def _equal_rows(cells: Any, y: FloatArray) -> tuple[int, int] | None:
    """Two equal rows of opposite signs, or None."""
    seen: dict[bytes, int] = {}
    for i in range(cells.shape[0]):
        first = seen.setdefault(row_key(cells, i), i)
        if y[first] != y[i]:
            return first, i
    return None
