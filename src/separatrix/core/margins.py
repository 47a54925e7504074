"""What a margin machine says of its examples:  slack ξ = max(0, 1 − y f(x)), and each one's side of the margin.

    outside         y f > 1     ξ = 0, α = 0
    margin          y f = 1     ξ = 0, 0 ≤ α ≤ C      (to a tolerance)
    inside          0 < y f < 1                0 < ξ < 1, α = C
    misclassified   y f ≤ 0                    ξ ≥ 1,     α = C

Notes [6867] 5.2, 5.3 (margins, slack variables), [6321]. Rows M2–M12. Elementwise, O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.core.numerics import FloatArray

STATES = ("outside", "margin", "inside", "misclassified")


def example_states(margin: FloatArray, tol: float = 1e-3) -> NDArray[np.int8]:
    """Codes into :data:`STATES` from functional margins y f(x) (n,); within ``tol`` of one is on the margin.

    >>> [STATES[k] for k in example_states(np.array([2.0, 1.0, 0.3, -0.1]))]
    ['outside', 'margin', 'inside', 'misclassified']
    """
    margin = np.asarray(margin, dtype=float)
    codes = np.where(margin > 1.0 + tol, 0, np.where(margin >= 1.0 - tol, 1, np.where(margin > 0.0, 2, 3)))
    return codes.astype(np.int8)


@dataclass(frozen=True, eq=False)
class MarginReport:
    """One two-class machine on the examples it was fitted to.

    ``rows`` are the examples' places in the table and ``classes`` the labels (negative, positive), where known.
    ``alpha`` (n,) dual variables, ``margin`` (n,) functional margins y f(x), ``primal`` and ``dual`` objectives in
    LIBSVM's scale (½‖w‖² + Σ C_i ξ_i), ``norm`` ‖w‖ in feature space, ``kkt`` the largest violation of the optimality
    conditions.

    >>> report = MarginReport(np.array([0.5, 0.5]), np.array([1.0, 1.0]), 0.5, 0.5, 1.0, 0.0)
    >>> report.width, report.gap, report.counts
    (2.0, 0.0, {'outside': 0, 'margin': 2, 'inside': 0, 'misclassified': 0})
    """

    alpha: FloatArray
    margin: FloatArray
    primal: float
    dual: float
    norm: float
    kkt: float
    tol: float = 1e-3
    rows: NDArray[np.intp] | None = None
    classes: tuple[Any, ...] = ()

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def width(self) -> float:
        """2/‖w‖, the distance between the two margin surfaces."""
        return 2.0 / self.norm if self.norm > 0 else np.inf

    @cached_property
    def slack(self) -> FloatArray:
        return np.maximum(0.0, 1.0 - self.margin)

    @cached_property
    def states(self) -> NDArray[np.int8]:
        """Codes into :data:`STATES`."""
        return example_states(self.margin, self.tol)

    @property
    def counts(self) -> dict[str, int]:
        """How many examples are in each state."""
        return dict(zip(STATES, np.bincount(self.states, minlength=4).tolist(), strict=True))
