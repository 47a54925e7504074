"""Memory asked for before it is needed: rows that come in random order are not foreseen by the processor."""

from __future__ import annotations

from separatrix.loops.compiled import inlined, instruction


@instruction
def prefetch(array, at):
    """Ask for the cache line that holds element ``at`` of a contiguous array (by its flat index)."""


@inlined
def prefetch_cells(data, indices, first, last):
    """Ask for the cells first … last−1 of a CSR matrix."""
    for at in range(first, last, 8):
        prefetch(data, at)
    for at in range(first, last, 16):
        prefetch(indices, at)
