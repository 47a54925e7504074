"""Trees walked, compiled:  the node a row ends in, and the sum of leaves' values over trees; O(depth) a row and tree.

Shapes: X (n, p) float32 or float64, ``nodes`` the records of :class:`separatrix.growth.trees.Tree`.
"""

from __future__ import annotations

import numpy as np

from separatrix.loops.compiled import loop, reads

ABREAST = 16  # rows walked side by side: one waits for memory while the others move


@reads("X")
@loop
def walk(X, nodes, sets, nominal, any_nominal, out):
    """out[i] = the node row i of X (n, p) ends in; ``nodes`` are records (:class:`separatrix.growth.trees.Tree`)."""
    at = np.zeros(ABREAST, np.uint32)
    row = np.zeros(ABREAST, np.uint32)
    n = X.shape[0]
    active = min(ABREAST, n)
    for s in range(active):
        row[s] = s
    waiting = active
    while active > 0:
        for s in range(active):
            here = nodes[at[s]]
            j = here.feature
            if j >= 0:
                x = X[row[s], np.uint32(j)]
                right = np.uint32(not (x <= here.threshold))
                if x != x:
                    right = np.uint32(1 - (here.extra & 1))
                elif any_nominal and nominal[j]:
                    if x >= 0 and x < 64:
                        right = np.uint32(1) - np.uint32(
                            (sets[here.extra >> 1] >> np.uint64(x)) & np.uint64(1)
                        )
                    else:
                        right = np.uint32(1 - (here.extra & 1))
                at[s] = np.uint32(here.child) + right
            elif waiting < n:  # another row takes its place
                out[row[s]] = at[s]
                row[s] = waiting
                at[s] = 0
                waiting += 1
            else:
                out[row[s]] = at[s]
                active -= 1
                row[s] = row[active]
                at[s] = at[active]
                break


@loop
def add_leaves(ends, nodes, value, width, rows, out):
    """out[row] += the value of the leaf each row ended in; ``rows`` empty: rows 0 … in order."""
    if rows.shape[0] > 0:
        for i in range(ends.shape[0]):
            leaf = nodes[np.uint32(ends[i])].extra
            for k in range(width):
                out[rows[i], k] += value[leaf * width + k]
        return
    for i in range(ends.shape[0]):
        leaf = nodes[np.uint32(ends[i])].extra
        for k in range(width):
            out[i, k] += value[leaf * width + k]
