"""Which rows are of which class, and how much of each: memberships R that may be soft.

    hard    R_ik = w_i if row i's label is k, else 0
    soft    R_ik = w_i × a posterior probability, as EM needs it

Notes [6867] 3.1. Shapes: R (n, K), never made where labels will do. Cost O(np) a sum of rows (n, p).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from separatrix.core.numerics import FloatArray

FEW_CLASSES = 32  # up to which a product with an indicator matrix beats sorting the rows by class


class Members:
    """R of some rows: ``codes`` (n,) with −1 for none, or ``soft`` (n, K); times ``weight`` (n,) where given.

    >>> Members(2, codes=np.array([0, 1, 1, -1])).sum(np.array([[1.0], [2.0], [4.0], [9.0]])).tolist()
    [[1.0], [6.0]]
    """

    def __init__(
        self,
        k: int,
        codes: NDArray[np.intp] | None = None,
        weight: FloatArray | None = None,
        soft: FloatArray | None = None,
    ):
        assert codes is not None or soft is not None
        self.k, self.codes, self.weight, self.soft = k, codes, weight, soft

    @cached_property
    def matrix(self) -> FloatArray:
        """R itself: (n, K)."""
        if self.soft is not None:
            return self.soft if self.weight is None else self.soft * self.weight[:, None]
        assert self.codes is not None
        indicator = (self.codes[:, None] == np.arange(self.k)).astype(np.float64)
        if self.weight is not None:
            indicator *= self.weight[:, None]
        return indicator

    @cached_property
    def _by_class(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Rows in the order of their class, where each class present begins, and which it is."""
        assert self.codes is not None
        short = self.codes.astype(np.int16) if self.k < 1 << 15 else self.codes  # sorted by counting
        order = np.argsort(short, kind="stable")
        size = np.bincount(self.codes + 1, minlength=self.k + 1)
        present = np.flatnonzero(size[1:])
        return order[size[0] :], (np.cumsum(size[1:]) - size[1:])[present], present

    def sum(self, Z: FloatArray) -> FloatArray:
        """Σ_i R_ik z_i: (K, p)."""
        if self.soft is not None or self.k <= FEW_CLASSES:
            with np.errstate(all="ignore"):  # a NaN or an infinity shows in the sum, and is dealt with there
                return np.dot(self.matrix.T, Z)
        order, first, present = self._by_class
        out = np.zeros((self.k, Z.shape[1]))
        if len(order):
            rows = Z[order] if self.weight is None else Z[order] * self.weight[order, None]
            out[present] = np.add.reduceat(rows, first, axis=0)
        return out

    @cached_property
    def count(self) -> FloatArray:
        """W_k: (K,)."""
        if self.soft is not None:
            return self.matrix.sum(axis=0)
        assert self.codes is not None
        labelled = self.codes >= 0
        if labelled.all():
            return np.bincount(self.codes, self.weight, minlength=self.k).astype(np.float64)
        weight = None if self.weight is None else self.weight[labelled]
        return np.bincount(self.codes[labelled], weight, minlength=self.k).astype(np.float64)

    def classes(self) -> list[tuple[int, NDArray[np.intp], FloatArray]]:
        """(k, its rows, their R_ik) for every class that has rows; a row of weight zero is absent."""
        if self.soft is not None:
            columns = ((k, self.matrix[:, k]) for k in range(self.k))
            return [(k, np.flatnonzero(w > 0), w[w > 0]) for k, w in columns if (w > 0).any()]
        order, first, present = self._by_class
        found: list[tuple[int, NDArray[np.intp], FloatArray]] = []
        for i, k in enumerate(present.tolist()):
            rows = order[first[i] : first[i + 1] if i + 1 < len(first) else len(order)]
            if self.weight is None:
                found.append((k, rows, np.ones(len(rows))))
            elif (self.weight[rows] > 0).any():
                rows = rows[self.weight[rows] > 0]
                found.append((k, rows, self.weight[rows]))
        return found
