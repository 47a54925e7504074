"""What the tests of perceptrons share: tables with a gap, and the rule in ten lines of NumPy."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import strategies as st

from separatrix import ConvergenceWarning
from tests.draws import examples

many = examples(100)

some = examples(25)

seeds = st.integers(0, 100_000)


def separable(seed, n=30, p=3, gap=0.3, offset=1.0):
    """Rows with |w·x + b| ≥ gap for a unit w, and their ±1 labels."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(p)
    w /= np.linalg.norm(w)
    X = rng.standard_normal((n, p)) * 2
    score = X @ w + offset * 0.5
    y = np.where(score > 0, 1, -1)
    X += (gap * y)[:, None] * w
    y[:2] = [1, -1]
    X[:2] = [w * 3, -w * 3]
    return X, y


def loop(X, y, orders, *, eta=1.0, scale=None, start=None, one=1.0):
    """The notes' rule in plain NumPy; every set of weights visited is kept."""
    Z = np.column_stack([X, np.full(len(X), one)])
    w = np.zeros(Z.shape[1]) if start is None else start.copy()
    mistakes, visited = [], []
    for order in orders:
        mistakes.append(0)
        for i in order:
            if y[i] * (Z[i] @ w) <= 0:
                w = w + eta * (1.0 if scale is None else scale[i]) * y[i] * Z[i]
                mistakes[-1] += 1
            visited.append(w)
    return mistakes, np.array(visited)


def quiet(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)
