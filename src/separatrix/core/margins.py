"""What a margin machine says of its examples:  slack ξ = max(0, 1 − y f(x)), and each one's side of the margin.

    outside         y f > 1     ξ = 0, α = 0
    margin          y f = 1     ξ = 0, 0 ≤ α ≤ C      (to a tolerance)
    inside          0 < y f < 1                0 < ξ < 1, α = C
    misclassified   y f ≤ 0                    ξ ≥ 1,     α = C

A tube machine of regression:  slack ξ = max(0, |z − f(x)| − ε), inside the tube, on its edge, above it or below it.

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
TUBE = ("inside", "edge", "above", "below")


def example_states(margin: FloatArray, tol: float = 1e-3) -> NDArray[np.int8]:
    """Codes into :data:`STATES` from functional margins y f(x) (n,); within ``tol`` of one is on the margin.

    >>> [STATES[k] for k in example_states(np.array([2.0, 1.0, 0.3, -0.1]))]
    ['outside', 'margin', 'inside', 'misclassified']
    """
    margin = np.asarray(margin, dtype=float)
    inwards = (~(margin > 1.0 + tol)).view(np.int8)  # one for each border that is passed
    return inwards + ~(margin >= 1.0 - tol) + ~(margin > 0.0)


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


def tube_sides(residual: FloatArray, epsilon: float, tol: float = 1e-3) -> NDArray[np.int8]:
    """Codes into :data:`TUBE` from z − f(x) (n,); within ``tol`` of ±ε is on the edge.

    >>> [TUBE[k] for k in tube_sides(np.array([0.0, 0.1, 0.5, -0.5]), 0.1)]
    ['inside', 'edge', 'above', 'below']
    """
    size = np.abs(residual)
    outside = np.where(residual > 0, 2, 3)
    return np.where(size < epsilon - tol, 0, np.where(size <= epsilon + tol, 1, outside)).astype(np.int8)


@dataclass(frozen=True, eq=False)
class TubeReport:
    """A tube machine on the examples it was fitted to: dual variables a (above) and â (below), and its sides.

    ``alpha``, ``alpha_hat`` (n,): at most one of the two is positive; ``residual`` (n,) y − η; ``primal``, ``dual``
    in LIBSVM's scale ½‖w‖² + Σ C_i ξ_i; ``kkt`` the largest violation of the optimality conditions.

    >>> report = TubeReport(np.array([1.0, 0.0]), np.zeros(2), np.array([0.7, 0.1]), 0.5, 1.2, 1.2, 0.0)
    >>> report.counts
    {'inside': 1, 'edge': 0, 'above': 1, 'below': 0}
    """

    alpha: FloatArray
    alpha_hat: FloatArray
    residual: FloatArray
    epsilon: float
    primal: float
    dual: float
    kkt: float
    tol: float = 1e-3

    SIDES = TUBE

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @cached_property
    def slack(self) -> FloatArray:
        return np.maximum(0.0, np.abs(self.residual) - self.epsilon)

    @cached_property
    def states(self) -> NDArray[np.int8]:
        """Codes into ``SIDES``: inside the tube, on its edge (to ``tol``), above it, below it."""
        out = np.abs(self.residual) - self.epsilon
        size = self.tol * max(float(np.abs(self.residual).max(initial=0.0)), self.epsilon)
        side = np.where(self.residual > 0, 2, 3)
        return np.where(out > size, side, np.where(out >= -size, 1, 0)).astype(np.int8)

    @property
    def counts(self) -> dict[str, int]:
        """How many examples are in each state."""
        return dict(zip(TUBE, np.bincount(self.states, minlength=4).tolist(), strict=True))
