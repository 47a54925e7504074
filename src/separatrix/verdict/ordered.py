"""Do ordered classes have an unpenalised fit:  a direction along which the likelihood of the order never falls.

    Δθ_{k−1} ≤ x·Δβ ≤ Δθ_k   for every row of every class k, and strictly for some row and side

Then −log P falls for ever along (Δβ, Δθ), and no estimate exists; else the sums are coercive and one does. With a
row (x, −e_k) for each row and each of the two thresholds beside its class, above (+) or below (−) it, this is the
question whether two classes are separated by a hyperplane through the origin (verdict/separability.py), which answers
it with a proof. Cost: that question's, of 2n rows and p + K − 1 columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.linear import LinearRule
from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_dask, read_labels, read_table, read_weights
from separatrix.data.rows import Rows
from separatrix.verdict.separability import Door, Names, Separability, separability_of_rows
from separatrix.verdict.verdict import Columns


@dataclass(frozen=True)
class OrderedSeparation:
    """A direction (Δβ, Δθ) that separates ordered classes, or the proof that there is none; see the module.

    ``sides`` is the proof about rows beside their thresholds; ``classes`` is the order it speaks of.

    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 1, 2])
    >>> found = ordered_separation(Rows.of(X, y), (0, 1, 2))
    >>> found.kind, found.columns, found.check(X, y)
    ('complete', (0,), True)
    """

    sides: Separability
    classes: tuple[object, ...]
    n_columns: int
    columns: Columns
    n_rows: int

    @property
    def kind(self) -> str:
        return self.sides.kind

    @property
    def direction(self) -> FloatArray | None:
        """Δβ, then Δθ: (p + K − 1,)."""
        return self.sides.direction

    def check(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> bool:
        """Whether the proof holds on these rows."""
        X = read_table(Door(), X.compute() if is_dask(X) else X, reset=True)
        labels, codes = read_labels(y, int(X.shape[0]))
        place = {label: k for k, label in enumerate(self.classes)}
        weight = read_weights(sample_weight, int(X.shape[0]))
        present = slice(None) if weight is None else np.flatnonzero(weight > 0)
        known = np.array([place.get(label, -1) for label in labels.tolist()])[codes][present]
        if X.shape[1] != self.n_columns or len(known) != self.n_rows or known.min(initial=0) < 0:
            return False
        cells, above = _sides(X[present], known, len(self.classes))
        return self.sides.check(cells, above)

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """What coef (p,) and thresholds (K−1,) tend to: 0 where finite, ±inf where the sign is settled, else NaN."""
        both = self.sides.limits()[0][0].copy()
        running = np.flatnonzero(both[: self.n_columns])
        if self.kind == "complete" and len(running) == 1 and self.direction is not None:
            j = running[0]  # strictly between thresholds on one column: every such direction has one sign
            both[j] = np.copysign(np.inf, self.direction[j])
        return both[: self.n_columns], both[self.n_columns :]

    def far_along(self, coef: FloatArray, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Finite numbers whose probabilities are those of the limit, to rounding."""
        rule = self.sides.limiting_rule(LinearRule(np.append(coef, thresholds), 0.0))
        return rule.coef[: self.n_columns], rule.coef[self.n_columns :]

    def sentence(self) -> str:
        """One line: the kind, and the columns responsible."""
        if self.kind == "overlap":
            return "separation: none — the ordered classes overlap (proof: rows with convex weights)"
        word = "separated" if self.kind == "complete" else "quasi-separated"
        names = [repr(c) if isinstance(c, str) else str(c) for c in self.columns]
        if not names:
            return f"the ordered classes are {word} by their thresholds alone"
        listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        return f"the ordered classes are {word} by column{'s' if len(names) > 1 else ''} {listed}: weights run to ±∞"


def ordered_separation(rows: Rows, classes: tuple[object, ...], names: Names = None) -> OrderedSeparation:
    """The exact answer for rows whose targets are the places of their classes; raises ``Undecided`` where it is hid.

    Rows of weight zero are absent.
    """
    source = np.vstack([rows.block(i).X for i in range(rows.n_blocks)]) if rows.lazy else rows.source
    present = slice(None) if rows.weight is None else np.flatnonzero(rows.weight > 0)
    codes = np.asarray(rows.y)[present]
    cells, above = _sides(source[present], codes, len(classes))
    table = Rows.of(cells, above)
    found = separability_of_rows(table, table.moments(), 2, fit_intercept=False)
    own = [int(c) for c in found.columns if int(c) < rows.p]
    columns = tuple(j if names is None else str(names[j]) for j in own)
    return OrderedSeparation(found, classes, rows.p, columns, len(codes))


def _sides(X: Any, codes: np.ndarray, k: int) -> tuple[Any, np.ndarray]:
    """((x, −e_k), 1 above threshold k and 0 below it), a row for each threshold beside a row's class."""
    over, under = np.flatnonzero(codes > 0), np.flatnonzero(codes < k - 1)
    pick = np.concatenate([over, under])
    place = np.concatenate([codes[over] - 1, codes[under]])
    above = np.repeat([1, 0], [len(over), len(under)])
    if isinstance(X, np.ndarray):
        beside = np.zeros((len(pick), k - 1))
        beside[np.arange(len(pick)), place] = -1.0
        return np.hstack([X[pick].astype(np.float64), beside]), above
    import scipy.sparse as sp

    ends = sp.csr_matrix((-np.ones(len(pick)), (np.arange(len(pick)), place)), shape=(len(pick), k - 1))
    return sp.hstack([X[pick].astype(np.float64), ends], format="csr"), above
