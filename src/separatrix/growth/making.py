"""A tree in the making: its tables, made longer whenever a loop has filled one, and room for its rows to be parted.

Arrays are made here and not in the loops, where each kind of array takes Numba a tenth of a second more to compile.
Which tables there are: :mod:`separatrix.loops.trees.node`. Memory: 13 bytes a
row, and 8 more where rows have weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.loops.trees.node import DEEPEST, LEAVES, NODES, SETS, WAITING

START = 4096  # leaves there is room for at first: seldom has a loop to be called again


@dataclass(frozen=True)
class Grown:
    """Nodes (·, 7), leaves (·, 1 + V), sets of levels (·, 1), what splits of each column gained (p,), the depth."""

    made: FloatArray
    ends: FloatArray
    sets: np.ndarray
    gains: FloatArray
    depth: int


def make(
    loop: Callable[..., Any],
    given: tuple[Any, ...],
    rows: tuple[np.ndarray, FloatArray, FloatArray],
    p: int,
    values: int,
    unit: bool,
    key: Any,
    room: tuple[Any, ...],
    beside: tuple[int, ...] = (),
) -> Grown:
    """What ``loop(*given, tables, room)`` grows on ``rows`` (their numbers, targets and weights) of p columns.

    ``values`` a leaf; ``key`` uint64, the root's state; ``room`` is what this loop alone needs,
    ``beside`` how many counts it keeps for a node that waits; 0 of them are no table (None), () no argument.
    """
    idx, y, _ = rows
    n = len(idx)
    stack = np.zeros((64, 7), np.int64)
    stack[0, 2], stack[0, 6] = n, np.uint64(key).view(np.int64)
    leaves = min(n, START)
    tables: list[np.ndarray] = [
        np.empty((2 * leaves + 1, 7)), np.empty((leaves + 1, 1 + values)), np.empty((16, 1), np.int64), stack
    ]  # fmt: skip
    tables += [np.empty((len(stack), size), np.int32) for size in beside if size]
    none = (None,) if beside == (0,) else ()
    filled = np.array([1, 1, 0, 0, 0], dtype=np.int64)
    gains = np.zeros(p)
    parting = np.empty(n, np.uint8), np.empty_like(idx), np.empty_like(y), np.empty(1 if unit else n)
    columns = np.arange(p, dtype=np.int64)
    while loop(*given, *tables, *none, filled, gains, columns, *parting, *room):
        need = (
            filled[NODES] + 2,
            filled[LEAVES] + 1,
            filled[SETS] + 1,
            *[filled[WAITING] + 1] * (len(tables) - 3),
        )
        for at, (table, size) in enumerate(zip(tables, need, strict=True)):
            if size > len(table):
                tables[at] = np.concatenate((table, np.empty_like(table)))
    made, ends, sets = tables[:3]
    return Grown(
        made[: filled[NODES]], ends[: filled[LEAVES]], sets[: filled[SETS]], gains, int(filled[DEEPEST])
    )
