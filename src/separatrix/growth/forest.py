"""Many trees grown at once, on the engine's threads.

    forest  = grow_forest(columns, y, classes, options, seed, count, weights)

``weights(tree)`` gives the rows' weights in a tree (a bag's counts, say) and rows of weight zero are absent from it.
A tree depends on (seed, its number) and the rows alone, whatever the threads. Notes [6321] "Bagging", "Extremely
randomized trees"; rows E3, E4. Memory: 40 bytes a row and thread beside the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import each_in_threads
from separatrix.data.interrupts import until_interrupted
from separatrix.growth.growers import Binned, Columns, Options
from separatrix.growth.trees import Forest, Tree, one_leaf
from separatrix.loops.trees.node import STEP


def tree_key(seed: int, tree: int, purpose: int) -> int:
    """The 64 bits (splitmix64) that belong to (seed, purpose, tree).

    >>> len({tree_key(*key) for key in ((0, 1, 0), (0, 0, 1), (1, 0, 0))})
    3
    """
    z = 0
    for part in (seed, purpose, tree):
        z = ((z ^ part) + int(STEP)) % (1 << 64)
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % (1 << 64)
        z ^= z >> 31
    return z


def tree_seeds(seed: int, count: int) -> list[int]:
    """A seed for each of ``count`` trees, whole numbers below 2³¹ that differ.

    >>> tree_seeds(0, 3) == tree_seeds(0, 5)[:3], len(set(tree_seeds(1, 1000)))
    (True, 1000)
    """
    found: dict[int, None] = {}
    number = 0
    while len(found) < count:
        found[tree_key(seed, number, 2) >> 33] = None
        number += 1
    return list(found)


def grow_forest(
    columns: Binned | Columns,
    y: FloatArray,
    classes: int,
    options: Options,
    seed: int,
    count: int,
    weights: Callable[[int], FloatArray | None] | FloatArray | None = None,
    *,
    numbers: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
    report: Callable[[int], None] | None = None,
) -> Forest:
    """``count`` trees on the same columns, on the engine's threads.

    Parameters
    ----------
    columns : :class:`Binned` for best splits, :class:`Columns` for extra-trees
    y : (n,) class codes 0 … K − 1, or numbers
    classes : K (of one class the tree is a leaf), or 0 for a regression
    options : :class:`Options`
    seed, count, numbers : a tree draws from (seed, its number); the numbers are 0 … count − 1 or those given
    seeds : a seed for each tree instead, from which alone it is grown as number 0 would be
    weights : tree → (n,) weights or None (all one); or one array for all trees

    Ctrl-C ends the work: trees finished so far are kept, and ``asked`` tells how many there should be.

    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> forest = grow_forest(Binned.of(X), y, 2, Options("gini", 1), 0, 1)
    >>> forest.trees[0].threshold[:1].tolist(), forest.mean(X)[:, 1].tolist()
    ([1.5], [0.0, 0.0, 1.0, 1.0])
    """
    n = columns.shape[0]
    target: Any = np.asarray(y, dtype=np.uint8 if 0 < classes <= 256 else np.float64)
    which = range(count) if numbers is None else list(numbers)
    own = None if seeds is None else dict(zip(which, seeds, strict=True))
    grown: dict[int, Tree] = {}
    stopped = False

    def work(t: int) -> None:
        if stopped:
            return
        w = weights(t) if callable(weights) else weights
        if w is None:
            rows, z, weight = np.arange(n, dtype=np.int32), target.copy(), np.ones(n)
        else:
            rows = np.flatnonzero(w > 0).astype(np.int32)
            z, weight = target[rows], np.asarray(w, dtype=np.float64)[rows]
        centre = 0.0
        if classes == 0:  # sums of squares keep their digits around the mean
            centre = float(weight @ z / weight.sum())
            z = z - centre
        unit = bool((weight == 1.0).all())
        key = np.uint64(tree_key(seed, t, 0) if own is None else tree_key(own[t], 0, 0))
        if classes == 1:
            grown[t] = one_leaf(len(rows), float(weight.sum()), columns.shape[1], columns.dtype)
        else:
            grown[t] = columns.grow(rows, z, weight, unit, classes, options, key, centre)
        if report is not None:
            report(t)

    with until_interrupted() as watch:
        each_in_threads(work, which)
    if watch.interrupted:
        stopped = True
    kept = sorted(
        list(grown.items()), key=lambda item: item[0]
    )  # a thread may still add its last one to ``grown``
    if not kept:
        raise KeyboardInterrupt("no tree was finished")
    return Forest(
        tuple(tree for _, tree in kept), tuple(t for t, _ in kept), len(which), columns.nominal, columns.dtype
    )
