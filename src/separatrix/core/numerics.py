"""Stable primitives: each is right at ±1e3 and ±inf, where the formula as printed is not.

    log1pexp(x)  = log(1 + eˣ)            expit(x)   = 1 / (1 + e⁻ˣ)
    logsumexp(x) = log Σ_k exp(x_k)       softmax(x) = exp(x_k − logsumexp(x))

Notes [6867] 3.1.1 (sigmoid and logit), [PC] "The Soft-Max".  All are elementwise or along the
last axis, O(size).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.floating]
Index = NDArray[np.intp]

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
LOG_2PI = float(np.log(2 * np.pi))


def real(x: ArrayLike) -> FloatArray:
    """x as floating point: integers and booleans become float64 (a negated uint8 or bool is not its negative)."""
    x = np.asarray(x)
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def log1pexp(x: ArrayLike) -> FloatArray:
    """log(1 + eˣ) without overflow: max(x, 0) + log1p(e^{−|x|}).

    >>> log1pexp([-1000.0, 0.0, 1000.0])
    array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03])
    """
    x = real(x)
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def expit(x: ArrayLike) -> FloatArray:
    """1 / (1 + e⁻ˣ), the sigmoid, from e^{−|x|} so that neither tail overflows.

    >>> expit([-1000.0, 0.0, 1000.0])
    array([0. , 0.5, 1. ])
    """
    x = real(x)
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def logit(p: ArrayLike) -> FloatArray:
    """log(p / (1 − p)), the inverse of :func:`expit`; ±inf at 1 and 0.

    Around ½ the two logarithms would cancel: there log1p((2p − 1) / (1 − p)), in which 2p − 1 is exact.

    >>> logit([0.0, 0.5, 1.0])
    array([-inf,   0.,  inf])
    """
    p = real(p)
    middle = np.abs(p - 0.5) < 0.25
    inner = np.where(middle, p, 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(middle, np.log1p((2 * inner - 1) / (1 - inner)), np.log(p) - np.log1p(-p))


def logsumexp(x: FloatArray) -> FloatArray:
    """log Σ_k exp(x_k) along the last axis; −inf for a sum of nothing (all −inf), no overflow at 1e4.

    >>> logsumexp(np.array([[1e4, 1e4]])).round(4)
    array([10000.6931])
    """
    shifted, top = _below_top(real(x))
    return np.log(np.exp(shifted).sum(axis=-1)) + top[..., 0]


def softmax(x: FloatArray) -> FloatArray:
    """exp(x_k) / Σ_l exp(x_l) along the last axis, shifted by the largest score; equal infinities share.

    >>> softmax(np.array([[0.0, 0.0], [1e4, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    e = np.exp(_below_top(real(x))[0])
    e /= e.sum(axis=-1, keepdims=True)
    return e


def xlogx(x: ArrayLike) -> FloatArray:
    """x log x with its limit 0 at 0, and +inf outside [0, ∞): the negative entropy's term.

    >>> xlogx([0.0, 1.0, -1.0])
    array([ 0.,  0., inf])
    """
    x = real(x)
    inside = np.where(x < 0, 1.0, x)
    return np.where(x < 0, np.inf, inside * np.log(np.where(x > 0, x, 1.0)))


def log1mexp(a: FloatArray) -> FloatArray:
    """log(1 − eᵃ) for a < 0, whose inner difference cancels at one end and rounds to 1 at the other."""
    return np.where(a > -math.log(2.0), np.log(-np.expm1(a)), np.log1p(-np.exp(a)))


def product(small: FloatArray, large: FloatArray) -> FloatArray:
    """small · large, 0 where small has underflowed even if large is infinite."""
    return np.where(small == 0, 0.0, small * large)


def horner(x: FloatArray, coefficients: Sequence[float]) -> FloatArray:
    """Σ_j c_j xʲ in x's own precision (NumPy's polyval would make float32 double)."""
    value = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        value = value * x + c
    return value


def _below_top(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(x − top, top) along the last axis; an infinite top is at distance 0 from itself, not inf − inf."""
    top = np.max(x, axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", over="ignore"):
        shifted = x - top
    return (shifted if np.isfinite(top).all() else np.where(x == top, 0.0, shifted)), top
