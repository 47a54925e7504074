"""Tables of ordered classes, and an independent fit of them by SciPy.

`housing` is MASS's: satisfaction of householders in Copenhagen by influence, type and contact (Madsen 1976).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

FREQUENCY = """
21 21 28 34 22 36 10 11 36 61 23 17 43 35 40 26 18 54 13 9 10 8 8 12 6 7 9 18 6 7 15 13 13 7 5 11
14 19 37 17 23 40 3 5 23 78 46 43 48 45 86 15 25 62 20 23 20 10 22 24 7 10 21 57 23 13 31 21 13 5 6 13
"""
COLUMNS = ("InflMedium", "InflHigh", "TypeApartment", "TypeAtrium", "TypeTerrace", "ContHigh")
SATISFACTION = ("Low", "Medium", "High")


def housing():
    """(X, satisfaction 0 … 2, frequencies): `COLUMNS` as 0 and 1 against Low, Tower and Low."""
    infl = np.tile(np.repeat([0, 1, 2], 3), 8)
    kind = np.tile(np.repeat([0, 1, 2, 3], 9), 2)
    contact = np.repeat([0, 1], 36)
    X = np.column_stack([infl == 1, infl == 2, kind == 1, kind == 2, kind == 3, contact == 1]).astype(float)
    return X, np.tile([0, 1, 2], 24), np.array(FREQUENCY.split(), dtype=float)


def drawn(n, p, k, seed=0, noise=1.0):
    """Rows whose classes are a line cut in k, with logistic noise; every class has rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    score = X @ rng.standard_normal(p) + noise * rng.logistic(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    return X, y


BELOW = {
    "logit": lambda s: 1 / (1 + np.exp(-s)),
    "probit": norm.cdf,
    "cloglog": lambda s: 1 - np.exp(-np.exp(s)),
}


def by_scipy(X, y, weight=None, C=np.inf, link="logit"):
    """(coef, thresholds, C·loss + penalty, or the loss): plain differences of F, thresholds as they are, BFGS, then
    Newton on second differences of the gradient's differences."""
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    k, p, s = (
        int(y.max()) + 1,
        X.shape[1],
        np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float),
    )
    mean, spread = X.mean(axis=0), X.std(axis=0)
    Z = (X - mean) / spread

    def unpack(v):
        return v[:p], np.cumsum(np.append(v[p], np.exp(v[p + 1 :])))

    def F(v):
        b, tau = unpack(v)
        ends = np.concatenate([[-np.inf], tau, [np.inf]])
        with np.errstate(over="ignore"):
            P = BELOW[link](ends[y + 1] - Z @ b) - BELOW[link](ends[y] - Z @ b)
        penalty = 0.0 if np.isinf(C) else 0.5 * np.sum((b / spread) ** 2) / C
        return -float(s @ np.log(np.maximum(P, 1e-300))) + penalty

    start = np.concatenate([np.zeros(p), [-1.0], np.full(k - 2, -0.5)])
    found = minimize(F, start, method="BFGS", options={"gtol": 1e-6, "maxiter": 2000}).x
    for _ in range(3):  # derivatives by differences, of the fourth order: eight digits of the minimiser
        g, H = _differences(F, found)
        found = found - np.linalg.solve(H, g)
    b, tau = unpack(found)
    return b / spread, tau + mean @ (b / spread), F(found)


def _differences(F, v, h=2e-3):
    n = len(v)
    E = h * np.eye(n)
    g = np.array([(8 * (F(v + e) - F(v - e)) - (F(v + 2 * e) - F(v - 2 * e))) / (12 * h) for e in E])
    H = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            a, b = E[i], E[j]
            H[i, j] = H[j, i] = (F(v + a + b) - F(v + a - b) - F(v - a + b) + F(v - a - b)) / (4 * h * h)
    return g, H
