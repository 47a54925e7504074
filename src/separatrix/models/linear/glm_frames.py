"""Generalised linear models of a formula and a frame: what the fit named is remembered for new frames (row D8).

    response  k/N, cbind(k, N − k), y, log(y)    offset  Σ offset(…) + offset= + log exposure=    weights  by name

A prediction is E[y | x] of the rows whose cells are all there, NaN for the others. Cost O(n) beside the design.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_dask, read_for_prediction, read_table, refuse_infinite
from separatrix.data.observations import read_offset
from separatrix.data.sources import TableLike

Given = dict[str, ArrayLike | None]  # by the names of EXTRAS
EXTRAS = ("offset", "exposure", "precision", "weights")  # what stands beside the rows
NA = (None, "nan", "raise")


class ReadsFormulas:
    """Fit and predict on frames by formula; for :class:`~separatrix.GeneralizedLinearModel`."""

    _table: Any
    link_: Any

    @classmethod
    def from_formula(
        cls,
        formula: str,
        frame: Any,
        family: Any = "gaussian",
        link: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
        precision: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        **parameters: Any,
    ) -> Self:
        """Fit y ~ terms on a frame: ``from_formula("y ~ x + C(g) * z", frame, "poisson", exposure="years")``.

        Formulas are formulaic's (``pip install "separatrix[formula]"``), close to R's; ``x^2`` inside ``I(…)``,
        ``factor(g)`` and ``offset(log(t))`` mean what they mean in R, and several offsets add up. On the left of a
        binomial model ``k/N`` is k successes in N trials and ``cbind(k, N - k)`` successes and failures; arithmetic
        is ``I(k/N)``. Weights, offset and exposure may be names of columns. ``weights`` is R's argument: prior
        weights, the trials of a proportion, else the ``precision`` of a row (Var y = φV(μ)/w); ``sample_weight``
        says how often a row stands there.

        Rows with an empty cell in a column of the formula are left out, and the verdict says how many. The terms are
        tested by name, ``model.test("C(g)")``; ``predict`` and ``score`` take a frame, and find there the columns
        that ``offset(…)``, ``offset=`` and ``exposure=`` named.

        >>> import pandas as pd
        >>> from separatrix import GeneralizedLinearModel
        >>> d = pd.DataFrame({"k": [1, 4, 9], "N": [10, 10, 12], "x": [0.0, 1.0, 2.0]})
        >>> model = GeneralizedLinearModel.from_formula("k/N ~ x", d, "binomial")
        >>> np.round([model.intercept_, *model.coef_], 4)
        array([-2.101,  1.62 ])
        >>> model.predict(pd.DataFrame({"x": [1.0, None]})).round(3)
        array([0.382,   nan])
        """
        from separatrix.data.formulas.formula import read_formula

        model: Any = cls(family, link, **parameters)  # type: ignore[call-arg]
        law, _ = model._check_parameters()
        extras = {
            "sample_weight": sample_weight,
            "offset": offset,
            "exposure": exposure,
            "precision": precision,
            "weights": weights,
        }
        table = read_formula(formula, frame, extras, law.name)
        if parameters.get("fit_intercept", table.intercept) != table.intercept:
            raise ValueError("fit_intercept contradicts the formula: write 1 or 0 in the formula instead")
        model.fit_intercept = table.intercept
        try:
            model.fit(table.X, table.y, **table.extras)
        except ValueError as refusal:
            raise ValueError(_renumbered(str(refusal), table.numbers)) from refusal
        model.formula_, model.terms_, model._table = formula, table.terms, table.coding
        found = tuple(_renumbered(words, table.numbers) for words in model.verdict_.findings)
        model.verdict_ = replace(model.verdict_, findings=(*found, *table.findings))
        return model

    def _new_rows(
        self, X: TableLike, offset: ArrayLike | None, exposure: ArrayLike | None, na: str | None
    ) -> tuple[Any, FloatArray | None, np.ndarray | None]:
        """Cells of rows without an empty one, their offset, and which rows they are (None: all)."""
        if na not in NA:
            raise ValueError(f'na {na!r} is unknown: use "nan" or "raise"')
        if hasattr(self, "_table"):
            from separatrix.data.formulas.coding import read_new

            new = read_new(self._table, X, {"offset": offset, "exposure": exposure}, na or "nan")
            if new.X is None:
                return None, None, new.whole
            try:
                cells = read_for_prediction(self, new.X)
                extras = new.extras.get("offset"), new.extras.get("exposure")
                shift = read_offset(*extras, cells.shape[0], self.link_)
            except ValueError as refusal:
                raise ValueError(_renumbered(str(refusal), np.flatnonzero(new.whole))) from refusal
            return cells, shift, None if new.whole.all() else new.whole
        if na != "nan" or is_dask(X):
            cells = read_for_prediction(self, X)
            return (
                cells,
                None if is_dask(cells) else read_offset(offset, exposure, cells.shape[0], self.link_),
                None,
            )
        cells = read_table(self, X, reset=False, missing=True)
        refuse_infinite(self, cells)
        dense = cells if isinstance(cells, np.ndarray) else cells.toarray()
        whole = np.ones(len(dense), dtype=bool)
        if dense.dtype.kind == "f":
            whole = np.asarray(~np.isnan(dense).any(axis=1))
        shift = read_offset(offset, exposure, len(whole), self.link_)
        if whole.all():
            return cells, shift, None
        return cells[whole], None if shift is None else shift[whole], whole

    def _rows_to_judge(
        self, X: TableLike, y: Any, sample_weight: ArrayLike | None, given: Given
    ) -> tuple[Any, Any, Any, Given]:
        """(cells, y, sample_weight, the rest) of a frame as the formula reads it; a y of None is its left side.

        Rows with an empty cell are left out, as the fit leaves them out.
        """
        from separatrix.data.formulas.coding import read_new
        from separatrix.data.formulas.expressions import pandas_frame

        coding = self._table
        frame = pandas_frame(X)
        if y is None:
            frame = frame[~coding.left.empty(frame)].reset_index(drop=True)
        asked = {**given, **({} if sample_weight is None else {"sample_weight": sample_weight})}
        if coding.left.kind == "share":
            asked = {k: v for k, v in asked.items() if k not in ("weights", "precision")}
        new = read_new(coding, frame, asked)
        if new.X is None:
            raise ValueError(
                "every row has an empty cell in some column of the formula: nothing is left to judge"
            )
        if y is None:
            y = coding.left.read(frame[new.whole], np.flatnonzero(new.whole))
        else:
            y = np.asarray(y)
            if len(y) != len(new.whole):
                raise ValueError(
                    f"Found input variables with inconsistent numbers of samples: the frame has "
                    f"{len(new.whole)} rows, y has {len(y)} responses"
                )
            y = y[new.whole]
        extras = dict(new.extras)
        return new.X, y, extras.pop("sample_weight", None), extras


def _renumbered(words: str, numbers: np.ndarray) -> str:
    """A sentence on rows of the table with the numbers the rows have in the frame, of which some were left out.

    >>> _renumbered("rows 0, 1 and 3 more weigh nothing; row 1 has 2 of 5", np.array([0, 4, 5]))
    'rows 0, 4 and 3 more weigh nothing; row 4 has 2 of 5'
    """

    def named(match: re.Match[str]) -> str:
        return re.sub(
            r"\d+", lambda m: str(int(numbers[int(m[0])])) if int(m[0]) < len(numbers) else m[0], match[0]
        )

    return re.sub(r"\brows? \d+(?:, \d+)*", named, words)
