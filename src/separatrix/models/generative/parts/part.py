"""Columns of one kind in a naive Bayes: the facts they need, the parameters that follow, their log density.

    NormalPart      μ_kj, σ² with its ties              facts: moments by class
    BernoulliPart   θ_kj                                facts: sums and weights by class
    LevelsPart      θ_kj(l)                             facts: a table of counts a column
    BagPart         θ_k over all columns                facts: sums by class
    FamilyPart      ∇A(η_kj) = T̄_kj of any family       facts: means of T(x) by class

A part is given its columns' cells (n, p) and memberships of the rows; what has no cell in a class is taken from
all classes together, and the verdict says so. What predicts is the model's public numbers: `at` gives the part as
they stand. Cost O(np) for facts, O(npK) for a density.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.members import Members
from separatrix.data.rows import Block
from separatrix.models.generative.facts import Cells
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.verified import Equations, LabelledRows

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative


Solved = tuple[float, float]  # the moment residual, and −Σ log p of the rows


class ColumnsPart:
    """Columns of one kind; ``columns`` None: all of them."""

    columns: Any = None
    family: Any = None
    centre: Any  # these are worked out by `at`
    square: Any
    slope: Any
    constant: Any
    far: bool
    odds: Any
    base: Any
    certain: bool
    log_prior = 0.0  # log density of the parameters under the smoothing's prior, for EM

    def of(self, cells: Cells) -> Any:
        whole = self.columns is None or len(self.columns) == cells.shape[1]
        return cells if whole else cells[:, self.columns]

    def of_block(self, block: Block) -> Block:
        """The block of the part's columns alone."""
        whole = self.columns is None or len(self.columns) == block.X.shape[1]
        return block if whole else replace(block, X=self.of(block.X))

    def facts(self, cells: Any, members: Members) -> Any:
        raise NotImplementedError

    def block_facts(self, block: Block, k: int) -> Any:
        """The facts of a dense block in one go; None where only tiles will do, or a cell is to be named."""
        return None

    def solve(self, s: Any, weight: FloatArray, findings: Findings, model: Generative) -> Solved:
        """Set the parameters from merged facts; the moment residual, and −Σ log p of the rows."""
        raise NotImplementedError

    def equations(self, rows: LabelledRows) -> Equations:
        """How well the numbers solve the equations of these rows (verified.py); only of a part made by `at`."""
        raise NotImplementedError

    def add_log_density(self, cells: Any, out: FloatArray) -> None:
        """Only of a part made by `at`."""
        raise NotImplementedError

    def draw(self, k: int, n: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def parameters(self, i: int) -> dict[str, FloatArray]:
        """The parameters of the part's i-th column, arrays over classes."""
        raise NotImplementedError

    def at_parameters(self, columns: list[dict[str, FloatArray]]) -> Self:
        """The part at parameters in the form of `parameters`, a dictionary a column."""
        raise NotImplementedError

    def _named(self, model: Generative, which: Any) -> str:
        """Some of the part's columns in words."""
        everywhere = np.zeros(model.n_features_in_, dtype=bool)
        everywhere[np.arange(len(which))[which] if self.columns is None else self.columns[which]] = True
        return model._columns(everywhere)


def side_by_side(columns: list[dict[str, FloatArray]], name: str) -> FloatArray:
    """One parameter of several columns: (K, p)."""
    return np.column_stack([np.asarray(column[name], dtype=np.float64) for column in columns])
