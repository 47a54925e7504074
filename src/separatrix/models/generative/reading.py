"""What a generative model may be given:  tables with missing cells, and which cells are refused by name.

    infinite, or too large to square      refused: found in the facts, then named by column and row
    outside the family's support          refused by the model's own `_refuse_cells`

A NaN is a missing cell. Shapes: X (n, p). Cost O(p) where nothing is wrong: the facts are looked at, not the cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags

from separatrix.data.door import column_name, read_table, refuse_infinite
from separatrix.data.rows import Rows
from separatrix.data.sources import TableLike
from separatrix.data.stored import Stored
from separatrix.models.generative.answers import PosteriorAnswers
from separatrix.models.generative.facts import ClassFacts, PartFacts

NAMED = 6  # how many columns a finding lists before it counts the rest


class TableReader(PosteriorAnswers):
    """Reads rows for a fit and for predictions; see the module."""

    _squares = True  # whether squares of cells enter the facts
    _sparse = False  # whether sparse rows mean something here
    _stored: Stored = "once"  # how their cells must be stored

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        """The table of a fit; missing cells are legal."""
        table = read_table(self, X, reset=reset, missing=True, stored=self._stored)
        if not self._sparse and not isinstance(table, np.ndarray) and hasattr(table, "tocsr"):
            raise TypeError(
                f"Sparse data was passed for X, but dense data is required: {type(self).__name__} models every "
                "cell, zeros too; use .toarray(), or BernoulliNB / MultinomialNB for counts of words"
            )
        return table

    def _read_for_prediction(self, X: TableLike) -> Any:
        # an infinite cell shows in its tile's densities
        cells = read_table(self, X, reset=False, missing=True, stored=self._stored)
        if not self._sparse and hasattr(cells, "tocsr"):
            self._read(X, reset=False)
        return cells

    def _refuse_values(self, rows: Rows, facts: ClassFacts) -> None:
        """Raise when the facts betray an infinite cell, or one too large to square."""
        parts = facts.of_x.parts if isinstance(facts.of_x, PartFacts) else (facts.of_x,)
        for part in parts:
            wrong = [~np.isfinite(np.atleast_2d(getattr(part, "mean", 0.0))).all(axis=0)]
            if self._squares and hasattr(part, "second"):
                wrong.append(~np.isfinite(part.second).all(axis=0))
            if hasattr(part, "diagonals"):
                wrong.append(~np.isfinite(part.diagonals()).all(axis=0))
            found = [int(np.flatnonzero(w)[0]) for w in wrong if w.any()]
            if found:
                self._refuse_infinite_rows(rows)
                name = column_name(self, found[0])
                raise ValueError(
                    f"column {name} holds values too large to square: divide it by a power of ten"
                )

    def _refuse_infinite_rows(self, rows: Rows) -> None:
        for i in range(rows.n_blocks):
            block = rows.block(i)
            refuse_infinite(self, block.X, block.start)

    def _refuse_where(self, wrong: np.ndarray, cells: np.ndarray, start: int, wanted: str) -> None:
        """Name the first wrong cell's column and row, and what it should be."""
        if wrong.any():
            i, j = (int(v[0]) for v in np.nonzero(wrong))
            raise ValueError(
                f"column {column_name(self, j)}, row {start + i} holds {cells[i, j].item()!r}, which is not {wanted}"
            )

    def _columns(self, which: np.ndarray) -> str:
        """Columns in words: the first few by name."""
        found = np.flatnonzero(which)
        names = [column_name(self, j) for j in found[:NAMED].tolist()]
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        return ("columns " if len(found) > 1 else "column ") + ", ".join(names) + more

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.input_tags.allow_nan = True
        return tags
