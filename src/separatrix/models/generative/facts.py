"""What is known of rows by class, and how a sweep takes it:  facts of a block + facts of another.

    ClassFacts      weight W_k of every class, and the model's own statistic
    PartFacts       statistics side by side, one a kind of column

Shapes: W (K,). Cost of a merge O(size of the statistics).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from separatrix.core.numerics import FloatArray
from separatrix.core.statistic import Statistic
from separatrix.data.rows import Block

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative

Cells: TypeAlias = "np.ndarray | csr_array"  # rows, dense or sparse


@dataclass(frozen=True, eq=False)
class ClassFacts(Statistic):
    """What is known of the rows: weight of every class (K,), and the model's own statistic ``of_x``."""

    weight: FloatArray
    of_x: Any


@dataclass(frozen=True, eq=False)
class PartFacts(Statistic):
    """Statistics side by side, one a family, merged part by part."""

    parts: tuple[Any, ...]

    def __add__(self, other: PartFacts) -> PartFacts:
        return PartFacts(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    def spread(self, index: np.ndarray, k: int) -> PartFacts:
        return PartFacts(tuple(part.spread(index, k) for part in self.parts))


@dataclass(frozen=True)
class Task:
    """What a block needs to know: a model, and how many classes there are."""

    model: Generative
    k: int


def measure(block: Block, task: Task, _memo: None) -> tuple[ClassFacts, None]:
    return task.model._block_facts(block, task.k), None
