"""The pieces of deviances that cancel as they are printed (Loader 2000; row D8).

    x log(x/m) − x + m = v d + 2 x v³ Σ_j v²ʲ/(2j + 3),    d = x − m,  v = d/(x + m)

Elementwise, O(size).
"""

from __future__ import annotations

import numpy as np

from separatrix.core.numerics import FloatArray, horner
from separatrix.core.special import ATANH

Pair = tuple[FloatArray, FloatArray]  # a number and its logarithm

quiet = np.errstate(all="ignore")


@quiet
def divergence(x: FloatArray, m: FloatArray, d: FloatArray, log_m: FloatArray) -> FloatArray:
    """x log(x/m) − x + m ≥ 0 from d = x − m and log m, both of which may be better known than m; m where x = 0.

    Near d = 0 by the series of artanh in v = d/(x + m), as Loader (2000) has it; O(size).

    >>> one = np.ones(2)
    >>> divergence(one, one, np.array([1e-9, 0.0]), np.zeros(2))
    array([5.e-19, 0.e+00])
    """
    shape = np.broadcast_shapes(np.shape(x), np.shape(m))
    x, m, d, log_m = (np.atleast_1d(a) for a in np.broadcast_arrays(x, m, d, log_m))
    value: FloatArray = np.log(x)
    value -= log_m
    value *= x
    value -= d
    np.copyto(value, m, where=(x == 0) | (m == np.inf))
    v = d / (x + m)
    near = np.nonzero(np.abs(v) < 0.1)  # a minority, as a rule
    if len(near[0]):
        square = v[near] ** 2
        value[near] = v[near] * (d[near] + 2.0 * x[near] * square * horner(square, ATANH))
    return value.reshape(shape)


def short(y: FloatArray, mu: FloatArray) -> FloatArray:
    """1 − y/μ, 1 at y = 0 even if μ has underflowed."""
    return np.where(np.isinf(mu) | (y == 0), 1.0, (mu - y) / mu)
