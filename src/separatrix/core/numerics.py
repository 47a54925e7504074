"""Stable primitives: each is right at ±1e3 and ±inf, where the formula as printed is not.

    log1pexp(x)  = log(1 + eˣ)            expit(x)   = 1 / (1 + e⁻ˣ)
    logsumexp(x) = log Σ_k exp(x_k)       softmax(x) = exp(x_k − logsumexp(x))

Notes [6867] 3.1.1 (sigmoid and logit), [PC] "The Soft-Max".  All are elementwise or along the
last axis, O(size).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.floating]

EPS = float(np.finfo(np.float64).eps)


def log1pexp(x: ArrayLike) -> FloatArray:
    """log(1 + eˣ) without overflow: max(x, 0) + log1p(e^{−|x|}).

    >>> log1pexp([-1000.0, 0.0, 1000.0])
    array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03])
    """
    x = np.asarray(x)
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def expit(x: ArrayLike) -> FloatArray:
    """1 / (1 + e⁻ˣ), the sigmoid, from e^{−|x|} so that neither tail overflows.

    >>> expit([-1000.0, 0.0, 1000.0])
    array([0. , 0.5, 1. ])
    """
    x = np.asarray(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def logit(p: ArrayLike) -> FloatArray:
    """log(p / (1 − p)), the inverse of :func:`expit`; ±inf at 1 and 0.

    >>> logit([0.0, 0.5, 1.0])
    array([-inf,   0.,  inf])
    """
    p = np.asarray(p, dtype=float)
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


def logsumexp(x: FloatArray) -> FloatArray:
    """log Σ_k exp(x_k) along the last axis; −inf for an empty sum of −inf, no overflow at 1e4.

    >>> logsumexp(np.array([[1e4, 1e4]])).round(4)
    array([10000.6931])
    """
    top = np.max(x, axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - top).sum(axis=-1)) + top[..., 0]


def softmax(x: FloatArray) -> FloatArray:
    """exp(x_k) / Σ_l exp(x_l) along the last axis, shifted by the largest score.

    >>> softmax(np.array([[0.0, 0.0], [1e4, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    e /= e.sum(axis=-1, keepdims=True)
    return e


def xlogx(x: ArrayLike) -> FloatArray:
    """x log x with its limit 0 at 0, and +inf outside [0, ∞): the negative entropy's term.

    >>> xlogx([0.0, 1.0, -1.0])
    array([ 0.,  0., inf])
    """
    x = np.asarray(x, dtype=float)
    safe = np.where(x > 0, x, 1.0)
    return np.where(x < 0, np.inf, x * np.log(safe))
