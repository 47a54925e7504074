"""The geometry every linear classifier ends in:  s(x) = w·x + w₀  ([6867] 5.1, Figure 1).

    signed distance of x            (w·x + w₀) / ‖w‖
    distance of surface from origin     −w₀ / ‖w‖
    functional margin of (x, y)     y (w·x + w₀)             y = ±1
    geometric margin of (x, y)      y (w·x + w₀) / ‖w‖

For K classes s_k(x) = w_k·x + w₀_k; the surface between k and l is the rule of the difference
(w_k − w_l, w₀_k − w₀_l), and an example's margin is its smallest over the rival classes.
Shapes: coef (p,) or (K, p), X (n, p). Cost O(np) or O(npK).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray


def _scores(X: Any, coef: FloatArray, intercept: FloatArray | float) -> FloatArray:
    """X @ coefᵀ + intercept for dense or sparse X; float32 rows give float32 scores."""
    dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
    return np.asarray(X @ np.asarray(coef, dtype).T + np.asarray(intercept, dtype))


def sparse_scores(X: Any, coef: Any, intercept: Any) -> FloatArray:
    """The same of weights that are a SciPy sparse matrix (1, p) or (K, p); (n,) or (n, K). O(n · nonzero weights)."""
    dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
    product = X @ coef.astype(dtype, copy=False).T
    dense = product.toarray() if hasattr(product, "toarray") else np.asarray(product)
    scores = dense + np.asarray(intercept, dtype)
    return scores[:, 0] if scores.shape[1] == 1 else scores


UNIT32 = float(np.finfo(np.float32).eps) / 2  # half a unit in the last place of a float32, relatively


def in_single(coef: FloatArray, intercept: FloatArray, mean: FloatArray | None) -> tuple[Any, Any]:
    """coef (K, p) and intercept (K,) as float32; b takes up what rounding of w costs at the ``mean`` row.

    b ← b + (w − fl(w))·mean: far from the origin the rounding of w is felt most in the level of all scores. Numbers
    that float32 cannot hold stay as they are; None: b is not fitted.

    >>> w, b = in_single(np.array([[1 / 3]]), np.array([-1e4 / 3]), np.array([1e4]))
    >>> w.dtype.name, b.dtype.name, abs(float(w[0, 0]) * 1e4 + float(b[0])) < 2e-4
    ('float32', 'float32', True)
    """
    with np.errstate(over="ignore"):
        w = coef.astype(np.float32)
        if mean is not None:
            intercept = intercept + (coef - w) @ mean
        b = intercept.astype(np.float32)
    held = np.isfinite(w) == np.isfinite(coef)
    return (w, b) if held.all() and (np.isfinite(b) == np.isfinite(intercept)).all() else (coef, intercept)


def single_rounding(coef: FloatArray, intercept: FloatArray, spread: FloatArray) -> float:
    """How far `in_single` moves a score, as a root mean square over rows and summed over classes, at most.

    u (Σ_j |w_j| spread_j + |b|) of each class, u = 2⁻²⁴; 0 for weights that are not float32.
    """
    if coef.dtype != np.float32:
        return 0.0
    each = np.abs(np.atleast_2d(coef)).astype(float) @ spread + np.abs(np.atleast_1d(intercept)).astype(float)
    return UNIT32 * float(np.linalg.norm(each))


@dataclass(frozen=True)
class LinearRule:
    """s(x) = w·x + w₀, and the distances and margins that follow from it ([6867] 5.1).

    Parameters
    ----------
    coef : (p,) for two classes, (K, p) for K
    intercept : float, or (K,)

    Examples
    --------
    >>> rule = LinearRule(np.array([3.0, 4.0]), -5.0)
    >>> rule.distance_from_origin()
    1.0
    >>> rule.signed_distance(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([ 4., -1.])
    >>> rule.geometric_margin(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1, -1]))
    array([4., 1.])
    """

    coef: FloatArray
    intercept: FloatArray | float

    @property
    def n_classes(self) -> int:
        return 2 if self.coef.ndim == 1 else len(self.coef)

    def score(self, X: Any) -> FloatArray:
        """w·x + w₀ of each row: (n,), or (n, K)."""
        return _scores(X, self.coef, self.intercept)

    def norm(self) -> float:
        """‖w‖ of a two-class rule."""
        if self.coef.ndim > 1:
            raise ValueError(
                f"a rule of {len(self.coef)} classes has one surface per pair of classes: "
                "take rule.between(k, l) first"
            )
        # hypot-like scaling: the plain sum of squares underflows for weights near 1e-200
        top = float(np.max(np.abs(self.coef), initial=0.0))
        return top * float(np.linalg.norm(self.coef / top)) if 0 < top < np.inf else top

    def between(self, k: int, other: int) -> LinearRule:
        """The two-class rule of class k against class ``other``: positive where k wins."""
        if not {k, other} <= set(range(self.n_classes)) or k == other:
            raise ValueError(
                f"there is no surface between classes {k} and {other}: give two different indices "
                f"from 0 to {self.n_classes - 1}"
            )
        if self.coef.ndim == 1:
            sign = 1.0 if k == 1 else -1.0
            return LinearRule(sign * self.coef, sign * float(np.asarray(self.intercept)))
        b = np.asarray(self.intercept)
        return LinearRule(self.coef[k] - self.coef[other], float(b[k] - b[other]))

    def signed_distance(self, X: Any) -> FloatArray:
        """(w·x + w₀) / ‖w‖ of each row, positive on the side of the second class."""
        return self.score(X) / self._positive_norm()

    def distance_from_origin(self) -> float:
        """−w₀ / ‖w‖: where the surface lies along w, measured from the origin."""
        norm = self._positive_norm()
        return -float(np.asarray(self.intercept)) / norm

    def functional_margin(self, X: Any, y: FloatArray) -> FloatArray:
        """y (w·x + w₀) of each row (y = ±1); for K classes min over rivals of s_y − s_k (y = index)."""
        scores = self.score(X)
        y = np.asarray(y)
        if self.coef.ndim == 1:
            return y.astype(scores.dtype) * scores
        return self._rival_margins(scores, y).min(axis=1)

    def geometric_margin(self, X: Any, y: FloatArray) -> FloatArray:
        """The functional margin in units of distance: y (w·x + w₀) / ‖w‖."""
        if self.coef.ndim == 1:
            return self.functional_margin(X, y) / self._positive_norm()
        # class by class: all pairs at once would take K²p memory
        gap = np.array([np.linalg.norm(self.coef - own, axis=1) for own in self.coef])
        y = np.asarray(y)
        margins = self._rival_margins(self.score(X), y)
        apart = gap[y].astype(margins.dtype)
        with np.errstate(divide="ignore", invalid="ignore"):
            # equal weights have no surface between them: one class wins everywhere (±inf), or neither does (0)
            return np.where(margins == 0, 0, margins / apart).min(axis=1)

    def margin(self, X: Any, y: FloatArray) -> float:
        """The geometric margin of the set: its smallest member's; positive when the rule separates it."""
        return float(self.geometric_margin(X, y).min())

    def _rival_margins(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        at = np.arange(len(scores))
        margins = scores[at, y][:, None] - scores
        margins[at, y] = np.inf
        return margins

    def _positive_norm(self) -> float:
        norm = self.norm()
        if norm == 0:
            raise ValueError("the weight vector is zero: the rule has no surface and no distances")
        return norm
