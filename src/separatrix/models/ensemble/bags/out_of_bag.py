"""Out of bag: a row is judged by the bags that did not draw it, about (1 − 1/n)ⁿ ≈ 37 % of them.

    Σ_{b: c_ib = 0} h_b(x_i)  and how many bags those are, for all rows at once; no row need be held out

Notes [6321] "Bootstrap replicates". Row E3 of the specification. Cost: a prediction of 37 % of the rows for each bag.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray
from separatrix.data.side_by_side import total_of
from separatrix.models.ensemble.bags.plan import Plan
from separatrix.problems.gram import Index

Z95 = 1.959963984540054  # the normal quantile of a 95 % interval


def left_out(
    plan: Plan, bags: Index, said: Callable[[int, Any], FloatArray], width: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Sums of said(place of a bag, cells) over the bags a row is not in (n, …), and how many those are (n,)."""
    draws, columns = plan.draws, 1 + int(np.prod(width, dtype=int))

    def one(i: int) -> tuple[FloatArray, Index]:
        rows = np.flatnonzero(draws.counts(int(bags[i])) == 0)
        out = np.ones((len(rows), columns))
        if len(rows):
            out[:, 1:] = said(i, _safe_indexing(plan.X, rows)).reshape(len(rows), -1)
        return out, rows

    total = total_of(one, len(bags), (draws.n, columns))
    return total[:, 1:].reshape(draws.n, *width), total[:, 0]


def share_interval(share: float, n: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share seen in n rows, which stays inside [0, 1].

    >>> tuple(round(v, 3) for v in share_interval(0.1, 100))
    (0.055, 0.174)
    """
    z2 = Z95**2 / n
    centre = (share + z2 / 2) / (1 + z2)
    half = Z95 * np.sqrt(share * (1 - share) / n + z2 / (4 * n)) / (1 + z2)
    return max(float(centre - half), 0.0), min(float(centre + half), 1.0)


def mean_interval(values: FloatArray, weight: FloatArray | None = None) -> tuple[float, float, float]:
    """The (weighted) mean of numbers that are not negative, and its 95 % interval.

    >>> tuple(round(v, 3) for v in mean_interval(np.array([1.0, 2.0, 3.0, 4.0])))
    (2.5, 1.404, 3.596)
    """
    w = np.ones(len(values)) if weight is None else weight
    mean = float(np.average(values, weights=w))
    half = Z95 * float(np.sqrt(np.sum(w * w * (values - mean) ** 2))) / float(w.sum())
    return mean, max(mean - half, 0.0), mean + half
