"""Losses ℓ(η, y) of the raw score η: value, slope ℓ' and curvature ℓ'', the derivatives in η.

    logistic     log(1 + e^{−yη})              y = ±1        [6867] 3.2.2, [726]
    multinomial  log Σ_k e^{η_k} − η_y         y = 0 … K−1   [PC] "The Soft-Max"
    squared      ½ (η − y)²                    y real        [6867] 3.2.1
    hinge        max(0, 1 − yη)                y = ±1        [6867] 5.3, [446]
    squared hinge  max(0, 1 − yη)²             y = ±1
    perceptron   max(0, −yη)                   y = ±1        [6321]

A loss declares what it can offer (``smooth``: a Lipschitz slope; ``curved``: a curvature Newton may
use) and the kind of target it takes, so that a solver that needs more can refuse in one sentence.
Scores and targets are arrays (n,), or (n, K) and (n,) for the multinomial; cost O(n) or O(nK).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from separatrix.core.numerics import FloatArray

SURE = 1e-4  # a mean chance of error below which p − p² loses too many digits
TargetKind = Literal["sign", "real", "class"]


@dataclass(frozen=True)
class Loss:
    """What every loss offers; see the module's table for the formulas."""

    name: ClassVar[str]
    target: ClassVar[TargetKind]
    smooth: ClassVar[bool] = True
    curved: ClassVar[bool] = True
    bend: ClassVar[float] = math.nan  # c of the curvature bound (verdict/gaps.py); NaN: no such c is known

    def derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(value, slope, curvature) from shared pieces, so that tails never cancel."""
        raise NotImplementedError(f"{type(self).__name__} must define derivatives")

    def value_slope(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(value, slope) only, for sweeps that need no curvature."""
        value, slope, _ = self.derivatives(eta, y)
        return value, slope

    def class_derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(value, slope, curvature) of K scores a row: the last (n, K, K), or as (n, K) what a loss makes it of."""
        return self.derivatives(eta, y)

    def value(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        return self.derivatives(eta, y)[0]

    def slope(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        return self.derivatives(eta, y)[1]

    def curvature(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        return self.derivatives(eta, y)[2]


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + e^{−yη}), y = ±1.

    With m = yη:  ℓ' = −y σ(−m),  ℓ'' = σ(m) σ(−m).

    >>> Logistic().value(np.array([0.0, 1e4, -1e4]), np.array([1.0, 1.0, 1.0])).round(4)
    array([6.931e-01, 0.000e+00, 1.000e+04])
    """

    name = "logistic"
    target = "sign"
    bend = 1.0

    def derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        e, tail = self._odds(eta, y)
        one_more = e + 1.0
        slope = e / one_more  # σ(−m)
        curvature = np.divide(slope, one_more, out=one_more)
        slope *= y
        np.negative(slope, out=slope)
        return self._losses(e, tail), slope, curvature

    def value_slope(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        e, tail = self._odds(eta, y)
        slope = e + 1.0
        np.divide(e, slope, out=slope)
        slope *= y
        np.negative(slope, out=slope)
        return self._losses(e, tail), slope

    def _odds(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """(e^{−m}, None), or e^{min(−m, cap)} and what the cap cut off: e^{−m} is exact as far as it is finite."""
        m = np.multiply(eta, y)
        np.negative(m, out=m)
        cap = 80.0 if m.dtype == np.float32 else 700.0
        tail = None
        if m.max(initial=0.0) > cap:
            tail = np.maximum(m - cap, 0.0)
            np.minimum(m, cap, out=m)
        np.exp(m, out=m)
        return m, tail

    def _losses(self, e: FloatArray, tail: FloatArray | None) -> FloatArray:
        """log(1 + e), in the place of e."""
        np.log1p(e, out=e)
        return e if tail is None else e + tail


@dataclass(frozen=True)
class Multinomial(Loss):
    """log Σ_k e^{η_k} − η_y for a class index y; η is (n, K).

    ℓ' = P − Y (softmax less one-hot), ℓ'' = diag(P) − PPᵀ (n, K, K).

    >>> Multinomial().value(np.zeros((1, 4)), np.array([2])).round(4)
    array([1.3863])
    """

    name = "multinomial"
    target = "class"
    bend = math.sqrt(2.0)

    def value_slope(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, slope, _ = self._pieces(eta, y)
        return value, slope

    def _pieces(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(value, slope, p_y)."""
        at = np.arange(len(eta))
        top = eta.max(axis=1, keepdims=True)
        e = np.exp(eta - top)
        own = e[at, y]  # one exactly where y has the largest score
        e[at, y] = 0.0
        # summed without its own class: 1 − p_y = rest / total keeps its digits as p_y → 1
        rest = e.sum(axis=1)
        total = rest + own
        value = np.log1p(rest + (own - 1.0)) - (eta[at, y] - top[:, 0])
        e /= total[:, None]
        e[at, y] = -rest / total
        return value, e, own / total

    def class_derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(value, slope, P (n, K)), from which ℓ'' = diag(P) − PPᵀ; where rows are so sure that its difference would
        cancel, (value, slope, ℓ'' (n, K, K)) in its place."""
        value, slope, own = self._pieces(eta, y)
        p = slope.copy()
        p[np.arange(len(eta)), y] = own
        if len(p) and 1.0 - float(p.max(axis=1).mean()) < SURE:
            return self.derivatives(eta, y)
        return value, slope, p

    def derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        value, slope, own = self._pieces(eta, y)
        at, k = np.arange(len(eta)), np.arange(eta.shape[1])
        p = slope.copy()
        p[at, y] = own
        curvature = -p[:, :, None] * p[:, None, :]
        others, top = 1.0 - p, p.argmax(axis=1)
        largest = p[at, top]
        p[at, top] = 0.0
        others[at, top] = p.sum(axis=1)  # only the largest can be near one, where 1 − p cancels
        p[at, top] = largest
        curvature[:, k, k] = p * others
        return value, slope, curvature


@dataclass(frozen=True)
class Squared(Loss):
    """½ (η − y)²:  ℓ' = η − y,  ℓ'' = 1.

    >>> Squared().derivatives(np.array([3.0]), np.array([1.0]))
    (array([2.]), array([2.]), array([1.]))
    """

    name = "squared"
    target = "real"
    bend = 0.0

    def derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        r = eta - y
        return 0.5 * r * r, r, np.ones_like(r)


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 − yη):  ℓ' = −y where yη < 1 (a sub-gradient at the corner).

    >>> Hinge().value(np.array([0.5, 2.0]), np.array([1.0, 1.0]))
    array([0.5, 0. ])
    """

    name = "hinge"
    target = "sign"
    smooth = False
    curved = False
    corner: ClassVar[float] = 1.0

    def derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        short = self.corner - y * eta
        return np.maximum(short, 0.0), np.where(short > 0, -y, 0.0), np.zeros_like(short)


@dataclass(frozen=True)
class Perceptron(Hinge):
    """max(0, −yη): the hinge with its corner at zero.

    >>> Perceptron().value(np.array([0.5, -2.0]), np.array([1.0, 1.0]))
    array([0., 2.])
    """

    name = "perceptron"
    corner = 0.0


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 − yη)²:  ℓ' = −2y(1 − yη)₊,  ℓ'' = 2 where yη < 1.

    >>> SquaredHinge().value(np.array([0.5]), np.array([1.0]))
    array([0.25])
    """

    name = "squared_hinge"
    target = "sign"

    def derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        short = np.maximum(1.0 - y * eta, 0.0)
        return short * short, -2.0 * y * short, 2.0 * (short > 0).astype(short.dtype)
